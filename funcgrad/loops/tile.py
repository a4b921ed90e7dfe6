"""Tile: a map that reads across the rows it writes goes block by block, so that what it reads stays in cache.

In: a `Draft`. Out: the same draft, or two: one whose vector axis is cut into blocks of TILE with the axis along which
the operand is contiguous between them, and one for what is left over. Each line of the operand that a block touches
is then used up while it is near.
"""

from funcgrad.loops.draft import Draft, Slot
from funcgrad.loops.views import Strides

TILE = 16  # 2048 x 2048 float32: none 19-37 ms, 8: 14, 16: 1.6, 32: 3.9 (rows 8 KiB apart share cache sets)


def _across(draft: Draft) -> tuple[int, int] | None:
    """(the axis along which outputs are contiguous, the one along which some operand is), if they differ and are long."""
    if draft.reduced is not None or draft.sequential:
        return None
    written = None
    for slot in draft.slots:
        if slot.node is None or slot.indirect:
            return None
        if slot.role == "out":
            unit = _unit(slot, draft)
            if unit is None or (written is not None and unit != written):
                return None
            written = unit
    if written is None or draft.space[written] < 2 * TILE:
        return None
    for slot in draft.slots:
        unit = _unit(slot, draft)
        if slot.role == "in" and unit is not None and unit != written and slot.strides[written] and draft.space[unit] >= TILE:
            return written, unit
    return None


def _unit(slot: Slot, draft: Draft) -> int | None:
    """The axis of more than one element along which the operand is contiguous."""
    for axis, (step, n) in enumerate(zip(slot.strides, draft.space, strict=True)):
        if step in (1, -1) and n > 1:
            return axis
    return None


def _part(draft: Draft, start: int, a: int, cut: list[tuple[int, int, int]]) -> Draft:
    """The part of a draft from position `start` of axis a on, over new axes: each (extent, old axis, factor)."""
    part = Draft(tuple([n for n, _, _ in cut]), None)
    part.tape, part.numbers, part.passes, part.messages = draft.tape, draft.numbers, draft.passes, draft.messages

    def over(strides: Strides) -> Strides:
        return tuple([strides[axis] * factor for _, axis, factor in cut])

    part.slots = [Slot(s.node, s.offset + start * s.strides[a], over(s.strides), s.dtype, s.role) for s in draft.slots]
    part.affine = [(offset + start * strides[a], over(strides)) for offset, strides in draft.affine]
    return part


def _joined(draft: Draft) -> Draft:
    """With neighbouring axes along which everything walks as along one axis as one; the same draft where there are none."""
    if len(draft.space) < 3 or draft.reduced is not None or draft.sequential:
        return draft
    if any([s.node is None or s.indirect for s in draft.slots]):
        return draft
    walks = [s.strides for s in draft.slots] + [strides for _, strides in draft.affine]
    axes: list[tuple[int, int, int]] = []
    for axis, n in enumerate(draft.space):
        if axes and all([s[axis - 1] == s[axis] * n for s in walks]):
            axes[-1] = (axes[-1][0] * n, axis, 1)
        else:
            axes.append((n, axis, 1))
    return _part(draft, 0, 0, axes) if 0 < len(axes) < len(draft.space) else draft


def tiles(draft: Draft) -> list[Draft]:
    """The launches of a draft: one, or blocks and a rest."""
    found = _across(draft)
    if found is None:  # an image's rows may be too short, but one row together
        draft, original = _joined(draft), draft
        found = None if draft is original else _across(draft)
        if found is None:
            return [original]
    a, b = found
    space = draft.space
    rest = [(n, axis, 1) for axis, n in enumerate(space) if axis != a and axis != b]
    blocks, left = divmod(space[a], TILE)
    whole = _part(draft, 0, a, [*rest, (blocks, a, TILE), (space[b], b, 1), (TILE, a, 1)])
    whole.ordered = True
    if not left:
        return [whole]
    tail = _part(draft, blocks * TILE, a, [*rest, (space[b], b, 1), (left, a, 1)])
    tail.ordered = True
    return [whole, tail]
