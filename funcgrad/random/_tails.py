"""Normal numbers between bounds that lie far out on one side.

There the error function is 1 to all digits, or to all but a few, so that numbers uniform between its values at the bounds have
nothing left to be told apart by. With Q(x) = exp(-x^2 / 2) erfcx(x / sqrt(2)) / 2, the probability of more than x, what is sought
is the x at which log(Q(x) / Q(a)) has a given value: that of Rayleigh's tail, sqrt(a^2 - 2 s), improved by Newton's method. From
there it converges from above, since log Q is concave.
"""

import math
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.numpy._axes import concrete
from funcgrad.numpy._promote import broadcast_value
from funcgrad.ops import elementwise as ew
from funcgrad.ops._family import full, like
from funcgrad.trace.value import Value, aval_of

# From here on the bounds are far out: inside, the numbers are JAX's.
_FAR = {dt.float64: 6.0, dt.float32: 4.0}
_FAR_NARROW = 2.0  # float16, bfloat16
_SOME_FAR = 8.0  # a bound that is far out, in place of those that are not
_STEPS = 3


def far_out(low: Any, high: Any, shape: tuple[int, ...]) -> Any:
    """Which bounds are: True where all are, False where none, otherwise (or where that is not known) a value of this shape."""
    far = _FAR.get(aval_of(low).dtype, _FAR_NARROW)
    if not isinstance(low, Value) and not isinstance(high, Value):
        return bool(low > far or high < -far)
    low, high = as_bound(low), as_bound(high)
    above, below = ew.gt(low, like(low, far)), ew.lt(high, like(high, -far))
    known = [concrete(x) for x in (above, below)]
    if known[0] is not None and known[1] is not None:
        out = np.logical_or(*known)
        if out.all() or not out.any():
            return bool(out.any())
    return ew.or_(broadcast_value(above, shape), broadcast_value(below, shape))


def as_bound(x: Any) -> Value:
    """A bound as a value."""
    return x if isinstance(x, Value) else full((), x)


def _decline(d: Any, a: Any, of_a: Any) -> Any:
    """log(Q(a + d) / Q(a)), given erfcx(a / sqrt(2))."""
    ratio = ew.div(_scaled_tail(ew.add(a, d)), of_a)
    return ew.sub(ew.log(ratio), ew.mul(ew.mul(d, like(d, 0.5)), ew.add(d, ew.mul(a, like(a, 2)))))


def _scaled_tail(x: Any) -> Any:
    return ew.erfcx(ew.mul(x, like(x, math.sqrt(0.5))))


def far_normal(unit: Value, low: Any, high: Any, where: Any = True) -> Any:
    """The normal number within (low, high) of each number that is uniform in [0, 1), where the bounds are far out; any number
    elsewhere."""
    low, high = [broadcast_value(as_bound(x), unit.shape) for x in (low, high)]
    if where is not True:
        low, high = [ew.select_n(where, like(x, at), x) for x, at in ((low, _SOME_FAR), (high, _SOME_FAR + 1))]
    left = ew.lt(high, like(high, 0))
    a, b = ew.select_n(left, low, ew.neg(high)), ew.select_n(left, high, ew.neg(low))
    of_a = _scaled_tail(a)
    s = ew.log1p(ew.mul(unit, ew.expm1(_decline(ew.sub(b, a), a, of_a))))
    d = ew.div(ew.mul(s, like(s, -2)), ew.add(a, ew.sqrt(ew.sub(ew.square(a), ew.mul(s, like(s, 2))))))
    for _ in range(_STEPS):
        slope = ew.mul(_scaled_tail(ew.add(a, d)), like(d, math.sqrt(math.pi / 2)))  # minus 1 over that of the decline
        d = ew.add(d, ew.mul(ew.sub(_decline(d, a, of_a), s), slope))
    x = ew.add(a, d)
    return ew.select_n(left, x, ew.neg(x))
