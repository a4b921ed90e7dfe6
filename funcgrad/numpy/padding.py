"""pad: a border around an array, in NumPy's modes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import UsageError, describe, message
from funcgrad.numpy._axes import static_array
from funcgrad.numpy._promote import as_value, broadcast_value, cast, operand
from funcgrad.numpy.arithmetic import round as round_
from funcgrad.numpy.elementwise import multiply, subtract
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.means import mean
from funcgrad.numpy.quantiles import median
from funcgrad.numpy.ranges import linspace
from funcgrad.numpy.reductions import max, min
from funcgrad.numpy.reordering import flip
from funcgrad.numpy.structure import cut, expand_dims, moveaxis
from funcgrad.ops import shape as ops
from funcgrad.trace.value import Value

__all__ = ["pad"]

_ARGUMENTS = {
    "constant": {"constant_values"},
    "edge": set(),
    "empty": set(),
    "linear_ramp": {"end_values"},
    "maximum": {"stat_length"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "minimum": {"stat_length"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "wrap": set(),
}


def _pairs(x: Any, rank: int, name: str) -> list[tuple[int, int]]:
    """(before, after) for each axis from an integer, a pair, or a pair for each axis; a dict names axes."""
    if isinstance(x, dict):
        rows = [(0, 0)] * rank
        for axis, value in x.items():
            rows[axis] = tuple(np.broadcast_to(value, (2,)).tolist())
        return rows
    numbers = static_array(x, "pad", name)
    try:
        wide = np.broadcast_to(numbers, (rank, 2))
    except ValueError:
        raise UsageError(
            message(
                f"fnp.pad: got {name}={x} for {rank} axes",
                "a number, (before, after), or such a pair for each axis",
                f"{name}=((1, 1), (2, 2))",
            )
        ) from None
    if wide.dtype.kind not in "iu" or (wide < 0).any():
        raise UsageError(message(f"fnp.pad: got {name}={x}", "integers of 0 or more", "check where they come from"))
    return [(int(a), int(b)) for a, b in wide]


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """The array within a border.

    Args: array. pad_width: an integer, (before, after), a pair for each axis, or a dict {axis: width}; known while tracing. mode:
    "constant" (constant_values=0), "edge", "reflect" and "symmetric" (reflect_type="even" | "odd"), "wrap", "linear_ramp"
    (end_values=0), "mean", "median", "maximum", "minimum" (stat_length=None), "empty" (zeros), or a function
    f(vector, (before, after), axis, kwargs) -> vector.

    >>> fnp.pad(fnp.array([[1, 2], [3, 4]]), ((0, 1), (1, 0)), constant_values=9)
    Array([[9, 1, 2],
           [9, 3, 4],
           [9, 9, 9]], dtype=int64)
    >>> fnp.pad(fnp.array([1, 2, 3]), 2, mode="reflect")
    Array([3, 2, 1, 2, 3, 2, 1], dtype=int64)
    >>> fnp.pad(fnp.array([1.0, 3.0]), (2, 0), mode="linear_ramp", end_values=0)
    Array([0. , 0.5, 1. , 3. ], dtype=float32)
    """
    x = as_value(array, "pad", "array")
    widths = _pairs(pad_width, x.ndim, "pad_width")
    if callable(mode):
        return _by_function(x, widths, mode, kwargs)
    if not among(mode, _ARGUMENTS):
        raise UsageError(message(f"fnp.pad: got mode={mode!r}", ", ".join(map(repr, _ARGUMENTS)), "mode='constant'"))
    extra = set(kwargs) - _ARGUMENTS[mode]
    if extra:
        raise UsageError(
            message(
                f"fnp.pad: got {', '.join(sorted(extra))} with mode={mode!r}",
                ", ".join(_ARGUMENTS[mode]) or "no further argument",
                "leave it out",
            )
        )
    if mode in ("constant", "empty"):
        return _constant(x, widths, kwargs.get("constant_values", 0))
    if mode in ("mean", "median", "maximum", "minimum"):
        return _statistic(x, widths, mode, kwargs.get("stat_length"))
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = _AXIS[mode](x, axis, before, after, kwargs)
    return x


def _constant(x: Value, widths: list[tuple[int, int]], values: Any) -> Any:
    if not isinstance(values, (list, tuple, dict)) and getattr(values, "ndim", 0) == 0:
        v = operand(values, "pad", "constant_values")
        if not isinstance(v, Value) or v.ndim == 0:
            v = cast(v, x.dtype) if x.dtype not in dt.INTEGERS or isinstance(v, Value) else _whole(v, x.dtype)
            return ops.pad(x, v, padding_config=tuple([(a, b, 0) for a, b in widths]))
    ends = _ends(values, x, "constant_values")
    for axis, (before, after) in enumerate(widths):
        for side, width in ((0, before), (1, after)):
            if width:
                config = tuple(
                    [((width, 0, 0) if side == 0 else (0, width, 0)) if i == axis else (0, 0, 0) for i in range(x.ndim)]
                )
                x = ops.pad(x, ends[axis][side], padding_config=config)
    return x


def _whole(v: Any, dtype: np.dtype) -> Any:
    """A number cut to an integer, as NumPy does it here."""
    try:
        return dtype.type(v)
    except (OverflowError, TypeError, ValueError):
        came = f"fnp.pad: got constant_values={v!r} for an array of {dtype}"
        raise UsageError(message(came, "numbers that the dtype has", "constant_values=0")) from None


def _ends(values: Any, x: Value, name: str) -> list[tuple[Any, Any]]:
    """A scalar for each end of each axis, as literals or 0-d values of x's dtype."""
    if isinstance(values, Value):
        wide = broadcast_value(cast(values, x.dtype), (x.ndim, 2))
        return [(wide[i, 0], wide[i, 1]) for i in range(x.ndim)]
    try:
        numbers = np.broadcast_to(np.asarray(values), (x.ndim, 2)).astype(x.dtype)
    except (OverflowError, TypeError, ValueError):
        given = describe(values) if isinstance(values, np.ndarray) else repr(values)
        allowed = "a number, (before, after), or a pair for each axis"
        raise UsageError(message(f"fnp.pad: got {name}={given} for {x.aval.str_short()}", allowed, f"{name}=0")) from None
    return [(a, b) for a, b in numbers]


