"""Kummer's and Gauss's hypergeometric functions, with derivatives in all of their arguments. NumPy's meaning is SciPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.hypergeometric import hyp1f1_derivative, hyp2f1_derivative
from funcgrad.core.lazy import LazyModule
from funcgrad.ir.loop_rules import Host
from funcgrad.ops._family import add, elementwise, like
from funcgrad.ops._samples import uniform, via_float32
from funcgrad.ops.arithmetic import div, mul

special: Any = LazyModule("scipy.special")


def _one_more(orders: tuple[int, ...], place: int) -> tuple[int, ...]:
    return tuple(n + (k == place) for k, n in enumerate(orders))


def _by_parameter(op: Callable[[], Any], place: int) -> Callable[..., Any]:
    return lambda t, out, *xs, orders: mul(t, op()(*xs, orders=_one_more(orders, place)))


def _up(x: Any) -> Any:
    return add(x, like(x, 1))


def _hyp1f1_numpy(a: np.ndarray, b: np.ndarray, x: np.ndarray, orders: tuple[int, int, int]) -> np.ndarray:
    if any(orders):
        return hyp1f1_derivative(a, b, x, orders).astype(x.dtype)
    return via_float32(lambda *xs: special.hyp1f1(*xs))(a, b, x)


def _hyp1f1_jvp_x(t: Any, out: Any, a: Any, b: Any, x: Any, *, orders: tuple[int, ...]) -> Any:
    if any(orders[:2]):
        return mul(t, hyp1f1(a, b, x, orders=_one_more(orders, 2)))
    return mul(t, mul(div(a, b), hyp1f1(_up(a), _up(b), x, orders=orders)))


hyp1f1 = elementwise(
    "hyp1f1",
    dtypes=dt.FLOATS,
    numpy=_hyp1f1_numpy,
    jvp=[_by_parameter(lambda: hyp1f1, 0), _by_parameter(lambda: hyp1f1, 1), _hyp1f1_jvp_x],
    loop=Host(),
    samples=[uniform(0.5, 3), uniform(0.5, 3), uniform(-2, 2)],
    cases=({"orders": (0, 0, 0)}, {"orders": (1, 0, 0)}, {"orders": (0, 1, 1)}),
    doc="the sum of (a)_n / (b)_n x^n / n!, derived as often by each operand as `orders` says",
)


def _hyp2f1_numpy(a: np.ndarray, b: np.ndarray, c: np.ndarray, x: np.ndarray, orders: tuple[int, int, int, int]) -> np.ndarray:
    if any(orders):
        return hyp2f1_derivative(a, b, c, x, orders).astype(x.dtype)
    value = np.asarray(via_float32(lambda *xs: special.hyp2f1(*xs))(a, b, c, x))
    # where b - a is nearly whole SciPy loses half of the digits for x < -1
    off = np.abs(np.asarray(b - a, np.float64) - np.rint(np.asarray(b - a, np.float64)))
    weak = (off < 0.01) & (off > 0) & (x < -0.9) & (x > -100)
    if not weak.any():
        return value
    p, q, r, y = [np.where(weak, v, 0.5) for v in (a, b, c, x)]
    better = hyp2f1_derivative(p, q, r, y, (0, 0, 0, 0))
    return np.where(weak & np.isfinite(better), better, value).astype(x.dtype)


def _hyp2f1_jvp_x(t: Any, out: Any, a: Any, b: Any, c: Any, x: Any, *, orders: tuple[int, ...]) -> Any:
    if any(orders[:3]):
        return mul(t, hyp2f1(a, b, c, x, orders=_one_more(orders, 3)))
    return mul(t, mul(div(mul(a, b), c), hyp2f1(_up(a), _up(b), _up(c), x, orders=orders)))


hyp2f1 = elementwise(
    "hyp2f1",
    dtypes=dt.FLOATS,
    numpy=_hyp2f1_numpy,
    jvp=[*[_by_parameter(lambda: hyp2f1, k) for k in range(3)], _hyp2f1_jvp_x],
    loop=Host(),
    samples=[uniform(0.5, 3), uniform(0.5, 3), uniform(0.5, 3), uniform(-0.7, 0.7)],
    cases=({"orders": (0, 0, 0, 0)}, {"orders": (1, 0, 0, 0)}, {"orders": (0, 0, 1, 1)}),
    doc="the sum of (a)_n (b)_n / (c)_n x^n / n!, derived as often by each operand as `orders` says",
)
