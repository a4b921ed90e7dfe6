"""Convolutions: which windows there are, and which way they are multiplied (window_products.py).

In: two views and the params of conv_general_dilated. Out: a view of the result. The left operand is padded, with its channel
innermost where that makes runs to multiply. Gaps between its elements (lhs_dilation) are not filled with zeros: each residue of
the places has windows of its own with every so manieth tap, and is a convolution without gaps.
"""

import itertools
from collections.abc import Callable, Sequence
from math import gcd, prod
from typing import Any, NamedTuple

import numpy as np

from funcgrad.loops import window_products as ways
from funcgrad.loops.contract import BLAS_DTYPES
from funcgrad.loops.graph import Graph, Ref
from funcgrad.loops.named import Named, assembled, copied, zeros
from funcgrad.loops.templates import cast_template, fold_template
from funcgrad.loops.views import Strided
from funcgrad.loops.window_products import Axis, numbered

LARGEST = 1 << 28  # bytes of windows that are copied at once
SMALL_CHANNEL = 16  # fewer channels than this do not make a run worth copying by


def convolution(graph: Graph, x: Strided, y: Strided, params: dict[str, Any], shape: tuple[int, ...], dtype: np.dtype) -> Strided:
    """The result, of `shape` and `dtype`."""
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    if dtype in BLAS_DTYPES:
        x, y = _cast(graph, x, dtype), _cast(graph, y, dtype)
    spatial = sorted(range(x.ndim - 2), key=lambda i: -abs(x.strides[lhs_spec[2 + i]]))  # the last one lies closest
    axes = [
        Axis(
            shape[out_spec[2 + i]],
            y.shape[rhs_spec[2 + i]],
            params["window_strides"][i],
            params["padding"][i][0],
            params["lhs_dilation"][i],
            params["rhs_dilation"][i],
        )
        for i in spatial
    ]
    groups = params["feature_group_count"] * params["batch_group_count"]
    left = Named(x.transpose([*lhs_spec[:2], *[lhs_spec[2 + i] for i in spatial]]), ("n", "c", *numbered("s", axes)))
    left = left.split("n" if params["batch_group_count"] > 1 else "c", groups, "g")
    right = Named(y.transpose([*rhs_spec[:2], *[rhs_spec[2 + i] for i in spatial]]), ("o", "c", *numbered("k", axes)))
    right = right.split("o", groups, "g")
    features_last = not axes or out_spec[1] > max(out_spec[2:])
    out = _without_gaps(graph, left, right, axes, dtype, features_last)
    # The groups' out features side by side, then the axes in the caller's places.
    places = numbered("p", axes)
    v = out.order(["n", *places, "g", "o"]).v
    v = v.reshape((*v.shape[:-2], v.shape[-2] * v.shape[-1]))
    where = [0] * v.ndim
    for name, i in zip(["n", *places, "o"], range(v.ndim), strict=True):
        target = out_spec[0] if name == "n" else out_spec[1] if name == "o" else out_spec[2 + spatial[int(name[1:])]]
        where[target] = i
    return v.transpose(where)


def _cast(graph: Graph, v: Strided, dtype: np.dtype) -> Strided:
    if v.node.dtype == dtype:
        return v
    return graph.map(v.shape, dtype, cast_template(v.node.dtype, dtype), (Ref(v.node, v.offset, v.strides),)).view()


# --- gaps -------------------------------------------------------------------------------------------------------------


def _without_gaps(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype, features_last: bool) -> Named:
    """The result with axes n, p0 ..., g, o in some order; the features last where that costs nothing, if this is wished."""
    sizes = {"n": x.extent("n"), "g": x.extent("g"), "o": y.extent("o")}
    sizes |= {f"p{i}": a.places for i, a in enumerate(axes)}
    names = ["n", *numbered("p", axes), "g", "o"]
    shape = [sizes[name] for name in names]
    if 0 in shape or 0 in y.v.shape or 0 in x.v.shape:
        return zeros(graph, shape, names, dtype)
    if not any([a.gap > 1 for a in axes]):
        return _dense(graph, x, y, axes, dtype, features_last)
    # Place p meets tap k where p + k * dilation - low is a multiple of the gap: for each residue of p, every so manieth tap.
    choices = [_residues(a, x.extent(f"s{i}")) for i, a in enumerate(axes)]
    parts = []
    for chosen in itertools.product(*choices):
        taps, where = y, []
        for i, r in enumerate(chosen):
            taps = taps.cut(f"k{i}", r.first, axes[i].taps, r.every)
            where.append((f"p{i}", r.start, axes[i].places, r.step))
        part = _dense(graph, x, taps, [r.axis for r in chosen], dtype, features_last)
        parts.append((lambda v, where=where: v.cuts(where), part))
    complete = all([sum([r.axis.places for r in rs]) == a.places for rs, a in zip(choices, axes, strict=True)])
    return assembled(graph, x.grown(sizes, names), dtype, not complete, parts)


class _Residue(NamedTuple):
    """Places start, start + step, ... as a convolution without gaps of the taps first, first + every, ..."""

    axis: Axis
    start: int
    step: int
    first: int
    every: int


