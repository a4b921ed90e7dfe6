"""What the machine wing did, in numbers: kernels compiled, loaded from disk, reused; programs made ready; steps run.

`counters.snapshot()` is a dict of the numbers now; `counters.since(snapshot)` is what was added since.
"""

import os
import threading
from collections.abc import Callable

NAMES = ("compiled", "loaded", "reused", "executables", "launches")


class Counters:
    """compiled: kernels that went through the compiler. loaded: kernels read from the disk cache.
    reused: kernels that this process had already. executables: programs made ready to run.
    launches: kernels and matrix products run (the driver counts them)."""

    def __init__(self):
        self._lock = threading.Lock()
        self.compiled = self.loaded = self.reused = self.executables = 0
        self.launches_of: Callable[[], int] = int  # the driver's count, once there is a driver

    @property
    def launches(self) -> int:
        return self.launches_of()

    def add(self, name: str, n: int = 1) -> None:
        with self._lock:
            setattr(self, name, getattr(self, name) + n)

    def snapshot(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in NAMES}

    def since(self, earlier: dict[str, int]) -> dict[str, int]:
        return {name: getattr(self, name) - earlier[name] for name in NAMES}

    def __repr__(self) -> str:
        return "Counters(" + ", ".join(f"{k}={v}" for k, v in self.snapshot().items()) + ")"


counters = Counters()


def _after_fork() -> None:
    counters._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
