"""Contractions: dot_general as a BLAS call on views, or as a product and a sum where BLAS has no such dtype.

BLAS takes a matrix in either order with any leading dimension, so transposes and slices cost nothing; only
what it cannot address (broadcast, reversed or interleaved axes) is copied first.
"""

from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from funcgrad.loops.graph import Graph, Node, Number, Ref
from funcgrad.loops.templates import copy_template, mul_template
from funcgrad.loops.views import Shape, Strided, Strides, contiguous, reshape_strides

BLAS_DTYPES = frozenset(np.dtype(n) for n in ("float32", "float64", "complex64", "complex128"))


@dataclass(frozen=True, slots=True)
class Contraction:
    """c[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n]: a Gemm (program.py) before it has addresses."""

    trans_a: bool
    trans_b: bool
    m: int
    n: int
    k: int
    lda: int
    ldb: int
    ldc: int
    batch: tuple[tuple[int, int, int, int], ...]


def dot_general(
    graph: Graph, a: Strided, b: Strided, numbers: Any, dtype: np.dtype, permutation: tuple[int, ...] | None = None
) -> Strided:
    """The contraction `numbers` = ((a contract, b contract), (a batch, b batch)) of two views.

    With `permutation`, the product is laid out in memory in that order of its axes, if BLAS can write it so."""
    (ka, kb), (ba, bb) = numbers
    order = sorted(range(len(ka)), key=lambda i: -abs(a.strides[ka[i]]))
    ka, kb = [ka[i] for i in order], [kb[i] for i in order]
    ma = [i for i in range(a.ndim) if i not in ka and i not in ba]
    nb = [i for i in range(b.ndim) if i not in kb and i not in bb]
    batch, m, n, k = (tuple([v.shape[i] for i in axes]) for v, axes in ((a, ba), (a, ma), (b, nb), (a, ka)))
    shape = batch + m + n
    if 0 in shape or 0 in k:
        zero = Number(dtype.type(0), dtype)
        return graph.map(shape, dtype, copy_template(dtype), (zero,)).view()
    if dtype not in BLAS_DTYPES or a.node.dtype != dtype or b.node.dtype != dtype or not k:
        return _generic(graph, a, b, (list(ba), ma, ka), (list(bb), nb, kb), shape, k, dtype)
    out = _laid_out(shape, len(batch), len(m), permutation) or _laid_out(shape, len(batch), len(m), None)
    assert out is not None
    if out.swapped:
        a, b, ba, bb, ma, nb, ka, kb, m, n = b, a, bb, ba, nb, ma, kb, ka, n, m
    a, trans_a, lda = _operand(a, list(ba), ma, ka)
    b, trans_b, ldb = _operand(b, list(bb), kb, nb)
    node = Node(graph, "dot", out.shape, dtype)
    node.args = (Ref(a.node, a.offset, a.strides), Ref(b.node, b.offset, b.strides))
    a.node.must = b.node.must = node.must = True
    steps = [(e, a.strides[i], b.strides[i], out.strides[i]) for i, e in enumerate(batch)]
    node.call = Contraction(trans_a, trans_b, prod(m), prod(n), prod(k), lda, ldb, out.ldc, _collapse(steps))
    return Strided(node, 0, shape, out.strides)


class _Output(NamedTuple):
    """How a product lies in memory: the node's shape, the strides of the product's axes, whether it is b' a'."""

    shape: Shape
    strides: Strides
    ldc: int
    swapped: bool


def _laid_out(shape: Shape, batch: int, rows: int, permutation: tuple[int, ...] | None) -> _Output | None:
    """The product's axes in memory in the order `permutation`, or None where its matrices are not matrices then."""
    order = permutation or tuple(range(len(shape)))
    laid = tuple([shape[p] for p in order])
    by_place = contiguous(laid)
    strides = tuple([by_place[order.index(i)] for i in range(len(shape))])
    nm = batch + rows
    m, n = prod(shape[batch:nm]), prod(shape[nm:])
    row = reshape_strides(shape[batch:nm], strides[batch:nm], (m,))
    col = reshape_strides(shape[nm:], strides[nm:], (n,))
    if row is None or col is None:
        return None
    if col[0] == 1 or n == 1:
        return _Output(laid, strides, max(n, row[0] if m > 1 else n), False) if m == 1 or row[0] >= n else None
    if row[0] == 1 or m == 1:
        return _Output(laid, strides, max(m, col[0]), True) if col[0] >= m else None
    return None


