"""mulhi against Python's integers; rng_bit_generator against the SC11 test vectors and the numbers of XLA's generators."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.lax.generator import philox4x32, threefry2x32


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_mulhi(dtype):
    info, bits = np.iinfo(dtype), np.dtype(dtype).itemsize * 8
    rng = np.random.default_rng(3)
    ends = np.array([info.min, info.min + 1, -1 if info.min else 1, 0, 1, info.max - 1, info.max], dtype)
    x = np.concatenate([np.repeat(ends, 7), rng.integers(info.min, info.max, 50, dtype=dtype, endpoint=True)])
    y = np.concatenate([np.tile(ends, 7), rng.integers(info.min, info.max, 50, dtype=dtype, endpoint=True)])
    want = [(int(a) * int(b)) >> bits for a, b in zip(x, y)]
    for f in (lax.mulhi, fg.jit(lax.mulhi)):
        out = f(x, y)
        assert out.dtype == dtype and out.tolist() == want
    assert lax.mulhi(x[:3], 2).tolist() == [(int(a) * 2) >> bits for a in x[:3]]
    assert fg.vmap(lax.mulhi, in_axes=(0, None))(x, y[50]).tolist() == [(int(a) * int(y[50])) >> bits for a in x]


def test_mulhi_refuses_floats():
    with pytest.raises(TypeError, match="integers"):
        lax.mulhi(1.0, 2.0)


def words(*values):
    return tuple(fnp.asarray(np.array([v], np.uint32)) for v in values)


# The known answers of the Random123 distribution, for zeros, ones, and the digits of pi.
F = 0xFFFFFFFF
PHILOX = [
    ((0, 0), (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((F, F), (F, F, F, F), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0xA4093822, 0x299F31D0),
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
THREEFRY = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((F, F), (F, F), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize("cipher,table", [(philox4x32, PHILOX), (threefry2x32, THREEFRY)])
def test_known_answers_of_the_ciphers(cipher, table):
    for key, counter, want in table:
        assert tuple(int(w[0]) for w in cipher(words(*key), words(*counter))) == want


THREE, PHI = lax.RandomAlgorithm.RNG_THREE_FRY, lax.RandomAlgorithm.RNG_PHILOX
# The numbers that jax.lax.rng_bit_generator gave for the state (1, 2, 3, 4): algorithm, shape, dtype, steps of the counter, bits.
XLA = [
    (PHI, (5,), "uint32", 2, [512747620, 1298009047, 1267190206, 761827841, 1383286907]),
    (PHI, (2, 3), "uint32", 2, [[512747620, 1298009047, 1267190206], [761827841, 1383286907, 1639995030]]),
    (PHI, (3,), "uint64", 2, [5574906407289874532, 3272025663544478142, 7043725020835825787]),
    (PHI, (6,), "uint16", 2, [59492, 3031, 51646, 37377, 18555, 22166]),
    (PHI, (6,), "uint8", 2, [100, 215, 190, 1, 123, 150]),
    (PHI, (), "uint32", 1, 512747620),
    (PHI, (0,), "uint32", 0, []),
    (THREE, (5,), "uint32", 3, [1576285164, 2249660814, 740599976, 2425682526, 2436392515]),
    (THREE, (2, 3), "uint32", 3, [[1576285164, 740599976, 2436392515], [2249660814, 2425682526, 1497962777]]),
    (THREE, (3, 2), "uint32", 3, [[1576285164, 2249660814], [740599976, 2425682526], [2436392515, 1497962777]]),
    (THREE, (3, 3), "uint32", 6, [[1576285164, 740599976, 2436392515], [2249660814, 2425682526, 1497962777], [1335360347, 3981753173, 3812192618]]),
    (THREE, (2,), "uint64", 2, [9662219624799024108, 10418227120389269672]),
    (THREE, (5,), "uint16", 3, [13292, 6542, 43176, 64094, 26179]),
    (THREE, (), "uint64", 1, 9662219624799024108),
]  # fmt: skip


@pytest.mark.parametrize("case", XLA, ids=lambda c: f"{c[0].name}-{c[1]}-{c[2]}")
def test_the_numbers_are_those_of_xla(case):
    algorithm, shape, dtype, steps, want = case
    state = np.array([1, 2, 3, 4], np.uint32)
    f = lambda s: lax.rng_bit_generator(s, shape, dtype, algorithm)
    for g in (f, fg.jit(f)):
        after, bits = g(state)
        assert bits.dtype == dtype and bits.tolist() == want and after.tolist() == [1, 2, 3 + steps, 4]
    after, bits = f(state.view(np.uint64))
    assert bits.tolist() == want and after.dtype == np.uint64 and after.tolist() == [1 + (2 << 32), 3 + steps + (4 << 32)]


def test_the_counter_passes_its_end():
    after, bits = lax.rng_bit_generator(np.array([1, 2**64 - 1], np.uint64), (6,))
    assert after.tolist() == [1, 1]
    assert bits.tolist() == [1483621553, 651866410, 3635972313, 3644338380, 3878945999, 2364392915]  # as XLA goes on


def test_a_batch_of_states():
    states = np.arange(8, dtype=np.uint32).reshape(2, 4)
    after, bits = fg.vmap(lambda s: lax.rng_bit_generator(s, (3,)))(states)
    for i, s in enumerate(states):
        one, two = lax.rng_bit_generator(s, (3,))
        assert after[i].tolist() == one.tolist() and bits[i].tolist() == two.tolist()


@pytest.mark.parametrize(
    "call,text",
    [
        (lambda: lax.rng_bit_generator(np.zeros(3, np.uint32), (2,)), r"uint32\[4\]"),
        (lambda: lax.rng_bit_generator(np.zeros(4, np.uint32), (2,), "int32"), "uint64"),
        (lambda: lax.rng_bit_generator(np.zeros(4, np.uint32), (2,), algorithm=7), "RandomAlgorithm"),
    ],
)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()
