"""Collectives: operators over a named axis, whose elements lie in several lanes (of a vmap; of the processes of a runtime).

Each takes one operand, and speaks of one axis: params `axis_name`, `axis_size`, and `groups` (tuples of lane numbers that
partition the axis into groups of one size, or None for one group of all). Each lane gives its operand, and gets its result:

    psum, pmax, pmin     the sum, largest, smallest over the lanes of the group
    all_gather           the operands of the group, in its order, stacked at a new axis `axis` (or joined along it: `tiled`)
    psum_scatter         the sum over the group, cut along `axis`: lane k of the group gets piece k
    all_to_all           the operand cut along `split_axis`; lane k gets piece k of every lane, joined along `concat_axis`
    ppermute             for (source, target) in `perm`: lane `target` gets the operand of lane `source`; others zeros
    axis_index           the number of the lane

That is what they mean, and their derivatives follow from it alone. How they run is said by whoever binds the name: for vmap the
lanes are an axis of an array, and the rule `local` of each operator is its meaning there, on the whole axis at once.
Tangents and cotangents live on the lanes as values do: transposes are those of the map from all lanes to all lanes.
"""

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.ir.loop_rules import Host
from funcgrad.ir.primitive import LinearArg, register
from funcgrad.ops._family import batch_at, broadcast_batch, like, move_dim, reduce_sum, reshape, zeros
from funcgrad.ops.arithmetic import div
from funcgrad.ops.compare import eq
from funcgrad.ops.convert import convert
from funcgrad.ops.reduce import reduce_max, reduce_min
from funcgrad.ops.select import select_n
from funcgrad.ops.shape import concatenate, iota, rev, slice_
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of
from funcgrad.transforms.vmap import Axis

Groups = tuple[tuple[int, ...], ...] | None


def group_size(axis_size: int, groups: Groups) -> int:
    """How many lanes speak with each other."""
    return axis_size if groups is None else len(groups[0])


# --- lanes as the leading axis of an array ----------------------------------------------------------------------------


def rows(x: Any, numbers: Sequence[int | None]) -> Any:
    """The rows of `x` with these numbers, one after another, zeros for None: as few strided slices as a walk finds."""
    aval = aval_of(x)
    pieces, start = [], 0
    while start < len(numbers):
        first, stop = numbers[start], start + 1
        if first is None:
            while stop < len(numbers) and numbers[stop] is None:
                stop += 1
            pieces.append(zeros(shaped((stop - start, *aval.shape[1:]), aval.dtype)))
        else:
            after = numbers[stop] if stop < len(numbers) else None
            step = 1 if after is None or after == first else after - first
            while stop < len(numbers) and numbers[stop] == first + step * (stop - start):
                stop += 1
            pieces.append(_progression(x, first, step, stop - start))
        start = stop
    return concatenate(*pieces, dimension=0) if len(pieces) > 1 else pieces[0]


def _progression(x: Any, first: int, step: int, count: int) -> Any:
    """Rows first, first + step, ..., `count` of them."""
    shape = aval_of(x).shape
    if (first, step, count) == (0, 1, shape[0]):
        return x
    low, by = (first, step) if step > 0 else (first + step * (count - 1), -step)
    rest = len(shape) - 1
    out = slice_(
        x,
        start_indices=(low,) + (0,) * rest,
        limit_indices=(low + by * (count - 1) + 1, *shape[1:]),
        strides=(by,) + (1,) * rest,
    )
    return out if step > 0 else rev(out, dimensions=(0,))


def by_group(x: Any, groups: Groups) -> Any:
    """(lanes, ...) -> (groups, lanes of a group, ...)."""
    aval = aval_of(x)
    if groups is None:
        return reshape(x, shape=(1, *aval.shape))
    ordered = rows(x, [lane for group in groups for lane in group])
    return reshape(ordered, shape=(len(groups), len(groups[0]), *aval.shape[1:]))


