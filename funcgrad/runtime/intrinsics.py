"""The words of a printed CPU kernel: typed pointers, exact-width arithmetic, LLVM operations.

Enters: names used in kernel source text. Leaves: `NAMESPACE`, the globals that such a source is compiled in.
DT below stands for one of  b1 u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 c64 c128  (b1: a bool, stored as one byte).
Every operation keeps its operands' dtype (numba's own operators widen int32 to int64); ints wrap.

| name | meaning |
|---|---|
| `ptr_DT(bufs, k)` | pointer to buffer k (a literal), `p[i]` loads, `p[i] = v` stores; no bounds, no wraparound |
| `row_DT(scratch, offset, k)` | the same for scratch memory at a byte offset; k is the operand's number as well |
| `offset(p, n)` | p moved by n elements, same alias identity |
| `param_DT(dims, slot)` | the number stored bit for bit in `dims[slot]` (c128: slots slot and slot + 1) |
| `DT(x)` | cast of any scalar (float to int truncates as the machine does; complex drops its imaginary part) |
| `bits_DT(x)` | the same bits as another dtype of equal width |
| `add sub mul neg` | ints wrap, floats may contract into fma; complex too |
| `div rem` | truncating on ints (x / 0 and x % 0 are 0); floats IEEE (rem is C's fmod) |
| `fdiv` | float division as `div`, also complex (plain formula, no scaling) |
| `and_ or_ xor not_` | bitwise, and logical on bools |
| `shl shr shr_logical` | as NumPy: a count of at least the width gives 0 (shr: the sign); shr follows the signedness |
| `eq ne lt le gt ge` | bool; NaN compares as IEEE; complex has eq and ne |
| `max_ min_` | NaN propagates, -0 < +0; ints by signedness |
| `select(c, x, y)` | branch-free |
| `fma sqrt fabs floor ceil trunc rint copysign` | floats; rint rounds half to even; `abs_` also takes ints (INT_MIN stays) |
| `popcount clz` | count in the operand's dtype; clz(0) is the width |
| `real imag c64of c128of` | complex parts; `c64of(re, im)` makes one |
| `is_finite is_nan` | of a float, by its bits |
| `radd rmul rmax rmin` | for an accumulator only: floats may be reassociated, so that a reduction becomes vectors |
| `check_index(scratch, number, i, n)` | i when 0 <= i < n; else 0, and the error record, if empty, becomes (number + 1, i, n) |
| `stopped(scratch)` | whether the loop shall stop: what the function says that the driver left in the record, if there is one |
| `likely(c)` | a hint for a branch |
| `stream(p, i, v)` | a store that bypasses the caches (aligned vectors only: for large outputs of unit stride) |
| `inf nan` | float64 constants (write `f32(inf)`) |
"""

from llvmlite import ir
from numba.core import cgutils, types

from funcgrad.runtime.pointers import (
    DTYPES,
    I64,
    Word,
    as_index,
    offset,
    param_word,
    pointer_word,
    row_word,
    stream,
    word,
)

I1 = ir.IntType(1)
STOP_SLOT = 4  # of a thread's error record: the address of the driver's function that says whether to stop, or 0
CONTRACT = ("contract",)
REASSOC = ("contract", "reassoc", "nsz")

# ---- casts --------------------------------------------------------------------------------------------------


def _freeze(builder, value):
    """An undefined value (of a conversion out of range) becomes some value."""
    instruction = ir.instructions.Instruction(builder.block, value.type, "freeze", (value,))
    builder._insert(instruction)
    return instruction


