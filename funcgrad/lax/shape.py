"""Structure, slices, reductions, products and sorting under JAX's names: static params, no broadcasting."""

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.lax.elementwise import strict
from funcgrad.numpy import join
from funcgrad.numpy import structure as fshape
from funcgrad.numpy._axes import axes_of, axis_of, shape_of, static_int, static_ints
from funcgrad.numpy._precision import check_precision
from funcgrad.numpy._promote import as_value, broadcast_value, operand
from funcgrad.numpy.creation import full as _full
from funcgrad.numpy.creation import full_like as _full_like
from funcgrad.numpy.index import read_with
from funcgrad.ops import cumulative as _cumulative
from funcgrad.ops import dynamic as _dynamic
from funcgrad.ops import elementwise as ew
from funcgrad.ops import reduce as _reduce
from funcgrad.ops import shape as ops
from funcgrad.ops import sort as _sort
from funcgrad.ops.contract import dot_general as _dot_general
from funcgrad.trace.value import Value

__all__ = [
    "argmax", "argmin", "batch_matmul", "broadcast", "broadcast_in_dim", "broadcast_like", "broadcast_shapes", "broadcasted_iota",
    "collapse", "concatenate", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "dot", "dot_general",
    "dynamic_index_in_dim",
    "dynamic_slice", "dynamic_slice_in_dim", "dynamic_update_index_in_dim", "dynamic_update_slice",
    "dynamic_update_slice_in_dim", "empty", "expand_dims", "full", "full_like", "index_in_dim", "index_take", "iota", "pad",
    "reduce_and",
    "reduce_max", "reduce_min", "reduce_or", "reduce_prod", "reduce_sum", "reduce_xor", "reshape", "rev", "slice", "slice_in_dim",
    "sort", "sort_key_val", "split", "squeeze", "stack", "tile", "top_k", "transpose", "unstack",
]  # fmt: skip


def _v(name: str, x: Any, arg: str = "operand") -> Any:
    return as_value(x, f"lax.{name}", arg)


def _no_sharding(name: str, sharding: Any) -> None:
    if sharding is not None:
        raise UsageError(message(f"lax.{name}: got a sharding", "None: arrays lie on one device", "leave it out"))


