"""Order statistics: quantile, percentile, median, and the forms that leave out NaN."""

import math
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import axes_of, concrete, listed
from funcgrad.numpy._promote import as_value, broadcast_value, cast, check_unsupported, common_inexact, common_shape, operand
from funcgrad.numpy.compare import isnan, less, less_equal, logical_or
from funcgrad.numpy.cumulative import cumsum
from funcgrad.numpy.elementwise import divide
from funcgrad.numpy.reductions import keep, sum
from funcgrad.numpy.selection import take_along_axis
from funcgrad.numpy.structure import expand_dims, moveaxis, ravel, reshape
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full, like
from funcgrad.ops.shape import broadcast_in_dim
from funcgrad.ops.sort import sort
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile",
]  # fmt: skip


_BY_PLACE = ("lower", "higher", "midpoint", "nearest")
_STEPS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
_CONTINUOUS = {
    "linear": (1.0, 1.0), "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
_METHODS = (*_CONTINUOUS, *_STEPS, *_BY_PLACE)
# What these give is always one of the elements, so integers stay integers: as floats, large ones would be rounded.
_CHOOSING = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


def _lines(x: Value, axes: tuple[int, ...]) -> Any:
    """The reduced axes as one last axis."""
    kept = [i for i in range(x.ndim) if i not in axes]
    moved = moveaxis(x, tuple(axes), tuple(range(len(kept), x.ndim))) if axes else expand_dims(x, -1)
    return reshape(moved, (*[x.shape[i] for i in kept], math.prod([x.shape[i] for i in axes]))) if axes else moved


def _quantile(
    name: str, a: Any, q: Any, axis: Any, method: str, keepdims: Any, skip_nan: bool, weights: Any = None, percent: bool = False
) -> Any:
    if not among(method, _METHODS):
        raise UsageError(message(f"fnp.{name}: got method={method!r}", ", ".join(map(repr, _METHODS)), "method='linear'"))
    x = as_value(a, name)
    if method not in _CHOOSING or not x.size:
        (x,) = common_inexact(x)
    if x.dtype in dt.COMPLEXES:
        raise UsageError(message(f"fnp.{name}: got complex numbers", "real ones", "x.real"))
    p = _fractions(name, q, percent)
    axes = axes_of(axis, x.ndim, name)
    lines = _lines(x, axes)
    if lines.shape[-1] == 0:  # NaN, as NumPy says with a warning
        lines, weights = full((*lines.shape[:-1], 1), x.dtype.type(np.nan)), None
    n = lines.shape[-1]
    missing = isnan(lines)
    if weights is None:
        (ordered,) = sort(lines, dimension=lines.ndim - 1, is_stable=True, num_keys=1)
        count = (
            cast(sum(ew.not_(missing), -1, keepdims=True), dt.float64)
            if skip_nan
            else full((*lines.shape[:-1], 1), np.float64(n))
        )
        low, high, weight = _places(method, count, ravel(p))
    else:
        w = _weights(name, weights, x, axes, method)
        w = ew.select_n(missing, w, like(w, 0)) if skip_nan else w
        ordered, w = sort(lines, w, dimension=lines.ndim - 1, is_stable=True, num_keys=1)
        low, high, weight = _weighted_place(w, ravel(p)), None, None
    out = _pick(ordered, low)
    if high is not None:
        out = _between(out, _pick(ordered, high), weight)
    if x.dtype in dt.INEXACT:
        bad = broadcast_value(isnan(ordered[..., :1] if skip_nan else ordered[..., n - 1 :]), out.shape)
        out = ew.select_n(bad, out, like(out, np.nan))
    out = moveaxis(out, -1, 0)
    out = reshape(out, (*p.shape, *out.shape[1:]))
    return keep(out, x, tuple([p.ndim + i for i in axes]), keepdims)


def _fractions(name: str, q: Any, percent: bool) -> Any:
    """The fractions as float64: places in long lines must be exact."""
    p = operand(listed(q, name, "q"), name, "q")
    if aval_of(p).dtype in dt.COMPLEXES:
        raise UsageError(message(f"fnp.{name}: got complex q", "real numbers", "q.real"))
    p, most = as_value(cast(p, dt.float64), name, "q"), 100 if percent else 1
    known = concrete(p)
    if known is not None and not ((known >= 0) & (known <= most)).all():
        raise UsageError(message(f"fnp.{name}: got q={known}", f"numbers from 0 to {most}", "fnp.clip(q, 0, 1)"))
    return divide(p, np.float64(100)) if percent else p


def _places(method: str, n: Any, q: Any) -> tuple[Any, Any, Any]:
    """Of the quantile among n sorted numbers: the places before and after it, and the weight of the latter (None: only one).

    The methods are those of Hyndman and Fan, Sample quantiles in statistical packages (The American Statistician 50, 1996), by
    NumPy's names: definitions 1 to 3 are the steps, 4 to 9 the continuous ones.
    """
    n, q = common_shape("quantile", (n, expand_dims(q, tuple(range(n.ndim - 1)))))
    one = like(n, 1)
    last = ew.max(ew.sub(n, one), like(n, 0))

    def inside(place: Any) -> Any:
        return ew.max(ew.min(place, last), like(n, 0))

    if method in _STEPS:
        number = ew.mul(n, q)
        if method == "closest_observation":
            return inside(ew.sub(ew.round(number, rounding_method=1), one)), None, None
        up = ew.ceil(number)
        if method == "inverted_cdf":
            return inside(ew.sub(up, one)), None, None
        whole = ew.eq(up, number)
        return inside(ew.sub(up, one)), inside(ew.select_n(whole, ew.sub(up, one), up)), full(n.shape, np.float64(0.5))
    if method == "linear" or method in _BY_PLACE:
        place = ew.mul(last, q)
    else:
        alpha, beta = _CONTINUOUS[method]
        place = ew.sub(ew.add(ew.mul(n, q), ew.add(ew.mul(q, like(q, 1 - alpha - beta)), like(q, alpha))), one)
    place = inside(place)
    low, high = ew.floor(place), ew.ceil(place)
    if method == "nearest":
        return ew.round(place, rounding_method=1), None, None
    if method in ("lower", "higher"):
        return (low if method == "lower" else high), None, None
    return low, high, full(n.shape, np.float64(0.5)) if method == "midpoint" else ew.sub(place, low)


def _weights(name: str, weights: Any, x: Value, axes: tuple[int, ...], method: str) -> Any:
    """The weights as lines, float64."""
    if method != "inverted_cdf":
        raise UsageError(message(f"fnp.{name}: got weights with method={method!r}", "'inverted_cdf'", "method='inverted_cdf'"))
    w = cast(as_value(weights, name, "weights"), dt.float64)
    if w.shape != x.shape:
        if w.shape != tuple([x.shape[i] for i in axes]):
            raise ShapeError(
                message(
                    f"fnp.{name}: got weights of shape {w.shape} for {x.aval.str_short()} and axes {axes}",
                    "the array's shape, or the axes' extents",
                    "fnp.broadcast_to(weights, a.shape)",
                )
            )
        w = broadcast_in_dim(w, shape=x.shape, dims=axes)
    known = concrete(w)
    if known is not None and (known < 0).any():
        raise UsageError(message(f"fnp.{name}: got negative weights", "weights of 0 or more", "abs(weights)"))
    return _lines(w, axes)


def _weighted_place(w: Any, q: Any) -> Any:
    """The first place up to which the weights make up the fraction q; those of weight 0 at the start are passed over."""
    share = cumsum(w, -1)
    share = divide(share, share[..., -1:])
    steps = expand_dims(share, -1)
    passed = logical_or(less(steps, q), less_equal(steps, 0))
    place = cast(sum(passed, -2), dt.float64)
    return ew.min(place, like(place, w.shape[-1] - 1))


def _between(below: Any, above: Any, weight: Any) -> Any:
    weight = cast(weight, below.dtype)
    mixed = ew.add(ew.mul(below, ew.sub(like(weight, 1), weight)), ew.mul(above, weight))
    # Between equal neighbours (infinities too) nothing is to be mixed.
    return ew.select_n(ew.or_(ew.eq(below, above), ew.eq(weight, like(weight, 0))), mixed, below)


def _pick(ordered: Value, place: Any) -> Any:
    return take_along_axis(ordered, ew.convert(place, dt.int64), -1, mode="clip")


def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool =
    False, *, weights: Any = None,
) -> Any:  # fmt: skip
    """The value below which the fraction q of the elements along `axis` lies; NaN where one is NaN, or where there are none.

    Args: a: array. q: numbers in [0, 1], whose axes come first. axis: integer, tuple or None. method: where between two
    elements, by NumPy's names: "linear", "lower", "higher", "midpoint", "nearest"; "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased" (definitions 1
    to 6, 8 and 9 of Hyndman and Fan, 1996). keepdims: leave extents of 1. weights: of the shape of a, or of its axes, with
    "inverted_cdf" only. out: must be None. overwrite_input: must be False.
    Returns: a float array; of integers and booleans their own dtype with "lower", "higher", "nearest", "inverted_cdf" and
    "closest_observation", which choose an element (a float NaN where there are none). Raises: UsageError for q outside of [0, 1]
    and for negative weights.

    >>> x = fnp.array([3.0, 1.0, 2.0, 4.0])
    >>> fnp.quantile(x, fnp.array([0.25, 0.5]))
    Array([1.75, 2.5 ], dtype=float32)
    >>> fnp.quantile(x, 0.5, method="lower"), fnp.quantile(x, 0.4, method="weibull")
    (Array(2., dtype=float32), Array(2., dtype=float32))
    >>> fnp.quantile(x, 0.5, method="inverted_cdf", weights=fnp.array([5, 1, 1, 1]))
    Array(3., dtype=float32)
    >>> fnp.quantile(np.array([1, 2, 3, 4]), 0.5, method="higher")
    Array(3, dtype=int64)
    """
    check_unsupported("quantile", out=out, overwrite_input=overwrite_input)
    return _quantile("quantile", a, q, axis, method, keepdims, False, weights)


def nanquantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool =
    False, *, weights: Any = None,
) -> Any:  # fmt: skip
    """`quantile` of the elements that are not NaN, with its arguments; NaN where there is none.

    >>> fnp.nanquantile(fnp.array([3.0, fnp.nan, 1.0]), 0.5)
    Array(2., dtype=float32)
    """
    check_unsupported("nanquantile", out=out, overwrite_input=overwrite_input)
    return _quantile("nanquantile", a, q, axis, method, keepdims, True, weights)


def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool =
    False, *, weights: Any = None,
) -> Any:  # fmt: skip
    """`quantile` with q in percent, with its arguments.

    >>> fnp.percentile(fnp.array([[1, 2, 3, 4], [5, 6, 7, 8]]), 25, axis=1)
    Array([1.75, 5.75], dtype=float32)
    """
    check_unsupported("percentile", out=out, overwrite_input=overwrite_input)
    return _quantile("percentile", a, q, axis, method, keepdims, False, weights, percent=True)


def nanpercentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool =
    False, *, weights: Any = None,
) -> Any:  # fmt: skip
    """`nanquantile` with q in percent, with its arguments.

    >>> fnp.nanpercentile(fnp.array([3.0, fnp.nan, 1.0]), 75)
    Array(2.5, dtype=float32)
    """
    check_unsupported("nanpercentile", out=out, overwrite_input=overwrite_input)
    return _quantile("nanpercentile", a, q, axis, method, keepdims, True, weights, percent=True)


def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """The middle element along `axis`, or the mean of the two middle ones; NaN where there is one. A float.

    Args: a: array. axis: integer, tuple or None (all). keepdims: leave extents of 1. out: None. overwrite_input: False.

    >>> fnp.median(fnp.array([[1, 7, 3], [4, 6, 9]]), axis=1)
    Array([3., 6.], dtype=float32)
    >>> fnp.median(fnp.array([4, 1, 3, 2]))
    Array(2.5, dtype=float32)
    """
    check_unsupported("median", out=out, overwrite_input=overwrite_input)
    return _quantile("median", a, 0.5, axis, "midpoint", keepdims, False)


def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """`median` of the elements that are not NaN; NaN where there is none.

    Args: axis, keepdims, out, overwrite_input: as in `median`.

    >>> fnp.nanmedian(fnp.array([1.0, fnp.nan, 3.0, 4.0]))
    Array(3., dtype=float32)
    """
    check_unsupported("nanmedian", out=out, overwrite_input=overwrite_input)
    return _quantile("nanmedian", a, 0.5, axis, "midpoint", keepdims, True)
