"""Control flow: scan, fori_loop, while_loop, cond, switch, map.

Functions of pytrees become Jaxprs, and the loop or branch becomes one operator over them. With concrete operands and
`disable_jit`, they run as the Python loops that their docstrings show.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.bridge.array import from_numpy
from funcgrad.bridge.flat import FlatFunction, as_value, as_values, check_callable, function_name
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.aval import ShapedArray
from funcgrad.core.config import config
from funcgrad.core.errors import DtypeError, FuncgradError, ShapeError, TreeError, UsageError, describe, message
from funcgrad.core.pytree import PyTreeDef, keystr, tree_flatten, tree_leaves_with_path, tree_map, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import Jaxpr, closed_over
from funcgrad.lax.grouped import Steps, checkpointed, reported, unrolled
from funcgrad.numpy._axes import static_int
from funcgrad.numpy._promote import as_value as operand_as_value
from funcgrad.ops.convert import convert_element_type
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.stage import stage
from funcgrad.trace.value import Value
from funcgrad.transforms.cond import cond as cond_op
from funcgrad.transforms.cond import with_common_inputs
from funcgrad.transforms.jvp import current_apply
from funcgrad.transforms.scan import batch_first, unmapped
from funcgrad.transforms.vmap import vmap as vmap_flat
from funcgrad.transforms.while_ import Way
from funcgrad.transforms.while_ import while_ as while_op

__all__ = ["cond", "fori_loop", "map", "scan", "switch", "while_loop"]

LISTED = 1 << 16  # steps of a fori_loop: up to here its indices are an array that is scanned over; longer ones count in the carry


def _program(
    name: str, fun: Callable[..., Any], in_tree: PyTreeDef, avals: Sequence[ShapedArray]
) -> tuple[Jaxpr, list[Any], PyTreeDef]:
    """`fun` as a program over (constants, arguments), the constants, and the structure of its result."""
    flat = FlatFunction(name, fun, in_tree, None)
    jaxpr, consts = stage(flat, avals)
    return closed_over(jaxpr), consts, flat.out_tree


class _Loop(NamedTuple):
    """How errors of a loop call it: its name, the user's function, what is carried, the argument that it starts with, and how the
    function is called. `place`: where the carry stands among counters that the user does not see."""

    name: str
    fun: Any
    what: str
    start: str
    call: str
    place: int | None = None

    def seen(self, tree: PyTreeDef) -> PyTreeDef:
        """The structure of the carry as the user knows it."""
        return tree if self.place is None else tree.children()[self.place]

    def changed(self, path: tuple, a: ShapedArray, out: ShapedArray) -> FuncgradError:
        """The error of a leaf that came in as `a` and went out as `out`."""
        at = keystr(path if self.place is None else path[1:])
        came = f"{self.name}: {self.what} {at or 'itself'} came in as {a} and {function_name(self.fun)} returned {out}"
        allowed = f"one shape and dtype for the whole loop; the function is called as {self.call}"
        if a.shape != out.shape:
            return ShapeError(message(came, allowed, f"start with an array of the final shape as {self.start}{at}"))
        fix = f".astype({a.dtype.name!r}) on {at or 'what it returns'}{' of what it returns' if at else ''}, "
        fix += f"or start with fnp.asarray({self.start}{at}, {out.dtype.name!r})"
        return ShapeError(message(came, allowed, fix))


def _agree(loop: _Loop, avals: list[ShapedArray], in_tree: PyTreeDef, jaxpr: Jaxpr, out_tree: PyTreeDef) -> list[ShapedArray]:
    """The carry's avals after weak starts took the type of the step's result; an error names the leaf that changed."""
    if out_tree != in_tree:
        raise TreeError(
            message(
                f"{loop.name}: {function_name(loop.fun)} got {loop.what} with the structure {loop.seen(in_tree)} and returned "
                f"{loop.seen(out_tree)}",
                f"the same structure in and out; the function is called as {loop.call}",
                "return the carry as it came in",
            )
        )
    settled = []
    paths = [path for path, _ in tree_leaves_with_path(tree_unflatten(in_tree, list(range(len(avals)))))]
    for path, a, out in zip(paths, avals, jaxpr.out_avals[: len(avals)], strict=True):
        # A weak start goes up to the type of the result, never down: 0.5 does not become 0.
        up = dt.join([(a.dtype, True), (out.dtype, out.weak_type)])[0] if a.weak_type else a.dtype
        if a.shape == out.shape and up == out.dtype:
            settled.append(out if a.weak_type and (up != a.dtype or not out.weak_type) else a)
            continue
        raise loop.changed(path, a, out)
    return settled


def _as(x: Any, aval: ShapedArray) -> Any:
    return x if x.aval.dtype == aval.dtype else convert_element_type(x, new_dtype=aval.dtype)


def _settle(
    loop: _Loop, values: list[Any], in_tree: PyTreeDef, trace: Callable[[list[ShapedArray]], Any]
) -> tuple[Any, list[Any]]:
    """Trace a step for this carry, again where a weak start has to take the type of the step's result."""
    avals = [x.aval for x in values]
    while True:  # types only go up: it ends
        jaxpr, consts, out_tree = trace(avals)
        settled = _agree(loop, avals, in_tree, jaxpr, out_tree)
        if settled == avals:
            break
        avals = settled
    return (jaxpr, consts), [_as(x, a) for x, a in zip(values, avals, strict=True)]


