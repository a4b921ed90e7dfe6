"""Every distribution against SciPy's: Kolmogorov and Smirnov's test, the chi-square test for counts, and moments. The keys are fixed, so that
nothing here is left to chance."""

import numpy as np
import pytest
from scipy import special, stats

import funcgrad as fg
import funcgrad.random as R
from funcgrad.test_util import check_grads

K = R.key(7)
N = 20_000
LIKELY = 1e-3  # p-values below this say that the distribution is another one


def half(dist):
    """A distribution with either sign."""
    return lambda x: 0.5 + 0.5 * np.sign(x) * dist.cdf(np.abs(x))


# fmt: off
CONTINUOUS = {
    "beta": (lambda k, s, d: R.beta(k, 0.5, 3.0, s, d), stats.beta(0.5, 3).cdf),
    "ball": (lambda k, s, d: fg.numpy.sum(R.ball(k, 3, 2, s, d) ** 2, -1) ** 1.5, stats.uniform().cdf),
    "ball, a coordinate": (lambda k, s, d: R.ball(k, 4, 2, s, d)[..., 0], lambda x: stats.beta(2.5, 2.5).cdf((x + 1) / 2)),
    "ball of norm 1": (lambda k, s, d: fg.numpy.sum(abs(R.ball(k, 3, 1, s, d)), -1) ** 3, stats.uniform().cdf),
    "ball, cube": (lambda k, s, d: R.ball(k, 2, np.inf, s, d)[..., 1], stats.uniform(-1, 2).cdf),
    "cauchy": (lambda k, s, d: R.cauchy(k, s, d), stats.cauchy().cdf),
    "chisquare": (lambda k, s, d: R.chisquare(k, 3.0, s, d), stats.chi2(3).cdf),
    "dirichlet": (lambda k, s, d: R.dirichlet(k, np.array([0.5, 1.0, 2.5]), s, d)[..., 2], stats.beta(2.5, 1.5).cdf),
    "double_sided_maxwell": (lambda k, s, d: R.double_sided_maxwell(k, 1.0, 2.0, s, d), lambda x: half(stats.maxwell())((x - 1) / 2)),
    "exponential": (lambda k, s, d: R.exponential(k, s, d), stats.expon().cdf),
    "f": (lambda k, s, d: R.f(k, 3.0, 7.0, s, d), stats.f(3, 7).cdf),
    "gamma": (lambda k, s, d: R.gamma(k, 2.5, s, d), stats.gamma(2.5).cdf),
    "gamma below 1": (lambda k, s, d: R.gamma(k, 0.3, s, d), stats.gamma(0.3).cdf),
    "gamma large": (lambda k, s, d: R.gamma(k, 1e4, s, d), stats.gamma(1e4).cdf),
    "generalized_normal": (lambda k, s, d: R.generalized_normal(k, 1.5, s, d), stats.gennorm(1.5).cdf),
    "loggamma": (lambda k, s, d: R.loggamma(k, 0.2, s, d), stats.loggamma(0.2).cdf),
    "gumbel": (lambda k, s, d: R.gumbel(k, s, d), stats.gumbel_r().cdf),
    "gumbel high": (lambda k, s, d: R.gumbel(k, s, d, mode="high"), stats.gumbel_r().cdf),
    "laplace": (lambda k, s, d: R.laplace(k, s, d), stats.laplace().cdf),
    "logistic": (lambda k, s, d: R.logistic(k, s, d), stats.logistic().cdf),
    "lognormal": (lambda k, s, d: R.lognormal(k, 0.7, s, d), stats.lognorm(0.7).cdf),
    "maxwell": (lambda k, s, d: R.maxwell(k, s, d), stats.maxwell().cdf),
    "normal": (lambda k, s, d: R.normal(k, s, d), stats.norm().cdf),
    "pareto": (lambda k, s, d: R.pareto(k, 2.5, s, d), stats.pareto(2.5).cdf),
    "rayleigh": (lambda k, s, d: R.rayleigh(k, 1.5, s, d), stats.rayleigh(scale=1.5).cdf),
    "t": (lambda k, s, d: R.t(k, 2.5, s, d), stats.t(2.5).cdf),
    "triangular": (lambda k, s, d: R.triangular(k, -1.0, 0.5, 2.0, s, d), stats.triang(0.5, -1, 3).cdf),
    "truncated_normal": (lambda k, s, d: R.truncated_normal(k, -1.0, 2.0, s, d), stats.truncnorm(-1, 2).cdf),
    "truncated_normal far out": (lambda k, s, d: R.truncated_normal(k, 6.5, np.inf, s, d), stats.truncnorm(6.5, np.inf).cdf),
    "truncated_normal far below": (lambda k, s, d: R.truncated_normal(k, np.float64(-9.0), -8.8, s, d), stats.truncnorm(-9, -8.8).cdf),
    "t of a normal": (lambda k, s, d: R.t(k, np.inf, s, d), stats.norm.cdf),
    "f with infinite dfden": (lambda k, s, d: R.f(k, 3.0, np.float64(np.inf), s, d), stats.chi2(3, scale=1 / 3).cdf),
    "uniform": (lambda k, s, d: R.uniform(k, s, d, -1.0, 3.0), stats.uniform(-1, 4).cdf),
    "wald": (lambda k, s, d: R.wald(k, 1.5, s, d), stats.invgauss(1.5).cdf),
    "weibull_min": (lambda k, s, d: R.weibull_min(k, 2.0, 1.5, s, d), stats.weibull_min(1.5, scale=2).cdf),
}
COUNTS = {
    "bernoulli": (lambda k, s: R.bernoulli(k, 0.3, s), stats.bernoulli(0.3)),
    "bernoulli high": (lambda k, s: R.bernoulli(k, 0.7, s, "high"), stats.bernoulli(0.7)),
    "binomial few": (lambda k, s: R.binomial(k, 10, 0.3, s), stats.binom(10, 0.3)),
    "binomial likely": (lambda k, s: R.binomial(k, 12, 0.9, s), stats.binom(12, 0.9)),
    "binomial many": (lambda k, s: R.binomial(k, 100, 0.3, s), stats.binom(100, 0.3)),
    "binomial many likely": (lambda k, s: R.binomial(k, 60, 0.75, s), stats.binom(60, 0.75)),
    "binomial rare": (lambda k, s: R.binomial(k, 20_000, 1e-3, s), stats.binom(20_000, 1e-3)),
    "categorical": (lambda k, s: R.categorical(k, np.log(np.array([0.2, 0.5, 0.3])), shape=s), stats.rv_discrete(values=([0, 1, 2], [0.2, 0.5, 0.3]))),
    "choice": (lambda k, s: R.choice(k, 4, s, p=np.array([0.1, 0.2, 0.3, 0.4])), stats.rv_discrete(values=(range(4), [0.1, 0.2, 0.3, 0.4]))),
    "geometric": (lambda k, s: R.geometric(k, 0.3, s), stats.geom(0.3)),
    "poisson few": (lambda k, s: R.poisson(k, 3.5, s), stats.poisson(3.5)),
    "poisson many": (lambda k, s: R.poisson(k, 40.0, s), stats.poisson(40)),
    "rademacher": (lambda k, s: R.rademacher(k, s), stats.rv_discrete(values=([-1, 1], [0.5, 0.5]))),
    "randint": (lambda k, s: R.randint(k, s, -3, 8), stats.randint(-3, 8)),
}
# fmt: on


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name, dtype):
    draw, cdf = CONTINUOUS[name]
    x = np.asarray(draw(K, (N,), dtype))
    assert x.dtype == dtype and x.shape == (N,) and np.isfinite(x).all()
    assert stats.kstest(x.astype(np.float64), cdf).pvalue > LIKELY
    if dtype == "float32":  # compiled, the same
        np.testing.assert_allclose(np.asarray(fg.jit(lambda k: draw(k, (N,), dtype))(K)), x, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    draw, dist = COUNTS[name]
    x = np.asarray(draw(K, (N,))).astype(np.int64)
    low, high = dist.ppf(5 / N), dist.isf(5 / N)
    edges = np.arange(low, high + 1)
    inner = dist.pmf(edges[1:-1]) if len(edges) > 2 else np.zeros(0)
    wanted = N * np.array([dist.cdf(edges[0]), *inner, 1 - dist.cdf(edges[-1] - 1)][: len(edges)])
    place = np.clip(x, edges[0], edges[-1]) - edges[0]
    got = np.bincount(place.astype(int), minlength=len(edges))
    keep = wanted > 0
    assert x.min() >= dist.support()[0] and x.max() <= dist.support()[1] and got[~keep].sum() == 0
    assert stats.chisquare(got[keep], wanted[keep] * got.sum() / wanted[keep].sum()).pvalue > LIKELY
    assert abs(x.mean() - dist.mean()) < 5 * dist.std() / np.sqrt(N)
    assert abs(x.std() / dist.std() - 1) < 0.05
    np.testing.assert_array_equal(np.asarray(fg.jit(lambda k: draw(k, (N,)))(K)).astype(np.int64), x)


SAME_PROGRAM = {
    "ball, a coordinate",
    "ball of norm 1",
    "binomial likely",
    "binomial many likely",
    "binomial rare",
    "gamma below 1",
    "gamma large",
}


DIFFERENT = [name for name in [*CONTINUOUS, *COUNTS] if name not in SAME_PROGRAM]


def wide(name):
    return (lambda k, s: CONTINUOUS[name][0](k, s, "float64")) if name in CONTINUOUS else COUNTS[name][0]


@pytest.fixture(scope="module")
def rows_of_batch():
    """Numbers of a batch of keys from each distribution, by programs of ten, whose kernels are compiled side by side."""
    keys, found = R.split(K, 3), {}
    for k in range(0, len(DIFFERENT), 10):
        names = DIFFERENT[k : k + 10]
        rows = fg.jit(fg.vmap(lambda key, names=names: [wide(name)(key, (4,)) for name in names]))(keys)
        found |= dict(zip(names, map(np.asarray, rows), strict=True))
    return keys, found


@pytest.mark.parametrize("name", DIFFERENT)
def test_keys_of_a_batch_draw_as_alone(name, rows_of_batch):
    keys, rows = rows_of_batch
    for row, k in zip(rows[name], keys, strict=True):
        np.testing.assert_allclose(row, np.asarray(wide(name)(k, (4,))), rtol=1e-9)


@pytest.mark.parametrize("name", ["normal", "gamma", "binomial many", "poisson few"])
def test_keys_of_a_batch_draw_as_alone_outside_jit(name):
    draw = (lambda k, s: CONTINUOUS[name][0](k, s, "float32")) if name in CONTINUOUS else COUNTS[name][0]
    keys = R.split(K, 3)
    rows = np.asarray(fg.vmap(lambda k: draw(k, (70,)))(keys))
    for row, k in zip(rows, keys):
        np.testing.assert_allclose(row, np.asarray(draw(k, (70,))), rtol=1e-5)


@pytest.mark.parametrize("name", [*CONTINUOUS, *COUNTS])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3)])
def test_shapes(name, shape):
    draw = (lambda k, s: CONTINUOUS[name][0](k, s, "float32")) if name in CONTINUOUS else COUNTS[name][0]
    assert draw(K, shape).shape == shape
    assert fg.eval_shape(lambda k: draw(k, shape), K).shape == shape


