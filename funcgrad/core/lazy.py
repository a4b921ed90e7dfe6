"""Modules that are imported when they are first used, for those that cost more than the package may cost to import."""

import importlib
import threading
from typing import Any

from funcgrad.core import forking
from funcgrad.core.collecting import paused

_importing = threading.RLock()
forking.waits_for(forking.IMPORTS, _importing)


class LazyModule:
    """Stands for the module `name`. `module.attribute` imports it, once; the attribute is then the object's own.

    `first` is a package that is to be there whole before: Python does not wait for a package that another thread is importing
    where a module inside of it is asked for, and circular imports then fail.
    """

    def __init__(self, name: str, first: str = ""):
        self._name, self._first = name, first

    def __getattr__(self, attribute: str) -> Any:
        with _importing, paused():
            if self._first:
                importlib.import_module(self._first)
            value = getattr(importlib.import_module(self._name), attribute)
        self.__dict__[attribute] = value
        return value
