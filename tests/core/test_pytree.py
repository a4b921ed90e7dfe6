"""Structures, walks and registration; what is expected was compared by hand with jax.tree_util."""

import copy
import dataclasses
import pickle
from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

from funcgrad.core import pytree as pt
from funcgrad.core.errors import TreeError, UsageError

Point = namedtuple("Point", "x y")


@pt.register_pytree_node_class
class Box:
    def __init__(self, *items, tag="t"):
        self.items, self.tag = items, tag

    def tree_flatten(self):
        return self.items, self.tag

    @classmethod
    def tree_unflatten(cls, tag, items):
        return cls(*items, tag=tag)

    def __eq__(self, other):
        return isinstance(other, Box) and (self.items, self.tag) == (other.items, other.tag)


@pt.register_dataclass
@dataclasses.dataclass(frozen=True)
class Layer:
    w: object
    b: object
    size: int = dataclasses.field(default=3, metadata={"static": True})


@dataclasses.dataclass
class Unregistered:
    w: object


@pt.register_static
@dataclasses.dataclass(frozen=True)
class Setting:
    name: str


TREES = [
    (1, "*", [1]),
    (None, "None", []),
    ((), "()", []),
    ((1,), "(*,)", [1]),
    ([1, [2, ()]], "[*, [*, ()]]", [1, 2]),
    ({"b": (1, 2), "a": 0}, "{'a': *, 'b': (*, *)}", [0, 1, 2]),
    (Point(1, 2), "CustomNode(namedtuple[Point], [*, *])", [1, 2]),
    (OrderedDict(b=1, a=2), "CustomNode(OrderedDict[('b', 'a')], [*, *])", [1, 2]),
    (defaultdict(int, z=1, a=2), "CustomNode(defaultdict[(<class 'int'>, ('a', 'z'))], [*, *])", [2, 1]),
    (Box(1, [2]), "CustomNode(Box[t], [*, [*]])", [1, 2]),
    (Layer(1, {"k": 2}, 5), "CustomNode(Layer[(5,)], [*, {'k': *}])", [1, 2]),
    (Setting("s"), "CustomNode(Setting[Setting(name='s')], [])", []),
]


@pytest.mark.parametrize("tree,text,leaves", TREES, ids=[text for _, text, _ in TREES])
def test_flatten_unflatten_repr_pickle(tree, text, leaves):
    for _ in range(5):  # the third time on runs generated code
        found, treedef = pt.tree_flatten(tree)
        assert found == leaves
        assert repr(treedef) == f"PyTreeDef({text})"
        assert treedef.num_leaves == len(leaves)
        again = pt.tree_unflatten(treedef, found)
        assert again == tree and type(again) is type(tree)
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    assert hash(pickle.loads(pickle.dumps(treedef))) == hash(treedef)
    assert copy.deepcopy(treedef) == treedef == copy.copy(treedef)


def test_order_of_keys_survives_where_it_matters():
    assert list(pt.tree_map(lambda x: x, OrderedDict(b=1, a=2))) == ["b", "a"]
    again = pt.tree_map(lambda x: x + 1, defaultdict(list, a=1))
    assert again == {"a": 2} and again.default_factory is list


def test_what_is_a_leaf():
    class SubDict(dict):
        pass

    for leaf in (SubDict(a=1), Unregistered(1), np.zeros(2), "text", {1, 2}, object()):
        assert pt.tree_leaves(leaf) == [leaf] if not isinstance(leaf, np.ndarray) else True
        assert pt.tree_structure(leaf) is pt.LEAF
    assert pt.all_leaves([1, "a"]) and not pt.all_leaves([1, ()])
    assert pt.is_tree_node(dict) and not pt.is_tree_node(int)


def test_is_leaf_stops_early():
    tree = {"a": (1, 2), "b": None}
    leaves, treedef = pt.tree_flatten(tree, is_leaf=lambda x: x is None or isinstance(x, tuple))
    assert leaves == [(1, 2), None]
    assert str(treedef) == "PyTreeDef({'a': *, 'b': *})"
    assert pt.tree_map(lambda x: 0 if x is None else x, tree, is_leaf=lambda x: x is None) == {"a": (1, 2), "b": 0}


