"""The registry of pytree nodes: which types are containers, how each comes apart and together, and key entries of paths.

A `Node` is what is known of one container type. `lookup(type)` answers with its Node or None (a leaf) and remembers
both, so that the generated flatteners can ask "are all of these leaves?" with one set operation over `LEAF_TYPES`.
Types match exactly: an unregistered subclass of dict is a leaf. Named tuples are recognised when first met.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from funcgrad.core.errors import TreeError, UsageError, message

__all__ = [
    "LEAF_TYPES",
    "NODES",
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Node",
    "Partial",
    "SequenceKey",
    "children_of",
    "keystr",
    "lookup",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "same_static",
    "sorted_keys",
]

T = TypeVar("T")
C = TypeVar("C", bound=type)


# ---- key paths -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SequenceKey:
    """A step into a list or tuple: `[idx]`.

    >>> path, leaf = tree_util.tree_leaves_with_path(["a", "b"])[1]
    >>> path
    (SequenceKey(idx=1),)
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True)
class DictKey:
    """A step into a dict: `['key']`.

    >>> path, leaf = tree_util.tree_leaves_with_path({"w": 1})[0]
    >>> path, path[0].key
    ((DictKey(key='w'),), 'w')
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True)
class GetAttrKey:
    """A step into an attribute: `.name`.

    >>> from collections import namedtuple
    >>> path, leaf = tree_util.tree_leaves_with_path(namedtuple("Point", "x y")(1, 2))[1]
    >>> path, tree_util.keystr(path)
    ((GetAttrKey(name='y'),), '.y')
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True)
class FlattenedIndexKey:
    """A step into a custom node that names none of its children: `[<flat index key>]`.

    >>> @tree_util.register_pytree_node_class
    ... class Box:
    ...     def __init__(self, x):
    ...         self.x = x
    ...     def tree_flatten(self):
    ...         return (self.x,), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(*children)
    >>> tree_util.tree_leaves_with_path(Box(5))
    [((FlattenedIndexKey(key=0),), 5)]
    """

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]


def keystr(keys: Iterable[KeyEntry], *, simple: bool = False, separator: str = "") -> str:
    """A key path as text: "['layers'][0].w", or with `simple=True, separator="/"`: "layers/0/w".

    >>> path, leaf = tree_util.tree_leaves_with_path({"layers": [1.0]})[0]
    >>> tree_util.keystr(path), tree_util.keystr(path, simple=True, separator="/")
    ("['layers'][0]", 'layers/0')
    """
    return separator.join(map(_simple if simple else str, keys))


def _simple(key: KeyEntry) -> str:
    match key:
        case SequenceKey(idx=part) | DictKey(key=part) | GetAttrKey(name=part) | FlattenedIndexKey(key=part):
            return str(part)
        case _:
            return str(key)


# ---- nodes ---------------------------------------------------------------------------------------------------------


