"""Loops and branches as programs: what lies where, what is hoisted, and that the interpreter gives what NumPy gives."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.core.config import config
from funcgrad.core.errors import IRError
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.ir.jaxpr import closed_over
from funcgrad.loops.checks import check_program
from funcgrad.loops.compile import compile_program
from funcgrad.loops.interpreter import run
from funcgrad.loops.program import CopyStep, Gemm, KernelStep, LoopStep, Part, every_step, hosted
from funcgrad.passes import simplify


def traced(f, *args):
    """(the program's Jaxpr, its input arrays)"""
    closed = fg.make_jaxpr(f)(*args)
    jaxpr = closed_over(closed.jaxpr)
    flat = [*closed.consts, *fg.tree_util.tree_leaves(args)]
    return jaxpr, [np.asarray(x).astype(v.aval.dtype) for x, v in zip(flat, jaxpr.invars, strict=True)]


def program_of(f, *args):
    """The program, after the interpreter has given what NumPy gives."""
    jaxpr, arrays = traced(f, *args)
    with config.override(check_ir=True):
        program = compile_program(simplify(jaxpr))
    for x, y in zip(run(program, arrays), evaluate_numpy(jaxpr, (), arrays), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)
    return program


def only(program, kind):
    (step,) = [s for s in every_step(program) if isinstance(s, kind)]
    return step


BIG = np.linspace(0, 1, 30 * 30).reshape(30, 30)  # too large for a kernel that holds it in registers


def test_what_does_not_change_is_outside():
    def f(x, w):
        return lax.scan(lambda c, _: (fnp.tanh(c @ (w @ w)), None), x, None, length=3)[0]

    program = program_of(f, BIG, BIG)
    assert [type(s) for s in program.steps] == [Gemm, CopyStep, LoopStep]
    assert sum(isinstance(s, Gemm) for s in only(program, LoopStep).body.program.steps) == 1


def test_a_carry_in_place_and_one_that_takes_turns():
    def loop_of(step):
        return only(program_of(lambda x: lax.scan(lambda c, _: (step(c), None), x, None, length=3)[0], BIG), LoopStep)

    assert not loop_of(lambda c: fnp.sin(c) * fnp.sum(c * c)).swaps  # the sum is there before anything is written
    assert loop_of(lambda c: fnp.sin(c) + c.T).swaps == ((0, 1),)
    assert hosted(loop_of(lambda c: fnp.sort(c)).body.program)


def test_slices_are_read_and_written_where_they_are():
    def f(xs):
        return lax.scan(lambda c, x: (c, fnp.cumsum(x @ x, axis=0)), 0.0, xs, reverse=True)[1]

    program = program_of(f, np.ones((4, 30, 30)))
    assert [type(s) for s in program.steps] == [LoopStep]
    loop = only(program, LoopStep)
    assert [slot.stride for slot in loop.slots] == [-7200, -7200]
    assert loop.slots[0].start.offset == 3 * 7200


@pytest.mark.parametrize("update", ["set", "set from itself", "window", "branch"])
def test_histories_are_written_in_place(update):
    def step(h, i):
        if update == "set":
            return h.at[i].set(fnp.float64(i)), None
        if update == "set from itself":
            return h.at[i].set(h[i - 1] * 0.5 + 1), h[i - 1]
        if update == "window":
            return lax.dynamic_update_slice(h, h[i - 1][None] + 1, (i,)), None
        return lax.cond(i % 2 == 0, lambda h: h.at[i].set(h[i - 1] + 1), lambda h: h, h), None

    program = program_of(lambda h: lax.scan(step, h, fnp.arange(1, 6))[0], np.zeros(1000))
    loop = only(program, LoopStep)
    assert not loop.swaps
    whole = [s for s in every_step(loop.body.program) if isinstance(s, KernelStep) and 1000 in s.dims[:2] and s.extent == 1000]
    assert not whole


def test_what_nobody_reads_is_gone():
    def f(x):
        step = lambda c, x: ((c[0] @ c[0] / 30, fnp.cumsum(c[1]), c[2]), (c[1], x * 2))
        return lax.scan(step, (x, x[0], x[1]), fnp.stack([x, x]))[0][0]

    body = only(program_of(f, BIG), LoopStep).body.program
    assert len(body.inputs) == 1 and len(body.outputs) == 1


def test_effects_stay_although_nobody_reads():
    seen = []
    f = lambda x: lax.scan(lambda c, x: (fg.debug.callback(lambda v: seen.append(int(v)), x), (c, None))[1], 0, x)[0]
    fg.jit(f)(np.arange(3))
    assert seen == [0, 1, 2]


def test_one_branch_is_no_branch():
    program = program_of(lambda i, x: lax.switch(i, [lambda x: x + 1], x), 3, BIG)
    assert [type(s) for s in program.steps] == [KernelStep]


def test_donated_carries_stay_where_they_are():
    f = fg.jit(lambda h: lax.fori_loop(0, 5, lambda i, h: h.at[i].set(i), h), donate_argnums=0)
    h = fnp.zeros(100_000)
    np.testing.assert_array_equal(f(h)[:6], [0, 1, 2, 3, 4, 0])
    f = fg.jit(lambda p, h: lax.cond(p, lambda h: h.at[0].add(1), lambda h: h, h), donate_argnums=1)
    for p in (True, False):
        np.testing.assert_array_equal(f(p, fnp.zeros(100))[:2], [p, 0])


def test_illegal_forms_are_found():
    program = program_of(lambda x: lax.scan(lambda c, x: (c @ x, None), x[0], x)[0], np.stack([BIG, BIG]))
    loop = only(program, LoopStep)
    with pytest.raises(IRError, match="no steps"):
        check_program(_with(program, loop, length=0))
    with pytest.raises(IRError, match="reaches"):
        check_program(_with(program, loop, length=9))
    with pytest.raises(IRError, match="lies in its input"):
        part = Part(loop.body.program, loop.body.inputs, loop.body.inputs[:1], loop.body.arena)
        check_program(_with(program, loop, body=part))


def _with(program, step, **changes):
    return replace(program, steps=tuple([replace(s, **changes) if s is step else s for s in program.steps]))


# --- random programs --------------------------------------------------------------------------------------------------

N = 3  # extent of all vectors


def _piece(draw, depth):
    """A function of a vector and an index, in fnp or NumPy, with control flow of some kind."""
    kind = draw(st.integers(-1, 7 if depth else 3))
    k = draw(st.sampled_from([0.5, -0.25, 1.0]))
    if kind == -1:
        return lambda np_, x, i: np_.sort(x * k + np.arange(N) * 1e-3)  # a host step
    if kind == 0:
        return lambda np_, x, i: np_.tanh(x * k + i)
    if kind == 1:
        return lambda np_, x, i: x[::-1] * k + np_.sum(x) / 7
    if kind == 2:
        m = np.linspace(-1, 1, N * N).reshape(N, N)
        return lambda np_, x, i: np_.tanh(m @ x) + k
    if kind == 3:
        at = draw(st.integers(0, N - 1))
        return lambda np_, x, i: x.at[at].set(x[(at + 1) % N] * k) if np_ is fnp else _put(x, at, x[(at + 1) % N] * k)
    a, b = _piece(draw, depth - 1), _piece(draw, depth - 1)
    if kind == 4:
        return lambda np_, x, i: a(np_, b(np_, x, i), i)
    if kind == 5:
        low = draw(st.floats(-1, 1))
        test = lambda x, i: x[0] + i > low
        return lambda np_, x, i: (
            lax.cond(test(x, i), lambda x: a(fnp, x, i), lambda x: b(fnp, x, i), x)
            if np_ is fnp
            else (a if test(x, i) else b)(np, x, i)
        )
    length = draw(st.integers(0, 4))
    if kind == 6:
        reverse = draw(st.booleans())

        def scan(np_, x, i):
            step = lambda c, j: (a(np_, c, i + j), b(np_, c, j))
            if np_ is fnp:
                c, ys = lax.scan(step, x, np.arange(float(length)), reverse=reverse)
                return c + fnp.sum(ys, axis=0)
            ys = []
            for j in range(length - 1, -1, -1) if reverse else range(length):
                x, y = step(x, float(j))
                ys.append(y)
            return x + np.sum(np.array(ys).reshape(-1, N), axis=0)

        return scan

    def turns(np_, x, i):
        goes_on = lambda n, x: (n < length) & (x[0] < 3) if np_ is fnp else n < length and x[0] < 3
        if np_ is fnp:
            return lax.while_loop(lambda c: goes_on(*c), lambda c: (c[0] + 1, a(fnp, c[1], i)), (0, x), max_steps=5)[1]
        n = 0
        while goes_on(n, x):
            n, x = n + 1, a(np, x, i)
        return x

    return turns


def _put(x, at, value):
    x = x.copy()
    x[at] = value
    return x


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_random_control_flow(data):
    """Eager, compiled and interpreted are unrolled Python; so is the derivative."""
    draw = data.draw
    piece = _piece(draw, 3)
    x = np.array(draw(st.lists(st.floats(-2, 2), min_size=N, max_size=N)))
    f = lambda x: piece(fnp, x, 0.25)
    want = piece(np, x, 0.25)
    np.testing.assert_allclose(f(fnp.asarray(x)), want, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fg.jit(f)(x), want, rtol=1e-9, atol=1e-9)
    program_of(f, x)
    t = np.array([0.5, -1.0, 0.25])
    out, tangent = fg.jit(lambda x, t: fg.jvp(f, (x,), (t,)))(x, t)
    np.testing.assert_allclose(out, want, rtol=1e-9, atol=1e-9)
    many = np.stack([x, x[::-1], -x])
    np.testing.assert_allclose(fg.jit(fg.vmap(f))(many), np.stack([piece(np, row, 0.25) for row in many]), rtol=1e-9, atol=1e-9)
    grad = fg.grad(lambda x: fnp.sum(fnp.sin(f(x))))(x)
    np.testing.assert_allclose(fnp.vdot(grad, t), fnp.vdot(fnp.cos(out), tangent), rtol=1e-7, atol=1e-9)
