"""Exponentials and logarithms, and logarithms of sums."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.numpy._promote import widened
from funcgrad.numpy._table import binary_ufunc, no_complex, unary_float
from funcgrad.numpy.compare import isnan
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import like
from funcgrad.trace.value import aval_of

__all__ = [
    "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2",
]  # fmt: skip

exp = unary_float(
    "exp", ew.exp, "e to the power x.", "fnp.array([0, 1, 2])", "Array([1.       , 2.718282 , 7.3890557], dtype=float32)"
)
exp2 = unary_float("exp2", ew.exp2, "2 to the power x.", "fnp.array([0, 3, -1])", "Array([1. , 8. , 0.5], dtype=float32)")
expm1 = unary_float(
    "expm1",
    ew.expm1,
    "exp(x) - 1, exact for small x.",
    "fnp.array([1e-10, 1])",
    "Array([1.0000000e-10, 1.7182819e+00], dtype=float32)",
)
log = unary_float(
    "log",
    ew.log,
    "Natural logarithm; -inf at 0 and NaN below.",
    "fnp.array([1, fnp.e, 0, -1])",
    "Array([  0.,   1., -inf,  nan], dtype=float32)",
)
log1p = unary_float(
    "log1p",
    ew.log1p,
    "log(1 + x), exact for small x.",
    "fnp.array([1e-10, 1])",
    "Array([1.000000e-10, 6.931472e-01], dtype=float32)",
)
log2 = unary_float(
    "log2",
    ew.log2,
    "Logarithm to base 2, exact at powers of 2; -inf at 0 and NaN below.",
    "fnp.array([1.0, 8.0, 0.25])",
    "Array([ 0.,  3., -2.], dtype=float32)",
)
log10 = unary_float(
    "log10",
    ew.log10,
    "Logarithm to base 10, exact at powers of 10; -inf at 0 and NaN below.",
    "fnp.array([1.0, 1000.0, 0.01])",
    "Array([ 0.,  3., -2.], dtype=float32)",
)


def _ordered(x: Any, y: Any) -> tuple[Any, Any]:
    """The larger and the smaller one (complex: by real part), each a plain choice, so that derivatives stay smooth where they
    meet."""
    first = ew.ge(ew.real(x), ew.real(y)) if aval_of(x).dtype in dt.COMPLEXES else ew.ge(x, y)
    return ew.select_n(first, y, x), ew.select_n(first, x, y)


def _log_add(x: Any, y: Any, exp: Callable[..., Any], log1p: Callable[..., Any]) -> Any:
    # hi + log(1 + exp(lo - hi)) is one analytic function whichever is hi: right to any order where x = y.
    hi, lo = _ordered(x, y)
    hi_real = ew.real(hi) if aval_of(hi).dtype in dt.COMPLEXES else hi
    gap = ew.select_n(_equal_infinities(hi_real, lo), ew.sub(lo, hi), like(hi, 0))
    # A NaN loses every comparison; the sum brings it back.
    missing = ew.or_(isnan(x), isnan(y))
    return ew.select_n(missing, ew.add(hi, log1p(exp(gap))), ew.add(x, y))


def _equal_infinities(hi: Any, lo: Any) -> Any:
    lo = ew.real(lo) if aval_of(lo).dtype in dt.COMPLEXES else lo
    return ew.and_(ew.eq(hi, lo), ew.eq(ew.abs(hi), like(hi, np.inf)))


def _log1p_base2(x: Any) -> Any:
    return ew.mul(ew.log1p(x), like(x, 1 / math.log(2)))


def _log1p(x: Any) -> Any:
    return ew.log(ew.add(x, like(x, 1))) if aval_of(x).dtype in dt.COMPLEXES else ew.log1p(x)


logaddexp = binary_ufunc(
    "logaddexp",
    widened(lambda x, y: _log_add(x, y, ew.exp, _log1p)),
    "log(exp(x1) + exp(x2)) without overflow.",
    "fnp.array([0.0, 1000.0]), fnp.array([0.0, 1000.0])",
    "Array([6.9314718e-01, 1.0006932e+03], dtype=float32)",
    inexact=True,
)


def _logaddexp2(x: Any, y: Any) -> Any:
    no_complex("logaddexp2", x)
    return _log_add(x, y, ew.exp2, _log1p_base2)


logaddexp2 = binary_ufunc(
    "logaddexp2",
    widened(_logaddexp2),
    "log2(2**x1 + 2**x2) without overflow.",
    "fnp.array([0.0, 1000.0]), fnp.array([0.0, 1000.0])",
    "Array([1.000e+00, 1.001e+03], dtype=float32)",
    inexact=True,
)
