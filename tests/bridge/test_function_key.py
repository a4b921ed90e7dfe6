import functools
import math

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.bridge.function_key import function_key

SCALE = 2.0
TABLE = [1, 2]


def key(f):
    found = function_key(f)
    return None if found is None else found.key


def scaled(s):
    return lambda x: x * s


def test_equal_closures_are_equal():
    assert key(scaled(2)) == key(scaled(2)) is not None
    assert len({key(scaled(s)) for s in (2, 2.0, True, "2", (2,), (2.0,), np.float32(2), None)}) == 8
    assert key(scaled(math.nan)) == key(scaled(math.nan))


def test_arrays_count_by_identity():
    a, b = from_numpy(np.ones(2)), from_numpy(np.ones(2))
    assert key(scaled(a)) == key(scaled(a)) != key(scaled(b))
    assert function_key(scaled(a)).arrays[0] is a


def test_what_may_change_has_no_key():
    for value in ([1], {}, np.ones(2), object(), {1}, [].append, iter([]).__next__):
        assert key(scaled(value)) is None
    assert key(lambda x: TABLE) is None


def test_globals_that_the_code_reads_count():
    make = lambda: lambda x: x * SCALE
    before = key(make())
    globals()["SCALE"] = 3.0
    try:
        assert key(make()) != before
    finally:
        globals()["SCALE"] = 2.0
    assert key(make()) == before


def test_defaults_partials_helpers_and_recursion():
    assert key(lambda x, n=2: x) != key(lambda x, n=3: x)
    make = lambda n: functools.partial(scaled(1), n, y=n)
    assert key(make(1)) == key(make(1)) != key(make(2))

    def outer():
        def helper(n):
            return helper(n - 1) if n else 0

        return lambda x: helper(x) + np.sum(x) + math.pi

    assert key(outer()) == key(outer()) is not None


def test_user_classes_have_no_key():
    class Config:
        rate = 0.1

    assert key(lambda x: x * Config.rate) is None
