"""The call of a program inside a program: the operator `jit`.

It lives above the other operators because each of its rules is a transform of the Jaxpr it carries. Transformed programs are
remembered with the program they came from, so that `grad(jit(f))` traces and compiles its parts once.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray
from funcgrad.ir.effects import needed
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.ir.jaxpr import Jaxpr, closed_over
from funcgrad.ir.loop_rules import Call
from funcgrad.ir.primitive import LinearArg, register
from funcgrad.ops._family import zeros
from funcgrad.trace.interpreter import Operator, running
from funcgrad.trace.stage import Record, stage
from funcgrad.transforms.jvp import jvp_jaxpr, remembered
from funcgrad.transforms.partial import merge, split_jaxpr
from funcgrad.transforms.transpose import backward
from funcgrad.transforms.vmap import Axis, of_any_axis, vmap_jaxpr


def _abstract(*avals: ShapedArray, jaxpr: Jaxpr, name: str) -> list[ShapedArray]:
    return jaxpr.out_avals


def _numpy(*arrays: Any, jaxpr: Jaxpr, name: str) -> list[Any]:
    return evaluate_numpy(jaxpr, (), arrays)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Jaxpr, name: str) -> Any:
    moving = tuple(t is not None for t in tangents)
    program, consts, moving_out = jvp_jaxpr(jaxpr, moving)
    outs = jit(*consts, *primals, *[t for t in tangents if t is not None], jaxpr=program, name=name)
    count = len(moving_out)
    return outs[:count], merge(moving_out, outs[count:], [None] * count)


def _batch(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, jaxpr: Jaxpr, name: str) -> Any:
    program, consts, dims_out = vmap_jaxpr(jaxpr, axis, tuple(dims))
    return jit(*consts, *args, jaxpr=program, name=name), dims_out


def _partial_eval(record: Record, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    """Run the head now, record a call of the tail."""
    jaxpr, name = params["jaxpr"], params["name"]
    unknown = tuple(not record.knows(x) for x in args)
    split = split_jaxpr(jaxpr, unknown)
    known_args = [x for x, u in zip(args, unknown, strict=True) if not u]
    with running(record.parent):  # type: ignore[arg-type]
        outs = jit(*split.consts, *known_args, jaxpr=split.head, name=name) if needed(split.head) else []
    known_count = split.unknown_out.count(False)
    computed = iter(outs[known_count:])
    residuals = [next(computed) if i is None else known_args[i] for i in split.residuals]
    unknown_args = [x for x, u in zip(args, unknown, strict=True) if u]
    tail = {"jaxpr": split.tail, "name": name}
    tail_outs = record.record(jit, (*residuals, *unknown_args), tail) if needed(split.tail) else []
    return merge(split.unknown_out, tail_outs, outs[:known_count])


@remembered
def transpose_jaxpr(
    jaxpr: Jaxpr, linear: tuple[bool, ...], live: tuple[bool, ...], forced: tuple[bool, ...] = ()
) -> tuple[Jaxpr, list[Any], tuple[bool, ...]]:
    """The transpose of a program, the constants that are its leading inputs, and which cotangents are not zero.

    A cotangent that is `forced` is given, of zeros if need be.
    Inputs: constants, inputs that are not `linear`, cotangents that are `live`. Outputs: cotangents of the linear inputs."""
    known = linear.count(False)
    found: tuple[bool, ...] = ()

    def fun(*xs: Any) -> list[Any]:
        nonlocal found
        args = merge(
            linear, [LinearArg(v.aval) for v, is_linear in zip(jaxpr.invars, linear, strict=True) if is_linear], list(xs[:known])
        )
        cts = merge(live, list(xs[known:]), [None] * live.count(False))
        outs = backward(jaxpr, (), args, cts)
        avals = [v.aval.strong() for v, is_linear in zip(jaxpr.invars, linear, strict=True) if is_linear]
        outs = [zeros(a) if ct is None and f else ct for ct, a, f in itertools.zip_longest(outs, avals, forced)]
        found = tuple(ct is not None for ct in outs)
        return [ct for ct in outs if ct is not None]

    avals = [v.aval for v, is_linear in zip(jaxpr.invars, linear, strict=True) if not is_linear]
    avals += [v.aval.strong() for v, is_live in zip(jaxpr.outvars, live, strict=True) if is_live]
    program, consts = stage(fun, avals)
    return closed_over(program), consts, found


def _transpose(cts: Sequence[Any], *args: Any, jaxpr: Jaxpr, name: str) -> list[Any]:
    linear = tuple(isinstance(x, LinearArg) for x in args)
    live = tuple(ct is not None for ct in cts)
    program, consts, found = transpose_jaxpr(jaxpr, linear, live)
    known = [x for x, is_linear in zip(args, linear, strict=True) if not is_linear]
    outs = iter(jit(*consts, *known, *[ct for ct in cts if ct is not None], jaxpr=program, name=name) if any(found) else [])
    of_linear = iter([next(outs) if f else None for f in found])
    return [next(of_linear) if is_linear else None for is_linear in linear]


jit = register(
    Operator(
        "jit",
        multiple_results=True,
        abstract=_abstract,
        numpy=_numpy,
        jvp=_jvp,
        transpose=_transpose,
        **of_any_axis(_batch),
        partial_eval=_partial_eval,
        loop=Call("jaxpr"),
        dtypes=dt.ANY,
        samples="it carries a program: tests/transforms/test_call.py",
        doc="Runs the program `jaxpr` on its operands: what a jitted function is when it is traced.",
    )
)
