"""custom_root and custom_linear_solve: the derivatives are those of the equation."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(7)
A, B = RNG.normal(size=(4, 4)) + 4 * np.eye(4), RNG.normal(size=4)


def by_stops(mv_matrix):
    """A method whose own derivative would be wrong: it hides its matrix from them."""
    return lambda matvec, b: fnp.linalg.solve(lax.stop_gradient(mv_matrix), b)


def solution(a, b):
    return lax.custom_linear_solve(
        lambda x: a @ x, b, by_stops(a), lambda vecmat, ct: fnp.linalg.solve(lax.stop_gradient(a).T, ct)
    )


def jacobi(matvec, b):
    """By iteration, in a while loop."""
    diagonal = fnp.diag(fg.jacobian(matvec)(b))
    step = lambda s: (s[0] + (b - matvec(s[0])) / diagonal, s[1] + 1)
    return lax.while_loop(lambda s: (fnp.abs(b - matvec(s[0])).max() > 1e-13) & (s[1] < 500), step, (fnp.zeros_like(b), 0))[0]


def test_linear_solve_has_the_derivatives_of_the_equation():
    for f in (solution, fg.jit(solution)):
        np.testing.assert_allclose(f(A, B), np.linalg.solve(A, B), rtol=1e-12)
        check_grads(f, (A, B), order=2, atol=1e-6, rtol=1e-6)
    want = fg.jacobian(fnp.linalg.solve, (0, 1))(A, B)
    got = fg.jacobian(solution, (0, 1))(A, B)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-10, atol=1e-12)


def test_iterative_methods_are_never_differentiated():
    dominant = A + 6 * np.eye(4)
    f = lambda a, b: lax.custom_linear_solve(lambda x: a @ x, b, jacobi, jacobi)
    for g in (f, fg.jit(f)):
        np.testing.assert_allclose(g(dominant, B), np.linalg.solve(dominant, B), rtol=1e-10)
    got = fg.jit(fg.jacrev(f, (0, 1)))(dominant, B)
    want = fg.jacobian(fnp.linalg.solve, (0, 1))(dominant, B)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-8, atol=1e-11)


def test_symmetric_systems_and_pytrees():
    spd = A @ A.T + np.eye(4)

    def f(m, b):
        matvec = lambda x: {"u": m[:2, :2] @ x["u"] + m[:2, 2:] @ x["v"], "v": m[2:, :2] @ x["u"] + m[2:, 2:] @ x["v"]}
        whole = lambda x: fnp.concatenate([x["u"], x["v"]])

        def solve(matvec, b):
            x = fnp.linalg.solve(lax.stop_gradient(m), whole(b))
            return {"u": x[:2], "v": x[2:]}, fnp.sum(x)

        x, aux = lax.custom_linear_solve(matvec, {"u": b[:2], "v": b[2:]}, solve, symmetric=True, has_aux=True)
        return whole(x) + 0 * aux

    np.testing.assert_allclose(f(spd, B), np.linalg.solve(spd, B), rtol=1e-12)
    symmetrised = lambda m, b: f((m + m.T) / 2, b)
    check_grads(symmetrised, (spd, B), order=2, atol=1e-6, rtol=1e-6)


def test_linear_solve_under_vmap():
    many_a, many_b = np.stack([A, A + np.eye(4)]), RNG.normal(size=(2, 4))
    want = np.stack([np.linalg.solve(a, b) for a, b in zip(many_a, many_b, strict=True)])
    for f in (fg.vmap(solution), fg.jit(fg.vmap(solution))):
        np.testing.assert_allclose(f(many_a, many_b), want, rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(solution, (None, 0))(A, many_b), np.linalg.solve(A, many_b[..., None])[..., 0], rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(solution, (0, None))(many_a, B), [np.linalg.solve(a, B) for a in many_a], rtol=1e-12)
    loss = lambda a, b: (solution(a, b) ** 2).sum()
    per_example = fg.jit(fg.vmap(fg.grad(loss, (0, 1))))(many_a, many_b)
    for i in range(2):
        for got, want in zip(per_example, fg.grad(loss, (0, 1))(many_a[i], many_b[i]), strict=True):
            np.testing.assert_allclose(got[i], want, rtol=1e-10, atol=1e-12)


def test_linear_solve_says_what_is_wrong():
    with pytest.raises(ValueError, match="transpose_solve="):
        fg.grad(lambda b: lax.custom_linear_solve(lambda x: A @ x, b, by_stops(A)).sum())(B)
    fg.jvp(lambda b: lax.custom_linear_solve(lambda x: A @ x, b, by_stops(A)), (B,), (B,))
    with pytest.raises(TypeError, match="returned f64"):
        lax.custom_linear_solve(lambda x: (A @ x)[:2], B, by_stops(A))
    with pytest.raises(TypeError, match="structure"):
        lax.custom_linear_solve(lambda x: (A @ x, x), B, by_stops(A))
    with pytest.raises(ValueError, match="pair"):
        lax.custom_linear_solve(lambda x: A @ x, B, by_stops(A), has_aux=True)


def newton(f, x):
    return lax.fori_loop(0, 30, lambda _, x: x - f(x) / fg.grad(f)(x), x)


def cube_root(a):
    return lax.custom_root(lambda x: x**3 - a, np.float64(1.0), newton, lambda g, y: y / g(1.0))


def test_roots_of_a_scalar():
    for f in (cube_root, fg.jit(cube_root)):
        np.testing.assert_allclose(f(27.0), 3.0, rtol=1e-12)
        np.testing.assert_allclose(fg.grad(f)(np.float64(27.0)), 1 / 27, rtol=1e-12)
        np.testing.assert_allclose(fg.grad(fg.grad(f))(np.float64(27.0)), -2 / 9 * 27 ** (-5 / 3), rtol=1e-10)
        np.testing.assert_allclose(fg.vmap(f)(np.array([1.0, 8.0, 27.0])), [1, 2, 3], rtol=1e-12)
        check_grads(f, (np.float64(5.0),), order=3)
    np.testing.assert_allclose(fg.vmap(fg.grad(cube_root))(np.array([1.0, 8.0])), [1 / 3, 1 / 12], rtol=1e-12)


def test_roots_of_a_vector_with_aux():
    def solve(f, x):
        def step(s):
            x, n = s
            return x - fnp.linalg.solve(fg.jacobian(f)(x), f(x)), n + 1

        return lax.while_loop(lambda s: (fnp.abs(f(s[0])).max() > 1e-13) & (s[1] < 50), step, (x, 0))

    tangent = lambda g, y: fnp.linalg.solve(fg.jacobian(g)(y), y)

    def f(p):
        x, steps = lax.custom_root(lambda x: p["a"] @ x + 0.1 * x**3 - p["b"], fnp.zeros(4, "float64"), solve, tangent, True)
        return x + 0 * steps

    p = {"a": A, "b": B}
    x = np.asarray(f(p))
    np.testing.assert_allclose(A @ x + 0.1 * x**3, B, atol=1e-12)
    for g in (f, fg.jit(f)):
        check_grads(g, (p,), order=2, atol=1e-5, rtol=1e-5)


def test_the_guess_and_what_solve_closes_over_have_no_derivative():
    f = lambda a, x0, k: lax.custom_root(lambda x: x**3 - a, x0, lambda f, x: newton(f, x) + 0 * k, lambda g, y: y / g(1.0))
    da, dx, dk = fg.grad(f, (0, 1, 2))(np.float64(8.0), np.float64(1.0), np.float64(2.0))
    np.testing.assert_allclose([da, dx, dk], [1 / 12, 0, 0], atol=1e-12)


def test_root_says_what_is_wrong():
    with pytest.raises(TypeError, match="structure"):
        lax.custom_root(lambda x: (x, x), 1.0, newton, lambda g, y: y)
    with pytest.raises(TypeError, match="returned"):
        lax.custom_root(lambda x: x, 1.0, lambda f, x: fnp.zeros(3), lambda g, y: y)


def test_a_part_of_the_right_hand_side_that_does_not_move():
    """The first unknown depends on all of the right-hand side; the second part of that is a constant."""
    a = np.array([[2.0, 1.0], [1.0, 3.0]])

    def solve(matvec, b):
        x = fnp.linalg.solve(a, fnp.stack(b))
        return x[0], x[1]

    def first(b):
        product = lambda v: (2 * v[0] + v[1], v[0] + 3 * v[1])
        return lax.custom_linear_solve(product, (b, lax.stop_gradient(b * b)), solve, symmetric=True)[0]

    assert abs(float(fg.grad(first)(np.float64(5.0))) - 0.6) < 1e-12
    assert abs(float(fg.jit(fg.grad(first))(np.float64(5.0))) - 0.6) < 1e-12
