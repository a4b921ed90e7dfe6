"""Products of arrays: matmul, dot, tensordot, vdot, inner, outer, kron, vecdot. All become `dot_general` (BLAS).

`precision` is accepted for code from elsewhere: products are always computed in full precision. `preferred_element_type` is the
dtype of accumulation and of the result.
"""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, asked_at, made_at, message
from funcgrad.numpy._axes import axis_of, static_int, static_ints
from funcgrad.numpy._precision import check_precision
from funcgrad.numpy._promote import as_value, broadcast_shapes_of, cast, check_unsupported, values_of
from funcgrad.numpy.elementwise import conj, multiply
from funcgrad.numpy.structure import expand_dims, moveaxis, ravel, reshape, transpose
from funcgrad.ops.contract import dot_general
from funcgrad.ops.shape import squeeze
from funcgrad.trace.value import Value

__all__ = ["dot", "inner", "kron", "matmul", "matvec", "outer", "tensordot", "vdot", "vecdot", "vecmat"]


def operands(name: str, a: Any, b: Any, preferred: Any, precision: Any = None) -> tuple[Any, Any, np.dtype | None]:
    """Two values in the dtype of the product, and the dtype that it is to be converted to (None: as it is)."""
    if precision is not None:
        check_precision(precision, name)
    if not isinstance(a, Value) or not isinstance(b, Value) or a.aval.dtype != b.aval.dtype:
        a, b = values_of(name, a=a, b=b)
    if preferred is None:
        return a, b, None
    target = dt.canonical(preferred)
    own = a.aval.dtype
    if dt.category(target) < dt.category(own) or target in dt.KEYS:
        raise DtypeError(
            message(
                f"fnp.{name}: got preferred_element_type={dt.short_name(target)} for {dt.short_name(own)}",
                "a dtype of the operands' category or above",
                "convert the result with .astype(...)",
            )
        )
    wide = dt.promote_dtypes(own, target)
    return cast(a, wide), cast(b, wide), None if wide == target else target


def finish(x: Any, target: np.dtype | None) -> Any:
    """The product in the dtype that was asked for."""
    return x if target is None else cast(x, target)


def _mismatch(name: str, a: Any, b: Any, detail: str, fix: str) -> ShapeError:
    """The error about operands as the user gave them, before they were brought to one dtype."""
    a, b = as_value(a, name), as_value(b, name)
    return ShapeError(
        message(f"{name}: got {a.aval.str_short()}{made_at(a)} and {b.aval.str_short()}{made_at(b)}{asked_at()}", detail, fix)
    )


