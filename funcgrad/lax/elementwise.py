"""Elementwise operators of two and more operands under JAX's names: one dtype, one shape, no promotion between arrays.

Python scalars take the arrays' dtype, scalars (also arrays without axes) fit any shape, and extents of 1 are repeated where the
numbers of axes are equal. `funcgrad.numpy` promotes and broadcasts.
"""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, message
from funcgrad.core.pytree import tree_map
from funcgrad.lax._table import binary, strict
from funcgrad.numpy._promote import as_value, broadcast_value, cast, operand
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "add", "atan2", "bitcast_convert_type", "bitwise_and", "bitwise_or", "bitwise_xor", "clamp", "complex",
    "convert_element_type", "div", "eq", "ge", "gt", "le", "lt", "max", "min", "mul", "ne", "nextafter", "pow", "rem",
    "select", "select_n", "shift_left", "shift_right_arithmetic", "shift_right_logical", "stop_gradient", "sub",
]  # fmt: skip

add = binary(
    "add",
    ew.add,
    "x + y",
    """
>>> lax.add(fnp.array([1.0, 2.0]), 3.0)
Array([4., 5.], dtype=float32)
""",
)
sub = binary(
    "sub",
    ew.sub,
    "x - y",
    """
>>> lax.sub(fnp.array([1.0, 2.0]), 3.0)
Array([-2., -1.], dtype=float32)
""",
)
div = binary(
    "div",
    ew.div,
    "x / y; of integers the quotient towards 0 (`//` and fnp.floor_divide go down).",
    """
>>> lax.div(fnp.array([7.0, -7.0]), 2.0)
Array([ 3.5, -3.5], dtype=float32)
>>> lax.div(fnp.array([7, -7]), 2)
Array([ 3, -3], dtype=int64)
""",
)
rem = binary(
    "rem",
    ew.rem,
    "The remainder of the quotient towards 0, with the sign of x (`%` and fnp.mod have that of y).",
    """
>>> lax.rem(fnp.array([7, -7]), 3)
Array([ 1, -1], dtype=int64)
>>> fnp.mod(fnp.array([7, -7]), 3)
Array([1, 2], dtype=int64)
""",
)
atan2 = binary(
    "atan2",
    ew.atan2,
    "The angle from the positive first axis to the point (y, x): here x comes first, as in NumPy's arctan2(x1, x2).",
    """
>>> lax.atan2(np.array([1.0, -1.0]), np.array([-1.0, -1.0]))
Array([ 2.35619449, -2.35619449], dtype=float64)
""",
)
complex = binary(
    "complex",
    ew.complex,
    "x + i y.",
    """
>>> lax.complex(fnp.array([1.0, 2.0]), fnp.array([0.0, -1.0]))
Array([1.+0.j, 2.-1.j], dtype=complex64)
""",
    "a complex array of that shape, twice as wide",
)
max = binary(
    "max",
    ew.max,
    "The larger one of each pair; NaN wins. Where both are equal, each gets half of the cotangent.",
    """
>>> lax.max(fnp.array([1.0, np.nan, 5.0]), 3.0)
Array([ 3., nan,  5.], dtype=float32)
""",
)
min = binary(
    "min",
    ew.min,
    "The smaller one of each pair; NaN wins. Where both are equal, each gets half of the cotangent.",
    """
>>> lax.min(fnp.array([1.0, np.nan, 5.0]), 3.0)
Array([ 1., nan,  3.], dtype=float32)
""",
)
eq = binary(
    "eq",
    ew.eq,
    "x == y; NaN equals nothing.",
    """
>>> lax.eq(fnp.array([1.0, np.nan]), fnp.array([1.0, np.nan]))
Array([ True, False], dtype=bool)
""",
    "bool, of that shape",
)
ne = binary(
    "ne",
    ew.ne,
    "x != y",
    """
>>> lax.ne(fnp.array([1, 2]), 2)
Array([ True, False], dtype=bool)
""",
    "bool, of that shape",
)
ge = binary(
    "ge",
    ew.ge,
    "x >= y",
    """
>>> lax.ge(fnp.array([1, 2, 3]), 2)
Array([False,  True,  True], dtype=bool)
""",
    "bool, of that shape",
)
gt = binary(
    "gt",
    ew.gt,
    "x > y",
    """
>>> lax.gt(fnp.array([1, 2, 3]), 2)
Array([False, False,  True], dtype=bool)
""",
    "bool, of that shape",
)
le = binary(
    "le",
    ew.le,
    "x <= y",
    """
>>> lax.le(fnp.array([1, 2, 3]), 2)
Array([ True,  True, False], dtype=bool)
""",
    "bool, of that shape",
)
lt = binary(
    "lt",
    ew.lt,
    "x < y",
    """
>>> lax.lt(fnp.array([1, 2, 3]), 2)
Array([ True, False, False], dtype=bool)
""",
    "bool, of that shape",
)
bitwise_and = binary(
    "bitwise_and",
    ew.and_,
    "x & y",
    """
>>> lax.bitwise_and(fnp.array([12, 10]), 6)
Array([4, 2], dtype=int64)
""",
)
bitwise_or = binary(
    "bitwise_or",
    ew.or_,
    "x | y",
    """
>>> lax.bitwise_or(fnp.array([12, 10]), 6)
Array([14, 14], dtype=int64)
""",
)
bitwise_xor = binary(
    "bitwise_xor",
    ew.xor,
    "x ^ y",
    """
>>> lax.bitwise_xor(fnp.array([12, 10]), 6)
Array([10, 12], dtype=int64)
""",
)
shift_left = binary(
    "shift_left",
    ew.shift_left,
    "The bits of x moved up by y; those beyond the width are lost, and a y of the width or more gives 0.",
    """
>>> lax.shift_left(np.array([1, 3, 255], np.uint8), np.uint8(4))
Array([ 16,  48, 240], dtype=uint8)
""",
)
shift_right_arithmetic = binary(
    "shift_right_arithmetic",
    ew.shift_right_arithmetic,
    "The bits of x moved down by y, the sign repeated: x // 2 ** y.",
    """
>>> lax.shift_right_arithmetic(fnp.array([20, -20]), 3)
Array([ 2, -3], dtype=int64)
""",
)
shift_right_logical = binary(
    "shift_right_logical",
    ew.shift_right_logical,
    "The bits of x moved down by y, zeros come in.",
    """
>>> lax.shift_right_logical(np.array([20, -20], np.int8), np.int8(3))
Array([ 2, 29], dtype=int8)
""",
)


