"""Memory: outputs written directly, an arena that is reused, donation, work in place."""

import numpy as np
import pytest

import funcgrad.bridge.eager  # noqa: F401  (the floor of the interpreter stack)
from funcgrad.core.aval import shaped
from funcgrad.core.config import config
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.ir.jaxpr import Jaxpr, Literal
from funcgrad.loops.compile import compile_program
from funcgrad.loops.interpreter import run
from funcgrad.loops.plan import Arena, total_cost
from funcgrad.loops.program import KernelStep
from funcgrad.ops._indexing import ScatterDimensionNumbers
from funcgrad.ops.contract import dot_general
from funcgrad.ops.elementwise import add, exp, mul, neg, tanh
from funcgrad.ops.gathering import scatter_add
from funcgrad.ops.reduce import reduce_sum
from funcgrad.ops.shape import broadcast_in_dim, reshape, rev, transpose
from funcgrad.passes import simplify
from funcgrad.trace.stage import stage
from funcgrad.transforms.remat import barrier

F64 = np.dtype(np.float64)


def compiled(fun, *shapes, donated=()):
    jaxpr, _ = stage(fun, [shaped(s, F64) for s in shapes])
    with config.override(check_ir=True):
        program = compile_program(simplify(jaxpr), donated)
    xs = [np.random.default_rng(i).normal(size=s) / 10 for i, s in enumerate(shapes)]
    for x, y in zip(run(program, xs), evaluate_numpy(jaxpr, [], xs), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)
    return program


def dot(x, y):
    return dot_general(x, y, dimension_numbers=(((1,), (0,)), ((), ())), preferred_element_type=None)


def chain(x, length):
    for _ in range(length):
        x = tanh(dot(x, x))
    return x


def test_outputs_are_written_where_they_are_wanted():
    program = compiled(lambda x: [dot(x, x), reshape(exp(x), shape=(16,))], (4, 4))
    assert program.arena == 0 and len(program.steps) == 2


def test_an_arena_does_not_grow_with_the_length_of_a_program():
    sizes = [compiled(lambda x, n=n: [chain(x, n)], (8, 8)).arena for n in (3, 6, 12)]
    assert sizes[0] == sizes[1] == sizes[2] == 2 * 8 * 8 * 8


def test_elementwise_work_is_done_in_place():
    program = compiled(lambda x: [dot(exp(dot(x, x)), x)], (8, 8))
    (kernel,) = [s for s in program.steps if isinstance(s, KernelStep)]
    assert kernel.refs[0] == kernel.refs[1] and program.arena == 8 * 8 * 8


def test_nothing_is_overwritten_that_is_still_needed():
    def fun(x):
        a = dot(x, x)
        b = exp(a)
        return [dot(b, a)]

    program = compiled(fun, (8, 8))
    (kernel,) = [s for s in program.steps if isinstance(s, KernelStep)]
    assert kernel.refs[0] != kernel.refs[1]


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 5)])
@pytest.mark.parametrize("later", [False, True])
def test_one_output_of_a_kernel_overwrites_an_input_not_two(shape, later):
    """Both b and c may lie where a lay, but the kernel's last pass reads b after c is written."""

    def total(x):
        return broadcast_in_dim(reduce_sum(x, axes=(0,)), shape=x.shape, dims=(1,))

    def fun(x):
        a = dot(x, x)
        b = tanh(a)
        c = tanh(mul(b, total(a)))
        out = mul(b, add(c, total(c)))
        return [dot(out, x), dot(c, x)] if later else [dot(out, x)]

    program = compiled(fun, shape)
    (kernel,) = [s for s in program.steps if isinstance(s, KernelStep)]
    outs = [r for r, o in zip(kernel.refs, kernel.nest.operands, strict=True) if o.role == "out"]
    assert len(outs) == 3 and len(set(outs)) >= 2 and kernel.refs[0] in outs


def test_memory_that_is_read_under_two_names_is_not_overwritten():
    """A barrier's result is its operand's memory: a kernel that reads both may do so in different orders."""

    def fun(x):
        a = dot(x, x)
        return [dot(add(rev(a, dimensions=(0,)), tanh(barrier(a, number=0))), x)]

    (kernel,) = [s for s in compiled(fun, (4, 4)).steps if isinstance(s, KernelStep)]
    x, y, out = kernel.refs
    assert out not in (x, y)

    program = compiled(lambda x: [add(rev(x, dimensions=(0,)), tanh(barrier(x, number=0)))], (4, 4), donated=(0,))
    assert program.donated == ()


