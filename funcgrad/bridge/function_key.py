"""When two function objects compute the same: a key made of code, closure values, defaults and the globals that the code reads.

`lambda x: x * s` written in a loop is a new object each time round. Two of them may share their traces if the code is one
and everything that the code can reach outside its arguments is immutable and equal. Where that cannot be told (a list, a dict, an
instance, a class or module of the user's) there is no key, and a function is equal to itself only.
Arrays are immutable: they stand in the key by identity, and are held weakly by who keeps the key.
"""

import functools
import math
import sys
import types
from typing import Any

import numpy as np

from funcgrad.bridge.array import Array
from funcgrad.core.source import PACKAGE, kind_of_file
from funcgrad.trace.value import Value

_PLAIN = frozenset({type(None), bool, int, str, bytes, complex, type(Ellipsis)})
_LIMIT = 300  # functions and values looked at; what reaches further has no key
_CONSTANT_ROOTS = frozenset({"numpy", "scipy", "ml_dtypes", "math", "cmath", "operator", "functools", "itertools", "builtins"})


class NoKey(Exception):
    """The function reaches something that may change."""


class FunctionKey:
    """`key` (hashable) and `arrays`, the Arrays that the function reaches, whose identities stand in the key."""

    __slots__ = ("key", "arrays")

    def __init__(self, key: Any, arrays: list[Array]):
        self.key, self.arrays = key, arrays


def function_key(fun: Any) -> FunctionKey | None:
    """The key of `fun`, or None where it reaches something that may change."""
    walk = _Walk()
    try:
        key = walk.value(fun)
        hash(key)
    except (NoKey, TypeError, ValueError):  # a ValueError comes from a closure cell that is empty as yet
        return None
    return FunctionKey(key, walk.arrays)


class _Walk:
    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.functions: dict[int, int] = {}
        self.count = 0

    def value(self, x: Any) -> Any:
        self.count += 1
        if self.count > _LIMIT:
            raise NoKey
        t = x.__class__
        if t in _PLAIN:
            return (t, x)
        if t is float:
            return (t, x.hex())
        if t is tuple or t is frozenset:
            items = [self.value(v) for v in x]
            return (t, tuple(items) if t is tuple else frozenset(items))
        if t is Array:
            self.arrays.append(x)
            return (Array, id(x))
        if t is types.FunctionType:
            return self.function(x)
        if isinstance(x, Value):
            raise NoKey  # a tracer
        if isinstance(x, np.generic):
            return (t, x.dtype, x.tobytes())
        if isinstance(x, np.dtype):
            return (np.dtype, x)
        if isinstance(x, np.ufunc):
            return ("ufunc", _Same(x))
        if isinstance(x, types.BuiltinFunctionType) and isinstance(x.__self__, (types.ModuleType, type(None))):
            return ("builtin", _Same(x))
        if isinstance(x, types.ModuleType):
            if _is_library(x.__name__, getattr(x, "__file__", None)):
                return ("module", x.__name__)
            raise NoKey
        if isinstance(x, type):
            if x.__module__ == "builtins" or _is_library(x.__module__, getattr(sys.modules.get(x.__module__), "__file__", None)):
                return ("type", x)
            raise NoKey
        if isinstance(x, functools.partial):
            inner = getattr(x, "__wrapped__", None) if t is not functools.partial else None
            if inner is not None:  # a jitted function: what it wraps, and how
                return ("jitted", self.value(inner), getattr(x, "options_key", None))
            if t is functools.partial:
                return (
                    "partial",
                    self.value(x.func),
                    tuple([self.value(v) for v in x.args]),
                    tuple([(k, self.value(v)) for k, v in sorted(x.keywords.items())]),
                )
            raise NoKey
        if t.__module__.startswith("funcgrad.") and not hasattr(x, "__dict__") and t.__hash__ is object.__hash__:
            return ("operator", _Same(x))
        raise NoKey

    def function(self, f: types.FunctionType) -> Any:
        known = self.functions.get(id(f))
        if known is not None:  # it calls itself, or is reached twice
            return ("again", known)
        self.functions[id(f)] = len(self.functions)
        code = f.__code__
        if kind_of_file(code.co_filename) == PACKAGE and not f.__closure__ and f.__qualname__.isidentifier():
            return ("function", _Same(f))
        if "site-packages" in code.co_filename and not f.__closure__:
            return ("function", _Same(f))
        cells = tuple([self.value(cell.cell_contents) for cell in f.__closure__ or ()])
        defaults = tuple([self.value(v) for v in f.__defaults__ or ()])
        named = tuple([(k, self.value(v)) for k, v in sorted((f.__kwdefaults__ or {}).items())])
        space = f.__globals__
        read = tuple([(name, self.value(space[name])) for name in _names(code) if name in space])
        return ("function", _Same(code), cells, defaults, named, read)


@functools.lru_cache(maxsize=4096)
def _names(code: types.CodeType) -> tuple[str, ...]:
    """The names that the code, and code within it, may look up globally."""
    found = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found.update(_names(const))
    return tuple(sorted(found))


def _is_library(name: str, file: str | None) -> bool:
    """Modules of installed packages and of Python itself: their contents are taken as constant."""
    root = name.partition(".")[0]
    if root in _CONSTANT_ROOTS or root in sys.stdlib_module_names and root != "__main__":
        return True
    return bool(file) and (kind_of_file(file) == PACKAGE or "site-packages" in file)  # type: ignore[arg-type]


class _Same:
    """Equal only for one object, which it keeps alive."""

    __slots__ = ("what",)

    def __init__(self, what: Any):
        self.what = what

    def __eq__(self, other: Any) -> bool:
        return other.__class__ is _Same and self.what is other.what

    def __hash__(self) -> int:
        return hash(id(self.what))


assert math.inf.hex() == "inf"  # float.hex names the special values too
