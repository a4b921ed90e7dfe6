"""The structure of a Jaxpr as a hashable key: two Jaxprs of one key compute the same, and say the same in their errors.

In: a Jaxpr, traced anew perhaps. Out: a tuple without its variables.
"""

from typing import Any

import numpy as np

from funcgrad.ir.jaxpr import ClosedJaxpr, Jaxpr, Literal
from funcgrad.ir.loop_rules import Indexed, Scatter


def structure(jaxpr: Jaxpr) -> tuple:
    """The key: operators, operands by number, params, types; and the lines of operators whose errors name them."""
    number: dict[Any, int] = {v: k for k, v in enumerate(jaxpr.constvars + jaxpr.invars)}
    eqns = []
    for eqn in jaxpr.eqns:
        ins = tuple([_literal(x) if x.__class__ is Literal else number[x] for x in eqn.inputs])
        for v in eqn.outputs:
            number[v] = len(number)
        rule = eqn.primitive.loop.__class__
        line = eqn.source if rule is Indexed or rule is Scatter else None
        params = tuple([(name, _param(x)) for name, x in eqn.params.items()])
        eqns.append((eqn.primitive, ins, tuple([v.aval for v in eqn.outputs]), params, line))
    outs = tuple([_literal(x) if x.__class__ is Literal else number[x] for x in jaxpr.outvars])
    return tuple(jaxpr.in_avals), tuple(eqns), outs


def _literal(x: Any) -> tuple:
    """Tells apart literals that compare equal (0.0 and -0.0, 1 and 1.0)."""
    return x.aval, np.asarray(x.value, x.aval.dtype).tobytes()


def _param(x: Any) -> Any:
    if isinstance(x, Jaxpr):
        return structure(x)
    if isinstance(x, ClosedJaxpr):
        return structure(x.jaxpr), tuple(map(id, x.consts))
    if isinstance(x, tuple) and x.__class__ is tuple:
        return tuple(map(_param, x))
    return (x.__class__, repr(x)) if isinstance(x, (bool, int, float, complex, np.generic)) else x


def count_equations(jaxpr: Jaxpr) -> int:
    """How many equations one run evaluates, a loop of unknown length counted once."""
    total = 0
    for eqn in jaxpr.eqns:
        inner = 0
        for x in eqn.params.values():
            for j in x if x.__class__ is tuple else (x,):
                if isinstance(j, (Jaxpr, ClosedJaxpr)):
                    inner += count_equations(j.jaxpr if isinstance(j, ClosedJaxpr) else j)
        total += 1 + inner * eqn.params.get("length", 1) if inner else 1
    return total
