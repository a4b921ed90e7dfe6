"""Column nests: a reduction along the outer one of two axes, such as a sum over the rows of a matrix.

The kept last outer axis is the vector axis. A kernel takes it LANES at a time; the accumulators are blocks of
LANES values in scratch memory. A pass that only reduces, with a light body, takes four rows at once, so that
the accumulators are read and written once for four rows. float32 sums are carried in float64.
"""

from funcgrad.codegen.canonical import PassForm, ReductionForm
from funcgrad.codegen.kernel import Kernel
from funcgrad.codegen.reductions import better, fold, start, total_code, value_code
from funcgrad.codegen.rows import cast_value, loads_first, store_lines, store_roots
from funcgrad.codegen.scalars import Scope
from funcgrad.codegen.target import ATOM
from funcgrad.loops.nest import ERROR_RECORD_BYTES, LANES

ROWS = 4  # taken at once by a light pass
ALIGNMENT = 64  # bytes, of a block
LIGHT = 14  # nodes of a pass that counts as light

_BYTES = {"b1": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "f32": 4, "c128": 16}


def write(kernel: Kernel) -> None:
    """Write the whole body of a column nest."""
    nest, form, scalars = kernel.nest, kernel.form, kernel.scalars
    if nest.outer < 1 or any(o.role == "scratch" for o in nest.operands):
        raise ValueError(
            "kernel: got a column nest with no outer axis or with a scratch row; a column nest keeps its last "
            'outer axis and has no rows; use layout="row"'
        )
    lanes = nest.outer - 1
    n = scalars.extent(lanes)
    kernel.put(1, [f"blocks = {kernel.quotient(f'{n} + {LANES - 1}', str(LANES))}", kernel.points("z")])
    kernel.put(2, [f"r{lanes} = {kernel.quotient('z', 'blocks')}", f"c = (z - r{lanes} * blocks) * {LANES}"])
    kernel.put(2, [f"e = select(c + {LANES} < {n}, c + {LANES}, {n})"])
    others = list(range(lanes))
    kernel.put(2, kernel.decode(f"r{lanes}", others))
    blocks = Blocks(kernel)
    depths: dict[int, int] = {}
    deepest = 2 + nest.inner
    for p in form.passes:
        now = dict(depths)
        if p.level == "row":
            now |= {r.number: deepest for r in p.reductions if r.running}
        scalars.start_pass(now)
        if p.level == "row":
            _row_pass(kernel, p, blocks)
        else:
            # A point has no place along the inner axes: what is stored there does not depend on them.
            index = {axis: name for axis, name in kernel.index.items() if axis < nest.outer}
            scope = Scope(deepest, index, name_loads=len(p.stores) > 1)
            body = store_lines(kernel, p, scalars.evaluate(store_roots(p), scope), scope)
            for depth in range(1, deepest):  # a stride along the inner axes may be written, though it is 0
                kernel.put(2, scope.at(depth))
            kernel.put(2, ["for l in range(c, e):"])
            kernel.put(3, scope.at(deepest) + body)
        depths |= {r.number: deepest for r in p.reductions}
        for r in p.reductions:
            scalars.accs[r.number] = blocks.result(r)


