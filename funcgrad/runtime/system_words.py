"""The words of the driver beyond those of kernels: raw memory, atomics, calls by address, futex.

Everything is an int64: addresses, counts, results. `SYSTEM` maps names to words; it is used by the driver_*.py only.
"""

from llvmlite import ir
from numba.core import cgutils, types

from funcgrad.runtime.intrinsics import NAMESPACE
from funcgrad.runtime.pointers import BYTES_P, I64, Word, word

I32 = ir.IntType(32)
_int = types.int64


def _fixed(arity, build):
    """A word of `arity` int64 operands with an int64 result; `build(builder, *values)`."""

    def lower(context, builder, sig, args):
        values = [context.cast(builder, v, t, _int) for v, t in zip(args, sig.args, strict=True)]
        return build(builder, *values)

    def typer(typingctx, *given):
        if all(isinstance(t, types.Integer) for t in given):
            return _int(*given), lower

    made = Word(build.__name__, typer)
    made.arity = arity
    return made


def _pointer(builder, address, kind=I64):
    return builder.inttoptr(address, kind.as_pointer())


def peek(builder, address):
    return builder.load(_pointer(builder, address), typ=I64, align=8)


def peek_byte(builder, address):
    byte = ir.IntType(8)
    return builder.zext(builder.load(_pointer(builder, address, byte), typ=byte, align=1), I64)


def peek_word(builder, address):
    """A signed 32-bit word."""
    return builder.sext(builder.load(_pointer(builder, address, I32), typ=I32, align=4), I64)


def copy_bytes(builder, target, source, count):
    kind = ir.FunctionType(ir.VoidType(), [BYTES_P, BYTES_P, I64, ir.IntType(1)])
    memcpy = cgutils.get_or_insert_function(builder.module, kind, "llvm.memcpy.p0.p0.i64")
    builder.call(memcpy, [builder.inttoptr(target, BYTES_P), builder.inttoptr(source, BYTES_P), count, ir.IntType(1)(0)])
    return I64(0)


def poke(builder, address, value):
    builder.store(value, _pointer(builder, address), align=8)
    return I64(0)


def atomic_load(builder, address):
    return builder.load_atomic(_pointer(builder, address), ordering="seq_cst", align=8, typ=I64)


def atomic_store(builder, address, value):
    builder.store_atomic(value, _pointer(builder, address), ordering="seq_cst", align=8)
    return I64(0)


def atomic_add(builder, address, value):
    """The value before."""
    return builder.atomic_rmw("add", _pointer(builder, address), value, "seq_cst")


def atomic_swap(builder, address, value):
    return builder.atomic_rmw("xchg", _pointer(builder, address), value, "seq_cst")


def atomic_replace(builder, address, expected, value):
    """1 when `expected` was there and has been replaced."""
    pair = builder.cmpxchg(_pointer(builder, address), expected, value, "seq_cst", "seq_cst")
    return builder.zext(builder.extract_value(pair, 1), I64)


def pause(builder):
    """Tell the processor that this is a waiting loop."""
    triple, values = str(builder.module.triple), []
    if triple.startswith("x86"):
        name = "llvm.x86.sse2.pause"
    elif triple.startswith(("aarch64", "arm64")):
        name, values = "llvm.aarch64.hint", [I32(1)]  # yield
    else:
        return I64(0)
    kind = ir.FunctionType(ir.VoidType(), [v.type for v in values])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)
    return I64(0)


def _call(count):
    def call(builder, address, *values):
        kind = ir.FunctionType(I64, [I64] * count)
        return builder.call(builder.inttoptr(address, kind.as_pointer()), values)

    return _fixed(count + 1, call)


