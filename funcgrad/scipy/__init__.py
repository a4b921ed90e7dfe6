"""SciPy's functions on arrays that can be traced: `from funcgrad.scipy import linalg`."""

from funcgrad.scipy import cluster, fft, integrate, interpolate, linalg, ndimage, optimize, signal, sparse, special, stats

__all__ = ["cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "special", "stats"]
