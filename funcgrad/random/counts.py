"""Counts: poisson, binomial, multinomial.

Few expected events are counted one by one, many come by transformed rejection: Hoermann, "The generation of binomial random
variates", 1993, and "The transformed rejection method for generating Poisson random variables", 1993. All elements draw
together from one chain of keys, in JAX's order, until the last one is accepted: the numbers are JAX's (of binomial, but for the
few that JAX's cruder bound decides otherwise).
"""

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError, message
from funcgrad.lax.control import scan, while_loop
from funcgrad.numpy._axes import shape_of
from funcgrad.numpy._promote import as_value, broadcast_shapes_of, broadcast_value, operand
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full
from funcgrad.ops.bits import random_split
from funcgrad.random.draws import between, draw_shape, float_dtype, parameter
from funcgrad.random.keys import single
from funcgrad.trace.value import Value, aval_of

__all__ = ["binomial", "multinomial", "poisson"]

# The partial quotients of log(k!) less Stirling's formula, as a continued fraction in k + 1 (DLMF 5.10.1). Four of them are exact
# to 1e-6 from k = 1 on, which is enough to accept or refuse, and make loops without branches.
_STIELTJES = (1 / 12, 1 / 30, 53 / 210, 195 / 371)


def _constant(name: str, arg: str, x: Any, dtype: np.dtype) -> Any:
    """A parameter in this dtype. Counts move in steps, so that nothing is differentiated."""
    x = parameter(name, arg, x, dtype)
    return ew.stop_gradient(x) if isinstance(x, Value) else x


def _repeated(x: Any, shape: tuple[int, ...]) -> Any:
    return broadcast_value(x, shape) if isinstance(x, Value) else full(shape, x)


def _unit(key: Any, like: Any) -> Any:
    d = like.dtype
    return between(key, like.shape, d, d.type(0), d.type(1))


def _uncounted(shape: tuple[int, ...], d: np.dtype) -> tuple[Any, Any]:
    """Where rejection starts: no counts, and none accepted."""
    return full(shape, d.type(-1)), full(shape, np.False_)


def _stirling(k: Any) -> Any:
    """log(k!) - ((k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2)."""
    x = k + 1
    tail = x * 0
    for c in reversed(_STIELTJES):
        tail = c / (x + tail)
    return tail


# --- poisson ----------------------------------------------------------------------------------------------------------


