"""The products of a convolution, by what lies side by side in memory.

In: two views with named axes, the left one padded. Out: a view of the result. The names: g (group), n (batch), c (feature),
o (out feature), s0 s1 ... (spatial), p0 p1 ... (places) and k0 k1 ... (taps), so that

    out[n, p, g, o] = sum over k, c of x[g, n, c, p * stride + k * dilation] * y[g, o, c, k]

The channel is c or n (n where the features are the batch, as in the gradient by y), whichever lies closer together.

`in_place`  channel c: the places of all images along all spatial axes but the last (and some between that are none) are
            rows a fixed step apart. A run of the last axis is a window's row, so that nothing is copied: the products for all
            taps along the other axes are added up, one result for each place along the last one.
`strips`    windows are copied out along all spatial axes but the last; along that one they are strips that overlap where they
            lie, and the places along it are a batch of products (Cho and Brandt, "MEC: memory-efficient convolution for deep
            neural network", 2017). `strips_of_batches`: the same along the first axis, for the gradient by y.
`patches`   all windows are copied out, one product ("im2col"): dilated windows, few rows. `planes`: the same for few features.
`pointwise` windows of one element: a product of the operands as they lie.
`direct`    a sum of products in one kernel, nothing is copied: one out feature, one feature a group, dtypes that BLAS has not.

The limits below are estimates of where one way overtakes another.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from funcgrad.loops.contract import Contraction, dot_general, orient, reduce_node
from funcgrad.loops.graph import Graph, Node, Ref
from funcgrad.loops.named import Named, copied
from funcgrad.loops.templates import fold_template, mul_template
from funcgrad.loops.views import Strided, reshape_strides

FEWEST_ROWS = 128  # of a product along a strip
FEWEST_TERMS = 96  # of a product in place: shorter ones are mostly overhead
MANY_TAPS = 256  # of a window, for a product each of their own
MOST_GAPS = 1.2  # rows in place by rows wanted
FEW_TAPS = 9  # of a sum that is written out
MOST_REPEATED = 1 << 15  # elements
LONG_SUM = 4096  # terms
MOST_PARTS = 8  # of a long sum


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


def numbered(letter: str, axes: Sequence[Axis]) -> list[str]:
    return [f"{letter}{i}" for i in range(len(axes))]


def windows(x: Named, axes: Sequence[Axis], which: Sequence[int]) -> Named:
    """Spatial axes as places and taps."""
    for i in which:
        a, s = axes[i], x.stride(f"s{i}")
        x = x.axis(f"s{i}", (a.places, a.taps), (a.stride * s, a.dilation * s), (f"p{i}", f"k{i}"))
    return x


def direct(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype) -> Named:
    """Few taps are written out, others are a fold."""
    x.v.node.must = y.v.node.must = True
    x = windows(x, axes, range(len(axes)))
    kept = sorted(["n", "g", *numbered("p", axes)], key=lambda a: (x.extent(a) > 1, -abs(x.stride(a))))
    inside = x.extent(kept[-1]) > 1 and x.stride(kept[-1]) == 1  # what is kept lies side by side: the lanes of the kernel
    kept.insert(0 if y.extent("o") == 1 else len(kept) - 1 if inside else len(kept), "o")
    summed = sorted(["c", *numbered("k", axes)], key=lambda a: (x.extent(a) > 1, -abs(x.stride(a))))
    written: list[str] = []
    while inside and summed and prod([x.extent(a) for a in (summed[-1], *written)]) <= FEW_TAPS:
        written.insert(0, summed.pop())
    if written and kept[-1] in y.names:
        y = _repeated(graph, x, y, kept)
    space = tuple([x.extent(a) if a in x.names else y.extent(a) for a in (*kept, *summed)])

    def read(v: Named, tap: tuple[int, ...]) -> Ref:
        strides = tuple([v.stride(a) if a in v.names else 0 for a in (*kept, *summed)])
        return Ref(v.v.node, v.v.offset + sum([i * v.stride(a) for i, a in zip(tap, written, strict=True)]), strides)

    total = None
    for tap in np.ndindex(*[x.extent(a) for a in written]):
        product = graph.map(space, dtype, mul_template(x.v.node.dtype, dtype), (read(x, tap), read(y, tap)))
        if total is not None:
            refs = (Ref(total, 0, total.strides), Ref(product, 0, product.strides))
            product = graph.map(space, dtype, fold_template("or" if dtype.kind == "b" else "add", dtype), refs)
        total = product
    assert total is not None
    if not summed:
        return Named(total.view(), tuple(kept))
    op = "or" if dtype.kind == "b" else "add"
    return Named(reduce_node(graph, total.view(), tuple(range(len(kept), len(space))), op, dtype), tuple(kept))


def _repeated(graph: Graph, x: Named, y: Named, kept: list[str]) -> Named:
    """y once for each place along the axis before the last one, so that both are walked as one."""
    before, unit = kept[-2] if kept[-2] != "o" else kept[-3], kept[-1]
    n = x.extent(before)
    joined = y.extent("o") == 1 and x.stride(before) == x.extent(unit) and before not in y.names and n > 1
    if not joined or n * prod(y.v.shape) > MOST_REPEATED:
        return y
    y = Named(Strided(y.v.node, y.v.offset, (n, *y.v.shape), (0, *y.v.strides)), (before, *y.names))
    return copied(graph, y, [*[a for a in y.names if a not in (before, unit)], before, unit])


def patches(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype, channel: str) -> Named:
    """All windows side by side, copied by runs along the channel."""
    x = windows(x, axes, range(len(axes)))
    places, taps = numbered("p", axes), numbered("k", axes)
    if channel == "c":
        x = copied(graph, x, ["g", "n", *places, *taps, "c"])
        return _contract(graph, x, y, [*taps, "c"], ["n", *places], ["g"], ["n", *places, "g", "o"], dtype)
    x = copied(graph, x, ["g", "c", *taps, *places, "n"])
    return _contract(graph, x, y, ["c", *taps], [*places, "n"], ["g"], [*places, "n", "g", "o"], dtype)


def planes(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype, features_last: bool) -> Named:
    """All windows, copied by runs along the last spatial axis: of few features, each a plane."""
    x = windows(x, axes, range(len(axes)))
    places, taps = numbered("p", axes), numbered("k", axes)
    if axes[-1].places < axes[-1].taps:
        x = copied(graph, x, ["g", "n", *places, "c", *taps])
        return _contract(graph, x, y, ["c", *taps], ["n", *places], ["g"], ["n", *places, "g", "o"], dtype)
    if features_last:
        x = copied(graph, x, ["g", "c", *taps, "n", *places])
        return _contract(graph, x, y, ["c", *taps], ["n", *places], ["g"], ["n", *places, "g", "o"], dtype)
    x = copied(graph, x, ["n", "g", "c", *taps, *places])  # an image at a time, so that features come out as planes
    return _contract(graph, x, y, ["c", *taps], places, ["n", "g"], ["n", "g", "o", *places], dtype)


def strips(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype, channel: str) -> Named:
    """Windows along all spatial axes but the last are copied out. Along that axis a window is a run of rows (of columns), which
    begins `stride` of them after the one before."""
    last = len(axes) - 1
    x = windows(x, axes, range(last)).cut(f"s{last}", 0, axes[last].span)
    places, taps, strip = numbered("p", axes[:-1]), numbered("k", axes[:-1]), f"s{last}"
    if channel == "c":
        x = copied(graph, x, ["g", "n", *places, strip, *taps, "c"])
        summed, rows = [f"k{last}", *taps, "c"], ["n", *places]
        wish = ["n", *places, f"p{last}", "g", "o"]
    else:
        x = copied(graph, x, ["g", strip, "c", *taps, *places, "n"])
        summed, rows = [f"k{last}", "c", *taps], [*places, "n"]
        wish = [f"p{last}", *places, "n", "g", "o"]
    x = windows(x, axes, [last])
    return _contract(graph, x, y, summed, rows, [f"p{last}", "g"], wish, dtype)


def strips_of_batches(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype) -> Named:
    """As `strips`, of many taps and a channel that is the batch: windows along all spatial axes but the first are copied out, so
    that the taps of one feature are rows next to each other, as they are in y. The products for all features are added up."""
    x = windows(x, axes, range(1, len(axes))).cut("s0", 0, axes[0].span)
    places, taps = numbered("p", axes)[1:], numbered("k", axes)
    if len(axes) > 1:
        x = copied(graph, x, ["g", "c", "s0", *taps[1:], *places, "n"])
    x, y = windows(x, axes, [0]), _matrices(graph, y, taps)
    parts = _parts(x.extent("c"))
    x, y = x.split("c", parts, "q"), y.split("c", parts, "q")
    rows, o = [*places, "n"], y.extent("o")
    (m, step_m), (k, step_k), (_, step_y) = _merged(x, rows), _merged(x, taps), _merged(y, taps)
    a, b = orient(m, k, step_m, step_k), orient(k, o, step_y, y.stride("o"))
    assert a is not None and b is not None
    batch = ["q", "p0", "g"]
    out = Node(graph, "dot", (*[x.extent(i) for i in batch], m, o), dtype)
    out.args = (Ref(x.v.node, x.v.offset, x.v.strides), Ref(y.v.node, y.v.offset, y.v.strides))
    x.v.node.must = y.v.node.must = out.must = True
    moves = [(x.extent(i), x.stride(i), y.stride(i) if i in y.names else 0, s) for i, s in zip(batch, out.strides, strict=False)]
    moves.append((x.extent("c"), x.stride("c"), y.stride("c"), 0))
    out.call = Contraction(a[0], b[0], m, o, k, a[1], b[1], o, tuple([move for move in moves if move[0] > 1]))
    names = (*batch, *rows, "o")
    v = out.view().reshape([o if i == "o" else x.extent(i) for i in names])
    if parts > 1:
        v = reduce_node(graph, v, (0,), "add", dtype)
        return Named(v, names[1:])
    return Named(v, names).cut("q", 0, 1).order(names[1:])


def _merged(x: Named, names: Sequence[str]) -> tuple[int, int]:
    """Extent and stride of axes that are one."""
    v = x.order(names).v
    n = prod(v.shape)
    strides = reshape_strides(v.shape, v.strides, (n,))
    assert strides is not None
    return n, strides[0]


class Rows(NamedTuple):
    """Places that are rows of one product: `step` elements apart, and of how many rows each axis takes a step."""

    step: int
    counts: dict[str, int]
    outer: list[str]  # axes of places that are no rows
    number: int  # with those between that are no places


def rows_of(x: Named, axes: list[Axis]) -> Rows | None:
    """None where rows are not whole steps apart, are few or short, or mostly none that are wanted."""
    last = len(axes) - 1
    run = x.extent("c") * axes[last].taps
    contiguous = x.stride("c") == 1 and (axes[last].taps == 1 or axes[last].dilation * x.stride(f"s{last}") == x.extent("c"))
    places = [("n", x.extent("n"), x.stride("n"))]
    places += [(f"p{i}", a.places, a.stride * x.stride(f"s{i}")) for i, a in enumerate(axes[:-1])]
    places.sort(key=lambda place: (place[1] > 1, -place[2]))
    outer: list[str] = []
    while contiguous and run >= FEWEST_TERMS:
        wanted = prod([extent for _, extent, _ in places])
        step = min([stride for _, extent, stride in places if extent > 1], default=0)
        if wanted < FEWEST_ROWS or step < run or any([n > 1 and s % step for _, n, s in places]):
            return None
        counts = {name: stride // step if extent > 1 else 0 for name, extent, stride in places}
        number = 1 + sum([(extent - 1) * counts[name] for name, extent, _ in places])
        if number == wanted or wanted // places[0][1] < FEWEST_ROWS:
            return Rows(step, counts, outer, number) if number <= MOST_GAPS * wanted else None
        outer.append(places.pop(0)[0])  # with fewer axes there is less between them
    return None


def in_place(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype, rows: Rows) -> Named:
    last, o = len(axes) - 1, y.extent("o")
    run = [f"k{last}", "c"]
    y = _matrices(graph, y, run)
    k, step = _merged(y, run)
    b = orient(k, o, step, y.stride("o"))
    assert b is not None
    extents = {"n": x.extent("n"), "g": x.extent("g")} | {f"p{i}": a.places for i, a in enumerate(axes)}
    moves = {"n": x.stride("n"), "g": x.stride("g")} | {f"p{i}": a.stride * x.stride(f"s{i}") for i, a in enumerate(axes)}
    out = Node(graph, "dot", (*[extents[a] for a in rows.outer], rows.number, extents[f"p{last}"], extents["g"], o), dtype)
    out.args = (Ref(x.v.node, x.v.offset, x.v.strides), Ref(y.v.node, y.v.offset, y.v.strides))
    x.v.node.must = y.v.node.must = out.must = True
    count = len(rows.outer)
    to = dict(zip(rows.outer, out.strides, strict=False)) | {f"p{last}": out.strides[count + 1], "g": out.strides[count + 2]}
    batch = [(extents[a], moves[a], y.stride("g") if a == "g" else 0, to[a]) for a in ("g", *rows.outer, f"p{last}")]
    batch += [(a.taps, a.dilation * x.stride(f"s{i}"), y.stride(f"k{i}"), 0) for i, a in enumerate(axes[:-1])]
    out.call = Contraction(
        False, b[0], rows.number, o, k, rows.step, b[1], out.strides[count], tuple([axis for axis in batch if axis[0] > 1])
    )
    to |= {a: steps * out.strides[count] for a, steps in rows.counts.items()}
    names = (*rows.outer, *rows.counts, f"p{last}", "g", "o")
    shape = tuple([o if a == "o" else extents[a] for a in names])
    return Named(Strided(out, 0, shape, tuple([1 if a == "o" else to[a] for a in names])), names)


def pointwise(graph: Graph, x: Named, y: Named, axes: list[Axis], dtype: np.dtype, features_last: bool) -> Named:
    """Windows of one element, each element one of them: a product of the operands as they lie."""
    places = numbered("p", axes)
    for i, a in enumerate(axes):
        x = x.cut(f"s{i}", 0, a.places)
    x = windows(x, axes, range(len(axes)))
    rows = x.order(["n", *places]).v
    if reshape_strides(rows.shape, rows.strides, (prod(rows.shape),)) is None:
        wish = ["n", *places, "g", "o"] if features_last else ["n", "g", "o", *places]
        return _contract(graph, x, y, ["c", *numbered("k", axes)], places, ["n", "g"], wish, dtype)
    return _contract(graph, x, y, ["c", *numbered("k", axes)], ["n", *places], ["g"], ["n", *places, "g", "o"], dtype)


def _contract(
    graph: Graph, x: Named, y: Named, summed: list[str], rows: list[str], batch: list[str], wish: list[str], dtype: np.dtype
) -> Named:
    """The product over `summed`, with x's axes in the order in which they lie, and the result laid out as wished if BLAS can.

    Long sums of few results are cut into parts, for threads to share, which are summed at the end."""
    y = _matrices(graph, y, summed)
    terms, cells = prod([x.extent(a) for a in summed]), prod([x.extent(a) for a in rows]) * y.extent("o")
    long = terms >= LONG_SUM and cells <= terms * 8 and "q" not in batch
    parts = _parts(x.extent(summed[0])) if long else 1
    if parts > 1:
        x, y = x.split(summed[0], parts, "q"), y.split(summed[0], parts, "q")
        out = _contract(graph, x, y, summed, rows, ["q", *batch], ["q", *wish], dtype)
        at = out.names.index("q")
        return Named(reduce_node(graph, out.v, (at,), "add", dtype), tuple([a for a in out.names if a != "q"]))
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


def _parts(n: int) -> int:
    """Into how many equal parts n terms are cut."""
    return max([q for q in range(1, MOST_PARTS + 1) if n % q == 0])


def _matrices(graph: Graph, y: Named, summed: list[str]) -> Named:
    """y such that `summed` is one axis of a matrix and "o" is the other, copied where it is not."""
    y.v.node.must = True
    inner = y.order(summed).v
    merged = reshape_strides(inner.shape, inner.strides, (prod(inner.shape),))
    if merged is not None and min(*inner.strides, y.stride("o")) >= 0 and 1 in (merged[0], y.stride("o")):
        return y
    return copied(graph, y, [*[a for a in y.names if a != "o" and a not in summed], *summed, "o"])
