"""The operator `scan`: a loop of known length.

    carry, (ys...) = scan(body, carry, xs):    carry, y = body(*consts, *carry, *x)    for each x of xs

Operands: consts, carry, xs (with a leading axis of extent `length`). Results: the last carry, then ys, stacked along axis 0.
`body` is a Jaxpr over (consts, carry, x); `reverse` walks from the end.

Reverse mode stores, for each step, what the backward step needs and no more: values that do not change from step to step stay
outside the loop, slices of xs are read again from xs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.ir.effects import effectful, needed
from funcgrad.ir.evaluate import evaluate, evaluate_numpy
from funcgrad.ir.jaxpr import Jaxpr, Literal, Var, closed_over
from funcgrad.ir.loop_rules import Loop
from funcgrad.ir.primitive import LinearArg, register
from funcgrad.ops._family import broadcast_batch, move_dim, zeros, zeros_like
from funcgrad.trace.interpreter import Operator, running
from funcgrad.trace.stage import Record, stage
from funcgrad.transforms.jvp import current_apply, jvp_jaxpr, remembered
from funcgrad.transforms.partial import merge, split_jaxpr
from funcgrad.transforms.transpose import add_cotangents, backward, whole
from funcgrad.transforms.vmap import Axis, of_any_axis, vmap_jaxpr


def parts(items: Sequence[Any], *sizes: int) -> list[list[Any]]:
    """`items` cut into lists of these sizes, and the rest."""
    out, start = [], 0
    for size in sizes:
        out.append(list(items[start : start + size]))
        start += size
    return [*out, list(items[start:])]


def reordered(jaxpr: Jaxpr, ins: Sequence[int], outs: Sequence[int]) -> Jaxpr:
    """The same program with its inputs and outputs in another order (or fewer outputs)."""
    return Jaxpr((), [jaxpr.invars[i] for i in ins], jaxpr.eqns, [jaxpr.outvars[i] for i in outs])


def unmapped(aval: ShapedArray) -> ShapedArray:
    """The aval of one slice along the leading axis."""
    return shaped(aval.shape[1:], aval.dtype, aval.weak_type)


def _abstract(*avals: ShapedArray, body: Jaxpr, consts: int, carry: int, length: int, reverse: bool) -> list[ShapedArray]:
    outs = body.out_avals
    return outs[:carry] + [shaped((length, *a.shape), a.dtype, a.weak_type) for a in outs[carry:]]


def _numpy(*arrays: Any, body: Jaxpr, consts: int, carry: int, length: int, reverse: bool) -> list[Any]:
    fixed, state, xs = parts(arrays, consts, carry)
    ys = [np.empty((length, *a.shape), a.dtype) for a in body.out_avals[carry:]]
    for i in range(length - 1, -1, -1) if reverse else range(length):
        outs = evaluate_numpy(body, (), [*fixed, *state, *[x[i] for x in xs]])
        state = outs[:carry]
        for y, value in zip(ys, outs[carry:], strict=True):
            y[i] = value
    return [*state, *ys]


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, body: Jaxpr, consts: int, carry: int, length: int, reverse: bool
) -> Any:
    moving = [t is not None for t in tangents]
    c_moving, i_moving, x_moving = parts(moving, consts, carry)
    while True:  # a carry moves if its start does, or if a step makes it so
        forced = tuple(i_moving) + (False,) * (len(body.outvars) - carry)
        program, hoisted, moving_out = jvp_jaxpr(body, (*c_moving, *i_moving, *x_moving), forced)
        if list(moving_out[:carry]) == i_moving:
            break
        i_moving = list(moving_out[:carry])
    h, n_xs = len(hoisted), len(x_moving)
    n_tc, n_ti = sum(c_moving), sum(i_moving)
    places = parts(range(len(program.invars)), h, consts, carry, n_xs, n_tc, n_ti)
    hs, cs, ins, xs, tcs, tis, txs = places
    n_out = len(body.outvars)
    o_carry, o_ys, o_tcarry, o_tys = parts(range(len(program.outvars)), carry, n_out - carry, n_ti)
    program = reordered(program, [*hs, *cs, *tcs, *ins, *tis, *xs, *txs], [*o_carry, *o_tcarry, *o_ys, *o_tys])
    p_c, p_i, p_x = parts(primals, consts, carry)
    t_c, t_i, t_x = parts(tangents, consts, carry)
    t_i = [zeros_like(x) if m and t is None else t for x, t, m in zip(p_i, t_i, i_moving, strict=True)]
    given = [t for t in t_c if t is not None], [t for t in t_i if t is not None], [t for t in t_x if t is not None]
    outs = scan(
        *hoisted, *p_c, *given[0], *p_i, *given[1], *p_x, *given[2],
        body=program, consts=h + consts + n_tc, carry=carry + n_ti, length=length, reverse=reverse,
    )  # fmt: skip
    out_carry, out_t, ys, t_ys = parts(outs, carry, n_ti, n_out - carry)
    flags = tuple(moving_out)
    return [*out_carry, *ys], merge(flags, [*out_t, *t_ys], [None] * flags.count(False))


def _batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    body: Jaxpr,
    consts: int,
    carry: int,
    length: int,
    reverse: bool,
) -> Any:
    c_dims, i_dims, x_dims = parts(dims, consts, carry)
    batched = [d is not None for d in i_dims]
    steps = [None if d is None else 0 for d in x_dims]
    while True:  # as for tangents
        forced = tuple(batched) + (False,) * (len(body.outvars) - carry)
        inner = (*c_dims, *[0 if b else None for b in batched], *steps)
        program, hoisted, dims_out = vmap_jaxpr(body, axis, inner, forced)
        if [d is not None for d in dims_out[:carry]] == batched:
            break
        batched = [d is not None for d in dims_out[:carry]]
    cs, ins, xs = parts(args, consts, carry)
    ins = [batch_first(x, d, axis.size) if b else x for x, d, b in zip(ins, i_dims, batched, strict=True)]
    xs = [x if d is None else move_dim(x, d, 1) for x, d in zip(xs, x_dims, strict=True)]
    outs = scan(*hoisted, *cs, *ins, *xs, body=program, consts=len(hoisted) + consts, carry=carry, length=length, reverse=reverse)
    return outs, [0 if b else None for b in batched] + [None if d is None else 1 for d in dims_out[carry:]]


def batch_first(x: Any, dim: int | None, size: int) -> Any:
    """`x` with its batch at axis 0, repeated if it had none."""
    return broadcast_batch(x, size) if dim is None else move_dim(x, dim, 0)


def _invariant(head: Jaxpr, fixed: int) -> set[Var]:
    """The variables of `head` that depend on its first `fixed` inputs alone."""
    known = set(head.invars[:fixed])
    for eqn in head.eqns:
        if not effectful(eqn) and all(isinstance(x, Literal) or x in known for x in eqn.inputs):
            known.update(eqn.outputs)
    return known


def _partial_eval(record: Record, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    body, consts, carry = params["body"], params["consts"], params["carry"]
    length, reverse = params["length"], params["reverse"]
    unknown = [not record.knows(x) for x in args]
    c_un, i_un, x_un = parts(unknown, consts, carry)
    while True:
        forced = tuple(i_un) + (False,) * (len(body.outvars) - carry)
        split = split_jaxpr(body, (*c_un, *i_un, *x_un), forced)
        if list(split.unknown_out[:carry]) == i_un:
            break
        i_un = list(split.unknown_out[:carry])
    h, head = len(split.consts), split.head
    n_c, n_i = c_un.count(False), i_un.count(False)
    known_out = split.unknown_out.count(False)
    a_c, a_i, a_x = parts(args, consts, carry)
    k_c, k_i, k_x = [[x for x, u in zip(xs, us, strict=True) if not u] for xs, us in ((a_c, c_un), (a_i, i_un), (a_x, x_un))]

    # Where each residual lives: outside the loop (the same in every step), in xs, or in the head's new stacked outputs.
    invariant = _invariant(head, h + n_c)
    computed = iter(head.outvars[known_out:])
    atoms = [next(computed) if i is None else head.invars[h + i] for i in split.residuals]
    outside = [a for a in atoms if isinstance(a, Var) and a in invariant]
    slices = {v: x for v, x in zip(head.invars[h + n_c + n_i :], k_x, strict=True)}
    stacked = [a for a in atoms if not (isinstance(a, Var) and (a in invariant or a in slices))]
    loop = Jaxpr((), head.invars, head.eqns, [*head.outvars[:known_out], *stacked])
    before = Jaxpr((), head.invars[: h + n_c], [e for e in head.eqns if e.outputs and set(e.outputs) <= invariant], outside)
    with running(record.parent):  # type: ignore[arg-type]
        outs = scan(
            *split.consts, *k_c, *k_i, *k_x, body=loop, consts=h + n_c, carry=n_i, length=length, reverse=reverse
        ) if needed(loop) else []  # fmt: skip
        fixed = evaluate(current_apply, before, (), [*split.consts, *k_c]) if outside else []
    known, new = parts(outs, known_out)
    new_of, fixed_of = iter(new), iter(fixed)

    # The tail: residuals of the loop's outside become consts, the others xs.
    u_c, u_i, u_x = [[x for x, u in zip(xs, us, strict=True) if u] for xs, us in ((a_c, c_un), (a_i, i_un), (a_x, x_un))]
    r = len(atoms)
    r_out, r_in, values_out, values_in = [], [], [], []
    for k, a in enumerate(atoms):
        if isinstance(a, Var) and a in invariant:
            r_out.append(k)
            values_out.append(next(fixed_of))
        else:
            r_in.append(k)
            values_in.append(slices[a] if isinstance(a, Var) and a in slices else next(new_of))
    p_c, p_i, p_x = parts(range(r, len(split.tail.invars)), len(u_c), len(u_i))
    tail = reordered(split.tail, [*r_out, *p_c, *p_i, *r_in, *p_x], range(len(split.tail.outvars)))
    tail_params = {"body": tail, "consts": len(r_out) + len(u_c), "carry": len(u_i), "length": length, "reverse": reverse}
    tail_outs = record.record(scan, (*values_out, *u_c, *u_i, *values_in, *u_x), tail_params) if needed(tail) else []
    return merge(split.unknown_out, tail_outs, known)


@remembered
def _transposed(body: Jaxpr, consts: int, carry: int, linear: tuple[bool, ...], live: tuple[bool, ...]) -> tuple:
    """One backward step: (residual consts), (ct of carry, sums of ct of linear consts), (residual xs, ct of live ys)
    -> (ct of carry, sums), (ct of linear xs)."""
    c_lin, _, x_lin = parts(linear, consts, carry)
    avals_c, avals_i, avals_x = parts(body.in_avals, consts, carry)
    res_c = [a for a, m in zip(avals_c, c_lin, strict=True) if not m]
    lin_c = [a.strong() for a, m in zip(avals_c, c_lin, strict=True) if m]
    res_x = [a for a, m in zip(avals_x, x_lin, strict=True) if not m]
    ct_y = [a.strong() for a, m in zip(body.out_avals[carry:], live, strict=True) if m]
    ct_i = [a.strong() for a in body.out_avals[:carry]]

    def step(*xs: Any) -> list[Any]:
        rc, ci, sums, rx, cy = parts(xs, len(res_c), carry, len(lin_c), len(res_x))
        given_c, given_x = iter(rc), iter(rx)
        args = [LinearArg(a) if m else next(given_c) for a, m in zip(avals_c, c_lin, strict=True)]
        args += [LinearArg(a) for a in avals_i]
        args += [LinearArg(a) if m else next(given_x) for a, m in zip(avals_x, x_lin, strict=True)]
        cts = backward(body, (), args, [*ci, *merge(live, cy, [None] * live.count(False))], placed=True)
        to_c, to_i, to_x = parts(cts, len(lin_c), carry)
        to_i = [zeros_like(x) if ct is None else whole(ct) for x, ct in zip(ci, to_i, strict=True)]
        sums = [s if ct is None else add_cotangents(s, ct) for s, ct in zip(sums, to_c, strict=True)]
        lin_x = [a for a, m in zip(avals_x, x_lin, strict=True) if m]
        to_x = [zeros(a) if ct is None else whole(ct) for a, ct in zip(lin_x, to_x, strict=True)]
        return [*to_i, *sums, *to_x]

    program, hoisted = stage(step, [*res_c, *ct_i, *lin_c, *res_x, *ct_y])
    return closed_over(program), hoisted


def _transpose(cts: Sequence[Any], *args: Any, body: Jaxpr, consts: int, carry: int, length: int, reverse: bool) -> list[Any]:
    linear = [isinstance(x, LinearArg) for x in args]
    c_lin, i_lin, x_lin = parts(linear, consts, carry)
    a_c, a_i, a_x = parts(args, consts, carry)
    ct_i, ct_y = parts(cts, carry)
    live = tuple(ct is not None for ct in ct_y)
    program, hoisted = _transposed(body, consts, carry, (*c_lin, *i_lin, *x_lin), live)
    res_c = [x for x, m in zip(a_c, c_lin, strict=True) if not m]
    res_x = [x for x, m in zip(a_x, x_lin, strict=True) if not m]
    start = [zeros(a.strong()) if ct is None else ct for a, ct in zip(body.out_avals[:carry], ct_i, strict=True)]
    sums = [zeros(x.aval.strong()) for x, m in zip(a_c, c_lin, strict=True) if m]
    outs = scan(
        *hoisted, *res_c, *start, *sums, *res_x, *[ct for ct in ct_y if ct is not None],
        body=program, consts=len(hoisted) + len(res_c), carry=carry + len(sums), length=length, reverse=not reverse,
    )  # fmt: skip
    to_i, to_c, to_x = parts(outs, carry, len(sums))
    cs, xs = iter(to_c), iter(to_x)
    found = [next(cs) if m else None for m in c_lin]
    found += [ct if m else None for ct, m in zip(to_i, i_lin, strict=True)]
    return found + [next(xs) if m else None for m in x_lin]


scan = register(
    Operator(
        "scan",
        multiple_results=True,
        abstract=_abstract,
        numpy=_numpy,
        jvp=_jvp,
        transpose=_transpose,
        **of_any_axis(_batch),
        partial_eval=_partial_eval,
        loop=Loop("scan"),
        dtypes=dt.ANY,
        samples="it carries a program: tests/lax/test_control.py",
        doc="A loop of known length over the leading axis of its operands.",
    )
)
