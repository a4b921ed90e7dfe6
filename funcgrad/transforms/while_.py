"""The operator `while`: a loop for as long as a condition holds.

Operands: consts of the condition, consts of the body, the carry. Results: the last carry. With `counted` the first carry counts
the steps from 0 up to the condition's only const.

Reverse mode needs the carries of all steps, and their number is not known before the loop ends. The loop of what is known runs
first, and counts. Where the number comes out (outside jit) the rest is a `scan` of that length, which keeps every carry. Inside
jit the rest is recorded as a counted loop, whose transpose walks back with a fixed number of kept carries (`slots`; rewind.py),
as it does everywhere when the user gives that number. With `max_steps` the loop is a scan of so many steps that stands still
after its end.

Under vmap a batched condition makes a loop over the lanes (where a step computes little for a lane, or has effects: each lane
stops by itself) or one loop on the whole batch, which goes on until all lanes have ended.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.ir.effects import has_effects, pruned, silent
from funcgrad.ir.evaluate import evaluate, evaluate_numpy
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var, closed_over
from funcgrad.ir.loop_rules import Indexed, Loop
from funcgrad.ir.named_axes import axis_names
from funcgrad.ir.primitive import LinearArg, register
from funcgrad.ops._family import add, broadcast_in_dim, reduce_or, zeros, zeros_like
from funcgrad.ops.compare import lt
from funcgrad.ops.convert import convert_element_type
from funcgrad.ops.select import select_n
from funcgrad.trace.interpreter import Operator, running
from funcgrad.trace.stage import Record, stage
from funcgrad.trace.value import aval_of
from funcgrad.transforms.cond import LANE_ELEMENTS, by_lane, cond
from funcgrad.transforms.jvp import current_apply, jvp_jaxpr, remembered
from funcgrad.transforms.partial import Split, merge, split_jaxpr
from funcgrad.transforms.rewind import default_slots, walk_back
from funcgrad.transforms.scan import batch_first, parts, reordered, scan
from funcgrad.transforms.transpose import add_cotangents, backward, whole
from funcgrad.transforms.vmap import Axis, of_any_axis, vmap_jaxpr


class Way(NamedTuple):
    """How reverse mode goes: a bound of the steps, the number of carries that are kept; and whether the loop is a counted one."""

    max_steps: int | None = None
    slots: int | None = None
    counted: bool = False


def _abstract(*avals: ShapedArray, cond: Jaxpr, body: Jaxpr, cond_consts: int, body_consts: int, way: Way) -> list:
    return body.out_avals


def _numpy(*arrays: Any, cond: Jaxpr, body: Jaxpr, cond_consts: int, body_consts: int, way: Way) -> list[Any]:
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
    way: Way,
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
        cond=watched, body=program, cond_consts=cond_consts, body_consts=h + body_consts + sum(b_moving), way=way,
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
    way: Way,
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
        lane = _step_elements(body, body_consts)
        together = axis.name in axis_names(cond) | axis_names(body)  # a collective speaks of all lanes at once
        if not together and (lane <= LANE_ELEMENTS or has_effects(cond) or has_effects(body)):
            params = {
                "cond": cond,
                "body": body,
                "cond_consts": cond_consts,
                "body_consts": body_consts,
                "way": way,
            }
            return by_lane(while_, size, args, dims, params)
        batched = [True] * len(batched)
        moved = [batch_first(x, d, size) for x, d in zip(state, s_dims, strict=True)]
        inner = (*b_dims, *[0] * len(state))
        program, hoisted, _ = vmap_jaxpr(body, axis, inner, tuple(batched))
        test, test_consts, _ = vmap_jaxpr(cond, axis, (*c_dims, *[0] * len(state)), (True,))
        return _together(size, program, hoisted, b, test, test_consts, c, moved, way._replace(counted=False))
    outs = while_(
        *test_consts, *c, *hoisted, *b, *moved,
        cond=test, body=program, cond_consts=len(test_consts) + cond_consts, body_consts=len(hoisted) + body_consts,
        way=way,
    )  # fmt: skip
    return outs, [0 if m else None for m in batched]


def _together(
    size: int, program: Jaxpr, hoisted: Any, b: Any, test: Jaxpr, test_consts: Any, c: Any, state: Any, way: Way
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
        cond=cond_program, body=body_program, cond_consts=len(tests), body_consts=len(tests) + len(bodies), way=way,
    )  # fmt: skip
    return outs, [0] * len(outs)


def _step_elements(body: Jaxpr, consts: int) -> int:
    """How many elements of the carry a step computes: of what it writes into a carry's own memory, those written."""
    made = {v: e for e in body.eqns for v in e.outputs}
    total = 0
    for before, after in zip(body.invars[consts:], body.outvars, strict=True):
        eqn = made.get(after) if isinstance(after, Var) else None
        if eqn is not None and isinstance(eqn.primitive.loop, Indexed) and eqn.primitive.loop.window and eqn.inputs[0] is before:
            after = eqn.inputs[1]
        total += after.aval.size if after is not before else 0
    return total


