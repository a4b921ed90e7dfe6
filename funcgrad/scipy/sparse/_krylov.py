"""Krylov methods on flat vectors: conjugate gradients, BiCGSTAB, GMRES, each as a loop inside the program.

In: `apply`, the product with A; `precondition`, that with M, about the inverse of A; the right-hand side; the norm of a residual
that is small enough; a limit of iterations. Out: x; and 0 where its residual is small enough, else how many iterations there
were, or a negative number where the method broke down. They start at 0.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.lax.control import fori_loop, while_loop

__all__ = ["bicgstab", "conjugate_gradients", "gmres", "norm"]

Product = Callable[[Any], Any]
BREAKDOWN = -10


def norm(x: Any) -> Any:
    """The Euclidean norm, real."""
    return fnp.sqrt(fnp.sum(fnp.real(x * fnp.conj(x)) if x.dtype.kind == "c" else x * x))


def _dot(x: Any, y: Any) -> Any:
    return fnp.sum(fnp.conj(x) * y) if x.dtype.kind == "c" else fnp.sum(x * y)


def _info(residual: Any, small: Any, count: Any, broken: Any = None) -> Any:
    info = fnp.where(residual <= small, 0, count)
    return info if broken is None else fnp.where(broken & (info != 0), BREAKDOWN, info)


class _Cg(NamedTuple):
    x: Any
    residual: Any
    direction: Any
    gamma: Any
    size: Any
    count: Any


def conjugate_gradients(apply: Product, precondition: Product, b: Any, small: Any, limit: Any) -> tuple[Any, Any]:
    """Hestenes & Stiefel, 1952, preconditioned (Saad, "Iterative Methods for Sparse Linear Systems", 2nd ed., 2003, alg. 9.1)."""

    def turn(s: _Cg) -> _Cg:
        product = apply(s.direction)
        step = s.gamma / _dot(s.direction, product)
        x, r = s.x + step * s.direction, s.residual - step * product
        z = precondition(r)
        gamma = _dot(r, z)
        return _Cg(x, r, z + gamma / s.gamma * s.direction, gamma, norm(r), s.count + 1)

    z = precondition(b)
    start = _Cg(fnp.zeros_like(b), b, z, _dot(b, z), norm(b), np.int64(0))
    end = while_loop(lambda s: (s.size > small) & (s.count < limit), turn, start)
    return end.x, _info(end.size, small, end.count)


class _Bicg(NamedTuple):
    x: Any
    residual: Any
    direction: Any
    product: Any
    rho: Any
    alpha: Any
    omega: Any
    size: Any
    count: Any
    broken: Any


def bicgstab(apply: Product, precondition: Product, b: Any, small: Any, limit: Any) -> tuple[Any, Any]:
    """Van der Vorst, SIAM J. Sci. Stat. Comput. 13(2), 1992, preconditioned from the right."""
    shadow = b

    def turn(s: _Bicg) -> _Bicg:
        rho = _dot(shadow, s.residual)
        beta = rho / s.rho * s.alpha / s.omega
        p = s.residual + beta * (s.direction - s.omega * s.product)
        p_hat = precondition(p)
        v = apply(p_hat)
        alpha = rho / _dot(shadow, v)
        half = s.residual - alpha * v
        enough = norm(half) <= small
        h_hat = precondition(half)
        t = apply(h_hat)
        tt = _dot(t, t)
        omega = fnp.where(enough | (tt == 0), fnp.zeros_like(tt), _dot(t, half) / fnp.where(tt == 0, fnp.ones_like(tt), tt))
        x = s.x + alpha * p_hat + omega * h_hat
        r = half - omega * t
        size = norm(r)
        broken = (size > small) & ((omega == 0) | (rho == 0))
        return _Bicg(x, r, p, v, rho, alpha, omega, size, s.count + 1, broken | ~fnp.isfinite(size))

    one, none = fnp.ones((), b.dtype), fnp.zeros_like(b)
    start = _Bicg(none, b, none, none, one, one, one, norm(b), np.int64(0), np.False_)
    end = while_loop(lambda s: (s.size > small) & (s.count < limit) & ~s.broken, turn, start)
    return end.x, _info(end.size, small, end.count, end.broken)


# --- GMRES ----------------------------------------------------------------------------------------------------


class _Arnoldi(NamedTuple):
    """Rows of `basis` are orthonormal; `triangle` is the QR factor of the Hessenberg matrix by `rotations` (cosine, sine), and
    `rhs` what they made of the right-hand side: the size of its next entry is the residual's norm."""

    basis: Any
    triangle: Any
    rotations: Any
    rhs: Any
    count: Any


