"""Whole division at zeros, infinities and NaN, compared with NumPy to the sign of zero; its derivatives where it is exact."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

VALUES = np.array([0.0, -0.0, 1.0, -1.0, 0.3, -0.3, 2.5, -2.5, 7.0, -7.0, 1e-310, -1e-310, 1e300, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "divmod"])
def test_whole_division(name, dtype):
    with np.errstate(all="ignore"):
        x, y = np.meshgrid(VALUES.astype(dtype), VALUES.astype(dtype))
        want = getattr(np, name)(x, y)
    f = getattr(fnp, name)
    for got in (f(x, y), fg.jit(f)(x, y)):
        for a, b in zip(*[v if isinstance(v, tuple) else (v,) for v in (got, want)], strict=True):
            np.testing.assert_array_equal(np.asarray(a), b)
            np.testing.assert_array_equal(np.signbit(np.asarray(a)) & ~np.isnan(b), np.signbit(b) & ~np.isnan(b))


@pytest.mark.parametrize(
    "x, y", [(6.0, 2.0), (6.0, -2.0), (-6.0, 2.0), (-6.0, -2.0), (5.0, 2.0), (-5.0, 2.0), (0.0, 3.0), (0.0, -3.0)]
)
def test_derivatives_of_the_remainder(x, y):
    for wrap in (lambda f: f, fg.jit):
        gx, gy = wrap(fg.grad(fnp.remainder, (0, 1)))(x, y)
        assert float(gx) == 1 and float(gy) == -np.floor(x / y)
        gx, gy = wrap(fg.grad(fnp.floor_divide, (0, 1)))(x, y)
        assert float(gx) == float(gy) == 0
        assert float(wrap(fg.grad(fg.grad(lambda x: fnp.remainder(x, y) ** 2)))(x)) == 2


def test_quotients_below_one_have_finite_derivatives():
    tiny = np.float64(1e-320)
    assert np.isfinite(float(fg.grad(fnp.floor_divide)(tiny, tiny * 3)))
