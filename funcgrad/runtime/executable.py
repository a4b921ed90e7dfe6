"""A program, ready to run: `load(program)` prints, compiles and lays out; the Executable is called with memory.

Enters: a Program. Leaves: an Executable. Its `call(*ndarrays)` (inputs, then outputs) is one crossing into machine code;
memory for intermediates comes from a pool shared by all executables, so that calls from several threads do not meet.
"""

import ctypes
import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.codegen.cpu import CPU
from funcgrad.codegen.matrices import matrix_kernel
from funcgrad.codegen.printer import print_nest
from funcgrad.core.errors import index_error
from funcgrad.loops.nest import ERROR_RECORD_BYTES
from funcgrad.loops.program import BranchStep, Gemm, HostStep, KernelStep, LoopStep, Program, Ref, View, every_step, hosted
from funcgrad.runtime import blas, kernels, records, threads
from funcgrad.runtime import driver_layout as layout
from funcgrad.runtime.buffers import array_address
from funcgrad.runtime.counters import counters
from funcgrad.runtime.driver import companion, driver

ALONE = 1 << 18  # elements of a matrix up to which the BLAS library does not use threads in a host step
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
        self._steps = every_step(program)
        self._called = [s for s in self._steps if isinstance(s, KernelStep | HostStep)]
        linked = records.Linker(program, addresses)
        self._stretches = linked.stretches
        self._count = len(program.inputs) + len(program.outputs)
        self._entries = linked.entries
        self._cost = sum(map(records.cost_of, program.steps))
        self._state = self._make_state(scratch)
        self._pack = struct.Struct(f"{self._count}q").pack
        self.hosted = hosted(program)
        memory = linked.keep  # an entry may outlive its Executable
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

    def _make_state(self, scratch: int) -> np.ndarray:
        steps = [s for s in self._called if isinstance(s, KernelStep)]
        most_refs = max((len(s.refs) if isinstance(s, KernelStep) else len(s.ins + s.outs) for s in self._called), default=0)
        scratch = max(scratch, *(s.scratch for s in steps), 0)
        stride = -(-(ERROR_RECORD_BYTES + scratch) // 128) * 128  # threads do not share a cache line pair
        buffers = layout.B_BASES + 8 * self._entries
        arena = _round(buffers + 8 * most_refs)
        self._scratch_at = _round(arena + self.program.arena)
        total = self._scratch_at + stride * threads.most()
        state = np.zeros(layout.S_BYTES_TOTAL // 8, np.int64)
        self._class = max(SMALLEST_CLASS, (total - 1).bit_length())
        self._arena_at = arena
        first = self._stretches[0]
        for offset, value in (
            (layout.S_ENVIRONMENT, self._driver.env_address),
            (layout.S_CODE, array_address(first) if isinstance(first, np.ndarray) else 0),
            (layout.S_ADDRESSES, self._count),
            (layout.S_CLASS, self._class),
            (layout.S_BUFFERS, buffers),
            (layout.S_ARENA, arena),
            (layout.S_SCRATCH, self._scratch_at),
            (layout.S_SCRATCH_STRIDE, stride),
            (layout.S_LONG, int(self._cost > LONG)),
            (layout.S_BLAS, int(any(isinstance(s, Gemm) for s in self._steps))),
            (layout.S_STEPS, sum(not (isinstance(s, HostStep) and s.native is None) for s in self.program.steps)),
            (layout.S_CHECKS, int(any(map(records.uses_record, steps)))),
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
        step = self._steps[number - 1]
        assert isinstance(step, KernelStep)
        raise index_error(step.checks[check - 1].message, index, size)

    # ---- programs with host steps ----------------------------------------------------------------------------

    def _run_hosted(self, packed: bytes) -> None:
        env = self._driver.env_address
        block = self._driver.prepare(env, array_address(self._state))
        if not block:
            self.check(b"")
        try:
            table = np.frombuffer(_memory(block + layout.B_BASES, 8 * self._entries), np.int64)
            table[: self._count] = np.frombuffer(packed, np.int64)
            table[self._count] = block + self._arena_at
            self._go(self._stretches, block, table)
        finally:
            self._driver.release(env, self._class, block)

    def _go(self, stretches: list[records.Stretch], block: int, table: np.ndarray) -> None:
        for stretch in stretches:
            if isinstance(stretch, records.HostCall):
                host_call(stretch, table)
            elif isinstance(stretch, records.Hosted):
                self._control(stretch, block, table)
            else:
                self.check(self._stretch(struct.pack("2q", block, array_address(stretch))))

    def _control(self, it: records.Hosted, block: int, table: np.ndarray) -> None:
        """A loop or branch step by step, as the driver would walk it."""
        step, bases = it.step, it.bases
        if isinstance(step, BranchStep):
            index = int(np.frombuffer(_memory(address_of(step.index, bases, table), 4), np.int32)[0])
            self._go(it.bodies[min(max(index, 0), len(it.bodies) - 1)], block, table)
            return
        for k, slot in enumerate(step.slots):
            table[it.slots + k] = address_of(slot.start, bases, table)
        if isinstance(step, LoopStep):
            for _ in range(step.length):
                self._go(it.bodies[0], block, table)
                _advance(it, table)
            return
        predicate = address_of(step.predicate, bases, table)
        while True:
            self._go(it.bodies[0], block, table)
            if not _memory(predicate, 1).raw[0]:
                break
            self._go(it.bodies[1], block, table)
            _advance(it, table)
        for slot, ref, size in step.results:
            ctypes.memmove(address_of(ref, bases, table), int(table[it.slots + slot]), size)


def _advance(it: records.Hosted, table: np.ndarray) -> None:
    step = it.step
    assert not isinstance(step, BranchStep)
    for k, slot in enumerate(step.slots):
        table[it.slots + k] += slot.stride
    for a, b in step.swaps:
        a, b = it.slots + a, it.slots + b
        table[a], table[b] = int(table[b]), int(table[a])


def address_of(ref: Ref, bases: records.Bases, table: np.ndarray) -> int:
    """Where memory of a program is in this call."""
    number, offset = bases.place(ref)
    return int(table[number]) + offset


def host_call(it: records.HostCall, table: np.ndarray) -> None:
    """Run a host step."""
    if max([math.prod(view.shape[-2:]) for view in (*it.step.ins, *it.step.outs)], default=0) > ALONE:
        _host_call(it, table)
    else:
        with blas.one_thread():
            _host_call(it, table)


def _host_call(it: records.HostCall, table: np.ndarray) -> None:
    ins = [_view(view, it.bases, table) for view in it.step.ins]
    into = getattr(it.step.call, "into", None)
    if into is not None and into(ins, [_view(view, it.bases, table) for view in it.step.outs]):
        return
    answers = it.step.call(*ins)
    if not isinstance(answers, tuple | list):
        answers = (answers,)
    for view, answer in zip(it.step.outs, answers, strict=True):
        _view(view, it.bases, table)[...] = answer


def _view(view: View, bases: records.Bases, table: np.ndarray) -> np.ndarray:
    address = address_of(view.ref, bases, table)
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
    steps = dict(enumerate(every_step(program)))
    sources = {k: print_nest(step.nest, CPU) for k, step in steps.items() if isinstance(step, KernelStep)}
    texts = {k: source.text for k, source in sources.items()}
    natives = {k: step.native for k, step in steps.items() if isinstance(step, HostStep) and step.native is not None}
    texts |= {k: native.text or matrix_kernel(native.name) for k, native in natives.items()}
    found = dict(zip(texts, kernels.addresses(list(texts.values()), companion()), strict=True))
    return Executable(program, found, max((s.scratch for s in (*sources.values(), *natives.values())), default=0))
