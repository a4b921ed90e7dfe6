"""Elementwise operators under JAX's names: one dtype, one shape, no promotion between arrays.

Python scalars take the arrays' dtype, and scalars (also arrays without axes) fit any shape. `funcgrad.numpy` promotes and
broadcasts.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, message
from funcgrad.core.pytree import tree_map
from funcgrad.lax.types import RoundingMethod
from funcgrad.numpy._axes import static_int
from funcgrad.numpy._promote import as_value, broadcast_value, cast, common_dtype, operand
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitcast_convert_type", "bitwise_and",
    "bitwise_not", "bitwise_or", "bitwise_xor", "cbrt", "ceil", "clamp", "clz", "complex", "conj", "convert_element_type",
    "cos", "cosh",
    "digamma", "div", "eq", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "floor", "ge", "gt", "imag", "integer_pow",
    "is_finite", "le", "lgamma", "log", "log1p", "logistic", "lt", "max", "min", "mul", "ne", "neg", "nextafter", "polygamma",
    "population_count", "pow", "real", "reciprocal", "reduce_precision", "rem", "round", "rsqrt", "select", "select_n",
    "shift_left",
    "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "sqrt", "square", "stop_gradient", "sub", "tan",
    "tanh",
]  # fmt: skip


def strict(name: str, *xs: Any, shapes: bool = True) -> list[Any]:
    """Operands of one dtype and shape; Python scalars take the others' dtype, and scalars any shape."""
    vs = [operand(x, f"lax.{name}", f"operand {i}") for i, x in enumerate(xs)]
    strong = {aval_of(v).dtype for v in vs if not aval_of(v).weak_type}
    if len(strong) > 1:
        raise DtypeError(
            message(
                f"lax.{name}: got {', '.join(aval_of(v).str_short() for v in vs)}",
                "operands of one dtype",
                "fnp has functions that promote; or x.astype(...)",
            )
        )
    vs = common_dtype(*vs)
    if strong and aval_of(vs[0]).dtype not in strong:
        raise DtypeError(
            message(
                f"lax.{name}: got a Python scalar that does not fit {', '.join(map(str, strong))}",
                "a scalar of that kind",
                "convert the array first",
            )
        )
    return same_shape(name, vs) if shapes else vs


def same_shape(name: str, vs: list[Any]) -> list[Any]:
    """Values of one shape; those without axes are repeated."""
    found = {v.aval.shape for v in vs if isinstance(v, Value)}
    if len(found) <= 1:
        return vs
    full_shapes = found - {()}
    if len(full_shapes) > 1:
        raise ShapeError(
            message(
                f"lax.{name}: got shapes {', '.join(map(str, sorted(found)))}",
                "one shape, or scalars",
                "the function of funcgrad.numpy, which broadcasts",
            )
        )
    (shape,) = full_shapes
    return [broadcast_value(v, shape) if isinstance(v, Value) else v for v in vs]


