"""funcgrad.scipy.stats: every function of every distribution against SciPy, and against mpmath where SciPy underflows."""

import importlib
import warnings

import mpmath
import numpy as np
import pytest
from scipy import stats as truth

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.scipy import stats
from funcgrad.test_util import check_grads

INF = np.inf
X = np.array([-800, -40, -3, -1, -0.3, 0, 0.2, 0.5, 0.7, 1, 1.5, 2, 3, 7, 50, 800, -INF, INF, np.nan])
COUNTS = np.array([-2, -1, 0, 1, 2, 3, 5, 9, 10, 11, 40, 2.5, INF, -INF, np.nan])
CHANCES = np.array([-0.1, 0, 1e-30, 1e-10, 0.1, 0.3, 0.5, 0.9, 1 - 1e-7, 1, 1.1, np.nan])
PLACES = [(), (1.5, 2.0), (-0.5, 0.3), (0, -1), (0, 0)]


def placed(*parameters):
    return [(*parameters, *p) for p in PLACES]


# The parameters at which each distribution is compared: inside, at the edges of what is allowed, and outside.
PARAMETERS = {
    "bernoulli": [(0.3,), (0,), (1,), (-0.1,), (1.1,)],
    "beta": [*placed(2.0, 3.0), (1, 1), (0.3, 0.4), (1, 3), (200, 300), (-1, 2)],
    "betabinom": [(10, 2.0, 3.0), (10, 2, 3, 1), (-1, 2, 3), (10, -2, 3)],
    "binom": [(10, 0.3), (10, 0), (10, 1), (10, 0.3, 1), (0, 0.5), (-1, 0.5), (2.5, 0.5), (10, 1.1)],
    "cauchy": PLACES,
    "chi2": [*placed(2.5), (2,), (0.3,), (-1,)],
    "expon": PLACES,
    "gamma": [*placed(2.5), (1,), (0.3,), (-1,), (40,), (1000.0,)],
    "gennorm": [(1.5,), (0.3,), (2,), (-1,)],
    "geom": [(0.3,), (1,), (0.3, 2), (0,), (1.1,)],
    "gumbel_l": PLACES,
    "gumbel_r": PLACES,
    "laplace": PLACES,
    "logistic": PLACES,
    "nbinom": [(2.5, 0.3), (3, 1), (2.5, 0.3, 1), (-1, 0.5), (2, 0), (2, 1.1)],
    "norm": PLACES,
    "pareto": [*placed(2.5), (0.3,), (-1,)],
    "poisson": [(2.5,), (0,), (40,), (2.5, 1), (-1,)],
    "t": [*placed(3.0), (0.2,), (80,), (1e8,), (INF,), (-1,)],
    "truncnorm": [*placed(-1, 2.0), (2, 5), (-9, -8), (-INF, -2), (1, INF), (30, 31), (2, 1)],
    "uniform": PLACES,
    "vonmises": [(1.5,), (0,), (100.0,), (1e4,), (-1,)],
    "wrapcauchy": [(0.5,), (0.01,), (0.999,), (1.5,), (-0.5,)],
}
DISCRETE = {"bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"}
FUNCTIONS = [(d, f) for d in PARAMETERS for f in getattr(stats, d).__all__ if f != "entropy"]


def points(dist, name):
    return CHANCES if name in ("ppf", "isf") else COUNTS if dist in DISCRETE else X


def wanted(dist, name, x, parameters):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return getattr(getattr(truth, dist), name)(x, *parameters)


def compare(got, want, x, dtype, what):
    """SciPy gives NaN for some densities at infinity, which are 0, and -inf where a probability underflows (see TAILS)."""
    got = np.asarray(got)
    assert got.dtype == dtype and got.shape == np.shape(want), what
    far = np.isinf(x) & np.isnan(want)
    known = ~far | np.isnan(got)
    assert np.isin(got[~known], [0, -INF]).all(), what
    far |= (want == -INF) & (got < -30) & np.isfinite(x)
    rtol, atol = (1e-10, 1e-300) if dtype == "float64" else (3e-4, 1e-6)
    with np.errstate(over="ignore"):
        want = want.astype(dtype)
    np.testing.assert_allclose(got[~far], want[~far], rtol, atol, err_msg=str(what))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dist,name", FUNCTIONS)
