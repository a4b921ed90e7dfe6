"""select_n(which, *cases): the element of the case that `which` names (bool: two cases, False first; or int32).

Its transpose is what blocks cotangents: the case not taken gets a hard zero, and the mask of what is live goes with it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import DtypeError, message
from funcgrad.ir.loop_rules import Pointwise
from funcgrad.ir.primitive import LinearArg, register
from funcgrad.ops._family import elementwise_batch, elementwise_shape, full, like
from funcgrad.ops._samples import uniform
from funcgrad.ops.bitwise import and_, not_
from funcgrad.ops.compare import eq, ge, le
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of


def _abstract(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    first = cases[0]
    if which.dtype != dt.int32 and not (which.dtype == dt.bool_ and len(cases) <= 2):
        raise DtypeError(
            message(
                f"select_n: got {which.str_short()} for which, with {len(cases)} cases",
                "a bool with at most two cases, or an int32",
                "compare first (x > 0), or convert with which.astype('int32')",
            )
        )
    if any(c.dtype != first.dtype for c in cases):
        raise DtypeError(
            message(f"select_n: got cases {format_avals(cases)}", "cases of one dtype", "use fnp.where, which promotes")
        )
    return shaped(elementwise_shape("select_n", (which, *cases)), first.dtype, all([c.weak_type for c in cases]))


def _numpy(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    if len(cases) == 1:
        return np.broadcast_to(cases[0], np.broadcast_shapes(which.shape, cases[0].shape))
    if which.dtype == dt.bool_:
        return np.where(which, cases[1], cases[0])
    # Numbers outside take the nearest case.
    out = cases[0]
    for i, case in enumerate(cases[1:], 1):
        out = np.where(which >= i, case, out)
    return out


def _loop(b: Any, which: Any, *cases: Any) -> Any:
    if which.dtype == dt.bool_:
        return b.select(which, cases[1], cases[0]) if len(cases) == 2 else cases[0]
    out = cases[0]
    for i, case in enumerate(cases[1:], 1):
        out = b.select(b.ge(which, i), case, out)
    return out


def _jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    which, *cases = primals
    out = select_n(which, *cases)
    ts = tangents[1:]
    if aval_of(out).dtype not in dt.INEXACT or all(t is None for t in ts):
        return out, None
    return out, select_n(which, *[like(out, 0) if t is None else t for t in ts])


def _takes(which: Any, i: int, count: int) -> Any:
    """Where case i is the one that is taken."""
    if aval_of(which).dtype == dt.bool_:
        return which if i == 1 else not_(which)
    number = np.int32(i)
    # The outer cases also take the numbers that lie outside.
    return le(which, number) if i == 0 else ge(which, number) if i == count - 1 else eq(which, number)


def _transpose(ct: Any, which: Any, *cases: Any) -> list[Any]:
    zero = like(ct, 0)
    outs: list[Any] = [None]
    for i, case in enumerate(cases):
        if isinstance(case, LinearArg):
            outs.append(select_n(which, *[ct if k == i else zero for k in range(len(cases))]))
        else:
            outs.append(None)
    return outs


def _mask_transpose(mask: Any, which: Any, *cases: Any) -> list[Any]:
    outs: list[Any] = [None]
    for i, case in enumerate(cases):
        if not isinstance(case, LinearArg):
            outs.append(None)
        elif len(cases) == 1:
            outs.append(full(case.aval.shape, np.True_) if mask is None else mask)
        else:
            takes = _takes(which, i, len(cases))
            outs.append(takes if mask is None else and_(mask, takes))
    return outs


def _samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    draw = uniform(-9, 9)
    found: list[Any] = []
    for shape in ((5,), (2, 3), (), (0, 2)):
        found.append(((rng.random(shape) < 0.5, draw(rng, shape, dtype), draw(rng, shape, dtype)), {}))
        which = np.asarray(rng.integers(0, 3, shape, dtype=np.int32))
        found.append(((which, *[draw(rng, shape, dtype) for _ in range(3)]), {}))
    return [(tuple(np.asarray(a) for a in args), params) for args, params in found]


select_n = Operator(
    "select_n",
    abstract=_abstract,
    numpy=_numpy,
    jvp=_jvp,
    transpose=_transpose,
    batch="set below",
    mask_transpose=_mask_transpose,
    blocks=True,
    loop=Pointwise(_loop),
    dtypes=dt.ANY,
    samples=_samples,
    doc="cases[which], element by element; False and True are the first and the second case",
)
select_n.batch = elementwise_batch(select_n)
register(select_n)
