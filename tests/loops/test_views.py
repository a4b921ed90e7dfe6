"""Affine maps against NumPy's own strides and index arithmetic."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from funcgrad.loops.graph import Graph, Node
from funcgrad.loops.views import contiguous, digits, follow, reshape_strides


def element_strides(x):
    return tuple(s // x.itemsize for s in x.strides)


def view_of(shape):
    return Node(Graph(), "input", shape, np.dtype(np.int64)).view()


def as_array(v):
    """The elements that a view names, where element k of the node is k."""
    out = np.empty(v.shape, np.int64)
    for i in np.ndindex(*v.shape):
        out[i] = v.offset + sum(s * k for s, k in zip(v.strides, i))
    return out


shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


@st.composite
def views(draw):
    """A view after some steps, and the same steps by NumPy."""
    shape = draw(shapes)
    v, x = view_of(shape), np.arange(np.prod(shape)).reshape(shape)
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.integers(0, 3))
        n = x.ndim
        if kind == 0:
            perm = draw(st.permutations(range(n)))
            v, x = v.transpose(perm), x.transpose(perm)
        elif kind == 1:
            starts = [draw(st.integers(0, m - 1)) for m in x.shape]
            limits = [draw(st.integers(s + 1, m)) for s, m in zip(starts, x.shape)]
            steps = [draw(st.integers(1, 3)) for _ in x.shape]
            v = v.slice(starts, limits, steps)
            x = x[tuple(slice(*s) for s in zip(starts, limits, steps))]
        elif kind == 2:
            axes = [a for a in range(n) if draw(st.booleans())]
            v, x = v.reverse(axes), np.flip(x, axes)
        elif n < 4:
            at = draw(st.integers(0, n))
            wide = (*x.shape[:at], 3, *x.shape[at:])
            dims = tuple(a + (a >= at) for a in range(n))
            v = v.broadcast(wide, dims)
            x = np.broadcast_to(np.expand_dims(x, at), wide)
    return shape, v, x


@settings(max_examples=200, deadline=None)
@given(views())
def test_a_view_names_the_elements_that_numpy_does(case):
    _, v, x = case
    np.testing.assert_array_equal(as_array(v), x)


@settings(max_examples=300, deadline=None)
@given(views(), st.data())
def test_reshape_of_a_view(case, data):
    _, v, x = case
    left, new = x.size, []
    while left > 1:
        n = data.draw(st.sampled_from([d for d in range(2, left + 1) if left % d == 0]))
        new.append(n)
        left //= n
    strides = reshape_strides(v.shape, v.strides, tuple(new))
    if strides is not None:
        v.shape, v.strides = tuple(new), strides
        np.testing.assert_array_equal(as_array(v), x.reshape(new))
    else:
        # NumPy cannot do it without a copy either.
        base = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), x.shape, v.strides)
        try:
            base.shape = tuple(new)
        except AttributeError:
            return
        raise AssertionError(f"{v.shape} with {v.strides} can be seen as {new}")


@settings(max_examples=300, deadline=None)
@given(views())
def test_digits_find_the_index_that_a_position_has(case):
    shape, v, x = case
    found = digits(v.offset, v.strides, v.shape, shape)
    if found is None:
        # The steps above leave the index affine, except that extents of 1 hide where an axis went.
        assert 1 in shape or 1 in v.shape
        return
    base, moves = found
    for i in np.ndindex(*v.shape):
        index = list(base)
        for k, m in zip(i, moves):
            if m is not None:
                index[m[0]] += m[1] * k
        assert np.ravel_multi_index(tuple(index), shape) == x[i]


def test_digits_refuse_what_is_not_affine():
    assert digits(0, (8, 1), (2, 8), (4, 4)) is None  # an axis that runs over two
    assert digits(0, (5,), (4,), (4, 4)) is None  # a diagonal
    assert digits(0, (1,), (16,), (4, 4)) is None


def test_following_a_map_composes_strides():
    shape = (3, 4)
    for perm in itertools.permutations(range(2)):
        v = view_of(shape).transpose(perm)
        found = digits(v.offset, v.strides, v.shape, shape)
        assert follow(found, 7, (0, 1)) == (7, tuple((0, 1)[p] for p in perm))


def test_strides_of_an_axis_do_not_depend_on_its_extent():
    # What keeps kernels the same for a batch of one.
    assert contiguous((1, 5)) == contiguous((128, 5))
    assert view_of((1, 5)).broadcast((1, 5), (0, 1)).strides == (5, 1)
