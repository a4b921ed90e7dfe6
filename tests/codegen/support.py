"""Shared by the tests of this room: hand-made nests, and running their kernels compiled or interpreted."""

import ctypes

import numpy as np

from funcgrad.codegen import emulate
from funcgrad.codegen.canonical import DTYPES
from funcgrad.codegen.cpu import CPU
from funcgrad.codegen.printer import print_nest
from funcgrad.loops.expr import BINARY, UNARY, Expr
from funcgrad.loops.nest import ERROR_RECORD_BYTES, Carry, Nest, Operand, Pass, Reduction, Store
from funcgrad.runtime import kernels

_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


def expr(op, dtype, *args, attr=None):
    return Expr(op, np.dtype(dtype), args, attr)


def load(dtype, operand, *indices):
    return expr("load", dtype, *indices, attr=operand)


def const(value, dtype):
    return expr("const", dtype, attr=value)


def index(axis):
    return expr("index", "int64", attr=axis)


def acc(dtype, number):
    return expr("acc", dtype, attr=number)


def operand(dtype, role, *strides, indirect=0):
    return Operand(np.dtype(dtype), role, strides, indirect)


def run_compiled(nest, arrays, dims, extent, scratch=0, split=1):
    """Run the CPU kernel on flat arrays, one for each operand in memory (or (array, start)). Returns the error record."""
    source = print_nest(nest, CPU)
    function = _KERNEL(kernels.addresses([source.text])[0])
    pairs = [a if isinstance(a, tuple) else (a, 0) for a in arrays]
    buffers = (ctypes.c_void_p * max(1, len(pairs)))(*[a.ctypes.data + s * a.itemsize for a, s in pairs])
    numbers = np.array(list(dims) + [0], np.int64)
    memory = np.zeros(ERROR_RECORD_BYTES + max(scratch, source.scratch) + 64, np.uint8)
    at = memory.ctypes.data
    at += -at % 64
    for k in range(split):
        lo, hi = extent * k // split, extent * (k + 1) // split
        function(ctypes.addressof(buffers), numbers.ctypes.data, lo, hi, at)
    return memory[at - memory.ctypes.data :][:ERROR_RECORD_BYTES].view(np.int64)


def run_interpreted(nest, arrays, dims, extent, scratch=0):
    """The same in plain Python."""
    pairs = [a if isinstance(a, tuple) else (a, 0) for a in arrays]
    buffers = [emulate.Pointer(a, s) for a, s in pairs]
    memory = emulate.run(print_nest(nest, CPU), buffers, dims, extent, scratch)
    return memory[:ERROR_RECORD_BYTES].view(np.int64)


RUNNERS = {"compiled": run_compiled, "interpreted": run_interpreted}


def map_nest(values, dtypes, params=()):
    """One loop over one axis: inputs of `dtypes` with unit stride, one output for each of `values`."""
    operands = [operand(d, "in", 1) for d in dtypes] + [operand(v.dtype, "out", 1) for v in values]
    stores = tuple(Store(len(dtypes) + k, v) for k, v in enumerate(values))
    return Nest(0, 1, "row", tuple(operands), tuple(np.dtype(p) for p in params), (Pass("row", stores),))


_TO_BOOL = {"eq", "ne", "lt", "le", "gt", "ge", "is_finite"}


def result_dtype(op, code):
    if op in _TO_BOOL:
        return np.dtype(bool)
    if op in ("real", "imag", "abs") and code in ("c64", "c128"):
        return DTYPES["f32" if code == "c64" else "f64"]
    if op == "complex":
        return DTYPES["c64" if code == "f32" else "c128"]
    return DTYPES[code]


def operations(code):
    """Every (op, expression) that the CPU's table has for operands of this type; operands are loads 0 and 1."""
    x, y = load(DTYPES[code], 0), load(DTYPES[code], 1)
    found = []
    for op in sorted(UNARY | BINARY):
        if (op, code) in CPU.spellings:
            args = (x,) if op in UNARY else (x, y)
            found.append((op, expr(op, result_dtype(op, code), *args)))
    return found


def softmax():
    x, m = load("f4", 0), acc("f4", 0)
    e = expr("exp", "f4", expr("sub", "f4", x, m))
    passes = (
        Pass("row", (), (Reduction(0, "max", x, np.dtype("f4")),)),
        Pass("row", (Store(2, e),), (Reduction(1, "add", e, np.dtype("f4")),)),
        Pass("row", (Store(1, expr("div", "f4", load("f4", 2), acc("f4", 1))),)),
    )
    operands = (operand("f4", "in", None, 1), operand("f4", "out", None, 1), operand("f4", "scratch", 0, 1))
    return Nest(1, 1, "row", operands, (), passes)


