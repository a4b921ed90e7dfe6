"""Discrete Fourier transforms as in `numpy.fft`: each cuts or pads with zeros to the lengths asked for, then one operator.

norm: "backward" (None: the inverse is divided by the number of elements), "ortho" (both by its root), "forward". Results are
complex64 or complex128 (of irfft and hfft real), by the width of the operand; 16-bit floats are transformed in float32.
"""

import math
from collections.abc import Sequence
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import axis_of, static_int, static_ints
from funcgrad.numpy._promote import as_value, cast, common_inexact, operand, value_in
from funcgrad.numpy.elementwise import divide, multiply
from funcgrad.numpy.ranges import arange
from funcgrad.numpy.reordering import roll
from funcgrad.numpy.structure import moveaxis
from funcgrad.ops import _matrix as mx
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.ops.fft import fft as fft_op
from funcgrad.ops.shape import pad, slice_

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2",
    "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


def fitted(x: Any, lengths: Sequence[int]) -> Any:
    """x with its last axes cut, or padded with zeros at the end, to these lengths."""
    lead = x.ndim - len(lengths)
    target = (*x.shape[:lead], *lengths)
    if x.shape == target:
        return x
    limits = tuple([min(n, m) for n, m in zip(x.shape, target, strict=True)])
    if limits != x.shape:
        x = slice_(x, start_indices=(0,) * x.ndim, limit_indices=limits, strides=(1,) * x.ndim)
    if limits != target:
        x = pad(x, like(x, 0), padding_config=tuple([(0, m - n, 0) for n, m in zip(limits, target, strict=True)]))
    return x


def _inexact(a: Any, name: str) -> Any:
    x = as_value(common_inexact(operand(a, f"fft.{name}", "a"))[0], f"fft.{name}")
    return cast(x, dt.float32) if x.dtype not in mx.MATRICES else x


def _scale(norm: Any, inverse: bool, count: int, name: str) -> float:
    """What the operator's result is multiplied by; the operator itself does "backward"."""
    if not among(norm, (None, "backward", "ortho", "forward")):
        raise UsageError(message(f"fnp.fft.{name}: got norm={norm!r}", "None, 'backward', 'ortho', 'forward'", "norm='ortho'"))
    if norm in (None, "backward"):
        return 1.0
    if norm == "ortho":
        return math.sqrt(count) if inverse else 1 / math.sqrt(count)
    return float(count) if inverse else 1 / count