@api_boundary
def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
    *,
    checkpoint: int | str | None = None,
    progress: bool | str = False,
) -> tuple[Any, Any]:
    """A loop that carries a value and stacks its results:

        ys = []
        for x in xs:              # along the leading axis of every leaf, from the end with reverse=True
            carry, y = f(carry, x)
            ys.append(y)
        return carry, stack(ys)

    init: the first carry, a pytree; f returns a carry of the same structure, shapes and dtypes. xs: a pytree of arrays with one
    leading extent, or None with `length`. unroll: how many steps a pass of the loop takes (True for all); it changes the
    code, never the result. checkpoint: reverse mode keeps the carry only every so many steps ("sqrt": the root of their
    number) and computes the rest again: less memory, more time. progress: a bar on stderr (True, or its label), also when
    jitted. Differentiable in both modes. Raises TypeError naming the leaf of a carry that changes its type.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> carry, ys = fg.lax.scan(lambda c, x: (c + x, c * x), 0.0, fnp.arange(4.0))
    >>> float(carry), ys.tolist()
    (6.0, [0.0, 0.0, 2.0, 9.0])
    """
    check_callable("scan", f)
    loop = _Loop("scan", f, "the carry", "init", "f(carry, x) and returns (carry, y)")
    return _scan(loop, f, init, xs, length, reverse, unroll, checkpoint, progress)


def _scan(
    loop: _Loop, f: Callable[..., Any], init: Any, xs: Any, length: int | None, reverse: Any = False, unroll: Any = 1,
    checkpoint: Any = None, progress: Any = False,
) -> tuple[Any, Any]:  # fmt: skip
    x_leaves, x_tree = tree_flatten(xs)
    x_values = as_values(f"{loop.name} xs", x_leaves, xs)
    n = _length(loop.name, xs, x_values, length)
    steps, reverse = _unroll(loop.name, unroll, n), flag(reverse, "lax.scan", "reverse")
    leaves, in_tree = tree_flatten(init)
    values = as_values(f"{loop.name} {loop.start}", leaves, init)
    if config.disable_jit and not any(isinstance(x, Tracer) for x in values + x_values):
        return _python_scan(f, tree_unflatten(in_tree, values), x_values, x_tree, n, reverse)
    trees: list[PyTreeDef] = []

    def step(carry: Any, x: Any) -> Any:
        out = f(carry, x)
        if not isinstance(out, tuple) or len(out) != 2:
            raise UsageError(
                message(
                    f"scan: {function_name(f)} returned {describe(out)}",
                    "a pair (carry, y)",
                    "return carry, None where there is no y",
                )
            )
        carry_tree, y_tree = tree_flatten(out[0])[1], tree_flatten(out[1])[1]
        trees[:] = [carry_tree, y_tree]
        return out

    pair_tree = tree_flatten((tree_unflatten(in_tree, values), tree_unflatten(x_tree, x_values)))[1]

    def trace(avals: list[ShapedArray]) -> Any:
        jaxpr, consts, _ = _program("scan", step, pair_tree, [*avals, *[unmapped(x.aval) for x in x_values]])
        return jaxpr, consts, trees[0]

    (jaxpr, consts), values = _settle(loop, values, in_tree, trace)
    way = reported(progress, checkpointed(checkpoint, unrolled(steps)))
    outs = way(Steps(jaxpr, consts, values, x_values, n, reverse))
    return tree_unflatten(trees[0], outs[: len(values)]), tree_unflatten(trees[1], outs[len(values) :])


