"""Activations against their formulas in float64, softmax and its relatives with masks and infinities, attention against loops."""

import numpy as np
import pytest
import scipy.special as sp

import funcgrad as fg
import funcgrad.nn as nn
import funcgrad.numpy as fnp
from funcgrad import random

X = np.concatenate([np.linspace(-6, 6, 49), [-100.0, 100.0]])
INF = np.inf


def sigmoid(x):
    return sp.expit(x)


FORMULAS = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "sigmoid": sigmoid,
    "log_sigmoid": lambda x: -np.logaddexp(0, -x),
    "softplus": lambda x: np.logaddexp(0, x),
    "soft_sign": lambda x: x / (1 + abs(x)),
    "silu": lambda x: x * sigmoid(x),
    "swish": lambda x: x * sigmoid(x),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "celu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))),
    "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "identity": lambda x: x,
    "tanh": np.tanh,
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}


@pytest.mark.parametrize("name", list(FORMULAS))
def test_activation(name):
    f = getattr(nn, name)
    np.testing.assert_allclose(np.asarray(f(X)), FORMULAS[name](X), rtol=1e-12, atol=1e-15)
    assert f(X.astype(np.float32)).dtype == np.float32
    assert f(X.astype(np.float32).reshape(3, 17)).shape == (3, 17)
    np.testing.assert_allclose(np.asarray(fg.jit(f)(X)), FORMULAS[name](X), rtol=1e-11, atol=1e-14)
    h = 1e-6
    points = np.array([-50.0, -2.3, -0.4, 0.7, 2.2, 50.0])
    slope = (FORMULAS[name](points + h) - FORMULAS[name](points - h)) / (2 * h)
    got = np.asarray(fg.vmap(fg.grad(f))(points))
    np.testing.assert_allclose(got, slope, rtol=1e-5, atol=1e-7)
    assert np.isfinite(np.asarray(fg.vmap(fg.grad(fg.grad(f)))(np.array([-1000.0, 0.0, 1000.0])))).all()


def test_more_activations():
    np.testing.assert_allclose(np.asarray(nn.gelu(X, approximate=False)), X * sp.ndtr(X), rtol=1e-10, atol=1e-15)
    y = np.array([1e-10, 0.1, 0.6931, 0.6932, 5.0, 100.0])
    np.testing.assert_allclose(
        np.asarray(nn.log1mexp(y)), np.where(y < 0.5, np.log(-np.expm1(-y)), np.log1p(-np.exp(-y))), rtol=1e-12
    )
    z = X[:48].reshape(4, 12)
    np.testing.assert_allclose(np.asarray(nn.glu(z)), z[:, :6] * sigmoid(z[:, 6:]), rtol=1e-12)
    with pytest.raises(ValueError, match="even"):
        nn.glu(X)
    with pytest.raises(TypeError, match="nn.softplus"):
        nn.softplus(1j)
    assert fg.grad(nn.relu)(0.0) == 0 and fg.grad(nn.relu)(fnp.inf) == 1


@pytest.mark.parametrize("axis", [0, -1, (0, 1), None])
def test_softmax_family(axis):
    x = np.random.default_rng(0).normal(size=(3, 5)) * 50
    np.testing.assert_allclose(np.asarray(nn.softmax(x, axis)), sp.softmax(x, axis), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(nn.log_softmax(x, axis)), sp.log_softmax(x, axis), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(nn.logsumexp(x, axis)), sp.logsumexp(x, axis), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(nn.logsumexp(x, axis, keepdims=True)), sp.logsumexp(x, axis, keepdims=True), rtol=1e-12)
    n = np.size(x) / np.size(sp.logsumexp(x, axis))
    np.testing.assert_allclose(np.asarray(nn.logmeanexp(x, axis)), sp.logsumexp(x, axis) - np.log(n), rtol=1e-12)
    f = fg.jit(lambda x: nn.softmax(x, axis))
    np.testing.assert_allclose(np.asarray(f(x)), sp.softmax(x, axis), rtol=1e-11)


def test_infinities_and_masks():
    x = np.array([[-INF, -INF], [-INF, 1.0], [2.0, INF]])
    assert nn.logsumexp(x, 1).tolist() == [-INF, 1.0, INF]
    g = np.asarray(fg.grad(lambda v: fnp.where(fnp.isfinite(nn.logsumexp(v, 1)), nn.logsumexp(v, 1), 0.0).sum())(x))
    assert np.isfinite(g).all() and g[1].tolist() == [0, 1]
    np.testing.assert_allclose(np.asarray(nn.softmax(np.array([-INF, 1.0, 1.0]))), [0, 0.5, 0.5])
    mask = np.array([[True, False], [False, False], [True, True]])
    y = np.array([[1.0, INF], [np.nan, 5.0], [0.0, 0.0]])
    out = np.asarray(nn.softmax(y, -1, where=mask))
    assert out.tolist() == [[1, 0], [0, 0], [0.5, 0.5]]
    g = np.asarray(fg.grad(lambda v: (nn.softmax(v, -1, where=mask) ** 2).sum())(y))
    assert np.isfinite(g).all() and g[1].tolist() == [0, 0]
    assert nn.log_softmax(y, -1, where=mask).tolist() == [[0, -INF], [-INF, -INF], [-np.log(2), -np.log(2)]]
    assert nn.logsumexp(y, 1, where=mask).tolist() == [1.0, -INF, np.log(2)]
    s, sign = nn.logsumexp(np.array([1.0, 2.0]), b=np.array([1.0, -1.0]), return_sign=True)
    np.testing.assert_allclose([s, sign], [np.log(np.e**2 - np.e), -1])
    assert nn.logsumexp(np.zeros((0,))) == -INF
    assert nn.logsumexp(np.array([1000.0, -INF]), b=np.array([1.0, 0.0])) == 1000


