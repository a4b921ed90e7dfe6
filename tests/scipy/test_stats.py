"""funcgrad.scipy.stats: mode, rankdata, sem, gaussian_kde against SciPy."""

import warnings

import numpy as np
import pytest
from scipy import stats as truth

import funcgrad as fg
from funcgrad import random
from funcgrad.scipy import stats
from funcgrad.test_util import check_grads

nan = np.nan
SAMPLES = [
    np.array([3, 1, 1, 3, 2]),
    np.array([1.0, 2, 2, nan]),
    np.array([nan, nan, 1.0]),
    np.array([nan, nan]),
    np.array([2.5]),
    np.array([[1, 2], [1, 3], [2, 3]]),
    np.array([[1.0, nan, 2], [3, 1, 1], [0, 0, -np.inf]]),
    np.random.default_rng(0).integers(0, 4, (3, 4, 5)),
    np.random.default_rng(0).integers(0, 3, (4, 6)).astype(np.float32),
    np.array([True, False, True]),
]
AXES = [0, -1, None]


def agree(f, g, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = g(*args, **kwargs)
    for run in (lambda h: h, fg.jit):
        got = run(lambda x: f(x, *args[1:], **kwargs))(args[0])
        for a, b in zip(got if isinstance(got, tuple) else [got], want if isinstance(got, tuple) else [want]):
            assert np.shape(a) == np.shape(b), kwargs
            np.testing.assert_allclose(np.asarray(a, np.float64), b, rtol=1e-6, err_msg=str(kwargs))


@pytest.mark.parametrize("policy", ["propagate", "omit"])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("x", SAMPLES, ids=range(len(SAMPLES)))
def test_mode(x, axis, policy):
    if x.dtype == bool:
        assert bool(stats.mode(x, axis).mode) and stats.mode(x, axis).count == 2
        return
    for keepdims in (False, True):
        agree(stats.mode, truth.mode, x, axis=axis, nan_policy=policy, keepdims=keepdims)
    assert stats.mode(x, axis).mode.dtype == x.dtype and isinstance(stats.mode(x), stats.ModeResult)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("x", SAMPLES, ids=range(len(SAMPLES)))
def test_rankdata(x, axis, method):
    for policy in ("propagate", "omit"):
        agree(stats.rankdata, truth.rankdata, x, method, axis=axis, nan_policy=policy)


@pytest.mark.parametrize("policy", ["propagate", "omit"])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("x", SAMPLES[:-1], ids=range(len(SAMPLES) - 1))
def test_sem(x, axis, policy):
    if not np.isinf(x).any():
        for ddof in (0, 1) if x.size > 3 else (1,):  # SciPy gives NaN of one number, whatever ddof is
            agree(stats.sem, truth.sem, x, axis=axis, ddof=ddof, nan_policy=policy)
        agree(stats.sem, truth.sem, x, axis=axis, nan_policy=policy, keepdims=True)


def test_empty_samples():
    assert (
        np.isnan(stats.mode(np.zeros((0, 3))).mode).tolist() == [True] * 3
        and stats.mode(np.zeros((0, 3))).count.tolist() == [0] * 3
    )
    assert stats.mode(np.zeros((3, 0))).mode.shape == (0,)
    assert stats.rankdata(np.zeros((0, 2))).shape == (0,) and stats.rankdata(np.zeros((0, 2)), axis=1).shape == (0, 2)
    assert np.isnan(stats.sem(np.zeros(0))) and np.isnan(stats.sem(np.ones(1)))


def test_lists_and_dtypes():
    assert stats.rankdata([3, 1, 2]).tolist() == [3, 1, 2] and stats.mode([1, 1, 2]).mode == 1
    assert stats.rankdata(np.ones(2, np.float64)).dtype == np.float64 and stats.rankdata(np.ones(2, int)).dtype == np.float32
    assert stats.rankdata(np.ones(2, int), "min").dtype == np.int64
    assert stats.sem(np.array([1, 2, 3])).dtype == np.float32
    check_grads(stats.sem, [np.array([1.0, 2.5, 4.0])], order=2, rtol=1e-5)


def test_errors_of_samples():
    with pytest.raises(ValueError, match="nan_policy"):
        stats.mode(np.ones(3), nan_policy="drop")
    with pytest.raises(ValueError, match="got NaN"):
        stats.sem(np.array([1.0, nan]), nan_policy="raise")
    with pytest.raises(TypeError, match="while tracing"):
        fg.jit(lambda x: stats.sem(x, nan_policy="raise"))(np.ones(3))
    with pytest.raises(ValueError, match="'dense'"):
        stats.rankdata(np.ones(3), "median")
    with pytest.raises(TypeError, match="real"):
        stats.mode(np.ones(3, complex))


# --- kernel density ---------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(1)
DATA = {1: RNG.standard_normal(30), 2: RNG.standard_normal((2, 40)) * np.array([[1.0], [3.0]])}
POINTS = {1: np.linspace(-3, 60, 7), 2: RNG.standard_normal((2, 5))}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bw_method", [None, "scott", "silverman", 0.4, lambda k: k.neff ** (-1.0 / 3)])
@pytest.mark.parametrize("d", [1, 2])
def test_gaussian_kde(d, bw_method, weighted):
    data, points = DATA[d], POINTS[d]
    weights = RNG.uniform(0.1, 1, data.shape[-1]) if weighted else None
    ours, theirs = stats.gaussian_kde(data, bw_method, weights), truth.gaussian_kde(data, bw_method, weights)
    assert (ours.d, ours.n) == (theirs.d, theirs.n)
    np.testing.assert_allclose(ours.neff, theirs.neff, rtol=1e-12)
    np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-10)
    np.testing.assert_allclose(ours.inv_cov, theirs.inv_cov, rtol=1e-9)
    near = points[points < 5] if d == 1 else points
    for f in ("evaluate", "pdf", "__call__"):
        np.testing.assert_allclose(getattr(ours, f)(near), getattr(theirs, f)(near), rtol=1e-9)
    np.testing.assert_allclose(ours.logpdf(points), theirs.logpdf(points), rtol=1e-9)
    np.testing.assert_allclose(fg.jit(lambda k, p: k.logpdf(p))(ours, points), theirs.logpdf(points), rtol=1e-9)
    mean, cov = np.zeros(d), np.eye(d) * 0.5
    np.testing.assert_allclose(ours.integrate_gaussian(mean, cov), theirs.integrate_gaussian(mean, cov), rtol=1e-9)
    np.testing.assert_allclose(ours.integrate_kde(ours), theirs.integrate_kde(theirs), rtol=1e-9)
    if d == 1:
        np.testing.assert_allclose(ours.integrate_box_1d(-1.0, 0.5), theirs.integrate_box_1d(-1.0, 0.5), rtol=1e-9)


