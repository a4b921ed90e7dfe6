"""Making arrays and changing their structure under JAX's names: static params, no broadcasting."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ShapeError, UsageError, describe, message
from funcgrad.lax._table import no_sharding, sequence, strict, value
from funcgrad.numpy import join, reordering
from funcgrad.numpy import structure as fshape
from funcgrad.numpy._axes import axis_of, extent, shape_of, static_int, static_ints
from funcgrad.numpy._promote import broadcast_value
from funcgrad.numpy.filled import full as _full
from funcgrad.numpy.filled import full_like as _full_like
from funcgrad.ops import shape as ops
from funcgrad.trace.value import aval_of

__all__ = [
    "broadcast", "broadcast_in_dim", "broadcast_like", "broadcast_shapes", "broadcasted_iota", "collapse", "concatenate",
    "empty", "expand_dims", "full", "full_like", "iota", "pad", "reshape", "rev", "split", "squeeze", "stack", "tile",
    "transpose", "unstack",
]  # fmt: skip


# --- making ------------------------------------------------------------------------------------------------------------------


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of `shape` filled with a scalar, in `dtype` (default: that of the scalar). sharding: must be None.

    >>> lax.full((2, 3), 7, np.int32)
    Array([[7, 7, 7],
           [7, 7, 7]], dtype=int32)
    """
    no_sharding("full", sharding)
    return _full(shape, fill_value, dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None) -> Any:
    """An array filled with a scalar, of the shape and dtype of x unless they are given. sharding: must be None.

    >>> lax.full_like(fnp.array([1.0, 2.0]), 5)
    Array([5., 5.], dtype=float32)
    >>> lax.full_like(fnp.array([1.0, 2.0]), 5, shape=(1, 2), dtype=np.int8)
    Array([[5, 5]], dtype=int8)
    """
    no_sharding("full_like", sharding)
    return _full_like(x, fill_value, dtype, shape)


def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Any:
    """Zeros: arrays are immutable, so nothing could fill an empty one later. out_sharding: must be None.

    >>> lax.empty((2,), np.float32)
    Array([0., 0.], dtype=float32)
    """
    no_sharding("empty", out_sharding)
    return _full(shape, 0, dtype)


def iota(dtype: Any, size: Any) -> Any:
    """0, 1, ..., size - 1 in this dtype, a vector.

    >>> lax.iota(np.int32, 4)
    Array([0, 1, 2, 3], dtype=int32)
    """
    return ops.iota(dtype=dt.canonical(dtype), shape=(extent(size, "lax.iota", "size"),), dimension=0)


def broadcasted_iota(dtype: Any, shape: Any, dimension: int, *, out_sharding: Any = None) -> Any:
    """The position along axis `dimension`, in an array of this shape and dtype.

    >>> lax.broadcasted_iota(np.int32, (2, 3), 1)
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int32)
    >>> lax.broadcasted_iota(np.int32, (2, 3), 0)
    Array([[0, 0, 0],
           [1, 1, 1]], dtype=int32)
    """
    no_sharding("broadcasted_iota", out_sharding)
    extents = shape_of(shape, "lax.broadcasted_iota")
    return ops.iota(
        dtype=dt.canonical(dtype), shape=extents, dimension=axis_of(dimension, len(extents), "lax.broadcasted_iota", "dimension")
    )


# --- shape -------------------------------------------------------------------------------------------------------------------


def reshape(operand: Any, new_sizes: Any, dimensions: Any = None, *, out_sharding: Any = None) -> Any:
    """The same elements, in row-major order, in another shape; -1 stands for one extent that follows from the others.

    dimensions: the axes are read in this order first, as by `transpose`. out_sharding: must be None.

    >>> x = lax.reshape(fnp.arange(6), (2, 3)); x
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int64)
    >>> lax.reshape(x, (6,), dimensions=(1, 0))
    Array([0, 3, 1, 4, 2, 5], dtype=int64)
    """
    no_sharding("reshape", out_sharding)
    x = value("reshape", operand)
    x = x if dimensions is None else fshape.transpose(x, dimensions)
    return fshape.reshape(x, new_sizes)


