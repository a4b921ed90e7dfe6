"""What stands between the brackets of `x[...]` and `x.at[...]`: parsing, reading, and where updates go.

In: an index as NumPy takes it (integers, slices of any step, Ellipsis, None, integer and boolean arrays, mixed). Out: slice, rev,
squeeze and expand_dims for what is known (views: nothing moves), and one gather or scatter for index arrays and traced integers.
NumPy's rule places the axes of index arrays: where the arrays stand side by side, otherwise in front.

Out of range is an IndexError: at once for what is known, in the kernel for what is not. `mode=` says otherwise for one access.
"""

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.config import config
from funcgrad.core.errors import (
    ConcretizationTypeError,
    NonConcreteBooleanIndexError,
    UsageError,
    describe,
    message,
)
from funcgrad.numpy._axes import host_array
from funcgrad.numpy._promote import broadcast_shapes_of, broadcast_value
from funcgrad.ops import elementwise as ew
from funcgrad.ops.index import GatherDimensionNumbers, gather
from funcgrad.ops.shape import broadcast_in_dim, concatenate, expand_dims, rev, slice_, squeeze
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.value import Value

MODES = ("raise", "fill", "drop", "clip", "wrap", "promise_in_bounds")
_ENUM_MODES = {"CLIP": "clip", "FILL_OR_DROP": "fill", "PROMISE_IN_BOUNDS": "promise_in_bounds", "ONE_HOT": "promise_in_bounds"}


def mode_of(mode: Any, name: str) -> str:
    """The canonical name of a mode; None is `config.index_mode`."""
    if mode is None:
        return config.index_mode
    found: Any = _ENUM_MODES.get(getattr(mode, "name", ""), mode)
    if not among(found, MODES):
        raise UsageError(message(f"{name}: got mode={mode!r}", ", ".join(map(repr, MODES)), "mode='clip'"))
    return found


class Whole(NamedTuple):
    """A slice, in positive terms: `count` places from `start` in steps of `step`, then reversed or not. It keeps its axis."""

    axis: int
    start: int
    count: int
    step: int
    reversed: bool


class Fixed(NamedTuple):
    """A known integer: the axis disappears."""

    axis: int
    at: int


class Gathered(NamedTuple):
    """An index array (np.ndarray when it is known and checked) or a traced integer."""

    axis: int
    index: Any


class New(NamedTuple):
    """None: a new axis of extent 1."""


Token = Whole | Fixed | Gathered | New


# --- parsing ----------------------------------------------------------------------------------------------------------------


def parse(index: Any, shape: tuple[int, ...], mode: str) -> list[Token]:
    """The tokens of an index, one for each axis that it names and each None, in order."""
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_plain(i) for i in items]
    used = sum([_axes_used(i) for i in items])
    dots = [k for k, i in enumerate(items) if i is Ellipsis]
    if len(dots) > 1:
        raise IndexError(message("x[...]: got more than one Ellipsis", "one", "write ':' for single axes"))
    if used > len(shape):
        raise IndexError(
            message(
                f"x[...]: got {used} indices for an array of shape {shape}",
                f"at most {len(shape)}",
                "check x.ndim, or add an axis with x[..., None]",
            )
        )
    place = dots[0] if dots else len(items)
    items[place : place + len(dots)] = [slice(None)] * (len(shape) - used)
    tokens: list[Token] = []
    axis = 0
    for item in items:
        if item is None:
            tokens.append(New())
        elif isinstance(item, slice):
            tokens.append(_slice(item, axis, shape[axis]))
            axis += 1
        elif item.__class__ is int:
            tokens.append(_integer(item, axis, shape[axis], mode))
            axis += 1
        elif item.dtype == dt.bool_:
            for found in _mask(item, axis, shape):
                tokens.append(found)
            axis += item.ndim
        else:
            tokens.append(_array(item, axis, shape[axis], mode))
            axis += 1
    return tokens


