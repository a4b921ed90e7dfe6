"""Convolutions: what the windows of the left operand hold, laid out as matrices, times the right one, by BLAS.

In: two views and the params of conv_general_dilated. Out: a view of the result. Axes have names here: g (group), n (batch),
c (feature), o (out feature), s0 s1 ... (spatial), p0 p1 ... (places) and k0 k1 ... (taps), so that
out[n, p, g, o] = sum over k, c of x[g, n, c, p * stride + k * dilation] * y[g, o, c, k].

Three ways, by what lies side by side in memory:

`_strips`   the channel (c, or n where the features are the batch, as in the gradient by y) is innermost. Windows are copied out
            along all spatial axes but the last; along that one they are strips that overlap where they lie, and the places along
            it are a batch of products (Cho and Brandt, "MEC: memory-efficient convolution for deep neural network", 2017).
`_patches`  all windows are copied out, one product ("im2col"): dilated windows, few channels, few rows.
`_direct`   a sum of products in one kernel, nothing is copied: one out feature, one feature a group, dtypes that BLAS has not.

Gaps between the elements of the left operand (lhs_dilation) are not filled with zeros: each residue of the places has windows of
its own with every so manieth tap, and is a convolution without gaps.
"""

from collections.abc import Sequence
from math import gcd, prod
from typing import Any, NamedTuple

import numpy as np

from funcgrad.loops.contract import BLAS_DTYPES, dot_general, reduce_node
from funcgrad.loops.graph import Graph, Ref
from funcgrad.loops.named import Named, assembled, copied, zeros
from funcgrad.loops.templates import cast_template, fold_template, mul_template
from funcgrad.loops.views import Strided, reshape_strides

LARGEST = 1 << 28  # bytes of windows that are copied at once
FEWEST_ROWS = 128  # of a product along a strip
SMALL_CHANNEL = 16  # fewer channels than this do not make a run worth copying by


class Axis(NamedTuple):
    """What happens along one spatial axis: `places` results, `taps` elements of a window."""

    places: int
    taps: int
    stride: int
    low: int  # padding; negative: elements that are cut
    gap: int  # distance of the left operand's elements
    dilation: int  # of the window's elements

    @property
    def span(self) -> int:
        """The extent that all windows cover together."""
        return (self.places - 1) * self.stride + (self.taps - 1) * self.dilation + 1


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
    left = Named(x.transpose([*lhs_spec[:2], *[lhs_spec[2 + i] for i in spatial]]), ("n", "c", *_numbered("s", axes)))
    left = left.split("n" if params["batch_group_count"] > 1 else "c", groups)
    right = Named(y.transpose([*rhs_spec[:2], *[rhs_spec[2 + i] for i in spatial]]), ("o", "c", *_numbered("k", axes)))
    right = right.split("o", groups)
    out = _without_gaps(graph, left, right, axes, dtype)
    # The groups' out features side by side, then the axes in the caller's places.
    places = _numbered("p", axes)
    v = out.order(["n", *places, "g", "o"]).v
    v = v.reshape((*v.shape[:-2], v.shape[-2] * v.shape[-1]))
    where = [0] * v.ndim
    for name, i in zip(["n", *places, "o"], range(v.ndim), strict=True):
        target = out_spec[0] if name == "n" else out_spec[1] if name == "o" else out_spec[2 + spatial[int(name[1:])]]
        where[target] = i
    return v.transpose(where)


def _numbered(letter: str, axes: Sequence[Axis]) -> list[str]:
    return [f"{letter}{i}" for i in range(len(axes))]


def _cast(graph: Graph, v: Strided, dtype: np.dtype) -> Strided:
    if v.node.dtype == dtype:
        return v
    return graph.map(v.shape, dtype, cast_template(v.node.dtype, dtype), (Ref(v.node, v.offset, v.strides),)).view()


# --- gaps -------------------------------------------------------------------------------------------------------------


