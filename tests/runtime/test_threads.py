"""The pool on a machine that is not its own: a thread that is held up makes answers late, never wrong."""

import os
import subprocess
import sys

import pytest

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
