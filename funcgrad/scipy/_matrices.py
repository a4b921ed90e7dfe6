"""Matrices of a given structure, as in `scipy.linalg`: from vectors (differentiable), or from a size alone."""

from typing import Any

import numpy as np
import scipy.linalg

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import extent, static_int
from funcgrad.numpy._promote import as_value, cast, common_dtype, common_inexact, operand
from funcgrad.numpy.creation import array
from funcgrad.numpy.elementwise import divide, negative
from funcgrad.numpy.filled import zeros
from funcgrad.numpy.join import concatenate
from funcgrad.ops import _matrix as mx
from funcgrad.ops._family import like
from funcgrad.ops.shape import pad

__all__ = [
    "block_diag", "circulant", "companion", "convolution_matrix", "dft", "fiedler", "fiedler_companion", "hadamard", "hankel",
    "helmert", "hilbert", "invhilbert", "invpascal", "leslie", "pascal", "toeplitz",
]  # fmt: skip


def vector(x: Any, name: str, arg: str, least: int = 0) -> Any:
    v = as_value(operand(x, f"scipy.linalg.{name}", arg), f"scipy.linalg.{name}", arg)
    if v.ndim != 1 or v.shape[0] < least:
        wanted = f"a vector of {least} or more elements" if least else "a vector"
        raise ShapeError(message(f"scipy.linalg.{name}: got {v.aval.str_short()} for {arg}", wanted, f"{arg}.ravel()"))
    return v


def _side(n: Any, name: str) -> int:
    """The side of a square matrix that SciPy makes."""
    side = extent(n, name, "n")
    if side > _MOST_SIDE:
        raise UsageError(message(f"{name}: got n={n}", f"0 to {_MOST_SIDE}: there are n * n numbers", "n=8"))
    return side


_MOST_SIDE = 2**22


