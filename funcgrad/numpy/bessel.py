"""The modified Bessel function of order 0, and the window made of it: i0 kaiser."""

from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError, message
from funcgrad.numpy._axes import fitting, static_int
from funcgrad.numpy._promote import as_value, broadcast_value, cast, common_inexact, operand, unary_inexact
from funcgrad.numpy.filled import ones
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.trace.value import aval_of

__all__ = ["i0", "kaiser"]


def real_float(x: Any, name: str) -> Any:
    """`x`, which is no complex number."""
    if aval_of(x).dtype in dt.COMPLEXES:
        raise DtypeError(message(f"fnp.{name}: got {aval_of(x).str_short()}", "real numbers", "x.real"))
    return x


def unscaled(x: Any, scaled: Any) -> Any:
    """scaled * exp(|x|), in two factors, so that it overflows only where the product does."""
    root = ew.exp(ew.mul(ew.abs(x), like(x, 0.5)))
    return ew.mul(ew.mul(scaled, root), root)


def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 0, of real x (DLMF 10.25).

    Args: x: array or scalar of any shape; bool and integers become the default float (float32).
    Returns: an array of the shape of x, in its dtype.

    >>> fnp.i0(fnp.array([0.0, 1.0, -2.0]))
    Array([1.       , 1.2660658, 2.2795858], dtype=float32)
    """
    return unary_inexact(lambda v: unscaled(real_float(v, "i0"), ew.bessel_i0e(v)), x, "i0")


def kaiser(M: Any, beta: Any) -> Any:
    """The Kaiser window of M points: I0(beta sqrt(1 - (2 i / (M - 1) - 1)^2)) / I0(beta).

    Kaiser and Schafer, "On the use of the I0-sinh window for spectrum analysis", 1980. M: a Python integer. beta: a real scalar,
    by which the window can be differentiated. Returns: M elements of the default float, or of beta's dtype if that is an array.

    >>> fnp.kaiser(5, 2.0)[:3]
    Array([0.43867627, 0.83476144, 1.        ], dtype=float32)
    """
    n = fitting(static_int(M, "kaiser", "M"), "kaiser", "M")
    v = real_float(common_inexact(operand(beta, "kaiser", "beta"))[0], "kaiser")
    aval = aval_of(v)
    if aval.shape:
        raise ShapeError(message(f"fnp.kaiser: got beta of shape {aval.shape}", "a scalar", "fg.vmap over the betas"))
    dtype = dt.default_float() if aval.weak_type else aval.dtype
    if n <= 1:
        return ones(max(n, 0), dtype)
    off = 2 * np.arange(n) / (n - 1) - 1
    # of a Python number in float64, rounded once
    wide = dt.float64 if aval.weak_type else dtype
    rise = as_value(np.sqrt(np.maximum(1 - off * off, 0)).astype(wide), "kaiser")
    b = broadcast_value(as_value(cast(v, wide), "kaiser"), (n,))
    x = ew.mul(b, rise)
    growth = ew.exp(ew.sub(ew.abs(x), ew.abs(b)))
    return cast(ew.mul(growth, ew.div(ew.bessel_i0e(x), ew.bessel_i0e(b))), dtype)
