"""Calling the host from inside transformed functions: pure_callback, io_callback, debug callbacks and prints, check.

Arguments are pytrees. Arrays among them travel to the function as NumPy arrays of its own (typed PRNG keys as they are); what is
no array is passed on as it is. The functions run when the program runs, not when it is traced.
"""

import builtins
import functools
import logging
import re
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.bridge.flat import as_value, as_values, check_callable, function_name
from funcgrad.core import dtypes as dt
from funcgrad.core import source
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import DtypeError, TreeError, UsageError, describe, message
from funcgrad.core.pytree import PyTreeDef, tree_flatten, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.ops.bitwise import not_
from funcgrad.ops.reduce import reduce_and
from funcgrad.trace.value import Value
from funcgrad.transforms import callback as ops
from funcgrad.transforms.checking import check as check_op

log = logging.getLogger("funcgrad")


class _TRAVELS:
    """Stands for a leaf that is an array. (A class is itself again when it comes out of a pickle.)"""


class Packed:
    """A pytree of which some leaves travel through a program, and the rest waits here."""

    __slots__ = ("tree", "waiting")

    def __init__(self, tree: PyTreeDef, waiting: list[Any]):
        self.tree, self.waiting = tree, waiting

    def unpack(self, arrays: Sequence[Any]) -> Any:
        """The pytree, with these arrays in their places."""
        given = iter(arrays)
        return tree_unflatten(self.tree, [_shown(next(given)) if x is _TRAVELS else x for x in self.waiting])


def pack(tree: Any) -> tuple[Packed, list[Any]]:
    """Arrays and tracers travel; everything else waits."""
    leaves, structure = tree_flatten(tree)
    travels = [isinstance(x, (Value, np.ndarray)) and _is_numeric(x) for x in leaves]
    values = [as_value(x) for x, t in zip(leaves, travels, strict=True) if t]
    return Packed(structure, [_TRAVELS if t else x for x, t in zip(leaves, travels, strict=True)]), values


def _is_numeric(x: Any) -> bool:
    return isinstance(x, Value) or x.dtype.kind not in "OSUMm"


def _shown(x: Any) -> Any:
    return from_numpy(x) if x.dtype == dt.KEY else x


class HostFunction:
    """A user's function of pytrees as a function of flat arrays."""

    __slots__ = ("fun", "packed", "results", "name")

    def __init__(self, fun: Callable[..., Any], packed: Packed, results: PyTreeDef | None, name: str):
        self.fun, self.packed, self.results, self.name = fun, packed, results, name

    def __repr__(self) -> str:
        return function_name(self.fun)

    def __call__(self, *arrays: np.ndarray) -> list[Any]:
        args, kwargs = self.packed.unpack(arrays)
        out = self.fun(*args, **kwargs)
        if self.results is None:
            return []
        leaves, tree = tree_flatten(out)
        if tree != self.results:
            raise TreeError(
                message(
                    f"{self.name}: the function returned the structure {tree}",
                    f"the declared structure {self.results}",
                    "mend result_shape_dtypes, or what the function returns",
                )
            )
        return leaves


def _declared(name: str, tree: Any) -> tuple[tuple[ShapedArray, ...], PyTreeDef]:
    leaves, structure = tree_flatten(tree)
    avals = []
    for x in leaves:
        shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
        if shape is None or dtype is None:
            raise UsageError(
                message(
                    f"{name}: got {describe(x)} in result_shape_dtypes",
                    "objects with a shape and a dtype, in the structure that the function returns",
                    "fg.ShapeDtypeStruct(shape, dtype)",
                )
            )
        avals.append(shaped(tuple(shape), dt.canonical(dtype)))
    return tuple(avals), structure


def _host_call(op: Any, name: str, callback: Any, result_shape_dtypes: Any, args: tuple, kwargs: dict, **params: Any) -> Any:
    check_callable(name, callback)
    results, tree = _declared(name, result_shape_dtypes)
    leaves, structure = tree_flatten((args, kwargs))
    values = as_values(name, leaves, (args, kwargs))
    label = f"{name} of {function_name(callback)}"
    fun = HostFunction(callback, Packed(structure, [_TRAVELS] * len(values)), tree, label)
    return tree_unflatten(tree, op(*values, fun=fun, results=results, name=label, **params))


