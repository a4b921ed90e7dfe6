"""Source text -> object code.

Enters: kernels as source text (one `def` in the words of intrinsics.py; it may call the helpers of
codegen/vecmath.py). Leaves: for each, the bytes of an ELF (or Mach-O, COFF) object with one C function.

A kernel goes: its syntax tree (kernel_tree.py), numba's typing and lowering (frontend.py) -> LLVM text -> helpers linked in ->
O2 with the vectoriser -> alias metadata dropped -> machine code. Processor time of a two-loop kernel on a Xeon core: 6 ms front
end, 8 ms LLVM passes, 10 ms machine code, of which a third to a half is LLVM's loop strength reduction; the first compile of a
process costs 30 ms more. By way of bytecode, as numba reads functions, the front end took 12 ms.

A helper is compiled once, to bitcode that is kept on disk like a kernel; a kernel that calls it pays for linking
(0.2 ms) and not for typing, and the body is inlined into the kernel's loop before the vectoriser runs.
"""

import ast
import os
import re
import threading
from collections import Counter
from collections.abc import Sequence
from types import FunctionType
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from numba.core import cgutils, types
from numba.core.compiler_lock import global_compiler_lock

from funcgrad.codegen.vecmath import HELPERS, closure
from funcgrad.core import forking
from funcgrad.core.errors import CompileError
from funcgrad.runtime import cache, frontend, intrinsics, pointers
from funcgrad.runtime.kernel_tree import Kernel
from funcgrad.runtime.keys import TRIPLE, digest_of, helpers_of, host, key_of, symbol_of
from funcgrad.runtime.pointers import DTYPES, Word

forking.waits_for(forking.COMPILER, global_compiler_lock)

KERNEL_ARGUMENTS = (pointers.TABLE, pointers.DIMS, types.int64, types.int64, pointers.SCRATCH)
HELPER = "fg.helper."
_TYPES = DTYPES | {"buffers": pointers.TABLE, "dims": pointers.DIMS, "scratch": pointers.SCRATCH, "nothing": types.none}
# Failures that say nothing of the kernel: the next attempt may succeed.
PASSING = (MemoryError, RecursionError)
# What a kernel may leave for the loader to find: the C library's part that LLVM itself calls.
EXTERNAL = frozenset("fmod fmodf memset memcpy memmove".split())
EXTERNAL |= frozenset("hypot hypotf tgamma tgammaf log2 log2f log10 log10f".split())  # what users' functions call

_ALIAS = re.compile(r", !(?:alias\.scope|noalias) !\d+")
_FLOAT_OP = re.compile(r"= (fadd|fsub|fmul) (?=float|double)")
USER = "fg.user."
_USER_USE = re.compile(r'@"(fg\.user\.user_[0-9a-f]+)"')
_USER_NAME = re.compile(r"\b(user_[0-9a-f]{32})\(")
_HELPER_USE = re.compile(r'@"(fg\.helper\.[^"]+)"')


# ---- the machine --------------------------------------------------------------------------------------------


class _Machine:
    """The target machine and pass pipelines; LLVM objects are made at the first use."""

    made = None

    def __init__(self):
        name, features = host()
        target = llvm.Target.from_triple(TRIPLE)
        self.machine = target.create_target_machine(cpu=name, features=features, opt=2, reloc="pic", codemodel="small")
        # LLVM prefers 256-bit vectors for most Intel processors; the first ones with AVX-512 slow down with wider ones
        wide = "+avx512f" in features.split(",") and name not in ("skylake-avx512", "cascadelake", "cooperlake")
        self.attributes = '"prefer-vector-width"="512"' if wide else ""

    @classmethod
    def get(cls) -> "_Machine":
        if cls.made is None:
            cls.made = cls()
        return cls.made

    def optimise(self, module) -> None:
        tuning = llvm.create_pipeline_tuning_options(speed_level=2)
        tuning.loop_vectorization = tuning.loop_interleaving = tuning.loop_unrolling = True
        # The vectoriser of straight lines moves loads below stores where the metadata calls them apart: an output that lies in
        # an input's memory would be written before that input is read (pointers.py).
        tuning.slp_vectorization = False
        builder = llvm.create_pass_builder(self.machine, tuning)
        builder.getModulePassManager().run(module, builder)

    def tidy(self, module) -> None:
        """Enough for a helper that will be optimised again inside a kernel, and for the driver."""
        builder = llvm.create_pass_builder(self.machine, llvm.create_pipeline_tuning_options(speed_level=2))
        manager = llvm.create_new_module_pass_manager()
        manager.add_always_inliner_pass()
        manager.add_sroa_pass()
        manager.add_instruction_combine_pass()
        manager.add_simplify_cfg_pass()
        manager.add_global_dead_code_eliminate_pass()
        manager.run(module, builder)


def data_layout() -> str:
    """How the machine lays out its data, in LLVM's words."""
    return str(_Machine.get().machine.target_data)


def _prepare(text: str):
    """A module from the front end's text: float arithmetic may contract to fused multiply-add, and nothing more."""
    return llvm.parse_assembly(_FLOAT_OP.sub(r"= \1 contract ", text))


# ---- helpers ------------------------------------------------------------------------------------------------


class Linked(NamedTuple):
    """A function from elsewhere that kernels may call: codes of its arguments and result, and its LLVM code."""

    args: tuple[str, ...]
    result: str
    bitcode: bytes


# Functions of the user's, by name (user_kernels.py puts them here). A name says the content.
EXTERNALS: dict[str, Linked] = {}


def _absorb(module, symbol: str) -> None:
    """A function that was linked in is to be inlined."""
    function = module.get_function(symbol)
    function.linkage = "internal"
    function.add_function_attribute("alwaysinline")


