"""Matrices by their diagonals: eye, identity, tri, tril, triu, the indices of triangles and diagonals, vander."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.aval import check_size, shaped
from funcgrad.core.errors import ShapeError, UsageError, describe, message
from funcgrad.numpy._axes import extent, fitting, static_int, steps
from funcgrad.numpy._promote import (
    as_value,
    broadcast_value,
    cast,
)
from funcgrad.numpy.creation import check_device
from funcgrad.numpy.filled import ones
from funcgrad.numpy.join import concatenate, stack
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full as fill
from funcgrad.ops.cumulative import cumprod
from funcgrad.ops.shape import expand_dims, iota, rev

__all__ = [
    "diag_indices", "diag_indices_from", "eye", "identity", "mask_indices", "tri", "tril", "tril_indices",
    "tril_indices_from", "triu", "triu_indices", "triu_indices_from", "vander",
]  # fmt: skip


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """Ones on the diagonal `k` of an N x M matrix (M = N where it is left out); dtype float32 without one.

    Args: N, M: integers, known while tracing. k: 0 is the main diagonal, 1 the one above it, -1 the one below.

    >>> fnp.eye(3, dtype=int)
    Array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 1]], dtype=int64)
    >>> fnp.eye(2, 3, k=1)
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    check_device("eye", device)
    n = extent(N, "eye", "N")
    m = n if M is None else extent(M, "eye", "M")
    return cast(
        _diagonal_mask((n, m), static_int(k, "eye", "k"), ew.eq), dt.default_float() if dtype is None else dt.canonical(dtype)
    )


