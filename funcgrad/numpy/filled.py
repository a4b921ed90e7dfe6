"""Arrays of one number, repeated: full, zeros, ones, empty, and those like another array.

They are programs of a constant, so that inside a jitted function they take no memory.
"""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ShapeError, message
from funcgrad.numpy._axes import shape_of
from funcgrad.numpy._promote import (
    as_value,
    broadcast_value,
    cast,
    operand,
    result_aval,
)
from funcgrad.numpy.creation import as_dtype, asarray, check_device
from funcgrad.ops._family import full as fill
from funcgrad.trace.value import Value

__all__ = [
    "empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like",
]  # fmt: skip


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of `shape` filled with `fill_value` (which may be an array that broadcasts).

    dtype: that of the fill value where it is left out. Raises ConcretizationTypeError for a traced shape.
    device: None or the CPU.

    >>> fnp.full((2, 3), 7.0)
    Array([[7., 7., 7.],
           [7., 7., 7.]], dtype=float32)
    >>> fnp.full((2, 3), fnp.arange(3))
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int64)
    """
    check_device("full", device)
    new = shape_of(shape, "full")
    kind = None if dtype is None else _kind("full", dtype, f"{(*new, fill_value)}, {dtype}")
    value = operand(fill_value, "full", "fill_value") if not isinstance(fill_value, (list, tuple)) else asarray(fill_value)
    if isinstance(value, Value):
        value = value if kind is None else cast(value, kind)
        if len(value.shape) > len(new) or any([n not in (1, m) for n, m in zip(value.shape[::-1], new[::-1])]):
            raise ShapeError(
                message(
                    f"fnp.full: got fill_value {value.aval.str_short()} for shape {new}",
                    "a value that repeats into the shape",
                    "a scalar",
                )
            )
        return broadcast_value(value, new)
    target = result_aval(value).dtype if kind is None else kind
    return fill(new, _scalar_in(value, target))


def _kind(name: str, dtype: Any, meant: str) -> np.dtype:
    """The dtype asked for. Where an extent came in its place, the shape was given as several arguments."""
    if isinstance(dtype, (int, np.integer)) and not isinstance(dtype, bool) and 0 <= dtype < 2**63:
        came = f"fnp.{name}: {dtype} is not a dtype"
        raise TypeError(message(came, "a shape as one argument, a tuple", f"fnp.{name}({meant})"))
    return dt.canonical(dtype)


def _scalar_in(value: Any, dtype: np.dtype) -> Any:
    return as_dtype(value, dtype)[()] if dtype in dt.INTEGERS and not isinstance(value, (int, np.integer)) else cast(value, dtype)


def _filled(name: str, shape: Any, dtype: Any, device: Any, number: int) -> Any:
    check_device(name, device)
    new = shape_of(shape, name)
    return fill(new, cast(number, dt.default_float() if dtype is None else _kind(name, dtype, str((*new, dtype)))))


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Zeros of `shape` (integer or tuple); dtype float32 without one. Raises ConcretizationTypeError for a traced shape.

    device: None or the CPU.

    >>> fnp.zeros((2, 3))
    Array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    >>> fnp.zeros(3, int)
    Array([0, 0, 0], dtype=int64)
    """
    return _filled("zeros", shape, dtype, device, 0)


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Ones of `shape` (integer or tuple); dtype float32 without one. Raises ConcretizationTypeError for a traced shape.

    device: None or the CPU.

    >>> fnp.ones((2, 2))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    >>> fnp.ones(3, bool)
    Array([ True,  True,  True], dtype=bool)
    """
    return _filled("ones", shape, dtype, device, 1)


def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """As `zeros`: arrays are immutable, so there is nothing that would fill an empty one.

    >>> fnp.empty(3)
    Array([0., 0., 0.], dtype=float32)
    """
    return _filled("empty", shape, dtype, device, 0)


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """An array filled with `fill_value`, of the shape and dtype of `a` unless they are given.

    Args: a: array, or anything with a shape and a dtype. fill_value: scalar, or an array that broadcasts.
    device: None or the CPU.

    >>> fnp.full_like(fnp.arange(3), 7)
    Array([7, 7, 7], dtype=int64)
    >>> fnp.full_like(fnp.arange(3), 0.5, dtype=fnp.float32, shape=(2,))
    Array([0.5, 0.5], dtype=float32)
    """
    like = _prototype(a, "full_like")
    return full(like.shape if shape is None else shape, fill_value, like.dtype if dtype is None else dtype, device=device)


def _prototype(a: Any, name: str) -> Any:
    if hasattr(a, "shape") and hasattr(a, "dtype"):
        return a  # an array, or something that only says its shape and dtype
    return asarray(a) if isinstance(a, (list, tuple)) else as_value(a, name)


def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Zeros of the shape and dtype of `a` unless they are given.

    Args: a: array, or anything with a shape and a dtype. device: None or the CPU.

    >>> fnp.zeros_like(np.arange(3.0))
    Array([0., 0., 0.], dtype=float64)
    """
    return full_like(a, 0, dtype, shape, device=device)


def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Ones of the shape and dtype of `a` unless they are given.

    Args: a: array, or anything with a shape and a dtype. device: None or the CPU.

    >>> fnp.ones_like(fnp.zeros((2, 3)), dtype=int)
    Array([[1, 1, 1],
           [1, 1, 1]], dtype=int64)
    """
    return full_like(a, 1, dtype, shape, device=device)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """As `zeros_like`.

    >>> fnp.empty_like(fnp.arange(3))
    Array([0, 0, 0], dtype=int64)
    """
    return full_like(prototype, 0, dtype, shape, device=device)
