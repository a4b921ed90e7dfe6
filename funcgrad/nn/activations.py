"""Activation functions: elementwise, of any shape, in the dtype of x (integers become the default float).

Where a formula would overflow or divide by zero on the side that is not taken, its argument is replaced there, so that gradients
of any order stay finite. At kinks the derivative is the one that the docstring names.
"""

import math
from collections.abc import Callable
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import DtypeError, UsageError, message
from funcgrad.numpy._axes import axis_of
from funcgrad.numpy._promote import as_value, binary, common_inexact, operand
from funcgrad.numpy.arithmetic import clip
from funcgrad.numpy.structure import cut
from funcgrad.numpy.trigonometric import tanh as _tanh
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.trace.value import aval_of

__all__ = [
    "celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity", "leaky_relu", "log1mexp",
    "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softplus", "sparse_plus",
    "sparse_sigmoid", "squareplus", "swish", "tanh",
]  # fmt: skip


def inexact(x: Any, name: str) -> Any:
    """`x` as a value or scalar of a float or complex dtype."""
    return common_inexact(operand(x, f"nn.{name}", "x"))[0]


def real_float(x: Any, name: str) -> Any:
    """As `inexact`, without complex numbers."""
    v = inexact(x, name)
    if aval_of(v).dtype in dt.COMPLEXES:
        raise DtypeError(message(f"nn.{name}: got {aval_of(v).str_short()}", "real numbers", "x.real or fnp.abs(x)"))
    return v


def tanh(x: Any, /) -> Any:
    """Hyperbolic tangent. `fnp.tanh` under its name as an activation.

    >>> nn.tanh(np.array([-1.0, 0.0, 20.0]))
    Array([-0.76159416,  0.        ,  1.        ], dtype=float64)
    """
    return _tanh(x)


def identity(x: Any) -> Any:
    """x as an array.

    >>> nn.identity(np.array([1.0, 2.0]))
    Array([1., 2.], dtype=float64)
    """
    return as_value(x, "nn.identity", "x")


def relu(x: Any) -> Any:
    """max(x, 0), of any real dtype. The derivative at 0 is 0.

    >>> nn.relu(fnp.array([-1.0, 2.0]))
    Array([0., 2.], dtype=float32)
    >>> fg.grad(nn.relu)(0.0)
    Array(0., dtype=float32)
    """
    v = as_value(x, "nn.relu", "x")
    zero = like(v, 0)
    # A choice, not a maximum: what is cut off, also NaN's neighbours and infinities, takes a hard zero as gradient.
    return ew.select_n(ew.le(v, zero), v, zero) if v.dtype != dt.bool_ else v


