"""`config.debug_nans`: which operator, at which line, made the first NaN."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.bridge.array import Array
from funcgrad.core import dtypes as dt
from funcgrad.core import source
from funcgrad.core.errors import NanError, describe, message


def has_nan(x: Any) -> bool:
    """Whether an Array or literal holds a NaN."""
    if isinstance(x, Array):
        return x.aval.dtype in dt.INEXACT and bool(np.isnan(x._np).any())
    return bool(x != x)


def check_outputs(prim: Any, outs: Sequence[Array], args: Sequence[Any], line: Any = None) -> None:
    """NanError where an output holds a NaN; the message says whether one came in."""
    for out in outs:
        if has_nan(out):
            place = line if line is not None else source.current()
            came = f"{prim.name} gave a NaN in its output {describe(out)}"
            if place is not source.UNKNOWN:
                came += f" at {place.quote()}"
            operands = ", ".join(describe(x) if isinstance(x, Array) else repr(x) for x in args)
            came += f"\n  its operands ({operands}) hold " + (
                "a NaN already" if any(map(has_nan, args)) else "no NaN: it was born here"
            )
            raise NanError(
                message(
                    came,
                    "finite results while config.debug_nans is on",
                    "look at the operands in a debugger, or guard them: fnp.where(ok, x, safe) before the operator",
                )
            )
