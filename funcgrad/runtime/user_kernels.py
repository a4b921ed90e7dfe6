"""A user's own Numba functions as parts of programs.

In: a Python function or an `@numba.njit` one. Out, for a function of scalars: an `External`, which loop expressions name and
kernels call; its LLVM code is linked into each kernel and becomes part of the loop, as helpers do. (user_arrays.py: functions of
arrays.)

A scalar function is compiled by numba itself, once for each tuple of argument types; its bitcode is kept on disk under a digest
of its content, so that a later process needs no front end. Around it goes a wrapper with the C calling convention. Calls of the
C library's exp, log, tanh ... become calls of our helpers, which vectorise. A function that may raise, or that needs what a
kernel cannot be linked with (memory, Python objects, addresses of this process), is not fused: `problem` says why, and `loop`
runs it over arrays.
"""

import ctypes
import inspect
import json
import os
import re
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from funcgrad.codegen import vecmath
from funcgrad.codegen.vecmath import HELPERS
from funcgrad.core.errors import CompileError, UsageError, message
from funcgrad.ir.loop_rules import External
from funcgrad.runtime import cache, compile
from funcgrad.runtime.apart import apart
from funcgrad.runtime.pointers import DTYPES
from funcgrad.runtime.user_source import digest

CODES = {kind: code for code, kind in DTYPES.items()}
NUMPY = {"b1": "bool"} | {c: f"uint{c[1:]}" for c in DTYPES if c[0] == "u"} | {c: f"int{c[1:]}" for c in DTYPES if c[0] == "i"}
NUMPY |= {c: f"float{c[1:]}" for c in DTYPES if c[0] == "f"} | {c: f"complex{c[1:]}" for c in DTYPES if c[0] == "c"}
CODE_OF = {np.dtype(name): code for code, name in NUMPY.items()}
RAISES = "fg.raises"

# Functions of the C library, and LLVM's intrinsics, that helpers replace.
_MATHS = (
    "exp exp2 expm1 log log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc lgamma pow atan2 cbrt".split()
)
_CALL = re.compile(r"@(?:llvm\.(\w+)\.(f32|f64)|(\w+))\(")
_DECLARE = re.compile(r'^declare [^\n]*?@("[^"]+"|[\w.$]+)\([^\n]*\n', re.M)
_CODEGEN_ONLY = ("llvm.powi",)  # intrinsics that become calls of the compiler's own library


def python_function(fun: Any) -> Any:
    """The Python function behind `fun`; UsageError for what is neither a function nor an @njit one."""
    found = fun.py_func if isinstance(fun, Dispatcher) else fun
    if not inspect.isfunction(found):
        raise UsageError(
            message(
                f"numba_kernel: got {type(fun).__name__}",
                "a Python function, or one decorated with @numba.njit",
                "write a function of scalars, or of (arrays in, arrays out)",
            )
        )
    return found


def parameters(fun: Any) -> int:
    """How many arguments the function takes."""
    kinds = [p.kind for p in inspect.signature(python_function(fun)).parameters.values()]
    if any(k not in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for k in kinds):
        raise UsageError(
            message(
                f"numba_kernel: {name_of(fun)}{inspect.signature(python_function(fun))} has variadic or keyword-only parameters",
                "a fixed number of positional parameters",
                "write them out",
            )
        )
    return len(kinds)


def name_of(fun: Any) -> str:
    return getattr(fun, "__name__", type(fun).__name__)


def options_of(fun: Any) -> dict[str, Any]:
    """The user's options of @njit that matter here."""
    given = dict(fun.targetoptions) if isinstance(fun, Dispatcher) else {}
    kept = {k: v for k, v in given.items() if k in ("fastmath", "error_model", "boundscheck", "inline") and v is not None}
    return {"error_model": "numpy"} | kept


_NOISE = ("During: ", "- Resolution failure", "[1] During", "[2] During", "<source", "<source missing", "Failed in nopython mode")


def explained(fun: Any, what: str, error: BaseException) -> CompileError:
    """numba's message without its advertisement and its internal stack."""
    lines = []
    for line in str(error).splitlines():
        if line.startswith(
            ("This error may have been caused", "For more information", "This is not usually a problem", "Please report")
        ):
            break
        line = line.strip()
        if line and line not in lines and not line.startswith(_NOISE):
            lines.append(line)
    text = "\n".join("    " + line for line in lines[:10])[:900]
    return CompileError(
        message(
            f"numba_kernel: {name_of(fun)} does not compile in nopython mode for {what}:\n{text}",
            "what numba's nopython mode compiles for these types",
            "mend the function, or keep it in Python with fg.pure_callback(f, shape, x)",
        )
    )


