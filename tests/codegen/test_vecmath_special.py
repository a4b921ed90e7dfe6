"""The bound of the special functions' helpers, compiled, against mpmath, and their special values against SciPy."""

import mpmath as mp
import numpy as np
import pytest

from funcgrad.loops import scalar_numpy

from .support import const, expr, load, map_nest, run_compiled

DOUBLE = np.dtype(np.float64)


def helper(op, *arrays, more=()):
    arrays = [np.ascontiguousarray(a, np.float64) for a in arrays]
    out = np.empty_like(arrays[0])
    args = [load(DOUBLE, k) for k in range(len(arrays))] + [const(float(n), DOUBLE) for n in more]
    run_compiled(map_nest([expr(op, DOUBLE, *args)], [DOUBLE] * len(arrays)), [*arrays, out], [out.size], out.size)
    return out


def log_beta(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def quantile(p):
    return mp.findroot(lambda y: mp.log(mp.erfc(y / mp.sqrt(2)) / 2) - mp.log(p), mp.sqrt(-2 * mp.log(p)) - 0.1) * -1


def spread(rng, low, high, count=60):
    return np.exp(rng.uniform(np.log(low), np.log(high), count))


RNG = np.random.default_rng(3)
SHAPES, ARGUMENTS = spread(RNG, 1e-3, 900, 120), RNG.uniform(0.4, 1.6, 120)
WIDE = spread(RNG, 1e-6, 1e3, 120)
LEFT, RIGHT = spread(RNG, 0.02, 400, 120), spread(RNG, 0.02, 400, 120)
PLACE = np.clip(LEFT / (LEFT + RIGHT) * RNG.uniform(0.5, 1.3, 120), 1e-9, 1 - 1e-9)
# op: operands, truth, the bound in units of 2^-53 of the result
BOUNDS = {
    "bessel_i0e": ((spread(RNG, 1e-6, 1e6),), lambda x: mp.exp(-x) * mp.besseli(0, x), 4),
    "bessel_i1e": ((spread(RNG, 1e-6, 1e6),), lambda x: mp.exp(-x) * mp.besseli(1, x), 6),
    "erfcx": ((np.append(spread(RNG, 1e-6, 1e6), -spread(RNG, 1e-6, 5)),), lambda x: mp.exp(x * x) * mp.erfc(x) if x < 300 else (1 - 1 / (2 * x**2) + 3 / (4 * x**4) - 15 / (8 * x**6)) / (x * mp.sqrt(mp.pi)), 8),
    "dawsn": ((spread(RNG, 1e-6, 1e3, 150),), lambda x: dawson(x) if x < 60 else (1 + 1 / (2 * x**2) + 3 / (4 * x**4) + 15 / (8 * x**6) + 105 / (16 * x**8)) / (2 * x), 8),
    "ndtri": ((spread(RNG, 1e-300, 0.4),), quantile, 8),
    "gamma": ((np.append(RNG.uniform(0.01, 170, 80), RNG.uniform(-30, 0, 40)),), mp.gamma, 24),
    "igamma": ((np.append(SHAPES, SHAPES), np.append(SHAPES * ARGUMENTS, WIDE)), lambda a, x: mp.gammainc(a, 0, x, regularized=True), 400),
    "igammac": ((np.append(SHAPES, SHAPES), np.append(SHAPES * ARGUMENTS, WIDE)), lambda a, x: mp.gammainc(a, x, regularized=True), 400),
    "betaln": ((np.append(LEFT, 1e5), np.append(RIGHT, 0.3)), log_beta, None),
    "betainc": ((LEFT, RIGHT, PLACE), lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), 500),
    "exp1": ((spread(RNG, 1e-6, 600),), mp.e1, 16),
    "expi": ((np.append(spread(RNG, 0.5, 600), -spread(RNG, 1e-6, 600)),), mp.ei, 32),
    "spence": ((np.append(spread(RNG, 1e-6, 600), RNG.uniform(0.3, 2.2, 40)),), lambda x: mp.polylog(2, 1 - x).real, 8),
    "si": ((spread(RNG, 1e-6, 600),), mp.si, 8),
    "ci": ((np.append(spread(RNG, 1e-6, 0.5), spread(RNG, 1e4, 1e7)),), mp.ci, None),
    "fresnel_s": ((spread(RNG, 1e-6, 600, 100),), mp.fresnels, 16),
    "fresnel_c": ((spread(RNG, 1e-6, 600, 100),), mp.fresnelc, 16),
    "poch": ((spread(RNG, 1e-3, 3e3, 100), RNG.uniform(0, 40, 100)), lambda z, m: mp.gamma(z + m) / mp.gamma(z), 100),
    "lgamma": ((np.append(spread(RNG, 1e-300, 1e300, 80), np.append(RNG.uniform(0, 10, 80), [1 - 1e-9, 1 + 1e-9, 2 - 1e-9, 2 + 1e-9])),), mp.loggamma, 16),
    "zeta": ((1 + spread(RNG, 1e-3, 40, 80), spread(RNG, 0.01, 1e3, 80)), mp.zeta, 20),
}  # fmt: skip


@pytest.mark.parametrize("op", BOUNDS)
def test_bound(op):
    operands, truth, bound = BOUNDS[op]
    got = helper(op, *operands)
    worst = 0.0
    with mp.workdps(180 if op == "zeta" else 40):
        for g, *xs in zip(got, *operands):
            want = truth(*[mp.mpf(float(x)) for x in xs])
            if abs(want) < 1e-290:
                continue
            scale = max(1, abs(want)) if bound is None else abs(want)
            error = float(abs(mp.mpf(float(g)) - want) / scale) * 2**53
            worst = max(worst, error)
            allowed = (bound or 16) + (4 * abs(float(mp.log(want))) if op in ("igamma", "igammac", "betainc") else 0)
            assert error <= allowed, (op, xs, g, float(want), error)


