"""reduce and reduce_window: folds by a function that the user gives, along whole axes or over windows that slide.

In: a pytree of arrays of one shape, a start for each leaf, and `computation(x, y)` of two such trees of scalars, associative and
commutative. A single array with a known operation (sum, product, maximum, minimum, and, or, xor) goes to the operators for it;
anything else is folded in a tree, whose every level is one step over arrays.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.bridge.flat import FlatFunction, as_values, check_callable, function_name
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import DtypeError, ShapeError, TreeError, UsageError, describe, message
from funcgrad.core.pytree import tree_flatten, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import Jaxpr, closed_over
from funcgrad.lax._elements import over_elements
from funcgrad.numpy._axes import axes_of, static_ints
from funcgrad.numpy._promote import cast, operand
from funcgrad.ops import elementwise as ew
from funcgrad.ops import reduce as _reduce
from funcgrad.ops import shape as ops
from funcgrad.ops import window as _window
from funcgrad.ops._samples import NARROW
from funcgrad.ops.reduce import greatest, least
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.stage import stage
from funcgrad.trace.value import Value, aval_of
from funcgrad.transforms.jvp import current_apply

__all__ = ["reduce", "reduce_window"]


class Monoid(NamedTuple):
    """A known operation: of two arrays, along axes, over windows (None: by `fold_windows`), and its neutral element."""

    combine: Callable[..., Any]
    along: Callable[..., Any]
    sliding: Callable[..., Any] | None
    neutral: Callable[[np.dtype], Any]
    widened: bool = False  # narrow floats are folded in float32


def _ones(d: np.dtype) -> Any:
    return np.True_ if d == dt.bool_ else np.invert(d.type(0))


_MONOIDS = {
    "add": Monoid(ew.add, _reduce.reduce_sum, _window.window_sum, lambda d: d.type(0), True),
    "mul": Monoid(ew.mul, _reduce.reduce_prod, None, lambda d: d.type(1), True),
    "max": Monoid(ew.max_, _reduce.reduce_max, _window.window_max, least, True),
    "min": Monoid(ew.min_, _reduce.reduce_min, _window.window_min, greatest, True),
    "and": Monoid(ew.and_, _reduce.reduce_and, None, _ones),
    "or": Monoid(ew.or_, _reduce.reduce_or, None, lambda d: d.type(0)),
    "xor": Monoid(ew.xor, _reduce.reduce_xor, None, lambda d: d.type(0)),
}


class Fold(NamedTuple):
    """What both functions are given, checked: leaves, their starts, and the computation as a program (over its constants too)."""

    name: str
    xs: list[Any]
    starts: list[Any]
    program: Jaxpr
    consts: list[Any]

    def monoid(self) -> Monoid | None:
        """The operation that the program is, if it is one of the known ones, on one array."""
        p = self.program
        if len(self.xs) != 1 or self.consts or len(p.eqns) != 1:
            return None
        (eqn,) = p.eqns
        known = _MONOIDS.get(eqn.primitive.name)
        same = set(eqn.inputs) == set(p.invars) and eqn.outputs[0] is p.outvars[0] if known else False
        return known if same else None

    def combine(self, xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
        """The computation, element by element."""
        run = lambda *args: evaluate(current_apply, self.program, (), [*self.consts, *args])
        outs = over_elements(run, [*xs, *ys])
        return [cast(o, aval_of(x).dtype) for o, x in zip(outs, xs, strict=True)]


def _start(name: str, init: Any, x: Any) -> Any:
    """A start in its operand's dtype: a scalar, or a value without axes."""
    init = operand(init, f"lax.{name}", "init_value")
    aval = aval_of(init)
    if aval.shape != ():
        raise ShapeError(message(f"lax.{name}: got init_value {describe(init)}", "a scalar", "init_value[0], or 0.0"))
    d = x.aval.dtype
    kinds = not aval.weak_type and aval.dtype != d
    if kinds or (d in dt.BOOLS | dt.INTEGERS and aval.dtype in dt.INEXACT):
        raise DtypeError(
            message(
                f"lax.{name}: got init_value of {aval.dtype} for {x.aval.str_short()}", f"a scalar of {d}", f"init.astype('{d}')"
            )
        )
    return cast(init, d)


