"""A loop nest: one kernel, with structure only; extents, strides and literals arrive at run time.

A nest walks `outer` kept axes and, for each of their points, runs its `passes` in order. A pass at
level "row" loops over the `inner` axes (for a reduction: the reduced ones; for a map: the last axis);
a pass at level "point" runs once. Softmax over the last axis is three row passes and one point pass:

    row    acc0 = max over row of load(x)
    row    scratch = exp(load(x) - acc0);  acc1 = sum over row of that
    point  (nothing stored here)
    row    out = load(scratch) / acc1

`layout` says how the loops are ordered for the machine:
    "row"     outer axes flattened into [lo, hi), inner axes inside; the last inner axis is the vector axis.
              With no outer axis and no reduction, [lo, hi) is a range of the (single) inner axis.
              With no outer axis and a reduction, the parallel extent is 1.
    "column"  a reduction whose *kept* last outer axis has unit stride (a sum over rows of a matrix):
              lanes of that axis are the vector axis, accumulators are a block of LANES values in scratch.
              [lo, hi) ranges over (product of the other outer axes) * ceil(last outer extent / LANES).

Both layouts take any sequence of passes (a normalisation over the rows of a matrix is three column passes); only row
nests have scratch operands.

A pass with *carries* visits the points along the (one) inner axis in order, or, at level "while", goes on for as long as its
test holds, and hands values from step to step in registers: a scan of tanh(0.9 c + x) over lanes is

    row    carry0 from load(start): store carry0 to ys; carry0 = tanh(0.9 * carry0 + load(x))
    point  store carry0

The points of the outer axes are its lanes, each with carries (and an end) of its own. In its own pass a carry is the value
before the step, in later ones the last value. In a column nest it takes CARRIED_LANES lanes side by side; where the last outer
extent is one of WHOLE, exactly these (`block`), so that a step is vector code without a rest.

Axes are numbered outer first: 0 .. outer-1, then outer .. outer+inner-1.

What a printer may rely on:
  - Nests from `schedule` are interned: equal structure is the same object. Operands come in the order of their first load,
    then of their first store, scratch last; params in the order of their first use.
  - An Expr is a value at a point, so one that two passes name is evaluated in both.
  - A point pass is the last one, and there is at most one; what it loads and stores does not move along the inner axes.
  - All values of a pass's stores at a point are computed before any is stored: an output may lie in an input's memory
    (KernelStep in program.py), where it touches the same element at the same point. Never in a nest with argmax or argmin.
  - A later pass may load an operand of role "out" that an earlier pass of the nest stored (a row too long for scratch).
  - argmax and argmin visit positions in rising order, and `index_value` is the position in the reduced axes, flattened.

`dims` of a call, all int64:  extents of every axis
                              | for every operand in order: its dynamic strides in axis order, then one
                                (stride, size) pair for each indirect axis
                              | for every scratch operand: its byte offset in the scratch memory
                              | params, bit for bit (a float32 in the low 32 bits).  complex128: two slots
All strides are in elements. The ABI of the printed kernel is
    void kernel(void **buffers, const int64 *dims, int64 lo, int64 hi, void *scratch)
with `buffers` holding one address per non-scratch operand, in order; `scratch` is private to the thread:
its first 64 bytes are the error record (int64: check number + 1, index, size), the rest is the kernel's.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from funcgrad.loops.expr import Expr

LANES = 512
CARRIED_LANES = 64  # of a column nest with carries
# Extents that get a kernel of their own: 100,000 steps of tanh(0.9 c + x) over 4 lanes take 1.6 ms for 2.3 on a Xeon. Over 2, 3,
# 8, 16 or 32 lanes there is nothing to be had.
WHOLE = frozenset({4})
ERROR_RECORD_BYTES = 64
DYNAMIC = None

Stride = int | None  # 0, 1 or DYNAMIC


@dataclass(frozen=True, slots=True)
class Operand:
    """A buffer of the kernel. `strides` has one entry an axis: 0, 1 or DYNAMIC (only the vector axis is ever 1
    or 0; every other axis is DYNAMIC, so that the key does not depend on it). Scratch operands hold one row:
    stride 1 on the last inner axis (row-major over inner axes), 0 on outer axes."""

    dtype: np.dtype
    role: Literal["in", "out", "scratch"]
    strides: tuple[Stride, ...]
    indirect: int = 0  # number of data-dependent axes, addressed by the args of load / store


@dataclass(frozen=True, slots=True)
class Store:
    """`operand[position + indices] = value`, or, with `combine`, `combine(old, value)` (a scatter).
    A store with `guard` happens only where guard (bool) holds."""

    operand: int
    value: Expr
    indices: tuple[Expr, ...] = ()
    combine: Literal["add", "mul", "min", "max"] | None = None
    guard: Expr | None = None


@dataclass(frozen=True, slots=True)
class Reduction:
    """Fold `value` over the inner axes. `dtype` is the accumulator's; the result is of that dtype.
    argmax/argmin fold (value, position): position is `index_value`, the result is int64, the first of equals
    (the first NaN if there is one). `running`: the pass visits the points in order, one after another, and may read acc."""

    number: int
    op: Literal["add", "mul", "max", "min", "and", "or", "xor", "argmax", "argmin"]
    value: Expr
    dtype: np.dtype
    index_value: Expr | None = None
    running: bool = False


@dataclass(frozen=True, slots=True)
class Carry:
    """A value handed from step to step: `start` (which knows nothing of this pass) before the first, then `next`."""

    number: int
    start: Expr
    next: Expr
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class Pass:
    """`carries`: at levels "row" and "while". `test` (a bool): at level "while", which has no stores and no place along the
    inner axes."""

    level: Literal["row", "point", "while"]
    stores: tuple[Store, ...] = ()
    reductions: tuple[Reduction, ...] = ()
    carries: tuple[Carry, ...] = ()
    test: Expr | None = None


@dataclass(frozen=True, slots=True)
class Nest:
    outer: int
    inner: int
    layout: Literal["row", "column"]
    operands: tuple[Operand, ...]
    params: tuple[np.dtype, ...]
    passes: tuple[Pass, ...]
    sequential: bool = False  # stores may collide (scatter): never split [lo, hi) over threads
    block: int = 0  # of a column nest with carries: the extent of the last outer axis, where it is one of WHOLE

    @property
    def carried(self) -> bool:
        """Whether a pass hands values from step to step."""
        return any([bool(p.carries) or p.level == "while" for p in self.passes])

    @property
    def lanes(self) -> int:
        """How many lanes of the last outer axis a column nest takes at once."""
        return (self.block or CARRIED_LANES) if self.carried else LANES
