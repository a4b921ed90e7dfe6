"""Elementwise operators of one operand under JAX's names: signs, parts, rounding, powers, bits. Nothing is promoted."""

from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, UsageError, message
from funcgrad.lax._table import unary, unary_accurate
from funcgrad.lax.types import RoundingMethod, member
from funcgrad.numpy._axes import static_int
from funcgrad.numpy._promote import as_value, operand
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full
from funcgrad.trace.value import aval_of

__all__ = [
    "abs", "bitwise_not", "cbrt", "ceil", "clz", "conj", "floor", "imag", "integer_pow", "is_finite", "neg",
    "population_count", "real", "reciprocal", "reduce_precision", "round", "rsqrt", "sign", "sqrt", "square",
]  # fmt: skip

# --- parts and signs --------------------------------------------------------------------------------------------------------

abs = unary(
    "abs",
    ew.abs,
    "|x|; of a complex number its length.",
    """
>>> lax.abs(fnp.array([-2.5, 4.0]))
Array([2.5, 4. ], dtype=float32)
>>> lax.abs(fnp.array(3 - 4j))
Array(5., dtype=float32)
""",
    "an array of its shape and dtype, of complex operands a real one",
)
neg = unary(
    "neg",
    ew.neg,
    "-x; of unsigned integers modulo 2 ** bits.",
    """
>>> lax.neg(fnp.array([1, -2]))
Array([-1,  2], dtype=int64)
>>> lax.neg(np.uint8(1))
Array(255, dtype=uint8)
""",
)
sign = unary(
    "sign",
    ew.sign,
    "-1, 0 or 1, of complex numbers x / |x|; NaN stays NaN. Its derivative is 0.",
    """
>>> lax.sign(fnp.array([-2.5, 0.0, 7.0]))
Array([-1.,  0.,  1.], dtype=float32)
>>> lax.sign(fnp.array(3 + 4j))
Array(0.6+0.8j, dtype=complex64)
""",
)
real = unary(
    "real",
    ew.real,
    "The real part.",
    """
>>> lax.real(fnp.array([1 + 2j, 3 - 4j]))
Array([1., 3.], dtype=float32)
""",
    "a real array of its shape",
)
imag = unary(
    "imag",
    ew.imag,
    "The imaginary part.",
    """
>>> lax.imag(fnp.array([1 + 2j, 3 - 4j]))
Array([ 2., -4.], dtype=float32)
""",
    "a real array of its shape",
)
is_finite = unary(
    "is_finite",
    ew.is_finite,
    "Whether x is neither infinite nor NaN.",
    """
>>> lax.is_finite(fnp.array([1.0, np.inf, np.nan]))
Array([ True, False, False], dtype=bool)
""",
    "bool, of its shape",
)


def conj(x: Any) -> Any:
    """The complex conjugate.

    x: floating or complex array or scalar; others raise TypeError. Returns: a complex array of its shape, also of real operands
    (`fnp.conj` leaves those as they are).

    >>> lax.conj(fnp.array([1 + 2j, 3 - 4j]))
    Array([1.-2.j, 3.+4.j], dtype=complex64)
    >>> lax.conj(fnp.array(2.0))
    Array(2.+0.j, dtype=complex64)
    """
    v = as_value(x, "lax.conj", "x")
    return ew.complex(v, full(v.shape, v.dtype.type(0))) if v.dtype in dt.FLOATS else ew.conj(v)


# --- rounding ---------------------------------------------------------------------------------------------------------------

ceil = unary(
    "ceil",
    ew.ceil,
    "Rounded up.",
    """
>>> lax.ceil(fnp.array([-1.5, 0.2, 2.0]))
Array([-1.,  1.,  2.], dtype=float32)
""",
)
floor = unary(
    "floor",
    ew.floor,
    "Rounded down.",
    """
>>> lax.floor(fnp.array([-1.5, 0.2, 2.0]))
Array([-2.,  0.,  2.], dtype=float32)
""",
)


