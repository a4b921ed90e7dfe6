"""Functions of small pieces applied to whole arrays: vectorize (with core dimensions), apply_along_axis, apply_over_axes.

In: a function of scalars, vectors or matrices. Out: one of arrays, whose leading axes broadcast. Each loop axis is one `vmap`, so
that what does not depend on an axis is computed once for all of it.
"""

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from funcgrad.bridge.flat import as_value as leaf_value
from funcgrad.bridge.flat import check_callable, function_name
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, message
from funcgrad.numpy._axes import axis_of, static_ints
from funcgrad.numpy._promote import as_value, broadcast_shapes_of
from funcgrad.numpy.structure import expand_dims, moveaxis
from funcgrad.ops._family import batch_at
from funcgrad.ops.shape import squeeze
from funcgrad.transforms.vmap import vmap

__all__ = ["apply_along_axis", "apply_over_axes", "vectorize"]

Core = list[tuple[str, ...]]

# --- signatures: (m,n),(n)->(m) -----------------------------------------------------------------------------------------------

_CORE = r"\(\s*(?:\w+(?:\s*,\s*\w+)*)?\s*\)"
_SIDE = rf"{_CORE}(?:\s*,\s*{_CORE})*"
_SIGNATURE = re.compile(rf"\s*({_SIDE}|)\s*->\s*({_SIDE})\s*")


def _parsed(signature: Any) -> tuple[Core, Core]:
    """The names of the core dimensions of each argument and of each output."""
    found = _SIGNATURE.fullmatch(signature) if isinstance(signature, str) else None
    if found is None:
        raise UsageError(
            message(
                f"fnp.vectorize: got signature={signature!r}",
                "names of core dimensions in parentheses, for every argument and every output",
                "signature='(m,n),(n)->(m)'",
            )
        )
    arguments, outputs = [[tuple(re.findall(r"\w+", core)) for core in re.findall(_CORE, side)] for side in found.groups()]
    return arguments, outputs


def _core_sizes(name: str, values: Sequence[Any], core: Core) -> dict[str, int]:
    """The extent of each named dimension."""
    sizes: dict[str, int] = {}
    for k, (x, dims) in enumerate(zip(values, core, strict=True)):
        if x.ndim < len(dims):
            raise ShapeError(
                message(
                    f"fnp.vectorize: {name} got {x.aval.str_short()} for argument {k}",
                    f"at least {len(dims)} axes, for its core dimensions ({','.join(dims)})",
                    "x[None], or another signature=",
                )
            )
        for dim, n in zip(dims, x.shape[x.ndim - len(dims) :], strict=True):
            if sizes.setdefault(dim, n) != n:
                raise ShapeError(
                    message(
                        f"fnp.vectorize: {name} got {x.aval.str_short()} for argument {k}, whose core dimension {dim} is {n}",
                        f"{sizes[dim]}, as in the arguments before it",
                        "mend the shapes, or give the dimensions different names in signature=",
                    )
                )
    return sizes


def _check_outputs(name: str, outs: Sequence[Any], core: Core, sizes: dict[str, int]) -> None:
    if len(outs) != len(core):
        raise UsageError(
            message(f"fnp.vectorize: {name} returned {len(outs)} outputs", f"{len(core)}, as in its signature", "mend signature=")
        )
    for k, (x, dims) in enumerate(zip(outs, core, strict=True)):
        if x.ndim != len(dims) or any([sizes.setdefault(d, n) != n for d, n in zip(dims, x.shape, strict=True)]):
            wanted = ",".join([f"{d}={sizes[d]}" if d in sizes else d for d in dims])
            raise ShapeError(
                message(
                    f"fnp.vectorize: output {k} of {name} has shape {x.shape}",
                    f"the core dimensions of its signature ({wanted})",
                    "mend signature=, or what the function returns",
                )
            )


def _values(what: str, items: Sequence[Any]) -> list[Any]:
    found = []
    for x in items:
        try:
            found.append(leaf_value(x))
        except TypeError:
            raise DtypeError(
                message(f"{what} {type(x).__name__}", "arrays and numbers", "fg.vmap for trees of arrays, excluded= for the rest")
            ) from None
    return found


# --- the loops ----------------------------------------------------------------------------------------------------------------


def over_loops(fun: Callable[..., list[Any]], values: Sequence[Any], ranks: Sequence[int]) -> list[Any]:
    """`fun(*cores) -> values` over the leading axes of `values`, which broadcast; the last `ranks` axes of each are its core.

    An axis of extent 1 is no loop for its operand: where all have 1, there is no loop at all.
    """
    shapes = [x.shape[: x.ndim - r] for x, r in zip(values, ranks, strict=True)]
    loop = broadcast_shapes_of(shapes, "vectorize")
    padded = [(1,) * (len(loop) - len(s)) + s for s in shapes]
    ones = [tuple([i for i, n in enumerate(s) if n == 1]) for s in shapes]
    values = [squeeze(x, dimensions=d) if d else x for x, d in zip(values, ones, strict=True)]
    turns = [i for i in range(len(loop)) if any([s[i] != 1 for s in padded])]

    def run(depth: int, xs: Sequence[Any]) -> list[Any]:
        if depth == len(turns):
            return fun(*xs)
        dims = [None if s[turns[depth]] == 1 else 0 for s in padded]
        outs, found = vmap(lambda *ys: run(depth + 1, ys), xs, dims, loop[turns[depth]])
        return [batch_at(y, d, loop[turns[depth]]) for y, d in zip(outs, found, strict=True)]

    missing = tuple([i for i in range(len(loop)) if i not in turns])
    outs = run(0, values)
    return [expand_dims(y, missing) for y in outs] if missing else outs


