"""minimize against scipy.optimize and against minima that are known."""

import numpy as np
import pytest
import scipy.optimize

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.scipy.optimize import OptimizeResults, minimize

RNG = np.random.default_rng(4)
METHODS = ["BFGS", "L-BFGS"]


def rosenbrock(x):
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def matyas(x):
    return 0.26 * (x[0] ** 2 + x[1] ** 2) - 0.48 * x[0] * x[1]


def eggholder(x):  # JAX's and SciPy's test of a rough landscape
    return -(x[1] + 47) * np.sin(abs(x[1] + x[0] / 2.0 + 47.0)) - x[0] * np.sin(abs(x[0] - x[1] - 47.0))


SCALES = np.diag([1.0, 10.0, 100.0, 1000.0])


def quadratic(x):
    return 0.5 * x @ SCALES @ x - x.sum()


CASES = [
    (rosenbrock, [-1.2, 1.0]),
    (rosenbrock, [0.0] * 8),
    (himmelblau, [1.0, 1.0]),
    (himmelblau, [-3.0, 2.5]),
    (himmelblau, [0.0, 0.0]),
    (matyas, [5.0, -3.0]),
    (quadratic, [5.0] * 4),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("f,x0", CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_against_scipy(f, x0, method):
    x0 = np.array(x0)
    theirs = scipy.optimize.minimize(f, x0, method="BFGS", jac=lambda x: np.asarray(fg.grad(f)(x)))
    ours = minimize(f, x0, method=method)
    assert isinstance(ours, OptimizeResults) and bool(ours.success) and int(ours.status) == 0
    assert ours.x.dtype == np.float64 and ours.status.dtype == np.int64 and not ours.status.weak_type
    np.testing.assert_allclose(np.asarray(ours.x), theirs.x, atol=2e-3)
    np.testing.assert_allclose(float(ours.fun), theirs.fun, atol=1e-6)
    np.testing.assert_allclose(np.asarray(ours.jac), np.asarray(fg.grad(f)(ours.x)), atol=1e-8)
    assert int(ours.nit) <= 2 * theirs.nit + 12 and int(ours.nfev) == int(ours.njev) <= 2 * theirs.nfev + 20
    if method == "BFGS":
        assert np.abs(np.asarray(ours.jac)).max() <= 1e-5 and ours.hess_inv.shape == (x0.size,) * 2
    else:
        assert ours.hess_inv is None


def test_the_inverse_hessian_is_estimated():
    out = minimize(quadratic, np.full(4, 5.0), method="BFGS", options={"gtol": 1e-10})
    np.testing.assert_allclose(np.asarray(out.hess_inv) @ SCALES, np.eye(4), atol=0.05)


@pytest.mark.parametrize("method", METHODS)
def test_jit_vmap_and_arguments(method):
    f = lambda x, a, b: (a - x[0]) ** 2 + b["scale"] * (x[1] - x[0] ** 2) ** 2
    run = lambda x, a: minimize(f, x, (a, {"scale": 20.0}), method=method, tol=1e-7)
    starts, a = RNG.normal(size=(3, 2)), np.array([1.0, 0.5, 2.0])
    batch = fg.jit(fg.vmap(run))(starts, a)
    assert batch.success.tolist() == [True] * 3
    np.testing.assert_allclose(np.asarray(batch.x), np.stack([a, a**2], -1), atol=1e-4)
    for i in range(3):
        one = fg.jit(run)(starts[i], a[i])
        assert int(one.nit) == int(batch.nit[i])  # each example stops by itself
        np.testing.assert_allclose(np.asarray(one.x), np.asarray(batch.x[i]), atol=1e-6)


def test_float32_and_lists_and_integers():
    out = minimize(himmelblau, fnp.array([1.0, 1.0], dtype="float32"), method="BFGS")
    assert out.x.dtype == out.fun.dtype == np.float32 and bool(out.success)
    np.testing.assert_allclose(np.asarray(out.x), [3, 2], atol=1e-4)
    assert minimize(himmelblau, [1, 1], method="bfgs").x.dtype == np.float32


def test_rough_landscapes_and_kinks_go_down():
    out = minimize(eggholder, np.array([100.0, 10.0]), method="BFGS")
    assert float(out.fun) < eggholder(np.array([100.0, 10.0])) - 50
    kink = minimize(lambda x: fnp.abs(x - 0.3).sum(), np.array([2.0, -1.0]), method="BFGS")
    np.testing.assert_allclose(np.asarray(kink.x), 0.3, atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_options(method):
    start = np.array([-1.2, 1.0])
    few = minimize(rosenbrock, start, method=method, options={"maxiter": 3})
    assert not bool(few.success) and int(few.status) == 1 and int(few.nit) == 3
    loose = minimize(rosenbrock, start, method=method, tol=1.0)
    tight = minimize(rosenbrock, start, method=method, tol=1.0, options={"gtol": 1e-6})
    assert int(loose.nit) < int(tight.nit)
    one = minimize(
        rosenbrock, start, method=method, options={"norm": 1, "gtol": 1e-3} | ({} if method == "BFGS" else {"ftol": 0.0})
    )
    assert bool(one.success) and np.abs(np.asarray(one.jac)).sum() <= 1e-3
    name = "line_search_maxiter" if method == "BFGS" else "maxls"
    single = minimize(rosenbrock, start, method=method, options={name: 1, "maxiter": 5})
    assert int(single.nfev) <= 6
    if method == "L-BFGS":
        assert int(minimize(rosenbrock, start, method=method, options={"maxfun": 7}).status) == 1
        short = minimize(rosenbrock, np.zeros(8), method=method, options={"maxcor": 1, "ftol": 0.0})
        np.testing.assert_allclose(np.asarray(short.x), 1, atol=1e-3)
        early = minimize(rosenbrock, start, method=method, options={"ftol": 0.5})
        assert bool(early.success) and np.abs(np.asarray(early.jac)).max() > 1e-5


def test_what_is_not_finite_and_what_does_not_move():
    nan = minimize(lambda x: fnp.log(x).sum(), np.array([-1.0]), method="BFGS")
    assert not bool(nan.success) and int(nan.status) == 3
    barrier = minimize(lambda x: (x - fnp.log(x)).sum(), np.array([5.0, 0.01]), method="BFGS")  # steps beyond 0 give NaN
    np.testing.assert_allclose(np.asarray(barrier.x), 1, atol=1e-4)
    flat = minimize(lambda x: fnp.zeros(()), np.array([1.0]), method="BFGS")
    assert bool(flat.success) and int(flat.nit) == 0 and flat.x.tolist() == [1.0]
    wrong = lambda x: fg.lax.stop_gradient(x).sum() ** 2 + 0 * x.sum() - 1e-3 * (x - fg.lax.stop_gradient(x)).sum()
    assert int(minimize(wrong, np.array([1.0]), method="BFGS").status) == 2
    assert minimize(lambda x: x.sum(), np.zeros(0), method="BFGS").x.shape == (0,)


def test_a_minimum_is_a_differentiable_function_of_its_arguments():
    f = lambda x, a: ((x - a) ** 2).sum() + 0.1 * (x**4).sum()
    best = lambda a: minimize(f, np.zeros(2), (a,), method="BFGS", tol=1e-9).x
    a = np.array([0.5, -1.0])
    x = np.asarray(best(a))
    want = np.diag(2 / (2 + 1.2 * x**2))  # from the equation 2 (x - a) + 0.4 x^3 = 0
    np.testing.assert_allclose(np.asarray(fg.jacfwd(best)(a)), want, atol=1e-5)
    np.testing.assert_allclose(np.asarray(fg.jit(fg.jacrev(best))(a)), want, atol=1e-5)


WRONG = [
    (lambda: minimize(himmelblau, np.ones(2), method="Newton"), "'BFGS', 'L-BFGS'"),
    (lambda: minimize(himmelblau, np.ones(2), method="L-BFGS-B"), "Try: method='L-BFGS'; SciPy's minimize"),
    (lambda: minimize(himmelblau, np.ones(2), method="BFGS", options={"disp": True}), "options disp"),
    (lambda: minimize(himmelblau, np.ones((2, 1)), method="BFGS"), "a vector"),
    (lambda: minimize(lambda x: x, np.ones(2), method="BFGS"), "a real scalar"),
    (lambda: minimize(himmelblau, np.ones(2) * 1j, method="BFGS"), "real numbers"),
    (lambda: minimize(himmelblau, np.ones(2), [1.0], method="BFGS"), "a tuple"),
    (lambda: minimize(3, np.ones(2), method="BFGS"), "a callable"),
]


@pytest.mark.parametrize("call,text", WRONG)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()
