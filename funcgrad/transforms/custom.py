"""User-given derivatives: the operators behind custom_jvp, custom_vjp and custom_vmap.

A call travels as `custom_call` with its rule, an object of flat functions, until a derivative or a batch meets it. Evaluated, it
runs the user's function as it is (Python control flow works); staged, it carries the function's program beside the rule.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray
from funcgrad.core.errors import UsageError, message
from funcgrad.ir.evaluate import evaluate, evaluate_numpy
from funcgrad.ir.jaxpr import Jaxpr, closed_over
from funcgrad.ir.loop_rules import Call, Host
from funcgrad.ir.primitive import register
from funcgrad.ops._family import batch_at, reduce_sum, zeros
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.stage import Stage, stage
from funcgrad.trace.value import aval_of
from funcgrad.transforms.jvp import current_apply
from funcgrad.transforms.partial import merge
from funcgrad.transforms.scan import unmapped
from funcgrad.transforms.vmap import Axis, of_any_axis, vmap

Flat = Callable[..., Sequence[Any]]


def _batched(fun: Flat, dims: Sequence[int | None], axis: Axis) -> Flat:
    """`fun` on a batch, every output with the batch at axis 0."""

    def batched(*xs: Any) -> list[Any]:
        outs, ds = vmap(fun, xs, dims, axis.size, axis.name)
        return [batch_at(x, d, axis.size) for x, d in zip(outs, ds, strict=True)]

    return batched


@dataclass(frozen=True, eq=False)
class CustomJvp:
    """`fun(*xs) -> outs`, and `jvp(primals, tangents) -> (outs, tangents)` where None is a zero tangent."""

    fun: Flat
    rule: Callable[..., Any]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return self.rule(primals, tangents)

    def batch(self, axis: Axis, dims: Sequence[int | None]) -> "CustomJvp":
        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            moving = tuple(t is not None for t in tangents)
            count, moving_out = len(primals), ()

            def flat(*xs: Any) -> list[Any]:
                nonlocal moving_out
                ts = merge(moving, list(xs[count:]), [None] * moving.count(False))
                outs, t_outs = self.rule(xs[:count], ts)
                moving_out = tuple(t is not None for t in t_outs)
                return [*outs, *(t for t in t_outs if t is not None)]

            t_dims = [d for d, m in zip(dims, moving, strict=True) if m]
            outs = _batched(flat, [*dims, *t_dims], axis)(*primals, *[t for t in tangents if t is not None])
            n = len(moving_out)
            return outs[:n], merge(moving_out, outs[n:], [None] * moving_out.count(False))

        return CustomJvp(_batched(self.fun, dims, axis), rule)


@dataclass(frozen=True, eq=False)
class CustomVjp:
    """`fun(*xs) -> outs`, `fwd(moving, *xs) -> (outs, residuals)`, `bwd(residuals, cts) -> a cotangent or None for each x`;
    `moving` says which xs are differentiated."""

    fun: Flat
    fwd: Callable[..., Any]
    bwd: Callable[..., Sequence[Any]]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        moving = tuple(t is not None for t in tangents)
        outs, residuals = self.fwd(moving, *primals)
        avals = tuple(aval_of(x).strong() for x in outs)
        live = tuple(a.dtype in dt.INEXACT for a in avals)
        given = [t for t in tangents if t is not None]
        found = custom_linear(*residuals, *given, bwd=self.bwd, residuals=len(residuals), moving=moving, avals=avals, live=live)
        return list(outs), merge(live, found, [None] * live.count(False))

    def batch(self, axis: Axis, dims: Sequence[int | None]) -> "CustomVjp":
        def fwd(moving: Sequence[bool], *xs: Any) -> Any:
            count = 0

            def flat(*ys: Any) -> list[Any]:
                nonlocal count
                outs, residuals = self.fwd(moving, *ys)
                count = len(outs)
                return [*outs, *residuals]

            both = _batched(flat, dims, axis)(*xs)
            return both[:count], both[count:]

        def bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            n, live = len(residuals), ()

            def flat(*xs: Any) -> list[Any]:
                nonlocal live
                found = self.bwd(xs[:n], xs[n:])
                live = tuple(ct is not None for ct in found)
                return [ct for ct in found if ct is not None]

            found = _batched(flat, [0] * (n + len(cts)), axis)(*residuals, *cts)
            outs = merge(live, found, [None] * live.count(False))
            # What all examples share gets the sum of their cotangents.
            return [_unbatch(ct, d) for ct, d in zip(outs, dims, strict=True)]

        return CustomVjp(_batched(self.fun, dims, axis), fwd, bwd)


def _unbatch(ct: Any, dim: int | None) -> Any:
    if ct is None:
        return None
    return reduce_sum(ct, axes=(0,)) if dim is None else batch_at(ct, 0, 0, dim)


@dataclass(frozen=True, eq=False)
class CustomVmap:
    """`fun(*xs) -> outs`, and `rule(size, batched, *xs) -> (outs, batched)` with every batch axis at 0."""

    fun: Flat
    rule: Callable[..., Any]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        raise UsageError(
            message(
                "custom_vmap: the function was differentiated",
                "it has a rule for vmap only",
                "wrap it in custom_jvp or custom_vjp",
            )
        )


Rule = CustomJvp | CustomVjp | CustomVmap


def _run(*args: Any, rule: Rule, jaxpr: Jaxpr | None, consts: int) -> list[Any]:
    return list(rule.fun(*args)) if jaxpr is None else evaluate(current_apply, jaxpr, (), args)


def _stage(trace: Stage, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    if params["jaxpr"] is None:
        program, values = stage(params["rule"].fun, [aval_of(x) for x in args])
        args = (*values, *args)
        params = params | {"jaxpr": closed_over(program), "consts": len(values)}
    return trace.equation(custom_call, args, params)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, rule: Rule, jaxpr: Jaxpr | None, consts: int) -> Any:
    if any(t is not None for t in tangents[:consts]):
        raise UsageError(
            message(
                "custom derivative: the function closes over a value that is being differentiated",
                "the rule speaks of the arguments only",
                "pass the value as an argument",
            )
        )
    outs, t_outs = rule.jvp(primals[consts:], tangents[consts:])
    if jaxpr is not None:
        _check_same("the derivative rule", [aval_of(x) for x in outs], jaxpr.out_avals)
    return outs, t_outs


def _check_same(whose: str, found: Sequence[ShapedArray], own: Sequence[ShapedArray]) -> None:
    """A staged program has promised the function's own results: a rule must give the same."""
    if [(a.shape, a.dtype) for a in found] != [(a.shape, a.dtype) for a in own]:
        came = f"custom function: {whose} returned outputs of {_listed(found)}, the function itself {_listed(own)}"
        raise UsageError(message(came, "the same outputs from both", "mend the rule's first result, or the function"))


