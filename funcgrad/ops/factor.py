"""qr, svd, eigh, eig and schur, by LAPACK.

Vectors of a decomposition are determined up to a phase, and those of a repeated value up to a rotation among them. Derivatives
move them without turning them among themselves. So derivatives are finite, repeated values or not, and exact for what does
not depend on the choice: sums over values, projectors, the polar factor U V^H. (A function of a matrix that is put together
from its vectors, V f(w) V^H, lacks what f does inside a group of equal values.) A matrix with NaN has a decomposition of NaN.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.ir.loop_rules import Host
from funcgrad.ir.primitive import register
from funcgrad.ops import _matrix as mx
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like, reduce_sum
from funcgrad.ops._samples import uniform
from funcgrad.ops.reduce import reduce_max
from funcgrad.ops.shape import concatenate
from funcgrad.ops.triangular import triangular_solve
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of


def _imaginary(x: Any) -> Any:
    """i times the imaginary part of complex x."""
    part = ew.imag(x)
    return ew.complex_(like(part, 0), part)


def _apart(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Samples whose values are far from each other."""
    x = uniform(-0.5, 0.5)(rng, shape, dtype)
    i = np.arange(min(shape[-2:]))
    x[..., i, i] += (2 * i + 2).astype(dtype)
    return x


# --- qr -------------------------------------------------------------------------------------------------------------------------


def _qr_shapes(shape: tuple[int, ...], full_matrices: bool) -> list[tuple[int, ...]]:
    m, n = shape[-2:]
    k = m if full_matrices else min(m, n)
    return [(m, k), (k, n)]


def _qr_abstract(x: ShapedArray, *, full_matrices: bool) -> list[ShapedArray]:
    mx.check_matrices("qr", x)
    return [shaped((*x.shape[:-2], *s), x.dtype) for s in _qr_shapes(x.shape, full_matrices)]


def _qr_numpy(x: np.ndarray, full_matrices: bool) -> list[np.ndarray]:
    outs = [(s, x.dtype) for s in _qr_shapes(x.shape, full_matrices)]
    if 0 in x.shape[-2:]:
        return [np.broadcast_to(np.eye(*s, dtype=d), (*x.shape[:-2], *s)) for s, d in outs]
    return mx.whole_or_each(lambda a: np.linalg.qr(a, "complete" if full_matrices else "reduced"), x, outs=outs)


def _qr_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, full_matrices: bool) -> Any:
    # Of the leading k columns, A' R^-1 = Q' + Q (R' R^-1), where Q^H Q' is skew and R' R^-1 upper triangular with real diagonal.
    (x,), (t,) = primals, tangents
    q, r = qr(x, full_matrices=full_matrices)
    m, n = aval_of(x).shape[-2:]
    k = min(m, n)
    q1 = mx.part(q, None, k)
    scaled = triangular_solve(mx.part(r, k, k), mx.part(t, None, k), left_side=False, lower=False)
    inner = mx.mm(mx.h(q1), scaled)
    low = mx.lower_part(inner, strict=True)
    skew = ew.sub(low, mx.h(low))
    if aval_of(x).dtype in dt.COMPLEXES:
        skew = ew.add(skew, _imaginary(mx.diagonal_part(inner)))
    t_q = ew.add(scaled, mx.mm(q1, ew.sub(skew, inner)))
    r1 = mx.part(r, k, None)
    t_r = mx.upper_part(ew.sub(mx.mm(mx.h(q1), t), mx.mm(skew, r1)))
    if full_matrices and m > n:
        rest = mx.part(q, column_start=k)
        t_rest = ew.neg(mx.mm(q1, mx.mm(mx.h(t_q), rest)))
        t_q = concatenate(t_q, t_rest, dimension=aval_of(q).ndim - 1)
        below = mx.part(r, row_start=k)
        t_r = concatenate(t_r, ew.mul(below, like(below, 0)), dimension=aval_of(r).ndim - 2)
    return [q, r], [t_q, t_r]


qr = Operator(
    "qr",
    abstract=_qr_abstract,
    numpy=_qr_numpy,
    jvp=_qr_jvp,
    transpose="it is not linear",
    batch="set below",
    loop=Host(),
    dtypes=mx.MATRICES,
    samples=lambda rng, dtype: (
        [
            ((_apart(rng, s, dtype),), {"full_matrices": full})
            for s, full in (((3, 3), True), ((3, 2), False), ((2, 4), False), ((2, 2, 2), False), ((0, 2), False), ((2, 3), True))
        ]
        + [((_apart(rng, (3, 2), dtype),), {"full_matrices": True})] * (dtype in dt.FLOATS)
    ),
    multiple_results=True,
    doc="Q with orthonormal columns and the upper triangular R with A = Q R",
)
qr.batch = mx.batched(qr)
register(qr)