def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Poisson numbers: how many events there are where lam are expected.

    Args: key: one key. lam: scalar or array, 0 or more (negative numbers and NaN give -1); float64 is taken as it is, others in
    float32. shape: one that lam broadcasts to; that of lam without one. dtype: of the result, an integer dtype; int64 without
    one. Counts beyond its range become its nearest bound. The derivative by lam is 0.

    >>> random.poisson(random.key(0), 3.5, (4,))
    Array([0, 0, 5, 4], dtype=int64)
    """
    d = dt.int64 if dtype is None or dtype is int else dt.canonical(dtype)
    if d not in dt.INTEGERS:
        raise DtypeError(message(f"random.poisson: got dtype={dt.short_name(d)}", "an integer dtype", "dtype='int32'"))
    x = operand(lam, "random.poisson", "lam")
    aval = aval_of(x)
    work = np.dtype(dt.float64 if aval.dtype == dt.float64 and not aval.weak_type else dt.float32)
    x = _constant("poisson", "lam", x, work)
    extents = draw_shape("poisson", shape, x)
    k, x = single("poisson", key), _repeated(x, extents)
    counted = ~(x >= 10)  # with NaN
    rejected = fnp.any(~counted)
    few = _poisson_counted(k, ew.select_n(counted, full(extents, work.type(0)), x))
    # The places that are counted have numbers of many events here that nobody reads: JAX draws for these too.
    many = _poisson_rejection(k, ew.select_n(counted, x, full(extents, work.type(1e5))), rejected)
    out = ew.select_n(x == np.inf, ew.select_n(counted, many, few), x)
    return ew.convert(ew.select_n(x == 0, out, full(extents, work.type(0))), d)


def _poisson_counted(key: Any, lam: Any) -> Any:
    """Uniform numbers are multiplied until the product falls below exp(-lam). Knuth, The Art of Computer Programming 2, 3.4.1."""
    zero = full(lam.shape, lam.dtype.type(0))

    def step(state: Any) -> Any:
        key, k, product = state
        keys = random_split(key, shape=(2,))
        return keys[0], ew.select_n(product > -lam, k, k + 1), product + ew.log(_unit(keys[1], lam))

    return while_loop(lambda s: fnp.any(s[2] > -lam), step, (key, zero, zero))[1] - 1


def _poisson_rejection(key: Any, lam: Any, wanted: Any) -> Any:
    b = 2.53 * ew.sqrt(lam) + 0.931
    a = 0.02483 * b - 0.059
    inverse, fast = 1.1328 / (b - 3.4) + 1.1239, 0.9277 - 3.6224 / (b - 2)
    log_lam = ew.log(lam)

    def step(state: Any) -> Any:
        key, out, accepted = state
        keys = random_split(key, shape=(3,))
        u, v = _unit(keys[1], lam) - 0.5, _unit(keys[2], lam)
        side = 0.5 - ew.abs(u)
        k = ew.floor((2 * a / side + b) * u + lam + 0.43)
        j = fnp.maximum(k, 0)
        log_factorial = (j + 0.5) * ew.log(j + 1) - (j + 1) + 0.5 * math.log(2 * math.pi) + _stirling(j)
        exact = ew.log(v * inverse / (a / (side * side) + b)) <= -lam + j * log_lam - log_factorial
        refused = (k < 0) | ((side < 0.013) & (v > side))
        accept = ((side >= 0.07) & (v <= fast)) | (~refused & exact)
        return keys[0], ew.select_n(accept, out, k), accepted | accept

    state = (key, *_uncounted(lam.shape, lam.dtype))
    return while_loop(lambda s: wanted & fnp.any(~s[2]), step, state)[1]


# --- binomial ---------------------------------------------------------------------------------------------------------


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Binomial numbers: how many of n trials of probability p succeed.

    Args: key: one key. n: scalar or array, 0 or more. p: scalar or array, from 0 to 1. shape: one that n and p broadcast to;
    without it, that of both together. dtype: of the result, floating (of whole numbers); float32 without one.
    Returns: NaN where n is negative, p is not in [0, 1], or one of them is NaN; inf where n is. The derivatives by n and p are 0.

    >>> random.binomial(random.key(0), 10, 0.3, (4,))
    Array([2., 2., 1., 2.], dtype=float32)
    """
    d = float_dtype("binomial", dtype)
    work = np.dtype(dt.float64 if d == dt.float64 else dt.float32)
    trials, chance = _constant("binomial", "n", n, work), _constant("binomial", "p", p, work)
    extents = draw_shape("binomial", shape, trials, chance)
    out = _binomial(single("binomial", key), _repeated(trials, extents), _repeated(chance, extents))
    return ew.convert(out, d)


def _binomial(key: Any, n: Any, p: Any) -> Any:
    def fixed(number: float) -> Any:
        return full(n.shape, n.dtype.type(number))

    rare = p < 0.5
    q = ew.select_n(rare, 1 - p, p)
    no_trials, no_chance = ~(n >= 0), ~(q >= 0)
    q = ew.select_n(no_chance, q, fixed(0.01))
    whole = ew.floor(n)
    counted = no_trials | (n * q <= 10)
    few = _binomial_counted(key, ew.select_n(counted, fixed(0), whole), ew.log1p(-q))
    many = _binomial_rejection(
        key, ew.select_n(counted, whole, fixed(1e4)), ew.select_n(counted, q, fixed(0.5)), fnp.any(~counted & (n < np.inf))
    )
    out = ew.select_n(counted, many, few)
    out = ew.select_n(rare, whole - out, out)
    out = ew.select_n(n == np.inf, out, fixed(np.inf))
    return ew.select_n(no_trials | no_chance, out, fixed(np.nan))


def _binomial_counted(key: Any, n: Any, log_failure: Any) -> Any:
    """Waiting times between successes are summed until they exceed n.

    Devroye, Non-Uniform Random Variate Generation, 1986, X.4."""
    zero = full(n.shape, n.dtype.type(0))

    def step(state: Any) -> Any:
        key, k, total = state
        keys = random_split(key, shape=(2,))
        wait = ew.ceil(ew.log(_unit(keys[0], n)) / log_failure)
        return keys[1], ew.select_n(total <= n, k, k + 1), total + wait

    return while_loop(lambda s: fnp.any(s[2] <= n), step, (key, zero, zero))[1] - 1


