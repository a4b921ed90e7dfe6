"""The cipher against the Random123 vectors; bits, splits and folds against numbers that JAX 0.10 printed for the same keys."""

import numpy as np
import pytest

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, UsageError
from funcgrad.ops import bits as ops
from funcgrad.ops.shape import reshape
from tests.ops.helpers import arr, loops

KEY = np.zeros((), dt.KEY)
KEY["lo"] = 42


def words(keys):
    return np.asarray(ops.random_unwrap(keys)).tolist()


# Random123, kat_vectors: threefry2x32, 20 rounds
@pytest.mark.parametrize(
    "count, key, want",
    [
        ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_cipher(count, key, want):
    x0, x1 = (np.array([c], np.uint32) for c in count)
    k0, k1 = (np.array([k], np.uint32) for k in key)
    out = ops.threefry2x32(k0, k1, x0, x1)
    assert tuple(int(w[0]) for w in out) == want


BITS = {
    8: [162, 217, 249, 215, 21, 216, 153],
    16: [5026, 12505, 63993, 49623, 29461, 20184, 47001],
    32: [2098992034, 2919706841, 2646866425, 2409546199, 1935504149, 2516274904, 321304473],
    64: [7871734211187709741, 276886910877598708, 10591095138341673235],
}


@pytest.mark.parametrize("width", BITS)
def test_bits_are_those_of_jax(width):
    want = BITS[width]
    bits = lambda key: ops.random_bits(key, bit_width=width, shape=(len(want),))
    assert np.asarray(bits(arr(KEY, dt.KEY))).tolist() == want
    assert loops(bits, KEY).tolist() == want


def test_shape_only_arranges_the_bits():
    key = arr(KEY, dt.KEY)
    assert np.asarray(ops.random_bits(key, bit_width=32, shape=(2, 3))).tolist() == [BITS[32][:3], BITS[32][3:6]]
    assert int(np.asarray(ops.random_bits(key, bit_width=32, shape=()))) == BITS[32][0]


def test_splits_folds_and_seeds_are_those_of_jax():
    key = arr(KEY, dt.KEY)
    want = [[1832780943, 270669613], [64467757, 2916123636], [2465931498, 255383827]]
    assert words(ops.random_split(key, shape=(3,))) == want
    assert words(ops.random_split(key, shape=(2, 1))) == [[w] for w in want[:2]]
    assert words(ops.random_fold_in(key, np.uint32(7))) == [2547012911, 1371500959]
    assert words(ops.random_fold_in(key, np.uint32(2**32 - 1))) == [2398536845, 3890976714]
    assert words(ops.random_seed(np.int64(2**40 + 5))) == [256, 5]
    assert words(ops.random_seed(np.int64(-3))) == [4294967295, 4294967293]
    assert words(ops.random_seed(np.int32(-3))) == [0, 4294967293]


def test_large_arrays_are_made_in_parts_that_fit_together():
    n = 3 * ops._CHUNK + 7
    key = arr(KEY, dt.KEY)
    whole = np.asarray(ops.random_bits(key, bit_width=32, shape=(n,)))
    position = np.arange(n, dtype=np.uint64)
    hi, lo = ops.threefry2x32(
        np.array(0, np.uint32), np.array(42, np.uint32), (position >> np.uint64(32)).astype(np.uint32), position.astype(np.uint32)
    )
    np.testing.assert_array_equal(whole, hi ^ lo)


def test_arrays_of_keys():
    keys = ops.random_split(arr(KEY, dt.KEY), shape=(100,))
    every = np.asarray(ops.random_bits(keys, bit_width=32, shape=(2,)))
    for i in (0, 57, 99):
        one = reshape(ops.random_wrap(arr(words(keys)[i], np.uint32)), shape=())
        np.testing.assert_array_equal(np.asarray(ops.random_bits(one, bit_width=32, shape=(2,))), every[i])


def test_errors():
    with pytest.raises(DtypeError, match=r"(?s)random_bits: got u32\[2\].*key<fry>.*random.key\(seed\)"):
        ops.random_bits(arr([0, 1], np.uint32), bit_width=32, shape=())
    with pytest.raises(UsageError, match="(?s)bit_width=7.*8, 16, 32 or 64"):
        ops.random_bits(arr(KEY, dt.KEY), bit_width=7, shape=())
