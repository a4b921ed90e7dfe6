"""sylvester and sqrtm, by Schur forms; and the order of rows that the exchanges of an LU make."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import ShapeError, message
from funcgrad.ir.loop_rules import Host
from funcgrad.ir.primitive import register
from funcgrad.ops import _matrix as mx
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import add_tangents, check_dtypes
from funcgrad.ops._samples import uniform
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of


def _sylvester_abstract(a: ShapedArray, b: ShapedArray, c: ShapedArray) -> ShapedArray:
    mx.check_matrices("sylvester", a, b, c, square=True)
    if b.shape[-1] != b.shape[-2] or c.shape[-2:] != (a.shape[-1], b.shape[-1]):
        raise ShapeError(
            message(f"sylvester: got {format_avals((a, b, c))}", "a of m x m, b of n x n, c of m x n", "check the shapes")
        )
    return shaped(c.shape, c.dtype)


def _finite(*xs: np.ndarray) -> None:
    if not all(np.isfinite(x).all() for x in xs):
        raise np.linalg.LinAlgError


def _sylvester_numpy(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    def one(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Any:
        _finite(a, b, c)
        return [scipy.linalg.solve_sylvester(a, b, c)]

    return mx.each(one, a, b, c, outs=[(c.shape[-2:], c.dtype)])[0] if c.size else c


def _sylvester_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    # A X + X B = C: A X' + X' B = C' - A' X - X B'.
    (a, b, _), (ta, tb, tc) = primals, tangents
    out = sylvester(*primals)
    rhs = tc if ta is None else add_tangents(tc, ew.neg(mx.mm(ta, out)))
    rhs = rhs if tb is None else add_tangents(rhs, ew.neg(mx.mm(out, tb)))
    return out, sylvester(a, b, rhs)


def _definite(rng: np.random.Generator, n: int, dtype: np.dtype) -> np.ndarray:
    return (uniform(-0.5, 0.5)(rng, (n, n), dtype) + np.diag(np.arange(n) + 2.0)).astype(dtype)


sylvester = Operator(
    "sylvester",
    abstract=_sylvester_abstract,
    numpy=_sylvester_numpy,
    jvp=_sylvester_jvp,
    transpose=lambda ct, a, b, c: [None, None, sylvester(mx.mt(a), mx.mt(b), ct)],
    batch="set below",
    loop=Host(),
    dtypes=mx.MATRICES,
    samples=lambda rng, dtype: [
        ((_definite(rng, m, dtype), _definite(rng, n, dtype), uniform(-1, 1)(rng, (m, n), dtype)), {})
        for m, n in ((3, 2), (2, 3), (1, 1), (0, 2))
    ],
    doc="X with A X + X B = C",
)
sylvester.batch = mx.batched(sylvester)
register(sylvester)


def _sqrtm_abstract(x: ShapedArray) -> ShapedArray:
    mx.check_matrices("sqrtm", x, square=True)
    return shaped(x.shape, mx.complex_dtype(x.dtype))


def _sqrtm_numpy(x: np.ndarray) -> np.ndarray:
    dtype = mx.complex_dtype(x.dtype)

    def one(a: np.ndarray) -> Any:
        _finite(a)
        return [scipy.linalg.sqrtm(a.astype(dtype))]

    return mx.each(one, x, outs=[(x.shape[-2:], dtype)])[0] if x.size else x.astype(dtype)


def _sqrtm_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    # X X = A: X X' + X' X = A'.
    (x,), (t,) = primals, tangents
    out = sqrtm(x)
    return out, sylvester(out, out, mx.as_dtype(t, aval_of(out).dtype))


sqrtm = Operator(
    "sqrtm",
    abstract=_sqrtm_abstract,
    numpy=_sqrtm_numpy,
    jvp=_sqrtm_jvp,
    transpose="it is not linear",
    batch="set below",
    loop=Host(),
    dtypes=mx.MATRICES,
    samples=lambda rng, dtype: [((_definite(rng, n, dtype),), {}) for n in (3, 1, 0)],
    doc="the principal square root of a matrix, complex",
)
sqrtm.batch = mx.batched(sqrtm)
register(sqrtm)


def _pivots_abstract(pivots: ShapedArray, *, size: int) -> ShapedArray:
    check_dtypes("pivots_to_permutation", frozenset({dt.int32}), pivots)
    if not pivots.ndim or pivots.shape[-1] > size:
        raise ShapeError(
            message(f"pivots_to_permutation: got {pivots.str_short()} for {size} rows", "at most one exchange for each row", "lu")
        )
    return shaped((*pivots.shape[:-1], size), dt.int32)


def _pivots_numpy(pivots: np.ndarray, size: int) -> np.ndarray:
    order = np.broadcast_to(np.arange(size, dtype=np.int32), (*pivots.shape[:-1], size)).copy()
    for i in range(pivots.shape[-1]):
        other = pivots[..., i : i + 1]
        mine, theirs = order[..., i : i + 1].copy(), np.take_along_axis(order, other, -1)
        np.put_along_axis(order, other, mine, -1)
        order[..., i : i + 1] = theirs
    return order


pivots_to_permutation = Operator(
    "pivots_to_permutation",
    abstract=_pivots_abstract,
    numpy=_pivots_numpy,
    jvp=lambda primals, tangents, **params: (pivots_to_permutation(*primals, **params), None),
    transpose="its operand is an integer",
    batch="set below",
    loop=Host(),
    dtypes=frozenset({dt.int32}),
    samples=lambda rng, dtype: [
        ((rng.integers(0, n, (*lead, k), dtype=np.int32),), {"size": n}) for lead, k, n in (((), 3, 3), ((2,), 2, 4), ((), 0, 2))
    ],
    doc="the order of rows that exchanging row i with row pivots[i], one after the other, makes",
)
pivots_to_permutation.batch = mx.batched(pivots_to_permutation)
register(pivots_to_permutation)

__all__ = ["pivots_to_permutation", "sqrtm", "sylvester"]
