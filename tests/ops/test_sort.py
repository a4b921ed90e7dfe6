"""sort and top_k: order of NaN, several keys, gradients along the permutation."""

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad.core.errors import ShapeError
from funcgrad.ops.arithmetic import mul
from funcgrad.ops.sort import sort, top_k
from tests.ops.helpers import arr, grad


def test_nan_comes_last_and_equals_keep_their_order():
    (out,) = sort(arr([3, np.nan, -np.inf, 1]), dimension=0, is_stable=True, num_keys=1)
    np.testing.assert_array_equal(np.asarray(out), [-np.inf, 1, 3, np.nan])
    keys, places = sort(arr([1, 0, 1, 0]), arr([0, 1, 2, 3], np.int32), dimension=0, is_stable=True, num_keys=1)
    assert np.asarray(places).tolist() == [1, 3, 0, 2]


def test_several_keys():
    a, b, c = [1, 0, 1, 0], [5, 9, 4, 8], [0, 1, 2, 3]
    outs = sort(arr(a), arr(b), arr(c, np.int64), dimension=0, is_stable=True, num_keys=2)
    assert np.asarray(outs[2]).tolist() == [3, 1, 2, 0]


def test_gradients_follow_the_permutation():
    x, y = arr([3.0, 1, 2]), arr([10.0, 20, 30])
    gx, gy = grad(lambda x, y: mul(sort(x, y, dimension=0, is_stable=True, num_keys=1)[1], arr([1.0, 2, 3])), x, y)
    np.testing.assert_array_equal(gx, [0, 0, 0])
    np.testing.assert_array_equal(gy, [3, 1, 2])


def test_top_k():
    x = arr([[1, 5, 5, np.nan], [4, 3, 2, 1]])
    values, places = top_k(x, k=3)
    np.testing.assert_array_equal(np.asarray(values), [[np.nan, 5, 5], [4, 3, 2]])
    assert np.asarray(places).tolist() == [[3, 1, 2], [0, 1, 2]] and places.dtype == np.int32
    np.testing.assert_array_equal(grad(lambda x: top_k(x, k=1)[0], arr([[1.0, 5, 3]]))[0], [[0, 1, 0]])
    assert np.asarray(top_k(arr([200, 3, 255], np.uint8), k=2)[0]).tolist() == [255, 200]
    with pytest.raises(ShapeError, match="(?s)top_k: got k=4 .*smaller k"):
        top_k(arr([1.0]), k=4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, bool])
def test_top_k_of_long_rows(dtype):
    """Found by a partition, not by sorting all: the same answers, also of equals (the lower index first) and with NaN."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, size=(3, 4, 200)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[0, 0, ::7] = np.nan
        x[1, 1, :3] = np.nan
        x[2, 2, 5] = np.inf
    for k in (1, 3, 20, 50, 51, 200):
        values, places = top_k(fnp.asarray(x), k=k)
        whole = np.where(np.isnan(x), np.inf, np.minimum(x.astype(np.float64), 1e9))  # NaN above infinity
        want = np.argsort(-whole, -1, kind="stable")[..., :k]
        np.testing.assert_array_equal(places, want)
        np.testing.assert_array_equal(values, np.take_along_axis(x, want, -1))
