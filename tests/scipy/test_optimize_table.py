"""minimize on standard problems, from loose tolerances to those at which differences of the function are rounding errors."""

import functools

import numpy as np
import pytest
import scipy.optimize

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.scipy.linalg import cholesky, solve_triangular
from funcgrad.scipy.optimize import minimize

RNG = np.random.default_rng(0)
METHODS = ["BFGS", "L-BFGS"]
TOLERANCES = np.array([1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8])

ROWS = RNG.normal(size=(60, 4))
LABELS = np.where(ROWS @ [1.0, -2.0, 0.5, 0.0] + RNG.normal(size=60) > 0, 1.0, -1.0)


def rosenbrock(x):
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def beale(x):
    return (1.5 - x[0] + x[0] * x[1]) ** 2 + (2.25 - x[0] + x[0] * x[1] ** 2) ** 2 + (2.625 - x[0] + x[0] * x[1] ** 3) ** 2


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def booth(x):
    return (x[0] + 2 * x[1] - 7) ** 2 + (2 * x[0] + x[1] - 5) ** 2


def quartic(x):
    return ((x - 1) ** 4).sum() + 0.1 * (x * x).sum()


def cancelling(x):  # its terms are about 1 at the minimum, which is about 1e-5
    return (np.array([0.5, 5.0, 50.0, 500.0], x.dtype) * x * x).sum() - x.sum() + 0.55556


def raised(x):
    return rosenbrock(x) + 1e4


def gaussian_process(count):
    """The negative log likelihood of a Gaussian process at so many places, of the logarithms of its scale, variance and noise."""
    rng = np.random.default_rng(0)
    places = np.sort(rng.uniform(-3, 3, count))
    heights = np.sin(2 * places) + 0.1 * rng.standard_normal(count)

    def likelihood(x):
        at, y = places.astype(x.dtype), heights.astype(x.dtype)
        apart = (at[:, None] - at) / fnp.exp(x[0])
        k = fnp.exp(x[1] - apart * apart / 2) + (fnp.exp(x[2]) + 1e-6) * fnp.eye(count, dtype=x.dtype)
        low = cholesky(k, lower=True)
        a = solve_triangular(low, y, lower=True)
        return a @ a / 2 + fnp.log(fnp.diag(low)).sum()

    return likelihood


def logistic_regression(x):
    return fnp.log1p(fnp.exp(-LABELS.astype(x.dtype) * (ROWS.astype(x.dtype) @ x))).sum() + 0.05 * x @ x


PROBLEMS = [
    (rosenbrock, [-1.2, 1.0]),
    (rosenbrock, [-1.2, 1.0] * 5),
    (beale, [1.0, 1.0]),
    (himmelblau, [0.0, 0.0]),
    (booth, [0.0, 0.0]),
    (quartic, [3.0, -2.0, 0.5]),
    (cancelling, [5.0] * 4),
    (raised, [-1.2, 1.0]),
    (gaussian_process(40), [0.0, 0.0, -1.0]),
    (logistic_regression, [0.0] * 4),
]
NAMES = [f"{f.__name__}{len(x0)}" for f, x0 in PROBLEMS]


def run(f, method, x, tol):
    return minimize(f, x, method=method, tol=tol)


@functools.cache
def scipys(f, x0):
    slopes = fg.jit(fg.grad(f))
    value = fg.jit(f)
    return scipy.optimize.minimize(
        lambda x: float(value(x)), np.array(x0), jac=lambda x: np.asarray(slopes(x)), method="BFGS", options={"gtol": 1e-5}
    )