def _fold(name: str, operands: Any, inits: Any, computation: Any) -> tuple[Fold, Any]:
    check_callable(f"lax.{name}", computation)
    leaves, tree = tree_flatten(operands)
    starts, start_tree = tree_flatten(inits)
    if start_tree != tree or not leaves:
        raise TreeError(
            message(
                f"lax.{name}: got operands with the structure {tree} and starts with {start_tree}",
                "one array or more, and one start for each of them",
                "give both the same structure",
            )
        )
    xs = as_values(f"lax.{name}", leaves, operands)
    if any(x.shape != xs[0].shape for x in xs):
        raise ShapeError(
            message(f"lax.{name}: got shapes {[x.shape for x in xs]}", "operands of one shape", "fnp.broadcast_arrays")
        )
    starts = [_start(name, s, x) for s, x in zip(starts, xs, strict=True)]
    avals = [shaped((), x.aval.dtype) for x in xs]
    _, pair = tree_flatten((operands, inits))
    flat = FlatFunction(f"lax.{name}", computation, pair, None)
    program, consts = stage(flat, [*avals, *avals])
    if flat.out_tree != tree or [(a.shape, a.dtype) for a in program.out_avals] != [((), a.dtype) for a in avals]:
        raise TreeError(
            message(
                f"lax.{name}: {function_name(computation)} of two of {_listed(avals)} returned {_listed(program.out_avals)}",
                "one element more of the same structure, shape () and dtypes",
                "lax.add, or lambda x, y: x + y",
            )
        )
    return Fold(name, xs, starts, closed_over(program), consts), tree


def _listed(avals: Sequence[ShapedArray]) -> str:
    return ", ".join([a.str_short() for a in avals]) or "nothing"


def _is_neutral(start: Any, monoid: Monoid, dtype: np.dtype) -> bool:
    """Whether a start is known to change nothing."""
    if isinstance(start, Tracer):
        start = start.concrete()
        if start is None:
            return False
    return bool(np.asarray(start) == monoid.neutral(dtype))


def _joined(start: Any, x: Any) -> Any:
    """The start, repeated to the shape of x."""
    return fnp.broadcast_to(start, x.shape) if isinstance(start, Value) else ops.full(x.shape, start)


# --- along whole axes -------------------------------------------------------------------------------------------


@api_boundary
def reduce(operands: Any, init_values: Any, computation: Callable[..., Any], dimensions: Any) -> Any:
    """The fold of arrays along axes by an associative, commutative function.

    operands: a pytree of arrays of one shape. init_values: the same tree of scalars, the neutral elements of the function (any
    other start is folded in once). computation(x, y): of two such trees of scalars. dimensions: the axes. Returns: the tree, its
    leaves without these axes. Differentiable. Raises ShapeError, DtypeError or TreeError where these do not fit together.

    >>> from funcgrad import lax
    >>> lax.reduce(np.arange(6.0).reshape(2, 3), 0.0, lax.add, (1,)).tolist()
    [3.0, 12.0]
    >>> larger = lambda x, y: tuple(fnp.where(x[0] >= y[0], a, b) for a, b in zip(x, y))
    >>> [int(v) for v in lax.reduce((np.array([3, 9, 4]), np.arange(3)), (0, 0), larger, (0,))]
    [9, 1]
    """
    f, tree = _fold("reduce", operands, init_values, computation)
    axes = axes_of(static_ints(dimensions, "lax.reduce", "dimensions"), f.xs[0].ndim, "lax.reduce", "dimensions")
    monoid = f.monoid()
    if monoid is not None:
        out = monoid.along(f.xs[0], axes=axes)
        d = f.xs[0].dtype
        outs = [out if _is_neutral(f.starts[0], monoid, d) else monoid.combine(_joined(f.starts[0], out), out)]
        return tree_unflatten(tree, outs)
    return tree_unflatten(tree, _fold_rows(f, [_rows(x, axes) for x in f.xs]))


