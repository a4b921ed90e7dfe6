"""Linear algebra as in `scipy.linalg`, on arrays that can be traced and differentiated. The last two axes are matrices.

`overwrite_a`, `overwrite_b`, `check_finite` and the like are accepted and have no effect: arrays are immutable, and what is not
finite gives NaN.
"""

import math
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import ShapeError, UsageError, describe, message
from funcgrad.numpy import linalg as nl
from funcgrad.numpy._axes import static_int
from funcgrad.numpy._factor import matrices
from funcgrad.numpy._promote import as_value, broadcast_shapes_of, broadcast_value, cast, common_inexact, operand
from funcgrad.numpy.reductions import max as max_
from funcgrad.numpy.reductions import sum as sum_
from funcgrad.numpy.sorting import argsort
from funcgrad.ops import _matrix as mx
from funcgrad.ops import elementwise as ew
from funcgrad.ops import linalg as ops
from funcgrad.ops._family import like
from funcgrad.ops.shape import expand_dims, pad, squeeze
from funcgrad.scipy._matrices import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    dft,
    fiedler,
    fiedler_companion,
    hadamard,
    hankel,
    helmert,
    hilbert,
    invhilbert,
    invpascal,
    leslie,
    pascal,
    toeplitz,
    vector,
)
from funcgrad.scipy._schur import funm, rsf2csf
from funcgrad.transforms.jvp import jvp

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "companion", "convolution_matrix", "det", "dft", "eigh",
    "eigh_tridiagonal", "expm", "expm_frechet", "fiedler", "fiedler_companion", "funm", "hadamard", "hankel", "helmert",
    "hessenberg", "hilbert", "inv", "invhilbert", "invpascal", "leslie", "lu", "lu_factor", "lu_solve", "pascal", "polar",
    "qr", "qr_multiply", "rsf2csf", "schur", "solve", "solve_sylvester", "solve_triangular", "sqrtm", "svd", "toeplitz",
]  # fmt: skip


def _wrong(name: str, came: str, allowed: str, fix: str) -> UsageError:
    return UsageError(message(f"scipy.linalg.{name}: got {came}", allowed, fix))


def _matrices(a: Any, name: str, square: bool = False) -> Any:
    return matrices(a, f"scipy.linalg.{name}", square=square)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant of square matrices (..., n, n), of shape (...).

    >>> from funcgrad.scipy import linalg
    >>> linalg.det(np.array([[1.0, 2.0], [3.0, 4.0]]))
    Array(-2., dtype=float64)
    """
    return nl.det(a)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverse of square matrices (..., n, n); NaN for singular ones.

    >>> from funcgrad.scipy import linalg
    >>> linalg.inv(np.array([[2.0, 0.0], [1.0, 4.0]]))
    Array([[ 0.5  ,  0.   ],
           [-0.125,  0.25 ]], dtype=float64)
    """
    return nl.inv(a)


