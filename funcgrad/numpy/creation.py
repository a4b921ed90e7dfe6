"""Making arrays: from data (array, asarray), filled (zeros, ones, full, empty), counted (arange, linspace), eye, tri ...

Without a dtype, what is created from Python numbers is float32 / int64 / complex64 / bool (`config.default_float` changes the
float); data that is NumPy's keeps its dtype. Filled and counted arrays are programs of a constant or of `iota`, so that
inside a jitted function they take no memory.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.bridge.array import from_dlpack as _from_dlpack
from funcgrad.bridge.array import from_numpy
from funcgrad.bridge.device import CPU
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ConcretizationTypeError, DtypeError, ShapeError, UsageError, message
from funcgrad.numpy._axes import axis_of, shape_of, static_int
from funcgrad.numpy._promote import (
    as_value,
    broadcast_value,
    cast,
    common_dtype,
    inexact_dtype,
    operand,
    result_aval,
    scalar_array,
)
from funcgrad.numpy.elementwise import add, multiply
from funcgrad.numpy.join import stack
from funcgrad.numpy.structure import expand_dims, moveaxis, reshape
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full as fill
from funcgrad.ops.shape import iota
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.value import Value

__all__ = [
    "arange", "array", "asarray", "astype", "copy", "diag_indices", "diag_indices_from", "empty", "empty_like", "eye",
    "from_dlpack", "frombuffer", "fromfunction", "full", "full_like", "geomspace", "identity", "indices", "linspace",
    "logspace", "mask_indices", "meshgrid", "ones", "ones_like", "tri", "tril", "tril_indices", "tril_indices_from", "triu",
    "triu_indices", "triu_indices_from", "vander", "zeros", "zeros_like",
]  # fmt: skip


def _check_device(name: str, device: Any) -> None:
    if device is not None and device != CPU and str(device) not in ("cpu", "cpu:0"):
        raise UsageError(message(f"fnp.{name}: got device={device!r}", f"None or {CPU!r}", "leave device out"))


def _default_dtype(x: np.ndarray) -> np.dtype:
    """The dtype of data that Python numbers make up."""
    kind = x.dtype.kind
    if kind == "b":
        return dt.bool_
    if kind in "iu":
        return x.dtype if x.dtype == dt.uint64 else dt.int64
    return dt.default_float() if kind == "f" else dt.default_complex()


def _leaves(x: Any, found: list[Any]) -> list[Any]:
    if isinstance(x, (list, tuple)):
        for item in x:
            _leaves(item, found)
    else:
        found.append(x)
    return found


def _from_sequence(x: Any, dtype: np.dtype | None, name: str) -> Value:
    """Nested lists: of numbers by NumPy in one go; with Values inside by stacking."""
    leaves = _leaves(x, [])
    if not any([isinstance(leaf, Value) for leaf in leaves]):
        if dtype is not None and dtype in dt.INTEGERS and leaves and all([leaf.__class__ is int for leaf in leaves]):
            return from_numpy(_integers(x, dtype, name), copy=False)
        data = _to_ndarray(x, name)
        typed = [leaf.dtype for leaf in leaves if isinstance(leaf, (np.generic, np.ndarray))]
        if dtype is None:
            dtype = result_aval(*[operand(leaf, name, "object") for leaf in leaves]).dtype if typed else _default_dtype(data)
        return from_numpy(data.astype(dtype), copy=False)
    if not any([isinstance(leaf, Tracer) for leaf in leaves]):
        # Only concrete arrays: NumPy assembles them. The dtype is promoted, as an operation would.
        kept = result_aval(*[_scalar_kind(operand(leaf, name, "object")) for leaf in leaves]).dtype if dtype is None else dtype
        return from_numpy(_to_ndarray(_numpy_leaves(x), name).astype(kept), copy=False)
    parts = [_from_sequence(i, dtype, name) if isinstance(i, (list, tuple)) else as_value(i, name, "object") for i in x]
    if len({p.shape for p in parts}) > 1:
        raise ShapeError(
            message(
                f"fnp.{name}: got a nested sequence with parts of shapes {[p.shape for p in parts]}",
                "parts of one shape",
                "pad them first",
            )
        )
    return stack([cast(p, dtype) for p in parts] if dtype is not None else parts)


def _integers(x: Any, dtype: np.dtype, name: str) -> np.ndarray:
    """Python integers (one, or nested lists of them) in a dtype of integers; one that it cannot hold is an error, as in NumPy."""
    try:
        return np.asarray(x, dtype)
    except OverflowError:
        info = np.iinfo(dtype)
        wrong = next(n for n in _leaves(x, []) if not info.min <= n <= info.max)
        raise OverflowError(
            message(
                f"fnp.{name}: got the Python number {wrong} for {dtype}",
                f"numbers from {info.min} to {info.max}",
                "a wider dtype ('int64', 'uint64', 'float64'), or np.asarray(x).astype(dtype) to wrap around",
            )
        ) from None
    except ValueError:
        return _to_ndarray(x, name)  # says that the rows differ


def _scalar_kind(x: Any) -> Any:
    # For the dtype alone: a value's own shape does not matter.
    return x if not isinstance(x, Value) else (x.dtype.type(0) if not x.weak_type else _WEAK[dt.category(x.dtype)])


_WEAK = (False, 0, 0.0, 0j)


def _numpy_leaves(x: Any) -> Any:
    return [_numpy_leaves(i) for i in x] if isinstance(x, (list, tuple)) else (np.asarray(x) if isinstance(x, Value) else x)


def _to_ndarray(x: Any, name: str, kind: str = "") -> np.ndarray:
    try:
        data = np.asarray(x)
    except ValueError:
        raise ShapeError(
            message(
                f"fnp.{name}: got a nested sequence whose parts have different lengths",
                "rows of one length",
                "pad the shorter rows",
            )
        ) from None
    if data.dtype.kind in "OSUMm":
        raise DtypeError(
            message(
                f"fnp.{name}: got an object that NumPy cannot read as numbers ({kind or x.__class__.__name__})",
                "numbers, nested lists of them, arrays",
                "np.asarray(x, dtype=float) first",
            )
        )
    return data


def array(
    object: Any, dtype: Any = None, *args: Any, copy: Any = True, order: Any = "K", ndmin: int = 0, device: Any = None
) -> Any:
    """An array from a number, nested lists, a NumPy array, a buffer or any object with `__array__` or `__dlpack__`.

    Args: object: the data; lists may hold arrays and tracers. dtype: without it Python numbers give float32 / int64 / complex64 /
    bool and NumPy's data keeps its own. copy: True copies memory that could still change (False shares a NumPy array's
    memory: the caller promises not to change it any more). ndmin: extents of 1 are put in front up to this rank.
    Raises: ShapeError for ragged lists; TypeError for objects that are not numbers.

    >>> fnp.array([[1, 2], [3, 4]], dtype=fnp.float32)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    >>> fnp.array([1, 2.5]).dtype, fnp.array(np.arange(3.0)).dtype
    (dtype('float32'), dtype('float64'))
    >>> x = fnp.arange(3)
    >>> fnp.array([x, 10 * x])
    Array([[ 0,  1,  2],
           [ 0, 10, 20]], dtype=int64)
    """
    if args:
        raise TypeError(
            message(
                f"fnp.array: got {len(args) + 2} positional arguments", "object and dtype by position", "the others by keyword"
            )
        )
    if order not in (None, "K", "C", "A"):
        raise UsageError(
            message(f"fnp.array: got order={order!r}", "'K', 'C', 'A' or None: arrays have one layout", "leave order out")
        )
    _check_device("array", device)
    x = _convert(object, None if dtype is None else dt.canonical(dtype), copy, "array")
    return expand_dims(x, tuple(range(ndmin - x.ndim))) if x.ndim < ndmin else x


def _convert(x: Any, dtype: np.dtype | None, copy: Any, name: str) -> Value:
    if isinstance(x, Value):
        return x if dtype is None else _strong(cast(x, dtype))
    if isinstance(x, np.ma.MaskedArray):
        operand(x, name, "object")  # raises
    if isinstance(x, (np.ndarray, np.generic)):
        out = (
            from_numpy(x, copy=copy is not False)
            if dtype is None or x.dtype == dtype
            else from_numpy(_astype(x, dtype), copy=False)
        )
        return out
    if isinstance(x, (bool, int, float, complex)):
        target = dtype or (dt.scalar_dtype(type(x)) if type(x) in _SCALARS else None)
        if type(x) is int and target is not None and target in dt.INTEGERS:
            return from_numpy(_integers(x, target, name), copy=False)
        return from_numpy(np.asarray(x) if target is None else _astype(np.asarray(x), target), copy=False)
    if isinstance(x, (list, tuple)):
        return _from_sequence(x, dtype, name)
    if hasattr(x, "__funcgrad_array__"):
        return _convert(x.__funcgrad_array__(), dtype, copy, name)
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        return _convert(_from_dlpack(x), dtype, copy, name)
    if isinstance(x, (str, bytes, dict, set, frozenset)):
        _to_ndarray(np.array(x, object), name, type(x).__name__)  # raises
    if x is None:
        raise TypeError(
            message(
                f"fnp.{name}: got None", "numbers, nested lists of them, arrays", "fnp.nan or fnp.zeros(()) for a missing number"
            )
        )
    native = hasattr(x, "__array__") or isinstance(x, (memoryview, bytearray)) or hasattr(x, "__array_interface__")
    data = _to_ndarray(x if native else list(x) if hasattr(x, "__iter__") else x, name)
    return from_numpy(_astype(data, dtype or (data.dtype if native else _default_dtype(data))), copy=native)


_SCALARS = frozenset({bool, int, float, complex})


def _astype(x: Any, dtype: np.dtype) -> np.ndarray:
    with np.errstate(all="ignore"):
        x = np.asarray(x)
        if x.dtype.kind == "c" and dtype not in dt.COMPLEXES and dtype != dt.bool_:
            x = x.real
        return x.astype(dtype)


def _strong(x: Value) -> Value:
    return ew.convert_element_type(x, new_dtype=x.dtype) if x.weak_type else x


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, device: Any = None) -> Any:
    """As `array`; an Array is returned as it is. `copy=False` shares a NumPy array's memory.

    >>> fnp.asarray(np.arange(3.0))
    Array([0., 1., 2.], dtype=float64)
    >>> x = fnp.ones(2)
    >>> fnp.asarray(x) is x
    True
    """
    return array(a, dtype, copy=True if copy is None else copy, order=order, device=device)


def copy(a: Any, order: Any = None) -> Any:
    """A copy of the array (arrays are immutable: a new handle of the same numbers is as good).

    >>> fnp.copy(np.array([1.0, 2.0]))
    Array([1., 2.], dtype=float64)
    """
    return array(a, copy=True, order=order)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """The array in another dtype. Floats are cut towards 0 when they become integers; complex numbers lose their imaginary
    part. copy: any; arrays are immutable.

    >>> fnp.astype(fnp.array([1.9, -1.9]), int)
    Array([ 1, -1], dtype=int64)
    >>> fnp.astype(fnp.array([0, 3]), bool)
    Array([False,  True], dtype=bool)
    """
    _check_device("astype", device)
    x = as_value(x, "astype", "x")
    target = dt.scalar_dtype(dtype) if dtype.__class__ is type and dtype in _SCALARS else dt.canonical(dtype)
    if x.dtype in dt.COMPLEXES and target not in dt.COMPLEXES:
        x = ew.ne(x, x.dtype.type(0)) if target == dt.bool_ else ew.real(x)
    return _strong(cast(x, target))


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """An array on the memory of another library's array (through `__dlpack__`); copy=True: on a copy of it.

    Raises: BufferError or TypeError of the other library where it cannot lend its memory to the CPU.

    >>> fnp.from_dlpack(np.arange(3.0))
    Array([0., 1., 2.], dtype=float64)
    """
    _check_device("from_dlpack", device)
    return _from_dlpack(x, copy=copy)


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """A 1-d array of the numbers in a bytes-like object. dtype: float64 where it is left out, as in NumPy.

    count: how many numbers (-1: all). offset: in bytes. Raises ValueError where the buffer does not hold a whole number of them.

    >>> fnp.frombuffer(b"\\x01\\x02\\x03\\x04", dtype=fnp.uint8)
    Array([1, 2, 3, 4], dtype=uint8)
    >>> fnp.frombuffer(b"\\x01\\x02\\x03\\x04", dtype=fnp.uint8, count=2, offset=1)
    Array([2, 3], dtype=uint8)
    """
    return from_numpy(np.frombuffer(buffer, np.float64 if dtype is float else dt.canonical(dtype), count, offset))


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """`function(i, j, ...)` of the index arrays of `shape`. dtype: of the index arrays (float32 without one).

    kwargs: passed on to the function.

    >>> fnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    Array([[ 0,  1,  2],
           [10, 11, 12]], dtype=int64)
    """
    grids = indices(shape_of(shape, "fromfunction"), dt.default_float() if dtype is float else dtype)
    return asarray(function(*[g for g in grids], **kwargs))


# --- filled -----------------------------------------------------------------------------------------------------------


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of `shape` filled with `fill_value` (which may be an array that broadcasts).

    dtype: that of the fill value where it is left out. Raises ConcretizationTypeError for a traced shape.

    >>> fnp.full((2, 3), 7.0)
    Array([[7., 7., 7.],
           [7., 7., 7.]], dtype=float32)
    >>> fnp.full((2, 3), fnp.arange(3))
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int64)
    """
    _check_device("full", device)
    new = shape_of(shape, "full")
    value = operand(fill_value, "full", "fill_value") if not isinstance(fill_value, (list, tuple)) else asarray(fill_value)
    if isinstance(value, Value):
        value = value if dtype is None else cast(value, dt.canonical(dtype))
        if len(value.shape) > len(new) or any([n not in (1, m) for n, m in zip(value.shape[::-1], new[::-1])]):
            raise ShapeError(
                message(
                    f"fnp.full: got fill_value {value.aval.str_short()} for shape {new}",
                    "a value that repeats into the shape",
                    "a scalar",
                )
            )
        return broadcast_value(value, new)
    target = result_aval(value).dtype if dtype is None else dt.canonical(dtype)
    return fill(new, _scalar_in(value, target))


