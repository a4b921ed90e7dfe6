"""Windows that slide over an array: window_sum, window_max, window_min, window_argmax, window_argmin.

In: an array, and for each axis the extent of the window, the step from one window to the next, and the distance between the
places of a window (dilation). Windows lie within the array: what pads or dilates the array itself is a `pad` before. Out: one
element for each window. `fold_windows` does the same for any associative function of tuples.

A window of few places is written out as that many strided views in one kernel; a larger one is folded axis by axis, and a long
axis by doubling, so that the work grows with the logarithm of its extent. Windows that tile the array are reduced in place.
The derivative of max and min goes to the first place (in row-major order) that attains it.
"""

import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import ShapeError, message
from funcgrad.ir.loop_rules import Inline
from funcgrad.ir.primitive import LinearArg, register
from funcgrad.ops._family import NOT_DIFFERENTIABLE, add, broadcast_in_dim, check_dtypes, linear, reduce_sum, reshape, zeros
from funcgrad.ops._indexing import GatherDimensionNumbers
from funcgrad.ops._samples import NARROW, uniform
from funcgrad.ops.arithmetic import div, max_, min_, mul, rem
from funcgrad.ops.bitwise import and_, not_, or_
from funcgrad.ops.compare import eq, ge, le, ne
from funcgrad.ops.convert import convert
from funcgrad.ops.gathering import gather
from funcgrad.ops.reduce import reduce_max, reduce_min, spread
from funcgrad.ops.select import select_n
from funcgrad.ops.shape import full, iota, pad, slice_
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of

__all__ = [
    "fold_windows",
    "window_argmax",
    "window_argmin",
    "window_max",
    "window_min",
    "window_shape",
    "window_sum",
]

Ints = tuple[int, ...]
Combine = Callable[[tuple[Any, ...], tuple[Any, ...], int], tuple[Any, ...]]

WRITTEN_OUT = 16  # windows of so many places are one kernel, with a load for each
CHAIN = 8  # an axis of so many places is folded place by place; a longer one by doubling


