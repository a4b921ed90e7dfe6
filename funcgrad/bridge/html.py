"""Arrays as notebooks show them: what they are, and their numbers as a table; what is long is cut in the middle."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core import html
from funcgrad.core.aval import ShapedArray

_EDGE = 5  # rows and columns that are shown at either end
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def array_html(x: np.ndarray, aval: ShapedArray, place: str) -> str:
    """A heading and a table (for more than two axes, the text) of the numbers `x`."""
    heading = html.pre(html.faint(html.escape(f"{aval.str_short()}  {aval.dtype.name}  {_size(x.nbytes)}  {place}")))
    if aval.ndim > 2 or x.size == 0 or aval.dtype == dt.KEY:
        return heading + html.text(str(x))
    if aval.ndim == 0:
        return heading + html.pre(html.strong(html.escape(_number(x[()]))))
    rows = x if aval.ndim == 2 else x[None]
    down, across = _shown(rows.shape[0]), _shown(rows.shape[1])
    names = ["" if aval.ndim == 1 else _place(i) for i in down]
    cells = [["⋯" if i is None or j is None else _number(rows[i, j]) for j in across] for i in down]
    return heading + html.table([_place(j) for j in across], list(zip(names, cells, strict=True)))


def _shown(n: int) -> list[int | None]:
    """The places to show, with None for those between."""
    if n <= 2 * _EDGE + 1:
        return list(range(n))
    return [*range(_EDGE), None, *range(n - _EDGE, n)]


def _place(i: int | None) -> str:
    return "⋯" if i is None else str(i)


def _number(v: Any) -> str:
    value = v.item()
    return f"{value:.6g}" if isinstance(value, (float, complex)) else str(value)


def _size(count: float) -> str:
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:.3g} {_UNITS[unit]}"
