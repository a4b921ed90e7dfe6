"""Pointers of kernels: typed, raw, and known not to overlap; and `Word`, a function that kernels call.

Enters: numba types. Leaves: the types `Pointer` and `Word`, how an element is loaded and stored, and the words that
make pointers.

Why vectors come out: a pointer's numba type carries its operand number, and each load and store says, in LLVM's
alias-scope metadata, that it touches no operand with another number. The vectoriser then needs no run-time check,
however many buffers there are. The metadata is dropped before machine code is chosen (compile.py), so that an output
that reuses an input's memory at the same positions stays right: nothing moves a load below a store. Before that, the one pass
that would (vectors from straight lines) is off.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.core.typing.templates import signature
from numba.extending import register_model

# numba's type of each short name
DTYPES = {
    "b1": types.boolean,
    "u8": types.uint8,
    "u16": types.uint16,
    "u32": types.uint32,
    "u64": types.uint64,
    "i8": types.int8,
    "i16": types.int16,
    "i32": types.int32,
    "i64": types.int64,
    "f32": types.float32,
    "f64": types.float64,
    "c64": types.complex64,
    "c128": types.complex128,
}
BYTE = ir.IntType(8)
I64 = ir.IntType(64)
BYTES_P = BYTE.as_pointer()

TABLE = types.CPointer(types.voidptr)  # of `bufs`
SCRATCH = types.voidptr  # of `scratch`


class Pointer(types.Type):
    """A raw pointer to `dtype`, known to overlap with no pointer of another operand `number`."""

    def __init__(self, dtype, number):
        self.dtype = dtype
        self.number = number
        super().__init__(name=f"ptr({dtype},{number})")


@register_model(Pointer)
class _PointerModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, BYTES_P)


DIMS = Pointer(types.int64, -1)  # of `dims`: never written by a kernel


class Word(types.Callable):
    """A function that is typed and built by us: `typer(typing context, *argument types) -> (signature, build)`,
    `build(context, builder, signature, values) -> value`. A plain numba @intrinsic would do the same, but
    each new signature of one makes numba rescan all of its registries."""

    def __init__(self, name, typer):
        self.typer, self.known = typer, {}
        self.arity = typer.__code__.co_argcount - 1
        super().__init__(name=f"word({name},{id(typer)})")

    def get_call_type(self, context: Any, args, kws):
        args = tuple(args)
        if args not in self.known:
            self.known[args] = self.typer(context, *args) if len(args) == self.arity and not kws else None
        found = self.known[args]
        if found is None:
            return None
        self.known.setdefault(found[0].args, found)
        return found[0]

    def get_call_signatures(self):
        return [sig for sig, _ in filter(None, self.known.values())], True

    def get_impl_key(self, sig):
        return self

    def build(self, context, sig):
        """The build function for a signature that was typed before."""
        return self.known[sig.args][1]


register_model(Word)(models.OpaqueModel)


def word(typer):
    return Word(typer.__name__, typer)


# ---- memory -------------------------------------------------------------------------------------------------


class Module(ir.Module):
    """An LLVM module that remembers the metadata of each operand."""

    def __init__(self, name):
        super().__init__(name)
        self.scopes, self.tags = {}, {}

    def own_scope(self, number):
        if number not in self.scopes:
            self.scopes[number] = self.add_metadata([f"operand {number}", self.add_metadata(["funcgrad"])])
        return self.scopes[number]

    def tag(self, number):
        """(its own scope, those of all lower-numbered ones), made at the first of its accesses."""
        if number not in self.tags:
            own = self.add_metadata([self.own_scope(number)])
            self.tags[number] = own, self.add_metadata([self.own_scope(k) for k in range(-1, number)])
        return self.tags[number]


def _tag(builder, instruction, number):
    """Say which operand an access touches: it is in its own scope and apart from every lower-numbered one
    (one direction is enough for LLVM, and needs no knowledge of the operands still to come)."""
    own, others = builder.module.tag(number)
    instruction.set_metadata("alias.scope", own)
    if number >= 0:
        instruction.set_metadata("noalias", others)
    else:
        instruction.set_metadata("invariant.load", builder.module.add_metadata([]))


def _storage(dtype):
    """LLVM type of one stored scalar (of one component, for complex) and its bytes."""
    if isinstance(dtype, types.Complex):
        dtype = dtype.underlying_float
    if dtype == types.boolean:
        return BYTE, 1
    if isinstance(dtype, types.Integer):
        return ir.IntType(dtype.bitwidth), dtype.bitwidth // 8
    return (ir.FloatType(), 4) if dtype == types.float32 else (ir.DoubleType(), 8)


def _element(builder, pointer, index, dtype, component=0):
    """Address of element `index`."""
    kind, _ = _storage(dtype)
    typed = builder.bitcast(pointer, kind.as_pointer())
    if isinstance(dtype, types.Complex):
        index = builder.shl(index, I64(1))
        index = builder.add(index, I64(component)) if component else index
    return builder.gep(typed, [index], inbounds=True, source_etype=kind)


def _load_one(builder, pointer, index, dtype, number, component=0):
    kind, align = _storage(dtype)
    value = builder.load(_element(builder, pointer, index, dtype, component), align=align, typ=kind)
    _tag(builder, value, number)
    return value


def load(context, builder, pointer, index, pointer_type):
    """The element at `index` as numba's value of its dtype."""
    dtype, number = pointer_type.dtype, pointer_type.number
    if isinstance(dtype, types.Complex):
        parts = context.make_complex(builder, dtype)
        parts.real = _load_one(builder, pointer, index, dtype, number)
        parts.imag = _load_one(builder, pointer, index, dtype, number, component=1)
        return parts._getvalue()
    value = _load_one(builder, pointer, index, dtype, number)
    return builder.icmp_unsigned("!=", value, BYTE(0)) if dtype == types.boolean else value


