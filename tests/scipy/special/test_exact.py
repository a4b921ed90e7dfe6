"""Values against mpmath, where SciPy's are less exact or mean something else, and limits of derivatives."""

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.core.errors import UsageError
from funcgrad.scipy import special
from funcgrad.test_util import check_grads

inf, nan = np.inf, np.nan


def log_beta(a, b):
    return mp.log(abs(mp.gamma(a) * mp.gamma(b) / mp.gamma(a + b)))


def log_ndtr(x):
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def boxcox(x, p):
    return mp.log(x) if p == 0 else (x**p - 1) / p


CASES = {
    "beta": (mp.beta, [(1e-9, 400.0), (0.3, 1e5), (30.0, 1e3), (400.0, 400.0), (-1.5, 400.0), (2.5, 3.5)], 1e-12),
    "betaln": (log_beta, [(1e5, 0.5), (1000.0, 2.0), (1e-3, 50.0), (11.0, 12.0), (-2.5, 30.0), (3.0, 4.0)], 1e-13),
    "log_ndtr": (log_ndtr, [(-1e3,), (-37.0,), (-1.0,), (0.0,), (5.0,), (12.0,)], 3e-14),
    "logit": (lambda p: mp.log(p / (1 - p)), [(0.5 + 1e-12,), (0.25,), (0.74999,), (0.76,), (1e-300,), (1 - 1e-16,)], 1e-14),
    "boxcox": (boxcox, [(2.0, 1e-12), (2.0, -1e-5), (1e-5, 0.04), (1e5, 0.05), (3.0, 2.0)], 1e-14),
    "zeta": (mp.zeta, [(-9.0,), (-2.5,), (-0.6,), (-0.4,), (0.0,), (0.5,), (0.999,), (1.001,), (3.0,), (60.0,), (-31.5,), (-120.5,)], 3e-13),
    "gammaln": (lambda x: mp.log(abs(mp.gamma(x))), [(1e-10,), (3.3,), (-2.2,), (1e8,)], 1e-14),
    "rel_entr": (lambda p, q: p * mp.log(p / q), [(1e-200, 1e200), (1e200, 1e-200), (0.3, 0.3 + 1e-9)], 3e-7),
}  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_exact(name, compiled):
    truth, points, tolerance = CASES[name]
    f = fg.jit(getattr(special, name)) if compiled else getattr(special, name)
    got = np.asarray(f(*[np.array(column) for column in zip(*points)]))
    with mp.workdps(60):
        for point, g in zip(points, got):
            want = truth(*[mp.mpf(x) for x in point])
            assert abs(g - want) <= tolerance * abs(want), (name, point)


def test_betaln_as_scipy_at_poles_and_far_away():
    a, b = (x.ravel() for x in np.meshgrid([-1.0, 0.0, 1e-9, 1.0, 7.0, inf], [-2.5, 0.0, 2.0, 9.0]))
    np.testing.assert_allclose(np.asarray(special.betaln(a, b)), scipy.special.betaln(a, b), rtol=1e-13)
    check_grads(special.betaln, (np.array([0.3, 20.0, 7.0]), np.array([40.0, 30.0, 1.2])), 2, rtol=1e-4)


def test_riemann_zeta():
    f = special.zeta
    np.testing.assert_array_equal(np.asarray(f(np.array([-2.0, -4.0, -40.0, 1.0, inf]))), [0, 0, 0, inf, 1])
    check_grads(lambda x: f(x), (np.array([-2.5, -2.0, -0.7, -0.2, 0.5, 3.0]),), 2, rtol=1e-4)


def test_polygamma():
    x = np.array([0.3, 1.0, 7.7, -1.5])
    for n in range(4):
        want = scipy.special.polygamma(n, x)
        np.testing.assert_allclose(np.asarray(special.polygamma(n, x)), want, rtol=1e-13)
        np.testing.assert_allclose(np.asarray(fg.jit(special.polygamma)(np.full(4, float(n)), x)), want, rtol=1e-12)
        check_grads(lambda v, n=n: special.polygamma(n, v), (x[:3],), 2, rtol=1e-4)
    check_grads(lambda v: special.polygamma(np.arange(3.0), v), (x[:3],), 2, rtol=1e-4)


