"""Distributions made of gamma numbers: gamma, loggamma, beta, chisquare, dirichlet, f, t, generalized_normal, ball.

The draws come in JAX's order. Where a quotient of gamma numbers is asked for, they are drawn as logarithms, so that shape
parameters near 0 give no 0 / 0. Derivatives with respect to shape parameters are those of the distribution (see `_marsaglia`).
Draws in float16 and bfloat16 are made in float32 and rounded.
"""

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy._axes import shape_of, static_int
from funcgrad.numpy._promote import as_value, broadcast_value
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full, like
from funcgrad.ops.bits import random_split
from funcgrad.ops.shape import expand_dims
from funcgrad.random._marsaglia import DTYPES, random_gamma
from funcgrad.random.discrete import rademacher
from funcgrad.random.distributions import exponential
from funcgrad.random.draws import between, draw_shape, float_dtype, no_sharding, normal, over, parameter
from funcgrad.random.keys import single, split
from funcgrad.trace.value import Value, aval_of

__all__ = ["ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma", "random_gamma_p", "t"]

random_gamma_p = random_gamma


def _start(name: str, key: Any, dtype: Any, out_sharding: Any = None) -> tuple[Any, np.dtype, np.dtype]:
    """The key, the dtype of the result, and the one to compute in."""
    no_sharding(name, out_sharding)
    d = float_dtype(name, dtype)
    return single(name, key), d, d if d in DTYPES else np.dtype(dt.float32)


def _gamma(key: Any, a: Any, extents: tuple[int, ...], log_space: bool = False) -> Any:
    """Numbers of this shape, each from its own key."""
    a = over(a, extents)
    if not extents:
        return random_gamma(random_split(key, shape=(1,))[0], a, log_space=log_space)
    count = math.prod(extents)
    keys = random_split(key, shape=(count,)).reshape(extents)
    return random_gamma(keys, a, log_space=log_space)


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Gamma numbers of shape parameter a and scale 1: density x^(a - 1) exp(-x) / gamma(a) for x > 0.

    Args: key: one key. a: positive scalar or array (0 gives 0, negative numbers NaN). shape: one that a broadcasts to; that of a
    where it is left out. dtype: floating; float32 without one.
    Differentiable with respect to a. For a far below 1 the numbers underflow: `loggamma` gives their logarithms.
    Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", 2000.

    >>> random.gamma(random.key(0), 2.5, (2,))
    Array([2.078842 , 2.2727783], dtype=float32)
    """
    k, d, work = _start("gamma", key, dtype, out_sharding)
    a = parameter("gamma", "a", a, work)
    return ew.convert(_gamma(k, a, draw_shape("gamma", shape, a)), d)


def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """The logarithms of gamma numbers of shape parameter a, finite however small a is. Arguments as for `gamma`.

    >>> random.loggamma(random.key(0), 1e-3, (2,))
    Array([-110.61791,  -95.54807], dtype=float32)
    """
    k, d, work = _start("loggamma", key, dtype, out_sharding)
    a = parameter("loggamma", "a", a, work)
    return ew.convert(_gamma(k, a, draw_shape("loggamma", shape, a), True), d)


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Beta numbers: density x^(a - 1) (1 - x)^(b - 1) / B(a, b) on (0, 1).

    Args: a, b: positive scalars or arrays. shape: one that they broadcast to; without it, that of a and b together. dtype:
    floating; float32 without one. Differentiable with respect to a and b.

    >>> random.beta(random.key(0), 2.0, 3.0, (2,))
    Array([0.23627363, 0.49045956], dtype=float32)
    """
    k, d, work = _start("beta", key, dtype, out_sharding)
    a, b = parameter("beta", "a", a, work), parameter("beta", "b", b, work)
    extents = draw_shape("beta", shape, a, b)
    keys = split(k)
    log_a, log_b = _gamma(keys[0], a, extents, True), _gamma(keys[1], b, extents, True)
    top = ew.stop_gradient(ew.max(log_a, log_b))
    part, rest = ew.exp(ew.sub(log_a, top)), ew.exp(ew.sub(log_b, top))
    return ew.convert(ew.div(part, ew.add(part, rest)), d)


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Dirichlet vectors: positive numbers along a last axis, of sum 1, with concentrations alpha.

    Args: alpha: positive, of shape (..., n). shape: of the batch, one that alpha.shape[:-1] broadcasts to, and that without one.
    dtype: floating; float32 without one.
    Returns: shape (*shape, n). Differentiable with respect to alpha.

    >>> random.dirichlet(random.key(0), fnp.array([1.0, 2.0, 3.0]))
    Array([0.1422856 , 0.40488255, 0.45283186], dtype=float32)
    """
    k, d, work = _start("dirichlet", key, dtype, out_sharding)
    v = as_value(parameter("dirichlet", "alpha", alpha, work), "random.dirichlet", "alpha")
    if not v.ndim:
        raise ShapeError(message("random.dirichlet: got a scalar alpha", "vectors along the last axis", "fnp.full(n, alpha)"))
    batch = full(v.shape[:-1], np.True_)
    extents = (*draw_shape("dirichlet", shape, batch), v.shape[-1])
    logs = _gamma(k, v, extents, True)
    if not extents[-1]:
        return ew.convert(logs, d)
    top = broadcast_value(ew.stop_gradient(fnp.max(logs, -1, keepdims=True)), extents)
    parts = ew.exp(ew.sub(logs, top))
    return ew.convert(ew.div(parts, broadcast_value(fnp.sum(parts, -1, keepdims=True), extents)), d)


def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Chi-square numbers of df degrees of freedom: twice a gamma number of df / 2.

    Args: df: positive scalar or array. shape: one that df broadcasts to; that of df without one. dtype: floating; float32
    without one.

    >>> random.chisquare(random.key(0), 3.0, (2,))
    Array([2.205084 , 2.4899673], dtype=float32)
    """
    k, d, work = _start("chisquare", key, dtype, out_sharding)
    df = parameter("chisquare", "df", df, work)
    return ew.convert(_chisquare(k, df, draw_shape("chisquare", shape, df)), d)


