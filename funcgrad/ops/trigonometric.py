"""Trigonometric functions and their inverses. Real and complex; atan2 is real."""

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.ops._family import add, elementwise, like
from funcgrad.ops._samples import uniform
from funcgrad.ops.arithmetic import div, mul, neg, rsqrt, square, sub
from funcgrad.ops.exponential import smooth

_NEAR = uniform(-3, 3)
_INSIDE = uniform(-0.8, 0.8)

sin = smooth("sin", np.sin, lambda t, out, x: mul(t, cos(x)), _NEAR)
cos = smooth("cos", np.cos, lambda t, out, x: mul(t, neg(sin(x))), _NEAR)
tan = smooth("tan", np.tan, lambda t, out, x: mul(t, add(square(out), like(x, 1))), _INSIDE)
asin = smooth("asin", np.arcsin, lambda t, out, x: mul(t, rsqrt(sub(like(x, 1), square(x)))), _INSIDE)
acos = smooth("acos", np.arccos, lambda t, out, x: mul(t, neg(rsqrt(sub(like(x, 1), square(x))))), _INSIDE)
atan = smooth("atan", np.arctan, lambda t, out, x: div(t, add(square(x), like(x, 1))), _INSIDE)

atan2 = elementwise(
    "atan2",
    dtypes=dt.FLOATS,
    numpy=np.arctan2,
    jvp=[
        lambda t, out, x, y: mul(t, div(y, add(square(x), square(y)))),
        lambda t, out, x, y: mul(t, div(neg(x), add(square(x), square(y)))),
    ],
    loop=lambda b, x, y: b.atan2(x, y),
    samples=[uniform(0.5, 4), uniform(-4, 4)],
    doc="the angle of the point (y, x), in (-pi, pi]",
)
