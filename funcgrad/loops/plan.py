"""Plan: memory for the nodes that exist, and the steps of the program with their addresses.

In: kernels, contractions and host calls in order. Out: a `Program`. Intermediates share one arena (best
fit, 64-byte aligned); an elementwise kernel writes over an input that dies with it; a donated input's
memory becomes an output's; a scatter works in place on an operand that nobody needs any more.
"""

from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.config import config
from funcgrad.loops.checks import check_lives
from funcgrad.loops.contract import Contraction
from funcgrad.loops.control import Control, Pairs, Placing, steps_of
from funcgrad.loops.graph import Graph, Node, Random, Ref
from funcgrad.loops.program import Check, Gemm, HostStep, KernelStep, Program, Step, View
from funcgrad.loops.program import Ref as Memory
from funcgrad.loops.schedule import Kernel

ALIGN = 64


class Item(NamedTuple):
    """A step before it has addresses: a kernel, a dot, host or fence node, a loop or branch; the nodes that it touches."""

    work: Kernel | Node | Control
    reads: tuple[Node, ...]
    writes: tuple[Node, ...]


def items_of_kernel(kernel: Kernel) -> Item:
    reads = tuple([n for n, _, role in kernel.operands if role == "in"])
    return Item(kernel, reads, tuple([n for n, _, role in kernel.operands if role == "out"]))


def item_of_node(node: Node) -> Item:
    reads = tuple([a.node for a in node.args if a.__class__ is Ref or a.__class__ is Random])
    return Item(node, reads, tuple(node.results) if node.kind == "host" else (node,))


def item_of_control(control: Control) -> Item:
    return Item(control, tuple([a.node for a in control.node.args]), tuple(control.node.results))


class Arena:
    """Free stretches of one growing memory."""

    def __init__(self) -> None:
        self.free: list[tuple[int, int]] = []  # (offset, size), by offset
        self.size = 0

    def take(self, size: int) -> int:
        best = None
        for i, (_, n) in enumerate(self.free):
            if n >= size and (best is None or n < self.free[best][1]):
                best = i
        if best is not None:
            offset, n = self.free[best]
            if n == size:
                del self.free[best]
            else:
                self.free[best] = (offset + size, n - size)
            return offset
        if self.free and sum(self.free[-1]) == self.size:
            offset, n = self.free.pop()
            self.size = offset + size
            return offset
        offset = self.size
        self.size += size
        return offset

    def give(self, offset: int, size: int) -> None:
        self.free.append((offset, size))
        self.free.sort()
        merged: list[tuple[int, int]] = []
        for o, n in self.free:
            if merged and sum(merged[-1]) == o:
                merged[-1] = (merged[-1][0], merged[-1][1] + n)
            else:
                merged.append((o, n))
        self.free = merged


def _bytes(node: Node) -> int:
    return node.size * node.dtype.itemsize


