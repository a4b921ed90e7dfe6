"""Division, roots and fits of polynomials, and trim_zeros, against NumPy's."""

import warnings

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.test_util import check_grads

R = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("u", "v"),
    [([1, 5, 7], [1, 3]), ([2.0, 0, -4, 1], [0.5, 1]), ([1], [1, 3]), ([1, 2, 3], [2]), ([1 + 1j, 2, 3], [1, 1j]),
     ([0.0, 1.0, 2.0], [1.0, 2.0])],
)  # fmt: skip
def test_polydiv(u, v):
    u, v = (
        np.array(u, np.result_type(np.float64, np.asarray(u).dtype)),
        np.array(v, np.result_type(np.float64, np.asarray(v).dtype)),
    )
    q, r = np.polydiv(u, v)
    for got in (fnp.polydiv(u, v), fg.jit(fnp.polydiv)(u, v)):
        np.testing.assert_allclose(got[0], q)
        assert got[1].shape == u.shape
        np.testing.assert_allclose(got[1], np.pad(r, (len(u) - len(r), 0)), atol=1e-12)
    trimmed = fnp.polydiv(u, v, trim_leading_zeros=True)
    np.testing.assert_allclose(trimmed[1], r, atol=1e-12)
    check_grads(lambda a, b: fnp.polydiv(a, b), (u, v), order=1)


@pytest.mark.parametrize(
    "p", [[1, -3, 2], [2.0, 1, 3], [0, 0, 1, -6, 11, -6], [1, -3, 2, 0, 0], [5], [0, 0], [1j, 2, 1], [0, 3, 0]]
)
def test_roots(p):
    p = np.array(p)
    want = np.sort_complex(np.roots(p))
    got = fnp.roots(p.astype(np.result_type(p, np.float64)))
    assert got.dtype == np.complex128
    np.testing.assert_allclose(np.sort_complex(got), want, atol=1e-12)
    free = np.sort_complex(fg.jit(lambda v: fnp.roots(v, strip_zeros=False))(p.astype(got.dtype)))
    assert free.shape == (len(p) - 1,)
    np.testing.assert_allclose(free[: len(want)], want, atol=1e-12)
    assert np.isnan(free[len(want) :]).all()


def test_roots_in_a_batch_and_their_gradients():
    p = np.array([[1.0, -3.0, 2.0], [0.0, 1.0, -4.0]])
    found = fg.vmap(lambda v: fnp.roots(v, strip_zeros=False))(p)
    np.testing.assert_allclose(np.sort(np.asarray(found[0]).real), [1, 2])
    np.testing.assert_allclose(np.asarray(found[1])[0], 4)
    # The derivative of a simple root r with respect to the constant coefficient is -1 / p'(r).
    g = fg.grad(lambda c: fnp.max(fnp.roots(fnp.stack([c * 0 + 1, c * 0 - 3, c])).real))(np.float64(2.0))
    np.testing.assert_allclose(g, -1.0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(9,), (9, 2)])
@pytest.mark.parametrize(
    "options", [{}, {"w": True}, {"rcond": 1e-3}, {"full": True}, {"cov": True}, {"cov": "unscaled", "w": True}]
)
def test_polyfit(options, shape, dtype):
    x, y = np.linspace(-1, 2, 9).astype(dtype), R.normal(size=shape).astype(dtype)
    options = options | ({"w": np.linspace(1, 2, 9)} if options.get("w") else {})
    tolerance = {"rtol": 1e-9 if dtype == "float64" else 2e-3, "atol": 1e-9 if dtype == "float64" else 1e-4}
    want = np.polyfit(x, y, 3, **options)
    for got in (fnp.polyfit(x, y, 3, **options), fg.jit(lambda a, b: fnp.polyfit(a, b, 3, **options))(x, y)):
        if not isinstance(want, tuple):
            got, want_ = (got,), (want,)
        else:
            want_ = want
        for g, w in zip(got, want_, strict=True):
            np.testing.assert_allclose(g, w, **tolerance)
        assert got[0].dtype == dtype


def test_polyfit_of_too_few_points_and_its_gradients():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy says that the rank is low
        want = np.polyfit([0.0, 1.0], [1.0, 2.0], 3)
    np.testing.assert_allclose(fnp.polyfit(np.array([0.0, 1.0]), np.array([1.0, 2.0]), 3), want, atol=1e-12)
    x, y = np.linspace(-1, 2, 6), R.normal(size=6)
    check_grads(lambda a, b: fnp.polyfit(a, b, 2), (x, y), order=1)
    check_grads(lambda w: fnp.polyfit(x, y, 2, w=w), (np.linspace(1, 2, 6),), order=1)
    same = fg.vmap(lambda b: fnp.polyfit(x, b, 2))(np.stack([y, 2 * y]))
    np.testing.assert_allclose(same[1], 2 * np.polyfit(x, y, 2))


ARRAYS = [[0, 0, 1, 0, 2, 0], [0, 0], [], [1.5], [0.0, 0.0, 3.0], [[0, 0, 0], [0, 1, 0]], [[0, 0], [0, 0]], [[[0, 1]], [[0, 0]]]]


@pytest.mark.parametrize("trim", ["f", "b", "fb", "BF"])
@pytest.mark.parametrize("x", ARRAYS, ids=str)
def test_trim_zeros(x, trim):
    x = np.array(x)
    for options in ({}, {"axis": -1}):
        want = np.trim_zeros(x, trim, **options)
        got = fnp.trim_zeros(fnp.asarray(x), trim, **options)
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, want)
    assert fnp.trim_zeros([0, 1, 0]).tolist() == [1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fnp.trim_zeros(np.ones(2), "x"), "'f', 'b' or 'fb'"),
        (lambda: fnp.polyfit(np.ones(3), np.ones(2), 1), "a value"),
        (lambda: fnp.polyfit(np.ones(3), np.ones(3), -1), "0 or more"),
        (lambda: fnp.polyfit(np.ones(3), np.ones(3), 1, w=np.ones(2)), "a weight a point"),
        (lambda: fnp.polyfit(np.arange(3.0), np.ones(3), 2, cov=True), "unscaled"),
        (lambda: fnp.roots(np.ones((2, 2))), "a vector"),
        (lambda: fnp.polydiv(np.ones(2), np.ones(0)), "one or more"),
    ],
)
def test_errors(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()
