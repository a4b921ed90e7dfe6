"""The Bernoulli distribution: 1 with probability p, else 0."""

from typing import Any

from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.scipy.stats._parts import INF, checked, density, log, operands, standard, where

__all__ = ["logpmf", "pmf", "cdf", "ppf"]


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k under the Bernoulli distribution.

    Args: k: counts; p: the probability of success; loc: a shift. All broadcast; integers become the default float.
    Returns: NaN where p is not in [0, 1].

    >>> from funcgrad.scipy.stats import bernoulli
    >>> bernoulli.logpmf(fnp.array([0, 1, 2]), 0.3)
    Array([-0.35667497, -1.2039728 ,        -inf], dtype=float32)
    """
    k, p, loc = operands("bernoulli.logpmf", k, p, at=(loc,))
    k = standard(k, loc)
    inside = where(k == 1, log(p), where(k == 0, ew.log1p(-p), -INF))
    return checked(inside, k == k, p >= 0, p <= 1)


def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k under the Bernoulli distribution.

    Args: k: counts; p: the probability of success; loc: a shift. All broadcast; integers become the default float.
    Returns: NaN where p is not in [0, 1].

    >>> from funcgrad.scipy.stats import bernoulli
    >>> bernoulli.pmf(fnp.array([0, 1, 2]), 0.3)
    Array([0.7       , 0.29999998, 0.        ], dtype=float32)
    """
    return density(logpmf(k, p, loc))


def cdf(k: Any, p: Any) -> Any:
    """The probability of at most k under the Bernoulli distribution.

    Args: k: counts; p: the probability of success. All broadcast; integers become the default float.
    Returns: NaN where p is not in [0, 1].

    >>> from funcgrad.scipy.stats import bernoulli
    >>> bernoulli.cdf(fnp.array([0, 1, 2]), 0.3)
    Array([0.7, 1. , 1. ], dtype=float32)
    """
    k, p = operands("bernoulli.cdf", k, p)
    return checked(where(k < 0, 0.0, where(k >= 1, 1.0, 1 - p)), k == k, p >= 0, p <= 1)


def ppf(q: Any, p: Any) -> Any:
    """The smallest k whose cdf is at least q (-1 for q = 0): the inverse of `cdf`.

    Args: q: probabilities; p: the probability of success. All broadcast; integers become the default float.
    Returns: NaN where p is not in [0, 1], or q is not in [0, 1].

    >>> from funcgrad.scipy.stats import bernoulli
    >>> bernoulli.ppf(fnp.array([0.5, 0.9]), 0.3)
    Array([0., 1.], dtype=float32)
    """
    q, p = operands("bernoulli.ppf", q, p)
    inside = where(q == 0, -1.0, where((q <= 1 - p) & (q < 1), 0.0, like(q, 1)))
    return checked(inside, q >= 0, q <= 1, p >= 0, p <= 1)
