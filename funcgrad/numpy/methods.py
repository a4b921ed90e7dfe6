"""The methods of arrays and tracers, as np.ndarray has them, by forwarding to the functions. Installed on `trace.value.Value`."""

import types
from typing import Any

import numpy as np

from funcgrad.bridge.device import CPU, find_device
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import ConcretizationTypeError, ShapeError, UsageError, message
from funcgrad.numpy import (
    arithmetic,
    creation,
    cumulative,
    diagonals,
    elementwise,
    means,
    nonzeros,
    reductions,
    reordering,
    selection,
    sorting,
    structure,
)
from funcgrad.numpy import contract as products
from funcgrad.numpy._axes import concrete, static_int, static_ints
from funcgrad.trace.value import Value

# name -> function whose first argument is the array
FORWARDED = {
    "all": reductions.all,
    "any": reductions.any,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "argpartition": sorting.argpartition,
    "argsort": sorting.argsort,
    "choose": selection.choose,
    "clip": arithmetic.clip,
    "conj": elementwise.conj,
    "conjugate": elementwise.conj,
    "cumprod": cumulative.cumprod,
    "cumsum": cumulative.cumsum,
    "diagonal": diagonals.diagonal,
    "dot": products.dot,
    "max": reductions.max,
    "mean": means.mean,
    "min": reductions.min,
    "nonzero": nonzeros.nonzero,
    "partition": sorting.partition,
    "prod": reductions.prod,
    "ptp": reductions.ptp,
    "ravel": structure.ravel,
    "repeat": reordering.repeat,
    "round": arithmetic.round,
    "searchsorted": sorting.searchsorted,
    "sort": sorting.sort,
    "squeeze": structure.squeeze,
    "std": means.std,
    "sum": reductions.sum,
    "swapaxes": structure.swapaxes,
    "take": selection.take,
    "trace": diagonals.trace,
    "var": means.var,
}


def _reshape(self: Value, *args: Any, order: str = "C", copy: Any = None) -> Any:
    """x.reshape(2, 3) or x.reshape((2, 3)); see `fnp.reshape`."""
    return structure.reshape(self, args[0] if len(args) == 1 else args, order, copy=copy)


def _transpose(self: Value, *args: Any) -> Any:
    """x.transpose(), x.transpose(1, 0) or x.transpose((1, 0)); see `fnp.transpose`."""
    return structure.transpose(self, None if not args else args[0] if len(args) == 1 else args)


def _compress(self: Value, condition: Any, axis: Any = None, *, size: Any = None, fill_value: Any = 0) -> Any:
    """The slices along `axis` where the vector `condition` is True; see `fnp.compress`."""
    return selection.compress(condition, self, axis, size=size, fill_value=fill_value)


def _flatten(self: Value, order: str = "C") -> Any:
    """All elements in one axis."""
    return structure.ravel(self, order)


def _astype(self: Value, dtype: Any, order: Any = None, casting: Any = None, subok: Any = None, copy: Any = None) -> Any:
    """The array in another dtype; see `fnp.astype`. order, casting, subok and copy of NumPy make no difference here."""
    return creation.astype(self, dtype)


def _copy(self: Value, order: Any = None) -> Any:
    """The array itself: it is immutable."""
    return self


