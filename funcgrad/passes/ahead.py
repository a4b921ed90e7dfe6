"""Products of what a scan's steps are given leave it: one large product before the loop for many small ones inside.

In: a Jaxpr. Out: the same, where `u @ x`, x a step's slice and u the same in all steps, is taken for all steps at once:
[steps, n] @ [n, m], and handed to each. A step's product reads its whole matrix for a vector's worth of work (64 by 64: 1 us on a
Xeon, and 0.1 as a part of one for 2,000 steps). The sums come in another order, as they do in any product.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import shaped
from funcgrad.ir.effects import effectful, needed_equations
from funcgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Var
from funcgrad.ir.loop_rules import Assemble, Dot, Loop, Pointwise, Reduce, View
from funcgrad.ir.primitive import primitive
from funcgrad.trace.interpreter import running
from funcgrad.trace.stage import Stage

ROWS = 32  # of a step's product, at most: with more it is not bound by reading the matrix
GROWTH = 4  # elements of a product for one of those that it is made of, at most
MOST_BYTES = 1 << 28  # of a loop's products for all steps, and of what they are made of
BLAS = frozenset({dt.float32, dt.float64, dt.complex64, dt.complex128})
_BATCHED = (Pointwise, View, Assemble, Reduce, Dot)  # kinds of equations that are done for all steps at once


def ahead(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` with products of its scans' steps taken before the loops."""
    if not any([is_scan(e) for e in jaxpr.eqns]):
        return jaxpr
    eqns: list[Eqn] = []
    for eqn in jaxpr.eqns:
        before, left = _taken(eqn) if is_scan(eqn) else ([], eqn)
        eqns += [*before, left]
    return jaxpr.replace(eqns=eqns)


def is_scan(eqn: Eqn) -> bool:
    """Whether the equation is a loop of known length, of more than one step."""
    rule = eqn.primitive.loop
    return rule.__class__ is Loop and rule.kind == "scan" and eqn.params["length"] > 1


def by_blas(eqn: Eqn) -> bool:
    """Whether the equation is a product of arrays in a dtype that BLAS has."""
    if eqn.primitive.loop.__class__ is not Dot or any([x.__class__ is not Var for x in eqn.inputs]):
        return False
    dtype = eqn.outputs[0].aval.dtype
    return dtype in BLAS and all([x.aval.dtype == dtype for x in eqn.inputs])


def _taken(eqn: Eqn) -> tuple[list[Eqn], Eqn]:
    """(products for all steps, the loop that reads them)."""
    body, nc, n = eqn.params["body"], eqn.params["consts"], eqn.params["carry"]
    fixed: set[Any] = set(body.invars[:nc])
    free: set[Any] = set(body.invars[nc + n :])  # what depends on the step, and not on the carry
    found, laid_out, room = [], set(), MOST_BYTES
    for e in body.eqns:
        ins = [x for x in e.inputs if x.__class__ is Var]
        if effectful(e) or e.primitive.loop.__class__ not in _BATCHED or not all([x in free or x in fixed for x in ins]):
            continue
        if free.isdisjoint(ins):
            fixed.update(e.outputs)
            continue
        free.update(e.outputs)
        if by_blas(e) and (made := _worth(e, free, eqn)):
            size = eqn.params["length"] * sum([v.aval.size * v.aval.dtype.itemsize for v in made - laid_out])
            if size <= room:
                room -= size
                laid_out |= made
                found.append(e)
    if not found:
        return [], eqn
    trace = Stage()
    with running(trace):
        run = _Batch(trace, eqn, fixed, free)
        moved = [(e, made) for e in found if (made := run.product(e)) is not None]
        outer, _ = trace.finish([made for _, made in moved])
    if not moved:
        return [], eqn
    names: dict[Any, Atom] = dict(zip(outer.invars, run.arguments, strict=True))
    before = [_renamed(e, names) for e in outer.eqns]
    results = [names.get(x, x) for x in outer.outvars]
    rows = {id(e): _row(e, free) for e, _ in moved}
    inner = [made for e in body.eqns for made in (rows[id(e)][1] if id(e) in rows else [e])]
    return before, _with_steps(eqn, inner, [row for row, _ in rows.values()], results)


def _renamed(eqn: Eqn, names: dict[Any, Atom]) -> Eqn:
    return eqn._replace(inputs=tuple([names.get(x, x) for x in eqn.inputs]))


def _worth(eqn: Eqn, free: set[Any], loop: Eqn) -> set[Any]:
    """If the product is of a constant and few rows, and not much larger than what it is made of: what takes memory for all steps
    where it leaves, the product among it. Else nothing."""
    body, fixed = loop.params["body"], loop.params["consts"] + loop.params["carry"]
    (lc, rc), (lb, _) = eqn.params["dimension_numbers"]
    which = [x in free for x in eqn.inputs]
    if lb or all(which):
        return set()
    out, x = eqn.outputs[0], eqn.inputs[which.index(True)]
    contracted = prod([x.aval.shape[i] for i in (lc if which[0] else rc)])
    made_of, laid_out = {x}, {x, out}
    for e in reversed(body.eqns):
        if not made_of.isdisjoint(e.outputs):
            made_of.update(e.inputs)
            if e.primitive.loop.__class__ not in (Pointwise, View):  # these two are done where they are read
                laid_out.update(free.intersection(e.outputs))
    given = {v for v in body.invars[fixed:] if v in made_of}
    most = GROWTH * sum([v.aval.size for v in given])
    worth = x.aval.size <= min(most, ROWS * contracted) and out.aval.size <= most
    return laid_out - given if worth else set()


