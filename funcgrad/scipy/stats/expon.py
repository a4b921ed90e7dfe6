"""The exponential distribution: density exp(-x) for x >= 0."""

from typing import Any

from funcgrad.nn.activations import log1mexp
from funcgrad.ops import elementwise as ew
from funcgrad.scipy.stats._parts import INF, checked, density, less_log, operands, placed, standard, where

__all__ = ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the exponential distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import expon
    >>> expon.logpdf(fnp.array([-1.0, 0.5, 2.0]))
    Array([-inf, -0.5, -2. ], dtype=float32)
    """
    x, loc, scale = operands("expon.logpdf", x, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z < 0, -INF, less_log(-z, scale)), scale > 0)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the exponential distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import expon
    >>> expon.pdf(fnp.array([-1.0, 0.5, 2.0]))
    Array([0.        , 0.60653067, 0.13533528], dtype=float32)
    """
    return density(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x under the exponential distribution.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import expon
    >>> expon.cdf(fnp.array([-1.0, 0.5, 2.0]))
    Array([0.        , 0.39346933, 0.86466473], dtype=float32)
    """
    x, loc, scale = operands("expon.cdf", x, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z < 0, 0.0, -ew.expm1(-z)), scale > 0)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of at most x under the exponential distribution, finite also where that underflows.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import expon
    >>> expon.logcdf(fnp.array([-1.0, 0.5, 2.0]))
    Array([       -inf, -0.93275213, -0.14541346], dtype=float32)
    """
    x, loc, scale = operands("expon.logcdf", x, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z <= 0, -INF, log1mexp(z)), scale > 0)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x under the exponential distribution: 1 - cdf, exact also where it is small.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import expon
    >>> expon.sf(fnp.array([-1.0, 0.5, 2.0]))
    Array([1.        , 0.60653067, 0.13533528], dtype=float32)
    """
    return ew.exp(logsf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x under the exponential distribution, finite also where that underflows.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import expon
    >>> expon.logsf(fnp.array([-1.0, 0.5, 2.0]))
    Array([ 0. , -0.5, -2. ], dtype=float32)
    """
    x, loc, scale = operands("expon.logsf", x, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z < 0, 0.0, -z), scale > 0)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The place below which the exponential distribution has the probability q: the inverse of `cdf`.

    Args: q: probabilities; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive, or q is not in [0, 1].

    >>> from funcgrad.scipy.stats import expon
    >>> expon.ppf(fnp.array([0.0, 0.5]))
    Array([0.       , 0.6931472], dtype=float32)
    """
    q, loc, scale = operands("expon.ppf", q, at=(loc, scale))
    return checked(placed(-ew.log1p(-q), loc, scale), q >= 0, q <= 1, scale > 0)
