"""scipy.signal's functions against SciPy, in every mode and argument; gradients."""

import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest
import scipy.signal

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.scipy import signal
from funcgrad.scipy.signal import convolution
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(0)
MODES = ("full", "same", "valid")


def whole(*shape, dtype=np.float64):
    x = RNG.integers(-4, 5, shape).astype(dtype)
    return x + 1j * RNG.integers(-4, 5, shape) if np.dtype(dtype).kind == "c" else x


def same(got, want, tolerance=1e-11):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max(1.0, np.abs(want).max(initial=0)))


# --- convolutions -----------------------------------------------------------------------------------------------------

SHAPES = [
    ((5,), (3,)),
    ((3,), (6,)),
    ((4,), (4,)),
    ((5, 4), (2, 3)),
    ((2, 3), (5, 3)),
    ((4, 3, 2), (2, 3, 1)),
    ((2, 2), (3, 1)),
    ((1,), (2,)),
]


@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.int64])
def test_convolutions_are_scipys(name, dtype):
    ours, theirs = getattr(signal, name), getattr(scipy.signal, name)
    for (s1, s2), mode, method in itertools.product(SHAPES, MODES, ("auto", "direct", "fft")):
        a, b = whole(*s1, dtype=dtype), whole(*s2, dtype=dtype)
        args = (mode,) if name == "fftconvolve" else (mode, method)
        if name != "fftconvolve" and mode == "valid" and (s1, s2) == ((2, 2), (3, 1)):
            with pytest.raises(ValueError, match="(?s)valid.*as large as the other one.*mode='same'"):
                ours(a, b, *args)
            continue
        want = theirs(a, b, *args)
        got = ours(a, b, *args)
        same(got, want, 1e-6 if name == "fftconvolve" and dtype is np.int64 else 1e-11)
        if name != "fftconvolve" or dtype is not np.int64:
            assert got.dtype == want.dtype


def test_one_is_jitted_and_mapped():
    a, b = whole(3, 40), whole(3, 7)
    f = fg.jit(fg.vmap(lambda a, b: signal.convolve(a, b, mode="same")))
    same(f(a, b), np.stack([scipy.signal.convolve(x, y, "same") for x, y in zip(a, b)]))