# In ten dimensions Rosenbrock's function has a second minimum, 3.98657911, and which is found is the method's affair.
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("f,x0", PROBLEMS, ids=NAMES)
def test_float64_reaches_each_tolerance(f, x0, method):
    theirs, start = scipys(f, tuple(x0)), np.array(x0)
    value, slopes = fg.jit(f), fg.jit(fg.grad(f))
    jitted = fg.jit(functools.partial(run, f, method))
    many = fg.jit(fg.vmap(functools.partial(run, f, method), (None, 0)))(start, TOLERANCES)
    assert many.success.tolist() == [True] * 6 and many.status.tolist() == [0] * 6
    for i, tol in enumerate(TOLERANCES):
        alone = [jitted(start, tol), *([run(f, method, start, tol)] if tol in (1e-5, 1e-8) else [])]
        for out in alone:
            assert bool(out.success) and abs(int(out.nit) - int(many.nit[i])) <= 2
        for x in [many.x[i], *[out.x for out in alone]]:
            # The gradient of the same point differs by rounding errors from program to program.
            assert np.abs(np.asarray(slopes(x))).max() <= tol + 2e-9
            best = min([0, theirs.fun] if start.size == 10 else [theirs.fun], key=lambda b, x=x: abs(float(value(x)) - b))
            np.testing.assert_allclose(float(value(x)), best, rtol=1e-9, atol=1e-4 if tol > 1e-5 else 1e-8)
    if method == "BFGS":
        assert int(many.nit[2]) <= theirs.nit + 8 and int(many.nfev[2]) <= theirs.nfev + 12
        assert int(many.nfev[-1]) <= theirs.nfev + 18  # three digits more cost few steps


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("f,x0", PROBLEMS, ids=NAMES)
def test_float32_reaches_what_it_can_and_stops(f, x0, method):
    start, tolerances = np.array(x0, np.float32), TOLERANCES.astype(np.float32)
    many = fg.jit(fg.vmap(functools.partial(run, f, method), (None, 0)))(start, tolerances)
    eager = run(f, method, start, tolerances[-1])
    assert many.x.dtype == many.fun.dtype == many.jac.dtype == np.float32
    assert bool(many.success[0])
    x, jac, success, status, nit, nfev = [
        np.concatenate([np.asarray(getattr(many, k)), np.asarray(getattr(eager, k))[None]])
        for k in ["x", "jac", "success", "status", "nit", "nfev"]
    ]
    np.testing.assert_array_equal(success, np.abs(jac).max(1) <= np.append(tolerances, tolerances[-1]))
    np.testing.assert_array_equal(status, np.where(success, 0, 2))
    assert np.abs(jac).max() <= 2e-3 and nit.max() <= 160 and nfev.max() <= 900
    value = fg.jit(f)
    best = [0, 3.98657911] if start.size == 10 else [float(run(f, method, np.array(x0), 1e-8).fun)]
    for row in x.astype(np.float64):
        assert min(abs(float(value(row)) - b) for b in best) <= 1e-5 * max(1, abs(best[-1]))


@pytest.mark.parametrize("method", METHODS)
def test_values_that_err_by_a_hundred_times_eps(method):
    f = gaussian_process(100)
    starts = np.array([0.0, 0.0, -1.0]) + np.random.default_rng(1).normal(size=(16, 3)) / 2
    out = fg.jit(fg.vmap(lambda x: run(f, method, x, 1e-7)))(starts)
    assert out.status.tolist() == [0] * 16 and out.nfev.max() <= 30


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_dtypes(dtype):
    out = minimize(quartic, fnp.array([3.0, -2.0, 0.5], dtype), method="BFGS", tol=0.05)
    assert bool(out.success) and out.x.dtype == np.dtype(fnp.dtype(dtype))
    np.testing.assert_allclose(
        np.asarray(out.x, np.float64), np.asarray(minimize(quartic, np.zeros(3), method="BFGS").x), atol=0.1
    )


@pytest.mark.parametrize("method", METHODS)
def test_rough_landscapes_only_go_down(method):
    rastrigin = lambda x: (x * x - 10 * fnp.cos(2 * np.pi * x)).sum()
    starts = RNG.uniform(-5, 5, (50, 2)).astype(np.float32)
    for height in [0.0, 1000.0]:
        f = fg.jit(fg.vmap(lambda x, height=height: rastrigin(x) + height))
        out = fg.jit(fg.vmap(lambda x, f=f: minimize(lambda x: f(x[None])[0], x, method=method, tol=1e-2)))(starts)
        before, after = [np.asarray(f(np.asarray(x, np.float64))) for x in (starts, out.x)]
        assert (after <= before + 1e-3).all()


def test_a_small_decrease_is_enough_only_where_no_gradient_is_asked_for():
    start = np.array([-1.2, 1.0])
    slope = lambda **how: float(np.abs(np.asarray(minimize(rosenbrock, start, method="L-BFGS", **how).jac)).max())
    assert slope(tol=1e-10) <= 1e-10 < slope(tol=1e-10, options={"ftol": 1e-6})
    assert slope(options={"gtol": 1e-10}) > 1e-10