def columns(*shapes):
    return [np.full(s, 0.4) for s in shapes]


BROADCAST = {
    "beta": lambda a, b, **o: R.beta(K, a, b, **o),
    "f": lambda a, b, **o: R.f(K, a, b, **o),
    "gamma": lambda a, b, **o: R.gamma(K, a + b, **o),
    "t": lambda a, b, **o: R.t(K, a + b, **o),
    "dirichlet": lambda a, b, **o: R.dirichlet(K, (a + b)[..., None] * np.ones(2), **o)[..., 0],
    "binomial": lambda a, b, **o: R.binomial(K, 10 * a, b, **o),
    "truncated_normal": lambda a, b, **o: R.truncated_normal(K, -a, b, **o),
    "poisson": lambda a, b, **o: R.poisson(K, a + b, **o),
    "geometric": lambda a, b, **o: R.geometric(K, a + b, **o),
    "multinomial": lambda a, b, **o: R.multinomial(K, a * 10, b[..., None] * np.ones(2), **{k: (*v, 2) for k, v in o.items()})[
        ..., 0
    ],
}


@pytest.mark.parametrize("name", BROADCAST)
def test_parameters_broadcast(name):
    draw = BROADCAST[name]
    a, b = columns((3, 1), (4,))
    assert draw(a, b).shape == (3, 4)
    assert draw(a, b, shape=(2, 3, 4)).shape == (2, 3, 4)
    with pytest.raises(ValueError, match="shape"):
        draw(a, b, shape=(4,))


