"""The Cauchy distribution: density 1 / (pi (1 + x^2))."""

import math
from typing import Any

from funcgrad import numpy as fnp
from funcgrad.ops import elementwise as ew
from funcgrad.scipy.stats._parts import INF, checked, density, less_log, log1p_square, operands, placed, standard, where

__all__ = ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"]


def _below(z: Any) -> Any:
    """The angle of the point (-z, 1), in half turns: exact in both tails."""
    return fnp.arctan2(1.0, -z) * (1 / math.pi)


def _log_below(z: Any) -> Any:
    return where(z > 0, ew.log1p(-_below(-z)), ew.log(_below(z)))


def _quantile(q: Any) -> Any:
    """tan(pi (q - 1/2)), from the nearer end."""
    low, high = q < 0.25, q > 0.75
    tails = -1 / ew.tan(math.pi * where(high, 1 - q, q))
    z = where(low | high, where(high, -tails, tails), ew.tan(math.pi * (q - 0.5)))
    return checked(where(q == 0, -INF, where(q == 1, INF, z)), q >= 0, q <= 1)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the Cauchy distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import cauchy
    >>> cauchy.logpdf(fnp.array([-1e20, 0.0, 2.0]))
    Array([-93.24813  ,  -1.1447299,  -2.7541678], dtype=float32)
    """
    x, loc, scale = operands("cauchy.logpdf", x, at=(loc, scale))
    return checked(less_log(-log1p_square(standard(x, loc, scale)) - math.log(math.pi), scale), scale > 0)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the Cauchy distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import cauchy
    >>> cauchy.pdf(fnp.array([-1e20, 0.0, 2.0]))
    Array([3.1830495e-41, 3.1830993e-01, 6.3661978e-02], dtype=float32)
    """
    return density(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x under the Cauchy distribution.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import cauchy
    >>> cauchy.cdf(fnp.array([-1e20, 0.0, 2.0]))
    Array([3.1830986e-21, 5.0000000e-01, 8.5241640e-01], dtype=float32)
    """
    x, loc, scale = operands("cauchy.cdf", x, at=(loc, scale))
    return checked(_below(standard(x, loc, scale)), scale > 0)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of at most x under the Cauchy distribution, finite also where that underflows.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import cauchy
    >>> cauchy.logcdf(fnp.array([-1e20, 0.0, 2.0]))
    Array([-47.19643   ,  -0.6931472 ,  -0.15968017], dtype=float32)
    """
    x, loc, scale = operands("cauchy.logcdf", x, at=(loc, scale))
    return checked(_log_below(standard(x, loc, scale)), scale > 0)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x under the Cauchy distribution: 1 - cdf, exact also where it is small.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import cauchy
    >>> cauchy.sf(fnp.array([-1e20, 0.0, 2.0]))
    Array([1.        , 0.5       , 0.14758362], dtype=float32)
    """
    x, loc, scale = operands("cauchy.sf", x, at=(loc, scale))
    return checked(_below(-standard(x, loc, scale)), scale > 0)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x under the Cauchy distribution, finite also where that underflows.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import cauchy
    >>> cauchy.logsf(fnp.array([-1e20, 0.0, 2.0]))
    Array([-3.1830986e-21, -6.9314718e-01, -1.9133604e+00], dtype=float32)
    """
    x, loc, scale = operands("cauchy.logsf", x, at=(loc, scale))
    return checked(_log_below(-standard(x, loc, scale)), scale > 0)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The place below which the Cauchy distribution has the probability q: the inverse of `cdf`.

    Args: q: probabilities; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive, or q is not in [0, 1].

    >>> from funcgrad.scipy.stats import cauchy
    >>> cauchy.ppf(fnp.array([0.25, 0.5]))
    Array([-1.,  0.], dtype=float32)
    """
    q, loc, scale = operands("cauchy.ppf", q, at=(loc, scale))
    return checked(placed(_quantile(q), loc, scale), scale > 0)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The place above which the Cauchy distribution has the probability q: the inverse of `sf`.

    Args: q: probabilities; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive, or q is not in [0, 1].

    >>> from funcgrad.scipy.stats import cauchy
    >>> cauchy.isf(fnp.array([0.25, 0.5]))
    Array([ 1., -0.], dtype=float32)
    """
    q, loc, scale = operands("cauchy.isf", q, at=(loc, scale))
    return checked(placed(-_quantile(q), loc, scale), scale > 0)
