"""Each pass alone: what it must change, what it must leave, and that the meaning stays to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad.bridge.eager  # noqa: F401  (the floor of the interpreter stack)
from funcgrad.api.autodiff import grad
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import shaped
from funcgrad.core.config import config
from funcgrad.core.errors import IRError
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Literal, Var
from funcgrad.ir.loop_rules import Inline
from funcgrad.ir.primitive import Primitive
from funcgrad.ops.convert import convert_element_type
from funcgrad.ops.elementwise import add, div, exp, integer_pow, max_, mul, neg, select_n, sub
from funcgrad.ops.reduce import reduce_sum
from funcgrad.ops.shape import broadcast_in_dim, iota, reshape, rev, transpose
from funcgrad.passes import STEPS, simplify
from funcgrad.passes.cse import share
from funcgrad.passes.dce import prune
from funcgrad.passes.fold import fold
from funcgrad.passes.identities import reduce_identities
from funcgrad.passes.inline import inline
from funcgrad.trace.stage import stage
from funcgrad.transforms.call import jit

F64 = np.dtype(np.float64)
one, zero, minus_zero, two = (np.float64(x) for x in (1.0, 0.0, -0.0, 2.0))


def staged(fun, *shapes, dtype=F64):
    return stage(fun, [shaped(s, dtype) for s in shapes])[0]


def names(jaxpr):
    return [e.primitive.name for e in jaxpr.eqns]


SPECIAL = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 5e-324])


def same_bits(before, after, *xs):
    with np.errstate(all="ignore"):
        for a, b in zip(evaluate_numpy(before, [], xs), evaluate_numpy(after, [], xs), strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


# --- no-ops ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: mul(x, one),
        lambda x: mul(one, x),
        lambda x: div(x, one),
        lambda x: sub(x, zero),
        lambda x: add(x, minus_zero),
        lambda x: neg(neg(x)),
        lambda x: integer_pow(x, y=1),
        lambda x: reshape(reshape(x, shape=(2, 4)), shape=(8,)),
        lambda x: rev(rev(x, dimensions=(0,)), dimensions=(0,)),
        lambda x: transpose(x, permutation=(0,)),
        lambda x: broadcast_in_dim(x, shape=(8,), dims=(0,)),
        lambda x: select_n(np.bool_(True), exp(x), x),
        lambda x: mul(broadcast_in_dim(one, shape=(8,), dims=()), x),
        lambda x: div(x, reshape(broadcast_in_dim(one, shape=(2, 4), dims=()), shape=(8,))),
        lambda x: add(x, broadcast_in_dim(minus_zero, shape=(8,), dims=())),
    ],
)  # fmt: skip
def test_no_ops_vanish(fun):
    before = staged(lambda x: [fun(x)], (8,))
    after = prune(reduce_identities(before))
    assert names(after) == [] and after.outvars == after.invars
    same_bits(before, after, SPECIAL)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: add(x, zero),  # turns -0 into 0
        lambda x: sub(x, minus_zero),
        lambda x: mul(x, zero),  # NaN stays NaN
        lambda x: sub(x, x),
        lambda x: div(x, x),
        lambda x: sub(add(x, two), two),  # rounds
        lambda x: mul(x, np.float64(-1)),
        lambda x: add(x, broadcast_in_dim(zero, shape=(8,), dims=())),
    ],
)
def test_what_is_not_exact_stays(fun):
    before = staged(lambda x: [fun(x)], (8,))
    assert names(reduce_identities(before)) == names(before)


def test_the_gradient_of_a_sum_multiplies_by_no_ones():
    jaxpr = staged(lambda x: [grad(lambda y: reduce_sum(exp(y), axes=(0,)))(x)], (8,))
    after = simplify(jaxpr)
    assert names(after) == ["exp"]
    same_bits(jaxpr, after, SPECIAL)


def test_a_product_of_ones_keeps_its_shape():
    ones = lambda: broadcast_in_dim(one, shape=(8,), dims=())
    after = simplify(staged(lambda x: [mul(ones(), ones()), x], (8,)))
    assert after.outvars[0].aval.shape == (8,)


def test_conversions_there_and_back():
    narrow, wide = np.dtype(np.float32), F64

    def through(a, b):
        return lambda x: [
            convert_element_type(convert_element_type(x, new_dtype=a, weak_type=False), new_dtype=b, weak_type=False)
        ]

    assert names(simplify(staged(through(wide, narrow), (3,), dtype=narrow))) == []
    assert len(simplify(staged(through(narrow, wide), (3,), dtype=wide)).eqns) == 2  # rounds
    assert len(simplify(staged(through(np.dtype(np.int64), narrow), (3,), dtype=narrow)).eqns) == 2  # truncates


def test_structural_pairs_become_one():
    before = staged(lambda x: [transpose(transpose(x, permutation=(1, 2, 0)), permutation=(1, 2, 0))], (2, 3, 4))
    after = simplify(before)
    assert names(after) == ["transpose"] and after.eqns[0].params["permutation"] == (2, 0, 1)
    same_bits(before, after, np.arange(24.0).reshape(2, 3, 4))
    before = staged(lambda x: [reshape(reshape(x, shape=(4, 6)), shape=(24,))], (2, 3, 4))
    assert names(simplify(before)) == ["reshape"]


# --- constants ------------------------------------------------------------------------------------------------


def test_scalars_of_literals_are_computed_but_inputs_never():
    before = staged(lambda x: [mul(x, sub(one, exp(two)))], ())
    after = simplify(before)
    assert names(after) == ["mul"] and after.eqns[0].inputs[1].value == 1 - np.exp(2.0)
    same_bits(before, after, np.array(3.0))


def test_arrays_are_not_folded():
    jaxpr = staged(lambda x: [add(x, broadcast_in_dim(two, shape=(3,), dims=())), iota(dtype=F64, shape=(3,), dimension=0)], (3,))
    assert names(fold(jaxpr)) == names(jaxpr)


def test_an_output_may_be_a_literal():
    after = simplify(staged(lambda x: [add(one, two), x], (3,)))
    assert after.eqns == () and isinstance(after.outvars[0], Literal) and after.outvars[0].value == 3


# --- sharing and dead code ------------------------------------------------------------------------------------


def test_equal_equations_are_one():
    jaxpr = staged(lambda x, y: [add(exp(mul(x, y)), exp(mul(x, y))), mul(y, x)], (3,), (3,))
    after = prune(share(jaxpr))
    assert names(after) == ["mul", "exp", "add", "mul"]  # operands are not put in another order


def test_literals_that_only_compare_equal_are_not_shared():
    jaxpr = staged(lambda x: [max_(x, zero), max_(x, minus_zero)], (3,))
    assert len(share(jaxpr).eqns) == 2
    jaxpr = staged(lambda x: [max_(x, np.float64(np.nan)), max_(x, np.float64(np.nan))], (3,))
    assert len(share(jaxpr).eqns) == 1


def test_dead_equations_vanish_and_inputs_stay():
    jaxpr = staged(lambda x, y: [(exp(y), add(x, x))[1]], (3,), (3,))
    after = prune(jaxpr)
    assert names(after) == ["add"] and after.invars == jaxpr.invars


def test_effects_stay():
    p = Primitive(
        "tell", abstract=lambda x: x, numpy=lambda x: x, jvp="none: a test", transpose="none: a test", batch="none: a test",
        loop=None, dtypes=dt.ANY, samples="none: a test", effectful=True,
    )  # fmt: skip
    aval = shaped((3,), F64)
    x, y, z = Var(aval), Var(aval), Var(aval)
    jaxpr = Jaxpr((), (x,), (Eqn(p, (x,), (y,), {}), Eqn(p, (x,), (z,), {})), (x,))
    assert len(simplify(jaxpr).eqns) == 2


# --- calls ----------------------------------------------------------------------------------------------------


def test_calls_are_put_in_place_each_with_variables_of_its_own():
    inner = staged(lambda x, y: [mul(exp(x), y), x], (3,), (3,))

    def fun(x, y):
        a, b = jit(x, y, jaxpr=inner, name="inner")
        c, d = jit(a, b, jaxpr=inner, name="inner")
        return [c, d, b]

    before = staged(fun, (3,), (3,))
    after = inline(before)
    assert names(after) == ["exp", "mul", "exp", "mul"]
    bound = [v for e in after.eqns for v in e.outputs]
    assert len(set(bound)) == len(bound)
    same_bits(before, after, np.arange(3.0), np.ones(3))


def test_calls_within_calls():
    inner = staged(lambda x: [exp(x)], (3,))
    outer = staged(lambda x: [neg(jit(x, jaxpr=inner, name="inner")[0])], (3,))
    before = staged(lambda x: [jit(x, jaxpr=outer, name="outer")[0]], (3,))
    with config.override(check_ir=True):
        assert names(simplify(before)) == ["exp", "neg"]


def test_operators_of_operators_are_traced():
    p = Primitive(
        "shifted", abstract=lambda x, y: x, numpy=lambda x, y: x * 2 + y, jvp="none: a test", transpose="none: a test",
        batch="none: a test", loop=Inline(lambda x, y: add(mul(x, two), y)), dtypes=dt.ANY, samples="none: a test",
    )  # fmt: skip
    aval = shaped((), F64)
    x, y = Var(aval), Var(aval)
    jaxpr = Jaxpr((), (x,), (Eqn(p, (x, Literal(one, aval)), (y,), {}),), (y,))
    after = inline(jaxpr)
    assert names(after) == ["mul", "add"] and isinstance(after.eqns[1].inputs[1], Literal)
    same_bits(jaxpr, after, np.array(3.0))


def test_a_called_program_holds_no_constants():
    inner = staged(lambda x: [exp(x)], (3,))
    jaxpr = staged(lambda x: [jit(x, jaxpr=inner, name="inner")[0]], (3,))
    (eqn,) = jaxpr.eqns
    closed = ClosedJaxpr(Jaxpr(inner.invars, (), inner.eqns, inner.outvars), [np.ones(3)])
    with pytest.raises(IRError, match="holds 1 constants"):
        inline(jaxpr.replace(eqns=(eqn._replace(params={"jaxpr": closed, "name": "inner"}),)))


# --- all of them ----------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=25))
def test_random_programs_keep_their_bits(choices):
    ops = [add, sub, mul, max_]
    literals = [one, zero, minus_zero, two]

    def fun(x, y):
        values = [x, y]
        for kind, a, b in choices:
            u, v = values[-1 - a % len(values)], values[-1 - b % len(values)]
            if kind < 4:
                values.append(ops[kind](u, v))
            elif kind < 8:
                values.append(ops[kind - 4](u, literals[b % 4]))
            elif kind == 8:
                values.append(rev(neg(u), dimensions=(0,)))
            else:
                values.append(broadcast_in_dim(reduce_sum(u, axes=(0,)), shape=(8,), dims=()))
        return [values[-1], values[-1 - choices[0][1] % len(values)]]

    before = staged(fun, (8,), (8,))
    jaxpr = before
    for _, step in STEPS:
        jaxpr = step(jaxpr)
        same_bits(before, jaxpr, SPECIAL, SPECIAL[::-1].copy())
    assert len(jaxpr.eqns) <= len(before.eqns)
