"""The geometric distribution: how many trials of probability p it takes until one succeeds: 1, 2, ..."""

from typing import Any

from funcgrad.scipy import special
from funcgrad.scipy.stats._parts import INF, checked, density, is_whole, log, operands, standard, where

__all__ = ["logpmf", "pmf"]


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k under the geometric distribution.

    Args: k: counts; p: the probability of success; loc: a shift. All broadcast; integers become the default float.
    Returns: NaN where p is not in (0, 1].

    >>> from funcgrad.scipy.stats import geom
    >>> geom.logpmf(fnp.array([0, 1, 3]), 0.3)
    Array([      -inf, -1.2039728, -1.9173228], dtype=float32)
    """
    k, p, loc = operands("geom.logpmf", k, p, at=(loc,))
    k = standard(k, loc)
    inside = special.xlog1py(k - 1, -p) + log(p)
    return checked(where((k < 1) | ~is_whole(k), -INF, inside), k == k, p > 0, p <= 1)


def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k under the geometric distribution.

    Args: k: counts; p: the probability of success; loc: a shift. All broadcast; integers become the default float.
    Returns: NaN where p is not in (0, 1].

    >>> from funcgrad.scipy.stats import geom
    >>> geom.pmf(fnp.array([0, 1, 3]), 0.3)
    Array([0.        , 0.29999998, 0.14699998], dtype=float32)
    """
    return density(logpmf(k, p, loc))
