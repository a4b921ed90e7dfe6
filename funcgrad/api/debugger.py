"""`debug.breakpoint`: a prompt in the frame of its caller, with the values that the program has there.

While tracing, the frames of the user's program are noted: the traced values among their variables travel to the host, and
when the program comes by, a prompt opens on copies of the frames in which each traced value is its NumPy array.
"""

import bdb
import cmd
import linecache
import os
import pprint
import sys
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Any, NamedTuple

from funcgrad.api.callback import HostFunction, pack
from funcgrad.core.errors import UsageError, message
from funcgrad.core.pytree import tree_flatten, tree_map
from funcgrad.core.source import USER, kind_of_file
from funcgrad.core.tracebacks import api_boundary
from funcgrad.trace.interpreter import Tracer
from funcgrad.transforms.callback import debug_callback

_AROUND = 5  # lines shown before and after the current one


class Frame(NamedTuple):
    """A place in the user's program and what its names stand for."""

    filename: str
    line: int
    function: str
    names: dict[str, Any]
    space: dict[str, Any]  # the module's

    def __str__(self) -> str:
        return f"{os.path.basename(self.filename)}({self.line}) {self.function}"


class Gone:
    """Stands for a traced value of a run that has ended."""

    def __repr__(self) -> str:
        return "<a traced value of a run that has ended>"


class Debugger(cmd.Cmd):
    """The prompt. Commands are pdb's; anything else is evaluated in the frame."""

    intro = "Entering the funcgrad debugger: values as the program has them here. 'help' lists the commands."
    prompt = "(fgdb) "

    def __init__(self, frames: Sequence[Frame], stdin: Any = None, stdout: Any = None):
        super().__init__(stdin=stdin or sys.stdin, stdout=stdout or sys.stdout)
        # A script on stdin is read line by line; a person gets editing and history.
        self.use_rawinput = stdin is None and sys.stdin is sys.__stdin__ and sys.stdin.isatty()
        self.frames, self.at = frames, 0

    @property
    def frame(self) -> Frame:
        return self.frames[self.at]

    def say(self, *lines: str) -> None:
        for line in lines:
            self.stdout.write(line + "\n")

    def preloop(self) -> None:
        self.say(f"> {self.frame}", "-> " + linecache.getline(self.frame.filename, self.frame.line).strip())

    def emptyline(self) -> bool:
        return False

    def evaluate(self, text: str) -> Any:
        # One dictionary: comprehensions and lambdas must see the local names too.
        return eval(text, {**self.frame.space, **self.frame.names})

    def shown(self, text: str, show: Any) -> None:
        try:
            self.say(show(self.evaluate(text)))
        except Exception as error:
            self.say(traceback.format_exception_only(error)[-1].rstrip())

    def default(self, line: str) -> bool | None:
        if line == "EOF":
            return True
        try:
            compile(line, "<debugger>", "eval")
        except SyntaxError:
            try:
                exec(line, self.frame.space, self.frame.names)
            except Exception as error:
                self.say(traceback.format_exception_only(error)[-1].rstrip())
            return None
        self.shown(line, lambda x: "" if x is None else repr(x))
        return None

    def do_p(self, line: str) -> None:
        """p expression: print the value of an expression"""
        self.shown(line, repr)

    do_print = do_p

    def do_pp(self, line: str) -> None:
        """pp expression: print the value of an expression, laid out"""
        self.shown(line, pprint.pformat)

    def do_locals(self, _: str) -> None:
        """locals: the names of the frame and their values"""
        self.say(*[f"{name} = {value!r}" for name, value in self.frame.names.items()])

    def do_list(self, _: str) -> None:
        """l(ist): the source around the current line"""
        frame = self.frame
        for n in range(max(1, frame.line - _AROUND), frame.line + _AROUND + 1):
            text = linecache.getline(frame.filename, n)
            if text:
                self.say(f"{n:4} {'->' if n == frame.line else '  '} {text.rstrip()}")

    do_l = do_list

    def do_where(self, _: str) -> None:
        """w(here), bt: the frames, the innermost last"""
        for k in range(len(self.frames) - 1, -1, -1):
            self.say(f"{'>' if k == self.at else ' '} {self.frames[k]}")

    do_w = do_bt = do_where

    def move(self, step: int, end: str) -> None:
        if 0 <= self.at + step < len(self.frames):
            self.at += step
            self.preloop()
        else:
            self.say(end)

    def do_up(self, _: str) -> None:
        """u(p): the caller's frame"""
        self.move(1, "This is the outermost frame.")

    do_u = do_up

    def do_down(self, _: str) -> None:
        """d(own): the frame that was called"""
        self.move(-1, "This is the innermost frame.")

    do_d = do_down

    def do_continue(self, _: str) -> bool:
        """c(ontinue): let the program go on"""
        return True

    do_c = do_cont = do_continue

    def do_quit(self, _: str) -> bool:
        """q(uit): end the program with bdb.BdbQuit"""
        raise bdb.BdbQuit

    do_q = do_exit = do_quit


