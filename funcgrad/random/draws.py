"""The basic draws: bits, uniform, normal, truncated_normal, randint. Everything else is made of them.

The numbers are those of `jax.random` (partitionable threefry): a float is uniform bits in its mantissa, a normal is the inverse
error function of one, an integer is the remainder of twice as many bits as its dtype has. In a compiled program the
bits are made where they are used; no buffer of them exists.
"""

import math
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.config import config
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, message
from funcgrad.numpy._axes import shape_of
from funcgrad.numpy._promote import binary, broadcast_shapes_of, broadcast_value, cast, operand
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full
from funcgrad.ops.bits import random_bits
from funcgrad.random._tails import far_normal, far_out
from funcgrad.random.keys import single, split
from funcgrad.trace.value import Value, aval_of

__all__ = ["bits", "normal", "randint", "truncated_normal", "uniform"]


def float_dtype(name: str, dtype: Any) -> np.dtype:
    """The dtype of a real draw; None is the default float."""
    d = dt.default_float() if dtype is None or dtype is float else dt.canonical(dtype)
    if d not in dt.FLOATS:
        raise DtypeError(message(f"random.{name}: got dtype={dt.short_name(d)}", "a floating dtype", "dtype='float32'"))
    return d


def no_sharding(name: str, out_sharding: Any) -> None:
    """Arrays lie on one device."""
    if out_sharding is not None:
        raise UsageError(message(f"random.{name}: got out_sharding", "None: arrays lie on one device", "leave it out"))


def draw_shape(name: str, shape: Any, *parameters: Any) -> tuple[int, ...]:
    """The shape of a draw with these parameters: the given one, which they must broadcast to, or (None) their own."""
    shapes = [aval_of(p).shape for p in parameters]
    if shape is None:
        return broadcast_shapes_of(shapes, f"random.{name}")
    out = shape_of(shape, f"random.{name}")
    if parameters and broadcast_shapes_of([out, *shapes], f"random.{name}") != out:
        raise ShapeError(
            message(
                f"random.{name}: got shape={out} for parameters of shapes {shapes}",
                "a shape that the parameters broadcast to",
                "leave shape out",
            )
        )
    return out


def parameter(name: str, arg: str, x: Any, dtype: np.dtype) -> Any:
    """A parameter of a distribution as a value or literal of `dtype`."""
    return cast(operand(x, f"random.{name}", arg), dtype)


def over(x: Any, shape: tuple[int, ...]) -> Any:
    """A parameter repeated to the shape of the draw; a literal stays."""
    return broadcast_value(x, shape) if isinstance(x, Value) else x