def _convert(context, builder, value, source, target):
    """Numbers only: what the machine does, with no exceptions and no undefined values."""
    if isinstance(target, types.Complex):
        if isinstance(source, types.Complex):
            return context.cast(builder, value, source, target)
        pair = context.make_complex(builder, target)
        pair.real = _convert(context, builder, value, source, target.underlying_float)
        pair.imag = context.get_constant(target.underlying_float, 0.0)
        return pair._getvalue()
    if target == types.boolean:
        if source == types.boolean:
            return value
        if isinstance(source, types.Complex):
            pair = context.make_complex(builder, source, value)
            zero = ir.Constant(pair.real.type, 0.0)
            return builder.or_(builder.fcmp_unordered("!=", pair.real, zero), builder.fcmp_unordered("!=", pair.imag, zero))
        if isinstance(source, types.Float):
            return builder.fcmp_unordered("!=", value, ir.Constant(value.type, 0.0))
        return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
    if isinstance(source, types.Complex):
        real = context.make_complex(builder, source, value).real
        return _convert(context, builder, real, source.underlying_float, target)
    if isinstance(source, types.Float) and isinstance(target, types.Integer):
        kind = ir.IntType(target.bitwidth)
        if target.bitwidth < 32:  # as NumPy: by way of int32, so that out-of-range values wrap
            return builder.trunc(_freeze(builder, builder.fptosi(value, ir.IntType(32))), kind)
        if target.signed:
            return _freeze(builder, builder.fptosi(value, kind))
        if target.bitwidth == 32:
            return builder.trunc(_freeze(builder, builder.fptosi(value, I64)), kind)
        half = ir.Constant(value.type, 9223372036854775808.0)
        low = _freeze(builder, builder.fptosi(value, I64))
        high = _freeze(builder, builder.fptosi(builder.fsub(value, half), I64))
        return builder.select(builder.fcmp_ordered(">=", value, half), builder.xor(high, I64(1 << 63)), low)
    if source == types.boolean:
        if isinstance(target, types.Float):
            return builder.uitofp(value, context.get_value_type(target))
        return builder.zext(value, context.get_value_type(target))
    return context.cast(builder, value, source, target)


def _cast(dtype):
    def cast(typingctx, x):
        def build(context, builder, sig, args):
            return _convert(context, builder, args[0], sig.args[0], dtype)

        x = types.unliteral(x)
        if x == types.boolean or isinstance(x, types.Number):
            return dtype(x), build

    return word(cast)


def _bits(dtype):
    def bits(typingctx, x):
        def build(context, builder, sig, args):
            kind = context.get_value_type(dtype)
            return args[0] if args[0].type == kind else builder.bitcast(args[0], kind)

        if x.bitwidth == dtype.bitwidth:
            return dtype(x), build

    return word(bits)


# ---- arithmetic ---------------------------------------------------------------------------------------------


def is_float(dtype):
    return isinstance(dtype, types.Float)


def is_complex(dtype):
    return isinstance(dtype, types.Complex)


def _signed(dtype):
    return isinstance(dtype, types.Integer) and dtype.signed


def operation(arity, build, result=None, accepts=lambda dtype: True) -> Word:
    """A word of `arity` operands of one dtype; `build(context, builder, dtype, *values)`."""

    def lower(context, builder, sig, args):
        return build(context, builder, sig.args[-1], *args)

    def typed(*given):
        # the last operand decides; a literal takes the dtype of a variable
        kinds = {types.unliteral(x) for x in given}
        if len(kinds) != 1:
            return None
        dtype = kinds.pop()
        if accepts(dtype):
            return (result or dtype)(*([dtype] * arity)), lower
        return None

    def unary(typingctx, x):
        return typed(x)

    def binary(typingctx, x, y):
        return typed(x, y)

    def ternary(typingctx, x, y, z):
        return typed(x, y, z)

    return word((unary, binary, ternary)[arity - 1])


def call(builder, name, *values, fastmath=()):
    """A call of LLVM's intrinsic `name`, overloaded on the type of its values."""
    kind = values[0].type
    mangled = {"float": "f32", "double": "f64"}.get(str(kind), str(kind))
    flags = [v for v in values if v.type != kind]
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [v.type for v in values]), f"llvm.{name}.{mangled}"
    )
    assert not flags or name in ("ctlz",)
    return builder.call(function, values, fastmath=fastmath)


