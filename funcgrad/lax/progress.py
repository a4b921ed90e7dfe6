"""A progress bar on stderr: one line that is written over, at most ten times a second. tqdm draws it where that is installed."""

import importlib.util
import sys
import time
from typing import Any

from funcgrad.core.lazy import LazyModule

PAUSE = 0.1  # seconds between two pictures
WIDTH = 30

_tqdm = LazyModule("tqdm")


class Bar:
    """The bar of one loop of `total` steps. `moved(last)` says that the step number `last`, from 0, is done."""

    def __init__(self, label: str, total: int):
        self.label, self.total = label, total
        self.start = self.shown = 0.0
        self.before = total  # the last step before this one: smaller steps begin a new run
        self.drawn: Any = None

    def moved(self, last: Any) -> list[Any]:
        """Draw, if it is time; a new bar for each run of the loop."""
        done, now = int(last) + 1, time.monotonic()
        if done <= self.before:
            self.start, self.shown, self.drawn = now, 0.0, None
        if now - self.shown >= PAUSE or done == self.total:
            self.shown = now
            self.draw(done, now - self.start)
        self.before = done
        return []

    def draw(self, done: int, seconds: float) -> None:
        if importlib.util.find_spec("tqdm") is not None:
            if self.drawn is None:
                self.drawn = _tqdm.tqdm(total=self.total, desc=self.label, file=sys.stderr)
            self.drawn.update(done - self.drawn.n)
            if done == self.total:
                self.drawn.close()
            return
        full = WIDTH * done // self.total
        rest = seconds * (self.total - done) / done
        bar = "#" * full + "-" * (WIDTH - full)
        text = f"\r{self.label} [{bar}] {done}/{self.total}, {seconds:.1f} s, {rest:.1f} s to go"
        sys.stderr.write(text + ("\n" if done == self.total else ""))
        sys.stderr.flush()
