"""Dtypes as users name them: `fnp.float32` and its like.

A scalar type is a callable that makes an array, and stands for its dtype wherever one is asked for (`x.astype(fnp.float32)`,
`np.dtype(fnp.float32)`, `fnp.float32 == np.float32`).
"""

import builtins
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad.numpy._promote import cast
from funcgrad.numpy.creation import array
from funcgrad.trace.value import Value

__all__ = [
    "bfloat16", "bool_", "cdouble", "complex128", "complex64", "complex_", "csingle", "double", "float16", "float32",
    "float4_e2m1fn", "float64", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float_", "int1",
    "int16", "int2", "int32", "int4", "int64", "int8", "int_", "single", "uint", "uint1", "uint16", "uint2",
    "uint32", "uint4", "uint64", "uint8",
]  # fmt: skip


_SCALAR_DOC = """{name}(x): `x` as an array of {dtype}: {what}. Also the name of that dtype.

Args: x: number, nested lists of numbers, or array. Returns: an array of its shape.
Raises: OverflowError for a Python integer that does not fit.

>>> fnp.{name}({sample})
{shows}
"""


class ScalarType:
    """A dtype by name that can be called: `fnp.float32(x)` is `x` as an array of float32."""

    def __init__(self, name: str, scalar: Any, what: str, sample: str, shows: str):
        self.dtype = np.dtype(scalar)
        self._spellings = {name, self.dtype.name}
        if self.dtype.isbuiltin == 1:
            self._spellings |= {self.dtype.str, self.dtype.str[1:], self.dtype.char}
        self._spellings |= {k for k, t in np.sctypeDict.items() if t is scalar or t is self.dtype.type}
        self.__name__ = name
        self.__doc__ = _SCALAR_DOC.format(name=name, dtype=self.dtype, what=what, sample=sample, shows=shows)

    def __call__(self, x: Any) -> Any:
        return cast(x, self.dtype) if isinstance(x, Value) else array(x, self.dtype)

    @property
    def type(self) -> Any:
        """The NumPy scalar type."""
        return self.dtype.type

    def __eq__(self, other: Any) -> builtins.bool:
        if isinstance(other, ScalarType):
            return self.dtype == other.dtype
        if isinstance(other, str):
            return other in self._spellings
        try:  # np.dtype takes more than types: None is float64 to it
            return isinstance(other, (builtins.type, np.dtype)) and self.dtype == np.dtype(other)
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.dtype.type)

    def __repr__(self) -> str:
        return f"<funcgrad.numpy.{self.__name__}>"

    def __reduce__(self) -> Any:
        return _scalar_type, (self.__name__,)


def _scalar_type(name: str) -> ScalarType:
    return globals()[name]


bool_ = ScalarType("bool_", np.bool_, "True where x is not 0", "[0, 2]", "Array([False,  True], dtype=bool)")
int8 = ScalarType(
    "int8", "int8", "whole numbers from -128 to 127, fractions cut off", "[1.9, -3.9]", "Array([ 1, -3], dtype=int8)"
)
int16 = ScalarType("int16", "int16", "whole numbers from -32768 to 32767", "300", "Array(300, dtype=int16)")
int32 = ScalarType("int32", "int32", "whole numbers from -2**31 to 2**31 - 1", "[1, 2]", "Array([1, 2], dtype=int32)")
int64 = ScalarType("int64", "int64", "whole numbers from -2**63 to 2**63 - 1", "2**62", "Array(4611686018427387904, dtype=int64)")
uint8 = ScalarType("uint8", "uint8", "whole numbers from 0 to 255", "[0, 255]", "Array([  0, 255], dtype=uint8)")
uint16 = ScalarType("uint16", "uint16", "whole numbers from 0 to 65535", "[0, 65535]", "Array([    0, 65535], dtype=uint16)")
uint32 = ScalarType("uint32", "uint32", "whole numbers from 0 to 2**32 - 1", "2**32 - 1", "Array(4294967295, dtype=uint32)")
uint64 = ScalarType(
    "uint64", "uint64", "whole numbers from 0 to 2**64 - 1", "2**64 - 1", "Array(18446744073709551615, dtype=uint64)"
)
float16 = ScalarType(
    "float16", "float16", "IEEE half precision, 3 decimal places, up to 65504", "1 / 3", "Array(0.3333, dtype=float16)"
)
float32 = ScalarType("float32", "float32", "IEEE single precision, 7 decimal places", "1 / 3", "Array(0.33333334, dtype=float32)")
float64 = ScalarType("float64", "float64", "IEEE double precision, 15 decimal places", "1e300", "Array(1.e+300, dtype=float64)")
bfloat16 = ScalarType(
    "bfloat16",
    ml_dtypes.bfloat16,
    "the range of float32 with 2 decimal places",
    "[1.0, 1.001, 1e38]",
    "Array([1, 1, 9.96921e+37], dtype=bfloat16)",
)
complex64 = ScalarType("complex64", "complex64", "complex numbers of two float32", "1 + 2j", "Array(1.+2.j, dtype=complex64)")
complex128 = ScalarType(
    "complex128", "complex128", "complex numbers of two float64", "[1, 2j]", "Array([1.+0.j, 0.+2.j], dtype=complex128)"
)


