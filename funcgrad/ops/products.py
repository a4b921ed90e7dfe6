"""Products with a logarithm, 0 where the factor is 0: xlogy xlog1py. Real and complex."""

from collections.abc import Callable
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.lazy import LazyModule
from funcgrad.ops import _complex as cx
from funcgrad.ops._family import add, elementwise, like
from funcgrad.ops._samples import uniform, via_float32
from funcgrad.ops.arithmetic import div, mul
from funcgrad.ops.bitwise import and_
from funcgrad.ops.compare import eq
from funcgrad.ops.exponential import log, log1p
from funcgrad.ops.select import select_n
from funcgrad.trace.interpreter import Operator

special: Any = LazyModule("scipy.special")


def _quotient(x: Any, y: Any) -> Any:
    """x / y, 0 where both are 0; linear in x there too."""
    both = and_(eq(x, like(x, 0)), eq(y, like(y, 0)))
    return div(x, select_n(both, y, like(y, 1)))


def _loop(name: str) -> Callable[..., Any]:
    def choose(b: Any, x: Any, y: Any, of_y: Any) -> Any:
        nothing = b.and_(b.eq(x, 0), b.eq(y, y))  # NaN stays NaN
        return b.select(nothing, x, b.mul(x, of_y))

    return cx.by_kind(
        lambda b, x, y: choose(b, x, y, getattr(b, name)(y)), lambda b, x, y: choose(b, x, y, getattr(cx, name)(b, y))
    )


def _product(name: str, numpy: Callable[..., Any], of_y: Operator, slope: Callable[[Any, Any], Any], doc: str) -> Operator:
    return elementwise(
        name,
        dtypes=dt.FLOATS | dt.COMPLEXES,
        numpy=via_float32(numpy),
        jvp=[lambda t, out, x, y: mul(t, of_y(y)), lambda t, out, x, y: mul(t, slope(x, y))],
        loop=_loop(of_y.name),
        samples=[uniform(-2, 2), uniform(0.5, 4)],
        doc=doc,
    )


xlogy = _product("xlogy", lambda x, y: special.xlogy(x, y), log, _quotient, "x log(y), 0 where x is 0")
xlog1py = _product(
    "xlog1py",
    lambda x, y: special.xlog1py(x, y),
    log1p,
    lambda x, y: _quotient(x, add(y, like(y, 1))),
    "x log(1 + y), 0 where x is 0",
)
