"""Continuous distributions from uniform and normal draws: exponential, laplace, gumbel, cauchy, logistic, pareto, ..."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import UsageError, message
from funcgrad.numpy._axes import shape_of
from funcgrad.numpy._promote import broadcast_shapes_of
from funcgrad.numpy.arithmetic import power
from funcgrad.numpy.linalg import norm
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full, like
from funcgrad.ops.bits import random_bits
from funcgrad.random.draws import between, draw_shape, float_dtype, no_sharding, normal, over, parameter
from funcgrad.random.keys import single, split
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "cauchy", "double_sided_maxwell", "exponential", "gumbel", "laplace", "logistic", "lognormal", "maxwell", "pareto",
    "rayleigh", "triangular", "wald", "weibull_min",
]  # fmt: skip


_ONE = np.float32(1.0)


def _plain(name: str, key: Any, shape: Any, dtype: Any, out_sharding: Any) -> tuple[Any, tuple[int, ...], np.dtype]:
    no_sharding(name, out_sharding)
    return single(name, key), shape_of(shape, f"random.{name}"), float_dtype(name, dtype)


def _unit(key: Any, shape: tuple[int, ...], d: np.dtype) -> Any:
    return between(key, shape, d, d.type(0), d.type(1))


def exponential(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Exponential numbers of scale 1: density exp(-x) for x >= 0. dtype: floating, the default float without one.

    >>> random.exponential(random.key(0), (3,))
    Array([2.950128  , 3.8434246 , 0.40390354], dtype=float32)
    """
    k, extents, d = _plain("exponential", key, shape, dtype, out_sharding)
    return ew.neg(ew.log1p(ew.neg(_unit(k, extents, d))))


