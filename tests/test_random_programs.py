"""Random pure programs over the public NumPy face: eager = jit = NumPy, grad = finite differences, vmap = a loop.

A program is a list of instructions that push onto a pool of arrays. It knows nothing of who runs it: `run(numpy, ...)` is the
truth, `run(funcgrad.numpy, ...)` is what is tested. Everything is float64 and smooth enough for finite differences except at
places that random numbers do not hit.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.numpy as fnp

ROWS, COLUMNS = 3, 4

UNARY = {
    "sin": lambda xp, a: xp.sin(a),
    "cos": lambda xp, a: xp.cos(a),
    "tanh": lambda xp, a: xp.tanh(a),
    "exp": lambda xp, a: xp.exp(xp.tanh(a)),
    "log1p": lambda xp, a: xp.log1p(a * a),
    "sqrt": lambda xp, a: xp.sqrt(a * a + 1),
    "abs": lambda xp, a: xp.abs(a),
    "negative": lambda xp, a: -a,
    "square": lambda xp, a: xp.square(a) * 0.5,
    "arctan": lambda xp, a: xp.arctan(a),
    "affine": lambda xp, a: 2 * a - 0.3,
    "clip": lambda xp, a: xp.clip(a, -0.73, 0.91),
    "reciprocal": lambda xp, a: 1.0 / (a * a + 1.5),
    "relu": lambda xp, a: xp.where(a > 0.1234, a, 0.01 * a),
    "power": lambda xp, a: (xp.tanh(a) + 1.5) ** 2.5,
}
BINARY = {
    "add": lambda xp, a, b: a + b,
    "subtract": lambda xp, a, b: a - b,
    "multiply": lambda xp, a, b: a * b,
    "divide": lambda xp, a, b: a / (b * b + 1),
    "maximum": lambda xp, a, b: xp.maximum(a, b + 0.3217),
    "arctan2": lambda xp, a, b: xp.arctan2(a, b * b + 0.5),
    "where": lambda xp, a, b: xp.where(a > 0.4321, b, a * b),
}
# Shapes here are () | (4,) | (3, 4), all of which broadcast with each other.
REDUCE = {
    "sum": lambda xp, a: xp.sum(a, axis=0),
    "mean": lambda xp, a: xp.mean(a, axis=0),
    "max": lambda xp, a: xp.max(a, axis=0),
    "softmax": lambda xp, a: (
        xp.exp(a - xp.max(a, axis=-1, keepdims=True)) / xp.exp(a - xp.max(a, axis=-1, keepdims=True)).sum(axis=-1, keepdims=True)
    ),
    "normalise": lambda xp, a: (a - a.mean(axis=-1, keepdims=True)) / xp.sqrt(a.var(axis=-1, keepdims=True) + 0.1),
    "cumsum": lambda xp, a: xp.cumsum(a, axis=-1) * 0.5,
    "reverse": lambda xp, a: a[..., ::-1],
    "roll": lambda xp, a: xp.concatenate([a[..., 1:], a[..., :1]], axis=-1),
    "pad": lambda xp, a: xp.pad(a[..., 1:-1], [(0, 0)] * (a.ndim - 1) + [(1, 1)]),
    "take": lambda xp, a: a[..., (np.arange(a.shape[-1]) * 3 + 1) % a.shape[-1]],
    "gram": lambda xp, a: xp.tanh(a @ a.T) @ a,
    "transpose": lambda xp, a: (a.T * 2).T,
    "reshape": lambda xp, a: a.reshape(-1)[::-1].reshape(a.shape),
}
NEEDS_MATRIX = ("gram",)

instruction = st.one_of(
    st.tuples(st.sampled_from(sorted(UNARY)), st.integers(0, 30)),
    st.tuples(st.sampled_from(sorted(BINARY)), st.integers(0, 30), st.integers(0, 30)),
    st.tuples(st.sampled_from(sorted(REDUCE)), st.integers(0, 30)),
)
programs = st.lists(instruction, min_size=1, max_size=9)
seeds = st.integers(0, 2**32 - 1)
SETTINGS = {"deadline": None, "suppress_health_check": [HealthCheck.filter_too_much]}


def run(xp, program, x, y):
    """The last array of the pool after all instructions."""
    return run_all(xp, program, x, y)[-1]


def run_all(xp, program, x, y):
    """The pool after all instructions. `x` is [3, 4], `y` is [4]."""
    pool = [x, y]
    for name, *operands in program:
        a = pool[operands[0] % len(pool)]
        if name in BINARY:
            pool.append(BINARY[name](xp, a, pool[operands[1] % len(pool)]))
        elif name in UNARY:
            pool.append(UNARY[name](xp, a))
        elif a.ndim == 2 or (a.ndim == 1 and name not in NEEDS_MATRIX):
            pool.append(REDUCE[name](xp, a))
        else:
            pool.append(xp.sin(a))
    return pool


def scalar(xp, program, x, y):
    return xp.sum(xp.sin(run(xp, program, x, y)) + run(xp, program[:-1], x, y).mean())


def inputs(seed, *batch):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*batch, ROWS, COLUMNS)), rng.normal(size=(*batch, COLUMNS))


def tame(*arrays):
    """Only programs whose numbers stay moderate: with large ones, rounding is all that would be compared."""
    assume(all(np.all(np.isfinite(a)) and np.max(np.abs(a)) < 50 for a in arrays))


@settings(max_examples=30, **SETTINGS)
@given(programs, seeds)
def test_eager_and_jit_agree_with_numpy(program, seed):
    x, y = inputs(seed)
    want = run(np, program, x, y)
    tame(want)
    eager = run(fnp, program, fnp.asarray(x), fnp.asarray(y))
    compiled = fg.jit(lambda x, y: run(fnp, program, x, y))(x, y)
    for got in (eager, compiled):
        assert got.dtype == np.float64 and got.shape == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


@settings(max_examples=20, **SETTINGS)
@given(programs, seeds)
def test_many_results_and_donated_memory(program, seed):
    """Results that read each other's operands, some in the memory of an input: no store may come before a load that needs the old value."""
    x, y = inputs(seed)
    pool = run_all(np, program, x, y)
    tame(*pool)

    def results(xp, x, y):
        pool = run_all(xp, program, x, y)
        return [xp.tanh(x + pool[-1]), *(xp.sin(a).sum(axis=-1) if a.shape else a for a in pool), pool[-1]]

    f, want = lambda x, y: results(fnp, x, y), results(np, x, y)

    for got in (fg.jit(f)(x, y), fg.jit(f, donate_argnums=(0, 1))(fnp.array(x), fnp.array(y))):
        for a, b in zip(got, want):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@settings(max_examples=20, **SETTINGS)
