"""Elementwise functions that are one primitive, a row each: name, operator, sentence.

What needs more than one primitive stands in `arithmetic.py` (division, powers, logarithms of sums) and `compare.py`.
"""

from collections.abc import Callable
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, message
from funcgrad.numpy._complex_order import larger, smaller
from funcgrad.numpy._promote import as_value, broadcast_value, check_unsupported, operand, scalar_array
from funcgrad.numpy._table import binary_float, binary_ufunc, unary_float, unary_same, wrong_dtype
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "abs", "absolute", "add", "cbrt", "ceil", "conj", "conjugate", "divide", "fabs", "floor", "imag", "maximum", "minimum",
    "multiply", "negative", "positive", "real", "reciprocal", "rint", "sign", "sqrt", "square", "subtract", "true_divide",
    "trunc",
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


# --- roots ------------------------------------------------------------------------------------------------------------

sqrt = unary_float(
    "sqrt",
    ew.sqrt,
    "Square root; NaN below 0 for real x.",
    "fnp.array([4.0, 2.0, -1.0])",
    "Array([2.       , 1.4142135,       nan], dtype=float32)",
)
cbrt = unary_float("cbrt", ew.cbrt, "Cube root, also of negative x.", "fnp.array([8, -27])", "Array([ 2., -3.], dtype=float32)")


# --- arithmetic -----------------------------------------------------------------------------------------------------


def _no_bools(name: str, instead: str, op: Callable[..., Any]) -> Callable[..., Any]:
    def checked(x: Any, *ys: Any) -> Any:
        if aval_of(x).dtype == dt.bool_:
            raise DtypeError(message(f"fnp.{name}: got booleans", "numbers", instead))
        return op(x, *ys)

    return checked


