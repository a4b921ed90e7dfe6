"""Sorting and searching sorted arrays: sort, argsort, lexsort, partition, searchsorted, digitize.

Sorting is stable unless `stable=False` is given; NaN sorts last. Gradients of `sort` go to the elements that moved.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import axis_of, static_int
from funcgrad.numpy._promote import as_value, broadcast_value, cast, common_dtype, operand, values_of
from funcgrad.numpy.reordering import flip
from funcgrad.numpy.structure import ravel
from funcgrad.ops import elementwise as ew
from funcgrad.ops import sort as ops
from funcgrad.ops.shape import iota
from funcgrad.trace.value import Value

__all__ = ["argpartition", "argsort", "digitize", "lexsort", "partition", "searchsorted", "sort", "sort_complex"]


def _check(name: str, kind: Any, order: Any) -> None:
    if not among(kind, (None, "quicksort", "mergesort", "heapsort", "stable")):
        raise UsageError(
            message(f"fnp.{name}: got kind={kind!r}", "None, 'quicksort', 'mergesort', 'heapsort', 'stable'", "stable=True")
        )
    if order is not None:
        raise UsageError(
            message(f"fnp.{name}: got order={order!r}", "None: arrays have no named fields", "fnp.lexsort for several keys")
        )


def _along(x: Value, axis: Any, name: str) -> tuple[Value, int]:
    if axis is None:
        return ravel(x), 0
    return x, axis_of(axis, x.ndim, name)


def sort(a: Any, axis: Any = -1, *, kind: Any = None, order: Any = None, stable: bool = True, descending: bool = False) -> Any:
    """The elements along `axis` (None: all, flattened) in ascending or descending order.

    Args: kind: NumPy's names are accepted; `stable` decides. order: must be None. descending: largest (and NaN) first.
    Complex numbers are ordered by real, then imaginary part.

    >>> fnp.sort(fnp.array([3.0, fnp.nan, 1.0, 2.0]))
    Array([ 1.,  2.,  3., nan], dtype=float32)
    >>> fnp.sort(fnp.array([[3, 1], [2, 4]]), axis=0, descending=True)
    Array([[3, 4],
           [2, 1]], dtype=int64)
    """
    _check("sort", kind, order)
    x, i = _along(as_value(a, "sort"), axis, "sort")
    (out,) = ops.sort(x, dimension=i, is_stable=flag(stable, "fnp.sort", "stable"), num_keys=1)
    return flip(out, i) if flag(descending, "fnp.sort", "descending") else out


def argsort(
    a: Any,
    axis: Any = -1,
    *,
    kind: Any = None,
    order: Any = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Any:
    """The indices that sort along `axis`; equal elements keep their order. dtype: of the indices, int64 without one.

    Args: kind, order, stable, descending: as in `sort`.

    >>> x = fnp.array([3, 1, 2])
    >>> fnp.argsort(x), x[fnp.argsort(x)]
    (Array([1, 2, 0], dtype=int64), Array([1, 2, 3], dtype=int64))
    >>> fnp.argsort(x, descending=True)
    Array([0, 2, 1], dtype=int64)
    """
    _check("argsort", kind, order)
    x, i = _along(as_value(a, "argsort"), axis, "argsort")
    places = iota(dtype=dt.int64 if dtype is None else dt.canonical(dtype), shape=x.shape, dimension=i)
    if flag(descending, "fnp.argsort", "descending"):  # reversed before and after, so that equal elements keep their order
        x, places = flip(x, i), flip(places, i)
    _, out = ops.sort(x, places, dimension=i, is_stable=flag(stable, "fnp.argsort", "stable"), num_keys=1)
    return flip(out, i) if descending else out


def sort_complex(a: Any) -> Any:
    """The elements of the last axis sorted (by real, then imaginary part), as complex numbers.

    >>> fnp.sort_complex(fnp.array([2 + 1j, 1 - 1j, 2 - 1j]))
    Array([1.-1.j, 2.-1.j, 2.+1.j], dtype=complex64)
    """
    x = sort(as_value(a, "sort_complex"))
    return (
        x
        if x.dtype in dt.COMPLEXES
        else cast(x, dt.promote_dtypes(dt.complex64, x.dtype) if x.dtype in dt.FLOATS else dt.default_complex())
    )


def lexsort(keys: Any, axis: Any = -1) -> Any:
    """The indices that sort by several keys, the last one first. keys: sequence of arrays of one shape, or one array.

    Args: axis: an integer. Returns: int64 of the shape of a key.
    Raises: ShapeError for keys of different shapes.

    >>> surname, first = fnp.array([2, 1, 2]), fnp.array([3, 9, 1])
    >>> fnp.lexsort((first, surname))
    Array([1, 2, 0], dtype=int64)
    """
    if not isinstance(keys, (Sequence, Value, np.ndarray)):
        raise TypeError(message(f"fnp.lexsort: got {keys!r}", "a sequence of arrays", "fnp.lexsort((second, first))"))
    rows = [as_value(k, "lexsort", "keys") for k in keys]  # type: ignore[union-attr]  (values iterate along their first axis)
    if not rows or len({k.shape for k in rows}) > 1:
        raise ShapeError(
            message(
                f"fnp.lexsort: got keys of shapes {[k.shape for k in rows]}",
                "one or more keys of one shape",
                "fnp.broadcast_arrays first",
            )
        )
    if rows[0].ndim == 0:
        return cast(as_value(np.int64(0), "lexsort"), dt.int64)
    i = axis_of(axis, rows[0].ndim, "lexsort")
    places = iota(dtype=dt.int64, shape=rows[0].shape, dimension=i)
    return ops.sort(*rows[::-1], places, dimension=i, is_stable=True, num_keys=len(rows))[-1]


def _kth(name: str, kth: Any, n: int) -> int:
    k = static_int(kth, name, "kth")
    if not -n <= k < n:
        raise UsageError(message(f"fnp.{name}: got kth={k} for extent {n}", f"{-n} to {n - 1}", "check kth"))
    return k % n if n else 0


def partition(a: Any, kth: Any, axis: Any = -1) -> Any:
    """The element that sorting would put at `kth` is there, smaller ones before it, others after: here all are sorted.

    Args: a: array. kth: an integer, known while tracing. axis: integer, or None for the flattened array.

    >>> fnp.partition(fnp.array([5, 1, 4, 2]), 1)
    Array([1, 2, 4, 5], dtype=int64)
    """
    x, i = _along(as_value(a, "partition"), axis, "partition")
    _kth("partition", kth, x.shape[i])
    return sort(x, i)


def argpartition(a: Any, kth: Any, axis: Any = -1) -> Any:
    """The indices that partition the array around `kth`: here those that sort it. Arguments as in `partition`.

    >>> fnp.argpartition(fnp.array([5, 1, 4, 2]), 1)
    Array([1, 3, 2, 0], dtype=int64)
    """
    x, i = _along(as_value(a, "argpartition"), axis, "argpartition")
    _kth("argpartition", kth, x.shape[i])
    return argsort(x, i)


_METHODS = ("scan", "scan_unrolled", "sort", "compare_all", "default", None)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: Any = "scan") -> Any:
    """Where the elements of `v` would go in the sorted vector `a`, to keep it sorted; int64, of the shape of v.

    Args: side: "left" (before equal elements) or "right" (after them). sorter: indices that sort a. method: JAX's names are
    accepted; they differ in speed there, never in the result.
    NaN goes to the end.

    >>> fnp.searchsorted(fnp.array([1, 3, 3, 5]), fnp.array([0, 3, 9]))
    Array([0, 1, 4], dtype=int64)
    >>> fnp.searchsorted(fnp.array([1, 3, 3, 5]), 3, side="right")
    Array(3, dtype=int64)
    """
    if not among(side, ("left", "right")):
        raise UsageError(message(f"fnp.searchsorted: got side={side!r}", "'left' or 'right'", "side='left'"))
    if not among(method, _METHODS):
        raise UsageError(message(f"fnp.searchsorted: got method={method!r}", ", ".join(map(repr, _METHODS)), "leave it out"))
    # A Python number stays one until the dtype is known: it may fit uint64 alone.
    x, y = common_dtype(as_value(a, "searchsorted"), operand(v, "searchsorted", "v"))
    y = as_value(y, "searchsorted", "v")
    if x.ndim != 1:
        raise ShapeError(
            message(f"fnp.searchsorted: got {x.aval.str_short()} for a", "a sorted vector", "fnp.vmap over rows, or a.ravel()")
        )
    if sorter is not None:
        order = as_value(sorter, "searchsorted", "sorter")
        if order.ndim != 1:
            came = f"fnp.searchsorted: got {order.aval.str_short()} for sorter"
            raise ShapeError(message(came, "a vector of indices", "sorter=fnp.argsort(a)"))
        x = x[order]  # type: ignore[index]
    n = x.shape[0]
    # Bisection on all of v at once: log2(n) rounds, each one gather.
    low = ew.convert(broadcast_value(as_value(np.int64(0), "searchsorted"), y.shape), dt.int64)
    if n == 0:
        return low
    high = ew.add(low, np.int64(n))
    for _ in range(n.bit_length()):
        middle = ew.shift_right_arithmetic(ew.add(low, high), np.int64(1))
        probe = x.at[middle].get(mode="clip")  # type: ignore[attr-defined]
        goes_right = _before(probe, y, side == "right")
        open_ = ew.lt(low, high)
        low, high = (
            ew.select_n(ew.and_(open_, goes_right), low, ew.add(middle, np.int64(1))),
            ew.select_n(ew.and_(open_, ew.not_(goes_right)), high, middle),
        )
    return low


def _before(x: Any, y: Any, or_equal: bool) -> Any:
    """Whether x stands before y in sorted order, where NaN is the largest."""
    if x.dtype in dt.COMPLEXES:
        first = _before(ew.real(x), ew.real(y), False)
        return ew.or_(first, ew.and_(ew.eq(ew.real(x), ew.real(y)), _before(ew.imag(x), ew.imag(y), or_equal)))
    less = ew.le(x, y) if or_equal else ew.lt(x, y)
    if x.dtype not in dt.FLOATS:
        return less
    y_nan = ew.ne(y, y)
    return ew.or_(less, y_nan if or_equal else ew.and_(y_nan, ew.eq(x, x)))


def digitize(x: Any, bins: Any, right: bool = False, *, method: Any = None) -> Any:
    """The number of the bin of each element of x, int64. bins: sorted vector, up or down. right: bins are closed at the right.

    With ascending bins, i such that bins[i-1] <= x < bins[i] (right=True: bins[i-1] < x <= bins[i]); with descending ones
    bins[i-1] > x >= bins[i] (right=True: bins[i-1] >= x > bins[i]). method: as in `searchsorted`.

    >>> fnp.digitize(fnp.array([0.5, 1.0, 9.0]), fnp.array([0.0, 1.0, 2.0]))
    Array([1, 2, 3], dtype=int64)
    >>> fnp.digitize(fnp.array([0.5, 1.0, 9.0]), fnp.array([0.0, 1.0, 2.0]), right=True)
    Array([1, 1, 3], dtype=int64)
    """
    v, edges = values_of("digitize", x=x, bins=bins)
    if edges.ndim != 1:
        raise ShapeError(message(f"fnp.digitize: got bins {edges.aval.str_short()}", "a vector", "bins.ravel()"))
    n = edges.shape[0]
    if n == 0:
        return searchsorted(edges, v)
    up = searchsorted(edges, v, "left" if flag(right, "fnp.digitize", "right") else "right", method=method)
    if n == 1:
        return up
    down = ew.sub(np.int64(n), searchsorted(flip(edges), v, "left" if right else "right", method=method))
    ascending = ew.ge(edges[-1], edges[0])
    return ew.select_n(broadcast_value(ascending, v.shape), down, up)
