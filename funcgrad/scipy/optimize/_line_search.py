"""A step along a direction of descent that satisfies the strong Wolfe conditions, as one loop that evaluates once a turn.

Nocedal & Wright, "Numerical Optimization", 2nd ed., 2006, algorithms 3.5 (bracketing) and 3.6 (zoom), written as one rule: an
interval from the best point so far to a point beyond a minimum, which lies at infinity until one is found. Close to a minimum
differences of the function are rounding errors, but slopes still have digits: there the difference is taken from the slopes at
both ends, which makes the condition of decrease the approximate one of Hager and Zhang (SIAM J. Optim. 16(1), 2005, eq. 4.1).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.core import dtypes as dt
from funcgrad.ir.primitive import LinearArg
from funcgrad.lax.control import while_loop
from funcgrad.ops._family import zeros_like
from funcgrad.trace.value import aval_of
from funcgrad.transforms.linearize import linearize
from funcgrad.transforms.transpose import backward

__all__ = ["line_search", "value_and_gradient"]

ENOUGH, FLAT = 1e-4, 0.9  # the constants c1 and c2 of the Wolfe conditions
TRUST = 2 / 3  # a difference counts from eps to this power of the value on: a sum or a solve loses some hundred times eps

Evaluate = Callable[[Any], tuple[Any, Any]]


def value_and_gradient(fun: Callable[[Any], Any]) -> Evaluate:
    """The value and the gradient of a function from a vector to a scalar of its dtype."""

    def evaluate(x: Any) -> tuple[Any, Any]:
        line = linearize(lambda x: [fun(x)], [x])
        if not line.moving_out[0]:
            return line.outs[0], zeros_like(x)
        one = aval_of(line.outs[0]).dtype.type(1)
        (ct,) = backward(line.jaxpr, line.residuals, [LinearArg(v.aval) for v in line.jaxpr.invars], [one])
        return line.outs[0], zeros_like(x) if ct is None else ct

    return evaluate


class Point(NamedTuple):
    """A step length, how far the value there is above that at 0, and the slope there."""

    step: Any
    rise: Any
    slope: Any


class Search(NamedTuple):
    """The best point so far, the value and gradient there, the other end of the interval, the next step, and the count."""

    low: Point
    value: Any
    gradient: Any
    high: Point
    next: Any
    count: Any
    done: Any


def _between(low: Point, high: Point) -> Any:
    """The minimum of the cubic with these values and slopes (Nocedal & Wright, 3.59), or the middle where that is at an end."""
    width = high.step - low.step
    a = low.slope + high.slope - 3 * (high.rise - low.rise) / width
    inside = a * a - low.slope * high.slope
    root = fnp.sign(width) * fnp.sqrt(fnp.where(inside > 0, inside, 0))
    found = high.step - width * (high.slope + root - a) / (high.slope - low.slope + 2 * root)
    part = (found - low.step) / width
    return fnp.where((inside > 0) & (part > 0.1) & (part < 0.9), found, low.step + width / 2)  # NaN takes the middle


def line_search(
    evaluate: Evaluate, x: Any, value: Any, gradient: Any, direction: Any, slope: Any, first: Any, limit: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """From x along a direction whose slope is negative: (step, rise, value and gradient there, evaluations).

    first: the first step to try; limit: the number of evaluations. Where no step satisfies the conditions it is the best one that
    goes down enough; 0 where there is none."""
    d = x.dtype.type
    eps = float(dt.finfo(x.dtype).eps)
    noise = d(eps**TRUST) * fnp.abs(value)
    tiny = d(eps**0.5) * fnp.linalg.norm(x) / fnp.linalg.norm(direction)  # steps whose squares vanish beside those of x

    def turn(s: Search) -> Search:
        f, g = evaluate(x + s.next * direction)
        end = fnp.sum(g * direction)
        # Written so that NaN is no progress.
        blurred = ((fnp.abs(f - value) <= noise) & (-s.next * slope <= noise)) | ((s.next <= tiny) & fnp.isfinite(f))
        here = Point(s.next, fnp.where(blurred, s.next * (slope + end) / 2, f - value), end)
        better = (here.rise <= d(ENOUGH) * s.next * slope) & (here.rise < s.low.rise)
        done = better & (fnp.abs(end) <= -d(FLAT) * slope)
        past = fnp.where(s.high.step > s.low.step, end >= 0, end <= 0)
        choose = lambda condition, a, b: Point(*[fnp.where(condition, u, v) for u, v in zip(a, b, strict=True)])
        low = choose(better, here, s.low)
        high = choose(better, choose(past, s.low, s.high), here)
        after = fnp.where(fnp.isinf(high.step), 2 * s.next, _between(low, high))
        return Search(low, fnp.where(better, f, s.value), fnp.where(better, g, s.gradient), high, after, s.count + 1, done)

    zero, far = fnp.zeros_like(value), fnp.full_like(value, np.inf)
    start = Search(Point(zero, zero, slope), value, gradient, Point(far, zero, zero), first, np.int32(0), np.False_)
    end = while_loop(lambda s: ~s.done & (s.count < limit), turn, start)
    return end.low.step, end.low.rise, end.value, end.gradient, end.count
