"""Calls of the host from inside a program: pure_callback, io_callback, debug_callback.

Each carries `fun`, a function of flat NumPy arrays that returns a list of arrays, and `results`, the abstract values that these
must have. `pure_callback` may be run any number of times, or not at all. The others have effects: they run once each time the
program comes by, in its order, and in no derivative: tangents do not reach them, and partial evaluation runs them with the known
half. Under vmap a function is called once for each example (or, for pure_callback, as its `vmap_method` says).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, message
from funcgrad.ir.loop_rules import Host
from funcgrad.ir.primitive import register
from funcgrad.ops._family import batch_at, broadcast_batch, move_dim
from funcgrad.trace.interpreter import Operator, floor, running

Flat = Callable[..., Sequence[Any]]
VMAP_METHODS = ("sequential", "expand_dims", "broadcast_all", "legacy_vectorized")


def checked_results(outs: Sequence[Any], results: Sequence[ShapedArray], name: str) -> list[np.ndarray]:
    """The arrays that the user's function returned, if they are as declared. Python scalars take the declared dtype."""
    if len(outs) != len(results):
        raise ShapeError(
            message(
                f"{name}: the function returned {len(outs)} arrays", f"{len(results)}, as declared", "declare what it returns"
            )
        )
    made = []
    for i, (x, aval) in enumerate(zip(outs, results, strict=True)):
        which = "" if len(results) == 1 else f" number {i}"
        out = np.asarray(x)
        if x.__class__ in (bool, int, float, complex) and dt.category(out.dtype) <= dt.category(aval.dtype):
            out = out.astype(aval.dtype)
        if out.shape != aval.shape:
            raise ShapeError(
                message(
                    f"{name}: the function returned shape {out.shape} for the result{which}",
                    f"the declared shape {aval.shape}",
                    "mend result_shape_dtypes, or reshape what the function returns",
                )
            )
        if out.dtype != aval.dtype:
            raise DtypeError(
                message(
                    f"{name}: the function returned dtype {out.dtype} for the result{which}",
                    f"the declared dtype {dt.short_name(aval.dtype)}",
                    f"return np.asarray(..., {aval.dtype.name!r}), or declare {out.dtype}",
                )
            )
        made.append(np.array(out, order="C"))  # a copy: the function may keep and change its own
    return made


def _call(*arrays: Any, fun: Flat, results: tuple[ShapedArray, ...], name: str) -> list[np.ndarray]:
    # Arrays are views of memory that is used again; the user's function may keep what it gets.
    own = [np.array(x) for x in arrays]
    with running(floor()), np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
        outs = fun(*own)
    return checked_results(outs, results, name)


class EachExample:
    """`fun` called for one example after the other, its results stacked."""

    __slots__ = ("fun", "size", "batched", "results", "name")

    def __init__(self, fun: Flat, size: int, batched: tuple[bool, ...], results: tuple[ShapedArray, ...], name: str):
        self.fun, self.size, self.batched, self.results, self.name = fun, size, batched, results, name

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        outs = [np.empty((self.size, *a.shape), a.dtype) for a in self.results]
        for i in range(self.size):
            example = [np.array(x[i] if b else x) for x, b in zip(arrays, self.batched, strict=True)]
            for out, y in zip(outs, checked_results(self.fun(*example), self.results, self.name), strict=True):
                out[i] = y
        return outs


def _with_axis(size: int, avals: Sequence[ShapedArray]) -> tuple[ShapedArray, ...]:
    return tuple([shaped((size, *a.shape), a.dtype) for a in avals])


def _looped(op: Operator, size: int, args: Sequence[Any], dims: Sequence[int | None], params: dict[str, Any]) -> Any:
    """The batching rule of a call that is made once for each example."""
    batched = tuple(d is not None for d in dims)
    moved = [x if d is None else move_dim(x, d, 0) for x, d in zip(args, dims, strict=True)]
    results = params["results"]
    each = EachExample(params["fun"], size, batched, results, params["name"])
    outs = op(*moved, **(params | {"fun": each, "results": _with_axis(size, results)}))
    return outs, [0] * len(outs)


# --- without effects ------------------------------------------------------------------------------------------------


def _pure_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
    method, name = params["vmap_method"], params["name"]
    if method is None:
        raise UsageError(
            message(
                f"pure_callback: {name} was vectorised by vmap, and its vmap_method is None",
                "vmap_method='sequential' (a call for each example), 'expand_dims' or 'broadcast_all' (one call, leading axes)",
                "pure_callback(..., vmap_method='sequential')",
            )
        )
    if method == "sequential":
        return _looped(pure_callback, size, args, dims, params)
    if method == "broadcast_all":
        moved = [batch_at(x, d, size) for x, d in zip(args, dims, strict=True)]
    elif method == "expand_dims":
        moved = [broadcast_batch(x, 1) if d is None else move_dim(x, d, 0) for x, d in zip(args, dims, strict=True)]
    else:
        moved = [x if d is None else move_dim(x, d, 0) for x, d in zip(args, dims, strict=True)]
    outs = pure_callback(*moved, **(params | {"results": _with_axis(size, params["results"])}))
    return outs, [0] * len(outs)


def _no_derivative(primals: Sequence[Any], tangents: Sequence[Any], *, name: str, **params: Any) -> Any:
    raise UsageError(
        message(
            f"a callback was differentiated: {name} runs on the host, its derivative is not known",
            "callbacks whose arguments do not depend on what is differentiated",
            "wrap the call in a function with fg.custom_jvp (or fg.custom_vjp) and give its derivative there, "
            "or pass lax.stop_gradient(x)",
        )
    )


pure_callback = register(
    Operator(
        "pure_callback",
        multiple_results=True,
        abstract=lambda *avals, fun, results, name, vmap_method: list(results),
        numpy=lambda *arrays, fun, results, name, vmap_method: _call(*arrays, fun=fun, results=results, name=name),
        jvp=_no_derivative,
        transpose="it is not linear: the function runs on the host",
        batch=_pure_batch,
        loop=Host(),
        dtypes=dt.ANY,
        samples="it carries a user's function: tests/api/test_callback.py",
        doc="Calls a function without effects on the host.",
    )
)

# --- with effects ----------------------------------------------------------------------------------------------------

io_callback = register(
    Operator(
        "io_callback",
        multiple_results=True,
        abstract=lambda *avals, fun, results, name: list(results),
        numpy=_call,
        jvp=_no_derivative,
        transpose="it is not linear: the function runs on the host",
        batch=lambda size, args, dims, **params: _looped(io_callback, size, args, dims, params),
        loop=Host(),
        dtypes=dt.ANY,
        samples="it carries a user's function: tests/api/test_callback.py",
        effectful=True,
        doc="Calls a function with effects on the host.",
    )
)


def _debug_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    debug_callback(*primals, **params)
    return [], []


debug_callback = register(
    Operator(
        "debug_callback",
        multiple_results=True,
        abstract=lambda *avals, fun, results, name: [],
        numpy=_call,
        jvp=_debug_jvp,
        transpose=lambda cts, *args, **params: [None] * len(args),
        batch=lambda size, args, dims, **params: _looped(debug_callback, size, args, dims, params),
        loop=Host(),
        dtypes=dt.ANY,
        samples="it carries a user's function: tests/api/test_callback.py",
        effectful=True,
        doc="Shows values to a function on the host.",
    )
)
