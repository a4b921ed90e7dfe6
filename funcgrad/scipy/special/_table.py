"""How operators become functions of `scipy.special`: arguments in their common float dtype and shape, errors with the name.

Bool and integers become the default float (float32); Python scalars do not widen arrays; half floats are computed in float32.
"""

from collections.abc import Callable
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, message
from funcgrad.numpy._axes import static_int
from funcgrad.numpy._promote import as_value, common_inexact, common_shape, operand
from funcgrad.trace.value import Value, aval_of


def title(name: str) -> str:
    return f"scipy.special.{name}"


def inexact(name: str, **given: Any) -> list[Any]:
    """The arguments as operands of one float or complex dtype and one shape."""
    return common_shape(title(name), common_inexact(*[operand(x, title(name), arg) for arg, x in given.items()]))


def real(name: str, **given: Any) -> list[Any]:
    """As `inexact`, of real numbers."""
    xs = inexact(name, **given)
    for arg, x in zip(given, xs, strict=True):
        if aval_of(x).dtype in dt.COMPLEXES:
            raise DtypeError(
                message(
                    f"{title(name)}: got {aval_of(x).str_short()} for {arg}",
                    "real numbers",
                    f"{arg}.real, or SciPy's own function outside of traced code",
                )
            )
    return xs


def real_values(name: str, **given: Any) -> list[Value]:
    """As `real`, with scalars as 0-d arrays."""
    return [as_value(x, title(name)) for x in real(name, **given)]


def whole(name: str, arg: str, n: Any) -> int:
    """A Python integer that is known, also from a float with no fraction."""
    if isinstance(n, float) and n.is_integer():
        n = int(n)
    return static_int(n, title(name), arg)


def named(f: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    f.__name__ = f.__qualname__ = name
    f.__module__ = "funcgrad.scipy.special"
    f.__doc__ = doc
    return f


_UNARY_DOC = """{doc}

{arg}: real array or scalar; integers become the default float. Returns: an array of its shape, in its dtype.
Raises: TypeError for complex numbers and sequences.

>>> from funcgrad.scipy import special
{example}
"""


def unary(name: str, op: Callable[..., Any], doc: str, example: str, arg: str = "x") -> Callable[..., Any]:
    """f(x) of a real x, which may be called p."""

    def of_x(x: Any) -> Any:
        return op(real(name, x=x)[0])

    def of_p(p: Any) -> Any:
        return op(real(name, p=p)[0])

    return named(of_p if arg == "p" else of_x, name, _UNARY_DOC.format(doc=doc, arg=arg, example=example.strip()))
