"""A Jaxpr made ready to run: simplified, compiled, with its outputs' memory decided.

In: a Jaxpr without constvars, and which inputs are donated. Out: a `Runner`, whose `__call__` takes values and gives Arrays
(the general road), and whose fields tell `fastcall` how to do the same in generated code.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from funcgrad.bridge.array import Array, DeletedArray, address, from_numpy
from funcgrad.bridge.counts import counts
from funcgrad.bridge.memory import alias, distinct, drop, output, take
from funcgrad.bridge.nans import find_nan, has_nan
from funcgrad.core.aval import ShapedArray
from funcgrad.core.cache import weak_memo
from funcgrad.core.config import config
from funcgrad.core.errors import CompileError, message
from funcgrad.core.lazy import LazyModule
from funcgrad.core.warn import warn
from funcgrad.ir.check import check
from funcgrad.ir.effects import effectful
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import Jaxpr, Literal, Var
from funcgrad.runtime.buffers import array_address
from funcgrad.runtime.counters import counters
from funcgrad.trace.interpreter import floor, running

if TYPE_CHECKING:
    from funcgrad.loops.program import Program
    from funcgrad.runtime.executable import Executable

machine: Any = LazyModule("funcgrad.bridge.machine")


class Out(NamedTuple):
    """Where a result comes from: program output `number`, argument `number` as it is ("argument") or as another aval
    ("alias"), or a constant Array."""

    kind: str
    number: int
    aval: ShapedArray
    constant: Any = None


class Prepared(NamedTuple):
    """A program and how it fits the Jaxpr's inputs and outputs."""

    program: "Program | None"
    jaxpr: Jaxpr  # what was compiled
    inputs: tuple[int, ...]  # for each program input the number of the Jaxpr's
    outs: tuple[Out, ...]
    new: tuple[ShapedArray, ...]  # avals of the program's outputs
    donated: dict[int, int]  # program output -> Jaxpr input whose memory it takes


def prepare(jaxpr: Jaxpr, donated: tuple[int, ...] = ()) -> Prepared:
    """Simplify, set aside what needs no program (unused inputs; outputs that are inputs, literals or repeated), and compile."""
    simple = machine.simplify(jaxpr)
    if config.check_ir:
        check(simple)
    number = {v: i for i, v in enumerate(simple.invars)}
    used = {x for eqn in simple.eqns for x in eqn.inputs if x.__class__ is Var}
    inputs = tuple([i for v, i in number.items() if v in used])
    new: dict[Any, int] = {}
    outs = []
    for x, was in zip(simple.outvars, jaxpr.outvars, strict=True):
        aval = was.aval
        if isinstance(x, Literal):
            with np.errstate(all="ignore"):
                outs.append(Out("constant", -1, aval, from_numpy(np.asarray(x.value, aval.dtype), aval.weak_type)))
        elif x in number:
            i = number[x]
            outs.append(Out("argument" if jaxpr.invars[i].aval is aval else "alias", i, aval))
        else:
            outs.append(Out("new", new.setdefault(x, len(new)), aval))
    if not new and not any(map(effectful, simple.eqns)):
        return Prepared(None, Jaxpr((), simple.invars, (), ()), (), tuple(outs), (), {})
    core = Jaxpr((), [simple.invars[i] for i in inputs], simple.eqns, list(new))
    program = machine.compile_program(core, tuple([k for k, i in enumerate(inputs) if i in donated]))
    forwarded = {j: inputs[k] for j, k in program.forwarded}
    outs = [Out("alias", forwarded[o.number], o.aval) if o.kind == "new" and o.number in forwarded else o for o in outs]
    avals = [v.aval for v in new]
    for o in outs:
        if o.kind == "new":
            avals[o.number] = o.aval  # weakness is the traced program's, not the simplified one's
    return Prepared(program, core, inputs, tuple(outs), tuple(avals), {j: inputs[k] for j, k in program.donated})


