"""Cosine transforms against scipy.fft: types, norms, lengths, axes, dtypes; compiled; derivatives."""

import numpy as np
import pytest
import scipy.fft

import funcgrad as fg
from funcgrad.scipy import fft
from funcgrad.test_util import check_grads


def close(got, want):
    assert got.shape == want.shape and got.dtype == want.dtype
    tolerance = 1e-10 if want.dtype.itemsize >= 8 and want.dtype != np.complex64 else 3e-5
    np.testing.assert_allclose(np.asarray(got), want, tolerance, tolerance)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_values(kind, norm):
    rng = np.random.default_rng(0)
    for dtype in ("float64", "float32", "complex128"):
        for shape, n, axis in (((8,), None, -1), ((7,), None, 0), ((3, 2), 5, 0), ((3, 4), 3, -1), ((2, 2), None, 0)):
            x = rng.standard_normal(shape).astype(dtype)
            for name in ("dct", "idct"):
                close(getattr(fft, name)(x, kind, n, axis, norm), getattr(scipy.fft, name)(x, kind, n, axis, norm))
        x = rng.standard_normal((3, 4, 2)).astype(dtype)
        for name in ("dctn", "idctn"):
            close(getattr(fft, name)(x, kind, norm=norm), getattr(scipy.fft, name)(x, kind, norm=norm))
            close(getattr(fft, name)(x, kind, (5, 2), (0, 2), norm), getattr(scipy.fft, name)(x, kind, (5, 2), (0, 2), norm))


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_compiled_batched_differentiated(kind):
    x = np.random.default_rng(1).standard_normal((3, 5))
    for name in ("dct", "idct"):
        f = getattr(fft, name)
        close(fg.jit(lambda x, f=f: f(x, kind))(x), getattr(scipy.fft, name)(x, kind))
        close(fg.vmap(lambda x, f=f: f(x, kind))(x), getattr(scipy.fft, name)(x, kind))
        check_grads(lambda x, f=f: f(x, kind, norm="ortho") ** 2, (x,), 2, atol=1e-4, rtol=1e-4)


def test_errors():
    with pytest.raises(ValueError, match="(?s)dct: got type=5.*types 1 to 4"):
        fft.dct(np.ones(3), 5)
    with pytest.raises(ValueError, match="(?s)got 1 elements.*2 or more"):
        fft.dct(np.ones(1), 1)
