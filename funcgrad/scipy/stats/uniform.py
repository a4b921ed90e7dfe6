"""The uniform distribution on [loc, loc + scale]."""

from typing import Any

from funcgrad.scipy.stats._parts import INF, checked, density, less_log, operands, placed, standard, where

__all__ = ["logpdf", "pdf", "cdf", "ppf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the uniform distribution on [loc, loc + scale] at x.

    Args: x: real numbers; loc, scale: the lower end and the length. All broadcast; integers become the default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import uniform
    >>> uniform.logpdf(fnp.array([-1.0, 0.5, 2.0]), 0, 2)
    Array([      -inf, -0.6931472, -0.6931472], dtype=float32)
    """
    x, loc, scale = operands("uniform.logpdf", x, at=(loc, scale))
    z = standard(x, loc, scale)
    inside = less_log(z * 0, scale)
    return checked(where((z < 0) | (z > 1), -INF, inside), scale > 0)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the uniform distribution on [loc, loc + scale] at x.

    Args: x: real numbers; loc, scale: the lower end and the length. All broadcast; integers become the default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import uniform
    >>> uniform.pdf(fnp.array([-1.0, 0.5, 2.0]), 0, 2)
    Array([0. , 0.5, 0.5], dtype=float32)
    """
    return density(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x under the uniform distribution on [loc, loc + scale].

    Args: x: real numbers; loc, scale: the lower end and the length. All broadcast; integers become the default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import uniform
    >>> uniform.cdf(fnp.array([-1.0, 0.5, 2.0]), 0, 2)
    Array([0.  , 0.25, 1.  ], dtype=float32)
    """
    x, loc, scale = operands("uniform.cdf", x, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z > 1, 1.0, where(z < 0, 0.0, z)), scale > 0)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The place below which the uniform distribution on [loc, loc + scale] has the probability q: the inverse of `cdf`.

    Args: q: probabilities; loc, scale: the lower end and the length. All broadcast; integers become the default float.
    Returns: NaN where scale is not positive, or q is not in [0, 1].

    >>> from funcgrad.scipy.stats import uniform
    >>> uniform.ppf(fnp.array([0.0, 0.25]), 0, 2)
    Array([0. , 0.5], dtype=float32)
    """
    q, loc, scale = operands("uniform.ppf", q, at=(loc, scale))
    return checked(placed(q, loc, scale), q >= 0, q <= 1, scale > 0)