def _transform(name: str, kind: str, a: Any, lengths: Sequence[int | None] | None, axes: Sequence[int] | None, norm: Any) -> Any:
    x = _inexact(a, name)
    if axes is None:
        axes = range(x.ndim) if lengths is None else range(x.ndim - len(lengths), x.ndim)
    axes = [axis_of(i, x.ndim, f"fft.{name}") for i in axes]
    if len(set(axes)) < len(axes) or (lengths is not None and len(lengths) != len(axes)):
        raise UsageError(
            message(f"fnp.fft.{name}: got s={lengths}, axes={axes}", "different axes, one length for each", "axes=(-2, -1)")
        )
    if not axes:
        raise UsageError(message(f"fnp.fft.{name}: got no axes", "one or more", "axes=(-1,)"))
    given = [None] * len(axes) if lengths is None else list(lengths)
    real_out, real_in = kind == "irfft", kind == "rfft"
    full = [x.shape[i] if n is None else n for i, n in zip(axes, given, strict=True)]
    if real_out and given[-1] is None:
        full[-1] = 2 * (x.shape[axes[-1]] - 1)
    if any([n < 1 for n in full]):
        raise ShapeError(message(f"fnp.fft.{name}: got {full} elements to transform", "one or more on each axis", "n=8"))
    if real_in and x.dtype in dt.COMPLEXES:
        raise TypeError(message(f"fnp.fft.{name}: got {x.aval.str_short()}", "real numbers", f"fnp.fft.{name[1:]}"))
    if not real_in:
        x = cast(x, mx.complex_dtype(x.dtype))
    last = list(range(x.ndim - len(axes), x.ndim))
    x = moveaxis(x, axes, last)
    x = fitted(x, [*full[:-1], full[-1] // 2 + 1] if real_out else full)
    out = fft_op(x, fft_type=kind, fft_lengths=tuple(full))
    scale = _scale(norm, kind in ("ifft", "irfft"), math.prod(full), name)
    out = out if scale == 1.0 else ew.mul(out, like(out, scale))
    return moveaxis(out, last, axes)


def _one(name: str, kind: str, a: Any, n: Any, axis: Any, norm: Any) -> Any:
    lengths = None if n is None else [static_int(n, f"fft.{name}", "n")]
    return _transform(name, kind, a, lengths, [static_int(axis, f"fft.{name}", "axis")], norm)


def _many(name: str, kind: str, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    lengths = None if s is None else static_ints(s, f"fft.{name}", "s")
    return _transform(name, kind, a, lengths, None if axes is None else static_ints(axes, f"fft.{name}", "axes"), norm)


def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """The discrete Fourier transform along `axis`: sum over k of a[k] exp(-2 pi i j k / n).

    Args: a: array of numbers. n: so many elements are taken (or zeros put after them); all without it. axis: an integer. norm:
    None or "backward" (the inverse is divided by n), "forward" (this one is), "ortho" (both by sqrt(n)).
    Returns: complex64, or complex128 of float64 and complex128. Raises: ShapeError for an axis of no elements.

    >>> fnp.fft.fft(fnp.array([1.0, 0.0, -1.0, 0.0]))
    Array([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j], dtype=complex64)
    >>> fnp.fft.fft(fnp.array([1.0, 1.0]), n=4)
    Array([2.+0.j, 1.-1.j, 0.+0.j, 1.+1.j], dtype=complex64)
    """
    return _one("fft", "fft", a, n, axis, norm)


def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """The inverse of `fft`, with its arguments.

    >>> fnp.fft.ifft(fnp.fft.fft(fnp.array([1.0, 2.0, 4.0])))
    Array([1.+0.j, 2.+0.j, 4.+0.j], dtype=complex64)
    """
    return _one("ifft", "ifft", a, n, axis, norm)


def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """The first n // 2 + 1 elements of `fft` of real numbers; the others are their conjugates. Raises TypeError for complex
    numbers.
    Args: n, axis, norm: as in `fft`.

    >>> fnp.fft.rfft(fnp.array([1.0, 0.0, -1.0, 0.0]))
    Array([0.+0.j, 2.+0.j, 0.+0.j], dtype=complex64)
    """
    return _one("rfft", "rfft", a, n, axis, norm)


def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """The inverse of `rfft`, real; n is the length of the result, 2 (m - 1) by default.

    Args: axis, norm: as in `fft`.

    >>> fnp.fft.irfft(fnp.fft.rfft(fnp.array([1.0, 2.0, 4.0])), n=3)
    Array([1., 2., 4.], dtype=float32)
    """
    return _one("irfft", "irfft", a, n, axis, norm)


def _swapped(norm: Any, name: str) -> Any:
    _scale(norm, False, 1, name)
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)


def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """`fft`, real, of a signal whose second half is the conjugate of the first; n is the length of the result, 2 (m - 1) by
    default.
    Args: axis, norm: as in `fft`.

    >>> fnp.fft.hfft(fnp.array([1.0, 2.0, 0.0]))
    Array([ 5.,  1., -3.,  1.], dtype=float32)
    """
    return _one("hfft", "irfft", mx.conj(_inexact(a, "hfft")), n, axis, _swapped(norm, "hfft"))


def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """The inverse of `hfft`: the first n // 2 + 1 elements.

    Args: axis, norm: as in `fft`.

    >>> fnp.fft.ihfft(fnp.array([5.0, 1.0, -3.0, 1.0]))
    Array([1.-0.j, 2.-0.j, 0.-0.j], dtype=complex64)
    """
    return ew.conj(_one("ihfft", "rfft", a, n, axis, _swapped(norm, "ihfft")))


def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """`fft` along several axes (None: all, or the last len(s)); s are the lengths. norm as in `fft`.

    >>> fnp.fft.fftn(fnp.array([[1.0, 0.0], [0.0, 1.0]]))
    Array([[2.+0.j, 0.+0.j],
           [0.+0.j, 2.+0.j]], dtype=complex64)
    """
    return _many("fftn", "fft", a, s, axes, norm)


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """The inverse of `fftn`, with its arguments.

    >>> fnp.fft.ifftn(fnp.array([[2.0, 0.0], [0.0, 2.0]]))
    Array([[1.+0.j, 0.+0.j],
           [0.+0.j, 1.+0.j]], dtype=complex64)
    """
    return _many("ifftn", "ifft", a, s, axes, norm)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """`rfft` along the last of the axes and `fft` along the others. Raises TypeError for complex numbers.

    Args: s: the lengths; those of the array without it. axes: all without it. norm: as in `fft`.

    >>> fnp.fft.rfftn(fnp.ones((4, 6))).shape
    (4, 4)
    """
    return _many("rfftn", "rfft", a, s, axes, norm)


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """The inverse of `rfftn`, real. s: the lengths of the result; the last is 2 (m - 1) by default.

    Args: axes: all without it. norm: as in `fft`.

    >>> x = fnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> fnp.fft.irfftn(fnp.fft.rfftn(x), s=(2, 2))
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _many("irfftn", "irfft", a, s, axes, norm)


def _pair(axes: Any, name: str) -> tuple[int, ...]:
    found = static_ints(axes, f"fft.{name}", "axes")
    if len(found) != 2:
        raise UsageError(message(f"fnp.fft.{name}: got axes={axes}", "two axes", f"fnp.fft.{name[:-1]}n"))
    return found


def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    """`fftn` along two axes, the last ones by default. Raises UsageError for another number of axes.

    Args: s: the two lengths; those of the array without it. norm: as in `fft`.

    >>> fnp.fft.fft2(fnp.ones((2, 2)))
    Array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _many("fft2", "fft", a, s, _pair(axes, "fft2"), norm)


def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    """The inverse of `fft2`, with its arguments.

    >>> fnp.fft.ifft2(fnp.array([[4.0, 0.0], [0.0, 0.0]]))
    Array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]], dtype=complex64)
    """
    return _many("ifft2", "ifft", a, s, _pair(axes, "ifft2"), norm)


def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    """`rfftn` along two axes, the last ones by default.

    Args: s: the two lengths; those of the array without it. norm: as in `fft`.

    >>> fnp.fft.rfft2(fnp.ones((5, 4, 6))).shape
    (5, 4, 4)
    """
    return _many("rfft2", "rfft", a, s, _pair(axes, "rfft2"), norm)


def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    """The inverse of `rfft2`, real. s: the lengths of the result; the last is 2 (m - 1) by default.

    Args: axes: two integers. norm: as in `fft`.

    >>> fnp.fft.irfft2(fnp.array([[4.0, 0.0], [0.0, 0.0]]), s=(2, 2))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _many("irfft2", "irfft", a, s, _pair(axes, "irfft2"), norm)


def _samples(n: Any, name: str) -> int:
    count = static_int(n, f"fft.{name}", "n")
    if count < 1:
        raise UsageError(message(f"fnp.fft.{name}: got n={count}", "1 or more", "n=8"))
    return count


def fftfreq(n: Any, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the elements of `fft`, in cycles per unit of the spacing d: 0, 1, ..., -2, -1 over n d.

    Args: n: how many, 1 or more. d: a number, or a traced scalar. dtype: float32 without one.
    device: None or the CPU.

    >>> fnp.fft.fftfreq(4, d=0.5)
    Array([ 0. ,  0.5, -1. , -0.5], dtype=float32)
    """
    count = _samples(n, "fftfreq")
    k = arange(0, count, dtype=dt.int64, device=device)
    return _per_sample(ew.select_n(k > (count - 1) // 2, k, k - count), count, d, dtype)


def rfftfreq(n: Any, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the elements of `rfft`: 0, 1, ..., n // 2 over n d. Arguments as in `fftfreq`.

    >>> fnp.fft.rfftfreq(4, d=0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    count = _samples(n, "rfftfreq")
    return _per_sample(arange(0, count // 2 + 1, dtype=dt.int64, device=device), count, d, dtype)


def _per_sample(k: Any, n: int, d: Any, dtype: Any) -> Any:
    target = dt.default_float() if dtype is None else dt.canonical(dtype)
    span = multiply(value_in(d, target, "fft.fftfreq", "d"), n)
    return divide(cast(k, target), span)


def _shift(x: Any, axes: Any, name: str, sign: int) -> Any:
    v = as_value(x, f"fft.{name}", "x")
    chosen = tuple(range(v.ndim)) if axes is None else static_ints(axes, f"fft.{name}", "axes")
    chosen = [axis_of(i, v.ndim, f"fft.{name}", "axes") for i in chosen]
    shifts = tuple([sign * (v.shape[i] // 2) for i in chosen])
    return roll(v, shifts, chosen) if chosen else v


def fftshift(x: Any, axes: Any = None) -> Any:
    """The element of frequency 0 moved to the middle (place n // 2), along all axes or those in `axes`.

    >>> fnp.fft.fftshift(fnp.fft.fftfreq(4))
    Array([-0.5 , -0.25,  0.  ,  0.25], dtype=float32)
    """
    return _shift(x, axes, "fftshift", 1)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of `fftshift`, with its arguments.

    >>> fnp.fft.ifftshift(fnp.fft.fftshift(fnp.arange(5)))
    Array([0, 1, 2, 3, 4], dtype=int64)
    """
    return _shift(x, axes, "ifftshift", -1)
