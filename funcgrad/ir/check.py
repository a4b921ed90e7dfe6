"""The type checker of the IR: every variable bound once and before its use, every equation typed by its rule."""

from funcgrad.core.aval import format_avals
from funcgrad.core.errors import IRError
from funcgrad.ir.jaxpr import Jaxpr, Literal, Var, subjaxprs


def check(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr`, if it is well-formed; IRError otherwise."""
    bound: set[Var] = set()
    for v in jaxpr.constvars + jaxpr.invars:
        if v in bound:
            raise IRError(f"{v} is bound twice among the inputs")
        bound.add(v)
    for i, eqn in enumerate(jaxpr.eqns):
        where = f"equation {i} ({eqn.primitive.name})"
        for x in eqn.inputs:
            if not isinstance(x, Literal) and x not in bound:
                raise IRError(f"{where}: {x} is used before it is bound")
            if isinstance(x, Literal) and x.aval.shape != ():
                raise IRError(f"{where}: a literal must be a scalar, not {x.aval.str_short()}")
        outs = eqn.primitive.abstract(*(x.aval for x in eqn.inputs), **eqn.params)
        outs = list(outs) if eqn.primitive.multiple_results else [outs]
        got = [v.aval for v in eqn.outputs]
        # Weakness is a property of Python's scalars, not of the machine: passes may drop it.
        if [(a.shape, a.dtype) for a in outs] != [(a.shape, a.dtype) for a in got]:
            raise IRError(f"{where}: its rule gives {format_avals(outs)}, its outputs say {format_avals(got)}")
        for v in eqn.outputs:
            if v in bound:
                raise IRError(f"{where}: {v} is bound twice")
            bound.add(v)
        for sub in subjaxprs(eqn.params):
            check(sub)
    for x in jaxpr.outvars:
        if not isinstance(x, Literal) and x not in bound:
            raise IRError(f"output {x} is never bound")
    return jaxpr
