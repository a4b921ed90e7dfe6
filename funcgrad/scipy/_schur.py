"""Functions of matrices through their Schur form: funm, rsf2csf."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.bridge.flat import check_callable
from funcgrad.core.arguments import flag
from funcgrad.core.errors import ShapeError, message
from funcgrad.numpy._factor import matrices
from funcgrad.numpy._promote import as_value, cast, common_inexact
from funcgrad.ops import _matrix as mx
from funcgrad.ops import linalg as ops
from funcgrad.transforms.custom import CustomJvp, custom_call
from funcgrad.transforms.jvp import jvp

__all__ = ["funm", "rsf2csf"]


def _square(a: Any, name: str) -> Any:
    x = matrices(a, f"scipy.linalg.{name}", square=True)
    if x.ndim != 2:
        came = f"scipy.linalg.{name}: got {x.aval.str_short()}"
        raise ShapeError(message(came, "one square matrix", "fg.vmap over the others"))
    return x


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """From a real Schur form (with 2x2 blocks) to a complex one, which is triangular: both are Z T Z^H of one matrix.

    T, Z: from `schur`. check_finite has no effect: what is not finite gives NaN. Returns: (T, Z), complex. Each block is
    triangularised by a rotation (Golub & Van Loan, "Matrix Computations", 4th ed., 2013, section 7.6).

    >>> from funcgrad.scipy import linalg
    >>> t, z = linalg.rsf2csf(*linalg.schur(np.array([[0.0, 2.0], [-2.0, 0.0]])))
    >>> fnp.diagonal(t).imag.round(6).tolist(), float(fnp.abs(t[1, 0]))
    ([2.0, -2.0], 0.0)
    """
    t, z = common_inexact(as_value(T, "scipy.linalg.rsf2csf", "T"), as_value(Z, "scipy.linalg.rsf2csf", "Z"))
    t, z = _square(t, "rsf2csf"), _square(z, "rsf2csf")
    if z.shape != t.shape:
        came = f"scipy.linalg.rsf2csf: got T {t.shape} and Z {z.shape}"
        raise ShapeError(message(came, "matrices of one shape", "linalg.rsf2csf(*linalg.schur(a))"))
    t, z = ops.complex_schur(t, z)
    return t, z


# --- functions ------------------------------------------------------------------------------------------------


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """The function of a matrix that a function of numbers gives: f(A) = Z f(T) Z^H, for the Schur form A = Z T Z^H.

    A: a square matrix. func: of an array of complex numbers, element by element. disp: with False the result is (f(A), an
    estimate of its relative error); nothing is printed. Returns: a complex matrix. Parlett's recurrence (Golub & Van Loan,
    "Matrix Computations", 4th ed., 2013, algorithm 9.1.1), which loses accuracy where eigenvalues are close to one another.
    Differentiable in A where it is diagonalisable (Daleckii & Krein, 1965), for functions that are complex-differentiable.

    >>> from funcgrad.scipy import linalg
    >>> linalg.funm(np.array([[4.0, 1.0], [0.0, 9.0]]), fnp.sqrt).real.round(6).tolist()
    [[2.0, 0.2], [0.0, 3.0]]
    """
    check_callable("scipy.linalg.funm", func)
    x = _square(A, "funm")
    out, error = _funm(cast(x, mx.complex_dtype(x.dtype)), func)
    return out if flag(disp, "scipy.linalg.funm", "disp") else (out, error)


def _funm(a: Any, func: Callable[[Any], Any]) -> list[Any]:
    """f(A) and its error, with the derivative of f(A)."""
    rule = CustomJvp(lambda a: _parlett(a, func), lambda primals, tangents: _daleckii_krein(func, primals[0], tangents[0]))
    return custom_call(a, rule=rule, jaxpr=None, consts=0)


def _parlett(a: Any, func: Callable[[Any], Any]) -> list[Any]:
    t, z = ops.schur(a)
    values = fnp.diagonal(t)
    out = z @ ops.parlett(t, fnp.diag(_values(func, values))) @ fnp.conj(z.T)
    return [out, _error(t, values, out)]


def _error(t: Any, values: Any, out: Any) -> Any:
    """SciPy's estimate: rounding, over the least distance of eigenvalues, times the size of what is off the diagonal."""
    n, eps = t.shape[0], np.finfo(t.dtype).eps
    if n == 0:
        return fnp.full((), eps, fnp.finfo(t.dtype).dtype)
    apart = fnp.abs(values[:, None] - values[None, :])
    least = fnp.minimum(fnp.min(fnp.where(np.tri(n, dtype=bool), fnp.full_like(apart, np.inf), apart)), fnp.abs(values[0]))
    size = fnp.max(fnp.sum(fnp.abs(fnp.triu(t, 1)), axis=0))
    error = fnp.clip(eps / fnp.where(least == 0, fnp.full_like(least, eps), least) * size, eps, 1)
    return fnp.where(fnp.all(fnp.isfinite(out)), error, fnp.full_like(error, np.inf))


def _values(func: Callable[[Any], Any], x: Any) -> Any:
    out = as_value(func(x), "scipy.linalg.funm", "what func returned")
    if out.shape != x.shape:
        raise ShapeError(
            message(
                f"scipy.linalg.funm: func returned {out.aval.str_short()} for {x.aval.str_short()}",
                "a number for each",
                "fnp.vectorize(func)",
            )
        )
    return cast(out, x.dtype)


def _daleckii_krein(func: Callable[[Any], Any], a: Any, tangent: Any) -> Any:
    """The value, and the derivative in the basis of the eigenvectors: entry (i, j) of the tangent times the divided difference of
    f at the eigenvalues i and j."""
    w, v = ops.eig(a, compute_v=True)
    n = w.shape[0]
    first, second = fnp.broadcast_to(w[:, None], (n, n)), fnp.broadcast_to(w[None, :], (n, n))
    apart = first - second
    # Closer than this the derivative in the middle is the better one: both are off by about eps ** (2 / 3).
    scale = fnp.maximum(fnp.abs(first), fnp.abs(second))
    near = fnp.abs(apart) <= np.finfo(a.dtype).eps ** (1 / 3) * fnp.where(scale > 0, scale, fnp.ones_like(scale))
    middle = (first + second) / 2
    _, (slope,) = jvp(lambda x: [_values(func, x)], [middle], [fnp.ones_like(middle)])
    slope = fnp.zeros_like(middle) if slope is None else slope
    f = _values(func, w)
    ratio = fnp.where(near, slope, (f[:, None] - f[None, :]) / fnp.where(near, fnp.ones_like(apart), apart))
    inner = ops.linear_solve(v, tangent @ v)
    t_out = fnp.swapaxes(ops.linear_solve(v.T, fnp.swapaxes(v @ (ratio * inner), 0, 1)), 0, 1)
    return _funm(a, func), [t_out, None]
