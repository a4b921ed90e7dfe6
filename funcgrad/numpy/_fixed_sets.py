"""Sets whose length is given beforehand, so that they work inside traced functions: what `size=` of unique, union1d ... does.

In: rows (the leading axis is cut into elements; further axes belong to them) and, where not all take part, a mask of those that
do. All is done by one stable sort, after which equal rows are neighbours.
"""

from typing import Any, NamedTuple

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import UsageError, message
from funcgrad.numpy._promote import broadcast_value, value_in
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.nonzeros import nonzero
from funcgrad.numpy.reductions import any as any_
from funcgrad.numpy.selection import take, where
from funcgrad.numpy.structure import cut, reshape
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full
from funcgrad.ops.cumulative import cumsum
from funcgrad.ops.shape import iota
from funcgrad.ops.sort import sort
from funcgrad.trace.value import Value


class Distinct(NamedTuple):
    """The distinct rows in ascending order, cut or filled to a length; where each stands first; which of them each row is; how
    often each comes; and which of the places are filled."""

    values: Any
    index: Any
    inverse: Any
    counts: Any
    filled: Any


def distinct(name: str, x: Value, size: int, fill_value: Any, *, keep: Any = None, equal_nan: bool = True) -> Distinct:
    """The distinct rows of `x` among those where `keep` holds. Without fill_value the first of them fills what is left."""
    n = x.shape[0]
    if n == 0:
        return _of_nothing(name, x, size, fill_value)
    columns = reshape(x, (n, -1)) if x.size else full((n, 1), np.zeros((), x.dtype)[()])
    places = iota(dtype=dt.int64, shape=(n,), dimension=0)
    keys = [reshape(cut(columns, 1, k, k + 1), (n,)) for k in range(columns.shape[1])]
    out = full((n,), np.False_) if keep is None else ew.not_(keep)  # what takes no part goes to the end
    *_, order = sort(out, *keys, places, dimension=0, is_stable=True, num_keys=1 + len(keys))
    ordered, out = take(columns, order, 0), take(out, order)
    before, after = cut(ordered, 0, 0, n - 1), cut(ordered, 0, 1, n)
    differs = ew.ne(before, after)
    if equal_nan and x.dtype in dt.INEXACT:
        differs = ew.and_(differs, ew.not_(ew.and_(ew.ne(before, before), ew.ne(after, after))))
    first = concatenate([full((1,), np.True_), any_(differs, 1)])
    group = ew.sub(cumsum(ew.convert(first, dt.int64), axis=0, reverse=False), np.int64(1))
    counted = ew.not_(out)
    place = where(counted, group, np.int64(size))
    counts = full((size,), np.int64(0)).at[place].add(1, mode="drop")
    index = full((size,), np.int64(n)).at[place].min(order, mode="drop")  # the sort is stable: the least is the first
    inverse = full((n,), np.int64(0)).at[order].set(group)
    filled = ew.gt(counts, np.int64(0))
    index = where(filled, index, take(order, np.int64(0)))
    values = take(x, index, 0)
    if fill_value is not None or keep is not None:
        mask = broadcast_value(reshape(filled, (size,) + (1,) * (x.ndim - 1)), values.shape)
        values = where(mask, values, _fill(name, x, values, filled, fill_value))
    return Distinct(values, index, inverse, counts, filled)


def _fill(name: str, x: Value, values: Any, filled: Any, fill_value: Any) -> Any:
    """fill_value; or the first of the values, and 0 where there is none."""
    if fill_value is not None:
        return value_in(fill_value, x.dtype, name, "fill_value")
    if filled.shape[0] == 0:
        return values
    return where(cut(filled, 0, 0, 1), cut(values, 0, 0, 1), np.zeros((), x.dtype)[()])


def _of_nothing(name: str, x: Value, size: int, fill_value: Any) -> Distinct:
    if size and fill_value is None:
        raise UsageError(
            message(
                f"fnp.{name}: got {x.aval.str_short()} and size={size}",
                "a fill_value, as there is no element to fill the result with",
                "fill_value=0",
            )
        )
    fill = value_in(0 if fill_value is None else fill_value, x.dtype, name, "fill_value")
    none = full((size,), np.int64(0))
    return Distinct(broadcast_value(fill, (size, *x.shape[1:])), none, full((0,), np.int64(0)), none, full((size,), np.False_))


def kept(name: str, x: Value, keep: Any, size: int, fill_value: Any) -> Any:
    """The elements of the vector `x` where `keep` holds, in their order; 0 without fill_value fills what is left."""
    fill = value_in(0 if fill_value is None else fill_value, x.dtype, name, "fill_value")
    if x.shape[0] == 0:
        return broadcast_value(fill, (size,))
    (places,) = nonzero(keep, size=size, fill_value=x.shape[0])
    return where(ew.lt(places, np.int64(x.shape[0])), take(x, places, mode="clip"), fill)