def test_kde_is_differentiated_and_drawn_from():
    kde = stats.gaussian_kde(DATA[2])
    check_grads(lambda data, p: stats.gaussian_kde(data).logpdf(p), [DATA[2], POINTS[2]], order=1, rtol=1e-4, atol=1e-5)
    x = np.asarray(kde.resample(random.key(0), (4000,)))
    assert x.shape == (2, 4000) and x.dtype == np.float64
    np.testing.assert_allclose(x.mean(1), DATA[2].mean(1), atol=0.2)
    np.testing.assert_allclose(np.cov(x), np.cov(DATA[2]) + np.asarray(kde.covariance), rtol=0.1, atol=0.2)
    line = stats.gaussian_kde(DATA[1])
    assert (
        truth.kstest(
            np.asarray(line.resample(random.key(1), (2000,)))[0], lambda v: np.asarray(line.integrate_box_1d(-np.inf, v))
        ).pvalue
        > 1e-3
    )


def test_errors_of_kde():
    with pytest.raises(ValueError, match="more than one point"):
        stats.gaussian_kde(np.ones(1))
    with pytest.raises(ValueError, match="bw_method"):
        stats.gaussian_kde(DATA[1], "wide")
    with pytest.raises(ValueError, match="weights"):
        stats.gaussian_kde(DATA[1], weights=np.ones(3))
    kde = stats.gaussian_kde(DATA[2])
    with pytest.raises(ValueError, match="dimensions"):
        kde(np.ones((3, 2)))
    with pytest.raises(ValueError, match="one dimension"):
        kde.integrate_box_1d(0, 1)
    with pytest.raises(ValueError, match="gaussian_kde"):
        kde.integrate_kde(stats.gaussian_kde(DATA[1]))
