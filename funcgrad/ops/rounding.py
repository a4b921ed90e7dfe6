"""Rounding to whole numbers, and neighbours: floor ceil round is_finite nextafter. Their tangents are zero."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.ops import _complex as cx
from funcgrad.ops._family import elementwise
from funcgrad.ops._samples import uniform

_MOST = uniform(-10, 10)
_STEPS = "it is constant between its jumps"


def _round_numpy(x: np.ndarray, rounding_method: int) -> np.ndarray:
    if rounding_method == 1:
        return np.rint(x)
    whole = np.trunc(x)
    return np.copysign(np.abs(whole) + (np.abs(x - whole) >= 0.5), x) if x.dtype.kind == "f" else _away_narrow(x)


def _away_narrow(x: np.ndarray) -> np.ndarray:
    return _round_numpy(x.astype(np.float32), 0).astype(x.dtype)


def _round_loop(b: Any, x: Any, rounding_method: int) -> Any:
    if rounding_method == 1:
        return b.round(x)
    size = b.abs(x)
    whole = b.floor(size)
    return cx.copysign(b, b.add(whole, b.select(b.ge(b.sub(size, whole), 0.5), b.const(1, x.dtype), 0)), x)


floor = elementwise(
    "floor",
    dtypes=dt.FLOATS,
    numpy=np.floor,
    arity=1,
    jvp=_STEPS,
    loop=lambda b, x: b.floor(x),
    samples=_MOST,
    doc="the largest whole number that is not above x",
)
ceil = elementwise(
    "ceil",
    dtypes=dt.FLOATS,
    numpy=np.ceil,
    arity=1,
    jvp=_STEPS,
    loop=lambda b, x: b.ceil(x),
    samples=_MOST,
    doc="the smallest whole number that is not below x",
)
round_ = elementwise(
    "round",
    dtypes=dt.FLOATS,
    numpy=_round_numpy,
    arity=1,
    jvp=_STEPS,
    loop=_round_loop,
    samples=_MOST,
    cases=({"rounding_method": 0}, {"rounding_method": 1}),
    doc="the nearest whole number; halves go away from zero (rounding_method=0) or to the even one (1)",
)
is_finite = elementwise(
    "is_finite",
    dtypes=dt.FLOATS,
    numpy=np.isfinite,
    arity=1,
    jvp=_STEPS,
    result=dt.bool_,
    loop=lambda b, x: b.is_finite(x),
    samples=_MOST,
    doc="neither infinite nor NaN",
)
nextafter = elementwise(
    "nextafter",
    dtypes=dt.FLOATS,
    numpy=np.nextafter,
    arity=2,
    jvp="neighbours of a number are no function of it to differentiate",
    loop=lambda b, x, y: b.nextafter(x, y),
    samples=_MOST,
    doc="the next number after x in the direction of y",
)
