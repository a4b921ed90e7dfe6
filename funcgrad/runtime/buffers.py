"""Memory: the address of an array's data, and fresh arrays that are aligned and cheap.

Small arrays come from NumPy (110 ns). Large ones come from memory that earlier arrays have given back: the
first touch of fresh memory costs more than most kernels (4 M float32: 2.3 ms of page faults against 1 ms of work).
"""

import ctypes
import mmap
import os
from collections import deque
from typing import Any

import numpy as np

from funcgrad.core.errors import message

ALIGNMENT = 64
LARGE = 1 << 20  # bytes from which memory is recycled; below, malloc keeps the pages itself
HUGE = 1 << 22
KEPT_EACH = 4  # free blocks kept of one size class
KEPT_BYTES = 1 << 29  # free bytes kept in all
_DATA_OFFSET = object.__basicsize__  # of `data` in NumPy's PyArrayObject: right after PyObject_HEAD


def _offset_holds() -> bool:
    """Whether the data pointer lies where we think, tried on three arrays."""
    for array in (np.arange(7.0), np.zeros((3, 4), np.int8)[1:, 2:], np.array(5)):
        if ctypes.c_size_t.from_address(id(array) + _DATA_OFFSET).value != array.ctypes.data:
            return False
    return True


DIRECT = _offset_holds()
_at = ctypes.c_size_t.from_address


def array_address(array: np.ndarray) -> int:
    """The address of the first element of `array`."""
    return _at(id(array) + _DATA_OFFSET).value


def _array_address_slow(array: np.ndarray) -> int:
    return array.ctypes.data


if not DIRECT:
    array_address = _array_address_slow


class _Lease(np.ndarray):
    """The base of an array in recycled memory: gives it back when nothing looks at it any more."""

    def __del__(self):
        block = self.base
        if _pool is not None and block is not None:
            _pool.give_back(block)


class _Pool:
    """Free blocks by size class. Lists and deques change atomically under the GIL, and `__del__` may run anywhere,
    so there is no lock that could be held then."""

    def __init__(self):
        self.free: dict[int, deque] = {}
        self.bytes = 0

    def take(self, size: int) -> mmap.mmap:
        """A block of at least `size` bytes; classes are an eighth of a power of two apart."""
        step = max(mmap.PAGESIZE, 1 << max(0, size.bit_length() - 4))
        rounded = -(-size // step) * step
        free = self.free.get(rounded)
        if free:
            try:
                block = free.pop()
                self.bytes -= rounded
                return block
            except IndexError:
                pass  # another thread was faster
        block = self._fresh(rounded)
        if rounded >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
            try:
                block.madvise(mmap.MADV_HUGEPAGE)
            except OSError:
                pass  # a kernel without huge pages
        return block

    def _fresh(self, size: int) -> mmap.mmap:
        """New memory of the system; where that is short, what is kept goes back first."""
        for last in (False, True):
            try:
                return mmap.mmap(-1, size)
            except (OSError, OverflowError):
                if last:
                    break
                self.free.clear()
                self.bytes = 0
        raise MemoryError(
            message(
                f"an array of {size / 1e9:.3g} GB was to be made, and the system gives no such memory",
                "arrays that fit into memory, each at its full size where it is an input or a result",
                "smaller pieces (lax.map, lax.scan); fg.explain(f)(x) shows the buffers of a jitted function",
            )
        )

    def give_back(self, block: Any) -> None:
        size = len(block)
        free = self.free.get(size)
        if free is None:
            free = self.free.setdefault(size, deque())
        if len(free) < KEPT_EACH and self.bytes + size <= KEPT_BYTES:
            self.bytes += size
            free.append(block)


_pool = _Pool()


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A fresh C-contiguous array with undefined contents."""
    count = dtype.itemsize
    for n in shape:
        count *= n
    if count < LARGE:
        return np.empty(shape, dtype)
    lease = np.ndarray.__new__(_Lease, count, np.uint8, _pool.take(count))
    return np.ndarray(shape, dtype, lease)


def kept_bytes() -> int:
    """How much free memory is kept for later arrays."""
    return _pool.bytes


def release_kept() -> None:
    """Give the kept memory back to the system."""
    _pool.free = {}
    _pool.bytes = 0


def _after_fork() -> None:
    # the parent's free blocks are shared page by page: writing to one copies it, so fresh memory is as good
    release_kept()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
