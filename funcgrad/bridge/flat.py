"""From a user's arguments to flat lists of values, and back.

In: functions of pytrees, leaves that may be arrays, tracers, NumPy arrays or Python scalars. Out: functions of flat lists of
values. Errors name the argument by its key path.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import DtypeError, UsageError, describe, message, too_large
from funcgrad.core.pytree import PyTreeDef, keystr, tree_flatten, tree_leaves_with_path, tree_unflatten
from funcgrad.core.warn import asarray
from funcgrad.trace.value import Value

_PYTHON_SCALARS = frozenset({bool, int, float, complex})


def as_value(x: Any) -> Any:
    """A leaf as a value: arrays and tracers as they are, NumPy arrays strong, Python scalars weak; else TypeError."""
    if isinstance(x, Value):
        return x
    t = x.__class__
    if t in _PYTHON_SCALARS:
        try:
            return from_numpy(asarray(x, dt.scalar_dtype(t)), weak_type=t is not bool)
        except OverflowError:
            raise too_large(x, dt.scalar_dtype(t)) from None
    if isinstance(x, (np.ndarray, np.generic)):
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError(t)  # its mask would be lost
        return from_numpy(x)
    if hasattr(x, "__jax_array__") or hasattr(x, "__array__"):
        return from_numpy(np.asarray(x))
    scalar = python_scalar(x)
    if scalar is None:
        raise TypeError(t)
    return as_value(scalar)


def python_scalar(x: Any) -> Any:
    """The plain scalar that an instance of a subclass (an IntEnum) stands for, or None."""
    kinds: tuple[Any, ...] = (bool, int, float, complex)
    return next((kind(x) for kind in kinds if isinstance(x, kind)), None)


def as_values(name: str, leaves: Sequence[Any], tree: Any) -> list[Any]:
    """Each leaf as a value; an error names the first that is none by its place in `tree`."""
    try:
        return [as_value(x) for x in leaves]
    except TypeError:
        pass
    for path, x in tree_leaves_with_path(tree):
        try:
            as_value(x)
        except TypeError:
            raise DtypeError(
                message(
                    f"{name}: got {type(x).__name__} for the argument{_at(path)}",
                    "arrays, NumPy arrays and Python numbers, in dicts, lists, tuples, or registered dataclasses and nodes",
                    "pass it as a static argument, close over it, or register its type with funcgrad.tree_util",
                )
            ) from None
    raise AssertionError("a leaf was refused and then accepted")


def _at(path: Any) -> str:
    return f" at {keystr(path)}" if path else ""


class FlatFunction:
    """`fun(*args, **kwargs)` as a function from the flat values of some arguments to the flat values of its outcome.

    `out_tree` is known after a call."""

    __slots__ = ("fun", "in_tree", "put", "has_aux", "out_tree", "aux", "name")

    def __init__(
        self, name: str, fun: Callable[..., Any], in_tree: PyTreeDef, put: Callable[[Any], Any] | None, has_aux: bool = False
    ):
        self.name, self.fun, self.in_tree, self.put, self.has_aux = name, fun, in_tree, put, flag(has_aux, name, "has_aux")
        self.out_tree: Any = None
        self.aux: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        args = tree_unflatten(self.in_tree, leaves)
        out = self.put(args) if self.put is not None else self.fun(*args)
        if self.has_aux:
            if not isinstance(out, (tuple, list)) or len(out) != 2:
                raise UsageError(
                    message(
                        f"{self.name}: with has_aux=True the function returned {describe(out)}",
                        "a pair (output, aux)",
                        "return (loss, extra), or leave has_aux out",
                    )
                )
            out, self.aux = out
        leaves_out, self.out_tree = tree_flatten(out)
        return as_values(f"the output of {function_name(self.fun)}", leaves_out, out)


def function_name(fun: Any) -> str:
    """How to speak of a function in a message."""
    return getattr(fun, "__name__", None) or getattr(getattr(fun, "func", None), "__name__", None) or type(fun).__name__


def check_callable(name: str, fun: Any) -> None:
    """UsageError unless `fun` can be called."""
    if not callable(fun):
        fix = f"write {_CALLS[name]}" if name in _CALLS else f"write {name}(f)(x), not {name}(f(x))"
        raise UsageError(message(f"{name}: got {type(fun).__name__} for the function", "a callable", fix))


# What takes the function together with its arguments.
_CALLS = {
    "associative_scan": "lax.associative_scan(f, xs)",
    "closure_convert": "closure_convert(f, x)",
    "cond": "lax.cond(condition, f, g, x)",
    "eval_shape": "eval_shape(f, x)",
    "fori_loop": "lax.fori_loop(lower, upper, f, init)",
    "jvp": "jvp(f, (x,), (t,))",
    "linear_transpose": "linear_transpose(f, x)(ct)",
    "linearize": "linearize(f, x)",
    "map": "lax.map(f, xs)",
    "scan": "lax.scan(f, init, xs)",
    "switch": "lax.switch(i, [f, g], x)",
    "vjp": "vjp(f, x)",
    "while_loop": "lax.while_loop(condition, f, init)",
}


def check_argnums(name: str, argnums: Any) -> tuple[Any, ...]:
    """Argument numbers as a tuple, not yet compared with a call; UsageError for no numbers, such as the x of grad(f, x)."""
    numbers = tuple(argnums) if isinstance(argnums, (tuple, list)) else (argnums,)
    for i in numbers:
        if isinstance(i, (bool, Value, np.ndarray)) or not hasattr(type(i), "__index__"):
            given = describe(argnums) if hasattr(argnums, "dtype") else repr(argnums)
            fix = f"write {name}(f)(x), not {name}(f, x); or mend argnums="
            raise UsageError(message(f"{name}: got argnums={given}", "an int, or a sequence of ints", fix))
    return numbers


def normalise_argnums(name: str, argnums: Any, count: int) -> tuple[int, ...]:
    """Argument numbers as a tuple of non-negative ints below `count`; UsageError otherwise."""
    out = []
    for i in check_argnums(name, argnums):
        if not -count <= int(i) < count:
            raise UsageError(
                message(
                    f"{name}: got argnums={argnums!r} for a call with {count} positional argument{'s' * (count != 1)}",
                    f"numbers from 0 to {count - 1}" if count else "at least one positional argument",
                    "pass the argument by position, or mend argnums=",
                )
            )
        out.append(int(i) % count)
    if len(set(out)) != len(out):
        raise UsageError(message(f"{name}: argnums={argnums!r} names an argument twice", "distinct numbers", "mend argnums="))
    return tuple(out)


def bind_arguments(fun: Callable[..., Any], args: tuple, kwargs: dict, argnums: tuple[int, ...]) -> Callable[[Any], Any]:
    """A function of the tuple of the arguments `argnums`; the others are fixed."""

    def put(chosen: Any) -> Any:
        full = list(args)
        for i, x in zip(argnums, chosen, strict=True):
            full[i] = x
        return fun(*full, **kwargs)

    return put
