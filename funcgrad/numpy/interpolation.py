"""Functions of sampled signals: interp, unwrap, convolve, correlate, and window functions."""

import math
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import axis_of, static_int
from funcgrad.numpy._precision import check_precision
from funcgrad.numpy._promote import as_value, broadcast_value, cast, common_dtype, common_inexact, operand, value_in, values_of
from funcgrad.numpy.arithmetic import remainder
from funcgrad.numpy.cumulative import cumsum, diff
from funcgrad.numpy.elementwise import conj
from funcgrad.numpy.filled import full, ones
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.ranges import arange
from funcgrad.numpy.reordering import flip
from funcgrad.numpy.selection import take, where
from funcgrad.numpy.sorting import argsort, searchsorted
from funcgrad.numpy.structure import cut, moveaxis
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.ops.convolution import ConvDimensionNumbers, conv_general_dilated
from funcgrad.ops.shape import reshape

__all__ = ["bartlett", "blackman", "convolve", "correlate", "hamming", "hanning", "interp", "unwrap"]


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """The piecewise linear function through the points (xp, fp), at x.

    Args: xp: ascending coordinates. fp: values there. left, right: beyond the first and last point (default: the values there;
    "extrapolate" goes on along the line). period: of the coordinates; the points are then sorted.
    Returns: a float of the shape of x. Raises: ShapeError unless xp and fp are vectors of one length.

    >>> fnp.interp(fnp.array([-1.0, 0.5, 9.0]), fnp.array([0.0, 1.0, 2.0]), fnp.array([0.0, 10.0, 0.0]))
    Array([0., 5., 0.], dtype=float32)
    >>> fnp.interp(3.0, fnp.array([0.0, 1.0, 2.0]), fnp.array([0.0, 10.0, 0.0]), right="extrapolate")
    Array(-10., dtype=float32)
    >>> fg.grad(lambda x: fnp.interp(x, fnp.array([0.0, 1.0]), fnp.array([0.0, 10.0])))(0.5)
    Array(10., dtype=float32)
    """
    both: Any = common_inexact(operand(x, "interp", "x"), as_value(xp, "interp", "xp"))
    v, places = as_value(both[0], "interp"), both[1]
    (values,) = common_inexact(as_value(fp, "interp", "fp"))
    if places.ndim != 1 or places.shape != values.shape or not places.shape[0]:
        raise ShapeError(
            message(
                f"fnp.interp: got xp {places.aval.str_short()} and fp {values.aval.str_short()}",
                "vectors of one length, at least 1",
                "fg.vmap for several functions",
            )
        )
    if values.dtype != v.dtype and values.dtype in dt.FLOATS:
        v, places, values = common_dtype(v, places, values)
    if period is not None:
        turn = ew.abs(value_in(period, v.dtype, "interp", "period"))
        v, places = remainder(v, turn), remainder(places, turn)
        order = argsort(places)
        places, values = take(places, order), take(values, order)
        places = concatenate(
            [ew.sub(places[-1:], broadcast_value(turn, (1,))), places, ew.add(places[:1], broadcast_value(turn, (1,)))]
        )
        values = concatenate([values[-1:], values, values[:1]])
        left = right = None
    n = places.shape[0]
    i = ew.max(ew.min(searchsorted(places, v, "right"), np.int64(n - 1)), np.int64(min(1, n - 1)))
    low = ew.max(ew.sub(i, np.int64(1)), np.int64(0))
    x0, x1, y0, y1 = take(places, low), take(places, i), take(values, low), take(values, i)
    gap = ew.sub(x1, x0)
    flat = ew.eq(gap, like(gap, 0))
    t = ew.div(ew.sub(v, x0), ew.select_n(flat, gap, like(gap, 1)))
    slope = cast(ew.select_n(flat, t, like(t, 0)), values.dtype)
    out = ew.add(y0, ew.mul(slope, ew.sub(y1, y0)))
    if not among(left, ("extrapolate",)):
        edge = values[0] if left is None else value_in(left, values.dtype, "interp", "left")
        out = where(ew.lt(v, broadcast_value(places[0], v.shape)), edge, out)
    if not among(right, ("extrapolate",)):
        edge = values[-1] if right is None else value_in(right, values.dtype, "interp", "right")
        out = where(ew.gt(v, broadcast_value(places[-1], v.shape)), edge, out)
        out = where(ew.eq(v, broadcast_value(places[-1], v.shape)), values[-1], out)
    return out


