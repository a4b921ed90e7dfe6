"""`x.at[i].set(v)` and its relatives: new arrays with some elements changed."""

import difflib
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, describe, message
from funcgrad.numpy._axes import static_array
from funcgrad.numpy._promote import broadcast_shapes_of, broadcast_value, cast, operand
from funcgrad.numpy.arithmetic import power
from funcgrad.numpy.elementwise import divide
from funcgrad.numpy.index import mode_of, read_with, target
from funcgrad.ops import elementwise as ew
from funcgrad.ops.index import ScatterDimensionNumbers, scatter, scatter_add, scatter_max, scatter_min, scatter_mul
from funcgrad.ops.shape import expand_dims, full, rev, squeeze
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.value import Value, aval_of


class At:
    """`x.at`: index it, then call `set`, `add`, `subtract`, `multiply`, `divide`, `power`, `min`, `max`, `apply` or `get`."""

    __slots__ = ("array",)

    def __init__(self, array: Value):
        self.array = array

    def __getitem__(self, index: Any) -> "Ref":
        return Ref(self.array, index)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(message(f"x.at has no {name!r} before it has an index", "x.at[i]", f"x.at[i].{name}(...)"))

    def __repr__(self) -> str:
        return f"At({self.array!r})"


# What the methods are called in NumPy's and other libraries' words.
_RELATIVES = {
    "sub": "subtract",
    "div": "divide",
    "pow": "power",
    "minimum": "min",
    "maximum": "max",
    "read": "get",
    "replace": "set",
}


class Ref:
    """`x.at[i]`: some elements of x, to be read or to be changed in a copy.

    Every method takes `mode`: "raise" (the default: IndexError out of range), "fill" or "drop" (reading gives fill_value,
    updates are left out), "clip" (the nearest element), "wrap" (counted round), "promise_in_bounds" (unchecked: the caller
    vouches); `unique_indices=True` promises that no element is named twice; `indices_are_sorted` is accepted and makes no
    difference. Updates broadcast to the shape of x[i] and are cast to x's dtype; an element named twice takes both updates
    (for `set`: the last).
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Value, index: Any):
        self.array, self.index = array, index

    def __getattr__(self, name: str) -> Any:
        methods = [m for m in vars(Ref) if not m.startswith("_") and callable(getattr(Ref, m))]
        near = difflib.get_close_matches(_RELATIVES.get(name, name), methods, n=1, cutoff=0.5) or ["set"]
        raise AttributeError(message(f"x.at[i] has no {name!r}", ", ".join(methods), f"x.at[i].{near[0]}(...)"))

    def __repr__(self) -> str:
        return f"Ref({self.array!r}, {self.index!r})"

    def get(
        self, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None, fill_value: Any = None,
        out_sharding: Any = None, wrap_negative_indices: bool = True,
    ) -> Any:  # fmt: skip
        """x[i] with a mode. fill_value: a Python or NumPy scalar (default NaN; integers: the least, unsigned: the greatest;
        True)."""
        mode = mode_of(mode, "x.at[i].get")
        if not wrap_negative_indices:
            return read_with(self.array, _unsigned(self.index), mode, fill_value)
        if fill_value is not None:
            fill_value = self._fill(fill_value)
        return read_with(self.array, self.index, mode, fill_value)

    def set(self, values: Any, **options: Any) -> Any:
        """x with x[i] replaced by `values`."""
        return self._update(scatter, values, "set", **options)

    def add(self, values: Any, **options: Any) -> Any:
        """x with `values` added to x[i]."""
        return self._update(scatter_add, values, "add", **options)

    def subtract(self, values: Any, **options: Any) -> Any:
        """x with `values` subtracted from x[i]."""
        return self._update(scatter_add, values, "subtract", change=ew.neg, **options)

    def multiply(self, values: Any, **options: Any) -> Any:
        """x with x[i] multiplied by `values`."""
        return self._update(scatter_mul, values, "multiply", **options)

    mul = multiply

    def divide(self, values: Any, **options: Any) -> Any:
        """x with x[i] divided by `values`."""
        return divide(self.array, self._factors(values, "divide", options))

    def power(self, values: Any, **options: Any) -> Any:
        """x with x[i] raised to the power `values`."""
        return power(self.array, self._factors(values, "power", options))

    def min(self, values: Any, **options: Any) -> Any:
        """x with x[i] replaced by the smaller of itself and `values`."""
        return self._update(scatter_min, values, "min", **options)

    def max(self, values: Any, **options: Any) -> Any:
        """x with x[i] replaced by the larger of itself and `values`."""
        return self._update(scatter_max, values, "max", **options)

    def _fill(self, given: Any) -> Any:
        """fill_value as a scalar of x's dtype."""
        x = operand(given, "x.at[i].get", "fill_value")
        if getattr(x, "size", 1) != 1:
            came = f"x.at[i].get: got {describe(x)} for fill_value"
            raise ShapeError(message(came, "a scalar", "fnp.where(inside, x.at[i].get(mode='clip'), fill)"))
        found = cast(x, self.array.dtype)  # which raises where it does not fit
        if isinstance(found, Value):
            return static_array(found, "x.at[i].get", "fill_value").reshape(())[()]
        return given

    def apply(self, func: Callable[[Any], Any], **options: Any) -> Any:
        """x with x[i] replaced by func(x[i]); an element named twice is changed once."""
        if not callable(func):
            raise UsageError(message(f"x.at[i].apply: got {describe(func)}", "a function of x[i]", "x.at[i].apply(fnp.sin)"))
        mode = options.get("mode")
        reading = "clip" if mode_of(mode, "x.at[i].apply") in ("fill", "drop") else mode
        return self.set(func(self.get(mode=reading)), **options)

    def _factors(self, values: Any, name: str, options: dict[str, Any]) -> Any:
        """Ones of x's shape with the products of the updates at the places."""
        x = self.array
        ones = full(x.aval.shape, x.aval.dtype.type(1))
        return Ref(ones, self.index)._update(scatter_mul, values, name, **options)

    def _update(
        self, op: Callable[..., Any], values: Any, name: str, *, change: Callable[..., Any] | None = None,
        indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None, wrap_negative_indices: bool = True,
        out_sharding: Any = None,
    ) -> Any:  # fmt: skip
        x = self.array
        mode = mode_of(mode, f"x.at[i].{name}")
        y = operand(values, f"ndarray.at[i].{name}", "values")
        if aval_of(y).dtype in dt.COMPLEXES and x.aval.dtype not in dt.COMPLEXES:
            raise DtypeError(
                message(
                    f"x.at[i].{name}: got {aval_of(y).str_short()} for {x.aval.str_short()}",
                    "real values",
                    "v.real, or x.astype(complex) first",
                )
            )
        y = cast(y, x.aval.dtype)
        if change is not None:
            y = change(y) if isinstance(y, Value) else np.negative(y)
        mask = _plain_mask(x, self.index)
        if mask is not None and not aval_of(y).ndim:
            return _masked_update(op, x, mask, y)
        index = self.index if wrap_negative_indices else _unsigned(self.index)
        where = target(x.aval.shape, index, mode)
        y = _fitted(y, where.result, name) if isinstance(y, Value) else full(where.result, y)
        y = squeeze(y, dimensions=where.squeezed) if where.squeezed else y
        y = rev(y, dimensions=where.reversed) if where.reversed else y
        numbers = ScatterDimensionNumbers(where.windows, where.inserted, where.named)
        return op(
            x,
            where.indices,
            y,
            dimension_numbers=numbers,
            mode=where.mode,
            unique_indices=flag(unique_indices, "", "unique_indices"),
        )


