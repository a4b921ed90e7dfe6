"""CUDA's table: the CPU's words over flat arrays.

A kernel has the operands' arrays as arguments, `def kernel(x0, ..., y0, ..., dims, lo, hi, <scratch arrays>, error)`,
and walks its points in a grid-stride loop. `dims` is the CPU's, followed by the start of every buffer in its array (in
elements), so that an operand may begin anywhere in a larger piece of memory. A thread has its own slice of every
scratch array. A nest whose stores may collide (`sequential`) runs on one thread. Bools are bytes. The words and the
mathematical functions are those of the CPU's kernels by name; runtime/cuda.py gives them CUDA's meaning (libdevice).
"""

from funcgrad.codegen.cpu import table
from funcgrad.codegen.target import Spelling, Target


def _cuda_table() -> dict[tuple[str, str], Spelling]:
    t = table()
    t["check", "i64"] = Spelling("check_index(error, {2}, {0}, {1})")
    return t


CUDA = Target("cuda", _cuda_table(), flat_arrays=True)
