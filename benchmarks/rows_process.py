"""What a process pays: the import, and memory that does not come back."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks._library import Library
from benchmarks._row import Row

_PAGE = os.sysconf("SC_PAGE_SIZE")


def _import_ms(statement: str) -> float:
    """Wall milliseconds of a new interpreter that runs one import, less those of one that runs nothing."""

    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=env)
        return time.perf_counter() - start

    run(statement)
    return 1e3 * (min(run(statement) for _ in range(3)) - min(run("pass") for _ in range(3)))


def import_library(lib: Library, small: bool = False) -> float:
    return _import_ms(f"import {lib.name}")


def import_foundation(lib: Library, small: bool = False) -> float:
    return _import_ms("import numpy, numba, scipy.linalg")


def _resident_mib() -> float:
    gc.collect()
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * _PAGE / 2**20


def _growth(work: Callable[[int], None], warm: int, count: int) -> float:
    for i in range(warm):
        work(i)
    before = _resident_mib()
    for i in range(warm, warm + count):
        work(i)
    return _resident_mib() - before


def growth_of_steps(lib: Library, small: bool = False) -> float:
    """MiB after 100,000 calls of one jitted function, each on the last one's result."""
    f = lib.jit(lambda x: x * 0.5 + 1)
    state = [lib.put(np.zeros(1000, np.float32))]

    def work(i: int) -> None:
        state[0] = f(state[0])

    return _growth(work, 100, 100 if small else 100_000)


def growth_of_lambdas(lib: Library, small: bool = False) -> float:
    """MiB after 10,000 jitted lambdas, each made, called once and dropped."""
    x = lib.put(np.zeros(10, np.float32))

    def work(i: int) -> None:
        lib.jit(lambda x: x * 2 + 1)(x).block_until_ready()

    return _growth(work, 100, 100 if small else 10_000)


ROWS = [
    Row("import", import_library, how="number", unit="ms", limit=None),
    Row("import of numpy, numba, scipy.linalg", import_foundation, how="number", unit="ms", peer=False),
    Row("memory after 100,000 jitted steps", growth_of_steps, how="number", unit="MiB", peer=False, at_most=5.0),
    Row("memory after 10,000 jitted lambdas", growth_of_lambdas, how="number", unit="MiB", peer=False, at_most=5.0),
]
