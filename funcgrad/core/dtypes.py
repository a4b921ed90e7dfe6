"""Dtypes and promotion.

In: NumPy dtypes (and what names them), weak or strong. Out: the dtype an operation on them has.
The lattice is JAX's: the category decides first (bool < int < float < complex), then the width; Python
scalars are weak and never widen an array of their own category. What differs: 64-bit types are always on,
and a creation without a dtype gives float32 unless `config.default_float` says otherwise.
"""

import functools
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad.core.config import config
from funcgrad.core.errors import DtypeError, describe, message

bool_ = np.dtype(np.bool_)
int8, int16, int32, int64 = (np.dtype(t) for t in ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (np.dtype(t) for t in ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = (np.dtype(t) for t in ("float16", "float32", "float64"))
bfloat16 = np.dtype(ml_dtypes.bfloat16)
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

# A PRNG key is one 8-byte element, so that every structural operator works on arrays of keys.
KEY = np.dtype([("hi", "<u4"), ("lo", "<u4")])
# The tangent of an integer: a type with one value.
float0 = np.dtype([("float0", "V")])

_FLOAT8_NAMES = (
    "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"
)
FLOAT8 = frozenset(np.dtype(getattr(ml_dtypes, name)) for name in _FLOAT8_NAMES.split())
E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)

# Numbers of less than a byte, which are stored (a byte each) and converted, and not computed with.
SMALL_SIGNED = frozenset(np.dtype(getattr(ml_dtypes, name)) for name in ("int1", "int2", "int4"))
SMALL_UNSIGNED = frozenset(np.dtype(getattr(ml_dtypes, name)) for name in ("uint1", "uint2", "uint4"))
SMALL_FLOATS = frozenset(np.dtype(getattr(ml_dtypes, name)) for name in ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"))
SMALL_INTEGERS = SMALL_SIGNED | SMALL_UNSIGNED
SMALL = SMALL_INTEGERS | SMALL_FLOATS

BOOLS = frozenset({bool_})
SIGNED = frozenset({int8, int16, int32, int64})
UNSIGNED = frozenset({uint8, uint16, uint32, uint64})
INTEGERS = SIGNED | UNSIGNED
FLOATS = frozenset({float16, bfloat16, float32, float64}) | FLOAT8
COMPLEXES = frozenset({complex64, complex128})
INEXACT = FLOATS | COMPLEXES
REALS = INTEGERS | FLOATS
NUMBERS = REALS | COMPLEXES
KEYS = frozenset({KEY})
ANY = BOOLS | NUMBERS | SMALL | KEYS

# The categories in the order in which they decide.
_CATEGORY = {
    **dict.fromkeys(BOOLS, 0),
    **dict.fromkeys(INTEGERS, 1),
    **dict.fromkeys(FLOATS, 2),
    **dict.fromkeys(COMPLEXES, 3),
}
_PYTHON_SCALARS = {bool: 0, int: 1, float: 2, complex: 3}

_SHORT = {bool_: "bool", bfloat16: "bf16", KEY: "key<fry>", float0: "float0"}
_SHORT |= {d: d.name.replace("uint", "u").replace("int", "i") for d in INTEGERS | SMALL_INTEGERS}
_SHORT |= {d: d.name.replace("float", "f").replace("complex", "c") for d in INEXACT | SMALL_FLOATS if d != bfloat16}


def short_name(dtype: np.dtype) -> str:
    """The name used in printed programs: f32, i64, bool, key<fry>."""
    return _SHORT.get(dtype, str(dtype))


@functools.lru_cache(maxsize=1024)
def _default(category: int, default_float: str) -> np.dtype:
    real = np.dtype(default_float)
    return (bool_, int64, real, complex128 if real == float64 else complex64)[category]


def default_float() -> np.dtype:
    return _default(2, config.default_float)


def default_complex() -> np.dtype:
    return _default(3, config.default_float)


def default_int() -> np.dtype:
    return int64


def scalar_dtype(scalar_type: type) -> np.dtype:
    """The dtype a Python scalar of this type has when nothing else decides."""
    return _default(_PYTHON_SCALARS[scalar_type], config.default_float)


def category(dtype: np.dtype) -> int:
    """0 bool, 1 integer, 2 float, 3 complex. Keys and numbers of less than a byte have none: TypeError."""
    try:
        return _CATEGORY[dtype]
    except KeyError:
        if dtype in SMALL:
            wide = "float32" if dtype in SMALL_FLOATS else "int8" if dtype in SMALL_SIGNED else "uint8"
            came = f"dtype {dtype.name} is for storage and takes no part in arithmetic"
            raise DtypeError(message(came, f"wider dtypes, such as {wide}", f"convert first, with x.astype({wide!r})")) from None
        raise no_arithmetic(f"dtype {short_name(dtype)}") from None


def no_arithmetic(what: str) -> DtypeError:
    """The error of PRNG keys, and of what else has no numbers."""
    return DtypeError(
        message(f"{what} takes no part in arithmetic", "arrays of numbers", "random.key_data(key) for a key's words")
    )


def canonical(dtype: Any) -> np.dtype:
    """The np.dtype that `dtype` (a dtype, type, name, or Python's bool/int/float/complex) stands for.

    Raises TypeError for dtypes that arrays cannot have (strings, objects, datetimes, longdouble).
    """
    if dtype.__class__ is type and dtype in _PYTHON_SCALARS:
        return scalar_dtype(dtype)
    try:
        return _canonical(dtype)
    except TypeError:
        if _hashable(dtype):
            raise
        # NumPy reads a few of them (lists of fields), none of which an array can have.
        raise TypeError(
            message(f"{dtype!r} is not a dtype", "one such as 'float32', fnp.int64 or bool", "x.dtype of an array")
        ) from None


def no_operand(x: Any) -> DtypeError:
    """The error of what an operator cannot take."""
    return DtypeError(message(f"an operator got {describe(x)}", "arrays and numbers", "fnp.asarray(x)"))


def _hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


@functools.lru_cache(maxsize=1024)
def _canonical(dtype: Any) -> np.dtype:
    try:
        d = np.dtype(dtype)
    except (TypeError, ValueError):
        d = np.dtype(getattr(ml_dtypes, str(dtype), None)) if hasattr(ml_dtypes, str(dtype)) else None
        if d is None:
            # random.normal(key, 2, 3), and what follows from it.
            extent = f"one tuple where a shape was meant: (..., {dtype})" if isinstance(dtype, int) else "dtype=fnp.float32"
            raise TypeError(message(f"{dtype!r} is not a dtype", "one such as 'float32', fnp.int64 or bool", extent)) from None
    d = d.newbyteorder("=") if d.byteorder not in "=|" and d not in KEYS else d
    if d in ANY or d == float0:
        return d
    raise TypeError(
        message(
            f"arrays cannot have dtype {d}",
            "bool, (u)int8-64, float16, bfloat16, float8 kinds, float32, float64, complex64 and complex128",
            "convert first, for example with x.astype('float64')",
        )
    )


def finfo(dtype: Any) -> Any:
    """Machine limits of a floating dtype: np.finfo, or ml_dtypes' for the kinds NumPy lacks."""
    d = canonical(dtype)
    return ml_dtypes.finfo(d) if d in FLOAT8 | SMALL_FLOATS or d == bfloat16 else np.finfo(d)


def iinfo(dtype: Any) -> Any:
    """Machine limits of an integer dtype: np.iinfo, or ml_dtypes' for those of less than a byte."""
    d = canonical(dtype)
    return ml_dtypes.iinfo(d) if d in SMALL_INTEGERS else np.iinfo(d)


@functools.lru_cache(maxsize=256)
def bounds(d: np.dtype) -> tuple[Any, Any]:
    """What every number of the dtype is at least and at most: False and True, the limits of integers, infinities, and where a
    float has none its limits; of complex numbers infinite in both parts."""
    if d == bool_:
        return np.False_, np.True_
    if d in INTEGERS:
        info = np.iinfo(d)
        return d.type(info.min), d.type(info.max)
    if d in COMPLEXES:
        return d.type(complex(-np.inf, -np.inf)), d.type(complex(np.inf, np.inf))
    least, greatest = d.type(-np.inf), d.type(np.inf)
    if d in FLOAT8 and not (np.isinf(np.float32(greatest)) and np.isinf(np.float32(least))):
        info = finfo(d)
        return d.type(info.min), d.type(info.max)
    return least, greatest


@functools.lru_cache(maxsize=4096)
def promote_dtypes(a: np.dtype, b: np.dtype) -> np.dtype:
    """The dtype of an operation on two strong dtypes."""
    if a == b:
        return a
    ca, cb = category(a), category(b)
    if ca != cb:
        low, high, c = (a, b, cb) if ca < cb else (b, a, ca)
        # float64 with complex64 must not lose the float's width.
        return complex128 if c == 3 and low == float64 else high
    if a in FLOAT8 or b in FLOAT8:
        if a in FLOAT8 and b in FLOAT8:
            came = f"{short_name(a)} and {short_name(b)} have no common dtype"
            raise DtypeError(message(came, "float8 numbers of one kind", "convert one of them with .astype(...)"))
        return b if a in FLOAT8 else a
    if {a, b} == {float16, bfloat16}:
        return float32
    if bfloat16 in (a, b):
        return b if a == bfloat16 else a
    if {a, b} & UNSIGNED and {a, b} & SIGNED and np.promote_types(a, b) not in INTEGERS:
        return default_float()  # uint64 with a signed integer
    return np.promote_types(a, b)


@functools.lru_cache(maxsize=4096)
def _weak_join(strong: np.dtype, weak_category: int, default_float_name: str) -> np.dtype:
    if strong in KEYS:
        raise no_arithmetic("a PRNG key")
    if weak_category <= category(strong):
        return strong
    if weak_category == 3 and strong in FLOATS:
        return complex128 if strong == float64 else complex64
    return _default(weak_category, default_float_name)


def join(dtypes: list[tuple[np.dtype, bool]]) -> tuple[np.dtype, bool]:
    """Promote (dtype, weak) pairs to one (dtype, weak). The result is weak only if all are."""
    strong, weak = None, -1
    widest_weak = None
    for d, is_weak in dtypes:
        if is_weak:
            c = category(d)
            if c > weak:
                weak, widest_weak = c, d
            elif c == weak:
                widest_weak = promote_dtypes(widest_weak, d)  # type: ignore[arg-type]
        else:
            strong = d if strong is None else promote_dtypes(strong, d)
    if strong is None:
        assert widest_weak is not None
        return widest_weak, weak > 0
    if weak < 0:
        return strong, False
    return _weak_join(strong, weak, config.default_float), False
