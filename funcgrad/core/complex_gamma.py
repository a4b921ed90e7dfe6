"""Derivatives of the logarithm of the gamma function for complex operands, in NumPy over arrays.

From the third on (SciPy has none) by (-1)^n (n-1)! zeta(n, z): terms up to a real part of 10, then Euler and Maclaurin's formula
(DLMF 5.15.1, 5.15.9); left of the imaginary axis, far from the real one, the same sum is used, since its terms are exact there.
"""

from math import factorial
from typing import Any

import numpy as np

from funcgrad.core.lazy import LazyModule

special: Any = LazyModule("scipy.special")
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def loggamma_derivative(z: np.ndarray, n: int) -> np.ndarray:
    """The n-th derivative of loggamma at complex z, in the dtype of z."""
    with np.errstate(all="ignore"):
        if n < 2:
            return np.asarray(special.loggamma(z) if n == 0 else special.psi(z)).astype(z.dtype)
        return np.asarray((-1) ** n * factorial(n - 1) * _zeta(n, z.astype(np.complex128))).astype(z.dtype)


def _zeta(s: int, z: np.ndarray) -> np.ndarray:
    """The sum of (z + k)^-s over k = 0, 1, ..., for a whole s > 1."""
    total = np.zeros_like(z)
    w = z.copy()
    for _ in range(int(np.clip(12 - np.min(np.real(z), initial=12.0), 0, 4096)) + 1):
        low = (np.real(w) < 10) & (np.abs(w) < 1e3)
        total = total + np.where(low, w**-s, 0)
        w = np.where(low, w + 1, w)
    total = total + w ** (1 - s) / (s - 1) + w**-s / 2
    rising = float(s)
    for j, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + bernoulli / factorial(2 * j) * rising * w ** (1 - s - 2 * j)
        rising *= (s + 2 * j - 1) * (s + 2 * j)
    return total
