"""Where elements are not zero: nonzero, flatnonzero, argwhere. How many there are depends on the numbers, or is given as size."""

from typing import Any

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ConcretizationTypeError, ShapeError, message
from funcgrad.numpy._axes import concrete, extent
from funcgrad.numpy._promote import (
    as_value,
    broadcast_value,
    cast,
    operand,
    scalar_array,
)
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.numbering import unravel_index
from funcgrad.numpy.reductions import as_bool
from funcgrad.numpy.structure import ravel, reshape
from funcgrad.ops import cumulative
from funcgrad.ops import elementwise as ew
from funcgrad.ops.shape import expand_dims, full, iota

__all__ = [
    "argwhere", "flatnonzero", "nonzero",
]  # fmt: skip


def nonzero(a: Any, *, size: Any = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The indices of the elements that are not zero, one int64 array for each axis.

    Args: size: the length of the result, needed while tracing: longer ones are cut, shorter ones filled with fill_value
    (default 0; a scalar or one for each axis).
    Raises: ConcretizationTypeError for a traced array without size; ShapeError for a scalar.

    >>> fnp.nonzero(fnp.array([[0, 3], [4, 0]]))
    (Array([0, 1], dtype=int64), Array([1, 0], dtype=int64))
    >>> fg.jit(lambda x: fnp.nonzero(x, size=3, fill_value=-1))(fnp.array([0, 3, 0, 4]))
    (Array([ 1,  3, -1], dtype=int64),)
    """
    x = as_value(a, "nonzero")
    if x.ndim == 0:
        raise ShapeError(message("fnp.nonzero: got a scalar", "an array with axes", "x.reshape(1)"))
    mask = as_bool(x)
    known = concrete(mask)
    if size is None:
        if known is None:
            raise ConcretizationTypeError(
                x,
                "the length of fnp.nonzero's result (as of fnp.where(mask), argwhere, compress, extract) depends on the numbers",
                "size=n (and fill_value=v) for a known length, fnp.where(mask, x, y) to choose, or call it outside of jit",
            )
        return tuple([from_numpy(i) for i in np.nonzero(known)])
    n = extent(size, "nonzero", "size")
    flat = ravel(mask)
    total = flat.size
    # The k-th True place: where the running count first reaches k + 1.
    count = cumulative.cumsum(ew.convert(flat, dt.int64), axis=0, reverse=False) if total else full((0,), np.int64(0))
    wanted = iota(dtype=dt.int64, shape=(n,), dimension=0)
    slot = ew.select_n(flat, full((total,), np.int64(n)), ew.sub(count, np.int64(1)))
    start = full((n,), np.int64(0))
    flat_places = start.at[slot].set(iota(dtype=dt.int64, shape=(total,), dimension=0), mode="drop") if total else start
    found = count[-1] if total else scalar_array(np.int64(0))
    inside = ew.lt(wanted, broadcast_value(found, (n,)))
    places = unravel_index(flat_places, x.shape) if total else tuple([start] * x.ndim)
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value or 0,) * x.ndim
    fillers = [cast(operand(f, "nonzero", "fill_value"), dt.int64) for f in fills]
    return tuple([ew.select_n(inside, broadcast_value(as_value(f, "nonzero"), (n,)), p) for p, f in zip(places, fillers)])


def flatnonzero(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """The indices of the elements of the flattened array that are not zero; size and fill_value as in `nonzero`.

    >>> fnp.flatnonzero(fnp.array([[0, 3], [4, 0]]))
    Array([1, 2], dtype=int64)
    """
    return nonzero(ravel(as_value(a, "flatnonzero")), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """The indices of the elements that are not zero, one row each; size and fill_value as in `nonzero`.

    >>> fnp.argwhere(fnp.array([[0, 3], [4, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int64)
    """
    x = as_value(a, "argwhere")
    if x.ndim == 0:
        return argwhere(reshape(x, (1,)), size=size, fill_value=fill_value)[:, :0]
    columns = nonzero(x, size=size, fill_value=fill_value)
    return concatenate([expand_dims(c, dimensions=(1,)) for c in columns], 1)
