"""Relatives of the error function: erfcx ndtri dawsn. NumPy's meaning is SciPy's."""

import math
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.lazy import LazyModule
from funcgrad.ops._family import add, elementwise, like
from funcgrad.ops._samples import uniform, via_float32
from funcgrad.ops.arithmetic import div, mul, neg, square, sub
from funcgrad.ops.compare import gt
from funcgrad.ops.exponential import exp
from funcgrad.ops.parts import abs_
from funcgrad.ops.select import select_n

special: Any = LazyModule("scipy.special")
FAR = 50.0  # beyond it the slopes of erfcx and dawsn are those of their asymptotic series


def _series(x: Any, sign: int) -> Any:
    """r (1 + 3 s r + 15 r^2 + 105 s r^3 + 945 r^4) with r = 1 / (2 x^2) (DLMF 7.12.1, 7.12.2)."""
    r = div(like(x, 0.5), square(x))
    total = mul(r, like(x, 945))
    for c in (sign * 105, 15, sign * 3, 1):
        total = mul(r, add(total, like(x, c)))
    return total


def _erfcx_jvp(t: Any, out: Any, x: Any) -> Any:
    far = gt(x, like(x, FAR))
    near = sub(mul(mul(x, like(x, 2)), out), like(x, 2 / math.sqrt(math.pi)))
    series = mul(_series(select_n(far, like(x, FAR), x), -1), like(x, -2 / math.sqrt(math.pi)))
    return mul(t, select_n(far, near, series))


def _dawsn_jvp(t: Any, out: Any, x: Any) -> Any:
    far = gt(abs_(x), like(x, FAR))
    near = sub(like(x, 1), mul(mul(x, like(x, 2)), out))
    return mul(t, select_n(far, near, neg(_series(select_n(far, like(x, FAR), x), 1))))


erfcx = elementwise(
    "erfcx",
    dtypes=dt.FLOATS,
    numpy=via_float32(lambda x: special.erfcx(x)),
    jvp=[_erfcx_jvp],
    loop=lambda b, x: b.erfcx(x),
    samples=uniform(-2, 4),
    doc="exp(x^2) erfc(x)",
)
dawsn = elementwise(
    "dawsn",
    dtypes=dt.FLOATS,
    numpy=via_float32(lambda x: special.dawsn(x)),
    jvp=[_dawsn_jvp],
    loop=lambda b, x: b.dawsn(x),
    samples=uniform(-3, 3),
    doc="exp(-x^2) times the integral of exp(s^2) from 0 to x",
)
ndtri = elementwise(
    "ndtri",
    dtypes=dt.FLOATS,
    numpy=via_float32(lambda p: special.ndtri(p)),
    jvp=[lambda t, out, p: mul(t, mul(exp(mul(square(out), like(out, 0.5))), like(out, math.sqrt(2 * math.pi))))],
    loop=lambda b, x: b.ndtri(x),
    samples=uniform(0.1, 0.9),
    doc="the x below which a standard normal variate is with probability p",
)
