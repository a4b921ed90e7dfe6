"""Loops and branches: an equation of scan, while or cond becomes a node, its programs become programs, and the plan places them.

In: an equation (its bodies as passes/control.py left them). Out: one node of kind "control" with a result for each output,
and, in the plan, a LoopStep, WhileStep or BranchStep between the copies that it needs.

A carry lies in its result's memory. Where the body can write the new value over the old one it does; otherwise the two take
turns in that memory and a second one. Constants, slices of xs and of ys are used where they are.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from funcgrad.ir.effects import effectful
from funcgrad.ir.jaxpr import Eqn, Jaxpr
from funcgrad.loops.graph import Graph, Node, Number, Random
from funcgrad.loops.program import BranchStep, ConstStep, CopyStep, LoopStep, Part, Program, Ref, Slot, Step, WhileStep
from funcgrad.loops.views import Strided, contiguous

BOOL = np.dtype(np.bool_)
Pairs = dict[int, int]  # output -> the input over whose memory it may be written
Compile = Callable[[Jaxpr, Pairs], Program]


class Operand(NamedTuple):
    """Where an operand lies: `node` from element `offset` on; along its leading axis, if that is walked, `step` elements."""

    node: Node
    offset: int
    step: int = 0


class Call(NamedTuple):
    """An equation and its operands: Operand, or Number for a literal that a carry starts from (or a branch takes)."""

    eqn: Eqn
    operands: tuple[Any, ...]


# --- lowering -----------------------------------------------------------------------------------------------------


def lower_control(lowering: Any, eqn: Eqn) -> None:
    """Add the node of an equation."""
    graph: Graph = lowering.graph
    walked = _walked(eqn)
    literal = _may_be_literal(eqn)
    operands: list[Any] = []
    views: list[Random] = []
    for k, x in enumerate(eqn.inputs):
        value = lowering.value(x)
        if value.__class__ is Number:
            if k in literal:
                operands.append(Number(value.value, x.aval.dtype))
                continue
            value = lowering.array(x)
        v = _as_memory(graph, value, k in walked)
        operands.append(Operand(v.node, v.offset, v.strides[0] if k in walked else 0))
        views.append(Random(v.node, v.offset, v.shape, v.strides))
        v.node.must = True
    results: list[Node] = []
    for var in eqn.outputs:
        node = Node(graph, "result" if results else "control", var.aval.shape, var.aval.dtype)
        node.args = (Random(results[0], 0, results[0].shape, results[0].strides),) if results else ()
        node.must = True
        results.append(node)
        lowering.env[var] = node.view()
    node = results[0] if results else Node(graph, "control", (), BOOL)  # without results it is a place in the order
    node.args, node.must, node.results, node.source = tuple(views), True, results, eqn.source
    node.call = Call(eqn, tuple(operands))
    if effectful(eqn):
        node.after, lowering.effect = lowering.effect, node


def _walked(eqn: Eqn) -> range:
    """The operands of which each step sees a slice."""
    if eqn.primitive.loop.kind != "scan":
        return range(0)
    return range(eqn.params["consts"] + eqn.params["carry"], len(eqn.inputs))


def _may_be_literal(eqn: Eqn) -> range:
    p, kind = eqn.params, eqn.primitive.loop.kind
    if kind == "scan":
        return range(p["consts"], p["consts"] + p["carry"])
    return range(p["cond_consts"] + p["body_consts"], len(eqn.inputs)) if kind == "while" else range(0)


def _as_memory(graph: Graph, v: Strided, walked: bool) -> Strided:
    """The view, or a copy where a body could not read it (or each of its slices) as an array in row-major order."""
    first = 1 if walked else 0
    shape, strides = v.shape[first:], v.strides[first:]
    if 0 in v.shape or all([s == t or n == 1 for s, t, n in zip(strides, contiguous(shape), shape, strict=True)]):
        return v
    return graph.copy(v)


# --- the programs inside --------------------------------------------------------------------------------------------


class Control(NamedTuple):
    """A control node with its programs, ready for the plan."""

    node: Node
    programs: tuple[Program, ...]
    inplace: tuple[tuple[Node, Node], ...]  # (result, operand) that may share memory
    compile: Compile


def control_of(node: Node, compile_: Compile) -> Control:
    """Compile the programs of a control node."""
    call: Call = node.call
    p, kind = call.eqn.params, call.eqn.primitive.loop.kind
    results = node.results
    if kind == "cond":
        programs = tuple([compile_(b, {}) for b in p["branches"]])
        pairs = _branch_pairs(p["branches"], compile_)
        shared = [(results[o], call.operands[1 + i]) for o, i in pairs.items()]
    else:
        first = p["consts"] if kind == "scan" else p["body_consts"]
        pairs = {k: first + k for k in range(p["carry"] if kind == "scan" else len(results))}
        body = compile_(p["body"], pairs)
        programs = (body,) if kind == "scan" else (compile_(p["cond"], {}), body)
        skip = first if kind == "scan" else p["cond_consts"] + first
        shared = [(results[k], call.operands[skip + k]) for k in pairs]
    inplace = tuple([(r, x.node) for r, x in shared if x.__class__ is Operand and not x.offset and _same(r, x.node)])
    return Control(node, programs, inplace, compile_)


def _same(a: Node, b: Node) -> bool:
    return a.size == b.size and a.dtype.itemsize == b.dtype.itemsize


def _branch_pairs(branches: Sequence[Jaxpr], compile_: Compile) -> Pairs:
    """Outputs that every branch hands through from one operand, or can write over it; one hands it through at least."""
    candidates: Pairs = {}
    for b in branches:
        place = {v: i for i, v in enumerate(b.invars)}
        for o, x in enumerate(b.outvars):
            if x in place and place[x] not in candidates.values():
                candidates.setdefault(o, place[x])
    if not candidates:
        return {}
    for b in branches:
        shared = shared_memory(compile_(b, candidates))
        candidates = {o: i for o, i in candidates.items() if shared.get(o) == i}
    return candidates


def shared_memory(program: Program) -> Pairs:
    """Outputs that lie in an input's memory."""
    return dict(program.donated) | dict(program.forwarded)


