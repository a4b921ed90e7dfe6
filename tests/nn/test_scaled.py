"""Block-scaled products against NumPy with the casts of ml_dtypes; gradients against what is written in the docstring."""

import ml_dtypes
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import nn
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(11)


def quantised(x, mode, scale=1.0):
    """Along the last axis, block by block."""
    out = np.array(x, np.float32, order="C") / np.float32(scale)
    size = {"mxfp8": 32, "nvfp4": 16}[mode]
    for row in out.reshape(-1, out.shape[-1]):
        for i in range(0, len(row), size):
            block = row[i : i + size]
            if mode == "mxfp8":
                s = np.float32(2.0) ** np.ceil(np.log2(np.abs(block).max() / np.float32(448)))
                row[i : i + size] = (block / s).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * s
            else:
                s = np.float32(ml_dtypes.float8_e4m3fn(min(np.abs(block).max() / np.float32(6), 448)))
                held = np.clip(block / s, -6, 6) if s else 0 * block
                row[i : i + size] = held.astype(ml_dtypes.float4_e2m1fn).astype(np.float32) * s
    return out * np.float32(scale)


CASES = [
    ((3, 64), (5, 64), (((1,), (1,)), ((), ())), "mk,nk->mn"),
    ((2, 3, 40), (2, 40, 4), (((2,), (1,)), ((0,), (0,))), "bmk,bkn->bmn"),
    ((8, 3, 8), (4, 8, 8), (((2, 0), (1, 2)), ((), ())), "jmi,nij->mn"),
    ((16, 2), (5, 2, 16), (((0,), (2,)), ((1,), (1,))), "kb,nbk->bn"),
    ((33,), (33,), (((0,), (0,)), ((), ())), "k,k->"),
]


def last(x, axes):
    """The contracted axes last and flat, and how to bring them back."""
    order = [i for i in range(x.ndim) if i not in axes] + list(axes)
    moved = x.transpose(order)
    flat = moved.reshape(*moved.shape[: x.ndim - len(axes)], -1)
    return flat, lambda q: q.reshape(moved.shape).transpose(np.argsort(order))


def along(x, axes, mode, scale=1.0):
    flat, back = last(x, axes)
    return back(quantised(flat, mode, scale))


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
@pytest.mark.parametrize("a,b,numbers,text", CASES, ids=lambda c: c if isinstance(c, str) else "")
def test_scaled_dot_general(a, b, numbers, text, mode):
    x, y = RNG.normal(size=a).astype("float32"), RNG.normal(size=b).astype("float32") * 50
    scale = {"mxfp8": None, "nvfp4": np.float32(0.25)}[mode]
    configs = [nn.get_scaled_dot_general_config(mode, scale)] * 3
    f = lambda x, y: nn.scaled_dot_general(x, y, numbers, configs=configs)
    (xc, yc), _ = numbers
    want = np.einsum(text, along(x, xc, mode, scale or 1.0), along(y, yc, mode, scale or 1.0))
    np.testing.assert_allclose(np.asarray(f(x, y)), want, rtol=2e-5, atol=1e-3)
    np.testing.assert_allclose(np.asarray(fg.jit(f)(x, y)), want, rtol=2e-5, atol=1e-3)
    exact = np.asarray(nn.scaled_dot_general(x, y, numbers))
    np.testing.assert_allclose(exact, np.einsum(text, x, y), rtol=1e-4, atol=1e-3)
    assert np.abs(exact - want).max() > 1e-4  # rounding is seen


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
@pytest.mark.parametrize("a,b,numbers,text", CASES[:4], ids=lambda c: c if isinstance(c, str) else "")
def test_cotangents(a, b, numbers, text, mode):
    x, y = RNG.normal(size=a).astype("float32"), RNG.normal(size=b).astype("float32")
    configs = [nn.get_scaled_dot_general_config(mode)] * 3
    out, pull = fg.vjp(lambda x, y: nn.scaled_dot_general(x, y, numbers, configs=configs), x, y)
    ct = RNG.normal(size=out.shape).astype("float32")
    left, right = text.split("->")[0].split(",")
    names = text.split("->")[1]

    def product(other, other_names, own):
        contracted = [c for c in names if c in other_names and c not in own]
        if mode == "nvfp4":
            return np.einsum(f"{names},{other_names}->{own}", ct, other)
        g = along(ct, [names.index(c) for c in contracted], mode)
        o = along(other, [other_names.index(c) for c in contracted], mode)
        return np.einsum(f"{names},{other_names}->{own}", g, o)

    for got, want in zip(pull(ct), (product(y, right, left), product(x, left, right))):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-4, atol=1e-4)


