"""Abstract values: what is known of an array without its numbers.

`shaped(shape, dtype, weak_type)` interns, so that equal avals are one object and a jitted call can
compare its arguments with `is`.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from funcgrad.core import dtypes
from funcgrad.core.errors import asked_at, message


class ShapedArray:
    """Shape, dtype and weakness of an array. Immutable and interned: make one with `shaped`."""

    __slots__ = ("shape", "dtype", "weak_type", "ndim", "size", "_hash", "__weakref__")

    shape: tuple[int, ...]
    dtype: np.dtype
    weak_type: bool
    ndim: int
    size: int

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, weak_type: bool):
        self.shape, self.dtype, self.weak_type = shape, dtype, weak_type
        self.ndim, self.size = len(shape), math.prod(shape)
        self._hash = hash((shape, dtype, weak_type))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: Any) -> bool:
        return self is other or (
            other.__class__ is ShapedArray
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.weak_type == other.weak_type
        )

    def __reduce__(self) -> tuple:
        return shaped, (self.shape, self.dtype, self.weak_type)

    def __repr__(self) -> str:
        return f"ShapedArray({self.str_short()}{', weak_type=True' if self.weak_type else ''})"

    def str_short(self) -> str:
        """`f32[3,4]`"""
        return f"{dtypes.short_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    __str__ = str_short

    def strong(self) -> "ShapedArray":
        return shaped(self.shape, self.dtype) if self.weak_type else self

    def update(self, **changes: Any) -> "ShapedArray":
        now = {"shape": self.shape, "dtype": self.dtype, "weak_type": self.weak_type}
        return shaped(**(now | changes))


# Bounded: a service that sees millions of shapes must not grow. An evicted aval is still equal to its
# successor, only no longer the same object; comparisons fall back to ==.
_TABLE: dict[tuple, ShapedArray] = {}
_LIMIT = 65536


def shaped(shape: tuple[int, ...], dtype: np.dtype, weak_type: bool = False) -> ShapedArray:
    """The aval of this shape, dtype and weakness."""
    key = (shape, dtype, weak_type)
    aval = _TABLE.get(key)
    if aval is None:
        if len(_TABLE) >= _LIMIT:
            _TABLE.clear()
        aval = _TABLE.setdefault(key, ShapedArray(shape, dtype, weak_type))
    return aval


_PYTHON_SCALARS = frozenset({bool, int, float, complex})


def literal_aval(value: Any) -> ShapedArray:
    """The aval of a scalar literal: weak for a Python scalar, strong for a NumPy one."""
    t = value.__class__
    if t in _PYTHON_SCALARS:
        return shaped((), dtypes.scalar_dtype(t), t is not bool)
    try:
        return shaped((), value.dtype)
    except AttributeError:
        raise dtypes.no_operand(value) from None


# No address space is larger.
_MOST_BYTES = 2**47


def check_size(name: str, avals: Iterable[ShapedArray], cause: Exception | None = None) -> None:
    """MemoryError where a result has more elements than any memory."""
    for aval in avals:
        count = aval.size * aval.dtype.itemsize
        if count > _MOST_BYTES:
            came = f"{name}: the result would be {aval}, {count} bytes{asked_at()}"
            allowed = "arrays that fit into the memory of this machine"
            raise MemoryError(message(came, allowed, "check where the shape comes from")) from cause


def format_avals(avals: Any) -> str:
    """`f32[3], i64[]` for messages."""
    return ", ".join(a.str_short() for a in avals)