@api_boundary
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """`callback(*args, **kwargs)`, a function of NumPy arrays without effects, called on the host when the program runs.

    Args:
      callback: gets NumPy arrays (in the structure of args) and returns arrays or numbers as declared. It may be called any
        number of times, or not at all where nobody needs the result.
      result_shape_dtypes: a pytree of `ShapeDtypeStruct`s (or anything with a shape and dtype), what the callback returns.
      vmap_method: what vmap does. None: raise. "sequential": a call for each example. "expand_dims": one call, batched arguments
        with a leading batch axis, others with a leading axis of extent 1. "broadcast_all": one call, all arguments with the
        batch axis. "legacy_vectorized": one call, arguments that are not batched as they are. Results have a leading batch axis.

    Raises what the callback raises; ShapeError or DtypeError where it returns something else than declared. Differentiating it
    raises: give it a rule with `custom_jvp` or `custom_vjp`.

    >>> import numpy as np, funcgrad as fg, funcgrad.numpy as fnp
    >>> f = fg.jit(lambda x: fg.pure_callback(np.sort, fg.ShapeDtypeStruct(x.shape, x.dtype), x))
    >>> f(fnp.array([3.0, 1.0, 2.0])).tolist()
    [1.0, 2.0, 3.0]
    """
    if vmap_method is not None and vmap_method not in ops.VMAP_METHODS:
        raise UsageError(
            message(
                f"pure_callback: got vmap_method={vmap_method!r}",
                ", ".join(map(repr, ops.VMAP_METHODS)) + " or None",
                "vmap_method='sequential'",
            )
        )
    return _host_call(ops.pure_callback, "pure_callback", callback, result_shape_dtypes, args, kwargs, vmap_method=vmap_method)


@api_boundary
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """`callback(*args, **kwargs)`, a function of NumPy arrays that may have effects, called once each time the program comes by.

    Arguments as for `pure_callback`. Effects happen in the program's order, whatever `ordered` says; under vmap the
    callback is called for one example after the other. Differentiating it raises.

    >>> import numpy as np, funcgrad as fg
    >>> counter = iter(range(10))
    >>> step = fg.jit(lambda: fg.io_callback(lambda: np.int32(next(counter)), fg.ShapeDtypeStruct((), np.int32)))
    >>> int(step()), int(step())
    (0, 1)
    """
    return _host_call(ops.io_callback, "io_callback", callback, result_shape_dtypes, args, kwargs)


@api_boundary
def debug_callback(
    callback: Callable[..., Any] | None = None, *args: Any, ordered: bool = False, partitioned: bool = False, **kwargs: Any
) -> Any:
    """Call `callback(*args, **kwargs)` on the host when the program comes by; what it returns is dropped.

    args, kwargs: pytrees. Arrays come as NumPy arrays, everything else as it is. Works under every transform: under vmap it is
    called for one example after the other (once, where nothing that it gets is batched), derivatives call it once with the
    values, loops call it in each step, and branches where they are taken. Calls happen in the program's order, whatever
    `ordered` says. Exceptions reach the caller of the program.

    >>> import funcgrad as fg
    >>> seen = []
    >>> f = fg.jit(lambda x: fg.debug.callback(lambda y: seen.append(float(y)), x + 1))
    >>> f(1.0), f(2.0), seen
    (None, None, [2.0, 3.0])
    """
    if callback is None:
        return functools.partial(debug_callback, ordered=ordered, partitioned=partitioned)
    check_callable("debug.callback", callback)
    packed, values = pack((args, kwargs))
    name = f"debug.callback of {function_name(callback)}"
    ops.debug_callback(*values, fun=HostFunction(callback, packed, None, name), results=(), name=name)
    return None


class _Format(string.Formatter):
    """Finds fields without arguments and arguments without fields, before there are numbers."""

    def __init__(self, name: str):
        self.name = name

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        return value

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        # Attributes and items of an array are looked up when it has numbers.
        head = re.split(r"[.\[]", field_name)[0]
        key: int | str = int(head) if head.isdigit() else head
        try:
            return self.get_value(key, args, kwargs), key
        except (KeyError, IndexError):
            what = f"the field {{{head}}}" if isinstance(key, str) else f"the field number {key}"
            raise UsageError(
                message(
                    f"{self.name}: the text has {what}, which no argument fills",
                    "fields for the arguments given; braces that are meant as text are doubled, {{ }}",
                    f"pass {head}=... by keyword" if isinstance(key, str) else "pass one more argument",
                )
            ) from None

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [str(i) for i in range(len(args)) if i not in used_args] + [k for k in kwargs if k not in used_args]
        if unused:
            raise UsageError(
                message(
                    f"{self.name}: the arguments {', '.join(unused)} have no field in the text",
                    "a field for each argument, {} or {name}; no f-string, which is filled while tracing",
                    f"{self.name}('x = {{x}}', x=x)",
                )
            )


