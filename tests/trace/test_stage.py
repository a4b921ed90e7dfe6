"""Staging: what is recorded, what leaks, what is known."""

import weakref

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.core.errors import UnexpectedTracerError
from funcgrad.ir.check import check


def test_a_leaked_tracer_is_named():
    kept = []

    @fg.jit
    def f(x):
        kept.append(x * 2)
        return x

    f(1.0)
    with pytest.raises(UnexpectedTracerError, match=r"(?s)test_stage\.py:\d+.*return the value"):
        kept[0] + 1
    with pytest.raises(UnexpectedTracerError):
        fg.jit(lambda y: y + kept[0])(1.0)


def test_programs_are_well_formed():
    def f(x):
        return fg.grad(lambda y: fnp.sum(fnp.where(y > 0, fnp.log(y), y * x)))(x), x[0]

    check(fg.make_jaxpr(f)(np.ones(3)).jaxpr)
    check(fg.make_jaxpr(fg.vmap(f))(np.ones((2, 3))).jaxpr)
    check(fg.make_jaxpr(fg.jit(fg.hessian(lambda x: fnp.sum(fnp.sin(x)))))(np.ones(3)).jaxpr)


def test_each_thread_has_its_own_stack():
    import threading

    results = []

    def f(x):
        t = threading.Thread(target=lambda: results.append(float(fnp.sin(1.0) + 1)))
        t.start()
        t.join()
        return x * 2

    assert float(fg.jit(f)(2.0)) == 4.0
    assert results == [pytest.approx(np.sin(1.0) + 1, rel=1e-6)]


def test_an_exception_leaves_the_stack_as_it_was():
    def bad(x):
        raise KeyError("mine")

    for transform in (fg.jit, fg.grad, fg.vmap, fg.make_jaxpr):
        with pytest.raises(KeyError, match="mine"):
            transform(bad)(np.ones(2))
        assert float(fnp.sin(0.0)) == 0.0


def test_what_print_shows():
    seen = []

    def f(x):
        seen.append((repr(x), str(x), f"{x}", f"{x.sum():.2f}"))
        return (x * x).sum()

    x = np.array([1.0, 2.0])
    fg.grad(f)(x)  # there are numbers
    fg.vmap(f)(x[None])
    fg.jit(f)(x)
    fg.jit(fg.grad(f))(x)
    number = "Traced(Array([1., 2.], dtype=float64))", "[1. 2.]", "[1. 2.]", "3.00"
    assert seen[0] == number
    for known in seen[1:]:
        assert known[0] == known[1] == known[2] == "Traced(f64[2])" and known[3].startswith("Traced(f64[]")


def test_leaks_are_found_where_they_happen():
    kept = []

    def f(x):
        y = x * 2
        kept.append(y)
        return y + 1

    gone = weakref.proxy(type("Gone", (), {})())
    assert gone is not None  # a dead proxy among the collector's objects, as libraries leave them
    with fg.checking_leaks():
        assert float(fg.jit(lambda x: fg.grad(lambda y: fnp.sin(y) * y)(x) + x)(0.0)) == 0.0
        with pytest.raises(UnexpectedTracerError, match=r"(?s)test_stage\.py:\d+"):
            fg.jit(f)(1.0)
