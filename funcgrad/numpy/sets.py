"""Counting and sets: unique, union1d, intersect1d, setdiff1d, setxor1d, isin, bincount, histogram.

The length of a set depends on the numbers, so these need numbers that are known, or `size=` (and `fill_value=`) inside traced
functions.
"""

from typing import Any, NamedTuple

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ConcretizationTypeError, ShapeError, UsageError, message
from funcgrad.numpy._axes import concrete, static_int
from funcgrad.numpy._promote import as_value, cast, common_dtype, common_inexact, value_in
from funcgrad.numpy.compare import equal
from funcgrad.numpy.cumulative import diff
from funcgrad.numpy.elementwise import divide
from funcgrad.numpy.ranges import linspace
from funcgrad.numpy.reductions import max, min, sum
from funcgrad.numpy.selection import where
from funcgrad.numpy.sorting import searchsorted, sort
from funcgrad.numpy.structure import ravel
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full
from funcgrad.trace.value import Value

__all__ = [
    "bincount", "histogram", "histogram_bin_edges", "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique",
    "unique_all",
    "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip


def _known(x: Value, name: str) -> np.ndarray:
    numbers = concrete(x)
    if numbers is None:
        raise ConcretizationTypeError(
            x, f"the length of fnp.{name}'s result depends on the numbers; call it outside of traced functions"
        )
    return numbers


def _sized(x: np.ndarray, size: Any, fill_value: Any, name: str) -> np.ndarray:
    """Cut or filled to `size` along the first axis; the filler is the first element without a fill_value."""
    if size is None:
        return x
    n = static_int(size, name, "size")
    x = x[:n]
    if x.shape[0] == n:
        return x
    filler = (
        (x[:1] if x.shape[0] else np.zeros((1, *x.shape[1:]), x.dtype))
        if fill_value is None
        else np.full((1, *x.shape[1:]), fill_value, x.dtype)
    )
    return np.concatenate([x, np.repeat(filler, n - x.shape[0], 0)])


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None, *,
    equal_nan: bool = True, size: Any = None, fill_value: Any = None, sorted: bool = True,
) -> Any:  # fmt: skip
    """The different elements (or slices along `axis`) in ascending order; the numbers must be known.

    Args: return_index, return_inverse, return_counts: also where each first stands, which of them each element is, how often
    each comes.
    equal_nan: NaN equals NaN. size, fill_value: cut or filled to a length. sorted: any; they always are.
    """
    x = as_value(ar, "unique", "ar")
    numbers = _known(x, "unique")
    out = np.unique(numbers, True, True, True, axis, equal_nan=equal_nan)
    values, index, inverse, counts = out
    values = np.moveaxis(values, axis, 0) if axis is not None else values
    values = _sized(values, size, fill_value, "unique")
    values = np.moveaxis(values, 0, axis) if axis is not None else values
    found = [values]
    if return_index:
        found.append(_sized(index, size, None, "unique"))
    if return_inverse:
        found.append(inverse.reshape(x.shape) if axis is None else inverse)
    if return_counts:
        found.append(_sized(counts, size, 0, "unique"))
    arrays = [from_numpy(np.asarray(v, order="C")) for v in found]
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any, /, *, size: Any = None, fill_value: Any = None) -> UniqueAll:
    """`unique` with indices, inverse and counts; NaN is different from NaN."""
    return UniqueAll(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


def unique_counts(x: Any, /, *, size: Any = None, fill_value: Any = None) -> UniqueCounts:
    """`unique` with counts; NaN is different from NaN."""
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x: Any, /, *, size: Any = None, fill_value: Any = None) -> UniqueInverse:
    """`unique` with the inverse; NaN is different from NaN."""
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_values(x: Any, /, *, size: Any = None, fill_value: Any = None) -> Any:
    """`unique`; NaN is different from NaN."""
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


def _two(name: str, ar1: Any, ar2: Any) -> tuple[np.ndarray, np.ndarray]:
    x, y = common_dtype(as_value(ar1, name, "ar1"), as_value(ar2, name, "ar2"))
    return _known(x, name).ravel(), _known(y, name).ravel()


def union1d(ar1: Any, ar2: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """The different elements of both, sorted; the numbers must be known."""
    return from_numpy(_sized(np.union1d(*_two("union1d", ar1, ar2)), size, fill_value, "union1d"))


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False, *, size: Any = None, fill_value: Any = None) -> Any:
    """The different elements of ar1 that are not in ar2; the numbers must be known."""
    return from_numpy(_sized(np.setdiff1d(*_two("setdiff1d", ar1, ar2), assume_unique), size, fill_value, "setdiff1d"))


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False, *, size: Any = None, fill_value: Any = None) -> Any:
    """The elements that are in exactly one of both; the numbers must be known."""
    return from_numpy(_sized(np.setxor1d(*_two("setxor1d", ar1, ar2), assume_unique), size, fill_value, "setxor1d"))


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False, *, size: Any = None, fill_value: Any = None
) -> Any:
    """The elements that are in both, sorted; return_indices: also where each first stands in ar1 and ar2. The numbers must be
    known."""
    values, i, j = np.intersect1d(*_two("intersect1d", ar1, ar2), assume_unique, True)
    out = from_numpy(_sized(values, size, fill_value, "intersect1d"))
    if not return_indices:
        return out
    return out, *[
        from_numpy(_sized(k, size, x.size, "intersect1d"))
        for k, x in ((i, as_value(ar1, "intersect1d")), (j, as_value(ar2, "intersect1d")))
    ]


