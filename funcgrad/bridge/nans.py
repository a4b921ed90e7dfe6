"""`config.debug_nans`: which operator, at which line, made the first NaN; in a gradient, in which of its two passes.

The equations of a backward pass are told by their `source`. A program that has some is a gradient, and what it does
besides is the forward pass: the function, and the factors that its derivative needs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.bridge.array import Array, from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core import source
from funcgrad.core.config import config
from funcgrad.core.errors import NanError, describe, message
from funcgrad.ir.effects import silent
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Literal, subjaxprs
from funcgrad.ir.loop_rules import Call, Loop
from funcgrad.trace.interpreter import floor, running


def has_nan(x: Any) -> bool:
    """Whether an Array or literal holds a NaN."""
    if isinstance(x, Array):
        return x.aval.dtype in dt.INEXACT and bool(np.isnan(x._np).any())
    return bool(x != x)


def check_outputs(prim: Any, outs: Sequence[Array], args: Sequence[Any], line: Any = None, phase: str = "") -> None:
    """NanError where an output holds a NaN; the message says whether one came in. `phase`: of a derivative, where known."""
    for out in outs:
        if has_nan(out):
            place = line if line is not None else source.current()
            came = f"{prim.name} gave a NaN in its output {describe(out)}"
            if place is not source.UNKNOWN:
                came += f" at {place.quote()}"
            phase = phase or ("backward" if source.SCOPE.backward else "")
            if phase:
                came += f"\n  in the {phase} pass of a derivative"
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


def find_nan(jaxpr: Jaxpr, args: Sequence[Any]) -> None:
    """Run the program again, operator by operator, up to the one that gives the first NaN: NanError. Nothing where none does."""
    with running(floor()), config.override(debug_nans=False):
        _walk(silent(jaxpr), args, "forward" if _goes_back(jaxpr) else "")


def _goes_back(jaxpr: Jaxpr) -> bool:
    """Whether a backward pass is somewhere in the program."""
    return any(_is_backward(eqn) or any(map(_goes_back, subjaxprs(eqn.params))) for eqn in jaxpr.eqns)


def _is_backward(eqn: Eqn) -> bool:
    return eqn.source is not None and eqn.source.backward


def _walk(jaxpr: Jaxpr, args: Sequence[Any], phase: str) -> list[Any]:
    """Run the program. `phase`: that of equations which do not say another."""
    env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))
    read = lambda x: x.value if isinstance(x, Literal) else env[x]
    for eqn in jaxpr.eqns:
        ins = [read(x) for x in eqn.inputs]
        now = "backward" if _is_backward(eqn) else phase
        if isinstance(eqn.primitive.loop, Call):
            outs = _walk(subjaxprs(eqn.params)[0], ins, now)
        else:
            outs = floor().apply(eqn.primitive, tuple(ins), eqn.params)
            outs = list(outs) if eqn.primitive.multiple_results else [outs]
            if isinstance(eqn.primitive.loop, Loop) and any(map(has_nan, outs)):
                _into(eqn, ins, now)
            check_outputs(eqn.primitive, outs, ins, eqn.source, now)
        env.update(zip(eqn.outputs, outs, strict=True))
    return [read(x) for x in jaxpr.outvars]


def _into(eqn: Eqn, ins: list[Any], phase: str) -> None:
    """A loop or branch that gave a NaN, step by step, to the operator inside that gave the first."""
    p, kind = eqn.params, eqn.primitive.loop.kind
    if kind == "cond":
        _walk(p["branches"][int(np.asarray(ins[0]))], ins[1:], phase)
    elif kind == "while":
        c, b, state = (
            ins[: p["cond_consts"]],
            ins[p["cond_consts"] :][: p["body_consts"]],
            ins[p["cond_consts"] + p["body_consts"] :],
        )
        while np.asarray(_walk(p["cond"], [*c, *state], phase)[0]):
            state = _walk(p["body"], [*b, *state], phase)
    else:
        first, n = p["consts"], p["consts"] + p["carry"]
        state = ins[first:n]
        for i in range(p["length"])[:: -1 if p["reverse"] else 1]:
            row = [from_numpy(np.asarray(x)[i]) for x in ins[n:]]
            state = _walk(p["body"], [*ins[:first], *state, *row], phase)[: p["carry"]]
