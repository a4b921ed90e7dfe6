"""Trigonometric functions and their inverses. Real and complex; atan2 is real."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.ops._family import add, elementwise, like
from funcgrad.ops._samples import uniform
from funcgrad.ops.arithmetic import div, max_, mul, neg, rsqrt, square, sub
from funcgrad.ops.bitwise import or_
from funcgrad.ops.compare import eq
from funcgrad.ops.convert import stop_gradient
from funcgrad.ops.exponential import smooth
from funcgrad.ops.parts import abs_
from funcgrad.ops.select import select_n

_NEAR = uniform(-3, 3)
_INSIDE = uniform(-0.8, 0.8)

sin = smooth("sin", np.sin, lambda t, out, x: mul(t, cos(x)), _NEAR, "the sine of an angle in radians")
cos = smooth("cos", np.cos, lambda t, out, x: mul(t, neg(sin(x))), _NEAR, "the cosine of an angle in radians")
tan = smooth("tan", np.tan, lambda t, out, x: mul(t, add(square(out), like(x, 1))), _INSIDE, "the tangent of an angle in radians")
asin = smooth(
    "asin",
    np.arcsin,
    lambda t, out, x: mul(t, rsqrt(sub(like(x, 1), square(x)))),
    _INSIDE,
    "the angle in [-pi/2, pi/2] whose sine is x",
)
acos = smooth(
    "acos",
    np.arccos,
    lambda t, out, x: mul(t, neg(rsqrt(sub(like(x, 1), square(x))))),
    _INSIDE,
    "the angle in [0, pi] whose cosine is x",
)
atan = smooth(
    "atan",
    np.arctan,
    lambda t, out, x: div(t, add(square(x), like(x, 1))),
    _INSIDE,
    "the angle in (-pi/2, pi/2) whose tangent is x",
)


def _over_square(part: Any, x: Any, y: Any) -> Any:
    """part / (x^2 + y^2), 0 at infinities, where that is the limit, and at the origin, which has no direction (as for norms)."""
    size = max_(abs_(x), abs_(y))
    end = or_(eq(size, like(size, 0)), eq(size, like(size, np.inf)))
    scale = stop_gradient(select_n(end, size, like(size, 1)))  # so that no square overflows, or vanishes
    x, y, part = [div(select_n(end, v, like(v, at)), scale) for v, at in ((x, 1), (y, 1), (part, 0))]
    return div(part, mul(scale, add(square(x), square(y))))


atan2 = elementwise(
    "atan2",
    dtypes=dt.FLOATS,
    numpy=np.arctan2,
    jvp=[
        lambda t, out, x, y: mul(t, _over_square(y, x, y)),
        lambda t, out, x, y: mul(t, _over_square(neg(x), x, y)),
    ],
    loop=lambda b, x, y: b.atan2(x, y),
    samples=[uniform(0.5, 4), uniform(-4, 4)],
    doc="the angle of the point (y, x), in (-pi, pi]",
)