def _scalar_in(value: Any, dtype: np.dtype) -> Any:
    return _astype(value, dtype)[()] if dtype in dt.INTEGERS and not isinstance(value, (int, np.integer)) else cast(value, dtype)


def _filled(name: str, shape: Any, dtype: Any, device: Any, number: int) -> Any:
    _check_device(name, device)
    return fill(shape_of(shape, name), cast(number, dt.default_float() if dtype is None else dt.canonical(dtype)))


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Zeros of `shape` (integer or tuple); dtype float32 without one. Raises ConcretizationTypeError for a traced shape.

    >>> fnp.zeros((2, 3))
    Array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    >>> fnp.zeros(3, int)
    Array([0, 0, 0], dtype=int64)
    """
    return _filled("zeros", shape, dtype, device, 0)


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Ones of `shape` (integer or tuple); dtype float32 without one. Raises ConcretizationTypeError for a traced shape.

    >>> fnp.ones((2, 2))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    >>> fnp.ones(3, bool)
    Array([ True,  True,  True], dtype=bool)
    """
    return _filled("ones", shape, dtype, device, 1)


def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """As `zeros`: arrays are immutable, so there is nothing that would fill an empty one.

    >>> fnp.empty(3)
    Array([0., 0., 0.], dtype=float32)
    """
    return _filled("empty", shape, dtype, device, 0)


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """An array filled with `fill_value`, of the shape and dtype of `a` unless they are given.

    Args: a: array, or anything with a shape and a dtype. fill_value: scalar, or an array that broadcasts.

    >>> fnp.full_like(fnp.arange(3), 7)
    Array([7, 7, 7], dtype=int64)
    >>> fnp.full_like(fnp.arange(3), 0.5, dtype=fnp.float32, shape=(2,))
    Array([0.5, 0.5], dtype=float32)
    """
    like = _prototype(a, "full_like")
    return full(like.shape if shape is None else shape, fill_value, like.dtype if dtype is None else dtype, device=device)


