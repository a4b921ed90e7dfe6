"""Slices at known and at traced places under JAX's names. The dynamic ones are moved inside where they would reach out."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import ShapeError, UsageError, describe, message
from funcgrad.lax._table import sequence, strict, value
from funcgrad.numpy import structure as fshape
from funcgrad.numpy._axes import axis_of, fitting, static_int, static_ints
from funcgrad.numpy._promote import operand
from funcgrad.numpy.index import read_with
from funcgrad.ops import dynamic as _dynamic
from funcgrad.ops import elementwise as ew
from funcgrad.ops import shape as ops
from funcgrad.trace.value import Value

__all__ = [
    "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim", "dynamic_update_index_in_dim",
    "dynamic_update_slice", "dynamic_update_slice_in_dim", "index_in_dim", "index_take", "slice", "slice_in_dim",
]  # fmt: skip


# --- slices ------------------------------------------------------------------------------------------------------------------


def slice(operand: Any, start_indices: Any, limit_indices: Any, strides: Any = None) -> Any:
    """operand[start:limit:stride] on every axis; all are known numbers, within the extents (else ValueError).

    >>> lax.slice(fnp.arange(12).reshape(3, 4), (1, 0), (3, 4), (1, 2))
    Array([[ 4,  6],
           [ 8, 10]], dtype=int64)
    """
    x = value("slice", operand)
    return ops.slice_(
        x,
        start_indices=static_ints(start_indices, "lax.slice", "start_indices"),
        limit_indices=static_ints(limit_indices, "lax.slice", "limit_indices"),
        strides=(1,) * x.ndim if strides is None else static_ints(strides, "lax.slice", "strides"),
    )


def slice_in_dim(operand: Any, start_index: Any, limit_index: Any, stride: int = 1, axis: int = 0) -> Any:
    """operand[start:limit:stride] along one axis; negative numbers count from the end, None is the start or the end.

    >>> lax.slice_in_dim(fnp.arange(6), 1, -1, stride=2)
    Array([1, 3], dtype=int64)
    """
    x = value("slice_in_dim", operand)
    i = axis_of(axis, x.ndim, "lax.slice_in_dim")
    n = x.shape[i]
    start = 0 if start_index is None else static_int(start_index, "lax.slice_in_dim", "start_index")
    limit = n if limit_index is None else static_int(limit_index, "lax.slice_in_dim", "limit_index")
    start, limit = start + n if start < 0 else start, limit + n if limit < 0 else limit
    starts = tuple([start if k == i else 0 for k in range(x.ndim)])
    limits = tuple([limit if k == i else m for k, m in enumerate(x.shape)])
    return slice(x, starts, limits, tuple([stride if k == i else 1 for k in range(x.ndim)]))


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The element at a known index along an axis, which stays with extent 1 unless keepdims=False. IndexError out of range.

    >>> lax.index_in_dim(fnp.array([[1, 2], [3, 4]]), -1, axis=1)
    Array([[2],
           [4]], dtype=int64)
    >>> lax.index_in_dim(fnp.array([[1, 2], [3, 4]]), -1, axis=1, keepdims=False)
    Array([2, 4], dtype=int64)
    """
    x = value("index_in_dim", operand)
    i, k = axis_of(axis, x.ndim, "lax.index_in_dim"), static_int(index, "lax.index_in_dim", "index")
    n = x.shape[i]
    if not -n <= k < n:
        raise IndexError(
            message(f"lax.index_in_dim: got index {k} for axis {i} with size {n}", f"{-n} to {n - 1}", "check x.shape")
        )
    out = slice_in_dim(x, k % n, k % n + 1, axis=i)
    return out if flag(keepdims, "lax.index_in_dim", "keepdims") else fshape.squeeze(out, i)


