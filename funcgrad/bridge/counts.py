"""What the bridge did, in numbers: traces of functions, programs made ready, calls that ran a program."""

import threading


class Counts:
    """traces: functions staged. programs: Jaxprs made ready to run."""

    __slots__ = ("traces", "programs", "_lock")

    def __init__(self) -> None:
        self.traces = self.programs = 0
        self._lock = threading.Lock()

    def add(self, name: str) -> None:
        with self._lock:
            setattr(self, name, getattr(self, name) + 1)


counts = Counts()
