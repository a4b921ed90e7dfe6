"""Reading and writing at computed places: gather, scatter, scatter_add, which are each other's transposes.

Updates are combined one after another, in the order in which they lie in `updates`; of several that a plain `scatter`
writes to one place the last one stays, and it alone gets a cotangent.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import DtypeError, ShapeError, message
from funcgrad.ir.loop_rules import Indexed, Scatter
from funcgrad.ir.primitive import LinearArg, Placed, register
from funcgrad.ops._family import batch_at, full, move_dim, reshape, zeros
from funcgrad.ops._indexing import (
    GatherDimensionNumbers,
    ScatterDimensionNumbers,
    check_numbers,
    gather_loop,
    gather_numpy,
    gather_shape,
    layout,
    scatter_loop,
    scatter_numpy,
)
from funcgrad.ops._samples import uniform
from funcgrad.ops.compare import eq, ne
from funcgrad.ops.convert import convert
from funcgrad.ops.select import select_n
from funcgrad.ops.shape import iota
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of

_draw = uniform(-9, 9)


def _up(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([a + 1 for a in axes])


# --- gather ---------------------------------------------------------------------------------------------------


def _gather_abstract(
    operand: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    mode: str,
    fill_value: Any = None,
) -> ShapedArray:
    check_numbers("gather", dimension_numbers, (operand, indices), mode)
    return shaped(gather_shape(operand, indices, dimension_numbers, slice_sizes), operand.dtype, operand.weak_type)


def _gather_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    operand, indices = primals
    t = tangents[0]
    out = gather(operand, indices, **params)
    if t is None or aval_of(out).dtype not in dt.INEXACT:
        return out, None
    return out, gather(t, indices, **(params | {"fill_value": 0}))


def as_scatter(numbers: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    return ScatterDimensionNumbers(*numbers)


def _gather_transpose(
    ct: Any, operand: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: str, fill_value: Any = None
) -> list[Any]:
    numbers = as_scatter(dimension_numbers)
    into = lambda x: scatter_add(x, indices, ct, dimension_numbers=numbers, mode=mode, unique_indices=False)
    return [Placed(operand.aval, into), None]


def _gather_mask(
    mask: Any, operand: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: str, fill_value: Any = None
) -> list[Any]:
    # Live where some reader of the place is live. Kernels have no scatter of bools with `or`, so the readers are counted.
    live = scatter_add(
        full(operand.aval.shape, np.int32(0)),
        indices,
        convert(mask, dt.int32),
        dimension_numbers=as_scatter(dimension_numbers),
        mode=mode,
        unique_indices=False,
    )
    return [ne(live, np.int32(0)), None]


def _gather_batch(
    size: int,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    mode: str,
    fill_value: Any = None,
) -> Any:
    (operand, indices), (d, d_indices) = args, dims
    n = dimension_numbers
    if d is not None:
        operand = move_dim(operand, d, 0)
    if d_indices is not None:
        indices = move_dim(indices, d_indices, 0)
    if d_indices is None:  # the batch is one more whole axis of the window
        numbers = GatherDimensionNumbers(
            (0, *_up(n.offset_dims)),
            _up(n.collapsed_slice_dims),
            _up(n.start_index_map),
            _up(n.operand_batching_dims),
            n.start_indices_batching_dims,
        )
        slice_sizes = (size, *slice_sizes)
    elif d is None:
        numbers = n._replace(offset_dims=_up(n.offset_dims), start_indices_batching_dims=_up(n.start_indices_batching_dims))
    else:
        numbers = GatherDimensionNumbers(
            _up(n.offset_dims),
            _up(n.collapsed_slice_dims),
            _up(n.start_index_map),
            (0, *_up(n.operand_batching_dims)),
            (0, *_up(n.start_indices_batching_dims)),
        )
        slice_sizes = (1, *slice_sizes)
    out = gather(operand, indices, dimension_numbers=numbers, slice_sizes=slice_sizes, mode=mode, fill_value=fill_value)
    return out, 0


# (operand's shape, indices' shape, numbers, slice sizes): x[i]; x[i, j]; x[:, i]; a window; take_along_axis; of nothing
_CASES = [
    ((5,), (3, 1), GatherDimensionNumbers((), (0,), (0,)), (1,)),
    ((4, 3), (2, 1), GatherDimensionNumbers((1,), (0,), (0,)), (1, 3)),
    ((4, 3), (2, 2, 2), GatherDimensionNumbers((), (0, 1), (0, 1)), (1, 1)),
    ((3, 5), (2, 1), GatherDimensionNumbers((0,), (1,), (1,)), (3, 1)),
    ((5, 4), (3, 1), GatherDimensionNumbers((0, 2), (), (0,)), (2, 4)),
    ((5, 4), (2,), GatherDimensionNumbers((0, 1), (), (1, 0)), (2, 3)),
    ((3, 4), (3, 2, 1), GatherDimensionNumbers((), (1,), (1,), (0,), (0,)), (1, 1)),
    ((2, 4, 3), (2, 2, 1), GatherDimensionNumbers((2,), (1,), (1,), (0,), (0,)), (1, 1, 3)),
    ((3, 2), (0, 1), GatherDimensionNumbers((1,), (0,), (0,)), (1, 2)),
    ((3,), (1,), GatherDimensionNumbers((), (0,), (0,)), (1,)),
    ((), (0,), GatherDimensionNumbers((), (), ()), ()),
]


def _indices(rng: np.random.Generator, shape: tuple[int, ...], numbers: Any, operand: tuple[int, ...], sizes: Any) -> np.ndarray:
    """Places within the operand."""
    room = [operand[d] - sizes[d] + 1 for d in numbers.start_index_map]
    if not room:
        return np.zeros(shape, np.int64)
    return np.stack([rng.integers(0, n, shape[:-1]) for n in room], -1).reshape(shape)


def _gather_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    found = []
    for mode in ("raise", "fill", "clip"):
        for operand, places, numbers, sizes in _CASES:
            indices = _indices(rng, places, numbers, operand, sizes)
            if mode != "raise" and indices.size:
                indices = indices + rng.integers(-2, 3, indices.shape)  # some of them outside
            params = {"dimension_numbers": numbers, "slice_sizes": sizes, "mode": mode, "fill_value": None}
            if mode == "fill":
                params["fill_value"] = 0 if dtype in dt.INEXACT else 1
            found.append(((np.asarray(_draw(rng, operand, dtype)), indices.astype(np.int32)), params))
    return found


def keyed(samples: Any) -> Any:
    """The same samples for keys, as random bits."""

    def draw(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
        if dtype != dt.KEY:
            return samples(rng, dtype)
        found = samples(rng, dt.uint64)
        return [
            (tuple(a.view(dt.KEY).reshape(a.shape) if a.dtype == dt.uint64 else a for a in args), params)
            for args, params in found
        ]

    return draw


gather = Operator(
    "gather",
    abstract=_gather_abstract,
    numpy=gather_numpy,
    jvp=_gather_jvp,
    transpose=_gather_transpose,
    batch=_gather_batch,
    mask_transpose=_gather_mask,
    loop=Indexed(gather_loop, (0, 1)),
    dtypes=dt.ANY,
    samples=keyed(_gather_samples),
    doc="windows of the operand that start at given indices",
)
register(gather)


# --- scatter ----------------------------------------------------------------------------------------------------


def read_back(x: Any, indices: Any, updates: Any, numbers: ScatterDimensionNumbers, mode: str, fill: Any = 0) -> Any:
    """What stands in x at the places that a scatter of `updates` writes, shaped as the updates."""
    aval, shape = aval_of(x), (updates.aval if isinstance(updates, LinearArg) else aval_of(updates)).shape
    plan = layout(numbers.as_gather(), aval.ndim, aval_of(indices).ndim)
    sizes = tuple([1 if a is None else shape[a] for a in plan.window])
    return gather(x, indices, dimension_numbers=numbers.as_gather(), slice_sizes=sizes, mode=mode, fill_value=fill)


def one_place(indices: Any, numbers: ScatterDimensionNumbers) -> bool:
    """Whether there is only one window, or one for each entry of the batch, so that none can meet another."""
    shape = aval_of(indices).shape[:-1]
    return all(n == 1 for i, n in enumerate(shape) if i not in numbers.scatter_indices_batching_dims)


def _scatter_batch(op: Operator) -> Any:
    def batch(
        size: int,
        args: Sequence[Any],
        dims: Sequence[int | None],
        *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: str,
        unique_indices: bool = False,
    ) -> Any:
        (operand, indices, updates), (d, d_indices, d_updates) = args, dims
        n = dimension_numbers
        operand, updates = batch_at(operand, d, size), batch_at(updates, d_updates, size)
        if d_indices is None:
            numbers = ScatterDimensionNumbers(
                (0, *_up(n.update_window_dims)),
                _up(n.inserted_window_dims),
                _up(n.scatter_dims_to_operand_dims),
                _up(n.operand_batching_dims),
                n.scatter_indices_batching_dims,
            )
        else:
            indices = move_dim(indices, d_indices, 0)
            numbers = ScatterDimensionNumbers(
                _up(n.update_window_dims),
                _up(n.inserted_window_dims),
                _up(n.scatter_dims_to_operand_dims),
                (0, *_up(n.operand_batching_dims)),
                (0, *_up(n.scatter_indices_batching_dims)),
            )
        return op(operand, indices, updates, dimension_numbers=numbers, mode=mode, unique_indices=unique_indices), 0

    return batch


def _scatter_samples(combine: str | None) -> Any:
    def samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
        found = []
        for mode in ("raise", "fill", "clip"):
            for operand, places, numbers, sizes in _CASES:
                if mode != "raise" and 0 in places:
                    continue
                plan = layout(numbers, len(operand), len(places))
                shape = [0] * (len(places) - 1 + len(numbers.offset_dims))
                for axis, size in zip(plan.window, sizes, strict=True):
                    if axis is not None:
                        shape[axis] = size
                for axis, n in zip(plan.places, places[:-1], strict=True):
                    shape[axis] = n
                indices = _indices(rng, places, numbers, operand, sizes)
                if mode != "raise":
                    indices = indices + rng.integers(-2, 3, indices.shape)
                params = {"dimension_numbers": as_scatter(numbers), "mode": mode, "unique_indices": False}
                draw = uniform(-2, 2) if combine == "mul" else _draw
                x, u = draw(rng, operand, dtype), draw(rng, tuple(shape), dtype)
                found.append(((np.asarray(x), indices.astype(np.int64), np.asarray(u)), params))
        return found

    return samples


def declare_scatter(name: str, combine: str | None, dtypes: frozenset, doc: str, **rules: Any) -> Operator:
    def abstract(
        operand: ShapedArray,
        indices: ShapedArray,
        updates: ShapedArray,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: str,
        unique_indices: bool = False,
    ) -> ShapedArray:
        numbers = dimension_numbers.as_gather()
        check_numbers(name, numbers, (operand, indices), mode)
        if operand.dtype != updates.dtype or operand.dtype not in dtypes:
            raise DtypeError(
                message(
                    f"{name}: got {format_avals((operand, indices, updates))}",
                    "operand and updates of one dtype" + ("" if dtypes == dt.ANY else ", a number"),
                    "convert the updates, for example with u.astype(x.dtype)",
                )
            )
        plan = layout(numbers, operand.ndim, indices.ndim)
        fits = updates.ndim == len(plan.places) + len(numbers.offset_dims)
        if fits:
            sizes = tuple([min(1, n) if a is None else updates.shape[a] for a, n in zip(plan.window, operand.shape, strict=True)])
            fits = [updates.shape[a] for a in plan.places] == list(indices.shape[:-1]) and all(
                s <= n for s, n in zip(sizes, operand.shape, strict=True)
            )
        if not fits:
            raise ShapeError(
                message(
                    f"{name}: got {format_avals((operand, indices, updates))} with {dimension_numbers}",
                    "updates that have the indices' axes (but the last one) and window axes no longer than the operand's",
                    "x.at[i].set(u), which broadcasts u",
                )
            )
        return shaped(operand.shape, operand.dtype, operand.weak_type and updates.weak_type)

    def meaning(
        operand: Any, indices: Any, updates: Any, dimension_numbers: Any, mode: str, unique_indices: bool = False
    ) -> np.ndarray:
        return scatter_numpy(name, combine, operand, indices, updates, dimension_numbers, mode)

    samples = _scatter_samples(combine)
    op = Operator(
        name,
        abstract=abstract,
        numpy=meaning,
        batch="set below",
        loop=Scatter(scatter_loop(name), combine),
        dtypes=dtypes,
        samples=keyed(samples) if combine is None else samples,
        doc=doc,
        **rules,
    )
    op.batch = _scatter_batch(op)
    register(op)
    return op


def _linear_jvp(op: Any) -> Any:
    """The jvp of a scatter that is linear in operand and updates together."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        operand, indices, updates = primals
        t, _, t_updates = tangents
        out = op()(operand, indices, updates, **params)
        if aval_of(out).dtype not in dt.INEXACT or (t is None and t_updates is None):
            return out, None
        if t_updates is None and op() is scatter_add:
            return out, t
        t = zeros(aval_of(operand)) if t is None else t
        t_updates = zeros(aval_of(updates)) if t_updates is None else t_updates
        return out, op()(t, indices, t_updates, **params)

    return jvp


