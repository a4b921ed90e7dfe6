"""A function's traces: what was staged for which kind of arguments, shared by functions that compute the same.

In: a key (tree, avals, statics, options). Out: a `Staged`, traced on the first call. Everything is bounded: each family
keeps its `LIMIT` most recent traces, and the table of families the most recent ones; a family that no jitted function and
no recent use holds is gone.
"""

import itertools
import threading
import weakref
from collections import OrderedDict
from typing import Any, NamedTuple

from funcgrad.bridge.array import Array
from funcgrad.bridge.counts import counts, drawn
from funcgrad.bridge.function_key import FunctionKey, function_key
from funcgrad.core.aval import ShapedArray
from funcgrad.core.pytree import PyTreeDef
from funcgrad.ir.jaxpr import Jaxpr

LIMIT = 1024  # traces of one function
FAMILIES = 256  # functions that are remembered when nobody holds them


class Key(NamedTuple):
    """What decides whether a trace fits."""

    tree: PyTreeDef  # of (positional arguments, keyword arguments)
    avals: tuple[ShapedArray, ...]
    statics: tuple
    config: tuple
    axes: tuple = ()  # named axes that are bound: (name, size)


class Anchor(int):
    """Stands for a constant that is an Array of the function's closure: its number there. The function itself holds it."""


class Staged:
    """A function traced for one key: its program, the values of its constants, the structure of its result."""

    __slots__ = (
        "key",
        "jaxpr",
        "consts",
        "out_tree",
        "name",
        "donated",
        "runner",
        "fast_counter",
        "tick",
        "_slow",
        "tick_slow",
        "__weakref__",
    )

    def __init__(self, key: Key, jaxpr: Jaxpr, consts: list[Any], out_tree: PyTreeDef, name: str, donated: tuple[int, ...]):
        self.key, self.jaxpr, self.consts, self.out_tree = key, jaxpr, consts, out_tree
        self.name = name
        self.donated = donated  # numbers of the leaves whose memory may be reused
        self.runner: Any = None  # made when it first runs
        self.fast_counter, self._slow = itertools.count(), itertools.count()
        self.tick, self.tick_slow = self.fast_counter.__next__, self._slow.__next__
        counts.watch(self)

    @property
    def calls(self) -> int:
        """How often it was asked for."""
        return drawn(self.fast_counter) + drawn(self._slow)


class Family:
    """The traces of one function (or of several that compute the same), and their history."""

    __slots__ = ("traces", "lock", "traced", "reasons", "arrays", "lost_calls", "compiled", "__weakref__")

    def __init__(self, arrays: list[Array]):
        self.traces: OrderedDict[Key, Staged] = OrderedDict()
        self.lock = threading.RLock()
        self.traced = 0
        self.compiled = 0
        self.lost_calls = 0  # of traces that were dropped
        self.reasons: list[str] = []
        self.arrays = [weakref.ref(x) for x in arrays]

    def find(self, key: Key) -> Staged | None:
        """The trace for `key`, if there is one."""
        return self.traces.get(key)

    def add(self, staged: Staged) -> Staged:
        """Remember a trace. (Called with the lock held.)"""
        if len(self.traces) >= LIMIT:
            _, old = self.traces.popitem(last=False)
            self.lost_calls += old.calls
        self.traces[staged.key] = staged
        return staged

    def stands_for(self, arrays: list[Array]) -> bool:
        """Whether the Arrays whose identities are in the key are still those."""
        return len(arrays) == len(self.arrays) and all(ref() is x for ref, x in zip(self.arrays, arrays, strict=True))


_lock = threading.Lock()
_by_value: OrderedDict[Any, Family] = OrderedDict()
_by_identity: weakref.WeakKeyDictionary[Any, dict[Any, Family]] = weakref.WeakKeyDictionary()


def family_of(fun: Any, options: Any) -> tuple[Family, list[Array]]:
    """The family of `fun` under these options of jit, and the Arrays that stand in its key."""
    found = function_key(fun)
    with _lock:
        if found is not None:
            return _shared(found, options), found.arrays
        try:
            table = _by_identity.setdefault(fun, {})
        except TypeError:  # not hashable, or not to be held weakly
            return Family([]), []
        return table.setdefault(options, Family([])), []


def _shared(found: FunctionKey, options: Any) -> Family:
    key = (found.key, options)
    family = _by_value.get(key)
    if family is None or not family.stands_for(found.arrays):
        family = _by_value[key] = Family(found.arrays)
        if len(_by_value) > FAMILIES:
            _by_value.popitem(last=False)
    else:
        _by_value.move_to_end(key)
    return family


def reset_locks() -> None:
    """In a forked child."""
    global _lock
    _lock = threading.Lock()


def clear() -> None:
    """Forget every function's traces."""
    with _lock:
        families = [*_by_value.values(), *(f for table in _by_identity.values() for f in table.values())]
        _by_value.clear()
        _by_identity.clear()
    for family in families:
        with family.lock:
            family.traces.clear()
