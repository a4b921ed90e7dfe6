"""Pytrees: trees of dicts, lists, tuples, dataclasses and registered types, with arrays (or anything) at the leaves.

The one module of the tree family that other rooms import. Enters: trees. Leaves: leaves, structures, trees; errors
name the key path of the first difference. Flattening a structure that was seen a few times runs generated code (see
`tree_compile`); a caller with a structure of its own to expect (jit, grad) keeps `compile_flatten(treedef)` itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from funcgrad.core.errors import TreeError, UsageError, describe, message
from funcgrad.core.tree_compile import (
    Flatten,
    compile_flatten,
    compile_flatten_up_to,
    compile_unflatten,
)
from funcgrad.core.tree_def import LEAF, PyTreeDef, flatten_general, flatten_paths
from funcgrad.core.tree_explain import explain_difference, explain_prefix
from funcgrad.core.tree_nodes import (
    NODES,
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    Partial,
    SequenceKey,
    children_of,
    keystr,
    lookup,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)

__all__ = [
    "LEAF",
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "broadcast_prefix",
    "compile_flatten",
    "compile_flatten_up_to",
    "compile_unflatten",
    "flatten_axes",
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

IsLeaf = Callable[[Any], bool] | None


# ---- flatten, unflatten --------------------------------------------------------------------------------------------


class _Seen:
    """A structure that came by: how often, and its generated flattener from the third time on."""

    __slots__ = ("count", "flatten", "treedef")

    def __init__(self, treedef: PyTreeDef) -> None:
        self.treedef = treedef
        self.count = 0
        self.flatten: Flatten | None = None


# Structures seen lately, filed under something cheap to ask of a tree; the flattener itself decides whether one fits.
# A handful a drawer, so that the memo is small and an old structure makes room.
_DRAWER = 4
_lately: dict[Any, list[_Seen]] = {}
_MAX_DRAWERS = 512


def _drawer(tree: Any, cls: type) -> Any:
    if cls is dict:
        return len(tree)
    if cls is tuple or cls is list:
        return (cls, len(tree))
    return cls


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree, in a fixed order, and its structure.

    Args:
      tree: any object; what is no container is a leaf. None is an empty container.
      is_leaf: `x -> bool`, asked at every node before it is opened; where True, x is a leaf.

    Returns:
      (leaves, treedef): `tree_unflatten(treedef, leaves)` is the tree again.

    >>> leaves, treedef = tree_util.tree_flatten({"w": [1, 2], "b": None, "a": (3,)})
    >>> leaves  # dict keys are sorted
    [3, 1, 2]
    >>> treedef
    PyTreeDef({'a': (*,), 'b': None, 'w': [*, *]})
    >>> tree_util.tree_flatten([1, (2, 3)], is_leaf=lambda x: isinstance(x, tuple))[0]
    [1, (2, 3)]
    """
    leaves: list[Any] = []
    if is_leaf is not None:
        return leaves, flatten_general(tree, leaves, is_leaf)
    cls = type(tree)
    if cls not in NODES and lookup(cls) is None:
        return [tree], LEAF
    place = len(tree) if cls is dict else _drawer(tree, cls)
    drawer = _lately.get(place)
    if drawer is not None:
        for seen in drawer:
            flatten = seen.flatten
            if flatten is not None:
                found = flatten(tree)
                if found is not None:
                    return found, seen.treedef
    treedef = flatten_general(tree, leaves, None)
    return leaves, _remember(place, treedef)


