"""Floating-point numbers taken apart: sign, fraction, exponent, neighbours, and what is no number."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, message
from funcgrad.numpy._promote import as_value, binary, cast, check_unsupported, common_inexact, operand
from funcgrad.numpy._table import binary_float, no_complex, unary_float
from funcgrad.numpy.compare import signbit
from funcgrad.numpy.elementwise import maximum, minimum, trunc
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "copysign", "frexp", "ldexp", "modf", "nan_to_num", "nextafter", "spacing",
]  # fmt: skip


def modf(x: Any, /, out: Any = None) -> tuple[Any, Any]:
    """The fraction and the whole part of real x, both with its sign, as floats of the shape of x.

    out: must be None. Raises: TypeError for complex numbers.

    >>> fnp.modf(fnp.array([1.25, -2.5]))
    (Array([ 0.25, -0.5 ], dtype=float32), Array([ 1., -2.], dtype=float32))
    """
    check_unsupported("modf", out=out)
    v = common_inexact(operand(x, "modf", "x"))[0]
    whole = trunc(v)
    fraction = ew.select_n(ew.eq(ew.abs(v), like(v, np.inf)), ew.sub(v, whole), like(v, 0))
    return copysign(fraction, v), copysign(whole, v)


def exponent_layout(d: np.dtype) -> tuple[np.dtype, int, int, int]:
    """Of a float dtype: the integer of its width, mantissa bits, exponent bits, bias."""
    mantissa = int(dt.finfo(d).nmant)
    width = d.itemsize * 8
    exponent = width - 1 - mantissa
    return np.dtype(f"int{width}"), mantissa, exponent, 2 ** (exponent - 1) - 1


def frexp(x: Any, /) -> tuple[Any, Any]:
    """x as m * 2**e with 0.5 <= |m| < 1: the pair (m, e); e is int32. Zero, infinity and NaN are themselves with e = 0.

    Args: x: array or scalar of real numbers. The gradient of m is 2**-e.

    >>> fnp.frexp(fnp.array([8.0, -0.75, 0.0]))
    (Array([ 0.5 , -0.75,  0.  ], dtype=float32), Array([4, 0, 0], dtype=int32))
    """
    v = as_value(common_inexact(operand(x, "frexp", "x"))[0], "frexp")
    no_complex("frexp", v)
    if v.dtype in dt.FLOAT8:  # their layouts differ
        m, e = frexp(cast(v, dt.float32))
        return cast(m, v.dtype), e
    integer, mantissa, exponent, bias = exponent_layout(v.dtype)
    tiny = ew.lt(ew.abs(v), v.dtype.type(dt.finfo(v.dtype).smallest_normal))
    lift = mantissa + 2  # brings the smallest subnormal into the normal range
    lifted = ew.select_n(tiny, v, ew.mul(v, v.dtype.type(2.0**lift)))
    bits = ew.bitcast_convert_type(lifted, new_dtype=integer)
    field = ew.and_(ew.shift_right_logical(bits, integer.type(mantissa)), integer.type(2**exponent - 1))
    power_of_two = ew.sub(ew.convert(field, dt.int32), np.int32(bias - 1))
    power_of_two = ew.select_n(tiny, power_of_two, ew.sub(power_of_two, np.int32(lift)))
    special = ew.or_(ew.eq(v, v.dtype.type(0)), ew.not_(ew.is_finite(v)))
    e = ew.select_n(special, power_of_two, np.int32(0))
    return ew.select_n(special, ldexp(v, ew.neg(e)), v), e


def ldexp(x1: Any, x2: Any, /) -> Any:
    """x1 * 2**x2 for integers x2, exact (also where 2**x2 itself would overflow).

    Args: x1: real numbers. x2: integers of a shape that broadcasts with that of x1. Returns: a float of the dtype of x1.

    >>> fnp.ldexp(fnp.array([0.75, 1.0]), fnp.array([2, -1]))
    Array([3. , 0.5], dtype=float32)
    """
    x, n = operand(x1, "ldexp", "x1"), operand(x2, "ldexp", "x2")
    if aval_of(n).dtype not in dt.INTEGERS | dt.BOOLS:
        raise DtypeError(message(f"fnp.ldexp: got {aval_of(n).str_short()} for x2", "integers", "x2.astype(int)"))
    x = as_value(common_inexact(x)[0], "ldexp")
    no_complex("ldexp", x)
    if x.dtype in dt.FLOAT8:  # their layouts differ
        return cast(ldexp(cast(x, dt.float32), n), x.dtype)
    integer, mantissa, exponent, bias = exponent_layout(x.dtype)
    # In three steps, so that no single factor leaves the range of normal numbers.
    part, limit = np.int32(bias - 1), 3 * (bias - 1)
    n = as_value(n, "ldexp")
    n = minimum(n, np.uint64(limit)) if n.dtype == dt.uint64 else n
    n = cast(minimum(maximum(cast(n, dt.int64), np.int64(-limit)), np.int64(limit)), dt.int32)
    for _ in range(3):
        step = minimum(maximum(n, -part), part)
        n = ew.sub(n, step)
        bits = ew.shift_left(ew.convert(ew.add(step, np.int32(bias)), integer), integer.type(mantissa))
        x = binary(ew.mul, x, ew.bitcast_convert_type(bits, new_dtype=x.dtype), "ldexp")
    return x


def _spacing(x: Any) -> Any:
    no_complex("spacing", x)
    size = ew.stop_gradient(ew.abs(x))  # the distance is constant but where it jumps
    if size.dtype in dt.FLOAT8:  # not all of them have an infinity to go towards
        largest = dt.finfo(size.dtype).max
        last = ew.sub(like(size, largest), ew.nextafter(like(size, largest), like(size, 0)))
        step = ew.sub(ew.nextafter(size, like(size, largest)), size)
        gap = ew.select_n(ew.lt(size, like(size, largest)), last, step)
    else:
        gap = ew.sub(ew.nextafter(size, like(size, np.inf)), size)
    gap = ew.select_n(ew.is_finite(size), like(size, np.nan), gap)
    return ew.select_n(ew.lt(x, like(x, 0)), gap, ew.neg(gap))


spacing = unary_float(
    "spacing",
    _spacing,
    "The distance from x to the next number away from 0.",
    "np.array([1.0, 1e16])",
    "Array([2.22044605e-16, 2.00000000e+00], dtype=float64)",
)


def _copysign(x: Any, y: Any) -> Any:
    no_complex("copysign", x)
    size = ew.abs(x)
    return ew.select_n(signbit(y), size, ew.neg(size))


copysign = binary_float(
    "copysign", _copysign, "x1 with the sign of x2.", "fnp.array([1.0, -2.0]), -0.0", "Array([-1., -2.], dtype=float32)"
)


def _nextafter(x: Any, y: Any) -> Any:
    if aval_of(x).dtype not in dt.FLOATS:
        raise DtypeError(message(f"fnp.nextafter: got {aval_of(x).str_short()}", "real floats", "x.real"))
    return ew.nextafter(x, y)


nextafter = binary_float(
    "nextafter",
    _nextafter,
    "The next representable number after x1 towards x2.",
    "np.array([1.0, 0.0]), 2.0",
    "Array([1.e+000, 5.e-324], dtype=float64)",
    letters=True,
)


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """NaN becomes `nan`, +inf `posinf` and -inf `neginf` (None: the largest and smallest numbers of the dtype).

    Args: x: array or scalar; integers stay as they are, of complex numbers both parts are replaced. copy: any; arrays
    are immutable. Replaced places take no gradient.

    >>> fnp.nan_to_num(fnp.array([1.0, fnp.nan, fnp.inf]), nan=-1.0, posinf=9.0)
    Array([ 1., -1.,  9.], dtype=float32)
    """
    v = as_value(x, "nan_to_num", "x")
    if v.dtype in dt.COMPLEXES:
        return ew.complex(*[nan_to_num(p(v), copy, nan, posinf, neginf) for p in (ew.real, ew.imag)])
    if v.dtype not in dt.FLOATS:
        return v
    info = dt.finfo(v.dtype)
    out = v
    for test, number in (
        (ew.ne(v, v), nan),
        (ew.eq(v, v.dtype.type(np.inf)), info.max if posinf is None else posinf),
        (ew.eq(v, v.dtype.type(-np.inf)), info.min if neginf is None else neginf),
    ):
        test_, number_ = test, cast(operand(number, "nan_to_num", "nan"), v.dtype)
        out = ew.select_n(test_, out, number_) if not isinstance(number_, Value) else binary_select(test_, number_, out)
    return out


def binary_select(mask: Any, x: Any, y: Any) -> Any:
    """x where the mask holds, otherwise y, broadcast (one dtype)."""
    shaped_x, shaped_y = binary(lambda p, q: (p, q), x, y, "where")
    return ew.select_n(mask, shaped_y, shaped_x)
