"""Exponentials and logarithms, float32 and float64.

exp: x = k ln 2 + r with |r| <= ln(2)/2 (k through the addition of a large number, which leaves k in the low bits;
ln 2 in two parts, by fma), exp(r) = 1 + r + r*r*Q(r), and 2^k in two factors, so that subnormal results are rounded
once. log: x = 2^e m with m in [sqrt(1/2), sqrt(2)), f = m - 1. The coefficients are minimax (Remez exchange in 160
bits, weighted for relative error). A product that must not be contracted is written fma(a, b, -0).
"""

from funcgrad.codegen.words import (
    add,
    bits_f32,
    bits_f64,
    bits_i32,
    bits_i64,
    copysign,
    f32,
    f64,
    fabs,
    fdiv,
    fma,
    i32,
    i64,
    inf,
    nan,
    rint,
    select,
    shl,
    shr,
    sqrt,
    sub,
)

SIGNATURES = {
    f"{name}_{f}": (tuple(a.replace("f", f).replace("i", i) for a in args), result.replace("f", f).replace("i", i))
    for f, i in (("f32", "i32"), ("f64", "i64"))
    for name, args, result in (
        ("two_to", ("i",), "f"),
        ("scaled", ("f", "i"), "f"),
        ("exp_scaled", ("f", "i"), "f"),
        ("exponent", ("f",), "i"),
    )
}


def two_to_f32(k):
    """2^k for an int32 k in [-126, 127]."""
    return bits_f32(shl(add(k, i32(127)), i32(23)))


def two_to_f64(k):
    """2^k for an int64 k in [-1022, 1023]."""
    return bits_f64(shl(add(k, i64(1023)), i64(52)))


def scaled_f32(x, k):
    """x * 2^k for k in [-252, 254], rounded once."""
    half = shr(k, i32(1))
    return x * two_to_f32(half) * two_to_f32(sub(k, half))


def scaled_f64(x, k):
    """x * 2^k for k in [-2044, 2046], rounded once."""
    half = shr(k, i64(1))
    return x * two_to_f64(half) * two_to_f64(sub(k, half))


def exp_q_f32(r):
    """(exp(r) - 1 - r) / r^2."""
    p = fma(r, f32(0.0013951703), f32(0.008369598))
    p = fma(r, p, f32(0.041666187))
    p = fma(r, p, f32(0.16666512))
    return fma(r, p, f32(0.5))


def exp_q_f64(r):
    """(exp(r) - 1 - r) / r^2."""
    p = fma(r, f64(2.511120397630789e-08), f64(2.763415656950364e-07))
    p = fma(r, p, f64(2.7557239244458533e-06))
    p = fma(r, p, f64(2.4801483304779087e-05))
    p = fma(r, p, f64(0.00019841269889351839))
    p = fma(r, p, f64(0.001388888895141117))
    p = fma(r, p, f64(0.008333333333321294))
    p = fma(r, p, f64(0.04166666666651012))
    p = fma(r, p, f64(0.16666666666666674))
    return fma(r, p, f64(0.5000000000000011))


def exp_scaled_f32(x, extra):
    """exp(x) * 2^extra for -104.5 <= x <= 90, extra in [-2, 2]."""
    n = fma(x, f32(1.442695), f32(12582912.0))
    k = n - f32(12582912.0)
    r = fma(k, f32(-0.69314575), x)
    r = fma(k, f32(-1.4286068e-06), r)
    p = f32(1.0) + fma(r * r, exp_q_f32(r), r)
    return scaled_f32(p, add(sub(bits_i32(n), i32(0x4B400000)), extra))


def exp_scaled_f64(x, extra):
    """exp(x) * 2^extra for -746 <= x <= 711, extra in [-2, 2]."""
    n = fma(x, f64(1.4426950408889634), f64(6755399441055744.0))
    k = n - f64(6755399441055744.0)
    r = fma(k, f64(-0.6931471805599453), x)
    r = fma(k, f64(-2.3190468138462996e-17), r)
    p = f64(1.0) + fma(r * r, exp_q_f64(r), r)
    return scaled_f64(p, add(sub(bits_i64(n), i64(0x4338000000000000)), extra))


def exp_f32(x):
    """exp, 1 ulp."""
    x = select(x > f32(89.0), f32(89.0), x)
    return exp_scaled_f32(select(x < f32(-104.5), f32(-104.5), x), i32(0))


def exp_f64(x):
    """exp, 1 ulp."""
    x = select(x > f64(710.0), f64(710.0), x)
    return exp_scaled_f64(select(x < f64(-746.0), f64(-746.0), x), i64(0))


