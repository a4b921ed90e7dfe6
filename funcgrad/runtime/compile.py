"""Source text -> object code.

Enters: kernels as source text (one `def` in the words of intrinsics.py; it may call the helpers of
codegen/vecmath.py). Leaves: for each, the bytes of an ELF (or Mach-O, COFF) object with one C function.

A kernel goes: numba's typing and lowering (frontend.py) -> LLVM text -> helpers linked in -> O2 with the vectoriser ->
alias metadata dropped -> machine code. Figures for a two-loop kernel on a Zen 5 core: 14 ms front end, 10 ms LLVM passes,
10 ms machine code; the first compile of a process costs 15 ms more. numba's own `cfunc` takes 60-65 ms, and 250 ms more the first time.

A helper is compiled once, to bitcode that is kept on disk like a kernel; a kernel that calls it pays for linking
(0.2 ms) and not for typing, and the body is inlined into the kernel's loop before the vectoriser runs.
"""

import hashlib
import platform
import re
import threading
from functools import lru_cache
from pathlib import Path
from types import FunctionType

import llvmlite
import llvmlite.binding as llvm
import numba
from numba.core import cgutils, types

from funcgrad.core.errors import CompileError
from funcgrad.runtime import cache, frontend, intrinsics
from funcgrad.runtime.intrinsics import DTYPES, Word

try:
    from funcgrad.codegen import vecmath
except ImportError:
    vecmath = intrinsics

KERNEL_ARGUMENTS = (intrinsics.TABLE, intrinsics.DIMS, types.int64, types.int64, intrinsics.SCRATCH)
HELPER = "fg.helper."
SHORT = {str(dtype): name for name, dtype in DTYPES.items()}
# What a kernel may leave for the loader to find: the C library's part that LLVM itself calls.
EXTERNAL = frozenset("fmod fmodf memset memcpy memmove".split())

_ALIAS = re.compile(r", !(?:alias\.scope|noalias) !\d+")
_FLOAT_OP = re.compile(r"= (fadd|fsub|fmul) (?=float|double)")
_HELPER_USE = re.compile(r'@"(fg\.helper\.[^"]+)"')


# ---- the machine --------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def host() -> tuple[str, str]:
    """(CPU name, feature list) of this machine, in LLVM's words."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@lru_cache(maxsize=1)
def fingerprint() -> bytes:
    """Everything but the source that object code depends on: versions, processor, and the compiler's own files."""
    digest = hashlib.sha256()
    name, features = host()
    parts = [numba.__version__, llvmlite.__version__, platform.python_version(), frontend.TRIPLE, name, features]
    digest.update("\n".join(parts).encode())
    for module in (intrinsics, frontend, vecmath):
        digest.update(Path(module.__file__).read_bytes())
    digest.update(Path(__file__).read_bytes())
    return digest.digest()


def key_of(source: str) -> str:
    """The name under which a kernel's object code is kept."""
    return hashlib.sha256(fingerprint() + source.encode()).hexdigest()


class _Machine:
    """The target machine and pass pipelines; LLVM objects are made at the first use."""

    made = None

    def __init__(self):
        name, features = host()
        target = llvm.Target.from_triple(frontend.TRIPLE)
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
        tuning.loop_vectorization = tuning.loop_interleaving = tuning.loop_unrolling = tuning.slp_vectorization = True
        builder = llvm.create_pass_builder(self.machine, tuning)
        builder.getModulePassManager().run(module, builder)

    def tidy(self, module) -> None:
        """Enough for a helper that will be optimised again inside a kernel."""
        builder = llvm.create_pass_builder(self.machine, llvm.create_pipeline_tuning_options(speed_level=2))
        manager = llvm.create_new_module_pass_manager()
        manager.add_always_inliner_pass()
        manager.add_sroa_pass()
        manager.add_instruction_combine_pass()
        manager.add_simplify_cfg_pass()
        manager.add_global_dead_code_eliminate_pass()
        manager.run(module, builder)


def _prepare(text: str):
    """A module from the front end's text: float arithmetic may contract to fused multiply-add, and nothing more."""
    return llvm.parse_assembly(_FLOAT_OP.sub(r"= \1 contract ", text))


# ---- helpers ------------------------------------------------------------------------------------------------


