"""An MLP classifier trained with Adam, as plain functions on trees of arrays. Copy this file and change it.

In: a key, layer sizes, batches of images [batch, features] with labels [batch]. Out: parameters, losses, classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import funcgrad as fg
import funcgrad.numpy as fnp


class State(NamedTuple):
    """What training carries from step to step: the parameters and Adam's running moments of their gradients."""

    parameters: Any
    mean: Any
    square: Any
    steps: Any


def init(key: Any, sizes: Sequence[int]) -> State:
    """Weights of variance 2 / inputs (He et al. 2015, for relu), biases and moments zero."""
    keys = fg.random.split(key, len(sizes) - 1)
    parameters = [
        {"w": fg.random.normal(k, (m, n)) * (2 / m) ** 0.5, "b": fnp.zeros(n)} for k, m, n in zip(keys, sizes[:-1], sizes[1:])
    ]
    return State(parameters, fg.tree.map(fnp.zeros_like, parameters), fg.tree.map(fnp.zeros_like, parameters), fnp.zeros(()))


def logits(parameters: Any, x: Any) -> Any:
    """Unnormalised log probabilities: [batch, features] to [batch, classes]."""
    *hidden, last = parameters
    for layer in hidden:
        x = fg.nn.relu(x @ layer["w"] + layer["b"])
    return x @ last["w"] + last["b"]


def loss(parameters: Any, x: Any, labels: Any) -> Any:
    """Mean cross entropy of the labels, in nats."""
    log_p = fg.nn.log_softmax(logits(parameters, x))
    return -(fg.nn.one_hot(labels, log_p.shape[-1]) * log_p).sum(axis=-1).mean()


def adam(state: State, gradient: Any, rate: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> State:
    """One step of Adam (Kingma and Ba 2015, algorithm 1)."""
    steps = state.steps + 1
    mean = fg.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mean, gradient)
    square = fg.tree.map(lambda s, g: b2 * s + (1 - b2) * g * g, state.square, gradient)
    a, b = 1 - b1**steps, 1 - b2**steps
    move = lambda p, m, s: p - rate * (m / a) / (fnp.sqrt(s / b) + eps)
    return State(fg.tree.map(move, state.parameters, mean, square), mean, square, steps)


@partial(fg.jit, donate_argnums=0)
def train_step(state: State, x: Any, labels: Any, rate: Any) -> tuple[State, Any]:
    """The next state, and the loss before it."""
    value, gradient = fg.value_and_grad(loss)(state.parameters, x, labels)
    return adam(state, gradient, rate), value


@fg.jit
def predict(parameters: Any, x: Any) -> Any:
    """The most probable class of each image: [batch, features] to [batch]."""
    return logits(parameters, x).argmax(axis=-1)
