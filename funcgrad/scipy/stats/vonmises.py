"""The von Mises distribution on a circle: density exp(kappa cos(x)) / (2 pi i0(kappa))."""

import math
from typing import Any

from funcgrad.ops import elementwise as ew
from funcgrad.scipy.stats._parts import checked, density, log, operands

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, kappa: Any) -> Any:
    """The logarithm of the density of the von Mises distribution at x.

    Args: x: real numbers; kappa: the concentration (0: uniform). All broadcast; integers become the default float.
    Returns: NaN where kappa is negative.

    >>> from funcgrad.scipy.stats import vonmises
    >>> vonmises.logpdf(fnp.array([-1.0, 0.0, 2.0]), 1.5)
    Array([-1.526211  , -0.83666444, -2.9608848 ], dtype=float32)
    """
    x, kappa = operands("vonmises.logpdf", x, kappa)
    # cos(x) - 1 = -2 sin(x / 2)^2 keeps the digits of large kappa.
    return checked(-2 * kappa * ew.square(ew.sin(x * 0.5)) - math.log(2 * math.pi) - log(ew.bessel_i0e(kappa)), kappa >= 0)


def pdf(x: Any, kappa: Any) -> Any:
    """The density of the von Mises distribution at x.

    Args: x: real numbers; kappa: the concentration (0: uniform). All broadcast; integers become the default float.
    Returns: NaN where kappa is negative.

    >>> from funcgrad.scipy.stats import vonmises
    >>> vonmises.pdf(fnp.array([-1.0, 0.0, 2.0]), 1.5)
    Array([0.21735768, 0.4331529 , 0.05177309], dtype=float32)
    """
    return density(logpdf(x, kappa))
