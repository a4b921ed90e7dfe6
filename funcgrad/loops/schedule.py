"""Schedule: a draft becomes a kernel: axes in the machine's order, joined where they lie together, a nest without numbers.

In: a `Draft`. Out: a `Kernel`: an interned `Nest` (equal structure, same object) and everything that the
structure leaves open: extents, strides, offsets, params, in the layout of `nest.py`.
"""

import struct
from math import prod
from typing import Any, NamedTuple

import numpy as np

from funcgrad.loops import intern
from funcgrad.loops.axes import NARROW, Axes, find_axes
from funcgrad.loops.draft import Draft, DraftCarry, DraftReduction, DraftStore, Slot
from funcgrad.loops.expr import Expr
from funcgrad.loops.graph import Node
from funcgrad.loops.nest import CARRIED_LANES, LANES, WHOLE, Nest, Operand
from funcgrad.loops.templates import cost_of, storage_dtype
from funcgrad.loops.views import Strides

INT64 = np.dtype(np.int64)
WHILE_TURNS = 64  # of a while loop, to guess its cost


class Kernel(NamedTuple):
    """A nest with its numbers, and for each operand with memory (node, offset in elements, role)."""

    nest: Nest
    dims: tuple[int, ...]
    extent: int
    operands: tuple[tuple[Node, int, str], ...]
    cost: float
    scratch: int
    messages: tuple[str, ...]
    optional: bool
    inplace: tuple[tuple[int, int], ...]  # (out, in) operands whose elements coincide: `in` may be overwritten


# --- code ------------------------------------------------------------------------------------------------


def _live(draft: Draft) -> list[bool]:
    """Which instructions of the tape somebody needs."""
    tape = draft.tape
    needed = [False] * len(tape)
    for p in draft.passes:
        for k in p.roots():
            needed[k] = True
    for k in range(len(tape) - 1, -1, -1):
        if needed[k]:
            for a in tape[k][2]:
                needed[a] = True
    return needed


def _bits(value: Any, dtype: np.dtype) -> tuple[int, ...]:
    """A param as int64 words."""
    kind = dtype.kind
    if kind == "i" or kind == "b":
        return (int(value),)
    if dtype == np.float32:
        return (struct.unpack("<i", struct.pack("<f", np.float32(value)))[0] & 0xFFFFFFFF,)
    raw = np.asarray(value, dtype).tobytes()
    raw += b"\0" * (-len(raw) % 8)
    return struct.unpack(f"<{len(raw) // 8}q", raw)


def _used(draft: Draft, needed: list[bool]) -> tuple[list[int], float]:
    """The slots in the order of their first load, then of their first store, scratch last; and the cost of the code."""
    slots, tape = draft.slots, draft.tape
    found: dict[int, None] = {}
    weight = 0.0
    for k, (op, _, _, attr) in enumerate(tape):
        if needed[k]:
            if op == "load":
                found[attr] = None
            else:
                weight += cost_of(op)
    for p in draft.passes:
        for s in p.stores:
            found[s.slot] = None
    live = list(found)
    return [k for k in live if slots[k].node is not None] + [k for k in live if slots[k].node is None], weight


