"""Complex functions as scalar expressions of real ones, for kernels: a kernel's elementary functions are real.

`b` is the builder of loop rules, z a complex expression. The formulas for the inverse functions are Kahan's (Branch cuts for
complex elementary functions, 1987), with his choice of signs on the cuts. Where a part is infinite or NaN the answers are
those of annex G of C99 (a NaN has no sign there, nor has the zero beside it).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt

_LN2 = float(np.log(2.0))


def by_kind(real: Callable[..., Any], complex_: Callable[..., Any]) -> Callable[..., Any]:
    """A loop rule that is one function for real operands and another for complex ones."""

    def loop(b: Any, x: Any, *more: Any, **params: Any) -> Any:
        return (complex_ if x.dtype in dt.COMPLEXES else real)(b, x, *more, **params)

    return loop


def parts(b: Any, z: Any) -> tuple[Any, Any]:
    return b.real(z), b.imag(z)


def copysign(b: Any, size: Any, sign: Any) -> Any:
    """|size| with the sign of `sign`, also of its zeros."""
    u = np.dtype(f"uint{sign.dtype.itemsize * 8}")
    top = 1 << (sign.dtype.itemsize * 8 - 1)
    return b.bitcast(b.or_(b.bitcast(b.abs(size), u), b.and_(b.bitcast(sign, u), top)), sign.dtype)


def modulus(b: Any, z: Any) -> Any:
    """sqrt(x^2 + y^2) without overflow on the way."""
    return _hypot(b, *parts(b, z))


def _hypot(b: Any, x: Any, y: Any) -> Any:
    x, y = b.abs(x), b.abs(y)
    big, small = b.max(x, y), b.min(x, y)
    infinity = b.const(np.inf, x.dtype)
    infinite = b.or_(b.eq(x, infinity), b.eq(y, infinity))
    ratio = b.div(small, b.select(b.eq(big, 0), 1, big))
    return b.select(infinite, infinity, b.mul(big, b.sqrt(b.add(b.mul(ratio, ratio), 1))))


def scaled(b: Any, number: Any, z: Any) -> Any:
    """A real expression times a complex one."""
    return b.complex(b.mul(number, b.real(z)), b.mul(number, b.imag(z)))


def reciprocal(b: Any, z: Any) -> Any:
    """1 / z, by Smith's method."""
    return divide(b, b.const(1, z.dtype), z)


def divide(b: Any, w: Any, z: Any) -> Any:
    """w / z, by Smith's method (Algorithm 116: Complex division, CACM 1962): the larger part of z is divided out first. Step by
    step as NumPy does it, so that infinities, NaN and zeros of either sign come out as they do there."""
    (p, q), (x, y) = parts(b, w), parts(b, z)
    wide = b.ge(b.abs(x), b.abs(y))
    large, small = b.select(wide, x, y), b.select(wide, y, x)
    zero = b.and_(b.eq(large, 0), b.eq(small, 0))  # then both parts of w are divided by it, without its sign
    ratio = b.div(small, b.select(zero, 1, large))
    scale = b.div(1, b.select(zero, b.abs(large), b.add(large, b.mul(small, ratio))))
    one, two = b.select(wide, p, q), b.select(wide, q, p)
    real = b.select(zero, p, b.add(one, b.mul(two, ratio)))
    # (q x - p y) / |z|^2 in the first case, (q x - p y) with the roles exchanged in the second
    imag = b.select(zero, q, b.select(wide, b.sub(q, b.mul(p, ratio)), b.sub(b.mul(q, ratio), p)))
    return b.complex(b.mul(real, scale), b.mul(imag, scale))


