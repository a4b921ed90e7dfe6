"""The left-skewed Gumbel distribution, of smallest values: sf exp(-exp(x))."""

from typing import Any

from funcgrad.ops import elementwise as ew
from funcgrad.scipy.stats._gumbel import above, below, log_above, log_below, log_density
from funcgrad.scipy.stats._parts import checked, density, less_log, operands, placed, standard

__all__ = ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the left-skewed Gumbel distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import gumbel_l
    >>> gumbel_l.logpdf(fnp.array([-60.0, 0.0, 3.0]))
    Array([-60.      ,  -1.      , -17.085537], dtype=float32)
    """
    x, loc, scale = operands("gumbel_l.logpdf", x, at=(loc, scale))
    return checked(less_log(log_density(-standard(x, loc, scale)), scale), scale > 0)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the left-skewed Gumbel distribution at x.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import gumbel_l
    >>> gumbel_l.pdf(fnp.array([-60.0, 0.0, 3.0]))
    Array([8.7565109e-27, 3.6787942e-01, 3.8005425e-08], dtype=float32)
    """
    return density(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x under the left-skewed Gumbel distribution.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import gumbel_l
    >>> gumbel_l.cdf(fnp.array([-60.0, 0.0, 3.0]))
    Array([8.7565109e-27, 6.3212055e-01, 1.0000000e+00], dtype=float32)
    """
    x, loc, scale = operands("gumbel_l.cdf", x, at=(loc, scale))
    return checked(above(-standard(x, loc, scale)), scale > 0)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of at most x under the left-skewed Gumbel distribution, finite also where that
    underflows.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import gumbel_l
    >>> gumbel_l.logcdf(fnp.array([-60.0, 0.0, 3.0]))
    Array([-6.0000000e+01, -4.5867509e-01, -1.8921786e-09], dtype=float32)
    """
    x, loc, scale = operands("gumbel_l.logcdf", x, at=(loc, scale))
    return checked(log_above(-standard(x, loc, scale)), scale > 0)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x under the left-skewed Gumbel distribution: 1 - cdf, exact also where it is small.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import gumbel_l
    >>> gumbel_l.sf(fnp.array([-60.0, 0.0, 3.0]))
    Array([1.0000000e+00, 3.6787942e-01, 1.8921786e-09], dtype=float32)
    """
    x, loc, scale = operands("gumbel_l.sf", x, at=(loc, scale))
    return checked(below(-standard(x, loc, scale)), scale > 0)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x under the left-skewed Gumbel distribution, finite also where that
    underflows.

    Args: x: real numbers; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive.

    >>> from funcgrad.scipy.stats import gumbel_l
    >>> gumbel_l.logsf(fnp.array([-60.0, 0.0, 3.0]))
    Array([-8.7565109e-27, -1.0000000e+00, -2.0085537e+01], dtype=float32)
    """
    x, loc, scale = operands("gumbel_l.logsf", x, at=(loc, scale))
    return checked(log_below(-standard(x, loc, scale)), scale > 0)


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The place below which the left-skewed Gumbel distribution has the probability p: the inverse of `cdf`.

    Args: p: probabilities; loc, scale: where the distribution lies, and how wide it is. All broadcast; integers become the
    default float.
    Returns: NaN where scale is not positive, or p is not in [0, 1].

    >>> from funcgrad.scipy.stats import gumbel_l
    >>> gumbel_l.ppf(fnp.array([0.25, 0.5]))
    Array([-1.2458994 , -0.36651292], dtype=float32)
    """
    p, loc, scale = operands("gumbel_l.ppf", p, at=(loc, scale))
    z = ew.log(-ew.log1p(-p))
    return checked(placed(z, loc, scale), scale > 0)
