"""Logarithms of small probabilities: of the incomplete gamma and beta functions, and of intervals under the normal distribution.

Where a probability is a normal number its logarithm is taken; near 1 that of the rest; where it underflows its prefactor and a
continued fraction (DLMF 8.9, 8.17(v)) give the logarithm, which converges fast that far from the mean.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.nn.activations import log1mexp
from funcgrad.ops import elementwise as ew
from funcgrad.scipy import special
from funcgrad.scipy.stats._parts import INF, log, where

DEPTH = 10  # partial quotients; eight give all digits of the logarithm where they are used


def _fraction(start: Any, quotients: Sequence[tuple[Any, Any]]) -> Any:
    """start + a1 / (b1 + a2 / (b2 + ...)), from the end."""
    tail: Any = None
    for a, b in reversed(quotients):
        tail = a / (b if tail is None else b + tail)
    return start + tail


def _by_size(p: Any, rest: Any, tail: Any) -> Any:
    """log(p), by rest = 1 - p where that is small, or by its logarithm `tail` where p is."""
    least = float(np.finfo(p.dtype).tiny) * 1e4
    return where(p < least, tail, where(p > 0.5, ew.log1p(-rest), ew.log(p)))


def log_gammainc(a: Any, x: Any) -> Any:
    """The logarithm of the lower incomplete gamma function, over gamma(a), for x > 0."""
    quotients = [(-(a + n // 2) * x if n % 2 else (n // 2) * x, a + n) for n in range(1, DEPTH)]
    tail = special.xlogy(a, x) - x - ew.lgamma(a) - ew.log(_fraction(a, quotients))
    return _by_size(special.gammainc(a, x), special.gammaincc(a, x), tail)


def log_gammaincc(a: Any, x: Any) -> Any:
    """The logarithm of the upper incomplete gamma function, over gamma(a), for x > 0."""
    quotients = [(n * (a - n), x + (2 * n + 1) - a) for n in range(1, DEPTH)]
    tail = special.xlogy(a, x) - x - ew.lgamma(a) - ew.log(_fraction(x + 1 - a, quotients))
    return _by_size(special.gammaincc(a, x), special.gammainc(a, x), tail)


def log_betainc(a: Any, b: Any, x: Any, rest: Any) -> Any:
    """The logarithm of the regularised incomplete beta function, for 0 < x < 1; rest = 1 - x, which may be the exact one."""
    quotients = []
    for n in range(1, DEPTH):
        m, here = n // 2, a + n
        top = -(a + m) * (a + b + m) * x if n % 2 else m * (b - m) * x
        quotients.append((top / ((here - 1) * here), 1.0))
    front = special.xlogy(a, x) + special.xlog1py(b, -x) - log(a) - special.betaln(a, b)
    tail = front - ew.log(_fraction(1.0, quotients))
    return _by_size(special.betainc(a, b, x), special.betainc(b, a, rest), tail)


def log_choose(n: Any, k: Any) -> Any:
    """The logarithm of the number of ways to choose k of n."""
    return -ew.log1p(n) - special.betaln(n - k + 1, k + 1)


def log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the standard normal distribution's probability of [a, b], a <= b.

    By the difference of two tails, or by what lies outside, or over a narrow interval by a series around its middle.
    """
    mirrored = a > 0
    low, high = where(mirrored, -b, a), where(mirrored, -a, b)
    log_high = special.log_ndtr(high)
    tail = log_high + where(low == -INF, 0.0, log1mexp(log_high - special.log_ndtr(low)))
    outside = special.ndtr(low) + special.ndtr(-high)
    root = float(np.sqrt(0.5))
    wide = where(high <= 0, tail, where(outside > 0.5, _log_erf(high * root, low * root), ew.log1p(-outside)))
    width, middle = b - a, 0.5 * (a + b)
    narrow = width * (1 + abs(middle)) < 0.01  # not so where it is NaN: of infinite ends
    w, m = width * width, middle * middle
    series = w * ((m - 1) * (1 / 24) + w * ((m - 6) * m + 3) * (1 / 1920))
    return where(narrow, log(width) + ew.log1p(series) - 0.5 * m - float(np.log(2 * np.pi) / 2), wide)


def _log_erf(high: Any, low: Any) -> Any:
    return ew.log(0.5 * (ew.erf(high) - ew.erf(low)))
