"""Schedule: a draft becomes a kernel: axes in the machine's order, joined where they lie together, a nest without numbers.

In: a `Draft`. Out: a `Kernel`: an interned `Nest` (equal structure, same object) and everything that the
structure leaves open: extents, strides, offsets, params, in the layout of `nest.py`.
"""

import struct
from typing import Any, NamedTuple

import numpy as np

from funcgrad.loops.draft import Draft, Slot
from funcgrad.loops.expr import Expr
from funcgrad.loops.graph import Node
from funcgrad.loops.nest import LANES, Nest, Operand, Pass, Reduction, Store
from funcgrad.loops.templates import cost_of, storage_dtype
from funcgrad.loops.views import Strides

INT64 = np.dtype(np.int64)
NARROW = 8  # a vector axis of fewer lanes is not worth a column layout


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


# --- interning -------------------------------------------------------------------------------------------

_EXPRS: dict[Any, Expr] = {}
_NESTS: dict[Any, Nest] = {}
_OPERANDS: dict[Any, Operand] = {}
_LIMIT = 1 << 17


def expr(op: str, dtype: np.dtype, args: tuple[Expr, ...] = (), attr: Any = None) -> Expr:
    """The one Expr of this structure."""
    key = (op, dtype, args, attr)
    found = _EXPRS.get(key)
    if found is None:
        if len(_EXPRS) > _LIMIT:
            _EXPRS.clear()
            _NESTS.clear()
        found = _EXPRS[key] = Expr(op, dtype, args, attr[1] if op == "const" else attr)
    return found


def _operand(dtype: np.dtype, role: str, strides: tuple[Any, ...], indirect: int) -> Operand:
    key = (dtype, role, strides, indirect)
    found = _OPERANDS.get(key)
    if found is None:
        found = _OPERANDS[key] = Operand(dtype, role, strides, indirect)  # type: ignore[arg-type]
    return found


# --- axes ------------------------------------------------------------------------------------------------


def _walks(draft: Draft, live: list[int]) -> list[Strides]:
    """The strides of everything that moves along the axes: operands in use, and positions."""
    found = [draft.slots[k].strides for k in live if draft.slots[k].node is not None and not draft.slots[k].indirect]
    return found


def _join(axes: list[int], space: tuple[int, ...], walks: list[Strides]) -> list[list[int]]:
    """Runs of neighbouring axes along which everything walks as along one axis."""
    runs: list[list[int]] = []
    for a in axes:
        if runs:
            last = runs[-1][-1]
            n = space[a]
            for s in walks:
                if s[last] != s[a] * n:
                    break
            else:
                runs[-1].append(a)
                continue
        runs.append([a])
    return runs


def _sorted_axes(axes: list[int], lead: Strides) -> list[int]:
    """Axes by falling stride of the leading operand; where it stands still, as they are."""
    if len(axes) < 2:
        return axes
    steps = [abs(lead[a]) for a in axes]
    if all(steps[i] >= steps[i + 1] for i in range(len(steps) - 1)) or 0 in steps:
        return axes
    return sorted(axes, key=lambda a: -abs(lead[a]))


class Axes(NamedTuple):
    """The kernel's axes: each a run of axes of the draft (its stride is the last one's)."""

    runs: list[list[int]]
    extents: list[int]
    outer: int
    column: bool


def _axes(draft: Draft, live: list[int]) -> Axes:
    space, reduced = draft.space, draft.reduced or ()
    slots = draft.slots
    walks = _walks(draft, live)
    every = walks + [s for _, s in draft.affine] if draft.affine else walks
    rank = len(space)
    lead = max(
        (slots[k] for k in live if slots[k].node is not None and len(slots[k].strides) == rank),
        key=lambda s: (sum([x != 0 for x in s.strides]), s.role == "out"),
        default=None,
    )
    ordered = any(r.running or r.index_value is not None for p in draft.passes for r in p.reductions)
    kept = [a for a in range(rank) if a not in reduced]
    inner = [a for a in range(rank) if a in reduced]
    if lead is not None and not draft.ordered:
        kept = _sorted_axes(kept, lead.strides)
        inner = inner if ordered else _sorted_axes(inner, lead.strides)
    kept_runs, inner_runs = _join(kept, space, every), _join(inner, space, every)

    def units(run: list[int]) -> int:
        a = run[-1]
        return sum([s[a] == 1 for s in walks])

    column = False
    if draft.reduced is None:
        if not kept_runs:
            return Axes([[]], [1], 0, False)
        if not draft.ordered:
            best = max(range(len(kept_runs)), key=lambda i: (units(kept_runs[i]), i))
            kept_runs.append(kept_runs.pop(best))
        runs, outer = kept_runs, len(kept_runs) - 1
    else:
        scratch = any(s.node is None for s in slots)
        in_rows = max((units(r) for r in inner_runs), default=0)
        if kept_runs and not ordered and not scratch:
            best = max(range(len(kept_runs)), key=lambda i: (units(kept_runs[i]), i))
            column = units(kept_runs[best]) > in_rows and _extent(kept_runs[best], space) >= NARROW
            if column:
                kept_runs.append(kept_runs.pop(best))
        if not column and not ordered and len(inner_runs) > 1:
            best = max(range(len(inner_runs)), key=lambda i: (units(inner_runs[i]), i))
            inner_runs.append(inner_runs.pop(best))
        runs, outer = kept_runs + inner_runs, len(kept_runs)
    return Axes(runs, [_extent(r, space) for r in runs], outer, column)


