"""Discrete cosine transforms as in `scipy.fft`: types 1 to 4, each a Fourier transform of a longer or turned signal.

Results are real (of complex operands complex), float32 or float64 by the operand's width.
"""

import math
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import UsageError, message
from funcgrad.numpy._axes import axes_of, axis_of, fitting, static_int, static_ints
from funcgrad.numpy._promote import as_value, broadcast_value, cast, common_inexact, operand
from funcgrad.numpy.fft import fitted
from funcgrad.numpy.structure import moveaxis
from funcgrad.ops import _matrix as mx
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.ops.fft import fft as fft_op
from funcgrad.ops.shape import concatenate, pad, rev, slice_

__all__ = ["dct", "dctn", "idct", "idctn"]

# The inverse of a type, but for its factor.
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _check(name: str, type: Any, norm: Any) -> int:
    kind = static_int(type, f"scipy.fft.{name}", "type")
    if not among(kind, _INVERSE) or not among(norm, (None, "backward", "ortho", "forward")):
        raise UsageError(
            message(
                f"scipy.fft.{name}: got type={type}, norm={norm!r}",
                "types 1 to 4; None, 'backward', 'ortho', 'forward'",
                "type=2, norm='ortho'",
            )
        )
    return kind


def _cut(x: Any, start: int, stop: int) -> Any:
    rank = x.ndim
    starts, limits = (0,) * (rank - 1) + (start,), (*x.shape[:-1], stop)
    return slice_(x, start_indices=starts, limit_indices=limits, strides=(1,) * rank)


def _weights(x: Any, values: np.ndarray) -> Any:
    """x times fixed numbers along its last axis."""
    return ew.mul(x, broadcast_value(as_value(values.astype(x.dtype), "scipy.fft"), x.shape))


def _plain(x: Any, kind: int) -> Any:
    """The transform of SciPy's norm=None along the last axis of real x."""
    n, rank = x.shape[-1], x.ndim
    turn = (rank - 1,)
    if kind == 1:  # the even extension around both ends
        whole = concatenate(x, rev(_cut(x, 1, n - 1), dimensions=turn), dimension=rank - 1) if n > 2 else x
        return ew.real(fft_op(whole, fft_type="rfft", fft_lengths=(2 * n - 2,)))
    if kind == 2:  # the even extension around half places, turned by half a place
        whole = concatenate(x, rev(x, dimensions=turn), dimension=rank - 1)
        half = _cut(fft_op(whole, fft_type="rfft", fft_lengths=(2 * n,)), 0, n)
        return ew.real(_weights(half, np.exp(-0.5j * np.pi * np.arange(n) / n)))
    complexes = cast(x, mx.complex_dtype(x.dtype))
    if kind == 3:  # x_0 + 2 sum x_k cos(pi k (2 j + 1) / 2n)
        factors = np.exp(0.5j * np.pi * np.arange(n) / n) * np.where(np.arange(n) == 0, 1, 2)
        ahead = _padded(_weights(complexes, factors), 2 * n)
        scaled = fft_op(ahead, fft_type="ifft", fft_lengths=(2 * n,))
        return ew.real(ew.mul(_cut(scaled, 0, n), like(scaled, 2 * n)))
    # 2 sum x_k cos(pi (2 k + 1) (2 j + 1) / 4n)
    j = np.arange(n)
    ahead = _padded(_weights(complexes, np.exp(-0.5j * np.pi * j / n)), 2 * n)
    half = _cut(fft_op(ahead, fft_type="fft", fft_lengths=(2 * n,)), 0, n)
    return ew.real(_weights(half, 2 * np.exp(-0.25j * np.pi * (2 * j + 1) / n)))


def _padded(x: Any, n: int) -> Any:
    return pad(x, like(x, 0), padding_config=((0, 0, 0),) * (x.ndim - 1) + ((0, n - x.shape[-1], 0),))


def _scaled(x: Any, kind: int, norm: Any, inverse: bool) -> Any:
    """The transform (of the inverse: that of the other type) with the factor of the norm."""
    n = x.shape[-1]
    if norm != "ortho":
        out = _plain(x, kind)
        divided = (norm in (None, "backward")) == inverse
        return ew.mul(out, like(out, 1 / (2 * n - 2 if kind == 1 else 2 * n))) if divided else out
    if kind == 4:
        return _weights(_plain(x, 4), np.full(n, math.sqrt(1 / (2 * n))))
    if kind == 1:
        ends = np.isin(np.arange(n), (0, n - 1))
        out = _plain(_weights(x, np.where(ends, math.sqrt(2), 1.0)), 1)
        return _weights(out, np.where(ends, math.sqrt(0.5), 1.0) * math.sqrt(1 / (2 * n - 2)))
    first = np.where(np.arange(n) == 0, math.sqrt(1 / (4 * n)), math.sqrt(1 / (2 * n)))
    if kind == 2:
        return _weights(_plain(x, 2), first)
    return _plain(_weights(x, np.where(np.arange(n) == 0, math.sqrt(2), 1.0) * math.sqrt(1 / (2 * n))), 3)


