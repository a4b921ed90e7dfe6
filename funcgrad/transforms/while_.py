"""The operator `while`: a loop for as long as a condition holds.

Operands: consts of the condition, consts of the body, the carry. Results: the last carry.

Reverse mode needs the carries of all steps. Their number is not known before the loop ends, so the loop is run once to count its
steps, and then again as a `scan` of that length: that is possible where the operands have numbers (outside jit). Inside jit the
record needs a bound: `max_steps` gives it, and the loop is a scan of that many steps that stands still after its end.

Under vmap a batched condition makes a loop over the lanes (small carries, or effects: each lane stops by itself) or one loop on
the whole batch, which goes on until all lanes have ended (large carries).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import UsageError, message
from funcgrad.ir.effects import effectful, has_effects, silent
from funcgrad.ir.evaluate import evaluate, evaluate_numpy
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var, closed_over
from funcgrad.ir.loop_rules import Loop
from funcgrad.ir.named_axes import axis_names
from funcgrad.ir.primitive import register
from funcgrad.ops._family import add, broadcast_in_dim, reduce_or, zeros_like
from funcgrad.ops.convert import convert_element_type
from funcgrad.ops.select import select_n
from funcgrad.trace.interpreter import Operator, running
from funcgrad.trace.stage import Record, stage
from funcgrad.trace.value import aval_of
from funcgrad.transforms.cond import LANE_ELEMENTS, by_lane, cond
from funcgrad.transforms.jvp import current_apply, jvp_jaxpr
from funcgrad.transforms.partial import merge, split_jaxpr
from funcgrad.transforms.scan import batch_first, parts, reordered, scan
from funcgrad.transforms.vmap import Axis, of_any_axis, vmap_jaxpr


def _abstract(*avals: ShapedArray, cond: Jaxpr, body: Jaxpr, cond_consts: int, body_consts: int, max_steps: int | None) -> list:
    return body.out_avals


def _numpy(*arrays: Any, cond: Jaxpr, body: Jaxpr, cond_consts: int, body_consts: int, max_steps: int | None) -> list[Any]:
    c, b, state = parts(arrays, cond_consts, body_consts)
    while evaluate_numpy(cond, (), [*c, *state])[0]:
        state = evaluate_numpy(body, (), [*b, *state])
    return state


def _jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    cond: Jaxpr,
    body: Jaxpr,
    cond_consts: int,
    body_consts: int,
    max_steps: int | None,
) -> Any:
    c, b, state = parts(primals, cond_consts, body_consts)
    _, t_b, t_state = parts(tangents, cond_consts, body_consts)
    b_moving, moving = [t is not None for t in t_b], [t is not None for t in t_state]
    while True:
        program, hoisted, moving_out = jvp_jaxpr(body, (*b_moving, *moving), tuple(moving))
        if list(moving_out) == moving:
            break
        moving = list(moving_out)
    h, n = len(hoisted), len(state)
    hs, bs, ss, tbs, tss = parts(range(len(program.invars)), h, body_consts, n, sum(b_moving))
    program = reordered(program, [*hs, *bs, *tbs, *ss, *tss], range(len(program.outvars)))
    t_state = [zeros_like(x) if m and t is None else t for x, t, m in zip(state, t_state, moving, strict=True)]
    given = [t for t in t_state if t is not None]
    watched = Jaxpr((), [*cond.invars, *[Var(aval_of(t)) for t in given]], cond.eqns, cond.outvars)
    outs = while_(
        *c, *hoisted, *b, *[t for t in t_b if t is not None], *state, *given,
        cond=watched, body=program, cond_consts=cond_consts, body_consts=h + body_consts + sum(b_moving), max_steps=max_steps,
    )  # fmt: skip
    return outs[:n], merge(tuple(moving), outs[n:], [None] * moving.count(False))


def _batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    cond: Jaxpr,
    body: Jaxpr,
    cond_consts: int,
    body_consts: int,
    max_steps: int | None,
) -> Any:
    c_dims, b_dims, s_dims = parts(dims, cond_consts, body_consts)
    c, b, state = parts(args, cond_consts, body_consts)
    size, batched = axis.size, [d is not None for d in s_dims]
    while True:
        inner = (*b_dims, *[0 if m else None for m in batched])
        program, hoisted, dims_out = vmap_jaxpr(body, axis, inner, tuple(batched))
        if [d is not None for d in dims_out] == batched:
            break
        batched = [d is not None for d in dims_out]
    c_inner = (*c_dims, *[0 if m else None for m in batched])
    test, test_consts, test_dims = vmap_jaxpr(cond, axis, c_inner)
    moved = [batch_first(x, d, size) if m else x for x, d, m in zip(state, s_dims, batched, strict=True)]
    if test_dims[0] is not None:
        lane = sum(a.size for a in body.out_avals)
        together = axis.name in axis_names(cond) | axis_names(body)  # a collective speaks of all lanes at once
        if not together and (lane <= LANE_ELEMENTS or has_effects(cond) or has_effects(body)):
            params = {
                "cond": cond,
                "body": body,
                "cond_consts": cond_consts,
                "body_consts": body_consts,
                "max_steps": max_steps,
            }
            return by_lane(while_, size, args, dims, params)
        batched = [True] * len(batched)
        moved = [batch_first(x, d, size) for x, d in zip(state, s_dims, strict=True)]
        inner = (*b_dims, *[0] * len(state))
        program, hoisted, _ = vmap_jaxpr(body, axis, inner, tuple(batched))
        test, test_consts, _ = vmap_jaxpr(cond, axis, (*c_dims, *[0] * len(state)), (True,))
        return _together(size, program, hoisted, b, test, test_consts, c, moved, max_steps)
    outs = while_(
        *test_consts, *c, *hoisted, *b, *moved,
        cond=test, body=program, cond_consts=len(test_consts) + cond_consts, body_consts=len(hoisted) + body_consts,
        max_steps=max_steps,
    )  # fmt: skip
    return outs, [0 if m else None for m in batched]


def _together(
    size: int, program: Jaxpr, hoisted: Any, b: Any, test: Jaxpr, test_consts: Any, c: Any, state: Any, max_steps: Any
) -> Any:
    """One loop on the whole batch; lanes that have ended keep what they have."""
    n_test, n_c, n_body = len(test_consts), len(c), len(hoisted) + len(b)

    def any_goes_on(*xs: Any) -> list[Any]:
        return [reduce_or(evaluate(current_apply, test, (), xs)[0], axes=(0,))]

    def step(*xs: Any) -> list[Any]:
        tests, bodies, now = parts(xs, n_test + n_c, n_body)
        goes_on = evaluate(current_apply, test, (), [*tests, *now])[0]
        after = evaluate(current_apply, program, (), [*bodies, *now])
        return [
            select_n(broadcast_in_dim(goes_on, shape=aval_of(y).shape, dims=(0,)), x, y) for x, y in zip(now, after, strict=True)
        ]

    tests, bodies = [*test_consts, *c], [*hoisted, *b]
    avals = [[aval_of(x) for x in xs] for xs in (tests, bodies, state)]
    cond_program, _ = stage(any_goes_on, avals[0] + avals[2])
    body_program, _ = stage(step, avals[0] + avals[1] + avals[2])
    outs = while_(
        *tests, *tests, *bodies, *state,
        cond=cond_program, body=body_program, cond_consts=len(tests), body_consts=len(tests) + len(bodies), max_steps=max_steps,
    )  # fmt: skip
    return outs, [0] * len(outs)


def _partial_eval(record: Record, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    """Reverse mode: the loop as a scan of known length."""
    steps = params["max_steps"]
    if steps is None:
        steps = _count(record, args, params)
    return _as_scan(args, params, steps)


def _count(record: Record, args: tuple[Any, ...], params: dict[str, Any]) -> int:
    """How many steps the loop takes, from its known operands."""
    known = [x if record.knows(x) else None for x in args]
    c, b, state = parts(known, params["cond_consts"], params["body_consts"])
    fixed, moving = [x is None for x in b], [x is None for x in state]
    body = silent(params["body"])  # its effects happen in the scan
    while True:  # the known carries must not depend on unknown ones; those are tangents, which steer nothing
        split = split_jaxpr(body, (*fixed, *moving), tuple(moving))
        if list(split.unknown_out) == moving:
            break
        moving = list(split.unknown_out)
    keep = [i for i, m in enumerate(moving) if not m]
    constants = [*split.consts, *[x for x in b if x is not None]]
    with running(record.parent):  # type: ignore[arg-type]
        counted = while_(
            *c, *constants, *[state[i] for i in keep], np.int64(0),
            **_counting(params["cond"], split.head, len(c), len(constants), keep),
        )[-1]  # fmt: skip
    number = counted.concrete()
    if number is None:
        raise UsageError(
            message(
                "while_loop: reverse mode inside jit needs a record of the carries, whose length is not known when it is traced",
                "a loop with a bound, or reverse mode outside jit",
                "give while_loop(..., max_steps=n), or use fori_loop or scan with a static length",
            )
        )
    return int(np.asarray(number))


def _counting(cond: Jaxpr, head: Jaxpr, cond_consts: int, consts: int, keep: list[int]) -> dict[str, Any]:
    """The loop of the known carries, and of a counter. `head` gives these carries of the next step first."""
    counter, number = Var(shaped((), dt.int64)), Var(shaped((), dt.int64))
    one = Literal(np.int64(1), shaped((), dt.int64))
    outs = list(head.outvars[: len(keep)])
    eqns = [*_needed(head, outs), Eqn(add, (counter, one), (number,), {})]
    step = Jaxpr((), [*head.invars, counter], eqns, [*outs, number])
    watched = [cond.invars[cond_consts + i] for i in keep]
    test = Jaxpr((), [*cond.invars[:cond_consts], *watched, Var(counter.aval)], cond.eqns, cond.outvars)
    return {"cond": test, "body": step, "cond_consts": cond_consts, "body_consts": consts, "max_steps": None}


def _needed(jaxpr: Jaxpr, outs: list[Any]) -> list[Eqn]:
    """The equations that these outputs depend on."""
    wanted = {x for x in outs if isinstance(x, Var)}
    kept = []
    for eqn in reversed(jaxpr.eqns):
        if effectful(eqn) or any(v in wanted for v in eqn.outputs):
            kept.append(eqn)
            wanted.update(x for x in eqn.inputs if isinstance(x, Var))
    return kept[::-1]


def _as_scan(args: tuple[Any, ...], params: dict[str, Any], steps: int) -> list[Any]:
    """`steps` steps, each of which does nothing once the condition has failed."""
    test, body, cc, bc = params["cond"], params["body"], params["cond_consts"], params["body_consts"]
    exact = params["max_steps"] is None
    if exact:
        c, b, state = parts(args, cc, bc)
        return scan(*b, *state, body=body, consts=bc, carry=len(state), length=steps, reverse=False)

    def step(*xs: Any) -> list[Any]:
        c, b, state = parts(xs, cc, bc)
        (goes_on,) = evaluate(current_apply, test, (), [*c, *state])
        index = convert_element_type(goes_on, new_dtype=dt.int32)
        still = Jaxpr((), body.invars, (), body.invars[bc:])
        return cond(index, *b, *state, branches=(still, body))

    program, consts = stage(step, [aval_of(x) for x in args])
    carry = len(args) - cc - bc
    return scan(*consts, *args, body=closed_over(program), consts=len(consts) + cc + bc, carry=carry, length=steps, reverse=False)


while_ = register(
    Operator(
        "while",
        multiple_results=True,
        abstract=_abstract,
        numpy=_numpy,
        jvp=_jvp,
        transpose="reverse mode makes a scan of it first",
        **of_any_axis(_batch),
        partial_eval=_partial_eval,
        loop=Loop("while"),
        dtypes=dt.ANY,
        samples="it carries programs: tests/transforms/test_while.py",
        doc="A loop for as long as a condition on its carry holds.",
    )
)
