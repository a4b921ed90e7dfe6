"""The pool on a machine that is not its own: a thread that is held up makes answers late, never wrong."""

import os
import subprocess
import sys

import pytest

from funcgrad.runtime import threads

HELD_UP = """
import os, subprocess, sys
import numpy as np
import funcgrad as fg
a = np.random.default_rng(0).normal(size=(700, 700)).astype(np.float32)
product = fg.jit(lambda x, y: x @ y)
chain = fg.jit(lambda x: fg.numpy.tanh(x * 2 + 1))
want, bent = a @ a, np.tanh(a * 2 + 1)
product(a, a)
first, second = sorted(os.sched_getaffinity(0))[:2]
for task in map(int, os.listdir("/proc/self/task")):
    os.sched_setaffinity(task, {first if task == os.getpid() else second})
loop = f"import os; os.sched_setaffinity(0, {{{second}}})\\nwhile os.getppid() != 1: pass"
hog = subprocess.Popen([sys.executable, "-c", loop])
try:
    for _ in range(6):
        np.testing.assert_allclose(product(a, a), want, rtol=1e-3, atol=1e-2)
        np.testing.assert_allclose(chain(a), bent, rtol=1e-5)
finally:
    hog.kill()
print("right")
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity") or (os.cpu_count() or 1) < 2, reason="needs two processors to pin to")
def test_a_worker_that_is_held_up():
    done = subprocess.run(
        [sys.executable, "-c", HELD_UP],
        env=os.environ | {"FUNCGRAD_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.stdout.strip() == "right", done.stderr[-2000:]


@pytest.mark.parametrize(
    "results, flops, chunk",
    [
        (1000, 1e4, 62),  # many small products: some chunks for each thread
        (1000, 10.0, 0),  # so small that one thread does them
        (28, 1e8, 1),  # four threads, seven rounds
        (6, 1e9, 0),  # of the second round two threads would have nothing: each product is shared out
        (6, 1e6, 1),  # small ones are not worth that
        (3, 1e9, 0),
    ],
)
def test_how_a_batch_of_products_is_shared_out(results, flops, chunk, monkeypatch):
    monkeypatch.setattr(threads, "threads", lambda: 4)
    assert threads.batch_chunk(results, flops) == chunk
    monkeypatch.setattr(threads, "threads", lambda: 1)
    assert threads.batch_chunk(results, flops) == 0


QUIET = """
import os, time
import numpy as np, funcgrad as fg, funcgrad.numpy as fnp
from funcgrad.runtime import driver_layout as layout, threads
from funcgrad.runtime.driver import driver

f = fg.jit(lambda x: fnp.tanh(x) * fnp.exp(-x * x))
x = np.linspace(-1, 1, 1 << 20)
want = f(x)
words = driver().pool_words()
word = lambda offset: int(words[offset // 8])
jobs = word(layout.P_SEQUENCE)
assert jobs > 0
# A thread of the pool goes to sleep when there is nothing to do.
time.sleep(0.05)
before = time.process_time()
time.sleep(0.4)
used = time.process_time() - before
assert used < 0.1, used
assert word(layout.P_SLEEPERS) == threads.most() - 1
# While the processors are known to be busy, nothing is shared out; the answers have the same bits.
words[layout.P_REST // 8] = time.monotonic_ns() + 10**12
again = f(x)
assert word(layout.P_SEQUENCE) == jobs
assert np.asarray(again).tobytes() == np.asarray(want).tobytes()
words[layout.P_REST // 8] = 0
f(x)
assert word(layout.P_SEQUENCE) > jobs
print("ok")
"""


@pytest.mark.skipif(threads.available() < 2, reason="one processor has no pool")
def test_the_pool_rests():
    env = os.environ | {"FUNCGRAD_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", QUIET], env=env, capture_output=True, text=True, timeout=240)
    assert done.stdout.strip() == "ok", done.stdout + done.stderr
