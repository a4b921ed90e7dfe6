"""The words of printed kernels in plain Python over NumPy: to run a kernel interpreted, step through it, or test it.

In: a `Source` printed for the CPU, its buffers as flat NumPy arrays, dims, a range. Out: the arrays, written.
The words have the meaning that runtime/intrinsics.py gives them in machine code; they also take whole
arrays, so that the helpers of vecmath.py can be tried on many numbers at once.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.codegen.canonical import DTYPES
from funcgrad.codegen.target import Source
from funcgrad.codegen.vecmath import HELPERS, closure
from funcgrad.loops.nest import ERROR_RECORD_BYTES


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
            x = x.real
        return x.astype(dtype)[()]

    return cast


def _bits(dtype: np.dtype) -> Callable[[Any], Any]:
    return lambda x: np.asarray(x).view(dtype)[()]


def _fma(x, y, z):
    if np.asarray(x).dtype == np.float32:
        return np.asarray(np.float64(x) * np.float64(y) + np.float64(z)).astype(np.float32)[()]
    wide = np.asarray(x).astype(np.longdouble) * np.asarray(y).astype(np.longdouble) + z
    return np.asarray(wide).astype(np.float64)[()]


def _div(x, y):
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind == "f":
        return x / y
    safe = np.where(y == 0, y.dtype.type(1), y)
    quotient = x // safe
    short = (quotient * safe != x) & ((x < 0) != (safe < 0))  # truncate, not floor
    return np.where(y == 0, y.dtype.type(0), quotient + short.astype(x.dtype)).astype(x.dtype)[()]


def _rem(x, y):
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind == "f":
        return np.fmod(x, y)
    return np.where(y == 0, y.dtype.type(0), x - _div(x, y) * y).astype(x.dtype)[()]


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


def _clz(x):
    bits = _unsigned(x)
    width = _width(x)
    count = np.full(bits.shape, width)
    for k in range(width):
        count = np.where(bits >> bits.dtype.type(k) != 0, width - 1 - k, count)
    return count.astype(np.asarray(x).dtype)[()]


def _check_index(scratch, number, i, n):
    if 0 <= i < n:
        return i
    record = scratch[:ERROR_RECORD_BYTES].view(np.int64)
    if record[0] == 0:
        record[:3] = number + 1, i, n
    return 0


def _pair(re, im, dtype):
    out = np.empty(np.broadcast(re, im).shape, dtype)
    out.real, out.imag = re, im
    return out[()]


NAMESPACE: dict[str, Any] = {
    "add": lambda x, y: x + y if np.asarray(x).dtype != np.bool_ else x | y,
    "sub": lambda x, y: x - y if np.asarray(x).dtype != np.bool_ else x ^ y,
    "mul": lambda x, y: x * y,
    "neg": lambda x: np.negative(x),
    "fdiv": lambda x, y: x / y,
    "div": _div,
    "rem": _rem,
    "and_": lambda x, y: x & y,
    "or_": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "not_": lambda x: np.invert(x),
    "shl": _shift(True, False),
    "shr": _shift(False, False),
    "shr_logical": _shift(False, True),
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "max_": np.maximum,
    "min_": np.minimum,
    "radd": lambda x, y: x + y,
    "rmul": lambda x, y: x * y,
    "rmax": np.maximum,
    "rmin": np.minimum,
    "select": lambda c, x, y: np.where(c, x, y)[()],
    "fma": _fma,
    "sqrt": np.sqrt,
    "fabs": np.abs,
    "abs_": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "copysign": np.copysign,
    "popcount": lambda x: np.bitwise_count(_unsigned(x)).astype(np.asarray(x).dtype)[()],
    "clz": _clz,
    "real": lambda z: np.real(z)[()],
    "imag": lambda z: np.imag(z)[()],
    "c64of": lambda re, im: _pair(re, im, np.complex64),
    "c128of": lambda re, im: _pair(re, im, np.complex128),
    "is_finite": np.isfinite,
    "is_nan": np.isnan,
    "check_index": _check_index,
    "likely": lambda c: c,
    "offset": lambda p, n: Pointer(p.array, p.start + n),
    "inf": np.inf,
    "nan": np.nan,
}
for _code, _dtype in DTYPES.items():
    NAMESPACE[_code] = _cast(_dtype)
    NAMESPACE[f"ptr_{_code}"] = _ptr(_dtype)
    NAMESPACE[f"row_{_code}"] = _row(_dtype)
    NAMESPACE[f"param_{_code}"] = _param(_dtype)
    NAMESPACE[f"bits_{_code}"] = _bits(_dtype)


def python_function(name: str, text: str, helpers: Sequence[str] = ()) -> Callable[..., Any]:
    """The function `name` defined by `text`, in these words and with the helpers that it calls."""
    space = dict(NAMESPACE)
    for helper in closure(helpers):
        exec(compile(HELPERS[helper].source, f"<helper {helper}>", "exec"), space)
    exec(compile(text, f"<kernel {name}>", "exec"), space)
    return space[name]


def run(
    source: Source,
    buffers: Sequence[np.ndarray | Pointer],
    dims: Sequence[int],
    extent: int,
    scratch: int = 0,
) -> np.ndarray:
    """Run a CPU kernel over [0, extent) in plain Python. Returns the thread's scratch memory: its first words
    are the error record. `scratch` is what the schedule asked for past the record."""
    memory = np.zeros(ERROR_RECORD_BYTES + max(scratch, source.scratch) + 64, np.uint8)
    kernel = python_function(source.name, source.text, source.helpers)
    with np.errstate(all="ignore"):
        kernel(buffers, [int(d) for d in dims], 0, extent, memory)
    return memory
