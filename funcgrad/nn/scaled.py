"""Products of block-scaled operands: scaled_matmul, and scaled_dot_general, which quantises, multiplies and differentiates.

A block of neighbours along the contracted axis shares one scale (OCP Microscaling Formats (MX) Specification v1.0, 2023): "mxfp8"
has blocks of 32 in float8_e4m3fn with scales that are powers of two; "nvfp4" has blocks of 16 in float4_e2m1fn with scales in
float8_e4m3fn, under one scale for the whole array. Products are summed in float32.
"""

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from funcgrad import numpy as fnp
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, message
from funcgrad.numpy._axes import axis_of, pairs_of
from funcgrad.numpy._promote import as_value, cast
from funcgrad.ops import elementwise as ew
from funcgrad.ops.contract import dot_general
from funcgrad.ops.reduce import reduce_max
from funcgrad.ops.shape import pad
from funcgrad.transforms.custom import CustomJvp, CustomVjp, custom_call

__all__ = ["get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"]

E4M3, E8M0 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e8m0fnu)
E2M1 = np.dtype(ml_dtypes.float4_e2m1fn)
LARGEST = {E4M3: 448.0, E2M1: 6.0}
OUTPUTS = (dt.float32, dt.bfloat16, dt.float16)


def _f32(x: float) -> np.float32:
    return np.float32(x)


def _value(name: str, x: Any, arg: str) -> Any:
    v = as_value(x, f"nn.{name}", arg)
    if v.dtype in dt.COMPLEXES or v.dtype in dt.KEYS:
        raise DtypeError(message(f"nn.{name}: got {v.aval.str_short()} for {arg}", "real numbers", f"{arg}.real"))
    return v


# --- given scales ---------------------------------------------------------------------------------------------


def scaled_matmul(lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any, preferred_element_type: Any = np.float32) -> Any:
    """Sums over k of lhs[b, m, k] rhs[b, n, k], each operand times the scale of its block of neighbours along k.

    lhs: (B, M, K); rhs: (B, N, K); lhs_scales: (B, M, K_l), rhs_scales: (B, N, K_r), where K_l and K_r divide K: a block has
    K / K_l elements. Any real dtypes; multiplied and summed in float32 (float64 where preferred_element_type is). Returns:
    (B, M, N) in preferred_element_type. Differentiable in all of them. Raises ShapeError where the extents do not fit.

    >>> a, b = fnp.array([[[1, 2, 3, 4]]]), fnp.array([[[1.0, 1.0, 1.0, 1.0]]])
    >>> nn.scaled_matmul(a, b, fnp.array([[[1.0, 10.0]]]), fnp.array([[[0.5]]]))
    Array([[[36.5]]], dtype=float32)
    """
    x, y = _value("scaled_matmul", lhs, "lhs"), _value("scaled_matmul", rhs, "rhs")
    sx, sy = _value("scaled_matmul", lhs_scales, "lhs_scales"), _value("scaled_matmul", rhs_scales, "rhs_scales")
    fits = x.ndim == y.ndim == sx.ndim == sy.ndim == 3 and x.shape[::2] == y.shape[::2]
    for v, s in ((x, sx), (y, sy)):
        fits = fits and s.shape[:2] == v.shape[:2] and s.shape[2] > 0 and v.shape[2] % s.shape[2] == 0
    if not fits:
        shapes = ", ".join([str(v.shape) for v in (x, y, sx, sy)])
        raise ShapeError(
            message(
                f"nn.scaled_matmul: got shapes {shapes}",
                "(B, M, K), (B, N, K), (B, M, K_l), (B, N, K_r), where K_l and K_r divide K",
                "nn.scaled_dot_general, which makes scales itself",
            )
        )
    target = dt.canonical(preferred_element_type)
    wide = dt.float64 if target == dt.float64 else dt.float32
    x, y = [_times_scales(cast(v, wide), cast(s, wide)) for v, s in ((x, sx), (y, sy))]
    return cast(dot_general(x, y, dimension_numbers=(((2,), (2,)), ((0,), (0,)))), target)


