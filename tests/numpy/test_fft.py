"""fnp.fft and lax.fft against numpy.fft: lengths, axes, norms, dtypes, eager and compiled; derivatives; batches."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.test_util import check_grads

NORMS = [None, "backward", "ortho", "forward"]
ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
MANY = ["fftn", "ifftn", "rfftn", "irfftn"]
TWO = ["fft2", "ifft2", "rfft2", "irfft2"]


def draw(shape, dtype="float64"):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    return np.asarray(x + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else x, dtype)


def kinds(name):
    return ["float64", "float32"] if name.startswith(("rfft", "ihfft")) else ["float64", "float32", "complex128", "complex64"]


def close(got, want):
    assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, want.shape, got.dtype, want.dtype)
    tolerance = 1e-10 if want.dtype in (np.float64, np.complex128) else 2e-5
    np.testing.assert_allclose(np.asarray(got), want, tolerance, tolerance)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE)
def test_along_one_axis(name, norm):
    for dtype in kinds(name):
        for shape, n, axis in (
            ((8,), None, -1),
            ((7,), None, 0),
            ((3, 4), 5, 0),
            ((3, 4), 2, -1),
            ((2, 5, 3), 6, 1),
            ((0, 4), None, 1),
        ):
            x = draw(shape, dtype)
            close(getattr(fnp.fft, name)(fnp.array(x), n, axis, norm), getattr(np.fft, name)(x, n, axis, norm))


@pytest.mark.parametrize("name", [*MANY, *TWO])
def test_along_several_axes(name):
    for dtype in kinds(name):
        for shape, s, axes in (((4, 6), None, (-2, -1)), ((2, 3, 4), (5, 2), (2, 0)), ((3, 4, 2), (2, 6), (0, 1))):
            for norm in NORMS:
                x = draw(shape, dtype)
                close(getattr(fnp.fft, name)(fnp.array(x), s, axes, norm), getattr(np.fft, name)(x, s, axes, norm))
        if name in MANY:
            x = draw((2, 3, 4), dtype)
            close(getattr(fnp.fft, name)(fnp.array(x)), getattr(np.fft, name)(x))


@pytest.mark.parametrize("name", ONE)
def test_compiled_and_batched(name):
    x = draw((3, 6))
    f = getattr(fnp.fft, name)
    want = getattr(np.fft, name)(x)
    close(fg.jit(f)(x), want)
    close(fg.vmap(f)(x), want)
    close(fg.jit(fg.vmap(f, 1))(np.moveaxis(x, 0, 1)), want)


@pytest.mark.parametrize("name", [*ONE, *MANY])
def test_gradients(name):
    f = getattr(fnp.fft, name)

    def parts(*xs):
        out = f(xs[0] + 1j * xs[1] if len(xs) == 2 else xs[0])
        return [fnp.real(out) ** 2, fnp.imag(out) * fnp.real(out)] if out.dtype.kind == "c" else [out**2]

    for shape in ((4, 5), (2, 4)):
        xs = [draw(shape)] if name.startswith(("rfft", "ihfft")) else [draw(shape), draw(shape) + 1]
        check_grads(parts, xs, 2, atol=1e-4, rtol=1e-4)


def test_frequencies_and_shifts():
    for n in (1, 2, 7, 8):
        close(fnp.fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5).astype("float32"))
        close(fnp.fft.rfftfreq(n, 0.1, dtype="float64"), np.fft.rfftfreq(n, 0.1))
        close(fg.jit(lambda d, n=n: fnp.fft.fftfreq(n, d, dtype="float64"))(2.0), np.fft.fftfreq(n, 2.0))
    for shape in ((5,), (4, 3)):
        x = draw(shape)
        for axes in (None, 0, (0,)):
            close(fnp.fft.fftshift(x, axes), np.fft.fftshift(x, axes))
            close(fnp.fft.ifftshift(x, axes), np.fft.ifftshift(x, axes))


def test_integers_become_floats():
    assert fnp.fft.fft(np.arange(4)).dtype == np.complex64
    assert fnp.fft.rfft(np.arange(4, dtype="float16")).dtype == np.complex64


def test_lax():
    x = draw((2, 3, 4))
    close(lax.fft(x, "fft", 4), np.fft.fft(x))
    close(lax.fft(x, "RFFT", (3, 4)), np.fft.rfftn(x, axes=(1, 2)))
    close(lax.fft(np.fft.rfft(x), "irfft", (4,)), x)
    with pytest.raises(ValueError, match="(?s)fft_type='dct'.*'rfft'"):
        lax.fft(x, "dct", 4)
    with pytest.raises(ValueError, match=r"(?s)fft_lengths=\(5,\).*fnp.fft"):
        lax.fft(x, "fft", 5)


def test_errors():
    with pytest.raises(ValueError, match="(?s)fnp.fft.fft: got norm='x'.*'ortho'"):
        fnp.fft.fft(np.ones(3), norm="x")
    with pytest.raises(TypeError, match="(?s)fnp.fft.rfft: got c128.*real"):
        fnp.fft.rfft(np.ones(3) * 1j)
    with pytest.raises(ValueError, match="fnp.fft.fft"):
        fnp.fft.fft(np.ones(0))
    with pytest.raises(ValueError, match="(?s)fft2.*two axes"):
        fnp.fft.fft2(np.ones((2, 2, 2)), axes=(0, 1, 2))
