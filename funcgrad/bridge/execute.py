"""Running a Jaxpr on Arrays.

In: a Jaxpr without constvars, and values. Out: Arrays.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.bridge.array import Array, wrap
from funcgrad.core.cache import weak_memo
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.ir.jaxpr import Jaxpr


class Runner:
    """A Jaxpr made ready to run."""

    __slots__ = ("jaxpr",)

    def __init__(self, jaxpr: Jaxpr):
        self.jaxpr = jaxpr.replace()  # the memo below must not keep its own key alive

    def __call__(self, values: Sequence[Any]) -> list[Array]:
        arrays = [
            x._np if isinstance(x, Array) else np.asarray(x, a.dtype) for x, a in zip(values, self.jaxpr.in_avals, strict=True)
        ]
        with np.errstate(all="ignore"):
            outs = evaluate_numpy(self.jaxpr, (), arrays)
        return [wrap(x, v.aval) for x, v in zip(outs, self.jaxpr.outvars, strict=True)]


@weak_memo
def runner_of(jaxpr: Jaxpr, donated: tuple[int, ...] = ()) -> Runner:
    """The runner of `jaxpr`; made once, for as long as the Jaxpr lives."""
    return Runner(jaxpr)


def execute(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Array]:
    """The outputs of `jaxpr` for these Arrays (or scalar literals)."""
    return runner_of(jaxpr)(args)
