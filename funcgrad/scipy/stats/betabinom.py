"""The beta-binomial distribution: how many of n trials succeed, whose probability has the beta distribution."""

from typing import Any

from funcgrad.scipy import special
from funcgrad.scipy.stats._parts import INF, checked, density, is_whole, operands, standard, where
from funcgrad.scipy.stats._tails import log_choose

__all__ = ["logpmf", "pmf"]


def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k under the beta-binomial distribution.

    Args: k: counts; n: trials; a, b: the parameters of the beta distribution; loc: a shift. All broadcast; integers become the
    default float.
    Returns: NaN where n is no whole number of 0 or more, or a or b is not positive.

    >>> from funcgrad.scipy.stats import betabinom
    >>> betabinom.logpmf(fnp.array([0, 3, 11]), 10, 2.0, 3.0)
    Array([-2.7191   , -1.9389415,       -inf], dtype=float32)
    """
    k, n, a, b, loc = operands("betabinom.logpmf", k, n, a, b, at=(loc,))
    k = standard(k, loc)
    inside = log_choose(n, k) + special.betaln(k + a, n - k + b) - special.betaln(a, b)
    return checked(where((k < 0) | (k > n) | ~is_whole(k), -INF, inside), k == k, n >= 0, is_whole(n), a > 0, b > 0)


def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The probability of k under the beta-binomial distribution.

    Args: k: counts; n: trials; a, b: the parameters of the beta distribution; loc: a shift. All broadcast; integers become the
    default float.
    Returns: NaN where n is no whole number of 0 or more, or a or b is not positive.

    >>> from funcgrad.scipy.stats import betabinom
    >>> betabinom.pmf(fnp.array([0, 3, 11]), 10, 2.0, 3.0)
    Array([0.06593406, 0.14385614, 0.        ], dtype=float32)
    """
    return density(logpmf(k, n, a, b, loc))
