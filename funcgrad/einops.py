"""einops: after `import funcgrad.einops`, `rearrange`, `reduce`, `repeat`, `einsum`, `pack` and `unpack` take arrays and tracers.

einops asks the subclasses of its class of backends whose arrays it has been given; the class here is one. Its functions for the
array API standard, `einops.array_api`, need no backend and work without this module.
"""

from typing import Any

from einops._backends import AbstractBackend

import funcgrad.numpy as fnp
from funcgrad.core import dtypes as dt
from funcgrad.trace.value import Value


class Backend(AbstractBackend):
    """What einops does with an array, in functions of `funcgrad.numpy`."""

    framework_name = "funcgrad"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, Value)

    def from_numpy(self, x: Any) -> Any:
        return fnp.asarray(x)

    def to_numpy(self, x: Any) -> Any:
        return x.__array__()

    def arange(self, start: int, stop: int) -> Any:
        return fnp.arange(start, stop)

    def reduce(self, x: Any, operation: str, axes: Any) -> Any:
        return getattr(x, operation)(axis=tuple(axes))

    def stack_on_zeroth_dimension(self, tensors: list) -> Any:
        return fnp.stack(tensors)

    def add_axis(self, x: Any, new_position: int) -> Any:
        return fnp.expand_dims(x, new_position)

    def tile(self, x: Any, repeats: Any) -> Any:
        return fnp.tile(x, tuple(repeats))

    def concat(self, tensors: Any, axis: int) -> Any:
        return fnp.concatenate(tensors, axis)

    def is_float_type(self, x: Any) -> bool:
        return x.dtype in dt.FLOATS

    def einsum(self, pattern: str, *x: Any) -> Any:
        return fnp.einsum(pattern, *x)