# --- svd ------------------------------------------------------------------------------------------------------------------------


def _svd_outs(shape: tuple[int, ...], dtype: np.dtype, full_matrices: bool, compute_uv: bool) -> list[Any]:
    m, n = shape[-2:]
    k = min(m, n)
    values = ((k,), mx.real_dtype(dtype))
    if not compute_uv:
        return [values]
    return [((m, m if full_matrices else k), dtype), values, ((n if full_matrices else k, n), dtype)]


def _svd_abstract(x: ShapedArray, *, full_matrices: bool, compute_uv: bool) -> list[ShapedArray]:
    mx.check_matrices("svd", x)
    return [shaped((*x.shape[:-2], *s), d) for s, d in _svd_outs(x.shape, x.dtype, full_matrices, compute_uv)]


def _svd_numpy(x: np.ndarray, full_matrices: bool, compute_uv: bool) -> list[np.ndarray]:
    outs = _svd_outs(x.shape, x.dtype, full_matrices, compute_uv)
    if 0 in x.shape[-2:]:
        return [np.broadcast_to(np.eye(*s, dtype=d) if len(s) == 2 else np.empty(s, d), (*x.shape[:-2], *s)) for s, d in outs]

    def svd_of(a: np.ndarray) -> Any:
        if not np.isfinite(a).all():  # LAPACK would not come back from some matrices with an infinity
            raise np.linalg.LinAlgError
        found = np.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
        return found if compute_uv else [found]

    return mx.whole_or_each(svd_of, x, outs=outs)


def _svd_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, full_matrices: bool, compute_uv: bool) -> Any:
    # With P = U^H A' V: S' is the real diagonal of P. U^H U' = X + Y and V^H V' = X - Y are skew, with
    # 2 X_ij = (P + P^H)_ij / (s_j - s_i) off the diagonal and 2 Y_ij = (P - P^H)_ij / (s_j + s_i). Equal values only take X away.
    (x,), (t,) = primals, tangents
    dtype = aval_of(x).dtype
    u, s, vh = svd(x, full_matrices=full_matrices and compute_uv, compute_uv=True)
    m, n = aval_of(x).shape[-2:]
    k = min(m, n)
    u1, v1 = mx.part(u, None, k), mx.h(mx.part(vh, k, None))
    tv = mx.mm(t, v1)
    p = mx.mm(mx.h(u1), tv)
    t_s = mx.real(mx.diagonal(p))
    if not compute_uv:
        return [s], [t_s]
    square = aval_of(p).shape
    ph = mx.h(p)
    sums = ew.mul(ew.add(mx.rows(s, square), mx.columns(s, square)), like(s, 2))
    differences = ew.mul(mx.inverse_differences(s), like(s, 0.5))
    together = ew.mul(ew.add(p, ph), mx.as_dtype(differences, dtype))
    apart = ew.mul(ew.sub(p, ph), mx.as_dtype(mx.safe_inverse(sums), dtype))
    turn_u, turn_v = ew.add(together, apart), ew.sub(together, apart)
    inverse = mx.safe_inverse(s)
    t_u, t_v = mx.mm(u1, turn_u), mx.mm(v1, turn_v)
    if m > k:
        outside = ew.sub(tv, mx.mm(u1, p))
        t_u = ew.add(t_u, ew.mul(outside, mx.as_dtype(mx.columns(inverse, aval_of(outside).shape), dtype)))
    if n > k:
        tu = mx.mm(mx.h(t), u1)
        outside = ew.sub(tu, mx.mm(v1, ph))
        t_v = ew.add(t_v, ew.mul(outside, mx.as_dtype(mx.columns(inverse, aval_of(outside).shape), dtype)))
    if full_matrices:
        t_u, t_v = _completed(t_u, u1, u, k), _completed(t_v, v1, mx.h(vh), k)
    return [u, s, vh], [t_u, t_s, mx.h(t_v)]


def _completed(t: Any, first: Any, full: Any, k: int) -> Any:
    """The tangents of the first k columns, and those of the rest, which stay orthogonal to the first."""
    if aval_of(full).shape[-1] == k:
        return t
    rest = mx.part(full, column_start=k)
    return concatenate(t, ew.neg(mx.mm(first, mx.mm(mx.h(t), rest))), dimension=aval_of(full).ndim - 1)


