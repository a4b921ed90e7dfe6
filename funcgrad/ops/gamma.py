"""The gamma function itself, the logarithm of the beta function, and the analytic logarithm of gamma for complex operands."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.complex_gamma import loggamma_derivative
from funcgrad.core.lazy import LazyModule
from funcgrad.core.log_beta import log_beta, rising
from funcgrad.ir.loop_rules import Host
from funcgrad.ops._family import add, elementwise
from funcgrad.ops._samples import uniform, via_float32
from funcgrad.ops.arithmetic import mul, sub
from funcgrad.ops.special import digamma

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


def _betaln_slope(t: Any, a: Any, b: Any) -> Any:
    return mul(t, sub(digamma(a), digamma(add(a, b))))


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
poch = elementwise(
    "poch",
    dtypes=dt.FLOATS,
    numpy=via_float32(rising),
    jvp=[
        lambda t, out, z, m: mul(t, mul(out, sub(digamma(add(z, m)), digamma(z)))),
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
