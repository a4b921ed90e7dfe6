"""Linear algebra that LAPACK does: factorisations and eigenvalues. Seen as `fnp.linalg`, with `_equations.py`.

Matrices are in the last two axes, the axes before are a batch. bool and integers become the default float. Singular or undefined
outcomes are NaN, not errors, so that they can be handled in compiled code. Derivatives are exact to any order; those of
decompositions with repeated values are finite for what does not depend on the choice of the vectors.
"""

from typing import Any, NamedTuple

from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import static_ints, title
from funcgrad.numpy._promote import as_value, broadcast_value, cast, common_inexact, operand
from funcgrad.numpy.sorting import argsort
from funcgrad.ops import _matrix as mx
from funcgrad.ops import elementwise as ew
from funcgrad.ops import linalg as ops
from funcgrad.ops._family import like
from funcgrad.ops.shape import expand_dims
from funcgrad.ops.sort import take_along

__all__ = [
    "cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals",
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
    x = (
        symmetrized(x)
        if flag(symmetrize_input, "fnp.linalg.cholesky", "symmetrize_input")
        else mx.h(x)
        if flag(upper, "fnp.linalg.cholesky", "upper")
        else x
    )
    out = ops.cholesky(x)
    return mx.h(out) if flag(upper, "fnp.linalg.cholesky", "upper") else out


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
    if not among(mode, ("reduced", "complete", "r", "full")):
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
    hermitian = flag(hermitian, "fnp.linalg.svd", "hermitian")
    x = matrices(a, "linalg.svd", square=hermitian)
    if subset_by_index is not None and full_matrices and compute_uv and x.shape[-1] != x.shape[-2]:
        raise UsageError(
            message("fnp.linalg.svd: got subset_by_index and full_matrices=True", "one of the two", "full_matrices=False")
        )
    if not hermitian:
        out = ops.svd(
            x,
            full_matrices=flag(full_matrices, "fnp.linalg.svd", "full_matrices"),
            compute_uv=flag(compute_uv, "fnp.linalg.svd", "compute_uv"),
        )
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
        ends = static_ints(subset_by_index, "linalg.svd", "subset_by_index")
        if len(ends) != 2:
            raise UsageError(
                message(f"linalg.svd: got subset_by_index={subset_by_index!r}", "(start, stop)", "subset_by_index=(0, 2)")
            )
        start, stop = ends
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
    if not among(UPLO, (None, "L", "U", "l", "u")):
        raise UsageError(message(f"fnp.{name}: got UPLO={UPLO!r}", "'L' or 'U'", "UPLO='L'"))
    return UPLO not in ("U", "u")


def _hermitian(a: Any, UPLO: Any, symmetrize_input: bool, name: str) -> Any:
    x = matrices(a, name, square=True)
    lower = _lower(UPLO, name)
    return symmetrized(x) if flag(symmetrize_input, f"fnp.{name}", "symmetrize_input") else x if lower else mx.h(x)


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