_ISIN = ("auto", "compare_all", "binary_search", "sort")


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, method: str = "auto") -> Any:
    """Whether each element is one of test_elements; bool of the shape of element. method: JAX's names are accepted, with one
    result."""
    if method not in _ISIN:
        raise UsageError(message(f"fnp.isin: got method={method!r}", ", ".join(map(repr, _ISIN)), "method='auto'"))
    x, y = common_dtype(as_value(element, "isin", "element"), as_value(test_elements, "isin", "test_elements"))
    y = ravel(y)
    if y.size == 0:
        return full(x.shape, np.bool_(invert))
    ordered = sort(y)
    place = searchsorted(ordered, x)
    found = equal(ordered.at[place].get(mode="clip"), x)
    return ew.not_(found) if invert else found


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: Any = None) -> Any:
    """How often each of 0, 1, ... comes in the vector x, or the sums of the weights there.

    length: of the result; without it max(x) + 1, which must be known (at least minlength). Numbers beyond it are left out,
    negative ones
    count as 0.
    """
    v = as_value(x, "bincount", "x")
    if v.dtype not in dt.INTEGERS | dt.BOOLS or v.ndim != 1:
        raise ShapeError(message(f"fnp.bincount: got {v.aval.str_short()}", "a vector of integers", "x.ravel().astype(int)"))
    v = ew.convert(v, dt.int64)
    if length is None:
        known = _known(v, "bincount")
        if known.size and known.min() < 0:
            raise UsageError(message("fnp.bincount: got negative numbers", "numbers of 0 or more", "x - x.min()"))
        n = builtins_max(int(known.max()) + 1 if known.size else 0, static_int(minlength, "bincount", "minlength"))
    else:
        n = builtins_max(static_int(length, "bincount", "length"), static_int(minlength, "bincount", "minlength"))
    v = ew.max(v, np.int64(0))
    if weights is None:
        return full((n,), np.int64(0)).at[v].add(1, mode="drop")
    w = as_value(weights, "bincount", "weights")
    if w.shape != v.shape:
        raise ShapeError(
            message(
                f"fnp.bincount: got weights of shape {w.shape} for {v.shape[0]} elements",
                "one weight an element",
                "weights.ravel()",
            )
        )
    return full((n,), w.dtype.type(0)).at[v].add(w, mode="drop")


def builtins_max(a: int, b: int) -> int:
    """The larger of two Python integers (`max` is the array function here)."""
    return a if a > b else b


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of `bins` equal bins over the range of a (or `range=(low, high)`); a vector of edges is given back."""
    if isinstance(bins, str):
        raise UsageError(message(f"fnp.histogram_bin_edges: got bins={bins!r}", "a number of bins, or edges", "bins=10"))
    edges = as_value(np.asarray(bins) if isinstance(bins, (list, tuple)) else bins, "histogram_bin_edges", "bins")
    (x,) = common_inexact(as_value(a, "histogram_bin_edges"))
    if edges.ndim == 1:
        return edges
    n = static_int(bins, "histogram_bin_edges", "bins")
    if n < 1:
        raise UsageError(message(f"fnp.histogram_bin_edges: got bins={n}", "one bin or more", "bins=10"))
    if range is None:
        low, high = (min(x), max(x)) if x.size else (value_in(0, x.dtype, "histogram"), value_in(1, x.dtype, "histogram"))
    else:
        low, high = [value_in(v, x.dtype, "histogram", "range") for v in range]
    flat = ew.eq(low, high)
    half = x.dtype.type(0.5)
    return linspace(where(flat, ew.sub(low, half), low), where(flat, ew.add(high, half), high), n + 1)


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = None) -> tuple[Any, Any]:
    """How many elements (or what weight) fall into each bin, and the edges. The last bin is closed at the right.

    bins: a number or a vector of edges. density: divided by the sum and by the width of each bin.
    """
    x = as_value(a, "histogram")
    edges = histogram_bin_edges(x, bins, range, weights)
    v, e = common_dtype(ravel(x), edges)
    n = e.shape[0] - 1
    place = ew.sub(searchsorted(e, v, "right"), np.int64(1))
    place = where(equal(v, e[n]), np.int64(n - 1), place)
    # Outside of the edges nothing is counted.
    place = where(ew.lt(place, np.int64(0)), np.int64(n), place)
    if weights is None:
        counts = full((n,), np.int64(0)).at[place].add(1, mode="drop")
    else:
        w = ravel(as_value(weights, "histogram", "weights"))
        if w.shape != v.shape:
            raise ShapeError(
                message(
                    f"fnp.histogram: got {w.size} weights for {v.size} elements", "one an element", "weights.reshape(a.shape)"
                )
            )
        counts = full((n,), w.dtype.type(0)).at[place].add(w, mode="drop")
    if density:
        (c,) = common_inexact(cast(counts, e.dtype) if e.dtype in dt.INEXACT else counts)
        counts = divide(divide(c, diff(e)), sum(c))
    return counts, edges
