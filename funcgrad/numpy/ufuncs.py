"""NumPy's ufuncs: which functions of this package they are, and how their folds are done at once.

`install` gives these functions, as `fnp.add`, the coat of a `ufunc`; within the package they stay plain functions.
"""

import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, message
from funcgrad.numpy import _folds as folds
from funcgrad.numpy import cumulative, reductions
from funcgrad.numpy._axes import axes_of
from funcgrad.numpy._complex_order import larger, smaller
from funcgrad.numpy._promote import as_value, cast, common_inexact
from funcgrad.numpy._ufunc import frompyfunc, ufunc
from funcgrad.numpy.structure import moveaxis
from funcgrad.ops import cumulative as running
from funcgrad.ops import elementwise as ew
from funcgrad.ops import reduce as ops
from funcgrad.ops._family import like

__all__ = ["frompyfunc", "ufunc"]

_ONE = (
    "absolute arccos arccosh arcsin arcsinh arctan arctanh bitwise_count cbrt ceil conjugate cos cosh deg2rad exp exp2 expm1 "
    "fabs floor invert isfinite isinf isnan log log10 log1p log2 logical_not negative positive rad2deg reciprocal rint sign "
    "signbit sin sinh spacing sqrt square tan tanh trunc"
).split()
_ALIASES = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_not": "invert", "bitwise_right_shift": "right_shift", "conj": "conjugate", "degrees": "rad2deg", "mod": "remainder",
    "radians": "deg2rad", "true_divide": "divide",
}  # fmt: skip


class Two(NamedTuple):
    """A function of two numbers: the identity and the methods of its folds, and whether order makes no difference to them."""

    identity: Any = None
    reduce: Callable[..., Any] | None = None
    accumulate: Callable[..., Any] | None = None
    at: Callable[..., Any] | None = None
    associative: bool = False


def _at(method: str) -> Callable[..., Any]:
    return lambda x, indices, b: getattr(x.at[indices], method)(b)


