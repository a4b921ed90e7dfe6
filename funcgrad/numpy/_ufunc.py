"""The class `ufunc`: a function of single numbers that works on arrays, with the methods reduce, accumulate, reduceat, at and
outer.

A call costs what the function costs: `__call__` is a slot that holds it. Methods without a form of their own are folds by the
function (`_folds.py`).
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.bridge.flat import check_callable, function_name
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import ShapeError, UsageError, message
from funcgrad.numpy import _folds as folds
from funcgrad.numpy._axes import axes_of, axis_of, concrete, static_int
from funcgrad.numpy._promote import as_value, broadcast_value, cast, check_unsupported, operand
from funcgrad.numpy.index import mode_of, read_with
from funcgrad.numpy.reductions import keep, mask_for
from funcgrad.numpy.structure import broadcast_to, expand_dims, moveaxis, ravel, reshape
from funcgrad.numpy.vectorized import vectorize
from funcgrad.ops import elementwise as ew
from funcgrad.ops.shape import full, iota
from funcgrad.trace.value import aval_of


class _Described(type):
    # The class has a docstring although its instances have docstrings of their own.
    __doc__ = property(lambda cls: _DOC)  # type: ignore[assignment]

    @property
    def __wrapped__(cls) -> Any:
        raise AttributeError  # its slot is for instances; inspect.signature would take it for a function


_DOC = """A function of `nin` numbers that gives `nout`, applied to the elements of arrays that broadcast.

    Args: func: a function of scalars. name: what it is called. nargs: must be nin + nout. identity: what folds over nothing give.
    call, reduce, accumulate, at, reduceat: functions of arrays that do the same at once, where there are such; each is called as
    the method of that name, without the arguments `out` and `inplace`.

    >>> add3 = fnp.frompyfunc(lambda x, y: x + y + 3, 2, 1)
    >>> add3.reduce(fnp.array([1, 2, 3]))
    Array(12, dtype=int64)
    """


class ufunc(metaclass=_Described):
    __slots__ = (
        "__call__", "__doc__", "__name__", "__qualname__", "__wrapped__", "__weakref__",
        "nin", "nout", "identity", "signature", "_associative", "_home", "_methods",
    )  # fmt: skip
    __module__ = "funcgrad.numpy"

    def __init__(
        self, func: Callable[..., Any], /, nin: int, nout: int, *, name: Any = None, nargs: Any = None, identity: Any = None,
        call: Any = None, reduce: Any = None, accumulate: Any = None, at: Any = None, reduceat: Any = None,
    ):  # fmt: skip
        check_callable("ufunc", func)
        nin, nout = static_int(nin, "ufunc", "nin"), static_int(nout, "ufunc", "nout")
        if nin < 1 or nout < 1 or nargs not in (None, nin + nout):
            raise UsageError(
                message(f"fnp.ufunc: got nin={nin}, nout={nout}, nargs={nargs}", "1 or more; nargs their sum", "leave nargs out")
            )
        self.nin, self.nout, self.identity = nin, nout, identity
        self.signature: str | None = None
        self.__wrapped__ = func
        self.__name__ = self.__qualname__ = function_name(func) if name is None else name
        self.__doc__ = getattr(func, "__doc__", None)
        self.__call__ = _broadcasting(self, func) if call is None else call
        self._methods = {"call": call, "reduce": reduce, "accumulate": accumulate, "at": at, "reduceat": reduceat}
        self._associative, self._home = False, False

    @property
    def nargs(self) -> int:
        """How many arguments and results there are."""
        return self.nin + self.nout

    def __repr__(self) -> str:
        return f"<fnp.ufunc '{self.__name__}'>"

    def __reduce__(self) -> Any:
        if self._home:
            return self.__name__
        own = {k: f for k, f in self._methods.items() if f is not None}
        return _unpickle, (self.__wrapped__, self.nin, self.nout, {"name": self.__name__, "identity": self.identity, **own})

    def _two(self, method: str) -> folds.Fold:
        """The function as a fold; an error where it is none."""
        if self.nin != 2 or self.nout != 1 or self.signature:
            raise UsageError(
                message(
                    f"fnp.{self.__name__}.{method}: the function has {self.nin} arguments and {self.nout} results"
                    + (f", with core dimensions {self.signature}" if self.signature else ""),
                    "functions of two numbers that give one",
                    f"fnp.{self.__name__}(...)",
                )
            )
        return folds.Fold(f"{self.__name__}.{method}", self.__call__)

    # --- folds ------------------------------------------------------------------------------------------------------------

    def reduce(
        self, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
        where: Any = None,
    ) -> Any:  # fmt: skip
        """The function folded along `axis`: f(f(x0, x1), x2) ..., from `initial` where it is given.

        Args: a: array. axis: integer, or (where order makes no difference) a tuple or None for all. dtype: of the numbers that
        are folded. keepdims: leave extents of 1. initial: a scalar. where: boolean mask of what counts; needs an identity or
        initial. out: must be None.
        Raises: UsageError over nothing where there is no identity, and for several axes where order makes a difference.

        >>> fnp.subtract.reduce(fnp.array([10, 2, 3]))
        Array(5, dtype=int64)
        """
        fold = self._two("reduce")
        check_unsupported(fold.name, out=out)
        own = self._methods["reduce"]
        if own is not None:
            return own(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
        x = as_value(a, fold.name)
        axes = axes_of(axis, x.ndim, fold.name)
        reorderable = self._associative or self.identity is not None
        if len(axes) > 1 and not reorderable:
            raise UsageError(
                message(
                    f"fnp.{fold.name}: got axis={axis} for {x.aval.str_short()}",
                    "one axis: the order of the steps makes a difference",
                    "axis=0, then the next",
                )
            )
        x = folds.settled(fold, x if dtype is None else cast(x, dt.canonical(dtype)))
        mask = None if where is None else mask_for(x, where, fold.name)
        start = self._start(fold, x, axes, initial, mask is not None)
        if not axes:
            out_ = x if start is None else self.__call__(start, x)
            return out_ if mask is None else ew.select_n(mask, broadcast_value(start, x.shape), out_)
        rows, mask = folds.rows(x, axes), None if mask is None else folds.rows(mask, axes)
        init = None if start is None else broadcast_value(start, rows.shape[1:])
        if self._associative and mask is None and rows.shape[0] > 1:
            result = folds.halved(fold, rows)
            result = result if initial is None else self.__call__(init, result)
        else:
            result = folds.folded(fold, rows, init, mask)
        return keep(result, x, axes, keepdims)

    def _start(self, fold: folds.Fold, x: Any, axes: tuple[int, ...], initial: Any, masked: bool) -> Any:
        """What the fold begins with: initial, the identity where there may be nothing else, or None: the first row."""
        if initial is not None:
            value = operand(initial, fold.name, "initial")
            if aval_of(value).ndim:
                raise ShapeError(message(f"fnp.{fold.name}: got initial of shape {aval_of(value).shape}", "a scalar", "0"))
            return as_value(cast(value, x.dtype), fold.name)
        empty = 0 in [x.shape[i] for i in axes]
        if not (empty or masked or self._associative and self.identity is not None):
            return None
        if self.identity is None:
            what = f"{x.aval.str_short()}, empty along axis {axes}" if empty else "where= without initial="
            raise UsageError(
                message(f"fnp.{fold.name}: got {what}", "initial=: it has no identity", f"fnp.{fold.name}(a, initial=0)")
            )
        return as_value(cast(self.identity, x.dtype), fold.name)

    def accumulate(self, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """All steps of the fold along `axis`: x0, f(x0, x1), f(f(x0, x1), x2) ... dtype: of the numbers. out: must be None.

        >>> fnp.multiply.accumulate(fnp.array([1, 2, 3, 4]))
        Array([ 1,  2,  6, 24], dtype=int64)
        """
        fold = self._two("accumulate")
        check_unsupported(fold.name, out=out)
        x = as_value(a, fold.name)
        i = axis_of(axis, x.ndim, fold.name)
        own = self._methods["accumulate"]
        if own is not None:
            return own(x, axis=i, dtype=dtype)
        x = folds.settled(fold, x if dtype is None else cast(x, dt.canonical(dtype)))
        return moveaxis(folds.running(fold, moveaxis(x, i, 0)), 0, i)

    def reduceat(self, a: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """For each i the fold of the elements from indices[i] to before indices[i + 1] (of the last: to the end) along `axis`;
        the element indices[i] alone where the next index is not larger.

        Raises: IndexError where an index is out of range. out: must be None.

        >>> fnp.add.reduceat(fnp.arange(6), fnp.array([0, 4]))
        Array([6, 9], dtype=int64)
        """
        fold = self._two("reduceat")
        check_unsupported(fold.name, out=out)
        x = as_value(a, fold.name)
        i = axis_of(axis, x.ndim, fold.name)
        places = np.asarray(indices, None if len(indices) else np.int64) if isinstance(indices, (list, tuple)) else indices
        places = as_value(places, fold.name, "indices")
        if places.ndim != 1 or places.dtype not in dt.INTEGERS:
            raise ShapeError(message(f"fnp.{fold.name}: got {places.aval.str_short()}", "a vector of integers", "i[0]"))
        own = self._methods["reduceat"]
        if own is not None:
            return own(x, places, axis=i, dtype=dtype)
        rows = moveaxis(folds.settled(fold, x if dtype is None else cast(x, dt.canonical(dtype))), i, 0)
        known = concrete(places)
        if known is not None and known.size and 0 <= known[0] and known[-1] < rows.shape[0] and (known[1:] > known[:-1]).all():
            return moveaxis(folds.between_ascending(fold, rows, known.astype(np.int64)), 0, i)
        starts = cast(places, dt.int64)
        stops = expand_dims(as_value(np.int64(rows.shape[0]), fold.name), 0)
        stops = folds.concatenate([folds.cut(starts, 0, 1, starts.shape[0]), stops]) if starts.shape[0] else starts
        return moveaxis(folds.between(fold, rows, starts, stops), 0, i)

    # --- updates and products -----------------------------------------------------------------------------------------------

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """`a` with f(a[indices], b) in the places `indices`; an element that is named twice is changed twice. b: broadcasts to
        a[indices] (None for functions of one number). inplace: must be False, as arrays are immutable.

        >>> fnp.add.at(fnp.zeros(3), fnp.array([0, 0, 2]), 1.0, inplace=False)
        Array([2., 0., 1.], dtype=float32)
        """
        name = f"{self.__name__}.at"
        if inplace:
            change = {"add": "add", "subtract": "subtract", "multiply": "multiply", "maximum": "max", "minimum": "min"}
            known = change.get(self.__name__)
            fix = f"x = fnp.{name}(x, i{', b' * (self.nin == 2)}, inplace=False)"
            raise UsageError(
                message(
                    f"fnp.{name}: it was to change an array in place",
                    "inplace=False, which returns the changed copy: arrays are immutable",
                    f"{fix}, or x.at[i].{known}(b)" if known else fix,
                )
            )
        if self.nin > 2 or self.nout != 1 or self.signature or (b is None) != (self.nin == 1):
            raise UsageError(
                message(
                    f"fnp.{name}: got {'no ' if b is None else ''}b; it makes {self.nout} of {self.nin} numbers",
                    "b for functions of two numbers that give one, none for functions of one",
                    f"fnp.{name}(x, i{', b' * (self.nin == 2)}, inplace=False)",
                )
            )
        x = as_value(a, name)
        own = self._methods["at"]
        if own is not None:
            return own(x, indices) if b is None else own(x, indices, b)
        places = reshape(iota(dtype=dt.int64, shape=(x.size,), dimension=0), x.shape)
        places = read_with(places, indices, mode_of(None, name), None)
        values = None if b is None else ravel(broadcast_to(as_value(b, name, "b"), places.shape))
        ones = [full((), v.dtype.type(1)) for v in (x, values) if v is not None]
        one = as_value(self.__call__(*ones), name)
        if dt.category(one.dtype) > dt.category(x.dtype):
            raise UsageError(
                message(f"fnp.{name}: got {x.aval.str_short()}, and results {one.dtype}", "an array of these", "x.astype(float)")
            )
        return reshape(folds.one_by_one(self.__call__, ravel(x), ravel(places), values), x.shape)

    def outer(self, A: Any, B: Any, /) -> Any:
        """f of every element of A with every element of B: an array with the axes of A, then those of B.

        >>> fnp.multiply.outer(fnp.array([1, 2]), fnp.array([3, 4, 5]))
        Array([[ 3,  4,  5],
               [ 6,  8, 10]], dtype=int64)
        """
        if self.nin != 2 or self.signature:
            self._two("outer")
        name = f"{self.__name__}.outer"
        x, y = as_value(A, name, "A"), as_value(B, name, "B")
        return self.__call__(expand_dims(x, tuple(range(x.ndim, x.ndim + y.ndim))) if y.ndim else x, y)


def _broadcasting(self: ufunc, func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` of single numbers as a function of arrays."""
    apply = vectorize(func)

    @functools.wraps(func, updated=())
    def call(*args: Any, out: Any = None, where: Any = None) -> Any:
        if out is not None or where is not None:
            check_unsupported(self.__name__, out=out, where=where)
        if len(args) != self.nin:
            raise TypeError(
                message(f"fnp.ufunc: {self.__name__} got {len(args)} arguments", f"{self.nin}", "one array for each argument")
            )
        found = apply(*[as_value(x, self.__name__) for x in args])
        count = len(found) if isinstance(found, tuple) else 1
        if count != self.nout:
            raise UsageError(
                message(f"fnp.ufunc: {self.__name__} returned {count} results", f"{self.nout}", "mend nout=, or what it returns")
            )
        return found

    return call


def _unpickle(func: Any, nin: int, nout: int, options: dict[str, Any]) -> ufunc:
    return ufunc(func, nin, nout, **options)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A ufunc of a function of `nin` numbers that returns `nout`; identity: what its folds over nothing give.

    >>> larger = fnp.frompyfunc(lambda x, y: fnp.where(x > y, x, y), 2, 1)
    >>> larger(fnp.arange(3), 1)
    Array([1, 1, 2], dtype=int64)
    """
    return ufunc(func, nin, nout, identity=identity)
