"""What a call costs when there is next to nothing to compute."""

from __future__ import annotations

import numpy as np

from benchmarks._library import Library
from benchmarks._row import Case, Row


def scalar_plus_one(lib: Library) -> Case:
    x = lib.put(np.float32(1.0))
    f = lib.jit(lambda x: x + 1)
    return Case(lambda: f(x).block_until_ready(), lambda: f(x))


def tree_of_twenty(lib: Library) -> Case:
    tree = {f"leaf{i:02d}": lib.put(np.full((8,), i, np.float32)) for i in range(20)}
    f = lib.jit(lambda tree: lib.tree_map(lambda x: x + 1, tree))
    return Case(lambda: f(tree)["leaf19"].block_until_ready(), lambda: f(tree))


ROWS = [
    Row("jitted x + 1 on a scalar", scalar_plus_one),
    Row("jitted tree_map over a dict of 20 leaves", tree_of_twenty),
]
