"""The gamma function, the incomplete gamma functions, and their derivatives by the parameter.

With t = x e^(-w) the integral from 0 to x of t^(a-1) e^(-t) becomes x^a e^(-x) times that of exp(-(a w - x (1 - e^(-w)))) over
w > 0, and the one from x on likewise; w = c exp(u - exp(-u)) makes the trapezoidal rule converge exponentially
(Takahasi and Mori, "Double exponential formulas for numerical integration", 1974). x^a e^(-x) / Gamma(a) is taken as its
largest value (Stirling's formula) times exp of what x is away from it. core/gamma_integrals.py has the same over arrays.
"""

from funcgrad.codegen.math_exp import exp_f64, expm1_f64, log1p_f64, log_f64
from funcgrad.codegen.math_lgamma import digamma_f64, lgamma_f64, lgamma_near_f64
from funcgrad.codegen.math_special import erfc_f64, exp_pair_f64, pow_f64
from funcgrad.codegen.math_trig import sin_f64
from funcgrad.codegen.math_zeta import polygamma_f64
from funcgrad.codegen.words import copysign, f32, f64, fabs, fdiv, floor, fma, inf, is_nan, nan, rint, select, sqrt

SIGNATURES = {"gamma_ratio_f32": (("f32", "f32", "f64"), "f32")}


def log1p_less_f64(x):
    """log(1 + x) - x for x > -1, 4 ulp: by 2 atanh(s) with s = x / (2 + x) near 0."""
    near = fabs(x) < f64(0.4)
    y = select(near, x, f64(0.0))
    s = fdiv(y, y + f64(2.0))
    z = s * s
    p = fma(z, f64(0.034482758620689655), f64(0.037037037037037035))
    p = fma(z, p, f64(0.04))
    p = fma(z, p, f64(0.043478260869565216))
    p = fma(z, p, f64(0.047619047619047616))
    p = fma(z, p, f64(0.05263157894736842))
    p = fma(z, p, f64(0.058823529411764705))
    p = fma(z, p, f64(0.06666666666666667))
    p = fma(z, p, f64(0.07692307692307693))
    p = fma(z, p, f64(0.09090909090909091))
    p = fma(z, p, f64(0.1111111111111111))
    p = fma(z, p, f64(0.14285714285714285))
    p = fma(z, p, f64(0.2))
    p = fma(z, p, f64(0.3333333333333333))
    return select(near, s * fma(f64(2.0) * z, p, -y), log1p_f64(x) - x)


def stirling_f64(a):
    """log Gamma(a) - (a - 1/2) log a + a - log(2 pi) / 2 for a > 0, within 4 units of 2^-53 (DLMF 5.11.1)."""
    far = a >= f64(10.0)
    b = select(far, a, f64(10.0))
    r = fdiv(f64(1.0), b)
    z = r * r
    p = fma(z, f64(0.00641025641025641), f64(-0.0019175269175269176))
    p = fma(z, p, f64(0.0008417508417508417))
    p = fma(z, p, f64(-0.0005952380952380953))
    p = fma(z, p, f64(0.0007936507936507937))
    p = fma(z, p, f64(-0.002777777777777778))
    p = fma(z, p, f64(0.08333333333333333))
    c = select(far, f64(1.0), a)
    near = lgamma_f64(c) - fma(c - f64(0.5), log_f64(c), -c) - f64(0.9189385332046727)
    return select(far, r * p, near)


def gamma_f64(x):
    """Gamma(x), 10 ulp: Stirling's formula past 12, the recurrence and the reflection."""
    far = x < f64(0.5)
    a = select(far, f64(1.0) - x, x)
    product = f64(1.0)
    while a < f64(12.0):
        product = product * a
        a = a + f64(1.0)
    b = select(a > f64(172.0), f64(172.0), a)
    root = pow_f64(b, f64(0.5) * b)
    value = root * (fdiv(exp_pair_f64(-b, stirling_f64(b)), sqrt(b)) * f64(2.5066282746310002)) * root
    value = select(a > f64(171.7), f64(inf), fdiv(value, product))
    half = x - f64(2.0) * rint(f64(0.5) * x)
    half = select(half > f64(0.5), f64(1.0) - half, select(half < f64(-0.5), f64(-1.0) - half, half))
    mirrored = fdiv(f64(3.141592653589793), sin_f64(f64(3.141592653589793) * half) * value)
    out = select(far, mirrored, value)
    out = select((x < f64(0.0)) & (floor(x) == x), f64(nan), out)
    return select(x == f64(0.0), copysign(f64(inf), x), out)


