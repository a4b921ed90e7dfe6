"""What a row is, and the clock. In: a body. Out: answers and seconds. Nothing here knows which library runs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Case:
    """A built body: `call()` does the work once and returns when the result is there; both sides must agree on `answer()`."""

    call: Callable[[], Any]
    answer: Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """One line of the table.

    how    "rounds": `body(lib)` gives a Case whose call is timed many times, in a process that stays.
           "first":  `body(lib)` gives a Case whose first call is timed, in a new process each round.
           "number": `body(lib)` measures by itself and returns the number in `unit`, in a new process each round.
    cache  "shared" (what the process finds), "empty" (a new, empty kernel cache), "filled" (filled by a run just before).
    limit  the ratio to the peer that the row should not exceed.
    at_most  the value, in `unit`, that it should not exceed whatever the peer does.

    Bodies of "number" rows take `small=True` under --once and then only show that they run.
    """

    name: str
    body: Callable[..., Any]
    how: Literal["rounds", "first", "number"] = "rounds"
    unit: str = "us"
    cache: Literal["shared", "empty", "filled"] = "shared"
    peer: bool = True
    limit: float | None = 1.0
    at_most: float | None = None
    rtol: float = 1e-4
    atol: float = 1e-5


UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6}


def seconds_per_call(call: Callable[[], Any], budget: float) -> float:
    """Median seconds of one call: samples of at least a millisecond (or one call), for about `budget` seconds."""
    start = time.perf_counter()
    call()
    once = time.perf_counter() - start
    count = max(1, int(1e-3 / max(once, 1e-7)))
    samples: list[float] = []
    end = time.perf_counter() + budget
    while not samples or (time.perf_counter() < end and len(samples) < 2000):
        start = time.perf_counter()
        for _ in range(count):
            call()
        samples.append((time.perf_counter() - start) / count)
    return statistics.median(samples)


def first_call(case: Case) -> float:
    start = time.perf_counter()
    case.call()
    return time.perf_counter() - start
