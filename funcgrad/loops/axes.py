"""Axes: the order in which a kernel walks its space, and which axes of it are one.

In: a draft and the operands that it uses. Out: `Axes`. Axes go by falling stride of the leading operand; neighbours along
which everything walks as along one axis are joined; the axis along which most operands are contiguous is the vector axis, and a
fold whose vector axis is a kept one is a column nest.
"""

from math import prod
from typing import NamedTuple

from funcgrad.loops.draft import Draft
from funcgrad.loops.views import Strides

NARROW = 8  # a vector axis of fewer lanes is not worth a column layout


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


def find_axes(draft: Draft, live: list[int]) -> Axes:
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
    running = any([r.running for p in draft.passes for r in p.reductions])
    carried = draft.carried()
    ordered = carried or running or any([r.index_value is not None for p in draft.passes for r in p.reductions])
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
        if kept_runs and not running and not scratch:
            best = max(range(len(kept_runs)), key=lambda i: (units(kept_runs[i]), i))
            column = units(kept_runs[best]) > in_rows and _extent(kept_runs[best], space) >= NARROW
            column = column or carried  # lanes side by side, so that their chains of steps overlap
            if not column and prod([_extent(r, space) for r in inner_runs]) < NARROW:
                # Rows of a few elements (points in space): as vectors they are mostly their ends.
                best = max(range(len(kept_runs)), key=lambda i: (_extent(kept_runs[i], space), i))
                column = _extent(kept_runs[best], space) >= NARROW
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