class Plan:
    """One run of `plan`."""

    def __init__(self, graph: Graph, items: list[Item], donated: tuple[int, ...], pairs: Pairs | None):
        self.graph, self.items = graph, items
        self.memory: dict[int, Memory] = {}
        self.last: dict[int, int] = {}  # node id -> the last step that touches it
        self.first: dict[int, int] = {}  # node id -> the first step that writes it
        self.owner: dict[int, list[int]] = {}  # arena offset -> [size, last step]
        self.heirs: dict[int, int] = {}  # arena offset -> the step whose output took it over from an input
        self.arena = Arena()
        self.donated: list[tuple[int, int]] = []
        for t, item in enumerate(items):
            for node in item.reads:
                self.last[node.id] = t
            for node in item.writes:
                self.last[node.id] = t
                self.first.setdefault(node.id, t)
        for node in graph.inputs:
            self.memory[node.id] = Memory("input", node.input)  # type: ignore[arg-type]
        for node in graph.nodes:
            if node.size == 0:
                self.memory[node.id] = Memory("arena", 0)  # nobody writes it, but a fold over nothing reads it
            if node.output is not None:
                self.memory[node.id] = Memory("output", node.output)
        fences = [item for item in items if item.work.__class__ is Node and item.work.kind == "fence"]  # type: ignore[union-attr]
        self.names: dict[int, int] = {}  # fence's id -> the id of the node whose memory it is another name of
        for item in fences:
            (x,) = item.reads
            self.names[item.writes[0].id] = self.names.get(x.id, x.id)
        for item in reversed(fences):
            (x,) = item.reads
            self.last[x.id] = max(self.last[x.id], self.last[item.writes[0].id])
        self._donate(set(donated)) if pairs is None else self._pair(pairs)

    def _pair(self, pairs: Pairs) -> None:
        """The outputs of a program inside another one that can be written over the inputs they are paired with."""
        for o, i in pairs.items():
            node, x = self.graph.outputs[o], self.graph.inputs[i]
            if node.output != o or not x.size or _bytes(x) != _bytes(node):
                continue
            last, first = self.last.get(x.id, -1), self.first.get(node.id, 0)
            if last < first or (last == first and x in self._overwritable(node)):
                self.donated.append((o, i))

    def _donate(self, donated: set[int]) -> None:
        """Pair outputs with donated inputs of the same size that are not read after the output is first written,
        preferring the input that the output's own kernel may overwrite."""
        forwarded = {id(n) for n in self.graph.outputs if n.kind == "input"}
        free = {n.id: n for n in self.graph.inputs if n.input in donated and id(n) not in forwarded and n.size}
        waiting = []
        for o, node in enumerate(self.graph.outputs):
            if node.output != o or not free:
                continue
            for x in self._overwritable(node):
                if x.id in free and self.last.get(x.id, -1) <= self.first.get(node.id, 0):
                    self.donated.append((o, x.input))  # type: ignore[arg-type]
                    del free[x.id]
                    break
            else:
                waiting.append((o, node))
        for o, node in waiting:
            for x in free.values():
                if _bytes(x) == _bytes(node) and self.last.get(x.id, -1) < self.first.get(node.id, 0):
                    self.donated.append((o, x.input))  # type: ignore[arg-type]
                    del free[x.id]
                    break

    def _overwritable(self, node: Node) -> list[Node]:
        """Inputs of the kernel that first writes `node` whose memory it may write over."""
        t = self.first.get(node.id)
        if t is None:
            return []
        item = self.items[t]
        kernel = item.work
        found = []
        if isinstance(kernel, Control):
            for out, x in kernel.inplace:
                if out is node and self._reads(item, x) == 1 and self.last[x.id] == t:
                    found.append(x)
            return found
        if not isinstance(kernel, Kernel):
            return []
        for out, x in kernel.inplace:
            n, offset, _ = kernel.operands[out]
            other, other_offset, _ = kernel.operands[x]
            if n is not node or offset or other_offset or _bytes(other) != _bytes(node) or other.size != node.size:
                continue
            if self._reads(item, other) == 1 and item.writes.count(node) == 1 and self.last[other.id] == t:
                found.append(other)
        return found

    def _reads(self, item: Item, x: Node) -> int:
        """How many operands of a step are read from the memory of `x`, under whatever name."""
        memory = self.names.get(x.id, x.id)
        return sum([self.names.get(n.id, n.id) == memory for n in item.reads])

    # --- the arena -----------------------------------------------------------------------------------------

    def place(self, t: int, node: Node) -> None:
        """Memory for a node that step t is the first to write."""
        if node.id in self.memory:
            return
        size = -(-_bytes(node) // ALIGN) * ALIGN
        for x in self._overwritable(node):
            memory = self.memory[x.id]
            slot = self.owner.get(memory.offset) if memory.kind == "arena" else None
            # one heir only: an output that nothing reads after this kernel, whose later passes may, leaves slot[1] at t
            if slot is not None and slot[1] == t and self.heirs.get(memory.offset) != t:
                slot[1], self.heirs[memory.offset] = self.last[node.id], t
                self.memory[node.id] = memory
                return
        offset = self.arena.take(size) if size else 0
        if size:
            self.owner[offset] = [size, self.last[node.id]]
        self.memory[node.id] = Memory("arena", 0, offset)

    def temporary(self, t: int, size: int) -> Memory:
        """Memory for step t alone."""
        size = -(-size // ALIGN) * ALIGN
        if not size:
            return Memory("arena", 0)
        offset = self.arena.take(size)
        self.owner[offset] = [size, t]
        return Memory("arena", 0, offset)

    def release(self, t: int) -> None:
        for offset in [o for o, (_, last) in self.owner.items() if last <= t]:
            size, _ = self.owner.pop(offset)
            self.arena.give(offset, size)

    def skips_copy(self, t: int, item: Item) -> bool:
        """Whether the copy before a scatter falls away because the scatter may work on the operand's own memory."""
        kernel = item.work
        if kernel.__class__ is not Kernel or not kernel.optional or len(kernel.operands) != 2:
            return False
        (x, x_offset, role), (node, offset, _) = kernel.operands
        if role != "in" or x_offset or offset or x.size != node.size or (0, 1) not in [(b, a) for a, b in kernel.inplace]:
            return False
        source = self.memory[x.id]
        if node.output is not None and (node.output, x.input) in self.donated:
            return True
        later = t + 1 < len(self.items) and x in self.items[t + 1].reads
        if source.kind != "arena" or self.last[x.id] != t or later or node.id in self.memory:
            return False
        if self.owner[source.offset][1] != t:  # a fence's operand is read later
            return False
        self.memory[node.id] = source
        self.owner[source.offset][1] = self.last[node.id]
        return True

    def lives(self) -> list[tuple[str, int, int, int, int]]:
        """(name, offset, bytes, first step, last step) of every array in the arena, for the check."""
        found = []
        for node in self.graph.nodes:
            memory = self.memory.get(node.id)
            if memory is not None and memory.kind == "arena" and node.id in self.first and node.size and node.kind != "fence":
                found.append((repr(node), memory.offset, _bytes(node), self.first[node.id], self.last[node.id]))
        return found

    # --- steps ---------------------------------------------------------------------------------------------

    def steps(self) -> list[Step]:
        steps: list[Step] = []
        for t, item in enumerate(self.items):
            if not self.skips_copy(t, item):
                work = item.work
                fence = work.__class__ is Node and work.kind == "fence"  # type: ignore[union-attr]
                for node in item.writes:
                    if fence:
                        self.memory.setdefault(node.id, self.memory[item.reads[0].id])
                    self.place(t, node)
                if fence:
                    pass
                elif work.__class__ is Control:
                    steps += steps_of(work, _Step(self, t))  # type: ignore[arg-type]
                elif work.__class__ is Kernel:
                    steps.append(self.kernel(work))  # type: ignore[arg-type]
                elif work.kind == "dot":  # type: ignore[union-attr]
                    steps.append(self.gemm(work))  # type: ignore[arg-type]
                else:
                    steps.append(self.host(work))  # type: ignore[arg-type]
            self.release(t)
        return steps

    def at(self, node: Node, offset: int) -> Memory:
        """The memory of an element of a node."""
        memory = self.memory[node.id]
        return Memory(memory.kind, memory.number, memory.offset + offset * node.dtype.itemsize) if offset else memory

    def kernel(self, k: Kernel) -> KernelStep:
        refs = tuple([self.at(node, offset) for node, offset, _ in k.operands])
        checks = tuple([Check(m) for m in k.messages])
        return KernelStep(k.nest, refs, k.dims, k.extent, k.cost, k.scratch, checks)

    def gemm(self, node: Node) -> Gemm:
        c: Contraction = node.call
        a, b = (self.at(arg.node, arg.offset) for arg in node.args)  # type: ignore[union-attr]
        return Gemm(node.dtype, a, b, self.memory[node.id], c.trans_a, c.trans_b, c.m, c.n, c.k, c.lda, c.ldb, c.ldc, c.batch)

    def host(self, node: Node) -> HostStep:
        name, call = node.call
        ins = tuple([self.view(a.node, a.offset, a.shape, a.strides) for a in node.args])  # type: ignore[union-attr]
        outs = tuple([self.view(n, 0, n.shape, n.strides) for n in node.results])
        return HostStep(name, call, ins, outs, call.native(ins, outs))

    def view(self, node: Node, offset: int, shape: Any, strides: Any) -> View:
        size = node.dtype.itemsize
        return View(self.at(node, offset), shape, tuple([s * size for s in strides]), node.dtype)


class _Step(Placing):
    """The memory of one control step."""

    def __init__(self, plan: Plan, t: int):
        self.plan, self.t = plan, t

    def at(self, node: Node, offset: int) -> Memory:
        memory = self.plan.at(node, offset)
        if memory.kind == "output":  # one name for memory that an output shares with an input
            for o, i in self.plan.donated:
                if o == memory.number:
                    return Memory("input", i, memory.offset)
        return memory

    def temporary(self, size: int) -> Memory:
        return self.plan.temporary(self.t, size)


def plan(graph: Graph, items: list[Item], donated: tuple[int, ...] = (), pairs: Pairs | None = None) -> Program:
    """The program that runs `items` in order."""
    p = Plan(graph, items, donated, pairs)
    steps = p.steps()
    if config.check_ir:
        check_lives(p.lives())
    forwarded = tuple([(o, n.input) for o, n in enumerate(graph.outputs) if n.kind == "input"])
    return Program(
        tuple(steps),
        tuple([(n.shape, n.dtype) for n in graph.inputs]),
        graph.out_types,
        p.arena.size,
        tuple(sorted(p.donated)),
        forwarded,  # type: ignore[arg-type]
    )


def total_cost(program: Program) -> float:
    """Estimated nanoseconds of one thread for a program's kernels and contractions."""
    ns = 0.0
    for step in program.steps:
        if isinstance(step, KernelStep):
            ns += step.cost
        elif isinstance(step, Gemm):
            ns += gemm_cost(step)
    return ns


def gemm_cost(step: Gemm) -> float:
    """Estimated nanoseconds of one thread, at 40 (float64) or 80 (float32) multiply-adds a nanosecond."""
    batch = 1
    for extent, *_ in step.batch:
        batch *= extent
    rate = 40.0 if step.dtype == np.float32 else 20.0
    return 200.0 + batch * step.m * step.n * step.k / rate
