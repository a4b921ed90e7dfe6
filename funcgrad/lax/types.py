"""Small types of `funcgrad.lax`: enumerations and dimension numbers, with JAX's names and field orders.

DotDimensionNumbers: the type of `((lhs contracted, rhs contracted), (lhs batch, rhs batch))`, see `lax.dot_general`.
"""

import enum
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from funcgrad.core.errors import UsageError, message
from funcgrad.numpy._axes import pairs_of, static_ints
from funcgrad.numpy._precision import Precision
from funcgrad.ops.convolution import ConvDimensionNumbers
from funcgrad.ops.index import GatherDimensionNumbers, ScatterDimensionNumbers

__all__ = [
    "ConvDimensionNumbers",
    "DotDimensionNumbers",
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "Precision",
    "RaggedDotDimensionNumbers",
    "RoundingMethod",
    "ScatterDimensionNumbers",
]

DotDimensionNumbers = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


class RoundingMethod(enum.IntEnum):
    """How `lax.round` treats halves.

    >>> lax.round(2.5, lax.RoundingMethod.TO_NEAREST_EVEN)
    Array(2., dtype=float32, weak_type=True)
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def member(kind: type[enum.IntEnum], given: Any, name: str) -> Any:
    """One of an enumeration, given as itself or by its number."""
    try:
        return kind(operator.index(given))
    except (TypeError, ValueError):
        pass
    known = ", ".join([f"{m.name} ({m.value})" for m in kind])
    raise UsageError(message(f"{name}: got {given!r}", f"a lax.{kind.__name__}: {known}", f"lax.{kind.__name__}(0)"))


class GatherScatterMode(enum.Enum):
    """What an index out of range does. `from_any` reads the names that `mode=` arguments take.

    >>> fnp.array([1, 2, 3]).at[7].get(mode=lax.GatherScatterMode.CLIP)
    Array(3, dtype=int64)
    >>> lax.GatherScatterMode.from_any("drop")
    <GatherScatterMode.FILL_OR_DROP: 1>
    """

    CLIP = 0
    FILL_OR_DROP = 1
    PROMISE_IN_BOUNDS = 2
    ONE_HOT = 3

    @staticmethod
    def from_any(s: Any) -> Any:
        """The mode of a name ('clip', 'fill', 'drop', 'promise_in_bounds'), a mode, or None (the default)."""
        names = {"clip": 0, "fill": 1, "drop": 1, "promise_in_bounds": 2, "one_hot": 3}
        if s is None or isinstance(s, GatherScatterMode):
            return s
        if s in names:
            return GatherScatterMode(names[s])
        raise UsageError(message(f"GatherScatterMode.from_any: got {s!r}", ", ".join(names), "mode='clip'"))


@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """Which axes of a product of matrices in groups are contracted and batched (as in `lax.dot_general`), which axis of lhs is in
    groups of unequal extents, and which axis of rhs counts the groups. Sequences become tuples.

    >>> lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0]).rhs_group_dimensions
    (0,)
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]

    def __post_init__(self) -> None:
        store = object.__setattr__
        name = "lax.RaggedDotDimensionNumbers"
        store(self, "dot_dimension_numbers", pairs_of(self.dot_dimension_numbers, name))
        for arg in ("lhs_ragged_dimensions", "rhs_group_dimensions"):
            store(self, arg, static_ints(getattr(self, arg), name, arg))