# --- making -----------------------------------------------------------------------------------------------------------------


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of `shape` filled with a scalar."""
    _no_sharding("full", sharding)
    return _full(shape, fill_value, dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None) -> Any:
    """An array filled with a scalar, of the shape and dtype of x unless they are given."""
    _no_sharding("full_like", sharding)
    return _full_like(x, fill_value, dtype, shape)


def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Any:
    """Zeros: arrays are immutable, so there is nothing that would fill an empty one."""
    _no_sharding("empty", out_sharding)
    return _full(shape, 0, dtype)


def iota(dtype: Any, size: Any) -> Any:
    """0, 1, ..., size - 1 in this dtype."""
    return ops.iota(dtype=dt.canonical(dtype), shape=(static_int(size, "lax.iota", "size"),), dimension=0)


def broadcasted_iota(dtype: Any, shape: Any, dimension: int, *, out_sharding: Any = None) -> Any:
    """The position along axis `dimension`, in an array of this shape."""
    _no_sharding("broadcasted_iota", out_sharding)
    extents = shape_of(shape, "lax.broadcasted_iota")
    return ops.iota(
        dtype=dt.canonical(dtype), shape=extents, dimension=axis_of(dimension, len(extents), "lax.broadcasted_iota", "dimension")
    )


# --- shape ------------------------------------------------------------------------------------------------------------------


def reshape(operand: Any, new_sizes: Any, dimensions: Any = None, *, out_sharding: Any = None) -> Any:
    """The same elements in another shape; `dimensions`: read in this order of axes."""
    _no_sharding("reshape", out_sharding)
    x = _v("reshape", operand)
    x = x if dimensions is None else fshape.transpose(x, dimensions)
    return fshape.reshape(x, new_sizes)


def transpose(operand: Any, permutation: Any) -> Any:
    """The axes in the order of `permutation`."""
    return fshape.transpose(_v("transpose", operand), permutation)


def broadcast(operand: Any, sizes: Any, *, out_sharding: Any = None) -> Any:
    """Repeated along new leading axes of these sizes."""
    _no_sharding("broadcast", out_sharding)
    x = _v("broadcast", operand)
    return broadcast_value(x, shape_of(sizes, "lax.broadcast", "sizes") + x.shape)


def broadcast_in_dim(operand: Any, shape: Any, broadcast_dimensions: Any, *, out_sharding: Any = None) -> Any:
    """Repeated to `shape`; axis i of the operand becomes axis broadcast_dimensions[i]."""
    _no_sharding("broadcast_in_dim", out_sharding)
    return ops.broadcast_in_dim(
        _v("broadcast_in_dim", operand),
        shape=shape_of(shape, "lax.broadcast_in_dim"),
        dims=static_ints(tuple(broadcast_dimensions), "lax.broadcast_in_dim", "broadcast_dimensions"),
    )


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """arr repeated to the shape of like_arr."""
    return fshape.broadcast_to(_v("broadcast_like", arr, "arr"), _v("broadcast_like", like_arr, "like_arr").shape)


broadcast_shapes = fshape.broadcast_shapes


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """The axes from start_dimension up to, not including, stop_dimension (None: all that follow) become one."""
    x = _v("collapse", operand)
    start, stop, _ = builtins.slice(start_dimension, stop_dimension).indices(x.ndim)
    if stop <= start:
        raise UsageError(
            message(
                f"lax.collapse: got axes {start_dimension} to {stop_dimension} of {x.aval.str_short()}",
                "one axis or more",
                "mend the axes",
            )
        )
    size = 1
    for n in x.shape[start:stop]:
        size *= n
    return fshape.reshape(x, (*x.shape[:start], size, *x.shape[stop:]))


def expand_dims(array: Any, dimensions: Any) -> Any:
    """New axes of extent 1 at these places of the result."""
    return fshape.expand_dims(_v("expand_dims", array, "array"), tuple(dimensions))


def squeeze(array: Any, dimensions: Any) -> Any:
    """Without these axes, whose extent is 1."""
    return fshape.squeeze(_v("squeeze", array, "array"), tuple(dimensions))


def rev(operand: Any, dimensions: Any) -> Any:
    """The order of the elements reversed along these axes."""
    return fshape.flip(_v("rev", operand), tuple(dimensions))


def concatenate(operands: Any, dimension: int) -> Any:
    """Arrays of one dtype one after the other along an axis."""
    xs = strict("concatenate", *operands, shapes=False)
    return join.concatenate(xs, dimension)


def stack(operands: Any, axis: int = 0) -> Any:
    """Arrays of one dtype and shape along a new axis."""
    return join.stack(strict("stack", *operands, shapes=False), axis)


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis, without it."""
    return fshape.unstack(_v("unstack", x, "x"), axis=axis)


def split(operand: Any, sizes: Any, axis: int = 0) -> list[Any]:
    """Parts of these sizes along an axis; they add up to its extent."""
    x = _v("split", operand)
    i = axis_of(axis, x.ndim, "lax.split")
    lengths = static_ints(tuple(sizes), "lax.split", "sizes")
    if sum(lengths) != x.shape[i] or any([n < 0 for n in lengths]):
        raise ShapeError(
            message(
                f"lax.split: got sizes {lengths} for extent {x.shape[i]}", "sizes that add up to the extent", "fnp.array_split"
            )
        )
    edges = np.cumsum([0, *lengths]).tolist()
    return [fshape.cut(x, i, a, b) for a, b in zip(edges, edges[1:])]


def tile(operand: Any, reps: Any) -> Any:
    """Laid side by side reps[i] times along axis i."""
    x = _v("tile", operand)
    counts = static_ints(tuple(reps), "lax.tile", "reps")
    if len(counts) != x.ndim:
        raise ShapeError(message(f"lax.tile: got {len(counts)} counts for {x.aval.str_short()}", "one for each axis", "fnp.tile"))
    return fshape.tile(x, counts)


def pad(operand: Any, padding_value: Any, padding_config: Any) -> Any:
    """Within (and, with interior padding, between) copies of a value: (low, high, interior) for each axis; negative ones cut."""
    x, value = strict("pad", operand, padding_value, shapes=False)
    config = tuple([static_ints(tuple(c), "lax.pad", "padding_config") for c in padding_config])
    return ops.pad(_v("pad", x), value, padding_config=config)


# --- slices -----------------------------------------------------------------------------------------------------------------


