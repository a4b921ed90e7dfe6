"""scatter_apply against a loop over the windows."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.test_util import check_grads

EACH = lax.ScatterDimensionNumbers((), (0,), (0,))
ROWS = lax.ScatterDimensionNumbers((1,), (0,), (0,))
PAIRS = lax.ScatterDimensionNumbers((1,), (), (0,))  # windows of two, which meet
X = np.array([0.5, -1.0, 2.0, 0.25, 3.0])


def f(v):
    return fnp.sin(v) + v * v


def n(v):
    return np.sin(v) + v * v


def loop(x, starts, width):
    out = x.copy()
    for s in starts:
        out[s : s + width] = n(out[s : s + width])
    return out


CASES = [
    (X, [[1], [3]], EACH, (2,), 1),
    (X, [[1], [3], [1], [1]], EACH, (4,), 1),
    (X, [[2]], EACH, (1,), 1),
    (X, [[0], [1], [3]], PAIRS, (3, 2), 2),
    (X, np.zeros((0, 1), int), EACH, (0,), 1),
]


@pytest.mark.parametrize("x,where,numbers,shape,width", CASES)
def test_windows_that_meet_are_changed_as_often(x, where, numbers, shape, width):
    g = lambda x, i: lax.scatter_apply(x, i, f, numbers, update_shape=shape)
    want = loop(x, np.ravel(where), width)
    i = np.asarray(where)
    np.testing.assert_allclose(np.asarray(g(x, i)), want, rtol=1e-14)
    np.testing.assert_allclose(np.asarray(fg.jit(g)(x, i)), want, rtol=1e-12)
    check_grads(lambda x: g(x, i), (x,), 1)
    check_grads(fg.jit(lambda x: g(x, i)), (x,), 1)


def test_rows_batches_and_promises():
    x = np.arange(6.0).reshape(3, 2)
    g = lambda x, i: lax.scatter_apply(x, i, f, ROWS, update_shape=(2, 2), unique_indices=True)
    want = x.copy()
    want[[2, 0]] = n(want[[2, 0]])
    i = np.array([[2], [0]])
    np.testing.assert_allclose(np.asarray(g(x, i)), want, rtol=1e-14)
    check_grads(lambda x: g(x, i), (x,), 2)
    h = lambda x, i: lax.scatter_apply(x, i, f, EACH, update_shape=(2,))
    xs, places = np.stack([X, -X]), np.array([[[1], [1]], [[0], [4]]])
    rows = np.stack([loop(x, p.ravel(), 1) for x, p in zip(xs, places)])
    np.testing.assert_allclose(np.asarray(fg.jit(fg.vmap(h))(xs, places)), rows, rtol=1e-12)


def test_places_out_of_range():
    i = np.array([[1], [9]])
    g = lambda mode: lax.scatter_apply(X, i, f, EACH, update_shape=(2,), mode=mode)
    np.testing.assert_allclose(np.asarray(g("drop")), loop(X, [1], 1))
    np.testing.assert_allclose(np.asarray(g("clip")), loop(X, [1, 4], 1))
    with pytest.raises(IndexError):
        g(None)
    with pytest.raises((TypeError, ValueError), match="updates"):
        lax.scatter_apply(X, i, f, EACH, update_shape=(3,))


def test_dtype_stays():
    x = np.arange(4, dtype=np.int32)
    out = lax.scatter_apply(x, np.array([[2]]), lambda v: v + 0.75, EACH, update_shape=(1,))
    assert out.dtype == np.int32 and out.tolist() == [0, 1, 2, 3]
