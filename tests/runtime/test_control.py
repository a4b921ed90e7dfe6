"""Loops and branches in the driver: what they compute, that they can be stopped, and what an error in them says."""

import signal
import threading
import time

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.runtime.counters import counters


def heavy(c, x):
    """A step that is no single kernel: products, a fold, an update in place."""
    h, history, n = c
    h = fnp.tanh(h @ h.T * 0.1 + x)
    return (h, history.at[n].set(h.sum()), n + 1), h[0]


def run(xs, reverse=False):
    start = np.eye(12), fnp.zeros(len(xs), np.float64), 0
    return lax.scan(heavy, start, xs, reverse=reverse)


def in_python(xs, reverse=False):
    h, history, rows = np.eye(12), np.zeros(len(xs)), []
    for n, x in enumerate(xs[::-1] if reverse else xs):
        h = np.tanh(h @ h.T * 0.1 + x)
        history[n] = h.sum()
        rows.append(h[0])
    return h, history, np.array(rows[::-1] if reverse else rows).reshape(-1, 12)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 6])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_of_several_steps(n, reverse):
    xs = np.linspace(-1, 1, 144 * n).reshape(n, 12, 12)
    f = fg.jit(lambda xs: run(xs, reverse))
    (h, history, count), ys = f(xs)
    want = in_python(xs, reverse)
    assert int(count) == n
    for a, b in zip((h, history, ys), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_new_length_compiles_nothing():
    f = fg.jit(run)
    f(np.ones((100, 12, 12)))
    before = counters.compiled
    f(np.ones((10_000, 12, 12)))
    assert counters.compiled == before


def counted_down(n):
    """A loop whose body has two kernels (a fold over rows and a map), so that it takes the general road."""

    def step(c):
        k, m = c
        return k - 1, m / m.sum() + k * np.float64(1e-3)

    return lax.while_loop(lambda c: c[0] > 0, step, (n, np.full((40, 7), 0.5)))


def test_while():
    k, m = fg.jit(counted_down)(7)
    want = np.full((40, 7), 0.5)
    for i in range(7, 0, -1):
        want = want / want.sum() + i * 1e-3
    np.testing.assert_allclose(m, want, rtol=1e-12)
    assert int(k) == 0
    np.testing.assert_allclose(fg.jit(counted_down)(0)[1], 0.5)


def test_branches_by_index():
    f = fg.jit(lambda i, x: lax.switch(i, [lambda x: x @ x, lambda x: x, lambda x: fnp.cumsum(x)[:2] + x[:, :2]], x))
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(f(0, x), x @ x)
    np.testing.assert_array_equal(f(1, x), x)
    np.testing.assert_array_equal(f(9, x), np.cumsum(x)[:2] + x)


def test_an_index_error_names_the_users_line():
    def f(x, n):
        def step(c, i):
            c = c.at[i].set(fnp.sum(x @ c))  # out of range in the fourth step
            return c, None

        return lax.scan(step, x[0], fnp.arange(n))[0]

    f = fg.jit(f, static_argnums=1)
    f(np.ones((3, 3)), 3)
    with pytest.raises(IndexError, match=r"3.*axis 0.*3.*test_control\.py"):
        f(np.ones((3, 3)), 4)
    f(np.ones((3, 3)), 3)


def test_host_steps_inside():
    f = fg.jit(lambda x: lax.scan(lambda c, row: (c + fnp.sort(row), fnp.sort(row @ row * c)[0]), x[0], x))
    x = np.random.default_rng(0).normal(size=(5, 4))
    c, ys = f(x)
    want, rows = x[0], []
    for row in x:
        rows.append(np.sort(row @ row * want)[0])
        want = want + np.sort(row)
    np.testing.assert_allclose(c, want)
    np.testing.assert_allclose(ys, rows)
    turns = fg.jit(lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, fnp.sort(-c[1])), (0, np.arange(3.0))))
    np.testing.assert_array_equal(turns(3)[1], [-2, -1, 0])
    np.testing.assert_array_equal(turns(0)[1], [0, 1, 2])
    chosen = fg.jit(lambda p, x: lax.cond(p, lambda x: fnp.sort(x), lambda x: x, x))
    np.testing.assert_array_equal(chosen(True, np.array([2.0, 1.0])), [1, 2])
    np.testing.assert_array_equal(chosen(False, np.array([2.0, 1.0])), [2, 1])


def test_callbacks_inside_happen_once_a_step_in_order():
    seen = []

    def step(c, x):
        fg.debug.callback(lambda v: seen.append(float(v)), c.sum())
        return c + x, None

    f = fg.jit(lambda c, xs: lax.scan(step, c, xs)[0])
    f(np.zeros(2), np.ones((4, 2)))
    assert seen == [0, 2, 4, 6]


class Stopped(KeyboardInterrupt):
    pass


def long(x, n):
    return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] @ c[1] / 3), (0, x))[1]


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals come to the main thread")
@pytest.mark.parametrize("size", [3, 12])  # one kernel; several steps
def test_a_long_loop_can_be_stopped(size):
    def stop(*_):
        raise Stopped

    f, x = fg.jit(long), np.eye(size)
    f(x, 3)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            start = time.perf_counter()
            with pytest.raises(Stopped):
                f(x, 2**62)
            assert time.perf_counter() - start < 5
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert fg.jit(lambda x: x + 1)(1) == 2


def test_a_long_loop_lets_other_threads_run():
    f = fg.jit(lambda x: lax.fori_loop(0, 100_000, lambda i, c: c @ c / 12 + i * 1e-9, x))
    x = np.eye(12)
    f(x)
    done, turns = threading.Event(), 0
    thread = threading.Thread(target=lambda: (f(x).block_until_ready(), done.set()))
    thread.start()
    while not done.is_set():
        turns += 1
        time.sleep(0.0005)
    thread.join()
    assert turns > 3


def test_explain_shows_the_steps_inside():
    e = fg.explain(run)(np.ones((4, 12, 12)))
    assert "4 steps of" in str(e) and any(s.depth == 1 and s.runs == 4 and s.kind == "gemm" for s in e.steps)
    assert len(e.profile(0.05).times) == len(e.steps) and "GFLOP/s" in str(e)