def matmul(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The matrix product `a @ b` over the last two axes; the axes before them broadcast. Vectors are rows on the left, columns on
    the right.

    Args: a: (..., m, k) or (k,). b: (..., k, n) or (k,). Both of one dtype after promotion.
    Returns: (..., m, n), without the axis of a vector.
    Raises: ShapeError for scalars and where the inner extents differ, naming both shapes.
    precision: accepted; products are always in full precision. preferred_element_type: the dtype of the products and the
    result.

    >>> fnp.matmul(fnp.array([[1, 2], [3, 4]]), fnp.array([[1, 0], [1, 1]]))
    Array([[3, 2],
           [7, 4]], dtype=int64)
    >>> fnp.matmul(fnp.ones((5, 2, 3)), fnp.ones((3, 4))).shape
    (5, 2, 4)
    """
    x, y, target = operands("matmul", a, b, preferred_element_type, precision)
    nx, ny = x.aval.ndim, y.aval.ndim
    if not nx or not ny:
        raise _mismatch("matmul (@)", a, b, "arrays with at least one axis", "x * y for a scalar")
    kx, ky = nx - 1, max(ny - 2, 0)
    if x.aval.shape[kx] != y.aval.shape[ky]:
        raise _mismatch(
            "matmul (@)", a, b,
            f"the last extent of the left ({x.aval.shape[kx]}) equals the {'second last' if ny > 1 else 'only'} "
            f"extent of the right ({y.aval.shape[ky]})",
            _matmul_fix(x.aval.shape, y.aval.shape),
        )  # fmt: skip
    if nx <= 2 and ny <= 2 or ny <= 2:
        return finish(dot_general(x, y, dimension_numbers=(((kx,), (ky,)), ((), ())), preferred_element_type=None), target)
    return finish(_batched(x, y), target)


def _matmul_fix(left: tuple[int, ...], right: tuple[int, ...]) -> str:
    if len(right) > 1 and left[-1] == right[-1]:
        return "x @ y.T (or fnp.matrix_transpose(y))"
    if len(left) > 1 and len(right) > 1 and left[-2] == right[-2]:
        return "x.T @ y (or fnp.matrix_transpose(x))"
    if len(left) > 1 and left[-2] == right[max(len(right) - 2, 0)]:
        return "x.T @ y (or fnp.matrix_transpose(x))"
    return "print both shapes; x.reshape(...) or .T to line the inner extents up"


def _batched(x: Value, y: Value) -> Any:
    """matmul where the right side has batch axes. Axes that only one side has, or has with extent 1 on the other, stay free."""
    xb, yb = x.aval.shape[:-2], y.aval.shape[:-2]
    if x.aval.ndim == 1:
        xb = ()
    broadcast_shapes_of([xb, yb], "matmul")
    rank = max(len(xb), len(yb))
    x_batch, y_batch, x_free, y_free, x_drop, y_drop = [], [], [], [], [], []
    for i in range(rank):
        ix, iy = i - rank + len(xb), i - rank + len(yb)
        ex, ey = xb[ix] if ix >= 0 else None, yb[iy] if iy >= 0 else None
        if ex is not None and ex == ey:
            x_batch.append((ix, i))
            y_batch.append(iy)
        elif ex is None or ex == 1 and ey is not None:
            y_free.append((iy, i))
            if ex is not None:
                x_drop.append(ix)
        else:
            x_free.append((ix, i))
            if ey is not None:
                y_drop.append(iy)
    row, column = rank, rank + 1
    x_rows = [] if x.aval.ndim == 1 else [row]
    order = [i for _, i in x_batch] + [i for _, i in x_free] + x_rows + [i for _, i in y_free] + [column]
    x = squeeze(x, dimensions=tuple(x_drop)) if x_drop else x
    y = squeeze(y, dimensions=tuple(y_drop)) if y_drop else y
    dims_x = tuple([i - sum(d < i for d in x_drop) for i, _ in x_batch])
    dims_y = tuple([i - sum(d < i for d in y_drop) for i in y_batch])
    numbers = (((x.aval.ndim - 1,), (y.aval.ndim - 2,)), (dims_x, dims_y))
    out = dot_general(x, y, dimension_numbers=numbers, preferred_element_type=None)
    return transpose(out, tuple(sorted(range(len(order)), key=order.__getitem__)))


def dot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """NumPy's dot: the product of scalars, otherwise a sum over the last axis of a and the second last (or only) axis of b.

    Raises: ShapeError where those extents differ. For matrices write `a @ b`.
    precision, preferred_element_type: as in `matmul`. out_sharding: must be None.

    >>> fnp.dot(fnp.array([1, 2, 3]), fnp.array([4, 5, 6]))
    Array(32, dtype=int64)
    >>> fnp.dot(fnp.array([[1, 2], [3, 4]]), fnp.array([10, 1]))
    Array([12, 34], dtype=int64)
    """
    _no_sharding("dot", out_sharding)
    x, y, target = operands("dot", a, b, preferred_element_type, precision)
    if x.ndim == 0 or y.ndim == 0:
        return finish(multiply(x, y), target)
    kx, ky = x.ndim - 1, max(y.ndim - 2, 0)
    if x.shape[kx] != y.shape[ky]:
        raise _mismatch(
            "dot",
            a,
            b,
            f"the last extent of a ({x.shape[kx]}) equals the contracted one of b ({y.shape[ky]})",
            "b.T, or fnp.tensordot with axes=",
        )
    return finish(dot_general(x, y, dimension_numbers=(((kx,), (ky,)), ((), ())), preferred_element_type=None), target)


def _no_sharding(name: str, out_sharding: Any) -> None:
    if out_sharding is not None:
        raise UsageError(message(f"fnp.{name}: got out_sharding", "None: arrays lie on one device", "leave out_sharding out"))


def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum of products over the last axes of both; of scalars, the product. Raises ShapeError where those extents differ.

    Returns: the other axes of a, then those of b. precision, preferred_element_type: as in `matmul`.

    >>> fnp.inner(fnp.array([[1, 2], [3, 4]]), fnp.array([[10, 1], [0, 1]]))
    Array([[12,  2],
           [34,  4]], dtype=int64)
    """
    x, y, target = operands("inner", a, b, preferred_element_type, precision)
    if x.ndim == 0 or y.ndim == 0:
        return finish(multiply(x, y), target)
    if x.shape[-1] != y.shape[-1]:
        raise _mismatch("inner", a, b, "equal last extents", "a.T or b.T")
    return finish(
        dot_general(x, y, dimension_numbers=(((x.ndim - 1,), (y.ndim - 1,)), ((), ())), preferred_element_type=None), target
    )


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """All products of an element of a with one of b (both flattened): shape (a.size, b.size).

    Args: a, b: arrays or scalars, brought to one dtype. out: must be None.

    >>> fnp.outer(fnp.array([1, 2]), fnp.array([10, 20, 30]))
    Array([[10, 20, 30],
           [20, 40, 60]], dtype=int64)
    """
    check_unsupported("outer", out=out)
    x, y = [ravel(v) for v in values_of("outer", a=a, b=b)]
    return multiply(expand_dims(x, 1), expand_dims(y, 0))


def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum of conj(a) * b over all elements of both, flattened. A scalar. Raises ShapeError for different sizes.

    precision, preferred_element_type: as in `matmul`.

    >>> fnp.vdot(fnp.array([1j, 2.0]), fnp.array([1j, 3.0]))
    Array(7.+0.j, dtype=complex64)
    """
    x, y = values_of("vdot", a=a, b=b)
    x = conj(x) if x.dtype in dt.COMPLEXES else x
    return dot(ravel(x), ravel(y), precision=precision, preferred_element_type=preferred_element_type)


def tensordot(
    a: Any, b: Any, axes: Any = 2, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None
) -> Any:
    """A sum of products over chosen axes: the last `axes` of a with the first of b, or `axes=(of_a, of_b)`.

    Returns: the axes of a that are left, then those of b. Raises: ShapeError where summed extents differ.
    precision, preferred_element_type: as in `matmul`. out_sharding: must be None.

    >>> fnp.tensordot(fnp.ones((2, 3, 4)), fnp.ones((3, 4, 5))).shape
    (2, 5)
    >>> fnp.tensordot(fnp.array([[1, 2], [3, 4]]), fnp.array([10, 1]), axes=([0], [0]))
    Array([13, 24], dtype=int64)
    """
    _no_sharding("tensordot", out_sharding)
    x, y, target = operands("tensordot", a, b, preferred_element_type, precision)
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            raise UsageError(
                message(
                    f"fnp.tensordot: got axes={axes}", "an integer, or a pair (axes of a, axes of b)", "axes=([0, 1], [1, 0])"
                )
            )
        left = tuple([axis_of(i, x.ndim, "tensordot", "axes") for i in static_ints(axes[0], "tensordot", "axes")])
        right = tuple([axis_of(i, y.ndim, "tensordot", "axes") for i in static_ints(axes[1], "tensordot", "axes")])
    else:
        n = static_int(axes, "tensordot", "axes")
        if not 0 <= n <= min(x.ndim, y.ndim):
            raise UsageError(
                message(
                    f"fnp.tensordot: got axes={n} for {x.aval.str_short()} and {y.aval.str_short()}",
                    "0 to the smaller rank",
                    "axes=1",
                )
            )
        left, right = tuple(range(x.ndim - n, x.ndim)), tuple(range(n))
    if len(left) != len(right) or [x.shape[i] for i in left] != [y.shape[i] for i in right]:
        raise _mismatch("tensordot", a, b, f"equal extents along the summed axes {left} and {right}", "mend axes=")
    return finish(dot_general(x, y, dimension_numbers=((left, right), ((), ())), preferred_element_type=None), target)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum of conj(x1) * x2 along `axis`; the other axes broadcast. Raises ShapeError where the extents differ.

    precision, preferred_element_type: as in `matmul`.

    >>> fnp.vecdot(fnp.array([[1, 2], [3, 4]]), fnp.array([10, 1]))
    Array([12, 34], dtype=int64)
    """
    x, y, target = operands("vecdot", x1, x2, preferred_element_type, precision)
    if x.ndim == 0 or y.ndim == 0:
        raise _mismatch("vecdot", x1, x2, "arrays with at least one axis", "x * y for scalars")
    i, j = axis_of(axis, x.ndim, "vecdot"), axis_of(axis, y.ndim, "vecdot")
    if x.shape[i] != y.shape[j]:
        raise _mismatch("vecdot", x1, x2, f"equal extents along axis {axis}", "mend axis=")
    x, y = moveaxis(x, i, -1), moveaxis(y, j, -1)
    x = conj(x) if x.dtype in dt.COMPLEXES else x
    return finish(squeeze_last_two(matmul(expand_dims(x, -2), expand_dims(y, -1))), target)


def squeeze_last_two(x: Any) -> Any:
    """An array (..., 1, 1) without its last two axes."""
    return squeeze(x, dimensions=(x.ndim - 2, x.ndim - 1))


def matvec(x1: Any, x2: Any, /) -> Any:
    """Matrices (..., m, n) times vectors (..., n): (..., m). Raises ShapeError where n differs.

    Args: x1, x2: arrays of numbers; the axes in front broadcast.

    >>> fnp.matvec(fnp.array([[1, 2], [3, 4]]), fnp.array([10, 1]))
    Array([12, 34], dtype=int64)
    """
    y = as_value(x2, "matvec", "x2")
    out = matmul(x1, expand_dims(y, -1))
    return squeeze(out, dimensions=(out.ndim - 1,))


def vecmat(x1: Any, x2: Any, /) -> Any:
    """Conjugated vectors (..., n) times matrices (..., n, m): (..., m). Raises ShapeError where n differs.

    Args: x1, x2: arrays of numbers; the axes in front broadcast.

    >>> fnp.vecmat(fnp.array([10, 1]), fnp.array([[1, 2], [3, 4]]))
    Array([13, 24], dtype=int64)
    """
    x = as_value(x1, "vecmat", "x1")
    x = conj(x) if x.dtype in dt.COMPLEXES else x
    out = matmul(expand_dims(x, -2), x2)
    return squeeze(out, dimensions=(out.ndim - 2,))


def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: every element of a times the whole of b, as blocks.

    Args: a, b: arrays or scalars, brought to one dtype. Returns: as many axes as the larger of both has, extents
    multiplied.

    >>> fnp.kron(fnp.array([[1, 2]]), fnp.array([[1, 1], [0, 1]]))
    Array([[1, 1, 2, 2],
           [0, 1, 0, 2]], dtype=int64)
    """
    x, y = values_of("kron", a=a, b=b)
    rank = max(x.ndim, y.ndim)
    x = expand_dims(x, tuple(range(rank - x.ndim))) if x.ndim < rank else x
    y = expand_dims(y, tuple(range(rank - y.ndim))) if y.ndim < rank else y
    wide = multiply(expand_dims(x, tuple(range(1, 2 * rank, 2))), expand_dims(y, tuple(range(0, 2 * rank, 2))))
    return reshape(wide, tuple([m * n for m, n in zip(x.shape, y.shape)]))
