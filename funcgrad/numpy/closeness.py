"""Whether arrays are equal, or nearly so: isclose, allclose, array_equal, array_equiv."""

from typing import Any

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import ShapeError
from funcgrad.numpy._promote import as_value, binary, cast, operand, unify
from funcgrad.numpy.compare import equal, isfinite, isnan
from funcgrad.ops import elementwise as ew
from funcgrad.ops.reduce import reduce_and
from funcgrad.trace.value import aval_of

__all__ = [
    "allclose", "array_equal", "array_equiv", "isclose",
]  # fmt: skip


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """Whether |a - b| <= atol + rtol * |b|; infinities are close to themselves, NaN to nothing (with equal_nan: to NaN).

    Args: a, b: arrays or scalars whose shapes broadcast. Returns: bool of the broadcast shape.

    >>> fnp.isclose(np.array([1.0, 1.0, np.nan]), np.array([1.0 + 1e-7, 1.1, np.nan]))
    Array([ True, False, False], dtype=bool)
    """
    x, y = operand(a, "isclose", "a"), operand(b, "isclose", "b")
    if not {aval_of(x).dtype, aval_of(y).dtype} & dt.INEXACT:
        x, y = cast(x, dt.float64), cast(y, dt.float64)
    x, y = unify("isclose", x, y)
    same = ew.eq(x, y)
    size = ew.abs(y)
    limit = binary(ew.add, binary(ew.mul, size, rtol, "isclose"), atol, "isclose")
    distance = ew.abs(ew.sub(x, y))
    close = ew.or_(ew.and_(binary(ew.le, distance, limit, "isclose"), ew.and_(isfinite(x), isfinite(y))), same)
    return ew.or_(close, ew.and_(isnan(x), isnan(y))) if flag(equal_nan, "fnp.isclose", "equal_nan") else close


def _all(x: Any) -> Any:
    return reduce_and(x, axes=tuple(range(x.ndim))) if x.ndim else x


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """Whether all elements are close, as `isclose` says; a bool scalar.

    >>> fnp.allclose(np.array([1.0, 1e-10]), np.array([1.0 + 1e-7, 0.0]))
    Array(True, dtype=bool)
    >>> fnp.allclose(np.array([1.0]), np.array([1.1]), atol=0.2)
    Array(True, dtype=bool)
    """
    return _all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether shapes and elements are equal; a bool scalar. equal_nan: NaN equals NaN.

    Args: a1, a2: arrays or scalars of any dtypes.

    >>> fnp.array_equal(fnp.arange(3), fnp.array([0.0, 1.0, 2.0]))
    Array(True, dtype=bool)
    >>> fnp.array_equal(fnp.arange(3), fnp.arange(3)[None])
    Array(False, dtype=bool)
    """
    x, y = operand(a1, "array_equal", "a1"), operand(a2, "array_equal", "a2")
    if aval_of(x).shape != aval_of(y).shape:
        return from_numpy(np.False_)
    same = as_value(equal(x, y), "array_equal")
    return _all(ew.or_(same, ew.and_(isnan(x), isnan(y))) if flag(equal_nan, "fnp.array_equal", "equal_nan") else same)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether the arrays are equal after broadcasting; False where they do not broadcast.

    Args: a1, a2: arrays or scalars of any dtypes. Returns: a bool scalar.

    >>> fnp.array_equiv(fnp.arange(3), fnp.arange(3)[None])
    Array(True, dtype=bool)
    >>> fnp.array_equiv(fnp.arange(3), fnp.arange(4))
    Array(False, dtype=bool)
    """
    try:
        return _all(as_value(equal(a1, a2), "array_equiv"))
    except ShapeError:
        return from_numpy(np.False_)
