"""The driver's functions -> object code: when it is not on disk yet.

Enters: the names that are called from outside. Leaves: the bytes of an object with driver_work's, driver_walk's and
driver_entries' functions, compiled as kernels are.
"""

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
from numba.core import cgutils, types

from funcgrad.runtime import compile, driver_entries, driver_walk, driver_work, frontend, system_words
from funcgrad.runtime import driver_layout as layout
from funcgrad.runtime.driver_layout import PREFIX
from funcgrad.runtime.pointers import Word

PARTS = (driver_work, driver_walk, driver_entries)


def _functions() -> dict[str, FunctionType]:
    """The driver's functions, by name."""
    found = [f for part in PARTS for f in vars(part).values() if isinstance(f, FunctionType)]
    return {f.__name__: f for f in found}


def _function_word(name: str, arity: int) -> Word:
    def build(context, builder, sig, values):
        values = [context.cast(builder, v, t, types.int64) for v, t in zip(values, sig.args, strict=True)]
        kind = context.call_conv.get_function_type(types.int64, (types.int64,) * arity)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, PREFIX + name), values)

    def typer(typingctx, *given):
        return types.int64(*given), build

    word = Word(name, typer)
    word.arity = arity
    return word


def compile_driver(entries: Sequence[str]) -> bytes:
    """The driver's object code. Level 1: its loops are short, and the vectoriser would take half of the time."""
    functions = _functions()
    names: dict[str, Any] = {k: v for k, v in vars(layout).items() if isinstance(v, int)}
    names.update(system_words.SYSTEM)
    names.update({name: _function_word(name, f.__code__.co_argcount) for name, f in functions.items()})
    whole = llvm.parse_assembly("")
    for name, f in functions.items():
        arguments = (types.int64,) * f.__code__.co_argcount
        text, _ = frontend.lower_function(FunctionType(f.__code__, names, name), arguments, PREFIX + name, types.int64)
        whole.link_in(llvm.parse_assembly(text))
    for function in whole.functions:
        if not function.is_declaration and function.name.removeprefix(PREFIX) not in entries:
            function.linkage = "internal"
    whole.get_function(PREFIX + "run").add_function_attribute("noinline")  # once, not in each entry
    return compile.machine_code(whole, level=1)
