"""fnp.i0 and fnp.kaiser against NumPy."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.core.errors import DtypeError, ShapeError
from funcgrad.test_util import check_grads


def test_i0():
    x = np.array([[-700.0, -3.0, 0.0], [1e-9, 2.5, 30.0]])
    np.testing.assert_allclose(np.asarray(fnp.i0(x)), np.i0(x), rtol=1e-14)
    np.testing.assert_allclose(np.asarray(fg.jit(fnp.i0)(x)), np.i0(x), rtol=1e-13)
    check_grads(fnp.i0, (x[1],), 2)
    assert fnp.i0(3).dtype == np.float32 and fnp.i0(np.int64(3)).dtype == np.float32
    with pytest.raises(DtypeError, match=r"(?s)fnp.i0: got c128.*real numbers.*x.real"):
        fnp.i0(np.array(1j))


@pytest.mark.parametrize("M", [-1, 0, 1, 2, 7, 64])
@pytest.mark.parametrize("beta", [0.0, 2.5, 14.0, 100.0])
def test_kaiser(M, beta):
    got = np.asarray(fnp.kaiser(M, np.float64(beta)))
    np.testing.assert_allclose(got, np.kaiser(M, beta), rtol=1e-13)
    assert fnp.kaiser(M, beta).dtype == np.float32 and got.dtype == np.float64


def test_kaiser_by_beta():
    check_grads(lambda b: fnp.kaiser(9, b), (np.float64(3.0),), 2)
    assert np.isfinite(np.asarray(fnp.kaiser(5, 2000.0))).all()
    np.testing.assert_allclose(np.asarray(fg.jit(lambda b: fnp.kaiser(9, b))(np.float64(3.0))), np.kaiser(9, 3.0), rtol=1e-13)
    with pytest.raises(ShapeError, match=r"(?s)kaiser: got beta of shape \(2,\).*scalar.*vmap"):
        fnp.kaiser(5, np.ones(2))
