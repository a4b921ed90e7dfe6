"""associative_scan: running results of an operation in logarithmic depth, by combining neighbours."""

from collections.abc import Callable
from typing import Any

from funcgrad import numpy as fnp
from funcgrad.bridge.flat import as_values, check_callable, function_name
from funcgrad.core.arguments import flag
from funcgrad.core.errors import ShapeError, TreeError, message
from funcgrad.core.pytree import tree_flatten, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.numpy._axes import static_int

__all__ = ["associative_scan"]


@api_boundary
def associative_scan(fn: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Running results of an associative operation along `axis`, in logarithmic depth (Blelloch, 1990).

    fn(a, b): combines two pytrees like elems, along `axis` of all of their elements at once. reverse: from the end.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> fg.lax.associative_scan(fnp.add, fnp.arange(5.0)).tolist()
    [0.0, 1.0, 3.0, 6.0, 10.0]
    """
    check_callable("associative_scan", fn)
    leaves, tree = tree_flatten(elems)
    values = as_values("associative_scan", leaves, elems)
    if not values:
        return elems
    axis = static_int(axis, "lax.associative_scan", "axis")
    axes = [axis + x.aval.ndim if axis < 0 else axis for x in values]
    for x, a in zip(values, axes, strict=True):
        if not 0 <= a < x.aval.ndim:
            raise ShapeError(message(f"associative_scan: got axis={axis} for {x.aval}", "an axis of every leaf", "mend axis="))
    counts = {x.aval.shape[a] for x, a in zip(values, axes, strict=True)}
    if len(counts) != 1:
        raise ShapeError(
            message(f"associative_scan: got extents {sorted(counts)} along axis {axis}", "one extent", "mend the shapes")
        )

    def part(x: Any, a: int, s: slice) -> Any:
        return x[(slice(None),) * a + (s,)]

    def combine(left: list[Any], right: list[Any]) -> list[Any]:
        out = fn(tree_unflatten(tree, left), tree_unflatten(tree, right))
        leaves, made = tree_flatten(out)
        if made != tree:
            came = f"associative_scan: {function_name(fn)} returned {made} for elements {tree}"
            raise TreeError(message(came, "the structure of an element", "return the same"))
        return as_values("associative_scan", leaves, out)

    def running(xs: list[Any]) -> list[Any]:
        n = xs[0].aval.shape[axes[0]]
        if n < 2:
            return xs
        even = [part(x, a, slice(0, n - 1, 2)) for x, a in zip(xs, axes, strict=True)]
        odd = [part(x, a, slice(1, None, 2)) for x, a in zip(xs, axes, strict=True)]
        at_odd = running(combine(even, odd))
        first = [part(x, a, slice(0, 1)) for x, a in zip(xs, axes, strict=True)]
        later = [part(x, a, slice(2, None, 2)) for x, a in zip(xs, axes, strict=True)]
        before = [part(x, a, slice(0, (n - 1) // 2)) for x, a in zip(at_odd, axes, strict=True)]
        at_even = combine(before, later) if n > 2 else []
        whole = [fnp.concatenate([f, e], axis=a) for f, e, a in zip(first, at_even, axes, strict=True)] if n > 2 else first
        return [_interleave(e, o, a) for e, o, a in zip(whole, at_odd, axes, strict=True)]

    if flag(reverse, "lax.associative_scan", "reverse"):
        values = [fnp.flip(x, a) for x, a in zip(values, axes, strict=True)]
    outs = running(values)
    if reverse:
        outs = [fnp.flip(x, a) for x, a in zip(outs, axes, strict=True)]
    return tree_unflatten(tree, outs)


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """even[0], odd[0], even[1], ... along `axis`; even may be one longer."""
    n, m = even.aval.shape[axis], odd.aval.shape[axis]
    pairs = fnp.stack([even[(slice(None),) * axis + (slice(0, m),)], odd], axis=axis + 1)
    shape = list(even.aval.shape)
    shape[axis] = 2 * m
    out = fnp.reshape(pairs, tuple(shape))
    return out if n == m else fnp.concatenate([out, even[(slice(None),) * axis + (slice(m, None),)]], axis=axis)
