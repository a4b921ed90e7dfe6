"""Logarithms, exponentials and entropies, with their limits where a factor is 0."""

import math
from typing import Any

import numpy as np

from funcgrad.nn import normalize
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.scipy.special._table import inexact, real, real_values, unary

__all__ = [
    "boxcox", "boxcox1p", "entr", "expit", "kl_div", "log_softmax", "logit", "logsumexp", "rel_entr", "softmax", "xlog1py",
    "xlogy",
]  # fmt: skip

expit = unary(
    "expit",
    ew.logistic,
    "1 / (1 + exp(-x)).",
    """
>>> special.expit(np.array([0.0, 2.0, -800.0]))
Array([0.5       , 0.88079708, 0.        ], dtype=float64)
""",
)


def logit(x: Any) -> Any:
    """log(x / (1 - x)), the inverse of expit: infinite at 0 and 1, NaN outside of them. Exact also around 1/2, where it is 0.

    x: real array or scalar. Returns: an array of its shape, in its dtype.

    >>> from funcgrad.scipy import special
    >>> special.logit(np.array([0.5, 0.75, 1.0]))
    Array([0.        , 1.09861229,        inf], dtype=float64)
    """
    (p,) = real_values("logit", x=x)
    half = like(p, 0.5)
    off = ew.sub(p, half)
    close = ew.lt(ew.abs(off), like(p, 0.25))
    near = ew.mul(ew.atanh(ew.mul(ew.select_n(close, like(p, 0), off), like(p, 2))), like(p, 2))
    q = ew.select_n(close, p, half)
    return ew.select_n(close, ew.sub(ew.log(q), ew.log1p(ew.neg(q))), near)


def xlogy(x: Any, y: Any) -> Any:
    """x log(y), 0 where x is 0 (also at y = 0). x, y: real or complex, they broadcast.

    The derivative by x is log(y), also at x = 0; that by y is x / y, and 0 where both are 0.

    >>> from funcgrad.scipy import special
    >>> special.xlogy(np.array([0.0, 2.0]), np.array([0.0, 3.0]))
    Array([0.        , 2.19722458], dtype=float64)
    """
    return ew.xlogy(*inexact("xlogy", x=x, y=y))


def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), 0 where x is 0 (also at y = -1). x, y: real or complex, they broadcast. Derivatives as of `xlogy`.

    >>> from funcgrad.scipy import special
    >>> special.xlog1py(np.array([0.0, 2.0]), np.array([-1.0, 1e-12]))
    Array([0.e+00, 2.e-12], dtype=float64)
    """
    return ew.xlog1py(*inexact("xlog1py", x=x, y=y))


def entr(x: Any) -> Any:
    """-x log(x), 0 at 0 and -inf below; the derivative at 0 is infinite.

    x: real array or scalar. Returns: an array of its shape, in its dtype.

    >>> from funcgrad.scipy import special
    >>> special.entr(np.array([0.0, 0.5, -1.0]))
    Array([0.        , 0.34657359,       -inf], dtype=float64)
    """
    (v,) = real_values("entr", x=x)
    below = ew.lt(v, like(v, 0))
    safe = ew.select_n(below, v, like(v, 1))
    value = ew.neg(ew.xlogy(safe, safe))
    # -0 is 0
    return ew.select_n(below, ew.add(value, like(v, 0)), like(v, -np.inf))


def _relative(x: Any, y: Any) -> Any:
    """x log(x / y) where x >= 0 and y > 0, 0 where both are 0, infinite elsewhere; NaN stays."""
    zero = like(x, 0)
    inside = ew.and_(ew.ge(x, zero), ew.gt(y, zero))
    p, q = ew.select_n(inside, like(x, 1), x), ew.select_n(inside, like(x, 1), y)
    value = ew.xlogy(p, ew.div(p, q))
    # where the quotient leaves the range of floats, a difference of logarithms does not
    ratio = ew.div(p, q)
    beyond = ew.and_(ew.gt(p, zero), ew.or_(ew.eq(ratio, zero), ew.eq(ratio, like(x, np.inf))))
    safe_p, safe_q = ew.select_n(beyond, like(x, 1), p), ew.select_n(beyond, like(x, 1), q)
    value = ew.select_n(beyond, value, ew.mul(safe_p, ew.sub(ew.log(safe_p), ew.log(safe_q))))
    both = ew.and_(ew.eq(x, zero), ew.eq(y, zero))
    outside = ew.select_n(both, like(x, np.inf), zero)
    unknown = ew.or_(ew.ne(x, x), ew.ne(y, y))
    return ew.select_n(inside, ew.select_n(unknown, outside, like(x, np.nan)), value)


def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q) for p >= 0 and q > 0, 0 at p = q = 0, infinite elsewhere. p, q: real, they broadcast.

    >>> from funcgrad.scipy import special
    >>> special.rel_entr(np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.25, 0.0]))
    Array([0.        , 0.34657359,        inf], dtype=float64)
    """
    return _relative(*real_values("rel_entr", p=p, q=q))


