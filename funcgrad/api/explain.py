"""`explain(f)(*args)`: what a jitted function becomes, from its Jaxpr to its kernels and its memory."""

import functools
import html
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.api.jit import jit
from funcgrad.bridge.flat import check_callable
from funcgrad.bridge.jit import Jitted
from funcgrad.bridge.runner import as_array
from funcgrad.core.lazy import LazyModule
from funcgrad.core.tracebacks import api_boundary
from funcgrad.ir.jaxpr import Jaxpr

if TYPE_CHECKING:
    from funcgrad.bridge.report import StepReport

report: Any = LazyModule("funcgrad.bridge.report")


class Explanation:
    """What one call of a jitted function runs. `print(it)` shows everything; the parts are attributes.

    Attributes:
      traced: the Jaxpr as staged, captured arrays as leading inputs. simplified: the Jaxpr that was compiled.
      program: the steps and buffers. steps: for each step its kind, name, source, bytes and flops.
      kernels: the distinct kernels' sources by name.
      times: nanoseconds of each step, after `profile()`; None before.
    """

    def __init__(self, name: str, traced: Jaxpr, prepared: Any, values: list[Any], compiled: int):
        self.name, self.traced, self.simplified, self.program = name, traced, prepared.jaxpr, prepared.program
        self.steps: list[StepReport] = report.step_reports(self.program) if self.program is not None else []
        self.kernels = {s.name: s.source for s in self.steps if s.kind == "kernel"}
        self.compiled = compiled
        self.times: list[float] | None = None
        self._prepared, self._values = prepared, values

    def profile(self, seconds: float = 0.2) -> "Explanation":
        """Measure every step, one by one, for about so many seconds; returns itself."""
        if self.program is not None:
            inputs = [
                np.array(self._values[i]._np, order="C").view(dtype).reshape(shape)
                for i, (shape, dtype) in zip(self._prepared.inputs, self.program.inputs, strict=True)
            ]
            self.times = report.measure(self.program, inputs, seconds)
        return self

    @property
    def bytes(self) -> int:
        """Bytes that the steps move, at least."""
        return sum(s.bytes * s.runs for s in self.steps)

    @property
    def flops(self) -> int:
        """Scalar operations of the steps."""
        return sum(s.flops * s.runs for s in self.steps)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _lines(self) -> list[str]:
        if self.program is None:
            return [f"{self.name}: nothing to run; every output is an input or a constant", "", str(self.traced)]
        kinds = {kind: sum(s.kind == kind for s in self.steps) for kind in ("kernel", "gemm", "host", "loop", "branch")}
        launches = ", ".join(f"{n} {kind} step{'s' * (n != 1)}" for kind, n in kinds.items() if n)
        head = (
            f"{self.name}: {launches or 'no step'}, {len(self.kernels)} distinct kernel{'s' * (len(self.kernels) != 1)} "
            f"({self.compiled} compiled for it), {report.size_text(self.bytes)} moved, {self.flops:,} operations"
        )
        lines = [
            head,
            "",
            "Jaxpr as traced",
            *_indent(str(self.traced)),
            "",
            "Jaxpr after the passes",
            *_indent(str(self.simplified)),
        ]
        lines += ["", "Steps"]
        total = sum([ns for ns in self.times if not math.isnan(ns)]) if self.times else 0.0
        for k, step in enumerate(self.steps):
            figures = f"{report.size_text(step.bytes)}, {step.flops:,} operations"
            if self.times and not math.isnan(self.times[k]):
                ns = self.times[k]
                figures += (
                    f", {ns / 1000:.2f} us ({100 * ns / total:.0f} %), {step.bytes / ns:.1f} GB/s, {step.flops / ns:.1f} GFLOP/s"
                )
            deeper = "  " * step.depth
            lines.append(f"  {deeper}{k}  {step.name}  {step.what}")
            if step.bytes or self.times:
                lines.append(f"       {deeper}{figures}")
        lines += ["", "Buffers", *("  " + line for line in report.buffer_plan(self.program))]
        if self.kernels:
            lines += ["", "Kernels"]
            for source in self.kernels.values():
                lines += [*_indent(source), ""]
        return lines


def _indent(text: str) -> list[str]:
    return ["  " + line for line in text.rstrip().splitlines()]


def explain(fun: Callable[..., Any]) -> Callable[..., Explanation]:
    """A function that tells what `fun`, jitted, runs for arguments like the ones it is called with.

    `fun` is a jitted function, or one that is jitted here. The result prints the Jaxpr before and after the passes, each step
    with the bytes that it moves and the operations that it does, the buffer plan, and the kernels as readable Python;
    `.profile()` adds the measured share of each step. Nothing is run before that.

    >>> print(fg.explain(lambda x: fnp.tanh(x) * 2)(fnp.zeros(3)))
    <lambda>: 1 kernel step, 1 distinct kernel (... compiled for it), 24 B moved, 6 operations
    ...
          for i in range(lo, hi):
              y0[i] = tanh_f32(x0[i]) * q0
    """
    check_callable("explain", fun)
    jitted = fun if isinstance(fun, Jitted) else jit(fun)

    @functools.wraps(fun, updated=())
    @api_boundary
    def explainer(*args: Any, **kwargs: Any) -> Explanation:
        staged, consts, leaves = jitted._dispatcher.prepare(args, kwargs)
        runner = jitted._dispatcher.runner(staged)
        values = [*consts, *[as_array(x, a) for x, a in zip(leaves, staged.key.avals, strict=True)]]
        return Explanation(staged.name, staged.jaxpr, runner.prepared, values, runner.compiled)

    return explainer