def _extend(apply: Product, precondition: Product, s: _Arnoldi) -> _Arnoldi:
    """One more vector of the basis (orthogonalised twice: Giraud, Langou & Rozloznik, 2005) and one more rotation."""
    k, tiny = s.count, np.finfo(s.rhs.dtype).tiny
    w = apply(precondition(s.basis[k]))
    before = norm(w)
    first = fnp.conj(s.basis) @ w
    w = w - first @ s.basis
    second = fnp.conj(s.basis) @ w
    w = w - second @ s.basis
    size = norm(w)
    # What is left of rounding alone is no direction: the space holds the solution.
    real = size > 4 * np.finfo(s.rhs.dtype).eps * before
    size = fnp.where(real, size, fnp.zeros_like(size))
    column = (first + second).at[k + 1].set(size.astype(w.dtype))

    def rotate(i: Any, h: Any) -> Any:
        c, d = s.rotations[i, 0], s.rotations[i, 1]
        a, b = h[i], h[i + 1]
        return h.at[i].set(fnp.conj(c) * a + fnp.conj(d) * b).at[i + 1].set(c * b - d * a)

    column = fori_loop(np.int64(0), k, rotate, column)
    a, b = column[k], column[k + 1]
    length = norm(fnp.stack([a, b]))
    safe = fnp.where(length > tiny, length, fnp.ones_like(length))
    c = fnp.where(length > tiny, a / safe, fnp.ones_like(a))
    d = fnp.where(length > tiny, b / safe, fnp.zeros_like(b))
    column = column.at[k].set(length.astype(w.dtype)).at[k + 1].set(0)
    g = s.rhs[k]
    rhs = s.rhs.at[k].set(fnp.conj(c) * g).at[k + 1].set(-d * g)
    unit = fnp.where(real, w / fnp.where(real, size, fnp.ones_like(size)), fnp.zeros_like(w))
    return _Arnoldi(
        s.basis.at[k + 1].set(unit), s.triangle.at[:, k].set(column), s.rotations.at[k].set(fnp.stack([c, d])), rhs, k + 1
    )


def _solution(s: _Arnoldi, restart: int) -> Any:
    """The coefficients in the basis: back substitution in the triangle, 0 for vectors that were none."""

    def row(i: Any, y: Any) -> Any:
        k = restart - 1 - i
        diagonal = s.triangle[k, k]
        there = diagonal != 0
        value = (s.rhs[k] - fnp.sum(s.triangle[k] * y)) / fnp.where(there, diagonal, fnp.ones_like(diagonal))
        return y.at[k].set(fnp.where(there & (k < s.count), value, fnp.zeros_like(value)))

    return fori_loop(np.int64(0), np.int64(restart), row, fnp.zeros((restart,), s.rhs.dtype))


def gmres(
    apply: Product, precondition: Product, b: Any, small: Any, limit: Any, restart: int, incremental: bool
) -> tuple[Any, Any]:
    """Saad & Schultz, SIAM J. Sci. Stat. Comput. 7(3), 1986, with restarts, preconditioned from the right.

    incremental: look at the residual after every vector, and end a round early; else after every `restart` of them."""
    n = b.shape[0]

    def round_(state: Any) -> Any:
        x, r, size, count, _ = state
        empty = fnp.zeros((restart + 1, n), b.dtype)
        start = _Arnoldi(
            empty.at[0].set(r / size),
            fnp.zeros((restart + 1, restart), b.dtype),
            fnp.zeros((restart, 2), b.dtype),
            fnp.zeros((restart + 1,), b.dtype).at[0].set(size.astype(b.dtype)),
            np.int64(0),
        )
        more = lambda s: s.count < restart
        if incremental:
            more = lambda s: (s.count < restart) & (fnp.abs(s.rhs[s.count]) > small)
        end = while_loop(more, lambda s: _extend(apply, precondition, s), start)
        step = precondition(_solution(end, restart) @ end.basis[:restart])
        x = x + step
        after = b - apply(x)
        now = norm(after)
        return x, after, now, count + 1, ~(now < size)  # a round that gains nothing is the last

    start = (fnp.zeros_like(b), b, norm(b), np.int64(0), np.False_)
    go_on = lambda s: (s[2] > small) & (s[3] < limit) & ~s[4]
    x, _, size, count, _ = while_loop(go_on, round_, start)
    return x, _info(size, small, count)