def test_multinomial():
    p = np.array([0.2, 0.0, 0.5, 0.3])
    x = np.asarray(R.multinomial(K, 50, p, shape=(5000, 4), dtype="float64"))
    assert (x.sum(-1) == 50).all() and (x[:, 1] == 0).all() and (x == np.floor(x)).all()
    np.testing.assert_allclose(x.mean(0), 50 * p, atol=0.25)
    np.testing.assert_allclose(np.cov(x.T), 50 * (np.diag(p) - np.outer(p, p)), atol=0.9)
    np.testing.assert_array_equal(
        np.asarray(fg.jit(lambda k: R.multinomial(k, 50, p, shape=(5000, 4), dtype="float64", unroll=2))(K)), x
    )
    assert R.multinomial(K, np.array([3.0, 5.0]), p).shape == (2, 4) and R.multinomial(K, 3.0, np.zeros((0, 4))).shape == (0, 4)


def test_multivariate_normal():
    mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 0.5]])
    for method in ("cholesky", "eigh", "svd"):
        x = np.asarray(R.multivariate_normal(K, mean, cov, (N,), method=method))
        np.testing.assert_allclose(x.mean(0), mean, atol=0.03)
        np.testing.assert_allclose(np.cov(x.T), cov, atol=0.05)
        white = np.linalg.solve(np.linalg.cholesky(cov), (x - mean).T)
        assert stats.kstest(np.sum(white**2, 0), stats.chi2(2).cdf).pvalue > LIKELY