def _grid(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(rows)[:, None], np.arange(columns)[None, :]


def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with constant diagonals whose first column is c and first row r (r[0] is not used; conj(c) by default).

    >>> from funcgrad.scipy import linalg
    >>> linalg.toeplitz(fnp.array([1, 2, 3]), fnp.array([0, 8, 9]))
    Array([[1, 8, 9],
           [2, 1, 8],
           [3, 2, 1]], dtype=int64)
    """
    column = vector(c, "toeplitz", "c")
    row = mx.conj(column) if r is None else vector(r, "toeplitz", "r")
    column, row = common_dtype(column, row)
    i, j = _grid(column.shape[0], row.shape[0])
    return concatenate([row[1:][::-1], column])[i - j + max(row.shape[0] - 1, 0)]


def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with constant antidiagonals whose first column is c and last row r (r[0] is not used; zeros by default).

    >>> from funcgrad.scipy import linalg
    >>> linalg.hankel(fnp.array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 3, 0],
           [3, 0, 0]], dtype=int64)
    """
    column = vector(c, "hankel", "c")
    row = zeros(column.shape, column.dtype) if r is None else vector(r, "hankel", "r")
    column, row = common_dtype(column, row)
    i, j = _grid(column.shape[0], row.shape[0])
    return concatenate([column, row[1:]])[i + j]


def circulant(c: Any) -> Any:
    """The matrix whose columns are c, each turned by one more place.

    >>> from funcgrad.scipy import linalg
    >>> linalg.circulant(fnp.array([1, 2, 3]))
    Array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]], dtype=int64)
    """
    v = vector(c, "circulant", "c", 1)
    i, j = _grid(v.shape[0], v.shape[0])
    return v[(i - j) % v.shape[0]]


def companion(a: Any) -> Any:
    """The companion matrix of the polynomial with coefficients a, the highest first; its eigenvalues are the roots.

    >>> from funcgrad.scipy import linalg
    >>> linalg.companion(fnp.array([1.0, -6.0, 11.0, -6.0]))  # (x - 1) (x - 2) (x - 3)
    Array([[  6., -11.,   6.],
           [  1.,   0.,   0.],
           [  0.,   1.,   0.]], dtype=float32)
    """
    v = vector(common_inexact(operand(a, "scipy.linalg.companion", "a"))[0], "companion", "a", 2)
    n = v.shape[0] - 1
    out = array(np.eye(n, k=-1, dtype=v.dtype))
    return out.at[0].set(negative(divide(v[1:], v[0])))


def leslie(f: Any, s: Any) -> Any:
    """The Leslie matrix of fecundities f (the first row) and survival coefficients s (below the diagonal).

    >>> from funcgrad.scipy import linalg
    >>> linalg.leslie(fnp.array([0.0, 1.5, 1.0]), fnp.array([0.5, 0.25]))
    Array([[0.  , 1.5 , 1.  ],
           [0.5 , 0.  , 0.  ],
           [0.  , 0.25, 0.  ]], dtype=float32)
    """
    x, y = common_dtype(vector(f, "leslie", "f", 2), vector(s, "leslie", "s", 1))
    n = x.shape[0]
    if y.shape[0] != n - 1:
        raise ShapeError(message(f"scipy.linalg.leslie: got {n} and {y.shape[0]} elements", "one less in s", "s[:-1]"))
    return zeros((n, n), x.dtype).at[0].set(x).at[np.arange(1, n), np.arange(n - 1)].set(y)


def fiedler(a: Any) -> Any:
    """The symmetric matrix of |a[i] - a[j]|.

    >>> from funcgrad.scipy import linalg
    >>> linalg.fiedler(fnp.array([1, 4, 9]))
    Array([[0, 3, 8],
           [3, 0, 5],
           [8, 5, 0]], dtype=int64)
    """
    v = vector(a, "fiedler", "a")
    return abs(v[:, None] - v[None, :])


def fiedler_companion(a: Any) -> Any:
    """A pentadiagonal matrix with the eigenvalues of `companion(a)`.

    >>> from funcgrad.scipy import linalg
    >>> linalg.fiedler_companion(fnp.array([1.0, -6.0, 11.0, -6.0]))
    Array([[  6., -11.,   1.],
           [  1.,   0.,   0.],
           [  0.,   6.,   0.]], dtype=float32)
    """
    v = vector(common_inexact(operand(a, "scipy.linalg.fiedler_companion", "a"))[0], "fiedler_companion", "a", 2)
    v = divide(v, v[0])
    n = v.shape[0] - 1
    if n == 1:
        return negative(v[1:])[:, None]
    out = zeros((n, n), v.dtype).at[0, 0].set(negative(v[1])).at[1, 0].set(1)
    out = out.at[np.arange(3, n, 2), np.arange(1, n - 2, 2)].set(1)
    out = out.at[np.arange(2, n, 2), np.arange(1, n - 1, 2)].set(negative(v[3::2]))
    out = out.at[np.arange(0, n - 2, 2), np.arange(2, n, 2)].set(1)
    return out.at[np.arange(0, n - 1, 2), np.arange(1, n, 2)].set(negative(v[2::2]))


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrix A with A @ v = convolve(a, v, mode) for v of n elements.

    >>> from funcgrad.scipy import linalg
    >>> m = linalg.convolution_matrix(fnp.array([1, 10]), 3)
    >>> m @ fnp.array([1, 2, 3]), fnp.convolve(fnp.array([1, 10]), fnp.array([1, 2, 3]))
    (Array([ 1, 12, 23, 30], dtype=int64), Array([ 1, 12, 23, 30], dtype=int64))
    """
    v, count = vector(a, "convolution_matrix", "a", 1), extent(n, "scipy.linalg.convolution_matrix", "n")
    if not among(mode, ("full", "same", "valid")) or count < 1:
        raise UsageError(
            message(
                f"scipy.linalg.convolution_matrix: got n={n}, mode={mode!r}", "n >= 1; 'full', 'same', 'valid'", "mode='full'"
            )
        )
    m = v.shape[0]
    trim = 0 if mode == "full" else min(count, m) - 1
    before, after = (trim // 2, trim - trim // 2) if mode == "same" else (trim, trim)
    i, j = _grid(m + count - 1, count)
    places = np.where((i - j >= 0) & (i - j < m), i - j, m)[before : m + count - 1 - after]
    return pad(v, like(v, 0), padding_config=((0, 1, 0),))[places]


def block_diag(*arrs: Any) -> Any:
    """The matrix with these blocks on its diagonal (vectors are rows, scalars 1 x 1) and 0 elsewhere.

    >>> from funcgrad.scipy import linalg
    >>> linalg.block_diag(fnp.array([[1, 2], [3, 4]]), 5)
    Array([[1, 2, 0],
           [3, 4, 0],
           [0, 0, 5]], dtype=int64)
    """
    blocks = common_dtype(
        *[as_value(operand(a, "scipy.linalg.block_diag", f"arrs[{i}]"), "scipy.linalg.block_diag") for i, a in enumerate(arrs)]
    )
    if any([b.ndim > 2 for b in blocks]):
        raise ShapeError(
            message("scipy.linalg.block_diag: got an array of more than two axes", "matrices", "fg.vmap for batches")
        )
    blocks = [b.reshape((1,) * (2 - b.ndim) + b.shape) for b in blocks] or [zeros((1, 0))]
    width, start, rows = sum(b.shape[1] for b in blocks), 0, []
    for b in blocks:
        rows.append(pad(b, like(b, 0), padding_config=((0, 0, 0), (start, width - start - b.shape[1], 0))))
        start += b.shape[1]
    return concatenate(rows)


# --- of a size ------------------------------------------------------------------------------------------------------------


def _known(x: np.ndarray) -> Any:
    """A matrix of numbers; floats in the default float."""
    return array(x, dtype=dt.default_float() if x.dtype.kind == "f" else None)


def hilbert(n: int) -> Any:
    """The matrix of 1 / (i + j + 1), in the default float.

    >>> from funcgrad.scipy import linalg
    >>> linalg.hilbert(2)
    Array([[1.        , 0.5       ],
           [0.5       , 0.33333334]], dtype=float32)
    """
    return _known(scipy.linalg.hilbert(_side(n, "scipy.linalg.hilbert")))


def invhilbert(n: int) -> Any:
    """The inverse of `hilbert`, whose elements are whole numbers, in the default float.

    >>> from funcgrad.scipy import linalg
    >>> linalg.invhilbert(2)
    Array([[ 4., -6.],
           [-6., 12.]], dtype=float32)
    """
    return _known(scipy.linalg.invhilbert(_side(n, "scipy.linalg.invhilbert")))


def helmert(n: int, full: bool = False) -> Any:
    """The Helmert matrix, whose rows are orthonormal, in the default float; without its first row, the mean, unless full.

    >>> from funcgrad.scipy import linalg
    >>> linalg.helmert(3)
    Array([[ 0.70710677, -0.70710677,  0.        ],
           [ 0.4082483 ,  0.4082483 , -0.8164966 ]], dtype=float32)
    """
    return _known(scipy.linalg.helmert(_side(n, "scipy.linalg.helmert"), flag(full, "scipy.linalg.helmert", "full")))


def hadamard(n: int, dtype: Any = int) -> Any:
    """Sylvester's Hadamard matrix, of 1 and -1 in rows that are orthogonal; n is a power of 2.

    >>> from funcgrad.scipy import linalg
    >>> linalg.hadamard(4)
    Array([[ 1,  1,  1,  1],
           [ 1, -1,  1, -1],
           [ 1,  1, -1, -1],
           [ 1, -1, -1,  1]], dtype=int64)
    """
    count = static_int(n, "scipy.linalg.hadamard", "n")
    if count < 1 or count & (count - 1):
        raise UsageError(message(f"scipy.linalg.hadamard: got n={count}", "a power of 2", f"n={2 ** max(count, 1).bit_length()}"))
    return array(scipy.linalg.hadamard(count), dtype=dtype)


def pascal(n: int, kind: Any = None) -> Any:
    """The matrix of binomial coefficients: "symmetric" (None), "lower" or "upper". OverflowError where they are too large.

    >>> from funcgrad.scipy import linalg
    >>> linalg.pascal(4)
    Array([[ 1,  1,  1,  1],
           [ 1,  2,  3,  4],
           [ 1,  3,  6, 10],
           [ 1,  4, 10, 20]], dtype=uint64)
    """
    return _integers(scipy.linalg.pascal(_side(n, "scipy.linalg.pascal"), _kind("pascal", kind)))


def invpascal(n: int, kind: Any = None) -> Any:
    """The inverse of `pascal`, of this kind.

    >>> from funcgrad.scipy import linalg
    >>> linalg.invpascal(3)
    Array([[ 3, -3,  1],
           [-3,  5, -2],
           [ 1, -2,  1]], dtype=int64)
    """
    return _integers(scipy.linalg.invpascal(_side(n, "scipy.linalg.invpascal"), _kind("invpascal", kind)))


def _kind(name: str, kind: Any) -> str:
    if kind is not None and (not isinstance(kind, str) or kind not in ("symmetric", "lower", "upper")):
        raise UsageError(message(f"scipy.linalg.{name}: got kind={kind!r}", "'symmetric', 'lower', 'upper'", "kind='lower'"))
    return kind or "symmetric"


def _integers(x: np.ndarray) -> Any:
    return array(x.astype(np.int64) if x.dtype == object else x)


def dft(n: int, scale: Any = None, *, dtype: Any = None) -> Any:
    """The matrix of the discrete Fourier transform; scale: None, "sqrtn" or "n" (what it is divided by). dtype: complex64 without
    one.

    >>> from funcgrad.scipy import linalg
    >>> fnp.allclose(linalg.dft(4) @ np.arange(4.0), fnp.fft.fft(np.arange(4.0)), atol=1e-5).item()
    True
    >>> linalg.dft(2, "n", dtype=np.complex128).real
    Array([[ 0.5,  0.5],
           [ 0.5, -0.5]], dtype=float64)
    """
    if not among(scale, (None, "sqrtn", "n")):
        raise UsageError(message(f"scipy.linalg.dft: got scale={scale!r}", "None, 'sqrtn', 'n'", "scale='sqrtn'"))
    found = scipy.linalg.dft(_side(n, "scipy.linalg.dft"), scale)
    return cast(array(found), dt.default_complex() if dtype is None else dt.canonical(dtype))
