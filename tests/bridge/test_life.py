"""What happens over time and side by side: memory, threads, forks, objects that go."""

import gc
import os
import threading
import tracemalloc
import warnings
import weakref

import numpy as np
import pytest

from funcgrad.api.jit import jit
from funcgrad.bridge import eager, family, runner  # noqa: F401
from funcgrad.bridge.array import from_numpy
from funcgrad.core.errors import CompileError
from funcgrad.ops._family import add, reduce_sum
from funcgrad.ops.arithmetic import mul, neg
from funcgrad.testing import counters
from funcgrad.transforms import call  # noqa: F401


def grown(work, rounds):
    """Bytes that Python's memory grew by during the second of two equal runs of work(rounds)."""
    work(rounds)
    gc.collect()
    tracemalloc.start()
    try:
        work(rounds // 10)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        work(rounds)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def test_steps_do_not_grow_memory():
    step = jit(lambda s, x: ({"w": add(s["w"], x), "b": mul(s["b"], x)}, reduce_sum(x, axes=(0,))))
    giving = jit(lambda s, x: {"w": add(s["w"], x), "b": mul(s["b"], x)}, donate_argnums=0)
    x = from_numpy(np.ones(100))

    def work(rounds):
        s = {"w": x, "b": x}
        d = {"w": from_numpy(np.ones(100)), "b": from_numpy(np.ones(100))}
        for i in range(rounds):
            s, _ = step(s, x)
            d = giving(d, x)
            if i % 100 == 0:
                step(s, np.ones(100)), np.asarray(d["w"])

    assert grown(work, 20_000) < 20_000


def test_jitted_lambdas_do_not_grow_memory():
    x = from_numpy(np.ones(3))

    def work(rounds):
        for i in range(rounds):
            jit(lambda v: add(v, v))(x)
            if i % 50 == 0:  # each of these is a program of its own
                jit(lambda v, i=i: add(v, np.float64(i)))(x)

    work(50 * (family.FAMILIES + 20))  # fills the bounded tables
    with counters() as c:
        work(1000)
    assert c.traces <= 20
    assert grown(work, 2_500) < 500_000
    assert len(family._by_value) <= family.FAMILIES


def test_a_function_that_goes_takes_its_programs_and_arrays_along():
    table = [1]  # may change, so that the function is equal to itself only

    def used():
        w = from_numpy(np.ones(3))
        f = jit(lambda x: mul(x, w) if table else x)
        for _ in range(3):
            f(w)
        staged = next(iter(f._dispatcher.family().traces.values()))
        return [weakref.ref(o) for o in (staged, staged.jaxpr, w, f, f._dispatcher)]

    refs = used()
    gc.collect()
    assert [r() for r in refs] == [None] * len(refs)


def test_a_shared_trace_does_not_hold_the_captured_array():
    def make(w):
        return jit(lambda x: mul(x, w))

    w = from_numpy(np.ones(3))
    for _ in range(3):
        make(w)(w)
    gone = weakref.ref(w)
    del w
    gc.collect()
    assert gone() is None


def test_eight_threads_call_one_function_from_the_first_call_on():
    f = jit(lambda x, y: (add(x, y), reduce_sum(mul(x, y), axes=(0,))))
    start, wrong = threading.Barrier(8), []

    def work(number):
        x = from_numpy(np.full(50 + number % 2, float(number)))
        start.wait()
        for _ in range(500):
            total, dot = f(x, x)
            if (np.asarray(total) != 2 * number).any() or float(np.asarray(dot)) != number**2 * len(np.asarray(x)):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and f.cache_info().traces == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_forked_child_computes():
    f = jit(lambda x: reduce_sum(mul(x, x), axes=(0,)))
    x = from_numpy(np.arange(300_000.0))
    want = float(np.asarray(f(x)))
    f(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads in the parent
        child = os.fork()
    if child == 0:
        status = 1
        try:
            right = float(np.asarray(f(x))) == want
            new = jit(lambda x: reduce_sum(neg(x), axes=(0,)))(x)
            status = 0 if right and float(np.asarray(new)) == -np.arange(300_000.0).sum() else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_failed_compile_is_interpreted_with_one_warning(monkeypatch):
    def fail(program):
        raise CompileError("a kernel did not compile: no such word")

    monkeypatch.setattr(runner.machine, "load", fail)
    f = jit(lambda x, y: (add(x, y), reduce_sum(x, axes=(0,)), x), donate_argnums=1)
    x = from_numpy(np.arange(4.0))
    with pytest.warns(RuntimeWarning, match="could not be compiled(.|\n)*CompileError"):
        f(x, from_numpy(np.ones(4)))
    for _ in range(3):
        y = from_numpy(np.ones(4))
        out = f(x, y)
        np.testing.assert_array_equal(np.asarray(out[0]), np.arange(4.0) + 1)
        assert float(np.asarray(out[1])) == 6 and out[2] is x and y.is_deleted()


def test_a_fault_in_the_compiler_is_no_failure_of_the_program(monkeypatch):
    def fail(jaxpr, donated):
        raise KeyError(5)

    monkeypatch.setattr(runner, "prepare", fail)
    f = jit(lambda x, y: (add(x, y), x, y, 3.0), donate_argnums=1)
    x = from_numpy(np.arange(4.0))
    with pytest.warns(RuntimeWarning, match="could not be made(.|\n)*KeyError: 5"):
        f(x, from_numpy(np.ones(4)))
    for _ in range(3):
        y = from_numpy(np.ones(4))
        out = f(x, y)
        np.testing.assert_array_equal(np.asarray(out[0]), np.arange(4.0) + 1)
        np.testing.assert_array_equal(np.asarray(out[2]), np.ones(4))
        assert out[1] is x and y.is_deleted() and float(np.asarray(out[3])) == 3
