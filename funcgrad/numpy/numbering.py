"""Elements of an array by one number, and by an index for each axis: unravel_index, ravel_multi_index."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import UsageError, describe, message
from funcgrad.numpy._axes import MANY, concrete, shape_of
from funcgrad.numpy._promote import (
    as_value,
    cast,
    scalar_array,
)
from funcgrad.numpy.structure import broadcast_arrays
from funcgrad.ops import elementwise as ew

__all__ = [
    "ravel_multi_index", "unravel_index",
]  # fmt: skip


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Numbers of elements of a flattened array -> an index array for each axis of `shape`; negative ones count from the end.

    Args: indices: integers. shape: a tuple. Returns: a tuple of int64 arrays of the shape of indices.
    Raises: ValueError for numbers out of range where they are known; in a traced function they go to the nearest element.

    >>> fnp.unravel_index(fnp.array([1, 5]), (2, 3))
    (Array([0, 1], dtype=int64), Array([1, 2], dtype=int64))
    """
    number = as_value(indices, "unravel_index", "indices")
    extents = shape_of(shape, "unravel_index")
    if number.dtype not in dt.INTEGERS:
        raise TypeError(message(f"fnp.unravel_index: got {number.aval.str_short()}", "integers", "indices.astype(int)"))
    number = ew.convert(number, dt.int64)
    total = np.int64(np.prod(extents, dtype=np.int64))
    known = concrete(number)
    if known is not None and ((known < -total) | (known >= total)).any():
        raise ValueError(
            message(
                f"fnp.unravel_index: got a number out of range for shape {extents}", f"{-total} to {total - 1}", "fnp.clip first"
            )
        )
    number = ew.select_n(ew.lt(number, np.int64(0)), number, ew.add(number, total))
    number = ew.max(ew.min(number, np.int64(max(int(total) - 1, 0))), np.int64(0))
    out = []
    for n in extents[::-1]:
        out.append(ew.rem(number, np.int64(max(n, 1))))
        number = ew.div(number, np.int64(max(n, 1)))
    return tuple(out[::-1])


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C", *, dtype: Any = None) -> Any:
    """An index array for each axis -> the numbers of the elements in the flattened array of shape `dims`.

    mode: "raise" (needs numbers that are known; otherwise as "clip"), "clip" or "wrap". order: "C" or "F". dtype: int64
    without one.
    Args: multi_index: a sequence of integer arrays that broadcast, one for each extent in dims.

    >>> fnp.ravel_multi_index((fnp.array([0, 1]), fnp.array([1, 2])), (2, 3))
    Array([1, 5], dtype=int64)
    """
    extents = shape_of(dims, "ravel_multi_index", "dims")
    if not isinstance(multi_index, MANY):
        raise UsageError(
            message(f"fnp.ravel_multi_index: got {describe(multi_index)}", "a sequence of integer arrays", "(rows, columns)")
        )
    places = [ew.convert(as_value(i, "ravel_multi_index", "multi_index"), dt.int64) for i in multi_index]
    if len(places) != len(extents) or not among(mode, ("raise", "clip", "wrap")) or not among(order, ("C", "F")):
        raise UsageError(
            message(
                f"fnp.ravel_multi_index: got {len(places)} indices for {extents}, mode={mode!r}, order={order!r}",
                "an index for each axis, mode 'raise', 'clip' or 'wrap', order 'C' or 'F'",
                "mode='clip'",
            )
        )
    places = broadcast_arrays(*places)
    pairs = list(zip(places, extents))
    out = None
    for i, n in pairs if order == "C" else pairs[::-1]:
        known = concrete(i)
        if mode == "raise" and known is not None and ((known < 0) | (known >= n)).any():
            raise ValueError(
                message(f"fnp.ravel_multi_index: got an index out of range for extent {n}", f"0 to {n - 1}", "mode='clip'")
            )
        if mode == "wrap":
            left = ew.rem(i, np.int64(n))
            i = ew.select_n(ew.lt(left, np.int64(0)), left, ew.add(left, np.int64(n)))
        else:
            i = ew.max(ew.min(i, np.int64(n - 1)), np.int64(0))
        out = i if out is None else ew.add(ew.mul(out, np.int64(n)), i)
    out = scalar_array(np.int64(0)) if out is None else out
    return out if dtype is None else cast(out, dt.canonical(dtype))
