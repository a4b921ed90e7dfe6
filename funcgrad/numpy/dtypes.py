"""Dtypes as users name them: `fnp.float32`, `fnp.result_type`, `fnp.issubdtype`, `fnp.finfo`.

A scalar type such as `fnp.float32` is a callable that makes a 0-d array, and stands for its dtype wherever
one is asked for (`x.astype(fnp.float32)`, `np.dtype(fnp.float32)`, `fnp.float32 == np.float32`).

These names are NumPy's own objects:

    dtype               np.dtype: fnp.dtype("float32") is the dtype that arrays carry
    generic             every scalar type, the top of the tree that issubdtype walks
    number              integers, floats and complex numbers
    integer             integers with and without sign
    signedinteger       int8, int16, int32, int64
    unsignedinteger     uint8, uint16, uint32, uint64
    inexact             floats and complex numbers
    floating            floats, bfloat16 and the floats of 8 bits among them
    complexfloating     complex64, complex128
    flexible            texts, bytes and records, of which there are no arrays here
    character           texts and bytes
    object_             Python objects, of which there are no arrays here
    ComplexWarning      what NumPy warns with where an imaginary part is lost

>>> fnp.issubdtype(fnp.int8, fnp.signedinteger), fnp.issubdtype(fnp.int8, fnp.inexact)
(True, False)
>>> fnp.ones(2).dtype == fnp.dtype("float32")
True
"""

import builtins
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, message
from funcgrad.numpy._promote import cast, operand
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "ComplexWarning", "bfloat16", "bool_", "can_cast", "cdouble", "character", "complex128", "complex64", "complex_",
    "complexfloating", "csingle", "double", "dtype", "finfo", "flexible", "float16", "float32", "float64", "float8_e3m4",
    "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu", "float_", "floating", "generic", "iinfo", "inexact", "int16", "int32", "int64", "int8", "int_", "integer",
    "isdtype", "issubdtype", "ndarray", "number", "object_", "promote_types", "result_type", "signedinteger", "single", "uint",
    "uint16", "uint32", "uint64", "uint8", "unsignedinteger",
]  # fmt: skip

ComplexWarning = np.exceptions.ComplexWarning
dtype = np.dtype
# The abstract kinds, for issubdtype and isinstance checks on dtypes, are NumPy's own.
character, flexible, generic, object_ = np.character, np.flexible, np.generic, np.object_
number, inexact, floating, complexfloating = np.number, np.inexact, np.floating, np.complexfloating
integer, signedinteger, unsignedinteger = np.integer, np.signedinteger, np.unsignedinteger


class _IsArray(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Value)