def _collapse(steps: list[tuple[int, int, int, int]]) -> tuple[tuple[int, int, int, int], ...]:
    """Batch axes that walk together in all three matrices, as one."""
    out: list[tuple[int, int, int, int]] = []
    for step in steps:
        if out and all(out[-1][i] == step[i] * step[0] for i in (1, 2, 3)):
            out[-1] = (out[-1][0] * step[0], *step[1:])
        elif step[0] != 1:
            out.append(step)
    return tuple(out)


def orient(rows: int, cols: int, row_step: int, col_step: int) -> tuple[bool, int] | None:
    """(transposed, leading dimension) by which BLAS reads a rows x cols matrix with these strides."""
    if (col_step == 1 or cols == 1) and (rows == 1 or row_step >= cols):
        return False, row_step if rows > 1 else cols
    if (row_step == 1 or rows == 1) and (cols == 1 or col_step >= rows):
        return True, col_step if cols > 1 else rows
    return None


def _operand(v: Strided, batch: list[int], rows: list[int], cols: list[int]) -> tuple[Strided, bool, int]:
    """`v` with its axes in the order batch, rows, cols; whether BLAS reads it transposed; its leading dimension."""
    v = v.transpose([*batch, *rows, *cols])
    nb, nr = len(batch), len(batch) + len(rows)
    m, k = prod(v.shape[nb:nr]), prod(v.shape[nr:])
    row = reshape_strides(v.shape[nb:nr], v.strides[nb:nr], (m,))
    col = reshape_strides(v.shape[nr:], v.strides[nr:], (k,))
    found = None
    if row is not None and col is not None and min(v.strides[:nb], default=0) >= 0:
        found = orient(m, k, row[0], col[0])
    if found is None:
        v = v.node.graph.copy(v)
        found = (False, k)
    return v, found[0], found[1]


def _generic(
    graph: Graph, a: Strided, b: Strided, la: Any, lb: Any, shape: tuple[int, ...], k: tuple[int, ...], dtype: np.dtype
) -> Strided:
    """Any dtype: the products over (batch, m, n, k), summed over k."""
    space = shape + k
    nb, nm = len(la[0]), len(la[1])
    nn = len(lb[1])
    at_a = [*range(nb + nm), *range(nb + nm + nn, len(space))]
    at_b = [*range(nb), *range(nb + nm, len(space))]
    a = a.transpose([*la[0], *la[1], *la[2]]).broadcast(space, at_a)
    b = b.transpose([*lb[0], *lb[1], *lb[2]]).broadcast(space, at_b)
    refs = (Ref(a.node, a.offset, a.strides), Ref(b.node, b.offset, b.strides))
    if a.node.dtype == b.node.dtype:
        product = graph.map(space, dtype, mul_template(a.node.dtype, dtype), refs)
    else:
        raise TypeError(f"dot_general: got {a.node.dtype} and {b.node.dtype}; both must have one dtype; convert one first")
    if not k:
        return product.view()
    return reduce_node(graph, product.view(), tuple(range(len(shape), len(space))), "or" if dtype.kind == "b" else "add", dtype)


def reduce_node(graph: Graph, v: Strided, axes: tuple[int, ...], op: str, dtype: np.dtype) -> Strided:
    """`op` folded over `axes` of a view."""
    node = Node(graph, "reduce", tuple([n for i, n in enumerate(v.shape) if i not in axes]), dtype)
    node.space, node.axes, node.op = v.shape, axes, op
    node.args = (Ref(v.node, v.offset, v.strides),)
    graph.read(node)
    return node.view()
