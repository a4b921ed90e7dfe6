"""One object for one structure: expressions, operands and nests are made here, so that equal ones are identical.

The tables are bounded; a structure that was dropped and comes again is equal to its predecessor, only not the same object.
"""

from typing import Any

import numpy as np

from funcgrad.loops.expr import Expr
from funcgrad.loops.nest import Carry, Nest, Operand, Pass, Reduction, Store

_EXPRS: dict[Any, Expr] = {}
_NESTS: dict[Any, Nest] = {}
_OPERANDS: dict[Any, Operand] = {}
_LIMIT = 1 << 15


def expr(op: str, dtype: np.dtype, args: tuple[Expr, ...] = (), attr: Any = None) -> Expr:
    """The one Expr of this structure."""
    key = (op, dtype, args, attr)
    found = _EXPRS.get(key)
    if found is None:
        if len(_EXPRS) > _LIMIT:
            _EXPRS.clear()
            _NESTS.clear()
        found = _EXPRS.setdefault(key, Expr(op, dtype, args, attr[1] if op == "const" else attr))
    return found


def operand(dtype: np.dtype, role: str, strides: tuple[Any, ...], indirect: int) -> Operand:
    """The one Operand of this structure."""
    key = (dtype, role, strides, indirect)
    found = _OPERANDS.get(key)
    if found is None:
        found = _OPERANDS.setdefault(key, Operand(dtype, role, strides, indirect))  # type: ignore[arg-type]
    return found


def nest(
    outer: int,
    inner: int,
    layout: str,
    operands: tuple[Operand, ...],
    params: tuple[np.dtype, ...],
    passes: tuple[tuple[str, tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], Any], ...],
    sequential: bool,
    block: int,
) -> Nest:
    """The one Nest of this structure; `passes` hold the fields of stores, reductions and carries as tuples."""
    key = (outer, inner, layout, operands, params, passes, sequential, block)
    found = _NESTS.get(key)
    if found is None:
        made = tuple(
            Pass(
                level,  # type: ignore[arg-type]
                tuple([Store(*s) for s in stores]),
                tuple([Reduction(*r) for r in reductions]),
                tuple([Carry(*c) for c in carries]),
                test,
            )
            for level, stores, reductions, carries, test in passes
        )
        found = _NESTS.setdefault(key, Nest(outer, inner, layout, operands, params, made, sequential, block))  # type: ignore[arg-type]
    return found