def _length(name: str, xs: Any, values: list[Any], length: int | None) -> int:
    found: dict[int, str] = {} if length is None else {static_int(length, "lax.scan", "length"): "length="}
    for (path, _), x in zip(tree_leaves_with_path(xs), values, strict=True):
        if x.aval.ndim == 0:
            raise ShapeError(
                message(
                    f"{name}: xs{keystr(path)} is a scalar, {x.aval}",
                    "arrays with a leading axis",
                    "close over it, or put it into the carry",
                )
            )
        found.setdefault(x.aval.shape[0], f"xs{keystr(path)}, {x.aval}")
    if len(found) != 1:
        listed = "; ".join(f"{n} from {where}" for n, where in found.items())
        if not found:
            raise UsageError(message(f"{name}: got no xs and no length", "one of them", "give length="))
        raise ShapeError(message(f"{name}: got different lengths: {listed}", "one length", "mend the shapes, or length="))
    (n,) = found
    if n < 0:
        raise UsageError(message(f"{name}: got length={n}", "0 or more", "mend length="))
    return n


def _unroll(name: str, unroll: Any, n: int) -> int:
    if isinstance(unroll, (Value, np.ndarray)):
        raise UsageError(message(f"{name}: got {describe(unroll)} for unroll", "a positive int, or a bool", "unroll=4"))
    if unroll is True or (isinstance(unroll, int) and unroll > max(n, 1)):
        return max(n, 1)
    if unroll is False or unroll == 0:
        return 1
    if not isinstance(unroll, int) or unroll < 0:
        raise UsageError(message(f"{name}: got unroll={unroll!r}", "a positive int, or a bool", "mend unroll="))
    return unroll


def _python_scan(f: Any, carry: Any, xs: list[Any], x_tree: PyTreeDef, n: int, reverse: bool) -> tuple[Any, Any]:
    ys = []
    for i in range(n - 1, -1, -1) if reverse else range(n):
        carry, y = f(carry, tree_unflatten(x_tree, [x[i] for x in xs]))
        ys.append(y)
    if not ys:
        raise UsageError(
            message(
                "scan: length 0 with disable_jit",
                "at least one step, since y's shape comes from running f",
                "leave disable_jit off",
            )
        )
    return carry, tree_map(lambda *rows: fnp.stack([as_value(r) for r in (rows[::-1] if reverse else rows)]), *ys)


@api_boundary
def while_loop(
    cond_fun: Callable[..., Any],
    body_fun: Callable[..., Any],
    init_val: Any,
    *,
    max_steps: int | None = None,
    checkpoint: int | None = None,
) -> Any:
    """A loop for as long as a condition holds:

        val = init_val
        while cond_fun(val):
            val = body_fun(val)
        return val

    cond_fun returns a scalar bool; body_fun keeps the structure, shapes and dtypes of the pytree val. max_steps: a bound at which
    the loop stops. Both modes of differentiation work. Reverse mode needs the values of all steps, last one first. Outside jit it
    keeps them all; inside jit, where their number is not known, it keeps a fixed number of values and computes those in between
    again (64 MiB of them, at least 16 and at most 256 values); with `max_steps` it makes room for a record of that many steps.
    `checkpoint` is the number of values to keep, inside jit or not, whatever `max_steps` says. Under vmap with a condition that
    differs between examples, each example stops by itself where a step computes up to 64 elements of it (or has effects); larger
    steps run on the whole batch until all examples have ended.

    >>> import funcgrad as fg
    >>> int(fg.lax.while_loop(lambda n: n < 100, lambda n: n * 2, 3))
    192
    """
    check_callable("while_loop", cond_fun)
    check_callable("while_loop", body_fun)
    slots = None if checkpoint is None else _at_least("checkpoint", checkpoint, 1)
    if max_steps is None:
        loop = _Loop("while_loop", body_fun, "the value", "init_val", "body_fun(val)")
        return _while(loop, cond_fun, body_fun, init_val, Way(slots=slots))
    bound = _at_least("max_steps", max_steps, 0)
    return while_loop_bounded(cond_fun, body_fun, init_val, bound, slots)[0]


