"""Histograms against NumPy's."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.test_util import check_grads

R = np.random.default_rng(0)
X, Y, W = R.normal(size=50), R.normal(size=50), R.random(50)
POINTS = R.normal(size=(40, 3))
EDGES = np.array([-1.0, -0.2, 0.1, 2.0])


def same(got, want):
    for g, w in zip(got, want, strict=True):
        if isinstance(w, (list, tuple)):
            same(g, w)
        else:
            np.testing.assert_allclose(g, w, rtol=1e-12)


OPTIONS = [{}, {"bins": 4}, {"bins": EDGES}, {"weights": W}, {"density": True}, {"density": True, "bins": EDGES, "weights": W}]


@pytest.mark.parametrize("options", [*OPTIONS, {"range": (-1, 0.5)}, {"bins": EDGES.tolist()}], ids=str)
def test_histogram(options):
    want = np.histogram(X, **options)
    same(fnp.histogram(X, **options), want)
    same(fg.jit(lambda x: fnp.histogram(x, **options))(X), want)


@pytest.mark.parametrize(
    "options",
    [*OPTIONS, {"bins": [3, 5]}, {"bins": [EDGES, 4]}, {"bins": [4, EDGES[:3]]}, {"range": [[-1, 1], [0, 2]]},
     {"bins": EDGES.tolist()}],
    ids=str,
)  # fmt: skip
def test_histogram2d(options):
    want = np.histogram2d(X, Y, **options)
    same(fnp.histogram2d(X, Y, **options), want)
    same(fg.jit(lambda x, y: fnp.histogram2d(x, y, **options))(X, Y), want)


@pytest.mark.parametrize(
    "options",
    [{"bins": 3}, {"bins": [2, 3, EDGES]}, {"bins": 2, "range": [(-1, 1), None, (0, 3)]}, {"bins": 3, "density": True},
     {"bins": [EDGES] * 3, "weights": W[:40], "density": True}],
    ids=str,
)  # fmt: skip
def test_histogramdd(options):
    want = np.histogramdd(POINTS, **options)
    same(fnp.histogramdd(POINTS, **options), want)
    same(fg.jit(lambda x: fnp.histogramdd(x, **options))(POINTS), want)
    same(fnp.histogramdd(list(POINTS.T), **options), want)


def test_edges_that_are_traced_and_points_at_edges():
    f = fg.jit(lambda x, e: fnp.histogram(x, e)[0])
    x = np.array([0.0, 1.0, 1.0, 2.0, 2.5, -0.1, np.nan])
    np.testing.assert_array_equal(f(x, np.array([0.0, 1.0, 2.0])), [1, 3])
    assert fnp.histogram(x[:6], bins=2)[0].dtype == np.int64 and fnp.histogramdd(x[:6], bins=2)[0].dtype == np.float64


def test_weights_take_gradients():
    f = lambda w: fnp.histogram2d(X, Y, bins=3, weights=w, density=True)[0]
    check_grads(f, (W,), order=1)
    counts = fg.vmap(lambda v: fnp.histogram(v, bins=4, range=(-1, 1))[0])(POINTS)
    np.testing.assert_array_equal(counts[3], np.histogram(POINTS[3], bins=4, range=(-1, 1))[0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fnp.histogram(X, bins="auto"), "a number of bins, or edges"),
        (lambda: fnp.histogram(X, bins=0), "one bin or more"),
        (lambda: fnp.histogram(X, bins=EDGES[::-1]), "ascending"),
        (lambda: fnp.histogram(X, weights=W[:3]), "one an element"),
        (lambda: fnp.histogramdd(POINTS, bins=[2, 2]), "one an axis"),
        (lambda: fnp.histogram2d(X, Y[:3]), "of one length"),
        (lambda: fnp.histogramdd(R.normal(size=(2, 2, 2))), "points, axes"),
    ],
)
def test_errors(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()
