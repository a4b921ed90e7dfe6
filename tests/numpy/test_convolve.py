"""convolve and correlate against NumPy, in all modes, with either argument the longer one."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.test_util import check_grads

LENGTHS = list(itertools.product((1, 2, 3, 7, 8), repeat=2))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128, bool])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_is_numpys(name, dtype):
    rng = np.random.default_rng(0)
    ours, theirs = getattr(fnp, name), getattr(np, name)
    jitted = fg.jit(ours, static_argnums=2)
    for (n, m), mode in itertools.product(LENGTHS, ("full", "same", "valid")):
        a, v = (rng.integers(-3, 4, k).astype(dtype) for k in (n, m))
        if dtype is np.complex128:
            a, v = a + 1j * a[::-1], v - 2j * v[::-1]
        want = theirs(a, v, mode)
        for f in (ours, jitted):
            got = f(a, v, mode)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want, err_msg=f"{n} {m} {mode}")


@pytest.mark.parametrize("f", [fnp.convolve, fnp.correlate])
def test_gradients(f):
    rng = np.random.default_rng(0)
    check_grads(lambda a, v: fnp.sin(f(a, v, "same")), (rng.normal(size=6), rng.normal(size=4)), order=2, modes=("fwd", "rev"))
    rows = fg.vmap(f, (0, None))(rng.normal(size=(3, 6)), rng.normal(size=4))
    assert rows.shape == fg.vmap(f, (None, 0))(rng.normal(size=6), rng.normal(size=(3, 4))).shape


def test_sums_are_taken_in_the_preferred_dtype():
    got = fnp.convolve(np.int8([100, 100]), np.int8([2, 2]), preferred_element_type=np.int32)
    assert got.dtype == np.int32 and got.tolist() == [200, 400, 200]


def test_errors():
    with pytest.raises(ValueError, match="(?s)got mode='half'.*'full', 'same' or 'valid'.*mode='full'"):
        fnp.convolve(np.ones(3), np.ones(2), "half")
    with pytest.raises(ValueError, match="(?s)vectors that are not empty"):
        fnp.correlate(np.ones(3), np.ones(0))
