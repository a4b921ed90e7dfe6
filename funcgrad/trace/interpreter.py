"""The interpreter stack and `bind`, the one door through which every operator goes.

An `Interpreter` gives primitives a meaning. The current one is a thread's state; it applies a primitive's
rule with its `parent` as the current one, so that what the rule computes is interpreted one level down.
At the bottom stands the floor: eager evaluation, put there by `bridge.eager`.

A tracer belongs to one interpreter. To every other it is an opaque constant, which is what makes nested
derivatives of one variable distinct (no perturbation confusion).
"""

import threading
from typing import Any

from funcgrad.core.aval import ShapedArray
from funcgrad.core.errors import UnexpectedTracerError, made_at
from funcgrad.ir.primitive import Primitive
from funcgrad.trace.value import Value


class Interpreter:
    """Gives primitives a meaning. `live` turns False when its run has ended: its tracers are leaks from then on.

    `axes` are the named axes that are bound where it runs, outermost first: (name, size) each.
    """

    __slots__ = ("parent", "live", "axes")

    def __init__(self, parent: "Interpreter | None", axes: tuple[tuple[Any, int], ...] = ()):
        self.parent, self.live = parent, True
        inherited = () if parent is None else parent.axes
        if axes:  # a name that is bound again hides the one before
            names = [name for name, _ in axes]
            inherited = (*[(name, size) for name, size in inherited if name not in names], *axes)
        self.axes = inherited

    def apply(self, prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The primitive's outcome on these operands."""
        raise TypeError(f"{type(self).__name__} does not say how it applies a primitive")


class Tracer(Value):
    """A value in the hands of an interpreter: what the user's function sees while it is traced."""

    __slots__ = ("owner", "aval", "source")

    def __init__(self, trace: Interpreter, aval: ShapedArray, source: Any = None):
        self.owner, self.aval, self.source = trace, aval, source

    def concrete(self) -> Any:
        """The Array behind this tracer, or None where there are no numbers yet (staging, batching)."""
        return None

    def pick(self, kind: type) -> Any:
        """The `bool` or `int` by which the user's Python chooses its way, where a trace may be made for each way; else None."""
        return None

    def __repr__(self) -> str:
        """What `print(x)` in a traced function shows: the numbers where there are some, else shape, dtype and place."""
        known = self.concrete()
        return f"Traced({self.aval}{made_at(self)})" if known is None else f"Traced({known!r})"

    def __str__(self) -> str:
        known = self.concrete()
        return repr(self) if known is None else str(known)


class State(threading.local):
    current: Interpreter

    def __init__(self) -> None:
        self.current = _floor[0]


_floor: list[Interpreter] = [Interpreter(None)]
# The current interpreter of each thread. Generated calls read it.
state = State()


def set_floor(interpreter: Interpreter) -> None:
    """Make `interpreter` the bottom of every thread's stack. Called once, by `bridge.eager`."""
    _floor[0] = interpreter
    state.current = interpreter


def current() -> Interpreter:
    """The interpreter that the next `bind` goes to."""
    return state.current


def floor() -> Interpreter:
    """Eager evaluation."""
    return _floor[0]


def bind(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Apply a primitive to values (Array, Tracer, scalar literal) under the current interpreter."""
    return state.current.apply(prim, args, params)


class running:
    """`with running(interpreter):` makes it the current one; on exit the one before is current again."""

    __slots__ = ("interpreter", "before")

    def __init__(self, interpreter: Interpreter):
        self.interpreter = interpreter

    def __enter__(self) -> Interpreter:
        self.before = state.current
        state.current = self.interpreter
        return self.interpreter

    def __exit__(self, *_: Any) -> None:
        state.current = self.before


def check_live(x: Tracer) -> Tracer:
    """`x`, unless the run that made it has ended."""
    if not x.owner.live:
        raise UnexpectedTracerError(x)  # type: ignore[arg-type]
    return x


class Operator(Primitive):
    """A primitive that can be called: `sin(x)` is `bind(sin, x)`. What `ops/` declares."""

    __slots__ = ()

    def __call__(self, *args: Any, **params: Any) -> Any:
        return state.current.apply(self, args, params)


def holds_no_tracer(result: tuple) -> bool:
    """Whether the constants in a transformed program, a list inside `result`, belong to no run: it may then be remembered."""
    return not any(isinstance(x, Tracer) for part in result if isinstance(part, list) for x in part)
