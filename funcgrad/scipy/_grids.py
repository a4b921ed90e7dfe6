"""Reading an array at one place for each of its leading axes."""

from collections.abc import Sequence
from math import prod
from typing import Any

from funcgrad import numpy as fnp


def read(values: Any, index: Sequence[Any]) -> Any:
    """values[index], for index arrays of one shape that are all within the extents.

    The leading axes are read as one, so that the indices stay elementwise arithmetic, which kernels do as they read."""
    if not index:
        return values
    flat, n = index[0], len(index)
    for i, extent in zip(index[1:], values.shape[1:], strict=False):
        flat = flat * extent + i
    whole = fnp.reshape(values, (prod(values.shape[:n]), *values.shape[n:]))
    return whole.at[flat].get(mode="promise_in_bounds")
