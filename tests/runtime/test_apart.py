"""Compiles that are disturbed: Ctrl-C, a deep stack, a fork. In processes of their own, whose caches are empty."""

import os
import subprocess
import sys

import pytest

from funcgrad.runtime.apart import apart

HEAD = """
import faulthandler, os, signal, sys, threading, time, traceback, warnings
import numpy as np
import funcgrad as fg, funcgrad.numpy as fnp
warnings.simplefilter("error")

def fresh(k):  # a program with a kernel of its own
    f = (fnp.sin, fnp.cos, fnp.exp, fnp.tanh, fnp.log1p, fnp.arctan)
    g = lambda x: f[k % 6](f[k // 6 % 6](f[k // 36 % 6](x))).sum()
    x = np.linspace(0.1, 0.9, 20)
    assert np.isclose(float(fg.jit(g)(x)), float(g(fnp.asarray(x)))), k
"""


def run(tmp_path, text):
    env = {**os.environ, "FUNCGRAD_CACHE_DIR": str(tmp_path), "FUNCGRAD_COMPILE_WORKERS": "2"}
    done = subprocess.run([sys.executable, "-c", HEAD + text], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]


def test_ctrl_c_leaves_the_compiler_whole(tmp_path):
    """At any moment of the first compile, and of later ones: nothing crashes, and what comes next compiles."""
    run(
        tmp_path,
        """
def interrupted(seconds, k):
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        fresh(k)
        time.sleep(0.1)
    except KeyboardInterrupt:
        return 1
    return 0

signal.signal(signal.SIGALRM, signal.default_int_handler)
assert sum(interrupted(0.02 + 0.013 * k, k) for k in range(20)) > 9
signal.setitimer(signal.ITIMER_REAL, 0)
for k in range(10):
    fresh(k)
""",
    )


def test_a_deep_stack_does_not_break_a_compile(tmp_path):
    run(
        tmp_path,
        """
def deep(n, k):
    return deep(n - 1, k) if n else fresh(k)

limit, k = sys.getrecursionlimit(), 0
for room in range(10, 400, 26):
    try:
        deep(limit - room, k := k + 1)
    except RecursionError:
        pass
for k in range(10):
    fresh(k)
""",
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_while_others_compile_compiles(tmp_path):
    run(
        tmp_path,
        """
warnings.simplefilter("ignore")  # Python warns of forks in processes with threads
fresh(0)
stop = False
def busy(start):
    k = start
    while not stop and k < start + 100:
        fresh(k := k + 1)
threads = [threading.Thread(target=busy, args=(n,)) for n in (1, 101)]
for t in threads: t.start()
for n in range(8):
    pid = os.fork()
    if not pid:
        faulthandler.dump_traceback_later(30, exit=True)
        try:
            fresh(202 + n)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    status = os.waitpid(pid, 0)[1]
    assert status == 0, (n, status)
stop = True
for t in threads: t.join()
""",
    )


def test_apart_gives_what_the_work_gives():
    assert apart(lambda: 7) == 7
    with pytest.raises(KeyError, match="mine"):
        apart(lambda: {}["mine"])
