"""mulhi, the high half of products of integers, and rng_bit_generator, bits of a counter under a cipher.

The ciphers are Philox-4x32-10 and Threefry-2x32-20 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC11), written as elementwise operators on words of 32 bits. The bits are those that XLA's generators give for the same state.
"""

import enum
from math import prod
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, message
from funcgrad.lax._table import strict, value
from funcgrad.lax.types import member
from funcgrad.numpy._axes import shape_of
from funcgrad.numpy.join import stack
from funcgrad.numpy.structure import broadcast_to, moveaxis, reshape
from funcgrad.ops import elementwise as ew
from funcgrad.ops.shape import iota
from funcgrad.trace.value import aval_of

__all__ = ["RandomAlgorithm", "mulhi", "rng_bit_generator"]

U32, U64 = dt.uint32, dt.uint64
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


class RandomAlgorithm(enum.IntEnum):
    """The cipher of `lax.rng_bit_generator`; the default is Philox.

    >>> lax.RandomAlgorithm(1)
    <RandomAlgorithm.RNG_THREE_FRY: 1>
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


# --- products -------------------------------------------------------------------------------------------------


def mulhi(x: Any, y: Any, /) -> Any:
    """The high half of the exact product of integers: of N bits each, the upper N of its 2 N bits.

    x, y: of one integer dtype and shape, or scalars. Returns: an array of that dtype and shape.

    >>> lax.mulhi(np.array([2**31, -5], np.int64), np.int64(2**40))
    Array([128,  -1], dtype=int64)
    """
    a, b = strict("mulhi", x, y)
    d = aval_of(a).dtype
    if d not in dt.INTEGERS:
        raise DtypeError(message(f"lax.mulhi: got operands of {d}", "integers", "x.astype('int32')"))
    a, b = value("mulhi", a, "x"), value("mulhi", b, "y")
    if d.itemsize < 8:
        wide = dt.int64 if d in dt.SIGNED else U64
        product = ew.mul(ew.convert(a, wide), ew.convert(b, wide))
        return ew.convert(ew.shift_right_logical(product, wide.type(8 * d.itemsize)), d)
    if d == U64:
        return _high(a, b)
    # Read as unsigned, a negative number is 2**64 too large: its product is the other factor too large in the high half.
    ua, ub = ew.bitcast_convert_type(a, new_dtype=U64), ew.bitcast_convert_type(b, new_dtype=U64)
    zero = np.int64(0)
    extra = ew.add(ew.select_n(ew.lt(a, zero), zero, b), ew.select_n(ew.lt(b, zero), zero, a))
    return ew.sub(ew.bitcast_convert_type(_high(ua, ub), new_dtype=dt.int64), extra)


def _high(x: Any, y: Any) -> Any:
    """The high half of products of uint64, from products of their halves."""
    x1, x0, y1, y0 = ew.shift_right_logical(x, HALF), ew.and_(x, LOW), ew.shift_right_logical(y, HALF), ew.and_(y, LOW)
    p, q = ew.mul(x0, y1), ew.mul(x1, y0)
    middle = ew.add(ew.add(ew.shift_right_logical(ew.mul(x0, y0), HALF), ew.and_(p, LOW)), ew.and_(q, LOW))
    high = ew.add(ew.shift_right_logical(p, HALF), ew.shift_right_logical(q, HALF))
    return ew.add(ew.add(ew.mul(x1, y1), high), ew.shift_right_logical(middle, HALF))


# --- ciphers --------------------------------------------------------------------------------------------------


def _u32(x: Any) -> Any:
    return ew.convert(x, U32)


def _halves(x: Any) -> tuple[Any, Any]:
    """The low and the high word of uint64."""
    return _u32(ew.and_(x, LOW)), _u32(ew.shift_right_logical(x, HALF))


def _joined(low: Any, high: Any) -> Any:
    return ew.or_(ew.convert(low, U64), ew.shift_left(ew.convert(high, U64), HALF))


def philox4x32(key: tuple[Any, Any], counter: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    """Ten rounds of Philox on words of uint32: a block for each counter."""
    (k0, k1), (c0, c1, c2, c3) = key, counter
    for _ in range(10):
        p, q = ew.mul(ew.convert(c0, U64), np.uint64(0xD2511F53)), ew.mul(ew.convert(c2, U64), np.uint64(0xCD9E8D57))
        (low_p, high_p), (low_q, high_q) = _halves(p), _halves(q)
        c0, c1, c2, c3 = ew.xor(ew.xor(high_q, c1), k0), low_q, ew.xor(ew.xor(high_p, c3), k1), low_p
        k0, k1 = ew.add(k0, np.uint32(0x9E3779B9)), ew.add(k1, np.uint32(0xBB67AE85))
    return c0, c1, c2, c3


def threefry2x32(key: tuple[Any, Any], counter: tuple[Any, Any]) -> tuple[Any, Any]:
    """Twenty rounds of Threefry on words of uint32: a block for each counter."""
    (k0, k1), (x, y) = key, counter
    ks = (k0, k1, ew.xor(ew.xor(k0, k1), np.uint32(0x1BD11BDA)))
    x, y = ew.add(x, k0), ew.add(y, k1)
    for block in range(5):
        for turn in ((13, 15, 26, 6), (17, 29, 16, 24))[block % 2]:
            x = ew.add(x, y)
            y = ew.or_(ew.shift_left(y, np.uint32(turn)), ew.shift_right_logical(y, np.uint32(32 - turn)))
            y = ew.xor(y, x)
        x, y = ew.add(x, ks[(block + 1) % 3]), ew.add(ew.add(y, ks[(block + 2) % 3]), np.uint32(block + 1))
    return x, y


# --- bits -----------------------------------------------------------------------------------------------------


def _state(key: Any) -> tuple[Any, Any]:
    """The key and the counter of a state, as uint64."""
    v = value("rng_bit_generator", key, "key")
    if v.dtype == U32 and v.shape == (4,):
        return _joined(v[0], v[1]), _joined(v[2], v[3])
    if v.dtype == U64 and v.shape == (2,):
        return v[0], v[1]
    raise ShapeError(
        message(
            f"lax.rng_bit_generator: got a key {v.aval.str_short()}",
            "uint32[4] or uint64[2]: a key and a counter",
            "np.array([seed, 0, 0, 0], np.uint32); random.bits(key, shape) takes PRNG keys",
        )
    )


def _count(first: Any, n: int) -> Any:
    """first, first + 1, ... as uint64."""
    return ew.add(iota(dtype=U64, shape=(n,), dimension=0), _repeated(first, n))


def _repeated(x: Any, n: int) -> Any:
    return broadcast_to(x, (n,))


def _philox(key: Any, counter: Any, shape: tuple[int, ...], wide: bool) -> tuple[Any, int]:
    """Words for an array of this shape, and how many counters they took. The key is the upper half of the counter, too."""
    size = prod(shape)
    n = -(-size // (2 if wide else 4))
    low = _count(counter, n)
    k0, k1 = [_repeated(w, n) for w in _halves(key)]
    # A count that passes 2**64 goes on in the upper half.
    upper = ew.add(_joined(k0, k1), ew.convert(ew.lt(low, _repeated(counter, n)), U64))
    c0, c1, c2, c3 = philox4x32((k0, k1), (*_halves(low), *_halves(upper)))
    words = [_joined(c0, c1), _joined(c2, c3)] if wide else [c0, c1, c2, c3]
    return reshape(reshape(stack(words, axis=1), (-1,))[:size], shape), n


def _threefry(key: Any, counter: Any, shape: tuple[int, ...], wide: bool) -> tuple[Any, int]:
    """As `_philox`. The two words of a block lie beside one another on the first axis of even extent, else on the longest."""
    size = prod(shape)
    if wide:
        k = [_repeated(w, size) for w in _halves(key)]
        return reshape(_joined(*threefry2x32((k[0], k[1]), _halves(_count(counter, size)))), shape), size
    even = [i for i, m in enumerate(shape) if m % 2 == 0]
    axis = even[0] if even else max(range(len(shape)), key=shape.__getitem__, default=-1)
    half = tuple([-(-m // 2) if i == axis else m for i, m in enumerate(shape)])
    n = prod(half)
    k = [_repeated(w, n) for w in _halves(key)]
    x, y = [reshape(w, half) for w in threefry2x32((k[0], k[1]), _halves(_count(counter, n)))]
    if not shape:
        return x, 1
    pairs = stack([x, y], axis=axis + 1)
    both = reshape(pairs, tuple([2 * m if i == axis else m for i, m in enumerate(half)]))
    return moveaxis(moveaxis(both, axis, 0)[: shape[axis]], 0, axis), n


def rng_bit_generator(
    key: Any, shape: Any, dtype: Any = np.uint32, algorithm: Any = RandomAlgorithm.RNG_DEFAULT, *, out_sharding: Any = None
) -> tuple[Any, Any]:
    """Uniform bits from a state, and the state after them. `random.bits` is the generator with splittable keys.

    key: the state, uint32[4] or uint64[2]: the cipher's key and a 64-bit counter. dtype: uint8, uint16, uint32 or uint64.
    algorithm: a `RandomAlgorithm`; Philox by default. Returns: (the state with the counter moved on, an array of `shape`). The
    numbers are those of XLA's generators. Raises ShapeError for another state, DtypeError for another dtype.

    >>> state, bits = lax.rng_bit_generator(np.array([1, 2, 3, 4], np.uint32), (5,))
    >>> state.tolist(), bits.tolist()
    ([1, 2, 5, 4], [512747620, 1298009047, 1267190206, 761827841, 1383286907])
    """
    extents, d = shape_of(shape, "lax.rng_bit_generator"), dt.canonical(dtype)
    if d not in dt.UNSIGNED:
        raise DtypeError(message(f"lax.rng_bit_generator: got dtype={d}", "uint8, uint16, uint32, uint64", "dtype='uint32'"))
    if out_sharding is not None:
        raise UsageError(message("lax.rng_bit_generator: got a sharding", "None: arrays lie on one device", "leave it out"))
    chosen = member(RandomAlgorithm, algorithm, "lax.rng_bit_generator")
    word, counter = _state(key)
    make = _threefry if chosen is RandomAlgorithm.RNG_THREE_FRY else _philox
    bits, used = make(word, counter, extents, d == U64)
    after = ew.add(counter, np.uint64(used))
    if value("rng_bit_generator", key).dtype == U64:
        state = stack([word, after])
    else:
        state = stack([*_halves(word), *_halves(after)])
    return state, ew.convert(bits, d)