def _chisquare(key: Any, df: Any, extents: tuple[int, ...]) -> Any:
    half = _quotient(df, 2)
    return ew.exp(_gamma(key, half, extents, True)) * 2


def _quotient(x: Any, number: float) -> Any:
    """x / number, a literal where x is one."""
    return ew.div(x, x.dtype.type(number)) if isinstance(x, Value) else x.dtype.type(x / x.dtype.type(number))


def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """F numbers: the quotient of two chi-square numbers, each over its degrees of freedom, dfnum and dfden.

    Args: dfnum, dfden: positive scalars or arrays. shape: one that they broadcast to; without it, that of both together. dtype:
    floating; float32 without one.

    >>> random.f(random.key(0), 3.0, 5.0, (2,))
    Array([2.5797071, 0.1921967], dtype=float32)
    """
    k, d, work = _start("f", key, dtype, out_sharding)
    num, den = parameter("f", "dfnum", dfnum, work), parameter("f", "dfden", dfden, work)
    extents = draw_shape("f", shape, num, den)
    keys = split(k)
    below, above = _chisquare(keys[0], den, extents), _chisquare(keys[1], num, extents)
    return ew.convert(ew.div(_ratio(above, num, num, extents), _ratio(below, den, den, extents)), d)


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Student's t numbers of df degrees of freedom: a normal number over the root of a chi-square number over df.

    Args: df: positive scalar or array (inf: normal numbers). shape: one that df broadcasts to; that of df without one. dtype:
    floating; float32 without one.

    >>> random.t(random.key(0), 3.0, (2,))
    Array([ 0.69022477, -3.2393372 ], dtype=float32)
    """
    k, d, work = _start("t", key, dtype, out_sharding)
    df = parameter("t", "df", df, work)
    extents = draw_shape("t", shape, df)
    keys = split(k)
    half = _quotient(df, 2)
    n, g = normal(keys[0], extents, work), _gamma(keys[1], half, extents)
    return ew.convert(ew.mul(n, ew.sqrt(_ratio(half, g, half, extents))), d)


def _ratio(top: Any, bottom: Any, df: Any, extents: tuple[int, ...]) -> Any:
    """top / bottom, of which one is df and one a variate that grows with it: 1 where they are infinite, as in the limit."""
    if not isinstance(df, Value):
        return full(extents, df.dtype.type(1)) if np.isinf(df) else ew.div(over(top, extents), over(bottom, extents))
    endless = over(ew.eq(df, like(df, np.inf)), extents)
    return ew.div(*[ew.select_n(endless, over(v, extents), full(extents, df.dtype.type(1))) for v in (top, bottom)])


def generalized_normal(key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Generalized normal numbers of shape parameter p: density proportional to exp(-|x|^p).

    Args: p: positive scalar, or array that broadcasts to the shape (1: Laplace's distribution; 2: normal numbers of variance
    1/2). shape: integer or tuple. dtype: floating; float32 without one.

    >>> random.generalized_normal(random.key(0), 1.5, (2,))
    Array([1.0603918 , 0.08920825], dtype=float32)
    """
    k, d, work = _start("generalized_normal", key, dtype, out_sharding)
    p = _power("generalized_normal", p, work)
    extents = draw_shape("generalized_normal", shape_of(shape, "random.generalized_normal"), p)
    return ew.convert(_generalized_normal(k, p, extents, work), d)