def _simple(int_op, float_op, flags=CONTRACT):
    """Build for add and sub: by the builder's method of that name."""

    def build(context, builder, dtype, x, y):
        if is_complex(dtype):
            a, b = (context.make_complex(builder, dtype, v) for v in (x, y))
            out = context.make_complex(builder, dtype)
            out.real = getattr(builder, float_op)(a.real, b.real, flags=flags)
            out.imag = getattr(builder, float_op)(a.imag, b.imag, flags=flags)
            return out._getvalue()
        if is_float(dtype):
            return getattr(builder, float_op)(x, y, flags=flags)
        if dtype == types.boolean:
            return builder.xor(x, y) if int_op == "sub" else builder.or_(x, y)
        return getattr(builder, int_op)(x, y)

    return build


def _mul(flags):
    def build(context, builder, dtype, x, y):
        if is_complex(dtype):
            a, b = (context.make_complex(builder, dtype, v) for v in (x, y))
            out = context.make_complex(builder, dtype)
            fmul = lambda p, q: builder.fmul(p, q, flags=CONTRACT)  # noqa: E731
            out.real = builder.fsub(fmul(a.real, b.real), fmul(a.imag, b.imag), flags=CONTRACT)
            out.imag = builder.fadd(fmul(a.real, b.imag), fmul(a.imag, b.real), flags=CONTRACT)
            return out._getvalue()
        if is_float(dtype):
            return builder.fmul(x, y, flags=flags)
        return builder.and_(x, y) if dtype == types.boolean else builder.mul(x, y)

    return build


def _neg(context, builder, dtype, x):
    if is_complex(dtype):
        a, out = context.make_complex(builder, dtype, x), context.make_complex(builder, dtype)
        out.real, out.imag = builder.fneg(a.real), builder.fneg(a.imag)
        return out._getvalue()
    return builder.fneg(x) if is_float(dtype) else builder.neg(x)


def _fdiv(context, builder, dtype, x, y):
    if not is_complex(dtype):
        return builder.fdiv(x, y, flags=CONTRACT)
    a, b = (context.make_complex(builder, dtype, v) for v in (x, y))
    out = context.make_complex(builder, dtype)
    norm = builder.fadd(builder.fmul(b.real, b.real), builder.fmul(b.imag, b.imag))
    real = builder.fadd(builder.fmul(a.real, b.real), builder.fmul(a.imag, b.imag))
    imag = builder.fsub(builder.fmul(a.imag, b.real), builder.fmul(a.real, b.imag))
    out.real, out.imag = builder.fdiv(real, norm), builder.fdiv(imag, norm)
    return out._getvalue()


def _quotient(remainder):
    def build(context, builder, dtype, x, y):
        if is_float(dtype):
            return builder.frem(x, y) if remainder else builder.fdiv(x, y, flags=CONTRACT)
        kind = x.type
        zero, one = ir.Constant(kind, 0), ir.Constant(kind, 1)
        nothing = builder.icmp_unsigned("==", y, zero)
        unsafe = nothing
        if dtype.signed:  # INT_MIN / -1 traps: INT_MIN / 1 is the wrapped answer
            low = ir.Constant(kind, -(1 << (dtype.bitwidth - 1)))
            least = builder.icmp_unsigned("==", x, low)
            minus = builder.icmp_unsigned("==", y, ir.Constant(kind, -1))
            unsafe = builder.or_(nothing, builder.and_(least, minus))
        divisor = builder.select(unsafe, one, y)
        name = ("s" if dtype.signed else "u") + ("rem" if remainder else "div")
        return builder.select(nothing, zero, getattr(builder, name)(x, divisor))

    return build


def _extremum(name, flags=()):
    def build(context, builder, dtype, x, y):
        if is_float(dtype):
            return call(builder, "maximum" if name == "max" else "minimum", x, y, fastmath=flags)
        if dtype == types.boolean:
            return builder.or_(x, y) if name == "max" else builder.and_(x, y)
        return call(builder, ("s" if _signed(dtype) else "u") + name, x, y)

    return build


def _shift(kind):
    def build(context, builder, dtype, x, y):
        width = ir.Constant(x.type, x.type.width)
        inside = builder.icmp_unsigned("<", y, width)
        if kind == "shr" and dtype.signed:
            last = ir.Constant(x.type, x.type.width - 1)
            return builder.ashr(x, builder.select(inside, y, last))
        count = builder.select(inside, y, ir.Constant(x.type, 0))
        moved = builder.shl(x, count) if kind == "shl" else builder.lshr(x, count)
        return builder.select(inside, moved, ir.Constant(x.type, 0))

    return build


