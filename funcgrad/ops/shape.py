"""Structure: slice pad concatenate rev squeeze expand_dims iota. (reshape, transpose and broadcast_in_dim are declared with
the families, and exported here too.)

All params are static; negative axes and defaults are the faces' business. These operators move elements, so that their
transposes carry masks of live places as they carry cotangents.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import DtypeError, ShapeError, message
from funcgrad.ir.loop_rules import Assemble, Indexed
from funcgrad.ir.primitive import LinearArg, Placed, register
from funcgrad.ops._family import (
    add,
    batch_at,
    broadcast_in_dim,
    check_dtypes,
    full,
    linear,
    move_dim,
    reduce_sum,
    reshape,
    transpose,
    zeros,
)
from funcgrad.ops._samples import uniform
from funcgrad.ops.arithmetic import sub
from funcgrad.ops.select import select_n
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of

__all__ = [
    "broadcast_in_dim",
    "concatenate",
    "expand_dims",
    "full",
    "iota",
    "pad",
    "reshape",
    "rev",
    "slice_",
    "squeeze",
    "transpose",
    "zeros",
]

_draw = uniform(-9, 9)


def zero_of(x: Any) -> Any:
    """The literal zero of an operand's dtype: what padding of a cotangent or a mask is made of."""
    return aval_of(x).dtype.type(0)


