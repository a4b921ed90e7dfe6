"""Spectra of signals by Fourier transforms of overlapping, windowed segments: welch, csd, stft, istft.

Welch, "The use of fast Fourier transform for the estimation of power spectra", IEEE Trans. Audio Electroacoust. 15 (1967).
"""

from typing import Any, NamedTuple

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import ShapeError, UsageError, describe, message
from funcgrad.core.lazy import LazyModule
from funcgrad.core.warn import warn
from funcgrad.numpy import fft as transforms
from funcgrad.numpy._axes import MANY, axis_of, fitting, listed, static_int
from funcgrad.numpy._promote import as_value, broadcast_shapes_of, broadcast_value, cast, common_inexact
from funcgrad.numpy.elementwise import conj, divide, imag, multiply, real, sqrt
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.means import mean
from funcgrad.numpy.padding import pad
from funcgrad.numpy.quantiles import median
from funcgrad.numpy.reductions import sum as sum_
from funcgrad.numpy.selection import take, where
from funcgrad.numpy.structure import cut, moveaxis
from funcgrad.ops import _matrix as mx
from funcgrad.ops import elementwise as ew
from funcgrad.ops._samples import NARROW
from funcgrad.ops.shape import reshape
from funcgrad.scipy.signal.trend import detrend as without_trend
from funcgrad.trace.value import Value

__all__ = ["csd", "istft", "stft", "welch"]

scipy_signal: Any = LazyModule("scipy.signal")

SHIFTS = 32  # so many overlapping segments are laid side by side from shifted blocks; more are gathered
BOUNDARIES = {"even": ("reflect", "even"), "odd": ("reflect", "odd"), "constant": ("edge", None), "zeros": ("constant", None)}


class _Segments(NamedTuple):
    """Segments of `size` points, `step` apart, transformed with `points` points."""

    window: Any
    size: int
    step: int
    points: int


def _signals(name: str, **xs: Any) -> list[Any]:
    """Arrays of one dtype that transforms have: floats of 32 bits or more, or complex numbers."""
    vs = common_inexact(*[as_value(x, f"signal.{name}", arg) for arg, x in xs.items()])
    return [cast(v, dt.float32) for v in vs] if vs[0].dtype in NARROW else vs


def _bad(name: str, came: str, allowed: str, fix: str) -> UsageError:
    return UsageError(message(f"signal.{name}: got {came}", allowed, fix))


def _window(name: str, window: Any, size: int, dtype: np.dtype) -> Any:
    """The window as numbers: by name from SciPy, or as given."""
    if isinstance(window, (str, tuple)):
        try:
            found = scipy_signal.get_window(window, size)
        except (ValueError, IndexError, TypeError) as error:
            raise _bad(name, f"window={window!r} ({error})", "a name, or (name, parameters)", "'hann'") from None
        return as_value(found.astype(dtype), f"signal.{name}", "window")
    if not isinstance(window, MANY):
        raise _bad(name, f"{describe(window)} for window", "a name, or a vector", "window='hann'")
    w = as_value(listed(window, f"scipy.signal.{name}", "window"), f"signal.{name}", "window")
    if w.ndim != 1 or w.shape[0] != size:
        raise ShapeError(
            message(
                f"signal.{name}: got window {w.aval.str_short()} for segments of {size}",
                "a name, a tuple of a name and parameters, or a vector with a number for each point of a segment",
                "window='hann', or nperseg=len(window)",
            )
        )
    return cast(w, dtype) if w.dtype != dtype else w


def _segments(name: str, window: Any, nperseg: Any, noverlap: Any, nfft: Any, length: int, dtype: np.dtype) -> _Segments:
    if isinstance(window, (str, tuple)):
        size = 256 if nperseg is None else static_int(nperseg, f"x.{name}", "nperseg")
        if size > length:
            warn(f"signal.{name}: got nperseg={size} for {length} points; it is nperseg={length} then")
            size = length
    else:
        if not isinstance(window, MANY) or getattr(window, "ndim", 1) == 0:
            raise _bad(name, f"{describe(window)} for window", "a name, or a vector", "window='hann'")
        size = len(window) if nperseg is None else static_int(nperseg, f"x.{name}", "nperseg")
    if size < 1 or size > length:
        raise _bad(name, f"segments of {size} for {length} points", f"1 to {length} points", "nperseg=, or a shorter window")
    return _checked(name, _window(name, window, size, dtype), size, noverlap, nfft)


