"""Loops and branches made smaller: what moves out, what goes, and that the meaning stays."""

import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.core.config import config
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.ir.jaxpr import closed_over
from funcgrad.passes import simplify

X = np.linspace(-1, 1, 4)


def simplified(f, *args):
    """The simplified program, after it has given what the traced one gives."""
    closed = fg.make_jaxpr(f)(*args)
    jaxpr = closed_over(closed.jaxpr)
    flat = [np.asarray(x) for x in [*closed.consts, *fg.tree_util.tree_leaves(args)]]
    flat = [x.astype(v.aval.dtype) for x, v in zip(flat, jaxpr.invars, strict=True)]
    with config.override(check_ir=True):
        simple = simplify(jaxpr)
    for a, b in zip(evaluate_numpy(simple, (), flat), evaluate_numpy(jaxpr, (), flat), strict=True):
        np.testing.assert_array_equal(a, b)
    return simple


def loop(jaxpr, name):
    (eqn,) = [e for e in jaxpr.eqns if e.primitive.name == name]
    return eqn


def names(jaxpr):
    return [e.primitive.name for e in jaxpr.eqns]


def test_constants_of_a_scan_are_computed_before_it():
    eqn = loop(simplified(lambda x, w: lax.scan(lambda c, _: (c * fnp.exp(w), None), x, None, length=3)[0], X, X), "scan")
    assert names(eqn.params["body"]) == ["mul"] and eqn.params["consts"] == 1


def test_nothing_larger_is_computed_before_it():
    outer = lambda w: fnp.sum(w[:, None] * w[None, :])
    body = loop(simplified(lambda x, w: lax.scan(lambda c, _: (c * outer(w * c), None), x, None, length=3)[0], X, X), "scan")
    assert "reduce_sum" in names(body.params["body"])


def test_carries_that_stand_still_are_constants():
    f = lambda x, y: lax.scan(lambda c, _: ((c[0] * c[1], c[1]), None), (x, y), None, length=3)[0]
    simple = simplified(f, X, X)
    eqn = loop(simple, "scan")
    assert eqn.params["carry"] == 1 and simple.outvars[1] is simple.invars[1]
    f = lambda n, x: lax.while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1], c[2] * 2), (0, n, x))[2]
    eqn = loop(simplified(f, 3, X), "while")
    assert len(eqn.outputs) == 2 and eqn.params["cond_consts"] == 1 and eqn.params["body_consts"] == 0


def test_what_nobody_reads_goes():
    def f(x):
        step = lambda c, x: ((c[0] + x, c[1] * fnp.sin(x)), (c[0], fnp.cos(x)))
        (a, _), (ys, _) = lax.scan(step, (x[0], x[0]), x)
        return a + fnp.sum(ys)

    eqn = loop(simplified(f, X), "scan")
    assert eqn.params["carry"] == 1 and len(eqn.outputs) == 2 and names(eqn.params["body"]) == ["add"]
    f = lambda p, x: lax.cond(p, lambda x: (x + 1, fnp.sin(x)), lambda x: (x, x), x)[0]
    eqn = loop(simplified(f, True, X), "cond")
    assert [names(b) for b in eqn.params["branches"]] == [[], ["add"]]


def test_a_loop_without_readers_goes_with_its_operands():
    simple = simplified(lambda x: (lax.scan(lambda c, x: (c + x, None), 0.0, fnp.sin(x))[0], x * 2)[1], X)
    assert names(simple) == ["mul"]


def test_literals_go_inside():
    eqn = loop(simplified(lambda x: lax.scan(lambda c, x: (c * np.float64(2.0) + x, None), x[0], x)[0], X), "scan")
    assert eqn.params["consts"] == 0


def test_loops_in_loops():
    def f(x, w):
        inner = lambda c, _: (c * fnp.cos(w) + fnp.sin(w), None)
        step = lambda c, x: (lax.scan(inner, c, None, length=2)[0] + x, None)
        return lax.scan(step, x[0], x)[0]

    simple = simplified(f, X, np.float64(0.3))
    assert {"cos", "sin"} <= set(names(simple))
    body = loop(simple, "scan").params["body"]
    assert names(loop(body, "scan").params["body"]) == ["mul", "add"]


def test_errors_of_a_loop_that_may_not_run_stay_inside():
    f = lambda n, x: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + x[fnp.asarray(9)]), (0, x[0]))[1]
    assert float(fg.jit(f)(0, X)) == X[0]
