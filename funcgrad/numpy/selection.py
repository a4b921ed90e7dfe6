"""Choosing elements by number: where, select, take, take_along_axis, put_along_axis, nonzero, compress, delete, insert ..."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import ShapeError, UsageError, describe, message
from funcgrad.numpy._axes import MANY, axis_of, listed
from funcgrad.numpy._promote import (
    as_value,
    broadcast_shapes_of,
    broadcast_value,
    cast,
    check_unsupported,
    common_dtype,
    common_shape,
    operand,
    values_of,
)
from funcgrad.numpy.compare import truth
from funcgrad.numpy.index import mode_of, read_lines, read_with
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.nonzeros import nonzero
from funcgrad.numpy.reductions import as_bool
from funcgrad.numpy.structure import broadcast_arrays, ravel, reshape
from funcgrad.ops import elementwise as ew
from funcgrad.trace.value import Value

__all__ = [
    "choose", "compress", "extract", "ix_", "piecewise", "select", "take", "take_along_axis", "where",
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
    if not isinstance(condlist, (Sequence, Value, np.ndarray)) or not isinstance(choicelist, (Sequence, Value, np.ndarray)):
        raise TypeError(
            message("fnp.select: got no sequences", "a list of conditions, and one of choices", "fnp.select([x > 0], [x], 0)")
        )
    condlist, choicelist = list(condlist), list(choicelist)  # type: ignore[arg-type]  (values iterate along their first axis)
    if len(condlist) != len(choicelist) or not condlist:
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
    for arg, given in (("condlist", condlist), ("funclist", funclist)):
        if not isinstance(given, MANY):
            raise UsageError(message(f"fnp.piecewise: got {describe(given)} for {arg}", "a list", f"{arg}=[...]"))
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
    if getattr(places, "dtype", None) == dt.bool_ or isinstance(places, bool):  # numbers here, not a mask
        places = cast(places, dt.int64) if not isinstance(places, np.ndarray) else places.astype(np.int64)
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
    happens out of range, see `x.at[i].get`. wrap_negative_indices=False: negative numbers are out of range.
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
    if (
        wrap_negative_indices is not None
        and not flag(wrap_negative_indices, "fnp.take_along_axis", "wrap_negative_indices")
        and places.dtype in dt.SIGNED
    ):
        places = ew.convert(places, dt.uint64)  # negative numbers become too large
    return read_lines(x, places, i, mode_of(mode, "fnp.take_along_axis"), fill_value)


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """For each element the choice whose number is in `a`; all broadcast. mode: "raise", "wrap" or "clip" for other numbers.

    Args: a: integers. choices: a sequence of arrays and scalars, brought to one dtype. out: must be None.

    >>> fnp.choose(fnp.array([1, 0, 1]), [fnp.array([1, 2, 3]), fnp.array([10, 20, 30])])
    Array([10,  2, 30], dtype=int64)
    """
    check_unsupported("choose", out=out)
    if not among(mode, ("raise", "wrap", "clip")):
        raise UsageError(message(f"fnp.choose: got mode={mode!r}", "'raise', 'wrap' or 'clip'", "mode='clip'"))
    number = as_value(a, "choose")
    if not isinstance(choices, MANY) or len(choices) == 0:
        raise UsageError(message(f"fnp.choose: got {describe(choices)} for choices", "a list of arrays", "choices=[x, y]"))
    options = values_of("choose", **{f"choices[{i}]": c for i, c in enumerate(choices)})
    number, *options = broadcast_arrays(number, *options)
    table = concatenate([reshape(o, (1, *o.shape)) for o in options], 0)
    return take_along_axis(table, reshape(number, (1, *number.shape)), 0, mode=mode)[0]


# --- index arithmetic -----------------------------------------------------------------------------------------------------


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
        v = as_value(listed(a, "ix_", "args"), "ix_", "args")
        if v.ndim != 1:
            raise ShapeError(message(f"fnp.ix_: got {v.aval.str_short()}", "vectors", "x.ravel()"))
        v = nonzero(v)[0] if v.dtype == dt.bool_ else v
        out.append(reshape(v, tuple([v.size if i == k else 1 for i in range(len(args))])))
    return tuple(out)


def compress(condition: Any, a: Any, axis: Any = None, *, size: Any = None, fill_value: Any = 0, out: Any = None) -> Any:
    """The slices along `axis` (None: the elements) where the vector `condition` is True; size as in `nonzero`, filled with
    fill_value.
    out: must be None. Raises: ShapeError for a condition that is no vector.

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
