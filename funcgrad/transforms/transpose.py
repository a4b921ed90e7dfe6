"""The backward pass: the transpose of a linear program.

In: a Jaxpr that is linear in some of its inputs, the values of the others, cotangents of its outputs. Out: cotangents of the
linear inputs. Equations are walked in reverse; None is a symbolic zero.

A cotangent may be *blocked* in places: where `select` took the other case its zero is a hard one, and must stay zero when a
factor that belongs to the case not taken is infinite or NaN. So cotangents carry a `Mask` of their live places, lazily:
it costs nothing until a multiplication asks for it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core.errors import message
from funcgrad.core.source import SCOPE
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var
from funcgrad.ir.primitive import LinearArg, Placed
from funcgrad.ops._family import add, like, same_mask, zeros
from funcgrad.ops.bitwise import or_
from funcgrad.ops.pieces import put_together
from funcgrad.ops.select import select_n
from funcgrad.trace.interpreter import current


class Mask:
    """A boolean array that is made when it is first needed: True where a cotangent is live."""

    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[], Any]):
        self._make, self._value = make, None

    def force(self) -> Any:
        """The array, or None if it could not be carried this far: everything counts as live."""
        if self._make is not None:
            self._value, self._make = self._make(), None
        return self._value


def add_cotangents(x: Any, y: Any) -> Any:
    """The sum of two cotangents, either of which may be a `Placed`."""
    if isinstance(x, Placed) and isinstance(y, Placed):
        pieces = x.pieces + y.pieces if x.pieces and y.pieces else ()
        return Placed(y.aval, lambda to: y.into(x.into(to)), pieces)
    if isinstance(y, Placed):
        return y.into(x)
    return x.into(y) if isinstance(x, Placed) else add(x, y)


def whole(ct: Any) -> Any:
    """A cotangent as an array."""
    if not isinstance(ct, Placed):
        return ct
    return put_together(ct.aval, ct.pieces) if ct.pieces else ct.into(zeros(ct.aval.strong()))


def backward(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], cts: Sequence[Any], placed: bool = False) -> list[Any]:
    """Cotangents of those `args` that are `LinearArg`s, in order, for cotangents `cts` of the outputs; where `placed`, what is
    zero but in some places is left a `Placed`."""
    values: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    linear: set[Var] = set()
    for v, x in zip(jaxpr.invars, args, strict=True):
        if isinstance(x, LinearArg):
            linear.add(v)
        else:
            values[v] = x
    eqns = _forward(jaxpr, values, linear)
    ct_of: dict[Var, Any] = {}
    mask_of: dict[Var, Mask] = {}
    for v, ct in zip(jaxpr.outvars, cts, strict=True):
        if ct is not None and v in linear:
            _accumulate(ct_of, mask_of, v, ct, None)
    outside, SCOPE.backward = SCOPE.backward, True
    try:
        for eqn in eqns[::-1]:
            _transpose_eqn(eqn, values, linear, ct_of, mask_of)
    finally:
        SCOPE.backward = outside
    found = [ct_of.get(v) for v in jaxpr.invars if v in linear]
    return found if placed else [whole(ct) for ct in found]


def _forward(jaxpr: Jaxpr, values: dict[Var, Any], linear: set[Var]) -> list[Eqn]:
    """The linear equations, in order; the others are computed on the way."""
    found = []
    for eqn in jaxpr.eqns:
        for x in eqn.inputs:
            if x in linear:
                found.append(eqn)
                linear.update(eqn.outputs)
                break
        else:
            ins = tuple(x.value if isinstance(x, Literal) else values[x] for x in eqn.inputs)
            out = current().apply(eqn.primitive, ins, eqn.params)
            values.update(zip(eqn.outputs, out if eqn.primitive.multiple_results else [out], strict=True))
    return found


def _transpose_eqn(eqn: Eqn, values: dict[Var, Any], linear: set[Var], ct_of: dict[Var, Any], mask_of: dict[Var, Mask]) -> None:
    prim = eqn.primitive
    cts = [whole(ct_of.pop(v, None)) for v in eqn.outputs]
    if all([ct is None for ct in cts]):
        return
    args = [
        x.value if x.__class__ is Literal else LinearArg(x.aval) if x in linear else values[x]  # type: ignore[union-attr, index]
        for x in eqn.inputs
    ]
    if not callable(prim.transpose):
        raise TypeError(
            message(
                f"linear_transpose: {prim.name} has no transpose: {prim.transpose}",
                "functions that are linear in their arguments, such as sums, products with a constant, reshape",
                "fg.vjp(f, x) for the transpose of the derivative at x, or close over what f is not linear in",
            )
        )
    ins = prim.transpose(cts if prim.multiple_results else cts[0], *args, **eqn.params)
    mask = None if prim.multiple_results else mask_of.pop(eqn.outputs[0], None)
    carried = prim.mask_transpose is not None and (mask is not None or prim.blocks)
    for i, (x, ct) in enumerate(zip(eqn.inputs, ins, strict=True)):
        if ct is None or x not in linear:
            continue
        if mask is not None and prim.mask_transpose is same_mask and any(not isinstance(a, LinearArg) for a in args):
            ct = _block(mask, ct)
        _accumulate(ct_of, mask_of, x, ct, _carry(prim, mask, args, eqn.params, i) if carried else None)  # type: ignore[arg-type]


def _block(mask: Mask, ct: Any) -> Any:
    """The cotangent where it is live, and zero elsewhere whatever it was multiplied by."""
    live = mask.force()
    if live is None:
        return ct
    return select_n(live, like(ct, 0), ct)


def _carry(prim: Any, mask: Mask | None, args: list[Any], params: dict[str, Any], i: int) -> Mask:
    def make() -> Any:
        live = None if mask is None else mask.force()
        if mask is not None and live is None:
            return None
        return prim.mask_transpose(live, *args, **params)[i]

    return Mask(make)


def _accumulate(ct_of: dict[Var, Any], mask_of: dict[Var, Mask], v: Var, ct: Any, mask: Mask | None) -> None:
    before = ct_of.get(v)
    if before is None:
        ct_of[v] = ct
        if mask is not None:
            mask_of[v] = mask
        return
    ct_of[v] = add_cotangents(before, ct)
    other = mask_of.pop(v, None)
    if mask is not None and other is not None:  # live where either is; without a mask, everywhere
        mask_of[v] = Mask(lambda: _either(mask.force(), other.force()))


def _either(x: Any, y: Any) -> Any:
    return None if x is None or y is None else or_(x, y)