class _Layout:
    """The operands of the nest and the front part of dims: extents, strides, indirect axes, offsets in scratch memory."""

    __slots__ = ("operands", "dims", "moved", "scratch")

    def __init__(self, draft: Draft, live: list[int], axes: Axes):
        extents, outer = axes.extents, axes.outer
        ends = [r[-1] if r else None for r in axes.runs]
        vector = outer - 1 if axes.column else len(ends) - 1
        self.operands: list[Operand] = []
        self.dims = list(extents)
        self.moved = self.scratch = 0  # bytes
        offsets: list[int] = []
        for k in live:
            slot = draft.slots[k]
            if slot.node is None:
                offsets.append(self.scratch)
                self.operands.append(self.row(slot, extents[outer:], outer))
                continue
            moves = [1 if a is None else slot.strides[a] for a in ends]
            classes: list[Any] = [None] * len(moves)
            if moves[vector] == 0 or moves[vector] == 1:
                classes[vector] = moves[vector]
                self.dims.extend([m for i, m in enumerate(moves) if i != vector])
            else:
                self.dims.extend(moves)
            points = slot.dtype.itemsize
            for m, n in zip(moves, extents, strict=True):
                if m:
                    points *= n
            self.moved += points
            for pair in slot.indirect:
                self.dims.extend(pair)
            self.operands.append(intern.operand(slot.dtype, slot.role, tuple(classes), len(slot.indirect)))
        self.dims.extend(offsets)

    def row(self, slot: Slot, inner: list[int], outer: int) -> Operand:
        """A scratch operand: one row, row-major over the inner axes."""
        size, steps = 1, []
        for n in reversed(inner):
            steps.append(size)
            size *= n
        self.dims.extend(reversed(steps[1:]))
        self.scratch += -(-size * slot.dtype.itemsize // 64) * 64
        classes = (0,) * outer + (None,) * (len(inner) - 1) + (1,)
        return intern.operand(slot.dtype, slot.role, classes, 0)


class _Code:
    """The instructions as interned expressions; params are appended to dims in the order of their first use."""

    __slots__ = ("values", "params", "messages", "dims")

    def __init__(self, draft: Draft, needed: list[bool], number_of: dict[int, int], axes: Axes, dims: list[int]):
        self.params: list[np.dtype] = []
        self.messages: list[str] = []
        self.dims = dims
        values: list[Any] = [None] * len(draft.tape)
        self.values = values
        ends = [r[-1] if r else None for r in axes.runs]
        expr = intern.expr
        for k, (op, dtype, args, attr) in enumerate(draft.tape):
            if not needed[k]:
                continue
            if op == "param":
                values[k] = self.param(*draft.numbers[attr])
                continue
            if op == "index":
                values[k] = self.position(draft.affine[attr], ends)
                continue
            if op == "load":
                attr = number_of[attr]
            elif op == "check":
                self.messages.append(draft.messages[attr])
                attr = len(self.messages) - 1
            values[k] = expr(op, dtype, tuple([values[a] for a in args]), attr)

    def param(self, value: Any, dtype: np.dtype) -> Expr:
        stored = storage_dtype(dtype)
        self.params.append(stored)
        self.dims.extend(_bits(value if dtype == stored else np.asarray(value, dtype).view(stored), stored))
        return intern.expr("param", stored, (), len(self.params) - 1)

    def position(self, affine: tuple[int, Strides], ends: list[int | None]) -> Expr:
        """offset + sum of strides x index, without the terms that are nothing."""
        offset, strides = affine
        out = None
        for axis, a in enumerate(ends):
            step = 0 if a is None else strides[a]
            if step:
                term = intern.expr("index", INT64, (), axis)
                if step != 1:
                    term = intern.expr("mul", INT64, (term, self.param(step, INT64)))
                out = term if out is None else intern.expr("add", INT64, (out, term))
        if out is None or offset:
            base = self.param(offset, INT64)
            out = base if out is None else intern.expr("add", INT64, (out, base))
        return out

    def store(self, s: DraftStore, number_of: dict[int, int]) -> tuple[Any, ...]:
        values = self.values
        guard = None if s.guard is None else values[s.guard]
        return number_of[s.slot], values[s.value], tuple([values[i] for i in s.indices]), s.combine, guard

    def reduction(self, r: DraftReduction) -> tuple[Any, ...]:
        index = None if r.index_value is None else self.values[r.index_value]
        return r.number, r.op, self.values[r.value], r.dtype, index, r.running

    def carry(self, c: DraftCarry) -> tuple[Any, ...]:
        return c.number, self.values[c.start], self.values[c.next], c.dtype


def schedule(draft: Draft) -> Kernel:
    """The kernel of a draft."""
    needed = _live(draft)
    live, weight = _used(draft, needed)
    axes = find_axes(draft, live)
    number_of = {k: i for i, k in enumerate(live)}
    layout = _Layout(draft, live, axes)
    code = _Code(draft, needed, number_of, axes, layout.dims)
    passes = tuple(
        [
            (
                p.level,
                tuple([code.store(s, number_of) for s in p.stores]),
                tuple([code.reduction(r) for r in p.reductions]),
                tuple([code.carry(c) for c in p.carries]),
                None if p.test is None else code.values[p.test],
            )
            for p in draft.passes
        ]
    )
    slots = [draft.slots[k] for k in live]
    return Kernel(
        intern.nest(
            axes.outer,
            len(axes.extents) - axes.outer,
            "column" if axes.column else "row",
            tuple(layout.operands),
            tuple(code.params),
            passes,
            draft.sequential,
            _block(axes, draft),
        ),
        tuple(layout.dims),
        _parallel(axes, draft),
        tuple([(s.node, s.offset, s.role) for s in slots if s.node is not None]),
        _cost(axes, layout.moved, weight, draft),
        layout.scratch,
        tuple(code.messages),
        draft.optional,
        _coincident(draft, live, slots),
    )


def _cost(axes: Axes, moved: int, weight: float, draft: Draft) -> float:
    """Estimated nanoseconds of one thread, for `moved` bytes and `weight` additions at each point. Measured on one core of an
    EPYC (AVX-512): 50 GB/s from memory; 160 additions a nanosecond in float32, half in float64; 0.7 ns a row."""
    wide = max([s.dtype.itemsize for s in draft.slots], default=4)
    rows = prod(axes.extents[: axes.outer])
    points = prod(axes.extents)
    if draft.carried():
        # One step after another: 1 ns an addition in few lanes, and how often a while turns is not known.
        turns = WHILE_TURNS if any([p.level == "while" for p in draft.passes]) else 1
        return 20.0 + moved * 0.02 + turns * points * (weight + 2.0) * (1.0 if rows < NARROW else 0.06)
    arithmetic = points * (weight + 2.0 * len(draft.passes)) * 0.006 * max(1.0, wide / 4)
    return 20.0 + moved * 0.02 + arithmetic + rows * 0.7


def _block(axes: Axes, draft: Draft) -> int:
    """How many lanes a kernel is made for, or 0: any number."""
    return axes.extents[axes.outer - 1] if axes.column and draft.carried() and axes.extents[axes.outer - 1] in WHOLE else 0


def _parallel(axes: Axes, draft: Draft) -> int:
    """The extent of [lo, hi)."""
    if axes.outer == 0:
        return axes.extents[0] if draft.reduced is None else 1
    outer = axes.extents[: axes.outer]
    if axes.column:
        lanes = (_block(axes, draft) or CARRIED_LANES) if draft.carried() else LANES
        outer = [*outer[:-1], -(-outer[-1] // lanes)]
    n = 1
    for e in outer:
        n *= e
    return n


def _coincident(draft: Draft, live: list[int], operands: list[Slot]) -> tuple[tuple[int, int], ...]:
    """Pairs (out, in) that touch the same element at the same time, so that one memory can serve both."""
    if draft.sequential or any([r.index_value is not None for p in draft.passes for r in p.reductions]):
        return ()  # an argmax reads a block twice, to find where its extremum lies
    if draft.carried():
        return ()  # a step stores its results before it computes the next carry, which may read what lies there
    found = []
    # What one lane stores for all of them, others may still have to read.
    guarded = {s.slot for p in draft.passes for s in p.stores if s.guard is not None}
    many = len(draft.passes) > 1
    last_load: dict[int, int] = {}
    stored_in: dict[int, int] = {}
    if many:
        last_load, stored_in = _pass_uses(draft)
    for i, out in enumerate(operands):
        if out.role != "out" or out.indirect or live[i] in guarded:
            continue
        for j, x in enumerate(operands):
            if x.role != "in" or x.indirect or x.strides != out.strides or x.dtype.itemsize != out.dtype.itemsize:
                continue
            if many and last_load.get(live[j], 0) > stored_in.get(live[i], 0):
                continue
            found.append((i, j))
    return tuple(found)


def _pass_uses(draft: Draft) -> tuple[dict[int, int], dict[int, int]]:
    """For each operand, the last pass that loads it and the first that stores it."""
    last_load: dict[int, int] = {}
    first_store: dict[int, int] = {}
    tape = draft.tape
    for number, p in enumerate(draft.passes):
        stack = p.roots()
        seen = set()
        while stack:
            k = stack.pop()
            if k in seen:
                continue
            seen.add(k)
            op, _, args, attr = tape[k]
            if op == "load":
                last_load[attr] = number
            stack.extend(args)
        for s in p.stores:
            first_store.setdefault(s.slot, number)
    return last_load, first_store
