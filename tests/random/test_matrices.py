"""multivariate_normal, orthogonal, and the initializers made of it: known numbers, moments, and what makes a matrix orthogonal."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import nn, random

COV = np.array([[2.0, 0.6], [0.6, 1.0]], "float32")
MEAN = np.array([1.0, -1.0], "float32")


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_moments(method):
    x = np.asarray(random.multivariate_normal(random.key(0), MEAN, COV, (20000,), method=method))
    assert x.shape == (20000, 2) and x.dtype == np.float32
    np.testing.assert_allclose(x.mean(0), MEAN, atol=0.05)
    np.testing.assert_allclose(np.cov(x.T), COV, atol=0.08)


def test_shapes_and_gradients():
    means = np.zeros((3, 1, 2))
    covs = np.broadcast_to(np.eye(2), (4, 2, 2))
    assert random.multivariate_normal(random.key(0), means, covs).shape == (3, 4, 2)
    f = fg.jit(lambda mean, cov: random.multivariate_normal(random.key(0), mean, cov).sum())
    np.testing.assert_allclose(fg.grad(f)(MEAN, COV), [1, 1])
    with pytest.raises(ValueError, match="(?s)multivariate_normal: got method='x'.*'eigh'"):
        random.multivariate_normal(random.key(0), MEAN, COV, method="x")
    with pytest.raises(ValueError, match="vectors of n"):
        random.multivariate_normal(random.key(0), MEAN, np.eye(3))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_orthogonal(dtype):
    for n, m, shape in ((3, None, ()), (4, 2, (2,)), (2, 4, ())):
        q = np.asarray(random.orthogonal(random.key(1), n, shape, dtype, m))
        m = n if m is None else m
        assert q.shape == (*shape, n, m) and q.dtype == dtype
        h = np.conj(np.swapaxes(q, -1, -2))
        product = h @ q if n >= m else q @ h
        np.testing.assert_allclose(product, np.broadcast_to(np.eye(min(n, m)), product.shape), atol=1e-5)


def test_initializers():
    w = np.asarray(nn.initializers.orthogonal(2.0)(random.key(0), (3, 2, 4)))
    flat = w.reshape(6, 4)
    np.testing.assert_allclose(flat.T @ flat, 4 * np.eye(4), atol=1e-5)
    assert nn.initializers.orthogonal(column_axis=0)(random.key(0), (4, 3)).shape == (4, 3)
    k = np.asarray(nn.initializers.delta_orthogonal()(random.key(0), (3, 3, 2, 4)))
    np.testing.assert_allclose(k[1, 1] @ k[1, 1].T, np.eye(2), atol=1e-5)
    assert (np.delete(k.reshape(9, 2, 4), 4, 0) == 0).all()
    with pytest.raises(ValueError, match="delta_orthogonal: got shape"):
        nn.initializers.delta_orthogonal()(random.key(0), (3, 4, 2))
