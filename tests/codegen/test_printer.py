"""The printed text: goldens, canonical names, keys, speed, errors."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from funcgrad.codegen.canonical import canonical, nest_key
from funcgrad.codegen.cpu import CPU
from funcgrad.codegen.cuda import CUDA
from funcgrad.codegen.printer import print_nest
from funcgrad.loops.nest import Nest, Pass, Reduction, Store

from .support import const, escape, expr, layernorm, load, map_nest, operand, recurrence, reduction, scatter, softmax

GOLDEN = Path(__file__).parent.parent / "golden"


def tanh_chain():
    """tanh(x * 2 + 1) * exp(-x * x) + log1p(x)"""
    x = load("f4", 0)
    inner = expr("tanh", "f4", expr("add", "f4", expr("mul", "f4", x, const(2.0, "f4")), const(1.0, "f4")))
    bell = expr("exp", "f4", expr("neg", "f4", expr("mul", "f4", x, x)))
    return map_nest([expr("add", "f4", expr("mul", "f4", inner, bell), expr("log1p", "f4", x))], ["f4"])


KERNELS = {
    "elementwise": tanh_chain,
    "softmax": softmax,
    "layernorm": layernorm,
    "column_sum": lambda: reduction("add", "f4", column=True),
    "argmax": lambda: reduction("argmax", "f4"),
    "scatter_add": lambda: scatter("add"),
    "scan": lambda: recurrence(lanes=False),
    "scan_of_lanes": recurrence,
    "while_of_lanes": escape,
}


@pytest.mark.parametrize("target", [CPU, CUDA], ids=lambda t: t.name)
@pytest.mark.parametrize("name", KERNELS)
def test_golden_text(name, target):
    """Written anew with FUNCGRAD_UPDATE_GOLDEN=1."""
    path = GOLDEN / f"kernel_{name}_{target.name}.txt"
    text = print_nest(KERNELS[name](), target).text
    if os.environ.get("FUNCGRAD_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def test_equal_structure_is_one_kernel():
    first, second = softmax(), softmax()
    assert first is not second and nest_key(first) == nest_key(second)
    assert print_nest(first, CPU) is print_nest(second, CPU)
    assert print_nest(first, CPU).name != print_nest(layernorm(), CPU).name
    assert print_nest(first, CPU).name != print_nest(first, CUDA).name


def test_shared_and_equal_expressions_are_computed_once():
    a, b = (expr("sin", "f4", load("f4", 0)) for _ in range(2))
    text = print_nest(map_nest([expr("add", "f4", a, b)], ["f4"]), CPU).text
    assert text.count("sin_f32(") == 1 and text.count("x0[") == 1


def test_constants_that_compare_equal_are_told_apart():
    def key(value, dtype="f8"):
        return nest_key(map_nest([expr("add", dtype, load(dtype, 0), const(value, dtype))], [dtype]))

    assert key(0.0) != key(-0.0) and key(np.nan) == key(float("nan")) and key(1) == key(1.0)
    assert key(1, "f4") != key(1, "i4")
    text = print_nest(map_nest([expr("mul", "f4", load("f4", 0), const(0.1, "f4"))], ["f4"]), CPU).text
    assert "f32(0.1)" in text


def test_what_does_not_change_in_the_loop_leaves_it():
    gain = expr("exp", "f4", load("f4", 1))
    nest = Nest(
        1, 1, "row",
        (operand("f4", "in", None, 1), operand("f4", "in", None, 0), operand("f4", "out", None, 1)), (),
        (Pass("row", (Store(2, expr("mul", "f4", load("f4", 0), gain)),)),),
    )  # fmt: skip
    lines = print_nest(nest, CPU).text.splitlines()
    hoisted = next(k for k, line in enumerate(lines) if "exp_f32" in line)
    assert hoisted < next(k for k, line in enumerate(lines) if "for i in" in line)


def test_printing_is_fast():
    """A retrace looks up about 15 kernels inside ten milliseconds."""
    nest = layernorm()
    print_nest(nest, CPU)
    best = min(_timed(lambda: print_nest(nest, CPU)) for _ in range(50))
    assert best < 0.3e-3

    def cold():
        CPU.memo.clear()
        print_nest(nest, CPU)

    assert min(_timed(cold) for _ in range(20)) < 3e-3


def _timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def test_a_long_chain_prints_without_recursion():
    value = load("f4", 0)
    for _ in range(3000):
        value = expr("neg", "f4", value)
    form = canonical(map_nest([value], ["f4"]))
    assert len(form.nodes) == 3001
    assert len(print_nest(map_nest([value], ["f4"]), CPU).text) > 3000


def test_unknown_types_and_operations_say_what_to_do():
    with pytest.raises(TypeError, match=r"got a value of dtype float16; kernels compute on .*; give this operator"):
        nest_key(map_nest([load("f2", 0)], ["f2"]))
    with pytest.raises(TypeError, match=r"got erf on i32; on cpu, erf is written for f32, f64; cast the operand"):
        print_nest(map_nest([expr("erf", "i4", load("i4", 0))], ["i4"]), CPU)
    with pytest.raises(TypeError, match=r"got a store of f32 into an operand of f64; .*; cast it"):
        operands = (operand("f4", "in", 1), operand("f8", "out", 1))
        print_nest(Nest(0, 1, "row", operands, (), (Pass("row", (Store(1, load("f4", 0)),)),)), CPU)


def test_misplaced_reductions_are_refused():
    r = Reduction(0, "add", load("f4", 0), np.dtype("f4"))
    operands = (operand("f4", "in", None, 1), operand("f4", "out", None, 0))
    with pytest.raises(ValueError, match="row passes; give the pass level='row'"):
        print_nest(Nest(1, 1, "row", operands, (), (Pass("point", (), (r,)),)), CPU)
    with pytest.raises(ValueError, match='no rows; use layout="row"'):
        scratch = (*operands, operand("f4", "scratch", 0, 1))
        print_nest(Nest(1, 1, "column", scratch, (), (Pass("row", (), (r,)),)), CPU)