def window_shape(shape: Sequence[int], window: Ints, strides: Ints, dilation: Ints) -> Ints:
    """How many windows there are along each axis."""
    spans = [(w - 1) * d + 1 for w, d in zip(window, dilation, strict=True)]
    return tuple([(n - span) // s + 1 if n >= span else 0 for n, span, s in zip(shape, spans, strides, strict=True)])


def _part(x: Any, starts: Sequence[int], counts: Sequence[int], steps: Sequence[int]) -> Any:
    """`counts` elements along each axis, from `starts` on."""
    if tuple(counts) == aval_of(x).shape and not any(starts):
        return x
    limits = tuple([a + (n - 1) * s + 1 if n else a for a, n, s in zip(starts, counts, steps, strict=True)])
    return slice_(x, start_indices=tuple(starts), limit_indices=limits, strides=tuple(steps))


# --- folding ----------------------------------------------------------------------------------------------------


def fold_windows(values: tuple[Any, ...], combine: Combine, window: Ints, strides: Ints, dilation: Ints) -> tuple[Any, ...]:
    """The fold of every window of `values` (of one shape) by an associative function of tuples.

    `combine(earlier, later, by)` folds two groups of places, of which the later begins `by` places (in row-major order) after the
    earlier one."""
    shape = aval_of(values[0]).shape
    counts = window_shape(shape, window, strides, dilation)
    if 0 in counts:
        return tuple([_part(v, (0,) * len(shape), counts, (1,) * len(shape)) for v in values])
    if prod(window) <= WRITTEN_OUT:
        found = None
        for k, place in enumerate(itertools.product(*map(range, window))):
            starts = [p * d for p, d in zip(place, dilation, strict=True)]
            here = tuple([_part(v, starts, counts, strides) for v in values])
            found = here if found is None else combine(found, here, k)
        assert found is not None
        return found
    apart = 1
    for axis in reversed(range(len(shape))):
        if window[axis] > 1 or strides[axis] > 1:
            values = _fold_axis(values, combine, axis, (window[axis], strides[axis], dilation[axis]), counts[axis], apart)
        apart *= window[axis]
    return values


def _fold_axis(
    values: tuple[Any, ...], combine: Combine, axis: int, window: tuple[int, int, int], count: int, apart: int
) -> tuple[Any, ...]:
    """Windows of (places, step, distance) along one axis, of which there are `count`; places are `apart` in the whole window."""
    places, step, distance = window

    def part(vs: tuple[Any, ...], start: int, n: int, by: int) -> tuple[Any, ...]:
        shape = list(aval_of(vs[0]).shape)
        starts, steps = [0] * len(shape), [1] * len(shape)
        starts[axis], shape[axis], steps[axis] = start, n, by
        return tuple([_part(v, starts, shape, steps) for v in vs])

    if places <= CHAIN:
        found = part(values, 0, count, step)
        for k in range(1, places):
            found = combine(found, part(values, k * distance, count, step), k * apart)
        return found
    # groups[i] folds 2**i places from every place on; a window is a row of such groups, the largest first.
    groups, size = [values], 1
    while 2 * size <= places:
        last = groups[-1]
        n = aval_of(last[0]).shape[axis] - size * distance
        groups.append(combine(part(last, 0, n, 1), part(last, size * distance, n, 1), size * apart))
        size *= 2
    found, start = part(groups[-1], 0, count, step), size
    for group in reversed(groups[:-1]):
        size //= 2
        if start + size <= places:
            found = combine(found, part(group, start * distance, count, step), start * apart)
            start += size
    return found


def _tiles(x: Any, window: Ints, strides: Ints, dilation: Ints) -> tuple[Any, Ints] | None:
    """The array with every axis of windows split in two, (windows, places), and the axes of places; None where windows meet, or
    do not tile an axis."""
    shape = aval_of(x).shape
    counts = window_shape(shape, window, strides, dilation)
    if 0 in counts:
        return None
    steps, kept, split, inner = [], [], [], []
    for n, w, s, d in zip(counts, window, strides, dilation, strict=True):
        one = n == 1
        if not (w == 1 or one or (d == 1 and s == w)):
            return None
        steps.append(s if w == 1 and not one else d if one else 1)
        kept.append(n * w)
        split.append(n)
        if w > 1:
            inner.append(len(split))
            split.append(w)
    x = _part(x, (0,) * len(shape), kept, steps)
    return (reshape(x, shape=tuple(split)) if inner else x), tuple(inner)


# --- declaring --------------------------------------------------------------------------------------------------


def _abstract(name: str, dtypes: frozenset, result: np.dtype | None = None) -> Callable[..., ShapedArray]:
    def abstract(x: ShapedArray, *, window: Ints, strides: Ints, dilation: Ints) -> ShapedArray:
        check_dtypes(name, dtypes, x)
        if {len(window), len(strides), len(dilation)} != {x.ndim} or min((*window, *strides, *dilation), default=1) < 1:
            raise ShapeError(
                message(
                    f"{name}: got window={window}, strides={strides}, dilation={dilation} for {x.str_short()}",
                    "positive integers, one for each axis",
                    "1 for the axes on which no window slides",
                )
            )
        return shaped(window_shape(x.shape, window, strides, dilation), result or x.dtype, x.weak_type and result is None)

    return abstract


def _put(d: int, params: dict[str, Ints]) -> dict[str, Ints]:
    """The params with an axis that no window slides on at d."""
    return {name: t[:d] + (1,) + t[d:] for name, t in params.items()}


def _windows_numpy(x: np.ndarray, window: Ints, strides: Ints, dilation: Ints) -> np.ndarray:
    """The windows as a view: their axes, then those of the places in them."""
    counts = window_shape(x.shape, window, strides, dilation)
    steps = [a * s for a, s in zip(x.strides, strides, strict=True)] + [a * d for a, d in zip(x.strides, dilation, strict=True)]
    return np.lib.stride_tricks.as_strided(x, (*counts, *window), steps, writeable=False)


def _fold_numpy(ufunc: np.ufunc, x: np.ndarray, window: Ints, strides: Ints, dilation: Ints) -> np.ndarray:
    """The fold of every window; of few places one after another, since NumPy is slow along short axes."""
    windows = _windows_numpy(x, window, strides, dilation)
    if prod(window) > WRITTEN_OUT:
        return np.asarray(ufunc.reduce(windows, axis=tuple(range(x.ndim, 2 * x.ndim)), dtype=x.dtype))
    first, *rest = [windows[(..., *place)] for place in np.ndindex(*window)]
    out = np.array(first)
    for part in rest:
        ufunc(out, part, out=out)
    return out


def _samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    draw = uniform(-9, 9)
    cases = [
        ((6,), (3,), (1,), (1,)),
        ((4, 6), (2, 2), (2, 2), (1, 1)),
        ((2, 5, 4), (1, 3, 2), (1, 2, 1), (1, 1, 2)),
        ((21,), (11,), (2,), (1,)),
        ((7, 6), (5, 4), (1, 2), (1, 1)),
        ((10, 5), (5, 5), (5, 2), (1, 1)),
        ((7, 2), (3, 1), (3, 1), (1, 1)),
        ((9,), (3,), (4,), (1,)),
        ((2,), (3,), (1,), (1,)),
        ((0, 2), (1, 2), (1, 1), (1, 1)),
        ((), (), (), ()),
    ]
    return [((np.asarray(draw(rng, shape, dtype)),), {"window": w, "strides": s, "dilation": d}) for shape, w, s, d in cases]


# --- sums -------------------------------------------------------------------------------------------------------


def _sum_numpy(x: np.ndarray, window: Ints, strides: Ints, dilation: Ints) -> np.ndarray:
    dtype = x.dtype
    x = x.astype(np.float32) if dtype in NARROW else x
    return _fold_numpy(np.add, x, window, strides, dilation).astype(dtype, copy=False)


def _sum(x: Any, *, window: Ints, strides: Ints, dilation: Ints) -> Any:
    tiles = _tiles(x, window, strides, dilation) if prod(window) > WRITTEN_OUT else None
    if tiles is not None:
        return reduce_sum(tiles[0], axes=tiles[1])
    return fold_windows((x,), lambda a, b, by: (add(a[0], b[0]),), window, strides, dilation)[0]


def _sum_transpose(ct: Any, aval: ShapedArray, *, window: Ints, strides: Ints, dilation: Ints) -> Any:
    """Each place of the operand gets the cotangents of all windows that it is in."""
    zero, counts = aval_of(ct).dtype.type(0), aval_of(ct).shape
    if 0 in counts:
        return zeros(shaped(aval.shape, aval_of(ct).dtype))
    # Of one window along an axis there is no step.
    steps = [w if m == 1 else s for m, w, s in zip(counts, window, strides, strict=True)]
    sides = list(zip(aval.shape, counts, window, steps, dilation, strict=True))
    if all(w == 1 or (d == 1 and w <= s) for _, _, w, s, d in sides):  # in one at most: it is repeated
        split, dims, config, ends = [], [], [], []
        for n, m, w, s, _ in sides:
            dims.append(len(split))
            split += [m, w]
            config += [(0, 0, 0), (0, s - w, 0)]
            ends.append((0, n - m * s, 0))
        x = broadcast_in_dim(ct, shape=tuple(split), dims=tuple(dims))
        x = pad(x, zero, padding_config=tuple(config)) if any(c[1] for c in config) else x
        x = reshape(x, shape=tuple([m * s for _, m, _, s, _ in sides]))
        return pad(x, zero, padding_config=tuple(ends)) if any(c[1] for c in ends) else x
    config = tuple([((w - 1) * d, n - 1 - (m - 1) * s, s - 1) for n, m, w, s, d in sides])
    return window_sum(pad(ct, zero, padding_config=config), window=window, strides=(1,) * len(sides), dilation=dilation)


def _sum_mask(mask: Any, x: LinearArg, **params: Ints) -> list[Any]:
    readers = _sum_transpose(convert(mask, dt.int32), shaped(x.aval.shape, dt.int32), **params)
    return [ne(readers, np.int32(0))]


def _sum_batch(x: Any, d: int, size: int, **params: Ints) -> Any:
    return window_sum(x, **_put(d, params)), d


window_sum = linear(
    "window_sum",
    abstract=_abstract("window_sum", dt.NUMBERS),
    numpy=_sum_numpy,
    transpose=_sum_transpose,
    batch=_sum_batch,
    loop=Inline(_sum),
    samples=_samples,
    dtypes=dt.NUMBERS,
    doc="the sum of every window",
)
window_sum.mask_transpose = _sum_mask


# --- extrema ----------------------------------------------------------------------------------------------------


def _operator(name: str, numpy: Callable[..., Any], jvp: Callable[..., Any], inline: Callable[..., Any], doc: str) -> Operator:
    def batch(size: int, args: Sequence[Any], dims: Sequence[int | None], /, **params: Any) -> Any:
        (x,), (d,) = args, dims
        assert d is not None
        return op(x, **_put(d, params)), d

    op = Operator(
        name,
        abstract=_abstract(name, dt.BOOLS | dt.REALS, dt.int32 if name.startswith("window_arg") else None),
        numpy=numpy,
        jvp=jvp,
        transpose="it is not linear",
        batch=batch,
        loop=Inline(inline),
        dtypes=dt.BOOLS | dt.REALS,
        samples=_samples,
        doc=doc,
    )
    register(op)
    return op


def _numbers(shape: Ints, inner: Ints) -> Any:
    """The number of each place in its window, for tiles whose places are along the axes `inner`."""
    number, apart = full(shape, np.int32(0)), 1
    for axis in reversed(inner):
        number = add(number, mul(iota(dtype=dt.int32, shape=shape, dimension=axis), np.int32(apart)))
        apart *= shape[axis]
    return number


def _pick(x: Any, taps: Any, window: Ints, strides: Ints, dilation: Ints) -> Any:
    """From every window the element at the place that `taps` numbers."""
    tiles = _tiles(x, window, strides, dilation)
    if tiles is not None:  # a pass over all elements, whose transpose is one too
        blocks, inner = tiles
        shape = aval_of(blocks).shape
        here = eq(_numbers(shape, inner), spread(taps, shape, inner))
        return reduce_sum(select_n(here, aval_of(x).dtype.type(0), blocks), axes=inner)
    shape, counts = aval_of(x).shape, aval_of(taps).shape
    rest, flat, apart = convert(taps, dt.int64), full(counts, np.int64(0)), 1
    for axis in reversed(range(len(shape))):
        place = mul(iota(dtype=dt.int64, shape=counts, dimension=axis), np.int64(strides[axis]))
        if window[axis] > 1:
            place = add(place, mul(rem(rest, np.int64(window[axis])), np.int64(dilation[axis])))
            rest = div(rest, np.int64(window[axis]))
        flat = add(flat, mul(place, np.int64(apart)))
        apart *= shape[axis]
    return gather(
        reshape(x, shape=(prod(shape),)),
        reshape(flat, shape=(*counts, 1)),
        dimension_numbers=GatherDimensionNumbers((), (0,), (0,)),
        slice_sizes=(1,),
        mode="promise_in_bounds",
        fill_value=None,
    )


def _extremum(name: str, ufunc: np.ufunc, fold: Any, whole: Any, arg: Operator, doc: str) -> Operator:
    def numpy(x: np.ndarray, window: Ints, strides: Ints, dilation: Ints) -> np.ndarray:
        return _fold_numpy(ufunc, x, window, strides, dilation)

    def inline(x: Any, *, window: Ints, strides: Ints, dilation: Ints) -> Any:
        tiles = _tiles(x, window, strides, dilation) if prod(window) > WRITTEN_OUT else None
        if tiles is not None:
            return whole(tiles[0], axes=tiles[1])
        return fold_windows((x,), lambda a, b, by: (fold(a[0], b[0]),), window, strides, dilation)[0]

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (x,), (t,) = primals, tangents
        out = op(x, **params)
        if t is None or aval_of(out).dtype not in dt.INEXACT or aval_of(out).size == 0:
            return out, None
        return out, _pick(t, arg(x, **params), **params)

    op = _operator(name, numpy, jvp, inline, doc)
    return op


def _arg(name: str, find: Callable[..., Any], no_better: Any, whole: Any, doc: str) -> Operator:
    def numpy(x: np.ndarray, window: Ints, strides: Ints, dilation: Ints) -> np.ndarray:
        x = x.astype(np.float32) if x.dtype in NARROW else x
        windows = _windows_numpy(x, window, strides, dilation)
        rows = windows.reshape((*windows.shape[: x.ndim], prod(window)))
        return np.asarray(find(rows, axis=-1) if rows.size else np.zeros(rows.shape[:-1])).astype(np.int32)

    def combine(a: tuple[Any, ...], b: tuple[Any, ...], by: int) -> tuple[Any, ...]:
        (x, p), (y, q) = a, b
        better = and_(not_(no_better(y, x)), eq(x, x))  # the first NaN wins
        return select_n(better, x, y), select_n(better, p, add(q, np.int32(by)))

    def inline(x: Any, **params: Ints) -> Any:
        tiles = _tiles(x, **params) if prod(params["window"]) > WRITTEN_OUT else None
        if tiles is not None:
            blocks, inner = tiles
            shape = aval_of(blocks).shape
            attains = or_(eq(blocks, spread(whole(blocks, axes=inner), shape, inner)), ne(blocks, blocks))
            return reduce_min(select_n(attains, np.int32(np.iinfo(np.int32).max), _numbers(shape, inner)), axes=inner)
        return fold_windows((x, full(aval_of(x).shape, np.int32(0))), combine, **params)[1]

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return op(*primals, **params), None

    op = _operator(name, numpy, jvp, inline, f"{doc}; {NOT_DIFFERENTIABLE}")
    return op


_PLACE = "the place (its number in row-major order) of the first"
window_argmax = _arg("window_argmax", np.argmax, le, reduce_max, f"{_PLACE} largest element of every window")
window_argmin = _arg("window_argmin", np.argmin, ge, reduce_min, f"{_PLACE} smallest element of every window")
window_max = _extremum("window_max", np.maximum, max_, reduce_max, window_argmax, "the largest element of every window")
window_min = _extremum("window_min", np.minimum, min_, reduce_min, window_argmin, "the smallest element of every window")
