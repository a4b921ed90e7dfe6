"""An array put together of windows that hold all of it that is not zero: what the cotangents of slices add up to.

Split an array into thirds, and the cotangent of the whole is the concatenation of three, not the sum of three arrays of zeros
with a third filled in each.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

from funcgrad.core.aval import ShapedArray
from funcgrad.ops._family import add, full
from funcgrad.ops.shape import concatenate, pad, zero_of

Ints = tuple[int, ...]


def put_together(aval: ShapedArray, pieces: Sequence[tuple[Ints, Ints, Any]]) -> Any:
    """An array that is the sum of windows: (first corner, last corner, elements) of each. Windows beside each other along one
    axis are concatenated; those that overlap go into one more array each."""
    axes = {i for a, b, _ in pieces for i, n in enumerate(aval.shape) if (a[i], b[i]) != (0, n)}
    if len(axes) != 1:
        return reduce(add, [_padded_piece(aval, a, b, ct) for a, b, ct in pieces])
    (axis,) = axes
    layers: list[list[tuple[int, int, Any]]] = []
    for start, stop, ct in sorted([(a[axis], b[axis], ct) for a, b, ct in pieces], key=lambda p: p[:2]):
        for layer in layers:
            if layer[-1][1] <= start:
                layer.append((start, stop, ct))
                break
        else:
            layers.append([(start, stop, ct)])
    return reduce(add, [_beside_each_other(aval, axis, layer) for layer in layers])


def _padded_piece(aval: ShapedArray, start: Ints, stop: Ints, ct: Any) -> Any:
    config = tuple([(a, n - b, 0) for a, b, n in zip(start, stop, aval.shape, strict=True)])
    return pad(ct, zero_of(ct), padding_config=config) if any(c != (0, 0, 0) for c in config) else ct


def _beside_each_other(aval: ShapedArray, axis: int, parts: Sequence[tuple[int, int, Any]]) -> Any:
    if len(parts) == 1:
        (start, stop, ct), n = parts[0], aval.shape[axis]
        config = tuple([(start, n - stop, 0) if i == axis else (0, 0, 0) for i in range(aval.ndim)])
        return pad(ct, zero_of(ct), padding_config=config)
    found, at = [], 0
    gap = lambda size: full((*aval.shape[:axis], size, *aval.shape[axis + 1 :]), zero_of(parts[0][2]))
    for start, stop, ct in parts:
        found += [gap(start - at)] if start > at else []
        found.append(ct)
        at = stop
    found += [gap(aval.shape[axis] - at)] if at < aval.shape[axis] else []
    return concatenate(*found, dimension=axis)
