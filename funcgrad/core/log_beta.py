"""log |B(a, b)| in NumPy over arrays, without the cancellation of three large logarithms of gamma functions, and
rising factorials."""

from typing import Any

import numpy as np

from funcgrad.core.lazy import LazyModule

special: Any = LazyModule("scipy.special")

# Of log Gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2, in powers of 1 / x^2 after 1 / x (DLMF 5.11.1).
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
LARGE = 10.0


def stirling(x: np.ndarray) -> np.ndarray:
    """The correction to Stirling's formula for x >= 10."""
    r = 1 / x
    z = r * r
    total = np.zeros_like(x)
    for c in reversed(STIRLING):
        total = total * z + c
    return total * r


def log_beta(a: Any, b: Any) -> np.ndarray:
    """log |B(a, b)|; infinite at poles, as SciPy's betaln."""
    a, b = (np.asarray(v, np.float64) for v in np.broadcast_arrays(a, b))
    low, high = np.minimum(a, b), np.maximum(a, b)
    with np.errstate(all="ignore"):
        both, one = (low >= LARGE) & (high < np.inf), (low + high >= LARGE) & (high >= LARGE) & (high < np.inf)
        p, q = np.where(one, low, LARGE), np.where(one, high, LARGE)
        ratio = p / (p + q)
        # log Gamma(q) - log Gamma(p + q), of which p log(p + q) - p is what remains large
        rest = stirling(q) - stirling(p + q) + (q - 0.5) * np.log1p(-ratio)
        with_gamma = special.gammaln(p) + rest + p - p * np.log(p + q)
        large = np.maximum(p, LARGE)
        without = stirling(large) + rest + (p - 0.5) * np.log(ratio) - 0.5 * np.log(q + p) + 0.5 * np.log(2 * np.pi)
        small = special.betaln(a, b)
    out = np.where(both, without, np.where(one, with_gamma, small))
    out = np.where((low > 0) & (low < np.inf) & (high == np.inf), -np.inf, out)
    return np.where(np.isnan(a) | np.isnan(b), np.nan, out)


def rising(z: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Gamma(z + m) / Gamma(z), SciPy's poch; NaN at infinities (but 1 for m = 0)."""
    with np.errstate(all="ignore"):
        value = special.poch(z, m)
        # Between two poles it is that of 1 - z - m with the sign of (-1)^m, where SciPy's infinities make a NaN of it.
        lost = np.isnan(value) & (z <= 0) & (np.floor(z) == z) & (z + m <= 0) & (np.floor(m) == m) & np.isfinite(z + m)
        if np.any(lost):
            down = np.where(lost & (m < 0), 1 - z, 1), np.where(lost & (m < 0), -m, 0)
            up = np.where(lost & (m > 0), 1 - z - m, 1), np.where(lost & (m > 0), m, 0)
            mirrored = np.where(m % 2 == 0, 1, -1) * special.poch(*up) / special.poch(*down)
            value = np.where(lost, mirrored, value).astype(np.asarray(value).dtype)
    return np.where((np.isfinite(z) & np.isfinite(m)) | (m == 0), value, np.nan).astype(np.asarray(value).dtype)
