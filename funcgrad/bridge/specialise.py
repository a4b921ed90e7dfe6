"""Path-specialised jit: plain Python branches on traced scalars, by a tree of programs.

In: a call of a function jitted with branches="specialise". Out: its result, by the programs along the path that the call takes.

While the function is traced, `bool(x)` or `int(x)` of a staged scalar ends a *segment*: what was staged since the branch before
becomes a program, that program is run on the values at hand, and its outcome picks the way on. The segments form a tree: below a
segment that ends in a question there is one for each answer met so far, at each leaf one that ends in the function's result. A
call walks down the tree; where an answer is new, the function is traced again from its start, the known answers repeated, and
the segments from there on are added.

Values pass from segment to segment in a list (`Walk.values`): the arguments, then for each segment the constants that it
captured and its results. A segment's results are the tracers that the user's Python still holds at the branch: reference
counting says exactly which (each tracer is watched by a weak reference). What has died since is dropped from the list.

Segments run through the operator `jit` under whatever interpreter the call came from: under `grad` outside they are
differentiated as programs, and the path is that of the concrete primals.
"""

import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.bridge.array import Array, from_numpy
from funcgrad.bridge.counts import counts
from funcgrad.bridge.family import Anchor, Family, Key, Staged
from funcgrad.bridge.fastcall import make_call
from funcgrad.bridge.jit import Dispatcher
from funcgrad.bridge.runner import Runner, as_array, runner_of
from funcgrad.bridge.why import reason
from funcgrad.core import source
from funcgrad.core.aval import ShapedArray, literal_aval
from funcgrad.core.cache import weak_memo
from funcgrad.core.config import config
from funcgrad.core.errors import (
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UsageError,
    describe,
    message,
)
from funcgrad.core.pytree import PyTreeDef, tree_flatten
from funcgrad.ir.check import check
from funcgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from funcgrad.ir.primitive import Primitive
from funcgrad.trace.interpreter import Interpreter, Tracer, bind, check_live, current, floor, running
from funcgrad.trace.stage import Stage, StagedTracer
from funcgrad.trace.value import Value
from funcgrad.transforms.call import jit as call_operator

MAX_PATHS = 64
BRANCHES = 16  # so many times max_paths: branches on one path


class Question(NamedTuple):
    """What a segment ends in: the value at `slot` as a `kind` (bool or int)."""

    kind: type
    slot: int
    place: Any  # the user's line


class Segment:
    """A stretch of the function between two branches."""

    __slots__ = ("jaxpr", "ins", "consts", "made", "kept", "dead", "question", "children", "outs", "out_tree", "call")

    def __init__(self, jaxpr: Jaxpr | None, ins: tuple[int, ...], consts: list[Any], made: int, kept: tuple[int, ...]):
        self.jaxpr, self.ins = jaxpr, ins  # the program (None where there is nothing to run), the slots of its inputs
        self.consts = consts  # values captured here: they take the slots before its results
        self.made, self.kept = made, kept  # tracers made here; the numbers of those that are results
        self.dead: tuple[int, ...] = ()  # slots that nobody needs after it
        self.question: Question | None = None
        self.children: dict[Any, Segment] = {}
        self.outs: tuple[Any, ...] = ()  # of a leaf: slots, or constant Arrays
        self.out_tree: PyTreeDef | None = None
        self.call: Any = None  # what runs the program on Arrays: at first its runner, later generated code


class Tree(Staged):
    """All segments for one kind of arguments."""

    __slots__ = ("root", "paths", "shared")

    def __init__(self, key: Key, name: str):
        super().__init__(key, Jaxpr((), (), (), ()), [], tree_flatten(None)[1], name, ())
        self.root: Segment | None = None
        self.paths = 0
        self.shared: dict[Any, Jaxpr] = {}  # structure -> program: the turns of a loop are one program


class Diverged(BaseException):
    """The function did something else when it was traced again."""


