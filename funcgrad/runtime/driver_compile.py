"""The driver's functions -> object code: when it is not on disk yet.

Enters: the names that are called from outside. Leaves: the bytes of an object with driver_work's, driver_walk's and
driver_entries' functions.

Every value of theirs is an int64, so there are no types to infer: each syntax tree is read once, in order, and becomes LLVM's
instructions as it is read. numba's front end, which kernels go through, took 0.41 s of processor time for these 37 functions and
this takes 0.05 s (driver_lower.py).
"""

from ast import FunctionDef, parse
from collections.abc import Sequence

from llvmlite import ir

from funcgrad.runtime import compile, driver_lower
from funcgrad.runtime import driver_layout as layout
from funcgrad.runtime.driver_layout import PREFIX
from funcgrad.runtime.keys import TRIPLE, own_file
from funcgrad.runtime.pointers import I64

PARTS = ("driver_work.py", "driver_walk.py", "driver_entries.py")


def lowered(entries: Sequence[str]) -> str:
    """All functions as the text of one module, in which only `entries` are seen from outside."""
    trees = [tree for part in PARTS for tree in parse(own_file(part)).body if isinstance(tree, FunctionDef)]
    module = ir.Module("driver")
    module.triple = TRIPLE
    module.data_layout = compile.data_layout()
    functions: dict[str, ir.Function] = {}
    for tree in trees:
        kind = ir.FunctionType(I64, [I64] * len(tree.args.args))
        functions[tree.name] = ir.Function(module, kind, PREFIX + tree.name)
        if tree.name not in entries:
            functions[tree.name].linkage = "internal"
    functions["address_of"].attributes.add("alwaysinline")  # of each argument of each record
    functions["run"].attributes.add("noinline")  # once, not in each entry
    constants = {name: value for name, value in vars(layout).items() if isinstance(value, int)}
    for tree in trees:
        driver_lower.lower(tree, functions, constants)
    return str(module)


def compile_driver(entries: Sequence[str]) -> bytes:
    """The driver's object code. LLVM's level 1 takes 0.10 s for it, these few passes 0.01 s; calls take as long with either."""
    return compile.tidy_code(lowered(entries))