def _binomial_rejection(key: Any, n: Any, p: Any, wanted: Any) -> Any:
    deviation = ew.sqrt(n * p * (1 - p))
    b = 2.53 * deviation + 1.15
    a = -0.0873 + 0.0248 * b + 0.01 * p
    middle, fast = n * p + 0.5, 0.92 - 4.2 / b
    odds, scale = p / (1 - p), (2.83 + 5.1 / b) * deviation
    mode = ew.floor((n + 1) * p)
    at_mode = (mode + 0.5) * ew.log((mode + 1) / (odds * (n - mode + 1))) + _stirling(mode) + _stirling(n - mode)

    def step(state: Any) -> Any:
        key, out, accepted = state
        keys = random_split(key, shape=(3,))
        u, v = _unit(keys[1], n) - 0.5, _unit(keys[2], n)
        side = 0.5 - ew.abs(u)
        k = ew.floor((2 * a / side + b) * u + middle)
        outside = (k < 0) | (k > n)
        j = fnp.clip(k, 0, n)
        bound = (n + 1) * ew.log((n - mode + 1) / (n - j + 1)) + (j + 0.5) * ew.log(odds * (n - j + 1) / (j + 1))
        bound = at_mode + bound - _stirling(j) - _stirling(n - j)
        exact = ew.log(v * scale / (a / (side * side) + b)) <= bound
        accept = ((side >= 0.07) & (v <= fast)) | (~outside & exact)
        return keys[0], ew.select_n(accept, out, k), accepted | accept

    state = (key, *_uncounted(n.shape, n.dtype))
    return while_loop(lambda s: wanted & fnp.any(~s[2]), step, state)[1]


# --- multinomial ------------------------------------------------------------------------------------------------------


def multinomial(key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: int | bool = 1) -> Any:
    """Multinomial numbers: how many of n trials fall to each class, where class i has the probability p[..., i].

    Args: key: one key. n: scalar or array of whole numbers. p: (..., k), from 0, of sum 1 along the last axis. shape: of the
    result, its last extent k; without it, n and p[..., 0] give the others together. dtype: floating; float32 without one.
    unroll: classes in a pass of the loop over them, as for `lax.scan`.
    Each count is binomial among the trials that the classes before left. The derivatives by n and p are 0.

    >>> random.multinomial(random.key(0), 10, fnp.array([0.2, 0.3, 0.5]))
    Array([1., 1., 8.], dtype=float32)
    """
    d = float_dtype("multinomial", dtype)
    work = np.dtype(dt.float64 if d == dt.float64 else dt.float32)
    trials = _constant("multinomial", "n", n, work)
    chances = as_value(_constant("multinomial", "p", p, work), "random.multinomial", "p")
    k = single("multinomial", key)
    classes = chances.shape[-1:]
    if not classes:
        raise ShapeError(message("random.multinomial: got a scalar p", "probabilities along the last axis", "p=fnp.array([...])"))
    return ew.convert(_by_class(k, trials, chances, shape, unroll), d)


def _by_class(key: Any, n: Any, p: Any, shape: Any, unroll: int | bool) -> Any:
    name = "random.multinomial"
    own = (*broadcast_shapes_of([aval_of(n).shape, p.shape[:-1]], name), p.shape[-1])
    extents = own if shape is None else shape_of(shape, name)
    if broadcast_shapes_of([extents, own], name) != extents or extents[-1] != own[-1]:
        came = f"{name}: got shape={extents} for a batch and classes of {own}"
        raise ShapeError(message(came, "a shape that they repeat into", f"shape={own}"))
    n, p = _repeated(n, extents[:-1]), broadcast_value(p, extents)
    left = fnp.flip(fnp.cumsum(fnp.flip(p, -1), -1), -1)
    ratios = p / ew.select_n(left == 0, left, full(extents, p.dtype.type(1)))
    keys = random_split(key, shape=extents[-1:])

    def one_class(rest: Any, x: Any) -> Any:
        ratio, k = x
        count = _binomial(k, rest, fnp.clip(ratio, 0, 1))
        return rest - count, count

    _, counts = scan(one_class, n, (fnp.moveaxis(ratios, -1, 0), keys), unroll=unroll)
    return fnp.moveaxis(counts, 0, -1)
