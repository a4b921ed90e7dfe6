"""Expressions to text: which nodes get a name, where they are computed, and how they are spelled.

In: the nodes that a pass needs, and the depth of loop at which each can first be known. Out: for every depth
the statements to run on entering that loop, and the text of each root. A node that is used twice, that is
known outside the innermost loop, or that would make a line too long gets a name; the rest stays in place.

Depths: 0 once per kernel; 1 once per point of the outer axes; 2, 3, ... inside the first, second, ... loop of
a pass. The printer (printer.py) says what the loops are.
"""

from dataclasses import dataclass, field

from funcgrad.codegen.canonical import Form, storage_code
from funcgrad.codegen.target import ATOM, PRODUCT, UNARY, Target
from funcgrad.loops.nest import DYNAMIC, ERROR_RECORD_BYTES, Nest

LONGEST = 76  # characters of an expression that is still written in place
INLINE_LEAVES = ("const", "extent", "index", "acc", "param", "carry")


@dataclass(slots=True)
class Scope:
    """Where one evaluation puts things: statements by depth, names of the values that live in the pass's
    loops, and how the axes are written there."""

    deepest: int
    index: dict[int, str]  # axis -> text of its index
    statements: dict[int, list[str]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)  # node -> name, for depths above 1
    bases: dict[tuple[int, int], str] = field(default_factory=dict)  # (operand, depth) -> name of its offset
    name_loads: bool = False  # loads get names (they must come before the stores)
    suffix: str = ""  # of offset names, to keep unrolled copies apart

    def at(self, depth: int) -> list[str]:
        return self.statements.setdefault(depth, [])