def same_static(a: Any, b: Any) -> bool:
    """Whether two pieces of static data are equal; unlike `==`, 1, 1.0 and True differ, since they compute different things."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(same_static, a, b))
    try:
        return bool(a == b)
    except Exception as error:
        raise TreeError(
            message(
                f"pytrees: static data of type {type(a).__name__} cannot be compared ({error})",
                "static data (meta fields, aux data) that is hashable and compares with == to one bool",
                "make it a data field, so that arrays in it are leaves, or convert it to a tuple",
            )
        ) from None


class Node:
    """What is known of one container type.

    `flatten(x) -> (children, aux)`, `unflatten(aux, children) -> x`, `keys(x, aux, count) -> key entries`,
    where x is None when only the structure is at hand. `kind` says which
    short code the generator may write; "custom" always goes through the functions.
    """

    __slots__ = ("cls", "data_fields", "flatten", "keys", "kind", "meta_fields", "same", "unflatten")

    def __init__(
        self,
        cls: type,
        kind: str,
        flatten: Callable[[Any], tuple[Iterable[Any], Any]],
        unflatten: Callable[[Any, Sequence[Any]], Any],
        keys: Callable[[Any, Any, int], Sequence[KeyEntry]],
        data_fields: tuple[str, ...] = (),
        meta_fields: tuple[str, ...] = (),
    ) -> None:
        self.cls, self.kind, self.flatten, self.unflatten, self.keys = cls, kind, flatten, unflatten, keys
        self.data_fields, self.meta_fields = data_fields, meta_fields
        # Keys of a dict are equal when a dict says so; other static data is compared strictly.
        self.same: Callable[[Any, Any], bool] = operator.eq if kind.endswith("dict") else same_static

    def __repr__(self) -> str:
        return f"Node({self.cls.__qualname__})"

    def __reduce__(self) -> tuple:
        return (_node_of, (self.cls,))


def _node_of(cls: type) -> Node:
    node = lookup(cls)
    if node is None:
        raise TreeError(
            message(
                f"unpickling a PyTreeDef: {cls.__qualname__} is not registered as a pytree in this process",
                "types that are registered where the pickle is read",
                "import the module that registers it first",
            )
        )
    return node


NODES: dict[type, Node] = {}
LEAF_TYPES: set[type] = set()  # types met so far that are no containers; a later registration takes them out


def lookup(cls: type) -> Node | None:
    """The Node of a container type, None for a leaf type."""
    node = NODES.get(cls)
    if node is None and cls not in LEAF_TYPES:
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            node = NODES[cls] = _namedtuple_node(cls)
        else:
            LEAF_TYPES.add(cls)
    return node


def _check_type(x: Any) -> None:
    if not isinstance(x, type):
        raise UsageError(message(f"pytrees: got {x!r} for the type of a node", "a class", "type(x)"))


def _register(node: Node) -> None:
    _check_type(node.cls)
    if node.cls in NODES:
        raise UsageError(
            message(
                f"pytrees: {node.cls.__qualname__} is registered already",
                "one registration for each type",
                "remove the second registration",
            )
        )
    NODES[node.cls] = node
    LEAF_TYPES.discard(node.cls)


def sorted_keys(tree: dict) -> tuple:
    """The keys of a dict in the order of its leaves."""
    try:
        return tuple(sorted(tree))
    except TypeError:
        kinds = sorted({type(key).__name__ for key in tree})
        raise TreeError(
            message(
                f"pytrees: got a dict whose keys cannot be sorted (keys of type {', '.join(kinds)})",
                "dicts with keys of one sortable type, because leaves follow the sorted keys",
                "collections.OrderedDict(...), which keeps its own order, or keys of one type",
            )
        ) from None


def _index_keys(_x: Any, _aux: Any, count: int) -> Sequence[KeyEntry]:
    return [SequenceKey(i) for i in range(count)]


def _flat_index_keys(_x: Any, _aux: Any, count: int) -> Sequence[KeyEntry]:
    return [FlattenedIndexKey(i) for i in range(count)]


def _dict_keys(_x: Any, aux: Any, _count: int) -> Sequence[KeyEntry]:
    return [DictKey(key) for key in aux]


def _defaultdict_keys(_x: Any, aux: Any, _count: int) -> Sequence[KeyEntry]:
    return [DictKey(key) for key in aux[1]]


def _flatten_dict(x: dict) -> tuple[list, tuple]:
    keys = sorted_keys(x)
    return [x[key] for key in keys], keys


def _flatten_defaultdict(x: defaultdict) -> tuple[list, tuple]:
    keys = sorted_keys(x)
    return [x[key] for key in keys], (x.default_factory, keys)


def _namedtuple_node(cls: Any) -> Node:
    def keys(_x: Any, _aux: Any, count: int) -> Sequence[KeyEntry]:
        names = cls._fields
        return [GetAttrKey(names[i]) if i < len(names) else SequenceKey(i) for i in range(count)]

    return Node(cls, "namedtuple", lambda x: (x, None), lambda _, c: tuple.__new__(cls, c), keys)


for _node in (
    Node(type(None), "none", lambda x: ((), None), lambda _, c: None, _index_keys),
    Node(list, "list", lambda x: (x, None), lambda _, c: list(c), _index_keys),
    Node(tuple, "tuple", lambda x: (x, None), lambda _, c: tuple(c), _index_keys),
    Node(dict, "dict", _flatten_dict, lambda aux, c: dict(zip(aux, c, strict=True)), _dict_keys),
    Node(
        OrderedDict,
        "ordereddict",
        lambda x: (list(x.values()), tuple(x)),
        lambda aux, c: OrderedDict(zip(aux, c, strict=True)),
        _dict_keys,
    ),
    Node(
        defaultdict,
        "defaultdict",
        _flatten_defaultdict,
        lambda aux, c: defaultdict(aux[0], zip(aux[1], c, strict=True)),
        _defaultdict_keys,
    ),
):
    _register(_node)


# ---- taking apart, comparing ---------------------------------------------------------------------------------------


def children_of(node: Node, x: Any) -> tuple[Sequence[Any], Any]:
    """The children and the static data of a container, with a clear error where a custom flatten function errs."""
    answer = node.flatten(x)
    if type(answer) is not tuple or len(answer) != 2:
        raise TreeError(
            message(
                f"pytrees: the flatten function of {node.cls.__qualname__} returned {type(answer).__name__}",
                "a pair (children, static data)",
                "return (child1, child2), (static1,)",
            )
        )
    children, aux = answer
    return (children if isinstance(children, list | tuple) else list(children)), aux


# ---- registration by users -----------------------------------------------------------------------------------------


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], T],
    flatten_with_keys_func: Callable[[T], tuple[Iterable[tuple[KeyEntry, Any]], Any]] | None = None,
) -> None:
    """Make a type a container.

    Args:
      nodetype: the type; subclasses are not included.
      flatten_func: x -> (children, aux), aux hashable and comparable: it decides whether two structures are equal.
      unflatten_func: (aux, children) -> x; must accept any objects as children.
      flatten_with_keys_func: x -> ((key entry, child) pairs, aux), for readable key paths.

    >>> class Interval:
    ...     def __init__(self, low, high, unit):
    ...         self.low, self.high, self.unit = low, high, unit
    >>> tree_util.register_pytree_node(Interval, lambda i: ((i.low, i.high), i.unit), lambda unit, lh: Interval(*lh, unit))
    >>> fg.jit(lambda i: i.high - i.low)(Interval(1.0, 3.0, "m"))
    Array(2., dtype=float32, weak_type=True)
    """
    keys = _flat_index_keys if flatten_with_keys_func is None else _keys_from(flatten_with_keys_func)
    _register(Node(nodetype, "custom", flatten_func, unflatten_func, keys))


def _keys_from(flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[KeyEntry, Any]], Any]]) -> Callable:
    def keys(x: Any, aux: Any, count: int) -> Sequence[KeyEntry]:
        if x is None:
            return _flat_index_keys(x, aux, count)
        return [key for key, _ in flatten_with_keys(x)[0]]

    return keys


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Iterable[tuple[KeyEntry, Any]], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make a type a container whose children have key entries: `flatten_with_keys(x) -> ((key, child) pairs, aux)`.

    >>> class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    >>> def with_keys(i):
    ...     return ((tree_util.GetAttrKey("low"), i.low), (tree_util.GetAttrKey("high"), i.high)), None
    >>> tree_util.register_pytree_with_keys(Interval, with_keys, lambda aux, children: Interval(*children))
    >>> [tree_util.keystr(path) for path, leaf in tree_util.tree_leaves_with_path([Interval(1, 2)])]
    ['[0].low', '[0].high']
    """

    def flatten(x: T) -> tuple[Iterable[Any], Any]:
        pairs, aux = flatten_with_keys(x)
        return [child for _, child in pairs], aux

    register_pytree_node(nodetype, flatten_func or flatten, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: C) -> C:
    """Class decorator: a container by its methods `tree_flatten(self)` and `tree_unflatten(cls, aux, children)`.

    >>> @tree_util.register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    ...     def tree_flatten(self):
    ...         return (self.a, self.b), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(*children)
    >>> tree_util.tree_map(lambda x: x + 1, Pair(1, 2)).b
    3
    """
    _check_class(cls, "tree_flatten")
    register_pytree_node(cls, cls.tree_flatten, cls.tree_unflatten)
    return cls