def test_what_is_beyond_the_largest_gets_no_cotangent():
    configs = [nn.get_scaled_dot_general_config("nvfp4", np.float32(1e-3))] * 3
    x = np.array([1.0, 5.0, -5.0, 2.0], np.float32)  # 1e-3 * 6 * 448 = 2.688
    g = fg.grad(lambda x: nn.scaled_dot_general(x, fnp.ones(4), (((0,), (0,)), ((), ())), configs=configs))(x)
    assert g.tolist() == [1, 0, 0, 1]


def test_zeros_batches_and_dtypes():
    configs = [nn.get_scaled_dot_general_config("nvfp4")] * 3
    numbers = (((1,), (0,)), ((), ()))
    assert (
        nn.scaled_dot_general(np.zeros((2, 16), "float32"), np.zeros((16, 3), "float32"), numbers, configs=configs).tolist()
        == [[0] * 3] * 2
    )
    x, y = RNG.normal(size=(3, 2, 16)).astype("float32"), RNG.normal(size=(16, 3)).astype("float32")
    f = lambda x: nn.scaled_dot_general(x, y, numbers, "bfloat16", configs)
    out = fg.vmap(f)(x)
    assert out.dtype == fnp.bfloat16 and all((out[i] == f(x[i])).all() for i in range(3))
    g = fg.grad(lambda x: f(x).sum().astype("float32"))(x[0].astype("float16"))
    assert g.dtype == np.float16 and g.shape == (2, 16)


def test_scaled_matmul():
    a, b = RNG.normal(size=(2, 3, 12)), RNG.normal(size=(2, 4, 12))
    s, t = RNG.uniform(0.5, 2, (2, 3, 4)), RNG.uniform(0.5, 2, (2, 4, 6))
    want = np.einsum("bmk,bnk->bmn", a * np.repeat(s, 3, -1), b * np.repeat(t, 2, -1))
    f = lambda *xs: nn.scaled_matmul(*xs, preferred_element_type="float64")
    np.testing.assert_allclose(np.asarray(fg.jit(f)(a, b, s, t)), want, rtol=1e-12)
    check_grads(f, (a, b, s, t), 2)
    narrow = nn.scaled_matmul(a.astype(ml_dtypes.float8_e4m3fn), b, s.astype(ml_dtypes.float8_e8m0fnu), t)
    assert narrow.dtype == np.float32
    exact = np.einsum(
        "bmk,bnk->bmn",
        a.astype(ml_dtypes.float8_e4m3fn).astype(float) * np.repeat(s.astype(ml_dtypes.float8_e8m0fnu).astype(float), 3, -1),
        b * np.repeat(t, 2, -1),
    )
    np.testing.assert_allclose(np.asarray(narrow), exact, rtol=1e-5, atol=1e-4)


X = np.ones((1, 2, 4), "float32")
WRONG = [
    (lambda: nn.scaled_matmul(X, X, X[..., :3], X), "K_l and K_r divide K"),
    (lambda: nn.scaled_matmul(X[0], X, X, X), "got shapes"),
    (lambda: nn.get_scaled_dot_general_config("int4"), "'mxfp8'"),
    (lambda: nn.get_scaled_dot_general_config("mxfp8", 1.0), "with a global_scale"),
    (lambda: nn.get_scaled_dot_general_config("nvfp4", np.ones(2)), "one element"),
    (lambda: nn.scaled_dot_general(X[0, 0], X[0, 0], (((0,), (0,)), ((), ())), configs=[1]), "three of them"),
    (lambda: nn.scaled_dot_general(X[0, 0], X[0, 0], (((0,), (0,)), ((), ())), "float64"), "float32, bfloat16 or float16"),
]


@pytest.mark.parametrize("call,text", WRONG)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()
    with pytest.warns(DeprecationWarning, match="no effect"):
        nn.scaled_dot_general(X[0, 0], X[0, 0], (((0,), (0,)), ((), ())), implementation="xla")
