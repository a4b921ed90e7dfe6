"""Reductions and running reductions under JAX's names: axes are given, the dtype stays."""

from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.lax._table import no_sharding, value
from funcgrad.numpy._axes import axes_of, axis_of, static_ints
from funcgrad.numpy._complex_order import extremum
from funcgrad.ops import cumulative as _cumulative
from funcgrad.ops import reduce as _reduce

__all__ = [
    "argmax", "argmin", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "reduce_and", "reduce_max", "reduce_min",
    "reduce_or", "reduce_prod", "reduce_sum", "reduce_xor",
]  # fmt: skip


# --- reductions, running reductions ------------------------------------------------------------------------------------------


def _reduction(name: str, op: Any, x: Any, axes: Any) -> Any:
    v = value(name, x)
    if v.dtype in dt.COMPLEXES and op in (_reduce.reduce_max, _reduce.reduce_min):
        op = extremum(op)
    return op(v, axes=axes_of(static_ints(axes, f"lax.{name}", "axes"), v.ndim, f"lax.{name}", "axes"))


def reduce_sum(operand: Any, axes: Any, *, out_sharding: Any = None) -> Any:
    """The sum along these axes (distinct; negative ones count from the end), in the operand's dtype. out_sharding: must be None.

    >>> lax.reduce_sum(fnp.array([[1, 2], [3, 4]]), (0,))
    Array([4, 6], dtype=int64)
    >>> lax.reduce_sum(np.array([100, 100], np.int8), (0,))  # modulo 256: fnp.sum widens
    Array(-56, dtype=int8)
    """
    no_sharding("reduce_sum", out_sharding)
    return _reduction("reduce_sum", _reduce.reduce_sum, operand, axes)


def reduce_prod(operand: Any, axes: Any) -> Any:
    """The product along these axes, in the operand's dtype. Its gradient is exact also where elements are 0.

    >>> lax.reduce_prod(fnp.array([[1, 2], [3, 4]]), (1,))
    Array([ 2, 12], dtype=int64)
    """
    return _reduction("reduce_prod", _reduce.reduce_prod, operand, axes)


def reduce_max(operand: Any, axes: Any) -> Any:
    """The largest element along these axes; of none the least number of the dtype. NaN wins; complex numbers as in `fnp.max`.

    >>> lax.reduce_max(fnp.array([[1, 5], [3, 4]]), (0,))
    Array([3, 5], dtype=int64)
    >>> lax.reduce_max(fnp.zeros((0, 2)), (0,))
    Array([-inf, -inf], dtype=float32)
    """
    return _reduction("reduce_max", _reduce.reduce_max, operand, axes)


def reduce_min(operand: Any, axes: Any) -> Any:
    """The smallest element along these axes; of none the greatest number of the dtype. NaN wins; complex as in `fnp.max`.

    >>> lax.reduce_min(fnp.array([[1, 5], [3, 4]]), (0,))
    Array([1, 4], dtype=int64)
    """
    return _reduction("reduce_min", _reduce.reduce_min, operand, axes)


def reduce_and(operand: Any, axes: Any) -> Any:
    """Bitwise (of booleans: logical) and along these axes; of none all ones.

    >>> lax.reduce_and(fnp.array([[True, False], [True, True]]), (1,))
    Array([False,  True], dtype=bool)
    >>> lax.reduce_and(fnp.array([12, 10]), (0,))
    Array(8, dtype=int64)
    """
    return _reduction("reduce_and", _reduce.reduce_and, operand, axes)


def reduce_or(operand: Any, axes: Any) -> Any:
    """Bitwise (of booleans: logical) or along these axes; of none 0.

    >>> lax.reduce_or(fnp.array([[True, False], [False, False]]), (1,))
    Array([ True, False], dtype=bool)
    >>> lax.reduce_or(fnp.array([12, 10]), (0,))
    Array(14, dtype=int64)
    """
    return _reduction("reduce_or", _reduce.reduce_or, operand, axes)


def reduce_xor(operand: Any, axes: Any) -> Any:
    """Bitwise (of booleans: logical) exclusive or along these axes; of none 0.

    >>> lax.reduce_xor(fnp.array([12, 10]), (0,))
    Array(6, dtype=int64)
    """
    return _reduction("reduce_xor", _reduce.reduce_xor, operand, axes)


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The position of the first largest element along an axis, in index_dtype; a NaN counts as the largest.

    >>> lax.argmax(fnp.array([[1, 9], [9, 9]]), 1, np.int32)
    Array([1, 0], dtype=int32)
    """
    x = value("argmax", operand)
    return _reduce.argmax(x, axes=(axis_of(axis, x.ndim, "lax.argmax"),), index_dtype=dt.canonical(index_dtype))


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The position of the first smallest element along an axis, in index_dtype; a NaN counts as the smallest.

    >>> lax.argmin(fnp.array([[1, 0], [0, 0]]), 1, np.int32)
    Array([1, 0], dtype=int32)
    """
    x = value("argmin", operand)
    return _reduce.argmin(x, axes=(axis_of(axis, x.ndim, "lax.argmin"),), index_dtype=dt.canonical(index_dtype))


def _running(name: str, op: Any, x: Any, axis: int, reverse: bool) -> Any:
    v = value(name, x)
    return op(v, axis=axis_of(axis, v.ndim, f"lax.{name}"), reverse=flag(reverse, f"lax.{name}", "reverse"))


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running sum along an axis, in the operand's dtype; from its end with reverse=True.

    >>> lax.cumsum(fnp.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int64)
    >>> lax.cumsum(fnp.array([1, 2, 3]), reverse=True)
    Array([6, 5, 3], dtype=int64)
    """
    return _running("cumsum", _cumulative.cumsum, operand, axis, reverse)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running product along an axis, in the operand's dtype; from its end with reverse=True. Its gradient is exact at zeros.

    >>> lax.cumprod(fnp.array([[1, 2], [3, 4]]), axis=1)
    Array([[ 1,  2],
           [ 3, 12]], dtype=int64)
    """
    return _running("cumprod", _cumulative.cumprod, operand, axis, reverse)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running maximum along an axis, from its end with reverse=True.

    >>> lax.cummax(fnp.array([1, 3, 2, 5]))
    Array([1, 3, 3, 5], dtype=int64)
    """
    return _running("cummax", _cumulative.cummax, operand, axis, reverse)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running minimum along an axis, from its end with reverse=True.

    >>> lax.cummin(fnp.array([4, 3, 5, 1]))
    Array([4, 3, 3, 1], dtype=int64)
    """
    return _running("cummin", _cumulative.cummin, operand, axis, reverse)


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running log(sum(exp(x))) along an axis without overflow, of floating operands; from its end with reverse=True.

    >>> lax.cumlogsumexp(np.array([0.0, 0.0, 1000.0]))
    Array([0.00000000e+00, 6.93147181e-01, 1.00000000e+03], dtype=float64)
    """
    return _running("cumlogsumexp", _cumulative.cumlogsumexp, operand, axis, reverse)
