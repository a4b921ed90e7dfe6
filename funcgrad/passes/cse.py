"""Share equal equations: the same primitive on the same operands with the same params is computed once."""

from typing import Any

import numpy as np

from funcgrad.ir.effects import effectful
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var


def _operand(x: Any) -> Any:
    """A key that tells apart literals that compare equal (0.0 and -0.0, 1 and 1.0), and finds equal NaNs equal."""
    return (x.aval, np.asarray(x.value, x.aval.dtype).tobytes()) if x.__class__ is Literal else x


def _param(item: tuple[str, Any]) -> Any:
    name, value = item
    return (name, repr(value)) if isinstance(value, (bool, int, float, complex, np.generic)) else item


def share(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` with every value computed once."""
    env: dict[Var, Var] = {}
    seen: dict[Any, Eqn] = {}
    eqns = []
    for eqn in jaxpr.eqns:
        if env:
            inputs = tuple([env.get(x, x) if x.__class__ is Var else x for x in eqn.inputs])  # type: ignore[arg-type]
            if inputs != eqn.inputs:
                eqn = eqn._replace(inputs=inputs)
        if not effectful(eqn):
            key = (eqn.primitive, *[_operand(x) if x.__class__ is Literal else x for x in eqn.inputs])
            if eqn.params:
                key = (key, *[_param(item) for item in eqn.params.items()])
            first = seen.setdefault(key, eqn)
            if first is not eqn and all(a.aval == b.aval for a, b in zip(first.outputs, eqn.outputs, strict=True)):
                env.update(zip(eqn.outputs, first.outputs, strict=True))
                continue
        eqns.append(eqn)
    if not env:
        return jaxpr
    outvars = [env.get(x, x) if x.__class__ is Var else x for x in jaxpr.outvars]  # type: ignore[arg-type]
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns, outvars)
