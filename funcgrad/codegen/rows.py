"""Row nests: for each outer point, passes over the inner axes, the last of which is the vector axis."""

from funcgrad.codegen.canonical import PassForm, ReductionForm
from funcgrad.codegen.kernel import Kernel
from funcgrad.codegen.reductions import BLOCK, better, fold, in_blocks, start, total_code, value_code
from funcgrad.codegen.scalars import Scope


def write(kernel: Kernel) -> None:
    """Write the whole body of a row nest."""
    nest, form = kernel.nest, kernel.form
    split_inner = nest.outer == 0 and nest.inner == 1 and not any(p.reductions for p in form.passes)
    split_inner = split_inner and all(p.level == "row" for p in form.passes)
    indent = 1
    if not split_inner:
        variable = "o"
        kernel.put(1, [kernel.points(variable)])
        indent = 2
        if nest.outer > 1:
            kernel.put(2, kernel.decode(variable, list(range(nest.outer))))
    acc_depth: dict[int, int] = {}
    last = 1 + nest.inner
    for p in form.passes:
        depths = dict(acc_depth)
        if p.level == "row":
            depths |= {r.number: last for r in p.reductions if r.running}
        kernel.scalars.start_pass(depths)
        if p.level == "point":
            _point_pass(kernel, p, indent)
        else:
            _row_pass(kernel, p, indent, split_inner)
        acc_depth |= {r.number: 1 for r in p.reductions}


def _point_pass(kernel: Kernel, p: PassForm, indent: int) -> None:
    if p.reductions:
        raise ValueError(
            "kernel: got a reduction in a pass at level 'point'; reductions belong to row passes; give the pass level='row'"
        )
    # A point has no place along the inner axes: what is stored there does not depend on them.
    nest = kernel.nest
    index = {axis: name for axis, name in kernel.index.items() if axis < nest.outer}
    scope = Scope(1, index, name_loads=len(p.stores) > 1)
    body = _stores(kernel, p, scope)
    for depth in range(1, 2 + nest.inner):  # a stride along the inner axes may be written, though it is 0
        kernel.put(indent, scope.at(depth))
    kernel.put(indent, body)


def _stores(kernel: Kernel, p: PassForm, scope: Scope) -> list[str]:
    roots = store_roots(p)
    return store_lines(kernel, p, kernel.scalars.evaluate(roots, scope), scope)


def store_roots(p: PassForm) -> list[int]:
    roots = []
    for s in p.stores:
        roots += [s.value, *s.indices] + ([] if s.guard is None else [s.guard])
    return roots


def store_lines(kernel: Kernel, p: PassForm, texts: list[tuple[str, int]], scope: Scope) -> list[str]:
    lines = []
    given = iter(texts)
    for s in p.stores:
        value = next(given)[0]
        indices = [next(given) for _ in s.indices]
        guard = None if s.guard is None else next(given)[0]
        lines += kernel.store(s, value, indices, guard, scope)
    return lines


def loads_first(kernel: Kernel, p: PassForm) -> bool:
    """Whether loads come before the stores, by name: an output may lie in the memory of an input that a reduction reads too."""
    return len(p.stores) > 1 or (bool(p.reductions) and any(kernel.nest.operands[s.operand].role == "out" for s in p.stores))