def _checked(name: str, window: Any, size: int, noverlap: Any, nfft: Any, points: int | None = None) -> _Segments:
    overlap = size // 2 if noverlap is None else static_int(noverlap, f"x.{name}", "noverlap")
    n = (points or size) if nfft is None else fitting(static_int(nfft, f"x.{name}", "nfft"), f"x.{name}", "nfft")
    if overlap >= size:
        raise _bad(name, f"noverlap={overlap} for segments of {size}", "fewer points than a segment has", "noverlap=None")
    if n < size:
        raise _bad(name, f"nfft={n} for segments of {size}", "as many points as a segment has, or more", "nfft=None")
    return _Segments(window, size, size - overlap, n)


def _cut_out(x: Any, s: _Segments) -> Any:
    """The segments of the last axis, as two axes."""
    n, count = x.shape[-1], (x.shape[-1] - s.size) // s.step + 1
    shifts = -(-s.size // s.step)
    if shifts > SHIFTS:
        return take(x, np.arange(count)[:, None] * s.step + np.arange(s.size), -1)
    # Blocks of `step` points; a segment is a run of them.
    whole = (count - 1 + shifts) * s.step
    x = pad(x, [(0, 0)] * (x.ndim - 1) + [(0, max(0, whole - n))])
    blocks = reshape(cut(x, x.ndim - 1, 0, whole), shape=(*x.shape[:-1], count - 1 + shifts, s.step))
    parts = [cut(blocks, blocks.ndim - 2, j, j + count) for j in range(shifts)]
    return cut(concatenate(parts, -1), blocks.ndim - 1, 0, s.size)


def _spectra(name: str, x: Any, s: _Segments, detrend: Any, one_sided: bool, axis: int) -> Any:
    """The transforms of the segments of the last axis: (..., segments, frequencies)."""
    parts = _cut_out(x, s)
    if callable(detrend):
        parts = detrend(parts) if axis == x.ndim - 1 else moveaxis(detrend(moveaxis(parts, -1, axis)), axis, -1)
        parts = as_value(parts, f"signal.{name}", "detrend(...)")
    elif not among(detrend, (False, None)):
        parts = without_trend(parts, -1, detrend)
    parts = multiply(parts, s.window)
    return (transforms.rfft if one_sided else transforms.fft)(parts, s.points, -1)


def _frequencies(s: _Segments, fs: Any, one_sided: bool, dtype: np.dtype) -> Any:
    k = (np.fft.rfftfreq if one_sided else np.fft.fftfreq)(s.points)
    return _times_rate(k, fs, dtype)


def _rate(fs: Any) -> Any:
    """A sampling frequency: a real number, traced or not."""
    if getattr(fs, "ndim", 0) != 0 or not isinstance(fs, (int, float, Value, np.ndarray, np.number)):
        raise UsageError(message(f"scipy.signal: got {describe(fs)} for fs", "a number", "fs=1.0"))
    return fs


def _times_rate(numbers: np.ndarray, fs: Any, dtype: np.dtype, inverse: bool = False) -> Any:
    """Fixed numbers times (or by) the sampling frequency, which may be traced."""
    fs = _rate(fs)
    if isinstance(fs, Value):
        x = as_value(numbers.astype(dtype), "signal")
        return divide(x, cast(fs, dtype)) if inverse else multiply(x, cast(fs, dtype))
    return as_value(np.asarray(numbers / fs if inverse else numbers * fs).astype(dtype), "signal")


def _scale(name: str, s: _Segments, fs: Any, scaling: Any) -> Any:
    """What a squared spectrum is multiplied by."""
    fs = _rate(fs)
    if among(scaling, ("density",)):
        power = sum_(multiply(s.window, s.window))
        return divide(1, multiply(power, cast(fs, power.dtype) if isinstance(fs, Value) else float(fs)))
    if among(scaling, ("spectrum",)):
        return divide(1, multiply(sum_(s.window), sum_(s.window)))
    raise _bad(name, f"scaling={scaling!r}", "'density' or 'spectrum'", "scaling='density'")


# --- power spectra --------------------------------------------------------------------------------------------------


def csd(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density", axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:  # fmt: skip
    """The cross spectral density of two signals by Welch's method: the mean of conj(X) * Y over overlapping segments.

    Args: x, y: arrays whose other axes broadcast; the shorter signal is filled up with zeros; y=None is x. fs: sampling rate.
    window: a name or a tuple as `scipy.signal.get_window` takes it, or a vector, which sets nperseg. nperseg: points of a segment
    (256; at most the signal's). noverlap: points that neighbours share (half a segment). nfft: points of a transform (nperseg).
    detrend: "constant", "linear", False, or a function of the segments. return_onesided: only frequencies from 0 on, of real
    signals. scaling: "density" (power per unit of fs) or "spectrum" (power). average: "mean" or "median" over segments.
    Returns: (frequencies, spectrum with frequencies along `axis`). Complex, or real where y is x.
    Raises: UsageError, ShapeError.

    >>> from funcgrad.scipy import signal
    >>> t = np.arange(1024) / 64
    >>> f, p = signal.csd(np.sin(2 * np.pi * 10 * t), np.cos(2 * np.pi * 10 * t), fs=64)
    >>> f[fnp.argmax(fnp.abs(p))]
    Array(10., dtype=float64)
    """
    name = "csd"
    same = y is None or y is x
    v, w = (_signals(name, x=x) * 2) if same else _signals(name, x=x, y=y)
    i = axis_of(axis, v.ndim, f"x.{name}")
    dtype = mx.complex_dtype(v.dtype)
    if not v.size or not w.size:
        shape = v.shape if same else _outer(v, w, i, axis, min(v.shape[i], w.shape[axis_of(axis, w.ndim, f"x.{name}")]))
        nothing = as_value(np.zeros(shape, mx.real_dtype(v.dtype)), f"signal.{name}")
        return nothing, nothing
    v = moveaxis(v, i, -1)
    w = v if same else moveaxis(w, axis_of(axis, w.ndim, f"x.{name}"), -1)
    length = max(v.shape[-1], w.shape[-1])
    v, w = _filled(v, length), _filled(w, length)
    broadcast_shapes_of([v.shape, w.shape], f"signal.{name}")
    one_sided = flag(return_onesided, "scipy.signal.csd", "return_onesided") and v.dtype not in dt.COMPLEXES
    s = _segments(name, window, nperseg, noverlap, nfft, length, mx.real_dtype(v.dtype))
    first = _spectra(name, v, s, detrend, one_sided, i)
    second = first if same else _spectra(name, w, s, detrend, one_sided, i)
    product = ew.real(multiply(conj(first), second)) if same else multiply(conj(first), second)
    product = multiply(product, cast(_scale(name, s, fs, scaling), product.dtype))
    if one_sided:  # each frequency stands for its negative too, but for 0 and the highest one of an even number
        k = np.arange(product.shape[-1])
        twice = np.where((k > 0) & ((s.points % 2 == 1) | (k < s.points // 2)), 2, 1)
        product = multiply(product, as_value(twice.astype(product.dtype), f"signal.{name}"))
    out = cast(_average(name, product, average), mx.real_dtype(dtype) if same else dtype)
    return _frequencies(s, fs, one_sided, mx.real_dtype(dtype)), moveaxis(out, -1, axis)


def _outer(x: Any, y: Any, i: int, axis: int, n: int) -> tuple[int, ...]:
    """The shape of a result with n frequencies."""
    j = axis_of(axis, y.ndim, "x.csd")
    outer = list(np.broadcast_shapes(x.shape[:i] + x.shape[i + 1 :], y.shape[:j] + y.shape[j + 1 :]))
    outer.insert(axis if axis >= 0 else len(outer) + 1 + axis, n)
    return tuple(outer)


def _filled(x: Any, length: int) -> Any:
    return pad(x, [(0, 0)] * (x.ndim - 1) + [(0, length - x.shape[-1])]) if x.shape[-1] < length else x


def _average(name: str, x: Any, average: Any) -> Any:
    """Over the segments, the last axis but one."""
    if among(average, ("mean",)):
        return mean(x, -2)
    if not among(average, ("median",)):
        raise _bad(name, f"average={average!r}", "'mean' or 'median'", "average='mean'")
    n = x.shape[-2]
    middle = ew.complex_(median(real(x), -2), median(imag(x), -2)) if x.dtype in dt.COMPLEXES else median(x, -2)
    # The median of an exponential distribution is below its mean by this factor (Allen et al., Phys. Rev. D 85, 122006, app. B).
    even = 2.0 * np.arange(1, (n - 1) // 2 + 1)
    return divide(middle, float(1 + np.sum(1 / (even + 1) - 1 / even)))


def welch(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None, nfft: int | None = None,
    detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean",
) -> tuple[Any, Any]:  # fmt: skip
    """The power spectral density of a signal by Welch's method: `csd` of the signal with itself, whose arguments it takes.

    >>> from funcgrad.scipy import signal
    >>> f, p = signal.welch(np.sin(2 * np.pi * 10 * np.arange(1024) / 64), fs=64)
    >>> f[fnp.argmax(p)]
    Array(10., dtype=float64)
    """
    return csd(
        x, None, fs=fs, window=window, nperseg=nperseg, noverlap=noverlap, nfft=nfft, detrend=detrend,
        return_onesided=return_onesided, scaling=scaling, axis=axis, average=average,
    )  # fmt: skip


# --- short time Fourier transforms ------------------------------------------------------------------------------------


def stft(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = 256, noverlap: int | None = None, nfft: int | None = None,
    detrend: Any = False, return_onesided: bool = True, boundary: str | None = "zeros", padded: bool = True, axis: int = -1,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The Fourier transforms of overlapping, windowed segments of a signal.

    Args: x: array. boundary: what half a segment before and after the signal holds: "zeros", "constant", "even" or "odd"
    (mirrored, or turned around the end); None: nothing is added. padded: zeros at the end, until the last segment is whole. The
    rest as in `csd`.
    Returns: (frequencies, times, transforms): transforms are complex, with frequencies along `axis` and a last axis for the
    segments; times are the segments' middles. Raises: UsageError, ShapeError.

    >>> from funcgrad.scipy import signal
    >>> f, t, z = signal.stft(fnp.ones(1000), nperseg=100)
    >>> f.shape, t.shape, z.shape
    ((51,), (21,), (51, 21))
    """
    name = "stft"
    (v,) = _signals(name, x=x)
    i = axis_of(axis, v.ndim, f"x.{name}")
    dtype, width = mx.complex_dtype(v.dtype), mx.real_dtype(v.dtype)
    if boundary is not None and (not isinstance(boundary, str) or boundary not in BOUNDARIES):
        raise _bad(name, f"boundary={boundary!r}", ", ".join(map(repr, BOUNDARIES)) + " or None", "boundary='zeros'")
    if not v.size:
        nothing = as_value(np.zeros(v.shape, width), f"signal.{name}")
        return nothing, nothing, nothing
    v = moveaxis(v, i, -1)
    if v.dtype in dt.COMPLEXES and return_onesided:
        warn(f"signal.{name}: got a complex signal; its spectrum has two sides (return_onesided=False)")
    one_sided = flag(return_onesided, "scipy.signal.stft", "return_onesided") and v.dtype not in dt.COMPLEXES
    s = _segments(name, window, nperseg, noverlap, nfft, v.shape[-1], width)
    none = [(0, 0)] * (v.ndim - 1)
    if boundary is not None and s.size > 1:
        mode, kind = BOUNDARIES[boundary]
        v = pad(v, [*none, (s.size // 2, s.size // 2)], mode, **({} if kind is None else {"reflect_type": kind}))
    if flag(padded, "scipy.signal.stft", "padded"):
        v = pad(v, [*none, (0, (-(v.shape[-1] - s.size) % s.step) % s.size)])
    z = _spectra(name, v, s, detrend, one_sided, i)
    z = cast(multiply(z, cast(sqrt(_scale(name, s, fs, "spectrum")), z.dtype)), dtype)
    times = np.arange(s.size / 2, v.shape[-1] - s.size / 2 + 1, s.step) - (s.size / 2 if boundary is not None else 0)
    z = moveaxis(z, -1, i)  # (..., frequencies, ..., segments), where segments have stayed the last axis
    return _frequencies(s, fs, one_sided, width), _times_rate(times, fs, width, inverse=True), z


def istft(
    Zxx: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, input_onesided: bool = True, boundary: bool = True, time_axis: int = -1, freq_axis: int = -2,
) -> tuple[Any, Any]:  # fmt: skip
    """The signal whose short time Fourier transforms are the nearest to Zxx, and, if Zxx comes from `stft`, are Zxx.

    Args: Zxx: array of at least two axes. input_onesided: it has the frequencies from 0 on of a real signal. boundary: half a
    segment is taken off at either end, as `stft` has added it. time_axis, freq_axis: the axes of segments and of frequencies. The
    rest as in `stft`. Where the windows of all segments are 0 the signal is not determined, and a warning says so.
    Returns: (times, signal along time_axis). Raises: UsageError, ShapeError.
    Source: Griffin and Lim, "Signal estimation from modified short-time Fourier transform", IEEE Trans. ASSP 32 (1984).

    >>> from funcgrad.scipy import signal
    >>> x = np.arange(1000.0)
    >>> t, back = signal.istft(signal.stft(x, nperseg=100)[2])
    >>> bool(fnp.allclose(x, back))
    True
    """
    name = "istft"
    (z,) = _signals(name, Zxx=Zxx)
    if z.ndim < 2:
        raise ShapeError(message(f"signal.{name}: got Zxx {z.aval.str_short()}", "frequencies and segments", "Zxx[:, None]"))
    z = cast(z, mx.complex_dtype(z.dtype))
    across, along = axis_of(freq_axis, z.ndim, f"x.{name}", "freq_axis"), axis_of(time_axis, z.ndim, f"x.{name}", "time_axis")
    if across == along:
        raise _bad(name, f"freq_axis={freq_axis} and time_axis={time_axis}", "two different axes", "freq_axis=-2, time_axis=-1")
    z = moveaxis(z, (along, across), (-2, -1))  # (..., segments, frequencies)
    usual = 2 * (z.shape[-1] - 1) if flag(input_onesided, "scipy.signal.istft", "input_onesided") else z.shape[-1]
    size = usual if nperseg is None else static_int(nperseg, f"x.{name}", "nperseg")
    if size < 1:
        raise _bad(name, f"nperseg={size}", "1 or more", "nperseg=None")
    width = mx.real_dtype(z.dtype)
    odd = input_onesided and size == usual + 1
    s = _checked(name, _window(name, window, size, width), size, noverlap, nfft, size if odd else usual)
    parts = transforms.irfft(z, s.points, -1) if input_onesided else transforms.ifft(z, s.points, -1)
    parts = cut(parts, parts.ndim - 1, 0, s.size)
    w = s.window
    out = _overlapped(multiply(parts, multiply(w, sum_(w))), s)
    weights = _overlapped(broadcast_value(multiply(w, w), (z.shape[-2], s.size)), s)
    half = s.size // 2
    if flag(boundary, "scipy.signal.istft", "boundary") and half:
        out, weights = [cut(v, v.ndim - 1, half, max(half, v.shape[-1] - half)) for v in (out, weights)]
    live = ew.gt(weights, width.type(1e-10))
    _warn_of_gaps(name, live, boundary)
    out = divide(out, cast(where(live, weights, width.type(1)), out.dtype))
    out = moveaxis(out, -1, along - (across < along))
    return _times_rate(np.arange(out.shape[along - (across < along)], dtype=float), fs, width, inverse=True), out


def _warn_of_gaps(name: str, live: Any, boundary: bool) -> None:
    """The windows are mostly known, also while tracing."""
    known = live.concrete() if hasattr(live, "concrete") else live
    if known is not None and not np.asarray(known).all():
        missing = "" if boundary else ", perhaps for want of boundaries"
        warn(f"signal.{name}: windows are 0 where they overlap; the signal is not determined there{missing}")


def _overlapped(x: Any, s: _Segments) -> Any:
    """Segments (..., segments, points) added up where they lie, `step` apart."""
    count, shifts = x.shape[-2], -(-s.size // s.step)
    length = s.size + (count - 1) * s.step
    if not count:
        return reshape(x, shape=(*x.shape[:-2], 0))
    if shifts > SHIFTS:
        places = np.arange(count)[:, None] * s.step + np.arange(s.size)
        empty: Any = as_value(np.zeros((*x.shape[:-2], length), x.dtype), "signal.istft")
        return empty.at[..., places].add(x)
    none = [(0, 0)] * (x.ndim - 2)
    blocks = pad(x, [*none, (0, 0), (0, shifts * s.step - s.size)])
    total = None
    for j in range(shifts):  # block j of a segment comes j blocks later
        part = cut(blocks, x.ndim - 1, j * s.step, (j + 1) * s.step)
        part = pad(part, [*none, (j, shifts - 1 - j), (0, 0)])
        total = part if total is None else ew.add(total, part)
    flat = reshape(total, shape=(*x.shape[:-2], (count - 1 + shifts) * s.step))
    return cut(flat, flat.ndim - 1, 0, length)