def _remember(place: Any, treedef: PyTreeDef) -> PyTreeDef:
    drawer = _lately.get(place)
    if drawer is None:
        if len(_lately) >= _MAX_DRAWERS:
            _lately.clear()
        _lately[place] = [_Seen(treedef)]
        return treedef
    for seen in drawer:
        if seen.treedef == treedef:
            seen.count += 1
            # Compiling costs about as much as twenty walks, and a structure that came three times comes again.
            if seen.count >= 2 and seen.flatten is None:
                seen.flatten = compile_flatten(seen.treedef)
                seen.treedef.fast = compile_flatten_up_to(seen.treedef), compile_unflatten(seen.treedef)
            return seen.treedef
    _lately[place] = [_Seen(treedef), *drawer[: _DRAWER - 1]]
    return treedef


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree with this structure and these leaves; another number of leaves raises.

    >>> treedef = tree_util.tree_structure({"w": [0, 0], "b": 0})
    >>> tree_util.tree_unflatten(treedef, ["x", "y", "z"])
    {'b': 'x', 'w': ['y', 'z']}
    """
    return _structure(treedef, "tree_unflatten", "treedef").unflatten(leaves)


def _structure(x: Any, name: str, arg: str) -> PyTreeDef:
    """A structure of a tree, which was given as an argument."""
    if isinstance(x, PyTreeDef):
        return x
    raise TreeError(message(f"{name}: got {describe(x)} for {arg}", "a PyTreeDef", "tree_util.tree_structure(tree)"))


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree, in the order of `tree_flatten`.

    >>> tree_util.tree_leaves({"w": [1, 2], "b": None, "a": (3,)})
    [3, 1, 2]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of a tree.

    >>> tree_util.tree_structure({"w": [1, 2]})
    PyTreeDef({'w': [*, *]})
    >>> tree_util.tree_structure((1, 2)) == tree_util.tree_structure((5, 6))
    True
    """
    return tree_flatten(tree, is_leaf)[1]


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether no element is a container (or each is a leaf by `is_leaf`).

    >>> tree_util.all_leaves([1, "a", fnp.ones(2)]), tree_util.all_leaves([1, (2, 3)])
    (True, False)
    """
    if is_leaf is None:
        return all(lookup(type(x)) is None for x in iterable)
    return all(is_leaf(x) or lookup(type(x)) is None for x in iterable)


# ---- map and its kin -----------------------------------------------------------------------------------------------


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """A tree of the same structure with `f(leaf, *leaves of rest)` at each leaf.

    The further trees must have the structure of the first, or go on below its leaves (then f gets subtrees).

    >>> params, grads = {"w": [1.0, 2.0], "b": 3.0}, {"w": [0.5, 0.5], "b": 1.0}
    >>> tree_util.tree_map(lambda p, g: p - 0.5 * g, params, grads)
    {'b': 2.5, 'w': [0.75, 1.75]}
    >>> tree_util.tree_map(lambda x, rest: (x, rest), (1, 2), ("a", ["b", "c"]))
    ((1, 'a'), (2, ['b', 'c']))
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(x) for x in leaves])
    columns = [_up_to(treedef, other, number, "tree_map") for number, other in enumerate(rest, 2)]
    return treedef.unflatten(list(map(f, leaves, *columns)))


def _up_to(treedef: PyTreeDef, tree: Any, number: int, who: str) -> list[Any]:
    found = treedef.try_flatten_up_to(tree)
    if found is None:
        raise TreeError(
            message(
                f"{who}: tree {number} differs from tree 1 {explain_difference(treedef, tree)}",
                "trees of one structure (a further tree may go on below the leaves of the first)",
                "print tree_structure(...) of both and make them equal, or is_leaf=... to stop earlier",
            )
        )
    return found


