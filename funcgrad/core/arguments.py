"""Checks of arguments that say how something is done: flags, and one of a few choices.

In: whatever a user passed. Out: a bool, or whether it is one of the choices; an array among them never reaches a comparison or
`if`, which would raise NumPy's error about truth values and name no argument.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from funcgrad.core.errors import UsageError, asked_at, describe, message


def flag(x: Any, name: str, arg: str) -> bool:
    """The argument as a bool: anything that has a truth value. UsageError for arrays of several elements, or of none.

    name: the function's, where it is known; without it the error shows the user's line."""
    if x.__class__ is bool or x is None:
        return bool(x)
    if getattr(x, "size", 1) == 1 or isinstance(x, type):
        try:
            return bool(x)
        except ValueError:
            pass
    came = f"{name}: got {describe(x)} for {arg}" if name else f"got {describe(x)} for {arg}{asked_at()}"
    raise UsageError(message(came, "True or False", f"{arg}=True"))


def among(x: Any, choices: Iterable[Any]) -> bool:
    """`x in choices`, where x may be anything: an array, or what has no hash, is none of them."""
    if x.__class__ is str or x is None:
        return x in choices
    if isinstance(x, np.ndarray) or hasattr(x, "aval"):
        return False
    try:
        return x in tuple(choices)
    except (TypeError, ValueError):
        return False
