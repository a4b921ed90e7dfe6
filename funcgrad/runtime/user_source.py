"""What a user's function is, by content: a digest of everything that its machine code depends on.

In: a Python function. Out: a hex digest of its bytecode, constants, names, defaults, closure values and of the globals that it
reads, functions among them likewise. Equal digests mean equal code, in this process and in others. What cannot be read by
content (an instance of a user's class) counts by identity: it gets a mark that no other process has.
"""

import hashlib
import secrets
import types
import weakref
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
_marks: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()
_kept: dict[int, tuple[Any, str]] = {}  # marks of what cannot be held weakly; the object is kept, so that its id stays its own


def digest(function: Any, *more: str) -> str:
    """The digest of a Python function and of `more`."""
    walk = _Walk()
    walk.value(function)
    for text in more:
        walk.say(text)
    return walk.hash.hexdigest()


class _Walk:
    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.seen: dict[int, int] = {}

    def say(self, *parts: Any) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode()
            self.hash.update(len(data).to_bytes(8, "little") + data)

    def value(self, x: Any) -> None:
        kind = type(x)
        if kind in _PLAIN:
            self.say(kind.__name__, repr(x))
        elif kind in (tuple, list, frozenset):
            self.say(kind.__name__, len(x))
            for v in sorted(x, key=repr) if kind is frozenset else x:
                self.value(v)
        elif isinstance(x, types.FunctionType):
            self.function(x)
        elif isinstance(x, Dispatcher):
            self.say("dispatcher", sorted(map(str, x.targetoptions.items())))
            self.function(x.py_func)
        elif isinstance(x, types.CodeType):
            self.code(x)
        elif isinstance(x, types.ModuleType):
            self.say("module", x.__name__)
        elif isinstance(x, np.generic):
            self.say("number", x.dtype.str, x.tobytes())
        elif isinstance(x, np.ndarray) and x.dtype.kind != "O":
            self.say("array", x.dtype.str, x.shape, x.tobytes())
        elif isinstance(x, np.dtype):
            self.say("dtype", x.str)
        elif isinstance(x, (np.ufunc, types.BuiltinFunctionType)):
            self.say("builtin", getattr(x, "__module__", ""), x.__name__)
        elif isinstance(x, type) and x.__module__ in ("builtins", "numpy"):
            self.say("type", x.__module__, x.__name__)
        else:
            self.say("object", _mark(x))

    def function(self, f: types.FunctionType) -> None:
        if id(f) in self.seen:
            self.say("again", self.seen[id(f)])
            return
        self.seen[id(f)] = len(self.seen)
        self.say("function")
        self.code(f.__code__)
        self.value(f.__defaults__)
        for cell in f.__closure__ or ():
            self.value(cell.cell_contents)
        for name in _globals(f.__code__):
            if name in f.__globals__:
                self.say(name)
                self.value(f.__globals__[name])

    def code(self, code: types.CodeType) -> None:
        """Not the line numbers, nor the file: a function that moves is the same."""
        self.say(
            code.co_code, code.co_argcount, code.co_flags, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        )
        self.value(code.co_consts)


def _globals(code: types.CodeType) -> list[str]:
    """The names that the code, and code within it, may look up globally."""
    found = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found.update(_globals(const))
    return sorted(found)


def _mark(x: Any) -> str:
    try:
        return _marks.setdefault(x, secrets.token_hex(16))
    except TypeError:
        return _kept.setdefault(id(x), (x, secrets.token_hex(16)))[1]
