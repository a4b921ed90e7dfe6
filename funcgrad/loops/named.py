"""Views whose axes have names, and arrays made of parts of such views.

In: a view and a name for each axis. Out: the same elements under other axes, found by name, not by number.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.loops.graph import Graph, Node, Number, Ref, Region
from funcgrad.loops.templates import copy_template
from funcgrad.loops.views import Strided


class Named(NamedTuple):
    """A view and the names of its axes."""

    v: Strided
    names: tuple[str, ...]

    def order(self, names: Sequence[str]) -> "Named":
        """Axes in this order; one of a single element may be left out."""
        return Named(self.v.transpose([self.names.index(a) for a in names]), tuple(names))

    def extent(self, name: str) -> int:
        return self.v.shape[self.names.index(name)]

    def stride(self, name: str) -> int:
        return self.v.strides[self.names.index(name)]

    def axis(self, name: str, shape: Sequence[int], strides: Sequence[int], names: Sequence[str]) -> "Named":
        """With other axes in the place of one."""
        i, v = self.names.index(name), self.v
        out = Strided(
            v.node, v.offset, (*v.shape[:i], *shape, *v.shape[i + 1 :]), (*v.strides[:i], *strides, *v.strides[i + 1 :])
        )
        return Named(out, (*self.names[:i], *names, *self.names[i + 1 :]))

    def split(self, name: str, groups: int, outer: str) -> "Named":
        """Axis `name` as (outer, name), of `groups` groups."""
        n, s = self.extent(name), self.stride(name)
        return self.axis(name, (groups, n // groups), (s * (n // groups), s), (outer, name))

    def grown(self, extents: dict[str, int], order: Sequence[str]) -> "Named":
        """Axes in this order, some of other extents: a shape to assemble, not elements."""
        shape = tuple([extents.get(a, self.extent(a) if a in self.names else 1) for a in order])
        return Named(Strided(self.v.node, 0, shape, (0,) * len(shape)), tuple(order))

    def cut(self, name: str, start: int, stop: int, step: int = 1) -> "Named":
        lows, highs, steps = [0] * self.v.ndim, list(self.v.shape), [1] * self.v.ndim
        i = self.names.index(name)
        lows[i], highs[i], steps[i] = start, stop, step
        return Named(self.v.slice(lows, highs, steps), self.names)

    def cuts(self, many: Sequence[Any]) -> "Named":
        for one in many:
            self = self.cut(*one)
        return self


def assembled(
    graph: Graph, like: Named, dtype: np.dtype, fill: bool, parts: list[tuple[Callable[[Named], Named], Named]]
) -> Named:
    """An array of the shape and names of `like`, of zeros if it is to be filled, and then the parts in their places."""
    node = Node(graph, "assemble", like.v.shape, dtype)
    regions = []
    if fill:
        empty = [Named(node.view(), like.names)] if len(parts) != 1 else _around(Named(node.view(), like.names), parts[0][0])
        regions += [Region(v.v.shape, v.v.offset, v.v.strides, Number(dtype.type(0), dtype)) for v in empty]
    for place, part in parts:
        to = place(Named(node.view(), like.names))
        order = [a for a in like.names if a != "g" or to.extent("g") > 1]  # one group is no axis to walk
        to, v = to.order(order).v, part.order(order).v
        if 0 not in to.shape:
            regions.append(Region(to.shape, to.offset, to.strides, Ref(v.node, v.offset, v.strides)))
    node.regions, node.must = tuple(regions), True
    node.args = tuple([r.arg for r in regions])
    for region in regions:
        if region.arg.__class__ is Ref:
            region.arg.node.uses.append((node, region.arg, region.shape))
    return Named(node.view(), like.names)


def _around(whole: Named, place: Callable[[Named], Named]) -> list[Named]:
    """What `place` leaves of the whole: slabs at both ends of each axis; all of it where places have gaps between them."""
    inner = place(whole).v
    found, rest = [], whole
    for name, n, step, start, stride in zip(
        whole.names, inner.shape, inner.strides, _position(whole, inner.offset), whole.v.strides, strict=True
    ):
        if step != stride and n > 1:
            return [whole]
        for low, high in ((0, start), (start + n, whole.extent(name))):
            if low < high:
                found.append(rest.cut(name, low, high))
        rest = rest.cut(name, start, start + n)
    return found


def _position(whole: Named, offset: int) -> list[int]:
    """The index of the element at an offset of a row-major array."""
    found = []
    for stride in whole.v.strides:
        found.append(offset // stride)
        offset %= stride
    return found


def copied(graph: Graph, x: Named, names: Sequence[str]) -> Named:
    """The elements in memory of their own with the axes in this order. No kernel does this and something else, so that what is
    copied lives no longer than the product that reads it."""
    x.v.node.must = True
    x = x.order(names)
    return assembled(graph, x, x.v.node.dtype, False, [(lambda v: v, x)])


def zeros(graph: Graph, shape: Sequence[int], names: Sequence[str], dtype: np.dtype) -> Named:
    """Zeros."""
    zero = Number(dtype.type(0), dtype)
    return Named(graph.map(tuple(shape), dtype, copy_template(dtype), (zero,)).view(), tuple(names))