def test_multigammaln():
    x = np.array([1.7, 3.0, 20.0])
    for d in (1, 2, 4):
        want = [scipy.special.multigammaln(v, d) if v > (d - 1) / 2 else nan for v in x]
        np.testing.assert_allclose(np.asarray(special.multigammaln(x, d)), want, rtol=1e-14)
    check_grads(lambda v: special.multigammaln(v, 3), (x,), 2)


def test_complex_loggamma():
    z = np.array([0.5 + 1j, -2.5 + 1e-3j, -30.2 - 4j, 100 + 100j, 1e-5j, -0.5 + 0j, 3 + 0j])
    np.testing.assert_allclose(np.asarray(special.loggamma(z)), scipy.special.loggamma(z), rtol=1e-13)
    np.testing.assert_allclose(np.asarray(fg.jit(special.loggamma)(z)), scipy.special.loggamma(z), rtol=1e-13)
    with mp.workdps(30):
        second = fg.grad(fg.grad(special.loggamma, holomorphic=True), holomorphic=True)
        for w in z[:5]:
            want = complex(mp.polygamma(1, mp.mpc(w)))
            assert abs(complex(second(w)) - want) < 1e-13 * abs(want)


def test_limits_of_derivatives():
    g = lambda f, *xs, k=0: float(fg.grad(f, k)(*[np.float64(x) for x in xs]))
    assert g(special.xlogy, 0.0, 0.5) == np.log(0.5) and g(special.xlogy, 0.0, 0.0, k=1) == 0
    assert g(special.xlogy, 0.0, 0.0) == -inf
    assert g(special.xlog1py, 0.0, 1.0) == np.log(2.0)
    assert float(fg.grad(fg.grad(special.xlogy), 1)(np.float64(0.0), np.float64(4.0))) == 0.25
    assert g(special.entr, 0.0) == inf and g(special.entr, -1.0) == 0
    assert g(special.rel_entr, 0.0, 1.0) == -inf and g(special.rel_entr, 0.0, 0.0) == 0
    assert g(special.boxcox, 3.0, 0.0, k=1) == pytest.approx(np.log(3.0) ** 2 / 2)
    assert g(special.log_ndtr, -1e10) == pytest.approx(1e10, rel=1e-14)
    assert float(fg.grad(fg.grad(special.log_ndtr))(np.float64(-1e10))) == pytest.approx(-1.0, abs=1e-14)
    assert g(special.log_ndtr, 50.0) == 0 and g(special.log_ndtr, -inf) == inf
    assert g(lambda x: fnp.where(x > -inf, special.log_ndtr(x), 3 * x), -inf) == 3
    assert g(lambda x: special.gammainc(2.0, x), 0.0) == 0


def test_rows():
    x = np.array([[1.0, 2.0, 800.0], [-inf, -inf, -inf]])
    for axis in (None, 0, 1, -1):
        np.testing.assert_allclose(np.asarray(special.logsumexp(x, axis)), scipy.special.logsumexp(x, axis), rtol=1e-15)
    y = x[:1]
    for axis in (None, 1):
        np.testing.assert_allclose(np.asarray(special.softmax(y, axis=axis)), scipy.special.softmax(y, axis=axis), rtol=1e-15)
        np.testing.assert_allclose(
            np.asarray(special.log_softmax(y, axis=axis)), scipy.special.log_softmax(y, axis=axis), rtol=1e-15
        )
    out, sign = special.logsumexp(np.array([1.0, 2.0]), b=np.array([1.0, -1.0]), return_sign=True)
    assert float(sign) == -1 and float(out) == pytest.approx(np.log(np.exp(2) - np.exp(1)))


def test_whole_numbers():
    n, k = np.arange(30)[:, None], np.arange(12)
    for repetition in (False, True):
        want = scipy.special.comb(n, k, repetition=repetition)
        fg_value = np.asarray(special.comb(n.astype(np.int64), k, repetition=repetition))
        exact = want < 2**24
        np.testing.assert_array_equal(fg_value[exact], want[exact])
    assert special.factorial(25, exact=True) == 15511210043330985984000000
    with pytest.raises(UsageError, match=r"(?s)factorial.*exact=True.*Python integer.*int\(n\)"):
        special.factorial(np.arange(3), exact=True)
    with pytest.raises(UsageError, match=r"(?s)log_ndtr: got series_order=0"):
        special.log_ndtr(0.0, 0)