def _row_pass(kernel: Kernel, p: PassForm, indent: int, split_inner: bool) -> None:
    nest, scalars = kernel.nest, kernel.scalars
    last = 1 + nest.inner
    if nest.inner == 0:
        _single_point(kernel, p, indent)
        return
    running = any(r.running for r in p.reductions)
    blocked = any(in_blocks(r) for r in p.reductions) and not running
    scope = Scope(last, kernel.index, name_loads=loads_first(kernel, p))
    for r in p.reductions:
        if r.running:
            scalars.accs[r.number] = f"m{r.number}"
    # A running value may be read by the stores of its pass: it is brought up to date before them.
    first = [r for r in p.reductions if r.running]
    run(kernel, first, scope)
    rest = [r for r in p.reductions if not r.running]
    folds = [r.value for r in rest]
    texts = scalars.evaluate(store_roots(p) + folds, scope)
    stores = store_lines(kernel, p, texts[: len(texts) - len(folds)], scope)
    updates = _updates(kernel, rest, texts[len(texts) - len(folds) :], blocked)
    body = scope.at(last) + stores + updates
    axis = nest.outer + nest.inner - 1
    n = scalars.extent(axis)

    kernel.put(indent, scope.statements.get(1, []))
    for r in rest:
        kernel.put(indent, _begin_total(kernel, r, blocked))
    inner = indent
    for k in range(nest.inner - 1):
        kernel.put(inner, [f"for {kernel.index[nest.outer + k]} in range({scalars.extent(nest.outer + k)}):"])
        inner += 1
        kernel.put(inner, scope.statements.get(2 + k, []))
    for r in first:
        kernel.put(inner, _begin_running(kernel, r))
    if split_inner:
        kernel.put(inner, [kernel.points("i")])
    elif blocked:
        kernel.put(inner, [f"for b in range(0, {n}, {BLOCK}):"])
        inner += 1
        kernel.put(inner, [f"e = select(b + {BLOCK} < {n}, b + {BLOCK}, {n})"])
        for r in rest:
            if in_blocks(r):
                code = value_code(r, scalars)
                kernel.put(inner, [f"m{r.number} = {start(r.op, code, scalars)}"])
        kernel.put(inner, ["for i in range(b, e):"])
    else:
        kernel.put(inner, [f"for i in range({n}):"])
    kernel.put(inner + 1, body or ["pass"])
    if blocked:
        for r in rest:
            if in_blocks(r):
                kernel.put(inner, _end_block(kernel, r, scope))
    for r in p.reductions:
        kernel.put(indent, _end_total(kernel, r, blocked))


def _single_point(kernel: Kernel, p: PassForm, indent: int) -> None:
    """No inner axis: the pass runs once for each outer point, and a reduction is of one value."""
    scalars = kernel.scalars
    scope = Scope(1, kernel.index, name_loads=len(p.stores) > 1 or bool(p.reductions))
    for r in p.reductions:
        value = scalars.evaluate([r.value if r.index_value is None else r.index_value], scope)[0][0]
        have = scalars.form.nodes[r.value if r.index_value is None else r.index_value][1]
        scope.at(1).append(f"a{r.number} = {scalars.cast(value, have, r.code)}")
        scalars.accs[r.number] = f"a{r.number}"
    scalars.start_pass(dict(scalars.acc_depth) | {r.number: 1 for r in p.reductions})
    body = _stores(kernel, p, scope)
    kernel.put(indent, scope.at(1) + body)


# ---- reductions


def cast_value(kernel: Kernel, r: ReductionForm, value: tuple[str, int]) -> tuple[str, int]:
    scalars = kernel.scalars
    have, want = scalars.form.nodes[r.value][1], value_code(r, scalars)
    return value if have == want else (f"{want}({value[0]})", 9)


def _begin_total(kernel: Kernel, r: ReductionForm, blocked: bool) -> list[str]:
    scalars = kernel.scalars
    if r.op in ("argmax", "argmin"):
        code = value_code(r, scalars)
        return [f"p{r.number} = {start(r.op, code, scalars)}", f"k{r.number} = -1"]
    if blocked and in_blocks(r):
        return [f"p{r.number} = {start(r.op, total_code(r), scalars)}"]
    return [f"m{r.number} = {start(r.op, total_code(r), scalars)}"]


def _begin_running(kernel: Kernel, r: ReductionForm) -> list[str]:
    scalars = kernel.scalars
    if r.op in ("argmax", "argmin"):
        code = value_code(r, scalars)
        return [f"p{r.number} = {start(r.op, code, scalars)}", f"m{r.number} = -1"]
    return [f"m{r.number} = {start(r.op, r.code, scalars)}"]


