"""Convolution and correlation of arrays with any number of axes, by sums of products or by Fourier transforms."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.core.lazy import LazyModule
from funcgrad.numpy import fft as transforms
from funcgrad.numpy._axes import axes_of
from funcgrad.numpy._precision import check_precision
from funcgrad.numpy._promote import as_value, cast, common_dtype, common_inexact, value_in
from funcgrad.numpy.arithmetic import round as round_
from funcgrad.numpy.elementwise import conj, multiply
from funcgrad.numpy.padding import pad
from funcgrad.ops._samples import NARROW
from funcgrad.ops.convolution import ConvDimensionNumbers, conv_general_dilated
from funcgrad.ops.shape import reshape, rev, slice_

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]

MODES = ("full", "same", "valid")
scipy_fft: Any = LazyModule("scipy.fft")

# Three transforms of n points cost about as much as PRODUCTS * n * log2(n) products of a sum. An estimate, not a measurement.
PRODUCTS = 30


def _operands(name: str, in1: Any, in2: Any, mode: Any, rank: int | None = None) -> tuple[Any, Any]:
    x, y = common_dtype(as_value(in1, f"signal.{name}", "in1"), as_value(in2, f"signal.{name}", "in2"))
    if not among(mode, MODES):
        raise UsageError(message(f"signal.{name}: got mode={mode!r}", "'full', 'same' or 'valid'", "mode='full'"))
    if x.ndim != y.ndim or (rank is not None and x.ndim != rank):
        raise ShapeError(
            message(
                f"signal.{name}: got {x.aval.str_short()} and {y.aval.str_short()}",
                "arrays with one number of axes" if rank is None else f"arrays with {rank} axes",
                "add the missing axes, for example in2[None]",
            )
        )
    return x, y


def _smaller(name: str, x: Any, y: Any, mode: str, axes: Sequence[int]) -> bool:
    """Whether mode "valid" looks for places of x in y, not of y in x."""
    if mode != "valid":
        return False
    pairs = [(x.shape[a], y.shape[a]) for a in axes]
    if all([n >= m for n, m in pairs]):
        return False
    if all([n <= m for n, m in pairs]):
        return True
    raise ShapeError(
        message(
            f"signal.{name}: got {x.aval.str_short()} and {y.aval.str_short()} with mode='valid'",
            "one array that is as large as the other one along each axis",
            "mode='same', or transpose one",
        )
    )


def _not_empty(name: str, *xs: Any) -> None:
    if any([not x.size for x in xs]):
        raise ShapeError(
            message(
                f"signal.{name}: got {' and '.join([x.aval.str_short() for x in xs])}",
                "arrays that have elements",
                "signal.fftconvolve, which gives an empty result",
            )
        )


def _sums(x: Any, y: Any, pads: Sequence[tuple[int, int]]) -> Any:
    """The sums of x[i + k - low] * y[k] over k."""
    if not x.ndim:
        return multiply(x, y)
    plain = tuple(range(x.ndim + 2))
    ones = (1,) * x.ndim
    out = conv_general_dilated(
        reshape(x, shape=(1, 1, *x.shape)),
        reshape(y, shape=(1, 1, *y.shape)),
        window_strides=ones,
        padding=tuple(pads),
        lhs_dilation=ones,
        rhs_dilation=ones,
        dimension_numbers=ConvDimensionNumbers(plain, plain, plain),
        feature_group_count=1,
        batch_group_count=1,
        preferred_element_type=None,
    )
    return reshape(out, shape=out.shape[2:])


def _turned(x: Any) -> Any:
    """The order reversed along all axes."""
    return rev(x, dimensions=tuple(range(x.ndim)))


def _pads(x: Any, y: Any, mode: str) -> list[tuple[int, int]]:
    """How far y (turned around) may stand over each end of x."""
    if mode == "valid":
        return [(0, 0)] * x.ndim
    if mode == "full":
        return [(m - 1, m - 1) for m in y.shape]
    return [(m - 1 - (m - 1) // 2, (m - 1) // 2) for m in y.shape]


def _by_transform(x: Any, y: Any, mode: str) -> bool:
    """Whether transforms are the shorter way."""
    if x.dtype not in dt.INEXACT or not x.ndim:
        return False
    places = [n + m - 1 if mode == "full" else n if mode == "same" else n - m + 1 for n, m in zip(x.shape, y.shape, strict=True)]
    points = math.prod([n + m - 1 for n, m in zip(x.shape, y.shape, strict=True)])
    return math.prod(places) * y.size > PRODUCTS * points * math.log2(points + 1)


def _convolve(name: str, x: Any, y: Any, mode: str, method: Any) -> Any:
    if not among(method, ("auto", "direct", "fft")):
        raise UsageError(message(f"signal.{name}: got method={method!r}", "'auto', 'direct' or 'fft'", "method='auto'"))
    _not_empty(name, x, y)
    if _smaller(name, x, y, mode, range(x.ndim)):
        x, y = y, x
    if method == "direct" or (method == "auto" and not _by_transform(x, y, mode)):
        return _sums(x, _turned(y), _pads(x, y, mode))
    dtype = x.dtype
    exact = dtype not in dt.INEXACT
    wide = dt.float64 if exact else dt.float32 if dtype in NARROW else dtype
    out = _fft_convolve(cast(x, wide), cast(y, wide), mode, range(x.ndim))
    return cast(round_(out) if exact else out, dtype)


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """The sums of in1[i] * in2[k - i] over all axes.

    Args: in1, in2: arrays with one number of axes, that have elements. mode: "full" (extents n + m - 1), "same" (the middle, of
    the shape of in1), "valid" (where the smaller array lies within the other one). method: "direct" (sums of products), "fft"
    (fftconvolve; integers are rounded), "auto" (the shorter one; integers by sums). precision: accepted, products are always in
    full precision.
    Returns: an array of the common dtype. Raises: ShapeError, UsageError.

    >>> from funcgrad.scipy import signal
    >>> signal.convolve(fnp.array([1.0, 2.0, 3.0]), fnp.array([0.0, 1.0, 0.5]), mode="same").tolist()
    [1.0, 2.5, 4.0]
    """
    check_precision(precision, "signal.convolve")
    x, y = _operands("convolve", in1, in2, mode)
    return _convolve("convolve", x, y, mode, method)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """The sums of in1[i + k] * conj(in2[i]) over all axes, from in2's last element on in1's first one to the opposite.

    The arguments are those of `convolve`.

    >>> from funcgrad.scipy import signal
    >>> signal.correlate(fnp.array([0.0, 1.0, 2.0, 1.0]), fnp.array([1.0, 2.0, 1.0]), mode="valid").tolist()
    [4.0, 6.0]
    """
    check_precision(precision, "signal.correlate")
    x, y = _operands("correlate", in1, in2, mode)
    return _convolve("correlate", x, _turned(_conjugate(y)), mode, method)


def _conjugate(x: Any) -> Any:
    return conj(x) if x.dtype in dt.COMPLEXES else x


# --- by Fourier transforms --------------------------------------------------------------------------------------------


def _fft_convolve(x: Any, y: Any, mode: str, axes: Sequence[int]) -> Any:
    """Of x and y whose extents along other axes are equal or 1; in mode "valid" y fits into x."""
    along = [a for a in axes if x.shape[a] != 1 and y.shape[a] != 1]  # elsewhere one multiplication does it
    out = x, y
    total = [n + m - 1 if a in along else max(n, m) for a, (n, m) in enumerate(zip(x.shape, y.shape, strict=True))]
    if along:
        lengths = [scipy_fft.next_fast_len(total[a], x.dtype in dt.FLOATS) for a in along]
        forward, back = (transforms.fftn, transforms.ifftn) if x.dtype in dt.COMPLEXES else (transforms.rfftn, transforms.irfftn)
        out = [forward(v, s=lengths, axes=along) for v in out]
        whole = back(multiply(*out), s=lengths, axes=along)
    else:
        whole = multiply(*out)
    starts, limits = [0] * whole.ndim, list(whole.shape)
    for a, full in enumerate(total):
        n, m = x.shape[a], y.shape[a]
        want = n if mode == "same" else n - m + 1 if mode == "valid" and a in along else full
        starts[a] = (full - want) // 2
        limits[a] = starts[a] + want
    return slice_(whole, start_indices=tuple(starts), limit_indices=tuple(limits), strides=(1,) * whole.ndim)


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """`convolve` by Fourier transforms: quick for two long signals, with rounding errors relative to the largest result.

    Args: in1, in2: arrays with one number of axes. mode: as in `convolve`. axes: those to convolve along (None: all); along the
    others the extents are equal or 1. Returns: floats or complex numbers.

    >>> from funcgrad.scipy import signal
    >>> signal.fftconvolve(fnp.ones((2, 100)), fnp.ones((2, 50)), mode="valid", axes=1).shape
    (2, 51)
    """
    x, y = _operands("fftconvolve", in1, in2, mode)
    x, y = common_inexact(x, y)
    if x.dtype in NARROW:
        x, y = cast(x, dt.float32), cast(y, dt.float32)
    if not x.ndim:
        return multiply(x, y)
    if not x.size or not y.size:
        return as_value(np.zeros(0, x.dtype), "signal.fftconvolve")
    along = axes_of(axes, x.ndim, "x.fftconvolve", "axes")
    if axes is not None and not along:
        raise UsageError(message("signal.fftconvolve: got axes=()", "one axis or more, or None for all", "axes=-1"))
    others = [(x.shape[a], y.shape[a]) for a in range(x.ndim) if a not in along]
    if any([n != m and 1 not in (n, m) for n, m in others]):
        raise ShapeError(
            message(
                f"signal.fftconvolve: got {x.aval.str_short()} and {y.aval.str_short()} with axes={axes}",
                "equal extents, or 1, along all other axes",
                "check axes=",
            )
        )
    if _smaller("fftconvolve", x, y, mode, [a for a in along if x.shape[a] != 1 and y.shape[a] != 1]):
        x, y = y, x
    return cast(_fft_convolve(x, y, mode, along), x.dtype)


# --- of images ----------------------------------------------------------------------------------------------------------

_BORDERS = {
    "fill": "constant",
    "wrap": "wrap",
    "circular": "wrap",
    "symm": "symmetric",
    "symmetric": "symmetric",
    "pad": "constant",
}


def _bordered(name: str, x: Any, pads: list[tuple[int, int]], boundary: Any, fillvalue: Any) -> tuple[Any, list[tuple[int, int]]]:
    """x with what lies beyond it, and the zeros that are still to be added."""
    if not among(boundary, _BORDERS):
        raise UsageError(message(f"signal.{name}: got boundary={boundary!r}", "'fill', 'wrap' or 'symm'", "boundary='fill'"))
    border = _BORDERS[boundary]
    if pads == [(0, 0)] * x.ndim or (border == "constant" and isinstance(fillvalue, (int, float, complex)) and fillvalue == 0):
        return x, pads
    if border == "constant":
        fill = value_in(fillvalue, x.dtype, f"signal.{name}", "fillvalue")
        if fill.ndim:
            raise ShapeError(message(f"signal.{name}: got fillvalue {fill.aval.str_short()}", "a scalar", "fillvalue=0"))
        return pad(x, pads, constant_values=fill), [(0, 0)] * x.ndim
    return pad(x, pads, border), [(0, 0)] * x.ndim


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0, precision: Any = None) -> Any:
    """`convolve` of two arrays with two axes, with a choice of what lies beyond the borders of in1.

    Args: boundary: "fill" (fillvalue), "wrap" (the other side) or "symm" (a mirror at the border). The rest as in `convolve`.

    >>> from funcgrad.scipy import signal
    >>> signal.convolve2d(fnp.array([[1.0, 2.0], [3.0, 4.0]]), fnp.array([[1.0, 1.0]]), mode="same", boundary="wrap").tolist()
    [[3.0, 3.0], [7.0, 7.0]]
    """
    check_precision(precision, "signal.convolve2d")
    x, y = _operands("convolve2d", in1, in2, mode, 2)
    _not_empty("convolve2d", y)
    if _smaller("convolve2d", x, y, mode, (0, 1)):
        x, y = y, x
    x, pads = _bordered("convolve2d", x, _pads(x, y, mode), boundary, fillvalue)
    return _sums(x, _turned(y), pads)


def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0, precision: Any = None) -> Any:
    """The sums of in1[i + k] * conj(in2[i]) of two arrays with two axes; the arguments are those of `convolve2d`.

    In mode "valid" with the larger array in the second place, that one is not conjugated and the other one is (as in SciPy).

    >>> from funcgrad.scipy import signal
    >>> signal.correlate2d(fnp.eye(3), fnp.array([[1.0, 2.0]]), mode="valid").tolist()
    [[1.0, 0.0], [2.0, 1.0], [0.0, 2.0]]
    """
    check_precision(precision, "signal.correlate2d")
    x, y = _operands("correlate2d", in1, in2, mode, 2)
    _not_empty("correlate2d", y)
    swapped = _smaller("correlate2d", x, y, mode, (0, 1))
    if swapped:
        x, y = y, x
    pads = _pads(x, y, mode)
    if mode == "same":  # of an even number of elements the middle is the one after it
        pads = [(high, low) for low, high in pads]
    x, pads = _bordered("correlate2d", x, pads, boundary, fillvalue)
    out = _sums(x, _conjugate(y), pads)
    return _turned(out) if swapped else out
