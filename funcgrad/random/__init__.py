"""Random numbers from explicit keys: `random.normal(random.key(0), (3,))`. The numbers are JAX's for the same key."""

from funcgrad.random.counts import binomial, multinomial, poisson
from funcgrad.random.discrete import bernoulli, categorical, choice, geometric, permutation, rademacher
from funcgrad.random.distributions import (
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    pareto,
    rayleigh,
    triangular,
    wald,
    weibull_min,
)
from funcgrad.random.draws import bits, normal, randint, truncated_normal, uniform
from funcgrad.random.keys import PRNGKey, clone, fold_in, key, key_data, key_dtype, key_impl, split, wrap_key_data
from funcgrad.random.matrices import multivariate_normal, orthogonal

__all__ = [
    "PRNGKey",
    "bernoulli",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "choice",
    "clone",
    "double_sided_maxwell",
    "exponential",
    "fold_in",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
