"""exp(x^2) erfc(x), the normal distribution's quantiles, and Dawson's integral."""

from funcgrad.codegen.math_exp import exp_f64, log_f64
from funcgrad.codegen.math_special import erf_inv_f64, erf_near_f64, erfcx_far_f64, exp_pair_f64
from funcgrad.codegen.words import copysign, f32, f64, fabs, fdiv, fma, inf, is_nan, nan, rint, select, sqrt

SIGNATURES: dict[str, tuple[tuple[str, ...], str]] = {}


def erfcx_f64(x):
    """exp(x^2) erfc(x), 4 ulp (more for x < -5, with x^2): past 28 its asymptotic series (DLMF 7.12.1)."""
    a = fabs(x)
    b = select(a > f64(28.0), f64(28.0), select(a < f64(0.45), f64(0.45), a))
    middle = fdiv(erfcx_far_f64(b), fma(f64(2.0), b, f64(1.0)))
    square = fma(a, a, f64(-0.0))
    rest = select(a < f64(1e10), fma(a, a, -square), f64(0.0))
    growth = exp_pair_f64(square, rest)
    near = growth * (f64(1.0) - erf_near_f64(select(a < f64(1.0), a, f64(0.0))))
    c = select(a < f64(28.0), f64(28.0), a)
    u = fdiv(f64(1.0), c)
    r = f64(0.5) * u * u
    p = fma(r, f64(-945.0), f64(105.0))
    p = fma(r, p, f64(-15.0))
    p = fma(r, p, f64(3.0))
    p = fma(r, p, f64(-1.0))
    p = fma(r, p, f64(1.0))
    far = f64(0.5641895835477563) * u * p
    out = select(a < f64(0.45), near, select(a > f64(28.0), far, middle))
    out = select(x < f64(0.0), f64(2.0) * growth - out, out)
    return select(is_nan(x), x, select(x < f64(-27.0), f64(inf), out))


def erfcx_f32(x):
    """exp(x^2) erfc(x), 1 ulp, in float64."""
    return f32(erfcx_f64(f64(x)))


