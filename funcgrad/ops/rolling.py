"""roll: the elements along an axis moved round, by a number that may be computed.

It is read where it is used: a kernel that adds an array to its neighbours reads that array at several places, and no moved copy
is made. The transpose is the roll back.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals
from funcgrad.core.errors import ShapeError, message
from funcgrad.ir.loop_rules import Indexed
from funcgrad.ir.primitive import register
from funcgrad.ops._family import batch_at, broadcast_in_dim
from funcgrad.ops._samples import uniform
from funcgrad.ops.arithmetic import add, rem, sub
from funcgrad.ops.gathering import keyed
from funcgrad.ops.shape import iota
from funcgrad.ops.sort import take_along
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import Value, aval_of

_draw = uniform(-9, 9)


def _abstract(x: ShapedArray, start: ShapedArray, *, axis: int) -> ShapedArray:
    if not 0 <= axis < x.ndim or start.shape != () or start.dtype != dt.int64:
        raise ShapeError(
            message(f"roll: got {format_avals((x, start))}, axis={axis}", "an array, an int64 scalar, an axis", "use fnp.roll")
        )
    return x


def _numpy(x: np.ndarray, start: Any, axis: int) -> np.ndarray:
    return np.roll(x, -int(start), axis)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axis: int) -> Any:
    x, start = primals
    t = tangents[0]
    out = roll(x, start, axis=axis)
    return out, None if t is None or aval_of(out).dtype not in dt.INEXACT else roll(t, start, axis=axis)


def _transpose(ct: Any, x: Any, start: Any, *, axis: int) -> list[Any]:
    n = np.int64(max(aval_of(ct).shape[axis], 1))
    known = not isinstance(start, Value)
    return [roll(ct, np.int64(-int(start) % int(n)) if known else rem(sub(n, start), n), axis=axis), None]


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, axis: int) -> Any:
    (x, start), (d, d_start) = args, dims
    if d_start is None:
        return roll(x, start, axis=axis + (axis >= d)), d  # type: ignore[operator]
    x = batch_at(x, d, size)
    shape, axis = aval_of(x).shape, axis + 1
    places = iota(dtype=dt.int64, shape=shape, dimension=axis)
    moved = rem(add(places, broadcast_in_dim(start, shape=shape, dims=(0,))), np.int64(max(shape[axis], 1)))
    return take_along(x, moved, axis), 0


def _loop(b: Any, x: Any, start: Any, *, axis: int) -> Any:
    at = [b.index(d) for d in range(x.ndim)]
    moved, n = b.add(at[axis], start), b.extent(axis)
    at[axis] = b.select(b.ge(moved, n), b.sub(moved, n), moved)
    return b.at(x, at)


def _samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    return [
        ((np.asarray(_draw(rng, s, dtype)), np.asarray(k)), {"axis": a})
        for s, k, a in [((4,), 1, 0), ((2, 5), 3, 1), ((3, 2), 2, 0), ((3,), 0, 0), ((0, 2), 0, 0), ((2, 1, 3), 1, 2)]
    ]


roll = Operator(
    "roll",
    abstract=_abstract,
    numpy=_numpy,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    mask_transpose=_transpose,
    loop=Indexed(_loop, (0,)),
    dtypes=dt.ANY,
    samples=keyed(_samples),
    doc="the element `start` places further on along an axis, 0 <= start < its extent, from the axis's own start after its end",
)
register(roll)