def test_orthogonal_matrices_are_uniform():
    q = np.asarray(R.orthogonal(K, 3, (2000,), "float64"))
    np.testing.assert_allclose(q @ q.swapaxes(1, 2), np.broadcast_to(np.eye(3), q.shape), atol=1e-12)
    # A coordinate of a uniform direction in three dimensions is uniform.
    assert stats.kstest(q[:, 0, 0], stats.uniform(-1, 2).cdf).pvalue > LIKELY


def test_permutations_are_uniform():
    x = np.asarray(fg.vmap(lambda k: R.permutation(k, 4))(R.split(K, 4800)))
    number = x @ np.array([64, 16, 4, 1])
    _, counts = np.unique(number, return_counts=True)
    assert len(counts) == 24 and stats.chisquare(counts).pvalue > LIKELY


def test_bits_are_even():
    for dtype in ("uint8", "uint16", "uint32", "uint64"):
        x = np.asarray(R.bits(K, (N,), dtype))
        ones = np.array([np.count_nonzero(x >> x.dtype.type(i) & x.dtype.type(1)) for i in range(x.dtype.itemsize * 8)])
        assert np.abs(ones - N / 2).max() < 4.5 * np.sqrt(N) / 2


# --- gamma numbers --------------------------------------------------------------------------------------------------------


