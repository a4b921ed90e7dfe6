"""The Cauchy distribution wrapped around a circle, on [0, 2 pi]."""

import math
from typing import Any

from funcgrad import numpy as fnp
from funcgrad.ops import elementwise as ew
from funcgrad.scipy.stats._parts import INF, checked, density, log, operands, where

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, c: Any) -> Any:
    """The logarithm of the density of the wrapped Cauchy distribution at x.

    Args: x: real numbers; c: the concentration, in (0, 1). All broadcast; integers become the default float.
    Returns: NaN where c is not in (0, 1).

    >>> from funcgrad.scipy.stats import wrapcauchy
    >>> wrapcauchy.logpdf(fnp.array([-1.0, 0.5, 2.0]), 0.6)
    Array([      -inf, -1.1029339, -2.9044054], dtype=float32)
    """
    x, c = operands("wrapcauchy.logpdf", x, c)
    # 1 + c^2 - 2 c cos(x), as a sum of squares.
    square = fnp.square(1 - c) + 4 * c * ew.square(ew.sin(x * 0.5))
    inside = log((1 - c) * (1 + c)) - math.log(2 * math.pi) - ew.log(square)
    return checked(where((x < 0) | (x > 2 * math.pi), -INF, inside), c > 0, c < 1)


def pdf(x: Any, c: Any) -> Any:
    """The density of the wrapped Cauchy distribution at x.

    Args: x: real numbers; c: the concentration, in (0, 1). All broadcast; integers become the default float.
    Returns: NaN where c is not in (0, 1).

    >>> from funcgrad.scipy.stats import wrapcauchy
    >>> wrapcauchy.pdf(fnp.array([-1.0, 0.5, 2.0]), 0.6)
    Array([0.        , 0.33189592, 0.05478135], dtype=float32)
    """
    return density(logpdf(x, c))
