"""Inline: calls of Jaxprs, and operators that are defined by other operators, are replaced by their equations.

Operators on floats of 8 and 16 bits stay as they are: their NumPy meaning computes in float32 and rounds once.
"""

from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import IRError
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Jaxpr, Literal, Var
from funcgrad.ir.loop_rules import Call, Inline
from funcgrad.trace.interpreter import running
from funcgrad.trace.stage import Stage

NARROW = dt.FLOATS - {dt.float32, dt.float64}


def inline(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` without equations whose loop rule is Call or Inline."""
    if not any([_is_call(e) for e in jaxpr.eqns]):
        return jaxpr
    eqns: list[Eqn] = []
    env: dict[Var, Atom] = {}
    _splice(jaxpr, env, eqns, top=True)
    outvars = [env.get(x, x) if x.__class__ is Var else x for x in jaxpr.outvars]  # type: ignore[call-overload]
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns, outvars)


def _is_call(eqn: Eqn) -> bool:
    kind = eqn.primitive.loop.__class__
    return kind is Call or (kind is Inline and not any([x.aval.dtype in NARROW for x in eqn.inputs + eqn.outputs]))


def _splice(jaxpr: Jaxpr, env: dict[Var, Atom], eqns: list[Eqn], *, top: bool) -> None:
    """Append the equations of `jaxpr`, its variables renamed by `env` (and entered there, unless it is the whole program)."""
    for eqn in jaxpr.eqns:
        inputs = tuple([x if x.__class__ is Literal else env.get(x, x) for x in eqn.inputs])  # type: ignore[arg-type]
        rule = eqn.primitive.loop
        if _is_call(eqn):
            inner = _called(eqn, rule.name) if rule.__class__ is Call else _traced(eqn, rule, inputs)
            given = inputs if rule.__class__ is Call else [x for x in inputs if x.__class__ is not Literal]
            # A Jaxpr may be called twice: every call renames its variables afresh.
            names: dict[Var, Atom] = dict(zip(inner.constvars + inner.invars, given, strict=True))
            _splice(inner, names, eqns, top=False)
            for var, x in zip(eqn.outputs, inner.outvars, strict=True):
                env[var] = x if x.__class__ is Literal else names[x]  # type: ignore[index]
            continue
        if top:
            outputs = eqn.outputs
        else:
            outputs = tuple([Var(v.aval) for v in eqn.outputs])
            env.update(zip(eqn.outputs, outputs, strict=True))
        eqns.append(Eqn(eqn.primitive, inputs, outputs, eqn.params, eqn.source))


def _called(eqn: Eqn, name: str) -> Jaxpr:
    inner = eqn.params[name]
    if inner.__class__ is ClosedJaxpr:
        if inner.consts:
            raise IRError(
                f"inline: got a call of {eqn.primitive.name} whose program holds {len(inner.consts)} constants; "
                "a called program takes its constants as operands; pass them as leading inputs"
            )
        return inner.jaxpr
    return inner


def _traced(eqn: Eqn, rule: Inline, inputs: tuple[Any, ...]) -> Jaxpr:
    """The equations of an operator that is a function of other operators. Literals stay literals."""
    trace = Stage()
    with running(trace):
        args = [x.value if x.__class__ is Literal else trace.argument(x.aval) for x in inputs]
        out = rule.fn(*args, **eqn.params)
        outs = list(out) if eqn.primitive.multiple_results else [out]
        inner, consts = trace.finish(outs)
    if consts:
        raise IRError(
            f"inline: got {eqn.primitive.name}, whose rule closes over {len(consts)} arrays; "
            "an inlined operator makes what it needs from its operands and from literals; use those"
        )
    return inner