def _user_frames(frame: FrameType | None, filtered: bool, count: int | None) -> list[FrameType]:
    found: list[FrameType] = []
    while frame is not None and (count is None or len(found) < count):
        name = frame.f_code.co_filename
        if not filtered or (kind_of_file(name) == USER and f"{os.sep}site-packages{os.sep}" not in name):
            found.append(frame)
        frame = frame.f_back
    return found


def _names(frame: FrameType) -> dict[str, Any]:
    """The frame's variables; those of a module are looked up there when they are asked for."""
    if frame.f_code.co_name == "<module>":
        return {}
    names = {}
    for name, value in frame.f_locals.items():
        try:
            leaves = tree_flatten(value)[0]
        except Exception:  # an object that cannot be taken apart is shown as it is
            leaves = []
        if any(isinstance(x, Tracer) and not x.owner.live for x in leaves):
            value = tree_map(lambda x: Gone() if isinstance(x, Tracer) and not x.owner.live else x, value)
        names[name] = (value,) if any(isinstance(x, Tracer) for x in leaves) else Opaque(value)
    return names


class Opaque:
    """Keeps a value without traced parts out of the way of the pytrees."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


class _Prompt:
    """Opens the prompt on the noted frames."""

    def __init__(self, frames: list[Frame], stdin: Any, stdout: Any):
        self.frames, self.stdin, self.stdout = frames, stdin, stdout

    def __call__(self, names: list[dict[str, Any]]) -> None:
        frames = [
            f._replace(names={k: v.value if isinstance(v, Opaque) else v[0] for k, v in values.items()})
            for f, values in zip(self.frames, names, strict=True)
        ]
        Debugger(frames, self.stdin, self.stdout).cmdloop()


@api_boundary
def set_breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    stdin: Any = None,
    stdout: Any = None,
    **kwargs: Any,
) -> Any:
    r"""Open a prompt like pdb's when the program comes by, on the frames that were there while it was traced.

    Traced values among the frames' variables are NumPy arrays there. Commands: p, pp, locals, list, where, up, down, continue,
    quit (raises bdb.BdbQuit); anything else is evaluated in the frame. Under vmap it opens for one example after the other.

    Args:
      backend: None or "cli".
      filter_frames: leave out the frames of this package and of installed ones. num_frames: at most so many.
      token: returned as it is, if given. ordered: accepted; effects happen in the program's order.
      stdin, stdout: files to read and write instead of the standard ones.

    >>> import io
    >>> def f(x):
    ...     y = 2 * x
    ...     fg.debug.breakpoint(stdin=io.StringIO("p y\ncontinue\n"), num_frames=1)
    ...     return y + 1
    >>> out = f(fnp.array([1.0, 2.0]))
    > <...>(3) f
    -> fg.debug.breakpoint(...)
    Entering the funcgrad debugger: values as the program has them here. 'help' lists the commands.
    (fgdb) Array([2., 4.], dtype=float32)
    (fgdb)
    """
    if backend not in (None, "cli") or kwargs:
        got = f"backend={backend!r}" if not kwargs else ", ".join(f"{k}=" for k in kwargs)
        raise UsageError(message(f"debug.breakpoint: got {got}", "backend=None or 'cli', stdin=, stdout=", "leave it out"))
    found = _user_frames(sys._getframe(1), filter_frames, num_frames)
    if not found:
        return token
    frames = [Frame(f.f_code.co_filename, f.f_lineno, f.f_code.co_qualname, {}, f.f_globals) for f in found]
    packed, values = pack((([_names(f) for f in found],), {}))
    fun = HostFunction(_Prompt(frames, stdin, stdout), packed, None, "debug.breakpoint")
    debug_callback(*values, fun=fun, results=(), name="debug.breakpoint")
    return token