def _compare(sign):
    def build(context, builder, dtype, x, y):
        if is_complex(dtype):
            a, b = (context.make_complex(builder, dtype, v) for v in (x, y))
            compare = builder.fcmp_ordered if sign == "==" else builder.fcmp_unordered
            join = builder.and_ if sign == "==" else builder.or_
            return join(compare(sign, a.real, b.real), compare(sign, a.imag, b.imag))
        if is_float(dtype):
            return (builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered)(sign, x, y)
        return (builder.icmp_signed if _signed(dtype) else builder.icmp_unsigned)(sign, x, y)

    return build


def _bitwise(name):
    return lambda context, builder, dtype, x, y: getattr(builder, name)(x, y)


def _llvm(name):
    return lambda context, builder, dtype, *values: call(builder, name, *values)


def _abs(context, builder, dtype, x):
    if is_float(dtype):
        return call(builder, "fabs", x)
    if not dtype.signed:
        return x
    return builder.select(builder.icmp_signed("<", x, ir.Constant(x.type, 0)), builder.neg(x), x)


def _clz(context, builder, dtype, x):
    return call(builder, "ctlz", x, I1(0))


def _magnitude_below(context, builder, dtype, x, predicate):
    """Compare |x| with infinity, as integers (a float comparison could be folded away)."""
    width = dtype.bitwidth
    kind = ir.IntType(width)
    infinity = 0x7F800000 if width == 32 else 0x7FF0000000000000
    magnitude = builder.and_(builder.bitcast(x, kind), ir.Constant(kind, (1 << (width - 1)) - 1))
    return builder.icmp_unsigned(predicate, magnitude, ir.Constant(kind, infinity))


@word
def select(typingctx, condition, x, y):
    def build(context, builder, sig, args):
        return builder.select(*args)

    x, y = types.unliteral(x), types.unliteral(y)
    if condition == types.boolean and x == y:
        return x(condition, x, y), build


@word
def likely(typingctx, condition):
    def build(context, builder, sig, args):
        return builder.call(
            cgutils.get_or_insert_function(builder.module, ir.FunctionType(I1, [I1, I1]), "llvm.expect.i1"),
            [args[0], I1(1)],
        )

    return types.boolean(types.boolean), build


@word
def check_index(typingctx, scratch, number, i, n):
    def build(context, builder, sig, args):
        record = builder.bitcast(args[0], I64.as_pointer())
        number, i, n = (as_index(context, builder, v, t) for v, t in zip(args[1:], sig.args[1:], strict=True))
        outside = builder.icmp_unsigned(">=", i, n)
        with cgutils.if_unlikely(builder, outside):
            first = builder.load(record, typ=I64)
            with builder.if_then(builder.icmp_unsigned("==", first, I64(0))):
                for slot, value in enumerate((builder.add(number, I64(1)), i, n)):
                    builder.store(value, builder.gep(record, [I64(slot)], source_etype=I64))
        return builder.select(outside, I64(0), i)

    return types.int64(scratch, number, i, n), build


@word
def stopped(typingctx, scratch):
    def build(context, builder, sig, args):
        record = builder.bitcast(args[0], I64.as_pointer())
        function = builder.load(builder.gep(record, [I64(STOP_SLOT)], source_etype=I64), typ=I64)
        place = cgutils.alloca_once_value(builder, I64(0))
        with builder.if_then(builder.icmp_unsigned("!=", function, I64(0))):
            kind = ir.FunctionType(I64, [I64])
            told = builder.call(builder.inttoptr(function, kind.as_pointer()), [builder.ptrtoint(args[0], I64)])
            builder.store(told, place)
        return builder.icmp_unsigned("!=", builder.load(place, typ=I64), I64(0))

    return types.boolean(scratch), build


@word
def real(typingctx, z):
    def build(context, builder, sig, args):
        return context.make_complex(builder, sig.args[0], args[0]).real

    return z.underlying_float(z), build


