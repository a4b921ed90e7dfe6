"""The gamma distribution: density x^(a - 1) exp(-x) / gamma(a) for x > 0."""

from typing import Any

from funcgrad.ops import elementwise as ew
from funcgrad.scipy import special
from funcgrad.scipy.stats._parts import INF, checked, density, less_log, operands, standard, where
from funcgrad.scipy.stats._tails import log_gammainc, log_gammaincc

__all__ = ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"]


def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the gamma distribution at x.

    Args: x: real numbers; a: the shape; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers
    become the default float.
    Returns: NaN where a or scale is not positive.

    >>> from funcgrad.scipy.stats import gamma
    >>> gamma.logpdf(fnp.array([-1.0, 0.5, 900.0]), 2.5)
    Array([        -inf,   -1.8244036, -890.08105  ], dtype=float32)
    """
    x, a, loc, scale = operands("gamma.logpdf", x, a, at=(loc, scale))
    z = standard(x, loc, scale)
    inside = less_log(special.xlogy(a - 1, z) - z - ew.lgamma(a), scale)
    return checked(where((z < 0) | (z == INF), -INF, inside), a > 0, scale > 0)


def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the gamma distribution at x.

    Args: x: real numbers; a: the shape; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers
    become the default float.
    Returns: NaN where a or scale is not positive.

    >>> from funcgrad.scipy.stats import gamma
    >>> gamma.pdf(fnp.array([-1.0, 0.5, 900.0]), 2.5)
    Array([0.        , 0.16131382, 0.        ], dtype=float32)
    """
    return density(logpdf(x, a, loc, scale))


def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x under the gamma distribution.

    Args: x: real numbers; a: the shape; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers
    become the default float.
    Returns: NaN where a or scale is not positive.

    >>> from funcgrad.scipy.stats import gamma
    >>> gamma.cdf(fnp.array([-1.0, 0.5, 900.0]), 2.5)
    Array([0.        , 0.03743423, 1.        ], dtype=float32)
    """
    x, a, loc, scale = operands("gamma.cdf", x, a, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z < 0, 0.0, special.gammainc(a, z)), a > 0, scale > 0)


def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of at most x under the gamma distribution, finite also where that underflows.

    Args: x: real numbers; a: the shape; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers
    become the default float.
    Returns: NaN where a or scale is not positive.

    >>> from funcgrad.scipy.stats import gamma
    >>> gamma.logcdf(fnp.array([-1.0, 0.5, 900.0]), 2.5)
    Array([      -inf, -3.2851698, -0.       ], dtype=float32)
    """
    x, a, loc, scale = operands("gamma.logcdf", x, a, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z <= 0, -INF, log_gammainc(a, z)), a > 0, scale > 0)


def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x under the gamma distribution: 1 - cdf, exact also where it is small.

    Args: x: real numbers; a: the shape; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers
    become the default float.
    Returns: NaN where a or scale is not positive.

    >>> from funcgrad.scipy.stats import gamma
    >>> gamma.sf(fnp.array([-1.0, 0.5, 900.0]), 2.5)
    Array([1.       , 0.9625658, 0.       ], dtype=float32)
    """
    x, a, loc, scale = operands("gamma.sf", x, a, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z < 0, 1.0, special.gammaincc(a, z)), a > 0, scale > 0)


def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x under the gamma distribution, finite also where that underflows.

    Args: x: real numbers; a: the shape; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers
    become the default float.
    Returns: NaN where a or scale is not positive.

    >>> from funcgrad.scipy.stats import gamma
    >>> gamma.logsf(fnp.array([-1.0, 0.5, 900.0]), 2.5)
    Array([ 0.000000e+00, -3.815288e-02, -8.900794e+02], dtype=float32)
    """
    x, a, loc, scale = operands("gamma.logsf", x, a, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z <= 0, 0.0, where(z == INF, -INF, log_gammaincc(a, z))), a > 0, scale > 0)
