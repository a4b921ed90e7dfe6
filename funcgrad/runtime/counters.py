"""What the machine wing did, in numbers: kernels compiled, loaded from disk, reused, and steps launched.

`counters.snapshot()` is a dict of the numbers now; `counters.since(snapshot)` is what was added since.
"""

import threading

NAMES = ("compiled", "loaded", "reused", "executables")


class Counters:
    """compiled: kernels that went through the compiler. loaded: kernels read from the disk cache.
    reused: kernels that this process had already. executables: programs made ready to run."""

    def __init__(self):
        self._lock = threading.Lock()
        self.compiled = self.loaded = self.reused = self.executables = 0

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
