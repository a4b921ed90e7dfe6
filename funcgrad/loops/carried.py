"""Loops as one kernel: a scan or while whose body is scalar operations on tiny values, with its carry in registers.

In: an equation of scan, while or cond. Out: a node of kind "carried" in the graph, whose draft is one nest; or nothing, and the
equation takes the general road (loops/control.py).

The axes that a body walks elementwise are lanes (elements.py): a batch of vmap, the elements of a carry. They become the outer
axes of the nest, the steps its inner one. A scan without carry, which is what vmap makes of a while with a batched condition, is
lanes as well: what its body computes before and after its loops runs once a lane.
"""

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.aval import shaped
from funcgrad.ir.effects import has_effects
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var
from funcgrad.ir.loop_rules import View
from funcgrad.loops.draft import Draft, DraftCarry, DraftPass, DraftStore, Emitter
from funcgrad.loops.elements import Labels, Unfit, Value, same_labels
from funcgrad.loops.graph import Node, Number, Random, Ref
from funcgrad.loops.reader import NO_SPACE, Memory, Space
from funcgrad.loops.scalarise import Scalarise
from funcgrad.loops.sums import Split, split
from funcgrad.loops.tape import Tape
from funcgrad.loops.templates import BOOL, INT64, KERNEL_DTYPES, copy_template, fold_template, storage_dtype
from funcgrad.loops.views import Strided, contiguous

Grid = np.ndarray | None


class Place(NamedTuple):
    """Where elements of result `result` go: `value` to offset + strides . (lanes, step), where `guard` holds."""

    result: int
    offset: int
    strides: tuple[int, ...]
    value: int
    guard: int | None


class Stage(NamedTuple):
    """One loop of a lane: its carries (number, start, next, dtype), its test or the stores of each step."""

    carries: list[DraftCarry]
    test: int | None
    stores: list[Place]


class Stacked(NamedTuple):
    """The values of all steps of a loop: in memory, or nowhere. `lead` are labels of lanes before the axis of steps."""

    stage: int
    value: Value
    length: int
    reverse: bool
    lead: tuple[int, ...] = ()


class Lane(Scalarise):
    """One run over the program of a lane, in which loops become stages."""

    def __init__(self, labels: Labels, tape: Tape | None = None, space: Space = NO_SPACE):
        super().__init__(labels, tape, space)
        self.stages: list[tuple[list[DraftCarry], int | None]] = []
        self.length = 0  # of the axis of steps
        self.count = 0  # of carries
        self.inside = False
        self.largest: list[Value] = []  # carries and results

    def equation(self, eqn: Eqn, args: list[Any]) -> list[Any]:
        if not self.inside and eqn.primitive.name == "scan" and eqn.params["carry"]:
            return self.steps(args, **eqn.params)
        if not self.inside and eqn.primitive.name == "while":
            return self.turns(eqn, args)
        return super().equation(eqn, args)

    def side_by_side(self, args: list[Any], p: dict[str, Any]) -> list[Any]:
        """A scan without carry: its steps are lanes, also of the loops in it."""
        outs = super().side_by_side(args, p)
        for y in outs:
            if y.__class__ is Stacked and not self.ctx.writing:
                self.ctx.seen.append((*y.lead, *y.value.labels))
        return outs

    def gathered(self, rows: list[Any], along: int, length: int) -> Any:
        """A result of lanes; that of a loop in a lane stays where it is."""
        if rows[0].__class__ is not Stacked:
            return super().gathered(rows, along, length)
        if len(rows) > 1:
            raise Unfit("loops in lanes that are told apart")
        return rows[0]._replace(lead=(along, *rows[0].lead))

    def begin(self, args: Sequence[Any], body: Jaxpr) -> tuple[list[Value], list[Value]]:
        """(starts, carries) of a loop."""
        starts = [self.value(x) for x in args]
        carries = []
        for x, var in zip(starts, body.out_avals, strict=False):
            if var.dtype not in KERNEL_DTYPES or 0 in var.shape:
                raise Unfit(f"a carry of {var}")
            labels = [self.ctx.fresh(n) for n in var.shape]
            same_labels(self.ctx, x, labels)
            v = Value(self.ctx, var.shape, labels, None)
            if self.tape is not None:
                grid = np.empty(v.places(v.shape, labels), int)
                for place in np.ndindex(grid.shape):
                    grid[place] = self.tape.carry(self.count, var.dtype)
                    self.count += 1
                v.grid = grid
            carries.append(v)
        self.largest += carries
        return starts, carries

    def end(self, starts: list[Value], carries: list[Value], nexts: list[Value], test: int | None) -> None:
        found = []
        for start, carry, after in zip(starts, carries, nexts, strict=True):
            same_labels(self.ctx, after, carry.labels)
            if self.tape is None:
                continue
            for place in np.ndindex(self.grid(carry).shape):
                first, now, then = (
                    int(np.broadcast_to(self.grid(v), self.grid(carry).shape)[place]) for v in (start, carry, after)
                )
                _, dtype, _, number = self.tape.instrs[now]
                found.append(DraftCarry(number, first, then, dtype))
        self.stages.append((found, test))

    def steps(self, args: list[Any], *, body: Jaxpr, consts: int, carry: int, length: int, reverse: bool) -> list[Any]:
        """A scan: a stage that walks the axis of steps."""
        if self.length or not length:
            raise Unfit("two scans, or one of no steps")
        self.length = length
        starts, carries = self.begin(args[consts : consts + carry], body)
        xs = []
        for x in args[consts + carry :]:
            if x.__class__ is not Memory or x.step:
                raise Unfit("xs that the body computes")
            step = x.strides[0]
            offset = x.offset + (length - 1) * step if reverse else x.offset
            xs.append(
                x._replace(offset=offset, shape=x.shape[1:], strides=x.strides[1:], step=-step if reverse else step, steps=length)
            )
        self.inside = True
        outs = [self.value(x) for x in self.run(body, [*args[:consts], *carries, *xs])]
        self.inside = False
        self.end(starts, carries, outs[:carry], None)
        self.largest += outs[carry:]
        return [*carries, *[Stacked(len(self.stages) - 1, y, length, reverse) for y in outs[carry:]]]

    def turns(self, eqn: Eqn, args: list[Any]) -> list[Any]:
        """A while: a stage with a test."""
        p = eqn.params
        cc, bc = p["cond_consts"], p["body_consts"]
        starts, carries = self.begin(args[cc + bc :], p["body"])
        self.inside = True
        goes_on = self.value(self.run(p["cond"], [*args[:cc], *carries])[0])
        test = None if self.tape is None else int(self.grid(goes_on))
        self.mask = test
        outs = [self.value(x) for x in self.run(p["body"], [*args[cc : cc + bc], *carries])]
        self.mask, self.inside = None, False
        self.end(starts, carries, outs, test)
        return list(carries)


