"""Taylor mode: derivatives of higher order along a path, all at once.

In: a function, and for each operand x(s) = x0 + x1 s + x2 s^2 + ... its coefficients. Out: those of the results, to the same
order. None is a zero coefficient.

How an operator maps series is said by one of, in this order:
- `RULES`: a recurrence between the coefficients, for the smooth functions (Griewank and Walther, Evaluating Derivatives, ch. 13);
- `LOCALLY_LINEAR`: near x0 the operator is linear, so coefficient k of the result is its tangent for coefficient k;
- programs inside are walked through;
- anything else goes by its jvp rule one order lower: y(s) = f(x(s)) has y' = df(x) x', whose series is that of the jvp rule on
  the series of x and x'. That holds for every operator with a derivative (loops and branches too);
  its cost doubles with each order.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.primitive import Primitive
from funcgrad.ops._family import add, add_tangents, like, zeros_like
from funcgrad.ops.arithmetic import div, mul, neg, rsqrt, sqrt, square, sub
from funcgrad.ops.contract import dot_general
from funcgrad.ops.convolution import conv_general_dilated
from funcgrad.ops.exponential import acosh, asinh, atanh, cosh, exp, expm1, log, log1p, log2, log10, logistic, sinh, tanh
from funcgrad.ops.powers import cbrt, integer_pow, pow_
from funcgrad.ops.special import erf, erfc
from funcgrad.ops.trigonometric import acos, asin, atan, cos, sin, tan
from funcgrad.trace.interpreter import Interpreter, Tracer, current, running
from funcgrad.trace.value import Value, aval_of
from funcgrad.transforms.jvp import current_apply

# A series: the value, then the coefficients of s, s^2, ...; None is zero.
Series = list[Any]


class JetTracer(Tracer):
    """A value that travels with the coefficients of its series."""

    __slots__ = ("primal", "terms")

    def __init__(self, trace: "Jet", primal: Any, terms: Sequence[Any]):
        self.owner, self.primal, self.terms = trace, primal, list(terms)
        self.aval, self.source = aval_of(primal), None

    def concrete(self) -> Any:
        x = self.primal
        return x.concrete() if isinstance(x, Tracer) else x


class Jet(Interpreter):
    """Taylor mode: each value travels with the coefficients of its series, up to `order`."""

    __slots__ = ("order",)

    def __init__(self, parent: Interpreter, order: int):
        super().__init__(parent)
        self.order = order

    def apply(self, prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        series = [self.split(x) for x in args]
        moving = [any([t is not None for t in s[1:]]) for s in series]
        if not any(moving):
            with running(self.parent):  # type: ignore[arg-type]
                return self.parent.apply(prim, tuple([s[0] for s in series]), params)  # type: ignore[union-attr]
        if prim.name in PROGRAMS and params[PROGRAMS[prim.name]] is not None:
            return evaluate(current_apply, params[PROGRAMS[prim.name]], (), args)
        with running(self.parent):  # type: ignore[arg-type]
            if prim in RULES and not (prim is pow_ and isinstance(args[1], Value)):
                outs = [RULES[prim](*series, **params)]
            elif prim.name in LOCALLY_LINEAR and not (prim.name in REAL_ONLY and aval_of(series[0][0]).dtype in dt.COMPLEXES):
                outs = self.locally_linear(prim, series, params)
            else:
                outs = self.by_derivative(prim, series, moving, params)
        values = [s[0] if all([t is None for t in s[1:]]) else JetTracer(self, s[0], s[1:]) for s in outs]
        return values if prim.multiple_results else values[0]

    def split(self, x: Any) -> Series:
        """The series of a value."""
        return [x.primal, *x.terms] if x.__class__ is JetTracer and x.owner is self else [x] + [None] * self.order

    def derivative(self, prim: Primitive) -> Callable[..., Any]:
        """The jvp rule."""
        if not callable(prim.jvp):
            raise TypeError(f"jet: {prim.name} cannot be differentiated: {prim.jvp}")
        return prim.jvp

    def locally_linear(self, prim: Primitive, series: list[Series], params: dict[str, Any]) -> list[Series]:
        rule, primals, outs = self.derivative(prim), [s[0] for s in series], None
        for k in range(1, self.order + 1):
            tangents = [s[k] for s in series]
            if all([t is None for t in tangents]) and outs is not None:
                for s in outs:
                    s.append(None)
                continue
            out, t = rule(primals, tangents, **params)
            if not prim.multiple_results:
                out, t = [out], [t]
            outs = [[x] for x in out] if outs is None else outs
            for s, coefficient in zip(outs, t, strict=True):
                s.append(coefficient)
        assert outs is not None
        return outs

    def by_derivative(self, prim: Primitive, series: list[Series], moving: list[bool], params: dict[str, Any]) -> list[Series]:
        """y' = df(x) x', one order lower, and integrated."""
        rule = self.derivative(prim)
        lower = Jet(current(), self.order - 1)
        slopes = [
            [zeros_like(s[0]) if s[1] is None else s[1], *[scaled(t, k) for k, t in enumerate(s[2:], 2)]] if m else None
            for s, m in zip(series, moving, strict=True)
        ]
        if self.order == 1:
            out, t = rule([s[0] for s in series], [None if s is None else s[0] for s in slopes], **params)
        else:
            with running(lower):
                xs = [JetTracer(lower, s[0], s[1:-1]) if m else s[0] for s, m in zip(series, moving, strict=True)]
                out, t = rule(xs, [None if s is None else JetTracer(lower, s[0], s[1:]) for s in slopes], **params)
        lower.live = False
        outs, ts = (out, t) if prim.multiple_results else ([out], [t])
        found = []
        for x, slope in zip(outs, ts, strict=True):
            value = lower.split(x)[0]
            steps = [None] * self.order if slope is None else lower.split(slope)
            found.append([value, *[None if c is None else over(c, k) for k, c in enumerate(steps, 1)]])
        return found


def jet(fun: Callable[..., Sequence[Any]], series: Sequence[Series], order: int) -> list[Series]:
    """The series of the values of `fun` for operands with these series."""
    trace = Jet(current(), order)
    try:
        with running(trace):
            outs = fun(*[s[0] if all([t is None for t in s[1:]]) else JetTracer(trace, s[0], s[1:]) for s in series])
        return [trace.split(x) for x in outs]
    finally:
        trace.live = False


# --- arithmetic of series ---------------------------------------------------------------------------------------------


def scaled(x: Any, number: float) -> Any:
    """x times a number, in its dtype; None is zero."""
    return None if x is None else x if number == 1 else mul(x, like(x, number))


def over(x: Any, number: int) -> Any:
    return x if number == 1 else div(x, like(x, number))


def total(items: Sequence[Any]) -> Any:
    """The sum, where None is zero."""
    out = None
    for x in items:
        out = add_tangents(out, x)
    return out


def times(x: Any, y: Any) -> Any:
    return None if x is None or y is None else mul(x, y)


def minus(x: Any, y: Any) -> Any:
    """x - y, where None is zero."""
    return x if y is None else neg(y) if x is None else sub(x, y)


def order_of(x: Series) -> int:
    return len(x) - 1


def product(x: Series, y: Series, upto: int | None = None) -> Series:
    """The series of x y: c_k is the sum of x_i y_(k-i)."""
    n = order_of(x) if upto is None else upto
    return [total([times(x[i], y[k - i]) for i in range(k + 1)]) for k in range(n + 1)]


def quotient(x: Series, y: Series, first: Any = None) -> Series:
    """x / y: c_k y_0 is x_k less the sum of y_j c_(k-j)."""
    out = [div(x[0], y[0]) if first is None else first]
    for k in range(1, len(x)):
        rest = minus(x[k], total([times(y[j], out[k - j]) for j in range(1, k + 1)]))
        out.append(None if rest is None else div(rest, y[0]))
    return out


def shifted(x: Series, number: float, sign: int = 1) -> Series:
    """number + sign x."""
    y = x if sign > 0 else negative(x)
    return [add(y[0], like(y[0], number)), *y[1:]]


def negative(x: Series) -> Series:
    return [None if c is None else neg(c) for c in x]


def integral(first: Any, x: Series, slope: Callable[[int], Any]) -> Series:
    """y with y' = g x': k y_k is the sum of j x_j g_(k-j). `slope(i)` gives g_i when y is known up to order i."""
    out = [first]
    for k in range(1, len(x)):
        found = total([times(scaled(x[j], j), slope(k - j)) for j in range(1, k + 1) if x[j] is not None])
        out.append(None if found is None else over(found, k))
    return out


def by_slope(op: Any, slope: Callable[[Series], Series]) -> Callable[..., Series]:
    """y = op(x), where y' / x' is a known function of x."""

    def rule(x: Series) -> Series:
        g = slope(x)
        return integral(op(x[0]), x, lambda i: g[i])

    return rule


def by_itself(op: Any, slope: Callable[[Series, int], Any]) -> Callable[..., Series]:
    """y = op(x), where y' / x' is a function of y: `slope(y, i)` is its coefficient i, from y up to order i."""

    def rule(x: Series) -> Series:
        y, known = [op(x[0])], {}

        def g(i: int) -> Any:
            if i not in known:
                known[i] = slope(y, i)
            return known[i]

        for k in range(1, len(x)):
            found = total([times(scaled(x[j], j), g(k - j)) for j in range(1, k + 1) if x[j] is not None])
            y.append(None if found is None else over(found, k))
        return y

    return rule


def pair(first: Any, second: Any, sign: int, which: int) -> Callable[..., Series]:
    """sin and cos (sign -1), sinh and cosh (sign 1): u' = v x', v' = sign u x'."""

    def rule(x: Series) -> Series:
        u, v = [first(x[0])], [second(x[0])]
        for k in range(1, len(x)):
            steps = [(scaled(x[j], j), k - j) for j in range(1, k + 1) if x[j] is not None]
            du, dv = total([times(t, v[i]) for t, i in steps]), total([times(t, u[i]) for t, i in steps])
            u.append(None if du is None else over(du, k))
            v.append(None if dv is None else scaled(over(dv, k), sign))
        return (u, v)[which]

    return rule


def power(first: Any, x: Series, r: Any) -> Series:
    """x^r for a number r: k x_0 y_k is the sum of (r j - (k - j)) x_j y_(k-j)."""
    out = [first]
    for k in range(1, len(x)):
        found = total([scaled(times(x[j], out[k - j]), r * j - (k - j)) for j in range(1, k + 1)])
        out.append(None if found is None else div(found, scaled(x[0], k)))
    return out


def whole_power(x: Series, n: int) -> Series:
    """x^n by multiplications alone, so that it is exact at zero."""
    if n < 0:
        one: Series = [like(x[0], 1)] + [None] * order_of(x)
        return quotient(one, whole_power(x, -n))
    out, base = None, x
    while n:
        if n & 1:
            out = base if out is None else product(out, base)
        n >>= 1
        if n:
            base = product(base, base)
    return [like(x[0], 1)] + [None] * order_of(x) if out is None else out


def _integer_pow(x: Series, *, y: int) -> Series:
    return [integer_pow(x[0], y=y), *whole_power(x, y)[1:]]


def _pow(x: Series, y: Series) -> Series:
    (r, *_) = y
    if complex(r).imag == 0 and complex(r).real.is_integer() and abs(r) <= 64:
        return [pow_(x[0], r), *whole_power(x, int(complex(r).real))[1:]]
    return power(pow_(x[0], r), x, r)


def _log(x: Series) -> Series:
    """y_k x_0 is x_k less the sum of (j / k) y_j x_(k-j)."""
    return _logarithm(log(x[0]), x)


def _logarithm(first: Any, x: Series) -> Series:
    out = [first]
    for k in range(1, len(x)):
        past = total([times(scaled(out[j], j), x[k - j]) for j in range(1, k)])
        rest = minus(x[k], None if past is None else over(past, k))
        out.append(None if rest is None else div(rest, x[0]))
    return out


def _exp(x: Series, first: Any = None) -> Series:
    return by_itself(lambda v: exp(v) if first is None else first, lambda y, i: y[i])(x)


def _sqrt(x: Series) -> Series:
    """2 y_0 y_k is x_k less the sum of y_j y_(k-j), 0 < j < k."""
    out = [sqrt(x[0])]
    for k in range(1, len(x)):
        rest = minus(x[k], total([times(out[j], out[k - j]) for j in range(1, k)]))
        out.append(None if rest is None else div(rest, scaled(out[0], 2)))
    return out


def _rsqrt(x: Series) -> Series:
    return power(rsqrt(x[0]), x, -0.5)


def _square_term(y: Series, i: int) -> Any:
    """Coefficient i of y^2."""
    return total([times(y[j], y[i - j]) for j in range(i + 1)])


def _one_and(sign: int) -> Callable[[Series, int], Any]:
    """Coefficient i of 1 + sign y^2."""

    def slope(y: Series, i: int) -> Any:
        found = _square_term(y, i)
        found = found if sign > 0 or found is None else neg(found)
        return add(found, like(found, 1)) if i == 0 else found

    return slope


def _reciprocal(x: Series) -> Series:
    one: Series = [like(x[0], 1)] + [None] * order_of(x)
    return quotient(one, x)


def _square(x: Series) -> Series:
    return product(x, x)


def _gauss(factor: float) -> Callable[[Series], Series]:
    return lambda x: [scaled(c, factor) for c in _exp(negative(_square(x)))]


def _bilinear(op: Callable[..., Any]) -> Callable[..., Series]:
    """As a product, with matrix products or convolutions."""

    def rule(x: Series, y: Series, **params: Any) -> Series:
        def one(a: Any, b: Any) -> Any:
            return None if a is None or b is None else op(a, b, **params)

        return [total([one(x[i], y[k - i]) for i in range(k + 1)]) for k in range(len(x))]

    return rule


_SLOPE = 2 / math.sqrt(math.pi)
RULES: dict[Primitive, Callable[..., Series]] = {
    mul: product,
    square: lambda x: product(x, x),
    dot_general: _bilinear(dot_general),
    conv_general_dilated: _bilinear(conv_general_dilated),
    div: quotient,
    exp: _exp,
    expm1: lambda x: [expm1(x[0]), *_exp(x)[1:]],
    log: _log,
    log1p: lambda x: _logarithm(log1p(x[0]), shifted(x, 1)),
    log2: lambda x: [log2(x[0]), *[scaled(c, 1 / math.log(2)) for c in _log(x)[1:]]],
    log10: lambda x: [log10(x[0]), *[scaled(c, 1 / math.log(10)) for c in _log(x)[1:]]],
    sqrt: _sqrt,
    rsqrt: _rsqrt,
    cbrt: lambda x: power(cbrt(x[0]), x, 1 / 3),
    integer_pow: _integer_pow,
    pow_: _pow,
    sin: pair(sin, cos, -1, 0),
    # cos' = -sin: the pair (cos, -sin) moves as (sin, cos) does.
    cos: pair(cos, lambda x: neg(sin(x)), -1, 0),
    sinh: pair(sinh, cosh, 1, 0),
    cosh: pair(cosh, sinh, 1, 0),
    tanh: by_itself(tanh, _one_and(-1)),
    tan: by_itself(tan, _one_and(1)),
    logistic: by_itself(logistic, lambda y, i: minus(y[i], _square_term(y, i))),
    atan: by_slope(atan, lambda x: _reciprocal(shifted(_square(x), 1))),
    asin: by_slope(asin, lambda x: _rsqrt(shifted(_square(x), 1, -1))),
    acos: by_slope(acos, lambda x: negative(_rsqrt(shifted(_square(x), 1, -1)))),
    asinh: by_slope(asinh, lambda x: _rsqrt(shifted(_square(x), 1))),
    acosh: by_slope(acosh, lambda x: product(_rsqrt(shifted(x, -1)), _rsqrt(shifted(x, 1)))),
    atanh: by_slope(atanh, lambda x: _reciprocal(shifted(_square(x), 1, -1))),
    erf: by_slope(erf, _gauss(_SLOPE)),
    erfc: by_slope(erfc, _gauss(-_SLOPE)),
}  # fmt: skip

# Linear in what moves (or, of real operands, near any point but a few).
REAL_ONLY = frozenset({"abs", "max", "min", "sign"})
LOCALLY_LINEAR = REAL_ONLY | frozenset(
    (
        "add sub neg real imag conj complex convert_element_type copy reduce_precision select_n clamp "
        "reduce_sum reduce_max reduce_min cumsum cummax cummin sort top_k "
        "reshape transpose broadcast_in_dim squeeze expand_dims slice rev pad concatenate gather "
        "dynamic_slice dynamic_update_slice scatter scatter_add barrier name "
        "psum all_gather ppermute all_to_all psum_scatter"
    ).split()
)
# Operators whose program is walked through, and the param that holds it.
PROGRAMS = {"jit": "jaxpr", "checkpoint": "jaxpr"}
