"""The Hurwitz zeta function and its derivatives by the exponent, in NumPy over arrays.

The Euler-Maclaurin sum (DLMF 25.11.5), its terms as polynomials in a small change of the exponent. Relative errors are
about 1e-14."""

from math import factorial
from typing import Any

import numpy as np

_TERMS = 12  # that are summed as they are
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def _product(p: list[Any], q: list[Any]) -> list[Any]:
    """Two polynomials multiplied, cut to the length of the first."""
    return [sum(p[k] * q[n - k] for k in range(n + 1) if n - k < len(q)) for n in range(len(p))]


def _power(base: np.ndarray, s: np.ndarray, order: int) -> list[Any]:
    """base^-(s + e) as a polynomial in e."""
    value, log = base**-s, -np.log(base)
    return [value * log**k / factorial(k) for k in range(order + 1)]


def zeta_derivative(s: Any, q: Any, n: int) -> np.ndarray:
    """The n-th derivative by s of the sum of (q + k)^-s over k = 0, 1, ... (continued to s > -1), for q > 0; NaN
    elsewhere."""
    s, q = (np.asarray(v, np.float64) for v in np.broadcast_arrays(s, q))
    inside = (s > -1) & (s != 1) & (q > 0)
    s, q = np.where(inside, s, 2.0), np.where(inside, q, 1.0)
    total = np.zeros_like(s)
    for k in range(_TERMS):
        total = total + _power(q + k, s, n)[n]
    w = q + _TERMS
    last = _power(w, s, n)
    inverse = [(-1) ** k / (s - 1) ** (k + 1) for k in range(n + 1)]
    total = total + w * _product(last, inverse)[n] + last[n] / 2
    rising: list[Any] = [s, *([1.0] if n else []), *[0.0] * (n - 1)]  # s (s + 1) ... (s + 2j - 2)
    for j, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + bernoulli / factorial(2 * j) * _product(last, rising)[n] * w ** (1 - 2 * j)
        for m in (2 * j - 1, 2 * j):
            rising = _product(rising, [s + m, 1.0])
    return np.where(inside, factorial(n) * total, np.nan)
