"""lu, linear_solve, slogdet and det of square matrices (lu of any), by LAPACK.

A matrix that is singular, or has a NaN, has solutions of NaN. The derivatives of a solution and of a determinant follow from what
they satisfy, not from the steps of the elimination.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import ShapeError, message
from funcgrad.ir.loop_rules import Host
from funcgrad.ir.primitive import register
from funcgrad.ops import _matrix as mx
from funcgrad.ops import _small as small
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import add_tangents, expand_dims_last, like, reduce_sum
from funcgrad.ops._indexing import GatherDimensionNumbers
from funcgrad.ops._samples import uniform
from funcgrad.ops.factor import svd
from funcgrad.ops.gathering import gather
from funcgrad.ops.reduce import reduce_prod
from funcgrad.ops.shape import concatenate
from funcgrad.ops.triangular import triangular_solve
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of

# --- lu -------------------------------------------------------------------------------------------------------------------------


def _lu_abstract(x: ShapedArray) -> list[ShapedArray]:
    mx.check_matrices("lu", x)
    m, n = x.shape[-2:]
    batch = x.shape[:-2]
    return [shaped(x.shape, x.dtype), shaped((*batch, min(m, n)), dt.int32), shaped((*batch, m), dt.int32)]


def _lu_numpy(x: np.ndarray) -> list[np.ndarray]:
    m, n = x.shape[-2:]
    (getrf,) = get_lapack_funcs(("getrf",), dtype=x.dtype)

    def one(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        order = np.arange(m)
        if not a.size:
            return a, np.empty(min(m, n), np.int32), order
        if not np.isfinite(a).all():
            return np.full_like(a, np.nan), np.arange(min(m, n)), order
        factors, pivots, _ = getrf(a)
        for i, p in enumerate(pivots):
            order[i], order[p] = order[p], order[i]
        return factors, pivots, order

    k = min(m, n)
    return mx.each(one, x, outs=[((m, n), x.dtype), ((k,), dt.int32), ((m,), dt.int32)])


def permute_rows(x: Any, order: Any) -> Any:
    """x[..., order[i], :] in row i, each matrix by its own order."""
    aval = aval_of(x)
    rank = aval.ndim
    batch = tuple(range(rank - 2))
    numbers = GatherDimensionNumbers((rank - 1,), (rank - 2,), (rank - 2,), batch, batch)
    return gather(
        x,
        expand_dims_last(order),
        dimension_numbers=numbers,
        slice_sizes=(*[1] * (rank - 1), aval.shape[-1]),
        mode="promise_in_bounds",
        fill_value=None,
    )


def _lu_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    # With P A = L U, L^-1 P A' U^-1 = L^-1 L' + U' U^-1: a strictly lower triangle and an upper one. A factor that is not square
    # is completed by an identity, so that the same holds for tall and wide matrices.
    (x,), (t,) = primals, tangents
    out, pivots, order = lu(x)
    batch, (m, n) = aval_of(x).shape[:-2], aval_of(x).shape[-2:]
    k = min(m, n)
    low = ew.add(mx.lower_part(_wider(mx.part(out, None, k), m), strict=True), mx.identity((*batch, m, m), aval_of(x).dtype))
    high = mx.upper_part(_taller(mx.part(out, k, None), n))
    if n > k:
        row, _ = mx.places((*batch, n, n))
        high = ew.add(high, mx.keep_where(ew.ge(row, np.int64(k)), mx.identity((*batch, n, n), aval_of(x).dtype)))
    both = triangular_solve(low, permute_rows(t, order), left_side=True, lower=True, unit_diagonal=True)
    both = triangular_solve(high, both, left_side=False, lower=False)
    t_out = ew.add(mx.mm(low, mx.lower_part(both, strict=True)), mx.mm(mx.upper_part(both), high))
    return [out, pivots, order], [t_out, None, None]


def _wider(x: Any, count: int) -> Any:
    """x with columns of zeros up to `count`."""
    shape = aval_of(x).shape
    if shape[-1] >= count:
        return x
    zero = mx.identity((*shape[:-1], count - shape[-1]), aval_of(x).dtype)
    return concatenate(x, ew.mul(zero, like(zero, 0)), dimension=len(shape) - 1)


def _taller(x: Any, count: int) -> Any:
    return mx.mt(_wider(mx.mt(x), count))


def _general(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Samples whose pivots are far from each other in size."""
    x = uniform(-1, 1)(rng, shape, dtype)
    i = np.arange(min(shape[-2:]))
    x[..., i[::-1], i] += (3 + i).astype(dtype)
    return x


lu = Operator(
    "lu",
    abstract=_lu_abstract,
    numpy=_lu_numpy,
    jvp=_lu_jvp,
    transpose="it is not linear",
    batch="set below",
    loop=Host(native=small.of_one("lu")),
    dtypes=mx.MATRICES,
    samples=lambda rng, dtype: [
        ((_general(rng, s, dtype),), {}) for s in ((3, 3), (2, 2, 2), (3, 2), (2, 4), (1, 1), (0, 0), (0, 2))
    ],
    multiple_results=True,
    doc="L (below the diagonal) and U in one matrix, the row that step i exchanged with i, and the order of the rows",
)
lu.batch = mx.batched(lu)
register(lu)


# --- linear_solve ---------------------------------------------------------------------------------------------------------------