def exp2_f32(x):
    """2^x, 1 ulp."""
    x = select(x > f32(129.0), f32(129.0), x)
    x = select(x < f32(-151.0), f32(-151.0), x)
    k = rint(x)
    r = x - k
    p = fma(r, f32(1.5316207e-05), f32(0.0001546839))
    p = fma(r, p, f32(0.0013333425))
    p = fma(r, p, f32(0.009618033))
    p = fma(r, p, f32(0.05550411))
    p = fma(r, p, f32(0.2402265))
    p = fma(r, p, f32(0.6931472))
    return scaled_f32(fma(r, p, f32(1.0)), i32(k))


def exp2_f64(x):
    """2^x, 1 ulp: exp(r ln 2), the product in two parts."""
    x = select(x > f64(1025.0), f64(1025.0), x)
    x = select(x < f64(-1076.0), f64(-1076.0), x)
    k = rint(x)
    r = x - k
    t = fma(r, f64(0.6931471805599453), f64(-0.0))
    low = fma(r, f64(2.3190468138462996e-17), fma(r, f64(0.6931471805599453), -t))
    p = f64(1.0) + (t + fma(t * t, exp_q_f64(t), low))
    return scaled_f64(p, i64(k))


def expm1_f32(x):
    """exp(x) - 1, 1 ulp: 2^k (exp(r) - 1) + (2^k - 1), at half the size so that 2^k is finite."""
    y = select(x > f32(89.0), f32(89.0), x)
    y = select(y < f32(-20.0), f32(-20.0), y)
    n = fma(y, f32(1.442695), f32(12582912.0))
    k = n - f32(12582912.0)
    r = fma(k, f32(-0.69314575), y)
    r = fma(k, f32(-1.4286068e-06), r)
    half = two_to_f32(sub(bits_i32(n), i32(0x4B400001)))
    p = fma(r * r, exp_q_f32(r), r)
    return select(fabs(x) < f32(1e-20), x, f32(2.0) * fma(half, p, half - f32(0.5)))


def expm1_f64(x):
    """exp(x) - 1, 1 ulp; as expm1_f32."""
    y = select(x > f64(710.0), f64(710.0), x)
    y = select(y < f64(-40.0), f64(-40.0), y)
    n = fma(y, f64(1.4426950408889634), f64(6755399441055744.0))
    k = n - f64(6755399441055744.0)
    r = fma(k, f64(-0.6931471805599453), y)
    r = fma(k, f64(-2.3190468138462996e-17), r)
    half = two_to_f64(sub(bits_i64(n), i64(0x4338000000000001)))
    p = fma(r * r, exp_q_f64(r), r)
    return select(fabs(x) < f64(1e-100), x, f64(2.0) * fma(half, p, half - f64(0.5)))


def exponent_f32(x):
    """The e of a positive normal x = 2^e m, m in [sqrt(1/2), sqrt(2)): the bits of sqrt(1/2) are taken away."""
    return shr(sub(bits_i32(x), i32(0x3F3504F3)), i32(23))


def exponent_f64(x):
    """As exponent_f32."""
    return shr(sub(bits_i64(x), i64(0x3FE6A09E667F3BCD)), i64(52))


def log_near_one_f32(f, e):
    """log(1 + f) + e log(2) for f in [sqrt(1/2) - 1, sqrt(2) - 1]."""
    p = fma(f, f32(0.06938048), f32(-0.11889842))
    p = fma(f, p, f32(0.11910731))
    p = fma(f, p, f32(-0.12371876))
    p = fma(f, p, f32(0.14213656))
    p = fma(f, p, f32(-0.16669679))
    p = fma(f, p, f32(0.20002346))
    p = fma(f, p, f32(-0.24999982))
    p = fma(f, p, f32(0.33333313))
    g = f * f
    low = fma(g, fma(f, p, f32(-0.5)), e * f32(-2.1219444e-04))
    return fma(e, f32(0.693359375), f + low)


def log_near_one_f64(f, e):
    """log(1 + f) + e log(2): with s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - s (f - s^2 Q(s^2))."""
    s = fdiv(f, f64(2.0) + f)
    z = s * s
    p = fma(z, f64(0.13294898103094588), f64(0.13245783464877986))
    p = fma(z, p, f64(0.15387254691259106))
    p = fma(z, p, f64(0.18181772821705774))
    p = fma(z, p, f64(0.22222222666405225))
    p = fma(z, p, f64(0.2857142856910642))
    p = fma(z, p, f64(0.400000000000055))
    p = fma(z, p, f64(0.6666666666666666))
    low = fma(e, f64(1.9082149292705877e-10), -(s * fma(z, -p, f)))
    return fma(e, f64(0.6931471803691238), f + low)


