"""What gather and scatter share: dimension numbers, shapes, NumPy meanings, loop rules.

The numbers are XLA's with an index vector that always is the last axis of the indices. An operand axis is one of: *batching*
(goes along with an axis of the indices), *dropped* (a window of extent 1 without an axis of its own: collapsed in a gather,
inserted in a scatter), or a *window* axis, which has an axis in the gather's output or the scatter's updates. Index k moves
the window along axis `start_index_map[k]`.

Modes: "raise" (IndexError for a window that is not within the operand), "clip" (moves it inside), "fill" (a gather gives
fill_value, a scatter drops the update; "drop" is the same), "promise_in_bounds" (nothing is checked).
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, index_error, message

MODES = ("raise", "clip", "fill", "drop", "promise_in_bounds")


class GatherDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and output belong together in a gather.

    >>> x = fnp.array([[1, 2, 3], [4, 5, 6]])
    >>> columns = lax.GatherDimensionNumbers(offset_dims=(0,), collapsed_slice_dims=(1,), start_index_map=(1,))
    >>> lax.gather(x, fnp.array([[2], [0]]), columns, slice_sizes=(2, 1))  # x[:, [2, 0]]
    Array([[3, 1],
           [6, 4]], dtype=int64)
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and updates belong together in a scatter.

    >>> rows = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> lax.scatter_add(fnp.zeros((2, 2)), fnp.array([[1]]), fnp.array([[5.0, 6.0]]), rows)  # zeros.at[[1]].add(...)
    Array([[0., 0.],
           [5., 6.]], dtype=float32)
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()

    def as_gather(self) -> GatherDimensionNumbers:
        """The numbers of the gather that reads what this scatter writes; its output is shaped as the updates."""
        return GatherDimensionNumbers(*self)


class Layout(NamedTuple):
    """Dimension numbers, axis by axis of the operand. `window[d]` is the axis of the output (updates) with the window along
    operand axis d, or None; `batch[d]` the axis of the indices that d goes along with, or None; `index[d]` the number of
    the index that moves the window along d, or None. `places` are the axes of the output (updates) that come from the indices."""

    window: tuple[int | None, ...]
    batch: tuple[int | None, ...]
    index: tuple[int | None, ...]
    places: tuple[int, ...]


@lru_cache(maxsize=4096)
def layout(numbers: GatherDimensionNumbers, rank: int, indices_rank: int) -> Layout:
    """The `Layout` of a gather from an operand of this rank."""
    window: list[int | None] = [None] * rank
    batch: list[int | None] = [None] * rank
    index: list[int | None] = [None] * rank
    for d, i in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
        batch[d] = i
    for k, d in enumerate(numbers.start_index_map):
        index[d] = k
    dropped = numbers.collapsed_slice_dims + numbers.operand_batching_dims
    for d, axis in zip([d for d in range(rank) if d not in dropped], numbers.offset_dims, strict=True):
        window[d] = axis
    out_rank = indices_rank - 1 + len(numbers.offset_dims)
    places = tuple([a for a in range(out_rank) if a not in numbers.offset_dims])
    return Layout(tuple(window), tuple(batch), tuple(index), places)


# --- shapes ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def check_numbers(name: str, numbers: GatherDimensionNumbers, avals: Sequence[ShapedArray], mode: str) -> None:
    """ShapeError or UsageError unless the numbers fit the operand and the indices."""
    operand, indices = avals[:2]
    if indices.dtype not in dt.INTEGERS:
        raise DtypeError(message(f"{name}: got indices {indices.str_short()}", "an integer dtype", "indices.astype('int64')"))
    if mode not in MODES:
        raise UsageError(message(f"{name}: got mode={mode!r}", f"one of {', '.join(MODES)}", "mode='raise'"))
    dropped = numbers.collapsed_slice_dims + numbers.operand_batching_dims
    fits = (
        indices.ndim >= 1
        and len(numbers.start_index_map) == indices.shape[-1]
        and len(set(numbers.start_index_map)) == len(numbers.start_index_map)
        and all(0 <= d < operand.ndim for d in numbers.start_index_map + dropped)
        and not set(numbers.start_index_map) & set(numbers.operand_batching_dims)
        and len(set(dropped)) == len(dropped)
        and len(numbers.offset_dims) + len(dropped) == operand.ndim
        and len(numbers.operand_batching_dims) == len(numbers.start_indices_batching_dims)
        and all(0 <= i < indices.ndim - 1 for i in numbers.start_indices_batching_dims)
        and list(numbers.offset_dims) == sorted(set(numbers.offset_dims))
        and all(0 <= a < indices.ndim - 1 + len(numbers.offset_dims) for a in numbers.offset_dims)
        and all(
            operand.shape[d] == indices.shape[i]
            for d, i in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
        )
    )
    if not fits:
        raise ShapeError(
            message(
                f"{name}: got {numbers} for {format_avals(avals)}",
                "each axis of the operand batching, dropped, or in the window, and one index for each axis of start_index_map",
                "x[i] or x.at[i], which work out the numbers",
            )
        )


@lru_cache(maxsize=4096)
def gather_shape(
    operand: ShapedArray, indices: ShapedArray, numbers: GatherDimensionNumbers, slice_sizes: tuple[int, ...]
) -> tuple[int, ...]:
    """The output's shape."""
    plan = layout(numbers, operand.ndim, indices.ndim)
    if len(slice_sizes) != operand.ndim or any(
        not 0 <= s <= n or (plan.window[d] is None and s != 1)
        for d, (s, n) in enumerate(zip(slice_sizes, operand.shape, strict=False))
        if not (n == 0 and plan.window[d] is None)
    ):
        raise ShapeError(
            message(
                f"gather: got slice_sizes={slice_sizes} for {operand.str_short()}",
                "for each axis of the operand a number up to its extent, 1 where the axis is collapsed or batching",
                "mend slice_sizes",
            )
        )
    shape = [0] * (indices.ndim - 1 + len(numbers.offset_dims))
    for d, axis in enumerate(plan.window):
        if axis is not None:
            shape[axis] = slice_sizes[d]
    for axis, n in zip(plan.places, indices.shape[:-1], strict=True):
        shape[axis] = n
    return tuple(shape)


