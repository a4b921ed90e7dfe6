"""Running folds along an axis, from the end with reverse: cumsum cumprod cummax cummin cumlogsumexp.

The derivative of a running maximum goes to the first element that attained it; those of products and of
cumlogsumexp are exact, with zeros among the factors and with elements of -inf, at every order.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import ShapeError, message
from funcgrad.ir.loop_rules import Inline, Scan
from funcgrad.ir.primitive import LinearArg, register
from funcgrad.ops._family import add, check_dtypes, like
from funcgrad.ops._samples import NARROW, uniform
from funcgrad.ops.arithmetic import max_, mul, sub
from funcgrad.ops.bitwise import and_, not_, or_
from funcgrad.ops.compare import eq, ge, le
from funcgrad.ops.convert import stop_gradient
from funcgrad.ops.exponential import exp, log, logistic
from funcgrad.ops.parts import abs_
from funcgrad.ops.select import select_n
from funcgrad.ops.shape import iota, pad, slice_
from funcgrad.ops.sort import take_along
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of


def _abstract(name: str, dtypes: frozenset) -> Callable[..., ShapedArray]:
    def abstract(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        check_dtypes(name, dtypes, x)
        if not 0 <= axis < x.ndim:
            raise ShapeError(
                message(f"{name}: got axis={axis} for {x.str_short()}", f"an axis from 0 to {x.ndim - 1}", "mend axis=")
            )
        return shaped(x.shape, x.dtype, x.weak_type)

    return abstract


def _numpy(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    def meaning(x: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
        dtype = x.dtype
        if dtype in NARROW and ufunc in (np.add, np.multiply, np.logaddexp):
            x = x.astype(np.float32)
        x = np.flip(x, axis) if reverse else x
        out = ufunc.accumulate(x, axis, dtype=x.dtype)
        out = np.flip(out, axis) if reverse else out
        return out.astype(dtype, copy=False)

    return meaning


def _samples(low: float, high: float) -> Callable[..., Any]:
    draw = uniform(low, high)
    return lambda rng, dtype: [
        ((draw(rng, shape, dtype),), {"axis": axis, "reverse": reverse})
        for shape, axis in (((6,), 0), ((2, 3), 1), ((3, 2), 0), ((1,), 0), ((0, 2), 0))
        for reverse in (False, True)
    ]


def _declare(
    name: str,
    ufunc: np.ufunc,
    dtypes: frozenset,
    samples: Any,
    jvp: Any,
    loop: Any,
    doc: str,
    transpose: Any = "it is not linear",
) -> Operator:
    def batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, axis: int, reverse: bool) -> Any:
        (x,), (d,) = args, dims
        assert d is not None
        return op(x, axis=axis + (axis >= d), reverse=reverse), d

    op = Operator(
        name,
        abstract=_abstract(name, dtypes),
        numpy=_numpy(ufunc),
        jvp=jvp,
        batch=batch,
        loop=loop,
        dtypes=dtypes,
        samples=samples,
        doc=doc,
        transpose=transpose,
    )
    register(op)
    return op


# --- doubling -----------------------------------------------------------------------------------------------------


def _moved(x: Any, by: int, axis: int, reverse: bool, fill: Any) -> Any:
    """`x` moved by places along the axis in the direction of the fold; `fill` where nothing has come."""
    shape = aval_of(x).shape
    n = shape[axis]
    starts, limits = [0] * len(shape), list(shape)
    config = [(0, 0, 0)] * len(shape)
    if reverse:
        starts[axis], config[axis] = by, (0, by, 0)
    else:
        limits[axis], config[axis] = n - by, (by, 0, 0)
    kept = slice_(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=(1,) * len(shape))
    return pad(kept, fill, padding_config=tuple(config))


def _doubling(
    values: tuple[Any, ...],
    fills: tuple[Any, ...],
    combine: Callable[..., tuple[Any, ...]],
    axis: int,
    reverse: bool,
) -> tuple[Any, ...]:
    """The running fold of tuples by an associative `combine(earlier, later)` whose neutral element is `fills`: in round k each
    place takes in what lies 2^k before it."""
    n, by = aval_of(values[0]).shape[axis], 1
    while by < n:
        values = combine(tuple([_moved(v, by, axis, reverse, f) for v, f in zip(values, fills, strict=True)]), values)
        by *= 2
    return values


def _tangent_by_doubling(name: Callable[[], Operator], one: Callable[[Any], Any], combine: Callable[..., Any]) -> Any:
    """The jvp of a running fold: pairs of value and tangent are folded by doubling."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, reverse: bool) -> Any:
        (x,), (t,) = primals, tangents
        out = name()(x, axis=axis, reverse=reverse)
        if t is None or aval_of(out).dtype not in dt.INEXACT or aval_of(x).size == 0:
            return out, None
        dtype = aval_of(x).dtype
        _, t_out = _doubling((x, t), (one(dtype), dtype.type(0)), combine, axis, reverse)
        return out, t_out

    return jvp


