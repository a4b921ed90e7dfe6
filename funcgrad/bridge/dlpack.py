"""DLPack, the protocol by which libraries share the memory of arrays: capsules made and read, with the dtypes that NumPy lacks.

NumPy makes and reads the capsules. It refuses bfloat16 and the 8-bit floats, which DLPack has codes for: these pass NumPy as
unsigned integers of their width, and the code in the capsule says what they are. The layout is that of dlpack.h (0 and 1).
"""

import ctypes
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt

# dlpack.h, DLDataTypeCode.
_UNSIGNED = 1
_CODES = {dt.bfloat16: 4} | {
    d: code
    for d in dt.FLOAT8
    for name, code in {
        "float8_e3m4": 7, "float8_e4m3": 8, "float8_e4m3b11fnuz": 9, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11,
        "float8_e5m2": 12, "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14,
    }.items()
    if d.name == name
}  # fmt: skip
_DTYPES = {code: d for d, code in _CODES.items()}
SUPPORTED = dt.BOOLS | dt.INTEGERS | dt.COMPLEXES | {dt.float16, dt.float32, dt.float64} | frozenset(_CODES)


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


# In DLTensor the dtype follows data (8 bytes), device (8) and ndim (4). DLManagedTensor begins with the DLTensor; before that of
# DLManagedTensorVersioned stand version (8), context, deleter and flags (8 each).
_AT = {b"dltensor": 20, b"dltensor_versioned": 32 + 20}
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def _data_type(capsule: Any) -> _DataType:
    """The dtype that stands in a capsule, to be read or changed."""
    name = next(name for name in _AT if _is_valid(capsule, name))
    return _DataType.from_address(_pointer(capsule, name) + _AT[name])


def exported(x: np.ndarray, **options: Any) -> Any:
    """A capsule on the memory of `x`; options as NumPy's `__dlpack__` takes them."""
    code = _CODES.get(x.dtype)
    if code is None:
        return x.__dlpack__(**options)
    capsule = x.view(f"u{x.dtype.itemsize}").__dlpack__(**options)
    _data_type(capsule).code = code
    return capsule


class _Readable:
    """An array of another library whose capsule NumPy can read; `dtype` is then what it really holds."""

    def __init__(self, x: Any):
        self.x = x
        self.dtype: np.dtype | None = None

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.x.__dlpack__(**options)
        found = _data_type(capsule)
        self.dtype = _DTYPES.get(found.code)
        if self.dtype is not None:
            found.code = _UNSIGNED
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.x.__dlpack_device__()


def imported(x: Any) -> np.ndarray:
    """An ndarray on the memory of `x`, an array of another library with `__dlpack__`."""
    source = _Readable(x)
    found = np.from_dlpack(source)  # type: ignore[arg-type]
    return found if source.dtype is None else found.view(source.dtype)