def test_functions_that_give_pairs():
    x = np.array([-inf, -30.0, -2.0, -0.0, 1e-9, 0.3, 1.5, 7.7, 100.0, inf, nan])
    for f, g in ((special.sici, scipy.special.sici), (special.fresnel, scipy.special.fresnel)):
        for got, fast, want in zip(f(x), fg.jit(f)(x), g(x), strict=True):
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-14)
            np.testing.assert_allclose(np.asarray(fast), want, rtol=1e-13)
        check_grads(lambda v, f=f: f(v), (np.array([-2.0, 0.1, 0.7, 4.0]),), 2, rtol=1e-4)
    assert float(fg.grad(fg.grad(lambda v: special.sici(v)[0]))(np.float64(0.0))) == 0


def test_faddeeva():
    z = np.array([0.3, -2.0 + 1j, 1e-9j, 3 - 0.5j, 100.0 + 0j, 1e5 + 1e5j, 0j])
    np.testing.assert_allclose(np.asarray(special.wofz(z)), scipy.special.wofz(z), rtol=1e-14)
    np.testing.assert_allclose(np.asarray(fg.jit(special.wofz)(z)), scipy.special.wofz(z), rtol=1e-13)
    assert special.wofz(np.float32(0.3)).dtype == np.complex64 and special.wofz(np.float64(0.3)).dtype == np.complex128
    check_grads(special.wofz, (np.array([0.3 + 0.2j, -2 + 1j]),), 2, rtol=1e-4)
    slope = complex(fg.grad(special.wofz, holomorphic=True)(np.complex128(1e6)))
    assert slope == pytest.approx(-1j / np.sqrt(np.pi) * 1e-12, rel=1e-11)


def test_expn():
    n, x = np.arange(-1, 6)[:, None], np.array([0.0, 1e-3, 0.5, 1.0, 5.0, 700.0, nan])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(np.asarray(special.expn(n, x)), scipy.special.expn(n, x), rtol=1e-14)
    for k in range(4):
        check_grads(lambda v, k=k: special.expn(k, v), (x[1:5],), 2, rtol=1e-4, eps=1e-6)
    with pytest.raises(TypeError, match=r"(?s)expn: got f64.* for n.*integers.*astype"):
        special.expn(np.array(1.0), x)


def test_bessel_jn():
    z = np.array([[-3.0, 0.0, 1e-3], [2.0, 40.0, 700.0]])
    got = np.asarray(special.bessel_jn(z, v=4))
    assert got.shape == (5, 2, 3)
    np.testing.assert_allclose(got, scipy.special.jv(np.arange(5)[:, None, None], z), rtol=1e-13, atol=1e-15)
    check_grads(lambda x: special.bessel_jn(x, v=3), (z[:, :2],), 2)
    with pytest.raises(UsageError, match=r"(?s)bessel_jn: got v=-1.*v >= 0"):
        special.bessel_jn(z, v=-1)


