"""Shared by the tests of operators: gradients and loops without the user-facing layer."""

import numpy as np

import funcgrad.bridge.eager  # noqa: F401
from funcgrad.bridge.array import from_numpy
from funcgrad.ir.primitive import LinearArg
from funcgrad.loops import interpreter
from funcgrad.loops.compile import compile_program
from funcgrad.ops._family import full
from funcgrad.passes import simplify
from funcgrad.trace.stage import stage
from funcgrad.transforms.linearize import linearize
from funcgrad.transforms.transpose import backward


def arr(x, dtype=np.float64):
    return from_numpy(np.asarray(x, dtype))


def grad(fun, *args):
    """The gradients of the sum of fun's output with respect to all float operands, as NumPy arrays."""
    line = linearize(lambda *xs: [fun(*xs)], args)
    if not line.jaxpr.outvars:
        return [np.zeros(a.shape) for a in args]
    cts = [full(v.aval.shape, v.aval.dtype.type(1)) for v in line.jaxpr.outvars]
    back = backward(line.jaxpr, line.residuals, [LinearArg(v.aval) for v in line.jaxpr.invars], cts)
    return [
        np.zeros(v.aval.shape, v.aval.dtype) if b is None else np.asarray(b) for b, v in zip(back, line.jaxpr.invars, strict=True)
    ]


def grad_value(fun, *args):
    """As `grad`, of one operand, but as a value that can be differentiated again."""
    line = linearize(lambda *xs: [fun(*xs)], args)
    cts = [full(v.aval.shape, v.aval.dtype.type(1)) for v in line.jaxpr.outvars]
    return backward(line.jaxpr, line.residuals, [LinearArg(v.aval) for v in line.jaxpr.invars], cts)[0]


def loops(fun, *arrays):
    """fun, staged and run by the interpreter of loop programs."""
    jaxpr, consts = stage(lambda *xs: [fun(*xs)], [from_numpy(a).aval for a in arrays])
    assert not consts
    return interpreter.run(compile_program(simplify(jaxpr)), arrays)[0]