def test_dirichlet_vectors():
    alpha = np.array([0.5, 1.0, 2.5])
    x = np.asarray(R.dirichlet(K, alpha, (N,), "float64"))
    np.testing.assert_allclose(x.sum(-1), 1, rtol=1e-12)
    np.testing.assert_allclose(x.mean(0), alpha / 4, atol=0.01)
    np.testing.assert_allclose(np.cov(x.T), stats.dirichlet(alpha).cov(), atol=0.002)
    assert np.isfinite(np.asarray(R.dirichlet(K, np.full(3, 1e-4), (1000,)))).all()
    assert R.dirichlet(K, np.ones((2, 3))).shape == (2, 3) and R.dirichlet(K, np.ones((2, 0))).shape == (2, 0)


def test_gamma_edges():
    x = np.asarray(R.gamma(K, np.array([0.0, np.inf, np.nan, -0.5, -2.0])))
    assert x[0] == 0 and x[1] == np.inf and np.isnan(x[2:]).all()
    logs = np.asarray(R.loggamma(K, np.full(100, 1e-6)))
    assert np.isfinite(logs).all() and logs.min() < -1e6
    beta = np.asarray(R.beta(K, 1e-5, 1e-5, (1000,)))
    assert set(beta) <= {0.0, 1.0} and 400 < beta.sum() < 600
    assert R.gamma(K, 2, dtype="bfloat16").dtype == "bfloat16" and R.gamma(K, np.array([2, 3])).dtype == np.float32


def implicit(a, x, h=1e-5):
    """How the number of shape parameter a moves with it, at a fixed probability."""
    p = special.gammainc(a, x)
    return (special.gammaincinv(a + h, p) - special.gammaincinv(a - h, p)) / (2 * h)