def test_spherical_harmonics():
    n, m = (v.ravel() for v in np.meshgrid(np.arange(5), np.arange(-4, 5)))
    theta, phi = np.linspace(0, np.pi, n.size), np.linspace(-3, 7, n.size)
    want = np.where(np.abs(m) <= n, scipy.special.sph_harm_y(n, np.where(np.abs(m) <= n, m, 0), theta, phi), 0)
    np.testing.assert_allclose(np.asarray(special.sph_harm_y(n, m, theta, phi)), want, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(np.asarray(fg.jit(special.sph_harm_y)(n, m, theta, phi)), want, rtol=1e-13, atol=1e-15)
    parts = lambda t, p: [f(special.sph_harm_y(n, m, t, p)) for f in (fnp.real, fnp.imag)]
    check_grads(parts, (theta, phi), 2)
    with pytest.raises(UsageError, match=r"(?s)sph_harm_y: got diff_n=1.*None or 0"):
        special.sph_harm_y(1, 0, 0.5, 0.5, diff_n=1)


def test_bernoulli():
    for n in (0, 1, 2, 20):
        np.testing.assert_allclose(np.asarray(special.bernoulli(n)), scipy.special.bernoulli(max(n, 2))[: n + 1], rtol=1e-6)
    assert np.isinf(np.asarray(special.bernoulli(120))[-1])
    with pytest.raises(UsageError, match=r"(?s)bernoulli: got n=-1"):
        special.bernoulli(-1)


@pytest.mark.parametrize("f, x", [(special.boxcox, 0.0), (special.boxcox1p, -1.0)])
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_derivatives_of_box_and_cox_at_nothing(f, x, power):
    at = np.float64(x), np.float64(power)
    assert f(*at) == -1 / power
    assert fg.jit(fg.grad(f, 0))(*at) == (inf if power < 1 else 1 if power == 1 else 0)
    assert fg.jit(fg.grad(f, 1))(*at) == 1 / power**2
    assert fg.grad(fg.grad(f, 1), 1)(*at) == -2 / power**3


def test_divergence_far_away():
    p, q = np.array([0.5, 0.0, 0.0, -1.0]), np.array([inf, inf, 2.0, 2.0])
    np.testing.assert_array_equal(np.asarray(special.kl_div(p, q)), scipy.special.kl_div(p, q))
    assert fg.grad(special.owens_t, 1)(np.float64(0.0), np.float64(1e300)) == 0


def slope_and_next(f, *xs, k=0):
    """The first and the second derivative by argument k."""
    first = fg.grad(f, k)
    return [float(w(*[np.float64(x) for x in xs])) for g in (first, fg.grad(first, k)) for w in (g, fg.jit(g))]


@pytest.mark.parametrize("x", [0.01, 0.3, 1.0, 6.0, 40.0])
def test_incomplete_gamma_functions_at_order_0(x):
    """P(a, x) = 1 - a E1(x) + ... (DLMF 8.19.1 and 8.2.4)."""
    with mp.workdps(40):
        q = [float(v) for v in mp.taylor(lambda a: mp.gammainc(a, x) * mp.rgamma(a), mp.mpf(10) ** -25, 2)]
    for f, sign in ((special.gammaincc, 1), (special.gammainc, -1)):
        first, first_jit, second, second_jit = slope_and_next(f, 0.0, x)
        assert first == pytest.approx(sign * scipy.special.exp1(x), rel=1e-8)
        assert first_jit == pytest.approx(first, rel=1e-12)
        assert second == pytest.approx(sign * 2 * q[2], rel=1e-3, abs=1e-8)
        assert second_jit == pytest.approx(second, rel=1e-2, abs=1e-8)
        assert float(fg.grad(f, 1)(np.float64(0), np.float64(x))) == 0


@pytest.mark.parametrize(
    "z, m", [(0, 1), (0, 2.5), (0, -2.5), (0, -1), (0, 3), (0, 0), (-3, 1.5), (-3, 5), (-3, 2), (-2, -2), (-4, 20)]
)
def test_rising_factorials_from_poles(z, m):
    with mp.workdps(40):
        if m == int(m):  # a polynomial, or one over it
            factors = [lambda s, k=k: s + k for k in range(m)] if m > 0 else [lambda s, k=k: 1 / (s - k) for k in range(1, 1 - m)]
            f = lambda s: mp.fprod([g(s) for g in factors])
        else:
            f = lambda s: mp.gamma(s + m) * mp.rgamma(s)
        want = [float(mp.diff(f, mp.mpf(z), n)) for n in (1, 1, 2, 2)]
    np.testing.assert_allclose(slope_and_next(special.poch, z, m), want, rtol=1e-11, atol=1e-13)
    if z + m > 0 or m != int(m):
        assert float(fg.grad(special.poch, 1)(np.float64(z), np.float64(m))) == 0


@pytest.mark.parametrize("a, b", [(0.1, -0.1), (0.3, -1.3), (-0.5, -2.5), (7.25, -7.25), (-1.75, 0.75)])
def test_beta_functions_that_are_0(a, b):
    assert special.beta(np.float64(a), np.float64(b)) == 0
    with mp.workdps(40):
        f = lambda x: mp.gamma(x) * mp.gamma(b) * mp.rgamma(x + b)
        want = [float(mp.diff(f, mp.mpf(a), n)) for n in (1, 1, 2, 2)]
    np.testing.assert_allclose(slope_and_next(special.beta, a, b), want, rtol=1e-11)
    np.testing.assert_allclose(slope_and_next(special.beta, b, a, k=1), want, rtol=1e-11)


@pytest.mark.parametrize("a, b", [(1, -2), (2, -2), (1, -5), (3, -3)])
def test_logarithms_of_beta_functions_between_two_poles(a, b):
    """Of whole a, B(a, b) goes on through b = -a, -a - 1, ...: Gamma(a) / (b (b + 1) ... (b + a - 1))."""
    assert float(special.betaln(np.float64(a), np.float64(b))) == pytest.approx(scipy.special.betaln(a, b), rel=1e-14)
    first = -sum(1 / (b + k) for k in range(a))
    second = sum(1 / (b + k) ** 2 for k in range(a))
    np.testing.assert_allclose(slope_and_next(special.betaln, a, b, k=1), [first, first, second, second], rtol=1e-12)
    np.testing.assert_allclose(slope_and_next(special.betaln, b, a), [first, first, second, second], rtol=1e-12)


ENDS = [
    (special.gammaln, (1e-320,), mp.loggamma),
    (special.gammaln, (5e-324,), mp.loggamma),
    (special.loggamma, (1e-310,), mp.loggamma),
    (lambda x: special.fresnel(x)[0], (1e160,), mp.fresnels),
    (lambda x: special.fresnel(x)[1], (-1.7e308,), mp.fresnelc),
    (special.poch, (0.0, -1000.0), mp.rf),
    (special.poch, (0.0, -171.0), mp.rf),
    (special.poch, (-3.0, -400.0), mp.rf),
    (special.poch, (-10000.0, 1001.0), mp.rf),
    (special.poch, (-300.0, 3.0), mp.rf),
    (special.poch, (-1e-300, 10000.0), mp.rf),
    (special.poch, (3.0, -1000.0), None),
    (special.zeta, (10000.0, -0.1), mp.zeta),
    (special.zeta, (1e6, 0.3), None),
    (special.zeta, (1e6, -50.5), None),
    (special.zeta, (1e160, 3.0), mp.zeta),
    (special.zeta, (1e17, 1.5), mp.zeta),
    (special.gammainc, (1e-320, 0.5), lambda a, x: 1 - a * mp.e1(x)),
    (special.gammaincc, (1e-320, 0.5), lambda a, x: a * mp.e1(x)),
    (special.gammainc, (1e30, 1e30), lambda a, x: mp.mpf(1) / 2),
    (special.gammainc, (1e160, 2e160), lambda a, x: 1),
    (special.gammaincc, (1e160, 0.5e160), lambda a, x: 1),
    (special.betaln, (inf, 1e160), lambda a, b: -mp.inf),
    (special.betaln, (1e-320, inf), lambda a, b: -mp.inf),
]


@pytest.mark.parametrize("f, at, truth", ENDS)
def test_ends_of_the_range(f, at, truth):
    """Where SciPy's functions give NaN or infinity and there is a value; compiled as eager. None: it is infinite."""
    at = [np.float64(x) for x in at]
    with mp.workdps(30):
        want = float(mp.re(truth(*map(mp.mpf, at)))) if truth else inf
    for got in (f(*at), fg.jit(f)(*at)):
        assert float(got) == pytest.approx(want, rel=1e-9, abs=1e-320)


@pytest.mark.parametrize("h", [0.0, 0.3, 5.0, 10.0, 37.0])
@pytest.mark.parametrize("a", [1e-300, 1e-30, 1e-12, -1e-6, 1e-4, 2e-3])
def test_owens_function_of_small_slopes(h, a):
    with mp.workdps(30):
        want = mp.quad(lambda x: mp.exp(-(mp.mpf(h) ** 2) * (1 + x * x) / 2) / (1 + x * x), [0, mp.mpf(a)]) / (2 * mp.pi)
    for f in (special.owens_t, fg.jit(special.owens_t)):
        assert float(f(np.float64(h), np.float64(a))) == pytest.approx(float(want), rel=1e-12)
    assert float(special.owens_t(np.float64(1e300), np.float64(a))) == 0
