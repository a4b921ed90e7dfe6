"""Scans whose steps run in groups: unrolled, with carries kept only between groups, or with a bar that moves after each.

In: a body as a program and its operands (a `Steps`). Out: the last carry and the stacked results, as one scan over all steps
gives them. Each way is a function `Steps -> results`; the ways nest.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.bridge.array import from_numpy
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import UsageError, message
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import Jaxpr, closed_over
from funcgrad.lax.progress import Bar
from funcgrad.trace.stage import stage
from funcgrad.transforms.callback import debug_callback
from funcgrad.transforms.jvp import current_apply
from funcgrad.transforms.remat import checkpoint as checkpoint_op
from funcgrad.transforms.scan import scan as scan_op
from funcgrad.transforms.scan import unmapped

REPORTS = 100  # of a progress bar, about


class Steps(NamedTuple):
    """`body` over (consts, carry, x), from `init`, for each of the `length` rows of `xs`; from the end with `reverse`."""

    body: Jaxpr
    consts: list[Any]
    init: list[Any]
    xs: list[Any]
    length: int
    reverse: bool


Way = Callable[[Steps], list[Any]]


def one_by_one(s: Steps) -> list[Any]:
    """One scan."""
    return scan_op(
        *s.consts, *s.init, *s.xs,
        body=s.body, consts=len(s.consts), carry=len(s.init), length=s.length, reverse=s.reverse,
    )  # fmt: skip


def _written_out(s: Steps) -> list[Any]:
    """The steps as a sequence, without a loop."""
    k, carry = len(s.init), s.init
    found: list[list[Any]] = [[] for _ in s.body.outvars[k:]]
    for i in range(s.length - 1, -1, -1) if s.reverse else range(s.length):
        outs = evaluate(current_apply, s.body, (), [*s.consts, *carry, *[r[i] for r in s.xs]])
        carry = outs[:k]
        for ys, y in zip(found, outs[k:], strict=True):
            ys.append(y)
    return [*carry, *[fnp.stack(ys[::-1] if s.reverse else ys) for ys in found]]


def _in_groups(s: Steps, size: int, group: Way, rest: Way) -> list[Any]:
    """A scan over groups of `size` steps, each of which runs by `group`; what is left over runs by `rest` at the end."""
    if not s.length:
        return one_by_one(s)
    n, k, m = s.length, len(s.init), s.length // size * size
    # Whole groups first, in the order of the walk: from the end for a reversed loop.
    head = [x[n - m :] if s.reverse else x[:m] for x in s.xs]
    left = [x[: n - m] if s.reverse else x[m:] for x in s.xs]
    rows = [fnp.reshape(x, (m // size, size, *x.shape[1:])) for x in head]
    count = len(s.consts)

    def body(*args: Any) -> list[Any]:
        consts, carry, xs = list(args[:count]), list(args[count : count + k]), list(args[count + k :])
        return group(Steps(s.body, consts, carry, xs, size, s.reverse))

    program, more = stage(body, [x.aval for x in (*s.consts, *s.init)] + [unmapped(x.aval) for x in rows])
    outs = one_by_one(Steps(closed_over(program), [*more, *s.consts], s.init, rows, m // size, s.reverse))
    carry, ys = outs[:k], [fnp.reshape(y, (m, *y.shape[2:])) for y in outs[k:]]
    if m == n:
        return [*carry, *ys]
    outs = rest(Steps(s.body, s.consts, carry, left, n - m, s.reverse))
    pairs = zip(ys, outs[k:], strict=True)
    return [*outs[:k], *[fnp.concatenate([b, a] if s.reverse else [a, b]) for a, b in pairs]]


def unrolled(steps: int) -> Way:
    """`steps` steps in one turn of the loop."""
    return one_by_one if steps == 1 else lambda s: _in_groups(s, steps, _written_out, one_by_one)


def checkpointed(every: Any, way: Way) -> Way:
    """Reverse mode keeps the carry only before each group of `every` steps ("sqrt": of about the root of their number), and
    computes what is in between again."""
    if every is None or every is False:
        return way
    if not among(every, ("sqrt",)) and (not isinstance(every, int) or every is True or every < 1):
        raise UsageError(
            message(f"scan: got checkpoint={every!r}", "a positive number of steps, or 'sqrt'", "scan(..., checkpoint='sqrt')")
        )

    def again(s: Steps) -> list[Any]:
        run = lambda *args: way(_taken_apart(s, args))
        program, more = stage(run, [x.aval for x in (*s.consts, *s.init, *s.xs)])
        operands = (*more, *s.consts, *s.init, *s.xs)
        return checkpoint_op(*operands, jaxpr=closed_over(program), policy=None, prevent_cse=False)

    return lambda s: _in_groups(
        s, max(1, math.isqrt(s.length)) if every == "sqrt" else min(every, max(s.length, 1)), again, again
    )


def _taken_apart(s: Steps, args: tuple[Any, ...]) -> Steps:
    c, k = len(s.consts), len(s.init)
    return s._replace(consts=list(args[:c]), init=list(args[c : c + k]), xs=list(args[c + k :]))


def reported(progress: Any, way: Way) -> Way:
    """A bar on stderr, once for some hundredth of the steps; `progress` may be its label."""
    if not flag(progress, "lax.scan", "progress"):
        return way
    if not isinstance(progress, (bool, str)):
        raise UsageError(message(f"scan: got progress={progress!r}", "True, or a label for the bar", "scan(..., progress=True)"))

    def run(s: Steps) -> list[Any]:
        size = max(1, s.length // REPORTS)
        bar = Bar(progress if isinstance(progress, str) else "scan", s.length)
        # The index of the step comes along as one more x, so that the bar knows where the loop is.
        place = from_numpy(np.arange(s.length)[:: -1 if s.reverse else 1].copy())
        c, k = len(s.consts), len(s.init)

        def body(*args: Any) -> list[Any]:
            return evaluate(current_apply, s.body, (), args[:-1])

        program, _ = stage(body, [*s.body.in_avals, unmapped(place.aval)])
        assert len(program.invars) == c + k + len(s.xs) + 1

        def group(inner: Steps) -> list[Any]:
            outs = way(Steps(s.body, inner.consts, inner.init, inner.xs[:-1], inner.length, s.reverse))
            last = inner.xs[-1][0 if s.reverse else inner.length - 1]
            debug_callback(last, fun=bar.moved, results=(), name="progress")
            return outs

        return _in_groups(s._replace(body=program, xs=[*s.xs, place]), size, group, group)

    return run
