"""Legal forms: what every stage of the machine wing promises to the next. Run between stages with config.check_ir.

Each function returns nothing, or raises IRError that names what is wrong.
"""

from math import prod
from typing import NamedTuple

import numpy as np

from funcgrad.core.errors import IRError
from funcgrad.loops.expr import OPS, Expr
from funcgrad.loops.fuse import Group
from funcgrad.loops.graph import Graph, Random, Ref
from funcgrad.loops.nest import Nest
from funcgrad.loops.program import (
    BranchStep,
    ConstStep,
    CopyStep,
    Gemm,
    HostStep,
    KernelStep,
    LoopStep,
    Part,
    Program,
    Step,
    WhileStep,
    parts,
)
from funcgrad.loops.program import Ref as Memory


def _require(ok: bool, text: str) -> None:
    if not ok:
        raise IRError(text)


def check_graph(graph: Graph) -> None:
    """Arguments come first; every read stays within the memory of what it reads."""
    for node in graph.nodes:
        regions = [(r.arg, r.shape) for r in node.regions] if node.kind == "assemble" else None
        for arg, space in regions or [(a, node.space) for a in node.args]:
            if arg.__class__ is Ref or arg.__class__ is Random:
                _require(arg.node.id < node.id, f"{node}: it reads {arg.node}, which comes later")
            if arg.__class__ is Random:
                space = arg.shape
            if node.kind == "dot" or (node.kind == "scatter" and arg is node.args[0]):
                continue
            if (arg.__class__ is Ref or arg.__class__ is Random) and 0 not in space:
                _require(len(arg.strides) == len(space), f"{node}: {arg.strides} are not the strides of {space}")
                low = arg.offset + sum(min(0, s * (n - 1)) for s, n in zip(arg.strides, space, strict=True))
                high = arg.offset + sum(max(0, s * (n - 1)) for s, n in zip(arg.strides, space, strict=True))
                _require(0 <= low <= high < arg.node.size, f"{node}: it reads {arg.node} from {low} to {high}")


def check_groups(graph: Graph, groups: list[Group]) -> None:
    """Each value is computed once, in a group that runs after what it reads; inlined values never have memory."""
    done: set[int] = set()
    owned: set[int] = set()
    for group in groups:
        for unit in group.units:
            _require(unit.id not in owned, f"{unit} is in two groups")
            owned.add(unit.id)
            _require(not unit.inline, f"{unit} is inlined and also in a group")
            for other, _, _ in unit.leaves:
                if other.group is not group and other.kind != "input":
                    _require(other.id in done, f"{unit} in {group} runs before {other}, which it reads")
        for unit in group.units:
            done.add(unit.id)
            if unit.kind in ("host", "carried", "control"):
                done.update(n.id for n in unit.results)
    for node in graph.outputs:
        _require(node.kind == "input" or node.id in done, f"output {node} is never computed")


def check_nest(nest: Nest) -> None:
    """The form that nest.py describes."""
    rank = nest.outer + nest.inner
    vector = nest.outer - 1 if nest.layout == "column" else rank - 1
    # A column nest may fold an axis of one element, which is no axis of its own.
    _require(nest.inner >= 1 or nest.layout == "column", f"nest: {nest.inner} inner axes")
    for o in nest.operands:
        _require(len(o.strides) == rank, f"nest: {len(o.strides)} strides for {rank} axes")
        if o.role != "scratch":
            _require(
                all(s is None for a, s in enumerate(o.strides) if a != vector),
                f"nest: a static stride outside the vector axis in {o}",
            )
    done: set[int] = set()
    carried: set[int] = set()
    for p in nest.passes:
        _require(p.level == "row" or not p.reductions, "nest: a reduction at point level")
        _require(p.level != "point" or not p.carries, "nest: carries at point level")
        _require((p.level == "while") == (p.test is not None), "nest: a test belongs to a pass at level while")
        _require(p.level != "while" or not p.stores, "nest: a store in a pass at level while")
        _require(not (nest.carried and any(q.reductions for q in nest.passes)), "nest: carries beside reductions")
        for e in _walk([c.start for c in p.carries]):
            _require(e.op != "carry" or e.attr in carried, f"nest: a start reads carry {e.attr} before it is done")
        for c in p.carries:
            _require(c.number not in carried, f"nest: carry {c.number} is in two passes")
            _require(c.dtype == c.start.dtype == c.next.dtype, f"nest: carry {c.number} changes its dtype")
        carried |= {c.number for c in p.carries}
        _require(p.test is None or p.test.dtype == np.bool_, "nest: a test that is no bool")
        running = {r.number for r in p.reductions if r.running}
        roots = [e for s in p.stores for e in (s.value, *s.indices, *([s.guard] if s.guard is not None else []))]
        roots += [e for c in p.carries for e in (c.start, c.next)] + ([] if p.test is None else [p.test])
        roots += [r.value for r in p.reductions] + [r.index_value for r in p.reductions if r.index_value is not None]
        for e in _walk(roots):
            _require(e.op in OPS, f"nest: no op {e.op!r}")
            if e.op == "load":
                _require(e.dtype == nest.operands[e.attr].dtype, f"nest: {e.op} of {e.dtype} from {nest.operands[e.attr]}")
                _require(len(e.args) == nest.operands[e.attr].indirect, "nest: a load without its indices")
                moves = p.level == "point" and nest.layout == "row" and nest.operands[e.attr].strides[-1] == 1
                _require(not moves, "nest: a point pass loads along the row")
            elif e.op == "param":
                _require(e.dtype == nest.params[e.attr], "nest: a param of another dtype")
            elif e.op == "carry":
                _require(e.attr in carried, f"nest: carry {e.attr} is read before its pass")
            elif e.op == "acc":
                _require(e.attr in done or e.attr in running, f"nest: reduction {e.attr} is read before it is done")
        for s in p.stores:
            o = nest.operands[s.operand]
            _require(o.role != "in", "nest: a store to an input")
            _require(s.value.dtype == o.dtype, f"nest: a store of {s.value.dtype} to {o.dtype}")
        done.update([r.number for r in p.reductions])