def _logical(name: str, whole: Callable[..., Any], fold: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction to booleans; `initial` is folded in."""

    def reduce(a: Any, axis: Any, dtype: Any, keepdims: Any, initial: Any, where: Any) -> Any:
        if dtype is not None and dt.canonical(dtype) != dt.bool_:
            raise DtypeError(message(f"fnp.{name}.reduce: got dtype={dtype}", "bool", "leave dtype out"))
        out = whole(a, axis, keepdims=keepdims, where=where)
        return out if initial is None else fold(out, like(out, bool(initial)))

    return reduce


def _bits(name: str, op: Callable[..., Any], fold: Callable[..., Any], identity: int) -> Callable[..., Any]:
    """A reduction of bits, of integers or booleans."""

    def reduce(a: Any, axis: Any, dtype: Any, keepdims: Any, initial: Any, where: Any) -> Any:
        x = as_value(a, f"{name}.reduce")
        x = x if dtype is None else cast(x, dt.canonical(dtype))
        if x.dtype not in dt.INTEGERS | dt.BOOLS:
            raise DtypeError(message(f"fnp.{name}.reduce: got {x.aval.str_short()}", "integers and booleans", "x.astype(int)"))
        axes = axes_of(axis, x.ndim, name)
        if where is not None:
            fill = np.asarray(identity).astype(x.dtype)[()]
            x = reductions.masked(x, reductions.mask_for(x, where, name), fill)
        out = reductions.keep(op(x, axes=axes) if axes else x, x, axes, keepdims)
        return out if initial is None else fold(out, cast(initial, out.dtype))

    return reduce


def _odd(x: Any, axis: Any = None, keepdims: Any = False, where: Any = None) -> Any:
    """Whether an odd number of elements is not zero."""
    return _bits("logical_xor", ops.reduce_xor, ew.xor, 0)(
        reductions.as_bool(as_value(x, "logical_xor")), axis, None, keepdims, None, where
    )


def _extremum(whole: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any, dtype: Any, keepdims: Any, initial: Any, where: Any) -> Any:
        x = as_value(a, "maximum.reduce")
        return whole(x if dtype is None else cast(x, dt.canonical(dtype)), axis, None, keepdims, initial, where)

    return reduce


def _running_extremum(op: Callable[..., Any], most: bool) -> Callable[..., Any]:
    complexes = folds.Fold("maximum", larger) if most else folds.Fold("minimum", smaller)

    def accumulate(x: Any, axis: int, dtype: Any) -> Any:
        x = x if dtype is None else cast(x, dt.canonical(dtype))
        if x.dtype == dt.bool_:
            return cast(op(cast(x, dt.int8), axis=axis, reverse=False), dt.bool_)
        if x.dtype in dt.COMPLEXES:
            return moveaxis(folds.running(complexes, moveaxis(x, axis, 0)), 0, axis)
        return op(x, axis=axis, reverse=False)

    return accumulate


def _running_truth(op: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis, dtype: cast(op(cast(reductions.as_bool(x), dt.int8), axis=axis, reverse=False), dt.bool_)


def _running_odd(x: Any, axis: int, dtype: Any) -> Any:
    counts = running.cumsum(cast(reductions.as_bool(x), dt.int64), axis=axis, reverse=False)
    return ew.eq(ew.and_(counts, np.int64(1)), np.int64(1))


def _log_sum(name: str, fold: Callable[..., Any], exp: Callable[..., Any], log: Callable[..., Any]) -> Callable[..., Any]:
    """A sum of powers and its logarithm, in one pass over the rows."""
    coat = ufunc(fold, 2, 1, name=name, identity=-np.inf, call=fold)
    coat._associative = True

    def reduce(a: Any, axis: Any, dtype: Any, keepdims: Any, initial: Any, where: Any) -> Any:
        x = as_value(a, f"{name}.reduce")
        (x,) = common_inexact(x if dtype is None else cast(x, dt.canonical(dtype)))
        axes = axes_of(axis, x.ndim, name)
        if x.dtype in dt.COMPLEXES or not axes or x.size == 0:
            return coat.reduce(x, axes, None, None, keepdims, initial, where)
        if where is not None:
            x = reductions.masked(x, reductions.mask_for(x, where, name), like(x, -np.inf))
        out = reductions.keep(folds.log_of_sum(folds.rows(x, axes), exp, log), x, axes, keepdims)
        return out if initial is None else fold(cast(initial, out.dtype), out)

    return reduce


def _two(module: types.ModuleType) -> dict[str, Two]:
    """The functions of two numbers that fold at once, or whose folds need no order. All others are folded by a loop."""
    ln2 = float(np.log(2.0))
    return {
        "add": Two(
            0,
            lambda a, axis, dtype, keepdims, initial, where: reductions.sum(a, axis, dtype, None, keepdims, initial, where),
            lambda x, axis, dtype: cumulative.cumsum(x, axis, dtype),
            _at("add"),
        ),
        "multiply": Two(
            1,
            lambda a, axis, dtype, keepdims, initial, where: reductions.prod(a, axis, dtype, None, keepdims, initial, where),
            lambda x, axis, dtype: cumulative.cumprod(x, axis, dtype),
            _at("multiply"),
        ),
        "subtract": Two(at=_at("subtract")),
        "maximum": Two(None, _extremum(reductions.max), _running_extremum(running.cummax, True), _at("max"), True),
        "minimum": Two(None, _extremum(reductions.min), _running_extremum(running.cummin, False), _at("min"), True),
        "fmax": Two(associative=True),
        "fmin": Two(associative=True),
        "gcd": Two(0, associative=True),
        "lcm": Two(associative=True),
        "hypot": Two(0, associative=True),
        "logical_and": Two(True, _logical("logical_and", reductions.all, ew.and_), _running_truth(running.cummin)),
        "logical_or": Two(False, _logical("logical_or", reductions.any, ew.or_), _running_truth(running.cummax)),
        "logical_xor": Two(False, _logical("logical_xor", _odd, ew.xor), _running_odd),
        "bitwise_and": Two(-1, _bits("bitwise_and", ops.reduce_and, module.bitwise_and, -1)),
        "bitwise_or": Two(0, _bits("bitwise_or", ops.reduce_or, module.bitwise_or, 0)),
        "bitwise_xor": Two(0, _bits("bitwise_xor", ops.reduce_xor, module.bitwise_xor, 0)),
        "logaddexp": Two(-np.inf, _log_sum("logaddexp", module.logaddexp, ew.exp, ew.log)),
        "logaddexp2": Two(-np.inf, _log_sum("logaddexp2", module.logaddexp2, ew.exp2, lambda x: ew.div(ew.log(x), like(x, ln2)))),
        **dict.fromkeys(
            "arctan2 copysign divide equal float_power floor_divide fmod greater greater_equal heaviside ldexp left_shift less "
            "less_equal nextafter not_equal pow power remainder right_shift".split(),
            Two(),
        ),
    }


# With core dimensions they have no folds.
_MATRICES = {"matmul": "(n?,k),(k,m?)->(n?,m?)", "matvec": "(m,n),(n)->(m)", "vecdot": "(n),(n)->()", "vecmat": "(n),(n,m)->(m)"}
_RESULTS = {"divmod": (2, 2), "frexp": (1, 2), "modf": (1, 2)}


def _coat(f: Callable[..., Any], name: str, nin: int, nout: int, two: Two | None = None, signature: str | None = None) -> ufunc:
    reduce, accumulate, at = (two.reduce, two.accumulate, two.at) if two else (None, None, None)
    made = ufunc(
        f, nin, nout, name=name, identity=two.identity if two else None, call=f, reduce=reduce, accumulate=accumulate, at=at
    )
    made.signature, made._associative, made._home = signature, two is not None and two.associative, True
    return made


def install(module: types.ModuleType) -> None:
    """Make ufuncs of the functions of `module` (funcgrad.numpy) that are ufuncs in NumPy."""
    coats = {name: _coat(getattr(module, name), name, 1, 1) for name in _ONE}
    coats |= {name: _coat(getattr(module, name), name, 2, 1, two) for name, two in _two(module).items()}
    coats |= {name: _coat(getattr(module, name), name, nin, nout) for name, (nin, nout) in _RESULTS.items()}
    coats |= {name: _coat(getattr(module, name), name, 2, 1, None, core) for name, core in _MATRICES.items()}
    coats |= {alias: coats[name] for alias, name in _ALIASES.items()}
    for name, coat in coats.items():
        setattr(module, name, coat)
