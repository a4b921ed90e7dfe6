"""The normal distribution of location loc and scale `scale`, given that (x - loc) / scale lies in [a, b]."""

import math
from typing import Any

from funcgrad.ops import elementwise as ew
from funcgrad.scipy.stats._parts import INF, checked, density, less_log, operands, standard, where
from funcgrad.scipy.stats._tails import log_mass

__all__ = ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"]


def _log_part(part: Any, rest: Any) -> Any:
    """The logarithm of a part of 1, by the other part where it is nearly all."""
    return where(part > -0.1, ew.log1p(-ew.exp(rest)), part)


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the truncated normal distribution at x.

    Args: x: real numbers; a, b: the bounds, in scales from loc; loc, scale: where the distribution lies, and how wide it is.
    All broadcast; integers become the default float.
    Returns: NaN where a is not below b or scale is not positive.

    >>> from funcgrad.scipy.stats import truncnorm
    >>> truncnorm.logpdf(fnp.array([-1.0, 0.5, 3.0]), -1.0, 2.0)
    Array([-1.2187722, -0.8437722,       -inf], dtype=float32)
    """
    x, a, b, loc, scale = operands("truncnorm.logpdf", x, a, b, at=(loc, scale))
    z = standard(x, loc, scale)
    inside = -0.5 * ew.square(z) - 0.5 * math.log(2 * math.pi) - log_mass(a, b)
    return checked(where((z < a) | (z > b), -INF, less_log(inside, scale)), a < b, scale > 0)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the truncated normal distribution at x.

    Args: x: real numbers; a, b: the bounds, in scales from loc; loc, scale: where the distribution lies, and how wide it is.
    All broadcast; integers become the default float.
    Returns: NaN where a is not below b or scale is not positive.

    >>> from funcgrad.scipy.stats import truncnorm
    >>> truncnorm.pdf(fnp.array([-1.0, 0.5, 3.0]), -1.0, 2.0)
    Array([0.2955929 , 0.43008512, 0.        ], dtype=float32)
    """
    return density(logpdf(x, a, b, loc, scale))


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x under the truncated normal distribution.

    Args: x: real numbers; a, b: the bounds, in scales from loc; loc, scale: where the distribution lies, and how wide it is.
    All broadcast; integers become the default float.
    Returns: NaN where a is not below b or scale is not positive.

    >>> from funcgrad.scipy.stats import truncnorm
    >>> truncnorm.cdf(fnp.array([-1.0, 0.5, 3.0]), -1.0, 2.0)
    Array([0.       , 0.6508804, 1.       ], dtype=float32)
    """
    return ew.exp(logcdf(x, a, b, loc, scale))


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of at most x under the truncated normal distribution, finite also where that underflows.

    Args: x: real numbers; a, b: the bounds, in scales from loc; loc, scale: where the distribution lies, and how wide it is.
    All broadcast; integers become the default float.
    Returns: NaN where a is not below b or scale is not positive.

    >>> from funcgrad.scipy.stats import truncnorm
    >>> truncnorm.logcdf(fnp.array([-1.0, 0.5, 3.0]), -1.0, 2.0)
    Array([       -inf, -0.42942932,  0.        ], dtype=float32)
    """
    x, a, b, loc, scale = operands("truncnorm.logcdf", x, a, b, at=(loc, scale))
    z = standard(x, loc, scale)
    inside = _log_part(log_mass(a, z) - log_mass(a, b), log_mass(z, b) - log_mass(a, b))
    return checked(where(z <= a, -INF, where(z >= b, 0.0, inside)), a < b, scale > 0)


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x under the truncated normal distribution: 1 - cdf, exact also where it is small.

    Args: x: real numbers; a, b: the bounds, in scales from loc; loc, scale: where the distribution lies, and how wide it is.
    All broadcast; integers become the default float.
    Returns: NaN where a is not below b or scale is not positive.

    >>> from funcgrad.scipy.stats import truncnorm
    >>> truncnorm.sf(fnp.array([-1.0, 0.5, 3.0]), -1.0, 2.0)
    Array([1.       , 0.3491196, 0.       ], dtype=float32)
    """
    return ew.exp(logsf(x, a, b, loc, scale))


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x under the truncated normal distribution, finite also where that
    underflows.

    Args: x: real numbers; a, b: the bounds, in scales from loc; loc, scale: where the distribution lies, and how wide it is.
    All broadcast; integers become the default float.
    Returns: NaN where a is not below b or scale is not positive.

    >>> from funcgrad.scipy.stats import truncnorm
    >>> truncnorm.logsf(fnp.array([-1.0, 0.5, 3.0]), -1.0, 2.0)
    Array([ 0.       , -1.0523407,       -inf], dtype=float32)
    """
    x, a, b, loc, scale = operands("truncnorm.logsf", x, a, b, at=(loc, scale))
    z = standard(x, loc, scale)
    inside = _log_part(log_mass(z, b) - log_mass(a, b), log_mass(a, z) - log_mass(a, b))
    return checked(where(z <= a, 0.0, where(z >= b, -INF, inside)), a < b, scale > 0)
