"""The right-skewed Gumbel distribution, of largest values: cdf exp(-exp(-x))."""

from typing import Any

from funcgrad.ops import elementwise as ew
from funcgrad.scipy.stats._gumbel import above, below, log_above, log_below, log_density
from funcgrad.scipy.stats._parts import checked, density, less_log, operands, placed, standard

__all__ = ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the right-skewed Gumbel distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import gumbel_r
    >>> gumbel_r.logpdf(fnp.array([-3.0, 0.0, 60.0]))
    Array([-17.085537,  -1.      , -60.      ], dtype=float32)
    """
    x, loc, scale = operands("gumbel_r.logpdf", x, at=(loc, scale))
    return checked(less_log(log_density(standard(x, loc, scale)), scale), scale > 0)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the right-skewed Gumbel distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import gumbel_r
    >>> gumbel_r.pdf(fnp.array([-3.0, 0.0, 60.0]))
    Array([3.8005425e-08, 3.6787942e-01, 8.7565109e-27], dtype=float32)
    """
    return density(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x under the right-skewed Gumbel distribution.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import gumbel_r
    >>> gumbel_r.cdf(fnp.array([-3.0, 0.0, 60.0]))
    Array([1.8921786e-09, 3.6787942e-01, 1.0000000e+00], dtype=float32)
    """
    x, loc, scale = operands("gumbel_r.cdf", x, at=(loc, scale))
    return checked(below(standard(x, loc, scale)), scale > 0)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of at most x under the right-skewed Gumbel distribution, finite also where that
    underflows.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import gumbel_r
    >>> gumbel_r.logcdf(fnp.array([-3.0, 0.0, 60.0]))
    Array([-2.0085537e+01, -1.0000000e+00, -8.7565109e-27], dtype=float32)
    """
    x, loc, scale = operands("gumbel_r.logcdf", x, at=(loc, scale))
    return checked(log_below(standard(x, loc, scale)), scale > 0)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x under the right-skewed Gumbel distribution: 1 - cdf, exact also where it is small.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import gumbel_r
    >>> gumbel_r.sf(fnp.array([-3.0, 0.0, 60.0]))
    Array([1.0000000e+00, 6.3212055e-01, 8.7565109e-27], dtype=float32)
    """
    x, loc, scale = operands("gumbel_r.sf", x, at=(loc, scale))
    return checked(above(standard(x, loc, scale)), scale > 0)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x under the right-skewed Gumbel distribution, finite also where that
    underflows.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import gumbel_r
    >>> gumbel_r.logsf(fnp.array([-3.0, 0.0, 60.0]))
    Array([-1.8921786e-09, -4.5867509e-01, -6.0000000e+01], dtype=float32)
    """
    x, loc, scale = operands("gumbel_r.logsf", x, at=(loc, scale))
    return checked(log_above(standard(x, loc, scale)), scale > 0)


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The place below which the right-skewed Gumbel distribution has the probability p: the inverse of `cdf`.

    Args: p: probabilities; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive, or p is not in [0, 1].

    >>> from funcgrad.scipy.stats import gumbel_r
    >>> gumbel_r.ppf(fnp.array([0.25, 0.5]))
    Array([-0.32663426,  0.36651292], dtype=float32)
    """
    p, loc, scale = operands("gumbel_r.ppf", p, at=(loc, scale))
    z = -ew.log(-ew.log(p))
    return checked(placed(z, loc, scale), scale > 0)
