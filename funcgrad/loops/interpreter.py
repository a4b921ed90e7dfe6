"""Running a Program in plain NumPy, with no compile: the reference for kernels, and what answers when a compile fails.

In: a `Program` and its input arrays. Out: its output arrays. A nest is run on its whole space at once, so that
this is as fast as NumPy's own temporaries allow.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from funcgrad.core.errors import index_error
from funcgrad.loops import scalar_numpy as scalar
from funcgrad.loops.expr import Expr
from funcgrad.loops.nest import Nest, Pass, Reduction, Store
from funcgrad.loops.program import ConstStep, CopyStep, Gemm, HostStep, KernelStep, LoopStep, Part, Program, Ref, View, WhileStep


def run(
    program: Program, inputs: Sequence[Any], kernel: Callable[[KernelStep, "Memory"], None] | None = None
) -> list[np.ndarray]:
    """The program's outputs for these inputs. Donated inputs are written over only in a copy. `kernel` runs a kernel's step
    in some other way (runtime/cuda.py: in the simulator)."""
    memory = _Memory(program, inputs)
    with np.errstate(all="ignore"):
        _steps(program, memory, kernel)
    return memory.outputs()


def _steps(program: Program, memory: "Memory", kernel: Any) -> None:
    for step in program.steps:
        if isinstance(step, KernelStep):
            _Kernel(step, memory).run() if kernel is None else kernel(step, memory)
        elif isinstance(step, Gemm):
            _gemm(step, memory)
        elif isinstance(step, HostStep):
            _host(step, memory)
        elif isinstance(step, CopyStep):
            memory.bytes(step.dst, step.bytes)[...] = memory.bytes(step.src, step.bytes)
        elif isinstance(step, ConstStep):
            memory.bytes(step.dst, len(step.data))[...] = np.frombuffer(step.data, np.uint8)
        elif isinstance(step, LoopStep):
            slots = _Slots(step, memory)
            for _ in range(step.length):
                slots.run(step.body, kernel)
                slots.advance()
        elif isinstance(step, WhileStep):
            slots = _Slots(step, memory)
            while slots.holds(step, kernel):
                slots.run(step.body, kernel)
                slots.advance()
            for slot, ref, size in step.results:
                memory.bytes(ref, size)[...] = memory.bytes(slots.places[slot], size)
        else:
            index = int(memory.bytes(step.index, 4).view(np.int32)[0])
            part = step.branches[min(max(index, 0), len(step.branches) - 1)]
            _steps(part.program, PartMemory(part, memory, []), kernel)


class _Slots:
    """The moving addresses of a loop."""

    def __init__(self, step: LoopStep | WhileStep, memory: "Memory"):
        self.step, self.memory = step, memory
        self.places = [slot.start for slot in step.slots]

    def run(self, part: Part, kernel: Any) -> None:
        _steps(part.program, PartMemory(part, self.memory, self.places), kernel)

    def holds(self, step: WhileStep, kernel: Any) -> bool:
        self.run(step.test, kernel)
        return bool(self.memory.bytes(step.predicate, 1)[0])

    def advance(self) -> None:
        places = self.places
        for k, slot in enumerate(self.step.slots):
            if slot.stride:
                places[k] = replace(places[k], offset=places[k].offset + slot.stride)
        for a, b in self.step.swaps:
            places[a], places[b] = places[b], places[a]


class Memory:
    """Buffers as bytes: `raw[kind][number]`."""

    raw: dict[str, list[np.ndarray]]

    def bytes(self, ref: Ref, size: int) -> np.ndarray:
        return self.raw[ref.kind][ref.number][ref.offset : ref.offset + size]

    def array(self, ref: Ref, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """The array at `ref`, strides in bytes. ValueError where it would leave its buffer."""
        if 0 in shape:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, self.raw[ref.kind][ref.number], ref.offset, strides)

    def flat(self, ref: Ref, dtype: np.dtype) -> tuple[np.ndarray, int]:
        """The buffer of `ref` as a flat array, and the place of `ref` in it."""
        raw = self.raw[ref.kind][ref.number]
        skip = ref.offset % dtype.itemsize
        usable = (len(raw) - skip) // dtype.itemsize * dtype.itemsize
        return raw[skip : skip + usable].view(dtype), ref.offset // dtype.itemsize


class PartMemory(Memory):
    """The buffers of a program inside another one: stretches of those around it."""

    def __init__(self, part: Part, outer: Memory, slots: list[Ref]):
        def stretch(ref: Ref, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
            if ref.kind == "slot":
                ref = slots[ref.number]
            return outer.bytes(ref, prod(shape) * dtype.itemsize)

        program = part.program
        self.raw = {
            "input": [stretch(r, *x) for r, x in zip(part.inputs, program.inputs, strict=True)],
            "output": [stretch(r, *x) for r, x in zip(part.outputs, program.outputs, strict=True)],
            "arena": [outer.bytes(part.arena, program.arena)],
        }


class _Memory(Memory):
    """The buffers of one call, as bytes."""

    def __init__(self, program: Program, inputs: Sequence[Any]):
        self.program = program
        given = [np.ascontiguousarray(np.asarray(x, d)).reshape(s) for x, (s, d) in zip(inputs, program.inputs, strict=True)]
        shared = {i for _, i in program.donated}
        given = [x.copy() if i in shared else x for i, x in enumerate(given)]
        self.given = given
        forwarded = dict(program.forwarded)
        donated = dict(program.donated)
        self.results = [
            given[forwarded[o]] if o in forwarded else None if o in donated else np.empty(shape, dtype)
            for o, (shape, dtype) in enumerate(program.outputs)
        ]
        ins = [_raw(x) for x in given]
        outs = [ins[donated[o]] if x is None else _raw(x) for o, x in enumerate(self.results)]
        self.raw = {"input": ins, "output": outs, "arena": [np.zeros(program.arena, np.uint8)]}

    def outputs(self) -> list[np.ndarray]:
        raw = self.raw["output"]
        return [
            np.ndarray(shape, dtype, raw[o]) if x is None else x
            for o, (x, (shape, dtype)) in enumerate(zip(self.results, self.program.outputs, strict=True))
        ]


def _raw(x: np.ndarray) -> np.ndarray:
    return np.ndarray((x.nbytes,), np.uint8, x) if x.nbytes else np.empty(0, np.uint8)


class _Kernel:
    """One kernel step."""

    def __init__(self, step: KernelStep, memory: Memory):
        self.step, self.memory, self.nest = step, memory, step.nest
        nest: Nest = step.nest
        n = nest.outer + nest.inner
        dims = iter(step.dims)
        self.extents = tuple(next(dims) for _ in range(n))
        self.strides: list[tuple[int, ...]] = []
        self.indirect: list[list[tuple[int, int]]] = []
        for o in nest.operands:
            self.strides.append(tuple(next(dims) if s is None else s for s in o.strides))
            self.indirect.append([(next(dims), next(dims)) for _ in range(o.indirect)])
        self.refs: list[Ref | None] = []
        refs = iter(step.refs)
        self.scratch: dict[int, np.ndarray] = {}
        for k, o in enumerate(nest.operands):
            if o.role == "scratch":
                next(dims)
                self.scratch[k] = np.empty(self.extents, o.dtype)
            self.refs.append(None if o.role == "scratch" else next(refs))
        self.params = []
        for dtype in nest.params:
            words = [next(dims) for _ in range(-(-dtype.itemsize // 8))]
            self.params.append(np.array(words, np.int64).view(np.uint8)[: dtype.itemsize].view(dtype)[0])
        self.accs: dict[int, np.ndarray] = {}
        self.carries: dict[int, np.ndarray] = {}
        self.step_number = 0  # of a pass with carries: where it is along the inner axis

    def run(self) -> None:
        for p in self.nest.passes:
            shape = self.extents
            if p.level != "row" or p.carries:
                shape = shape[: self.nest.outer] + (1,) * self.nest.inner
            self.shape, self.memo, self.step_number = shape, {}, 0
            if p.carries:
                self.walk(p)
                continue
            for r in p.reductions:
                if r.running:
                    self.accs[r.number] = self.scan(r)
            results = {r.number: self.fold(r) for r in p.reductions if not r.running}
            self.write(p)
            self.accs |= results

    def walk(self, p: Pass) -> None:
        """A pass with carries, one step after another, for all lanes at once; a lane that has ended stands still."""
        now = {c.number: np.array(np.broadcast_to(self.value(c.start), self.shape)) for c in p.carries}
        steps = self.extents[self.nest.outer] if p.level == "row" else None
        while steps is None or self.step_number < steps:
            self.memo = {}
            self.carries.update(now)
            goes_on = None
            if p.test is not None:
                goes_on = np.broadcast_to(self.value(p.test), self.shape)
                if not goes_on.any():
                    break
            now = {c.number: np.broadcast_to(self.value(c.next), self.shape) for c in p.carries}
            if goes_on is not None:
                now = {number: np.where(goes_on, x, self.carries[number]) for number, x in now.items()}
            self.write(p)
            self.step_number += 1
        self.carries.update(now)
        self.step_number = 0

    def write(self, p: Pass) -> None:
        """The stores of a pass, all values before any of them is written (an output may lie in an input's memory)."""
        value = self.value
        ready = [
            (s, np.array(value(s.value)), [value(i) for i in s.indices], None if s.guard is None else value(s.guard))
            for s in p.stores
        ]
        for s, x, indices, guard in ready:
            self.store(s, x, indices, guard)

    def store(self, s: Store, value: np.ndarray, indices: list[np.ndarray], guard: Any) -> None:
        o = self.nest.operands[s.operand]
        if not indices and s.combine is None and guard is None:
            self.array(s.operand)[...] = value
            return
        flat, place = self.places(s.operand, indices)
        place, value = np.broadcast_to(place, self.shape).ravel(), np.broadcast_to(value, self.shape).ravel()
        if guard is not None:
            keep = np.broadcast_to(guard, self.shape).ravel()
            place, value = place[keep], value[keep]
        if s.combine is None:
            flat[place] = value.astype(o.dtype)
        else:
            scalar.FOLDS[s.combine].at(flat, place, value.astype(o.dtype))

    def places(self, operand: int, indices: list[np.ndarray]) -> tuple[np.ndarray, Any]:
        """The operand's buffer as a flat array, and the elements' places in it."""
        ref = self.refs[operand]
        assert ref is not None
        flat, place = self.memory.flat(ref, self.nest.operands[operand].dtype)
        total: Any = place + self.moved(operand)
        for axis, (n, s) in enumerate(zip(self.shape, self.strides[operand], strict=True)):
            if s and n > 1:
                total = total + np.arange(n).reshape([-1 if a == axis else 1 for a in range(len(self.shape))]) * s
        for i, (stride, _) in zip(indices, self.indirect[operand], strict=True):
            total = total + i * stride
        return flat, total

    def array(self, operand: int) -> np.ndarray:
        o = self.nest.operands[operand]
        if o.role == "scratch":
            return self.scratch[operand]
        strides = tuple(0 if n == 1 else s * o.dtype.itemsize for n, s in zip(self.shape, self.strides[operand], strict=True))
        ref = self.refs[operand]
        assert ref is not None
        if self.step_number:
            ref = Ref(ref.kind, ref.number, ref.offset + self.moved(operand) * o.dtype.itemsize)
        return self.memory.array(ref, self.shape, strides, o.dtype)

    def moved(self, operand: int) -> int:
        """How far the steps of a pass with carries have moved the operand, in elements."""
        return self.step_number * self.strides[operand][self.nest.outer] if self.step_number else 0

    # --- folds -------------------------------------------------------------------------------------------

    def fold(self, r: Reduction) -> np.ndarray:
        value = np.broadcast_to(self.value(r.value), self.shape)
        outer, inner = self.nest.outer, self.nest.inner
        kept = self.extents[:outer] + (1,) * inner
        if r.op in ("argmax", "argmin"):
            assert r.index_value is not None
            flat = value.reshape(self.extents[:outer] + (-1,))
            places = np.broadcast_to(self.value(r.index_value), self.shape).reshape(flat.shape)
            first = (np.argmax if r.op == "argmax" else np.argmin)(flat, axis=-1)[..., None]
            return np.take_along_axis(places, first, -1).reshape(kept)
        wide = _wide(r)
        axes = tuple(range(outer, outer + inner))
        out = scalar.FOLDS[r.op].reduce(value.astype(wide), axis=axes, initial=scalar.identity(r.op, wide))
        return np.asarray(out).astype(r.dtype).reshape(kept)

    def scan(self, r: Reduction) -> np.ndarray:
        value = np.broadcast_to(self.value(r.value), self.shape).astype(_wide(r))
        rows = value.reshape(self.extents[: self.nest.outer] + (prod(self.extents[self.nest.outer :]),))
        return scalar.FOLDS[r.op].accumulate(rows, axis=-1).astype(r.dtype).reshape(self.shape)

    # --- expressions -------------------------------------------------------------------------------------

    def value(self, root: Expr) -> np.ndarray:
        """The values of an expression over the space (perhaps with extents of 1 where it does not vary)."""
        memo = self.memo
        stack = [root]
        while stack:
            e = stack[-1]
            if id(e) in memo:
                stack.pop()
                continue
            waiting = [a for a in e.args if id(a) not in memo]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            memo[id(e)] = np.asarray(self.apply(e, [memo[id(a)] for a in e.args]), e.dtype)
        return memo[id(root)]

    def apply(self, e: Expr, args: list[np.ndarray]) -> Any:
        op = e.op
        if op in scalar.BINARY:
            return scalar.BINARY[op](*args)
        if op in scalar.UNARY:
            return scalar.UNARY[op](*args)
        if op in scalar.MORE:
            return scalar.MORE[op](*args)
        if op == "load":
            if not args:
                return self.array(e.attr)
            flat, place = self.places(e.attr, args)
            return flat[place]
        if op == "select":
            return np.where(*args)
        if op == "cast":
            return scalar.cast(args[0], e.dtype)
        if op == "bitcast":
            return scalar.bitcast(args[0], e.dtype)
        if op == "index":
            n = self.shape[e.attr]
            first = self.step_number if e.attr == self.nest.outer else 0
            return first + np.arange(n).reshape([-1 if a == e.attr else 1 for a in range(len(self.shape))])
        if op == "threefry_hi" or op == "threefry_lo":
            return scalar.threefry(*args)[op == "threefry_lo"]
        if op == "check":
            return self.check(e, *args)
        if op == "external":
            return e.attr.call(*args)
        leaf = {"const": lambda: e.attr, "param": lambda: self.params[e.attr], "extent": lambda: self.extents[e.attr]}
        if op in leaf:
            return leaf[op]()
        return self.carries[e.attr] if op == "carry" else self.accs[e.attr]

    def check(self, e: Expr, i: np.ndarray, size: np.ndarray) -> np.ndarray:
        bad = (i < 0) | (i >= size)
        if bad.any() and prod(self.shape):
            where = np.unravel_index(int(np.argmax(bad)), bad.shape)
            sizes = np.broadcast_to(size, bad.shape)
            message = self.step.checks[e.attr].message
            raise index_error(message, np.broadcast_to(i, bad.shape)[where], sizes[where])
        return i


def _wide(r: Reduction) -> np.dtype:
    """The dtype in which a fold is carried: sums of float32 in float64."""
    if r.op == "add" and r.dtype in (np.float32, np.complex64):
        return np.dtype(np.float64 if r.dtype == np.float32 else np.complex128)
    return r.dtype


def _gemm(g: Gemm, memory: Memory) -> None:
    size = g.dtype.itemsize
    extents = tuple(e for e, _, _, _ in g.batch)

    kept = sum([bool(b[3]) for b in g.batch])  # along the axes after these, products are added

    def matrix(ref: Ref, rows: int, cols: int, ld: int, transposed: bool, which: int, rank: int = len(extents)) -> np.ndarray:
        steps = (1, ld) if transposed else (ld, 1)
        strides = [b[which] for b in g.batch[:rank]] + list(steps)
        return memory.array(ref, (*extents[:rank], rows, cols), tuple(s * size for s in strides), g.dtype)

    a = matrix(g.a, g.m, g.k, g.lda, g.trans_a, 1)
    b = matrix(g.b, g.k, g.n, g.ldb, g.trans_b, 2)
    matrix(g.c, g.m, g.n, g.ldc, False, 3, kept)[...] = (a @ b).sum(tuple(range(kept, len(extents))))


def _host(step: HostStep, memory: Memory) -> None:
    def array(v: View) -> np.ndarray:
        return memory.array(v.ref, v.shape, v.strides, v.dtype)

    out = step.call(*[array(v) for v in step.ins])
    outs = out if isinstance(out, (tuple, list)) else (out,)
    for v, x in zip(step.outs, outs, strict=True):
        if 0 not in v.shape:
            array(v)[...] = x
