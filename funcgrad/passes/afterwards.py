"""Sums of products leave scans: one product over all steps after the loop for a running sum of small ones inside.

In: a Jaxpr. Out: the same, where a carry that only adds up products (a weight's gradient: `g + outer(d, h)` in each step) is one
product that is contracted over the steps as well: [steps, m]' @ [steps, n]. A step then keeps the vectors d and h, and does not
read and write a whole matrix (64 by 64: 3 us on a Xeon). What is kept in addition has to be small beside what the loop reads and
writes anyway. The sums come in another order, as they do in any product.
"""

from collections import Counter
from math import prod
from typing import Any, NamedTuple

from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.ir.effects import needed_equations
from funcgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Var
from funcgrad.ir.primitive import primitive
from funcgrad.passes.ahead import MOST_BYTES, ROWS, by_blas, is_scan

KEPT = 2  # elements that are kept of a step for one that it reads or writes anyway, at most


def afterwards(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` with sums of products in its scans taken after the loops."""
    if not any([is_scan(e) for e in jaxpr.eqns]):
        return jaxpr
    eqns: list[Eqn] = []
    for eqn in jaxpr.eqns:
        eqns += _taken(eqn) if is_scan(eqn) else [eqn]
    return jaxpr.replace(eqns=eqns)


class _Sum(NamedTuple):
    """Carry `number`, which adds up: `moved` are the products that leave, each with the permutations between it and the sum;
    `rest` are the terms that stay."""

    number: int
    moved: list[tuple[Eqn, list[Eqn]]]
    rest: list[Any]


def _taken(eqn: Eqn) -> list[Eqn]:
    """The loop without sums of products, then these products."""
    body, length = eqn.params["body"], eqn.params["length"]
    nc, n = eqn.params["consts"], eqn.params["carry"]
    xs = dict(zip(body.invars[nc + n :], eqn.inputs[nc + n :], strict=True))
    ys = {x: v for x, v in zip(body.outvars[n:], eqn.outputs[n:], strict=True) if x.__class__ is Var}
    kept: dict[Any, Var] = {}  # what is kept of each step in addition
    room = KEPT * sum([v.aval.size for v in (*xs, *body.outvars[n:])])
    sums: list[_Sum] = []
    for number in range(n):
        found = _sum(body, number, nc)
        if found is None:
            continue
        moved = []
        for e, views in found.moved:
            new = {x: Var(_of_all_steps(x.aval, length)) for x in e.inputs if x not in xs and x not in ys and x not in kept}
            size = sum([x.aval.size for x in new])
            out = e.outputs[0].aval
            if 2 * size <= out.size and size <= room and length * size * out.dtype.itemsize <= MOST_BYTES:
                room -= size
                kept |= new
                moved.append((e, views))
            else:
                found.rest.append((views[-1] if views else e).outputs[0])
        if moved:
            sums.append(found._replace(moved=moved))
    if not sums:
        return [eqn]
    starts = {s.number: Var(eqn.outputs[s.number].aval) if s.rest else eqn.inputs[nc + s.number] for s in sums}
    loop = _without(eqn, sums, starts, kept)
    return [loop, *[e for s in sums for e in _whole(eqn, s, starts[s.number], xs | ys | kept)]]


def _sum(body: Jaxpr, number: int, nc: int) -> _Sum | None:
    """Carry `number` as a sum that nothing else reads, or None."""
    used = Counter([x for xs in (*[e.inputs for e in body.eqns], body.outvars) for x in xs])
    made_by = {v: e for e in body.eqns for v in e.outputs}
    carry, out = body.invars[nc + number], body.outvars[number]
    if used[carry] != 1:
        return None
    fixed = set(body.invars[:nc])
    terms: list[Any] = [out]
    rest, moved, seen = [], [], False
    while terms:
        x = terms.pop()
        e = made_by.get(x)
        if x is carry:
            seen = True
        elif e is not None and used[x] == 1 and e.primitive.name == "add" and _same(e):
            terms += e.inputs
        elif (found := _product(x, made_by, used, fixed)) is not None:
            moved.append(found)
        else:
            rest.append(x)
    return _Sum(number, moved, rest) if seen and moved else None


def _same(eqn: Eqn) -> bool:
    """Whether operands and result are alike: nothing is broadcast or converted."""
    out = eqn.outputs[0].aval
    return all([x.aval.shape == out.shape and x.aval.dtype == out.dtype for x in eqn.inputs])


def _product(x: Atom, made_by: dict[Any, Eqn], used: Counter, fixed: set[Any]) -> tuple[Eqn, list[Eqn]] | None:
    """(the product that `x` is, the permutations of its axes on the way to x), or None."""
    views: list[Eqn] = []
    while used[x] == 1 and x in made_by:
        e = made_by[x]
        if e.primitive.name == "transpose":
            views.insert(0, e)
            x = e.inputs[0]
            continue
        if not by_blas(e) or not fixed.isdisjoint(e.inputs):
            return None
        (lc, _), _ = e.params["dimension_numbers"]
        few = prod([e.inputs[0].aval.shape[i] for i in lc]) <= ROWS
        return (e, views) if few else None
    return None


def _without(eqn: Eqn, sums: list[_Sum], starts: dict[int, Any], kept: dict[Any, Var]) -> Eqn:
    """The loop whose carries add up only what stays, or are gone; it gives what is kept of each step."""
    p, body = eqn.params, eqn.params["body"]
    nc, n = p["consts"], p["carry"]
    outs, inner, gone = list(body.outvars), list(body.eqns), set()
    for s in sums:
        if not s.rest:
            gone.add(s.number)
            continue
        total: Atom = body.invars[nc + s.number]
        for x in s.rest:
            new = Var(outs[s.number].aval)
            inner.append(Eqn(primitive("add"), (total, x), (new,), {}, eqn.source))
            total = new
        outs[s.number] = total
    moving = [k for k in range(n) if k not in gone]
    outs = [*[outs[k] for k in moving], *outs[n:], *kept]
    eqns = needed_equations(inner, outs)
    read = {x for xs in (*[e.inputs for e in eqns], outs) for x in xs}
    xs = [i for i in range(nc + n, len(body.invars)) if body.invars[i] in read]
    ins = [*range(nc), *[nc + k for k in moving], *xs]
    program = Jaxpr((), [body.invars[i] for i in ins], eqns, outs)
    results = [*[starts.get(k, eqn.outputs[k]) for k in moving], *eqn.outputs[n:], *kept.values()]
    return eqn._replace(
        inputs=tuple([eqn.inputs[i] for i in ins]), outputs=tuple(results), params=p | {"body": program, "carry": len(moving)}
    )


def _whole(eqn: Eqn, s: _Sum, start: Any, steps: dict[Any, Any]) -> list[Eqn]:
    """The sum after the loop: what stayed in it, or where it started, and the products over all steps."""
    made: list[Eqn] = []
    total = start
    for k, (e, views) in enumerate(s.moved):
        (lc, rc), (lb, rb) = e.params["dimension_numbers"]
        params = e.params | {"dimension_numbers": (((0, *_later(lc)), (0, *_later(rc))), (_later(lb), _later(rb)))}
        x = Var(e.outputs[0].aval)
        made.append(e._replace(inputs=tuple([steps[v] for v in e.inputs]), outputs=(x,), params=params))
        for view in views:
            new = Var(view.outputs[0].aval)
            made.append(view._replace(inputs=(x,), outputs=(new,)))
            x = new
        out = eqn.outputs[s.number] if k == len(s.moved) - 1 else Var(eqn.outputs[s.number].aval)
        made.append(Eqn(primitive("add"), (total, x), (out,), {}, e.source))
        total = out
    return made


def _of_all_steps(aval: ShapedArray, length: int) -> ShapedArray:
    return shaped((length, *aval.shape), aval.dtype, aval.weak_type)


def _later(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of a step's array in that of all steps."""
    return tuple([i + 1 for i in axes])
