"""The incomplete gamma and beta functions, with derivatives in all of their arguments: igamma igammac betainc, and the ratios
`random_gamma_grad`, `betainc_ratio` that the derivatives by the parameters are made of."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import UsageError, message
from funcgrad.core.gamma_integrals import betainc_ratio as _betainc_ratio_numpy
from funcgrad.core.gamma_integrals import gamma_ratio
from funcgrad.core.lazy import LazyModule
from funcgrad.core.special_ends import incomplete_gamma
from funcgrad.ops._family import add, elementwise, like
from funcgrad.ops._samples import uniform
from funcgrad.ops.arithmetic import div, mul, neg, sub
from funcgrad.ops.bitwise import and_, or_
from funcgrad.ops.compare import eq, ne
from funcgrad.ops.exponential import exp, log, log1p
from funcgrad.ops.gamma import betaln
from funcgrad.ops.select import select_n
from funcgrad.ops.special import digamma, lgamma, polygamma

special: Any = LazyModule("scipy.special")

_SHAPE = uniform(0.6, 4)
_POSITIVE = uniform(0.3, 5)
_INSIDE = uniform(0.1, 0.9)
LAST = 4  # the highest derivative by a parameter


def _rounded(fun: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A function that computes in float64, rounded to the operands' dtype."""

    def meaning(*xs: Any, **params: Any) -> np.ndarray:
        return np.asarray(fun(*[x.astype(np.float64) for x in xs], **params)).astype(xs[0].dtype)

    return meaning


def _check_order(name: str, order: int) -> None:
    if order > LAST:
        raise UsageError(
            message(
                f"{name}: got a derivative of order {order} by a parameter",
                f"orders up to {LAST}",
                "lax.stop_gradient(a) where the parameter's derivative is not needed",
            )
        )


def _times_log(factor: Any, x: Any, log_x: Callable[[Any], Any], end: Any) -> Any:
    """factor * log_x(x), 0 at the end of the range where the factor is 0."""
    corner = and_(eq(factor, like(factor, 0)), eq(x, end))
    return mul(factor, log_x(select_n(corner, x, like(x, 0.5))))


def _log(x: Any) -> Any:
    return log(x)


def _log_rest(x: Any) -> Any:
    return log1p(neg(x))


def gamma_density(a: Any, x: Any) -> Any:
    """x^(a-1) exp(-x) / Gamma(a), the slope of igamma."""
    beyond = eq(x, like(x, np.inf))
    y = select_n(beyond, x, like(x, 1))
    density = exp(sub(sub(_times_log(sub(a, like(a, 1)), y, _log, like(x, 0)), y), lgamma(a)))
    return select_n(beyond, density, like(x, 0))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """x^(a-1) (1-x)^(b-1) / B(a, b), the slope of betainc."""
    powers = add(_times_log(sub(a, like(a, 1)), x, _log, like(x, 0)), _times_log(sub(b, like(b, 1)), x, _log_rest, like(x, 1)))
    return exp(sub(powers, betaln(a, b)))


def _blocked(condition: Any, x: Any) -> Any:
    """x, a hard 0 where the condition holds."""
    return select_n(condition, x, like(x, 0))


# --- gamma ----------------------------------------------------------------------------------------------------


def _gamma_log(a: Any, x: Any) -> Any:
    return sub(log(x), digamma(a))


def _gamma_moment(n: int, a: Any, x: Any) -> Any:
    """The n-th derivative of the density by a, over the density (n > 0): a complete Bell polynomial."""
    total = None
    for k in range(n):
        slope = _gamma_log(a, x) if k == 0 else neg(polygamma(a, n=k))
        if n - 1 - k:
            slope = mul(slope, _gamma_moment(n - 1 - k, a, x))
        term = slope if k in (0, n - 1) else mul(slope, like(slope, special.comb(n - 1, k)))
        total = term if total is None else add(total, term)
    return total


def _ratio_jvp_a(t: Any, out: Any, a: Any, x: Any, *, n: int) -> Any:
    _check_order("igamma", n + 1)
    slope = sub(random_gamma_grad(a, x, n=n + 1), mul(out, _gamma_log(a, x)))
    return mul(t, _blocked(eq(x, like(x, 0)), slope))


def _ratio_jvp_x(t: Any, out: Any, a: Any, x: Any, *, n: int) -> Any:
    slope = sub(div(sub(a, like(a, 1)), x), like(x, 1))
    return mul(t, neg(add(_gamma_moment(n, a, x), mul(out, slope))))


random_gamma_grad = elementwise(
    "random_gamma_grad",
    dtypes=dt.FLOATS,
    numpy=_rounded(lambda a, x, n: -gamma_ratio(a, x, n)),
    jvp=[_ratio_jvp_a, _ratio_jvp_x],
    loop=lambda b, a, x, n: b.neg(b.gamma_ratio(a, x, b.const(n, np.float64))),
    samples=[_SHAPE, _POSITIVE],
    cases=({"n": 1}, {"n": 2}),
    doc="minus the n-th derivative of igamma(a, x) by a, over that by x; for n = 1 the slope of a gamma variate in a",
)


NEXT_TO_0 = 1e-10


def _igamma_jvp_a(t: Any, out: Any, a: Any, x: Any) -> Any:
    # At a = 0, where igamma is 1, the density is 0 and the ratio infinite; so close to it their product has reached its limit.
    a = add(a, _blocked(ne(a, like(a, 0)), like(a, NEXT_TO_0)))
    ratio = random_gamma_grad(a, x, n=1)
    nothing = or_(eq(x, like(x, 0)), eq(x, like(x, np.inf)))
    return mul(t, neg(_blocked(nothing, mul(ratio, gamma_density(a, x)))))


