"""Derivatives: jvp, linearize, vjp, grad, value_and_grad, linear_transpose."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.bridge.flat import (
    FlatFunction,
    as_values,
    bind_arguments,
    check_argnums,
    check_callable,
    function_name,
    normalise_argnums,
)
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import DtypeError, ShapeError, TreeError, UsageError, asked_at, describe, message
from funcgrad.core.pytree import Partial, PyTreeDef, keystr, tree_flatten, tree_leaves_with_path, tree_map, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import Jaxpr
from funcgrad.ir.primitive import LinearArg
from funcgrad.ops._family import broadcast_in_dim
from funcgrad.trace.stage import stage
from funcgrad.trace.value import aval_of
from funcgrad.transforms.jvp import current_apply
from funcgrad.transforms.jvp import jvp as jvp_flat
from funcgrad.transforms.linearize import linearize as linearize_flat
from funcgrad.transforms.partial import unknown_part
from funcgrad.transforms.transpose import backward


def _float0(aval: ShapedArray) -> np.ndarray:
    """The tangent of an integer: zeros of a type with one value."""
    return np.zeros(aval.shape, dt.float0)


def _zeros(aval: ShapedArray) -> Any:
    if aval.dtype not in dt.INEXACT:
        return _float0(aval)
    return broadcast_in_dim(aval.dtype.type(0), shape=aval.shape, dims=())


def _match(name: str, what: str, tree: Any, treedef: PyTreeDef, avals: list[ShapedArray]) -> list[Any]:
    """Flat tangents or cotangents that fit `avals`: values, with None for float0."""
    leaves, got = tree_flatten(tree)
    if got != treedef:
        raise TreeError(
            message(f"{name}: got {what} with the structure {got}", f"the structure {treedef}", f"build the {what} with tree_map")
        )
    values: list[Any] = []
    for (path, x), aval in zip(tree_leaves_with_path(tree), avals, strict=True):
        if isinstance(x, np.ndarray) and x.dtype == dt.float0:
            values.append(None)
            continue
        (value,) = as_values(name, [x], x)
        a = value.aval
        where = f" at {keystr(path)}" if path else ""
        if a.shape != aval.shape:
            raise ShapeError(
                message(f"{name}: got {what}{where} of shape {a}", f"the shape of its primal, {aval}", "match the shapes")
            )
        if aval.dtype not in dt.INEXACT:
            raise DtypeError(
                message(
                    f"{name}: got {what}{where} of dtype {a} for {aval}",
                    "integers have tangents of dtype float0",
                    "pass np.zeros(shape, float0)",
                )
            )
        if a.dtype != aval.dtype:
            if not a.weak_type:
                raise DtypeError(
                    message(
                        f"{name}: got {what}{where} of dtype {a}",
                        f"the dtype of its primal, {aval}",
                        "convert it with .astype(...)",
                    )
                )
            value = from_numpy(np.asarray(x, aval.dtype))
        values.append(value)
    return values


@api_boundary
def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> tuple:
    """Value and directional derivative of `fun` (forward mode).

    primals, tangents: tuples or lists with one entry for each positional argument of `fun`; each tangent has the structure,
    shapes and dtypes of its primal (float0 for integers). Returns (outputs, output tangents), and aux with has_aux=True.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> y, t = fg.jvp(fnp.sin, (0.0,), (1.0,))
    >>> float(t)
    1.0
    """
    check_callable("jvp", fun)
    for what, x in (("primals", primals), ("tangents", tangents)):
        if not isinstance(x, (tuple, list)):
            raise UsageError(
                message(f"jvp: got {type(x).__name__} for {what}", "a tuple or list, one entry an argument", f"write ({what},)")
            )
    leaves, in_tree = tree_flatten(tuple(primals))
    values = as_values("jvp", leaves, tuple(primals))
    ts = _match("jvp", "tangents", tuple(tangents), in_tree, [x.aval for x in values])
    flat = FlatFunction("jvp", fun, in_tree, None, has_aux)
    outs, t_outs = jvp_flat(flat, values, ts)
    t_outs = [_zeros(aval_of(x)) if t is None else t for x, t in zip(outs, t_outs, strict=True)]
    result = tree_unflatten(flat.out_tree, outs), tree_unflatten(flat.out_tree, t_outs)
    return (*result, _settle(flat)) if has_aux else result


def _settle(flat: FlatFunction) -> Any:
    """The aux of a finished trace: plain values."""
    return tree_map(_strip, flat.aux)


def _strip(x: Any) -> Any:
    """What a tracer of an ended derivative stands for."""
    while hasattr(x, "primal") and not x.owner.live:
        x = x.primal
    return x


def _linearized(name: str, fun: Any, primals: tuple, has_aux: bool) -> tuple:
    """The function at its primals, linearised, with what describes its inputs and outputs."""
    check_callable(name, fun)
    leaves, in_tree = tree_flatten(primals)
    values = as_values(name, leaves, primals)
    avals = [x.aval for x in values]
    moving = [a.dtype in dt.INEXACT for a in avals]
    flat = FlatFunction(name, fun, in_tree, None, has_aux)
    lin = linearize_flat(flat, values, moving)
    return flat, in_tree, avals, moving, lin, (flat.out_tree, [aval_of(x) for x in lin.outs], lin.moving_out)


def _linear_call(jaxpr: Jaxpr, in_tree: PyTreeDef, avals: list, moving: list, out: Any, residuals: list, *tangents: Any) -> Any:
    ts = _match("linearize", "tangents", tangents, in_tree, avals)
    inputs = [_zeros(a) if t is None else t for t, a, m in zip(ts, avals, moving, strict=True) if m]
    outs = iter(evaluate(current_apply, jaxpr, residuals, inputs))
    out_tree, out_avals, moving_out = out
    return tree_unflatten(out_tree, [next(outs) if m else _zeros(a) for a, m in zip(out_avals, moving_out, strict=True)])


@api_boundary
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple:
    """Value of `fun`, and its derivative at `primals` as a function of tangents that does not run `fun` again.

    Returns (outputs, f_jvp), and aux with has_aux=True. f_jvp takes one tangent for each primal.

    >>> y, f_jvp = fg.linearize(lambda x: x**3, np.array(2.0))
    >>> y, f_jvp(1.0), f_jvp(0.5)
    (Array(8., dtype=float64), Array(12., dtype=float64), Array(6., dtype=float64))
    """
    flat, in_tree, avals, moving, lin, out = _linearized("linearize", fun, primals, has_aux)
    f_jvp = Partial(functools.partial(_linear_call, lin.jaxpr, in_tree, avals, moving, out), lin.residuals)
    result = tree_unflatten(flat.out_tree, lin.outs), f_jvp
    return (*result, _settle(flat)) if has_aux else result


def _vjp_call(jaxpr: Jaxpr, in_tree: PyTreeDef, avals: list, moving: list, out: Any, residuals: list, *given: Any) -> Any:
    out_tree, out_avals, moving_out = out
    if len(given) != 1:
        raise UsageError(
            message(
                f"vjp: the function that it returned got {len(given)} arguments",
                f"one cotangent, of the structure of the outputs, {out_tree}",
                "put them into one tuple, pull((ct1, ct2)), where the outputs are a tuple",
            )
        )
    cts = _match("vjp", "cotangents", given[0], out_tree, out_avals)
    return tree_unflatten(in_tree, _pull(jaxpr, avals, moving, [c for c, m in zip(cts, moving_out, strict=True) if m], residuals))


def _pull(jaxpr: Jaxpr, avals: list, moving: list, cts: list, residuals: list) -> list[Any]:
    """Cotangents of all inputs: zeros where nothing reached them, float0 for integers."""
    args = [LinearArg(a) for a, m in zip(avals, moving, strict=True) if m]
    found = iter(backward(jaxpr, residuals, args, cts))
    outs = [next(found) if m else None for m in moving]
    # The 1 that `grad` starts from is a literal, and the answer where the function gives its argument back.
    outs = [from_numpy(np.asarray(ct)) if isinstance(ct, np.generic) else ct for ct in outs]
    return [_zeros(a) if ct is None else ct for ct, a in zip(outs, avals, strict=True)]


@api_boundary
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Any = ()) -> tuple:
    """Value of `fun`, and the function that pulls a cotangent of its output back to cotangents of `primals` (reverse mode).

    Returns (outputs, f_vjp), and aux with has_aux=True. f_vjp takes one cotangent with the structure of the outputs and
    returns a tuple with one entry for each primal; integers get zeros of dtype float0.

    >>> y, pull = fg.vjp(lambda x, n: x * n["b"], 2.0, {"b": fnp.array([3.0, 4.0])})
    >>> y
    Array([6., 8.], dtype=float32)
    >>> pull(fnp.array([1.0, 10.0]))
    (Array(43., dtype=float32), {'b': Array([ 2., 20.], dtype=float32)})
    """
    _no_reduce_axes("vjp", reduce_axes)
    flat, in_tree, avals, moving, lin, out = _linearized("vjp", fun, primals, has_aux)
    f_vjp = Partial(functools.partial(_vjp_call, lin.jaxpr, in_tree, avals, moving, out), lin.residuals)
    result = tree_unflatten(flat.out_tree, lin.outs), f_vjp
    return (*result, _settle(flat)) if has_aux else result


def _no_reduce_axes(name: str, reduce_axes: Any) -> None:
    if not among(reduce_axes, ((), [])):
        raise UsageError(
            message(f"{name}: got reduce_axes={reduce_axes!r}", "only ()", "sum over a named axis with lax.psum in the function")
        )


def _check_input(name: str, path: Any, aval: ShapedArray, holomorphic: bool, allow_int: bool) -> None:
    where = f" at {keystr(path)}" if path else ""
    if holomorphic and aval.dtype not in dt.COMPLEXES:
        raise DtypeError(
            message(
                f"{name}: got {aval} for the input{where} with holomorphic=True",
                "complex inputs",
                "convert with .astype('complex64')",
            )
        )
    if aval.dtype not in dt.INEXACT and not allow_int:
        raise DtypeError(
            message(
                f"{name}: got {aval} for the input{where}",
                "inputs to differentiate are floating or complex",
                "write 2.0 instead of 2, convert with .astype('float32'), choose another argnums=, or pass allow_int=True",
            )
        )


def _check_output(name: str, fun: Any, flat: FlatFunction, outs: list[Any], holomorphic: bool) -> None:
    called = function_name(fun)
    if len(outs) != 1 or flat.out_tree.node_data() is not None:
        raise UsageError(
            message(
                f"{name}: {called} returned {flat.out_tree}{asked_at()}",
                "a function to differentiate returns one scalar",
                "return the loss alone, or (loss, extra) with has_aux=True",
            )
        )
    aval = aval_of(outs[0])
    if aval.shape != ():
        raise ShapeError(
            message(
                f"{name}: {called} returned an output of shape {aval.shape}: {describe(outs[0])}{asked_at()}",
                "a function to differentiate returns a scalar, of shape ()",
                "reduce it, for example with .sum() or .mean(), or use fg.jacrev or fg.vjp for the whole Jacobian",
            )
        )
    allowed = dt.COMPLEXES if holomorphic else dt.FLOATS
    if aval.dtype not in allowed:
        raise DtypeError(
            message(
                f"{name}: {called} returned {aval}{' with holomorphic=True' if holomorphic else ''}{asked_at()}",
                "a complex output" if holomorphic else "a real floating output",
                "convert it, or take a real part, or pass holomorphic=True for a complex-differentiable function"
                if aval.dtype in dt.COMPLEXES
                else "convert it with .astype(...)",
            )
        )


def value_and_grad(
    fun: Callable[..., Any],
    argnums: Any = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
) -> Callable[..., Any]:
    """A function that gives the value of `fun` and its gradient.

    fun: returns a real scalar (with has_aux=True a pair of it and anything). argnums: which positional arguments to
    differentiate, an int or a sequence. holomorphic: `fun` is complex-differentiable, with complex inputs and output.
    allow_int: integer inputs get gradients of dtype float0 instead of an error.
    The gradient has the structure, shapes and dtypes of the argument (a tuple of them for a sequence of argnums).
    Raises TypeError for integer inputs and for outputs that are not real scalars.

    >>> import funcgrad as fg
    >>> value, gradient = fg.value_and_grad(lambda x: x ** 2)(3.0)
    >>> float(value), float(gradient)
    (9.0, 6.0)
    """
    return _gradient("value_and_grad", fun, argnums, has_aux, holomorphic, allow_int, reduce_axes, with_value=True)


def grad(
    fun: Callable[..., Any],
    argnums: Any = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
) -> Callable[..., Any]:
    """A function that gives the gradient of `fun`: `value_and_grad` without the value (with has_aux=True: (gradient, aux)).

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> float(fg.grad(fnp.sin)(0.0))
    1.0
    """
    return _gradient("grad", fun, argnums, has_aux, holomorphic, allow_int, reduce_axes, with_value=False)


def _gradient(
    name: str, fun: Any, argnums: Any, has_aux: bool, holomorphic: bool, allow_int: bool, reduce_axes: Any, *, with_value: bool
) -> Callable[..., Any]:
    check_callable(name, fun)
    check_argnums(name, argnums)
    _no_reduce_axes(name, reduce_axes)
    single = not isinstance(argnums, (tuple, list))

    holomorphic = flag(holomorphic, name, "holomorphic")

    @api_boundary
    def gradient(*args: Any, **kwargs: Any) -> Any:
        numbers = normalise_argnums(name, argnums, len(args))
        chosen = tuple(args[i] for i in numbers)
        leaves, in_tree = tree_flatten(chosen)
        values = as_values(name, leaves, chosen)
        avals = [x.aval for x in values]
        if holomorphic or any(a.dtype not in dt.INEXACT for a in avals):
            for (path, _), a in zip(tree_leaves_with_path(chosen), avals, strict=True):
                _check_input(name, path, a, holomorphic, allow_int)
        moving = [a.dtype in dt.INEXACT for a in avals]
        flat = FlatFunction(name, fun, in_tree, bind_arguments(fun, args, kwargs, numbers), has_aux)
        lin = linearize_flat(flat, values, moving)
        _check_output(name, fun, flat, lin.outs, holomorphic)
        (out,) = lin.outs
        cts = [aval_of(out).dtype.type(1)] if lin.moving_out[0] else []
        result = tree_unflatten(in_tree, _pull(lin.jaxpr, avals, moving, cts, lin.residuals))
        result = result[0] if single else result
        if with_value:
            return ((out, _settle(flat)) if has_aux else out), result
        return (result, _settle(flat)) if has_aux else result

    return name_like(gradient, fun, name)


def name_like(wrapper: Callable[..., Any], fun: Any, name: str) -> Callable[..., Any]:
    """`wrapper` with the name and docstring of `fun`, saying which transform it went through."""
    try:
        functools.update_wrapper(wrapper, fun, updated=())  # what else it carries (jit: its programs) is its own
    except (AttributeError, TypeError):
        pass
    wrapper.__name__ = f"{name}({function_name(fun)})"
    return wrapper


@api_boundary
def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Any = ()) -> Callable[..., Any]:
    """The transpose of a function that is linear in its arguments.

    primals: arrays, or anything with shape and dtype (they are not looked at otherwise). Returns a function from one cotangent of
    the output to a tuple of cotangents, one for each primal. Raises TypeError where `fun` is not linear.

    >>> pull = fg.linear_transpose(lambda x: fnp.stack([x[0] + x[1], 3 * x[1]]), fnp.zeros(2))
    >>> pull(fnp.array([1.0, 10.0]))
    (Array([ 1., 31.], dtype=float32),)
    """
    check_callable("linear_transpose", fun)
    _no_reduce_axes("linear_transpose", reduce_axes)
    leaves, in_tree = tree_flatten(primals)
    avals = [abstract_leaf("linear_transpose", x) for x in leaves]
    flat = FlatFunction("linear_transpose", fun, in_tree, None)
    program, consts = stage(flat, avals)
    jaxpr, residuals = unknown_part(program, consts)

    def transposed(ct: Any) -> Any:
        cts = _match("linear_transpose", "cotangents", ct, flat.out_tree, program.out_avals)
        return tree_unflatten(in_tree, _pull(jaxpr, avals, [True] * len(avals), cts, residuals))

    return name_like(transposed, fun, "linear_transpose")


def abstract_leaf(name: str, x: Any) -> ShapedArray:
    """The abstract value of a leaf: of a value, or of anything with shape and dtype."""
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    if shape is not None and dtype is not None and not hasattr(x, "aval"):
        return shaped(tuple(int(n) for n in shape), dt.canonical(dtype), bool(getattr(x, "weak_type", False)))
    (value,) = as_values(name, [x], x)
    return value.aval
