"""Dtypes as users name them: `fnp.float32`, `fnp.result_type`, `fnp.issubdtype`, `fnp.finfo`.

A scalar type such as `fnp.float32` is a callable that makes a 0-d array, and stands for its dtype wherever
one is asked for (`x.astype(fnp.float32)`, `np.dtype(fnp.float32)`, `fnp.float32 == np.float32`).
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
    """What `isinstance(x, fnp.ndarray)` asks for: an Array or a tracer. Make one with `fnp.array`."""

    def __new__(cls, *args: Any, **kwargs: Any) -> "ndarray":
        raise TypeError(
            message("fnp.ndarray: it was called", "isinstance checks and annotations", "fnp.array(...) or fnp.zeros(...)")
        )


class ScalarType:
    """A dtype by name that can be called: `fnp.float32(x)` is `x` as an array of float32."""

    def __init__(self, name: str, scalar: Any):
        self.dtype = np.dtype(scalar)
        self._spellings = {name, self.dtype.name}
        if self.dtype.isbuiltin == 1:
            self._spellings |= {self.dtype.str, self.dtype.str[1:], self.dtype.char}
        self._spellings |= {k for k, t in np.sctypeDict.items() if t is scalar or t is self.dtype.type}
        self.__name__ = name
        self.__doc__ = f"{name}(x): `x` as an array of {self.dtype}; also the name of that dtype."

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


bool_ = ScalarType("bool_", np.bool_)
int8, int16, int32, int64 = (ScalarType(n, n) for n in ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (ScalarType(n, n) for n in ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = (ScalarType(n, n) for n in ("float16", "float32", "float64"))
bfloat16 = ScalarType("bfloat16", ml_dtypes.bfloat16)
complex64, complex128 = ScalarType("complex64", "complex64"), ScalarType("complex128", "complex128")
float8_e3m4 = ScalarType("float8_e3m4", ml_dtypes.float8_e3m4)
float8_e4m3 = ScalarType("float8_e4m3", ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz = ScalarType("float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = ScalarType("float8_e4m3fn", ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = ScalarType("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = ScalarType("float8_e5m2", ml_dtypes.float8_e5m2)
float8_e5m2fnuz = ScalarType("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = ScalarType("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu)
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
    """Machine limits of an integer dtype (or of an array's): `fnp.iinfo('int8').max` is 127."""
    return np.iinfo(_as_dtype(int_type))


def _as_dtype(x: Any) -> np.dtype:
    """The dtype that `x` (a dtype, type, name or array) stands for."""
    return dt.canonical(x if isinstance(x, (builtins.type, str, np.dtype)) else getattr(x, "dtype", x))


def result_type(*args: Any) -> np.dtype:
    """The dtype that an operation on these arrays, scalars and dtypes has.

    The category decides first (bool < integer < float < complex), then the width; Python scalars do not widen arrays.
    `fnp.result_type(fnp.int64, fnp.float32)` is float32.
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
    """The dtype of an operation on two dtypes: `fnp.promote_types('int32', 'float32')` is float32.

    Python's int, float and complex are weak, as Python scalars are.
    """
    return result_type(*[x if isinstance(x, builtins.type) and x in (int, float, complex) else _as_dtype(x) for x in (a, b)])


def can_cast(from_: Any, to: Any, casting: str = "safe") -> builtins.bool:
    """Whether NumPy's casting rule `casting` ('no', 'equiv', 'safe', 'same_kind', 'unsafe') lets `from_` become `to`."""
    return np.can_cast(_as_dtype(from_), _as_dtype(to), casting=casting)  # type: ignore[arg-type]


_EXTENDED = dt.FLOAT8 | {dt.bfloat16}  # NumPy places ml_dtypes' types outside its hierarchy


def issubdtype(arg1: Any, arg2: Any) -> builtins.bool:
    """Whether `arg1` is `arg2` or below it: `fnp.issubdtype(fnp.bfloat16, fnp.floating)` is True."""
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
    'real floating', 'complex floating', 'numeric' (the array API's names)."""
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
