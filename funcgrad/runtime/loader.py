"""Object code -> the address of its function.

One LLVM linker holds all kernels of the process (0.26 ms and ten pages a kernel); code is never unloaded, since a compiled
program may hold its address anywhere. It is LLVM's newer one, which lays out each object in one piece. The older (MCJIT) takes
a third of the time, but may put an object's constants more than 2 GB from its code, which cannot reach them there, and then ends
the process.
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
                machine = llvm.Target.from_triple(TRIPLE).create_target_machine(opt=0, jit=True)
                cls.engine = llvm.create_lljit_compiler(machine, use_jit_link=True)
            linking = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
            for symbol in symbols:
                linking.export_symbol(symbol)
            try:
                library = linking.link(cls.engine, f"kernel {cls.loaded}")
            except RuntimeError as error:
                raise CompileError(f"object code with the functions {', '.join(symbols)} was not linked: {error}") from error
            found = [library[symbol] for symbol in symbols]
            library.detach()  # else the code would go with this object
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
