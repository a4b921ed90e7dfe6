"""Programs of thousands of equations: no recursion is as deep as they are long, and no kernel is too heavy to compile."""

import warnings

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X = np.linspace(0.1, 0.9, 7, dtype=np.float32)
STEPS = {
    "one operator": lambda x, k: fnp.sin(x),
    "arithmetic": lambda x, k: x * np.float32(0.5) + np.float32(0.25),
    "two readers": lambda x, k: x * x + np.float32(0.3),
    "rows and folds": lambda x, k: x - x.mean(),
    "views": lambda x, k: (x[::-1] * np.float32(0.99)).reshape(1, 7)[0],
}


@pytest.mark.parametrize("name", STEPS)
def test_five_thousand_chained_operators(name):
    step = STEPS[name]

    def chain(x):
        for k in range(5000 if name in ("one operator", "arithmetic") else 1000):
            x = step(x, k)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a program that falls back to NumPy warns
        got = fg.jit(chain)(X)
    np.testing.assert_allclose(got, chain(fnp.asarray(X)), rtol=1e-4, atol=1e-6)


def test_the_gradient_of_a_thousand_chained_operators():
    def loss(x):
        for _ in range(1000):
            x = fnp.sin(x) * np.float32(1.0005)
        return x.sum()

    got = fg.jit(fg.grad(loss))(X)
    np.testing.assert_allclose(got, fg.grad(loss)(X), rtol=1e-3)
