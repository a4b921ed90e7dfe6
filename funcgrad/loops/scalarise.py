"""The body of a small loop as scalar instructions: every operator on small arrays becomes operators on their elements.

In: equations, and values or memory for their inputs. Out: values (elements.py) whose grids name instructions of a `Tape`.
Raises `Unfit` for what has no such form: products and sums along large axes, operators without a loop rule, effects.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.ir import loop_rules as rules
from funcgrad.ir.effects import effectful
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Literal
from funcgrad.loops.elements import Unfit, Value, same_labels
from funcgrad.loops.reader import Memory, Reader
from funcgrad.loops.templates import (
    BOOL,
    INT64,
    KERNEL_DTYPES,
    Template,
    cast_template,
    fold_template,
    mul_template,
    storage_dtype,
    template,
)

UNROLLED = 16  # steps of a loop inside a step
BRANCHES = 400.0  # additions of the branches of a cond: both are computed


class Scalarise(Reader):
    """One run over the equations of a loop."""

    def run(self, jaxpr: Jaxpr, given: Sequence[Any]) -> list[Any]:
        """The values of a program's outputs."""
        env: dict[Any, Any] = dict(zip(jaxpr.invars, given, strict=True))
        for eqn in jaxpr.eqns:
            outs = self.equation(eqn, [self.atom(x, env) for x in eqn.inputs])
            env.update(zip(eqn.outputs, outs, strict=True))
        return [self.atom(x, env) for x in jaxpr.outvars]

    def atom(self, x: Any, env: dict[Any, Any]) -> Any:
        return x if x.__class__ is Literal else env[x]

    # --- equations -------------------------------------------------------------------------------------------

    def equation(self, eqn: Eqn, args: list[Any]) -> list[Any]:
        if effectful(eqn):
            raise Unfit(f"{eqn.primitive.name} has effects")
        for v in eqn.outputs:
            if v.aval.dtype not in KERNEL_DTYPES:
                raise Unfit(f"{eqn.primitive.name} gives {v.aval}")
        rule = eqn.primitive.loop
        name = eqn.primitive.name
        if name == "cond":
            return self.cond(eqn, args)
        if name == "scan":
            return self.scan(args, **eqn.params) if eqn.params["carry"] else self.side_by_side(args, eqn.params)
        method = _RULES.get(rule.__class__)
        if method is None:
            raise Unfit(f"{name} has no scalar form")
        return method(self, eqn, rule, args)

    def pointwise(self, eqn: Eqn, rule: rules.Pointwise, args: list[Any]) -> list[Value]:
        outs = [v.aval for v in eqn.outputs]
        body = template(rule.fn, tuple([x.aval.dtype for x in eqn.inputs]), tuple([a.dtype for a in outs]), eqn.params)
        return self.elementwise(body, [self.value(x) for x in args], outs[0].shape, eqn)

    def indexed(self, eqn: Eqn, rule: rules.Indexed, args: list[Any]) -> list[Value]:
        out = eqn.outputs[0].aval
        handles = range(len(args)) if rule.random is None else rule.random
        ranks = tuple([len(x.aval.shape) if i in handles else None for i, x in enumerate(eqn.inputs)])
        dtypes = tuple([x.aval.dtype for x in eqn.inputs])
        body = template(rule.fn, dtypes, tuple([v.aval.dtype for v in eqn.outputs]), eqn.params, ranks)
        labels = [self.ctx.fresh(n) for n in out.shape]
        given: list[Any] = []
        for i, x in enumerate(args):
            if i in handles:
                given.append(self.handle(i, x, body, labels, out.shape))
                continue
            v = self.value(x)
            if v.ndim == len(labels):
                same_labels(self.ctx, v, labels)
            given.append(v)
        if self.tape is None:
            return [Value(self.ctx, out.shape, labels, None) for _ in body.outs]
        places = Value(self.ctx, out.shape, labels, None).places(out.shape, labels)
        outs = [np.empty(places, int) for _ in body.outs]
        literals = [self.literal(x) for x in eqn.inputs]
        grids = [
            None if i in handles else np.broadcast_to(self.grid(x) if literals[i] is None else np.array(literals[i]), places)
            for i, x in enumerate(given)
        ]
        for place in np.ndindex(places):
            numbers = [None if g is None else int(g[place]) for g in grids]
            for grid, k in zip(outs, self.apply(body, numbers, labels, out.shape, place, given, eqn), strict=True):
                grid[place] = k
        return [Value(self.ctx, out.shape, labels, grid) for grid in outs]

    def scatter(self, eqn: Eqn, rule: rules.Scatter, args: list[Any]) -> list[Value]:
        """Each update goes to one place: known, or found by comparing."""
        x, indices, updates = self.value(args[0]), args[1], self.value(args[2])
        dtype = eqn.inputs[0].aval.dtype
        body = template(rule.fn, (eqn.inputs[1].aval.dtype,), (INT64,), eqn.params, (len(eqn.inputs[1].aval.shape),))
        body = body._replace(outs=body.outs if body.guard is None else (*body.outs, body.guard))
        indices = self.handle(0, indices, body, list(updates.labels), updates.shape)
        joined: set[int] = set()
        for axis, k in enumerate(body.outs[: x.ndim]):
            op, _, _, attr = body.instrs[k]
            if op == "index" and updates.shape[attr] == x.shape[axis]:
                self.ctx.unify(x.labels[axis], updates.labels[attr])
                joined.add(attr)
                continue
            self.ctx.touch(x.labels[axis])
        for axis in set(range(updates.ndim)) - joined:  # several updates may go to one place
            self.ctx.touch(updates.labels[axis])
        if self.tape is None:
            return [Value(self.ctx, x.shape, x.labels, None)]
        grid, new = np.array(self.grid(x)), self.grid(updates)
        targets = [self.size(x, a) for a in range(x.ndim)]
        combine = None if rule.combine is None else fold_template(rule.combine, dtype)
        for place in np.ndindex(new.shape):
            found = self.apply(body, targets, list(updates.labels), updates.shape, place, [indices], eqn)
            guard = found[x.ndim] if len(found) > x.ndim else None
            for to in np.ndindex(grid.shape):
                here = guard
                for axis, (i, k) in enumerate(zip(found, to, strict=False)):
                    if not self.ctx.lane(x.labels[axis]):
                        same = self.tape.add("eq", BOOL, (i, self.tape.int64(k)))
                        here = same if here is None else self.tape.add("and", BOOL, (here, same))
                old, value = int(grid[to]), int(new[place])
                if combine is not None:
                    value = self.apply(combine, [old, value], [], (), (), [], None)[0]
                grid[to] = value if here is None else self.tape.add("select", storage_dtype(dtype), (here, value, old))
        return [Value(self.ctx, x.shape, x.labels, grid)]

    # --- the other families ------------------------------------------------------------------------------------

    def view(self, eqn: Eqn, rule: rules.View, args: list[Any]) -> list[Any]:
        return [rule.fn(self.value(args[0]), **eqn.params)]

    def fence(self, eqn: Eqn, rule: Any, args: list[Any]) -> list[Any]:
        return [self.value(x) for x in args]

    def reduce(self, eqn: Eqn, rule: rules.Reduce, args: list[Any]) -> list[Value]:
        x, out = self.value(args[0]), eqn.outputs[0].aval
        axes, place_of = tuple(eqn.params["axes"]), rule.op in ("argmax", "argmin")
        for a in axes:
            self.ctx.touch(x.labels[a])
        if not place_of:
            (x,) = self.elementwise(cast_template(eqn.inputs[0].aval.dtype, out.dtype), [x], x.shape)
        labels = [label for a, label in enumerate(x.labels) if a not in axes]
        if self.tape is None:
            return [Value(self.ctx, out.shape, labels, None)]
        kept = [a for a in range(x.ndim) if a not in axes]
        grid = self.grid(x).transpose([*kept, *axes])
        if not grid.size:
            raise Unfit("a sum of nothing")
        rows = grid.reshape([*grid.shape[: len(kept)], -1])
        result = np.empty(rows.shape[:-1], int)
        for place in np.ndindex(result.shape):
            numbers = [int(k) for k in rows[place]]
            if place_of:
                result[place] = self.best(rule.op, numbers, out.dtype)
            else:
                result[place] = self.folded(fold_template(rule.op, out.dtype), numbers)
        return [Value(self.ctx, out.shape, labels, result)]

    def best(self, op: str, numbers: list[int], dtype: np.dtype) -> int:
        """The place of the first of the largest (or the first NaN)."""
        tape = self.tape
        assert tape is not None
        kind = tape.instrs[numbers[0]][1]
        best, where = numbers[0], tape.const(0, dtype)
        for k, x in enumerate(numbers[1:], 1):
            better = tape.add("gt" if op == "argmax" else "lt", BOOL, (x, best))
            if kind.kind == "f":
                nan = tape.add("and", BOOL, (tape.add("ne", BOOL, (x, x)), tape.add("eq", BOOL, (best, best))))
                better = tape.add("or", BOOL, (better, nan))
            best = tape.add("select", kind, (better, x, best))
            where = tape.add("select", dtype, (better, tape.const(k, dtype), where))
        return where

    def folded(self, fold: Template, numbers: list[int]) -> int:
        """A fold of a few values, as a balanced tree."""
        while len(numbers) > 1:
            pairs = [self.apply(fold, numbers[i : i + 2], [], (), (), [], None)[0] for i in range(0, len(numbers) - 1, 2)]
            numbers = pairs + numbers[len(numbers) - len(numbers) % 2 :]
        return numbers[0]

    def running(self, eqn: Eqn, rule: rules.Scan, args: list[Any]) -> list[Value]:
        x, out = self.value(args[0]), eqn.outputs[0].aval
        axis = eqn.params["axis"]
        self.ctx.touch(x.labels[axis])
        (x,) = self.elementwise(cast_template(eqn.inputs[0].aval.dtype, out.dtype), [x], x.shape)
        if self.tape is None:
            return [Value(self.ctx, out.shape, x.labels, None)]
        grid = np.array(self.grid(x))
        fold = fold_template(rule.op, out.dtype)
        along = np.moveaxis(grid, axis, 0)
        along = along[::-1] if eqn.params.get("reverse", False) else along
        for i in range(1, len(along)):
            for place in np.ndindex(along.shape[1:]):
                both = [int(along[(i - 1, *place)]), int(along[(i, *place)])]
                along[(i, *place)] = self.apply(fold, both, [], (), (), [], None)[0]
        return [Value(self.ctx, out.shape, x.labels, grid)]

    def assemble(self, eqn: Eqn, rule: rules.Assemble, args: list[Any]) -> list[Value]:
        out = eqn.outputs[0].aval
        fill, parts = rule.fn([x.aval for x in eqn.inputs], out, **eqn.params)
        labels = [self.ctx.fresh(n) for n in out.shape]
        whole = Value(self.ctx, out.shape, labels, None)
        if self.tape is not None:
            places = whole.places(out.shape, labels)
            whole.grid = np.arange(int(np.prod(places))).reshape(places)
            result = np.full(places, -1)
            if fill is not None:
                result[...] = self.grid(self.value(args[fill]))
        for number, out_view, in_view in parts:
            place = whole if out_view is None else out_view(whole)
            x = self.value(args[number])
            x = x if in_view is None else in_view(x)
            if x.ndim == place.ndim:
                same_labels(self.ctx, x, place.labels)
            if self.tape is not None:
                result.reshape(-1)[self.grid(place)] = np.broadcast_to(self.grid(x), self.grid(place).shape)
        return [Value(self.ctx, out.shape, labels, None if self.tape is None else result)]

    def dot(self, eqn: Eqn, rule: rules.Dot, args: list[Any]) -> list[Value]:
        a, b = (self.value(x) for x in args)
        (ka, kb), (ba, bb) = eqn.params["dimension_numbers"]
        out = eqn.outputs[0].aval
        for v, axes in ((a, ka), (b, kb)):
            for i in axes:
                self.ctx.touch(v.labels[i])
        for i, j in zip(ba, bb, strict=True):
            self.ctx.unify(a.labels[i], b.labels[j])
        free_a = [i for i in range(a.ndim) if i not in ka and i not in ba]
        free_b = [i for i in range(b.ndim) if i not in kb and i not in bb]
        labels = [*[a.labels[i] for i in ba], *[a.labels[i] for i in free_a], *[b.labels[i] for i in free_b]]
        if self.tape is None:
            return [Value(self.ctx, out.shape, labels, None)]
        if not (self.grid(a).size and self.grid(b).size):
            raise Unfit("a sum of nothing")
        ga = self.grid(a).transpose([*ba, *free_a, *ka])
        gb = self.grid(b).transpose([*bb, *free_b, *kb])
        ga = ga.reshape([*ga.shape[: len(ba) + len(free_a)], -1])
        gb = gb.reshape([*gb.shape[: len(bb) + len(free_b)], -1])
        grid = np.empty(Value(self.ctx, out.shape, labels, None).places(out.shape, labels), int)
        product, fold = mul_template(eqn.inputs[0].aval.dtype, out.dtype), fold_template("add", out.dtype)
        n, fa = len(ba), len(free_a)
        for place in np.ndindex(grid.shape):
            xs, ys = ga[place[: n + fa]], gb[(*place[:n], *place[n + fa :])]
            terms = [self.apply(product, [int(x), int(y)], [], (), (), [], None)[0] for x, y in zip(xs, ys, strict=True)]
            grid[place] = self.folded(fold, terms)
        return [Value(self.ctx, out.shape, labels, grid)]

    # --- control flow inside ---------------------------------------------------------------------------------

    def cond(self, eqn: Eqn, args: list[Any]) -> list[Value]:
        """All branches, and a choice of their results."""
        which, operands = self.value(args[0]), args[1:]
        branches = eqn.params["branches"]
        shapes = [v.aval for v in eqn.outputs]
        before = self.tape.weight if self.tape is not None else 0.0
        outer = self.mask
        results = []
        for k, branch in enumerate(branches):
            if self.tape is not None:
                i = int(self.grid(which))
                op = "le" if k == 0 else "ge" if k == len(branches) - 1 else "eq"
                here = self.tape.add(op, BOOL, (i, self.tape.const(k, self.tape.instrs[i][1])))
                self.mask = self.tape.both(outer, here)
            results.append([self.value(x) for x in self.run(branch, operands)])
            self.mask = outer
        if self.tape is not None and self.tape.weight - before > BRANCHES:
            raise Unfit("long branches")
        outs = []
        for aval, cases in zip(shapes, zip(*results, strict=True), strict=True):
            dtype = storage_dtype(aval.dtype)
            outs += self.elementwise(_choice(dtype, len(cases)), [which, *cases], aval.shape)
        return outs

    def scan(self, args: list[Any], *, body: Jaxpr, consts: int, carry: int, length: int, reverse: bool) -> list[Any]:
        """A short loop inside a step: step after step."""
        if not 0 < length <= UNROLLED:
            raise Unfit("a loop inside a step")
        fixed, state = args[:consts], [self.value(x) for x in args[consts : consts + carry]]
        xs = [self.value(x) for x in args[consts + carry :]]
        steps: list[list[Value]] = [[] for _ in range(length)]
        for i in range(length - 1, -1, -1) if reverse else range(length):
            rows = [x.slice((i, *[0] * (x.ndim - 1)), (i + 1, *x.shape[1:])).squeeze((0,)) for x in xs]
            outs = [self.value(x) for x in self.run(body, [*fixed, *state, *rows])]
            for old, new in zip(state, outs, strict=False):
                same_labels(self.ctx, old, new.labels)
            state, steps[i] = outs[:carry], outs[carry:]
        return [*state, *[self.stacked(list(column)) for column in zip(*steps, strict=True)]]

    def side_by_side(self, args: list[Any], p: dict[str, Any]) -> list[Any]:
        """A scan without carry: its steps are lanes. Where something tells these apart, there are few, one after another."""
        length, fixed = p["length"], args[: p["consts"]]
        along = self.ctx.fresh(length)
        xs: list[Any] = []
        for x in args[p["consts"] :]:
            x = x if x.__class__ is Memory and not x.step else self.value(x)
            if x.__class__ is Value:
                self.ctx.unify(x.labels[0], along)
            xs.append(x)
        if not length:
            raise Unfit("a loop of no steps")
        apart = self.tape is not None and length > 1 and not self.ctx.lane(along)
        if apart and length > UNROLLED:
            raise Unfit("what lanes give is told apart")
        first, rows = self.ctx.count, []
        for i in range(length if apart else 1):
            self.ctx.count = first  # the same labels for each of them
            outs = self.run(p["body"], [*fixed, *[self.one(x, i, along, apart) for x in xs]])
            rows.append([self.value(y) if y.__class__ in (Memory, Literal) else y for y in outs])
        return [self.gathered(list(column), along, length) for column in zip(*rows, strict=True)]

    def one(self, x: Any, i: int, along: int, apart: bool) -> Any:
        """The part of an operand that lane i sees."""
        if x.__class__ is Value:
            return Value(self.ctx, x.shape[1:], x.labels[1:], None if self.tape is None else self.grid(x)[i])
        if apart:
            return x._replace(offset=x.offset + i * x.strides[0], shape=x.shape[1:], strides=x.strides[1:])
        return x._replace(shape=x.shape[1:], strides=x.strides[1:], lanes=(*x.lanes, (along, x.strides[0], x.shape[0])))

    def gathered(self, rows: list[Any], along: int, length: int) -> Any:
        """The results of lanes as one value."""
        if rows[0].__class__ is not Value:
            raise Unfit("all steps of a loop are given inside")
        grid = None if self.tape is None else np.stack([self.grid(v) for v in rows])
        return Value(self.ctx, (length, *rows[0].shape), (along, *rows[0].labels), grid)

    def stacked(self, rows: list[Value]) -> Value:
        first = rows[0]
        for v in rows[1:]:
            same_labels(self.ctx, v, first.labels)
        labels = [self.ctx.fresh(len(rows), True), *first.labels]
        grid = None if self.tape is None else np.stack([self.grid(v) for v in rows])
        return Value(self.ctx, (len(rows), *first.shape), labels, grid)


def _choice(dtype: np.dtype, count: int) -> Template:
    """Of operands (which, case 0, case 1, ...) the case that `which` names; numbers outside take the nearest."""
    int32 = np.dtype(np.int32)
    instrs: list[Any] = [("arg", int32, (), 0), *[("arg", dtype, (), k + 1) for k in range(count)]]
    out = 1
    for k in range(1, count):
        instrs += [("const", int32, (), k), ("ge", BOOL, (0, len(instrs)), None)]
        instrs.append(("select", dtype, (len(instrs) - 1, k + 1, out), None))
        out = len(instrs) - 1
    return Template(tuple(instrs), (out,), None, float(count), False)


_RULES: dict[type, Any] = {
    rules.Pointwise: Scalarise.pointwise,
    rules.Indexed: Scalarise.indexed,
    rules.View: Scalarise.view,
    rules.Reduce: Scalarise.reduce,
    rules.Scan: Scalarise.running,
    rules.Scatter: Scalarise.scatter,
    rules.Assemble: Scalarise.assemble,
    rules.Dot: Scalarise.dot,
    rules.Fence: Scalarise.fence,
}
