"""The Hurwitz zeta function, and the polygamma functions by it.

The sum of (q + k)^-x up to where q + k exceeds 9, then Euler and Maclaurin's formula (DLMF 25.11.5).
"""

from funcgrad.codegen.math_special import pow_f64
from funcgrad.codegen.words import f32, f64, fabs, fdiv, floor, inf, is_nan, nan, select

SIGNATURES: dict[str, tuple[tuple[str, ...], str]] = {}


def zeta_f64(x, q):
    """The sum of (q + k)^-x, within 20 units of 2^-53 for q > 0; NaN below 1, and for q < 0 unless x is whole."""
    pole = (q <= f64(0.0)) & (floor(q) == q)
    lost = (x < f64(1.0)) | is_nan(x) | is_nan(q) | ((q < f64(0.0)) & (floor(x) != x)) | (q < f64(-1e5))
    end = lost | pole | (x == f64(1.0)) | (x == f64(inf)) | (q == f64(inf))
    s = select(end, f64(2.0), x)
    a = select(end, f64(1.0), q)
    out = f64(0.0)
    k = f64(0.0)
    last = f64(1.0)
    # below 1 the terms may still grow; an infinite one is all
    while ((a <= f64(9.0)) | (k < f64(9.0))) & ((a < f64(1.0)) | (fabs(last) > fabs(out) * f64(1e-17))) & (fabs(out) < f64(inf)):
        last = pow_f64(a, -s)
        out = out + last
        a = a + f64(1.0)
        k = k + f64(1.0)
    endless = fabs(out) == f64(inf)
    total = out
    last = pow_f64(a, -s)
    # the integral from a on; where a is large, a^-s may be less than the smallest float and the integral not
    lead = last * a
    if a > f64(1e8):
        lead = pow_f64(a, f64(1.0) - s)
    out = out + fdiv(lead, s - f64(1.0)) + f64(0.5) * last
    r = fdiv(f64(1.0), a)
    term = last * s * r
    r = r * r
    out = out + term * f64(0.08333333333333333)
    term = term * (s + f64(1.0)) * (s + f64(2.0)) * r
    out = out + term * f64(-0.001388888888888889)
    term = term * (s + f64(3.0)) * (s + f64(4.0)) * r
    out = out + term * f64(3.306878306878307e-05)
    term = term * (s + f64(5.0)) * (s + f64(6.0)) * r
    out = out + term * f64(-8.267195767195768e-07)
    term = term * (s + f64(7.0)) * (s + f64(8.0)) * r
    out = out + term * f64(2.08767569878681e-08)
    term = term * (s + f64(9.0)) * (s + f64(10.0)) * r
    out = out + term * f64(-5.284190138687493e-10)
    term = term * (s + f64(11.0)) * (s + f64(12.0)) * r
    out = out + term * f64(1.3382536530684679e-11)
    term = term * (s + f64(13.0)) * (s + f64(14.0)) * r
    out = out + term * f64(-3.3896802963225827e-13)
    term = term * (s + f64(15.0)) * (s + f64(16.0)) * r
    out = out + term * f64(8.586062056277845e-15)
    term = term * (s + f64(17.0)) * (s + f64(18.0)) * r
    out = out + term * f64(-2.174868698558062e-16)
    term = term * (s + f64(19.0)) * (s + f64(20.0)) * r
    out = out + term * f64(5.5090028283602295e-18)
    term = term * (s + f64(21.0)) * (s + f64(22.0)) * r
    out = out + term * f64(-1.3954464685812522e-19)
    out = select(endless, total, out)
    out = select(q == f64(inf), f64(0.0), out)
    limit = select(q == f64(1.0), f64(1.0), select(q < f64(1.0), f64(inf), f64(0.0)))
    out = select((x == f64(inf)) & (q < f64(inf)), limit, out)
    out = select(lost, f64(nan), out)
    return select(pole | (x == f64(1.0)), select(x < f64(1.0), f64(nan), f64(inf)), out)


def zeta_f32(x, q):
    """The sum of (q + k)^-x, in float64."""
    return f32(zeta_f64(f64(x), f64(q)))


def polygamma_f64(n, x):
    """The n-th derivative of digamma for n = 1, 2, 3, ..., x > 0."""
    factor = f64(1.0)
    k = f64(1.0)
    while k <= n:
        factor = -factor * k
        k = k + f64(1.0)
    return -factor * zeta_f64(n + f64(1.0), x)