def store(context, builder, pointer, index, value, pointer_type):
    dtype, number = pointer_type.dtype, pointer_type.number
    if isinstance(dtype, types.Complex):
        pair = context.make_complex(builder, dtype, value)
        parts = [(pair.real, 0), (pair.imag, 1)]
    elif dtype == types.boolean:
        parts = [(builder.zext(value, BYTE), 0)]
    else:
        parts = [(value, 0)]
    kind, align = _storage(dtype)
    written = []
    for part, component in parts:
        address = _element(builder, pointer, index, dtype, component)
        instruction = builder.store(part, address, align=align)
        _tag(builder, instruction, number)
        written.append(instruction)
    return written


def as_index(context, builder, value, dtype):
    return context.cast(builder, value, dtype, types.int64)


def type_getitem(pointer, index):
    if isinstance(index, types.Integer):
        return signature(pointer.dtype, pointer, types.int64)


def type_setitem(pointer, index, value):
    if isinstance(index, types.Integer):
        return signature(types.none, pointer, types.int64, pointer.dtype)


def build_getitem(context, builder, sig, args):
    return load(context, builder, args[0], args[1], sig.args[0])


def build_setitem(context, builder, sig, args):
    store(context, builder, args[0], args[1], args[2], sig.args[0])
    return context.get_dummy_value()


@word
def offset(typingctx, pointer, n):
    def build(context, builder, sig, args):
        dtype = sig.args[0].dtype
        kind, _ = _storage(dtype)
        index = as_index(context, builder, args[1], sig.args[1])
        return builder.bitcast(_element(builder, args[0], index, dtype), BYTES_P)

    return pointer(pointer, n), build


@word
def stream(typingctx, pointer, i, value):
    def build(context, builder, sig, args):
        index = as_index(context, builder, args[1], sig.args[1])
        for instruction in store(context, builder, args[0], index, args[2], sig.args[0]):
            instruction.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))
        return context.get_dummy_value()

    return types.none(pointer, i, pointer.dtype), build


def pointer_word(dtype):
    def ptr(typingctx, bufs, number):
        def build(context, builder, sig, args):
            table = builder.bitcast(args[0], BYTES_P.as_pointer())
            address = builder.load(builder.gep(table, [I64(number.literal_value)], source_etype=BYTES_P), typ=BYTES_P)
            _tag(builder, address, -1)
            return address

        if isinstance(number, types.IntegerLiteral):
            return Pointer(dtype, number.literal_value)(bufs, number), build

    return word(ptr)


def row_word(dtype):
    def row(typingctx, scratch, offset, number):
        def build(context, builder, sig, args):
            shift = context.cast(builder, args[1], sig.args[1], types.int64)
            return builder.gep(builder.bitcast(args[0], BYTES_P), [shift], inbounds=True, source_etype=BYTE)

        if isinstance(number, types.IntegerLiteral):
            return Pointer(dtype, number.literal_value)(scratch, offset, number), build

    return word(row)


def param_word(dtype):
    def param(typingctx, dims, slot):
        def build(context, builder, sig, args):
            index = as_index(context, builder, args[1], sig.args[1])
            start = _element(builder, args[0], index, types.int64)
            return load(context, builder, builder.bitcast(start, BYTES_P), I64(0), Pointer(dtype, -1))

        return dtype(dims, slot), build

    return word(param)
