"""Descriptions of samples: mode, rankdata, sem.

nan_policy: "propagate" (NaN where a line has one), "omit" (NaNs are left out), "raise" (ValueError; not while tracing).
"""

from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import DtypeError, UsageError, message
from funcgrad.numpy._axes import axis_of, static_array, static_int
from funcgrad.numpy._promote import as_value, cast, common_inexact
from funcgrad.ops._family import full
from funcgrad.ops.cumulative import cummax, cummin
from funcgrad.trace.value import Value

__all__ = ["ModeResult", "mode", "rankdata", "sem"]

_POLICIES = ("propagate", "omit", "raise")
_METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """The most frequent values, and how often they come.

    >>> from funcgrad.scipy import stats
    >>> stats.mode(fnp.array([3, 1, 3])).count
    Array(2, dtype=int64)
    """

    mode: Any
    count: Any


def _lines(name: str, a: Any, axis: Any, nan_policy: str) -> tuple[Any, int | None]:
    """The array with the axis last (of all elements where axis is None), and the axis."""
    x: Any = as_value(a if isinstance(a, Value) else fnp.asarray(a), f"scipy.stats.{name}", "a")
    if not among(nan_policy, _POLICIES):
        raise UsageError(
            message(f"scipy.stats.{name}: got nan_policy={nan_policy!r}", "'propagate', 'omit', 'raise'", "nan_policy='omit'")
        )
    if x.dtype in dt.COMPLEXES or x.dtype in dt.KEYS:
        raise DtypeError(message(f"scipy.stats.{name}: got {x.aval.str_short()}", "real numbers", "a.real"))
    if nan_policy == "raise" and x.dtype in dt.FLOATS and np.isnan(static_array(x, f"scipy.stats.{name}", "a")).any():
        raise UsageError(message(f"scipy.stats.{name}: got NaN with nan_policy='raise'", "numbers", "nan_policy='omit'"))
    if axis is None:
        return x.reshape(-1), None
    i = axis_of(axis, x.ndim, f"scipy.stats.{name}")
    return fnp.moveaxis(x, i, -1), i


def _firsts(ordered: Any) -> Any:
    """Where a run of equal numbers begins in sorted lines; NaNs are equal."""
    before, here = ordered[..., :-1], ordered[..., 1:]
    new = here != before
    if ordered.dtype in dt.FLOATS:
        new = new & ~(fnp.isnan(here) & fnp.isnan(before))
    return fnp.concatenate([fnp.ones((*ordered.shape[:-1], 1), bool), new], -1)


def _run_start(first: Any) -> Any:
    """The place at which the run of each element begins."""
    place = fnp.broadcast_to(fnp.arange(first.shape[-1]), first.shape)
    return cummax(fnp.where(first, place, 0), axis=first.ndim - 1, reverse=False), place