def _triangle(a: Any, lower: bool, name: str) -> Any:
    """The Hermitian matrices of which a triangle is given, with that triangle below."""
    x = _matrices(a, name, square=True)
    return x if flag(lower, f"scipy.linalg.{name}", "lower") else mx.h(x)


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The upper U with A = U^H U, or the lower L with A = L L^H, of Hermitian A; only that triangle of A is read.

    NaN where A is not positive definite.

    >>> from funcgrad.scipy import linalg
    >>> linalg.cholesky(np.array([[4.0, 2.0], [2.0, 3.0]]))
    Array([[2.        , 1.        ],
           [0.        , 1.41421356]], dtype=float64)
    >>> linalg.cholesky(np.array([[4.0, 2.0], [2.0, 3.0]]), lower=True)
    Array([[2.        , 0.        ],
           [1.        , 1.41421356]], dtype=float64)
    """
    out = ops.cholesky(_triangle(a, lower, "cholesky"))
    return out if lower else mx.h(out)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """(`cholesky(a, lower)`, lower), for `cho_solve`.

    >>> from funcgrad.scipy import linalg
    >>> factor = linalg.cho_factor(np.array([[4.0, 2.0], [2.0, 3.0]]))
    >>> linalg.cho_solve(factor, np.array([8.0, 8.0]))
    Array([1., 2.], dtype=float64)
    """
    return cholesky(a, lower), lower


def _pair(name: str, given: Any, arg: str, source: str) -> Any:
    """A factor with what belongs to it."""
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise _wrong(name, f"{describe(given)} for {arg}", f"the pair that linalg.{source} gives", f"linalg.{source}(a)")
    return given


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """x with A x = b, from `cho_factor(A)`. b: vectors or matrices, as for `solve_triangular`.

    >>> from funcgrad.scipy import linalg
    >>> lower = np.array([[2.0, 0.0], [1.0, 3.0]])  # A = lower @ lower.T
    >>> linalg.cho_solve((lower, True), np.array([4.0, 20.0]))
    Array([0., 2.], dtype=float64)
    """
    c, lower = _pair("cho_solve", c_and_lower, "c_and_lower", "cho_factor")
    x, y, is_vector = _operands(c, b, "cho_solve")
    for kind in ("N", "C") if lower else ("C", "N"):
        y = _triangular(x, y, kind, bool(lower), False)
    return _returned(y, is_vector)


def _operands(a: Any, b: Any, name: str) -> tuple[Any, Any, bool]:
    """Square matrices and right sides of one dtype and one batch, and whether b was a vector."""
    x, y = common_inexact(operand(a, f"scipy.linalg.{name}", "a"), operand(b, f"scipy.linalg.{name}", "b"))
    x, y = _matrices(x, name, square=True), as_value(y, f"scipy.linalg.{name}", "b")
    is_vector = y.ndim == 1
    given = y.aval.str_short()
    y = expand_dims(y, dimensions=(1,)) if is_vector else y
    if y.ndim < 2 or y.shape[-2] != x.shape[-1]:
        raise ShapeError(
            message(
                f"scipy.linalg.{name}: got {x.aval.str_short()} and {given}",
                "a right side with as many rows as a has",
                "check the shapes",
            )
        )
    batch = broadcast_shapes_of([x.shape[:-2], y.shape[:-2]], f"scipy.linalg.{name}")
    return broadcast_value(x, (*batch, *x.shape[-2:])), broadcast_value(y, (*batch, *y.shape[-2:])), is_vector


def _returned(x: Any, is_vector: bool) -> Any:
    return squeeze(x, dimensions=(x.ndim - 1,)) if is_vector else x


_TRANS = {0: "N", 1: "T", 2: "C", "N": "N", "T": "T", "C": "C"}


def _trans(trans: Any, name: str) -> str:
    if not isinstance(trans, (int, np.integer, str)) or trans not in _TRANS:
        raise _wrong(name, f"trans={trans!r}", "0 or 'N', 1 or 'T', 2 or 'C'", "trans='T'")
    return _TRANS[trans]


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    debug: Any = None, check_finite: bool = True,
) -> Any:  # fmt: skip
    """x with a x = b (trans 1 or "T": a^T x = b, 2 or "C": a^H x = b), of a triangle; the rest of a is not read.

    a: (..., n, n). b: (n,), or (..., n, k) whose leading axes broadcast with a's. unit_diagonal: the diagonal counts as ones and
    is not read. debug has no effect. Returns: the shape of b.

    >>> from funcgrad.scipy import linalg
    >>> a = np.array([[2.0, 99.0], [1.0, 4.0]])
    >>> linalg.solve_triangular(a, np.array([2.0, 9.0]), lower=True)
    Array([1., 2.], dtype=float64)
    """
    kind = _trans(trans, "solve_triangular")
    x, y, is_vector = _operands(a, b, "solve_triangular")
    return _returned(
        _triangular(
            x,
            y,
            kind,
            flag(lower, "scipy.linalg.solve_triangular", "lower"),
            flag(unit_diagonal, "scipy.linalg.solve_triangular", "unit_diagonal"),
        ),
        is_vector,
    )


def _triangular(x: Any, y: Any, kind: str, lower: bool, unit_diagonal: bool) -> Any:
    return ops.triangular_solve(
        x,
        y,
        left_side=True,
        lower=lower,
        transpose_a=kind != "N",
        conjugate_a=kind == "C",
        unit_diagonal=unit_diagonal,
    )


def solve(
    a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False, debug: bool = False,
    check_finite: bool = True, assume_a: str = "gen",
) -> Any:  # fmt: skip
    """x with a x = b, of square a (..., n, n) and b (n,), or (..., n, k); NaN where a is singular.

    assume_a: "gen", "sym", "her", or "pos" (by Cholesky, of the upper triangle, or the lower one). debug has no effect.

    >>> from funcgrad.scipy import linalg
    >>> linalg.solve(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 4.0]))
    Array([1., 1.], dtype=float64)
    """
    if not among(assume_a, ("gen", "sym", "her", "pos")):
        raise _wrong("solve", f"assume_a={assume_a!r}", "'gen', 'sym', 'her', 'pos'", "assume_a='pos'")
    return cho_solve(cho_factor(a, lower), b) if assume_a == "pos" else nl.solve(a, b)


def _factors(factors: Any) -> tuple[Any, Any]:
    """The unit lower and the upper triangle of an LU."""
    m, n = factors.shape[-2:]
    k = min(m, n)
    low = mx.part(factors, None, k)
    return ew.add(mx.lower_part(low, strict=True), mx.identity(low.shape, low.dtype)), mx.upper_part(mx.part(factors, k, None))


def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, ...]:
    """(P, L, U) with a = P L U, P a permutation, of matrices (..., m, n); with permute_l (P L, U).

    >>> from funcgrad.scipy import linalg
    >>> p, l, u = linalg.lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> p, l
    (Array([[0., 1.],
           [1., 0.]], dtype=float64), Array([[1.  , 0.  ],
           [0.25, 1.  ]], dtype=float64))
    >>> p @ l @ u
    Array([[1., 2.],
           [4., 4.]], dtype=float64)
    """
    x = _matrices(a, "lu")
    factors, _, order = ops.lu(x)
    low, high = _factors(factors)
    m = x.shape[-2]
    shape = (*x.shape[:-2], m, m)
    row, _ = mx.places(shape)
    p = cast(ew.eq(row, cast(mx.columns(order, shape), dt.int64)), mx.real_dtype(x.dtype))
    return (mx.mm(cast(p, x.dtype), low), high) if flag(permute_l, "scipy.linalg.lu", "permute_l") else (p, low, high)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """L and U in one matrix, and the row that each row was exchanged with (int32), for `lu_solve`.

    >>> from funcgrad.scipy import linalg
    >>> linalg.lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))
    (Array([[4.  , 4.  ],
           [0.25, 1.  ]], dtype=float64), Array([1, 1], dtype=int32))
    """
    factors, pivots, _ = ops.lu(_matrices(a, "lu_factor"))
    return factors, pivots


def lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """x with A x = b (trans 1: A^T x = b, 2: A^H x = b), from `lu_factor(A)`.

    >>> from funcgrad.scipy import linalg
    >>> factors = linalg.lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> linalg.lu_solve(factors, np.array([3.0, 8.0])), linalg.lu_solve(factors, np.array([5.0, 6.0]), trans=1)
    (Array([1., 1.], dtype=float64), Array([1., 1.], dtype=float64))
    """
    factors, pivots = _pair("lu_solve", lu_and_piv, "lu_and_piv", "lu_factor")
    kind = _trans(trans, "lu_solve")
    x, y, is_vector = _operands(factors, b, "lu_solve")
    pivots = cast(as_value(pivots, "scipy.linalg.lu_solve", "piv"), dt.int32)
    order = ops.pivots_to_permutation(broadcast_value(pivots, x.shape[:-1]), size=x.shape[-1])

    def through(lower: bool, rhs: Any) -> Any:
        return ops.triangular_solve(
            x, rhs, left_side=True, lower=lower, transpose_a=kind != "N", conjugate_a=kind == "C", unit_diagonal=lower
        )

    if kind == "N":
        out = through(False, through(True, ops.permute_rows(y, order)))
    else:
        inverse = cast(argsort(order), dt.int32)
        out = ops.permute_rows(through(True, through(False, y)), inverse)
    return _returned(out, is_vector)


def qr(
    a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False, check_finite: bool = True
) -> tuple[Any, ...]:
    """(Q, R) with a = Q R, of matrices (..., m, n). mode: "full" (Q square), "economic", or "r", which gives (R,).

    pivoting: must be False. lwork has no effect.

    >>> from funcgrad.scipy import linalg
    >>> q, r = linalg.qr(np.array([[3.0, 1.0], [4.0, 2.0], [0.0, 5.0]]), mode="economic")
    >>> q.shape, fnp.allclose(q @ r, np.array([[3.0, 1.0], [4.0, 2.0], [0.0, 5.0]])).item()
    ((3, 2), True)
    >>> fnp.abs(r[0, 0])
    Array(5., dtype=float64)
    """
    if flag(pivoting, "scipy.linalg.qr", "pivoting") or not among(mode, ("full", "economic", "r")):
        raise _wrong("qr", f"mode={mode!r}, pivoting={pivoting}", "'full', 'economic', 'r', without pivoting", "mode='economic'")
    q, r = ops.qr(_matrices(a, "qr"), full_matrices=mode != "economic")
    return (r,) if mode == "r" else (q, r)


def qr_multiply(
    a: Any, c: Any, mode: str = "right", pivoting: bool = False, conjugate: bool = False, overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """(c Q, R), or with mode="left" (Q c, R), of the economic a = Q R; conjugate: with conj(Q).

    >>> from funcgrad.scipy import linalg
    >>> a = np.array([[0.0, 2.0], [1.0, 0.0]])
    >>> cq, r = linalg.qr_multiply(a, np.eye(2))
    >>> cq @ r
    Array([[0., 2.],
           [1., 0.]], dtype=float64)
    """
    if flag(pivoting, "scipy.linalg.qr_multiply", "pivoting") or not among(mode, ("left", "right")):
        raise _wrong("qr_multiply", f"mode={mode!r}, pivoting={pivoting}", "'left' or 'right', without pivoting", "mode='right'")
    x, y = common_inexact(operand(a, "scipy.linalg.qr_multiply", "a"), operand(c, "scipy.linalg.qr_multiply", "c"))
    q, r = ops.qr(_matrices(x, "qr_multiply"), full_matrices=False)
    q = mx.conj(q) if flag(conjugate, "scipy.linalg.qr_multiply", "conjugate") else q
    return (nl.matmul(y, q) if mode == "right" else nl.matmul(q, y)), r


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    """U, the singular values (descending), V^H; the values alone without compute_uv.

    full_matrices: square U and V, or as many columns as values. lapack_driver has no effect.

    >>> from funcgrad.scipy import linalg
    >>> u, s, vh = linalg.svd(np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]), full_matrices=False)
    >>> s, u.shape, vh.shape
    (Array([4., 3.], dtype=float64), (3, 2), (2, 2))
    """
    out = nl.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(out) if compute_uv else out


def eigh(
    a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
    turbo: bool = True, eigvals: Any = None, type: int = 1, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Eigenvalues in ascending order and eigenvectors of Hermitian a: a v = w b v, of which a triangle is read.

    b: positive definite (type 1 alone); the vectors are then orthonormal with respect to it.

    >>> from funcgrad.scipy import linalg
    >>> linalg.eigh(np.array([[2.0, 1.0], [1.0, 2.0]]), eigvals_only=True)
    Array([1., 3.], dtype=float64)
    >>> w, v = linalg.eigh(np.array([[2.0, 1.0], [1.0, 2.0]]), np.diag([1.0, 4.0]))  # a v = w b v
    >>> w
    Array([0.34861218, 2.15138782], dtype=float64)
    """
    if eigvals is not None or not among(type, (1,)):
        raise _wrong("eigh", f"eigvals={eigvals}, type={type}", "eigvals=None, type=1", "eigh(a)[0][low : high + 1]")
    x = _triangle(a, lower, "eigh")
    if b is None:
        out = ops.eigh(x, compute_v=not flag(eigvals_only, "scipy.linalg.eigh", "eigvals_only"))
        return out[0] if eigvals_only else tuple(out)
    x, y = common_inexact(x, _triangle(b, lower, "eigh"))
    root = ops.cholesky(y)
    inner = ops.triangular_solve(root, mx.hermitian_of_lower(x), left_side=True, lower=True)
    inner = ops.triangular_solve(root, inner, left_side=False, lower=True, transpose_a=True, conjugate_a=True)
    out = ops.eigh(inner, compute_v=not eigvals_only)
    if eigvals_only:
        return out[0]
    back = ops.triangular_solve(root, out[1], left_side=True, lower=True, transpose_a=True, conjugate_a=True)
    return out[0], back


