"""Counting and sets: unique, union1d, intersect1d, setdiff1d, setxor1d, isin, bincount.

The length of a set depends on the numbers, so these need numbers that are known, or `size=` (and `fill_value=`) inside traced
functions.
"""

from typing import Any, NamedTuple

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import ConcretizationTypeError, ShapeError, UsageError, message
from funcgrad.numpy._axes import axis_of, concrete, extent
from funcgrad.numpy._fixed_sets import distinct, kept
from funcgrad.numpy._promote import as_value, values_of
from funcgrad.numpy.compare import equal
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.selection import take, where
from funcgrad.numpy.sorting import argsort, searchsorted, sort
from funcgrad.numpy.structure import moveaxis, ravel, reshape
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full
from funcgrad.trace.value import Value

__all__ = [
    "bincount", "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique",
    "unique_all",
    "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip


def _known(x: Value, name: str, fix: str = "size=n, fill_value=v") -> np.ndarray:
    numbers = concrete(x)
    if numbers is None:
        raise ConcretizationTypeError(
            x, f"the length of fnp.{name}'s result depends on the numbers", f"fnp.{name}(..., {fix}), or call it outside of jit"
        )
    return numbers


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None, *,
    equal_nan: bool = True, size: Any = None, fill_value: Any = None, sorted: bool = True,
) -> Any:  # fmt: skip
    """The different elements (or slices along `axis`) in ascending order.

    Args: return_index, return_inverse, return_counts: also where each first stands, which of them each element is, how often
    each comes. equal_nan: NaN equals NaN. size: the length of the result, needed while tracing: longer ones are cut, shorter
    ones filled with fill_value (default: the first element; counts with 0). sorted: any; they always are.
    Raises: ConcretizationTypeError for a traced array without size.

    >>> fnp.unique(fnp.array([3, 1, 3, 2]))
    Array([1, 2, 3], dtype=int64)
    >>> fnp.unique(fnp.array([[1, 2], [1, 2], [0, 5]]), axis=0, return_counts=True)
    (Array([[0, 5],
           [1, 2]], dtype=int64), Array([1, 2], dtype=int64))
    >>> fg.jit(lambda x: fnp.unique(x, size=4, fill_value=-1))(fnp.array([3, 1, 3, 2]))
    Array([ 1,  2,  3, -1], dtype=int64)
    """
    x = as_value(ar, "unique", "ar")
    axis = None if axis is None else axis_of(axis, x.ndim, "unique")
    nans = flag(equal_nan, "fnp.unique", "equal_nan")
    if size is None:
        values, index, inverse, counts = np.unique(_known(x, "unique"), True, True, True, axis, equal_nan=nans)
        if axis is None:
            inverse = inverse.reshape(x.shape)
        values, index, inverse, counts = [from_numpy(np.asarray(v, order="C")) for v in (values, index, inverse, counts)]
    else:
        rows = ravel(x) if axis is None else moveaxis(x, axis, 0)
        n = extent(size, "unique", "size")
        values, index, inverse, counts, _ = distinct("unique", rows, n, fill_value, equal_nan=nans)
        values = values if axis is None else moveaxis(values, 0, axis)
        inverse = reshape(inverse, x.shape) if axis is None else inverse
    wanted = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
    extra = [v for v, (arg, asked) in zip((index, inverse, counts), wanted.items()) if flag(asked, "fnp.unique", arg)]
    return (values, *extra) if extra else values


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
    """`unique` with indices, inverse and counts; NaN is different from NaN. Returns: a named tuple (values, indices,
    inverse_indices, counts).
    size, fill_value: as in `unique`.

    >>> fnp.unique_all(fnp.array([3, 1, 3])).inverse_indices
    Array([1, 0, 1], dtype=int64)
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


def unique_counts(x: Any, /, *, size: Any = None, fill_value: Any = None) -> UniqueCounts:
    """`unique` with counts; NaN is different from NaN. Returns: a named tuple (values, counts).

    size, fill_value: as in `unique`.

    >>> fnp.unique_counts(fnp.array([3, 1, 3]))
    UniqueCounts(values=Array([1, 3], dtype=int64), counts=Array([1, 2], dtype=int64))
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x: Any, /, *, size: Any = None, fill_value: Any = None) -> UniqueInverse:
    """`unique` with the inverse; NaN is different from NaN. Returns: a named tuple (values, inverse_indices).

    size, fill_value: as in `unique`.

    >>> values, inverse = fnp.unique_inverse(fnp.array([3, 1, 3]))
    >>> values[inverse]
    Array([3, 1, 3], dtype=int64)
    """
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_values(x: Any, /, *, size: Any = None, fill_value: Any = None) -> Any:
    """`unique`; NaN is different from NaN.

    size, fill_value: as in `unique`.

    >>> fnp.unique_values(fnp.array([3.0, fnp.nan, 1.0, fnp.nan, 3.0]))
    Array([ 1.,  3., nan, nan], dtype=float32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


def _two(name: str, ar1: Any, ar2: Any) -> tuple[Any, Any]:
    x, y = values_of(name, ar1=ar1, ar2=ar2)
    return ravel(x), ravel(y)


def union1d(ar1: Any, ar2: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """The different elements of both, sorted. size, fill_value: cut or filled to a length, as in `unique`.

    Args: ar1, ar2: arrays, flattened and brought to one dtype.

    >>> fnp.union1d(fnp.array([3, 1]), fnp.array([2, 3]))
    Array([1, 2, 3], dtype=int64)
    """
    x, y = _two("union1d", ar1, ar2)
    if size is None:
        return from_numpy(np.union1d(_known(x, "union1d"), _known(y, "union1d")))
    return distinct("union1d", concatenate([x, y]), extent(size, "union1d", "size"), fill_value).values


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False, *, size: Any = None, fill_value: Any = None) -> Any:
    """The different elements of ar1 that are not in ar2, sorted; with assume_unique in their order.

    size, fill_value: cut, or filled with fill_value (default 0), to a length that is known while tracing.

    >>> fnp.setdiff1d(fnp.array([3, 1, 2]), fnp.array([2]))
    Array([1, 3], dtype=int64)
    """
    x, y = _two("setdiff1d", ar1, ar2)
    if size is None:
        return from_numpy(
            np.setdiff1d(_known(x, "setdiff1d"), _known(y, "setdiff1d"), flag(assume_unique, "fnp.setdiff1d", "assume_unique"))
        )
    n, keep = extent(size, "setdiff1d", "size"), isin(x, y, invert=True)
    if assume_unique:
        return kept("setdiff1d", x, keep, n, fill_value)
    return distinct("setdiff1d", x, n, 0 if fill_value is None else fill_value, keep=keep).values


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False, *, size: Any = None, fill_value: Any = None) -> Any:
    """The elements that are in exactly one of both, sorted. size, fill_value: cut or filled to a length, as in `unique`.

    Args: ar1, ar2: arrays, flattened. assume_unique: a promise that neither has an element twice.

    >>> fnp.setxor1d(fnp.array([3, 1]), fnp.array([2, 3]))
    Array([1, 2], dtype=int64)
    """
    x, y = _two("setxor1d", ar1, ar2)
    if size is None:
        return from_numpy(
            np.setxor1d(_known(x, "setxor1d"), _known(y, "setxor1d"), flag(assume_unique, "fnp.setxor1d", "assume_unique"))
        )
    keep = concatenate([isin(x, y, invert=True), isin(y, x, invert=True)])
    return distinct("setxor1d", concatenate([x, y]), extent(size, "setxor1d", "size"), fill_value, keep=keep).values


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False, *, size: Any = None, fill_value: Any = None
) -> Any:
    """The elements that are in both, sorted; return_indices: also where each first stands in ar1 and ar2.

    size, fill_value: cut or filled to a length, as in `unique`; indices are filled with the number of elements.
    assume_unique: a promise that neither has an element twice.

    >>> fnp.intersect1d(fnp.array([3, 1, 2]), fnp.array([2, 3]))
    Array([2, 3], dtype=int64)
    """
    x, y = _two("intersect1d", ar1, ar2)
    if size is None:
        found = np.intersect1d(
            _known(x, "intersect1d"), _known(y, "intersect1d"), flag(assume_unique, "fnp.intersect1d", "assume_unique"), True
        )
        values, *places = [from_numpy(v) for v in found]
        return (values, *places) if flag(return_indices, "fnp.intersect1d", "return_indices") else values
    n = extent(size, "intersect1d", "size")
    out = distinct("intersect1d", x, n, fill_value, keep=isin(x, y), equal_nan=False)
    if not return_indices:
        return out.values
    order = argsort(y)
    second = take(order, searchsorted(take(y, order), out.values), mode="clip") if y.size else full((n,), np.int64(0))
    return out.values, where(out.filled, out.index, np.int64(x.size)), where(out.filled, second, np.int64(y.size))


_ISIN = ("auto", "compare_all", "binary_search", "sort")


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, method: str = "auto") -> Any:
    """Whether each element is one of test_elements; bool of the shape of element.

    Args: invert: whether it is none of them. assume_unique: a promise that makes no difference. method: JAX's names are
    accepted, with one result.

    >>> fnp.isin(fnp.array([[1, 2], [3, 4]]), fnp.array([2, 4, 9]))
    Array([[False,  True],
           [False,  True]], dtype=bool)
    """
    if not among(method, _ISIN):
        raise UsageError(message(f"fnp.isin: got method={method!r}", ", ".join(map(repr, _ISIN)), "method='auto'"))
    x, y = values_of("isin", element=element, test_elements=test_elements)
    y = ravel(y)
    if y.size == 0:
        return full(x.shape, np.bool_(invert))
    ordered = sort(y)
    place = searchsorted(ordered, x)
    found = equal(ordered.at[place].get(mode="clip"), x)
    return ew.not_(found) if flag(invert, "fnp.isin", "invert") else found


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: Any = None) -> Any:
    """How often each of 0, 1, ... comes in the vector x, or the sums of the weights there.

    length: of the result; without it max(x) + 1, which must be known (at least minlength). Numbers beyond it are left out,
    negative ones count as 0.

    >>> fnp.bincount(fnp.array([0, 2, 2, 3]))
    Array([1, 0, 2, 1], dtype=int64)
    >>> fnp.bincount(fnp.array([0, 2, 2, 3]), weights=fnp.array([0.5, 1.0, 1.0, 2.0]), length=3)
    Array([0.5, 0. , 2. ], dtype=float32)
    """
    v = as_value(x, "bincount", "x")
    if v.dtype not in dt.INTEGERS | dt.BOOLS or v.ndim != 1:
        raise ShapeError(message(f"fnp.bincount: got {v.aval.str_short()}", "a vector of integers", "x.ravel().astype(int)"))
    v = ew.convert(v, dt.int64)
    if length is None:
        known = _known(v, "bincount", "length=n")
        if known.size and known.min() < 0:
            raise UsageError(message("fnp.bincount: got negative numbers", "numbers of 0 or more", "x - x.min()"))
        n = builtins_max(int(known.max()) + 1 if known.size else 0, extent(minlength, "bincount", "minlength"))
    else:
        n = builtins_max(extent(length, "bincount", "length"), extent(minlength, "bincount", "minlength"))
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
