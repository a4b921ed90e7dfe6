"""Equations, inverses and determinants: solve, inv, det, slogdet, pinv, matrix_rank, lstsq, tensorinv, tensorsolve."""

import math
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import static_int, static_ints
from funcgrad.numpy._factor import matrices, svd
from funcgrad.numpy._promote import as_value, broadcast_shapes_of, broadcast_value, cast, common_inexact, operand
from funcgrad.numpy.reductions import any as any_
from funcgrad.numpy.reductions import max as max_
from funcgrad.numpy.reductions import sum as sum_
from funcgrad.ops import _matrix as mx
from funcgrad.ops import elementwise as ew
from funcgrad.ops import linalg as ops
from funcgrad.ops._family import like
from funcgrad.ops.shape import expand_dims, reshape, squeeze, transpose

__all__ = [
    "det", "inv", "lstsq", "matrix_rank", "pinv", "slogdet", "solve", "tensorinv", "tensorsolve",
]  # fmt: skip


class SlogdetResult(NamedTuple):
    sign: Any
    logabsdet: Any


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
    if not among(method, (None, "lu", "qr")):
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
    hermitian = flag(hermitian, "fnp.linalg.pinv", "hermitian")
    x = matrices(a, "linalg.pinv", square=hermitian)
    u, s, vh = svd(x, full_matrices=False, hermitian=hermitian)
    keep = _kept(s, _cutoff(rcond if rtol is None else rtol, x.shape, s.dtype, 10, "linalg.pinv"))
    inverse = mx.inverse_unless(ew.not_(keep), s)
    v = mx.h(vh)
    return mx.mm(ew.mul(v, cast(mx.columns(inverse, v.shape), v.dtype)), mx.h(u))


def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:
    """How many singular values are above rtol times the largest (max(M, N) eps by default), or above `tol`; int64.

    Args: M: (..., M, N); of vectors and scalars 1 where an element is not 0. hermitian: M is Hermitian, which is cheaper.

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
    if flag(numpy_resid, "fnp.linalg.lstsq", "numpy_resid") and (
        x.shape[0] <= x.shape[1] or static_int(rank, "linalg.lstsq", "rank") < x.shape[1]
    ):
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