def nextafter(x1: Any, x2: Any) -> Any:
    """The next number after x1 towards x2, of one floating dtype and shape, or scalars.

    >>> lax.nextafter(np.array([1.0, 0.0]), np.inf) - np.array([1.0, 0.0])
    Array([2.22044605e-016, 4.94065646e-324], dtype=float64)
    """
    return ew.nextafter(*strict("nextafter", x1, x2))


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    """x * y, of numbers of one dtype and shape, or scalars.

    out_dtype: the dtype of the product, in which it is computed: small integers and floats need not overflow.

    >>> lax.mul(fnp.array([1.5, -2.0]), 2.0)
    Array([ 3., -4.], dtype=float32)
    >>> lax.mul(np.int8([100]), np.int8([100]), out_dtype=np.int32)
    Array([10000], dtype=int32)
    """
    vs = strict("mul", x, y)
    if out_dtype is not None:
        vs = [cast(v, dt.canonical(out_dtype)) for v in vs]
    return ew.mul(*vs)


def pow(x: Any, y: Any) -> Any:
    """x ** y of one shape, or scalars.

    x: floating or complex; integers raise TypeError (`fnp.power` and `integer_pow` take them). y: of the dtype of x, or
    integer; a Python integer is computed by multiplications. A negative x to a power that is not whole is NaN.

    >>> lax.pow(fnp.array([2.0, 9.0]), fnp.array([3.0, 0.5]))
    Array([8., 3.], dtype=float32)
    >>> lax.pow(fnp.array([-2.0, 4.0]), 3)
    Array([-8., 64.], dtype=float32)
    """
    base, exponent = operand(x, "lax.pow", "x"), operand(y, "lax.pow", "y")
    if aval_of(base).dtype not in dt.INEXACT:
        raise DtypeError(
            message(
                f"lax.pow: got {aval_of(base).str_short()}", "a floating or complex base", "fnp.power, or x.astype('float32')"
            )
        )
    if exponent.__class__ is int and isinstance(base, Value):
        return ew.integer_pow(base, y=exponent)
    if aval_of(exponent).dtype in dt.INTEGERS:
        exponent = cast(exponent, aval_of(base).dtype)
    return ew.pow(*strict("pow", base, exponent))


