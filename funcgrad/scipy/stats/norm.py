"""The normal distribution: density exp(-x^2 / 2) / sqrt(2 pi)."""

import math
from typing import Any

from funcgrad.ops import elementwise as ew
from funcgrad.scipy import special
from funcgrad.scipy.stats._parts import checked, density, less_log, operands, placed, standard

__all__ = ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the normal distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import norm
    >>> norm.logpdf(fnp.array([-40.0, 0.0, 1.5]))
    Array([-800.91895  ,   -0.9189385,   -2.0439386], dtype=float32)
    """
    x, loc, scale = operands("norm.logpdf", x, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(less_log(-0.5 * ew.square(z) - 0.5 * math.log(2 * math.pi), scale), scale > 0)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the normal distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import norm
    >>> norm.pdf(fnp.array([-40.0, 0.0, 1.5]))
    Array([0.        , 0.3989423 , 0.12951757], dtype=float32)
    """
    return density(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x under the normal distribution.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import norm
    >>> norm.cdf(fnp.array([-40.0, 0.0, 1.5]))
    Array([0.       , 0.5      , 0.9331928], dtype=float32)
    """
    x, loc, scale = operands("norm.cdf", x, at=(loc, scale))
    return checked(special.ndtr(standard(x, loc, scale)), scale > 0)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of at most x under the normal distribution, finite also where that underflows.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import norm
    >>> norm.logcdf(fnp.array([-40.0, 0.0, 1.5]))
    Array([-8.0460846e+02, -6.9314718e-01, -6.9143467e-02], dtype=float32)
    """
    x, loc, scale = operands("norm.logcdf", x, at=(loc, scale))
    return checked(special.log_ndtr(standard(x, loc, scale)), scale > 0)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x under the normal distribution: 1 - cdf, exact also where it is small.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import norm
    >>> norm.sf(fnp.array([-40.0, 0.0, 1.5]))
    Array([1.        , 0.5       , 0.06680721], dtype=float32)
    """
    x, loc, scale = operands("norm.sf", x, at=(loc, scale))
    return checked(special.ndtr(-standard(x, loc, scale)), scale > 0)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x under the normal distribution, finite also where that underflows.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import norm
    >>> norm.logsf(fnp.array([-40.0, 0.0, 1.5]))
    Array([-0.       , -0.6931472, -2.7059445], dtype=float32)
    """
    x, loc, scale = operands("norm.logsf", x, at=(loc, scale))
    return checked(special.log_ndtr(-standard(x, loc, scale)), scale > 0)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The place below which the normal distribution has the probability q: the inverse of `cdf`.

    Args: q: probabilities; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive, or q is not in [0, 1].

    >>> from funcgrad.scipy.stats import norm
    >>> norm.ppf(fnp.array([0.025, 0.5]))
    Array([-1.959964,  0.      ], dtype=float32)
    """
    q, loc, scale = operands("norm.ppf", q, at=(loc, scale))
    return checked(placed(special.ndtri(q), loc, scale), scale > 0)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The place above which the normal distribution has the probability q: the inverse of `sf`.

    Args: q: probabilities; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive, or q is not in [0, 1].

    >>> from funcgrad.scipy.stats import norm
    >>> norm.isf(fnp.array([0.025, 0.5]))
    Array([ 1.959964, -0.      ], dtype=float32)
    """
    q, loc, scale = operands("norm.isf", q, at=(loc, scale))
    return checked(placed(-special.ndtri(q), loc, scale), scale > 0)