def _listed(avals: Sequence[ShapedArray]) -> str:
    return "(" + ", ".join([str(a) for a in avals]) + ")"


def _batch(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, rule: Rule, jaxpr: Jaxpr | None, consts: int) -> Any:
    if isinstance(rule, CustomVmap):
        moved = [x if d is None else batch_at(x, d, axis.size) for x, d in zip(args[consts:], dims[consts:], strict=True)]
        outs, batched = rule.rule(axis.size, [d is not None for d in dims[consts:]], *moved)
        if jaxpr is not None:
            lanes = [unmapped(aval_of(x)) if b else aval_of(x) for x, b in zip(outs, batched, strict=True)]
            _check_same("the batching rule", lanes, jaxpr.out_avals)
        return outs, [0 if b else None for b in batched]
    whole = rule if jaxpr is None else _with_consts(rule, jaxpr, consts)
    outs = custom_call(*args, rule=whole.batch(axis, dims), jaxpr=None, consts=0)
    return outs, [0] * len(outs)


def _with_consts(rule: CustomJvp | CustomVjp, jaxpr: Jaxpr, consts: int) -> CustomJvp | CustomVjp:
    """The rule of a staged call, as one whose leading arguments are the program's constants."""

    def fun(*xs: Any) -> list[Any]:
        return evaluate(current_apply, jaxpr, (), xs)

    if isinstance(rule, CustomJvp):
        return CustomJvp(fun, lambda primals, tangents: rule.rule(primals[consts:], tangents[consts:]))

    def fwd(moving: Sequence[bool], *xs: Any) -> Any:
        return rule.fwd(moving[consts:], *xs[consts:])

    return CustomVjp(fun, fwd, lambda res, cts: [None] * consts + list(rule.bwd(res, cts)))


custom_call = register(
    Operator(
        "custom_call",
        multiple_results=True,
        abstract=lambda *avals, rule, jaxpr, consts: jaxpr.out_avals,
        numpy=lambda *arrays, rule, jaxpr, consts: evaluate_numpy(jaxpr, (), arrays),
        run=_run,
        stage=_stage,
        jvp=_jvp,
        transpose="a function with a rule of its own is differentiated before it is transposed",
        **of_any_axis(_batch),
        loop=Call("jaxpr"),
        dtypes=dt.ANY,
        samples="it carries a user's function: tests/api/test_custom.py",
        doc="Runs a function that has a user-given derivative or batching rule.",
    )
)


def _forward_mode(*args: Any, **params: Any) -> Any:
    raise UsageError(
        message(
            "custom_vjp: forward mode (jvp, jacfwd, linearize's function) was asked of a function with a custom reverse rule",
            "reverse mode: grad, vjp, jacrev",
            "give the function a custom_jvp rule instead; it serves both modes",
        )
    )


def _linear_transpose(
    cts: Sequence[Any], *args: Any, bwd: Any, residuals: int, moving: tuple[bool, ...], avals: Any, live: tuple[bool, ...]
) -> list[Any]:
    given = merge(live, list(cts), [None] * live.count(False))
    full = [zeros(a) if ct is None and m else ct for ct, a, m in zip(given, avals, live, strict=True)]
    found = list(bwd(args[:residuals], [ct for ct, m in zip(full, live, strict=True) if m]))
    return [None] * residuals + [ct for ct, m in zip(found, moving, strict=True) if m]


custom_linear = register(
    Operator(
        "custom_linear",
        multiple_results=True,
        abstract=lambda *xs, bwd, residuals, moving, avals, live: [a for a, m in zip(avals, live, strict=True) if m],
        numpy=_forward_mode,
        run=_forward_mode,
        jvp="its derivative is the reverse rule's business",
        transpose=_linear_transpose,
        batch=_forward_mode,
        loop=Host(),
        dtypes=dt.ANY,
        samples="it carries a user's reverse rule: tests/api/test_custom.py",
        doc="The derivative of a function with a custom reverse rule: it can only be transposed.",
    )
)