def _residues(a: Axis, n: int) -> list[_Residue]:
    """The residues that meet a tap; the whole axis where it has no gaps, or steps over places."""
    if a.gap == 1 or n == 1:
        return [_Residue(a._replace(gap=1), 0, 1, 0, 1)]
    if a.stride > 1:
        return [_Residue(a, 0, 1, 0, 1)]
    common = gcd(a.dilation, a.gap)
    every = a.gap // common  # from one tap that meets an element to the next
    found = []
    for r in range(min(a.gap, a.places)):
        first = (a.low - r) // common * pow(a.dilation // common, -1, every) % every
        if (a.low - r) % common == 0 and first < a.taps:
            places, taps = len(range(r, a.places, a.gap)), len(range(first, a.taps, every))
            low = (a.low - r - first * a.dilation) // a.gap
            found.append(_Residue(Axis(places, taps, 1, low, 1, a.dilation // common), r, a.gap, first, every))
    return found


# --- the choice ------------------------------------------------------------------------------------------------------


def _dense(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype, features_last: bool) -> Named:
    """Windows of one operand times another; all gaps that are left are filled with zeros."""
    o, c, n, g = y.extent("o"), y.extent("c"), x.extent("n"), x.extent("g")
    if dtype not in BLAS_DTYPES or o == 1 or (g > 1 and c == 1):
        order = sorted(x.names, key=lambda a: -abs(x.stride(a)))
        return ways.direct(graph, _padded(graph, x, axes, order), y, axes, dtype)
    if all([a.taps == a.stride == a.gap == 1 and not a.low and a.span <= x.extent(f"s{i}") for i, a in enumerate(axes)]):
        return ways.pointwise(graph, x, y, axes, dtype, features_last)
    spatial = numbered("s", axes)
    last = axes[-1]
    near = "c" if x.stride("c") <= x.stride("n") else "n"
    if x.stride(spatial[-1]) == 1 and x.extent(spatial[-1]) > 1 and x.extent(near) < SMALL_CHANNEL:
        x = _padded(graph, x, axes, ["n", "g", "c", *spatial])
        return _in_turns(graph, x, y, axes, dtype, lambda x, y: ways.planes(graph, x, y, axes, dtype, features_last))
    channel = near if x.extent(near) > 1 else "n" if near == "c" else "c"
    order = ["c", *spatial, "g", "n"]
    if channel == "c":  # with images side by side their rows are places without gaps, if windows do not step over rows
        dense = all([a.stride == 1 for a in axes[:-1]])
        order = ["g", *spatial[:-1], "n", spatial[-1], "c"] if dense else ["g", "n", *spatial, "c"]
    x = _padded(graph, x, axes, order)
    if x.stride(channel) != 1:
        x = copied(graph, x, order)
    if channel == "c" and (rows := ways.rows_of(x, axes)) is not None:
        return ways.in_place(graph, x, y, axes, dtype, rows)
    if channel == "n" and axes[0].dilation == 1 and n * 2 >= SMALL_CHANNEL and prod([a.taps for a in axes]) >= ways.MANY_TAPS:
        return _in_turns(graph, x, y, axes, dtype, lambda x, y: ways.strips_of_batches(graph, x, y, axes, dtype))
    overlap = last.places > 1 if channel == "n" else last.taps > last.stride
    many = channel == "n" or n * prod([b.places for b in axes[:-1]]) >= ways.FEWEST_ROWS
    if overlap and many and last.dilation == 1 and x.extent(channel) * 2 >= SMALL_CHANNEL:
        return _in_turns(graph, x, y, axes, dtype, lambda x, y: ways.strips(graph, x, y, axes, dtype, channel))
    return _in_turns(graph, x, y, axes, dtype, lambda x, y: ways.patches(graph, x, y, axes, dtype, channel))


def _padded(graph: Graph, x: Named, axes: list[Axis], order: Sequence[str]) -> Named:
    """x with its zeros around and in gaps, or without what is cut, so that place 0 begins at element 0."""
    cuts: list[Any] = []
    places: list[Any] = []
    shape = {name: x.extent(name) for name in x.names}
    fill = False
    for i, a in enumerate(axes):
        name, n = f"s{i}", x.extent(f"s{i}")
        first = max(0, -(a.low // a.gap))
        last = max(first, min(n, -((a.low - a.span) // a.gap)))
        start = a.low + first * a.gap
        cuts.append((name, first, last))
        places.append((name, start, max(start, start + (last - first - 1) * a.gap + 1), a.gap))
        # Whole steps along all axes but the last: then images follow each other in whole steps too.
        shape[name] = a.span if i == len(axes) - 1 else -(-a.span // a.stride) * a.stride
        fill = fill or start > 0 or a.gap > 1 or last - first < a.span
    x = x.cuts(cuts)
    if not fill:
        return x
    parts = [(lambda v: v.cuts(places), x)] if 0 not in x.v.shape else []
    return assembled(graph, x.grown(shape, order), x.v.node.dtype, True, parts)


def _in_turns(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype, way: Callable[[Named, Named], Named]) -> Named:
    """By `way`; where that copies too much at once, parts of the batch one after another, or of the features, whose results are
    added."""
    size = x.extent("g") * x.extent("n") * x.extent("c") * prod([a.places * a.taps for a in axes]) * dtype.itemsize
    split = "n" if x.extent("n") >= x.extent("c") else "c"
    turns = min(-(-size // LARGEST), x.extent(split))
    if turns < 2:
        return way(x, y)
    step = -(-x.extent(split) // turns)
    bounds = [(a, min(a + step, x.extent(split))) for a in range(0, x.extent(split), step)]
    parts = [way(x.cut(split, *b), y.cut("c", *b) if split == "c" else y) for b in bounds]
    names = parts[0].names
    if split == "n":
        where = [(lambda v, b=b: v.cut("n", *b)) for b in bounds]
        like = parts[0].grown({"n": x.extent("n")}, names)
        return assembled(graph, like, dtype, False, list(zip(where, parts, strict=True)))
    total = parts[0]
    for part in parts[1:]:
        refs = tuple([Ref(v.node, v.offset, v.strides) for v in (total.v, part.order(names).v)])
        total = Named(graph.map(total.v.shape, dtype, fold_template("add", dtype), refs).view(), names)
    return total
