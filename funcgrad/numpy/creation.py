"""Arrays from data: array, asarray, copy, astype, from_dlpack, frombuffer.

Without a dtype, what is created from Python numbers is float32 / int64 / complex64 / bool (`config.default_float` changes the
float); data that is NumPy's keeps its dtype.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from funcgrad.bridge.array import from_dlpack as _from_dlpack
from funcgrad.bridge.array import from_numpy
from funcgrad.bridge.device import CPU
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, describe, message
from funcgrad.numpy._axes import asked_of_numpy, static_int
from funcgrad.numpy._promote import (
    as_value,
    cast,
    operand,
    result_aval,
)
from funcgrad.numpy.join import stack
from funcgrad.numpy.structure import expand_dims
from funcgrad.ops import elementwise as ew
from funcgrad.ops.convert import convert_numpy
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.value import Value

__all__ = [
    "array", "asarray", "astype", "copy", "from_dlpack", "frombuffer",
]  # fmt: skip


def check_device(name: str, device: Any) -> None:
    if device is not None and not among(device, (CPU,)) and str(device) not in ("cpu", "cpu:0"):
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
        if dtype is not None and dtype in _WHOLE and leaves and all([leaf.__class__ is int for leaf in leaves]):
            return from_numpy(_integers(x, dtype, name), copy=False)
        data = _to_ndarray(x, name)
        typed = [leaf.dtype for leaf in leaves if isinstance(leaf, (np.generic, np.ndarray))]
        if dtype is None:
            dtype = result_aval(*[operand(leaf, name, "object") for leaf in leaves]).dtype if typed else _default_dtype(data)
        return from_numpy(as_dtype(data, dtype), copy=False)
    if not any([isinstance(leaf, Tracer) for leaf in leaves]):
        # Only concrete arrays: NumPy assembles them. The dtype is promoted, as an operation would.
        kept = result_aval(*[_scalar_kind(operand(leaf, name, "object")) for leaf in leaves]).dtype if dtype is None else dtype
        return from_numpy(as_dtype(_to_ndarray(_numpy_leaves(x), name), kept), copy=False)
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


_WHOLE = dt.INTEGERS | dt.SMALL_INTEGERS


def _integers(x: Any, dtype: np.dtype, name: str) -> np.ndarray:
    """Python integers (one, or nested lists of them) in a dtype of integers; one that it cannot hold is an error, as in NumPy."""
    info = dt.iinfo(dtype)
    try:
        if dtype in dt.SMALL_INTEGERS:  # NumPy would wrap them round
            if any([not info.min <= n <= info.max for n in _leaves(x, [])]):
                raise OverflowError
            return convert_numpy(np.asarray(x, np.int64), dtype)
        return np.asarray(x, dtype)
    except OverflowError:
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
                _way_to_numbers(x, data),
            )
        )
    return data


def _way_to_numbers(x: Any, data: np.ndarray) -> str:
    """What to type for data that are no numbers."""
    if data.dtype.kind in "mM":
        return "np.asarray(x).astype('int64'), or .astype('float64'): counts of its unit"
    if isinstance(data.item() if data.ndim == 0 else None, Mapping):
        return "list(x.values()), or the dict itself where a tree of arrays is taken"
    try:
        np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        pass
    else:
        return "np.asarray(x, dtype=float) first"
    return "np.unique(x, return_inverse=True)[1]: numbers for texts" if data.dtype.kind in "SU" else "check the elements"


def array(
    object: Any, dtype: Any = None, *args: Any, copy: Any = True, order: Any = "K", ndmin: int = 0, device: Any = None
) -> Any:
    """An array from a number, nested lists, a NumPy array, a buffer or any object with `__array__` or `__dlpack__`.

    Args: object: the data; lists may hold arrays and tracers. dtype: without it Python numbers give float32 / int64 / complex64 /
    bool and NumPy's data keeps its own. copy: True copies memory that could still change (False shares a NumPy array's
    memory: the caller promises not to change it any more). ndmin: extents of 1 are put in front up to this rank.
    Raises: ShapeError for ragged lists; TypeError for objects that are not numbers.
    order: any; arrays have one layout. device: None or the CPU.

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
    if not among(order, (None, "K", "C", "A")):
        raise UsageError(
            message(f"fnp.array: got order={order!r}", "'K', 'C', 'A' or None: arrays have one layout", "leave order out")
        )
    check_device("array", device)
    ndmin = static_int(ndmin, "array", "ndmin")
    if ndmin > 64:
        raise UsageError(message(f"fnp.array: got ndmin={ndmin}", "64 axes or fewer", "ndmin=2"))
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
            else from_numpy(as_dtype(x, dtype), copy=False)
        )
        return out
    if isinstance(x, (bool, int, float, complex)):
        target = dtype or (dt.scalar_dtype(type(x)) if type(x) in _SCALARS else None)
        if type(x) is int and target is not None and target in _WHOLE:
            return from_numpy(_integers(x, target, name), copy=False)
        return from_numpy(np.asarray(x) if target is None else as_dtype(np.asarray(x), target), copy=False)
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
    return from_numpy(as_dtype(data, dtype or (data.dtype if native else _default_dtype(data))), copy=native)