# ---- functions of scalars -----------------------------------------------------------------------------------


class Scalar:
    """A function of scalars, compiled for one tuple of argument types. `external` is what kernels call; `result` the code of its
    result; `problem` is empty, or says why it cannot be part of a kernel."""

    def __init__(self, fun: Any, codes: tuple[str, ...]):
        self.fun, self.codes = fun, codes
        self._loop: Any = None
        python = python_function(fun)
        extra = (json.dumps(codes), json.dumps(options_of(fun), sort_keys=True, default=str), helpers_digest())
        self.name = "user_" + digest(python, *extra)[:32]
        key = compile.digest_of("user function " + self.name)
        stored = cache.disk().get(key)
        bitcode = b""
        if stored is None:
            bitcode = apart(self._compile)
            head = json.dumps({"result": self.result, "problem": self.problem}).encode()
            if not self.problem:
                cache.disk().put(key, head + b"\n" + bitcode)
        else:
            head, _, bitcode = stored.partition(b"\n")
            known = json.loads(head)
            self.result, self.problem = known["result"], known["problem"]
        self.external = External(self.name, self.loop)
        if not self.problem:
            compile.EXTERNALS[self.name] = compile.Linked(codes, self.result, bitcode)

    def _compile(self) -> bytes:
        fun, what = self.fun, f"({', '.join(NUMPY[c] for c in self.codes)})"
        made = numba.njit(**options_of(fun))(python_function(fun))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made.compile(tuple(DTYPES[c] for c in self.codes))
        except (NumbaError, TypeError, NotImplementedError) as error:  # what numba raises for what it cannot compile
            raise explained(fun, what, error) from None
        (compiled,) = made.overloads.values()
        returned = types.unliteral(compiled.signature.return_type)
        if returned not in CODES:
            raise UsageError(
                message(
                    f"numba_kernel: {name_of(fun)} returns {returned} for {what}",
                    "a bool, an int, a float or a complex number: it is a function of scalars, since out= is not given",
                    "return a number; for a kernel (arrays in, arrays out) -> None give out=",
                )
            )
        self.result, self.problem = CODES[returned], ""
        self._made = made
        bitcode, self.problem = portable(compiled, compile.USER + self.name, _scalar_entry)
        return bitcode

    @property
    def fused(self) -> bool:
        """Whether it can be part of a kernel."""
        return not self.problem

    def loop(self, *arrays: Any) -> np.ndarray:
        """The function over arrays that broadcast, one element after the other."""
        given = np.broadcast_arrays(*[np.asarray(x, NUMPY[c]) for x, c in zip(arrays, self.codes, strict=True)])
        flat = [np.ascontiguousarray(x).reshape(-1) for x in given]
        out = np.empty(flat[0].size, NUMPY[self.result])
        if self._loop is None:
            self._loop = _looped(self.fun, len(flat))
        self._loop(out, *flat)
        return out.reshape(given[0].shape)


def helpers_digest() -> str:
    """Our helpers become part of a user's function: a change in them is a change in it."""
    if not _Once.helpers:
        texts = [Path(str(module.__file__)).read_bytes() for module in vecmath.MODULES]
        _Once.helpers = digest(None, *[str(t) for t in texts])
    return _Once.helpers


class _Once:
    lock = threading.RLock()
    helpers = ""
    scalars: dict[Any, Scalar] = {}
    LIMIT = 1024


def scalar(fun: Any, codes: tuple[str, ...]) -> Scalar:
    """The compiled form of `fun` for these types; made once."""
    key = (fun, codes)
    found = _Once.scalars.get(key)
    if found is None:
        with _Once.lock:
            found = _Once.scalars.get(key)
            if found is None:
                found = Scalar(fun, codes)
                if len(_Once.scalars) >= _Once.LIMIT:
                    _Once.scalars.pop(next(iter(_Once.scalars)))
                _Once.scalars[key] = found
    return found