def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * math.pi) -> Any:
    """Jumps of more than half a period (or `discont`) between neighbours along `axis` are taken out by adding periods.

    Args: p: array. discont: at least half a period. axis: integer. period: 2 pi without one; integers stay integers with a whole
    one.

    >>> fnp.unwrap(np.array([0.0, 3.0, -3.0, 0.0]))
    Array([0.        , 3.        , 3.28318531, 6.28318531], dtype=float64)
    >>> fnp.unwrap(fnp.array([0, 1, 3, 0, 1]), period=4)
    Array([0, 1, 3, 4, 5], dtype=int64)
    """
    x = as_value(p, "unwrap", "p")
    if x.dtype not in dt.INTEGERS or not isinstance(period, int):
        (x,) = common_inexact(x)
    i = axis_of(axis, x.ndim, "unwrap")
    x = moveaxis(x, i, -1)
    last = x.ndim - 1
    step = diff(x)
    turn = value_in(period, x.dtype, "unwrap", "period")
    turn = broadcast_value(turn, step.shape)
    half = ew.div(turn, like(turn, 2))
    low = ew.neg(half)
    moved = ew.add(remainder(ew.sub(step, low), turn), low)
    # Exactly half a period keeps its sign.
    moved = ew.select_n(ew.and_(ew.eq(moved, low), ew.gt(step, like(step, 0))), moved, half)
    change = ew.sub(moved, step)
    limit = half if discont is None else broadcast_value(value_in(discont, x.dtype, "unwrap", "discont"), step.shape)
    change = ew.select_n(ew.lt(ew.abs(step), limit), change, like(change, 0))
    n = x.shape[-1]
    out = concatenate([cut(x, last, 0, min(1, n)), ew.add(cut(x, last, min(1, n), n), cumsum(change, -1, dtype=x.dtype))], -1)
    return moveaxis(out, -1, i)


# --- convolution ------------------------------------------------------------------------------------------------------------


def _slide(name: str, a: Any, v: Any, mode: str, precision: Any, preferred: Any, flipped: bool) -> Any:
    check_precision(precision, f"fnp.{name}")
    if not among(mode, ("full", "same", "valid")):
        raise UsageError(message(f"fnp.{name}: got mode={mode!r}", "'full', 'same' or 'valid'", "mode='full'"))
    x, y = values_of(name, a=a, v=v)
    if x.ndim != 1 or y.ndim != 1 or not x.size or not y.size:
        raise ShapeError(
            message(f"fnp.{name}: got {x.aval.str_short()} and {y.aval.str_short()}", "vectors that are not empty", "x.ravel()")
        )
    if preferred is not None:
        x, y = [cast(w, dt.canonical(preferred)) for w in (x, y)]
    swapped = x.shape[0] < y.shape[0]
    if not flipped:
        y = conj(flip(y)) if y.dtype in dt.COMPLEXES else flip(y)
    if swapped:
        x, y = y, x
    n, m = x.shape[0], y.shape[0]
    first, last = (0, n + m - 1) if mode == "full" else (m - 1, n) if mode == "valid" else ((m - 1) // 2, (m - 1) // 2 + n)
    if mode == "same" and swapped and not flipped:  # NumPy turns the whole result around
        first, last = m // 2, m // 2 + n
    return sliding_sums(x, flip(y), (m - 1 - first, last - n))


def sliding_sums(x: Any, y: Any, pads: tuple[int, int]) -> Any:
    """The sums of x[i + k - pads[0]] * y[k] over k, of vectors of one dtype, for each i at which all k lie in the padded x."""
    plain = ConvDimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2))
    out = conv_general_dilated(
        reshape(x, shape=(1, 1, *x.shape)),
        reshape(y, shape=(1, 1, *y.shape)),
        window_strides=(1,),
        padding=(pads,),
        lhs_dilation=(1,),
        rhs_dilation=(1,),
        dimension_numbers=plain,
        feature_group_count=1,
        batch_group_count=1,
        preferred_element_type=None,
    )
    return reshape(out, shape=out.shape[2:])


