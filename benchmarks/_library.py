"""The names that a body may use, the same for funcgrad and for a peer. In: a library's name. Out: a `Library`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy


@dataclass(frozen=True)
class Library:
    """One side of a comparison. `put` makes an array that lives where programs run; `wait` returns when a result is there."""

    name: str
    top: Any
    np: Any
    nn: Any
    random: Any
    put: Callable[[Any], Any]

    @property
    def jit(self) -> Any:
        return self.top.jit

    @property
    def lax(self) -> Any:
        return self.top.lax

    @property
    def value_and_grad(self) -> Any:
        return self.top.value_and_grad

    @property
    def grad(self) -> Any:
        return self.top.grad

    def tree_map(self, f: Callable[..., Any], *trees: Any) -> Any:
        return self.top.tree.map(f, *trees)

    def leaves(self, tree: Any) -> list[numpy.ndarray]:
        return [numpy.asarray(leaf) for leaf in self.top.tree.leaves(tree)]


def load(name: str) -> Library:
    top, np, nn, random = (importlib.import_module(name + part) for part in ("", ".numpy", ".nn", ".random"))
    put = top.device_put if name == "jax" else np.asarray
    return Library(name, top, np, nn, random, put)
