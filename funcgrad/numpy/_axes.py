"""Axes, shapes and counts as users give them -> canonical tuples of Python integers.

Everything that must be known while tracing comes through here, so that a traced value in its place raises one clear error.
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from funcgrad.core.errors import (
    ConcretizationTypeError,
    DtypeError,
    FuncgradError,
    ShapeError,
    UsageError,
    asked_at,
    describe,
    message,
)
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.value import Value

_MOST = 2**63 - 1
# What has items; an annotation as Any keeps type checkers from narrowing to it.
MANY: Any = (list, tuple, Value, np.ndarray)


def title(name: str) -> str:
    """A function's name as users write it: `fnp.sum`; names of other modules (`nn.relu`, `lax.pad`) come with theirs."""
    return name if name.startswith(("nn.", "random.", "lax.", "scipy.", "x.", "x[", "fg.", "ndarray.")) else f"fnp.{name}"


def static_int(x: Any, name: str, arg: str, allowed: str = "an integer") -> int:
    """A Python integer; a traced value raises ConcretizationTypeError, naming the argument."""
    if x.__class__ is int:
        return x
    if isinstance(x, Tracer):
        x = x.concrete() if x.concrete() is not None else x
        if isinstance(x, Tracer):
            raise ConcretizationTypeError(x, f"{title(name)} needs the number {arg} while tracing")
    try:
        number = operator.index(np.asarray(x)[()] if isinstance(x, Value) else x)
    except TypeError:
        number = None
    if number is None:
        given = describe(x) if isinstance(x, (Value, np.ndarray)) else repr(x)
        fix = f"{title(name)}([x, y]): the arrays go in one list" if name in _OF_LISTS else f"int({arg})"
        raise TypeError(message(f"{title(name)}: got {given} for {arg}", allowed, fix)) from None
    return number


_OF_LISTS = ("concatenate", "concat", "stack")


def static_ints(x: Any, name: str, arg: str) -> tuple[int, ...]:
    """A tuple of Python integers from an integer or a sequence of them."""
    if x.__class__ is tuple and all([i.__class__ is int for i in x]):
        return x
    if isinstance(x, (Value, np.ndarray)) and x.ndim == 1:
        return tuple([static_int(i, name, arg) for i in static_array(x, name, arg)])
    if isinstance(x, Iterable) and not isinstance(x, (str, bytes, Mapping, Value, np.ndarray, np.generic)):
        return tuple([static_int(i, name, arg) for i in x])
    number = static_int(x, name, arg, "an integer or a sequence of integers")
    return (fitting(number, name, arg),)


def fitting(number: int, name: str, arg: str) -> int:
    """The number, which must fit an int64."""
    if not -_MOST <= number <= _MOST:
        raise UsageError(
            message(f"{title(name)}: got {number} for {arg}", "integers of 64 bits", f"check where {arg} comes from")
        )
    return number


def concrete(x: Value) -> Any:
    """The np.ndarray of a value that has its numbers, or None."""
    known = x.concrete() if isinstance(x, Tracer) else x
    return None if known is None else np.asarray(known)


def static_array(x: Any, name: str, arg: str) -> np.ndarray:
    """The numbers of an argument that must be known while tracing."""
    if isinstance(x, Tracer):
        known = x.concrete()
        if known is None:
            raise ConcretizationTypeError(x, f"{title(name)} needs the numbers of {arg} while tracing")
        x = known
    return host_array(x, name, arg)


def host_array(x: Any, name: str, arg: str) -> np.ndarray:
    """np.asarray of a list or whatever else was given; the error of a ragged one names the argument."""
    try:
        return np.asarray(x)
    except FuncgradError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        came = f"{title(name)}: got {arg} of which NumPy makes no array: {error}"
        allowed = "numbers, and sequences of them in which all rows are of one length"
        raise UsageError(message(came, allowed, f"check what {arg} is")) from None


def listed(x: Any, name: str, arg: str) -> Any:
    """Lists and tuples as an ndarray, anything else as it is."""
    return host_array(x, name, arg) if isinstance(x, (list, tuple)) else x


def asked_of_numpy(name: str, allowed: str, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What NumPy's function answers; what it has against the arguments is told with its name and with what is allowed."""
    try:
        return f(*args, **kwargs)
    except FuncgradError:
        raise
    except (AttributeError, OverflowError, TypeError, ValueError) as error:
        kind = UsageError if isinstance(error, ValueError) else DtypeError
        raise kind(message(f"{title(name)}: {error}", allowed, f"help({title(name)})")) from None


def steps(n: Any, name: str, arg: str, most: int = 10_000) -> int:
    """A count of steps that a program writes out one after the other: from 0 to `most`."""
    count = static_int(n, name, arg)
    if not 0 <= count <= most:
        raise UsageError(message(f"{title(name)}: got {arg}={count}", f"0 to {most}: each is written out", f"{arg}=1"))
    return count


def extent(n: Any, name: str, arg: str) -> int:
    """A count that becomes the extent of an axis: an integer of 0 or more."""
    return shape_of((static_int(n, name, arg),), name, arg)[0]


def shape_of(shape: Any, name: str, arg: str = "shape") -> tuple[int, ...]:
    """A shape: an integer or a sequence of integers, none negative."""
    out = static_ints(shape, name, arg)
    if any([n < 0 or n > _MOST for n in out]):
        allowed = "extents of 0 or more" if min(out) < 0 else "extents below 2**63"
        raise ShapeError(message(f"{title(name)}: got {arg}={shape}", allowed, f"check where {arg} comes from"))
    return out


def axis_of(axis: Any, ndim: int, name: str, arg: str = "axis") -> int:
    """One axis as a number from 0 to ndim - 1; negative ones count from the end."""
    i = axis if axis.__class__ is int else static_int(axis, name, arg)
    if -ndim <= i < ndim:
        return i + ndim if i < 0 else i
    raise AxisError(
        message(
            f"{title(name)}: got {arg}={i} for an array with {ndim} axes{asked_at()}",
            f"{-ndim} to {ndim - 1}" if ndim else "no axis at all: the array is a scalar",
            "check x.shape, or add an axis with x[..., None]",
        )
    )


class AxisError(UsageError, np.exceptions.AxisError):
    """An axis out of range (caught as NumPy's AxisError, a ValueError and IndexError)."""

    def __init__(self, text: str):
        np.exceptions.AxisError.__init__(self, text)

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else np.exceptions.AxisError.__str__(self)


def axes_of(axis: Any, ndim: int, name: str, arg: str = "axis") -> tuple[int, ...]:
    """Distinct axes in order; None means all of them."""
    if axis is None:
        return tuple(range(ndim))
    if axis.__class__ is int:
        return (axis_of(axis, ndim, name, arg),)
    axes = [axis_of(a, ndim, name, arg) for a in static_ints(axis, name, arg)]
    if len(set(axes)) < len(axes):
        raise UsageError(message(f"{title(name)}: got {arg}={axis}", "each axis once", f"remove the repeated one from {arg}"))
    return tuple(sorted(axes))


def pairs_of(given: Any, name: str) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The dimension_numbers of a product: ((lhs contracted, rhs contracted), (lhs batch, rhs batch))."""
    try:
        (xc, yc), (xb, yb) = given
        return (tuple(xc), tuple(yc)), (tuple(xb), tuple(yb))
    except (TypeError, ValueError):
        raise UsageError(
            message(
                f"{name}: got dimension_numbers={given!r}",
                "((lhs contracted, rhs contracted), (lhs batch, rhs batch)), each a sequence of axes",
                "dimension_numbers=(((1,), (0,)), ((), ()))",
            )
        ) from None