_SCALARS = frozenset({bool, int, float, complex})


def as_dtype(x: Any, dtype: np.dtype) -> np.ndarray:
    """NumPy's data in another dtype as `x.astype` has it, silently: complex numbers lose their imaginary part, floats outside of
    an integer dtype's range become its bounds."""
    with np.errstate(all="ignore"):
        x = np.asarray(x)
        if x.dtype in dt.ANY:
            return convert_numpy(x, dtype)
        try:
            return x.astype(dtype)
        except (TypeError, ValueError, OverflowError) as error:  # objects and texts
            came = f"an array of NumPy's dtype {x.dtype} was to become {dtype}: {error}"
            raise UsageError(message(came, "numbers that the dtype has", "check the elements")) from None


def _strong(x: Value) -> Value:
    return ew.convert_element_type(x, new_dtype=x.dtype) if x.weak_type else x


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, device: Any = None) -> Any:
    """As `array`; an Array is returned as it is.

    Args: copy: None copies memory that could still change, True too. False copies nothing: a NumPy array's memory is shared (the
    caller promises not to change it any more).
    Raises: ValueError with copy=False for numbers and lists, and where the dtype would change.

    >>> fnp.asarray(np.arange(3.0))
    Array([0., 1., 2.], dtype=float64)
    >>> x = fnp.ones(2)
    >>> fnp.asarray(x) is x
    True
    """
    out = array(a, dtype, copy=True if copy is None else copy, order=order, device=device)
    if copy is False and not _is_shared(a, out):
        raise UsageError(
            message(
                f"fnp.asarray: got copy=False for {describe(a) if isinstance(a, Value) else type(a).__name__}: that is a copy",
                "arrays in the dtype asked for",
                "copy=None, or fnp.from_dlpack for the arrays of other libraries",
            )
        )
    return out


def _is_shared(a: Any, out: Value) -> bool:
    """Whether `out`, made of `a` without asking for a copy, is on its memory."""
    if isinstance(a, (np.ndarray, Value)):
        return a.dtype == out.dtype
    # Of others only DLPack is known to share; where the dtype was changed, it is theirs that differs.
    return hasattr(a, "__dlpack__") and not hasattr(a, "__array__") and _from_dlpack(a).dtype == out.dtype


def copy(a: Any, order: Any = None) -> Any:
    """A copy of the array (arrays are immutable: a new handle of the same numbers is as good).

    order: any; arrays have one layout.

    >>> fnp.copy(np.array([1.0, 2.0]))
    Array([1., 2.], dtype=float64)
    """
    return array(a, copy=True, order=order)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """The array in another dtype. Floats are cut towards 0 when they become integers; complex numbers lose their imaginary
    part. copy: any; arrays are immutable.
    device: None or the CPU.

    >>> fnp.astype(fnp.array([1.9, -1.9]), int)
    Array([ 1, -1], dtype=int64)
    >>> fnp.astype(fnp.array([0, 3]), bool)
    Array([False,  True], dtype=bool)
    """
    check_device("astype", device)
    x = as_value(x, "astype", "x")
    target = dt.scalar_dtype(dtype) if dtype.__class__ is type and dtype in _SCALARS else dt.canonical(dtype)
    if x.dtype in dt.COMPLEXES and target not in dt.COMPLEXES:
        x = ew.ne(x, x.dtype.type(0)) if target == dt.bool_ else ew.real(x)
    return _strong(cast(x, target))


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """An array on the memory of another library's array (through `__dlpack__`); copy=True: on a copy of it.

    Raises: BufferError or TypeError of the other library where it cannot lend its memory to the CPU.
    device: None or the CPU.

    >>> fnp.from_dlpack(np.arange(3.0))
    Array([0., 1., 2.], dtype=float64)
    """
    check_device("from_dlpack", device)
    return _from_dlpack(x, copy=copy)


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """A 1-d array of the numbers in a bytes-like object. dtype: float64 where it is left out, as in NumPy.

    count: how many numbers (-1: all). offset: in bytes. Raises ValueError where the buffer does not hold a whole number of them.

    >>> fnp.frombuffer(b"\\x01\\x02\\x03\\x04", dtype=fnp.uint8)
    Array([1, 2, 3, 4], dtype=uint8)
    >>> fnp.frombuffer(b"\\x01\\x02\\x03\\x04", dtype=fnp.uint8, count=2, offset=1)
    Array([2, 3], dtype=uint8)
    """
    kind = np.float64 if dtype is float else dt.canonical(dtype)
    n, start = static_int(count, "frombuffer", "count"), static_int(offset, "frombuffer", "offset")
    allowed = "a bytes-like object that holds a whole number of elements from offset on, and as many as count says (-1: all)"
    return from_numpy(asked_of_numpy("frombuffer", allowed, np.frombuffer, buffer, kind, n, start))
