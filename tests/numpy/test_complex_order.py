"""Complex numbers in order: max, min, argmax, argmin, maximum, minimum, sort against NumPy's."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.test_util import check_grads

NAN, INF = np.nan, np.inf
RNG = np.random.default_rng(0)
WHOLE = (RNG.integers(-2, 3, (3, 4, 5)) + 1j * RNG.integers(-2, 3, (3, 4, 5))).astype(np.complex64)
WITH_NAN = WHOLE.astype(np.complex128)
WITH_NAN[0, 1, 2], WITH_NAN[1, 2, 3], WITH_NAN[1, 2, 4], WITH_NAN[2, 0, 0] = (
    complex(NAN, 2),
    complex(3, NAN),
    NAN,
    complex(INF, NAN),
)
INFINITE = np.array([complex(-INF, -INF), complex(-INF, -1), complex(-INF, INF)])
ARRAYS = {"whole": WHOLE, "nan": WITH_NAN, "infinite": INFINITE}


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "sort", "argsort", "nanmax", "nanmin", "nanargmax", "ptp"])
def test_along_an_axis(name, kind):
    x = ARRAYS[kind]
    ours, theirs = getattr(fnp, name), getattr(np, name)
    for axis in (*range(x.ndim), None):
        if name == "ptp" and kind != "whole":
            continue
        want = theirs(x, axis=axis, kind="stable") if name == "argsort" else theirs(x, axis=axis)
        for got in (ours(fnp.asarray(x), axis=axis), fg.jit(lambda v, axis=axis: ours(v, axis=axis))(x)):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["max", "min"])
def test_several_axes_masks_and_empty_arrays(name):
    ours, theirs = getattr(fnp, name), getattr(np, name)
    mask = RNG.integers(0, 2, WHOLE.shape).astype(bool)
    for options in (
        {"axis": (0, 2)},
        {"axis": (2, 1), "keepdims": True},
        {"axis": 1, "initial": 1 + 1j, "where": mask},
        {"axis": ()},
    ):
        np.testing.assert_array_equal(fg.jit(lambda v, o=options: ours(v, **o))(WHOLE), theirs(WHOLE, **options))
    np.testing.assert_array_equal(
        ours(fnp.zeros((0, 2), "complex64"), 0, initial=3), theirs(np.zeros((0, 2), np.complex64), 0, initial=3)
    )
    assert ours(fnp.zeros((0, 2), "complex64"), 1).shape == (0,)


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_of_two(name):
    numbers = np.array([complex(a, b) for a in (0.0, 1.0, -1.0, INF, NAN) for b in (0.0, -1.0, 2.0, INF, NAN)])
    x, y = numbers[:, None], numbers
    want = getattr(np, name)(x, y)
    for got in (getattr(fnp, name)(x, y), fg.jit(getattr(fnp, name))(x, y)):
        np.testing.assert_array_equal(np.asarray(got).view(float), want.view(float))
    np.testing.assert_array_equal(getattr(fnp, name)(WHOLE, 1.0), getattr(np, name)(WHOLE, 1.0))
    if name[0] == "m":
        np.testing.assert_array_equal(getattr(fnp, name).accumulate(WHOLE, 1), getattr(np, name).accumulate(WHOLE, 1))
        np.testing.assert_array_equal(getattr(fnp, name).reduce(WHOLE, (0, 1)), getattr(np, name).reduce(WHOLE, (0, 1)))


def test_derivatives_and_batches():
    z = RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))
    check_grads(lambda v: fnp.max(v, 1), (z,), order=2)
    check_grads(lambda v: fnp.maximum(v, v[::-1]), (z,), order=1)
    np.testing.assert_array_equal(fg.vmap(fnp.max)(z), z.max(1))
    np.testing.assert_array_equal(fg.vmap(fnp.argmin)(z), z.argmin(1))
    g = fg.grad(lambda v: fnp.max(v).real)(np.array([1 + 1j, 1 + 1j, 0j]))
    np.testing.assert_array_equal(g, [0.5, 0.5, 0])  # shared by equal ones, as for real numbers
