"""Files, texts and bits: load, save, savez, fromfile, fromiter, fromstring, array_repr, printoptions, packbits, unpackbits.

Reading and writing is NumPy's, in its formats; arrays go in and out at the door. How arrays are printed is set for NumPy's and
funcgrad's in one place, so these are NumPy's own functions:

    get_printoptions    the options, as a dict
    set_printoptions    sets some of them for the process: precision, threshold, linewidth, suppress ...
    printoptions        sets some of them for a with block

>>> with fnp.printoptions(precision=2):
...     print(fnp.array([1.23456, 2.0]))
[1.23 2.  ]
>>> fnp.get_printoptions()["precision"]
8
"""

from typing import Any

import numpy as np

from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import DtypeError, UsageError, message
from funcgrad.numpy._axes import asked_of_numpy, axis_of, extent, host_array, static_int
from funcgrad.numpy._promote import as_value
from funcgrad.numpy.reductions import as_bool
from funcgrad.numpy.structure import cut, expand_dims, moveaxis, ravel, reshape
from funcgrad.ops import elementwise as ew
from funcgrad.ops.reduce import reduce_sum
from funcgrad.ops.shape import broadcast_in_dim, pad
from funcgrad.trace.value import Value

__all__ = [
    "array_repr", "array_str", "fromfile", "fromiter", "fromstring", "get_printoptions", "load", "packbits", "printoptions",
    "save",
    "savez", "set_printoptions", "unpackbits",
]  # fmt: skip

get_printoptions, set_printoptions, printoptions = np.get_printoptions, np.set_printoptions, np.printoptions


_FILE = "the name of a file, or an open file"


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array to a .npy file (a name or an open file), as np.save does. allow_pickle: for NumPy's object arrays.

    >>> import io
    >>> file = io.BytesIO()
    >>> fnp.save(file, fnp.arange(3))
    >>> np.load(io.BytesIO(file.getvalue()))
    array([0, 1, 2])
    """
    x = host_array(arr, "save", "arr")
    asked_of_numpy("save", _FILE, np.save, file, x, allow_pickle=flag(allow_pickle, "fnp.save", "allow_pickle"))


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write arrays to a .npz file under arr_0, arr_1, ... and the names of keyword arguments, as np.savez does.

    >>> import io
    >>> file = io.BytesIO()
    >>> fnp.savez(file, fnp.arange(3), weights=fnp.ones(2))
    >>> sorted(fnp.load(io.BytesIO(file.getvalue())))
    ['arr_0', 'weights']
    """
    xs = [host_array(a, "savez", f"args[{i}]") for i, a in enumerate(args)]
    named = {k: host_array(a, "savez", k) for k, a in kwds.items()}
    asked_of_numpy("savez", _FILE, np.savez, file, *xs, allow_pickle=flag(allow_pickle, "fnp.savez", "allow_pickle"), **named)


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """Read a .npy file as an array (a .npz file as np.load gives it, with NumPy's arrays). Arguments as np.load's.

    >>> import io
    >>> file = io.BytesIO()
    >>> fnp.save(file, fnp.arange(3))
    >>> fnp.load(io.BytesIO(file.getvalue()))
    Array([0, 1, 2], dtype=int64)
    """
    out = asked_of_numpy("load", _FILE + "; np.load's arguments", np.load, file, *args, **kwargs)
    return from_numpy(out) if isinstance(out, np.ndarray) else out


def fromfile(*args: Any, **kwargs: Any) -> Any:
    """np.fromfile as an array: the numbers in a binary or text file, which is given by its name.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "numbers")
    ...     np.arange(3, dtype=np.int16).tofile(name)
    ...     print(repr(fnp.fromfile(name, np.int16)))
    Array([0, 1, 2], dtype=int16)
    """
    allowed = f"{_FILE}; then dtype, count, sep, offset as np.fromfile takes them"
    return from_numpy(asked_of_numpy("fromfile", allowed, np.fromfile, *args, **kwargs))


def fromiter(*args: Any, **kwargs: Any) -> Any:
    """np.fromiter as an array: a vector of the numbers that an iterable gives.

    >>> fnp.fromiter((i * i for i in range(4)), np.int32)
    Array([0, 1, 4, 9], dtype=int32)
    """
    allowed = "an iterable of numbers, their dtype, and (if it is known) how many there are, as np.fromiter takes them"
    return from_numpy(asked_of_numpy("fromiter", allowed, np.fromiter, *args, **kwargs))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """A vector of the numbers in a text, separated by `sep`; dtype float64 where it is left out, as in NumPy.

    Args: count: how many numbers (-1: all). Raises ValueError for what is no number.

    >>> fnp.fromstring("1, 2, 3", sep=",")
    Array([1., 2., 3.], dtype=float64)
    """
    kind, n = np.float64 if dtype is float else dt.canonical(dtype), static_int(count, "fromstring", "count")
    allowed = "a text of numbers with sep between them, and as many as count says (-1: all)"
    return from_numpy(asked_of_numpy("fromstring", allowed, np.fromstring, string, kind, n, sep=sep))