def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Uniform random bits as unsigned integers; dtype uint32 without one (uint64 where the default float is float64).

    >>> random.bits(random.key(0), (3,), np.uint8)
    Array([167, 146,  40], dtype=uint8)
    """
    no_sharding("bits", out_sharding)
    d = (dt.uint64 if config.enable_x64 else dt.uint32) if dtype is None else dt.canonical(dtype)
    if d not in dt.UNSIGNED:
        raise DtypeError(
            message(f"random.bits: got dtype={dt.short_name(d)}", "uint8, uint16, uint32 or uint64", "dtype='uint32'")
        )
    return random_bits(single("bits", key), bit_width=d.itemsize * 8, shape=shape_of(shape, "random.bits"))


def uniform(
    key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0, *, out_sharding: Any = None
) -> Any:
    """Real numbers uniform in [minval, maxval).

    Args: key: one key. shape: integer or tuple. dtype: floating; float32 without one. minval, maxval: scalars or arrays that
    broadcast
    to the shape.

    >>> random.uniform(random.key(0), (2,))
    Array([0.947667 , 0.9785799], dtype=float32)

    >>> random.uniform(random.key(0), (2, 2), minval=-1.0)
    Array([[ 0.895334  ,  0.95715976],
           [-0.33541703, -0.06266308]], dtype=float32)
    """
    no_sharding("uniform", out_sharding)
    d = float_dtype("uniform", dtype)
    low, high = parameter("uniform", "minval", minval, d), parameter("uniform", "maxval", maxval, d)
    return between(single("uniform", key), draw_shape("uniform", shape, low, high), d, low, high)


def between(key: Any, shape: tuple[int, ...], d: np.dtype, low: Any, high: Any) -> Any:
    """Uniform in [low, high), which are values or literals of dtype d."""
    width, mantissa = d.itemsize * 8, int(dt.finfo(d).nmant)
    drawn = 8 if mantissa < 8 else width
    word = ew.shift_right_logical(random_bits(key, bit_width=drawn, shape=shape), np.dtype(f"uint{drawn}").type(drawn - mantissa))
    # As the mantissa m of a number in [1, 2), less 1, this is m / 2**mantissa exactly; by conversion it stays one expression.
    whole = ew.convert(word, np.dtype(f"int{width}"))
    unit = ew.mul(ew.convert(whole, d), d.type(2.0**-mantissa))
    if not isinstance(low, Value) and not isinstance(high, Value):
        if low == 0 and high == 1:
            return unit
        return ew.max(ew.add(ew.mul(unit, d.type(high - low)), low), low)
    span = binary(ew.sub, high, low, "random.uniform")
    low = over(low, shape)
    return ew.max(ew.add(ew.mul(unit, over(span, shape)), low), low)


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Normal numbers of mean 0 and variance 1 (complex: of both parts together).

    dtype: floating or complex; float32 without one.

    >>> random.normal(random.key(0), (2,))
    Array([1.622642 , 2.0252647], dtype=float32)
    """
    no_sharding("normal", out_sharding)
    d = dt.default_float() if dtype is None or dtype is float else dt.canonical(dtype)
    k = single("normal", key)
    extents = shape_of(shape, "random.normal")
    if d in dt.COMPLEXES:
        half = dt.float64 if d == dt.complex128 else dt.float32
        keys = split(k)
        parts = [_normal(keys[i], extents, half) for i in range(2)]
        return ew.div(ew.complex(*parts), d.type(math.sqrt(2)))
    return _normal(k, extents, float_dtype("normal", d))


def _normal(key: Any, shape: tuple[int, ...], d: np.dtype) -> Any:
    lowest = np.nextafter(np.array(-1, d), np.array(0, d)).astype(d)[()]
    return ew.mul(d.type(math.sqrt(2)), ew.erf_inv(between(key, shape, d, lowest, d.type(1))))


def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Normal numbers within (lower, upper); the bounds broadcast, to the shape or to each other (shape=None).

    Bounds may lie far out, as (30, inf): beyond 4 (in float64, 6) on one side the numbers come from the tail itself.

    >>> random.truncated_normal(random.key(0), -0.5, 2.0, (3,))
    Array([1.5739814 , 1.7856988 , 0.07714262], dtype=float32)
    """
    no_sharding("truncated_normal", out_sharding)
    d = float_dtype("truncated_normal", dtype)
    low, high = parameter("truncated_normal", "lower", lower, d), parameter("truncated_normal", "upper", upper, d)
    extents = draw_shape("truncated_normal", shape, low, high)
    k, far = single("truncated_normal", key), far_out(low, high, extents)
    root = d.type(math.sqrt(2))
    a, b = [ew.erf(ew.div(x, root)) if isinstance(x, Value) else _erf(x / root, d) for x in (low, high)]
    out = ew.mul(root, ew.erf_inv(between(k, extents, d, a, b)))
    if far is not False:
        tail = far_normal(between(k, extents, d, d.type(0), d.type(1)), low, high, far)
        out = tail if far is True else ew.select_n(far, out, tail)
    # Rounding must not lead out of the open interval.
    inner_low, inner_high = [
        ew.nextafter(ew.stop_gradient(x), full(aval_of(x).shape, d.type(to)))
        if isinstance(x, Value)
        else np.nextafter(x, d.type(to))
        for x, to in ((low, np.inf), (high, -np.inf))
    ]
    return ew.min(ew.max(out, over(inner_low, extents)), over(inner_high, extents))


def _erf(x: Any, d: np.dtype) -> Any:
    """The error function of a literal, as a literal."""
    return d.type(math.erf(float(x)))


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Integers uniform in [minval, maxval); minval itself where maxval is not above it.

    Args: minval, maxval: integers, or arrays of them that broadcast to the shape; cut to what the dtype holds (maxval may be one
    above it). dtype: an integer dtype; int64 without one, drawn with 32 bits where the bounds fit them, as JAX does by default.

    >>> random.randint(random.key(0), (3,), 0, 10)
    Array([9, 0, 2], dtype=int64)
    """
    no_sharding("randint", out_sharding)
    low, high = operand(minval, "random.randint", "minval"), operand(maxval, "random.randint", "maxval")
    low, high = _whole(low, "minval"), _whole(high, "maxval")
    if dtype is None:
        d, work = dt.int64, dt.int32 if not config.enable_x64 and _narrow(low) and _narrow(high) else dt.int64
    else:
        d = work = dt.canonical(dtype)
    if d not in dt.INTEGERS:
        raise DtypeError(message(f"random.randint: got dtype={dt.short_name(d)}", "an integer dtype", "dtype='int32'"))
    if d.itemsize < 4:
        # Drawn with 32 bits, which leaves less bias.
        info = np.iinfo(d)
        low, high = (
            _clipped(low, int(info.min), int(info.max), dt.int32),
            _clipped(high, int(info.min), int(info.max) + 1, dt.int32),
        )
        work = dt.int32
    extents = draw_shape("randint", shape, low, high)
    return ew.convert(_randint(single("randint", key), extents, low, high, work), d)