def fill_number(dtype: np.dtype, fill_value: Any) -> Any:
    """What a gather gives for a place that does not exist: NaN; of integers the least (unsigned: the greatest) number; True."""
    if dtype == dt.KEY:
        return np.zeros((), dtype)[()]
    if fill_value is not None:
        return dtype.type(fill_value)
    if dtype in dt.INEXACT:
        return dtype.type(np.nan)
    if dtype == dt.bool_:
        return np.True_
    info = np.iinfo(dtype)
    return dtype.type(info.min if dtype in dt.SIGNED else info.max)


# --- NumPy ----------------------------------------------------------------------------------------------------------


def _starts(
    name: str, plan: Layout, indices: np.ndarray, shape: tuple[int, ...], sizes: Sequence[int], mode: str
) -> tuple[dict[int, np.ndarray], np.ndarray | None]:
    """The window's start along each indexed axis, made safe by the mode, and where windows are inside (mode fill)."""
    starts, inside = {}, None
    for d, k in enumerate(plan.index):
        if k is None:
            continue
        start = indices[..., k]
        if start.dtype != np.int64:
            start = start.astype(np.int64)
        room = shape[d] - sizes[d] + 1
        if mode == "raise":
            # As unsigned numbers the negative ones are the largest: one pass finds both kinds.
            if start.size and start.view(np.uint64).max() >= max(room, 0):
                bad = start[(start < 0) | (start >= room)].ravel()[0] if start.ndim else start
                raise out_of_range(name, bad, d, shape[d], sizes[d])
        elif mode in ("fill", "drop"):
            ok = (start >= 0) & (start < room)
            inside = ok if inside is None else inside & ok
            start = np.where(ok, start, 0)
        else:
            start = np.minimum(np.maximum(start, 0), max(room - 1, 0))
        starts[d] = start
    return starts, inside


def out_of_range(name: str, index: Any, axis: int, size: int, window: int = 1) -> IndexError:
    """The error of an index at which no window of this extent starts."""
    return index_error(_outside(name, axis, window > 1), index, size - window + 1)


def _outside(name: str, axis: int, window: bool) -> str:
    """What `index_error` says was found; of windows the size is the number of places where one can start."""
    if window:
        return f"{name}: a window from index {{index}} is out of range for axis {axis}, where {{size}} places have room for it"
    return f"{name}: index {{index}} is out of range for axis {axis} with size {{size}}"


def _spread(x: np.ndarray, axes: Sequence[int], rank: int) -> np.ndarray:
    """`x` with its axes at places `axes` of a space of this rank."""
    shape = [1] * rank
    for a, n in zip(axes, x.shape, strict=True):
        shape[a] = n
    return x.reshape(shape)


