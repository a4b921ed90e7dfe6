"""vmap against Python loops."""

from functools import partial

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

RNG = np.random.default_rng(3)


def test_axes_of_inputs_and_outputs():
    a, b = RNG.normal(size=(3, 5)), RNG.normal(size=(5, 4))
    f = lambda x, y: fnp.outer(x, y)
    out = fg.vmap(f, in_axes=(1, 0), out_axes=2)(a, b)
    np.testing.assert_allclose(out, np.stack([np.outer(a[:, i], b[i]) for i in range(5)], axis=2))
    out = fg.vmap(f, in_axes=(-1, None), out_axes=-1)(a, b[0])
    np.testing.assert_allclose(out, np.stack([np.outer(a[:, i], b[0]) for i in range(5)], axis=-1))


def test_pytrees_of_axes():
    tree = {"w": RNG.normal(size=(3, 2)), "b": RNG.normal(size=(2, 3))}
    f = lambda t, x: {"y": t["w"] @ x + t["b"].sum(), "b": t["b"]}
    out = fg.vmap(f, in_axes=({"w": None, "b": 1}, 0), out_axes={"y": 1, "b": 0})(tree, RNG.normal(size=(3, 2)))
    assert out["y"].shape == (3, 3) and out["b"].shape == (3, 2)
    np.testing.assert_allclose(out["b"], tree["b"].T)


def test_nested():
    x, y = RNG.normal(size=4), RNG.normal(size=5)
    table = fg.vmap(fg.vmap(lambda a, b: fnp.sin(a) * b, (None, 0)), (0, None))(x, y)
    np.testing.assert_allclose(table, np.sin(x)[:, None] * y[None])


def test_unbatched_outputs_and_axis_size():
    out = fg.vmap(lambda x: 3.0, axis_size=4, in_axes=None)(1.0)
    np.testing.assert_array_equal(out, [3.0] * 4)
    assert float(fg.vmap(lambda x: 3.0, out_axes=None)(np.ones(2))) == 3.0


def test_empty_batch():
    assert fg.vmap(lambda x: x @ x)(np.ones((0, 3))).shape == (0,)


def test_per_example_gradients():
    w, xs = RNG.normal(size=3), RNG.normal(size=(6, 3))
    g = lambda w, x: fnp.tanh(w @ x) ** 2
    want = np.stack([2 * np.tanh(w @ x) * (1 - np.tanh(w @ x) ** 2) * x for x in xs])
    np.testing.assert_allclose(fg.vmap(fg.grad(g), (None, 0))(w, xs), want)
    np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(g), (None, 0)))(w, xs), want)
    np.testing.assert_allclose(fg.vmap(fg.jit(fg.grad(g)), (None, 0))(w, xs), want)


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match=r"(?s)different batch sizes: 3 .*; 4 "):
        fg.vmap(lambda a, b: a)(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match="axis 2"):
        fg.vmap(lambda a: a, in_axes=2)(np.ones((3, 3)))
    with pytest.raises(ValueError, match="entries"):
        fg.vmap(lambda a: a, in_axes=(0, 0))(np.ones(3))
    with pytest.raises(ValueError, match="scalar"):
        fg.vmap(lambda a: a)(1.0)
    with pytest.raises(ValueError, match="depends on the batch"):
        fg.vmap(lambda a: a, out_axes=None)(np.ones(3))
    with pytest.raises(ValueError, match="batched"):
        fg.vmap(lambda a: a, in_axes=None)(np.ones(3))


def test_branch_on_a_batched_value_is_an_error():
    with pytest.raises(TypeError, match="where"):
        fg.vmap(lambda x: x if x > 0 else -x)(np.ones(3))


@pytest.mark.parametrize("out_axes", [0, 1])
def test_a_scalar_of_each_example_beside_an_array_that_all_share(out_axes):
    a, b = np.arange(2.0), np.arange(3.0)
    for f in (lambda x, y: x - y, lambda x, y: fnp.where(x > 0, y, x * y), lambda x, y: fnp.where(y > 1, x, 6) % 5):
        want = np.array([[f(x, y) for y in b] for x in a])
        got = fg.vmap(lambda x, f=f: fg.vmap(partial(f, x))(b), out_axes=out_axes)(a)
        np.testing.assert_array_equal(got, want if out_axes == 0 else want.T)