def array_repr(arr: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    """The text that `repr` gives, with np.array_repr's options.

    Args: max_line_width, precision, suppress_small: as np.printoptions' linewidth, precision, suppress, for this text
    alone.

    >>> fnp.array_repr(fnp.array([1.23456, 2.0]), precision=2)
    'Array([1.23, 2.  ], dtype=float32)'
    """
    x = as_value(arr, "array_repr", "arr")
    with np.printoptions(**_print_options("array_repr", max_line_width, precision, suppress_small)):
        return repr(x)


# More of them change nothing.
_MOST_CHARACTERS = 10**6


def _print_options(name: str, width: Any, precision: Any, suppress: Any) -> dict[str, Any]:
    """What array_repr and array_str change of NumPy's printing."""
    numbers = {"linewidth": (width, "max_line_width"), "precision": (precision, "precision")}
    out: dict[str, Any] = {k: min(extent(n, name, arg), _MOST_CHARACTERS) for k, (n, arg) in numbers.items() if n is not None}
    return out if suppress is None else out | {"suppress": flag(suppress, f"fnp.{name}", "suppress_small")}


def array_str(a: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    """The text that `str` gives, with np.array_str's options.

    Args: max_line_width, precision, suppress_small: as np.printoptions' linewidth, precision, suppress, for this text
    alone.

    >>> fnp.array_str(fnp.array([1.23456, 2.0]), precision=2)
    '[1.23 2.  ]'
    """
    with np.printoptions(**_print_options("array_str", max_line_width, precision, suppress_small)):
        return str(host_array(a, "array_str", "a"))


def _order(name: str, bitorder: str) -> np.ndarray:
    if not among(bitorder, ("big", "little")):
        raise UsageError(message(f"fnp.{name}: got bitorder={bitorder!r}", "'big' or 'little'", "bitorder='big'"))
    places = np.arange(8, dtype=np.uint8)
    return places[::-1] if bitorder == "big" else places


def _places(name: str, bitorder: str, shape: tuple[int, ...]) -> Any:
    return broadcast_in_dim(from_numpy(np.ascontiguousarray(_order(name, bitorder))), shape=shape, dims=(len(shape) - 1,))


def packbits(a: Any, axis: Any = None, bitorder: str = "big") -> Any:
    """Eight truth values along `axis` (None: of the flattened array) in each uint8, filled with zeros. bitorder: "big" or
    "little". Raises TypeError for floats.

    >>> fnp.packbits(fnp.array([1, 0, 0, 0, 0, 0, 1, 1, 1]))
    Array([131, 128], dtype=uint8)
    """
    x = as_value(a, "packbits")
    if x.dtype not in dt.INTEGERS | dt.BOOLS:
        raise DtypeError(message(f"fnp.packbits: got {x.aval.str_short()}", "integers or booleans", "x != 0"))
    x, i = (ravel(x), 0) if axis is None else (x, axis_of(axis, x.ndim, "packbits"))
    bits = moveaxis(ew.convert(as_bool(x), dt.uint8), i, -1)
    missing = -bits.shape[-1] % 8
    bits = pad(bits, np.uint8(0), padding_config=((0, 0, 0),) * (bits.ndim - 1) + ((0, missing, 0),))
    rows = reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    worth = ew.shift_left(rows, _places("packbits", bitorder, rows.shape))
    return moveaxis(reduce_sum(worth, axes=(worth.ndim - 1,)), -1, i)


def unpackbits(a: Any, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    """The bits of a uint8 array as uint8 along `axis` (None: flattened). count: how many (negative: so many fewer; beyond:
    zeros). bitorder: "big" or "little". Raises TypeError for other dtypes.

    >>> fnp.unpackbits(fnp.array([131], dtype=fnp.uint8))
    Array([1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8)
    >>> fnp.unpackbits(fnp.array([3], dtype=fnp.uint8), bitorder="little", count=4)
    Array([1, 1, 0, 0], dtype=uint8)
    """
    x = as_value(a, "unpackbits")
    if x.dtype != dt.uint8:
        raise DtypeError(message(f"fnp.unpackbits: got {x.aval.str_short()}", "uint8", "x.astype('uint8')"))
    x, i = (ravel(x), 0) if axis is None else (x, axis_of(axis, x.ndim, "unpackbits"))
    x = moveaxis(x, i, -1)
    wide: Value = expand_dims(x, -1)
    wide = broadcast_in_dim(wide, shape=(*x.shape, 8), dims=tuple(range(x.ndim + 1)))
    bits = ew.and_(ew.shift_right_logical(wide, _places("unpackbits", bitorder, wide.shape)), np.uint8(1))
    bits = reshape(bits, (*x.shape[:-1], x.shape[-1] * 8))
    if count is not None:
        n, total = static_int(count, "unpackbits", "count"), bits.shape[-1]
        n = total + n if n < 0 else n
        bits = cut(bits, bits.ndim - 1, 0, min(n, total))
        bits = pad(bits, np.uint8(0), padding_config=((0, 0, 0),) * (bits.ndim - 1) + ((0, max(0, n - total), 0),))
    return moveaxis(bits, -1, i)