def test_values(dist, name, dtype):
    f = getattr(getattr(stats, dist), name)
    x = points(dist, name)
    x = x if dtype == "float64" or name not in ("ppf", "isf") else x.astype(dtype)[np.abs(x - 1) > 1e-3]
    for parameters in PARAMETERS[dist]:
        if dtype == "float32" and parameters in ((1e8,), (1e4,), (200, 300), (0.999,), (1000.0,), (40,), (30, 31), (-9, -8)):
            continue  # as far as float32 reaches
        want = wanted(dist, name, x, parameters)
        compare(f(x.astype(dtype), *parameters), want, x, dtype, (dist, name, parameters))
        arrays = [np.full(1, p, dtype) for p in parameters]
        compare(f(x.astype(dtype), *arrays), want, x, dtype, (dist, name, parameters, "arrays"))


@pytest.mark.parametrize("dist", PARAMETERS)
def test_compiled(dist):
    names = [f for d, f in FUNCTIONS if d == dist and f not in ("pdf", "pmf", "sf", "isf")]  # which are made of the others
    parameters = [np.float64(p) for p in PARAMETERS[dist][0]]
    some = [np.array([v for v in points(dist, f) if np.isfinite(v)]) for f in names]
    run = lambda some, ps: [getattr(getattr(stats, dist), f)(x, *ps) for f, x in zip(names, some)]  # noqa: E731
    for f, got, x in zip(names, fg.jit(run)(some, parameters), some):
        compare(got, wanted(dist, f, x, parameters), x, "float64", (dist, f))


@pytest.mark.parametrize("dist,name", FUNCTIONS)
def test_shapes_and_dtypes(dist, name):
    f, parameters = getattr(getattr(stats, dist), name), PARAMETERS[dist][0]
    n = len(parameters)
    column = [np.full((3, 1), p) for p in parameters]
    assert f(np.full(4, 0.5), *column).shape == ((3, 4) if n else (4,))
    assert f(0.5, *parameters).shape == () and f(np.zeros((0, 2)), *parameters).shape == (0, 2)
    assert f(np.array([0, 1]), *parameters).dtype == np.float32
    assert f(np.ones(2, np.float16), *parameters).dtype == np.float16
    assert f(fnp.ones(2), *[np.float64(p) for p in parameters]).dtype == (np.float64 if n else np.float32)
    x = np.linspace(0.1, 0.9, 6).reshape(2, 3)
    np.testing.assert_allclose(fg.vmap(lambda x: f(x, *parameters))(x), f(x, *parameters), rtol=1e-12)
    with pytest.raises(TypeError, match=rf"stats\.{dist}\.\w+: got complex"):
        f(np.ones(2, complex), *parameters)
    with pytest.raises(TypeError, match="asarray"):
        f([0.5], *parameters)


INSIDE = {
    "bernoulli": (np.array([0, 1]), (0.3,)),
    "beta": (np.array([0.2, 0.6]), (2.0, 3.0, 0.1, 1.5)),
    "betabinom": (np.array([0, 4]), (10, 2.0, 3.0)),
    "binom": (np.array([0, 4, 10]), (10, 0.3)),
    "chi2": (np.array([0.5, 4.0]), (2.5, 0.1, 1.5)),
    "gamma": (np.array([0.5, 4.0]), (2.5, 0.1, 1.5)),
    "gennorm": (np.array([-0.5, 1.5]), (1.5,)),
    "geom": (np.array([1, 4]), (0.3,)),
    "nbinom": (np.array([0, 4]), (2.5, 0.3)),
    "pareto": (np.array([2.5, 4.0]), (2.5, 0.1, 1.5)),
    "poisson": (np.array([0, 4]), (2.5,)),
    "t": (np.array([-0.5, 2.0]), (3.5, 0.1, 1.5)),
    "truncnorm": (np.array([-0.5, 1.2]), (-1.0, 2.0, 0.1, 1.5)),
    "vonmises": (np.array([-0.5, 2.0]), (1.5,)),
    "wrapcauchy": (np.array([0.5, 2.0]), (0.5,)),
}


