"""Discrete draws: bernoulli, rademacher, permutation, choice, categorical, geometric."""

import math
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, message
from funcgrad.numpy._axes import axis_of, extent, shape_of, static_int
from funcgrad.numpy._promote import as_value, broadcast_value, cast, common_inexact, operand
from funcgrad.numpy.cumulative import cumsum
from funcgrad.numpy.logarithms import log
from funcgrad.numpy.reductions import argmax
from funcgrad.numpy.selection import take
from funcgrad.numpy.sorting import searchsorted
from funcgrad.numpy.structure import moveaxis, reshape
from funcgrad.ops import elementwise as ew
from funcgrad.ops.bits import random_bits
from funcgrad.ops.shape import expand_dims, full, iota
from funcgrad.ops.sort import sort, top_k
from funcgrad.random.distributions import gumbel
from funcgrad.random.draws import between, draw_shape, no_sharding, over, randint
from funcgrad.random.keys import single, split
from funcgrad.trace.value import Value, aval_of

__all__ = ["bernoulli", "categorical", "choice", "geometric", "permutation", "rademacher"]


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None) -> Any:
    """True with probability p.

    Args: p: a floating scalar or array. shape: that of p where it is left out. mode: "low" compares with one uniform float;
    "high" with twice its bits, for very small p.

    >>> random.bernoulli(random.key(0), 0.25, (6,))
    Array([False, False, False, False, False,  True], dtype=bool)
    >>> random.bernoulli(random.key(0), fnp.array([0.0, 1.0]))
    Array([False,  True], dtype=bool)
    """
    no_sharding("bernoulli", out_sharding)
    if not among(mode, ("low", "high")):
        raise UsageError(message(f"random.bernoulli: got mode={mode!r}", "'low' or 'high'", "mode='high'"))
    q = operand(p, "random.bernoulli", "p")
    d = aval_of(q).dtype
    if d not in dt.FLOATS:
        raise DtypeError(
            message(f"random.bernoulli: got p of {dt.short_name(d)}", "a floating dtype", "float(p), or p.astype('float32')")
        )
    q = cast(q, d)
    extents = draw_shape("bernoulli", shape, q)
    k = single("bernoulli", key)
    if mode == "low":
        return ew.lt(between(k, extents, d, d.type(0), d.type(1)), over(q, extents))
    pair = between(k, (2, *extents), d, d.type(0), d.type(1))
    fine = ew.mul(pair[1], d.type(2.0 ** -dt.finfo(d).nmant))
    return ew.lt(fine, ew.sub(over(q, extents), pair[0]))


def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """1 or -1 with equal probability; dtype int64 without one.

    >>> random.rademacher(random.key(0), (5,))
    Array([-1, -1,  1,  1, -1], dtype=int64)
    """
    d = dt.int64 if dtype is None else dt.canonical(dtype)
    up = cast(bernoulli(key, 0.5, shape_of(shape, "random.rademacher"), out_sharding=out_sharding), d)
    return ew.sub(ew.mul(up, d.type(2)), d.type(1))


def _shuffled(key: Any, x: Value, axis: int) -> Any:
    """Sorted by random 32-bit keys, as often as makes collisions harmless."""
    rounds = int(np.ceil(3 * np.log(max(1, x.size)) / np.log(2**32 - 1)))
    for _ in range(rounds):
        keys = split(key)
        key = keys[0]
        _, x = sort(random_bits(keys[1], bit_width=32, shape=x.shape), x, dimension=axis, is_stable=True, num_keys=1)
    return x


def permutation(key: Any, x: Any, axis: Any = 0, independent: bool = False, *, out_sharding: Any = None) -> Any:
    """A random order: of the slices of the array x along `axis`, or of arange(x) for an integer x.

    independent: shuffle every line along the axis on its own.

    >>> random.permutation(random.key(1), 5)
    Array([3, 2, 0, 1, 4], dtype=int64)
    >>> random.permutation(random.key(1), fnp.array([[1, 2, 3], [4, 5, 6]]), axis=1)
    Array([[3, 1, 2],
           [6, 4, 5]], dtype=int64)
    """
    no_sharding("permutation", out_sharding)
    k = single("permutation", key)
    if not isinstance(x, (Value, np.ndarray)) or x.ndim == 0:
        return _shuffled(k, iota(dtype=dt.int64, shape=(extent(x, "random.permutation", "x"),), dimension=0), 0)
    v = as_value(x, "random.permutation", "x")
    i = axis_of(axis, v.ndim, "random.permutation")
    if independent or v.ndim == 1:
        return _shuffled(k, v, i)
    return take(v, _shuffled(k, iota(dtype=dt.int64, shape=(v.shape[i],), dimension=0), 0), i)


