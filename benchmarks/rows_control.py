"""Loops: recurrences, their gradients, loops over lanes. What counts is what a step costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._library import Library
from benchmarks._row import Case, Row


def _case(lib: Library, f: Any, *args: Any) -> Case:
    f, given = lib.jit(f), [lib.put(x) for x in args]
    wait = lambda out: [x.block_until_ready() for x in lib.top.tree.leaves(out)]
    return Case(lambda: wait(f(*given)), lambda: f(*given))


def _noise(*shape: int, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape, scale=scale).astype(np.float32)


def scalar_scan(lib: Library) -> Case:
    step = lambda c, x: (lib.np.tanh(c * 0.9 + x), None)
    return _case(lib, lambda c, xs: lib.top.lax.scan(step, c, xs)[0], np.float32(0.5), _noise(100_000))


def vector_gradient(lib: Library) -> Case:
    step = lambda c, x: (lib.np.tanh(c * 0.9 + x), None)
    loss = lambda c, xs: lib.top.lax.scan(step, c, xs)[0].sum()
    return _case(lib, lib.grad(loss), np.full(4, 0.5, np.float32), _noise(100_000, 4))


def rnn_gradient(lib: Library) -> Case:
    def loss(w, u, b, xs):
        step = lambda h, x: (lib.np.tanh(w @ h + u @ x + b), None)
        return (lib.top.lax.scan(step, lib.np.zeros(64, lib.np.float32), xs)[0] ** 2).sum()

    weights = _noise(64, 64, scale=0.1), _noise(64, 64, scale=0.1), _noise(64)
    return _case(lib, lib.top.grad(loss, (0, 1, 2)), *weights, _noise(2_000, 64))


def _lorenz(np_: Any, s: Any) -> Any:
    x, y, z = s[0], s[1], s[2]
    return np_.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


def lorenz(lib: Library) -> Case:
    def solve(s):
        def step(s, _):
            h = 0.01
            a = _lorenz(lib.np, s)
            b = _lorenz(lib.np, s + h / 2 * a)
            c = _lorenz(lib.np, s + h / 2 * b)
            d = _lorenz(lib.np, s + h * c)
            return s + h / 6 * (a + 2 * b + 2 * c + d), None

        return lib.top.lax.scan(step, s, None, length=1000)[0]

    # The system is chaotic: the answer compares a short run.
    short = lambda s: lib.np.stack([_lorenz(lib.np, x) for x in s[:3]])
    timed = _case(lib, lib.top.vmap(solve), _noise(256, 3) + 1)
    return Case(timed.call, lambda: short(_noise(256, 3) + 1))


def mandelbrot(lib: Library) -> Case:
    def escape(x, y):
        def goes_on(c):
            a, b, n = c
            return (a * a + b * b < 4) & (n < 50)

        def step(c):
            a, b, n = c
            return a * a - b * b + x, 2 * a * b + y, n + 1

        zero = lib.np.zeros((), lib.np.float32)
        return lib.top.lax.while_loop(goes_on, step, (zero, zero, lib.np.zeros((), lib.np.int32)))[2]

    x, y = np.meshgrid(np.linspace(-2, 1, 300, dtype=np.float32), np.linspace(-1.5, 1.5, 300, dtype=np.float32))
    return _case(lib, lib.top.vmap(escape), x.ravel(), y.ravel())


def bodies_gradient(lib: Library) -> Case:
    np_ = lib.np

    def force(q):
        d = q[None, :, :] - q[:, None, :]
        r2 = (d * d).sum(-1) + 0.01
        return (d * (r2**-1.5)[..., None]).sum(1)

    def loss(q, v):
        def step(c, _):
            q, v = c
            v = v + 0.001 * force(q)
            return (q + 0.001 * v, v), None

        (q, v), _ = lib.top.lax.scan(step, (q, v), None, length=100)
        return (q * q).sum() + np_.sum(v * v)

    return _case(lib, lib.top.grad(loss, (0, 1)), _noise(32, 3), _noise(32, 3, scale=0.1))


ROWS = [
    Row("scan of tanh(c*0.9+x), scalar, 100k steps", scalar_scan, unit="ms", rtol=1e-3),
    Row("its gradient, 4-vector, 100k steps", vector_gradient, unit="ms", rtol=1e-3),
    Row("RNN, 64 units, 2000 steps, gradient", rnn_gradient, unit="ms", rtol=2e-3, atol=1e-4),
    Row("RK4 Lorenz, 256 systems, 1000 steps", lorenz, unit="ms"),
    Row("Mandelbrot, while_loop on 90k points", mandelbrot, unit="ms", rtol=1e-3),
    Row("32 bodies, 100 steps, gradient", bodies_gradient, unit="ms", rtol=2e-3, atol=1e-3),
]
