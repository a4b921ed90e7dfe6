"""What a target is to the printer: a table of spellings, and how a kernel begins, reads memory and loops.

A spelling says how one scalar operation is written for one operand type: a template such as `{0} + {1}` or
`exp_f32({0})`, how tightly it binds, and which helper function (see vecmath.py) it calls, if any.
"""

from dataclasses import dataclass, field

# How tightly a text binds, loosest first. An argument that binds less tightly than its place asks for
# gets parentheses.
LOOSE, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY, ATOM = range(10)

FLOAT_CODES = ("f32", "f64")
COMPLEX_CODES = ("c64", "c128")
SIGNED_CODES = ("i8", "i16", "i32", "i64")
UNSIGNED_CODES = ("u8", "u16", "u32", "u64")
INT_CODES = SIGNED_CODES + UNSIGNED_CODES
REAL_CODES = INT_CODES + FLOAT_CODES
ALL_CODES = ("b1",) + REAL_CODES + COMPLEX_CODES


@dataclass(frozen=True, slots=True)
class Spelling:
    """`template` with {0}, {1}, ... for arguments and {code} for the result's type."""

    template: str
    binds: int = ATOM
    places: tuple[int, ...] = ()  # how tightly each argument must bind; LOOSE where not said
    helper: str | None = None
    repeats: bool = False  # an argument is written more than once: give it a name first

    def write(self, args: list[tuple[str, int]], code: str) -> tuple[str, int]:
        places = self.places
        if places:
            texts = [text if binds >= p else f"({text})" for (text, binds), p in zip(args, places, strict=True)]
        else:
            texts = [text for text, _ in args]
        return self.template.format(*texts, code=code), self.binds


def infix(operator: str, binds: int) -> Spelling:
    """`{0} operator {1}`, grouping from the left."""
    return Spelling(f"{{0}} {operator} {{1}}", binds, (binds, binds + 1))


def call(name: str, arity: int = 1, helper: str | None = None) -> Spelling:
    """`name({0}, {1}, ...)`"""
    return Spelling(f"{name}({', '.join(f'{{{k}}}' for k in range(arity))})", helper=helper)


def text(template: str) -> Spelling:
    """Any template that binds as one word, its arguments as words too."""
    counts = [template.count(f"{{{k}}}") for k in range(4)]
    return Spelling(template, ATOM, (ATOM,) * sum(n > 0 for n in counts), repeats=max(counts) > 1)


@dataclass(frozen=True)
class Target:
    """A table of spellings by (operation, code of the deciding argument), and the shape of a kernel."""

    name: str
    spellings: dict[tuple[str, str], Spelling]
    flat_arrays: bool  # buffers are typed flat arrays given one by one, not a table of pointers
    memo: dict = field(default_factory=dict, compare=False, repr=False)  # key of a nest -> Source

    def external(self, name: str, arity: int) -> Spelling:
        """The call of a user's function, which is known by its name where kernels are linked."""
        if self.flat_arrays:
            raise TypeError(f"kernel: got a user's function; on {self.name} they are not linked; run this program on the CPU")
        return call(name, arity)

    def spelling(self, op: str, code: str) -> Spelling:
        found = self.spellings.get((op, code))
        if found is None:
            allowed = ", ".join(c for c in ALL_CODES if (op, c) in self.spellings) or "no type"
            raise TypeError(
                f"kernel: got {op} on {code}; on {self.name}, {op} is written for {allowed}; "
                "cast the operand, or give the operator to a host step"
            )
        return found


@dataclass(frozen=True, slots=True)
class Source:
    """A printed kernel. `name` is derived from the text, so equal names mean equal code."""

    text: str
    name: str
    helpers: tuple[str, ...]  # names in vecmath.HELPERS that the text calls
    scratch: int  # bytes of scratch that the kernel uses for itself, from ERROR_RECORD_BYTES on
    arguments: tuple[str, ...]  # names of the parameters
    # On flat-array targets, the arrays for scratch, each one row (of the inner axes) or one block (LANES) a thread:
    # (name, code of the dtype, "row" or "block")
    slices: tuple[tuple[str, str, str], ...] = ()