def _rows(x: Any, axes: tuple[int, ...]) -> Any:
    """The axes that go away, as one leading axis."""
    kept = [i for i in range(x.ndim) if i not in axes]
    return fnp.reshape(fnp.transpose(x, (*axes, *kept)), (-1 if x.size else 0, *[x.shape[i] for i in kept]))


def _fold_rows(f: Fold, xs: list[Any]) -> list[Any]:
    """The fold along the leading axis: neighbours are folded in pairs until one is left."""
    n, rest = xs[0].shape[0], None
    start = [_joined(s, fnp.empty(x.shape[1:], x.dtype)) for s, x in zip(f.starts, xs, strict=True)]
    if n == 0:
        return start
    while n > 1:
        if n % 2:
            odd = [x[n - 1] for x in xs]
            rest = odd if rest is None else f.combine(odd, rest)
        xs = f.combine([x[0 : n - 1 : 2] for x in xs], [x[1:n:2] for x in xs])
        n //= 2
    out = [x[0] for x in xs]
    return f.combine(start, out if rest is None else f.combine(out, rest))


# --- over windows -----------------------------------------------------------------------------------------------


def _sides(given: Any, rank: int, arg: str, least_: int = 1) -> tuple[int, ...]:
    """A number for each axis; None is all ones."""
    out = (1,) * rank if given is None else static_ints(given, "lax.reduce_window", arg)
    if len(out) != rank or any([n < least_ for n in out]):
        raise ShapeError(
            message(
                f"lax.reduce_window: got {arg}={given} for an array with {rank} axes",
                "a positive integer for each axis",
                f"{arg}={(1,) * rank}",
            )
        )
    return out


