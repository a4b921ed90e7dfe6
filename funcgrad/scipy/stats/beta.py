"""The beta distribution: density x^(a - 1) (1 - x)^(b - 1) / B(a, b) on [0, 1]."""

from typing import Any

from funcgrad.scipy import special
from funcgrad.scipy.stats._parts import INF, checked, density, less_log, operands, standard, where
from funcgrad.scipy.stats._tails import log_betainc

__all__ = ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"]


def _clipped(z: Any) -> Any:
    """z, 1/2 outside [0, 1], where it is not asked for."""
    return where((z < 0) | (z > 1), 0.5, z)


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the beta distribution at x.

    Args: x: real numbers; a, b: the exponents plus 1; loc, scale: where the distribution lies, and how wide it is. All
    broadcast; integers become the default float.
    Returns: NaN where a, b or scale is not positive.

    >>> from funcgrad.scipy.stats import beta
    >>> beta.logpdf(fnp.array([0.0, 0.1, 0.9]), 2.0, 3.0)
    Array([       -inf, -0.02839947, -2.2256236 ], dtype=float32)
    """
    x, a, b, loc, scale = operands("beta.logpdf", x, a, b, at=(loc, scale))
    z = standard(x, loc, scale)
    inside = special.xlogy(a - 1, z) + special.xlog1py(b - 1, -z) - special.betaln(a, b)
    return checked(where((z < 0) | (z > 1), -INF, less_log(inside, scale)), a > 0, b > 0, scale > 0)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the beta distribution at x.

    Args: x: real numbers; a, b: the exponents plus 1; loc, scale: where the distribution lies, and how wide it is. All
    broadcast; integers become the default float.
    Returns: NaN where a, b or scale is not positive.

    >>> from funcgrad.scipy.stats import beta
    >>> beta.pdf(fnp.array([0.0, 0.1, 0.9]), 2.0, 3.0)
    Array([0.        , 0.97200006, 0.10800005], dtype=float32)
    """
    return density(logpdf(x, a, b, loc, scale))


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x under the beta distribution.

    Args: x: real numbers; a, b: the exponents plus 1; loc, scale: where the distribution lies, and how wide it is. All
    broadcast; integers become the default float.
    Returns: NaN where a, b or scale is not positive.

    >>> from funcgrad.scipy.stats import beta
    >>> beta.cdf(fnp.array([0.0, 0.1, 0.9]), 2.0, 3.0)
    Array([0.    , 0.0523, 0.9963], dtype=float32)
    """
    x, a, b, loc, scale = operands("beta.cdf", x, a, b, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z < 0, 0.0, where(z > 1, 1.0, special.betainc(a, b, _clipped(z)))), a > 0, b > 0, scale > 0)


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of at most x under the beta distribution, finite also where that underflows.

    Args: x: real numbers; a, b: the exponents plus 1; loc, scale: where the distribution lies, and how wide it is. All
    broadcast; integers become the default float.
    Returns: NaN where a, b or scale is not positive.

    >>> from funcgrad.scipy.stats import beta
    >>> beta.logcdf(fnp.array([0.0, 0.1, 0.9]), 2.0, 3.0)
    Array([       -inf, -2.950759  , -0.00370686], dtype=float32)
    """
    x, a, b, loc, scale = operands("beta.logcdf", x, a, b, at=(loc, scale))
    z = standard(x, loc, scale)
    inside = log_betainc(a, b, _clipped(z), 1 - _clipped(z))
    return checked(where(z <= 0, -INF, where(z >= 1, 0.0, inside)), a > 0, b > 0, scale > 0)


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x under the beta distribution: 1 - cdf, exact also where it is small.

    Args: x: real numbers; a, b: the exponents plus 1; loc, scale: where the distribution lies, and how wide it is. All
    broadcast; integers become the default float.
    Returns: NaN where a, b or scale is not positive.

    >>> from funcgrad.scipy.stats import beta
    >>> beta.sf(fnp.array([0.0, 0.1, 0.9]), 2.0, 3.0)
    Array([1.        , 0.94769996, 0.0037    ], dtype=float32)
    """
    x, a, b, loc, scale = operands("beta.sf", x, a, b, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z < 0, 1.0, where(z > 1, 0.0, special.betainc(b, a, 1 - _clipped(z)))), a > 0, b > 0, scale > 0)


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x under the beta distribution, finite also where that underflows.

    Args: x: real numbers; a, b: the exponents plus 1; loc, scale: where the distribution lies, and how wide it is. All
    broadcast; integers become the default float.
    Returns: NaN where a, b or scale is not positive.

    >>> from funcgrad.scipy.stats import beta
    >>> beta.logsf(fnp.array([0.0, 0.1, 0.9]), 2.0, 3.0)
    Array([ 0.        , -0.05371731, -5.599422  ], dtype=float32)
    """
    x, a, b, loc, scale = operands("beta.logsf", x, a, b, at=(loc, scale))
    z = standard(x, loc, scale)
    inside = log_betainc(b, a, 1 - _clipped(z), _clipped(z))
    return checked(where(z <= 0, 0.0, where(z >= 1, -INF, inside)), a > 0, b > 0, scale > 0)
