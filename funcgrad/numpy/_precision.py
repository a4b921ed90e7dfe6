"""`Precision`: accepted wherever JAX takes it, for code that comes from there."""

import enum
from typing import Any

from funcgrad.core.errors import UsageError, message


class Precision(enum.Enum):
    """Accepted wherever JAX takes it; products are always computed in the full precision of their dtype.

    >>> lax.dot(fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0]), precision=lax.Precision.HIGHEST)
    Array(11., dtype=float32)
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


_NAMES = ("default", "fastest", "bfloat16", "high", "bfloat16_3x", "tensorfloat32", "highest", "float32")


def check_precision(precision: Any, name: str) -> None:
    """UsageError unless `precision` is one that JAX takes (a Precision, its name, or a pair of them)."""
    if isinstance(precision, (tuple, list)) and len(precision) == 2:
        for p in precision:
            check_precision(p, name)
    elif precision is not None and not isinstance(precision, Precision) and str(precision).lower() not in _NAMES:
        raise UsageError(
            message(
                f"{name}: got precision={precision!r}", "None, a lax.Precision, 'default', 'high', 'highest'", "precision=None"
            )
        )
