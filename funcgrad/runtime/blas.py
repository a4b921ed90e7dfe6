"""Where the BLAS functions are: addresses out of SciPy, which ships or links a tuned library on every platform."""

import ctypes

import numpy as np
from numba.extending import get_cython_function_address
from scipy.linalg import cython_blas

# The order is the number of a dtype in the driver's table.
DTYPES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))
NAMES = ("sgemm", "dgemm", "cgemm", "zgemm")
VECTOR_NAMES = ("sgemv", "dgemv", "cgemv", "zgemv")
_GETTERS = ("scipy_openblas_get_num_threads", "openblas_get_num_threads", "MKL_Get_Max_Threads")
_SETTERS = ("scipy_openblas_set_num_threads", "openblas_set_num_threads", "MKL_Set_Num_Threads")


def gemm_addresses() -> list[int]:
    """sgemm, dgemm, cgemm, zgemm: Fortran's calling convention, 32-bit integers."""
    return [get_cython_function_address("scipy.linalg.cython_blas", name) for name in NAMES]


def gemv_addresses() -> list[int]:
    """sgemv, dgemv, cgemv, zgemv: the same."""
    return [get_cython_function_address("scipy.linalg.cython_blas", name) for name in VECTOR_NAMES]


def thread_functions() -> tuple[int, int]:
    """(get_num_threads, set_num_threads) of the library behind SciPy; 0 where it has none."""
    try:
        library = ctypes.CDLL(cython_blas.__file__)  # a symbol is looked up in what it links as well
    except OSError:
        return 0, 0
    return _first(library, _GETTERS), _first(library, _SETTERS)


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