def gamma_f32(x):
    """Gamma(x), 1 ulp, in float64."""
    return f32(gamma_f64(f64(x)))


def gamma_scale_f64(a, x):
    """x^a exp(-x) / Gamma(a) for a, x > 0."""
    ratio = fdiv(x - a, a)
    close = fabs(ratio) < f64(0.4)
    power = select(close, log1p_less_f64(select(close, ratio, f64(0.0))), log_f64(fdiv(x, a)) - ratio)
    large = sqrt(a) * f64(0.3989422804014327) * exp_f64(fma(a, power, -stirling_f64(a)))
    small = exp_f64(fma(a, log_f64(x), -x) - lgamma_f64(a))
    return select(a > f64(10.0), large, small)


def gamma_below_f64(a, x):
    """The integral of exp(-(a w - x (1 - e^-w))) over w > 0, for a >= 1."""
    slope = a - x
    c = fdiv(f64(2.0), slope + sqrt(fma(slope, slope, f64(2.0) * x)))
    v = f64(42.52108200006278)
    total = f64(0.0)
    drop = f64(0.0)
    k = f64(0.0)
    while (drop < f64(40.0)) & (k < f64(121.0)):
        place = fdiv(exp_f64(-v), v)
        w = c * place
        drop = fma(a, w, x * expm1_f64(-w))
        total = total + place * (f64(1.0) + v) * exp_f64(-drop)
        v = v * f64(0.9394130628134758)
        k = k + f64(1.0)
    return total * c * f64(0.0625)


def gamma_above_f64(a, x):
    """The integral of exp(-(x (e^w - 1) - a w)) over w > 0, for x > a or x >= 1.5."""
    slope = fabs(x - a)
    c = fdiv(f64(2.0), slope + sqrt(fma(slope, slope, f64(2.0) * x)))
    v = f64(42.52108200006278)
    total = f64(0.0)
    drop = f64(0.0)
    k = f64(0.0)
    while (drop < f64(40.0)) & (k < f64(121.0)):
        place = fdiv(exp_f64(-v), v)
        s = c * place
        w = log1p_f64(s)
        drop = fma(x, s, -a * w)
        total = total + fdiv(place * (f64(1.0) + v), f64(1.0) + s) * exp_f64(-drop)
        v = v * f64(0.9394130628134758)
        k = k + f64(1.0)
    return total * c * f64(0.0625)


def gamma_series_f64(a, x):
    """gamma_below_f64 for x <= a < 200, by the power series (DLMF 8.7.1)."""
    term = f64(1.0)
    total = f64(1.0)
    b = a
    while term > f64(1e-17) * total:
        b = b + f64(1.0)
        term = fdiv(term * x, b)
        total = total + term
    return fdiv(total, a)


def igamma_side_f64(a, x, above):
    """P(a, x), or Q(a, x) where `above` is 1, within 100 units of 2^-53 (relative) up to a = 1000."""
    end = (a == f64(0.0)) | (x == f64(0.0)) | (a == f64(inf)) | (x == f64(inf))
    lost = (a < f64(0.0)) | (x < f64(0.0)) | is_nan(a) | is_nan(x) | ((a == f64(0.0)) & (x == f64(0.0)))
    lost = lost | ((a == f64(inf)) & (x == f64(inf)))
    # at an end P is 0 or 1
    least = (x == f64(0.0)) | (a == f64(inf))
    p = select(end | lost, f64(1.0), select((above == f64(0.0)) & (a < f64(1e-300)), f64(1e-300), a))
    y = select(end | lost, f64(1.0), x)
    # where a is so large, the number of its variance that x is away from it decides, as for a normal variate
    huge = p > f64(1e20)
    away = fdiv(y - p, sqrt(p))
    p = select(huge, f64(1.0), p)
    y = select(huge, f64(1.0), y)
    scale = gamma_scale_f64(p, y)
    if (y < p) | (y < f64(1.5)):
        if p < f64(200.0):
            value = scale * gamma_series_f64(p, y)
        else:
            value = scale * gamma_below_f64(p, y)
        part = f64(0.0)
        if (above == f64(1.0)) & (p < f64(1.0)):
            value = small_igammac_f64(p, y)
            part = f64(1.0)
    else:
        value = scale * gamma_above_f64(p, y)
        part = f64(1.0)
    out = select(part == above, value, f64(1.0) - value)
    if huge:
        out = f64(0.5) * erfc_f64(select(above == f64(1.0), away, -away) * f64(0.7071067811865476))
    out = select(end, select(least == (above == f64(1.0)), f64(1.0), f64(0.0)), out)
    return select(lost, f64(nan), out)


