"""The gamma and beta functions, complete and incomplete, and what is made of them."""

import math
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import UsageError, message
from funcgrad.numpy._axes import steps
from funcgrad.numpy._promote import as_value, cast
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.ops.gamma import at_pole, gamma_reciprocal
from funcgrad.scipy.special._table import inexact, real, title, unary, whole
from funcgrad.trace.value import aval_of

__all__ = [
    "beta", "betainc", "betaln", "comb", "digamma", "factorial", "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn",
    "loggamma", "multigammaln", "poch", "polygamma", "zeta",
]  # fmt: skip

gammaln = unary(
    "gammaln",
    ew.lgamma,
    "log |Gamma(x)|, infinite at 0, -1, -2, ... (DLMF 5.2).",
    """
>>> special.gammaln(np.array([0.5, 3.0, -0.5]))
Array([0.57236494, 0.69314718, 1.26551212], dtype=float64)
""",
)
digamma = unary(
    "digamma",
    ew.digamma,
    "The derivative of gammaln (DLMF 5.2.2); NaN at -1, -2, ..., -inf at 0.",
    """
>>> special.digamma(np.array([1.0, 2.0]))
Array([-0.57721566,  0.42278434], dtype=float64)
""",
)
gamma = unary(
    "gamma",
    ew.gamma,
    "Gamma(x) (DLMF 5.2): (x - 1)! for whole x > 0, NaN at -1, -2, ..., infinite beyond 171.6.",
    """
>>> special.gamma(np.array([5.0, 0.5, -0.5]))
Array([24.        ,  1.77245385, -3.5449077 ], dtype=float64)
""",
)


def _at_pole(x: Any) -> Any:
    return ew.and_(ew.lt(x, like(x, 0)), ew.eq(ew.floor(x), x))


def _gammasgn(x: Any) -> Any:
    half = ew.mul(ew.floor(x), like(x, 0.5))
    odd = ew.ne(ew.floor(half), half)
    sign = ew.select_n(ew.and_(ew.lt(x, like(x, 0)), odd), like(x, 1), like(x, -1))
    # of zeros the sign is theirs: 1 / x is infinite with it
    at_zero = ew.sign(ew.div(like(x, 1), ew.select_n(ew.eq(x, like(x, 0)), like(x, 1), x)))
    sign = ew.select_n(ew.eq(x, like(x, 0)), sign, at_zero)
    unknown = ew.or_(ew.or_(_at_pole(x), ew.ne(x, x)), ew.eq(x, like(x, -np.inf)))
    return ew.stop_gradient(ew.select_n(unknown, sign, like(x, np.nan)))


gammasgn = unary(
    "gammasgn",
    lambda x: _gammasgn(as_value(x, "scipy.special.gammasgn")),
    "The sign of Gamma(x): 1 or -1, NaN at -1, -2, ...",
    """
>>> special.gammasgn(np.array([2.5, -0.5, -1.5]))
Array([ 1., -1.,  1.], dtype=float64)
""",
)


def loggamma(x: Any) -> Any:
    """The logarithm of Gamma(x), continued from the positive axis without jumps but for a cut along the negative one (DLMF 5.10).

    x: real or complex array or scalar. Real x below 0 gives NaN: there the value is complex; convert x for it.
    Returns: an array of the shape and dtype of x.

    >>> from funcgrad.scipy import special
    >>> special.loggamma(np.array([3.0, -0.5]))
    Array([0.69314718,        nan], dtype=float64)
    >>> special.loggamma(np.array(-0.5 + 0j))
    Array(1.26551212-3.14159265j, dtype=complex128)
    """
    (v,) = inexact("loggamma", x=x)
    if aval_of(v).dtype in dt.COMPLEXES:
        return ew.loggamma(v, n=0)
    below = ew.lt(v, like(v, 0))
    return ew.select_n(below, ew.lgamma(ew.select_n(below, v, like(v, 1))), like(v, np.nan))


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma at x (DLMF 5.15).

    n: whole numbers, 0 or more. x: real. They broadcast. Returns: an array in the dtype of x.
    The derivative by x has order n + 1; that by n (for x > 0, n > 0) is the one of (-1)^(n+1) Gamma(n + 1) zeta(n + 1, x)
    at a fixed sign.

    >>> from funcgrad.scipy import special
    >>> special.polygamma(np.array([0, 1, 2]), np.array(1.0))
    Array([-0.57721566,  1.64493407, -2.40411381], dtype=float64)
    """
    if isinstance(n, int) and not isinstance(n, bool) and n >= 0:
        (v,) = real("polygamma", x=x)
        return ew.digamma(v) if n == 0 else ew.polygamma(v, n=n)
    order, v = real("polygamma", n=n, x=x)
    zero, next_ = ew.eq(order, like(order, 0)), ew.add(order, like(order, 1))
    safe = ew.select_n(zero, next_, like(order, 2))
    half = ew.mul(order, like(order, 0.5))
    sign = ew.stop_gradient(ew.select_n(ew.eq(ew.floor(half), half), like(v, 1), like(v, -1)))
    value = ew.mul(sign, ew.mul(ew.gamma(safe), ew.zeta(safe, v)))
    return ew.select_n(zero, value, ew.digamma(v))


def gammainc(a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function P(a, x), for a > 0 and x >= 0; NaN elsewhere (DLMF 8.2.4).

    a, x: real, they broadcast. Returns: an array in their common dtype. Derivatives by both are exact.

    >>> from funcgrad.scipy import special
    >>> special.gammainc(np.array([1.0, 2.0]), 1.0)
    Array([0.63212056, 0.26424112], dtype=float64)
    """
    return ew.igamma(*real("gammainc", a=a, x=x))


