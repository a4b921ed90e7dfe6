"""Forward mode.

In: a function, primals, tangents (None is a symbolic zero). Out: its values and their tangents.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core.cache import weak_memo
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import Jaxpr, closed_over
from funcgrad.ir.primitive import Primitive
from funcgrad.ops._family import zeros_like
from funcgrad.trace.interpreter import Interpreter, Tracer, current, holds_no_tracer, running
from funcgrad.trace.stage import stage
from funcgrad.trace.value import aval_of


class JvpTracer(Tracer):
    """A value that travels with its tangent."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: "Jvp", primal: Any, tangent: Any):
        self.owner, self.primal, self.tangent = trace, primal, tangent
        self.aval, self.source = aval_of(primal), None

    def concrete(self) -> Any:
        x = self.primal
        return x.concrete() if isinstance(x, Tracer) else x

    def pick(self, kind: type) -> Any:
        return self.primal.pick(kind) if isinstance(self.primal, Tracer) else None


class Jvp(Interpreter):
    """Forward mode: each value travels with its tangent; None is a symbolic zero."""

    __slots__ = ()

    def apply(self, prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        primals, tangents, moving = [], [], False
        for x in args:
            if x.__class__ is JvpTracer and x.owner is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                moving = True
            else:
                primals.append(x)
                tangents.append(None)
        with running(self.parent):  # type: ignore[arg-type]
            if not moving:
                return self.parent.apply(prim, args, params)  # type: ignore[union-attr]
            if not callable(prim.jvp):
                raise TypeError(f"{prim.name} cannot be differentiated: {prim.jvp}")
            out, t = prim.jvp(primals, tangents, **params)
        if prim.multiple_results:
            return [x if t is None else JvpTracer(self, x, t) for x, t in zip(out, t, strict=True)]
        return out if t is None else JvpTracer(self, out, t)

    def split(self, x: Any) -> tuple[Any, Any]:
        """The primal and the tangent of a value that came out of the function."""
        return (x.primal, x.tangent) if x.__class__ is JvpTracer and x.owner is self else (x, None)


def jvp(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any], parent: Interpreter | None = None
) -> tuple[list[Any], list[Any]]:
    """Values of `fun(*primals)` and their tangents along `tangents`."""
    trace = Jvp(parent or current())
    try:
        with running(trace):
            outs = fun(*[x if t is None else JvpTracer(trace, x, t) for x, t in zip(primals, tangents, strict=True)])
        pairs = [trace.split(x) for x in outs]
        return [p for p, _ in pairs], [t for _, t in pairs]
    finally:
        trace.live = False


# Transformed programs hang on the program they came from, unless their constants belong to a run that will end.
remembered = functools.partial(weak_memo, keep=holds_no_tracer)


@remembered
def jvp_jaxpr(jaxpr: Jaxpr, moving: tuple[bool, ...], forced: tuple[bool, ...] = ()) -> tuple[Jaxpr, list[Any], tuple[bool, ...]]:
    """The program of values and tangents, the constants that are its leading inputs, and which output tangents are not zero.

    Inputs: constants, inputs, then the tangents of the inputs that are `moving`. Outputs: outputs, then their tangents.
    An output that is `forced` gets a tangent, of zeros if need be."""
    count = len(jaxpr.invars)
    moving_out: tuple[bool, ...] = ()

    def fun(*args: Any) -> list[Any]:
        nonlocal moving_out
        tangents = iter(args[count:])
        outs, t_outs = jvp(
            lambda *xs: evaluate(current_apply, jaxpr, (), xs), args[:count], [next(tangents) if m else None for m in moving]
        )
        t_outs = [zeros_like(x) if t is None and f else t for x, t, f in itertools.zip_longest(outs, t_outs, forced)]
        moving_out = tuple(t is not None for t in t_outs)
        return outs + [t for t in t_outs if t is not None]

    avals = jaxpr.in_avals
    out, consts = stage(fun, avals + [a for a, m in zip(avals, moving, strict=True) if m])
    return closed_over(out), consts, moving_out


def current_apply(prim: Primitive, args: list[Any], params: dict[str, Any]) -> Any:
    """Apply under the current interpreter: `bind` for `ir.evaluate`."""
    return current().apply(prim, tuple(args), params)
