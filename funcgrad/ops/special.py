"""Special functions of real operands: erf erfc erf_inv lgamma digamma polygamma. NumPy's meaning is SciPy's."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.lazy import LazyModule
from funcgrad.ir.loop_rules import Host
from funcgrad.ops._family import elementwise, like
from funcgrad.ops._samples import uniform, via_float32
from funcgrad.ops.arithmetic import mul, neg, square
from funcgrad.ops.exponential import exp

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
    numpy=via_float32(lambda x: special.gammaln(x)),
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
polygamma = elementwise(
    "polygamma",
    dtypes=dt.FLOATS,
    numpy=via_float32(lambda x, n: np.asarray(special.polygamma(n, x)).astype(x.dtype)),
    jvp=[lambda t, out, x, n: mul(t, polygamma(x, n=n + 1))],
    loop=Host(),
    samples=_POSITIVE,
    cases=({"n": 1}, {"n": 2}),
    doc="the n-th derivative of digamma, for a fixed n > 0",
)
