"""gather and scatter with XLA's dimension numbers. `x[i]` and `x.at[i]` work them out; these are for code that has them.

The default mode is `config.index_mode` ("raise"): an index out of range is an IndexError. JAX's default clips a gather
("clip") and
drops scattered updates ("drop").
"""

from collections.abc import Callable
from typing import Any

from funcgrad.core.arguments import flag
from funcgrad.core.errors import UsageError, describe, message
from funcgrad.lax._table import named
from funcgrad.numpy._axes import static_ints
from funcgrad.numpy._promote import as_value, value_in
from funcgrad.numpy.index import mode_of
from funcgrad.ops import elementwise as ew
from funcgrad.ops import index as ops

__all__ = ["gather", "scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub"]


def mode_word(name: str, mode: Any) -> str:
    found = mode_of(mode, f"lax.{name}")
    if found == "wrap":
        raise UsageError(
            message(
                f"lax.{name}: got mode='wrap'", "'raise', 'clip', 'fill', 'drop', 'promise_in_bounds'", "x.at[i], which wraps"
            )
        )
    return found


def numbers_of(kind: Any, given: Any, name: str) -> Any:
    """Dimension numbers with their axes as tuples of integers."""
    if not isinstance(given, kind):
        raise UsageError(
            message(
                f"{name}: got {describe(given)} for dimension_numbers",
                f"a lax.{kind.__name__}",
                f"lax.{kind.__name__}({', '.join(f + '=(0,)' for f in kind._fields[:3])})",
            )
        )
    return kind(*[static_ints(axes, name, f"dimension_numbers.{field}") for field, axes in zip(kind._fields, given, strict=True)])


def gather(
    operand: Any, start_indices: Any, dimension_numbers: Any, slice_sizes: Any, *, unique_indices: bool = False,
    indices_are_sorted: bool = False, mode: Any = None, fill_value: Any = None,
) -> Any:  # fmt: skip
    """Windows of `slice_sizes` that start at the index vectors along the last axis of start_indices.

    dimension_numbers: a `GatherDimensionNumbers`. mode: out of range, see `x.at[i]`; fill_value: for "fill". unique_indices,
    indices_are_sorted: promises that make no difference. Returns: the dtype of operand; its axes `offset_dims` walk through a
    window, the others through start_indices.

    >>> x = fnp.array([[1, 2, 3], [4, 5, 6]])
    >>> rows = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> lax.gather(x, fnp.array([[1], [0], [1]]), rows, slice_sizes=(1, 3))  # x[[1, 0, 1]]
    Array([[4, 5, 6],
           [1, 2, 3],
           [4, 5, 6]], dtype=int64)
    """
    x, i = as_value(operand, "lax.gather", "operand"), as_value(start_indices, "lax.gather", "start_indices")
    return ops.gather(
        x,
        i,
        dimension_numbers=numbers_of(ops.GatherDimensionNumbers, dimension_numbers, "lax.gather"),
        slice_sizes=static_ints(slice_sizes, "lax.gather", "slice_sizes"),
        mode=mode_word("gather", mode),
        fill_value=fill_value,
    )


def _scatter(
    name: str, op: Callable[..., Any], doc: str, example: str, change: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    def f(
        operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: Any, *, indices_are_sorted: bool = False,
        unique_indices: bool = False, mode: Any = None,
    ) -> Any:  # fmt: skip
        x, i = as_value(operand, f"lax.{name}", "operand"), as_value(scatter_indices, f"lax.{name}", "scatter_indices")
        u = value_in(updates, x.dtype, f"lax.{name}", "updates")
        return op(
            x,
            i,
            u if change is None else change(u),
            dimension_numbers=numbers_of(ops.ScatterDimensionNumbers, dimension_numbers, f"lax.{name}"),
            mode=mode_word(name, mode),
            unique_indices=flag(unique_indices, f"lax.{name}", "unique_indices"),
        )

    about = """
The windows of `updates` go to the index vectors along the last axis of scatter_indices. dimension_numbers: a
`ScatterDimensionNumbers`. mode: out of range, see `x.at[i]`. unique_indices: a promise that no place is written twice, which
makes gradients cheaper; indices_are_sorted: makes no difference. Returns: an array like operand, whose dtype updates take.

>>> each = lax.ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
"""
    return named(f, name, f"{doc}\n{about}", example.lstrip())


scatter = _scatter(
    "scatter",
    ops.scatter,
    "The operand with windows replaced by updates; of several for one place the last stays.",
    """
>>> lax.scatter(fnp.array([1.0, 2.0, 3.0]), fnp.array([[2], [0]]), fnp.array([30.0, 10.0]), each)
Array([10.,  2., 30.], dtype=float32)
""",
)
scatter_add = _scatter(
    "scatter_add",
    ops.scatter_add,
    "The operand with updates added to windows.",
    """
>>> lax.scatter_add(fnp.array([1.0, 2.0, 3.0]), fnp.array([[2], [2]]), fnp.array([30.0, 10.0]), each)
Array([ 1.,  2., 43.], dtype=float32)
""",
)
scatter_sub = _scatter(
    "scatter_sub",
    ops.scatter_add,
    "The operand with updates subtracted from windows.",
    """
>>> lax.scatter_sub(fnp.array([1.0, 2.0, 3.0]), fnp.array([[2], [2]]), fnp.array([30.0, 10.0]), each)
Array([  1.,   2., -37.], dtype=float32)
""",
    ew.neg,
)
scatter_mul = _scatter(
    "scatter_mul",
    ops.scatter_mul,
    "The operand with windows multiplied by updates.",
    """
>>> lax.scatter_mul(fnp.array([1.0, 2.0, 3.0]), fnp.array([[2], [2]]), fnp.array([30.0, 10.0]), each)
Array([  1.,   2., 900.], dtype=float32)
""",
)
scatter_min = _scatter(
    "scatter_min",
    ops.scatter_min,
    "The operand with windows replaced by the smaller of themselves and updates.",
    """
>>> lax.scatter_min(fnp.array([1.0, 2.0, 3.0]), fnp.array([[0], [2]]), fnp.array([7.0, -7.0]), each)
Array([ 1.,  2., -7.], dtype=float32)
""",
)
scatter_max = _scatter(
    "scatter_max",
    ops.scatter_max,
    "The operand with windows replaced by the larger of themselves and updates.",
    """
>>> lax.scatter_max(fnp.array([1.0, 2.0, 3.0]), fnp.array([[0], [2]]), fnp.array([7.0, -7.0]), each)
Array([7., 2., 3.], dtype=float32)
""",
)
