"""CUDA: compiling a nest to PTX with no GPU, and launching it on a device or in numba's simulator.

Enters: a `Nest`, and for a launch its operands as (flat array, start), its dims and extent. Leaves: PTX text, or the
written arrays. Nothing imports this module at start-up; numba-cuda is an optional extra. With NUMBA_ENABLE_CUDASIM=1
in the environment of the process, numba runs the same kernel text as Python threads.

The words of a kernel are the CPU's (intrinsics.py), which build plain LLVM instructions and so serve NVVM as well;
those that NVVM's LLVM does not have (maximum, roundeven, freeze, 128-bit counts) are given here, and the
mathematical helpers are libdevice's functions where it has them.
"""

import functools
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import FunctionType
from typing import Any

import numpy as np

from funcgrad.codegen import words
from funcgrad.codegen.canonical import DTYPES, storage_code
from funcgrad.codegen.cuda import CUDA
from funcgrad.codegen.printer import print_nest
from funcgrad.codegen.target import COMPLEX_CODES, FLOAT_CODES, Source
from funcgrad.codegen.vecmath import HELPERS, closure, interpreted
from funcgrad.core.errors import index_error
from funcgrad.loops import interpreter
from funcgrad.loops.nest import LANES, Nest
from funcgrad.loops.program import KernelStep, Program
from funcgrad.runtime import intrinsics

try:
    import numba_cuda  # noqa: F401  (its numba.cuda takes the place of numba's own, which is older)
    from numba import config, types
    from numba import cuda as _numba_cuda
except ImportError:
    _numba_cuda = None

cuda: Any = _numba_cuda  # None where the extra is missing

CAPABILITIES = ((7, 5), (8, 0), (9, 0))

# Our name -> libdevice's, for float64; the float32 function has an f at its end.
_LIBDEVICE = {name: name for name in "cbrt exp exp2 expm1 log log1p sin cos tan asin acos atan sinh cosh tanh".split()}
_LIBDEVICE |= {name: name for name in "asinh acosh atanh erf erfc lgamma rsqrt nextafter pow atan2".split()}
_LIBDEVICE |= {"erf_inv": "erfinv"}


def available() -> bool:
    """Is numba-cuda installed?"""
    return cuda is not None


def simulated() -> bool:
    """Does this process run CUDA kernels in numba's simulator?"""
    return cuda is not None and bool(config.ENABLE_CUDASIM)


def _require() -> None:
    if cuda is None:
        raise ImportError(
            "CUDA: numba-cuda is not installed in this environment; kernels for CUDA need it, kernels for the CPU do "
            'not; type `pip install "funcgrad[cuda]"`'
        )


# ---- the words, for NVVM ------------------------------------------------------------------------------------


def _operation(arity: int, build: Any, accepts: Any = lambda dtype: True) -> Any:
    return intrinsics.operation(arity, build, accepts=accepts)


def _extremum(greater: bool) -> Any:
    """max and min that propagate NaN, by comparisons."""

    def build(context, builder, dtype, x, y):
        sign = ">" if greater else "<"
        if dtype == types.boolean:
            return builder.or_(x, y) if greater else builder.and_(x, y)
        if isinstance(dtype, types.Float):
            first = builder.or_(builder.fcmp_ordered(sign, x, y), builder.fcmp_unordered("uno", x, x))
        else:
            first = (builder.icmp_signed if dtype.signed else builder.icmp_unsigned)(sign, x, y)
        return builder.select(first, x, y)

    return _operation(2, build, lambda dtype: not isinstance(dtype, types.Complex))


def _cast(code: str) -> Any:
    """Casts as on the CPU; a float out of an integer's range gives what the machine gives."""
    target = intrinsics.DTYPES[code]

    def cast(typingctx, x):
        def build(context, builder, sig, args):
            return _Casts.convert(context, builder, args[0], sig.args[0], target)

        x = types.unliteral(x)
        if x == types.boolean or isinstance(x, types.Number):
            return target(x), build

    return intrinsics.Word(code, cast)


