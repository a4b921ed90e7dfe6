"""Special functions under JAX's names beyond those of `transcendental.py`: incomplete gamma and beta, zeta, Bessel."""

from typing import Any

from funcgrad.lax._table import strict, unary
from funcgrad.ops import elementwise as ew

__all__ = ["bessel_i0e", "bessel_i1e", "betainc", "igamma", "igammac", "random_gamma_grad", "zeta"]

bessel_i0e = unary(
    "bessel_i0e",
    ew.bessel_i0e,
    "exp(-|x|) I0(x), the exponentially scaled modified Bessel function (DLMF 10.25).",
    """
>>> lax.bessel_i0e(np.array([0.0, 1.0, 1000.0]))
Array([1.        , 0.46575961, 0.01261724], dtype=float64)
""",
)
bessel_i1e = unary(
    "bessel_i1e",
    ew.bessel_i1e,
    "exp(-|x|) I1(x), the exponentially scaled modified Bessel function (DLMF 10.25).",
    """
>>> lax.bessel_i1e(np.array([0.0, 1.0, -1.0]))
Array([ 0.        ,  0.20791042, -0.20791042], dtype=float64)
""",
)


def igamma(a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function P(a, x), for a > 0 and x >= 0; NaN elsewhere (DLMF 8.2.4).

    a, x: floats of one dtype and shape, or scalars; others raise TypeError. Returns: an array of that shape and dtype.
    Derivatives by both are exact.

    >>> lax.igamma(np.array([1.0, 2.0]), 1.0)
    Array([0.63212056, 0.26424112], dtype=float64)
    """
    return ew.igamma(*strict("igamma", a, x))


def igammac(a: Any, x: Any) -> Any:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x), exact where it is small.

    a, x: floats of one dtype and shape, or scalars; others raise TypeError. Returns: an array of that shape and dtype.

    >>> lax.igammac(np.array([1.0, 2.0]), 100.0)
    Array([3.72007598e-44, 3.75727674e-42], dtype=float64)
    """
    return ew.igammac(*strict("igammac", a, x))


def random_gamma_grad(a: Any, x: Any) -> Any:
    """dx/da where P(a, x) stays the same: the derivative by a of a gamma variate x of that shape.

    Figurnov, Mohamed and Mnih, "Implicit Reparameterization Gradients", 2018.
    a, x: floats of one dtype and shape, or scalars; others raise TypeError. Returns: an array of that shape and dtype.

    >>> lax.random_gamma_grad(np.array(2.0), 1.5)
    Array(0.93663907, dtype=float64)
    """
    return ew.random_gamma_grad(*strict("random_gamma_grad", a, x), n=1)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function I_x(a, b), for a, b > 0 and x in [0, 1] (DLMF 8.17.2).

    a, b, x: floats of one dtype and shape, or scalars; others raise TypeError. Returns: an array of that shape and dtype.
    Derivatives by all of them are exact.

    >>> lax.betainc(np.array(2.0), 3.0, 0.5)
    Array(0.6875, dtype=float64)
    """
    return ew.betainc(*strict("betainc", a, b, x))


def zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function, the sum of (q + k)^-x over k = 0, 1, ..., for x > 1 (DLMF 25.11.1).

    x, q: floats of one dtype and shape, or scalars; others raise TypeError. Returns: an array of that shape and dtype.
    Derivatives by x need q > 0.

    >>> lax.zeta(np.array([2.0, 4.0]), 1.0)
    Array([1.64493407, 1.08232323], dtype=float64)
    """
    return ew.zeta(*strict("zeta", x, q))