def _check_class(cls: Any, *methods: str) -> None:
    missing = [m for m in (*methods, "tree_unflatten") if not hasattr(cls, m)]
    if not isinstance(cls, type) or missing:
        raise UsageError(
            message(f"pytrees: got {cls!r}", f"a class with the methods {', '.join(methods)}, tree_unflatten", "class C:")
        )


def register_pytree_with_keys_class(cls: C) -> C:
    """Class decorator: as `register_pytree_node_class`, with `tree_flatten_with_keys(self)` for the key paths.

    >>> @tree_util.register_pytree_with_keys_class
    ... class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    ...     def tree_flatten_with_keys(self):
    ...         return ((tree_util.GetAttrKey("a"), self.a), (tree_util.GetAttrKey("b"), self.b)), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(*children)
    >>> [tree_util.keystr(path) for path, leaf in tree_util.tree_leaves_with_path(Pair(1, 2))]
    ['.a', '.b']
    """
    _check_class(cls, "tree_flatten_with_keys")
    register_pytree_with_keys(cls, cls.tree_flatten_with_keys, cls.tree_unflatten, getattr(cls, "tree_flatten", None))
    return cls


def register_static(cls: C) -> C:
    """Class decorator: instances hold no leaves; the whole object is part of the structure (hashable, comparable).

    >>> @tree_util.register_static
    ... class Mode(str):
    ...     pass
    >>> tree_util.tree_leaves((1, Mode("train")))
    [1]
    >>> fg.jit(lambda x, mode: x * 2 if mode == "train" else x)(1.0, Mode("train"))
    Array(2., dtype=float32, weak_type=True)
    """
    _register(Node(cls, "custom", lambda x: ((), x), lambda aux, _: aux, _flat_index_keys))
    return cls


