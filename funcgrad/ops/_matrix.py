"""What the operators of linear algebra share: batched products, triangles, inverse differences, and loops over LAPACK.

Matrices are in the last two axes; all axes before them are a batch. The letters: H is the conjugate transpose, k the number
of singular values.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals
from funcgrad.core.errors import ShapeError, message
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import batch_at, broadcast_in_dim, check_dtypes, like, reduce_sum, reshape, transpose
from funcgrad.ops.contract import dot_general
from funcgrad.ops.convert import convert
from funcgrad.ops.shape import iota, slice_
from funcgrad.trace.value import aval_of

MATRICES = frozenset({dt.float32, dt.float64, dt.complex64, dt.complex128})
REAL_OF = {dt.complex64: dt.float32, dt.complex128: dt.float64}
COMPLEX_OF = {dt.float32: dt.complex64, dt.float64: dt.complex128}


def real_dtype(dtype: np.dtype) -> np.dtype:
    return REAL_OF.get(dtype, dtype)


def complex_dtype(dtype: np.dtype) -> np.dtype:
    return COMPLEX_OF.get(dtype, dtype)


def check_matrices(name: str, *avals: ShapedArray, square: bool = False) -> None:
    """An error unless all are batches of (square) matrices of one dtype and one batch shape."""
    check_dtypes(name, MATRICES, *avals)
    first = avals[0]
    wrong = any(a.ndim < 2 or a.dtype != first.dtype or a.shape[:-2] != first.shape[:-2] for a in avals)
    if wrong or (square and first.shape[-1] != first.shape[-2]):
        raise ShapeError(
            message(
                f"{name}: got {format_avals(avals)}",
                f"{'square ' if square else ''}matrices in the last two axes, of one dtype and one batch shape",
                "check x.shape, and the axes before the last two",
            )
        )


# --- on values ------------------------------------------------------------------------------------------------------------


def mt(x: Any) -> Any:
    """The transposed matrices."""
    n = aval_of(x).ndim
    return transpose(x, permutation=(*range(n - 2), n - 1, n - 2))


def conj(x: Any) -> Any:
    return ew.conj(x) if aval_of(x).dtype in dt.COMPLEXES else x


def h(x: Any) -> Any:
    """The conjugate transposed matrices."""
    return conj(mt(x))


def mm(x: Any, y: Any) -> Any:
    """The products of matrices of one batch shape."""
    n = aval_of(x).ndim
    batch = tuple(range(n - 2))
    return dot_general(x, y, dimension_numbers=(((n - 1,), (n - 2,)), (batch, batch)), preferred_element_type=None)


def real(x: Any) -> Any:
    return ew.real(x) if aval_of(x).dtype in dt.COMPLEXES else x


def as_dtype(x: Any, dtype: np.dtype) -> Any:
    return convert(x, dtype)


def columns(v: Any, shape: tuple[int, ...]) -> Any:
    """The vectors (..., n) repeated down the rows of (..., m, n): element j stands in column j."""
    n = len(shape)
    return broadcast_in_dim(v, shape=shape, dims=(*range(n - 2), n - 1))


def rows(v: Any, shape: tuple[int, ...]) -> Any:
    """The vectors (..., m) repeated along the columns of (..., m, n): element i stands in row i."""
    return broadcast_in_dim(v, shape=shape, dims=tuple(range(len(shape) - 1)))


def places(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The row and the column of each element."""
    n = len(shape)
    return iota(dtype=dt.int64, shape=shape, dimension=n - 2), iota(dtype=dt.int64, shape=shape, dimension=n - 1)


def keep_where(mask: Any, x: Any) -> Any:
    """x where the mask holds, 0 elsewhere (which takes no gradient)."""
    return ew.select_n(mask, like(x, 0), x)


def lower_part(x: Any, strict: bool = False) -> Any:
    """The lower triangle, without the diagonal where strict."""
    row, column = places(aval_of(x).shape)
    return keep_where(ew.gt(row, column) if strict else ew.ge(row, column), x)


def upper_part(x: Any, strict: bool = False) -> Any:
    row, column = places(aval_of(x).shape)
    return keep_where(ew.lt(row, column) if strict else ew.le(row, column), x)


def diagonal_part(x: Any) -> Any:
    row, column = places(aval_of(x).shape)
    return keep_where(ew.eq(row, column), x)


def diagonal(x: Any) -> Any:
    """The diagonals of square matrices, as vectors."""
    return reduce_sum(diagonal_part(x), axes=(aval_of(x).ndim - 1,))


def trace(x: Any) -> Any:
    n = aval_of(x).ndim
    return reduce_sum(diagonal_part(x), axes=(n - 2, n - 1))


