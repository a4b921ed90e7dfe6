"""Kernel density estimation with normal kernels.

Scott, Multivariate Density Estimation, 1992; Silverman, Density Estimation for Statistics and Data Analysis, 1986.
"""

import math
from collections.abc import Callable
from typing import Any

from funcgrad import numpy as fnp
from funcgrad import random
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.core.pytree import register_pytree_node_class
from funcgrad.nn.normalize import logsumexp
from funcgrad.numpy import linalg
from funcgrad.numpy._axes import shape_of
from funcgrad.ops import elementwise as ew
from funcgrad.scipy import special
from funcgrad.scipy.linalg import solve_triangular
from funcgrad.scipy.stats._parts import operands


@register_pytree_node_class
class gaussian_kde:
    """A density estimated from a sample: a normal density of equal width around each number, all of them together.

    Args: dataset: (n,) numbers, or (d, n): n points in d dimensions; n > 1. bw_method: the width of the kernels over that of the
    sample: "scott" (None), n^(-1 / (d + 4)) of the effective n; "silverman", that of (d + 2) n / 4; a number; or a function of
    the estimate. weights: (n,) of the numbers; equal without them. It is a pytree of arrays, so that it is differentiated,
    vectorised and passed through jit.

    >>> from funcgrad.scipy import stats
    >>> kde = stats.gaussian_kde(fnp.array([0.0, 1.0, 1.5, 4.0]))
    >>> kde(fnp.array([0.5, 3.0]))
    Array([0.20267248, 0.12497924], dtype=float32)
    """

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None):
        name = "gaussian_kde"
        (data,) = operands(name, dataset)
        if data.ndim > 2 or data.size < 2:
            came = f"scipy.stats.{name}: got a dataset of shape {data.shape}"
            raise ShapeError(message(came, "(n,) or (d, n), of more than one point", "dataset.reshape(d, -1)"))
        self.dataset = fnp.atleast_2d(data)
        if weights is None:
            shares = fnp.full(self.n, 1 / self.n, self.dataset.dtype)
        else:
            _, given = operands(name, data, weights)
            if given.shape != (self.n,):
                came = f"scipy.stats.{name}: got weights of shape {given.shape} for {self.n} points"
                raise ShapeError(message(came, f"shape ({self.n},)", "one weight a point"))
            shares = given.astype(self.dataset.dtype) / fnp.sum(given)
        self.weights = shares
        self.neff = 1 / fnp.sum(ew.square(shares))
        self.factor = self._factor(bw_method)
        away = self.dataset - (self.dataset @ shares)[:, None]
        # The unbiased covariance of weighted points.
        spread = (away * shares) @ away.T / (1 - 1 / self.neff)
        self.covariance = spread * self.factor**2
        self.inv_cov = linalg.inv(self.covariance)

    def _factor(self, bw_method: Any) -> Any:
        if bw_method is None or isinstance(bw_method, str) and bw_method == "scott":
            return fnp.power(self.neff, -1.0 / (self.d + 4))
        if isinstance(bw_method, str) and bw_method == "silverman":
            return fnp.power(self.neff * ((self.d + 2) / 4.0), -1.0 / (self.d + 4))
        if isinstance(bw_method, Callable):
            return bw_method(self)
        if isinstance(bw_method, str) or fnp.ndim(bw_method):
            allowed = "'scott', 'silverman', a number, or a function of the estimate"
            raise UsageError(message(f"scipy.stats.gaussian_kde: got bw_method={bw_method!r}", allowed, "bw_method='scott'"))
        return operands("gaussian_kde", self.dataset, bw_method)[1].astype(self.dataset.dtype)

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """The arrays, for pytrees."""
        return (self.dataset, self.weights, self.neff, self.factor, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, _: None, arrays: tuple[Any, ...]) -> "gaussian_kde":
        """The estimate of these arrays."""
        made = object.__new__(cls)
        made.dataset, made.weights, made.neff, made.factor, made.covariance, made.inv_cov = arrays
        return made

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of points."""
        return self.dataset.shape[1]

    def _points(self, name: str, points: Any) -> Any:
        x = fnp.atleast_2d(operands(f"gaussian_kde.{name}", points)[0])
        if x.shape[0] != self.d:
            if x.shape == (1, self.d):  # one point
                return x.T.astype(self.dataset.dtype)
            came = f"scipy.stats.gaussian_kde.{name}: got points of shape {x.shape} in {self.d} dimensions"
            raise ShapeError(message(came, f"({self.d}, m)", "points.T"))
        return x.astype(self.dataset.dtype)

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density at the points x, (d, m) or of one dimension (m,); shape (m,)."""
        points = self._points("logpdf", x)
        return _log_mixture(points, self.dataset, self.covariance, self.weights)

    def evaluate(self, points: Any) -> Any:
        """The density at points, (d, m) or of one dimension (m,); shape (m,)."""
        return ew.exp(self.logpdf(points))

    def pdf(self, x: Any) -> Any:
        """`evaluate` under another name."""
        return self.evaluate(x)

    def __call__(self, points: Any) -> Any:
        """`evaluate` under another name."""
        return self.evaluate(points)

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """The integral of the density times that of a normal distribution, of mean (d,) and covariance (d, d)."""
        mean, cov = operands("gaussian_kde.integrate_gaussian", mean, cov)
        mean, cov = fnp.atleast_1d(mean), fnp.atleast_2d(cov)
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            came = f"scipy.stats.gaussian_kde: got mean of shape {mean.shape}, cov of {cov.shape} in {self.d} dimensions"
            raise ShapeError(message(came, f"({self.d},) and ({self.d}, {self.d})", "check the shapes"))
        return ew.exp(_log_mixture(mean[:, None], self.dataset, self.covariance + cov, self.weights)[0])

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability of [low, high], in one dimension."""
        if self.d != 1:
            came = f"scipy.stats.gaussian_kde.integrate_box_1d: got an estimate in {self.d} dimensions"
            raise UsageError(message(came, "one dimension", "a sum of kde(points) over a grid"))
        low, high = operands("gaussian_kde.integrate_box_1d", low, high)
        width, points = ew.sqrt(self.covariance[0, 0]), self.dataset[0]
        parts = special.ndtr((high[..., None] - points) / width) - special.ndtr((low[..., None] - points) / width)
        return fnp.sum(parts * self.weights, -1)

    def integrate_kde(self, other: "gaussian_kde") -> Any:
        """The integral of the product of two estimated densities."""
        if not isinstance(other, gaussian_kde) or other.d != self.d:
            came = f"scipy.stats.gaussian_kde.integrate_kde: got {type(other).__name__}"
            raise UsageError(message(came, f"a gaussian_kde in {self.d} dimensions", "kde.integrate_kde(gaussian_kde(dataset))"))
        logs = _log_mixture(other.dataset, self.dataset, self.covariance + other.covariance, self.weights)
        return fnp.sum(ew.exp(logs) * other.weights)

    def resample(self, key: Any, shape: Any = ()) -> Any:
        """Random points of the estimated density, (d, *shape), from a PRNG key."""
        extents = shape_of(shape, "random.resample")
        place, noise = random.split(key)
        chosen = random.choice(place, self.n, extents, p=self.weights)
        around = random.multivariate_normal(
            noise, fnp.zeros(self.d, self.dataset.dtype), self.covariance, extents, self.dataset.dtype
        )
        return fnp.take(self.dataset, chosen, 1) + fnp.moveaxis(around, -1, 0)


def _log_mixture(points: Any, centres: Any, covariance: Any, weights: Any) -> Any:
    """log of the weighted sum of normal densities around the centres (d, n), at points (d, m)."""
    root = linalg.cholesky(covariance)
    x, y = solve_triangular(root, points, lower=True), solve_triangular(root, centres, lower=True)
    square = fnp.sum(ew.square(x[:, :, None] - y[:, None, :]), 0)
    constant = fnp.sum(ew.log(fnp.diagonal(root))) + 0.5 * x.shape[0] * math.log(2 * math.pi)
    return logsumexp(-0.5 * square, -1, weights) - constant
