"""Initial values of parameters: each function gives an initializer `init(key, shape, dtype)`, which draws them.

Variance scaling follows Glorot and Bengio (2010), LeCun et al. (1998) and He et al. (2015). `in_axis`, `out_axis` and
`batch_axis` say which
axes of the shape count as inputs, outputs and separate layers; the others are a receptive field.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from funcgrad import random
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, message
from funcgrad.numpy._axes import axes_of, shape_of
from funcgrad.numpy.creation import full
from funcgrad.numpy.elementwise import multiply, sqrt
from funcgrad.numpy.structure import moveaxis, reshape
from funcgrad.ops import elementwise as ew

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal", "truncated_normal",
    "uniform", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip


class Initializer(Protocol):
    """What the functions of this module give: `init(key, shape, dtype=..., out_sharding=None)` -> array."""

    def __call__(self, key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any: ...


def _no_sharding(out_sharding: Any) -> None:
    if out_sharding is not None:
        raise UsageError(message("initializer: got out_sharding", "None: arrays lie on one device", "leave it out"))


def _inexact(name: str, dtype: Any) -> np.dtype:
    d = dt.default_float() if dtype is None or dtype is float else dt.canonical(dtype)
    if d not in dt.INEXACT:
        raise DtypeError(
            message(f"nn.initializers.{name}: got dtype={dt.short_name(d)}", "a floating or complex dtype", "dtype='float32'")
        )
    return d


def zeros(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Zeros; an initializer itself. The key is not used."""
    _no_sharding(out_sharding)
    return full(shape, 0, dt.default_float() if dtype is None else dtype)


