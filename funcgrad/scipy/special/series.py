"""Bessel functions, spherical harmonics, hypergeometric functions, Bernoulli numbers."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import UsageError, message
from funcgrad.numpy._axes import fitting, steps
from funcgrad.numpy._promote import as_value
from funcgrad.numpy.bessel import unscaled
from funcgrad.numpy.join import stack
from funcgrad.ops import elementwise as ew
from funcgrad.scipy.special._table import real, real_values, title, unary, whole
from funcgrad.scipy.special.integrals import integers

__all__ = ["bernoulli", "bessel_jn", "hyp1f1", "hyp2f1", "i0", "i0e", "i1", "i1e", "sph_harm_y"]

i0e = unary(
    "i0e",
    ew.bessel_i0e,
    "exp(-|x|) I0(x), the exponentially scaled modified Bessel function (DLMF 10.25).",
    """
>>> special.i0e(np.array([0.0, 1.0, 1000.0]))
Array([1.        , 0.46575961, 0.01261724], dtype=float64)
""",
)
i1e = unary(
    "i1e",
    ew.bessel_i1e,
    "exp(-|x|) I1(x), the exponentially scaled modified Bessel function (DLMF 10.25).",
    """
>>> special.i1e(np.array([0.0, 1.0, -1.0]))
Array([ 0.        ,  0.20791042, -0.20791042], dtype=float64)
""",
)


i0 = unary(
    "i0",
    lambda x: unscaled(x, ew.bessel_i0e(x)),
    "The modified Bessel function I0(x) (DLMF 10.25).",
    """
>>> special.i0(np.array([0.0, 1.0, 700.0]))
Array([1.00000000e+000, 1.26606588e+000, 1.52959335e+302], dtype=float64)
""",
)
i1 = unary(
    "i1",
    lambda x: unscaled(x, ew.bessel_i1e(x)),
    "The modified Bessel function I1(x) (DLMF 10.25).",
    """
>>> special.i1(np.array([0.0, 1.0, -1.0]))
Array([ 0.       ,  0.5651591, -0.5651591], dtype=float64)
""",
)


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """The Bessel functions J_0(z), ..., J_v(z) (DLMF 10.2.2).

    z: real array or scalar. v: a Python integer, 0 or more. n_iter: a whole number above 0; other implementations start a
    recurrence so far up, here every order is computed to full precision, so results do not depend on it.
    Returns: an array of shape (v + 1, *z.shape).

    >>> from funcgrad.scipy import special
    >>> special.bessel_jn(np.array(1.0), v=2)
    Array([0.76519769, 0.44005059, 0.11490348], dtype=float64)
    """
    order = whole("bessel_jn", "v", v)
    if order < 0 or whole("bessel_jn", "n_iter", n_iter) < 1:
        raise UsageError(message(f"{title('bessel_jn')}: got v={v}, n_iter={n_iter}", "v >= 0 and n_iter >= 1", "v=3"))
    (x,) = real("bessel_jn", z=z)
    return stack([ew.jn(x, n=n) for n in range(steps(order, title("bessel_jn"), "v") + 1)])


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, diff_n: Any = None, n_max: Any = None) -> Any:
    """The spherical harmonic of degree n and order m, with the Condon-Shortley phase (DLMF 14.30.1).

    n, m: integers; 0 where |m| > n. theta: the polar angle, from 0 to pi. phi: the azimuth. All broadcast, angles in radians.
    diff_n: None or 0; derivatives are those of `grad`, `jvp` and the like. n_max: the largest degree, which need not be given.
    Returns: a complex array.

    >>> from funcgrad.scipy import special
    >>> special.sph_harm_y(1, 1, np.array(0.5), np.array(0.5))
    Array(-0.14536165-0.07941143j, dtype=complex128)
    """
    if not among(diff_n, (None, 0)):
        raise UsageError(
            message(f"{title('sph_harm_y')}: got diff_n={diff_n!r}", "None or 0", "fg.jvp of sph_harm_y for derivatives")
        )
    if n_max is not None:
        whole("sph_harm_y", "n_max", n_max)
    degree, order = integers("sph_harm_y", "n", n), integers("sph_harm_y", "m", m)
    degree, order, polar, azimuth = real_values("sph_harm_y", n=degree, m=order, theta=theta, phi=phi)
    size = ew.sph_legendre(ew.stop_gradient(degree), ew.stop_gradient(order), polar)
    angle = ew.mul(ew.stop_gradient(order), azimuth)
    return ew.complex(ew.mul(size, ew.cos(angle)), ew.mul(size, ew.sin(angle)))


def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's function 1F1(a; b; x), the sum of (a)_n / (b)_n x^n / n! (DLMF 13.2.2).

    a, b, x: real, they broadcast. Derivatives by all of them are exact.

    >>> from funcgrad.scipy import special
    >>> special.hyp1f1(np.array(0.5), 1.5, np.array([-1.0, 1.0]))
    Array([0.74682413, 1.46265175], dtype=float64)
    """
    return ew.hyp1f1(*real("hyp1f1", a=a, b=b, x=x), orders=(0, 0, 0))


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss's hypergeometric function 2F1(a, b; c; x), the sum of (a)_n (b)_n / (c)_n x^n / n! (DLMF 15.2.1), for x <= 1.

    a, b, c, x: real, they broadcast. Derivatives by a, b and c are exact for x < 0.99, NaN beyond.

    >>> from funcgrad.scipy import special
    >>> special.hyp2f1(np.array(1.0), 1.0, 2.0, np.array([-1.0, 0.5]))
    Array([0.69314718, 1.38629436], dtype=float64)
    """
    return ew.hyp2f1(*real("hyp2f1", a=a, b=b, c=c, x=x), orders=(0, 0, 0, 0))


# From here on those of even number are beyond the range of float64.
_LAST_BERNOULLI = 300


def bernoulli(n: int) -> Any:
    """The Bernoulli numbers B_0, ..., B_n, with B_1 = -1/2 (DLMF 24.2.1).

    n: a Python integer, 0 or more. Returns: an array of n + 1 elements of the default float, infinite where they leave its range.

    >>> from funcgrad.scipy import special
    >>> special.bernoulli(4)
    Array([ 1.        , -0.5       ,  0.16666667,  0.        , -0.03333334], dtype=float32)
    """
    count = fitting(whole("bernoulli", "n", n), title("bernoulli"), "n")
    if count < 0:
        raise UsageError(message(f"{title('bernoulli')}: got n={count}", "0 or more", "bernoulli(8)"))
    found = [Fraction(1)]
    for k in range(1, min(count, _LAST_BERNOULLI) + 1):
        odd = k > 1 and k % 2
        total = Fraction(0) if odd else -sum((math.comb(k + 1, j) * found[j] for j in range(k)), Fraction(0)) / (k + 1)
        found.append(total)
    dtype = dt.default_float()
    limit = float(dt.finfo(dtype).max)
    numbers = [float(b) if abs(b) <= limit else math.copysign(math.inf, 1 if b > 0 else -1) for b in found]
    places = np.arange(count + 1)
    out = np.where(places % 2, 0, np.where(places % 4, np.inf, -np.inf)).astype(dtype)
    out[: len(numbers)] = numbers
    return as_value(from_numpy(out), title("bernoulli"))
