"""Products of arrays, and sorting, under JAX's names."""

from collections.abc import Sequence
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import ShapeError, message
from funcgrad.lax._table import no_sharding, sequence, strict, value
from funcgrad.numpy import structure as fshape
from funcgrad.numpy._axes import axis_of, pairs_of, static_int
from funcgrad.numpy._precision import check_precision
from funcgrad.ops import sort as _sort
from funcgrad.ops.contract import dot_general as _dot_general
from funcgrad.trace.value import Value

__all__ = [
    "batch_matmul", "dot", "dot_general", "sort", "sort_key_val", "top_k",
]  # fmt: skip


# --- products ----------------------------------------------------------------------------------------------------------------


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Sums of products over contracted axes, side by side over batch axes.

    dimension_numbers: ((lhs contracted, rhs contracted), (lhs batch, rhs batch)). The result has the batch axes, then what is
    left of lhs, then of rhs. precision: accepted, products are always in full precision. preferred_element_type: the dtype of
    the sums and the result. out_sharding: must be None.

    >>> x, y = fnp.ones((8, 2, 3)), fnp.ones((8, 3, 4))
    >>> lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))).shape
    (8, 2, 4)
    """
    no_sharding("dot_general", out_sharding)
    check_precision(precision, "lax.dot_general")
    x, y = strict("dot_general", lhs, rhs, shapes=False)
    (xc, yc), (xb, yb) = pairs_of(dimension_numbers, "lax.dot_general")
    x, y = value("dot_general", x), value("dot_general", y)

    def axes(a: Any, v: Any) -> tuple[int, ...]:
        return tuple([axis_of(i, v.ndim, "lax.dot_general", "dimension_numbers") for i in a])

    numbers = ((axes(xc, x), axes(yc, y)), (axes(xb, x), axes(yb, y)))
    target = None if preferred_element_type is None else dt.canonical(preferred_element_type)
    return _dot_general(x, y, dimension_numbers=numbers, preferred_element_type=target)


def dot(lhs: Any, rhs: Any, *, dimension_numbers: Any = None, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """vector x vector, matrix x vector, matrix x matrix; or `dot_general` where dimension_numbers are given.

    >>> lax.dot(fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0]))
    Array(11., dtype=float32)
    >>> lax.dot(np.int8([100, 100]), np.int8([2, 2]), preferred_element_type=np.int32)
    Array(400, dtype=int32)
    """
    if dimension_numbers is None:
        x, y = value("dot", lhs, "lhs"), value("dot", rhs, "rhs")
        if not 1 <= x.ndim <= 2 or not 1 <= y.ndim <= 2 or x.shape[-1] != y.shape[0]:
            raise ShapeError(
                message(
                    f"lax.dot: got {x.aval.str_short()} and {y.aval.str_short()}",
                    "vectors or matrices whose inner extents are equal",
                    "x @ y.T",
                )
            )
        dimension_numbers = (((x.ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Matrix products over the last two axes; the axes before them are equal (`fnp.matmul` broadcasts them).

    >>> lax.batch_matmul(fnp.ones((5, 2, 3)), fnp.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    x, y = value("batch_matmul", lhs, "lhs"), value("batch_matmul", rhs, "rhs")
    if x.ndim < 2 or y.ndim < 2 or x.shape[:-2] != y.shape[:-2]:
        raise ShapeError(
            message(
                f"lax.batch_matmul: got {x.aval.str_short()} and {y.aval.str_short()}",
                "equal leading extents, two or more axes",
                "fnp.matmul, which broadcasts",
            )
        )
    batch = tuple(range(x.ndim - 2))
    return dot_general(x, y, (((x.ndim - 1,), (y.ndim - 2,)), (batch, batch)), precision)


# --- sorting -----------------------------------------------------------------------------------------------------------------


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """An array sorted along an axis; of several (a tuple), by the first num_keys of them, the others go along: a tuple.

    NaNs come last. is_stable: equal elements keep their order; sorting is always stable here.

    >>> lax.sort(fnp.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int64)
    >>> lax.sort((fnp.array([1, 0, 1]), fnp.array([3, 2, 1])), num_keys=2)
    (Array([0, 1, 1], dtype=int64), Array([2, 1, 3], dtype=int64))
    """
    many = isinstance(operand, Sequence) and not isinstance(operand, Value)
    xs = [value("sort", x) for x in (sequence("sort", operand, "operand") if many else (operand,))]
    if len({x.shape for x in xs}) > 1:
        raise ShapeError(
            message(f"lax.sort: got shapes {[x.shape for x in xs]}", "operands of one shape", "fnp.broadcast_arrays")
        )
    out = _sort.sort(
        *xs,
        dimension=axis_of(dimension, xs[0].ndim, "lax.sort", "dimension"),
        is_stable=flag(is_stable, "lax.sort", "is_stable"),
        num_keys=static_int(num_keys, "lax.sort", "num_keys"),
    )
    return tuple(out) if many else out[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Keys sorted along an axis, and values in the same order.

    >>> lax.sort_key_val(fnp.array([3, 1, 2]), fnp.array([30, 10, 20]))
    (Array([1, 2, 3], dtype=int64), Array([10, 20, 30], dtype=int64))
    """
    out = sort((keys, values), dimension, is_stable, 1)
    return out[0], out[1]


def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Any]:
    """The k largest elements along an axis, the largest first, and their positions (int32); of equal ones the first comes first.

    >>> lax.top_k(fnp.array([3, 9, 1, 9]), 2)
    [Array([9, 9], dtype=int64), Array([1, 3], dtype=int32)]
    """
    x = value("top_k", operand)
    i = axis_of(axis, x.ndim, "lax.top_k")
    values, places = _sort.top_k(fshape.moveaxis(x, i, -1), k=static_int(k, "lax.top_k", "k"))
    return [fshape.moveaxis(values, -1, i), fshape.moveaxis(places, -1, i)]
