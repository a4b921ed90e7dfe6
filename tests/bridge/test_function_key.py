import functools
import math
import os
import random
import time
import types

import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.bridge.array import from_numpy
from funcgrad.bridge.function_key import function_key
from funcgrad.testing import counters

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


def test_what_is_taken_from_a_module_counts(monkeypatch):
    helpers = types.ModuleType("helpers")
    helpers.scale, helpers.inner = 2.0, types.ModuleType("helpers.inner")
    helpers.inner.table = (1, 2)
    make = lambda: lambda x: x * helpers.scale + helpers.inner.table[0]
    before = key(make())
    assert before == key(make()) is not None
    helpers.scale = 3.0
    assert key(make()) != before
    helpers.scale, helpers.inner.table = 2.0, (1, 3)
    assert key(make()) != before
    helpers.inner.table = [1]
    assert key(make()) is None


def test_the_world_outside_has_no_key():
    """The clock, the environment, generators of random numbers, imports, namespaces: another call may find another value."""

    def imports(x):
        import math as m

        return x * m.pi

    def takes(x):
        from math import pi

        return x * pi

    def counts(x):
        nonlocal calls
        calls += 1
        return x

    calls = 0
    for f in (
        lambda x: x * float(os.environ["S"]),
        lambda x: x * time.time(),
        lambda x: x * random.random(),
        lambda x: x * np.random.rand(),
        lambda x: x * np.random.default_rng(0).normal(),
        lambda x: x * globals()["SCALE"],
        lambda x: x * eval("SCALE"),
        lambda x: [x * open(name) for name in "a"],
        lambda x: (lambda: time.time())() * x,
        lambda x: getattr(os, "environ"),  # noqa: B009
        imports,
        takes,
        counts,
    ):
        assert key(f) is None, f.__code__
    assert key(lambda x: np.sin(x) + math.sin(1) + len(x.shape) + np.sum(x) * np.float32(np.pi)) is not None


def test_attributes_of_functions_count():
    def helper():
        return 0

    helper.scale = 2.0
    make = lambda: lambda x: x * helper.scale
    before = key(make())
    assert before == key(make()) is not None
    helper.scale = 3.0
    assert key(make()) != before


def test_signs_of_zero_count():
    zeros = [complex(0.0, 0.0), complex(0.0, -0.0), 0.0, -0.0, np.float32(0.0), np.float32(-0.0)]
    assert len({key(scaled(z)) for z in zeros}) == len(zeros)


def test_custom_rules_and_numba_kernels_count_by_what_they_reach():
    def smooth(slope):
        @fg.custom_jvp
        def f(x):
            return fnp.sin(x)

        f.defjvp(lambda primals, tangents: (f(primals[0]), slope * tangents[0]))
        return f

    def reversed_rule(slope):
        f = fg.custom_vjp(fnp.sin)
        f.defvjp(lambda x: (fnp.sin(x), None), lambda _, ct: (slope * ct,))
        return f

    def kernel(slope):
        return fg.numba_kernel(lambda x: x * slope, jvp=lambda primals, tangents: (primals[0], tangents[0]))

    for make in (smooth, reversed_rule, kernel):
        key = lambda f: function_key(lambda x: f(x) + 1).key
        assert key(make(2.0)) == key(make(2.0)) != key(make(3.0)), make
    for make in (smooth, reversed_rule):
        for slope in (2.0, 2.0, 3.0):
            assert float(fg.jit(fg.grad(make(slope)))(0.5)) == slope
        again = lambda f: fg.jit(lambda x: f(x))(1.0)
        again(make(4.0))
        with counters() as c:
            again(make(4.0))
        assert c.traces == 0
    f = smooth(5.0)
    loss = lambda x: f(x)
    assert float(fg.jit(fg.grad(loss))(0.5)) == 5.0
    f.defjvp(lambda primals, tangents: (primals[0], 6 * tangents[0]))
    assert float(fg.jit(fg.grad(loss))(0.5)) == 6.0
