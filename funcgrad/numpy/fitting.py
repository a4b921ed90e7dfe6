"""Polynomials as coefficient vectors, the highest power first: division, roots, and fits to points; and trim_zeros."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import ConcretizationTypeError, ShapeError, UsageError, message
from funcgrad.numpy._axes import axes_of, concrete, listed, static_int
from funcgrad.numpy._equations import inv, lstsq
from funcgrad.numpy._factor import eigvals
from funcgrad.numpy._promote import as_value, broadcast_value, cast, common_inexact, value_in
from funcgrad.numpy.contract import matmul, outer
from funcgrad.numpy.elementwise import abs, conj, divide, multiply, sqrt, subtract
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.reductions import sum
from funcgrad.numpy.reordering import flip
from funcgrad.numpy.selection import take, where
from funcgrad.numpy.sorting import argsort
from funcgrad.numpy.structure import atleast_1d, cut, expand_dims, matrix_transpose
from funcgrad.numpy.triangles import vander
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full as filled
from funcgrad.ops.cumulative import cumprod
from funcgrad.ops.shape import iota
from funcgrad.trace.value import Value

__all__ = ["polydiv", "polyfit", "roots", "trim_zeros"]


def _vector(p: Any, name: str, arg: str) -> Any:
    x = atleast_1d(as_value(listed(p, name, arg), name, arg))
    if x.ndim != 1:
        raise ShapeError(message(f"fnp.{name}: got {x.aval.str_short()} for {arg}", "a vector", f"{arg}.ravel()"))
    return x


def _numbers(x: Value, name: str, fix: str) -> np.ndarray:
    known = concrete(x)
    if known is None:
        raise ConcretizationTypeError(x, f"the length of fnp.{name}'s result depends on the numbers", fix)
    return known


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """The array without the zeros at its ends. The numbers must be known.

    Args: filt: array or sequence. trim: "f" for the front, "b" for the back, "fb" for both. axis: integer, tuple or None (all):
    the axes that are cut to the smallest box that holds all that is not zero.
    Raises: ConcretizationTypeError for a traced array.

    >>> fnp.trim_zeros(fnp.array([0, 0, 1, 0, 2, 0]))
    Array([1, 0, 2], dtype=int64)
    """
    x = as_value(listed(filt, "trim_zeros", "filt"), "trim_zeros", "filt")
    if not isinstance(trim, str) or trim.lower() not in ("f", "b", "fb", "bf"):
        raise UsageError(message(f"fnp.trim_zeros: got trim={trim!r}", "'f', 'b' or 'fb'", "trim='fb'"))
    if x.ndim == 0:
        raise ShapeError(message("fnp.trim_zeros: got a scalar for filt", "an array with axes", "filt.reshape(-1)"))
    places = np.nonzero(_numbers(x, "trim_zeros", "fnp.trim_zeros outside of jit, or fnp.where to mask"))
    for i in axes_of(axis, x.ndim, "trim_zeros"):
        n = x.shape[i]
        start, stop = (int(places[i].min()), int(places[i].max()) + 1) if places[i].size else (n, n)
        front, back = "f" in trim.lower(), "b" in trim.lower()
        if not places[i].size and not front:
            start = stop = 0
        x = cut(x, i, start if front else 0, stop if back else n)
    return x


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Quotient and remainder of the polynomials u / v.

    Args: u, v: vectors of coefficients; the first of v must not be 0. trim_leading_zeros: leave out the leading coefficients of
    the remainder that are 0 within rounding (as NumPy does; the numbers must be known); otherwise it is as long as u.
    Returns: the pair, as floats (or complex).

    >>> fnp.polydiv(fnp.array([1.0, 5.0, 7.0]), fnp.array([1.0, 3.0]))
    (Array([1., 2.], dtype=float32), Array([0., 0., 1.], dtype=float32))
    """
    x, y = common_inexact(_vector(u, "polydiv", "u"), _vector(v, "polydiv", "v"))
    m, n = x.shape[0], y.shape[0]
    if n == 0:
        raise ShapeError(message("fnp.polydiv: got no coefficient for v", "one or more", "fnp.array([1.0])"))
    rest, quotient = x, []
    first, below = cut(y, 0, 0, 1), cut(y, 0, 1, n)
    for _ in range(m - n + 1):  # the long division of school
        factor = divide(cut(rest, 0, 0, 1), first)
        quotient.append(factor)
        changed = subtract(cut(rest, 0, 1, n), multiply(factor, below))
        rest = concatenate([changed, cut(rest, 0, n, rest.shape[0])])
    zero = x.dtype.type(0)
    q = concatenate(quotient) if quotient else filled((1,), zero)
    if flag(trim_leading_zeros, "fnp.polydiv", "trim_leading_zeros"):
        known = _numbers(rest, "polydiv", "trim_leading_zeros=False")
        small = np.isclose(known.astype(np.result_type(known.dtype, np.float32)), 0, rtol=1e-14)
        start = int(np.argmin(small)) if not small.all() else max(small.size - 1, 0)
        return q, cut(rest, 0, start, rest.shape[0]) if rest.shape[0] else filled((1,), zero)
    return q, concatenate([filled((m - rest.shape[0],), zero), rest])


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The roots of the polynomial with these coefficients, as complex numbers: the eigenvalues of its companion matrix (Horn and
    Johnson, Matrix Analysis, 1999, pp. 146-147).

    Args: p: vector of n + 1 coefficients. strip_zeros: leave out leading zeros, which lower the degree, and give trailing ones as
    roots that are exactly 0; the numbers must be known. With strip_zeros=False the result has n elements whatever the numbers
    are, and NaN in the place of a root for every leading zero.
    Raises: ConcretizationTypeError for a traced p with strip_zeros.

    >>> fnp.roots(fnp.array([1.0, -3.0, 2.0])).round(3)
    Array([2.+0.j, 1.+0.j], dtype=complex64)
    """
    (x,) = common_inexact(_vector(p, "roots", "p"))
    complex_ = x.dtype if x.dtype in dt.COMPLEXES else dt.promote_dtypes(x.dtype, dt.complex64)
    if not flag(strip_zeros, "fnp.roots", "strip_zeros"):
        return _all_roots(x, complex_)
    places = np.flatnonzero(_numbers(x, "roots", "fnp.roots(p, strip_zeros=False)"))
    if places.size == 0:
        return filled((0,), complex_.type(0))
    trailing = x.shape[0] - 1 - int(places[-1])
    found = _companion_roots(cut(x, 0, int(places[0]), int(places[-1]) + 1), complex_)
    return concatenate([found, filled((trailing,), complex_.type(0))])


def _companion_roots(x: Any, complex_: np.dtype) -> Any:
    n = x.shape[0] - 1
    if n < 1:
        return filled((0,), complex_.type(0))
    top = ew.neg(divide(cut(x, 0, 1, n + 1), cut(x, 0, 0, 1)))
    below = np.eye(n - 1, n, dtype=x.dtype)
    return cast(eigvals(concatenate([expand_dims(top, 0), as_value(below, "roots")], 0)), complex_)


def _all_roots(x: Any, complex_: np.dtype) -> Any:
    n = x.shape[0]
    if n < 2:
        return filled((0,), complex_.type(0))
    places = iota(dtype=dt.int64, shape=(n,), dimension=0)
    zero = ew.convert(ew.eq(x, x.dtype.type(0)), dt.int64)
    leading = sum(cumprod(zero, axis=0, reverse=False))
    # Leading zeros go to the end, where each is a root 0. Roots of 0 are the smallest: the last ones become NaN.
    rolled = take(x, ew.rem(ew.add(places, broadcast_value(leading, (n,))), np.int64(n)), 0)
    nothing = ew.eq(leading, np.int64(n))
    safe = where(ew.and_(broadcast_value(nothing, (n,)), ew.eq(places, np.int64(0))), x.dtype.type(1), rolled)
    found = _companion_roots(safe, complex_)
    found = take(found, flip(argsort(abs(found))), 0)
    kept = ew.lt(cut(places, 0, 0, n - 1), broadcast_value(ew.sub(np.int64(n - 1), leading), (n - 1,)))
    return where(kept, found, complex_.type(complex(np.nan, np.nan)))


def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """The coefficients of the polynomial of degree `deg` that fits the points best, in the sense of least squares.

    Args: x: vector of m points. y: their values, (m,) or (m, k) for k fits. deg: the degree. rcond: singular values below rcond
    times the largest count as 0 (default: m times the precision of the dtype). full: also give the sums of squared residuals, the
    rank, the singular values and rcond. w: the weight of each residual, before it is squared. cov: also give the covariance
    matrix of the coefficients, scaled by chi2 / (m - deg - 1), or "unscaled" where the weights are 1 / sigma.
    Returns: coefficients (deg + 1,) or (deg + 1, k), the highest power first; a tuple with the rest where full or cov ask for it.
    Raises: ShapeError where the lengths differ; UsageError where there are too few points for cov.
    There is no warning for a matrix of low rank: look at the rank that full=True gives.

    >>> fnp.polyfit(fnp.array([0.0, 1.0, 2.0]), fnp.array([1.0, 3.0, 5.0]), 1).round(3)
    Array([2., 1.], dtype=float32)
    """
    points, values = common_inexact(*[as_value(listed(v, "polyfit", n), "polyfit", n) for v, n in ((x, "x"), (y, "y"))])
    order = static_int(deg, "polyfit", "deg") + 1
    if order < 1:
        raise UsageError(message(f"fnp.polyfit: got deg={deg}", "0 or more", "deg=1"))
    if points.ndim != 1 or points.shape[0] == 0 or values.ndim not in (1, 2) or values.shape[0] != points.shape[0]:
        raise ShapeError(
            message(
                f"fnp.polyfit: got {points.aval.str_short()} for x and {values.aval.str_short()} for y",
                "a vector of points, and a value (or a row of values) for each",
                "x.ravel()",
            )
        )
    m = points.shape[0]
    limit = m * float(dt.finfo(points.dtype).eps) if rcond is None else rcond
    lhs, rhs = vander(points, order), values
    if w is not None:
        weights = value_in(listed(w, "polyfit", "w"), points.dtype, "polyfit", "w")
        if weights.shape != points.shape:
            raise ShapeError(message(f"fnp.polyfit: got w of shape {weights.shape}", f"a weight a point ({m})", "w.ravel()"))
        lhs = multiply(lhs, expand_dims(weights, 1))
        rhs = multiply(rhs, expand_dims(weights, 1) if rhs.ndim == 2 else weights)
    # Columns of one size make the problem well conditioned.
    scale = sqrt(sum(ew.real(multiply(lhs, conj(lhs))) if lhs.dtype in dt.COMPLEXES else multiply(lhs, lhs), 0))
    lhs = divide(lhs, scale)
    c, residuals, rank, s = lstsq(lhs, rhs, limit)
    c = divide(c, expand_dims(scale, 1) if c.ndim == 2 else scale)
    if flag(full, "fnp.polyfit", "full"):
        return c, atleast_1d(residuals), rank, s, limit
    if not among(cov, ("unscaled",)) and not flag(cov, "fnp.polyfit", "cov"):
        return c
    base = divide(inv(matmul(matrix_transpose(lhs), lhs)), outer(scale, scale))
    if among(cov, ("unscaled",)):
        factor: Any = base.dtype.type(1)
    else:
        if m <= order:
            raise UsageError(
                message(f"fnp.polyfit: got {m} points for deg={deg} and cov", f"more than {order}", "cov='unscaled'")
            )
        factor = divide(residuals, m - order)
    return c, multiply(base, factor) if values.ndim == 1 else multiply(expand_dims(base, 2), factor)
