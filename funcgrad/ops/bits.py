"""Random bits: threefry2x32 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3; SC11), and keys.

A key is one element of dtype KEY: the two words of the cipher's key. Bits are a function of the key and of the 64-bit position
in the array that is asked for (JAX's partitionable layout), so any part can be made anywhere. The numbers are JAX's.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, message
from funcgrad.ir.loop_rules import Indexed, Pointwise
from funcgrad.ir.primitive import register
from funcgrad.ops._family import check_dtypes, elementwise_batch, elementwise_shape, move_dim
from funcgrad.ops._samples import uniform
from funcgrad.trace.interpreter import Operator

_UNSIGNED = {8: dt.uint8, 16: dt.uint16, 32: dt.uint32, 64: dt.uint64}
_RANDOM = "random bits are no function of their key to differentiate"

# --- the cipher --------------------------------------------------------------------------------------------------

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_CHUNK = 1 << 15  # words at a time: the hundred passes of a block then run in the cache


def threefry2x32(k0: Any, k1: Any, x0: np.ndarray, x1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two words of each block. `x0`, `x1` are uint32 arrays of one shape; the key's words are scalars or arrays of it."""
    ks = (k0, k1, k0 ^ k1 ^ np.uint32(0x1BD11BDA))
    x0, x1 = x0 + k0, x1 + k1
    scratch = np.empty_like(x0)
    for block in range(5):
        for rotation in _ROTATIONS[block % 2]:
            x0 += x1
            np.right_shift(x1, np.uint32(32 - rotation), out=scratch)
            x1 <<= np.uint32(rotation)
            x1 |= scratch
            x1 ^= x0
        x0 += ks[(block + 1) % 3]
        x1 += ks[(block + 2) % 3]
        x1 += np.uint32(block + 1)
    return x0, x1


def _blocks(keys: np.ndarray, shape: tuple[int, ...], write: Callable[..., None]) -> None:
    """Call `write(key number, slice, word 0, word 1)` for the blocks of every key at positions 0 .. prod(shape)."""
    size = int(np.prod(shape, dtype=np.int64))
    flat = keys.reshape(-1)
    if size <= 64 < flat.size or (size == 1 and flat.size > 1):
        # Many keys, few positions: all keys at once.
        for position in range(size):
            high, low = (np.full(flat.shape, word, np.uint32) for word in (position >> 32, position & 0xFFFFFFFF))
            write(slice(None), position, *threefry2x32(flat["hi"], flat["lo"], high, low))
        return
    for number in range(flat.size):
        k0, k1 = np.uint32(flat[number]["hi"]), np.uint32(flat[number]["lo"])
        for start in range(0, size, _CHUNK):
            stop = min(size, start + _CHUNK)
            position = np.arange(start, stop, dtype=np.uint64)
            high, low = (position >> np.uint64(32)).astype(np.uint32), position.astype(np.uint32)
            write(number, slice(start, stop), *threefry2x32(np.array(k0), np.array(k1), high, low))


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))


# --- loops -------------------------------------------------------------------------------------------------------
# Kernels hold a key as one uint64 whose low half is the first word.


def _words(b: Any, key: Any) -> tuple[Any, Any]:
    return b.cast(key, np.uint32), b.cast(b.shr(key, 32), np.uint32)


def _key(b: Any, hi: Any, lo: Any) -> Any:
    return b.or_(b.cast(hi, np.uint64), b.shl(b.cast(lo, np.uint64), 32))