def tree_reduce(function: Callable[[Any, Any], Any], tree: Any, initializer: Any = ..., is_leaf: IsLeaf = None) -> Any:
    """`functools.reduce` over the leaves, from the left; `initializer` (any value but ...) comes first.

    >>> tree_util.tree_reduce(lambda a, b: a + b, {"w": [1, 2], "b": 3})
    6
    >>> tree_util.tree_reduce(lambda a, b: a + b, (), 0)
    0
    """
    leaves = tree_leaves(tree, is_leaf)
    if initializer is not ...:
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise UsageError(
            message(
                "tree_reduce: got a tree without leaves and no initializer",
                "a tree with leaves, or an initializer",
                "tree_reduce(function, tree, initializer)",
            )
        )
    return functools.reduce(function, leaves)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any], tree: Any, *, identity: Any = ..., is_leaf: IsLeaf = None
) -> Any:
    """The leaves combined in pairs, pairs in pairs, and so on: rounding grows with the depth instead of the count.

    >>> tree_util.tree_reduce_associative(lambda a, b: f"({a}+{b})", [1, 2, 3, 4, 5])
    '(((1+2)+(3+4))+5)'
    """
    level = tree_leaves(tree, is_leaf)
    if not level:
        if identity is ...:
            raise UsageError(
                message(
                    "tree_reduce_associative: got a tree without leaves and no identity",
                    "a tree with leaves, or an identity",
                    "tree_reduce_associative(operation, tree, identity=0)",
                )
            )
        return identity
    while len(level) > 1:
        paired = [operation(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = paired + level[len(paired) * 2 :]
    return level[0]


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves are true.

    >>> tree_util.tree_all({"a": True, "b": [1, 2]}), tree_util.tree_all([True, 0])
    (True, False)
    """
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """A tree of trees turned inside out: outer(inner) -> inner(outer).

    Args:
      outer_treedef, inner_treedef: the two structures; inner None: read from the first subtree.
      pytree_to_transpose: a tree of the structure outer composed with inner.

    >>> pairs = {"a": (1, 10), "b": (2, 20)}
    >>> outer, inner = tree_util.tree_structure({"a": 0, "b": 0}), tree_util.tree_structure((0, 0))
    >>> tree_util.tree_transpose(outer, inner, pairs)
    ({'a': 1, 'b': 2}, {'a': 10, 'b': 20})
    """
    _structure(outer_treedef, "tree_transpose", "outer_treedef")
    subtrees = outer_treedef.flatten_up_to(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = tree_structure(subtrees[0]) if subtrees else LEAF
    _structure(inner_treedef, "tree_transpose", "inner_treedef")
    columns = [inner_treedef.flatten_up_to(subtree) for subtree in subtrees]
    expected = outer_treedef.num_leaves * inner_treedef.num_leaves
    got = tree_structure(pytree_to_transpose).num_leaves
    if got != expected:
        raise TreeError(
            message(
                f"tree_transpose: got a tree with {got} leaves for outer {outer_treedef} and inner {inner_treedef}",
                f"exactly {expected} leaves",
                "tree_structure(...) of both levels",
            )
        )
    rows = zip(*columns, strict=True) if columns else [()] * inner_treedef.num_leaves
    return inner_treedef.unflatten([outer_treedef.unflatten(row) for row in rows])


# ---- key paths -----------------------------------------------------------------------------------------------------


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """As `tree_flatten`, each leaf with its key path; with `is_leaf_takes_path`, `is_leaf(path, x)` is asked.

    >>> pairs, treedef = tree_util.tree_flatten_with_path({"w": [1, 2], "b": 3})
    >>> [(tree_util.keystr(path), leaf) for path, leaf in pairs]
    [("['b']", 3), ("['w'][0]", 1), ("['w'][1]", 2)]
    """
    out: list[tuple[KeyPath, Any]] = []
    if is_leaf is None or is_leaf_takes_path:
        return out, flatten_paths(tree, (), out, is_leaf)
    return out, flatten_paths(tree, (), out, lambda _path, x: is_leaf(x))


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The leaves with their key paths.

    >>> for path, leaf in tree_util.tree_leaves_with_path({"layers": [{"w": 1}, {"w": 2}]}):
    ...     print(tree_util.keystr(path, simple=True, separator="/"), leaf)
    layers/0/w 1
    layers/1/w 2
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """As `tree_map`, with the key path as the first argument: `f(path, leaf, *leaves of rest)`.

    >>> def decay(path, p):
    ...     return p if path[-1].key == "b" else 0.9 * p
    >>> tree_util.tree_map_with_path(decay, {"w": 10.0, "b": 10.0})
    {'b': 10.0, 'w': 9.0}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = [_up_to(treedef, other, number, "tree_map_with_path") for number, other in enumerate(rest, 2)]
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    return treedef.unflatten(list(map(f, paths, leaves, *columns)))


# ---- prefixes ------------------------------------------------------------------------------------------------------


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of `prefix_tree`, each repeated for the leaves of `full_tree` below its place."""
    leaves, treedef = tree_flatten(prefix_tree, is_leaf)
    subtrees = treedef.try_flatten_up_to(full_tree)
    if subtrees is None:
        raise TreeError(
            message(
                "broadcast_prefix: the first tree is not a prefix of the second: "
                + explain_prefix(treedef, tree_structure(full_tree)),
                "a tree that begins like the full tree and may stop earlier, with one leaf for a whole subtree",
                "give one leaf for everything, or the same containers as in the full tree",
            )
        )
    out: list[Any] = []
    for leaf, subtree in zip(leaves, subtrees, strict=True):
        out.extend([leaf] * tree_structure(subtree).num_leaves)
    return out


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """`prefix_tree` grown to the structure of `full_tree`, each of its leaves repeated below its place.

    >>> tree_util.tree_broadcast({"a": 0, "b": 1}, {"a": [5, 6], "b": (7, {"c": 8})})
    {'a': [0, 0], 'b': (1, {'c': 1})}
    """
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return tree_structure(full_tree).unflatten(leaves)


def _is_none(x: Any) -> bool:
    return x is None


def flatten_axes(name: str, treedef: PyTreeDef, axes: Any, is_leaf: IsLeaf = _is_none) -> list[Any]:
    """One entry of `axes` for each leaf of `treedef`; `axes` is a prefix of it, None in it is an entry.

    Args:
      name: how errors call `axes`, for instance "vmap in_axes".
      treedef: the structure of the values.
      axes: an entry for all, or containers as in the values down to where one entry holds for the rest.
    """
    if axes is None or type(axes) is int:
        return [axes] * treedef.num_leaves
    entries, prefix = tree_flatten(axes, is_leaf)
    out: list[Any] = []
    if not _repeat(prefix, treedef, iter(entries), out):
        raise TreeError(
            message(
                f"{name}: not a prefix of the values' structure: {explain_prefix(prefix, treedef)}",
                "one entry for everything, or containers like those of the values, stopping where one entry holds for all below",
                f"compare with the structure of the values, {treedef}",
            )
        )
    return out


def _repeat(prefix: PyTreeDef, full: PyTreeDef, entries: Iterator[Any], out: list[Any]) -> bool:
    node = prefix.node
    if node is None:
        out.extend([next(entries)] * full.num_leaves)
        return True
    if node is not full.node or len(prefix.child_defs) != len(full.child_defs):
        return False
    if not node.same(prefix.aux, full.aux):
        return False
    return all([_repeat(a, b, entries, out) for a, b in zip(prefix.child_defs, full.child_defs, strict=True)])


# ---- one level, structures -----------------------------------------------------------------------------------------


def flatten_one_level(tree: Any) -> tuple[list[Any], Any]:
    """The children and static data of the outermost container; a leaf raises.

    >>> tree_util.flatten_one_level({"b": [1, 2], "a": 3})
    ([3, [1, 2]], ('a', 'b'))
    """
    node = lookup(type(tree))
    if node is None:
        raise TreeError(
            message(
                f"flatten_one_level: got {type(tree).__name__}, which is a leaf",
                "a container",
                "is_tree_node(type(x)) to ask first",
            )
        )
    children, aux = children_of(node, tree)
    return list(children), aux


def flatten_one_level_with_keys(tree: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
    """As `flatten_one_level`, each child with its key entry.

    >>> tree_util.flatten_one_level_with_keys({"b": [1, 2], "a": 3})[0]
    [(DictKey(key='a'), 3), (DictKey(key='b'), [1, 2])]
    """
    children, aux = flatten_one_level(tree)
    node = lookup(type(tree))
    assert node is not None
    return list(zip(node.keys(tree, aux, len(children)), children, strict=True)), aux


def is_tree_node(typ: type) -> bool:
    """Whether objects of this type are containers.

    >>> tree_util.is_tree_node(dict), tree_util.is_tree_node(fg.Array)
    (True, False)
    """
    return lookup(typ) is not None


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the outermost node's children.

    >>> tree_util.treedef_children(tree_util.tree_structure({"a": 1, "b": (2, 3)}))
    [PyTreeDef(*), PyTreeDef((*, *))]
    """
    return _structure(treedef, "treedef_children", "treedef").children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure is one node: a leaf, or an empty container.

    >>> tree_util.treedef_is_leaf(tree_util.tree_structure(1)), tree_util.treedef_is_leaf(tree_util.tree_structure([1]))
    (True, False)
    """
    return _structure(treedef, "treedef_is_leaf", "treedef").num_nodes == 1


_TUPLE = NODES[tuple]


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees with these structures.

    >>> tree_util.treedef_tuple([tree_util.tree_structure(1), tree_util.tree_structure([2, 3])])
    PyTreeDef((*, [*, *]))
    """
    given = treedefs if isinstance(treedefs, Iterable) else [treedefs]  # what is no structure raises
    return PyTreeDef(_TUPLE, None, tuple([_structure(t, "treedef_tuple", "treedefs") for t in given]))
