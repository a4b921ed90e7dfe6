"""Object code -> the address of its function.

One LLVM execution engine holds all kernels of the process (40 us and two pages a kernel); code is never unloaded,
since a compiled program may hold its address anywhere.
"""

import os
import threading
from pathlib import Path

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from funcgrad.core import forking
from funcgrad.core.errors import CompileError, message
from funcgrad.runtime.keys import TRIPLE

if hasattr(ffi.lib, "_lock"):
    forking.waits_for(forking.LLVM, ffi.lib._lock)

MAPS, MOST_MAPS = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")
LOOK_FROM, LOOK_EVERY, SPARE = 8192, 256, 4096  # kernels; pieces of memory


class _Engine:
    lock = threading.Lock()
    engine = None
    loaded = 0

    @classmethod
    def load(cls, symbols: list[str], code: bytes) -> list[int]:
        with cls.lock:
            cls.loaded += 1
            if cls.loaded >= LOOK_FROM and cls.loaded % LOOK_EVERY == 0:
                _check_room()
            if cls.engine is None:
                machine = llvm.Target.from_triple(TRIPLE).create_target_machine(opt=0)
                cls.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
            cls.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            cls.engine.finalize_object()
            found = [cls.engine.get_function_address(symbol) for symbol in symbols]
        if not all(found):
            raise CompileError(f"object code without one of its functions {', '.join(symbols)}")
        return found


def _check_room() -> None:
    """LLVM ends the process when the system gives it no more pieces of memory. That is some ten thousand kernels away."""
    try:
        used = len(MAPS.read_bytes().splitlines())
        limit = int(MOST_MAPS.read_text())
    except (OSError, ValueError):
        return  # another system
    if used + SPARE > limit:
        raise CompileError(
            message(
                f"the process has {_Engine.loaded} kernels; it uses {used} of the {limit} pieces of memory that it may have",
                "fewer different kernels in one process",
                "start a new process, or raise the system's vm.max_map_count",
            )
        )


def load(symbol: str, code: bytes) -> int:
    """Make `code` executable; the address of `symbol` in it."""
    return _Engine.load([symbol], code)[0]


def load_all(symbols: list[str], code: bytes) -> list[int]:
    """The same for several functions of one object."""
    return _Engine.load(symbols, code)


def _after_fork() -> None:
    _Engine.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
