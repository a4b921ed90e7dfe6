"""Reductions: exact gradients of products and extrema, accumulation, no elements."""

import ml_dtypes
import numpy as np
import pytest

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ShapeError, UsageError
from funcgrad.ops import reduce as ops
from funcgrad.ops.arithmetic import mul
from tests.ops.helpers import arr, grad, grad_value


@pytest.mark.parametrize("x", [[2.0, 3, 4], [0.0, 3, 4], [0.0, 0, 4], [0.0, 0, 0], [5.0], [1.0, 2, 3, 4, 5, 0, 7]])
def test_product_has_exact_derivatives_with_zeros(x):
    n = len(x)
    prod = lambda x: ops.reduce_prod(x, axes=(0,))
    want = [np.prod([v for j, v in enumerate(x) if j != i]) for i in range(n)]
    np.testing.assert_allclose(grad(prod, arr(x))[0], want)
    for i in range(n):
        row = np.eye(n)[i]
        second = grad(lambda x, row=row: mul(grad_value(prod, x), arr(row)), arr(x))[0]
        want = [np.prod([v for k, v in enumerate(x) if k not in (i, j)]) if i != j else 0 for j in range(n)]
        np.testing.assert_allclose(second, want)


def test_product_over_several_axes():
    x = np.random.default_rng(0).uniform(0.5, 2, (2, 3, 4))
    got = grad(lambda x: ops.reduce_prod(x, axes=(0, 2)), arr(x))[0]
    np.testing.assert_allclose(got, np.prod(x, (0, 2), keepdims=True) / x)


def test_extrema_share_their_derivative():
    x = arr([[1, 3, 3], [2, 2, 2]])
    np.testing.assert_allclose(grad(lambda x: ops.reduce_max(x, axes=(1,)), x)[0], [[0, 0.5, 0.5], [1 / 3] * 3])
    np.testing.assert_allclose(grad(lambda x: ops.reduce_min(x, axes=(0, 1)), x)[0], [[1, 0, 0], [0, 0, 0]])


def test_nan_and_no_elements():
    x = arr([[1, np.nan], [2, 3]])
    np.testing.assert_array_equal(np.asarray(ops.reduce_max(x, axes=(1,))), [np.nan, 3])
    np.testing.assert_array_equal(np.asarray(ops.argmax(x, axes=(1,), index_dtype=dt.int64)), [1, 1])
    none = arr(np.zeros((2, 0)))
    for op, want in ((ops.reduce_max, -np.inf), (ops.reduce_min, np.inf), (ops.reduce_prod, 1), (ops.reduce_sum, 0)):
        assert np.asarray(op(none, axes=(1,))).tolist() == [want] * 2
    with pytest.raises(ShapeError, match="(?s)argmax.*no element.*at least one"):
        ops.argmax(none, axes=(1,), index_dtype=dt.int64)
    with pytest.raises(UsageError, match="(?s)argmax.*one axis.*flatten"):
        ops.argmax(arr([[1.0]]), axes=(0, 1), index_dtype=dt.int64)
    with pytest.raises(ShapeError, match=r"(?s)reduce_sum: got axes=\(2,\)"):
        ops.reduce_sum(arr([[1.0]]), axes=(2,))


def test_narrow_sums_are_accumulated_in_float32():
    ones = np.full(4096, 1.0)
    for d in (ml_dtypes.bfloat16, np.float16):
        out = np.asarray(ops.reduce_sum(arr(ones, d), axes=(0,)))
        assert out.dtype == d and float(out) == 4096
    assert float(np.asarray(ops.reduce_prod(arr([0.5] * 8, ml_dtypes.bfloat16), axes=(0,)))) == 2.0**-8


def test_sum_keeps_small_integers_in_their_dtype():
    out = np.asarray(ops.reduce_sum(arr([200, 100], np.uint8), axes=(0,)))
    assert out.dtype == np.uint8 and out == 44
