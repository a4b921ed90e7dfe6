"""x[i] and x.at[i] against NumPy: every kind of index, alone and mixed, eager and compiled, with modes and errors."""

import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import ConcretizationTypeError, ImmutableArrayError, NonConcreteBooleanIndexError

X = np.arange(4 * 3 * 5, dtype=np.float32).reshape(4, 3, 5)
I, J = np.array([[0, -1], [2, 3]]), np.array([1, -2])
MASK = X[:, :, 0] % 2 == 0
STATIC = [
    0, -1, (1, 2), (1, -1, 3), slice(1, 3), slice(None, None, -1), slice(3, 0, -2), slice(10, 20), slice(2, 2), (slice(None), 1), (Ellipsis, 2),
    (0, Ellipsis), Ellipsis, None, (None, 0, None), (slice(None), None, slice(None, None, 2)), (slice(None, None, -1),) * 3, (), True, False,
    np.int32(2), [0, 2], ([0, 1], [1, 2]), ((0, 1), (1, 2)), ((), slice(1)),
]  # fmt: skip
ARRAYS = [
    I, (I, J), (slice(None), J), (J, slice(1, 3)), (slice(None), slice(None), J), (I, 0), (0, slice(None), J), (0, J), (slice(None), 0, J),
    (J, slice(None), J), (J, None, J), (slice(None), J, J), (slice(None, None, -1), J, slice(None, None, 2)), (Ellipsis, J), (I, J, J),
    (I, slice(None), 1), np.zeros((0,), int), (np.array(2), J), (slice(None), np.array(1)), (None, J), (J[:, None], J, slice(None)),
]  # fmt: skip
MASKS = [
    MASK,
    X > 20,
    (slice(None), np.array([True, False, True])),
    (np.array([True, False, True, True]), J[0]),
    (np.array([1, 0, 1, 0], bool), slice(None), 0),
]


@pytest.mark.parametrize("index", STATIC + ARRAYS + MASKS, ids=str)
def test_read(index):
    np.testing.assert_array_equal(np.asarray(fnp.asarray(X)[index]), X[index])


@pytest.mark.parametrize("index", STATIC, ids=str)
def test_static_indices_are_views(index):
    text = str(fg.make_jaxpr(lambda x: x[index])(X))
    if not isinstance(index, (list, bool)) and not (
        isinstance(index, tuple) and any(isinstance(i, (list, tuple)) for i in index)
    ):
        assert "gather" not in text


@pytest.mark.parametrize("index", STATIC + ARRAYS + MASKS, ids=str)
def test_set_and_add(index):
    v = np.random.default_rng(0).normal(size=X[index].shape).astype(np.float32)
    expected = X.copy()
    expected[index] = v
    np.testing.assert_array_equal(np.asarray(fnp.asarray(X).at[index].set(v)), expected)
    expected = X.copy()
    np.add.at(expected, index, v)
    np.testing.assert_allclose(np.asarray(fnp.asarray(X).at[index].add(v)), expected, rtol=1e-6)
    expected = X.copy()
    expected[index] = 7
    np.testing.assert_array_equal(np.asarray(fnp.asarray(X).at[index].set(7)), expected)


@pytest.mark.parametrize("index", ARRAYS, ids=str)
def test_traced_indices(index):
    items = index if isinstance(index, tuple) else (index,)
    arrays = [i for i in items if isinstance(i, np.ndarray)]

    def rebuild(xs):
        rest = iter(xs)
        return tuple([next(rest) if isinstance(i, np.ndarray) else i for i in items])

    got = fg.jit(lambda x, *xs: x[rebuild(xs)])(X, *arrays)
    np.testing.assert_array_equal(np.asarray(got), X[index])
    v = np.full(X[index].shape, 3, np.float32)
    expected = X.copy()
    expected[index] = v
    np.testing.assert_array_equal(np.asarray(fg.jit(lambda x, v, *xs: x.at[rebuild(xs)].set(v))(X, v, *arrays)), expected)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_indices(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    x = np.arange(np.prod(shape)).reshape(shape)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    np.testing.assert_array_equal(np.asarray(fnp.asarray(x)[index]), x[index])
    expected = x.copy()
    expected[index] = -1
    np.testing.assert_array_equal(np.asarray(fnp.asarray(x).at[index].set(-1)), expected)
    arrays = data.draw(hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=3)))
    np.testing.assert_array_equal(np.asarray(fnp.asarray(x)[arrays]), x[arrays])


@pytest.mark.parametrize(
    "method,op",
    [
        ("multiply", operator.mul),
        ("divide", operator.truediv),
        ("subtract", operator.sub),
        ("power", operator.pow),
        ("min", np.minimum),
        ("max", np.maximum),
    ],
)
def test_other_updates(method, op):
    x = X + 1
    got = getattr(fnp.asarray(x).at[1:3, ::2], method)(2.0)
    expected = x.copy()
    expected[1:3, ::2] = op(expected[1:3, ::2], np.float32(2))
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6)


def test_repeated_indices():
    x = fnp.zeros(3)
    i = fnp.array([0, 0, 2])
    assert x.at[i].add(1.0).tolist() == [2, 0, 1]
    assert (x + 1).at[i].multiply(3.0).tolist() == [9, 1, 3]
    assert x.at[i].set(fnp.array([1.0, 2.0, 3.0])).tolist() == [2, 0, 3]
    assert x.at[i].apply(lambda v: v + 1).tolist() == [1, 0, 1]