def test_logsumexp_second_derivative():
    x = np.array([1.0, 1.0, -2.0])
    p = sp.softmax(x)
    np.testing.assert_allclose(np.asarray(fg.hessian(nn.logsumexp)(x)), np.diag(p) - np.outer(p, p), atol=1e-12)


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
def test_standardize(algorithm):
    x = np.random.default_rng(0).normal(size=(4, 6)) * 3 + 1
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(np.asarray(nn.standardize(x, algorithm=algorithm)), expected, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(nn.standardize(x, 0, mean=1.0, variance=4.0, epsilon=0.0)), (x - 1) / 2, rtol=1e-12)
    mask = np.arange(6) < 4
    got = np.asarray(nn.standardize(x, where=mask, algorithm=algorithm))[:, :4]
    part = x[:, :4]
    np.testing.assert_allclose(
        got, (part - part.mean(-1, keepdims=True)) / np.sqrt(part.var(-1, keepdims=True) + 1e-5), rtol=1e-9
    )


def test_one_hot():
    i = np.array([[0, 2], [5, -1]])
    expected = (i[..., None] == np.arange(3)).astype(np.float32)
    np.testing.assert_array_equal(np.asarray(nn.one_hot(i, 3)), expected)
    np.testing.assert_array_equal(np.asarray(nn.one_hot(i, 3, axis=0, dtype=int)), np.moveaxis(expected, -1, 0))
    assert nn.one_hot(np.array([200], np.uint8), 300).sum() == 1