def relu6(x: Any) -> Any:
    """min(max(x, 0), 6). The derivative at 0 and 6 is 0.

    >>> nn.relu6(fnp.array([-1.0, 2.0, 9.0]))
    Array([0., 2., 6.], dtype=float32)
    """
    v = real_float(x, "relu6")
    zero, six = like(v, 0), like(v, 6)
    return ew.select_n(ew.le(v, zero), ew.select_n(ew.ge(v, six), v, six), zero)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow at either end.

    >>> nn.sigmoid(np.array([-1000.0, 0.0, 2.0]))
    Array([0.        , 0.5       , 0.88079708], dtype=float64)
    """
    return ew.logistic(inexact(x, "sigmoid"))


def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)) = -softplus(-x), exact for large negative x.

    >>> nn.log_sigmoid(np.array([-1000.0, 0.0]))
    Array([-1.00000000e+03, -6.93147181e-01], dtype=float64)
    """
    return ew.neg(softplus(ew.neg(real_float(x, "log_sigmoid"))))


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow.

    >>> nn.softplus(np.array([-1.0, 0.0, 1000.0]))
    Array([3.13261688e-01, 6.93147181e-01, 1.00000000e+03], dtype=float64)
    """
    v = real_float(x, "softplus")
    # On either side of 0 the same analytic function, written so that exp never overflows.
    positive = ew.gt(v, like(v, 0))
    size = ew.select_n(positive, v, ew.neg(v))
    tail = ew.log1p(ew.exp(size))
    return ew.select_n(positive, tail, ew.add(v, tail))


def soft_sign(x: Any) -> Any:
    """x / (|x| + 1).

    >>> nn.soft_sign(fnp.array([-3.0, 0.0, 1.0]))
    Array([-0.75,  0.  ,  0.5 ], dtype=float32)
    """
    v = inexact(x, "soft_sign")
    return binary(ew.div, v, ew.add(ew.abs(v), like(ew.abs(v), 1)), "soft_sign")


def silu(x: Any) -> Any:
    """x * sigmoid(x).

    >>> nn.silu(np.array([-1.0, 0.0, 1.0]))
    Array([-0.26894142,  0.        ,  0.73105858], dtype=float64)
    """
    v = inexact(x, "silu")
    return ew.mul(v, ew.logistic(v))


def swish(x: Any) -> Any:
    """Another name of `silu`.

    >>> nn.swish(np.array([-1.0, 0.0, 1.0]))
    Array([-0.26894142,  0.        ,  0.73105858], dtype=float64)
    """
    return silu(x)


def mish(x: Any) -> Any:
    """x * tanh(softplus(x)). Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", 2019.

    >>> nn.mish(np.array([-1.0, 0.0, 1.0]))
    Array([-0.30340146,  0.        ,  0.86509839], dtype=float64)
    """
    v = real_float(x, "mish")
    return ew.mul(v, ew.tanh(softplus(v)))


def gelu(x: Any, approximate: bool = True) -> Any:
    """x * Phi(x), Phi the standard normal distribution function: by tanh (approximate=True), or exactly by erfc.

    Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.

    >>> nn.gelu(np.array([-1.0, 1.0]))
    Array([-0.15880801,  0.84119199], dtype=float64)
    >>> nn.gelu(np.array([-1.0, 1.0]), approximate=False)
    Array([-0.15865525,  0.84134475], dtype=float64)
    """
    v = real_float(x, "gelu")
    half = like(v, 0.5)
    if flag(approximate, "nn.gelu", "approximate"):
        # beyond 12 tanh is 1 to all digits, and the cube could overflow
        near = ew.max(ew.min(v, like(v, 12)), like(v, -12))
        cubed = ew.mul(ew.square(near), near)
        inner = ew.mul(like(v, math.sqrt(2 / math.pi)), ew.add(near, ew.mul(like(v, 0.044715), cubed)))
        return ew.mul(v, ew.mul(half, ew.add(ew.tanh(inner), like(v, 1))))
    return ew.mul(ew.mul(half, v), ew.erfc(ew.mul(v, like(v, -math.sqrt(0.5)))))


def _negative_side(v: Any, f: Callable[[Any], Any]) -> Any:
    """f where v <= 0 and v elsewhere; f sees 0 in the place of positive numbers."""
    positive = ew.gt(v, like(v, 0))
    return ew.select_n(positive, f(ew.select_n(positive, v, like(v, 0))), v)


def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x for positive x, alpha * (exp(x) - 1) otherwise. Clevert et al., 2015.

    >>> nn.elu(np.array([-1.0, 2.0]))
    Array([-0.63212056,  2.        ], dtype=float64)
    >>> nn.elu(np.array([-1.0, 2.0]), alpha=2.0)
    Array([-1.26424112,  2.        ], dtype=float64)
    """
    v = real_float(x, "elu")
    return _negative_side(v, lambda w: binary(ew.mul, ew.expm1(w), alpha, "elu"))


def celu(x: Any, alpha: Any = 1.0) -> Any:
    """x for positive x, alpha * (exp(x / alpha) - 1) otherwise: continuously differentiable. Barron, 2017.

    >>> nn.celu(np.array([-1.0, 2.0]), alpha=2.0)
    Array([-0.78693868,  2.        ], dtype=float64)
    """
    v = real_float(x, "celu")
    return _negative_side(v, lambda w: binary(ew.mul, ew.expm1(binary(ew.div, w, alpha, "celu")), alpha, "celu"))


def selu(x: Any) -> Any:
    """elu with the constants that keep mean 0 and variance 1. Klambauer et al., "Self-Normalizing Neural Networks", 2017.

    >>> nn.selu(np.array([-1.0, 1.0]))
    Array([-1.11133074,  1.05070099], dtype=float64)
    """
    v = real_float(x, "selu")
    return ew.mul(elu(v, 1.6732632423543772848170429916717), like(v, 1.0507009873554804934193349852946))


def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """x for x >= 0, negative_slope * x otherwise.

    >>> nn.leaky_relu(fnp.array([-2.0, 3.0]), negative_slope=0.25)
    Array([-0.5,  3. ], dtype=float32)
    """
    v = real_float(x, "leaky_relu")
    scaled = binary(ew.mul, v, negative_slope, "leaky_relu")
    return ew.select_n(ew.ge(v, like(v, 0)), scaled, v)


