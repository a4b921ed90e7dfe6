"""Quantiles against NumPy: all methods, weights, NaN, axes of q, long lines, derivatives."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.test_util import check_grads

METHODS = (
    "linear lower higher midpoint nearest inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull "
    "median_unbiased normal_unbiased"
).split()
RNG = np.random.default_rng(0)
X = RNG.normal(size=(7, 4))
NAN = np.where(RNG.uniform(size=(7, 4)) < 0.3, np.nan, X)
Q = np.linspace(0, 1, 29)  # 7 q and 4 q are whole numbers, and halves, among others


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axis", [0, 1, None])
def test_methods(method, axis):
    np.testing.assert_allclose(
        fnp.quantile(X, Q, axis=axis, method=method), np.quantile(X, Q, axis=axis, method=method), rtol=1e-13, atol=1e-15
    )
    np.testing.assert_allclose(
        fnp.nanquantile(NAN, Q, axis=axis, method=method),
        np.nanquantile(NAN, Q, axis=axis, method=method),
        rtol=1e-13,
        atol=1e-15,
    )


@pytest.mark.parametrize("method", METHODS)
def test_compiled_and_batched(method):
    def f(x, q):
        return fnp.quantile(x, q, axis=0, method=method)

    np.testing.assert_allclose(fg.jit(f)(X, Q), f(X, Q), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(fg.vmap(f, in_axes=(1, None))(X[:, :, None], Q)[..., 0], f(X, Q).T, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("q", [0.3, [0.3, 0.9], [[0.1, 0.2, 0.3], [0.4, 0.5, 1.0]]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes_of_q_come_first(q, keepdims):
    got = fnp.quantile(X[None], q, axis=(0, 2), keepdims=keepdims)
    np.testing.assert_allclose(got, np.quantile(X[None], q, axis=(0, 2), keepdims=keepdims))


@pytest.mark.parametrize(
    "axis, weights",
    [(None, RNG.integers(0, 3, (7, 4))), (0, RNG.integers(0, 3, (7, 4))), (1, np.array([0, 2, 0, 1])), (0, np.arange(7.0))],
)
def test_weights(axis, weights):
    q = np.array([0.0, 0.1, 0.5, 0.73, 1.0])
    got = fnp.quantile(X, q, axis=axis, method="inverted_cdf", weights=weights)
    np.testing.assert_array_equal(got, np.quantile(X, q, axis=axis, method="inverted_cdf", weights=weights))
    got = fnp.percentile(X, 100 * q, axis=axis, method="inverted_cdf", weights=weights)
    np.testing.assert_array_equal(got, np.percentile(X, 100 * q, axis=axis, method="inverted_cdf", weights=weights))


def test_weights_of_nan_do_not_count():
    x, w = np.array([3.0, np.nan, 1.0, 2.0]), np.array([1, 100, 1, 1])
    assert (
        fnp.nanquantile(x, 0.5, method="inverted_cdf", weights=w) == np.nanquantile(x, 0.5, method="inverted_cdf", weights=w) == 2
    )
    assert np.isnan(fnp.quantile(x, 0.5, method="inverted_cdf", weights=w))


@pytest.mark.parametrize("dtype, n", [("float16", 5001), ("float32", 2**24 + 3)])
def test_places_in_long_lines_are_exact(dtype, n):
    x = np.zeros(n, dtype)
    x[n // 2 :] = 1
    assert fnp.quantile(x, 0.5) == 1 and fnp.quantile(x, (n // 2 - 1) / (n - 1)) == 0


def test_derivatives():
    for method in ("linear", "hazen", "lower", "midpoint"):
        check_grads(lambda x, method=method: fnp.quantile(x, np.array([0.21, 0.7]), axis=0, method=method), (X,), 2)
    check_grads(lambda q: fnp.quantile(X, q, axis=0), (np.array([0.21, 0.7]),), 1)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: fnp.quantile(X, 1.5), r"got q=1\.5\.\n.*from 0 to 1"),
        (lambda: fnp.percentile(X, [50, 101]), r"from 0 to 100"),
        (lambda: fnp.quantile(X, 0.5, method="best"), r"got method='best'"),
        (lambda: fnp.quantile(X, 0.5, weights=np.ones(7)), r"got weights with method='linear'"),
        (lambda: fnp.quantile(X, 0.5, axis=1, method="inverted_cdf", weights=np.ones(7)), r"got weights of shape \(7,\)"),
        (lambda: fnp.quantile(X, 0.5, method="inverted_cdf", weights=-np.ones((7, 4))), r"got negative weights"),
        (lambda: fnp.quantile(X + 1j, 0.5), r"got complex numbers"),
    ],
)
def test_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("method", ["lower", "higher", "nearest", "inverted_cdf", "closest_observation"])
@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "bool"])
def test_integers_stay_integers_where_an_element_is_chosen(method, dtype):
    x = RNG.integers(0, 100, (6, 5)).astype(dtype)
    for name in ("quantile", "nanquantile"):
        want = getattr(np, name)(x, Q, axis=0, method=method)
        for f in (getattr(fnp, name), fg.jit(getattr(fnp, name), static_argnames=("axis", "method"))):
            got = f(x, Q, axis=0, method=method)
            assert got.dtype == want.dtype == dtype
            np.testing.assert_array_equal(got, want)
    assert fnp.quantile(x, 0.5).dtype == fnp.median(x).dtype == np.float32
    assert np.isnan(fnp.quantile(x[:0], 0.5, method=method))


def test_large_integers_are_not_rounded():
    x = np.array([3, 2**60 + 1, 5, 2**60 + 3])
    assert int(fnp.percentile(x, 70, method="lower")) == np.percentile(x, 70, method="lower") == 2**60 + 1
    weights = np.array([1, 5, 1, 1])
    assert int(fnp.quantile(x, 0.5, method="inverted_cdf", weights=weights)) == 2**60 + 1
