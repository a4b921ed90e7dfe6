"""Special functions of real operands: erf erfc erf_inv lgamma digamma polygamma zeta
bessel_i0e bessel_i1e. NumPy's meaning is SciPy's."""

from math import factorial
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.hurwitz import zeta_derivative
from funcgrad.core.lazy import LazyModule
from funcgrad.core.special_ends import hurwitz, log_gamma
from funcgrad.ir.loop_rules import Host
from funcgrad.ops._family import add, elementwise, like
from funcgrad.ops._samples import uniform, via_float32
from funcgrad.ops.arithmetic import div, mul, neg, square, sub
from funcgrad.ops.compare import eq
from funcgrad.ops.exponential import exp
from funcgrad.ops.parts import sign
from funcgrad.ops.select import select_n

_NEAR = uniform(-2, 2)
_POSITIVE = uniform(0.5, 4)
special: Any = LazyModule("scipy.special")
_TWO_OVER_ROOT_PI = 2 / np.sqrt(np.pi)

erf = elementwise(
    "erf",
    dtypes=dt.FLOATS,
    numpy=via_float32(lambda x: special.erf(x)),
    jvp=[lambda t, out, x: mul(t, mul(exp(neg(square(x))), like(x, _TWO_OVER_ROOT_PI)))],
    loop=lambda b, x: b.erf(x),
    samples=_NEAR,
    doc="2 / sqrt(pi) times the integral of exp(-s^2) from 0 to x",
)
erfc = elementwise(
    "erfc",
    dtypes=dt.FLOATS,
    numpy=via_float32(lambda x: special.erfc(x)),
    jvp=[lambda t, out, x: mul(t, mul(exp(neg(square(x))), like(x, -_TWO_OVER_ROOT_PI)))],
    loop=lambda b, x: b.erfc(x),
    samples=_NEAR,
    doc="1 - erf(x), exact for large x",
)
erf_inv = elementwise(
    "erf_inv",
    dtypes=dt.FLOATS,
    numpy=via_float32(lambda x: special.erfinv(x)),
    jvp=[lambda t, out, x: mul(t, mul(exp(square(out)), like(x, 1 / _TWO_OVER_ROOT_PI)))],
    loop=lambda b, x: b.erf_inv(x),
    samples=uniform(-0.8, 0.8),
    doc="the x whose erf it is",
)
lgamma = elementwise(
    "lgamma",
    dtypes=dt.FLOATS,
    numpy=via_float32(log_gamma),
    jvp=[lambda t, out, x: mul(t, digamma(x))],
    loop=lambda b, x: b.lgamma(x),
    samples=_POSITIVE,
    doc="log |gamma(x)|",
)
digamma = elementwise(
    "digamma",
    dtypes=dt.FLOATS,
    numpy=via_float32(lambda x: special.digamma(x)),
    jvp=[lambda t, out, x: mul(t, polygamma(x, n=1))],
    loop=lambda b, x: b.digamma(x),
    samples=_POSITIVE,
    doc="the derivative of lgamma",
)


def _polygamma_loop(b: Any, x: Any, n: int) -> Any:
    """(-1)^(n+1) n! zeta(n + 1, x) (DLMF 25.11.12)."""
    factor = float((-1) ** (n + 1) * factorial(n))
    return b.mul(b.zeta(b.const(n + 1, x.dtype), x), b.const(factor, x.dtype))


polygamma = elementwise(
    "polygamma",
    dtypes=dt.FLOATS,
    numpy=via_float32(lambda x, n: np.asarray(special.polygamma(n, x)).astype(x.dtype)),
    jvp=[lambda t, out, x, n: mul(t, polygamma(x, n=n + 1))],
    loop=_polygamma_loop,
    samples=_POSITIVE,
    cases=({"n": 1}, {"n": 2}),
    doc="the n-th derivative of digamma, for a fixed n > 0",
)


zeta = elementwise(
    "zeta",
    dtypes=dt.FLOATS,
    numpy=via_float32(hurwitz),
    jvp=[
        lambda t, out, x, q: mul(t, zeta_slope(x, q, n=1)),
        lambda t, out, x, q: mul(t, neg(mul(x, zeta(add(x, like(x, 1)), q)))),
    ],
    loop=lambda b, x, q: b.zeta(x, q),
    samples=[uniform(1.5, 4), _POSITIVE],
    doc="the sum of (q + k)^(-x) over k = 0, 1, ... (Hurwitz)",
)


def _zeta_slope_jvp_q(t: Any, out: Any, x: Any, q: Any, *, n: int) -> Any:
    up = add(x, like(x, 1))
    slope = mul(x, zeta_slope(up, q, n=n))
    if n:
        slope = add(slope, mul(zeta_slope(up, q, n=n - 1), like(x, n)))
    return mul(t, neg(slope))


zeta_slope = elementwise(
    "zeta_slope",
    dtypes=dt.FLOATS,
    numpy=lambda x, q, n: zeta_derivative(x, q, n).astype(x.dtype),
    jvp=[lambda t, out, x, q, n: mul(t, zeta_slope(x, q, n=n + 1)), _zeta_slope_jvp_q],
    loop=Host(),
    samples=[uniform(1.5, 4), _POSITIVE],
    cases=({"n": 0}, {"n": 1}, {"n": 2}),
    doc="the n-th derivative of zeta by x, continued to x > -1",
)


def _i1e_jvp(t: Any, out: Any, x: Any) -> Any:
    zero = eq(x, like(x, 0))
    safe = select_n(zero, x, like(x, 1))
    slope = sub(bessel_i0e(x), mul(out, add(sign(x), div(like(x, 1), safe))))
    return mul(t, select_n(zero, slope, like(x, 0.5)))


bessel_i0e = elementwise(
    "bessel_i0e",
    dtypes=dt.FLOATS,
    numpy=via_float32(lambda x: special.i0e(x)),
    jvp=[lambda t, out, x: mul(t, sub(bessel_i1e(x), mul(sign(x), out)))],
    loop=lambda b, x: b.bessel_i0e(x),
    samples=_NEAR,
    doc="exp(-|x|) I0(x)",
)
bessel_i1e = elementwise(
    "bessel_i1e",
    dtypes=dt.FLOATS,
    numpy=via_float32(lambda x: special.i1e(x)),
    jvp=[_i1e_jvp],
    loop=lambda b, x: b.bessel_i1e(x),
    samples=_NEAR,
    doc="exp(-|x|) I1(x)",
)
