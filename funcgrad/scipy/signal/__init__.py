"""Signals, as in `scipy.signal`: convolutions and correlations, spectra, trends. Everything is differentiable.

Integer and bool signals become floats of the default width where a transform needs floats.
"""

from funcgrad.scipy.signal.convolution import convolve, convolve2d, correlate, correlate2d, fftconvolve
from funcgrad.scipy.signal.spectral import csd, istft, stft, welch
from funcgrad.scipy.signal.trend import detrend

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