def _or_for_bools(op: Callable[..., Any], bools: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: bools(x, y) if aval_of(x).dtype == dt.bool_ else op(x, y)


def _extremum(op: Callable[..., Any], bools: Callable[..., Any], complexes: Callable[..., Any]) -> Callable[..., Any]:
    def apply(x: Any, y: Any) -> Any:
        dtype = aval_of(x).dtype
        return (bools if dtype == dt.bool_ else complexes if dtype in dt.COMPLEXES else op)(x, y)

    return apply


add = binary_ufunc(
    "add",
    _or_for_bools(ew.add, ew.or_),
    "x1 + x2 (of booleans: or).",
    "fnp.array([[1.0], [2.0]]), fnp.array([10, 20])",
    "Array([[11., 21.],\n       [12., 22.]], dtype=float32)",
)
subtract = binary_ufunc(
    "subtract",
    _no_bools("subtract", "x ^ y, or convert with x.astype(int)", ew.sub),
    "x1 - x2.",
    "fnp.array([5, 3]), 1",
    "Array([4, 2], dtype=int64)",
)
multiply = binary_ufunc(
    "multiply",
    _or_for_bools(ew.mul, ew.and_),
    "x1 * x2 (of booleans: and).",
    "fnp.array([2, 3]), 1.5",
    "Array([3. , 4.5], dtype=float32)",
)
divide = binary_float(
    "divide",
    ew.div,
    "x1 / x2, true division: integers give floats.",
    "fnp.array([3, 1, 0]), fnp.array([2, 0, 0])",
    "Array([1.5, inf, nan], dtype=float32)",
)
true_divide = divide
maximum = binary_ufunc(
    "maximum",
    _extremum(ew.max, ew.or_, larger),
    "The larger of x1 and x2; NaN where one of them is NaN. Complex numbers are ordered by real, then imaginary part.",
    "fnp.array([1.0, 5.0, fnp.nan]), 3",
    "Array([ 3.,  5., nan], dtype=float32)",
)
minimum = binary_ufunc(
    "minimum",
    _extremum(ew.min, ew.and_, smaller),
    "The smaller of x1 and x2; NaN where one of them is NaN. Complex numbers are ordered by real, then imaginary part.",
    "fnp.array([1.0, 5.0, fnp.nan]), 3",
    "Array([ 1.,  3., nan], dtype=float32)",
)


def negative(*args: Any, out: Any = None, where: Any = None) -> Any:
    """-x. Booleans raise; use ~x.

    Args: one array or scalar of numbers. out, where: not supported (arrays are immutable).
    Returns: an array of the shape and dtype of x.

    >>> fnp.negative(fnp.array([1.5, -2.0]))
    Array([-1.5,  2. ], dtype=float32)
    """
    x = operand(_only("negative", args, out, where), "negative", "x")
    if aval_of(x).dtype not in dt.NUMBERS:
        raise wrong_dtype("negative", x, dt.NUMBERS, "~x, or x.astype(int)")
    return ew.neg(x)


def _only(name: str, args: tuple[Any, ...], out: Any, where: Any) -> Any:
    if out is not None or where is not None:
        check_unsupported(name, out=out, where=where)
    if len(args) != 1:
        raise TypeError(message(f"fnp.{name}: got {len(args)} arguments", "one array or scalar", f"fnp.{name}(x)"))
    return args[0]


absolute = unary_same(
    "absolute",
    ew.abs,
    "|x|; of complex x its modulus, a float.",
    "fnp.array([-1, 0, 2])",
    "Array([1, 0, 2], dtype=int64)",
    bools=_same_value,
    result=", real",
)
abs = absolute
sign = unary_same(
    "sign",
    ew.sign,
    "-1, 0 or 1 by the sign of x (NaN stays NaN); of complex x: x / |x|.",
    "fnp.array([-2.5, 0.0, 3.0, fnp.nan])",
    "Array([-1.,  0.,  1., nan], dtype=float32)",
)
square = unary_same("square", ew.square, "x * x.", "fnp.array([-3, 4])", "Array([ 9, 16], dtype=int64)", bools=_same_value)
positive = unary_same("positive", _same_value, "+x: a value equal to x.", "fnp.array([-3, 4])", "Array([-3,  4], dtype=int64)")
fabs = unary_float(
    "fabs", _no_complex("fabs", ew.abs), "|x| of real x, as a float.", "fnp.array([-3, 4])", "Array([3., 4.], dtype=float32)"
)
reciprocal = unary_float(
    "reciprocal",
    lambda x: ew.div(aval_of(x).dtype.type(1), x),
    "1 / x.",
    "fnp.array([4, 0])",
    "Array([0.25,  inf], dtype=float32)",
)

# --- rounding: integers and booleans are whole already -----------------------------------------------------------------


def _round_like(name: str, op: Callable[..., Any], doc: str, sample: str, shows: str) -> Callable[..., Any]:
    def apply(x: Any) -> Any:
        return _same_value(x) if aval_of(x).dtype in dt.INTEGERS else op(x)

    return unary_same(name, apply, doc, sample, shows, allowed=dt.REALS, bools=_same_value)


floor = _round_like(
    "floor", ew.floor, "The largest whole number that is at most x.", "fnp.array([1.7, -1.2])", "Array([ 1., -2.], dtype=float32)"
)
ceil = _round_like(
    "ceil", ew.ceil, "The smallest whole number that is at least x.", "fnp.array([1.2, -1.7])", "Array([ 2., -1.], dtype=float32)"
)


def _rint(x: Any) -> Any:
    if aval_of(x).dtype in dt.COMPLEXES:
        return ew.complex(ew.round(ew.real(x), rounding_method=1), ew.round(ew.imag(x), rounding_method=1))
    return ew.round(x, rounding_method=1)


rint = unary_float(
    "rint",
    _rint,
    "The nearest whole number; halves go to the even one.",
    "fnp.array([0.5, 1.5, 2.3])",
    "Array([0., 2., 2.], dtype=float32)",
)


def trunc(x: Any) -> Any:
    """x without its fraction: rounded towards 0.

    Args: x: array or scalar of real numbers. Returns: an array of the shape and dtype of x.

    >>> fnp.trunc(fnp.array([1.7, -1.7]))
    Array([ 1., -1.], dtype=float32)
    """
    v = operand(x, "trunc", "x")
    dtype = aval_of(v).dtype
    if dtype in dt.INTEGERS | dt.BOOLS:
        return _same_value(v)
    if dtype not in dt.FLOATS:
        raise wrong_dtype("trunc", v, dt.REALS, "x.real")
    return ew.select_n(ew.lt(v, like(v, 0)), ew.floor(v), ew.ceil(v))


# --- complex parts ----------------------------------------------------------------------------------------------------


def real(val: Any, /) -> Any:
    """The real part; a real array is returned as it is. Shape of val, float of the same width.

    >>> fnp.real(fnp.array([1 + 2j, 3 - 4j]))
    Array([1., 3.], dtype=float32)
    """
    x = as_value(val, "real", "val")
    return ew.real(x) if x.dtype in dt.COMPLEXES else x


def imag(val: Any, /) -> Any:
    """The imaginary part; zeros for a real array. Shape of val, float of the same width.

    >>> fnp.imag(fnp.array([1 + 2j, 3 - 4j]))
    Array([ 2., -4.], dtype=float32)
    """
    x = as_value(val, "imag", "val")
    return ew.imag(x) if x.dtype in dt.COMPLEXES else broadcast_value(scalar_array(x.dtype.type(0)), x.shape)


conjugate = unary_same(
    "conjugate",
    lambda x: ew.conj(x) if aval_of(x).dtype in dt.COMPLEXES else _same_value(x),
    "The complex conjugate; of real x, x.",
    "fnp.array([1 + 2j, 3 - 1j])",
    "Array([1.-2.j, 3.+1.j], dtype=complex64)",
    bools=_same_value,
)
conj = conjugate
