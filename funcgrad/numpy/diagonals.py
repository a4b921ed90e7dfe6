"""Diagonals: taking them (a strided view of the flattened matrix), summing them, and building matrices of them."""

from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import axis_of, static_int
from funcgrad.numpy._promote import as_value, check_unsupported
from funcgrad.numpy.reductions import sum as sum_
from funcgrad.numpy.structure import moveaxis, ravel, reshape
from funcgrad.ops import shape as ops
from funcgrad.ops.shape import full

__all__ = ["diag", "diagflat", "diagonal", "trace"]


def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    """The diagonal `offset` of the two axes, as a new last axis. Raises ShapeError below two axes.

    Args: offset: an integer, above the main diagonal where positive. axis1, axis2: the rows and the columns.

    >>> fnp.diagonal(fnp.arange(9).reshape(3, 3))
    Array([0, 4, 8], dtype=int64)
    >>> fnp.diagonal(fnp.arange(9).reshape(3, 3), offset=1)
    Array([1, 5], dtype=int64)
    """
    x = as_value(a, "diagonal")
    if x.ndim < 2:
        raise ShapeError(message(f"fnp.diagonal: got {x.aval.str_short()}", "two or more axes", "fnp.diag to make a matrix"))
    i, j = axis_of(axis1, x.ndim, "diagonal", "axis1"), axis_of(axis2, x.ndim, "diagonal", "axis2")
    if i == j:
        raise UsageError(message(f"fnp.diagonal: got axis1={axis1}, axis2={axis2}", "two different axes", "axis1=0, axis2=1"))
    k = static_int(offset, "diagonal", "offset")
    x = moveaxis(x, (i, j), (-2, -1))
    rows, columns = x.shape[-2:]
    lead = x.shape[:-2]
    count = max(0, min(rows, columns - k) if k >= 0 else min(rows + k, columns))
    if count == 0:
        return full((*lead, 0), x.dtype.type(0)) if x.dtype not in dt.KEYS else reshape(x, (*lead, rows * columns))[..., :0]
    # Neighbours on the diagonal are columns + 1 apart in the flattened matrix.
    start = k if k >= 0 else -k * columns
    flat = reshape(x, (*lead, rows * columns))
    return ops.slice_(
        flat,
        start_indices=(0,) * len(lead) + (start,),
        limit_indices=(*lead, start + (count - 1) * (columns + 1) + 1),
        strides=(1,) * len(lead) + (columns + 1,),
    )


def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None) -> Any:
    """The sum of the diagonal `offset` of the two axes; dtype as in `fnp.sum`. Raises ShapeError below two axes.

    >>> fnp.trace(fnp.arange(9).reshape(3, 3))
    Array(12, dtype=int64)
    """
    check_unsupported("trace", out=out)
    return sum_(diagonal(a, offset, axis1, axis2), -1, dtype)


def diag(v: Any, k: Any = 0) -> Any:
    """Of a vector the matrix with it on the diagonal `k`; of a matrix its diagonal `k`. Raises ShapeError for other ranks.

    >>> fnp.diag(fnp.array([1, 2]), 1)
    Array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]], dtype=int64)
    >>> fnp.diag(fnp.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int64)
    """
    x = as_value(v, "diag", "v")
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ShapeError(message(f"fnp.diag: got {x.aval.str_short()}", "a vector or a matrix", "fnp.diagonal, fnp.diagflat"))
    off = static_int(k, "diag", "k")
    n = x.shape[0]
    size = n + abs(off)
    if n == 0:
        return full((size, size), x.dtype.type(0))
    # The vector with `size` zeros after each element is the diagonal of a flattened matrix, the last row cut short.
    row, column = (0, off) if off >= 0 else (-off, 0)
    before = row * size + column
    spread = n + (n - 1) * size
    flat = ops.pad(x, x.dtype.type(0), padding_config=((before, size * size - before - spread, size),))
    return reshape(flat, (size, size))


def diagflat(v: Any, k: Any = 0) -> Any:
    """The matrix with the flattened elements of v on the diagonal `k`.

    >>> fnp.diagflat(fnp.array([[1, 2]]))
    Array([[1, 0],
           [0, 2]], dtype=int64)
    """
    return diag(ravel(as_value(v, "diagflat", "v")), k)
