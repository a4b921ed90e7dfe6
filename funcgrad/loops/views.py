"""Affine views: where the element at an index lies in the row-major memory of a node.

In: a node and an affine map (offset, one stride an axis, in elements). Out: the map after a transpose,
slice, reshape ..., and, the other way round, the map seen from the node's own axes (`compose`), which is
what lets a consumer compute an element of its producer instead of loading it.
"""

import functools
from collections.abc import Sequence
from math import prod
from typing import Any

Strides = tuple[int, ...]
Shape = tuple[int, ...]


@functools.lru_cache(maxsize=8192)
def contiguous(shape: Shape) -> Strides:
    """Row-major strides in elements. An axis counts by the extents to its right, whatever its own."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


@functools.lru_cache(maxsize=8192)
def reshape_strides(shape: Shape, strides: Strides, new: Shape) -> Strides | None:
    """Strides of the same elements under the shape `new`, or None where no affine map gives them."""
    if strides == contiguous(shape) or 0 in new:
        return contiguous(new)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    out: list[int] = [0] * len(new)
    j = len(new) - 1
    i = len(old) - 1
    while i >= 0:
        # One bunch of old axes that makes one bunch of new axes.
        n, step = old[i]
        i -= 1
        left, size = j, 1
        while True:
            while left >= 0 and size < n:
                size *= new[left]
                left -= 1
            if size == n:
                break
            if left < 0 and size < n:
                return None
            if i < 0 or old[i][1] != step * n:
                return None
            n *= old[i][0]
            i -= 1
        run = step
        for a in range(j, left, -1):
            out[a] = run
            run *= new[a]
        j = left
    for a in range(j, -1, -1):  # leading extents of 1
        out[a] = out[a + 1] * new[a + 1] if a + 1 < len(new) else 1
    return tuple(out)


class Strided:
    """Elements of `node` under an affine map: the value of a variable, and the `v` of a view rule."""

    __slots__ = ("node", "offset", "shape", "strides")

    def __init__(self, node: Any, offset: int, shape: Shape, strides: Strides):
        self.node, self.offset, self.shape, self.strides = node, offset, shape, strides

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def transpose(self, perm: Sequence[int]) -> "Strided":
        shape, strides = self.shape, self.strides
        return Strided(self.node, self.offset, tuple([shape[p] for p in perm]), tuple([strides[p] for p in perm]))

    def broadcast(self, shape: Sequence[int], dims: Sequence[int]) -> "Strided":
        """broadcast_in_dim: axis i becomes axis dims[i]; an extent of 1 may grow."""
        strides = [0] * len(shape)
        for d, n, s in zip(dims, self.shape, self.strides, strict=True):
            if n == shape[d]:
                strides[d] = s
        return Strided(self.node, self.offset, tuple(shape), tuple(strides))

    def slice(self, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None = None) -> "Strided":
        steps = strides or (1,) * len(self.shape)
        offset, shape = self.offset, []
        for a, (lo, hi, step) in enumerate(zip(starts, limits, steps, strict=True)):
            n = max(0, -(-(hi - lo) // step))
            shape.append(n)
            offset += lo * self.strides[a]
        return Strided(self.node, offset, tuple(shape), tuple([s * k for s, k in zip(self.strides, steps, strict=True)]))

    def reverse(self, axes: Sequence[int]) -> "Strided":
        offset, strides = self.offset, list(self.strides)
        for a in axes:
            offset += max(0, self.shape[a] - 1) * strides[a]
            strides[a] = -strides[a]
        return Strided(self.node, offset, self.shape, tuple(strides))

    def squeeze(self, axes: Sequence[int]) -> "Strided":
        keep = [i for i in range(len(self.shape)) if i not in axes]
        return Strided(self.node, self.offset, tuple([self.shape[i] for i in keep]), tuple([self.strides[i] for i in keep]))

    def reshape(self, shape: Sequence[int]) -> "Strided":
        shape = tuple(shape)
        strides = reshape_strides(self.shape, self.strides, shape)
        if strides is None:
            return self.node.graph.copy(self).reshape(shape)
        return Strided(self.node, self.offset, shape, strides)

    def whole(self) -> bool:
        """Whether this is exactly the node's memory in order (perhaps under another shape)."""
        return self.offset == 0 and prod(self.shape) == self.node.size and self.strides == contiguous(self.shape)


Digits = tuple[tuple[int, ...], tuple[tuple[int, int] | None, ...]]


@functools.lru_cache(maxsize=16384)
def digits(offset: int, strides: Strides, space: Shape, shape: Shape) -> Digits | None:
    """The linear position `offset + sum(strides * i)` in row-major memory of `shape`, as a multi-index that is affine in i.

    Returns (the multi-index at i = 0, for each axis of `space` the (axis of shape, coefficient) it moves along, or
    None where it moves along none); None where the position is not affine in the multi-index.
    """
    steps = contiguous(shape)
    if 0 in shape:
        return (0,) * len(shape), (None,) * len(space)
    moves: list[tuple[int, int] | None] = []
    low = [0] * len(shape)
    high = [0] * len(shape)
    position = offset
    for s, n in zip(strides, space, strict=True):
        if s == 0 or n == 0:
            moves.append(None)
            continue
        size = abs(s)
        found = None
        for a, (t, m) in enumerate(zip(steps, shape, strict=True)):
            if t <= size and size % t == 0 and (size < t * m or n == 1):
                # Of several axes that would do (extents of 1), the one that looks most like this one.
                if found is None or (t == size and m == n):
                    found = a
                    if m > 1 or (t == size and m == n):
                        break
        if found is None:
            if n != 1:
                return None
            moves.append(None)
            continue
        q = s // steps[found]
        moves.append((found, q))
        if q > 0:
            high[found] += q * (n - 1)
        else:
            low[found] += q * (n - 1)
    if position < 0:
        return None
    base = []
    for a, t in enumerate(steps):
        d = position // t
        position -= d * t
        base.append(d)
        if d + low[a] < 0 or d + high[a] >= shape[a]:
            return None
    return tuple(base), tuple(moves)


def follow(found: Digits, offset: int, strides: Strides) -> tuple[int, Strides]:
    """The map (offset, strides over the node's axes), seen from the space that `found` was made for."""
    base, moves = found
    for d, s in zip(base, strides, strict=True):
        offset += d * s
    return offset, tuple([0 if m is None else m[1] * strides[m[0]] for m in moves])
