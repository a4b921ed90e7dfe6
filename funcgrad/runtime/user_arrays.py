"""A user's own Numba function of arrays (arrays in, arrays out) -> None.

In: a Python function or an `@numba.njit` one. Out: a callable on ndarrays, compiled by numba for their types; and, where the
function cannot raise and needs nothing of this process (no allocation, no Python objects), `native`: a kernel in our own
convention that makes numba's arrays of the addresses it gets and calls the function. The driver runs that like its own kernels,
and it is kept on disk like them.
"""

import json
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from funcgrad.core.errors import UsageError, message
from funcgrad.core.lazy import LazyModule
from funcgrad.ir.loop_rules import Native
from funcgrad.runtime import cache, compile
from funcgrad.runtime.apart import apart
from funcgrad.runtime.pointers import DTYPES
from funcgrad.runtime.user_kernels import CODE_OF, call, explained, helpers_digest, name_of, options_of, portable, python_function
from funcgrad.runtime.user_source import digest

Kind = tuple[str, int]  # code of the dtype, number of axes; -1: a number that stands in the program
Told = tuple[tuple[int, ...], tuple[int, ...], np.dtype]  # of an array: shape, strides in bytes, dtype

arrayobj: Any = LazyModule("numba.np.arrayobj", first="numba")  # a twentieth of a second, for those who use it
I64, BYTES = ir.IntType(64), ir.IntType(8).as_pointer()