def from_groups(x: Any, groups: Groups) -> Any:
    """(groups, lanes of a group, ...) -> (lanes, ...)."""
    aval = aval_of(x)
    flat = reshape(x, shape=(aval.shape[0] * aval.shape[1], *aval.shape[2:]))
    return flat if groups is None else rows(flat, _inverse([lane for group in groups for lane in group]))


def _inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


def to_each_lane(x: Any, groups: Groups) -> Any:
    """(groups, ...) -> (lanes, ...): what a group made, to all of its lanes. With one group: the value that all share."""
    if groups is None:
        return x
    return from_groups(broadcast_batch(x, len(groups[0]), 1), groups)


# --- the family -------------------------------------------------------------------------------------------------------


def collective(
    name: str,
    *,
    abstract: Callable[..., ShapedArray],
    local: Callable[..., Any],
    beside: Callable[..., Any],
    jvp: Callable[..., Any] | None = None,
    transpose: Callable[..., Any] | str,
    dtypes: frozenset = dt.ANY,
    doc: str,
) -> Operator:
    """An operator over a named axis, of one operand.

    `local(x, axis_size, **params)` is its meaning on the lanes (x has them at axis 0): the result with the lanes at axis 0, or
    with shared=True in a pair (result, True) the one value that all lanes get. `beside(**params)` gives the params for operands
    that have a further axis in front. `transpose(ct, aval, **params)` is the cotangent of the operand, a lane. Without a `jvp` it
    is linear; else `jvp(t, out, x, **params)`.
    """

    def jvp_rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (x,), (t,) = primals, tangents
        out = op(x, **params)
        if t is None or aval_of(out).dtype not in dt.INEXACT:
            return out, None
        return out, op(t, **params) if jvp is None else jvp(t, out, x, **params)

    def transpose_rule(ct: Any, x: LinearArg, **params: Any) -> list[Any]:
        return [transpose(ct, x.aval, **params)]  # type: ignore[operator]

    def other_axis(size: int, args: Sequence[Any], dims: Sequence[int | None], /, **params: Any) -> Any:
        return op(move_dim(args[0], dims[0], 0), **beside(**params)), 0  # type: ignore[arg-type]

    def named_axis(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], /, **params: Any) -> Any:
        if params["axis_name"] != axis.name:
            return other_axis(axis.size, args, dims, **params)
        given = {k: v for k, v in params.items() if k != "axis_name"}
        x = batch_at(args[0], dims[0], axis.size)
        aval = aval_of(x)
        abstract(shaped(aval.shape[1:], aval.dtype), **params)  # whether a lane may say this
        out, shared = local(x, **given)
        return out, None if shared else 0

    op = Operator(
        name,
        abstract=abstract,
        numpy=_unbound(name),
        jvp=jvp_rule,
        transpose=transpose if isinstance(transpose, str) else transpose_rule,
        batch=other_axis,
        batch_named=named_axis,
        loop=Host(),
        dtypes=dtypes,
        samples="it runs on several lanes: tests/lax/test_collectives.py",
        doc=doc,
    )
    return register(op)  # type: ignore[return-value]


def _unbound(name: str) -> Callable[..., Any]:
    """There are no lanes where a single value is computed."""

    def meaning(*arrays: Any, axis_name: Any, **params: Any) -> Any:
        raise UsageError(
            message(
                f"{name}: axis {axis_name!r} is not bound where the program runs",
                "programs that speak of a named axis run under what binds it",
                f"vmap(f, axis_name={axis_name!r})",
            )
        )

    return meaning


def _same(**params: Any) -> dict[str, Any]:
    return params


def _shifted(*which: str) -> Callable[..., dict[str, Any]]:
    """These params are positions of axes: one further with an axis in front."""
    return lambda **params: params | {k: params[k] + 1 for k in which}


# --- sums, extrema ----------------------------------------------------------------------------------------------------


def _reduced(fold: Operator) -> Callable[..., Any]:
    def local(x: Any, *, axis_size: int, groups: Groups) -> Any:
        if groups is None:
            return fold(x, axes=(0,)), True
        return to_each_lane(fold(by_group(x, groups), axes=(1,)), groups), False

    return local


