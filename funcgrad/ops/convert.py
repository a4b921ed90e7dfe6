"""Changes of representation: convert_element_type, bitcast_convert_type, reduce_precision, stop_gradient, copy.

A float outside an integer dtype's range becomes its nearest bound and NaN becomes 0, on every target (NumPy leaves both to the
machine). A complex number converted to a real dtype is its real part. An integer outside an integer dtype's range is wrapped
round. Floats of less than a byte have no infinities and no NaN: what is beyond their range becomes the largest number, NaN
becomes -0. No derivative passes through dtypes of less than a byte.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import DtypeError, UsageError, message
from funcgrad.ir.loop_rules import Indexed, Pointwise, View
from funcgrad.ir.primitive import LinearArg, register
from funcgrad.ops._family import check_dtypes, elementwise, linear, move_dim, same_mask
from funcgrad.ops._samples import uniform
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of

# --- convert_element_type ---------------------------------------------------------------------------------


_CONVERTED = dt.BOOLS | dt.NUMBERS | dt.SMALL


def _convert_abstract(x: ShapedArray, *, new_dtype: np.dtype, weak_type: bool = False) -> ShapedArray:
    out = shaped(x.shape, np.dtype(new_dtype), weak_type)
    check_dtypes("convert_element_type", _CONVERTED, x, out)
    return out


def _bounds(source: np.dtype, target: np.dtype) -> tuple[Any, Any]:
    """The least float that converts to `target`, and the least one above it that does not."""
    info = np.iinfo(target)
    low = float(info.min)
    high = float(info.max + 1)  # a power of two: exact, or infinite in a narrow float
    return source.type(low), source.type(high)


def convert_numpy(x: np.ndarray, new_dtype: np.dtype, weak_type: bool = False) -> np.ndarray:
    """x.astype(new_dtype) with the meaning that the module states."""
    x = np.asarray(x)
    source, target = x.dtype, np.dtype(new_dtype)
    if source == target:
        return x
    if target == dt.bool_:
        return x != source.type(0)
    if source in dt.COMPLEXES and target not in dt.COMPLEXES:
        x = x.real
        source = x.dtype
    if source in dt.SMALL:
        return convert_numpy(x.astype(_byte(source)), target)
    if target in dt.SMALL_INTEGERS:
        return _to_small(x, target)
    if source in dt.FLOATS and target in dt.INTEGERS:
        if source.itemsize < 4:
            x = x.astype(np.float32)
        return _float_to_int(x, target)
    if source in dt.FLOAT8 and target in dt.FLOAT8:  # ml_dtypes does not know all pairs
        x = x.astype(np.float32)
    return x.astype(target)


def _byte(small: np.dtype) -> np.dtype:
    """A dtype of whole bytes that holds all numbers of a smaller one."""
    return dt.float32 if small in dt.SMALL_FLOATS else dt.int8 if small in dt.SMALL_SIGNED else dt.uint8


def _to_small(x: np.ndarray, target: np.dtype) -> np.ndarray:
    if x.dtype in dt.FLOATS:
        info = dt.iinfo(target)
        x = x.astype(np.float32) if x.dtype.itemsize < 4 else x
        x = np.where(x == x, np.clip(x, info.min, info.max), 0)
    return x.astype(_byte(target)).astype(target)


def _float_to_int(x: np.ndarray, target: np.dtype) -> np.ndarray:
    low, high = _bounds(x.dtype, target)
    inside = (x >= low) & (x < high)
    if inside.all():
        return x.astype(target)
    info = np.iinfo(target)
    out = np.where(inside, x, 0).astype(target)
    return np.where(x >= high, target.type(info.max), np.where(x < low, target.type(info.min), out))


def _convert_loop(b: Any, x: Any, new_dtype: np.dtype, weak_type: bool = False) -> Any:
    target = np.dtype(new_dtype)
    if x.dtype == target:
        return x
    if target == dt.bool_:
        return b.ne(x, 0)
    if x.dtype in dt.COMPLEXES and target not in dt.COMPLEXES:
        x = b.real(x)
    if x.dtype in dt.FLOATS and target in dt.INTEGERS:
        low, high = _bounds(x.dtype, target)
        info = np.iinfo(target)
        out = b.select(b.ge(x, high), b.const(info.max, target), b.cast(x, target))
        out = b.select(b.lt(x, low), b.const(info.min, target), out)
        return b.select(b.ne(x, x), b.const(0, target), out)
    return b.cast(x, target)


def _convert_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, new_dtype: np.dtype, weak_type: bool = False) -> Any:
    (x,), (t,) = primals, tangents
    out = convert_element_type(x, new_dtype=new_dtype, weak_type=weak_type)
    if new_dtype not in dt.INEXACT or t is None:
        return out, None
    return out, convert_element_type(t, new_dtype=new_dtype, weak_type=weak_type)


def _convert_transpose(ct: Any, x: LinearArg, *, new_dtype: np.dtype, weak_type: bool = False) -> list[Any]:
    return [convert_element_type(ct, new_dtype=x.aval.dtype, weak_type=x.aval.weak_type)]


def _convert_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    draw = uniform(-9, 9)
    targets = [dt.float32, dt.float64, dt.int32, dt.int8, dt.uint16, dt.bool_]
    if dtype in dt.INEXACT:
        targets += [dt.complex64, dt.complex128]
    return [
        ((np.asarray(draw(rng, shape, dtype)),), {"new_dtype": target, "weak_type": False})
        for target in targets
        for shape in ((5,), (2, 3), (), (0, 2))
        # A negative float has no unsigned value to compare with.
        if not (target in dt.UNSIGNED and dtype not in dt.UNSIGNED)
    ]


def _unary_batch(op: Callable[..., Any]) -> Callable[..., Any]:
    return lambda size, args, dims, **params: (op(args[0], **params), dims[0])


convert_element_type = Operator(
    "convert_element_type",
    abstract=_convert_abstract,
    numpy=convert_numpy,
    jvp=_convert_jvp,
    transpose=_convert_transpose,
    batch="set below",
    mask_transpose=same_mask,
    loop=Pointwise(_convert_loop),
    dtypes=_CONVERTED,
    samples=_convert_samples,
    doc="the same numbers in another dtype",
)
convert_element_type.batch = _unary_batch(convert_element_type)
register(convert_element_type)


# --- bitcast_convert_type -----------------------------------------------------------------------------------

_BITCASTS = (dt.INTEGERS | dt.FLOATS) - dt.COMPLEXES


def _bitcast_abstract(x: ShapedArray, *, new_dtype: np.dtype) -> ShapedArray:
    target = np.dtype(new_dtype)
    check_dtypes("bitcast_convert_type", _BITCASTS, x)
    if target not in _BITCASTS:
        raise DtypeError(
            message(
                f"bitcast_convert_type: got {dt.short_name(target)}", "integer and float dtypes", "convert with x.astype(...)"
            )
        )
    old, new = x.dtype.itemsize, target.itemsize
    if new < old:
        return shaped((*x.shape, old // new), target)
    if new > old:
        if not x.ndim or x.shape[-1] != new // old:
            raise UsageError(
                message(
                    f"bitcast_convert_type: got {x.str_short()} for {dt.short_name(target)}",
                    f"a last axis of {new // old}, whose elements together make one of the wider dtype",
                    f"x.reshape(..., {new // old})",
                )
            )
        return shaped(x.shape[:-1], target)
    return shaped(x.shape, target)


def _bitcast_numpy(x: np.ndarray, new_dtype: np.dtype) -> np.ndarray:
    x, target = np.asarray(x), np.dtype(new_dtype)
    if target.itemsize == x.dtype.itemsize:
        return x.view(target)
    if target.itemsize < x.dtype.itemsize:
        return np.ascontiguousarray(x)[..., None].view(target) if x.ndim else x.reshape(1).view(target)
    return np.ascontiguousarray(x).view(target)[..., 0]


def _bitcast_loop(b: Any, handle: Any, new_dtype: np.dtype) -> Any:
    target, source = np.dtype(new_dtype), b.in_dtypes[0]
    old, new = source.itemsize, target.itemsize
    rank = handle.ndim
    if old == new:
        return b.bitcast(b.at(handle, [b.index(k) for k in range(rank)]), target)
    if new < old:  # the least significant part comes first
        wide = np.dtype(f"uint{old * 8}")
        word = b.bitcast(b.at(handle, [b.index(k) for k in range(rank)]), wide)
        part = b.shr(word, b.cast(b.mul(b.index(rank), 8 * new), wide))
        return b.bitcast(b.cast(part, np.dtype(f"uint{new * 8}")), target)
    wide, narrow = np.dtype(f"uint{new * 8}"), np.dtype(f"uint{old * 8}")
    word = None
    for k in range(new // old):
        part = b.cast(b.bitcast(b.at(handle, [*[b.index(i) for i in range(rank - 1)], k]), narrow), wide)
        part = b.shl(part, 8 * old * k) if k else part
        word = part if word is None else b.or_(word, part)
    return b.bitcast(word, target)


def _bitcast_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    draw = uniform(-9, 9)
    found = []
    for target in (dt.uint8, dt.uint16, dt.int32, dt.float32, dt.uint64):
        ratio = target.itemsize // dtype.itemsize
        for shape in ((3,), (2, 3), (), (0,)):
            shape = (*shape, ratio) if ratio > 1 else shape
            found.append(((np.asarray(draw(rng, shape, dtype)),), {"new_dtype": target}))
    return found


def _bitcast_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, new_dtype: np.dtype) -> Any:
    return bitcast_convert_type(move_dim(args[0], dims[0] or 0, 0), new_dtype=new_dtype), 0


bitcast_convert_type = Operator(
    "bitcast_convert_type",
    abstract=_bitcast_abstract,
    numpy=_bitcast_numpy,
    jvp=lambda primals, tangents, **params: (bitcast_convert_type(*primals, **params), None),
    transpose="it is not linear",
    batch=_bitcast_batch,
    loop=Indexed(_bitcast_loop, (0,)),
    dtypes=_BITCASTS,
    samples=_bitcast_samples,
    doc="the same bits in another dtype; a narrower dtype adds a last axis, a wider one takes it",
)
register(bitcast_convert_type)


# --- reduce_precision -------------------------------------------------------------------------------------


def _format_of(d: np.dtype) -> tuple[np.dtype, int, int]:
    """The unsigned dtype of the same width, and the numbers of mantissa and exponent bits."""
    mantissa = int(dt.finfo(d).nmant)
    return np.dtype(f"uint{d.itemsize * 8}"), mantissa, d.itemsize * 8 - 1 - mantissa


def _round_bits(d: np.dtype, exponent_bits: int, mantissa_bits: int) -> tuple[int, ...]:
    """Numbers for the rounding below: dropped bits, sign mask, exponent mask, least and greatest kept exponent fields."""
    unsigned, mantissa, exponent = _format_of(d)
    width = unsigned.itemsize * 8
    drop = max(0, mantissa - mantissa_bits)
    bias, kept = 2 ** (exponent - 1) - 1, 2 ** (exponent_bits - 1) - 1
    sign, field = 1 << (width - 1), (2**exponent - 1) << mantissa
    if exponent_bits >= exponent:
        return drop, sign, field, 0, field
    return drop, sign, field, (bias - kept) << mantissa, (bias + kept) << mantissa


def _reduce_precision_numpy(x: np.ndarray, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    x = np.asarray(x)
    u, mantissa, _ = _format_of(x.dtype)
    drop, sign, field, low, high = _round_bits(x.dtype, exponent_bits, mantissa_bits)
    bits = x.view(u)
    rest = ~u.type((1 << drop) - 1)
    half = u.type((1 << drop) // 2 - 1) if drop else u.type(0)
    odd = (bits >> u.type(drop)) & u.type(1) if drop else u.type(0)
    rounded = (bits + (half + odd)) & rest
    size = rounded & u.type(field)
    out = np.where(size > u.type(high), (rounded & u.type(sign)) | u.type(field), rounded)
    if low:
        out = np.where(size <= u.type(low), rounded & u.type(sign), out)
    return np.where(x != x, bits, out).astype(u).view(x.dtype)


def _reduce_precision_loop(b: Any, x: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    u, mantissa, _ = _format_of(x.dtype)
    drop, sign, field, low, high = _round_bits(x.dtype, exponent_bits, mantissa_bits)
    bits = b.bitcast(x, u)
    rounded = bits
    if drop:
        odd = b.and_(b.shr(bits, drop), 1)
        all_ones = (1 << (u.itemsize * 8)) - 1
        rounded = b.and_(b.add(bits, b.add(odd, (1 << drop) // 2 - 1)), all_ones ^ ((1 << drop) - 1))
    size = b.and_(rounded, field)
    out = b.select(b.gt(size, high), b.or_(b.and_(rounded, sign), field), rounded)
    if low:
        out = b.select(b.le(size, low), b.and_(rounded, sign), out)
    return b.select(b.ne(x, x), x, b.bitcast(out, x.dtype))


reduce_precision = elementwise(
    "reduce_precision",
    dtypes=dt.FLOATS - dt.FLOAT8,
    numpy=_reduce_precision_numpy,
    jvp=[lambda t, out, x, **params: reduce_precision(t, **params)],
    transpose=lambda ct, x, **params: [reduce_precision(ct, **params)],
    loop=_reduce_precision_loop,
    samples=uniform(-10, 10),
    cases=({"exponent_bits": 8, "mantissa_bits": 7}, {"exponent_bits": 5, "mantissa_bits": 10}),
    doc="rounded to a float of fewer bits, kept in its dtype; numbers below its normal range become zero",
)


# --- stop_gradient, copy ------------------------------------------------------------------------------------


def _vectors(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    return [((np.asarray(uniform(-9, 9)(rng, shape, dtype)),), {}) for shape in ((5,), (2, 3), (), (0, 2))]


stop_gradient = Operator(
    "stop_gradient",
    abstract=lambda x: x,
    numpy=lambda x: x,
    jvp=lambda primals, tangents: (stop_gradient(*primals), None),
    transpose="it passes no tangent on",
    batch=lambda size, args, dims: (stop_gradient(args[0]), dims[0]),
    loop=View(lambda v: v),
    dtypes=dt.ANY,
    samples=_vectors,
    doc="the operand as a constant: its tangent is zero",
)
register(stop_gradient)


copy = linear(
    "copy",
    abstract=lambda x: x,
    numpy=lambda x: np.array(x),
    transpose=lambda ct, aval: ct,
    masks=True,
    batch=lambda x, d, size: (copy(x), d),
    loop=Pointwise(lambda b, x: x),
    samples=_vectors,
    doc="the operand in memory of its own",
)


def convert(x: Any, dtype: np.dtype) -> Any:
    """`x` in `dtype`; no equation where it has it."""
    return x if aval_of(x).dtype == dtype else convert_element_type(x, new_dtype=dtype, weak_type=False)
