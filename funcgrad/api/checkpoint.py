"""checkpoint (remat): less memory in reverse mode for more arithmetic, and the policies that say what to keep."""

from collections.abc import Callable
from typing import Any

from funcgrad.api.autodiff import name_like
from funcgrad.bridge.flat import FlatFunction, as_value, as_values, check_callable, normalise_argnums
from funcgrad.core.arguments import among
from funcgrad.core.errors import UsageError, message
from funcgrad.core.pytree import tree_flatten, tree_map, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.ir.jaxpr import closed_over
from funcgrad.trace.stage import stage
from funcgrad.transforms.remat import checkpoint as checkpoint_op
from funcgrad.transforms.remat import name as name_op


def checkpoint_name(x: Any, name: str) -> Any:
    """`x` (a pytree), its arrays under a name that `checkpoint_policies.save_only_these_names` and its kin know."""
    return tree_map(lambda leaf: name_op(as_value(leaf), name=name), x)


def _chosen(names: tuple) -> frozenset[str]:
    for name in names:
        if not isinstance(name, str):
            came = f"checkpoint_policies: got {name!r} for a name"
            raise UsageError(message(came, "strings, as given to checkpoint_name", 'save_only_these_names("a", "b")'))
    return frozenset(names)


class _Policies:
    """What a checkpointed function keeps for its backward pass: functions of an equation's operator, avals and params.

    >>> f = fg.checkpoint(lambda w, x: fnp.tanh(x @ w).sum(), policy=fg.checkpoint_policies.dots_saveable)
    >>> fg.grad(f)(fnp.zeros((2, 1)), fnp.ones((3, 2)))  # the product is kept, tanh is computed again
    Array([[3.],
           [3.]], dtype=float32)
    """

    @staticmethod
    def everything_saveable(*_: Any, **__: Any) -> bool:
        """Keep every intermediate value."""
        return True

    @staticmethod
    def nothing_saveable(*_: Any, **__: Any) -> bool:
        """Keep the inputs only (as policy=None)."""
        return False

    @staticmethod
    def dots_saveable(prim: Any, *_: Any, **__: Any) -> bool:
        """Keep the results of matrix products."""
        return prim.name in ("dot_general", "conv_general_dilated")

    checkpoint_dots = dots_saveable

    @staticmethod
    def dots_with_no_batch_dims_saveable(prim: Any, *_: Any, **params: Any) -> bool:
        """Keep the results of matrix products without batch axes: those with weights."""
        return prim.name == "dot_general" and not params["dimension_numbers"][1][0]

    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable

    @staticmethod
    def save_only_these_names(*names: str) -> Callable[..., bool]:
        """Keep what `checkpoint_name` gave one of these names."""
        chosen = _chosen(names)
        return lambda prim, *_, **params: prim.name == "name" and params["name"] in chosen

    @staticmethod
    def save_any_names_but_these(*names: str) -> Callable[..., bool]:
        """Keep what has a name, except these."""
        chosen = _chosen(names)
        return lambda prim, *_, **params: prim.name == "name" and params["name"] not in chosen

    @staticmethod
    def save_anything_except_these_names(*names: str) -> Callable[..., bool]:
        """Keep everything except what has one of these names."""
        chosen = _chosen(names)
        return lambda prim, *_, **params: not (prim.name == "name" and params["name"] in chosen)

    @staticmethod
    def save_from_both_policies(first: Callable[..., bool], second: Callable[..., bool]) -> Callable[..., bool]:
        """Keep what either policy keeps."""
        return lambda prim, *avals, **params: first(prim, *avals, **params) or second(prim, *avals, **params)


checkpoint_policies = _Policies()


def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool = True,
    policy: Callable[..., bool] | None = None,
    static_argnums: Any = (),
    static_argnames: Any = (),
    concrete: Any = None,
) -> Callable[..., Any]:
    """`fun`, whose intermediate values reverse mode computes again instead of keeping (rematerialisation).

    policy: what to keep all the same, from `checkpoint_policies` or of one's own; None keeps the inputs only. prevent_cse: keep
    a compiler from merging the second computation with the first. static_argnums, static_argnames: arguments passed as they are.
    concrete: no longer supported, as in JAX.

    >>> f = fg.checkpoint(lambda x: fnp.sin(fnp.sin(x)))
    >>> fg.grad(f)(np.array(1.0)), np.cos(np.sin(1.0)) * np.cos(1.0)
    (Array(0.36003949, dtype=float64), np.float64(0.36003948908962097))
    """
    check_callable("checkpoint", fun)
    if concrete is not None:
        raise UsageError(message("checkpoint: got concrete=", "nothing: the option is gone", "use static_argnums="))
    if policy is not None and not callable(policy):
        allowed = "None, a policy of fg.checkpoint_policies, or a function of an operator, avals and params that returns a bool"
        raise UsageError(message(f"checkpoint: got policy={policy!r}", allowed, "policy=fg.checkpoint_policies.dots_saveable"))
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)

    @api_boundary
    def rematted(*args: Any, **kwargs: Any) -> Any:
        statics = normalise_argnums("checkpoint", static_argnums, len(args)) if not among(static_argnums, ((),)) else ()
        kept = {k: v for k, v in kwargs.items() if k in names}
        dynamic = ([a for i, a in enumerate(args) if i not in statics], {k: v for k, v in kwargs.items() if k not in names})

        def call(both: Any) -> Any:
            given = iter(both[0])
            return fun(*[args[i] if i in statics else next(given) for i in range(len(args))], **both[1], **kept)

        leaves, in_tree = tree_flatten(dynamic)
        values = as_values("checkpoint", leaves, dynamic)
        flat = FlatFunction("checkpoint", fun, in_tree, call)
        jaxpr, consts = stage(flat, [x.aval for x in values])
        outs = checkpoint_op(*consts, *values, jaxpr=closed_over(jaxpr), policy=policy, prevent_cse=prevent_cse)
        return tree_unflatten(flat.out_tree, outs)

    return name_like(rematted, fun, "checkpoint")


remat = checkpoint
