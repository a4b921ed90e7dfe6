"""How a row of a table becomes a function of `funcgrad.lax`: operands of one dtype and shape, one primitive, a docstring.

In: a name, an operator, a sentence, an example. Out: a function with JAX's signature. What it takes is read off the operator.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, asked_at, describe, message
from funcgrad.numpy._promote import as_value, broadcast_value, common_dtype, operand
from funcgrad.trace.value import Value, aval_of


def strict(name: str, *xs: Any, shapes: bool = True) -> list[Any]:
    """Operands of one dtype and shape; Python scalars take the others' dtype, and scalars any shape."""
    vs = [operand(x, f"lax.{name}", f"operand {i}") for i, x in enumerate(xs)]
    strong = {aval_of(v).dtype for v in vs if not aval_of(v).weak_type}
    if len(strong) > 1:
        raise DtypeError(
            message(
                f"lax.{name}: got {', '.join(aval_of(v).str_short() for v in vs)}",
                "operands of one dtype",
                "fnp has functions that promote; or x.astype(...)",
            )
        )
    vs = common_dtype(*vs)
    if strong and aval_of(vs[0]).dtype not in strong:
        raise DtypeError(
            message(
                f"lax.{name}: got a Python scalar that does not fit {', '.join(map(str, strong))}",
                "a scalar of that kind",
                "convert the array first",
            )
        )
    return same_shape(name, vs) if shapes else vs


def same_shape(name: str, vs: list[Any]) -> list[Any]:
    """Values of one shape; those without axes are repeated, and so are axes of extent 1 where the number of axes is the same."""
    found = {v.aval.shape for v in vs if isinstance(v, Value)}
    if len(found) <= 1:
        return vs
    full_shapes = found - {()}
    extents = [set(ns) - {1} for ns in zip(*full_shapes)]
    if len({len(s) for s in full_shapes}) > 1 or any([len(ns) > 1 for ns in extents]):
        raise ShapeError(
            message(
                f"lax.{name}: got shapes {', '.join(map(str, sorted(found)))}{asked_at()}",
                "one shape (an extent may be 1 where the others have more), or scalars",
                "the function of funcgrad.numpy, which broadcasts",
            )
        )
    shape = tuple([ns.pop() if ns else 1 for ns in extents])
    return [broadcast_value(v, shape) if isinstance(v, Value) else v for v in vs]


def value(name: str, x: Any, arg: str = "operand") -> Any:
    """An operand as a value; the error for anything else names `lax.name`."""
    return as_value(x, f"lax.{name}", arg)


def sequence(name: str, xs: Any, arg: str) -> list[Any]:
    """The items of an argument that is a sequence (or an array, by its first axis); without any it is an error."""
    axes = getattr(xs, "ndim", None)
    if isinstance(xs, (str, bytes, Mapping)) or not isinstance(xs, Iterable) or axes == 0 or len(items := list(xs)) == 0:
        given = "none" if axes is None and isinstance(xs, Iterable) and not isinstance(xs, (str, bytes)) else describe(xs)
        raise TypeError(message(f"lax.{name}: got {given} for {arg}", "a sequence of one or more", f"{arg}=(x,)"))
    return items


def no_sharding(name: str, sharding: Any) -> None:
    """UsageError for a sharding other than None."""
    if sharding is not None:
        raise UsageError(message(f"lax.{name}: got a sharding", "None: arrays lie on one device", "leave it out"))


def kinds(op: Any) -> str:
    """The kinds of dtypes that an operator takes, in words."""
    named = [("bool", dt.BOOLS), ("integer", dt.INTEGERS), ("floating", dt.FLOATS), ("complex", dt.COMPLEXES)]
    found = [word for word, those in named if those & op.dtypes]
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} or {found[-1]}"


def named(f: Callable[..., Any], name: str, doc: str, example: str) -> Callable[..., Any]:
    """`f` with a name and a docstring."""
    f.__name__ = f.__qualname__ = name
    f.__module__ = "funcgrad.lax"
    f.__doc__ = f"{doc}\n{example}"
    return f


def unary(name: str, op: Any, doc: str, example: str, result: str = "an array of its shape and dtype") -> Callable[..., Any]:
    """f(x)."""

    def f(x: Any) -> Any:
        return op(operand(x, f"lax.{name}", "x"))

    about = f"x: {kinds(op)} array or scalar; others raise TypeError. Returns: {result}."
    return named(f, name, f"{doc}\n\n{about}", example)


def unary_accurate(name: str, op: Any, doc: str, example: str) -> Callable[..., Any]:
    """f(x, *, accuracy=None)."""

    def f(x: Any, *, accuracy: Any = None) -> Any:
        if accuracy is not None:
            raise UsageError(
                message(
                    f"lax.{name}: got accuracy={accuracy!r}",
                    "None: results are within the stated bound of ulps",
                    f"lax.{name}(x)",
                )
            )
        return op(operand(x, f"lax.{name}", "x"))

    about = (
        f"x: {kinds(op)} array or scalar; others raise TypeError. accuracy: must be None, there is one implementation.\n"
        "Returns: an array of its shape and dtype."
    )
    return named(f, name, f"{doc}\n\n{about}", example)


def binary(name: str, op: Any, doc: str, example: str, result: str = "an array of that shape and dtype") -> Callable[..., Any]:
    """f(x, y)."""

    def f(x: Any, y: Any) -> Any:
        if isinstance(x, Value) and isinstance(y, Value) and x.aval is y.aval:
            return op(x, y)
        return op(*strict(name, x, y))

    about = (
        f"x, y: {kinds(op)} arrays of one dtype and shape, or scalars; a different dtype raises TypeError, a shape ValueError.\n"
        f"Returns: {result}."
    )
    return named(f, name, f"{doc}\n\n{about}", example)
