"""Collectives under JAX's names: operators that speak over named axes, bound by `vmap(..., axis_name=...)`.

In: pytrees, and the name of an axis or a sequence of names (the first is the slowest). Out: pytrees. Here names are looked up and
several names become one after another; what the operators mean is in `transforms/collective.py`.
"""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.bridge.flat import as_values
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ShapeError, UnboundAxisError, UsageError, asked_at, message
from funcgrad.core.pytree import tree_flatten, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.lax.slices import dynamic_index_in_dim
from funcgrad.numpy._axes import static_int
from funcgrad.ops._family import add, like, move_dim, reduce_sum, reshape
from funcgrad.ops.arithmetic import div, mul
from funcgrad.ops.convert import convert
from funcgrad.ops.reduce import reduce_max, reduce_min
from funcgrad.trace.interpreter import current
from funcgrad.transforms import collective as ops

__all__ = [
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "psum",
    "psum_scatter",
    "pswapaxes",
]

# --- names ------------------------------------------------------------------------------------------------------------


def _names(axis_name: Any) -> tuple[Any, ...]:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def _size(name: str, axis: Any) -> int:
    """The size of a named axis."""
    bound = current().axes
    for known, size in bound:
        if known == axis:
            return size
    listed = ", ".join([f"{known!r} ({size})" for known, size in bound]) or "none"
    raise UnboundAxisError(
        message(
            f"{name}: axis {axis!r} is not bound; bound are {listed}{asked_at()}",
            "names of axes that an enclosing vmap binds",
            f"vmap(f, axis_name={axis!r}), or make_jaxpr(f, axis_env=[({axis!r}, size)]) to look at the program",
        )
    )


def _groups(name: str, groups: Any, size: int) -> ops.Groups:
    if groups is None:
        return None
    found = tuple([tuple([operator.index(lane) for lane in group]) for group in groups])
    if sorted([lane for group in found for lane in group]) != list(range(size)) or len({len(g) for g in found}) != 1:
        raise UsageError(
            message(
                f"{name}: got axis_index_groups={groups!r} for an axis of size {size}",
                f"each of 0 to {size - 1} once, in groups of one size",
                "mend axis_index_groups=",
            )
        )
    return found


def _one(name: str, axes: Sequence[Any], groups: Any) -> None:
    if groups is not None and len(axes) != 1:
        raise UsageError(
            message(f"{name}: got axis_index_groups with the axes {tuple(axes)}", "one axis with groups", "name one axis")
        )


def _each(name: str, x: Any, fun: Callable[[Any], Any]) -> Any:
    leaves, tree = tree_flatten(x)
    return tree_unflatten(tree, [fun(v) for v in as_values(name, leaves, x)])


def _axis(name: str, what: str, axis: Any, ndim: int) -> int:
    number = static_int(axis, f"lax.{name}", what)
    if not -ndim <= number < ndim:
        raise ShapeError(
            message(f"{name}: got {what}={axis} for {ndim} axes", f"axes from {-ndim} to {ndim - 1}", f"mend {what}=")
        )
    return number % ndim


# --- sums, extrema ----------------------------------------------------------------------------------------------------


def _reduce(name: str, op: Any, fold: Any, x: Any, axis_name: Any, axis_index_groups: Any) -> Any:
    axes = _names(axis_name)
    _one(name, axes, axis_index_groups)
    # Names that are integers are axes of the operand itself.
    positions = [a for a in axes if isinstance(a, int)]
    named = [(a, _size(name, a)) for a in axes if not isinstance(a, int)]

    def one(v: Any) -> Any:
        if op is ops.psum and v.aval.dtype == dt.bool_:
            v = convert(v, dt.int32)
        if positions:
            v = fold(v, axes=tuple(sorted([_axis(name, "axis", a, v.aval.ndim) for a in positions])))
        for axis, size in reversed(named):
            v = op(v, axis_name=axis, axis_size=size, groups=_groups(name, axis_index_groups, size))
        return v

    return _each(name, x, one)