class ndarray(metaclass=_IsArray):
    """What `isinstance(x, fnp.ndarray)` asks for: an Array or a tracer. Make one with `fnp.array`.

    >>> isinstance(fnp.ones(2), fnp.ndarray), isinstance(np.ones(2), fnp.ndarray)
    (True, False)
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> "ndarray":
        raise TypeError(
            message("fnp.ndarray: it was called", "isinstance checks and annotations", "fnp.array(...) or fnp.zeros(...)")
        )


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
        if isinstance(x, Value):
            return cast(x, self.dtype)
        x = cast(x, self.dtype) if x.__class__ is int else x  # one that does not fit is an error
        return from_numpy(np.asarray(x).astype(self.dtype))

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
    "float64", "float64", "IEEE double precision, 15 decimal places", "1 / 3", "Array(0.33333333, dtype=float64)"
)
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
single, double, csingle, cdouble = float32, float64, complex64, complex128
int_, uint, float_, complex_ = int64, uint64, float64, complex128


class FloatLimits:
    """What `finfo` answers: NumPy's attributes (`bits`, `eps`, `max`, `smallest_normal`, ...), numbers as Python's.

    A Python float is weak: `x + fnp.finfo(x.dtype).eps` keeps the dtype of x.
    """

    def __init__(self, info: Any):
        self._info = info
        self.dtype, self.bits = np.dtype(info.dtype), int(info.bits)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._info, name)
        # NumPy gives some as arrays without axes; ml_dtypes' scalars are no np.floating.
        return value if isinstance(value, (int, str)) else float(value)

    def __reduce__(self) -> Any:
        return finfo, (self._info.dtype,)

    def __repr__(self) -> str:
        return f"finfo(min={self.min:.7g}, max={self.max:.7g}, eps={self.eps:.7g}, dtype={self.dtype})"


def finfo(dtype: Any) -> FloatLimits:
    """Machine limits of a floating dtype (or of an array's), as Python floats; of a complex dtype those of its parts.

    Raises: TypeError for dtypes that are no floats.

    >>> fnp.finfo(fnp.float32).eps
    1.1920928955078125e-07
    """
    d = _as_dtype(dtype)
    if d not in dt.INEXACT:
        raise DtypeError(
            message(f"fnp.finfo: got {dt.short_name(d)}", "float and complex dtypes", "fnp.iinfo(dtype) for integers")
        )
    return FloatLimits(dt.finfo(d))


def iinfo(int_type: Any) -> np.iinfo:
    """Machine limits of an integer dtype (or of an array's): bits, min, max. Raises TypeError for dtypes that are no integers.

    >>> fnp.iinfo(fnp.int8).min, fnp.iinfo(fnp.int8).max
    (-128, 127)
    """
    d = _as_dtype(int_type)
    if d not in dt.INTEGERS:
        raise DtypeError(message(f"fnp.iinfo: got {dt.short_name(d)}", "integer dtypes", "fnp.finfo(dtype) for floats"))
    return np.iinfo(d)


def _as_dtype(x: Any) -> np.dtype:
    """The dtype that `x` (a dtype, type, name or array) stands for."""
    return dt.canonical(x if isinstance(x, (builtins.type, str, np.dtype)) else getattr(x, "dtype", x))


def result_type(*args: Any) -> np.dtype:
    """The dtype that an operation on these arrays, scalars and dtypes has.

    The category decides first (bool < integer < float < complex), then the width; Python scalars do not widen arrays.

    >>> fnp.result_type(fnp.int64, fnp.float32)
    dtype('float32')
    >>> fnp.result_type(fnp.ones(2, fnp.float16), 2.5)
    dtype('float16')
    """
    if not args:
        raise TypeError(
            message("fnp.result_type: got no argument", "one or more arrays, scalars or dtypes", "fnp.result_type(x, y)")
        )
    pairs = []
    for i, a in enumerate(args):
        if isinstance(a, (Value, np.ndarray, np.generic, int, float, complex)):
            aval = aval_of(operand(a, "result_type", f"args[{i}]"))
            pairs.append((aval.dtype, aval.weak_type))
        else:
            python = isinstance(a, builtins.type) and a in (int, float, complex)
            pairs.append((_as_dtype(a), python))
    return dt.join(pairs)[0]


def promote_types(a: Any, b: Any) -> np.dtype:
    """The dtype of an operation on two dtypes. Python's int, float and complex are weak, as Python scalars are.

    >>> fnp.promote_types(fnp.int32, fnp.float32), fnp.promote_types(fnp.float16, fnp.bfloat16)
    (dtype('float32'), dtype('float32'))
    >>> fnp.promote_types(fnp.int8, float)
    dtype('float32')
    """
    return result_type(*[x if isinstance(x, builtins.type) and x in (int, float, complex) else _as_dtype(x) for x in (a, b)])


def can_cast(from_: Any, to: Any, casting: str = "safe") -> builtins.bool:
    """Whether NumPy's casting rule `casting` ('no', 'equiv', 'safe', 'same_kind', 'unsafe') lets `from_` become `to`.

    Args: from_: dtype, or array. to: dtype. Returns: a Python bool.

    >>> fnp.can_cast(fnp.int8, fnp.int32), fnp.can_cast(fnp.int32, fnp.int8)
    (True, False)
    """
    return np.can_cast(_as_dtype(from_), _as_dtype(to), casting=casting)  # type: ignore[arg-type]


_EXTENDED = dt.FLOAT8 | {dt.bfloat16}  # NumPy places ml_dtypes' types outside its hierarchy


def issubdtype(arg1: Any, arg2: Any) -> builtins.bool:
    """Whether `arg1` is `arg2` or below it. Args: dtypes, or the kinds of this module. Returns: a Python bool.

    >>> fnp.issubdtype(fnp.bfloat16, fnp.floating), fnp.issubdtype(fnp.int8, fnp.floating)
    (True, False)
    """
    lower = _kind_or_dtype(arg1)
    upper = _kind_or_dtype(arg2)
    if isinstance(lower, np.dtype):
        if lower in _EXTENDED:
            return lower == upper if isinstance(upper, np.dtype) else upper in (floating, inexact, number, generic)
        if lower == dt.KEY:
            return isinstance(upper, np.dtype) and upper == dt.KEY
    return np.issubdtype(lower, upper)


def _kind_or_dtype(x: Any) -> Any:
    if isinstance(x, ScalarType):
        return x.dtype
    if isinstance(x, builtins.type) and issubclass(x, np.generic):
        # An abstract kind stays one; np.float32 becomes its dtype.
        return x if x.__subclasses__() and x not in (np.float64,) and x is not np.bool_ else np.dtype(x)
    if x in (int, float, complex, bool):
        return np.dtype(x)
    return _as_dtype(x)


_KINDS = {
    "bool": dt.BOOLS,
    "signed integer": dt.SIGNED,
    "unsigned integer": dt.UNSIGNED,
    "integral": dt.INTEGERS,
    "real floating": dt.FLOATS,
    "complex floating": dt.COMPLEXES,
    "numeric": dt.NUMBERS,
}


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether `dtype` is of `kind`: a dtype, a tuple of kinds, or 'bool', 'signed integer', 'unsigned integer', 'integral',
    'real floating', 'complex floating', 'numeric' (the array API's names). Raises TypeError for other kinds.

    >>> fnp.isdtype(fnp.float32, "real floating"), fnp.isdtype(fnp.int8, ("bool", "integral"))
    (True, True)
    """
    d = dt.canonical(dtype)
    if isinstance(kind, tuple):
        return any([isdtype(d, k) for k in kind])
    if isinstance(kind, str) and kind in _KINDS:
        return d in _KINDS[kind]
    try:
        return d == dt.canonical(kind)
    except TypeError:
        raise DtypeError(
            message(
                f"fnp.isdtype: got kind={kind!r}",
                f"a dtype, a tuple of kinds, or one of {', '.join(map(repr, _KINDS))}",
                "kind='numeric'",
            )
        ) from None