def slice(operand: Any, start_indices: Any, limit_indices: Any, strides: Any = None) -> Any:
    """operand[start:limit:stride] on every axis; all are known, and within the extents."""
    x = _v("slice", operand)
    return ops.slice_(
        x,
        start_indices=static_ints(tuple(start_indices), "lax.slice", "start_indices"),
        limit_indices=static_ints(tuple(limit_indices), "lax.slice", "limit_indices"),
        strides=(1,) * x.ndim if strides is None else static_ints(tuple(strides), "lax.slice", "strides"),
    )


def slice_in_dim(operand: Any, start_index: Any, limit_index: Any, stride: int = 1, axis: int = 0) -> Any:
    """operand[start:limit:stride] along one axis; negative numbers count from the end, None is the end."""
    x = _v("slice_in_dim", operand)
    i = axis_of(axis, x.ndim, "lax.slice_in_dim")
    n = x.shape[i]
    start = 0 if start_index is None else static_int(start_index, "lax.slice_in_dim", "start_index")
    limit = n if limit_index is None else static_int(limit_index, "lax.slice_in_dim", "limit_index")
    start, limit = start + n if start < 0 else start, limit + n if limit < 0 else limit
    starts = tuple([start if k == i else 0 for k in range(x.ndim)])
    limits = tuple([limit if k == i else m for k, m in enumerate(x.shape)])
    return slice(x, starts, limits, tuple([stride if k == i else 1 for k in range(x.ndim)]))


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The element at a known index along an axis, which stays with extent 1 unless keepdims=False."""
    x = _v("index_in_dim", operand)
    i, k = axis_of(axis, x.ndim, "lax.index_in_dim"), static_int(index, "lax.index_in_dim", "index")
    n = x.shape[i]
    if not -n <= k < n:
        raise IndexError(
            message(f"lax.index_in_dim: got index {k} for axis {i} with size {n}", f"{-n} to {n - 1}", "check x.shape")
        )
    out = slice_in_dim(x, k % n, k % n + 1, axis=i)
    return out if keepdims else fshape.squeeze(out, i)


def index_take(src: Any, idxs: Any, axes: Any) -> Any:
    """The slices of src at index vectors: idxs[k] are the indices along axes[k]; their common axis comes first. Negative ones
    count from the end."""
    x = _v("index_take", src, "src")
    places = [_v("index_take", i, "idxs") for i in idxs]
    named = [axis_of(a, x.ndim, "lax.index_take", "axes") for a in axes]
    rest = [k for k in range(x.ndim) if k not in named]
    return read_with(fshape.transpose(x, (*named, *rest)), tuple(places), "clip", None)


def _starts(name: str, x: Any, starts: Any, negative: Any) -> list[Any]:
    """Start indices as integer scalars; negative ones count from the end where `negative` (one bool, or one an axis) says so."""
    many: Any = starts
    items = [many[k] for k in range(many.shape[0])] if isinstance(starts, (Value, np.ndarray)) else list(starts)
    if len(items) != x.ndim:
        raise ShapeError(
            message(
                f"lax.{name}: got {len(items)} start indices for {x.aval.str_short()}",
                "one for each axis",
                "lax.dynamic_slice_in_dim for one axis",
            )
        )
    wraps = [negative] * x.ndim if isinstance(negative, bool) else list(negative)
    return [_start(name, i, n, w) for i, n, w in zip(items, x.shape, wraps)]


def _start(name: str, i: Any, n: int, wraps: bool) -> Any:
    i = operand(i, f"lax.{name}", "start index")
    if not isinstance(i, Value):
        k = int(i)
        return np.int64(k + n if wraps and k < 0 else k)
    d = i.aval.dtype
    if d not in dt.INTEGERS or i.aval.ndim:
        raise TypeError(message(f"lax.{name}: got a start index {i.aval.str_short()}", "an integer scalar", "i.astype(int)"))
    i = i if d == dt.uint64 else ew.convert(i, dt.int64)
    return ew.select_n(ew.lt(i, np.int64(0)), i, ew.add(i, np.int64(n))) if wraps and d not in dt.UNSIGNED else i


def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Any, *, allow_negative_indices: Any = True) -> Any:
    """The window of slice_sizes that begins at start_indices (traced or not), moved inside where it would reach out.

    allow_negative_indices: whether negative ones count from the end (a bool, or one for each axis).
    """
    x = _v("dynamic_slice", operand)
    starts = _starts("dynamic_slice", x, start_indices, allow_negative_indices)
    return _dynamic.dynamic_slice(x, *starts, slice_sizes=static_ints(tuple(slice_sizes), "lax.dynamic_slice", "slice_sizes"))


def dynamic_slice_in_dim(
    operand: Any, start_index: Any, slice_size: int, axis: int = 0, *, allow_negative_indices: bool = True
) -> Any:
    """`dynamic_slice` along one axis."""
    x = _v("dynamic_slice_in_dim", operand)
    i = axis_of(axis, x.ndim, "lax.dynamic_slice_in_dim")
    starts = [start_index if k == i else 0 for k in range(x.ndim)]
    sizes = [static_int(slice_size, "lax.dynamic_slice_in_dim", "slice_size") if k == i else n for k, n in enumerate(x.shape)]
    return dynamic_slice(x, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(
    operand: Any, index: Any, axis: int = 0, keepdims: bool = True, *, allow_negative_indices: bool = True
) -> Any:
    """The element at an index (traced or not) along an axis; out of range: the nearest."""
    out = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return out if keepdims else fshape.squeeze(out, axis)


def dynamic_update_slice(operand: Any, update: Any, start_indices: Any, *, allow_negative_indices: Any = True) -> Any:
    """The operand with the window at start_indices replaced by `update`; the window is moved inside where it would reach out."""
    x, new = strict("dynamic_update_slice", operand, update, shapes=False)
    x, new = _v("dynamic_update_slice", x), _v("dynamic_update_slice", new, "update")
    return _dynamic.dynamic_update_slice(x, new, *_starts("dynamic_update_slice", x, start_indices, allow_negative_indices))


def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`dynamic_update_slice` along one axis."""
    x = _v("dynamic_update_slice_in_dim", operand)
    i = axis_of(axis, x.ndim, "lax.dynamic_update_slice_in_dim")
    return dynamic_update_slice(
        x, update, [start_index if k == i else 0 for k in range(x.ndim)], allow_negative_indices=allow_negative_indices
    )


