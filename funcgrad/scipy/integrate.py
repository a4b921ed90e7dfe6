"""Integrals of samples, as in `scipy.integrate`."""

from typing import Any

from funcgrad import numpy as fnp

__all__ = ["trapezoid"]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples y along an axis by the trapezoidal rule (Abramowitz & Stegun 25.4.2).

    y: an array. x: the places of the samples, a vector or an array of the shape of y; dx: their distance where x is None.
    Returns: a float array without the axis; integers become the default float. Differentiable in y, x and dx.

    >>> from funcgrad.scipy import integrate
    >>> float(integrate.trapezoid(fnp.array([0.0, 1.0, 4.0]), x=fnp.array([0.0, 1.0, 3.0])))
    5.5
    """
    return fnp.trapezoid(y, x, dx, axis)
