"""Functions along an axis: softmax, log_softmax, logsumexp, logmeanexp, standardize, one_hot.

Masked elements (`where`), also rows that are masked altogether, come out as in the limit, never as NaN, and take no gradient.
"""

import math
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import DtypeError, UsageError, message
from funcgrad.nn.activations import inexact, real_float
from funcgrad.numpy._axes import axes_of, axis_of, extent
from funcgrad.numpy._promote import as_value, binary, broadcast_value, cast, common_inexact, common_shape, operand, value_in
from funcgrad.numpy.means import mean as _mean
from funcgrad.numpy.reductions import keep, masked
from funcgrad.numpy.reductions import mask_for as _mask_for
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full, like
from funcgrad.ops.reduce import reduce_max, reduce_sum
from funcgrad.ops.shape import broadcast_in_dim, expand_dims, iota, squeeze
from funcgrad.trace.value import Value

__all__ = ["log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax", "standardize"]


def _empty(x: Value, axes: tuple[int, ...]) -> bool:
    return 0 in [x.shape[i] for i in axes]


def _shift(x: Value, axes: tuple[int, ...]) -> Any:
    """What to subtract before exp: the largest element where that is finite, otherwise 0; a constant to derivatives. Keeps
    extents of 1."""
    largest = ew.stop_gradient(keep(reduce_max(x, axes=axes), x, axes, True))
    return ew.select_n(ew.is_finite(largest), like(largest, 0), largest)