def dynamic_update_index_in_dim(operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True) -> Any:
    """The operand with the element at `index` along an axis replaced; the update has extent 1 there, or no such axis."""
    x, new = _v("dynamic_update_index_in_dim", operand), _v("dynamic_update_index_in_dim", update, "update")
    i = axis_of(axis, x.ndim, "lax.dynamic_update_index_in_dim")
    if new.ndim == x.ndim - 1:
        new = fshape.expand_dims(new, i)
    return dynamic_update_slice_in_dim(x, new, index, i, allow_negative_indices=allow_negative_indices)


# --- reductions, running reductions ---------------------------------------------------------------------------------------


def _reduction(name: str, op: Any, x: Any, axes: Any) -> Any:
    v = _v(name, x)
    return op(v, axes=axes_of(tuple(axes), v.ndim, f"lax.{name}", "axes"))


def reduce_sum(operand: Any, axes: Any, *, out_sharding: Any = None) -> Any:
    """The sum along these axes, in the operand's dtype."""
    _no_sharding("reduce_sum", out_sharding)
    return _reduction("reduce_sum", _reduce.reduce_sum, operand, axes)


def reduce_prod(operand: Any, axes: Any) -> Any:
    """The product along these axes, in the operand's dtype."""
    return _reduction("reduce_prod", _reduce.reduce_prod, operand, axes)


def reduce_max(operand: Any, axes: Any) -> Any:
    """The largest element along these axes; of none the least number of the dtype."""
    return _reduction("reduce_max", _reduce.reduce_max, operand, axes)


def reduce_min(operand: Any, axes: Any) -> Any:
    """The smallest element along these axes; of none the greatest number of the dtype."""
    return _reduction("reduce_min", _reduce.reduce_min, operand, axes)


def reduce_and(operand: Any, axes: Any) -> Any:
    """Bitwise (of booleans: logical) and along these axes."""
    return _reduction("reduce_and", _reduce.reduce_and, operand, axes)


def reduce_or(operand: Any, axes: Any) -> Any:
    """Bitwise (of booleans: logical) or along these axes."""
    return _reduction("reduce_or", _reduce.reduce_or, operand, axes)


