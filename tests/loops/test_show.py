"""The text of nests: goldens that say in one place what fusion and schedule make of common programs."""

import numpy as np

import funcgrad.bridge.eager  # noqa: F401  (the floor of the interpreter stack)
from funcgrad.core.aval import shaped
from funcgrad.loops.compile import compile_program
from funcgrad.loops.fuse import fuse
from funcgrad.loops.lower import lower
from funcgrad.loops.show import show_groups, show_nest
from funcgrad.ops.elementwise import add, div, exp, mul, sub
from funcgrad.ops.reduce import argmax, reduce_max, reduce_sum
from funcgrad.ops.shape import broadcast_in_dim
from funcgrad.passes import simplify
from funcgrad.trace.stage import stage

F32 = np.dtype(np.float32)


def staged(fun, *shapes):
    return simplify(stage(fun, [shaped(s, F32) for s in shapes])[0])


def nest_of(fun, *shapes):
    (step,) = compile_program(staged(fun, *shapes)).steps
    return show_nest(step.nest)


def softmax(x):
    def rows(y):
        return broadcast_in_dim(y, shape=x.aval.shape, dims=(0,))

    e = exp(sub(x, rows(reduce_max(x, axes=(1,)))))
    return [div(e, rows(reduce_sum(e, axes=(1,))))]


def test_softmax():
    assert nest_of(softmax, (8, 16)) == (
        "row nest, 1 outer and 1 inner axes\n"
        "  x0: in f32 strides (*, 1)\n"
        "  x1: out f32 strides (*, 1)\n"
        "  x2: scratch f32 strides (0, 1)\n"
        "  row:\n"
        "    acc0 = max of x0 in f32\n"
        "  row:\n"
        "    acc1 = add of exp((x0 - acc0)) in f32\n"
        "    x2 = exp((x0 - acc0))\n"
        "  row:\n"
        "    x1 = (x2 / acc1)"
    )


def test_momentum():
    def update(p, g, m):
        m = add(mul(m, np.float32(0.9)), g)
        return [m, sub(p, mul(m, np.float32(0.1)))]

    assert nest_of(update, (4, 3), (4, 3), (4, 3)) == (
        "row nest, 0 outer and 1 inner axes\n"
        "  x0: in f32 strides (1)\n"
        "  x1: in f32 strides (1)\n"
        "  x2: in f32 strides (1)\n"
        "  x3: out f32 strides (1)\n"
        "  x4: out f32 strides (1)\n"
        "  params: p0 f32, p1 f32\n"
        "  row:\n"
        "    x3 = ((x0 * p0) + x1)\n"
        "    x4 = (x2 - (((x0 * p0) + x1) * p1))"
    )


def test_columns_and_positions():
    assert nest_of(lambda x: [reduce_sum(mul(x, x), axes=(0,))], (30, 40)) == (
        "column nest, 1 outer and 1 inner axes\n"
        "  x0: in f32 strides (1, *)\n"
        "  x1: out f32 strides (1, *)\n"
        "  row:\n"
        "    acc0 = add of (x0 * x0) in f32\n"
        "  point:\n"
        "    x1 = acc0"
    )
    text = nest_of(lambda x: [argmax(x, axes=(1,), index_dtype=np.dtype(np.int32))], (30, 40))
    assert "acc0 = argmax of x0 at i1 in i64" in text and "x1 = cast_i32(acc0)" in text


def test_groups():
    text = show_groups(fuse(lower(staged(softmax, (8, 16)))))
    assert text == (
        "kernel over [8, 16] folding axes (1,): n1:reduce[8] (not stored), n3:map[8, 16] (not stored), n4:reduce[8] (not stored), n5:map[8, 16]"
    )