def vectorize(pyfunc: Callable[..., Any], *, excluded: Any = frozenset(), signature: Any = None) -> Callable[..., Any]:
    """A function of arrays that applies `pyfunc` to their elements, broadcasting them as NumPy does.

    Args: pyfunc: a function of scalars, or, with `signature`, of arrays with these core dimensions: "(m,n),(n)->(m)" is a
    function of a matrix and a vector that returns a vector; all other axes lead, and broadcast. excluded: positions and names of
    arguments that are handed on as they are (so is None). Keyword arguments are vectorised as the others are; in `signature`
    they come after these.
    Returns: a function that gives an array, or a tuple of them where pyfunc returns a tuple; their shapes are the loop axes, then
    what pyfunc returned.
    Raises: ShapeError where loop axes do not broadcast or core dimensions differ; UsageError for a signature that is none.

    >>> norms = fnp.vectorize(lambda v: fnp.sqrt(v @ v), signature="(n)->()")
    >>> norms(fnp.array([[3.0, 4.0], [0.0, 2.0]]))
    Array([5., 2.], dtype=float32)
    """
    check_callable("vectorize", pyfunc)
    kept = list(excluded) if isinstance(excluded, Iterable) and hasattr(type(excluded), "__contains__") else [None]
    if not all([isinstance(e, (int, str)) for e in kept]):
        raise UsageError(
            message(f"fnp.vectorize: got excluded={excluded!r}", "a set of positions and names", "excluded={1, 'name'}")
        )
    names = frozenset(kept)
    cores = None if signature is None else _parsed(signature)
    name = function_name(pyfunc)

    @functools.wraps(pyfunc, updated=())
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        places = [i for i, x in enumerate(args) if i not in names and i - len(args) not in names and x is not None]
        words = [k for k, x in kwargs.items() if k not in names and x is not None]
        given = [*[args[i] for i in places], *[kwargs[k] for k in words]]
        values = _values(f"fnp.vectorize: {name} got", given)
        core = [()] * len(values) if cores is None else cores[0]
        if len(core) != len(values):
            raise UsageError(
                message(
                    f"fnp.vectorize: {name} got {len(values)} arrays", f"{len(core)}, as in signature={signature!r}", "excluded="
                )
            )
        sizes = _core_sizes(name, values, core)
        single = False

        def call(*xs: Any) -> list[Any]:
            nonlocal single
            positional = list(args)
            for i, x in zip(places, xs):
                positional[i] = x
            out = pyfunc(*positional, **(kwargs | dict(zip(words, xs[len(places) :], strict=True))))
            single = not isinstance(out, (tuple, list))
            outs = [out] if single else list(out)
            outs = _values(f"fnp.vectorize: {name} returned", outs)
            if cores is not None:
                _check_outputs(name, outs, cores[1], sizes)
            return outs

        outs = over_loops(call, values, [len(dims) for dims in core])
        return outs[0] if single else tuple(outs)

    return vectorized


# --- along axes ---------------------------------------------------------------------------------------------------------------


def apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """`func1d(vector, *args, **kwargs)` of every line of `arr` along `axis`.

    Returns: an array of the shape of arr in which the axis is replaced by the axes of what func1d returns.

    >>> fnp.apply_along_axis(lambda v: v[::-1], 0, fnp.array([[1, 2], [3, 4]]))
    Array([[3, 4],
           [1, 2]], dtype=int64)
    """
    check_callable("apply_along_axis", func1d)
    x = as_value(arr, "apply_along_axis", "arr")
    i = axis_of(axis, x.ndim, "apply_along_axis")

    def call(line: Any) -> list[Any]:
        return _values(f"fnp.apply_along_axis: {function_name(func1d)} returned", [func1d(line, *args, **kwargs)])

    (out,) = over_loops(call, [moveaxis(x, i, -1)], [1])
    new = out.ndim - (x.ndim - 1)
    return moveaxis(out, tuple(range(x.ndim - 1, out.ndim)), tuple(range(i, i + new))) if new else out


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """`func(x, axis)` over several axes in turn; an axis that func removes is put back with extent 1.

    Raises: ShapeError where func changes the number of axes otherwise.

    >>> fnp.apply_over_axes(fnp.sum, fnp.ones((2, 3, 4)), [0, 2])
    Array([[[8.],
            [8.],
            [8.]]], dtype=float32)
    """
    check_callable("apply_over_axes", func)
    x = as_value(a, "apply_over_axes")
    ndim = x.ndim
    for axis in static_ints(axes, "apply_over_axes", "axes"):
        i = axis_of(axis, ndim, "apply_over_axes", "axes")
        out = as_value(func(x, i), "apply_over_axes", "the output")
        if out.ndim == ndim - 1:
            out = expand_dims(out, i)
        if out.ndim != ndim:
            raise ShapeError(
                message(
                    f"fnp.apply_over_axes: {function_name(func)} returned {out.aval.str_short()} for {x.aval.str_short()}",
                    f"{ndim} axes, or {ndim - 1} (the given one reduced)",
                    "return an array with that axis reduced",
                )
            )
        x = out
    return x