def _along(name: str, x: Any, kind: int, n: int | None, axis: int, norm: Any, inverse: bool) -> Any:
    x = moveaxis(x, axis, -1)
    x = fitted(x, [x.shape[-1] if n is None else n])
    if x.shape[-1] < (2 if kind == 1 else 1):
        raise UsageError(
            message(f"scipy.fft.{name}: got {x.shape[-1]} elements", "2 or more for type 1, 1 or more otherwise", "type=2")
        )
    kind = _INVERSE[kind] if inverse else kind
    if x.dtype in dt.COMPLEXES:
        out = ew.complex_(_scaled(ew.real(x), kind, norm, inverse), _scaled(ew.imag(x), kind, norm, inverse))
    else:
        out = _scaled(x, kind, norm, inverse)
    return moveaxis(out, -1, axis)


def _value(x: Any, name: str) -> Any:
    v = as_value(common_inexact(operand(x, f"scipy.fft.{name}", "x"))[0], f"scipy.fft.{name}")
    return cast(v, dt.float32) if v.dtype not in mx.MATRICES else v


def _one(name: str, x: Any, type: Any, n: Any, axis: Any, norm: Any, inverse: bool) -> Any:
    kind, v = _check(name, type, norm), _value(x, name)
    length = None if n is None else fitting(static_int(n, f"scipy.fft.{name}", "n"), f"scipy.fft.{name}", "n")
    return _along(name, v, kind, length, axis_of(axis, v.ndim, f"scipy.fft.{name}"), norm, inverse)


def _many(name: str, x: Any, type: Any, s: Any, axes: Any, norm: Any, inverse: bool) -> Any:
    kind, v = _check(name, type, norm), _value(x, name)
    lengths = None if s is None else static_ints(s, f"scipy.fft.{name}", "s")
    if axes is not None:
        axes = [axis_of(i, v.ndim, f"scipy.fft.{name}") for i in static_ints(axes, f"scipy.fft.{name}", "axes")]
    else:
        axes = list(axes_of(None, v.ndim, f"scipy.fft.{name}"))[-len(lengths) if lengths else 0 :]
    if len(set(axes)) < len(axes) or (lengths is not None and len(lengths) != len(axes)):
        raise UsageError(
            message(f"scipy.fft.{name}: got s={s}, axes={axes}", "different axes, one length for each", "axes=(0, 1)")
        )
    for i, axis in enumerate(axes):
        v = _along(name, v, kind, None if lengths is None else lengths[i], axis, norm, inverse)
    return v


def dct(x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    """The discrete cosine transform along `axis`, of the first n elements (or padded with zeros to n).

    Args: type: 1 to 4. norm: None or "backward" (no factor; the inverse has it), "ortho" (the matrix is orthogonal), "forward".

    >>> from funcgrad.scipy import fft
    >>> fft.dct(np.array([1.0, 1.0, 1.0, 1.0])).round(12)
    Array([8., 0., 0., 0.], dtype=float64)
    >>> fft.dct(np.array([1.0, 2.0, 4.0]), norm="ortho")
    Array([ 4.04145188, -2.12132034,  0.40824829], dtype=float64)
    """
    return _one("dct", x, type, n, axis, norm, False)


def idct(x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    """The inverse of `dct` of this type; arguments as there.

    >>> from funcgrad.scipy import fft
    >>> fft.idct(fft.dct(np.array([1.0, 2.0, 3.0]))).round(12)
    Array([1., 2., 3.], dtype=float64)
    """
    return _one("idct", x, type, n, axis, norm, True)


def dctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """`dct` along several axes (None: all, or the last len(s)); s are the lengths.

    >>> from funcgrad.scipy import fft
    >>> fft.dctn(np.array([[1.0, 2.0], [3.0, 4.0]]), norm="ortho").round(12)
    Array([[ 5., -1.],
           [-2.,  0.]], dtype=float64)
    """
    return _many("dctn", x, type, s, axes, norm, False)


def idctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """The inverse of `dctn`; arguments as there.

    >>> from funcgrad.scipy import fft
    >>> fft.idctn(np.array([[5.0, -1.0], [-2.0, 0.0]]), norm="ortho").round(12)
    Array([[1., 2.],
           [3., 4.]], dtype=float64)
    """
    return _many("idctn", x, type, s, axes, norm, True)