@pytest.mark.parametrize(
    "s1, s2, axes",
    [
        ((3, 2, 4), (1, 2, 3), 2), ((3, 2, 4), (3, 2, 1), (0, 2)), ((1, 2, 4), (3, 2, 1), 1), ((3, 5), (3, 2), -1), ((3, 2), (3, 5), [1]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", MODES)
def test_fftconvolve_along_some_axes(s1, s2, axes, mode):
    a, b = whole(*s1), whole(*s2)
    same(signal.fftconvolve(a, b, mode, axes), scipy.signal.fftconvolve(a, b, mode, axes))


def test_the_shorter_way_is_taken():
    x, y = fnp.asarray(whole(4000)), fnp.asarray(whole(3000))
    assert convolution._by_transform(x, y, "full") and not convolution._by_transform(x, y[:20], "full")
    assert not convolution._by_transform(x.astype(int), y.astype(int), "full")
    assert "fft" in str(fg.make_jaxpr(signal.convolve)(x, y)) and "fft" not in str(fg.make_jaxpr(signal.convolve)(x, y[:20]))
    same(signal.convolve(x, y), np.convolve(x, y))


def test_scalars_bools_narrow_floats_and_nothing():
    assert float(signal.convolve(3.0, 4.0)) == 12 and complex(signal.correlate(2.0, 1j)) == -2j
    assert signal.convolve(np.array([True, False]), np.array([True, True])).tolist() == [True, True, False]
    for dtype in (np.float16, ml_dtypes.bfloat16):
        for method in ("direct", "fft"):
            out = signal.convolve(np.ones(5, dtype), np.ones(3, dtype), method=method)
            assert out.dtype == dtype
            same(out.astype(float), scipy.signal.convolve(np.ones(5), np.ones(3)), 1e-6)
    assert signal.fftconvolve(np.ones((3, 0)), np.ones((2, 2))).shape == (0,)
    with pytest.raises(ValueError, match="(?s)signal.convolve: got.*that have elements.*fftconvolve"):
        signal.convolve(np.ones(0), np.ones(2))


@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.int32])
def test_images_are_scipys(name, boundary, dtype):
    for s1, s2 in itertools.product([(3, 4), (5, 5), (1, 2)], [(1, 1), (2, 3), (3, 2), (4, 4), (1, 7)]):
        for mode, fill in itertools.product(MODES, (0, 2)):
            a, b = whole(*s1, dtype=dtype), whole(*s2, dtype=dtype)
            try:
                want = getattr(scipy.signal, name)(a, b, mode, boundary, fill)
            except ValueError:
                with pytest.raises(ValueError, match="as large as the other one"):
                    getattr(signal, name)(a, b, mode, boundary, fill)
                continue
            got = getattr(signal, name)(a, b, mode, boundary, fill)
            assert got.dtype == want.dtype
            same(got, want)


CALLS = [
    lambda a, b: signal.convolve(a, b, "same"),
    lambda a, b: signal.correlate(a, b, "valid", "direct"),
    lambda a, b: signal.fftconvolve(a, b),
    lambda a, b: signal.convolve2d(a, b, "same", "symm"),
    lambda a, b: signal.correlate2d(a, b, "full", "wrap"),
]


@pytest.mark.parametrize("f", CALLS)
def test_gradients_of_convolutions(f):
    a, b = RNG.normal(size=(4, 5)), RNG.normal(size=(3, 2))
    check_grads(lambda a, b: fnp.sin(f(a, b)), (a, b), order=2, modes=("fwd", "rev"))


def test_what_lies_beyond_has_a_gradient():
    a, b = RNG.normal(size=(3, 3)), RNG.normal(size=(2, 2))
    check_grads(lambda v: signal.convolve2d(a, b, fillvalue=v), (np.float64(0.5),), order=1, modes=("fwd", "rev"))


WRONG = [
    (lambda: signal.convolve(np.ones(3), np.ones(2), "half"), r"convolve: got mode='half'.*'full', 'same' or 'valid'.*mode='full'"),
    (lambda: signal.convolve(np.ones(3), np.ones(2), method="quick"), r"method='quick'.*'auto', 'direct' or 'fft'"),
    (lambda: signal.correlate(np.ones(3), np.ones((2, 2))), r"f64\[3\] and f64\[2,2\].*one number of axes.*in2\[None\]"),
    (lambda: signal.convolve2d(np.ones(3), np.ones(2)), r"arrays with 2 axes"),
    (lambda: signal.convolve2d(np.ones((3, 3)), np.ones((2, 2)), boundary="mirror"), r"boundary='mirror'.*'fill', 'wrap' or 'symm'"),
    (lambda: signal.fftconvolve(np.ones((3, 4)), np.ones((2, 4)), axes=1), r"axes=1.*equal extents, or 1.*check axes="),
    (lambda: signal.fftconvolve(np.ones((3, 4)), np.ones((2, 4)), axes=()), r"one axis or more"),
    (lambda: signal.detrend(np.ones(3), type="cubic"), r"type='cubic'.*'linear' or 'constant'"),
    (lambda: signal.detrend(np.ones(3), bp=4), r"bp=4 for 3 points.*0 to 3"),
    (lambda: signal.welch(np.ones(30), nperseg=10, noverlap=10), r"noverlap=10 for segments of 10.*fewer points.*noverlap=None"),
    (lambda: signal.welch(np.ones(30), nperseg=10, nfft=9), r"nfft=9 for segments of 10.*or more"),
    (lambda: signal.welch(np.ones(30), window=np.ones(31)), r"segments of 31 for 30 points"),
    (lambda: signal.welch(np.ones(30), window=np.ones(3), nperseg=4), r"window f64\[3\] for segments of 4.*window='hann'"),
    (lambda: signal.welch(np.ones(30), nperseg=8, average="mode"), r"average='mode'.*'mean' or 'median'"),
    (lambda: signal.welch(np.ones(30), nperseg=8, scaling="power"), r"scaling='power'.*'density' or 'spectrum'"),
    (lambda: signal.stft(np.ones(30), nperseg=8, boundary="mirror"), r"boundary='mirror'.*'even', 'odd', 'constant', 'zeros' or None"),
    (lambda: signal.istft(np.ones(3)), r"Zxx f64\[3\].*frequencies and segments"),
    (lambda: signal.istft(np.ones((3, 3)), time_axis=0, freq_axis=0), r"two different axes"),
]  # fmt: skip


@pytest.mark.parametrize("call, text", WRONG, ids=[text[:25] for _, text in WRONG])
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=f"(?s)signal.*{text}"):
        call()


