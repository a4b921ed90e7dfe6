"""Elements of one array in another order or repeated: flip, rot90, roll, repeat, tile, resize, unstack."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ConcretizationTypeError, UsageError, message
from funcgrad.numpy._axes import axes_of, axis_of, extent, shape_of, static_array, static_int, static_ints
from funcgrad.numpy._promote import as_value, broadcast_value
from funcgrad.numpy.index import read_with
from funcgrad.numpy.structure import cut, ravel, reshape, swapaxes
from funcgrad.ops import elementwise as ew
from funcgrad.ops import rolling
from funcgrad.ops import shape as ops
from funcgrad.ops._family import full as fill
from funcgrad.ops.cumulative import cumsum
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.value import Value

__all__ = [
    "flip", "fliplr", "flipud", "repeat", "resize", "roll", "rot90", "tile", "unstack",
]  # fmt: skip


def flip(m: Any, axis: Any = None) -> Any:
    """The order of the elements reversed along all axes, or along `axis` (an integer or a tuple).

    >>> fnp.flip(fnp.array([[1, 2], [3, 4]]))
    Array([[4, 3],
           [2, 1]], dtype=int64)
    >>> fnp.flip(fnp.array([[1, 2], [3, 4]]), axis=0)
    Array([[3, 4],
           [1, 2]], dtype=int64)
    """
    x = as_value(m, "flip", "m")
    axes = axes_of(axis, x.ndim, "flip")
    return ops.rev(x, dimensions=axes) if axes else x


def fliplr(m: Any) -> Any:
    """Columns in reversed order (axis 1).

    >>> fnp.fliplr(fnp.array([[1, 2], [3, 4]]))
    Array([[2, 1],
           [4, 3]], dtype=int64)
    """
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """Rows in reversed order (axis 0).

    >>> fnp.flipud(fnp.array([[1, 2], [3, 4]]))
    Array([[3, 4],
           [1, 2]], dtype=int64)
    """
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turned by 90 degrees `k` times in the plane of the two axes, from the first towards the second.

    >>> fnp.rot90(fnp.array([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int64)
    """
    x = as_value(m, "rot90", "m")
    plane = [axis_of(a, x.ndim, "rot90", "axes") for a in static_ints(axes, "rot90", "axes")]
    i, j = plane if len(plane) == 2 else (0, 0)
    if i == j:
        raise UsageError(message(f"fnp.rot90: got axes={axes}", "two different axes", "axes=(0, 1)"))
    turns = static_int(k, "rot90", "k") % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, (i, j))
    return swapaxes(flip(x, j), i, j) if turns == 1 else flip(swapaxes(x, i, j), j)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Elements moved by `shift` places along `axis`; those that leave at the end come in at the front.

    Args: a: array. shift: integer (traced or not), or a tuple or vector of them. axis: integer,
    tuple, or None (the array is flattened for it).

    >>> fnp.roll(fnp.arange(5), 2)
    Array([3, 4, 0, 1, 2], dtype=int64)
    >>> fnp.roll(fnp.arange(6).reshape(2, 3), (1, -1), axis=(0, 1))
    Array([[4, 5, 3],
           [1, 2, 0]], dtype=int64)
    """
    x = as_value(a, "roll")
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    axes = static_ints(axis, "roll", "axis")
    shifts = _several(shift)
    if 0 in (len(shifts), len(axes)) or len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise UsageError(
            message(
                f"fnp.roll: got shift={shift}, axis={axis}",
                "as many shifts as axes, or one of either",
                "axis=(0, 1), shift=(1, 2)",
            )
        )
    count = max(len(shifts), len(axes))
    for s, i in zip(shifts * (count // len(shifts)), tuple(axes) * (count // len(axes))):
        x = _roll_one(x, s, axis_of(i, x.ndim, "roll"))
    return x


def _several(shift: Any) -> list[Any]:
    """The numbers in a list, a tuple or a vector; one number alone."""
    if isinstance(shift, (np.ndarray, Value)) and shift.ndim > 1:
        raise UsageError(message(f"fnp.roll: got {shift.ndim} axes for shift", "an integer or a vector", "shift.ravel()"))
    many: Any = shift
    if getattr(shift, "ndim", 0) == 1:
        return [many[k] for k in range(many.shape[0])]
    return list(shift) if isinstance(shift, (tuple, list)) else [shift]


def _roll_one(x: Value, shift: Any, axis: int) -> Any:
    n = x.shape[axis]
    if n == 0:
        return x
    if isinstance(shift, Tracer) and shift.concrete() is None:
        places = ew.rem(ew.convert(shift, dt.int64), np.int64(n))  # between -n and n
        return rolling.roll(x, ew.rem(ew.sub(np.int64(n), places), np.int64(n)), axis=axis)
    k = -static_int(shift, "roll", "shift") % n
    return rolling.roll(x, np.int64(k), axis=axis) if k else x


def repeat(a: Any, repeats: Any, axis: Any = None, *, total_repeat_length: Any = None, out_sharding: Any = None) -> Any:
    """Each element repeated `repeats` times along `axis` (None: of the flattened array).

    Args: a: array. repeats: an integer, or one integer for each element along the axis.
    total_repeat_length: the extent of the result, needed where repeats are traced; longer results are cut, shorter ones filled
    with the last element.
    out_sharding: must be None. Raises: UsageError for counts below 0, or of another length than the axis.

    >>> fnp.repeat(fnp.array([1, 2]), 2)
    Array([1, 1, 2, 2], dtype=int64)
    >>> fnp.repeat(fnp.array([[1, 2], [3, 4]]), fnp.array([1, 2]), axis=0)
    Array([[1, 2],
           [3, 4],
           [3, 4]], dtype=int64)
    """
    if out_sharding is not None:
        raise UsageError(message("fnp.repeat: got out_sharding", "None: arrays lie on one device", "fnp.repeat(a, repeats)"))
    x = as_value(a, "repeat")
    if axis is None:
        x, axis = ravel(x), 0
    i = axis_of(axis, x.ndim, "repeat")
    n = x.shape[i]
    traced = isinstance(repeats, Tracer) and repeats.concrete() is None
    if traced and total_repeat_length is not None and repeats.dtype in dt.INTEGERS:
        return _repeated(x, i, repeats, static_int(total_repeat_length, "repeat", "total_repeat_length"))
    if traced and total_repeat_length is None:
        raise ConcretizationTypeError(
            repeats, "the length of fnp.repeat's result depends on the numbers", "fnp.repeat(x, counts, total_repeat_length=n)"
        )
    counts = static_array(repeats, "repeat", "repeats")
    if counts.dtype.kind not in "iub":
        raise TypeError(message(f"fnp.repeat: got repeats of dtype {counts.dtype}", "integers", "repeats.astype(int)"))
    if counts.size == 1 and total_repeat_length is None:
        k = int(counts.reshape(()))
        if k < 0:
            raise UsageError(message(f"fnp.repeat: got repeats={k}", "counts of 0 or more", "check repeats"))
        wide = ops.broadcast_in_dim(
            x, shape=(*x.shape[: i + 1], k, *x.shape[i + 1 :]), dims=(*range(i + 1), *range(i + 2, x.ndim + 1))
        )
        return ops.reshape(wide, shape=(*x.shape[:i], n * k, *x.shape[i + 1 :]))
    if counts.ndim > 1 or counts.size not in (1, n) or (counts < 0).any():
        raise UsageError(
            message(
                f"fnp.repeat: got repeats of shape {counts.shape} for extent {n}",
                f"one count or {n} counts of 0 or more",
                "check repeats",
            )
        )
    places = np.repeat(np.arange(n), counts)
    if total_repeat_length is not None:
        total = extent(total_repeat_length, "repeat", "total_repeat_length")
        places = np.pad(places[:total], (0, max(0, total - places.size)), constant_values=n - 1)
    return x[(slice(None),) * i + (places,)]  # type: ignore[index]


def _repeated(x: Any, axis: int, repeats: Any, total: int) -> Any:
    """`repeat` by counts that are traced: a place moves on to the next element where the counts so far are used up."""
    n = x.shape[axis]
    if repeats.ndim > 1 or repeats.size not in (1, n) or n == 0:
        raise UsageError(
            message(
                f"fnp.repeat: got repeats {repeats.aval.str_short()} for extent {n}", f"one count or {n} counts", "check repeats"
            )
        )
    counts = broadcast_value(repeats, (n,)) if repeats.ndim == 0 or repeats.size != n else repeats
    ends = cumsum(ew.convert(counts, dt.int64), axis=0, reverse=False)
    moves = fill((total,), np.int64(0)).at[ends].add(1, mode="drop")
    places = ew.min(cumsum(moves, axis=0, reverse=False), np.int64(n - 1))
    return read_with(x, (slice(None),) * axis + (places,), "promise_in_bounds", None)


def tile(A: Any, reps: Any) -> Any:
    """The array laid side by side `reps` times along each axis.

    Args: A: array. reps: an integer, or one for each axis (new ones come in front), known while tracing.

    >>> fnp.tile(fnp.array([1, 2]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int64)
    """
    x = as_value(A, "tile", "A")
    counts = static_ints(reps, "tile", "reps")
    rank = max(x.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    extents = (1,) * (rank - x.ndim) + x.shape
    if any([k < 0 for k in counts]):
        raise UsageError(message(f"fnp.tile: got reps={reps}", "counts of 0 or more", "check reps"))
    wide = tuple([n for k, m in zip(counts, extents) for n in (k, m)])
    dims = tuple(range(2 * (rank - x.ndim) + 1, 2 * rank, 2))
    return reshape(ops.broadcast_in_dim(x, shape=wide, dims=dims), tuple([k * m for k, m in zip(counts, extents)]))


def resize(a: Any, new_shape: Any) -> Any:
    """The elements in order, repeated or cut to fill `new_shape` (NumPy's `resize` function).

    >>> fnp.resize(fnp.array([1, 2, 3]), (2, 4))
    Array([[1, 2, 3, 1],
           [2, 3, 1, 2]], dtype=int64)
    """
    x = ravel(as_value(a, "resize"))
    new = shape_of(new_shape, "resize", "new_shape")
    total = 1
    for n in new:
        total *= n
    if x.size == 0:
        return reshape(_zeros_like_flat(x, total), new)
    if total > x.size:
        x = tile(x, -(-total // x.size))
    return reshape(cut(x, 0, 0, total), new)


def _zeros_like_flat(x: Value, total: int) -> Any:
    zero = as_value(np.zeros((), x.dtype), "resize")
    return broadcast_value(zero, (total,))


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """A tuple of the slices along `axis`, without that axis.

    >>> fnp.unstack(fnp.array([[1, 2], [3, 4]]), axis=1)
    (Array([1, 3], dtype=int64), Array([2, 4], dtype=int64))
    """
    x = as_value(x, "unstack", "x")
    i = axis_of(axis, x.ndim, "unstack")
    return tuple([ops.squeeze(cut(x, i, k, k + 1), dimensions=(i,)) for k in range(x.shape[i])])
