"""Putting arrays together and taking them apart: concatenate, stack, split, append, block, pad's relatives."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ShapeError, UsageError, asked_at, describe, message
from funcgrad.numpy._axes import axis_of, static_array, static_int
from funcgrad.numpy._promote import as_value, cast, check_unsupported, common_dtype, operand, values_of
from funcgrad.numpy.structure import atleast_1d, atleast_2d, atleast_3d, cut, expand_dims, ravel, transpose
from funcgrad.ops import shape as ops
from funcgrad.trace.value import Value, aval_of

__all__ = [
    "append", "array_split", "block", "column_stack", "concat", "concatenate", "dsplit", "dstack", "hsplit", "hstack", "split",
    "stack", "vsplit", "vstack",
]  # fmt: skip


def arrays_of(arrays: Any, name: str) -> list[Any]:
    """The arrays of a sequence (or the slices of one array along its first axis) in their common dtype."""
    if isinstance(arrays, (Value, np.ndarray)):
        if arrays.ndim == 0:
            raise ShapeError(message(f"fnp.{name}: got a scalar", "a sequence of arrays", f"fnp.{name}([x, y])"))
        rows: Any = arrays
        arrays = [rows[i] for i in range(rows.shape[0])]
    if not isinstance(arrays, Sequence) or not len(arrays):
        came = "an empty sequence" if isinstance(arrays, Sequence) else f"a value of type {type(arrays).__name__}"
        raise UsageError(message(f"fnp.{name}: got {came}", "a list or tuple of one or more arrays", f"fnp.{name}([x, y])"))
    xs = [operand(x, name, f"arrays[{i}]") for i, x in enumerate(arrays)]
    first = aval_of(xs[0]).dtype
    if not all([isinstance(x, Value) and x.aval.dtype == first for x in xs]):
        xs = [as_value(x, name) for x in common_dtype(*xs)]
    return xs


def concatenate(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """The arrays one after the other along `axis` (None: flattened first).

    Args: arrays: sequence of arrays whose other extents are equal; they are brought to one dtype, or to `dtype`.
    Raises: ShapeError naming the shapes where the other extents differ.

    >>> fnp.concatenate([fnp.zeros(2), fnp.ones(3)])
    Array([0., 0., 1., 1., 1.], dtype=float32)
    >>> fnp.concatenate([fnp.array([[1, 2]]), fnp.array([[3, 4], [5, 6]])])
    Array([[1, 2],
           [3, 4],
           [5, 6]], dtype=int64)
    """
    xs = arrays_of(arrays, "concatenate")
    if dtype is not None:
        xs = [cast(x, dt.canonical(dtype)) for x in xs]
    if axis is None:
        xs, i = [ravel(x) for x in xs], 0
    else:
        i = axis_of(axis, xs[0].ndim, "concatenate")
    others = {x.shape[:i] + x.shape[i + 1 :] if x.ndim == xs[0].ndim else x.shape for x in xs}
    if len(others) > 1 or len({x.ndim for x in xs}) > 1:
        raise ShapeError(
            message(
                f"fnp.concatenate: got shapes {', '.join(str(x.shape) for x in xs)} along axis {i}{asked_at()}",
                "equal ranks, and equal extents on the other axes",
                "fnp.stack for a new axis, x[None] to add one",
            )
        )
    return xs[0] if len(xs) == 1 else ops.concatenate(*xs, dimension=i)


def concat(arrays: Any, /, *, axis: Any = 0) -> Any:
    """As `concatenate(arrays, axis)`; the array API's name.

    >>> fnp.concat([fnp.array([[1], [2]]), fnp.array([[3], [4]])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int64)
    """
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: Any = 0, out: Any = None, dtype: Any = None) -> Any:
    """The arrays, all of one shape, along a new `axis`. dtype: of the result; by promotion without one. out: must be None.

    Raises: ShapeError for different shapes.

    >>> fnp.stack([fnp.array([1, 2]), fnp.array([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int64)
    >>> fnp.stack([fnp.array([1, 2]), fnp.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int64)
    """
    check_unsupported("stack", out=out)
    xs = arrays_of(arrays, "stack")
    if len({x.shape for x in xs}) > 1:
        raise ShapeError(
            message(
                f"fnp.stack: got shapes {', '.join(str(x.shape) for x in xs)}{asked_at()}",
                "arrays of one shape",
                "fnp.concatenate, or broadcast_arrays first",
            )
        )
    i = axis_of(axis, xs[0].ndim + 1, "stack")
    return concatenate([expand_dims(x, i) for x in xs], i, dtype)


def _joined(name: str, tup: Any, prepare: Callable[..., Any], axis: Callable[[Any], int], dtype: Any) -> Any:
    xs = [prepare(x) for x in arrays_of(tup, name)]
    return concatenate(xs, axis(xs[0]), dtype)


def vstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays below each other (axis 0); vectors are rows. dtype: of the result; by promotion without one.

    Args: tup: a sequence of arrays or scalars whose other extents are equal, otherwise ShapeError.

    >>> fnp.vstack([fnp.array([1, 2]), fnp.array([[3, 4], [5, 6]])])
    Array([[1, 2],
           [3, 4],
           [5, 6]], dtype=int64)
    """
    return _joined("vstack", tup, atleast_2d, lambda x: 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays beside each other (axis 1, or 0 for vectors). dtype: of the result; by promotion without one.

    Args: tup: a sequence of arrays or scalars whose other extents are equal, otherwise ShapeError.

    >>> fnp.hstack([fnp.array([1, 2]), fnp.array([3])])
    Array([1, 2, 3], dtype=int64)
    >>> fnp.hstack([fnp.array([[1], [2]]), fnp.array([[3], [4]])])
    Array([[1, 3],
           [2, 4]], dtype=int64)
    """
    return _joined("hstack", tup, atleast_1d, lambda x: 0 if x.ndim == 1 else 1, dtype)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays behind each other (axis 2). dtype: of the result; by promotion without one.

    Args: tup: a sequence of arrays or scalars whose first two extents are equal, otherwise ShapeError.

    >>> fnp.dstack([fnp.array([1, 2]), fnp.array([3, 4])])
    Array([[[1, 3],
            [2, 4]]], dtype=int64)
    """
    return _joined("dstack", tup, atleast_3d, lambda x: 2, dtype)


def column_stack(tup: Any) -> Any:
    """Vectors as the columns of a matrix; matrices beside each other.

    Args: tup: a sequence of arrays with one number of rows; they are brought to one dtype.

    >>> fnp.column_stack([fnp.array([1, 2]), fnp.array([3, 4])])
    Array([[1, 3],
           [2, 4]], dtype=int64)
    """
    return _joined("column_stack", tup, lambda x: transpose(atleast_2d(x)) if x.ndim < 2 else x, lambda x: 1, None)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """`values` after `arr` along `axis` (None: both flattened). A new array: `arr` stays as it is.

    >>> fnp.append(fnp.array([1, 2]), 3)
    Array([1, 2, 3], dtype=int64)
    >>> fnp.append(fnp.array([[1, 2]]), fnp.array([[3, 4]]), axis=0)
    Array([[1, 2],
           [3, 4]], dtype=int64)
    """
    return concatenate(values_of("append", arr=arr, values=values), axis)


def block(arrays: Any) -> Any:
    """An array from nested lists of blocks: the innermost lists are joined along the last axis, the next along the one before.

    Args: arrays: an array, or lists of one depth of arrays and scalars, which are brought to one dtype.
    Raises: UsageError for lists nested to different depths; ShapeError where the blocks do not fit.

    >>> fnp.block([[fnp.eye(2), fnp.zeros((2, 1))], [fnp.ones((1, 2)), fnp.full((1, 1), 9)]])
    Array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 9.]], dtype=float32)
    """
    depth = _depth(arrays)
    blocks = arrays_of(_leaves(arrays), "block")
    rank = max(depth, max([x.ndim for x in blocks]))
    return _block(arrays, iter(blocks), depth, rank)


def _depth(x: Any) -> int:
    if not isinstance(x, list):
        return 0
    depths = {_depth(i) for i in x}
    if len(depths) != 1:
        raise UsageError(
            message(
                "fnp.block: got lists nested to different depths" if x else "fnp.block: got an empty list",
                "lists of one depth",
                "fnp.block([[a, b], [c, d]])",
            )
        )
    return 1 + depths.pop()


def _leaves(x: Any) -> list[Any]:
    return [b for i in x for b in _leaves(i)] if isinstance(x, list) else [x]


def _block(x: Any, blocks: Iterator[Any], depth: int, rank: int) -> Any:
    if depth == 0:
        value = next(blocks)
        return expand_dims(value, tuple(range(rank - value.ndim))) if value.ndim < rank else value
    return concatenate([_block(i, blocks, depth - 1, rank) for i in x], -depth)


# An array a section: more of them than elements are asked for by mistake.
_MOST_PARTS = 100_000


def _split(name: str, ary: Any, indices_or_sections: Any, axis: Any, even: bool) -> list[Any]:
    x = as_value(ary, name, "ary")
    i = axis_of(axis, x.ndim, name)
    n = x.shape[i]
    where = static_array(indices_or_sections, name, "indices_or_sections")
    if where.ndim == 0:
        parts = static_int(indices_or_sections, name, "indices_or_sections")
        if parts > max(n, _MOST_PARTS):
            most = max(n, _MOST_PARTS)
            raise UsageError(message(f"fnp.{name}: got {parts} sections of extent {n}", f"up to {most} arrays", "fewer sections"))
        if parts < 1 or even and n % parts:
            raise UsageError(
                message(
                    f"fnp.{name}: got {parts} sections of extent {n}",
                    "a positive number that divides the extent",
                    "fnp.array_split for unequal parts",
                )
            )
        size, rest = divmod(n, parts)
        edges = [0]
        for k in range(parts):
            edges.append(edges[-1] + size + (k < rest))
        pairs = list(zip(edges, edges[1:]))
    else:
        if where.ndim != 1 or where.dtype.kind not in "iub" and where.size:
            came = f"fnp.{name}: got {describe(where)} for indices_or_sections"
            raise UsageError(message(came, "an integer, or a sequence of places", "[1, 3]"))
        edges = [0, *[int(k) for k in where], n]
        pairs = [slice(a, b).indices(n)[:2] for a, b in zip(edges, [*edges[1:-1], None])]
    return [cut(x, i, a, max(a, b)) for a, b in pairs]


def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    """Parts along `axis`: a number of equal sections, or the places where to cut. Raises UsageError for unequal sections.

    Args: indices_or_sections: an integer, or ascending places, known while tracing. Returns: a list of arrays.

    >>> fnp.split(fnp.arange(6), 3)
    [Array([0, 1], dtype=int64), Array([2, 3], dtype=int64), Array([4, 5], dtype=int64)]
    >>> fnp.split(fnp.arange(6), [1, 4])
    [Array([0], dtype=int64), Array([1, 2, 3], dtype=int64), Array([4, 5], dtype=int64)]
    """
    return _split("split", ary, indices_or_sections, axis, True)


def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    """As `split`; sections may be unequal, the first ones are longer by one.

    >>> fnp.array_split(fnp.arange(5), 2)
    [Array([0, 1, 2], dtype=int64), Array([3, 4], dtype=int64)]
    """
    return _split("array_split", ary, indices_or_sections, axis, False)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`split` along axis 0.

    Args: indices_or_sections: as in `split`. Returns: a list of arrays.

    >>> fnp.vsplit(fnp.array([[1, 2], [3, 4]]), 2)
    [Array([[1, 2]], dtype=int64), Array([[3, 4]], dtype=int64)]
    """
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`split` along axis 1 (axis 0 of a vector).

    Args: indices_or_sections: as in `split`. Returns: a list of arrays.

    >>> fnp.hsplit(fnp.array([[1, 2], [3, 4]]), 2)
    [Array([[1],
           [3]], dtype=int64), Array([[2],
           [4]], dtype=int64)]
    """
    return split(ary, indices_or_sections, 0 if as_value(ary, "hsplit", "ary").ndim == 1 else 1)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`split` along axis 2.

    Args: indices_or_sections: as in `split`. Returns: a list of arrays.

    >>> [part.shape for part in fnp.dsplit(fnp.ones((2, 3, 4)), [1])]
    [(2, 3, 1), (2, 3, 3)]
    """
    return split(ary, indices_or_sections, 2)
