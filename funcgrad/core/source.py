"""Where in the user's program something happened.

`current()` walks from its caller outwards and stops at the first frame that is not the package's; it enters nothing
and leaves a `Source`, which prints as "train.py:12 (loss)". It is called for every equation and every error, so it
does the least possible: the frame's code object and instruction offset are kept, and the line number is decoded
when somebody asks. Files are classed as user's, package's or glue once each (a memo by file name, which is bounded
by the number of files, not of functions).
"""

from __future__ import annotations

import ast
import itertools
import linecache
import os
import sys
import threading
from types import CodeType, FrameType, TracebackType

__all__ = [
    "GLUE",
    "PACKAGE",
    "SCOPE",
    "UNKNOWN",
    "USER",
    "Source",
    "current",
    "generated_filename",
    "kind_of_file",
    "source_of_traceback",
]

_PACKAGE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_GENERATED = "<funcgrad "  # file names that exec'd code of the package carries
# What stands in the package's folder but is written as a user would write it: its lines are the user's lines.
_USER_LIKE = tuple(_PACKAGE_DIR + name for name in ("demo", "__main__"))
# Libraries that sit between a user's line and the package without being where the user's mistake is.
_GLUE_FILES = ("functools.py", "contextlib.py")
_GLUE_DIRS = (f"{os.sep}numpy{os.sep}", f"{os.sep}ml_dtypes{os.sep}")

USER, PACKAGE, GLUE = 0, 1, 2
WIDTH = 100  # of a code line that an error quotes
_memo: dict[str, int] = {}


def generated_filename(what: str) -> str:
    """The file name for code that the package generates and executes, so that its frames count as package frames."""
    return f"{_GENERATED}{what}>"


def kind_of_file(filename: str) -> int:
    """USER, PACKAGE (the package's own files and generated code) or GLUE (functools, NumPy and such in between)."""
    known = _memo.get(filename)
    if known is None:
        known = _memo[filename] = _classify(filename)
    return known


def _classify(filename: str) -> int:
    if filename.startswith(_GENERATED):
        return PACKAGE
    if filename.startswith(_PACKAGE_DIR):
        return USER if filename.startswith(_USER_LIKE) else PACKAGE
    if filename.startswith("<"):
        return GLUE if filename.startswith("<frozen ") else USER
    folder, name = os.path.split(filename)
    if name in _GLUE_FILES and folder == os.path.dirname(os.__file__):
        return GLUE
    if "site-packages" in filename and any(part in filename for part in _GLUE_DIRS):
        return GLUE
    return USER


class Scope(threading.local):
    """What is said of operations besides their line: the names that `named_scope` gives to what runs now, joined by "/", and
    whether it is the backward pass of a derivative."""

    path = ""
    backward = False


SCOPE = Scope()


class Source:
    """A place in the user's program: `filename`, `line`, `function`; `str` gives "train.py:12 (loss)", and the named scopes
    that it lies in: "train.py:12 (loss) in encoder/attention". `backward`: it was done by a backward pass that began there."""

    __slots__ = ("_code", "_lasti", "_place", "scope", "backward")

    _code: CodeType | None
    _lasti: int
    _place: tuple[str, int, str] | None
    scope: str
    backward: bool

    def __init__(self, filename: str, line: int, function: str, scope: str = "", backward: bool = False) -> None:
        self._code = None
        self._lasti = 0
        self._place = (filename, line, function)
        self.scope = scope
        self.backward = backward

    @property
    def filename(self) -> str:
        return self._resolve()[0]

    @property
    def line(self) -> int:
        return self._resolve()[1]

    @property
    def function(self) -> str:
        return self._resolve()[2]

    def _resolve(self) -> tuple[str, int, str]:
        place = self._place
        if place is None:
            code = self._code
            assert code is not None
            # Not written back: tracing on several threads may read one Source, and nothing is read twice in earnest.
            place = (code.co_filename, _line_of(code, self._lasti), code.co_qualname)
        return place

    def text(self) -> str:
        """The code line, stripped; empty where the file cannot be read."""
        filename, line, _ = self._resolve()
        return linecache.getline(filename, line).strip()

    def statement(self) -> str:
        """The code line with those after it that close a bracket it opens; the line alone where that makes no statement."""
        filename, line, _ = self._resolve()
        lines = [self.text()]
        for n in range(1, 20):
            try:
                ast.parse("\n".join(lines))
            except SyntaxError:
                lines.append(linecache.getline(filename, line + n).strip())
            else:
                return "\n".join(lines)
        return lines[0]

    def quote(self) -> str:
        """The place with its code line: "train.py:12 (loss): y = x @ w". Of a long line, what lies around the place."""
        text = self.text()
        if len(text) > WIDTH:
            text = self._around(text)
        return f"{self}: {text}" if text else str(self)

    def _around(self, text: str) -> str:
        filename, line, _ = self._resolve()
        whole = linecache.getline(filename, line)
        first = 0
        if self._code is not None:  # columns count bytes of the line as it stands in the file
            _, _, column, _ = next(itertools.islice(self._code.co_positions(), self._lasti // 2, None))
            column = len(whole.encode()[: column or 0].decode(errors="ignore")) - (len(whole) - len(whole.lstrip()))
            first = max(0, min(column - WIDTH // 4, len(text) - WIDTH))
        return ("..." if first else "") + text[first : first + WIDTH] + ("..." if first + WIDTH < len(text) else "")

    def __str__(self) -> str:
        filename, line, function = self._resolve()
        if line <= 0:
            return filename
        name = os.path.basename(filename) or filename
        if "ipykernel_" in filename or filename.startswith("<ipython-input"):
            name = "notebook cell"
        function = function.replace("<locals>.", "")
        place = f"{name}:{line}" if function == "<module>" else f"{name}:{line} ({function})"
        return f"{place} in {self.scope}" if self.scope else place

    def __repr__(self) -> str:
        return f"Source({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Source) and self._resolve() == other._resolve() and self.scope == other.scope

    def __hash__(self) -> int:
        return hash(self._resolve())

    def __reduce__(self) -> tuple:
        return (Source, (*self._resolve(), self.scope, self.backward))


UNKNOWN = Source("<unknown place>", 0, "<module>")


def _line_of(code: CodeType, lasti: int) -> int:
    for start, end, line in code.co_lines():
        if start <= lasti < end:
            return line or code.co_firstlineno
    return code.co_firstlineno


_new = object.__new__


def current(skip: int = 1) -> Source:
    """The innermost place of the user's program on this thread's stack; `skip` frames are passed unseen."""
    frame: FrameType | None = sys._getframe(skip)
    memo = _memo
    while frame is not None:
        code = frame.f_code
        filename = code.co_filename
        kind = memo.get(filename)
        if kind is None:
            kind = kind_of_file(filename)
        if kind == USER:
            source = _new(Source)
            source._code = code
            source._lasti = frame.f_lasti
            source._place = None
            source.scope = SCOPE.path
            source.backward = SCOPE.backward
            return source
        frame = frame.f_back
    return UNKNOWN


def source_of_traceback(tb: TracebackType | None) -> Source:
    """The innermost user's place of a traceback (for errors that are caught and said again)."""
    found = UNKNOWN
    while tb is not None:
        code = tb.tb_frame.f_code
        if kind_of_file(code.co_filename) == USER:
            found = Source(code.co_filename, tb.tb_lineno, code.co_qualname)
        tb = tb.tb_next
    return found
