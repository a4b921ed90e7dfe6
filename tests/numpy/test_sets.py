"""Sets of a length that is given: the same eager, jitted and vectorised, and against NumPy's sets."""

from functools import partial

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import ConcretizationTypeError

NAN = np.nan
VECTORS = [
    np.array([7, 3, 5, 3, 9, 3]),
    np.array([2.0, NAN, 1.0, NAN, 2.0, -np.inf]),
    np.array([True, False, True]),
    np.array([3 + 1j, 3 - 1j, 1 + 0j, 3 + 1j]),
    np.array([[4, 4, 1], [0, 1, 4]], np.uint8),
]
OTHER = np.array([5, 9, 4, 4])


def cut_or_filled(x, size, fill):
    return np.concatenate([x[:size], np.full(max(0, size - len(x)), fill, x.dtype)])


@pytest.mark.parametrize("size", [0, 1, 3, 9])
@pytest.mark.parametrize("x", VECTORS, ids=[str(v.dtype) for v in VECTORS])
def test_unique(x, size):
    values, index, inverse, counts = np.unique(x, True, True, True)
    want = (
        cut_or_filled(values, size, values[0]), cut_or_filled(index, size, index[0]), inverse.reshape(x.shape),
        cut_or_filled(counts, size, 0),
    )  # fmt: skip
    f = lambda v: fnp.unique(v, True, True, True, size=size)
    for got in (f(fnp.asarray(x)), fg.jit(f)(x)):
        for g, w in zip(got, want, strict=True):
            np.testing.assert_array_equal(g, w)
            assert g.dtype == w.dtype
    filled = fg.jit(lambda v: fnp.unique(v, size=size, fill_value=1))(x)
    np.testing.assert_array_equal(filled, cut_or_filled(values, size, 1))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_rows(axis):
    x = np.array([[[3, 1], [2, 2], [3, 1]], [[0, 0], [5, 2], [0, 0]]])
    values, index, inverse, counts = np.unique(x, True, True, True, axis=axis)
    n = values.shape[axis]
    got = fg.jit(lambda v: fnp.unique(v, True, True, True, axis=axis, size=n + 1))(x)
    first = np.take(values, [0], axis)
    np.testing.assert_array_equal(got[0], np.concatenate([values, first], axis))
    np.testing.assert_array_equal(got[1][:n], index)
    np.testing.assert_array_equal(got[2], inverse.ravel())
    np.testing.assert_array_equal(got[3], [*counts, 0])


def test_equal_nan_and_the_array_apis_names():
    x = np.array([NAN, 1.0, NAN])
    np.testing.assert_array_equal(fg.jit(lambda v: fnp.unique(v, size=4))(x), [1, NAN, 1, 1])
    np.testing.assert_array_equal(fg.jit(lambda v: fnp.unique(v, size=3, equal_nan=False))(x), [1, NAN, NAN])
    for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
        got, want = fg.jit(partial(getattr(fnp, name), size=3))(x), getattr(np, name)(x)
        for g, w in zip(*[v if isinstance(v, tuple) else (v,) for v in (got, want)], strict=True):
            np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("size", [1, 3, 12])
@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d"])
@pytest.mark.parametrize("x", [VECTORS[0], VECTORS[1], VECTORS[4]], ids=["int", "nan", "matrix"])
def test_sets_of_two(name, x, size):
    ours, want = getattr(fnp, name), getattr(np, name)(x, OTHER)
    first = 0 if name == "setdiff1d" or not want.size else want[0]
    f = lambda a, b: ours(a, b, size=size)
    for got in (f(fnp.asarray(x), fnp.asarray(OTHER)), fg.jit(f)(x, OTHER)):
        np.testing.assert_array_equal(got, cut_or_filled(want, size, first))
    np.testing.assert_array_equal(
        fg.jit(lambda a, b: ours(a, b, size=size, fill_value=7))(x, OTHER), cut_or_filled(want, size, 7)
    )
    np.testing.assert_array_equal(ours(fnp.asarray(x), fnp.asarray(OTHER)), want)