def log_f32(x):
    """log, 1 ulp."""
    tiny = x < f32(1.17549435e-38)
    y = select(tiny, x * f32(16777216.0), x)
    k = exponent_f32(y)
    f = bits_f32(sub(bits_i32(y), shl(k, i32(23)))) - f32(1.0)
    e = f32(k) - select(tiny, f32(24.0), f32(0.0))
    out = log_near_one_f32(f, e)
    out = select(x == f32(inf), x, out)
    out = select(x == f32(0.0), f32(-inf), out)
    return select(x >= f32(0.0), out, f32(nan))


def log_f64(x):
    """log, 1 ulp."""
    tiny = x < f64(2.2250738585072014e-308)
    y = select(tiny, x * f64(18014398509481984.0), x)
    k = exponent_f64(y)
    f = bits_f64(sub(bits_i64(y), shl(k, i64(52)))) - f64(1.0)
    e = f64(k) - select(tiny, f64(54.0), f64(0.0))
    out = log_near_one_f64(f, e)
    out = select(x == f64(inf), x, out)
    out = select(x == f64(0.0), f64(-inf), out)
    return select(x >= f64(0.0), out, f64(nan))


def log1p_f32(x):
    """log(1 + x), 1 ulp: f = 2^-e x + (2^-e - 1) is rounded once, where 2^e is near 1 + x."""
    big = x > f32(16777216.0)
    one = select(big, f32(0.0), f32(1.0))
    y = select(big, x * f32(5.9604645e-08), x)
    k = exponent_f32(one + y)
    down = two_to_f32(sub(i32(0), k))
    f = fma(down, y, fma(down, one, f32(-1.0)))
    e = f32(k) + select(big, f32(24.0), f32(0.0))
    out = log_near_one_f32(f, e)
    out = select(fabs(x) < f32(1e-20), x, out)
    out = select(x == f32(inf), x, out)
    out = select(x == f32(-1.0), f32(-inf), out)
    return select(x >= f32(-1.0), out, f32(nan))


def log1p_f64(x):
    """log(1 + x), 1 ulp; as log1p_f32."""
    big = x > f64(18014398509481984.0)
    one = select(big, f64(0.0), f64(1.0))
    y = select(big, x * f64(5.551115123125783e-17), x)
    k = exponent_f64(one + y)
    down = two_to_f64(sub(i64(0), k))
    f = fma(down, y, fma(down, one, f64(-1.0)))
    e = f64(k) + select(big, f64(54.0), f64(0.0))
    out = log_near_one_f64(f, e)
    out = select(fabs(x) < f64(1e-100), x, out)
    out = select(x == f64(inf), x, out)
    out = select(x == f64(-1.0), f64(-inf), out)
    return select(x >= f64(-1.0), out, f64(nan))


def logistic_f32(x):
    """1 / (1 + exp(-x)), 2 ulp: with exp(-|x|), so that small results keep their digits."""
    a = fabs(x)
    t = exp_scaled_f32(-select(a > f32(104.5), f32(104.5), a), i32(0))
    return fdiv(select(x < f32(0.0), t, f32(1.0)), f32(1.0) + t)


def logistic_f64(x):
    """1 / (1 + exp(-x)), 2 ulp; as logistic_f32."""
    a = fabs(x)
    t = exp_scaled_f64(-select(a > f64(746.0), f64(746.0), a), i64(0))
    return fdiv(select(x < f64(0.0), t, f64(1.0)), f64(1.0) + t)


def tanh_f32(x):
    """tanh, 3 ulp: with e = exp(2|x|) - 1, e / (e + 2). Of 2|x| = k log(2) + r, e is 2^k (exp(r) - 1) + 2^k - 1; both sides of
    the fraction come of exp(r) - 1 by one operation, so that it is short in time from x to the answer, for recurrences."""
    a = fabs(x)
    b = select(a > f32(10.0), f32(10.0), a)
    n = fma(b, f32(2.88539), f32(12582912.0))
    r = fma(n - f32(12582912.0), f32(-0.6931472), b + b)
    s = r * r
    high = fma(s, f32(0.0013857998), fma(r, f32(0.008366852), f32(0.041667607)))
    p = fma(s, fma(s, high, fma(r, f32(0.1666654), f32(0.49999997))), r)
    t = two_to_f32(sub(bits_i32(n), i32(0x4B400000)))
    return copysign(fdiv(fma(p, t, t - f32(1.0)), fma(p, t, t + f32(1.0))), x)