def gather_numpy(
    operand: np.ndarray,
    indices: np.ndarray,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    mode: str,
    fill_value: Any = None,
) -> np.ndarray:
    """Advanced indexing on the axes that need it; whole axes are left to slices."""
    operand, indices = np.asarray(operand), np.asarray(indices)
    plan = layout(dimension_numbers, operand.ndim, indices.ndim)
    starts, inside = _starts("gather", plan, indices, operand.shape, slice_sizes, mode)
    places = indices.shape[:-1]
    if inside is not None and operand.size == 0:
        shape = gather_shape(_Shape(operand.shape), _Shape(indices.shape), dimension_numbers, slice_sizes)  # type: ignore[arg-type]
        return np.full(shape, fill_number(operand.dtype, fill_value), operand.dtype)
    line = _one_line(dimension_numbers, operand.shape, indices.ndim, slice_sizes)
    if line is not None:
        d, final = line
        out = np.take(operand, starts[d], d)
    else:
        whole = [d for d, n in enumerate(operand.shape) if plan.window[d] is not None and d not in starts and slice_sizes[d] == n]
        picked = [d for d in range(operand.ndim) if d not in whole]
        windows = [d for d in picked if plan.window[d] is not None]
        rank = len(places) + len(windows)
        index = []
        for d in picked:
            at: Any = _spread(starts[d], range(len(places)), rank) if d in starts else 0
            if plan.batch[d] is not None:
                at = at + _spread(np.arange(operand.shape[d]), [plan.batch[d]], rank)  # type: ignore[list-item]
            if d in windows:
                at = at + _spread(np.arange(slice_sizes[d]), [len(places) + windows.index(d)], rank)
            index.append(np.asarray(at))
        if index:
            # At least one array has all the extents of the places; windows of extent 0 included.
            space = places + tuple(slice_sizes[d] for d in windows)
            index[0] = np.broadcast_to(index[0], np.broadcast_shapes(space, index[0].shape))
            out = operand.transpose((*picked, *whole))[tuple(index)]
        else:
            out = np.broadcast_to(operand, places + operand.shape)
        axes = [*plan.places, *[plan.window[d] for d in (*windows, *whole)]]
        final = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    if final is not None:
        out = out.transpose(final)
    if inside is not None:
        keep = _spread(np.broadcast_to(inside, places), plan.places, out.ndim)
        out = np.where(keep, out, fill_number(operand.dtype, fill_value))
    return out


@lru_cache(maxsize=4096)
def _one_line(
    numbers: GatherDimensionNumbers, shape: tuple[int, ...], indices_rank: int, slice_sizes: tuple[int, ...]
) -> tuple[int, tuple[int, ...] | None] | None:
    """For the typical x[i], one index along one axis: that axis, and how np.take's axes go to
    the output's (None: as they are)."""
    plan = layout(numbers, len(shape), indices_rank)
    whole = [d for d, n in enumerate(shape) if plan.window[d] is not None and plan.index[d] is None and slice_sizes[d] == n]
    picked = [d for d in range(len(shape)) if d not in whole]
    if len(picked) != 1 or plan.index[picked[0]] is None or plan.window[picked[0]] is not None:
        return None
    d, places = picked[0], indices_rank - 1
    axes: list[Any] = [plan.window[w] for w in whole[:d]] + list(plan.places) + [plan.window[w] for w in whole[d:]]
    final = tuple(sorted(range(places + len(whole)), key=axes.__getitem__))
    return d, None if final == tuple(range(len(final))) else final


