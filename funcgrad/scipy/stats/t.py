"""Student's t distribution."""

import math
from typing import Any

from funcgrad.ops import elementwise as ew
from funcgrad.scipy.stats._parts import INF, checked, density, less_log, log, log1p_square, operands, standard, where

__all__ = ["logpdf", "pdf"]


def _log_ratio(x: Any) -> Any:
    """log gamma(x + 1/2) - log gamma(x), for large x by its asymptotic series (DLMF 5.11.13)."""
    r = 1 / x
    s = ew.square(r)
    far = 0.5 * log(x) - r * (1 / 8 - s * (1 / 192 - s * (1 / 640 - s * (17 / 14336))))
    return where(x > 50, far, ew.lgamma(x + 0.5) - ew.lgamma(x))


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the t distribution at x.

    Args: x: real numbers; df: degrees of freedom (inf: the normal distribution); loc, scale: where the distribution lies, and
    how wide it is. All broadcast; integers become the default float.
    Returns: NaN where df or scale is not positive.

    >>> from funcgrad.scipy.stats import t
    >>> t.logpdf(fnp.array([-1.0, 0.0, 1e30]), 3)
    Array([  -1.5762529,   -1.0008888, -275.11386  ], dtype=float32)
    """
    x, df, loc, scale = operands("t.logpdf", x, df, at=(loc, scale))
    z = standard(x, loc, scale)
    half = (df + 1) * 0.5
    tail = half * log1p_square(z / ew.sqrt(df))
    inside = _log_ratio(df * 0.5) - 0.5 * (log(df) + math.log(math.pi)) - tail
    normal = -0.5 * ew.square(z) - 0.5 * math.log(2 * math.pi)
    return checked(less_log(where(df == INF, normal, inside), scale), df > 0, scale > 0)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the t distribution at x.

    Args: x: real numbers; df: degrees of freedom (inf: the normal distribution); loc, scale: where the distribution lies, and
    how wide it is. All broadcast; integers become the default float.
    Returns: NaN where df or scale is not positive.

    >>> from funcgrad.scipy.stats import t
    >>> t.pdf(fnp.array([-1.0, 0.0, 1e30]), 3)
    Array([0.20674834, 0.36755258, 0.        ], dtype=float32)
    """
    return density(logpdf(x, df, loc, scale))
