"""When two function objects compute the same: a key made of code, closure values, defaults and the globals that the code reads.

`lambda x: x * s` written in a loop is a new object each time round. Two of them may share their traces if the code is one
and everything that the code can reach outside its arguments is immutable and equal. Where that cannot be told (a list, a dict, an
instance, a class of the user's, an import inside the function, the clock, a random generator) there is no key, and a function
is equal to itself only. Of a module (`np.pi`, `helpers.scale`) what the code takes from it counts, not the module.
Arrays are immutable: they stand in the key by identity, and are held weakly by who keeps the key.
"""

import builtins
import dis
import functools
import math
import sys
import types
from typing import Any

import numpy as np

from funcgrad.bridge.array import Array
from funcgrad.core.source import PACKAGE, kind_of_file
from funcgrad.ir.primitive import Primitive
from funcgrad.trace.value import Value

_PLAIN = frozenset({type(None), bool, int, str, bytes, type(Ellipsis)})
_LIMIT = 300  # functions and values looked at; what reaches further has no key
# Modules whose functions give equal results for equal arguments; of the standard library only these.
_CONSTANT_ROOTS = frozenset(
    "numpy scipy ml_dtypes math cmath operator functools itertools builtins collections dataclasses enum numbers fractions "
    "typing abc string bisect".split()
)
_CHANGING = ("numpy.random", "scipy.stats")
_LIBRARY_KINDS = frozenset({"_ArrayFunctionDispatcher", "cython_function_or_method", "fused_cython_function"})
# What these give depends on more than their arguments.
_IMPURE = frozenset("open eval exec compile globals locals vars dir input __import__ id breakpoint next iter".split())


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
        if t is complex:
            return (t, x.real.hex(), x.imag.hex())
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
        if isinstance(x, np.ufunc) or _is_library_callable(x):
            return ("library", _Same(x))
        if isinstance(x, (types.ModuleType, types.BuiltinFunctionType, type)):
            raise NoKey  # a module as it stands: what is taken from it cannot be told
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
        if t.__module__.startswith("funcgrad.") and hasattr(t, "reaches"):
            return (t, self.value(x.reaches()))  # what its calls depend on
        if t.__module__.startswith("funcgrad.") and not hasattr(x, "__dict__") and t.__hash__ is object.__hash__:
            # What pickles as more than a name (a ufunc of the user's) is made of what may change; an operator is what it was.
            if isinstance(x, Primitive) or t.__reduce__ is object.__reduce__ or isinstance(x.__reduce__(), str):
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
        reads = _reads(code)
        if reads is None:
            raise NoKey
        cells = {name: cell.cell_contents for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True)}
        found = []
        for name, chain in reads:
            space = cells if name in cells else f.__globals__
            if name in space:
                found.append((name, chain, self.read(space[name], chain)))
            elif name in _IMPURE and hasattr(builtins, name):
                raise NoKey
        seen = {name for name, _ in reads}
        found += [(name, self.value(x)) for name, x in cells.items() if name not in seen]
        defaults = tuple([self.value(v) for v in f.__defaults__ or ()])
        named = tuple([(k, self.value(v)) for k, v in sorted((f.__kwdefaults__ or {}).items())])
        attributes = tuple([(k, self.value(v)) for k, v in sorted(f.__dict__.items())])
        return ("function", _Same(code), tuple(found), defaults, named, attributes)

    def read(self, x: Any, chain: tuple[str, ...]) -> Any:
        """The key of `x.a.b`, as far as x and x.a are modules, and the package's objects as they stand."""
        for name in chain:
            if not isinstance(x, types.ModuleType) or x.__name__.startswith(_CHANGING):
                break
            ours = kind_of_file(getattr(x, "__file__", None) or "") == PACKAGE
            x = getattr(x, name, None)
            if ours and callable(x):
                return ("package", _Same(x))
        return self.value(x)


@functools.lru_cache(maxsize=4096)
def _reads(code: types.CodeType) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
    """What the code, and code within it, looks up outside: ((name, attributes taken from it at once), ...).

    None where that cannot be told: it imports, or it assigns to a name outside."""
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    name, chain = None, ()
    inside = set(code.co_cellvars)
    for step in dis.get_instructions(code):
        if name is not None and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            chain += (step.argval,)
            continue
        if name is not None:
            found[name, chain] = None
            name, chain = None, ()
        if step.opname.startswith("IMPORT_") or step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            return None
        if step.opname == "STORE_DEREF" and step.argval not in inside:
            return None
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_CLASSDEREF") or (
            step.opname == "LOAD_DEREF" and step.argval not in inside
        ):
            name, chain = step.argval, ()
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            more = _reads(const)
            if more is None:
                return None
            found.update(dict.fromkeys(read for read in more if read[0] not in inside))
    return tuple(sorted(found))


def _is_library_callable(x: Any) -> bool:
    """A function or class of an installed package, or of Python itself, whose results are those of its arguments."""
    if isinstance(x, types.BuiltinFunctionType):
        owner = x.__self__
        if owner is not None and not isinstance(owner, types.ModuleType):
            return False  # a method of something that may change
        module = x.__module__ if owner is None else owner.__name__
        return module != "builtins" and _is_library(module) or module == "builtins" and x.__name__ not in _IMPURE
    if isinstance(x, type) or type(x).__name__ in _LIBRARY_KINDS:
        return _is_library(x.__module__)
    return False


def _is_library(name: str | None) -> bool:
    if not name or name.startswith(_CHANGING):
        return False
    root = name.partition(".")[0].removeprefix("_")
    if root in _CONSTANT_ROOTS:
        return True
    if name.partition(".")[0] in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return kind_of_file(file) == PACKAGE or "site-packages" in file


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