def test_modes():
    x = fnp.arange(5.0)
    i = fnp.array([0, 7, -1, -9])
    assert x.at[i].get(mode="clip").tolist() == [0, 4, 4, 0]
    assert x.at[i].get(mode="wrap").tolist() == [0, 2, 4, 1]
    assert np.isnan(np.asarray(x.at[i].get(mode="fill"))).tolist() == [False, True, False, True]
    assert x.at[i].get(mode="fill", fill_value=-1).tolist() == [0, -1, 4, -1]
    assert x.at[i].set(9.0, mode="drop").tolist() == [9, 1, 2, 3, 9]
    assert x.at[i].set(9.0, mode="clip").tolist() == [9, 1, 2, 3, 9]
    assert x.at[10].get(mode="fill", fill_value=0).tolist() == 0 and x.at[10].set(1.0, mode="drop").tolist() == x.tolist()
    assert x.at[fnp.array([-1])].get(mode="fill", fill_value=7, wrap_negative_indices=False).tolist() == [7]
    with fg.config.override(index_mode="clip"):
        assert x[i].tolist() == [0, 4, 4, 0] and float(x[99]) == 4


def test_out_of_range():
    x = fnp.arange(5.0)
    for bad in (5, -6, (0,) * 1 + (slice(None),), np.array([1, 9]), [0, -7]):
        with pytest.raises(IndexError):
            x[bad]
    with pytest.raises(IndexError, match="index 5 is out of range for axis 0 with size 5"):
        x[5]
    with pytest.raises(IndexError):
        x[fnp.array([9])]
    with pytest.raises(IndexError):
        fg.jit(lambda x, i: x[i])(x, 9)
    with pytest.raises(IndexError):
        x.at[9].set(1.0)
    with pytest.raises(IndexError):
        fnp.ones((2, 2))[0, 0, 0]


def test_small_index_dtypes():
    x = fnp.arange(1000)
    for d in ("int8", "uint8", "int16"):
        assert x[fnp.array([-1, 100] if d != "uint8" else [200, 100]).astype(d)].tolist() == (
            [999, 100] if d != "uint8" else [200, 100]
        )


def test_errors():
    x = fnp.arange(5.0)
    with pytest.raises(ImmutableArrayError, match=r"x = x\.at\[0\]\.set\(1\)"):
        x[0] = 1
    with pytest.raises(ImmutableArrayError, match=r"x = x\.at\[1:3\]\.add\(2\.0\)"):
        x[1:3] += 2.0
    with pytest.raises(ImmutableArrayError):
        del x[0]
    with pytest.raises(NonConcreteBooleanIndexError, match=r"fnp\.where"):
        fg.jit(lambda x: x[x > 0])(x)
    with pytest.raises(ConcretizationTypeError, match="dynamic_slice"):
        fg.jit(lambda x, n: x[:n])(x, 2)
    with pytest.raises(IndexError, match="integers"):
        x[1.5]
    with pytest.raises(ValueError, match="values of shape"):
        x.at[:2].set(fnp.ones(3))
    with pytest.raises(TypeError, match="real"):
        x.at[0].set(1j)


def test_traced_mask_update():
    x = np.array([1.0, -2.0, 3.0], np.float32)
    assert fg.jit(lambda x: x.at[x < 0].set(0.0))(x).tolist() == [1, 0, 3]
    assert fg.jit(lambda x: x.at[x < 0].add(5.0))(x).tolist() == [1, 3, 3]


def test_gradients():
    i = np.array([0, 2, 2])
    g = fg.grad(lambda x: (x[i] ** 2).sum())(np.array([1.0, 2.0, 3.0]))
    assert g.tolist() == [2, 0, 12]
    gx, gv = fg.grad(lambda x, v: (x.at[i].set(v) ** 2).sum(), argnums=(0, 1))(
        np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    )
    assert gx.tolist() == [0, 4, 0] and gv.tolist() == [8, 0, 12]
    assert fg.vmap(lambda x, i: x[i])(X, np.array([0, 1, 2, 0])).tolist() == X[np.arange(4), [0, 1, 2, 0]].tolist()


@pytest.mark.parametrize("mode", ["wrap", "clip", "fill", "drop"])
@pytest.mark.parametrize("i", [-9, -4, -3, -1, 0, 2, 3, 8])
def test_modes_of_one_index_however_it_comes(mode, i):
    """Known or traced, an int or an array of any kind: one meaning."""
    x = np.arange(12.0).reshape(3, 4)
    inside = -3 <= i < 3 or mode in ("wrap", "clip")
    place = i % 3 if -3 <= i < 3 or mode == "wrap" else min(max(i, 0), 2)
    new = x.copy()
    if inside:
        new[place] = 7
    for index in (i, np.int64(i), np.array(i), np.array([i]), fnp.asarray(i), np.array([i], np.int8)):
        get, put = lambda x, i: x.at[i].get(mode=mode), lambda x, i: x.at[i].set(7.0, mode=mode)
        for f, want in ((get, x[place] if inside else np.full(4, np.nan)), (put, new)):
            want = want[None] if f is get and np.ndim(index) else want
            calls = [f(fnp.asarray(x), index), fg.jit(f)(x, index), fg.jit(lambda x, f=f, i=index: f(x, i))(x)]
            for got in calls:
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("compiled", [False, True])
def test_an_index_out_of_range_is_told_as_it_was_written(compiled):
    run = fg.jit if compiled else lambda f: f
    read = run(lambda x, i: x[i])
    with pytest.raises(IndexError, match=r"(?s)index 5 is out of range for axis 0 with size 3.*from 0 to 2.*mode='clip'"):
        read(fnp.ones(3), fnp.array([0, 5]))
    with pytest.raises(IndexError, match=r"(?s)axis 0 with size 3.*written as -7.*from -3"):
        read(fnp.ones(3), fnp.array([0, -7]))
    with pytest.raises(IndexError, match=r"(?s)no index|size 0"):
        read(fnp.ones(0), fnp.array([0]))