# --- cumsum -------------------------------------------------------------------------------------------------------


def _cumsum_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    out = cumsum(primals[0], **params)
    t = tangents[0]
    return out, None if t is None or aval_of(out).dtype not in dt.INEXACT else cumsum(t, **params)


def _cumsum_transpose(ct: Any, x: LinearArg, *, axis: int, reverse: bool) -> list[Any]:
    return [cumsum(ct, axis=axis, reverse=not reverse)]


cumsum = _declare(
    "cumsum",
    np.add,
    dt.NUMBERS,
    _samples(-9, 9),
    _cumsum_jvp,
    Scan("add"),
    "running sums",
    transpose=_cumsum_transpose,
)


# --- cumprod ------------------------------------------------------------------------------------------------------


def _product(before: tuple[Any, Any], here: tuple[Any, Any]) -> tuple[Any, Any]:
    (x, t), (y, s) = before, here
    return mul(x, y), add(mul(t, y), mul(x, s))


cumprod = _declare(
    "cumprod",
    np.multiply,
    dt.NUMBERS,
    _samples(-2, 2),
    _tangent_by_doubling(lambda: cumprod, lambda d: d.type(1), _product),
    Scan("mul"),
    "running products",
)


# --- cummax, cummin -----------------------------------------------------------------------------------------------


def _extremum_jvp(name: Callable[[], Operator], no_better: Callable[..., Any]) -> Any:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, reverse: bool) -> Any:
        (x,), (t,) = primals, tangents
        out = name()(x, axis=axis, reverse=reverse)
        aval = aval_of(x)
        if t is None or aval.dtype not in dt.INEXACT or aval.size == 0:
            return out, None
        # A place is a new record unless it is no better than the one before it; the tangent is that of the latest record.
        places = iota(dtype=dt.int64, shape=aval.shape, dimension=axis)
        n = aval.shape[axis]
        first = eq(places, np.int64(n - 1 if reverse else 0))
        old = no_better(x, _moved(out, 1, axis, reverse, aval.dtype.type(0)))
        record = or_(first, not_(old))
        if reverse:
            latest = cummin(select_n(record, np.int64(n - 1), places), axis=axis, reverse=True)
        else:
            latest = cummax(select_n(record, np.int64(0), places), axis=axis, reverse=False)
        return out, take_along(t, latest, axis)

    return jvp


cummax = _declare(
    "cummax",
    np.maximum,
    dt.REALS,
    _samples(-9, 9),
    _extremum_jvp(lambda: cummax, le),
    Scan("max"),
    "running maxima",
)
cummin = _declare(
    "cummin",
    np.minimum,
    dt.REALS,
    _samples(-9, 9),
    _extremum_jvp(lambda: cummin, ge),
    Scan("min"),
    "running minima",
)


# --- cumlogsumexp -----------------------------------------------------------------------------------------------


def _both_nothing(x: Any, y: Any) -> Any:
    """Where both are exp's -inf, or the same infinity."""
    return and_(eq(x, y), eq(abs_(x), like(x, np.inf)))


def _logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)) by smooth operators, so that its derivatives are exact at every order."""
    top = stop_gradient(max_(x, y))
    same = eq(abs_(top), like(x, np.inf))  # an infinite one, or both are -inf
    scaled = add(exp(sub(x, top)), exp(sub(y, top)))
    return select_n(same, add(top, log(select_n(same, scaled, like(x, 1)))), top)


def _log_weighted(before: tuple[Any, Any], here: tuple[Any, Any]) -> tuple[Any, Any]:
    # The tangent of logaddexp(x, y) is the mean of theirs with weights exp(x) : exp(y).
    (x, t), (y, s) = before, here
    weight = logistic(select_n(_both_nothing(x, y), sub(x, y), like(x, 0)))
    rest = sub(like(x, 1), weight)
    return _logaddexp(x, y), add(mul(t, weight), mul(s, rest))


def _cumlogsumexp(x: Any, *, axis: int, reverse: bool) -> Any:
    def combine(before: tuple[Any], here: tuple[Any]) -> tuple[Any]:
        return (_logaddexp(before[0], here[0]),)

    if aval_of(x).size == 0:
        return x
    return _doubling((x,), (aval_of(x).dtype.type(-np.inf),), combine, axis, reverse)[0]


cumlogsumexp = _declare(
    "cumlogsumexp",
    np.logaddexp,
    dt.FLOATS,
    _samples(-3, 3),
    _tangent_by_doubling(lambda: cumlogsumexp, lambda d: d.type(-np.inf), _log_weighted),
    Inline(_cumlogsumexp),
    "running log(sum(exp(x)))",
)