# --- reverse mode -----------------------------------------------------------------------------------------------


def _partial_eval(record: Record, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    way = params["way"]
    if way.max_steps is not None:
        return _as_scan(args, params, way.max_steps)
    c, b, state = parts(args, params["cond_consts"], params["body_consts"])
    body = params["body"]
    fixed, moving = [not record.knows(x) for x in b], [not record.knows(x) for x in state]
    split, moving = _split(silent(body), fixed, moving)
    constants = [*split.consts, *[x for x, m in zip(b, fixed, strict=True) if not m]]
    known = [x for x, m in zip(state, moving, strict=True) if not m]
    with running(record.parent):  # type: ignore[arg-type]
        *outs, count = _run_counting(params["cond"], split.head, c, constants, known, moving)
        number = count.concrete()
        if number is None and has_effects(body):
            loud = _split(body, fixed, moving)[0]
            constants = [*loud.consts, *[x for x, m in zip(b, fixed, strict=True) if not m]]
            *outs, count = _run_counting(params["cond"], loud.head, c, constants, known, moving)
    if number is not None and way.slots is None:
        return _as_scan(args, params, int(np.asarray(number)))
    counted = {
        "cond": _up_to(body.out_avals),
        "body": _counting(silent(body), len(b)),
        "cond_consts": 1,
        "body_consts": len(b),
        "way": way._replace(counted=True),
    }
    _, *tail = record.record(while_, (count, *b, np.int64(0), *state), counted)
    return merge(moving, [x for x, m in zip(tail, moving, strict=True) if m], outs)


def _split(body: Jaxpr, fixed: Sequence[bool], moving: Sequence[bool]) -> tuple[Split, list[bool]]:
    """Head and tail of a step, and which carries are unknown: those that start so, and those that a step makes so."""
    moving = list(moving)
    while True:
        split = split_jaxpr(body, (*fixed, *moving), tuple(moving))
        if list(split.unknown_out) == moving:
            return split, moving
        moving = list(split.unknown_out)


def _run_counting(
    cond: Jaxpr, head: Jaxpr, c: Sequence[Any], constants: Sequence[Any], known: Sequence[Any], moving: Sequence[bool]
) -> list[Any]:
    """The loop of the known carries (a step gives them first in `head`), with its number of steps after them."""
    step = pruned(head.replace(outvars=head.outvars[: len(known)]))
    step = _counting(step, len(constants))
    order = [*range(len(constants)), *range(len(constants) + 1, len(step.invars)), len(constants)]
    step = reordered(step, order, [*range(1, len(step.outvars)), 0])
    # The condition cannot look at unknown carries: those are tangents, which steer nothing.
    watched = [v for v, m in zip(cond.invars[len(c) :], moving, strict=True) if not m]
    test = Jaxpr((), [*cond.invars[: len(c)], *watched, Var(shaped((), dt.int64))], cond.eqns, cond.outvars)
    return while_(
        *c, *constants, *known, np.int64(0),
        cond=test, body=step, cond_consts=len(c), body_consts=len(constants), way=Way(),
    )  # fmt: skip


def _counting(body: Jaxpr, consts: int) -> Jaxpr:
    """A step that counts as well: the counter comes first among the carries."""
    counter, number = Var(shaped((), dt.int64)), Var(shaped((), dt.int64))
    one = Literal(np.int64(1), shaped((), dt.int64))
    eqns = [*body.eqns, Eqn(add, (counter, one), (number,), {})]
    return Jaxpr((), [*body.invars[:consts], counter, *body.invars[consts:]], eqns, [number, *body.outvars])


def _up_to(avals: Sequence[ShapedArray]) -> Jaxpr:
    """The condition of a counted loop: (count, counter, carries) -> counter < count."""
    count, counter, out = Var(shaped((), dt.int64)), Var(shaped((), dt.int64)), Var(shaped((), dt.bool_))
    return Jaxpr((), [count, counter, *[Var(a) for a in avals]], [Eqn(lt, (counter, count), (out,), {})], [out])


@remembered
def _backward_step(body: Jaxpr, linear: tuple[bool, ...], consts: int) -> tuple[Jaxpr, list[Any]]:
    """One step on the way back, for a body that is linear in these inputs (and the carries among them, in these outputs):
    (known consts, known carry, cts of the carry, sums of the cts of linear consts) -> (cts of the carry, sums)."""
    split = split_jaxpr(body, linear, linear[consts:])
    head, first = split.head, len(split.consts)
    lin_c = sum(linear[:consts])
    ins = split.tail.in_avals[len(split.residuals) :]
    known_out = len(head.outvars) - sum(i is None for i in split.residuals)

    def step(*xs: Any) -> list[Any]:
        known, cts, sums = parts(xs, len(head.invars), len(split.tail.outvars))
        made = iter(evaluate(current_apply, pruned(head.replace(outvars=head.outvars[known_out:])), (), known))
        residuals = [next(made) if i is None else known[first + i] for i in split.residuals]
        found = backward(split.tail, (), [*residuals, *[LinearArg(a) for a in ins]], cts, placed=True)
        to_c, to_state = parts(found, lin_c)
        to_state = [zeros_like(x) if ct is None else whole(ct) for x, ct in zip(cts, to_state, strict=True)]
        return [*to_state, *[s if ct is None else add_cotangents(s, ct) for s, ct in zip(sums, to_c, strict=True)]]

    of_cts = [a.strong() for a in [*split.tail.out_avals, *ins[:lin_c]]]
    program, hoisted = stage(step, [*head.in_avals, *of_cts])
    return closed_over(program), hoisted


def _transpose(
    cts: Sequence[Any], *args: Any, cond: Jaxpr, body: Jaxpr, cond_consts: int, body_consts: int, way: Way
) -> list[Any]:
    c, b, state = parts(args, cond_consts, body_consts)
    b_lin, s_lin = [isinstance(x, LinearArg) for x in b], [isinstance(x, LinearArg) for x in state]
    body = silent(body)
    split, moving = _split(body, b_lin, s_lin)
    constants = [*split.consts, *[x for x, m in zip(b, b_lin, strict=True) if not m]]
    # A carry that starts known and becomes linear starts with a tangent of zero.
    known = [x for x, m in zip(state, moving, strict=True) if not m]
    count = c[0] if way.counted else _run_counting(cond, split.head, c, constants, known, moving)[-1]
    back, hoisted = _backward_step(body, (*b_lin, *moving), body_consts)
    forward = pruned(split.head.replace(outvars=split.head.outvars[: len(known)]))
    given = [ct for ct, m in zip(cts, moving, strict=True) if m]
    avals = [a.strong() for a, m in zip(body.out_avals, moving, strict=True) if m]
    start = [zeros(a) if ct is None else ct for ct, a in zip(given, avals, strict=True)]
    sums = [zeros(x.aval.strong()) for x in b if isinstance(x, LinearArg)]
    slots = way.slots or default_slots([aval_of(x) for x in known])
    walk = walk_back(forward, back, constants, [*hoisted, *constants], count, known, [*start, *sums], slots)
    outs = while_(
        *walk.consts, *walk.carry,
        cond=walk.test, body=walk.body, cond_consts=0, body_consts=len(walk.consts), way=Way(slots=way.slots),
    )[walk.cotangents :]  # fmt: skip
    of_state, of_consts = iter(outs[: len(start)]), iter(outs[len(start) :])
    to_state = [next(of_state) if m else None for m in moving]
    found = [next(of_consts) if m else None for m in b_lin]
    return [None] * cond_consts + found + [ct if m else None for ct, m in zip(to_state, s_lin, strict=True)]


def _as_scan(args: tuple[Any, ...], params: dict[str, Any], steps: int) -> list[Any]:
    """`steps` steps, each of which does nothing once the condition has failed."""
    test, body, cc, bc = params["cond"], params["body"], params["cond_consts"], params["body_consts"]
    exact = params["way"].max_steps is None
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
        transpose=_transpose,
        **of_any_axis(_batch),
        partial_eval=_partial_eval,
        loop=Loop("while"),
        dtypes=dt.ANY,
        samples="it carries programs: tests/lax/test_control.py",
        doc="A loop for as long as a condition on its carry holds.",
    )
)
