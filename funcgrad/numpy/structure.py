"""Functions that rearrange the elements of one array: reshape, transpose, flip, roll, repeat, tile, squeeze ...

All but `roll`, `repeat` and `tile` are views to the machine wing: they move nothing.
"""

from typing import Any

import numpy as np

from funcgrad.core.arguments import among
from funcgrad.core.errors import ShapeError, UsageError, asked_at, message
from funcgrad.numpy._axes import axes_of, axis_of, host_array, shape_of, static_int, static_ints
from funcgrad.numpy._promote import as_value, broadcast_shapes_of, broadcast_value
from funcgrad.ops import shape as ops
from funcgrad.trace.value import Value

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "expand_dims",
    "matrix_transpose", "moveaxis", "ndim", "permute_dims", "ravel", "reshape", "rollaxis", "shape", "size", "squeeze",
    "swapaxes", "transpose",
]  # fmt: skip


def shape(a: Any) -> tuple[int, ...]:
    """The extents of the axes of an array, scalar or nested list, as a tuple of Python integers.

    >>> fnp.shape(fnp.zeros((2, 3))), fnp.shape([[1, 2]]), fnp.shape(1.0)
    ((2, 3), (1, 2), ())
    """
    return a.shape if isinstance(a, (Value, np.ndarray)) else host_array(a, "shape", "a").shape


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
    if among(order, ("C", "A")):
        return x if new == x.aval.shape else ops.reshape(x, shape=new)
    if among(order, ("F",)):
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
                f"reshape: got {x.aval.str_short()} ({total} elements) for shape {new}{asked_at()}",
                "shapes with the same number of elements; at most one extent -1, which is computed",
                "x.reshape(-1) for one axis, or check the extents",
            )
        )
    return new


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """All elements in one axis. order as in `reshape`.

    out_sharding: must be None.

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

    Args: axis1, axis2: integers. Raises: AxisError for axes that the array does not have.

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

    out_sharding: must be None.

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


def cut(x: Value, axis: int, start: int, stop: int) -> Any:
    """The elements from `start` to `stop` along one axis."""
    starts = tuple([start if i == axis else 0 for i in range(x.ndim)])
    limits = tuple([stop if i == axis else n for i, n in enumerate(x.shape)])
    return ops.slice_(x, start_indices=starts, limit_indices=limits, strides=(1,) * x.ndim)