def _walk(roots: list[Expr]) -> list[Expr]:
    found: dict[int, Expr] = {}
    stack = list(roots)
    while stack:
        e = stack.pop()
        if id(e) not in found:
            found[id(e)] = e
            stack.extend(e.args)
    return list(found.values())


class _Reach(NamedTuple):
    """The bytes [low, high) of a buffer that an operand touches; `walk` is where it is at each place of the nest."""

    role: str
    buffer: tuple[str, int]
    low: int
    high: int
    walk: tuple[int, ...]


def _check_reach(reaches: list[_Reach]) -> None:
    """What a kernel writes is read only element by element, in the order in which it is written, and written once."""
    for y in reaches:
        for x in reaches:
            if y.role != "out" or x is y or x.buffer != y.buffer or x.high <= y.low or y.high <= x.low:
                continue
            meet = x.walk == y.walk if x.role == "in" else x.walk[0] != y.walk[0]  # parts of one array may be interleaved
            _require(meet, f"kernel: operands meet in {y.buffer}, bytes {x.low} to {x.high} ({x.role}) and {y.low} to {y.high}")


def check_kernel(step: KernelStep, sizes: dict[tuple[str, int], int], shared: dict[int, int] | None = None) -> None:
    """The length of dims, the extent, that no operand leaves its buffer, and which may lie in one memory. `shared` gives the
    output that lies in a donated input's memory."""
    nest = step.nest
    check_nest(nest)
    rank = nest.outer + nest.inner
    extents = step.dims[:rank]
    at = rank
    refs = iter(step.refs)
    reaches: list[_Reach] = []
    for o in nest.operands:
        strides = []
        for s in o.strides:
            strides.append(step.dims[at] if s is None else s)
            at += s is None
        reach = [(s, n) for s, n in zip(strides, extents, strict=True)]
        indirect = [(step.dims[at + 2 * i], step.dims[at + 2 * i + 1]) for i in range(o.indirect)]
        at += 2 * o.indirect
        if o.role == "scratch":
            continue
        ref = next(refs)
        if 0 in extents or any(n == 0 for _, n in indirect):
            continue
        reach += indirect
        size = o.dtype.itemsize
        low = ref.offset + size * sum(min(0, s * (n - 1)) for s, n in reach)
        high = ref.offset + size * sum(max(0, s * (n - 1)) for s, n in reach) + size
        limit = sizes[ref.kind, ref.number]
        _require(0 <= low and high <= limit, f"kernel: operand {o} reaches from {low} to {high} in {limit} bytes")
        donated = ref.kind == "input" and shared is not None and ref.number in shared
        buffer = ("output", shared[ref.number]) if donated else (ref.kind, ref.number)  # type: ignore[index]
        walk = (ref.offset, size, *[s * (n > 1) for s, n in reach])
        reaches.append(_Reach(o.role, buffer, low, high, walk))
    _check_reach(reaches)
    _require(next(refs, None) is None, "kernel: more refs than operands")
    at += sum(o.role == "scratch" for o in nest.operands)
    at += sum(-(-d.itemsize // 8) for d in nest.params)
    _require(at == len(step.dims), f"kernel: dims has {len(step.dims)} entries, its layout says {at}")
    outer = extents[: nest.outer]
    folds = nest.carried or any(p.reductions for p in nest.passes)
    if nest.layout == "column":
        extent = prod(outer[:-1]) * -(-outer[-1] // nest.lanes)
    elif nest.outer:
        extent = prod(outer)
    else:
        extent = 1 if folds else extents[0]
    _require(step.extent == extent, f"kernel: extent {step.extent}, its layout says {extent}")


def check_program(program: Program) -> None:
    """Every step within its buffers, and every output written."""
    sizes = {("arena", 0): program.arena}
    for i, (shape, dtype) in enumerate(program.inputs):
        sizes["input", i] = prod(shape) * dtype.itemsize
    for o, (shape, dtype) in enumerate(program.outputs):
        sizes["output", o] = prod(shape) * dtype.itemsize
    written: set[int] = {o for o, _ in program.forwarded + program.donated}  # an update of nothing writes nothing
    shared = {i: o for o, i in program.donated}
    for o, i in program.donated:
        _require(sizes["output", o] == sizes["input", i], f"output {o} cannot lie in input {i}: another size")
    _require(len(shared) == len(program.donated), "an input is donated twice")

    def out(ref: Memory) -> None:
        _require(ref.kind != "input" or ref.number in shared, "a step writes to an input")
        if ref.kind != "arena":
            written.add(ref.number if ref.kind == "output" else shared[ref.number])

    for step in program.steps:
        for ref in _written(step):
            out(ref)
        if isinstance(step, KernelStep):
            check_kernel(step, sizes, shared)
        elif isinstance(step, CopyStep):
            for ref in (step.src, step.dst):
                _within(ref, step.bytes, sizes)
        elif isinstance(step, ConstStep):
            _within(step.dst, len(step.data), sizes)
        elif isinstance(step, LoopStep | WhileStep | BranchStep):
            check_control(step, sizes)
    for o, (shape, _) in enumerate(program.outputs):
        _require(o in written or 0 in shape, f"output {o} is never written")


def _written(step: Step) -> list[Memory]:
    """Where a step writes (and what it shares with what it reads)."""
    if isinstance(step, KernelStep):
        outs = [o for o in step.nest.operands if o.role != "scratch"]
        return [ref for o, ref in zip(outs, step.refs, strict=True) if o.role == "out"]
    if isinstance(step, Gemm):
        return [step.c]
    if isinstance(step, HostStep):
        return [v.ref for v in step.outs]
    if isinstance(step, CopyStep | ConstStep):
        return [step.dst]
    slots = () if isinstance(step, BranchStep) else step.slots
    refs = [r for part in parts(step) for r in part.outputs]
    return [slots[r.number].start if r.kind == "slot" else r for r in refs]


def _within(ref: Memory, size: int, sizes: dict[tuple[str, int], int], stride: int = 0, steps: int = 1) -> None:
    low = ref.offset + min(0, stride * (steps - 1))
    high = ref.offset + size + max(0, stride * (steps - 1))
    limit = sizes[ref.kind, ref.number]
    _require(not size or (0 <= low and high <= limit), f"{ref} reaches from {low} to {high} in {limit} bytes")


def check_control(step: LoopStep | WhileStep | BranchStep, sizes: dict[tuple[str, int], int]) -> None:
    """The programs inside are legal, and their buffers lie inside those around them, in every step."""
    slots = () if isinstance(step, BranchStep) else step.slots
    steps = step.length if isinstance(step, LoopStep) else 1
    _require(steps > 0, "a loop of no steps")
    for a, b in () if isinstance(step, BranchStep) else step.swaps:
        _require(not slots[a].stride and not slots[b].stride, "slots that change places do not move")

    def check_buffer(ref: Memory, size: int) -> None:
        if ref.kind == "slot":
            _within(slots[ref.number].start, size, sizes, slots[ref.number].stride, steps)
        else:
            _within(ref, size, sizes)

    for part in parts(step):
        check_part(part)
        for ref, (shape, dtype) in zip(part.inputs + part.outputs, part.program.inputs + part.program.outputs, strict=True):
            check_buffer(ref, prod(shape) * dtype.itemsize)
        check_buffer(part.arena, part.program.arena)


def check_part(part: Part) -> None:
    """Its program, and that outputs lie where the program was told that they may."""
    check_program(part.program)
    shared = dict(part.program.donated) | dict(part.program.forwarded)
    for o, ref in enumerate(part.outputs):
        for i, x in enumerate(part.inputs):
            both = prod(part.program.outputs[o][0]) and prod(part.program.inputs[i][0])
            _require((shared.get(o) == i) == (x == ref) or not both, f"output {o} of a part lies in its input {i}")


def check_lives(lives: list[tuple[str, int, int, int, int]]) -> None:
    """No two arrays lie in the same part of the arena at the same time. Each is (name, offset, bytes, first step, last step);
    an array may begin where another one ends, in the step that reads the one and writes the other."""
    lives = sorted(lives, key=lambda life: life[3])
    for k, (name, offset, size, first, last) in enumerate(lives):
        for other, at, n, start, end in lives[k + 1 :]:
            if start > last or offset + size <= at or at + n <= offset:
                continue
            _require(
                start == last and at == offset and start != first,
                f"arena: {name} (bytes {offset} to {offset + size}, steps {first} to {last}) and "
                f"{other} ({at} to {at + n}, {start} to {end}) meet",
            )
