"""The Laplace distribution: density exp(-|x|) / 2."""

import math
from typing import Any

from funcgrad.ops import elementwise as ew
from funcgrad.scipy.stats._parts import checked, density, less_log, operands, standard, where

__all__ = ["logpdf", "pdf", "cdf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the Laplace distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import laplace
    >>> laplace.logpdf(fnp.array([-1.0, 0.0, 2.0]))
    Array([-1.6931472, -0.6931472, -2.6931472], dtype=float32)
    """
    x, loc, scale = operands("laplace.logpdf", x, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(less_log(-ew.abs(z) - math.log(2), scale), scale > 0)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the Laplace distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import laplace
    >>> laplace.pdf(fnp.array([-1.0, 0.0, 2.0]))
    Array([0.18393971, 0.5       , 0.06766764], dtype=float32)
    """
    return density(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x under the Laplace distribution.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import laplace
    >>> laplace.cdf(fnp.array([-1.0, 0.0, 2.0]))
    Array([0.18393971, 0.5       , 0.93233234], dtype=float32)
    """
    x, loc, scale = operands("laplace.cdf", x, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z < 0, 0.5 * ew.exp(z), 1 - 0.5 * ew.exp(-z)), scale > 0)
