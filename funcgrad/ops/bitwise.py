"""Logic and bits: and, or, xor, not, shifts, counts; common divisors. Integers bit by bit; bools logically.

A shift by the width of the dtype or more (also by a negative count) gives zero, or the sign for `shift_right_arithmetic`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.ops._family import NOT_DIFFERENTIABLE, elementwise
from funcgrad.ops._samples import uniform
from funcgrad.trace.interpreter import Operator

_BITS = dt.BOOLS | dt.INTEGERS


def _bits(
    name: str, numpy: Callable[..., Any], loop: Callable[..., Any], samples: Any, dtypes: frozenset = _BITS, doc: str = ""
) -> Operator:
    return elementwise(name, dtypes=dtypes, numpy=numpy, jvp=NOT_DIFFERENTIABLE, loop=loop, samples=samples, doc=doc)


_any = uniform(-100, 100)

and_ = _bits("and", np.bitwise_and, lambda b, x, y: b.and_(x, y), [_any, _any], doc="x & y; of bools whether both hold")
or_ = _bits("or", np.bitwise_or, lambda b, x, y: b.or_(x, y), [_any, _any], doc="x | y; of bools whether one holds")
xor = _bits("xor", np.bitwise_xor, lambda b, x, y: b.xor(x, y), [_any, _any], doc="x ^ y; of bools whether one alone holds")
not_ = _bits("not", np.invert, lambda b, x: b.not_(x), [_any], doc="~x; of bools the opposite")


# --- shifts -----------------------------------------------------------------------------------------------


def _unsigned(d: np.dtype) -> np.dtype:
    return np.dtype(f"uint{d.itemsize * 8}")


def _shift_left(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    u = _unsigned(x.dtype)
    x, n = np.asarray(x).astype(u), np.asarray(n).astype(u)
    width = u.itemsize * 8
    return np.where(n < width, np.left_shift(x, n % u.type(width)), u.type(0))


def _shift_right_logical(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    u = _unsigned(x.dtype)
    x, n = np.asarray(x).astype(u), np.asarray(n).astype(u)
    width = u.itemsize * 8
    return np.where(n < width, np.right_shift(x, n % u.type(width)), u.type(0))


def _shift_right_arithmetic(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    d = np.asarray(x).dtype
    signed = np.dtype(f"int{d.itemsize * 8}")
    x, n = np.asarray(x).astype(signed), np.asarray(n).astype(_unsigned(d))
    return np.right_shift(x, np.minimum(n, d.itemsize * 8 - 1).astype(signed)).astype(d)


def _same_bits(meaning: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The unsigned outcome read in the operand's own dtype."""
    return lambda x, n: meaning(x, n).astype(x.dtype)


def _shift_loop(logical: bool, left: bool) -> Callable[..., Any]:
    # Counts are compared as unsigned, so that negative ones are large.
    def loop(b: Any, x: Any, n: Any) -> Any:
        d = x.dtype
        u, width = _unsigned(d), d.itemsize * 8
        count = b.cast(n, u)
        inside, safe = b.lt(count, width), b.and_(count, width - 1)
        if left:
            return b.cast(b.select(inside, b.shl(b.cast(x, u), safe), 0), d)
        if logical:
            return b.cast(b.select(inside, b.shr(b.cast(x, u), safe), 0), d)
        signed = np.dtype(f"int{width}")
        return b.cast(b.shr(b.cast(x, signed), b.cast(b.select(inside, safe, width - 1), signed)), d)

    return loop


_count = uniform(0, 7)
shift_left = _bits(
    "shift_left",
    _same_bits(_shift_left),
    _shift_loop(False, True),
    [_any, _count],
    dt.INTEGERS,
    doc="x * 2 ** n, what leaves the width is lost",
)
shift_right_logical = _bits(
    "shift_right_logical", _same_bits(_shift_right_logical), _shift_loop(True, False), [_any, _count], dt.INTEGERS,
    "shift right, zeros come in, whatever the sign",
)  # fmt: skip
shift_right_arithmetic = _bits(
    "shift_right_arithmetic", _shift_right_arithmetic, _shift_loop(False, False), [_any, _count], dt.INTEGERS,
    "shift right, the highest bit is repeated, also in unsigned dtypes",
)  # fmt: skip


# --- counts -----------------------------------------------------------------------------------------------


def _population_count(x: np.ndarray) -> np.ndarray:
    return np.bitwise_count(x.view(_unsigned(x.dtype)))


def _clz(x: np.ndarray) -> np.ndarray:
    # Smear the highest bit to the right; what stays zero is counted.
    x = x.view(_unsigned(x.dtype)).copy()
    width, shift = x.dtype.itemsize * 8, 1
    while shift < width:
        x |= np.right_shift(x, x.dtype.type(shift))
        shift *= 2
    return width - np.bitwise_count(x).astype(np.int64)


population_count = _bits(
    "population_count", _population_count, lambda b, x: b.population_count(x), [_any], dt.INTEGERS, "the number of ones"
)
clz = _bits("clz", _clz, lambda b, x: b.clz(x), [_any], dt.INTEGERS, "the number of leading zeros")


# --- divisors ---------------------------------------------------------------------------------------------

gcd = _bits(
    "gcd", np.gcd, lambda b, x, y: b.gcd(x, y), [uniform(0, 250), uniform(0, 250)], dt.UNSIGNED, "the greatest common divisor"
)
