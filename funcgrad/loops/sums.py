"""Sums over lanes, put off until after the loop.

In: a scan whose body adds to a carry, or gives at each step, a sum (or a contraction) along an axis that it otherwise walks
elementwise: the gradient of a parameter that a batch shares. Out: the same scan with a sum for each lane, and what is to be done
with its results. The lanes are independent of one another then.
"""

from collections import Counter
from math import prod
from typing import Any, NamedTuple

from funcgrad.core.aval import shaped
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var
from funcgrad.ir.loop_rules import Dot, Pointwise, Reduce, View

LARGEST_PART = 1 << 22  # elements of what is kept to be summed later


class Term(NamedTuple):
    """A part of a sum: `base` of the body, then the folds (of axes) and the views and elementwise functions (equations) that make
    the part of it."""

    base: Any
    steps: tuple[Any, ...]


class Total(NamedTuple):
    """A result of the scan: `start` (None for a y) and the results of the new scan, each with its steps."""

    start: Any
    parts: tuple[tuple[Var, tuple[Any, ...]], ...]


class Split(NamedTuple):
    """The new scan; its operands that are zeros; what the old results are, where they are not results still."""

    eqn: Eqn
    zeros: tuple[Var, ...]
    totals: dict[Var, Total]


class _Body:
    """The equations of a body, by what they make."""

    def __init__(self, body: Jaxpr):
        self.made = {v: e for e in body.eqns for v in e.outputs}
        self.uses = Counter([x for e in body.eqns for x in e.inputs if x.__class__ is Var])
        self.uses.update([x for x in body.outvars if x.__class__ is Var])
        self.new: list[Eqn] = []

    def terms(self, y: Any, any_function: bool = False) -> list[Term]:
        """The parts whose sum y is; with `any_function`, y may be any function of elements of one part."""
        eqn = self.made.get(y) if y.__class__ is Var else None
        if eqn is None or self.uses[y] != 1:
            return [Term(y, ())]
        rule, x = eqn.primitive.loop, eqn.inputs[0]
        same = all([a.__class__ is Var and a.aval.shape == y.aval.shape and a.aval.dtype == y.aval.dtype for a in eqn.inputs])
        if eqn.primitive.name == "add" and same:
            return [t for a in eqn.inputs for t in self.terms(a)]
        if rule.__class__ is View and x.__class__ is Var:
            return [Term(t.base, (*t.steps, eqn)) for t in self.terms(x)]
        if _scales(eqn) or (any_function and _of_one(eqn)):
            (x,) = [a for a in eqn.inputs if a.__class__ is Var]
            inner = self.terms(x, any_function)
            if len(inner) == 1 or not any_function:
                return [Term(t.base, (*t.steps, eqn)) for t in inner]
        if rule.__class__ is Reduce and rule.op == "add" and x.__class__ is Var and x.aval.dtype == y.aval.dtype:
            return [Term(x, (tuple(eqn.params["axes"]),))]
        if (
            rule.__class__ is Dot
            and self.small(eqn)
            and all([a.__class__ is Var and a.aval.dtype == y.aval.dtype for a in eqn.inputs])
        ):
            return [self.products(eqn)]
        return [Term(y, ())]

    def small(self, eqn: Eqn) -> bool:
        """Whether the products of a contraction are few enough."""
        contracted = eqn.params["dimension_numbers"][0][0]
        return eqn.outputs[0].aval.size * prod([eqn.inputs[0].aval.shape[i] for i in contracted]) <= LARGEST_PART

    def products(self, eqn: Eqn) -> Term:
        """A contraction as its products, summed later."""
        (ka, kb), (ba, bb) = eqn.params["dimension_numbers"]
        a, b = eqn.inputs
        shape = [a.aval.shape[i] for i in (*ba, *ka)]
        for v, taken in ((a, (*ba, *ka)), (b, (*bb, *kb))):
            shape += [n for i, n in enumerate(v.aval.shape) if i not in taken]
        out = Var(shaped(tuple(shape), eqn.outputs[0].aval.dtype))
        numbers = (((), ()), ((*ba, *ka), (*bb, *kb)))
        self.new.append(eqn._replace(outputs=(out,), params=eqn.params | {"dimension_numbers": numbers}))
        return Term(out, (tuple(range(len(ba), len(ba) + len(ka))),))


