"""jacfwd, jacrev, hessian against known matrices."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp


@pytest.mark.parametrize("jac", [fg.jacfwd, fg.jacrev])
def test_jacobian_of_a_linear_map(jac):
    a = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(jac(lambda x: a @ x)(np.ones(3)), a)
    j = jac(lambda x, y: {"s": x * y, "k": y}, argnums=(0, 1))(np.arange(2.0), np.ones(2))
    np.testing.assert_allclose(j["s"][0], np.eye(2))
    np.testing.assert_allclose(j["s"][1], np.diag([0.0, 1.0]))
    np.testing.assert_allclose(j["k"][0], np.zeros((2, 2)))
    assert j["s"][0].shape == (2, 2)


@pytest.mark.parametrize("jac", [fg.jacfwd, fg.jacrev])
def test_pytrees_and_aux(jac):
    f = lambda p: (p["m"].sum(axis=0) * p["s"], p["s"])
    j, aux = jac(f, has_aux=True)({"m": np.arange(6.0).reshape(2, 3), "s": 2.0})
    assert j["m"].shape == (3, 2, 3) and j["s"].shape == (3,)
    assert float(aux) == 2.0
    np.testing.assert_allclose(j["s"], [3, 5, 7])


def test_hessian():
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    np.testing.assert_allclose(fg.hessian(lambda x: 0.5 * x @ a @ x)(np.array([1.0, -1.0])), a)
    h = fg.hessian(lambda p: p["x"] * p["y"] ** 2)({"x": 2.0, "y": 3.0})
    assert float(h["x"]["y"]) == 6.0 and float(h["y"]["y"]) == 4.0 and float(h["x"]["x"]) == 0.0
    x = np.linspace(0.1, 1, 4)
    np.testing.assert_allclose(fg.jit(fg.hessian(lambda x: fnp.sum(fnp.sin(x) * x)))(x), np.diag(2 * np.cos(x) - x * np.sin(x)))


def test_holomorphic():
    z = np.array([1 + 1j, 2 - 1j])
    for jac in (fg.jacfwd, fg.jacrev):
        np.testing.assert_allclose(jac(lambda z: z**2, holomorphic=True)(z), np.diag(2 * z))
        with pytest.raises(TypeError, match="complex"):
            jac(lambda x: x, holomorphic=True)(1.0)
