"""Polynomials as coefficient vectors, the highest power first: polyval, polyadd, polysub, polymul, polyder, polyint, poly; and
cross."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import axis_of, listed, static_int, steps
from funcgrad.numpy._promote import as_value, broadcast_value, common_inexact, value_in, values_of
from funcgrad.numpy.elementwise import add, divide, multiply, subtract
from funcgrad.numpy.interpolation import convolve
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.linalg import cross_of, eigvals
from funcgrad.numpy.ranges import arange
from funcgrad.numpy.structure import atleast_1d, cut
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full
from funcgrad.ops.shape import pad

__all__ = ["cross", "poly", "polyadd", "polyder", "polyint", "polymul", "polysub", "polyval"]


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """The cross product of vectors of 2 or 3 elements along axes axisa and axisb (or `axis` for all); the result's are along
    axisc.

    Of two vectors with 2 elements it is the third component alone. Raises ShapeError for other extents.

    >>> fnp.cross(fnp.array([1, 0, 0]), fnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int64)
    >>> fnp.cross(fnp.array([1, 2]), fnp.array([3, 4]))
    Array(-2, dtype=int64)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = values_of("cross", a=a, b=b)
    i, j = axis_of(axisa, x.ndim, "cross", "axisa"), axis_of(axisb, y.ndim, "cross", "axisb")
    if x.shape[i] not in (2, 3) or y.shape[j] not in (2, 3):
        raise ShapeError(
            message(
                f"fnp.cross: got {x.aval.str_short()} and {y.aval.str_short()}",
                "2 or 3 elements along the axes",
                "axisa=, axisb=",
            )
        )
    return cross_of(x, y, i, j, axisc)


def _vector(p: Any, name: str, arg: str) -> Any:
    x = atleast_1d(as_value(p, name, arg))
    if x.ndim != 1:
        raise ShapeError(message(f"fnp.{name}: got {x.aval.str_short()} for {arg}", "a vector of coefficients", f"{arg}.ravel()"))
    return x


def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """The polynomial at x, by Horner's rule. unroll: any; the loop over the coefficients is unrolled.

    Args: p: vector of coefficients, the highest power first. x: array or scalar. Returns: an array of the shape of x.

    >>> fnp.polyval(fnp.array([1, 0, -2]), fnp.array([0, 1, 2]))
    Array([-2, -1,  2], dtype=int64)
    """
    static_int(unroll, "polyval", "unroll")
    coefficients, v = values_of("polyval", p=p, x=x)
    coefficients = _vector(coefficients, "polyval", "p")
    out = full(v.shape, v.dtype.type(0))
    for k in range(coefficients.shape[0]):
        out = add(multiply(out, v), coefficients[k])
    return out


def _aligned(name: str, a1: Any, a2: Any) -> list[Any]:
    x, y = [_vector(v, name, f"a{i + 1}") for i, v in enumerate(values_of(name, a1=a1, a2=a2))]
    n = max(x.shape[0], y.shape[0])
    return [pad(v, v.dtype.type(0), padding_config=((n - v.shape[0], 0, 0),)) for v in (x, y)]


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials (vectors of coefficients, the highest power first).

    Args: a1, a2: vectors or scalars, brought to one dtype.

    >>> fnp.polyadd(fnp.array([1, 2, 3]), fnp.array([10, 20]))
    Array([ 1, 12, 23], dtype=int64)
    """
    return add(*_aligned("polyadd", a1, a2))


def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials (vectors of coefficients, the highest power first).

    Args: a1, a2: vectors or scalars, brought to one dtype.

    >>> fnp.polysub(fnp.array([1, 2, 3]), fnp.array([10, 20]))
    Array([  1,  -8, -17], dtype=int64)
    """
    return subtract(*_aligned("polysub", a1, a2))


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The product of two polynomials. trim_leading_zeros: leave out leading zeros of both first (the numbers must be known).

    Args: a1, a2: vectors of coefficients, the highest power first.

    >>> fnp.polymul(fnp.array([1, -1]), fnp.array([1, 1]))
    Array([ 1,  0, -1], dtype=int64)
    >>> fnp.polymul(fnp.array([0, 1, -1]), fnp.array([1, 1]), trim_leading_zeros=True)
    Array([ 1,  0, -1], dtype=int64)
    """
    x, y = [_vector(v, "polymul", f"a{i + 1}") for i, v in enumerate(values_of("polymul", a1=a1, a2=a2))]
    if flag(trim_leading_zeros, "fnp.polymul", "trim_leading_zeros"):
        x, y = [v[int(np.argmax(np.asarray(v) != 0)) if np.asarray(v).any() else v.shape[0] - 1 :] for v in (x, y)]
    return convolve(x, y)


def _order(m: Any, name: str) -> int:
    k = static_int(m, name, "m")
    if k < 0:
        raise UsageError(message(f"fnp.{name}: got m={k}", "0 or more", "m=1"))
    return k


def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative of a polynomial (a vector of coefficients, the highest power first).

    >>> fnp.polyder(fnp.array([1, 2, 3, 4]))
    Array([3, 4, 3], dtype=int64)
    >>> fnp.polyder(fnp.array([1, 2, 3, 4]), 2)
    Array([6, 4], dtype=int64)
    """
    x = _vector(p, "polyder", "p")
    for _ in range(min(_order(m, "polyder"), x.shape[0])):  # nothing is left after so many
        n = x.shape[0]
        x = multiply(cut(x, 0, 0, n - 1), arange(n - 1, 0, -1)) if n > 1 else cut(x, 0, 0, 0)
    return x


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th integral with integration constants k (a scalar for all, or one for each time; 0 by default).

    Args: p: a vector of coefficients, the highest power first. Returns: floats, m more than p has.

    >>> fnp.polyint(fnp.array([3, 4, 5]), k=7)
    Array([1., 2., 5., 7.], dtype=float32)
    """
    (x,) = common_inexact(_vector(p, "polyint", "p"))
    times = steps(m, "polyint", "m")
    constants = value_in(0 if k is None else listed(k, "polyint", "k"), x.dtype, "polyint", "k")
    constants = broadcast_value(constants, (times,))
    for i in range(times):
        n = x.shape[0]
        x = concatenate([divide(x, arange(n, 0, -1, x.dtype)), cut(constants, 0, i, i + 1)])
    return x


def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with these zeros, the first one 1; of a square matrix its characteristic polynomial.

    Args: seq_of_zeros: a vector, or a square matrix (whose eigenvalues are taken). Returns: a float vector, one longer.

    >>> fnp.poly(fnp.array([1, 2]))
    Array([ 1., -3.,  2.], dtype=float32)
    >>> fnp.poly(np.array([[2.0, 1.0], [1.0, 2.0]]))
    Array([ 1., -4.,  3.], dtype=float64)
    """
    x = common_inexact(as_value(seq_of_zeros, "poly", "seq_of_zeros"))[0]
    matrix = x.ndim == 2 and x.shape[0] == x.shape[1]
    zeros = eigvals(x) if matrix else _vector(x, "poly", "seq_of_zeros")
    out = full((1,), zeros.dtype.type(1))
    nothing = full((1,), zeros.dtype.type(0))
    for k in range(zeros.shape[0]):  # times (x - zero)
        out = subtract(concatenate([out, nothing]), multiply(concatenate([nothing, out]), cut(zeros, 0, k, k + 1)))
    return ew.real(out) if matrix and x.dtype in dt.FLOATS else out
