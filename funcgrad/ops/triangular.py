"""cholesky and triangular_solve, by LAPACK and BLAS.

A matrix that is not positive definite, or has NaN, has a factor of NaN; a zero on the diagonal of a triangle gives infinities.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs

from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import ShapeError, message
from funcgrad.ir.loop_rules import Host
from funcgrad.ir.primitive import LinearArg, register
from funcgrad.ops import _matrix as mx
from funcgrad.ops import _small as small
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import add_tangents, like
from funcgrad.ops._samples import uniform
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of

# --- cholesky ---------------------------------------------------------------------------------------------------------------


def _cholesky_abstract(x: ShapedArray) -> ShapedArray:
    mx.check_matrices("cholesky", x, square=True)
    return shaped(x.shape, x.dtype)


def _cholesky_numpy(x: np.ndarray) -> np.ndarray:
    (out,) = mx.whole_or_each(lambda a: [np.linalg.cholesky(a)], x, outs=[(x.shape[-2:], x.dtype)])
    return np.tril(out)


def _cholesky_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    # With A = L L^H: L^-1 dA L^-H = L^-1 dL + (L^-1 dL)^H, so L^-1 dL is its lower triangle with half the diagonal.
    (x,), (t,) = primals, tangents
    out = cholesky(x)
    t = mx.hermitian_of_lower(t)
    left = triangular_solve(out, t, left_side=True, lower=True)
    both = triangular_solve(out, left, left_side=False, lower=True, transpose_a=True, conjugate_a=True)
    row, column = mx.places(aval_of(x).shape)
    low = ew.select_n(ew.eq(row, column), mx.lower_part(both, strict=True), ew.mul(both, like(both, 0.5)))
    return out, mx.mm(out, low)


def positive(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Samples of Hermitian positive definite matrices."""
    x = uniform(-1, 1)(rng, shape, dtype)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])).astype(dtype)


cholesky = Operator(
    "cholesky",
    abstract=_cholesky_abstract,
    numpy=_cholesky_numpy,
    jvp=_cholesky_jvp,
    transpose="it is not linear",
    batch="set below",
    loop=Host(native=small.of_one("cholesky")),
    dtypes=mx.MATRICES,
    samples=lambda rng, dtype: [((positive(rng, s, dtype),), {}) for s in ((3, 3), (2, 2, 2), (1, 1), (0, 0), (0, 2, 2))],
    doc="the lower triangular L with A = L L^H, of the Hermitian A whose lower triangle is the operand's",
)
cholesky.batch = mx.batched(cholesky)
register(cholesky)


# --- triangular_solve -----------------------------------------------------------------------------------------------------------


def _solve_abstract(
    a: ShapedArray, b: ShapedArray, *, left_side: bool, lower: bool, transpose_a: bool = False, conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> ShapedArray:  # fmt: skip
    mx.check_matrices("triangular_solve", a, b, square=True)
    if b.shape[-2 if left_side else -1] != a.shape[-1]:
        raise ShapeError(
            message(
                f"triangular_solve: got {format_avals((a, b))} with left_side={left_side}",
                "a right side with as many " + ("rows" if left_side else "columns") + " as the triangle has",
                "check the shapes, or left_side=",
            )
        )
    return shaped(b.shape, b.dtype)


def _solve_numpy(
    a: np.ndarray, b: np.ndarray, left_side: bool, lower: bool, transpose_a: bool = False, conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> np.ndarray:  # fmt: skip
    if b.size == 0:
        return np.empty(b.shape, b.dtype)
    if conjugate_a and not transpose_a:
        a = np.conj(a)
    (trsm,) = get_blas_funcs(("trsm",), dtype=b.dtype)
    trans = (2 if conjugate_a else 1) if transpose_a else 0
    out = np.empty(b.shape, b.dtype)
    for i in np.ndindex(*b.shape[:-2]):
        out[i] = trsm(1.0, a[i], b[i], side=0 if left_side else 1, lower=lower, trans_a=trans, diag=unit_diagonal)
    return out


def _solve_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    # op(A) X = B: X' = op(A)^-1 (B' - op(A') X), the same from the right.
    (a, b), (ta, tb) = primals, tangents
    out = triangular_solve(a, b, **params)
    moved = None
    if ta is not None:
        t = (mx.lower_part if params["lower"] else mx.upper_part)(ta, strict=params.get("unit_diagonal", False))
        t = mx.mt(t) if params.get("transpose_a", False) else t
        t = mx.conj(t) if params.get("conjugate_a", False) else t
        moved = ew.neg(mx.mm(t, out) if params["left_side"] else mx.mm(out, t))
    rhs = add_tangents(tb, moved)
    return out, None if rhs is None else triangular_solve(a, rhs, **params)


def _solve_transpose(ct: Any, a: Any, b: LinearArg, *, transpose_a: bool = False, **params: Any) -> list[Any]:
    return [None, triangular_solve(a, ct, transpose_a=not transpose_a, **params)]


def _solve_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    draw = uniform(-1, 1)
    found = []
    for k, (a, b, left) in enumerate(
        [((3, 3), (3, 2), True), ((3, 3), (2, 3), False), ((2, 2, 2), (2, 2, 3), True), ((2, 2), (2, 2), True)] * 2
        + [((0, 0), (0, 2), True), ((2, 2), (2, 0), True)]
    ):
        params = {"left_side": left, "lower": k % 2 == 0, "transpose_a": k % 3 == 1, "conjugate_a": k % 4 == 1}
        triangle = (draw(rng, a, dtype) + 2 * np.eye(a[-1])).astype(dtype)
        found.append(((triangle, draw(rng, b, dtype)), {**params, "unit_diagonal": k % 5 == 3}))
    return found


triangular_solve = Operator(
    "triangular_solve",
    abstract=_solve_abstract,
    numpy=_solve_numpy,
    jvp=_solve_jvp,
    transpose=_solve_transpose,
    batch="set below",
    loop=Host(native=small.triangular),
    dtypes=mx.MATRICES,
    samples=_solve_samples,
    doc="X with op(A) X = B (or X op(A) = B), A triangular; op transposes and conjugates",
)
triangular_solve.batch = mx.batched_with_columns(triangular_solve)
register(triangular_solve)

__all__ = ["cholesky", "positive", "triangular_solve"]
