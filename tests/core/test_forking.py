"""A fork waits for what a child must not find half done."""

import os
import sys
import threading
import time

import pytest

from funcgrad.core import forking
from funcgrad.core.lazy import LazyModule

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

SLOW = """
import time
started = True
time.sleep(0.5)
value = 7
"""


def forked(work):
    """The exit status of a child that does `work`; it is given up after ten seconds."""
    pid = os.fork()
    if not pid:
        try:
            os._exit(work())
        finally:
            os._exit(99)
    limit = time.monotonic() + 10
    while time.monotonic() < limit:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return None


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_made_during_a_lazy_import_can_import(tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text(SLOW)
    monkeypatch.syspath_prepend(tmp_path)
    lazy = LazyModule("slow_to_import")
    thread = threading.Thread(target=lambda: lazy.value)
    thread.start()
    while not getattr(sys.modules.get("slow_to_import"), "started", False):
        time.sleep(0.001)
    assert forked(lambda: LazyModule("slow_to_import").value) == 7
    thread.join()
    assert lazy.value == 7


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_locks_are_taken_in_order_and_given_back(monkeypatch):
    taken = []

    class Lock:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            taken.append(self.name)

        def __exit__(self, *error):
            taken.append("-" + self.name)

    monkeypatch.setattr(forking, "_locks", {})
    for order, name in ((forking.LLVM, "llvm"), (forking.KERNELS, "kernels"), (forking.COMPILER, "compiler")):
        forking.waits_for(order, Lock(name))
    expected = ["kernels", "compiler", "llvm", "-llvm", "-compiler", "-kernels"]
    assert forked(lambda: int(taken == expected)) == 1
    assert taken == expected
