"""The generalized normal distribution: density proportional to exp(-|x|^beta)."""

import math
from typing import Any

from funcgrad import numpy as fnp
from funcgrad.ops import elementwise as ew
from funcgrad.scipy import special
from funcgrad.scipy.stats._parts import checked, density, log, operands, where

__all__ = ["logpdf", "pdf", "cdf"]


def logpdf(x: Any, beta: Any) -> Any:
    """The logarithm of the density of the generalized normal distribution at x.

    Args: x: real numbers; beta: the exponent (1: Laplace; 2: normal, of variance 1/2). All broadcast; integers become the
    default float.
    Returns: NaN where beta is not positive.

    >>> from funcgrad.scipy.stats import gennorm
    >>> gennorm.logpdf(fnp.array([-1.0, 0.0, 2.0]), 1.5)
    Array([-1.5908324 , -0.59083235, -3.4192595 ], dtype=float32)
    """
    x, beta = operands("gennorm.logpdf", x, beta)
    return checked(log(beta) - math.log(2) - ew.lgamma(1 / beta) - fnp.power(ew.abs(x), beta), beta > 0)


def pdf(x: Any, beta: Any) -> Any:
    """The density of the generalized normal distribution at x.

    Args: x: real numbers; beta: the exponent (1: Laplace; 2: normal, of variance 1/2). All broadcast; integers become the
    default float.
    Returns: NaN where beta is not positive.

    >>> from funcgrad.scipy.stats import gennorm
    >>> gennorm.pdf(fnp.array([-1.0, 0.0, 2.0]), 1.5)
    Array([0.20375594, 0.5538661 , 0.03273666], dtype=float32)
    """
    return density(logpdf(x, beta))


def cdf(x: Any, beta: Any) -> Any:
    """The probability of at most x under the generalized normal distribution.

    Args: x: real numbers; beta: the exponent (1: Laplace; 2: normal, of variance 1/2). All broadcast; integers become the
    default float.
    Returns: NaN where beta is not positive.

    >>> from funcgrad.scipy.stats import gennorm
    >>> gennorm.cdf(fnp.array([-1.0, 0.0, 2.0]), 1.5)
    Array([0.11240876, 0.5       , 0.9858804 ], dtype=float32)
    """
    x, beta = operands("gennorm.cdf", x, beta)
    y = fnp.power(ew.abs(x), beta)
    tail = 0.5 * special.gammaincc(1 / beta, y)
    # Around 0 by a series in y, whose derivatives exist there.
    slope = x * ew.exp(log(beta) - math.log(2) - ew.lgamma(1 / beta))
    series = slope * (1 - y * (1 / (beta + 1) - y * (0.5 / (2 * beta + 1) - y / (18 * beta + 6))))
    middle = 0.5 + where(x == 0, slope, series)
    return checked(where(y < 1e-4, middle, where(x > 0, 1 - tail, tail)), beta > 0)
