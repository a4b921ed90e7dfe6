"""Integers: their bits, shifts, common divisors and multiples."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, message
from funcgrad.numpy._promote import as_value, binary, operand, unify
from funcgrad.numpy._table import binary_same, binary_ufunc, unary_same, wrong_dtype
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "gcd", "invert", "lcm", "left_shift", "right_shift",
]  # fmt: skip

_BITS = dt.INTEGERS | dt.BOOLS


def _of_bits(
    name: str, op: Callable[..., Any], fix: str = "fnp.logical_and and its relatives, or x.astype(int)"
) -> Callable[..., Any]:
    def checked(x: Any, *ys: Any) -> Any:
        if aval_of(x).dtype not in _BITS:
            raise DtypeError(message(f"fnp.{name}: got {aval_of(x).str_short()}", "integers and booleans", fix))
        return op(x, *ys)

    return checked


bitwise_and = binary_ufunc(
    "bitwise_and",
    _of_bits("bitwise_and (&)", ew.and_),
    "Bits that are set in both (of booleans: and).",
    "fnp.array([12, 6]), 10",
    "Array([8, 2], dtype=int64)",
)
bitwise_or = binary_ufunc(
    "bitwise_or",
    _of_bits("bitwise_or (|)", ew.or_),
    "Bits that are set in one (of booleans: or).",
    "fnp.array([12, 6]), 1",
    "Array([13,  7], dtype=int64)",
)
bitwise_xor = binary_ufunc(
    "bitwise_xor",
    _of_bits("bitwise_xor (^)", ew.xor),
    "Bits that are set in exactly one.",
    "fnp.array([12, 6]), 10",
    "Array([ 6, 12], dtype=int64)",
)
invert = unary_same(
    "invert",
    ew.not_,
    "All bits flipped (of booleans: not).",
    "fnp.array([0, 5, -1])",
    "Array([-1, -6,  0], dtype=int64)",
    allowed=_BITS,
)
bitwise_not = bitwise_invert = invert


def _shift(name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    def checked(x: Any, n: Any) -> Any:
        if aval_of(x).dtype == dt.bool_:
            x, n = [v.astype(dt.int64) if isinstance(v, Value) else np.int64(v) for v in (x, n)]
        return op(x, n)

    return _of_bits(name, checked, "x.astype(int)")


def _right(x: Any, n: Any) -> Any:
    return (ew.shift_right_logical if aval_of(x).dtype in dt.UNSIGNED else ew.shift_right_arithmetic)(x, n)


left_shift = binary_same(
    "left_shift",
    _shift("left_shift (<<)", ew.shift_left),
    "x1 with its bits moved x2 places up.",
    "fnp.array([1, 3]), 2",
    "Array([ 4, 12], dtype=int64)",
    letters=True,
)
bitwise_left_shift = left_shift
right_shift = binary_same(
    "right_shift",
    _shift("right_shift (>>)", _right),
    "x1 with its bits moved x2 places down; signed numbers keep their sign.",
    "fnp.array([12, -12]), 2",
    "Array([ 3, -3], dtype=int64)",
)
bitwise_right_shift = right_shift


def bitwise_count(x: Any, /) -> Any:
    """The number of ones in the bits of |x|, uint8, of the shape of x. Raises TypeError for floats.

    >>> fnp.bitwise_count(fnp.array([0, 7, -8]))
    Array([0, 3, 1], dtype=uint8)
    """
    v = operand(x, "bitwise_count", "x")
    if aval_of(v).dtype not in _BITS:
        raise wrong_dtype("bitwise_count", v, _BITS, "x.astype(int)")
    if aval_of(v).dtype == dt.bool_:
        return ew.convert(as_value(v, "bitwise_count"), dt.uint8)
    v = ew.abs(v) if aval_of(v).dtype in dt.SIGNED else v
    return ew.convert(ew.population_count(v), dt.uint8)


def _integers(name: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    x, y = [as_value(v, name) for v in unify(name, x1, x2)]
    if x.dtype not in dt.INTEGERS:
        raise wrong_dtype(name, x, dt.INTEGERS, "x.astype(int)")
    return binary(lambda p, q: (p, q), x, y, name)


def gcd(x1: Any, x2: Any) -> Any:
    """The greatest common divisor of the absolute values of integers; gcd(0, x) = |x|.

    Args: x1, x2: integers whose shapes broadcast. Returns: their common dtype. Raises: TypeError for floats.

    >>> fnp.gcd(fnp.array([12, -7, 0]), 18)
    Array([ 6,  1, 18], dtype=int64)
    """
    x, y = _integers("gcd", x1, x2)
    own = x.dtype
    if own in dt.SIGNED:  # without a sign the absolute value of the least number fits too
        unsigned = np.dtype(f"uint{own.itemsize * 8}")
        x, y = [ew.convert(ew.abs(v), unsigned) for v in (x, y)]
    return ew.convert(ew.gcd(x, y), own)


def lcm(x1: Any, x2: Any) -> Any:
    """The least common multiple of the absolute values of integers; 0 where one is 0.

    Args: x1, x2: integers whose shapes broadcast. Returns: their common dtype. Raises: TypeError for floats.

    >>> fnp.lcm(fnp.array([4, 7, 0]), 6)
    Array([12, 42,  0], dtype=int64)
    """
    x, y = _integers("lcm", x1, x2)
    if x.dtype in dt.SIGNED:
        x, y = ew.abs(x), ew.abs(y)
    d = gcd(x, y)
    return ew.select_n(ew.eq(d, like(d, 0)), ew.mul(x, ew.div(y, d)), d)
