"""Walking a loop backwards when only its start and its number of steps are known.

In: a step (state -> next state), what is done at each state on the way back (state, cotangents -> cotangents), the first state,
and the number of steps, which may be a traced value. Out: one `while` loop that visits the states from the last to the first.

A fixed number of slots holds earlier states. To get to a state the loop starts from the nearest slot before it and repeats the
steps in between; on its way it fills half of the free slots, evenly spaced, so that the other half is left for the shorter ways
inside. With S slots, S/2 steps cost no step twice, S²/8 steps one repetition each, S³/64 two. (Griewank and Walther, 2000, give
the optimal schedule for a known number of steps; this one comes near it and is one short rule.)
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import Jaxpr, closed_over
from funcgrad.ops._family import add, broadcast_in_dim, reshape
from funcgrad.ops.arithmetic import div, max_, sub
from funcgrad.ops.bitwise import and_, not_
from funcgrad.ops.compare import eq, ge, gt, lt
from funcgrad.ops.convert import convert_element_type
from funcgrad.ops.dynamic import dynamic_slice, dynamic_update_slice
from funcgrad.ops.select import select_n
from funcgrad.trace.stage import stage
from funcgrad.trace.value import aval_of
from funcgrad.transforms.cond import cond
from funcgrad.transforms.jvp import current_apply

SLOT_BYTES = 1 << 26  # what the slots take at most, where the user says nothing; but never fewer than MIN_SLOTS
MIN_SLOTS, MAX_SLOTS = 16, 256


class Walk(NamedTuple):
    """A loop: its condition and body as programs, the body's constants, its first carry, and where the cotangents are in it."""

    test: Jaxpr
    body: Jaxpr
    consts: list[Any]
    carry: list[Any]
    cotangents: int


def default_slots(avals: Sequence[ShapedArray]) -> int:
    """How many states of these types are kept where the user does not say."""
    size = max(1, sum([a.size * a.dtype.itemsize for a in avals]))
    return min(max(SLOT_BYTES // size, MIN_SLOTS), MAX_SLOTS)


class _Place(NamedTuple):
    """Where the walk is, in whole numbers."""

    at: Any  # the number of the state at hand
    goal: Any  # the number of the state that is visited next
    used: Any  # how many slots are filled; their states are in order
    spacing: Any  # the distance between slots on this way
    mark: Any  # the next state that goes into a slot


def walk_back(
    forward: Jaxpr, back: Jaxpr, fixed: Sequence[Any], back_fixed: Sequence[Any], count: Any, state: Sequence[Any],
    cts: Sequence[Any], slots: int,
) -> Walk:  # fmt: skip
    """The loop. `forward`: (fixed, state) -> state; `back`: (back_fixed, state, cts) -> cts."""
    f, b, n = len(fixed), len(back_fixed), len(state)

    def go_on(*xs: Any) -> list[Any]:
        return [ge(xs[1], np.int64(0))]

    def step(*xs: Any) -> list[Any]:
        now_fixed, rest = xs[: f + b], xs[f + b :]
        place, positions = _Place(*rest[:5]), rest[5]
        kept, now, now_cts = rest[6 : 6 + n], rest[6 + n : 6 + 2 * n], rest[6 + 2 * n :]
        advancing = lt(place.at, place.goal)
        keep = and_(and_(advancing, eq(place.at, place.mark)), lt(place.used, np.int64(slots)))
        row = select_n(keep, np.int64(slots), place.used)  # one slot more than there are takes what is not kept
        positions = _written(positions, place.at, row)
        kept = [_written(rows, x, row) for rows, x in zip(kept, now, strict=True)]
        used = add(place.used, convert_element_type(keep, new_dtype=dt.int64))
        goal = select_n(advancing, sub(place.goal, np.int64(1)), place.goal)
        # On the way back the slot of a state that has been visited is free again.
        spent = and_(not_(advancing), gt(_read(positions, max_(sub(used, np.int64(1)), np.int64(0))), goal))
        used = sub(used, convert_element_type(spent, new_dtype=dt.int64))
        nearest = max_(sub(used, np.int64(1)), np.int64(0))
        at = select_n(advancing, _read(positions, nearest), add(place.at, np.int64(1)))
        fresh = _spacing(sub(goal, at), sub(np.int64(slots), used))
        spacing = select_n(advancing, fresh, place.spacing)
        mark = select_n(advancing, add(at, fresh), select_n(keep, place.mark, add(place.mark, place.spacing)))
        index = convert_element_type(advancing, new_dtype=dt.int32)
        outs = cond(index, *now_fixed, nearest, *kept, *now, *now_cts, branches=(backwards, forwards))
        return [at, goal, used, spacing, mark, positions, *kept, *outs]

    def visit(*xs: Any) -> list[Any]:
        nearest, rest = xs[f + b], xs[f + b + 1 :]
        kept, now, now_cts = rest[:n], rest[n : 2 * n], rest[2 * n :]
        return [*[_read(rows, nearest) for rows in kept], *evaluate(current_apply, back, (), [*xs[f : f + b], *now, *now_cts])]

    def advance(*xs: Any) -> list[Any]:
        now, now_cts = xs[f + b + 1 + n : f + b + 1 + 2 * n], xs[f + b + 1 + 2 * n :]
        return [*evaluate(current_apply, forward, (), [*xs[:f], *now]), *now_cts]

    start = [_rows(np.int64(0), slots + 1), *[_rows(x, slots + 1) for x in state]]
    avals = [aval_of(x).strong() for x in (*fixed, *back_fixed)]
    of_state, of_cts = [aval_of(x).strong() for x in state], [aval_of(x).strong() for x in cts]
    of_kept = [aval_of(x).strong() for x in start]
    number = shaped((), dt.int64)
    inside = [*avals, number, *of_kept[1:], *of_state, *of_cts]
    backwards, forwards = [closed_over(stage(fun, inside)[0]) for fun in (visit, advance)]
    carry = [*[number] * 5, *of_kept, *of_state, *of_cts]
    body, _ = stage(step, [*avals, *carry])
    test, _ = stage(go_on, carry)
    place = _Place(np.int64(0), sub(count, np.int64(1)), np.int64(0), _spacing(count, np.int64(slots)), np.int64(0))
    return Walk(test, closed_over(body), [*fixed, *back_fixed], [*place, *start, *state, *cts], 6 + 2 * n)


def _spacing(steps: Any, free: Any) -> Any:
    """The distance between states that go into slots, on a way of this length: half of the free slots are filled."""
    half = max_(div(free, np.int64(2)), np.int64(1))
    return max_(div(add(steps, sub(half, np.int64(1))), half), np.int64(1))


def _rows(x: Any, count: int) -> Any:
    """`count` rows like `x`."""
    shape = aval_of(x).shape
    return broadcast_in_dim(x, shape=(count, *shape), dims=tuple(range(1, len(shape) + 1)))


def _corner(rows: Any, row: Any) -> list[Any]:
    return [row, *[np.int64(0)] * (aval_of(rows).ndim - 1)]


def _written(rows: Any, x: Any, row: Any) -> Any:
    line = broadcast_in_dim(x, shape=(1, *aval_of(x).shape), dims=tuple(range(1, aval_of(x).ndim + 1)))
    return dynamic_update_slice(rows, line, *_corner(rows, row))


def _read(rows: Any, row: Any) -> Any:
    shape = aval_of(rows).shape[1:]
    return reshape(dynamic_slice(rows, *_corner(rows, row), slice_sizes=(1, *shape)), shape=shape)
