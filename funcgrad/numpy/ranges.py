"""Numbers that are counted, and grids of them: arange, linspace, logspace, geomspace, meshgrid, indices, fromfunction."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import ConcretizationTypeError, ShapeError, UsageError, describe, message
from funcgrad.numpy._axes import axis_of, extent, fitting, shape_of, static_int
from funcgrad.numpy._promote import (
    as_value,
    broadcast_value,
    cast,
    common_dtype,
    inexact_dtype,
    operand,
    result_aval,
)
from funcgrad.numpy.creation import asarray, astype, check_device
from funcgrad.numpy.elementwise import add, multiply
from funcgrad.numpy.join import stack
from funcgrad.numpy.structure import expand_dims, moveaxis, reshape
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full as fill
from funcgrad.ops.convert import convert_numpy
from funcgrad.ops.shape import iota
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.value import Value

__all__ = [
    "arange", "fromfunction", "geomspace", "indices", "linspace", "logspace", "meshgrid",
]  # fmt: skip


def _concrete_number(x: Any, name: str, arg: str) -> Any:
    if isinstance(x, Tracer):
        known = x.concrete()
        if known is None:
            raise ConcretizationTypeError(
                x, f"fnp.{name}: {arg} decides the length of the result, which must be known while tracing"
            )
        x = known
    if isinstance(x, (Value, np.ndarray)):
        x = np.asarray(x)[()]
    operand(x, name, arg)
    if isinstance(x, (np.ndarray, complex, np.complexfloating)) or x != x or x in (np.inf, -np.inf):
        given = describe(x) if isinstance(x, np.ndarray) else repr(x)
        raise UsageError(message(f"fnp.{name}: got {given} for {arg}", "a real, finite number", f"fnp.{name}(0, 10, 2)"))
    return x


_steps: Any = np.arange


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None) -> Any:
    """Numbers from `start` (0 where only one is given) up to, not including, `stop` in steps of `step`.

    dtype: int64 for integers, float32 where a Python float takes part, otherwise by promotion.
    Raises ConcretizationTypeError for traced bounds: the length must be known; `fnp.arange(x.shape[0])` is.

    >>> fnp.arange(2, 8, 2)
    Array([2, 4, 6], dtype=int64)
    >>> fnp.arange(0, 1, 0.25)
    Array([0.  , 0.25, 0.5 , 0.75], dtype=float32)
    """
    check_device("arange", device)
    if stop is None:
        start, stop = 0, start
    start, stop = _concrete_number(start, "arange", "start"), _concrete_number(stop, "arange", "stop")
    step = 1 if step is None else _concrete_number(step, "arange", "step")
    target = (
        result_aval(*[operand(v, "arange", "bounds") for v in (start, stop, step)]).dtype
        if dtype is None
        else dt.canonical(dtype)
    )
    if step == 0:
        raise UsageError(message("fnp.arange: got step=0", "a step that is not 0", "step=1"))
    if all([isinstance(v, (int, np.integer)) for v in (start, stop, step)]):
        first, last, by = int(start), int(stop), int(step)
        count = extent(max(0, -((first - last) // by)), "arange", "the number of elements")
    else:
        count = max(0, math.ceil((stop - start) / step))
    if target in dt.INTEGERS and all([isinstance(v, (int, np.integer)) for v in (start, stop, step)]):
        out = iota(dtype=target, shape=(count,), dimension=0)
        out = out if step == 1 else ew.mul(out, cast(step if count > 1 else 1, target))
        return out if start == 0 else ew.add(out, cast(start, target))
    with np.errstate(all="ignore"):
        wide = np.float64 if target in dt.FLOATS | dt.SMALL_FLOATS else None
        return from_numpy(convert_numpy(_steps(start, stop, step, wide)[:count], target), copy=False)


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0, *,
    device: Any = None,
) -> Any:  # fmt: skip
    """`num` evenly spaced numbers from `start` to `stop` (included unless endpoint=False), along a new `axis`.

    start, stop: scalars or arrays that broadcast; gradients flow to both. retstep: also give the step.
    num: an integer, known while tracing. dtype: of the result; a float without one. device: None or the CPU.

    >>> fnp.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    >>> fnp.linspace(0, 1, 4, endpoint=False, retstep=True)
    (Array([0.  , 0.25, 0.5 , 0.75], dtype=float32), Array(0.25, dtype=float32))
    >>> fg.grad(lambda b: fnp.linspace(0.0, b, 5).sum())(1.0)
    Array(2.5, dtype=float32)
    """
    check_device("linspace", device)
    n = fitting(static_int(num, "linspace", "num"), "linspace", "num")
    if n < 0:
        raise UsageError(message(f"fnp.linspace: got num={n}", "0 or more", "num=50"))
    target = None if dtype is None else dt.canonical(dtype)
    a, b = common_dtype(operand(start, "linspace", "start"), operand(stop, "linspace", "stop"))
    work = inexact_dtype(result_aval(a, b).dtype)
    if target is not None:  # whole numbers are exact up to 2^53
        work = dt.promote_dtypes(work, dt.float64 if target not in dt.INEXACT else target)
    a, b = as_value(cast(a, work), "linspace"), as_value(cast(b, work), "linspace")
    a, b = broadcast_value(a, result_aval(a, b).shape), broadcast_value(b, result_aval(a, b).shape)
    gaps = n - 1 if flag(endpoint, "fnp.linspace", "endpoint") else n
    step = ew.div(ew.sub(b, a), work.type(gaps)) if gaps > 0 else fill(a.shape, work.type(np.nan))
    # a (1 - t) + b t hits both ends exactly and is exact for equal ends.
    real = dt.float64 if work in (dt.float64, dt.complex128) else dt.float32
    t = iota(dtype=dt.int64, shape=(n,), dimension=0)
    t = cast(ew.div(cast(t, real), real.type(max(gaps, 1))), work)
    t = reshape(t, (n,) + (1,) * a.ndim)
    one = work.type(1)
    out = add(multiply(expand_dims(a, 0), ew.sub(one, t)), multiply(expand_dims(b, 0), t))
    if endpoint and n > 1:
        last = ew.eq(iota(dtype=dt.int64, shape=out.shape, dimension=0), np.int64(n - 1))
        out = ew.select_n(last, out, broadcast_value(b, out.shape))
    if target is not None and target in dt.INTEGERS and work in dt.FLOATS:
        out = ew.floor(out)
    out = moveaxis(out, 0, static_int(axis, "linspace", "axis")) if out.ndim > 1 or not among(axis, (0,)) else out
    out = out if target is None else cast(out, target)
    return (out, step if target is None else step) if flag(retstep, "fnp.linspace", "retstep") else out


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """`base` to the powers `linspace(start, stop, num)`. dtype: of the result; the powers are floats.

    Args: endpoint, axis: as in `linspace`. base: a number, or an array that broadcasts.

    >>> fnp.logspace(0, 3, 4)
    Array([   1.,   10.,  100., 1000.], dtype=float32)
    >>> fnp.logspace(0, 3, 4, base=2, dtype=int)
    Array([1, 2, 4, 8], dtype=int64)
    """
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    b = broadcast_value(as_value(cast(operand(base, "logspace", "base"), exponents.dtype), "logspace"), exponents.shape)
    out = ew.pow(b, exponents)
    return out if dtype is None else astype(out, dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """`num` numbers from `start` to `stop` with a constant ratio, both ends exact; arguments as in `linspace`.

    start, stop: real numbers of one sign (otherwise NaN), or complex numbers.

    >>> fnp.geomspace(1, 1000, 4)
    Array([   1.,   10.,  100., 1000.], dtype=float32)
    """
    a, b = common_dtype(operand(start, "geomspace", "start"), operand(stop, "geomspace", "stop"))
    work = inexact_dtype(result_aval(a, b).dtype)
    a, b = as_value(cast(a, work), "geomspace"), as_value(cast(b, work), "geomspace")
    shape = result_aval(a, b).shape
    a, b = broadcast_value(a, shape), broadcast_value(b, shape)
    place = axis_of(axis, len(shape) + 1, "geomspace")
    if work in dt.COMPLEXES:
        powers = multiply(
            expand_dims(a, place), ew.exp(linspace(fill(shape, work.type(0)), ew.log(ew.div(b, a)), num, endpoint, axis=place))
        )
    else:
        sign = ew.sign(a)
        exponents = linspace(ew.log10(ew.mul(a, sign)), ew.log10(ew.mul(b, sign)), num, endpoint, axis=place)
        powers = multiply(expand_dims(sign, place), ew.pow(fill(exponents.shape, work.type(10)), exponents))
    number = iota(dtype=dt.int64, shape=powers.shape, dimension=place)
    ends = [(0, a)] + ([(num - 1, b)] if endpoint and num > 1 else [])
    for k, end in ends:
        powers = ew.select_n(ew.eq(number, np.int64(k)), powers, broadcast_value(expand_dims(end, place), powers.shape))
    return powers if dtype is None else astype(powers, dtype)


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """Coordinate arrays of a grid from coordinate vectors (or scalars).

    Args: indexing: "xy" (the first two axes swapped: columns first) or "ij". sparse: leave extents of 1 that broadcast.
    Returns: a list with one array for each vector.
    copy: any; arrays are immutable.

    >>> x, y = fnp.meshgrid(fnp.arange(3), fnp.arange(2))
    >>> x
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int64)
    >>> y
    Array([[0, 0, 0],
           [1, 1, 1]], dtype=int64)
    >>> [g.shape for g in fnp.meshgrid(fnp.arange(3), fnp.arange(2), indexing="ij", sparse=True)]
    [(3, 1), (1, 2)]
    """
    if not among(indexing, ("xy", "ij")):
        raise UsageError(message(f"fnp.meshgrid: got indexing={indexing!r}", "'xy' or 'ij'", "indexing='ij'"))
    xs = [as_value(x, "meshgrid", f"xi[{i}]") for i, x in enumerate(xi)]
    for x in xs:
        if x.ndim > 1:
            raise ShapeError(message(f"fnp.meshgrid: got {x.aval.str_short()}", "vectors or scalars", "x.ravel()"))
    rank = len(xs)
    order = list(range(rank))
    if indexing == "xy" and rank > 1:
        order[0], order[1] = 1, 0
    extents = [1] * rank
    for x, i in zip(xs, order):
        extents[i] = x.size
    out = [reshape(x, tuple([x.size if j == i else 1 for j in range(rank)])) for x, i in zip(xs, order)]
    return out if flag(sparse, "fnp.meshgrid", "sparse") else [broadcast_value(x, tuple(extents)) for x in out]


def indices(dimensions: Any, dtype: Any = None, sparse: bool = False) -> Any:
    """The index arrays of a grid: shape (len(dimensions), *dimensions), or a tuple of open grids with sparse=True. dtype int64.

    >>> fnp.indices((2, 3))
    Array([[[0, 0, 0],
            [1, 1, 1]],
    <BLANKLINE>
           [[0, 1, 2],
            [0, 1, 2]]], dtype=int64)
    """
    extents = shape_of(dimensions, "indices", "dimensions")
    target = dt.int64 if dtype is None else dt.canonical(dtype)
    counted = [cast(iota(dtype=dt.int64, shape=(n,), dimension=0), target) for n in extents]
    if not extents:
        return () if sparse else fill((0,), target.type(0))
    grids = meshgrid(*counted, sparse=sparse, indexing="ij")
    return tuple(grids) if sparse else stack(grids)


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """`function(i, j, ...)` of the index arrays of `shape`. dtype: of the index arrays (float32 without one).

    kwargs: passed on to the function.

    >>> fnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    Array([[ 0,  1,  2],
           [10, 11, 12]], dtype=int64)
    """
    if not callable(function):
        raise UsageError(message(f"fnp.fromfunction: got {describe(function)}", "a function of index arrays", "lambda i: i"))
    grids = indices(shape_of(shape, "fromfunction"), dt.default_float() if dtype is float else dtype)
    return asarray(function(*[g for g in grids], **kwargs))