def portable(compiled: Any, symbol: str, entry: Callable[[Any, Any, str, Any], None]) -> tuple[bytes, str]:
    """A compiled function as bitcode that kernels can be linked with, helpers in the place of the C library; or why it cannot be.

    `entry(compiled, module, symbol, callee)` adds the function `symbol`, with the C calling convention, to an empty module."""
    if compiled.library.has_dynamic_globals:
        return b"", "it holds addresses of this process"
    made = compiled.target_context.create_module("user")
    callee = compiled.target_context.declare_function(made, compiled.fndesc)
    entry(compiled, made, symbol, callee)
    _raising_entry(compiled, made, callee)
    module = llvm.parse_assembly(str(made))
    module.link_in(llvm.parse_bitcode(compiled.library._final_module.as_bitcode()))
    for f in module.functions:
        if not f.is_declaration and f.name not in (symbol, RAISES):
            f.linkage = "internal"
    machine = compile._Machine.get()
    machine.optimise(module)
    text = str(module)
    if set(re.findall(r"^  ret i1 (\S+)", _body(text, RAISES), re.M)) != {"false"}:
        return b"", "it may raise an exception"
    module.get_function(RAISES).linkage = "internal"
    machine.tidy(module)
    text = _with_helpers(str(module))
    module = llvm.parse_assembly(text)
    compile._helpers.link(module, text)
    machine.tidy(module)
    declared = [f.name for f in module.functions if f.is_declaration]
    missing = [n for n in declared if n.startswith(_CODEGEN_ONLY) or not (n.startswith("llvm.") or _in_process(n))]
    return (b"", f"it calls {', '.join(missing)}") if missing else (module.as_bitcode(), "")


def _scalar_entry(compiled: Any, module: Any, symbol: str, callee: Any) -> None:
    """The function of the same arguments that gives the result."""
    descriptor, target = compiled.fndesc, compiled.target_context
    arguments = [target.get_value_type(t) for t in descriptor.argtypes]
    function = ir.Function(module, ir.FunctionType(target.get_value_type(descriptor.restype), arguments), symbol)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(call(compiled, builder, callee, list(function.args))[1])


def _raising_entry(compiled: Any, module: Any, callee: Any) -> None:
    """The function RAISES of the same arguments: whether there is an exception."""
    arguments = [compiled.target_context.get_value_type(t) for t in compiled.fndesc.argtypes]
    function = ir.Function(module, ir.FunctionType(ir.IntType(1), arguments), RAISES)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(call(compiled, builder, callee, list(function.args))[0].is_error)


def call(compiled: Any, builder: Any, callee: Any, values: list[Any]) -> Any:
    """A call by numba's convention: (status, result)."""
    descriptor = compiled.fndesc
    return compiled.target_context.call_conv.call_function(builder, callee, descriptor.restype, descriptor.argtypes, values)


def _body(text: str, symbol: str) -> str:
    """The text of one function of a module."""
    start = re.search(rf'^define [^\n]*@"?{re.escape(symbol)}"?\(', text, re.M)
    assert start is not None
    return text[start.start() : text.index("\n}", start.start())]


def _in_process(name: str) -> bool:
    """Whether kernels may leave it to the loader to find this function."""
    return name in compile.EXTERNAL and hasattr(ctypes.CDLL(None), name)


def _with_helpers(text: str) -> str:
    """Calls of mathematical functions become calls of helpers."""

    def name(match: re.Match) -> str:
        intrinsic, kind, plain = match.groups()
        if plain is not None:
            single = plain.endswith("f") and plain[:-1] in _MATHS
            intrinsic, kind = (plain[:-1], "f32") if single else (plain, "f64")
        helper = f"{intrinsic}_{kind}"
        if intrinsic not in _MATHS or helper not in HELPERS:
            return match.group(0)
        return f'@"{compile.HELPER}{helper}"('

    text = _CALL.sub(name, text)
    seen: set[str] = set()

    def once(match: re.Match) -> str:
        symbol = match.group(1)
        if symbol in seen:
            return ""
        seen.add(symbol)
        return match.group(0)

    return _DECLARE.sub(once, text)


def _looped(fun: Any, count: int) -> Callable[..., None]:
    """`loop(out, x0, x1, ...)`: the function element by element."""
    xs = [f"x{k}" for k in range(count)]
    element = ", ".join(x + "[i]" for x in xs)
    text = f"def loop(out, {', '.join(xs)}):\n    for i in range(out.size):\n        out[i] = f({element})\n"
    options = options_of(fun)
    space: dict[str, Any] = {"f": numba.njit(**options)(python_function(fun))}
    exec(text, space)
    made = numba.njit(error_model=options["error_model"])(space["loop"])

    def run(*arrays: np.ndarray) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made(*arrays)

    return run


def _after_fork() -> None:
    _Once.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
