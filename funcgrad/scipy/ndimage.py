"""Images at any coordinates, as in `scipy.ndimage`: map_coordinates, of orders 0 and 1."""

import itertools
from typing import Any

from funcgrad import numpy as fnp
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import ShapeError, UsageError, describe, message
from funcgrad.numpy._axes import MANY
from funcgrad.numpy._promote import as_value, cast, common_inexact, value_in
from funcgrad.ops import elementwise as ew
from funcgrad.scipy._grids import read

__all__ = ["map_coordinates"]

MODES = ("constant", "nearest", "wrap", "mirror", "reflect", "grid-constant", "grid-wrap", "grid-mirror")


def _within(c: Any, n: int, mode: str) -> Any:
    """A coordinate brought to where the image is: into [0, n - 1], or up to a pixel beyond it where neighbours wrap or mirror."""
    if n == 1 and mode != "grid-constant":
        return fnp.where(fnp.isnan(c), c, fnp.zeros_like(c))
    last = n - 1
    if mode == "nearest":
        return fnp.clip(c, 0, last)
    if mode == "wrap":
        below, above = c + last * (fnp.trunc(-c / last) + 1), c - last * fnp.trunc(c / last)
    elif mode == "mirror":
        period = 2 * last
        low = c + period * fnp.trunc(-c / period)
        below = fnp.where(low <= -last, low + period, -low)
        high = c - period * fnp.trunc(c / period)
        above = fnp.where(high >= n, period - high, high)
    elif mode in ("reflect", "grid-mirror"):
        period = 2 * n
        low = fnp.where(c < -period, c + period * fnp.trunc(-c / period), c)
        below = fnp.where(low < -n, low + period, -low - 1)
        high = c - period * fnp.trunc(c / period)
        above = fnp.where(high >= n, period - high - 1, high)
    else:
        return c
    return fnp.where(c < 0, below, fnp.where(c > last, above, c))


def _pixel(i: Any, n: int, mode: str) -> tuple[Any, Any]:
    """The index of a pixel near the image, and whether it is one (None: always)."""
    if mode == "grid-wrap":
        return i % n, None
    if mode == "mirror" and n > 1:
        return fnp.where(i == n, n - 2, fnp.clip(i, 0, n - 1)), None
    return fnp.clip(i, 0, n - 1), (i >= 0) & (i < n) if mode == "grid-constant" else None


def _neighbours(c: Any, n: int, order: int, mode: str) -> list[tuple[Any, Any, Any]]:
    """(index, whether there is a pixel, weight) of the pixels beside a coordinate along one axis; None: there is, and one."""
    c = _within(c, n, mode)
    if order == 0:
        index, there = _pixel(fnp.floor(c + 0.5).astype("int64"), n, mode)
        known = ~fnp.isnan(c)
        return [(index, known if there is None else there & known, None)]
    first = fnp.floor(c)
    beyond, i = c - first, first.astype("int64")
    (a, in_a), (b, in_b) = _pixel(i, n, mode), _pixel(i + 1, n, mode)
    return [(a, in_a, 1 - beyond), (b, in_b, beyond)]


def map_coordinates(input: Any, coordinates: Any, order: int, mode: str = "constant", cval: Any = 0.0) -> Any:
    """The values of an image at coordinates between its pixels.

    input: an array of any number of axes. coordinates: an array, or a sequence of arrays, one along the first axis for each axis
    of input; pixel i has the coordinate i. order: 0 (the nearest pixel) or 1 (linear between pixels). mode: how the image goes on
    beyond its edges: "constant" (cval outside), "grid-constant" (cval for each missing pixel), "nearest" (the pixel at the edge),
    "mirror" (about its centre), "reflect" or "grid-mirror" (about the edge), "wrap" (the last pixel lies on the first),
    "grid-wrap" (the first pixel follows the last). Returns: the dtype of input, integers rounded; the shape of one of the
    coordinates.

    The modes are SciPy's; `jax.scipy.ndimage.map_coordinates` calls "grid-constant" constant, and "grid-wrap" wrap.
    Differentiable in the image and (for order 1) in the coordinates. Raises UsageError for other orders and modes.

    >>> from funcgrad.scipy import ndimage
    >>> x = fnp.array([[0.0, 1.0], [2.0, 3.0]])
    >>> ndimage.map_coordinates(x, fnp.array([[0.5, 1.0], [0.5, 0.25]]), order=1).tolist()
    [1.5, 2.25]
    """
    x = as_value(input, "x.map_coordinates", "input")
    if not isinstance(coordinates, MANY) or getattr(coordinates, "ndim", 1) == 0:
        raise UsageError(
            message(f"scipy.ndimage.map_coordinates: got {describe(coordinates)} for coordinates", "one array an axis", "[x, y]")
        )
    places = [as_value(c, "x.map_coordinates", "coordinates") for c in coordinates]
    if len(places) != x.ndim or 0 in x.shape or x.dtype not in dt.NUMBERS | dt.BOOLS:
        raise ShapeError(
            message(
                f"scipy.ndimage.map_coordinates: got {len(places)} coordinates for {x.aval.str_short()}",
                "numbers, with pixels, and a coordinate for each axis",
                "coordinates=fnp.stack([rows, columns])",
            )
        )
    if not among(order, (0, 1)) or not among(mode, MODES):
        raise UsageError(
            message(
                f"scipy.ndimage.map_coordinates: got order={order!r}, mode={mode!r}",
                f"order 0 or 1; {', '.join(map(repr, MODES))}",
                "order=1, mode='nearest'",
            )
        )
    places = list(fnp.broadcast_arrays(*common_inexact(*places))) if places else []
    wide = x.dtype if x.dtype in dt.INEXACT else places[0].dtype if places else dt.default_float()
    values = cast(x, wide)
    real = fnp.finfo(wide).dtype
    outside = value_in(cval, wide, "x.map_coordinates", "cval")
    total = None
    for corner in itertools.product(*[_neighbours(c, n, order, mode) for c, n in zip(places, x.shape, strict=True)]):
        term = read(values, [i for i, _, _ in corner])
        for _, there, _ in corner:
            term = term if there is None else fnp.where(there, term, outside)
        for _, _, w in corner:
            term = term if w is None else term * w.astype(real)
        total = term if total is None else total + term
    if mode == "constant":
        for c, n in zip(places, x.shape, strict=True):
            total = fnp.where((c >= 0) & (c <= n - 1), total, outside)
    if x.dtype in dt.INEXACT:
        return total
    return cast(ew.round(total, rounding_method=0), x.dtype)