def _part(x: Value, axis: int, start: int, stop: int) -> Any:
    return cut(x, axis, start, stop)


def _edge(x: Value, axis: int, before: int, after: int, kwargs: Any) -> Any:
    n = x.shape[axis]
    _not_empty(x, axis)
    wide = [tuple([w if i == axis else m for i, m in enumerate(x.shape)]) for w in (before, after)]
    return concatenate(
        [broadcast_value(_part(x, axis, 0, 1), wide[0]), x, broadcast_value(_part(x, axis, n - 1, n), wide[1])], axis
    )


def _not_empty(x: Value, axis: int) -> None:
    if x.shape[axis] == 0:
        raise UsageError(
            message(f"fnp.pad: got {x.aval.str_short()}, empty along axis {axis}", "elements to repeat", "mode='constant'")
        )


def _wrap(x: Value, axis: int, before: int, after: int, kwargs: Any) -> Any:
    _not_empty(x, axis)
    n = x.shape[axis]
    start, copies = -before % n, -(-(before + after + n + n) // n)
    many = concatenate([x] * copies, axis) if copies > 1 else x
    return _part(many, axis, start, start + before + n + after)


def _mirror(x: Value, axis: int, before: int, after: int, kwargs: Any, with_edge: bool) -> Any:
    """Mirrored at the edges, which are repeated (symmetric) or not (reflect); in rounds where the border is longer than the
    array."""
    kind = kwargs.get("reflect_type", "even")
    if not among(kind, ("even", "odd")):
        raise UsageError(message(f"fnp.pad: got reflect_type={kind!r}", "'even' or 'odd'", "reflect_type='even'"))
    _not_empty(x, axis)
    n = x.shape[axis]
    if n == 1 and not with_edge:
        return _edge(x, axis, before, after, kwargs)
    offset = 0 if with_edge else 1
    # The mirrored stretch always is of the original length.
    room = n - offset
    while before > 0 or after > 0:
        size = x.shape[axis]
        left, right = builtins_min(before, room), builtins_min(after, room)
        head = flip(_part(x, axis, offset, offset + left), axis)
        tail = flip(_part(x, axis, size - offset - right, size - offset), axis)
        if kind == "odd":
            head = subtract(multiply(_part(x, axis, 0, 1), 2), head)
            tail = subtract(multiply(_part(x, axis, size - 1, size), 2), tail)
        x = concatenate([head, x, tail], axis)
        before, after = before - left, after - right
        room = x.shape[axis] - offset
    return x


def builtins_min(a: int, b: int) -> int:
    """The smaller of two Python integers (`min` is the array function here)."""
    return a if a < b else b


def _ramp(x: Value, axis: int, before: int, after: int, kwargs: Any) -> Any:
    _not_empty(x, axis)
    n = x.shape[axis]
    first, last = _ends(kwargs.get("end_values", 0), x, "end_values")[axis]
    edges = [moveaxis(_part(x, axis, i, i + 1), axis, 0)[0] for i in (0, n - 1)]
    head = linspace(first, edges[0], before, endpoint=False, axis=axis)
    tail = flip(linspace(last, edges[1], after, endpoint=False, axis=axis), axis)
    head, tail = [_as(v, x.dtype) for v in (head, tail)]
    return concatenate([head, x, tail], axis)


def _as(v: Any, dtype: np.dtype) -> Any:
    return cast(v, dtype)


def _statistic(x: Value, widths: list[tuple[int, int]], mode: str, stat_length: Any) -> Any:
    f: Callable[..., Any] = {"mean": mean, "median": median, "maximum": max, "minimum": min}[mode]
    lengths = [(None, None)] * x.ndim if stat_length is None else _pairs(stat_length, x.ndim, "stat_length")
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        _not_empty(x, axis)
        n = x.shape[axis]
        parts = []
        for width, length, side in ((before, lengths[axis][0], 0), (after, lengths[axis][1], 1)):
            k = n if length is None else builtins_min(length, n)
            value = f(_part(x, axis, 0, k) if side == 0 else _part(x, axis, n - k, n), axis, keepdims=True)
            if x.dtype in dt.INTEGERS and value.dtype in dt.INEXACT:
                value = round_(value)
            value = cast(value, x.dtype)
            parts.append(broadcast_value(value, tuple([width if i == axis else m for i, m in enumerate(x.shape)])))
        x = concatenate([parts[0], x, parts[1]], axis)
    return x


def _by_function(x: Value, widths: list[tuple[int, int]], f: Callable[..., Any], kwargs: Any) -> Any:
    x = _constant(x, widths, 0)
    for axis, width in enumerate(widths):
        lines = moveaxis(x, axis, -1)
        shape = lines.shape
        flat = lines.reshape((-1, shape[-1]))  # type: ignore[attr-defined]
        out = [expand_dims(_returned(f(flat[i], width, axis, kwargs)), 0) for i in range(flat.shape[0])]
        x = moveaxis(concatenate(out, 0).reshape(shape), -1, axis) if out else x
    return x


def _returned(v: Any) -> Any:
    if v is None:
        raise UsageError(
            message("fnp.pad: the mode function gave None", "the padded vector: arrays are immutable", "return v.at[:w].set(...)")
        )
    return v


_AXIS: dict[str, Callable[..., Any]] = {
    "edge": _edge,
    "linear_ramp": _ramp,
    "reflect": lambda *args: _mirror(*args, with_edge=False),
    "symmetric": lambda *args: _mirror(*args, with_edge=True),
    "wrap": _wrap,
}
