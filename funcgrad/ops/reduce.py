"""Reductions along `axes` (a sorted tuple): reduce_max min prod and or xor, argmax argmin. (`reduce_sum` and `reduce_or`
are declared with the families.)

The derivative of max and min is shared equally by all elements that attain it. That of a product is exact with zeros among the
factors, at every order. Over no elements max is the least number of its dtype, and a product is 1; argmax needs one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.ops._family import (
    NOT_DIFFERENTIABLE,
    add,
    broadcast_in_dim,
    check_axes,
    check_dtypes,
    like,
    reduce_or,
    reduce_sum,
    reduction,
    reshape,
    transpose,
)
from funcgrad.ops._samples import NARROW, uniform
from funcgrad.ops.arithmetic import div, mul
from funcgrad.ops.compare import eq
from funcgrad.ops.convert import convert
from funcgrad.ops.select import select_n
from funcgrad.ops.shape import slice_
from funcgrad.trace.value import aval_of

__all__ = [
    "argmax",
    "argmin",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_xor",
]

_MOST = uniform(-9, 9)


def spread(x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """A reduced array back over the axes that were reduced."""
    return broadcast_in_dim(x, shape=shape, dims=tuple(i for i in range(len(shape)) if i not in axes)) if axes else x


# --- max, min -------------------------------------------------------------------------------------------------


def least(d: np.dtype) -> Any:
    """What every number of the dtype is at least."""
    return dt.bounds(d)[0]


def greatest(d: np.dtype) -> Any:
    """What every number of the dtype is at most."""
    return dt.bounds(d)[1]


def _extremum_numpy(fold: np.ufunc, bound: Callable[[np.dtype], Any]) -> Callable[..., Any]:
    def meaning(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        if x.size:
            return fold.reduce(x, axis=axes)
        return fold.reduce(x, axis=axes, initial=bound(x.dtype))

    return meaning


def _extremum_jvp(t: Any, out: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    shape = aval_of(x).shape
    attained = eq(x, spread(out, shape, axes))
    count = reduce_sum(convert(attained, aval_of(t).dtype), axes=axes)
    return div(reduce_sum(select_n(attained, like(t, 0), t), axes=axes), count)


reduce_max = reduction(
    "reduce_max",
    dtypes=dt.BOOLS | dt.REALS,
    numpy=_extremum_numpy(np.maximum, least),
    jvp=_extremum_jvp,
    op="max",
    samples=_MOST,
    doc="the largest element; NaN if there is one",
)
reduce_min = reduction(
    "reduce_min",
    dtypes=dt.BOOLS | dt.REALS,
    numpy=_extremum_numpy(np.minimum, greatest),
    jvp=_extremum_jvp,
    op="min",
    samples=_MOST,
    doc="the smallest element; NaN if there is one",
)


# --- product --------------------------------------------------------------------------------------------------


def _prod_jvp(t: Any, out: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    """The tangent of a product: pairs (x, t) multiply as (x y, t y + x s), halving the axis each time.

    Only multiplications, no division by a factor: exact with zeros, and so are the derivatives of this."""
    if not axes:
        return t
    aval = aval_of(x)
    kept = tuple(i for i in range(aval.ndim) if i not in axes)
    shape = tuple(aval.shape[i] for i in kept)
    count = aval.size // max(1, int(np.prod(shape, dtype=np.int64)))
    if aval.size == 0:
        return None

    def rows(a: Any) -> Any:
        if len(axes) == 1 and axes[0] == len(kept):
            return a
        moved = transpose(a, permutation=kept + axes) if kept + axes != tuple(range(aval.ndim)) else a
        return reshape(moved, shape=(*shape, count)) if len(axes) > 1 else moved

    x, t = rows(x), rows(t)

    def part(a: Any, start: int, stop: int) -> Any:
        return slice_(
            a, start_indices=(0,) * len(shape) + (start,), limit_indices=(*shape, stop), strides=(1,) * (len(shape) + 1)
        )

    rest = None
    while count > 1:
        half = count // 2
        if count % 2:
            odd = part(x, count - 1, count), part(t, count - 1, count)
            rest = odd if rest is None else _times(rest, odd)
        x, t = _times((part(x, 0, half), part(t, 0, half)), (part(x, half, 2 * half), part(t, half, 2 * half)))
        count = half
    if rest is not None:
        x, t = _times((x, t), rest)
    return reshape(t, shape=shape)


def _times(one: tuple[Any, Any], two: tuple[Any, Any]) -> tuple[Any, Any]:
    (x, t), (y, s) = one, two
    return mul(x, y), add(mul(t, y), mul(x, s))


def prod_numpy(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The product in the operand's dtype; of narrow floats in float32."""
    if x.dtype in NARROW:
        return np.prod(x.astype(np.float32), axis=axes).astype(x.dtype)
    return np.prod(x, axis=axes, dtype=x.dtype)


