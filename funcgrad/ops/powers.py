"""Powers: cbrt integer_pow pow. Derivatives are exact at zeros of base and exponent."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.ops import _complex as cx
from funcgrad.ops._family import elementwise, like
from funcgrad.ops._samples import uniform
from funcgrad.ops.arithmetic import div, div_loop, div_numpy, mul, square, sub
from funcgrad.ops.bitwise import and_
from funcgrad.ops.compare import eq, ge
from funcgrad.ops.exponential import log
from funcgrad.ops.parts import is_complex, real
from funcgrad.ops.select import select_n
from funcgrad.trace.value import Value

# Away from zero, where slopes would be too steep for a difference quotient.
_POSITIVE = uniform(0.5, 4)


def _cbrt_numpy(x: np.ndarray) -> np.ndarray:
    # NumPy's float32 cbrt of 27 is 2.9999998.
    return np.cbrt(x) if x.dtype.itemsize > 4 else np.cbrt(x.astype(np.float64)).astype(x.dtype)


cbrt = elementwise(
    "cbrt",
    dtypes=dt.FLOATS,
    numpy=_cbrt_numpy,
    jvp=[lambda t, out, x: mul(t, div(like(x, 1 / 3), square(out)))],
    loop=lambda b, x: b.cbrt(x),
    samples=_POSITIVE,
    doc="the real cube root",
)


# --- powers -----------------------------------------------------------------------------------------------------


def _by_squaring(x: Any, n: int, one: Any, times: Callable[[Any, Any], Any]) -> Any:
    """x ** n for n >= 0, with the multiplications in one order wherever it is computed."""
    out = None
    while n:
        if n & 1:
            out = x if out is None else times(out, x)
        n >>= 1
        if n:
            x = times(x, x)
    return one if out is None else out


def _integer_pow_numpy(x: np.ndarray, y: int) -> np.ndarray:
    one = x.dtype.type(1)
    out = _by_squaring(x, abs(y), np.full(x.shape, one), np.multiply)
    return out if y >= 0 else div_numpy(np.asarray(one), np.asarray(out))


def _integer_pow_loop(b: Any, x: Any, y: int) -> Any:
    one = b.const(1, x.dtype)
    out = _by_squaring(x, abs(y), one, b.mul)
    if y >= 0:
        return out
    return cx.divide(b, one, out) if x.dtype in dt.COMPLEXES else div_loop(b, one, out)


def _integer_pow_jvp(ts: Sequence[Any], out: Any, x: Any, *, y: int) -> Any:
    (t,) = ts
    if t is None or y == 0:
        return None
    if y == 1:
        return t
    slope = x if y == 2 else square(x) if y == 3 else integer_pow(x, y=y - 1)
    return mul(t, mul(slope, like(x, y)))


integer_pow = elementwise(
    "integer_pow",
    dtypes=dt.NUMBERS,
    numpy=_integer_pow_numpy,
    arity=1,
    jvp=_integer_pow_jvp,
    loop=_integer_pow_loop,
    samples=_POSITIVE,
    cases=({"y": 0}, {"y": 1}, {"y": 2}, {"y": 5}, {"y": -1}, {"y": -3}),
    doc="x ** y for a fixed whole y",
)


def _pow_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype not in dt.SIGNED:
        return np.power(x, y)
    # The truncated value: a negative power of anything but 1 and -1 is 0.
    negative = y < 0
    out = np.power(x, np.where(negative, y.dtype.type(0), y))
    odd = (y & 1).astype(bool)
    unit = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0)).astype(x.dtype)
    return np.where(negative, unit, out)


def _pow_loop(b: Any, x: Any, y: Any) -> Any:
    if x.dtype not in dt.INTEGERS:
        return b.pow(x, y)
    out, base = b.const(1, x.dtype), x
    bits = x.dtype.itemsize * 8 - (x.dtype in dt.SIGNED)
    for k in range(bits):
        out = b.select(b.ne(b.and_(b.shr(y, k) if k else y, 1), 0), b.mul(out, base), out)
        base = b.mul(base, base)
    if x.dtype in dt.UNSIGNED:
        return out
    odd = b.ne(b.and_(y, 1), 0)
    minus_one = b.select(odd, b.const(-1, x.dtype), 1)
    unit = b.select(b.eq(x, 1), b.const(1, x.dtype), b.select(b.eq(x, -1), minus_one, 0))
    return b.select(b.lt(y, 0), unit, out)


def _pow_jvp_x(t: Any, out: Any, x: Any, y: Any) -> Any:
    if not isinstance(y, Value):
        # A fixed exponent: the slope is written with its own number.
        return None if y == 0 else mul(t, mul(pow_(x, like(y, y - 1)), y))
    # y x^(y - 1). At x = y = 0 that would be 0 * inf; the base is replaced there, which leaves 0.
    corner = and_(eq(x, like(x, 0)), eq(y, like(y, 0)))
    base = select_n(corner, x, like(x, 1))
    return mul(t, mul(y, pow_(base, sub(y, like(y, 1)))))


def _pow_jvp_y(t: Any, out: Any, x: Any, y: Any) -> Any:
    if not isinstance(x, Value) and not is_complex(x) and x > 0:
        return mul(t, mul(out, like(x, math.log(x))))
    # x^y log x, whose limit at x = 0 is 0 for y > 0.
    at_zero = and_(eq(x, like(x, 0)), ge(real(y), like(real(y), 0)) if is_complex(y) else ge(y, like(y, 0)))
    return mul(t, mul(out, log(select_n(at_zero, x, like(x, 1)))))


pow_ = elementwise(
    "pow",
    dtypes=dt.NUMBERS,
    numpy=_pow_numpy,
    jvp=[_pow_jvp_x, _pow_jvp_y],
    loop=cx.by_kind(_pow_loop, cx.pow),
    samples=[_POSITIVE, uniform(0, 3)],
    doc="x ** y; integers wrap, and a negative power of an integer is truncated",
)
