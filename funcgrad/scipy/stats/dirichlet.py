"""The Dirichlet distribution: density proportional to the product of x_i^(alpha_i - 1) where the x_i have the sum 1."""

from typing import Any

from funcgrad import numpy as fnp
from funcgrad.core.errors import ShapeError, message
from funcgrad.ops import elementwise as ew
from funcgrad.scipy import special
from funcgrad.scipy.stats._parts import INF, NAN, density, operands

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density of the Dirichlet distribution at x.

    Args: x: points of n numbers along the first axis, or of n - 1, which leave the rest to 1 to the last. alpha: the n
    concentrations. Integers become the default float.
    Returns: shape x.shape[1:]; -inf outside the simplex (sums are taken to the root of the precision), NaN where some alpha is
    not positive.

    >>> from funcgrad.scipy.stats import dirichlet
    >>> dirichlet.logpdf(fnp.array([0.2, 0.3, 0.5]), fnp.array([1.0, 2.0, 3.0]))
    Array(1.5040774, dtype=float32)
    """
    x, alpha = operands("dirichlet.logpdf", x, alpha)
    n = alpha.shape[-1] if alpha.ndim == 1 else 0
    if alpha.ndim != 1 or not x.ndim or x.shape[0] not in (n, n - 1):
        came = f"scipy.stats.dirichlet: got x of shape {x.shape} and alpha of shape {alpha.shape}"
        raise ShapeError(message(came, "alpha of shape (n,), and n or n - 1 numbers along the first axis of x", "x.T"))
    if x.shape[0] == n - 1:
        x = fnp.concatenate([x, 1 - fnp.sum(x, 0, keepdims=True)], 0)
    each = alpha.reshape(n, *[1] * (x.ndim - 1))
    constant = fnp.sum(ew.lgamma(alpha)) - ew.lgamma(fnp.sum(alpha))
    inside = fnp.sum(special.xlogy(each - 1, x), 0) - constant
    slack = float(fnp.finfo(x.dtype).eps) ** 0.5
    outside = fnp.any(x < 0, 0) | (fnp.abs(fnp.sum(x, 0) - 1) > slack)
    return fnp.where(fnp.all(alpha > 0), fnp.where(outside, -INF, inside), NAN)


def pdf(x: Any, alpha: Any) -> Any:
    """The density of the Dirichlet distribution at x; arguments as for `logpdf`.

    >>> from funcgrad.scipy.stats import dirichlet
    >>> dirichlet.pdf(fnp.array([0.2, 0.3, 0.5]), fnp.array([1.0, 2.0, 3.0]))
    Array(4.5, dtype=float32)
    """
    return density(logpdf(x, alpha))
