"""Running folds: exact derivatives with zeros, ties, NaN and infinities."""

import numpy as np
import pytest

from funcgrad.ops import cumulative as ops
from funcgrad.ops.arithmetic import mul
from tests.ops.helpers import arr, grad, grad_value, loops


def along(op, reverse=False):
    return lambda x: op(x, axis=0, reverse=reverse)


@pytest.mark.parametrize("x", [[2.0, 3, 4], [0.0, 3, 4], [2.0, 0, 0, 5], [0.0, 0, 0]])
def test_running_products_with_zeros(x):
    n = len(x)
    weights = np.arange(1.0, n + 1)
    fun = lambda x: mul(along(ops.cumprod)(x), arr(weights))
    want = [sum(weights[k] * np.prod([x[j] for j in range(k + 1) if j != i]) for k in range(i, n)) for i in range(n)]
    np.testing.assert_allclose(grad(fun, arr(x))[0], want)
    for i in range(n):
        row = grad(lambda x, i=i: mul(grad_value(fun, x), arr(np.eye(n)[i])), arr(x))[0]
        want = [
            sum(weights[k] * np.prod([x[m] for m in range(k + 1) if m not in (i, j)]) for k in range(max(i, j), n))
            if i != j
            else 0
            for j in range(n)
        ]
        np.testing.assert_allclose(row, want)


def test_a_running_maximum_passes_its_gradient_to_the_first_that_attained_it():
    x = arr([1.0, 3, 3, 2, 5, 5])
    np.testing.assert_array_equal(grad(along(ops.cummax), x)[0], [1, 3, 0, 0, 2, 0])
    np.testing.assert_array_equal(grad(along(ops.cummax, True), x)[0], [0, 0, 0, 0, 0, 6])
    np.testing.assert_array_equal(grad(along(ops.cummin), x)[0], [6, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(np.asarray(along(ops.cummax)(arr([1, np.nan, 2]))), [1, np.nan, np.nan])


def test_running_logsumexp():
    x = np.array([-np.inf, -np.inf, 800.0, 801, -1000, -np.inf])
    want = np.logaddexp.accumulate(x)
    np.testing.assert_allclose(loops(along(ops.cumlogsumexp), x), want)
    weights = np.array([0.0, 0, 0, 0, 0, 1])
    got = grad(lambda x: mul(along(ops.cumlogsumexp)(x), arr(weights)), arr(x))[0]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got, np.exp(x - want[-1]), atol=1e-12)
    # Equal elements: softmax weights of one third, and its exact second derivative.
    last = lambda x: mul(along(ops.cumlogsumexp)(x), arr([0.0, 0, 1]))
    np.testing.assert_allclose(grad(last, arr([2.0, 2, 2]))[0], [1 / 3] * 3)
    row = grad(lambda x: mul(grad_value(last, x), arr([1.0, 0, 0])), arr([2.0, 2, 2]))[0]
    np.testing.assert_allclose(row, [1 / 3 - 1 / 9, -1 / 9, -1 / 9])


def test_narrow_sums_are_accumulated_in_float32():
    out = np.asarray(along(ops.cumsum)(arr(np.ones(4096), np.float16)))
    assert out.dtype == np.float16 and out[-1] == 4096