def transpose(operand: Any, permutation: Any) -> Any:
    """The axes in the order of `permutation`, which names each once: axis i of the result is axis permutation[i] of the operand.

    >>> lax.transpose(fnp.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return fshape.transpose(value("transpose", operand), permutation)


def broadcast(operand: Any, sizes: Any, *, out_sharding: Any = None) -> Any:
    """The operand repeated along new leading axes of these sizes.

    >>> lax.broadcast(fnp.array([1, 2]), (3,))
    Array([[1, 2],
           [1, 2],
           [1, 2]], dtype=int64)
    """
    no_sharding("broadcast", out_sharding)
    x = value("broadcast", operand)
    return broadcast_value(x, shape_of(sizes, "lax.broadcast", "sizes") + x.shape)


def broadcast_in_dim(operand: Any, shape: Any, broadcast_dimensions: Any, *, out_sharding: Any = None) -> Any:
    """The operand repeated to `shape`; its axis i becomes axis broadcast_dimensions[i], with its extent or from extent 1.

    broadcast_dimensions: one for each axis of the operand, in order. A mismatch raises ValueError.

    >>> lax.broadcast_in_dim(fnp.array([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int64)
    """
    no_sharding("broadcast_in_dim", out_sharding)
    return ops.broadcast_in_dim(
        value("broadcast_in_dim", operand),
        shape=shape_of(shape, "lax.broadcast_in_dim"),
        dims=static_ints(broadcast_dimensions, "lax.broadcast_in_dim", "broadcast_dimensions"),
    )


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """arr repeated to the shape of like_arr, as NumPy aligns shapes: at the right.

    >>> lax.broadcast_like(fnp.array([1, 2]), fnp.ones((2, 2)))
    Array([[1, 2],
           [1, 2]], dtype=int64)
    """
    return fshape.broadcast_to(value("broadcast_like", arr, "arr"), value("broadcast_like", like_arr, "like_arr").shape)


broadcast_shapes = fshape.broadcast_shapes


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """The axes from start_dimension up to, not including, stop_dimension (None: all that follow) become one.

    >>> lax.collapse(fnp.ones((2, 3, 4)), 0, 2).shape
    (6, 4)
    >>> lax.collapse(fnp.ones((2, 3, 4)), 1).shape
    (2, 12)
    """
    x = value("collapse", operand)
    start = static_int(start_dimension, "lax.collapse", "start_dimension")
    last = None if stop_dimension is None else static_int(stop_dimension, "lax.collapse", "stop_dimension")
    start, stop, _ = slice(start, last).indices(x.ndim)
    if stop <= start:
        raise UsageError(
            message(
                f"lax.collapse: got axes {start_dimension} to {stop_dimension} of {x.aval.str_short()}",
                "one axis or more",
                "mend the axes",
            )
        )
    size = 1
    for n in x.shape[start:stop]:
        size *= n
    return fshape.reshape(x, (*x.shape[:start], size, *x.shape[stop:]))


def expand_dims(array: Any, dimensions: Any) -> Any:
    """New axes of extent 1 at these places of the result.

    >>> lax.expand_dims(fnp.ones((2, 3)), (0, 2)).shape
    (1, 2, 1, 3)
    """
    return fshape.expand_dims(value("expand_dims", array, "array"), static_ints(dimensions, "lax.expand_dims", "dimensions"))


def squeeze(array: Any, dimensions: Any) -> Any:
    """Without these axes, whose extent must be 1.

    >>> lax.squeeze(fnp.ones((1, 3, 1)), (0,)).shape
    (3, 1)
    """
    return fshape.squeeze(value("squeeze", array, "array"), static_ints(dimensions, "lax.squeeze", "dimensions"))


def rev(operand: Any, dimensions: Any) -> Any:
    """The order of the elements reversed along these axes.

    >>> lax.rev(fnp.array([[1, 2], [3, 4]]), (1,))
    Array([[2, 1],
           [4, 3]], dtype=int64)
    """
    return reordering.flip(value("rev", operand), static_ints(dimensions, "lax.rev", "dimensions"))


def concatenate(operands: Any, dimension: int) -> Any:
    """Arrays of one dtype one after the other along the axis `dimension`; their other extents are equal.

    >>> lax.concatenate([fnp.array([1, 2]), fnp.array([3])], 0)
    Array([1, 2, 3], dtype=int64)
    """
    xs = strict("concatenate", *sequence("concatenate", operands, "operands"), shapes=False)
    return join.concatenate(xs, dimension)


def stack(operands: Any, axis: int = 0) -> Any:
    """Arrays of one dtype and shape along a new axis.

    >>> lax.stack([fnp.array([1, 2]), fnp.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int64)
    """
    return join.stack(strict("stack", *sequence("stack", operands, "operands"), shapes=False), axis)


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis, without it: a tuple.

    >>> lax.unstack(fnp.array([[1, 2], [3, 4]]), axis=1)
    (Array([1, 3], dtype=int64), Array([2, 4], dtype=int64))
    """
    return reordering.unstack(value("unstack", x, "x"), axis=axis)


def split(operand: Any, sizes: Any, axis: int = 0) -> list[Any]:
    """Parts of these sizes along an axis, a list; the sizes add up to its extent, else ValueError.

    >>> lax.split(fnp.arange(5), (2, 3))
    [Array([0, 1], dtype=int64), Array([2, 3, 4], dtype=int64)]
    """
    x = value("split", operand)
    i = axis_of(axis, x.ndim, "lax.split")
    lengths = static_ints(sizes, "lax.split", "sizes")
    if sum(lengths) != x.shape[i] or any([n < 0 for n in lengths]):
        raise ShapeError(
            message(
                f"lax.split: got sizes {lengths} for extent {x.shape[i]}", "sizes that add up to the extent", "fnp.array_split"
            )
        )
    edges = np.cumsum([0, *lengths]).tolist()
    return [fshape.cut(x, i, a, b) for a, b in zip(edges, edges[1:])]


def tile(operand: Any, reps: Any) -> Any:
    """Laid side by side reps[i] times along axis i; one count for each axis.

    >>> lax.tile(fnp.array([[1, 2]]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int64)
    """
    x = value("tile", operand)
    counts = static_ints(reps, "lax.tile", "reps")
    if len(counts) != x.ndim:
        raise ShapeError(message(f"lax.tile: got {len(counts)} counts for {x.aval.str_short()}", "one for each axis", "fnp.tile"))
    return reordering.tile(x, counts)


def pad(operand: Any, padding_value: Any, padding_config: Any) -> Any:
    """The operand within copies of padding_value, a scalar of its dtype.

    padding_config: for each axis (low, high, interior): so many before, after, and between each two elements. Negative
    low and high cut elements off.

    >>> lax.pad(fnp.array([1, 2, 3]), 0, [(1, 2, 0)])
    Array([0, 1, 2, 3, 0, 0], dtype=int64)
    >>> lax.pad(fnp.array([1, 2, 3]), 0, [(-1, 0, 1)])
    Array([0, 2, 0, 3], dtype=int64)
    """
    x, filling = strict("pad", operand, padding_value, shapes=False)
    config = tuple([static_ints(c, "lax.pad", "padding_config") for c in sequence("pad", padding_config, "padding_config")])
    if len(config) != aval_of(x).ndim or any([len(c) != 3 for c in config]):
        raise ShapeError(
            message(
                f"lax.pad: got padding_config={padding_config} for {describe(x)}",
                "(low, high, interior) for each axis",
                f"lax.pad(x, 0, {[(1, 1, 0)] * aval_of(x).ndim})",
            )
        )
    return ops.pad(value("pad", x), filling, padding_config=config)