def eigh_tridiagonal(
    d: Any, e: Any, *, eigvals_only: bool = False, select: str = "a", select_range: Any = None, tol: Any = None, key: Any = None
) -> Any:
    """Eigenvalues (and vectors) of the symmetric matrix with diagonal d (n,) and e (n - 1,) beside it, in ascending order.

    select: "a" (all), or "i" with select_range=(first, last), both inclusive. tol and key have no effect.

    >>> from funcgrad.scipy import linalg
    >>> linalg.eigh_tridiagonal(np.full(3, 2.0), np.full(2, -1.0), eigvals_only=True)
    Array([0.58578644, 2.        , 3.41421356], dtype=float64)
    """
    on, off = common_inexact(vector(d, "eigh_tridiagonal", "d", 1), vector(e, "eigh_tridiagonal", "e"))
    n = on.shape[0]
    if off.shape[0] != n - 1 or not among(select, ("a", "i")) or (select == "i") != (select_range is not None):
        raise _wrong(
            "eigh_tridiagonal", f"{n} and {off.shape[0]} elements, select={select!r}, select_range={select_range}",
            "one element less in e; 'a', or 'i' with a range", "select='i', select_range=(0, 2)",
        )  # fmt: skip
    below = mx.rows(pad(off, like(off, 0), padding_config=((1, 0, 0),)), (n, n))
    row, column = mx.places((n, n))
    x = ew.select_n(ew.eq(row, column), mx.keep_where(ew.eq(row, ew.add(column, np.int64(1))), below), mx.rows(on, (n, n)))
    out = ops.eigh(x, compute_v=not flag(eigvals_only, "scipy.linalg.eigh_tridiagonal", "eigvals_only"))
    first, last = (
        (0, n - 1) if select == "a" else [static_int(i, "scipy.linalg.eigh_tridiagonal", "select_range") for i in select_range]
    )
    w = out[0][first : last + 1]
    return w if eigvals_only else (w, out[1][:, first : last + 1])


