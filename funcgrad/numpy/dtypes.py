"""Dtypes and their kinds: `fnp.result_type`, `fnp.issubdtype`, `fnp.finfo`. Their names are in `scalar_types.py`.

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

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import DtypeError, UsageError, message
from funcgrad.numpy._promote import operand
from funcgrad.numpy.scalar_types import ScalarType
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "ComplexWarning", "can_cast", "character", "complexfloating", "dtype", "finfo", "flexible", "floating", "generic",
    "iinfo", "inexact", "integer", "isdtype", "issubdtype", "ndarray", "number", "object_", "promote_types", "result_type",
    "signedinteger", "unsignedinteger",
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
    if d not in dt.INEXACT | dt.SMALL_FLOATS:
        raise DtypeError(
            message(f"fnp.finfo: got {dt.short_name(d)}", "float and complex dtypes", "fnp.iinfo(dtype) for integers")
        )
    return FloatLimits(dt.finfo(d))


def iinfo(int_type: Any) -> Any:
    """Machine limits of an integer dtype (or of an array's): bits, min, max. Raises TypeError for dtypes that are no integers.

    >>> fnp.iinfo(fnp.int8).min, fnp.iinfo(fnp.int8).max
    (-128, 127)
    """
    d = _as_dtype(int_type)
    if d not in dt.INTEGERS | dt.SMALL_INTEGERS:
        raise DtypeError(message(f"fnp.iinfo: got {dt.short_name(d)}", "integer dtypes", "fnp.finfo(dtype) for floats"))
    return dt.iinfo(d)


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
    if not among(casting, _CASTINGS):
        raise UsageError(message(f"fnp.can_cast: got casting={casting!r}", ", ".join(map(repr, _CASTINGS)), "casting='safe'"))
    return np.can_cast(_as_dtype(from_), _as_dtype(to), casting=casting)  # type: ignore[arg-type]


_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


# NumPy places ml_dtypes' types outside its hierarchy.
_EXTENDED = {
    **dict.fromkeys(dt.FLOAT8 | dt.SMALL_FLOATS | {dt.bfloat16}, (floating, inexact, number, generic)),
    **dict.fromkeys(dt.SMALL_SIGNED, (signedinteger, integer, number, generic)),
    **dict.fromkeys(dt.SMALL_UNSIGNED, (unsignedinteger, integer, number, generic)),
}


def issubdtype(arg1: Any, arg2: Any) -> builtins.bool:
    """Whether `arg1` is `arg2` or below it. Args: dtypes, or the kinds of this module. Returns: a Python bool.

    >>> fnp.issubdtype(fnp.bfloat16, fnp.floating), fnp.issubdtype(fnp.int8, fnp.floating)
    (True, False)
    """
    lower = _kind_or_dtype(arg1)
    upper = _kind_or_dtype(arg2)
    if isinstance(lower, np.dtype):
        if lower in _EXTENDED:
            return lower == upper if isinstance(upper, np.dtype) else upper in _EXTENDED[lower]
        if lower == dt.KEY:
            return isinstance(upper, np.dtype) and upper == dt.KEY
    return np.issubdtype(lower, upper)


def _kind_or_dtype(x: Any) -> Any:
    if isinstance(x, ScalarType):
        return x.dtype
    if isinstance(x, builtins.type) and issubclass(x, np.generic):
        # An abstract kind stays one; np.float32 becomes its dtype.
        return x if x.__subclasses__() and x not in (np.float64,) and x is not np.bool_ else np.dtype(x)
    if among(x, (int, float, complex, bool)):
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
