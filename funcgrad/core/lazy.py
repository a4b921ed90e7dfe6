"""Modules that are imported when they are first used, for those that cost more than the package may cost to import."""

import importlib
from typing import Any


class LazyModule:
    """Stands for the module `name`. `module.attribute` imports it, once; the attribute is then the object's own."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self._name), attribute)
        self.__dict__[attribute] = value
        return value
