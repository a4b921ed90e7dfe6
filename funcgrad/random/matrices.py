"""Draws that need a factorisation: multivariate_normal and orthogonal. The numbers are JAX's, to the rounding of LAPACK's."""

from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy import linalg
from funcgrad.numpy._axes import shape_of, static_int
from funcgrad.numpy._promote import as_value, broadcast_shapes_of, broadcast_value, cast, common_inexact, operand
from funcgrad.ops import _matrix as mx
from funcgrad.ops import elementwise as ew
from funcgrad.ops.shape import expand_dims, squeeze
from funcgrad.random.draws import float_dtype, no_sharding, normal

__all__ = ["multivariate_normal", "orthogonal"]


def multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = None, method: str = "cholesky", *, out_sharding: Any = None
) -> Any:
    """Normal vectors with this mean (..., n) and covariance (..., n, n); shape is that of the batch (None: of mean and cov).

    method: "cholesky" (cov is positive definite), "eigh" or "svd" (semidefinite too).

    >>> cov = fnp.array([[1.0, 0.9], [0.9, 1.0]])
    >>> x = random.multivariate_normal(random.key(0), fnp.zeros(2), cov, (10000,))
    >>> fnp.cov(x.T).round(1)
    Array([[1. , 0.9],
           [0.9, 1. ]], dtype=float32)
    """
    no_sharding("multivariate_normal", out_sharding)
    if not among(method, ("cholesky", "eigh", "svd")):
        raise UsageError(
            message(f"random.multivariate_normal: got method={method!r}", "'cholesky', 'eigh', 'svd'", "method='eigh'")
        )
    name = "random.multivariate_normal"
    mu, sigma = common_inexact(operand(mean, name, "mean"), operand(cov, name, "cov"))
    mu, sigma = as_value(mu, name, "mean"), as_value(sigma, name, "cov")
    d = float_dtype("multivariate_normal", mu.dtype if dtype is None else dtype)
    if not mu.ndim or sigma.ndim < 2 or sigma.shape[-2:] != (mu.shape[-1],) * 2:
        raise ShapeError(
            message(
                f"{name}: got mean {mu.aval.str_short()} and cov {sigma.aval.str_short()}",
                "vectors of n, and matrices of n x n, in the last axes",
                "check the shapes",
            )
        )
    own = broadcast_shapes_of([mu.shape[:-1], sigma.shape[:-2]], name)
    batch = own if shape is None else shape_of(shape, name)
    if broadcast_shapes_of([batch, own], name) != batch:
        raise ShapeError(
            message(f"{name}: got shape {batch} for a batch of {own}", "one that the batch repeats into", "shape=None")
        )
    work = d if d in mx.MATRICES else dt.float32
    mu, sigma = cast(mu, work), cast(sigma, work)
    if method == "cholesky":
        factor = linalg.cholesky(sigma)
    else:
        vectors, values = linalg.svd(sigma)[:2] if method == "svd" else tuple(linalg.eigh(sigma))[::-1]
        factor = ew.mul(vectors, mx.columns(ew.sqrt(values), vectors.shape))
    n = mu.shape[-1]
    z = expand_dims(cast(normal(key, (*batch, n), d), work), dimensions=(len(batch) + 1,))
    drawn = squeeze(mx.mm(broadcast_value(factor, (*batch, n, n)), z), dimensions=(len(batch) + 1,))
    return cast(ew.add(broadcast_value(mu, drawn.shape), drawn), d)


def orthogonal(key: Any, n: int, shape: Any = (), dtype: Any = None, m: int | None = None, *, out_sharding: Any = None) -> Any:
    """Orthogonal (complex: unitary) n x n matrices, uniform in the group; with m: n x m, with orthonormal columns or rows.

    >>> q = random.orthogonal(random.key(0), 3)
    >>> fnp.abs(q @ q.T).round(3)
    Array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    >>> random.orthogonal(random.key(0), 3, (5,), m=2).shape
    (5, 3, 2)
    """
    no_sharding("orthogonal", out_sharding)
    d = dt.default_float() if dtype is None or dtype is float else dt.canonical(dtype)
    if d not in mx.MATRICES:
        raise UsageError(
            message(
                f"random.orthogonal: got dtype={dt.short_name(d)}", "float32, float64, complex64, complex128", "dtype='float32'"
            )
        )
    rows = static_int(n, "random.orthogonal", "n")
    columns = rows if m is None else static_int(m, "random.orthogonal", "m")
    batch = shape_of(shape, "random.orthogonal")
    z = normal(key, (*batch, max(rows, columns), min(rows, columns)), d)
    q, r = linalg.qr(z)
    out = ew.mul(q, mx.columns(ew.sign(mx.diagonal(r)), q.shape))
    return mx.mt(out) if rows < columns else out