@word
def imag(typingctx, z):
    def build(context, builder, sig, args):
        return context.make_complex(builder, sig.args[0], args[0]).imag

    return z.underlying_float(z), build


def _complex_of(dtype):
    def complex_of(typingctx, re, im):
        def build(context, builder, sig, args):
            pair = context.make_complex(builder, dtype)
            pair.real, pair.imag = args
            return pair._getvalue()

        part = dtype.underlying_float
        return dtype(part, part), build

    return word(complex_of)


def _not_complex(dtype):
    return not is_complex(dtype)


def _is_int(dtype):
    return isinstance(dtype, types.Integer) or dtype == types.boolean


NAMESPACE = {
    "add": operation(2, _simple("add", "fadd")),
    "sub": operation(2, _simple("sub", "fsub")),
    "mul": operation(2, _mul(CONTRACT)),
    "neg": operation(1, _neg),
    "fdiv": operation(2, _fdiv, accepts=lambda t: is_float(t) or is_complex(t)),
    "div": operation(2, _quotient(False), accepts=_not_complex),
    "rem": operation(2, _quotient(True), accepts=_not_complex),
    "and_": operation(2, _bitwise("and_"), accepts=_is_int),
    "or_": operation(2, _bitwise("or_"), accepts=_is_int),
    "xor": operation(2, _bitwise("xor"), accepts=_is_int),
    "not_": operation(1, lambda context, builder, dtype, x: builder.not_(x), accepts=_is_int),
    "shl": operation(2, _shift("shl"), accepts=_is_int),
    "shr": operation(2, _shift("shr"), accepts=_is_int),
    "shr_logical": operation(2, _shift("shr_logical"), accepts=_is_int),
    "max_": operation(2, _extremum("max"), accepts=_not_complex),
    "min_": operation(2, _extremum("min"), accepts=_not_complex),
    "radd": operation(2, _simple("add", "fadd", REASSOC)),
    "rmul": operation(2, _mul(REASSOC)),
    "rmax": operation(2, _extremum("max", ("nsz",)), accepts=_not_complex),
    "rmin": operation(2, _extremum("min", ("nsz",)), accepts=_not_complex),
    "fma": operation(3, _llvm("fma"), accepts=is_float),
    "copysign": operation(2, _llvm("copysign"), accepts=is_float),
    "abs_": operation(1, _abs, accepts=_not_complex),
    "popcount": operation(1, _llvm("ctpop"), accepts=_is_int),
    "clz": operation(1, _clz, accepts=_is_int),
    "is_finite": operation(1, lambda c, b, t, x: _magnitude_below(c, b, t, x, "<"), result=types.boolean, accepts=is_float),
    "is_nan": operation(1, lambda c, b, t, x: _magnitude_below(c, b, t, x, ">"), result=types.boolean, accepts=is_float),
    "select": select,
    "offset": offset,
    "stream": stream,
    "likely": likely,
    "check_index": check_index,
    "stopped": stopped,
    "real": real,
    "imag": imag,
    "c64of": _complex_of(types.complex64),
    "c128of": _complex_of(types.complex128),
    "inf": float("inf"),
    "nan": float("nan"),
}
for _name, _sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    NAMESPACE[_name] = operation(2, _compare(_sign), result=types.boolean)
for _name, _llvm_name in {"sqrt": "sqrt", "fabs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc"}.items():
    NAMESPACE[_name] = operation(1, _llvm(_llvm_name), accepts=is_float)
NAMESPACE["rint"] = operation(1, _llvm("roundeven"), accepts=is_float)
for _name, _dtype in DTYPES.items():
    NAMESPACE[_name] = _cast(_dtype)
    NAMESPACE[f"ptr_{_name}"] = pointer_word(_dtype)
    NAMESPACE[f"row_{_name}"] = row_word(_dtype)
    NAMESPACE[f"param_{_name}"] = param_word(_dtype)
    if isinstance(_dtype, types.Integer | types.Float):
        NAMESPACE[f"bits_{_name}"] = _bits(_dtype)
