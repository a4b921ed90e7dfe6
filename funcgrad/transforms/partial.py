"""Partial evaluation of a program: what can be computed from the known inputs, and the rest.

In: a Jaxpr, and which inputs are unknown. Out: a head (known inputs -> known outputs, residuals) and a tail (residuals,
unknown inputs -> unknown outputs).
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import Jaxpr, closed_over
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
    return Split(closed_over(head), consts, closed_over(tail), unknown_out, numbers)


def merge(flags: Sequence[bool], when_true: Sequence[Any], when_false: Sequence[Any]) -> list[Any]:
    """One list from two, by flag."""
    t, f = iter(when_true), iter(when_false)
    return [next(t) if flag else next(f) for flag in flags]