def _power(name: str, p: Any, work: np.dtype) -> Any:
    p = parameter(name, "p", p, work)
    if not isinstance(p, Value) and not p > 0:
        raise UsageError(message(f"random.{name}: got p={p}", "a positive number", "p=2"))
    return p


def _inverse(p: Any) -> Any:
    return ew.div(p.dtype.type(1), p) if isinstance(p, Value) else p.dtype.type(1) / p


def _generalized_normal(key: Any, p: Any, extents: tuple[int, ...], work: np.dtype) -> Any:
    keys = split(key)
    inverse = _inverse(p)
    size = fnp.power(_gamma(keys[0], inverse, extents), over(inverse, extents))
    return ew.mul(rademacher(keys[1], extents, work), size)


def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Vectors uniform in the unit ball of the p-norm in d dimensions.

    Args: d: the dimension, an integer. p: positive scalar (inf: the cube). shape: of the batch. dtype: floating; float32 without
    one.
    Returns: shape (*shape, d). Barthe, Guedon, Mendelson and Naor, "A probabilistic approach to the geometry of the l_p^n-ball",
    2005.

    >>> random.ball(random.key(0), 3)
    Array([0.91715974, 0.39274216, 0.0116535 ], dtype=float32)
    """
    k, out, work = _start("ball", key, dtype, out_sharding)
    extents, n = shape_of(shape, "random.ball"), static_int(d, "random.ball", "d")
    if n < 0:
        raise UsageError(message(f"random.ball: got d={n}", "a dimension of 0 or more", "d=3"))
    p = _power("ball", p, work)
    if aval_of(p).ndim:
        raise ShapeError(message(f"random.ball: got p of shape {p.shape}", "one number", "fg.vmap over the values of p"))
    keys = split(k)
    if not isinstance(p, Value) and np.isinf(p):
        return ew.convert(between(keys[0], (*extents, n), work, work.type(-1), work.type(1)), out)
    g = _generalized_normal(keys[0], p, (*extents, n), work)
    total = fnp.sum(fnp.power(ew.abs(g), p), -1) + exponential(keys[1], extents, work)
    length = expand_dims(fnp.power(total, _inverse(p)), dimensions=(len(extents),))
    return ew.convert(ew.div(g, broadcast_value(length, g.shape)), out)
