"""`Array`: an abstract value with its numbers. Immutable."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.trace.value import Value


class Array(Value):
    """An immutable n-dimensional array on the CPU, over a read-only NumPy array."""

    __slots__ = ("aval", "_np", "_address", "__weakref__")

    aval: ShapedArray

    def concrete(self) -> "Array":
        """The array itself: it has its numbers. (A tracer may have none.)"""
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The numbers as a read-only view, or as a copy where `dtype` or `copy` ask for one."""
        if dtype is not None and dtype != self._np.dtype:
            return self._np.astype(dtype)
        return self._np.copy() if copy else self._np


def wrap(x: np.ndarray, aval: ShapedArray) -> Array:
    """An Array over `x`, which from now on must not change."""
    self = Array.__new__(Array)
    self.aval, self._np, self._address = aval, x, 0
    return self


def from_numpy(x: Any, weak_type: bool = False) -> Array:
    """An Array of the numbers in `x` (np.ndarray, np.generic or Python scalar), copied when it could still change."""
    array = np.array(x)
    array.flags.writeable = False
    return wrap(array, shaped(array.shape, dt.canonical(array.dtype), weak_type))