def layernorm():
    """y = (x - mean) / sqrt(var + eps) * gain, eps a parameter, gain broadcast along rows."""
    x, n = load("f4", 0), expr("cast", "f4", expr("extent", "i8", attr=1))
    mean = expr("div", "f4", acc("f4", 0), n)
    d = expr("sub", "f4", x, mean)
    scale = expr("rsqrt", "f4", expr("add", "f4", expr("div", "f4", acc("f4", 1), n), expr("param", "f4", attr=0)))
    passes = (
        Pass("row", (), (Reduction(0, "add", x, np.dtype("f4")),)),
        Pass("row", (), (Reduction(1, "add", expr("mul", "f4", d, d), np.dtype("f4")),)),
        Pass("row", (Store(2, expr("mul", "f4", expr("mul", "f4", d, scale), load("f4", 1))),)),
    )
    operands = (operand("f4", "in", None, 1), operand("f4", "in", None, 1), operand("f4", "out", None, 1))
    return Nest(1, 1, "row", operands, (np.dtype("f4"),), passes)


def reduction(op, dtype, result=None, column=False, inner=1):
    """A reduction of operand 0 to operand 1. Row: axes (o, i); column: axes (l, j) with l of unit stride."""
    result = np.dtype(result or dtype)
    place = None
    if op in ("argmax", "argmin"):
        result, place = np.dtype("i8"), index(1)
    r = Reduction(0, op, load(dtype, 0), result, place)
    if column:
        operands = (operand(dtype, "in", 1, None), operand(result, "out", 1, 0))
    else:
        operands = (operand(dtype, "in", None, 1), operand(result, "out", None, 0))
    passes = (Pass("row", (), (r,)), Pass("point", (Store(1, acc(result, 0)),)))
    return Nest(1, inner, "column" if column else "row", operands, (), passes)


def scan(op, dtype, column=False):
    r = Reduction(0, op, load(dtype, 0), np.dtype(dtype), running=True)
    strides = (1, None) if column else (None, 1)
    operands = (operand(dtype, "in", *strides), operand(dtype, "out", *strides))
    passes = (Pass("row", (Store(1, acc(dtype, 0)),), (r,)),)
    return Nest(1, 1, "column" if column else "row", operands, (), passes)


def carry(dtype, number):
    return expr("carry", dtype, attr=number)


def recurrence(dtype="f4", lanes=True):
    """c = tanh(q * c + x[t]) from c0, each stored before its step, and the last one. Axes ((l,) t)."""
    step = expr(
        "tanh", dtype, expr("add", dtype, expr("mul", dtype, expr("param", dtype, attr=0), carry(dtype, 0)), load(dtype, 1))
    )
    once, every = ((1, None), (1, None)) if lanes else ((0,), (1,))
    operands = (
        operand(dtype, "in", *once),
        operand(dtype, "in", *every),
        operand(dtype, "out", *every),
        operand(dtype, "out", *once),
    )
    passes = (
        Pass("row", (Store(2, carry(dtype, 0)),), (), (Carry(0, load(dtype, 0), step, np.dtype(dtype)),)),
        Pass("point", (Store(3, carry(dtype, 0)),)),
    )
    return Nest(int(lanes), 1, "column" if lanes else "row", operands, (np.dtype(dtype),), passes)


def escape(lanes=True):
    """How often z = z * z + c, from 0, until |z|^2 is 4 or 50 steps are made. Axes ((l,) of no use)."""
    z, n = carry("c8", 0), carry("i8", 1)
    size = expr("add", "f4", *[expr("mul", "f4", p, p) for p in (expr("real", "f4", z), expr("imag", "f4", z))])
    test = expr("and", "?", expr("lt", "?", size, const(4.0, "f4")), expr("lt", "?", n, const(50, "i8")))
    after = expr("add", "c8", expr("mul", "c8", z, z), load("c8", 0))
    carries = (
        Carry(0, const(0j, "c8"), after, np.dtype("c8")),
        Carry(1, const(0, "i8"), expr("add", "i8", n, const(1, "i8")), np.dtype("i8")),
    )
    strides = (1, None) if lanes else (0,)
    operands = (operand("c8", "in", *strides), operand("i8", "out", *strides))
    passes = (Pass("while", (), (), carries, test), Pass("point", (Store(1, n),)))
    return Nest(int(lanes), 1, "column" if lanes else "row", operands, (), passes)


def scatter(combine, dtype="f4"):
    """y[index[i]] combine= x[i] where the guard holds; out-of-range indices are errors."""
    k = expr("check", "i8", load("i8", 1), expr("param", "i8", attr=0), attr=3)
    store = Store(2, load(dtype, 0), (k,), combine, expr("ge", "?", load("i8", 1), const(-5, "i8")))
    operands = (operand(dtype, "in", 1), operand("i8", "in", 1), operand(dtype, "out", 0, indirect=1))
    return Nest(0, 1, "row", operands, (np.dtype("i8"),), (Pass("row", (store,)),), sequential=True)


def transpose():
    """y[a, b, i] = x[i, a, b] + 1 for three axes."""
    value = expr("add", "f4", load("f4", 0), const(1.0, "f4"))
    operands = (operand("f4", "in", None, None, None), operand("f4", "out", None, None, 1))
    return Nest(2, 1, "row", operands, (), (Pass("row", (Store(1, value),)),))