def index_take(src: Any, idxs: Any, axes: Any) -> Any:
    """The slices of src at index vectors: idxs[k] are the indices along axes[k]; their common axis comes first.

    Negative indices count from the end; those out of range go to the nearest element.

    >>> lax.index_take(fnp.arange(6).reshape(2, 3), (fnp.array([1, 0]), fnp.array([2, -1])), axes=(0, 1))
    Array([5, 2], dtype=int64)
    """
    x = value("index_take", src, "src")
    places = [value("index_take", i, "idxs") for i in sequence("index_take", idxs, "idxs")]
    named = [axis_of(a, x.ndim, "lax.index_take", "axes") for a in static_ints(axes, "lax.index_take", "axes")]
    if len(named) != len(places) or len(set(named)) < len(named):
        raise UsageError(
            message(
                f"lax.index_take: got {len(places)} index vectors for axes={axes}",
                "one for each axis, each axis once",
                "axes=(0,)",
            )
        )
    rest = [k for k in range(x.ndim) if k not in named]
    return read_with(fshape.transpose(x, (*named, *rest)), tuple(places), "clip", None)


def _starts(name: str, x: Any, starts: Any, negative: Any) -> list[Any]:
    """Start indices as integer scalars; negative ones count from the end where `negative` (one bool, or one an axis) says so."""
    many: Any = starts
    if isinstance(starts, (Value, np.ndarray)) and starts.ndim == 1:
        items = [many[k] for k in range(many.shape[0])]
    elif isinstance(starts, (list, tuple, range)):
        items = list(starts)
    else:
        raise TypeError(message(f"lax.{name}: got {describe(starts)} for start_indices", "a sequence or a vector", "(0, 0)"))
    if len(items) != x.ndim:
        raise ShapeError(
            message(
                f"lax.{name}: got {len(items)} start indices for {x.aval.str_short()}",
                "one for each axis",
                "lax.dynamic_slice_in_dim for one axis",
            )
        )
    wraps = [negative] * x.ndim if isinstance(negative, (bool, np.bool_)) else negative
    if not isinstance(wraps, (list, tuple, np.ndarray)) or len(wraps) != x.ndim:
        raise UsageError(
            message(f"lax.{name}: got allow_negative_indices={negative!r}", "a bool, or one for each axis", "True or False")
        )
    return [_start(name, i, n, w) for i, n, w in zip(items, x.shape, wraps)]


def _start(name: str, i: Any, n: int, wraps: bool) -> Any:
    i = operand(i, f"lax.{name}", "start index")
    if not isinstance(i, Value):
        k = fitting(static_int(i, f"lax.{name}", "a start index"), f"lax.{name}", "a start index")
        return np.int64(k + n if wraps and k < 0 else k)
    d = i.aval.dtype
    if d not in dt.INTEGERS or i.aval.ndim:
        raise TypeError(message(f"lax.{name}: got a start index {i.aval.str_short()}", "an integer scalar", "i.astype(int)"))
    i = i if d == dt.uint64 else ew.convert(i, dt.int64)
    return ew.select_n(ew.lt(i, np.int64(0)), i, ew.add(i, np.int64(n))) if wraps and d not in dt.UNSIGNED else i


def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Any, *, allow_negative_indices: Any = True) -> Any:
    """The window of slice_sizes that begins at start_indices (traced or not), moved inside where it would reach out.

    start_indices: one integer for each axis, a sequence or a vector. slice_sizes: known numbers, within the extents.
    allow_negative_indices: whether negative ones count from the end (a bool, or one for each axis); otherwise they go to 0.

    >>> x = fnp.arange(12).reshape(3, 4)
    >>> lax.dynamic_slice(x, (1, 2), (2, 2))
    Array([[ 6,  7],
           [10, 11]], dtype=int64)
    >>> lax.dynamic_slice(x, (1, 3), (1, 2))  # moved: column 4 is not there
    Array([[6, 7]], dtype=int64)
    """
    x = value("dynamic_slice", operand)
    starts = _starts("dynamic_slice", x, start_indices, allow_negative_indices)
    return _dynamic.dynamic_slice(x, *starts, slice_sizes=static_ints(slice_sizes, "lax.dynamic_slice", "slice_sizes"))