def laplace(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Laplace numbers of location 0 and scale 1: density exp(-|x|) / 2. dtype: floating, the default float without one.

    >>> random.laplace(random.key(0), (3,))
    Array([-2.2569816 , -3.1502788 ,  0.40859547], dtype=float32)
    """
    k, extents, d = _plain("laplace", key, shape, dtype, out_sharding)
    u = between(k, extents, d, d.type(-1.0 + float(dt.finfo(d).epsneg)), d.type(1))
    return ew.mul(ew.sign(u), ew.log1p(ew.neg(ew.abs(u))))


def logistic(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Logistic numbers of location 0 and scale 1: distribution function sigmoid. dtype: floating, the default float without one.

    >>> random.logistic(random.key(0), (3,))
    Array([ 2.896376 ,  3.8217716, -0.6978392], dtype=float32)
    """
    k, extents, d = _plain("logistic", key, shape, dtype, out_sharding)
    u = between(k, extents, d, d.type(dt.finfo(d).tiny), d.type(1))
    return ew.sub(ew.log(u), ew.log1p(ew.neg(u)))


def cauchy(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Cauchy numbers of location 0 and scale 1: density 1 / (pi (1 + x^2)). dtype: floating, the default float without one.

    >>> random.cauchy(random.key(0), (3,))
    Array([ 6.0274944 , 14.837895  , -0.58172226], dtype=float32)
    """
    k, extents, d = _plain("cauchy", key, shape, dtype, out_sharding)
    u = between(k, extents, d, d.type(dt.finfo(d).eps), d.type(1))
    return ew.tan(ew.mul(d.type(np.pi), ew.sub(u, d.type(0.5))))


_GUMBEL_MODES = (None, "low", "high", "highest")


def gumbel(key: Any, shape: Any = (), dtype: Any = None, mode: Any = None, *, out_sharding: Any = None) -> Any:
    """Gumbel numbers of location 0 and scale 1: -log(-log(u)). dtype: floating, the default float without one.

    mode: "low" (the default): the bits of one float; "high": of two, for tails below 1e-7; "highest": of 64 bits (float32).

    >>> random.gumbel(random.key(0), (3,))
    Array([ 2.9233725 ,  3.8326178 , -0.09689324], dtype=float32)
    """
    k, extents, d = _plain("gumbel", key, shape, dtype, out_sharding)
    if not among(mode, _GUMBEL_MODES):
        raise UsageError(message(f"random.gumbel: got mode={mode!r}", "'low', 'high' or 'highest'", "mode='high'"))
    info = dt.finfo(d)
    if mode in (None, "low"):
        return ew.neg(ew.log(ew.neg(ew.log(between(k, extents, d, d.type(info.tiny), d.type(1))))))
    if mode == "highest" and d == dt.float32:
        return _gumbel_64(k, extents)
    pair = _unit(k, (2, *extents), d)
    high, low = pair[0], pair[1]
    finer = ew.add(ew.add(high, ew.mul(low, d.type(2.0**-info.nmant))), d.type(info.tiny))
    x = ew.select_n(ew.ge(high, d.type(0.5)), finer, high)
    return ew.neg(ew.log(ew.neg(ew.log1p(ew.neg(x)))))


def _gumbel_64(key: Any, shape: tuple[int, ...]) -> Any:
    """From 64 bits as a fixed-point number u in (0, 1): the side of 1/2 decides whether u or 1 - u becomes the float."""
    u32, f32 = np.uint32, dt.float32
    words = random_bits(key, bit_width=32, shape=(2, *shape))
    hi, lo = words[0], words[1]
    below = ew.lt(hi, u32(1 << 31))
    # 1 - u, as a complement of 64 bits.
    carry = ew.convert(ew.eq(ew.not_(lo), u32(0xFFFFFFFF)), dt.uint32)
    other_hi, other_lo = ew.add(ew.not_(hi), carry), ew.add(ew.not_(lo), u32(1))
    hi, lo = ew.select_n(below, other_hi, hi), ew.select_n(below, other_lo, lo)
    lead_hi, lead_lo = ew.clz(hi), ew.clz(lo)
    empty = ew.eq(lead_hi, u32(32))
    fraction = ew.or_(
        ew.shift_left(hi, lead_hi),
        ew.select_n(empty, ew.shift_right_logical(lo, ew.sub(u32(32), lead_hi)), ew.shift_left(lo, lead_lo)),
    )
    fraction = ew.and_(ew.shift_right_logical(fraction, u32(8)), u32((1 << 23) - 1))
    lead = ew.select_n(empty, lead_hi, ew.add(lead_lo, u32(32)))
    exponent = ew.and_(ew.shift_left(ew.sub(u32(126), lead), u32(23)), u32((1 << 30) - (1 << 22)))
    x = ew.bitcast_convert_type(ew.or_(exponent, fraction), new_dtype=f32)
    by_log1p = ew.neg(ew.log(ew.neg(ew.log1p(ew.neg(x)))))
    return ew.select_n(below, ew.neg(ew.log(ew.neg(ew.log(x)))), by_log1p)


def lognormal(key: Any, sigma: Any = _ONE, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """exp(sigma * normal); shape: that of sigma where it is left out. dtype: floating, the default float without one.

    >>> random.lognormal(random.key(0), 0.5, (3,))
    Array([2.2508795 , 2.7528381 , 0.80509317], dtype=float32)
    """
    no_sharding("lognormal", out_sharding)
    d = float_dtype("lognormal", dtype)
    s = parameter("lognormal", "sigma", sigma, d)
    extents = draw_shape("lognormal", shape, s)
    return ew.exp(ew.mul(normal(key, extents, d), over(s, extents)))


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Pareto numbers of shape parameter b: density b / x^(b + 1) for x >= 1. shape: that of b where it is left out.

    >>> random.pareto(random.key(0), 2.0, (3,))
    Array([4.3713155, 6.8326483, 1.223789 ], dtype=float32)
    """
    no_sharding("pareto", out_sharding)
    d = float_dtype("pareto", dtype)
    p = parameter("pareto", "b", b, d)
    extents = draw_shape("pareto", shape, p)
    return ew.exp(ew.div(exponential(key, extents, d), over(p, extents)))


def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Rayleigh numbers of this scale: density x exp(-x^2 / 2 s^2) / s^2 for x >= 0. shape: that of scale where it is left out.

    >>> random.rayleigh(random.key(0), 2.0, (3,))
    Array([0.65575665, 0.41620055, 2.9688284 ], dtype=float32)
    """
    no_sharding("rayleigh", out_sharding)
    d = float_dtype("rayleigh", dtype)
    s = parameter("rayleigh", "scale", scale, d)
    extents = draw_shape("rayleigh", shape, s)
    u = _unit(single("rayleigh", key), extents, d)
    return ew.mul(ew.sqrt(ew.mul(ew.log(u), d.type(-2))), over(s, extents))


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Weibull numbers: scale * (-log(1 - u)) ** (1 / concentration). dtype: floating, the default float without one.

    >>> random.weibull_min(random.key(0), 2.0, 1.5, (3,))
    Array([4.1139336, 4.9072957, 1.0928195], dtype=float32)
    """
    d = float_dtype("weibull_min", dtype)
    s, c = parameter("weibull_min", "scale", scale, d), parameter("weibull_min", "concentration", concentration, d)
    extents = draw_shape("weibull_min", shape, s, c)
    u = _unit(single("weibull_min", key), extents, d)
    inverse = ew.div(d.type(1), c) if isinstance(c, Value) else d.type(1.0 / float(c) if c else np.inf)
    return ew.mul(power(ew.neg(ew.log1p(ew.neg(u))), inverse), over(s, extents))


def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Maxwell numbers: the length of a vector of three normal ones. dtype: floating, the default float without one.

    >>> random.maxwell(random.key(0), (3,))
    Array([2.6310966 , 0.99103296, 0.9649305 ], dtype=float32)
    """
    k, extents, d = _plain("maxwell", key, shape, dtype, out_sharding)
    return norm(normal(k, (*extents, 3), d), axis=-1)


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Maxwell numbers with a random sign, times `scale`, plus `loc`; the parameters' shape comes after `shape`.

    >>> random.double_sided_maxwell(random.key(0), 10.0, 2.0, (3,))
    Array([13.091442 , 13.148255 ,  5.8349385], dtype=float32)
    >>> random.double_sided_maxwell(random.key(0), fnp.zeros(2), 1.0, (4,)).shape
    (4, 2)
    """
    d = float_dtype("double_sided_maxwell", dtype)
    at, s = parameter("double_sided_maxwell", "loc", loc, d), parameter("double_sided_maxwell", "scale", scale, d)
    own = broadcast_shapes_of([aval_of(at).shape, aval_of(s).shape], "random.double_sided_maxwell")
    extents = (shape_of(shape, "random.double_sided_maxwell") or own) + own
    keys = split(single("double_sided_maxwell", key))
    sizes = maxwell(keys[0], extents, d)
    up = ew.lt(_unit(keys[1], extents, dt.default_float()), dt.default_float().type(0.5))
    signed = ew.mul(ew.select_n(up, full(extents, d.type(-1)), full(extents, d.type(1))), sizes)
    return ew.add(ew.mul(signed, over(s, extents)), over(at, extents))


def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Wald (inverse Gaussian) numbers of this mean and scale 1. Michael, Schucany and Haas, 1976.

    shape: that of mean where it is left out.

    >>> random.wald(random.key(0), fnp.array([1.0, 2.0, 3.0]))
    Array([0.38059747, 0.5981152 , 0.88658905], dtype=float32)
    """
    no_sharding("wald", out_sharding)
    d = float_dtype("wald", dtype)
    m = parameter("wald", "mean", mean, d)
    extents = draw_shape("wald", shape, m)
    m = over(m, extents) if isinstance(m, Value) else full(extents, m)
    keys = split(single("wald", key))
    y = ew.square(normal(keys[0], extents, d))
    z = _unit(keys[1], extents, d)
    # The roots of their equation are m / s and m s; the lesser one as a difference would cancel for a large mean.
    my = ew.mul(m, y)
    root = ew.sqrt(ew.mul(my, ew.add(my, like(m, 4))))
    s = ew.add(like(m, 1), ew.div(ew.add(my, root), like(m, 2)))
    return ew.select_n(ew.le(z, ew.div(s, ew.add(s, like(m, 1)))), ew.mul(m, s), ew.div(m, s))


def triangular(
    key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Triangular numbers between `left` and `right` with their peak at `mode`. shape: theirs where it is left out.

    >>> random.triangular(random.key(0), 0.0, 1.0, 4.0, (3,))
    Array([3.2075381, 3.4930074, 1.1693635], dtype=float32)
    """
    no_sharding("triangular", out_sharding)
    d = float_dtype("triangular", dtype)
    a, c, b = [parameter("triangular", n, x, d) for n, x in (("left", left), ("mode", mode), ("right", right))]
    extents = draw_shape("triangular", shape, a, c, b)
    a, c, b = [over(x, extents) if isinstance(x, Value) else full(extents, x) for x in (a, c, b)]
    u = _unit(single("triangular", key), extents, d)
    width, rise, fall = ew.sub(b, a), ew.sub(c, a), ew.sub(b, c)
    up = ew.add(a, ew.sqrt(ew.mul(ew.mul(u, width), rise)))
    down = ew.sub(b, ew.sqrt(ew.mul(ew.mul(ew.sub(d.type(1), u), width), fall)))
    return ew.select_n(ew.lt(u, ew.div(rise, width)), down, up)