def register_dataclass(
    nodetype: C,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> C:
    """Make a dataclass (or a class with such attributes and keyword constructor) a container.

    Args:
      nodetype: the class; it is returned, so that this also works as a decorator.
      data_fields: fields whose values are children. By default all fields of the constructor that are not static.
      meta_fields: fields that belong to the structure (hashable, comparable). By default those with
        `metadata=dict(static=True)`.
      drop_fields: fields that are neither; the constructor must have a default for them.

    Rebuilding calls the constructor with data and meta fields by keyword, so `__post_init__` runs on whatever the
    leaves are then.

    >>> import dataclasses
    >>> @tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: fg.Array
    ...     name: str = tree.static(default="layer")
    >>> layer = Layer(fnp.array([1.0, 2.0]), "first")
    >>> fg.grad(lambda m: (m.w**2).sum())(layer)
    Layer(w=Array([2., 4.], dtype=float32), name='first')
    """
    _check_type(nodetype)
    is_dataclass = hasattr(nodetype, "__dataclass_fields__")
    if data_fields is None or meta_fields is None:
        if not is_dataclass or (data_fields is None) != (meta_fields is None):
            raise UsageError(
                message(
                    f"register_dataclass: got {nodetype.__qualname__} without both data_fields and meta_fields",
                    "a dataclass with neither, or any class with both",
                    "register_dataclass(cls, data_fields=[...], meta_fields=[...])",
                )
            )
        fields = [field for field in dataclasses.fields(cast(Any, nodetype)) if field.init]
        data_fields = [f.name for f in fields if not f.metadata.get("static") and f.name not in drop_fields]
        meta_fields = [f.name for f in fields if f.metadata.get("static") and f.name not in drop_fields]
    data, meta = tuple(data_fields), tuple(meta_fields)
    if is_dataclass:
        _check_fields(nodetype, data + meta + tuple(drop_fields))
    overlap = set(data) & set(meta)
    if overlap:
        raise UsageError(
            message(
                f"register_dataclass: {nodetype.__qualname__} has {sorted(overlap)} in data_fields and meta_fields",
                "each field in one of them",
                "keep arrays in data_fields, static settings in meta_fields",
            )
        )
    entries = tuple(GetAttrKey(name) for name in data)

    def flatten(x: Any) -> tuple[list, tuple]:
        return [getattr(x, name) for name in data], tuple([getattr(x, name) for name in meta])

    def unflatten(aux: Any, children: Iterable[Any]) -> Any:
        return nodetype(**dict(zip(data, children, strict=True)), **dict(zip(meta, aux, strict=True)))

    _register(Node(nodetype, "dataclass", flatten, unflatten, lambda x, aux, n: entries, data, meta))
    return nodetype


def _check_fields(nodetype: Any, named: tuple[str, ...]) -> None:
    wanted = {field.name for field in dataclasses.fields(nodetype) if field.init}
    extra, missing = sorted(set(named) - wanted), sorted(wanted - set(named))
    if extra or missing:
        parts = [f"unknown {extra}"] * bool(extra) + [f"without {missing}"] * bool(missing)
        raise UsageError(
            message(
                f"register_dataclass: {nodetype.__qualname__} has fields {sorted(wanted)}, got {' and '.join(parts)}",
                "every field of the constructor in data_fields, meta_fields or drop_fields, and no others",
                f"drop_fields={missing}" if missing else f"remove {extra}",
            )
        )


# ---- Partial -------------------------------------------------------------------------------------------------------


class _Boxed:
    """Hides a functools.partial from functools.partial, which would merge the two and turn its arguments into leaves."""

    __slots__ = ("inner",)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __call__(self, *args: Any, **kw: Any) -> Any:
        return self.inner(*args, **kw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Boxed) and self.inner == other.inner

    def __hash__(self) -> int:
        return hash(self.inner)

    def __repr__(self) -> str:
        return repr(self.inner)


class Partial(functools.partial):
    """functools.partial as a pytree: its arguments are children, the function is part of the structure.

    So a function with bound arrays can be passed through `jit`, `vmap`, `grad` like any other argument.

    >>> scale = tree_util.Partial(lambda factor, x: factor * x, fnp.array(3.0))
    >>> tree_util.tree_leaves(scale)
    [Array(3., dtype=float32)]
    >>> fg.jit(lambda f, x: f(x))(scale, 2.0)
    Array(6., dtype=float32)
    """

    def __new__(cls, func: Callable, *args: Any, **kw: Any) -> Partial:
        if isinstance(func, functools.partial) and not isinstance(func, Partial):
            func = _Boxed(func)
        return super().__new__(cls, func, *args, **kw)


register_pytree_with_keys(
    Partial,
    lambda p: (((GetAttrKey("args"), p.args), (GetAttrKey("keywords"), p.keywords)), p.func),
    lambda func, children: _partial(func, *children),
    lambda p: ((p.args, p.keywords), p.func),
)


def _partial(func: Any, args: Any, keywords: Any) -> Partial:
    return Partial(func, *args, **keywords)
