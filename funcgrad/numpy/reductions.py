"""Reductions: sum, prod, max, min, any, all, argmax, argmin, mean, var, std, and what is made of them.

Axes may be an integer, a tuple or None (all); `keepdims` leaves extents of 1; `where` masks elements, which then neither count
nor take a gradient; `initial` is folded in at the end.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import axes_of, axis_of
from funcgrad.numpy._complex_order import extremum, position
from funcgrad.numpy._promote import (
    as_value,
    broadcast_value,
    cast,
    check_unsupported,
    operand,
    scalar_array,
)
from funcgrad.numpy.elementwise import add, maximum, minimum, multiply, subtract
from funcgrad.ops import elementwise as ew
from funcgrad.ops import reduce as ops
from funcgrad.ops.shape import expand_dims, reshape
from funcgrad.trace.value import Value

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "min", "prod", "ptp", "sum",
]  # fmt: skip


def as_bool(x: Any) -> Any:
    """Where `x` is not zero, as booleans (NaN counts as True)."""
    return x if x.aval.dtype == dt.bool_ else ew.ne(x, x.aval.dtype.type(0))


def mask_for(x: Value, where: Any, name: str) -> Any:
    """The argument `where` as booleans of the shape of `x`."""
    mask = as_bool(as_value(where, name, "where"))
    try:
        fits = np.broadcast_shapes(mask.shape, x.shape) == x.shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            message(
                f"fnp.{name}: got where of shape {mask.shape} for an array of shape {x.shape}",
                "a mask that repeats into that shape",
                "where[:, None]",
            )
        )
    return broadcast_value(mask, x.shape)


def keep(out: Any, x: Value, axes: tuple[int, ...], keepdims: Any) -> Any:
    """The outcome of a reduction with extents of 1 put back where `keepdims` asks for it."""
    if keepdims is False or not flag(keepdims, "", "keepdims") or not axes:
        return out
    return expand_dims(out, dimensions=axes)


def _extreme(dtype: np.dtype, largest: bool) -> Any:
    return dt.bounds(dtype)[largest]


def _sum_dtype(x: Value, dtype: Any, promote_integers: bool) -> np.dtype:
    if dtype is not None:
        return dt.canonical(dtype)
    own = x.aval.dtype
    if own in dt.INEXACT or not (flag(promote_integers, "fnp.sum", "promote_integers") or own == dt.bool_):
        return own
    dt.category(own)  # keys, and numbers of less than a byte, raise
    return dt.uint64 if own in dt.UNSIGNED else dt.int64


def masked(x: Any, mask: Any, fill: Any) -> Any:
    """x where the mask holds, otherwise the literal `fill`; the blocked places take no gradient."""
    return ew.select_n(mask, fill, x)


def _accumulate(
    name: str, op: Callable[..., Any], fold: Callable[..., Any], identity: int, a: Any, axis: Any, dtype: Any, out: Any,
    keepdims: Any, initial: Any, where: Any, promote_integers: bool,
) -> Any:  # fmt: skip
    if out is not None:
        check_unsupported(name, out=out)
    x = a if isinstance(a, Value) else as_value(a, name)
    axes = axes_of(axis, x.aval.ndim, name)
    x = cast(x, _sum_dtype(x, dtype, promote_integers))
    if where is not None:
        x = masked(x, mask_for(x, where, name), x.aval.dtype.type(identity))
    result = keep(op(x, axes=axes) if axes else x, x, axes, keepdims)
    return result if initial is None else fold(result, _initial(initial, name, x))


def _initial(initial: Any, name: str, x: Value) -> Any:
    value = operand(initial, name, "initial")
    if getattr(value, "ndim", 0):
        raise ShapeError(message(f"fnp.{name}: got initial of shape {value.shape}", "a scalar", "fold an array in yourself"))
    return cast(value, x.aval.dtype)


def sum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None,
    promote_integers: bool = True,
) -> Any:  # fmt: skip
    """The sum of the elements along `axis`.

    Args: a: array. axis: integer, tuple or None (all). dtype: of the sum; without it floats keep theirs, bool and integers
    become (u)int64 (`promote_integers=False`: keep theirs). keepdims: leave extents of 1. initial: scalar added to the sum.
    where: boolean mask of what counts. out: must be None.
    16-bit floats are accumulated in float32.

    >>> x = fnp.array([[1, 2, 3], [4, 5, 6]])
    >>> fnp.sum(x), fnp.sum(x, axis=0)
    (Array(21, dtype=int64), Array([5, 7, 9], dtype=int64))
    >>> fnp.sum(x, axis=1, keepdims=True, where=x > 1, initial=100)
    Array([[105],
           [115]], dtype=int64)
    """
    return _accumulate("sum", ops.reduce_sum, add, 0, a, axis, dtype, out, keepdims, initial, where, promote_integers)


def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None,
    promote_integers: bool = True,
) -> Any:  # fmt: skip
    """The product of the elements along `axis`. Arguments and dtypes as in `sum`; the gradient is exact with zeros in it.

    >>> fnp.prod(fnp.array([[1, 2, 3], [4, 5, 6]]), axis=1)
    Array([  6, 120], dtype=int64)
    >>> fg.grad(fnp.prod)(fnp.array([2.0, 0.0, 3.0]))
    Array([0., 6., 0.], dtype=float32)
    """
    return _accumulate("prod", ops.reduce_prod, multiply, 1, a, axis, dtype, out, keepdims, initial, where, promote_integers)


def _extremum(
    name: str,
    op: Callable[..., Any],
    fold: Callable[..., Any],
    a: Any,
    axis: Any,
    out: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
) -> Any:
    if out is not None:
        check_unsupported(name, out=out)
    x = a if isinstance(a, Value) else as_value(a, name)
    axes = axes_of(axis, x.aval.ndim, name)
    largest = name == "min"
    if where is not None:
        if initial is None:
            raise UsageError(
                message(
                    f"fnp.{name}: got where without initial",
                    "both: an empty selection has no extremum",
                    f"fnp.{name}(a, where=m, initial=0)",
                )
            )
        x = masked(x, mask_for(x, where, name), _extreme(x.aval.dtype, largest))
    if not axes:
        result = x
    elif any_extent_zero(x, axes):
        if initial is None:
            raise UsageError(
                message(
                    f"fnp.{name}: got {x.aval.str_short()}, empty along axis {axes}",
                    "at least one element along the axis",
                    f"fnp.{name}(a, initial=0)",
                )
            )
        kept = tuple([n for i, n in enumerate(x.aval.shape) if i not in axes])
        fill = broadcast_value(scalar_array(_extreme(x.aval.dtype, largest)), kept)
        result = keep(fill, x, axes, keepdims)
    else:
        reduced = extremum(op) if x.aval.dtype in dt.COMPLEXES else op
        result = keep(reduced(x, axes=axes), x, axes, keepdims)
    return result if initial is None else fold(result, _initial(initial, name, x))


def any_extent_zero(x: Value, axes: tuple[int, ...]) -> bool:
    """Whether a reduction of `x` along these axes has nothing to fold."""
    return 0 in [x.aval.shape[i] for i in axes]


def max(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None) -> Any:
    """The largest element along `axis`; NaN where there is one. Complex numbers are ordered by real, then imaginary parts.

    Args: a: array. axis: integer, tuple or None. keepdims: leave extents of 1. initial: a scalar that takes part (needed with
    `where` and for empty axes). where: boolean mask. out: must be None.
    The gradient is shared equally between equal largest elements.

    >>> fnp.max(fnp.array([[1, 5], [3, 2]]), axis=1)
    Array([5, 3], dtype=int64)
    >>> fg.grad(fnp.max)(fnp.array([1.0, 4.0, 4.0]))
    Array([0. , 0.5, 0.5], dtype=float32)
    """
    return _extremum("max", ops.reduce_max, maximum, a, axis, out, keepdims, initial, where)


def min(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None) -> Any:
    """The smallest element along `axis`; arguments as in `max`.

    >>> fnp.min(fnp.array([[1, 5], [3, 2]]), axis=0)
    Array([1, 2], dtype=int64)
    >>> fnp.min(fnp.array([3.0, 1.0]), where=fnp.array([True, False]), initial=9.0)
    Array(3., dtype=float32)
    """
    return _extremum("min", ops.reduce_min, minimum, a, axis, out, keepdims, initial, where)


def amax(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None) -> Any:
    """Another name of `max`.

    >>> fnp.amax(fnp.array([[1, 5], [3, 2]]))
    Array(5, dtype=int64)
    """
    return max(a, axis, out, keepdims, initial, where)


def amin(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None) -> Any:
    """Another name of `min`.

    >>> fnp.amin(fnp.array([[1, 5], [3, 2]]))
    Array(1, dtype=int64)
    """
    return min(a, axis, out, keepdims, initial, where)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """Largest minus smallest element along `axis` (None: of all). keepdims: leave extents of 1. out: must be None.

    >>> fnp.ptp(fnp.array([[1, 5], [3, 2]]), axis=1)
    Array([4, 1], dtype=int64)
    """
    check_unsupported("ptp", out=out)
    x = as_value(a, "ptp")
    return subtract(max(x, axis, keepdims=keepdims), min(x, axis, keepdims=keepdims))


def _logical(name: str, op: Callable[..., Any], identity: bool, a: Any, axis: Any, out: Any, keepdims: Any, where: Any) -> Any:
    check_unsupported(name, out=out)
    x = as_bool(as_value(a, name))
    axes = axes_of(axis, x.ndim, name)
    if where is not None:
        x = masked(x, mask_for(x, where, name), np.bool_(identity))
    return keep(op(x, axes=axes) if axes else x, x, axes, keepdims)


def any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None) -> Any:
    """Whether some element along `axis` is not zero; False for none. dtype bool.

    Args: a: array. axis: integer, tuple or None (all). keepdims: leave extents of 1. where: boolean mask of what counts. out:
    must be None.

    >>> fnp.any(fnp.array([[0, 0], [0, 2]]), axis=1)
    Array([False,  True], dtype=bool)
    """
    return _logical("any", ops.reduce_or, False, a, axis, out, keepdims, where)


def all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None) -> Any:
    """Whether all elements along `axis` are not zero; True for none. dtype bool. Arguments as in `any`.

    >>> fnp.all(fnp.array([[1, 1], [0, 2]]), axis=1)
    Array([ True, False], dtype=bool)
    """
    return _logical("all", ops.reduce_and, True, a, axis, out, keepdims, where)


def count_nonzero(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """How many elements along `axis` (None: of all) are not zero, int64. keepdims: leave extents of 1.

    >>> fnp.count_nonzero(fnp.array([[1, 0, 3], [0, 0, 6]]), axis=1)
    Array([2, 1], dtype=int64)
    """
    return sum(as_bool(as_value(a, "count_nonzero")), axis, keepdims=keepdims)


def _arg(name: str, op: Callable[..., Any], a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    check_unsupported(name, out=out)
    x = as_value(a, name)
    original = x
    if axis is None:
        x, i = reshape(x, shape=(x.size,)), 0
    else:
        i = axis_of(axis, x.ndim, name)
    if x.shape[i] == 0:
        raise UsageError(
            message(
                f"fnp.{name}: got {original.aval.str_short()}, empty along the axis",
                "at least one element",
                "check x.shape first",
            )
        )
    found = (position(op) if x.dtype in dt.COMPLEXES else op)(x, axes=(i,), index_dtype=dt.int64)
    if flag(keepdims, f"fnp.{name}", "keepdims") and axis is None:
        return reshape(found, shape=(1,) * original.ndim)
    return keep(found, x, (i,), keepdims)


def argmax(a: Any, axis: Any = None, out: Any = None, keepdims: Any = None) -> Any:
    """The index of the first largest element along `axis` (None: in the flattened array), int64. NaN counts as largest.

    keepdims: leave an extent of 1. out: must be None. Raises: UsageError for an empty axis.

    >>> x = fnp.array([[1, 5, 3], [9, 2, 9]])
    >>> fnp.argmax(x), fnp.argmax(x, axis=1)
    (Array(3, dtype=int64), Array([1, 0], dtype=int64))
    """
    return _arg("argmax", ops.argmax, a, axis, out, keepdims)


def argmin(a: Any, axis: Any = None, out: Any = None, keepdims: Any = None) -> Any:
    """The index of the first smallest element along `axis` (None: in the flattened array), int64. NaN counts as smallest.

    keepdims: leave an extent of 1. out: must be None. Raises: UsageError for an empty axis.

    >>> fnp.argmin(fnp.array([[4, 5, 3], [9, 2, 9]]), axis=1)
    Array([2, 1], dtype=int64)
    """
    return _arg("argmin", ops.argmin, a, axis, out, keepdims)