def _plain(item: Any) -> Any:
    """One item as None, Ellipsis, a slice, a Python int, an np.ndarray or a Value of integers or bools."""
    if item is None or item is Ellipsis or item.__class__ is int or isinstance(item, slice):
        return item
    if isinstance(item, Value):
        if item.aval.dtype not in dt.INTEGERS | dt.BOOLS:
            raise IndexError(
                message(f"x[i]: got i of {describe(item)}", "integers, booleans, slices, None, ...", "i.astype(int)")
            )
        return item
    if isinstance(item, (bool, np.bool_)):
        return np.asarray(item)
    if isinstance(item, (list, tuple, np.ndarray)):
        if not isinstance(item, np.ndarray) and _holds_values(item):
            return _stacked(item)
        array = host_array(item, "x[i]", "i")
        if array.size == 0 and not isinstance(item, np.ndarray):
            array = array.astype(np.int64)
        if array.dtype.kind not in "iub":
            raise IndexError(
                message(f"x[i]: got i of dtype {array.dtype}", "integers, booleans, slices, None, ...", "i.astype(int)")
            )
        return array
    try:
        return operator.index(item)
    except TypeError:
        raise IndexError(
            message(
                f"x[i]: got {item!r} of type {type(item).__name__}",
                "integers, slices, ..., None, arrays of integers or booleans",
                "int(i), or fnp.asarray(i)",
            )
        ) from None


def _holds_values(items: Any) -> bool:
    return any([isinstance(i, Value) or isinstance(i, (list, tuple)) and _holds_values(i) for i in items])


def _stacked(items: Any) -> Any:
    """A list or tuple that holds arrays or tracers, as one index array."""
    parts = [
        _stacked(i) if isinstance(i, (list, tuple)) else i if isinstance(i, Value) else from_numpy(np.asarray(i)) for i in items
    ]
    return concatenate(*[expand_dims(ew.convert(p, dt.int64), dimensions=(0,)) for p in parts], dimension=0)


def _axes_used(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, slice) or item.__class__ is int:
        return 1
    return item.ndim if item.dtype == dt.bool_ else 1


def _slice(item: slice, axis: int, n: int) -> Whole:
    bounds = [b if b is None or b.__class__ is int else _bound(b) for b in (item.start, item.stop, item.step)]
    if bounds[2] == 0:
        raise ValueError(message("x[a:b:0]: got a slice with step 0", "a step that is not 0", "x[a:b]"))
    start, stop, step = slice(*bounds).indices(n)
    count = len(range(start, stop, step))
    if step > 0:
        return Whole(axis, start if count else 0, count, step, False)
    return Whole(axis, start + (count - 1) * step if count else 0, count, -step, True)


def _bound(bound: Any) -> int:
    if isinstance(bound, Tracer) and bound.concrete() is None:
        raise ConcretizationTypeError(
            bound,
            "a slice x[a:b] has a length that must be known while tracing; lax.dynamic_slice(x, (a,), (length,)) starts anywhere",
        )
    known: Any = bound
    try:
        return operator.index(known)
    except TypeError:
        came = f"x[a:b:c]: got {describe(bound)} in a slice"
        raise UsageError(message(came, "integers, or None", "x[int(a):int(b)]")) from None


def _integer(i: int, axis: int, n: int, mode: str) -> Token:
    if -n <= i < n:
        return Fixed(axis, i + n if i < 0 else i)
    if mode == "raise":
        raise IndexError(out_of_range(i, axis, n))
    return Gathered(axis, np.asarray(i + n if i < 0 else i))


def out_of_range(i: int, axis: int, n: int) -> str:
    """The text of the IndexError for a known index."""
    allowed = f"{-n} to {n - 1}" if n else "no index: the axis is empty"
    return message(
        f"index {i} is out of range for axis {axis} with size {n}",
        allowed,
        "x.at[i].get(mode='clip') or mode='fill' to allow others, x.at[i].set(v, mode='drop') to leave them out",
    )


def _mask(mask: Any, axis: int, shape: tuple[int, ...]) -> list[Token]:
    """A boolean array as the integer arrays of its True places; without axes it is a new axis of extent 0 or 1."""
    if isinstance(mask, Value):
        known = mask.concrete() if isinstance(mask, Tracer) else mask
        if known is None:
            raise NonConcreteBooleanIndexError(mask)
        mask = np.asarray(known)
    if mask.ndim == 0:
        return [New(), Gathered(-1, np.zeros(int(mask), np.int64))]
    own = shape[axis : axis + mask.ndim]
    # As in NumPy, an extent of 0 fits too: such a mask picks nothing.
    if len(own) != mask.ndim or any([m not in (n, 0) for m, n in zip(mask.shape, own)]):
        raise IndexError(
            message(
                f"x[mask]: got a boolean mask of shape {mask.shape} for axes of shape {own}",
                "a mask of the shape of the axes that it stands for",
                "fnp.broadcast_to(mask, x.shape)",
            )
        )
    return [Gathered(axis + k, places) for k, places in enumerate(np.nonzero(mask))]


