"""Warnings that point at the user's line, however deep in the package they arise.

`warn(text)` is `warnings.warn` with the level of the user's line. `told()` is a context in which NumPy's "overflow encountered in
cast" is said there too; `asarray(x, dtype)` and `scalar(x, dtype)` convert a number in it, where the number is large enough.
"""

import sys
import warnings
from types import FrameType
from typing import Any

import numpy as np

from funcgrad.core.source import USER, kind_of_file

_LARGE = 65504.0  # the largest float16: all floating dtypes that NumPy warns of hold what is smaller
_ANY_SIZE = frozenset({int, float, complex})


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """A warning at the user's line, or at the outermost one where all are the package's."""
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and kind_of_file(frame.f_code.co_filename) != USER:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def _overflow(kind: str, flag: int) -> None:
    warn(f"{kind} encountered in cast", RuntimeWarning)


def told() -> np.errstate:
    """A context in which NumPy's warnings of overflow are told at the user's line; a user's own errstate holds."""
    return np.errstate(over="call", call=_overflow) if np.geterr()["over"] == "warn" else np.errstate()


def scalar(x: Any, dtype: np.dtype) -> Any:
    """`dtype.type(x)` of a Python number."""
    if x.__class__ in _ANY_SIZE and (x.__class__ is complex or not -_LARGE <= x <= _LARGE):
        with told():
            return dtype.type(x)
    return dtype.type(x)


def asarray(x: Any, dtype: np.dtype) -> np.ndarray:
    """`np.asarray(x, dtype)` of a Python number."""
    if x.__class__ in _ANY_SIZE and (x.__class__ is complex or not -_LARGE <= x <= _LARGE):
        with told():
            return np.asarray(x, dtype)
    return np.asarray(x, dtype)


def astype(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`x.astype(dtype)`, with NumPy's warnings of overflow and of lost imaginary parts."""
    if x.dtype.kind == "c" and np.dtype(dtype).kind in "fiu":
        warn("Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning)
        x = x.real
    with told():
        return x.astype(dtype)