def test_map_over_several_trees():
    assert pt.tree_map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"y": [20], "x": 10}) == {"x": 11, "y": [22]}
    # further trees may go on below the leaves of the first
    assert pt.tree_map(lambda a, b: (a, b), [1], [{"k": 2}]) == [(1, {"k": 2})]


@pytest.mark.parametrize(
    "first,second,place",
    [
        ({"a": 1, "b": [1, 2]}, {"a": 1, "b": (1, 2)}, r"tree 2 differs from tree 1 at \['b'\]: expected a list of 2, got a tuple of 2"),
        ({"a": {"c": 1}}, {"a": {"d": 1}}, r"at \['a'\]: expected a dict with keys 'c', got .* 'd' \(missing 'c'; not expected 'd'\)"),
        ([1, [2, 3]], [1, [2, 3, 4]], r"at \[1\]: expected a list of 2, got a list of 3"),
        ([1, [2]], [1, np.zeros((2, 3))], r"at \[1\]: expected a list of 1, got float64\[2,3\]"),
        ((1, None), (1, 2), r"at \[1\]: expected None, got a value of type int"),
        (Layer(1, 2, 3), Layer(1, 2, 4), r"at the top: expected a Layer with static size=3, got a Layer with static size=4"),
        (Layer(1, [2]), Layer(1, (2,)), r"at \.b: expected a list of 1"),
        (Point(1, [1]), Point(1, 2), r"at \.y"),
    ],
)  # fmt: skip
def test_map_names_the_first_difference(first, second, place):
    for _ in range(4):
        with pytest.raises(TreeError, match=place) as caught:
            pt.tree_map(lambda a, b: a, first, second)
    assert isinstance(caught.value, ValueError)
    text = str(caught.value)
    assert text.index("Allowed:") < text.index("Try:")


def test_unsortable_keys():
    with pytest.raises(TreeError, match="cannot be sorted .*int, str") as caught:
        pt.tree_flatten({1: 1, "a": 2})
    assert "OrderedDict" in str(caught.value)
    assert pt.tree_leaves({}) == [] and pt.tree_leaves({2: "b", 1: "a"}) == ["a", "b"]


def test_unflatten_counts_leaves():
    treedef = pt.tree_structure((1, [2]))
    for leaves, word in (([1], "few"), ([1, 2, 3], "many")):
        with pytest.raises(ValueError, match=f"too {word} leaves .*got {len(leaves)}"):
            treedef.unflatten(leaves)
        with pytest.raises(ValueError, match=f"too {word} leaves"):
            pt.compile_unflatten(treedef)(leaves)
    assert pt.tree_unflatten(treedef, iter([1, 2])) == (1, [2])


def test_static_data_is_compared_strictly():
    one = [pt.tree_structure(Layer(0, 0, size)) for size in (1, True, 1.0)]
    assert one[0] != one[1] != one[2] != one[0]
    assert one[0] == pt.tree_structure(Layer("other", "leaves", 1))
    with pytest.raises(TypeError, match="cannot be hashed"):
        hash(pt.tree_structure(Box(1, tag=[1])))
    assert pt.tree_map(lambda x: x + 1, Box(1, tag=[1])) == Box(2, tag=[1])  # unhashable, and still usable
    with pytest.raises(TreeError, match="static data of type ndarray cannot be compared"):
        pt.tree_map(lambda a, b: a, Box(1, tag=np.ones(2)), Box(1, tag=np.zeros(2)))


