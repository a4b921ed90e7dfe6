"""lax.fft: discrete Fourier transforms of the last axes, lengths as they are."""

from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import UsageError, message
from funcgrad.numpy._axes import static_ints
from funcgrad.numpy._promote import as_value, cast
from funcgrad.ops import _matrix as mx
from funcgrad.ops.fft import TYPES
from funcgrad.ops.fft import fft as fft_op

__all__ = ["fft"]


def fft(x: Any, fft_type: Any, fft_lengths: Any) -> Any:
    """The transform of the last len(fft_lengths) axes of x.

    Args: fft_type: "fft", "ifft", "rfft", "irfft" (upper case too), or an enumeration's member of such a name.
    fft_lengths: the extents of the axes; for irfft those of the result, whose last one n belongs to
    n // 2 + 1 elements of the operand. Real operands of "fft" and "ifft" become complex. Returns: complex, of irfft real.

    >>> lax.fft(fnp.array([1.0, 0.0, 0.0, 0.0]), "fft", (4,))
    Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    >>> lax.fft(fnp.array([1.0, 2.0, 3.0]), "rfft", (3,)).shape
    (2,)
    """
    kind = str(getattr(fft_type, "name", fft_type)).lower()
    if kind not in TYPES:
        raise UsageError(message(f"lax.fft: got fft_type={fft_type!r}", ", ".join(map(repr, TYPES)), "fft_type='fft'"))
    v = as_value(x, "lax.fft", "x")
    if kind != "rfft" and v.dtype in mx.MATRICES & dt.FLOATS:
        v = cast(v, mx.complex_dtype(v.dtype))
    lengths = static_ints(fft_lengths, "lax.fft", "fft_lengths")
    return fft_op(v, fft_type=kind, fft_lengths=lengths) if lengths else v
