"""The operator `cond`: one of several programs, chosen by an index.

Operands: an int32 scalar (0 .. number of branches - 1), then the operands of every branch. Results: those of the branch taken.

Under vmap a batched index either runs the branches lane by lane, as real branches (`scan` over the lanes; where the operands of a
lane are small, or a branch has effects), or all branches on the whole batch and a select (where they are large, so that each
branch stays a few wide kernels).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import ShapeError, message
from funcgrad.ir.effects import has_effects, needed
from funcgrad.ir.evaluate import evaluate, evaluate_numpy
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var
from funcgrad.ir.loop_rules import Loop
from funcgrad.ir.named_axes import axis_names
from funcgrad.ir.primitive import LinearArg, register
from funcgrad.ops._family import broadcast_in_dim, move_dim
from funcgrad.ops.select import select_n
from funcgrad.ops.shape import iota
from funcgrad.trace.interpreter import Operator, running
from funcgrad.trace.stage import Record
from funcgrad.trace.value import aval_of
from funcgrad.transforms.call import transpose_jaxpr
from funcgrad.transforms.checking import tag_lanes
from funcgrad.transforms.jvp import current_apply, jvp_jaxpr
from funcgrad.transforms.partial import merge, split_jaxpr
from funcgrad.transforms.scan import parts, reordered, scan, unmapped
from funcgrad.transforms.vmap import Axis, of_any_axis, vmap_jaxpr

# The elements of one lane's operands up to which batched branches run lane by lane.
LANE_ELEMENTS = 64


def _abstract(index: ShapedArray, *avals: ShapedArray, branches: tuple[Jaxpr, ...]) -> list[ShapedArray]:
    if index.shape != ():
        raise ShapeError(message(f"cond: got an index of {index}", "a scalar", "use fnp.where, or vmap the cond"))
    return branches[0].out_avals


def _numpy(index: Any, *arrays: Any, branches: tuple[Jaxpr, ...]) -> list[Any]:
    return evaluate_numpy(branches[int(index)], (), arrays)


def with_common_inputs(programs: Sequence[tuple[Jaxpr, list[Any]]]) -> tuple[tuple[Jaxpr, ...], list[Any]]:
    """Programs whose leading inputs are constants of their own, as programs that share all of the constants."""
    everything = [x for _, consts in programs for x in consts]
    if not everything:
        return tuple(p for p, _ in programs), []
    out, start = [], 0
    for program, consts in programs:
        spare = [Var(aval_of(x)) for x in everything]
        spare[start : start + len(consts)] = program.invars[: len(consts)]
        out.append(Jaxpr((), [*spare, *program.invars[len(consts) :]], program.eqns, program.outvars))
        start += len(consts)
    return tuple(out), everything


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, branches: tuple[Jaxpr, ...]) -> Any:
    index, *ops = primals
    moving = tuple(t is not None for t in tangents[1:])
    given = [t for t in tangents[1:] if t is not None]
    first = [jvp_jaxpr(b, moving)[2] for b in branches]
    forced = tuple(any(column) for column in zip(*first, strict=True))
    made = [jvp_jaxpr(b, moving, forced) for b in branches]
    programs, consts = with_common_inputs([(program, hoisted) for program, hoisted, _ in made])
    outs = cond(index, *consts, *ops, *given, branches=programs)
    count = len(forced)
    return outs[:count], merge(forced, outs[count:], [None] * forced.count(False))


def _batch(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, branches: tuple[Jaxpr, ...]) -> Any:
    index, *ops = args
    index_dim, *op_dims = dims
    size = axis.size
    lane = sum(aval_of(x).size // (max(size, 1) if d is not None else 1) for x, d in zip(ops, op_dims, strict=True))
    # A collective speaks of all lanes at once: then every branch runs on the whole batch.
    together = any([axis.name in axis_names(b) for b in branches])
    if index_dim is not None and not together and (lane <= LANE_ELEMENTS or any(map(has_effects, branches))):
        return by_lane(cond, size, args, dims, {"branches": branches})
    first = [vmap_jaxpr(b, axis, tuple(op_dims))[2] for b in branches]
    forced = tuple(index_dim is not None or any(d is not None for d in column) for column in zip(*first, strict=True))
    made = [vmap_jaxpr(b, axis, tuple(op_dims), forced) for b in branches]
    programs, consts = with_common_inputs([(program, hoisted) for program, hoisted, _ in made])
    out_dims = [0 if f else None for f in forced]
    if index_dim is None:
        return cond(index, *consts, *ops, branches=programs), out_dims
    results = [evaluate(current_apply, p, (), [*consts, *ops]) for p in programs]
    return [_choose(index, cases, size) for cases in zip(*results, strict=True)], out_dims


def _choose(index: Any, cases: Sequence[Any], size: int) -> Any:
    aval = aval_of(cases[0])
    which = broadcast_in_dim(index, shape=aval.shape, dims=(0,))
    return select_n(which, *cases) if len(cases) > 1 else cases[0]


def by_lane(prim: Operator, size: int, args: Sequence[Any], dims: Sequence[int | None], params: dict[str, Any]) -> Any:
    """A loop over lanes, each of which takes its own way through the operator."""
    lanes = [move_dim(x, d, 0) for x, d in zip(args, dims, strict=True) if d is not None]
    shared = [x for x, d in zip(args, dims, strict=True) if d is None]
    batched = tuple(d is not None for d in dims)
    body = lane_body(prim, params, batched, shared, lanes)
    if has_effects(body):  # its checks tell which lane failed
        lanes = [iota(dtype=dt.int64, shape=(size,), dimension=0), *lanes]
        lane, fixed, xs = parts(range(len(body.invars) + 1), 1, len(shared))
        body = reordered(tag_lanes(body), [*fixed, *lane, *xs], range(len(body.outvars)))
    outs = scan(*shared, *lanes, body=body, consts=len(shared), carry=0, length=size, reverse=False)
    return outs, [0] * len(outs)


def lane_body(
    prim: Operator, params: dict[str, Any], batched: tuple[bool, ...], shared: Sequence[Any], lanes: Sequence[Any]
) -> Jaxpr:
    """The program of one lane: (shared operands, one lane of the batched ones) -> the operator's results."""
    s = [Var(aval_of(x)) for x in shared]
    x = [Var(unmapped(aval_of(y))) for y in lanes]
    ins = merge(batched, list(x), list(s))
    from_rule = prim.abstract(*[v.aval for v in ins], **params)
    outs = [Var(a) for a in from_rule]
    return Jaxpr((), [*s, *x], [Eqn(prim, tuple(ins), tuple(outs), params)], outs)


