"""Staging: running a function on abstract values, recording what it does as a Jaxpr.

In: a function of values, and avals. Out: a Jaxpr and the values that it closed over (its constvars).
`Stage` records everything; `Record` (for partial evaluation) only what depends on its own unknowns,
and lets its parent compute the rest at once.
"""

import gc
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core import source
from funcgrad.core.aval import ShapedArray, literal_aval
from funcgrad.core.config import config
from funcgrad.core.errors import UnexpectedTracerError
from funcgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from funcgrad.ir.primitive import Primitive
from funcgrad.trace.interpreter import Interpreter, Tracer, check_live, current, running
from funcgrad.trace.value import Value


class StagedTracer(Tracer):
    """A value of a program under construction: it has a variable and no numbers."""

    __slots__ = ("variable",)

    def __init__(self, trace: "Stage", var: Var, line: Any):
        self.owner, self.aval, self.source, self.variable = trace, var.aval, line, var


class Stage(Interpreter):
    """Records every equation."""

    __slots__ = ("eqns", "invars", "constvars", "consts", "_const_ids")

    def __init__(self, parent: Interpreter | None = None):
        super().__init__(parent)
        self.eqns: list[Eqn] = []
        self.invars: list[Var] = []
        self.constvars: list[Var] = []
        self.consts: list[Any] = []
        self._const_ids: dict[int, Var] = {}

    def argument(self, aval: ShapedArray) -> StagedTracer:
        """A new input of the program."""
        var = Var(aval)
        self.invars.append(var)
        return StagedTracer(self, var, None)

    def atom(self, x: Any) -> Atom:
        """How `x` stands in the program: its variable, a literal, or a constvar for a value from outside."""
        if x.__class__ is StagedTracer and x.owner is self:
            return x.variable
        if not isinstance(x, Value):
            return Literal(x, literal_aval(x))
        if isinstance(x, Tracer):
            check_live(x)
        var = self._const_ids.get(id(x))
        if var is None:
            var = self._const_ids[id(x)] = Var(x.aval)
            self.constvars.append(var)
            self.consts.append(x)  # keeps x alive, so that its id stays its own
        return var

    def apply(self, prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if prim.stage is not None:
            return prim.stage(self, args, params)
        return self.equation(prim, args, params)

    def equation(self, prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Record one equation."""
        ins = tuple([self.atom(x) for x in args])
        outs = prim.abstract(*[x.aval for x in ins], **params)
        line = source.current()
        if prim.multiple_results:
            variables = tuple([Var(a) for a in outs])
            self.eqns.append(Eqn(prim, ins, variables, params, line))
            return [StagedTracer(self, v, line) for v in variables]
        var = Var(outs)
        self.eqns.append(Eqn(prim, ins, (var,), params, line))
        return StagedTracer(self, var, line)

    def finish(self, outs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        """The program with these outputs, and the values of its constvars."""
        outvars = [self.atom(x) for x in outs]
        self.live = False
        return Jaxpr(self.constvars, self.invars, self.eqns, outvars), self.consts


class Record(Stage):
    """Partial evaluation: what no unknown reaches is computed by the parent now, the rest is recorded.

    The values that the recorded part needs of the known part become its constvars: the residuals.
    """

    __slots__ = ()

    def knows(self, x: Any) -> bool:
        return x.__class__ is not StagedTracer or x.owner is not self

    def apply(self, prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        for x in args:
            if x.__class__ is StagedTracer and x.owner is self:
                break
        else:
            with running(self.parent):  # type: ignore[arg-type]
                return self.parent.apply(prim, args, params)  # type: ignore[union-attr]
        if prim.partial_eval is not None:
            return prim.partial_eval(self, args, params)
        return self.record(prim, args, params)

    def record(self, prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Record the equation, whatever is known of its operands."""
        return Stage.apply(self, prim, args, params)


def stage(fun: Callable[..., Sequence[Any]], in_avals: Sequence[ShapedArray]) -> tuple[Jaxpr, list[Any]]:
    """Run `fun` (values -> list of values) on abstract values: the program, and the values of its constvars."""
    trace = Stage(current())  # it records all; below it are the named axes that are bound
    try:
        with running(trace):
            outs = fun(*[trace.argument(a) for a in in_avals])
            result = trace.finish(outs)
        if config.check_tracer_leaks:
            del outs
            check_leaks(trace)
        return result
    finally:
        trace.live = False


def check_leaks(trace: Stage) -> None:
    """UnexpectedTracerError if a tracer of this run, which has ended, is still held by somebody."""
    gc.collect()
    for x in gc.get_objects():
        if type(x) is StagedTracer and x.owner is trace:  # not x.__class__: a dead weak proxy would raise
            raise UnexpectedTracerError(x)