def _extent(run: list[int], space: tuple[int, ...]) -> int:
    n = 1
    for a in run:
        n *= space[a]
    return n


# --- code ------------------------------------------------------------------------------------------------


def _live(draft: Draft) -> list[bool]:
    """Which instructions of the tape somebody needs."""
    tape = draft.tape
    needed = [False] * len(tape)
    for p in draft.passes:
        for s in p.stores:
            needed[s.value] = True
            for i in s.indices:
                needed[i] = True
            if s.guard is not None:
                needed[s.guard] = True
        for r in p.reductions:
            needed[r.value] = True
            if r.index_value is not None:
                needed[r.index_value] = True
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


def schedule(draft: Draft) -> Kernel:
    """The kernel of a draft."""
    tape, slots = draft.tape, draft.slots
    needed = _live(draft)
    # Operands by first use: loads in the order of the code, then stores in the order of the passes.
    live: list[int] = []
    seen = [False] * len(slots)
    weight = 0.0
    for k, (op, _, _, attr) in enumerate(tape):
        if needed[k]:
            if op == "load":
                if not seen[attr]:
                    seen[attr] = True
                    live.append(attr)
            else:
                weight += cost_of(op)
    for p in draft.passes:
        for s in p.stores:
            if not seen[s.slot]:
                seen[s.slot] = True
                live.append(s.slot)
    axes = _axes(draft, live)
    # Memory operands first, scratch after them: the addresses of scratch are not the caller's.
    live = [k for k in live if slots[k].node is not None] + [k for k in live if slots[k].node is None]
    number_of = {k: i for i, k in enumerate(live)}
    ends = [r[-1] if r else None for r in axes.runs]
    vector = axes.outer - 1 if axes.column else len(ends) - 1
    inner = len(ends) - axes.outer

    operands: list[Operand] = []
    key_operands: list[Any] = []
    dims: list[int] = list(axes.extents)
    tail: list[int] = []
    elements = 0
    scratch = 0
    for k in live:
        slot = slots[k]
        if slot.node is None:
            classes: list[Any] = [0] * axes.outer + [None] * (inner - 1) + [1]
            run = 1
            steps = []
            for n in reversed(axes.extents[axes.outer :]):
                steps.append(run)
                run *= n
            dims.extend(reversed(steps[1:]))
            tail.append(scratch)
            scratch += -(-run * slot.dtype.itemsize // 64) * 64
        else:
            moves = [1 if a is None else slot.strides[a] for a in ends]
            classes = [None] * len(moves)
            if moves[vector] == 0 or moves[vector] == 1:
                classes[vector] = moves[vector]
                dims.extend([m for i, m in enumerate(moves) if i != vector])
            else:
                dims.extend(moves)
            points = 1
            for m, n in zip(moves, axes.extents, strict=True):
                if m:
                    points *= n
            elements += points * slot.dtype.itemsize
            for pair in slot.indirect:
                dims.extend(pair)
        key = (slot.dtype, slot.role, tuple(classes), len(slot.indirect))
        key_operands.append(key)
        operands.append(_operand(*key))
    dims.extend(tail)

    # Code, with leaves renumbered.
    params: list[np.dtype] = []
    param_of: dict[int, Expr] = {}
    values: list[Any] = [None] * len(tape)

    def param(value: Any, dtype: np.dtype) -> Expr:
        stored = storage_dtype(dtype)
        params.append(stored)
        dims.extend(_bits(value, stored) if dtype == stored else _bits(np.asarray(value, dtype).view(stored), stored))
        return expr("param", stored, (), len(params) - 1)

    messages: list[str] = []
    for k, (op, dtype, args, attr) in enumerate(tape):
        if not needed[k]:
            continue
        if op == "load":
            values[k] = expr(op, dtype, tuple([values[a] for a in args]), number_of[attr])
        elif op == "param":
            if attr not in param_of:
                param_of[attr] = param(*draft.numbers[attr])
            values[k] = param_of[attr]
        elif op == "index":
            values[k] = _position(draft.affine[attr], ends, param)
        elif op == "check":
            messages.append(draft.messages[attr])
            values[k] = expr(op, dtype, tuple([values[a] for a in args]), len(messages) - 1)
        else:
            values[k] = expr(op, dtype, tuple([values[a] for a in args]), attr)

    passes = []
    for p in draft.passes:
        stores = tuple(
            [
                (number_of[s.slot], values[s.value], tuple([values[i] for i in s.indices]), s.combine,
                 None if s.guard is None else values[s.guard])
                for s in p.stores
            ]
        )  # fmt: skip
        reductions = tuple(
            [
                (r.number, r.op, values[r.value], r.dtype, None if r.index_value is None else values[r.index_value], r.running)
                for r in p.reductions
            ]
        )
        passes.append((p.level, stores, reductions))
    layout = "column" if axes.column else "row"
    key = (axes.outer, inner, layout, tuple(key_operands), tuple(params), tuple(passes), draft.sequential)
    nest = _NESTS.get(key)
    if nest is None:
        nest = _NESTS[key] = Nest(
            axes.outer,
            inner,
            layout,
            tuple(operands),
            tuple(params),
            tuple(Pass(level, tuple(Store(*s) for s in ss), tuple(Reduction(*r) for r in rr)) for level, ss, rr in passes),  # type: ignore[arg-type]
            draft.sequential,
        )
    total = 1
    for n in axes.extents:
        total *= n
    return Kernel(
        nest,
        tuple(dims),
        _parallel(axes, draft.reduced is not None),
        tuple([(slots[k].node, slots[k].offset, slots[k].role) for k in live if slots[k].node is not None]),  # type: ignore[misc]
        _cost(axes, elements, weight, total, draft),
        scratch,
        tuple(messages),
        draft.optional,
        _coincident(draft, live, [slots[k] for k in live]),
    )


def _position(affine: tuple[int, Strides], ends: list[int | None], param: Any) -> Expr:
    """offset + sum of strides x index, without the terms that are nothing."""
    offset, strides = affine
    out = None
    for axis, a in enumerate(ends):
        step = 0 if a is None else strides[a]
        if step:
            term = expr("index", INT64, (), axis)
            if step != 1:
                term = expr("mul", INT64, (term, param(step, INT64)))
            out = term if out is None else expr("add", INT64, (out, term))
    if out is None or offset:
        base = param(offset, INT64)
        out = base if out is None else expr("add", INT64, (out, base))
    return out


def _cost(axes: Axes, moved: int, weight: float, points: int, draft: Draft) -> float:
    """Estimated nanoseconds of one thread, for `moved` bytes and `weight` additions at each point. Measured on one core of an
    EPYC (AVX-512): 50 GB/s from memory; 160 additions a nanosecond in float32, half in float64; 0.7 ns a row."""
    wide = max([s.dtype.itemsize for s in draft.slots], default=4)
    rows = 1
    for n in axes.extents[: axes.outer]:
        rows *= n
    arithmetic = points * (weight + 2.0 * len(draft.passes)) * 0.006 * max(1.0, wide / 4)
    return 20.0 + moved * 0.02 + arithmetic + rows * 0.7


def _parallel(axes: Axes, folds: bool) -> int:
    """The extent of [lo, hi)."""
    if axes.outer == 0:
        return 1 if folds else axes.extents[0]
    outer = axes.extents[: axes.outer]
    if axes.column:
        outer = [*outer[:-1], -(-outer[-1] // LANES)]
    n = 1
    for e in outer:
        n *= e
    return n


def _coincident(draft: Draft, live: list[int], operands: list[Slot]) -> tuple[tuple[int, int], ...]:
    """Pairs (out, in) that touch the same element at the same time, so that one memory can serve both."""
    if draft.sequential or any([r.index_value is not None for p in draft.passes for r in p.reductions]):
        return ()  # an argmax reads a block twice, to find where its extremum lies
    found = []
    many = len(draft.passes) > 1
    last_load: dict[int, int] = {}
    stored_in: dict[int, int] = {}
    if many:
        last_load, stored_in = _pass_uses(draft)
    for i, out in enumerate(operands):
        if out.role != "out" or out.indirect:
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
        stack = [i for s in p.stores for i in (s.value, *s.indices, *(() if s.guard is None else (s.guard,)))]
        stack += [i for r in p.reductions for i in ((r.value,) if r.index_value is None else (r.value, r.index_value))]
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
