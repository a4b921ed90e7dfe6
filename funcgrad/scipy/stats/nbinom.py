"""The negative binomial distribution: how many trials of probability p fail before the n-th succeeds."""

from typing import Any

from funcgrad.ops import elementwise as ew
from funcgrad.scipy import special
from funcgrad.scipy.stats._parts import INF, checked, density, is_whole, log, operands, standard, where

__all__ = ["logpmf", "pmf"]


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k under the negative binomial distribution.

    Args: k: counts; n: successes (a positive real number); p: the probability of success; loc: a shift. All broadcast; integers
    become the default float.
    Returns: NaN where n is not positive, or p is not in (0, 1].

    >>> from funcgrad.scipy.stats import nbinom
    >>> nbinom.logpmf(fnp.array([-1, 0, 3]), 2.5, 0.3)
    Array([      -inf, -3.009932 , -2.1985855], dtype=float32)
    """
    k, n, p, loc = operands("nbinom.logpmf", k, n, p, at=(loc,))
    k = standard(k, loc)
    ways = -ew.log(k + n) - special.betaln(k + 1, n)
    inside = ways + n * log(p) + special.xlog1py(k, -p)
    return checked(where((k < 0) | ~is_whole(k), -INF, inside), k == k, n > 0, p > 0, p <= 1)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k under the negative binomial distribution.

    Args: k: counts; n: successes (a positive real number); p: the probability of success; loc: a shift. All broadcast; integers
    become the default float.
    Returns: NaN where n is not positive, or p is not in (0, 1].

    >>> from funcgrad.scipy.stats import nbinom
    >>> nbinom.pmf(fnp.array([-1, 0, 3]), 2.5, 0.3)
    Array([0.        , 0.04929503, 0.11096   ], dtype=float32)
    """
    return density(logpmf(k, n, p, loc))