def tanh_f64(x):
    """tanh, 2 ulp: with m = exp(-2|x|) - 1, tanh |x| = -m / (2 + m), and past 0.55, 1 - 2(m + 1) / (2 + m)."""
    a = fabs(x)
    b = select(a > f64(20.0), f64(20.0), a)
    m = expm1_f64(f64(-2.0) * b)
    far = a > f64(0.55)
    q = fdiv(select(far, fma(f64(2.0), m, f64(2.0)), -m), f64(2.0) + m)
    out = select(far, f64(1.0) - q, q)
    return copysign(select(a < f64(1e-9), a, out), x)


def sinh_f32(x):
    """sinh, 2 ulp: up to 1 a polynomial, else (e^|x| - e^-|x|) / 2, where e^|x| / 2 does not overflow early."""
    a = fabs(x)
    b = select(a > f32(90.0), f32(90.0), a)
    t = exp_scaled_f32(b, i32(-1))
    far = t - fdiv(f32(0.25), t)
    z = a * a
    p = fma(z, f32(2.819029e-06), f32(0.00019835871))
    p = fma(z, p, f32(0.0083333505))
    p = fma(z, p, f32(0.16666667))
    return copysign(select(a < f32(1.0), fma(a * z, p, a), far), x)


def sinh_f64(x):
    """sinh, 2 ulp; as sinh_f32."""
    a = fabs(x)
    b = select(a > f64(711.0), f64(711.0), a)
    t = exp_scaled_f64(b, i64(-1))
    far = t - fdiv(f64(0.25), t)
    z = a * a
    p = fma(z, f64(2.8486834749661655e-15), f64(7.64646947816313e-13))
    p = fma(z, p, f64(1.6059050734494812e-10))
    p = fma(z, p, f64(2.5052108346198194e-08))
    p = fma(z, p, f64(2.7557319224113396e-06))
    p = fma(z, p, f64(0.0001984126984126962))
    p = fma(z, p, f64(0.008333333333333333))
    p = fma(z, p, f64(0.16666666666666666))
    return copysign(select(a < f64(1.0), fma(a * z, p, a), far), x)


def cosh_f32(x):
    """cosh, 2 ulp."""
    a = fabs(x)
    t = exp_scaled_f32(select(a > f32(90.0), f32(90.0), a), i32(-1))
    return t + fdiv(f32(0.25), t)


def cosh_f64(x):
    """cosh, 2 ulp."""
    a = fabs(x)
    t = exp_scaled_f64(select(a > f64(711.0), f64(711.0), a), i64(-1))
    return t + fdiv(f64(0.25), t)


def asinh_f64(x):
    """asinh, 2 ulp: log1p(a + a^2 / (1 + sqrt(a^2 + 1))) for a = |x|; log(a) + log(2) for a beyond 2^28."""
    a = fabs(x)
    big = a > f64(268435456.0)
    b = select(big, f64(1.0), a)
    z = b * b
    t = select(big, a - f64(1.0), b + fdiv(z, f64(1.0) + sqrt(z + f64(1.0))))
    out = log1p_f64(t) + select(big, f64(0.6931471805599453), f64(0.0))
    return copysign(out, x)


def asinh_f32(x):
    """asinh, 1 ulp, in float64."""
    return f32(asinh_f64(f64(x)))


def acosh_f64(x):
    """acosh, 2 ulp: with t = x - 1, log1p(t + sqrt(2t + t^2))."""
    big = x > f64(268435456.0)
    t = select(big, f64(0.0), x - f64(1.0))
    t = select(big, x - f64(1.0), t + sqrt(fma(t, t, t + t)))
    out = log1p_f64(t) + select(big, f64(0.6931471805599453), f64(0.0))
    return select(x >= f64(1.0), out, f64(nan))


def acosh_f32(x):
    """acosh, 1 ulp, in float64."""
    return f32(acosh_f64(f64(x)))


def atanh_f64(x):
    """atanh, 2 ulp: log1p(2a / (1 - a)) / 2 for a = |x|."""
    a = fabs(x)
    out = f64(0.5) * log1p_f64(fdiv(a + a, f64(1.0) - a))
    return copysign(select(a > f64(1.0), f64(nan), out), x)


def atanh_f32(x):
    """atanh, 1 ulp, in float64."""
    return f32(atanh_f64(f64(x)))
