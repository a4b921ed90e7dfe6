"""Kernel sources -> addresses: memory first, then disk, then the compiler (several missing kernels side by side).

Enters: source texts. Leaves: addresses of C functions `void kernel(bufs, dims, lo, hi, scratch)`. Each distinct source is
compiled at most once in the life of the cache; equal sources are one kernel.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from funcgrad.core.errors import CompileError
from funcgrad.runtime import cache, compile, loader, parallel
from funcgrad.runtime.apart import apart
from funcgrad.runtime.counters import counters


class _Known:
    lock = threading.RLock()
    address: dict[str, int] = {}  # source -> address


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
        key = compile.key_of(source)
        code = disk.get(key)
        if code is None:
            wanted.append((source, key))
        else:
            _Known.address[source] = loader.load(compile.symbol_of(key), code)
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
        _Known.address[source] = loader.load(compile.symbol_of(key), code)
        counters.add("compiled")
    if beside is not None:
        if isinstance(answers[-1], CompileError):
            raise answers[-1]
        beside.keep(answers[-1])
    if failed is not None:
        raise failed


class _Fork:
    """A fork waits for the compiles of other threads: of all that they are in the middle of (locks of the standard library's
    too), a child would never see the end. (parallel.py does the same for compilers that are not ours.)"""

    held: list[threading.RLock] = []  # type: ignore[valid-type]

    @classmethod
    def before(cls) -> None:
        lock = _Known.lock
        lock.acquire()
        cls.held.append(lock)

    @classmethod
    def after_in_parent(cls) -> None:
        if cls.held:
            cls.held.pop().release()

    @classmethod
    def after_in_child(cls) -> None:
        cls.held.clear()
        _Known.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_Fork.before, after_in_parent=_Fork.after_in_parent, after_in_child=_Fork.after_in_child)
