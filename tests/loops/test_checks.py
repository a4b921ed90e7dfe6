"""The checks between stages find what is broken: one broken thing for each."""

import dataclasses

import numpy as np
import pytest

import funcgrad.bridge.eager  # noqa: F401  (the floor of the interpreter stack)
from funcgrad.core.aval import shaped
from funcgrad.core.errors import IRError
from funcgrad.loops.checks import check_groups, check_lives, check_nest, check_program
from funcgrad.loops.compile import compile_program
from funcgrad.loops.expr import OPS, Expr
from funcgrad.loops.fuse import fuse
from funcgrad.loops.lower import lower
from funcgrad.loops.nest import Pass, Reduction, Store
from funcgrad.loops.program import Ref
from funcgrad.loops.scalar_numpy import BINARY, MORE, UNARY, threefry
from funcgrad.ops.elementwise import exp, mul, neg
from funcgrad.ops.reduce import reduce_sum
from funcgrad.ops.shape import rev
from funcgrad.trace.stage import stage

F64 = np.dtype(np.float64)
replace = dataclasses.replace


@pytest.fixture
def program():
    jaxpr, _ = stage(lambda x: [exp(mul(x, np.float64(2))), reduce_sum(x, axes=(1,))], [shaped((4, 6), F64)])
    found = compile_program(jaxpr)
    check_program(found)
    return found


def with_step(program, **changes):
    return replace(program, steps=(replace(program.steps[0], **changes), *program.steps[1:]))


def with_nest(program, **changes):
    return with_step(program, nest=replace(program.steps[0].nest, **changes))


def test_dims_must_fit_the_layout(program):
    with pytest.raises(IRError, match="dims has"):
        check_program(with_step(program, dims=program.steps[0].dims + (1,)))


def test_operands_must_stay_in_their_buffers(program):
    step = program.steps[0]
    refs = (replace(step.refs[0], offset=8), *step.refs[1:])
    with pytest.raises(IRError, match="reaches"):
        check_program(with_step(program, refs=refs))


def test_the_extent_must_be_that_of_the_layout(program):
    with pytest.raises(IRError, match="extent"):
        check_program(with_step(program, extent=3))


def test_outputs_must_be_written(program):
    with pytest.raises(IRError, match="output 0 is never written"):
        check_program(replace(program, steps=()))


def test_inputs_are_not_written(program):
    refs = tuple(Ref("input", 0) if r.kind == "output" and r.number == 0 else r for r in program.steps[0].refs)
    with pytest.raises(IRError, match="writes to an input"):
        check_program(with_step(program, refs=refs))


def test_a_kernel_overwrites_what_it_reads_only_element_by_element():
    jaxpr, _ = stage(lambda x: [exp(x), exp(rev(x, dimensions=(0,)))], [shaped((6,), F64)])
    found = compile_program(jaxpr)
    (step,) = found.steps
    for number in (0, 1):  # each output is written in the order of one of the reads, but not of the other
        refs = tuple(Ref("input", 0) if r == Ref("output", number) else r for r in step.refs)
        with pytest.raises(IRError, match="operands meet"):
            check_program(replace(with_step(found, refs=refs), donated=((number, 0),)))

    jaxpr, _ = stage(lambda x: [exp(x)], [shaped((6,), F64)])
    assert compile_program(jaxpr, (0,)).donated == ((0, 0),)
    check_program(compile_program(jaxpr, (0,)))


def test_two_outputs_of_a_kernel_do_not_share_memory():
    jaxpr, _ = stage(lambda x: [exp(x), neg(x)], [shaped((6,), F64)])
    found = compile_program(jaxpr)
    refs = tuple(Ref("output", 0) if r.kind == "output" else r for r in found.steps[0].refs)
    with pytest.raises(IRError, match="operands meet"):
        check_program(with_step(found, refs=refs))


def test_donation_needs_equal_sizes(program):
    with pytest.raises(IRError, match="another size"):
        check_program(replace(program, donated=((1, 0),)))


@pytest.mark.parametrize(
    "passes,text",
    [
        (lambda p: (Pass("point", (), (Reduction(0, "add", Expr("const", F64, (), 1.0), F64),)),), "point level"),
        (lambda p: (Pass("row", (Store(0, Expr("const", F64, (), 1.0)),)),), "store to an input"),
        (lambda p: (Pass("row", (Store(1, Expr("const", np.dtype(np.float32), (), 1.0)),)),), "a store of float32"),
        (lambda p: (Pass("row", (Store(1, Expr("acc", F64, (), 0)),)), *p), "before it is done"),
        (lambda p: (Pass("row", (Store(1, Expr("frobnicate", F64)),)),), "no op"),
        (lambda p: (Pass("row", (Store(1, Expr("load", np.dtype(np.int8), (), 0)),)),), "load of int8"),
    ],
)
def test_nests_must_have_their_form(program, passes, text):
    nest = program.steps[0].nest
    with pytest.raises(IRError, match=text):
        check_nest(replace(nest, passes=passes(nest.passes)))


def test_groups_must_be_in_order():
    jaxpr, _ = stage(
        lambda x: [reduce_sum(neg(reduce_sum(exp(x), axes=(0,))), axes=(0,)), reduce_sum(exp(x), axes=(1,))],
        [shaped((4, 4), F64)],
    )
    graph = lower(jaxpr)
    groups = fuse(graph)
    assert len(groups) > 1
    check_groups(graph, groups)
    with pytest.raises(IRError, match="runs before"):
        check_groups(graph, groups[::-1])
    with pytest.raises(IRError, match="in two groups"):
        check_groups(graph, groups + groups[:1])
    with pytest.raises(IRError, match="never computed"):
        check_groups(graph, [])


@pytest.mark.parametrize(
    "lives,fine",
    [
        ([("a", 0, 64, 0, 2), ("b", 64, 64, 1, 3)], True),
        ([("a", 0, 64, 0, 2), ("b", 0, 64, 3, 4)], True),
        ([("a", 0, 64, 0, 2), ("b", 0, 64, 2, 4)], True),  # in place
        ([("a", 0, 64, 0, 2), ("b", 0, 64, 1, 4)], False),
        ([("a", 0, 128, 0, 2), ("b", 64, 64, 2, 4)], False),
        ([("a", 0, 64, 1, 1), ("b", 0, 64, 1, 4)], False),
    ],
)
def test_arrays_do_not_meet_in_the_arena(lives, fine):
    if fine:
        check_lives(lives)
    else:
        with pytest.raises(IRError, match="meet"):
            check_lives(lives)


def test_the_interpreter_knows_every_op():
    leaves = {"const", "param", "index", "extent", "load", "acc", "carry"}
    other = {"select", "cast", "bitcast", "check", "threefry_hi", "threefry_lo", "external"}
    assert set(UNARY) | set(BINARY) | set(MORE) | leaves | other == OPS


@pytest.mark.parametrize(
    "key,counter,block",
    [
        # Random123's known answers for threefry2x32, 20 rounds.
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry_known_answers(key, counter, block):
    words = [np.array([x], np.uint32) for x in (*key, *counter)]
    assert tuple(int(x[0]) for x in threefry(*words)) == block