class _Casts:
    """intrinsics' conversion, with `freeze` (which NVVM's LLVM does not know) taken out of its float-to-int part."""

    @staticmethod
    def convert(context, builder, value, source, target):
        if isinstance(source, types.Float) and isinstance(target, types.Integer):
            wide = context.get_value_type(types.int64)
            kind = context.get_value_type(target)
            if target == types.uint64:
                half = value.type(9223372036854775808.0)
                low = builder.fptosi(value, wide)
                high = builder.xor(builder.fptosi(builder.fsub(value, half), wide), wide(1 << 63))
                return builder.select(builder.fcmp_ordered(">=", value, half), high, low)
            if target.bitwidth == 64 or target == types.int32:
                return builder.fptosi(value, kind)
            return builder.trunc(builder.fptosi(value, wide), kind)
        return intrinsics._convert(context, builder, value, source, target)


# Words that are ordinary device functions. `dims` and `error` are int64 arrays.


def check_index(error, number, i, n):
    """i when 0 <= i < n, else 0 and a note in the error record, unless one is there."""
    if i < 0 or i >= n:
        if error[0] == 0:
            error[0] = number + 1
            error[1] = i
            error[2] = n
        return 0
    return i


_PARAMS = """
def param_f32(dims, slot): return bits_f32(i32(dims[slot]))
def param_f64(dims, slot): return bits_f64(dims[slot])
def param_b1(dims, slot): return dims[slot] & 255 != 0
def param_c64(dims, slot): return c64of(bits_f32(i32(dims[slot])), bits_f32(i32(dims[slot] >> 32)))
def param_c128(dims, slot): return c128of(bits_f64(dims[slot]), bits_f64(dims[slot + 1]))
"""
_PARAMS += "".join(
    f"def param_{c}(dims, slot): return {c}(dims[slot])\n" for c in DTYPES if c not in FLOAT_CODES + COMPLEX_CODES + ("b1",)
)

_SKIPPED = ("ptr_", "row_", "param_", "stream", "offset", "likely", "check_index", "stopped")


@functools.cache
def _device_words() -> dict[str, Any]:
    """Kernel globals for real compilation."""
    space: dict[str, Any] = {"cuda": cuda, "inf": float("inf"), "nan": float("nan")}
    given = {k: w for k, w in intrinsics.NAMESPACE.items() if isinstance(w, intrinsics.Word) and not k.startswith(_SKIPPED)}
    given |= {code: _cast(code) for code in DTYPES}
    given |= {"max_": _extremum(True), "rmax": _extremum(True), "min_": _extremum(False), "rmin": _extremum(False)}
    given |= {"rint": _library("rint"), "fabs": _library("fabs"), "copysign": _library("copysign", 2)}
    given |= {"abs_": _absolute(), "neg": _negative()}
    for name, word in given.items():
        space[name] = _intrinsic(_named(word.typer, name))
    for name in ("popcount", "clz"):
        space[name] = _intrinsic(_named(_counted(name).typer, name))
    _define(_PARAMS, space)
    space["check_index"] = _inlined(_rebound(check_index, space))
    return space


def _intrinsic(typer: Any) -> Any:
    return cuda.extending.intrinsic(typer)


def _inlined(function: FunctionType) -> Any:
    """A device function that becomes part of its caller before typing: numba compiles others for the GPU at hand,
    and there may be none."""
    return cuda.jit(device=True, inline="always")(function)


def _named(typer: Any, name: str) -> Any:
    """numba tells intrinsics apart by their qualified names."""
    copy = FunctionType(typer.__code__, typer.__globals__, name, typer.__defaults__, typer.__closure__)
    copy.__qualname__ = f"funcgrad_{name}"
    return copy


def _counted(name: str) -> Any:
    """Bit counts, in 32 or 64 bits (NVVM has no narrower ones)."""

    def build(context, builder, dtype, x):
        wide = context.get_value_type(types.int64 if dtype.bitwidth == 64 else types.int32)
        value = builder.zext(x, wide) if x.type.width < wide.width else x
        if name == "popcount":
            count = intrinsics.call(builder, "ctpop", value)
        else:
            count = builder.sub(intrinsics.call(builder, "ctlz", value, intrinsics.I1(0)), wide(wide.width - x.type.width))
        return builder.trunc(count, x.type) if x.type.width < wide.width else count

    return _operation(1, build, lambda dtype: isinstance(dtype, types.Integer))


