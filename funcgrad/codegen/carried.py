"""Nests whose passes hand values from step to step (carries): a scan or a while that lives in registers.

A row nest, and on CUDA every nest, runs lane by lane: the carries are local variables, a lane's steps a plain loop.

    m0 = x0[0]
    for i in range(n0):
        y0[i] = m0
        m0 = tanh_f32(q0 * m0 + x1[i])
    y1[0] = m0

A column nest runs on the CPU in blocks of lanes: the carries are blocks in scratch memory, and each step is a loop over
the lanes of the block that becomes vector code. A while goes on until the last lane of the block has ended; those that
ended before it keep what they have.

On the CPU a long loop asks now and then whether it shall stop (`stopped(scratch)`), so that it can be interrupted.
"""

import re

from funcgrad.codegen.canonical import PassForm
from funcgrad.codegen.column import Blocks
from funcgrad.codegen.kernel import Kernel
from funcgrad.codegen.rows import loads_first, store_lines, store_roots
from funcgrad.codegen.scalars import Scope
from funcgrad.codegen.target import ATOM

OFTEN = 1 << 20  # steps of a lane between two questions whether to stop, a power of two; each takes about a nanosecond

_NAME = re.compile(r"t\d+")


def write(kernel: Kernel) -> None:
    """Write the whole body of a nest with carries."""
    if any(p.reductions for p in kernel.form.passes):
        raise ValueError(
            "kernel: got a reduction in a nest with carries; a sum over the steps is a carry; write it as one, or give the "
            "reduction a nest of its own"
        )
    if kernel.nest.layout == "column" and not kernel.target.flat_arrays:
        _in_blocks(kernel)
    else:
        _lane_by_lane(kernel)


def _may_stop(kernel: Kernel, turn: str, often: int) -> list[str]:
    """After a step: leave the kernel if it shall stop."""
    return [] if kernel.target.flat_arrays else [f"if {turn} & {often - 1} == 0 and stopped(scratch):", "    return"]


def _counting(kernel: Kernel, count: str, often: int) -> list[str]:
    """The same for a count that goes up by more than one."""
    if kernel.target.flat_arrays:
        return []
    return [f"turns = turns + {count}", f"if turns > {often}:", "    turns = 0", "    if stopped(scratch):", "        return"]


def _updates(p: PassForm, texts: list[tuple[str, int]], places: list[str]) -> list[str]:
    """Statements that give all carries their next values at once."""
    lines, last = [], []
    for c, (text, _), place in zip(p.carries, texts, places, strict=True):
        if len(p.carries) > 1 and not _NAME.fullmatch(text):
            lines.append(f"w{c.number} = {text}")  # u32 would be a cast
            text = f"w{c.number}"
        last.append(f"{place} = {text}")
    return lines + last


def _still(kernel: Kernel) -> dict[int, str]:
    """The indices of the outer axes alone: where a lane is before its first step and after its last."""
    return {axis: name for axis, name in kernel.index.items() if axis < kernel.nest.outer}


# ---- lane by lane


def _lane_by_lane(kernel: Kernel) -> None:
    nest, scalars = kernel.nest, kernel.scalars
    if not kernel.target.flat_arrays:
        kernel.put(1, ["turns = 0"])
    if nest.layout == "column":
        lanes = nest.outer - 1
        n, block = scalars.extent(lanes), nest.lanes
        kernel.put(1, [f"width = {kernel.quotient(f'{n} + {block - 1}', str(block))} * {block}"])
        kernel.put(1, [f"for z in range(lo * {block} + thread, hi * {block}, threads):"])
        kernel.put(2, [f"r{lanes} = {kernel.quotient('z', 'width')}", f"l = z - r{lanes} * width", f"if l < {n}:"])
        kernel.put(3, kernel.decode(f"r{lanes}", list(range(lanes))))
        indent = 3
    else:
        kernel.put(1, [kernel.points("o")])
        kernel.put(2, kernel.decode("o", list(range(nest.outer))) if nest.outer > 1 else [])
        indent = 2
    done: dict[int, int] = {}
    for p in kernel.form.passes:
        scalars.start_pass({}, done | {c.number: 2 for c in p.carries})
        if p.level == "point":
            scope = Scope(1, _still(kernel), name_loads=len(p.stores) > 1)
            body = store_lines(kernel, p, scalars.evaluate(store_roots(p), scope), scope)
            kernel.put(indent, scope.at(1) + scope.at(2) + body)
        else:
            _lane_pass(kernel, p, indent)
        done |= {c.number: 1 for c in p.carries}


