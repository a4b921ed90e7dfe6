"""Drop no-ops: equations that give one of their operands back, and pairs of structural equations that are one.

Only what is exact in IEEE arithmetic: x * 1, x / 1, x - 0, x + (-0); never (v + c) - c, and not x + 0, which turns
-0 into 0. A literal that was broadcast counts as the literal here: the gradient of a sum starts with ones. A rule gets the
equation and the equation that made its first operand (or None), and returns an atom that stands for the output, a new
equation, or None.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var

Found = Atom | Eqn | None
Rule = Callable[[Eqn, Eqn | None], Found]


def _is(x: Atom, number: float) -> bool:
    """Whether `x` is the literal `number`, told apart from its negative zero."""
    if x.__class__ is not Literal:
        return False
    value = x.value  # type: ignore[union-attr]
    return bool(value == number) and bool(np.signbit(np.real(value)) == np.signbit(number)) and np.imag(value) == 0


def _fits(x: Atom, eqn: Eqn) -> bool:
    """Whether `x` may stand for the output: same shape and dtype."""
    a, b = x.aval, eqn.outputs[0].aval
    return a is b or (a.shape == b.shape and a.dtype == b.dtype)


def _times(eqn: Eqn, made: Eqn | None) -> Found:
    x, y = eqn.inputs
    if x.aval.dtype.kind == "c":
        return None
    return x if _is(y, 1) else y if _is(x, 1) else None


def _plus(eqn: Eqn, made: Eqn | None) -> Found:
    x, y = eqn.inputs
    zero = 0 if x.aval.dtype.kind in "iu" else -0.0
    if x.aval.dtype.kind == "c":
        return None
    return x if _is(y, zero) else y if _is(x, zero) else None


def _minus(eqn: Eqn, made: Eqn | None) -> Found:
    x, y = eqn.inputs
    return x if x.aval.dtype.kind != "c" and _is(y, 0.0) else None


def _over(eqn: Eqn, made: Eqn | None) -> Found:
    x, y = eqn.inputs
    return x if x.aval.dtype.kind != "c" and _is(y, 1) else None


def _power(eqn: Eqn, made: Eqn | None) -> Found:
    return eqn.inputs[0] if eqn.params.get("y") == 1 else None


def _itself(eqn: Eqn, made: Eqn | None) -> Found:
    return eqn.inputs[0]


def _twice(eqn: Eqn, made: Eqn | None) -> Found:
    return made.inputs[0] if made is not None and made.primitive is eqn.primitive else None


def _convert(eqn: Eqn, made: Eqn | None) -> Found:
    x = eqn.inputs[0]
    if x.__class__ is Literal:
        return None
    if x.aval.dtype == eqn.outputs[0].aval.dtype:
        return x
    if made is not None and made.primitive is eqn.primitive:
        source = made.inputs[0]
        kinds = source.aval.dtype.kind + x.aval.dtype.kind
        # To a wider dtype of the same kind and back.
        if (
            source.aval.dtype == eqn.outputs[0].aval.dtype
            and kinds in ("ff", "ii", "uu", "cc")
            and x.aval.dtype.itemsize > source.aval.dtype.itemsize
        ):
            return source
    return None


def _select(eqn: Eqn, made: Eqn | None) -> Found:
    which, *cases = eqn.inputs
    if which.__class__ is Literal:
        return cases[min(max(int(which.value), 0), len(cases) - 1)]  # type: ignore[union-attr]
    if len(cases) == 2 and cases[0] is cases[1] and cases[0].__class__ is Var:
        return cases[0]
    return None


def _transpose(eqn: Eqn, made: Eqn | None) -> Found:
    perm = eqn.params["permutation"]
    if tuple(perm) == tuple(range(len(perm))):
        return eqn.inputs[0]
    if made is not None and made.primitive is eqn.primitive:
        first = made.params["permutation"]
        joint = tuple([first[p] for p in perm])
        if joint == tuple(range(len(joint))):
            return made.inputs[0]
        return Eqn(eqn.primitive, made.inputs, eqn.outputs, {"permutation": joint}, eqn.source)
    return None


def _reshape(eqn: Eqn, made: Eqn | None) -> Found:
    x = eqn.inputs[0]
    if x.aval.shape == eqn.outputs[0].aval.shape:
        return x
    if made is not None and made.primitive is eqn.primitive:
        if made.inputs[0].aval.shape == eqn.outputs[0].aval.shape:
            return made.inputs[0]
        return Eqn(eqn.primitive, made.inputs, eqn.outputs, eqn.params, eqn.source)
    return None


def _same_shape(eqn: Eqn, made: Eqn | None) -> Found:
    x = eqn.inputs[0]
    return x if x.aval.shape == eqn.outputs[0].aval.shape else None


def _slice(eqn: Eqn, made: Eqn | None) -> Found:
    x = eqn.inputs[0]
    return x if x.aval.shape == eqn.outputs[0].aval.shape and 0 not in x.aval.shape else None


def _rev(eqn: Eqn, made: Eqn | None) -> Found:
    if not eqn.params["dimensions"]:
        return eqn.inputs[0]
    return made.inputs[0] if made is not None and made.primitive is eqn.primitive and made.params == eqn.params else None


def _no_axes(eqn: Eqn, made: Eqn | None) -> Found:
    return eqn.inputs[0] if not eqn.params["axes"] else None


def _concatenate(eqn: Eqn, made: Eqn | None) -> Found:
    return eqn.inputs[0] if len(eqn.inputs) == 1 else None


RULES: dict[str, Rule] = {
    "mul": _times,
    "add": _plus,
    "sub": _minus,
    "div": _over,
    "integer_pow": _power,
    "stop_gradient": _itself,
    "copy": _itself,
    "neg": _twice,
    "not": _twice,
    "conj": _twice,
    "convert_element_type": _convert,
    "select_n": _select,
    "transpose": _transpose,
    "reshape": _reshape,
    "broadcast_in_dim": _same_shape,
    "squeeze": _same_shape,
    "expand_dims": _same_shape,
    "slice": _slice,
    "rev": _rev,
    "reduce_sum": _no_axes,
    "reduce_max": _no_axes,
    "reduce_min": _no_axes,
    "reduce_prod": _no_axes,
    "concatenate": _concatenate,
}


_ARITHMETIC = frozenset({"mul", "add", "sub", "div"})
_SPREADING = frozenset({"broadcast_in_dim", "reshape", "transpose", "squeeze", "expand_dims"})


def reduce_identities(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` without no-ops."""
    env: dict[Var, Atom] = {}
    made: dict[Any, Eqn] = {}
    spread: dict[Any, Literal] = {}  # variables all of whose elements are this literal
    eqns: list[Eqn] = []
    changed = False
    for eqn in jaxpr.eqns:
        if env:
            inputs = tuple([env.get(x, x) if x.__class__ is Var else x for x in eqn.inputs])  # type: ignore[arg-type]
            if inputs != eqn.inputs:
                eqn = eqn._replace(inputs=inputs)
                changed = True
        rule = RULES.get(eqn.primitive.name)
        if rule is not None:
            seen = eqn
            if spread and eqn.primitive.name in _ARITHMETIC:
                seen = eqn._replace(inputs=tuple([spread.get(x, x) for x in eqn.inputs]))
            found: Any = rule(seen, made.get(eqn.inputs[0]))
            if found.__class__ is Eqn:
                eqn = found  # type: ignore[assignment]
                changed = True
            elif found is not None and _fits(found, eqn):  # type: ignore[arg-type]
                env[eqn.outputs[0]] = found  # type: ignore[assignment]
                changed = True
                continue
        eqns.append(eqn)
        if eqn.outputs:
            made[eqn.outputs[0]] = eqn
            if eqn.primitive.name in _SPREADING:
                x = eqn.inputs[0]
                one = x if x.__class__ is Literal else spread.get(x)
                if one is not None:
                    spread[eqn.outputs[0]] = one  # type: ignore[assignment]
    if not changed:
        return jaxpr
    outvars = [env.get(x, x) if x.__class__ is Var else x for x in jaxpr.outvars]  # type: ignore[arg-type]
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns, outvars)