def dynamic_slice_in_dim(
    operand: Any, start_index: Any, slice_size: int, axis: int = 0, *, allow_negative_indices: bool = True
) -> Any:
    """`dynamic_slice` along one axis, of slice_size elements.

    >>> fg.jit(lambda x, i: lax.dynamic_slice_in_dim(x, i, 2))(fnp.arange(6), 3)
    Array([3, 4], dtype=int64)
    """
    x = value("dynamic_slice_in_dim", operand)
    i = axis_of(axis, x.ndim, "lax.dynamic_slice_in_dim")
    starts = [start_index if k == i else 0 for k in range(x.ndim)]
    sizes = [static_int(slice_size, "lax.dynamic_slice_in_dim", "slice_size") if k == i else n for k, n in enumerate(x.shape)]
    return dynamic_slice(x, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(
    operand: Any, index: Any, axis: int = 0, keepdims: bool = True, *, allow_negative_indices: bool = True
) -> Any:
    """The element at an index (traced or not) along an axis; out of range: the nearest.

    keepdims: the axis stays, with extent 1. allow_negative_indices: whether -1 is the last element, or out of range.

    >>> lax.dynamic_index_in_dim(fnp.arange(10, 14), 2, keepdims=False)
    Array(12, dtype=int64)
    >>> lax.dynamic_index_in_dim(fnp.arange(10, 14), 99)
    Array([13], dtype=int64)
    """
    out = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return out if flag(keepdims, "lax.dynamic_index_in_dim", "keepdims") else fshape.squeeze(out, axis)


def dynamic_update_slice(operand: Any, update: Any, start_indices: Any, *, allow_negative_indices: Any = True) -> Any:
    """The operand with the window at start_indices replaced by `update`; the window is moved inside where it would reach out.

    update: of the operand's dtype and number of axes, no larger than it. Other arguments as for `dynamic_slice`.

    >>> lax.dynamic_update_slice(fnp.zeros(5), fnp.array([1.0, 2.0]), (1,))
    Array([0., 1., 2., 0., 0.], dtype=float32)
    >>> lax.dynamic_update_slice(fnp.zeros(5), fnp.array([1.0, 2.0]), (4,))  # moved: the update ends at the edge
    Array([0., 0., 0., 1., 2.], dtype=float32)
    """
    x, new = strict("dynamic_update_slice", operand, update, shapes=False)
    x, new = value("dynamic_update_slice", x), value("dynamic_update_slice", new, "update")
    return _dynamic.dynamic_update_slice(x, new, *_starts("dynamic_update_slice", x, start_indices, allow_negative_indices))


def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`dynamic_update_slice` along one axis; the update spans the others from 0.

    >>> lax.dynamic_update_slice_in_dim(fnp.zeros((2, 3)), fnp.ones((2, 1)), 1, axis=1)
    Array([[0., 1., 0.],
           [0., 1., 0.]], dtype=float32)
    """
    x = value("dynamic_update_slice_in_dim", operand)
    i = axis_of(axis, x.ndim, "lax.dynamic_update_slice_in_dim")
    return dynamic_update_slice(
        x, update, [start_index if k == i else 0 for k in range(x.ndim)], allow_negative_indices=allow_negative_indices
    )


def dynamic_update_index_in_dim(operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True) -> Any:
    """The operand with the element at `index` along an axis replaced; the update has extent 1 there, or no such axis.

    >>> lax.dynamic_update_index_in_dim(fnp.zeros((2, 3)), fnp.array([1.0, 2.0, 3.0]), 1, axis=0)
    Array([[0., 0., 0.],
           [1., 2., 3.]], dtype=float32)
    """
    x, new = value("dynamic_update_index_in_dim", operand), value("dynamic_update_index_in_dim", update, "update")
    i = axis_of(axis, x.ndim, "lax.dynamic_update_index_in_dim")
    if new.ndim == x.ndim - 1:
        new = fshape.expand_dims(new, i)
    return dynamic_update_slice_in_dim(x, new, index, i, allow_negative_indices=allow_negative_indices)
