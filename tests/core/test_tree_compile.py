"""Generated flatteners say what the general walk says, on random trees and on near misses."""

import dataclasses
import threading
from collections import OrderedDict, defaultdict, namedtuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funcgrad.core import pytree as pt
from funcgrad.core.errors import TreeError
from funcgrad.core.tree_compile import compile_flatten, compile_flatten_up_to, compile_unflatten
from funcgrad.core.tree_def import flatten_general

Pair = namedtuple("Pair", "a b")


@pt.register_dataclass
@dataclasses.dataclass
class Data:
    u: object
    v: object
    tag: object = dataclasses.field(default="x", metadata={"static": True})


@pt.register_pytree_node_class
class Bag:
    def __init__(self, *items):
        self.items = items

    def tree_flatten(self):
        return iter(self.items), len(self.items)

    @classmethod
    def tree_unflatten(cls, count, items):
        return cls(*items)

    def __eq__(self, other):
        return isinstance(other, Bag) and self.items == other.items


keys = st.sampled_from(["a", "b", "c", "it's", 'q"', "\\", "n\n", ""])
scalars = st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | st.booleans()
trees = st.recursive(
    scalars | st.none(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.dictionaries(st.integers(-3, 3), inner, max_size=3)
        | st.dictionaries(keys, inner, max_size=3).map(OrderedDict)
        | st.dictionaries(keys, inner, max_size=3).map(lambda d: defaultdict(list, d))
        | st.tuples(inner, inner).map(lambda t: Pair(*t))
        | st.tuples(inner, inner, st.sampled_from(["x", 1, True, 1.0])).map(lambda t: Data(*t))
        | st.lists(inner, max_size=3).map(lambda items: Bag(*items))
    ),
    max_leaves=25,
)


@settings(deadline=None, max_examples=150)
@given(trees)
def test_compiled_is_general(tree):
    leaves = []
    treedef = flatten_general(tree, leaves, None)
    assert compile_flatten(treedef)(tree) == leaves
    assert compile_flatten_up_to(treedef)(tree) == leaves == treedef.flatten_up_to(tree)
    assert compile_unflatten(treedef)(leaves) == tree
    assert type(compile_unflatten(treedef)(leaves)) is type(tree)
    assert len(pt.tree_leaves_with_path(tree)) == treedef.num_leaves == len(treedef.key_paths())


@settings(deadline=None, max_examples=150)
@given(trees, trees)
def test_another_structure_is_none(one, other):
    first, second = [], []
    treedef, other_def = flatten_general(one, first, None), flatten_general(other, second, None)
    found = compile_flatten(treedef)(other)
    assert (found is not None) == (treedef == other_def)
    assert found is None or found == second
    try:
        expected = treedef.flatten_up_to(other)
    except TreeError:
        expected = None
    assert compile_flatten_up_to(treedef)(other) == expected


def test_near_misses():
    flatten = compile_flatten(pt.tree_structure({"a": 1, "b": (1, None)}))
    assert flatten({"b": (2, None), "a": 1}) == [1, 2]

    class Sub(dict):
        pass

    misses = [
        {"a": 1, "b": [1, None]},
        {"a": 1, "b": (1, 2)},
        {"a": 1, "b": (1,)},
        {"a": 1, "c": (1, None)},
        {"a": 1, "b": (1, None), "c": 2},
        {"a": (), "b": (1, None)},
        {"a": None, "b": (1, None)},
        {"a": Pair(1, 2), "b": (1, None)},
        Sub(a=1, b=(1, None)),
        [1, 2],
        3,
        None,
    ]
    assert [flatten(miss) for miss in misses] == [None] * len(misses)


def test_a_defaultdict_is_not_filled_by_looking():
    flatten = compile_flatten(pt.tree_structure(defaultdict(list, a=1)))
    other = defaultdict(list, b=1)
    assert flatten(other) is None and dict(other) == {"b": 1}
    assert flatten(defaultdict(dict, a=1)) is None


def test_very_large_and_very_deep_trees():
    large = list(range(6000))
    deep = 1
    for _ in range(150):
        deep = [deep]
    for tree in (large, deep, tuple(range(1500))):
        for _ in range(4):
            leaves, treedef = pt.tree_flatten(tree)
            assert pt.tree_map(lambda x: x, tree) == tree
        assert compile_flatten(treedef)(tree) == leaves
        assert compile_flatten(treedef)([]) is None
        assert compile_flatten_up_to(treedef)(tree) == leaves


def test_kept_by_structure():
    one = pt.tree_structure({"p": 1, "q": 2})
    two = flatten_general({"p": 3, "q": 4}, [], None)
    assert one is not two and compile_flatten(one) is compile_flatten(two)
    assert "def flatten" in compile_flatten(one).source


@pytest.mark.parametrize("alternate", [False, True])
def test_structures_that_share_a_drawer(alternate):
    trees = [{"a": i, "b": [i] * i} for i in range(8)]
    for turn in range(24):
        tree = trees[turn % 8 if alternate else turn // 3]
        leaves, treedef = pt.tree_flatten(tree)
        assert treedef.unflatten(leaves) == tree and leaves == pt.tree_leaves(tree, is_leaf=lambda x: False)


def test_threads():
    wrong = []

    def work(seed):
        for i in range(300):
            tree = {"k": [seed, i], "n": (i,) * ((seed + i) % 5)}
            leaves, treedef = pt.tree_flatten(tree)
            if treedef.unflatten(leaves) != tree:
                wrong.append(tree)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
