"""Order statistics and correlations: median, quantile, percentile, cov, corrcoef; and the forms that leave out NaN."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import ShapeError, message
from funcgrad.numpy._axes import axes_of, fitting, static_int
from funcgrad.numpy._promote import as_value, broadcast_value, cast, check_unsupported, common_inexact, value_in
from funcgrad.numpy.compare import isnan
from funcgrad.numpy.contract import matmul
from funcgrad.numpy.cumulative import cumprod, cumsum
from funcgrad.numpy.diagonals import diagonal
from funcgrad.numpy.elementwise import conj, divide, maximum, multiply, sqrt, subtract
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.means import average, mean, root
from funcgrad.numpy.reductions import argmax, argmin, max, min, prod, sum
from funcgrad.numpy.selection import where
from funcgrad.numpy.structure import atleast_2d, expand_dims, matrix_transpose
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like

__all__ = [
    "corrcoef", "cov", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod",
    "nanstd", "nansum", "nanvar",
]  # fmt: skip


# --- without NaN ------------------------------------------------------------------------------------------------------------


def _present(a: Any, name: str, where_: Any = None) -> tuple[Any, Any]:
    """The array, and where its elements are numbers (and count)."""
    x = as_value(a, name)
    mask = ew.not_(isnan(x))
    if where_ is not None:
        mask = ew.and_(mask, broadcast_value(as_value(where_, name, "where"), x.shape))
    return x, mask


def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None
) -> Any:
    """`sum` of the elements that are not NaN, with its arguments; 0 where there is none.

    >>> fnp.nansum(fnp.array([[1.0, fnp.nan], [fnp.nan, fnp.nan]]), axis=1)
    Array([1., 0.], dtype=float32)
    """
    x, mask = _present(a, "nansum", where)
    return sum(x, axis, dtype, out, keepdims, initial, mask)


def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None
) -> Any:
    """`prod` of the elements that are not NaN, with its arguments; 1 where there is none.

    >>> fnp.nanprod(fnp.array([2.0, fnp.nan, 3.0]))
    Array(6., dtype=float32)
    """
    x, mask = _present(a, "nanprod", where)
    return prod(x, axis, dtype, out, keepdims, initial, mask)


def _worst(x: Any, bound: float) -> Any:
    return dt.bounds(x.dtype)[bound > 0]


def _nan_extremum(
    name: str, f: Callable[..., Any], worst: float, a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where_: Any
) -> Any:
    x, mask = _present(a, name, where_)
    if x.dtype not in dt.INEXACT:
        return f(x, axis, out, keepdims, initial, where_)
    check_unsupported(name, out=out)
    axes = axes_of(axis, x.ndim, name)
    found = f(ew.select_n(mask, _worst(x, worst), x), axes, keepdims=keepdims, initial=initial)
    if initial is not None:
        return found
    none = ew.eq(sum(mask, axes, keepdims=keepdims), np.int64(0))
    return ew.select_n(none, found, like(found, np.nan))


def nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None) -> Any:
    """`max` of the elements that are not NaN, with its arguments; NaN where there is none.

    >>> fnp.nanmax(fnp.array([[1.0, fnp.nan], [fnp.nan, fnp.nan]]), axis=1)
    Array([ 1., nan], dtype=float32)
    """
    return _nan_extremum("nanmax", max, -np.inf, a, axis, out, keepdims, initial, where)


def nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None) -> Any:
    """`min` of the elements that are not NaN, with its arguments; NaN where there is none.

    >>> fnp.nanmin(fnp.array([[1.0, fnp.nan], [fnp.nan, fnp.nan]]), axis=1)
    Array([ 1., nan], dtype=float32)
    """
    return _nan_extremum("nanmin", min, np.inf, a, axis, out, keepdims, initial, where)


def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, where: Any = None) -> Any:
    """`mean` of the elements that are not NaN, with its arguments; NaN where there is none.

    >>> fnp.nanmean(fnp.array([1.0, fnp.nan, 4.0]))
    Array(2.5, dtype=float32)
    """
    x, mask = _present(a, "nanmean", where)
    return mean(x, axis, dtype, out, keepdims, where=mask)


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """`var` of the elements that are not NaN, with its arguments; NaN where there are not more than ddof.

    >>> fnp.nanvar(fnp.array([1.0, fnp.nan, 4.0]))
    Array(2.25, dtype=float32)
    """
    check_unsupported("nanvar", out=out)
    x, mask = _present(a, "nanvar", where)
    (x,) = common_inexact(x if dtype is None else cast(x, dt.canonical(dtype)))
    axes = axes_of(axis, x.ndim, "nanvar")
    center = nanmean(x, axes, keepdims=True, where=where) if mean is None else mean
    off = subtract(ew.select_n(mask, like(x, 0), x), center)
    squares = ew.real(multiply(off, conj(off))) if x.dtype in dt.COMPLEXES else multiply(off, off)
    count = cast(sum(mask, axes, keepdims=keepdims), squares.dtype)
    left = subtract(count, ddof)
    out_ = divide(sum(squares, axes, keepdims=keepdims, where=mask), maximum(left, 1))
    return ew.select_n(ew.le(left, like(left, 0)), out_, like(out_, np.nan))


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """The square root of `nanvar`, with its arguments.

    >>> fnp.nanstd(fnp.array([1.0, fnp.nan, 4.0]))
    Array(1.5, dtype=float32)
    """
    check_unsupported("nanstd", out=out)
    return root(nanvar(a, axis, dtype, None, ddof, keepdims, where, mean))


def _nan_arg(name: str, f: Callable[..., Any], worst: float, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    x, mask = _present(a, name)
    if x.dtype not in dt.INEXACT:
        return f(x, axis, out, keepdims)
    found = f(ew.select_n(mask, _worst(x, worst), x), axis, out, keepdims)
    # A line of nothing but NaN has no such place: -1, as an error would depend on the numbers.
    none = ew.eq(sum(mask, axis, keepdims=bool(keepdims)), np.int64(0))
    return ew.select_n(none, found, np.int64(-1))


def nanargmax(a: Any, axis: Any = None, out: Any = None, keepdims: Any = None) -> Any:
    """`argmax` of the elements that are not NaN; -1 where there is none.

    Args: axis: an integer, or None for the flattened array. keepdims: leave an extent of 1. out: must be None.

    >>> fnp.nanargmax(fnp.array([[1.0, fnp.nan, 4.0], [fnp.nan, fnp.nan, fnp.nan]]), axis=1)
    Array([ 2, -1], dtype=int64)
    """
    return _nan_arg("nanargmax", argmax, -np.inf, a, axis, out, keepdims)


def nanargmin(a: Any, axis: Any = None, out: Any = None, keepdims: Any = None) -> Any:
    """`argmin` of the elements that are not NaN; -1 where there is none.

    Args: axis: an integer, or None for the flattened array. keepdims: leave an extent of 1. out: must be None.

    >>> fnp.nanargmin(fnp.array([fnp.nan, 4.0, 2.0]))
    Array(2, dtype=int64)
    """
    return _nan_arg("nanargmin", argmin, np.inf, a, axis, out, keepdims)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """`cumsum` with NaN as 0.

    Args: axis, dtype, out: as in `cumsum`.

    >>> fnp.nancumsum(fnp.array([1.0, fnp.nan, 4.0]))
    Array([1., 1., 5.], dtype=float32)
    """
    x, mask = _present(a, "nancumsum")
    return cumsum(where(mask, x, 0), axis, dtype, out)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """`cumprod` with NaN as 1.

    Args: axis, dtype, out: as in `cumprod`.

    >>> fnp.nancumprod(fnp.array([2.0, fnp.nan, 4.0]))
    Array([2., 2., 8.], dtype=float32)
    """
    x, mask = _present(a, "nancumprod")
    return cumprod(where(mask, x, 1), axis, dtype, out)


# --- correlations -----------------------------------------------------------------------------------------------------------


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None, aweights: Any = None,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """The covariance matrix of variables (rows; with rowvar=False columns) over observations.

    Args: m, y: matrices or vectors; y adds variables. bias, ddof: divide by n - ddof (default 1; bias=True: 0). fweights: how
    often each observation counts. aweights: how much. dtype: of the result. Of one variable it is a scalar.

    >>> fnp.cov(fnp.array([[0.0, 1.0, 2.0], [2.0, 1.0, 3.0]]))
    Array([[1. , 0.5],
           [0.5, 1. ]], dtype=float32)
    >>> fnp.cov(fnp.array([1.0, 2.0, 3.0]), bias=True)
    Array(0.6666667, dtype=float32)
    """
    x = as_value(m, "cov", "m")
    parts = [x] if y is None else [x, as_value(y, "cov", "y")]
    parts = [cast(v, dt.canonical(dtype)) for v in parts] if dtype is not None else list(common_inexact(*parts))
    if any([v.ndim > 2 for v in parts]):
        raise ShapeError(
            message(
                f"fnp.cov: got {[v.aval.str_short() for v in parts]}", "vectors or matrices", "x.reshape(variables, observations)"
            )
        )
    by_rows = flag(rowvar, "fnp.cov", "rowvar")
    rows = [matrix_transpose(v) if not by_rows and v.ndim == 2 and v.shape[0] != 1 else atleast_2d(v) for v in parts]
    x = concatenate(rows, 0)
    shift = (0 if flag(bias, "fnp.cov", "bias") else 1) if ddof is None else static_int(ddof, "cov", "ddof")
    fitting(shift, "cov", "ddof")
    weights: Any = None
    for w, arg in ((fweights, "fweights"), (aweights, "aweights")):
        if w is not None:
            v = value_in(w, x.dtype, "cov", arg)
            if v.shape != (x.shape[1],):
                raise ShapeError(
                    message(
                        f"fnp.cov: got {arg} of shape {v.shape}", f"one weight an observation ({x.shape[1]})", f"{arg}.ravel()"
                    )
                )
            weights = v if weights is None else multiply(weights, v)
    if weights is None:
        center, left = mean(x, 1, keepdims=True), np.maximum(x.shape[1] - shift, 0)
        weighted = subtract(x, center)
        factor: Any = x.dtype.type(left) if x.dtype in dt.INEXACT else left
    else:
        center, total = average(x, 1, broadcast_value(weights, x.shape), returned=True, keepdims=True)
        total = total[0, 0]
        if shift == 0:
            factor = total
        elif aweights is None:
            factor = subtract(total, shift)
        else:
            spread = sum(multiply(weights, value_in(aweights, x.dtype, "cov")))
            factor = subtract(total, divide(multiply(spread, shift), total))
        weighted = multiply(subtract(x, center), weights)
    out = divide(matmul(weighted, conj(matrix_transpose(subtract(x, center)))), factor)
    return out[0, 0] if out.shape == (1, 1) else out


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """The correlation matrix: `cov` with every variable divided by its standard deviation, cut to [-1, 1].

    Args: x, y, rowvar, dtype: as m, y, rowvar, dtype in `cov`. A variable that does not vary gives NaN.

    >>> fnp.corrcoef(np.array([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float64)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return divide(c, c)
    size = sqrt(ew.real(diagonal(c)) if c.dtype in dt.COMPLEXES else diagonal(c))
    c = divide(divide(c, expand_dims(size, 1)), expand_dims(size, 0))
    if c.dtype in dt.COMPLEXES:
        return ew.complex(*[ew.max(ew.min(p, like(p, 1)), like(p, -1)) for p in (ew.real(c), ew.imag(c))])
    return ew.max(ew.min(c, like(c, 1)), like(c, -1))
