"""A program: buffers and the steps that run over them, in order. What the runtime executes.

Buffers are inputs (the caller's memory, never written unless donated), outputs (fresh memory, one buffer
each), and one arena for everything between. A step names memory by (buffer, byte offset).

Offsets into the arena are multiples of 64 for whole arrays; a view into one may start at any element. Two refs of a kernel
step may be the same memory, one read and one written: then both touch the same element at the same point, and no other
operand touches it. The same holds for an output and the donated input that it shares memory with. Outputs of size 0
are written by no step.

Control flow is made of steps that hold programs. A `Part` says where the buffers of such a program lie in the memory of the one
around it: nothing is passed, nothing is copied. What moves from step to step (a slice of xs, one of two memories of a carry)
lies at a `Slot`, an address that the loop changes; inside the loop's parts a Ref may name it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from funcgrad.ir.loop_rules import Native
from funcgrad.loops.nest import Nest


@dataclass(frozen=True, slots=True)
class Ref:
    """Memory of a program: `offset` bytes into input / output `number`, or into the arena (number 0)."""

    kind: Literal["input", "output", "arena", "slot"]  # slot: only where a loop's parts say where their buffers lie
    number: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class KernelStep:
    nest: Nest
    refs: tuple[Ref, ...]  # one per non-scratch operand
    dims: tuple[int, ...]  # as laid out in nest.py, params included
    extent: int  # the kernel runs over [0, extent)
    cost: float  # estimated nanoseconds of one thread, to decide whether threads pay
    scratch: int = 0  # bytes of scratch past the error record
    checks: tuple["Check", ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """What an error record of this kernel means: the operator, the axis and the user's line."""

    message: str  # with {index} and {size} to fill in


@dataclass(frozen=True, slots=True)
class Gemm:
    """C = op(A) @ op(B), row-major, for every point of the batch: C is m x n, with leading dimensions in elements.
    `batch` holds (extent, stride of a, of b, of c) per batch axis, strides in elements. Along an axis where c stands still (the
    last ones, and only they) the products are added up."""

    dtype: np.dtype  # float32, float64, complex64, complex128
    a: Ref
    b: Ref
    c: Ref
    trans_a: bool
    trans_b: bool
    m: int
    n: int
    k: int
    lda: int
    ldb: int
    ldc: int
    batch: tuple[tuple[int, int, int, int], ...] = ()

    def points(self) -> tuple[int, int]:
        """The number of results, and of the products that add up to each."""
        sums = prod([extent for extent, _, _, c in self.batch if not c])
        return prod([extent for extent, _, _, c in self.batch if c]), sums


@dataclass(frozen=True, slots=True)
class View:
    """An array in a program's memory, for a host step. Strides in bytes, NumPy's dtype."""

    ref: Ref
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class HostStep:
    """Python between two native stretches: `call(*arrays) -> array or tuple of arrays`, copied into `outs`. Where there is a
    `native` way the driver takes it, and the step is like a kernel's."""

    name: str
    call: Callable[..., Any]
    ins: tuple[View, ...]
    outs: tuple[View, ...]
    native: Native | None = None


@dataclass(frozen=True, slots=True)
class CopyStep:
    """`bytes` bytes from one place to another; they do not overlap, unless they are one place."""

    src: Ref
    dst: Ref
    bytes: int


@dataclass(frozen=True, slots=True)
class ConstStep:
    """A scalar's bytes, put down: at most 16."""

    dst: Ref
    data: bytes


@dataclass(frozen=True, slots=True)
class Part:
    """A program that runs inside another: where its inputs, outputs and arena lie there.

    An output and an input that `program.donated` pairs lie at one place; all other outputs lie where no input does."""

    program: "Program"
    inputs: tuple[Ref, ...]
    outputs: tuple[Ref, ...]
    arena: Ref


@dataclass(frozen=True, slots=True)
class Slot:
    """An address that changes: `stride` bytes further after each step."""

    start: Ref
    stride: int = 0


@dataclass(frozen=True, slots=True)
class LoopStep:
    """`length` runs of `body`; after each, the slots move, then those in `swaps` change places, pair by pair."""

    length: int
    body: Part
    slots: tuple[Slot, ...] = ()
    swaps: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class WhileStep:
    """`body` for as long as `test` leaves a true byte at `predicate`. At the end, what lies at a slot is copied to its result:
    (slot, place, bytes), unless it lies there already."""

    test: Part
    predicate: Ref
    body: Part
    slots: tuple[Slot, ...] = ()
    swaps: tuple[tuple[int, int], ...] = ()
    results: tuple[tuple[int, Ref, int], ...] = ()


@dataclass(frozen=True, slots=True)
class BranchStep:
    """One of `branches`: that of the int32 at `index`, moved inside."""

    index: Ref
    branches: tuple[Part, ...]


Step = KernelStep | Gemm | HostStep | CopyStep | ConstStep | LoopStep | WhileStep | BranchStep


@dataclass(frozen=True, slots=True)
class Program:
    steps: tuple[Step, ...]
    inputs: tuple[tuple[tuple[int, ...], np.dtype], ...]  # shape, dtype of each input
    outputs: tuple[tuple[tuple[int, ...], np.dtype], ...]
    arena: int  # bytes
    donated: tuple[tuple[int, int], ...] = ()  # (output, input) that share memory
    forwarded: tuple[tuple[int, int], ...] = ()  # (output, input): the output *is* the input, no memory of its own


def parts(step: Step) -> tuple[Part, ...]:
    """The programs that a step holds."""
    if isinstance(step, LoopStep):
        return (step.body,)
    if isinstance(step, WhileStep):
        return (step.test, step.body)
    return step.branches if isinstance(step, BranchStep) else ()


def hosted(program: Program) -> bool:
    """Whether a host step is somewhere in it."""
    return any([needs_python(step) for step in program.steps])


def needs_python(step: Step) -> bool:
    """Whether the step is a host step, or holds one, that the driver cannot take."""
    return (isinstance(step, HostStep) and step.native is None) or any([hosted(p.program) for p in parts(step)])


def every_step(program: Program) -> list[Step]:
    """The steps of the program and of those inside it, each before those that it holds: their numbers in errors."""
    found: list[Step] = []
    for step in program.steps:
        found.append(step)
        for part in parts(step):
            found += every_step(part.program)
    return found
