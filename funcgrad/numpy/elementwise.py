"""Elementwise functions that are one primitive, a row each: name, operator, sentence.

What needs more than one primitive stands in `arithmetic.py` (division, powers, logarithms of sums) and `compare.py`.
"""

import math
from collections.abc import Callable
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, message
from funcgrad.numpy._promote import as_value, broadcast_value, check_unsupported, scalar_array
from funcgrad.numpy._table import binary_float, binary_ufunc, unary_float, unary_same
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "conj", "conjugate", "cos", "cosh", "deg2rad", "degrees", "divide",
    "exp", "exp2", "expm1", "fabs", "floor", "imag", "log", "log10", "log1p", "log2", "maximum", "minimum", "multiply",
    "negative", "nextafter", "positive", "rad2deg", "radians", "real", "reciprocal", "rint", "sign", "sin", "sinh", "sqrt",
    "square", "subtract", "tan", "tanh", "true_divide", "trunc",
]  # fmt: skip


def _same_value(x: Any) -> Any:
    # Arrays are immutable, so the value itself is as good as a copy.
    return x if isinstance(x, Value) else scalar_array(x)


def _no_complex(name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    def checked(x: Any) -> Any:
        if aval_of(x).dtype in dt.COMPLEXES:
            raise DtypeError(message(f"fnp.{name}: got {aval_of(x).str_short()}", "real numbers", "fnp.abs(x), x.real or x.imag"))
        return op(x)

    return checked


# --- trigonometric and hyperbolic -----------------------------------------------------------------------------------

sin = unary_float("sin", ew.sin, "Sine of x, in radians.")
cos = unary_float("cos", ew.cos, "Cosine of x, in radians.")
tan = unary_float("tan", ew.tan, "Tangent of x, in radians.")
arcsin = unary_float("arcsin", ew.asin, "Inverse sine: the angle in [-pi/2, pi/2]; NaN outside [-1, 1].")
arccos = unary_float("arccos", ew.acos, "Inverse cosine: the angle in [0, pi]; NaN outside [-1, 1].")
arctan = unary_float("arctan", ew.atan, "Inverse tangent: the angle in [-pi/2, pi/2].")
sinh = unary_float("sinh", ew.sinh, "Hyperbolic sine.")
cosh = unary_float("cosh", ew.cosh, "Hyperbolic cosine.")
tanh = unary_float("tanh", ew.tanh, "Hyperbolic tangent.")
arcsinh = unary_float("arcsinh", ew.asinh, "Inverse hyperbolic sine.")
arccosh = unary_float("arccosh", ew.acosh, "Inverse hyperbolic cosine; NaN below 1.", "1.5")
arctanh = unary_float("arctanh", ew.atanh, "Inverse hyperbolic tangent; NaN outside [-1, 1].")
asin, acos, atan, asinh, acosh, atanh = arcsin, arccos, arctan, arcsinh, arccosh, arctanh
arctan2 = binary_float("arctan2", ew.atan2, "The angle of the point (x2, x1), in (-pi, pi], by the signs of both.")
atan2 = arctan2

# --- exponentials, logarithms, roots --------------------------------------------------------------------------------

exp = unary_float("exp", ew.exp, "e to the power x.")
exp2 = unary_float("exp2", ew.exp2, "2 to the power x.")
expm1 = unary_float("expm1", ew.expm1, "exp(x) - 1, exact for small x.")
log = unary_float("log", ew.log, "Natural logarithm; -inf at 0 and NaN below.")
log1p = unary_float("log1p", ew.log1p, "log(1 + x), exact for small x.")
sqrt = unary_float("sqrt", ew.sqrt, "Square root; NaN below 0 for real x.")
cbrt = unary_float("cbrt", ew.cbrt, "Cube root, also of negative x.")


def _scaled_log(base: float) -> Callable[..., Any]:
    def op(x: Any) -> Any:
        return ew.div(ew.log(x), aval_of(x).dtype.type(math.log(base)))

    return op


log2 = unary_float("log2", _scaled_log(2), "Logarithm to base 2.")
log10 = unary_float("log10", _scaled_log(10), "Logarithm to base 10.")


def _scale(factor: float) -> Callable[..., Any]:
    return lambda x: ew.mul(x, aval_of(x).dtype.type(factor))


deg2rad = unary_float("deg2rad", _scale(math.pi / 180), "Degrees to radians.", "180.0")
rad2deg = unary_float("rad2deg", _scale(180 / math.pi), "Radians to degrees.", "3.14159")
radians, degrees = deg2rad, rad2deg

# --- arithmetic -----------------------------------------------------------------------------------------------------


def _no_bools(name: str, instead: str, op: Callable[..., Any]) -> Callable[..., Any]:
    def checked(x: Any, *ys: Any) -> Any:
        if aval_of(x).dtype == dt.bool_:
            raise DtypeError(message(f"fnp.{name}: got booleans", "numbers", instead))
        return op(x, *ys)

    return checked


def _or_for_bools(op: Callable[..., Any], bools: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: bools(x, y) if aval_of(x).dtype == dt.bool_ else op(x, y)


add = binary_ufunc("add", _or_for_bools(ew.add, ew.or_), "x1 + x2 (of booleans: or).")
subtract = binary_ufunc("subtract", _no_bools("subtract", "x ^ y, or convert with x.astype(int)", ew.sub), "x1 - x2.")
multiply = binary_ufunc("multiply", _or_for_bools(ew.mul, ew.and_), "x1 * x2 (of booleans: and).")
divide = binary_float("divide", ew.div, "x1 / x2, true division: integers give floats.")
true_divide = divide
maximum = binary_ufunc("maximum", _or_for_bools(ew.max, ew.or_), "The larger of x1 and x2; NaN where one of them is NaN.")
minimum = binary_ufunc("minimum", _or_for_bools(ew.min, ew.and_), "The smaller of x1 and x2; NaN where one of them is NaN.")


def _nextafter(x: Any, y: Any) -> Any:
    if aval_of(x).dtype not in dt.FLOATS:
        raise DtypeError(message(f"fnp.nextafter: got {aval_of(x).str_short()}", "real floats", "x.real"))
    return ew.nextafter(x, y)


nextafter = binary_float("nextafter", _nextafter, "The next representable number after x1 towards x2.", letters=True)


def negative(*args: Any, out: Any = None, where: Any = None) -> Any:
    """-x. Booleans raise; use ~x.

    Args: one array or scalar of numbers. out, where: not supported (arrays are immutable).
    Returns: an array of the shape and dtype of x.

    >>> fnp.negative(1.5)
    """
    x = _only("negative", args, out, where)
    return _negative(x)


def _only(name: str, args: tuple[Any, ...], out: Any, where: Any) -> Any:
    if out is not None or where is not None:
        check_unsupported(name, out=out, where=where)
    if len(args) != 1:
        raise TypeError(message(f"fnp.{name}: got {len(args)} arguments", "one array or scalar", f"fnp.{name}(x)"))
    return args[0]


_negative = unary_same("negative", ew.neg, "-x.")
absolute = unary_same("absolute", ew.abs, "|x|; of complex x its modulus, a float.", bools=_same_value, result=", real")
abs = absolute
sign = unary_same("sign", ew.sign, "-1, 0 or 1 by the sign of x (NaN stays NaN); of complex x: x / |x|.")
square = unary_same("square", ew.square, "x * x.", bools=_same_value)
positive = unary_same("positive", _same_value, "+x: a value equal to x.")
fabs = unary_float("fabs", _no_complex("fabs", ew.abs), "|x| of real x, as a float.", "-1.5")
reciprocal = unary_float("reciprocal", lambda x: ew.div(aval_of(x).dtype.type(1), x), "1 / x.", "2.0")

# --- rounding: integers and booleans are whole already -----------------------------------------------------------------


def _round_like(name: str, op: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def apply(x: Any) -> Any:
        return _same_value(x) if aval_of(x).dtype in dt.INTEGERS else op(x)

    return unary_same(name, apply, doc, allowed=dt.REALS, bools=_same_value)


floor = _round_like("floor", ew.floor, "The largest whole number that is at most x.")
ceil = _round_like("ceil", ew.ceil, "The smallest whole number that is at least x.")


def _rint(x: Any) -> Any:
    if aval_of(x).dtype in dt.COMPLEXES:
        return ew.complex(ew.round(ew.real(x), rounding_method=1), ew.round(ew.imag(x), rounding_method=1))
    return ew.round(x, rounding_method=1)


rint = unary_same(
    "rint", lambda x: _same_value(x) if aval_of(x).dtype in dt.INTEGERS else _rint(x),
    "The nearest whole number; halves go to the even one.", bools=_same_value,
)  # fmt: skip


def _trunc(x: Any) -> Any:
    return ew.select_n(ew.lt(x, like(x, 0)), ew.floor(x), ew.ceil(x))


trunc = _round_like("trunc", _trunc, "x without its fraction: rounded towards 0.")

# --- complex parts ----------------------------------------------------------------------------------------------------


def real(val: Any, /) -> Any:
    """The real part; a real array is returned as it is. Shape of val, float of the same width."""
    x = as_value(val, "real", "val")
    return ew.real(x) if x.dtype in dt.COMPLEXES else x


def imag(val: Any, /) -> Any:
    """The imaginary part; zeros for a real array. Shape of val."""
    x = as_value(val, "imag", "val")
    return ew.imag(x) if x.dtype in dt.COMPLEXES else broadcast_value(scalar_array(x.dtype.type(0)), x.shape)


conjugate = unary_same(
    "conjugate", lambda x: ew.conj(x) if aval_of(x).dtype in dt.COMPLEXES else _same_value(x),
    "The complex conjugate; of real x, x.", bools=_same_value, sample="1 + 2j",
)  # fmt: skip
conj = conjugate
