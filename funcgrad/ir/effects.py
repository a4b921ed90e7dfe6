"""Which equations do something besides giving values: calls of the host, checks, and programs that hold such.

Effects happen once for each run of the program that holds them, in its order: passes keep these equations, in order, and
do not share them; partial evaluation runs them with the known half.
"""

from collections.abc import Sequence
from typing import Any

from funcgrad.core.cache import weak_memo
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Var, subjaxprs


@weak_memo
def has_effects(jaxpr: Jaxpr) -> bool:
    """Whether running `jaxpr` has effects."""
    return any([effectful(eqn) for eqn in jaxpr.eqns])


def effectful(eqn: Eqn) -> bool:
    """Whether the equation has effects, of its own or in a program that it carries."""
    return eqn.primitive.effectful or any([has_effects(j) for j in subjaxprs(eqn.params)])


def needed(jaxpr: Jaxpr) -> bool:
    """Whether there is any reason to run it: results or effects."""
    return bool(jaxpr.outvars) or has_effects(jaxpr)


def needed_equations(eqns: Sequence[Eqn], outs: Sequence[Any]) -> list[Eqn]:
    """Those that `outs` depend on, and those with effects, in order."""
    wanted = {x for x in outs if isinstance(x, Var)}
    kept = []
    for eqn in reversed(eqns):
        if effectful(eqn) or any([v in wanted for v in eqn.outputs]):
            kept.append(eqn)
            wanted.update([x for x in eqn.inputs if isinstance(x, Var)])
    return kept[::-1]


def pruned(jaxpr: Jaxpr) -> Jaxpr:
    """The program without what its outputs do not depend on."""
    return jaxpr.replace(eqns=tuple(needed_equations(jaxpr.eqns, jaxpr.outvars)))


@weak_memo
def silent(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` without the effects that give no value (prints, checks): what a second evaluation runs."""
    if not has_effects(jaxpr):
        return jaxpr
    return jaxpr.replace(eqns=tuple([e for eqn in jaxpr.eqns if (e := silent_equation(eqn)) is not None]))


def silent_equation(eqn: Eqn) -> Eqn | None:
    """The equation without such effects; None where nothing is left of it."""
    if not effectful(eqn):
        return eqn
    return eqn._replace(params={k: _silent(v) for k, v in eqn.params.items()}) if eqn.outputs else None


def _silent(value: Any) -> Any:
    if isinstance(value, Jaxpr):
        return silent(value)
    if isinstance(value, ClosedJaxpr):
        return ClosedJaxpr(silent(value.jaxpr), value.consts)
    if isinstance(value, tuple) and any(isinstance(v, (Jaxpr, ClosedJaxpr)) for v in value):
        return tuple([_silent(v) for v in value])
    return value