def test_places_of_an_intersection_and_the_order_of_unique_elements():
    x, y = np.array([7, 3, 5, 3, 9]), np.array([5, 9, 4, 4, 5, 3])
    want = np.intersect1d(x, y, return_indices=True)
    got = fg.jit(lambda a, b: fnp.intersect1d(a, b, return_indices=True, size=5))(x, y)
    for g, w, fill in zip(got, want, (want[0][0], x.size, y.size), strict=True):
        np.testing.assert_array_equal(g, cut_or_filled(w, 5, fill))
    got = fg.jit(lambda a, b: fnp.setdiff1d(a, b, assume_unique=True, size=3))(x[::-1], np.array([9, 3]))
    np.testing.assert_array_equal(got, [5, 7, 0])


def test_over_a_batch():
    x = np.array([[3, 1, 3], [2, 2, 2]])
    np.testing.assert_array_equal(fg.vmap(lambda v: fnp.unique(v, size=3, fill_value=0))(x), [[1, 3, 0], [2, 0, 0]])
    np.testing.assert_array_equal(fg.vmap(lambda v: fnp.setxor1d(v, x[0], size=3, fill_value=0))(x), [[0, 0, 0], [1, 2, 3]])


def test_of_nothing():
    none = np.zeros(0)
    np.testing.assert_array_equal(fnp.unique(fnp.asarray(none), size=2, fill_value=5), [5, 5])
    np.testing.assert_array_equal(fnp.setdiff1d(fnp.asarray(none), fnp.ones(2), size=2), [0, 0])
    np.testing.assert_array_equal(fnp.setdiff1d(fnp.ones(2), fnp.asarray(none), size=2), [1, 0])
    with pytest.raises(ValueError, match="a fill_value"):
        fnp.unique(fnp.asarray(none), size=2)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (fnp.unique, r"fnp.unique\(..., size=n, fill_value=v\)"),
        (fnp.unique_counts, r"fnp.unique\(..., size=n"),
        (lambda x: fnp.union1d(x, x), r"fnp.union1d\(..., size=n"),
        (lambda x: fnp.setxor1d(x, x), r"fnp.setxor1d\(..., size=n"),
        (fnp.bincount, r"fnp.bincount\(..., length=n\)"),
        (fnp.nonzero, "size=n"),
        (fnp.argwhere, "size=n"),
        (lambda x: fnp.where(x > 1), r"fnp.where\(mask, x, y\)"),
        (lambda x: fnp.extract(x > 1, x), "size=n"),
        (fnp.trim_zeros, "outside of jit"),
        (fnp.roots, "strip_zeros=False"),
        (lambda x: fnp.polydiv(x, x, trim_leading_zeros=True), "trim_leading_zeros=False"),
    ],
)  # fmt: skip
def test_a_length_that_depends_on_numbers_says_what_to_type(f, words):
    with pytest.raises(ConcretizationTypeError, match=words):
        fg.jit(f)(np.array([1, 2]))


@pytest.mark.parametrize("total", [0, 3, 6, 9])
@pytest.mark.parametrize("axis", [0, 1])
def test_repeat_by_traced_counts(total, axis):
    x = np.arange(6.0).reshape(2, 3) if axis else np.arange(6.0).reshape(3, 2)
    counts = np.array([1, 0, 5])
    want = fnp.repeat(x, counts, axis, total_repeat_length=total)
    got = fg.jit(lambda v, n: fnp.repeat(v, n, axis, total_repeat_length=total))(x, counts)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(want, np.take(x, np.append(np.repeat(np.arange(3), counts), [2] * 9)[:total], axis))
    one = fg.jit(lambda v, n: fnp.repeat(v, n, axis, total_repeat_length=6))(x, 2)
    np.testing.assert_array_equal(one, np.repeat(x, 2, axis))
    with pytest.raises(ConcretizationTypeError, match="total_repeat_length=n"):
        fg.jit(lambda v, n: fnp.repeat(v, n, axis))(x, counts)
