"""A program -> the driver's records: flat int64 arrays, laid out as driver_native.py says.

Enters: a Program's steps and the addresses of its kernels. Leaves: for each stretch (a run of native steps between host
steps) an array of records, ended by a zero.
"""

import numpy as np

from funcgrad.loops.program import Gemm, KernelStep, Program, Ref
from funcgrad.runtime import blas, threads

PARALLEL_LAYOUT = {"row", "column"}


class Bases:
    """The number of each buffer in a call's table of addresses: inputs, outputs, arena."""

    def __init__(self, program: Program):
        self.inputs, self.outputs = len(program.inputs), len(program.outputs)
        self.arena = self.inputs + self.outputs

    def place(self, ref: Ref) -> tuple[int, int]:
        """(number, offset in bytes)."""
        if ref.kind == "input":
            return ref.number, ref.offset
        if ref.kind == "output":
            return self.inputs + ref.number, ref.offset
        return self.arena, ref.offset


def kernel_record(step: KernelStep, number: int, address: int, dims: int, bases: Bases) -> list[int]:
    chunk = 0 if step.nest.sequential else threads.chunk_of(step.extent, step.cost)
    record = [1, 0, address, dims, step.extent, chunk, int(bool(step.checks)), number, len(step.refs)]
    for ref in step.refs:
        record += bases.place(ref)
    record[1] = 8 * len(record)
    return record


def gemm_record(step: Gemm, number: int, bases: Bases) -> list[int]:
    item = step.dtype.itemsize
    rows = step.m >= step.n
    flops = 2.0 * step.m * step.n * step.k
    # a leading dimension is never smaller than a row, also where there is one row and it does not matter
    lda = max(step.lda, step.m if step.trans_a else step.k, 1)
    ldb = max(step.ldb, step.k if step.trans_b else step.n, 1)
    ldc = max(step.ldc, step.n, 1)
    record = [2, 0, blas.DTYPES.index(step.dtype), _letter(step.trans_a), _letter(step.trans_b)]
    record += [threads.gemm_chunk(step.m if rows else step.n, flops), step.m, number, step.n, step.k, lda, ldb, ldc]
    for ref in (step.a, step.b, step.c):
        record += bases.place(ref)
    record += [item, int(rows), len(step.batch)]
    for extent, *strides in step.batch:
        record += [extent] + [stride * item for stride in strides]
    record[1] = 8 * len(record)
    return record


def _letter(transposed: bool) -> int:
    return ord("T" if transposed else "N")


def cost_of(step: KernelStep | Gemm) -> float:
    """Nanoseconds of one thread, about."""
    if isinstance(step, KernelStep):
        return step.cost
    points = float(np.prod([axis[0] for axis in step.batch])) if step.batch else 1.0
    return points * (100.0 + 2.0 * step.m * step.n * step.k / 50.0)