def _last_wins(ct: Any, indices: Any, updates: LinearArg, numbers: ScatterDimensionNumbers, mode: str, unique: bool) -> Any:
    """The updates whose value stayed, as a bool array; None where all did."""
    if unique or one_place(indices, numbers):
        return None
    shape = updates.aval.shape
    d = dt.int32 if updates.aval.size < 2**31 else dt.int64
    ids = reshape(iota(dtype=d, shape=(updates.aval.size,), dimension=0), shape=shape)
    written = scatter(
        full(aval_of(ct).shape, d.type(-1)), indices, ids, dimension_numbers=numbers, mode=mode, unique_indices=False
    )
    return eq(read_back(written, indices, updates, numbers, mode, -1), ids)


def _scatter_transpose(
    ct: Any, operand: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: str, unique_indices: bool = False
) -> list[Any]:
    found: list[Any] = [None, None, None]
    if isinstance(operand, LinearArg):
        aval = updates.aval if isinstance(updates, LinearArg) else aval_of(updates)
        nothing = full(aval.shape, aval_of(ct).dtype.type(0))
        found[0] = scatter(ct, indices, nothing, dimension_numbers=dimension_numbers, mode=mode, unique_indices=unique_indices)
    if isinstance(updates, LinearArg):
        read = read_back(ct, indices, updates, dimension_numbers, mode)
        wins = _last_wins(ct, indices, updates, dimension_numbers, mode, unique_indices)
        found[2] = read if wins is None else select_n(wins, aval_of(read).dtype.type(0), read)
    return found


def _scatter_mask(mask: Any, operand: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    if mask is None:
        shape = operand.aval.shape if isinstance(operand, LinearArg) else aval_of(operand).shape
        mask = full(shape, np.True_)
    return _scatter_transpose(mask, operand, indices, updates, **params)


scatter = declare_scatter(
    "scatter",
    None,
    dt.ANY,
    "the operand with windows replaced by updates",
    jvp=_linear_jvp(lambda: scatter),
    transpose=_scatter_transpose,
    mask_transpose=_scatter_mask,
    blocks=True,
)


def _scatter_add_transpose(
    ct: Any, operand: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: str, unique_indices: bool = False
) -> list[Any]:
    read = read_back(ct, indices, updates, dimension_numbers, mode) if isinstance(updates, LinearArg) else None
    return [ct if isinstance(operand, LinearArg) else None, None, read]


scatter_add = declare_scatter(
    "scatter_add",
    "add",
    dt.NUMBERS,
    "the operand with updates added to windows",
    jvp=_linear_jvp(lambda: scatter_add),
    transpose=_scatter_add_transpose,
    mask_transpose=_scatter_add_transpose,
)
