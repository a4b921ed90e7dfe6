"""RegularGridInterpolator, trapezoid and vq against SciPy."""

import functools

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.integrate
import scipy.interpolate

import funcgrad as fg
from funcgrad.scipy import integrate
from funcgrad.scipy.cluster.vq import vq
from funcgrad.scipy.interpolate import RegularGridInterpolator
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(8)
X, Y = np.array([0.0, 1.0, 3.0, 4.0]), np.array([-1.0, 2.0, 2.5])
V = RNG.normal(size=(4, 3))
INSIDE = np.stack([RNG.uniform(0, 4, 30), RNG.uniform(-1, 2.5, 30)], -1)
AROUND = np.stack([RNG.uniform(-2, 6, 30), RNG.uniform(-3, 4, 30)], -1)
EDGES = np.array([[0.0, -1.0], [4.0, 2.5], [1.0, 2.0], [3.0, 2.5], [0.5, 0.5], [2.0, 2.25]])


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear"])
@pytest.mark.parametrize("fill", [np.nan, None, 2.5])
@pytest.mark.parametrize("where", [INSIDE, AROUND, EDGES], ids=["inside", "around", "edges"])
def test_against_scipy(method, fill, where):
    theirs = scipy.interpolate.RegularGridInterpolator(
        (X, Y), V, "linear" if method == "slinear" else method, bounds_error=False, fill_value=fill
    )
    ours = RegularGridInterpolator((X, Y), V, method, fill_value=fill)
    np.testing.assert_allclose(np.asarray(ours(where)), theirs(where), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.asarray(fg.jit(ours)(where)), theirs(where), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.asarray(ours(where.reshape(2, -1, 2))).ravel(), theirs(where), rtol=1e-12, atol=1e-12)


def test_more_axes_tuples_and_methods_of_a_call():
    values = RNG.normal(size=(4, 3, 2))
    ours, theirs = RegularGridInterpolator((X, Y), values), scipy.interpolate.RegularGridInterpolator((X, Y), values)
    np.testing.assert_allclose(np.asarray(ours(INSIDE)), theirs(INSIDE), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(ours(INSIDE, method="nearest")), theirs(INSIDE, method="nearest"), rtol=1e-12)
    xi = (np.array([[0.5], [2.0]]), np.array([0.0, 1.0, 2.2]))
    np.testing.assert_allclose(np.asarray(ours(xi)), theirs(xi), rtol=1e-12)
    assert ours(np.array([[9.0, 9.0]])).shape == (1, 2)
    line = RegularGridInterpolator((X,), V[:, 0])
    np.testing.assert_allclose(np.asarray(line([0.5, 2.0])), scipy.interpolate.RegularGridInterpolator((X,), V[:, 0])([0.5, 2.0]))
    assert line(0.5).shape == ()


def test_descending_points_nan_integers_and_single_points():
    theirs = scipy.interpolate.RegularGridInterpolator((X[::-1], Y), V)
    np.testing.assert_allclose(np.asarray(RegularGridInterpolator((X[::-1], Y), V)(INSIDE)), theirs(INSIDE), rtol=1e-12)
    assert np.isnan(np.asarray(RegularGridInterpolator((X, Y), V, fill_value=None)(np.array([[np.nan, 1.0]]))))
    counts = RegularGridInterpolator((X,), np.arange(4))
    assert counts(np.array([[2.0]])).dtype == np.float32 and float(counts(np.array([[2.0]]))[0]) == 1.5
    one = RegularGridInterpolator((np.array([1.0]), Y), V[:1])
    np.testing.assert_allclose(np.asarray(one(np.array([[1.0, 2.25]]))), (V[0, 1] + V[0, 2]) / 2)
    z = RegularGridInterpolator((X,), V[:, 0] + 1j * V[:, 1])
    np.testing.assert_allclose(np.asarray(z(np.array([[2.0]]))), [(V[1, 0] + V[2, 0] + 1j * (V[1, 1] + V[2, 1])) / 2])


