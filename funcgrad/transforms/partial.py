"""Partial evaluation of a program: what can be computed from the known inputs, and the rest.

In: a Jaxpr, and which inputs are unknown. Out: a head (known inputs -> known outputs, residuals) and a tail (residuals,
unknown inputs -> unknown outputs).
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Var, closed_over
from funcgrad.ir.loop_rules import View
from funcgrad.trace.interpreter import current, running
from funcgrad.trace.stage import Record, Stage, StagedTracer
from funcgrad.transforms.jvp import current_apply, remembered


class Split(NamedTuple):
    """`consts` are the leading inputs of the head. `residuals[i]` is the number of the known input that serves as residual i,
    or None where the head computes it."""

    head: Jaxpr
    consts: list[Any]
    tail: Jaxpr
    unknown_out: tuple[bool, ...]
    residuals: tuple[int | None, ...]


def unknown_part(jaxpr: Jaxpr, consts: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
    """What depends on the inputs of `jaxpr`, as a program whose constvars are residuals. All else is computed now."""
    trace = Record(current())
    try:
        args = [trace.argument(a) for a in jaxpr.in_avals]
        with running(trace):
            return trace.finish(evaluate(current_apply, jaxpr, consts, args))
    finally:
        trace.live = False


@remembered
def split_jaxpr(jaxpr: Jaxpr, unknown: tuple[bool, ...], forced: tuple[bool, ...] = ()) -> Split:
    """Head and tail of `jaxpr` for these unknown inputs. An output that is `forced` comes out of the tail, known or not."""
    outer = Stage(current())
    with running(outer):
        inner = Record(outer)
        args = [inner.argument(v.aval) if u else outer.argument(v.aval) for v, u in zip(jaxpr.invars, unknown, strict=True)]
        with running(inner):
            outs = evaluate(current_apply, jaxpr, (), args)
        unknown_out = tuple(bool(f) or not inner.knows(x) for x, f in itertools.zip_longest(outs, forced))
        tail, residuals = inner.finish([x for x, u in zip(outs, unknown_out, strict=True) if u])
        known_vars = {x.variable: i for i, x in enumerate(a for a, u in zip(args, unknown, strict=True) if not u)}
        numbers = tuple(known_vars.get(r.variable) if isinstance(r, StagedTracer) else None for r in residuals)
        computed = [r for r, i in zip(residuals, numbers, strict=True) if i is None]
        head, consts = outer.finish([x for x, u in zip(outs, unknown_out, strict=True) if not u] + computed)
    return _smaller(Split(closed_over(head), consts, closed_over(tail), unknown_out, numbers))


def _smaller(split: Split) -> Split:
    """Residuals that only rearrange or repeat the elements of something no larger are made again in the tail, from that."""
    head, tail, first = split.head, split.tail, len(split.consts)
    made = {v: e for e in head.eqns for v in e.outputs if isinstance(e.primitive.loop, View)}
    count = split.unknown_out.count(False)
    computed = iter(head.outvars[count:])
    atoms = [next(computed) if i is None else head.invars[first + i] for i in split.residuals]
    if not any(a in made for a in atoms):
        return split
    inside: dict[Any, Var] = {}  # a value of the head -> its name in the tail
    kept: list[Any] = []
    eqns: list[Eqn] = []

    def source(a: Any) -> Any:
        """What `a` is a view of, where that is worth it."""
        x = made[a].inputs[0] if a in made else None
        return x if isinstance(x, Var) and (x.aval.size < a.aval.size or x in known) else None

    known = set(head.invars[first:]) | set(atoms)

    def name(a: Any, wanted: Var | None = None) -> Var:
        """The variable of the tail that holds `a`."""
        if a in inside:
            return inside[a]
        var = wanted if wanted is not None else Var(a.aval)
        x = source(a)
        if x is None:
            kept.append(a)
        else:
            eqns.append(made[a]._replace(inputs=(name(x), *made[a].inputs[1:]), outputs=(var,)))
        inside[a] = var
        return var

    renamed = {}
    for a, v in zip(atoms, tail.invars, strict=False):
        renamed[v] = name(a, v) if isinstance(a, Var) else v
        if not isinstance(a, Var):
            kept.append(a)
            inside[a] = v
    numbers = {v: i for i, v in enumerate(head.invars[first:])}
    body = [e._replace(inputs=tuple([renamed.get(x, x) for x in e.inputs])) for e in tail.eqns]
    outs = [renamed.get(x, x) for x in tail.outvars]
    residuals = tuple([numbers.get(a) for a in kept])
    new_head = head.replace(outvars=(*head.outvars[:count], *[a for a, i in zip(kept, residuals, strict=True) if i is None]))
    rest = tail.invars[len(atoms) :]
    new_tail = Jaxpr((), [*[inside[a] for a in kept], *rest], [*eqns, *body], outs)
    return Split(new_head, split.consts, new_tail, split.unknown_out, residuals)


def merge(flags: Sequence[bool], when_true: Sequence[Any], when_false: Sequence[Any]) -> list[Any]:
    """One list from two, by flag."""
    t, f = iter(when_true), iter(when_false)
    return [next(t) if flag else next(f) for flag in flags]
