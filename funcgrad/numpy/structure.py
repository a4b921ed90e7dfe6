"""Functions that rearrange the elements of one array: reshape, transpose, flip, roll, repeat, tile, squeeze ...

All but `roll`, `repeat` and `tile` are views to the machine wing: they move nothing.
"""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import axes_of, axis_of, shape_of, static_array, static_int, static_ints
from funcgrad.numpy._promote import as_value, broadcast_shapes_of, broadcast_value
from funcgrad.numpy.index import read_with
from funcgrad.ops import elementwise as ew
from funcgrad.ops import shape as ops
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.value import Value

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "expand_dims", "flip",
    "fliplr", "flipud", "matrix_transpose", "moveaxis", "ndim", "permute_dims", "ravel", "repeat", "reshape", "resize", "roll",
    "rollaxis", "rot90", "shape", "size", "squeeze", "swapaxes", "tile", "transpose", "unstack",
]  # fmt: skip


def shape(a: Any) -> tuple[int, ...]:
    """The extents of the axes of an array, scalar or nested list, as a tuple of Python integers.

    >>> fnp.shape(fnp.zeros((2, 3))), fnp.shape([[1, 2]]), fnp.shape(1.0)
    ((2, 3), (1, 2), ())
    """
    return a.shape if isinstance(a, Value) else np.shape(a)