def sign(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    # Beside an infinite part the other one vanishes; two infinite parts have no direction.
    far, both = _far(b, z), b.and_(_infinite(b, x), _infinite(b, y))
    z = b.complex(*[b.select(far, b.select(_infinite(b, v), copysign(b, b.const(1, v.dtype), v), 0), v) for v in (x, y)])
    size = b.select(both, b.const(np.nan, x.dtype), modulus(b, z))
    zero = b.eq(size, 0)
    return b.select(zero, b.const(0, z.dtype), scaled(b, b.div(1, b.select(zero, 1, size)), z))


# --- infinite parts and NaN ---------------------------------------------------------------------------------------------


def _infinite(b: Any, x: Any) -> Any:
    return b.eq(b.abs(x), b.const(np.inf, x.dtype))


def _no_number(b: Any, x: Any) -> Any:
    """Whether x is infinite or NaN: where it is, x - x is not 0."""
    return b.ne(b.sub(x, x), 0)


def _times(b: Any, x: Any, y: Any) -> Any:
    """x * y, where a 0 makes it 0 (with the sign of the product) also if the other is infinite or NaN."""
    zero = b.or_(b.eq(x, 0), b.eq(y, 0))
    bounded = [b.select(_no_number(b, v), copysign(b, b.const(1, v.dtype), v), v) for v in (x, y)]
    return b.select(zero, b.mul(*bounded), b.mul(x, y))


def _lost(b: Any, x: Any, angle: Any) -> Any:
    """Whether z has gone to infinity, with x, in no direction: the angle is infinite or NaN."""
    return b.and_(_infinite(b, x), _no_number(b, angle))


def _corner(b: Any, x: Any) -> Any:
    """The direction in which x lies from afar: 1 or -1 where it is infinite, 0 where it is finite, NaN."""
    return b.select(_infinite(b, x), copysign(b, b.const(1, x.dtype), x), b.mul(x, 0))


def exp(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    size = b.exp(x)
    real = b.eq(y, 0)  # keeps exp(inf + 0i) real
    lost = _lost(b, x, y)
    imag = b.select(lost, b.sub(size, size), b.mul(size, b.sin(y)))
    return b.complex(b.select(b.or_(real, lost), size, b.mul(size, b.cos(y))), b.select(real, y, imag))


def exp2(b: Any, z: Any) -> Any:
    return exp(b, scaled(b, b.const(_LN2, b.real(z).dtype), z))


def expm1(b: Any, z: Any) -> Any:
    # expm1(x) cos y - 2 sin^2(y / 2) + i exp(x) sin y
    x, y = parts(b, z)
    half = b.sin(b.mul(y, 0.5))
    less = b.expm1(x)
    real = b.sub(b.mul(less, b.cos(y)), b.mul(b.mul(half, half), 2))
    lost, on_axis, size = _lost(b, x, y), b.eq(y, 0), b.exp(x)
    imag = b.select(lost, b.sub(size, size), b.mul(size, b.sin(y)))
    return b.complex(b.select(on_axis, b.add(less, 0), b.select(lost, less, real)), b.select(on_axis, y, imag))


def log(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    return b.complex(_log_modulus(b, x, y), b.atan2(y, x))


def _log_modulus(b: Any, x: Any, y: Any) -> Any:
    big, small = b.max(b.abs(x), b.abs(y)), b.min(b.abs(x), b.abs(y))
    # Near the unit circle the logarithm is small, and is taken of the difference from 1.
    near = b.and_(b.gt(big, 0.5), b.lt(big, 2))
    difference = b.add(b.mul(b.sub(big, 1), b.add(big, 1)), b.mul(small, small))
    return b.select(near, b.mul(b.log1p(b.select(near, difference, 0)), 0.5), b.log(_hypot(b, x, y)))


def log1p(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    one = b.add(x, 1)
    near = b.and_(b.lt(b.abs(x), 0.5), b.lt(b.abs(y), 1))
    difference = b.add(b.mul(x, b.add(x, 2)), b.mul(y, y))
    size = b.select(near, b.mul(b.log1p(b.select(near, difference, 0)), 0.5), _log_modulus(b, one, y))
    return b.complex(size, b.atan2(y, one))


def sqrt(b: Any, z: Any) -> Any:
    # t = sqrt((|x| + |z|) / 2); the root is (t, y / 2t) on the right and (|y| / 2t, sign(y) t) on the left.
    x, y = parts(b, z)
    # Scaled by 1/4 before the sum so that it cannot overflow.
    t = b.mul(b.sqrt(b.mul(b.add(b.mul(b.abs(x), 0.25), b.mul(modulus(b, z), 0.25)), 0.5)), 2)
    zero = b.eq(t, 0)
    other = b.select(zero, b.abs(y), b.div(b.abs(y), b.mul(b.select(zero, 1, t), 2)))
    right = b.ge(x, 0)
    infinity = b.const(np.inf, x.dtype)
    high = b.eq(b.abs(y), infinity)  # then both parts are infinite, whatever x is
    real, imag = b.select(right, t, other), b.select(right, other, t)
    return b.complex(b.select(high, infinity, real), copysign(b, b.select(high, infinity, imag), y))


def _grown(b: Any, x: Any, size: Any, angle: Any, factor: Any) -> Any:
    """size * factor, where size grows without bounds with x, and the factor is the cosine of an angle."""
    return b.select(_lost(b, x, angle), size, _times(b, size, factor))


def sin(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    return b.complex(_times(b, b.cosh(y), b.sin(x)), _grown(b, y, b.sinh(y), x, b.cos(x)))


def cos(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    return b.complex(_grown(b, y, b.cosh(y), x, b.cos(x)), b.neg(_times(b, b.sinh(y), b.sin(x))))


def sinh(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    return b.complex(_grown(b, x, b.sinh(x), y, b.cos(y)), _times(b, b.cosh(x), b.sin(y)))


def cosh(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    return b.complex(_grown(b, x, b.cosh(x), y, b.cos(y)), _times(b, b.sinh(x), b.sin(y)))


def tanh(b: Any, z: Any) -> Any:
    # (T (1 + s^2) + i s c (1 - T^2)) / (c^2 + T^2 s^2) with T = tanh x: nothing here overflows.
    x, y = parts(b, z)
    t, s, c = b.tanh(x), b.sin(y), b.cos(y)
    bottom = b.add(b.mul(c, c), b.mul(b.mul(t, t), b.mul(s, s)))
    cosh_ = b.cosh(x)
    real, imag = b.div(t, bottom), b.div(b.div(b.mul(s, c), b.mul(cosh_, cosh_)), bottom)
    far = _lost(b, x, y)
    real = b.select(b.or_(far, b.eq(x, 0)), t, real)
    return b.complex(real, b.select(far, b.const(0, y.dtype), b.select(b.eq(y, 0), y, imag)))


def _turned(fun: Callable[..., Any]) -> Callable[..., Any]:
    """f(z) = -i g(i z), for g one of sinh's family and f the same of sin's."""

    def loop(b: Any, z: Any) -> Any:
        x, y = parts(b, z)
        out = fun(b, b.complex(b.neg(y), x))
        return b.complex(b.imag(out), b.neg(b.real(out)))

    return loop


tan = _turned(tanh)


def logistic(b: Any, z: Any) -> Any:
    # exp(z) / (1 + exp(z)) on the left and 1 / (1 + exp(-z)) on the right: no overflow, and no difference of near equals.
    left = b.lt(b.real(z), 0)
    one = b.const(1, z.dtype)
    e = exp(b, b.select(left, z, b.neg(z)))
    return divide(b, b.select(left, e, one), b.add(one, e))


def _near_one(b: Any, z: Any) -> tuple[Any, Any]:
    """sqrt(1 - z) and sqrt(1 + z)."""
    x, y = parts(b, z)
    return sqrt(b, b.complex(b.sub(1, x), b.neg(y))), sqrt(b, b.complex(b.add(x, 1), y))


def _imag_of_conj_product(b: Any, v: Any, w: Any) -> Any:
    """Im(conj(v) w)"""
    return b.sub(b.mul(b.real(v), b.imag(w)), b.mul(b.imag(v), b.real(w)))


def asin(b: Any, z: Any) -> Any:
    minus, plus = _near_one(b, z)
    product = b.sub(b.mul(b.real(minus), b.real(plus)), b.mul(b.imag(minus), b.imag(plus)))
    real, imag = b.atan2(b.real(z), product), b.asinh(_imag_of_conj_product(b, minus, plus))
    x, y = parts(b, z)
    real = b.select(b.eq(x, 0), x, b.select(_far(b, z), b.atan2(_corner(b, x), b.abs(_corner(b, y))), real))
    return b.complex(real, b.select(_far(b, z), copysign(b, b.const(np.inf, y.dtype), y), imag))


def acos(b: Any, z: Any) -> Any:
    minus, plus = _near_one(b, z)
    real, imag = b.mul(b.atan2(b.real(minus), b.real(plus)), 2), b.asinh(_imag_of_conj_product(b, plus, minus))
    endless = copysign(b, b.const(np.inf, imag.dtype), b.neg(b.imag(z)))
    return b.complex(_far_angle(b, z, real), b.select(_far(b, z), endless, imag))


def _far(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    return b.or_(_infinite(b, x), _infinite(b, y))


def _far_angle(b: Any, z: Any, near: Any) -> Any:
    """The angle of z in [0, pi] where a part is infinite, pi / 2 at 0 + NaN i; `near` elsewhere."""
    x, y = parts(b, z)
    half = b.const(np.pi / 2, x.dtype)
    angle = b.atan2(b.abs(_corner(b, y)), _corner(b, x))
    return b.select(_far(b, z), angle, b.select(b.and_(b.eq(x, 0), b.ne(y, y)), half, near))


def acosh(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    minus, plus = sqrt(b, b.complex(b.sub(x, 1), y)), sqrt(b, b.complex(b.add(x, 1), y))
    real = b.add(b.mul(b.real(minus), b.real(plus)), b.mul(b.imag(minus), b.imag(plus)))
    real, imag = b.asinh(real), b.mul(b.atan2(b.imag(minus), b.real(plus)), 2)
    angle = copysign(b, _far_angle(b, z, b.abs(imag)), y)
    return b.complex(b.select(_far(b, z), b.const(np.inf, x.dtype), real), angle)


def atanh(b: Any, z: Any) -> Any:
    x, y = parts(b, z)
    less = b.sub(1, x)
    square = b.mul(y, y)
    # The smaller of the two distances carries the accuracy, so the rule is applied to |x|.
    size = b.abs(x)
    near = b.sub(1, size)
    real = b.mul(b.log1p(b.div(b.mul(size, 4), b.add(b.mul(near, near), square))), 0.25)
    imag = b.mul(b.atan2(b.mul(y, 2), b.sub(b.mul(less, b.add(x, 1)), square)), 0.5)
    infinity = b.const(np.inf, x.dtype)
    far = b.or_(b.eq(size, infinity), b.eq(b.abs(y), infinity))
    quarter = copysign(b, b.const(np.pi / 2, x.dtype), y)
    real = b.select(b.or_(far, b.eq(x, 0)), 0, real)
    return b.complex(copysign(b, real, x), b.select(b.and_(far, b.eq(y, y)), quarter, imag))


asinh = _turned(asin)
atan = _turned(atanh)


def pow(b: Any, z: Any, w: Any) -> Any:
    """exp(w log z), and 0 ** w as NumPy has it: 1 for w = 0, 0 for a positive real part."""
    out = exp(b, b.mul(w, log(b, z)))
    zero = b.eq(z, 0)
    at_zero = b.select(b.eq(w, 0), b.const(1, z.dtype), b.const(0, z.dtype))
    return b.select(b.and_(zero, b.or_(b.eq(w, 0), b.gt(b.real(w), 0))), at_zero, b.select(b.eq(w, 0), b.const(1, z.dtype), out))


def greater(b: Any, z: Any, w: Any) -> Any:
    """The lexicographic order in which NumPy takes the maximum of complex numbers."""
    (x, y), (p, q) = parts(b, z), parts(b, w)
    return b.or_(b.gt(x, p), b.and_(b.eq(x, p), b.gt(y, q)))


def is_nan(b: Any, z: Any) -> Any:
    return b.ne(z, z)
