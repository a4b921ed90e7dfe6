"""User-given derivatives: custom_jvp, custom_vjp, custom_gradient, closure_convert, custom_vmap."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.bridge.flat import FlatFunction, as_values, check_callable, function_name
from funcgrad.bridge.travel import reduced_whole
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray
from funcgrad.core.errors import ShapeError, TreeError, UsageError, message
from funcgrad.core.pytree import Partial, PyTreeDef, flatten_axes, tree_flatten, tree_map, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import ClosedJaxpr, Jaxpr
from funcgrad.numpy._axes import static_int
from funcgrad.ops._family import add, zeros
from funcgrad.trace.stage import stage
from funcgrad.trace.value import aval_of
from funcgrad.transforms.custom import CustomJvp, CustomVjp, CustomVmap, custom_call
from funcgrad.transforms.jvp import current_apply


class SymbolicZero:
    """A tangent or cotangent that is known to be zero: its aval, without numbers (with symbolic_zeros=True)."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the zeros."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the zeros."""
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


class CustomVJPPrimal:
    """An argument of a forward rule with symbolic_zeros=True: its `value`, and whether it is `perturbed` (differentiated)."""

    __slots__ = ("value", "perturbed")

    def __init__(self, value: Any, perturbed: bool):
        self.value, self.perturbed = value, perturbed


def _zero(aval: ShapedArray) -> Any:
    return zeros(aval.strong()) if aval.dtype in dt.INEXACT else np.zeros(aval.shape, dt.float0)


class _Call:
    """One call of a custom function: which arguments its rules speak of, flat."""

    def __init__(
        self, name: str, fun: Callable[..., Any], nondiff: Sequence[int], names: Sequence[str], args: tuple, kwargs: dict
    ):
        self.fun = fun
        bound = _positional(name, fun, args, kwargs, names)
        self.static = {i % len(bound): bound[i] for i in nondiff if -len(bound) <= i < len(bound)} if bound else {}
        self.kept = {k: kwargs[k] for k in names if k in kwargs}
        chosen = tuple(x for i, x in enumerate(bound) if i not in self.static)
        self.count = len(bound)
        leaves, self.in_tree = tree_flatten(chosen)
        self._values = as_values(name, leaves, chosen)
        self.avals = [aval_of(x) for x in self._values]
        self.flat = FlatFunction(name, fun, self.in_tree, lambda xs: fun(*self.full(xs), **self.kept))

    def take(self) -> list[Any]:
        """The flat arguments, which are not kept: the rules live as long as the programs that they are in."""
        values, self._values = self._values, []
        return values

    def full(self, chosen: Sequence[Any]) -> list[Any]:
        """All positional arguments, with the differentiated ones filled in."""
        given = iter(chosen)
        return [self.static[i] if i in self.static else next(given) for i in range(self.count)]

    def fixed(self) -> list[Any]:
        """The arguments that the rules get first."""
        return [self.static[i] for i in sorted(self.static)] + list(self.kept.values())


def _positional(name: str, fun: Callable[..., Any], args: tuple, kwargs: dict, keep: Sequence[str]) -> tuple:
    """Arguments by position, defaults filled in, as the rules expect them."""
    passed = {k: v for k, v in kwargs.items() if k not in keep}
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
    except ValueError:  # a builtin without a signature
        bound = None
    except TypeError as error:
        raise UsageError(
            message(f"{name}: {function_name(fun)} was called wrongly: {error}", "its own signature", "mend the call")
        ) from None
    if bound is None:
        if passed:
            raise UsageError(
                message(f"{name}: got keyword arguments {sorted(passed)}", "positional arguments", "pass them by position")
            )
        return args
    bound.apply_defaults()
    extra = [k for k in bound.kwargs if k not in keep]
    if extra:
        raise UsageError(
            message(
                f"{name}: {function_name(fun)} got keyword-only arguments {extra}",
                "arguments that can be positional",
                "make them positional",
            )
        )
    return bound.args


def _numbers(name: str, nondiff: Any) -> tuple[int, ...]:
    """nondiff_argnums, an int or several, as a tuple."""
    given = tuple(nondiff) if isinstance(nondiff, (tuple, list)) else (nondiff,)
    return tuple([static_int(n, name, "nondiff_argnums") for n in given])


class _Custom:
    """What the three kinds share: they travel as functions do, and stand for themselves in copies."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduced_whole(self, protocol)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class custom_jvp(_Custom):
    """A function with a derivative rule of its own, for forward and reverse mode.

    nondiff_argnums, nondiff_argnames: arguments that the rule gets first and does not differentiate (functions, options).
    Give the rule with `defjvp` (or `defjvps`, one rule an argument).

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> @fg.custom_jvp
    ... def f(x):
    ...     return fnp.sin(x)
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return f(x), 2 * t * fnp.cos(x)
    >>> float(fg.grad(f)(0.0))
    2.0
    """

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Any = (), nondiff_argnames: Any = ()):
        check_callable("custom_jvp", fun)
        functools.update_wrapper(self, fun, updated=())
        self.fun = fun
        self.nondiff_argnums = _numbers("custom_jvp", nondiff_argnums)
        self.nondiff_argnames = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else tuple(nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def reaches(self) -> tuple:
        """For keys of functions: what a call depends on."""
        return self.fun, self.jvp, self.nondiff_argnums, self.nondiff_argnames, self.symbolic_zeros

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule `jvp(*nondiff, primals, tangents) -> (out, tangent_out)`. Returns `jvp`.

        symbolic_zeros: zero tangents come as `SymbolicZero` instead of arrays of zeros."""
        check_callable("defjvp", jvp)
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set one rule for each differentiated argument: `jvp(tangent, out, *primals) -> tangent_out`, or None for zero."""
        if self.nondiff_argnums or self.nondiff_argnames:
            raise UsageError(message("defjvps: the function has nondiff arguments", "functions without", "use defjvp"))

        def rule(primals: Any, tangents: Any) -> Any:
            out = self(*primals)
            if len(jvps) != len(primals):
                raise UsageError(
                    message(f"defjvps: {len(jvps)} rules for {len(primals)} arguments", "one rule each", "give None for zero")
                )
            total = tree_map(lambda x: _zero(aval_of(x)), out)
            for jvp, t in zip(jvps, tangents, strict=True):
                if jvp is not None:
                    total = tree_map(add, total, jvp(t, out, *primals))
            return out, total

        self.defjvp(rule)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise UsageError(
                message(
                    f"custom_jvp: {function_name(self.fun)} has no rule", "a rule set by defjvp", "decorate it with @f.defjvp"
                )
            )
        call = _Call("custom_jvp", self.fun, self.nondiff_argnums, self.nondiff_argnames, args, kwargs)
        trees: list[PyTreeDef] = []

        def flat(*xs: Any) -> list[Any]:
            outs = call.flat(*xs)
            trees[:] = [call.flat.out_tree]
            return outs

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            missing = SymbolicZero if self.symbolic_zeros else _zero
            ts = [missing(aval_of(x).strong()) if t is None else t for x, t in zip(primals, tangents, strict=True)]
            pair = self.jvp(*call.fixed(), tree_unflatten(call.in_tree, primals), tree_unflatten(call.in_tree, ts))  # type: ignore[misc]
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise UsageError(
                    message(f"custom_jvp: the rule returned {type(pair).__name__}", "a pair (out, tangent_out)", "return both")
                )
            outs, out_tree = tree_flatten(pair[0])
            t_outs, t_tree = tree_flatten(pair[1])
            if t_tree != out_tree:
                raise TreeError(
                    message(
                        f"custom_jvp: the rule's tangent has the structure {t_tree}",
                        f"that of its output, {out_tree}",
                        "return a tangent for each output",
                    )
                )
            trees[:] = [out_tree]
            outs = as_values("custom_jvp", outs, pair[0])
            return outs, [_tangent(x, t) for x, t in zip(outs, t_outs, strict=True)]

        outs = custom_call(*call.take(), rule=CustomJvp(flat, rule), jaxpr=None, consts=0)
        return tree_unflatten(trees[0], outs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def _tangent(x: Any, t: Any) -> Any:
    """A rule's tangent as a value of its primal's type, None for zero."""
    aval = aval_of(x)
    if isinstance(t, SymbolicZero) or aval.dtype not in dt.INEXACT:
        return None
    (value,) = as_values("custom rule", [t], t)
    if value.aval.shape != aval.shape or value.aval.dtype != aval.dtype:
        if value.aval.weak_type and value.aval.shape == aval.shape:
            return aval.dtype.type(t) if not isinstance(t, type(value)) else value.astype(aval.dtype)
        raise UsageError(
            message(
                f"custom rule: got {value.aval} for {aval}",
                "the shape and dtype of its primal",
                "convert with .astype, or reshape",
            )
        )
    return value


class custom_vjp(_Custom):
    """A function with a reverse rule of its own.

    Give the rule with `f.defvjp(fwd, bwd)`: `fwd(*args) -> (out, residuals)`, and `bwd(*nondiff, residuals, ct)`, which returns a
    tuple with a cotangent for each differentiated argument (None for zero). nondiff_argnums, nondiff_argnames: arguments that
    `bwd` gets first and has no cotangents for. Forward mode on such a function is an error.

    >>> @fg.custom_vjp
    ... def clipped_gradient(x):
    ...     return x**2
    >>> def fwd(x):
    ...     return clipped_gradient(x), x
    >>> def bwd(x, ct):
    ...     return (fnp.clip(2 * x * ct, -1.0, 1.0),)
    >>> clipped_gradient.defvjp(fwd, bwd)
    >>> fg.grad(clipped_gradient)(0.25), fg.grad(clipped_gradient)(100.0)
    (Array(0.5, dtype=float32), Array(1., dtype=float32))
    """

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Any = (), nondiff_argnames: Any = ()):
        check_callable("custom_vjp", fun)
        functools.update_wrapper(self, fun, updated=())
        self.fun = fun
        self.nondiff_argnums = _numbers("custom_vjp", nondiff_argnums)
        self.nondiff_argnames = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else tuple(nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def reaches(self) -> tuple:
        """For keys of functions: what a call depends on."""
        return self.fun, self.fwd, self.bwd, self.nondiff_argnums, self.nondiff_argnames, self.symbolic_zeros

    def defvjp(
        self, fwd: Callable[..., Any], bwd: Callable[..., Any], symbolic_zeros: bool = False, optimize_remat: bool = False
    ) -> None:
        """Set the forward and the backward rule. symbolic_zeros: `fwd` gets `CustomVJPPrimal`s, and `bwd` `SymbolicZero`s for
        cotangents that are zero. optimize_remat is accepted for compatibility: residuals are pruned in any case."""
        check_callable("defvjp", fwd)
        check_callable("defvjp", bwd)
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise UsageError(
                message(f"custom_vjp: {function_name(self.fun)} has no rule", "rules set by defvjp", "call f.defvjp(fwd, bwd)")
            )
        call = _Call("custom_vjp", self.fun, self.nondiff_argnums, self.nondiff_argnames, args, kwargs)
        trees: list[PyTreeDef] = []

        def flat(*xs: Any) -> list[Any]:
            outs = call.flat(*xs)
            trees[:] = [call.flat.out_tree]
            return outs

        def fwd(moving: Sequence[bool], *xs: Any) -> Any:
            given = [CustomVJPPrimal(x, m) for x, m in zip(xs, moving, strict=True)] if self.symbolic_zeros else xs
            pair = self.fwd(*call.full(tree_unflatten(call.in_tree, given)), **call.kept)  # type: ignore[misc]
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise UsageError(
                    message(f"custom_vjp: fwd returned {type(pair).__name__}", "a pair (out, residuals)", "return both")
                )
            leaves, out_tree = tree_flatten(pair[0])
            residuals, res_tree = tree_flatten(pair[1])
            trees[:] = [out_tree]
            outs = as_values("custom_vjp", leaves, pair[0])
            shape.out_avals, shape.out_tree, shape.res_tree = [aval_of(x) for x in outs], out_tree, res_tree
            return outs, as_values("custom_vjp residuals", residuals, pair[1])

        def bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            given = iter(cts)
            full = [next(given) if a.dtype in dt.INEXACT else np.zeros(a.shape, dt.float0) for a in shape.out_avals]
            ct = tree_unflatten(shape.out_tree, full)
            found = self.bwd(*call.fixed(), tree_unflatten(shape.res_tree, residuals), ct)  # type: ignore[misc]
            return _cotangents(found, call.in_tree, call.avals)

        shape = _Shape()
        outs = custom_call(*call.take(), rule=CustomVjp(flat, fwd, bwd), jaxpr=None, consts=0)
        return tree_unflatten(trees[0], outs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


class _Shape:
    """What a forward rule returned, for its backward rule."""

    out_avals: list[ShapedArray]
    out_tree: PyTreeDef
    res_tree: PyTreeDef


def _cotangents(found: Any, in_tree: PyTreeDef, avals: list[ShapedArray]) -> list[Any]:
    """A backward rule's answer as one cotangent or None for each flat input."""
    if isinstance(found, list):
        found = tuple(found)
    leaves = flatten_axes("custom_vjp: bwd", in_tree, found)
    out: list[Any] = []
    for ct, aval in zip(leaves, avals, strict=True):
        zero = ct is None or isinstance(ct, SymbolicZero) or aval.dtype not in dt.INEXACT
        if zero:
            out.append(None)
            continue
        (value,) = as_values("custom_vjp: bwd", [ct], ct)
        if value.aval.shape != aval.shape:
            raise UsageError(
                message(
                    f"custom_vjp: bwd returned {value.aval} for an input of {aval}",
                    "the shape of the input",
                    "sum over broadcast axes",
                )
            )
        out.append(value if value.aval.dtype == aval.dtype else value.astype(aval.dtype))
    return out


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose gradient it gives itself: `fun(*args)` returns (out, pullback), `pullback(ct)` the cotangents of args.

    >>> import funcgrad as fg
    >>> @fg.custom_gradient
    ... def f(x):
    ...     return x ** 2, lambda ct: (ct * 10,)
    >>> float(fg.grad(f)(3.0))
    10.0
    """
    check_callable("custom_gradient", fun)

    def both(*args: Any) -> Any:
        pair = fun(*args)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not callable(pair[1]):
            came = f"custom_gradient: {function_name(fun)} returned {type(pair).__name__}"
            raise UsageError(message(came, "a pair (out, pullback), pullback a function", "return out, lambda ct: (ct_x, ...)"))
        return pair

    def fwd(*args: Any) -> Any:
        out, pullback = both(*args)
        leaves, out_tree = tree_flatten(out)
        avals = [aval_of(x).strong() for x in as_values("custom_gradient", leaves, out)]
        flat = FlatFunction("custom_gradient", pullback, tree_flatten((out,))[1], None)
        jaxpr, consts = stage(flat, avals)
        return out, Partial(functools.partial(_pull_staged, jaxpr, flat.out_tree), consts)

    def bwd(residuals: Any, ct: Any) -> Any:
        return residuals(ct)

    wrapped = custom_vjp(functools.wraps(fun, updated=())(lambda *args: both(*args)[0]))
    wrapped.defvjp(fwd, bwd)
    return wrapped


def _pull_staged(jaxpr: Jaxpr, ct_tree: PyTreeDef, consts: Sequence[Any], ct: Any) -> Any:
    cts = tree_unflatten(ct_tree, evaluate(current_apply, jaxpr, consts, tree_flatten(ct)[0]))
    return cts if isinstance(cts, (tuple, list)) else (cts,)


@api_boundary
def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """`fun` with the arrays and tracers that it closes over as explicit arguments.

    Returns (converted, consts): `converted(*args, *consts)` is `fun(*args)`, for arguments like `example_args`.

    >>> a = fnp.array(3.0)
    >>> converted, consts = fg.closure_convert(lambda x: a * x, 1.0)
    >>> consts, converted(2.0, *consts)
    ([Array(3., dtype=float32)], Array(6., dtype=float32))
    """
    check_callable("closure_convert", fun)
    leaves, in_tree = tree_flatten(example_args)
    flat = FlatFunction("closure_convert", fun, in_tree, None)
    closed = ClosedJaxpr(*stage(flat, [aval_of(x) for x in as_values("closure_convert", leaves, example_args)]))

    def converted(*args: Any) -> Any:
        given, consts = args[: len(example_args)], args[len(example_args) :]
        xs, tree = tree_flatten(given)
        if tree != in_tree:
            raise TreeError(
                message(f"closure_convert: got arguments with the structure {tree}", f"{in_tree}", "call it as in the example")
            )
        if len(consts) != len(closed.consts):
            came = f"closure_convert: the converted function got {len(consts)} consts"
            allowed = f"the {len(closed.consts)} that closure_convert returned"
            raise UsageError(message(came, allowed, "converted(*args, *consts)"))
        values = as_values("closure_convert", xs, given)
        for x, aval in zip(values, closed.jaxpr.in_avals, strict=True):
            if x.aval.shape != aval.shape or x.aval.dtype != aval.dtype:
                came = f"closure_convert: the converted function got {x.aval} in the place of {aval}"
                raise UsageError(message(came, "arguments like the example's", "convert again with these arguments"))
        return tree_unflatten(flat.out_tree, evaluate(current_apply, closed.jaxpr, consts, values))

    return converted, closed.consts


class custom_vmap(_Custom):
    """A function with a batching rule of its own.

    Give it with `def_vmap`: `rule(axis_size, in_batched, *args) -> (out, out_batched)`, where every batched array has its batch
    axis first and `in_batched`, `out_batched` are pytrees of bools. To differentiate it, wrap it in custom_jvp or custom_vjp.
    """

    def __init__(self, fun: Callable[..., Any]):
        check_callable("custom_vmap", fun)
        functools.update_wrapper(self, fun, updated=())
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None

    def reaches(self) -> tuple:
        """For keys of functions: what a call depends on."""
        return self.fun, self.vmap_rule

    def def_vmap(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule. Returns it."""
        check_callable("def_vmap", rule)
        self.vmap_rule = rule
        return rule

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.vmap_rule is None:
            raise UsageError(
                message(
                    f"custom_vmap: {function_name(self.fun)} has no rule",
                    "a rule set by def_vmap",
                    "decorate it with @f.def_vmap",
                )
            )
        call = _Call("custom_vmap", self.fun, (), (), args, kwargs)
        trees: list[PyTreeDef] = []

        def flat(*xs: Any) -> list[Any]:
            outs = call.flat(*xs)
            trees[:] = [call.flat.out_tree]
            return outs

        def rule(size: int, batched: Sequence[bool], *xs: Any) -> Any:
            pair = self.vmap_rule(size, list(tree_unflatten(call.in_tree, batched)), *tree_unflatten(call.in_tree, xs))  # type: ignore[misc]
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                came = f"custom_vmap: the rule returned {type(pair).__name__}"
                raise UsageError(message(came, "a pair (out, out_batched)", "return both"))
            leaves, out_tree = tree_flatten(pair[0])
            trees[:] = [out_tree]
            values, flags = as_values("custom_vmap", leaves, pair[0]), flatten_axes("custom_vmap", out_tree, pair[1])
            for x, flag in zip(values, flags, strict=True):
                _check_batched(size, aval_of(x), flag)
            return values, flags

        outs = custom_call(*call.take(), rule=CustomVmap(flat, rule), jaxpr=None, consts=0)
        return tree_unflatten(trees[0], outs)


def _check_batched(size: int, aval: ShapedArray, batched: Any) -> None:
    """What a batching rule says of one of its outputs must be so."""
    if not isinstance(batched, (bool, np.bool_)):
        came = f"custom_vmap: the rule returned {batched!r} in out_batched"
        raise UsageError(message(came, "True or False for each output", "True where the output has the batch axis first"))
    if batched and aval.shape[:1] != (size,):
        came = f"custom_vmap: the rule returned {aval} for a batched output of {size} lanes"
        raise ShapeError(message(came, f"a first axis of {size}", "move the batch axis to 0, or return False for this output"))


__all__ = ["CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp", "custom_vjp", "custom_vmap"]