def _prototype(a: Any, name: str) -> Any:
    if hasattr(a, "shape") and hasattr(a, "dtype"):
        return a  # an array, or something that only says its shape and dtype
    return asarray(a) if isinstance(a, (list, tuple)) else as_value(a, name)


def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Zeros of the shape and dtype of `a` unless they are given.

    >>> fnp.zeros_like(np.arange(3.0))
    Array([0., 0., 0.], dtype=float64)
    """
    return full_like(a, 0, dtype, shape, device=device)


def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Ones of the shape and dtype of `a` unless they are given.

    >>> fnp.ones_like(fnp.zeros((2, 3)), dtype=int)
    Array([[1, 1, 1],
           [1, 1, 1]], dtype=int64)
    """
    return full_like(a, 1, dtype, shape, device=device)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """As `zeros_like`.

    >>> fnp.empty_like(fnp.arange(3))
    Array([0, 0, 0], dtype=int64)
    """
    return full_like(prototype, 0, dtype, shape, device=device)


# --- counted ----------------------------------------------------------------------------------------------------------


def _concrete_number(x: Any, name: str, arg: str) -> Any:
    if isinstance(x, Tracer):
        known = x.concrete()
        if known is None:
            raise ConcretizationTypeError(
                x, f"fnp.{name}: {arg} decides the length of the result, which must be known while tracing"
            )
        x = known
    return np.asarray(x)[()] if isinstance(x, (Value, np.ndarray)) else x


