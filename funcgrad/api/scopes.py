"""Contexts for parts of a function: named_scope (names in messages), ensure_compile_time_eval (values while tracing)."""

from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from typing import Any

from funcgrad.core.errors import UsageError, describe, message
from funcgrad.core.source import SCOPE
from funcgrad.trace.interpreter import Interpreter, Tracer, current, floor, running


class named_scope(ContextDecorator):
    """Name what is computed inside the block: `with named_scope("encoder"):`, or as a decorator.

    The names, joined by "/", stand with the user's line in all that the package says about an operation: errors, `check`,
    `config.debug_nans`, and the `source` of a program's equations. They change no result and cost nothing at run time.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> def f(x):
    ...     with fg.named_scope("head"):
    ...         return fnp.sin(x)
    >>> fg.make_jaxpr(f)(1.0).eqns[0].source.scope
    'head'
    """

    def __init__(self, name: str):
        if not isinstance(name, str) or not name:
            raise UsageError(message(f"named_scope: got {describe(name)}", "a str that is not empty", "named_scope('encoder')"))
        self.name = name
        self.before: list[str] = []

    def _recreate_cm(self) -> "named_scope":  # ContextDecorator asks for it: calls may nest and run on several threads
        return named_scope(self.name)

    def __enter__(self) -> "named_scope":
        self.before.append(SCOPE.path)
        SCOPE.path = f"{SCOPE.path}/{self.name}" if SCOPE.path else self.name
        return self

    def __exit__(self, *_: Any) -> None:
        SCOPE.path = self.before.pop()


class Known(Interpreter):
    """Operations on values that have numbers are done at once; the others go to the parent."""

    __slots__ = ()

    def apply(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        traced = any(isinstance(x, Tracer) for x in args)
        below = self.parent if traced else floor()
        with running(below):  # type: ignore[arg-type]
            return below.apply(prim, args, params)  # type: ignore[union-attr]


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """While tracing, compute at once what depends on no traced value, so that it can be used as a Python value.

    Inside `jit`, even `fnp.arange(3).sum()` is a part of the program and has no number yet; in this context it has one.
    What depends on traced values is traced as ever.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> @fg.jit
    ... def f(x):
    ...     with fg.ensure_compile_time_eval():
    ...         n = int(fnp.arange(3).sum())
    ...     return x * n
    >>> float(f(2.0))
    6.0
    """
    with running(Known(current())):
        yield
