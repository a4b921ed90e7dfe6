"""Functions that are integrals of elementary ones: exp1 expi expn spence si ci fresnel_s fresnel_c owens_t wofz. NumPy's meaning
is SciPy's."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.lazy import LazyModule
from funcgrad.core.special_ends import fresnel
from funcgrad.core.special_ends import owens_t as owens_t_numpy
from funcgrad.ops._family import add, elementwise, like
from funcgrad.ops._samples import uniform, via_float32
from funcgrad.ops.arithmetic import div, max_, mul, neg, square, sub
from funcgrad.ops.bitwise import and_
from funcgrad.ops.compare import ge, gt, lt
from funcgrad.ops.exponential import exp, log
from funcgrad.ops.parts import abs_, imag
from funcgrad.ops.select import select_n
from funcgrad.ops.special import erf
from funcgrad.ops.trigonometric import cos, sin
from funcgrad.trace.interpreter import Operator

special: Any = LazyModule("scipy.special")


def integral(name: str, slope: Callable[[Any], Any], samples: Any, doc: str, numpy: Callable[..., Any] | None = None) -> Operator:
    """A function of one real operand whose slope depends on the operand alone."""
    return elementwise(
        name,
        dtypes=dt.FLOATS,
        numpy=via_float32(numpy or (lambda x: getattr(special, name)(x))),
        jvp=[lambda t, out, x: mul(t, slope(x))],
        loop=lambda b, x: getattr(b, name)(x),
        samples=samples,
        doc=doc,
    )


def _sum(x: Any, coefficients: list[float]) -> Any:
    """A polynomial in x, its lowest coefficient first."""
    total = like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = add(mul(x, total), like(x, c))
    return total


def _exp1_slope(x: Any) -> Any:
    slope = div(neg(exp(neg(x))), x)
    return select_n(lt(x, like(x, 0)), slope, like(x, np.nan))


def _spence_slope(x: Any) -> Any:
    """log(x) / (1 - x); around 1 by the series of atanh(s), s = (x - 1) / (x + 1), so that derivatives are exact there too."""
    off = sub(x, like(x, 1))
    close = lt(abs_(off), like(x, 0.25))
    whole = add(select_n(close, like(x, 0), off), like(x, 2))
    s = div(select_n(close, like(x, 0), off), whole)
    near = mul(_sum(square(s), [1 / (2 * k + 1) for k in range(12)]), div(like(x, -2), whole))
    far = select_n(close, x, like(x, 2))
    return select_n(close, div(log(far), sub(like(x, 1), far)), near)


def _sinc(x: Any) -> Any:
    """sin(x) / x; around 0 by its series, so that derivatives are exact there too."""
    close = lt(abs_(x), like(x, 0.5))
    near = _sum(square(select_n(close, like(x, 0), x)), [(-1) ** k / math.factorial(2 * k + 1) for k in range(9)])
    far = select_n(close, x, like(x, 1))
    return select_n(close, div(sin(far), far), near)


def _half_turns(x: Any) -> Any:
    return mul(square(x), like(x, math.pi / 2))


exp1 = integral("exp1", _exp1_slope, uniform(0.3, 4), "the integral of exp(-t) / t from x on")
expi = integral("expi", lambda x: div(exp(x), x), uniform(0.3, 4), "the principal value of the integral of exp(t) / t up to x")
spence = integral("spence", _spence_slope, uniform(0.3, 3), "the integral of log(t) / (1 - t) from 1 to x")
si = integral("si", _sinc, uniform(-4, 4), "the integral of sin(t) / t from 0 to x", lambda x: special.sici(x)[0])
ci = integral(
    "ci",
    lambda x: div(cos(x), x),
    uniform(0.3, 4),
    "Euler's constant + log |x| + the integral of (cos(t) - 1) / t from 0 to x",
    lambda x: special.sici(x)[1],
)
fresnel_s = integral(
    "fresnel_s",
    lambda x: sin(_half_turns(x)),
    uniform(-3, 3),
    "the integral of sin(pi t^2 / 2) from 0 to x",
    lambda x: fresnel(x)[0],
)
fresnel_c = integral(
    "fresnel_c",
    lambda x: cos(_half_turns(x)),
    uniform(-3, 3),
    "the integral of cos(pi t^2 / 2) from 0 to x",
    lambda x: fresnel(x)[1],
)


def _expn_jvp(t: Any, out: Any, n: Any, x: Any) -> Any:
    first = lt(n, like(n, 0.5))  # of order 0 it is exp(-x) / x
    lower = expn(max_(sub(n, like(n, 1)), like(n, 0)), x)
    at_zero = mul(out, add(like(x, 1), div(like(x, 1), select_n(first, like(x, 1), x))))
    return mul(t, neg(select_n(first, lower, at_zero)))


def _whole(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.asarray(rng.integers(0, 5, shape)).astype(dtype)


def _expn_numpy(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    known = np.isfinite(n)
    value = special.expn(np.rint(np.where(known, n, 0)).astype(np.int64), x.astype(np.float64))
    return np.where(known, value, np.nan).astype(x.dtype)


expn = elementwise(
    "expn",
    dtypes=dt.FLOATS,
    numpy=_expn_numpy,
    jvp=[None, _expn_jvp],
    loop=lambda b, n, x: b.expn(n, x),
    samples=[_whole, uniform(0.3, 4)],
    doc="the integral of exp(-x t) / t^n from 1 on, for a whole n >= 0 (rounded, not differentiated)",
)


def _owens_jvp_h(t: Any, out: Any, h: Any, a: Any) -> Any:
    tail = mul(exp(mul(square(h), like(h, -0.5))), like(h, -0.5 / math.sqrt(2 * math.pi)))
    return mul(t, mul(tail, erf(mul(mul(a, h), like(h, math.sqrt(0.5))))))


def _owens_jvp_a(t: Any, out: Any, h: Any, a: Any) -> Any:
    # h^2 (1 + a^2) as a sum: a^2 may be infinite where h is 0.
    ah = mul(a, h)
    spread = mul(add(square(h), square(ah)), like(h, -0.5))
    return mul(t, div(mul(exp(spread), like(h, 0.5 / math.pi)), add(square(a), like(a, 1))))


owens_t = elementwise(
    "owens_t",
    dtypes=dt.FLOATS,
    numpy=via_float32(owens_t_numpy),
    jvp=[_owens_jvp_h, _owens_jvp_a],
    loop=lambda b, h, a: b.owens_t(h, a),
    samples=uniform(-2, 2),
    doc="the probability of x > h and 0 < y < a x for independent standard normal x, y",
)


def _wofz_jvp(t: Any, out: Any, z: Any) -> Any:
    """-2 z w + 2i / sqrt(pi); far above the real axis by the asymptotic series, where these cancel."""
    size = abs_(z)
    far = and_(gt(size, like(size, 50)), ge(imag(z), like(size, 0)))
    two = like(z, 2j / math.sqrt(math.pi))
    near = sub(two, mul(mul(z, like(z, 2)), out))
    r = div(like(z, 0.5), square(select_n(far, like(z, 50), z)))
    return mul(t, select_n(far, near, neg(mul(two, mul(r, _sum(r, [1, 3, 15, 105, 945]))))))


wofz = elementwise(
    "wofz",
    dtypes=dt.COMPLEXES,
    numpy=lambda z: special.wofz(z),
    jvp=[_wofz_jvp],
    loop=lambda b, z: b.wofz(z),
    samples=uniform(-2, 2),
    doc="exp(-z^2) erfc(-i z)",
)
