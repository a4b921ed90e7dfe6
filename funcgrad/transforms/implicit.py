"""The operator `custom_linear_solve`: x with A x = b, by a method that the user gives, with the derivatives of the equation.

Operands: constants, then b, flat. Results: x, of b's types, then what the method gives besides. The program `solve` and those of
the `system`, A v, Aᵀ v and the method for the transposed equation (None where there is none), take the constants and a vector.

    A x = b    =>    A dx = db - dA x,    and the cotangent of b is the solution y of Aᵀ y = ct

so derivatives of any order are solutions of the same kind; the methods themselves are never differentiated.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray
from funcgrad.core.errors import UsageError, message
from funcgrad.ir.evaluate import evaluate, evaluate_numpy
from funcgrad.ir.jaxpr import Jaxpr
from funcgrad.ir.loop_rules import Call
from funcgrad.ir.primitive import LinearArg, register
from funcgrad.ops._family import zeros, zeros_like
from funcgrad.ops.arithmetic import neg, sub
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of
from funcgrad.transforms.cond import with_common_inputs
from funcgrad.transforms.jvp import current_apply, jvp_jaxpr
from funcgrad.transforms.partial import merge
from funcgrad.transforms.scan import batch_first, parts
from funcgrad.transforms.vmap import Axis, of_any_axis, vmap_jaxpr


class System(NamedTuple):
    """What derivatives need to know of the equation."""

    matvec: Jaxpr
    vecmat: Jaxpr | None
    transpose_solve: Jaxpr | None


def _abstract(*avals: ShapedArray, solve: Jaxpr, system: System, consts: int) -> list[ShapedArray]:
    return solve.out_avals


def _run(*args: Any, solve: Jaxpr, system: System, consts: int) -> list[Any]:
    return evaluate(current_apply, solve, (), args)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, solve: Jaxpr, system: System, consts: int) -> Any:
    outs = custom_linear_solve(*primals, solve=solve, system=system, consts=consts)
    fixed, b = parts(primals, consts)
    t_fixed, t_b = parts(tangents, consts)
    x, spare = outs[: len(b)], len(outs) - len(b)
    moving = tuple(t is not None for t in t_fixed)
    given = [t for t in t_fixed if t is not None]
    changed: list[Any] = [None] * len(b)  # dA x
    if given:
        program, hoisted, live = jvp_jaxpr(system.matvec, (*moving, *[False] * len(b)))
        found = iter(evaluate(current_apply, program, (), [*hoisted, *fixed, *x, *given])[len(b) :])
        changed = [next(found) if m else None for m in live]
    rhs = [_minus(t, c) for t, c in zip(t_b, changed, strict=True)]
    if all(t is None for t in rhs):
        return outs, [None] * len(outs)
    rhs = [zeros_like(y) if t is None else t for y, t in zip(b, rhs, strict=True)]
    return outs, [*custom_linear_solve(*fixed, *rhs, solve=solve, system=system, consts=consts)[: len(b)], *[None] * spare]


def _minus(t: Any, change: Any) -> Any:
    if change is None:
        return t
    return neg(change) if t is None else sub(t, change)


def _transpose(cts: Sequence[Any], *args: Any, solve: Jaxpr, system: System, consts: int) -> list[Any]:
    if system.transpose_solve is None or system.vecmat is None:
        raise UsageError(
            message(
                "custom_linear_solve: reverse mode was asked of a solution without a method for the transposed equation",
                "transpose_solve=, or symmetric=True",
                "give transpose_solve=lambda vecmat, ct: ..., which solves vecmat(y) = ct",
            )
        )
    fixed, b = parts(args, consts)
    # A part of the right-hand side that is known here is 0: the tangent of one that does not move.
    avals = [x.aval if isinstance(x, LinearArg) else aval_of(x) for x in b]
    rhs = [zeros(a.strong()) if ct is None else ct for a, ct in zip(avals, cts[: len(b)], strict=True)]
    transposed = System(system.vecmat, system.matvec, solve)
    outs = custom_linear_solve(*fixed, *rhs, solve=system.transpose_solve, system=transposed, consts=consts)
    return [None] * consts + [y if isinstance(x, LinearArg) else None for x, y in zip(b, outs, strict=False)]


def _batch(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, solve: Jaxpr, system: System, consts: int) -> Any:
    fixed, b = parts(args, consts)
    dims_fixed, dims_b = parts(dims, consts)
    inner = (*dims_fixed, *[0] * len(b))
    there = [p is not None for p in (solve, *system)]
    made = [vmap_jaxpr(p, axis, inner, (True,) * len(p.outvars))[:2] for p in (solve, *system) if p is not None]
    common, hoisted = with_common_inputs(made)
    method, *rest = merge(there, list(common), [None] * there.count(False))
    moved = [batch_first(x, d, axis.size) for x, d in zip(b, dims_b, strict=True)]
    outs = custom_linear_solve(*hoisted, *fixed, *moved, solve=method, system=System(*rest), consts=len(hoisted) + consts)
    return outs, [0] * len(outs)


custom_linear_solve: Callable[..., Any] = register(
    Operator(
        "custom_linear_solve",
        multiple_results=True,
        abstract=_abstract,
        numpy=lambda *arrays, solve, system, consts: evaluate_numpy(solve, (), arrays),
        run=_run,
        jvp=_jvp,
        transpose=_transpose,
        **of_any_axis(_batch),
        loop=Call("solve"),
        dtypes=dt.ANY,
        samples="it carries programs: tests/lax/test_implicit.py",
        doc="The solution of a linear equation by a given method.",
    )
)
