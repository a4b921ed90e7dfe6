"""What equations become: views without copies, BLAS calls with flags, regions, host steps, checks."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.bridge.eager  # noqa: F401  (the floor of the interpreter stack)
from funcgrad import lax
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import shaped
from funcgrad.core.config import config
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Var
from funcgrad.ir.loop_rules import Call
from funcgrad.ir.primitive import Primitive
from funcgrad.loops.compile import compile_program
from funcgrad.loops.interpreter import run
from funcgrad.loops.program import Gemm, HostStep
from funcgrad.loops.templates import burden_of
from funcgrad.ops.contract import dot_general
from funcgrad.ops.elementwise import add, exp, mul
from funcgrad.ops.gathering import gather
from funcgrad.ops.reduce import reduce_sum
from funcgrad.ops.shape import broadcast_in_dim, concatenate, iota, pad, reshape, rev, slice_, transpose
from funcgrad.ops.sort import sort
from funcgrad.passes import simplify
from funcgrad.testing import counters
from funcgrad.trace.stage import stage

F64 = np.dtype(np.float64)


def compiled(fun, *shapes, dtype=F64):
    """The program of `fun`, compared with NumPy on random numbers."""
    jaxpr, _ = stage(fun, [shaped(s, dtype) for s in shapes])
    with config.override(check_ir=True):
        program = compile_program(simplify(jaxpr))
    rng = np.random.default_rng(0)
    xs = [(rng.normal(size=s) * 4).astype(dtype) for s in shapes]
    for x, y in zip(run(program, xs), evaluate_numpy(jaxpr, [], xs), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
    return program


def dot(x, y, contract=((1,), (0,)), batch=((), ())):
    return dot_general(x, y, dimension_numbers=(contract, batch), preferred_element_type=None)


def t(x):
    return transpose(x, permutation=(1, 0))


def kinds(program):
    return [type(s).__name__ for s in program.steps]


@pytest.mark.parametrize(
    "fun,flags",
    [
        (lambda x, y: [dot(x, y)], (False, False)),
        (lambda x, y: [dot(t(x), y)], (True, False)),
        (lambda x, y: [dot(x, t(y))], (False, True)),
        (lambda x, y: [dot(x, y, ((0,), (1,)))], (True, True)),
        # The product is transposed by its only reader: B' A'.
        (lambda x, y: [t(dot(x, y))], (True, True)),
        (lambda x, y: [dot(slice_(x, start_indices=(1, 2), limit_indices=(4, 4), strides=(1, 1)), slice_(y, start_indices=(0, 0), limit_indices=(2, 5), strides=(1, 1)))], (False, False)),
    ],
)  # fmt: skip
def test_a_product_of_matrix_views_is_one_blas_call(fun, flags):
    program = compiled(fun, (5, 5), (5, 5))
    (step,) = program.steps
    assert isinstance(step, Gemm) and (step.trans_a, step.trans_b) == flags


def test_what_blas_cannot_address_is_copied_first():
    program = compiled(lambda x, y: [dot(rev(x, dimensions=(1,)), y)], (5, 4), (4, 3))
    assert kinds(program) == ["KernelStep", "Gemm"]
    program = compiled(lambda x, y: [dot(broadcast_in_dim(x, shape=(5, 4), dims=(1,)), y)], (4,), (4, 3))
    assert kinds(program) == ["KernelStep", "Gemm"]


def test_batches_are_strided():
    program = compiled(lambda x, y: [dot(x, y, ((2,), (1,)), ((0,), (0,)))], (6, 4, 5), (6, 5, 3))
    (step,) = program.steps
    assert step.batch == ((6, 20, 15, 12),)
    program = compiled(lambda x, y: [dot(x, y, ((3,), (3,)), ((0, 1), (0, 1)))], (2, 3, 4, 5), (2, 3, 6, 5))
    (step,) = program.steps
    assert step.batch == ((6, 20, 30, 24),) and step.trans_b
    # Attention heads lie between the axes of the matrices: still no copy.
    program = compiled(lambda x, y: [dot(x, y, ((3,), (3,)), ((0, 2), (0, 2)))], (2, 4, 3, 5), (2, 6, 3, 5))
    (step,) = program.steps
    assert (step.lda, step.ldb) == (15, 15) and len(step.batch) == 2


@pytest.mark.parametrize(
    "permutation,steps",
    [
        ((0, 2, 1, 3), 1),
        ((0, 1, 3, 2), 1),
        ((2, 0, 1, 3), 1),
        ((1, 0, 2, 3), 1),
        ((0, 3, 1, 2), 1),
        ((0, 2, 3, 1), 2),
        ((2, 3, 0, 1), 2),
    ],
)
def test_a_product_is_laid_out_as_its_reader_wants_it(permutation, steps):
    # Heads of an attention back between the rows and their features: the leading dimension does it.
    def fun(x, y):
        z = dot(x, y, ((3,), (2,)), ((0, 1), (0, 1)))
        return [reshape(transpose(z, permutation=permutation), shape=(2 * 3 * 4 * 5,))]

    assert len(compiled(fun, (2, 3, 4, 6), (2, 3, 6, 5)).steps) == steps


def test_gradients_of_examples_are_outer_products():
    program = compiled(lambda x, y: [dot(x, y, ((), ()), ((0,), (0,)))], (6, 4), (6, 5))
    (step,) = program.steps
    assert (step.nest.outer, step.nest.inner) == (2, 1)


def test_copies_are_made_once():
    def fun(x, y):
        z = reshape(transpose(x, permutation=(1, 0, 2)), shape=(12, 4))
        w = reshape(transpose(x, permutation=(1, 0, 2)), shape=(12, 4))
        return [dot(z, y), dot(t(w), z)]

    assert kinds(compiled(fun, (3, 4, 4), (4, 4))) == ["KernelStep", "Gemm", "Gemm"]


def test_several_axes_are_contracted_as_one():
    program = compiled(lambda x, y: [dot(x, y, ((1, 2), (0, 1)))], (4, 2, 3), (2, 3, 5))
    (step,) = program.steps
    assert step.k == 6
    program = compiled(lambda x, y: [dot(x, y, ((2, 1), (1, 0)))], (4, 2, 3), (2, 3, 5))
    assert len(program.steps) == 1


def test_integers_and_outer_products_are_nests():
    assert kinds(compiled(lambda x, y: [dot(x, y)], (5, 4), (4, 3), dtype=np.dtype(np.int32))) == ["KernelStep"]
    assert kinds(compiled(lambda x, y: [exp(dot(x, y, ((), ())))], (5,), (3,))) == ["KernelStep"]


def test_an_empty_contraction_is_zero():
    assert kinds(compiled(lambda x, y: [dot(x, y)], (5, 0), (0, 3))) == ["KernelStep"]
    assert kinds(compiled(lambda x, y: [dot(x, y)], (0, 5), (5, 3))) == []


def test_regions_are_written_straight_into_the_output():
    program = compiled(lambda x, y: [concatenate(exp(x), mul(y, y), dimension=1)], (4, 3), (4, 2))
    assert kinds(program) == ["KernelStep"] * 2 and program.arena == 0
    program = compiled(lambda x: [pad(exp(x), np.float64(1), padding_config=((1, 2, 1), (-1, 0, 0)))], (4, 3))
    assert kinds(program) == ["KernelStep"] * 2 and program.arena == 0


def test_a_chain_of_views_is_one_copy():
    def fun(x):
        y = rev(transpose(x, permutation=(2, 0, 1)), dimensions=(0,))
        y = slice_(y, start_indices=(1, 0, 0), limit_indices=(4, 2, 3), strides=(2, 1, 1))
        return [reshape(y, shape=(2, 6))]

    assert kinds(compiled(fun, (2, 3, 4))) == ["KernelStep"]


def test_big_folds_are_shared_out():
    for n in (1 << 20, (1 << 20) + 7):
        program = compiled(lambda x: [reduce_sum(x, axes=(0,))], (n,))
        assert program.steps[0].extent > 8
    program = compiled(lambda x: [reduce_sum(x, axes=(0, 1))], (1024, 1024))
    assert program.steps[0].extent == 1024 and len(program.steps) == 2


def test_the_vector_axis_has_unit_stride():
    (step,) = compiled(lambda x: [reduce_sum(x, axes=(0,))], (30, 40)).steps
    assert step.nest.layout == "column"
    (step,) = compiled(lambda x: [reduce_sum(x, axes=(1,))], (30, 40)).steps
    assert step.nest.layout == "row"
    (step,) = compiled(lambda x: [reduce_sum(t(x), axes=(0,))], (30, 40)).steps
    assert step.nest.layout == "row"
    (step,) = compiled(lambda x: [reduce_sum(x, axes=(0, 2))], (3, 4, 50)).steps
    assert (step.nest.layout, step.nest.outer, step.nest.inner) == ("row", 1, 2)


@pytest.mark.parametrize("shape", [(40, 50), (64, 48), (3, 40, 50), (32, 16), (31, 70)])
def test_reads_across_rows_go_block_by_block(shape):
    perm = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)

    def fun(x):
        y = transpose(x, permutation=perm)
        places = iota(dtype=F64, shape=y.aval.shape, dimension=len(shape) - 1)
        return [add(mul(y, np.float64(2)), places)]

    program = compiled(fun, shape)
    n = shape[-2]
    assert len(program.steps) == (1 if n < 32 or n % 16 == 0 else 2)


def test_what_lies_together_is_one_axis():
    (step,) = compiled(lambda x, y: [add(x, y)], (2, 3, 4), (2, 3, 4)).steps
    assert (step.nest.outer, step.nest.inner, step.dims) == (0, 1, (24,))
    (step,) = compiled(lambda x, b: [add(x, broadcast_in_dim(b, shape=(2, 3, 4), dims=(2,)))], (2, 3, 4), (4,)).steps
    assert (step.nest.outer, step.nest.inner, step.dims[:2]) == (1, 1, (6, 4))
    (step,) = compiled(lambda x: [exp(x)], ()).steps
    assert (step.nest.outer, step.nest.inner, step.dims) == (0, 1, (1,))


def test_small_floats_run_on_the_host():
    half = np.dtype(np.float16)
    jaxpr, _ = stage(lambda x: [transpose(exp(x), permutation=(1, 0))], [shaped((2, 3), half)])
    with config.override(check_ir=True):
        program = compile_program(simplify(jaxpr))
    assert kinds(program) == ["HostStep", "KernelStep"]  # the transpose moves bits
    x = np.arange(6, dtype=half).reshape(2, 3) / 8
    (out,) = run(program, [x])
    assert out.dtype == half
    np.testing.assert_array_equal(out, np.exp(x).T)


def test_a_check_names_the_index_and_the_line():
    args, params = next(
        (args, params)
        for args, params in gather.samples(np.random.default_rng(0), F64)
        if params["mode"] == "raise" and args[1].size > 1
    )
    operand, indices = args
    jaxpr, _ = stage(lambda *xs: [gather(*xs, **params)], [shaped(a.shape, a.dtype) for a in args])
    program = compile_program(simplify(jaxpr))
    with pytest.raises(IndexError, match=r"gather: index 99 is out of range for axis 0 with size \d+, made at .*test_lower.py"):
        run(program, [operand, np.full_like(indices, 99)])


def test_a_call_must_have_been_inlined():
    p = Primitive(
        "some_call", abstract=lambda x: x, numpy=lambda x: x, jvp="none: a test", transpose="none: a test", batch="none: a test",
        loop=Call(), dtypes=dt.ANY, samples="none: a test",
    )  # fmt: skip
    aval = shaped((3,), F64)
    x, y = Var(aval), Var(aval)
    with pytest.raises(TypeError, match="passes.simplify"):
        compile_program(Jaxpr((), (x,), (Eqn(p, (x,), (y,), {}),), (y,)))


def test_host_steps_read_views_in_place():
    program = compiled(lambda x: sort(t(x), dimension=1, is_stable=True, num_keys=1), (4, 3))
    (step,) = program.steps
    assert isinstance(step, HostStep)
    assert step.ins[0].strides == (8, 24) and step.outs[0].ref.kind == "output"


@pytest.mark.parametrize("d", [1, 2, 3, 10, -3, -1, 0, 16, 17, -17])
def test_whole_division_by_a_literal(d):
    """Small divisors stay in the kernel's text; sizes of things do not, and share a kernel."""
    x = np.concatenate([np.arange(-40, 40), [np.iinfo(np.int64).min, np.iinfo(np.int64).max]])
    f = fg.jit(lambda x: (x // d, x % d, lax.div(x, np.int64(d)), lax.rem(x, np.int64(d))))
    with np.errstate(all="ignore"):
        want = x // d, x % d
    got = f(x)
    for a, b in zip(got[:2], want, strict=True):
        np.testing.assert_array_equal(a, b)
    if d not in (0, -1):
        np.testing.assert_array_equal(got[2], _towards_zero(x, d))
        np.testing.assert_array_equal(got[3], np.fmod(x, d))


def _towards_zero(x, d):
    return np.array([abs(int(v)) // abs(d) * (1 if (v < 0) == (d < 0) else -1) for v in x])


def test_divisors_that_may_be_sizes_share_a_kernel():
    x = np.arange(9)
    fg.jit(lambda x: x % 20 + x // 21)(x)
    with counters() as c:
        fg.jit(lambda x: x % 30 + x // 31)(x)
    assert c.compiled == 0


def test_complex_arithmetic_weighs_what_it_costs_to_compile():
    """Loops and fused kernels of complex numbers are cut before they take seconds to compile."""
    c, f = np.dtype(np.complex128), np.dtype(np.float64)
    assert [burden_of(op, c) > 5 * burden_of(op, f) for op in ("mul", "add", "sub", "select")] == [True] * 4
    assert burden_of("const", c) == 0 and burden_of("mul", f) == 1
