"""Kernel sources -> addresses: memory first, then disk, then the compiler (several missing kernels side by side).

Enters: source texts. Leaves: addresses of C functions `void kernel(bufs, dims, lo, hi, scratch)`. Each distinct source is
compiled at most once in the life of the cache; equal sources are one kernel.
"""

import os
import threading

from funcgrad.core.errors import CompileError
from funcgrad.runtime import cache, compile, loader, parallel
from funcgrad.runtime.counters import counters


class _Known:
    lock = threading.RLock()
    address: dict[str, int] = {}  # source -> address


def addresses(sources: list[str]) -> list[int]:
    """The address of each source's kernel. Raises CompileError (after all others are kept) when one cannot be made."""
    missing = [s for s in dict.fromkeys(sources) if s not in _Known.address]
    if missing:
        with _Known.lock:
            missing = [s for s in missing if s not in _Known.address]
            _make(missing)
    counters.add("reused", len(set(sources)) - len(missing))
    return [_Known.address[s] for s in sources]


def _make(sources: list[str]) -> None:
    disk = cache.disk()
    to_compile = []
    for source in sources:
        key = compile.key_of(source)
        code = disk.get(key)
        if code is None:
            to_compile.append(source)
        else:
            _Known.address[source] = loader.load(compile.symbol_of(key), code)
            counters.add("loaded")
    failed = None
    for source, code in zip(to_compile, parallel.compile_all(to_compile), strict=True):
        if isinstance(code, CompileError):
            failed = failed or code
            continue
        key = compile.key_of(source)
        disk.put(key, code)
        _Known.address[source] = loader.load(compile.symbol_of(key), code)
        counters.add("compiled")
    if failed is not None:
        raise failed


def _after_fork() -> None:
    _Known.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
