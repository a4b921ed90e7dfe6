"""A program -> the driver's records: flat int64 arrays, laid out as driver_layout.py says.

Enters: a Program's steps and the addresses of its kernels. Leaves: stretches: an array of records, ended by a zero, for each run
of native steps; host steps between them; and `Hosted` for a loop or branch that has host steps inside.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcgrad.loops.program import (
    BranchStep,
    ConstStep,
    CopyStep,
    Gemm,
    HostStep,
    KernelStep,
    LoopStep,
    Part,
    Program,
    Ref,
    Step,
    WhileStep,
    every_step,
    needs_python,
    parts,
)
from funcgrad.runtime import blas, threads
from funcgrad.runtime.buffers import array_address

STEP = 4.0  # nanoseconds of the driver for a step
TURNS = 100  # of a while, to guess its cost

Place = tuple[int, int]  # (number in a call's table of addresses, offset in bytes)


class Bases:
    """Where the buffers of a program lie in a call's table of addresses: inputs, outputs, arena."""

    def __init__(self, inputs: Sequence[Place], outputs: Sequence[Place], arena: Place, slots: Sequence[Place] = ()):
        self.buffers = {"input": inputs, "output": outputs, "arena": (arena,), "slot": slots}

    def place(self, ref: Ref) -> Place:
        """(number, offset in bytes)."""
        number, offset = self.buffers[ref.kind][ref.number]
        return number, offset + ref.offset

    def with_slots(self, first: int, count: int) -> "Bases":
        """The same, and the slots of a loop, whose numbers in the table begin at `first`."""
        b = self.buffers
        return Bases(b["input"], b["output"], b["arena"][0], [(first + k, 0) for k in range(count)])

    def part(self, part: Part) -> "Bases":
        """Of a program inside."""
        return Bases([self.place(r) for r in part.inputs], [self.place(r) for r in part.outputs], self.place(part.arena))


def outermost(program: Program) -> Bases:
    """Of a whole program: the table begins with its inputs, outputs and arena."""
    n, m = len(program.inputs), len(program.outputs)
    return Bases([(k, 0) for k in range(n)], [(n + k, 0) for k in range(m)], (n + m, 0))


@dataclass(frozen=True)
class HostCall:
    """A host step and where its arrays are."""

    step: HostStep
    bases: Bases


@dataclass(frozen=True)
class Hosted:
    """A loop or branch with host steps inside: Python walks it. `bodies` are the stretches of its parts; the numbers of its slots
    in the table begin at `slots`."""

    step: LoopStep | WhileStep | BranchStep
    bases: Bases
    bodies: list[list[Any]]
    slots: int


Stretch = Any  # an array of records, a HostCall or a Hosted


class Linker:
    """Lays out one program. Afterwards `entries` is the length of the table of addresses, and `keep` what records point to."""

    def __init__(self, program: Program, addresses: dict[int, int]):
        self.addresses = addresses
        self.keep: list[np.ndarray] = []
        self.entries = len(program.inputs) + len(program.outputs) + 1
        self.numbers = {id(step): k for k, step in enumerate(every_step(program))}
        self.bases = outermost(program)
        self.stretches = self.lay_out(program, self.bases) or [self.ended([])]

    def ended(self, records: list[int]) -> np.ndarray:
        made = np.array([*records, 0], np.int64)
        self.keep.append(made)
        return made

    def lay_out(self, program: Program, bases: Bases) -> list[Stretch]:
        """Stretches, for Python to go through."""
        found: list[Stretch] = []
        run: list[int] = []
        for step in program.steps:
            if needs_python(step):
                if run:
                    found.append(self.ended(run))
                    run = []
                found.append(HostCall(step, bases) if isinstance(step, HostStep) else self.hosted(step, bases))
            else:
                run += self.record(step, bases)
        if run:
            found.append(self.ended(run))
        return found

    def hosted(self, step: Any, bases: Bases) -> Hosted:
        first = self.entries
        count = 0 if isinstance(step, BranchStep) else len(step.slots)
        self.entries += count
        bases = bases.with_slots(first, count)
        return Hosted(step, bases, [self.lay_out(p.program, bases.part(p)) for p in parts(step)], first)

    def record(self, step: Step, bases: Bases) -> list[int]:
        if isinstance(step, KernelStep):
            return self.kernel(step, bases)
        if isinstance(step, HostStep):
            return self.foreign(step, bases)
        if isinstance(step, Gemm):
            return gemv_record(step, bases) or gemm_record(step, self.numbers[id(step)], bases)
        if isinstance(step, CopyStep):
            return [3, 56, *bases.place(step.src), *bases.place(step.dst), step.bytes]
        if isinstance(step, ConstStep):
            words = np.frombuffer(step.data.ljust(16, b"\0"), np.int64).tolist()
            return [4, 56, *bases.place(step.dst), len(step.data), *words]
        if isinstance(step, BranchStep):
            return self.branch(step, bases)
        assert isinstance(step, LoopStep | WhileStep)
        return self.loop(step, bases)

    def records(self, part: Part, bases: Bases) -> list[int]:
        """The records of a program inside, ended by a zero."""
        inner = bases.part(part)
        return [x for step in part.program.steps for x in self.record(step, inner)] + [0]

    def kernel(self, step: KernelStep, bases: Bases) -> list[int]:
        chunk = 0 if step.nest.sequential else threads.chunk_of(step.extent, step.cost)
        return self.call(step, step.dims, step.extent, chunk, uses_record(step), step.refs, bases)

    def foreign(self, step: HostStep, bases: Bases) -> list[int]:
        assert step.native is not None
        native = step.native
        refs = [view.ref for view in step.ins + step.outs]
        chunk = threads.chunk_of(native.extent, native.cost) if native.cost else 0
        return self.call(step, native.dims, native.extent, chunk, 0, refs, bases)

    def call(
        self, step: Step, dims: Sequence[int], extent: int, chunk: int, checks: int, refs: Sequence[Ref], bases: Bases
    ) -> list[int]:
        number = self.numbers[id(step)]
        table = np.array(dims, np.int64) if dims else np.zeros(1, np.int64)
        self.keep.append(table)
        record = [1, 0, self.addresses[number], array_address(table), extent, chunk, checks, number, len(refs)]
        for ref in refs:
            record += bases.place(ref)
        record[1] = 8 * len(record)
        return record

    def loop(self, step: LoopStep | WhileStep, bases: Bases) -> list[int]:
        first = self.entries
        self.entries += len(step.slots)
        table: list[int] = []
        for k, slot in enumerate(step.slots):
            table += [first + k, *bases.place(slot.start), slot.stride]
        for a, b in step.swaps:
            table += [first + a, first + b]
        inner = bases.with_slots(first, len(step.slots))
        results = step.results if isinstance(step, WhileStep) else ()
        for number, ref, size in results:
            table += [first + number, *bases.place(ref), size]
        body = self.records(step.body, inner)
        test = self.records(step.test, inner) if isinstance(step, WhileStep) else []
        at = 8 * (10 + len(table))
        head = [step.length, 0] if isinstance(step, LoopStep) else list(bases.place(step.predicate))
        kind = 5 if isinstance(step, LoopStep) else 6
        cost = STEP + sum([_own_cost(s) for p in parts(step) for s in p.program.steps])
        record = [kind, 0, *head, int(cost), len(step.slots), len(step.swaps), at, at + 8 * len(body), len(results)]
        record += [*table, *body, *test]
        record[1] = 8 * len(record)
        return record

    def branch(self, step: BranchStep, bases: Bases) -> list[int]:
        bodies = [self.records(p, bases) for p in step.branches]
        at = 8 * (5 + len(bodies))
        record = [7, 0, *bases.place(step.index), len(bodies)]
        for body in bodies:
            record.append(at)
            at += 8 * len(body)
        for body in bodies:
            record += body
        record[1] = 8 * len(record)
        return record


