"""One set of kernels for all batch sizes: a new size retraces, compiles nothing, and computes what eager code computes."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.testing import counters

SIZES = (784, 512, 512, 10)


def parameters(sizes):
    rng = np.random.default_rng(0)
    return [
        {"w": fnp.asarray((rng.normal(size=(m, n)) / np.sqrt(m)).astype(np.float32)), "b": fnp.zeros(n, np.float32)}
        for m, n in zip(sizes[:-1], sizes[1:])
    ]


def loss(parameters, x, y):
    for layer in parameters[:-1]:
        x = fg.nn.relu(x @ layer["w"] + layer["b"])
    logits = x @ parameters[-1]["w"] + parameters[-1]["b"]
    return -(y * fg.nn.log_softmax(logits)).sum(axis=-1).mean()


def step(parameters, x, y):
    value, gradient = fg.value_and_grad(loss)(parameters, x, y)
    return fg.tree.map(lambda p, g: p - 0.1 * g, parameters, gradient), value


def batch(size):
    rng = np.random.default_rng(size)
    return rng.normal(size=(size, SIZES[0])).astype(np.float32), np.eye(10, dtype=np.float32)[rng.integers(0, 10, size)]


def test_twenty_batch_sizes_share_their_kernels():
    jitted, start = fg.jit(step), parameters(SIZES)
    jitted(start, *batch(128))
    with counters() as count:
        for size in range(31, 131, 5):
            x, y = batch(size)
            got, value = jitted(start, x, y)
            want, eager = step(start, x, y)
            assert float(value) == pytest.approx(float(eager), rel=1e-5)
            for a, b in zip(fg.tree.leaves(got), fg.tree.leaves(want)):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-6)
    assert count.traces == 20
    assert count.compiled == 0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: fnp.tanh(x * 2 + 1) * fnp.exp(-x * x) + fnp.log1p(x * x),
        lambda x: fg.nn.softmax(x, axis=-1),
        lambda x: (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-3),
        lambda x: fnp.cumsum(x, axis=0)[::-1],
        lambda x: (x.T + 1) @ x,
    ],
    ids=["elementwise", "softmax", "standardise", "cumsum", "gram"],
)
def test_other_sizes_compile_nothing(f):
    jitted = fg.jit(f)
    jitted(np.ones((40, 24), np.float32))
    with counters() as count:
        for shape in [(41, 24), (40, 25), (7, 333), (120, 16)]:
            x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
            np.testing.assert_allclose(jitted(x), f(fnp.asarray(x)), rtol=2e-5, atol=2e-5)
    assert count.compiled == 0


def test_the_same_size_again_traces_nothing():
    jitted, x = fg.jit(lambda x: x * 3 - 1), np.ones(5, np.float32)
    jitted(x)
    with counters() as count:
        for _ in range(10):
            jitted(x)
    assert count.traces == count.compiled == count.loaded == count.programs == 0
    assert count.launches == 10