def mode(a: Any, axis: Any = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The most frequent value along an axis, the smallest of several, and its count.

    Args: a: array of real numbers. axis: None for all elements. nan_policy: with "propagate" NaNs are equal to each other and are
    counted; "omit" leaves them out; "raise" raises ValueError. keepdims: the axis stays, with extent 1.
    Returns: ModeResult(mode, count); of no elements (NaN, 0).

    >>> from funcgrad.scipy import stats
    >>> stats.mode(fnp.array([3, 1, 1, 3, 2]))
    ModeResult(mode=Array(1, dtype=int64), count=Array(2, dtype=int64))
    """
    x, i = _lines("mode", a, axis, nan_policy)
    n, lead = x.shape[-1], x.shape[:-1]
    if n == 0:
        d = x.dtype if x.dtype in dt.FLOATS else dt.default_float()
        value, count = full(lead, d.type(np.nan)), full(lead, np.int64(0))
    else:
        ordered = fnp.sort(x, -1)
        start, place = _run_start(_firsts(ordered))
        counts = place - start + 1
        if nan_policy == "omit" and x.dtype in dt.FLOATS:
            counts = fnp.where(fnp.isnan(ordered), 0, counts)
        best = fnp.argmax(counts, -1, keepdims=True)
        if nan_policy == "omit" and x.dtype in dt.FLOATS:  # of NaNs alone: NaN
            best = fnp.where(fnp.max(counts, -1, keepdims=True) == 0, n - 1, best)
        value, count = (fnp.take_along_axis(y, best, -1)[..., 0] for y in (ordered, counts))
    if flag(keepdims, "scipy.stats.mode", "keepdims"):
        kept = tuple(range(np.ndim(a))) if i is None else i
        value, count = (fnp.expand_dims(y, kept) for y in (value, count))
    return ModeResult(value, count)


def rankdata(a: Any, method: str = "average", *, axis: Any = None, nan_policy: str = "propagate") -> Any:
    """The ranks of numbers, from 1.

    Args: a: array of real numbers. method: what equal numbers get of the ranks that they take: "average", "min", "max"; "dense":
    like "min", but the next number gets the next rank; "ordinal": different ranks, in the order in which they stand. axis: None
    ranks all elements as one line. nan_policy: a line with a NaN becomes NaN ("propagate"), or the NaNs alone do ("omit").
    Returns: shape of a (with axis=None one axis); floating for method="average" and of floating numbers, int64 otherwise.

    >>> from funcgrad.scipy import stats
    >>> stats.rankdata(fnp.array([0.0, 2.0, 3.0, 2.0]))
    Array([1. , 2.5, 4. , 2.5], dtype=float32)
    """
    if not among(method, _METHODS):
        allowed = ", ".join(map(repr, _METHODS))
        raise UsageError(message(f"scipy.stats.rankdata: got method={method!r}", allowed, "method='average'"))
    x, i = _lines("rankdata", a, axis, nan_policy)
    d = common_inexact(x)[0].dtype if method == "average" else x.dtype if x.dtype in dt.FLOATS else dt.int64
    if x.size == 0:
        ranks = fnp.zeros(x.shape, d)
    else:
        order = fnp.argsort(x, -1)
        first = _firsts(fnp.take_along_axis(x, order, -1))
        ranks = cast(fnp.take_along_axis(_ranks(method, first), fnp.argsort(order, -1), -1), d)
        if x.dtype in dt.FLOATS and nan_policy != "raise":
            missing = fnp.isnan(x)
            missing = missing if nan_policy == "omit" else fnp.any(missing, -1, keepdims=True)
            ranks = fnp.where(missing, np.nan, ranks)
    return ranks if i is None else fnp.moveaxis(ranks, -1, i)


def _ranks(method: str, first: Any) -> Any:
    """The ranks of sorted lines."""
    if method == "dense":
        return fnp.cumsum(first, -1)
    start, place = _run_start(first)
    if method == "ordinal":
        return place + 1
    if method == "min":
        return start + 1
    last = fnp.concatenate([first[..., 1:], fnp.ones((*first.shape[:-1], 1), bool)], -1)
    end = cummin(fnp.where(last, place, first.shape[-1]), axis=first.ndim - 1, reverse=True)
    return end + 1 if method == "max" else (start + end) * 0.5 + 1


def sem(a: Any, axis: Any = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """The standard error of the mean: the standard deviation over the root of the count.

    Args: a: array of real numbers; integers become the default float. axis: None for all elements. ddof: the count is lessened by
    it in the variance. nan_policy: "propagate", "omit" or "raise". keepdims: the axis stays, with extent 1.

    >>> from funcgrad.scipy import stats
    >>> stats.sem(fnp.array([1.0, 2.0, 4.0]))
    Array(0.8819172, dtype=float32)
    """
    lines, i = _lines("sem", a, axis, nan_policy)
    x = common_inexact(lines)[0]
    less = static_int(ddof, "scipy.stats.sem", "ddof")
    if nan_policy == "omit":
        deviation = fnp.nanstd(x, -1, ddof=less)
        count = cast(fnp.sum(~fnp.isnan(x), -1), x.dtype)
        out = fnp.where(count > less, deviation / fnp.sqrt(count), np.nan)
    elif x.shape[-1] <= less:  # of too few numbers
        out = full(x.shape[:-1], x.dtype.type(np.nan))
    else:
        out = fnp.std(x, -1, ddof=less) / float(np.sqrt(x.shape[-1]))
    return (
        fnp.expand_dims(out, tuple(range(np.ndim(a))) if i is None else i)
        if flag(keepdims, "scipy.stats.sem", "keepdims")
        else out
    )