def _fitted(y: Any, shape: tuple[int, ...], name: str) -> Any:
    """Values repeated to the shape of x[i]; extents of 1 in front are dropped, as NumPy's assignment drops them."""
    extra = y.aval.ndim - len(shape)
    if extra > 0 and set(y.aval.shape[:extra]) <= {1}:
        y = squeeze(y, dimensions=tuple(range(extra)))
    try:
        fits = broadcast_shapes_of([y.aval.shape, shape]) == shape
    except ShapeError:
        fits = False
    if not fits:
        raise ShapeError(
            message(
                f"x.at[i].{name}: got values of shape {y.aval.shape} where x[i] has shape {shape}",
                "values that broadcast to the shape of x[i]",
                "v[:, None], or .reshape",
            )
        )
    return broadcast_value(y, shape)


def _unsigned(index: Any) -> Any:
    """Index arrays whose negative numbers are out of range instead of counting from the end."""
    items = index if isinstance(index, tuple) else (index,)
    return tuple([i.astype("uint64") if isinstance(i, Value) and i.aval.dtype in dt.SIGNED else i for i in items])  # type: ignore[attr-defined]


def _plain_mask(x: Value, index: Any) -> Any:
    """The traced boolean mask that alone is the index, or None. Concrete masks are integer arrays to the parser."""
    index = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if isinstance(index, Tracer) and index.aval.dtype == dt.bool_ and index.concrete() is None:
        if index.aval.ndim and index.aval.shape == x.aval.shape[: index.aval.ndim]:
            return index
    return None


def _masked_update(op: Callable[..., Any], x: Value, mask: Any, y: Any) -> Any:
    """One value at the places of a traced mask: a choice, whose shape does not depend on the mask."""
    rank = mask.aval.ndim
    mask = expand_dims(mask, dimensions=tuple(range(rank, x.aval.ndim))) if rank < x.aval.ndim else mask
    mask = broadcast_value(mask, x.aval.shape)
    y = broadcast_value(y, x.aval.shape) if isinstance(y, Value) else full(x.aval.shape, y)
    combine: dict[Any, Callable[..., Any]] = {scatter_add: ew.add, scatter_mul: ew.mul, scatter_min: ew.min, scatter_max: ew.max}
    return ew.select_n(mask, x, combine[op](x, y) if op in combine else y)