def convolve(a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sums of a[i] * v[k - i]: the product of polynomials, or a signal seen through a filter.

    Args: a, v: vectors that are not empty. mode: "full" (all overlaps), "same" (the middle, as long as the longer one), "valid"
    (whole overlaps only). precision: accepted, products are always in full precision. preferred_element_type: the dtype of the
    sums and the result. Returns: a vector of the common dtype. Raises: ShapeError, UsageError.

    >>> fnp.convolve(fnp.array([1.0, 2.0, 3.0]), fnp.array([0.0, 1.0, 0.5])).tolist()
    [0.0, 1.0, 2.5, 4.0, 1.5]
    """
    return _slide("convolve", a, v, mode, precision, preferred_element_type, True)


def correlate(a: Any, v: Any, mode: str = "valid", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sums of a[i + k] * conj(v[i]): how a signal is like a pattern at each place. The arguments are those of `convolve`.

    >>> fnp.correlate(fnp.array([0.0, 1.0, 2.0, 1.0, 0.0]), fnp.array([1.0, 2.0, 1.0])).tolist()
    [4.0, 6.0, 4.0]
    """
    return _slide("correlate", a, v, mode, precision, preferred_element_type, False)


# --- windows ----------------------------------------------------------------------------------------------------------------


def _window(name: str, M: Any, f: Any) -> Any:
    n = static_int(M, name, "M")
    d = dt.default_float()
    if n <= 1:
        return ones(max(n, 0), d)
    return cast(f(cast(arange(n), dt.float64), n), d)  # rounded once


def _cosines(name: str, M: Any, *weights: float) -> Any:
    def f(i: Any, n: int) -> Any:
        out = full((n,), weights[0], i.dtype)
        for k, w in enumerate(weights[1:], 1):
            out = ew.add(out, ew.mul(ew.cos(ew.mul(i, like(i, 2 * math.pi * k / (n - 1)))), like(i, w)))
        return out

    return _window(name, M, f)


def hanning(M: Any) -> Any:
    """The Hann window of M points: 0.5 - 0.5 cos(2 pi i / (M - 1)).

    >>> fnp.hanning(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _cosines("hanning", M, 0.5, -0.5)


def hamming(M: Any) -> Any:
    """The Hamming window of M points: 0.54 - 0.46 cos(2 pi i / (M - 1)).

    >>> fnp.hamming(5)
    Array([0.08, 0.54, 1.  , 0.54, 0.08], dtype=float32)
    """
    return _cosines("hamming", M, 0.54, -0.46)


def blackman(M: Any) -> Any:
    """The Blackman window of M points: 0.42 - 0.5 cos(2 pi i / (M - 1)) + 0.08 cos(4 pi i / (M - 1)).

    >>> fnp.blackman(7)[1:5]
    Array([0.13, 0.63, 1.  , 0.63], dtype=float32)
    """
    return _cosines("blackman", M, 0.42, -0.5, 0.08)


def bartlett(M: Any) -> Any:
    """The triangular window of M points, 0 at the ends.

    >>> fnp.bartlett(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _window("bartlett", M, lambda i, n: ew.sub(like(i, 1), ew.abs(ew.sub(ew.mul(i, like(i, 2 / (n - 1))), like(i, 1)))))
