"""What the standard pickle refuses (lambdas, local functions, what holds them), as bytes of cloudpickle inside of it."""

import importlib.util
import pickle
from typing import Any

from funcgrad.core.errors import message
from funcgrad.core.lazy import LazyModule

cloudpickle: Any = LazyModule("cloudpickle")
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class ByValue:
    """Stands in a pickle for a value, which is what comes out of it."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __reduce__(self) -> tuple:
        try:
            return pickle.loads, (cloudpickle.dumps(self.value),)
        except Exception as error:
            missing = importlib.util.find_spec("cloudpickle") is None
            raise pickle.PicklingError(
                message(
                    f"{self.value!r} cannot be pickled: {error}",
                    "functions of a module, and with the package cloudpickle others too, if what they close over can be pickled",
                    "pip install cloudpickle" if missing else "define the function in a module",
                )
            ) from error


def portable(value: Any) -> Any:
    """`value` where the standard pickle takes it, else a `ByValue` for it."""
    if isinstance(value, _PLAIN):
        return value
    try:
        pickle.dumps(value)
    except Exception:
        return ByValue(value)
    return value
