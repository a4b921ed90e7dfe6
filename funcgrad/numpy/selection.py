"""Choosing elements by number: where, select, take, take_along_axis, put_along_axis, nonzero, compress, delete, insert ..."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ConcretizationTypeError, ShapeError, UsageError, message
from funcgrad.numpy._axes import axis_of, shape_of, static_array, static_int
from funcgrad.numpy._promote import (
    as_value,
    broadcast_shapes_of,
    broadcast_value,
    cast,
    check_unsupported,
    common_dtype,
    common_shape,
    operand,
    scalar_array,
    value_in,
)
from funcgrad.numpy.compare import truth
from funcgrad.numpy.index import mode_of, read_lines, read_with
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.reductions import as_bool
from funcgrad.numpy.structure import broadcast_arrays, ravel, reshape
from funcgrad.ops import cumulative
from funcgrad.ops import elementwise as ew
from funcgrad.ops.shape import expand_dims, full, iota
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.value import Value

__all__ = [
    "argwhere", "choose", "compress", "delete", "extract", "fill_diagonal", "flatnonzero", "insert", "ix_", "nonzero",
    "piecewise", "place", "put", "put_along_axis", "ravel_multi_index", "select", "take", "take_along_axis", "unravel_index",
    "where",
]  # fmt: skip


def where(condition: Any, x: Any = None, y: Any = None, /, *, size: Any = None, fill_value: Any = None) -> Any:
    """x where the condition holds, otherwise y; with the condition alone, the indices of its True elements.

    Args: condition: array of booleans (or of numbers: not zero). x, y: arrays or scalars; all three broadcast, x and y are
    brought to one dtype. size, fill_value: for the one-argument form, see `nonzero`.
    The side that is not taken gets a hard zero as gradient, even where its own derivative is infinite or NaN.

    >>> x = fnp.array([-1.0, 4.0])
    >>> fnp.where(x > 0, fnp.sqrt(x), 0.0)
    Array([0., 2.], dtype=float32)
    >>> fg.grad(lambda x: fnp.where(x > 0, fnp.sqrt(x), 0.0).sum())(x)
    Array([0.  , 0.25], dtype=float32)
    >>> fnp.where(x > 0)
    (Array([1], dtype=int64),)
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None or size is not None or fill_value is not None:
        raise UsageError(
            message("fnp.where: got one of x and y, or size with them", "both, or neither (with size)", "fnp.where(mask, x, 0)")
        )
    mask = condition if isinstance(condition, Value) else operand(condition, "where", "condition")
    x = x if isinstance(x, Value) else operand(x, "where", "x")
    y = y if isinstance(y, Value) else operand(y, "where", "y")
    mask = as_value(truth(mask), "where")
    x, y = common_dtype(x, y)
    mask, x, y = common_shape("where", (mask, x, y))
    return ew.select_n(mask, y, x)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """For each element the choice that belongs to the first condition that holds, or `default`.

    Args: condlist: booleans. choicelist: as many arrays or scalars, brought to one dtype. All broadcast.

    >>> x = fnp.arange(6)
    >>> fnp.select([x < 2, x < 4], [x, 10 * x], default=-1)
    Array([ 0,  1, 20, 30, -1, -1], dtype=int64)
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise UsageError(
            message(
                f"fnp.select: got {len(condlist)} conditions and {len(choicelist)} choices",
                "as many choices as conditions, at least one",
                "fnp.where for one",
            )
        )
    masks = [as_bool(as_value(c, "select", "condlist")) for c in condlist]
    *choices, out = common_dtype(*[operand(c, "select", "choicelist") for c in choicelist], operand(default, "select", "default"))
    *shaped, out = common_shape("select", (*masks, *choices, out))
    masks, choices = shaped[: len(masks)], shaped[len(masks) :]
    for mask, choice in zip(masks[::-1], choices[::-1]):
        out = ew.select_n(mask, out, choice)
    return out


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """For each element what the function (or scalar) of the last condition that holds gives; one more function is for the
    rest.

    Args: x: array. condlist: masks of the shape of x. funclist: functions of the whole of x, or scalars. args, kw: passed on to
    them.
    Returns: an array of the shape and dtype of x.

    >>> x = fnp.array([-2.0, 0.5, 3.0])
    >>> fnp.piecewise(x, [x < 0, x > 1], [-1.0, lambda v: v**2, 0.0])
    Array([-1.,  0.,  9.], dtype=float32)
    """
    v = as_value(x, "piecewise", "x")
    conditions: Any = condlist
    single = isinstance(condlist, Value) and condlist.shape == v.shape
    masks: Any = [conditions] if single else list(conditions)
    masks = [as_bool(as_value(c, "piecewise", "condlist")) for c in masks]
    functions = list(funclist)
    if len(functions) == len(masks) + 1:
        functions = [functions[-1], *functions[:-1]]
    elif len(functions) == len(masks):
        functions = [0, *functions]
    else:
        raise UsageError(
            message(
                f"fnp.piecewise: got {len(functions)} functions for {len(masks)} conditions",
                "as many, or one more for the rest",
                "funclist=[f, g]",
            )
        )
    outs = [cast(operand(f(v, *args, **kw) if callable(f) else f, "piecewise", "funclist"), v.dtype) for f in functions]
    out = broadcast_value(as_value(outs[0], "piecewise"), v.shape)
    for mask, choice in zip(masks, outs[1:]):
        out = where(mask, choice, out)
    return out


# --- by integer -----------------------------------------------------------------------------------------------------------


def take(
    a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = None, unique_indices: bool = False,
    indices_are_sorted: bool = False, fill_value: Any = None,
) -> Any:  # fmt: skip
    """The elements (or slices along `axis`) that `indices` names, in its shape.

    Args: a: array. indices: integers. axis: integer, or None for the flattened array. mode: what happens out of range, see
    `x.at[i]`; without one IndexError. fill_value: for mode="fill". unique_indices, indices_are_sorted: promises that make no
    difference. out: must be None.

    >>> fnp.take(fnp.array([10, 20, 30]), fnp.array([[2, 0], [1, 1]]))
    Array([[30, 10],
           [20, 20]], dtype=int64)
    >>> fnp.take(fnp.array([[1, 2, 3], [4, 5, 6]]), fnp.array([2, 0]), axis=1)
    Array([[3, 1],
           [6, 4]], dtype=int64)
    >>> fnp.take(fnp.array([10, 20, 30]), fnp.array([0, 7]), mode="fill", fill_value=-1)
    Array([10, -1], dtype=int64)
    """
    check_unsupported("take", out=out)
    x = as_value(a, "take")
    x, i = (ravel(x), 0) if axis is None else (x, axis_of(axis, x.ndim, "take"))
    places = indices if isinstance(indices, np.ndarray) else operand(indices, "take", "indices")
    return read_with(x, (slice(None),) * i + (places,), mode_of(mode, "fnp.take"), fill_value)


def _along_index(x: Value, places: Value, i: int) -> tuple[Any, ...]:
    """The index that reads x at `places` along axis i, and goes along with it on the others."""
    rank = x.ndim
    grids: list[Any] = []
    for k in range(rank):
        if k == i:
            grids.append(places)
        elif x.shape[k] == 1:
            grids.append(np.zeros((1,) * rank, np.int64))
        else:
            grids.append(np.arange(x.shape[k]).reshape([-1 if j == k else 1 for j in range(rank)]))
    return tuple(grids)


def _checked_along(name: str, arr: Any, indices: Any, axis: Any) -> tuple[Value, Value, int]:
    x, places = as_value(arr, name, "arr"), as_value(indices, name, "indices")
    if axis is None:
        x, axis = ravel(x), 0
        places = ravel(places) if places.ndim != 1 else places
    if places.ndim != x.ndim:
        raise ShapeError(
            message(
                f"fnp.{name}: got indices {places.aval.str_short()} for {x.aval.str_short()}",
                "as many axes as the array",
                "fnp.expand_dims(indices, axis)",
            )
        )
    if places.dtype not in dt.INTEGERS:
        raise TypeError(message(f"fnp.{name}: got indices {places.aval.str_short()}", "integers", "indices.astype(int)"))
    return x, places, axis_of(axis, x.ndim, name)


def take_along_axis(
    arr: Any, indices: Any, axis: Any = -1, mode: Any = None, fill_value: Any = None, *, wrap_negative_indices: Any = None
) -> Any:
    """Elements along `axis` by an index array of the same rank: out[i, j] = arr[i, indices[i, j]] for axis 1.

    Args: indices: integers; other axes broadcast with the array's. axis: None for the flattened array. mode, fill_value: what
    happens
    out of range, see `x.at[i].get`. wrap_negative_indices=False: negative numbers are out of range.
    Pairs with `fnp.argsort` and `fnp.argmax(..., keepdims=True)`.

    >>> x = fnp.array([[3, 1, 2], [6, 5, 4]])
    >>> fnp.take_along_axis(x, fnp.argsort(x, axis=1), axis=1)
    Array([[1, 2, 3],
           [4, 5, 6]], dtype=int64)
    """
    x, places, i = _checked_along("take_along_axis", arr, indices, axis)
    ones = [(*v.shape[:i], 1, *v.shape[i + 1 :]) for v in (x, places)]
    lead = broadcast_shapes_of(ones, "take_along_axis")
    x = broadcast_value(x, (*lead[:i], x.shape[i], *lead[i + 1 :]))
    places = broadcast_value(places, (*lead[:i], places.shape[i], *lead[i + 1 :]))
    if wrap_negative_indices is not None and not wrap_negative_indices and places.dtype in dt.SIGNED:
        places = ew.convert(places, dt.uint64)  # negative numbers become too large
    return read_lines(x, places, i, mode_of(mode, "fnp.take_along_axis"), fill_value)


def _not_in_place(name: str, inplace: Any) -> None:
    if inplace:
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
    array.
    mode: what happens out of range, see `x.at[i].set`. Raises: UsageError with inplace=True: arrays are immutable.

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

    Raises: UsageError with inplace=True (`x.at[i].set(v)` does the same without it); IndexError out of range without a mode.

    >>> fnp.put(fnp.zeros((2, 3), int), fnp.array([0, 4]), fnp.array([7, 8]), inplace=False)
    Array([[7, 0, 0],
           [0, 8, 0]], dtype=int64)
    """
    _not_in_place("put", inplace)
    x = as_value(a, "put")
    places, values = ravel(as_value(ind, "put", "ind")), ravel(as_value(v, "put", "v"))
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
    end = x.size if wrap or x.ndim > 2 else min(x.shape[1] ** 2, x.size)
    values = ravel(as_value(val, "fill_diagonal", "val"))
    places = np.arange(0, end, step)
    values = values if values.size == 1 else values[np.arange(places.size) % values.size]  # type: ignore[index]
    return reshape(ravel(x).at[places].set(values), x.shape)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """A new array with the values, repeated as needed, at the True places of the mask in order; call it with inplace=False.

    Raises: ShapeError where the mask has another number of elements than the array; UsageError with inplace=True.

    >>> x = fnp.arange(5)
    >>> fnp.place(x, x % 2 == 0, fnp.array([10, 20]), inplace=False)
    Array([10,  1, 20,  3, 10], dtype=int64)
    """
    _not_in_place("place", inplace)
    x, m = as_value(arr, "place", "arr"), ravel(as_bool(as_value(mask, "place", "mask")))
    values = ravel(as_value(vals, "place", "vals"))
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
    return reshape(ew.select_n(m, ravel(x), cast(chosen, x.dtype)), x.shape)


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """For each element the choice whose number is in `a`; all broadcast. mode: "raise", "wrap" or "clip" for other numbers.

    >>> fnp.choose(fnp.array([1, 0, 1]), [fnp.array([1, 2, 3]), fnp.array([10, 20, 30])])
    Array([10,  2, 30], dtype=int64)
    """
    check_unsupported("choose", out=out)
    if mode not in ("raise", "wrap", "clip"):
        raise UsageError(message(f"fnp.choose: got mode={mode!r}", "'raise', 'wrap' or 'clip'", "mode='clip'"))
    number = as_value(a, "choose")
    options = [as_value(c, "choose", "choices") for c in choices]
    options = common_dtype(*options)
    number, *options = broadcast_arrays(number, *options)
    table = concatenate([reshape(o, (1, *o.shape)) for o in options], 0)
    return take_along_axis(table, reshape(number, (1, *number.shape)), 0, mode=mode)[0]


