"""The standard Gumbel distribution of largest values, cdf exp(-exp(-z)); that of smallest ones is its mirror."""

from typing import Any

from funcgrad.nn.activations import log1mexp
from funcgrad.ops import elementwise as ew
from funcgrad.scipy.stats._parts import INF, where


def log_density(z: Any) -> Any:
    return where(ew.abs(z) == INF, -INF, -(z + ew.exp(-z)))


def below(z: Any) -> Any:
    return ew.exp(-ew.exp(-z))


def log_below(z: Any) -> Any:
    return -ew.exp(-z)


def above(z: Any) -> Any:
    return -ew.expm1(-ew.exp(-z))


def log_above(z: Any) -> Any:
    # exp(-z) is no longer seen beside 1 (or underflows) where the logarithm is still a number: two terms of the series do.
    y = ew.exp(-z)
    return where(z > 10, -z - y * 0.5 + ew.square(y) * (1 / 24), log1mexp(y))