_steps: Any = np.arange


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None) -> Any:
    """Numbers from `start` (0 where only one is given) up to, not including, `stop` in steps of `step`.

    dtype: int64 for integers, float32 where a Python float takes part, otherwise by promotion.
    Raises ConcretizationTypeError for traced bounds: the length must be known; `fnp.arange(x.shape[0])` is.

    >>> fnp.arange(2, 8, 2)
    Array([2, 4, 6], dtype=int64)
    >>> fnp.arange(0, 1, 0.25)
    Array([0.  , 0.25, 0.5 , 0.75], dtype=float32)
    """
    _check_device("arange", device)
    if stop is None:
        start, stop = 0, start
    start, stop = _concrete_number(start, "arange", "start"), _concrete_number(stop, "arange", "stop")
    step = 1 if step is None else _concrete_number(step, "arange", "step")
    target = (
        result_aval(*[operand(v, "arange", "bounds") for v in (start, stop, step)]).dtype
        if dtype is None
        else dt.canonical(dtype)
    )
    if step == 0:
        raise UsageError(message("fnp.arange: got step=0", "a step that is not 0", "step=1"))
    if all([isinstance(v, (int, np.integer)) for v in (start, stop, step)]):
        count = len(range(int(start), int(stop), int(step)))
    else:
        count = max(0, math.ceil((stop - start) / step))
    if target in dt.INTEGERS and all([isinstance(v, (int, np.integer)) for v in (start, stop, step)]):
        out = iota(dtype=target, shape=(count,), dimension=0)
        out = out if step == 1 else ew.mul(out, target.type(step))
        return out if start == 0 else ew.add(out, target.type(start))
    with np.errstate(all="ignore"):
        return from_numpy(
            _steps(start, stop, step, np.float64 if target in dt.FLOATS else None)[:count].astype(target), copy=False
        )


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0, *,
    device: Any = None,
) -> Any:  # fmt: skip
    """`num` evenly spaced numbers from `start` to `stop` (included unless endpoint=False), along a new `axis`.

    start, stop: scalars or arrays that broadcast; gradients flow to both. retstep: also give the step.

    >>> fnp.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    >>> fnp.linspace(0, 1, 4, endpoint=False, retstep=True)
    (Array([0.  , 0.25, 0.5 , 0.75], dtype=float32), Array(0.25, dtype=float32))
    >>> fg.grad(lambda b: fnp.linspace(0.0, b, 5).sum())(1.0)
    Array(2.5, dtype=float32)
    """
    _check_device("linspace", device)
    n = static_int(num, "linspace", "num")
    if n < 0:
        raise UsageError(message(f"fnp.linspace: got num={n}", "0 or more", "num=50"))
    target = None if dtype is None else dt.canonical(dtype)
    a, b = common_dtype(operand(start, "linspace", "start"), operand(stop, "linspace", "stop"))
    work = inexact_dtype(result_aval(a, b).dtype)
    if target is not None:  # whole numbers are exact up to 2^53
        work = dt.promote_dtypes(work, dt.float64 if target not in dt.INEXACT else target)
    a, b = as_value(cast(a, work), "linspace"), as_value(cast(b, work), "linspace")
    a, b = broadcast_value(a, result_aval(a, b).shape), broadcast_value(b, result_aval(a, b).shape)
    gaps = n - 1 if endpoint else n
    step = ew.div(ew.sub(b, a), work.type(gaps)) if gaps > 0 else fill(a.shape, work.type(np.nan))
    # a (1 - t) + b t hits both ends exactly and is exact for equal ends.
    real = dt.float64 if work in (dt.float64, dt.complex128) else dt.float32
    t = iota(dtype=dt.int64, shape=(n,), dimension=0)
    t = cast(ew.div(cast(t, real), real.type(max(gaps, 1))), work)
    t = reshape(t, (n,) + (1,) * a.ndim)
    one = work.type(1)
    out = add(multiply(expand_dims(a, 0), ew.sub(one, t)), multiply(expand_dims(b, 0), t))
    if endpoint and n > 1:
        last = ew.eq(iota(dtype=dt.int64, shape=out.shape, dimension=0), np.int64(n - 1))
        out = ew.select_n(last, out, broadcast_value(b, out.shape))
    if target is not None and target in dt.INTEGERS and work in dt.FLOATS:
        out = ew.floor(out)
    out = moveaxis(out, 0, axis) if axis != 0 else out
    out = out if target is None else cast(out, target)
    return (out, step if target is None else step) if retstep else out


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """`base` to the powers `linspace(start, stop, num)`. dtype: of the result; the powers are floats.

    >>> fnp.logspace(0, 3, 4)
    Array([   1.,   10.,  100., 1000.], dtype=float32)
    >>> fnp.logspace(0, 3, 4, base=2, dtype=int)
    Array([1, 2, 4, 8], dtype=int64)
    """
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    b = broadcast_value(as_value(cast(operand(base, "logspace", "base"), exponents.dtype), "logspace"), exponents.shape)
    out = ew.pow(b, exponents)
    return out if dtype is None else astype(out, dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """`num` numbers from `start` to `stop` with a constant ratio, both ends exact; arguments as in `linspace`.

    start, stop: real numbers of one sign (otherwise NaN), or complex numbers.

    >>> fnp.geomspace(1, 1000, 4)
    Array([   1.,   10.,  100., 1000.], dtype=float32)
    """
    a, b = common_dtype(operand(start, "geomspace", "start"), operand(stop, "geomspace", "stop"))
    work = inexact_dtype(result_aval(a, b).dtype)
    a, b = as_value(cast(a, work), "geomspace"), as_value(cast(b, work), "geomspace")
    shape = result_aval(a, b).shape
    a, b = broadcast_value(a, shape), broadcast_value(b, shape)
    place = axis_of(axis, len(shape) + 1, "geomspace")
    if work in dt.COMPLEXES:
        powers = multiply(
            expand_dims(a, place), ew.exp(linspace(fill(shape, work.type(0)), ew.log(ew.div(b, a)), num, endpoint, axis=place))
        )
    else:
        sign = ew.sign(a)
        exponents = linspace(ew.log10(ew.mul(a, sign)), ew.log10(ew.mul(b, sign)), num, endpoint, axis=place)
        powers = multiply(expand_dims(sign, place), ew.pow(fill(exponents.shape, work.type(10)), exponents))
    number = iota(dtype=dt.int64, shape=powers.shape, dimension=place)
    ends = [(0, a)] + ([(num - 1, b)] if endpoint and num > 1 else [])
    for k, end in ends:
        powers = ew.select_n(ew.eq(number, np.int64(k)), powers, broadcast_value(expand_dims(end, place), powers.shape))
    return powers if dtype is None else astype(powers, dtype)


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """Ones on the diagonal `k` of an N x M matrix (M = N where it is left out); dtype float32 without one.

    Args: N, M: integers, known while tracing. k: 0 is the main diagonal, 1 the one above it, -1 the one below.

    >>> fnp.eye(3, dtype=int)
    Array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 1]], dtype=int64)
    >>> fnp.eye(2, 3, k=1)
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    _check_device("eye", device)
    n = static_int(N, "eye", "N")
    m = n if M is None else static_int(M, "eye", "M")
    return cast(
        _diagonal_mask((n, m), static_int(k, "eye", "k"), ew.eq), dt.default_float() if dtype is None else dt.canonical(dtype)
    )


def identity(n: Any, dtype: Any = None) -> Any:
    """The n x n identity matrix; dtype float32 without one.

    >>> fnp.identity(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return eye(n, dtype=dtype)


def _diagonal_mask(shape: tuple[int, ...], k: int, compare: Callable[..., Any]) -> Any:
    """compare(column, row + k) over the last two axes."""
    k = max(-shape[-2], min(k, shape[-1]))  # beyond the corners nothing changes
    rows = iota(dtype=dt.int64, shape=shape, dimension=len(shape) - 2)
    columns = iota(dtype=dt.int64, shape=shape, dimension=len(shape) - 1)
    return compare(columns, ew.add(rows, np.int64(k)) if k else rows)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    """Ones on and below the diagonal `k` of an N x M matrix (M = N where it is left out); dtype float32 without one.

    >>> fnp.tri(3, dtype=int)
    Array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]], dtype=int64)
    """
    n = static_int(N, "tri", "N")
    m = n if M is None else static_int(M, "tri", "M")
    return cast(
        _diagonal_mask((n, m), static_int(k, "tri", "k"), ew.le), dt.default_float() if dtype is None else dt.canonical(dtype)
    )


def _triangle(name: str, m: Any, k: Any, lower: bool) -> Any:
    x = as_value(m, name, "m")
    if x.ndim < 2:
        raise ShapeError(message(f"fnp.{name}: got {x.aval.str_short()}", "two or more axes", "x[None] to add an axis"))
    mask = _diagonal_mask(x.shape, static_int(k, name, "k"), ew.le if lower else ew.ge)
    return ew.select_n(mask, x.dtype.type(0), x)


def tril(m: Any, k: Any = 0) -> Any:
    """The last two axes with zeros above the diagonal `k`. Raises ShapeError below two axes.

    >>> fnp.tril(fnp.arange(1, 10).reshape(3, 3))
    Array([[1, 0, 0],
           [4, 5, 0],
           [7, 8, 9]], dtype=int64)
    >>> fnp.tril(fnp.ones((2, 2), int), -1)
    Array([[0, 0],
           [1, 0]], dtype=int64)
    """
    return _triangle("tril", m, k, True)


def triu(m: Any, k: Any = 0) -> Any:
    """The last two axes with zeros below the diagonal `k`. Raises ShapeError below two axes.

    >>> fnp.triu(fnp.arange(1, 10).reshape(3, 3))
    Array([[1, 2, 3],
           [0, 5, 6],
           [0, 0, 9]], dtype=int64)
    """
    return _triangle("triu", m, k, False)


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """Coordinate arrays of a grid from coordinate vectors (or scalars).

    Args: indexing: "xy" (the first two axes swapped: columns first) or "ij". sparse: leave extents of 1 that broadcast.
    Returns: a list with one array for each vector.

    >>> x, y = fnp.meshgrid(fnp.arange(3), fnp.arange(2))
    >>> x
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int64)
    >>> y
    Array([[0, 0, 0],
           [1, 1, 1]], dtype=int64)
    >>> [g.shape for g in fnp.meshgrid(fnp.arange(3), fnp.arange(2), indexing="ij", sparse=True)]
    [(3, 1), (1, 2)]
    """
    if indexing not in ("xy", "ij"):
        raise UsageError(message(f"fnp.meshgrid: got indexing={indexing!r}", "'xy' or 'ij'", "indexing='ij'"))
    xs = [as_value(x, "meshgrid", f"xi[{i}]") for i, x in enumerate(xi)]
    for x in xs:
        if x.ndim > 1:
            raise ShapeError(message(f"fnp.meshgrid: got {x.aval.str_short()}", "vectors or scalars", "x.ravel()"))
    rank = len(xs)
    order = list(range(rank))
    if indexing == "xy" and rank > 1:
        order[0], order[1] = 1, 0
    extents = [1] * rank
    for x, i in zip(xs, order):
        extents[i] = x.size
    out = [reshape(x, tuple([x.size if j == i else 1 for j in range(rank)])) for x, i in zip(xs, order)]
    return out if sparse else [broadcast_value(x, tuple(extents)) for x in out]


def indices(dimensions: Any, dtype: Any = None, sparse: bool = False) -> Any:
    """The index arrays of a grid: shape (len(dimensions), *dimensions), or a tuple of open grids with sparse=True. dtype int64.

    >>> fnp.indices((2, 3))
    Array([[[0, 0, 0],
            [1, 1, 1]],
    <BLANKLINE>
           [[0, 1, 2],
            [0, 1, 2]]], dtype=int64)
    """
    extents = shape_of(dimensions, "indices", "dimensions")
    target = dt.int64 if dtype is None else dt.canonical(dtype)
    counted = [cast(iota(dtype=dt.int64, shape=(n,), dimension=0), target) for n in extents]
    if not extents:
        return () if sparse else fill((0,), target.type(0))
    grids = meshgrid(*counted, sparse=sparse, indexing="ij")
    return tuple(grids) if sparse else stack(grids)


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Any, Any]:
    """The row and column numbers of the lower triangle of an n x m matrix (m = n where it is left out), int64.

    >>> fnp.tril_indices(2)
    (Array([0, 1, 1], dtype=int64), Array([0, 0, 1], dtype=int64))
    >>> fnp.arange(9).reshape(3, 3)[fnp.tril_indices(3, -1)]
    Array([3, 6, 7], dtype=int64)
    """
    i, j = np.tril_indices(
        static_int(n, "tril_indices", "n"),
        static_int(k, "tril_indices", "k"),
        None if m is None else static_int(m, "tril_indices", "m"),
    )
    return from_numpy(i), from_numpy(j)


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Any, Any]:
    """The row and column numbers of the upper triangle of an n x m matrix (m = n where it is left out), int64.

    >>> fnp.triu_indices(2)
    (Array([0, 0, 1], dtype=int64), Array([0, 1, 1], dtype=int64))
    >>> fnp.arange(9).reshape(3, 3)[fnp.triu_indices(3, 1)]
    Array([1, 2, 5], dtype=int64)
    """
    i, j = np.triu_indices(
        static_int(n, "triu_indices", "n"),
        static_int(k, "triu_indices", "k"),
        None if m is None else static_int(m, "triu_indices", "m"),
    )
    return from_numpy(i), from_numpy(j)


