"""Special functions of SciPy's in NumPy over arrays, with their values where SciPy gives NaN or an infinity that is none, or
loses digits: near the ends of the range of floats, or of the functions."""

from typing import Any

import numpy as np

from funcgrad.core.lazy import LazyModule

special: Any = LazyModule("scipy.special")


def _replaced(where: Any, value: Any, out: Any) -> np.ndarray:
    """`out`, with `value` where it holds, in the dtype of `out`."""
    return np.where(where, np.asarray(value).astype(np.asarray(out).dtype), out) if np.any(where) else np.asarray(out)


def log_gamma(x: np.ndarray) -> np.ndarray:
    """log |Gamma(x)|; next to 0, where 1 / x may be infinite, it is -log |x| (DLMF 5.7.1)."""
    with np.errstate(all="ignore"):
        size = np.abs(x)
        return _replaced((size > 0) & (size < 1e-300), -np.log(size.astype(np.float64)), special.gammaln(x))


def hurwitz(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The sum of (q + k)^-x; where x is huge its first term is all for q > 1."""
    with np.errstate(all="ignore"):
        out = special.zeta(x, q)
        return _replaced(np.isnan(out) & (q > 1) & (x > 1e3), np.asarray(q, np.float64) ** -np.asarray(x, np.float64), out)


def incomplete_gamma(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The regularised lower incomplete gamma function; next to a = 0, where 1 / a may be infinite, it is 1."""
    return special.gammainc(np.where((a > 0) & (a < 1e-300), 1e-300, a), x)


def fresnel(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fresnel's S and C; far out, where x^2 may be infinite, 1/2 with the sign of x (DLMF 7.3.20)."""
    with np.errstate(all="ignore"):
        far, half = np.abs(x) > 1e100, np.copysign(0.5, x)
        sine, cosine = [_replaced(far, half, part) for part in special.fresnel(x)]
        return sine, cosine


def owens_t(h: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Owen's T; of small a by the power series of its integrand (Patefield and Tandy, "Fast and accurate calculation of Owen's T
    function", J. Stat. Software 5, 2000), where what SciPy does is rounded off."""
    with np.errstate(all="ignore"):
        wide, b = np.minimum(np.abs(np.asarray(h, np.float64)), 100.0) ** 2, np.asarray(a, np.float64) ** 2
        near = b * (wide / 2 + 1) < 1e-5
        one, two = -(wide / 2 + 1), wide * wide / 8 + wide / 2 + 1
        series = np.exp(-wide / 2) / (2 * np.pi) * a * (1 + b * (one / 3 + b * two / 5))
        return _replaced(near, series, special.owens_t(h, a))