def _svd_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    shapes = [
        ((3, 3), True),
        ((3, 2), False),
        ((2, 4), False),
        ((2, 2, 2), False),
        ((0, 2), False),
        ((1, 1), True),
        ((2, 3), True),
    ]
    # Of complex matrices, what the vectors' phases are is LAPACK's choice; a difference quotient sees it.
    return [((_apart(rng, s, dtype),), {"full_matrices": full, "compute_uv": dtype in dt.FLOATS}) for s, full in shapes]


svd = Operator(
    "svd",
    abstract=_svd_abstract,
    numpy=_svd_numpy,
    jvp=_svd_jvp,
    transpose="it is not linear",
    batch="set below",
    loop=Host(),
    dtypes=mx.MATRICES,
    samples=_svd_samples,
    multiple_results=True,
    doc="U, the singular values in descending order, and V^H; the values alone without compute_uv",
)
svd.batch = mx.batched(svd)
register(svd)


# --- eigh -----------------------------------------------------------------------------------------------------------------------


def _eigh_abstract(x: ShapedArray, *, compute_v: bool) -> list[ShapedArray]:
    mx.check_matrices("eigh", x, square=True)
    values = shaped(x.shape[:-1], mx.real_dtype(x.dtype))
    return [values, shaped(x.shape, x.dtype)] if compute_v else [values]


def _eigh_numpy(x: np.ndarray, compute_v: bool) -> list[np.ndarray]:
    n = x.shape[-1]
    outs = [((n,), mx.real_dtype(x.dtype)), ((n, n), x.dtype)]
    finite = np.asarray(np.isfinite(x).all((-2, -1)))
    x = np.where(finite[..., None, None], x, 0)
    found = mx.whole_or_each(np.linalg.eigh if compute_v else lambda a: [np.linalg.eigvalsh(a)], x, outs=outs[: 1 + compute_v])
    if finite.all():
        return found
    return [np.where(finite.reshape(finite.shape + (1,) * rank), a, a.dtype.type(np.nan)) for rank, a in enumerate(found, 1)]


def _eigh_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, compute_v: bool) -> Any:
    # With P = V^H A' V: the values move by the diagonal of P, and V^H V' is P_ij / (w_j - w_i) off the diagonal.
    (x,), (t,) = primals, tangents
    w, v = eigh(x, compute_v=True)
    p = mx.mm(mx.h(v), mx.mm(mx.hermitian_of_lower(t), v))
    t_w = mx.real(mx.diagonal(p))
    if not compute_v:
        return [w], [t_w]
    return [w, v], [t_w, mx.mm(v, ew.mul(p, mx.as_dtype(mx.inverse_differences(w), aval_of(x).dtype)))]


_SQUARES = ((3, 3), (2, 2, 2), (1, 1), (0, 0), (0, 2, 2))
eigh = Operator(
    "eigh",
    abstract=_eigh_abstract,
    numpy=_eigh_numpy,
    jvp=_eigh_jvp,
    transpose="it is not linear",
    batch="set below",
    loop=Host(),
    dtypes=mx.MATRICES,
    samples=lambda rng, dtype: [((_apart(rng, s, dtype),), {"compute_v": dtype in dt.FLOATS}) for s in _SQUARES],
    multiple_results=True,
    doc="eigenvalues in ascending order, and eigenvectors, of the Hermitian matrix whose lower triangle is the operand's",
)
eigh.batch = mx.batched(eigh)
register(eigh)


# --- eig ------------------------------------------------------------------------------------------------------------------------


def _eig_abstract(x: ShapedArray, *, compute_v: bool) -> list[ShapedArray]:
    mx.check_matrices("eig", x, square=True)
    dtype = mx.complex_dtype(x.dtype)
    return [shaped(x.shape[:-1], dtype)] + [shaped(x.shape, dtype)] * compute_v


def _eig_numpy(x: np.ndarray, compute_v: bool) -> list[np.ndarray]:
    n, dtype = x.shape[-1], mx.complex_dtype(x.dtype)

    def one(a: np.ndarray) -> Any:
        found = np.linalg.eig(a) if compute_v else [np.linalg.eigvals(a)]
        return [np.asarray(f, dtype) for f in found]

    return mx.each(one, x, outs=[((n,), dtype), ((n, n), dtype)][: 1 + compute_v])


