"""Counting the invisible: traces, compiles, loads and launches within a block.

with counters() as c:
    step(params)
assert c.traces == 0 and c.compiled == 0
"""

from funcgrad.bridge.counts import counts
from funcgrad.runtime.counters import counters as kernels


class counters:
    """`with counters() as c:` counts what happens inside the block, on all threads.

    Attributes:
      traces: functions that were run on abstract values by `jit`.
      programs: programs made ready to run.
      launches: runs of programs.
      compiled: kernels that went through the compiler (also `compiles`).
      loaded: kernels read from the disk cache (also `loads`).
      reused: kernels that the process had already.
    """

    NAMES = ("traces", "programs", "launches", "compiled", "loaded", "reused")

    def __enter__(self) -> "counters":
        self._start = self._now()
        self._end: dict[str, int] | None = None
        return self

    def __exit__(self, *exc: object) -> None:
        self._end = self._now()

    @staticmethod
    def _now() -> dict[str, int]:
        own = {"traces": counts.traces, "programs": counts.programs, "launches": counts.launches}
        return own | {name: getattr(kernels, name) for name in ("compiled", "loaded", "reused")}

    def _since(self, name: str) -> int:
        return (self._end or self._now())[name] - self._start[name]

    @property
    def traces(self) -> int:
        return self._since("traces")

    @property
    def programs(self) -> int:
        return self._since("programs")

    @property
    def launches(self) -> int:
        return self._since("launches")

    @property
    def compiled(self) -> int:
        return self._since("compiled")

    @property
    def loaded(self) -> int:
        return self._since("loaded")

    @property
    def reused(self) -> int:
        return self._since("reused")

    compiles, loads = compiled, loaded

    def __repr__(self) -> str:
        return "counters(" + ", ".join(f"{name}={self._since(name)}" for name in self.NAMES) + ")"
