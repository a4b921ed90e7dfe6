"""SciPy's functions on arrays that can be traced: `from funcgrad.scipy import linalg`."""

from funcgrad.scipy import fft, linalg, special

__all__ = ["fft", "linalg", "special"]