def _matrix_shape(arr: Any, name: str) -> tuple[int, int]:
    x = as_value(arr, name, "arr")
    if x.ndim != 2:
        raise ShapeError(message(f"fnp.{name}: got {x.aval.str_short()}", "a matrix", "x.reshape(rows, columns)"))
    return x.shape  # type: ignore[return-value]


def tril_indices_from(arr: Any, k: Any = 0) -> tuple[Any, Any]:
    """`tril_indices` for the shape of a matrix. Raises ShapeError for other ranks.

    >>> fnp.tril_indices_from(fnp.ones((2, 3)))
    (Array([0, 1, 1], dtype=int64), Array([0, 0, 1], dtype=int64))
    """
    n, m = _matrix_shape(arr, "tril_indices_from")
    return tril_indices(n, k, m)


def triu_indices_from(arr: Any, k: Any = 0) -> tuple[Any, Any]:
    """`triu_indices` for the shape of a matrix. Raises ShapeError for other ranks.

    >>> fnp.triu_indices_from(fnp.ones((2, 3)))
    (Array([0, 0, 0, 1, 1], dtype=int64), Array([0, 1, 2, 1, 2], dtype=int64))
    """
    n, m = _matrix_shape(arr, "triu_indices_from")
    return triu_indices(n, k, m)