def _counted(b: Any, keys: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The two words of the block of this element: its key is at the leading axes, its count is the position in the others."""
    rank = keys.ndim
    key = b.at(keys, [b.index(a) for a in range(rank)])
    count = None
    for a in range(rank, rank + len(shape)):
        count = b.index(a) if count is None else b.add(b.mul(count, b.extent(a)), b.index(a))
    if count is None:
        count = b.const(0, np.int64)
    count = b.cast(count, np.uint64)
    args = (*_words(b, key), b.cast(b.shr(count, 32), np.uint32), b.cast(count, np.uint32))
    return b.threefry_hi(*args), b.threefry_lo(*args)


# --- random_bits, random_split -----------------------------------------------------------------------------------


def _check_keys(name: str, *avals: ShapedArray) -> None:
    if avals[0].dtype != dt.KEY:
        raise DtypeError(
            message(f"{name}: got {format_avals(avals)}", "PRNG keys, of dtype key<fry>", "make one with random.key(seed)")
        )


def _bits_abstract(keys: ShapedArray, *, bit_width: int, shape: tuple[int, ...]) -> ShapedArray:
    _check_keys("random_bits", keys)
    if bit_width not in _UNSIGNED:
        raise UsageError(message(f"random_bits: got bit_width={bit_width}", "8, 16, 32 or 64", "bit_width=32"))
    return shaped((*keys.shape, *shape), _UNSIGNED[bit_width])


def _bits_numpy(keys: np.ndarray, bit_width: int, shape: tuple[int, ...]) -> np.ndarray:
    d = _UNSIGNED[bit_width]
    out = np.empty((keys.size, _size(shape)), d)

    def write(key: Any, where: Any, hi: np.ndarray, lo: np.ndarray) -> None:
        if bit_width == 64:
            out[key, where] = (hi.astype(np.uint64) << np.uint64(32)) | lo
        else:
            out[key, where] = (hi ^ lo).astype(d, copy=False)

    _blocks(keys, shape, write)
    return out.reshape(keys.shape + shape)


def _bits_loop(b: Any, keys: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    hi, lo = _counted(b, keys, shape)
    if bit_width == 64:
        return b.or_(b.shl(b.cast(hi, np.uint64), 32), b.cast(lo, np.uint64))
    return b.cast(b.xor(hi, lo), _UNSIGNED[bit_width])


def _split_abstract(keys: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
    _check_keys("random_split", keys)
    return shaped((*keys.shape, *shape), dt.KEY)


def _split_numpy(keys: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    out = np.empty((keys.size, _size(shape)), dt.KEY)

    def write(key: Any, where: Any, hi: np.ndarray, lo: np.ndarray) -> None:
        out["hi"][key, where], out["lo"][key, where] = hi, lo

    _blocks(keys, shape, write)
    return out.reshape(keys.shape + shape)


def random_keys(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Sample keys."""
    out = np.empty(shape, dt.KEY)
    for word in ("hi", "lo"):
        out[word] = rng.integers(0, 2**32, shape, dtype=np.uint32)
    return out


def _leading(op: Operator) -> Callable[..., Any]:
    """Keys lead in the output's shape, so a batch of them is one more leading axis."""
    return lambda size, args, dims, **params: (op(move_dim(args[0], dims[0] or 0, 0), **params), 0)


_SHAPES = (((), (5,)), ((), ()), ((2,), (3,)), ((70,), (2,)), ((), (2, 3)), ((2, 2), ()), ((0,), (2,)), ((2,), (0, 3)))

random_bits = Operator(
    "random_bits",
    abstract=_bits_abstract,
    numpy=_bits_numpy,
    jvp=lambda primals, tangents, **params: (random_bits(*primals, **params), None),
    transpose=_RANDOM,
    batch="set below",
    loop=Indexed(_bits_loop, (0,)),
    dtypes=dt.KEYS,
    samples=lambda rng, dtype: [
        ((random_keys(rng, keys),), {"bit_width": width, "shape": shape}) for width in (8, 16, 32, 64) for keys, shape in _SHAPES
    ],
    doc="for every key an array of unsigned integers of uniform bits",
)
random_bits.batch = _leading(random_bits)
register(random_bits)

random_split = Operator(
    "random_split",
    abstract=_split_abstract,
    numpy=_split_numpy,
    jvp=lambda primals, tangents, **params: (random_split(*primals, **params), None),
    transpose=_RANDOM,
    batch="set below",
    loop=Indexed(lambda b, keys, shape: _key(b, *_counted(b, keys, shape)), (0,)),
    dtypes=dt.KEYS,
    samples=lambda rng, dtype: [((random_keys(rng, keys),), {"shape": shape}) for keys, shape in _SHAPES],
    doc="for every key an array of new ones",
)
random_split.batch = _leading(random_split)
register(random_split)


# --- random_fold_in, random_seed --------------------------------------------------------------------------------


def _fold_in_abstract(keys: ShapedArray, data: ShapedArray) -> ShapedArray:
    _check_keys("random_fold_in", keys, data)
    if data.dtype != dt.uint32:
        raise DtypeError(message(f"random_fold_in: got {format_avals((keys, data))}", "uint32 data", "data.astype('uint32')"))
    return shaped(elementwise_shape("random_fold_in", (keys, data)), dt.KEY)


def _fold_in_numpy(keys: np.ndarray, data: np.ndarray) -> np.ndarray:
    keys, data = np.broadcast_arrays(keys, data)
    out = np.empty(keys.shape, dt.KEY)
    words = threefry2x32(
        keys["hi"].reshape(-1), keys["lo"].reshape(-1), np.zeros(keys.size, np.uint32), data.reshape(-1).astype(np.uint32)
    )
    out["hi"], out["lo"] = (w.reshape(keys.shape) for w in words)
    return out


def _fold_in_loop(b: Any, key: Any, data: Any) -> Any:
    args = (*_words(b, key), b.const(0, np.uint32), data)
    return _key(b, b.threefry_hi(*args), b.threefry_lo(*args))


random_fold_in = Operator(
    "random_fold_in",
    abstract=_fold_in_abstract,
    numpy=_fold_in_numpy,
    jvp=lambda primals, tangents: (random_fold_in(*primals), None),
    transpose=_RANDOM,
    batch="set below",
    loop=Pointwise(_fold_in_loop),
    dtypes=dt.KEYS,
    samples=lambda rng, dtype: [
        ((random_keys(rng, s), np.asarray(rng.integers(0, 2**32, s, dtype=np.uint32))), {}) for s in ((), (3,), (2, 2), (0,))
    ],
    doc="the key that a key and a uint32 give together, element by element",
)
random_fold_in.batch = elementwise_batch(random_fold_in)
register(random_fold_in)


def _seed_abstract(seeds: ShapedArray) -> ShapedArray:
    check_dtypes("random_seed", dt.INTEGERS, seeds)
    return shaped(seeds.shape, dt.KEY)


def _seed_numpy(seeds: np.ndarray) -> np.ndarray:
    out = np.empty(seeds.shape, dt.KEY)
    wide = seeds.dtype.itemsize == 8
    out["lo"] = seeds.astype(np.uint32)
    out["hi"] = (seeds.astype(np.uint64) >> np.uint64(32)).astype(np.uint32) if wide else 0
    return out


def _seed_loop(b: Any, seed: Any) -> Any:
    lo = b.cast(seed, np.uint32)
    wide = seed.dtype.itemsize == 8
    return _key(b, b.cast(b.shr(b.cast(seed, np.uint64), 32), np.uint32) if wide else b.const(0, np.uint32), lo)


def _same_dim(op: Operator) -> Callable[..., Any]:
    return lambda size, args, dims, **params: (op(args[0], **params), dims[0])


random_seed = Operator(
    "random_seed",
    abstract=_seed_abstract,
    numpy=_seed_numpy,
    jvp=lambda primals, tangents: (random_seed(*primals), None),
    transpose=_RANDOM,
    batch="set below",
    loop=Pointwise(_seed_loop),
    dtypes=dt.INTEGERS,
    samples=lambda rng, dtype: [((np.asarray(uniform(-100, 100)(rng, s, dtype)),), {}) for s in ((), (3,), (2, 2), (0,))],
    doc="the key of a seed: its two halves of 32 bits, the upper one first",
)
random_seed.batch = _same_dim(random_seed)
register(random_seed)


# --- random_wrap, random_unwrap -----------------------------------------------------------------------------------


def _wrap_abstract(words: ShapedArray) -> ShapedArray:
    if words.dtype != dt.uint32 or words.shape[-1:] != (2,):
        raise ShapeError(
            message(f"random_wrap: got {words.str_short()}", "uint32 words with a last axis of 2", "random.key_data(key)")
        )
    return shaped(words.shape[:-1], dt.KEY)


def _wrap_loop(b: Any, words: Any) -> Any:
    at = [b.index(a) for a in range(words.ndim - 1)]
    return _key(b, b.at(words, [*at, 0]), b.at(words, [*at, 1]))


random_wrap = Operator(
    "random_wrap",
    abstract=_wrap_abstract,
    numpy=lambda words: np.ascontiguousarray(words).view(dt.KEY)[..., 0],
    jvp=lambda primals, tangents: (random_wrap(*primals), None),
    transpose=_RANDOM,
    batch=lambda size, args, dims: (random_wrap(move_dim(args[0], dims[0], 0)), 0),
    loop=Indexed(_wrap_loop, (0,)),
    dtypes=frozenset({dt.uint32}),
    samples=lambda rng, dtype: [((rng.integers(0, 2**32, (*s, 2), dtype=np.uint32),), {}) for s in ((), (3,), (0,))],
    doc="keys from pairs of uint32 along the last axis",
)
register(random_wrap)


def _unwrap_abstract(keys: ShapedArray) -> ShapedArray:
    _check_keys("random_unwrap", keys)
    return shaped((*keys.shape, 2), dt.uint32)


def _unwrap_numpy(keys: np.ndarray) -> np.ndarray:
    return np.stack([keys["hi"], keys["lo"]], -1)


def _unwrap_loop(b: Any, keys: Any) -> Any:
    rank = keys.ndim
    hi, lo = _words(b, b.at(keys, [b.index(a) for a in range(rank)]))
    return b.select(b.eq(b.index(rank), 0), hi, lo)


def _unwrap_batch(size: int, args: Sequence[Any], dims: Sequence[int | None]) -> Any:
    return random_unwrap(args[0]), dims[0]


random_unwrap = Operator(
    "random_unwrap",
    abstract=_unwrap_abstract,
    numpy=_unwrap_numpy,
    jvp=lambda primals, tangents: (random_unwrap(*primals), None),
    transpose=_RANDOM,
    batch=_unwrap_batch,
    loop=Indexed(_unwrap_loop, (0,)),
    dtypes=dt.KEYS,
    samples=lambda rng, dtype: [((random_keys(rng, s),), {}) for s in ((), (3,), (2, 2), (0,))],
    doc="keys as pairs of uint32 along a new last axis",
)
register(random_unwrap)
