"""An error from inside a program: what SciPy raises for the numbers of an argument, also in compiled code."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.ops import elementwise as ew
from funcgrad.ops.reduce import reduce_and
from funcgrad.transforms.checking import check


class Said:
    """A check with a text that shows no values."""

    __slots__ = ("said",)

    def __init__(self, said: str):
        self.said = said

    def __repr__(self) -> str:
        return repr(self.said)

    def text(self, arrays: Sequence[np.ndarray]) -> str:
        """The text."""
        return self.said


def must(condition: Any, said: str) -> None:
    """CheckError (a ValueError) with this text where the condition, an array of bools, does not hold everywhere."""
    every = reduce_and(condition, axes=tuple(range(condition.ndim)))
    check(ew.not_(every), site=Said(said), levels=(), axes=(), tags=0, debug=False)