def attention(q, k, v, allowed, bias=0.0, scale=None):
    scale = scale if scale is not None else 1 / np.sqrt(q.shape[-1])
    out = np.zeros(q.shape[:-1] + v.shape[-1:])
    groups = q.shape[2] // k.shape[2]
    for b in range(q.shape[0]):
        for n in range(q.shape[2]):
            logits = (
                q[b, :, n] @ k[b, :, n // groups].T * scale
                + np.broadcast_to(bias, (q.shape[0], q.shape[2], q.shape[1], k.shape[1]))[b, n]
            )
            m = np.broadcast_to(allowed, (q.shape[0], q.shape[2], q.shape[1], k.shape[1]))[b, n]
            for t in range(q.shape[1]):
                if m[t].any():
                    out[b, t, n] = sp.softmax(logits[t][m[t]]) @ v[b, :, n // groups][m[t]]
    return out


@pytest.mark.parametrize("heads", [4, 2, 1])
def test_attention(heads):
    r = np.random.default_rng(0)
    q, k, v = r.normal(size=(2, 5, 4, 3)), r.normal(size=(2, 6, heads, 3)), r.normal(size=(2, 6, heads, 3))
    rows, columns = np.arange(5)[:, None], np.arange(6)[None]
    f = nn.dot_product_attention
    np.testing.assert_allclose(np.asarray(f(q, k, v)), attention(q, k, v, True), rtol=1e-9)
    np.testing.assert_allclose(
        np.asarray(f(q, k, v, is_causal=True, scale=0.3)), attention(q, k, v, rows >= columns, scale=0.3), rtol=1e-9
    )
    mask, bias = r.random((2, 1, 5, 6)) < 0.6, r.normal(size=(1, 4, 5, 6))
    mask[0, 0, 2] = False
    np.testing.assert_allclose(np.asarray(f(q, k, v, bias, mask)), attention(q, k, v, mask, bias), rtol=1e-9, atol=1e-12)
    window = (rows <= columns + 2) & (rows >= columns - 1)
    np.testing.assert_allclose(np.asarray(f(q, k, v, local_window_size=(2, 1))), attention(q, k, v, window), rtol=1e-9)
    lengths = (columns < np.array([6, 3])[:, None, None, None]) & (rows < np.array([5, 2])[:, None, None, None])
    got, lse = f(q, k, v, query_seq_lengths=np.array([5, 2]), key_value_seq_lengths=np.array([6, 3]), return_residual=True)
    np.testing.assert_allclose(np.asarray(got), attention(q, k, v, lengths), rtol=1e-9, atol=1e-12)
    assert lse.shape == (2, 5, 4)
    np.testing.assert_allclose(np.asarray(f(q[0], k[0], v[0])), attention(q, k, v, True)[0], rtol=1e-9)
    g = fg.grad(lambda q: f(q, k, v, mask=mask).sum())(q)
    assert np.isfinite(np.asarray(g)).all() and not np.asarray(g)[0, 2].any()


@pytest.mark.parametrize(
    "name,variance",
    [
        ("glorot_uniform", 2 / 500),
        ("glorot_normal", 2 / 500),
        ("lecun_uniform", 1 / 200),
        ("lecun_normal", 1 / 200),
        ("he_uniform", 2 / 200),
        ("he_normal", 2 / 200),
        ("xavier_normal", 2 / 500),
        ("kaiming_uniform", 2 / 200),
    ],
)
def test_initializers(name, variance):
    init = getattr(nn.initializers, name)()
    w = init(random.key(0), (200, 300))
    assert w.dtype == np.float32 and abs(np.asarray(w).var() / variance - 1) < 0.03 and abs(np.asarray(w).mean()) < 1e-2
    assert getattr(nn.initializers, name)(dtype="float64")(random.key(0), (4, 5)).dtype == np.float64
    c = np.asarray(init(random.key(0), (200, 300), "complex64"))
    assert abs((np.abs(c) ** 2).mean() / variance - 1) < 0.03


def test_plain_initializers():
    i, k = nn.initializers, random.key(0)
    assert i.zeros(k, (2,)).tolist() == [0, 0] and i.ones(k, (2,), int).dtype == np.int64
    assert i.constant(3.0)(k, (2,)).tolist() == [3, 3]
    assert abs(np.asarray(i.normal(0.5)(k, (10000,))).std() - 0.5) < 0.02
    assert 0 <= np.asarray(i.uniform(0.5)(k, (1000,))).min() and np.asarray(i.uniform(0.5)(k, (1000,))).max() < 0.5
    assert abs(np.asarray(i.truncated_normal(1.0)(k, (1000,)))).max() < 2
    conv = i.he_normal(in_axis=2, out_axis=3)(k, (3, 3, 16, 32))
    assert abs(np.asarray(conv).var() / (2 / 144) - 1) < 0.1
    with pytest.raises(ValueError, match=r"got key<fry>\[\] for in_axis(?s:.)*glorot_normal\(\)\(key, shape\)"):
        i.glorot_normal(k, (3, 2))
    with pytest.raises(ValueError, match="mode"):
        i.variance_scaling(1.0, "fan", "normal")
    with pytest.raises(ValueError, match="axes"):
        i.he_normal()(k, (3,))


def test_jax_numbers():
    # jax.nn.initializers.he_normal / glorot_uniform with key(42), float32.
    k = random.key(42)
    np.testing.assert_allclose(np.asarray(nn.initializers.he_normal()(k, (2, 2))).ravel(), HE, rtol=3e-6)
    np.testing.assert_allclose(np.asarray(nn.initializers.glorot_uniform()(k, (2, 2))).ravel(), GLOROT, rtol=3e-6)


HE = [-0.030713632702827454, 0.5051931142807007, 0.32045117020606995, 0.16655728220939636]
GLOROT = [-0.027655795216560364, 0.44041135907173157, 0.2848058342933655, 0.14945827424526215]


@pytest.mark.parametrize(
    ("x", "want"),
    [
        ([np.inf, 0.0], [1, 0]), ([np.inf, -np.inf], [1, 0]), ([np.inf, np.inf], [0.5, 0.5]), ([-np.inf, 0.0], [0, 1]),
        ([-np.inf, -np.inf], [0, 0]), ([1e4, 1e4], [0.5, 0.5]),
    ],
)  # fmt: skip
def test_gradient_of_logsumexp_at_infinities(x, want):
    x = fnp.array(x)
    for g in (fg.grad(nn.logsumexp), fg.jacfwd(nn.logsumexp), fg.grad(lambda v: nn.logsumexp(v[None], 1)[0])):
        np.testing.assert_allclose(g(x), want)
        np.testing.assert_allclose(fg.jit(g)(x), want)
    assert np.isfinite(np.asarray(fg.hessian(nn.logsumexp)(x))).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_gelu_of_large_numbers(dtype):
    d = fnp.dtype(dtype)
    x = np.array([300.0, -300.0, 6e4, -6e4, 13.0, -13.0] + ([] if dtype == "float16" else [1e38, -1e38])).astype(d)
    for f in (nn.gelu, fg.jit(nn.gelu)):
        values, slopes = fg.jvp(f, (x,), (np.ones_like(x),))
        np.testing.assert_array_equal(np.asarray(values).astype(float), np.maximum(x.astype(float), 0))
        np.testing.assert_array_equal(np.asarray(slopes).astype(float), (x > 0).astype(float))