# --- trends -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"type": "constant"},
        {"bp": [3, 7]},
        {"axis": 0},
        {"axis": 0, "bp": 4},
        {"bp": [1, 3]},
        {"type": "l", "bp": np.array([2])},
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float32])
def test_detrend_is_scipys(args, dtype):
    x = (RNG.normal(size=(6, 9)) * 3 + np.arange(9) + (1j if dtype is np.complex128 else 0)).astype(dtype)
    got = signal.detrend(x, **args)
    assert got.dtype == dtype
    same(got, scipy.signal.detrend(x.astype(np.result_type(dtype, np.float64)), **args), 1e-5 if dtype is np.float32 else 1e-12)


def test_detrend_has_gradients_and_takes_integers():
    check_grads(lambda x: fnp.sin(signal.detrend(x, bp=4)), (RNG.normal(size=9),), order=2, modes=("fwd", "rev"))
    same(signal.detrend(np.arange(6) ** 2), scipy.signal.detrend(np.arange(6) ** 2), 1e-5)
    assert signal.detrend(np.zeros((0, 4))).shape == (0, 4)


# --- spectra ----------------------------------------------------------------------------------------------------------

X, Y, Z = RNG.normal(size=(2, 200)), RNG.normal(size=(2, 200)), RNG.normal(size=(2, 200)) + 1j * RNG.normal(size=(2, 200))
SPECTRA = [
    {},
    {"nperseg": 50},
    {"nperseg": 51, "noverlap": 17},
    {"nperseg": 40, "noverlap": 38, "nfft": 64},
    {"nperseg": 40, "nfft": 51, "fs": 8.0},
    {"window": "boxcar", "nperseg": 32},
    {"window": ("tukey", 0.25), "nperseg": 32},
    {"window": np.hamming(30)},
    {"window": np.hamming(30), "nperseg": 30, "fs": 10},
    {"nperseg": 50, "detrend": "linear"},
    {"nperseg": 50, "detrend": False},
    {"nperseg": 50, "return_onesided": False},
    {"nperseg": 50, "scaling": "spectrum"},
    {"nperseg": 20, "average": "median"},
    {"nperseg": 20, "noverlap": 5, "average": "median", "scaling": "spectrum"},
    {"nperseg": 1, "noverlap": 0, "detrend": False},
]


def quiet(f, *args, **kw):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*args, **kw)


@pytest.mark.parametrize("args", SPECTRA, ids=str)
@pytest.mark.parametrize("x, y", [(X, None), (X, Y), (Z, None), (Z, X), (X, Y[:, :150]), (X[0, :30], Y[0])], ids=lambda v: None)
def test_spectra_are_scipys(args, x, y):
    if y is None:
        got, want = quiet(signal.welch, x, **args), quiet(scipy.signal.welch, x, **args)
    else:
        got, want = quiet(signal.csd, x, y, **args), quiet(scipy.signal.csd, x, y, **args)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        same(a, b)


def test_spectra_along_another_axis():
    for f, g in ((signal.welch, scipy.signal.welch), (signal.stft, scipy.signal.stft)):
        for axis in (0, 1, -2):
            x = RNG.normal(size=(60, 70, 2))
            for a, b in zip(f(x, nperseg=16, axis=axis), g(x, nperseg=16, axis=axis), strict=True):
                same(a, b)
    x, y = RNG.normal(size=(60, 1)), RNG.normal(size=(60, 3))
    for a, b in zip(signal.csd(x, y, nperseg=16, axis=0), scipy.signal.csd(x, y, nperseg=16, axis=0), strict=True):
        same(a, b)


def test_the_detrending_function_is_the_users():
    square = lambda d: d - d.mean(-1, keepdims=True) ** 2
    same(signal.welch(X, nperseg=50, detrend=square)[1], scipy.signal.welch(X, nperseg=50, detrend=square)[1])


def test_float32_stays_and_short_signals_are_one_segment():
    f, p = signal.welch(X.astype(np.float32), nperseg=64)
    assert f.dtype == p.dtype == np.float32
    same(p, scipy.signal.welch(X, nperseg=64)[1], 1e-4)
    with pytest.warns(UserWarning, match="signal.csd: got nperseg=256 for 200 points"):
        signal.welch(X)
    assert [v.shape for v in signal.welch(np.ones((2, 0)))] == [(2, 0)] * 2
    assert signal.welch(X.astype(np.float16), nperseg=64)[1].dtype == np.float32