def _array(index: Any, axis: int, n: int, mode: str) -> Token:
    if isinstance(index, np.ndarray):
        if index.ndim == 0:
            return _integer(int(index), axis, n, mode)
        index = index.astype(np.int64)
        if mode == "raise" and index.size:
            low, high = index.min(), index.max()
            if low < -n or high >= n:
                raise IndexError(out_of_range(int(low if low < -n else high), axis, n))
        return Gathered(axis, np.where(index < 0, index + n, index))
    d = index.aval.dtype
    if d in dt.UNSIGNED:
        return Gathered(axis, index if d == dt.uint64 else ew.convert(index, dt.int64))
    if d.itemsize < 4 or n >= 2**31 and d.itemsize < 8:
        index, d = ew.convert(index, dt.int64), dt.int64
    if mode == "wrap":
        return Gathered(axis, index)
    return Gathered(axis, ew.select_n(ew.lt(index, d.type(0)), index, ew.add(index, d.type(n))))


# --- reading ----------------------------------------------------------------------------------------------------------------


def read(x: Value, index: Any) -> Any:
    """x[index]"""
    if index.__class__ is int and x.aval.ndim:
        token = _integer(index, 0, x.aval.shape[0], config.index_mode)
        if token.__class__ is Fixed:
            return _row(x, token.at)  # type: ignore[union-attr]
    return read_with(x, index, config.index_mode, None)


def _row(x: Value, i: int) -> Any:
    shape = x.aval.shape
    rest = len(shape) - 1
    if shape[0] != 1:
        x = slice_(x, start_indices=(i,) + (0,) * rest, limit_indices=(i + 1, *shape[1:]), strides=(1,) * (rest + 1))
    return squeeze(x, dimensions=(0,))


def read_with(x: Value, index: Any, mode: str, fill_value: Any) -> Any:
    """x[index] with a canonical mode."""
    shape = x.aval.shape
    tokens = parse(index, shape, mode)
    x = _views(x, tokens)
    if not any([t.__class__ is Gathered for t in tokens]):
        return x
    return _gather(x, [t for t in tokens if t.__class__ is not Fixed], _place(tokens), mode, fill_value)


def _views(x: Value, tokens: list[Token]) -> Any:
    """Slices, reversals, fixed integers and new axes; index arrays leave their axis as it is."""
    shape = x.aval.shape
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    reversed_axes, dropped, new = [], [], []
    changed = False
    position = 0
    for t in tokens:
        if t.__class__ is Whole:
            _, start, count, step, back = t  # type: ignore[misc]
            axis = t.axis  # type: ignore[union-attr]
            if count != shape[axis]:
                starts[axis], strides[axis] = start, step
                limits[axis] = start + (count - 1) * step + 1 if count else start
                changed = True
            if back and count > 1:
                reversed_axes.append(axis)
        elif t.__class__ is Fixed:
            axis, at = t  # type: ignore[misc]
            if shape[axis] != 1:
                starts[axis], limits[axis] = at, at + 1
                changed = True
            dropped.append(axis)
            continue
        elif t.__class__ is New:
            new.append(position)
        elif t.axis < 0:  # type: ignore[union-attr]
            continue  # it indexes the new axis before it
        position += 1
    out: Any = x
    if changed:
        out = slice_(out, start_indices=tuple(starts), limit_indices=tuple(limits), strides=tuple(strides))
    if reversed_axes:
        out = rev(out, dimensions=tuple(reversed_axes))
    if dropped:
        out = squeeze(out, dimensions=tuple(dropped))
    return expand_dims(out, dimensions=tuple(new)) if new else out


def _place(tokens: Sequence[Token]) -> int:
    """Among the axes that are no index arrays': where the arrays' axes go."""
    advanced = [k for k, t in enumerate(tokens) if t.__class__ in (Gathered, Fixed)]
    # The new axis of a mask without axes belongs to its index.
    for k, t in enumerate(tokens):
        if t.__class__ is Gathered and t.axis < 0:  # type: ignore[union-attr]
            advanced.append(k - 1)
    advanced.sort()
    if advanced[-1] - advanced[0] + 1 != len(advanced):
        return 0
    return sum([t.__class__ in (Whole, New) and k not in advanced for k, t in enumerate(tokens[: advanced[0]])])


