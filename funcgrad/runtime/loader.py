"""Object code -> the address of its function.

One LLVM execution engine holds all kernels of the process (40 us and two pages a kernel); code is never unloaded,
since a compiled program may hold its address anywhere.
"""

import os
import threading

import llvmlite.binding as llvm

from funcgrad.core.errors import CompileError
from funcgrad.runtime.frontend import TRIPLE


class _Engine:
    lock = threading.Lock()
    engine = None

    @classmethod
    def load(cls, symbols: list[str], code: bytes) -> list[int]:
        with cls.lock:
            if cls.engine is None:
                machine = llvm.Target.from_triple(TRIPLE).create_target_machine(opt=0)
                cls.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
            cls.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            cls.engine.finalize_object()
            found = [cls.engine.get_function_address(symbol) for symbol in symbols]
        if not all(found):
            raise CompileError(f"object code without one of its functions {', '.join(symbols)}")
        return found


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