def _eig_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, compute_v: bool) -> Any:
    # With P = V^-1 A' V: as in eigh; then each vector keeps its length, and its largest element stays real, as LAPACK leaves it.
    (x,), (t,) = primals, tangents
    w, v = eig(x, compute_v=True)
    dtype = aval_of(v).dtype
    p = _solve(v, mx.mm(mx.as_dtype(t, dtype), v))
    t_w = mx.diagonal(p)
    if not compute_v:
        return [w], [t_w]
    t_v = mx.mm(v, ew.mul(p, _complex_inverse_differences(w)))
    shape = aval_of(v).shape
    rank = len(shape)
    size = ew.abs(v)
    largest = ew.eq(size, mx.columns(reduce_max(size, axes=(rank - 2,)), shape))
    counted = reduce_sum(mx.as_dtype(largest, size.aval.dtype), axes=(rank - 2,))
    length = reduce_sum(ew.real(ew.mul(ew.conj(v), t_v)), axes=(rank - 2,))
    # Of equal largest elements the mean turn is taken.
    ratio = ew.div(t_v, ew.select_n(largest, like(v, 1), v))
    turn = ew.div(reduce_sum(mx.keep_where(largest, ew.imag(ratio)), axes=(rank - 2,)), counted)
    return [w, v], [t_w, ew.sub(t_v, ew.mul(v, mx.columns(ew.complex_(length, turn), shape)))]


def _solve(a: Any, b: Any) -> Any:
    """a^-1 b by Q R, which this file has."""
    q, r = qr(a, full_matrices=False)
    return triangular_solve(r, mx.mm(mx.h(q), b), left_side=True, lower=False)


def _complex_inverse_differences(w: Any) -> Any:
    aval = aval_of(w)
    shape = (*aval.shape, aval.shape[-1])
    difference = ew.sub(mx.columns(w, shape), mx.rows(w, shape))
    size = mx.columns(ew.abs(w), shape)
    equal = ew.le(ew.abs(difference), ew.mul(size, like(size, float(np.finfo(aval.dtype).eps) * 4 * max(aval.shape[-1], 1))))
    return mx.inverse_unless(equal, difference)


eig = Operator(
    "eig",
    abstract=_eig_abstract,
    numpy=_eig_numpy,
    jvp=_eig_jvp,
    transpose="it is not linear",
    batch="set below",
    loop=Host(),
    dtypes=mx.MATRICES,
    samples=lambda rng, dtype: [
        ((_apart(rng, s, dtype),), {"compute_v": v}) for s in ((3, 3), (2, 2, 2), (1, 1), (0, 0)) for v in (True, False)
    ],
    multiple_results=True,
    doc="eigenvalues and right eigenvectors (of length 1), complex; LAPACK's order",
)
eig.batch = mx.batched(eig)
register(eig)


# --- schur ----------------------------------------------------------------------------------------------------------------------


def _schur_abstract(x: ShapedArray) -> list[ShapedArray]:
    mx.check_matrices("schur", x, square=True)
    return [shaped(x.shape, x.dtype)] * 2


def _schur_numpy(x: np.ndarray) -> list[np.ndarray]:
    n = x.shape[-1]

    def one(a: np.ndarray) -> Any:
        if not np.isfinite(a).all():
            raise np.linalg.LinAlgError
        return scipy.linalg.schur(a, "real" if a.dtype.kind == "f" else "complex")

    return mx.each(one, x, outs=[((n, n), x.dtype)] * 2) if n else [x, x]


schur = Operator(
    "schur",
    abstract=_schur_abstract,
    numpy=_schur_numpy,
    jvp="its derivative is not defined where LAPACK chooses the order of the values; use eigh, or eig",
    transpose="it is not linear",
    batch="set below",
    loop=Host(),
    dtypes=mx.MATRICES,
    samples="it has no derivative: tests/scipy/test_linalg.py",
    multiple_results=True,
    doc="T (of real matrices with 2x2 blocks) and Z, orthogonal, with A = Z T Z^H",
)
schur.batch = mx.batched(schur)
register(schur)


def _hessenberg_numpy(x: np.ndarray) -> list[np.ndarray]:
    n = x.shape[-1]

    def one(a: np.ndarray) -> Any:
        if not np.isfinite(a).all():
            raise np.linalg.LinAlgError
        return scipy.linalg.hessenberg(a, calc_q=True)

    return mx.each(one, x, outs=[((n, n), x.dtype)] * 2) if n else [x, x]


hessenberg = Operator(
    "hessenberg",
    abstract=_schur_abstract,
    numpy=_hessenberg_numpy,
    jvp="its derivative is not known here; use eigh, or eig",
    transpose="it is not linear",
    batch="set below",
    loop=Host(),
    dtypes=mx.MATRICES,
    samples="it has no derivative: tests/scipy/test_linalg.py",
    multiple_results=True,
    doc="H, zero below the first subdiagonal, and Q, orthogonal, with A = Q H Q^H",
)
hessenberg.batch = mx.batched(hessenberg)
register(hessenberg)

__all__ = ["eig", "eigh", "hessenberg", "qr", "schur", "svd"]
