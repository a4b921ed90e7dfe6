"""Fold: an equation whose operands are all literals is a literal, if its value is a scalar."""

from typing import Any

import numpy as np

from funcgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from funcgrad.ir.loop_rules import Pointwise, View


def fold(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` with scalar equations of literals computed. Program inputs are never folded."""
    env: dict[Var, Literal] = {}
    eqns = []
    for eqn in jaxpr.eqns:
        constant = True
        for x in eqn.inputs:
            if x.__class__ is not Literal and x not in env:
                constant = False
                break
        if constant and _foldable(eqn):
            values = [(x if x.__class__ is Literal else env[x]) for x in eqn.inputs]  # type: ignore[index]
            env[eqn.outputs[0]] = _value(eqn, values)
            continue
        if env:
            inputs = tuple([env.get(x, x) if x.__class__ is Var else x for x in eqn.inputs])  # type: ignore[arg-type]
            if any(a is not b for a, b in zip(inputs, eqn.inputs, strict=True)):
                eqn = eqn._replace(inputs=inputs)
        eqns.append(eqn)
    if not env:
        return jaxpr
    outvars: list[Atom] = [env.get(x, x) if x.__class__ is Var else x for x in jaxpr.outvars]  # type: ignore[arg-type]
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns, outvars)


def _foldable(eqn: Eqn) -> bool:
    kind = eqn.primitive.loop.__class__
    return (
        (kind is Pointwise or kind is View)
        and len(eqn.outputs) == 1
        and eqn.outputs[0].aval.shape == ()
        and bool(eqn.inputs)
        and not eqn.primitive.effectful
        and all(x.aval.shape == () for x in eqn.inputs)
    )


def _value(eqn: Eqn, literals: list[Any]) -> Literal:
    aval = eqn.outputs[0].aval
    with np.errstate(all="ignore"):
        args = [np.asarray(x.value, x.aval.dtype) for x in literals]
        out = eqn.primitive.numpy(*args, **eqn.params)
    return Literal(np.asarray(out, aval.dtype)[()], aval)
