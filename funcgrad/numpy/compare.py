"""Comparisons, logic, and tests of numbers: equal, less, logical_and, isnan, isclose, array_equal ..."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import message
from funcgrad.numpy._axes import host_array
from funcgrad.numpy._promote import as_value, check_unsupported, common_shape, operand, scalar_array
from funcgrad.numpy._table import binary_compare, wrong_dtype
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full, like
from funcgrad.ops.bits import random_unwrap
from funcgrad.ops.reduce import reduce_and
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "equal", "greater", "greater_equal", "iscomplex", "iscomplexobj", "isfinite", "isinf", "isnan", "isneginf", "isposinf",
    "isreal", "isrealobj", "isscalar", "iterable", "less", "less_equal", "logical_and", "logical_not", "logical_or",
    "logical_xor", "not_equal", "signbit",
]  # fmt: skip

# --- comparisons --------------------------------------------------------------------------------------------------------


def _ordered(op: Callable[..., Any]) -> Callable[..., Any]:
    """Complex numbers are ordered as NumPy orders them: by the real part, then by the imaginary part."""

    def compare(x: Any, y: Any) -> Any:
        if aval_of(x).dtype not in dt.COMPLEXES:
            return op(x, y)
        rx, ry, ix, iy = ew.real(x), ew.real(y), ew.imag(x), ew.imag(y)
        known = ew.and_(ew.eq(ix, ix), ew.eq(iy, iy))  # what holds a NaN is before and after nothing
        return ew.select_n(ew.eq(rx, ry), ew.and_(known, op(rx, ry)), op(ix, iy))

    return compare


def _alike(op: Callable[..., Any]) -> Callable[..., Any]:
    """Keys are equal where both of their words are."""

    def compare(x: Any, y: Any) -> Any:
        if aval_of(x).dtype != dt.KEY:
            return op(x, y)
        same = ew.eq(random_unwrap(x), random_unwrap(y))
        same = reduce_and(same, axes=(same.ndim - 1,))
        return same if op is ew.eq else ew.not_(same)

    return compare


equal = binary_compare(
    "equal", _alike(ew.eq), "Whether x == y.", "fnp.array([1, 2, 3]), 2", "Array([False,  True, False], dtype=bool)"
)
not_equal = binary_compare(
    "not_equal",
    _alike(ew.ne),
    "Whether x != y; True where one of them is NaN.",
    "fnp.array([1.0, fnp.nan]), fnp.array([1.0, fnp.nan])",
    "Array([False,  True], dtype=bool)",
)
less = binary_compare(
    "less", _ordered(ew.lt), "Whether x < y.", "fnp.array([1, 2, 3]), 2", "Array([ True, False, False], dtype=bool)"
)
less_equal = binary_compare(
    "less_equal", _ordered(ew.le), "Whether x <= y.", "fnp.array([1, 2, 3]), 2", "Array([ True,  True, False], dtype=bool)"
)
greater = binary_compare(
    "greater",
    _ordered(ew.gt),
    "Whether x > y.",
    "fnp.array([1, 2, 3]), fnp.array([[1], [2]])",
    "Array([[False,  True,  True],\n       [False, False,  True]], dtype=bool)",
)
greater_equal = binary_compare(
    "greater_equal", _ordered(ew.ge), "Whether x >= y.", "fnp.array([1.0, fnp.nan]), 1", "Array([ True, False], dtype=bool)"
)

# --- logic: of whether numbers are not zero -------------------------------------------------------------------------------


def truth(x: Any) -> Any:
    """Whether x is not zero, as bool (a scalar stays one)."""
    if not isinstance(x, Value):
        return np.bool_(bool(x))
    return x if x.aval.dtype == dt.bool_ else ew.ne(x, like(x, 0))


def _logical(name: str, op: Callable[..., Any], doc: str, sample: str, shows: str) -> Callable[..., Any]:
    def f(*args: Any, out: Any = None, where: Any = None) -> Any:
        if out is not None or where is not None:
            check_unsupported(name, out=out, where=where)
        if len(args) != 2:
            raise TypeError(message(f"fnp.{name}: got {len(args)} arguments", "two arrays or scalars", f"fnp.{name}(x1, x2)"))
        x, y = [truth(operand(v, name, f"x{i + 1}")) for i, v in enumerate(args)]
        return op(*common_shape(name, (x, y)))

    f.__name__ = f.__qualname__ = name
    f.__module__ = "funcgrad.numpy"
    args = "Args: x1, x2: arrays or scalars whose shapes broadcast. out, where: must be None. Returns: bool of that shape."
    f.__doc__ = f"{doc}\n\n{args}\n\n>>> fnp.{name}({sample})\n{shows}\n"
    return f


logical_and = _logical(
    "logical_and",
    ew.and_,
    "Whether both are not zero.",
    "fnp.array([0, 1, 2]), fnp.array([1, 0, 3])",
    "Array([False, False,  True], dtype=bool)",
)
logical_or = _logical(
    "logical_or",
    ew.or_,
    "Whether one of them is not zero.",
    "fnp.array([0, 1, 0]), fnp.array([2.5, 0.0, 0.0])",
    "Array([ True,  True, False], dtype=bool)",
)
logical_xor = _logical(
    "logical_xor",
    ew.xor,
    "Whether exactly one of them is not zero.",
    "fnp.array([0, 1, 2]), True",
    "Array([ True, False, False], dtype=bool)",
)


def logical_not(x: Any, /) -> Any:
    """Whether x is zero, as bool of the shape of x.

    >>> fnp.logical_not(fnp.array([0.0, 0.5, fnp.nan]))
    Array([ True, False, False], dtype=bool)
    """
    return ew.not_(truth(operand(x, "logical_not", "x")))


# --- tests of numbers -----------------------------------------------------------------------------------------------------


def _parts(op: Callable[..., Any], join: Callable[..., Any], exact: bool, name: str, x: Any) -> Any:
    """`op` of a float; of complex x both parts joined; `exact` for bool and integers."""
    x = operand(x, name, "x")
    dtype = aval_of(x).dtype
    if dtype in dt.COMPLEXES:
        return join(op(ew.real(x)), op(ew.imag(x)))
    if dtype in dt.FLOATS:
        return op(x)
    dt.category(dtype)
    return full(aval_of(x).shape, np.bool_(exact))


def isnan(x: Any, /) -> Any:
    """Whether x is NaN; bool of the shape of x.

    >>> fnp.isnan(fnp.array([1.0, fnp.nan, fnp.inf]))
    Array([False,  True, False], dtype=bool)
    """
    return _parts(lambda v: ew.ne(v, v), ew.or_, False, "isnan", x)


def isfinite(x: Any, /) -> Any:
    """Whether x is neither infinite nor NaN; bool of the shape of x. Of complex x: whether both parts are.

    >>> fnp.isfinite(fnp.array([1.0, fnp.nan, -fnp.inf]))
    Array([ True, False, False], dtype=bool)
    """
    return _parts(ew.is_finite, ew.and_, True, "isfinite", x)


def _is_infinite(v: Any) -> Any:
    return ew.eq(ew.abs(v), like(v, np.inf))


def isinf(x: Any, /) -> Any:
    """Whether x is infinite; bool of the shape of x. Of complex x: whether one part is.

    >>> fnp.isinf(fnp.array([1.0, fnp.nan, -fnp.inf]))
    Array([False, False,  True], dtype=bool)
    """
    return _parts(_is_infinite, ew.or_, False, "isinf", x)


def _one_sided(name: str, x: Any, out: Any, sign: float) -> Any:
    check_unsupported(name, out=out)
    v = operand(x, name, "x")
    if aval_of(v).dtype in dt.COMPLEXES:
        raise wrong_dtype(name, v, dt.REALS, "x.real")
    return _parts(lambda w: ew.eq(w, like(w, sign * np.inf)), ew.or_, False, name, v)


def isposinf(x: Any, /, out: Any = None) -> Any:
    """Whether real x is +inf; bool of the shape of x. Raises TypeError for complex x. out: must be None.

    >>> fnp.isposinf(fnp.array([fnp.inf, -fnp.inf, 0.0]))
    Array([ True, False, False], dtype=bool)
    """
    return _one_sided("isposinf", x, out, 1.0)


def isneginf(x: Any, /, out: Any = None) -> Any:
    """Whether real x is -inf; bool of the shape of x. Raises TypeError for complex x. out: must be None.

    >>> fnp.isneginf(fnp.array([fnp.inf, -fnp.inf, 0.0]))
    Array([False,  True, False], dtype=bool)
    """
    return _one_sided("isneginf", x, out, -1.0)


def signbit(x: Any, /) -> Any:
    """Whether the sign of real x is minus, also of -0.0 and NaN; bool of the shape of x. Raises TypeError for complex x.

    >>> fnp.signbit(fnp.array([-1.0, -0.0, 0.0, 2.0]))
    Array([ True,  True, False, False], dtype=bool)
    """
    v = operand(x, "signbit", "x")
    dtype = aval_of(v).dtype
    if dtype in dt.COMPLEXES:
        raise wrong_dtype("signbit", v, dt.REALS, "x.real")
    if dtype == dt.E8M0:
        return full(aval_of(v).shape, np.False_)  # powers of 2 without a sign
    if dtype in dt.FLOATS:
        v = v if isinstance(v, Value) else scalar_array(v)
        signed = np.dtype(f"int{dtype.itemsize * 8}")
        return ew.lt(ew.bitcast_convert_type(v, new_dtype=signed), signed.type(0))
    dt.category(dtype)  # what is no number raises
    return ew.lt(v, like(v, 0)) if dtype in dt.SIGNED else full(aval_of(v).shape, np.False_)


def iscomplex(x: Any) -> Any:
    """Whether the imaginary part is not 0; bool of the shape of x.

    >>> fnp.iscomplex(fnp.array([1 + 2j, 3 + 0j]))
    Array([ True, False], dtype=bool)
    """
    v = as_value(x, "iscomplex", "x")
    return ew.ne(ew.imag(v), like(ew.imag(v), 0)) if v.dtype in dt.COMPLEXES else full(v.shape, np.False_)


def isreal(x: Any) -> Any:
    """Whether the imaginary part is 0; bool of the shape of x.

    >>> fnp.isreal(fnp.array([1 + 2j, 3 + 0j]))
    Array([False,  True], dtype=bool)
    """
    return ew.not_(iscomplex(x))


def _dtype_of(x: Any, name: str) -> np.dtype:
    return x.dtype if isinstance(x, Value) else host_array(x, name, "x").dtype


def iscomplexobj(x: Any) -> bool:
    """Whether x has a complex dtype (a Python bool), whatever its numbers are.

    >>> fnp.iscomplexobj(fnp.array([3 + 0j])), fnp.iscomplexobj(3.0)
    (True, False)
    """
    return _dtype_of(x, "iscomplexobj") in dt.COMPLEXES


def isrealobj(x: Any) -> bool:
    """Whether x has no complex dtype (a Python bool), whatever its numbers are.

    >>> fnp.isrealobj(fnp.array([3 + 0j])), fnp.isrealobj(3.0)
    (False, True)
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether `element` is a Python or NumPy scalar, or an array without axes.

    >>> fnp.isscalar(2.5), fnp.isscalar(fnp.array(2.5)), fnp.isscalar(fnp.array([2.5]))
    (True, True, False)
    """
    return np.isscalar(element) or isinstance(element, (Value, np.ndarray)) and element.ndim == 0


def iterable(y: Any) -> bool:
    """Whether y can be iterated over (arrays with axes can).

    >>> fnp.iterable(fnp.arange(3)), fnp.iterable(fnp.array(3))
    (True, False)
    """
    return y.ndim > 0 if isinstance(y, Value) else bool(np.iterable(y))