def test_register_dataclass_checks_fields():
    @dataclasses.dataclass
    class Two:
        a: int
        b: int = 0

    with pytest.raises(UsageError, match=r"without \['b'\]"):
        pt.register_dataclass(Two, ["a"], [])
    with pytest.raises(UsageError, match=r"unknown \['c'\]"):
        pt.register_dataclass(Two, ["a", "b"], ["c"])
    with pytest.raises(UsageError, match="in data_fields and meta_fields"):
        pt.register_dataclass(Two, ["a", "b"], ["b"])
    assert pt.register_dataclass(Two, ["a"], [], drop_fields=["b"]) is Two
    assert pt.tree_map(lambda x: x + 1, Two(1, 7)) == Two(2, 0)
    with pytest.raises(UsageError, match="registered already"):
        pt.register_dataclass(Two)

    class Plain:
        def __init__(self, a, m):
            self.a, self.m = a, m

    with pytest.raises(UsageError, match="without both"):
        pt.register_dataclass(Plain)
    pt.register_dataclass(Plain, ["a"], ["m"])
    assert pt.tree_leaves(Plain([1, 2], "x")) == [1, 2]


def test_a_type_may_be_registered_after_it_was_a_leaf():
    class Late:
        def __init__(self, x):
            self.x = x

    flatten = pt.compile_flatten(pt.tree_structure((0, 0)))
    late = Late(5)
    assert flatten((late, 1)) == [late, 1]
    pt.register_pytree_node(Late, lambda late: ((late.x,), None), lambda _, c: Late(*c))
    assert flatten((late, 1)) is None
    assert pt.tree_leaves((late, 1)) == [5, 1]


def test_a_flatten_function_that_returns_nonsense():
    class Bad:
        pass

    pt.register_pytree_node(Bad, lambda _: [1], lambda _, c: Bad())
    with pytest.raises(TreeError, match="flatten function of .*Bad returned list"):
        pt.tree_flatten(Bad())


def test_paths():
    tree = {"a": [1, Point(2, 3)], "l": Layer(4, 5), "box": Box(6), "o": OrderedDict(z=7)}
    paths = [(pt.keystr(path), leaf) for path, leaf in pt.tree_leaves_with_path(tree)]
    assert paths == [
        ("['a'][0]", 1),
        ("['a'][1].x", 2),
        ("['a'][1].y", 3),
        ("['box'][<flat index 0>]", 6),
        ("['l'].w", 4),
        ("['l'].b", 5),
        ("['o']['z']", 7),
    ]
    path = (pt.DictKey("a"), pt.SequenceKey(1), pt.GetAttrKey("x"), pt.FlattenedIndexKey(0))
    assert pt.keystr(path, simple=True, separator="/") == "a/1/x/0"
    assert pt.tree_map_with_path(lambda p, x, y: (len(p), x, y), {"a": (1,)}, {"a": (2,)}) == {"a": ((2, 1, 2),)}
    named = pt.tree_leaves_with_path(tree, is_leaf=lambda path, x: path[-1:] == (pt.DictKey("a"),), is_leaf_takes_path=True)
    assert named[0] == ((pt.DictKey("a"),), [1, Point(2, 3)])
    assert pt.tree_structure(tree).key_paths()[1] == (pt.DictKey("a"), pt.SequenceKey(1), pt.GetAttrKey("x"))


def test_paths_of_nodes_with_keys():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pt.register_pytree_with_keys(
        Pair, lambda p: (((pt.GetAttrKey("a"), p.a), (pt.GetAttrKey("b"), p.b)), None), lambda _, c: Pair(*c)
    )
    assert [pt.keystr(p) for p, _ in pt.tree_leaves_with_path(Pair(1, (2,)))] == [".a", ".b[0]"]
    assert pt.flatten_one_level_with_keys(Pair(1, 2))[0] == [(pt.GetAttrKey("a"), 1), (pt.GetAttrKey("b"), 2)]


