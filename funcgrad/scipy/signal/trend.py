"""detrend: what is left of a signal without its mean, or without the lines that fit it best piece by piece."""

from typing import Any

import numpy as np

from funcgrad.core.arguments import among
from funcgrad.core.errors import UsageError, message
from funcgrad.numpy._axes import axis_of, static_ints
from funcgrad.numpy._promote import as_value, common_inexact
from funcgrad.numpy.contract import matmul
from funcgrad.numpy.elementwise import subtract
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.means import mean
from funcgrad.numpy.structure import cut, moveaxis
from funcgrad.ops import _matrix as mx

__all__ = ["detrend"]


def _without_line(x: Any) -> Any:
    """x without its projection onto constants and lines along the last axis."""
    n = x.shape[-1]
    if n <= 2:  # a line goes through all of them
        basis = np.eye(n)
    else:
        places = np.arange(n) - (n - 1) / 2
        basis = np.stack([np.full(n, n**-0.5), places / np.linalg.norm(places)], 1)
    b: Any = as_value(basis.astype(mx.real_dtype(x.dtype)), "signal.detrend")
    return subtract(x, matmul(matmul(x, b), b.T))


def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: Any = None) -> Any:
    """The data without a trend along an axis: the best line in the sense of least squares ("linear"), or the mean ("constant").

    Args: data: array. type: "linear" or "constant". bp: an index or indices at which a new piece with a line of its own begins
    (only for lines). overwrite_data: accepted; arrays are never overwritten.
    Returns: an array of data's shape, of floats or complex numbers. Raises: UsageError for breakpoints beyond the data.

    >>> from funcgrad.scipy import signal
    >>> signal.detrend(fnp.array([1.0, 2.0, 6.0]), type="constant").tolist()
    [-2.0, -1.0, 3.0]
    """
    (x,) = common_inexact(as_value(data, "signal.detrend", "data"))
    i = axis_of(axis, x.ndim, "x.detrend")
    if among(type, ("constant", "c")):
        return subtract(x, mean(x, i, keepdims=True))
    if not among(type, ("linear", "l")):
        raise UsageError(message(f"signal.detrend: got type={type!r}", "'linear' or 'constant'", "type='linear'"))
    n = x.shape[i]
    breaks = np.unique(np.concatenate([[0], np.array(static_ints(bp, "x.detrend", "bp"), int), [n]]))
    if breaks[-1] > n or breaks[0] < 0:
        raise UsageError(message(f"signal.detrend: got bp={bp} for {n} points", f"indices from 0 to {n}", "bp=0"))
    x = moveaxis(x, i, -1)
    parts = [_without_line(cut(x, x.ndim - 1, a, b)) for a, b in zip(breaks.tolist(), breaks[1:].tolist(), strict=False)]
    return moveaxis(concatenate(parts, -1) if parts else x, -1, i)
