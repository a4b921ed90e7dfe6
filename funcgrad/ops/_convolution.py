"""The geometry of convolutions, and their meaning in NumPy.

Along each spatial axis the left operand (extent n, with lhs_dilation - 1 zeros between elements, then padded by `low` and `high`,
negative ones cut) is met by the right one (extent k, its elements rhs_dilation apart) at every window_strides-th place:

    out[i] = sum over j of lhs[i * stride + j * rhs_dilation - low] * rhs[j]
"""

import math
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.ops._samples import NARROW

CHUNK = 1 << 24  # elements of the windows that are copied for one product


class ConvDimensionNumbers(NamedTuple):
    """The places of the axes of a convolution: lhs_spec (batch, features, spatial ...), rhs_spec (out features, in features,
    spatial ...), out_spec (batch, features, spatial ...). `lax.conv_dimension_numbers` makes them of strings.

    >>> lax.ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)).rhs_spec
    (3, 2, 0, 1)
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


def dilated(n: int, dilation: int) -> int:
    """The extent of n elements that lie `dilation` apart."""
    return (n - 1) * dilation + 1 if n else 0


def out_extent(n: int, k: int, stride: int, pads: tuple[int, int], lhs_dilation: int, rhs_dilation: int) -> int:
    """How many places there are along one axis; below 0 where negative padding cuts more than there is."""
    total = dilated(n, lhs_dilation) + pads[0] + pads[1]
    return min(total, 0) if total < dilated(k, rhs_dilation) else (total - dilated(k, rhs_dilation)) // stride + 1


def inverse(permutation: tuple[int, ...]) -> tuple[int, ...]:
    """Where each axis has gone."""
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def windows(x: np.ndarray, extents: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]) -> np.ndarray:
    """A view of the last len(extents) axes of x as (places ..., elements of the window ...)."""
    d = len(extents)
    head, tail, steps = x.shape[: x.ndim - d], x.shape[x.ndim - d :], x.strides[x.ndim - d :]
    counts = [out_extent(n, k, s, (0, 0), 1, r) for n, k, s, r in zip(tail, extents, strides, dilations, strict=True)]
    places = [s * t for s, t in zip(strides, steps, strict=True)]
    within = [r * t for r, t in zip(dilations, steps, strict=True)]
    return np.lib.stride_tricks.as_strided(
        x, (*head, *counts, *extents), (*x.strides[: x.ndim - d], *places, *within), writeable=False
    )


def _accumulable(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The operand in the dtype in which products are summed, in the result's dtype where that is wider."""
    if x.dtype in NARROW:
        x = x.astype(np.float32)
    if dtype not in NARROW and x.dtype != dtype and dt.category(dtype) >= dt.category(x.dtype):
        x = x.astype(dtype)
    return x


def _padded(x: np.ndarray, padding: Any, lhs_dilation: Any) -> np.ndarray:
    """x of (group, batch, feature, spatial ...) with its zeros, or without what negative padding cuts."""
    if all([p == (0, 0) for p in padding]) and all([d == 1 for d in lhs_dilation]):
        return x
    shape, where, kept = list(x.shape[:3]), [slice(None)] * 3, [slice(None)] * 3
    for n, (low, high), step in zip(x.shape[3:], padding, lhs_dilation, strict=True):
        total = dilated(n, step) + low + high
        first = max(0, -(low // step))  # the first element that stays
        last = max(first, min(n, -((low - total) // step)))
        shape.append(total)
        kept.append(slice(first, last))
        where.append(slice(low + first * step, max(low + (last - 1) * step + 1, 0), step) if last > first else slice(0, 0))
    order = sorted(range(x.ndim), key=lambda a: -abs(x.strides[a]))  # what lies side by side stays so
    out = np.zeros([shape[a] for a in order], x.dtype).transpose(inverse(tuple(order)))
    out[tuple(where)] = x[tuple(kept)]
    return out


def conv_numpy(
    x: np.ndarray,
    y: np.ndarray,
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any = None,
) -> np.ndarray:
    """The meaning: a product of windows, copied side by side, with the right operand; one tap after the other where there is one
    feature."""
    dtype = x.dtype if preferred_element_type is None else np.dtype(preferred_element_type)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    x, y = _accumulable(x, dtype).transpose(lhs_spec), _accumulable(y, dtype).transpose(rhs_spec)
    groups = feature_group_count * batch_group_count
    n, c, o, taps = x.shape[0], x.shape[1], y.shape[0], y.shape[2:]
    if batch_group_count > 1:
        x = x.reshape(groups, n // groups, c, *x.shape[2:])
    else:
        x = np.moveaxis(x.reshape(n, groups, c // groups, *x.shape[2:]), 1, 0)
    y = y.reshape(groups, o // groups, *y.shape[1:])
    v = windows(_padded(x, padding, lhs_dilation), taps, window_strides, rhs_dilation)
    d = len(taps)
    places = v.shape[3 : 3 + d]
    if not v.size or not y.size:
        out = np.zeros((*v.shape[:2], o // groups, *places), x.dtype)
    elif v.shape[2] == 1 and (groups > 1 or o == 1):
        out = _by_taps(v[:, :, 0], y[:, :, 0], d)
    else:
        out = _by_product(v, y, d)
    out = np.moveaxis(out, 0, 1).reshape((v.shape[1], o, *places)).transpose(inverse(out_spec))
    return out if out.dtype == dtype else out.astype(dtype)


def _by_taps(v: np.ndarray, y: np.ndarray, d: int) -> np.ndarray:
    """Windows (group, batch, places, taps) of one feature with (group, out, taps)."""
    places: tuple[int, ...] = v.shape[2 : 2 + d]
    if d == 1 and y.size == y.shape[2] and v.size == v.shape[2] * v.shape[3] and v.strides[2] == v.strides[3]:
        line = np.lib.stride_tricks.as_strided(v, (places[0] + y.size - 1,), v.strides[-1:], writeable=False)
        return np.convolve(line, y.reshape(-1)[::-1], "valid").reshape(1, 1, 1, -1)
    out = np.zeros((v.shape[0], v.shape[1], y.shape[1], *places), v.dtype)
    for j in np.ndindex(*y.shape[2:]):
        out += v[(..., *j)][:, :, None] * y[(..., *j)].reshape(y.shape[0], 1, y.shape[1], *[1] * d)
    return out


def _by_product(v: np.ndarray, y: np.ndarray, d: int) -> np.ndarray:
    """Windows (group, batch, feature, places, taps) with (group, out, feature, taps)."""
    g, n = v.shape[:2]
    places = v.shape[3 : 3 + d]
    spread = [*range(3, 3 + 2 * d)]
    # Features innermost where they lie side by side, so that what is copied are runs.
    last = v.strides[2] == v.itemsize
    v = v.transpose([0, 1, *spread, 2] if last else [0, 1, *spread[:d], 2, *spread[d:]])
    y = (np.moveaxis(y, 2, -1) if last else y).reshape(*y.shape[:2], -1).swapaxes(1, 2)
    out = np.empty((g, n, *places, y.shape[2]), v.dtype)
    step = max(1, CHUNK * n // v.size)
    for a in range(0, n, step):
        part = v[:, a : a + step]
        rows = part.reshape(g, part.shape[1] * math.prod(places), y.shape[1])
        out[:, a : a + step] = np.matmul(rows, y).reshape(out[:, a : a + step].shape)
    return np.moveaxis(out, -1, 2)
