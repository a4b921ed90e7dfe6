"""How the body of a small loop reads: elements of arrays in memory, one template at one place, places that are computed.

In: values (elements.py), memory, templates. Out: numbers of instructions on a `Tape`.
"""

from typing import Any, NamedTuple

import numpy as np

from funcgrad.ir.jaxpr import Eqn, Literal
from funcgrad.loops.elements import Labels, Unfit, Value, same_labels
from funcgrad.loops.graph import Node, Random, Ref
from funcgrad.loops.tape import Tape
from funcgrad.loops.templates import (
    BOOL,
    INT64,
    Template,
    storage_dtype,
)


class Memory(NamedTuple):
    """An array in memory, of which a lane (or a step) sees a part: an element lies at offset + strides . index
    + the strides of `lanes` (label, stride, extent) + `step` * the number of the step (of `steps`)."""

    node: Node
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    lanes: tuple[tuple[int, int, int], ...] = ()
    step: int = 0
    steps: int = 1


class Space(NamedTuple):
    """The lanes (roots of labels) in order, and whether an axis of steps follows them."""

    lanes: tuple[int, ...]
    steps: bool


NO_SPACE = Space((), False)


class Reader:
    """Values and what reads them; `tape` is None in the first run, which only finds labels."""

    def __init__(self, labels: Labels, tape: Tape | None = None, space: Space = NO_SPACE):
        self.ctx, self.tape, self.space = labels, tape, space
        self.mask: int | None = None  # in a branch or a while: where what is read and checked counts

    # --- values ----------------------------------------------------------------------------------------------

    def value(self, x: Any) -> Value:
        """An input as a value: what lies in memory is loaded."""
        if x.__class__ is Value:
            return x
        if x.__class__ is Literal:
            grid = None if self.tape is None else np.array(self.tape.number(x.value, x.aval.dtype))
            return Value(self.ctx, (), (), grid)
        if x.__class__ is not Memory:
            raise Unfit("an array of all steps is read inside")
        labels = [self.ctx.fresh(n) for n in x.shape]
        return Value(self.ctx, x.shape, labels, None if self.tape is None else self.loaded(x, labels))

    def loaded(self, x: Memory, labels: list[int]) -> np.ndarray:
        tape, lane = self.tape, self.ctx.lane
        assert tape is not None
        along = {self.ctx.find(label): s for label, s, _ in x.lanes if lane(label)}
        along |= {self.ctx.find(label): s for label, s in zip(labels, x.strides, strict=True) if lane(label)}
        strides = tuple([along.get(root, 0) for root in self.space.lanes]) + ((x.step,) if self.space.steps else ())
        grid = np.empty(Value(self.ctx, x.shape, labels, None).places(x.shape, labels), int)
        for place in np.ndindex(grid.shape):
            offset = x.offset + sum([i * s for i, s in zip(place, x.strides, strict=True)])
            grid[place] = tape.arg((x.node.id, offset, strides), Ref(x.node, offset, strides), x.node.dtype)
        return grid

    def grid(self, v: Value) -> np.ndarray:
        assert v.grid is not None
        return v.grid

    def elementwise(self, body: Template, xs: list[Value], shape: tuple[int, ...], eqn: Eqn | None = None) -> list[Value]:
        labels = [self.ctx.fresh(n) for n in shape]
        for x in xs:
            if x.ndim == len(shape):
                same_labels(self.ctx, x, labels)
        if self.tape is None:
            return [Value(self.ctx, shape, labels, None) for _ in body.outs]
        places = Value(self.ctx, shape, labels, None).places(shape, labels)
        grids = [np.broadcast_to(self.grid(x), places) for x in xs]
        outs = [np.empty(places, int) for _ in body.outs]
        for place in np.ndindex(places):
            found = self.apply(body, [int(g[place]) for g in grids], labels, shape, place, xs, eqn)
            for out, k in zip(outs, found, strict=True):
                out[place] = k
        return [Value(self.ctx, shape, labels, out) for out in outs]

    def apply(
        self,
        body: Template,
        numbers: list[Any],
        labels: list[int],
        shape: tuple[int, ...],
        place: tuple[int, ...],
        args: list[Any],
        eqn: Eqn | None,
    ) -> list[int]:
        """A template at one place of its output; the numbers of its results."""
        tape = self.tape
        assert tape is not None
        done: list[int] = []
        for op, dtype, arguments, attr in body.instrs:
            given = tuple([done[i] for i in arguments])
            if op == "arg":
                k = numbers[attr]
            elif op == "index":
                k = self.index(labels[attr], place[attr])
            elif op == "target":
                k = numbers[attr]
            elif op == "extent":
                k = self.extent(labels[attr], shape[attr])
            elif op == "size":
                k = self.size(args[attr[0]], attr[1])
            elif op == "at":
                k = self.read(args[attr], given)
            elif op == "check":
                k = self.check(given, attr, eqn)
            else:
                k = tape.add(op, dtype, given, attr)
            done.append(k)
        return [done[i] for i in body.outs]

    def index(self, label: int, place: int) -> int:
        """The position along an axis: a constant, unless it is a lane."""
        assert self.tape is not None
        if not self.ctx.lane(label):
            return self.tape.int64(place)
        return self.tape.plain("index", INT64, (), self.space.lanes.index(self.ctx.find(label)))

    def extent(self, label: int, n: int) -> int:
        assert self.tape is not None
        return self.tape.number(n, INT64) if self.ctx.lane(label) else self.tape.int64(n)

    def size(self, x: Any, axis: int) -> int:
        assert self.tape is not None
        known = x.__class__ is Value and not self.ctx.lane(x.labels[axis])
        return self.tape.int64(x.shape[axis]) if known else self.tape.number(x.shape[axis], INT64)

    def check(self, given: tuple[int, ...], message: str, eqn: Eqn | None) -> int:
        tape = self.tape
        assert tape is not None
        source = eqn.source if eqn is not None else None
        text = f"{message}, made at {source}" if source is not None else message
        return tape.add("check", INT64, (self.counted(given[0]), given[1]), text)

    def counted(self, i: int) -> int:
        """An index, or 0 where the branch is not taken or the lane has ended."""
        tape = self.tape
        assert tape is not None
        return i if self.mask is None or tape.constant(i) == 0 else tape.add("select", INT64, (self.mask, i, tape.int64(0)))

    # --- reads at computed indices -----------------------------------------------------------------------------

    def literal(self, x: Any) -> int | None:
        """An integer literal among the operands of a read: a constant, so that the place is known."""
        if x.__class__ is not Literal or x.aval.dtype.kind not in "iu":
            return None
        assert self.tape is not None
        return self.tape.const(x.value, x.aval.dtype)

    def handle(self, number: int, x: Any, body: Template, labels: list[int], shape: tuple[int, ...]) -> Any:
        """An operand that is read at computed places: memory where it may stay there, or else a value, whose axes are
        told apart unless each is read at the output's own index."""
        x = self.value(x) if x.__class__ is Literal else x
        reads = [arguments for op, _, arguments, attr in body.instrs if op == "at" and attr == number]
        known = [body.instrs[i][0] in ("index", "const") for arguments in reads for i in arguments]
        if x.__class__ is Memory and not all(known):
            return x
        x = self.value(x)
        for arguments in reads:
            for axis, i in enumerate(arguments):
                op, _, _, attr = body.instrs[i]
                if op == "index" and shape[attr] == x.shape[axis]:
                    self.ctx.unify(x.labels[axis], labels[attr])
                    continue
                self.ctx.touch(x.labels[axis])
                if op == "index":
                    self.ctx.touch(labels[attr])
        return x

    def read(self, x: Any, indices: tuple[int, ...]) -> int:
        tape = self.tape
        assert tape is not None
        if x.__class__ is Memory:
            return self.gather(x, indices)
        grid = self.grid(x)
        for axis in range(x.ndim):  # the axis at hand is always the first
            k = tape.constant(indices[axis])
            if x.ctx.lane(x.labels[axis]) or grid.shape[0] == 1:
                grid = grid[0]
            elif k is not None:
                grid = grid[min(max(k, 0), grid.shape[0] - 1)]
            else:
                grid = self.chosen(grid, indices[axis], storage_dtype(tape.instrs[int(grid.flat[0])][1]))
        return int(grid)

    def chosen(self, grid: np.ndarray, i: int, dtype: np.dtype) -> np.ndarray:
        """The slice along the first axis that a number names."""
        tape = self.tape
        assert tape is not None
        out = grid[0]
        for k in range(1, len(grid)):
            here = tape.add("eq", BOOL, (i, tape.int64(k)))
            taken = [tape.add("select", dtype, (here, int(x), int(y))) for x, y in zip(grid[k].flat, out.flat, strict=True)]
            out = np.array(taken, int).reshape(out.shape)
        return out

    def gather(self, x: Memory, indices: tuple[int, ...]) -> int:
        tape = self.tape
        assert tape is not None
        shape, strides, places = list(x.shape), list(x.strides), [self.counted(i) for i in indices]
        for label, stride, n in x.lanes:
            if self.ctx.lane(label):
                shape.append(n)
                strides.append(stride)
                places.append(self.index(label, 0))
        if x.step:
            shape.append(x.steps)
            strides.append(x.step)
            places.append(tape.plain("index", INT64, (), len(self.space.lanes)))
        key = (x.node.id, x.offset, tuple(shape), tuple(strides))
        number = tape.random(key, Random(x.node, x.offset, tuple(shape), tuple(strides)))
        return tape.plain("at", storage_dtype(x.node.dtype), tuple(places), number)
