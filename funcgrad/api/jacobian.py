"""Whole Jacobians: jacfwd, jacrev, hessian. Each is vmap of jvp or vjp over the standard basis."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.api.autodiff import _check_input, _pull, _settle, _zeros, name_like
from funcgrad.bridge.array import from_numpy
from funcgrad.bridge.flat import FlatFunction, as_values, bind_arguments, check_callable, function_name, normalise_argnums
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray
from funcgrad.core.errors import DtypeError, message
from funcgrad.core.pytree import tree_flatten, tree_leaves_with_path, tree_map, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.ops._family import batch_at, reshape
from funcgrad.trace.value import aval_of
from funcgrad.transforms.jvp import jvp as jvp_flat
from funcgrad.transforms.linearize import linearize as linearize_flat
from funcgrad.transforms.vmap import vmap as vmap_flat


def _basis(avals: list[ShapedArray]) -> list[Any]:
    """For each aval, the part of the standard basis of all of them together: shape (total, *shape)."""
    total, start, parts = sum(a.size for a in avals), 0, []
    for a in avals:
        part = np.zeros((total, a.size), a.dtype)
        part[range(start, start + a.size), range(a.size)] = 1
        parts.append(from_numpy(part.reshape(total, *a.shape)))
        start += a.size
    return parts


def _blocks(x: Any, avals: list[ShapedArray], axis: int) -> list[Any]:
    """`x` cut along `axis` into one block for each aval, that axis taking the aval's shape."""
    out, start = [], 0
    for a in avals:
        index = (slice(None),) * axis + (slice(start, start + a.size),)
        shape = x.shape[:axis] + a.shape + x.shape[axis + 1 :]
        out.append(reshape(x[index], shape=shape))
        start += a.size
    return out


def jacfwd(fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False) -> Callable[..., Any]:
    """The Jacobian of `fun` by forward mode: best for more outputs than inputs.

    Returns a function whose result has the structure of the output with the structure of the argument (a tuple for a sequence of
    argnums) at each leaf; a leaf has the shape of the output followed by the shape of the input.

    >>> fg.jacfwd(lambda x: fnp.stack([x[0] * x[1], x[1] ** 2]))(fnp.array([2.0, 3.0]))
    Array([[3., 2.],
           [0., 6.]], dtype=float32)
    """
    check_callable("jacfwd", fun)
    single = not isinstance(argnums, (tuple, list))

    @api_boundary
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen, values, in_tree, flat = _prepare("jacfwd", fun, argnums, args, kwargs, has_aux, holomorphic, False)
        avals = [x.aval for x in values]
        tangents = _basis(avals)
        kept: list[Any] = []

        def push(*ts: Any) -> list[Any]:
            outs, t_outs = jvp_flat(flat, values, list(ts))
            kept[:] = outs, _settle(flat)
            return [_zeros(aval_of(x)) if t is None else t for x, t in zip(outs, t_outs, strict=True)]

        total = sum(a.size for a in avals)
        t_outs, dims = vmap_flat(push, tangents, [0] * len(tangents), total)
        outs, aux = kept
        _check_jacobian_output("jacfwd", fun, outs, holomorphic)
        rows = []
        for t, d, out in zip(t_outs, dims, outs, strict=True):
            last = aval_of(out).ndim
            t = _batched_last(t, d, total, last)
            rows.append(tree_unflatten(in_tree, _blocks(t, avals, last)))
        result = tree_unflatten(flat.out_tree, [r[0] if single else r for r in rows])
        return (result, tree_map(_outermost, aux)) if has_aux else result

    return name_like(jacobian, fun, "jacfwd")


def _batched_last(t: Any, dim: int | None, size: int, last: int) -> Any:
    return batch_at(t, dim, size, last)


def _outermost(x: Any) -> Any:
    """The value behind a tracer of an ended vmap: aux does not depend on the tangents."""
    while hasattr(x, "value") and not x.owner.live:
        x = x.value
    return x


