"""Whole programs of the kinds that people write: a small transformer, a filter, a stencil, whole numbers in a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._library import Library
from benchmarks._row import Case, Row

WORDS, WIDTH, HEADS, LAYERS, LENGTH, BATCH = 64, 64, 4, 2, 32, 8


def _parameters(lib: Library) -> Any:
    rng = np.random.default_rng(0)
    draw = lambda *shape: lib.put((rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32))
    layer = lambda: {
        "qkv": draw(WIDTH, 3 * WIDTH), "out": draw(WIDTH, WIDTH), "up": draw(WIDTH, 4 * WIDTH), "down": draw(4 * WIDTH, WIDTH),
        "gain1": lib.put(np.ones(WIDTH, np.float32)), "gain2": lib.put(np.ones(WIDTH, np.float32)),
    }  # fmt: skip
    return {
        "words": draw(WORDS, WIDTH), "places": draw(LENGTH, WIDTH), "layers": [layer() for _ in range(LAYERS)],
        "logits": draw(WIDTH, WORDS),
    }  # fmt: skip


def _model(lib: Library, parameters: Any, words: Any) -> Any:
    np_, nn = lib.np, lib.nn

    def normalised(x: Any, gain: Any) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return x * lib.lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-5) * gain

    def attention(x: Any, p: Any) -> Any:
        q, k, v = [
            y.reshape(LENGTH, HEADS, WIDTH // HEADS).transpose(1, 0, 2)
            for y in np_.split(normalised(x, p["gain1"]) @ p["qkv"], 3, axis=-1)
        ]
        scores = np_.einsum("hid,hjd->hij", q, k) / np.float32(np.sqrt(WIDTH // HEADS))
        scores = np_.where(np_.tril(np_.ones((LENGTH, LENGTH), bool)), scores, -np_.inf)
        mixed = np_.einsum("hij,hjd->hid", nn.softmax(scores, axis=-1), v)
        return mixed.transpose(1, 0, 2).reshape(LENGTH, WIDTH) @ p["out"]

    x = parameters["words"][words] + parameters["places"]
    for p in parameters["layers"]:
        x = x + attention(x, p)
        x = x + nn.gelu(normalised(x, p["gain2"]) @ p["up"]) @ p["down"]
    return x @ parameters["logits"]


def transformer(lib: Library) -> Case:
    rng = np.random.default_rng(1)
    words, targets = (lib.put(rng.integers(0, WORDS, (BATCH, LENGTH)).astype(np.int32)) for _ in range(2))
    start = _parameters(lib)

    def loss(parameters: Any, words: Any, targets: Any) -> Any:
        logits = lib.top.vmap(lambda w: _model(lib, parameters, w))(words)
        return -lib.np.take_along_axis(lib.nn.log_softmax(logits), targets[..., None], -1).mean()

    @lib.jit
    def step(parameters: Any, words: Any, targets: Any) -> Any:
        value, gradient = lib.value_and_grad(loss)(parameters, words, targets)
        return lib.tree_map(lambda p, g: p - 0.1 * g, parameters, gradient), value

    state = [start]

    def call() -> None:
        state[0], value = step(state[0], words, targets)
        value.block_until_ready()

    return Case(call, lambda: step(start, words, targets))


def kalman(lib: Library) -> Case:
    """The gradient of a linear filter's likelihood: 4 states, 2 observations, 300 steps."""
    rng = np.random.default_rng(0)
    a = lib.put((0.9 * np.eye(4) + 0.05 * rng.normal(size=(4, 4))).astype(np.float32))
    c, seen = lib.put(rng.normal(size=(2, 4)).astype(np.float32)), lib.put(rng.normal(size=(300, 2)).astype(np.float32))
    linalg, eye = lib.np.linalg, lambda n: lib.np.eye(n, dtype=np.float32)

    def likelihood(q: Any, a: Any, c: Any, seen: Any) -> Any:
        def step(state: Any, y: Any) -> Any:
            mean, spread = state
            mean, spread = a @ mean, a @ spread @ a.T + lib.np.exp(q) * eye(4)
            s, r = c @ spread @ c.T + eye(2), y - c @ mean
            gain = linalg.solve(s, c @ spread).T
            term = -0.5 * (r @ linalg.solve(s, r) + linalg.slogdet(s)[1])
            return (mean + gain @ r, spread - gain @ c @ spread), term

        return lib.lax.scan(step, (lib.np.zeros(4, np.float32), eye(4)), seen)[1].sum()

    gradient = lib.jit(lib.value_and_grad(likelihood))
    q = lib.put(np.float32(0.1))
    return Case(lambda: gradient(q, a, c, seen)[1].block_until_ready(), lambda: gradient(q, a, c, seen))


def stencil(lib: Library) -> Case:
    """The gradient of 20 steps of the heat equation on 256 x 256."""
    roll = lib.np.roll

    def energy(u: Any) -> Any:
        step = lambda _, u: u + 0.1 * (roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4 * u)
        return (lib.lax.fori_loop(0, 20, step, u) ** 2).sum()

    gradient = lib.jit(lib.grad(energy))
    u = lib.put(np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32))
    return Case(lambda: gradient(u).block_until_ready(), lambda: gradient(u))


def collatz(lib: Library) -> Case:
    """Whole numbers in a while loop, 100,000 side by side."""
    np_ = lib.np

    def steps(n: Any) -> Any:
        step = lambda s: (np_.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1)
        return lib.lax.while_loop(lambda s: s[0] != 1, step, (n, np_.int32(0)))[1]

    count = lib.jit(lib.top.vmap(steps))
    n = lib.put(np.arange(1, 100_001, dtype=np.int32))  # on their ways none outgrows 32 bits
    return Case(lambda: count(n).block_until_ready(), lambda: count(n))


ROWS = [
    Row("training step, transformer, 2 layers, batch 8", transformer, unit="ms", rtol=1e-3, atol=1e-5),
    Row("Kalman filter, 300 steps, gradient", kalman, unit="ms", rtol=1e-3, atol=1e-3),
    Row("heat equation 256x256, 20 steps, gradient", stencil, unit="ms", rtol=1e-3, atol=1e-5),
    Row("Collatz steps of 100k numbers by vmap", collatz, unit="ms"),
]