def _at_least(what: str, number: Any, least: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise UsageError(message(f"while_loop: got {what}={number!r}", f"an int, {least} or more", f"mend {what}="))
    return int(number)


def while_loop_bounded(
    cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Any, bound: int, slots: int | None = None
) -> Any:
    """(last val, steps taken): the loop stops when the condition fails or after `bound` steps."""
    return _while(
        _Loop("while_loop", body_fun, "the value", "init_val", "body_fun(val)", 0),
        lambda pair: fnp.logical_and(cond_fun(pair[0]), pair[1] < bound),
        lambda pair: (body_fun(pair[0]), pair[1] + 1),
        (init_val, np.int64(0)),
        Way(max_steps=bound if slots is None else None, slots=slots),
    )


def _while(loop: _Loop, cond_fun: Any, body_fun: Any, init_val: Any, way: Way) -> Any:
    name = loop.name
    leaves, in_tree = tree_flatten(init_val)
    values = as_values(f"{name} init_val", leaves, init_val)
    if config.disable_jit and not any(isinstance(x, Tracer) for x in values):
        val = tree_unflatten(in_tree, values)
        while cond_fun(val):
            val = body_fun(val)
        return val
    one_tree = tree_flatten((init_val,))[1]
    (body, body_consts), values = _settle(loop, values, in_tree, lambda avals: _program(name, body_fun, one_tree, avals))
    test, test_consts, test_tree = _program(name, cond_fun, one_tree, [x.aval for x in values])
    _check_predicate(name, cond_fun, test.out_avals, test_tree)
    outs = while_op(
        *test_consts, *body_consts, *values,
        cond=test, body=body, cond_consts=len(test_consts), body_consts=len(body_consts), way=way,
    )  # fmt: skip
    return tree_unflatten(in_tree, outs)


def _check_predicate(name: str, fun: Any, avals: list[ShapedArray], tree: PyTreeDef) -> None:
    if len(avals) != 1 or avals[0].shape != () or avals[0].dtype != dt.bool_:
        got = avals[0] if len(avals) == 1 else tree
        scalar = len(avals) == 1 and avals[0].shape == ()
        raise (DtypeError if scalar else ShapeError)(
            message(
                f"{name}: the condition {function_name(fun)} returned {got}",
                "a scalar bool",
                "compare it, for example with != 0" if scalar else "reduce it with .any() or .all(), or compare",
            )
        )


@api_boundary
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Any, *, unroll: int | bool | None = None) -> Any:
    """A loop over a range of integers:

        val = init_val
        for i in range(lower, upper):
            val = body_fun(i, val)
        return val

    Where lower and upper are Python or concrete integers it is a scan, differentiable in both modes; else a while_loop.

    >>> lax.fori_loop(0, 5, lambda i, val: val + i, 0)
    Array(10, dtype=int64)
    >>> fg.grad(lambda x: lax.fori_loop(0, 3, lambda i, val: val * x, 1.0))(2.0)  # of x ** 3
    Array(12., dtype=float32)
    """
    check_callable("fori_loop", body_fun)
    bounds = [operand_as_value(x, "lax.fori_loop", arg) for x, arg in ((lower, "lower"), (upper, "upper"))]
    for x, what in zip(bounds, ("lower", "upper"), strict=True):
        if x.aval.shape != () or x.aval.dtype not in dt.INTEGERS:
            raise (DtypeError if x.aval.shape == () else ShapeError)(
                message(f"fori_loop: got {x.aval} for {what}", "integer scalars", "convert it with int(...) or .astype('int64')")
            )
    loop = _Loop("fori_loop", body_fun, "the value", "init_val", "body_fun(i, val)")
    strong = [b.aval.dtype for b in bounds if not b.aval.weak_type]
    dtype = strong[0] if strong else dt.int64
    known = [x.concrete() for x in bounds]
    if all(k is not None for k in known) and not any(isinstance(x, Tracer) for x in bounds):
        first, last = (int(k) for k in known)
        unroll = 1 if unroll is None else unroll
        if last - first > LISTED:
            counting = lambda c, _: ((c[0] + 1, body_fun(*c)), None)
            start = fnp.asarray(first, dtype)
            return _scan(loop._replace(place=1), counting, (start, init_val), None, last - first, unroll=unroll)[0][1]
        index = from_numpy(np.arange(first, max(first, last), dtype=dtype))
        return _scan(loop, lambda val, i: (body_fun(i, val), None), init_val, index, None, unroll=unroll)[0]
    if unroll not in (None, 1, False):
        raise UsageError(
            message(f"fori_loop: got unroll={unroll} with traced bounds", "static bounds, to unroll", "leave unroll= out")
        )
    start, end = (fnp.asarray(b, dtype) for b in bounds)
    step = lambda c: (c[0] + 1, c[1], body_fun(c[0], c[2]))
    return _while(loop._replace(place=2), lambda c: c[0] < c[1], step, (start, end, init_val), Way())[2]


