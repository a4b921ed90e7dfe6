"""Linear algebra that LAPACK does: factorisations, equations, determinants, and what is made of them. Seen as `fnp.linalg`.

Matrices are in the last two axes, the axes before are a batch. bool and integers become the default float. Singular or undefined
outcomes are NaN, not errors, so that they can be handled in compiled code. Derivatives are exact to any order; those of
decompositions with repeated values are finite for what does not depend on the choice of the vectors.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import static_int, static_ints, title
from funcgrad.numpy._promote import as_value, broadcast_shapes_of, broadcast_value, cast, common_inexact, operand
from funcgrad.numpy.reductions import any as any_
from funcgrad.numpy.reductions import max as max_
from funcgrad.numpy.reductions import sum as sum_
from funcgrad.numpy.sorting import argsort
from funcgrad.ops import _matrix as mx
from funcgrad.ops import elementwise as ew
from funcgrad.ops import linalg as ops
from funcgrad.ops._family import like
from funcgrad.ops.shape import expand_dims, reshape, squeeze, transpose
from funcgrad.ops.sort import take_along

__all__ = [
    "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matrix_rank", "pinv", "qr", "slogdet",
    "solve", "svd", "svdvals", "tensorinv", "tensorsolve",
]  # fmt: skip


class QRResult(NamedTuple):
    Q: Any
    R: Any


class SVDResult(NamedTuple):
    U: Any
    S: Any
    Vh: Any


class EighResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class SlogdetResult(NamedTuple):
    sign: Any
    logabsdet: Any


def matrices(a: Any, name: str, arg: str = "a", square: bool = False) -> Any:
    """`a` as a batch of matrices of an inexact dtype; ShapeError names the function."""
    x = as_value(common_inexact(operand(a, name, arg))[0], name, arg)
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        raise ShapeError(
            message(
                f"{title(name)}: got {x.aval.str_short()} for {arg}",
                f"{'square ' if square else ''}matrices in the last two axes",
                f"{arg}[None] to add an axis, or fnp.linalg.lstsq and pinv for matrices that are not square",
            )
        )
    return x


def symmetrized(x: Any) -> Any:
    """(x + x^H) / 2."""
    return ew.mul(ew.add(x, mx.h(x)), like(x, 0.5))


def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """The lower triangular L with A = L L^H, of Hermitian positive definite A; NaN where it is not positive definite.

    Args: upper: give L^H. symmetrize_input: take (A + A^H) / 2; otherwise only the lower (with upper: the upper) triangle is
    read.

    >>> fnp.linalg.cholesky(fnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    x = matrices(a, "linalg.cholesky", square=True)
    x = symmetrized(x) if symmetrize_input else mx.h(x) if upper else x
    out = ops.cholesky(x)
    return mx.h(out) if upper else out


def qr(a: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and upper triangular R, A = Q R.

    Args: a: (..., M, N). mode: "reduced" (Q: M x K, K = min(M, N)), "complete" (Q: M x M), "r" (R alone), as in NumPy.
    Returns: the pair (Q, R).

    >>> q, r = fnp.linalg.qr(fnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> fnp.round(q @ r, 5)
    Array([[3., 1.],
           [4., 2.]], dtype=float32)
    >>> fnp.round(abs(r), 5)
    Array([[5. , 2.2],
           [0. , 0.4]], dtype=float32)
    """
    x = matrices(a, "linalg.qr")
    if mode not in ("reduced", "complete", "r", "full"):
        raise UsageError(message(f"fnp.linalg.qr: got mode={mode!r}", "'reduced', 'complete', 'r'", "mode='reduced'"))
    q, r = ops.qr(x, full_matrices=mode in ("complete", "full"))
    return r if mode == "r" else QRResult(q, r)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False, subset_by_index: Any = None) -> Any:
    """U, the singular values in descending order, and V^H, with A = U S V^H; the values alone without compute_uv.

    Args: a: (..., M, N). full_matrices: square U and V. hermitian: A is Hermitian, which is cheaper. subset_by_index: (start,
    stop) of the values to give, with full_matrices=False.

    >>> u, s, vh = fnp.linalg.svd(fnp.array([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]]), full_matrices=False)
    >>> u.shape, s, vh.shape
    ((3, 2), Array([3., 2.], dtype=float32), (2, 2))
    """
    x = matrices(a, "linalg.svd", square=hermitian)
    if subset_by_index is not None and full_matrices and compute_uv and x.shape[-1] != x.shape[-2]:
        raise UsageError(
            message("fnp.linalg.svd: got subset_by_index and full_matrices=True", "one of the two", "full_matrices=False")
        )
    if not hermitian:
        out = ops.svd(x, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv))
    else:
        w, v = ops.eigh(symmetrized(x), compute_v=True)
        size = ew.abs(w)
        order = argsort(size, descending=True)
        s = take_along(size, order, size.ndim - 1)
        if compute_uv:
            places = broadcast_value(expand_dims(order, dimensions=(order.ndim - 1,)), v.shape)
            signs = ew.select_n(ew.lt(w, like(w, 0)), like(w, 1), like(w, -1))
            u = take_along(v, places, v.ndim - 1)
            vh = mx.h(take_along(ew.mul(v, cast(mx.columns(signs, v.shape), v.dtype)), places, v.ndim - 1))
        out = [u, s, vh] if compute_uv else [s]
    if subset_by_index is not None:
        start, stop = static_ints(subset_by_index, "linalg.svd", "subset_by_index")
        if not compute_uv:
            return out[0][..., start:stop]
        u, s, vh = out
        return SVDResult(u[..., start:stop], s[..., start:stop], vh[..., start:stop, :])
    return SVDResult(*out) if compute_uv else out[0]


def svdvals(x: Any, /) -> Any:
    """The singular values, in descending order: (..., min(M, N)) of matrices (..., M, N).

    >>> fnp.linalg.svdvals(fnp.array([[0.0, 2.0], [3.0, 0.0]]))
    Array([3., 2.], dtype=float32)
    """
    return svd(x, full_matrices=False, compute_uv=False)


def _lower(UPLO: Any, name: str) -> bool:
    if UPLO not in (None, "L", "U", "l", "u"):
        raise UsageError(message(f"fnp.{name}: got UPLO={UPLO!r}", "'L' or 'U'", "UPLO='L'"))
    return UPLO not in ("U", "u")


def _hermitian(a: Any, UPLO: Any, symmetrize_input: bool, name: str) -> Any:
    x = matrices(a, name, square=True)
    lower = _lower(UPLO, name)
    return symmetrized(x) if symmetrize_input else x if lower else mx.h(x)


def eigh(a: Any, UPLO: Any = None, symmetrize_input: bool = True) -> Any:
    """Eigenvalues in ascending order, and orthonormal eigenvectors (columns), of Hermitian matrices.

    Args: UPLO: "L" or "U", the triangle that is read where symmetrize_input is False; otherwise (A + A^H) / 2 is taken.

    >>> w, v = fnp.linalg.eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> w
    Array([1., 3.], dtype=float64)
    >>> fnp.allclose(v @ fnp.diag(w) @ v.T, np.array([[2.0, 1.0], [1.0, 2.0]]))
    Array(True, dtype=bool)
    """
    return EighResult(*ops.eigh(_hermitian(a, UPLO, symmetrize_input, "linalg.eigh"), compute_v=True))


def eigvalsh(a: Any, UPLO: Any = "L", *, symmetrize_input: bool = True) -> Any:
    """The eigenvalues of `eigh`, with its arguments.

    >>> fnp.linalg.eigvalsh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    Array([1., 3.], dtype=float64)
    """
    return ops.eigh(_hermitian(a, UPLO, symmetrize_input, "linalg.eigvalsh"), compute_v=False)[0]


def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors (columns of length 1) of square matrices, always complex, in no order.

    >>> w, v = fnp.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    >>> w
    Array([0.+1.j, 0.-1.j], dtype=complex128)
    """
    return EigResult(*ops.eig(matrices(a, "linalg.eig", square=True), compute_v=True))


def eigvals(a: Any) -> Any:
    """The eigenvalues of square matrices, always complex, in no order.

    >>> fnp.linalg.eigvals(np.array([[3.0, 1.0], [0.0, 2.0]]))
    Array([3.+0.j, 2.+0.j], dtype=complex128)
    """
    return ops.eig(matrices(a, "linalg.eigvals", square=True), compute_v=False)[0]


# --- equations and determinants ---------------------------------------------------------------------------------------------


def solve(a: Any, b: Any) -> Any:
    """x with a x = b, for square a. b is a vector (where it has one axis), or matrices whose batch broadcasts with that of a.

    Raises: ShapeError where the rows differ. A singular matrix gives inf or NaN.

    >>> fnp.linalg.solve(fnp.array([[2.0, 0.0], [0.0, 4.0]]), fnp.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    x, y = common_inexact(operand(a, "linalg.solve", "a"), operand(b, "linalg.solve", "b"))
    x, y = matrices(x, "linalg.solve", square=True), as_value(y, "linalg.solve", "b")
    vector = y.ndim == 1
    y = expand_dims(y, dimensions=(1,)) if vector else y
    if y.ndim < 2 or y.shape[-2] != x.shape[-1]:
        raise ShapeError(
            message(
                f"fnp.linalg.solve: got {x.aval.str_short()} and {as_value(b, 'linalg.solve').aval.str_short()}",
                "a right side with as many rows as a has",
                "b[..., None] for a batch of vectors",
            )
        )
    if not x.shape[:-2] and y.ndim > 2:  # one matrix: all right sides are columns
        lead, k = y.shape[:-2], y.shape[-1]
        order = (y.ndim - 2, *range(y.ndim - 2), y.ndim - 1)
        flat = reshape(transpose(y, permutation=order), shape=(x.shape[-1], math.prod(lead) * k))
        out = reshape(ops.linear_solve(x, flat), shape=(x.shape[-1], *lead, k))
        return transpose(out, permutation=(*range(1, y.ndim - 1), 0, y.ndim - 1))
    batch = broadcast_shapes_of([x.shape[:-2], y.shape[:-2]], "linalg.solve")
    out = ops.linear_solve(broadcast_value(x, (*batch, *x.shape[-2:])), broadcast_value(y, (*batch, *y.shape[-2:])))
    return squeeze(out, dimensions=(out.ndim - 1,)) if vector else out


def inv(a: Any) -> Any:
    """The inverse of square matrices; NaN where a matrix is singular. `solve(a, b)` is cheaper and better than `inv(a) @ b`.

    >>> fnp.linalg.inv(fnp.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    x = matrices(a, "linalg.inv", square=True)
    return ops.linear_solve(x, mx.identity(x.shape, x.dtype))


def det(a: Any) -> Any:
    """The determinant of square matrices. Its derivative is exact where it is 0, too.

    >>> fnp.linalg.det(fnp.array([[1.0, 2.0], [3.0, 5.0]]))
    Array(-1., dtype=float32)
    >>> fg.grad(fnp.linalg.det)(fnp.array([[1.0, 0.0], [0.0, 0.0]]))
    Array([[0., 0.],
           [0., 1.]], dtype=float32)
    """
    return ops.det(matrices(a, "linalg.det", square=True))


def slogdet(a: Any, *, method: Any = None) -> Any:
    """The sign (of complex matrices the phase) of the determinant, and the logarithm of its size.

    method: None or "lu" (what is done), or "qr", which gives the same.

    >>> fnp.linalg.slogdet(1e20 * fnp.eye(3))
    SlogdetResult(sign=Array(1., dtype=float32), logabsdet=Array(138.1551, dtype=float32))
    """
    if method not in (None, "lu", "qr"):
        raise UsageError(message(f"fnp.linalg.slogdet: got method={method!r}", "None, 'lu', 'qr'", "method=None"))
    return SlogdetResult(*ops.slogdet(matrices(a, "linalg.slogdet", square=True)))


def _cutoff(rtol: Any, shape: tuple[int, ...], dtype: np.dtype, factor: float, name: str) -> Any:
    """A relative cutoff of singular values, with an axis for them."""
    if rtol is None:
        return dtype.type(factor * max(shape[-2:]) * np.finfo(dtype).eps)
    r = cast(operand(rtol, name, "rtol"), dtype)
    return expand_dims(r, dimensions=(r.ndim,)) if getattr(r, "ndim", 0) else r


def _kept(s: Any, cutoff: Any) -> Any:
    """Which singular values are above the cutoff times the largest."""
    if s.shape[-1] == 0:
        return ew.gt(s, like(s, 0))
    limit = max_(s, -1, keepdims=True) * cutoff
    return ew.gt(s, broadcast_value(limit, s.shape))


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """The pseudo-inverse: singular values below rtol times the largest count as zero (10 max(M, N) eps by default, as in JAX).

    Args: a: (..., M, N). hermitian: A is Hermitian. rcond: another name of rtol. Returns: (..., N, M).

    >>> fnp.linalg.pinv(fnp.array([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]))
    Array([[0.5, 0. , 0. ],
           [0. , 0. , 0. ]], dtype=float32)
    """
    if rtol is not None and rcond is not None:
        raise UsageError(message("fnp.linalg.pinv: got rtol and rcond", "one of them: they mean the same", "rtol=1e-6"))
    x = matrices(a, "linalg.pinv", square=hermitian)
    u, s, vh = svd(x, full_matrices=False, hermitian=hermitian)
    keep = _kept(s, _cutoff(rcond if rtol is None else rtol, x.shape, s.dtype, 10, "linalg.pinv"))
    inverse = mx.inverse_unless(ew.not_(keep), s)
    v = mx.h(vh)
    return mx.mm(ew.mul(v, cast(mx.columns(inverse, v.shape), v.dtype)), mx.h(u))


def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:
    """How many singular values are above rtol times the largest (max(M, N) eps by default), or above `tol`; int64.

    >>> fnp.linalg.matrix_rank(fnp.array([[1.0, 2.0], [2.0, 4.0]]))
    Array(1, dtype=int64)
    """
    x = as_value(common_inexact(operand(M, "linalg.matrix_rank", "M"))[0], "linalg.matrix_rank", "M")
    if x.ndim < 2:
        return cast(any_(ew.ne(x, like(x, 0))), dt.int64)
    s = svd(x, compute_uv=False, full_matrices=False, hermitian=hermitian)
    if tol is not None:
        keep = s > _cutoff(tol, x.shape, s.dtype, 1, "linalg.matrix_rank")
    else:
        keep = _kept(s, _cutoff(rtol, x.shape, s.dtype, 1, "linalg.matrix_rank"))
    return sum_(cast(keep, dt.int64), -1)


def lstsq(a: Any, b: Any, rcond: Any = None, *, numpy_resid: bool = False) -> tuple[Any, Any, Any, Any]:
    """The least-squares solution of a x = b (that of least norm, where there are several).

    Args: a: M x N. b: M, or M x K. rcond: singular values below rcond times the largest count as zero (max(M, N) eps by
    default).
    Returns: x; the sums of squared residuals of the columns (numpy_resid: empty where the rank is below N or M <= N, as in
    NumPy, which needs the rank to be known); the rank; the singular values.

    >>> x, residual, rank, s = fnp.linalg.lstsq(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 3.0, 5.0]))
    >>> fnp.round(x, 6), rank
    (Array([1., 2.], dtype=float64), Array(2, dtype=int64))
    """
    x, y = common_inexact(operand(a, "linalg.lstsq", "a"), operand(b, "linalg.lstsq", "b"))
    x, y = matrices(x, "linalg.lstsq"), as_value(y, "linalg.lstsq", "b")
    if x.ndim != 2 or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise ShapeError(
            message(
                f"fnp.linalg.lstsq: got {x.aval.str_short()} and {y.aval.str_short()}",
                "a matrix, and a vector or matrix with as many rows",
                "fg.vmap(fnp.linalg.lstsq) for batches",
            )
        )
    vector = y.ndim == 1
    y = expand_dims(y, dimensions=(1,)) if vector else y
    u, s, vh = ops.svd(x, full_matrices=False, compute_uv=True)
    keep = _kept(s, _cutoff(rcond, x.shape, s.dtype, 1, "linalg.lstsq"))
    inverse = mx.inverse_unless(ew.not_(keep), s)
    parts = mx.mm(mx.h(u), y)
    out = mx.mm(mx.h(vh), ew.mul(parts, cast(mx.rows(inverse, parts.shape), parts.dtype)))
    rank = sum_(cast(keep, dt.int64))
    difference = ew.sub(y, mx.mm(x, out))
    squares = ew.square(ew.abs(difference)) if difference.dtype in dt.COMPLEXES else ew.square(difference)
    residuals = sum_(squares, 0)
    if numpy_resid and (x.shape[0] <= x.shape[1] or static_int(rank, "linalg.lstsq", "rank") < x.shape[1]):
        residuals = residuals[:0]
    elif vector and not numpy_resid:
        residuals = squeeze(residuals, dimensions=(0,))
    return (squeeze(out, dimensions=(1,)) if vector else out), residuals, rank, s


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of `a` as a map from its last axes to its first `ind`: tensordot(tensorinv(a), a, ind) is the identity.

    >>> fnp.linalg.tensorinv(2 * fnp.eye(6).reshape(2, 3, 6), ind=2).shape
    (6, 2, 3)
    """
    x = as_value(a, "linalg.tensorinv")
    k = static_int(ind, "linalg.tensorinv", "ind")
    if k <= 0:
        raise UsageError(message(f"fnp.linalg.tensorinv: got ind={k}", "1 or more", "ind=2"))
    first, last = x.shape[:k], x.shape[k:]
    return reshape(inv(reshape(x, shape=(math.prod(first), math.prod(last)))), shape=(*last, *first))


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """x with tensordot(a, x, x.ndim) = b. axes: those of `a` that are moved to its end first.

    >>> fnp.linalg.tensorsolve(2 * fnp.eye(4).reshape(2, 2, 4), fnp.array([[2.0, 4.0], [6.0, 8.0]]))
    Array([1., 2., 3., 4.], dtype=float32)
    """
    x, y = as_value(a, "linalg.tensorsolve"), as_value(b, "linalg.tensorsolve", "b")
    if axes is not None:
        moved = [i % x.ndim for i in static_ints(axes, "linalg.tensorsolve", "axes")]
        x = transpose(x, permutation=(*[i for i in range(x.ndim) if i not in moved], *moved))
    shape = x.shape[y.ndim :]
    if math.prod(shape) != y.size:
        raise ShapeError(
            message(
                f"fnp.linalg.tensorsolve: got {x.aval.str_short()} and {y.aval.str_short()}",
                "as many unknowns (the axes of a after those of b) as b has elements",
                "check the shapes",
            )
        )
    out = solve(reshape(x, shape=(y.size, math.prod(shape))), reshape(y, shape=(y.size,)))
    return reshape(out, shape=shape)
