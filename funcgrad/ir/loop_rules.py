"""How a primitive becomes loops: the descriptors that a primitive carries in `.loop`.

Declared in `ops/` by functions of a builder `b` or a view `v` that only the machine wing supplies, so
that neither wing imports the other. `loops/lower.py` reads them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Pointwise:
    """`fn(b, *xs, **params) -> Expr` (or a tuple): one element of the output from the same element of each operand."""

    fn: Callable[..., Any]


@dataclass(frozen=True)
class Indexed:
    """`fn(b, *xs, **params) -> Expr` where the operands in `random` come as handles, read by `b.at(handle, indices)`.
    `random=None` means all of them.

    `window` belongs to an operator that gives operand 0 with operand 1 written somewhere into it:
    `window(b, *starts) -> [Expr per axis]`, where the element of operand 1 at hand (`b.index`, `b.extent`) goes in operand 0
    (`b.target`), given operands 2 ... A small window is written into operand 0's own memory where that is possible."""

    fn: Callable[..., Any]
    random: tuple[int, ...] | None = None
    window: Callable[..., Any] | None = None


@dataclass(frozen=True)
class View:
    """`fn(v, **params) -> v`: an affine rearrangement of the (first) operand; no data moves where that can be."""

    fn: Callable[..., Any]


@dataclass(frozen=True)
class Reduce:
    """Fold along params["axes"] with `op` (add, mul, max, min, and, or, xor, argmax, argmin)."""

    op: str


@dataclass(frozen=True)
class Scan:
    """Running fold along params["axis"], from the end where params["reverse"]."""

    op: str


@dataclass(frozen=True)
class Assemble:
    """An output made of regions: `fn(avals_in, aval_out, **params) -> (fill, [(operand, out_view, in_view)])`.

    `fill` is the number of a 0-d operand that fills the rest, or None. Each region copies
    `in_view(v)` of its operand (the whole operand where in_view is None) into `out_view(v)` of the output."""

    fn: Callable[..., Any]


@dataclass(frozen=True)
class Scatter:
    """Copy operand 0, then for each update combine it in at the index that `fn` computes.

    `fn(b, indices_handle, **params) -> [Expr per axis of operand 0]`, where `b.index(k)` is the position along axis k of
    the updates (operand 2) and operand 1 (the indices) is read by `b.at`; `b.guard(cond)` drops an update where cond is false.
    `combine` is None (set), "add", "mul", "min" or "max"."""

    fn: Callable[..., Any]
    combine: str | None


@dataclass(frozen=True)
class Dot:
    """dot_general: params["dimension_numbers"] = ((lhs contract, rhs contract), (lhs batch, rhs batch))."""


@dataclass(frozen=True)
class Convolution:
    """conv_general_dilated, with that operator's params (ops/convolution.py)."""


@dataclass(frozen=True)
class Inline:
    """`fn(*args, **params)`, a function of other operators, traced in its place."""

    fn: Callable[..., Any]


@dataclass(frozen=True)
class Call:
    """The equation runs the Jaxpr in params[name] on its inputs; `passes.inline` puts it in its place."""

    name: str = "jaxpr"


@dataclass(frozen=True)
class Host:
    """Runs `primitive.numpy` between two native stretches: what a library does better, or no kernel can.

    `into(ins, outs, **params)`, where given, runs in its place and writes its results into the arrays `outs`.
    `native(ins, outs, **params)`, where given, says how the driver can do the same without Python: a `Native`, or None. It is
    given (shape, strides in bytes, dtype) of each array, or a literal's value."""

    into: Callable[..., None] | None = None
    native: Callable[..., "Native | None"] | None = None


@dataclass(frozen=True)
class Native:
    """A kernel that no nest is printed as: its source text (or the `name` of one in codegen/matrices.py), its dims, and the range
    that it runs over. Its buffers are the arrays that go in, then those that come out. It may use `scratch` bytes past the error
    record. With a `cost` (nanoseconds) threads may share the range."""

    text: str
    dims: tuple[int, ...]
    extent: int
    name: str = ""
    scratch: int = 0
    cost: float = 0.0


@dataclass(frozen=True)
class External:
    """A user's function of scalars: `name` in machine code, which says its content and types; `call(*arrays)` is its meaning."""

    name: str
    call: Callable[..., Any] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Loop:
    """Control flow. The equation's params hold its programs; loops/control.py and passes/control.py know them:

    scan   body over (consts, carry, x); params consts, carry, length, reverse
    while  cond over (its consts, carry), body over (its consts, carry); params cond_consts, body_consts
    cond   branches over the operands after the index"""

    kind: str


@dataclass(frozen=True)
class Fence:
    """The operand as it is, in its own memory; what is computed from the result is in no kernel with what came before."""