def padding_of(
    padding: Any, shape: Sequence[int], window: Sequence[int], strides: Sequence[int], name: str
) -> tuple[tuple[int, int], ...]:
    """(low, high) for each axis. "VALID": none; "SAME" (odd places at the end) and "SAME_LOWER" (at the start): as many windows
    as there are steps along the axis. `shape` and `window` with their dilation."""
    if not isinstance(padding, str):
        given = padding if isinstance(padding, (list, tuple, np.ndarray)) else ()
        pairs = tuple([static_ints(p, f"lax.{name}", "padding") for p in given])
        if len(pairs) == len(shape) and all([len(p) == 2 for p in pairs]):
            return tuple([(p[0], p[1]) for p in pairs])
    elif padding.upper() == "VALID":
        return ((0, 0),) * len(shape)
    elif padding.upper() in ("SAME", "SAME_LOWER"):
        total = [max((-(-n // s) - 1) * s + w - n, 0) for n, w, s in zip(shape, window, strides, strict=True)]
        lows = [t // 2 if padding.upper() == "SAME" else t - t // 2 for t in total]
        return tuple([(low, t - low) for low, t in zip(lows, total, strict=True)])
    raise UsageError(
        message(
            f"lax.{name}: got padding={padding!r} for an array with {len(shape)} axes",
            "'VALID', 'SAME', 'SAME_LOWER', or (low, high) for each axis",
            "padding='SAME'",
        )
    )


@api_boundary
def reduce_window(
    operand: Any, init_value: Any, computation: Callable[..., Any], window_dimensions: Any, window_strides: Any = None,
    padding: Any = "VALID", base_dilation: Any = None, window_dilation: Any = None,
) -> Any:  # fmt: skip
    """The fold of every window that slides over an array by an associative, commutative function: pooling.

    operand: an array, or a pytree of arrays of one shape; init_value: the same tree of scalars, meant to be the neutral elements
    of the function; any other start is folded in once for each window. Places that pad are left out. computation(x, y): of two
    such trees of scalars. window_dimensions, window_strides: for each axis, 1 where no window slides (strides: 1 by default).
    padding: "VALID", "SAME", "SAME_LOWER", or (low, high) for each axis. base_dilation, window_dilation: the distances between
    the elements of the array, and between the places of a window. Returns: an element for each window.

    Sums, products, maxima and minima are differentiable in both modes, at every order, as is any computation of differentiable
    functions. The cotangent of a maximum goes to the first place that attains it.
    Raises ShapeError, DtypeError, TreeError or UsageError where the arguments do not fit together.

    >>> from funcgrad import lax
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> lax.reduce_window(x, -np.inf, lax.max, (2, 2), (2, 2)).tolist()
    [[5.0, 7.0], [13.0, 15.0]]
    >>> lax.reduce_window(x[0], 0.0, lax.add, (3,), padding="SAME").tolist()
    [1.0, 3.0, 6.0, 5.0]
    """
    f, tree = _fold("reduce_window", operand, init_value, computation)
    rank = f.xs[0].ndim
    window = _sides(window_dimensions, rank, "window_dimensions")
    strides = _sides(window_strides, rank, "window_strides")
    base, dilation = _sides(base_dilation, rank, "base_dilation"), _sides(window_dilation, rank, "window_dilation")
    shape = [(n - 1) * b + 1 if n else 0 for n, b in zip(f.xs[0].shape, base, strict=True)]
    spans = [(w - 1) * d + 1 for w, d in zip(window, dilation, strict=True)]
    sides = padding_of(padding, shape, spans, strides, "reduce_window")
    config = tuple([(low, high, b - 1) for (low, high), b in zip(sides, base, strict=True)])
    if any([n + low + high < 0 for n, (low, high) in zip(shape, sides, strict=True)]):
        raise ShapeError(
            message(f"lax.reduce_window: got padding={padding} for {f.xs[0].shape}", "no extent below 0", "pad less")
        )
    dtypes = [x.dtype for x in f.xs]
    monoid = f.monoid()
    if monoid is not None and monoid.widened and dtypes[0] in NARROW:
        f = f._replace(xs=[cast(f.xs[0], dt.float32)], starts=[cast(f.starts[0], dt.float32)])
    geometry = (window, strides, dilation)
    if monoid is None:
        return tree_unflatten(tree, _fold_present(f, config, geometry))
    x, d = f.xs[0], f.xs[0].dtype
    x = ops.pad(x, monoid.neutral(d), padding_config=config) if _pads(config) else x
    if monoid.sliding is not None:
        out = monoid.sliding(x, window=window, strides=strides, dilation=dilation)
    else:
        (out,) = _window.fold_windows((x,), lambda a, b, by: (monoid.combine(a[0], b[0]),), *geometry)
    if not _is_neutral(f.starts[0], monoid, d):
        out = monoid.combine(_joined(f.starts[0], out), out)
    return tree_unflatten(tree, [cast(out, dtypes[0])])


def _pads(config: Sequence[tuple[int, int, int]]) -> bool:
    return any([c != (0, 0, 0) for c in config])


def _fold_present(f: Fold, config: Any, geometry: Any) -> list[Any]:
    """The fold by a function without a known neutral element: what pads is left out."""
    start = lambda outs: [_joined(s, x) for s, x in zip(f.starts, outs, strict=True)]
    if not _pads(config):
        outs = list(_window.fold_windows(tuple(f.xs), lambda a, b, by: tuple(f.combine(a, b)), *geometry))
        return f.combine(start(outs), outs)
    xs = [ops.pad(x, s, padding_config=config) for x, s in zip(f.xs, f.starts, strict=True)]
    there = ops.pad(ops.full(f.xs[0].shape, np.True_), np.False_, padding_config=config)

    def combine(a: tuple[Any, ...], b: tuple[Any, ...], by: int) -> tuple[Any, ...]:
        (*x, p), (*y, q) = a, b
        both = f.combine(x, y)
        kept = [ew.select_n(q, u, ew.select_n(p, v, w)) for u, v, w in zip(x, y, both, strict=True)]
        return *kept, ew.or_(p, q)

    *outs, there = _window.fold_windows((*xs, there), combine, *geometry)
    first = start(outs)
    return [ew.select_n(there, s, o) for s, o in zip(first, f.combine(first, outs), strict=True)]
