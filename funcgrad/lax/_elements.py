"""A function of scalars, applied to every element of arrays of one shape."""

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.numpy.structure import broadcast_to, moveaxis
from funcgrad.trace.value import aval_of
from funcgrad.transforms.vmap import vmap


def over_elements(fun: Callable[..., list[Any]], xs: Sequence[Any]) -> list[Any]:
    """`fun` (scalars -> list of scalars) of the elements of `xs`: the function is vectorised along each of their axes."""
    run = fun
    for n in reversed(aval_of(xs[0]).shape):
        run = _over_axis(run, n)
    return run(*xs)


def _over_axis(fun: Callable[..., list[Any]], size: int) -> Callable[..., list[Any]]:
    """`fun` on every element of a leading axis of all arguments."""

    def run(*args: Any) -> list[Any]:
        outs, dims = vmap(fun, args, [0] * len(args), size)
        return [
            broadcast_to(y, (size, *aval_of(y).shape)) if d is None else moveaxis(y, d, 0)
            for y, d in zip(outs, dims, strict=True)
        ]

    return run
