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
from funcgrad.core.arguments import among
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, message
from funcgrad.numpy._axes import axes_of, shape_of
from funcgrad.numpy.elementwise import multiply, sqrt
from funcgrad.numpy.filled import full
from funcgrad.numpy.structure import moveaxis, reshape
from funcgrad.ops import elementwise as ew

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal", "truncated_normal",
    "uniform", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip


class Initializer(Protocol):
    """What the functions of this module give: `init(key, shape, dtype=..., out_sharding=None)` -> array.

    >>> init: nn.initializers.Initializer = nn.initializers.constant(0.5)
    >>> init(random.key(0), (2,))
    Array([0.5, 0.5], dtype=float32)
    """

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
    """Zeros; an initializer itself. The key is not used.

    >>> nn.initializers.zeros(random.key(0), (2, 3)).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    _no_sharding(out_sharding)
    return full(shape, 0, dt.default_float() if dtype is None else dtype)


def ones(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Ones; an initializer itself. The key is not used.

    >>> nn.initializers.ones(random.key(0), (2,), np.float16)
    Array([1., 1.], dtype=float16)
    """
    _no_sharding(out_sharding)
    return full(shape, 1, dt.default_float() if dtype is None else dtype)


def _drawing(draw: Callable[[Any, tuple[int, ...], np.dtype], Any], name: str, default: Any) -> Initializer:
    """An initializer that draws with a default dtype."""

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Any:
        _no_sharding(out_sharding)
        return draw(key, shape_of(shape, f"nn.initializers.{name}"), _inexact(name, default if dtype is None else dtype))

    return init


def constant(value: Any, dtype: Any = None) -> Initializer:
    """Every parameter is `value` (a scalar, or an array that broadcasts).

    >>> nn.initializers.constant(fnp.array([1.0, 2.0]))(random.key(0), (3, 2)).tolist()
    [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]
    """

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        _no_sharding(out_sharding)
        return full(shape, value, dt.default_float() if dtype is None else dtype)

    return init


def uniform(scale: Any = 0.01, dtype: Any = None) -> Initializer:
    """Uniform in [0, scale).

    >>> nn.initializers.uniform(scale=0.5)(random.key(0), (2, 2))
    Array([[0.4738335 , 0.48928994],
           [0.16614574, 0.23433423]], dtype=float32)
    """
    return _drawing(lambda key, shape, d: multiply(random.uniform(key, shape, d), scale), "uniform", dtype)


def normal(stddev: Any = 0.01, dtype: Any = None) -> Initializer:
    """Normal with mean 0 and this standard deviation.

    >>> nn.initializers.normal(stddev=0.1)(random.key(0), (2, 2))
    Array([[ 0.16226421,  0.20252648],
           [-0.04335944, -0.00786174]], dtype=float32)
    """
    return _drawing(lambda key, shape, d: multiply(random.normal(key, shape, d), stddev), "normal", dtype)


