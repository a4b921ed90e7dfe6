"""The multivariate normal distribution."""

import math
from typing import Any

from funcgrad import numpy as fnp
from funcgrad.core.arguments import among
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy import linalg
from funcgrad.ops import elementwise as ew
from funcgrad.scipy.linalg import solve_triangular
from funcgrad.scipy.stats._parts import INF, density, operands

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: Any = None) -> Any:
    """The logarithm of the density of the multivariate normal distribution at x.

    Args: x: points, (..., n). mean: (..., n), or a scalar for all coordinates. cov: covariances, (..., n, n), or a scalar for a
    multiple of the unit matrix. They broadcast; integers become the default float. allow_singular: True takes semidefinite
    covariances too, whose density is one on their range (-inf outside); a Cholesky factorisation is made without it.
    Returns: the shape of the batch; NaN where cov is not positive definite.

    >>> from funcgrad.scipy.stats import multivariate_normal
    >>> multivariate_normal.logpdf(fnp.array([1.0, 2.0]), fnp.zeros(2), fnp.array([[2.0, 0.5], [0.5, 1.0]]))
    Array(-4.117685, dtype=float32)
    """
    if not among(allow_singular, (None, False, True)):
        raise UsageError(
            message(f"scipy.stats.multivariate_normal: got allow_singular={allow_singular!r}", "True or False", "True")
        )
    x, mean, cov = operands("multivariate_normal.logpdf", x, mean, cov)
    if not x.ndim:
        x = x.reshape(1)
    n = x.shape[-1] if not mean.ndim else fnp.broadcast_shapes(x.shape[-1:], mean.shape[-1:])[0]
    cov = cov * fnp.eye(n, dtype=x.dtype) if not cov.ndim else cov
    if cov.shape[-2:] != (n, n):
        came = f"scipy.stats.multivariate_normal: got x of shape {x.shape}, mean of {mean.shape} and cov of {cov.shape}"
        raise ShapeError(message(came, "(..., n), (..., n) and (..., n, n)", "x[:, None] for points of one coordinate"))
    batch = fnp.broadcast_shapes((x - mean).shape[:-1], cov.shape[:-2])
    away = fnp.broadcast_to(x - mean, (*batch, n))
    if allow_singular:
        return _on_range(away, cov)
    root = linalg.cholesky(cov)
    logs = fnp.sum(ew.log(fnp.diagonal(root, axis1=-2, axis2=-1)), -1)
    if root.ndim == 2:  # one matrix for all points
        scaled = solve_triangular(root, away.reshape(-1, n).T, lower=True).T.reshape(away.shape)
    else:
        scaled = solve_triangular(fnp.broadcast_to(root, (*batch, n, n)), away[..., None], lower=True)[..., 0]
    return -0.5 * (fnp.sum(ew.square(scaled), -1) + n * math.log(2 * math.pi)) - logs


def _on_range(away: Any, cov: Any) -> Any:
    """By the eigenvalues that are not zero, to rounding."""
    values, vectors_ = linalg.eigh(cov)
    least = fnp.max(fnp.abs(values), -1, keepdims=True) * (float(fnp.finfo(values.dtype).eps) * 1e3)
    kept = values > least
    parts = fnp.matmul(away[..., None, :], vectors_)[..., 0, :]
    safe = fnp.where(kept, values, 1.0)
    rank = fnp.sum(kept, -1).astype(values.dtype)
    inside = -0.5 * (fnp.sum(fnp.where(kept, ew.square(parts) / safe, 0.0) + ew.log(safe), -1) + rank * math.log(2 * math.pi))
    size = fnp.sum(ew.square(parts), -1)
    lost = fnp.sum(fnp.where(kept, 0.0, ew.square(parts)), -1)
    return fnp.where(lost > fnp.maximum(size, 1.0) * float(fnp.finfo(values.dtype).eps), -INF, inside)


def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """The density of the multivariate normal distribution at x; arguments as for `logpdf`.

    >>> from funcgrad.scipy.stats import multivariate_normal
    >>> multivariate_normal.pdf(fnp.zeros(2), fnp.zeros(2), fnp.eye(2))
    Array(0.15915497, dtype=float32)
    """
    return density(logpdf(x, mean, cov))