def _over(x: Any, like_: Value) -> Any:
    """Extents of 1 repeated to the shape of `like_`."""
    return broadcast_value(x, like_.shape)


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along `axis` (an integer, a tuple or None for all).

    Args: x: real array. where: boolean mask of what takes part; the rest is 0, also where a row is masked altogether. A row of
    nothing but -inf is NaN.
    Returns: shape and dtype of x.

    >>> nn.softmax(np.array([1.0, 2.0, 3.0]))
    Array([0.09003057, 0.24472847, 0.66524096], dtype=float64)
    >>> nn.softmax(np.array([1.0, 2.0, 3.0]), where=np.array([True, True, False]))
    Array([0.26894142, 0.73105858, 0.        ], dtype=float64)
    """
    v = as_value(real_float(x, "softmax"), "nn.softmax", "x")
    axes = axes_of(axis, v.ndim, "nn.softmax")
    if _empty(v, axes) or not axes:
        return v if _empty(v, axes) else full(v.shape, like(v, 1))
    mask = None if where is None else _mask_for(v, where, "softmax")
    if mask is not None:
        v = masked(v, mask, like(v, -np.inf))
    powers = ew.exp(ew.sub(v, _over(_shift(v, axes), v)))
    total = keep(reduce_sum(powers, axes=axes), v, axes, True)
    if mask is None:
        return ew.div(powers, _over(total, v))
    total = ew.select_n(ew.eq(total, like(total, 0)), total, like(total, 1))
    return masked(ew.div(powers, _over(total, v)), mask, like(v, 0))


def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """log(softmax(x)) along `axis`, exact where softmax underflows; masked elements are -inf. Arguments as in `softmax`.

    >>> nn.log_softmax(np.array([0.0, 1.0, 1000.0]))
    Array([-1000.,  -999.,     0.], dtype=float64)
    """
    v = as_value(real_float(x, "log_softmax"), "nn.log_softmax", "x")
    axes = axes_of(axis, v.ndim, "nn.log_softmax")
    if _empty(v, axes) or not axes:
        return v if _empty(v, axes) else full(v.shape, like(v, 0))
    mask = None if where is None else _mask_for(v, where, "log_softmax")
    if mask is not None:
        v = masked(v, mask, like(v, -np.inf))
    shifted = ew.sub(v, _over(_shift(v, axes), v))
    total = keep(reduce_sum(ew.exp(shifted), axes=axes), v, axes, True)
    if mask is None:
        return ew.sub(shifted, _over(ew.log(total), v))
    total = ew.select_n(ew.eq(total, like(total, 0)), total, like(total, 1))
    return masked(ew.sub(shifted, _over(ew.log(total), v)), mask, like(v, -np.inf))


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False, where: Any = None
) -> Any:
    """log(sum(b * exp(a))) along `axis`, without overflow; -inf over nothing (or over -inf alone), where the gradient is 0.

    Args: a: real or complex array. b: weights that broadcast with a. where: boolean mask of what counts. return_sign: give the
    pair (log |sum|, sign) instead, also for negative sums, which are NaN otherwise.

    >>> nn.logsumexp(np.array([1000.0, 1000.0]))
    Array(1000.69314718, dtype=float64)
    >>> nn.logsumexp(np.array([0.0, 0.0]), b=np.array([1.0, -3.0]), return_sign=True)
    (Array(0.69314718, dtype=float64), Array(-1., dtype=float64))
    """
    v = inexact(a, "logsumexp")
    weights = None
    if b is not None:
        pair = common_inexact(v, operand(b, "nn.logsumexp", "b"))
        v, weights = common_shape("logsumexp", [as_value(w, "nn.logsumexp") for w in pair])
    v = as_value(v, "nn.logsumexp")
    axes = axes_of(axis, v.ndim, "nn.logsumexp")
    mask = None if where is None else _mask_for(v, where, "logsumexp")
    if weights is not None:
        # An element of weight 0 takes no part, whatever it is.
        counted = ew.ne(weights, like(weights, 0))
        mask = counted if mask is None else ew.and_(mask, counted)
    real = ew.real(v) if v.dtype in dt.COMPLEXES else v
    if mask is not None:
        real = masked(real, mask, like(real, -np.inf))
        v = masked(v, mask, like(v, -np.inf))
    if _empty(v, axes) or not axes:
        shift = (
            full(tuple([1 if i in axes else n for i, n in enumerate(v.shape)]), like(real, 0)) if axes else _scalar_shift(real)
        )
    else:
        shift = _shift(real, axes)
    powers = ew.exp(ew.sub(v, _over(cast(shift, v.dtype), v)))
    if weights is not None:
        powers = ew.mul(powers, weights)
    if mask is not None:
        powers = masked(powers, mask, like(powers, 0))
    total = keep(reduce_sum(powers, axes=axes), v, axes, True) if axes else powers
    sign = ew.sign(total)
    magnitude = ew.abs(total) if flag(return_sign, "nn.logsumexp", "return_sign") else total
    # log at 0 is -inf with a gradient of inf * 0; the choice keeps the gradient at 0.
    nothing = ew.eq(total, like(total, 0))
    out = ew.log(ew.select_n(nothing, magnitude, like(magnitude, 1)))
    out = ew.select_n(nothing, ew.add(out, cast(shift, out.dtype)), like(out, -np.inf))
    if weights is None and v.dtype not in dt.COMPLEXES and not _empty(v, axes):
        # Where an element is inf, the sum is that element, and takes its gradient.
        largest = keep(reduce_max(real, axes=axes), real, axes, True) if axes else real
        out = ew.select_n(ew.eq(largest, like(largest, np.inf)), out, largest)
    if not flag(keepdims, "nn.logsumexp", "keepdims") and axes:
        out, sign = [squeeze(y, dimensions=axes) for y in (out, sign)]
    return (out, sign) if return_sign else out


def _scalar_shift(real: Value) -> Any:
    fixed = ew.stop_gradient(real)
    return ew.select_n(ew.is_finite(fixed), like(fixed, 0), fixed)


def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """log(mean(exp(x))) along `axis`, without overflow. where: boolean mask of what counts.

    >>> nn.logmeanexp(np.array([1000.0, 1000.0]))
    Array(1000., dtype=float64)
    """
    v = as_value(inexact(x, "logmeanexp"), "nn.logmeanexp", "x")
    axes = axes_of(axis, v.ndim, "nn.logmeanexp")
    total = logsumexp(v, axes, keepdims=keepdims, where=where)
    real = total.dtype if total.dtype in dt.FLOATS else ew.real(total).dtype
    if where is None:
        count = math.prod([v.shape[i] for i in axes])
        return ew.sub(total, total.dtype.type(math.log(count) if count else -np.inf))
    counted = cast(_mask_for(v, where, "logmeanexp"), real)
    counted = keep(reduce_sum(counted, axes=axes), v, axes, keepdims) if axes else counted
    return ew.sub(total, cast(ew.log(counted), total.dtype))


def standardize(
    x: Any,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-05,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """(x - mean) / sqrt(variance + epsilon) along `axis`.

    Args: mean, variance: where they are known (with extents of 1 along the axis, or without it). where: boolean mask of
    what counts in them. algorithm: "fast" (mean of squares minus squared mean, one pass over x) or "stable" (mean of
    squared differences).
    Returns: shape and dtype of x.

    >>> nn.standardize(np.array([1.0, 2.0, 3.0]), epsilon=0.0)
    Array([-1.22474487,  0.        ,  1.22474487], dtype=float64)
    >>> nn.standardize(np.array([1.0, 2.0, 3.0]), mean=2.0, variance=4.0, epsilon=0.0)
    Array([-0.5,  0. ,  0.5], dtype=float64)
    """
    if not among(algorithm, ("fast", "stable")):
        raise UsageError(message(f"nn.standardize: got algorithm={algorithm!r}", "'fast' or 'stable'", "algorithm='stable'"))
    v = as_value(inexact(x, "standardize"), "nn.standardize", "x")
    axes = axes_of(axis, v.ndim, "nn.standardize")
    center = _mean(v, axes, keepdims=True, where=where) if mean is None else _statistic(mean, "mean", v, axes)
    if variance is None:
        if algorithm == "fast":
            squares = ew.real(ew.mul(v, ew.conj(v))) if v.dtype in dt.COMPLEXES else ew.square(v)
            of_center = ew.real(ew.mul(center, ew.conj(center))) if v.dtype in dt.COMPLEXES else ew.square(center)
            spread = ew.sub(_mean(squares, axes, keepdims=True, where=where), of_center)
            # Rounding may leave less than nothing.
            spread = ew.max(spread, like(spread, 0))
        else:
            off = ew.sub(v, _over(center, v))
            squares = ew.real(ew.mul(off, ew.conj(off))) if v.dtype in dt.COMPLEXES else ew.square(off)
            spread = _mean(squares, axes, keepdims=True, where=where)
    else:
        spread = _statistic(variance, "variance", v, axes)
    scale = ew.rsqrt(binary(ew.add, spread, epsilon, "standardize"))
    return ew.mul(ew.sub(v, _over(center, v)), _over(cast(scale, v.dtype), v))


def _statistic(s: Any, arg: str, v: Value, axes: tuple[int, ...]) -> Any:
    """A given mean or variance with extents of 1 along the axes."""
    out = value_in(s, v.dtype, "nn.standardize", arg)
    if out.ndim == v.ndim - len(axes) and out.ndim != v.ndim:
        out = expand_dims(out, dimensions=axes)
    return out


def one_hot(x: Any, num_classes: Any, *, dtype: Any = None, axis: Any = -1) -> Any:
    """Rows that are 1 at the place x names and 0 elsewhere; a row of zeros for numbers outside 0 to num_classes - 1.

    Args: x: integer array. num_classes: a Python integer. dtype: float32 without one. axis: where the new axis goes.
    Returns: the shape of x with the new axis of extent num_classes.

    >>> nn.one_hot(fnp.array([0, 2]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    v = as_value(x, "nn.one_hot", "x")
    n = extent(num_classes, "nn.one_hot", "num_classes")
    if v.dtype not in dt.INTEGERS | dt.BOOLS | dt.FLOATS:
        raise DtypeError(message(f"nn.one_hot: got {v.aval.str_short()}", "integers", "x.astype(int)"))
    i = axis_of(axis, v.ndim + 1, "nn.one_hot")
    v = cast(v, dt.int64) if v.dtype == dt.bool_ else v
    shape = (*v.shape[:i], n, *v.shape[i:])
    target = dt.default_float() if dtype is None else dt.canonical(dtype)
    places = iota(dtype=v.dtype, shape=shape, dimension=i) if n <= _largest(v.dtype) + 1 else None
    if places is None:  # more classes than the dtype can name
        v = cast(v, dt.int64)
        places = iota(dtype=dt.int64, shape=shape, dimension=i)
    wide = broadcast_in_dim(v, shape=shape, dims=tuple([k for k in range(len(shape)) if k != i]))
    return cast(ew.eq(wide, places), target)


def _largest(d: np.dtype) -> int:
    return int(np.iinfo(d).max) if d in dt.INTEGERS else 2**11