# --- functions of matrices --------------------------------------------------------------------------------------------------

# The numerator of the Pade approximant of exp of degree 13, and up to which norm it is exact to rounding in float64
# (Higham, "The scaling and squaring method for the matrix exponential revisited", 2005).
_PADE = [
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600, 670442572800,
    33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
]  # fmt: skip
_REACH = 5.371920351148152


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """The exponential of square matrices, by scaling and squaring; NaN where that takes more than max_squarings.

    Higham, "The scaling and squaring method for the matrix exponential revisited", 2005. upper_triangular has no effect.

    >>> from funcgrad.scipy import linalg
    >>> linalg.expm(np.array([[0.0, 1.0], [-1.0, 0.0]]))  # a turn by one radian
    Array([[ 0.54030231,  0.84147098],
           [-0.84147098,  0.54030231]], dtype=float64)
    """
    x = _matrices(A, "expm", square=True)
    limit = static_int(max_squarings, "scipy.linalg.expm", "max_squarings")
    limit = min(limit, int(dt.finfo(x.dtype).maxexp))  # as many as any finite matrix takes
    if x.shape[-1] == 0:
        return x
    size = ew.stop_gradient(max_(sum_(ew.abs(x), -2), -1))
    tiny = like(size, float(np.finfo(size.dtype).tiny))
    needed = ew.max_(
        ew.ceil(ew.div(ew.log(ew.max_(ew.div(size, like(size, _REACH)), tiny)), like(size, math.log(2)))), like(size, 0)
    )
    count = ew.min_(needed, like(size, limit))
    factor = ew.exp2(ew.neg(count))
    whole = lambda v: cast(broadcast_value(v[..., None, None], x.shape), x.dtype)
    a = ew.mul(x, whole(factor))
    one = mx.identity(x.shape, x.dtype)
    a2 = mx.mm(a, a)
    a4 = mx.mm(a2, a2)
    a6 = mx.mm(a4, a2)
    b = [float(c) / _PADE[0] for c in _PADE]

    def series(*terms: tuple[float, Any]) -> Any:
        total = None
        for weight, power in terms:
            term = ew.mul(power, like(power, weight))
            total = term if total is None else ew.add(total, term)
        return total

    odd = ew.add(mx.mm(a6, series((b[13], a6), (b[11], a4), (b[9], a2))), series((b[7], a6), (b[5], a4), (b[3], a2), (b[1], one)))
    odd = mx.mm(a, odd)
    even = ew.add(
        mx.mm(a6, series((b[12], a6), (b[10], a4), (b[8], a2))), series((b[6], a6), (b[4], a4), (b[2], a2), (b[0], one))
    )
    out = ops.linear_solve(ew.sub(even, odd), ew.add(even, odd))
    for i in range(limit):
        more = broadcast_value(ew.gt(count, like(count, i))[..., None, None], x.shape)
        out = ew.select_n(more, out, mx.mm(out, out))
    failed = broadcast_value(ew.not_(ew.le(needed, like(needed, limit)))[..., None, None], x.shape)
    return ew.select_n(failed, out, like(out, np.nan))


