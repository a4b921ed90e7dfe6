"""Linear algebra as in `numpy.linalg`: products, norms, powers and condition numbers; the factorisations come from `_factor`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import ShapeError, UsageError, describe, message
from funcgrad.numpy import contract, diagonals, structure
from funcgrad.numpy._axes import axes_of, axis_of, concrete, static_int
from funcgrad.numpy._equations import det, inv, lstsq, matrix_rank, pinv, slogdet, solve, tensorinv, tensorsolve
from funcgrad.numpy._factor import cholesky, eig, eigh, eigvals, eigvalsh, matrices, qr, svd, svdvals
from funcgrad.numpy._promote import as_value, cast, common_dtype, common_inexact, operand
from funcgrad.numpy.arithmetic import power
from funcgrad.numpy.elementwise import multiply, subtract
from funcgrad.numpy.join import stack
from funcgrad.numpy.means import root
from funcgrad.numpy.reductions import any as any_
from funcgrad.numpy.reductions import keep
from funcgrad.numpy.reductions import max as max_
from funcgrad.numpy.reductions import min as min_
from funcgrad.numpy.reductions import sum as sum_
from funcgrad.numpy.reordering import unstack
from funcgrad.numpy.structure import broadcast_to, moveaxis
from funcgrad.numpy.triangles import eye
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.ops.reduce import reduce_sum
from funcgrad.ops.shape import expand_dims
from funcgrad.trace.value import Value

__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd",
    "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip

matrix_transpose, vecdot = structure.matrix_transpose, contract.vecdot


def matmul(x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """`fnp.matmul`: the matrix product over the last two axes, with its arguments.

    >>> fnp.linalg.matmul(fnp.array([[1, 2], [3, 4]]), fnp.array([[1, 0], [1, 1]]))
    Array([[3, 2],
           [7, 4]], dtype=int64)
    """
    return contract.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def tensordot(
    x1: Any, x2: Any, /, *, axes: Any = 2, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None
) -> Any:
    """`fnp.tensordot`: a sum of products over chosen axes, with its arguments.

    >>> fnp.linalg.tensordot(fnp.ones((2, 3)), fnp.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    return contract.tensordot(
        x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type, out_sharding=out_sharding
    )


def outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of a vector with one of another. Raises ShapeError for other ranks.

    Args: x1, x2: vectors, brought to one dtype.

    >>> fnp.linalg.outer(fnp.array([1, 2]), fnp.array([10, 20]))
    Array([[10, 20],
           [20, 40]], dtype=int64)
    """
    x, y = as_value(x1, "linalg.outer", "x1"), as_value(x2, "linalg.outer", "x2")
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(
            message(f"fnp.linalg.outer: got {x.aval.str_short()} and {y.aval.str_short()}", "two vectors", "fnp.outer flattens")
        )
    return contract.outer(x, y)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonal `offset` of the last two axes.

    >>> fnp.linalg.diagonal(fnp.arange(8).reshape(2, 2, 2))
    Array([[0, 3],
           [4, 7]], dtype=int64)
    """
    return diagonals.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of the diagonal `offset` of the last two axes. dtype: of the sum, as in `fnp.sum`.

    >>> fnp.linalg.trace(fnp.arange(8).reshape(2, 2, 2))
    Array([ 3, 11], dtype=int64)
    """
    return diagonals.trace(x, offset, -2, -1, dtype)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors of 3 elements along `axis`; the other axes broadcast. Raises ShapeError for other extents.

    Args: x1, x2: arrays of numbers, brought to one dtype.

    >>> fnp.linalg.cross(fnp.array([1, 0, 0]), fnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int64)
    """
    x, y = as_value(x1, "linalg.cross", "x1"), as_value(x2, "linalg.cross", "x2")
    if 0 in (x.ndim, y.ndim) or {v.shape[axis_of(axis, v.ndim, "linalg.cross")] for v in (x, y)} != {3}:
        raise ShapeError(
            message(
                f"fnp.linalg.cross: got {x.aval.str_short()} and {y.aval.str_short()}",
                "3 elements along the axis",
                "fnp.cross takes 2 too",
            )
        )
    return cross_of(x, y, axis, axis, axis)


def cross_of(x: Any, y: Any, axis_x: int, axis_y: int, axis_out: int) -> Any:
    """The cross product of vectors of 2 or 3 elements; of two with 2 elements it is the third component alone."""
    x, y = common_dtype(x, y)
    x, y = moveaxis(x, axis_x, -1), moveaxis(y, axis_y, -1)
    a, b = unstack(x, axis=-1), unstack(y, axis=-1)

    def part(i: int, j: int) -> Any:
        left = multiply(a[i], b[j]) if i < len(a) and j < len(b) else None
        right = multiply(a[j], b[i]) if j < len(a) and i < len(b) else None
        if left is None or right is None:
            zero = multiply(multiply(a[0], b[0]), 0) if left is None and right is None else None
            return zero if zero is not None else left if right is None else subtract(0, right)
        return subtract(left, right)

    last = part(0, 1)
    if len(a) == 2 and len(b) == 2:
        return last
    return stack([part(1, 2), part(2, 0), last], axis_out)


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """The product of two or more matrices (the first and last may be vectors), in the order that costs least.

    Args: arrays: a sequence of arrays. precision: as in `fnp.matmul`.
    Raises: UsageError for fewer than two; ShapeError where they do not fit.

    >>> fnp.linalg.multi_dot([fnp.ones((9, 2)), fnp.ones((2, 9)), fnp.array([1.0] * 9)])
    Array([18., 18., 18., 18., 18., 18., 18., 18., 18.], dtype=float32)
    """
    if not isinstance(arrays, Sequence):
        raise TypeError(message(f"fnp.linalg.multi_dot: got {type(arrays).__name__}", "a list of arrays", "[a, b, c]"))
    xs = [as_value(a, "linalg.multi_dot", f"arrays[{i}]") for i, a in enumerate(arrays)]
    if len(xs) < 2:
        raise UsageError(message(f"fnp.linalg.multi_dot: got {len(xs)} arrays", "two or more", "[a, b, c]"))
    if any([x.ndim != 2 for x in xs[1:-1]]) or any([x.ndim not in (1, 2) for x in (xs[0], xs[-1])]):
        raise ShapeError(
            message(
                f"fnp.linalg.multi_dot: got {[x.aval.str_short() for x in xs]}",
                "matrices, vectors only at the ends",
                "fnp.einsum",
            )
        )
    extents = [
        1 if xs[0].ndim == 1 else xs[0].shape[0],
        *[x.shape[0] for x in xs[1:]],
        1 if xs[-1].ndim == 1 else xs[-1].shape[1],
    ]
    split = _best_splits(extents)

    def product(i: int, j: int) -> Any:
        return xs[i] if i == j else contract.matmul(product(i, split[i, j]), product(split[i, j] + 1, j), precision=precision)

    return product(0, len(xs) - 1)


def _best_splits(p: list[int]) -> dict[tuple[int, int], int]:
    """Matrix chain order by dynamic programming: matrix i is p[i] x p[i + 1]."""
    n = len(p) - 1
    cost = {(i, i): 0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = {k: cost[i, k] + cost[k + 1, j] + p[i] * p[k + 1] * p[j + 1] for k in range(i, j)}
            split[i, j] = min(options, key=lambda k: options[k])
            cost[i, j] = options[split[i, j]]
    return split


def matrix_power(a: Any, n: int) -> Any:
    """A square matrix times itself `n` times; the identity for 0, powers of the inverse for n < 0. Raises ShapeError unless
    square.

    >>> fnp.linalg.matrix_power(fnp.array([[1, 1], [1, 0]]), 7)
    Array([[21, 13],
           [13,  8]], dtype=int64)
    """
    x = as_value(a, "linalg.matrix_power")
    k = static_int(n, "linalg.matrix_power", "n")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(message(f"fnp.linalg.matrix_power: got {x.aval.str_short()}", "square matrices", "x @ x.T"))
    if k < 0:
        x, k = inv(x), -k
    if k == 0:
        return broadcast_to(eye(x.shape[-1], dtype=x.dtype), x.shape)
    out = None
    while k:
        if k & 1:
            out = x if out is None else contract.matmul(out, x)
        k >>= 1
        x = contract.matmul(x, x) if k else x
    return out


# --- norms ------------------------------------------------------------------------------------------------------------------


def _root_of_squares(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """sqrt(sum |x|^2) with gradient 0 where it is 0."""
    if x.dtype in dt.COMPLEXES:
        re, im = ew.real(x), ew.imag(x)
        squares = ew.add(ew.square(re), ew.square(im))
    else:
        squares = ew.square(x)
    return root(keep(reduce_sum(squares, axes=axes), x, axes, keepdims) if axes else squares)


def _order(ord: Any) -> Any:
    """The order of the norm of vectors: a real number, known or traced, or None."""
    if isinstance(ord, (Value, np.ndarray)) and ord.ndim == 0 and ord.dtype in dt.BOOLS | dt.REALS:
        known = concrete(as_value(ord, "linalg.norm", "ord"))
        return ord if known is None else known[()]
    if ord is None or isinstance(ord, (int, float, np.integer, np.floating)):
        return ord
    given = describe(ord) if isinstance(ord, (Value, np.ndarray)) else repr(ord)
    raise UsageError(message(f"fnp.linalg.norm: got ord={given} for vectors", "None, or a real number", "ord=2"))


def _vector(x: Any, axes: tuple[int, ...], ord: Any, keepdims: bool) -> Any:
    ord = _order(ord)
    if ord is None or ord == 2:
        return _root_of_squares(x, axes, keepdims)
    size = ew.abs(x)
    if ord == np.inf:
        return max_(size, axes, keepdims=keepdims, initial=0 if 0 in [x.shape[i] for i in axes] else None)
    if ord == -np.inf:
        return min_(size, axes, keepdims=keepdims)
    if ord == 0:
        return cast(sum_(ew.ne(size, like(size, 0)), axes, keepdims=keepdims), size.dtype)
    if ord == 1:
        return sum_(size, axes, keepdims=keepdims)
    return root(sum_(power(size, ord), axes, keepdims=keepdims), ord)


def _matrix(x: Any, axes: tuple[int, int], ord: Any, keepdims: bool) -> Any:
    rows, columns = axes
    both = tuple(sorted(axes))
    if among(ord, (None, "fro", "f")):
        return _root_of_squares(x, both, keepdims)
    if among(ord, (1, -1, np.inf, -np.inf)):
        inner, outer_ = (rows, columns) if ord in (1, -1) else (columns, rows)
        sums = sum_(ew.abs(x), inner, keepdims=True)
        out = (max_ if ord > 0 else min_)(sums, outer_, keepdims=True)
        return out if keepdims else structure.squeeze(out, both)
    if among(ord, (2, -2, "nuc")):
        s = svdvals(moveaxis(x, (rows, columns), (-2, -1)))
        out = sum_(s, -1) if ord == "nuc" else max_(s, -1) if ord > 0 else min_(s, -1)
        return expand_dims(out, dimensions=both) if keepdims else out
    raise UsageError(
        message(f"fnp.linalg.norm: got ord={ord!r} for matrices", "None, 'fro', 'nuc', 1, -1, 2, -2, inf, -inf", "ord='fro'")
    )


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices; its gradient at 0 is 0.

    Args: x: array. ord: for vectors any number (2 by default; 0 counts what is not zero, inf and -inf are the extremes); for
    matrices None or "fro" (root of the sum of squares), 1, -1 (columns), inf, -inf (rows), 2, -2, "nuc" (singular values).
    axis: an integer for vectors, a pair for matrices, None for all of x (flattened where ord is None).
    keepdims: leave extents of 1.

    >>> fnp.linalg.norm(fnp.array([3.0, 4.0]))
    Array(5., dtype=float32)
    >>> x = fnp.array([[1.0, -2.0], [3.0, 4.0]])
    >>> fnp.linalg.norm(x, ord=1), fnp.linalg.norm(x, ord=1, axis=1)
    (Array(6., dtype=float32), Array([3., 7.], dtype=float32))
    >>> fg.grad(fnp.linalg.norm)(fnp.zeros(2))
    Array([0., 0.], dtype=float32)
    """
    v = as_value(common_inexact(operand(x, "linalg.norm", "x"))[0], "linalg.norm")
    if axis is None:
        if ord is None:
            return _root_of_squares(v, tuple(range(v.ndim)), keepdims)
        if v.ndim not in (1, 2):
            raise ShapeError(
                message(
                    f"fnp.linalg.norm: got {v.aval.str_short()} with ord={ord!r} and no axis",
                    "a vector or a matrix",
                    "axis=-1, or x.ravel()",
                )
            )
        axis = (0,) if v.ndim == 1 else (0, 1)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple([axis_of(a, v.ndim, "linalg.norm") for a in axes])
    if len(axes) == 1:
        return _vector(v, axes, ord, keepdims)
    if len(axes) == 2 and axes[0] != axes[1]:
        return _matrix(v, axes, ord, keepdims)  # type: ignore[arg-type]
    raise UsageError(message(f"fnp.linalg.norm: got axis={axis}", "one axis, or two different ones", "axis=-1"))


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors along `axis`: an integer, a tuple (taken together) or None for all elements. ord: as for vectors in
    `norm`.
    keepdims: leave extents of 1.

    >>> fnp.linalg.vector_norm(fnp.array([[3.0, 4.0], [5.0, 12.0]]), axis=1)
    Array([ 5., 13.], dtype=float32)
    """
    v = as_value(common_inexact(operand(x, "linalg.vector_norm", "x"))[0], "linalg.vector_norm")
    return _vector(v, axes_of(axis, v.ndim, "linalg.vector_norm"), ord, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of the matrices in the last two axes; ord as in `norm`. Raises ShapeError below two axes.

    keepdims: leave extents of 1.

    >>> fnp.linalg.matrix_norm(fnp.array([[3.0, 0.0], [0.0, 4.0]]))
    Array(5., dtype=float32)
    >>> fnp.linalg.matrix_norm(fnp.array([[3.0, 0.0], [0.0, 4.0]]), ord="nuc")
    Array(7., dtype=float32)
    """
    v = as_value(common_inexact(operand(x, "linalg.matrix_norm", "x"))[0], "linalg.matrix_norm")
    if v.ndim < 2:
        raise ShapeError(
            message(f"fnp.linalg.matrix_norm: got {v.aval.str_short()}", "two or more axes", "fnp.linalg.vector_norm")
        )
    return _matrix(v, (v.ndim - 2, v.ndim - 1), ord, keepdims)


def cond(x: Any, p: Any = None) -> Any:
    """The condition number: the largest over the smallest singular value (p None or 2; -2: the inverse), otherwise norm(x, p)
    norm(inv(x), p). Infinite for singular matrices.

    >>> fnp.linalg.cond(fnp.array([[4.0, 0.0], [0.0, 2.0]]))
    Array(2., dtype=float32)
    >>> fnp.linalg.cond(fnp.array([[1.0, 1.0], [1.0, 1.0]]), p=1)
    Array(inf, dtype=float32)
    """
    v = matrices(x, "linalg.cond", "x", square=not among(p, (None, 2, -2)))
    if 0 in v.shape[-2:]:
        raise ShapeError(message(f"fnp.linalg.cond: got {v.aval.str_short()}", "matrices with elements", "check x.shape"))
    if among(p, (None, 2, -2)):
        s = svdvals(v)
        r = ew.div(s[..., -1], s[..., 0]) if p == -2 else ew.div(s[..., 0], s[..., -1])
    else:
        r = multiply(matrix_norm(v, ord=p), matrix_norm(inv(v), ord=p))
    unknown = ew.and_(ew.ne(r, r), ew.not_(any_(ew.ne(v, v), (-2, -1))))
    return ew.select_n(unknown, r, like(r, np.inf))
