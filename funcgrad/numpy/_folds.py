"""Folds by any function of two arguments: what `.reduce`, `.accumulate`, `.reduceat` and `.at` of a ufunc are made of.

In: `f(x, y)` and rows along axis 0. Out: `f(... f(f(x0, x1), x2) ...)`, in NumPy's order: one loop over the rows. A function
that is associative and commutative is folded in halves instead, in logarithmic depth.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import shaped
from funcgrad.core.errors import DtypeError, message
from funcgrad.ir.jaxpr import closed_over
from funcgrad.numpy._promote import as_value, broadcast_value, cast
from funcgrad.numpy.index import read_with
from funcgrad.numpy.join import concatenate
from funcgrad.numpy.structure import cut, expand_dims, moveaxis, reshape
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.ops.convert import convert_element_type
from funcgrad.ops.reduce import reduce_max, reduce_sum
from funcgrad.ops.shape import iota
from funcgrad.trace.stage import stage
from funcgrad.trace.value import Value
from funcgrad.transforms.scan import scan


class Fold(NamedTuple):
    """A function of two arguments, by name for messages."""

    name: str
    call: Callable[[Any, Any], Any]


def rows(x: Any, axes: tuple[int, ...]) -> Any:
    """`x` with the axes as one, in front."""
    kept = [n for i, n in enumerate(x.shape) if i not in axes]
    moved = moveaxis(x, axes, tuple(range(len(axes))))
    count = 1
    for i in axes:
        count *= x.shape[i]
    return reshape(moved, (count, *kept))


def settled(f: Fold, x: Value) -> Value:
    """`x` in the dtype that f keeps: that of f(x, x). TypeError where f does not come back to it."""
    dtype = x.dtype
    for _ in range(2):
        aval = shaped((), dtype)
        program, _ = stage(lambda a, b: [as_value(f.call(a, b), f.name)], [aval, aval])
        found = program.out_avals[0].dtype
        if found == dtype:
            return convert_element_type(x, new_dtype=dtype) if x.dtype != dtype or x.weak_type else x
        if found == dt.bool_ or dt.category(found) < dt.category(dtype):
            break
        dtype = found
    raise DtypeError(
        message(
            f"fnp.{f.name}: got {x.aval.str_short()} for a fold, and of two such numbers it makes {dt.short_name(found)}",
            "a dtype that the function keeps",
            "x.astype(bool) for comparisons, or fnp.all, fnp.any",
        )
    )


def _loop(step: Callable[..., list[Any]], init: Any, xs: Sequence[Any]) -> list[Any]:
    """`carry, *y = step(carry, *x)` over the rows of `xs`: the last carry, and the ys stacked."""
    program, consts = stage(step, [init.aval, *[shaped(x.shape[1:], x.dtype, x.weak_type) for x in xs]])
    return scan(
        *consts, init, *xs,
        body=closed_over(program), consts=len(consts), carry=1, length=xs[0].shape[0], reverse=False,
    )  # fmt: skip


def running(f: Fold, x: Value) -> Any:
    """The results of all steps along axis 0."""
    if x.shape[0] < 2:
        return x
    first = cut(x, 0, 0, 1)

    def step(carry: Any, row: Any) -> list[Any]:
        out = f.call(carry, row)
        return [out, out]

    _, ys = _loop(step, reshape(first, x.shape[1:]), [cut(x, 0, 1, x.shape[0])])
    return concatenate([first, ys], 0)


def folded(f: Fold, x: Value, init: Any = None, mask: Any = None) -> Any:
    """The last result along axis 0, from `init` (without one from the first row), over the rows where `mask` holds."""
    if init is None:
        init, x = reshape(cut(x, 0, 0, 1), x.shape[1:]), cut(x, 0, 1, x.shape[0])
    if x.shape[0] == 0:
        return init

    def step(carry: Any, row: Any, counts: Any = None) -> list[Any]:
        out = f.call(carry, row)
        return [out if counts is None else ew.select_n(counts, carry, out)]

    return _loop(step, init, [x] if mask is None else [x, mask])[0]


def halved(f: Fold, x: Value) -> Any:
    """The fold along axis 0 of a function for which order and grouping make no difference."""
    rest: list[Any] = []
    while (n := x.shape[0]) > 1:
        if n % 2:
            rest.append(cut(x, 0, n - 1, n))
        half = n // 2
        x = f.call(cut(x, 0, 0, half), cut(x, 0, half, 2 * half))
    for row in reversed(rest):
        x = f.call(x, row)
    return reshape(x, x.shape[1:])


def between(f: Fold, x: Value, starts: Any, stops: Any) -> Any:
    """For each i the fold of the rows from starts[i] to before stops[i]; the row starts[i] alone where that is not later."""
    count = starts.shape[0]
    places = iota(dtype=dt.int64, shape=(x.shape[0],), dimension=0)
    init = read_with(x, ew.convert(starts, dt.uint64), "raise", None)

    def step(carry: Any, row: Any, place: Any) -> list[Any]:
        inside = ew.and_(ew.lt(starts, broadcast_value(place, (count,))), ew.lt(broadcast_value(place, (count,)), stops))
        inside = broadcast_value(expand_dims(inside, tuple(range(1, carry.ndim))) if carry.ndim > 1 else inside, carry.shape)
        return [ew.select_n(inside, carry, f.call(carry, broadcast_value(row, carry.shape)))]

    return _loop(step, init, [x, places])[0] if x.shape[0] > 1 else init


def between_ascending(f: Fold, x: Value, starts: np.ndarray) -> Any:
    """As `between` from each of `starts` to the next, which are known and ascend: one pass, that begins anew at each of them."""
    first = int(starts[0])
    rows = cut(x, 0, first, x.shape[0])
    anew = np.zeros(rows.shape[0], bool)
    anew[starts - first] = True
    last = np.append(starts[1:], x.shape[0]) - 1 - first

    def step(carry: Any, row: Any, begins: Any) -> list[Any]:
        out = ew.select_n(broadcast_value(begins, row.shape), f.call(carry, row), row)
        return [out, out]

    _, steps = _loop(step, reshape(cut(rows, 0, 0, 1), x.shape[1:]), [rows, from_numpy(anew)])
    return read_with(steps, last, "promise_in_bounds", None)


def one_by_one(f: Callable[..., Any], x: Value, places: Any, values: Any) -> Any:
    """`x[p] = f(x[p], v)` of the flat array x, for each pair of `places` and `values` in turn (f(x[p]) without values)."""

    def step(carry: Any, place: Any, value: Any = None) -> list[Any]:
        here = read_with(carry, place, "promise_in_bounds", None)
        new = cast(as_value(f(here) if value is None else f(here, value), "at"), carry.dtype)
        return [carry.at[place].set(new, mode="promise_in_bounds")]

    if places.shape[0] == 0:
        return x
    return _loop(step, x, [places] if values is None else [places, values])[0]


def log_of_sum(x: Value, exp: Callable[..., Any], log: Callable[..., Any]) -> Any:
    """log(sum(exp(x))) of a real float x along axis 0, without overflow. Where an element is inf the gradient goes to it; where
    all are -inf there is none."""
    largest = reduce_max(x, axes=(0,))
    fixed = ew.stop_gradient(largest)
    finite = ew.is_finite(fixed)
    shift = ew.select_n(finite, like(fixed, 0), fixed)
    usable = broadcast_value(expand_dims(finite, 0), x.shape)
    shifted = ew.sub(x, broadcast_value(expand_dims(shift, 0), x.shape))
    zero, one = x.dtype.type(0), x.dtype.type(1)
    total = reduce_sum(exp(ew.select_n(usable, zero, shifted)), axes=(0,))
    out = ew.add(log(ew.select_n(finite, one, total)), fixed)
    return ew.select_n(ew.eq(fixed, x.dtype.type(np.inf)), out, largest)