def _whole(x: Any, arg: str) -> Any:
    if isinstance(x, Value):
        return x if x.aval.dtype in dt.INTEGERS else ew.convert(x, dt.int64)
    if isinstance(x, complex) or not np.isfinite(float(x)):
        raise UsageError(message(f"random.randint: got {x} for {arg}", "a finite number", f"int({arg})"))
    return int(x)


def _narrow(x: Any) -> bool:
    """Whether a bound fits 32 signed bits."""
    if isinstance(x, Value):
        return x.aval.dtype in (dt.int8, dt.int16, dt.int32, dt.uint8, dt.uint16)
    return -(2**31) <= x < 2**31


def _clipped(x: Any, low: int, high: int, d: np.dtype) -> Any:
    """An integer cut to [low, high], in dtype d."""
    if not isinstance(x, Value):
        return d.type(min(max(x, low), high))
    info = np.iinfo(x.aval.dtype)
    x = ew.max(ew.min(x, x.aval.dtype.type(min(high, int(info.max)))), x.aval.dtype.type(max(low, int(info.min))))
    return ew.convert(x, d)


def _randint(key: Any, shape: tuple[int, ...], low: Any, high: Any, d: np.dtype) -> Any:
    info = np.iinfo(d)
    largest = int(info.max)
    if isinstance(high, Value):
        own_max = int(np.iinfo(high.aval.dtype).max)
        beyond: Any = ew.gt(high, high.aval.dtype.type(min(largest, own_max)))
    else:
        beyond = bool(int(high) > largest)
    low, high = [_clipped(x if isinstance(x, Value) else int(x), int(info.min), largest, d) for x in (low, high)]
    width = d.itemsize * 8
    unsigned = np.dtype(f"uint{width}")
    if isinstance(low, Value) or isinstance(high, Value) or isinstance(beyond, Value):
        low, high = [broadcast_value(x, shape) if isinstance(x, Value) else full(shape, x) for x in (low, high)]
        above = ew.gt(high, low)
        span = ew.select_n(above, unsigned.type(1), ew.convert(ew.sub(high, low), unsigned))
        if isinstance(beyond, Value):
            more = ew.and_(broadcast_value(beyond, shape), above)
            span = ew.select_n(more, span, ew.add(span, unsigned.type(1)))
    else:
        known = int(high) - int(low)
        known = 1 if known <= 0 else (known + beyond) % 2**width
        span = unsigned.type(known)
    keys = split(key)
    upper, lower = [random_bits(keys[i], bit_width=width, shape=shape) for i in range(2)]
    if not isinstance(span, Value):
        factor: Any = unsigned.type(_rem(_rem(2 ** (width // 2), int(span)) ** 2 % 2**width, int(span)))
    else:
        factor = ew.rem(unsigned.type(2 ** (width // 2)), span)
        factor = ew.rem(ew.mul(factor, factor), span)
    # (upper * 2**width + lower) % span, by parts that fit the dtype.
    offset = ew.add(ew.mul(ew.rem(upper, span), factor), ew.rem(lower, span))
    offset = ew.convert(ew.rem(offset, span), d)
    return ew.add(low, offset)


def _rem(a: int, b: int) -> int:
    return a % b if b else a
