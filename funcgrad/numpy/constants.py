"""Constants, and the index tricks `s_`, `index_exp`, `r_`, `c_`, `mgrid`, `ogrid`.

    e              Euler's number, the base of natural logarithms, a Python float
    pi             a circle's circumference over its diameter, a Python float
    euler_gamma    the Euler-Mascheroni constant, a Python float
    inf            the float that is larger than all others
    nan            the float that is no number, and not equal to itself
    newaxis        None: x[:, fnp.newaxis] has a new axis of extent 1
    s_             the index that is written in brackets, as an object: fnp.s_[1:3] is slice(1, 3)
    index_exp      as s_, but always a tuple

>>> fnp.pi, fnp.e, fnp.euler_gamma
(3.141592653589793, 2.718281828459045, 0.5772156649015329)
>>> fnp.s_[1:3], fnp.index_exp[1:3]
(slice(1, 3, None), (slice(1, 3, None),))
>>> fnp.arange(3)[:, fnp.newaxis].shape
(3, 1)
"""

from typing import Any

import numpy as np

from funcgrad.core.errors import UsageError, message
from funcgrad.numpy._promote import NOT_FOREIGN, PYTHON_SCALARS, common_dtype, operand
from funcgrad.numpy.creation import asarray
from funcgrad.numpy.join import concatenate, stack
from funcgrad.numpy.ranges import arange, linspace, meshgrid
from funcgrad.numpy.structure import atleast_1d, expand_dims, transpose

__all__ = ["c_", "e", "euler_gamma", "index_exp", "inf", "mgrid", "nan", "newaxis", "ogrid", "pi", "r_", "s_"]

e, pi, euler_gamma, inf, nan, newaxis = np.e, np.pi, np.euler_gamma, np.inf, np.nan, None
index_exp, s_ = np.index_exp, np.s_


def _line(item: slice) -> Any:
    """The numbers of a slice: start:stop:step, or start:stop:5j for five numbers with the end."""
    start, step = item.start or 0, 1 if item.step is None else item.step
    if isinstance(step, complex):
        return linspace(start, item.stop, int(abs(step)))
    return arange(start, item.stop, step)


class _Grid:
    """`mgrid[0:2, 0:3]`: coordinate arrays of a grid, stacked (mgrid) or open, as a list of arrays that broadcast (ogrid).

    A slice is start:stop:step, or start:stop:5j for 5 numbers with the end.

    >>> fnp.mgrid[0:2, 0:3]
    Array([[[0, 0, 0],
            [1, 1, 1]],
    <BLANKLINE>
           [[0, 1, 2],
            [0, 1, 2]]], dtype=int64)
    >>> fnp.ogrid[0:2, 0:3]
    [Array([[0],
           [1]], dtype=int64), Array([[0, 1, 2]], dtype=int64)]
    >>> fnp.mgrid[0:1:5j]
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """

    def __init__(self, sparse: bool):
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _line(key)
        grids = meshgrid(*[_line(k) for k in key], sparse=self._sparse, indexing="ij")
        return grids if self._sparse else stack(grids)


class _Join:
    """`r_[1:4, 0, x]` and `c_[x, y]`: arrays, numbers and slices joined along the first (r_) or the last axis (c_).

    Vectors are columns for c_. A text first, "axis,ndmin,trans1d", says along which axis r_ joins, how many axes its parts have
    at least, and where those of a vector stand.

    >>> fnp.r_[1:4, 0, fnp.array([7, 8])]
    Array([1, 2, 3, 0, 7, 8], dtype=int64)
    >>> fnp.c_[fnp.array([1, 2]), fnp.array([3, 4])]
    Array([[1, 3],
           [2, 4]], dtype=int64)
    >>> fnp.r_["0,2", fnp.array([1, 2]), fnp.array([3, 4])]
    Array([[1, 2],
           [3, 4]], dtype=int64)
    """

    def __init__(self, axis: int, ndmin: int, trans1d: int):
        self._defaults = (axis, ndmin, trans1d)

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans1d = self._defaults
        if items and isinstance(items[0], str):
            axis, ndmin, trans1d = self._directive(items.pop(0), axis, ndmin, trans1d)
        parts = [_line(i) if isinstance(i, slice) else i if isinstance(i, NOT_FOREIGN) else asarray(i) for i in items]
        if not all([p.__class__ in PYTHON_SCALARS for p in parts]):  # numbers take the dtype of the arrays beside them
            parts = common_dtype(*[operand(p, "r_", f"[{k}]") for k, p in enumerate(parts)])
        return concatenate([self._prepared(asarray(p), ndmin, trans1d) for p in parts], axis)

    def _directive(self, text: str, axis: int, ndmin: int, trans1d: int) -> tuple[int, int, int]:
        try:
            numbers = [int(n) for n in text.split(",")]
        except ValueError:
            raise UsageError(
                message(f"fnp.r_: got the directive {text!r}", "'axis', 'axis,ndmin' or 'axis,ndmin,trans1d'", "'0,2'")
            ) from None
        return tuple([*numbers, *(axis, ndmin, trans1d)[len(numbers) :]])  # type: ignore[return-value]

    def _prepared(self, item: Any, ndmin: int, trans1d: int) -> Any:
        x = atleast_1d(item)
        missing = ndmin - x.ndim
        if missing <= 0:
            return x
        out = expand_dims(x, tuple(range(missing)))
        # The array's own axes start at trans1d; -1 puts them last.
        start = trans1d if trans1d >= 0 else ndmin - x.ndim + 1 + trans1d
        order = list(range(missing))
        order[start:start] = range(missing, ndmin)
        return transpose(out, tuple(order))


mgrid, ogrid = _Grid(sparse=False), _Grid(sparse=True)
r_, c_ = _Join(0, 1, -1), _Join(-1, 2, 0)
