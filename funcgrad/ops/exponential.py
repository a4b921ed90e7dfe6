"""Exponentials and logarithms, hyperbolic and inverse hyperbolic functions, logistic. Real and complex."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.lazy import LazyModule
from funcgrad.ops import _complex as cx
from funcgrad.ops._family import add, elementwise, like
from funcgrad.ops._samples import NARROW, uniform
from funcgrad.ops.arithmetic import div, mul, rsqrt, square, sub
from funcgrad.trace.interpreter import Operator

special: Any = LazyModule("scipy.special")


def smooth(name: str, numpy: Callable[..., Any], slope: Callable[..., Any], samples: Any, doc: str = "") -> Operator:
    """A differentiable function of one operand, real or complex: `slope(t, out, x)` is its tangent."""
    return elementwise(
        name,
        dtypes=dt.FLOATS | dt.COMPLEXES,
        numpy=numpy,
        jvp=[slope],
        loop=cx.by_kind(lambda b, x: getattr(b, name)(x), getattr(cx, name)),
        samples=samples,
        doc=doc,
    )


_NEAR = uniform(-3, 3)
_POSITIVE = uniform(0.5, 4)
_INSIDE = uniform(-0.8, 0.8)


def _one_more(x: Any) -> Any:
    return add(x, like(x, 1))


def _one_less(x: Any) -> Any:
    return sub(like(x, 1), x)


def _logistic_numpy(x: np.ndarray) -> np.ndarray:
    if x.dtype in dt.COMPLEXES:
        left, one = x.real < 0, x.dtype.type(1)
        e = np.exp(np.where(left, x, -x))
        return np.where(left, e, one) / (one + e)
    return special.expit(x) if x.dtype not in NARROW else special.expit(x.astype(np.float32)).astype(x.dtype)


def _log1p_numpy(x: np.ndarray) -> np.ndarray:
    if x.dtype not in dt.COMPLEXES:
        return np.log1p(x)
    # NumPy's complex log1p is log(1 + z), which loses what a small z has; SciPy's loses the sign of a zero.
    out = np.array(special.log1p(x))
    out.imag = np.copysign(out.imag, x.imag)
    return out


def _expm1_numpy(x: np.ndarray) -> np.ndarray:
    if x.dtype not in dt.COMPLEXES:
        return np.expm1(x)
    # On the real axis, and where a part is infinite or NaN, NumPy multiplies 0 by infinity; exp has C99's answers.
    out = np.array(np.expm1(x))
    e = np.exp(x)
    on_axis = x.imag == 0
    out.real = np.where(on_axis, np.expm1(x.real) + 0.0, np.where(np.isfinite(x), out.real, e.real - 1))
    out.imag = np.where(on_axis, x.imag, np.where(np.isfinite(x), out.imag, e.imag))
    return out


exp = smooth("exp", np.exp, lambda t, out, x: mul(t, out), _NEAR, "e ** x")
exp2 = smooth("exp2", np.exp2, lambda t, out, x: mul(t, mul(out, like(x, np.log(2)))), _NEAR, "2 ** x")
expm1 = smooth("expm1", _expm1_numpy, lambda t, out, x: mul(t, _one_more(out)), _NEAR, "exp(x) - 1, exact near 0")
log = smooth(
    "log",
    np.log,
    lambda t, out, x: div(t, x),
    _POSITIVE,
    "the natural logarithm; of complex x with an imaginary part in (-pi, pi]",
)
log1p = smooth("log1p", _log1p_numpy, lambda t, out, x: div(t, _one_more(x)), _POSITIVE, "log(1 + x), exact near 0")


def _powers_of_two(b: Any, x: Any) -> tuple[Any, Any]:
    """x = m * 2**k as (m, k), two floats: m in [1, 2) with k >= 0, or m in [1/2, 1) with k <= 0, so that nothing cancels near
    x = 1. Zero, infinities and NaN are themselves."""
    d = x.dtype
    info = np.finfo(d)
    integer = np.dtype(f"int{d.itemsize * 8}")
    bias = 1 - int(info.minexp)
    tiny = b.lt(b.abs(x), info.smallest_normal)
    m = b.select(tiny, b.mul(x, 2.0 ** (info.nmant + 2)), x)
    k = b.sub(b.and_(b.shr_logical(b.bitcast(m, integer), info.nmant), 2**info.nexp - 1), bias)
    k = b.min(b.select(b.lt(k, 0), b.add(k, 1), k), bias - 1)  # so that 2**-k is a normal number
    k = b.select(b.and_(b.is_finite(x), b.ne(x, 0)), k, 0)
    m = b.mul(m, b.bitcast(b.shl(b.sub(b.const(bias, integer), k), info.nmant), d))
    return m, b.cast(b.select(tiny, b.sub(k, info.nmant + 2), k), d)


def _log2_loop(b: Any, x: Any) -> Any:
    m, k = _powers_of_two(b, x)
    return b.add(k, b.div(b.log(m), math.log(2)))


_LOG10_2, _UNIT = 30102999566398119521373889472449302677, 10**38  # log10(2) = _LOG10_2 / _UNIT


def _log10_loop(b: Any, x: Any) -> Any:
    # The multiple of log10(2) in two parts, the first of which has so few bits that its product is exact: powers of 10 give
    # whole numbers (as in FDLIBM's e_log10.c, Sun Microsystems 1993).
    m, k = _powers_of_two(b, x)
    places = np.finfo(x.dtype).nmant - 10
    high = (_LOG10_2 * 2**places + _UNIT // 2) // _UNIT  # in units of 2**-places
    low = (_LOG10_2 * 2**places - high * _UNIT) / (_UNIT * 2**places)
    rest = b.add(b.mul(k, low), b.mul(b.log(m), 1 / math.log(10)))
    return b.add(rest, b.mul(k, high / 2**places))


def _log10_numpy(x: np.ndarray) -> np.ndarray:
    # NumPy's float32 log10 of 1000 is 3.0000002.
    return np.log10(x) if x.dtype.itemsize > 4 or x.dtype in dt.COMPLEXES else np.log10(x.astype(np.float64)).astype(x.dtype)


def _based(name: str, numpy: Callable[..., Any], loop: Callable[..., Any], base: int) -> Operator:
    """A logarithm that is exact at the powers of its base, also of real numbers in kernels."""
    scale = math.log(base)

    def loop_complex(b: Any, z: Any) -> Any:
        return cx.scaled(b, 1 / scale, cx.log(b, z))

    return elementwise(
        name,
        dtypes=dt.FLOATS | dt.COMPLEXES,
        numpy=numpy,
        jvp=[lambda t, out, x: div(t, mul(x, like(x, scale)))],
        loop=cx.by_kind(loop, loop_complex),
        samples=_POSITIVE,
        doc=f"the logarithm to base {base}",
    )


log2 = _based("log2", np.log2, _log2_loop, 2)
log10 = _based("log10", _log10_numpy, _log10_loop, 10)

sinh = smooth("sinh", np.sinh, lambda t, out, x: mul(t, cosh(x)), _NEAR, "the hyperbolic sine")
cosh = smooth("cosh", np.cosh, lambda t, out, x: mul(t, sinh(x)), _NEAR, "the hyperbolic cosine")
tanh = smooth("tanh", np.tanh, lambda t, out, x: mul(t, _one_less(square(out))), _NEAR, "the hyperbolic tangent")
asinh = smooth("asinh", np.arcsinh, lambda t, out, x: mul(t, rsqrt(_one_more(square(x)))), _INSIDE, "the inverse of sinh")
acosh = smooth(
    "acosh",
    np.arccosh,
    lambda t, out, x: mul(t, mul(rsqrt(sub(x, like(x, 1))), rsqrt(_one_more(x)))),
    uniform(1.5, 4),
    "the inverse of cosh, not negative",
)
atanh = smooth("atanh", np.arctanh, lambda t, out, x: div(t, _one_less(square(x))), _INSIDE, "the inverse of tanh")

logistic = smooth("logistic", _logistic_numpy, lambda t, out, x: mul(t, mul(out, _one_less(out))), _NEAR, "1 / (1 + exp(-x))")
