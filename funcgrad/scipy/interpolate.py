"""Interpolation on rectilinear grids, as in `scipy.interpolate`."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, describe, message
from funcgrad.numpy._axes import MANY
from funcgrad.numpy._promote import as_value, cast, common_inexact, inexact_dtype
from funcgrad.scipy._checks import must
from funcgrad.scipy._grids import read
from funcgrad.trace.interpreter import Tracer

__all__ = ["RegularGridInterpolator"]

NAME = "scipy.interpolate.RegularGridInterpolator"
METHODS = ("linear", "slinear", "nearest")


class RegularGridInterpolator:
    """The function between values on a grid of lines, which need not be equally far apart.

    points: for each axis its ascending (or descending) coordinates. values: an array whose leading axes are those of the grid; it
    may have more. method: "linear" (also "slinear") or "nearest". bounds_error: raise a ValueError for points outside the grid,
    also in compiled code. fill_value: the result there; None goes on along the outermost cell. Integers become the default float.

    Calling it with points (..., number of axes), or a tuple of coordinate arrays, gives values of shape (..., rest of values);
    a point that is NaN gives NaN. Differentiable in values, in points and in where it is evaluated.

    >>> from funcgrad.scipy.interpolate import RegularGridInterpolator
    >>> f = RegularGridInterpolator((fnp.array([0.0, 1.0, 3.0]),), fnp.array([0.0, 10.0, 30.0]))
    >>> f(fnp.array([[0.5], [2.0], [4.0]])).tolist()
    [5.0, 20.0, nan]
    """

    def __init__(self, points: Any, values: Any, method: str = "linear", bounds_error: bool = False, fill_value: Any = np.nan):
        self.method, self.bounds_error = (
            _method(method),
            flag(bounds_error, "scipy.interpolate.RegularGridInterpolator", "bounds_error"),
        )
        given = as_value(values, NAME, "values") if not isinstance(values, list) else fnp.asarray(values)
        self.values = cast(given, inexact_dtype(given.dtype))
        if not isinstance(points, MANY):
            raise UsageError(
                message(f"{NAME}: got {describe(points)} for points", "a sequence of vectors, one an axis", "(x, y)")
            )
        grid = [as_value(p if not isinstance(p, list) else fnp.asarray(p), NAME, "points") for p in points]
        if len(grid) > self.values.ndim:
            raise ShapeError(
                message(
                    f"{NAME}: got {len(grid)} axes of points for {self.values.aval.str_short()}",
                    "an axis for each",
                    "mend values",
                )
            )
        self.grid = []
        for i, p in enumerate(grid):
            if p.ndim != 1 or p.shape[0] != self.values.shape[i] or not p.shape[0] or p.dtype in dt.COMPLEXES:
                raise ShapeError(
                    message(
                        f"{NAME}: got points {p.aval.str_short()} for axis {i} of values {self.values.aval.str_short()}",
                        "a vector of real numbers, one for each entry of that axis",
                        f"points[{i}] = fnp.arange({self.values.shape[i]}.0)",
                    )
                )
            self.grid.append(self._ascending(cast(p, inexact_dtype(p.dtype)), i))
        self.fill_value = None if fill_value is None else self._fill(fill_value)

    def _ascending(self, p: Any, axis: int) -> Any:
        """The points in ascending order, values turned with them; what is traced is believed to be ascending."""
        if isinstance(p, Tracer) and p.concrete() is None:
            return p
        steps: Any = np.diff(np.asarray(p.concrete() if isinstance(p, Tracer) else p))
        if (steps > 0).all():
            return p
        if not (steps < 0).all():
            raise UsageError(
                message(
                    f"{NAME}: got points for axis {axis} that go up and down, or repeat",
                    "strictly ascending ones",
                    "fnp.unique(p)",
                )
            )
        self.values = fnp.flip(self.values, axis)
        return fnp.flip(p, 0)

    def _fill(self, fill_value: Any) -> Any:
        fill = as_value(fill_value, NAME, "fill_value")
        if fill.dtype in dt.COMPLEXES and self.values.dtype not in dt.COMPLEXES:
            raise DtypeError(
                message(
                    f"{NAME}: got a complex fill_value for values of {self.values.dtype}",
                    "a real number",
                    "values.astype(complex)",
                )
            )
        return cast(fill, self.values.dtype)

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at points: (..., number of axes), or a tuple of coordinate arrays."""
        how = self.method if method is None else _method(method)
        places = self._places(xi)
        shape = places[0].shape if places else ()
        outside = nan = fnp.zeros(shape, bool)
        for x, p in zip(places, self.grid, strict=True):
            nan = nan | fnp.isnan(x)
            outside = outside | (x < p[0]) | (x > p[-1])
        if self.bounds_error:
            must(~outside, f"{NAME}: one of the points is outside of the grid, and bounds_error=True")
        out = self._nearest(places) if how == "nearest" else self._linear(places)
        extra = out.ndim - outside.ndim
        if self.fill_value is not None and not self.bounds_error:
            out = fnp.where(fnp.reshape(outside, (*shape, *[1] * extra)), self.fill_value, out)
        return fnp.where(fnp.reshape(nan, (*shape, *[1] * extra)), fnp.full((), np.nan, out.dtype), out)

    def _places(self, xi: Any) -> list[Any]:
        """The coordinates along each axis, of one shape."""
        n = len(self.grid)
        if isinstance(xi, tuple):
            parts = [as_value(x if not isinstance(x, list) else fnp.asarray(x), NAME, "xi") for x in xi]
        else:
            x: Any = fnp.asarray(xi) if isinstance(xi, Sequence) else as_value(xi, NAME, "xi")
            if n == 1 and x.ndim == 1:
                x = x[:, None]
            parts = [x[..., i] for i in range(x.shape[-1])] if x.ndim else [x]
        if len(parts) != n:
            raise ShapeError(
                message(
                    f"{NAME}: got points with {len(parts)} coordinates for a grid of {n} axes",
                    f"(..., {n})",
                    "fnp.stack([x, y], -1)",
                )
            )
        return list(fnp.broadcast_arrays(*common_inexact(*parts))) if parts else []

    def _cells(self, places: list[Any]) -> list[tuple[Any, Any]]:
        """For each axis the cell that a coordinate is in (at the ends, the outermost), and how far along it is, from 0 to 1."""
        found = []
        for x, p in zip(places, self.grid, strict=True):
            x, p = common_inexact(x, p)
            n = p.shape[0]
            if n == 1:
                found.append((fnp.zeros(x.shape, "int64"), None))
                continue
            i = fnp.clip(fnp.searchsorted(p, x) - 1, 0, n - 2)
            low, high = read(p, [i]), read(p, [i + 1])
            found.append((i, (x - low) / (high - low)))
        return found

    def _linear(self, places: list[Any]) -> Any:
        total = None
        real = fnp.finfo(self.values.dtype).dtype
        sides: list[Any] = [[(i, None)] if t is None else [(i, 1 - t), (i + 1, t)] for i, t in self._cells(places)]
        for corner in itertools.product(*sides):
            term = read(self.values, [i for i, _ in corner])
            for _, w in corner:
                if w is not None:
                    term = term * fnp.reshape(w.astype(real), (*w.shape, *[1] * (term.ndim - w.ndim)))
            total = term if total is None else total + term
        return total

    def _nearest(self, places: list[Any]) -> Any:
        return read(self.values, [i if t is None else fnp.where(t <= 0.5, i, i + 1) for i, t in self._cells(places)])


def _method(method: Any) -> str:
    if not among(method, METHODS):
        raise UsageError(message(f"{NAME}: got method={method!r}", ", ".join(map(repr, METHODS)), "method='linear'"))
    return method
