"""Derivatives of the hypergeometric functions 1F1 and 2F1 by their parameters, in NumPy over arrays.

The power series (DLMF 13.2.2, 15.2.1) of truncated polynomials in small changes of the parameters and of x. For x < 0 Kummer's
(DLMF 13.2.39) or Pfaff's (DLMF 15.8.1) transformation comes first, so that terms do not cancel where the parameters are positive.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np

_TERMS = 6000


@lru_cache(maxsize=1024)
def _products(ps: tuple[tuple[int, ...], ...], qs: tuple[tuple[int, ...], ...], cut: tuple[int, ...]) -> list[tuple[Any, ...]]:
    """The pairs of powers whose product is not cut off, and its powers: a series multiplies the same ones at each term."""
    found = []
    for p in ps:
        for q in qs:
            powers = tuple([i + j for i, j in zip(p, q, strict=True)])
            if all([i <= c for i, c in zip(powers, cut, strict=True)]):
                found.append((p, q, powers))
    return found


class Series:
    """A polynomial in several small changes, cut at some powers: `parts[powers]` is a coefficient (an array)."""

    def __init__(self, parts: dict[tuple[int, ...], Any], cut: tuple[int, ...]):
        self.parts, self.cut = parts, cut

    def __add__(self, other: Any) -> "Series":
        parts = dict(self.parts)
        for powers, x in self._of(other).items():
            parts[powers] = parts[powers] + x if powers in parts else x
        return Series(parts, self.cut)

    def __mul__(self, other: Any) -> "Series":
        if not isinstance(other, Series):
            return Series({powers: x * other for powers, x in self.parts.items()}, self.cut)
        parts: dict[tuple[int, ...], Any] = {}
        for p, q, powers in _products(tuple(self.parts), tuple(other.parts), self.cut):
            x = self.parts[p] * other.parts[q]
            parts[powers] = parts[powers] + x if powers in parts else x
        return Series(parts, self.cut)

    def _of(self, other: Any) -> dict[tuple[int, ...], Any]:
        return other.parts if isinstance(other, Series) else {(0,) * len(self.cut): other}

    @property
    def head(self) -> Any:
        return self.parts[(0,) * len(self.cut)]

    def rest(self) -> "Series":
        """Without the constant."""
        return Series({p: x for p, x in self.parts.items() if any(p)}, self.cut)

    def apply(self, derivatives: Sequence[Any]) -> "Series":
        """f of it, for the derivatives of f at its constant: f, f', f'' ..."""
        total, power = Series({(0,) * len(self.cut): derivatives[0]}, self.cut), self.rest()
        for k, d in enumerate(derivatives[1:], 1):
            total = total + power * (d / factorial(k))
            power = power * self.rest()
        return total

    def inverse(self) -> "Series":
        x, order = self.head, sum(self.cut)
        return self.apply([(-1) ** k * factorial(k) / x ** (k + 1) for k in range(order + 1)])

    def exp(self) -> "Series":
        return self.apply([np.exp(self.head)] * (sum(self.cut) + 1))

    def log(self) -> "Series":
        x, order = self.head, sum(self.cut)
        return self.apply([np.log(x), *[(-1) ** (k - 1) * factorial(k - 1) / x**k for k in range(1, order + 1)]])


def _sum(tops: Sequence[Series], bottom: Series, x: Series) -> Series:
    """1 + the sum of the products of (a)_n over a in `tops`, over (bottom)_n n!, times x^n."""
    term = x * 0.0 + 1.0
    total = term
    for n in range(_TERMS):
        for top in tops:
            term = term * (top + float(n))
        term = term * (bottom + float(n)).inverse() * x * (1 / (n + 1))
        total = total + term
        small = [np.all(np.abs(t) <= 1e-17 * np.abs(total.parts[p])) or not np.any(t) for p, t in term.parts.items()]
        if n > 2 * sum(x.cut) and all(small):
            return total
    return total * np.nan


def _variables(xs: Sequence[np.ndarray], cut: tuple[int, ...]) -> list[Series]:
    zero = (0,) * len(cut)
    made = []
    for k, x in enumerate(xs):
        parts: dict[tuple[int, ...], Any] = {zero: x}
        if cut[k]:
            parts[tuple(int(i == k) for i in range(len(cut)))] = np.ones_like(x)
        made.append(Series(parts, cut))
    return made


def _split(fun: Any, right: np.ndarray, xs: Sequence[np.ndarray]) -> np.ndarray:
    """`fun(side, *xs)` for the elements of either side."""
    out = np.full(right.shape, np.nan)
    for side in (False, True):
        chosen = right == side
        if chosen.any():
            out[chosen] = fun(side, *[x[chosen] for x in xs])
    return out


def hyp1f1_derivative(a: Any, b: Any, x: Any, orders: tuple[int, int, int]) -> np.ndarray:
    """The derivative of 1F1(a; b; x), as often by each of them as `orders` says."""
    xs = [np.asarray(v, np.float64) for v in np.broadcast_arrays(a, b, x)]

    def at(right: bool, *xs: np.ndarray) -> np.ndarray:
        p, q, y = _variables(xs, orders)
        value = _sum([p], q, y) if right else y.exp() * _sum([q + p * -1.0], q, y * -1.0)
        return value.parts.get(orders, 0.0) * np.prod([factorial(n) for n in orders])

    with np.errstate(all="ignore"):
        return _split(at, xs[2] >= 0, xs)


def hyp2f1_derivative(a: Any, b: Any, c: Any, x: Any, orders: tuple[int, int, int, int]) -> np.ndarray:
    """The derivative of 2F1(a, b; c; x), as often by each of them as `orders` says, for x < 0.99; NaN beyond."""
    xs = [np.asarray(v, np.float64) for v in np.broadcast_arrays(a, b, c, x)]
    inside = xs[3] < 0.99
    xs[3] = np.where(inside, xs[3], 0.0)

    def at(right: bool, *xs: np.ndarray) -> np.ndarray:
        p, q, r, y = _variables(xs, orders)
        if right:
            value = _sum([p, q], r, y)
        else:
            less = y * -1.0 + 1.0  # 1 - x
            value = (less.log() * p * -1.0).exp() * _sum([p, r + q * -1.0], r, y * less.inverse() * -1.0)
        return value.parts.get(orders, 0.0) * np.prod([factorial(n) for n in orders])

    with np.errstate(all="ignore"):
        return np.where(inside, _split(at, xs[3] >= 0, xs), np.nan)