def _check_format(name: str, text: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    if not isinstance(text, str):
        raise UsageError(message(f"{name}: got {describe(text)} for the text", "a str", f"{name}('x = {{x}}', x=x)"))
    _Format(name).vformat(text, args, kwargs)


class _Render(string.Formatter):
    """As `str.format`; a field without a format is `str` of its value: of a float32, the digits that a float32 has."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return format(value, format_spec) if format_spec else str(value)


class _Print:
    """A format, as a function of its arguments."""

    __slots__ = ("text", "logged")

    def __init__(self, text: str, logged: bool):
        self.text, self.logged = text, logged

    @property
    def __name__(self) -> str:
        return repr(self.text)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        line = _Render().vformat(self.text, args, kwargs)
        if self.logged:
            log.info(line)
        else:
            builtins.print(line)


@api_boundary
def debug_print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = False,
    **kwargs: Any,
) -> Any:
    """Print `fmt.format(*args, **kwargs)` when the program comes by, arrays as NumPy prints them.

    Works under every transform, as `debug.callback` does. The fields of `fmt` must fit the arguments (checked while tracing,
    unless skip_format_check is true). Do not pass an f-string: it is filled while tracing, when there are no numbers.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> @fg.jit
    ... def f(x):
    ...     fg.debug.print("x = {x}, its sum {:.2f}", x.sum(), x=x)
    ...     return 2 * x
    >>> y = f(fnp.arange(3.0))
    x = [0. 1. 2.], its sum 3.00
    """
    if fmt is None:
        return functools.partial(
            debug_print,
            ordered=ordered,
            partitioned=partitioned,
            skip_format_check=skip_format_check,
            _use_logging=_use_logging,
        )
    if not skip_format_check:
        _check_format("debug.print", fmt, args, kwargs)
    packed, values = pack((args, kwargs))
    fun = HostFunction(_Print(fmt, _use_logging), packed, None, "debug.print")
    ops.debug_callback(*values, fun=fun, results=(), name="debug.print")
    return None


class UserCheck:
    """The text of a user's check, and where it stands."""

    __slots__ = ("message", "packed", "line")

    def __init__(self, text: str, packed: Packed, line: source.Source):
        self.message, self.packed, self.line = text, packed, line

    def __repr__(self) -> str:
        return repr(self.message) if self.line is source.UNKNOWN else f"{self.line}: {self.message!r}"

    def text(self, arrays: Sequence[np.ndarray]) -> str:
        """The message with the values in it, and the user's line."""
        args, kwargs = self.packed.unpack(arrays)
        text = _Render().vformat(self.message, args, kwargs)
        return text if self.line is source.UNKNOWN else f"{text}\n  checked at {self.line.quote()}"


@api_boundary
def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Raise CheckError (a ValueError) with `msg.format(*fmt_args, **fmt_kwargs)` unless all of `pred` is true, also from inside
    compiled code. The text ends with the line of the check.

    Under vmap it names the examples that failed and shows the values of the first; in a branch it is checked where the branch is
    taken. `funcgrad.checkify.checkify` makes a value of the error instead. debug: check under `checkify` only.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> @fg.jit
    ... def root(x):
    ...     fg.check(x >= 0, "x must not be negative, it is {x}", x=x)
    ...     return fnp.sqrt(x)
    >>> float(root(4.0))
    2.0
    >>> root(-4.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    funcgrad.core.errors.CheckError: x must not be negative, it is -4.0
    ...
    """
    _check_format("check", msg, fmt_args, fmt_kwargs)
    condition = as_value(pred)
    if condition.aval.dtype != dt.bool_:
        raise DtypeError(message(f"check: got a condition of {condition.aval}", "a bool", "compare: check(x != 0, ...)"))
    if condition.aval.shape:
        condition = reduce_and(condition, axes=tuple(range(condition.aval.ndim)))
    packed, values = pack((fmt_args, fmt_kwargs))
    site = UserCheck(msg, packed, source.current())
    check_op(not_(condition), *values, site=site, levels=(), axes=((),) * len(values), tags=0, debug=debug)