class PathTracer(StagedTracer):
    """A value of the segment `number`, or (`slot` is not -1) of the list of values."""

    __slots__ = ("number", "slot", "__weakref__")

    owner: "Path"

    def __init__(self, trace: "Path", var: Any, aval: ShapedArray, line: Any, number: int, slot: int):
        self.owner, self.variable, self.aval, self.source, self.number, self.slot = trace, var, aval, line, number, slot

    def pick(self, kind: type) -> Any:
        a = self.aval
        if a.size != 1 or kind is int and (a.ndim or a.dtype.kind not in "biu"):
            return None
        return check_live(self).owner.ask(self, kind)  # type: ignore[attr-defined]


class Walk:
    """One call on its way down the tree."""

    __slots__ = ("values", "arrays", "outer", "direct", "name")

    def __init__(self, values: list[Any], arrays: list[Array], name: str):
        self.values, self.arrays, self.name = values, arrays, name
        self.outer: Interpreter = current()
        self.direct = self.outer is floor() and not config.debug_nans

    def run(self, segment: Segment) -> None:
        """Run a segment; its constants and results join the values."""
        values = self.values
        if segment.consts:
            values += [self.arrays[c] if c.__class__ is Anchor else c for c in segment.consts]
        if segment.jaxpr is not None:
            args = [values[i] for i in segment.ins]
            if self.direct:
                call = segment.call
                if call is None:
                    segment.call = call = runner_of(segment.jaxpr)
                elif call.__class__ is Runner:
                    segment.call = call = _generated(segment.jaxpr)
                values += call(args)
            else:
                with running(self.outer):
                    values += bind(call_operator, *args, jaxpr=segment.jaxpr, name=self.name)
        for i in segment.dead:
            values[i] = None

    def answer(self, question: Question) -> Any:
        """What the value says that the question asks."""
        x, kind = self.values[question.slot], question.kind
        known = x if x.__class__ is Array else x.concrete()
        if known is not None:
            return kind(known._np.item())
        with running(self.outer):
            picked = x.pick(kind)  # an outer trace of the same kind may know
        if picked is None:
            error = TracerBoolConversionError if kind is bool else TracerIntegerConversionError
            raise error(
                message(
                    f'jit: {self.name}, jitted with branches="specialise", asked for the {kind.__name__} of {describe(x)} at '
                    f"{question.place.quote()}, and there is no number where it was called: under vmap each example would take a "
                    "path of its own, in a strict jit or scan there are no numbers yet",
                    "calls with concrete values, also under grad, vjp and jvp; vmap over arguments that no branch depends on",
                    "fnp.where(condition, a, b), lax.cond(condition, f, g, x), lax.while_loop; or jit outermost: "
                    'jit(grad(f), branches="specialise")',
                )
            )
        return picked


@weak_memo
def _generated(jaxpr: Jaxpr) -> Any:
    """Code generated for the program, as a function of a list of Arrays."""
    runner = runner_of(jaxpr)
    examples = [from_numpy(np.empty(a.shape, a.dtype), a.weak_type, copy=False) for a in jaxpr.in_avals]
    key = Key(tree_flatten((([*examples],), {}))[1], tuple(jaxpr.in_avals), (), config.trace_key)
    outs = tree_flatten([0] * len(jaxpr.outvars))[1]
    staged = Staged(key, jaxpr, [], outs, "", ())
    return make_call(staged, key, runner, [], examples, 1, lambda args, kw: runner(args[0])) or runner


