"""The operator `random_gamma`: one gamma number for each key and shape parameter.

Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26 (2000). For a < 1 a number of shape a + 1 is
scaled by u^(1/a). The draws come in JAX's order, so the numbers are JAX's. Compiled, every element is a loop of its own; the
NumPy meaning takes all elements together and goes on with those that were refused.

It stands here and not in `ops/`, because it is made of a loop.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import DtypeError, message
from funcgrad.ir.loop_rules import Inline
from funcgrad.ir.primitive import register
from funcgrad.lax.control import while_loop
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import batch_at, elementwise_batch, elementwise_shape, full, reshape
from funcgrad.ops._samples import uniform
from funcgrad.ops.bits import random_bits, random_keys, random_split
from funcgrad.ops.incomplete import random_gamma_grad
from funcgrad.ops.special import special
from funcgrad.random.draws import between, normal
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of
from funcgrad.transforms.vmap import vmap

DTYPES = frozenset({dt.float32, dt.float64})
_SQUEEZE = 0.0331  # the bound that accepts most numbers without a logarithm


def _abstract(keys: ShapedArray, a: ShapedArray, *, log_space: bool) -> ShapedArray:
    flag(log_space, "random.random_gamma_p", "log_space")
    if keys.dtype != dt.KEY or a.dtype not in DTYPES:
        raise DtypeError(
            message(
                f"random_gamma: got {format_avals((keys, a))}",
                "PRNG keys, and shape parameters in float32 or float64",
                "random.gamma(key, a), which makes them",
            )
        )
    return shaped(elementwise_shape("random_gamma", (keys, a)), a.dtype)


# --- in loops: every element by itself ----------------------------------------------------------------------------------


def _one(key: Any, a: Any, log_space: bool) -> Any:
    """The number of one key."""
    d = aval_of(a).dtype
    zero, one = d.type(0), d.type(1)
    small = a < one
    size = ew.select_n(small, a, a + one) - d.type(1 / 3)
    spread = d.type(1 / 3) / ew.sqrt(size)
    keys = random_split(key, shape=(2,))

    def start(*numbers: float) -> list[Any]:  # made where they are used: a rule holds no arrays
        return [full((), d.type(x)) for x in numbers]

    def refused(state: Any) -> Any:
        _, square, cube, u = state
        beyond = u >= one - d.type(_SQUEEZE) * (square * square)
        return beyond & (ew.log(u) >= square * d.type(0.5) + size * ((one - cube) + ew.log(cube)))

    def another(state: Any) -> Any:
        k = random_split(state[0], shape=(2,))
        x = normal(k[1], (), d)
        return k[0], x, one + x * spread

    def draw(state: Any) -> Any:
        k = random_split(state[0], shape=(3,))
        _, x, v = while_loop(lambda s: s[2] <= zero, another, (k[1], *start(0, -1)))
        return k[0], x * x, v * v * v, between(k[2], (), d, zero, one)

    # The start is one that is refused.
    cube = while_loop(refused, draw, (keys[0], *start(0, 1, 2)))[2]
    u = between(keys[1], (), d, zero, one)
    if log_space:
        logs = ew.log1p(-u)
        whole = ~small | (logs == zero)
        lift = ew.select_n(whole, logs * (one / a), zero)
        out = ew.log(size) + ew.log(cube) + lift
    else:
        out = size * cube * ew.select_n(small, one, ew.pow(one - u, one / a))
    return ew.select_n(a < zero, out, d.type(np.nan))


def _lanes(keys: Any, a: Any, *, log_space: bool) -> Any:
    avals = [aval_of(x) for x in (keys, a)]
    shape = elementwise_shape("random_gamma", avals)
    if not shape:
        return _one(keys, a, log_space)
    size = int(np.prod(shape))
    if size == 0:
        return full(shape, avals[1].dtype.type(0))
    flat = [reshape(x, shape=(size,)) if v.ndim else x for x, v in zip((keys, a), avals, strict=True)]
    dims = [0 if v.ndim else None for v in avals]
    outs, found = vmap(lambda k, x: [_one(k, x, log_space)], flat, dims, size)
    return reshape(batch_at(outs[0], found[0], size), shape=shape)


# --- in NumPy: all elements together --------------------------------------------------------------------------------------


def _split(keys: np.ndarray, n: int) -> np.ndarray:
    return random_split.numpy(keys, (n,))


def _uniform(keys: np.ndarray, d: np.dtype) -> np.ndarray:
    width, mantissa = d.itemsize * 8, int(np.finfo(d).nmant)
    word = random_bits.numpy(keys, width, ()) >> np.dtype(f"uint{width}").type(width - mantissa)
    return word.astype(d) * d.type(2.0**-mantissa)


def _normal(keys: np.ndarray, d: np.dtype) -> np.ndarray:
    lowest = np.nextafter(d.type(-1), d.type(0))
    u = np.maximum(_uniform(keys, d) * (d.type(1) - lowest) + lowest, lowest)
    return d.type(np.sqrt(2)) * special.erfinv(u)


def _cubes(keys: np.ndarray, size: np.ndarray) -> np.ndarray:
    """v^3 of the numbers that are accepted, all for one-dimensional operands."""
    d = size.dtype
    one, spread, out = d.type(1), d.type(1 / 3) / np.sqrt(size), np.ones_like(size)
    left = np.flatnonzero(~np.isnan(size))
    while left.size:
        k = _split(keys[left], 3)
        x, v = np.zeros(left.size, d), np.full(left.size, d.type(-1))
        inner, drawn = k[:, 1].copy(), np.arange(left.size)
        while drawn.size:
            pair = _split(inner[drawn], 2)
            inner[drawn], x[drawn] = pair[:, 0], _normal(pair[:, 1], d)
            v[drawn] = one + x[drawn] * spread[left[drawn]]
            drawn = drawn[v[drawn] <= 0]
        u, square, cube, s = _uniform(k[:, 2], d), x * x, v * v * v, size[left]
        exact = np.log(u) >= square * d.type(0.5) + s * ((one - cube) + np.log(cube))
        refused = (u >= one - d.type(_SQUEEZE) * (square * square)) & exact
        out[left], keys[left] = cube, k[:, 0]
        left = left[refused]
    return out


def _numpy(keys: np.ndarray, a: np.ndarray, log_space: bool) -> np.ndarray:
    keys, a = np.broadcast_arrays(keys, a)
    shape, d = a.shape, a.dtype
    pairs, a = _split(np.ascontiguousarray(keys).reshape(-1), 2), a.reshape(-1)
    one, small = d.type(1), a < 1
    size = np.where(small, a + one, a) - d.type(1 / 3)
    cube = _cubes(pairs[:, 0].copy(), size)
    u = _uniform(pairs[:, 1], d)
    if log_space:
        logs = np.log1p(-u)
        out = np.log(size) + np.log(cube) + np.where(~small | (logs == 0), d.type(0), logs * (one / a))
    else:
        out = size * cube * np.where(small, np.power(one - u, one / a), one)
    return np.where(a < 0, d.type(np.nan), out).astype(d).reshape(shape)


# --- the derivative -------------------------------------------------------------------------------------------------------


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, log_space: bool) -> Any:
    """By the distribution, not by the steps of the method: x follows a so that P(a, x) stays (Figurnov, Mohamed and Mnih,
    "Implicit Reparameterization Gradients", 2018)."""
    a, t = primals[1], tangents[1]
    out = random_gamma(*primals, log_space=log_space)
    if t is None:
        return out, None
    a = a if aval_of(a).shape == aval_of(out).shape else full(aval_of(out).shape, a)
    if not log_space:
        return out, ew.mul(t, random_gamma_grad(a, out, n=1))
    d = aval_of(out).dtype
    # P(a, x) is x^a / gamma(a + 1) for tiny x: log x then moves as (digamma(a + 1) - log x) / a.
    tiny = ew.lt(out, d.type(np.log(np.finfo(d).tiny) / 2))
    x = ew.select_n(tiny, ew.exp(out), d.type(1))
    slope = ew.div(random_gamma_grad(a, x, n=1), x)
    limit = ew.div(ew.sub(ew.digamma(ew.add(a, d.type(1))), out), a)
    return out, ew.mul(t, ew.select_n(tiny, slope, limit))


def _samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    draw = uniform(0.3, 4)
    return [
        ((random_keys(rng, s), np.asarray(draw(rng, s, dtype))), {"log_space": log})
        for s in ((5,), (2, 3), (), (0, 2))
        for log in (False, True)
    ]


class RandomGamma(Operator):
    """Gamma numbers of scale 1, one for each key and shape parameter: the operator under `random.gamma` and `random.loggamma`.

    Args: keys: typed keys. a: shape parameters, float32 or float64, of the keys' shape, or one number. log_space: whether
    the numbers' logarithms are wanted. Returns: the keys' shape, in the dtype of a.

    >>> keys = random.split(random.key(0), 2)
    >>> random.random_gamma_p(keys, np.array([0.5, 3.0]), log_space=False)
    Array([0.09805369, 1.96213947], dtype=float64)
    """

    __slots__ = ()


random_gamma = RandomGamma(
    "random_gamma",
    abstract=_abstract,
    numpy=_numpy,
    jvp=_jvp,
    transpose="it is not linear",
    batch="set below",
    loop=Inline(_lanes),
    dtypes=DTYPES,
    samples=_samples,
    doc="gamma numbers of scale 1 for keys and shape parameters, or their logarithms",
)
random_gamma.batch = elementwise_batch(random_gamma)
register(random_gamma)
