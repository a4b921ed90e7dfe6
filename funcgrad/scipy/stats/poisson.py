"""The Poisson distribution: how many events there are where mu are expected."""

import math
from typing import Any

from funcgrad import numpy as fnp
from funcgrad.ops import elementwise as ew
from funcgrad.scipy import special
from funcgrad.scipy.stats._parts import INF, checked, density, is_whole, operands, standard, where

__all__ = ["logpmf", "pmf", "cdf", "entropy"]

FEW = 64
_TERMS = 176  # beyond them a distribution of mean 64 has less than 1e-25
_SERIES = (1 / 12, 1 / 24, 19 / 360, 9 / 80, 863 / 2520, 1375 / 1008, 33953 / 5040, 57281 / 1440)


def _entropy_of_few(mu: Any) -> Any:
    """mu - mu log(mu) + the mean of log(k!)."""
    k = fnp.arange(_TERMS, dtype=mu.dtype)
    logs = ew.lgamma(k + 1)
    mean = mu[..., None]
    chances = ew.exp(special.xlogy(k, mean) - logs - mean)
    return mu - special.xlogy(mu, mu) + fnp.sum(chances * logs, -1)


def _entropy_of_many(mu: Any) -> Any:
    r = 1 / mu
    total = mu * 0
    for c in reversed(_SERIES):
        total = (total + c) * r
    return 0.5 * (ew.log(mu) + math.log(2 * math.pi) + 1) - total


def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k under the Poisson distribution.

    Args: k: counts; mu: the mean; loc: a shift. All broadcast; integers become the default float.
    Returns: NaN where mu is negative.

    >>> from funcgrad.scipy.stats import poisson
    >>> poisson.logpmf(fnp.array([-1, 0, 3]), 2.5)
    Array([      -inf, -2.5      , -1.5428872], dtype=float32)
    """
    k, mu, loc = operands("poisson.logpmf", k, mu, at=(loc,))
    k = standard(k, loc)
    inside = special.xlogy(k, mu) - ew.lgamma(k + 1) - mu
    return checked(where((k < 0) | ~is_whole(k), -INF, inside), k == k, mu >= 0)


def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of k under the Poisson distribution.

    Args: k: counts; mu: the mean; loc: a shift. All broadcast; integers become the default float.
    Returns: NaN where mu is negative.

    >>> from funcgrad.scipy.stats import poisson
    >>> poisson.pmf(fnp.array([-1, 0, 3]), 2.5)
    Array([0.        , 0.08208501, 0.21376303], dtype=float32)
    """
    return density(logpmf(k, mu, loc))


def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of at most k under the Poisson distribution.

    Args: k: counts; mu: the mean; loc: a shift. All broadcast; integers become the default float.
    Returns: NaN where mu is negative.

    >>> from funcgrad.scipy.stats import poisson
    >>> poisson.cdf(fnp.array([-1, 0, 3]), 2.5)
    Array([0.       , 0.082085 , 0.7575761], dtype=float32)
    """
    k, mu, loc = operands("poisson.cdf", k, mu, at=(loc,))
    k = ew.floor(standard(k, loc))
    inside = special.gammaincc(where(k < 0, 0.0, k) + 1, mu)
    return checked(where(k < 0, 0.0, where(k == INF, 1.0, inside)), k == k, mu >= 0)


def entropy(mu: Any, loc: Any = 0) -> Any:
    """The entropy of the Poisson distribution, in nats.

    Args: mu: the mean; loc: a shift, of no effect. Both broadcast; integers become the default float.
    Returns: NaN where mu is negative.
    Up to mu = 64 a sum, beyond it an asymptotic series (Evans and Boersma, "The Entropy of a Poisson Distribution", SIAM Review
    30, 1988).

    >>> from funcgrad.scipy.stats import poisson
    >>> poisson.entropy(fnp.array([0.0, 2.5, 1000.0]))
    Array([0.       , 1.8307266, 4.8727326], dtype=float32)
    """
    mu, loc = operands("poisson.entropy", mu, at=(loc,))
    out = where(mu > FEW, _entropy_of_many(mu), _entropy_of_few(where(mu > FEW, float(FEW), mu)))
    return checked(where(mu == 0, 0.0, out), mu >= 0, loc == loc)