def _library(name: str, arity: int = 1) -> Any:
    """A word that is libdevice's function of that name, chosen by the float type of its arguments."""

    def build(context, builder, dtype, *values):
        symbol = f"__nv_{name}f" if dtype == types.float32 else f"__nv_{name}"
        kind = values[0].type
        declared = intrinsics.ir.FunctionType(kind, [kind] * arity)
        return builder.call(intrinsics.cgutils.get_or_insert_function(builder.module, declared, symbol), values)

    return _operation(arity, build, lambda dtype: isinstance(dtype, types.Float))


def _absolute() -> Any:
    """abs_ of integers (of floats it is fabs)."""

    def build(context, builder, dtype, x):
        below = builder.icmp_signed("<", x, x.type(0))
        return builder.select(below, builder.neg(x), x) if dtype.signed else x

    return _operation(1, build, lambda dtype: isinstance(dtype, types.Integer))


def _negative() -> Any:
    """neg, with a float's as -0 - x (NVVM's LLVM has no fneg)."""

    def build(context, builder, dtype, x):
        if isinstance(dtype, types.Complex):
            given, out = context.make_complex(builder, dtype, x), context.make_complex(builder, dtype)
            zero = given.real.type(-0.0)
            out.real, out.imag = builder.fsub(zero, given.real), builder.fsub(zero, given.imag)
            return out._getvalue()
        return builder.fsub(x.type(-0.0), x) if isinstance(dtype, types.Float) else builder.neg(x)

    return _operation(1, build)


def _rebound(function: Any, space: dict[str, Any]) -> FunctionType:
    return FunctionType(function.__code__, space, function.__name__)


def _define(text: str, space: dict[str, Any]) -> None:
    """Add the functions of `text` to `space` as device functions."""
    made: dict[str, Any] = {}
    exec(compile(text, "<device words>", "exec"), made)
    for name, function in made.items():
        if isinstance(function, FunctionType):
            space[name] = _inlined(_rebound(function, space))


_helpers: dict[str, Any] = {}


def _device_helper(name: str) -> Any:
    """A helper as a device function: libdevice's where it has the function, else ours."""
    if name not in _helpers:
        operation, _, code = name.rpartition("_")
        if operation in _LIBDEVICE and code in FLOAT_CODES:
            known = getattr(cuda.libdevice, _LIBDEVICE[operation] + ("f" if code == "f32" else ""))
            given = ", ".join("xy"[: len(HELPERS[name].args)])
            space = {"known": known}
            exec(f"def {name}({given}): return known({given})", space)
            _helpers[name] = _inlined(space[name])
        else:
            helper = HELPERS[name]
            space = dict(_device_words())
            space |= {used: _device_helper(used) for used in helper.uses}
            if helper.text:
                exec(helper.text, space)
                function = space[name]
            else:
                function = _rebound(helper.function, space)
            _helpers[name] = _inlined(function)
    return _helpers[name]


# ---- kernels ------------------------------------------------------------------------------------------------


def _function(source: Source) -> FunctionType:
    """The kernel as a Python function with the words of this process: CUDA's, or the simulator's."""
    if simulated():
        space: dict[str, Any] = dict(words.NAMESPACE)
        space |= {"cuda": cuda, "check_index": check_index} | interpreted(closure(source.helpers))
    else:
        space = dict(_device_words()) | {name: _device_helper(name) for name in source.helpers}
    exec(compile(source.text, f"<kernel {source.name}>", "exec"), space)
    return space[source.name]


def _signature(nest: Nest, source: Source) -> Any:
    codes = [_code(o.dtype) for o in nest.operands if o.role != "scratch"]
    arrays = [intrinsics.DTYPES[code][::1] for code in codes]
    slices = [intrinsics.DTYPES[code][::1] for _, code, _ in source.slices]
    return types.void(*arrays, types.int64[::1], types.int64, types.int64, *slices, types.int64[::1])