def test_partial():
    import functools

    p = pt.Partial(pow, 2)
    leaves, treedef = pt.tree_flatten(p)
    assert leaves == [2] and treedef.unflatten([3])(2) == 9
    assert pt.tree_structure(pt.Partial(pow, 5)) == treedef
    # a plain partial inside stays part of the function: its arguments are no leaves
    inner = pt.Partial(functools.partial(pow, 2), 3)
    assert pt.tree_leaves(inner) == [3] and inner() == 8
    assert pt.tree_map(lambda x: x + 1, inner)() == 16
    assert pt.tree_leaves(pt.Partial(pt.Partial(pow, 2), 3)) == [2, 3]
    assert pt.tree_leaves(pt.Partial(dict, a=1, b=2)) == [1, 2]


def test_reduce_all_transpose_broadcast():
    assert pt.tree_reduce(lambda a, b: a - b, [1, (2, 3)]) == -4
    assert pt.tree_reduce(lambda a, b: a + b, {}, 7) == 7
    assert pt.tree_reduce_associative(lambda a, b: a + b, ["a", "b", "c", "d", "e"]) == "abcde"
    assert pt.tree_reduce_associative(max, [], identity=0) == 0
    for reduce in (pt.tree_reduce, pt.tree_reduce_associative):
        with pytest.raises(UsageError, match="without leaves"):
            reduce(max, [])
    assert pt.tree_all([True, (1,)]) and not pt.tree_all([True, 0])
    tree = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    flipped = {"a": [1, 3], "b": [2, 4]}
    outer, inner = pt.tree_structure([0, 0]), pt.tree_structure({"a": 0, "b": 0})
    assert pt.tree_transpose(outer, inner, tree) == flipped == pt.tree_transpose(outer, None, tree)
    with pytest.raises(TreeError, match="tree_transpose"):
        pt.tree_transpose(outer, pt.LEAF, tree)
    assert pt.tree_broadcast([0, 1], [(1, 2), {"k": 3}]) == [(0, 0), {"k": 1}]
    with pytest.raises(TreeError, match="at the top: expected a tuple of 2, got a list of 2"):
        pt.broadcast_prefix([1, 2], (1, 2))


def test_flatten_axes():
    treedef = pt.tree_structure(({"a": 1, "b": (2, 3)}, 4, None))
    assert pt.flatten_axes("in_axes", treedef, 0) == [0, 0, 0, 0]
    assert pt.flatten_axes("in_axes", treedef, None) == [None] * 4
    assert pt.flatten_axes("in_axes", treedef, (0, None, None)) == [0, 0, 0, None]
    assert pt.flatten_axes("in_axes", treedef, ({"a": None, "b": (1, 2)}, 3, None)) == [None, 1, 2, 3]
    with pytest.raises(TreeError, match=r"vmap in_axes: .* at \[0\]\['b'\]: expected a tuple of 2, got a tuple of 1"):
        pt.flatten_axes("vmap in_axes", treedef, ({"a": 0, "b": (1,)}, 0, None))
    with pytest.raises(TreeError, match=r"at \[0\]: .*missing 'b'"):
        pt.flatten_axes("vmap in_axes", treedef, ({"a": 0}, 0, None))


def test_treedef_surgery():
    pair = pt.tree_structure((0, [0]))
    assert pair.children() == [pt.LEAF, pt.tree_structure([0])] == pt.treedef_children(pair)
    assert pt.treedef_tuple([pt.LEAF, pt.tree_structure([0])]) == pair
    assert pt.tree_structure([0]).compose(pair) == pt.tree_structure([(0, [0])])
    assert pair.node_data() == (tuple, None) and pt.LEAF.node_data() is None
    assert pt.tree_structure({"b": 1, "a": 2}).node_data() == (dict, ["a", "b"])
    assert pt.treedef_is_leaf(pt.LEAF) and not pt.treedef_is_leaf(pair)
    assert pt.flatten_one_level({"b": [1], "a": 2}) == ([2, [1]], ("a", "b"))
    with pytest.raises(TreeError, match="is a leaf"):
        pt.flatten_one_level(1)
    with pytest.raises(TreeError, match=r"flatten_up_to: at \[1\]"):
        pair.flatten_up_to((1, 2))
    assert pair.flatten_up_to(((1, 2), [3])) == [(1, 2), 3]
