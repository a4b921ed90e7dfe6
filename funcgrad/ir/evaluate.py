"""Running a Jaxpr by a function that applies one primitive."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.ir.jaxpr import Jaxpr, Literal, Var
from funcgrad.ir.primitive import Primitive

Apply = Callable[[Primitive, list[Any], dict[str, Any]], Any]


def _as_written(x: Literal) -> Any:
    return x.value


def _as_number(x: Literal) -> Any:
    """A literal as NumPy's scalar of its dtype: the meanings of primitives ask for dtypes, which Python's numbers do not have."""
    return np.asarray(x.value, x.aval.dtype)[()]


def evaluate(
    apply: Apply, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], literal: Callable[[Literal], Any] = _as_written
) -> list[Any]:
    """Values of the outvars: `apply(primitive, args, params)` for each equation, in order; `literal` gives literals."""
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    for eqn in jaxpr.eqns:
        ins = [literal(x) if x.__class__ is Literal else env[x] for x in eqn.inputs]  # type: ignore[index, arg-type]
        out = apply(eqn.primitive, ins, eqn.params)
        if eqn.primitive.multiple_results:
            env.update(zip(eqn.outputs, out, strict=True))
        else:
            env[eqn.outputs[0]] = out
    return [literal(x) if x.__class__ is Literal else env[x] for x in jaxpr.outvars]  # type: ignore[index, arg-type]


def apply_numpy(prim: Primitive, args: list[Any], params: dict[str, Any]) -> Any:
    """The primitive's meaning on NumPy arrays."""
    return prim.numpy(*args, **params)


def evaluate_numpy(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[np.ndarray]:
    """The meaning of a program, in NumPy: the oracle of the compiled path."""
    outs = evaluate(apply_numpy, jaxpr, consts, args, _as_number)
    return [np.asarray(x, dtype=v.aval.dtype) for x, v in zip(outs, jaxpr.outvars, strict=True)]