def _solve_abstract(a: ShapedArray, b: ShapedArray) -> ShapedArray:
    mx.check_matrices("linear_solve", a, b, square=True)
    if b.shape[-2] != a.shape[-1]:
        raise ShapeError(
            message(f"linear_solve: got {format_avals((a, b))}", "as many rows as the matrix has", "check the shapes of a and b")
        )
    return shaped(b.shape, b.dtype)


def _solve_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = mx.whole_or_each(lambda a, b: [np.linalg.solve(a, b)], a, b, outs=[(b.shape[-2:], b.dtype)])[0]
    # What LAPACK makes of a matrix with a NaN depends on the machine: finite numbers among others, which mean nothing.
    lost = np.isnan(a).any((-2, -1), keepdims=True)
    return np.where(lost, np.array(np.nan, out.dtype), out) if lost.any() else out


def _solve_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    # A X = B: X' = A^-1 (B' - A' X).
    (a, b), (ta, tb) = primals, tangents
    out = linear_solve(a, b)
    moved = None if ta is None else ew.neg(mx.mm(ta, out))
    return out, linear_solve(a, add_tangents(tb, moved))


linear_solve = Operator(
    "linear_solve",
    abstract=_solve_abstract,
    numpy=_solve_numpy,
    jvp=_solve_jvp,
    transpose=lambda ct, a, b: [None, linear_solve(mx.mt(a), ct)],
    batch="set below",
    loop=Host(native=small.solve),
    dtypes=mx.MATRICES,
    samples=lambda rng, dtype: [
        ((_general(rng, a, dtype), uniform(-1, 1)(rng, b, dtype)), {})
        for a, b in (((3, 3), (3, 2)), ((2, 2, 2), (2, 2, 1)), ((1, 1), (1, 1)), ((0, 0), (0, 2)), ((2, 2), (2, 0)))
    ],
    doc="X with A X = B",
)
linear_solve.batch = mx.batched_with_columns(linear_solve)
register(linear_solve)


# --- determinants ---------------------------------------------------------------------------------------------------------------


def _slogdet_abstract(x: ShapedArray) -> list[ShapedArray]:
    mx.check_matrices("slogdet", x, square=True)
    return [shaped(x.shape[:-2], x.dtype), shaped(x.shape[:-2], mx.real_dtype(x.dtype))]


def _slogdet_numpy(x: np.ndarray) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return [np.asarray(part) for part in np.linalg.slogdet(x)]


def _slogdet_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    # The logarithm's derivative is the trace of A^-1 A'; its imaginary part turns the sign.
    (x,), (t,) = primals, tangents
    sign, size = slogdet(x)
    along = mx.trace(linear_solve(x, t))
    if aval_of(x).dtype not in dt.COMPLEXES:
        return [sign, size], [None, along]
    turn = ew.imag(along)
    return [sign, size], [ew.mul(sign, ew.complex_(like(turn, 0), turn)), ew.real(along)]


_SQUARES = ((3, 3), (2, 2, 2), (1, 1), (0, 0), (0, 2, 2))
slogdet = Operator(
    "slogdet",
    abstract=_slogdet_abstract,
    numpy=_slogdet_numpy,
    jvp=_slogdet_jvp,
    transpose="it is not linear",
    batch="set below",
    loop=Host(native=small.of_one("slogdet", scratch=True)),
    dtypes=mx.MATRICES,
    samples=lambda rng, dtype: [((_general(rng, s, dtype),), {}) for s in _SQUARES],
    multiple_results=True,
    doc="the sign (of complex matrices the phase) of the determinant, and the logarithm of its size",
)
slogdet.batch = mx.batched(slogdet)
register(slogdet)


def _det_abstract(x: ShapedArray) -> ShapedArray:
    mx.check_matrices("det", x, square=True)
    return shaped(x.shape[:-2], x.dtype)


def _det_numpy(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(np.linalg.det(x))


def adjugate(x: Any) -> Any:
    """The transposed matrix of cofactors, adj(A) A = det(A); of a singular matrix too.

    With A = U S V^H it is det(U) det(V^H) V adj(S) U^H, where adj(S) has the products of all other singular values."""
    u, s, vh = svd(x, full_matrices=False, compute_uv=True)
    shape = aval_of(x).shape
    row, column = mx.places(shape)
    others = reduce_prod(ew.select_n(ew.eq(row, column), mx.columns(s, shape), like(s, 1)), axes=(len(shape) - 1,))
    scaled = ew.mul(mx.h(vh), mx.columns(mx.as_dtype(others, aval_of(x).dtype), shape))
    turn = ew.mul(det(u), det(vh))
    return ew.mul(mx.mm(scaled, mx.h(u)), mx.rows(mx.rows(turn, shape[:-1]), shape))


def _det_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    (x,), (t,) = primals, tangents
    rank = aval_of(x).ndim
    return det(x), reduce_sum(ew.mul(mx.mt(adjugate(x)), t), axes=(rank - 2, rank - 1))


det = Operator(
    "det",
    abstract=_det_abstract,
    numpy=_det_numpy,
    jvp=_det_jvp,
    transpose="it is not linear",
    batch="set below",
    loop=Host(native=small.of_one("det", scratch=True)),
    dtypes=mx.MATRICES,
    samples=lambda rng, dtype: [((_general(rng, s, dtype),), {}) for s in _SQUARES],
    doc="the determinant",
)
det.batch = mx.batched(det)
register(det)

__all__ = ["adjugate", "det", "linear_solve", "lu", "permute_rows", "slogdet"]