def gammaincc(a: Any, x: Any) -> Any:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x), exact where it is small. As `gammainc`.

    >>> from funcgrad.scipy import special
    >>> special.gammaincc(np.array([1.0, 2.0]), 100.0)
    Array([3.72007598e-44, 3.75727674e-42], dtype=float64)
    """
    return ew.igammac(*real("gammaincc", a=a, x=x))


def betaln(a: Any, b: Any) -> Any:
    """log |B(a, b)|, exact also where one of them is large. a, b: real, they broadcast (DLMF 5.12).

    >>> from funcgrad.scipy import special
    >>> special.betaln(np.array([2.0, 1e6]), 3.0)
    Array([ -2.48490665, -40.75338749], dtype=float64)
    """
    return ew.betaln(*real("betaln", a=a, b=b))


def beta(a: Any, b: Any) -> Any:
    """B(a, b) = Gamma(a) Gamma(b) / Gamma(a + b), infinite at poles. a, b: real, they broadcast (DLMF 5.12).

    >>> from funcgrad.scipy import special
    >>> special.beta(np.array([2.0, -0.5]), 3.0)
    Array([ 0.08333333, -5.33333333], dtype=float64)
    """
    p, q = [as_value(v, title("beta")) for v in real("beta", a=a, b=b)]
    both = ew.add(p, q)
    # Gamma(p + q) alone infinite: B is 0 there, its slope is not
    zero = ew.and_(at_pole(both), ew.not_(ew.or_(at_pole(p), at_pole(q))))
    top = ew.mul(*[ew.gamma(ew.select_n(zero, like(v, 1), v)) for v in (p, q)])
    near = ew.mul(top, gamma_reciprocal(ew.select_n(zero, like(p, 0), both)))
    p, q = [ew.select_n(zero, v, like(v, 1)) for v in (p, q)]
    sign = ew.mul(ew.mul(_gammasgn(p), _gammasgn(q)), _gammasgn(ew.add(p, q)))
    value = ew.mul(ew.select_n(ew.ne(sign, sign), sign, like(sign, 1)), ew.exp(ew.betaln(p, q)))
    return ew.select_n(zero, value, near)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function I_x(a, b), for a, b > 0 and x in [0, 1] (DLMF 8.17.2).

    a, b, x: real, they broadcast. Returns: an array in their common dtype. Derivatives by all of them are exact.

    >>> from funcgrad.scipy import special
    >>> special.betainc(np.array(2.0), 3.0, np.array([0.25, 0.5]))
    Array([0.26171875, 0.6875    ], dtype=float64)
    """
    return ew.betainc(*real("betainc", a=a, b=b, x=x))


def factorial(n: Any, exact: bool = False) -> Any:
    """n! = Gamma(n + 1), 0 for n < 0.

    n: real array or scalar. exact: for a Python integer n, its factorial as a Python integer; arrays hold floats.

    >>> from funcgrad.scipy import special
    >>> special.factorial(np.array([0.0, 5.0, 0.5]))
    Array([  1.        , 120.        ,   0.88622693], dtype=float64)
    >>> special.factorial(25, exact=True)
    15511210043330985984000000
    """
    if flag(exact, "scipy.special.factorial", "exact"):
        if not isinstance(n, int) or isinstance(n, bool):
            raise UsageError(
                message(
                    f"scipy.special.factorial: got exact=True and {type(n).__name__} for n",
                    "a Python integer with exact=True",
                    "exact=False, or int(n)",
                )
            )
        return math.factorial(n) if n >= 0 else 0
    (v,) = real("factorial", n=n)
    below = ew.lt(v, like(v, 0))
    value = ew.gamma(ew.add(ew.select_n(below, v, like(v, 0)), like(v, 1)))
    return ew.select_n(below, value, like(value, 0))