class Carried:
    """What the node of a carried loop knows: its stages, what follows them, and how to draft them."""

    def __init__(self, stages: list[Stage], last: list[Place]):
        self.stages, self.last = stages, last

    def __call__(self, node: Node) -> list[Draft]:
        """The draft: a pass for each loop, and one for what is stored at the end."""
        n = len(node.space)
        wanted = [r.must or bool(r.uses) for r in node.results]
        draft = Draft(node.space, (n - 1,) if self.stages else None)
        emitter = Emitter(draft, None)
        positions = tuple([(0, tuple([int(i == a) for i in range(n)])) for a in range(n)])
        numbers, _ = emitter.apply(node, node.template, node.args, positions)

        def stores(places: list[Place]) -> list[DraftStore]:
            return [
                DraftStore(
                    draft.out(node.results[p.result], p.offset, p.strides), numbers[p.value], (), None,
                    None if p.guard is None else numbers[p.guard],
                )
                for p in places
                if wanted[p.result]
            ]  # fmt: skip

        for stage in self.stages:
            carries = tuple([DraftCarry(c.number, numbers[c.start], numbers[c.next], c.dtype) for c in stage.carries])
            test = None if stage.test is None else numbers[stage.test]
            draft.passes.append(DraftPass("row" if test is None else "while", stores(stage.stores), [], carries, test))
        last = stores(self.last)
        if last:
            draft.passes.append(DraftPass("point" if self.stages else "row", last, []))
        return [draft]


def carried(eqn: Eqn, lowering: Any) -> bool:
    """Whether the equation's nodes have been added to the graph; False: it takes the general road (loops/control.py)."""
    name = eqn.primitive.name
    if name not in ("scan", "while") or any([has_effects(j) for j in eqn.params.values() if j.__class__ is Jaxpr]):
        return False
    if any([0 in x.aval.shape or x.aval.dtype not in KERNEL_DTYPES for x in (*eqn.inputs, *eqn.outputs)]):
        return False
    try:
        parted = split(eqn) if name == "scan" else None
        if parted is None:
            _add(eqn, lowering)
        else:
            _with_totals(parted, lowering)
    except Unfit:
        return False
    return True


def _with_totals(parted: Split, lowering: Any) -> None:
    """A loop with a sum for each lane, and the sums over lanes after it."""
    graph = lowering.graph
    for var in parted.zeros:
        dtype = var.aval.dtype
        zero = graph.map((), dtype, copy_template(storage_dtype(dtype)), (Number(dtype.type(0), dtype),))
        lowering.env[var] = zero.view().broadcast(var.aval.shape, ())
    _add(parted.eqn, lowering)
    for result, total in parted.totals.items():
        dtype, shape = result.aval.dtype, result.aval.shape
        out = None if total.start is None else lowering.ref(total.start, len(shape))
        for var, steps in total.parts:
            v = lowering.env[var]
            for step in steps:
                v = _later(step, v, lowering)
            part = Ref(v.node, v.offset, v.strides)
            if out is None:
                lowering.env[result] = v
                break
            node = graph.map(shape, dtype, fold_template("add", dtype), (out, part))
            lowering.env[result] = node.view()
            out = Ref(node, 0, node.strides)