def uses_record(step: KernelStep) -> int:
    """1: the kernel checks indices, 2: it holds loops that ask whether to stop; 3: both."""
    return int(bool(step.checks)) + 2 * int(step.nest.carried)


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
    results, sums = step.points()
    record += [item, int(rows), len(step.batch), sums, threads.batch_chunk(results, flops * sums)]
    for extent, *strides in step.batch:
        record += [extent] + [stride * item for stride in strides]
    record[1] = 8 * len(record)
    return record


def gemv_record(step: Gemm, bases: Bases) -> list[int]:
    """A product with a vector, as BLAS does it faster; empty where it is none, or one for several threads."""
    m, n, k = step.m, step.n, step.k
    if step.batch or not k or min(m, n) != 1 or threads.gemm_chunk(max(m, n), 2.0 * m * n * k):
        return []
    if n == 1:  # c = a x: Fortran's matrix is a'
        matrix, trans, leading, vector, output = step.a, step.trans_a, step.lda, step.b, step.c
        step_x, step_y = (1 if step.trans_b else max(step.ldb, 1)), max(step.ldc, 1)
        size = m
    else:  # c = x' b
        matrix, trans, leading, vector, output = step.b, not step.trans_b, step.ldb, step.a, step.c
        step_x, step_y, size = (max(step.lda, 1) if step.trans_a else 1), 1, n
    rows, columns = (size, k) if trans else (k, size)  # of Fortran's
    record = [8, 120, blas.DTYPES.index(step.dtype), ord("N" if trans else "T"), rows, columns, max(leading, rows)]
    return [*record, step_x, step_y, *bases.place(matrix), *bases.place(vector), *bases.place(output)]


def _letter(transposed: bool) -> int:
    return ord("T" if transposed else "N")


def cost_of(step: Step) -> float:
    """Nanoseconds of one thread, about."""
    if isinstance(step, KernelStep):
        return step.cost
    if isinstance(step, Gemm):
        points = float(np.prod([axis[0] for axis in step.batch])) if step.batch else 1.0
        return points * (100.0 + 2.0 * step.m * step.n * step.k / 50.0)
    if isinstance(step, CopyStep):
        return 5.0 + step.bytes * 0.02
    if isinstance(step, HostStep):
        guess = 20.0 + sum([10.0 * math.prod(view.shape) for view in step.ins + step.outs])
        return step.native.cost or guess if step.native is not None else guess
    costs = [STEP + sum(map(cost_of, p.program.steps)) for p in parts(step)]
    if isinstance(step, BranchStep):
        return STEP + max(costs)
    return STEP + sum(costs) * (step.length if isinstance(step, LoopStep) else TURNS if costs else 1)


def _own_cost(step: Step) -> float:
    """The same without the loops inside, which count for themselves."""
    if isinstance(step, LoopStep | WhileStep):
        return STEP
    if isinstance(step, BranchStep):
        return STEP + max([sum(map(_own_cost, p.program.steps)) for p in step.branches])
    return cost_of(step)
