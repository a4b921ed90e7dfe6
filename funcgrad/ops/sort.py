"""sort: several operands sorted together along an axis; top_k: the largest elements and their places.

NaN comes last, as in NumPy. The first `num_keys` operands are compared, the others go along. Sorting is always stable.
Derivatives follow the permutation.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.ir.loop_rules import Host
from funcgrad.ir.primitive import register
from funcgrad.ops._family import batch_at, check_dtypes, expand_dims_last
from funcgrad.ops._indexing import GatherDimensionNumbers
from funcgrad.ops._samples import NARROW, uniform
from funcgrad.ops.gathering import gather
from funcgrad.ops.shape import iota
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of

_KEYS = dt.BOOLS | dt.NUMBERS


def take_along(x: Any, indices: Any, axis: int) -> Any:
    """x[..., indices[...], ...]: along `axis` each line of x is read at the places that its line of indices names (all of them
    within the operand)."""
    rank = aval_of(x).ndim
    others = tuple(i for i in range(rank) if i != axis)
    numbers = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    return gather(
        x,
        expand_dims_last(indices),
        dimension_numbers=numbers,
        slice_sizes=(1,) * rank,
        mode="promise_in_bounds",
        fill_value=None,
    )


# --- sort -----------------------------------------------------------------------------------------------------


def _sort_abstract(*operands: ShapedArray, dimension: int, is_stable: bool = True, num_keys: int = 1) -> list[ShapedArray]:
    shape = operands[0].shape
    if any(x.shape != shape for x in operands) or not 0 <= dimension < len(shape):
        raise ShapeError(
            message(
                f"sort: got {format_avals(operands)} along axis {dimension}",
                "operands of one shape that has this axis",
                "mend axis=",
            )
        )
    if not 1 <= num_keys <= len(operands):
        raise UsageError(
            message(f"sort: got num_keys={num_keys} for {len(operands)} operands", f"1 to {len(operands)}", "num_keys=1")
        )
    check_dtypes("sort", _KEYS, *operands[:num_keys])
    return list(operands)


def _comparable(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype in NARROW else x


def _sort_numpy(*operands: np.ndarray, dimension: int, is_stable: bool = True, num_keys: int = 1) -> list[np.ndarray]:
    if len(operands) == 1:
        (x,) = operands
        if x.dtype in NARROW:
            return [np.sort(x.astype(np.float32), dimension).astype(x.dtype)]
        return [np.sort(x, dimension)]
    keys = [_comparable(x) for x in operands[:num_keys]]
    order = np.argsort(keys[0], dimension, kind="stable") if num_keys == 1 else np.lexsort(keys[::-1], dimension)
    return [np.take_along_axis(x, order, dimension) for x in operands]


def _sort_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, dimension: int, is_stable: bool = True, num_keys: int = 1
) -> Any:
    moving = [t is not None and aval_of(x).dtype in dt.INEXACT for x, t in zip(primals, tangents, strict=True)]
    params = {"dimension": dimension, "is_stable": is_stable, "num_keys": num_keys}
    if not any(moving):
        return sort(*primals, **params), [None] * len(primals)
    places = iota(dtype=dt.int64, shape=aval_of(primals[0]).shape, dimension=dimension)
    *outs, order = sort(*primals, places, **params)
    return outs, [take_along(t, order, dimension) if m else None for t, m in zip(tangents, moving, strict=True)]


def _sort_batch(
    size: int, args: Sequence[Any], dims: Sequence[int | None], *, dimension: int, is_stable: bool = True, num_keys: int = 1
) -> Any:
    args = [batch_at(x, d, size) for x, d in zip(args, dims, strict=True)]
    return sort(*args, dimension=dimension + 1, is_stable=is_stable, num_keys=num_keys), [0] * len(args)


def _sort_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    draw = uniform(-9, 9)
    found: list[Any] = []
    for shape, axis in (((6,), 0), ((2, 4), 1), ((4, 3), 0), ((0, 2), 0)):
        params = {"dimension": axis, "is_stable": True, "num_keys": 1}
        x = draw(rng, shape, dtype)
        found.append(((x,), params))
        found.append(((x, draw(rng, shape, dtype), draw(rng, shape, dt.int32)), params))
        found.append(((draw(rng, shape, dt.bool_), x, draw(rng, shape, dtype)), params | {"num_keys": 2}))
    return found


sort = Operator(
    "sort",
    abstract=_sort_abstract,
    numpy=_sort_numpy,
    jvp=_sort_jvp,
    transpose="its tangent is a gather",
    batch=_sort_batch,
    loop=Host(),
    dtypes=_KEYS,
    samples=_sort_samples,
    multiple_results=True,
    doc="operands sorted together along an axis, by the first of them",
)
register(sort)


# --- top_k ------------------------------------------------------------------------------------------------------


def _top_k_abstract(x: ShapedArray, *, k: int) -> list[ShapedArray]:
    check_dtypes("top_k", dt.BOOLS | dt.REALS, x)
    if not x.ndim or not 0 <= k <= x.shape[-1]:
        raise ShapeError(message(f"top_k: got k={k} for {x.str_short()}", "0 <= k <= the extent of the last axis", "a smaller k"))
    shape = (*x.shape[:-1], k)
    return [shaped(shape, x.dtype), shaped(shape, dt.int32)]


def _top_k_numpy(x: np.ndarray, k: int) -> list[np.ndarray]:
    keys, n = _comparable(x), x.shape[-1]
    if x.size and 0 < k <= n // 4:
        chosen = _largest(keys, k)
        order = np.take_along_axis(chosen, _descending(np.take_along_axis(keys, chosen, -1)), -1)
    else:
        order = _descending(keys)[..., :k]
    return [np.take_along_axis(x, order, -1), order.astype(np.int32)]


def _descending(keys: np.ndarray) -> np.ndarray:
    """The order from the largest down; reversed twice, so that of equals the one with the lower index comes first."""
    return (keys.shape[-1] - 1 - np.argsort(keys[..., ::-1], -1, kind="stable"))[..., ::-1]


def _largest(keys: np.ndarray, k: int) -> np.ndarray:
    """The places of the k largest along the last axis, in the order of their indices: those above the k-th, and of those that
    equal it the first ones."""
    n = keys.shape[-1]
    limit = np.partition(keys, n - k, -1)[..., n - k, None]
    above, equal = keys > limit, keys == limit
    if keys.dtype in dt.FLOATS and np.isnan(keys.max()):  # NaN is the largest
        nan, all_nan = np.isnan(keys), np.isnan(limit)
        above, equal = above | (nan & ~all_nan), equal | (nan & all_nan)
    missing = k - np.count_nonzero(above, -1, keepdims=True)
    if (np.count_nonzero(equal, -1, keepdims=True) > missing).any():
        equal &= equal.cumsum(-1) <= missing
    return (np.flatnonzero(above | equal) % n).reshape(*keys.shape[:-1], k)


def _top_k_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, k: int) -> Any:
    (x,), (t,) = primals, tangents
    values, indices = top_k(x, k=k)
    if t is None or aval_of(x).dtype not in dt.INEXACT:
        return [values, indices], [None, None]
    return [values, indices], [take_along(t, indices, aval_of(x).ndim - 1), None]


top_k = Operator(
    "top_k",
    abstract=_top_k_abstract,
    numpy=_top_k_numpy,
    jvp=_top_k_jvp,
    transpose="its tangent is a gather",
    batch=lambda size, args, dims, k: (top_k(batch_at(args[0], dims[0], size), k=k), [0, 0]),
    loop=Host(),
    dtypes=dt.BOOLS | dt.REALS,
    samples=lambda rng, dtype: [
        ((uniform(-9, 9)(rng, shape, dtype),), {"k": k}) for shape, k in (((6,), 2), ((2, 4), 4), ((3, 3), 0))
    ],
    multiple_results=True,
    doc="the k largest elements along the last axis, in descending order (NaN first), and their places as int32",
)
register(top_k)