def jacrev(
    fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, allow_int: bool = False
) -> Callable[..., Any]:
    """The Jacobian of `fun` by reverse mode: best for more inputs than outputs. Result as for `jacfwd`.

    >>> fg.jacrev(lambda x: fnp.stack([x[0] * x[1], x[1] ** 2]))(fnp.array([2.0, 3.0]))
    Array([[3., 2.],
           [0., 6.]], dtype=float32)
    >>> fg.jacrev(lambda p: p["a"] * p["x"].sum())({"a": 2.0, "x": fnp.array([1.0, 3.0])})
    {'a': Array(4., dtype=float32), 'x': Array([2., 2.], dtype=float32)}
    """
    check_callable("jacrev", fun)
    single = not isinstance(argnums, (tuple, list))

    @api_boundary
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen, values, in_tree, flat = _prepare("jacrev", fun, argnums, args, kwargs, has_aux, holomorphic, allow_int)
        avals = [x.aval for x in values]
        moving = [a.dtype in dt.INEXACT for a in avals]
        lin = linearize_flat(flat, values, moving)
        _check_jacobian_output("jacrev", fun, lin.outs, holomorphic)
        out_avals = [aval_of(x) for x in lin.outs]
        cts = _basis(out_avals)
        total = sum(a.size for a in out_avals)

        def pull(*cotangents: Any) -> list[Any]:
            used = [c for c, m in zip(cotangents, lin.moving_out, strict=True) if m]
            return [x for x, m in zip(_pull(lin.jaxpr, avals, moving, used, lin.residuals), moving, strict=True) if m]

        found, dims = vmap_flat(pull, cts, [0] * len(cts), total)
        columns = iter([_batched_first(x, d, total) for x, d in zip(found, dims, strict=True)])
        blocks = [
            _blocks(next(columns), out_avals, 0) if m else [_zeros_pair(o, a) for o in out_avals]
            for a, m in zip(avals, moving, strict=True)
        ]
        rows = [tree_unflatten(in_tree, [b[i] for b in blocks]) for i in range(len(out_avals))]
        result = tree_unflatten(flat.out_tree, [r[0] if single else r for r in rows])
        return (result, _settle(flat)) if has_aux else result

    return name_like(jacobian, fun, "jacrev")


jacobian = jacrev


def _zeros_pair(out: ShapedArray, a: ShapedArray) -> np.ndarray:
    return np.zeros(out.shape + a.shape, dt.float0)


def _batched_first(x: Any, dim: int | None, size: int) -> Any:
    return batch_at(x, dim, size)


def hessian(fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False) -> Callable[..., Any]:
    """The Hessian of `fun`: forward mode over reverse mode. A leaf has the shape of the output followed by the input's twice.

    >>> import funcgrad as fg
    >>> float(fg.hessian(lambda x: x ** 3)(2.0))
    12.0
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def _prepare(
    name: str, fun: Any, argnums: Any, args: tuple, kwargs: dict, has_aux: bool, holomorphic: bool, allow_int: bool
) -> tuple[Any, list[Any], Any, FlatFunction]:
    numbers = normalise_argnums(name, argnums, len(args))
    chosen = tuple(args[i] for i in numbers)
    leaves, in_tree = tree_flatten(chosen)
    values = as_values(name, leaves, chosen)
    for (path, _), x in zip(tree_leaves_with_path(chosen), values, strict=True):
        _check_input(name, path, x.aval, holomorphic, allow_int)
    return chosen, values, in_tree, FlatFunction(name, fun, in_tree, bind_arguments(fun, args, kwargs, numbers), has_aux)


def _check_jacobian_output(name: str, fun: Any, outs: list[Any], holomorphic: bool) -> None:
    for x in outs:
        aval = aval_of(x)
        if aval.dtype not in (dt.COMPLEXES if holomorphic else dt.INEXACT):
            raise DtypeError(
                message(
                    f"{name}: {function_name(fun)} returned {aval}{' with holomorphic=True' if holomorphic else ''}",
                    "complex outputs" if holomorphic else "floating or complex outputs",
                    "convert the output with .astype(...)",
                )
            )
