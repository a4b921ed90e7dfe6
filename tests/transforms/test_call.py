"""The operator `jit`: a program called inside a program, under every transform."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.testing import counters

X = np.linspace(0.2, 1.4, 5)


@fg.jit
def inner(x, y):
    z = fnp.sin(x) * y
    return z, fnp.sum(z * z), y


def program(x):
    a, b, c = inner(x, 2.0 * x)
    return fnp.sum(a * c) + b


def plain(x):
    z = fnp.sin(x) * (2.0 * x)
    return fnp.sum(z * (2.0 * x)) + fnp.sum(z * z)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        fg.jit,
        fg.grad,
        fg.jacfwd,
        fg.hessian,
        lambda f: fg.jit(fg.grad(f)),
        lambda f: fg.grad(fg.jit(f)),
        lambda f: fg.jit(fg.hessian(fg.jit(f))),
        lambda f: fg.vmap(fg.grad(f), in_axes=None, axis_size=2),
        lambda f: lambda x: fg.vmap(fg.jit(fg.grad(f)))(fnp.stack([x, 2 * x])),
        lambda f: lambda x: fg.grad(lambda x: fnp.sum(fg.vmap(f)(fnp.stack([x, x * x]))))(x),
        lambda f: lambda x: fg.jvp(fg.grad(f), (x,), (fnp.ones_like(x),)),
    ],
)
def test_as_without_jit(transform):
    got, want = transform(program)(X), transform(plain)(X)
    for g, w in zip(fg.tree_util.tree_leaves(got), fg.tree_util.tree_leaves(want), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12)


def test_only_the_moving_part_is_differentiated():
    f = fg.jit(lambda x, n: (fnp.sin(x) * n, n + 1))
    out, pull = fg.vjp(f, 2.0, 3)
    g = pull((1.0, np.zeros((), [("float0", "V")])))
    assert float(g[0]) == pytest.approx(3 * np.cos(2.0), rel=1e-6)


def test_derived_programs_are_traced_once():
    f = fg.jit(lambda x: fnp.sum(fnp.exp(x) * x))
    g = fg.grad(f)
    g(X)
    with counters() as c:
        for _ in range(3):
            np.testing.assert_allclose(g(X), np.exp(X) * (X + 1))
    assert c.traces == 0 and c.compiled == 0


def test_closed_over_values_of_an_outer_derivative():
    def f(x):
        return fg.jit(lambda y: y * x)(3.0)

    assert float(fg.grad(f)(2.0)) == 3.0
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(X), 3 * np.ones(5))
    assert float(fg.jit(fg.grad(f))(2.0)) == 3.0
