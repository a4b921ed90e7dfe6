"""Utilities for pytrees under short names: `fg.tree.map(f, tree)`. The rest is in `funcgrad.tree_util`."""

import dataclasses
from typing import Any

from funcgrad.core.pytree import tree_all as all
from funcgrad.core.pytree import tree_broadcast as broadcast
from funcgrad.core.pytree import tree_flatten as flatten
from funcgrad.core.pytree import tree_flatten_with_path as flatten_with_path
from funcgrad.core.pytree import tree_leaves as leaves
from funcgrad.core.pytree import tree_leaves_with_path as leaves_with_path
from funcgrad.core.pytree import tree_map as map
from funcgrad.core.pytree import tree_map_with_path as map_with_path
from funcgrad.core.pytree import tree_reduce as reduce
from funcgrad.core.pytree import tree_reduce_associative as reduce_associative
from funcgrad.core.pytree import tree_structure as structure
from funcgrad.core.pytree import tree_transpose as transpose
from funcgrad.core.pytree import tree_unflatten as unflatten

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]


def static(**kwargs: Any) -> Any:
    """A dataclass field that belongs to the structure and holds no leaves: `size: int = fg.tree.static(default=3)`.

    kwargs: those of `dataclasses.field`.

    >>> import dataclasses
    >>> @tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     size: int = tree.static(default=3)
    >>> tree.leaves(Layer(1.0))
    [1.0]
    >>> tree.structure(Layer(1.0, 3)) == tree.structure(Layer(1.0, 4))
    False
    """
    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)
