"""The types of what goes round a loop: Python numbers go up to the type that a step gives, never down, eager and compiled."""

import operator

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.errors import ShapeError

# a start, a step, and what n steps give
STEPS = [
    (0, lambda c: c + 1, np.int64),
    (0, lambda c: c + 1.5, np.float32),
    (1, lambda c: c / 2, np.float32),
    (1.0, lambda c: c * 1j, np.complex64),
    (1, lambda c: c * 1j, np.complex64),
    (1, lambda c: c * np.float64(0.1), np.float64),
    (0.1, lambda c: c + np.ones((), np.float64), np.float64),
    (0.5, lambda c: c * np.float32(3), np.float32),
    (2, lambda c: c * np.int32(3), np.int32),
]


def scan(step, start):
    return lax.scan(lambda c, _: (step(c), c), start, length=3)[0]


def fori(step, start):
    return lax.fori_loop(0, 3, lambda i, c: step(c), start)


def many(step, start):
    return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, step(s[1])), (0, start))[1]


LOOPS = [scan, fori, many, lambda step, start: fori(lambda c: fori(step, c), start)]


@pytest.mark.parametrize("loop", LOOPS, ids=["scan", "fori", "while", "nested"])
@pytest.mark.parametrize("start, step, dtype", STEPS, ids=range(len(STEPS)))
def test_weak_starts_go_up(loop, start, step, dtype):
    want = start
    for _ in range(9 if loop is LOOPS[3] else 3):
        want = step(want)
    for run in (
        loop,
        lambda step, start: fg.jit(lambda: loop(step, start))(),
        lambda step, start: fg.jit(lambda s: loop(step, s))(start),
    ):
        got = run(step, start)
        assert got.dtype == dtype
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-6)


def test_what_a_condition_reads_has_the_type_of_the_carry():
    for run in (lambda f: f()), (lambda f: fg.jit(f)()):
        assert float(run(lambda: lax.while_loop(lambda c: c < 3, lambda c: c + 1.5, 0))) == 3.0


def test_leaves_that_lift_each_other():
    """Each step moves a type one leaf on: as many traces as there are leaves."""
    start = (0.5, *[0] * 6)
    got, ys = fg.jit(lambda s: lax.scan(lambda c, _: ((c[0], *map(operator.add, c[:-1], c[1:])), c), s, length=2))(start)
    assert [x.dtype for x in got] == [np.float32] * 7 and [float(x) for x in got] == [0.5, 1.0, 0.5, 0, 0, 0, 0]
    assert [float(y[0]) for y in ys] == list(start)


@pytest.mark.parametrize(
    "start, back", [(0.5, 1), (0.5, np.arange(3)[0]), (1j, 0.5), (0.5, True), (np.float64(1), np.float32(1)), (1, True)]
)
@pytest.mark.parametrize("loop", LOOPS[:3], ids=["scan", "fori", "while"])
def test_nothing_goes_down(loop, start, back):
    """0.5 would become 0 before the first step."""
    with pytest.raises(ShapeError, match=r"(?s)one shape and dtype.*astype"):
        loop(lambda c: fnp.asarray(back), start)
