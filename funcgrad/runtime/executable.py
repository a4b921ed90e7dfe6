"""A program, ready to run: `load(program)` prints, compiles and lays out; the Executable is called with memory.

Enters: a Program. Leaves: an Executable. Its `call(*ndarrays)` (inputs, then outputs) is one crossing into machine code;
memory for intermediates comes from a pool shared by all executables, so that calls from several threads do not meet.
"""

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.codegen.cpu import CPU
from funcgrad.codegen.printer import print_nest
from funcgrad.loops.nest import ERROR_RECORD_BYTES
from funcgrad.loops.program import HostStep, KernelStep, Program, View
from funcgrad.runtime import driver_native as layout
from funcgrad.runtime import kernels, records, threads
from funcgrad.runtime.buffers import array_address
from funcgrad.runtime.counters import counters
from funcgrad.runtime.driver import companion, driver

LONG = 20_000.0  # nanoseconds of a call from which the GIL is released
SMALLEST_CLASS = 10


class Executable:
    """`call(*arrays)`: exact ndarrays, C-contiguous, of the program's shapes and dtypes; outputs are written.
    `run(inputs, outputs)`: the same by addresses. Both raise IndexError when a kernel's check fails."""

    def __init__(self, program: Program, addresses: dict[int, int], scratch: int = 0):
        """`addresses`: of the kernel of each KernelStep, by its number; `scratch`: bytes that kernels use beyond
        what the steps say."""
        self.program = program
        self._driver = driver()
        self._bases = bases = records.Bases(program)
        self._count = bases.arena
        self._keep: list[np.ndarray] = []
        self._stretches: list[np.ndarray | HostStep] = []
        self._build(bases, addresses)
        self._state = self._make_state(scratch)
        self._pack = struct.Struct(f"{self._count}q").pack
        self.hosted = any(isinstance(s, HostStep) for s in self._stretches)
        memory = (self._keep, self._stretches)  # an entry may outlive its Executable
        method = lambda name: self._driver.method(name, self._state, memory)
        self._packed = method("call_packed")
        self._stretch = method("call_stretch")
        # The ways in, builtin functions that return None, or bytes that `check` turns into the error; None when there are
        # host steps. Inputs come first, then outputs: as ndarrays; as ints (their addresses); as one bytes of packed int64.
        self.entry = None if self.hosted else method("call_arrays")
        self.direct = None if self.hosted else method("call_direct")
        self.launch = None if self.hosted else self._packed
        counters.add("executables")

    # ---- layout --------------------------------------------------------------------------------------------

    def _build(self, bases: records.Bases, addresses: dict[int, int]) -> None:
        run: list[int] = []
        self._cost = 0.0
        for number, step in enumerate(self.program.steps):
            if isinstance(step, HostStep):
                self._close(run)
                run = []
                self._stretches.append(step)
                continue
            self._cost += records.cost_of(step)
            if isinstance(step, KernelStep):
                dims = np.array(step.dims, np.int64) if step.dims else np.zeros(1, np.int64)
                self._keep.append(dims)
                run += records.kernel_record(step, number, addresses[number], array_address(dims), bases)
            else:
                run += records.gemm_record(step, number, bases)
        if run or not self._stretches:
            self._close(run)

    def _close(self, run: list[int]) -> None:
        if run or not self._stretches:
            self._stretches.append(np.array(run + [0], np.int64))

    def _make_state(self, scratch: int) -> np.ndarray:
        steps = [s for s in self.program.steps if isinstance(s, KernelStep)]
        most_refs = max((len(s.refs) for s in steps), default=0)
        scratch = max(scratch, *(s.scratch for s in steps), 0)
        stride = -(-(ERROR_RECORD_BYTES + scratch) // 128) * 128  # threads do not share a cache line pair
        buffers = layout.B_BASES + 8 * (self._count + 1)
        arena = _round(buffers + 8 * most_refs)
        self._scratch_at = _round(arena + self.program.arena)
        total = self._scratch_at + stride * threads.most()
        state = np.zeros(layout.S_BYTES_TOTAL // 8, np.int64)
        self._class = max(SMALLEST_CLASS, (total - 1).bit_length())
        self._arena_at = arena
        first = self._stretches[0]
        for offset, value in (
            (layout.S_ENVIRONMENT, self._driver.env_address),
            (layout.S_CODE, 0 if isinstance(first, HostStep) else array_address(first)),
            (layout.S_ADDRESSES, self._count),
            (layout.S_CLASS, self._class),
            (layout.S_BUFFERS, buffers),
            (layout.S_ARENA, arena),
            (layout.S_SCRATCH, self._scratch_at),
            (layout.S_SCRATCH_STRIDE, stride),
            (layout.S_LONG, int(self._cost > LONG)),
            (layout.S_BLAS, int(any(not isinstance(s, KernelStep | HostStep) for s in self.program.steps))),
            (layout.S_STEPS, sum(not isinstance(s, HostStep) for s in self.program.steps)),
            (layout.S_CHECKS, int(any(s.checks for s in steps))),
        ):
            state[offset // 8] = value
        return state

    # ---- calling -------------------------------------------------------------------------------------------

    def call(self, *arrays: np.ndarray) -> None:
        """Run on ndarrays, inputs then outputs. Donated and forwarded buffers are the caller's business."""
        if self.entry is not None:
            answer = self.entry(*arrays)
            if answer is None:
                return
            if answer:
                self.check(answer)
        addresses = [array_address(a) for a in arrays]
        self.run(addresses[: len(self.program.inputs)], addresses[len(self.program.inputs) :])

    def run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Run on addresses."""
        if len(inputs) + len(outputs) != self._count:
            raise TypeError(
                f"got {len(inputs)} inputs and {len(outputs)} outputs; the program takes "
                f"{len(self.program.inputs)} and {len(self.program.outputs)}"
            )
        packed = self._pack(*inputs, *outputs)
        if self.hosted:
            self._run_hosted(packed)
            return
        answer = self._packed(packed)
        if answer is not None:
            self.check(answer)

    def check(self, answer: bytes | None) -> None:
        """Raise what an entry's answer says, if it says anything."""
        if answer is None:
            return
        if not answer:
            raise MemoryError(f"no memory for the program's {1 << self._class:,} bytes of intermediates")
        number, check, index, size = struct.unpack("4q", answer)
        step = self.program.steps[number - 1]
        assert isinstance(step, KernelStep)
        text = step.checks[check - 1].message
        raise IndexError(text.format(index=index, size=size))

    # ---- programs with host steps ----------------------------------------------------------------------------

    def _run_hosted(self, packed: bytes) -> None:
        env = self._driver.env_address
        block = self._driver.prepare(env, array_address(self._state))
        if not block:
            self.check(b"")
        try:
            table = np.frombuffer(_memory(block + layout.B_BASES, 8 * (self._count + 1)), np.int64)
            table[: self._count] = np.frombuffer(packed, np.int64)
            table[self._count] = block + self._arena_at
            for stretch in self._stretches:
                if isinstance(stretch, HostStep):
                    self._host(stretch, table)
                else:
                    self.check(self._stretch(struct.pack("2q", block, array_address(stretch))))
        finally:
            self._driver.release(env, self._class, block)

    def _host(self, step: HostStep, table: np.ndarray) -> None:
        answers = step.call(*(self._view(view, table) for view in step.ins))
        if not isinstance(answers, tuple | list):
            answers = (answers,)
        for view, answer in zip(step.outs, answers, strict=True):
            self._view(view, table)[...] = answer

    def _view(self, view: View, table: np.ndarray) -> np.ndarray:
        number, offset = self._bases.place(view.ref)
        address = int(table[number]) + offset
        low = high = 0
        for n, stride in zip(view.shape, view.strides, strict=True):
            low, high = low + min(0, (n - 1) * stride), high + max(0, (n - 1) * stride)
        if 0 in view.shape:
            return np.empty(view.shape, view.dtype)
        memory = _memory(address + low, high - low + view.dtype.itemsize)
        return np.ndarray(view.shape, view.dtype, memory, -low, view.strides)


def _memory(address: int, size: int) -> Any:
    """A buffer over memory that somebody else keeps alive."""
    return (ctypes.c_char * size).from_address(address)


def _round(size: int) -> int:
    return -(-size // 64) * 64


def load(program: Program) -> Executable:
    """Make a program ready: print its nests, compile those that are new, lay out its records.

    Raises CompileError (with the kernel's source) when a kernel cannot be made; nothing else is affected then."""
    places = [k for k, step in enumerate(program.steps) if isinstance(step, KernelStep)]
    sources = [print_nest(program.steps[k].nest, CPU) for k in places]
    found = dict(zip(places, kernels.addresses([s.text for s in sources], companion()), strict=True))
    return Executable(program, found, max((s.scratch for s in sources), default=0))
