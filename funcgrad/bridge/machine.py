"""The door to the machine wing: what makes an executable of a Jaxpr.

`runner.py` opens it for the first program of a process, so that an import of the package does not wait for passes, loops,
codegen, runtime and LLVM. numba comes later still: when something is compiled that is not on disk (runtime/kernels.py).
"""

from funcgrad.loops import interpreter
from funcgrad.loops.compile import compile_program
from funcgrad.passes import simplify
from funcgrad.runtime.executable import load

__all__ = ["compile_program", "interpreter", "load", "simplify"]
