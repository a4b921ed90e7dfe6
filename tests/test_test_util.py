"""check_grads passes what is right and fails what is wrong."""

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad.test_util import check_grads, check_jvp, check_vjp

X = np.array([0.3, 1.0, 2.0])


def test_right_derivatives_pass():
    check_grads(lambda x, n: fnp.sin(x) * fnp.sum(x) * n, (X, 3), order=3)
    check_grads(lambda t: {"y": t["a"] * t["b"]}, ({"a": X, "b": 2.0},), order=2)
    check_grads(fnp.sin, (X.astype(np.float32),), order=1)
    check_grads(lambda z: z * z * z, (X + 1j * X[::-1],), order=2)


def test_wrong_derivatives_fail():
    with pytest.raises(AssertionError):
        check_jvp(fnp.sin, lambda xs, ts: (fnp.sin(*xs), ts[0] * fnp.sin(*xs)), (X,))
    with pytest.raises(AssertionError):
        check_vjp(fnp.sin, lambda x: (fnp.sin(x), lambda ct: (ct * fnp.sin(x),)), (X,))
    with pytest.raises(ValueError, match="modes"):
        check_grads(fnp.sin, (X,), order=1, modes="back")