def expm_frechet(A: Any, E: Any, *, method: Any = None, compute_expm: bool = True) -> Any:
    """(expm(A), its derivative in the direction E), or the derivative alone without compute_expm. method has no effect.

    >>> from funcgrad.scipy import linalg
    >>> linalg.expm_frechet(np.zeros((2, 2)), np.array([[1.0, 2.0], [3.0, 4.0]]), compute_expm=False)
    Array([[1., 2.],
           [3., 4.]], dtype=float64)
    """
    x, y = common_inexact(_matrices(A, "expm_frechet", square=True), _matrices(E, "expm_frechet", square=True))
    (value,), (along,) = jvp(lambda m: [expm(m)], [x], [y])
    return (value, along) if flag(compute_expm, "scipy.linalg.expm_frechet", "compute_expm") else along


def polar(a: Any, side: str = "right", *, method: str = "qdwh", eps: Any = None, max_iterations: Any = None) -> tuple[Any, Any]:
    """(U, P) with a = U P (side "left": P U), U with orthonormal columns (or rows) and P positive semidefinite.

    method, eps, max_iterations have no effect: the factor comes from the singular vectors.

    >>> from funcgrad.scipy import linalg
    >>> a = np.array([[0.0, -2.0], [3.0, 0.0]])
    >>> u, p = linalg.polar(a)
    >>> fnp.allclose(u @ p, a).item(), fnp.diagonal(p)
    (True, Array([3., 2.], dtype=float64))
    """
    if not among(side, ("left", "right")):
        raise _wrong("polar", f"side={side!r}", "'left' or 'right'", "side='right'")
    x = _matrices(a, "polar")
    u, _, vh = ops.svd(x, full_matrices=False, compute_uv=True)
    turn = mx.mm(u, vh)
    p = mx.mm(mx.h(turn), x) if side == "right" else mx.mm(x, mx.h(turn))
    return turn, ew.mul(ew.add(p, mx.h(p)), like(p, 0.5))