@given(programs, seeds)
def test_grad_is_the_finite_difference(program, seed):
    (x, y), (dx, dy) = inputs(seed), inputs(seed + 1)
    step = 1e-6
    ahead = scalar(np, program, x + step * dx, y + step * dy)
    behind = scalar(np, program, x - step * dx, y - step * dy)
    tame(ahead, behind)
    want = (ahead - behind) / (2 * step)
    tame(want)
    f = lambda x, y: scalar(fnp, program, x, y)
    for gradient in (fg.grad(f, argnums=(0, 1)), fg.jit(fg.grad(f, argnums=(0, 1)))):
        gx, gy = gradient(x, y)
        got = float(np.vdot(gx, dx) + np.vdot(gy, dy))
        assert got == pytest.approx(want, rel=2e-6, abs=2e-6)
    value, _ = fg.jit(fg.value_and_grad(f))(x, y)
    assert float(value) == pytest.approx(scalar(np, program, x, y), rel=1e-11, abs=1e-11)
    _, along = fg.jvp(f, (x, y), (dx, dy))
    assert float(along) == pytest.approx(want, rel=2e-6, abs=2e-6)


@settings(max_examples=20, **SETTINGS)
@given(programs, seeds)
def test_vmap_is_a_loop(program, seed):
    xs, ys = inputs(seed, 5)
    want = np.stack([run(np, program, x, y) for x, y in zip(xs, ys)])
    tame(want)
    f = lambda x, y: run(fnp, program, x, y)
    for mapped in (fg.vmap(f), fg.jit(fg.vmap(f))):
        np.testing.assert_allclose(mapped(xs, ys), want, rtol=1e-11, atol=1e-11)
    shared = np.stack([run(np, program, x, ys[0]) for x in xs])
    np.testing.assert_allclose(fg.vmap(f, in_axes=(0, None))(xs, ys[0]), shared, rtol=1e-11, atol=1e-11)