@api_boundary
def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any, **kwargs: Any) -> Any:
    """`true_fun(*operands) if pred else false_fun(*operands)`: only the branch taken is computed, also when compiled.

    pred: a scalar; numbers count as true where they are not zero. Both branches return the same structure, shapes and dtypes.

    >>> import funcgrad as fg
    >>> float(fg.lax.cond(True, lambda x: x + 1, lambda x: x - 1, 2.0))
    3.0
    """
    check_callable("cond", true_fun)
    check_callable("cond", false_fun)
    operands = _operand("cond", operands, kwargs)
    value = _scalar("cond", pred, "the predicate", "a bool or number, or an array without axes")
    if value.aval.shape != ():
        raise ShapeError(
            message(f"cond: got a predicate of {value.aval}", "a scalar", "reduce it with .any() or .all(), or use fnp.where")
        )
    index = value if value.aval.dtype == dt.bool_ else value != 0
    return _branch("cond", convert_element_type(index, new_dtype=dt.int32), [false_fun, true_fun], operands)


def _scalar(name: str, x: Any, what: str, allowed: str) -> Any:
    try:
        return as_value(x)
    except TypeError:
        fix = f"lax.{name}(fnp.asarray(x), ...)" if isinstance(x, (list, tuple)) else "mend the first argument"
        fix = f"{name} takes it first, then the branches" if callable(x) else fix
        raise DtypeError(message(f"{name}: got {type(x).__name__} {x!r:.40} for {what}", allowed, fix)) from None


def _operand(name: str, operands: tuple, kwargs: dict[str, Any]) -> tuple:
    unknown = set(kwargs) - {"operand"}
    if unknown:
        raise UsageError(
            message(
                f"{name}: got keyword arguments {sorted(unknown)}", "operands by position, or operand=", "pass them by position"
            )
        )
    if "operand" in kwargs:
        if operands:
            raise UsageError(message(f"{name}: got operands by position and operand=", "one of them", "pass them by position"))
        return (kwargs["operand"],)
    return operands


@api_boundary
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, **kwargs: Any) -> Any:
    """`branches[index](*operands)`, with index clamped to 0 .. len(branches) - 1: only that branch is computed.

    index: an integer scalar. All branches return the same structure, shapes and dtypes.

    >>> branches = [lambda x: x, lambda x: 10 * x, lambda x: -x]
    >>> [lax.switch(i, branches, 3).item() for i in (0, 1, 99)]
    [3, 30, -3]
    """
    if not isinstance(branches, Iterable):
        raise UsageError(message(f"switch: got {describe(branches)} for branches", "a sequence of functions", "branches=[f, g]"))
    branches = list(branches)
    if not branches:
        raise UsageError(message("switch: got no branches", "at least one", "mend branches="))
    for b in branches:
        check_callable("switch", b)
    operands = _operand("switch", operands, kwargs)
    value = _scalar("switch", index, "the index", "an integer, or an integer array without axes")
    if value.aval.shape != () or value.aval.dtype not in dt.INTEGERS:
        raise (DtypeError if value.aval.shape == () else ShapeError)(
            message(f"switch: got an index of {value.aval}", "an integer scalar", "convert it with .astype('int32')")
        )
    clamped = fnp.clip(value, 0, len(branches) - 1)
    return _branch("switch", convert_element_type(clamped, new_dtype=dt.int32), branches, operands)


