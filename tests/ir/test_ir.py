"""The IR: immutable programs, the checker, the notation."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.core.aval import shaped
from funcgrad.core.dtypes import float32
from funcgrad.core.errors import IRError
from funcgrad.ir.check import check
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var
from funcgrad.ir.primitive import REGISTRY

V = shaped((3,), float32)


def test_immutable():
    j = Jaxpr((), (a := Var(V),), (), (a,))
    with pytest.raises(AttributeError, match="immutable"):
        j.eqns = ()
    assert j.replace(outvars=(a, a)).outvars == (a, a)


def test_checker_refuses_ill_formed_programs():
    sin, add = REGISTRY["sin"], REGISTRY["add"]
    a, b, c = Var(V), Var(V), Var(V)
    check(Jaxpr((), (a,), (Eqn(sin, (a,), (b,), {}),), (b,)))
    for bad, why in [
        (Jaxpr((), (a, a), (), (a,)), "bound twice"),
        (Jaxpr((), (a,), (Eqn(sin, (b,), (c,), {}),), (c,)), "before it is bound"),
        (Jaxpr((), (a,), (Eqn(sin, (a,), (a,), {}),), (a,)), "bound twice"),
        (Jaxpr((), (a,), (), (b,)), "never bound"),
        (Jaxpr((), (a,), (Eqn(sin, (a,), (Var(shaped((2,), float32)),), {}),), ()), "its rule gives"),
        (Jaxpr((), (a,), (Eqn(add, (a, Literal(np.ones(3, np.float32), V)), (b,), {}),), (b,)), "scalar"),
    ]:
        with pytest.raises(IRError, match=why):
            check(bad)


def test_evaluation_is_numpy():
    closed = fg.make_jaxpr(lambda x: (fnp.sin(x) * 2.0, fnp.sum(x)))(np.ones(3))
    y, s = evaluate_numpy(closed.jaxpr, closed.consts, [np.arange(3.0)])
    np.testing.assert_allclose(y, 2 * np.sin(np.arange(3.0)))
    assert s == 3.0


def test_every_primitive_has_its_rules():
    assert len(REGISTRY) >= 85
    for p in REGISTRY.values():
        assert callable(p.abstract) and callable(p.numpy), p
        for rule in (p.jvp, p.transpose, p.batch):
            assert callable(rule) or len(rule) > 8, p
        assert p.loop is not None and p.samples is not None, p
