"""Small arrays taken apart: which axes of a value are lanes, and what lies at each place along the others.

A `Value` stands for an array inside the body of a loop. Every axis has a *label*; axes that must be walked together share one
(`unify`), and an axis whose places are told apart (sliced, reduced, contracted) is `touch`ed. A label that nobody touched is a
lane: its extent stays symbolic. The others are unrolled: `grid` holds the number of one scalar instruction for each place
(and extent 1 along lanes).

The same code runs twice: first to find the labels (there are no grids yet), then, on fresh labels in the same order, to write
the instructions.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from funcgrad.loops.views import Shape

LARGEST = 64  # places of one value


class Unfit(Exception):
    """This loop is not one that a single kernel can run; the reason is its text."""


class Labels:
    """A union-find over axes."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        self.extent: list[int] = []
        self.touched: list[bool] = []
        self.seen: list[tuple[int, ...]] = []  # the axes of each value
        self.count = 0
        self.writing = False  # the second run

    def settle(self) -> None:
        """After the first run: a value has at most one axis of each lane."""
        changed = True
        while changed:
            changed = False
            for labels in self.seen:
                roots = [self.find(x) for x in labels if self.lane(x)]
                for r in roots:
                    if roots.count(r) > 1 and not self.touched[r]:
                        self.touched[r] = changed = True

    def align(self, order: list[int]) -> bool:
        """Walk lanes that have nothing to do with those of `order` together with one of the same extent; False if there is one
        without such a partner."""
        for root in sorted({self.find(x) for axes in self.seen for x in axes if self.lane(x)} - set(order)):
            beside = {self.find(x) for axes in self.seen if root in map(self.find, axes) for x in axes}
            partner = [r for r in order if self.extent[r] == self.extent[root] and r not in beside]
            if not partner:
                return False
            self.unify(partner[0], root)
        return True

    def restart(self) -> None:
        """The labels that come next are the same ones in the same order."""
        self.count, self.writing = 0, True

    def fresh(self, extent: int, touched: bool = False) -> int:
        if not self.writing:
            self.parent.append(len(self.parent))
            self.extent.append(extent)
            self.touched.append(touched)
        self.count += 1
        return self.count - 1

    def find(self, x: int) -> int:
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def unify(self, x: int, y: int) -> None:
        if self.writing:
            return
        x, y = self.find(x), self.find(y)
        if x != y:
            self.parent[y] = x
            self.touched[x] = self.touched[x] or self.touched[y]

    def touch(self, x: int) -> None:
        if not self.writing:
            self.touched[self.find(x)] = True

    def lane(self, x: int) -> bool:
        x = self.find(x)
        return not self.touched[x] and self.extent[x] > 1


class Value:
    """An array of the body; it has the methods of a view (see ir/loop_rules.py, View)."""

    __slots__ = ("ctx", "shape", "labels", "grid")

    def __init__(self, ctx: Labels, shape: Sequence[int], labels: Sequence[int], grid: np.ndarray | None):
        self.ctx, self.shape, self.labels, self.grid = ctx, tuple(shape), tuple(labels), grid
        if not ctx.writing:
            ctx.seen.append(self.labels)
        if grid is not None and grid.size > LARGEST:
            raise Unfit(f"a value of {grid.size} elements a lane")

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def places(self, shape: Shape, labels: Sequence[int]) -> Shape:
        """The shape of a grid."""
        found = tuple([1 if self.ctx.lane(x) else n for n, x in zip(shape, labels, strict=True)])
        if prod(found) > LARGEST:
            raise Unfit(f"a value of {prod(found)} elements a lane")
        return found

    def transpose(self, perm: Sequence[int]) -> "Value":
        grid = None if self.grid is None else self.grid.transpose(perm)
        return Value(self.ctx, [self.shape[p] for p in perm], [self.labels[p] for p in perm], grid)

    def broadcast(self, shape: Sequence[int], dims: Sequence[int]) -> "Value":
        labels: list[int] = []
        for d, n in enumerate(shape):
            own = dims.index(d) if d in dims else None
            labels.append(self.labels[own] if own is not None and self.shape[own] == n else self.ctx.fresh(n))
        grid = None
        if self.grid is not None:
            order = sorted(range(self.ndim), key=lambda i: dims[i])
            lifted = [1] * len(shape)
            for i in order:
                lifted[dims[i]] = self.grid.shape[i]
            grid = np.broadcast_to(self.grid.transpose(order).reshape(lifted), self.places(tuple(shape), labels))
        return Value(self.ctx, shape, labels, grid)

    def slice(self, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None = None) -> "Value":
        steps = strides or (1,) * self.ndim
        shape, labels, cuts = [], [], []
        for n, label, lo, hi, step in zip(self.shape, self.labels, starts, limits, steps, strict=True):
            if lo == 0 and hi == n and step == 1:
                shape.append(n)
                labels.append(label)
                cuts.append(slice(None))
                continue
            self.ctx.touch(label)
            shape.append(max(0, -(-(hi - lo) // step)))
            labels.append(self.ctx.fresh(shape[-1], True))
            cuts.append(slice(lo, hi, step))
        return Value(self.ctx, shape, labels, None if self.grid is None else self.grid[tuple(cuts)])

    def reverse(self, axes: Sequence[int]) -> "Value":
        for a in axes:
            if self.shape[a] > 1:
                self.ctx.touch(self.labels[a])
        return Value(self.ctx, self.shape, self.labels, None if self.grid is None else np.flip(self.grid, tuple(axes)))

    def squeeze(self, axes: Sequence[int]) -> "Value":
        keep = [i for i in range(self.ndim) if i not in axes]
        grid = None if self.grid is None else self.grid.squeeze(tuple(axes))
        return Value(self.ctx, [self.shape[i] for i in keep], [self.labels[i] for i in keep], grid)

    def reshape(self, shape: Sequence[int]) -> "Value":
        """Axes that stay by themselves keep their labels."""
        shape = tuple(shape)
        labels = [-1] * len(shape)
        i = j = 0
        while i < self.ndim or j < len(shape):
            olds, news, old, new = [], [], 1, 1
            while not olds or not news or old != new:
                if (old <= new and i < self.ndim) or j == len(shape):
                    if i == self.ndim:
                        break
                    old *= self.shape[i]
                    olds += [i] if self.shape[i] != 1 else []
                    i += 1
                else:
                    new *= shape[j]
                    news += [j] if shape[j] != 1 else []
                    j += 1
            if len(olds) == len(news) == 1:
                labels[news[0]] = self.labels[olds[0]]
                continue
            for k in olds:
                self.ctx.touch(self.labels[k])
            for k in news:
                labels[k] = self.ctx.fresh(shape[k], True)
        labels = [self.ctx.fresh(n, True) if x < 0 else x for n, x in zip(shape, labels, strict=True)]
        grid = None if self.grid is None else self.grid.reshape(self.places(shape, labels))
        return Value(self.ctx, shape, labels, grid)


def same_labels(ctx: Labels, x: Value, labels: Sequence[int]) -> None:
    """The axes of `x` are walked with these."""
    for a, b in zip(x.labels, labels, strict=True):
        ctx.unify(a, b)


def sizes_of(values: Sequence[Any]) -> int:
    """Elements of all grids."""
    return sum([v.grid.size for v in values if isinstance(v, Value) and v.grid is not None])
