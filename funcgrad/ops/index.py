"""Reading and writing at computed places: gather, scatter, scatter_add, scatter_mul, scatter_min, scatter_max.

The first three are declared in `gathering`. Derivatives are exact also with repeated indices: min and max share a cotangent
equally among the operand and all updates that attain the result, and in a product each factor gets the product of the others.
"""

from collections.abc import Sequence
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.ir.primitive import LinearArg
from funcgrad.ops._family import like, reshape, zeros
from funcgrad.ops._indexing import GatherDimensionNumbers, ScatterDimensionNumbers
from funcgrad.ops.arithmetic import div, mul
from funcgrad.ops.compare import eq
from funcgrad.ops.convert import convert
from funcgrad.ops.gathering import declare_scatter, gather, one_place, read_back, scatter, scatter_add
from funcgrad.ops.segments import product_of_others
from funcgrad.ops.select import select_n
from funcgrad.ops.shape import iota
from funcgrad.trace.value import aval_of

__all__ = [
    "GatherDimensionNumbers",
    "ScatterDimensionNumbers",
    "gather",
    "scatter",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
]

# --- products, extrema --------------------------------------------------------------------------------------------


def _scatter_mul_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, dimension_numbers: Any, mode: str, unique_indices: bool = False
) -> Any:
    operand, indices, updates = primals
    t, _, t_updates = tangents
    params = {"dimension_numbers": dimension_numbers, "mode": mode, "unique_indices": unique_indices}
    out = scatter_mul(operand, indices, updates, **params)
    if aval_of(out).dtype not in dt.INEXACT:
        return out, None
    t_out = None if t is None else scatter_mul(t, indices, updates, **params)
    if t_updates is not None:
        # d(x u v) = x v du + x u dv: each update times the operand and the other updates of its place.
        others = read_back(operand, indices, updates, dimension_numbers, mode)
        if not (unique_indices or one_place(indices, dimension_numbers)):
            aval = aval_of(operand)
            ids = reshape(iota(dtype=dt.int64, shape=(aval.size,), dimension=0), shape=aval.shape)
            places = read_back(ids, indices, updates, dimension_numbers, mode, -1)
            others = mul(others, product_of_others(updates, places))
        base = zeros(aval_of(operand)) if t_out is None else t_out
        t_out = scatter_add(base, indices, mul(t_updates, others), **params)
    return out, t_out


def _scatter_mul_transpose(ct: Any, operand: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    # Linear in the operand only: the tangent of the updates goes through scatter_add.
    return [scatter_mul(ct, indices, updates, **params) if isinstance(operand, LinearArg) else None, None, None]


scatter_mul = declare_scatter(
    "scatter_mul",
    "mul",
    dt.NUMBERS,
    "the operand with windows multiplied by updates",
    jvp=_scatter_mul_jvp,
    transpose=_scatter_mul_transpose,
)


def _scatter_extremum_jvp(op: Any) -> Any:
    def jvp(
        primals: Sequence[Any], tangents: Sequence[Any], *, dimension_numbers: Any, mode: str, unique_indices: bool = False
    ) -> Any:
        operand, indices, updates = primals
        t, _, t_updates = tangents
        params = {"dimension_numbers": dimension_numbers, "mode": mode, "unique_indices": unique_indices}
        out = op()(operand, indices, updates, **params)
        if aval_of(out).dtype not in dt.INEXACT or (t is None and t_updates is None):
            return out, None
        stayed, attains = eq(operand, out), eq(updates, read_back(out, indices, updates, dimension_numbers, mode))
        zero = like(out, 0)
        dtype = aval_of(out).dtype
        count = scatter_add(convert(stayed, dtype), indices, convert(attains, dtype), **params)
        t_out = zeros(aval_of(out)) if t is None else select_n(stayed, zero, t)
        if t_updates is not None:
            t_out = scatter_add(t_out, indices, select_n(attains, zero, t_updates), **params)
        return out, div(t_out, count)

    return jvp


scatter_min = declare_scatter(
    "scatter_min",
    "min",
    dt.REALS,
    "the operand with windows replaced by the smaller of themselves and updates",
    jvp=_scatter_extremum_jvp(lambda: scatter_min),
    transpose="it is not linear",
)
scatter_max = declare_scatter(
    "scatter_max",
    "max",
    dt.REALS,
    "the operand with windows replaced by the larger of themselves and updates",
    jvp=_scatter_extremum_jvp(lambda: scatter_max),
    transpose="it is not linear",
)