def _times_scales(x: Any, scales: Any) -> Any:
    n = scales.shape[-1]
    blocks = fnp.reshape(x, (*x.shape[:-1], n, x.shape[-1] // n))
    return fnp.reshape(ew.mul(blocks, fnp.broadcast_to(scales[..., None], blocks.shape)), x.shape)


# --- quantising -----------------------------------------------------------------------------------------------


class BlockScaleConfig(NamedTuple):
    """How an operand is quantised: from `get_scaled_dot_general_config`."""

    mode: str
    block_size: int
    data_type: np.dtype
    scale_type: np.dtype
    global_scale: Any = None


def get_scaled_dot_general_config(mode: str, global_scale: Any = None) -> BlockScaleConfig:
    """How `scaled_dot_general` quantises one operand.

    mode: "mxfp8", or "nvfp4", which takes a global_scale (float32, one element; 1 by default) for the whole array. Returns: a
    tuple of mode, block_size, data_type, scale_type, global_scale. Raises UsageError for another mode, or a scale for "mxfp8".

    >>> nn.get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if among(mode, ("mxfp8",)) and global_scale is None:
        return BlockScaleConfig("mxfp8", 32, E4M3, E8M0)
    if among(mode, ("nvfp4",)):
        given = fnp.ones((1,), np.float32) if global_scale is None else _value(_CONFIG, global_scale, "global_scale")
        if given.size != 1:
            raise ShapeError(message(f"nn.{_CONFIG}: got global_scale {given.aval.str_short()}", "one element", "scale.max()"))
        return BlockScaleConfig("nvfp4", 16, E2M1, E4M3, cast(given, dt.float32))
    raise UsageError(
        message(
            f"nn.{_CONFIG}: got mode={mode!r}" + (" with a global_scale" if among(mode, ("mxfp8",)) else ""),
            "'mxfp8', or 'nvfp4', which alone takes a global_scale",
            f"nn.{_CONFIG}('mxfp8')",
        )
    )


_CONFIG = "get_scaled_dot_general_config"


def _power_of_two(s: Any) -> Any:
    """The least power of two that is at least s >= 0 (from 2**-127 to 2**127), read off the bits of the float32."""
    word = ew.bitcast_convert_type(s, new_dtype=dt.uint32)
    exponent, rest = ew.shift_right_logical(word, np.uint32(23)), ew.and_(word, np.uint32(0x7FFFFF))
    least = ew.and_(ew.eq(exponent, np.uint32(0)), ew.le(rest, np.uint32(0x400000)))  # subnormal numbers up to 2**-127
    up = ew.and_(ew.and_(ew.ne(rest, np.uint32(0)), ew.ne(exponent, np.uint32(0xFE))), ew.not_(least))
    exponent = ew.select_n(up, exponent, ew.add(exponent, np.uint32(1)))
    scale = ew.bitcast_convert_type(ew.shift_left(exponent, np.uint32(23)), new_dtype=dt.float32)
    return ew.select_n(ew.eq(exponent, np.uint32(0)), scale, _f32(2.0**-127))


def _to_e2m1(x: Any) -> Any:
    """Rounded to the nearest number with one bit of fraction (ties to even), of magnitudes up to 6."""
    size = ew.abs(x)
    step = ew.select_n(ew.lt(size, _f32(4)), _f32(2), ew.select_n(ew.lt(size, _f32(2)), _f32(1), _f32(0.5)))
    return ew.mul(ew.round(ew.div(x, step), rounding_method=1), step)


def _quantised(x: Any, config: BlockScaleConfig, scale: Any) -> Any:
    """x (float32) with every block along its last axis rounded to what the config can hold, and scaled back."""
    n, size = x.shape[-1], config.block_size
    count = -(-n // size)
    whole = pad(x, _f32(0), padding_config=((0, 0, 0),) * (x.ndim - 1) + ((0, count * size - n, 0),)) if n % size else x
    blocks = fnp.reshape(whole, (*x.shape[:-1], count, size))
    if scale is not None:
        blocks = ew.div(blocks, fnp.broadcast_to(fnp.reshape(scale, ()), blocks.shape))
    largest = _f32(LARGEST[config.data_type])
    s = ew.div(reduce_max(ew.abs(blocks), axes=(blocks.ndim - 1,)), largest)
    if config.mode == "mxfp8":
        s = _power_of_two(s)
    else:
        s = cast(cast(ew.min_(s, _f32(LARGEST[E4M3])), E4M3), dt.float32)
    s = fnp.broadcast_to(s[..., None], blocks.shape)
    nothing = ew.eq(s, _f32(0))  # a block of zeros, or of numbers too small for its scale
    scaled = ew.div(blocks, ew.select_n(nothing, s, _f32(1)))
    scaled = ew.max_(ew.min_(ew.select_n(nothing, scaled, _f32(0)), largest), -largest)
    rounded = cast(cast(scaled, E4M3), dt.float32) if config.mode == "mxfp8" else _to_e2m1(scaled)
    out = fnp.reshape(ew.mul(rounded, s), whole.shape)[..., :n]
    return out if scale is None else ew.mul(out, fnp.broadcast_to(fnp.reshape(scale, ()), out.shape))


def _rounded(x: Any, config: BlockScaleConfig, scale: Any) -> Any:
    """`_quantised`, whose derivative in x is that of the identity."""
    given = [] if scale is None else [scale]
    fun = lambda x, *given: [_quantised(x, config, given[0] if given else None)]
    rule = CustomJvp(fun, lambda primals, tangents: (fun(*primals), [tangents[0]]))
    return custom_call(x, *given, rule=rule, jaxpr=None, consts=0)[0]


def _product(x: Any, y: Any, numbers: Any, configs: Sequence[Any], scales: Sequence[Any], exact: bool = False) -> Any:
    """dot_general in float32 of operands quantised along what is contracted."""
    (xc, yc), (xb, yb) = numbers
    operands = []
    for v, contracted, batch, config, scale in ((x, xc, xb, configs[0], scales[0]), (y, yc, yb, configs[1], scales[1])):
        v = cast(v, dt.float32)
        rest = [i for i in range(v.ndim) if i not in (*contracted, *batch)]
        v = fnp.transpose(v, (*batch, *rest, *contracted))
        kept = v.shape[: len(batch) + len(rest)]
        flat = fnp.reshape(v, (*kept, prod(v.shape[len(kept) :])))
        operands.append(flat if exact else _rounded(flat, config, scale))
    a, b = operands
    batch = tuple(range(len(xb)))
    return dot_general(a, b, dimension_numbers=(((a.ndim - 1,), (b.ndim - 1,)), (batch, batch)))


def scaled_dot_general(
    lhs: Any, rhs: Any, dimension_numbers: Any, preferred_element_type: Any = np.float32, configs: Any = None,
    implementation: Any = None,
) -> Any:  # fmt: skip
    """`lax.dot_general` of operands that are quantised in blocks along what is contracted.

    lhs, rhs: floating. dimension_numbers: ((lhs contracted, rhs contracted), (lhs batch, rhs batch)). preferred_element_type:
    float32, bfloat16 or float16. configs: how to quantise (lhs, rhs, cotangents), each from `get_scaled_dot_general_config`; None
    quantises nothing. implementation: deprecated, without effect. A last block may be shorter. Returns: batch axes, then what is
    left of lhs, then of rhs.

    Reverse mode takes rounding as the identity: the cotangent of an operand is the product of the output's cotangent with the
    other operand, both quantised along what that product contracts ("mxfp8"), or not quantised, and zero where the operand was
    beyond the largest number that can be held ("nvfp4").

    >>> x = fnp.linspace(-1.0, 1.0, 32)
    >>> configs = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    >>> float(nn.scaled_dot_general(x, x, (((0,), (0,)), ((), ())), configs=configs)), float(x @ x)
    (11.421875, 11.354839324951172)
    """
    x, y = _value("scaled_dot_general", lhs, "lhs"), _value("scaled_dot_general", rhs, "rhs")
    target = dt.canonical(preferred_element_type)
    if target not in OUTPUTS or not {x.dtype, y.dtype} <= dt.FLOATS:
        raise DtypeError(
            message(
                f"nn.scaled_dot_general: got {x.dtype} and {y.dtype} with preferred_element_type={target}",
                "floating operands, and float32, bfloat16 or float16",
                "preferred_element_type='float32'",
            )
        )
    if implementation is not None:
        warnings.warn("nn.scaled_dot_general: implementation= has no effect; leave it out", DeprecationWarning, stacklevel=2)
    numbers = _numbers(dimension_numbers, x, y)
    if configs is None:
        wide = dt.promote_dtypes(x.dtype, y.dtype)
        return dot_general(cast(x, wide), cast(y, wide), dimension_numbers=numbers, preferred_element_type=target)
    chosen = list(configs) if isinstance(configs, (list, tuple)) else []
    if len(chosen) != 3 or not all([isinstance(c, BlockScaleConfig) for c in chosen]):
        raise UsageError(
            message(
                f"nn.scaled_dot_general: got configs={configs!r}",
                "three of them: for lhs, for rhs, for cotangents",
                "configs=[nn.get_scaled_dot_general_config('mxfp8')] * 3",
            )
        )
    scales = [c.global_scale for c in chosen[:2]]
    given = [s for s in scales if s is not None]
    (out,) = custom_call(x, y, *given, rule=_rule(numbers, chosen, [s is not None for s in scales]), jaxpr=None, consts=0)
    return cast(out, target)


def _numbers(given: Any, x: Any, y: Any) -> Any:
    (xc, yc), (xb, yb) = pairs_of(given, "nn.scaled_dot_general")
    axes = lambda those, v: tuple([axis_of(i, v.ndim, "nn.scaled_dot_general", "dimension_numbers") for i in those])
    return ((axes(xc, x), axes(yc, y)), (axes(xb, x), axes(yb, y)))


def _rule(numbers: Any, configs: list[Any], has_scale: list[bool]) -> CustomVjp:
    (xc, yc), (xb, yb) = numbers

    def parts(given: Sequence[Any]) -> list[Any]:
        rest = iter(given)
        return [next(rest) if h else None for h in has_scale]

    def fun(x: Any, y: Any, *given: Any) -> list[Any]:
        return [_product(x, y, numbers, configs, parts(given))]

    def fwd(moving: Any, x: Any, y: Any, *given: Any) -> Any:
        return fun(x, y, *given), [x, y, *given]

    def bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        x, y, *given = residuals
        (ct,), scales = cts, parts(given)
        x_rest = tuple([i for i in range(x.ndim) if i not in (*xc, *xb)])
        y_rest = tuple([i for i in range(y.ndim) if i not in (*yc, *yb)])
        batch = tuple(range(len(xb)))
        first = tuple(range(len(xb), len(xb) + len(x_rest)))
        second = tuple(range(len(xb) + len(x_rest), ct.ndim))
        found = []
        for mine, v, other, ct_axes, rest, contracted, place in (
            (0, x, y, second, y_rest, xc, (xb, x_rest, yc, yb)),
            (1, y, x, first, x_rest, yc, (yb, y_rest, xc, xb)),
        ):
            own_batch, own_rest, others, other_batch = place
            exact = configs[2].mode == "nvfp4"
            how, given_scales = (configs[2], configs[1 - mine]), (None, scales[1 - mine])
            grad = _product(ct, other, ((ct_axes, rest), (batch, other_batch)), how, given_scales, exact)
            # Axes: batch, what is left of the operand, and its contracted axes in the order in which the other operand has them.
            by_other = sorted(range(len(others)), key=others.__getitem__)
            shape = [v.shape[i] for i in (*own_batch, *own_rest, *[contracted[k] for k in by_other])]
            axes = (*own_batch, *own_rest, *[contracted[k] for k in by_other])
            grad = fnp.transpose(fnp.reshape(grad, tuple(shape)), tuple(np.argsort(axes).tolist()))
            if exact and scales[mine] is not None:
                most = ew.mul(fnp.reshape(scales[mine], ()), _f32(LARGEST[E2M1] * LARGEST[E4M3]))
                grad = fnp.where(ew.le(ew.abs(cast(v, dt.float32)), fnp.broadcast_to(most, v.shape)), grad, _f32(0))
            found.append(cast(grad, v.dtype))
        return [*found, *[None] * len(given)]

    return CustomVjp(fun, fwd, bwd)