def test_zeta_where_terms_underflow_and_their_sum_does_not():
    s, q = np.array([2.0, 3.5, 2.0, 1.5]), np.array([1e170, 1e100, 1e9, 1e300])
    np.testing.assert_allclose(helper("zeta", s, q), scalar_numpy.BINARY["zeta"](s, q), rtol=1e-13)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 60])
def test_functions_of_a_whole_order(n):
    x = np.concatenate([spread(RNG, 1e-4, 700, 40), [24.9, 25.0, n * n / 2 + 25, 2 * np.sqrt(n + 1)]])
    with mp.workdps(120):
        for v, g, e in zip(x, helper("jn", x, more=[n]), helper("expn", np.full_like(x, n), x)):
            want = mp.besselj(n, mp.mpf(v))
            size = max(abs(want), 0 if v < n else mp.sqrt(2 / (mp.pi * v)))
            assert abs(g - want) <= 256 * mp.mpf(2) ** -53 * size + 1e-300, (n, v)
            want = mp.expint(n, mp.mpf(v))
            assert abs(e - want) <= 32 * mp.mpf(2) ** -53 * want or want < 1e-300, (n, v)
    odd = np.array([-2.5, 0.0, -0.0, np.inf, -np.inf, np.nan])
    np.testing.assert_allclose(
        helper("jn", odd, more=[n]), scalar_numpy.MORE["jn"](odd, np.array(float(n))), rtol=1e-12, atol=1e-300
    )


def test_owens_t():
    h, a = RNG.uniform(-9, 9, 60), RNG.standard_normal(60) * RNG.choice([0.1, 1, 10], 60)
    for g, x, b in zip(helper("owens_t", h, a), h, a):
        with mp.workdps(30):
            inner = lambda t, x=x: mp.exp(-x * x * t * t / 2) / (1 + t * t)
            ends = [0, min(b, 9 / abs(x))] if b > 0 else [0, max(b, -9 / abs(x))]
            want = mp.exp(-x * x / 2) / (2 * mp.pi) * mp.quad(inner, [ends[1] * k / 4 for k in range(5)])
        assert abs(g - want) <= 1e-13 * abs(want), (x, b)


def test_faddeeva():
    z = RNG.standard_normal(200) * RNG.choice([1e-8, 0.01, 1, 8], 200) + 1j * RNG.standard_normal(200) * RNG.choice(
        [1e-8, 0.01, 1], 200
    )
    z = np.append(z, [0, 1e300, -1e9j + 1e9, 5j, -3j, 6.14, 1e-300j])
    out = np.empty_like(z)
    run_compiled(map_nest([expr("wofz", z.dtype, load(z.dtype, 0))], [z.dtype]), [z, out], [out.size], out.size)
    np.testing.assert_allclose(out, scalar_numpy.UNARY["wofz"](z), rtol=1e-13)
    with mp.workdps(40):
        for w, g in zip(z[:100], out):
            want = mp.exp(-(mp.mpc(w) ** 2)) * mp.erfc(-1j * mp.mpc(w))
            assert abs(mp.mpc(complex(g)) - want) <= (16 if w.imag >= 0 else 128) * mp.mpf(2) ** -53 * abs(want), w


SPECIALS = np.array([-np.inf, -3.0, -2.5, -1.0, -0.0, 0.0, 1e-300, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 40.0, np.inf, np.nan])


@pytest.mark.parametrize("op", BOUNDS)
def test_specials(op):
    count = len(BOUNDS[op][0])
    xs = [a.ravel() for a in np.meshgrid(*[SPECIALS] * count, indexing="ij")]
    table = {1: scalar_numpy.UNARY, 2: scalar_numpy.BINARY, 3: scalar_numpy.MORE}[count]
    with np.errstate(all="ignore"):
        want = table[op](*xs)
    got = helper(op, *xs)
    for row in zip(*xs, got, want):
        g, w = row[-2:]
        assert (np.isnan(g) and np.isnan(w)) or g == w or abs(g - w) <= 1e-13 * abs(w) or abs(w) < 1e-290, (op, row)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_derivatives_by_the_shape(n):
    a, x = np.append(SHAPES, SHAPES), np.append(SHAPES * ARGUMENTS, WIDE)
    want = scalar_numpy.MORE["gamma_ratio"](a, x, np.array(float(n)))
    np.testing.assert_allclose(helper("gamma_ratio", a, x, more=[n]), want, rtol=1e-12 if n < 3 else 1e-8)


ORDERS = [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (2, 1), (1, 3), (2, 2), (0, 4)]


@pytest.mark.parametrize("i, j", ORDERS)
def test_derivatives_by_two_parameters(i, j):
    """One kernel for all orders; for the last one also that in which they are constants, as in programs."""
    want = scalar_numpy.MORE["betainc_ratio"](LEFT, RIGHT, PLACE, np.array(float(i)), np.array(float(j)))
    orders = [np.full_like(LEFT, n) for n in (i, j)]
    answers = [helper("betainc_ratio", LEFT, RIGHT, PLACE, *orders)]
    if (i, j) == ORDERS[-1]:
        answers.append(helper("betainc_ratio", LEFT, RIGHT, PLACE, more=[i, j]))
    for got in answers:
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12 * np.max(np.abs(want)))
