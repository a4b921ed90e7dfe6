"""Control flow: the programs inside scan, while and cond are simplified, and lose what does not belong into them.

In: a Jaxpr. Out: the same with smaller bodies: a carry that no step changes is a constant; what depends on constants alone is
computed before the loop; operands, carries and results that nobody reads are gone. Effects stay, in order.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.cache import weak_memo
from funcgrad.ir.effects import effectful
from funcgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from funcgrad.ir.loop_rules import Assemble, Convolution, Dot, Indexed, Loop, Pointwise, Reduce, View

Simplify = Callable[[Jaxpr], Jaxpr]
Made = tuple[list[Eqn], Eqn | None, dict[Var, Atom]]  # equations before it, what is left of it, outputs that are other atoms


def control(jaxpr: Jaxpr, simplify: Simplify) -> Jaxpr:
    """`jaxpr` with its loops and branches made smaller; `simplify` does it for the programs inside."""
    if not any([e.primitive.loop.__class__ is Loop for e in jaxpr.eqns]):
        return jaxpr
    env: dict[Var, Atom] = {}
    groups: list[list[Eqn]] = []
    live: set[Any] = {x for x in jaxpr.outvars if x.__class__ is Var}
    for eqn in reversed(jaxpr.eqns):
        if live.isdisjoint(eqn.outputs) and not effectful(eqn):
            continue  # it may read results that are gone
        group = [eqn]
        rule = eqn.primitive.loop
        if rule.__class__ is Loop:
            before, left, known = _SMALLER[rule.kind](eqn, live, simplify)
            live.update([x for v, x in known.items() if v in live and x.__class__ is Var])
            env.update(known)
            group = before if left is None else [*before, left]
        for e in reversed(group):
            if effectful(e) or not live.isdisjoint(e.outputs):
                live.update([x for x in e.inputs if x.__class__ is Var])
        groups.append(group)
    eqns = [e._replace(inputs=tuple([_last(env, x) for x in e.inputs])) for group in reversed(groups) for e in group]
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns, [_last(env, x) for x in jaxpr.outvars])


def _read(env: dict[Var, Atom], x: Atom) -> Atom:
    return env.get(x, x) if x.__class__ is Var else x  # type: ignore[arg-type]


def _last(env: dict[Var, Atom], x: Atom) -> Atom:
    while x in env:
        x = env[x]  # type: ignore[index]
    return x


@weak_memo
def _simplified(jaxpr: Jaxpr, simplify: Simplify) -> Jaxpr:
    return simplify(jaxpr)


def _with_literals(jaxpr: Jaxpr, given: Sequence[Atom]) -> Jaxpr:
    """The program with those of its leading inputs that are literals outside as literals inside (they stay inputs, unread)."""
    env: dict[Var, Atom] = {}
    for v, x in zip(jaxpr.invars, given, strict=False):
        if x.__class__ is Literal:
            env[v] = Literal(np.asarray(x.value, v.aval.dtype)[()], v.aval)  # type: ignore[union-attr]
    if not env:
        return jaxpr
    eqns = [e._replace(inputs=tuple([_read(env, x) for x in e.inputs])) for e in jaxpr.eqns]
    return jaxpr.replace(eqns=eqns, outvars=[_read(env, x) for x in jaxpr.outvars])


def _needs(jaxpr: Jaxpr, outs: Iterable[Atom]) -> set[Var]:
    """The variables that these atoms (and the program's effects) depend on."""
    wanted = {x for x in outs if x.__class__ is Var}
    for eqn in reversed(jaxpr.eqns):
        if effectful(eqn) or not wanted.isdisjoint(eqn.outputs):
            wanted.update([x for x in eqn.inputs if x.__class__ is Var])
    return wanted  # type: ignore[return-value]


def _chosen(items: Sequence[Any], keep: Iterable[int]) -> list[Any]:
    return [items[i] for i in keep]


# --- hoisting -----------------------------------------------------------------------------------------------------


def _hoisted(body: Jaxpr, fixed: Sequence[Var], certain: bool) -> tuple[list[Eqn], list[Var], list[Eqn]]:
    """(equations that depend on `fixed` alone and are worth computing once, their results that the rest reads, the rest).

    `certain`: the body runs at least once, so that its errors would come anyway. What moves no data stays inside, unless
    something outside needs it; so does what would become larger in memory than what it is made of."""
    known: set[Var] = set(fixed)
    invariant: list[Eqn] = []
    moved: set[Var] = set()
    for eqn in body.eqns:
        ins = [x for x in eqn.inputs if x.__class__ is Var]
        if not ins or effectful(eqn) or not known.issuperset(ins):  # type: ignore[arg-type]
            continue
        invariant.append(eqn)
        known.update(eqn.outputs)
        if _pays(eqn, certain):
            moved.update(eqn.outputs)
    if not moved:
        return [], [], list(body.eqns)
    wanted: set[Any] = set(moved)
    outside = []
    for eqn in reversed(invariant):
        if not wanted.isdisjoint(eqn.outputs):
            outside.append(eqn)
            wanted.update(eqn.inputs)
    outside.reverse()
    rest = [e for e in body.eqns if moved.isdisjoint(e.outputs)]
    read = {x for e in rest for x in e.inputs} | set(body.outvars)
    return outside, [v for e in outside for v in e.outputs if v in read and v in moved], rest


def _pays(eqn: Eqn, certain: bool) -> bool:
    kind = eqn.primitive.loop.__class__
    if kind is View or kind is Assemble:
        return False
    if kind in (Pointwise, Indexed):
        if kind is Indexed and not certain:
            return False
        return sum([v.aval.size for v in eqn.outputs]) <= sum([x.aval.size for x in eqn.inputs])
    return certain or kind in (Reduce, Dot, Convolution)


def _copies(eqns: Sequence[Eqn], env: dict[Var, Atom]) -> list[Eqn]:
    """The equations under new names, which are entered in `env`."""
    made = []
    for e in eqns:
        outs = tuple([Var(v.aval) for v in e.outputs])
        made.append(e._replace(inputs=tuple([_read(env, x) for x in e.inputs]), outputs=outs))
        env.update(zip(e.outputs, outs, strict=True))
    return made


# --- scan ---------------------------------------------------------------------------------------------------------


def _scan(eqn: Eqn, live: set[Var], simplify: Simplify) -> Made:
    p = eqn.params
    nc, n, length = p["consts"], p["carry"], p["length"]
    body = _with_literals(_simplified(p["body"], simplify), eqn.inputs[:nc])
    ins, outs = list(body.invars), list(body.outvars)
    given, results = list(eqn.inputs), list(eqn.outputs)
    known: dict[Var, Atom] = {}
    c, xs = list(range(nc)), list(range(nc + n, len(ins)))
    # a carry that is handed on as it is, is a constant
    still = [k for k in range(n) if outs[k] is ins[nc + k]]
    for k in still:
        known[results[k]] = given[nc + k]
    c += [nc + k for k in still]
    moving = [k for k in range(n) if k not in set(still)]
    # carries and results that nobody reads
    ys = [k for k in range(n, len(outs)) if results[k] in live]
    kept = {k for k in moving if results[k] in live}
    while True:
        wanted = _needs(body, [outs[k] for k in [*sorted(kept), *ys]])
        more = {k for k in moving if ins[nc + k] in wanted} | kept
        if more == kept:
            break
        kept = more
    moving = sorted(kept)
    before, extra, eqns = _hoist(body, [ins[i] for i in c], [given[i] for i in c], length > 0)
    rest = Jaxpr((), [*ins, *extra.inner], eqns, outs)
    wanted = _needs(rest, [outs[k] for k in [*moving, *ys]])
    c = [i for i in c if ins[i] in wanted]
    xs = [i for i in xs if ins[i] in wanted]
    hoisted = [(v, x) for v, x in zip(extra.inner, extra.outer, strict=True) if v in wanted]
    if not moving and not ys and not any(map(effectful, eqns)):
        return before, None, known
    inner = Jaxpr(
        (),
        [*_chosen(ins, c), *[v for v, _ in hoisted], *[ins[nc + k] for k in moving], *_chosen(ins, xs)],
        [e for e in eqns if effectful(e) or not wanted.isdisjoint(e.outputs)],
        [*_chosen(outs, moving), *_chosen(outs, ys)],
    )
    made = eqn._replace(
        inputs=(*_chosen(given, c), *[x for _, x in hoisted], *[given[nc + k] for k in moving], *_chosen(given, xs)),
        outputs=(*_chosen(results, moving), *_chosen(results, ys)),
        params=p | {"body": inner, "consts": len(c) + len(hoisted), "carry": len(moving)},
    )
    return before, made, known


class _Extra:
    """Constants that hoisting adds: their names inside and outside."""

    def __init__(self, inner: list[Var], outer: list[Atom]):
        self.inner, self.outer = inner, outer


def _hoist(body: Jaxpr, fixed: list[Var], given: list[Atom], certain: bool) -> tuple[list[Eqn], _Extra, list[Eqn]]:
    outside, results, rest = _hoisted(body, fixed, certain)
    env: dict[Var, Atom] = dict(zip(fixed, given, strict=True))
    before = _copies(outside, env)
    return before, _Extra(results, [env[v] for v in results]), rest


# --- while --------------------------------------------------------------------------------------------------------


def _while(eqn: Eqn, live: set[Var], simplify: Simplify) -> Made:
    p = eqn.params
    cc, bc = p["cond_consts"], p["body_consts"]
    test = _with_literals(_simplified(p["cond"], simplify), eqn.inputs[:cc])
    body = _with_literals(_simplified(p["body"], simplify), eqn.inputs[cc : cc + bc])
    given, results = list(eqn.inputs), list(eqn.outputs)
    n = len(results)
    t_ins, ins, outs = list(test.invars), list(body.invars), list(body.outvars)
    known: dict[Var, Atom] = {}
    still = [k for k in range(n) if outs[k] is ins[bc + k]]
    for k in still:
        known[results[k]] = given[cc + bc + k]
    moving = [k for k in range(n) if k not in set(still)]
    tested = _needs(test, test.outvars)
    kept = {k for k in moving if results[k] in live or t_ins[cc + k] in tested}
    while True:
        wanted = _needs(body, [outs[k] for k in sorted(kept)])
        more = {k for k in moving if ins[bc + k] in wanted} | kept
        if more == kept:
            break
        kept = more
    moving = sorted(kept)
    t_c = [*range(cc), *[cc + k for k in still]]
    t_given = [*given[:cc], *[given[cc + bc + k] for k in still]]
    b_c = [*range(bc), *[bc + k for k in still]]
    b_given = [*given[cc : cc + bc], *[given[cc + bc + k] for k in still]]
    t_before, t_extra, t_eqns = _hoist(test, _chosen(t_ins, t_c), t_given, True)
    b_before, b_extra, b_eqns = _hoist(body, _chosen(ins, b_c), b_given, False)
    new_test, t_operands = _constants(test, t_eqns, _chosen(t_ins, t_c), t_given, t_extra, test.outvars)
    new_body, b_operands = _constants(body, b_eqns, _chosen(ins, b_c), b_given, b_extra, _chosen(outs, moving))
    made = eqn._replace(
        inputs=(*t_operands, *b_operands, *[given[cc + bc + k] for k in moving]),
        outputs=tuple(_chosen(results, moving)),
        params=p
        | {
            "cond": new_test.replace(invars=new_test.invars + tuple([t_ins[cc + k] for k in moving])),
            "body": new_body.replace(invars=new_body.invars + tuple([ins[bc + k] for k in moving])),
            "cond_consts": len(t_operands),
            "body_consts": len(b_operands),
        },
    )
    return t_before + b_before, made, known


def _constants(
    jaxpr: Jaxpr, eqns: list[Eqn], fixed: list[Var], given: list[Atom], extra: _Extra, outs: Sequence[Atom]
) -> tuple[Jaxpr, list[Atom]]:
    """A program of these equations whose invars are the constants that it reads (the carry still to come), and their values."""
    rest = Jaxpr((), (), eqns, list(outs))
    wanted = _needs(rest, outs)
    pairs = [*zip(fixed, given, strict=True), *zip(extra.inner, extra.outer, strict=True)]
    pairs = [(v, x) for v, x in pairs if v in wanted]
    kept = [e for e in eqns if effectful(e) or not wanted.isdisjoint(e.outputs)]
    return Jaxpr((), [v for v, _ in pairs], kept, list(outs)), [x for _, x in pairs]


# --- cond ---------------------------------------------------------------------------------------------------------


def _cond(eqn: Eqn, live: set[Var], simplify: Simplify) -> Made:
    index, *given = eqn.inputs
    branches = [_with_literals(_simplified(b, simplify), given) for b in eqn.params["branches"]]
    if index.__class__ is Literal or len(branches) == 1:
        k = min(max(int(index.value), 0), len(branches) - 1) if index.__class__ is Literal else 0  # type: ignore[union-attr]
        env: dict[Var, Atom] = dict(zip(branches[k].invars, given, strict=True))
        eqns = _copies(branches[k].eqns, env)
        return eqns, None, dict(zip(eqn.outputs, [_read(env, x) for x in branches[k].outvars], strict=True))
    outs = [k for k, v in enumerate(eqn.outputs) if v in live]
    if not outs and not any(effectful(e) for b in branches for e in b.eqns):
        return [], None, {}
    wanted = [_needs(b, [b.outvars[k] for k in outs]) for b in branches]
    read = [i for i in range(len(given)) if any(b.invars[i] in w for b, w in zip(branches, wanted, strict=True))]
    smaller = [
        Jaxpr(
            (),
            _chosen(b.invars, read),
            [e for e in b.eqns if effectful(e) or not w.isdisjoint(e.outputs)],
            _chosen(b.outvars, outs),
        )
        for b, w in zip(branches, wanted, strict=True)
    ]
    made = eqn._replace(
        inputs=(index, *_chosen(given, read)),
        outputs=tuple(_chosen(eqn.outputs, outs)),
        params=eqn.params | {"branches": tuple(smaller)},
    )
    return [], made, {}


_SMALLER: dict[str, Callable[[Eqn, set[Var], Simplify], Made]] = {"scan": _scan, "while": _while, "cond": _cond}