def identity(shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Ones on the diagonal of matrices of any shape."""
    row, column = places(shape)
    return convert(ew.eq(row, column), dtype)


def hermitian_of_lower(x: Any) -> Any:
    """The Hermitian matrix whose lower triangle is that of x."""
    low, on = lower_part(x, strict=True), diagonal_part(x)
    if aval_of(x).dtype in dt.COMPLEXES:
        on = ew.complex_(ew.real(on), like(ew.real(on), 0))
    return ew.add(ew.add(low, on), h(low))


def part(x: Any, row_limit: int | None = None, column_limit: int | None = None, row_start: int = 0, column_start: int = 0) -> Any:
    """x[..., row_start:row_limit, column_start:column_limit]."""
    shape = aval_of(x).shape
    stop_r = shape[-2] if row_limit is None else row_limit
    stop_c = shape[-1] if column_limit is None else column_limit
    if (row_start, column_start, stop_r, stop_c) == (0, 0, shape[-2], shape[-1]):
        return x
    starts = (0,) * (len(shape) - 2) + (row_start, column_start)
    return slice_(x, start_indices=starts, limit_indices=(*shape[:-2], stop_r, stop_c), strides=(1,) * len(shape))


def inverse_differences(x: Any) -> Any:
    """F[i, j] = 1 / (x[j] - x[i]) for vectors of numbers; 0 where two are equal to within rounding.

    A function that does not depend on how the vectors of a repeated value are chosen has no component along those entries; with
    0 there its derivative is right, and finite."""
    aval = aval_of(x)
    n = aval.shape[-1]
    shape = (*aval.shape, n)
    left, right = rows(x, shape), columns(x, shape)
    difference = ew.sub(right, left)
    size = ew.max_(ew.abs(left), ew.abs(right))
    rounding = like(size, float(np.finfo(aval.dtype).eps) * 4 * max(n, 1))
    equal = ew.le(ew.abs(difference), ew.mul(size, rounding))
    return inverse_unless(equal, difference)


def inverse_unless(zero: Any, x: Any) -> Any:
    """1 / x, and 0 where the mask holds."""
    one = like(x, 1)
    return ew.select_n(zero, ew.div(one, ew.select_n(zero, x, one)), like(x, 0))


def safe_inverse(x: Any) -> Any:
    """1 / x, and 0 for 0."""
    return inverse_unless(ew.eq(x, like(x, 0)), x)


# --- batching -------------------------------------------------------------------------------------------------------------


def batched(op: Callable[..., Any]) -> Callable[..., Any]:
    """The batch rule of an operator on batches of matrices: all operands get the batch as their first axis."""

    def batch(size: int, args: Sequence[Any], dims: Sequence[int | None], /, **params: Any) -> Any:
        out = op(*[batch_at(x, d, size) for x, d in zip(args, dims, strict=True)], **params)
        return (out, [0] * len(out)) if isinstance(out, (list, tuple)) else (out, 0)

    return batch


def batched_with_columns(op: Callable[..., Any]) -> Callable[..., Any]:
    """As `batched` for op(a, b), linear in the columns of b: a batch of b alone becomes more columns, so that a is
    factorised once."""
    general = batched(op)

    def batch(size: int, args: Sequence[Any], dims: Sequence[int | None], /, **params: Any) -> Any:
        (a, b), (da, db) = args, dims
        if da is not None or db is None or not params.get("left_side", True):
            return general(size, args, dims, **params)
        b = batch_at(b, db, size, aval_of(b).ndim - 2)  # (..., n, size, k)
        shape = aval_of(b).shape
        out = op(a, reshape(b, shape=(*shape[:-2], shape[-2] * shape[-1])), **params)
        return reshape(out, shape=shape), len(shape) - 2

    return batch


# --- on arrays ------------------------------------------------------------------------------------------------------------


def each(fun: Callable[..., Any], *xs: np.ndarray, outs: Sequence[tuple[tuple[int, ...], np.dtype]]) -> list[np.ndarray]:
    """`fun` of each matrix of a batch (of the last two axes of all xs) as a list of results of these shapes and dtypes.

    Where it raises LinAlgError the result is NaN."""
    batch = xs[0].shape[:-2]
    results = [np.empty((*batch, *shape), dtype) for shape, dtype in outs]
    for i in np.ndindex(*batch):
        try:
            found = fun(*[x[i] for x in xs])
        except np.linalg.LinAlgError:
            found = [np.nan if dtype.kind in "fc" else 0 for _, dtype in outs]
        for result, one in zip(results, found, strict=True):
            result[i] = one
    return results


def whole_or_each(fun: Callable[..., Any], *xs: np.ndarray, outs: Sequence[tuple[tuple[int, ...], np.dtype]]) -> list[np.ndarray]:
    """`fun` of the batch at once; where it raises LinAlgError, of each matrix, with NaN for those that raise."""
    with np.errstate(all="ignore"):
        try:
            return [np.asarray(x) for x in fun(*xs)]
        except np.linalg.LinAlgError:
            return each(fun, *xs, outs=outs)