def _view(self: Value, dtype: Any = None, type: Any = None) -> Any:
    """The same bits in another dtype; the last axis grows or shrinks where the width differs."""
    if type is not None:
        raise UsageError(message(f"view: got type={type}", "a dtype", "x.view('int32')"))
    if dtype is None:
        return self
    target = dt.canonical(dtype)
    if target == self.aval.dtype:
        return self
    old, new = self.aval.dtype.itemsize, target.itemsize
    convert = elementwise.ew.bitcast_convert_type
    x: Any = self
    if old == new:
        return convert(x, new_dtype=target)
    if not x.ndim or new > old and x.shape[-1] * old % new:
        raise UsageError(
            message(
                f"view: got {x.aval.str_short()} for {target}",
                "a last axis whose bytes divide evenly",
                "x.astype for numbers, x[..., None]",
            )
        )
    if new > old:
        return convert(structure.reshape(x, (*x.shape[:-1], -1, new // old)), new_dtype=target)
    out = convert(x, new_dtype=target)
    return structure.reshape(out, (*x.shape[:-1], x.shape[-1] * old // new))


def _numbers(self: Value, what: str) -> np.ndarray:
    known = concrete(self)
    if known is None:
        raise ConcretizationTypeError(self, f"{what} was called on it")
    return known


def _item(self: Value, *args: Any) -> Any:
    """One element as a Python scalar: of an array with one element, or at the given index."""
    place: Any = [static_ints(a, "x.item", "i") if isinstance(a, tuple) else static_int(a, "x.item", "i") for a in args]
    x = _numbers(self, "item()")
    try:
        return x.item(*place)
    except (OverflowError, ValueError, IndexError) as error:
        kind = ShapeError if isinstance(error, ValueError) else IndexError
        allowed = f"places of an array of shape {x.shape}; none where it has one element"
        raise kind(message(f"x.item{args}: {error}", allowed, "x[i, j].item()")) from None


def _tolist(self: Value) -> Any:
    """The numbers as nested lists of Python scalars."""
    return _numbers(self, "tolist()").tolist()


def _tobytes(self: Value, order: str = "C") -> bytes:
    """The bytes of the numbers."""
    if not among(order, ("C", "F", "A", "K", None)):
        raise UsageError(message(f"x.tobytes: got order={order!r}", "'C', 'F', 'A' or 'K'", "x.tobytes()"))
    return _numbers(self, "tobytes()").tobytes(order)  # type: ignore[arg-type]


def _block_until_ready(self: Value) -> Value:
    """The value itself: nothing is pending."""
    return self


_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


def _namespace(self: Value, *, api_version: str | None = None) -> Any:
    """The module of the array API standard: `funcgrad.numpy`, whatever version of the standard is asked for."""
    if api_version is not None and api_version not in _VERSIONS:
        raise UsageError(
            message(f"__array_namespace__: got api_version={api_version!r}", f"None, {', '.join(_VERSIONS)}", "leave it out")
        )
    return _MODULE[0]


def _to_device(self: Value, device: Any, /, *, stream: Any = None) -> Value:
    """The array in the memory of `device`: itself, where it is there. stream: None, there are no queues on the CPU."""
    find_device(device)
    if stream is not None:
        raise UsageError(message(f"to_device: got stream={stream!r}", "None: programs on the CPU have no queues", "leave it out"))
    return self


_MODULE: list[types.ModuleType] = []

_METHODS = {
    "astype": _astype,
    "block_until_ready": _block_until_ready,
    "compress": _compress,
    "copy": _copy,
    "flatten": _flatten,
    "item": _item,
    "reshape": _reshape,
    "tobytes": _tobytes,
    "to_device": _to_device,
    "tolist": _tolist,
    "transpose": _transpose,
    "view": _view,
    "__array_namespace__": _namespace,
}

_PROPERTIES = {
    "device": (lambda self: CPU, "Where the memory is, or will be."),
    "T": (lambda self: structure.transpose(self), "The axes in reversed order."),
    "mT": (lambda self: structure.matrix_transpose(self), "The last two axes swapped."),
    "real": (lambda self: elementwise.real(self), "The real part."),
    "imag": (lambda self: elementwise.imag(self), "The imaginary part."),
    "itemsize": (lambda self: self.aval.dtype.itemsize, "The size of one element in bytes."),
    "nbytes": (lambda self: self.aval.size * self.aval.dtype.itemsize, "The size of all elements in bytes."),
    "flat": (lambda self: structure.ravel(self), "All elements in one axis."),
}


def install(namespace: types.ModuleType) -> None:
    """Put the methods on `Value`. `namespace` is what `x.__array_namespace__()` gives."""
    _MODULE[:] = [namespace]
    cls: Any = Value
    for name, f in FORWARDED.items():
        setattr(cls, name, f)
    for name, f in _METHODS.items():
        setattr(cls, name, f)
    for name, (get, doc) in _PROPERTIES.items():
        setattr(cls, name, property(get, doc=doc))
