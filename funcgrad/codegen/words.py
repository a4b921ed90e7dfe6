"""The words of printed kernels in plain Python over NumPy.

In: NumPy scalars (or whole arrays). Out: what runtime/intrinsics.py says of the same word in machine code. With these
a kernel runs interpreted (emulate.py), and the helpers of math_*.py are functions that can be called and read.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.codegen.canonical import DTYPES
from funcgrad.loops.nest import ERROR_RECORD_BYTES

inf, nan = np.inf, np.nan


class Pointer:
    """`p[i]` over a flat array, from element `start` on; i may be negative."""

    def __init__(self, array: np.ndarray, start: int = 0):
        self.array, self.start = array, start

    def __getitem__(self, i):
        return self.array[self.start + i]

    def __setitem__(self, i, value):
        self.array[self.start + i] = value


def _ptr(dtype: np.dtype) -> Callable[[Sequence, int], Pointer]:
    def ptr(buffers, number):
        given = buffers[number]
        array, start = (given.array, given.start) if isinstance(given, Pointer) else (given, 0)
        return Pointer(array.view(dtype), start)

    return ptr


def _row(dtype: np.dtype) -> Callable[[np.ndarray, int, int], Pointer]:
    def row(scratch, offset, number):
        rest = scratch[offset:]
        return Pointer(rest[: len(rest) // dtype.itemsize * dtype.itemsize].view(dtype))

    return row


def _param(dtype: np.dtype) -> Callable[[Sequence[int], int], Any]:
    def param(dims, slot):
        count = -(-dtype.itemsize // 8)
        return np.array(dims[slot : slot + count], np.int64).view(dtype)[0]

    return param


def _cast(dtype: np.dtype) -> Callable[[Any], Any]:
    def cast(x):
        x = np.asarray(x)
        if dtype.kind in "iu" and x.dtype.kind == "f":
            x = x.astype(np.int64 if dtype.itemsize < 8 else dtype)
        if dtype.kind not in "cb" and x.dtype.kind == "c":
            x = np.real(x)
        return x.astype(dtype)[()]

    return cast


def _bits(dtype: np.dtype) -> Callable[[Any], Any]:
    return lambda x: np.asarray(x).view(dtype)[()]


def fma(x, y, z):
    if np.asarray(x).dtype == np.float32:
        return np.asarray(np.float64(x) * np.float64(y) + np.float64(z)).astype(np.float32)[()]
    wide = np.asarray(x).astype(np.longdouble) * np.asarray(y).astype(np.longdouble) + z
    return np.asarray(wide).astype(np.float64)[()]


def div(x, y):
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind == "f":
        return x / y
    safe = np.where(y == 0, y.dtype.type(1), y)
    quotient = x // safe
    short = (quotient * safe != x) & ((x < 0) != (safe < 0))  # truncate, not floor
    return np.where(y == 0, y.dtype.type(0), quotient + short.astype(x.dtype)).astype(x.dtype)[()]


def rem(x, y):
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind == "f":
        return np.fmod(x, y)
    return np.where(y == 0, y.dtype.type(0), x - div(x, y) * y).astype(x.dtype)[()]


def _width(x) -> int:
    return np.asarray(x).dtype.itemsize * 8


def _unsigned(x) -> np.ndarray:
    x = np.asarray(x)
    return x.view(f"u{x.dtype.itemsize}")


def _shift(left: bool, logical: bool):
    def shift(x, y):
        x, count = np.asarray(x), _unsigned(y)
        width = _width(x)
        inside = np.minimum(count, count.dtype.type(width - 1))
        if left or logical:
            bits = _unsigned(x)
            moved = np.where(count < width, bits << inside if left else bits >> inside, bits.dtype.type(0))
            return moved.astype(bits.dtype).view(x.dtype)[()]
        moved = x >> inside.astype(x.dtype)
        if x.dtype.kind == "u":
            moved = np.where(count < width, moved, x.dtype.type(0))
        return moved.astype(x.dtype)[()]

    return shift


def clz(x):
    bits = _unsigned(x)
    width = _width(x)
    count = np.full(bits.shape, width)
    for k in range(width):
        count = np.where(bits >> bits.dtype.type(k) != 0, width - 1 - k, count)
    return count.astype(np.asarray(x).dtype)[()]


def check_index(scratch, number, i, n):
    if 0 <= i < n:
        return i
    record = scratch[:ERROR_RECORD_BYTES].view(np.int64)
    if record[0] == 0:
        record[:3] = number + 1, i, n
    return 0


def stopped(scratch):
    return False


def _pair(re, im, dtype):
    out = np.empty(np.broadcast(re, im).shape, dtype)
    out.real, out.imag = re, im
    return out[()]


def add(x, y):
    return x | y if np.asarray(x).dtype == np.bool_ else x + y


def sub(x, y):
    return x ^ y if np.asarray(x).dtype == np.bool_ else x - y


def mul(x, y):
    return x * y


def and_(x, y):
    return x & y


def or_(x, y):
    return x | y


def xor(x, y):
    return x ^ y


def fdiv(x, y):
    return x / y


def eq(x, y):
    return x == y


def ne(x, y):
    return x != y


def lt(x, y):
    return x < y


def le(x, y):
    return x <= y


def gt(x, y):
    return x > y


def ge(x, y):
    return x >= y


def select(c, x, y):
    return np.where(c, x, y)[()]


def popcount(x):
    return np.bitwise_count(_unsigned(x)).astype(np.asarray(x).dtype)[()]


def real(z):
    return np.real(z)[()]


def imag(z):
    return np.imag(z)[()]


def c64of(re, im):
    return _pair(re, im, np.complex64)


def c128of(re, im):
    return _pair(re, im, np.complex128)


def likely(c):
    return c


def offset(p, n):
    return Pointer(p.array, p.start + n)


neg, not_ = np.negative, np.invert
radd, rmul, rmax, rmin, max_, min_ = add, mul, np.maximum, np.minimum, np.maximum, np.minimum
sqrt, fabs, abs_, floor, ceil, trunc, rint, copysign = (
    np.sqrt,
    np.abs,
    np.abs,
    np.floor,
    np.ceil,
    np.trunc,
    np.rint,
    np.copysign,
)
is_finite, is_nan = np.isfinite, np.isnan
shl, shr, shr_logical = _shift(True, False), _shift(False, False), _shift(False, True)
b1, u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, c64, c128 = (
    _cast(DTYPES[c]) for c in "b1 u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 c64 c128".split()
)
bits_i32, bits_u32, bits_f32, bits_i64, bits_u64, bits_f64 = (_bits(DTYPES[c]) for c in "i32 u32 f32 i64 u64 f64".split())

NAMESPACE: dict[str, Any] = {k: v for k, v in globals().items() if not k.startswith("_") and k.islower()}
for _code, _dtype in DTYPES.items():
    NAMESPACE[f"ptr_{_code}"] = _ptr(_dtype)
    NAMESPACE[f"row_{_code}"] = _row(_dtype)
    NAMESPACE[f"param_{_code}"] = _param(_dtype)
    NAMESPACE[f"bits_{_code}"] = _bits(_dtype)
