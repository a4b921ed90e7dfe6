"""Scans in groups: checkpoint and progress change memory and the screen, never the result."""

import sys

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.errors import UsageError
from funcgrad.lax import progress

RNG = np.random.default_rng(3)
XS, W = RNG.normal(size=(10, 3)), RNG.normal(size=(3, 3)) * 0.5


def loss(w, xs, **options):
    c, ys = lax.scan(lambda c, x: (fnp.tanh(c @ w + x), c * x), xs[0], xs, **options)
    return fnp.sum(c**2) + fnp.sum(fnp.sin(ys))


@pytest.fixture
def no_tqdm(monkeypatch):
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: None)


OPTIONS = [
    {"checkpoint": "sqrt"},
    {"checkpoint": 1},
    {"checkpoint": 4},
    {"checkpoint": 20},
    {"checkpoint": 3, "reverse": True},
    {"progress": True},
    {"progress": "fit", "checkpoint": 2, "unroll": 2, "reverse": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_the_result_is_the_same(options, wrap, no_tqdm):
    plain = {"reverse": options.get("reverse", False)}
    want = fg.value_and_grad(lambda w, xs: loss(w, xs, **plain), (0, 1))(W, XS)
    got = wrap(fg.value_and_grad(lambda w, xs: loss(w, xs, **options), (0, 1)))(W, XS)
    for a, b in zip(fg.tree_util.tree_leaves(got), fg.tree_util.tree_leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_second_order_and_vmap_through_checkpoint():
    f, g = (lambda w, xs, k=k: loss(w, xs, checkpoint=k) for k in (None, 3))
    np.testing.assert_allclose(fg.hessian(g)(W, XS), fg.hessian(f)(W, XS), rtol=1e-7, atol=1e-9)
    many = np.stack([XS, 2 * XS])
    np.testing.assert_allclose(fg.vmap(fg.grad(g), (None, 0))(W, many), fg.vmap(fg.grad(f), (None, 0))(W, many), rtol=1e-7)


def test_memory_through_ten_thousand_steps():
    xs = np.zeros((10_000, 16))
    w = np.eye(16) * 0.5

    def last(w, **options):
        return fnp.sum(lax.scan(lambda c, x: (fnp.tanh(c @ w + x), None), xs[0], xs, **options)[0])

    plain = fg.explain(fg.grad(last))(w).program
    less = fg.explain(fg.grad(lambda w: last(w, checkpoint="sqrt")))(w).program
    assert less.arena < plain.arena / 5


def test_the_bar(no_tqdm, capsys):
    f = fg.jit(lambda x: lax.scan(lambda c, _: (c * 0.5, None), x, None, length=50, progress="half")[0])
    for _ in range(2):
        f(1.0)
        shown = capsys.readouterr().err
        assert shown.endswith("50/50, 0.0 s, 0.0 s to go\n") and shown.startswith("\rhalf [")


def test_the_bar_of_tqdm(monkeypatch, capsys):
    class Drawn:
        def __init__(self, total, desc, file):
            assert file is sys.stderr
            self.n, self.total, self.desc = 0, total, desc

        def update(self, n):
            self.n += n

        def close(self):
            sys.stderr.write(f"{self.desc} {self.n}/{self.total}")

    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(progress, "_tqdm", type("tqdm", (), {"tqdm": Drawn}))
    lax.scan(lambda c, _: (c + 1, None), 0, None, length=7, progress=True)
    assert capsys.readouterr().err == "scan 7/7"


def test_errors():
    for options, match in (
        ({"checkpoint": "log"}, "checkpoint='log'"),
        ({"checkpoint": 0}, "checkpoint=0"),
        ({"progress": 3}, "progress=3"),
    ):
        with pytest.raises(UsageError, match=match):
            loss(W, XS, **options)
