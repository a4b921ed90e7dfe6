"""conv_general_dilated: sums of products over windows of spatial axes and over features.

The meaning of the parameters is in `_convolution.py`. Features may come in groups (feature_group_count: group g of the left
operand's features meets group g of the right one's out features), or batches may (batch_group_count: group g of the batch meets
group g of the out features, and the groups lie side by side in the result's features). Both gradients are convolutions again.
Sums of float16 and bfloat16 are taken in float32; `preferred_element_type` is as in dot_general.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import DtypeError, ShapeError, message
from funcgrad.ir.loop_rules import Convolution
from funcgrad.ops._convolution import ConvDimensionNumbers, conv_numpy, dilated, out_extent
from funcgrad.ops._family import bilinear, check_dtypes, move_dim, reshape, zeros
from funcgrad.ops._samples import uniform
from funcgrad.ops.convert import convert
from funcgrad.ops.shape import rev
from funcgrad.trace.value import aval_of

__all__ = ["ConvDimensionNumbers", "conv_general_dilated"]

NAME = "conv_general_dilated"

# --- shapes -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _abstract(
    x: ShapedArray,
    y: ShapedArray,
    *,
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: np.dtype | None = None,
) -> ShapedArray:
    check_dtypes(NAME, dt.BOOLS | dt.NUMBERS, x, y)
    if x.dtype != y.dtype:
        raise DtypeError(
            message(f"{NAME}: got {format_avals((x, y))}", "operands of one dtype", "convert one, for example with x.astype(...)")
        )
    d = x.ndim - 2
    if d < 0 or y.ndim != x.ndim:
        raise ShapeError(
            message(
                f"{NAME}: got {format_avals((x, y))}",
                "two arrays of one rank, with a batch and a feature axis (out and in features) beside the spatial ones",
                "add the missing axes, for example x[None, None]",
            )
        )
    everyone = range(x.ndim)
    if any([sorted(spec) != list(everyone) for spec in dimension_numbers]):
        raise ShapeError(
            message(
                f"{NAME}: got dimension_numbers={tuple(dimension_numbers)} for {format_avals((x, y))}",
                f"three permutations of {tuple(everyone)}",
                "lax.conv_dimension_numbers(lhs.shape, rhs.shape, ('NHWC', 'HWIO', 'NHWC'))",
            )
        )
    lengths = {"window_strides": window_strides, "padding": padding, "lhs_dilation": lhs_dilation, "rhs_dilation": rhs_dilation}
    for name, given in lengths.items():
        if len(given) != d:
            raise ShapeError(
                message(f"{NAME}: got {name}={given} for {d} spatial axes", f"{d} entries, one an axis", f"mend {name}=")
            )
        if name != "padding" and any([s < 1 for s in given]):  # type: ignore[operator]
            raise ShapeError(message(f"{NAME}: got {name}={given}", "numbers of 1 or more", f"mend {name}="))
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    _check_groups(x, y, dimension_numbers, feature_group_count, batch_group_count)
    extents = []
    for i in range(d):
        n, k = x.shape[lhs_spec[2 + i]], y.shape[rhs_spec[2 + i]]
        extents.append(out_extent(n, k, window_strides[i], padding[i], lhs_dilation[i], rhs_dilation[i]))
        if extents[-1] < 0 or not k:
            raise ShapeError(
                message(
                    f"{NAME}: got padding {padding[i]} for extent {n} and a window of {k} along spatial axis {i}",
                    "a window of 1 element or more, and padding that cuts at most what there is",
                    "mend padding=, or the shape of rhs",
                )
            )
    shape = [0] * x.ndim
    for place, n in zip(out_spec, (x.shape[lhs_spec[0]] // batch_group_count, y.shape[rhs_spec[0]], *extents), strict=True):
        shape[place] = n
    dtype = x.dtype if preferred_element_type is None else np.dtype(preferred_element_type)
    return shaped(tuple(shape), dtype, x.weak_type and y.weak_type and preferred_element_type is None)


def _check_groups(x: ShapedArray, y: ShapedArray, numbers: ConvDimensionNumbers, features: int, batches: int) -> None:
    n, c = x.shape[numbers.lhs_spec[0]], x.shape[numbers.lhs_spec[1]]
    o, i = y.shape[numbers.rhs_spec[0]], y.shape[numbers.rhs_spec[1]]
    found = f"{NAME}: got {format_avals((x, y))} with feature_group_count={features}, batch_group_count={batches}"
    if features < 1 or batches < 1 or (features > 1 and batches > 1):
        raise ShapeError(message(found, "counts of 1 or more, of which at most one is above 1", "mend the counts"))
    if n % batches or c % features or o % (features * batches):
        raise ShapeError(
            message(
                f"{found}; {n} batches, {c} features, {o} out features",
                "batches that batch_group_count divides, features that feature_group_count does, out features that both do",
                "mend the counts or the shapes",
            )
        )
    if c // features != i:
        raise ShapeError(
            message(
                f"{found}; lhs has {c} features (axis {numbers.lhs_spec[1]}), rhs takes {i} (axis {numbers.rhs_spec[1]})",
                f"{c // features} in features of rhs: those of lhs divided by feature_group_count",
                "check dimension_numbers, for example ('NHWC', 'HWIO', 'NHWC'), or transpose an operand",
            )
        )


# --- axes that hold groups ------------------------------------------------------------------------------------------


def _unfold(x: Any, axis: int, count: int) -> Any:
    """`axis` as two: `count` groups, then what is in each."""
    shape = aval_of(x).shape
    return reshape(x, shape=(*shape[:axis], count, shape[axis] // count if count else 0, *shape[axis + 1 :]))


def _fold(x: Any, source: int, target: int) -> Any:
    """Axis `source` as the groups of axis `target`, a number among the axes that remain."""
    x = move_dim(x, source, target)
    shape = aval_of(x).shape
    return reshape(x, shape=(*shape[:target], shape[target] * shape[target + 1], *shape[target + 2 :]))


# --- gradients ------------------------------------------------------------------------------------------------------


def _wide(ct: Any, y: Any, aval: ShapedArray) -> tuple[Any, Any, np.dtype | None]:
    """Both in one dtype, and the preferred dtype of their product."""
    a, b = aval_of(ct).dtype, aval_of(y).dtype
    wide = a if dt.promote_dtypes(a, b) == a else b
    return convert(ct, wide), convert(y, wide), None if wide == aval.dtype else aval.dtype


def _transpose_lhs(
    ct: Any,
    aval: ShapedArray,
    y: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any = None,
) -> Any:
    """The element at i * lhs_dilation met y[j] where i * lhs_dilation + low = p * stride + j * rhs_dilation: the windows of ct,
    `stride` apart, with y turned around."""
    if 0 in (aval_of(ct).size, aval.size, aval_of(y).size):
        return zeros(aval)
    ct, y, preferred = _wide(ct, y, aval)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads = []
    for i, (low, _) in enumerate(padding):
        n, m = aval.shape[lhs_spec[2 + i]], aval_of(ct).shape[out_spec[2 + i]]
        span = dilated(aval_of(y).shape[rhs_spec[2 + i]], rhs_dilation[i])
        start = span - 1 - low
        pads.append((start, dilated(n, lhs_dilation[i]) + span - 1 - dilated(m, window_strides[i]) - start))
    y = rev(y, dimensions=tuple(sorted(rhs_spec[2:]))) if rhs_spec[2:] else y
    groups = feature_group_count * batch_group_count
    if groups > 1:
        y = _fold(_unfold(y, rhs_spec[0], groups), rhs_spec[0], rhs_spec[1])
    out = conv_general_dilated(
        ct,
        y,
        window_strides=lhs_dilation,
        padding=tuple(pads),
        lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out_spec, (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]), lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
        preferred_element_type=preferred,
    )
    if batch_group_count > 1:  # the groups of the batch have come out as groups of features
        out = _fold(_unfold(out, lhs_spec[1], batch_group_count), lhs_spec[1], lhs_spec[0])
    return out


def _transpose_rhs(
    ct: Any,
    x: Any,
    aval: ShapedArray,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any = None,
) -> Any:
    """y[j] met the element at p * stride + j * rhs_dilation for each p: strides and dilations change places; so do batch and
    features."""
    if 0 in (aval_of(ct).size, aval.size, aval_of(x).size):
        return zeros(aval)
    ct, x, preferred = _wide(ct, x, aval)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads = []
    for i, (low, _) in enumerate(padding):
        n, m = aval_of(x).shape[lhs_spec[2 + i]], aval_of(ct).shape[out_spec[2 + i]]
        span = dilated(aval.shape[rhs_spec[2 + i]], rhs_dilation[i])
        pads.append((low, span + dilated(m, window_strides[i]) - 1 - dilated(n, lhs_dilation[i]) - low))
    return conv_general_dilated(
        x,
        ct,
        window_strides=rhs_dilation,
        padding=tuple(pads),
        lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=ConvDimensionNumbers(
            (lhs_spec[1], lhs_spec[0], *lhs_spec[2:]),
            (out_spec[1], out_spec[0], *out_spec[2:]),
            (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]),
        ),
        feature_group_count=batch_group_count,
        batch_group_count=feature_group_count,
        preferred_element_type=preferred,
    )


# --- batches ----------------------------------------------------------------------------------------------------------


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
    (x, y), (dx, dy) = args, dims
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    features, batches = params["feature_group_count"], params["batch_group_count"]
    if not size:
        one = [
            shaped(a.shape if d is None else a.shape[:d] + a.shape[d + 1 :], a.dtype)
            for a, d in ((aval_of(x), dx), (aval_of(y), dy))
        ]
        out = conv_general_dilated.abstract(*one, **params)
        return zeros(shaped((0, *out.shape), out.dtype)), 0
    if dx is not None and dy is not None:
        # Lanes are groups: of batches if there are such already, else of features.
        of_batches = batches > 1
        x, y = _fold(x, dx, lhs_spec[0 if of_batches else 1]), _fold(y, dy, rhs_spec[0])
        params |= {"batch_group_count": batches * size} if of_batches else {"feature_group_count": features * size}
        return _unfold(conv_general_dilated(x, y, **params), out_spec[1], size), out_spec[1]
    if dx is not None:
        x = _within(x, dx, lhs_spec[0], batches)
        return _unfold(conv_general_dilated(x, y, **params), out_spec[0], size), out_spec[0]
    assert dy is not None
    groups, place = features * batches, out_spec[1]
    out = conv_general_dilated(x, _within(y, dy, rhs_spec[0], groups), **params)
    if groups == 1:
        return _unfold(out, place, size), place
    out = move_dim(_unfold(_unfold(out, place, groups), place + 1, size), place + 1, 0)
    return _fold(out, place + 1, place + 1), 0


def _within(x: Any, source: int, target: int, groups: int) -> Any:
    """Axis `source` as part of each group of axis `target`, a number among the axes that remain."""
    if groups == 1:
        return _fold(x, source, target)
    x = _unfold(move_dim(x, source, 0), target + 1, groups)  # lanes, ..., groups, what is in each
    return _fold(_fold(x, 0, target + 1), target, target)


# --- the operator -----------------------------------------------------------------------------------------------------


def _case(
    x: tuple[int, ...],
    y: tuple[int, ...],
    strides: Any = None,
    padding: Any = None,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    specs: Any = None,
    features: int = 1,
    batches: int = 1,
) -> tuple[Any, Any, dict[str, Any]]:
    d = len(x) - 2
    plain = tuple(range(len(x)))
    params = {
        "window_strides": strides or (1,) * d,
        "padding": padding or ((0, 0),) * d,
        "lhs_dilation": lhs_dilation or (1,) * d,
        "rhs_dilation": rhs_dilation or (1,) * d,
        "dimension_numbers": ConvDimensionNumbers(*(specs or (plain,) * 3)),
        "feature_group_count": features,
        "batch_group_count": batches,
        "preferred_element_type": None,
    }
    return x, y, params


_LAST = ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
_CASES = [
    _case((2, 3, 5, 4), (4, 3, 3, 2), padding=((1, 1), (0, 1))),
    _case((2, 5, 4, 3), (3, 3, 3, 2), strides=(2, 1), padding=((1, 0), (1, 1)), specs=_LAST),
    _case((2, 2, 6), (3, 2, 3), strides=(2,), rhs_dilation=(2,), padding=((2, 1),)),
    _case((1, 2, 4), (3, 2, 3), lhs_dilation=(2,), padding=((1, 2),)),
    _case((2, 5, 6, 4), (2, 3, 1, 8), specs=_LAST, features=4, padding=((1, 1), (0, 0))),
    _case((2, 4, 5), (4, 2, 2), features=2, padding=((-1, 1),)),
    _case((4, 3, 5), (4, 3, 2), batches=2, strides=(2,)),
    _case((3, 2), (4, 2)),
    _case((0, 2, 4), (3, 2, 2)),
    _case((1, 1, 2), (1, 1, 3)),
    _case((1, 2, 3, 2, 3), (2, 2, 2, 1, 2), padding=((0, 0), (1, 0), (0, 1))),
]


def _samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    draw = uniform(-3, 3)
    return [((np.asarray(draw(rng, x, dtype)), np.asarray(draw(rng, y, dtype))), params) for x, y, params in _CASES]


conv_general_dilated = bilinear(
    NAME,
    abstract=_abstract,
    numpy=conv_numpy,
    transpose_lhs=_transpose_lhs,
    transpose_rhs=_transpose_rhs,
    batch=_batch,
    loop=Convolution(),
    samples=_samples,
    doc="sums of products over windows of spatial axes and over features",
)