def call_kernel(builder, address, bufs, dims, lo, hi, scratch):
    """A printed kernel."""
    kind = ir.FunctionType(ir.VoidType(), [BYTES_P.as_pointer(), BYTES_P, I64, I64, BYTES_P])
    values = [
        builder.inttoptr(bufs, BYTES_P.as_pointer()),
        builder.inttoptr(dims, BYTES_P),
        lo,
        hi,
        builder.inttoptr(scratch, BYTES_P),
    ]
    builder.call(builder.inttoptr(address, kind.as_pointer()), values)
    return I64(0)


def _slot(builder, value, kind):
    """The address of a Fortran argument."""
    place = cgutils.alloca_once(builder, kind)
    builder.store(builder.trunc(value, kind), place)
    return builder.bitcast(place, BYTES_P)


def _fortran(builder, address, values):
    kind = ir.FunctionType(ir.VoidType(), [BYTES_P] * len(values))
    builder.call(builder.inttoptr(address, kind.as_pointer()), values)
    return I64(0)


def blas_gemm(builder, address, trans_a, trans_b, m, n, k, one, a, lda, b, ldb, zero, c, ldc):
    """Fortran's xGEMM: everything by address, 32-bit sizes. trans_a and trans_b are characters."""
    byte = ir.IntType(8)
    values = [_slot(builder, x, byte) for x in (trans_a, trans_b)] + [_slot(builder, x, I32) for x in (m, n, k)]
    values += [builder.inttoptr(one, BYTES_P), builder.inttoptr(a, BYTES_P), _slot(builder, lda, I32)]
    values += [builder.inttoptr(b, BYTES_P), _slot(builder, ldb, I32), builder.inttoptr(zero, BYTES_P)]
    values += [builder.inttoptr(c, BYTES_P), _slot(builder, ldc, I32)]
    return _fortran(builder, address, values)


def blas_gemv(builder, address, trans, m, n, one, a, lda, x, step_x, zero, y, step_y):
    """Fortran's xGEMV."""
    values = [_slot(builder, trans, ir.IntType(8)), _slot(builder, m, I32), _slot(builder, n, I32)]
    values += [builder.inttoptr(one, BYTES_P), builder.inttoptr(a, BYTES_P), _slot(builder, lda, I32)]
    values += [builder.inttoptr(x, BYTES_P), _slot(builder, step_x, I32), builder.inttoptr(zero, BYTES_P)]
    values += [builder.inttoptr(y, BYTES_P), _slot(builder, step_y, I32)]
    return _fortran(builder, address, values)


@word
def clear(typingctx, address, count):
    """Zero `count` bytes."""

    def build(context, builder, sig, args):
        kind = ir.FunctionType(ir.VoidType(), [BYTES_P, ir.IntType(8), I64, ir.IntType(1)])
        memset = cgutils.get_or_insert_function(builder.module, kind, "llvm.memset.p0.i64")
        builder.call(memset, [builder.inttoptr(args[0], BYTES_P), ir.IntType(8)(0), args[1], ir.IntType(1)(0)])
        return I64(0)

    return _int(_int, _int), build


SYSTEM = {
    **NAMESPACE,
    "peek": _fixed(1, peek),
    "peek_byte": _fixed(1, peek_byte),
    "peek_word": _fixed(1, peek_word),
    "poke": _fixed(2, poke),
    "copy_bytes": _fixed(3, copy_bytes),
    "atomic_load": _fixed(1, atomic_load),
    "atomic_store": _fixed(2, atomic_store),
    "atomic_add": _fixed(2, atomic_add),
    "atomic_swap": _fixed(2, atomic_swap),
    "atomic_replace": _fixed(3, atomic_replace),
    "pause": _fixed(0, pause),
    "call0": _call(0),
    "call1": _call(1),
    "call2": _call(2),
    "call3": _call(3),
    "call4": _call(4),
    "call5": _call(5),
    "call_kernel": _fixed(6, call_kernel),
    "blas_gemm": _fixed(14, blas_gemm),
    "blas_gemv": _fixed(12, blas_gemv),
    "clear": clear,
}