class _Shape:
    """As much of an aval as `gather_shape` reads."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape, self.ndim = shape, len(shape)


_UFUNCS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def scatter_numpy(
    name: str,
    combine: str | None,
    operand: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray,
    dimension_numbers: ScatterDimensionNumbers,
    mode: str,
) -> np.ndarray:
    """A copy of the operand with the updates written one after another, in the order in which they lie in memory."""
    operand, indices, updates = np.asarray(operand), np.asarray(indices), np.asarray(updates)
    dtype = operand.dtype
    if combine in ("add", "mul") and dtype in dt.FLOATS and dtype.itemsize < 4:
        wide = operand.astype(np.float32), updates.astype(np.float32)
        return scatter_numpy(name, combine, wide[0], indices, wide[1], dimension_numbers, mode).astype(dtype)
    plan = layout(dimension_numbers.as_gather(), operand.ndim, indices.ndim)
    sizes = [1 if a is None else updates.shape[a] for a in plan.window]
    starts, inside = _starts(name, plan, indices, operand.shape, sizes, mode)
    out = np.array(operand, order="C")
    places = indices.shape[:-1]
    if all(n == 1 for n in places) and not any(b is not None for b in plan.batch):
        # One window: a slice.
        if inside is None or inside.all():
            corner = [int(starts[d].reshape(())) if d in starts else 0 for d in range(operand.ndim)]
            part = out[(*[slice(c, c + s) for c, s in zip(corner, sizes, strict=True)], ...)]  # a view of a 0-d array too
            order = [a for a in plan.window if a is not None]
            new = updates.transpose(plan.places + tuple(order)).reshape(part.shape)
            part[...] = new if combine is None else _UFUNCS[combine](part, new)
        return out
    rank = updates.ndim
    flat: Any = np.zeros((1,) * rank, np.int64)
    stride = 1
    for d in range(operand.ndim - 1, -1, -1):
        if d in starts:
            flat = flat + stride * _spread(starts[d], plan.places, rank)
        if plan.batch[d] is not None:
            flat = flat + stride * _spread(np.arange(operand.shape[d]), [plan.places[plan.batch[d]]], rank)  # type: ignore[index]
        if plan.window[d] is not None:
            flat = flat + stride * _spread(np.arange(sizes[d]), [plan.window[d]], rank)  # type: ignore[list-item]
        stride *= operand.shape[d]
    flat = np.broadcast_to(flat, updates.shape)
    if inside is not None:
        keep = np.broadcast_to(_spread(np.broadcast_to(inside, places), plan.places, rank), updates.shape)
        flat, updates = flat[keep], updates[keep]
    line, flat, updates = out.reshape(-1), flat.reshape(-1), updates.reshape(-1)
    if combine is None:
        line[flat] = updates
    else:
        _UFUNCS[combine].at(line, flat, updates)
    return out


# --- loops -----------------------------------------------------------------------------------------------------------


def _start_loop(b: Any, start: Any, size: Any, window: Any, mode: str, name: str, axis: int, inside: list[Any]) -> Any:
    """One start index made safe by the mode; `window` is None for a window of one."""
    room = size if window is None else b.sub(size, b.sub(window, 1))
    if mode == "raise":
        return b.check(start, room, _outside(name, axis, window is not None))
    if mode == "clip":
        return b.max(b.min(start, b.sub(room, 1)), 0)
    if mode in ("fill", "drop"):
        ok = b.and_(b.ge(start, 0), b.lt(start, room))
        inside.append(ok)
        return b.select(ok, start, 0)
    return start


def gather_loop(
    b: Any,
    operand: Any,
    indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    mode: str,
    fill_value: Any = None,
) -> Any:
    """One element of the output: its window's start and its place in the window."""
    plan = layout(dimension_numbers, operand.ndim, indices.ndim)
    place = [b.index(a) for a in plan.places]
    inside: list[Any] = []
    at = []
    for d in range(operand.ndim):
        terms = []
        k, axis, along = plan.index[d], plan.window[d], plan.batch[d]
        if k is not None:
            start = b.cast(b.at(indices, [*place, k]), np.int64)
            window = None if axis is None else b.extent(axis)
            terms.append(_start_loop(b, start, operand.shape[d], window, mode, "gather", d, inside))
        if axis is not None:
            terms.append(b.index(axis))
        if along is not None:
            terms.append(place[along])
        at.append(b.const(0, np.int64) if not terms else terms[0] if len(terms) == 1 else b.add(terms[0], terms[1]))
    value = b.at(operand, at)
    if inside:
        ok = inside[0]
        for other in inside[1:]:
            ok = b.and_(ok, other)
        dtype = b.in_dtypes[0]
        fill = b.const(0, dtype) if dtype == dt.KEY else b.const(fill_number(dtype, fill_value), dtype)
        value = b.select(ok, value, fill)
    return value


def scatter_loop(name: str) -> Any:
    """The rule that gives the operand's indices for one element of the updates."""

    def loop(
        b: Any, indices: Any, dimension_numbers: ScatterDimensionNumbers, mode: str, unique_indices: bool = False
    ) -> list[Any]:
        rank = sum(len(n) for n in dimension_numbers[:2]) + len(dimension_numbers.operand_batching_dims)
        plan = layout(dimension_numbers.as_gather(), rank, indices.ndim)
        place = [b.index(a) for a in plan.places]
        inside: list[Any] = []
        at = []
        for d in range(rank):
            terms = []
            k, axis, along = plan.index[d], plan.window[d], plan.batch[d]
            if k is not None:
                start = b.cast(b.at(indices, [*place, k]), np.int64)
                window = None if axis is None else b.extent(axis)
                terms.append(_start_loop(b, start, b.target(d), window, mode, name, d, inside))
            if axis is not None:
                terms.append(b.index(axis))
            if along is not None:
                terms.append(place[along])
            at.append(b.const(0, np.int64) if not terms else terms[0] if len(terms) == 1 else b.add(terms[0], terms[1]))
        for ok in inside:
            b.guard(ok)
        return at

    return loop
