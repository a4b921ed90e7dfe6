"""The driver made ready: its machine code loaded, its table of the process's addresses filled in.

Enters: nothing (the first use compiles the driver, or reads it from the disk cache). Leaves: `driver()`, whose
`method(entry, state)` is a builtin function object that calls machine code directly. A builtin costs 40 ns a call where
ctypes costs 300 and a numba dispatcher 160.
"""

import ctypes
import hashlib
import os
import sys
import threading
from typing import Any

import numpy as np

from funcgrad.core.lazy import LazyModule
from funcgrad.runtime import blas, cache, kernels, loader
from funcgrad.runtime import driver_layout as layout
from funcgrad.runtime.counters import counters
from funcgrad.runtime.driver_layout import PREFIX
from funcgrad.runtime.keys import fingerprint, own_file

METH_FASTCALL, METH_O = 0x80, 0x08
METHODS = {"call_arrays": METH_FASTCALL, "call_packed": METH_O, "call_direct": METH_FASTCALL, "call_stretch": METH_O}
# What is called from outside: from Python, by a pool thread (`worker`), by kernels (`asked_to_stop`).
ENTRIES = ("worker", "asked_to_stop", "prepare", *METHODS, "release_block")
SYS_FUTEX = {"x86_64": 202, "aarch64": 98, "arm64": 98, "riscv64": 98, "ppc64le": 221}


_PARTS = "layout work walk entries compile lower".split()
FILES = (*(f"driver_{part}.py" for part in _PARTS), "system_words.py")
source: Any = LazyModule("funcgrad.runtime.driver_compile", first="numba")  # and numba with it


def _compile() -> bytes:
    return source.compile_driver(ENTRIES)


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def _key() -> str:
    digest = hashlib.sha256(fingerprint() + b"driver" + bytes([layout.HEAD]))
    for name in FILES:
        digest.update(own_file(name))
    return digest.hexdigest()


def _address(library, name: str) -> int:
    """The address of a C function, or 0."""
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


class Driver:
    """Machine code and environment of this process."""

    def __init__(self, code: bytes):
        symbols = [PREFIX + name for name in ENTRIES]
        self.entries: dict[str, int] = dict(zip(ENTRIES, loader.load_all(symbols, code), strict=True))
        self.environment = np.zeros(layout.E_BYTES_TOTAL // 8, np.int64)
        self.pool = np.zeros(layout.P_BYTES_TOTAL // 8 + 24, np.int64)
        self.pool_address = (self.pool.ctypes.data + 63) // 64 * 64
        self.env_address = self.environment.ctypes.data
        self._fill()
        self._definitions: dict[str, _MethodDef] = {}
        new = ctypes.pythonapi.PyCFunction_NewEx
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
        self._new = new
        for name, flags in METHODS.items():
            self._definitions[name] = _MethodDef(name.encode(), self.entries[name], flags, None)
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        self.prepare = kind(self.entries["prepare"])
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        self.release = kind(self.entries["release_block"])

    def _fill(self) -> None:
        python, libc = ctypes.pythonapi, ctypes.CDLL(None)
        put = self.put
        put(layout.E_SAVE_THREAD, _address(python, "PyEval_SaveThread"))
        put(layout.E_RESTORE_THREAD, _address(python, "PyEval_RestoreThread"))
        put(layout.E_BYTES, _address(python, "PyBytes_FromStringAndSize"))
        put(layout.E_AS_INT, _address(python, "PyLong_AsLongLong"))
        put(layout.E_INCREF, _address(python, "Py_IncRef"))
        put(layout.E_SIGNALS, _address(python, "PyErr_CheckSignals"))
        put(layout.E_NONE, id(None))
        put(layout.E_ALLOCATE, _address(libc, "aligned_alloc"))
        put(layout.E_FREE, _address(libc, "free"))
        put(layout.E_YIELD, _address(libc, "sched_yield"))
        put(layout.E_NDARRAY, id(np.ndarray))
        if sys.platform == "linux":
            put(layout.E_ADVISE, _address(libc, "madvise"))
            futex = SYS_FUTEX.get(os.uname().machine, 0)
            put(layout.E_SYSCALL, _address(libc, "syscall") if futex else 0)
            put(layout.E_FUTEX, futex)
        put(layout.E_CLOCK, _address(libc, "clock_gettime"))
        put(layout.E_CREATE, _address(libc, "pthread_create"))
        put(layout.E_WORKER, self.entries["worker"])
        put(layout.E_ASKED, self.entries["asked_to_stop"])
        for k, dtype in enumerate(blas.DTYPES):
            place = (layout.E_ONE + 16 * k) // 8
            self.environment[place : place + 2].view(np.uint8)[: dtype.itemsize] = np.array([1], dtype).view(np.uint8)
        for k, address in enumerate(blas.gemm_addresses()):
            put(layout.E_GEMM + 8 * k, address)
        for k, address in enumerate(blas.gemv_addresses()):
            put(layout.E_GEMV + 8 * k, address)
        getter, setter = blas.thread_functions()
        put(layout.E_BLAS_GET, getter if setter else 0)
        put(layout.E_BLAS_SET, setter if getter else 0)

    @staticmethod
    def of_process() -> "Driver | None":
        """The driver, if there is one already."""
        return _Once.made

    def pool_words(self) -> np.ndarray:
        """The thread pool's memory, as int64."""
        start = (self.pool_address - self.pool.ctypes.data) // 8
        return self.pool[start : start + layout.P_BYTES_TOTAL // 8 + 8]

    def put(self, offset: int, value: int) -> None:
        self.environment[offset // 8] = value

    def method(self, entry: str, state: np.ndarray, keep: Any):
        """A builtin function that runs `entry` on an executable's state. It keeps `keep` alive (as its module, which
        may be any object): what the state points to."""
        return self._new(ctypes.addressof(self._definitions[entry]), state, keep)


class _Once:
    lock = threading.RLock()
    made: Driver | None = None


def _keep(code: bytes, store: bool = True) -> None:
    with _Once.lock:
        if store:
            cache.disk().put(_key(), code)
        if _Once.made is None:
            _Once.made = made = Driver(code)
            counters.launches_of = lambda: int(made.environment[layout.E_LAUNCHES // 8])


def companion() -> kernels.Companion | None:
    """The driver as something to compile beside kernels; None when there is one, or the disk cache has it."""
    if _Once.made is not None:
        return None
    code = cache.disk().get(_key())
    if code is not None:
        _keep(code, store=False)
        return None
    return kernels.Companion(_compile, _keep, size=9000)  # it takes as long as some eight kernels


def _after_fork() -> None:
    _Once.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def driver() -> Driver:
    """The driver of this process."""
    if _Once.made is None:
        kernels.addresses([], companion())
    made = _Once.made
    assert made is not None
    return made
