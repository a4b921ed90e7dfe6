"""`PyTreeDef`: the structure of a tree without its leaves, and the general walk that takes a tree apart.

Enters: a tree, or a structure and leaves. Leaves: `(leaves, PyTreeDef)`, or the tree again. A PyTreeDef is
immutable, hashable when the static data in it is, comparable, picklable, and prints as `PyTreeDef({'a': *, 'b': (*,
*)})`. The fast road for structures that come again and again is in `tree_compile`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from funcgrad.core.errors import TreeError, message
from funcgrad.core.tree_explain import explain_difference
from funcgrad.core.tree_nodes import NODES, KeyPath, Node, children_of, lookup, sorted_keys

__all__ = ["LEAF", "PyTreeDef", "flatten_general", "flatten_paths", "flatten_up_to", "leaf_count_error", "unflatten_walk"]


class PyTreeDef:
    """The structure of a tree: a leaf (`node` is None), or a node type with static data and the children's structures.

    Made by `tree_structure` and `tree_flatten`. Two are equal where containers, keys and static data are; they are hashable and
    pickle.

    >>> treedef = tree_util.tree_structure({"w": (1, 2), "b": None})
    >>> treedef, treedef.num_leaves
    (PyTreeDef({'b': None, 'w': (*, *)}), 2)
    >>> treedef.unflatten(["x", "y"])
    {'b': None, 'w': ('x', 'y')}
    >>> treedef.flatten_up_to({"w": (5, [6, 7]), "b": None})
    [5, [6, 7]]
    """

    __slots__ = ("__weakref__", "_hash", "aux", "child_defs", "fast", "node", "num_leaves", "num_nodes")

    def __init__(self, node: Node | None, aux: Any, child_defs: tuple[PyTreeDef, ...]) -> None:
        self.node = node
        self.aux = aux
        self.child_defs = child_defs
        self._hash: int | None = None
        # (flatten_up_to, unflatten) as generated code, put here for structures that come again (see pytree.py).
        self.fast: tuple[Callable[[Any], list[Any] | None], Callable[[list[Any]], Any]] | None = None
        leaves, nodes = 0, 1
        for child in child_defs:
            leaves += child.num_leaves
            nodes += child.num_nodes
        self.num_leaves = leaves if node is not None else 1
        self.num_nodes = nodes

    # -- the tree again

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves."""
        leaves = list(leaves)
        if self.fast is not None:
            return self.fast[1](leaves)
        return unflatten_walk(self, leaves)

    def try_flatten_up_to(self, tree: Any) -> list[Any] | None:
        """As `flatten_up_to`, but None where the structures differ."""
        if self.fast is not None:
            return self.fast[0](tree)
        out: list[Any] = []
        return out if flatten_up_to(self, tree, out) else None

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of `tree` at the places of this structure's leaves; raises where the structures differ."""
        out = self.try_flatten_up_to(tree)
        if out is None:
            raise TreeError(
                message(
                    f"flatten_up_to: {explain_difference(self, tree)}",
                    "a tree that begins like the structure (below its leaves it may go on)",
                    "compare tree_structure(tree) with the structure",
                )
            )
        return out

    # -- what it consists of

    def children(self) -> list[PyTreeDef]:
        return list(self.child_defs)

    def node_data(self) -> tuple[type, Any] | None:
        """`(type, static data)` of the outermost node, None for a leaf."""
        if self.node is None:
            return None
        return self.node.cls, (list(self.aux) if self.node.kind == "dict" else self.aux)

    @property
    def is_leaf(self) -> bool:
        return self.node is None

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """This structure with `inner` at the place of each leaf."""
        if self.node is None:
            return inner
        return PyTreeDef(self.node, self.aux, tuple([child.compose(inner) for child in self.child_defs]))

    def key_paths(self) -> list[KeyPath]:
        """The key path of each leaf, as far as the structure alone tells it."""
        out: list[KeyPath] = []
        _def_paths(self, (), out)
        return out

    # -- identity

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        if self.node is not other.node or self.num_nodes != other.num_nodes:
            return False
        if self._hash is not None and other._hash is not None and self._hash != other._hash:
            return False
        if self.node is not None and not self.node.same(self.aux, other.aux):
            return False
        return self.child_defs == other.child_defs

    def __hash__(self) -> int:
        known = self._hash
        if known is None:
            try:
                known = hash((self.node, self.aux, self.child_defs))
            except TypeError as error:
                raise TypeError(
                    message(
                        f"pytrees: the structure {self} cannot be hashed ({error})",
                        "hashable static data (meta fields, aux data)",
                        "a tuple instead of a list, or a data field where it holds arrays",
                    )
                ) from None
            self._hash = known
        return known

    def __copy__(self) -> PyTreeDef:
        return self

    def __deepcopy__(self, memo: dict) -> PyTreeDef:
        return self

    def __reduce__(self) -> tuple:
        return (_rebuild, (self.node, self.aux, self.child_defs))

    def __repr__(self) -> str:
        return f"PyTreeDef({_text(self)})"