STFTS = [
    {"nperseg": 50},
    {"nperseg": 51},
    {"nperseg": 50, "noverlap": 40, "nfft": 64},
    {"nperseg": 50, "noverlap": 49},
    {"nperseg": 50, "noverlap": 7, "padded": False},
    {"nperseg": 50, "boundary": None},
    {"nperseg": 50, "boundary": "even"},
    {"nperseg": 50, "boundary": "odd"},
    {"nperseg": 50, "boundary": "constant", "fs": 3.0},
    {"nperseg": 50, "detrend": "linear"},
    {"nperseg": 50, "return_onesided": False},
    {"window": np.hamming(30), "nperseg": 30},
    {"nperseg": 1, "noverlap": 0, "window": "boxcar"},
]


@pytest.mark.parametrize("args", STFTS, ids=str)
@pytest.mark.parametrize("x", [X, Z, X[0]], ids=lambda v: None)
def test_stft_is_scipys(args, x):
    got, want = quiet(signal.stft, x, **args), quiet(scipy.signal.stft, x, **args)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        same(a, b)


@pytest.mark.parametrize(
    "there, back",
    [
        ({"nperseg": 50}, {}),
        ({"nperseg": 51}, {"nperseg": 51}),
        ({"nperseg": 50, "noverlap": 40}, {"noverlap": 40}),
        ({"nperseg": 50, "noverlap": 49}, {"noverlap": 49}),
        ({"nperseg": 50, "noverlap": 13}, {"noverlap": 13}),
        ({"nperseg": 50, "nfft": 64}, {"nperseg": 50, "nfft": 64}),
        ({"nperseg": 50, "return_onesided": False}, {"input_onesided": False}),
        ({"nperseg": 50, "boundary": None}, {"boundary": False}),
        ({"nperseg": 50, "fs": 4.0}, {"fs": 4.0}),
        ({"window": np.hamming(30), "nperseg": 30}, {"window": np.hamming(30)}),
    ],
    ids=str,
)
def test_istft_is_scipys_and_goes_back(there, back):
    for x in (X[0], X):
        z = scipy.signal.stft(x, **there)[2]
        t, got = quiet(signal.istft, z, **back)
        want_t, want = quiet(scipy.signal.istft, z, **back)
        same(got, want, 1e-10)
        assert t.shape == got.shape[-1:]
        if x.ndim == 1:
            same(t, want_t)
        if "boundary" not in there:
            same(got[..., :200], x, 1e-10)
    z = np.moveaxis(z, (-2, -1), (0, 1))
    same(
        quiet(signal.istft, z, freq_axis=0, time_axis=1, **back)[1],
        quiet(scipy.signal.istft, z, freq_axis=0, time_axis=1, **back)[1],
        1e-10,
    )


def test_a_gap_between_windows_is_told():
    z = signal.stft(X, nperseg=50, boundary=None)[2]
    with pytest.warns(UserWarning, match="the signal is not determined there, perhaps for want of boundaries"):
        signal.istft(z, boundary=False)


def test_gradients_of_spectra():
    x, y = RNG.normal(size=40), RNG.normal(size=40)
    check_grads(lambda x: signal.welch(x, nperseg=16)[1], (x,), order=2, modes=("fwd", "rev"))
    check_grads(lambda x, y: fnp.abs(signal.csd(x, y, nperseg=16)[1]) ** 2, (x, y), order=1, modes=("fwd", "rev"))
    check_grads(lambda x: fnp.abs(signal.stft(x, nperseg=16)[2]) ** 2, (x,), order=2, modes=("fwd", "rev"))
    check_grads(lambda w: signal.welch(x, window=w)[1], (np.hamming(16),), order=1, modes=("fwd", "rev"))
    round_trip = lambda x: signal.istft(signal.stft(x, nperseg=16)[2])[1]
    same(fg.jacobian(round_trip)(x)[:40], np.eye(40), 1e-9)


def test_spectra_are_jitted_and_mapped():
    f = lambda x: signal.welch(x, nperseg=32)[1]
    same(fg.jit(f)(X), scipy.signal.welch(X, nperseg=32)[1])
    same(fg.vmap(f)(X), scipy.signal.welch(X, nperseg=32)[1])
    g = lambda x, fs: signal.stft(x, fs, nperseg=32)
    for a, b in zip(fg.jit(g)(X, 5.0), scipy.signal.stft(X, 5.0, nperseg=32), strict=True):
        same(a, b)
    z = scipy.signal.stft(X, nperseg=32)[2]
    same(fg.jit(lambda z: signal.istft(z)[1])(z)[:, :200], X)