class ArrayFunction:
    """A function (arrays in, arrays out) -> None on ndarrays. Inputs without axes come as scalars; inputs cannot be written."""

    def __init__(self, fun: Any):
        self.fun = fun
        python = python_function(fun)
        self.made: Any = fun if isinstance(fun, Dispatcher) else numba.njit(nogil=True, error_model="numpy")(python)
        # a function with explicit signatures knows writable arrays only
        self.explicit = not getattr(self.made, "_can_compile", True)
        self._wrapped: dict[Any, str] = {}

    def prepare(self, ins: Sequence[tuple[int, np.dtype]], outs: Sequence[tuple[int, np.dtype]]) -> None:
        """Compile for inputs and outputs of these ranks and dtypes; CompileError where that cannot be.

        What has been compiled before, here or in another process, is known to be right and waits until it is needed."""
        given = tuple([self._type(n, d, True) for n, d in ins] + [self._type(n, d, False) for n, d in outs])
        key = compile.digest_of("user arrays compile " + self._digest(_readables(given)))
        if self.explicit or cache.disk().get(key) is None:
            self._compile(given)
            cache.disk().put(key, b"it compiles")

    def _digest(self, *extra: str) -> str:
        """Of the function's content and of `extra`."""
        return digest(python_function(self.fun), json.dumps(options_of(self.fun), sort_keys=True, default=str), *extra)

    def _compile(self, given: tuple[Any, ...]) -> None:
        what = f"({_readables(given)})"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if not self.explicit:
                    apart(partial(self.made.compile, given))
                signature = self._signature(given)
        except (NumbaError, TypeError, NotImplementedError) as error:  # what numba raises for what it cannot compile
            raise explained(self.fun, what, error) from None
        returned = self.made.overloads[signature].signature.return_type
        if returned != types.none:
            raise UsageError(
                message(
                    f"numba_kernel: {name_of(self.fun)} returns {returned}",
                    "a kernel with out= writes into its last arguments and returns None",
                    "write out[...] = result; for a function of scalars leave out= out",
                )
            )

    def _signature(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """The signature by which numba calls the function for these types; TypeError where its own ones do not take them."""
        if given in self.made.overloads:
            return given
        converts = self.made.typingctx.can_convert
        for found in self.made.overloads:
            if len(found) == len(given) and all(converts(a, b) is not None for a, b in zip(given, found, strict=True)):
                return found
        raise TypeError(f"its signatures are {[str(s) for s in self.made.overloads]}")

    def _type(self, ndim: int, dtype: np.dtype, read: bool) -> Any:
        kind = DTYPES[CODE_OF[dtype]]
        if ndim == 0 and read:
            return kind
        return types.Array(kind, ndim, "C", readonly=read and not self.explicit)

    def __call__(self, ins: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        given = []
        for x in ins:
            if x.ndim == 0:
                given.append(x[()])
                continue
            if self.explicit and not x.flags.writeable:
                x = x.copy()
            x = x.view() if x.flags.c_contiguous else np.ascontiguousarray(x)
            x.flags.writeable = self.explicit
            given.append(x)
        self.made(*given, *outs)

    def native(self, ins: Sequence[Any], outs: Sequence[Told], lanes: Sequence[tuple[int, tuple[bool, ...]]]) -> Native | None:
        """The function as a kernel for operands like these (an input is a `Told`, or a number), or None where that cannot be.

        `lanes`: (size, which inputs have the axis) of each vmap around the call, outermost first; outputs have all of them."""
        dims, kinds = [size for size, _ in lanes], []
        extent = int(np.prod(dims, dtype=np.int64))
        for number, x in enumerate((*ins, *outs)):
            read = number < len(ins)
            if not isinstance(x, tuple):
                kinds.append((CODE_OF[x.dtype], -1))
                dims += np.frombuffer(x.tobytes().ljust(16 if x.nbytes > 8 else 8, b"\0"), np.int64).tolist()
                continue
            shape, strides, dtype = x
            at, steps = 0, []
            for _, batched in lanes:
                steps.append(strides[at] if not read or batched[number] else 0)
                at += not read or batched[number]
            if not _contiguous(shape[at:], strides[at:], dtype.itemsize):
                return None
            kinds.append((CODE_OF[dtype], len(shape) - at))
            dims += [*steps, *shape[at:]]
        if self.explicit:
            return None
        key = (tuple(kinds), len(ins), len(lanes))
        if key not in self._wrapped:
            self._wrapped[key] = apart(partial(self._wrap, *key))
        text = self._wrapped[key]
        return Native(text, tuple(dims), extent) if text else None

    def _wrap(self, kinds: tuple[Kind, ...], reads: int, levels: int) -> str:
        """The text of a kernel for operands of these kinds; empty where there can be none."""
        given = tuple([self._type(max(n, 0), np.dtype(_NUMPY[c]), k < reads) for k, (c, n) in enumerate(kinds)])
        name = "user_" + self._digest(json.dumps([kinds, reads, levels]), helpers_digest())[:32]
        key = compile.digest_of("user arrays " + name)
        bitcode = cache.disk().get(key)
        if bitcode is None:
            if given not in self.made.overloads:
                self._compile(given)
            compiled = self.made.overloads[given]
            try:
                bitcode, _ = portable(compiled, compile.USER + name, partial(_entry, kinds=kinds, levels=levels))
            except (AttributeError, RuntimeError, TypeError):  # numba kept no code that can be linked, as with cache=True
                bitcode = b""
            if bitcode:
                cache.disk().put(key, bitcode)
        if not bitcode:
            return ""
        compile.EXTERNALS[name] = compile.Linked(("buffers", "dims", "i64", "i64", "scratch"), "nothing", bitcode)
        return (
            f"def k_{name[5:25]}(buffers, dims, lo, hi, scratch):\n"
            f"    # {name_of(self.fun)}({_readables(given)})\n"
            f"    {name}(buffers, dims, lo, hi, scratch)\n"
        )


_NUMPY = {code: str(dtype) for dtype, code in CODE_OF.items()}


def _contiguous(shape: Sequence[int], strides: Sequence[int], item: int) -> bool:
    """Whether the elements lie in row-major order without gaps."""
    if 0 in shape:
        return True
    for n, step in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and step != item:
            return False
        item *= n
    return True


def _entry(compiled: Any, module: Any, symbol: str, callee: Any, *, kinds: tuple[Kind, ...], levels: int) -> None:
    """The function `symbol(buffers, dims, lo, hi, scratch)`, which calls the user's for each lane of [lo, hi).

    dims: the extents of the lanes' axes; then, of each operand, the strides along these and the shape, or a number's bits."""
    target, types_of = compiled.target_context, compiled.fndesc.argtypes
    kernel = ir.FunctionType(ir.VoidType(), [BYTES.as_pointer(), BYTES, I64, I64, BYTES])
    function = ir.Function(module, kernel, symbol)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    buffers, dims, lo, hi, _ = function.args
    words = builder.bitcast(dims, I64.as_pointer())

    def word(at: int) -> Any:
        return builder.gep(words, [I64(at)])

    with cgutils.for_range_slice(builder, lo, hi, I64(1)) as (lane, _):
        positions, rest = [], lane
        for k in reversed(range(levels)):
            size = builder.load(word(k))
            positions.insert(0, builder.srem(rest, size))
            rest = builder.sdiv(rest, size)
        at, buffer, values = levels, 0, []
        for kind, (_, ndim) in zip(types_of, kinds, strict=True):
            if ndim < 0:
                values.append(_number(target, builder, kind, word(at)))
                at += 2 if target.get_abi_sizeof(target.get_data_type(kind)) > 8 else 1
                continue
            address = builder.load(builder.gep(buffers, [I64(buffer)]))
            for position in positions:
                address = builder.gep(address, [builder.mul(position, builder.load(word(at)))])
                at += 1
            shape = [builder.load(word(at + k)) for k in range(ndim)]
            scalar = not isinstance(kind, types.Array)
            values.append(_number(target, builder, kind, address) if scalar else _array(target, builder, kind, address, shape))
            at, buffer = at + ndim, buffer + 1
        call(compiled, builder, callee, values)
    builder.ret_void()


def _number(target: Any, builder: Any, kind: Any, address: Any) -> Any:
    """The number at an address."""
    return target.unpack_value(builder, kind, builder.bitcast(address, target.get_data_type(kind).as_pointer()))


def _array(target: Any, builder: Any, kind: Any, address: Any, shape: list[Any]) -> Any:
    """numba's array over memory that somebody else keeps."""
    data = target.get_data_type(kind.dtype)
    item = I64(target.get_abi_sizeof(data))
    strides, step = [], item
    for n in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, n)
    array = arrayobj.make_array(kind)(target, builder)
    arrayobj.populate_array(array, builder.bitcast(address, data.as_pointer()), shape, strides, item, None)
    return array._getvalue()


def _readables(kinds: Sequence[Any]) -> str:
    return ", ".join(map(_readable, kinds))


def _readable(kind: Any) -> str:
    return f"{kind.dtype}[{', '.join([':'] * kind.ndim)}]" if isinstance(kind, types.Array) else str(kind)
