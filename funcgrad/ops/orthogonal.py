"""Functions of a whole order: Bessel's jn, normalised associated Legendre functions of an angle. NumPy's meaning is SciPy's."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.lazy import LazyModule
from funcgrad.ir.loop_rules import Host
from funcgrad.ops._family import add, elementwise, like
from funcgrad.ops._samples import uniform, via_float32
from funcgrad.ops.arithmetic import max_, mul, neg, sqrt, sub
from funcgrad.ops.rounding import round_

special: Any = LazyModule("scipy.special")


def _jn_jvp(t: Any, out: Any, x: Any, *, n: int) -> Any:
    if n == 0:
        return mul(t, neg(jn(x, n=1)))
    return mul(t, mul(sub(jn(x, n=n - 1), jn(x, n=n + 1)), like(x, 0.5)))


jn = elementwise(
    "jn",
    dtypes=dt.FLOATS,
    numpy=via_float32(lambda x, n: np.asarray(special.jv(x.dtype.type(n), x))),
    jvp=[_jn_jvp],
    loop=lambda b, x, n: b.jn(x, b.const(n, np.float64)),
    samples=uniform(-4, 9),
    cases=({"n": 0}, {"n": 1}, {"n": 5}),
    doc="the Bessel function of the first kind, of a fixed whole order n >= 0",
)


def _legendre_numpy(n: np.ndarray, m: np.ndarray, theta: np.ndarray) -> np.ndarray:
    known = np.isfinite(n) & np.isfinite(m)
    order, degree = (np.rint(np.where(known, v, 0)).astype(np.int64) for v in (m, n))
    inside = (np.abs(order) <= degree) & known
    (value,) = special.sph_legendre_p(np.where(inside, degree, 0), np.where(inside, order, 0), theta.astype(np.float64))
    return np.where(inside, value, 0.0).astype(theta.dtype)


def _legendre_jvp(t: Any, out: Any, n: Any, m: Any, theta: Any) -> Any:
    n, m = round_(n, rounding_method=1), round_(m, rounding_method=1)
    one = like(n, 1)
    up, down = add(m, one), sub(m, one)
    zero = like(n, 0)
    raised = sqrt(max_(mul(sub(n, m), add(n, up)), zero))
    lowered = sqrt(max_(mul(add(n, m), sub(n, down)), zero))
    slope = sub(mul(raised, sph_legendre(n, up, theta)), mul(lowered, sph_legendre(n, down, theta)))
    return mul(t, mul(slope, like(theta, 0.5)))


def _degree(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.asarray(rng.integers(2, 5, shape)).astype(dtype)


def _order(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.asarray(rng.integers(-2, 3, shape)).astype(dtype)


sph_legendre = elementwise(
    "sph_legendre",
    dtypes=dt.FLOATS,
    numpy=_legendre_numpy,
    jvp=[None, None, _legendre_jvp],
    loop=Host(),
    samples=[_degree, _order, uniform(0, 3)],
    doc="the part of a spherical harmonic that depends on the polar angle; degree n, order m (rounded, not differentiated)",
)
