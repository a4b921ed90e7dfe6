"""A kernel while it is being printed: its lines, its loops over outer points, its arguments, its comments."""

from funcgrad.codegen.canonical import Form, StoreForm, storage_code
from funcgrad.codegen.scalars import Scalars, Scope
from funcgrad.codegen.target import ATOM, COMPARE, LOOSE, Target
from funcgrad.loops.nest import Nest


class Kernel:
    """Collects the lines of one kernel; `rows` and `column` write its passes into it."""

    def __init__(self, nest: Nest, form: Form, target: Target):
        self.nest, self.form, self.target = nest, form, target
        rank = nest.outer + nest.inner
        depths = [1] * nest.outer + [2 + k for k in range(nest.inner)]
        if nest.layout == "column" and not (nest.carried and target.flat_arrays):  # there each lane has a thread
            depths[nest.outer - 1] = 2 + nest.inner
        self.scalars = Scalars(nest, form, target, depths)
        self.lines: list[str] = []
        self.scratch = 0
        self.accumulators: dict[str, str] = {}  # of a column kernel: name -> code, arguments on flat targets
        self.index: dict[int, str] = {}
        if nest.layout == "row":
            self.index.update({a: ("o" if nest.outer == 1 else f"o{a}") for a in range(nest.outer)})
        else:
            others = nest.outer - 1
            self.index.update({a: ("o" if others == 1 else f"o{a}") for a in range(others)})
            self.index[nest.outer - 1] = "l"
        for k in range(nest.inner):
            self.index[nest.outer + k] = "i" if nest.layout == "row" and k == nest.inner - 1 else f"j{k}"
        assert len(self.index) == rank

    def put(self, indent: int, lines: list[str]) -> None:
        """Add lines at `indent` levels; a line may bring further indentation of its own."""
        pad = "    " * indent
        self.lines.extend([pad + line for line in lines])

    def quotient(self, x: str, y: str) -> str:
        return f"div({x}, {y})"

    def decode(self, flat: str, axes: list[int]) -> list[str]:
        """Statements that split a flat index over `axes`, last axis fastest."""
        lines = []
        rest = flat
        for axis in reversed(axes[1:]):
            n = self.scalars.extent(axis)
            lines.append(f"r{axis} = {self.quotient(rest, n)}")
            lines.append(f"{self.index[axis]} = {rest} - r{axis} * {n}")
            rest = f"r{axis}"
        if axes and self.index[axes[0]] != rest:
            lines.append(f"{self.index[axes[0]]} = {rest}")
        return lines

    def points(self, variable: str) -> str:
        """The loop over this call's share of the parallel axis."""
        if self.target.flat_arrays:
            if self.nest.sequential:
                # Stores may collide: one thread walks all points in order.
                return f"for {variable} in range(lo if thread == 0 else hi, hi):"
            return f"for {variable} in range(lo + thread, hi, threads):"
        return f"for {variable} in range(lo, hi):"

    def store(self, store: StoreForm, value: str, indices: list, guard: str | None, scope: Scope) -> list[str]:
        """Statements of one store."""
        scalars = self.scalars
        code = self.form.codes[store.operand]
        have = self.form.nodes[store.value][1]
        if code != have:
            raise TypeError(
                f"kernel: got a store of {have} into an operand of {code}; the value must have the operand's "
                "dtype; cast it in the expression"
            )
        address = scalars.address(store.operand, indices, scope, scope.deepest)
        lines = []
        if store.combine is not None:
            lines.append(f"w = {address}")
            address = "w"
        place = f"{scalars.buffer(store.operand)}[{address}]"
        if store.combine is not None:
            old = f"{place} != 0" if code == "b1" and self.target.flat_arrays else place
            spelling = self.target.spelling(store.combine, code)
            value = spelling.write([(old, COMPARE if " " in old else ATOM), (value, LOOSE if " " in value else ATOM)], code)[0]
        lines.append(f"{place} = {scalars.storage(value, code)}")
        if guard is not None:
            lines = [f"if {guard}:"] + ["    " + line for line in lines]
        return lines

    # ---- the parts of the finished text

    def arguments(self) -> tuple[str, ...]:
        if not self.target.flat_arrays:
            return ("buffers", "dims", "lo", "hi", "scratch")
        scalars = self.scalars
        names = [scalars.operand_names[k] for k in scalars.buffers]
        return tuple(names + ["dims", "lo", "hi"] + [name for name, _, _ in self.slices()] + ["error"])

    def slices(self) -> tuple[tuple[str, str, str], ...]:
        """Scratch arrays of a flat-array target: (name, code, "row" or "block")."""
        if not self.target.flat_arrays:
            return ()
        names = self.scalars.operand_names
        rows = [(names[k], storage_code(self.form.codes[k]), "row") for k in self.scalars.scratch_slots]
        return tuple(rows + [(name, storage_code(code), "block") for name, code in self.accumulators.items()])

    def text(self) -> str:
        preamble = self.scalars.preamble
        head = self._comments()
        if self.target.flat_arrays:
            head += ["thread = cuda.grid(1)", "threads = cuda.gridsize(1)"]
        for group in ("extents", "buffers", "strides", "values"):
            lines = list(preamble[group].values())
            head += sorted(lines) if group == "extents" else lines
        return "\n".join(["    " + line for line in head] + self.lines) + "\n"

    def _comments(self) -> list[str]:
        nest, scalars = self.nest, self.scalars
        axes = ", ".join([f"{self.index[a]} < n{a}" for a in range(nest.outer + nest.inner)])
        lines = [f"# {nest.layout} nest over ({axes})" + (", one thread" if nest.sequential else "")]
        words = {"in": "reads", "out": "writes", "scratch": "scratch"}
        for k, operand in enumerate(nest.operands):
            strides = ", ".join(["*" if s is None else str(s) for s in operand.strides])
            indirect = f" + {operand.indirect} by index" if operand.indirect else ""
            code = storage_code(self.form.codes[k])
            lines.append(f"# {scalars.operand_names[k]} {words[operand.role]} {code}[{strides}]{indirect}")
        return lines
