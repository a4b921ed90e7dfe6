"""A training step of an MLP classifier: steady, first call, new batch sizes, eager."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks._library import Library
from benchmarks._row import Case, Row, seconds_per_call

SMALL = (64, 32, 10)
LARGE = (784, 512, 512, 10)


def _parameters(lib: Library, sizes: Sequence[int]) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {
            "w": lib.put((rng.normal(size=(m, n)) / np.sqrt(m)).astype(np.float32)),
            "b": lib.put(np.zeros(n, np.float32)),
        }
        for m, n in zip(sizes[:-1], sizes[1:])
    ]


def _batch(lib: Library, sizes: Sequence[int], batch: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(batch)
    x = rng.normal(size=(batch, sizes[0])).astype(np.float32)
    y = np.eye(sizes[-1], dtype=np.float32)[rng.integers(0, sizes[-1], batch)]
    return lib.put(x), lib.put(y)


def _loss(lib: Library) -> Any:
    def loss(parameters, x, y):
        for layer in parameters[:-1]:
            x = lib.nn.relu(x @ layer["w"] + layer["b"])
        logits = x @ parameters[-1]["w"] + parameters[-1]["b"]
        return -(y * lib.nn.log_softmax(logits)).sum(axis=-1).mean()

    return loss


def _step(lib: Library) -> Any:
    loss = _loss(lib)

    @lib.jit
    def step(parameters, x, y):
        value, gradient = lib.value_and_grad(loss)(parameters, x, y)
        return lib.tree_map(lambda p, g: p - 0.01 * g, parameters, gradient), value

    return step


def _training(lib: Library, sizes: Sequence[int], batch: int) -> Case:
    """Each call is one more step from where the last one ended, as in training."""
    step, start = _step(lib), _parameters(lib, sizes)
    x, y = _batch(lib, sizes, batch)
    state = [start]

    def call() -> None:
        state[0], value = step(state[0], x, y)
        value.block_until_ready()

    return Case(call, lambda: step(start, x, y))


def small_step(lib: Library) -> Case:
    return _training(lib, SMALL, 32)


def large_step(lib: Library) -> Case:
    return _training(lib, LARGE, 128)


def eager_gradient(lib: Library) -> Case:
    """No jit: what a notebook's first line or a debugger's step costs."""
    parameters, (x, y) = _parameters(lib, SMALL), _batch(lib, SMALL, 32)
    gradient = lib.grad(_loss(lib))
    return Case(
        lambda: gradient(parameters, x, y)[0]["w"].block_until_ready(),
        lambda: gradient(parameters, x, y),
    )


def twenty_batch_sizes(lib: Library, small: bool = False) -> float:
    """Milliseconds that a new batch size costs above a step of that size: the median over twenty sizes, after a first one."""
    step, parameters = _step(lib), _parameters(lib, LARGE)

    def call(batch: int) -> Any:
        x, y = _batch(lib, LARGE, batch)
        return lambda: step(parameters, x, y)[1].block_until_ready()

    call(128)()
    extra: list[float] = []
    for batch in range(130, 134 if small else 170, 2):
        now = call(batch)
        start = time.perf_counter()
        now()
        extra.append(time.perf_counter() - start - seconds_per_call(now, 0.0 if small else 0.05))
    return 1e3 * statistics.median(extra)


ROWS = [
    Row("training step, MLP 64-32-10, batch 32", small_step),
    Row("training step, MLP 784-512-512-10, batch 128", large_step, unit="ms", rtol=1e-3),
    Row("its first call, cold", large_step, how="first", unit="ms", cache="empty", limit=3.0, rtol=1e-3),
    Row("its first call, warm (peer: cold)", large_step, how="first", unit="ms", cache="filled", limit=0.5, rtol=1e-3),
    Row("a new batch size for it", twenty_batch_sizes, how="number", unit="ms", at_most=10.0),
    Row("eager grad of the loss, MLP 64-32-10, batch 32", eager_gradient),
]
