"""Arguments that make no sense: the error is one of the package's, and says what is allowed."""

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from tests.strange import is_told

X, M, WHOLE = fnp.array([0.2, 0.4, 0.7]), fnp.ones((3, 3)), fnp.array([0, 1, 2])

# A function, arguments that it takes, and the place (or name) of the one that is replaced.
CALLS: list[tuple[Any, tuple[Any, ...], int | str]] = [
    (fnp.round, (X,), "decimals"),
    (fnp.array, (X,), "ndmin"),
    (fnp.choose, (WHOLE, [X, X, X]), 1),
    (fnp.piecewise, (X, [X > 0.3], [1.0]), 1),
    (fnp.piecewise, (X, [X > 0.3], [1.0]), 2),
    (fnp.ravel_multi_index, ((WHOLE, WHOLE), (3, 3)), 0),
    (fnp.fromfunction, (lambda i: i, (3,)), 0),
    (fnp.mask_indices, (3, fnp.triu), 1),
    (fnp.histogram, (X,), "range"),
    (fnp.histogram2d, (X, X), "range"),
    (fnp.rot90, (M,), "axes"),
    (fnp.roll, (M, (1,), (0,)), 1),
    (fnp.roll, (M, (1,), (0,)), 2),
    (fnp.delete, (X, 1), 1),
    (fnp.insert, (X, 1, 2.0), 1),
    (fnp.zeros, ((2,),), 0),
    (fnp.eye, (3,), 0),
    (fnp.sum, (M,), "axis"),
    (fnp.transpose, (M, (1, 0)), 1),
    (fnp.repeat, (X, 2), 1),
    (fnp.linalg.svd, (M, True, True, False, (0, 2)), 4),
    (fnp.fft.fftshift, (X, (0,)), 1),
]

STRANGE: dict[str, Any] = {
    "object": object(), "dict": {}, "text": "bogus", "bytes": b"ab", "complex": 1j, "half": 1.5, "nan": float("nan"),
    "texts": np.array(["a"]), "objects": np.array([None]), "set": {0.5}, "huge": 10**30, "negative": -9, "nones": (None,),
    "nested": ((1.5,),), "far": (7,),
}  # fmt: skip


@pytest.mark.parametrize("f, args, place", CALLS, ids=[f"{f.__name__}-{place}" for f, _, place in CALLS])
def test_strange_arguments(f, args, place):
    is_told(f, args, place, STRANGE)


@pytest.mark.parametrize("obj", [[0, 2], [-1], [], 1, slice(None, None, 2), np.array([True, False, True])], ids=str)
def test_delete_and_insert_take_what_numpy_takes(obj):
    x = np.array([10.0, 20.0, 30.0])
    np.testing.assert_array_equal(np.asarray(fnp.delete(x, obj)), np.delete(x, obj))
    np.testing.assert_array_equal(np.asarray(fnp.insert(x, obj, 5.0)), np.insert(x, obj, 5.0))


def test_slope_of_the_angle_of_real_numbers():
    x = np.array([-2.0, -0.0, 0.0, 3.0])
    np.testing.assert_array_equal(np.asarray(fnp.angle(x)), np.angle(x))
    np.testing.assert_array_equal(np.asarray(fg.grad(lambda x: fnp.angle(x).sum())(x)), np.zeros(4))


@pytest.mark.parametrize("f", [fnp.var, fnp.std])
@pytest.mark.parametrize(
    "x, dtype", [(np.array([1 + 2j]), np.float64), (np.array([1.0]), np.int16), (np.array([3]), bool)], ids=str
)
def test_variances_in_a_dtype_that_cannot_hold_them(f, x, dtype):
    with pytest.raises(TypeError, match="fnp.var: got dtype=(?s:.)*Allowed: a complex dtype for complex numbers"):
        f(x, dtype=dtype)


def test_rounding_to_more_digits_than_there_are():
    x = np.array([1.25, -2e300, np.inf, 5e-320])
    np.testing.assert_array_equal(np.asarray(fnp.round(x, 10**30)), x)
    np.testing.assert_array_equal(np.asarray(fnp.round(x[:2], -(10**30))), [0.0, 0.0])
    np.testing.assert_array_equal(np.asarray(fnp.round(np.array([7, 2**62]), -(10**30))), [0, 0])