def truncated_normal(stddev: Any = 0.01, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0) -> Initializer:
    """Normal numbers between `lower` and `upper`, times stddev (the cut makes their deviation smaller than that).

    >>> x = nn.initializers.truncated_normal(stddev=0.1, lower=-1.0, upper=1.0)(random.key(0), (1000,))
    >>> bool(fnp.abs(x).max() <= 0.1)
    True
    """
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

    distribution: "uniform", "normal", or "truncated_normal" (cut at two standard deviations). in_axis, out_axis, batch_axis: axes
    (an integer or several) that count as inputs, outputs and separate layers.

    >>> init = nn.initializers.variance_scaling(1.0, "fan_in", "normal")
    >>> init(random.key(0), (400, 100)).std().round(3)  # 1 / sqrt(400)
    Array(0.05, dtype=float32)
    """
    if not among(mode, ("fan_in", "fan_out", "fan_avg", "fan_geo_avg")):
        raise UsageError(
            message(
                f"nn.initializers.variance_scaling: got mode={mode!r}",
                "'fan_in', 'fan_out', 'fan_avg', 'fan_geo_avg'",
                "mode='fan_in'",
            )
        )
    if not among(distribution, ("uniform", "normal", "truncated_normal")):
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


def _scaled(name: str, scale: float, mode: str, distribution: str, doc: str, example: str) -> Callable[..., Initializer]:
    def make(in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = (), dtype: Any = None) -> Initializer:
        if hasattr(in_axis, "aval"):
            raise UsageError(
                message(
                    f"nn.initializers.{name}: got {in_axis.aval.str_short()} for in_axis",
                    "axes; the key and the shape are for the function that this one returns",
                    f"nn.initializers.{name}()(key, shape)",
                )
            )
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__module__ = "funcgrad.nn.initializers"
    make.__doc__ = f"{doc} Arguments as for `variance_scaling`.\n{example}"
    return make


glorot_uniform = _scaled(
    "glorot_uniform",
    1.0,
    "fan_avg",
    "uniform",
    "Glorot's, also called Xavier's: variance 2 / (inputs + outputs), uniform.",
    """
>>> w = nn.initializers.glorot_uniform()(random.key(0), (100, 50))
>>> bool(fnp.abs(w).max() <= np.sqrt(6 / 150))
True
""",
)
glorot_normal = _scaled(
    "glorot_normal",
    1.0,
    "fan_avg",
    "truncated_normal",
    "Glorot's, also called Xavier's: variance 2 / (inputs + outputs), truncated normal.",
    """
>>> w = nn.initializers.glorot_normal()(random.key(0), (300, 100))
>>> (w.var() * 400 / 2).round(1)
Array(1., dtype=float32)
""",
)
lecun_uniform = _scaled(
    "lecun_uniform",
    1.0,
    "fan_in",
    "uniform",
    "LeCun's: variance 1 / inputs, uniform.",
    """
>>> w = nn.initializers.lecun_uniform()(random.key(0), (100, 50))
>>> bool(fnp.abs(w).max() <= np.sqrt(3 / 100))
True
""",
)
lecun_normal = _scaled(
    "lecun_normal",
    1.0,
    "fan_in",
    "truncated_normal",
    "LeCun's: variance 1 / inputs, truncated normal.",
    """
>>> w = nn.initializers.lecun_normal()(random.key(0), (300, 100))
>>> (w.var() * 300).round(1)
Array(1., dtype=float32)
""",
)
he_uniform = _scaled(
    "he_uniform",
    2.0,
    "fan_in",
    "uniform",
    "He's, for relu, also called Kaiming's: variance 2 / inputs, uniform.",
    """
>>> w = nn.initializers.he_uniform()(random.key(0), (100, 50))
>>> bool(fnp.abs(w).max() <= np.sqrt(6 / 100))
True
""",
)
he_normal = _scaled(
    "he_normal",
    2.0,
    "fan_in",
    "truncated_normal",
    "He's, for relu, also called Kaiming's: variance 2 / inputs, truncated normal.",
    """
>>> kernel = nn.initializers.he_normal()(random.key(0), (3, 3, 50, 100))  # the window counts: 9 * 50 inputs
>>> (kernel.var() * 450 / 2).round(1)
Array(1., dtype=float32)
""",
)
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


def orthogonal(scale: Any = 1.0, column_axis: Any = -1, dtype: Any = None) -> Initializer:
    """Uniform orthogonal matrices times scale (Saxe et al., 2013): the axes but `column_axis` are taken together as rows.

    >>> q = nn.initializers.orthogonal()(random.key(0), (3, 2))
    >>> fnp.abs(q.T @ q).round(3)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

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
    (Xiao et al., 2018); no more inputs than outputs.

    >>> kernel = nn.initializers.delta_orthogonal()(random.key(0), (3, 2, 2))
    >>> fnp.abs(kernel).sum((1, 2)) > 0
    Array([False,  True, False], dtype=bool)
    """

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