class _Batch:
    """Equations of a body for all steps at once, recorded by `trace`; `arguments` are the atoms that its inputs stand for."""

    def __init__(self, trace: Stage, eqn: Eqn, fixed: set[Any], free: set[Any]):
        self.trace, self.fixed, self.free = trace, fixed, free
        body = eqn.params["body"]
        self.length, self.outside = eqn.params["length"], dict(zip(body.invars, eqn.inputs, strict=True))
        self.known: dict[Any, tuple[Any, int | None]] = {}  # variable of the body -> value, axis of the steps
        self.arguments: list[Atom] = []
        self.made_by = {v: e for e in body.eqns for v in e.outputs}

    def value(self, x: Atom) -> tuple[Any, int | None]:
        if x.__class__ is not Var:
            return x.value, None  # type: ignore[union-attr]
        if x not in self.known:
            if x in self.made_by:
                self._equation(self.made_by[x])
            else:
                atom = self.outside[x]
                dim = None if x in self.fixed else 0
                if atom.__class__ is Var:
                    self.arguments.append(atom)
                    self.known[x] = self.trace.argument(atom.aval), dim
                else:
                    self.known[x] = atom.value, dim  # type: ignore[union-attr]
        return self.known[x]

    def _equation(self, eqn: Eqn) -> None:
        pairs = [self.value(x) for x in eqn.inputs]
        args, dims = [x for x, _ in pairs], [d for _, d in pairs]
        if all([d is None for d in dims]):
            out, dim = self.trace.apply(eqn.primitive, tuple(args), eqn.params), None
        elif by_blas(eqn) and None in dims and 0 in dims and not eqn.params["dimension_numbers"][1][0]:
            out, dim = self.product(eqn), 0
            order = _order(eqn, self.free)
            if order:
                permutation = (0, *[i + 1 for i in order])
                out = self.trace.apply(primitive("transpose"), (out,), {"permutation": permutation})
        else:
            out, dim = eqn.primitive.batch(self.length, args, dims, **eqn.params)  # type: ignore[operator]
        many = eqn.primitive.multiple_results
        for v, x, d in zip(eqn.outputs, out if many else [out], dim if many and dim else [dim] * len(eqn.outputs), strict=True):
            self.known[v] = x, d

    def product(self, eqn: Eqn) -> Any:
        """The product as [steps, the step's axes, the constant's axes]; None where the steps are not the operand's first axis."""
        contracted, _ = eqn.params["dimension_numbers"]
        k = 0 if eqn.inputs[0] in self.free else 1
        (x, dim), (y, none) = self.value(eqn.inputs[k]), self.value(eqn.inputs[1 - k])
        if dim != 0 or none is not None:
            return None
        numbers = ((tuple([i + 1 for i in contracted[k]]), contracted[1 - k]), ((), ()))
        return self.trace.apply(eqn.primitive, (x, y), eqn.params | {"dimension_numbers": numbers})


def _row(eqn: Eqn, free: set[Any]) -> tuple[Var, list[Eqn]]:
    """(a step's row of what `_Batch.product` made, the equations that give the product from it): in the row, the axes of the
    step's operand come first."""
    out, order = eqn.outputs[0], _order(eqn, free)
    if not order:
        return out, []
    back = sorted(range(len(order)), key=order.__getitem__)
    row = Var(shaped(tuple([out.aval.shape[i] for i in back]), out.aval.dtype, out.aval.weak_type))
    return row, [Eqn(primitive("transpose"), (row,), eqn.outputs, {"permutation": order}, eqn.source)]


def _order(eqn: Eqn, free: set[Any]) -> tuple[int, ...]:
    """How the axes of a row (the step's, then the constant's) become those of the product; () where they are those."""
    if eqn.inputs[0] in free:
        return ()
    rank, first = eqn.outputs[0].aval.ndim, eqn.inputs[0].aval.ndim - len(eqn.params["dimension_numbers"][0][0])
    return (*range(rank - first, rank), *range(rank - first)) if first < rank else ()


def _with_steps(eqn: Eqn, inner: Sequence[Eqn], rows: Sequence[Var], values: Sequence[Atom]) -> Eqn:
    """The loop with these equations, which is given `values` in addition, and nothing that nobody reads."""
    body, nc, n = eqn.params["body"], eqn.params["consts"], eqn.params["carry"]
    eqns = needed_equations(inner, body.outvars)
    read = {x for e in eqns for x in e.inputs} | set(body.outvars)
    pairs = list(zip((*body.invars, *rows), (*eqn.inputs, *values), strict=True))
    fixed = [(v, x) for v, x in pairs[:nc] if v in read]
    pairs = [*fixed, *pairs[nc : nc + n], *[(v, x) for v, x in pairs[nc + n :] if v in read]]
    program = Jaxpr((), [v for v, _ in pairs], eqns, body.outvars)
    return eqn._replace(inputs=tuple([x for _, x in pairs]), params=eqn.params | {"body": program, "consts": len(fixed)})
