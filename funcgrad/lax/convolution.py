"""Convolutions under JAX's names. All become `conv_general_dilated`; patches are slices.

Convolution means, as everywhere in machine learning, that the right operand is not turned around.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.lax._table import strict, value
from funcgrad.lax.folds import padding_of
from funcgrad.lax.types import ConvDimensionNumbers
from funcgrad.numpy._axes import shape_of, static_int, static_ints
from funcgrad.numpy._precision import check_precision
from funcgrad.numpy.selection import take
from funcgrad.numpy.structure import moveaxis
from funcgrad.ops._convolution import dilated, inverse, out_extent
from funcgrad.ops.contract import dot_general
from funcgrad.ops.convert import convert
from funcgrad.ops.convolution import conv_general_dilated as _conv
from funcgrad.ops.shape import concatenate, expand_dims, pad, reshape, rev, slice_, transpose

__all__ = [
    "conv", "conv_dimension_numbers", "conv_general_dilated", "conv_general_dilated_local", "conv_general_dilated_patches",
    "conv_transpose", "conv_with_general_padding",
]  # fmt: skip

SLICED = 32  # taps along an axis that are cut out one by one; more are one gather

# --- dimension numbers --------------------------------------------------------------------------------------------


def _permutation(spec: Any, rank: int) -> tuple[int, ...]:
    out = static_ints(spec, "lax.conv_dimension_numbers", "dimension_numbers")
    if sorted(out) != list(range(rank)):
        raise ShapeError(
            message(
                f"lax.conv_dimension_numbers: got {out} for {rank} axes",
                f"a permutation of 0 to {rank - 1}",
                "('NHWC', 'HWIO', 'NHWC')",
            )
        )
    return out


def conv_dimension_numbers(lhs_shape: Any, rhs_shape: Any, dimension_numbers: Any) -> ConvDimensionNumbers:
    """What each axis of a convolution's operands and result is.

    dimension_numbers: None (batch, features, then spatial axes; rhs: out features, in features, spatial axes); three strings with
    a letter for each axis, "N" for the batch, "C" for features, in rhs "O" and "I" for out and in features, and any others for
    spatial axes, which go in the order in which rhs has them; or a ConvDimensionNumbers. Raises ShapeError and UsageError that
    name the string that is wrong.

    >>> lax.conv_dimension_numbers((8, 28, 28, 3), (3, 3, 3, 16), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    lhs_shape = shape_of(lhs_shape, "lax.conv_dimension_numbers", "lhs_shape")
    rhs_shape = shape_of(rhs_shape, "lax.conv_dimension_numbers", "rhs_shape")
    rank = len(lhs_shape)
    if len(rhs_shape) != rank or rank < 2:
        raise ShapeError(
            message(
                f"lax.conv_dimension_numbers: got shapes {lhs_shape} and {rhs_shape}",
                "two shapes of one length, at least 2 (batch and features, out and in features)",
                "add the missing axes, for example x[None, None]",
            )
        )
    if dimension_numbers is None:
        plain = tuple(range(rank))
        return ConvDimensionNumbers(plain, plain, plain)
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return ConvDimensionNumbers(*[_permutation(spec, rank) for spec in dimension_numbers])
    given = f"lax.conv_dimension_numbers: got dimension_numbers={dimension_numbers!r}"
    fix = "dimension_numbers=('NHWC', 'HWIO', 'NHWC')"
    ok = isinstance(dimension_numbers, (tuple, list)) and len(dimension_numbers) == 3
    if not ok or not all([isinstance(spec, str) for spec in dimension_numbers]):
        raise UsageError(message(given, "None, a lax.ConvDimensionNumbers, or three strings (for lhs, rhs and the result)", fix))
    lhs, rhs, out = dimension_numbers
    for which, spec, letters in (("lhs", lhs, "NC"), ("rhs", rhs, "OI"), ("the result", out, "NC")):
        if len(spec) != rank or len(set(spec)) != rank or not set(letters) <= set(spec):
            allowed = f"for {which} {rank} different letters, among them {letters[0]!r} and {letters[1]!r}"
            raise UsageError(message(f"{given} for {rank} axes", allowed, fix))
    spatial = [a for a in rhs if a not in "OI"]
    if not set(lhs) - set("NC") == set(spatial) == set(out) - set("NC"):
        raise UsageError(message(given, "the same letters for spatial axes in all three strings", fix))
    return ConvDimensionNumbers(
        tuple([lhs.index(a) for a in ("N", "C", *spatial)]),
        tuple([rhs.index(a) for a in ("O", "I", *spatial)]),
        tuple([out.index(a) for a in ("N", "C", *spatial)]),
    )


def _ints(name: str, given: Any, count: int, arg: str) -> tuple[int, ...]:
    """A number of 1 or more for each spatial axis; None is all ones."""
    out = (1,) * count if given is None else static_ints(given, f"lax.{name}", arg)
    if len(out) != count or any([n < 1 for n in out]):
        raise ShapeError(
            message(
                f"lax.{name}: got {arg}={given} for {count} spatial axes",
                "a number of 1 or more for each of them",
                f"{arg}={(1,) * count}" if count else "x[None, None] for the batch and feature axes of both operands",
            )
        )
    return out


def _extents(v: Any, spec: Sequence[int]) -> list[int]:
    return [v.shape[i] for i in spec[2:]]


def _pads(name: str, padding: Any, extents: Sequence[int], spans: Sequence[int], strides: Sequence[int], gaps: Any) -> Any:
    if isinstance(padding, str) and padding.upper() != "VALID" and any([g != 1 for g in gaps]):
        raise UsageError(
            message(
                f"lax.{name}: got padding={padding!r} with lhs_dilation={gaps}",
                "(low, high) for each spatial axis where lhs is dilated",
                "lax.conv_transpose, which takes padding='SAME'",
            )
        )
    return _pairs(name, padding, extents, spans, strides)


def _pairs(name: str, padding: Any, extents: Sequence[int], spans: Sequence[int], strides: Sequence[int]) -> Any:
    many = (tuple, list, np.ndarray)
    pair = lambda p: isinstance(p, many) and getattr(p, "ndim", 1) == 1 and len(p) == 2
    pairs = isinstance(padding, many) and all(map(pair, padding))
    if not pairs and not isinstance(padding, str):
        raise UsageError(
            message(
                f"lax.{name}: got padding={padding!r}",
                "'VALID', 'SAME', 'SAME_LOWER', or (low, high) for each spatial axis",
                f"padding={[(1, 1)] * len(extents)}",
            )
        )
    return padding_of(padding, extents, spans, strides, name)


# --- convolutions ---------------------------------------------------------------------------------------------------


def conv_general_dilated(
    lhs: Any, rhs: Any, window_strides: Any, padding: Any, lhs_dilation: Any = None, rhs_dilation: Any = None,
    dimension_numbers: Any = None, feature_group_count: int = 1, batch_group_count: int = 1, precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:  # fmt: skip
    """Sums of products of the windows of `lhs` with `rhs`, over the elements of a window and over features.

    lhs: batch, features and any number of spatial axes; rhs: out features, in features and the same number; which axis is which
    say the dimension_numbers (see `lax.conv_dimension_numbers`; None: in that order). One dtype: numbers or bool.
    window_strides: steps from one window to the next, for each spatial axis. padding: "VALID", "SAME" (as many windows as steps
    fit into lhs; an odd zero at the end), "SAME_LOWER" (at the start), or (low, high) for each spatial axis, negative to cut.
    lhs_dilation, rhs_dilation: distance between neighbouring elements (1), filled with zeros. feature_group_count: the features
    of lhs and the out features come in so many groups, each with each (a depthwise convolution has as many as features).
    batch_group_count: the same for the batch of lhs; the groups lie side by side in the result's features. precision: accepted,
    products are always in full precision. preferred_element_type: the dtype of the sums and the result; sums of float16 and
    bfloat16 are taken in float32 in any case.
    Returns: batch, out features and spatial axes, along each (extent + padding - window) // stride + 1 or 0.
    Raises: ShapeError, UsageError, DtypeError, which say what does not fit.

    >>> images, kernels = fnp.ones((8, 28, 28, 3)), fnp.ones((3, 3, 3, 16))
    >>> lax.conv_general_dilated(images, kernels, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")).shape
    (8, 14, 14, 16)
    >>> x = fnp.array([[[1.0, 2.0, 3.0, 4.0]]])
    >>> lax.conv_general_dilated(x, fnp.array([[[1.0, 10.0]]]), (1,), [(1, 0)]).tolist()
    [[[10.0, 21.0, 32.0, 43.0]]]
    """
    name = "conv_general_dilated"
    check_precision(precision, f"lax.{name}")
    x, y = [value(name, v, arg) for v, arg in zip(strict(name, lhs, rhs, shapes=False), ("lhs", "rhs"), strict=True)]
    numbers = conv_dimension_numbers(x.shape, y.shape, dimension_numbers)
    d = x.ndim - 2
    strides = _ints(name, window_strides, d, "window_strides")
    gaps, apart = _ints(name, lhs_dilation, d, "lhs_dilation"), _ints(name, rhs_dilation, d, "rhs_dilation")
    spans = [dilated(k, r) for k, r in zip(_extents(y, numbers.rhs_spec), apart, strict=True)]
    return _conv(
        x,
        y,
        window_strides=strides,
        padding=_pads(name, padding, _extents(x, numbers.lhs_spec), spans, strides, gaps),
        lhs_dilation=gaps,
        rhs_dilation=apart,
        dimension_numbers=numbers,
        feature_group_count=static_int(feature_group_count, f"lax.{name}", "feature_group_count"),
        batch_group_count=static_int(batch_group_count, f"lax.{name}", "batch_group_count"),
        preferred_element_type=None if preferred_element_type is None else dt.canonical(preferred_element_type),
    )


def conv(lhs: Any, rhs: Any, window_strides: Any, padding: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """`lax.conv_general_dilated` of (batch, features, spatial ...) with (out features, in features, spatial ...).

    >>> lax.conv(fnp.ones((8, 3, 28, 28)), fnp.ones((16, 3, 5, 5)), (1, 1), "VALID").shape
    (8, 16, 24, 24)
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


def conv_with_general_padding(
    lhs: Any, rhs: Any, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any, precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:  # fmt: skip
    """`lax.conv` with dilations.

    >>> x, kernel = fnp.ones((1, 1, 5)), fnp.ones((1, 1, 3))
    >>> lax.conv_with_general_padding(x, kernel, (1,), [(1, 1)], (2,), (1,)).tolist()
    [[[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0]]]
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_transpose(
    lhs: Any, rhs: Any, strides: Any, padding: Any, rhs_dilation: Any = None, dimension_numbers: Any = None,
    transpose_kernel: bool = False, precision: Any = None, preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:  # fmt: skip
    """A convolution with fractional strides, of the shapes that the gradient of a convolution with these strides has.

    dimension_numbers: as in `conv_general_dilated`; None is batch, spatial axes, features, and for rhs spatial axes, in features,
    out features. padding: "SAME" (extent * stride results) or "VALID", of the forward convolution, or (low, high) for each
    spatial axis: of this one, or, with use_consistent_padding, of the forward one. transpose_kernel: rhs is the kernel of the
    forward convolution: it is turned around, and its in and out features change places. The rest as in `conv_general_dilated`.

    >>> lax.conv_transpose(fnp.ones((8, 7, 7, 16)), fnp.ones((3, 3, 16, 4)), (2, 2), "SAME").shape
    (8, 14, 14, 4)
    """
    name = "conv_transpose"
    x, y = value(name, lhs, "lhs"), value(name, rhs, "rhs")
    d = x.ndim - 2
    if dimension_numbers is None:
        last = (0, d + 1, *range(1, d + 1))
        dimension_numbers = ConvDimensionNumbers(last, (d + 1, d, *range(d)), last)
    numbers = conv_dimension_numbers(x.shape, y.shape, dimension_numbers)
    steps, apart = _ints(name, strides, d, "strides"), _ints(name, rhs_dilation, d, "rhs_dilation")
    spans = [dilated(k, r) for k, r in zip(_extents(y, numbers.rhs_spec), apart, strict=True)]
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise UsageError(
                message(f"lax.{name}: got padding={padding!r}", "'SAME', 'VALID', or (low, high) for each axis", "padding='SAME'")
            )
        # The forward convolution has padding `low` and takes extent * stride elements (with VALID as many as its windows need).
        lows = [max(k - s, 0) // 2 if padding.upper() == "SAME" else 0 for k, s in zip(spans, steps, strict=True)]
        more = [0 if padding.upper() == "SAME" else max(k - s, 0) for k, s in zip(spans, steps, strict=True)]
        pads = [(k - 1 - low, s - 1 + low + m) for k, s, low, m in zip(spans, steps, lows, more, strict=True)]
    else:
        pads = _pairs(name, padding, spans, spans, steps)
        if use_consistent_padding:
            pads = [(k - 1 - low, k - 1 - high) for k, (low, high) in zip(spans, pads, strict=True)]
    if flag(transpose_kernel, "lax.conv_transpose", "transpose_kernel"):
        y = rev(y, dimensions=tuple(sorted(numbers.rhs_spec[2:])))
        numbers = numbers._replace(rhs_spec=(numbers.rhs_spec[1], numbers.rhs_spec[0], *numbers.rhs_spec[2:]))
    return conv_general_dilated(
        x,
        y,
        (1,) * d,
        pads,
        steps,
        apart,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


# --- patches ------------------------------------------------------------------------------------------------------------


def _taps(x: Any, axis: int, places: int, taps: int, stride: int, apart: int) -> Any:
    """x with `axis` as the places of windows and a last axis for their elements."""
    if taps > SLICED:
        return moveaxis(take(x, np.arange(places)[:, None] * stride + np.arange(taps) * apart, axis), axis + 1, -1)

    def part(k: int) -> Any:
        start, limits = k * apart, list(x.shape)
        starts, steps = [0] * x.ndim, [1] * x.ndim
        starts[axis] = start if places else 0  # without a place there may be no tap either
        limits[axis] = start + (places - 1) * stride + 1 if places else 0
        steps[axis] = stride
        out = slice_(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=tuple(steps))
        return expand_dims(out, dimensions=(x.ndim,))

    return concatenate(*[part(k) for k in range(taps)], dimension=x.ndim)


def _patches(
    name: str, lhs: Any, filter_shape: Any, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any,
    dimension_numbers: Any,
) -> tuple[Any, ConvDimensionNumbers]:  # fmt: skip
    """(batch, spatial ..., features with the elements of their windows), and the dimension numbers."""
    x = value(name, lhs, "lhs")
    numbers = conv_dimension_numbers(x.shape, x.shape, dimension_numbers)
    d = x.ndim - 2
    window = _ints(name, filter_shape, d, "filter_shape")
    strides = _ints(name, window_strides, d, "window_strides")
    gaps, apart = _ints(name, lhs_dilation, d, "lhs_dilation"), _ints(name, rhs_dilation, d, "rhs_dilation")
    extents = _extents(x, numbers.lhs_spec)
    pads = _pads(name, padding, extents, [dilated(k, r) for k, r in zip(window, apart, strict=True)], strides, gaps)
    x = transpose(x, permutation=(numbers.lhs_spec[0], *numbers.lhs_spec[2:], numbers.lhs_spec[1]))
    config = [(0, 0, 0), *[(low, high, g - 1) for (low, high), g in zip(pads, gaps, strict=True)], (0, 0, 0)]
    if any([c != (0, 0, 0) for c in config]):
        x = pad(x, x.dtype.type(0), padding_config=tuple(config))
    for i in range(d):
        places = max(out_extent(extents[i], window[i], strides[i], pads[i], gaps[i], apart[i]), 0)
        x = _taps(x, i + 1, places, window[i], strides[i], apart[i])
    return reshape(x, shape=(*x.shape[: d + 1], math.prod(x.shape[d + 1 :]))), numbers


def conv_general_dilated_patches(
    lhs: Any, filter_shape: Any, window_strides: Any, padding: Any, lhs_dilation: Any = None, rhs_dilation: Any = None,
    dimension_numbers: Any = None, precision: Any = None, preferred_element_type: Any = None,
) -> Any:  # fmt: skip
    """The windows of a convolution: the result's features are the elements that each window has, feature by feature.

    filter_shape: the extents of the window, in the order of the spatial axes of rhs in the dimension_numbers (rhs itself is not
    needed). The rest as in `conv_general_dilated`, of which this is the left factor.

    >>> x = fnp.arange(16.0).reshape(1, 1, 4, 4)
    >>> patches = lax.conv_general_dilated_patches(x, (2, 2), (2, 2), "VALID")
    >>> patches.shape
    (1, 4, 2, 2)
    >>> patches[0, :, 0, 1].tolist()
    [2.0, 3.0, 6.0, 7.0]
    """
    name = "conv_general_dilated_patches"
    check_precision(precision, f"lax.{name}")
    x, numbers = _patches(name, lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers)
    if preferred_element_type is not None:
        x = convert(x, dt.canonical(preferred_element_type))
    return _placed(x, [0, x.ndim - 1, *range(1, x.ndim - 1)], numbers)


def _placed(x: Any, roles: Sequence[int], numbers: ConvDimensionNumbers) -> Any:
    """x, whose axes `roles` are batch, features and spatial axes, with these in the places of the result."""
    return transpose(x, permutation=tuple([roles[i] for i in inverse(numbers.out_spec)]))


def conv_general_dilated_local(
    lhs: Any, rhs: Any, window_strides: Any, padding: Any, filter_shape: Any, lhs_dilation: Any = None, rhs_dilation: Any = None,
    dimension_numbers: Any = None, precision: Any = None,
) -> Any:  # fmt: skip
    """A convolution with a kernel of its own at each place ("locally connected").

    rhs: its spatial axes are the places of the result, and its in features are the elements of a window, feature by feature, as
    `conv_general_dilated_patches` gives them; filter_shape: the extents of the window. The rest as in `conv_general_dilated`.

    >>> x, kernels = fnp.ones((8, 3, 6, 6)), fnp.ones((16, 3 * 2 * 2, 5, 5))
    >>> lax.conv_general_dilated_local(x, kernels, (1, 1), "VALID", (2, 2)).shape
    (8, 16, 5, 5)
    """
    name = "conv_general_dilated_local"
    check_precision(precision, f"lax.{name}")
    lhs, rhs = strict(name, lhs, rhs, shapes=False)
    y = value(name, rhs, "rhs")
    x, numbers = _patches(name, lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers)
    d = x.ndim - 2
    want = (*x.shape[1 : d + 1], x.shape[-1])
    got = tuple([y.shape[i] for i in (*numbers.rhs_spec[2:], numbers.rhs_spec[1])]) if y.ndim == x.ndim else y.shape
    if got != want:
        raise ShapeError(
            message(
                f"lax.{name}: got rhs {y.aval.str_short()} for {x.shape[1 : d + 1]} places and windows of {x.shape[-1]} elements",
                f"spatial axes and in features of extents {want}",
                "lax.conv_general_dilated_patches(lhs, ...).shape says both",
            )
        )
    places = tuple(range(1, d + 1))
    out = dot_general(
        x,
        y,
        dimension_numbers=(((d + 1,), (numbers.rhs_spec[1],)), (places, tuple(numbers.rhs_spec[2:]))),
        preferred_element_type=None,
    )
    return _placed(out, [d, d + 1, *range(d)], numbers)
