"""The error function and the normal distribution's functions."""

import math
from typing import Any

import numpy as np

from funcgrad.core.errors import UsageError, message
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.scipy.special._table import real_values, unary, whole

__all__ = ["dawsn", "erf", "erfc", "erfcx", "erfinv", "log_ndtr", "ndtr", "ndtri"]

erf = unary(
    "erf",
    ew.erf,
    "The error function, 2 / sqrt(pi) times the integral of exp(-s^2) from 0 to x (DLMF 7.2.1).",
    """
>>> special.erf(np.array([0.0, 0.5, 10.0]))
Array([0.        , 0.52049988, 1.        ], dtype=float64)
""",
)
erfc = unary(
    "erfc",
    ew.erfc,
    "1 - erf(x), exact where it is small (DLMF 7.2.2).",
    """
>>> special.erfc(np.array([0.5, 10.0]))
Array([4.79500122e-01, 2.08848758e-45], dtype=float64)
""",
)
erfcx = unary(
    "erfcx",
    ew.erfcx,
    "exp(x^2) erfc(x), of size 1 / (sqrt(pi) x) for large x (DLMF 7.12.1).",
    """
>>> special.erfcx(np.array([0.5, 1e10]))
Array([6.15690344e-01, 5.64189584e-11], dtype=float64)
""",
)
erfinv = unary(
    "erfinv",
    ew.erf_inv,
    "The inverse of erf: infinite at -1 and 1, NaN beyond.",
    """
>>> special.erfinv(np.array([0.5, 1.0]))
Array([0.47693628,        inf], dtype=float64)
""",
)
dawsn = unary(
    "dawsn",
    ew.dawsn,
    "Dawson's integral, exp(-x^2) times the integral of exp(s^2) from 0 to x (DLMF 7.2.5).",
    """
>>> special.dawsn(np.array([0.5, 100.0]))
Array([0.42443638, 0.00500025], dtype=float64)
""",
)
ndtri = unary(
    "ndtri",
    ew.ndtri,
    "The number at which ndtr is p: infinite at 0 and 1, NaN outside of them. Exact also for small p.",
    """
>>> special.ndtri(np.array([0.5, 0.975, 1e-100]))
Array([  0.        ,   1.95996398, -21.27345356], dtype=float64)
""",
    arg="p",
)


def _scaled(x: Any) -> Any:
    return ew.mul(x, like(x, -math.sqrt(0.5)))


ndtr = unary(
    "ndtr",
    lambda x: ew.mul(ew.erfc(_scaled(x)), like(x, 0.5)),
    "The probability that a standard normal variate is at most x. Exact for far negative x.",
    """
>>> special.ndtr(np.array([0.0, 1.96, -20.0]))
Array([5.00000000e-01, 9.75002105e-01, 2.75362412e-89], dtype=float64)
""",
)


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """The logarithm of ndtr(x), exact in both tails, with exact derivatives of any order.

    x: real array or scalar. series_order: a whole number above 0; other implementations sum so many terms of an asymptotic
    series, here exp(s^2) erfc(s) is computed to full precision, so results do not depend on it.
    Returns: an array of the shape of x, in its dtype.

    >>> from funcgrad.scipy import special
    >>> special.log_ndtr(np.array([-1e4, 0.0, 10.0]))
    Array([-5.00000101e+07, -6.93147181e-01, -7.61985302e-24], dtype=float64)
    """
    if whole("log_ndtr", "series_order", series_order) < 1:
        raise UsageError(message(f"scipy.special.log_ndtr: got series_order={series_order}", "1 or more", "leave it out"))
    (v,) = real_values("log_ndtr", x=x)
    endless = ew.eq(v, like(v, -np.inf))
    left = ew.and_(ew.lt(v, like(v, -1)), ew.not_(endless))
    far, near = ew.select_n(left, like(v, -1), v), ew.select_n(ew.or_(left, endless), v, like(v, 0))
    # log of exp(-s^2) erfcx(s) / 2 with s = -x / sqrt(2)
    tail = ew.sub(ew.log(ew.mul(ew.erfcx(_scaled(far)), like(v, 0.5))), ew.mul(ew.square(far), like(v, 0.5)))
    body = ew.log1p(ew.mul(ew.erfc(ew.neg(_scaled(near))), like(v, -0.5)))
    # at -inf of value -inf and slope inf
    return ew.select_n(endless, ew.select_n(left, body, tail), ew.mul(ew.select_n(endless, like(v, 1), v), like(v, np.inf)))