def small_igammac_f64(a, x):
    """Q(a, x) for a < 1, x < 1.5, which is small with a: 1 - x^a / Gamma(a + 1) by expm1, and the other terms of its series."""
    term = f64(1.0)
    total = f64(0.0)
    k = f64(0.0)
    while fabs(term) > f64(1e-18):
        k = k + f64(1.0)
        term = fdiv(-term * x, k)
        total = total + fdiv(term, a + k)
    power = fma(a, log_f64(x), -lgamma1p_f64(a))
    return -expm1_f64(power) - a * total * exp_f64(power)


def lgamma1p_f64(a):
    """log Gamma(1 + a) for 0 <= a <= 1, relative to a."""
    right = a > f64(0.5)
    b = select(right, a - f64(1.0), a)
    return lgamma_near_f64(b) - select(right, f64(0.0), log1p_f64(b))


def igamma_f64(a, x):
    """P(a, x), within 100 units of 2^-53 (relative) up to a = 1000; 1e-11 at a = 1e6."""
    return igamma_side_f64(a, x, f64(0.0))


def igamma_f32(a, x):
    """P(a, x), 1 ulp, in float64."""
    return f32(igamma_f64(f64(a), f64(x)))


def igammac_f64(a, x):
    """Q(a, x), as igamma_f64."""
    return igamma_side_f64(a, x, f64(1.0))


def igammac_f32(a, x):
    """Q(a, x), 1 ulp, in float64."""
    return f32(igammac_f64(f64(a), f64(x)))


def bell_f64(n, log, second, third, fourth):
    """The n-th complete Bell polynomial (n = 1 ... 4): derivatives of an exponential, by those of its exponent."""
    square = log * log
    two = square + second
    three = log * fma(f64(3.0), second, square) + third
    four = square * fma(f64(6.0), second, square) + f64(4.0) * log * third + fma(f64(3.0) * second, second, fourth)
    return select(n == f64(1.0), log, select(n == f64(2.0), two, select(n == f64(3.0), three, four)))


def gamma_ratio_f64(a, x, n):
    """The n-th derivative (1 to 4) of P(a, x) by a over the density, within 1e-13 of it up to a = 1000."""
    inside = (a > f64(0.0)) & (x > f64(0.0)) & (x < f64(inf)) & (a < f64(inf))
    y = select(inside, x, f64(1.0))
    given = select(inside, a, f64(1.0))
    below = (y < f64(1.5)) | (y < given)
    small = below & (given < f64(1.0))
    p = select(small, given + f64(1.0), given)
    base = log_f64(y) - digamma_f64(p)
    second = f64(0.0)
    third = f64(0.0)
    fourth = f64(0.0)
    if n > f64(1.0):
        second = -polygamma_f64(f64(1.0), p)
    if n > f64(2.0):
        third = -polygamma_f64(f64(2.0), p)
        fourth = -polygamma_f64(f64(3.0), p)
    slope = fabs(p - y)
    c = fdiv(f64(2.0), slope + sqrt(fma(slope, slope, f64(2.0) * y)))
    v = f64(42.52108200006278)
    total = f64(0.0)
    drop = f64(0.0)
    k = f64(0.0)
    while (drop < f64(45.0)) & (k < f64(121.0)):
        place = fdiv(exp_f64(-v), v)
        s = c * place
        weight = place * (f64(1.0) + v)
        if below:
            drop = fma(p, s, y * expm1_f64(-s))
            log = base - s
        else:
            w = log1p_f64(s)
            drop = fma(y, s, -p * w)
            log = base + w
            weight = fdiv(weight, f64(1.0) + s)
        total = total + weight * exp_f64(-drop) * bell_f64(n, log, second, third, fourth)
        v = v * f64(0.9394130628134758)
        k = k + f64(1.0)
    total = total * y * c * f64(0.0625)
    raised = fdiv(y, given) * (total + bell_f64(n, base, second, third, fourth))
    out = select(small, raised, select(below, total, -total))
    return select(inside, out, select((a > f64(0.0)) & (x == f64(0.0)), f64(0.0), f64(nan)))


def gamma_ratio_f32(a, x, n):
    """The n-th derivative of P(a, x) by a over the density, 1 ulp, in float64."""
    return f32(gamma_ratio_f64(f64(a), f64(x), n))