reduce_prod = reduction(
    "reduce_prod", dtypes=dt.NUMBERS, numpy=prod_numpy, jvp=_prod_jvp, op="mul", samples=uniform(-2, 2), doc="the product"
)


# --- logic ------------------------------------------------------------------------------------------------------

_BITS = dt.BOOLS | dt.INTEGERS

reduce_and = reduction(
    "reduce_and",
    dtypes=_BITS,
    numpy=lambda x, axes: np.bitwise_and.reduce(x, axis=axes, dtype=x.dtype),
    jvp=NOT_DIFFERENTIABLE,
    op="and",
    samples=_MOST,
    doc="whether all hold; of integers bit by bit",
)
reduce_xor = reduction(
    "reduce_xor",
    dtypes=_BITS,
    numpy=lambda x, axes: np.bitwise_xor.reduce(x, axis=axes, dtype=x.dtype),
    jvp=NOT_DIFFERENTIABLE,
    op="xor",
    samples=_MOST,
    doc="whether an odd number of them hold; of integers bit by bit",
)


# --- argmax, argmin -----------------------------------------------------------------------------------------


def _arg_numpy(find: Callable[..., Any]) -> Callable[..., Any]:
    def meaning(x: np.ndarray, axes: tuple[int, ...], index_dtype: np.dtype) -> np.ndarray:
        if x.dtype in NARROW:
            x = x.astype(np.float32)
        return np.asarray(find(x, axis=axes[0])).astype(index_dtype)

    return meaning


def _arg_abstract(name: str) -> Callable[..., ShapedArray]:
    def abstract(x: ShapedArray, *, axes: tuple[int, ...], index_dtype: np.dtype) -> ShapedArray:
        check_dtypes(name, dt.BOOLS | dt.REALS, x)
        check_axes(name, x, axes)
        if len(axes) != 1:
            raise UsageError(
                message(
                    f"{name}: got axes={axes} for {x.str_short()}", "one axis", "flatten first, with x.reshape(-1) and axes=(0,)"
                )
            )
        if x.shape[axes[0]] == 0:
            raise ShapeError(
                message(
                    f"{name}: got {x.str_short()}, with no element along axis {axes[0]}", "at least one", "check x.size first"
                )
            )
        return shaped(x.shape[: axes[0]] + x.shape[axes[0] + 1 :], np.dtype(index_dtype))

    return abstract


def _arg_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    cases = [((5,), 0, dt.int64), ((2, 3), 1, dt.int32), ((2, 3, 4), 1, dt.int64), ((3, 0), 0, dt.int64)]
    return [((_MOST(rng, shape, dtype),), {"axes": (axis,), "index_dtype": d}) for shape, axis, d in cases]


def _arg(name: str, find: Callable[..., Any], doc: str) -> Any:
    op = reduction(
        name,
        dtypes=dt.BOOLS | dt.REALS,
        numpy=_arg_numpy(find),
        jvp=NOT_DIFFERENTIABLE,
        op=name,
        samples=_MOST,
        doc=doc,
    )
    op.abstract, op.samples = _arg_abstract(name), _arg_samples
    return op


argmax = _arg("argmax", np.argmax, "the position of the first largest element (of the first NaN), in params index_dtype")
argmin = _arg("argmin", np.argmin, "the position of the first smallest element (of the first NaN), in params index_dtype")
