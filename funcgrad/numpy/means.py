"""Means and spreads: mean, average, var, std."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, describe, message
from funcgrad.numpy._axes import axes_of
from funcgrad.numpy._promote import (
    as_value,
    broadcast_value,
    cast,
    check_unsupported,
    common_inexact,
    inexact_dtype,
    operand,
    scalar_array,
    value_in,
)
from funcgrad.numpy.elementwise import maximum, subtract
from funcgrad.numpy.reductions import keep, mask_for, masked, sum
from funcgrad.ops import elementwise as ew
from funcgrad.ops import reduce as ops
from funcgrad.ops._family import like
from funcgrad.ops.shape import broadcast_in_dim
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "average", "mean", "std", "var",
]  # fmt: skip


def _extent(x: Value, axes: tuple[int, ...]) -> int:
    n = 1
    for i in axes:
        n *= x.aval.shape[i]
    return n


def _count(x: Value, axes: tuple[int, ...], where: Any, keepdims: Any, name: str, dtype: np.dtype) -> Any:
    """How many elements a mean is over, in `dtype`: a literal, or an array where there is a mask."""
    if where is None:
        return dtype.type(_extent(x, axes))
    counted = cast(mask_for(x, where, name), dt.int64)
    return cast(keep(ops.reduce_sum(counted, axes=axes), x, axes, keepdims) if axes else counted, dtype)


def _work_dtype(dtype: np.dtype) -> np.dtype:
    """16-bit floats are averaged in float32."""
    return dt.float32 if dtype in dt.FLOATS and dtype.itemsize < 4 else dtype


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None) -> Any:
    """The arithmetic mean along `axis`; NaN over no elements.

    Args: a: array. axis: integer, tuple or None. dtype: of the mean; without it floats keep theirs, bool and integers
    become the default float. keepdims: leave extents of 1. where: boolean mask of what counts. out: must be None.

    >>> fnp.mean(fnp.array([[1, 2], [3, 5]]))
    Array(2.75, dtype=float32)
    >>> fnp.mean(fnp.array([[1, 2], [3, 5]]), axis=0)
    Array([2. , 3.5], dtype=float32)
    """
    if out is not None:
        check_unsupported("mean", out=out)
    x = a if isinstance(a, Value) else as_value(a, "mean")
    axes = axes_of(axis, x.aval.ndim, "mean")
    result = inexact_dtype(x.aval.dtype) if dtype is None else dt.canonical(dtype)
    work = _work_dtype(inexact_dtype(result))
    x = cast(x, work)
    count = _count(x, axes, where, keepdims, "mean", work)
    if where is not None:
        x = masked(x, mask_for(x, where, "mean"), work.type(0))
    total = keep(ops.reduce_sum(x, axes=axes) if axes else x, x, axes, keepdims)
    return cast(ew.div(total, count), result)


def _correction(name: str, ddof: Any, correction: Any) -> Any:
    for given, arg in ((ddof, "ddof"), (correction, "correction")):
        if given.__class__ is not int and not (given is None and arg == "correction"):
            x = operand(given, name, arg)
            if getattr(x, "ndim", 0) or aval_of(x).dtype not in dt.BOOLS | dt.REALS:
                raise UsageError(message(f"fnp.{name}: got {describe(x)} for {arg}", "a real number", f"{arg}=1"))
    if correction is None:
        return ddof
    if not among(ddof, (0,)):
        raise UsageError(message(f"fnp.{name}: got ddof={ddof} and correction={correction}", "one of the two", "correction=1"))
    return correction


def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *, where: Any = None,
    mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """The variance along `axis`: the mean of |x - mean(x)|^2, with n - ddof in the place of n.

    Args: as in `mean`, and ddof (or `correction`): 1 for the unbiased estimate. mean: the mean where it is known (with extents
    of 1 along the axis). The result of complex input is real.
    keepdims: leave extents of 1. dtype: of the result; without it as in `mean`. out: must be None.

    >>> fnp.var(fnp.array([1.0, 2.0, 3.0, 4.0]))
    Array(1.25, dtype=float32)
    >>> fnp.var(fnp.array([1.0, 2.0, 3.0, 4.0]), ddof=1)
    Array(1.6666666, dtype=float32)
    """
    check_unsupported("var", out=out)
    ddof = _correction("var", ddof, correction)
    x = as_value(a, "var")
    axes = axes_of(axis, x.ndim, "var")
    result = inexact_dtype(x.dtype) if dtype is None else dt.canonical(dtype)
    if result not in dt.INEXACT or (x.dtype in dt.COMPLEXES and result not in dt.COMPLEXES):
        raise DtypeError(
            message(
                f"fnp.var: got dtype={dt.short_name(result)} for {x.aval.str_short()}",
                "a complex dtype for complex numbers, else a floating one",
                "leave dtype out, and convert the result",
            )
        )
    work = _work_dtype(inexact_dtype(dt.promote_dtypes(inexact_dtype(x.dtype), inexact_dtype(result))))
    x = cast(x, work)
    center = _mean(x, axes, keepdims=True, where=where) if mean is None else value_in(mean, work, "var", "mean")
    centered = subtract(x, center)
    if work in dt.COMPLEXES:
        real, imag = ew.real(centered), ew.imag(centered)
        squares = ew.add(ew.mul(real, real), ew.mul(imag, imag))
    else:
        squares = ew.mul(centered, centered)
    count = _count(x, axes, where, keepdims, "var", squares.dtype)
    if where is not None:
        squares = masked(squares, mask_for(x, where, "var"), squares.dtype.type(0))
    total = keep(ops.reduce_sum(squares, axes=axes) if axes else squares, x, axes, keepdims)
    left = maximum(subtract(count, ddof), 0) if isinstance(count, Value) else count.dtype.type(np.maximum(count - ddof, 0))
    out_dtype = result if result in dt.FLOATS else squares.dtype
    return cast(ew.div(*common_inexact(total, left)) if isinstance(left, Value) else ew.div(total, left), out_dtype)


_mean = mean


def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *, where: Any = None,
    mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """The standard deviation along `axis`: the square root of `var`, with its arguments. Its gradient at 0 is 0.

    >>> fnp.std(fnp.array([[1.0, 3.0], [2.0, 2.0]]), axis=1)
    Array([1., 0.], dtype=float32)
    """
    check_unsupported("std", out=out)
    return root(var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))


def root(total: Any, ord: Any = 2) -> Any:
    """`total ** (1 / ord)` of a total that norms take the root of; with gradient 0 where the result is 0."""
    nothing = ew.eq(total, like(total, 0 if ord > 0 else np.inf))
    # A root has no slope at 0; a choice there blocks it.
    some = ew.select_n(nothing, total, like(total, 1))
    some = ew.sqrt(some) if ord == 2 else ew.pow(some, like(total, 1 / ord))
    return ew.select_n(nothing, some, like(total, 0))


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    """The weighted mean along `axis`.

    Args: a: array. weights: of the shape of a, or one for each element along the axis. returned: also give the sum of weights.
    Raises: ShapeError where the weights fit neither way.
    keepdims: leave extents of 1.

    >>> fnp.average(fnp.array([1.0, 2.0, 4.0]), weights=fnp.array([2, 1, 1]))
    Array(2., dtype=float32)
    >>> fnp.average(fnp.array([[1.0, 2.0], [3.0, 5.0]]), axis=1, weights=fnp.array([1, 3]), returned=True)
    (Array([1.75, 4.5 ], dtype=float32), Array([4., 4.], dtype=float32))
    """
    x = as_value(a, "average")
    axes = axes_of(axis, x.ndim, "average")
    if weights is None:
        out = mean(x, axis, keepdims=keepdims)
        total = broadcast_value(scalar_array(out.dtype.type(_extent(x, axes))), out.shape)
        return (out, total) if returned else out
    w = as_value(weights, "average", "weights")
    if w.shape != x.shape:
        if w.shape != tuple([x.shape[i] for i in axes]):
            raise ShapeError(
                message(
                    f"fnp.average: got weights of shape {w.shape} for {x.aval.str_short()} and axis={axis}",
                    "the array's shape, or the axes' extents",
                    "weights[:, None]",
                )
            )
        w = broadcast_in_dim(w, shape=x.shape, dims=axes)
    x, w = common_inexact(x, w)
    total = sum(w, axes, keepdims=keepdims)
    out = ew.div(sum(ew.mul(x, w), axes, keepdims=keepdims), total)
    return (out, total) if flag(returned, "fnp.average", "returned") else out
