"""How a row of a table becomes a public function: promotion of one kind, one primitive, a docstring.

In: a name, an operator, a sentence, an example (its arguments, and what is printed). Out: a function with NumPy's
signature. Used by `elementwise.py`, `arithmetic.py` and `compare.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, message
from funcgrad.numpy._promote import (
    binary,
    binary_inexact,
    broadcast_value,
    check_unsupported,
    operand,
    scalar_array,
    unary_inexact,
)
from funcgrad.trace.value import Value, aval_of


def _named(f: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    f.__name__ = f.__qualname__ = name
    f.__module__ = "funcgrad.numpy"
    f.__doc__ = doc
    return f


_FLOAT_DOC = """{doc}

Args: x: array or scalar of any shape; bool and integers become the default float (float32).
Returns: an array of the shape of x, in its dtype.
Raises: TypeError for sequences and other objects that are not arrays; use `fnp.asarray` first.

>>> fnp.{name}({sample})
{shows}
"""

_SAME_DOC = """{doc}

Args: x: array or scalar of any shape and dtype{allowed}.
Returns: an array of the shape of x{result}.
Raises: TypeError for sequences and for dtypes that the operation does not take.

>>> fnp.{name}({sample})
{shows}
"""

_BINARY_DOC = """{doc}

Args: {a}, {b}: arrays or scalars whose shapes broadcast; they are brought to one dtype (Python scalars do not widen){kind}.
Returns: an array of the broadcast shape{result}.
Raises: ShapeError where the shapes do not broadcast; TypeError for sequences.

>>> fnp.{name}({sample})
{shows}
"""


def unary_float(name: str, op: Callable[..., Any], doc: str, sample: str, shows: str) -> Callable[..., Any]:
    """f(x, /) of a float or complex x; bool and integers are converted."""

    def f(x: Any, /) -> Any:
        return unary_inexact(op, x, name)

    return _named(f, name, _FLOAT_DOC.format(doc=doc, name=name, sample=sample, shows=shows))


def unary_same(
    name: str,
    op: Callable[..., Any],
    doc: str,
    sample: str,
    shows: str,
    *,
    allowed: frozenset = dt.NUMBERS,
    bools: Callable[..., Any] | None = None,
    result: str = ", in its dtype",
) -> Callable[..., Any]:
    """f(x, /) in x's own dtype. `bools` is what happens to booleans (None: they are not allowed)."""

    def f(x: Any, /) -> Any:
        if not isinstance(x, Value):
            x = operand(x, name, "x")
        dtype = aval_of(x).dtype
        if dtype in allowed:
            return op(x)
        if dtype == dt.bool_ and bools is not None:
            return bools(x)
        raise wrong_dtype(name, x, allowed)

    kinds = "" if dt.INEXACT <= allowed else " that is bool or integer"
    doc = _SAME_DOC.format(doc=doc, name=name, sample=sample, shows=shows, allowed=kinds, result=result)
    return _named(f, name, doc)


def wrong_dtype(name: str, x: Any, allowed: frozenset, fix: str = "x.astype('float32')") -> DtypeError:
    """The error for an operand of a dtype that the function does not take."""
    names = ", ".join(sorted(dt.short_name(d) for d in allowed))
    return DtypeError(
        message(f"fnp.{name}: got {aval_of(x).str_short()}", f"dtypes {names}", f"convert first, for example with {fix}")
    )


def no_complex(name: str, x: Any) -> None:
    """Raises where x is complex."""
    if aval_of(x).dtype in dt.COMPLEXES:
        raise wrong_dtype(name, x, dt.REALS, "x.real")


def _two(apply: Callable[..., Any], op: Callable[..., Any], name: str, letters: bool) -> Callable[..., Any]:
    """f(x1, x2, /), or f(x, y, /) with `letters`, as the name has it elsewhere."""

    def numbered(x1: Any, x2: Any, /) -> Any:
        return apply(op, x1, x2, name)

    def lettered(x: Any, y: Any, /) -> Any:
        return apply(op, x, y, name)

    return lettered if letters else numbered


def binary_float(
    name: str, op: Callable[..., Any], doc: str, sample: str, shows: str, *, letters: bool = False
) -> Callable[..., Any]:
    """f(x1, x2, /) in their common float or complex dtype."""
    f = _two(binary_inexact, op, name, letters)
    a, b = ("x", "y") if letters else ("x1", "x2")

    kind = ", integers to the default float"
    doc = _BINARY_DOC.format(doc=doc, name=name, a=a, b=b, kind=kind, result="", sample=sample, shows=shows)
    return _named(f, name, doc)


def binary_same(
    name: str, op: Callable[..., Any], doc: str, sample: str, shows: str, *, result: str = "", letters: bool = False
) -> Callable[..., Any]:
    """f(x1, x2, /) in their common dtype."""
    f = _two(binary, op, name, letters)
    a, b = ("x", "y") if letters else ("x1", "x2")
    doc = _BINARY_DOC.format(doc=doc, name=name, a=a, b=b, kind="", result=result, sample=sample, shows=shows)
    return _named(f, name, doc)


def binary_compare(name: str, op: Callable[..., Any], doc: str, sample: str, shows: str) -> Callable[..., Any]:
    """f(x, y, /) -> bool."""

    def f(x: Any, y: Any, /) -> Any:
        try:
            return binary(op, x, y, name)
        except OverflowError:
            # A Python integer that the array's dtype cannot hold lies above or below all of its numbers, as 1 and -1 do of 0.
            pair = [scalar_array(np.int8((v > 0) - (v < 0)) if isinstance(v, int) else np.int8(0)) for v in (x, y)]
            return broadcast_value(op(*pair), aval_of(operand(y if isinstance(x, int) else x, name, "x")).shape)

    result = ", of dtype bool"
    doc = _BINARY_DOC.format(doc=doc, name=name, a="x", b="y", kind="", result=result, sample=sample, shows=shows)
    return _named(f, name, doc)


def binary_ufunc(
    name: str, op: Callable[..., Any], doc: str, sample: str, shows: str, *, inexact: bool = False, result: str = ""
) -> Callable[..., Any]:
    """f(*args, out=None, where=None) of exactly two arguments: NumPy's ufunc signature."""
    apply = binary_inexact if inexact else binary

    def f(*args: Any, out: Any = None, where: Any = None) -> Any:
        if out is not None or where is not None:
            check_unsupported(name, out=out, where=where)
        if len(args) != 2:
            raise TypeError(message(f"fnp.{name}: got {len(args)} arguments", "two arrays or scalars", f"fnp.{name}(x1, x2)"))
        return apply(op, args[0], args[1], name)

    kind = (", integers to the default float" if inexact else "") + ". out, where: must be None"
    doc = _BINARY_DOC.format(doc=doc, name=name, a="x1", b="x2", kind=kind, result=result, sample=sample, shows=shows)
    return _named(f, name, doc)