def _named(f: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    f.__name__ = f.__qualname__ = name
    f.__module__ = "funcgrad.lax"
    f.__doc__ = doc
    return f


def _unary(name: str, op: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        return op(operand(x, f"lax.{name}", "x"))

    return _named(f, name, f"{doc}\n\nx: array or scalar of a dtype that the operator takes. Returns: an array of its shape.")


def _unary_accurate(name: str, op: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def f(x: Any, *, accuracy: Any = None) -> Any:
        if accuracy is not None:
            raise UsageError(
                message(
                    f"lax.{name}: got accuracy={accuracy!r}",
                    "None: results are within the stated bound of ulps",
                    f"lax.{name}(x)",
                )
            )
        return op(operand(x, f"lax.{name}", "x"))

    return _named(
        f,
        name,
        f"{doc}\n\nx: floating (or complex) array or scalar. accuracy: must be None. Returns: an array of its shape and dtype.",
    )


def _binary(name: str, op: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def f(x: Any, y: Any) -> Any:
        if isinstance(x, Value) and isinstance(y, Value) and x.aval is y.aval:
            return op(x, y)
        return op(*strict(name, x, y))

    return _named(f, name, f"{doc}\n\nx, y: of one dtype and shape, or scalars. Returns: an array of that shape.")


abs = _unary("abs", ew.abs, "|x|")
acos, acosh = _unary("acos", ew.acos, "Inverse cosine."), _unary("acosh", ew.acosh, "Inverse hyperbolic cosine.")
asin, asinh = _unary("asin", ew.asin, "Inverse sine."), _unary("asinh", ew.asinh, "Inverse hyperbolic sine.")
atan, atanh = _unary("atan", ew.atan, "Inverse tangent."), _unary("atanh", ew.atanh, "Inverse hyperbolic tangent.")
bitwise_not = _unary("bitwise_not", ew.not_, "All bits flipped.")
cbrt = _unary_accurate("cbrt", ew.cbrt, "Cube root.")
ceil, floor = _unary("ceil", ew.ceil, "Rounded up."), _unary("floor", ew.floor, "Rounded down.")
clz = _unary("clz", ew.clz, "The number of leading zeros of an integer.")
conj = _unary("conj", ew.conj, "The complex conjugate.")
cos, cosh = _unary_accurate("cos", ew.cos, "Cosine."), _unary("cosh", ew.cosh, "Hyperbolic cosine.")
digamma, lgamma = _unary("digamma", ew.digamma, "Derivative of lgamma."), _unary("lgamma", ew.lgamma, "log |Gamma(x)|.")
erf, erfc = _unary("erf", ew.erf, "Error function."), _unary("erfc", ew.erfc, "1 - erf(x), exact for large x.")
erf_inv = _unary("erf_inv", ew.erf_inv, "Inverse of erf on (-1, 1).")
exp, exp2 = _unary_accurate("exp", ew.exp, "e ** x."), _unary_accurate("exp2", ew.exp2, "2 ** x.")
expm1 = _unary_accurate("expm1", ew.expm1, "exp(x) - 1, exact near 0.")
imag, real = _unary("imag", ew.imag, "Imaginary part."), _unary("real", ew.real, "Real part.")
is_finite = _unary("is_finite", ew.is_finite, "Whether x is neither infinite nor NaN.")
log, log1p = _unary_accurate("log", ew.log, "Natural logarithm."), _unary_accurate("log1p", ew.log1p, "log(1 + x), exact near 0.")
logistic = _unary_accurate("logistic", ew.logistic, "1 / (1 + exp(-x)).")
neg = _unary("neg", ew.neg, "-x")
population_count = _unary("population_count", ew.population_count, "The number of ones among the bits.")
rsqrt, sqrt = _unary_accurate("rsqrt", ew.rsqrt, "1 / sqrt(x)."), _unary_accurate("sqrt", ew.sqrt, "Square root.")
sign = _unary("sign", ew.sign, "x / |x|, 0 at 0.")
sin, sinh = _unary_accurate("sin", ew.sin, "Sine."), _unary("sinh", ew.sinh, "Hyperbolic sine.")
square = _unary("square", ew.square, "x * x")
tan, tanh = _unary_accurate("tan", ew.tan, "Tangent."), _unary_accurate("tanh", ew.tanh, "Hyperbolic tangent.")

add, sub = _binary("add", ew.add, "x + y"), _binary("sub", ew.sub, "x - y")
atan2 = _binary("atan2", ew.atan2, "The angle of the point (y, x).")
bitwise_and, bitwise_or = _binary("bitwise_and", ew.and_, "x & y"), _binary("bitwise_or", ew.or_, "x | y")
bitwise_xor = _binary("bitwise_xor", ew.xor, "x ^ y")
complex = _binary("complex", ew.complex, "x + i y of two real floats.")
div = _binary("div", ew.div, "x / y; of integers the quotient towards 0.")
eq, ne = _binary("eq", ew.eq, "x == y"), _binary("ne", ew.ne, "x != y")
ge, gt = _binary("ge", ew.ge, "x >= y"), _binary("gt", ew.gt, "x > y")
le, lt = _binary("le", ew.le, "x <= y"), _binary("lt", ew.lt, "x < y")
max, min = _binary("max", ew.max, "The larger one; NaN wins."), _binary("min", ew.min, "The smaller one; NaN wins.")
rem = _binary("rem", ew.rem, "The remainder of the quotient towards 0, with the sign of x.")
shift_left = _binary("shift_left", ew.shift_left, "Bits moved up; beyond the width 0.")
shift_right_arithmetic = _binary("shift_right_arithmetic", ew.shift_right_arithmetic, "Bits moved down, the sign repeated.")
shift_right_logical = _binary("shift_right_logical", ew.shift_right_logical, "Bits moved down, zeros come in.")


def nextafter(x1: Any, x2: Any) -> Any:
    """The next number after x1 towards x2; of one dtype and shape, or scalars."""
    return ew.nextafter(*strict("nextafter", x1, x2))


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    """x * y; out_dtype: of the product, in which it is computed."""
    vs = strict("mul", x, y)
    if out_dtype is not None:
        vs = [cast(v, dt.canonical(out_dtype)) for v in vs]
    return ew.mul(*vs)


def pow(x: Any, y: Any) -> Any:
    """x ** y for floats and complex numbers; y may also be an integer (a Python one is exact), x not."""
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


def integer_pow(x: Any, y: int) -> Any:
    """x ** y for a whole Python number y."""
    return ew.integer_pow(operand(x, "lax.integer_pow", "x"), y=static_int(y, "lax.integer_pow", "y"))


def polygamma(m: Any, x: Any) -> Any:
    """The m-th derivative of digamma at x; m is a whole number that is known, 0 or more."""
    order = static_int(int(m) if isinstance(m, float) and m == int(m) else m, "lax.polygamma", "m")
    v = operand(x, "lax.polygamma", "x")
    return ew.digamma(v) if order == 0 else ew.polygamma(v, n=order)


def reciprocal(x: Any) -> Any:
    """1 / x"""
    v = operand(x, "lax.reciprocal", "x")
    return ew.div(aval_of(v).dtype.type(1), v)


def round(x: Any, rounding_method: Any = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The nearest whole number; halves go away from 0, or to the even one (RoundingMethod.TO_NEAREST_EVEN)."""
    return ew.round(operand(x, "lax.round", "x"), rounding_method=int(RoundingMethod(rounding_method)))


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Rounded to a float of so many bits, kept in its dtype."""
    return ew.reduce_precision(
        as_value(operand, "lax.reduce_precision", "operand"), exponent_bits=exponent_bits, mantissa_bits=mantissa_bits
    )


def clamp(min: Any, x: Any, max: Any) -> Any:
    """x between min and max, which have its shape or are scalars."""
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
    return ew.clamp(*[broadcast_value(b, shape) if isinstance(b, Value) else b for b in (low, v, high)])


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """The same numbers in another dtype; complex to real takes the real part."""
    v = as_value(operand, "lax.convert_element_type", "operand")
    return (
        v
        if not v.weak_type and v.dtype == dt.canonical(new_dtype)
        else ew.convert_element_type(v, new_dtype=dt.canonical(new_dtype))
    )


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The same bits in another dtype; a narrower one adds a last axis, a wider one takes it."""
    return ew.bitcast_convert_type(as_value(operand, "lax.bitcast_convert_type", "operand"), new_dtype=dt.canonical(new_dtype))


def select_n(which: Any, *cases: Any) -> Any:
    """The element of cases[which]; which: bool with two cases (False is the first), or int32. A scalar `which` fits any shape."""
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
    """on_true where pred holds, otherwise on_false."""
    return select_n(pred, on_false, on_true)


def stop_gradient(x: Any) -> Any:
    """x (an array, or a pytree of them) as a constant: no gradient flows through it."""
    return tree_map(lambda leaf: ew.stop_gradient(leaf) if isinstance(leaf, Value) else leaf, x)
