"""The one way into operators: what users pass becomes operands of one dtype and one shape.

In: Arrays, tracers, np.ndarrays, NumPy and Python scalars. Out: values that a primitive takes. Python and NumPy scalars
stay literals (an np.generic of the common dtype, or the Python scalar itself while everything is weak), so that
programs read `mul b 2.0:f32[]` and stay small. This is the hot path of eager code and of tracing: the cases "two values of
one aval" and "a value and a Python scalar" are decided before anything is looped over.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.config import config
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, asked_at, describe, message
from funcgrad.core.warn import scalar, warn
from funcgrad.numpy._axes import title
from funcgrad.ops.convert import convert_element_type, convert_numpy
from funcgrad.ops.shape import broadcast_in_dim
from funcgrad.trace.value import Value, aval_of, literal_aval

# Python scalars by the category that they have in promotion, and back.
PYTHON_SCALARS: dict[type, int] = {bool: 0, int: 1, float: 2, complex: 3}
_PYTHON_TYPES: tuple[type, ...] = (bool, int, float, complex)
_CATEGORY = {d: dt.category(d) for d in dt.BOOLS | dt.NUMBERS}
NOT_FOREIGN = (Value, np.ndarray, np.generic, bool, int, float, complex)


def operand(x: Any, name: str, arg: str) -> Any:
    """`x` as a Value or a scalar; TypeError, naming the function and the argument, for anything else."""
    if isinstance(x, Value) or x.__class__ in PYTHON_SCALARS:
        return x
    if isinstance(x, np.generic):
        _storable(x.dtype, name, arg)
        return x
    if isinstance(x, np.ndarray):
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError(
                message(
                    f"{title(name)}: got a masked array for {arg}",
                    "arrays without a mask",
                    f"fnp.where({arg}.mask, fill, {arg}.data), or {arg}.filled(value)",
                )
            )
        _storable(x.dtype, name, arg)
        return from_numpy(x)
    for python in _PYTHON_TYPES:  # subclasses, for instance an IntEnum
        if isinstance(x, python):
            return python(x)
    raise TypeError(
        message(
            f"{title(name)}: got {_kind(x)} for {arg}{asked_at()}",
            "arrays (of funcgrad or NumPy) and scalars; sequences are not converted silently, because that is slow "
            "inside a trace",
            f"fnp.asarray({arg}) in its place" if _convertible(x) else f"check what {arg} is",
        )
    )


def _storable(dtype: np.dtype, name: str, arg: str) -> None:
    try:
        dt.canonical(dtype)
    except TypeError as error:
        raise DtypeError(f"{title(name)}: {arg}: {error}") from None


def _kind(x: Any) -> str:
    return "None" if x is None else x.__class__.__name__


def _convertible(x: Any) -> bool:
    return isinstance(x, (list, tuple, range)) or hasattr(x, "__array__") or hasattr(x, "__dlpack__")


def as_value(x: Any, name: str, arg: str = "a") -> Value:
    """`x` as an Array or a tracer (a scalar becomes a 0-d array, weak where it was Python's)."""
    if isinstance(x, Value):
        return x
    x = operand(x, name, arg)
    return x if isinstance(x, Value) else scalar_array(x)


def values_of(name: str, **xs: Any) -> list[Any]:
    """The operands, by the names of their arguments, as Arrays or tracers in their common dtype.

    A Python number is converted from its full precision, and must fit."""
    return [as_value(x, name) for x in common_dtype(*[operand(x, name, arg) for arg, x in xs.items()])]


def value_in(x: Any, dtype: np.dtype, name: str, arg: str = "a") -> Value:
    """`x` as an Array or a tracer of this dtype; a Python scalar is converted from its full precision."""
    x = cast(x if isinstance(x, Value) else operand(x, name, arg), dtype)
    return x if isinstance(x, Value) else scalar_array(x)


def scalar_array(x: Any) -> Value:
    """A scalar literal as a 0-d Array."""
    aval = aval_of(x)
    return from_numpy(np.asarray(_literal(x, aval.dtype), aval.dtype), weak_type=aval.weak_type)


def cast(x: Any, dtype: np.dtype) -> Any:
    """A value or scalar in this dtype; scalars stay literals."""
    if isinstance(x, Value):
        return x if x.aval.dtype == dtype else convert_element_type(x, new_dtype=dtype)
    if dtype in dt.KEYS and getattr(x, "dtype", None) != dtype:
        raise DtypeError(
            message(f"the number {x!r} was to become a PRNG key", "keys from keys only", "random.key(seed), random.split(key, n)")
        )
    if x.__class__ in PYTHON_SCALARS:
        return _literal(x, dtype)
    return x if x.dtype == dtype else convert_numpy(x, dtype)[()]


def _literal(x: Any, dtype: np.dtype) -> Any:
    try:
        if dtype in dt.SMALL_INTEGERS:
            return _small(x, dtype)
        return scalar(x, dtype)
    except OverflowError:
        info = dt.finfo(dtype) if dtype in dt.INEXACT else dt.iinfo(dtype)
        raise OverflowError(
            message(
                f"the Python number {x} does not fit {dtype}, the dtype of the array that it is combined with",
                f"numbers from {info.min} to {info.max}",
                "convert the array first, for example with x.astype('int64')",
            )
        ) from None
    except ValueError:  # NaN
        raise UsageError(
            message(f"the Python number {x} was to become {dtype}", "numbers that the dtype has", "a floating dtype")
        ) from None
    except TypeError:  # a complex number for a real dtype
        raise DtypeError(
            message(f"the Python number {x} was to become {dtype}", "real numbers", "x.real, or a complex dtype")
        ) from None


def _small(x: Any, dtype: np.dtype) -> Any:
    info = dt.iinfo(dtype)
    if x.__class__ is int and not info.min <= x <= info.max:
        raise OverflowError  # the type itself would wrap it round
    return convert_numpy(np.asarray(x), dtype)[()]


def _join(xs: Sequence[Any]) -> tuple[np.dtype, bool]:
    avals = [aval_of(x) for x in xs]
    return dt.join([(a.dtype, a.weak_type) for a in avals])


def _cast_all(xs: Sequence[Any], dtype: np.dtype, weak: bool) -> list[Any]:
    if not weak:
        return [cast(x, dtype) for x in xs]
    # Python scalars and what was computed of them alone: the result yields to arrays as they do.
    python = _PYTHON_TYPES[dt.category(dtype)]
    if not any(isinstance(x, Value) for x in xs):
        return [python(x) for x in xs]
    kept = literal_aval(python(0)).dtype == dtype
    found: list[Any] = []
    for x in xs:
        if not isinstance(x, Value):
            exact = _literal(x, dtype)  # raises where the number does not fit
            found.append(python(x) if kept else exact)
        else:
            found.append(x if x.aval.dtype == dtype else convert_element_type(x, new_dtype=dtype, weak_type=True))
    return found


def common_dtype(*xs: Any) -> list[Any]:
    """The operands in their common dtype."""
    return _cast_all(xs, *_join(xs))


def common_inexact(*xs: Any) -> list[Any]:
    """The operands in their common dtype, which becomes the default float where it is bool or integer."""
    dtype, weak = _join(xs)
    if _category_of(dtype) < 2:
        dtype = dt.default_float()
    return _cast_all(xs, dtype, weak)


def _category_of(dtype: np.dtype) -> int:
    c = _CATEGORY.get(dtype)
    return dt.category(dtype) if c is None else c  # raises for keys, with a text


def inexact_dtype(dtype: np.dtype) -> np.dtype:
    """`dtype`, or the default float in the place of bool and integers."""
    return dt.default_float() if _category_of(dtype) < 2 else dtype


def broadcast_shapes_of(shapes: Sequence[tuple[int, ...]], name: str = "broadcast_shapes") -> tuple[int, ...]:
    """NumPy's rule: aligned at the right, extents equal or 1. ShapeError names the shapes and the axis."""
    rank = max([len(s) for s in shapes], default=0)
    out = [1] * rank
    for s in shapes:
        base = rank - len(s)
        for i, n in enumerate(s):
            if n != out[base + i]:
                if out[base + i] == 1:
                    out[base + i] = n
                elif n != 1:
                    _incompatible(name, shapes, base + i - rank)
    return tuple(out)


def _incompatible(name: str, shapes: Sequence[tuple[int, ...]], axis: int) -> None:
    extents = sorted({s[axis] for s in shapes if len(s) >= -axis})
    raise ShapeError(
        message(
            f"{title(name)}: got shapes {', '.join(map(str, shapes))}{asked_at()}",
            f"shapes that broadcast: aligned at the right, the extents of an axis are equal or 1 (axis {axis} has {extents})",
            "x[:, None] or fnp.expand_dims(x, axis) to line the axes up, .reshape or .T where they are in another order",
        )
    )


def broadcast_value(x: Any, shape: tuple[int, ...]) -> Any:
    """A value repeated to `shape` (which it is known to fit)."""
    own = x.aval.shape
    if own == shape:
        return x
    first = len(shape) - len(own)
    return broadcast_in_dim(x, shape=shape, dims=tuple(range(first, len(shape))))


def _check_ranks(name: str, shapes: Sequence[tuple[int, ...]]) -> None:
    if len({len(s) for s in shapes if s}) > 1:
        text = message(
            f"{title(name)}: got shapes {', '.join(map(str, shapes))} of different ranks{asked_at()}",
            "equal ranks, because config.numpy_rank_promotion is set",
            "x[None, :] to add the axis, or config.numpy_rank_promotion = 'allow'",
        )
        if config.numpy_rank_promotion == "raise":
            raise ShapeError(text)
        warn(text)


def common_shape(name: str, xs: Sequence[Any]) -> list[Any]:
    """The operands, with values repeated to their common shape; literals stay."""
    shapes = [x.aval.shape for x in xs if isinstance(x, Value)]
    if not shapes or shapes.count(shapes[0]) == len(shapes):
        return list(xs)
    if config.numpy_rank_promotion != "allow":
        _check_ranks(name, shapes)
    shape = broadcast_shapes_of(shapes, name)
    return [broadcast_value(x, shape) if isinstance(x, Value) else x for x in xs]


def unify(name: str, *xs: Any, inexact: bool = False) -> list[Any]:
    """Checked arguments -> operands of one dtype and one shape."""
    checked = [x if isinstance(x, Value) else operand(x, name, f"x{i + 1}") for i, x in enumerate(xs)]
    return common_shape(name, (common_inexact if inexact else common_dtype)(*checked))


def binary(op: Callable[..., Any], x: Any, y: Any, name: str) -> Any:
    """`op` of two arguments in their common dtype and shape."""
    if isinstance(x, Value):
        ax = x.aval
        if isinstance(y, Value):
            if ax is y.aval:
                return op(x, y)
        elif not ax.weak_type and PYTHON_SCALARS.get(y.__class__, 9) <= _CATEGORY.get(ax.dtype, -1):
            return op(x, _literal(y, ax.dtype))
    elif isinstance(y, Value):
        ay = y.aval
        if not ay.weak_type and PYTHON_SCALARS.get(x.__class__, 9) <= _CATEGORY.get(ay.dtype, -1):
            return op(_literal(x, ay.dtype), y)
    x, y = unify(name, x, y)
    return op(x, y)


def binary_inexact(op: Callable[..., Any], x: Any, y: Any, name: str) -> Any:
    """As `binary`; bool and integer operands become the default float first."""
    if isinstance(x, Value):
        ax = x.aval
        if ax.dtype in dt.INEXACT:
            if isinstance(y, Value):
                if ax is y.aval:
                    return op(x, y)
            elif not ax.weak_type and PYTHON_SCALARS.get(y.__class__, 9) <= _CATEGORY[ax.dtype]:
                return op(x, _literal(y, ax.dtype))
    x, y = unify(name, x, y, inexact=True)
    return op(x, y)


def unary_inexact(op: Callable[..., Any], x: Any, name: str) -> Any:
    """`op` of one argument, which becomes the default float where it is bool or integer."""
    if not isinstance(x, Value):
        x = operand(x, name, "x")
    dtype = aval_of(x).dtype
    if dtype in dt.INEXACT:
        return op(x)
    return op(common_inexact(x)[0])


def widened(op: Callable[..., Any]) -> Callable[..., Any]:
    """`op` of two operands of one dtype, where 8-bit floats are computed in float32: some of them have no infinity."""

    def apply(x: Any, y: Any) -> Any:
        own = aval_of(x).dtype
        if own not in dt.FLOAT8:
            return op(x, y)
        return cast(op(cast(x, dt.float32), cast(y, dt.float32)), own)

    return apply


def result_aval(*xs: Any) -> ShapedArray:
    """The aval of these operands brought together."""
    dtype, weak = _join(xs)
    return shaped(broadcast_shapes_of([aval_of(x).shape for x in xs]), dtype, weak)


def check_unsupported(name: str, **given: Any) -> None:
    """Arguments of NumPy that immutable arrays cannot honour raise, with what to write instead."""
    fixes = {
        "out": f"arrays are immutable; write x = {title(name)}(...)",
        "order": "order 'C' (or None, 'K', 'A'): arrays have one layout",
        "where": f"fnp.where(mask, {title(name)}(...), otherwise)",
        "kind": "stable=True or stable=False",
        "overwrite_input": "arrays are immutable; leave it out",
    }
    for arg, value in given.items():
        if value is not None and value is not False:
            raise TypeError(
                message(
                    f"{title(name)}: got {arg}={describe(value) if isinstance(value, Value) else repr(value)}",
                    f"{arg}=None",
                    fixes[arg],
                )
            )
