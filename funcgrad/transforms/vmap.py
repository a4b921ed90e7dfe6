"""Vectorisation: a function of one example becomes a function of a batch.

In: a function, values with a batch axis each (or None). Out: its values, with the axis where each has it.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.core.aval import shaped
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import Jaxpr, closed_over
from funcgrad.ir.named_axes import names_in
from funcgrad.ir.primitive import Primitive
from funcgrad.ops._family import batch_at
from funcgrad.trace.interpreter import Interpreter, Tracer, current, running
from funcgrad.trace.stage import stage
from funcgrad.trace.value import aval_of
from funcgrad.transforms.jvp import current_apply, remembered


class Axis(NamedTuple):
    """The axis of a batch: its size, and the name by which collective operators know it, or None."""

    size: int
    name: Any = None


def of_any_axis(rule: Callable[..., Any]) -> dict[str, Any]:
    """The batching rules of an operator that carries programs, from `rule(axis, args, dims, **params)`."""

    def batch(size: int, args: Sequence[Any], dims: Sequence[int | None], /, **params: Any) -> Any:
        return rule(Axis(size), args, dims, **params)

    return {"batch": batch, "batch_named": rule}


class BatchTracer(Tracer):
    """One example of a batch: `value` has the batch along axis `dim`, the tracer's aval is without it."""

    __slots__ = ("value", "dim")

    def __init__(self, trace: "Batch", value: Any, dim: int):
        self.owner, self.value, self.dim = trace, value, dim
        a = aval_of(value)
        self.aval, self.source = shaped(a.shape[:dim] + a.shape[dim + 1 :], a.dtype, a.weak_type), None


class Batch(Interpreter):
    """Each primitive runs once on the whole batch, by its batching rule."""

    __slots__ = ("size", "axis_name")

    def __init__(self, parent: Interpreter, size: int, axis_name: Any = None):
        super().__init__(parent, () if axis_name is None else ((axis_name, size),))
        self.size, self.axis_name = size, axis_name

    def apply(self, prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        values, dims, batched = [], [], False
        for x in args:
            if x.__class__ is BatchTracer and x.owner is self:
                values.append(x.value)
                dims.append(x.dim)
                batched = True
            else:
                values.append(x)
                dims.append(None)
        with running(self.parent):  # type: ignore[arg-type]
            named = self.axis_name is not None and prim.batch_named is not None
            if not batched and not (named and self.axis_name in names_in(params)):
                return self.parent.apply(prim, args, params)  # type: ignore[union-attr]
            if named:
                out, dim = prim.batch_named(Axis(self.size, self.axis_name), values, dims, **params)  # type: ignore[misc]
            elif callable(prim.batch):
                out, dim = prim.batch(self.size, values, dims, **params)
            else:
                raise TypeError(f"{prim.name} cannot be vectorised: {prim.batch}")
        if prim.multiple_results:
            return [x if d is None else BatchTracer(self, x, d) for x, d in zip(out, dim, strict=True)]
        return out if dim is None else BatchTracer(self, out, dim)

    def split(self, x: Any) -> tuple[Any, int | None]:
        """A value and its batch axis."""
        return (x.value, x.dim) if x.__class__ is BatchTracer and x.owner is self else (x, None)


def vmap(
    fun: Callable[..., Sequence[Any]], args: Sequence[Any], dims: Sequence[int | None], size: int, axis_name: Any = None
) -> tuple[list[Any], list[int | None]]:
    """Values of `fun` on every example, and the batch axis of each."""
    trace = Batch(current(), size, axis_name)
    try:
        with running(trace):
            outs = fun(*[x if d is None else BatchTracer(trace, x, d) for x, d in zip(args, dims, strict=True)])
        pairs = [trace.split(x) for x in outs]
        return [v for v, _ in pairs], [d for _, d in pairs]
    finally:
        trace.live = False


@remembered
def vmap_jaxpr(
    jaxpr: Jaxpr, axis: Axis, dims: tuple[int | None, ...], forced: tuple[bool, ...] = ()
) -> tuple[Jaxpr, list[Any], tuple[int | None, ...]]:
    """The program on a batch, the constants that are its leading inputs, and the batch axis (0 or None) of each output.

    An output that is `forced` gets a batch axis, repeated along it if need be."""
    size, dims_out = axis.size, ()

    def fun(*args: Any) -> list[Any]:
        nonlocal dims_out
        outs, ds = vmap(lambda *xs: evaluate(current_apply, jaxpr, (), xs), args, dims, size, axis.name)
        ds = [-1 if d is None and f else d for d, f in itertools.zip_longest(ds, forced)]
        dims_out = tuple(None if d is None else 0 for d in ds)
        return [x if d is None else batch_at(x, None if d < 0 else d, size) for x, d in zip(outs, ds, strict=True)]

    avals = [
        a if d is None else shaped(a.shape[:d] + (size,) + a.shape[d:], a.dtype, a.weak_type)
        for a, d in zip(jaxpr.in_avals, dims, strict=True)
    ]
    out, consts = stage(fun, avals)
    return closed_over(out), consts, dims_out