class _Helpers:
    """Compiled helpers of this process: symbol -> (return type, bitcode)."""

    def __init__(self):
        self.units: dict[str, tuple[types.Type, bytes]] = {}
        self.lock = threading.RLock()

    def unit(self, function: FunctionType, arguments: tuple[types.Type, ...]) -> tuple[str, types.Type]:
        symbol = HELPER + function.__name__ + "." + ".".join(SHORT[str(t)] for t in arguments)
        if symbol not in self.units:
            with self.lock:
                if symbol not in self.units:
                    self.units[symbol] = self._make(symbol, function, arguments)
        return symbol, self.units[symbol][0]

    def _make(self, symbol, function, arguments):
        key = hashlib.sha256(fingerprint() + symbol.encode()).hexdigest()
        stored = cache.disk().get(key)
        if stored is not None:
            name, _, bitcode = stored.partition(b"\n")
            return DTYPES[name.decode()], bitcode
        text, result = frontend.lower_function(function, arguments, symbol)
        module = _prepare(text)
        self.link(module, text, but=symbol)
        _Machine.get().tidy(module)
        bitcode = module.as_bitcode()
        cache.disk().put(key, SHORT[str(result)].encode() + b"\n" + bitcode)
        return result, bitcode

    def link(self, module, text: str, but: str = "") -> None:
        """Bring the helpers that `text` calls into `module`, to be inlined."""
        for symbol in sorted(set(_HELPER_USE.findall(text)) - {but}):
            module.link_in(llvm.parse_bitcode(self.units[symbol][1]))
            function = module.get_function(symbol)
            function.linkage = "internal"
            function.add_function_attribute("alwaysinline")


_helpers = _Helpers()


def _helper_word(function: FunctionType) -> Word:
    """A helper as a word: typed by compiling it, built as a call that the linker resolves."""

    def typer(typingctx, *arguments):
        arguments = tuple(types.unliteral(t) for t in arguments)
        symbol, result = _helpers.unit(function, arguments)

        def build(context, builder, sig, values):
            kind = context.call_conv.get_function_type(result, arguments)
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, symbol), values)

        return result(*arguments), build

    word = Word(function.__name__, typer)
    word.arity = function.__code__.co_argcount
    return word


def _namespace() -> dict:
    """The globals of kernels and helpers: words, helpers, and the constants of vecmath.py."""
    names = {k: v for k, v in vars(vecmath).items() if not k.startswith("__")}
    names.update(intrinsics.NAMESPACE)
    for name, value in list(names.items()):
        if isinstance(value, FunctionType) and value.__module__ == vecmath.__name__:
            names[name] = _helper_word(FunctionType(value.__code__, names, name))
    return names


NAMES = _namespace()


def helpers_of(source: str) -> list[str]:
    """The helpers that a source names."""
    return [name for name in dict.fromkeys(re.findall(r"\b(\w+)\(", source)) if _is_helper(name)]


def _is_helper(name: str) -> bool:
    return isinstance(NAMES.get(name), Word) and name not in intrinsics.NAMESPACE


def warm_helper(name: str) -> None:
    """Compile (or read) a helper for the dtype that ends its name, so that forked compilers share the work."""
    dtype = DTYPES.get(name.rpartition("_")[2])
    if dtype is not None:
        NAMES[name].get_call_type(None, (dtype,) * NAMES[name].arity, {})


# ---- kernels ------------------------------------------------------------------------------------------------


def symbol_of(key: str) -> str:
    return "fg_" + key[:40]


def function_from(source: str) -> FunctionType:
    """The function that a source defines."""
    names = dict(NAMES)
    exec(compile(source, "<kernel>", "exec"), names)
    made = [v for v in names.values() if isinstance(v, FunctionType) and v.__code__.co_filename == "<kernel>"]
    if len(made) != 1:
        raise CompileError(f"a kernel's source defines one function, this one defines {len(made)}:\n{source}")
    return made[0]


def optimised(source: str, symbol: str = "kernel", arguments=KERNEL_ARGUMENTS) -> str:
    """The optimised LLVM text of a kernel (alias metadata still in it): what `compile_source` makes code from."""
    text, _ = frontend.lower_function(function_from(source), arguments, symbol)
    return _optimise_text(text, symbol)


def _optimise_text(text: str, symbol: str) -> str:
    machine = _Machine.get()
    module = _prepare(text.replace(")\n{", f") nounwind {machine.attributes}\n{{", 1))
    _helpers.link(module, text)
    machine.optimise(module)
    missing = [
        f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.") and f.name not in EXTERNAL
    ]
    if missing:
        raise CompileError(f"a kernel calls {', '.join(missing)}, which no library provides")
    return str(module)


def emit(text: str, symbol: str) -> bytes:
    """Front-end text -> object code. Without the alias metadata the code generator keeps loads and stores in order."""
    module = llvm.parse_assembly(_ALIAS.sub("", _optimise_text(text, symbol)))
    return _Machine.get().machine.emit_object(module)


def compile_source(source: str, key: str | None = None) -> bytes:
    """Object code of one kernel; its symbol is `symbol_of(key)`. CompileError carries the source."""
    symbol = symbol_of(key or key_of(source))
    try:
        text, _ = frontend.lower_function(function_from(source), KERNEL_ARGUMENTS, symbol)
        return emit(text, symbol)
    except Exception as error:
        raise CompileError(f"a kernel did not compile: {error}\n\n{source}") from error


def assembly(source: str) -> str:
    """The machine code of a kernel in words, to look at."""
    return _Machine.get().machine.emit_assembly(llvm.parse_assembly(_ALIAS.sub("", optimised(source))))
