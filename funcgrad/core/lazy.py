"""Modules that are imported when they are first used, for those that cost more than the package may cost to import."""

import importlib
import threading
from typing import Any

from funcgrad.core import forking
from funcgrad.core.collecting import paused

_importing = threading.RLock()
forking.waits_for(forking.IMPORTS, _importing)


class LazyModule:
    """Stands for the module `name`. `module.attribute` imports it, once; the attribute is then the object's own."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        with _importing, paused():
            value = getattr(importlib.import_module(self._name), attribute)
        self.__dict__[attribute] = value
        return value
