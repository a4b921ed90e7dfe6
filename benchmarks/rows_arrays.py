"""Large arrays: elementwise chains, rows, random numbers. What counts is memory traffic and vector math."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._library import Library
from benchmarks._row import Case, Row

FOUR_MILLION = 4_000_000


def _unary(lib: Library, f: Any, x: np.ndarray) -> Case:
    argument = lib.put(x)
    f = lib.jit(f)
    return Case(lambda: f(argument).block_until_ready(), lambda: f(argument))


def _points() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.0, 2.0, FOUR_MILLION).astype(np.float32)


def _square() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(2048, 2048)).astype(np.float32)


def _chain(lib: Library) -> Any:
    np_ = lib.np
    return lambda x: np_.tanh(x * 2 + 1) * np_.exp(-x * x) + np_.log1p(x)


def chain(lib: Library) -> Case:
    return _unary(lib, _chain(lib), _points())


def chain_gradient(lib: Library) -> Case:
    f = _chain(lib)
    return _unary(lib, lib.grad(lambda x: f(x).sum()), _points())


def softmax(lib: Library) -> Case:
    return _unary(lib, lambda x: lib.nn.softmax(x, axis=-1), _square())


def layernorm(lib: Library) -> Case:
    x = lib.put(_square())
    scale = lib.put(np.linspace(0.5, 1.5, 2048, dtype=np.float32))
    shift = lib.put(np.linspace(-1, 1, 2048, dtype=np.float32))

    @lib.jit
    def f(x, scale, shift):
        mean = x.mean(axis=-1, keepdims=True)
        centred = x - mean
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / lib.np.sqrt(variance + 1e-5) * scale + shift

    return Case(lambda: f(x, scale, shift).block_until_ready(), lambda: f(x, scale, shift))


def uniforms(lib: Library) -> Case:
    key = lib.random.key(0)
    f = lib.jit(lambda key: lib.random.uniform(key, (FOUR_MILLION,)))
    return Case(lambda: f(key).block_until_ready(), lambda: f(key))


ROWS = [
    Row("tanh(x*2+1)*exp(-x*x)+log1p(x), 4M float32", chain, unit="ms"),
    Row("its gradient, 4M float32", chain_gradient, unit="ms"),
    Row("softmax 2048x2048", softmax, unit="ms"),
    Row("layernorm 2048x2048", layernorm, unit="ms"),
    Row("4M uniforms", uniforms, unit="ms", rtol=0.0, atol=0.0),
]