def kl_div(p: Any, q: Any) -> Any:
    """p log(p / q) - p + q, for p, q >= 0, infinite elsewhere. p, q: real, they broadcast.

    >>> from funcgrad.scipy import special
    >>> special.kl_div(np.array([0.0, 0.5, 1.0]), np.array([2.0, 0.25, 0.0]))
    Array([2.        , 0.09657359,        inf], dtype=float64)
    """
    x, y = real_values("kl_div", p=p, q=q)
    value = _relative(x, y)
    within = ew.ne(value, like(x, np.inf))
    change = ew.sub(ew.select_n(within, like(x, 0), y), ew.select_n(within, like(x, 0), x))
    return ew.add(value, change)


def _grown(log: Any, lmbda: Any) -> Any:
    """(exp(lmbda log) - 1) / lmbda, and its limit at lmbda = 0; near it by the series, so that derivatives are exact too."""
    none = ew.eq(lmbda, like(lmbda, 0))
    finite = ew.is_finite(log)
    u = ew.mul(lmbda, ew.select_n(ew.and_(none, ew.not_(finite)), log, like(log, 0)))
    small = ew.or_(none, ew.lt(ew.abs(u), like(u, 0.5)))
    v = ew.select_n(small, like(u, 0), u)
    total = like(v, 1 / math.factorial(16))
    for k in range(15, 0, -1):
        total = ew.add(ew.mul(v, total), like(v, 1 / math.factorial(k)))
    near = ew.mul(log, total)
    by = ew.select_n(small, lmbda, like(lmbda, 1))
    return ew.select_n(small, ew.div(ew.expm1(ew.select_n(small, u, like(u, 1))), by), near)


def _transformed(v: Any, x: Any, neutral: float, logarithm: Any, power: Any) -> Any:
    """Box and Cox of x, which is v or v + 1; at x = 0 by the power itself, whose derivatives the logarithm would hide."""
    bare = ew.and_(ew.eq(x, like(x, 0)), ew.gt(power, like(power, 0)))
    grown = _grown(logarithm(ew.select_n(bare, v, like(v, neutral))), power)
    by = ew.select_n(bare, like(power, 1), power)
    return ew.select_n(bare, grown, ew.div(ew.sub(ew.pow(ew.select_n(bare, like(x, 1), x), by), like(x, 1)), by))


def boxcox(x: Any, lmbda: Any) -> Any:
    """(x^lmbda - 1) / lmbda, log(x) at lmbda = 0; NaN for x < 0.

    Box and Cox, "An Analysis of Transformations", 1964. x, lmbda: real, they broadcast.

    >>> from funcgrad.scipy import special
    >>> special.boxcox(np.array([1.0, 4.0]), np.array([0.0, 0.5]))
    Array([0., 2.], dtype=float64)
    """
    v, power = real_values("boxcox", x=x, lmbda=lmbda)
    return _transformed(v, v, 1, ew.log, power)


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """boxcox(1 + x, lmbda), exact for small x. x, lmbda: real, they broadcast.

    >>> from funcgrad.scipy import special
    >>> special.boxcox1p(np.array([1e-12, 3.0]), 0.5)
    Array([1.e-12, 2.e+00], dtype=float64)
    """
    v, power = real_values("boxcox1p", x=x, lmbda=lmbda)
    return _transformed(v, ew.add(v, like(v, 1)), 0, ew.log1p, power)


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False, where: Any = None
) -> Any:
    """log(sum(b * exp(a))) along `axis` (None: all), without overflow.

    a: real or complex array. axis: an integer or a tuple of them. b: weights that broadcast with a. keepdims: keep summed axes
    with extent 1. return_sign: give (log |sum|, sign), also for negative sums, which are NaN otherwise. where: boolean mask of
    what counts. Over nothing, or -inf alone, -inf with a gradient of 0.

    >>> from funcgrad.scipy import special
    >>> special.logsumexp(np.array([1000.0, 1000.0]))
    Array(1000.69314718, dtype=float64)
    """
    return normalize.logsumexp(a, axis, b, keepdims, return_sign, where)


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along `axis` (None: all). x: real array. Returns: an array of its shape, in its dtype.

    >>> from funcgrad.scipy import special
    >>> special.softmax(np.array([1.0, 2.0, 3.0]))
    Array([0.09003057, 0.24472847, 0.66524096], dtype=float64)
    """
    (v,) = real("softmax", x=x)
    return normalize.softmax(v, axis)


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """log(softmax(x)), exact where softmax underflows. x: real array. axis: as in `softmax`.

    >>> from funcgrad.scipy import special
    >>> special.log_softmax(np.array([1.0, 2.0, 1000.0]))
    Array([-999., -998.,    0.], dtype=float64)
    """
    (v,) = real("log_softmax", x=x)
    return normalize.log_softmax(v, axis)
