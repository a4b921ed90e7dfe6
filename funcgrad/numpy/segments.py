"""Folds of rows by the segment that each belongs to: segment_sum, segment_prod, segment_max, segment_min.

Users find them as `funcgrad.ops.segment_sum`. The room `ops` holds the primitives and imports no face, so these functions are put
there from here, when `funcgrad.numpy` is imported (with `funcgrad` itself, so always).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import ops
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ConcretizationTypeError, DtypeError, ShapeError, UsageError, message
from funcgrad.numpy._axes import concrete, listed, static_int
from funcgrad.numpy._promote import as_value, cast
from funcgrad.numpy.index import mode_of
from funcgrad.numpy.reductions import max as max_
from funcgrad.numpy.reductions import min as min_
from funcgrad.numpy.reductions import prod, sum
from funcgrad.ops._family import full
from funcgrad.ops.reduce import greatest, least
from funcgrad.ops.shape import iota

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def _folded(
    name: str, method: str, start: Any, join: Callable[..., Any], data: Any, segment_ids: Any, num_segments: Any,
    unique_indices: bool, bucket_size: Any, mode: Any,
) -> Any:  # fmt: skip
    x, ids = [as_value(listed(v, f"ops.{name}", n), f"ops.{name}", n) for v, n in ((data, "data"), (segment_ids, "segment_ids"))]
    if ids.dtype not in dt.INTEGERS:
        raise DtypeError(message(f"ops.{name}: got segment_ids {ids.aval.str_short()}", "integers", "ids.astype('int32')"))
    if ids.ndim != 1 or not x.ndim or x.shape[0] != ids.shape[0]:
        raise ShapeError(
            message(
                f"ops.{name}: got data {x.aval.str_short()} and segment_ids {ids.aval.str_short()}",
                "a segment for each row of data: a vector as long as its first axis",
                "ids.ravel() with data.reshape(ids.size, ...)",
            )
        )
    if x.dtype == dt.bool_ and method in ("add", "multiply"):
        raise DtypeError(message(f"ops.{name}: got booleans", "numbers", "data.astype('int32')"))
    if x.dtype == dt.bool_:
        numbers = lambda d: np.uint8(start(dt.bool_))
        out = _folded(name, method, numbers, join, cast(x, dt.uint8), ids, num_segments, unique_indices, bucket_size, mode)
        return cast(out, dt.bool_)
    how = "drop" if mode is None else mode_of(mode, f"ops.{name}")
    n = _count(name, ids, num_segments)
    ids = cast(ids, dt.int64)
    options = {"mode": how, "unique_indices": unique_indices, "wrap_negative_indices": False}
    size = x.shape[0]
    step = size if bucket_size is None else static_int(bucket_size, name, "bucket_size")
    if size and step < 1:
        raise UsageError(message(f"ops.{name}: got bucket_size={step}", "1 or more", "bucket_size=None"))
    if size <= step:
        return getattr(full((n, *x.shape[1:]), start(x.dtype)).at[ids], method)(x, **options)
    # Every bucket of rows is folded by itself, then the outcomes: sums of many rows lose less.
    buckets = -(-size // step)
    partial = full((buckets, n, *x.shape[1:]), start(x.dtype))
    bucket = ops.elementwise.div(iota(dtype=dt.int64, shape=(size,), dimension=0), np.int64(step))
    return join(getattr(partial.at[bucket, ids], method)(x, **options), axis=0)


def _count(name: str, ids: Any, num_segments: Any) -> int:
    if num_segments is None:
        known = concrete(ids)
        if known is None:
            raise ConcretizationTypeError(
                ids, f"the length of ops.{name}'s result depends on the numbers", f"ops.{name}(data, segment_ids, num_segments=n)"
            )
        return int(known.max(initial=-1)) + 1
    n = static_int(num_segments, name, "num_segments")
    if n < 0:
        raise UsageError(message(f"ops.{name}: got num_segments={n}", "0 or more", "num_segments=None counts them"))
    return n


def segment_sum(
    data: Any, segment_ids: Any, num_segments: Any = None, indices_are_sorted: bool = False, unique_indices: bool = False,
    bucket_size: Any = None, mode: Any = None,
) -> Any:  # fmt: skip
    """For each segment the sum of the rows that belong to it; 0 for a segment without rows.

    Args: data: array (rows, ...). segment_ids: a vector of integers, the segment of each row, in any order. num_segments: how
    many there are, needed while tracing (default: the largest id + 1). indices_are_sorted: any, it makes no difference.
    unique_indices: promises that no two rows share a segment. bucket_size: rows are summed in buckets of this size first, which
    loses less precision. mode: what becomes of ids out of range (negative ones too): "drop" (default: their rows are left out),
    "clip", "raise", or "promise_in_bounds".
    Returns: array (num_segments, ...) in the dtype of data.
    Raises: ConcretizationTypeError for traced segment_ids without num_segments.

    >>> from funcgrad import ops
    >>> ops.segment_sum(fnp.array([1, 2, 3, 4]), fnp.array([0, 2, 0, 2]), num_segments=3)
    Array([4, 0, 6], dtype=int64)
    """
    zero = lambda d: d.type(0)
    return _folded("segment_sum", "add", zero, _sum, data, segment_ids, num_segments, unique_indices, bucket_size, mode)


def segment_prod(
    data: Any, segment_ids: Any, num_segments: Any = None, indices_are_sorted: bool = False, unique_indices: bool = False,
    bucket_size: Any = None, mode: Any = None,
) -> Any:  # fmt: skip
    """For each segment the product of the rows that belong to it; 1 for a segment without rows. Arguments as in `segment_sum`.

    The gradient is exact, with zeros among the factors too.

    >>> from funcgrad import ops
    >>> ops.segment_prod(fnp.array([1, 2, 3, 4]), fnp.array([0, 2, 0, 2]), num_segments=3)
    Array([3, 1, 8], dtype=int64)
    """
    one = lambda d: d.type(1)
    return _folded("segment_prod", "multiply", one, _prod, data, segment_ids, num_segments, unique_indices, bucket_size, mode)


def segment_max(
    data: Any, segment_ids: Any, num_segments: Any = None, indices_are_sorted: bool = False, unique_indices: bool = False,
    bucket_size: Any = None, mode: Any = None,
) -> Any:  # fmt: skip
    """For each segment the largest of the rows that belong to it, element by element; -inf (of integers the least number) for a
    segment without rows. Arguments as in `segment_sum`.

    >>> from funcgrad import ops
    >>> ops.segment_max(fnp.array([1.0, 2.0, 3.0]), fnp.array([0, 2, 0]), num_segments=3)
    Array([  3., -inf,   2.], dtype=float32)
    """
    return _folded("segment_max", "max", least, max_, data, segment_ids, num_segments, unique_indices, bucket_size, mode)


def segment_min(
    data: Any, segment_ids: Any, num_segments: Any = None, indices_are_sorted: bool = False, unique_indices: bool = False,
    bucket_size: Any = None, mode: Any = None,
) -> Any:  # fmt: skip
    """For each segment the smallest of the rows that belong to it, element by element; inf (of integers the greatest number)
    for a segment without rows. Arguments as in `segment_sum`.

    >>> from funcgrad import ops
    >>> ops.segment_min(fnp.array([1.0, 2.0, 3.0]), fnp.array([0, 2, 0]), num_segments=3)
    Array([ 1., inf,  2.], dtype=float32)
    """
    return _folded("segment_min", "min", greatest, min_, data, segment_ids, num_segments, unique_indices, bucket_size, mode)


def _sum(x: Any, axis: int) -> Any:
    return sum(x, axis, promote_integers=False)


def _prod(x: Any, axis: int) -> Any:
    return prod(x, axis, promote_integers=False)


def install() -> None:
    """Put the four functions on `funcgrad.ops`, whose own room may not import this one."""
    for f in (segment_max, segment_min, segment_prod, segment_sum):
        f.__module__ = "funcgrad.ops"
        setattr(ops, f.__name__, f)
