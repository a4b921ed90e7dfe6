"""Exponentials and logarithms, hyperbolic and inverse hyperbolic functions, logistic. Real and complex."""

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


exp = smooth("exp", np.exp, lambda t, out, x: mul(t, out), _NEAR, "e ** x")
exp2 = smooth("exp2", np.exp2, lambda t, out, x: mul(t, mul(out, like(x, np.log(2)))), _NEAR, "2 ** x")
expm1 = smooth("expm1", np.expm1, lambda t, out, x: mul(t, _one_more(out)), _NEAR, "exp(x) - 1, exact near 0")
log = smooth(
    "log",
    np.log,
    lambda t, out, x: div(t, x),
    _POSITIVE,
    "the natural logarithm; of complex x with an imaginary part in (-pi, pi]",
)
log1p = smooth("log1p", _log1p_numpy, lambda t, out, x: div(t, _one_more(x)), _POSITIVE, "log(1 + x), exact near 0")

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
