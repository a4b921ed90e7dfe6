"""Counts in bins: histogram_bin_edges, histogram, histogram2d, histogramdd.

The number of bins must be known while tracing, their edges need not be. What falls outside of the edges is not counted; the last
bin is closed at the right.
"""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import MANY, concrete, fitting, listed, static_int
from funcgrad.numpy._promote import as_value, cast, common_dtype, common_inexact, value_in
from funcgrad.numpy.compare import equal
from funcgrad.numpy.cumulative import diff
from funcgrad.numpy.elementwise import divide
from funcgrad.numpy.ranges import linspace
from funcgrad.numpy.reductions import max, min, sum
from funcgrad.numpy.selection import where
from funcgrad.numpy.sorting import searchsorted
from funcgrad.numpy.structure import ravel, reshape
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


range_ = range  # `range` is an argument here


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of `bins` equal bins over the range of a (or `range=(low, high)`); a vector of edges is given back.

    weights: any; they make no difference.
    Raises: UsageError for names of rules ('auto'), as they need the numbers, and for edges that are known not to ascend.

    >>> fnp.histogram_bin_edges(fnp.array([0.0, 4.0]), bins=4)
    Array([0., 1., 2., 3., 4.], dtype=float32)
    """
    if isinstance(bins, str):
        raise UsageError(message(f"fnp.histogram_bin_edges: got bins={bins!r}", "a number of bins, or edges", "bins=10"))
    edges = as_value(listed(bins, "histogram_bin_edges", "bins"), "histogram_bin_edges", "bins")
    (x,) = common_inexact(as_value(a, "histogram_bin_edges"))
    if edges.ndim == 1:
        known = concrete(edges)
        if known is not None and (known.size < 2 or (known[1:] < known[:-1]).any()):
            raise UsageError(
                message(f"fnp.histogram_bin_edges: got bins={known}", "two edges or more, in ascending order", "fnp.sort(bins)")
            )
        return edges
    n = static_int(bins, "histogram_bin_edges", "bins")
    if n < 1:
        raise UsageError(message(f"fnp.histogram_bin_edges: got bins={n}", "one bin or more", "bins=10"))
    if range is None:
        low, high = (min(x), max(x)) if x.size else (value_in(0, x.dtype, "histogram"), value_in(1, x.dtype, "histogram"))
    else:
        ends = list(range) if isinstance(range, MANY) else []
        if len(ends) != 2:
            raise UsageError(message(f"fnp.histogram_bin_edges: got range={range!r}", "(low, high), or None", "range=(0, 1)"))
        low, high = [value_in(v, x.dtype, "histogram", "range") for v in ends]
    flat = ew.eq(low, high)
    half = x.dtype.type(0.5)
    return linspace(where(flat, ew.sub(low, half), low), where(flat, ew.add(high, half), high), n + 1)


def _places(v: Any, edges: Any) -> Any:
    """The number of the bin of each element of the vector v; the number of bins where there is none."""
    v, e = common_dtype(v, edges)
    n = e.shape[0] - 1
    place = ew.sub(searchsorted(e, v, "right"), np.int64(1))
    place = where(equal(v, e[n]), np.int64(n - 1), place)
    return where(ew.lt(place, np.int64(0)), np.int64(n), place)


def _counts(name: str, place: Any, n: int, weights: Any) -> Any:
    """How often each of 0 to n - 1 comes, or the sum of the weights there."""
    if weights is None:
        return full((n,), np.int64(0)).at[place].add(1, mode="drop")
    w = ravel(as_value(listed(weights, name, "weights"), name, "weights"))
    w = cast(w, dt.int64) if w.dtype == dt.bool_ else w
    if w.shape != place.shape:
        raise ShapeError(
            message(f"fnp.{name}: got {w.size} weights for {place.size} elements", "one an element", "weights.reshape(a.shape)")
        )
    return full((n,), w.dtype.type(0)).at[place].add(w, mode="drop")


def _density(counts: Any, edges: list[Any]) -> Any:
    """Counts divided by their sum and by the volume of each bin."""
    wide = common_inexact(*edges)[0]
    (c,) = common_inexact(cast(counts, wide.dtype) if counts.dtype in dt.INTEGERS else counts)
    c = divide(c, sum(c))
    for k, e in enumerate(edges):
        c = divide(c, reshape(diff(e), tuple([-1 if i == k else 1 for i in range_(c.ndim)])))
    return c


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = None) -> tuple[Any, Any]:
    """How many elements (or what weight) fall into each bin, and the edges.

    Args: a: array, flattened. bins: a number or a vector of edges. range: (low, high) of equal bins, by default those of a.
    weights: one an element. density: divided by the sum and by the width of each bin.
    Returns: counts (int64, or in the weights' dtype) and edges.

    >>> counts, edges = fnp.histogram(fnp.array([1.0, 2.0, 2.5, 3.0]), bins=2)
    >>> counts.tolist()
    [1, 3]
    """
    x = as_value(a, "histogram")
    edges = histogram_bin_edges(x, bins, range, weights)
    counts = _counts("histogram", _places(ravel(x), edges), edges.shape[0] - 1, weights)
    return (_density(counts, [edges]) if flag(density, "fnp.histogram", "density") else counts), edges


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = None
) -> tuple[Any, list[Any]]:
    """How many points (or what weight) fall into each cell of a grid, and the edges along each axis.

    Args: sample: array (points, axes), or a sequence with the coordinates along each axis. bins: a number for all axes, or for
    each axis a number or a vector of edges. range: for each axis (low, high) or None. weights: one a point. density: divided by
    the sum and by the volume of each cell.
    Returns: counts (floats, as the points are, or in the weights' dtype) with an axis for each axis of the points, and the list
    of edges.

    >>> counts, edges = fnp.histogramdd(fnp.array([[0.0, 0.0], [1.0, 2.0], [0.9, 1.8]]), bins=2)
    >>> counts.tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    return _grid("histogramdd", sample, bins, range, weights, density)


def _grid(name: str, sample: Any, bins: Any, range: Any, weights: Any, density: Any) -> tuple[Any, list[Any]]:
    if isinstance(sample, (list, tuple)):
        columns = [as_value(listed(c, name, "sample"), name, "sample") for c in sample]
    else:
        x = as_value(sample, name, "sample")
        columns = [x[:, k] for k in range_(x.shape[1])] if x.ndim == 2 else [x]  # type: ignore[index]
    if len({c.shape for c in columns}) != 1 or columns[0].ndim != 1:
        raise ShapeError(
            message(
                f"fnp.{name}: got coordinates of shapes {', '.join([str(c.shape) for c in columns])}",
                "an array (points, axes), or one vector of coordinates for each axis, of one length",
                "x.reshape(-1, axes)",
            )
        )
    d = len(columns)
    each_bins = bins if isinstance(bins, (list, tuple)) else [bins] * d
    if range is not None and not isinstance(range, MANY):
        raise UsageError(message(f"fnp.{name}: got range={range!r}", "(low, high) for each axis, or None", "range=[(0, 1)]"))
    each_range = [None] * d if range is None else list(range)
    if len(each_bins) != d or len(each_range) != d:
        raise UsageError(
            message(f"fnp.{name}: got {len(each_bins)} bins and {len(each_range)} ranges", f"{d}, one an axis", "bins=10")
        )
    columns = list(common_inexact(*columns))
    edges = [histogram_bin_edges(c, b, r) for c, b, r in zip(columns, each_bins, each_range)]
    shape = tuple([e.shape[0] - 1 for e in edges])
    total = 1
    for n in shape:
        total *= n
    fitting(total, name, "the number of bins")
    place = full(columns[0].shape, np.int64(0))
    outside = full(columns[0].shape, np.False_)
    for c, e, n in zip(columns, edges, shape):
        own = _places(c, e)
        outside = ew.or_(outside, ew.eq(own, np.int64(n)))
        place = ew.add(ew.mul(place, np.int64(n)), own)
    counts = reshape(_counts(name, where(outside, np.int64(total), place), total, weights), shape)
    counts = cast(counts, columns[0].dtype) if counts.dtype in dt.INTEGERS else counts
    return (_density(counts, edges) if flag(density, f"fnp.{name}", "density") else counts), edges


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = None
) -> tuple[Any, Any, Any]:
    """How many points (x, y) fall into each cell of a grid, and the edges along both axes.

    Args: x, y: vectors of one length. bins: a number or a vector of edges for both axes, or a pair of these. range: a pair of
    (low, high). weights, density: as in `histogramdd`.
    Returns: counts, with x along the first axis, and the two vectors of edges.

    >>> counts, xs, ys = fnp.histogram2d(fnp.array([0.0, 1.0, 1.0]), fnp.array([0.0, 2.0, 2.0]), bins=2)
    >>> counts.tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    if not isinstance(bins, (list, tuple)):
        bins = [bins, bins]
    elif len(bins) not in (1, 2):
        bins = [np.asarray(bins)] * 2
    elif len(bins) == 1:
        bins = [bins[0], bins[0]]
    counts, (xs, ys) = _grid("histogram2d", [x, y], bins, range, weights, density)
    return counts, xs, ys