class _Helpers:
    """Bitcode of the helpers that this process has used."""

    def __init__(self):
        self.known: dict[str, bytes] = {}
        self.lock = threading.RLock()

    def bitcode(self, name: str) -> bytes:
        if name not in self.known:
            with self.lock:
                if name not in self.known:
                    self.known[name] = self._make(name)
        return self.known[name]

    def _make(self, name: str) -> bytes:
        key = digest_of("helper " + name, [name])
        stored = cache.disk().get(key)
        if stored is not None:
            return stored
        helper = HELPERS[name]
        arguments = tuple(DTYPES[code] for code in helper.args)
        try:
            text, _ = frontend.lower_function(function_from(helper.source), arguments, HELPER + name, DTYPES[helper.result])
        except PASSING:
            raise
        except Exception as error:
            raise CompileError(f"a helper did not compile: {error}\n\n{helper.source}") from error
        module = _prepare(text)
        self.link(module, text, but=HELPER + name)
        _Machine.get().tidy(module)
        bitcode = module.as_bitcode()
        cache.disk().put(key, bitcode)
        return bitcode

    def link(self, module, text: str, but: str = "") -> None:
        """Bring the helpers that `text` calls into `module`, to be inlined."""
        for symbol in sorted(set(_HELPER_USE.findall(text)) - {but}):
            module.link_in(llvm.parse_bitcode(self.bitcode(symbol.removeprefix(HELPER))))
            _absorb(module, symbol)
        for symbol in sorted(set(_USER_USE.findall(text))):
            module.link_in(llvm.parse_bitcode(EXTERNALS[symbol.removeprefix(USER)].bitcode))
            _absorb(module, symbol)


_helpers = _Helpers()


def _after_fork() -> None:
    _helpers.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _helper_word(name: str, helper: Any = None, prefix: str = HELPER) -> Word:
    """A helper as a word: a call that the linker resolves."""
    helper = helper or HELPERS[name]
    arguments, result = tuple(_TYPES[code] for code in helper.args), _TYPES[helper.result]

    def build(context, builder, sig, values):
        kind = context.call_conv.get_function_type(result, arguments)
        answer = builder.call(cgutils.get_or_insert_function(builder.module, kind, prefix + name), values)
        return context.get_dummy_value() if result == types.none else answer

    def typer(typingctx, *given):
        if tuple(types.unliteral(t) for t in given) == arguments:
            return result(*arguments), build
        return None

    word = Word(name, typer)
    word.arity = len(arguments)
    return word


NAMES = {**intrinsics.NAMESPACE, **{name: _helper_word(name) for name in HELPERS}}


def warm_helpers(sources: Sequence[str]) -> None:
    """Make the helpers that several kernels share, once, before forked compilers each make their own."""
    users = Counter(name for source in sources for name in closure(helpers_of(source)))
    for name in closure([name for name, count in users.items() if count > 1]):
        _helpers.bitcode(name)


# ---- kernels ------------------------------------------------------------------------------------------------


def function_from(source: str) -> Kernel:
    """The function that a source defines."""
    names = NAMES | {name: _helper_word(name, EXTERNALS[name], USER) for name in set(_USER_NAME.findall(source))}
    tree = ast.parse(source, "<kernel>")
    exec(compile(tree, "<kernel>", "exec"), names)
    made = [v for v in names.values() if isinstance(v, FunctionType) and v.__code__.co_filename == "<kernel>"]
    if len(made) != 1:
        raise CompileError(f"a kernel's source defines one function, this one defines {len(made)}:\n{source}")
    return Kernel(made[0], next(node for node in tree.body if isinstance(node, ast.FunctionDef)))


def _lowered(source: str, symbol: str):
    """A kernel's module with its helpers, not yet optimised."""
    text, _ = frontend.lower_function(function_from(source), KERNEL_ARGUMENTS, symbol)
    module = _prepare(text.replace(")\n{", f") nounwind {_Machine.get().attributes}\n{{", 1))
    _helpers.link(module, text)
    return module


def _check_linked(module) -> None:
    declared = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    missing = [name for name in declared if name not in EXTERNAL]
    if missing:
        raise CompileError(f"a kernel calls {', '.join(missing)}, which no library provides")


def _optimise(module) -> str:
    """The optimised text of a module, alias metadata still in it."""
    _Machine.get().optimise(module)
    _check_linked(module)
    return str(module)


def machine_code(module) -> bytes:
    """Optimise and translate. Without the alias metadata the code generator keeps loads and stores in order."""
    module = llvm.parse_assembly(_ALIAS.sub("", _optimise(module)))
    return _Machine.get().machine.emit_object(module)


def tidy_code(text: str) -> bytes:
    """Machine code of a module without loops over elements: what is worth optimising in it takes a tenth of the time."""
    module = llvm.parse_assembly(text)
    _Machine.get().tidy(module)
    _check_linked(module)
    return _Machine.get().machine.emit_object(module)


def compile_source(source: str, key: str | None = None) -> bytes:
    """Object code of one kernel; its symbol is `symbol_of(key)`. CompileError carries the source."""
    symbol = symbol_of(key or key_of(source))
    try:
        return machine_code(_lowered(source, symbol))
    except PASSING:
        raise
    except Exception as error:
        raise CompileError(f"a kernel did not compile: {error}\n\n{source}") from error


def optimised(source: str) -> str:
    """A kernel's optimised LLVM text, to look at."""
    return _optimise(_lowered(source, "kernel"))


def assembly(source: str) -> str:
    """A kernel's machine code in words, to look at."""
    return _Machine.get().machine.emit_assembly(llvm.parse_assembly(_ALIAS.sub("", optimised(source))))