def _without_gaps(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype) -> Named:
    """The result with axes n, p0 ..., g, o in some order."""
    sizes = {"n": x.extent("n"), "g": x.extent("g"), "o": y.extent("o")}
    sizes |= {f"p{i}": a.places for i, a in enumerate(axes)}
    names = ["n", *_numbered("p", axes), "g", "o"]
    shape = [sizes[name] for name in names]
    if 0 in shape or 0 in y.v.shape or 0 in x.v.shape:
        return zeros(graph, shape, names, dtype)
    for i, a in enumerate(axes):
        if a.gap > 1 and a.stride == 1 and x.extent(f"s{i}") > 1:
            return _by_residues(
                graph, x, y, axes, i, dtype, Named(Strided(x.v.node, 0, tuple(shape), (0,) * len(shape)), tuple(names))
            )
    return _dense(graph, x, y, axes, dtype)


def _by_residues(graph: Graph, x: Named, y: Named, axes: list[Axis], i: int, dtype: np.dtype, like: Named) -> Named:
    """Place p meets tap k where p + k * dilation - low is a multiple of the gap: for each residue of p, every so manieth tap."""
    a = axes[i]
    common = gcd(a.dilation, a.gap)
    step = a.gap // common  # from one tap that meets an element to the next
    parts, complete = [], True
    for r in range(min(a.gap, a.places)):
        if (a.low - r) % common:
            complete = False
            continue
        first = (a.low - r) // common * pow(a.dilation // common, -1, step) % step
        if first >= a.taps:
            complete = False
            continue
        taps = len(range(first, a.taps, step))
        places = len(range(r, a.places, a.gap))
        low = (a.low - r - first * a.dilation) // a.gap
        inner = [*axes[:i], Axis(places, taps, 1, low, 1, a.dilation // common), *axes[i + 1 :]]
        part = _without_gaps(graph, x, y.cut(f"k{i}", first, a.taps, step), inner, dtype)
        parts.append((lambda v, r=r: v.cut(f"p{i}", r, a.places, a.gap), part))
    return assembled(graph, like, dtype, not complete, parts)


# --- the three ways -----------------------------------------------------------------------------------------------------


def _dense(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype) -> Named:
    """Windows of one operand times another; all gaps that are left are filled with zeros."""
    o, c, n, g = y.extent("o"), y.extent("c"), x.extent("n"), x.extent("g")
    if dtype not in BLAS_DTYPES or o == 1 or (g > 1 and c == 1):
        order = sorted(x.names, key=lambda a: -abs(x.stride(a)))
        return _direct(graph, _padded(graph, x, axes, order), y, axes, dtype)
    spatial = _numbered("s", axes)
    channel = min("cn", key=lambda a: (x.extent(a) == 1, abs(x.stride(a)), a == "n"))
    last = spatial[-1] if spatial else None
    planar = last is not None and x.stride(last) == 1 and x.extent(last) > 1 and x.extent(channel) < SMALL_CHANNEL
    size = g * n * c * prod([a.places * a.taps for a in axes]) * dtype.itemsize
    whole = all([a.taps == a.stride == a.gap == 1 and not a.low and a.span <= x.extent(f"s{i}") for i, a in enumerate(axes)])
    if size > LARGEST and (n > 1 or c > 1) and not whole:
        return _in_turns(graph, x, y, axes, dtype, -(-size // LARGEST))
    if planar and not whole:
        order = ["n", "g", "c", *spatial]
        return _patches(graph, _padded(graph, x, axes, order), y, axes, dtype, channel, True)
    if whole:
        return _pointwise(graph, x, y, axes, dtype)
    other = "n" if channel == "c" else "c"
    order = [other, *spatial, "g", channel]
    x = _padded(graph, x, axes, order)
    if x.stride(channel) != 1:
        x = copied(graph, x, order)
    a = axes[-1] if axes else None
    rows = n * prod([b.places for b in axes[:-1]])
    if a is not None and a.dilation == 1 and x.extent(channel) * 2 >= SMALL_CHANNEL:
        if a.places > 1 if channel == "n" else (a.taps > a.stride and rows >= FEWEST_ROWS):
            return _strips(graph, x, y, axes, dtype, channel)
    return _patches(graph, x, y, axes, dtype, channel, False)


def _padded(graph: Graph, x: Named, axes: list[Axis], order: Sequence[str]) -> Named:
    """x with its zeros around and in gaps, or without what is cut, so that place 0 begins at element 0."""
    cuts: list[tuple[str, int, int]] = []
    places: list[tuple[str, int, int, int]] = []
    shape = {name: x.extent(name) for name in x.names}
    fill = False
    for i, a in enumerate(axes):
        name, n = f"s{i}", x.extent(f"s{i}")
        first = max(0, -(a.low // a.gap))
        last = max(first, min(n, -((a.low - a.span) // a.gap)))
        start = a.low + first * a.gap
        cuts.append((name, first, last))
        places.append((name, start, max(start, start + (last - first - 1) * a.gap + 1), a.gap))
        shape[name] = a.span
        fill = fill or start > 0 or a.gap > 1 or last - first < a.span
    for name, first, last in cuts:
        x = x.cut(name, first, last)
    if not fill:
        return x

    def place(v: Named) -> Named:
        for cut in places:
            v = v.cut(*cut)
        return v

    return assembled(graph, x.grown(shape, order), x.v.node.dtype, True, [(place, x)] if 0 not in x.v.shape else [])


def _windows(x: Named, axes: Sequence[Axis], which: Sequence[int]) -> Named:
    """Spatial axes as places and taps."""
    for i in which:
        a, s = axes[i], x.stride(f"s{i}")
        x = x.axis(f"s{i}", (a.places, a.taps), (a.stride * s, a.dilation * s), (f"p{i}", f"k{i}"))
    return x


def _direct(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype) -> Named:
    x.v.node.must = y.v.node.must = True
    x = _windows(x, axes, range(len(axes)))
    places, taps = _numbered("p", axes), _numbered("k", axes)
    kept = sorted(["n", "g", *places], key=lambda a: (x.extent(a) == 1, -abs(x.stride(a))))
    kept.sort(key=lambda a: x.extent(a) > 1)
    inside = x.extent(kept[-1]) > 1 and x.stride(kept[-1]) == 1  # what is kept lies side by side: the lanes of the kernel
    kept.insert(len(kept) - 1 if inside else len(kept), "o")
    summed = sorted(["c", *taps], key=lambda a: -abs(x.stride(a)))
    space, steps_x, steps_y = [], [], []
    for a in (*kept, *summed):
        space.append(x.extent(a) if a in x.names else y.extent(a))
        steps_x.append(x.stride(a) if a in x.names else 0)
        steps_y.append(y.stride(a) if a in y.names else 0)
    refs = (Ref(x.v.node, x.v.offset, tuple(steps_x)), Ref(y.v.node, y.v.offset, tuple(steps_y)))
    product = graph.map(tuple(space), dtype, mul_template(x.v.node.dtype, dtype), refs)
    op = "or" if dtype.kind == "b" else "add"
    out = reduce_node(graph, product.view(), tuple(range(len(kept), len(space))), op, dtype)
    return Named(out, tuple(kept))


def _patches(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype, channel: str, planar: bool) -> Named:
    """All windows side by side. Planar ones have runs along the last spatial axis, others along the channel."""
    x = _windows(x, axes, range(len(axes)))
    places, taps = _numbered("p", axes), _numbered("k", axes)
    if planar and axes[-1].places >= axes[-1].taps:  # an image at a time
        x = copied(graph, x, ["n", "g", "c", *taps, *places])
        return _contract(graph, x, y, ["c", *taps], places, ["n", "g"], ["n", "g", "o", *places], dtype)
    if planar:
        x = copied(graph, x, ["g", "n", *places, "c", *taps])
        return _contract(graph, x, y, ["c", *taps], ["n", *places], ["g"], ["n", *places, "g", "o"], dtype)
    if channel == "c":
        x = copied(graph, x, ["g", "n", *places, *taps, "c"])
        return _contract(graph, x, y, [*taps, "c"], ["n", *places], ["g"], ["n", *places, "g", "o"], dtype)
    x = copied(graph, x, ["g", "c", *taps, *places, "n"])
    return _contract(graph, x, y, ["c", *taps], [*places, "n"], ["g"], [*places, "n", "g", "o"], dtype)


def _strips(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype, channel: str) -> Named:
    """Windows along all spatial axes but the last are copied out. Along that axis a window is a run of rows (of columns), which
    begins `stride` of them after the one before."""
    last = len(axes) - 1
    x = _windows(x, axes, range(last)).cut(f"s{last}", 0, axes[last].span)
    places, taps, strip = _numbered("p", axes[:-1]), _numbered("k", axes[:-1]), f"s{last}"
    if channel == "c":
        x = copied(graph, x, ["g", "n", *places, strip, *taps, "c"])
        summed, rows = [f"k{last}", *taps, "c"], ["n", *places]
        wish = ["n", *places, f"p{last}", "g", "o"]
    else:
        x = copied(graph, x, ["g", strip, "c", *taps, *places, "n"])
        summed, rows = [f"k{last}", "c", *taps], [*places, "n"]
        wish = [f"p{last}", *places, "n", "g", "o"]
    x = _windows(x, axes, [last])
    return _contract(graph, x, y, summed, rows, [f"p{last}", "g"], wish, dtype)


def _pointwise(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype) -> Named:
    """Windows of one element, each element one of them: a product of the operands as they lie."""
    spatial, places = _numbered("s", axes), _numbered("p", axes)
    for i, a in enumerate(axes):
        x = x.cut(f"s{i}", 0, a.places)
    x = _windows(x, axes, range(len(axes)))
    rows = x.order(["n", *places]).v
    if reshape_strides(rows.shape, rows.strides, (prod(rows.shape),)) is None:
        wish = ["n", "g", "o", *places] if spatial and x.stride("c") != 1 else ["n", *places, "g", "o"]
        return _contract(graph, x, y, ["c", *_numbered("k", axes)], places, ["n", "g"], wish, dtype)
    return _contract(graph, x, y, ["c", *_numbered("k", axes)], ["n", *places], ["g"], ["n", *places, "g", "o"], dtype)


def _in_turns(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype, turns: int) -> Named:
    """Parts of the batch one after another, or of the features, whose results are added."""
    split = "n" if x.extent("n") >= turns or x.extent("n") >= y.extent("c") else "c"
    size = x.extent(split)
    step = -(-size // min(turns, size))
    bounds = [(a, min(a + step, size)) for a in range(0, size, step)]
    parts = []
    for lo, hi in bounds:
        right = y.cut("c", lo, hi) if split == "c" else y
        parts.append(_dense(graph, x.cut(split, lo, hi), right, axes, dtype))
    names = parts[0].names
    if split == "n":
        where = [(lambda v, b=b: v.cut("n", *b)) for b in bounds]
        return assembled(graph, parts[0].grown({"n": size}, names), dtype, False, list(zip(where, parts, strict=True)))
    total = parts[0]
    for part in parts[1:]:
        part = part.order(names)
        refs = tuple([Ref(v.node, v.offset, v.strides) for v in (total.v, part.v)])
        total = Named(graph.map(total.v.shape, dtype, fold_template("add", dtype), refs).view(), names)
    return total


def _contract(
    graph: Graph, x: Named, y: Named, summed: list[str], rows: list[str], batch: list[str], wish: list[str], dtype: np.dtype
) -> Named:
    """The product over `summed`, with x's axes in the order in which they lie, and the result laid out as wished if BLAS can."""
    y = _matrices(graph, y, summed)
    x = x.order([*batch, *rows, *summed])
    for name in batch:
        if name not in y.names:  # the same matrix for all of them
            y = Named(Strided(y.v.node, y.v.offset, (x.extent(name), *y.v.shape), (0, *y.v.strides)), (name, *y.names))
    y = y.order([*batch, *summed, "o"])
    b, m, k = len(batch), len(rows), len(summed)
    every = tuple(range(b))
    numbers = ((tuple(range(b + m, b + m + k)), tuple(range(b, b + k))), (every, every))
    found = [*batch, *rows, "o"]
    permutation = tuple([found.index(name) for name in wish])
    return Named(dot_general(graph, x.v, y.v, numbers, dtype, permutation), tuple(found))


def _matrices(graph: Graph, y: Named, summed: list[str]) -> Named:
    """y such that `summed` is one axis of a matrix and "o" is the other, copied where it is not."""
    y.v.node.must = True
    inner = y.order(summed).v
    merged = reshape_strides(inner.shape, inner.strides, (prod(inner.shape),))
    if merged is not None and min(y.v.strides) >= 0 and 1 in (merged[0], y.stride("o")):
        return y
    return copied(graph, y, ["g", *summed, "o"])
