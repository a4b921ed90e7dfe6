"""scatter_apply: a function of the elements at computed places."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.bridge.flat import check_callable
from funcgrad.core.arguments import flag
from funcgrad.lax._elements import over_elements
from funcgrad.lax.control import fori_loop
from funcgrad.lax.scatter_gather import mode_word, numbers_of
from funcgrad.numpy._axes import shape_of
from funcgrad.numpy._promote import as_value, cast
from funcgrad.numpy.structure import broadcast_to
from funcgrad.ops import elementwise as ew
from funcgrad.ops import index as ops
from funcgrad.ops._family import full
from funcgrad.ops.gathering import read_back
from funcgrad.ops.reduce import reduce_max

__all__ = ["scatter_apply"]


def scatter_apply(
    operand: Any, scatter_indices: Any, func: Callable[[Any], Any], dimension_numbers: Any, *, update_shape: Any = (),
    indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
) -> Any:  # fmt: skip
    """The operand with windows replaced by `func` of their elements; where several windows meet, func is applied as often.

    func: a scalar of the operand's dtype -> a scalar. update_shape: the shape that updates for these windows would have: the axes
    of scatter_indices but the last, and those of the windows. dimension_numbers: a `ScatterDimensionNumbers`. mode: out of range,
    see `x.at[i]`. unique_indices: a promise that no windows meet, which saves counting; indices_are_sorted: makes no difference.
    Returns: an array like operand. Differentiable in both modes.

    >>> each = lax.ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> lax.scatter_apply(fnp.arange(4), fnp.array([[1], [3], [3]]), lambda v: 10 * v, each, update_shape=(3,)).tolist()
    [0, 10, 2, 300]
    """
    x, i = as_value(operand, "lax.scatter_apply", "operand"), as_value(scatter_indices, "lax.scatter_apply", "scatter_indices")
    check_callable("lax.scatter_apply", func)
    numbers = numbers_of(ops.ScatterDimensionNumbers, dimension_numbers, "lax.scatter_apply")
    how = mode_word("scatter_apply", mode)
    params = {
        "dimension_numbers": numbers,
        "mode": how,
        "unique_indices": flag(unique_indices, "lax.scatter_apply", "unique_indices"),
    }
    ones = full(shape_of(update_shape, "lax.scatter_apply", "update_shape"), np.int32(1))
    counts = ops.scatter_add(full(x.shape, np.int32(0)), i, ones, **params)
    reading = "clip" if how in ("fill", "drop") else how  # what is out of range is read somewhere and not written
    read = read_back(x, i, ones, numbers, reading)

    def apply(v: Any) -> Any:
        return cast(over_elements(lambda y: [as_value(func(y), "lax.scatter_apply", "what func returned")], [v])[0], x.dtype)

    if unique_indices:
        return ops.scatter(x, i, apply(read), **params)
    times = read_back(counts, i, ones, numbers, reading)

    def once_more(k: Any, v: Any) -> Any:
        return ew.select_n(ew.gt(times, broadcast_to(k, times.shape)), v, apply(v))

    last = reduce_max(times, axes=tuple(range(times.ndim)))
    return ops.scatter(x, i, fori_loop(np.int32(0), last, once_more, read), **params)