def _partial_eval(record: Record, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    index, *ops = args
    branches = params["branches"]
    if not record.knows(index):
        return record.record(cond, args, params)
    unknown = tuple(not record.knows(x) for x in ops)
    first = [split_jaxpr(b, unknown).unknown_out for b in branches]
    forced = tuple(any(column) for column in zip(*first, strict=True))
    splits = [split_jaxpr(b, unknown, forced) for b in branches]
    known = [x for x, u in zip(ops, unknown, strict=True) if not u]
    unknowns = [x for x, u in zip(ops, unknown, strict=True) if u]
    count = forced.count(False)
    # Every head gives the residuals of all branches, zeros for those that are not its own.
    avals = [[v.aval for v in s.head.outvars[count:]] for s in splits]
    heads = []
    for k, s in enumerate(splits):
        own = s.head.outvars[count:]
        eqns, outs = list(s.head.eqns), list(s.head.outvars[:count])
        for j, group in enumerate(avals):
            if j == k:
                outs += own
                continue
            for a in group:
                v = Var(a.strong())
                eqns.append(Eqn(broadcast_in_dim, (zero_literal(a.dtype),), (v,), {"shape": a.shape, "dims": ()}))
                outs.append(v)
        heads.append((Jaxpr((), s.head.invars, eqns, outs), s.consts))
    programs, consts = with_common_inputs(heads)
    with running(record.parent):  # type: ignore[arg-type]
        outs = cond(index, *consts, *known, branches=programs) if any(map(needed, programs)) else []
    known_out, residuals = parts(outs, count)
    tails = []
    starts = np.cumsum([0, *map(len, avals)])
    for k, s in enumerate(splits):
        # (all residuals, known operands, unknown operands): each tail reads its own
        all_res = [Var(a) for group in avals for a in group]
        all_known = [Var(aval_of(x)) for x in known]
        mine = iter(range(starts[k], starts[k + 1]))
        r = len(s.residuals)
        for position, i in enumerate(s.residuals):
            v = s.tail.invars[position]
            if i is None:
                all_res[next(mine)] = v
        renamed = {s.tail.invars[p]: all_known[i] for p, i in enumerate(s.residuals) if i is not None}
        tails.append(_rename(Jaxpr((), [*all_res, *all_known, *s.tail.invars[r:]], s.tail.eqns, s.tail.outvars), renamed))
    if not any(map(needed, tails)):
        return merge(forced, [], known_out)
    tail_outs = record.record(cond, (index, *residuals, *known, *unknowns), {"branches": tuple(tails)})
    return merge(forced, tail_outs, known_out)


def zero_literal(dtype: np.dtype) -> Literal:
    """Zero, as it stands in a program."""
    return Literal(np.zeros((), dtype)[()], shaped((), dtype))


def _rename(jaxpr: Jaxpr, names: dict[Var, Var]) -> Jaxpr:
    def atom(x: Any) -> Any:
        return names.get(x, x) if isinstance(x, Var) else x

    eqns = [e._replace(inputs=tuple([atom(x) for x in e.inputs])) for e in jaxpr.eqns]
    return Jaxpr((), jaxpr.invars, eqns, [atom(x) for x in jaxpr.outvars])


def _transpose(cts: Sequence[Any], index: Any, *args: Any, branches: tuple[Jaxpr, ...]) -> list[Any]:
    linear = tuple(isinstance(x, LinearArg) for x in args)
    live = tuple(ct is not None for ct in cts)
    first = [transpose_jaxpr(b, linear, live)[2] for b in branches]
    forced = tuple(any(column) for column in zip(*first, strict=True))
    made = [transpose_jaxpr(b, linear, live, forced) for b in branches]
    programs, consts = with_common_inputs([(program, hoisted) for program, hoisted, _ in made])
    known = [x for x, m in zip(args, linear, strict=True) if not m]
    given = [ct for ct in cts if ct is not None]
    outs = iter(cond(index, *consts, *known, *given, branches=programs) if any(forced) else [])
    found = iter([next(outs) if f else None for f in forced])
    return [None] + [next(found) if m else None for m in linear]


cond = register(
    Operator(
        "cond",
        multiple_results=True,
        abstract=_abstract,
        numpy=_numpy,
        jvp=_jvp,
        transpose=_transpose,
        **of_any_axis(_batch),
        partial_eval=_partial_eval,
        loop=Loop("cond"),
        dtypes=dt.ANY,
        samples="it carries programs: tests/lax/test_control.py",
        doc="Runs one of several programs, chosen by an index.",
    )
)
