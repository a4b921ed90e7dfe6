"""Special functions of lax against SciPy and mpmath, with derivatives by all arguments."""

import mpmath as mp
import numpy as np
import pytest
from scipy import special as sp

import funcgrad as fg
from funcgrad import lax
from funcgrad.core.errors import UsageError
from funcgrad.test_util import check_grads

X = np.array([1e-300, 1e-8, 0.03, 0.7, 1.0, 1.49, 1.51, 3.0, 12.0, 90.0, 1e3])


def gamma_p(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def gamma_q(a, x):
    return mp.gammainc(a, x, regularized=True)


@pytest.mark.parametrize("a", [1e-3, 0.2, 0.5, 1.0, 1.3, 4.0, 30.0, 1000.0])
def test_gamma_slope_by_the_shape(a):
    """Against differences of mpmath's function in 50 digits, on both sides of the median."""
    got = np.asarray(fg.vmap(fg.grad(lax.igamma), (None, 0))(np.float64(a), X))
    back = np.asarray(fg.vmap(fg.grad(lax.igammac), (None, 0))(np.float64(a), X))
    np.testing.assert_array_equal(got, -back)
    with mp.workdps(50):
        h = mp.mpf(a) * mp.mpf(10) ** -15
        for x, g in zip(X, got):
            f, sign = (gamma_p, 1) if x < a or x < 1 else (gamma_q, -1)
            want = sign * (f(a + h, mp.mpf(x)) - f(a - h, mp.mpf(x))) / (2 * h)
            assert abs(g - want) <= 1e-11 * abs(want) + 1e-300, (a, x)


@pytest.mark.parametrize("a, x", [(0.3, 0.2), (0.3, 4.0), (2.0, 1.0), (2.0, 5.0), (20.0, 18.0), (20.0, 25.0)])
def test_gamma_grads(a, x):
    for f in (lax.igamma, lax.igammac, lax.random_gamma_grad):
        check_grads(f, (np.float64(a), np.float64(x)), 2, rtol=1e-4, atol=1e-5)


def test_gamma_variate_keeps_its_probability():
    a, x = np.float64(2.5), np.float64(1.7)
    moved = x + 1e-6 * np.asarray(lax.random_gamma_grad(a, x))
    assert abs(sp.gammainc(a + 1e-6, moved) - sp.gammainc(a, x)) < 1e-12


@pytest.mark.parametrize("a, b, x", [(0.4, 0.3, 0.2), (0.4, 3.0, 0.9), (5.0, 0.5, 0.97), (2.0, 3.0, 0.4), (40.0, 60.0, 0.45)])
def test_beta_grads(a, b, x):
    check_grads(lax.betainc, (np.float64(a), np.float64(b), np.float64(x)), 2, rtol=1e-4, atol=1e-5, eps=1e-4 * min(a, b, x))


def test_ends_of_the_range_have_finite_slopes():
    for f in (lax.igamma, lax.igammac):
        for x in (0.0, np.inf):
            assert [float(t) for t in fg.grad(f, (0, 1))(np.float64(2.0), np.float64(x))] == [0, 0]
        assert abs(float(fg.grad(f, 1)(np.float64(1.0), np.float64(0.0)))) == 1
    for x in (0.0, 1.0):
        for k in (0, 1):
            assert float(fg.grad(lax.betainc, k)(np.float64(2.0), np.float64(3.0), np.float64(x))) == 0
    assert float(fg.grad(lax.betainc, 2)(np.float64(1.0), np.float64(3.0), np.float64(0.0))) == pytest.approx(3)
    assert float(fg.grad(lax.betainc, 2)(np.float64(3.0), np.float64(1.0), np.float64(1.0))) == pytest.approx(3)


def test_parameter_slopes_outside_of_the_domain_are_nan_and_many_elements_go_in_pieces():
    slope = lambda f, k, *xs: float(fg.grad(f, k)(*[np.float64(x) for x in xs]))
    for x in (-0.1, 1.1, np.nan):
        assert np.isnan(slope(lax.betainc, 0, 2.0, 3.0, x)) and np.isnan(slope(lax.igamma, 0, 2.0, -abs(x)))
    assert np.isnan(slope(lax.betainc, 1, 2.0, -3.0, 0.5)) and np.isnan(slope(lax.betainc, 0, np.nan, 3.0, 0.5))
    a = np.linspace(0.5, 40, 9003).reshape(3, 3001, 1)
    got = np.asarray(lax.random_gamma_grad(a, 0.9 * a))
    assert got.shape == a.shape
    np.testing.assert_array_equal(got[2, -5:], np.asarray(lax.random_gamma_grad(a[2, -5:], 0.9 * a[2, -5:])))


def test_zeta():
    check_grads(lax.zeta, (np.array([1.3, 2.5, 8.0]), np.array([0.4, 3.0, 20.0])), 2, rtol=1e-4)
    with mp.workdps(30):
        for s, q in ((1.1, 0.3), (3.0, 5.0), (12.0, 0.9)):
            want = mp.zeta(s, q, derivative=1)
            assert float(fg.grad(lax.zeta)(np.float64(s), np.float64(q))) == pytest.approx(float(want), rel=1e-13)


def test_bessel():
    x = np.array([-700.0, -3.0, -1e-9, 0.0, 1e-9, 0.5, 7.9, 8.1, 1e5])
    np.testing.assert_allclose(np.asarray(lax.bessel_i0e(x)), sp.i0e(x), rtol=1e-14)
    np.testing.assert_allclose(np.asarray(lax.bessel_i1e(x)), sp.i1e(x), rtol=1e-14)
    for f in (lax.bessel_i0e, lax.bessel_i1e):
        check_grads(f, (np.array([-3.0, 0.5, 7.9]),), 2)
    assert float(fg.grad(lax.bessel_i1e)(np.float64(0.0))) == 0.5


def test_a_derivative_of_fifth_order_says_what_to_do():
    f = lax.igamma
    for _ in range(4):
        f = fg.grad(f)
    assert np.isfinite(float(f(np.float64(2.0), np.float64(1.0))))
    with pytest.raises(UsageError, match=r"(?s)igamma.*order 5.*up to 4.*stop_gradient"):
        fg.grad(f)(np.float64(2.0), np.float64(1.0))
