"""The chi-square distribution: the gamma distribution of shape df / 2 and scale 2."""

from typing import Any

from funcgrad.scipy.stats import gamma
from funcgrad.scipy.stats._parts import operands

__all__ = ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"]


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density of the chi-square distribution at x.

    Args: x: real numbers; df: degrees of freedom; loc, scale: where the distribution lies, and how wide it is. All broadcast;
    integers become the default float.
    Returns: NaN where df or scale is not positive.

    >>> from funcgrad.scipy.stats import chi2
    >>> chi2.logpdf(fnp.array([-1.0, 0.5, 900.0]), 2.5)
    Array([        -inf,   -1.1914489, -449.06757  ], dtype=float32)
    """
    x, df, loc, scale = operands("chi2.logpdf", x, df, at=(loc, scale))
    return gamma.logpdf(x, df * 0.5, loc, scale * 2)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density of the chi-square distribution at x.

    Args: x: real numbers; df: degrees of freedom; loc, scale: where the distribution lies, and how wide it is. All broadcast;
    integers become the default float.
    Returns: NaN where df or scale is not positive.

    >>> from funcgrad.scipy.stats import chi2
    >>> chi2.pdf(fnp.array([-1.0, 0.5, 900.0]), 2.5)
    Array([0.       , 0.3037808, 0.       ], dtype=float32)
    """
    x, df, loc, scale = operands("chi2.pdf", x, df, at=(loc, scale))
    return gamma.pdf(x, df * 0.5, loc, scale * 2)


def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x under the chi-square distribution.

    Args: x: real numbers; df: degrees of freedom; loc, scale: where the distribution lies, and how wide it is. All broadcast;
    integers become the default float.
    Returns: NaN where df or scale is not positive.

    >>> from funcgrad.scipy.stats import chi2
    >>> chi2.cdf(fnp.array([-1.0, 0.5, 900.0]), 2.5)
    Array([0.        , 0.13611637, 1.        ], dtype=float32)
    """
    x, df, loc, scale = operands("chi2.cdf", x, df, at=(loc, scale))
    return gamma.cdf(x, df * 0.5, loc, scale * 2)


def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of at most x under the chi-square distribution, finite also where that underflows.

    Args: x: real numbers; df: degrees of freedom; loc, scale: where the distribution lies, and how wide it is. All broadcast;
    integers become the default float.
    Returns: NaN where df or scale is not positive.

    >>> from funcgrad.scipy.stats import chi2
    >>> chi2.logcdf(fnp.array([-1.0, 0.5, 900.0]), 2.5)
    Array([     -inf, -1.994245, -0.      ], dtype=float32)
    """
    x, df, loc, scale = operands("chi2.logcdf", x, df, at=(loc, scale))
    return gamma.logcdf(x, df * 0.5, loc, scale * 2)


def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x under the chi-square distribution: 1 - cdf, exact also where it is small.

    Args: x: real numbers; df: degrees of freedom; loc, scale: where the distribution lies, and how wide it is. All broadcast;
    integers become the default float.
    Returns: NaN where df or scale is not positive.

    >>> from funcgrad.scipy.stats import chi2
    >>> chi2.sf(fnp.array([-1.0, 0.5, 900.0]), 2.5)
    Array([1.       , 0.8638836, 0.       ], dtype=float32)
    """
    x, df, loc, scale = operands("chi2.sf", x, df, at=(loc, scale))
    return gamma.sf(x, df * 0.5, loc, scale * 2)


def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x under the chi-square distribution, finite also where that underflows.

    Args: x: real numbers; df: degrees of freedom; loc, scale: where the distribution lies, and how wide it is. All broadcast;
    integers become the default float.
    Returns: NaN where df or scale is not positive.

    >>> from funcgrad.scipy.stats import chi2
    >>> chi2.logsf(fnp.array([-1.0, 0.5, 900.0]), 2.5)
    Array([ 0.0000000e+00, -1.4631721e-01, -4.4837387e+02], dtype=float32)
    """
    x, df, loc, scale = operands("chi2.logsf", x, df, at=(loc, scale))
    return gamma.logsf(x, df * 0.5, loc, scale * 2)
