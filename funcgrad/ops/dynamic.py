"""dynamic_slice and dynamic_update_slice: a window at a computed place, moved inside the operand where it is not.

The start indices are one integer scalar for each axis of the operand.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import DtypeError, ShapeError, message
from funcgrad.ir.loop_rules import Indexed
from funcgrad.ir.primitive import LinearArg, Placed, register
from funcgrad.ops._family import add, broadcast_batch, broadcast_in_dim, full, move_dim, zeros
from funcgrad.ops._indexing import GatherDimensionNumbers
from funcgrad.ops._samples import uniform
from funcgrad.ops.convert import convert
from funcgrad.ops.gathering import as_scatter, gather, keyed, scatter
from funcgrad.ops.shape import concatenate
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of

_draw = uniform(-9, 9)


def _check(name: str, x: ShapedArray, starts: Sequence[ShapedArray], sizes: Sequence[int]) -> None:
    if len(starts) != x.ndim or len(sizes) != x.ndim or any(not 0 <= s <= n for s, n in zip(sizes, x.shape, strict=False)):
        raise ShapeError(
            message(
                f"{name}: got a window of {tuple(sizes)} at {len(starts)} indices, for {x.str_short()}",
                "one index and one extent, no longer than the operand's, for each axis",
                "mend the sizes",
            )
        )
    if any(s.shape != () or s.dtype not in dt.INTEGERS for s in starts):
        raise DtypeError(message(f"{name}: got start indices {format_avals(starts)}", "integer scalars", "i.astype('int32')"))


def _corner(shape: Sequence[int], sizes: Sequence[int], starts: Sequence[Any]) -> list[int]:
    return [min(max(int(i), 0), n - s) for i, n, s in zip(starts, shape, sizes, strict=True)]


def _corner_loop(b: Any, start: Any, size: Any, window: Any) -> Any:
    return b.max(b.min(b.cast(start, np.int64), b.sub(size, window)), 0)


def _batched_indices(size: int, starts: Sequence[Any], dims: Sequence[int | None]) -> Any:
    """The start indices as the index vectors of a gather, int64[size, number of axes]."""
    columns = []
    for start, d in zip(starts, dims, strict=True):
        line = broadcast_batch(start, size) if d is None else start
        if aval_of(line).dtype != dt.int64:
            line = convert(line, dt.int64)
        columns.append(broadcast_in_dim(line, shape=(size, 1), dims=(0,)))
    return concatenate(*columns, dimension=1)


def _window_numbers(rank: int, batched: bool) -> GatherDimensionNumbers:
    """A window of the whole rank, at index vectors with a leading batch axis; `batched`: the operand has one, too."""
    if batched:
        axes = tuple(range(1, rank + 1))
        return GatherDimensionNumbers(axes, (), axes, (0,), (0,))
    return GatherDimensionNumbers(tuple(range(1, rank + 1)), (), tuple(range(rank)))


# --- dynamic_slice ----------------------------------------------------------------------------------------------


def _slice_abstract(x: ShapedArray, *starts: ShapedArray, slice_sizes: tuple[int, ...]) -> ShapedArray:
    _check("dynamic_slice", x, starts, slice_sizes)
    return shaped(tuple(slice_sizes), x.dtype, x.weak_type)


def _slice_numpy(x: np.ndarray, *starts: Any, slice_sizes: tuple[int, ...]) -> np.ndarray:
    corner = _corner(x.shape, slice_sizes, starts)
    return x[tuple([slice(c, c + s) for c, s in zip(corner, slice_sizes, strict=True)])]


def _slice_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, slice_sizes: tuple[int, ...]) -> Any:
    x, *starts = primals
    out = dynamic_slice(x, *starts, slice_sizes=slice_sizes)
    t = tangents[0]
    return out, None if t is None or aval_of(out).dtype not in dt.INEXACT else dynamic_slice(t, *starts, slice_sizes=slice_sizes)


def _slice_transpose(ct: Any, x: Any, *starts: Any, slice_sizes: tuple[int, ...]) -> list[Any]:
    def into(to: Any) -> Any:
        here = dynamic_slice(to, *starts, slice_sizes=slice_sizes)
        return dynamic_update_slice(to, add(here, ct), *starts)

    return [Placed(x.aval, into), *[None] * len(starts)]


def _slice_mask(mask: Any, x: Any, *starts: Any, slice_sizes: tuple[int, ...]) -> list[Any]:
    return [dynamic_update_slice(full(x.aval.shape, np.False_), mask, *starts), *[None] * len(starts)]


def _slice_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, slice_sizes: tuple[int, ...]) -> Any:
    (x, *starts), (d, *d_starts) = args, dims
    if all(i is None for i in d_starts):
        x = move_dim(x, d or 0, 0)
        zero = _index_zero(starts)
        return dynamic_slice(x, zero, *starts, slice_sizes=(size, *slice_sizes)), 0
    if d is not None:
        x = move_dim(x, d, 0)
    return (
        gather(
            x,
            _batched_indices(size, starts, d_starts),
            dimension_numbers=_window_numbers(len(starts), d is not None),
            slice_sizes=slice_sizes if d is None else (1, *slice_sizes),
            mode="clip",
            fill_value=None,
        ),
        0,
    )


def _index_zero(starts: Sequence[Any]) -> Any:
    return aval_of(starts[0]).dtype.type(0) if starts else np.int32(0)


def _slice_loop(b: Any, x: Any, *starts: Any, slice_sizes: tuple[int, ...]) -> Any:
    at = [b.add(_corner_loop(b, i, x.shape[d], b.extent(d)), b.index(d)) for d, i in enumerate(starts)]
    return b.at(x, at)


def _slice_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    cases = [((5,), (3,)), ((3, 4), (2, 4)), ((), ()), ((2, 3), (2, 0))]
    return [
        ((np.asarray(_draw(rng, s, dtype)), *[np.asarray(rng.integers(-1, n + 1), np.int32) for n in s]), {"slice_sizes": sizes})
        for s, sizes in cases
    ]


dynamic_slice = Operator(
    "dynamic_slice",
    abstract=_slice_abstract,
    numpy=_slice_numpy,
    jvp=_slice_jvp,
    transpose=_slice_transpose,
    batch=_slice_batch,
    mask_transpose=_slice_mask,
    loop=Indexed(_slice_loop, (0,)),
    dtypes=dt.ANY,
    samples=keyed(_slice_samples),
    doc="a window of slice_sizes whose first element is at the start indices, moved inside",
)
register(dynamic_slice)


# --- dynamic_update_slice ---------------------------------------------------------------------------------------


def _update_abstract(x: ShapedArray, update: ShapedArray, *starts: ShapedArray) -> ShapedArray:
    _check("dynamic_update_slice", x, starts, update.shape)
    if x.dtype != update.dtype:
        raise DtypeError(
            message(
                f"dynamic_update_slice: got {format_avals((x, update))}", "one dtype", "convert the update with .astype(x.dtype)"
            )
        )
    return shaped(x.shape, x.dtype, x.weak_type and update.weak_type)


def _update_numpy(x: np.ndarray, update: np.ndarray, *starts: Any) -> np.ndarray:
    corner = _corner(x.shape, update.shape, starts)
    out = np.array(x)
    out[tuple([slice(c, c + s) for c, s in zip(corner, update.shape, strict=True)])] = update
    return out


def _update_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    x, update, *starts = primals
    t, t_update = tangents[:2]
    out = dynamic_update_slice(x, update, *starts)
    if aval_of(out).dtype not in dt.INEXACT or (t is None and t_update is None):
        return out, None
    t = zeros(aval_of(x)) if t is None else t
    t_update = zeros(aval_of(update)) if t_update is None else t_update
    return out, dynamic_update_slice(t, t_update, *starts)


def _shape_of(x: Any) -> tuple[int, ...]:
    return x.aval.shape if isinstance(x, LinearArg) else aval_of(x).shape


def _update_transpose(ct: Any, x: Any, update: Any, *starts: Any) -> list[Any]:
    found: list[Any] = [None] * (2 + len(starts))
    if isinstance(x, LinearArg):
        found[0] = dynamic_update_slice(ct, full(_shape_of(update), aval_of(ct).dtype.type(0)), *starts)
    if isinstance(update, LinearArg):
        found[1] = dynamic_slice(ct, *starts, slice_sizes=_shape_of(update))
    return found


def _update_mask(mask: Any, x: Any, update: Any, *starts: Any) -> list[Any]:
    return _update_transpose(full(_shape_of(x), np.True_) if mask is None else mask, x, update, *starts)


def _update_batch(size: int, args: Sequence[Any], dims: Sequence[int | None]) -> Any:
    (x, update, *starts), (d, d_update, *d_starts) = args, dims
    x = broadcast_batch(x, size) if d is None else move_dim(x, d, 0)
    update = broadcast_batch(update, size) if d_update is None else move_dim(update, d_update, 0)
    if all(i is None for i in d_starts):
        return dynamic_update_slice(x, update, _index_zero(starts), *starts), 0
    numbers = as_scatter(_window_numbers(len(starts), True))
    indices = _batched_indices(size, starts, d_starts)
    return scatter(x, indices, update, dimension_numbers=numbers, mode="clip", unique_indices=True), 0


def _update_loop(b: Any, x: Any, update: Any, *starts: Any) -> Any:
    inside, at = None, []
    for d, i in enumerate(starts):
        window = update.shape[d]
        place = b.sub(b.index(d), _corner_loop(b, i, b.extent(d), window))
        ok = b.and_(b.ge(place, 0), b.lt(place, window))
        inside = ok if inside is None else b.and_(inside, ok)
        at.append(b.select(ok, place, 0))
    new = b.at(update, at)
    return new if inside is None else b.select(inside, new, x)


def _update_window(b: Any, *starts: Any) -> list[Any]:
    return [b.add(_corner_loop(b, i, b.target(d), b.extent(d)), b.index(d)) for d, i in enumerate(starts)]


def _update_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    cases = [((5,), (3,)), ((3, 4), (2, 4)), ((), ()), ((2, 3), (2, 0))]
    return [
        (
            (
                np.asarray(_draw(rng, s, dtype)),
                np.asarray(_draw(rng, sizes, dtype)),
                *[np.asarray(rng.integers(-1, n + 1), np.int32) for n in s],
            ),
            {},
        )
        for s, sizes in cases
    ]


dynamic_update_slice = Operator(
    "dynamic_update_slice",
    abstract=_update_abstract,
    numpy=_update_numpy,
    jvp=_update_jvp,
    transpose=_update_transpose,
    batch=_update_batch,
    mask_transpose=_update_mask,
    blocks=True,
    loop=Indexed(_update_loop, (1,), _update_window),
    dtypes=dt.ANY,
    samples=keyed(_update_samples),
    doc="the operand with a window replaced by an update, at the start indices, moved inside",
)
register(dynamic_update_slice)
