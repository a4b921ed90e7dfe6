"""The two faces have the promised names and do the same thing."""

import dataclasses
import inspect

import pytest

import funcgrad.tree as tree
import funcgrad.tree_util as tree_util

SIGNATURES = {
    "all_leaves": "iterable is_leaf",
    "flatten_one_level": "tree",
    "flatten_one_level_with_keys": "tree",
    "is_tree_node": "typ",
    "keystr": "keys simple separator",
    "register_dataclass": "nodetype data_fields meta_fields drop_fields",
    "register_pytree_node": "nodetype flatten_func unflatten_func flatten_with_keys_func",
    "register_pytree_node_class": "cls",
    "register_pytree_with_keys": "nodetype flatten_with_keys unflatten_func flatten_func",
    "register_pytree_with_keys_class": "cls",
    "register_static": "cls",
    "tree_all": "tree is_leaf",
    "tree_broadcast": "prefix_tree full_tree is_leaf",
    "tree_flatten": "tree is_leaf",
    "tree_flatten_with_path": "tree is_leaf is_leaf_takes_path",
    "tree_leaves": "tree is_leaf",
    "tree_leaves_with_path": "tree is_leaf is_leaf_takes_path",
    "tree_map": "f tree rest is_leaf",
    "tree_map_with_path": "f tree rest is_leaf is_leaf_takes_path",
    "tree_reduce": "function tree initializer is_leaf",
    "tree_reduce_associative": "operation tree identity is_leaf",
    "tree_structure": "tree is_leaf",
    "tree_transpose": "outer_treedef inner_treedef pytree_to_transpose",
    "tree_unflatten": "treedef leaves",
    "treedef_children": "treedef",
    "treedef_is_leaf": "treedef",
    "treedef_tuple": "treedefs",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    function = getattr(tree_util, name)
    assert list(inspect.signature(function).parameters) == SIGNATURES[name].split()
    assert function.__doc__
    short = name.removeprefix("tree_")
    if name.startswith("tree_"):
        assert getattr(tree, short) is function and short in tree.__all__


def test_other_names():
    for name in "DictKey FlattenedIndexKey GetAttrKey KeyEntry KeyPath Partial PyTreeDef SequenceKey default_registry".split():
        assert name in tree_util.__all__ and hasattr(tree_util, name)


def test_static_field():
    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Model:
        w: float
        size: int = tree.static(default=3, metadata={"unit": "m"})

    assert tree.leaves(Model(1.0)) == [1.0]
    assert tree.structure(Model(1.0, 3)) != tree.structure(Model(1.0, 4))
    assert dataclasses.fields(Model)[1].metadata["unit"] == "m"


def test_registry():
    registry = tree_util.default_registry
    assert registry.flatten([1, 2])[0] == [1, 2]
    assert registry.flatten_one_level(1) is None and registry.flatten_one_level((1, 2)) == ([1, 2], None)
