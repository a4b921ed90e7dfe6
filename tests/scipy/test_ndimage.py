"""map_coordinates against SciPy at coordinates inside, at the edges and far away."""

import numpy as np
import pytest
import scipy.ndimage

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.scipy import ndimage
from funcgrad.test_util import check_grads

MODES = ["constant", "nearest", "wrap", "mirror", "reflect", "grid-constant", "grid-wrap", "grid-mirror"]
RNG = np.random.default_rng(2)
LINE = [-13.0, -9, -6, -3.3, -3, -2.5, -1, -0.6, -0.5, -0.3, 0, 0.5, 1.5, 2.5, 3, 3.2, 3.5, 3.7, 4, 4.5, 6, 6.3, 7, 9, 17.25]


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", MODES)
def test_against_scipy(mode, order):
    a, c = np.array([1.0, 2, 4, 8]), np.array([LINE])
    want = scipy.ndimage.map_coordinates(a, c, order=order, mode=mode, cval=-7)
    f = lambda a, c: ndimage.map_coordinates(a, c, order, mode, -7)
    np.testing.assert_allclose(np.asarray(f(a, c)), want, atol=1e-12)
    np.testing.assert_allclose(np.asarray(fg.jit(f)(a, c)), want, atol=1e-12)
    x, c = RNG.normal(size=(3, 1, 5)), RNG.uniform(-9, 9, (3, 4, 6))
    want = scipy.ndimage.map_coordinates(x, c, order=order, mode=mode, cval=2.5)
    f = lambda x, c: ndimage.map_coordinates(x, c, order, mode, 2.5)
    np.testing.assert_allclose(np.asarray(f(x, c)), want, atol=1e-12)
    np.testing.assert_allclose(np.asarray(f(x, list(c))), want, atol=1e-12)
    rows = fg.jit(fg.vmap(f, in_axes=(None, 1)))(x, c)
    np.testing.assert_allclose(np.asarray(rows), want, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_derivatives(mode):
    x, c = RNG.normal(size=(4, 3)), RNG.uniform(-4, 7, (2, 8))
    check_grads(lambda x, c: ndimage.map_coordinates(x, c, 1, mode, 0.7), (x, c), 2, rtol=1e-4, atol=1e-4)
    check_grads(lambda x: ndimage.map_coordinates(x, c, 0, mode), (x,), 1)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "complex128"])
def test_dtypes(dtype):
    x = (RNG.normal(size=(3, 4)) * 20 + 60).astype(dtype)
    c = RNG.uniform(0, 3, (2, 9)) * np.array([[2 / 3], [1]])
    out = ndimage.map_coordinates(x, c, 1)
    want = scipy.ndimage.map_coordinates(x, c, order=1)
    assert out.dtype == dtype
    np.testing.assert_allclose(np.asarray(out), want, rtol=1e-5)
    halves = ndimage.map_coordinates(np.array([-1, -2, 4, 5]), [np.array([0.5, 2.5])], 1)
    assert halves.tolist() == [-2, 5]  # away from zero
    assert ndimage.map_coordinates(x, [np.array([1, 2]), np.array([0, 3])], 0).tolist() == x[[1, 2], [0, 3]].tolist()


def test_infinite_cval_and_nan():
    a = np.array([1.0, 2.0])
    out = ndimage.map_coordinates(a, [np.array([-1.0, 0.0, 1.0, 2.0, np.nan])], 1, cval=np.inf)
    assert out.tolist() == [np.inf, 1, 2, np.inf, np.inf]
    assert np.isnan(np.asarray(ndimage.map_coordinates(a, [np.array([np.nan])], 1, "reflect")))


WRONG = [
    (lambda: ndimage.map_coordinates(np.ones((2, 2)), [np.ones(3)], 1), "a coordinate for each axis"),
    (lambda: ndimage.map_coordinates(np.ones(2), [np.ones(3)], 3), "order 0 or 1"),
    (lambda: ndimage.map_coordinates(np.ones(2), [np.ones(3)], 1, "edge"), "'grid-wrap'"),
    (lambda: ndimage.map_coordinates(np.ones(0), [np.ones(3)], 1), "with pixels"),
]


@pytest.mark.parametrize("call,text", WRONG)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()
    assert fnp.shape(ndimage.map_coordinates(np.ones(2), [np.ones((0, 3))], 1)) == (0, 3)