def identity(n: Any, dtype: Any = None) -> Any:
    """The n x n identity matrix; dtype float32 without one.

    >>> fnp.identity(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return eye(n, dtype=dtype)


def _diagonal_mask(shape: tuple[int, ...], k: int, compare: Callable[..., Any]) -> Any:
    """compare(column, row + k) over the last two axes."""
    check_size("a matrix of 0 and 1", [shaped(shape, dt.bool_)])
    k = max(-shape[-2], min(k, shape[-1]))  # beyond the corners nothing changes
    rows = iota(dtype=dt.int64, shape=shape, dimension=len(shape) - 2)
    columns = iota(dtype=dt.int64, shape=shape, dimension=len(shape) - 1)
    return compare(columns, ew.add(rows, np.int64(k)) if k else rows)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    """Ones on and below the diagonal `k` of an N x M matrix (M = N where it is left out); dtype float32 without one.

    >>> fnp.tri(3, dtype=int)
    Array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]], dtype=int64)
    """
    n = extent(N, "tri", "N")
    m = n if M is None else extent(M, "tri", "M")
    return cast(
        _diagonal_mask((n, m), static_int(k, "tri", "k"), ew.le), dt.default_float() if dtype is None else dt.canonical(dtype)
    )


def _triangle(name: str, m: Any, k: Any, lower: bool) -> Any:
    x = as_value(m, name, "m")
    if x.ndim < 2:
        raise ShapeError(message(f"fnp.{name}: got {x.aval.str_short()}", "two or more axes", "x[None] to add an axis"))
    mask = _diagonal_mask(x.shape, static_int(k, name, "k"), ew.le if lower else ew.ge)
    return ew.select_n(mask, x.dtype.type(0), x)


def tril(m: Any, k: Any = 0) -> Any:
    """The last two axes with zeros above the diagonal `k`. Raises ShapeError below two axes.

    >>> fnp.tril(fnp.arange(1, 10).reshape(3, 3))
    Array([[1, 0, 0],
           [4, 5, 0],
           [7, 8, 9]], dtype=int64)
    >>> fnp.tril(fnp.ones((2, 2), int), -1)
    Array([[0, 0],
           [1, 0]], dtype=int64)
    """
    return _triangle("tril", m, k, True)


def triu(m: Any, k: Any = 0) -> Any:
    """The last two axes with zeros below the diagonal `k`. Raises ShapeError below two axes.

    >>> fnp.triu(fnp.arange(1, 10).reshape(3, 3))
    Array([[1, 2, 3],
           [0, 5, 6],
           [0, 0, 9]], dtype=int64)
    """
    return _triangle("triu", m, k, False)


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Any, Any]:
    """The row and column numbers of the lower triangle of an n x m matrix (m = n where it is left out), int64.

    Args: n, m: integers, known while tracing. k: the diagonal up to which it reaches, 0 for the main one.

    >>> fnp.tril_indices(2)
    (Array([0, 1, 1], dtype=int64), Array([0, 0, 1], dtype=int64))
    >>> fnp.arange(9).reshape(3, 3)[fnp.tril_indices(3, -1)]
    Array([3, 6, 7], dtype=int64)
    """
    i, j = np.tril_indices(
        fitting(static_int(n, "tril_indices", "n"), "tril_indices", "n"),
        fitting(static_int(k, "tril_indices", "k"), "tril_indices", "k"),
        None if m is None else fitting(static_int(m, "tril_indices", "m"), "tril_indices", "m"),
    )
    return from_numpy(i), from_numpy(j)


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Any, Any]:
    """The row and column numbers of the upper triangle of an n x m matrix (m = n where it is left out), int64.

    Args: n, m: integers, known while tracing. k: the diagonal from which it starts, 0 for the main one.

    >>> fnp.triu_indices(2)
    (Array([0, 0, 1], dtype=int64), Array([0, 1, 1], dtype=int64))
    >>> fnp.arange(9).reshape(3, 3)[fnp.triu_indices(3, 1)]
    Array([1, 2, 5], dtype=int64)
    """
    i, j = np.triu_indices(
        fitting(static_int(n, "triu_indices", "n"), "triu_indices", "n"),
        fitting(static_int(k, "triu_indices", "k"), "triu_indices", "k"),
        None if m is None else fitting(static_int(m, "triu_indices", "m"), "triu_indices", "m"),
    )
    return from_numpy(i), from_numpy(j)


def _matrix_shape(arr: Any, name: str) -> tuple[int, int]:
    x = as_value(arr, name, "arr")
    if x.ndim != 2:
        raise ShapeError(message(f"fnp.{name}: got {x.aval.str_short()}", "a matrix", "x.reshape(rows, columns)"))
    return x.shape  # type: ignore[return-value]


def tril_indices_from(arr: Any, k: Any = 0) -> tuple[Any, Any]:
    """`tril_indices` for the shape of a matrix. Raises ShapeError for other ranks.

    Args: k: the diagonal up to which it reaches, 0 for the main one.

    >>> fnp.tril_indices_from(fnp.ones((2, 3)))
    (Array([0, 1, 1], dtype=int64), Array([0, 0, 1], dtype=int64))
    """
    n, m = _matrix_shape(arr, "tril_indices_from")
    return tril_indices(n, k, m)


def triu_indices_from(arr: Any, k: Any = 0) -> tuple[Any, Any]:
    """`triu_indices` for the shape of a matrix. Raises ShapeError for other ranks.

    Args: k: the diagonal from which it starts, 0 for the main one.

    >>> fnp.triu_indices_from(fnp.ones((2, 3)))
    (Array([0, 0, 0, 1, 1], dtype=int64), Array([0, 1, 2, 1, 2], dtype=int64))
    """
    n, m = _matrix_shape(arr, "triu_indices_from")
    return triu_indices(n, k, m)


def mask_indices(n: Any, mask_func: Callable[..., Any], k: Any = 0, *, size: Any = None) -> tuple[Any, ...]:
    """Where `mask_func(ones((n, n)), k)` is not zero: the row and column numbers. size: cut, or filled with 0, to this length.

    >>> fnp.mask_indices(3, fnp.triu, 1)
    (Array([0, 0, 1], dtype=int64), Array([1, 2, 2], dtype=int64))
    """
    if not callable(mask_func):
        raise UsageError(message(f"fnp.mask_indices: got {describe(mask_func)}", "a function such as fnp.triu", "fnp.triu"))
    mask = np.asarray(mask_func(ones((n, n)), k))
    if mask.ndim != 2:
        raise UsageError(message(f"fnp.mask_indices: mask_func gave {describe(mask)}", "a matrix", "mask_func=fnp.triu"))
    found = np.nonzero(mask)
    if size is not None:
        s = extent(size, "mask_indices", "size")
        found = tuple([np.pad(i[:s], (0, max(0, s - i.size))) for i in found])
    return tuple([from_numpy(i) for i in found])


def diag_indices(n: Any, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array with `ndim` axes of extent n: a tuple of `ndim` int64 vectors.

    >>> fnp.zeros((3, 3), int).at[fnp.diag_indices(3)].set(fnp.array([1, 2, 3]))
    Array([[1, 0, 0],
           [0, 2, 0],
           [0, 0, 3]], dtype=int64)
    """
    count = extent(n, "diag_indices", "n")
    return (iota(dtype=dt.int64, shape=(count,), dimension=0),) * steps(ndim, "diag_indices", "ndim", most=64)


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """`diag_indices` for an array whose extents are all equal, with two or more axes. Raises ShapeError for others.

    >>> x = fnp.arange(9).reshape(3, 3)
    >>> x[fnp.diag_indices_from(x)]
    Array([0, 4, 8], dtype=int64)
    """
    x = as_value(arr, "diag_indices_from", "arr")
    if x.ndim < 2 or len(set(x.shape)) > 1:
        raise ShapeError(
            message(f"fnp.diag_indices_from: got {x.aval.str_short()}", "two or more axes of one extent", "fnp.diag_indices(n)")
        )
    return diag_indices(x.shape[0], x.ndim)


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """The Vandermonde matrix of a vector: column j is x to the power N - 1 - j (j with increasing=True).

    N: len(x) without one. Integers become int64.

    >>> fnp.vander(fnp.array([1, 2, 3]), 3)
    Array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]], dtype=int64)
    >>> fnp.vander(fnp.array([2, 3]), 3, increasing=True)
    Array([[1, 2, 4],
           [1, 3, 9]], dtype=int64)
    """
    v = as_value(x, "vander", "x")
    if v.ndim != 1:
        raise ShapeError(message(f"fnp.vander: got {v.aval.str_short()}", "a vector", "x.ravel()"))
    n = v.shape[0] if N is None else extent(N, "vander", "N")
    v = v if v.dtype in dt.INEXACT or v.dtype == dt.uint64 else cast(v, dt.int64)
    if n > 1000:  # too many to write them out
        ones_ = fill((v.shape[0], 1), v.dtype.type(1))
        rows = concatenate([ones_, broadcast_value(expand_dims(v, dimensions=(1,)), (v.shape[0], n - 1))], 1)
        rows = cumprod(rows, axis=1, reverse=False)
        return rows if flag(increasing, "fnp.vander", "increasing") else rev(rows, dimensions=(1,))
    powers = [ew.integer_pow(v, y=j) if j > 1 else (v if j else fill(v.shape, v.dtype.type(1))) for j in range(n)]
    columns = powers if flag(increasing, "fnp.vander", "increasing") else powers[::-1]
    return stack(columns, axis=1) if columns else fill((v.shape[0], 0), v.dtype.type(0))
