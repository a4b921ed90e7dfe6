"""The largest and smallest of complex numbers, as NumPy orders them: by the real parts, then by the imaginary ones; NaN wins.

In: a complex value and the axes of a reduction, or two complex values. Out: what `reduce_max`, `reduce_min`, `argmax`, `argmin`,
`max` and `min` give for real values.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops import elementwise as ew
from funcgrad.ops import reduce as ops
from funcgrad.ops._family import like
from funcgrad.ops.shape import broadcast_in_dim


def larger(x: Any, y: Any) -> Any:
    """The larger one of x and y."""
    return _one(x, y, ew.gt, ew.ge)


def smaller(x: Any, y: Any) -> Any:
    """The smaller one of x and y."""
    return _one(x, y, ew.lt, ew.le)


def _one(x: Any, y: Any, beyond: Callable[..., Any], level: Callable[..., Any]) -> Any:
    rx, ry, ix, iy = ew.real(x), ew.real(y), ew.imag(x), ew.imag(y)
    ahead = ew.or_(beyond(rx, ry), ew.and_(ew.eq(rx, ry), level(ix, iy)))
    x_missing, y_missing = [ew.or_(ew.ne(re, re), ew.ne(im, im)) for re, im in ((rx, ix), (ry, iy))]
    return ew.select_n(ew.or_(x_missing, ew.and_(ew.not_(y_missing), ahead)), y, x)


def _parts(x: Any, axes: tuple[int, ...], op: Callable[..., Any], last: float) -> tuple[Any, Any, Any, Any]:
    """(real part, imaginary part) of the extremum, where it stands, and where there is a NaN; `last` is the other end."""

    def over(y: Any) -> Any:
        return broadcast_in_dim(y, shape=x.shape, dims=tuple([i for i in range(x.ndim) if i not in axes]))

    re, im = ew.real(x), ew.imag(x)
    best = op(re, axes=axes)
    first = ew.eq(re, over(best))
    second = op(ew.select_n(first, like(im, last), im), axes=axes)
    here = ew.and_(first, ew.eq(im, over(second)))
    return best, second, here, ew.or_(ew.ne(re, re), ew.ne(im, im))


def extremum(op: Callable[..., Any]) -> Callable[..., Any]:
    """`reduce_max` or `reduce_min` for complex operands."""
    last = -np.inf if op is ops.reduce_max else np.inf

    def reduced(x: Any, *, axes: tuple[int, ...]) -> Any:
        best, second, _, nans = _parts(x, axes, op, last)
        out = ew.complex(best, second)
        return ew.select_n(ops.reduce_or(nans, axes=axes), out, like(out, complex(np.nan, np.nan)))

    return reduced


def position(op: Callable[..., Any]) -> Callable[..., Any]:
    """`argmax` or `argmin` for complex operands: the first NaN, or else the first extremum."""
    fold, last = (ops.reduce_max, -np.inf) if op is ops.argmax else (ops.reduce_min, np.inf)

    def found(x: Any, *, axes: tuple[int, ...], index_dtype: np.dtype) -> Any:
        _, _, here, nans = _parts(x, axes, fold, last)
        # A NaN among the imaginary parts does not reach `here`; where there is one, the NaNs alone are looked at.
        some = broadcast_in_dim(
            ops.reduce_or(nans, axes=axes), shape=x.shape, dims=tuple([i for i in range(x.ndim) if i not in axes])
        )
        return ops.argmax(ew.select_n(some, here, nans), axes=axes, index_dtype=index_dtype)

    return found