def _code(dtype: np.dtype) -> str:
    return "u64" if dtype.kind == "V" else storage_code({d: c for c, d in DTYPES.items()}[dtype])


def ptx(nest: Nest, cc: tuple[int, int] = (9, 0)) -> str:
    """PTX of a nest's kernel for compute capability `cc`; needs no GPU."""
    _require()
    source = print_nest(nest, CUDA)
    text, _ = cuda.compile_ptx(_function(source), _signature(nest, source), cc=cc)
    return text


def _ptx_sizes(job: tuple[Nest, tuple[tuple[int, int], ...]]) -> list[str]:
    nest, capabilities = job
    return [ptx(nest, cc) for cc in capabilities]


def ptx_all(nests: Iterable[Nest], capabilities: Sequence[tuple[int, int]] = CAPABILITIES, processes: int = 2) -> list[list[str]]:
    """PTX of many nests, for each a text a capability, compiled side by side (about 0.3 s a text and process)."""
    _require()
    jobs = [(nest, tuple(capabilities)) for nest in nests]
    if processes < 2 or len(jobs) < 4:
        return [_ptx_sizes(job) for job in jobs]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        return list(pool.map(_ptx_sizes, jobs, chunksize=-(-len(jobs) // (4 * processes))))


_compiled: dict[str, Any] = {}


def launch(
    nest: Nest,
    operands: Sequence[tuple[np.ndarray, int]],
    dims: Sequence[int],
    extent: int,
    blocks: int = 1,
    threads: int = 2,
) -> np.ndarray:
    """Run a nest over [0, extent) on the device, or in the simulator. Returns the error record.

    Each operand that is no scratch is a flat array of its dtype (bools as uint8, keys as uint64) and the element
    at which it starts; outputs are written in place."""
    _require()
    source = print_nest(nest, CUDA)
    kernel = _compiled.get(source.name)
    if kernel is None:
        kernel = _compiled[source.name] = cuda.jit(_function(source))
    total = blocks * threads
    row = int(np.prod(dims[nest.outer : nest.outer + nest.inner], dtype=np.int64))
    slices = [np.empty(total * (row if kind == "row" else LANES), DTYPES[code]) for _, code, kind in source.slices]
    error = np.zeros(8, np.int64)
    # In the simulator operands are the memory itself: a copy of each would undo what another wrote to the same piece of memory.
    arrays = [cuda.devicearray.FakeCUDAArray(array) if simulated() else array for array, _ in operands]
    numbers = np.array([*dims, *[start for _, start in operands]], np.int64)
    with warnings.catch_warnings():
        # the simulator's threads are Python's, and NumPy warns of every division by zero in them
        warnings.simplefilter("ignore", RuntimeWarning)
        kernel[blocks, threads](*arrays, numbers, 0, extent, *slices, error)
    return error


def simulate(step: KernelStep, memory: Sequence[np.ndarray], threads: int = 2) -> np.ndarray:
    """Launch a program's step. `memory` holds, for each of its refs, the flat bytes (uint8) that the ref lies in.
    Returns the error record."""
    dtypes = [DTYPES[_code(o.dtype)] for o in step.nest.operands if o.role != "scratch"]
    operands = []
    for ref, data, dtype in zip(step.refs, memory, dtypes, strict=True):
        skip = ref.offset % dtype.itemsize
        usable = (data.size - skip) // dtype.itemsize * dtype.itemsize
        operands.append((data[skip : skip + usable].view(dtype), ref.offset // dtype.itemsize))
    return launch(step.nest, operands, step.dims, step.extent, threads=threads)


def run_program(program: Program, inputs: Sequence[Any]) -> list[np.ndarray]:
    """A whole program with its kernels launched here (in the simulator, in the tests) and its other steps in NumPy.
    Raises IndexError where a kernel's check failed."""

    def kernel(step: KernelStep, memory: Any) -> None:
        record = simulate(step, [memory.raw[ref.kind][ref.number] for ref in step.refs])
        if record[0]:
            message = step.checks[int(record[0]) - 1].message
            raise index_error(message, record[1], record[2])

    return interpreter.run(program, inputs, kernel)