def round(x: Any, rounding_method: Any = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The nearest whole number, as a float.

    x: floating. rounding_method: where halves go, away from 0 or to the even neighbour (as `fnp.round` and Python have it).

    >>> lax.round(fnp.array([0.5, 1.5, 2.5]))
    Array([1., 2., 3.], dtype=float32)
    >>> lax.round(fnp.array([0.5, 1.5, 2.5]), lax.RoundingMethod.TO_NEAREST_EVEN)
    Array([0., 2., 2.], dtype=float32)
    """
    return ew.round(operand(x, "lax.round", "x"), rounding_method=int(member(RoundingMethod, rounding_method, "lax.round")))


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Rounded to what a float of so many bits holds (5 and 10 are float16, 8 and 7 bfloat16), kept in its dtype.

    operand: float16, bfloat16, float32 or float64.

    >>> lax.reduce_precision(fnp.array([0.1, 1e6]), exponent_bits=5, mantissa_bits=10)
    Array([0.09997559,        inf], dtype=float32)
    """
    bits = [
        static_int(n, "lax.reduce_precision", arg)
        for n, arg in ((exponent_bits, "exponent_bits"), (mantissa_bits, "mantissa_bits"))
    ]
    if bits[0] < 1 or bits[1] < 0 or max(bits) > 64:
        raise UsageError(
            message(
                f"lax.reduce_precision: got exponent_bits={bits[0]}, mantissa_bits={bits[1]}",
                "1 to 64 bits of exponent, 0 to 64 of mantissa",
                "exponent_bits=5, mantissa_bits=10, which is float16",
            )
        )
    return ew.reduce_precision(as_value(operand, "lax.reduce_precision", "operand"), exponent_bits=bits[0], mantissa_bits=bits[1])


# --- powers -----------------------------------------------------------------------------------------------------------------

square = unary(
    "square",
    ew.square,
    "x * x",
    """
>>> lax.square(fnp.array([-3.0, 0.5]))
Array([9.  , 0.25], dtype=float32)
""",
)
sqrt = unary_accurate(
    "sqrt",
    ew.sqrt,
    "Square root; of negative real numbers NaN.",
    """
>>> lax.sqrt(fnp.array([9.0, 2.25]))
Array([3. , 1.5], dtype=float32)
>>> lax.sqrt(fnp.array(-4 + 0j))
Array(0.+2.j, dtype=complex64)
""",
)
rsqrt = unary_accurate(
    "rsqrt",
    ew.rsqrt,
    "1 / sqrt(x); infinite at 0.",
    """
>>> lax.rsqrt(fnp.array([4.0, 0.0]))
Array([0.5, inf], dtype=float32)
""",
)
cbrt = unary_accurate(
    "cbrt",
    ew.cbrt,
    "The real cube root, with the sign of x.",
    """
>>> lax.cbrt(np.array([-8.0, 2.0]))
Array([-2.        ,  1.25992105], dtype=float64)
""",
)


def integer_pow(x: Any, y: int) -> Any:
    """x ** y by multiplications, for a whole number y that is known when the program is made.

    x: integer, floating or complex. A negative y takes the reciprocal; of integers it raises. Its derivative at 0 is exact.

    >>> lax.integer_pow(fnp.array([-2, 3]), 3)
    Array([-8, 27], dtype=int64)
    >>> lax.integer_pow(fnp.array([-2.0, 4.0]), -1)
    Array([-0.5 ,  0.25], dtype=float32)
    """
    return ew.integer_pow(operand(x, "lax.integer_pow", "x"), y=static_int(y, "lax.integer_pow", "y"))


def reciprocal(x: Any) -> Any:
    """1 / x, of a floating or complex array or scalar; infinite at 0. Integers raise TypeError.

    >>> lax.reciprocal(fnp.array([4.0, -0.5, 0.0]))
    Array([ 0.25, -2.  ,   inf], dtype=float32)
    """
    v = operand(x, "lax.reciprocal", "x")
    if aval_of(v).dtype not in dt.INEXACT:
        raise DtypeError(
            message(
                f"lax.reciprocal: got {aval_of(v).str_short()}", "floating or complex", "fnp.reciprocal, or x.astype('float32')"
            )
        )
    return ew.div(aval_of(v).dtype.type(1), v)


# --- bits -------------------------------------------------------------------------------------------------------------------

bitwise_not = unary(
    "bitwise_not",
    ew.not_,
    "All bits flipped; of bool the opposite.",
    """
>>> lax.bitwise_not(np.array([0, 5], np.uint8))
Array([255, 250], dtype=uint8)
>>> lax.bitwise_not(fnp.array([True, False]))
Array([False,  True], dtype=bool)
""",
)
clz = unary(
    "clz",
    ew.clz,
    "The number of zeros before the first one among the bits.",
    """
>>> lax.clz(np.array([0, 1, 40], np.uint8))
Array([8, 7, 2], dtype=uint8)
""",
)
population_count = unary(
    "population_count",
    ew.population_count,
    "The number of ones among the bits.",
    """
>>> lax.population_count(np.array([0, 7, 255], np.uint8))
Array([0, 3, 8], dtype=uint8)
""",
)
