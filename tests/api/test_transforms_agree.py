"""The transforms in all orders of nesting agree with each other and with finite differences, in float64, to 1e-6."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

RNG = np.random.default_rng(0)
W = RNG.normal(size=(4, 3))


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum() * 0.01


def network(x):
    return fg.nn.logsumexp(fnp.tanh(x @ W) * 2)


def mixture(x):
    return (fnp.exp(-x * x) * fnp.sin(3 * x)).sum() + fnp.prod(x) + fnp.max(x) * x[0]


FUNCTIONS = [rosenbrock, network, mixture]
X = RNG.normal(size=4)
XS = RNG.normal(size=(6, 4))


def differences(f, x, step=1e-5):
    """Central differences along each axis, of a function to arrays of any shape: [..., 4]."""
    ahead = [np.asarray(f(x + step * e)) for e in np.eye(4)]
    behind = [np.asarray(f(x - step * e)) for e in np.eye(4)]
    return np.stack([(a - b) / (2 * step) for a, b in zip(ahead, behind)], axis=-1)


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_gradients(f):
    want = differences(f, X)
    ways = {
        "grad(f)": fg.grad(f),
        "jit(grad(f))": fg.jit(fg.grad(f)),
        "grad(jit(f))": fg.grad(fg.jit(f)),
        "jit(grad(jit(f)))": fg.jit(fg.grad(fg.jit(f))),
        "jacfwd(f)": fg.jacfwd(f),
        "jacrev(jit(f))": fg.jacrev(fg.jit(f)),
        "value_and_grad(f)[1]": lambda x: fg.value_and_grad(f)(x)[1],
        "vjp(f)": lambda x: fg.vjp(f, x)[1](1.0)[0],
        "linearize(f)": lambda x: np.stack([fg.linearize(f, x)[1](e) for e in np.eye(4)]),
        "jvp(jit(f))": lambda x: np.stack([fg.jvp(fg.jit(f), (x,), (e,))[1] for e in np.eye(4)]),
    }
    exact = np.asarray(ways["grad(f)"](X))
    for name, way in ways.items():
        got = np.asarray(way(X))
        assert got.dtype == np.float64, name
        close(got, want)
        np.testing.assert_allclose(got, exact, rtol=1e-10, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_gradients_of_a_batch(f):
    want = np.stack([differences(f, x) for x in XS])
    ways = {
        "jit(vmap(grad(f)))": fg.jit(fg.vmap(fg.grad(f))),
        "vmap(jit(grad(f)))": fg.vmap(fg.jit(fg.grad(f))),
        "vmap(grad(jit(f)))": fg.vmap(fg.grad(fg.jit(f))),
        "grad(sum(vmap(f)))": fg.grad(lambda xs: fg.vmap(f)(xs).sum()),
        "jit(grad(sum(vmap(jit(f)))))": fg.jit(fg.grad(lambda xs: fg.vmap(fg.jit(f))(xs).sum())),
        "a loop": lambda xs: np.stack([fg.grad(f)(x) for x in xs]),
    }
    for name, way in ways.items():
        got = np.asarray(way(XS))
        close(got, want)
        np.testing.assert_allclose(got, ways["a loop"](XS), rtol=1e-10, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_hessians(f):
    want = differences(fg.grad(f), X)
    ways = {
        "hessian(f)": fg.hessian(f),
        "jit(hessian(f))": fg.jit(fg.hessian(f)),
        "hessian(jit(f))": fg.hessian(fg.jit(f)),
        "jacfwd(grad(f))": fg.jacfwd(fg.grad(f)),
        "jacrev(jit(grad(f)))": fg.jacrev(fg.jit(fg.grad(f))),
        "jacrev(jacfwd(f))": fg.jacrev(fg.jacfwd(f)),
        "jacfwd(jacfwd(f))": fg.jacfwd(fg.jacfwd(f)),
        "rows of grad(grad(f) . e)": lambda x: np.stack([fg.grad(lambda x, e: fg.grad(f)(x) @ e)(x, e) for e in np.eye(4)]),
    }
    exact = np.asarray(ways["hessian(f)"](X))
    np.testing.assert_allclose(exact, exact.T, rtol=1e-12, atol=1e-12)
    for name, way in ways.items():
        got = np.asarray(way(X))
        close(got, want)
        np.testing.assert_allclose(got, exact, rtol=1e-10, atol=1e-12, err_msg=name)


def test_hessians_of_a_batch():
    want = np.stack([fg.hessian(mixture)(x) for x in XS])
    for way in (fg.vmap(fg.hessian(mixture)), fg.jit(fg.vmap(fg.hessian(mixture))), fg.vmap(fg.jit(fg.hessian(mixture)))):
        np.testing.assert_allclose(way(XS), want, rtol=1e-10, atol=1e-12)


def test_third_derivative_of_a_scalar_function():
    third = fg.grad(fg.jit(fg.grad(fg.grad(lambda x: fnp.sin(2 * x)))))
    assert float(third(0.3)) == pytest.approx(-8 * np.cos(0.6), rel=1e-6)
    assert float(fg.jit(third)(np.float64(0.3))) == pytest.approx(-8 * np.cos(0.6), rel=1e-12)


@pytest.mark.parametrize(
    ("outer", "inner"),
    [(fg.grad, fg.grad), (fg.grad, lambda f: fg.jit(fg.grad(f))), (lambda f: fg.jit(fg.grad(f)), fg.grad)],
    ids=["eager", "jit inside", "jit outside"],
)
def test_no_perturbation_confusion(outer, inner):
    assert float(outer(lambda x: x * inner(lambda y: x + y)(np.float64(1.0)))(np.float64(1.0))) == 1.0