def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """(T, Z) with a = Z T Z^H; T is upper triangular, of real matrices with output="real" up to 2x2 blocks. No derivative.

    >>> from funcgrad.scipy import linalg
    >>> a = np.array([[0.0, 2.0], [-2.0, 0.0]])
    >>> t, z = linalg.schur(a, output="complex")
    >>> fnp.allclose(z @ t @ z.conj().T, a).item(), fnp.sort(fnp.diagonal(t).imag).round(12)
    (True, Array([-2.,  2.], dtype=float64))
    """
    if not among(output, ("real", "complex")):
        raise _wrong("schur", f"output={output!r}", "'real' or 'complex'", "output='complex'")
    x = _matrices(a, "schur", square=True)
    t, z = ops.schur(cast(x, mx.complex_dtype(x.dtype)) if output == "complex" else x)
    return t, z


def hessenberg(a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """H, zero below the first subdiagonal, with a = Q H Q^H; (H, Q) with calc_q. No derivative.

    >>> from funcgrad.scipy import linalg
    >>> a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])
    >>> h, q = linalg.hessenberg(a, calc_q=True)
    >>> fnp.allclose(q @ h @ q.T, a).item(), fnp.abs(h[2, 0]).round(12).item()
    (True, 0.0)
    """
    out, q = ops.hessenberg(_matrices(a, "hessenberg", square=True))
    return (out, q) if flag(calc_q, "scipy.linalg.hessenberg", "calc_q") else out


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """The principal square root of square matrices, always complex; differentiable where no eigenvalue is 0.

    blocksize has no effect.

    >>> from funcgrad.scipy import linalg
    >>> linalg.sqrtm(np.array([[4.0, 0.0], [0.0, -9.0]]))
    Array([[2.+0.j, 0.+0.j],
           [0.+0.j, 0.+3.j]], dtype=complex128)
    """
    return ops.sqrtm(_matrices(A, "sqrtm", square=True))


def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Any:
    """X with A X + X B = C; NaN where it is not determined. A: (m, m), B: (n, n), C: (m, n). method and tol have no effect.

    >>> from funcgrad.scipy import linalg
    >>> linalg.solve_sylvester(np.diag([1.0, 2.0]), np.array([[3.0]]), np.array([[4.0], [10.0]]))
    Array([[1.],
           [2.]], dtype=float64)
    """
    x, y, z = common_inexact(*[_matrices(m, "solve_sylvester") for m in (A, B, C)])
    return ops.sylvester(x, y, z)