def run(kernel: Kernel, reductions: list[ReductionForm], scope: Scope) -> None:
    """Bring running reductions up to date, in order; a later one may read an earlier one."""
    scalars = kernel.scalars
    body = scope.at(scope.deepest)
    for r in reductions:
        number = r.number
        roots = [r.value] if r.index_value is None else [r.value, r.index_value]
        texts = scalars.evaluate(roots, scope)
        value = cast_value(kernel, r, texts[0])
        if r.op in ("argmax", "argmin"):
            body += [
                f"v{number} = {value[0]}",
                f"c{number} = {better(r.op, value_code(r, scalars), f'v{number}', f'p{number}', f'm{number}')}",
                f"p{number} = select(c{number}, v{number}, p{number})",
                f"m{number} = select(c{number}, {texts[1][0]}, m{number})",
            ]
        else:
            body.append(f"m{number} = {fold(r.op, r.code, f'm{number}', value, scalars, ordered=True)[0]}")


def _updates(kernel: Kernel, reductions: list[ReductionForm], texts: list, blocked: bool) -> list[str]:
    """Statements that take one point's values into the accumulators of the innermost loop."""
    scalars = kernel.scalars
    lines = []
    given = iter(texts)
    for r in reductions:
        value = cast_value(kernel, r, next(given))
        if r.op in ("argmax", "argmin") and not blocked:
            raise ValueError(
                "kernel: got argmax beside a running reduction in one pass; they need loops of their own; "
                "put the argmax into its own pass"
            )
        code = value_code(r, scalars)
        carried = code if blocked and in_blocks(r) else total_code(r)
        if carried != code:
            value, code = (f"{carried}({value[0]})", 9), carried
        lines.append(f"m{r.number} = {fold(r.op, code, f'm{r.number}', value, scalars)[0]}")
    return lines


def _end_block(kernel: Kernel, r: ReductionForm, scope: Scope) -> list[str]:
    scalars = kernel.scalars
    m, p = f"m{r.number}", f"p{r.number}"
    if r.op == "add":
        total = total_code(r)
        part = m if total == r.code else f"{total}({m})"
        return [f"{p} = {fold('add', total, p, (part, 9), scalars, ordered=True)[0]}"]
    # The block's best is known; where it beats the best so far, find its first place in the block:
    # the least offset at which the value equals it (or is NaN, which then is the best).
    search = Scope(scope.deepest, scope.index, names=_shallow(scope, scalars), bases=scope.bases)
    value = cast_value(kernel, r, scalars.evaluate([r.value], search)[0])
    code = value_code(r, scalars)
    k, v, f = f"k{r.number}", f"v{r.number}", f"f{r.number}"
    hit = f"({v} == {m}) | ({v} != {v})" if code[0] == "f" else f"{v} == {m}"
    least = scalars.target.spelling("min_into", "i32")
    found = least.write([(f, 9), (f"select({hit}, i32(i - b), i32({BLOCK}))", 9)], "i32")[0]
    lines = [f"if {better(r.op, code, m, p, k)}:", f"    {f} = i32({BLOCK})", "    for i in range(b, e):"]
    lines += ["        " + line for line in search.at(scope.deepest)]
    lines += [
        f"        {v} = {value[0]}",
        f"        {f} = {found}",
        f"    {p} = {m}",
        f"    i = b + i64({f})",
    ]
    where = Scope(scope.deepest, scope.index, names=_shallow(scope, scalars), bases=scope.bases)
    place = scalars.evaluate([r.index_value if r.index_value is not None else r.value], where)[0][0]
    lines += ["    " + line for line in where.at(scope.deepest)]
    lines.append(f"    {k} = {place}")
    return lines


def _shallow(scope: Scope, scalars) -> dict[int, str]:
    """Names that still hold outside the innermost loop."""
    return {number: name for number, name in scope.names.items() if scalars.depth(number) < scope.deepest}


def _end_total(kernel: Kernel, r: ReductionForm, blocked: bool) -> list[str]:
    scalars = kernel.scalars
    name = f"a{r.number}"
    scalars.accs[r.number] = name
    if r.running:
        return [f"{name} = m{r.number}"]
    if r.op in ("argmax", "argmin"):
        return [f"{name} = {scalars.cast(f'k{r.number}', 'i64', r.code)}"]
    carried = f"p{r.number}" if blocked and in_blocks(r) else f"m{r.number}"
    return [f"{name} = {scalars.cast(carried, total_code(r), r.code)}"]
