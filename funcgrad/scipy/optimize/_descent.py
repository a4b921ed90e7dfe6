"""Quasi-Newton descent: a loop of directions and line searches, over a memory of curvature that the method brings."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.lax.control import scan, while_loop
from funcgrad.scipy.optimize._line_search import Evaluate, line_search

__all__ = ["Limits", "Memory", "State", "dense", "descend", "limited"]

IDLE = 20  # so many iterations without a lower value or gradient are wandering in rounding errors


class Memory(NamedTuple):
    """What a method knows of curvature: `start`; `times(m, g)`, the inverse Hessian times g; `learn(m, s, y)`, after a step s
    that changed the gradient by y."""

    start: Any
    times: Callable[[Any, Any], Any]
    learn: Callable[[Any, Any, Any], Any]


def dense(n: int, dtype: np.dtype) -> Memory:
    """The whole inverse Hessian, by the BFGS update (Nocedal & Wright, 2006, 6.17)."""

    def learn(h: Any, s: Any, y: Any) -> Any:
        hy, sy = h @ y, fnp.sum(s * y)
        rho = 1 / sy
        grow = (1 + rho * fnp.sum(y * hy)) * rho
        return h + grow * s[:, None] * s[None, :] - rho * (hy[:, None] * s[None, :] + s[:, None] * hy[None, :])

    return Memory(fnp.eye(n, dtype=dtype), lambda h, g: h @ g, learn)


def limited(n: int, dtype: np.dtype, count: int) -> Memory:
    """The last `count` steps, by the two-loop recursion of L-BFGS (Nocedal & Wright, 2006, algorithm 7.4)."""

    def times(m: Any, g: Any) -> Any:
        steps, changes, rhos, scale = m

        def back(q: Any, row: Any) -> Any:
            s, y, rho = row
            a = rho * fnp.sum(s * q)
            return q - a * y, a

        def forth(r: Any, row: Any) -> Any:
            s, y, rho, a = row
            return r + (a - rho * fnp.sum(y * r)) * s, None

        q, weights = scan(back, g, (steps, changes, rhos), reverse=True)
        return scan(forth, scale * q, (steps, changes, rhos, weights))[0]

    def learn(m: Any, s: Any, y: Any) -> Any:
        steps, changes, rhos, _ = m
        sy = fnp.sum(s * y)
        put = lambda rows, new: fnp.concatenate([rows[1:], new[None]])
        return put(steps, s), put(changes, y), put(rhos, 1 / sy), sy / fnp.sum(y * y)

    rows = fnp.zeros((count, n), dtype)
    return Memory((rows, rows, fnp.zeros((count,), dtype), fnp.ones((), dtype)), times, learn)


class Limits(NamedTuple):
    """When to stop: the gradient's norm is at most gtol, or the relative decrease at most ftol (None: not looked at); or after
    so many iterations, evaluations; evaluations of a line search."""

    gtol: Any
    norm: Any
    maxiter: Any
    line_search_maxiter: Any
    ftol: Any = None
    maxfun: Any = np.inf


class State(NamedTuple):
    """Where a descent is.

    rise: of the value, in the last step, as its line search saw it; again: the memory was thrown away after a search that failed;
    least: the least value and norm of a gradient so far; idle: iterations since one of them fell; failed: nothing helps."""

    x: Any
    value: Any
    gradient: Any
    rise: Any
    memory: Any
    nit: Any
    nfev: Any
    converged: Any
    again: Any
    idle: Any
    least: Any
    failed: Any


def _choose(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple([_choose(condition, u, v) for u, v in zip(a, b, strict=True)])
    return fnp.where(condition, a, b)


def descend(evaluate: Evaluate, x: Any, memory: Memory, limits: Limits) -> State:
    """The descent from x."""
    size = lambda g: fnp.linalg.norm(g, ord=limits.norm) if g.size else fnp.zeros((), g.dtype)

    def go_on(s: State) -> Any:
        more = (s.nit < limits.maxiter) & (s.nfev < limits.maxfun)
        return ~s.converged & ~s.failed & more & fnp.isfinite(s.value) & fnp.all(fnp.isfinite(s.gradient))

    def turn(s: State) -> State:
        p = -memory.times(s.memory, s.gradient)
        slope = fnp.sum(p * s.gradient)
        down = slope < 0
        p = fnp.where(down, p, -s.gradient)
        slope = fnp.where(down, slope, -fnp.sum(s.gradient * s.gradient))
        held = _choose(down, s.memory, memory.start)
        # The step for which a parabola would decrease as the last step did (Nocedal & Wright, 3.60), at most a whole one.
        guess = 2.02 * s.rise / slope
        first = fnp.where((guess > 0) & (guess < 1), guess, fnp.ones_like(guess))
        step, rise, value, gradient, count = line_search(
            evaluate, s.x, s.value, s.gradient, p, slope, first, limits.line_search_maxiter
        )
        moved = step > 0
        ds, dg = step * p, gradient - s.gradient
        curved = fnp.sum(ds * dg) > 0
        learnt = memory.learn(held, fnp.where(curved, ds, fnp.ones_like(ds)), fnp.where(curved, dg, fnp.ones_like(dg)))
        kept = _choose(curved, learnt, held)
        kept = _choose(moved, kept, memory.start)
        norm = size(gradient)
        converged = norm <= limits.gtol
        if limits.ftol is not None:
            scale = fnp.maximum(fnp.maximum(fnp.abs(s.value), fnp.abs(value)), fnp.ones_like(value))
            converged = converged | (moved & (-rise <= limits.ftol * scale))
        idle = fnp.where((value < s.least[0]) | (norm < s.least[1]), np.int32(0), s.idle + 1)
        least = fnp.minimum(value, s.least[0]), fnp.minimum(norm, s.least[1])
        return State(
            fnp.where(moved, s.x + ds, s.x), value, gradient, rise, kept, s.nit + 1, s.nfev + count, converged, ~moved,
            idle, least, (~moved & s.again) | (idle >= IDLE),
        )  # fmt: skip

    value, gradient = evaluate(x)
    rise = -fnp.sqrt(fnp.sum(gradient * gradient)) / 2  # the first step is 1 long
    norm = size(gradient)
    start = State(
        x, value, gradient, rise, memory.start, np.int64(0), np.int64(1), norm <= limits.gtol, np.False_, np.int32(0),
        (value, norm), np.False_,
    )  # fmt: skip
    return while_loop(go_on, turn, start)