# --- by truth -------------------------------------------------------------------------------------------------------------


def _numbers_of(x: Value) -> np.ndarray | None:
    known = x.concrete() if isinstance(x, Tracer) else x
    return None if known is None else np.asarray(known)


def nonzero(a: Any, *, size: Any = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The indices of the elements that are not zero, one int64 array for each axis.

    Args: size: the length of the result, needed while tracing: longer ones are cut, shorter ones filled with fill_value
    (default 0; a scalar or one for each axis).
    Raises: ConcretizationTypeError for a traced array without size; ShapeError for a scalar.

    >>> fnp.nonzero(fnp.array([[0, 3], [4, 0]]))
    (Array([0, 1], dtype=int64), Array([1, 0], dtype=int64))
    >>> fg.jit(lambda x: fnp.nonzero(x, size=3, fill_value=-1))(fnp.array([0, 3, 0, 4]))
    (Array([ 1,  3, -1], dtype=int64),)
    """
    x = as_value(a, "nonzero")
    if x.ndim == 0:
        raise ShapeError(message("fnp.nonzero: got a scalar", "an array with axes", "x.reshape(1)"))
    mask = as_bool(x)
    known = _numbers_of(mask)
    if size is None:
        if known is None:
            raise ConcretizationTypeError(x, "fnp.nonzero has a length that depends on the numbers; give size=n (and fill_value)")
        return tuple([from_numpy(i) for i in np.nonzero(known)])
    n = static_int(size, "nonzero", "size")
    flat = ravel(mask)
    total = flat.size
    # The k-th True place: where the running count first reaches k + 1.
    count = cumulative.cumsum(ew.convert(flat, dt.int64), axis=0, reverse=False) if total else full((0,), np.int64(0))
    wanted = iota(dtype=dt.int64, shape=(n,), dimension=0)
    slot = ew.select_n(flat, full((total,), np.int64(n)), ew.sub(count, np.int64(1)))
    start = full((n,), np.int64(0))
    flat_places = start.at[slot].set(iota(dtype=dt.int64, shape=(total,), dimension=0), mode="drop") if total else start
    found = count[-1] if total else scalar_array(np.int64(0))
    inside = ew.lt(wanted, broadcast_value(found, (n,)))
    places = unravel_index(flat_places, x.shape) if total else tuple([start] * x.ndim)
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value or 0,) * x.ndim
    return tuple([where(inside, p, cast(operand(f, "nonzero", "fill_value"), dt.int64)) for p, f in zip(places, fills)])


def flatnonzero(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """The indices of the elements of the flattened array that are not zero; size and fill_value as in `nonzero`.

    >>> fnp.flatnonzero(fnp.array([[0, 3], [4, 0]]))
    Array([1, 2], dtype=int64)
    """
    return nonzero(ravel(as_value(a, "flatnonzero")), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """The indices of the elements that are not zero, one row each; size and fill_value as in `nonzero`.

    >>> fnp.argwhere(fnp.array([[0, 3], [4, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int64)
    """
    x = as_value(a, "argwhere")
    if x.ndim == 0:
        return argwhere(reshape(x, (1,)), size=size, fill_value=fill_value)[:, :0]
    columns = nonzero(x, size=size, fill_value=fill_value)
    return concatenate([expand_dims(c, dimensions=(1,)) for c in columns], 1)


def compress(condition: Any, a: Any, axis: Any = None, *, size: Any = None, fill_value: Any = 0, out: Any = None) -> Any:
    """The slices along `axis` (None: the elements) where the vector `condition` is True; size as in `nonzero`, filled with
    fill_value.

    >>> fnp.compress(fnp.array([True, False, True]), fnp.array([[1, 2, 3], [4, 5, 6]]), axis=1)
    Array([[1, 3],
           [4, 6]], dtype=int64)
    """
    check_unsupported("compress", out=out)
    x = as_value(a, "compress")
    x, i = (ravel(x), 0) if axis is None else (x, axis_of(axis, x.ndim, "compress"))
    mask = as_bool(as_value(condition, "compress", "condition"))
    if mask.ndim != 1:
        raise ShapeError(
            message(f"fnp.compress: got a condition {mask.aval.str_short()}", "a vector", "fnp.extract(condition, a)")
        )
    return _kept(x, mask, i, size, fill_value, "compress")


def _kept(x: Value, mask: Value, axis: int, size: Any, fill_value: Any, name: str) -> Any:
    if size is None:
        (places,) = nonzero(mask)
        return take(x, places, axis)
    (places,) = nonzero(mask, size=size, fill_value=x.shape[axis])
    return take(x, places, axis, mode="fill", fill_value=fill_value)


def extract(condition: Any, arr: Any, *, size: Any = None, fill_value: Any = 0) -> Any:
    """The elements of the flattened array where the condition is not zero; size as in `nonzero`, filled with fill_value.

    >>> x = fnp.array([[1, 2], [3, 4]])
    >>> fnp.extract(x > 2, x)
    Array([3, 4], dtype=int64)
    """
    return _kept(
        ravel(as_value(arr, "extract", "arr")),
        ravel(as_bool(as_value(condition, "extract", "condition"))),
        0,
        size,
        fill_value,
        "extract",
    )


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
    keep = np.delete(np.arange(n), gone)
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
    new = value_in(values, x.dtype, "insert", "values")
    scalar = places.ndim == 0
    places = np.atleast_1d(places)
    if ((places < -n) | (places > n)).any():
        raise IndexError(message(f"fnp.insert: got {places} for extent {n}", f"{-n} to {n}", "check obj"))
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


# --- index arithmetic -----------------------------------------------------------------------------------------------------


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Numbers of elements of a flattened array -> an index array for each axis of `shape`; negative ones count from the end.

    Raises: ValueError for numbers out of range where they are known; in a traced function they go to the nearest element.

    >>> fnp.unravel_index(fnp.array([1, 5]), (2, 3))
    (Array([0, 1], dtype=int64), Array([1, 2], dtype=int64))
    """
    number = as_value(indices, "unravel_index", "indices")
    extents = shape_of(shape, "unravel_index")
    if number.dtype not in dt.INTEGERS:
        raise TypeError(message(f"fnp.unravel_index: got {number.aval.str_short()}", "integers", "indices.astype(int)"))
    number = ew.convert(number, dt.int64)
    total = np.int64(np.prod(extents, dtype=np.int64))
    known = _numbers_of(number)
    if known is not None and ((known < -total) | (known >= total)).any():
        raise ValueError(
            message(
                f"fnp.unravel_index: got a number out of range for shape {extents}", f"{-total} to {total - 1}", "fnp.clip first"
            )
        )
    number = ew.select_n(ew.lt(number, np.int64(0)), number, ew.add(number, total))
    number = ew.max(ew.min(number, np.int64(max(int(total) - 1, 0))), np.int64(0))
    out = []
    for n in extents[::-1]:
        out.append(ew.rem(number, np.int64(max(n, 1))))
        number = ew.div(number, np.int64(max(n, 1)))
    return tuple(out[::-1])


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C", *, dtype: Any = None) -> Any:
    """An index array for each axis -> the numbers of the elements in the flattened array of shape `dims`.

    mode: "raise" (needs numbers that are known; otherwise as "clip"), "clip" or "wrap". order: "C" or "F". dtype: int64
    without one.

    >>> fnp.ravel_multi_index((fnp.array([0, 1]), fnp.array([1, 2])), (2, 3))
    Array([1, 5], dtype=int64)
    """
    extents = shape_of(dims, "ravel_multi_index", "dims")
    places = [ew.convert(as_value(i, "ravel_multi_index", "multi_index"), dt.int64) for i in multi_index]
    if len(places) != len(extents) or mode not in ("raise", "clip", "wrap") or order not in ("C", "F"):
        raise UsageError(
            message(
                f"fnp.ravel_multi_index: got {len(places)} indices for {extents}, mode={mode!r}, order={order!r}",
                "an index for each axis, mode 'raise', 'clip' or 'wrap', order 'C' or 'F'",
                "mode='clip'",
            )
        )
    places = broadcast_arrays(*places)
    pairs = list(zip(places, extents))
    out = None
    for i, n in pairs if order == "C" else pairs[::-1]:
        known = _numbers_of(i)
        if mode == "raise" and known is not None and ((known < 0) | (known >= n)).any():
            raise ValueError(
                message(f"fnp.ravel_multi_index: got an index out of range for extent {n}", f"0 to {n - 1}", "mode='clip'")
            )
        if mode == "wrap":
            left = ew.rem(i, np.int64(n))
            i = ew.select_n(ew.lt(left, np.int64(0)), left, ew.add(left, np.int64(n)))
        else:
            i = ew.max(ew.min(i, np.int64(n - 1)), np.int64(0))
        out = i if out is None else ew.add(ew.mul(out, np.int64(n)), i)
    out = scalar_array(np.int64(0)) if out is None else out
    return out if dtype is None else cast(out, dt.canonical(dtype))


def ix_(*args: Any) -> tuple[Any, ...]:
    """Index vectors as an open grid: x[fnp.ix_([0, 2], [1, 3])] takes those rows and columns. Boolean vectors name their True
    places.

    >>> x = fnp.arange(9).reshape(3, 3)
    >>> x[fnp.ix_([0, 2], [0, 1])]
    Array([[0, 1],
           [6, 7]], dtype=int64)
    """
    out = []
    for k, a in enumerate(args):
        v = as_value(np.asarray(a) if isinstance(a, (list, tuple)) else a, "ix_", "args")
        if v.ndim != 1:
            raise ShapeError(message(f"fnp.ix_: got {v.aval.str_short()}", "vectors", "x.ravel()"))
        v = nonzero(v)[0] if v.dtype == dt.bool_ else v
        out.append(reshape(v, tuple([v.size if i == k else 1 for i in range(len(args))])))
    return tuple(out)