def test_a_donated_input_becomes_the_output_that_overwrites_it():
    def update(p, g, m):
        m = add(mul(m, np.float64(0.9)), g)
        return [m, add(p, neg(m))]

    program = compiled(update, (5, 3), (5, 3), (5, 3), donated=(0, 2))
    assert set(program.donated) == {(0, 0), (1, 2)} or set(program.donated) == {(0, 2), (1, 0)}


def test_a_donated_input_is_not_written_before_it_is_read():
    # x is read transposed: its own kernel may not write over it.
    program = compiled(lambda x: [transpose(exp(x), permutation=(1, 0))], (4, 4), donated=(0,))
    assert program.donated == ()
    # It is needed after the output exists.
    program = compiled(lambda x: [exp(x), dot(exp(x), x)], (4, 4), donated=(0,))
    assert (0, 0) not in program.donated
    # A later output may have it.
    program = compiled(lambda x: [dot(dot(x, x), dot(x, x))], (4, 4), donated=(0,))
    assert program.donated == ((0, 0),)


def test_a_donated_input_is_no_output_at_the_same_time():
    program = compiled(lambda x: [x, exp(x)], (4,), donated=(0,))
    assert program.forwarded == ((0, 0),) and program.donated == ()


def test_outputs_that_are_inputs_literals_or_twice_the_same():
    jaxpr, _ = stage(
        lambda x: [x, exp(x), exp(x), reshape(x, shape=(2, 3)), transpose(reshape(x, shape=(2, 3)), permutation=(1, 0))],
        [shaped((6,), F64)],
    )
    jaxpr = simplify(jaxpr)
    jaxpr = Jaxpr((), jaxpr.invars, jaxpr.eqns, (*jaxpr.outvars, Literal(2.0, shaped((), F64))))
    with config.override(check_ir=True):
        program = compile_program(jaxpr)
    assert program.forwarded == ((0, 0),)
    x = np.arange(6.0)
    for got, want in zip(run(program, [x]), [x, np.exp(x), np.exp(x), x.reshape(2, 3), x.reshape(2, 3).T, 2.0], strict=True):
        np.testing.assert_allclose(got, want)
    exps = [s for s in program.steps if isinstance(s, KernelStep) and "exp" in str(s.nest)]
    assert len(exps) == 1


def test_empty_arrays_take_no_step_and_no_memory():
    program = compiled(lambda x: [exp(mul(x, x)), dot(x, transpose(x, permutation=(1, 0)))], (0, 3))
    assert program.steps == () and program.arena == 0


def test_a_scatter_works_in_place_on_what_nobody_needs():
    numbers = ScatterDimensionNumbers(update_window_dims=(0,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))

    def put(x, at):
        return scatter_add(
            x,
            at,
            broadcast_in_dim(np.float64(1), shape=(4,), dims=()),
            dimension_numbers=numbers,
            mode="raise",
            unique_indices=False,
        )

    for fun, copies in ((lambda x, at: put(dot(x, x), at), 0), (put, 1)):
        jaxpr, _ = stage(lambda x, at: [dot(fun(x, at), x)], [shaped((4, 4), F64), shaped((1,), np.dtype(np.int64))])  # noqa: B023
        with config.override(check_ir=True):
            program = compile_program(simplify(jaxpr))
        xs = [np.random.default_rng(0).normal(size=(4, 4)), np.array([2])]
        np.testing.assert_allclose(run(program, xs)[0], evaluate_numpy(jaxpr, [], xs)[0])
        assert len([s for s in program.steps if isinstance(s, KernelStep)]) == 1 + copies


def test_best_fit_and_merging():
    arena = Arena()
    a, b, c = arena.take(128), arena.take(64), arena.take(128)
    assert (a, b, c) == (0, 128, 192)
    arena.give(a, 128)
    arena.give(b, 64)
    assert arena.free == [(0, 192)]
    d = arena.take(64)
    assert d == 0 and arena.free == [(64, 128)]
    arena.give(c, 128)
    assert arena.free == [(64, 256)] and arena.take(512) == 64 and arena.size == 576


def test_costs_grow_with_the_work():
    costs = [total_cost(compiled(lambda x: [exp(dot(x, x))], (n, n))) for n in (4, 16, 64)]
    assert costs == sorted(costs) and costs[0] > 0
