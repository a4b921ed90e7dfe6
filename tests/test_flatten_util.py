import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.flatten_util import ravel_pytree

TREES = [
    {"w": np.arange(6.0).reshape(2, 3), "b": np.float64(7)},
    (np.ones(2, np.float32), [np.arange(3), 2.5], None),
    np.array([True, False]),
    {"h": np.ones((1, 2), np.float16), "n": np.arange(2, dtype=np.int8)},
    (np.array(1 + 2j), np.arange(2.0)),
    [np.zeros((0, 3)), np.float32(1)],
    3,
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_there_and_back(tree):
    vector, unravel = ravel_pytree(tree)
    leaves = [np.asarray(x) for x in fg.tree.leaves(tree)]
    np.testing.assert_array_equal(vector, np.concatenate([x.ravel() for x in leaves]))
    assert vector.dtype == fnp.result_type(*fg.tree.leaves(tree))
    for back in (unravel(vector), fg.jit(unravel)(vector)):
        assert fg.tree.structure(back) == fg.tree.structure(tree)
        for got, want in zip(fg.tree.leaves(back), fg.tree.leaves(tree), strict=True):
            np.testing.assert_array_equal(got, want)
            assert got.shape == np.shape(want) and got.dtype == fnp.asarray(want).dtype


def test_of_nothing():
    vector, unravel = ravel_pytree({})
    assert vector.shape == (0,) and unravel(vector) == {}


def test_inside_transforms():
    tree = {"w": np.arange(4.0).reshape(2, 2), "b": np.ones(2)}
    vector, unravel = ravel_pytree(tree)
    loss = lambda t: fnp.sum(t["w"] ** 2) + fnp.sum(t["b"] * 3)
    g = fg.grad(lambda v: loss(unravel(v)))(vector)
    np.testing.assert_allclose(g, ravel_pytree(fg.grad(loss)(tree))[0])
    assert fg.jit(lambda t: ravel_pytree(t)[0])(tree).tolist() == vector.tolist()
    assert fg.vmap(lambda t: ravel_pytree(t)[0])({"w": np.ones((3, 2)), "b": np.zeros(3)}).shape == (3, 3)
    assert fg.hessian(lambda v: loss(unravel(v)))(vector).shape == (6, 6)


def test_a_vector_that_does_not_fit():
    _, unravel = ravel_pytree({"w": np.ones(3)})
    with pytest.raises(ValueError, match="a vector of 3 elements"):
        unravel(fnp.ones(2, "float64"))
    with pytest.raises(TypeError, match="dtype float64"):
        unravel(fnp.ones(3, "float32"))
    with pytest.raises(TypeError, match="str"):
        ravel_pytree({"w": "a"})