def _lane_pass(kernel: Kernel, p: PassForm, indent: int) -> None:
    nest, scalars = kernel.nest, kernel.scalars
    before = Scope(1, _still(kernel))
    starts = scalars.evaluate([c.start for c in p.carries], before)
    begin = [f"m{c.number} = {text}" for c, (text, _) in zip(p.carries, starts, strict=True)]
    scalars.carries.update({c.number: f"m{c.number}" for c in p.carries})
    places = [f"m{c.number}" for c in p.carries]
    scope = Scope(2, dict(kernel.index) if p.level == "row" else _still(kernel), name_loads=loads_first(kernel, p))
    test: list[str] = []
    if p.test is not None:
        goes_on = scalars.evaluate([p.test], scope)[0][0]
        test = [*scope.at(2), f"if not ({goes_on}):", "    break"]
        scope.statements[2] = []
    texts = scalars.evaluate(store_roots(p) + [c.next for c in p.carries], scope)
    count = len(texts) - len(p.carries)
    body = scope.at(2) + store_lines(kernel, p, texts[:count], scope) + _updates(p, texts[count:], places)
    kernel.put(indent, before.at(1) + before.at(2) + scope.at(1) + begin)
    if p.test is not None:
        count = [] if kernel.target.flat_arrays else ["turns = turns + 1"]
        kernel.put(indent, ["while True:"])
        kernel.put(indent + 1, test + body + count + _may_stop(kernel, "turns", OFTEN))
        return
    axis = nest.outer
    i, n = kernel.index[axis], scalars.extent(axis)
    kernel.put(indent, [f"for {i} in range({n}):"])
    kernel.put(indent + 1, [*body, *_may_stop(kernel, f"({i} + 1)", OFTEN)] or ["pass"])
    kernel.put(indent, _counting(kernel, n, OFTEN))


# ---- blocks of lanes


def _outside(scope: Scope) -> list[str]:
    """Statements before the loop over lanes where there are no steps: a stride along them may still be written."""
    return [line for depth in range(1, scope.deepest) for line in scope.at(depth)]


def _in_blocks(kernel: Kernel) -> None:
    nest, scalars = kernel.nest, kernel.scalars
    lanes, width = nest.outer - 1, nest.lanes
    n = scalars.extent(lanes)
    kernel.put(1, ["turns = 0"])
    kernel.put(1, [f"blocks = {kernel.quotient(f'{n} + {width - 1}', str(width))}", kernel.points("z")])
    kernel.put(2, [f"r{lanes} = {kernel.quotient('z', 'blocks')}", f"c = (z - r{lanes} * blocks) * {width}"])
    kernel.put(2, [f"e = c + {width}" if nest.block else f"e = select(c + {width} < {n}, c + {width}, {n})"])
    kernel.put(2, kernel.decode(f"r{lanes}", list(range(lanes))))
    blocks = Blocks(kernel)
    known: dict[int, int] = {}
    for p in kernel.form.passes:
        known |= {c.number: 2 + nest.inner for c in p.carries}
        scalars.start_pass({}, known)
        if p.level == "point":
            scope = Scope(2 + nest.inner, _still(kernel), name_loads=len(p.stores) > 1)
            body = store_lines(kernel, p, scalars.evaluate(store_roots(p), scope), scope)
            kernel.put(2, _outside(scope) + ["for l in range(c, e):"])
            kernel.put(3, scope.at(2 + nest.inner) + body)
        else:
            _block_pass(kernel, p, blocks)


def _block_pass(kernel: Kernel, p: PassForm, blocks: Blocks) -> None:
    nest, scalars, width = kernel.nest, kernel.scalars, kernel.nest.lanes
    deepest = 2 + nest.inner
    for c in p.carries:
        blocks.declare(f"m{c.number}", c.code)
    places = [blocks.place(f"m{c.number}") for c in p.carries]
    before = Scope(deepest, _still(kernel), name_loads=len(p.carries) > 1)
    starts = scalars.evaluate([c.start for c in p.carries], before)
    begin = [f"{place} = {text}" for place, (text, _) in zip(places, starts, strict=True)]
    scalars.carries.update({c.number: place for c, place in zip(p.carries, places, strict=True)})
    scope = Scope(deepest, dict(kernel.index) if p.level == "row" else _still(kernel), name_loads=loads_first(kernel, p))
    roots, own = store_roots(p), {c.number for c in p.carries}
    if p.test is not None:
        roots = [k for k, (op, _, number, _) in enumerate(kernel.form.nodes) if op == "carry" and number in own] + roots
    texts = scalars.evaluate(roots + [c.next for c in p.carries] + ([] if p.test is None else [p.test]), scope)
    count = len(roots)
    nexts = texts[count : count + len(p.carries)]
    if p.test is None:
        lines = store_lines(kernel, p, texts[:count], scope)
    else:
        now = {kernel.form.nodes[k][2]: text for k, (text, _) in zip(roots, texts, strict=False)}
        lines = [f"g = {texts[-1][0]}"]
        nexts = [
            (f"select(g, {text}, {now.get(c.number, place)})", ATOM)
            for c, (text, _), place in zip(p.carries, nexts, places, strict=True)
        ]
    lines += _updates(p, nexts, places)
    around = scope.statements.get(1, []) if p.level == "row" else _outside(scope)
    kernel.put(2, _outside(before) + around + ["for l in range(c, e):"])
    kernel.put(3, before.at(deepest) + begin)
    if p.test is not None:
        kernel.put(2, ["w = i32(1)", "while w != i32(0):"])
        kernel.put(3, ["w = i32(0)", "for l in range(c, e):"])
        kernel.put(4, scope.at(deepest) + lines + ["w = or_(w, i32(g))"])
        kernel.put(3, ["turns = turns + 1", *_may_stop(kernel, "turns", OFTEN // width)])
        return
    axis = nest.outer
    kernel.put(2, [f"for {kernel.index[axis]} in range({scalars.extent(axis)}):"])
    kernel.put(3, scope.at(2) + ["for l in range(c, e):"])
    kernel.put(4, scope.at(deepest) + (lines or ["pass"]))
    kernel.put(3, _may_stop(kernel, f"({kernel.index[axis]} + 1)", OFTEN // width))
    kernel.put(2, _counting(kernel, scalars.extent(axis), OFTEN // width))