@api_boundary
def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The sum of `x` (a pytree) over a named axis, the same for all of its lanes. bool is counted as int32.

    axis_index_groups: lists of lane numbers, of one length, that together name each lane once: sums within each group.
    `psum(1, axis_name)` is the size of the axis, a Python int. Raises NameError where the axis is not bound.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> fg.vmap(lambda x: x / fg.lax.psum(x, "i"), axis_name="i")(fnp.array([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    if x.__class__ in (bool, int, float, complex):  # a constant: known while tracing
        return x * _lanes("psum", axis_name, axis_index_groups)
    return _reduce("psum", ops.psum, reduce_sum, x, axis_name, axis_index_groups)


def _lanes(name: str, axis_name: Any, groups: Any) -> int:
    """How many lanes speak with each other."""
    axes = _names(axis_name)
    _one(name, axes, groups)
    return math.prod([ops.group_size(n := _size(name, a), _groups(name, groups, n)) for a in axes])


@api_boundary
def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean of `x` (a pytree) over a named axis; integers become floats. Arguments as for `psum`.

    >>> fg.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(fnp.array([1.0, 3.0]))
    Array([-1.,  1.], dtype=float32)
    """
    if x.__class__ in (bool, int, float, complex):
        return psum(x, axis_name, axis_index_groups=axis_index_groups) / _lanes("pmean", axis_name, axis_index_groups)
    axes, positions = _names(axis_name), [a for a in _names(axis_name) if isinstance(a, int)]
    named = tuple([a for a in axes if not isinstance(a, int)])
    lanes = _lanes("pmean", named, axis_index_groups) if named else 1

    def mean(v: Any) -> Any:
        if v.aval.dtype not in dt.INEXACT:
            v = convert(v, dt.default_float())
        count = lanes * math.prod([v.aval.shape[_axis("pmean", "axis", a, v.aval.ndim)] for a in positions])
        total = psum(v, axis_name, axis_index_groups=axis_index_groups)
        return div(total, like(total, count))

    return _each("pmean", x, mean)


@api_boundary
def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The largest of `x` (a pytree) over a named axis; lanes that attain it share its derivative. Arguments as for `psum`.

    >>> fg.vmap(lambda x: x / lax.pmax(x, "i"), axis_name="i")(fnp.array([1.0, 4.0]))
    Array([0.25, 1.  ], dtype=float32)
    """
    return _reduce("pmax", ops.pmax, reduce_max, x, axis_name, axis_index_groups)


@api_boundary
def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The smallest of `x` (a pytree) over a named axis; lanes that attain it share its derivative. Arguments as for `psum`.

    >>> fg.vmap(lambda x: x - lax.pmin(x, "i"), axis_name="i")(fnp.array([3.0, 4.0]))
    Array([0., 1.], dtype=float32)
    """
    return _reduce("pmin", ops.pmin, reduce_min, x, axis_name, axis_index_groups)


# --- gather, scatter --------------------------------------------------------------------------------------------------


@api_boundary
def all_gather(
    x: Any, axis_name: Any, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False, to: str = "varying"
) -> Any:
    """The values of `x` (a pytree) on all lanes of a named axis, in their order, on every lane.

    axis: where the new axis of the size of the named one stands; with tiled=True the operands are joined along their axis `axis`
    instead. axis_index_groups: as for `psum`, gathers within each group. to: accepted as in JAX; it changes nothing here.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> fg.vmap(lambda x: fg.lax.all_gather(x, "i"), axis_name="i")(fnp.array([1.0, 3.0])).tolist()
    [[1.0, 3.0], [1.0, 3.0]]
    """
    axes = _names(axis_name)
    _one("all_gather", axes, axis_index_groups)
    sizes = [_size("all_gather", a) for a in axes]

    def one(v: Any) -> Any:
        at = _axis("all_gather", "axis", axis, v.aval.ndim + (not tiled))
        for step, (name, size) in enumerate(list(zip(axes, sizes, strict=True))[::-1]):
            groups = _groups("all_gather", axis_index_groups, size)
            v = ops.all_gather(v, axis_name=name, axis_size=size, groups=groups, axis=at, tiled=tiled or step > 0)
        return v

    return _each("all_gather", x, one)


@api_boundary
def psum_scatter(
    x: Any, axis_name: Any, *, scatter_dimension: int = 0, axis_index_groups: Any = None, tiled: bool = False
) -> Any:
    """The sum of `x` (a pytree) over a named axis, of which each lane gets its own piece along `scatter_dimension`.

    That axis has an element for each lane and goes; with tiled=True it has any multiple of their number, and each lane keeps
    a piece. It is `all_gather` transposed. axis_index_groups: as for `psum`.

    >>> x = fnp.array([[1, 2], [10, 20]])  # two lanes, two pieces each
    >>> fg.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(x)
    Array([11, 22], dtype=int64)
    """
    axes = _names(axis_name)
    _one("psum_scatter", axes, axis_index_groups)
    sizes = [_size("psum_scatter", a) for a in axes]

    def one(v: Any) -> Any:
        at = _axis("psum_scatter", "scatter_dimension", scatter_dimension, v.aval.ndim)
        for step, (name, size) in enumerate(zip(axes, sizes, strict=True)):
            groups = _groups("psum_scatter", axis_index_groups, size)
            last = step == len(axes) - 1
            v = ops.psum_scatter(v, axis_name=name, axis_size=size, groups=groups, axis=at, tiled=tiled or not last)
        return v

    return _each("psum_scatter", x, one)


# --- exchange ---------------------------------------------------------------------------------------------------------


@api_boundary
def all_to_all(
    x: Any, axis_name: Any, split_axis: int, concat_axis: int, *, axis_index_groups: Any = None, tiled: bool = False
) -> Any:
    """`x` (a pytree) cut along `split_axis` into a piece for each lane; every lane joins what it gets along `concat_axis`.

    With tiled=False the split axis has an element for each lane and goes, and a new axis at `concat_axis` holds the lanes they
    came from; with tiled=True it keeps a piece, and the pieces are joined along an axis that is there. axis_index_groups: as for
    `psum`. It is its own transpose with the axes exchanged.

    >>> x = fnp.array([[1, 2], [10, 20]])
    >>> fg.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(x)
    Array([[ 1, 10],
           [ 2, 20]], dtype=int64)
    """
    axes = _names(axis_name)
    _one("all_to_all", axes, axis_index_groups)
    sizes = [_size("all_to_all", a) for a in axes]
    lanes = math.prod([ops.group_size(n, _groups("all_to_all", axis_index_groups, n)) for n in sizes])

    def one(v: Any) -> Any:
        ndim = v.aval.ndim
        split, concat = _axis("all_to_all", "split_axis", split_axis, ndim), _axis("all_to_all", "concat_axis", concat_axis, ndim)
        if not tiled:
            ops.check_axis("all_to_all", v.aval, "split_axis", split, lanes, exact=True)
            v = move_dim(v, split, concat)  # where the lanes that it came from will stand
            return _exchange(v, axes, sizes, axis_index_groups, concat, concat)
        return _exchange(v, axes, sizes, axis_index_groups, split, concat)

    return _each("all_to_all", x, one)


def _exchange(v: Any, axes: Sequence[Any], sizes: Sequence[int], groups: Any, split: int, concat: int) -> Any:
    """The tiled exchange; over several axes, one after the other on an axis each that holds its lanes."""
    if len(axes) == 1:
        found = _groups("all_to_all", groups, sizes[0])
        return ops.all_to_all(v, axis_name=axes[0], axis_size=sizes[0], groups=found, split_axis=split, concat_axis=concat)
    shape, lanes = v.aval.shape, math.prod(sizes)
    ops.check_axis("all_to_all", v.aval, "split_axis", split, lanes)
    # The lanes as leading axes, one for each name: there the exchange is of whole elements.
    v = reshape(v, shape=(*shape[:split], lanes, shape[split] // lanes, *shape[split + 1 :]))
    v = move_dim(v, split, 0)
    rest = v.aval.shape[1:]
    v = reshape(v, shape=(*sizes, *rest))
    for k, (name, size) in enumerate(zip(axes, sizes, strict=True)):
        v = ops.all_to_all(v, axis_name=name, axis_size=size, groups=None, split_axis=k, concat_axis=k)
    v = move_dim(reshape(v, shape=(lanes, *rest)), 0, concat)
    return reshape(v, shape=(*rest[:concat], lanes * rest[concat], *rest[concat + 1 :]))


@api_boundary
def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """`x` (a pytree) with the named axis and its own axis `axis`, of the same size, exchanged.

    >>> fg.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(fnp.array([[1, 2], [10, 20]]))
    Array([[ 1, 10],
           [ 2, 20]], dtype=int64)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


@api_boundary
def ppermute(x: Any, axis_name: Any, perm: Any) -> Any:
    """`x` (a pytree) sent along a named axis: for each pair (source, target) of `perm` lane `target` gets lane `source`'s value.

    No lane may send or receive twice; a lane that nobody sends to gets zeros. With several names, lanes are numbered with the
    last name fastest.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> fg.vmap(lambda x: fg.lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(fnp.array([1.0, 2.0, 3.0])).tolist()
    [0.0, 1.0, 2.0]
    """
    axes = _names(axis_name)
    sizes = [_size("ppermute", a) for a in axes]
    lanes = math.prod(sizes)
    try:
        pairs = tuple([(operator.index(s), operator.index(t)) for s, t in perm])
    except (TypeError, ValueError):
        raise UsageError(
            message(f"ppermute: got perm={perm!r}", "(source, target) pairs of positions", "perm=[(0, 1), (1, 2)]")
        ) from None
    for what, numbers in (("source", [s for s, _ in pairs]), ("target", [t for _, t in pairs])):
        if len(set(numbers)) != len(numbers) or any([not 0 <= n < lanes for n in numbers]):
            raise UsageError(
                message(
                    f"ppermute: got perm={list(pairs)} for an axis of size {lanes}",
                    f"each {what} once, from 0 to {lanes - 1}",
                    "mend perm=",
                )
            )
    if len(axes) == 1:
        return _each("ppermute", x, lambda v: ops.ppermute(v, axis_name=axes[0], axis_size=lanes, perm=pairs))
    return _each("ppermute", x, lambda v: _permute_product(v, axes, sizes, pairs))


def _permute_product(v: Any, axes: Sequence[Any], sizes: Sequence[int], pairs: tuple[tuple[int, int], ...]) -> Any:
    """Over several axes: everything is gathered, and each lane takes the row that is meant for it."""
    gathered = all_gather(v, tuple(axes))
    source = {t: s for s, t in pairs}
    sent = ops.rows(gathered, [source.get(lane) for lane in range(math.prod(sizes))])
    return dynamic_index_in_dim(sent, axis_index(tuple(axes)), 0, keepdims=False)


# --- numbers ----------------------------------------------------------------------------------------------------------


@api_boundary
def axis_index(axis_name: Any) -> Any:
    """The number of the lane along a named axis, int32; of several names, with the last one fastest.

    >>> fg.vmap(lambda x: x + 10 * lax.axis_index("i"), axis_name="i")(fnp.array([1, 2, 3]))
    Array([ 1, 12, 23], dtype=int64)
    """
    out: Any = None
    for name in _names(axis_name):
        size = _size("axis_index", name)
        index = ops.axis_index(axis_name=name, axis_size=size)
        out = index if out is None else add(mul(out, np.int32(size)), index)
    return out


@api_boundary
def axis_size(axis_name: Any) -> int:
    """The size of a named axis (of several, their product), a Python int. Raises NameError where the axis is not bound.

    >>> fg.vmap(lambda x: x / lax.axis_size("i"), axis_name="i")(fnp.array([2.0, 4.0]))
    Array([1., 2.], dtype=float32)
    """
    return math.prod([_size("axis_size", name) for name in _names(axis_name)])