def dawsn_f64(x):
    """Dawson's integral, 8 ulp: its power series below 1/2 (DLMF 7.6.3), past 50 the asymptotic one, between them sampled
    at spacings of 1/2 (Rybicki, "Dawson's integral and the sampling theorem", Computers in Physics 3, 1989)."""
    a = fabs(x)
    z = select(a < f64(0.5), a * a, f64(0.0))
    p = fma(z, f64(-1.7075668393188757e-13), f64(2.6467286009442573e-12))
    p = fma(z, p, f64(-3.8377564713691727e-11))
    p = fma(z, p, f64(5.180971236348383e-10))
    p = fma(z, p, f64(-6.476214045435479e-09))
    p = fma(z, p, f64(7.447646152250801e-08))
    p = fma(z, p, f64(-7.820028459863341e-07))
    p = fma(z, p, f64(7.4290270368701745e-06))
    p = fma(z, p, f64(-6.314672981339648e-05))
    p = fma(z, p, f64(0.0004736004736004736))
    p = fma(z, p, f64(-0.0030784030784030783))
    p = fma(z, p, f64(0.016931216931216932))
    p = fma(z, p, f64(-0.0761904761904762))
    p = fma(z, p, f64(0.26666666666666666))
    p = fma(z, p, f64(-0.6666666666666666))
    p = fma(z, p, f64(1.0))
    near = a * p
    b = select(a < f64(0.5), f64(0.5), select(a > f64(50.0), f64(50.0), a))
    n = f64(2.0) * rint(f64(2.0) * b)
    off = fma(n, f64(-0.25), b)
    power = exp_f64(f64(0.5) * off)
    step = power * power
    up = n + f64(1.0)
    down = n - f64(1.0)
    total = f64(0.0)
    total = total + f64(0.9394130628134758) * (fdiv(power, up) + fdiv(f64(1.0), down * power))
    power = power * step
    up = up + f64(2.0)
    down = down - f64(2.0)
    total = total + f64(0.569782824730923) * (fdiv(power, up) + fdiv(f64(1.0), down * power))
    power = power * step
    up = up + f64(2.0)
    down = down - f64(2.0)
    total = total + f64(0.2096113871510978) * (fdiv(power, up) + fdiv(f64(1.0), down * power))
    power = power * step
    up = up + f64(2.0)
    down = down - f64(2.0)
    total = total + f64(0.04677062238395898) * (fdiv(power, up) + fdiv(f64(1.0), down * power))
    power = power * step
    up = up + f64(2.0)
    down = down - f64(2.0)
    total = total + f64(0.006329715427485747) * (fdiv(power, up) + fdiv(f64(1.0), down * power))
    power = power * step
    up = up + f64(2.0)
    down = down - f64(2.0)
    total = total + f64(0.0005195746821548384) * (fdiv(power, up) + fdiv(f64(1.0), down * power))
    power = power * step
    up = up + f64(2.0)
    down = down - f64(2.0)
    total = total + f64(2.586810022265412e-05) * (fdiv(power, up) + fdiv(f64(1.0), down * power))
    power = power * step
    up = up + f64(2.0)
    down = down - f64(2.0)
    total = total + f64(7.811489408304491e-07) * (fdiv(power, up) + fdiv(f64(1.0), down * power))
    power = power * step
    up = up + f64(2.0)
    down = down - f64(2.0)
    total = total + f64(1.4307241918567688e-08) * (fdiv(power, up) + fdiv(f64(1.0), down * power))
    power = power * step
    up = up + f64(2.0)
    down = down - f64(2.0)
    total = total + f64(1.5893910094516368e-10) * (fdiv(power, up) + fdiv(f64(1.0), down * power))
    power = power * step
    up = up + f64(2.0)
    down = down - f64(2.0)
    total = total + f64(1.0709232382508077e-12) * (fdiv(power, up) + fdiv(f64(1.0), down * power))
    power = power * step
    up = up + f64(2.0)
    down = down - f64(2.0)
    total = total + f64(4.37661850287085e-15) * (fdiv(power, up) + fdiv(f64(1.0), down * power))
    power = power * step
    up = up + f64(2.0)
    down = down - f64(2.0)
    total = total + f64(1.0848552640429378e-17) * (fdiv(power, up) + fdiv(f64(1.0), down * power))
    power = power * step
    up = up + f64(2.0)
    down = down - f64(2.0)
    middle = f64(0.5641895835477563) * exp_f64(-off * off) * total
    c = select(a < f64(50.0), f64(50.0), a)
    u = fdiv(f64(1.0), c)
    r = f64(0.5) * u * u
    q = fma(r, f64(945.0), f64(105.0))
    q = fma(r, q, f64(15.0))
    q = fma(r, q, f64(3.0))
    q = fma(r, q, f64(1.0))
    q = fma(r, q, f64(1.0))
    far = f64(0.5) * u * q
    out = select(a < f64(0.5), near, select(a > f64(50.0), far, middle))
    return select(is_nan(x), x, copysign(out, x))


def dawsn_f32(x):
    """Dawson's integral, 1 ulp, in float64."""
    return f32(dawsn_f64(f64(x)))


def ndtri_f64(p):
    """The x of the normal distribution with ndtr(x) = p, 4 ulp: erf_inv around 1/2; in the tails Newton's steps on log ndtr from
    the rational approximation of Abramowitz and Stegun, 26.2.23."""
    middle = (p > f64(0.1)) & (p < f64(0.9))
    c = select(middle, p, f64(0.5))
    near = f64(1.4142135623730951) * erf_inv_f64(fma(f64(2.0), c, f64(-1.0)))
    outer = select(p > f64(0.5), f64(1.0) - p, p)
    inside = (outer > f64(0.0)) & (outer < f64(0.4))
    tail = select(inside, outer, f64(0.1))
    target = log_f64(tail)
    t = sqrt(f64(-2.0) * target)
    top = fma(t, fma(t, f64(0.010328), f64(0.802853)), f64(2.515517))
    bottom = fma(t, fma(t, fma(t, f64(0.001308), f64(0.189269)), f64(1.432788)), f64(1.0))
    y = t - fdiv(top, bottom)
    for _ in range(3):
        s = f64(0.7071067811865476) * y
        b = select(s < f64(0.45), f64(0.45), select(s > f64(28.0), f64(28.0), s))
        scaled = fdiv(erfcx_far_f64(b), fma(f64(2.0), b, f64(1.0)))
        miss = log_f64(f64(0.5) * scaled) - f64(0.5) * y * y - target
        y = y + miss * scaled * f64(1.2533141373155001)
    far = select(p > f64(0.5), y, -y)
    end = select(p > f64(0.5), f64(inf), f64(-inf))
    out = select(middle, near, select(outer == f64(0.0), end, far))
    return select((p >= f64(0.0)) & (p <= f64(1.0)), out, f64(nan))


def ndtri_f32(p):
    """The x of the normal distribution with ndtr(x) = p, 1 ulp, in float64."""
    return f32(ndtri_f64(f64(p)))
