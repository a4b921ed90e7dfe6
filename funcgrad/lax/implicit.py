"""Roots and solutions with the derivatives of the equation, not those of the method: custom_root, custom_linear_solve."""

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.bridge.flat import FlatFunction, as_values, check_callable, function_name
from funcgrad.core.arguments import flag
from funcgrad.core.aval import ShapedArray
from funcgrad.core.errors import ShapeError, TreeError, UsageError, message
from funcgrad.core.pytree import PyTreeDef, tree_flatten, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import Jaxpr, closed_over
from funcgrad.ops._family import zeros_like
from funcgrad.ops.arithmetic import neg
from funcgrad.trace.stage import stage
from funcgrad.trace.value import aval_of
from funcgrad.transforms.call import transpose_jaxpr
from funcgrad.transforms.cond import with_common_inputs
from funcgrad.transforms.custom import CustomJvp, custom_call
from funcgrad.transforms.implicit import System
from funcgrad.transforms.implicit import custom_linear_solve as solve_op
from funcgrad.transforms.jvp import current_apply, jvp

__all__ = ["custom_linear_solve", "custom_root"]


def _staged(
    name: str, fun: Callable[..., Any], tree: PyTreeDef, avals: Sequence[ShapedArray]
) -> tuple[Jaxpr, list[Any], PyTreeDef]:
    """`fun` of one pytree as a program over (constants, leaves), its constants, and the structure of its result."""
    flat = FlatFunction(name, lambda x: fun(x), tree_flatten((tree_unflatten(tree, list(avals)),))[1], None)
    jaxpr, consts = stage(flat, avals)
    return closed_over(jaxpr), consts, flat.out_tree


def _function(jaxpr: Jaxpr, consts: Sequence[Any], tree: PyTreeDef, name: str) -> Callable[[Any], Any]:
    """A program from one pytree to another of the same structure, as a function."""

    def fun(x: Any) -> Any:
        leaves, given = tree_flatten(x)
        if given != tree:
            raise TreeError(message(f"{name}: got the structure {given}", f"{tree}", "pass a vector like the right-hand side"))
        return tree_unflatten(tree, evaluate(current_apply, jaxpr, (), [*consts, *as_values(name, leaves, x)]))

    return fun


def _check_same(name: str, fun: Any, what: str, jaxpr: Jaxpr, out_tree: PyTreeDef, tree: PyTreeDef, avals: Any) -> None:
    if out_tree != tree:
        raise TreeError(
            message(
                f"{name}: {function_name(fun)} returned the structure {out_tree}", f"that of {what}, {tree}", "return the same"
            )
        )
    for out, a in zip(jaxpr.out_avals, avals, strict=False):
        if out.shape != a.shape or out.dtype != a.dtype:
            raise ShapeError(
                message(
                    f"{name}: {function_name(fun)} returned {out} for {a}", f"the shapes and dtypes of {what}", "return the same"
                )
            )


