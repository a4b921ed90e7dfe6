"""The gamma function itself, the logarithm of the beta function, and the analytic logarithm of gamma for complex operands."""

import math
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.complex_gamma import loggamma_derivative
from funcgrad.core.lazy import LazyModule
from funcgrad.core.log_beta import log_beta, rising
from funcgrad.ir.loop_rules import Host
from funcgrad.ops._family import add, elementwise, like
from funcgrad.ops._samples import uniform, via_float32
from funcgrad.ops.arithmetic import mul, sub
from funcgrad.ops.bitwise import and_, not_
from funcgrad.ops.compare import eq, le, ne
from funcgrad.ops.rounding import floor, round_
from funcgrad.ops.select import select_n
from funcgrad.ops.special import digamma
from funcgrad.ops.trigonometric import cos, sin

special: Any = LazyModule("scipy.special")
_POSITIVE = uniform(0.5, 4)

gamma = elementwise(
    "gamma",
    dtypes=dt.FLOATS,
    numpy=via_float32(lambda x: special.gamma(x)),
    jvp=[lambda t, out, x: mul(t, mul(out, digamma(x)))],
    loop=lambda b, x: b.gamma(x),
    samples=_POSITIVE,
    doc="the integral of t^(x-1) exp(-t) over t > 0, and its continuation",
)


def at_pole(x: Any) -> Any:
    """Whether x is one of 0, -1, -2, ..., where gamma has no value."""
    return and_(le(x, like(x, 0)), eq(floor(x), x))


def _digamma_difference(x: Any, y: Any) -> Any:
    """digamma(x) - digamma(y). Where both are at poles, x - y is whole, and the limit is that of 1 - x and 1 - y (DLMF 5.5.4)."""
    both = and_(at_pole(x), at_pole(y))
    x, y = [select_n(both, v, sub(like(v, 1), v)) for v in (x, y)]
    return sub(digamma(x), digamma(y))


def _around_pole(x: Any) -> tuple[Any, Any, Any]:
    """Of Gamma(1 - x) sin(pi x) / pi = 1 / Gamma(x) (DLMF 5.5.3): the first factor with the sign of the second one's slope at the
    nearest whole number, and the size and slope of the second."""
    nearest = round_(x, rounding_method=1)
    half = mul(nearest, like(x, 0.5))
    first = gamma(sub(like(x, 1), x))
    angle = mul(sub(x, nearest), like(x, math.pi))
    signed = mul(first, select_n(ne(floor(half), half), like(x, 1), like(x, -1)))
    return signed, mul(sin(angle), like(x, 1 / math.pi)), cos(angle)


def gamma_reciprocal(x: Any) -> Any:
    """1 / Gamma(x) for x around 0, -1, -2, ..., where it is 0, with derivatives of all orders."""
    first, size, _ = _around_pole(x)
    return mul(first, size)


def _betaln_slope(t: Any, a: Any, b: Any) -> Any:
    return mul(t, _digamma_difference(a, add(a, b)))


def _betaln_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return log_beta(a, b).astype(a.dtype)


betaln = elementwise(
    "betaln",
    dtypes=dt.FLOATS,
    numpy=_betaln_numpy,
    jvp=[lambda t, out, a, b: _betaln_slope(t, a, b), lambda t, out, a, b: _betaln_slope(t, b, a)],
    loop=lambda b, x, y: b.betaln(x, y),
    samples=_POSITIVE,
    doc="log |B(a, b)|",
)


def _poch_slope_z(t: Any, out: Any, z: Any, m: Any) -> Any:
    end = add(z, m)
    lone = and_(at_pole(z), not_(at_pole(end)))  # Gamma(z) alone is infinite: poch is 0 there, its slope is not
    near = mul(out, _digamma_difference(*[select_n(lone, v, like(v, 1)) for v in (end, z)]))
    end, z = [select_n(lone, like(v, at), v) for v, at in ((end, 1), (z, 0))]
    first, size, slope = _around_pole(z)
    slope = add(slope, mul(sub(digamma(end), digamma(sub(like(z, 1), z))), size))
    return mul(t, select_n(lone, near, mul(mul(gamma(end), first), slope)))


poch = elementwise(
    "poch",
    dtypes=dt.FLOATS,
    numpy=via_float32(rising),
    jvp=[
        _poch_slope_z,
        lambda t, out, z, m: mul(t, mul(out, digamma(add(z, m)))),
    ],
    loop=lambda b, z, m: b.poch(z, m),
    samples=_POSITIVE,
    doc="Gamma(z + m) / Gamma(z)",
)
loggamma = elementwise(
    "loggamma",
    dtypes=dt.COMPLEXES,
    numpy=loggamma_derivative,
    jvp=[lambda t, out, z, n: mul(t, loggamma(z, n=n + 1))],
    loop=Host(),
    samples=uniform(-2, 3),
    cases=({"n": 0}, {"n": 1}, {"n": 2}),
    doc="the n-th derivative of the analytic continuation of log gamma from the positive axis",
)