def _add(eqn: Eqn, lowering: Any) -> None:
    given = [_memory(lowering, x) for x in eqn.inputs]
    labels = Labels()
    first = Lane(labels)
    outs = first.equation(eqn, given)
    labels.settle()
    orders = [(*x.lead, *x.value.labels) if x.__class__ is Stacked else x.labels for x in outs]
    space = _space(labels, [*orders, *[v.labels for v in first.largest]], bool(first.stages))
    labels.restart()
    tape = Tape()
    lane = Lane(labels, tape, space)
    outs = lane.equation(eqn, given)
    stages = [Stage(carries, test, []) for carries, test in lane.stages]
    last: list[Place] = []
    for k, (out, var) in enumerate(zip(outs, eqn.outputs, strict=True)):
        strides = _laid_out(lowering, var)[1]
        if out.__class__ is Stacked:
            n = len(out.lead)
            step = -strides[n] if out.reverse else strides[n]
            offset = (out.length - 1) * strides[n] if out.reverse else 0
            lead = {labels.find(x): s for x, s in zip(out.lead, strides, strict=False) if labels.lane(x)}
            stages[out.stage].stores.extend(_places(lane, k, out.value, strides[n + 1 :], lead, step, offset))
        else:
            last += _places(lane, k, out, strides, {}, 0, 0)
    extents = tuple([labels.extent[r] for r in space.lanes]) + ((lane.length or 1,) if space.steps else ())
    _node(eqn, lowering, extents, tape, Carried(stages, last))


def _later(step: Any, v: Any, lowering: Any) -> Any:
    """One step from the results of lanes to their sum: a fold of axes, or an equation."""
    if step.__class__ is tuple:
        return lowering.fold(v, step, "add", v.node.dtype)
    rule = step.primitive.loop
    if rule.__class__ is View:
        return rule.fn(v, **step.params)
    given, out = Var(shaped(v.shape, v.node.dtype)), Var(shaped(v.shape, step.outputs[0].aval.dtype))
    lowering.env[given] = v
    inputs = tuple([given if x.__class__ is Var else x for x in step.inputs])
    lowering.pointwise(step._replace(inputs=inputs, outputs=(out,)), rule)
    return lowering.env[out]


def _memory(lowering: Any, x: Any) -> Any:
    """An operand as memory, or a literal."""
    if x.__class__ is Literal:
        return x
    v = lowering.value(x)
    v = v if v.__class__.__name__ == "Strided" else lowering.array(x)
    return Memory(v.node, v.offset, v.shape, v.strides)


def _space(labels: Labels, candidates: Sequence[Sequence[int]], steps: bool) -> Space:
    """The lanes in the order of the value that has most of them."""
    orders = [[labels.find(x) for x in axes if labels.lane(x)] for axes in candidates]
    order = max(orders, key=len, default=[])
    if not labels.align(order):
        raise Unfit("values over different lanes")
    return Space(tuple(order), steps)


def _places(
    lane: Lane, result: int, v: Value, strides: tuple[int, ...], lead: dict[int, int], step: int, offset: int
) -> list[Place]:
    """Where the elements of a value go. What has no place along a lane is stored by the first one."""
    labels, tape = lane.ctx, lane.tape
    assert tape is not None and v.grid is not None
    along = dict(lead) | {labels.find(x): s for x, s in zip(v.labels, strides, strict=True) if labels.lane(x)}
    guard = None
    for number, root in enumerate(lane.space.lanes):
        if root not in along:
            first = tape.add("eq", BOOL, (tape.plain("index", INT64, (), number), tape.int64(0)))
            guard = tape.both(guard, first)
    found = []
    moves = tuple([along.get(root, 0) for root in lane.space.lanes]) + ((step,) if lane.space.steps else ())
    for place in np.ndindex(v.grid.shape):
        at = offset + sum([i * s for i, s in zip(place, strides, strict=True)])
        found.append(Place(result, at, moves, int(v.grid[place]), guard))
    return found


def _laid_out(lowering: Any, var: Var) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of a result's memory, and the strides of the result's axes in it: as its only reader wants them."""
    shape = var.aval.shape
    perm = lowering.permuted.get(var)
    if perm is None:
        return shape, contiguous(shape)
    stored = tuple([shape[a] for a in perm])
    steps = contiguous(stored)
    return stored, tuple([steps[perm.index(a)] for a in range(len(shape))])


def _node(eqn: Eqn, lowering: Any, space: tuple[int, ...], tape: Tape, plan: Carried) -> None:
    graph = lowering.graph
    node = Node(graph, "carried", space, BOOL)
    node.source = None  # messages name their own lines
    node.must, node.call, node.template, node.args = True, plan, tape.template(), tuple(tape.args)
    node.results = []
    for var in eqn.outputs:
        shape, strides = _laid_out(lowering, var)
        result = Node(graph, "result", shape, var.aval.dtype)
        result.args = (Random(node, 0, (), ()),)
        node.results.append(result)
        lowering.env[var] = Strided(result, 0, var.aval.shape, strides)
    graph.read(node)
    assert prod(space)