class Path(Stage):
    """Stages a function segment by segment. `trail` are the segments that are known, `answers` their answers."""

    __slots__ = ("tree", "walk", "dispatcher", "trail", "answers", "depth", "made", "inputs", "new", "const_slots", "base",
                 "watched", "attached", "last")  # fmt: skip

    def __init__(self, tree: Tree, walk: Walk, dispatcher: "PathDispatcher", trail: list[Segment], answers: list[Any]):
        super().__init__(walk.outer)
        self.tree, self.walk, self.dispatcher, self.trail, self.answers = tree, walk, dispatcher, trail, answers
        self.depth = 0
        self.watched: dict[int, weakref.ref[PathTracer]] = {}  # slot -> tracer
        self.const_slots: dict[int, int] = {}
        self.base = len(tree.key.avals)
        self.attached = True  # whether what is made joins the tree
        self.last: tuple[Segment, Any] | None = None  # the segment above, and its answer
        self.start()

    def start(self) -> None:
        """Begin a segment."""
        self.eqns: list[Eqn] = []
        self.made: list[tuple[Var, weakref.ref[PathTracer]]] = []
        self.inputs: dict[int, Var] = {}
        self.new: list[Any] = []

    # --- what a Stage does ------------------------------------------------------------------------------------------

    def parameter(self, aval: ShapedArray, slot: int) -> PathTracer:
        tracer = PathTracer(self, None, aval, None, -1, slot)
        self.watched[slot] = weakref.ref(tracer)
        return tracer

    def atom(self, x: Any) -> Atom:
        if x.__class__ is PathTracer and x.owner is self:
            if x.number == self.depth:
                return x.variable
            if x.slot < 0:
                raise Diverged
            return self.input(x.slot, x.aval)
        if not isinstance(x, Value):
            return Literal(x, literal_aval(x))
        return self.input(self.constant(x), x.aval)

    def input(self, slot: int, aval: ShapedArray) -> Var:
        var = self.inputs.get(slot)
        if var is None:
            var = self.inputs[slot] = Var(aval)
        return var

    def constant(self, x: Value) -> int:
        """The slot of a value from outside."""
        if isinstance(x, Tracer):
            check_live(x)
            self.attached = False
        slot = self.const_slots.get(id(x))
        if slot is None:
            slot = self.const_slots[id(x)] = self.base + len(self.new)
            self.new.append(x)
            self.consts.append(x)  # keeps it alive, so that its id stays its own
        return slot

    def equation(self, prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        ins = tuple([self.atom(x) for x in args])
        outs = prim.abstract(*[x.aval for x in ins], **params)
        line = source.current()
        tracers = []
        for aval in outs if prim.multiple_results else (outs,):
            var = Var(aval)
            tracer = PathTracer(self, var, aval, line, self.depth, -1)
            self.made.append((var, weakref.ref(tracer)))
            tracers.append(tracer)
        self.eqns.append(Eqn(prim, ins, tuple([t.variable for t in tracers]), params, line))
        return tracers if prim.multiple_results else tracers[0]

    # --- branches ------------------------------------------------------------------------------------------------------

    def ask(self, x: PathTracer, kind: type) -> Any:
        """The answer of a branch: from the trail, or by running the segment that ends here."""
        if self.depth < len(self.trail):
            segment, answer = self.trail[self.depth], self.answers[self.depth]
            self.repeat(segment, x, kind)
        else:
            most = BRANCHES * self.dispatcher.options.max_paths
            if self.depth >= most:
                self.dispatcher.refuse(
                    f"came by its branch number {self.depth + 1} on one path, at {source.current().quote()}",
                    f"{most} branches on a path, {BRANCHES} times max_paths",
                )
            kept = tuple([i for i, (_, ref) in enumerate(self.made) if ref() is not None])
            segment = self.close(kept, [self.made[i][0] for i in kept])
            self.settle(segment)
            segment.question = Question(kind, x.slot, source.current())
            self.attach(segment)
            self.walk.run(segment)
            answer = self.walk.answer(segment.question)
        self.last = segment, answer
        self.base += len(segment.consts) + len(segment.kept)
        self.depth += 1
        self.start()
        return answer

    def repeat(self, segment: Segment, x: PathTracer, kind: type) -> None:
        """The function comes by a known branch again: its tracers are what they were the first time."""
        q = segment.question
        if q is None or q.kind is not kind or segment.made != len(self.made) or len(segment.consts) != len(self.new):
            raise Diverged
        self.settle(segment)
        if x.slot != q.slot:
            raise Diverged

    def settle(self, segment: Segment) -> None:
        """The results of a segment get their slots."""
        first = self.base + len(segment.consts)
        for slot, i in enumerate(segment.kept, first):
            tracer = self.made[i][1]()
            if tracer is not None:
                tracer.slot, tracer.variable = slot, None
                self.watched[slot] = self.made[i][1]

    def close(self, kept: tuple[int, ...], outs: Sequence[Var]) -> Segment:
        """The segment that ends here."""
        dead = tuple([slot for slot, ref in self.watched.items() if ref() is None])
        for slot in dead:
            del self.watched[slot]
        values = self.walk.values
        if any(slot < len(values) and values[slot] is None for slot in self.inputs):
            raise Diverged
        jaxpr = None
        if self.eqns:
            jaxpr = Jaxpr((), list(self.inputs.values()), self.eqns, outs)
            if config.check_ir:
                check(jaxpr)
            jaxpr = self.share(jaxpr)
        anchors = self.dispatcher.anchors()
        segment = Segment(jaxpr, tuple(self.inputs), [anchors.get(id(c), c) for c in self.new], len(self.made), kept)
        segment.dead = dead
        return segment

    def share(self, jaxpr: Jaxpr) -> Jaxpr:
        """The program of the same structure, if there is one."""
        try:
            found = self.tree.shared.setdefault(_structure(jaxpr), jaxpr)
        except TypeError:
            return jaxpr
        before = runner_of(found).compiled if found is jaxpr and self.walk.direct else 0
        self.dispatcher.family().compiled += before
        return found

    def attach(self, segment: Segment) -> None:
        """Put a segment into the tree, unless it holds values of a trace that will end."""
        if not self.attached:
            return
        if self.last is None:
            self.tree.root = segment
        else:
            above, answer = self.last
            above.children[answer] = segment

    def finish_leaf(self, outs: Sequence[Any], out_tree: PyTreeDef) -> Segment:
        """The last segment: the function has returned."""
        where: list[Any] = []
        kept: list[int] = []
        numbers = {v: i for i, (v, _) in enumerate(self.made)}
        for x in outs:
            if not isinstance(x, Value):
                with np.errstate(all="ignore"):
                    a = literal_aval(x)
                    where.append(from_numpy(np.asarray(x, a.dtype), a.weak_type))
            elif x.__class__ is PathTracer and x.owner is self:
                if x.number != self.depth:
                    if x.slot < 0:
                        raise Diverged
                    where.append(x.slot)
                else:
                    i = numbers[x.variable]
                    kept += [i] if i not in kept else []
                    where.append((kept.index(i),))
            else:
                where.append(self.constant(x))
        segment = self.close(tuple(kept), [self.made[i][0] for i in kept])
        first = self.base + len(self.new)
        segment.outs = tuple([first + w[0] if w.__class__ is tuple else w for w in where])
        segment.dead, segment.out_tree = (), out_tree
        self.attach(segment)
        if self.attached:
            self.tree.paths += 1
        self.live = False
        return segment


def _structure(jaxpr: Jaxpr) -> Any:
    """A hashable that is equal for programs that compute the same in the same way."""
    numbers: dict[Var, int] = {v: i for i, v in enumerate(jaxpr.invars)}
    lines = []
    for eqn in jaxpr.eqns:
        ins = tuple([(x.aval, repr(x.value)) if x.__class__ is Literal else numbers[x] for x in eqn.inputs])  # type: ignore[index]
        for v in eqn.outputs:
            numbers[v] = len(numbers)
        # repr tells apart what compares equal (0.0 and -0.0, 1 and True)
        params = tuple(
            [(k, v, repr(v) if isinstance(v, (int, float, complex, tuple)) else "") for k, v in sorted(eqn.params.items())]
        )
        lines.append((eqn.primitive, ins, params))
    key = (tuple(jaxpr.in_avals), tuple(lines), tuple([numbers[v] for v in jaxpr.outvars]))  # type: ignore[index]
    hash(key)
    return key


class PathDispatcher(Dispatcher):
    """What a function jitted with branches="specialise" does when it is called."""

    __slots__ = ()

    def anchors(self) -> dict[int, Anchor]:
        """The Arrays of the function's closure, by id."""
        return {id(x): Anchor(i) for i, x in enumerate(self._arrays)}

    def call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        if config.disable_jit:
            return self.fun(*args, **kwargs)
        leaves, key = self.key(args, kwargs)
        tree = self.tree(key)
        values = [x if isinstance(x, Tracer) or x.__class__ is Array else as_array(x, a) for x, a in zip(leaves, key.avals)]
        walk = Walk(list(values), self._arrays, self.name)
        if walk.direct:
            for x in leaves:
                if isinstance(x, Tracer):
                    check_live(x)
        trail: list[Segment] = []
        answers: list[Any] = []
        while True:
            segment = trail[-1].children.get(answers[-1]) if trail else tree.root
            if segment is None:
                with self.family().lock:
                    # another thread may have come this way meanwhile
                    segment = trail[-1].children.get(answers[-1]) if trail else tree.root
                    if segment is None:
                        return self.extend_or_begin(tree, walk, trail, answers, values)
            walk.run(segment)
            if segment.question is None:
                return self.result(segment, walk)
            trail.append(segment)
            answers.append(walk.answer(segment.question))

    def extend_or_begin(self, tree: Tree, walk: Walk, trail: list[Segment], answers: list[Any], values: list[Any]) -> Any:
        try:
            return self.extend(tree, walk, trail, answers)
        except Diverged:  # it was not the same function twice
            tree.root, tree.paths = None, 0
            tree.shared.clear()
            return self.extend(tree, Walk(list(values), self._arrays, self.name), [], [])

    def result(self, leaf: Segment, walk: Walk) -> Any:
        values = walk.values
        assert leaf.out_tree is not None
        return leaf.out_tree.unflatten([x if x.__class__ is Array else values[x] for x in leaf.outs])

    def tree(self, key: Key) -> Tree:
        family = self.family()
        tree: Any = family.find(key)
        if tree is None:
            with family.lock:
                tree = family.find(key) or family.add(Tree(key, self.name))
        tree.tick_slow()
        return tree

    def extend(self, tree: Tree, walk: Walk, trail: list[Segment], answers: list[Any]) -> Any:
        """Trace the function for a path that is new, and run what is new of it."""
        family, key, roles = self.family(), tree.key, self.options.roles
        counts.add("traces")
        if family.traced:
            family.reasons.append(self.why(family, key, trail, answers))
            del family.reasons[:-64]
        family.traced += 1
        most = self.options.max_paths
        if tree.paths >= most:
            place = trail[-1].question.place if trail and trail[-1].question else source.current()
            self.refuse(f"took a new path after {tree.paths} others; it left those at {place.quote()}", f"max_paths={most} paths")
        path = Path(tree, walk, self, trail, answers)
        try:
            with running(path):
                traced, named = key.tree.unflatten([path.parameter(a, i) for i, a in enumerate(key.avals)])
                args, kwargs = roles.join(traced, named, self.statics_of(key))
                out = self.fun(*args, **kwargs)
                del traced, named, args, kwargs
                outs, out_tree = tree_flatten(out)
                outs = [x if isinstance(x, Value) else self.output(x, out) for x in outs]
                if path.depth < len(trail):
                    raise Diverged
                leaf = path.finish_leaf(outs, out_tree)
        finally:
            path.live = False
        walk.run(leaf)
        return self.result(leaf, walk)

    def why(self, family: Family, key: Key, trail: list[Segment], answers: list[Any]) -> str:
        if not trail:
            return reason(key, family, self.options.roles)
        question = trail[-1].question
        return f"a new path: {answers[-1]} at {question.place.quote() if question else '?'}"

    def refuse(self, what: str, allowed: str) -> None:
        raise UsageError(
            message(
                f'jit: {self.name}, jitted with branches="specialise", {what}',
                f"{allowed}; each path has programs of its own",
                "lax.while_loop, lax.fori_loop or lax.cond for this branch, fnp.where, or a larger max_paths=",
            )
        )

    def prepare(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        raise UsageError(
            message(
                f'explain: got {self.name}, jitted with branches="specialise"',
                "functions that are one program for each kind of arguments",
                "explain a strict part of it, or read f.cache_info()",
            )
        )
