"""Angles: trigonometric and hyperbolic functions and their inverses, the legs and the angle of a point, sinc."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.numpy._promote import as_value, common_inexact, operand, widened
from funcgrad.numpy._table import binary_float, no_complex, unary_float
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full, like
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "acos", "acosh", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh",
    "atan", "atan2", "atanh", "cos", "cosh", "deg2rad", "degrees", "hypot", "rad2deg", "radians", "sin", "sinc", "sinh",
    "tan", "tanh",
]  # fmt: skip

sin = unary_float(
    "sin", ew.sin, "Sine of x, in radians.", "np.array([0, np.pi / 6, np.pi / 2])", "Array([0. , 0.5, 1. ], dtype=float64)"
)
cos = unary_float(
    "cos", ew.cos, "Cosine of x, in radians.", "np.array([0, np.pi / 3, np.pi])", "Array([ 1. ,  0.5, -1. ], dtype=float64)"
)
tan = unary_float("tan", ew.tan, "Tangent of x, in radians.", "np.array([0, np.pi / 4])", "Array([0., 1.], dtype=float64)")
arcsin = unary_float(
    "arcsin",
    ew.asin,
    "Inverse sine: the angle in [-pi/2, pi/2]; NaN outside [-1, 1].",
    "fnp.array([0, 0.5, 1, 2])",
    "Array([0.       , 0.5235988, 1.5707964,       nan], dtype=float32)",
)
arccos = unary_float(
    "arccos",
    ew.acos,
    "Inverse cosine: the angle in [0, pi]; NaN outside [-1, 1].",
    "fnp.array([1, 0, -1, 2])",
    "Array([0.       , 1.5707964, 3.1415927,       nan], dtype=float32)",
)
arctan = unary_float(
    "arctan",
    ew.atan,
    "Inverse tangent: the angle in [-pi/2, pi/2].",
    "fnp.array([0, 1, fnp.inf])",
    "Array([0.       , 0.7853982, 1.5707964], dtype=float32)",
)
sinh = unary_float("sinh", ew.sinh, "Hyperbolic sine.", "fnp.array([0.0, 1.0])", "Array([0.       , 1.1752012], dtype=float32)")
cosh = unary_float("cosh", ew.cosh, "Hyperbolic cosine.", "fnp.array([0.0, 1.0])", "Array([1.       , 1.5430807], dtype=float32)")
tanh = unary_float(
    "tanh", ew.tanh, "Hyperbolic tangent.", "fnp.array([0, 0.5, 20])", "Array([0.       , 0.4621172, 1.       ], dtype=float32)"
)
arcsinh = unary_float(
    "arcsinh", ew.asinh, "Inverse hyperbolic sine.", "fnp.array([0.0, 1.0])", "Array([0.       , 0.8813736], dtype=float32)"
)
arccosh = unary_float(
    "arccosh",
    ew.acosh,
    "Inverse hyperbolic cosine; NaN below 1.",
    "fnp.array([1.0, 2.0, 0.5])",
    "Array([0.      , 1.316958,      nan], dtype=float32)",
)
arctanh = unary_float(
    "arctanh",
    ew.atanh,
    "Inverse hyperbolic tangent; NaN outside [-1, 1].",
    "fnp.array([0, 0.5, 1, 2])",
    "Array([0.        , 0.54930615,        inf,        nan], dtype=float32)",
)
asin, acos, atan, asinh, acosh, atanh = arcsin, arccos, arctan, arcsinh, arccosh, arctanh
arctan2 = binary_float(
    "arctan2",
    ew.atan2,
    "The angle of the point (x2, x1), in (-pi, pi], by the signs of both.",
    "np.array([1.0, -1.0]), np.array([-1.0, -1.0])",
    "Array([ 2.35619449, -2.35619449], dtype=float64)",
)
atan2 = arctan2


def _scale(factor: float) -> Callable[..., Any]:
    return lambda x: ew.mul(x, aval_of(x).dtype.type(factor))


deg2rad = unary_float(
    "deg2rad",
    _scale(math.pi / 180),
    "Degrees to radians.",
    "np.array([0.0, 90.0, 180.0])",
    "Array([0.        , 1.57079633, 3.14159265], dtype=float64)",
)
rad2deg = unary_float(
    "rad2deg", _scale(180 / math.pi), "Radians to degrees.", "np.array([np.pi, np.pi / 4])", "Array([180.,  45.], dtype=float64)"
)
radians, degrees = deg2rad, rad2deg


def _sinc(x: Any) -> Any:
    # Near 0 the series of sin(y)/y; beyond, the quotient with a divisor that is never 0. Both are smooth where they meet.
    y = ew.mul(x, like(x, math.pi))
    size = ew.abs(y)
    near = ew.lt(size, like(size, 0.5))
    safe = ew.select_n(near, y, like(y, 1))
    square = ew.square(ew.select_n(near, like(y, 0), y))
    series = like(y, 0)
    for k in range(8, -1, -1):
        coefficient = like(y, (-1) ** k / math.factorial(2 * k + 1))
        series = ew.add(ew.mul(square, series), coefficient) if isinstance(series, Value) else full(aval_of(y).shape, coefficient)
    return ew.select_n(near, ew.div(ew.sin(safe), safe), series)


sinc = unary_float(
    "sinc",
    _sinc,
    "sin(pi x) / (pi x), and 1 at 0, where all derivatives are right.",
    "fnp.array([0.0, 0.5, 1.5])",
    "Array([ 1.        ,  0.63661975, -0.21220659], dtype=float32)",
)


def _hypot(x: Any, y: Any) -> Any:
    no_complex("hypot", x)
    x, y = ew.abs(x), ew.abs(y)
    big = ew.max(x, y)
    # Scaled by the larger leg: no overflow; where that is 0 or infinite it is the answer itself.
    usable = ew.and_(ew.gt(big, like(big, 0)), ew.lt(big, like(big, np.inf)))
    scale = ew.stop_gradient(ew.select_n(usable, like(big, 1), big))
    a, b = ew.div(x, scale), ew.div(y, scale)
    squares = ew.add(ew.mul(a, a), ew.mul(b, b))
    positive = ew.gt(squares, like(squares, 0))
    root = ew.mul(scale, ew.sqrt(ew.select_n(positive, like(squares, 1), squares)))
    infinite = ew.or_(ew.eq(x, like(x, np.inf)), ew.eq(y, like(y, np.inf)))
    zero_or_nan = ew.select_n(ew.ne(squares, squares), like(root, 0), squares)
    return ew.select_n(infinite, ew.select_n(positive, zero_or_nan, root), like(root, np.inf))


hypot = binary_float(
    "hypot",
    widened(_hypot),
    "sqrt(x1**2 + x2**2) without overflow; the gradient at (0, 0) is 0.",
    "fnp.array([3.0, 1e38]), fnp.array([4.0, 1e38])",
    "Array([5.0000000e+00, 1.4142135e+38], dtype=float32)",
)


def angle(z: Any, deg: Any = False) -> Any:
    """The angle of a complex number in (-pi, pi], in radians or (deg=True) degrees; of negative real z it is pi.

    Args: z: array or scalar. Returns: a real float of the shape of z.

    >>> fnp.angle(fnp.array([1 + 1j, -1, -2j]), deg=True)
    Array([ 45., 180., -90.], dtype=float32)
    """
    x = as_value(common_inexact(operand(z, "angle", "z"))[0], "angle")
    if x.dtype in dt.COMPLEXES:
        out = ew.atan2(ew.imag(x), ew.real(x))
    else:  # a step, with slope 0 at x = 0 too
        out = ew.atan2(full(x.shape, x.dtype.type(0)), ew.stop_gradient(x))
    return ew.mul(out, out.dtype.type(180 / math.pi)) if flag(deg, "fnp.angle", "deg") else out