def ones(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Ones; an initializer itself. The key is not used."""
    _no_sharding(out_sharding)
    return full(shape, 1, dt.default_float() if dtype is None else dtype)


def _drawing(draw: Callable[[Any, tuple[int, ...], np.dtype], Any], name: str, default: Any) -> Initializer:
    """An initializer that draws with a default dtype."""

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Any:
        _no_sharding(out_sharding)
        return draw(key, shape_of(shape, f"nn.initializers.{name}"), _inexact(name, default if dtype is None else dtype))

    return init


def constant(value: Any, dtype: Any = None) -> Initializer:
    """Every parameter is `value` (a scalar, or an array that broadcasts)."""

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        _no_sharding(out_sharding)
        return full(shape, value, dt.default_float() if dtype is None else dtype)

    return init


def uniform(scale: Any = 0.01, dtype: Any = None) -> Initializer:
    """Uniform in [0, scale)."""
    return _drawing(lambda key, shape, d: multiply(random.uniform(key, shape, d), scale), "uniform", dtype)


def normal(stddev: Any = 0.01, dtype: Any = None) -> Initializer:
    """Normal with mean 0 and this standard deviation."""
    return _drawing(lambda key, shape, d: multiply(random.normal(key, shape, d), stddev), "normal", dtype)


def truncated_normal(stddev: Any = 0.01, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0) -> Initializer:
    """Normal numbers between `lower` and `upper`, times stddev (the cut makes their deviation smaller than that)."""
    return _drawing(
        lambda key, shape, d: multiply(random.truncated_normal(key, lower, upper, shape, d), stddev), "truncated_normal", dtype
    )


def _fans(shape: tuple[int, ...], in_axis: Any, out_axis: Any, batch_axis: Any) -> tuple[float, float]:
    """The numbers of inputs and outputs of one unit, receptive field included."""
    rank = len(shape)
    if rank <= 1 and in_axis == -2 and out_axis == -1:
        raise ShapeError(
            message(
                f"nn.initializers.variance_scaling: got shape {shape}",
                "two or more axes",
                "in_axis=, out_axis= for other layouts",
            )
        )
    groups = [
        axes_of(a if not isinstance(a, list) else tuple(a), rank, "nn.initializers.variance_scaling", n)
        for a, n in ((in_axis, "in_axis"), (out_axis, "out_axis"), (batch_axis, "batch_axis"))
    ]
    sizes = [math.prod([shape[i] for i in g]) for g in groups]
    field = math.prod(shape) / max(1, sizes[0] * sizes[1] * sizes[2])
    return sizes[0] * field, sizes[1] * field


# The standard deviation of a normal distribution cut at 2 standard deviations.
_CUT_AT_TWO = 0.87962566103423978
# The same for the modulus of a complex normal cut at 2.
_DISC_AT_TWO = 0.95311164380491208


def variance_scaling(
    scale: Any, mode: str, distribution: str, in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = (), dtype: Any = None
) -> Initializer:
    """Draws of variance scale / n, n by `mode`: "fan_in", "fan_out", "fan_avg" or "fan_geo_avg".

    distribution: "uniform", "normal", or "truncated_normal" (cut at two standard deviations).
    """
    if mode not in ("fan_in", "fan_out", "fan_avg", "fan_geo_avg"):
        raise UsageError(
            message(
                f"nn.initializers.variance_scaling: got mode={mode!r}",
                "'fan_in', 'fan_out', 'fan_avg', 'fan_geo_avg'",
                "mode='fan_in'",
            )
        )
    if distribution not in ("uniform", "normal", "truncated_normal"):
        raise UsageError(
            message(
                f"nn.initializers.variance_scaling: got distribution={distribution!r}",
                "'uniform', 'normal', 'truncated_normal'",
                "distribution='normal'",
            )
        )

    def draw(key: Any, shape: tuple[int, ...], d: np.dtype) -> Any:
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2, "fan_geo_avg": math.sqrt(fan_in * fan_out)}[
            mode
        ]
        real = {dt.complex64: dt.float32, dt.complex128: dt.float64}.get(d, d)
        variance = scale / n if n else 0.0
        deviation = (
            sqrt(variance)
            if hasattr(variance, "aval")
            else np.sqrt(np.asarray(variance, real if real not in dt.FLOATS or real.itemsize > 2 else np.float32)).astype(real)[
                ()
            ]
        )
        if distribution == "normal":
            return multiply(random.normal(key, shape, d), deviation)
        if d in dt.COMPLEXES:
            return _complex_draw(key, shape, d, real, deviation, distribution)
        if distribution == "uniform":
            return multiply(
                random.uniform(key, shape, d, -1),
                multiply(deviation, math.sqrt(3)) if hasattr(deviation, "aval") else real.type(math.sqrt(3) * float(deviation)),
            )
        cut = multiply(deviation, 1 / _CUT_AT_TWO) if hasattr(deviation, "aval") else real.type(float(deviation) / _CUT_AT_TWO)
        return multiply(random.truncated_normal(key, -2, 2, shape, d), cut)

    return _drawing(draw, "variance_scaling", dtype)


def _complex_draw(key: Any, shape: tuple[int, ...], d: np.dtype, real: np.dtype, deviation: Any, distribution: str) -> Any:
    """Complex numbers in a disc: a radius whose square is uniform (cut normal: exponential), and an angle."""
    keys = random.split(key)
    angle = ew.mul(random.uniform(keys[1], shape, real), real.type(2 * math.pi))
    u = random.uniform(keys[0], shape, real)
    if distribution == "uniform":
        radius, factor = ew.sqrt(u), math.sqrt(2)
    else:
        # The radius of a complex normal cut at two deviations, by inversion; the factor restores the variance.
        top = 1 - math.exp(-4.0)
        radius = ew.sqrt(ew.neg(ew.log1p(ew.mul(u, real.type(-top)))))
        factor = 1 / _DISC_AT_TWO
    direction = ew.complex(ew.mul(radius, ew.cos(angle)), ew.mul(radius, ew.sin(angle)))
    return multiply(
        direction, multiply(deviation, factor) if hasattr(deviation, "aval") else real.type(float(deviation) * factor)
    )


def _scaled(scale: float, mode: str, distribution: str, doc: str) -> Callable[..., Initializer]:
    def make(in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = (), dtype: Any = None) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__doc__ = doc
    make.__module__ = "funcgrad.nn.initializers"
    return make


glorot_uniform = _scaled(1.0, "fan_avg", "uniform", "Glorot's: variance 2 / (inputs + outputs), uniform.")
glorot_normal = _scaled(1.0, "fan_avg", "truncated_normal", "Glorot's: variance 2 / (inputs + outputs), truncated normal.")
lecun_uniform = _scaled(1.0, "fan_in", "uniform", "LeCun's: variance 1 / inputs, uniform.")
lecun_normal = _scaled(1.0, "fan_in", "truncated_normal", "LeCun's: variance 1 / inputs, truncated normal.")
he_uniform = _scaled(2.0, "fan_in", "uniform", "He's, for relu: variance 2 / inputs, uniform.")
he_normal = _scaled(2.0, "fan_in", "truncated_normal", "He's, for relu: variance 2 / inputs, truncated normal.")
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal
for _name in ("glorot_uniform", "glorot_normal", "lecun_uniform", "lecun_normal", "he_uniform", "he_normal"):
    globals()[_name].__name__ = globals()[_name].__qualname__ = _name


def orthogonal(scale: Any = 1.0, column_axis: Any = -1, dtype: Any = None) -> Initializer:
    """Uniform orthogonal matrices times scale (Saxe et al., 2013): the axes but `column_axis` are taken together as rows."""

    def draw(key: Any, shape: tuple[int, ...], d: np.dtype) -> Any:
        if len(shape) < 2:
            raise ShapeError(message(f"nn.initializers.orthogonal: got shape {shape}", "two or more axes", "(n, 1)"))
        if 0 in shape:
            return full(shape, 0, d)
        (axis,) = axes_of(column_axis, len(shape), "nn.initializers.orthogonal", "column_axis")
        others = tuple([n for i, n in enumerate(shape) if i != axis])
        q = random.orthogonal(key, math.prod(others), (), d, shape[axis])
        return multiply(moveaxis(reshape(q, (*others, shape[axis])), -1, axis), scale)

    return _drawing(draw, "orthogonal", dtype)


def delta_orthogonal(scale: Any = 1.0, column_axis: Any = -1, dtype: Any = None) -> Initializer:
    """Kernels of convolutions (1 to 3 spatial axes, inputs, outputs) that are 0 but for an orthogonal matrix in the middle
    (Xiao et al., 2018); no more inputs than outputs."""

    def draw(key: Any, shape: tuple[int, ...], d: np.dtype) -> Any:
        if len(shape) not in (3, 4, 5) or shape[-1] < shape[-2]:
            raise ShapeError(
                message(
                    f"nn.initializers.delta_orthogonal: got shape {shape}",
                    "3 to 5 axes, the last at least as long as the one before",
                    "(3, 3, inputs, outputs)",
                )
            )
        matrix = orthogonal(scale, column_axis, d)(key, shape[-2:])
        return full(shape, 0, d).at[tuple([(n - 1) // 2 for n in shape[:-2]])].set(matrix)

    return _drawing(draw, "delta_orthogonal", dtype)
