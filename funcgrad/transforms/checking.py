"""The operator `check`: an error from inside a program.

Operands: `failed`, a bool; then the values that the error's text shows. Nothing comes out; where `failed` is true, CheckError
is raised with the text that `site` makes of the values. Under vmap the operands get leading axes, and the text names the examples
that failed. Where a batched branch or loop runs lane by lane, the number of the lane comes as an operand (`tag_lanes`).
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import CheckError
from funcgrad.ir.effects import has_effects
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Var
from funcgrad.ir.loop_rules import Host
from funcgrad.ir.primitive import register
from funcgrad.ops._family import batch_at, move_dim
from funcgrad.trace.interpreter import Operator

SHOWN = 10  # failing examples that a text names


class Site(Protocol):
    """A check in the user's program."""

    def text(self, arrays: Sequence[np.ndarray]) -> str:
        """The error's text for these values."""
        ...


def failure(
    failed: Any, *values: Any, site: Site, levels: tuple[str, ...], axes: tuple[tuple[bool, ...], ...], tags: int
) -> str | None:
    """The text of the error, or None where all is well.

    `levels` are the batches that the check stands in, outermost first: "axis" (a leading axis of the operands) or "tag" (the
    number of the lane is one of the first `tags` values). `axes[i]` says which "axis" levels value i has; `failed` has all.
    """
    failed = np.asarray(failed)
    if not failed.any():
        return None
    places = np.argwhere(failed)

    def at(i: int, place: Any) -> np.ndarray:
        return np.asarray(values[i])[tuple([int(p) for p, has in zip(place, axes[i], strict=True) if has])]

    def example(place: Any) -> str:
        along, tagged = iter(place), iter(range(tags))
        numbers = [int(next(along)) if level == "axis" else int(at(next(tagged), place)) for level in levels]
        return str(numbers[0]) if len(numbers) == 1 else str(tuple(numbers))

    text = site.text([at(i, places[0]) for i in range(tags, len(values))])
    if not levels:
        return text
    if len(places) == 1:
        return f"{text}\n  It failed for example {example(places[0])}" + (f" of {failed.size}." if "tag" not in levels else ".")
    named = ", ".join([example(p) for p in places[:SHOWN]]) + (", ..." if len(places) > SHOWN else "")
    return f"{text}\n  It failed for {len(places)} of {failed.size} examples: {named}. The values are those of the first."


def _numpy(*arrays: Any, debug: bool, **params: Any) -> list[Any]:
    text = None if debug else failure(*arrays, **params)
    if text is not None:
        raise CheckError(text)
    return []


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    check(*primals, **params)
    return [], []


def _batch(
    size: int,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    levels: tuple[str, ...],
    axes: tuple[tuple[bool, ...], ...],
    **params: Any,
) -> Any:
    failed = batch_at(args[0], dims[0], size)
    moved = [x if d is None else move_dim(x, d, 0) for x, d in zip(args[1:], dims[1:], strict=True)]
    axes = tuple([(d is not None, *has) for d, has in zip(dims[1:], axes, strict=True)])
    check(failed, *moved, levels=("axis", *levels), axes=axes, **params)
    return [], []


check = register(
    Operator(
        "check",
        multiple_results=True,
        abstract=lambda *avals, **params: [],
        numpy=_numpy,
        jvp=_jvp,
        transpose=lambda cts, *args, **params: [None] * len(args),
        batch=_batch,
        loop=Host(),
        dtypes=dt.ANY,
        samples="it carries a text: tests/api/test_check.py",
        effectful=True,
        doc="Raises CheckError where its first operand is true.",
    )
)


# --- lanes -----------------------------------------------------------------------------------------------------------

_LANE: ShapedArray = shaped((), dt.int64)


def tag_lanes(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` with a new first input, the number of the lane (int64), which all checks within get to know."""
    lane = Var(_LANE)
    return Jaxpr((), [lane, *jaxpr.invars], [_tagged(eqn, lane) for eqn in jaxpr.eqns], jaxpr.outvars)


def _tagged(eqn: Eqn, lane: Var) -> Eqn:
    """The equation, with `lane` handed to the checks in it. The programs of each operator take new constants in a place of their
    own; what an operator is not known here keeps its checks without the number of the lane."""
    name, ins, params = eqn.primitive.name, eqn.inputs, eqn.params
    if name == "check":
        axes = ((False,) * params["levels"].count("axis"), *params["axes"])
        new = {"levels": ("tag", *params["levels"]), "axes": axes, "tags": params["tags"] + 1}
        return eqn._replace(inputs=(ins[0], lane, *ins[1:]), params=params | new)
    programs = [v for v in params.values() if isinstance(v, Jaxpr)] + list(params.get("branches", ()))
    if not any(map(has_effects, programs)):
        return eqn
    if name == "jit" or name == "checkpoint":
        return eqn._replace(inputs=(lane, *ins), params=params | {"jaxpr": tag_lanes(params["jaxpr"])})
    if name == "custom_call":
        new = {"jaxpr": tag_lanes(params["jaxpr"]), "consts": params["consts"] + 1}
        return eqn._replace(inputs=(lane, *ins), params=params | new)
    if name == "scan":
        new = {"body": tag_lanes(params["body"]), "consts": params["consts"] + 1}
        return eqn._replace(inputs=(lane, *ins), params=params | new)
    if name == "cond":
        new = {"branches": tuple(map(tag_lanes, params["branches"]))}
        return eqn._replace(inputs=(ins[0], lane, *ins[1:]), params=params | new)
    if name == "while":
        c, b = params["cond_consts"], params["body_consts"]
        new = {"cond": tag_lanes(params["cond"]), "body": tag_lanes(params["body"]), "cond_consts": c + 1, "body_consts": b + 1}
        return eqn._replace(inputs=(lane, *ins[:c], lane, *ins[c:]), params=params | new)
    return eqn
