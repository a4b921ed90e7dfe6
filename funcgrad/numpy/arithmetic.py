"""Arithmetic of more than one primitive: whole division and remainders, powers, one of two numbers, rounding to places.

Whole division follows NumPy (and Python): the quotient is rounded down and the remainder has the sign of the divisor; an integer
divided by 0 gives 0. Formulas are chosen so that their derivatives of any order are right at their special points.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import UsageError, message
from funcgrad.numpy._axes import static_int
from funcgrad.numpy._promote import PYTHON_SCALARS, as_value, binary, cast, check_unsupported, operand, unify
from funcgrad.numpy._table import binary_float, binary_same, no_complex
from funcgrad.numpy.compare import isnan
from funcgrad.numpy.elementwise import maximum, minimum
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full, like
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "around", "clip", "divmod", "float_power", "floor_divide", "fmax", "fmin", "fmod", "heaviside", "mod", "pow", "power",
    "remainder", "round",
]  # fmt: skip


# --- whole division -------------------------------------------------------------------------------------------------------


def _bool_as_int8(op: Callable[..., Any]) -> Callable[..., Any]:
    def apply(x: Any, y: Any) -> Any:
        if aval_of(x).dtype == dt.bool_:
            x, y = cast(x, dt.int8), cast(y, dt.int8)
        return op(x, y)

    return apply


def _floor_divide(x: Any, y: Any) -> Any:
    no_complex("floor_divide (//)", x)
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
    no_complex("remainder (%)", x)
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
    negative = ew.lt(y, like(y, 0))
    other = ew.and_(ew.ne(left, zero), ew.ne(ew.lt(left, zero), negative))
    moved = ew.select_n(other, left, ew.add(left, y))
    # A remainder of 0 has the divisor's sign too: adding 0 makes -0 of neither, and subtracting from 0 keeps the derivative.
    return ew.select_n(negative, ew.add(moved, zero), ew.neg(ew.sub(zero, moved)))


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    # Python's algorithm: the quotient from the exact remainder, rounded to the whole number that it is next to.
    left = ew.rem(x, y)
    modulus = _signed_as(left, y)
    raw = ew.div(ew.sub(x, left), y)
    raw = ew.select_n(ew.ne(modulus, left), raw, ew.sub(raw, like(raw, 1)))
    down = ew.floor(raw)
    quotient = ew.select_n(ew.gt(ew.sub(raw, down), like(raw, 0.5)), down, ew.add(down, like(down, 1)))
    # A quotient of 0 has the sign of true division (half of it is rounded: the whole could have been rounded to 1).
    signed = ew.floor(ew.mul(ew.div(x, y), like(raw, 0.5)))
    quotient = ew.select_n(ew.eq(quotient, like(raw, 0)), quotient, signed)
    # By zero: what true division gives.
    return ew.select_n(ew.eq(y, like(y, 0)), quotient, ew.div(x, y)), modulus


floor_divide = binary_same(
    "floor_divide",
    _bool_as_int8(_floor_divide),
    "x1 // x2: the quotient, rounded down.",
    "fnp.array([7, -7]), 2",
    "Array([ 3, -4], dtype=int64)",
)
remainder = binary_same(
    "remainder",
    _bool_as_int8(_remainder),
    "x1 % x2: what is left of x1 // x2, with the sign of x2.",
    "fnp.array([7, -7]), 3",
    "Array([1, 2], dtype=int64)",
)
mod = remainder


def _fmod(x: Any, y: Any) -> Any:
    no_complex("fmod", x)
    left = ew.rem(x, y)
    if aval_of(x).dtype in dt.FLOATS:
        return left
    return ew.select_n(ew.eq(y, like(y, 0)), left, like(left, 0)) if isinstance(y, Value) or y == 0 else left


fmod = binary_same(
    "fmod",
    _bool_as_int8(_fmod),
    "What is left of the quotient rounded towards 0, with the sign of x1.",
    "fnp.array([7, -7]), 3",
    "Array([ 1, -1], dtype=int64)",
)


def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """The pair (x1 // x2, x1 % x2): the quotient rounded down, and what is left, with the sign of x2.

    Args: x1, x2: arrays or scalars of real numbers whose shapes broadcast. Returns: two arrays of their common dtype.

    >>> fnp.divmod(fnp.array([7, -7]), 3)
    (Array([ 2, -3], dtype=int64), Array([1, 2], dtype=int64))
    """
    x, y = unify("divmod", x1, x2)
    no_complex("divmod", x)
    if aval_of(x).dtype in dt.FLOATS:
        return _float_divmod(x, y)
    return floor_divide(x, y), remainder(x, y)


# --- powers ---------------------------------------------------------------------------------------------------------------


def power(x1: Any, x2: Any, /) -> Any:
    """x1 ** x2.

    A whole Python number as x2 keeps it exact (x * x for 2) and has a gradient to x1 alone. Of integers the result is an integer
    (a negative Python exponent raises). At x1 = 0 the gradients are the limits.

    >>> fnp.power(fnp.array([2.0, 3.0]), fnp.array([3.0, -1.0]))
    Array([8.        , 0.33333334], dtype=float32)
    >>> fnp.power(fnp.array([2, 3]), 2)
    Array([4, 9], dtype=int64)
    >>> fg.grad(lambda x: fnp.power(x, 1.0))(0.0)
    Array(1., dtype=float32)
    """
    if x2.__class__ is int and x1.__class__ not in PYTHON_SCALARS:
        x1 = as_value(x1, "power", "x1")
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
    """As `power(x1, x2)`; the array API's name.

    >>> fnp.pow(fnp.array([1, 2, 3]), 3)
    Array([ 1,  8, 27], dtype=int64)
    """
    return power(x1, x2)


float_power = binary_float(
    "float_power",
    ew.pow,
    "x1 ** x2 as floats, whatever the dtypes.",
    "fnp.array([2, 3]), -1",
    "Array([0.5       , 0.33333334], dtype=float32)",
    letters=True,
)

# --- one of two -----------------------------------------------------------------------------------------------------------


def fmax(x1: Any, x2: Any) -> Any:
    """The larger of x1 and x2; a NaN loses against a number (`maximum` keeps it).

    Args: x1, x2: arrays or scalars whose shapes broadcast. Returns: the broadcast shape, the common dtype.

    >>> fnp.fmax(fnp.array([1.0, fnp.nan, fnp.nan]), fnp.array([2.0, 2.0, fnp.nan]))
    Array([ 2.,  2., nan], dtype=float32)
    """
    return _nan_loses(maximum, x1, x2, "fmax")


def fmin(x1: Any, x2: Any) -> Any:
    """The smaller of x1 and x2; a NaN loses against a number (`minimum` keeps it).

    Args: x1, x2: arrays or scalars whose shapes broadcast. Returns: the broadcast shape, the common dtype.

    >>> fnp.fmin(fnp.array([1.0, fnp.nan, fnp.nan]), fnp.array([2.0, 2.0, fnp.nan]))
    Array([ 1.,  2., nan], dtype=float32)
    """
    return _nan_loses(minimum, x1, x2, "fmin")


def _nan_loses(op: Callable[..., Any], x1: Any, x2: Any, name: str) -> Any:
    x, y = unify(name, x1, x2)
    if aval_of(x).dtype not in dt.INEXACT:
        return op(x, y)
    return ew.select_n(isnan(y), ew.select_n(isnan(x), op(x, y), y), x)


def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """Numbers below `min` become min, above `max` max (which wins where min > max). None: no bound on that side.

    Args: arr: array of real numbers. min, max: scalars or arrays that broadcast. At a bound the gradient goes to arr in equal
    parts with the bound, as `maximum` and `minimum` share it.

    >>> fnp.clip(fnp.arange(5), 1, 3)
    Array([1, 1, 2, 3, 3], dtype=int64)
    >>> fnp.clip(fnp.array([-2.0, 0.5, 2.0]), max=1)
    Array([-2. ,  0.5,  1. ], dtype=float32)
    """
    if arr is None:
        raise TypeError(message("fnp.clip: got no array", "an array and bounds", "fnp.clip(x, min=0, max=1)"))
    x = operand(arr, "clip", "arr")
    no_complex("clip", x)
    if min is not None:
        x = maximum(x, operand(min, "clip", "min"))
    if max is not None:
        x = minimum(x, operand(max, "clip", "max"))
    return as_value(x, "clip")


def _heaviside(x: Any, y: Any) -> Any:
    no_complex("heaviside", x)
    zero, one = like(x, 0), like(x, 1)
    step = ew.select_n(ew.lt(x, zero), ew.select_n(ew.gt(x, zero), y, one), zero)
    return ew.select_n(ew.ne(x, x), step, like(x, np.nan))


heaviside = binary_float(
    "heaviside",
    _heaviside,
    "0 for negative x1, 1 for positive, x2 at 0.",
    "fnp.array([-1.5, 0.0, 2.0]), 0.5",
    "Array([0. , 0.5, 1. ], dtype=float32)",
)

# --- rounding -------------------------------------------------------------------------------------------------------------


def round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """Rounded to `decimals` places after the point (negative: before it); halves go to the even digit.

    Args: a: array. decimals: a Python integer. out: must be None. Returns: shape and dtype of a.

    >>> fnp.round(fnp.array([0.5, 1.5, 2.5]))
    Array([0., 2., 2.], dtype=float32)
    >>> fnp.round(np.array([1.2345, 67.891]), 2)
    Array([ 1.23, 67.89], dtype=float64)
    >>> fnp.round(fnp.array([14, 15, 25]), -1)
    Array([10, 20, 20], dtype=int64)
    """
    check_unsupported("round", out=out)
    x = as_value(a, "round")
    decimals = static_int(decimals, "round", "decimals")
    decimals = decimals if decimals > -330 else -330  # all becomes 0
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
    if builtins_abs(decimals) > 308:  # 10**decimals overflows: no float has so many digits
        return x if decimals > 0 else ew.mul(x, like(x, 0))
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
    """Another name of `round`.

    >>> fnp.around(np.array([1.2345, 67.891]), 1)
    Array([ 1.2, 67.9], dtype=float64)
    """
    return round(a, decimals, out)
