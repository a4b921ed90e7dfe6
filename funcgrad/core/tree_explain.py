"""Words for structures that do not fit: where two trees first differ, what was expected there and what came.

Two walks, both returning None where all is well: a structure against a tree (`explain_difference`), and a structure
against a structure of which it should be a prefix (`explain_prefix`). They run on the way to an error only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funcgrad.core.errors import describe
from funcgrad.core.tree_nodes import KeyPath, Node, children_of, keystr, lookup

if TYPE_CHECKING:
    from funcgrad.core.tree_def import PyTreeDef

__all__ = ["explain_difference", "explain_prefix", "node_words"]


def explain_difference(expected: PyTreeDef, tree: Any) -> str:
    """Where `tree` first leaves the structure `expected`: "at ['b'][1]: expected a list of 2, got a tuple of 2"."""
    return _against_tree(expected, tree, ()) or "the structures differ"


def explain_prefix(prefix: PyTreeDef, full: PyTreeDef) -> str:
    """Where `prefix` first stops being a prefix of `full`; said from the side of `full`, which is the given one."""
    return _against_def(prefix, full, ()) or "the structures differ"


def node_words(node: Node | None, aux: Any, count: int) -> str:
    """A node in words: "a dict with keys 'a', 'b'", "a list of 3", "None", "a Point"."""
    if node is None:
        return "a leaf"
    match node.kind:
        case "none":
            return "None"
        case "list" | "tuple":
            return f"an empty {node.kind}" if count == 0 else f"a {node.kind} of {count}"
        case "dict" | "ordereddict" | "defaultdict":
            keys = aux[1] if node.kind == "defaultdict" else aux
            name = {"dict": "a dict", "ordereddict": "an OrderedDict", "defaultdict": "a defaultdict"}[node.kind]
            return f"{name} with keys {_some(keys)}" if keys else f"an empty {name.split()[1]}"
        case "namedtuple":
            return f"a {node.cls.__name__}({', '.join(node.cls._fields)})"  # type: ignore[attr-defined]
        case "dataclass" if node.meta_fields:
            static = ", ".join(f"{name}={value!r}" for name, value in zip(node.meta_fields, aux, strict=True))
            return f"a {node.cls.__name__} with static {static}"
        case _:
            return f"a {node.cls.__name__}" + ("" if aux is None or aux == () else f" with static data {aux!r}")


def _some(keys: tuple) -> str:
    shown = ", ".join(repr(key) for key in keys[:8])
    return shown if len(keys) <= 8 else f"{shown}, ... ({len(keys)} keys)"


def _place(path: KeyPath) -> str:
    return f"at {keystr(path)}" if path else "at the top"


def _difference(path: KeyPath, expected: PyTreeDef, node: Node | None, aux: Any, count: int, got: str) -> str:
    wanted = node_words(expected.node, expected.aux, len(expected.child_defs))
    text = f"{_place(path)}: expected {wanted}, got {got}"
    if node is expected.node and node is not None and node.kind in ("dict", "ordereddict"):
        missing = tuple(key for key in expected.aux if key not in aux)
        extra = tuple(key for key in aux if key not in expected.aux)
        notes = [f"missing {_some(missing)}"] * bool(missing) + [f"not expected {_some(extra)}"] * bool(extra)
        text += f" ({'; '.join(notes) or 'in another order'})"
    return text


def _against_tree(expected: PyTreeDef, tree: Any, path: KeyPath) -> str | None:
    if expected.node is None:
        return None
    node = lookup(type(tree))
    if node is None:
        return _difference(path, expected, None, None, 0, describe(tree))
    children, aux = children_of(node, tree)
    if node is not expected.node or len(children) != len(expected.child_defs) or not node.same(aux, expected.aux):
        got = node_words(node, aux, len(children))
        return _difference(path, expected, node, aux, len(children), got)
    keys = node.keys(tree, aux, len(children))
    for key, child_def, child in zip(keys, expected.child_defs, children, strict=True):
        text = _against_tree(child_def, child, (*path, key))
        if text:
            return text
    return None


def _against_def(prefix: PyTreeDef, full: PyTreeDef, path: KeyPath) -> str | None:
    if prefix.node is None:
        return None
    count = len(full.child_defs)
    if prefix.node is not full.node or len(prefix.child_defs) != count or not prefix.node.same(prefix.aux, full.aux):
        # Said from the side of the full tree: it is the data, and the prefix is what the user mends.
        got = node_words(prefix.node, prefix.aux, len(prefix.child_defs))
        return _difference(path, full, prefix.node, prefix.aux, len(prefix.child_defs), got)
    assert full.node is not None
    keys = full.node.keys(None, full.aux, count)
    for key, a, b in zip(keys, prefix.child_defs, full.child_defs, strict=True):
        text = _against_def(a, b, (*path, key))
        if text:
            return text
    return None
