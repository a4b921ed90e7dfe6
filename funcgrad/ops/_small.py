"""When an operator on matrices has a kernel of its own (codegen/matrices.py), and the numbers that this kernel is given.

Each function here is the `native` rule of one operator: what lies where of its operands and results -> a `Native`, or None where
the matrices are large, complex, or lie so that one step does not lead from each to the next: then LAPACK does it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.ir.loop_rules import Native

LARGEST = 32  # rows; from there LAPACK is faster than a plain loop, whatever the call costs
CODES = {dt.float32: "f32", dt.float64: "f64"}

Told = tuple[tuple[int, ...], tuple[int, ...], np.dtype]  # shape, strides in bytes, dtype


def _steps(x: Told) -> list[int] | None:
    """The distances in elements between matrices, rows and columns, if one step leads from each matrix to the next."""
    shape, strides, dtype = x
    item = dtype.itemsize
    batch = [(n, s) for n, s in zip(shape[:-2], strides[:-2], strict=True) if n != 1]
    for (_, outer), (n, inner) in zip(batch, batch[1:], strict=False):
        if outer != n * inner:
            return None
    return [(batch[-1][1] if batch else 0) // item, strides[-2] // item, strides[-1] // item]


def _kernel(
    kind: str, square: Told, sizes: list[int], others: Sequence[Told], scratch: bool, more: Sequence[int] = ()
) -> Native | None:
    """A kernel for a batch of square matrices and what goes with them."""
    shape, _, dtype = square
    n = shape[-1]
    if dtype not in CODES or n > LARGEST:
        return None
    steps = [_steps(x) for x in (square, *others)]
    if any(s is None for s in steps):
        return None
    extent = int(np.prod(shape[:-2], dtype=np.int64))
    cost = 20.0 + 0.5 * n * n * max([n, *sizes])
    dims = (n, *sizes, *[step for s in steps for step in s], *more)  # type: ignore[union-attr]
    return Native("", dims, extent, f"{kind} {CODES[dtype]}", n * n * dtype.itemsize if scratch else 0, cost * max(extent, 1))


def of_one(kind: str, scratch: bool = False) -> Callable[..., Native | None]:
    """The rule of an operator on one square matrix."""

    def native(ins: Sequence[Any], outs: Sequence[Told], **params: Any) -> Native | None:
        (x,) = ins
        return _kernel(kind, x, [], [], scratch) if x[0][-1] == x[0][-2] else None

    return native


def solve(ins: Sequence[Any], outs: Sequence[Told]) -> Native | None:
    """The rule of linear_solve."""
    a, b = ins
    return _kernel("solve", a, [b[0][-1]], [b], True)


def _turned(x: Told) -> Told:
    """The transposed matrices."""
    shape, strides, dtype = x
    return (*shape[:-2], shape[-1], shape[-2]), (*strides[:-2], strides[-1], strides[-2]), dtype


def triangular(
    ins: Sequence[Any],
    outs: Sequence[Told],
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Native | None:
    """The rule of triangular_solve: from the right it is the transposed system from the left."""
    a, b = ins
    m, rows, columns = b[0][-1], b[0][-1], 1
    if transpose_a == left_side:
        a, lower = _turned(a), not lower
    if not left_side:
        b, m, rows, columns = _turned(b), b[0][-2], 1, b[0][-1]
    return _kernel("triangular", a, [m], [b], False, [rows, columns, int(lower), int(unit_diagonal)])
