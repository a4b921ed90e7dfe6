"""Drop dead equations: those without effects whose outputs nobody reads."""

from funcgrad.ir.effects import effectful
from funcgrad.ir.jaxpr import Jaxpr, Var


def prune(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` without equations that no output needs. Its inputs stay as they are."""
    live: set[Var] = {x for x in jaxpr.outvars if x.__class__ is Var}  # type: ignore[misc]
    kept = []
    for eqn in reversed(jaxpr.eqns):
        if not live.isdisjoint(eqn.outputs) or effectful(eqn):
            kept.append(eqn)
            live.update([x for x in eqn.inputs if x.__class__ is Var])  # type: ignore[misc]
    if len(kept) == len(jaxpr.eqns):
        return jaxpr
    kept.reverse()
    return Jaxpr(jaxpr.constvars, jaxpr.invars, kept, jaxpr.outvars)