def _branch(name: str, index: Any, branches: list[Callable[..., Any]], operands: tuple) -> Any:
    leaves, in_tree = tree_flatten(operands)
    values = as_values(f"{name} operands", leaves, operands)
    if config.disable_jit and not any(isinstance(x, Tracer) for x in [index, *values]):
        return branches[int(index)](*operands)
    traced = [_program(name, b, in_tree, [x.aval for x in values]) for b in branches]
    target = traced[0]
    for b, (_, _, tree) in zip(branches, traced, strict=True):
        if tree != target[2]:
            raise TreeError(
                message(
                    f"{name}: {function_name(branches[0])} returned {target[2]} and {function_name(b)} returned {tree}",
                    "branches that return one structure",
                    "return the same containers from all branches",
                )
            )
    joined = _joined(name, branches, [j.out_avals for j, _, _ in traced], target[2])
    programs = [(_converted(j, joined), consts) for j, consts, _ in traced]
    shared, consts = with_common_inputs(programs)
    outs = cond_op(index, *consts, *values, branches=shared)
    return tree_unflatten(target[2], outs)


def _joined(name: str, branches: list[Any], avals: list[list[ShapedArray]], tree: PyTreeDef) -> list[ShapedArray]:
    """The common avals of the branches' results: weak ones yield, others must be equal."""
    out = []
    paths = [p for p, _ in tree_leaves_with_path(tree_unflatten(tree, list(range(len(avals[0])))))]
    for i, path in enumerate(paths):
        column = [a[i] for a in avals]
        strong = next((a for a in column if not a.weak_type), column[0])
        for b, a in zip(branches, column, strict=True):
            if a.shape != strong.shape or (a.dtype != strong.dtype and not a.weak_type):
                at = keystr(path) or "itself"
                raise ShapeError(
                    message(
                        f"{name}: the result {at} is {column[0]} from {function_name(branches[0])}, {a} from {function_name(b)}",
                        "one shape and dtype from all branches",
                        f"convert with .astype('{strong.dtype.name}'), or reshape",
                    )
                )
        out.append(strong)
    return out


def _converted(jaxpr: Jaxpr, avals: list[ShapedArray]) -> Jaxpr:
    if [a.dtype for a in jaxpr.out_avals] == [a.dtype for a in avals] and all(
        a.weak_type == b.weak_type for a, b in zip(jaxpr.out_avals, avals, strict=True)
    ):
        return jaxpr

    def fun(*xs: Any) -> list[Any]:
        outs = evaluate(current_apply, jaxpr, (), xs)
        return [convert_element_type(x, new_dtype=a.dtype) for x, a in zip(outs, avals, strict=True)]

    return stage(fun, jaxpr.in_avals)[0]


@api_boundary
def map(f: Callable[..., Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """`stack([f(x) for x in xs])` along the leading axis of every leaf, as a loop; with batch_size, over vmapped batches.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> fg.lax.map(lambda x: x * 2, fnp.arange(3.0)).tolist()
    [0.0, 2.0, 4.0]
    """
    check_callable("map", f)
    if batch_size is None:
        return _scan(_Loop("map", f, "the carry", "init", "f(x)"), lambda _, x: (None, f(x)), None, xs, None)[1]
    leaves, tree = tree_flatten(xs)
    values = as_values("map xs", leaves, xs)
    n, size = _length("map", xs, values, None), static_int(batch_size, "lax.map", "batch_size")
    if size < 1:
        raise UsageError(message(f"map: got batch_size={batch_size}", "a positive int", "mend batch_size="))
    m = n // size * size
    parts = []
    if m:
        grouped = tree_unflatten(tree, [fnp.reshape(x[:m], (m // size, size, *x.shape[1:])) for x in values])
        ys = scan(lambda _, x: (None, _vmapped(f, x, size)), None, grouped)[1]
        parts.append(tree_map(lambda y: fnp.reshape(y, (m, *y.shape[2:])), ys))
    if n > m or not n:
        parts.append(_vmapped(f, tree_unflatten(tree, [x[m:] for x in values]), n - m))
    return parts[0] if len(parts) == 1 else tree_map(lambda a, b: fnp.concatenate([a, b]), *parts)


def _vmapped(f: Callable[..., Any], x: Any, size: int) -> Any:
    leaves, in_tree = tree_flatten((x,))
    flat = FlatFunction("map", f, in_tree, None)
    outs, dims = vmap_flat(flat, as_values("map", leaves, x), [0] * len(leaves), size)
    return tree_unflatten(flat.out_tree, [batch_first(y, d, size) for y, d in zip(outs, dims, strict=True)])
