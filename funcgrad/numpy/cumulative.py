"""Running sums and products, and differences: cumsum, cumprod, diff, ediff1d, gradient, trapezoid."""

from collections.abc import Callable
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import axes_of, axis_of, static_int
from funcgrad.numpy._promote import (
    as_value,
    broadcast_value,
    cast,
    check_unsupported,
    common_dtype,
    common_inexact,
    operand,
    value_in,
)
from funcgrad.numpy.compare import not_equal
from funcgrad.numpy.elementwise import add, divide, multiply, subtract
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.reductions import sum as sum_
from funcgrad.numpy.structure import cut, expand_dims, moveaxis, ravel, reshape
from funcgrad.ops import cumulative as ops
from funcgrad.ops import elementwise as ew
from funcgrad.ops.shape import full

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "diff", "ediff1d", "gradient", "trapezoid"]


def _running(name: str, op: Callable[..., Any], a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    check_unsupported(name, out=out)
    x = as_value(a, name)
    x, i = (ravel(x), 0) if axis is None else (x, axis_of(axis, x.ndim, name))
    own = x.dtype
    if dtype is not None:
        own = dt.canonical(dtype)
    elif own == dt.bool_ or own in dt.SIGNED:
        own = dt.int64
    elif own in dt.UNSIGNED:
        own = dt.uint64
    return op(cast(x, own), axis=i, reverse=False)


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """The running sum along `axis` (None: of the flattened array). dtype: without one floats keep theirs, integers become
    (u)int64. out: must be None.

    >>> fnp.cumsum(fnp.array([[1, 2], [3, 4]]))
    Array([ 1,  3,  6, 10], dtype=int64)
    >>> fnp.cumsum(fnp.array([[1, 2], [3, 4]]), axis=0)
    Array([[1, 2],
           [4, 6]], dtype=int64)
    """
    return _running("cumsum", ops.cumsum, a, axis, dtype, out)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """The running product along `axis`; arguments and dtypes as in `cumsum`. The gradient is exact with zeros in it.

    >>> fnp.cumprod(fnp.array([1, 2, 3, 4]))
    Array([ 1,  2,  6, 24], dtype=int64)
    """
    return _running("cumprod", ops.cumprod, a, axis, dtype, out)


def _cumulative(name: str, f: Callable[..., Any], start: int, x: Any, axis: Any, dtype: Any, include_initial: bool) -> Any:
    v = as_value(x, name, "x")
    if axis is None:
        if v.ndim > 1:
            raise UsageError(
                message(f"fnp.{name}: got {v.aval.str_short()} without axis", "axis= for more than one axis", "axis=0")
            )
        axis = 0
    v = expand_dims(v, 0) if v.ndim == 0 else v
    out = f(v, axis, dtype)
    if not flag(include_initial, f"fnp.{name}", "include_initial"):
        return out
    i = axis_of(axis, out.ndim, name)
    first = full(tuple([1 if k == i else n for k, n in enumerate(out.shape)]), out.dtype.type(start))
    return concatenate([first, out], i)


def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """The running sum along `axis` (needed for more than one axis); include_initial: with a leading 0. The array API's `cumsum`.

    Args: x: array. dtype: as in `cumsum`. Raises: UsageError for several axes without axis.

    >>> fnp.cumulative_sum(fnp.array([1, 2, 3]), include_initial=True)
    Array([0, 1, 3, 6], dtype=int64)
    """
    return _cumulative("cumulative_sum", cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """The running product along `axis` (needed for more than one axis); include_initial: with a leading 1.

    Args: x: array. dtype: as in `cumsum`. Raises: UsageError for several axes without axis.

    >>> fnp.cumulative_prod(fnp.array([2, 3, 4]), include_initial=True)
    Array([ 1,  2,  6, 24], dtype=int64)
    """
    return _cumulative("cumulative_prod", cumprod, 1, x, axis, dtype, include_initial)


def _beside(x: Any, extra: Any, arg: str) -> Any:
    """What is put before or after x; a Python number takes its dtype where it fits."""
    return common_dtype(x, operand(extra, "diff", arg))[1]


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along `axis`, `n` times over (of booleans: whether they differ).

    prepend, append: values put before and after along the axis first (scalars or arrays).

    >>> fnp.diff(fnp.array([1, 4, 9, 16]))
    Array([3, 5, 7], dtype=int64)
    >>> fnp.diff(fnp.array([1, 4, 9, 16]), n=2)
    Array([2, 2], dtype=int64)
    >>> fnp.diff(fnp.array([1, 4]), prepend=0)
    Array([1, 3], dtype=int64)
    """
    x = as_value(a, "diff")
    times = static_int(n, "diff", "n")
    if times < 0:
        raise UsageError(message(f"fnp.diff: got n={n}", "0 or more", "n=1"))
    if x.ndim == 0:
        raise ShapeError(message("fnp.diff: got a scalar", "an array with axes", "x.reshape(-1)"))
    if times == 0:
        return x
    i = axis_of(axis, x.ndim, "diff")
    parts = []
    for extra, where in ((prepend, "prepend"), (append, "append")):
        value = None if extra is None else as_value(_beside(x, extra, where), "diff")
        if value is not None and value.ndim == 0:
            value = broadcast_value(value, tuple([1 if k == i else m for k, m in enumerate(x.shape)]))
        parts.append(value)
    if parts[0] is not None or parts[1] is not None:
        x = concatenate([p for p in (parts[0], x, parts[1]) if p is not None], i)
    step = not_equal if x.dtype == dt.bool_ else subtract
    for _ in range(min(times, x.shape[i])):  # nothing is left after so many
        m = x.shape[i]
        x = step(cut(x, i, 1, m), cut(x, i, 0, m - 1))
    return x


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours in the flattened array, between `to_begin` and `to_end`.

    >>> fnp.ediff1d(fnp.array([[1, 4], [9, 16]]), to_begin=0, to_end=fnp.array([7, 8]))
    Array([0, 3, 5, 7, 7, 8], dtype=int64)
    """
    x = ravel(as_value(ary, "ediff1d", "ary"))
    out = [diff(x)]
    if to_begin is not None:
        out.insert(0, ravel(value_in(to_begin, x.dtype, "ediff1d", "to_begin")))
    if to_end is not None:
        out.append(ravel(value_in(to_end, x.dtype, "ediff1d", "to_end")))
    return concatenate(out)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = None) -> Any:
    """Slopes by central differences, one-sided at the ends.

    Args: f: array. varargs: spacing: one scalar for all axes, or a scalar or coordinate vector for each. axis: integer, tuple
    or None (all). edge_order: 1 or None (at the ends the slope to the neighbour) or 2 (that of the parabola through three points,
    exact as the inner ones are).
    Returns: an array of the shape of f, or a list of them for several axes.
    Raises: ShapeError for fewer than edge_order + 1 elements along an axis.

    >>> fnp.gradient(fnp.array([0.0, 1.0, 4.0, 9.0]))
    Array([1., 2., 4., 5.], dtype=float32)
    >>> fnp.gradient(fnp.array([0.0, 1.0, 4.0, 9.0]), edge_order=2)
    Array([0., 2., 4., 6.], dtype=float32)
    >>> fnp.gradient(fnp.array([0.0, 1.0, 9.0]), fnp.array([0.0, 1.0, 3.0]))
    Array([1., 2., 4.], dtype=float32)
    """
    if not among(edge_order, (None, 1, 2)):
        raise UsageError(message(f"fnp.gradient: got edge_order={edge_order}", "1, 2 or None", "leave edge_order out"))
    x = common_inexact(as_value(f, "gradient", "f"))[0]
    axes = axes_of(axis, x.ndim, "gradient")
    spacings = [1.0] * len(axes) if not varargs else list(varargs) * len(axes) if len(varargs) == 1 else list(varargs)
    if len(spacings) != len(axes):
        raise UsageError(
            message(
                f"fnp.gradient: got {len(varargs)} spacings for {len(axes)} axes",
                "one, or one for each axis",
                "fnp.gradient(f, dx, dy)",
            )
        )
    out = [_slope(x, i, h, edge_order or 1) for i, h in zip(axes, spacings)]
    return out[0] if len(out) == 1 else out


def _slope(x: Any, axis: int, h: Any, edge_order: int) -> Any:
    n = x.shape[axis]
    if n <= edge_order:
        raise ShapeError(
            message(
                f"fnp.gradient: got {x.aval.str_short()} along axis {axis}", f"{edge_order + 1} or more elements", "another axis="
            )
        )
    h = as_value(common_dtype(x, operand(h, "gradient", "spacing"))[1], "gradient")
    if h.ndim and h.shape != (n,):
        raise ShapeError(
            message(
                f"fnp.gradient: got coordinates of shape {h.shape} for extent {n}",
                "one coordinate an element",
                "a scalar spacing",
            )
        )
    gaps = reshape(diff(h), tuple([n - 1 if i == axis else 1 for i in range(x.ndim)])) if h.ndim else None
    slopes = divide(diff(x, axis=axis), h if gaps is None else gaps)
    # The slope at a point is a mean of those to its neighbours, each weighted by the gap on the other side.
    left, right = cut(slopes, axis, 0, n - 2), cut(slopes, axis, 1, n - 1)
    if gaps is None:
        inner = divide(subtract(cut(x, axis, 2, n), cut(x, axis, 0, n - 2)), multiply(h, 2))
    else:
        before, after = cut(gaps, axis, 0, n - 2), cut(gaps, axis, 1, n - 1)
        inner = divide(add(multiply(after, left), multiply(before, right)), add(before, after))
    ends = [_end(slopes, gaps, axis, *places, edge_order) for places in ((0, 1), (n - 2, n - 3))]
    return concatenate([ends[0], inner, ends[1]], axis)


def _end(slopes: Any, gaps: Any, axis: int, i: int, j: int, edge_order: int) -> Any:
    """The slope at the end beside interval i, whose neighbour is interval j."""
    outer = cut(slopes, axis, i, i + 1)
    if edge_order == 1:
        return outer
    change = subtract(outer, cut(slopes, axis, j, j + 1))
    if gaps is None:
        return add(outer, multiply(change, 0.5))
    gap, other = cut(gaps, axis, i, i + 1), cut(gaps, axis, j, j + 1)
    return add(outer, multiply(change, divide(gap, add(gap, other))))


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of y along `axis` by the trapezoidal rule; x: the points, or dx: their distance.

    Args: y: array. x: a vector of points, or an array of the shape of y. Returns: a float, without the axis.

    >>> fnp.trapezoid(fnp.array([1, 2, 3]))
    Array(4., dtype=float32)
    >>> fnp.trapezoid(fnp.array([1.0, 2.0, 3.0]), x=fnp.array([0.0, 1.0, 3.0]))
    Array(6.5, dtype=float32)
    """
    v = as_value(y, "trapezoid", "y")
    v = common_inexact(v)[0]
    i = axis_of(axis, v.ndim, "trapezoid")
    v = moveaxis(v, i, -1)
    n = v.shape[-1]
    pairs = ew.add(cut(v, v.ndim - 1, min(1, n), n), cut(v, v.ndim - 1, 0, max(0, n - 1)))
    if x is None:
        return multiply(multiply(sum_(pairs, -1), dx), 0.5)
    points = as_value(x, "trapezoid", "x")
    gaps = diff(points) if points.ndim == 1 else diff(moveaxis(points, i, -1))
    return multiply(sum_(multiply(pairs, gaps), -1), 0.5)
