"""The operator `checkpoint`: a program whose intermediate values are computed again in the backward pass instead of kept.

Partial evaluation keeps the known inputs (and what the policy allows) and records a call of the whole program on them;
its transpose computes the intermediate values again. Inside one compiled program the second computation must not be merged with the first:
its inputs go through `barrier`, which no pass looks through.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray
from funcgrad.ir.effects import effectful
from funcgrad.ir.evaluate import evaluate, evaluate_numpy
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var
from funcgrad.ir.loop_rules import Call, View
from funcgrad.ir.primitive import LinearArg, register
from funcgrad.ops._family import linear, uniform
from funcgrad.trace.interpreter import Operator, running
from funcgrad.trace.stage import Record
from funcgrad.transforms.call import transpose_jaxpr
from funcgrad.transforms.jvp import current_apply, jvp_jaxpr
from funcgrad.transforms.partial import merge
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
    loop=lambda v, number: v,
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
    unknown = {v for v, x in zip(jaxpr.invars, args, strict=True) if not record.knows(x)}
    saved: list[Var] = []
    now, later = [], []
    for eqn in jaxpr.eqns:
        if any(x in unknown for x in eqn.inputs):
            unknown.update(eqn.outputs)
            later.append(eqn)
            continue
        now.append(eqn)
        allowed = policy is not None and policy(eqn.primitive, *[x.aval for x in eqn.inputs], **eqn.params)
        if allowed or effectful(eqn):  # effects happen once, now
            saved += eqn.outputs
        else:
            later.append(eqn)
    out_unknown = tuple(x in unknown for x in jaxpr.outvars)
    ins = [v for v in jaxpr.invars if v not in unknown]
    known_args = [x for x in args if record.knows(x)]
    tail_outs = [x for x in jaxpr.outvars if x in unknown]
    tail_eqns = _needed(later, tail_outs)
    used = {x for e in tail_eqns for x in e.inputs} | set(tail_outs)
    saved = [v for v in saved if v in used]
    head = Jaxpr((), ins, now, [*[x for x in jaxpr.outvars if x not in unknown], *saved])
    with running(record.parent):  # type: ignore[arg-type]
        outs = evaluate(current_apply, _pruned(head), (), known_args)
    known_count = out_unknown.count(False)
    free = [v for v in jaxpr.invars if v in unknown]
    tail = Jaxpr((), [*saved, *ins, *free], tail_eqns, tail_outs)
    unknown_args = [x for x in args if not record.knows(x)]
    recorded = (
        record.record(checkpoint, (*outs[known_count:], *known_args, *unknown_args), params | {"jaxpr": tail})
        if tail_outs
        else []
    )
    return merge(out_unknown, recorded, outs[:known_count])


def _needed(eqns: Sequence[Eqn], outs: Sequence[Any]) -> list[Eqn]:
    wanted = {x for x in outs if not isinstance(x, Literal)}
    kept = []
    for eqn in reversed(eqns):
        if effectful(eqn) or any(v in wanted for v in eqn.outputs):
            kept.append(eqn)
            wanted.update(x for x in eqn.inputs if not isinstance(x, Literal))
    return kept[::-1]


def _pruned(jaxpr: Jaxpr) -> Jaxpr:
    return jaxpr.replace(eqns=_needed(jaxpr.eqns, jaxpr.outvars))


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
        samples="it carries a program: tests/transforms/test_remat.py",
        doc="Runs `jaxpr`; reverse mode computes its intermediate values again instead of keeping them.",
    )
)
