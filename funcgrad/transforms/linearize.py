"""Linearisation: forward mode whose tangents are recorded instead of computed.

In: a function and primals. Out: its values, and the Jaxpr of the linear map from input tangents to output tangents, whose
constvars are the residuals. It is `Jvp` run on top of `Record`: primal values are known and are computed at once by the
interpreter below, tangents are unknown and leave a program.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.core import dtypes as dt
from funcgrad.ir.jaxpr import Jaxpr
from funcgrad.trace.interpreter import current, running
from funcgrad.trace.stage import Record
from funcgrad.trace.value import aval_of
from funcgrad.transforms.jvp import jvp


class Linearized(NamedTuple):
    """`jaxpr` maps the tangents of the moving inputs to the tangents of the moving outputs."""

    outs: list[Any]
    moving_out: list[bool]
    jaxpr: Jaxpr
    residuals: list[Any]


def linearize(fun: Callable[..., Sequence[Any]], primals: Sequence[Any], moving: Sequence[bool] | None = None) -> Linearized:
    """`fun` at `primals`, and its derivative there as a program. `moving` says which inputs have tangents."""
    if moving is None:
        moving = [aval_of(x).dtype in dt.INEXACT for x in primals]
    trace = Record(current())
    try:
        tangents = [trace.argument(aval_of(x).strong()) if m else None for x, m in zip(primals, moving, strict=True)]
        outs, t_outs = jvp(fun, primals, tangents, parent=trace)
        moving_out = [t is not None for t in t_outs]
        with running(trace):
            jaxpr, residuals = trace.finish([t for t in t_outs if t is not None])
        return Linearized(outs, moving_out, jaxpr, residuals)
    finally:
        trace.live = False