psum = collective(
    "psum",
    abstract=lambda x, **params: x,
    local=_reduced(reduce_sum),
    beside=_same,
    transpose=lambda ct, aval, **params: psum(ct, **params),
    dtypes=dt.NUMBERS,
    doc="the sum over the lanes of a group",
)


def _extremum_jvp(t: Any, out: Any, x: Any, **params: Any) -> Any:
    """Shared equally by all lanes that attain it, as in reduce_max."""
    attained = eq(x, out)
    count = psum(convert(attained, aval_of(t).dtype), **params)
    return div(psum(select_n(attained, like(t, 0), t), **params), count)


pmax = collective(
    "pmax",
    abstract=lambda x, **params: x,
    local=_reduced(reduce_max),
    beside=_same,
    jvp=_extremum_jvp,
    transpose="it is not linear",
    dtypes=dt.BOOLS | dt.REALS,
    doc="the largest over the lanes of a group",
)
pmin = collective(
    "pmin",
    abstract=lambda x, **params: x,
    local=_reduced(reduce_min),
    beside=_same,
    jvp=_extremum_jvp,
    transpose="it is not linear",
    dtypes=dt.BOOLS | dt.REALS,
    doc="the smallest over the lanes of a group",
)

# --- gather, scatter --------------------------------------------------------------------------------------------------


def check_axis(name: str, aval: ShapedArray, what: str, axis: int, divides: int | None = None, exact: bool = False) -> None:
    """ShapeError unless `axis` is one of the operand's, and its extent fits the number of lanes."""
    if not 0 <= axis < aval.ndim:
        raise ShapeError(
            message(f"{name}: got {what}={axis} for {aval.str_short()}", f"axes from 0 to {aval.ndim - 1}", f"mend {what}=")
        )
    extent = aval.shape[axis]
    if divides is not None and (extent != divides if exact else extent % divides):
        rule = f"an extent of {divides}, the number of lanes" if exact else f"an extent that {divides} lanes divide"
        raise ShapeError(
            message(
                f"{name}: {what}={axis} of {aval.str_short()} has extent {extent}",
                rule,
                "pass tiled=True for pieces of several elements" if exact else "pad or reshape the operand",
            )
        )


def _all_gather_abstract(
    x: ShapedArray, *, axis_name: Any, axis_size: int, groups: Groups, axis: int, tiled: bool
) -> ShapedArray:
    n = group_size(axis_size, groups)
    check_axis("all_gather", x if tiled else shaped((*x.shape, 1), x.dtype), "axis", axis)
    if tiled:
        shape = (*x.shape[:axis], n * x.shape[axis], *x.shape[axis + 1 :])
    else:
        shape = (*x.shape[:axis], n, *x.shape[axis:])
    return shaped(shape, x.dtype, x.weak_type)


