"""What the bridge did, in numbers: traces of functions, programs made ready, programs run.

Counting must cost next to nothing on the fast road, so a call there only draws from an `itertools.count` of its trace (22 ns,
atomic); the sum is made when somebody asks.
"""

import itertools
import threading
import weakref
from typing import Any


def drawn(counter: Any) -> int:
    """How many numbers were drawn from an itertools.count() that started at 0."""
    return int(repr(counter)[6:-1])


class Counts:
    """traces: functions staged. programs: Jaxprs made ready to run. launches: runs of programs."""

    __slots__ = ("traces", "programs", "_general", "tick", "_lost", "_lock", "_staged")

    def __init__(self) -> None:
        self.traces = self.programs = self._lost = 0
        self._general = itertools.count()
        self.tick = self._general.__next__  # one run on the general road
        self._lock = threading.Lock()
        self._staged: weakref.WeakSet[Any] = weakref.WeakSet()

    def add(self, name: str) -> None:
        with self._lock:
            setattr(self, name, getattr(self, name) + 1)

    def reset_lock(self) -> None:
        """In a forked child."""
        self._lock = threading.Lock()

    def watch(self, staged: Any) -> None:
        """Count the fast calls of a trace too, also when it is gone."""
        self._staged.add(staged)
        weakref.finalize(staged, self._lose, staged.fast_counter).atexit = False

    def _lose(self, counter: Any) -> None:
        self._lost += drawn(counter)

    @property
    def launches(self) -> int:
        return drawn(self._general) + self._lost + sum(drawn(s.fast_counter) for s in list(self._staged))


counts = Counts()
