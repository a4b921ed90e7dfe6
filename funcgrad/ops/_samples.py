"""What declarations need besides rules: NumPy meanings for narrow floats, and sample operands for tests."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt

NARROW = frozenset(d for d in dt.FLOATS if d.itemsize < 4)


def via_float32(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun` for every dtype, where NumPy or SciPy have it for those of 32 bits and more: narrow floats are computed in
    float32 and rounded once."""

    def meaning(x: Any, *more: Any, **params: Any) -> Any:
        if x.dtype in NARROW:
            return np.asarray(fun(*[a.astype(np.float32) for a in (x, *more)], **params)).astype(x.dtype)
        return fun(x, *more, **params)

    return meaning


# --- samples --------------------------------------------------------------------------------------------


def uniform(low: float, high: float) -> Callable[..., np.ndarray]:
    """Samples of a float (or complex) operand in a range; integers and bools within what their dtype holds."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        if dtype == dt.bool_:
            return rng.random(shape) < 0.5
        if dtype in dt.INTEGERS:
            info = np.iinfo(dtype)
            lo, hi = max(int(np.ceil(low)), info.min), min(int(np.floor(high)), info.max)
            return rng.integers(lo, max(lo, hi), shape, endpoint=True, dtype=dtype)
        x = rng.uniform(low, high, shape)
        if dtype in dt.COMPLEXES:
            x = x + 1j * rng.uniform(low, high, shape)
        return np.asarray(x).astype(dtype)

    return draw


def elementwise_samples(domains: Any, count: int, cases: Sequence[dict[str, Any]] = ({},)) -> Callable[..., Any]:
    """Sample operands of an elementwise operator in a few shapes: vector, matrix, scalar, empty."""
    draws = domains if isinstance(domains, (list, tuple)) else [domains] * count

    def samples(rng: np.random.Generator, dtype: np.dtype) -> list[tuple[tuple[np.ndarray, ...], dict[str, Any]]]:
        return [
            (tuple(np.asarray(draw(rng, shape, dtype)) for draw in draws), p)
            for shape in ((5,), (2, 3), (), (0, 2))
            for p in cases
        ]

    return samples