def reduce_xor(operand: Any, axes: Any) -> Any:
    """Bitwise (of booleans: logical) exclusive or along these axes."""
    return _reduction("reduce_xor", _reduce.reduce_xor, operand, axes)


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The position of the first largest element along an axis."""
    x = _v("argmax", operand)
    return _reduce.argmax(x, axes=(axis_of(axis, x.ndim, "lax.argmax"),), index_dtype=dt.canonical(index_dtype))


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The position of the first smallest element along an axis."""
    x = _v("argmin", operand)
    return _reduce.argmin(x, axes=(axis_of(axis, x.ndim, "lax.argmin"),), index_dtype=dt.canonical(index_dtype))


def _running(name: str, op: Any, x: Any, axis: int, reverse: bool) -> Any:
    v = _v(name, x)
    return op(v, axis=axis_of(axis, v.ndim, f"lax.{name}"), reverse=bool(reverse))


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running sum along an axis, from its end with reverse=True."""
    return _running("cumsum", _cumulative.cumsum, operand, axis, reverse)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running product along an axis."""
    return _running("cumprod", _cumulative.cumprod, operand, axis, reverse)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running maximum along an axis."""
    return _running("cummax", _cumulative.cummax, operand, axis, reverse)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running minimum along an axis."""
    return _running("cummin", _cumulative.cummin, operand, axis, reverse)


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running log(sum(exp(x))) along an axis."""
    return _running("cumlogsumexp", _cumulative.cumlogsumexp, operand, axis, reverse)


# --- products ---------------------------------------------------------------------------------------------------------------


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

    dimension_numbers: ((lhs contracted, rhs contracted), (lhs batch, rhs batch)). preferred_element_type: the result's dtype.
    """
    _no_sharding("dot_general", out_sharding)
    check_precision(precision, "lax.dot_general")
    x, y = strict("dot_general", lhs, rhs, shapes=False)
    (xc, yc), (xb, yb) = dimension_numbers
    x, y = _v("dot_general", x), _v("dot_general", y)

    def axes(a: Any, v: Any) -> tuple[int, ...]:
        return tuple([axis_of(i, v.ndim, "lax.dot_general", "dimension_numbers") for i in a])

    numbers = ((axes(xc, x), axes(yc, y)), (axes(xb, x), axes(yb, y)))
    target = None if preferred_element_type is None else dt.canonical(preferred_element_type)
    return _dot_general(x, y, dimension_numbers=numbers, preferred_element_type=target)


def dot(lhs: Any, rhs: Any, *, dimension_numbers: Any = None, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """vector x vector, matrix x vector, matrix x matrix; or `dot_general` where dimension_numbers are given."""
    if dimension_numbers is None:
        x, y = _v("dot", lhs, "lhs"), _v("dot", rhs, "rhs")
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
    """Matrix products over the last two axes; the axes before them are equal."""
    x, y = _v("batch_matmul", lhs, "lhs"), _v("batch_matmul", rhs, "rhs")
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


# --- sorting ----------------------------------------------------------------------------------------------------------------


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """An array sorted along an axis; of several (a tuple), by the first num_keys of them, the others go along: a tuple."""
    many = isinstance(operand, Sequence) and not isinstance(operand, Value)
    xs = [_v("sort", x) for x in (operand if many else (operand,))]
    if len({x.shape for x in xs}) > 1:
        raise ShapeError(
            message(f"lax.sort: got shapes {[x.shape for x in xs]}", "operands of one shape", "fnp.broadcast_arrays")
        )
    out = _sort.sort(
        *xs, dimension=axis_of(dimension, xs[0].ndim, "lax.sort", "dimension"), is_stable=bool(is_stable), num_keys=num_keys
    )
    return tuple(out) if many else out[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Keys sorted along an axis, and values in the same order."""
    out = sort((keys, values), dimension, is_stable, 1)
    return out[0], out[1]


def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Any]:
    """The k largest elements along an axis, the largest first, and their positions (int32)."""
    x = _v("top_k", operand)
    i = axis_of(axis, x.ndim, "lax.top_k")
    values, places = _sort.top_k(fshape.moveaxis(x, i, -1), k=static_int(k, "lax.top_k", "k"))
    return [fshape.moveaxis(values, -1, i), fshape.moveaxis(places, -1, i)]