class Scalars:
    """Writes the scalar part of one kernel."""

    def __init__(self, nest: Nest, form: Form, target: Target, axis_depth: list[int]):
        self.nest, self.form, self.target = nest, form, target
        self.axis_depth = axis_depth
        self.preamble: dict[str, dict[str, str]] = {k: {} for k in ("extents", "buffers", "strides", "values")}
        self.helpers: dict[str, None] = {}
        self.outer_names: dict[int, str] = {}  # nodes named at depth 0 or 1, for all passes
        self.outer_bases: dict[tuple[int, int], str] = {}
        self.accs: dict[int, str] = {}  # number of a finished or running reduction -> text
        self.carries: dict[int, str] = {}  # number of a carry -> text
        self.acc_depth: dict[int, int] = {}
        self.temporaries = 0
        self._depths: list[int] = []
        self._layout()

    def _layout(self) -> None:
        """Names of the operands and their places in `dims`."""
        nest = self.nest
        rank = nest.outer + nest.inner
        slot = rank
        counts = {"in": 0, "out": 0, "scratch": 0}
        self.operand_names: list[str] = []
        self.stride_slots: list[dict[int, int]] = []
        self.indirect_slots: list[list[int]] = []
        for operand in nest.operands:
            letter = {"in": "x", "out": "y", "scratch": "s"}[operand.role]
            self.operand_names.append(f"{letter}{counts[operand.role]}")
            counts[operand.role] += 1
            slots = {}
            for axis, stride in enumerate(operand.strides):
                if stride is DYNAMIC:
                    slots[axis] = slot
                    slot += 1
            self.stride_slots.append(slots)
            self.indirect_slots.append([slot + 2 * k for k in range(operand.indirect)])
            slot += 2 * operand.indirect
        self.scratch_slots = {}
        for k, operand in enumerate(nest.operands):
            if operand.role == "scratch":
                self.scratch_slots[k] = slot
                slot += 1
        self.param_slots = []
        for code in self.form.params:
            self.param_slots.append(slot)
            slot += 2 if code == "c128" else 1
        self.dims_length = slot
        self.buffers = [k for k, o in enumerate(nest.operands) if o.role != "scratch"]

    # ---- names of what arrives with the call

    def extent(self, axis: int) -> str:
        name = f"n{axis}"
        self.preamble["extents"].setdefault(name, f"{name} = dims[{axis}]")
        return name

    def stride(self, operand: int, axis: int) -> str:
        name = f"{self.operand_names[operand]}_d{axis}"
        slot = self.stride_slots[operand][axis]
        self.preamble["strides"].setdefault(name, f"{name} = dims[{slot}]")
        return name

    def indirect_stride(self, operand: int, number: int) -> str:
        name = f"{self.operand_names[operand]}_r{number}"
        slot = self.indirect_slots[operand][number]
        self.preamble["strides"].setdefault(name, f"{name} = dims[{slot}]")
        return name

    def buffer(self, operand: int) -> str:
        """The name of an operand's memory, declared where the target needs it."""
        name = self.operand_names[operand]
        if not self.target.flat_arrays and name not in self.preamble["buffers"]:
            code = self.form.codes[operand]
            if operand in self.scratch_slots:
                alias = len(self.buffers) + list(self.scratch_slots).index(operand)
                line = f"{name} = row_{code}(scratch, dims[{self.scratch_slots[operand]}] + {ERROR_RECORD_BYTES}, {alias})"
            else:
                line = f"{name} = ptr_{code}(buffers, {self.buffers.index(operand)})"
            self.preamble["buffers"][name] = line
        return name

    def param(self, number: int) -> str:
        name = f"q{number}"
        if name not in self.preamble["values"]:
            code, slot = self.form.params[number], self.param_slots[number]
            self.preamble["values"][name] = f"{name} = param_{code}(dims, {slot})"
        return name

    # ---- addresses

    def base(self, operand: int, depth: int, scope: Scope) -> str:
        """The operand's offset from its start as far as the axes known at `depth` decide it ("" for none)."""
        if depth < 1:
            return ""
        known = self.outer_bases if depth == 1 else scope.bases
        found = known.get((operand, depth))
        if found is not None:
            return found
        below = self.base(operand, depth - 1, scope)
        terms = [below] if below else []
        strides = self.nest.operands[operand].strides
        for axis, stride in enumerate(strides):
            if stride != 0 and self.axis_depth[axis] == depth and axis in scope.index:
                index = scope.index[axis]
                terms.append(index if stride == 1 else f"{index} * {self.stride(operand, axis)}")
        if len(terms) > (1 if below else 0):
            result = " + ".join(terms)
            if depth < scope.deepest or depth == 1:
                name = f"{self.operand_names[operand]}_{depth}{scope.suffix if depth > 1 else ''}"
                scope.at(depth).append(f"{name} = {result}")
                result = name
        else:
            result = below
        known[operand, depth] = result
        return result

    def address(self, operand: int, indices: list[tuple[str, int]], scope: Scope, depth: int) -> str:
        parts = [self.start(operand)] if self.target.flat_arrays else []
        base = self.base(operand, depth, scope)
        if base:
            parts.append(base)
        for k, (index, binds) in enumerate(indices):
            index = index if binds >= PRODUCT else f"({index})"
            parts.append(f"{index} * {self.indirect_stride(operand, k)}")
        return " + ".join(parts) or "0"

    def start(self, operand: int) -> str:
        """Where an operand begins in its flat array. Starts of buffers follow the other dims; the scratch rows of all
        threads lie one after another."""
        name = self.operand_names[operand]
        start = f"{name}_0"
        if operand not in self.scratch_slots:
            slot = self.dims_length + self.buffers.index(operand)
            self.preamble["strides"].setdefault(start, f"{start} = dims[{slot}]")
            return start
        inner = [self.extent(a) for a in range(self.nest.outer, self.nest.outer + self.nest.inner)]
        self.preamble["values"].setdefault(start, f"{start} = thread * {' * '.join(inner) or '1'}")
        return start

    # ---- expressions

    def depth(self, number: int) -> int:
        """The loop depth from which on a node's value is known."""
        return self._depths[number]

    def start_pass(self, acc_depth: dict[int, int], carry_depth: dict[int, int] | None = None) -> None:
        """Find the depth of every node. Reductions that finish, or run, in a pass change it from pass to pass; those of
        later passes are not known at any depth yet."""
        self.acc_depth = acc_depth
        later = max(self.axis_depth, default=1)
        depths: list[int] = []
        for op, _, attr, args in self.form.nodes:
            depth = max([depths[a] for a in args], default=0)
            if op == "index":
                depth = self.axis_depth[attr]
            elif op == "acc":
                depth = acc_depth.get(attr, later)
            elif op == "carry":
                depth = (carry_depth or {}).get(attr, later)
            elif op == "load":
                operand = self.nest.operands[attr]
                known = [self.axis_depth[axis] for axis, stride in enumerate(operand.strides) if stride != 0]
                depth = max([depth, *known, 0 if operand.role == "in" else 1])
            depths.append(depth)
        self._depths = depths

    def evaluate(self, roots: list[int], scope: Scope) -> list[tuple[str, int]]:
        """Texts (and how they bind) of `roots` at the deepest loop, after statements put into `scope`."""
        nodes, names, outer = self.form.nodes, scope.names, self.outer_names
        uses: dict[int, int] = {}
        hoisted: set[int] = set()
        stack = []
        for root in roots:
            uses[root] = uses.get(root, 0) + 1
            if self.depth(root) < scope.deepest:
                hoisted.add(root)
            stack.append(root)
        seen = set()
        while stack:
            number = stack.pop()
            if number in seen or number in names or number in outer:
                continue
            seen.add(number)
            op, _, _, args = nodes[number]
            depth = self.depth(number)
            repeats = op not in INLINE_LEAVES and op != "load" and self._spelling(number).repeats
            for a in args:
                uses[a] = uses.get(a, 0) + 1
                if self.depth(a) < depth or repeats:
                    hoisted.add(a)
                stack.append(a)
        texts: dict[int, tuple[str, int]] = {}
        for number in sorted(seen):
            texts[number] = self._write(number, uses[number], number in hoisted, texts, scope)
        return [self._known(root, texts, scope) for root in roots]

    def _known(self, number: int, texts: dict, scope: Scope) -> tuple[str, int]:
        name = scope.names.get(number) or self.outer_names.get(number)
        return (name, ATOM) if name else texts[number]

    def _spelling(self, number: int):
        op, code, attr, args = self.form.nodes[number]
        if op == "external":
            return self.target.external(attr, len(args))
        key = args[1] if op == "select" else args[0]
        if op == "check":
            return self.target.spelling("check", "i64")
        return self.target.spelling(op, self.form.nodes[key][1])

    def _write(self, number: int, uses: int, hoisted: bool, texts: dict, scope: Scope) -> tuple[str, int]:
        op, code, attr, args = self.form.nodes[number]
        if op == "const":
            return self.constant(attr, code)
        if op == "param":
            return self.param(attr), ATOM
        if op == "extent":
            return self.extent(attr), ATOM
        if op == "index":
            return scope.index[attr], ATOM
        if op == "acc":
            return self.accs[attr], ATOM
        if op == "carry" and "[" not in self.carries[attr]:
            return self.carries[attr], ATOM
        depth = self.depth(number)
        given = [self._known(a, texts, scope) for a in args]
        if op == "load":
            found = (f"{self.buffer(attr)}[{self.address(attr, given, scope, depth)}]", ATOM)
            hoisted = hoisted or scope.name_loads
            if self.target.flat_arrays and code == "b1":
                found = (f"{found[0]} != 0", 1)
        elif op == "carry":
            found = (self.carries[attr], ATOM)
        elif op == "check":
            found = (self._spelling(number).template.format(given[0][0], given[1][0], attr), ATOM)
            hoisted = True
        else:
            spelling = self._spelling(number)
            if spelling.helper is not None:
                self.helpers[spelling.helper] = None
            found = spelling.write(given, code)
        if uses > 1 or hoisted or len(found[0]) > LONGEST:
            return self.name(number, found[0], depth, scope), ATOM
        return found

    def name(self, number: int, value: str, depth: int, scope: Scope) -> str:
        name = f"t{self.temporaries}"
        self.temporaries += 1
        if depth == 0:
            self.preamble["values"][name] = f"{name} = {value}"
        else:
            scope.at(depth).append(f"{name} = {value}")
        loads_written = self.form.nodes[number][0] == "load" and self._operand(number).role != "in"
        if depth <= 1 and not loads_written:
            self.outer_names[number] = name
        else:
            scope.names[number] = name
        return name

    def _operand(self, number: int):
        return self.nest.operands[self.form.nodes[number][2]]

    def constant(self, value: str, code: str) -> tuple[str, int]:
        """A literal of the exact type. Plain integers are int64 already."""
        if code == "i64":
            return value, ATOM if value[0] != "-" else UNARY
        if code == "b1":
            return value, ATOM
        if code in ("c64", "c128"):
            z = complex(value)
            part = "f32" if code == "c64" else "f64"
            return f"{code}of({part}({z.real!r}), {part}({z.imag!r}))", ATOM
        return f"{code}({value})", ATOM

    def cast(self, text: str, source: str, to: str) -> str:
        return text if source == to else f"{to}({text})"

    def storage(self, text: str, code: str) -> str:
        """A value as what is stored."""
        if code == "b1" and self.target.flat_arrays:
            return f"{storage_code(code)}({text})"
        return text