class Runner:
    """Runs one Jaxpr. `launch(packed addresses)` is the way into machine code: None when all is well, else what `fail` explains;
    `launch` is None for programs with host steps, or without any step."""

    __slots__ = (
        "in_avals",
        "prepared",
        "inputs",
        "outs",
        "new",
        "donated",
        "dropped",
        "executable",
        "launch",
        "fail",
        "compiled",
        "forwarded",
    )

    def __init__(self, jaxpr: Jaxpr, donated: tuple[int, ...] = ()):
        counts.add("programs")
        before = counters.compiled
        self.in_avals = tuple(jaxpr.in_avals)
        try:
            p = prepare(jaxpr, donated)
        except (MemoryError, RecursionError):  # no fault of the program's: the next call tries again
            raise
        except Exception as error:  # a fault of ours, not of the user's program: it still has an answer
            _warn("a program could not be made", error)
            p = Prepared(
                None, jaxpr.replace(), (), tuple([Out("meaning", k, v.aval) for k, v in enumerate(jaxpr.outvars)]), (), {}
            )
        self.prepared = p
        self.inputs, self.outs, self.new, self.donated = p.inputs, p.outs, p.new, p.donated
        self.forwarded = frozenset(j for j, _ in p.program.forwarded) if p.program is not None else frozenset()
        self.dropped = tuple(sorted(set(donated)))
        self.executable: Executable | None = None
        if p.program is not None:
            try:
                self.executable = machine.load(p.program)
            except CompileError as error:
                _warn("a kernel could not be compiled", error)
        exe = self.executable
        self.launch = None if exe is None or exe.hosted else exe._packed
        self.fail = None if exe is None else exe.check
        self.compiled = counters.compiled - before

    def __call__(self, values: Sequence[Any]) -> list[Array]:
        """The outputs for these values (Arrays; NumPy arrays and scalars of the right aval)."""
        args = [x if x.__class__ is Array else as_array(x, a) for x, a in zip(values, self.in_avals, strict=True)]
        if self.dropped:
            distinct(tuple(args))
        kept = {i: alias(args[i], o.aval) for o in self.outs for i in (o.number,) if o.kind == "argument" and i in self.dropped}
        made: list[Any] = [None] * len(self.new)
        aliases = {k: alias(args[o.number], o.aval) for k, o in enumerate(self.outs) if o.kind == "alias"}
        if self.prepared.program is not None:
            self._run(args, made)
        elif any([o.kind == "meaning" for o in self.outs]):
            return self._evaluate(args)
        for i in self.dropped:
            if values[i].__class__ is Array:
                drop(args[i])
        results = []
        for k, o in enumerate(self.outs):
            if o.kind == "new":
                results.append(made[o.number])
            elif o.kind == "argument":
                results.append(kept[o.number] if o.number in kept else args[o.number])
            else:
                results.append(o.constant if o.kind == "constant" else aliases[k])
        return results

    def _evaluate(self, args: list[Array]) -> list[Array]:
        """Operator by operator, as without jit."""
        with running(floor()):
            outs = evaluate(lambda prim, xs, params: floor().apply(prim, tuple(xs), params), self.prepared.jaxpr, (), args)
        outs = [as_array(x, o.aval) for x, o in zip(outs, self.outs, strict=True)]
        for i in self.dropped:
            outs = [alias(x, x.aval) if x is args[i] else x for x in outs]
            drop(args[i])
        return outs

    def _run(self, args: list[Array], made: list[Any]) -> None:
        program = self.prepared.program
        assert program is not None
        counts.tick()
        taken: dict[int, Array] = {}
        for j, i in self.donated.items():
            taken[i] = made[j] = take(args[i], self.new[j])
        sources = [taken.get(i, args[i]) for i in self.inputs]
        addresses = [address(x) for x in sources]
        for j, aval in enumerate(self.new):
            if made[j] is None and j not in self.forwarded:
                made[j] = output(aval)
        exe = self.executable
        if exe is not None:
            exe.run(addresses, [0 if x is None else x._address for x in made])
            return
        stored = [_view(x._np, dtype) for x, (_, dtype) in zip(sources, program.inputs, strict=True)]
        for x, out in zip(made, machine.interpreter.run(program, stored), strict=True):
            if x is not None:
                fill(x, out)


def fill(x: Array, numbers: np.ndarray) -> None:
    """Write the numbers of an output that a program was to fill."""
    x._memory, x._view = None, np.array(_view(numbers, x.aval.dtype), order="C").reshape(x.aval.shape)
    x._address = array_address(x._view)


def _view(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The same bytes in the dtype that the program has for them (a PRNG key is one uint64 there)."""
    return x if x.dtype == dtype else np.ascontiguousarray(x).view(dtype).reshape(x.shape)


def as_array(x: Any, aval: ShapedArray) -> Array:
    """A value as an Array of this aval, copied where it could change later."""
    if x.__class__ is Array:
        return x
    if x.__class__ is DeletedArray:
        x._np  # noqa: B018  raises
    if isinstance(x, np.ndarray):
        return from_numpy(x)
    try:
        with np.errstate(over="ignore"):
            return from_numpy(np.asarray(x, aval.dtype), aval.weak_type, copy=False)
    except OverflowError:
        raise OverflowError(
            message(f"jit: got the Python int {x}", "ints that fit 64 bits with a sign", "np.uint64(x), or float(x)")
        ) from None


def _warn(what: str, error: Exception) -> None:
    warn(
        f"{what}; it runs by NumPy instead, which is slow. Please report this. {type(error).__name__}: {error}",
        RuntimeWarning,
    )


@weak_memo
def runner_of(jaxpr: Jaxpr, donated: tuple[int, ...] = ()) -> Runner:
    """The runner of `jaxpr`; made once, for as long as the Jaxpr lives."""
    return Runner(jaxpr, donated)


def execute(jaxpr: Jaxpr, args: Sequence[Any], donated: tuple[int, ...] = ()) -> list[Array]:
    """The outputs of `jaxpr` for these values."""
    outs = runner_of(jaxpr, donated)(args)
    if config.debug_nans and any(map(has_nan, outs)):
        find_nan(jaxpr, args)
    return outs
