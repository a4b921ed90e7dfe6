"""Exponential, sine and Fresnel integrals, Spence's function, Faddeeva's function, Owen's T."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, message
from funcgrad.numpy._promote import as_value, cast, operand
from funcgrad.ops import elementwise as ew
from funcgrad.scipy.special._table import inexact, real, title, unary
from funcgrad.trace.value import aval_of

__all__ = ["exp1", "expi", "expn", "fresnel", "owens_t", "sici", "spence", "wofz"]

exp1 = unary(
    "exp1",
    ew.exp1,
    "The exponential integral E1, that of exp(-t) / t from x on (DLMF 6.2.1); infinite at 0, NaN below.",
    """
>>> special.exp1(np.array([0.5, 2.0]))
Array([0.55977359, 0.04890051], dtype=float64)
""",
)
expi = unary(
    "expi",
    ew.expi,
    "The exponential integral Ei, the principal value of the integral of exp(t) / t up to x (DLMF 6.2.5).",
    """
>>> special.expi(np.array([-0.5, 2.0]))
Array([-0.55977359,  4.95423436], dtype=float64)
""",
)
spence = unary(
    "spence",
    ew.spence,
    "The integral of log(t) / (1 - t) from 1 to x, the dilogarithm of 1 - x (DLMF 25.12.1); NaN for x < 0.",
    """
>>> special.spence(np.array([0.0, 1.0, 3.0]))
Array([ 1.64493407,  0.        , -1.43674637], dtype=float64)
""",
)


def expn(n: Any, x: Any) -> Any:
    """The generalised exponential integral of order n, that of exp(-x t) / t^n from 1 on (DLMF 8.19.3).

    n: integers, 0 or more (NaN below). x: real, 0 or more (NaN below). They broadcast. Returns: an array in the dtype of x.
    Raises: TypeError for n of a floating dtype.

    >>> from funcgrad.scipy import special
    >>> special.expn(np.array([0, 1, 2]), np.array(0.5))
    Array([1.21306132, 0.55977359, 0.32664386], dtype=float64)
    """
    return ew.expn(*real("expn", n=integers("expn", "n", n), x=x))


def integers(name: str, arg: str, n: Any) -> Any:
    v = operand(n, title(name), arg)
    if aval_of(v).dtype in dt.INEXACT:
        raise DtypeError(message(f"{title(name)}: got {aval_of(v).str_short()} for {arg}", "integers", f"{arg}.astype('int32')"))
    return v


def sici(x: Any) -> tuple[Any, Any]:
    """The sine and cosine integrals: that of sin(t) / t from 0 to x, and Euler's constant + log |x| + that of (cos(t) - 1) / t.

    x: real array or scalar (DLMF 6.2.9, 6.2.13). Returns: the pair (Si, Ci) of arrays of its shape, in its dtype.

    >>> from funcgrad.scipy import special
    >>> special.sici(np.array(1.0))
    (Array(0.94608307, dtype=float64), Array(0.33740392, dtype=float64))
    """
    (v,) = real("sici", x=x)
    return ew.si(v), ew.ci(v)


def fresnel(x: Any) -> tuple[Any, Any]:
    """The Fresnel integrals, of sin(pi t^2 / 2) and cos(pi t^2 / 2) from 0 to x.

    x: real array or scalar (DLMF 7.2.7, 7.2.8). Returns: the pair (S, C) of arrays of its shape, in its dtype.

    >>> from funcgrad.scipy import special
    >>> special.fresnel(np.array(1.0))
    (Array(0.43825915, dtype=float64), Array(0.7798934, dtype=float64))
    """
    (v,) = real("fresnel", x=x)
    return ew.fresnel_s(v), ew.fresnel_c(v)


def wofz(z: Any) -> Any:
    """Faddeeva's function exp(-z^2) erfc(-i z) (DLMF 7.2.3). z: real or complex. Returns: a complex array of its shape.

    >>> from funcgrad.scipy import special
    >>> special.wofz(np.array(1.0 + 1.0j))
    Array(0.30474421+0.20821894j, dtype=complex128)
    """
    v = as_value(inexact("wofz", z=z)[0], title("wofz"), "z")
    if v.dtype not in dt.COMPLEXES:
        v = cast(v, dt.complex128 if v.dtype == np.float64 else dt.complex64)
    return ew.wofz(v)


def owens_t(h: Any, a: Any) -> Any:
    """Owen's T: the probability that x > h and 0 < y < a x for independent standard normal x and y.

    Owen, "Tables for computing bivariate normal probabilities", 1956. h, a: real, they broadcast.

    >>> from funcgrad.scipy import special
    >>> special.owens_t(np.array([0.0, 1.0]), 1.0)
    Array([0.125     , 0.06674188], dtype=float64)
    """
    return ew.owens_t(*real("owens_t", h=h, a=a))
