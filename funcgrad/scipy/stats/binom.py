"""The binomial distribution: how many of n trials of probability p succeed."""

from typing import Any

from funcgrad.scipy import special
from funcgrad.scipy.stats._parts import INF, checked, density, is_whole, operands, standard, where
from funcgrad.scipy.stats._tails import log_choose

__all__ = ["logpmf", "pmf"]


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k under the binomial distribution.

    Args: k: counts; n: trials; p: the probability of success; loc: a shift. All broadcast; integers become the default float.
    Returns: NaN where n is no whole number of 0 or more, or p is not in [0, 1].

    >>> from funcgrad.scipy.stats import binom
    >>> binom.logpmf(fnp.array([0, 3, 11]), 10, 0.3)
    Array([-3.5667496, -1.3211515,       -inf], dtype=float32)
    """
    k, n, p, loc = operands("binom.logpmf", k, n, p, at=(loc,))
    k = standard(k, loc)
    ways = log_choose(n, k)
    inside = ways + special.xlogy(k, p) + special.xlog1py(n - k, -p)
    return checked(where((k < 0) | (k > n) | ~is_whole(k), -INF, inside), k == k, n >= 0, is_whole(n), p >= 0, p <= 1)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k under the binomial distribution.

    Args: k: counts; n: trials; p: the probability of success; loc: a shift. All broadcast; integers become the default float.
    Returns: NaN where n is no whole number of 0 or more, or p is not in [0, 1].

    >>> from funcgrad.scipy.stats import binom
    >>> binom.pmf(fnp.array([0, 3, 11]), 10, 0.3)
    Array([0.02824752, 0.26682788, 0.        ], dtype=float32)
    """
    return density(logpmf(k, n, p, loc))
