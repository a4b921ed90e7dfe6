"""What has effects, and that passes and lowering keep it, in order."""

import numpy as np

import funcgrad as fg
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import shaped
from funcgrad.core.config import config
from funcgrad.ir.effects import effectful, has_effects, needed, silent
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.loops import interpreter
from funcgrad.loops.compile import compile_program
from funcgrad.ops.contract import dot_general
from funcgrad.ops.elementwise import exp, sin
from funcgrad.passes import simplify
from funcgrad.runtime.executable import load
from funcgrad.trace.stage import stage
from funcgrad.transforms.callback import debug_callback, io_callback

A = shaped((3, 3), dt.float64)
LOG = []


def note(name):
    def call(*xs):
        LOG.append((name, [float(np.sum(x)) for x in xs]))
        return []

    return call


def program(x):
    """The first effect waits for a contraction, the second for nothing; the third is like the second; a value in between."""
    y = exp(dot_general(sin(x), x, dimension_numbers=(((1,), (0,)), ((), ()))))
    debug_callback(y, fun=note("late"), results=(), name="late")
    same = {"fun": note("same"), "results": (), "name": "same"}
    debug_callback(x, **same)
    debug_callback(x, **same)
    (z,) = io_callback(x, fun=lambda x: [x * 2 + len(LOG)], results=(A,), name="value")
    debug_callback(z, fun=note("last"), results=(), name="last")
    io_callback(sin(z), fun=lambda z: [LOG.append(("unused", [])) or z], results=(A,), name="unused")
    return [sin(x)]


WANT = ["late", "same", "same", "last", "unused"]


def test_passes_and_lowering_keep_the_order():
    jaxpr, _ = stage(program, [A])
    x = np.eye(3)
    LOG.clear()
    evaluate_numpy(jaxpr, (), [x])
    assert [name for name, _ in LOG] == WANT
    first = list(LOG)
    with config.override(check_ir=True):
        simple = simplify(jaxpr)
        assert sum(effectful(e) for e in simple.eqns) == 6
        compiled = compile_program(simple)
    exe = load(compiled)
    out = np.empty((3, 3))
    for run in (lambda: interpreter.run(compiled, [x])[0], lambda: exe.call(x, out) or out):
        LOG.clear()
        np.testing.assert_allclose(run(), np.sin(x))
        assert [name for name, _ in LOG] == WANT
        for (_, a), (_, b) in zip(LOG, first, strict=True):
            np.testing.assert_allclose(a, b)


def test_a_program_of_effects_alone():
    jaxpr, _ = stage(lambda x: (debug_callback(x, fun=note("only"), results=(), name=""), [])[1], [A])
    assert has_effects(jaxpr) and needed(jaxpr)
    LOG.clear()
    load(compile_program(simplify(jaxpr))).call(np.eye(3))
    assert LOG == [("only", [3.0])]


def test_silent_keeps_values():
    jaxpr, _ = stage(program, [A])
    quiet = silent(jaxpr)
    assert [e.primitive.name for e in quiet.eqns if effectful(e)] == ["io_callback", "io_callback"]
    assert silent(quiet) is not None and not has_effects(silent(stage(lambda x: [sin(x)], [A])[0]))
    inner = fg.make_jaxpr(lambda x: fg.lax.fori_loop(0, 2, lambda i, c: (fg.debug.print("{}", c), c + 1)[1], x))(1.0).jaxpr
    assert has_effects(inner) and not has_effects(silent(inner)) and len(silent(inner).eqns) == len(inner.eqns)