LEAF = PyTreeDef(None, None, ())


def _rebuild(node: Node | None, aux: Any, child_defs: tuple[PyTreeDef, ...]) -> PyTreeDef:
    return LEAF if node is None else PyTreeDef(node, aux, child_defs)


def leaf_count_error(treedef: PyTreeDef, got: int) -> TreeError:
    word = "few" if got < treedef.num_leaves else "many"
    return TreeError(
        message(
            f"tree_unflatten: too {word} leaves for {treedef}: got {got}",
            f"exactly {treedef.num_leaves}",
            "leaves from tree_flatten of a tree with this structure",
        )
    )


def _text(treedef: PyTreeDef) -> str:
    node = treedef.node
    if node is None:
        return "*"
    parts = [_text(child) for child in treedef.child_defs]
    joined = ", ".join(parts)
    match node.kind:
        case "none":
            return "None"
        case "list":
            return f"[{joined}]"
        case "tuple":
            return f"({joined},)" if len(parts) == 1 else f"({joined})"
        case "dict":
            return "{" + ", ".join(f"{k!r}: {v}" for k, v in zip(treedef.aux, parts, strict=True)) + "}"
        case "namedtuple":
            return f"CustomNode(namedtuple[{node.cls.__name__}], [{joined}])"
        case _:
            return f"CustomNode({node.cls.__name__}[{treedef.aux}], [{joined}])"


# ---- the general walks ---------------------------------------------------------------------------------------------


def flatten_general(x: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> PyTreeDef:
    """Append the leaves of `x` to `leaves` and return its structure."""
    if is_leaf is not None and is_leaf(x):
        leaves.append(x)
        return LEAF
    cls = type(x)
    node = NODES.get(cls)
    if node is None and (node := lookup(cls)) is None:
        leaves.append(x)
        return LEAF
    if cls is dict:
        aux = sorted_keys(x)
        children = [x[key] for key in aux]
    elif cls is tuple or cls is list:
        children, aux = x, None
    else:
        children, aux = children_of(node, x)
    return PyTreeDef(node, aux, tuple([flatten_general(child, leaves, is_leaf) for child in children]))


def flatten_paths(
    x: Any, path: KeyPath, out: list[tuple[KeyPath, Any]], is_leaf: Callable[[KeyPath, Any], bool] | None
) -> PyTreeDef:
    """As `flatten_general`, with the key path of each leaf; `is_leaf` takes the path and the value."""
    if is_leaf is not None and is_leaf(path, x):
        out.append((path, x))
        return LEAF
    node = lookup(type(x))
    if node is None:
        out.append((path, x))
        return LEAF
    children, aux = children_of(node, x)
    keys = node.keys(x, aux, len(children))
    defs = [flatten_paths(c, (*path, key), out, is_leaf) for key, c in zip(keys, children, strict=True)]
    return PyTreeDef(node, aux, tuple(defs))


def unflatten_walk(treedef: PyTreeDef, leaves: Sequence[Any]) -> Any:
    """The tree again, node by node."""
    if len(leaves) != treedef.num_leaves:
        raise leaf_count_error(treedef, len(leaves))
    return _unflatten(treedef, iter(leaves))


def _unflatten(treedef: PyTreeDef, leaves: Any) -> Any:
    node = treedef.node
    if node is None:
        return next(leaves)
    return node.unflatten(treedef.aux, tuple([_unflatten(child, leaves) for child in treedef.child_defs]))


def flatten_up_to(treedef: PyTreeDef, tree: Any, out: list[Any]) -> bool:
    node = treedef.node
    if node is None:
        out.append(tree)
        return True
    if type(tree) is not node.cls:
        return False
    if node.kind == "dict":
        # Asks for the expected keys, so that keys need no sorting here.
        if len(tree) != len(treedef.aux) or not all(key in tree for key in treedef.aux):
            return False
        children = [tree[key] for key in treedef.aux]
    else:
        children, aux = children_of(node, tree)
        if len(children) != len(treedef.child_defs) or not node.same(aux, treedef.aux):
            return False
    return all([flatten_up_to(d, c, out) for d, c in zip(treedef.child_defs, children, strict=True)])


def _def_paths(treedef: PyTreeDef, path: KeyPath, out: list[KeyPath]) -> None:
    node = treedef.node
    if node is None:
        out.append(path)
        return
    keys = node.keys(None, treedef.aux, len(treedef.child_defs))
    for key, child in zip(keys, treedef.child_defs, strict=True):
        _def_paths(child, (*path, key), out)
