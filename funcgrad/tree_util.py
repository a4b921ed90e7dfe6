"""Utilities for pytrees, under the names that JAX users know. `funcgrad.tree` has the short names of the common ones.

Types of key paths, for annotations:

KeyEntry: one step of a path, a `DictKey`, `SequenceKey`, `GetAttrKey`, `FlattenedIndexKey` or what a registered type gives.
KeyPath: a tuple of such steps, from the root to a leaf.
"""

from typing import Any

from funcgrad.core.pytree import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    Partial,
    PyTreeDef,
    SequenceKey,
    all_leaves,
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    keystr,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    tree_all,
    tree_broadcast,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_with_path,
    tree_reduce,
    tree_reduce_associative,
    tree_structure,
    tree_transpose,
    tree_unflatten,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]


class Registry:
    """The registered container types as an object, for code that was written against `jax.tree_util.default_registry`.

    >>> tree_util.default_registry.flatten({"w": [1, 2]})[0]
    [1, 2]
    >>> tree_util.default_registry.flatten_one_level((3, [4]))
    ([3, [4]], None)
    """

    def flatten(self, tree: Any, is_leaf: Any = None) -> tuple[list[Any], PyTreeDef]:
        """As `tree_flatten`."""
        return tree_flatten(tree, is_leaf)

    def flatten_one_level(self, tree: Any) -> tuple[list[Any], Any] | None:
        """As `flatten_one_level`; None for a leaf."""
        return flatten_one_level(tree) if is_tree_node(type(tree)) else None

    def register_node(self, nodetype: type, to_iterable: Any, from_iterable: Any) -> None:
        """As `register_pytree_node`."""
        register_pytree_node(nodetype, to_iterable, from_iterable)

    def register_dataclass_node(self, nodetype: type, data_fields: list[str], meta_fields: list[str]) -> None:
        """As `register_dataclass`."""
        register_dataclass(nodetype, data_fields, meta_fields)


default_registry = Registry()
