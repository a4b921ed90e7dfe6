"""Typed programs: Var, Literal, Eqn, Jaxpr.

    jaxpr ::= { lambda constvar ... ; invar ... . let eqn ... in ( atom , ... ) }
    eqn   ::= var ... = primitive[params] atom ...
    atom  ::= var | literal

A Jaxpr is immutable. Constants are never inside it: `constvars` name them, `ClosedJaxpr` holds them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad.core.aval import ShapedArray
from funcgrad.core.by_value import portable
from funcgrad.ir.primitive import Primitive


class Var:
    """A value that the program computes or is given. Equal only to itself."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var({self.aval.str_short()})"


class Literal:
    """A scalar that stands in the program's text. `value` is a Python scalar (weak) or np.generic."""

    __slots__ = ("value", "aval")

    def __init__(self, value: Any, aval: ShapedArray):
        self.value, self.aval = value, aval

    def __repr__(self) -> str:
        return f"{self.value}:{self.aval.str_short()}"


Atom = Var | Literal


class Eqn(NamedTuple):
    """`outputs = primitive[params] inputs`. `source` is the user's line that asked for it, or None."""

    primitive: Primitive
    inputs: tuple[Atom, ...]
    outputs: tuple[Var, ...]
    params: dict[str, Any]
    source: Any = None


class Jaxpr:
    """A function as data: `constvars` and `invars` in, `outvars` out."""

    __slots__ = ("constvars", "invars", "eqns", "outvars", "__weakref__")

    constvars: tuple[Var, ...]
    invars: tuple[Var, ...]
    eqns: tuple[Eqn, ...]
    outvars: tuple[Atom, ...]

    def __init__(self, constvars: Sequence[Var], invars: Sequence[Var], eqns: Sequence[Eqn], outvars: Sequence[Atom]):
        set_ = object.__setattr__
        set_(self, "constvars", tuple(constvars))
        set_(self, "invars", tuple(invars))
        set_(self, "eqns", tuple(eqns))
        set_(self, "outvars", tuple(outvars))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a Jaxpr is immutable; build a new one with replace(...)")

    def replace(self, **changes: Any) -> "Jaxpr":
        return Jaxpr(**({name: getattr(self, name) for name in Jaxpr.__slots__[:4]} | changes))

    def __reduce__(self) -> tuple:
        # Programs inside of equations are portable by this method; a user's rule or callback may be a lambda.
        eqns = [
            e._replace(params={k: v if isinstance(v, (Jaxpr, ClosedJaxpr)) else portable(v) for k, v in e.params.items()})
            for e in self.eqns
        ]
        return Jaxpr, (self.constvars, self.invars, eqns, self.outvars)

    def __deepcopy__(self, memo: Any) -> "Jaxpr":
        return self

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.outvars]


class ClosedJaxpr:
    """A Jaxpr with the values of its constvars."""

    __slots__ = ("jaxpr", "consts")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()):
        self.jaxpr, self.consts = jaxpr, list(consts)

    @property
    def in_avals(self) -> list[ShapedArray]:
        return self.jaxpr.in_avals

    @property
    def out_avals(self) -> list[ShapedArray]:
        return self.jaxpr.out_avals

    @property
    def eqns(self) -> tuple[Eqn, ...]:
        return self.jaxpr.eqns

    @property
    def literals(self) -> list[Any]:
        return self.consts


def subjaxprs(params: dict[str, Any]) -> list[Jaxpr]:
    """The Jaxprs among an equation's params, also inside tuples."""
    found = []
    for value in params.values():
        for v in value if isinstance(value, tuple) else (value,):
            if isinstance(v, ClosedJaxpr):
                found.append(v.jaxpr)
            elif isinstance(v, Jaxpr):
                found.append(v)
    return found


def closed_over(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with its constvars as leading invars."""
    return Jaxpr((), jaxpr.constvars + jaxpr.invars, jaxpr.eqns, jaxpr.outvars) if jaxpr.constvars else jaxpr
