"""The multinomial distribution: how many of n trials fall to each class."""

from typing import Any

from funcgrad import numpy as fnp
from funcgrad.core.errors import ShapeError, message
from funcgrad.ops import elementwise as ew
from funcgrad.scipy import special
from funcgrad.scipy.stats._parts import INF, NAN, density, is_whole, operands

__all__ = ["logpmf", "pmf"]


def logpmf(x: Any, n: Any, p: Any) -> Any:
    """The logarithm of the probability of the counts x under the multinomial distribution.

    Args: x: counts, (..., k). n: trials, of a shape that broadcasts to the batch. p: probabilities of the classes, (..., k).
    Integers become the default float.
    Returns: the shape of the batch; -inf where the counts are negative, no whole numbers, or do not have the sum n, NaN where n
    or some p is negative.

    >>> from funcgrad.scipy.stats import multinomial
    >>> multinomial.logpmf(fnp.array([1, 2, 3]), 6, fnp.array([0.2, 0.3, 0.5]))
    Array(-2.0024805, dtype=float32)
    """
    x, n, p = operands("multinomial.logpmf", x, n, p)
    if not x.ndim or not p.ndim:
        came = f"scipy.stats.multinomial: got x of shape {x.shape} and p of shape {p.shape}"
        raise ShapeError(message(came, "the classes along the last axis of both", "fnp.array([p, 1 - p])"))
    inside = ew.lgamma(n + 1) + fnp.sum(special.xlogy(x, p) - ew.lgamma(x + 1), -1)
    outside = fnp.any((x < 0) | ~is_whole(x), -1) | (fnp.sum(x, -1) != n)
    wrong = fnp.any(p < 0, -1) | (n < 0)
    return fnp.where(wrong, NAN, fnp.where(outside, -INF, inside))


def pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability of the counts x under the multinomial distribution; arguments as for `logpmf`.

    >>> from funcgrad.scipy.stats import multinomial
    >>> multinomial.pmf(fnp.array([1, 2, 3]), 6, fnp.array([0.2, 0.3, 0.5]))
    Array(0.135, dtype=float32)
    """
    return density(logpmf(x, n, p))