def ndim(a: Any) -> int:
    """The number of axes of an array, scalar or nested list.

    >>> fnp.ndim(fnp.zeros((2, 3))), fnp.ndim(1.0)
    (2, 0)
    """
    return len(shape(a))


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, or the extent of `axis` (or the product of the extents of several), a Python integer.

    >>> fnp.size(fnp.zeros((2, 3))), fnp.size(fnp.zeros((2, 3)), 1)
    (6, 3)
    """
    extents = shape(a)
    total = 1
    for i in axes_of(axis, len(extents), "size"):
        total *= extents[i]
    return total


def reshape(a: Any, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    """The same elements in another shape; one extent may be -1 and is computed.

    Args: a: array. shape: integer or tuple. order: "C" (last axis fastest), "F" (first axis fastest), "A" (as "C").
    copy: any; arrays are immutable, so it makes no difference (False raises nothing).
    Raises: ShapeError where the number of elements differs.

    >>> fnp.reshape(fnp.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int64)
    >>> fnp.reshape(fnp.arange(6), (2, 3), order="F")
    Array([[0, 2, 4],
           [1, 3, 5]], dtype=int64)
    """
    x = as_value(a, "reshape")
    new = _filled_in(static_ints(shape, "reshape", "shape"), x)
    if order in ("C", "A"):
        return x if new == x.aval.shape else ops.reshape(x, shape=new)
    if order == "F":
        return transpose(reshape(transpose(x), new[::-1]))
    raise UsageError(message(f"fnp.reshape: got order={order!r}", "'C', 'F' or 'A'", "order='C'"))


def _filled_in(new: tuple[int, ...], x: Value) -> tuple[int, ...]:
    """`new` with its -1 replaced by what makes the element count fit."""
    total = x.aval.size
    known = 1
    for n in new:
        known *= n
    if -1 in new and min(new) == -1 and new.count(-1) == 1:
        known = -known
        if known and total % known == 0:
            return tuple([total // known if n == -1 else n for n in new])
        known = -1
    if known != total or any([n < 0 for n in new]):
        raise ShapeError(
            message(
                f"reshape: got {x.aval.str_short()} ({total} elements) for shape {new}",
                "shapes with the same number of elements; at most one extent -1, which is computed",
                "x.reshape(-1) for one axis, or check the extents",
            )
        )
    return new


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """All elements in one axis. order as in `reshape`.

    >>> fnp.ravel(fnp.array([[1, 2], [3, 4]]))
    Array([1, 2, 3, 4], dtype=int64)
    >>> fnp.ravel(fnp.array([[1, 2], [3, 4]]), order="F")
    Array([1, 3, 2, 4], dtype=int64)
    """
    if out_sharding is not None:
        raise UsageError(message("fnp.ravel: got out_sharding", "None: arrays lie on one device", "fnp.ravel(a)"))
    return reshape(a, (-1,), order)


def transpose(a: Any, axes: Any = None) -> Any:
    """The axes in another order: reversed, or as `axes` says (a permutation of them; negative ones count from the end).

    >>> fnp.transpose(fnp.array([[1, 2, 3], [4, 5, 6]]))
    Array([[1, 4],
           [2, 5],
           [3, 6]], dtype=int64)
    >>> fnp.transpose(fnp.ones((2, 3, 4)), (0, 2, 1)).shape
    (2, 4, 3)
    """
    x = as_value(a, "transpose")
    n = x.aval.ndim
    if axes is None:
        permutation = tuple(range(n - 1, -1, -1))
    else:
        permutation = tuple([axis_of(i, n, "transpose", "axes") for i in static_ints(axes, "transpose", "axes")])
        if sorted(permutation) != list(range(n)):
            raise UsageError(
                message(f"fnp.transpose: got axes={axes} for {x.aval.str_short()}", "each axis once", "fnp.swapaxes for two axes")
            )
    return x if permutation == tuple(range(n)) else ops.transpose(x, permutation=permutation)


def permute_dims(a: Any, /, axes: Any) -> Any:
    """As `transpose(a, axes)`; the array API's name.

    >>> fnp.permute_dims(fnp.ones((2, 3, 4)), (1, 2, 0)).shape
    (3, 4, 2)
    """
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Any:
    """The last two axes swapped. Raises ShapeError below two axes.

    >>> fnp.matrix_transpose(fnp.ones((5, 2, 3))).shape
    (5, 3, 2)
    """
    x = as_value(x, "matrix_transpose", "x")
    if x.ndim < 2:
        raise ShapeError(message(f"fnp.matrix_transpose: got {x.aval.str_short()}", "two or more axes", "x[None] to add an axis"))
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """Two axes exchanged; negative ones count from the end.

    >>> fnp.swapaxes(fnp.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    x = as_value(a, "swapaxes")
    i, j = axis_of(axis1, x.ndim, "swapaxes", "axis1"), axis_of(axis2, x.ndim, "swapaxes", "axis2")
    permutation = list(range(x.ndim))
    permutation[i], permutation[j] = j, i
    return transpose(x, tuple(permutation))


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Axes moved to new positions; the others keep their order. source, destination: integers or equally long tuples.

    >>> fnp.moveaxis(fnp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    >>> fnp.moveaxis(fnp.ones((2, 3, 4)), (0, 1), (2, 0)).shape
    (3, 4, 2)
    """
    x = as_value(a, "moveaxis")
    sources = [axis_of(i, x.ndim, "moveaxis", "source") for i in static_ints(source, "moveaxis", "source")]
    targets = [axis_of(i, x.ndim, "moveaxis", "destination") for i in static_ints(destination, "moveaxis", "destination")]
    if len(sources) != len(targets) or len(set(sources)) < len(sources) or len(set(targets)) < len(targets):
        raise UsageError(
            message(
                f"fnp.moveaxis: got source={source}, destination={destination}",
                "equally many distinct axes",
                "moveaxis(a, (0, 1), (2, 0))",
            )
        )
    order = [i for i in range(x.ndim) if i not in sources]
    for target, origin in sorted(zip(targets, sources)):
        order.insert(target, origin)
    return transpose(x, tuple(order))


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """`axis` moved in front of position `start`. `moveaxis` is easier to read.

    >>> fnp.rollaxis(fnp.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = as_value(a, "rollaxis")
    i = axis_of(axis, x.ndim, "rollaxis")
    s = static_int(start, "rollaxis", "start")
    s = s + x.ndim if s < 0 else s
    if not 0 <= s <= x.ndim:
        raise UsageError(message(f"fnp.rollaxis: got start={start}", f"{-x.ndim} to {x.ndim}", "fnp.moveaxis"))
    return moveaxis(x, i, s - 1 if i < s else s)


def expand_dims(a: Any, axis: Any) -> Any:
    """New axes of extent 1 at the positions `axis` of the result.

    >>> fnp.expand_dims(fnp.array([1, 2, 3]), 1)
    Array([[1],
           [2],
           [3]], dtype=int64)
    >>> fnp.expand_dims(fnp.ones((3,)), (0, -1)).shape
    (1, 3, 1)
    """
    x = as_value(a, "expand_dims")
    added = static_ints(axis, "expand_dims", "axis")
    rank = x.ndim + len(added)
    places = axes_of(added, rank, "expand_dims")
    if not places:
        return x
    return ops.expand_dims(x, dimensions=places)


def squeeze(a: Any, axis: Any = None) -> Any:
    """Axes of extent 1 removed: all of them, or those in `axis`. Raises ShapeError for an axis of another extent.

    >>> fnp.squeeze(fnp.ones((1, 3, 1))).shape
    (3,)
    >>> fnp.squeeze(fnp.ones((1, 3, 1)), axis=0).shape
    (3, 1)
    """
    x = as_value(a, "squeeze")
    if axis is None:
        axes = tuple([i for i, n in enumerate(x.shape) if n == 1])
    else:
        axes = axes_of(axis, x.ndim, "squeeze")
        wrong = [i for i in axes if x.shape[i] != 1]
        if wrong:
            raise ShapeError(
                message(f"fnp.squeeze: got axis={axis} for {x.aval.str_short()}", "axes of extent 1", "squeeze() for all of them")
            )
    return ops.squeeze(x, dimensions=axes) if axes else x


def _at_least(rank: int, name: str, arys: tuple[Any, ...], view: Any) -> Any:
    out = [view(as_value(x, name, f"arys[{i}]")) for i, x in enumerate(arys)]
    return out[0] if len(out) == 1 else out


def atleast_1d(*arys: Any) -> Any:
    """Scalars become arrays with one axis; a list for several arguments.

    >>> fnp.atleast_1d(3.0)
    Array([3.], dtype=float32, weak_type=True)
    """
    return _at_least(1, "atleast_1d", arys, lambda x: expand_dims(x, 0) if x.ndim == 0 else x)


def atleast_2d(*arys: Any) -> Any:
    """Axes of extent 1 are put in front until there are two; a list for several arguments.

    >>> fnp.atleast_2d(fnp.arange(3))
    Array([[0, 1, 2]], dtype=int64)
    >>> [x.shape for x in fnp.atleast_2d(1.0, fnp.arange(3))]
    [(1, 1), (1, 3)]
    """
    return _at_least(2, "atleast_2d", arys, lambda x: expand_dims(x, tuple(range(2 - x.ndim))) if x.ndim < 2 else x)


def atleast_3d(*arys: Any) -> Any:
    """Axes of extent 1 are added until there are three, as NumPy places them: (N,) -> (1, N, 1), (M, N) -> (M, N, 1).

    >>> fnp.atleast_3d(fnp.arange(3)).shape
    (1, 3, 1)
    """
    places = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _at_least(3, "atleast_3d", arys, lambda x: expand_dims(x, places[x.ndim]) if x.ndim < 3 else x)


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes have together. Raises ShapeError where they do not broadcast.

    >>> fnp.broadcast_shapes((3, 1), 4, (2, 1, 1))
    (2, 3, 4)
    """
    return broadcast_shapes_of([shape_of(s, "broadcast_shapes", "shapes") for s in shapes])


def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Any:
    """The array repeated to `shape`; no memory is moved. Raises ShapeError where it does not fit.

    >>> fnp.broadcast_to(fnp.array([1, 2]), (3, 2))
    Array([[1, 2],
           [1, 2],
           [1, 2]], dtype=int64)
    """
    if out_sharding is not None:
        raise UsageError(
            message("fnp.broadcast_to: got out_sharding", "None: arrays lie on one device", "fnp.broadcast_to(array, shape)")
        )
    x = as_value(array, "broadcast_to", "array")
    new = shape_of(shape, "broadcast_to")
    if broadcast_shapes_of([x.shape, new], "broadcast_to") != new:
        raise ShapeError(
            message(
                f"fnp.broadcast_to: got {x.aval.str_short()} for shape {new}", "shapes that the array repeats into", "x[:, None]"
            )
        )
    return broadcast_value(x, new)


def broadcast_arrays(*args: Any) -> list[Any]:
    """The arrays repeated to their common shape, as a list. Raises ShapeError where they do not broadcast.

    >>> fnp.broadcast_arrays(fnp.array([1, 2]), fnp.array([[10], [20]]))
    [Array([[1, 2],
           [1, 2]], dtype=int64), Array([[10, 10],
           [20, 20]], dtype=int64)]
    """
    xs = [as_value(a, "broadcast_arrays", f"args[{i}]") for i, a in enumerate(args)]
    new = broadcast_shapes_of([x.shape for x in xs], "broadcast_arrays")
    return [broadcast_value(x, new) for x in xs]


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
    i, j = [axis_of(a, x.ndim, "rot90", "axes") for a in static_ints(axes, "rot90", "axes")]
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

    Args: a: array. shift: integer (traced or not) or a tuple of them. axis: integer, tuple, or
    None (the array is flattened for it).

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
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift]
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
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


def _roll_one(x: Value, shift: Any, axis: int) -> Any:
    n = x.shape[axis]
    if n == 0:
        return x
    if isinstance(shift, Tracer) and shift.concrete() is None:
        places = ops.iota(dtype=dt.int64, shape=(n,), dimension=0)
        back = broadcast_value(ew.convert(shift, dt.int64), (n,))
        return read_with(x, (slice(None),) * axis + (ew.sub(places, back),), "wrap", None)
    k = -static_int(shift, "roll", "shift") % n
    if k == 0:
        return x
    return ops.concatenate(cut(x, axis, k, n), cut(x, axis, 0, k), dimension=axis)


def cut(x: Value, axis: int, start: int, stop: int) -> Any:
    """The elements from `start` to `stop` along one axis."""
    starts = tuple([start if i == axis else 0 for i in range(x.ndim)])
    limits = tuple([stop if i == axis else n for i, n in enumerate(x.shape)])
    return ops.slice_(x, start_indices=starts, limit_indices=limits, strides=(1,) * x.ndim)


def repeat(a: Any, repeats: Any, axis: Any = None, *, total_repeat_length: Any = None, out_sharding: Any = None) -> Any:
    """Each element repeated `repeats` times along `axis` (None: of the flattened array).

    Args: a: array. repeats: an integer, or one integer for each element along the axis, known while tracing.
    total_repeat_length: the extent of the result; longer results are cut, shorter ones filled with the last element.

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
        total = static_int(total_repeat_length, "repeat", "total_repeat_length")
        places = np.pad(places[:total], (0, max(0, total - places.size)), constant_values=n - 1)
    return x[(slice(None),) * i + (places,)]  # type: ignore[index]


def tile(A: Any, reps: Any) -> Any:
    """The array laid side by side `reps` times along each axis.

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
