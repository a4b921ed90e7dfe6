"""Where the BLAS functions are: addresses out of SciPy, which ships or links a tuned library on every platform."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
from numpy.linalg import _umath_linalg
from scipy.linalg import cython_blas

# The order is the number of a dtype in the driver's table.
DTYPES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))
NAMES = ("sgemm", "dgemm", "cgemm", "zgemm")
VECTOR_NAMES = ("sgemv", "dgemv", "cgemv", "zgemv")
_SIGNATURE = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_GETTERS = tuple(f"{p}openblas_get_num_threads{s}" for p in ("scipy_", "") for s in ("", "64_")) + ("MKL_Get_Max_Threads",)
_SETTERS = tuple(f"{p}openblas_set_num_threads{s}" for p in ("scipy_", "") for s in ("", "64_")) + ("MKL_Set_Num_Threads",)


def _function_address(name: str) -> int:
    """Where a function of SciPy's BLAS is: its capsule's name is its C signature."""
    capsule = cython_blas.__pyx_capi__[name]
    return _POINTER(capsule, _SIGNATURE(capsule)) or 0


def gemm_addresses() -> list[int]:
    """sgemm, dgemm, cgemm, zgemm: Fortran's calling convention, 32-bit integers."""
    return [_function_address(name) for name in NAMES]


def gemv_addresses() -> list[int]:
    """sgemv, dgemv, cgemv, zgemv: the same."""
    return [_function_address(name) for name in VECTOR_NAMES]


def thread_functions() -> tuple[int, int]:
    """(get_num_threads, set_num_threads) of the library behind SciPy; 0 where it has none."""
    return _thread_functions(cython_blas.__file__)


def _thread_functions(file: str) -> tuple[int, int]:
    try:
        library = ctypes.CDLL(file)  # a symbol is looked up in what it links as well
    except OSError:
        return 0, 0
    getter, setter = _first(library, _GETTERS), _first(library, _SETTERS)
    return (getter, setter) if getter and setter else (0, 0)


@lru_cache(maxsize=1)
def _libraries() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """How many threads the libraries behind SciPy and NumPy use, and how that is set."""
    found = dict.fromkeys([thread_functions(), _thread_functions(_umath_linalg.__file__)])
    return [(_GET(getter), _SET(setter)) for getter, setter in found if getter]


_GET, _SET = ctypes.CFUNCTYPE(ctypes.c_int), ctypes.CFUNCTYPE(None, ctypes.c_int)


@contextmanager
def one_thread() -> Iterator[None]:
    """The libraries do not share out what is called here. On small matrices their threads gain little, and where the processors
    are busy each of the many times that they wait for one another may take milliseconds."""
    changed = []
    for get, put in _libraries():
        before = get()
        if before > 1:  # else somebody has set it who will also set it back
            put(1)
            changed.append((put, before))
    try:
        yield
    finally:
        for put, before in changed:
            put(before)


def _first(library: ctypes.CDLL, names: tuple[str, ...]) -> int:
    for name in names:
        function = getattr(library, name, None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value or 0
    return 0


def get_threads() -> int:
    """How many threads the library uses now; 0 when it does not say."""
    getter, _ = thread_functions()
    return ctypes.CFUNCTYPE(ctypes.c_int)(getter)() if getter else 0