def _of_one(eqn: Eqn) -> bool:
    """Elementwise in one operand; the others are literals."""
    return eqn.primitive.loop.__class__ is Pointwise and [x.__class__ is Var for x in eqn.inputs].count(True) == 1


def _scales(eqn: Eqn) -> bool:
    """A product with a literal, or what is like it."""
    name = eqn.primitive.name
    divides = name == "div" and eqn.inputs[0].__class__ is Var and eqn.outputs[0].aval.dtype.kind in "fc"
    return _of_one(eqn) and (name in ("mul", "neg") or divides)


def _is_view(step: Any) -> bool:
    return step.__class__ is not tuple and step.primitive.loop.__class__ is View


def _folds(terms: list[Term]) -> bool:
    return any([s.__class__ is tuple for t in terms for s in t.steps])


def split(eqn: Eqn) -> Split | None:
    """The scan without sums over lanes, if it has any that may wait."""
    p = eqn.params
    body, nc, n = p["body"], p["consts"], p["carry"]
    known = _Body(body)
    carries: list[tuple[Var, Any, Any, Any]] = []  # (invar, its next, start, result)
    sums: list[tuple[Any, list[Term], Eqn, Any]] = []
    for k in range(n):
        inv, out = body.invars[nc + k], body.outvars[k]
        add = known.made.get(out) if out.__class__ is Var else None
        if add is not None and add.primitive.name == "add" and known.uses[inv] == known.uses[out] == 1 and inv in add.inputs:
            others = [x for x in add.inputs if x is not inv]
            terms = known.terms(others[0]) if others and others[0].aval.shape == inv.aval.shape else []
            if _folds(terms):
                sums.append((eqn.inputs[nc + k], terms, add, eqn.outputs[k]))
                continue
        carries.append((inv, out, eqn.inputs[nc + k], eqn.outputs[k]))
    ys: list[tuple[Any, Any]] = []
    later: list[tuple[Any, Term]] = []
    for y, result in zip(body.outvars[n:], eqn.outputs[n:], strict=True):
        terms = known.terms(y, True)
        few = p["length"] * terms[0].base.aval.size <= LARGEST_PART
        if few and _folds(terms) and len(terms) == 1 and not any([_is_view(s) for s in terms[0].steps]):
            later.append((result, terms[0]))
        else:
            ys.append((y, result))
    if not sums and not later:
        return None
    totals: dict[Var, Total] = {}
    zeros: list[Var] = []
    for start, terms, add, result in sums:
        parts = []
        for t in terms:
            aval = t.base.aval.strong()
            inv, after, zero, last = Var(aval), Var(aval), Var(aval), Var(aval)
            known.new.append(add._replace(inputs=(inv, t.base), outputs=(after,)))
            carries.append((inv, after, zero, last))
            zeros.append(zero)
            parts.append((last, t.steps))
        totals[result] = Total(start, tuple(parts))
    for result, t in later:
        whole = Var(shaped((p["length"], *t.base.aval.shape), t.base.aval.dtype))
        ys.append((t.base, whole))
        totals[result] = Total(
            None, ((whole, tuple([tuple([a + 1 for a in s]) if s.__class__ is tuple else s for s in t.steps])),)
        )
    xs = body.invars[nc + n :]
    outs = [c[1] for c in carries] + [y for y, _ in ys]
    new = _pruned(Jaxpr((), [*body.invars[:nc], *[c[0] for c in carries], *xs], [*body.eqns, *known.new], outs))
    made = eqn._replace(
        inputs=(*eqn.inputs[:nc], *[c[2] for c in carries], *eqn.inputs[nc + n :]),
        outputs=(*[c[3] for c in carries], *[y[1] for y in ys]),
        params=p | {"body": new, "carry": len(carries)},
    )
    return Split(made, tuple(zeros), totals)


def _pruned(body: Jaxpr) -> Jaxpr:
    wanted: set[Any] = {x for x in body.outvars if x.__class__ is not Literal}
    kept = []
    for e in reversed(body.eqns):
        if not wanted.isdisjoint(e.outputs):
            kept.append(e)
            wanted.update([x for x in e.inputs if x.__class__ is Var])
    return body.replace(eqns=kept[::-1])
