"""Flattening at the speed of straight-line Python: source generated for one structure, kept per structure.

`compile_flatten(treedef)` gives `f(tree) -> leaves or None`; None says that the tree has another structure. For
`{'a': *, 'b': (*, *)}` the generated code reads::

    def flatten(n0):
        try:
            if type(n0) is not dict or len(n0) != 2: return None
            n1 = n0['a']
            n2 = n0['b']
            if type(n2) is not tuple or len(n2) != 2: return None
            n3, n4 = n2
        except KeyError: return None
        leaves = [n1, n3, n4]
        if not known(map(type, leaves)) and not all_leaves(leaves): return None
        return leaves

`compile_flatten_up_to(treedef)` is the same without the last question: leaves may be anything, subtrees too. It is
for callers that look at each leaf's type anyway, and for the further trees of tree_map.
`compile_unflatten(treedef)` gives `f(leaves) -> tree`. Twenty leaves in a dict take about 0.6, 0.25 and 0.25 us.
Structures above `_MAX_NODES` nodes keep the general walk.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from funcgrad.core.source import generated_filename
from funcgrad.core.tree_def import LEAF, PyTreeDef, flatten_general, flatten_up_to, leaf_count_error, unflatten_walk
from funcgrad.core.tree_nodes import LEAF_TYPES, lookup, same_static

__all__ = [
    "Flatten",
    "TreePrinter",
    "Unflatten",
    "all_leaves",
    "compile_flatten",
    "compile_flatten_up_to",
    "compile_unflatten",
    "print_flatten",
    "print_unflatten",
]

Flatten = Callable[[Any], "list[Any] | None"]
Unflatten = Callable[[Sequence[Any]], Any]

_MAX_NODES = 4000  # compiling takes about 10 us a node; beyond this the walk is good enough
_MAX_KEPT = 512


class _Kept(OrderedDict):
    """A bounded memo by structure; the least recently made entries go first."""

    def get_or_make(self, treedef: PyTreeDef, make: Callable[[PyTreeDef], Callable]) -> Callable:
        try:
            made = self.get(treedef)
        except TypeError:  # unhashable static data: compile it, keep nothing
            return make(treedef)
        if made is None:
            made = self[treedef] = make(treedef)
            if len(self) > _MAX_KEPT:
                self.popitem(last=False)
        return made


_flatteners, _up_to, _unflatteners = _Kept(), _Kept(), _Kept()


def all_leaves(leaves: Iterable[Any]) -> bool:
    """Whether no element is a container; remembers the types for the next time."""
    return all([lookup(cls) is None for cls in set(map(type, leaves))])


def compile_flatten(treedef: PyTreeDef) -> Flatten:
    """A function `tree -> leaves`, or None where the tree does not have exactly this structure."""
    return _flatteners.get_or_make(treedef, partial(_make_flatten, checked=True))


def compile_flatten_up_to(treedef: PyTreeDef) -> Flatten:
    """A function `tree -> subtrees at the leaves of treedef`, or None where the tree does not begin like it."""
    return _up_to.get_or_make(treedef, partial(_make_flatten, checked=False))


def compile_unflatten(treedef: PyTreeDef) -> Unflatten:
    """A function `leaves -> tree`; a wrong number of leaves raises."""
    return _unflatteners.get_or_make(treedef, _make_unflatten)


# ---- the printer ---------------------------------------------------------------------------------------------------


class TreePrinter:
    """Lines of code, and the objects that they name. `refuse` is the statement for a tree of another structure."""

    def __init__(self, refuse: str = "return None") -> None:
        self.refuse = refuse
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self.count = 0

    def new(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def const(self, value: Any) -> str:
        """An expression for a constant: a literal where its repr is one, else a name."""
        return repr(value) if type(value) in (str, int) else self.name(value)

    def name(self, value: Any) -> str:
        """A name for an object, also where a literal would do (`is` wants no literals)."""
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def say(self, line: str) -> None:
        self.lines.append(line)

    def function(self, header: str, **names: Any) -> Callable:
        source = header + "\n" + "\n".join(f"    {line}" for line in self.lines)
        space = {**self.names, **names}
        exec(compile(source, generated_filename("tree"), "exec"), space)
        made = space.pop(header.split("(")[0].removeprefix("def "))
        made.source = source
        return made


def _make_flatten(treedef: PyTreeDef, checked: bool) -> Flatten:
    if treedef.num_nodes > _MAX_NODES:
        return partial(_walk_exactly if checked else _walk_up_to, treedef)
    out = TreePrinter()
    leaves: list[str] = []
    print_flatten(treedef, "n0", out, leaves)
    if out.lines:
        out.lines = ["try:", *["    " + line for line in out.lines], "except KeyError: return None"]
    out.say(f"leaves = [{', '.join(leaves)}]")
    if checked and leaves:
        out.say("if not known(map(type, leaves)) and not all_leaves(leaves): return None")
    out.say("return leaves")
    return out.function(
        "def flatten(n0):",
        known=LEAF_TYPES.issuperset,
        all_leaves=all_leaves,
        same=same_static,
        OrderedDict=OrderedDict,
    )


def _walk_exactly(treedef: PyTreeDef, tree: Any) -> list[Any] | None:
    leaves: list[Any] = []
    return leaves if flatten_general(tree, leaves, None) == treedef else None


def _walk_up_to(treedef: PyTreeDef, tree: Any) -> list[Any] | None:
    leaves: list[Any] = []
    return leaves if flatten_up_to(treedef, tree, leaves) else None


def _unpack(names: list[str], value: str) -> str:
    return f"{', '.join(names)}, = {value}" if names else "pass"


def print_flatten(treedef: PyTreeDef, x: str, out: TreePrinter, leaves: list[str]) -> None:
    """Lines that take the tree named `x` apart; the names of its leaves are appended to `leaves`."""
    node, aux = treedef.node, treedef.aux
    if node is None:
        leaves.append(x)
        return
    count = len(treedef.child_defs)
    names = [out.new() for _ in range(count)]
    if node.kind == "none":
        out.say(f"if {x} is not None: {out.refuse}")
        return
    cls = node.cls.__name__ if node.kind in ("list", "tuple", "dict") else out.const(node.cls)
    match node.kind:
        case "list" | "tuple" | "namedtuple":
            out.say(f"if type({x}) is not {cls} or len({x}) != {count}: {out.refuse}")
            out.say(_unpack(names, x))
        case "dict":
            out.say(f"if type({x}) is not {cls} or len({x}) != {count}: {out.refuse}")
            for name, key in zip(names, aux, strict=True):
                out.say(f"{name} = {x}[{out.const(key)}]")
        case "ordereddict":
            out.say(f"if type({x}) is not {cls} or tuple({x}) != {out.const(aux)}: {out.refuse}")
            out.say(_unpack(names, f"{x}.values()"))
        case "defaultdict":
            factory, keys = aux
            # Asked before reading: reading a missing key of a defaultdict would make it.
            out.say(f"if type({x}) is not {cls} or {x}.keys() != {out.const(frozenset(keys))}: {out.refuse}")
            out.say(f"if {x}.default_factory is not {out.name(factory)}: {out.refuse}")
            for name, key in zip(names, keys, strict=True):
                out.say(f"{name} = {x}[{out.const(key)}]")
        case "dataclass":
            out.say(f"if type({x}) is not {cls}: {out.refuse}")
            for field, value in zip(node.meta_fields, aux, strict=True):
                known = out.name(value)
                out.say(f"if {x}.{field} is not {known} and not same({x}.{field}, {known}): {out.refuse}")
            for name, field in zip(names, node.data_fields, strict=True):
                out.say(f"{name} = {x}.{field}")
        case _:
            known, children, data = out.name(aux), f"{x}c", f"{x}d"
            out.say(f"if type({x}) is not {cls}: {out.refuse}")
            out.say(f"{children}, {data} = {out.const(node.flatten)}({x})")
            out.say(f"if {data} is not {known} and not same({data}, {known}): {out.refuse}")
            out.say(f"{children} = tuple({children})")
            out.say(f"if len({children}) != {count}: {out.refuse}")
            out.say(_unpack(names, children))
    for name, child in zip(names, treedef.child_defs, strict=True):
        print_flatten(child, name, out, leaves)


def _make_unflatten(treedef: PyTreeDef) -> Unflatten:
    if treedef.num_nodes > _MAX_NODES or treedef is LEAF:
        return partial(unflatten_walk, treedef)
    out = TreePrinter()
    names = [f"x{i}" for i in range(treedef.num_leaves)]
    if names:
        out.say(f"if len(leaves) != {len(names)}: raise wrong_count(treedef, len(leaves))")
        out.say(_unpack(names, "leaves"))
    else:
        out.say("if leaves: raise wrong_count(treedef, len(leaves))")
    out.say(f"return {print_unflatten(treedef, iter(names), out)}")
    return out.function("def unflatten(leaves):", treedef=treedef, wrong_count=leaf_count_error, new_tuple=tuple.__new__)


def print_unflatten(treedef: PyTreeDef, names: Any, out: TreePrinter) -> str:
    """An expression for the subtree; inner nodes get a line of their own, so that depth costs no nesting."""
    node, aux = treedef.node, treedef.aux
    if node is None:
        return next(names)
    parts = [print_unflatten(child, names, out) for child in treedef.child_defs]
    joined = ", ".join(parts)
    match node.kind:
        case "none":
            return "None"
        case "list":
            made = f"[{joined}]"
        case "tuple":
            made = f"({joined},)" if parts else "()"
        case "dict":
            made = "{" + ", ".join(f"{out.const(k)}: {v}" for k, v in zip(aux, parts, strict=True)) + "}"
        case "namedtuple":
            made = f"new_tuple({out.const(node.cls)}, ({joined}{',' if parts else ''}))"
        case "dataclass":
            fields = [f"{f}={v}" for f, v in zip(node.data_fields, parts, strict=True)]
            fields += [f"{f}={out.const(v)}" for f, v in zip(node.meta_fields, aux, strict=True)]
            made = f"{out.const(node.cls)}({', '.join(fields)})"
        case _:
            made = f"{out.const(node.unflatten)}({out.const(aux)}, ({joined}{',' if parts else ''}))"
    name = out.new()
    out.say(f"{name} = {made}")
    return name