class Blocks:
    """The accumulators: one block of LANES values each, `m0[l - c]`; argmax has a second one for places."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.count = 0

    def declare(self, name: str, code: str) -> None:
        kernel = self.kernel
        if kernel.target.flat_arrays:
            kernel.accumulators[name] = code
            kernel.scalars.preamble["values"][f"{name}_0"] = f"{name}_0 = thread * {LANES}"
        else:
            alias = len(kernel.scalars.buffers) + self.count
            offset = ERROR_RECORD_BYTES + kernel.scratch
            kernel.scalars.preamble["buffers"][name] = f"{name} = row_{code}(scratch, {offset}, {alias})"
        self.count += 1
        kernel.scratch += -(-kernel.nest.lanes * _BYTES.get(code, 8) // ALIGNMENT) * ALIGNMENT

    def place(self, name: str) -> str:
        return f"{name}[{name}_0 + l - c]" if self.kernel.target.flat_arrays else f"{name}[l - c]"

    def result(self, r: ReductionForm) -> str:
        """Text of a finished reduction at lane l."""
        scalars = self.kernel.scalars
        if r.op in ("argmax", "argmin"):
            return scalars.cast(self.place(f"k{r.number}"), "i64", r.code)
        text = self.place(f"m{r.number}")
        if r.code == "b1" and self.kernel.target.flat_arrays:
            return f"({text} != 0)"
        return scalars.cast(text, total_code(r), r.code)


def _row_pass(kernel: Kernel, p: PassForm, blocks: Blocks) -> None:
    nest, scalars = kernel.nest, kernel.scalars
    deepest = 2 + nest.inner
    begin = []
    for r in p.reductions:
        code = value_code(r, scalars) if r.op in ("argmax", "argmin") else total_code(r)
        blocks.declare(f"m{r.number}", code)
        begin.append(f"{blocks.place(f'm{r.number}')} = {scalars.storage(start(r.op, code, scalars), code)}")
        if r.op in ("argmax", "argmin"):
            blocks.declare(f"k{r.number}", "i64")
            begin.append(f"{blocks.place(f'k{r.number}')} = -1")
        if r.running:
            scalars.accs[r.number] = blocks.result(r)
    one = _sweep(kernel, p, blocks, 1)
    four = None
    if nest.inner and not p.stores and _foldable(p) and len(scalars.form.nodes) <= LIGHT:
        four = _sweep(kernel, p, blocks, ROWS)
    kernel.put(2, one.at(1))
    if four is not None:
        kernel.put(2, four.at(1))
    if begin:
        kernel.put(2, ["for l in range(c, e):"])
        kernel.put(3, begin)
    indent = 2
    for k in range(nest.inner - 1):
        axis = nest.outer + k
        kernel.put(indent, [f"for {kernel.index[axis]} in range({scalars.extent(axis)}):"])
        indent += 1
        kernel.put(indent, one.at(2 + k))
        if four is not None:
            kernel.put(indent, four.at(2 + k))
    if nest.inner:
        axis = nest.outer + nest.inner - 1
        j, n = kernel.index[axis], scalars.extent(axis)
        first = "0"
        if four is not None:
            kernel.put(indent, [f"g = {kernel.quotient(n, str(ROWS))}", "for h in range(g):"])
            kernel.put(indent + 1, [f"{j} = h * {ROWS}", *four.at(deepest - 1), "for l in range(c, e):"])
            kernel.put(indent + 2, four.at(deepest))
            first = f"g * {ROWS}, "
        kernel.put(indent, [f"for {j} in range({first if four is not None else ''}{n}):"])
        indent += 1
        kernel.put(indent, one.at(deepest - 1))
    kernel.put(indent, ["for l in range(c, e):"])
    kernel.put(indent + 1, one.at(deepest) or ["pass"])


def _foldable(p: PassForm) -> bool:
    return bool(p.reductions) and all(r.op not in ("argmax", "argmin") and not r.running for r in p.reductions)


def _sweep(kernel: Kernel, p: PassForm, blocks: Blocks, rows: int) -> Scope:
    """Statements that take `rows` rows, from the last inner index on, into the accumulators, and the stores."""
    nest, scalars = kernel.nest, kernel.scalars
    deepest = 2 + nest.inner
    whole = Scope(deepest, dict(kernel.index), name_loads=loads_first(kernel, p))
    values: list[list[tuple[str, int]]] = [[] for _ in p.reductions]
    stores: list[str] = []
    for row in range(rows):
        scope = whole
        if row:
            scope = Scope(deepest, dict(kernel.index), statements=whole.statements, name_loads=whole.name_loads)
            axis = nest.outer + nest.inner - 1
            scope.index[axis] = f"({kernel.index[axis]} + {row})"
            scope.suffix = f"_{row}"
            scope.names = {k: v for k, v in whole.names.items() if scalars.depth(k) < deepest - 1}
            scope.bases = {k: v for k, v in whole.bases.items() if k[1] < deepest - 1}
        else:
            _running(kernel, [r for r in p.reductions if r.running], blocks, scope)
        roots = [r.value for r in p.reductions]
        first_stores = store_roots(p) if row == 0 else []
        texts = scalars.evaluate(roots + first_stores, scope)
        for k, (r, text) in enumerate(zip(p.reductions, texts, strict=False)):
            values[k].append(cast_value(kernel, r, text))
        if row == 0:
            stores = store_lines(kernel, p, texts[len(roots) :], whole)
    body = whole.at(deepest)
    body += stores
    for r, found in zip(p.reductions, values, strict=True):
        if r.running:
            continue
        if r.op in ("argmax", "argmin"):
            body += _take_place(kernel, r, found[0], blocks, whole)
            continue
        code = value_code(r, scalars)
        while len(found) > 1:  # pairwise within the rows taken at once
            found = [fold(r.op, code, _wrap(found[k]), found[k + 1], scalars) for k in range(0, len(found), 2)]
        body += _take(kernel, r, found[0], blocks, ordered=False)
    return whole


def _wrap(value: tuple[str, int]) -> str:
    return value[0] if value[1] == ATOM else f"({value[0]})"


def _take(kernel: Kernel, r: ReductionForm, value: tuple[str, int], blocks: Blocks, ordered: bool):
    scalars = kernel.scalars
    code = total_code(r)
    place = blocks.place(f"m{r.number}")
    if code != value_code(r, scalars):
        value = (f"{code}({value[0]})", ATOM)
    old = f"({place} != 0)" if code == "b1" and kernel.target.flat_arrays else place
    return [f"{place} = {scalars.storage(fold(r.op, code, old, value, scalars, ordered)[0], code)}"]


def _take_place(kernel: Kernel, r: ReductionForm, value: tuple[str, int], blocks: Blocks, scope: Scope):
    scalars = kernel.scalars
    best, place, v = blocks.place(f"m{r.number}"), blocks.place(f"k{r.number}"), f"v{r.number}"
    index = scalars.evaluate([r.index_value if r.index_value is not None else r.value], scope)[0][0]
    condition = better(r.op, value_code(r, scalars), v, best, place)
    return [
        f"{v} = {value[0]}",
        f"c{r.number} = {condition}",
        f"{best} = select(c{r.number}, {v}, {best})",
        f"{place} = select(c{r.number}, {index}, {place})",
    ]


def _running(kernel: Kernel, reductions: list[ReductionForm], blocks: Blocks, scope: Scope) -> None:
    """Bring running reductions up to date before anything reads them."""
    scalars = kernel.scalars
    body = scope.at(scope.deepest)
    for r in reductions:
        value = cast_value(kernel, r, scalars.evaluate([r.value], scope)[0])
        if r.op in ("argmax", "argmin"):
            body += _take_place(kernel, r, value, blocks, scope)
        else:
            body += _take(kernel, r, value, blocks, ordered=True)
