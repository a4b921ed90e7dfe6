"""Shared by the tests of this room: running hand-written kernels, and programs made of them."""

import numpy as np

from funcgrad.loops.nest import ERROR_RECORD_BYTES, Nest
from funcgrad.loops.program import KernelStep, Program, Ref
from funcgrad.runtime import kernels
from funcgrad.runtime.executable import Executable

NEST = Nest(1, 0, "row", (), (), ())
CODES = {
    "b1": np.bool_, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "i8": np.int8, "i16": np.int16,
    "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128,
}  # fmt: skip


def body(*lines: str, name: str = "kernel") -> str:
    """A kernel's source from its lines."""
    return f"def {name}(bufs, dims, lo, hi, scratch):\n" + "".join(f"    {line}\n" for line in lines)


def step(refs, dims, extent, cost=10.0, scratch=0, checks=(), nest=NEST):
    return KernelStep(nest, tuple(refs), tuple(dims), extent, cost, scratch, tuple(checks))


def program(steps, inputs, outputs, arena=0):
    """A program from steps and example arrays."""
    return Program(tuple(steps), tuple((a.shape, a.dtype) for a in inputs), tuple((a.shape, a.dtype) for a in outputs), arena)


def run(source, inputs, outputs, dims=(), extent=None, scratch=0, cost=10.0, checks=()):
    """Run one kernel over [0, extent) on arrays: inputs first, then outputs."""
    refs = [Ref("input", k) for k in range(len(inputs))] + [Ref("output", k) for k in range(len(outputs))]
    extent = outputs[0].size if extent is None else extent
    made = program([step(refs, dims, extent, cost, scratch, checks)], inputs, outputs)
    Executable(made, dict(enumerate(kernels.addresses([source])))).call(*inputs, *outputs)
    return outputs[0] if len(outputs) == 1 else outputs


def elementwise(expression, codes, result, *arrays):
    """`y0[i] = expression` of x0[i], x1[i] ... with the given dtype codes."""
    return elementwise_all([expression], codes, [result], *arrays)[0]


def elementwise_all(expressions, codes, results, *arrays):
    """Several of them in one kernel."""
    count = len(codes)
    lines = [f"x{k} = ptr_{code}(bufs, {k})" for k, code in enumerate(codes)]
    lines += [f"y{k} = ptr_{code}(bufs, {count + k})" for k, code in enumerate(results)]
    lines += ["for i in range(lo, hi):", *[f"    y{k}[i] = {text}" for k, text in enumerate(expressions)]]
    outs = [np.empty(arrays[0].shape, CODES[code]) for code in results]
    run(body(*lines), list(arrays[:count]), outs)
    return outs


ERROR_BYTES = ERROR_RECORD_BYTES
