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
        ((None, 3, None, None), "not iterable"),
        ((True, None, None, None), "static_argnums=True"),
    ],
)
def test_errors(keywords, text):
    with pytest.raises((UsageError, TypeError), match=text):
        resolve(f, *keywords)


def test_statics_are_equal_only_within_a_type():
    values = [1, 1.0, True, (1,), (1.0,), (True,), 0.0, -0.0, "1", None]
    keys = [static_key(v) for v in values]
    assert len(set(keys)) == len(values)
    for value, key in zip(values, keys, strict=True):
        assert repr(static_value(key)) == repr(value)
    assert static_key(float("nan")) == static_key(float("nan"))


def test_unhashable_statics_are_named():
    with pytest.raises(UsageError, match=r"argument n is a list(.|\n)*tuple for a list"):
        statics_key(((0, [1]),), lambda _: "n")
