"""The logistic distribution: cdf 1 / (1 + exp(-x))."""

from typing import Any

from funcgrad.nn.activations import softplus
from funcgrad.ops import elementwise as ew
from funcgrad.scipy.stats._parts import checked, density, less_log, operands, placed, standard

__all__ = ["logpdf", "pdf", "cdf", "sf", "ppf", "isf"]


def _logit(q: Any) -> Any:
    return ew.log(q) - ew.log1p(-q)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the logistic distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import logistic
    >>> logistic.logpdf(fnp.array([-40.0, 0.0, 2.0]))
    Array([-40.       ,  -1.3862944,  -2.2538562], dtype=float32)
    """
    x, loc, scale = operands("logistic.logpdf", x, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(less_log(-(softplus(z) + softplus(-z)), scale), scale > 0)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the logistic distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import logistic
    >>> logistic.pdf(fnp.array([-40.0, 0.0, 2.0]))
    Array([4.2483541e-18, 2.5000000e-01, 1.0499357e-01], dtype=float32)
    """
    return density(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x under the logistic distribution.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import logistic
    >>> logistic.cdf(fnp.array([-40.0, 0.0, 2.0]))
    Array([4.248354e-18, 5.000000e-01, 8.807970e-01], dtype=float32)
    """
    x, loc, scale = operands("logistic.cdf", x, at=(loc, scale))
    return checked(ew.logistic(standard(x, loc, scale)), scale > 0)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x under the logistic distribution: 1 - cdf, exact also where it is small.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import logistic
    >>> logistic.sf(fnp.array([-40.0, 0.0, 2.0]))
    Array([1.        , 0.5       , 0.11920292], dtype=float32)
    """
    x, loc, scale = operands("logistic.sf", x, at=(loc, scale))
    return checked(ew.logistic(-standard(x, loc, scale)), scale > 0)


def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The place below which the logistic distribution has the probability x: the inverse of `cdf`.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive, or x is not in [0, 1].

    >>> from funcgrad.scipy.stats import logistic
    >>> logistic.ppf(fnp.array([0.25, 0.5]))
    Array([-1.0986123,  0.       ], dtype=float32)
    """
    q, loc, scale = operands("logistic.ppf", x, at=(loc, scale))
    return checked(placed(_logit(q), loc, scale), scale > 0)


def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The place above which the logistic distribution has the probability x: the inverse of `sf`.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive, or x is not in [0, 1].

    >>> from funcgrad.scipy.stats import logistic
    >>> logistic.isf(fnp.array([0.25, 0.5]))
    Array([ 1.0986123, -0.       ], dtype=float32)
    """
    q, loc, scale = operands("logistic.isf", x, at=(loc, scale))
    return checked(placed(-_logit(q), loc, scale), scale > 0)
