"""Layers of a convolutional network: the layer itself, and the gradients by its input and its kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._library import Library
from benchmarks._row import Case, Row

LAST = ("NHWC", "HWIO", "NHWC")
FIRST = ("NCHW", "OIHW", "NCHW")
LAYER = ((32, 28, 28, 64), (3, 3, 64, 64))
DEPTHWISE = ((32, 28, 28, 64), (3, 3, 1, 64))


def _operands(lib: Library, shapes: Any, numbers: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    x, k = [rng.normal(size=s).astype(np.float32) for s in shapes]
    k /= np.float32(np.sqrt(np.prod(k.shape[:-1])))
    if numbers == FIRST:
        x, k = x.transpose(0, 3, 1, 2), k.transpose(3, 2, 0, 1)
    return [lib.put(np.ascontiguousarray(v)) for v in (x, k)]


def _layer(lib: Library, numbers: Any, strides: tuple[int, int], groups: int) -> Callable[..., Any]:
    return lambda x, k: lib.lax.conv_general_dilated(x, k, strides, "SAME", dimension_numbers=numbers, feature_group_count=groups)


def _forward(shapes: Any = LAYER, numbers: Any = LAST, groups: int = 1) -> Callable[[Library], Case]:
    def body(lib: Library) -> Case:
        x, k = _operands(lib, shapes, numbers)
        layer = lib.jit(_layer(lib, numbers, (1, 1), groups))
        return Case(lambda: layer(x, k).block_until_ready(), lambda: layer(x, k))

    return body


def _gradient(shapes: Any = LAYER, numbers: Any = LAST, strides: Any = (1, 1), groups: int = 1) -> Callable[[Library], Case]:
    def body(lib: Library) -> Case:
        x, k = _operands(lib, shapes, numbers)
        layer = _layer(lib, numbers, strides, groups)
        gradient = lib.jit(lib.grad(lambda k, x: (layer(x, k) ** 2).mean(), argnums=(0, 1)))
        return Case(lambda: gradient(k, x)[0].block_until_ready(), lambda: gradient(k, x))

    return body


def _network(lib: Library) -> Case:
    """Two layers with pooling and a classifier, as for handwritten digits: each call is one more step, as in training."""
    rng = np.random.default_rng(0)
    draw = lambda *shape: lib.put((rng.normal(size=shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32))
    start = {"layers": [draw(3, 3, 1, 32), draw(3, 3, 32, 64)], "w": draw(7 * 7 * 64, 10)}
    x = lib.put(rng.normal(size=(64, 28, 28, 1)).astype(np.float32))
    y = lib.put(np.eye(10, dtype=np.float32)[rng.integers(0, 10, 64)])

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        for kernel in parameters["layers"]:
            x = lib.nn.relu(lib.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=LAST))
            x = lib.lax.reduce_window(x, -np.inf, lib.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        logits = x.reshape(x.shape[0], -1) @ parameters["w"]
        return -(y * lib.nn.log_softmax(logits)).sum(axis=-1).mean()

    @lib.jit
    def step(parameters: Any, x: Any, y: Any) -> Any:
        value, gradient = lib.value_and_grad(loss)(parameters, x, y)
        return lib.tree_map(lambda p, g: p - 0.01 * g, parameters, gradient), value

    state = [start]

    def call() -> None:
        state[0], value = step(state[0], x, y)
        value.block_until_ready()

    return Case(call, lambda: step(start, x, y))


ROWS = [
    Row("3x3 convolution, 32 x 28 x 28 x 64 -> 64", _forward(), unit="ms", rtol=1e-3, atol=1e-4),
    Row("its gradients", _gradient(), unit="ms", rtol=1e-3, atol=1e-6),
    Row("the same, channels first", _forward(numbers=FIRST), unit="ms", rtol=1e-3, atol=1e-4),
    Row("its gradients, channels first", _gradient(numbers=FIRST), unit="ms", rtol=1e-3, atol=1e-6),
    Row("its gradients with strides of 2", _gradient(strides=(2, 2)), unit="ms", rtol=1e-3, atol=1e-6),
    Row("3x3 depthwise convolution, 32 x 28 x 28 x 64", _forward(DEPTHWISE, groups=64), unit="ms", rtol=1e-3, atol=1e-4),
    Row("its gradients, depthwise", _gradient(DEPTHWISE, groups=64), unit="ms", rtol=1e-3, atol=1e-6),
    Row("training step, CNN 28 x 28, 32 and 64 channels, batch 64", _network, unit="ms", rtol=1e-3, atol=1e-4),
    Row("its first call, CNN, cold", _network, how="first", unit="ms", cache="empty", limit=3.0, rtol=1e-3, atol=1e-4),
]
