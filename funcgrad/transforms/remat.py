"""The operator `checkpoint`: a program whose intermediate values are computed again in the backward pass instead of kept.

Partial evaluation keeps the known inputs (and what the policy allows) and records a call of the whole program on them;
its transpose computes the intermediate values again. Inside one compiled program the second computation must not be merged
with the first: its inputs go through `barrier`, which no pass looks through.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray
from funcgrad.ir.effects import effectful, needed_equations, pruned, silent_equation
from funcgrad.ir.evaluate import evaluate, evaluate_numpy
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Var
from funcgrad.ir.loop_rules import Call, Fence, View
from funcgrad.ir.primitive import LinearArg, Primitive, register
from funcgrad.ops._family import linear, uniform
from funcgrad.trace.interpreter import Operator, running
from funcgrad.trace.stage import Record, stage
from funcgrad.transforms.call import jit, transpose_jaxpr
from funcgrad.transforms.jvp import current_apply, jvp_jaxpr, remembered
from funcgrad.transforms.partial import merge, split_jaxpr
from funcgrad.transforms.vmap import Axis, of_any_axis, vmap_jaxpr

Policy = Callable[..., bool] | None
_numbers = itertools.count()


def _identity_samples(rng: Any, dtype: Any) -> list[Any]:
    draw = uniform(-9, 9)
    return [((draw(rng, shape, dtype),), {"number": 0}) for shape in ((3,), (), (2, 0))]


barrier = linear(
    "barrier",
    abstract=lambda x, number: x,
    numpy=lambda x, number: x,
    transpose=lambda ct, aval, number: ct,
    masks=True,
    batch=lambda x, d, size, number: (barrier(x, number=number), d),
    loop=Fence(),
    samples=_identity_samples,
    doc="The operand as it is; values on its two sides are never taken for one.",
)


def _name_samples(rng: Any, dtype: Any) -> list[Any]:
    return [(args, {"name": "a"}) for args, _ in _identity_samples(rng, dtype)]


name = linear(
    "name",
    abstract=lambda x, name: x,
    numpy=lambda x, name: x,
    transpose=lambda ct, aval, name: ct,
    masks=True,
    batch=lambda x, d, size, name: (_name(x, name), d),
    loop=View(lambda v, name: v),
    samples=_name_samples,
    doc="The operand as it is, under a name that checkpoint policies know.",
)


def _name(x: Any, text: str) -> Any:
    return name(x, name=text)


def _run(*args: Any, jaxpr: Jaxpr, policy: Policy, prevent_cse: bool) -> list[Any]:
    return evaluate(current_apply, jaxpr, (), args)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Jaxpr, policy: Policy, prevent_cse: bool) -> Any:
    moving = tuple(t is not None for t in tangents)
    program, consts, moving_out = jvp_jaxpr(jaxpr, moving)
    given = [t for t in tangents if t is not None]
    outs = checkpoint(*consts, *primals, *given, jaxpr=program, policy=policy, prevent_cse=prevent_cse)
    count = len(moving_out)
    return outs[:count], merge(moving_out, outs[count:], [None] * moving_out.count(False))


def _batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, jaxpr: Jaxpr, policy: Policy, prevent_cse: bool
) -> Any:
    program, consts, dims_out = vmap_jaxpr(jaxpr, axis, tuple(dims))
    return checkpoint(*consts, *args, jaxpr=program, policy=policy, prevent_cse=prevent_cse), dims_out


def _partial_eval(record: Record, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    jaxpr, policy = params["jaxpr"], params["policy"]
    unknown = tuple(not record.knows(x) for x in args)
    # The split goes through programs inside: afterwards each equation is either known or linear in the unknown.
    split = split_jaxpr(jaxpr if policy is None else _written_out(jaxpr)[0], unknown)
    head, known_count = split.head, split.unknown_out.count(False)
    computed = iter(head.outvars[known_count:])
    residuals = [next(computed) if i is None else head.invars[len(split.consts) + i] for i in split.residuals]
    saved: list[Var] = []
    again: list[Eqn] = []
    for eqn in head.eqns:
        allowed = policy is not None and policy(eqn.primitive, *[x.aval for x in eqn.inputs], **eqn.params)
        quiet = silent_equation(eqn)  # effects happen once, now
        if allowed or quiet is None or effectful(quiet):
            saved += eqn.outputs
        else:
            again.append(quiet)
    names = dict(zip(split.tail.invars, residuals, strict=False))
    tail_outs = [names.get(x, x) for x in split.tail.outvars]
    linear_eqns = [e._replace(inputs=tuple([names.get(x, x) for x in e.inputs])) for e in split.tail.eqns]
    tail_eqns = needed_equations([*again, *linear_eqns], tail_outs)
    used = {x for e in tail_eqns for x in e.inputs} | set(tail_outs)
    saved = [v for v in saved if v in used]
    known_args = [*split.consts, *[x for x, u in zip(args, unknown, strict=True) if not u]]
    now = Jaxpr((), head.invars, head.eqns, [*head.outvars[:known_count], *saved])
    with running(record.parent):  # type: ignore[arg-type]
        outs = evaluate(current_apply, pruned(now), (), known_args)
    unknown_args = [x for x, u in zip(args, unknown, strict=True) if u]
    tail = Jaxpr((), [*saved, *head.invars, *split.tail.invars[len(residuals) :]], tail_eqns, tail_outs)
    recorded = (
        record.record(checkpoint, (*outs[known_count:], *known_args, *unknown_args), params | {"jaxpr": tail})
        if tail_outs
        else []
    )
    return merge(split.unknown_out, recorded, outs[:known_count])


@remembered
def _written_out(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Any]]:
    """The program with jitted functions in place of their calls: a policy speaks of the operators inside."""

    def apply(prim: Primitive, args: list[Any], params: dict[str, Any]) -> Any:
        return evaluate(apply, params["jaxpr"], (), args) if prim is jit else current_apply(prim, args, params)

    return stage(lambda *xs: evaluate(apply, jaxpr, (), xs), jaxpr.in_avals)


def _transpose(cts: Sequence[Any], *args: Any, jaxpr: Jaxpr, policy: Policy, prevent_cse: bool) -> list[Any]:
    linear_args = tuple(isinstance(x, LinearArg) for x in args)
    live = tuple(ct is not None for ct in cts)
    program, consts, found = transpose_jaxpr(jaxpr, linear_args, live)
    known = [x for x, is_linear in zip(args, linear_args, strict=True) if not is_linear]
    if prevent_cse:
        number = next(_numbers)
        known = [barrier(x, number=number) for x in known]
    given = [ct for ct in cts if ct is not None]
    outs = iter(evaluate(current_apply, program, (), [*consts, *known, *given]) if any(found) else [])
    of_linear = iter([next(outs) if f else None for f in found])
    return [next(of_linear) if is_linear else None for is_linear in linear_args]


def _abstract(*avals: ShapedArray, jaxpr: Jaxpr, policy: Policy, prevent_cse: bool) -> list[ShapedArray]:
    return jaxpr.out_avals


checkpoint = register(
    Operator(
        "checkpoint",
        multiple_results=True,
        abstract=_abstract,
        numpy=lambda *arrays, jaxpr, policy, prevent_cse: evaluate_numpy(jaxpr, (), arrays),
        run=_run,
        jvp=_jvp,
        transpose=_transpose,
        **of_any_axis(_batch),
        partial_eval=_partial_eval,
        loop=Call("jaxpr"),
        dtypes=dt.ANY,
        samples="it carries a program: tests/api/test_checkpoint.py",
        doc="Runs `jaxpr`; reverse mode computes its intermediate values again instead of keeping them.",
    )
)
