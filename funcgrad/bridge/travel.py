"""How jitted functions are pickled: by name where they have one, with their function where that pickles, else by value.

In: a wrapper that stands around a user's function. Out: what its `__reduce__` returns. By value means cloudpickle's bytes inside
a standard pickle, so that `pickle.dumps(jit(lambda x: x + 1))` works, as does what is built on pickle (multiprocessing, joblib).
Kernels do not travel: the other side finds them in the disk cache, by their content.
"""

import importlib.util
import pickle
import sys
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

from funcgrad.core.by_value import ByValue
from funcgrad.core.errors import message
from funcgrad.core.lazy import LazyModule

cloudpickle: Any = LazyModule("cloudpickle")


class _Busy(threading.local):
    def __init__(self) -> None:
        self.ids: set[int] = set()  # of functions that are being pickled by value


_busy = _Busy()


def reduced(wrapper: Any, fun: Any, rebuild: Callable[..., Any], options: Any) -> Any:
    """`__reduce__` of `wrapper`, which `rebuild(fun, options)` makes anew."""
    module, name = getattr(wrapper, "__module__", None), getattr(wrapper, "__qualname__", "")
    named = name and _found(module, name) is wrapper
    if named and module != "__main__":
        return name
    # Within its own pickle (it calls itself) the function is known already.
    if id(fun) in _busy.ids or not named and _by_reference(fun):
        return rebuild, (fun, options)
    try:
        return _rebuild_by_value, (_by_value(fun), rebuild, options)
    except Exception as error:
        if named:  # a process that runs the same program finds it
            return name
        raise pickle.PicklingError(
            message(
                f"{name or fun!r} cannot be pickled by name, nor by value: {error}",
                "functions of a module, and with the package cloudpickle others too, if what they close over can be pickled",
                "pip install cloudpickle" if importlib.util.find_spec("cloudpickle") is None else "define it in a module",
            )
        ) from error


def reduced_whole(x: Any, protocol: int) -> Any:
    """`__reduce_ex__` of an object around functions: by name where it has one, else whole: its functions may speak of it."""
    module, name = getattr(x, "__module__", None), getattr(x, "__qualname__", "")
    if module != "__main__" and name and _found(module, name) is x:
        return name
    if id(x) in _busy.ids:
        return object.__reduce_ex__(x, protocol)
    _busy.ids.add(id(x))
    try:
        return ByValue(x).__reduce__()
    finally:
        _busy.ids.discard(id(x))


def _found(module: Any, name: str) -> Any:
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _by_reference(fun: Any) -> bool:
    """Whether the standard pickle takes it."""
    if isinstance(fun, FunctionType):
        return _found(fun.__module__, fun.__qualname__) is fun
    try:
        pickle.dumps(fun)
    except Exception:
        return False
    return True


def _by_value(fun: Any) -> bytes:
    _busy.ids.add(id(fun))
    try:
        return cloudpickle.dumps(fun)
    finally:
        _busy.ids.discard(id(fun))


def _rebuild_by_value(data: bytes, rebuild: Callable[..., Any], options: Any) -> Any:
    return rebuild(pickle.loads(data), options)
