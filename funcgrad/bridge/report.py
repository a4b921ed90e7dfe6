"""A program in words and numbers: its steps, what they move and compute, its memory; and how long each step takes.

In: a Program. Out: one `StepReport` for each step, texts, and measured nanoseconds.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.codegen.cpu import CPU
from funcgrad.codegen.matrices import matrix_kernel
from funcgrad.codegen.printer import print_nest
from funcgrad.core import dtypes as dt
from funcgrad.loops.expr import LEAVES, Expr
from funcgrad.loops.nest import Nest
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
    Slot,
    Step,
    View,
    WhileStep,
    every_step,
    parts,
)
from funcgrad.runtime.buffers import array_address
from funcgrad.runtime.executable import load


class StepReport(NamedTuple):
    """`what` is one line; `source` the kernel's text, or ""; `bytes` moved and `flops` done each time, at least, as far as known.

    A loop or branch is followed by the steps inside it, one deeper; `runs` is how often they run in the whole, once for each
    turn of a loop whose length is known."""

    kind: str
    name: str
    what: str
    source: str
    bytes: int
    flops: int
    depth: int = 0
    runs: int = 1


def step_reports(program: Program, depth: int = 0, runs: int = 1) -> list[StepReport]:
    """What each step does, those inside loops and branches after these."""
    found = []
    for step in program.steps:
        found.append(_report(step)._replace(depth=depth, runs=runs))
        inner = runs * step.length if isinstance(step, LoopStep) else runs
        for part in parts(step):
            found += step_reports(part.program, depth + 1, inner)
    return found


def _report(step: Step) -> StepReport:
    if isinstance(step, CopyStep):
        return StepReport(
            "copy", "copy", f"{size_text(step.bytes)}: {place(step.src)} -> {place(step.dst)}", "", 2 * step.bytes, 0
        )
    if isinstance(step, ConstStep):
        return StepReport("constant", "constant", f"{len(step.data)} bytes to {place(step.dst)}", "", len(step.data), 0)
    if isinstance(step, LoopStep):
        return StepReport("loop", "scan", f"{step.length} steps of", "", 0, 0)
    if isinstance(step, WhileStep):
        n = len(step.test.program.steps)
        return StepReport("loop", "while", f"the first {n} step{'s' * (n != 1)} give true: the others", "", 0, 0)
    if isinstance(step, BranchStep):
        counts = ", ".join(str(len(p.program.steps)) for p in step.branches)
        return StepReport("branch", "cond", f"by {place(step.index)}, one of branches of {counts} steps", "", 0, 0)
    if isinstance(step, KernelStep):
        source = print_nest(step.nest, CPU)
        extents = step.dims[: step.nest.outer + step.nest.inner]
        moved = sum(_operand_bytes(step))
        flops = _flops(step.nest, extents)
        places = ", ".join(
            f"{role.role} {place(ref)}"
            for role, ref in zip([o for o in step.nest.operands if o.role != "scratch"], step.refs, strict=True)
        )
        what = f"over {' x '.join(map(str, extents)) or '1'} ({step.nest.layout}), [0, {step.extent}): {places}"
        return StepReport("kernel", source.name, what, source.text, moved, flops)
    if isinstance(step, Gemm):
        points = math.prod([axis[0] for axis in step.batch])
        size = step.dtype.itemsize
        moved = points * size * (step.m * step.k + step.k * step.n + step.m * step.n)
        batch = f"{points} x " if step.batch else ""
        marks = ("'" if step.trans_a else "", "'" if step.trans_b else "")
        what = (
            f"{batch}[{step.m} x {step.k}]{marks[0]} @ [{step.k} x {step.n}]{marks[1]}, {dt.short_name(step.dtype)}: "
            f"in {place(step.a)}, in {place(step.b)}, out {place(step.c)}"
        )
        return StepReport("gemm", "gemm", what, "", moved, 2 * points * step.m * step.n * step.k)
    ins, outs = [_view(v) for v in step.ins], [_view(v) for v in step.outs]
    moved = sum(math.prod(v.shape) * v.dtype.itemsize for v in step.ins + step.outs)
    what = f"{', '.join(ins)} -> {', '.join(outs)}"
    if step.native is not None:
        return StepReport("kernel", step.name, what, step.native.text or matrix_kernel(step.native.name), moved, 0)
    return StepReport("host", step.name, f"NumPy: {what}", "", moved, 0)


def place(ref: Ref) -> str:
    """`input 0`, `arena + 4096`."""
    number = "" if ref.kind == "arena" else f" {ref.number}"
    return f"{ref.kind}{number}" + (f" + {ref.offset}" if ref.offset else "")


def _view(v: View) -> str:
    return f"{dt.short_name(v.dtype)}[{','.join(map(str, v.shape))}] {place(v.ref)}"


def _operand_bytes(step: KernelStep) -> list[int]:
    """Bytes of distinct elements that each operand's loops touch; of a data-dependent access, one element a point."""
    nest, dims = step.nest, list(step.dims)
    rank = nest.outer + nest.inner
    extents, at = dims[:rank], rank
    moved = []
    for operand in nest.operands:
        if operand.role == "scratch":
            continue
        count = 1
        for extent, stride in zip(extents, operand.strides, strict=True):
            if stride is None:
                stride, at = dims[at], at + 1
            if stride != 0 or operand.indirect:
                count *= extent
        at += 2 * operand.indirect
        moved.append(count * operand.dtype.itemsize)
    return moved