def _with_aux(name: str, method: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    """The method as one that returns (x, aux)."""
    if not flag(has_aux, name, "has_aux"):
        return lambda f, x: (method(f, x), None)

    def pair(f: Any, x: Any) -> Any:
        out = method(f, x)
        if not isinstance(out, tuple) or len(out) != 2:
            raise UsageError(
                message(f"{name}: {function_name(method)} returned {type(out).__name__}", "a pair (x, aux)", "return both")
            )
        return out

    return pair


def _method(
    name: str,
    method: Callable[..., Any],
    f: Callable[[Any], Any],
    tree: PyTreeDef,
    avals: Sequence[ShapedArray],
    has_aux: bool,
    what: str,
) -> tuple[Jaxpr, list[Any], PyTreeDef]:
    """A method as a program over (constants, vector); its results are those of x, then those of aux."""
    run, trees = _with_aux(name, method, has_aux), []

    def flat(v: Any) -> Any:
        x, aux = run(f, v)
        leaves, x_tree = tree_flatten(x)
        trees.append((as_values(name, leaves, x), x_tree, tree_flatten(aux)[1]))
        return x, aux

    jaxpr, consts, _ = _staged(name, flat, tree, avals)
    _, x_tree, aux_tree = trees[-1]
    _check_same(name, method, what, jaxpr, x_tree, tree, avals)
    return jaxpr, consts, aux_tree


@api_boundary
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[..., Any],
    transpose_solve: Callable[..., Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The solution x of `matvec(x) = b` by a method of yours, with the derivatives of the equation.

    matvec: a linear function of pytrees like b, which gives such a pytree. solve: `solve(matvec, b) -> x`; it is never
    differentiated, so it may use any method (a while_loop, a factorisation). Derivatives, with respect to b and to what matvec
    closes over, solve the same equation for another right-hand side in forward mode; in reverse mode they solve the transposed
    one by `transpose_solve(vecmat, ct)`, or by `solve` with symmetric=True. has_aux: the methods return (x, aux), and so does
    this function; aux has no derivatives. Raises TypeError where matvec or a method changes structures, shapes or dtypes.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> a = fnp.array([[2.0, 1.0], [1.0, 3.0]])
    >>> def solution(a, b):
    ...     by_factors = lambda matvec, b: fnp.linalg.solve(a, b)
    ...     return fg.lax.custom_linear_solve(lambda x: a @ x, b, by_factors, symmetric=True)
    >>> solution(a, fnp.array([3.0, 4.0])).tolist()
    [1.0, 1.0]
    >>> fg.jacobian(solution, 1)(a, fnp.array([3.0, 4.0])).round(3).tolist()  # the inverse
    [[0.6000000238418579, -0.20000000298023224], [-0.20000000298023224, 0.4000000059604645]]
    """
    name = "custom_linear_solve"
    for fun in (matvec, solve, *(() if transpose_solve is None else (transpose_solve,))):
        check_callable(name, fun)
    leaves, tree = tree_flatten(b)
    values = as_values(f"{name} b", leaves, b)
    avals = [aval_of(x).strong() for x in values]
    product, consts, out_tree = _staged(name, matvec, tree, avals)
    _check_same(name, matvec, "b", product, out_tree, tree, avals)
    programs = [_method(name, solve, _function(product, consts, tree, name), tree, avals, has_aux, "b")]
    aux_tree = programs[0][2]
    if symmetric and transpose_solve is None:
        transposed, more, programs = product, consts, programs * 2
    elif transpose_solve is not None:
        linear = (*[False] * len(consts), *[True] * len(avals))
        transposed, hoisted, _ = transpose_jaxpr(product, linear, (True,) * len(avals), (True,) * len(avals))
        more = [*hoisted, *consts]
        programs.append(_method(name, transpose_solve, _function(transposed, more, tree, name), tree, avals, has_aux, "b"))
    made = [(jaxpr, values) for jaxpr, values, _ in programs]
    made += [(product, consts)] + ([(transposed, more)] if len(programs) == 2 else [])
    common, fixed = with_common_inputs(made)
    if len(programs) == 2:
        method, back, forward, transposed = common
        system = System(forward, transposed, back)
    else:
        method, forward = common
        system = System(forward, None, None)
    outs = solve_op(*fixed, *values, solve=method, system=system, consts=len(fixed))
    x = tree_unflatten(tree, outs[: len(values)])
    return (x, tree_unflatten(aux_tree, outs[len(values) :])) if has_aux else x


@api_boundary
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[..., Any],
    tangent_solve: Callable[..., Any],
    has_aux: bool = False,
) -> Any:
    """A root x, `f(x) = 0`, by a method of yours, with the derivatives of the equation (the implicit function theorem).

    f: a function of pytrees like initial_guess, which gives such a pytree. solve: `solve(f, initial_guess) -> x`; it is never
    differentiated. tangent_solve: `tangent_solve(g, y) -> x` solves g(x) = y for the linear g, the derivative of f at the root,
    and has to be linear in y: for a scalar it is `lambda g, y: y / g(1.0)`, for a vector
    `lambda g, y: fnp.linalg.solve(fg.jacobian(g)(y), y)`. The derivative is with respect to what f closes over; the guess and
    what solve closes over have none. has_aux: solve returns (x, aux), and so does this function; aux has no derivatives.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> def newton(f, x):
    ...     return fg.lax.fori_loop(0, 20, lambda _, x: x - f(x) / fg.grad(f)(x), x)
    >>> def cube_root(a):
    ...     return fg.lax.custom_root(lambda x: x ** 3 - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> round(float(cube_root(27.0)), 4), round(float(fg.grad(cube_root)(27.0)), 4)  # the derivative is 1/27
    (3.0, 0.037)
    """
    name = "custom_root"
    for fun in (f, solve, tangent_solve):
        check_callable(name, fun)
    leaves, tree = tree_flatten(initial_guess)
    values = as_values(f"{name} initial_guess", leaves, initial_guess)
    avals = [aval_of(x) for x in values]
    residual, consts, out_tree = _staged(name, f, tree, avals)
    _check_same(name, f, "the guess", residual, out_tree, tree, avals)
    method, others, aux_tree = _method(name, solve, _function(residual, consts, tree, name), tree, avals, has_aux, "the guess")
    n, k = len(consts), len(values)

    def run(*xs: Any) -> list[Any]:
        return evaluate(current_apply, method, (), xs[n:])

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        fixed = primals[:n]
        outs = custom_call(*primals, rule=CustomJvp(run, rule), jaxpr=None, consts=0)
        x = outs[:k]
        _, changes = jvp(lambda *c: evaluate(current_apply, residual, (), [*c, *x]), fixed, tangents[:n])
        if all(t is None for t in changes):
            return outs, [None] * len(outs)
        rhs = [zeros_like(y) if t is None else neg(t) for y, t in zip(x, changes, strict=True)]

        def g(v: Any) -> Any:
            moved = as_values(name, tree_flatten(v)[0], v)
            _, ts = jvp(lambda *xs: evaluate(current_apply, residual, (), [*fixed, *xs]), x, _like(moved, x))
            return tree_unflatten(tree, [zeros_like(y) if t is None else t for y, t in zip(x, ts, strict=True)])

        found, found_tree = tree_flatten(tangent_solve(g, tree_unflatten(tree, rhs)))
        if found_tree != tree:
            raise TreeError(message(f"{name}: tangent_solve returned the structure {found_tree}", f"{tree}", "return the same"))
        return outs, [*as_values(name, found, found), *[None] * (len(outs) - k)]

    outs = custom_call(*consts, *others, *values, rule=CustomJvp(run, rule), jaxpr=None, consts=0)
    x = tree_unflatten(tree, outs[:k])
    return (x, tree_unflatten(aux_tree, outs[k:])) if has_aux else x


def _like(vs: list[Any], xs: list[Any]) -> list[Any]:
    """Tangents in the dtypes of their primals: `g(1.0)` may be said with a plain number."""
    return [v if aval_of(v).dtype == aval_of(x).dtype else v.astype(aval_of(x).dtype) for v, x in zip(vs, xs, strict=True)]