def _gather(x: Any, tokens: list[Token], place: int, mode: str, fill_value: Any) -> Any:
    """The gather that the index arrays among the tokens ask for; the tokens stand for the axes of x in order."""
    axes, indices, windows = [], [], []
    position = 0
    for k, t in enumerate(tokens):
        if t.__class__ is Gathered:
            if t.axis < 0:  # type: ignore[union-attr]
                continue
            axes.append(position)
            indices.append(t.index)  # type: ignore[union-attr]
        elif k + 1 < len(tokens) and tokens[k + 1].__class__ is Gathered and tokens[k + 1].axis < 0:  # type: ignore[union-attr]
            axes.append(position)
            indices.append(tokens[k + 1].index)  # type: ignore[union-attr]
        else:
            windows.append(position)
        position += 1
    shape = x.aval.shape
    indices, mode = safe_indices(indices, [shape[a] for a in axes], mode)
    places = broadcast_shapes_of([i.shape for i in indices], "x[i, j]")
    numbers = GatherDimensionNumbers(
        offset_dims=tuple([k for k in range(len(windows) + len(places)) if not place <= k < place + len(places)]),
        collapsed_slice_dims=tuple(axes),
        start_index_map=tuple(axes),
    )
    sizes = tuple([1 if a in axes else n for a, n in enumerate(shape)])
    return gather(x, together(indices, places), dimension_numbers=numbers, slice_sizes=sizes, mode=mode, fill_value=fill_value)


def read_lines(x: Value, places: Value, axis: int, mode: str, fill_value: Any) -> Any:
    """x along `axis` at the places of an integer array, which has x's extents on the other axes and goes along with it there."""
    token: Any = _array(places, axis, x.aval.shape[axis], mode)
    (index,), mode = safe_indices([token.index], [x.aval.shape[axis]], mode)
    rank = x.aval.ndim
    others = tuple([k for k in range(rank) if k != axis])
    return gather(
        x,
        expand_dims(index, dimensions=(rank,)),
        dimension_numbers=GatherDimensionNumbers((), (axis,), (axis,), others, others),
        slice_sizes=(1,) * rank,
        mode=mode,
        fill_value=fill_value,
    )


def safe_indices(indices: list[Any], extents: list[int], mode: str) -> tuple[list[Any], str]:
    """Index arrays and a mode that the primitives know ("wrap" is arithmetic here; what is known and checked needs no check)."""
    if mode == "wrap":
        return [_wrapped(i, max(n, 1)) for i, n in zip(indices, extents)], "promise_in_bounds"
    if mode == "raise" and all([isinstance(i, np.ndarray) for i in indices]):
        return indices, "promise_in_bounds"
    return indices, mode


def _wrapped(index: Any, n: int) -> Any:
    if isinstance(index, np.ndarray):
        return np.asarray(index % n)
    d = index.aval.dtype
    left = ew.rem(index, d.type(n))
    return left if d in dt.UNSIGNED else ew.select_n(ew.lt(left, d.type(0)), left, ew.add(left, d.type(n)))


def together(indices: list[Any], places: tuple[int, ...]) -> Any:
    """Index arrays, repeated to one shape, as one array of index vectors: along a new last axis."""
    if all([isinstance(i, np.ndarray) for i in indices]):
        return from_numpy(np.stack([np.broadcast_to(i, places) for i in indices], -1), copy=False)
    values = [from_numpy(i) if isinstance(i, np.ndarray) else i for i in indices]
    kinds = {v.aval.dtype for v in values}
    if len(kinds) > 1:
        values = [ew.convert(v, dt.int64) for v in values]
    values = [expand_dims(broadcast_value(v, places), dimensions=(len(places),)) for v in values]
    return values[0] if len(values) == 1 else concatenate(*values, dimension=len(places))


# --- where updates go ---------------------------------------------------------------------------------------------------------


class Target(NamedTuple):
    """How an update of `x.at[index]` becomes a scatter."""

    result: tuple[int, ...]  # the shape of x[index], which updates broadcast to
    squeezed: tuple[int, ...]  # axes of it that are new (None)
    reversed: tuple[int, ...]  # axes left that run backwards
    indices: Any  # index vectors
    windows: tuple[int, ...]  # axes of the updates that are windows
    inserted: tuple[int, ...]  # axes of x without a window
    named: tuple[int, ...]  # the axis of x that each index moves along
    mode: str


