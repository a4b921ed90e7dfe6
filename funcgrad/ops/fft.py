"""fft: discrete Fourier transforms of the last axes, by SciPy's pocketfft.

`fft_type` is "fft", "ifft", "rfft" (real to the half of the spectrum that is not redundant) or "irfft" (back); `fft_lengths` are
the extents of the transformed axes, of irfft those of the result. Inverse transforms are divided by the number of elements.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.config import config
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.core.lazy import LazyModule
from funcgrad.ir.loop_rules import Host
from funcgrad.ops import _matrix as mx
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import batch_at, broadcast_in_dim, check_dtypes, like, linear
from funcgrad.ops._samples import uniform
from funcgrad.ops.shape import iota, pad
from funcgrad.trace.value import aval_of

scipy_fft: Any = LazyModule("scipy.fft")
SHARED = 1 << 17  # elements
TYPES = ("fft", "ifft", "rfft", "irfft")


def _abstract(x: ShapedArray, *, fft_type: str, fft_lengths: tuple[int, ...]) -> ShapedArray:
    if fft_type not in TYPES:
        raise UsageError(message(f"fft: got fft_type={fft_type!r}", ", ".join(map(repr, TYPES)), "fft_type='fft'"))
    check_dtypes(fft_type, mx.MATRICES & (dt.FLOATS if fft_type == "rfft" else dt.COMPLEXES), x)
    rank = len(fft_lengths)
    if not rank:
        raise UsageError(message("fft: got fft_lengths=()", "the extents of one or more axes", "fft_lengths=x.shape[-1:]"))
    want = fft_lengths[:-1] + (fft_lengths[-1] // 2 + 1,) if fft_type == "irfft" else fft_lengths
    if rank > x.ndim or x.shape[x.ndim - rank :] != want or 0 in fft_lengths:
        raise ShapeError(
            message(
                f"{fft_type}: got {x.str_short()} with fft_lengths={fft_lengths}",
                f"an operand that ends with the extents {want}, none of them 0",
                "fnp.fft has functions that cut and pad to a length n",
            )
        )
    batch = x.shape[: x.ndim - rank]
    if fft_type == "rfft":
        return shaped((*batch, *fft_lengths[:-1], fft_lengths[-1] // 2 + 1), mx.complex_dtype(x.dtype))
    return shaped((*batch, *fft_lengths), mx.real_dtype(x.dtype) if fft_type == "irfft" else mx.complex_dtype(x.dtype))


def _numpy(x: np.ndarray, fft_type: str, fft_lengths: tuple[int, ...]) -> np.ndarray:
    axes = tuple(range(x.ndim - len(fft_lengths), x.ndim))
    if not x.size:
        out = _abstract(shaped(x.shape, x.dtype), fft_type=fft_type, fft_lengths=fft_lengths)
        return np.zeros(out.shape, out.dtype)
    name = {"fft": "fftn", "ifft": "ifftn", "rfft": "rfftn", "irfft": "irfftn"}[fft_type]
    # scipy's threads take some of the transforms each: for large arrays only. 0 in the configuration means all processors.
    workers = (config.num_threads or -1) if x.size >= SHARED else 1
    return getattr(scipy_fft, name)(x, s=fft_lengths, axes=axes, workers=workers)


def _counts(shape: tuple[int, ...], n: int, dtype: np.dtype) -> Any:
    """How often each element of half a spectrum stands in the whole one: 1 for the first, and for the last of even n; else 2."""
    k = iota(dtype=dt.int64, shape=shape, dimension=len(shape) - 1)
    once = ew.eq(k, np.int64(0))
    if n % 2 == 0:
        once = ew.or_(once, ew.eq(k, np.int64(n // 2)))
    return ew.select_n(
        once, broadcast_in_dim(dtype.type(2), shape=shape, dims=()), broadcast_in_dim(dtype.type(1), shape=shape, dims=())
    )


def _transpose(ct: Any, aval: ShapedArray, *, fft_type: str, fft_lengths: tuple[int, ...]) -> Any:
    # The matrix of fft and ifft is symmetric. Of rfft it is the leading rows of fft's, on real numbers. irfft adds each element
    # and its conjugate: with real ct, the conjugate of rfft(ct), counted as often as the element is used.
    if fft_type in ("fft", "ifft"):
        return fft(ct, fft_type=fft_type, fft_lengths=fft_lengths)
    n = fft_lengths[-1]
    if fft_type == "rfft":
        shape = aval_of(ct).shape
        widths = tuple((0, 0, 0) for _ in shape[:-1]) + ((0, n - shape[-1], 0),)
        full = pad(ct, like(ct, 0), padding_config=widths)
        return ew.real(fft(full, fft_type="fft", fft_lengths=fft_lengths))
    half = ew.conj(fft(ct, fft_type="rfft", fft_lengths=fft_lengths))
    real = mx.real_dtype(aval.dtype)
    weights = ew.mul(_counts(aval.shape, n, real), real.type(1 / math.prod(fft_lengths)))
    return ew.mul(half, mx.as_dtype(weights, aval.dtype))


def _batch(x: Any, d: int, size: int, **params: Any) -> Any:
    return fft(batch_at(x, d, size), **params), 0


def _samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    draw = uniform(-1, 1)
    if dtype in dt.FLOATS:
        cases: Sequence[Any] = [("rfft", (5,), (5,)), ("rfft", (2, 4), (4,)), ("rfft", (3, 4), (3, 4)), ("rfft", (0, 3), (3,))]
    else:
        cases = [
            ("fft", (5,), (5,)),
            ("fft", (2, 3), (3,)),
            ("ifft", (3, 4), (3, 4)),
            ("irfft", (3,), (5,)),
            ("irfft", (2, 3), (4,)),
        ]
        cases += [("irfft", (2, 3, 2), (3, 3)), ("irfft", (2, 1), (1,)), ("fft", (0, 2), (2,))]
    return [((draw(rng, shape, dtype),), {"fft_type": kind, "fft_lengths": n}) for kind, shape, n in cases]


fft = linear(
    "fft",
    abstract=_abstract,
    numpy=_numpy,
    transpose=_transpose,
    batch=_batch,
    loop=Host(),
    samples=_samples,
    dtypes=mx.MATRICES,
    doc="the discrete Fourier transform of the last axes",
)

__all__ = ["TYPES", "fft"]