def clamp(min: Any, x: Any, max: Any) -> Any:
    """x between min and max, which have its shape or are scalars: `min(max(x, low), high)`. All are of one dtype.

    >>> lax.clamp(-1.0, fnp.array([-7.0, 0.5, 3.0]), fnp.array([1.0, 1.0, 2.0]))
    Array([-1. ,  0.5,  2. ], dtype=float32)
    """
    low, v, high = strict("clamp", min, x, max, shapes=False)
    shape = aval_of(v).shape
    for bound in (low, high):
        if aval_of(bound).shape not in ((), shape):
            raise ShapeError(
                message(
                    f"lax.clamp: got a bound of shape {aval_of(bound).shape} for x of shape {shape}",
                    "bounds of that shape, or scalars",
                    "fnp.clip, which broadcasts",
                )
            )
    low, v, high = [broadcast_value(b, shape) if isinstance(b, Value) else b for b in (low, v, high)]
    ordered = aval_of(v).dtype in dt.COMPLEXES | dt.BOOLS
    return ew.min(ew.max(low, v), high) if ordered else ew.clamp(low, v, high)


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """The same numbers in another dtype: floats to integers go towards 0, complex to real takes the real part.

    >>> lax.convert_element_type(fnp.array([-1.7, 0.0, 2.9]), np.int32)
    Array([-1,  0,  2], dtype=int32)
    >>> lax.convert_element_type(fnp.array([3 + 4j]), np.float32)
    Array([3.], dtype=float32)
    """
    v = as_value(operand, "lax.convert_element_type", "operand")
    return (
        v
        if not v.weak_type and v.dtype == dt.canonical(new_dtype)
        else ew.convert_element_type(v, new_dtype=dt.canonical(new_dtype))
    )


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The same bits in another dtype; a narrower one adds a last axis for the parts, a wider one takes that axis.

    >>> lax.bitcast_convert_type(fnp.array([1.0, -0.0]), np.uint32)
    Array([1065353216, 2147483648], dtype=uint32)
    >>> lax.bitcast_convert_type(np.array([1, 256], np.uint16), np.uint8)
    Array([[1, 0],
           [0, 1]], dtype=uint8)
    """
    return ew.bitcast_convert_type(as_value(operand, "lax.bitcast_convert_type", "operand"), new_dtype=dt.canonical(new_dtype))


def select_n(which: Any, *cases: Any) -> Any:
    """The element of cases[which], place by place.

    which: bool with two cases (False is the first), or int32 with any number, of the shape of the cases or a scalar. cases: of
    one dtype and shape, or scalars.

    >>> lax.select_n(fnp.array([False, True]), fnp.array([1, 2]), fnp.array([10, 20]))
    Array([ 1, 20], dtype=int64)
    >>> lax.select_n(np.array([2, 0], np.int32), fnp.array([1, 2]), 5, fnp.array([100, 200]))
    Array([100,   2], dtype=int64)
    """
    if not cases:
        raise UsageError(message("lax.select_n: got no cases", "one or more", "lax.select_n(mask, x_false, x_true)"))
    vs = strict("select_n", *cases)
    w = as_value(which, "lax.select_n", "which")
    shape = next((v.aval.shape for v in vs if isinstance(v, Value)), w.shape)
    if w.shape not in ((), shape):
        raise ShapeError(
            message(
                f"lax.select_n: got which of shape {w.shape} for cases of shape {shape}",
                "that shape, or a scalar",
                "fnp.where, which broadcasts",
            )
        )
    return ew.select_n(
        broadcast_value(w, shape),
        *[v if isinstance(v, Value) else v if shape == w.shape else full(shape, np.asarray(v, aval_of(v).dtype)[()]) for v in vs],
    )


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """on_true where pred (bool) holds, otherwise on_false; shapes as for `select_n`. The side not taken gets no gradient, no NaN.

    >>> lax.select(fnp.array([True, False]), fnp.array([1.0, 2.0]), fnp.array([10.0, 20.0]))
    Array([ 1., 20.], dtype=float32)
    """
    return select_n(pred, on_false, on_true)


def stop_gradient(x: Any) -> Any:
    """x (an array, or a pytree of them) as a constant: no gradient flows through it, in either mode.

    NumPy arrays become arrays; leaves that are no arrays stay as they are.

    >>> fg.grad(lambda x: x * x + lax.stop_gradient(x * x))(3.0)
    Array(6., dtype=float32)
    """
    return tree_map(lambda leaf: ew.stop_gradient(as_value(leaf, "lax.stop_gradient")) if isinstance(leaf, _ARRAYS) else leaf, x)


_ARRAYS = (Value, np.ndarray, np.generic)