# --- the steps ----------------------------------------------------------------------------------------------------


class Placing(ABC):
    """What the plan knows, for one step."""

    @abstractmethod
    def at(self, node: Node, offset: int) -> Ref:
        """The memory of an element; equal where it is the same."""

    @abstractmethod
    def temporary(self, size: int) -> Ref:
        """`size` bytes for this step alone."""

    def operand(self, x: Any) -> Ref:
        return self.at(x.node, x.offset)


def steps_of(control: Control, placing: Placing) -> list[Step]:
    """The steps of a control node."""
    kind = control.node.call.eqn.primitive.loop.kind
    return {"scan": _scan, "while": _while, "cond": _branch}[kind](control, placing)


class _Carries:
    """The memory of a loop's carry: the copies before it, slots and swaps, and where the body finds old and new values."""

    def __init__(self, body: Program, first: int, starts: Sequence[Any], results: Sequence[Node], placing: Placing, odd: bool):
        self.steps: list[Step] = []
        self.slots: list[Slot] = []
        self.swaps: list[tuple[int, int]] = []
        self.old: list[Ref] = []
        self.new: list[Ref] = []
        self.moved: list[tuple[int, Ref, int]] = []
        shared = shared_memory(body)
        for k, (start, result) in enumerate(zip(starts, results, strict=True)):
            home = placing.at(result, 0)
            size = result.size * result.dtype.itemsize
            place = home
            if shared.get(k) == first + k or not size:
                self.old.append(home)
                self.new.append(home)
            else:
                second = placing.temporary(size)
                place, other = (second, home) if odd else (home, second)
                a = len(self.slots)
                self.slots += [Slot(place), Slot(other)]
                self.swaps.append((a, a + 1))
                self.moved.append((a, home, size))
                self.old.append(Ref("slot", a))
                self.new.append(Ref("slot", a + 1))
            if size:
                self.begin(start, place, size, result.dtype, placing)

    def begin(self, start: Any, place: Ref, size: int, dtype: np.dtype, placing: Placing) -> None:
        if start.__class__ is Number:
            self.steps.append(ConstStep(place, np.asarray(start.value, dtype).tobytes()))
        elif (source := placing.operand(start)) != place:
            self.steps.append(CopyStep(source, place, size))


def _part(program: Program, inputs: Sequence[Ref], outputs: Sequence[Ref], arena: Ref) -> Part:
    return Part(program, tuple(inputs), tuple(outputs), arena)


def _scan(control: Control, placing: Placing) -> list[Step]:
    call: Call = control.node.call
    p, (body,) = call.eqn.params, control.programs
    nc, n, length = p["consts"], p["carry"], p["length"]
    results = control.node.results
    carries = _Carries(body, nc, call.operands[nc : nc + n], results[:n], placing, odd=bool(length % 2))
    slots = carries.slots

    def slot(start: Ref, stride: int) -> Ref:
        """Where the step at hand finds its slice."""
        if not stride or length < 2:
            return start
        if p["reverse"]:
            start, stride = Ref(start.kind, start.number, start.offset + (length - 1) * stride), -stride
        slots.append(Slot(start, stride))
        return Ref("slot", len(slots) - 1)

    inputs = [placing.operand(x) for x in call.operands[:nc]] + carries.old
    for x in call.operands[nc + n :]:
        inputs.append(slot(placing.operand(x), x.step * x.node.dtype.itemsize))
    outputs = list(carries.new)
    for y in results[n:]:
        outputs.append(slot(placing.at(y, 0), prod(y.shape[1:]) * y.dtype.itemsize))
    if not length:
        return carries.steps
    part = _part(body, inputs, outputs, placing.temporary(body.arena))
    return [*carries.steps, LoopStep(length, part, tuple(slots), tuple(carries.swaps))]


def _while(control: Control, placing: Placing) -> list[Step]:
    call: Call = control.node.call
    p, (test, body) = call.eqn.params, control.programs
    cc, bc = p["cond_consts"], p["body_consts"]
    carries = _Carries(body, bc, call.operands[cc + bc :], control.node.results, placing, odd=False)
    predicate = placing.temporary(1)
    arena = placing.temporary(max(test.arena, body.arena))
    tested = [placing.operand(x) for x in call.operands[:cc]] + carries.old
    inputs = [placing.operand(x) for x in call.operands[cc : cc + bc]] + carries.old
    step = WhileStep(
        _part(test, tested, [predicate], arena),
        predicate,
        _part(body, inputs, carries.new, arena),
        tuple(carries.slots),
        tuple(carries.swaps),
        tuple(carries.moved),
    )
    return [*carries.steps, step]


def _branch(control: Control, placing: Placing) -> list[Step]:
    call: Call = control.node.call
    programs = control.programs
    index, *given = [placing.operand(x) for x in call.operands]
    outputs = [placing.at(r, 0) for r in control.node.results]
    shared = {o: i for o, place in enumerate(outputs) for i, x in enumerate(given) if place == x and control.node.results[o].size}
    if shared:
        programs = tuple([control.compile(b, shared) for b in call.eqn.params["branches"]])
    arena = placing.temporary(max([b.arena for b in programs]))
    return [BranchStep(index, tuple([_part(b, given, outputs, arena) for b in programs]))]
