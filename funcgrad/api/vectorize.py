"""Vectorisation over pytrees: vmap."""

from collections.abc import Callable
from typing import Any

from funcgrad.api.autodiff import name_like
from funcgrad.bridge.flat import FlatFunction, as_values, check_callable, function_name
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.core.pytree import flatten_axes, keystr, tree_flatten, tree_leaves_with_path, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.numpy._axes import static_int
from funcgrad.ops._family import batch_at
from funcgrad.trace.value import aval_of
from funcgrad.transforms.vmap import vmap as vmap_flat


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Callable[..., Any]:
    """A function that applies `fun` to every example of a batch at once.

    in_axes: for each positional argument the axis that holds the batch (an int, may be negative), None for arguments that all
    examples share, or a pytree prefix of these; keyword arguments are batched along axis 0. out_axes: where the batch axis
    goes in the outputs, in the same way; None only for outputs that do not depend on the batch.
    axis_name: a name for the batch axis. axis_size: the size of the batch, needed only where no argument is batched.
    Raises ValueError where the batch sizes differ, or an axis is out of range.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> fg.vmap(fnp.dot)(fnp.ones((3, 4)), fnp.ones((3, 4))).tolist()
    [4.0, 4.0, 4.0]
    """
    check_callable("vmap", fun)
    if spmd_axis_name is not None or sum_match:
        raise UsageError(message("vmap: got spmd_axis_name= or sum_match=", "neither is supported", "leave them out"))
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not isinstance(in_axes, (int, tuple, dict)) and in_axes is not None:
        raise UsageError(
            message(f"vmap: got in_axes={in_axes!r}", "an int, None, or a tuple with an entry for each argument", "mend in_axes=")
        )

    @api_boundary
    def batched(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise UsageError(
                message(
                    f"vmap: in_axes has {len(in_axes)} entries, {function_name(fun)} got {len(args)} positional arguments",
                    "one entry for each positional argument",
                    "mend in_axes=, or pass keyword arguments by keyword",
                )
            )
        tree = (args, kwargs)
        leaves, in_tree = tree_flatten(tree)
        values = as_values("vmap", leaves, tree)
        dims = flatten_axes("vmap in_axes", in_tree, (in_axes, 0))
        dims = [
            _normalise(d, aval_of(x).ndim, path)
            for d, x, (path, _) in zip(dims, values, tree_leaves_with_path(tree), strict=True)
        ]
        size = _batch_size(tree, values, dims, axis_size, fun)
        flat = FlatFunction("vmap", fun, in_tree, lambda both: fun(*both[0], **both[1]))
        outs, found = vmap_flat(flat, values, dims, size, axis_name)
        targets = flatten_axes("vmap out_axes", flat.out_tree, out_axes)
        moved = [_place(x, d, t, size, fun) for x, d, t in zip(outs, found, targets, strict=True)]
        return tree_unflatten(flat.out_tree, moved)

    return name_like(batched, fun, "vmap")


def _normalise(dim: Any, ndim: int, path: Any) -> int | None:
    if dim is None:
        return None
    if isinstance(dim, bool) or not hasattr(type(dim), "__index__"):
        raise UsageError(message(f"vmap: got {dim!r} in in_axes", "ints or None", "mend in_axes="))
    if not -ndim <= dim < ndim:
        raise ShapeError(
            message(
                f"vmap: in_axes gives axis {dim} for the argument{' at ' + keystr(path) if path else ''}, which has {ndim} axes",
                f"axes from {-ndim} to {ndim - 1}" if ndim else "None, since it is a scalar",
                "mend in_axes=, or batch the argument",
            )
        )
    return int(dim) % ndim


def _batch_size(tree: Any, values: list[Any], dims: list[int | None], axis_size: int | None, fun: Any) -> int:
    sizes: dict[int, str] = {} if axis_size is None else {static_int(axis_size, "fg.vmap", "axis_size"): "axis_size="}
    for (path, _), x, d in zip(tree_leaves_with_path(tree), values, dims, strict=True):
        if d is not None:
            sizes.setdefault(aval_of(x).shape[d], f"the argument at {keystr(path)}, {aval_of(x)} along axis {d}")
    if len(sizes) == 1:
        return next(iter(sizes))
    if sizes:
        listed = "; ".join(f"{n} from {where}" for n, where in sizes.items())
        raise ShapeError(
            message(f"vmap: {function_name(fun)} got different batch sizes: {listed}", "one size", "mend in_axes= or the shapes")
        )
    raise UsageError(
        message(
            f"vmap: no argument of {function_name(fun)} is batched",
            "at least one axis in in_axes=",
            "give axis_size=, or an axis",
        )
    )


def _place(x: Any, dim: int | None, target: Any, size: int, fun: Any) -> Any:
    if target is None:
        if dim is not None:
            raise UsageError(
                message(
                    f"vmap: out_axes is None for an output of {function_name(fun)} that depends on the batch",
                    "None only for outputs that are the same for every example",
                    "give an axis in out_axes=",
                )
            )
        return x
    ndim = aval_of(x).ndim + (dim is None)
    target = static_int(target, "fg.vmap", "out_axes", "an integer or None for each output")
    if not -ndim <= target < ndim:
        raise ShapeError(
            message(
                f"vmap: out_axes gives axis {target} for an output with {ndim} axes",
                f"axes from {-ndim} to {ndim - 1}",
                "mend out_axes=",
            )
        )
    return batch_at(x, dim, size, target % ndim)
