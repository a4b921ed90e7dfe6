"""Loops and branches outside jit: short ones run in NumPy, long ones compiled.

A program is kept under the structure of its body, so that a loop whose body is a new function at each call (a lambda in a
training step, say) is made ready once. A while starts in NumPy and goes over to machine code when it turns out to be long.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.bridge.array import Array
from funcgrad.bridge.memory import alias
from funcgrad.bridge.runner import as_array, execute
from funcgrad.core.aval import ShapedArray
from funcgrad.core.config import config
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Var
from funcgrad.ir.primitive import Primitive
from funcgrad.ir.structure import count_equations, structure
from funcgrad.trace.value import aval_of

SHORT = 300  # equations that NumPy evaluates, about 1 us each; making a program ready takes milliseconds
SMALL = 100_000  # elements of the results of these
TURNS = 16  # of a while in NumPy, at most
KEPT = 256  # programs

Apply = Callable[[Primitive, tuple[Any, ...], dict[str, Any]], Any]


_PROGRAMS: dict[Any, Jaxpr] = {}


def evaluate_control(
    apply: Apply, prim: Primitive, args: Sequence[Any], avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[Any] | None:
    """The results (avals `avals`) of a loop or branch on concrete operands; None where NumPy evaluates it soon enough."""
    kind = prim.loop.kind  # type: ignore[union-attr]
    if kind == "cond":  # operator by operator, so that a loop inside may run compiled
        index, *given = args
        outs = _run(apply, params["branches"][int(np.asarray(index))], given)
    elif config.disable_jit:
        return None
    elif kind == "while":
        outs = _while(apply, prim, args, params)
    else:
        body, length = params["body"], params["length"]
        if count_equations(body) * length <= SHORT and _elements(body) * length <= SMALL:
            return None
        outs = execute(_program(prim, args, params), args)
    return [_fit(x, a) for x, a in zip(outs, avals, strict=True)]


def _fit(x: Any, aval: ShapedArray) -> Array:
    if x.__class__ is not Array:
        return as_array(x, aval)
    return x if x.aval is aval else alias(x, aval)


def _run(apply: Apply, jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    return evaluate(lambda prim, xs, params: apply(prim, tuple(xs), params), jaxpr, (), args)


def _elements(jaxpr: Jaxpr) -> int:
    return sum([v.aval.size for e in jaxpr.eqns for v in e.outputs])


def _while(apply: Apply, prim: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    cc, bc = params["cond_consts"], params["body_consts"]
    tests, fixed, state = list(args[:cc]), list(args[cc : cc + bc]), list(args[cc + bc :])
    each = count_equations(params["cond"]) + count_equations(params["body"])
    turns = min(TURNS, SHORT // (2 * each + 1)) if _elements(params["body"]) <= SMALL // TURNS else 0
    for _ in range(turns):
        if not np.asarray(_run(apply, params["cond"], [*tests, *state])[0]):
            return state
        state = _run(apply, params["body"], [*fixed, *state])
    args = [*tests, *fixed, *state]
    return execute(_program(prim, args, params), args)


def _program(prim: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Jaxpr:
    """The operator alone, as a program of its operands."""
    avals = [aval_of(x) for x in args]
    outs = prim.abstract(*avals, **params)
    ins = [Var(a) for a in avals]
    results = [Var(a) for a in outs]
    made = Jaxpr((), ins, [Eqn(prim, tuple(ins), tuple(results), params)], results)
    key = structure(made), config.trace_key
    found = _PROGRAMS.get(key)
    if found is None:
        if len(_PROGRAMS) >= KEPT:
            _PROGRAMS.clear()
        found = _PROGRAMS.setdefault(key, made)
    return found