def target(shape: tuple[int, ...], index: Any, mode: str) -> Target:
    """The scatter that writes x[index] for an x of this shape. Contiguous slices are windows; strided ones become index
    arrays."""
    tokens = parse(index, shape, mode)
    arrays = [t for t in tokens if t.__class__ is Gathered]
    block = broadcast_shapes_of([t.index.shape for t in arrays], "x.at[i, j]") if arrays else ()  # type: ignore[union-attr]
    place = _place(tokens) if arrays else -1
    axes: list[Any] = []  # of the result: ("window" | "stride" | "new", token) or ("block", k)
    for k, t in enumerate(tokens):
        if t.__class__ is Whole:
            whole = t.count == shape[t.axis] or t.step == 1 or t.count <= 1  # type: ignore[union-attr]
            axes.append(("window" if whole else "stride", t))
        elif t.__class__ is New:
            following = tokens[k + 1] if k + 1 < len(tokens) else None
            if not (following.__class__ is Gathered and following.axis < 0):  # type: ignore[union-attr]
                axes.append(("new", t))
    if arrays:
        axes[place:place] = [("block", k) for k in range(len(block))]
    result: Any = tuple([block[t] if kind == "block" else 1 if kind == "new" else t.count for kind, t in axes])
    squeezed = tuple([k for k, (kind, _) in enumerate(axes) if kind == "new"])
    axes = [a for a in axes if a[0] != "new"]
    reversed_axes = tuple([k for k, (kind, t) in enumerate(axes) if kind in ("window", "stride") and t.reversed])
    places = [(kind, t) for kind, t in axes if kind in ("block", "stride")]
    extents: Any = tuple([block[t] if kind == "block" else t.count for kind, t in places])
    named, inserted, indices = [], [], []
    block_dims = tuple([k for k, (kind, _) in enumerate(places) if kind == "block"])
    for t in tokens:
        if t.__class__ is Gathered and t.axis >= 0:  # type: ignore[union-attr]
            named.append(t.axis)  # type: ignore[union-attr]
            inserted.append(t.axis)  # type: ignore[union-attr]
            indices.append(("block", t.index))  # type: ignore[union-attr]
        elif t.__class__ is Fixed:
            named.append(t.axis)  # type: ignore[union-attr]
            inserted.append(t.axis)  # type: ignore[union-attr]
            indices.append(("all", np.asarray(t.at)))  # type: ignore[union-attr]
        elif t.__class__ is Whole:
            at = [k for k, (kind, p) in enumerate(places) if kind == "stride" and p is t]
            if at:
                named.append(t.axis)  # type: ignore[union-attr]
                inserted.append(t.axis)  # type: ignore[union-attr]
                indices.append((at[0], np.arange(t.count) * t.step + t.start))  # type: ignore[union-attr]
            elif t.count != shape[t.axis]:  # type: ignore[union-attr]
                named.append(t.axis)  # type: ignore[union-attr]
                indices.append(("all", np.asarray(t.start)))  # type: ignore[union-attr]
    known, mode = safe_indices([i for _, i in indices], [shape[a] for a in named], mode)
    spread = [_along(i, kind, extents, block_dims) for (kind, _), i in zip(indices, known)]
    vectors = together(spread, extents) if spread else from_numpy(np.zeros((*extents, 0), np.int64))
    windows = tuple([k for k, (kind, _) in enumerate(axes) if kind == "window"])
    return Target(result, squeezed, reversed_axes, vectors, windows, tuple(sorted(inserted)), tuple(named), mode)


def _along(index: Any, kind: Any, extents: tuple[int, ...], block_dims: tuple[int, ...]) -> Any:
    """An index array repeated over the places of the updates: along the block's axes, one strided axis, or all alike."""
    if kind == "all":
        return np.broadcast_to(index, extents)
    if index.shape == extents:
        return index
    dims = block_dims[len(block_dims) - index.ndim :] if kind == "block" else (kind,)
    if isinstance(index, np.ndarray):
        shape = [1] * len(extents)
        for d, n in zip(dims, index.shape):
            shape[d] = n
        return np.broadcast_to(index.reshape(shape), extents)
    return broadcast_in_dim(index, shape=extents, dims=tuple(dims))