def test_derivatives():
    f = lambda v, xi, x: RegularGridInterpolator((x, Y), v, fill_value=None)(xi)
    check_grads(f, (V, INSIDE, X), 2, rtol=1e-4, atol=1e-4)
    g = fg.grad(lambda xi: RegularGridInterpolator((X, Y), V, fill_value=0.0)(xi).sum())(np.array([[9.0, 9.0]]))
    assert g.tolist() == [[0, 0]]
    rows = fg.vmap(lambda v: RegularGridInterpolator((X, Y), v)(INSIDE))(np.stack([V, -V]))
    np.testing.assert_allclose(np.asarray(rows[1]), -np.asarray(rows[0]))


def test_bounds_errors():
    f = RegularGridInterpolator((X, Y), V, bounds_error=True)
    np.testing.assert_allclose(np.asarray(f(INSIDE)), scipy.interpolate.RegularGridInterpolator((X, Y), V)(INSIDE))
    for g in (f, fg.jit(f)):
        with pytest.raises(ValueError, match="outside of the grid"):
            g(AROUND)


WRONG = [
    (lambda: RegularGridInterpolator((X, Y), V, "cubic"), "'nearest'"),
    (lambda: RegularGridInterpolator((X, X), V), "axis 1"),
    (lambda: RegularGridInterpolator((X, Y, Y), V), "3 axes"),
    (lambda: RegularGridInterpolator((np.array([0.0, 2, 1, 3]), Y), V), "ascending"),
    (lambda: RegularGridInterpolator((X, Y), V)(np.ones((3, 3))), "3 coordinates"),
    (lambda: RegularGridInterpolator((X, Y), V, fill_value=1j), "complex"),
    (lambda: vq(np.ones((2, 3)), np.ones((2, 2))), "at least one code"),
    (lambda: vq(np.ones((2, 3)), np.ones((0, 3))), "at least one code"),
    (lambda: vq(np.ones(2) * 1j, np.ones(3)), "real"),
]


@pytest.mark.parametrize("call,text", WRONG)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_trapezoid(axis):
    y, x = RNG.normal(size=(4, 5)), np.sort(RNG.normal(size=(4, 5)), axis)
    line = np.sort(RNG.normal(size=y.shape[axis]))
    for given in ({}, {"dx": 0.3}, {"x": x}, {"x": line}):
        want = scipy.integrate.trapezoid(y, axis=axis, **given)
        np.testing.assert_allclose(
            np.asarray(fg.jit(functools.partial(integrate.trapezoid, axis=axis, **given))(y)), want, rtol=1e-12
        )
    check_grads(lambda y, x: integrate.trapezoid(y, x, axis=axis), (y, x), 2)
    assert integrate.trapezoid(np.array([1, 2])).dtype == np.float32


@pytest.mark.parametrize("m,k,n", [(20, 6, 3), (1, 1, 1), (0, 2, 2), (7, 3, None)])
def test_vq(m, k, n):
    obs, book = [RNG.normal(size=(s,) if n is None else (s, n)) for s in (m, k)]
    code, distance = fg.jit(vq)(obs, book)
    want_code, want = scipy.cluster.vq.vq(obs, book) if m else (np.zeros(0, np.int32), np.zeros(0))
    assert code.dtype == np.int32 and code.tolist() == want_code.tolist()
    np.testing.assert_allclose(np.asarray(distance), want, rtol=1e-12)
    if m:
        check_grads(lambda o, b: vq(o, b)[1], (obs, book), 2, rtol=1e-4, atol=1e-4)


def test_vq_at_a_code_and_not_finite():
    g = fg.grad(lambda o: vq(o, np.array([[1.0, 2.0]]))[1].sum())(np.array([[1.0, 2.0], [4.0, 6.0]]))
    np.testing.assert_allclose(np.asarray(g), [[0, 0], [0.6, 0.8]])
    bad = np.array([[np.nan, 1.0]])
    for f in (vq, fg.jit(vq)):
        with pytest.raises(ValueError, match="check_finite"):
            f(bad, np.ones((2, 2)))
    assert vq(bad, np.ones((2, 2)), check_finite=False)[0].shape == (1,)