# --- slice ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _slice_abstract(
    x: ShapedArray, *, start_indices: tuple[int, ...], limit_indices: tuple[int, ...], strides: tuple[int, ...]
) -> ShapedArray:
    ok = len(start_indices) == len(limit_indices) == len(strides) == x.ndim
    if not ok or any(
        not (0 <= a <= b <= n and s > 0) for a, b, s, n in zip(start_indices, limit_indices, strides, x.shape, strict=True)
    ):
        raise ShapeError(
            message(
                f"slice: got start_indices={start_indices}, limit_indices={limit_indices}, strides={strides} for {x.str_short()}",
                "0 <= start <= limit <= extent and stride >= 1 on every axis",
                "x[start:limit:stride], which clips and counts from the end",
            )
        )
    shape = tuple([-(-(b - a) // s) for a, b, s in zip(start_indices, limit_indices, strides, strict=True)])
    return shaped(shape, x.dtype, x.weak_type)


def _slice_numpy(x: np.ndarray, start_indices: Any, limit_indices: Any, strides: Any) -> np.ndarray:
    return x[tuple([slice(a, b, s) for a, b, s in zip(start_indices, limit_indices, strides, strict=True)])]


def _slice_transpose(ct: Any, aval: ShapedArray, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    config = []
    for a, s, n, m in zip(start_indices, strides, aval.shape, aval_of(ct).shape, strict=True):
        config.append((a, n - a - ((m - 1) * s + 1), s - 1) if m else (n, 0, 0))
    return pad(ct, zero_of(ct), padding_config=tuple(config))


def _slice_batch(x: Any, d: int, size: int, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    def put(t: tuple[int, ...], value: int) -> tuple[int, ...]:
        return t[:d] + (value,) + t[d:]

    return (
        slice_(x, start_indices=put(start_indices, 0), limit_indices=put(limit_indices, size), strides=put(strides, 1)),
        d,
    )


def _slice_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    cases = [((7,), (1,), (6,), (2,)), ((4, 5), (0, 2), (3, 5), (1, 1)), ((), (), (), ()), ((3, 4), (1, 1), (1, 4), (1, 3))]
    return [
        ((np.asarray(_draw(rng, shape, dtype)),), {"start_indices": a, "limit_indices": b, "strides": s})
        for shape, a, b, s in cases
    ]


slice_ = linear(
    "slice",
    abstract=_slice_abstract,
    numpy=_slice_numpy,
    transpose=_slice_transpose,
    masks=True,
    batch=_slice_batch,
    loop=lambda v, start_indices, limit_indices, strides: v.slice(start_indices, limit_indices, strides),
    samples=_slice_samples,
    doc="x[start:limit:stride] on every axis",
)


def _slice_placed(ct: Any, x: LinearArg, *, start_indices: Any, limit_indices: Any, strides: Any) -> list[Any]:
    params = {"start_indices": start_indices, "limit_indices": limit_indices, "strides": strides}
    into = lambda to: add(to, _slice_transpose(ct, x.aval, **params))
    return [Placed(x.aval, into, ((start_indices, limit_indices, ct),) if all([s == 1 for s in strides]) else ())]


slice_.transpose = _slice_placed  # the cotangents of what is cut from one array are put together, not each padded (pieces.py)


# --- pad --------------------------------------------------------------------------------------------------------
# padding_config has (low, high, interior) for each axis; low and high may be negative, and then cut.


def _padded(n: int, low: int, high: int, interior: int) -> int:
    return low + high + (n + (n - 1) * interior if n else 0)


@lru_cache(maxsize=4096)
def _pad_abstract(x: ShapedArray, value: ShapedArray, *, padding_config: tuple[tuple[int, int, int], ...]) -> ShapedArray:
    check_dtypes("pad", dt.ANY - dt.KEYS, x)
    if value.shape != () or x.dtype != value.dtype:
        raise DtypeError(
            message(
                f"pad: got {format_avals((x, value))}", "a padding value that is a scalar of the operand's dtype", "convert it"
            )
        )
    shape = tuple([_padded(n, *c) for n, c in zip(x.shape, padding_config)])
    if len(padding_config) != x.ndim or any(c[2] < 0 for c in padding_config) or any(n < 0 for n in shape):
        raise ShapeError(
            message(
                f"pad: got padding_config={padding_config} for {x.str_short()}",
                "(low, high, interior) for each axis, interior >= 0, leaving no extent below 0",
                "mend padding_config",
            )
        )
    return shaped(shape, x.dtype, x.weak_type and value.weak_type)


def _pad_regions(shape: Sequence[int], padding_config: Any) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Where the operand's elements lie in the output, and which of them are there, as slices."""
    out, kept = [], []
    for n, (low, high, interior) in zip(shape, padding_config, strict=True):
        step, total = interior + 1, _padded(n, low, high, interior)
        first = max(0, -(low // step))  # the first element at low + step * i >= 0
        last = min(n, -((low - total) // step))  # the first one beyond the end
        if last <= first:
            out.append(slice(0, 0, step))
            kept.append(slice(0, 0, 1))
            continue
        start = low + step * first
        out.append(slice(start, start + (last - first - 1) * step + 1, step))
        kept.append(slice(first, last, 1))
    return tuple(out), tuple(kept)


def _pad_numpy(x: np.ndarray, value: np.ndarray, padding_config: Any) -> np.ndarray:
    shape = tuple([_padded(n, *c) for n, c in zip(x.shape, padding_config, strict=True)])
    out = np.full(shape, value, x.dtype) if np.any(value) else np.zeros(shape, x.dtype)
    where, kept = _pad_regions(x.shape, padding_config)
    out[where] = x[kept]
    return out


def _unpad(ct: Any, aval: ShapedArray, padding_config: Any) -> Any:
    """The elements of `ct` that come from the operand; zeros for those that the padding cut off."""
    where, kept = _pad_regions(aval.shape, padding_config)
    inner = slice_(
        ct,
        start_indices=tuple([s.start for s in where]),
        limit_indices=tuple([s.stop for s in where]),
        strides=tuple([s.step for s in where]),
    )
    config = tuple((s.start, n - s.stop, 0) for s, n in zip(kept, aval.shape, strict=True))
    return pad(inner, zero_of(ct), padding_config=config) if any(c != (0, 0, 0) for c in config) else inner


def _pad_transpose(ct: Any, x: Any, value: Any, *, padding_config: Any) -> list[Any]:
    aval = aval_of(x) if not isinstance(x, LinearArg) else x.aval
    t_x = _unpad(ct, aval, padding_config)
    t_value = None
    if isinstance(value, LinearArg):
        every = reduce_sum(ct, axes=tuple(range(aval_of(ct).ndim)))
        t_value = sub(every, reduce_sum(t_x, axes=tuple(range(aval.ndim))))
    return [t_x if isinstance(x, LinearArg) else None, t_value]


def _pad_mask(mask: Any, x: Any, value: Any, *, padding_config: Any) -> list[Any]:
    t_x = _unpad(mask, x.aval, padding_config) if isinstance(x, LinearArg) else None
    return [t_x, full((), np.True_) if isinstance(value, LinearArg) else None]


def _pad_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, padding_config: Any) -> Any:
    out = pad(*primals, padding_config=padding_config)
    t, t_value = tangents
    if aval_of(out).dtype not in dt.INEXACT or (t is None and t_value is None):
        return out, None
    t = zeros(aval_of(primals[0])) if t is None else t
    return out, pad(t, zero_of(out) if t_value is None else t_value, padding_config=padding_config)


def _pad_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, padding_config: Any) -> Any:
    (x, value), (d, d_value) = args, dims
    if d_value is None:
        return pad(x, value, padding_config=padding_config[:d] + ((0, 0, 0),) + padding_config[d:]), d
    # One padding value for each example: pad a mask beside the operand, and choose.
    x = batch_at(x, d, size)
    config = ((0, 0, 0), *padding_config)
    inside = pad(full(aval_of(x).shape, np.True_), np.False_, padding_config=config)
    padded = pad(x, zero_of(x), padding_config=config)
    values = broadcast_in_dim(value, shape=aval_of(padded).shape, dims=(0,))
    return select_n(inside, values, padded), 0


def _pad_loop(avals_in: Sequence[ShapedArray], aval_out: ShapedArray, *, padding_config: Any) -> Any:
    where, kept = _pad_regions(avals_in[0].shape, padding_config)

    def cut(slices: tuple[slice, ...]) -> Any:
        return lambda v: v.slice(tuple(s.start for s in slices), tuple(s.stop for s in slices), tuple(s.step for s in slices))

    empty = any(s.start >= s.stop for s in kept)
    return 1, [] if empty else [(0, cut(where), cut(kept))]


def _pad_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    cases = [
        ((3,), ((1, 2, 0),)),
        ((2, 3), ((0, 1, 1), (2, 0, 0))),
        ((4,), ((-1, -2, 0),)),
        ((3,), ((-1, 2, 2),)),
        ((), ()),
        ((0, 2), ((1, 1, 0), (0, 0, 0))),
        ((2,), ((-3, 4, 0),)),
    ]
    value = dtype.type(0) if dtype == dt.bool_ else dtype.type(3)
    return [
        ((np.asarray(_draw(rng, shape, dtype)), np.asarray(value, dtype)), {"padding_config": config}) for shape, config in cases
    ]


pad = Operator(
    "pad",
    abstract=_pad_abstract,
    numpy=_pad_numpy,
    jvp=_pad_jvp,
    transpose=_pad_transpose,
    batch=_pad_batch,
    mask_transpose=_pad_mask,
    loop=Assemble(_pad_loop),
    dtypes=dt.ANY - dt.KEYS,
    samples=_pad_samples,
    doc="the operand within (and, with interior padding, between) copies of a value; negative padding cuts",
)
register(pad)


# --- concatenate --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _concatenate_abstract(*xs: ShapedArray, dimension: int) -> ShapedArray:
    first = xs[0]
    d = dimension
    if not 0 <= d < first.ndim or any(
        a.ndim != first.ndim or a.shape[:d] + a.shape[d + 1 :] != first.shape[:d] + first.shape[d + 1 :] for a in xs
    ):
        raise ShapeError(
            message(
                f"concatenate: got {format_avals(xs)} along axis {d}",
                "one rank of at least 1, and equal extents on all other axes",
                "reshape or broadcast the operands, or fnp.stack for a new axis",
            )
        )
    if any(a.dtype != first.dtype for a in xs):
        raise DtypeError(message(f"concatenate: got {format_avals(xs)}", "one dtype", "fnp.concatenate, which promotes"))
    shape = first.shape[:d] + (sum(a.shape[d] for a in xs),) + first.shape[d + 1 :]
    return shaped(shape, first.dtype, all([a.weak_type for a in xs]))


def _pieces(ct: Any, avals: Sequence[ShapedArray | None], extents: Sequence[int], d: int) -> list[Any]:
    """The part of `ct` that belongs to each operand, where its aval is given."""
    outs, start = [], 0
    shape = aval_of(ct).shape
    for aval, n in zip(avals, extents, strict=True):
        stop = start + n
        if aval is None:
            outs.append(None)
        else:
            starts = tuple(start if i == d else 0 for i in range(len(shape)))
            stops = tuple(stop if i == d else m for i, m in enumerate(shape))
            outs.append(slice_(ct, start_indices=starts, limit_indices=stops, strides=(1,) * len(shape)))
        start = stop
    return outs


def _concatenate_transpose(ct: Any, *xs: Any, dimension: int) -> list[Any]:
    avals = [x.aval if isinstance(x, LinearArg) else None for x in xs]
    return _pieces(ct, avals, [x.aval.shape[dimension] for x in xs], dimension)


def _concatenate_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, dimension: int) -> Any:
    out = concatenate(*primals, dimension=dimension)
    if aval_of(out).dtype not in dt.INEXACT or all(t is None for t in tangents):
        return out, None
    ts = [zeros(aval_of(x)) if t is None else t for x, t in zip(primals, tangents, strict=True)]
    return out, concatenate(*ts, dimension=dimension)


def _concatenate_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, dimension: int) -> Any:
    return concatenate(*[batch_at(x, d, size) for x, d in zip(args, dims, strict=True)], dimension=dimension + 1), 0


def _concatenate_loop(avals_in: Sequence[ShapedArray], aval_out: ShapedArray, *, dimension: int) -> Any:
    regions, start, shape = [], 0, aval_out.shape
    for k, aval in enumerate(avals_in):
        stop = start + aval.shape[dimension]
        starts = tuple(start if i == dimension else 0 for i in range(len(shape)))
        stops = tuple(stop if i == dimension else n for i, n in enumerate(shape))
        if aval.size:
            regions.append((k, lambda v, a=starts, b=stops: v.slice(a, b, (1,) * len(a)), None))
        start = stop
    return None, regions


def _concatenate_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    cases = [([(2,), (3,)], 0), ([(2, 3), (2, 1), (2, 2)], 1), ([(3,)], 0), ([(0, 2), (1, 2)], 0)]
    return [(tuple(_draw(rng, s, dtype) for s in shapes), {"dimension": d}) for shapes, d in cases]


concatenate = Operator(
    "concatenate",
    abstract=_concatenate_abstract,
    numpy=lambda *xs, dimension: np.concatenate(xs, dimension),
    jvp=_concatenate_jvp,
    transpose=_concatenate_transpose,
    batch=_concatenate_batch,
    mask_transpose=_concatenate_transpose,
    loop=Assemble(_concatenate_loop),
    dtypes=dt.ANY,
    samples=_concatenate_samples,
    doc="operands one after another along an axis",
)
register(concatenate)


# --- rev, squeeze, expand_dims ----------------------------------------------------------------------------------


def _check_dims(name: str, rank: int, dimensions: tuple[int, ...], what: str) -> None:
    if len(set(dimensions)) != len(dimensions) or any(not 0 <= d < rank for d in dimensions):
        raise ShapeError(
            message(f"{name}: got dimensions={dimensions} for {what}", f"distinct axes from 0 to {rank - 1}", "mend them")
        )


def _rev_abstract(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    _check_dims("rev", x.ndim, dimensions, x.str_short())
    return x


rev = linear(
    "rev",
    abstract=_rev_abstract,
    numpy=lambda x, dimensions: np.flip(x, dimensions),
    transpose=lambda ct, aval, dimensions: rev(ct, dimensions=dimensions),
    masks=True,
    batch=lambda x, d, size, dimensions: (rev(x, dimensions=tuple(i + (i >= d) for i in dimensions)), d),
    loop=lambda v, dimensions: v.reverse(dimensions),
    samples=lambda rng, dtype: [
        ((np.asarray(_draw(rng, s, dtype)),), {"dimensions": d})
        for s, d in [((4,), (0,)), ((2, 3), (0, 1)), ((2, 3), ()), ((0, 2), (1,))]
    ],
    doc="the elements in reverse order along axes",
)


def _squeeze_abstract(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    _check_dims("squeeze", x.ndim, dimensions, x.str_short())
    if any(x.shape[d] != 1 for d in dimensions):
        raise ShapeError(
            message(f"squeeze: got dimensions={dimensions} for {x.str_short()}", "axes of extent 1", "x.reshape(...) or an index")
        )
    return shaped(tuple([n for i, n in enumerate(x.shape) if i not in dimensions]), x.dtype, x.weak_type)


def _squeeze_batch(x: Any, d: int, size: int, *, dimensions: tuple[int, ...]) -> Any:
    return squeeze(move_dim(x, d, 0), dimensions=tuple(i + 1 for i in dimensions)), 0


squeeze = linear(
    "squeeze",
    abstract=_squeeze_abstract,
    numpy=lambda x, dimensions: np.squeeze(x, dimensions),
    transpose=lambda ct, aval, dimensions: reshape(ct, shape=aval.shape),
    masks=True,
    batch=_squeeze_batch,
    loop=lambda v, dimensions: v.squeeze(dimensions),
    samples=lambda rng, dtype: [
        ((np.asarray(_draw(rng, s, dtype)),), {"dimensions": d})
        for s, d in [((1, 3), (0,)), ((2, 1, 1), (1, 2)), ((1,), (0,)), ((0, 1), (1,))]
    ],
    doc="without axes of extent 1",
)


def _expand_abstract(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    _check_dims("expand_dims", x.ndim + len(dimensions), dimensions, x.str_short())
    return shaped(_expanded(x.shape, dimensions), x.dtype, x.weak_type)


def _expanded(shape: tuple[int, ...], dimensions: tuple[int, ...]) -> tuple[int, ...]:
    old = iter(shape)
    return tuple([1 if i in dimensions else next(old) for i in range(len(shape) + len(dimensions))])


def _expand_batch(x: Any, d: int, size: int, *, dimensions: tuple[int, ...]) -> Any:
    return expand_dims(move_dim(x, d, 0), dimensions=tuple(i + 1 for i in dimensions)), 0


def _expand_loop(v: Any, dimensions: tuple[int, ...]) -> Any:
    return v.reshape(_expanded(tuple(v.shape), dimensions))


expand_dims = linear(
    "expand_dims",
    abstract=_expand_abstract,
    numpy=lambda x, dimensions: np.reshape(x, _expanded(x.shape, dimensions)),
    transpose=lambda ct, aval, dimensions: squeeze(ct, dimensions=dimensions),
    masks=True,
    batch=_expand_batch,
    loop=_expand_loop,
    samples=lambda rng, dtype: [
        ((np.asarray(_draw(rng, s, dtype)),), {"dimensions": d})
        for s, d in [((3,), (0,)), ((2, 3), (0, 2)), ((), (0,)), ((0,), (1,))]
    ],
    doc="with new axes of extent 1 at these places of the output",
)


# --- iota -----------------------------------------------------------------------------------------------------------


def _iota_abstract(*, dtype: np.dtype, shape: tuple[int, ...], dimension: int) -> ShapedArray:
    if not 0 <= dimension < len(shape):
        raise ShapeError(
            message(
                f"iota: got dimension={dimension} for shape {shape}", f"an axis from 0 to {len(shape) - 1}", "mend dimension="
            )
        )
    return shaped(shape, np.dtype(dtype))


def _iota_numpy(dtype: np.dtype, shape: tuple[int, ...], dimension: int) -> np.ndarray:
    line = np.arange(shape[dimension]).astype(dtype)
    return np.broadcast_to(line.reshape((-1,) + (1,) * (len(shape) - dimension - 1)), shape)


iota = Operator(
    "iota",
    abstract=_iota_abstract,
    numpy=_iota_numpy,
    jvp=lambda primals, tangents, **params: (iota(**params), None),
    transpose="it has no operand",
    batch="it has no operand",
    loop=Indexed(lambda b, dtype, shape, dimension: b.cast(b.index(dimension), dtype), ()),
    dtypes=dt.NUMBERS,
    samples=lambda rng, dtype: [
        ((), {"dtype": dtype, "shape": s, "dimension": d}) for s, d in [((5,), 0), ((2, 3), 1), ((2, 3), 0), ((0, 2), 1)]
    ],
    doc="each element is its position along an axis",
)
register(iota)