def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: Any = 0, mode: Any = None) -> Any:
    """Random elements (or slices along `axis`) of the array a, or of arange(a) for an integer a.

    Args: shape: of the draws. replace: whether one may come twice. p: probabilities, one for each. mode: see `gumbel`; for p
    without replacement.
    Raises: UsageError for more draws than elements without replacement, or nothing to draw from.

    >>> random.choice(random.key(0), 10, (4,), replace=False)
    Array([0, 1, 8, 5], dtype=int64)
    >>> random.choice(random.key(0), fnp.array([1, 10, 100]), (5,), p=fnp.array([0.1, 0.2, 0.7]))
    Array([  1,   1, 100, 100, 100], dtype=int64)
    """
    k = single("choice", key)
    extents = shape_of(shape, "random.choice")
    draws = math.prod(extents)
    whole = not isinstance(a, (Value, np.ndarray)) or a.ndim == 0
    x = None if whole else as_value(a, "random.choice", "a")
    i = 0 if x is None else axis_of(axis, x.ndim, "random.choice")
    count = static_int(a, "random.choice", "a") if x is None else x.shape[i]
    if draws == 0:
        rest = () if x is None else x.shape[:i], () if x is None else x.shape[i + 1 :]
        return full((*rest[0], *extents, *rest[1]), (dt.int64 if x is None else x.dtype).type(0))
    if count <= 0 or not flag(replace, "random.choice", "replace") and draws > count:
        raise UsageError(
            message(
                f"random.choice: got {draws} draws of {count} elements, replace={replace}",
                "something to draw from, and enough of it without replacement",
                "replace=True",
            )
        )
    if p is None:
        if replace:
            places = randint(k, extents, 0, count)
        else:
            places = permutation(k, count)[:draws] if x is None or x.ndim > 1 else None
            if places is None:
                return reshape(permutation(k, x)[:draws], extents)
    else:
        (q,) = common_inexact(as_value(p, "random.choice", "p"))
        if q.shape != (count,):
            raise ShapeError(
                message(
                    f"random.choice: got p of shape {q.shape} for {count} elements",
                    "one probability an element",
                    "p=fnp.ones(n) / n",
                )
            )
        if replace:
            total = cumsum(q)
            u = between(k, extents, q.dtype, q.dtype.type(0), q.dtype.type(1))
            places = searchsorted(total, ew.mul(broadcast_value(total[-1], extents), ew.sub(q.dtype.type(1), u)))
        else:
            _, places = top_k(ew.add(gumbel(k, (count,), q.dtype, mode), log(q)), k=draws)
            places = ew.convert(places, dt.int64)
    places = reshape(places, extents)
    return places if x is None else take(x, places, i)


def categorical(
    key: Any, logits: Any, axis: Any = -1, shape: Any = None, replace: bool = True, mode: Any = None, *, out_sharding: Any = None
) -> Any:
    """Random class numbers with probabilities softmax(logits) along `axis`, int64: by the Gumbel-max trick.

    Args: shape: of the result; the logits' shape without the axis broadcasts to its end; leading axes are more draws.
    replace=False: the leading axes are draws without replacement (Kool et al., "Stochastic Beams and Where to Find Them", 2019).
    mode: see `gumbel`.

    >>> logits = fnp.log(fnp.array([0.1, 0.2, 0.7]))
    >>> random.categorical(random.key(0), logits, shape=(8,))
    Array([1, 2, 2, 1, 2, 2, 2, 2], dtype=int64)
    """
    no_sharding("categorical", out_sharding)
    k = single("categorical", key)
    (v,) = common_inexact(as_value(logits, "random.categorical", "logits"))
    i = axis_of(axis, v.ndim, "random.categorical")
    batch = v.shape[:i] + v.shape[i + 1 :]
    extents = draw_shape("categorical", batch if shape is None else shape, full(batch, np.True_))
    lead = extents[: len(extents) - len(batch)]
    if flag(replace, "random.categorical", "replace"):
        inner = list(extents[len(lead) :])
        inner.insert(i, v.shape[i])
        noise = gumbel(k, (*lead, *inner), v.dtype, mode)
        logit = broadcast_value(expand_dims(v, dimensions=tuple(range(len(lead)))) if lead else v, noise.shape)
        return argmax(ew.add(noise, logit), axis=i + len(lead))
    draws = math.prod(lead)
    if draws > v.shape[i] or extents[len(lead) :] != batch:
        raise UsageError(
            message(
                f"random.categorical: got {draws} draws of {v.shape[i]} classes without replacement",
                "at most as many as classes, and the logits' own shape",
                "replace=True",
            )
        )
    _, places = top_k(moveaxis(ew.add(v, gumbel(k, v.shape, v.dtype, mode)), i, -1), k=draws)
    return reshape(moveaxis(ew.convert(places, dt.int64), -1, 0), extents)


def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """The number of trials of probability p up to and with the first success: 1, 2, ...; dtype int64 without one.

    shape: that of p where it is left out.

    >>> random.geometric(random.key(0), 0.25, (5,))
    Array([1, 1, 4, 3, 2], dtype=int64)
    """
    no_sharding("geometric", out_sharding)
    d = dt.int64 if dtype is None else dt.canonical(dtype)
    (q,) = common_inexact(operand(p, "random.geometric", "p"))
    q = as_value(q, "random.geometric", "p")
    extents = draw_shape("geometric", shape, q)
    u = between(single("geometric", key), extents, q.dtype, q.dtype.type(0), q.dtype.type(1))
    u = ew.select_n(ew.eq(u, q.dtype.type(0)), u, q.dtype.type(1))
    failure = broadcast_value(ew.log1p(ew.neg(q)), extents)
    return cast(ew.add(ew.floor(ew.div(ew.log(u), failure)), q.dtype.type(1)), d)
