"""Products within groups of scattered elements, exact with zeros among the factors and at every order of derivative."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.ops._family import reshape
from funcgrad.ops.arithmetic import mul
from funcgrad.ops.compare import eq
from funcgrad.ops.select import select_n
from funcgrad.ops.shape import iota, pad, slice_
from funcgrad.ops.sort import sort, take_along
from funcgrad.trace.value import aval_of


def product_of_others(x: Any, groups: Any) -> Any:
    """For each element the product of the other elements of its group. `groups` (int64, shaped as x) names the group.

    The elements are brought into the order of their groups; running products within a group, from the left and from the right and
    without the element itself, come from log2(n) rounds of doubling; their product is what was asked for. Only multiplications.
    """
    aval = aval_of(x)
    n = aval.size
    if n == 0:
        return x
    flat, names = reshape(x, shape=(n,)), reshape(groups, shape=(n,))
    places = iota(dtype=dt.int64, shape=(n,), dimension=0)
    params = {"dimension": 0, "is_stable": True, "num_keys": 1}
    names, order = sort(names, places, **params)
    _, back = sort(order, places, **params)
    ordered = take_along(flat, order, 0)
    left, right = _running(ordered, names, n, 1), _running(ordered, names, n, -1)
    return reshape(take_along(mul(left, right), back, 0), shape=aval.shape)


def _moved(x: Any, n: int, by: int, fill: np.generic) -> Any:
    """x with its elements `by` places to the right (left where negative), and `fill` at the end that becomes free."""
    kept = slice_(x, start_indices=(max(0, -by),), limit_indices=(n - max(0, by),), strides=(1,))
    return pad(kept, fill, padding_config=((max(0, by), max(0, -by), 0),))


def _running(x: Any, names: Any, n: int, direction: int) -> Any:
    """The product of the elements before (direction 1) or after (-1) each one within its group."""
    one, nobody = aval_of(x).dtype.type(1), np.int64(-2)

    def before(values: Any, by: int) -> Any:
        same = eq(names, _moved(names, n, direction * by, nobody))
        return select_n(same, one, _moved(values, n, direction * by, one))

    out, by = before(x, 1), 1
    while by < n:
        out = mul(out, before(out, by))
        by *= 2
    return out
