"""`Array`: an abstract value with its numbers. Immutable.

The numbers lie in one of two ways, and either becomes the other when it is asked for:
    by eager evaluation   `_view` is an ndarray; `_address` is 0 until a program wants the array as its input
    by a program          `_address` is known from the allocation, `_memory` keeps it alive; `_view` is None until NumPy is wanted
Where `_address` is not 0, the numbers are C-contiguous, aligned and in native byte order: what kernels read.
"""

import ctypes
from typing import Any

import numpy as np

from funcgrad.bridge import dlpack
from funcgrad.bridge.device import CPU, Device
from funcgrad.bridge.html import array_html
from funcgrad.core import dtypes as dt
from funcgrad.core import html
from funcgrad.core.arguments import flag
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import DeletedArrayError, DtypeError, UsageError, message
from funcgrad.core.warn import astype
from funcgrad.trace.value import Value


class Array(Value):
    """An immutable n-dimensional array on the CPU.

    Made by `funcgrad.numpy` (`fnp.asarray`, `fnp.zeros`, ...) and by every operation. `np.asarray(x)` is a read-only
    view of the same memory. `x.at[i].set(v)` gives a changed copy.

    >>> x = fnp.array([1.0, 2.0, 3.0])
    >>> isinstance(x, fg.Array), x.shape, x.dtype
    (True, (3,), dtype('float32'))
    >>> x.at[0].add(10.0)
    Array([11.,  2.,  3.], dtype=float32)
    """

    __slots__ = ("aval", "_address", "_memory", "_view", "__weakref__")

    aval: ShapedArray
    _address: int
    _memory: Any
    _view: np.ndarray | None

    __hash__ = None  # type: ignore[assignment]

    @property
    def _np(self) -> np.ndarray:
        """The numbers for the package's own reading. It may be writeable: hand out `np.asarray(x)` instead."""
        view = self._view
        if view is None:
            aval = self.aval
            if aval.size == 0 or aval.dtype.itemsize == 0:
                view = np.empty(aval.shape, aval.dtype)
            else:
                view = np.frombuffer(self._memory, aval.dtype, aval.size).reshape(aval.shape)
            self._view = view
        return view

    def concrete(self) -> "Array":
        """The array itself: it has its numbers. (A tracer may have none.)"""
        return self

    # --- NumPy and others -------------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The numbers as a read-only view, or as a copy where `dtype` or `copy` ask for one."""
        view = self._np
        if dtype is not None and dtype != view.dtype:
            if copy is False:
                raise ValueError(f"an array of {dt.short_name(view.dtype)} cannot be seen as {dtype} without a copy")
            return astype(view, dtype)
        return view.copy() if copy else sealed(view)

    def __buffer__(self, flags: int) -> memoryview:
        """The buffer protocol (Python 3.12 and later); read-only."""
        return memoryview(np.asarray(self))  # type: ignore[arg-type]

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        """A DLPack capsule on the same memory, flagged read-only.

        A consumer of DLPack 0.x, which has no such flag, gets a copy; with copy=False the memory itself, not to be changed.
        """
        if self.aval.dtype not in dlpack.SUPPORTED:
            raise BufferError(message(f"__dlpack__: got {self.aval.str_short()}", "numbers", "random.key_data(keys)"))
        if stream is not None:
            raise BufferError(message(f"__dlpack__: got stream={stream!r} for memory of the CPU", "None", "leave stream out"))
        view = np.asarray(self)
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"the array is on the CPU {self.__dlpack_device__()}, not on {dl_device}")
        if max_version is None or max_version[0] < 1:
            return dlpack.exported(_unflagged(view) if copy is False else view.copy())
        return dlpack.exported(view, max_version=max_version, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    # --- copying and sending --------------------------------------------------------------------------------

    def __reduce__(self) -> tuple:
        return _unpickle, (self._np.copy(), self.aval.dtype, self.aval.weak_type)

    def __copy__(self) -> "Array":
        return self  # immutable

    def __deepcopy__(self, memo: Any) -> "Array":
        return self

    # --- text -----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        aval = self.aval
        if aval.dtype == dt.KEY:
            words = np.ascontiguousarray(self._np).view(np.uint32).reshape(*aval.shape, 2)
            return f"Array({aval.shape}, dtype={dt.short_name(aval.dtype)}) overlaying:\n{words}"
        weak = ", weak_type=True" if aval.weak_type else ""
        tail = f", dtype={aval.dtype.name}{weak})"
        if aval.size == 0 and aval.shape != (0,):
            return f"Array([], shape={aval.shape}{tail}"
        if aval.size > np.get_printoptions()["threshold"]:  # the text leaves elements out
            tail = f", shape={aval.shape}{tail}"
        return f"Array({np.array2string(self._np, separator=', ', prefix='Array(', suffix=tail)}{tail}"

    def __str__(self) -> str:
        return str(self._np)

    def _repr_html_(self) -> str:
        """What notebooks show: shape, dtype and size, and the numbers as a table."""
        if self.is_deleted():
            return html.text(repr(self))
        return array_html(self._np, self.aval, str(self.device))

    # --- memory and place -----------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self.aval.size * self.aval.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The size of one element in bytes."""
        return self.aval.dtype.itemsize

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return CPU

    def devices(self) -> set[Device]:
        """The set of devices that hold the array."""
        return {CPU}

    def block_until_ready(self) -> "Array":
        """The array, when its numbers are there: at once, programs on the CPU run synchronously."""
        _ = self.aval.shape if self.__class__ is Array else self._np
        return self

    def is_ready(self) -> bool:
        """Whether the numbers are there already."""
        return True

    def is_deleted(self) -> bool:
        """Whether the memory was donated or deleted."""
        return self.__class__ is DeletedArray

    def delete(self) -> None:
        """Give the memory back now. Using the array from then on raises DeletedArrayError."""
        mark_deleted(self)

    def unsafe_buffer_pointer(self) -> int:
        """The address of the (C-contiguous) numbers, valid as long as the array lives."""
        return address(self)


class DeletedArray(Array):
    """What an array becomes when its memory was donated or deleted: shape and dtype are left, using the numbers raises."""

    __slots__ = ()

    @property
    def _np(self) -> np.ndarray:
        raise DeletedArrayError(
            message(
                f"an array {self.aval.str_short()} was used after its memory had been {self._memory}",
                "arrays that still have their memory",
                "use the result of that call instead (x = step(x)), or leave the argument out of donate_argnums",
            )
        )

    def __repr__(self) -> str:
        return f"Array({self.aval.str_short()}, {self._memory})"

    __str__ = __repr__


def mark_deleted(x: Array, how: str = "given back by delete()") -> None:
    """Take the memory from `x`; `how` completes "its memory had been ..."."""
    if x.__class__ is Array:
        x.__class__ = DeletedArray
        x._address, x._memory, x._view = 0, how, None


_new = object.__new__


def sealed(x: np.ndarray) -> np.ndarray:
    """The same numbers as an array that nobody can make writeable.

    NumPy lets every array be made writeable whose memory is that of a writeable array, and every owner of memory. So the view
    is one of a read-only buffer (of the bytes object that holds the numbers, or of a memoryview), where it is refused."""
    root = x
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not (root.flags.owndata or root.flags.writeable) or x.size == 0:
        return x[...]
    if x.flags.c_contiguous and x.dtype.isbuiltin == 1:
        return np.frombuffer(memoryview(x).toreadonly(), x.dtype).reshape(x.shape)  # type: ignore[arg-type]
    dense = root
    if not root.flags.c_contiguous:
        dense = root.transpose(sorted(range(root.ndim), key=lambda i: -root.strides[i]))
        if not dense.flags.c_contiguous:  # the memory of somebody else, with gaps
            return sealed(x.copy())
    flat = dense.reshape(-1).view(np.uint8)
    offset = ndarray_address(x) - ndarray_address(flat)
    # Not the memoryview itself: np.ndarray would look through it.
    readonly = memoryview(flat).toreadonly()  # type: ignore[arg-type]
    return np.ndarray(x.shape, x.dtype, np.frombuffer(readonly, np.uint8), offset, x.strides)


def _unflagged(x: np.ndarray) -> np.ndarray:
    """The same numbers as an array that is not marked read-only, where they are C-contiguous."""
    if not x.flags.c_contiguous:
        raise BufferError("an array with strides goes to a consumer of DLPack 0.x as a copy only")
    memory: Any = (ctypes.c_char * x.nbytes).from_address(ndarray_address(x))
    memory.owner = x  # the numbers live as long as the array that shows them
    return np.frombuffer(memory, x.dtype).reshape(x.shape) if x.size else x.copy()


def wrap(x: np.ndarray, aval: ShapedArray) -> Array:
    """An Array over `x`, which from now on must not change."""
    self = _new(Array)
    self.aval, self._view, self._address, self._memory = aval, x, 0, None
    return self


def address(x: Array) -> int:
    """The address of the numbers as kernels read them: C-contiguous and aligned (a copy is made and kept where they are not)."""
    where = x._address
    if not where:
        view = x._np
        flags = view.flags
        if not (flags.c_contiguous and flags.aligned):
            view = x._view = np.array(view, order="C")
        where = x._address = ndarray_address(view)
    return where


def ndarray_address(x: np.ndarray) -> int:
    """The address of the first element."""
    return x.__array_interface__["data"][0] if x.dtype != dt.bfloat16 else x.view(np.uint16).ctypes.data


_UNSUPPORTED = "bool, integers, floats and complex numbers of NumPy and ml_dtypes"


def from_numpy(x: Any, weak_type: bool = False, copy: bool = True) -> Array:
    """An Array of the numbers in `x` (np.ndarray, np.generic, Python scalar, nested lists).

    With `copy=False` the memory is shared where it can be (C-contiguous or not, native byte order); the caller promises that it
    does not change any more.
    """
    array = np.asarray(x)
    if array.dtype.kind in "OSUMm":
        raise DtypeError(
            message(
                f"an array was to be made from {_describe(x)}, NumPy's dtype {array.dtype}", _UNSUPPORTED, "x.astype('float32')"
            )
        )
    dtype = dt.canonical(array.dtype)
    if array.dtype != dtype or copy and (array is x or array.base is not None):
        array = np.array(array, dtype, order="C")
    elif array is x:
        array = array.view()
    if array.__class__ is not np.ndarray:
        array = array.view(np.ndarray)
    if array.flags.writeable:
        array.setflags(write=False)
    return wrap(array, shaped(array.shape, dtype, weak_type))


def _describe(x: Any) -> str:
    if isinstance(x, (list, tuple)):
        return f"a {type(x).__name__} of {len(x)}"
    return f"a value of type {type(x).__name__}"


def _unpickle(numbers: np.ndarray, dtype: np.dtype, weak_type: bool) -> Array:
    return wrap(numbers, shaped(numbers.shape, dtype, weak_type))


def from_dlpack(x: Any, copy: bool | None = None) -> Array:
    """An Array on the memory of another library's array (through `__dlpack__`), or on a copy of it."""
    if not hasattr(x, "__dlpack__"):
        raise UsageError(message(f"from_dlpack: got {_describe(x)}", "an array with the method __dlpack__", "fnp.asarray(x)"))
    return from_numpy(dlpack.imported(x), copy=flag(copy, "fnp.from_dlpack", "copy"))


# CPython keeps the characters of a bytes object inside the object; the last of its basic size is the closing zero.
BYTES_OFFSET = bytes.__basicsize__ - 1
assert ctypes.string_at(id(b"funcgrad") + BYTES_OFFSET, 8) == b"funcgrad"