def _small(name: str, what: str, sample: str, shows: str) -> ScalarType:
    return ScalarType(name, getattr(ml_dtypes, name), what, sample, shows)


# Floats of 8 bits: the name counts the bits of exponent and mantissa; "fn" has no infinities, "uz" no negative zero, "b11" is the
# bias of the exponent.
float8_e3m4 = _small(
    "float8_e3m4", "a float of 8 bits up to 15.5, with infinities", "[3.14159, 100.0]", "Array([3.125, inf], dtype=float8_e3m4)"
)
float8_e4m3 = _small(
    "float8_e4m3", "a float of 8 bits up to 240, with infinities", "[3.14159, 1000.0]", "Array([3.25, inf], dtype=float8_e4m3)"
)
float8_e4m3b11fnuz = _small(
    "float8_e4m3b11fnuz",
    "a float of 8 bits up to 30, NaN beyond",
    "[3.14159, 1000.0]",
    "Array([3.25, nan], dtype=float8_e4m3b11fnuz)",
)
float8_e4m3fn = _small(
    "float8_e4m3fn", "a float of 8 bits up to 448, NaN beyond", "[3.14159, 1000.0]", "Array([3.25, nan], dtype=float8_e4m3fn)"
)
float8_e4m3fnuz = _small(
    "float8_e4m3fnuz", "a float of 8 bits up to 240, NaN beyond", "[3.14159, 1000.0]", "Array([3.25, nan], dtype=float8_e4m3fnuz)"
)
float8_e5m2 = _small(
    "float8_e5m2", "a float of 8 bits up to 57344, with infinities", "[3.14159, 1e6]", "Array([3, inf], dtype=float8_e5m2)"
)
float8_e5m2fnuz = _small(
    "float8_e5m2fnuz", "a float of 8 bits up to 57344, NaN beyond", "[3.14159, 1e6]", "Array([3, nan], dtype=float8_e5m2fnuz)"
)
float8_e8m0fnu = _small(
    "float8_e8m0fnu", "powers of 2, for scales: no sign, no zero", "[3.14159, 100.0]", "Array([4, 128], dtype=float8_e8m0fnu)"
)
# Numbers of less than a byte: they are stored (a byte each) and converted, and not computed with.
int1 = _small("int1", "0 and -1, to be stored", "[0, -1]", "Array([0, -1], dtype=int1)")
int2 = _small("int2", "whole numbers from -2 to 1, to be stored", "[-2, 1]", "Array([-2, 1], dtype=int2)")
int4 = _small("int4", "whole numbers from -8 to 7, to be stored", "[-8, 7]", "Array([-8, 7], dtype=int4)")
uint1 = _small("uint1", "0 and 1, to be stored", "[0, 1]", "Array([0, 1], dtype=uint1)")
uint2 = _small("uint2", "whole numbers from 0 to 3, to be stored", "[0, 3]", "Array([0, 3], dtype=uint2)")
uint4 = _small("uint4", "whole numbers from 0 to 15, to be stored", "[0, 15]", "Array([0, 15], dtype=uint4)")
float4_e2m1fn = _small(
    "float4_e2m1fn",
    "0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives, to be stored; 6 beyond",
    "[0.6, 3.14159, -100.0]",
    "Array([0.5, 3, -6], dtype=float4_e2m1fn)",
)
float6_e2m3fn = _small(
    "float6_e2m3fn",
    "a float of 6 bits, to be stored; 7.5 beyond",
    "[3.14159, 100.0]",
    "Array([3.25, 7.5], dtype=float6_e2m3fn)",
)
float6_e3m2fn = _small(
    "float6_e3m2fn", "a float of 6 bits, to be stored; 28 beyond", "[3.14159, 100.0]", "Array([3, 28], dtype=float6_e3m2fn)"
)
single, double, csingle, cdouble = float32, float64, complex64, complex128
int_, uint, float_, complex_ = int64, uint64, float64, complex128
