"""Memory for the outputs of programs: small ones in bytes objects, large ones recycled, donated ones taken over.

A bytes object costs 45 ns, knows its address, is read-only to everybody but the kernel that fills it, and NumPy reads it
without a copy. Nobody has seen it before it is filled, so nothing that holds of bytes (immutable, hashable) is broken.
"""

import sys
from typing import Any

import numpy as np

from funcgrad.bridge.array import BYTES_OFFSET, Array, address, mark_deleted, wrap
from funcgrad.core.aval import ShapedArray
from funcgrad.core.errors import UsageError, message
from funcgrad.runtime.buffers import array_address, empty

SMALL = 16384  # bytes up to which an output lies in a bytes object; zeroing it costs less than finding other memory
_new = object.__new__


def small_size(aval: ShapedArray) -> int | None:
    """How many bytes to ask for, or None where the output is large. Never 0 or 1: those bytes objects are shared."""
    count = aval.size * aval.dtype.itemsize
    return max(count, 8) if count <= SMALL else None


def output(aval: ShapedArray) -> Array:
    """An Array with fresh memory, for a program to fill."""
    size = small_size(aval)
    self = _new(Array)
    self.aval = aval
    if size is None:
        view = self._view = empty(aval.shape, aval.dtype)
        self._memory, self._address = None, array_address(view)
    else:
        memory = self._memory = bytes(size)
        self._view, self._address = None, id(memory) + BYTES_OFFSET
    return self


# --- donation ---------------------------------------------------------------------------------------------------


def distinct(values: tuple) -> None:
    """UsageError where one Array comes as two arguments of a call that takes some arguments' memory."""
    if len(set(map(id, values))) != len(values):
        seen: set[int] = set()
        for x in values:
            if isinstance(x, Array):
                if id(x) in seen:
                    raise UsageError(
                        message(
                            f"jit: one array {x.aval.str_short()} came as two arguments of a call that donates one of them",
                            "each donated array as one argument only",
                            "fnp.copy(x) for one of the two, or leave donate_argnums out",
                        )
                    )
                seen.add(id(x))


def take(x: Array, aval: ShapedArray) -> Array:
    """An Array `aval` in the memory of `x`, which is deleted. The numbers are still those of `x`: the program overwrites them.

    Where somebody else can see the memory (a NumPy view, another Array), it is copied."""
    where = address(x)
    out = _new(Array)
    out.aval = aval
    if x._memory is not None:
        if x._view is not None and sys.getrefcount(x._view) == 2:
            x._view = None
        if x._view is None and sys.getrefcount(x._memory) == 2 and _sole(x._memory):
            out._memory, out._view, out._address = x._memory, None, where
            mark_deleted(x, _DONATED)
            return out
    elif sys.getrefcount(x._view) == 2 and _sole(x._view):
        if aval is x.aval:
            out._memory, out._view = None, x._view
        else:
            out._memory, out._view = x._view, None
        out._address = where
        mark_deleted(x, _DONATED)
        return out
    copied = empty(x.aval.shape, x.aval.dtype)
    copied[...] = x._np
    mark_deleted(x, _DONATED)
    out._memory, out._view = (None, copied) if aval is x.aval else (copied, None)
    out._address = array_address(copied)
    return out


_DONATED = "donated to a jitted call"


def _sole(owner: Any) -> bool:
    """Whether an owner of memory, itself seen by one holder, has it to itself."""
    if owner.__class__ is bytes:
        return True
    base = owner.base
    return base is None or base.__class__ is not np.ndarray and isinstance(base, np.ndarray) and sys.getrefcount(base) == 3


def drop(x: Any) -> None:
    """Delete a donated argument whose memory no output took."""
    if x.__class__ is Array:
        mark_deleted(x, _DONATED)


def alias(x: Array, aval: ShapedArray) -> Array:
    """Another Array on the numbers of `x`, perhaps in another shape."""
    view = x._np
    if not view.flags.c_contiguous:
        address(x)
        view = x._np
    if view.dtype != aval.dtype:
        view = view.view(aval.dtype)
    return wrap(view.reshape(aval.shape), aval)