@pytest.mark.parametrize("run", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_gamma_follows_its_parameter(run):
    a = np.array([0.4, 0.9, 1.0, 2.5, 30.0])
    draw = lambda a: R.gamma(K, a, dtype="float64")  # noqa: E731
    x, slope = run(lambda a: fg.jvp(draw, (a,), (np.ones(5),)))(a)
    np.testing.assert_allclose(slope, implicit(a, np.asarray(x)), rtol=1e-6)
    back = run(fg.grad(lambda a: draw(a).sum()))(a)
    np.testing.assert_allclose(back, slope, rtol=1e-12)
    logs = run(fg.grad(lambda a: R.loggamma(K, a, dtype="float64").sum()))(a)
    np.testing.assert_allclose(logs, np.asarray(slope) / np.asarray(x), rtol=1e-9)
    bend = run(fg.grad(lambda a: fg.grad(lambda b: draw(b).sum())(a).sum()))(a)
    p, h = special.gammainc(a, np.asarray(x)), 1e-3
    want = (special.gammaincinv(a + h, p) - 2 * np.asarray(x) + special.gammaincinv(a - h, p)) / h**2
    np.testing.assert_allclose(bend, want, rtol=1e-3, atol=1e-5)


def test_logarithms_of_tiny_gamma_numbers_follow_their_parameter():
    # log x = log(u) / a to rounding, so that it moves by -log(x) / a.
    a = np.array([1e-3, 1e-5])
    logs, slope = fg.jvp(lambda a: R.loggamma(K, a, dtype="float64"), (a,), (np.ones(2),))
    np.testing.assert_allclose(slope, -np.asarray(logs) / a, rtol=1e-2)
    assert fg.grad(lambda a: R.gamma(K, a))(1e-5) == 0


@pytest.mark.parametrize(
    "draw,parameters,slopes",
    [
        (lambda a, b: R.beta(K, a, b, (N,)), (2.0, 3.0), (3 / 25, -2 / 25)),
        (lambda n: R.chisquare(K, n, (N,)), (3.0,), (1.0,)),
        (lambda n: R.f(K, 3.0, n, (N,)), (9.0,), (-2 / 49,)),
        (lambda n: abs(R.t(K, n, (N,))), (4.0,), (-0.0681,)),
        (lambda a: R.dirichlet(K, np.array([1.0, 2.0]) * a, (N,))[:, 0] ** 2, (1.0,), (-1 / 24,)),
        (lambda a: R.gamma(K, a, (N,)) ** 2, (1.5,), (4.0,)),
    ],
)
def test_means_follow_the_parameters(draw, parameters, slopes):
    for i, slope in enumerate(slopes):
        one = lambda *ps: fg.numpy.mean(draw(*ps))  # noqa: E731
        got = float(fg.grad(one, i)(*parameters))
        assert abs(got - slope) < 0.05 * max(abs(slope), 0.1), (got, slope)


def test_errors_of_gamma_numbers():
    with pytest.raises(ValueError, match="last axis"):
        R.dirichlet(K, 1.0)
    with pytest.raises(ValueError, match="positive"):
        R.generalized_normal(K, 0)
    with pytest.raises(ValueError, match="dimension"):
        R.ball(K, -1)
    with pytest.raises(TypeError, match="floating"):
        R.gamma(K, 2.0, dtype="int32")
    with pytest.raises(TypeError, match=r"random\.gamma"):
        R.random_gamma_p(R.split(K, 3), np.ones(3, int), log_space=False)
    with pytest.raises(ValueError, match="vmap"):
        R.t(R.split(K), 3.0)


def test_all_names_are_there():
    names = """PRNGKey ball bernoulli beta binomial bits categorical cauchy chisquare choice clone dirichlet double_sided_maxwell exponential f
    fold_in gamma generalized_normal geometric gumbel key key_data key_dtype key_impl laplace loggamma logistic lognormal maxwell multinomial
    multivariate_normal normal orthogonal pareto permutation poisson rademacher randint random_gamma_p rayleigh split t triangular
    truncated_normal uniform wald weibull_min wrap_key_data"""
    assert set(names.split()) == set(R.__all__)


# --- counts at their edges ----------------------------------------------------------------------------------------------


def test_poisson_edges():
    x = R.poisson(K, np.array([0.0, -1.0, np.nan, np.inf, 1e30]), dtype="int32")
    assert x.tolist() == [0, -1, -1, 2**31 - 1, 2**31 - 1] and x.dtype == np.int32
    assert R.poisson(K, np.array([0, 3])).dtype == np.int64 and R.poisson(K, 300.0, (50,), "uint8").max() == 255
    big = np.asarray(R.poisson(K, np.float64(1e12), (1000,)))
    assert abs(big.mean() - 1e12) < 2e5 and len(set(big % 1000)) > 500  # a float32 would end in zeros
    with pytest.raises(TypeError, match="integer dtype"):
        R.poisson(K, 3.0, dtype="float32")


@pytest.mark.parametrize("run", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_counts_have_no_derivative(run):
    lam, p = np.array([2.5, 30.0]), np.array([0.2, 0.8])
    assert (run(fg.grad(lambda x: (R.poisson(K, x) * x).sum()))(lam) == R.poisson(K, lam)).all()
    assert (run(fg.grad(lambda x: (R.binomial(K, 40, x) * x).sum()))(p) == R.binomial(K, 40, p)).all()
    assert (run(fg.grad(lambda x: (R.multinomial(K, 40, x) * x).sum()))(p) == R.multinomial(K, 40, p)).all()


def test_binomial_edges():
    n = np.array([5, 5, 0, 7, -1, np.nan, np.inf, 5, 5, 5])
    p = np.array([0, 1, 0.5, 0.5, 0.5, 0.5, 0.5, -0.1, 1.1, np.nan])
    x = np.asarray(R.binomial(K, n, p))
    np.testing.assert_array_equal(x[[0, 1, 2]], [0, 5, 0])
    assert 0 <= x[3] <= 7 and x[6] == np.inf and np.isnan(x[[4, 5, 7, 8, 9]]).all()
    assert R.binomial(K, 3, 0.5, dtype="float16").dtype == np.float16
    with pytest.raises(TypeError, match="floating"):
        R.binomial(K, 3, 0.5, dtype="int32")
    with pytest.raises(ValueError, match="last axis"):
        R.multinomial(K, 3, 0.5)


def test_errors_name_the_function():
    for draw in (
        lambda: R.poisson(0, 3.0),
        lambda: R.binomial(np.zeros(3), 3, 0.5),
        lambda: R.multinomial("a", 3, np.ones(2) / 2),
    ):
        with pytest.raises(TypeError, match=r"random\.(poisson|binomial|multinomial)"):
            draw()


@pytest.mark.parametrize("mean", [1e-6, 1.0, 1e4, 1e8])
def test_wald_numbers_are_positive_and_have_their_median(mean):
    x = np.asarray(R.wald(R.key(3), mean, (20000,)))
    assert (x > 0).all()
    want = stats.invgauss(mean).median()
    assert abs((x < want).mean() - 0.5) < 0.02


@pytest.mark.parametrize(
    "dtype, low, high",
    [(d, *bounds) for d in ("float32", "float64") for bounds in ((30.0, 31.0), (30.0, np.inf), (6.5, 6.6), (1e3, np.inf))]
    + [("float32", 4.5, 40.0), ("float32", 4.1, 4.2)],
)
def test_normal_numbers_far_out(dtype, low, high):
    """By SciPy's tails, whether the bounds are known when it is compiled or not; mirrored on the left."""
    draw = lambda low, high: R.truncated_normal(K, low, high, (400,), dtype)
    x = np.asarray(draw(low, high))
    assert x.dtype == dtype and (x > low).all() and (x < high).all()
    tail = lambda x: np.expm1(stats.norm.logsf(x) - stats.norm.logsf(low))
    spacing = np.spacing(np.array(low, dtype)).astype(float) * low  # of p
    np.testing.assert_allclose(tail(x.astype(float)) / tail(high), R.uniform(K, (400,), dtype), atol=1e-6 + 4 * spacing)
    a, b = np.array(low, dtype), np.array(high, dtype)
    np.testing.assert_allclose(fg.jit(draw)(a, b), x, rtol=1e-6)
    np.testing.assert_allclose(-np.asarray(draw(-b, -a)), x, rtol=1e-6)
    some = np.where(np.arange(400) % 2, low, -1).astype(dtype)
    mixed = np.asarray(fg.jit(draw)(some, b))
    np.testing.assert_allclose(mixed[1::2], x[1::2], rtol=1e-6)
    np.testing.assert_allclose(mixed[::2], np.asarray(draw(-1.0, high))[::2], rtol=1e-4)


def test_slopes_of_normal_numbers_far_out():
    for bounds in ((7.0, 9.0), (-9.0, -7.5), (20.0, 20.1)):
        check_grads(
            lambda low, high: R.truncated_normal(K, low, high, (5,), "float64"), tuple(map(np.float64, bounds)), 1, rtol=1e-4
        )


def test_many_degrees_of_freedom():
    n = np.asarray(R.normal(R.split(K)[0], (3,)))
    for f in (R.t, fg.jit(R.t, static_argnames="shape")):
        np.testing.assert_allclose(f(K, np.float32(np.inf), shape=(3,)), n, rtol=1e-6)
        np.testing.assert_allclose(f(K, np.float32(1e30), shape=(3,)), n, rtol=1e-6)
        assert np.asarray(f(K, np.array([np.inf, 3.0, 3.0], np.float32)))[0] == pytest.approx(n[0], rel=1e-6)
    assert fg.grad(lambda df: R.t(K, df))(np.float32(np.inf)) == 0
    assert R.f(K, np.inf, np.inf) == 1


def test_weibull_numbers_of_concentration_0_are_at_the_ends():
    for c in (0, 0.0, np.float32(0)):
        for f in (R.weibull_min, fg.jit(R.weibull_min, static_argnums=3)):
            assert set(np.asarray(f(K, 1.0, c, (50,))).tolist()) == {0, np.inf}
