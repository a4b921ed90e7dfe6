"""A new array with other elements at some places, or without them: put, place, fill_diagonal, put_along_axis, delete, insert."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import ShapeError, UsageError, describe, message
from funcgrad.numpy._axes import axis_of, static_array
from funcgrad.numpy._promote import (
    as_value,
    broadcast_value,
    value_in,
)
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.reductions import as_bool
from funcgrad.numpy.selection import _along_index, _checked_along, take
from funcgrad.numpy.structure import ravel, reshape
from funcgrad.ops import cumulative
from funcgrad.ops import elementwise as ew
from funcgrad.ops.shape import expand_dims

__all__ = [
    "delete", "fill_diagonal", "insert", "place", "put", "put_along_axis",
]  # fmt: skip


def _not_in_place(name: str, inplace: Any) -> None:
    if flag(inplace, f"fnp.{name}", "inplace"):
        raise UsageError(
            message(
                f"fnp.{name}: got inplace=True",
                "inplace=False: arrays are immutable, a new one is returned",
                f"x = fnp.{name}(x, ..., inplace=False)",
            )
        )


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any, inplace: bool = True, *, mode: Any = None) -> Any:
    """A new array with `values` at the places that `indices` names along `axis`; call it with inplace=False.

    Args: arr: array. indices: integers, of the same rank. values: broadcast to them. axis: integer, or None for the flattened
    array. mode: what happens out of range, see `x.at[i].set`. Raises: UsageError with inplace=True: arrays are immutable.

    >>> x = fnp.array([[3, 1, 2], [6, 5, 4]])
    >>> fnp.put_along_axis(x, fnp.argmax(x, axis=1, keepdims=True), 0, axis=1, inplace=False)
    Array([[0, 1, 2],
           [0, 5, 4]], dtype=int64)
    """
    _not_in_place("put_along_axis", inplace)
    original = as_value(arr, "put_along_axis", "arr")
    x, places, i = _checked_along("put_along_axis", original, indices, axis)
    out = x.at[_along_index(x, places, i)].set(values, mode=mode)  # type: ignore[attr-defined]
    return reshape(out, original.shape) if axis is None else out


def put(a: Any, ind: Any, v: Any, mode: Any = None, *, inplace: bool = True) -> Any:
    """A new array with `v` (repeated as needed) at places of the flattened array; call it with inplace=False.

    Args: a: array. ind: integers, negative ones from the end. v: in the dtype of a. mode: what happens out of range.
    Raises: UsageError with inplace=True (`x.at[i].set(v)` does the same without it); IndexError out of range without a mode.

    >>> fnp.put(fnp.zeros((2, 3), int), fnp.array([0, 4]), fnp.array([7, 8]), inplace=False)
    Array([[7, 0, 0],
           [0, 8, 0]], dtype=int64)
    """
    _not_in_place("put", inplace)
    x = as_value(a, "put")
    places, values = ravel(as_value(ind, "put", "ind")), ravel(value_in(v, x.dtype, "put", "v"))
    if not places.size or not values.size:
        return x
    values = values[np.arange(places.size) % values.size]  # type: ignore[index]
    return reshape(ravel(x).at[places].set(values, mode=mode), x.shape)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """A new array with `val` on the main diagonal; call it with inplace=False. wrap: go on below a tall matrix' square.

    Args: a: a matrix, or more axes of one extent. val: a scalar, or a vector that is repeated as needed.

    >>> fnp.fill_diagonal(fnp.zeros((3, 3), int), fnp.array([1, 2, 3]), inplace=False)
    Array([[1, 0, 0],
           [0, 2, 0],
           [0, 0, 3]], dtype=int64)
    """
    _not_in_place("fill_diagonal", inplace)
    x = as_value(a, "fill_diagonal")
    if x.ndim < 2 or x.ndim > 2 and len(set(x.shape)) > 1:
        raise ShapeError(
            message(f"fnp.fill_diagonal: got {x.aval.str_short()}", "a matrix, or more axes of one extent", "x.at[i, i].set(v)")
        )
    step = x.shape[1] + 1 if x.ndim == 2 else sum([x.shape[0] ** k for k in range(x.ndim)])
    end = x.size if flag(wrap, "fnp.fill_diagonal", "wrap") or x.ndim > 2 else min(x.shape[1] ** 2, x.size)
    values = ravel(value_in(val, x.dtype, "fill_diagonal", "val"))
    places = np.arange(0, end, step)
    values = values if values.size == 1 else values[np.arange(places.size) % values.size]  # type: ignore[index]
    return reshape(ravel(x).at[places].set(values), x.shape)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """A new array with the values, repeated as needed, at the True places of the mask in order; call it with inplace=False.

    Args: arr: array. mask: of as many elements. vals: in the dtype of arr.
    Raises: ShapeError where the mask has another number of elements than the array; UsageError with inplace=True.

    >>> x = fnp.arange(5)
    >>> fnp.place(x, x % 2 == 0, fnp.array([10, 20]), inplace=False)
    Array([10,  1, 20,  3, 10], dtype=int64)
    """
    _not_in_place("place", inplace)
    x, m = as_value(arr, "place", "arr"), ravel(as_bool(as_value(mask, "place", "mask")))
    values = ravel(value_in(vals, x.dtype, "place", "vals"))
    if m.size != x.size:
        raise ShapeError(
            message(
                f"fnp.place: got a mask of {m.size} elements for {x.size}",
                "as many as the array has",
                "fnp.broadcast_to(mask, x.shape)",
            )
        )
    if not values.size or not x.size:
        return x
    number = ew.sub(cumulative.cumsum(ew.convert(m, dt.int64), axis=0, reverse=False), np.int64(1))
    chosen = values.at[ew.rem(ew.max(number, np.int64(0)), np.int64(values.size))].get()  # type: ignore[attr-defined]
    return reshape(ew.select_n(m, ravel(x), chosen), x.shape)


def _places(given: np.ndarray, n: int, last: int, name: str) -> np.ndarray:
    """Integers from -n to `last`, or a mask of n elements, as np.delete and np.insert take them."""
    if given.dtype == bool and given.shape == (n,):
        return np.flatnonzero(given)
    if given.size == 0 and given.ndim == 1:
        return given.astype(np.int64)
    if given.dtype.kind not in "iu" or given.ndim > 1:
        raise IndexError(
            message(
                f"fnp.{name}: got {describe(given)} for obj",
                f"an integer, a vector of integers, a slice, or a mask of {n} elements",
                f"fnp.{name}(x, 0, ...)",
            )
        )
    if ((given < -n) | (given > last)).any():
        raise IndexError(message(f"fnp.{name}: got {given} for extent {n}", f"{-n} to {last}", "check obj"))
    return given


def delete(arr: Any, obj: Any, axis: Any = None, *, assume_unique_indices: bool = False) -> Any:
    """The array without the slices along `axis` that `obj` (integers, a slice, a mask; known while tracing) names.

    Args: axis: integer, or None for the flattened array. assume_unique_indices: a promise that makes no difference.

    >>> fnp.delete(fnp.array([10, 20, 30, 40]), fnp.array([0, 2]))
    Array([20, 40], dtype=int64)
    >>> fnp.delete(fnp.array([[1, 2, 3], [4, 5, 6]]), 1, axis=1)
    Array([[1, 3],
           [4, 6]], dtype=int64)
    """
    x = as_value(arr, "delete", "arr")
    x, i = (ravel(x), 0) if axis is None else (x, axis_of(axis, x.ndim, "delete"))
    n = x.shape[i]
    gone = obj if isinstance(obj, slice) else static_array(obj, "delete", "obj")
    keep = np.delete(np.arange(n), gone if isinstance(gone, slice) else _places(gone, n, n - 1, "delete"))
    return take(x, keep, i)


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """The array with `values` put before the places that `obj` (integers or a slice, known while tracing) names along `axis`.

    Args: axis: integer, or None for the flattened array. values: broadcast to the new places, in the dtype of the array.
    Raises: IndexError out of range.

    >>> fnp.insert(fnp.array([1, 2, 3]), 1, 9)
    Array([1, 9, 2, 3], dtype=int64)
    >>> fnp.insert(fnp.array([[1, 2], [3, 4]]), 1, fnp.array([8, 9]), axis=1)
    Array([[1, 8, 2],
           [3, 9, 4]], dtype=int64)
    """
    x = as_value(arr, "insert", "arr")
    x, i = (ravel(x), 0) if axis is None else (x, axis_of(axis, x.ndim, "insert"))
    n = x.shape[i]
    places = np.arange(*obj.indices(n)) if isinstance(obj, slice) else static_array(obj, "insert", "obj")
    places = places if isinstance(obj, slice) else _places(places, n, n, "insert")
    new = value_in(values, x.dtype, "insert", "values")
    scalar = places.ndim == 0
    places = np.atleast_1d(places)
    places = np.where(places < 0, places + n, places)
    if scalar:  # one place takes all of the values
        rest = x.shape[:i] + x.shape[i + 1 :]
        if new.ndim <= len(rest) or axis is None and new.ndim == 0:
            new = broadcast_value(new, rest) if axis is not None else new
            new = expand_dims(new, dimensions=(i,)) if axis is not None else ravel(new)
        places = np.repeat(places, new.shape[i])
    shape = tuple([places.size if k == i else m for k, m in enumerate(x.shape)])
    new = broadcast_value(new, shape)
    order = np.argsort(places, kind="stable")
    at = places[order] + np.arange(places.size)
    source = np.empty(n + places.size, np.int64)
    kept = np.ones(source.size, bool)
    kept[at] = False
    source[kept] = np.arange(n)
    source[at] = n + order
    return take(concatenate([x, new], i), source, i)
