"""What the distributions share: how their arguments become operands, and how the edges of their support are set.

Arguments are real numbers and arrays that broadcast; integers become the default float. They keep their own shapes, so that what
depends on parameters alone is computed once for each of them.
"""

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, message
from funcgrad.numpy._promote import as_value, common_inexact, operand
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full, like
from funcgrad.trace.value import Value, aval_of

INF = float("inf")
NAN = float("nan")


def operands(name: str, *args: Any, at: tuple[Any, ...] = ()) -> list[Any]:
    """The arguments of `stats.<name>` in their common floating dtype, those of `at` (loc, scale) after the others.

    They are values; loc and scale stay literals where they are scalars, so that `loc=0, scale=1` costs nothing."""
    name = f"scipy.stats.{name}"
    out = common_inexact(*[operand(x, name, f"argument {i + 1}") for i, x in enumerate((*args, *at))])
    aval = aval_of(out[0])
    if aval.dtype in dt.COMPLEXES:
        raise DtypeError(message(f"{name}: got complex numbers, {aval.str_short()}", "real numbers", "x.real"))
    return [as_value(x, name) for x in out[: len(args)]] + out[len(args) :]


def standard(x: Any, loc: Any, scale: Any = 1) -> Any:
    """(x - loc) / scale."""
    x = x if _is(loc, 0) else x - loc
    return x if _is(scale, 1) else x / scale


def placed(z: Any, loc: Any, scale: Any) -> Any:
    """z * scale + loc, the inverse of `standard`."""
    z = z if _is(scale, 1) else z * scale
    return z if _is(loc, 0) else z + loc


def _is(x: Any, number: int) -> bool:
    return not isinstance(x, Value) and bool(x == number)


def log(x: Any) -> Any:
    """The logarithm; of a literal a literal."""
    if isinstance(x, Value):
        return ew.log(x)
    with np.errstate(all="ignore"):
        return np.log(x) if isinstance(x, np.generic) else float(np.log(x))


def less_log(value: Any, scale: Any) -> Any:
    """value - log(scale)."""
    return value if _is(scale, 1) else value - log(scale)


def where(condition: Any, number: Any, value: Any) -> Any:
    """`number` (or a value) where the condition holds, else `value`. What is not taken has a gradient of exactly 0."""
    if isinstance(condition, Value):
        return fnp.where(condition, number, value)
    if not condition:
        return value
    return number if isinstance(number, Value) else full(aval_of(value).shape, like(value, number))


def checked(value: Any, *conditions: Any) -> Any:
    """`value`, NaN where one of the conditions on the parameters does not hold."""
    for condition in conditions:
        value = where(ew.not_(condition) if isinstance(condition, Value) else not condition, NAN, value)
    return value


def density(logs: Any) -> Any:
    """exp(logs), with a gradient of 0 where that is 0."""
    return where(logs == -INF, 0.0, ew.exp(logs))


def is_whole(k: Any) -> Any:
    """Whether k is an integer."""
    if not isinstance(k, Value):
        return float(k).is_integer()
    return (ew.floor(k) == k) & (ew.abs(k) < INF)


def log1p_square(z: Any) -> Any:
    """log(1 + z^2), also where the square overflows."""
    size = ew.abs(z)
    far = size > 1e8 if z.dtype != np.float16 else size > 100
    return where(far, 2 * ew.log(size), ew.log1p(ew.square(z)))