@pytest.mark.parametrize("dist,name", FUNCTIONS)
def test_gradients(dist, name):
    f = getattr(getattr(stats, dist), name)
    x, parameters = INSIDE.get(dist, (np.array([0.4, 1.2]), (0.1, 1.5)))
    if name in ("ppf", "isf"):
        x = np.array([0.2, 0.6])
    parameters = [p for p in parameters if isinstance(p, float)]
    whole = [p for p in INSIDE.get(dist, ((), ()))[1] if isinstance(p, int)]
    if dist in DISCRETE:
        g, moving = lambda *ps: f(x, *whole, *ps), parameters
    else:
        g, moving = f, [x, *parameters]
    check_grads(
        g, [np.asarray(v, float) for v in moving], order=2 if name in ("logpdf", "logpmf", "cdf") else 1, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("dist,name", FUNCTIONS)
def test_no_gradient_is_nan(dist, name):
    """Also at the edges of the support and outside it, where densities have gradients of exactly 0."""
    f, parameters = getattr(getattr(stats, dist), name), [np.float64(p) for p in PARAMETERS[dist][0]]
    x = points(dist, name)
    x = x[np.isfinite(x) & (np.abs(x) < 100)]
    if name in ("ppf", "isf"):
        x = x[(x > 0) & (x < 1)]
    ways = range(1, len(parameters) + 1) if dist in DISCRETE else range(len(parameters) + 1)
    for i in ways:
        g = np.asarray(fg.vmap(lambda x, i=i: fg.grad(f, i)(x, *parameters))(x))
        value = np.asarray(f(x, *parameters))
        assert not np.isnan(g).any(), (i, x[np.isnan(g)])
        if name in ("pdf", "pmf", "logpdf", "logpmf"):
            outside = value == (-INF if name.startswith("log") else 0)
            inner = outside & (x != 0) & (x != 1)  # at an edge the slope may be infinite
            assert (g[inner] == 0).all()


def test_modules_are_modules():
    for dist in [*PARAMETERS, "dirichlet", "multinomial", "multivariate_normal"]:
        assert importlib.import_module(f"funcgrad.scipy.stats.{dist}") is getattr(stats, dist)


# --- where SciPy has no number ---------------------------------------------------------------------------------------------


def lower_gamma(a, x):
    return mpmath.log(mpmath.gammainc(a, 0, x, regularized=True))


def upper_gamma(a, x):
    return mpmath.log(mpmath.gammainc(a, x, mpmath.inf, regularized=True))


def lower_beta(a, b, x):
    return mpmath.log(mpmath.betainc(a, b, 0, x, regularized=True))


TAILS = [
    (lambda: stats.gamma.logsf(900.0, 2.5), lambda: upper_gamma(2.5, 900)),
    (lambda: stats.gamma.logsf(np.float64(4000), 1000), lambda: upper_gamma(1000, 4000)),
    (lambda: stats.gamma.logcdf(np.float64(1e-200), 2.5), lambda: lower_gamma(2.5, mpmath.mpf(1e-200))),
    (lambda: stats.gamma.logcdf(np.float64(6000), 1e4), lambda: lower_gamma(10000, 6000)),
    (lambda: stats.chi2.logsf(np.float64(3000), 3), lambda: upper_gamma(1.5, 1500)),
    (lambda: stats.beta.logcdf(np.float64(1e-200), 2, 300), lambda: lower_beta(2, 300, mpmath.mpf(1e-200))),
    (lambda: stats.beta.logcdf(np.float64(0.001), 200, 300), lambda: lower_beta(200, 300, mpmath.mpf(0.001))),
    (lambda: stats.beta.logsf(np.float64(0.999), 300, 200.0), lambda: lower_beta(200, 300, 1 - mpmath.mpf(0.999))),
    (lambda: stats.norm.logcdf(np.float64(-1e4)), lambda: mpmath.log(mpmath.erfc(1e4 / mpmath.sqrt(2)) / 2)),
    (lambda: stats.beta.logsf(np.float64(1e-20), 2, 3.0), lambda: mpmath.log1p(-mpmath.mpf(6e-40))),
    (lambda: fg.jit(stats.beta.logsf)(np.float64(1e-20), 1, 1.0), lambda: mpmath.log1p(-mpmath.mpf(1e-20))),
    (lambda: stats.norm.logsf(np.float64(8)), lambda: mpmath.log(mpmath.erfc(8 / mpmath.sqrt(2)) / 2)),
    (lambda: stats.norm.logcdf(np.float64(8)), lambda: mpmath.log1p(-mpmath.erfc(8 / mpmath.sqrt(2)) / 2)),
    (lambda: stats.gumbel_r.logsf(np.float64(800)), lambda: mpmath.mpf(-800)),
    (lambda: stats.gumbel_l.logcdf(np.float64(-40)), lambda: mpmath.log(-mpmath.expm1(-mpmath.exp(-40)))),
    (lambda: stats.cauchy.logcdf(np.float64(-1e200)), lambda: mpmath.log(mpmath.atan(mpmath.mpf(1e-200)) / mpmath.pi)),
    (lambda: stats.cauchy.logpdf(np.float64(1e200)), lambda: -mpmath.log(mpmath.pi * (1 + mpmath.mpf(1e200) ** 2))),
    (lambda: stats.cauchy.sf(np.float64(1e20)), lambda: mpmath.atan(mpmath.mpf(1e-20)) / mpmath.pi),
    (lambda: stats.expon.logcdf(np.float64(1e-20)), lambda: mpmath.log(-mpmath.expm1(-mpmath.mpf(1e-20)))),
    (lambda: stats.pareto.logcdf(np.float64(1e9), 2.0), lambda: mpmath.log1p(-(mpmath.mpf(1e9) ** -2))),
    (lambda: stats.t.logpdf(np.float64(2.0), 1e12), lambda: mpmath.mpf(truth.norm.logpdf(2.0))),
    (lambda: stats.vonmises.logpdf(np.float64(1e-4), 1e8), lambda: mpmath.mpf(truth.norm.logpdf(1e-4, 0, 1e-4)) + mpmath.mpf(1e-9) * 0),
    (lambda: stats.truncnorm.logpdf(np.float64(0), -1e-9, 1e-9), lambda: -mpmath.log(mpmath.mpf(2e-9))),
    (lambda: stats.truncnorm.logcdf(np.float64(30.5), 30, 31), lambda: truncated(30, 30.5, 31)),
    (lambda: stats.truncnorm.logsf(np.float64(-30.5), -31, -30), lambda: truncated(30, 30.5, 31)),
]  # fmt: skip


def truncated(a, x, b):
    upper = [mpmath.erfc(mpmath.mpf(v) / mpmath.sqrt(2)) for v in (a, x, b)]
    return mpmath.log((upper[0] - upper[1]) / (upper[0] - upper[2]))


@pytest.mark.parametrize("got,want", TAILS, ids=range(len(TAILS)))
def test_tails(got, want):
    with mpmath.workdps(60):
        g, w = mpmath.mpf(float(got())), want()
        assert abs(g - w) <= abs(w) * (1e-7 if got().dtype == np.float32 else 1e-8 if w > -20 else 1e-13), (g, w)


def test_gradients_in_tails():
    """The slope of log sf is minus the hazard: 1 - (a - 1) / x + ... far out, that of log cdf a / x near 0."""
    slope = fg.grad(lambda x: stats.gamma.logsf(x, 2.5))(np.float64(1e5))
    assert abs(slope + 1 - 1.5e-5) < 1e-8
    assert abs(fg.grad(lambda x: stats.gamma.logcdf(x, 2.5))(np.float64(1e-200)) / 2.5e200 - 1) < 1e-12
    assert abs(fg.grad(stats.norm.logcdf)(np.float64(-1e3)) / 1e3 - 1) < 1e-5
    check_grads(lambda x, a: stats.gamma.logsf(x, a), [np.array([850.0, 2000.0]), np.array([2.5, 30.0])], order=1, rtol=1e-6)
    check_grads(
        lambda x, a, b: stats.beta.logcdf(x, a, b),
        [np.float64(0.001), np.float64(200), np.float64(300)],
        order=1,
        eps=1e-7,
        rtol=1e-4,
    )


def test_entropy_of_poisson():
    mu = np.array([0.0, 1e-5, 0.3, 2.5, 30.0, 63.9, 64.1, 500.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = truth.poisson.entropy(mu)
    got = stats.poisson.entropy(mu, 3)
    np.testing.assert_allclose(got, want, rtol=1e-9)
    np.testing.assert_allclose(stats.poisson.entropy(np.float64(1e9)), 0.5 * np.log(2e9 * np.pi * np.e), rtol=1e-10)
    assert np.isnan(stats.poisson.entropy(-1.0)) and stats.poisson.entropy(np.zeros((0, 2))).shape == (0, 2)
    check_grads(stats.poisson.entropy, [np.array([0.3, 20.0, 100.0])], order=2, rtol=1e-5)


# --- of several variables -------------------------------------------------------------------------------------------------


def test_dirichlet():
    alpha = np.array([0.7, 2.0, 3.0])
    x = np.array([[0.2, 0.1], [0.3, 0.3], [0.5, 0.6]])
    for f in ("logpdf", "pdf"):
        ours, theirs = getattr(stats.dirichlet, f), getattr(truth.dirichlet, f)
        for run in (lambda g: g, fg.jit):
            np.testing.assert_allclose(run(ours)(x, alpha), theirs(x, alpha), rtol=1e-12)
            np.testing.assert_allclose(run(ours)(x[:2], alpha), theirs(x[:2], alpha), rtol=1e-12)
            np.testing.assert_allclose(run(ours)(x[:, 0], alpha), theirs(x[:, 0], alpha), rtol=1e-12)
    assert (
        stats.dirichlet.logpdf(np.array([0.2, 0.3, 0.6]), alpha) == -INF
        and stats.dirichlet.pdf(np.array([-0.1, 0.5, 0.6]), alpha) == 0
    )
    assert np.isnan(stats.dirichlet.logpdf(x[:, 0], np.array([1.0, -1, 2])))
    edge = fg.grad(lambda a: stats.dirichlet.logpdf(np.array([0.0, 0.4, 0.6]), a))(np.array([1.5, 2.0, 3.0]))
    assert not np.isnan(edge).any()
    check_grads(lambda a: stats.dirichlet.logpdf(x, a), [alpha], order=2, rtol=1e-5)
    assert stats.dirichlet.logpdf(np.array([1, 0, 0]), np.array([1, 1, 1])).dtype == np.float32
    with pytest.raises(ValueError, match="first axis"):
        stats.dirichlet.logpdf(np.ones(5) / 5, alpha)


def test_multinomial():
    p = np.array([0.2, 0.3, 0.5])
    x = np.array([[1, 2, 3], [0, 0, 6], [3, 2, 2], [-1, 3, 4]])
    for run in (lambda g: g, fg.jit):
        np.testing.assert_allclose(run(stats.multinomial.logpmf)(x, 6, p), truth.multinomial.logpmf(x, 6, p), rtol=1e-12)
        np.testing.assert_allclose(
            run(stats.multinomial.pmf)(x[0], np.array([6, 7]), p), truth.multinomial.pmf(x[0], [6, 7], p), rtol=1e-12
        )
    assert stats.multinomial.logpmf(np.array([1.5, 1.5, 3]), 6, p) == -INF
    assert np.isnan(stats.multinomial.logpmf(x[0], 6, np.array([-0.2, 0.7, 0.5])))
    zero = fg.grad(lambda p: stats.multinomial.logpmf(np.array([0, 2, 4]), 6, p))(np.array([0.0, 0.4, 0.6]))
    assert not np.isnan(zero).any()
    check_grads(lambda p: stats.multinomial.logpmf(x[:2], 6, p), [p], order=2, rtol=1e-5)
    with pytest.raises(ValueError, match="last axis"):
        stats.multinomial.logpmf(1.0, 1, 0.5)


def test_multivariate_normal():
    rng = np.random.default_rng(0)
    x, mean = rng.standard_normal((4, 3)), rng.standard_normal(3)
    a = rng.standard_normal((3, 3))
    cov = a @ a.T + np.eye(3)
    want = truth.multivariate_normal.logpdf(x, mean, cov)
    for run in (lambda g: g, fg.jit):
        np.testing.assert_allclose(run(stats.multivariate_normal.logpdf)(x, mean, cov), want, rtol=1e-10)
        np.testing.assert_allclose(run(stats.multivariate_normal.pdf)(x[0], mean, cov), np.exp(want[0]), rtol=1e-10)
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(x, mean, cov, allow_singular=True), want, rtol=1e-10)
    np.testing.assert_allclose(fg.vmap(lambda x: stats.multivariate_normal.logpdf(x, mean, cov))(x), want, rtol=1e-10)
    covs = np.stack([cov, 2 * cov])
    both = stats.multivariate_normal.logpdf(x[:, None], mean, covs)
    np.testing.assert_allclose(both, np.stack([truth.multivariate_normal.logpdf(x, mean, c) for c in covs], 1), rtol=1e-10)
    np.testing.assert_allclose(
        stats.multivariate_normal.logpdf(x, 0.0, 2.0), truth.multivariate_normal.logpdf(x, np.zeros(3), 2.0), rtol=1e-10
    )
    np.testing.assert_allclose(
        stats.multivariate_normal.logpdf(np.float64(0.5), 0, 2), truth.norm.logpdf(0.5, 0, 2**0.5), rtol=1e-12
    )
    check_grads(lambda x, m, c: stats.multivariate_normal.logpdf(x, m, c + c.T), [x, mean, cov / 2], order=1, rtol=1e-5)
    flat = np.ones((2, 2))
    points = np.array([[1.0, 1.0], [1.0, 2.0]])
    np.testing.assert_allclose(
        stats.multivariate_normal.logpdf(points, np.zeros(2), flat, allow_singular=True),
        [truth.multivariate_normal.logpdf(p, [0, 0], flat, allow_singular=True) for p in points],
    )
    assert np.isnan(stats.multivariate_normal.logpdf(points[0], np.zeros(2), -flat))
    with pytest.raises(ValueError, match="cov"):
        stats.multivariate_normal.logpdf(x, mean, np.eye(2))
    with pytest.raises(ValueError, match="allow_singular"):
        stats.multivariate_normal.logpdf(x, mean, cov, allow_singular="yes")
