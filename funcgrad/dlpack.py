"""DLPack: arrays of other libraries (NumPy, PyTorch, ...) on the same memory, without a copy.

An Array is itself a producer, so `torch.from_dlpack(x)` and `np.from_dlpack(x)` work; `from_dlpack` is the other way.
"""

from typing import Any

from funcgrad import numpy as fnp
from funcgrad.bridge.dlpack import SUPPORTED
from funcgrad.core import dtypes as dt

__all__ = ["from_dlpack", "is_supported_dtype"]


def from_dlpack(external_array: Any, device: Any = None, copy: Any = None) -> Any:
    """An array on the memory of another library's array; with copy=True on a copy of it.

    Args: external_array: an array with the method `__dlpack__`, in the memory of the CPU. device: None or the CPU.
    The memory must not change as long as the array lives. Shape and strides are kept: a transposed array needs no copy either.
    Raises: UsageError for what has no `__dlpack__`; the other library's BufferError or RuntimeError where it cannot lend its
    memory.

    >>> from funcgrad import dlpack
    >>> dlpack.from_dlpack(np.arange(3.0))
    Array([0., 1., 2.], dtype=float64)
    """
    return fnp.from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of this dtype can be exchanged: bool, integers and floats of 8 bits or more (bfloat16 and float8 too) and
    complex numbers; no PRNG keys.

    >>> from funcgrad import dlpack
    >>> dlpack.is_supported_dtype("bfloat16"), dlpack.is_supported_dtype(random.key(0).dtype)
    (True, False)
    """
    return dt.canonical(dtype) in SUPPORTED
