import dataclasses
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from funcgrad.bridge.arguments import resolve, static_key, static_value, statics_key
from funcgrad.errors import UsageError


def f(a, b, c=3, *, d=4):
    return a


def test_numbers_and_names_are_inferred_from_each_other():
    assert resolve(f, 1, None, None, None).static_names == {"b"}
    assert resolve(f, None, ("c", "d"), None, None).static_nums == (2,)
    assert resolve(f, -1, None, None, None).static_nums == (2,)
    both = resolve(f, 0, "d", (1,), None)
    assert (both.static_nums, both.static_names) == ((0,), {"d"})
    assert (both.donate_nums, both.donate_names) == ((1,), {"b"})


def test_split_and_join_are_inverse():
    roles = resolve(f, (0, 2), None, None, None)
    for args, kwargs in [((1, 2, 3), {}), ((1, 2), {"c": 5}), ((1,), {"b": 2, "d": 3}), ((), {"a": 1, "b": 2})]:
        traced, named, statics = roles.split(args, kwargs)
        again = roles.join(traced, named, statics)
        assert (tuple(again[0]), again[1]) == (args, kwargs)


def test_variable_arguments_count_from_the_end_of_each_call():
    roles = resolve(lambda *xs: xs, -1, None, None, None)
    assert roles.split((1, 2, 3), {})[2] == ((2, 3),)
    assert roles.split((1,), {})[2] == ((0, 1),)


def test_donated_numbers_skip_the_static_ones():
    roles = resolve(f, 0, None, (1, 2), None)
    _, _, statics = roles.split((1, 2, 3), {})
    assert roles.donated(3, statics)[0] == {0, 1}


@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        ((5, None, None, None), "static_argnums=5"),
        ((None, "e", None, None), "no 'e'"),
        ((0, None, 0, None), "both static and donated"),
        (("a", None, None, None), "static_argnums='a'"),
        ((None, 3, None, None), "static_argnames=3"),
        ((True, None, None, None), "static_argnums=True"),
    ],
)
def test_errors(keywords, text):
    with pytest.raises((UsageError, TypeError), match=text):
        resolve(f, *keywords)


@dataclasses.dataclass(frozen=True)
class Settings:
    rate: Any
    name: str


def test_statics_are_equal_only_within_a_type():
    pair = namedtuple("pair", "a b")
    values = [1, 1.0, True, (1,), (1.0,), (True,), 0.0, -0.0, "1", None]
    values += [complex(0.0, 0.0), complex(0.0, -0.0), complex(-0.0, 0.0)]
    values += [np.float32(0), np.float32(-0.0), np.float64(0), np.int8(1), np.int16(1), np.complex64(complex(0, -0.0))]
    values += [pair(1, 2), pair(1.0, 2), pair(True, 2), pair((0.0,), 2), pair((-0.0,), 2), frozenset({1}), frozenset({True})]
    values += [Settings(1, "a"), Settings(1.0, "a"), Settings(True, "a"), Settings(pair(1, 2), "a"), Settings(pair(1, 2.0), "a")]
    keys = [static_key(v) for v in values]
    assert len(set(keys)) == len(values)
    for value, key in zip(values, keys, strict=True):
        assert repr(static_value(key)) == repr(value)
    assert static_key(float("nan")) == static_key(float("nan"))


def test_a_static_of_a_class_with_its_own_equality_counts_as_it_says():
    @dataclasses.dataclass(frozen=True)
    class Loose:
        name: str
        notes: list = dataclasses.field(default_factory=list)

        def __hash__(self):
            return hash(self.name)

    one, two = Loose("a", [1]), Loose("a", [2])
    assert static_key(one) == static_key(Loose("a", [1])) != static_key(two)
    assert static_value(static_key(one)) is one


def test_unhashable_statics_are_named():
    with pytest.raises(UsageError, match=r"argument n is a list(.|\n)*tuple for a list"):
        statics_key(((0, [1]),), lambda _: "n")