def poch(z: Any, m: Any) -> Any:
    """The rising factorial Gamma(z + m) / Gamma(z) = z (z + 1) ... (z + m - 1) (DLMF 5.2.5). z, m: real, they broadcast.

    >>> from funcgrad.scipy import special
    >>> special.poch(np.array([1.0, 0.5]), 3)
    Array([6.   , 1.875], dtype=float64)
    """
    return ew.poch(*real("poch", z=z, m=m))


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """The number of ways to take k of N things, as a float; 0 unless 0 <= k <= N (DLMF 1.2.6, continued by 5.12.1).

    N, k: real, they broadcast. repetition: things may be taken again. Results of integers are exact up to 2^40.

    >>> from funcgrad.scipy import special
    >>> special.comb(np.array([5, 10]), 3)
    Array([ 10., 120.], dtype=float32)
    """
    n, j = as_value(N, title("comb"), "N"), as_value(k, title("comb"), "k")
    whole_numbers = n.dtype not in dt.INEXACT and j.dtype not in dt.INEXACT
    if whole_numbers:
        n, j = cast(n, dt.float64), cast(j, dt.float64)
    n, j = [as_value(v, title("comb")) for v in real("comb", N=n, k=j)]
    one = like(n, 1)
    none = ew.and_(ew.eq(n, like(n, 0)), ew.eq(j, like(n, 0)))
    if flag(repetition, "scipy.special.comb", "repetition"):
        n = ew.sub(ew.add(n, j), one)
    inside = ew.and_(ew.ge(j, like(j, 0)), ew.ge(ew.sub(n, j), like(n, 0)))
    inside = ew.and_(inside, ew.ge(n, like(n, 0)))
    n, j = ew.select_n(inside, one, n), ew.select_n(inside, one, j)
    value = ew.exp(ew.neg(ew.add(ew.log1p(n), ew.betaln(ew.add(ew.sub(n, j), one), ew.add(j, one)))))
    if whole_numbers:
        exact = ew.lt(value, like(value, 2.0**53))
        value = ew.select_n(exact, value, ew.round(value, rounding_method=1))
    value = ew.select_n(inside, like(value, 0), value)
    value = ew.select_n(none, value, like(value, 1)) if repetition else value
    return cast(value, dt.default_float()) if whole_numbers else value


def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function of order d (DLMF 35.3.4).

    a: real array or scalar, above (d - 1) / 2; NaN elsewhere. d: a Python integer. Returns: an array of the shape of a.

    >>> from funcgrad.scipy import special
    >>> special.multigammaln(np.array(3.0), 2)
    Array(1.55019499, dtype=float64)
    """
    order = steps(whole("multigammaln", "d", d), title("multigammaln"), "d")
    (v,) = real("multigammaln", a=a)
    outside = ew.le(v, like(v, (order - 1) / 2))
    v = ew.select_n(outside, v, like(v, np.nan))
    total = like(v, order * (order - 1) / 4 * math.log(math.pi))
    for k in range(order):
        total = ew.add(ew.lgamma(ew.sub(v, like(v, k / 2))), total)
    return total


def zeta(x: Any, q: Any = None) -> Any:
    """The Hurwitz zeta function, the sum of (q + k)^-x over k = 0, 1, ..., for x > 1; without q Riemann's, for all real x.

    x, q: real, they broadcast (DLMF 25.11.1, 25.4.2). Derivatives by x need q > 0.

    >>> from funcgrad.scipy import special
    >>> special.zeta(np.array([2.0, -1.0]))
    Array([ 1.64493407, -0.08333333], dtype=float64)
    >>> special.zeta(np.array(2.0), 2.0)
    Array(0.64493407, dtype=float64)
    """
    if q is not None:
        return ew.zeta(*real("zeta", x=x, q=q))
    v = as_value(real("zeta", x=x)[0], title("zeta"))
    one = like(v, 1)
    left, right = ew.lt(v, like(v, -0.5)), ew.ge(v, one)
    far = ew.zeta(ew.select_n(right, like(v, 2), v), one)
    near = ew.zeta_slope(ew.select_n(ew.or_(left, right), v, like(v, 0)), one, n=0)
    return ew.select_n(left, ew.select_n(right, near, far), _reflected_zeta(ew.select_n(left, like(v, -1), v)))


def _reflected_zeta(x: Any) -> Any:
    """2 (2 pi)^(x-1) sin(pi x / 2) Gamma(1 - x) zeta(1 - x), with zeros where they are exactly."""
    y = ew.sub(x, ew.mul(ew.round(ew.mul(x, like(x, 0.25)), rounding_method=1), like(x, 4)))
    outer = ew.gt(ew.abs(y), like(x, 1))
    y = ew.select_n(outer, y, ew.sub(ew.mul(ew.sign(y), like(x, 2)), y))
    up = ew.sub(like(x, 1), x)
    scale = ew.exp(ew.sub(ew.lgamma(up), ew.mul(up, like(x, math.log(2 * math.pi)))))
    close = ew.lt(up, like(x, 30))
    near = ew.select_n(close, like(x, 2), up)
    exact = ew.mul(ew.gamma(near), ew.pow(like(x, 2 * math.pi), ew.neg(near)))
    scale = ew.select_n(close, scale, exact)
    return ew.mul(ew.mul(scale, like(x, 2)), ew.mul(ew.sin(ew.mul(y, like(x, math.pi / 2))), ew.zeta(up, like(x, 1))))
