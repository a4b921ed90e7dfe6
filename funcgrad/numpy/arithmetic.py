"""Arithmetic of more than one primitive: whole division and remainders, powers, logarithms of sums, and special values.

Whole division follows NumPy (and Python): the quotient is rounded down and the remainder has the sign of the divisor; an integer
divided by 0 gives 0. Formulas are chosen so that their derivatives of any order are right at their special points.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, UsageError, message
from funcgrad.numpy._promote import (
    as_value,
    binary,
    cast,
    check_unsupported,
    common_inexact,
    operand,
    unify,
)
from funcgrad.numpy._table import binary_float, binary_same, binary_ufunc, unary_float, wrong_dtype
from funcgrad.numpy.compare import isnan, signbit
from funcgrad.numpy.elementwise import maximum, minimum, trunc
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full, like
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "angle", "around", "clip", "copysign", "divmod", "float_power", "floor_divide", "fmax", "fmin", "fmod", "frexp", "gcd",
    "heaviside", "hypot", "lcm", "ldexp", "logaddexp", "logaddexp2", "mod", "modf", "nan_to_num", "pow", "power", "remainder",
    "round",
    "sinc", "spacing",
]  # fmt: skip


def _no_complex(name: str, x: Any) -> None:
    if aval_of(x).dtype in dt.COMPLEXES:
        raise wrong_dtype(name, x, dt.REALS, "x.real")


# --- whole division -------------------------------------------------------------------------------------------------------


def _bool_as_int8(op: Callable[..., Any]) -> Callable[..., Any]:
    def apply(x: Any, y: Any) -> Any:
        if aval_of(x).dtype == dt.bool_:
            x, y = cast(x, dt.int8), cast(y, dt.int8)
        return op(x, y)

    return apply


def _floor_divide(x: Any, y: Any) -> Any:
    _no_complex("floor_divide (//)", x)
    d = aval_of(x).dtype
    if d in dt.FLOATS:
        return _float_divmod(x, y)[0]
    zero = ew.eq(y, like(y, 0))
    quotient = ew.div(x, y)
    if d in dt.SIGNED:
        left = ew.rem(x, y)
        inexact = ew.and_(ew.ne(left, like(left, 0)), ew.ne(ew.lt(left, like(left, 0)), ew.lt(y, like(y, 0))))
        quotient = ew.select_n(inexact, quotient, ew.sub(quotient, like(quotient, 1)))
    return ew.select_n(zero, quotient, like(quotient, 0)) if isinstance(y, Value) or y == 0 else quotient


def _remainder(x: Any, y: Any) -> Any:
    _no_complex("remainder (%)", x)
    d = aval_of(x).dtype
    left = ew.rem(x, y)
    if d in dt.FLOATS:
        return _signed_as(left, y)
    if d in dt.SIGNED:
        other = ew.and_(ew.ne(left, like(left, 0)), ew.ne(ew.lt(left, like(left, 0)), ew.lt(y, like(y, 0))))
        left = ew.select_n(other, left, ew.add(left, y))
    return ew.select_n(ew.eq(y, like(y, 0)), left, like(left, 0)) if isinstance(y, Value) or y == 0 else left


def _signed_as(left: Any, y: Any) -> Any:
    """A remainder moved to the sign of the divisor."""
    zero = like(left, 0)
    other = ew.and_(ew.ne(left, zero), ew.ne(ew.lt(left, zero), ew.lt(y, like(y, 0))))
    return ew.select_n(other, left, ew.add(left, y))


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    # Python's algorithm: the quotient from the exact remainder, rounded to the whole number that it is next to.
    left = ew.rem(x, y)
    modulus = _signed_as(left, y)
    raw = ew.div(ew.sub(x, left), y)
    raw = ew.select_n(ew.ne(modulus, left), raw, ew.sub(raw, like(raw, 1)))
    down = ew.floor(raw)
    quotient = ew.select_n(ew.gt(ew.sub(raw, down), like(raw, 0.5)), down, ew.add(down, like(down, 1)))
    # By zero: what true division gives.
    return ew.select_n(ew.eq(y, like(y, 0)), quotient, ew.div(x, y)), modulus


floor_divide = binary_same("floor_divide", _bool_as_int8(_floor_divide), "x1 // x2: the quotient, rounded down.", sample="7, -2")
remainder = binary_same(
    "remainder", _bool_as_int8(_remainder), "x1 % x2: what is left of x1 // x2, with the sign of x2.", sample="7, -2"
)
mod = remainder


def _fmod(x: Any, y: Any) -> Any:
    _no_complex("fmod", x)
    left = ew.rem(x, y)
    if aval_of(x).dtype in dt.FLOATS:
        return left
    return ew.select_n(ew.eq(y, like(y, 0)), left, like(left, 0)) if isinstance(y, Value) or y == 0 else left


fmod = binary_same(
    "fmod", _bool_as_int8(_fmod), "What is left of the quotient rounded towards 0, with the sign of x1.", sample="7, -2"
)


def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """The pair (x1 // x2, x1 % x2)."""
    x, y = unify("divmod", x1, x2)
    _no_complex("divmod", x)
    if aval_of(x).dtype in dt.FLOATS:
        return _float_divmod(x, y)
    return floor_divide(x, y), remainder(x, y)


# --- powers ---------------------------------------------------------------------------------------------------------------


def power(x1: Any, x2: Any, /) -> Any:
    """x1 ** x2.

    A whole Python number as x2 keeps it exact (x * x for 2) and has a gradient to x1 alone. Of integers the result is an integer
    (a negative Python exponent raises). At x1 = 0 the gradients are the limits.

    >>> fnp.power(2.0, 3)
    """
    if isinstance(x1, Value) and x2.__class__ is int:
        d = x1.aval.dtype
        if d in dt.INEXACT or x2 >= 0 and d in dt.INTEGERS:
            return ew.square(x1) if x2 == 2 else ew.integer_pow(x1, y=x2)
        if d in dt.INTEGERS:
            raise UsageError(
                message(
                    f"fnp.power (**): got {x1.aval.str_short()} and {x2}",
                    "whole exponents of 0 or more for integers",
                    "x.astype('float32') ** n, or x ** float(n)",
                )
            )
    return binary(_power, x1, x2, "power")


def _power(x: Any, y: Any) -> Any:
    if aval_of(x).dtype == dt.bool_:
        x, y = cast(x, dt.int8), cast(y, dt.int8)
    return ew.pow(x, y)


def pow(x1: Any, x2: Any, /) -> Any:
    """As `power(x1, x2)`; the array API's name."""
    return power(x1, x2)


float_power = binary_float("float_power", ew.pow, "x1 ** x2 as floats, whatever the dtypes.", sample="2, -1", letters=True)

# --- logarithms of sums ---------------------------------------------------------------------------------------------------


def _ordered(x: Any, y: Any) -> tuple[Any, Any]:
    """The larger and the smaller one (complex: by real part), each a plain choice, so that derivatives stay smooth where they
    meet."""
    first = ew.ge(ew.real(x), ew.real(y)) if aval_of(x).dtype in dt.COMPLEXES else ew.ge(x, y)
    return ew.select_n(first, y, x), ew.select_n(first, x, y)


def _log_add(x: Any, y: Any, exp: Callable[..., Any], log1p: Callable[..., Any]) -> Any:
    # hi + log(1 + exp(lo - hi)) is one analytic function whichever is hi: right to any order where x = y.
    hi, lo = _ordered(x, y)
    hi_real = ew.real(hi) if aval_of(hi).dtype in dt.COMPLEXES else hi
    gap = ew.select_n(_equal_infinities(hi_real, lo), ew.sub(lo, hi), like(hi, 0))
    # A NaN loses every comparison; the sum brings it back.
    missing = ew.or_(isnan(x), isnan(y))
    return ew.select_n(missing, ew.add(hi, log1p(exp(gap))), ew.add(x, y))


def _equal_infinities(hi: Any, lo: Any) -> Any:
    lo = ew.real(lo) if aval_of(lo).dtype in dt.COMPLEXES else lo
    return ew.and_(ew.eq(hi, lo), ew.eq(ew.abs(hi), like(hi, np.inf)))


def _log1p_base2(x: Any) -> Any:
    return ew.mul(ew.log1p(x), like(x, 1 / math.log(2)))


def _log1p(x: Any) -> Any:
    return ew.log(ew.add(x, like(x, 1))) if aval_of(x).dtype in dt.COMPLEXES else ew.log1p(x)


logaddexp = binary_ufunc(
    "logaddexp", lambda x, y: _log_add(x, y, ew.exp, _log1p), "log(exp(x1) + exp(x2)) without overflow.", inexact=True
)


def _logaddexp2(x: Any, y: Any) -> Any:
    _no_complex("logaddexp2", x)
    return _log_add(x, y, ew.exp2, _log1p_base2)


logaddexp2 = binary_ufunc("logaddexp2", _logaddexp2, "log2(2**x1 + 2**x2) without overflow.", inexact=True)

# --- one of two -----------------------------------------------------------------------------------------------------------


def fmax(x1: Any, x2: Any) -> Any:
    """The larger of x1 and x2; a NaN loses against a number."""
    return _nan_loses(maximum, x1, x2, "fmax")


def fmin(x1: Any, x2: Any) -> Any:
    """The smaller of x1 and x2; a NaN loses against a number."""
    return _nan_loses(minimum, x1, x2, "fmin")


def _nan_loses(op: Callable[..., Any], x1: Any, x2: Any, name: str) -> Any:
    x, y = unify(name, x1, x2)
    if aval_of(x).dtype not in dt.INEXACT:
        return op(x, y)
    return ew.select_n(isnan(x), ew.select_n(isnan(y), op(x, y), x), y)


def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """Numbers below `min` become min, above `max` max (which wins where min > max). None: no bound on that side.

    Args: arr: array of real numbers. min, max: scalars or arrays that broadcast. At a bound the gradient goes to arr in equal
    parts with the bound, as `maximum` and `minimum` share it.

    >>> fnp.clip(fnp.arange(5), 1, 3)
    """
    if arr is None:
        raise TypeError(message("fnp.clip: got no array", "an array and bounds", "fnp.clip(x, min=0, max=1)"))
    x = operand(arr, "clip", "arr")
    _no_complex("clip", x)
    if min is not None:
        x = maximum(x, operand(min, "clip", "min"))
    if max is not None:
        x = minimum(x, operand(max, "clip", "max"))
    return as_value(x, "clip")


def _hypot(x: Any, y: Any) -> Any:
    _no_complex("hypot", x)
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


hypot = binary_float("hypot", _hypot, "sqrt(x1**2 + x2**2) without overflow; the gradient at (0, 0) is 0.", sample="3.0, 4.0")


def _copysign(x: Any, y: Any) -> Any:
    _no_complex("copysign", x)
    size = ew.abs(x)
    return ew.select_n(signbit(y), size, ew.neg(size))


copysign = binary_float("copysign", _copysign, "x1 with the sign of x2.", sample="1.0, -2.0")


def _heaviside(x: Any, y: Any) -> Any:
    _no_complex("heaviside", x)
    zero, one = like(x, 0), like(x, 1)
    step = ew.select_n(ew.lt(x, zero), ew.select_n(ew.gt(x, zero), y, one), zero)
    return ew.select_n(ew.ne(x, x), step, like(x, np.nan))


heaviside = binary_float("heaviside", _heaviside, "0 for negative x1, 1 for positive, x2 at 0.", sample="0.0, 0.5")

# --- rounding, parts of numbers ---------------------------------------------------------------------------------------------


def round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """Rounded to `decimals` places after the point (negative: before it); halves go to the even digit.

    Args: a: array. decimals: a Python integer. out: must be None. Returns: shape and dtype of a.

    >>> fnp.round(2.5)
    """
    check_unsupported("round", out=out)
    x = as_value(a, "round")
    if x.dtype == dt.bool_:
        return x
    if x.dtype in dt.INTEGERS:
        if decimals >= 0:
            return x
        step = x.dtype.type(10**-decimals) if 10**-decimals <= np.iinfo(x.dtype).max else None
        return full(x.shape, x.dtype.type(0)) if step is None else _round_to(x, step)
    if x.dtype in dt.COMPLEXES:
        return ew.complex(round(ew.real(x), decimals), round(ew.imag(x), decimals))
    if decimals == 0:
        return ew.round(x, rounding_method=1)
    factor = like(x, 10.0 ** builtins_abs(decimals))
    scaled = ew.mul(x, factor) if decimals > 0 else ew.div(x, factor)
    rounded = ew.round(scaled, rounding_method=1)
    back = ew.div(rounded, factor) if decimals > 0 else ew.mul(rounded, factor)
    return ew.select_n(ew.is_finite(scaled), x, back)


builtins_abs = abs


def _round_to(x: Any, step: Any) -> Any:
    """Integers to multiples of `step`, halves to the even multiple."""
    left = remainder(x, step)
    down = ew.sub(x, left)
    odd = ew.ne(remainder(ew.div(down, step), x.dtype.type(2)), x.dtype.type(0))
    half = x.dtype.type(step // 2)
    up = ew.or_(ew.gt(left, half), ew.and_(ew.eq(left, half), odd)) if step % 2 == 0 else ew.gt(left, half)
    return ew.select_n(up, down, ew.add(down, step))


def around(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """Another name of `round`."""
    return round(a, decimals, out)


def modf(x: Any, /, out: Any = None) -> tuple[Any, Any]:
    """The fraction and the whole part of x, both with its sign."""
    check_unsupported("modf", out=out)
    v = common_inexact(operand(x, "modf", "x"))[0]
    whole = trunc(v)
    fraction = ew.select_n(ew.eq(ew.abs(v), like(v, np.inf)), ew.sub(v, whole), like(v, 0))
    return copysign(fraction, v), copysign(whole, v)


def _exponent_layout(d: np.dtype) -> tuple[np.dtype, int, int, int]:
    """Of a float dtype: the integer of its width, mantissa bits, exponent bits, bias."""
    mantissa = int(dt.finfo(d).nmant)
    width = d.itemsize * 8
    exponent = width - 1 - mantissa
    return np.dtype(f"int{width}"), mantissa, exponent, 2 ** (exponent - 1) - 1


def frexp(x: Any, /) -> tuple[Any, Any]:
    """x as m * 2**e with 0.5 <= |m| < 1: the pair (m, e); e is int32. Zero, infinity and NaN are themselves with e = 0."""
    v = as_value(common_inexact(operand(x, "frexp", "x"))[0], "frexp")
    _no_complex("frexp", v)
    integer, mantissa, exponent, bias = _exponent_layout(v.dtype)
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
    """x1 * 2**x2 for integers x2, exact (also where 2**x2 itself would overflow)."""
    x, n = operand(x1, "ldexp", "x1"), operand(x2, "ldexp", "x2")
    if aval_of(n).dtype not in dt.INTEGERS | dt.BOOLS:
        raise DtypeError(message(f"fnp.ldexp: got {aval_of(n).str_short()} for x2", "integers", "x2.astype(int)"))
    x = as_value(common_inexact(x)[0], "ldexp")
    _no_complex("ldexp", x)
    n = ew.convert(as_value(n, "ldexp"), dt.int32)
    integer, mantissa, exponent, bias = _exponent_layout(x.dtype)
    # In three steps, so that no single factor leaves the range of normal numbers.
    part = np.int32(bias - 1)
    limit = np.int32(3 * (bias - 1))
    n = minimum(maximum(n, -limit), limit)
    for _ in range(3):
        step = minimum(maximum(n, -part), part)
        n = ew.sub(n, step)
        bits = ew.shift_left(ew.convert(ew.add(step, np.int32(bias)), integer), integer.type(mantissa))
        x = binary(ew.mul, x, ew.bitcast_convert_type(bits, new_dtype=x.dtype), "ldexp")
    return x


def _spacing(x: Any) -> Any:
    _no_complex("spacing", x)
    size = ew.abs(x)
    gap = ew.sub(ew.nextafter(size, like(size, np.inf)), size)
    return copysign(ew.select_n(ew.is_finite(size), like(size, np.nan), gap), x)


spacing = unary_float("spacing", _spacing, "The distance from x to the next number away from 0.", "1.0")


def angle(z: Any, deg: Any = False) -> Any:
    """The angle of a complex number in (-pi, pi], in radians or (deg=True) degrees; of negative real z it is pi."""
    x = as_value(common_inexact(operand(z, "angle", "z"))[0], "angle")
    re, im = (ew.real(x), ew.imag(x)) if x.dtype in dt.COMPLEXES else (x, full(x.shape, x.dtype.type(0)))
    out = ew.atan2(im, re)
    return ew.mul(out, out.dtype.type(180 / math.pi)) if deg else out


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


sinc = unary_float("sinc", _sinc, "sin(pi x) / (pi x), and 1 at 0, where all derivatives are right.")


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """NaN becomes `nan`, +inf `posinf` and -inf `neginf` (None: the largest and smallest numbers of the dtype).

    copy: any; arrays are immutable. Replaced places take no gradient.
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


# --- integers -----------------------------------------------------------------------------------------------------------------


def _integers(name: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    x, y = [as_value(v, name) for v in unify(name, x1, x2)]
    if x.dtype not in dt.INTEGERS:
        raise wrong_dtype(name, x, dt.INTEGERS, "x.astype(int)")
    return binary(lambda p, q: (p, q), x, y, name)


def gcd(x1: Any, x2: Any) -> Any:
    """The greatest common divisor of the absolute values of integers; gcd(0, x) = |x|.

    >>> fnp.gcd(12, 18)
    """
    x, y = _integers("gcd", x1, x2)
    if x.dtype in dt.SIGNED:
        x, y = ew.abs(x), ew.abs(y)
    # Euclid's algorithm, as many steps as the slowest pair (two Fibonacci numbers) of this width needs.
    for _ in range(_euclid_steps(x.dtype)):
        done = ew.eq(y, like(y, 0))
        x, y = ew.select_n(done, y, x), ew.select_n(done, ew.rem(x, y), y)
    return x


def _euclid_steps(d: np.dtype) -> int:
    a, b, steps = 1, 1, 0
    while b <= np.iinfo(d).max:
        a, b, steps = b, a + b, steps + 1
    return steps


def lcm(x1: Any, x2: Any) -> Any:
    """The least common multiple of the absolute values of integers; 0 where one is 0."""
    x, y = _integers("lcm", x1, x2)
    if x.dtype in dt.SIGNED:
        x, y = ew.abs(x), ew.abs(y)
    d = gcd(x, y)
    return ew.select_n(ew.eq(d, like(d, 0)), ew.mul(x, ew.div(y, d)), d)