def _merged(x: Any, axis: int) -> Any:
    """Axes `axis` and `axis + 1` as one."""
    shape = aval_of(x).shape
    return reshape(x, shape=(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def _cut(x: Any, axis: int, n: int) -> Any:
    """Axis `axis` as n pieces: an axis of n, and one within a piece."""
    shape = aval_of(x).shape
    return reshape(x, shape=(*shape[:axis], n, shape[axis] // n, *shape[axis + 1 :]))


def _all_gather_local(x: Any, *, axis_size: int, groups: Groups, axis: int, tiled: bool) -> Any:
    if groups is None:
        out = move_dim(x, 0, axis)
        return _merged(out, axis) if tiled else out, True
    out = move_dim(by_group(x, groups), 1, axis + 1)
    return to_each_lane(_merged(out, axis + 1) if tiled else out, groups), False


all_gather = collective(
    "all_gather",
    abstract=_all_gather_abstract,
    local=_all_gather_local,
    beside=_shifted("axis"),
    transpose=lambda ct, aval, **params: psum_scatter(ct, **params),
    doc="the operands of the lanes of a group, stacked at (or joined along) an axis",
)


def _psum_scatter_abstract(
    x: ShapedArray, *, axis_name: Any, axis_size: int, groups: Groups, axis: int, tiled: bool
) -> ShapedArray:
    n = group_size(axis_size, groups)
    check_axis("psum_scatter", x, "scatter_dimension", axis, n, exact=not tiled)
    piece = (x.shape[axis] // n,) if tiled else ()
    return shaped((*x.shape[:axis], *piece, *x.shape[axis + 1 :]), x.dtype, x.weak_type)


def _psum_scatter_local(x: Any, *, axis_size: int, groups: Groups, axis: int, tiled: bool) -> Any:
    sums = reduce_sum(by_group(x, groups), axes=(1,))  # (groups, ...), the operand's axis k at k + 1
    if tiled:
        sums = _cut(sums, axis + 1, group_size(axis_size, groups))
    return from_groups(move_dim(sums, axis + 1, 1), groups), False


psum_scatter = collective(
    "psum_scatter",
    abstract=_psum_scatter_abstract,
    local=_psum_scatter_local,
    beside=_shifted("axis"),
    transpose=lambda ct, aval, **params: all_gather(ct, **params),
    dtypes=dt.NUMBERS,
    doc="the sum over the lanes of a group, of which each lane gets its piece",
)

# --- exchange ---------------------------------------------------------------------------------------------------------


def _all_to_all_abstract(
    x: ShapedArray, *, axis_name: Any, axis_size: int, groups: Groups, split_axis: int, concat_axis: int
) -> ShapedArray:
    n = group_size(axis_size, groups)
    check_axis("all_to_all", x, "split_axis", split_axis, n)
    check_axis("all_to_all", x, "concat_axis", concat_axis)
    shape = list(x.shape)
    shape[split_axis] //= n
    shape[concat_axis] *= n
    return shaped(tuple(shape), x.dtype, x.weak_type)


def _all_to_all_local(x: Any, *, axis_size: int, groups: Groups, split_axis: int, concat_axis: int) -> Any:
    x = by_group(x, groups)  # (groups, sources, ...)
    x = _cut(x, split_axis + 2, group_size(axis_size, groups))
    x = move_dim(x, split_axis + 2, 1)  # (groups, targets, sources, ...)
    x = move_dim(x, 2, concat_axis + 2)
    return from_groups(_merged(x, concat_axis + 2), groups), False


def _all_to_all_transpose(ct: Any, aval: ShapedArray, *, split_axis: int, concat_axis: int, **params: Any) -> Any:
    return all_to_all(ct, split_axis=concat_axis, concat_axis=split_axis, **params)


all_to_all = collective(
    "all_to_all",
    abstract=_all_to_all_abstract,
    local=_all_to_all_local,
    beside=_shifted("split_axis", "concat_axis"),
    transpose=_all_to_all_transpose,
    doc="pieces of the operand exchanged among the lanes of a group",
)


def _ppermute_local(x: Any, *, axis_size: int, perm: tuple[tuple[int, int], ...]) -> Any:
    source = {target: s for s, target in perm}
    return rows(x, [source.get(lane) for lane in range(axis_size)]), False


ppermute = collective(
    "ppermute",
    abstract=lambda x, **params: x,
    local=_ppermute_local,
    beside=_same,
    transpose=lambda ct, aval, perm, **params: ppermute(ct, perm=tuple([(t, s) for s, t in perm]), **params),
    doc="operands sent from lane to lane; zeros where nothing is sent",
)


# --- the number of the lane -------------------------------------------------------------------------------------------


def _axis_index_named(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, axis_name: Any, axis_size: int) -> Any:
    return iota(dtype=dt.int32, shape=(axis_size,), dimension=0), 0


axis_index = register(
    Operator(
        "axis_index",
        abstract=lambda *, axis_name, axis_size: shaped((), dt.int32),
        numpy=_unbound("axis_index"),
        jvp="it has no operand",
        transpose="it has no operand",
        batch="it has no operand",
        batch_named=_axis_index_named,
        loop=Host(),
        dtypes=dt.INTEGERS,
        samples="it runs on several lanes: tests/lax/test_collectives.py",
        doc="the number of the lane along a named axis",
    )
)
