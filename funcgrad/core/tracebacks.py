"""Tracebacks that show the user's lines: the package's own frames are taken out where an exception leaves the package.

Enters: an exception on its way to the user. Leaves: the same exception with a shorter traceback. At an API boundary
write::

    try:
        return self._run(args)
    except Exception as error:
        filter_traceback(error)
        raise

A bare `raise` does not record its own frame again (Python 3.11 and later), so nothing of the boundary is left.
`api_boundary` is the same as a decorator. `install_display_hooks` covers what passes no boundary (an operator on
two arrays): it shortens what the interpreter or IPython prints. `FUNCGRAD_TRACEBACK=full` or `config.traceback =
"full"` shows everything.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from funcgrad.core.config import config
from funcgrad.core.errors import FuncgradError
from funcgrad.core.source import GLUE, PACKAGE, kind_of_file

__all__ = ["api_boundary", "filter_traceback", "install_display_hooks"]

F = TypeVar("F", bound=Callable[..., Any])

HIDDEN_NOTE = "(funcgrad's own frames are hidden; FUNCGRAD_TRACEBACK=full shows them)"


def filter_traceback(error: BaseException) -> BaseException:
    """Take the package's frames out of the exception's traceback, and of those it was raised from; returns it.

    An exception that is none of the package's own but was raised inside it gets a note that frames are hidden.
    """
    if config.traceback == "full":
        return error
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        _shorten(one)
        todo += (one.__cause__, one.__context__)
    return error


def _shorten(error: BaseException) -> None:
    kept: list[TracebackType] = []
    inside = hidden = False
    tb = error.__traceback__
    while tb is not None:
        kind = kind_of_file(tb.tb_frame.f_code.co_filename)
        # What lies between two package frames (functools, contextlib) goes with them.
        inside = kind == PACKAGE or (kind == GLUE and inside)
        if inside:
            hidden = True
        else:
            kept.append(tb)
        tb = tb.tb_next
    if not hidden:
        return
    short: TracebackType | None = None
    for tb in reversed(kept):
        short = TracebackType(short, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    error.__traceback__ = short
    if inside and not isinstance(error, FuncgradError) and HIDDEN_NOTE not in getattr(error, "__notes__", ()):
        error.add_note(HIDDEN_NOTE)


def api_boundary(function: F) -> F:
    """Decorator for a function that users call: exceptions leave it without the package's frames."""

    @functools.wraps(function)
    def boundary(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            filter_traceback(error)
            raise

    return boundary  # type: ignore[return-value]


def install_display_hooks() -> None:
    """Shorten uncaught exceptions where they are printed: `sys.excepthook`, and IPython's display when it runs.

    What was installed there before goes on working: it is called with the shortened exception.
    """
    previous = sys.excepthook
    if not getattr(previous, "of_funcgrad", False):

        def excepthook(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
            if isinstance(error, Exception):
                filter_traceback(error)
                tb = error.__traceback__
            previous(kind, error, tb)

        excepthook.of_funcgrad = True  # type: ignore[attr-defined]
        sys.excepthook = excepthook
    _hook_ipython()


def _hook_ipython() -> None:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    # Somebody else's handler stays: IPython has room for one.
    if shell is None or getattr(shell, "custom_exceptions", None):
        return

    def show(self: Any, kind: type[BaseException], error: BaseException, tb: Any, tb_offset: Any = None) -> None:
        filter_traceback(error)
        self.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)

    shell.set_custom_exc((Exception,), show)