def hard_tanh(x: Any) -> Any:
    """x between -1 and 1, and those bounds outside; the derivative at the bounds is 0.

    >>> nn.hard_tanh(fnp.array([-2.0, 0.5, 3.0]))
    Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    v = real_float(x, "hard_tanh")
    low, high = like(v, -1), like(v, 1)
    return ew.select_n(ew.ge(v, high), ew.select_n(ew.le(v, low), v, low), high)


def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6: straight from 0 at -3 to 1 at 3.

    >>> nn.hard_sigmoid(fnp.array([-4.0, 0.0, 1.5]))
    Array([0.  , 0.5 , 0.75], dtype=float32)
    """
    v = real_float(x, "hard_sigmoid")
    return ew.div(relu6(ew.add(v, like(v, 3))), like(v, 6))


def hard_silu(x: Any) -> Any:
    """x * hard_sigmoid(x). Howard et al., "Searching for MobileNetV3", 2019.

    >>> nn.hard_silu(fnp.array([-4.0, 1.5, 6.0]))
    Array([-0.   ,  1.125,  6.   ], dtype=float32)
    """
    v = real_float(x, "hard_silu")
    return ew.mul(v, hard_sigmoid(v))


def hard_swish(x: Any) -> Any:
    """Another name of `hard_silu`.

    >>> nn.hard_swish(fnp.array([-4.0, 1.5, 6.0]))
    Array([-0.   ,  1.125,  6.   ], dtype=float32)
    """
    return hard_silu(x)


def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + sqrt(x^2 + b)) / 2: like softplus, without exp. Barron, 2021.

    >>> nn.squareplus(fnp.array([0.0, 1.5]))
    Array([1., 2.], dtype=float32)
    """
    v = real_float(x, "squareplus")
    return ew.mul(ew.add(v, ew.sqrt(binary(ew.add, ew.square(v), b, "squareplus"))), like(v, 0.5))


def sparse_plus(x: Any) -> Any:
    """0 for x <= -1, x for x >= 1, (x + 1)^2 / 4 between.

    >>> nn.sparse_plus(fnp.array([-2.0, 0.0, 0.5, 2.0]))
    Array([0.    , 0.25  , 0.5625, 2.    ], dtype=float32)
    """
    v = real_float(x, "sparse_plus")
    between = ew.mul(ew.square(ew.add(v, like(v, 1))), like(v, 0.25))
    return ew.select_n(ew.ge(v, like(v, 1)), ew.select_n(ew.le(v, like(v, -1)), between, like(v, 0)), v)


def sparse_sigmoid(x: Any) -> Any:
    """0 for x <= -1, 1 for x >= 1, (x + 1) / 2 between: the derivative of `sparse_plus`.

    >>> nn.sparse_sigmoid(fnp.array([-2.0, 0.0, 0.5, 2.0]))
    Array([0.  , 0.5 , 0.75, 1.  ], dtype=float32)
    """
    v = real_float(x, "sparse_sigmoid")
    return ew.mul(clip(ew.add(v, like(v, 1)), 0.0, 2.0), like(v, 0.5))


def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) for x >= 0, exact near 0 and far from it.

    Maechler, "Accurately Computing log(1 - exp(-|a|))", 2012.

    >>> nn.log1mexp(np.array([0.0, 1e-12, 1.0, 100.0]))
    Array([           -inf, -2.76310211e+01, -4.58675145e-01,
           -3.72007598e-44], dtype=float64)
    """
    v = real_float(x, "log1mexp")
    near = ew.lt(v, like(v, math.log(2)))
    small = ew.select_n(near, like(v, 1), v)
    large = ew.select_n(near, v, like(v, 1))
    by_expm1 = ew.log(ew.neg(ew.expm1(ew.neg(small))))
    by_log1p = ew.log1p(ew.neg(ew.exp(ew.neg(large))))
    return ew.select_n(near, by_log1p, by_expm1)


def glu(x: Any, axis: int = -1) -> Any:
    """The first half of x along `axis` times the sigmoid of the second. Dauphin et al., 2016. The extent must be even.

    >>> nn.glu(fnp.array([1.0, 2.0, 0.0, 100.0]))
    Array([0.5, 2. ], dtype=float32)
    """
    v = as_value(inexact(x, "glu"), "nn.glu", "x")
    i = axis_of(axis, v.ndim, "nn.glu")
    n = v.shape[i]
    if n % 2:
        raise UsageError(message(f"nn.glu: got {v.aval.str_short()} along axis {i}", "an even extent", "another axis="))
    return ew.mul(cut(v, i, 0, n // 2), ew.logistic(cut(v, i, n // 2, n)))