def mask_indices(n: Any, mask_func: Callable[..., Any], k: Any = 0, *, size: Any = None) -> tuple[Any, ...]:
    """Where `mask_func(ones((n, n)), k)` is not zero: the row and column numbers. size: cut, or filled with 0, to this length.

    >>> fnp.mask_indices(3, fnp.triu, 1)
    (Array([0, 0, 1], dtype=int64), Array([1, 2, 2], dtype=int64))
    """
    mask = np.asarray(mask_func(ones((n, n)), k))
    found = np.nonzero(mask)
    if size is not None:
        s = static_int(size, "mask_indices", "size")
        found = tuple([np.pad(i[:s], (0, max(0, s - i.size))) for i in found])
    return tuple([from_numpy(i) for i in found])


def diag_indices(n: Any, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array with `ndim` axes of extent n: a tuple of `ndim` int64 vectors.

    >>> fnp.zeros((3, 3), int).at[fnp.diag_indices(3)].set(fnp.array([1, 2, 3]))
    Array([[1, 0, 0],
           [0, 2, 0],
           [0, 0, 3]], dtype=int64)
    """
    count = static_int(n, "diag_indices", "n")
    return (iota(dtype=dt.int64, shape=(count,), dimension=0),) * static_int(ndim, "diag_indices", "ndim")


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """`diag_indices` for an array whose extents are all equal, with two or more axes. Raises ShapeError for others.

    >>> x = fnp.arange(9).reshape(3, 3)
    >>> x[fnp.diag_indices_from(x)]
    Array([0, 4, 8], dtype=int64)
    """
    x = as_value(arr, "diag_indices_from", "arr")
    if x.ndim < 2 or len(set(x.shape)) > 1:
        raise ShapeError(
            message(f"fnp.diag_indices_from: got {x.aval.str_short()}", "two or more axes of one extent", "fnp.diag_indices(n)")
        )
    return diag_indices(x.shape[0], x.ndim)


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """The Vandermonde matrix of a vector: column j is x to the power N - 1 - j (or j with increasing=True). N: len(x) if left out.

    >>> fnp.vander(fnp.array([1, 2, 3]), 3)
    Array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]], dtype=int64)
    >>> fnp.vander(fnp.array([2, 3]), 3, increasing=True)
    Array([[1, 2, 4],
           [1, 3, 9]], dtype=int64)
    """
    v = as_value(x, "vander", "x")
    if v.ndim != 1:
        raise ShapeError(message(f"fnp.vander: got {v.aval.str_short()}", "a vector", "x.ravel()"))
    n = v.shape[0] if N is None else static_int(N, "vander", "N")
    v = cast(v, dt.int64) if v.dtype == dt.bool_ else v
    powers = [ew.integer_pow(v, y=j) if j > 1 else (v if j else fill(v.shape, v.dtype.type(1))) for j in range(n)]
    columns = powers if increasing else powers[::-1]
    return stack(columns, axis=1) if columns else fill((v.shape[0], 0), v.dtype.type(0))
