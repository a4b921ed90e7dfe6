"""Kernel sources -> addresses: memory first, then disk, then the compiler (several missing kernels side by side).

Enters: source texts. Leaves: addresses of C functions `void kernel(bufs, dims, lo, hi, scratch)`. Each distinct source is
compiled at most once in the life of the cache; equal sources are one kernel.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from funcgrad.core import forking
from funcgrad.core.errors import CompileError
from funcgrad.core.lazy import LazyModule
from funcgrad.runtime import cache, loader, parallel
from funcgrad.runtime.apart import apart
from funcgrad.runtime.counters import counters
from funcgrad.runtime.keys import key_of, symbol_of

compile: Any = LazyModule("funcgrad.runtime.compile", first="numba")  # and numba with it


class _Known:
    lock = threading.RLock()
    address: dict[str, int] = {}  # source -> address


forking.waits_for(forking.KERNELS, _Known.lock)


@dataclass(frozen=True)
class Companion:
    """Something else to compile beside the kernels (the driver): how, and what to do with the code."""

    job: Callable[[], bytes]
    keep: Callable[[bytes], None]
    size: int


def addresses(sources: list[str], beside: Companion | None = None) -> list[int]:
    """The address of each source's kernel. Raises CompileError (after all others are kept) when one cannot be made."""
    missing = [s for s in dict.fromkeys(sources) if s not in _Known.address]
    if missing or beside is not None:
        missing = apart(partial(_make_missing, missing, beside))
    counters.add("reused", len(set(sources)) - len(missing))
    return [_Known.address[s] for s in sources]


def _make_missing(sources: list[str], beside: Companion | None) -> list[str]:
    """Make those that no other thread has made meanwhile; which they were."""
    with _Known.lock:
        missing = [s for s in sources if s not in _Known.address]
        _make(missing, beside)
    return missing


def _make(sources: list[str], beside: Companion | None) -> None:
    disk = cache.disk()
    wanted = []
    for source in sources:
        key = key_of(source)
        code = disk.get(key)
        if code is None:
            wanted.append((source, key))
        else:
            _Known.address[source] = loader.load(symbol_of(key), code)
            counters.add("loaded")
    jobs: list[Callable[[], bytes]] = [partial(compile.compile_source, source, key) for source, key in wanted]
    sizes = [len(source) for source, _ in wanted]
    if beside is not None:
        jobs.append(beside.job)
        sizes.append(beside.size)
    if len(jobs) > 1:
        try:
            compile.warm_helpers([source for source, _ in wanted])
        except CompileError:
            pass  # the kernel that calls it will say so
    failed = None
    answers = parallel.compile_all(jobs, sizes)
    for (source, key), code in zip(wanted, answers, strict=False):
        if isinstance(code, CompileError):
            failed = failed or code
            continue
        disk.put(key, code)
        _Known.address[source] = loader.load(symbol_of(key), code)
        counters.add("compiled")
    if beside is not None:
        if isinstance(answers[-1], CompileError):
            raise answers[-1]
        beside.keep(answers[-1])
    if failed is not None:
        raise failed