def _flops(nest: Nest, extents: Sequence[int]) -> int:
    """Scalar operations: each shared expression once a point."""
    total = 0
    rows, points = math.prod(extents), math.prod(extents[: nest.outer])
    for p in nest.passes:
        seen: set[int] = set()
        stack: list[Expr] = [s.value for s in p.stores] + [r.value for r in p.reductions]
        stack += [i for s in p.stores for i in s.indices] + [s.guard for s in p.stores if s.guard is not None]
        count = len(p.reductions)
        while stack:
            e = stack.pop()
            if id(e) in seen:
                continue
            seen.add(id(e))
            count += e.op not in LEAVES
            stack += e.args
        total += count * (rows if p.level == "row" else points)
    return total


def buffer_plan(program: Program) -> list[str]:
    """Where everything lies, one line a buffer."""
    shown = lambda shape, dtype: (
        f"{dt.short_name(dtype)}[{','.join(map(str, shape))}]  {size_text(math.prod(shape) * dtype.itemsize)}"
    )
    donated, forwarded = dict(program.donated), dict(program.forwarded)
    lines = [f"input {i}   {shown(*x)}" for i, x in enumerate(program.inputs)]
    for j, x in enumerate(program.outputs):
        where = f", in the memory of input {donated[j]}" if j in donated else ""
        where = f", is input {forwarded[j]}" if j in forwarded else where
        lines.append(f"output {j}  {shown(*x)}{where}")
    lines.append(f"arena     {size_text(program.arena)} for all intermediates")
    used = sorted({(r.offset, k) for k, step in enumerate(program.steps) for r in _refs(step) if r.kind == "arena"})
    offsets: dict[int, list[int]] = {}
    for offset, k in used:
        offsets.setdefault(offset, []).append(k)
    lines += [f"  + {offset:<8} steps {', '.join(map(str, steps))}" for offset, steps in offsets.items()]
    return lines


def _refs(step: Step) -> list[Ref]:
    if isinstance(step, KernelStep):
        return list(step.refs)
    if isinstance(step, Gemm):
        return [step.a, step.b, step.c]
    if isinstance(step, HostStep):
        return [v.ref for v in step.ins + step.outs]
    if isinstance(step, CopyStep):
        return [step.src, step.dst]
    if isinstance(step, ConstStep):
        return [step.dst]
    found = [r for p in parts(step) for r in (*p.inputs, *p.outputs, p.arena) if r.kind != "slot"]
    return found + ([step.index] if isinstance(step, BranchStep) else [slot.start for slot in step.slots])


def size_text(count: float) -> str:
    """`1.5 kB`"""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError


# --- measuring ----------------------------------------------------------------------------------------------------


def measure(program: Program, inputs: Sequence[np.ndarray], seconds: float = 0.2) -> list[float]:
    """Nanoseconds of each step, NaN for those inside loops and branches: the steps run one by one on the same memory, and the
    best of several rounds counts.

    The arena becomes a further input, so that it outlives a step. What a step that does nothing takes is subtracted."""
    arena = np.zeros(max(program.arena, 1), np.uint8)
    number = len(program.inputs)

    def moved(ref: Ref) -> Ref:
        return Ref("input", number, ref.offset) if ref.kind == "arena" else ref

    given_types = (*program.inputs, ((arena.size,), arena.dtype))
    alone = [(_replace_refs(step, moved),) for step in program.steps]
    singles = [load(dataclasses.replace(program, steps=s, inputs=given_types, arena=0)) for s in [*alone, ()]]
    donated, forwarded = dict(program.donated), dict(program.forwarded)
    best = [math.inf] * len(singles)
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        given = [x.copy() for x in inputs] + [arena]
        outs = [
            given[donated[j]] if j in donated else given[forwarded[j]] if j in forwarded else np.empty(shape, dtype)
            for j, (shape, dtype) in enumerate(program.outputs)
        ]
        ins, results = [array_address(x) for x in given], [array_address(x) for x in outs]
        for k, single in enumerate(singles):
            start = time.perf_counter_ns()
            single.run(ins, results)
            best[k] = min(best[k], time.perf_counter_ns() - start)
        rounds += 1
    *of_steps, nothing = best
    times: list[float] = []
    for step, ns in zip(program.steps, of_steps, strict=True):
        times += [max(ns - nothing, 1.0)] + [math.nan] * sum([len(every_step(p.program)) for p in parts(step)])
    return times


def _replace_refs(step: Step, moved: Callable[[Ref], Ref]) -> Step:
    """The step with its refs mapped; those of programs inside are relative and stay."""

    def mapped(x: Any) -> Any:
        if isinstance(x, Ref):
            return x if x.kind == "slot" else moved(x)
        if isinstance(x, tuple):
            return tuple([mapped(y) for y in x])
        if isinstance(x, View | Part | Slot):
            return dataclasses.replace(x, **{f: mapped(getattr(x, f)) for f in _REFS[x.__class__]})
        return x

    return dataclasses.replace(step, **{f: mapped(getattr(step, f)) for f in _REFS[step.__class__]})


_REFS: dict[type, tuple[str, ...]] = {
    View: ("ref",),
    Part: ("inputs", "outputs", "arena"),
    Slot: ("start",),
    KernelStep: ("refs",),
    Gemm: ("a", "b", "c"),
    HostStep: ("ins", "outs"),
    CopyStep: ("src", "dst"),
    ConstStep: ("dst",),
    LoopStep: ("body", "slots"),
    WhileStep: ("test", "predicate", "body", "slots", "results"),
    BranchStep: ("index", "branches"),
}
