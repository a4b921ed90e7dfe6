"""Arithmetic: neg sub mul div rem max min clamp square sqrt rsqrt. (`add` is declared with the families.)

Integers wrap; division truncates, with x / 0 = -1 (all bits one) and x % 0 = x. Of max and min of equals each gets half
of the derivative.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.ir.primitive import LinearArg
from funcgrad.ops import _complex as cx
from funcgrad.ops._family import add, elementwise, like
from funcgrad.ops._samples import uniform
from funcgrad.ops.bitwise import and_
from funcgrad.ops.compare import eq, gt, lt, ne
from funcgrad.ops.rounding import round_
from funcgrad.ops.select import select_n
from funcgrad.trace.value import aval_of

_MOST = uniform(-10, 10)
# Away from zero, where a quotient or a logarithm would be too large for a difference quotient.
_POSITIVE = uniform(0.5, 4)


def _is_complex(x: Any) -> bool:
    return aval_of(x).dtype in dt.COMPLEXES


def _linear(args: Sequence[Any], *rules: Callable[[], Any]) -> list[Any]:
    """Cotangents of those operands that are linear."""
    return [rule() if isinstance(a, LinearArg) else None for a, rule in zip(args, rules, strict=True)]


# --- neg, sub, mul, div, rem ------------------------------------------------------------------------------------

neg = elementwise(
    "neg",
    dtypes=dt.NUMBERS,
    numpy=np.negative,
    jvp=[lambda t, out, x: neg(t)],
    transpose=lambda ct, x: [neg(ct)],
    loop=lambda b, x: b.neg(x),
    samples=_MOST,
    doc="-x",
)


def _sub_jvp(ts: Sequence[Any], out: Any, x: Any, y: Any) -> Any:
    tx, ty = ts
    return tx if ty is None else neg(ty) if tx is None else sub(tx, ty)


sub = elementwise(
    "sub",
    dtypes=dt.NUMBERS,
    numpy=np.subtract,
    arity=2,
    jvp=_sub_jvp,
    transpose=lambda ct, x, y: _linear((x, y), lambda: ct, lambda: neg(ct)),
    loop=lambda b, x, y: b.sub(x, y),
    samples=_MOST,
    doc="x - y",
)

mul = elementwise(
    "mul",
    dtypes=dt.NUMBERS,
    numpy=np.multiply,
    jvp=[lambda t, out, x, y: mul(t, y), lambda t, out, x, y: mul(x, t)],
    transpose=lambda ct, x, y: _linear((x, y), lambda: mul(ct, y), lambda: mul(x, ct)),
    loop=lambda b, x, y: b.mul(x, y),
    samples=_MOST,
    doc="x * y",
)


def div_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype not in dt.INTEGERS:
        return np.divide(x, y)
    zero = y == 0
    safe = np.where(zero, y.dtype.type(1), y)
    out = np.floor_divide(np.subtract(x, np.fmod(x, safe)), safe)
    return np.where(zero, np.invert(np.zeros((), x.dtype)), out)


def div_loop(b: Any, x: Any, y: Any) -> Any:
    if x.dtype not in dt.INTEGERS:
        return b.div(x, y)
    zero = b.eq(y, 0)
    all_ones = b.const(np.invert(np.zeros((), x.dtype)), x.dtype)
    if x.dtype in dt.UNSIGNED:
        return b.select(zero, all_ones, b.div(x, b.select(zero, 1, y)))
    # The least integer divided by -1 has no answer; as -x it wraps.
    minus = b.eq(y, -1)
    return b.select(zero, all_ones, b.select(minus, b.neg(x), b.div(x, b.select(b.or_(zero, minus), 1, y))))


def _div_jvp(ts: Sequence[Any], out: Any, x: Any, y: Any) -> Any:
    tx, ty = ts
    if ty is None:
        return None if tx is None else div(tx, y)
    if tx is None:
        return mul(ty, neg(div(out, y)))
    return div(sub(tx, mul(ty, out)), y)


div = elementwise(
    "div",
    dtypes=dt.NUMBERS,
    numpy=div_numpy,
    arity=2,
    jvp=_div_jvp,
    transpose=lambda ct, x, y: _linear((x, y), lambda: div(ct, y), lambda: None),
    loop=cx.by_kind(div_loop, cx.divide),
    samples=[_MOST, _POSITIVE],
    doc="x / y; of integers the quotient towards zero",
)


def _rem_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype not in dt.INTEGERS:
        return np.fmod(x, y)
    zero = y == 0
    return np.where(zero, x, np.fmod(x, np.where(zero, y.dtype.type(1), y)))


def _rem_loop(b: Any, x: Any, y: Any) -> Any:
    if x.dtype not in dt.INTEGERS:
        return b.rem(x, y)
    zero = b.eq(y, 0)
    if x.dtype in dt.UNSIGNED:
        return b.select(zero, x, b.rem(x, b.select(zero, 1, y)))
    trivial = b.or_(zero, b.eq(y, -1))
    return b.select(zero, x, b.rem(x, b.select(trivial, 1, y)))


rem = elementwise(
    "rem",
    dtypes=dt.REALS,
    numpy=_rem_numpy,
    jvp=[
        lambda t, out, x, y: t,
        # The quotient is a whole number; rounding removes what the division lost.
        lambda t, out, x, y: mul(t, neg(round_(div(sub(x, out), y), rounding_method=1))),
    ],
    loop=_rem_loop,
    samples=[_MOST, _POSITIVE],
    doc="the remainder of the quotient towards zero, with the sign of x",
)


# --- max, min, clamp --------------------------------------------------------------------------------------------
# Tangents go through select, so that what loses is blocked even where it is infinite or NaN.


def _extremum_jvp(wins: Callable[..., Any]) -> Callable[..., Any]:
    def better(out: Any, x: Any, y: Any) -> Any:
        # Complex numbers have no comparison of their own; the winner is the one that came out.
        return ne(out, y) if _is_complex(out) else wins(x, y)

    def jvp(ts: Sequence[Any], out: Any, x: Any, y: Any) -> Any:
        tx, ty = ts
        if tx is not None and ty is not None:
            one = select_n(better(out, x, y), ty, tx)
            return select_n(eq(x, y), one, mul(add(tx, ty), like(tx, 0.5)))
        t, lost = (tx, better(out, y, x)) if ty is None else (ty, better(out, x, y))
        half = select_n(eq(x, y), like(t, 1), like(t, 0.5))
        return select_n(lost, mul(t, half), like(t, 0))

    return jvp


def _extremum_loop(op: str, or_and: str) -> Callable[..., Any]:
    def loop(b: Any, x: Any, y: Any) -> Any:
        if x.dtype == dt.bool_:
            return getattr(b, or_and)(x, y)
        if x.dtype in dt.COMPLEXES:
            first = cx.greater(b, x, y) if op == "max" else cx.greater(b, y, x)
            return b.select(b.or_(first, cx.is_nan(b, x)), x, y)
        return getattr(b, op)(x, y)

    return loop


max_ = elementwise(
    "max",
    dtypes=dt.BOOLS | dt.NUMBERS,
    numpy=np.maximum,
    arity=2,
    jvp=_extremum_jvp(gt),
    loop=_extremum_loop("max", "or_"),
    samples=_MOST,
    doc="the larger one; NaN where either is; complex numbers by their real parts, then the imaginary ones",
)
min_ = elementwise(
    "min",
    dtypes=dt.BOOLS | dt.NUMBERS,
    numpy=np.minimum,
    arity=2,
    jvp=_extremum_jvp(lt),
    loop=_extremum_loop("min", "and_"),
    samples=_MOST,
    doc="the smaller one; NaN where either is",
)


def _clamp_jvp(ts: Sequence[Any], out: Any, low: Any, x: Any, high: Any) -> Any:
    t_low, t, t_high = ts
    found = None
    if t is not None:
        found = select_n(and_(gt(x, low), lt(x, high)), like(t, 0), t)
    for t, inside in ((t_low, lambda: gt(low, x)), (t_high, lambda: lt(high, x))):
        if t is not None:
            found = _where(inside(), t, found)
    return found


def _where(where: Any, t: Any, otherwise: Any) -> Any:
    return select_n(where, like(t, 0) if otherwise is None else otherwise, t)


clamp = elementwise(
    "clamp",
    dtypes=dt.REALS,
    numpy=lambda low, x, high: np.minimum(np.maximum(x, low), high),
    arity=3,
    jvp=_clamp_jvp,
    loop=lambda b, low, x, high: b.min(b.max(x, low), high),
    samples=[uniform(-6, -3), _MOST, uniform(3, 6)],
    doc="min(max(x, low), high), operands in the order low, x, high; at a bound the derivative is 0",
)


# --- square and roots -----------------------------------------------------------------------------------------------------

square = elementwise(
    "square",
    dtypes=dt.NUMBERS,
    numpy=np.square,
    jvp=[lambda t, out, x: mul(t, mul(x, like(x, 2)))],
    loop=lambda b, x: b.mul(x, x),
    samples=_MOST,
    doc="x * x",
)
sqrt = elementwise(
    "sqrt",
    dtypes=dt.FLOATS | dt.COMPLEXES,
    numpy=np.sqrt,
    jvp=[lambda t, out, x: mul(t, div(like(x, 0.5), out))],
    loop=cx.by_kind(lambda b, x: b.sqrt(x), cx.sqrt),
    samples=_POSITIVE,
    doc="the square root; of complex x the one with a real part that is not negative",
)
rsqrt = elementwise(
    "rsqrt",
    dtypes=dt.FLOATS | dt.COMPLEXES,
    numpy=lambda x: np.divide(x.dtype.type(1), np.sqrt(x)),
    jvp=[lambda t, out, x: mul(t, mul(div(out, x), like(x, -0.5)))],
    loop=cx.by_kind(lambda b, x: b.rsqrt(x), lambda b, z: cx.reciprocal(b, cx.sqrt(b, z))),
    samples=_POSITIVE,
    doc="1 / sqrt(x)",
)
