"""The Pareto distribution: density b / x^(b + 1) for x >= 1."""

from typing import Any

from funcgrad.nn.activations import log1mexp
from funcgrad.ops import elementwise as ew
from funcgrad.scipy.stats._parts import INF, checked, density, less_log, log, operands, placed, standard, where

__all__ = ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf"]


def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the Pareto distribution at x.

    Args: x: real numbers; b: the exponent; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers
    become the default float.
    Returns: NaN where b or scale is not positive.

    >>> from funcgrad.scipy.stats import pareto
    >>> pareto.logpdf(fnp.array([0.5, 1.0, 3.0]), 2.5)
    Array([       -inf,  0.91629076, -2.9288523 ], dtype=float32)
    """
    x, b, loc, scale = operands("pareto.logpdf", x, b, at=(loc, scale))
    z = standard(x, loc, scale)
    inside = less_log(log(b) - (b + 1) * ew.log(z), scale)
    return checked(where(z < 1, -INF, inside), b > 0, scale > 0)


def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the Pareto distribution at x.

    Args: x: real numbers; b: the exponent; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers
    become the default float.
    Returns: NaN where b or scale is not positive.

    >>> from funcgrad.scipy.stats import pareto
    >>> pareto.pdf(fnp.array([0.5, 1.0, 3.0]), 2.5)
    Array([0.        , 2.5000002 , 0.05345836], dtype=float32)
    """
    return density(logpdf(x, b, loc, scale))


def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x under the Pareto distribution.

    Args: x: real numbers; b: the exponent; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers
    become the default float.
    Returns: NaN where b or scale is not positive.

    >>> from funcgrad.scipy.stats import pareto
    >>> pareto.cdf(fnp.array([0.5, 1.0, 3.0]), 2.5)
    Array([0.        , 0.        , 0.93584996], dtype=float32)
    """
    x, b, loc, scale = operands("pareto.cdf", x, b, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z < 1, 0.0, -ew.expm1(-b * ew.log(z))), b > 0, scale > 0)


def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of at most x under the Pareto distribution, finite also where that underflows.

    Args: x: real numbers; b: the exponent; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers
    become the default float.
    Returns: NaN where b or scale is not positive.

    >>> from funcgrad.scipy.stats import pareto
    >>> pareto.logcdf(fnp.array([0.5, 1.0, 3.0]), 2.5)
    Array([      -inf,       -inf, -0.0663001], dtype=float32)
    """
    x, b, loc, scale = operands("pareto.logcdf", x, b, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z <= 1, -INF, log1mexp(b * ew.log(z))), b > 0, scale > 0)


def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x under the Pareto distribution: 1 - cdf, exact also where it is small.

    Args: x: real numbers; b: the exponent; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers
    become the default float.
    Returns: NaN where b or scale is not positive.

    >>> from funcgrad.scipy.stats import pareto
    >>> pareto.sf(fnp.array([0.5, 1.0, 3.0]), 2.5)
    Array([1.        , 1.        , 0.06415003], dtype=float32)
    """
    return ew.exp(logsf(x, b, loc, scale))


def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x under the Pareto distribution, finite also where that underflows.

    Args: x: real numbers; b: the exponent; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers
    become the default float.
    Returns: NaN where b or scale is not positive.

    >>> from funcgrad.scipy.stats import pareto
    >>> pareto.logsf(fnp.array([0.5, 1.0, 3.0]), 2.5)
    Array([ 0.       , -0.       , -2.7465308], dtype=float32)
    """
    x, b, loc, scale = operands("pareto.logsf", x, b, at=(loc, scale))
    z = standard(x, loc, scale)
    return checked(where(z < 1, 0.0, -b * ew.log(z)), b > 0, scale > 0)


def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The place below which the Pareto distribution has the probability q: the inverse of `cdf`.

    Args: q: probabilities; b: the exponent; loc, scale: where the distribution lies, and how wide it is. All broadcast;
    integers become the default float.
    Returns: NaN where b or scale is not positive, or q is not in [0, 1].

    >>> from funcgrad.scipy.stats import pareto
    >>> pareto.ppf(fnp.array([0.25, 0.5]), 2.5)
    Array([1.1219552, 1.3195078], dtype=float32)
    """
    q, b, loc, scale = operands("pareto.ppf", q, b, at=(loc, scale))
    z = ew.exp(-ew.log1p(-q) / b)
    return checked(placed(z, loc, scale), q >= 0, q <= 1, b > 0, scale > 0)