igamma = elementwise(
    "igamma",
    dtypes=dt.FLOATS,
    numpy=_rounded(incomplete_gamma),
    jvp=[_igamma_jvp_a, lambda t, out, a, x: mul(t, gamma_density(a, x))],
    loop=lambda b, a, x: b.igamma(a, x),
    samples=[_SHAPE, _POSITIVE],
    doc="the integral of t^(a-1) exp(-t) from 0 to x, over Gamma(a)",
)
igammac = elementwise(
    "igammac",
    dtypes=dt.FLOATS,
    numpy=_rounded(lambda a, x: special.gammaincc(a, x)),
    jvp=[
        lambda t, out, a, x: neg(_igamma_jvp_a(t, out, a, x)),
        lambda t, out, a, x: neg(mul(t, gamma_density(a, x))),
    ],
    loop=lambda b, a, x: b.igammac(a, x),
    samples=[_SHAPE, _POSITIVE],
    doc="the integral of t^(a-1) exp(-t) from x on, over Gamma(a)",
)

# --- beta -----------------------------------------------------------------------------------------------------


def _beta_slope(i: int, j: int, a: Any, b: Any, x: Any) -> Any:
    """The derivative of the log of the density, i times by a and j times by b (i > 0)."""
    n = add(a, b)
    joint = digamma(n) if i + j == 1 else polygamma(n, n=i + j - 1)
    if j:
        return joint
    return add(joint, sub(log(x), digamma(a)) if i == 1 else neg(polygamma(a, n=i - 1)))


def _beta_moment(i: int, j: int, a: Any, b: Any, x: Any) -> Any:
    """The derivative of the density, i times by a and j times by b, over the density; None for 1."""
    if i == 0:
        if j == 0:
            return None
        return _beta_moment_of_rest(j, a, b, x)
    total = None
    for k in range(i):
        for m in range(j + 1):
            term, rest = _beta_slope(k + 1, m, a, b, x), _beta_moment(i - 1 - k, j - m, a, b, x)
            term = term if rest is None else mul(term, rest)
            factor = special.comb(i - 1, k) * special.comb(j, m)
            term = term if factor == 1 else mul(term, like(term, factor))
            total = term if total is None else add(total, term)
    return total


def _beta_moment_of_rest(j: int, a: Any, b: Any, x: Any) -> Any:
    """`_beta_moment` by b alone; log1p(-x) takes the place of log x."""
    total = None
    for k in range(j):
        n = add(a, b)
        if k == 0:
            term = add(digamma(n), sub(log1p(neg(x)), digamma(b)))
        else:
            term = sub(polygamma(n, n=k), polygamma(b, n=k))
        rest = None if k == j - 1 else _beta_moment_of_rest(j - 1 - k, a, b, x)
        term = term if rest is None else mul(term, rest)
        factor = special.comb(j - 1, k)
        term = term if factor == 1 else mul(term, like(term, factor))
        total = term if total is None else add(total, term)
    return total


def _at_ends(x: Any) -> Any:
    return or_(eq(x, like(x, 0)), eq(x, like(x, 1)))


def _beta_ratio_jvp_a(t: Any, out: Any, a: Any, b: Any, x: Any, *, i: int, j: int) -> Any:
    _check_order("betainc", i + j + 1)
    slope = sub(betainc_ratio(a, b, x, i=i + 1, j=j), mul(out, _beta_moment(1, 0, a, b, x)))
    return mul(t, _blocked(_at_ends(x), slope))


def _beta_ratio_jvp_b(t: Any, out: Any, a: Any, b: Any, x: Any, *, i: int, j: int) -> Any:
    _check_order("betainc", i + j + 1)
    slope = sub(betainc_ratio(a, b, x, i=i, j=j + 1), mul(out, _beta_moment(0, 1, a, b, x)))
    return mul(t, _blocked(_at_ends(x), slope))


def _beta_ratio_jvp_x(t: Any, out: Any, a: Any, b: Any, x: Any, *, i: int, j: int) -> Any:
    slope = sub(div(sub(a, like(a, 1)), x), div(sub(b, like(b, 1)), sub(like(x, 1), x)))
    return mul(t, sub(_beta_moment(i, j, a, b, x), mul(out, slope)))


betainc_ratio = elementwise(
    "betainc_ratio",
    dtypes=dt.FLOATS,
    numpy=_rounded(_betainc_ratio_numpy),
    jvp=[_beta_ratio_jvp_a, _beta_ratio_jvp_b, _beta_ratio_jvp_x],
    loop=lambda b, p, q, x, i, j: b.betainc_ratio(p, q, x, b.const(i, np.float64), b.const(j, np.float64)),
    samples=[_SHAPE, _SHAPE, _INSIDE],
    cases=({"i": 1, "j": 0}, {"i": 1, "j": 1}, {"i": 0, "j": 2}),
    doc="the derivative of betainc(a, b, x), i times by a and j times by b, over that by x",
)


def _betainc_jvp(i: int) -> Callable[..., Any]:
    def rule(t: Any, out: Any, a: Any, b: Any, x: Any) -> Any:
        slope = mul(betainc_ratio(a, b, x, i=i, j=1 - i), beta_density(a, b, x))
        return mul(t, _blocked(_at_ends(x), slope))

    return rule


betainc = elementwise(
    "betainc",
    dtypes=dt.FLOATS,
    numpy=_rounded(lambda a, b, x: special.betainc(a, b, x)),
    jvp=[_betainc_jvp(1), _betainc_jvp(0), lambda t, out, a, b, x: mul(t, beta_density(a, b, x))],
    loop=lambda b, p, q, x: b.betainc(p, q, x),
    samples=[_SHAPE, _SHAPE, _INSIDE],
    doc="the integral of t^(a-1) (1-t)^(b-1) from 0 to x, over B(a, b)",
)
