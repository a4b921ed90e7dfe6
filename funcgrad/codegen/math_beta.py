"""The logarithm of the beta function, the incomplete beta function, and its derivatives by the parameters.

With logit(t) = logit(x) - w the integral from 0 to x becomes x^a y^b (y = 1 - x) times that of exp(-(n log_t - b w)) over w > 0,
with n = a + b and log_t = log(1 + y (e^w - 1)) = log(x / t); then as in math_gamma.py. What holds more than about half is
taken from the other side. core/gamma_integrals.py has the same over arrays.
"""

from funcgrad.codegen.math_exp import exp_f64, expm1_f64, log1p_f64, log_f64
from funcgrad.codegen.math_gamma import bell_f64, lgamma1p_f64, log1p_less_f64, stirling_f64
from funcgrad.codegen.math_lgamma import digamma_f64, lgamma_f64
from funcgrad.codegen.math_zeta import polygamma_f64
from funcgrad.codegen.words import f32, f64, fabs, fdiv, floor, fma, inf, is_nan, nan, select, sqrt

SIGNATURES = {"betainc_ratio_f32": (("f32", "f32", "f32", "f64", "f64"), "f32")}


def betaln_f64(a, b):
    """log |B(a, b)|, within 8 units of 2^-53 of max(1, |result|)."""
    low = select(a < b, a, b)
    high = select(a < b, b, a)
    large = (low + high >= f64(10.0)) & (high >= f64(10.0)) & (high < f64(inf))
    both = large & (low >= f64(10.0))
    p = select(large, low, f64(10.0))
    q = select(large, high, f64(10.0))
    n = p + q
    ratio = fdiv(p, n)
    rest = stirling_f64(q) - stirling_f64(n) + (q - f64(0.5)) * log1p_f64(-ratio)
    c = select(both, p, f64(10.0))
    without = (stirling_f64(c) + rest) + (c - f64(0.5)) * log_f64(select(both, ratio, f64(0.5)))
    without = without - f64(0.5) * log_f64(n) + f64(0.9189385332046727)
    given = lgamma_f64(select(large, p, a)) + rest + p - p * log_f64(n)
    small = lgamma_f64(a) + lgamma_f64(b) - lgamma_f64(a + b)
    # at a pole of one of them; two poles leave a finite value where the sum is one as well
    pole = (low <= f64(0.0)) & (floor(low) == low)
    finite = pole & (floor(high) == high) & (low + high <= f64(0.0)) & (high > f64(0.0)) & (low > f64(-inf))
    c = select(finite, f64(1.0) - low - high, f64(1.0))
    d = select(finite, high, f64(1.0))
    mirrored = lgamma_f64(c) + lgamma_f64(d) - lgamma_f64(c + d)
    out = select(both, without, select(large, given, select(finite, mirrored, select(pole, f64(inf), small))))
    beyond = select(low > f64(0.0), select(low == f64(inf), f64(nan), f64(-inf)), f64(inf))
    out = select(high == f64(inf), beyond, out)
    return select(is_nan(a) | is_nan(b), f64(nan), out)


def betaln_f32(a, b):
    """log |B(a, b)|, 1 ulp, in float64."""
    return f32(betaln_f64(f64(a), f64(b)))


def log_ratio_less_f64(change, x, a, n):
    """log(x n / a) - change for x n / a = 1 + change."""
    close = fabs(change) < f64(0.4)
    return select(close, log1p_less_f64(select(close, change, f64(0.0))), log_f64(x) - log_f64(fdiv(a, n)) - change)


def beta_scale_f64(a, b, x, y):
    """x^a y^b / B(a, b) for y = 1 - x, where the smaller of x and y is exact."""
    n = a + b
    d = select(x < y, fma(x, n, -a), fma(-y, n, b))
    power = fma(a, log_ratio_less_f64(fdiv(d, a), x, a, n), b * log_ratio_less_f64(fdiv(-d, b), y, b, n))
    power = power - stirling_f64(a) - stirling_f64(b) + stirling_f64(n)
    return sqrt(fdiv(a, n) * b) * f64(0.3989422804014327) * exp_f64(power)


def beta_below_f64(a, b, x, y):
    """The integral of exp(-(n log_t - b w)) over w > 0, for a >= 1."""
    n = a + b
    slope = fma(a, y, -b * x)
    c = fdiv(f64(2.0), slope + sqrt(fma(slope, slope, f64(2.0) * n * x * y)))
    v = f64(42.52108200006278)
    total = f64(0.0)
    drop = f64(0.0)
    k = f64(0.0)
    while (drop < f64(40.0)) & (k < f64(121.0)):
        place = fdiv(exp_f64(-v), v)
        w = c * place
        # of the two forms the one with the smaller parameter in its difference
        if a < b:
            drop = fma(a, w, n * log1p_f64(x * expm1_f64(-w)))
        else:
            drop = fma(n, log1p_f64(y * expm1_f64(w)), -b * w)
        total = total + place * (f64(1.0) + v) * exp_f64(-drop)
        v = v * f64(0.9394130628134758)
        k = k + f64(1.0)
    return total * c * f64(0.0625)


def beta_is_below_f64(a, b, x, y):
    """1 where the integral is taken from 0 to x, 0 where it is from x to 1."""
    # where b is below 1 and x near it, the integrand bends twice; that of the other side does not
    right = (x < f64(0.5)) | (a * y > f64(1.5))
    left = (y >= f64(0.5)) & (b * x <= f64(1.5))
    below = select(b < f64(1.0), right, select(a < f64(1.0), left, x * (a + b) < a))
    return select(below, f64(1.0), f64(0.0))


def lgamma_step_f64(a, b):
    """log Gamma(a + b) - log Gamma(a) for 0 < b < 1, relative to b: by derivatives at a + 1 where b is tiny, else by Stirling's
    formula."""
    s = a + f64(1.0)
    if b < f64(3e-4):
        second = polygamma_f64(f64(1.0), s)
        third = polygamma_f64(f64(2.0), s)
        fourth = polygamma_f64(f64(3.0), s)
        slope = fma(b, fma(b, f64(0.041666666666666664) * fourth, f64(0.16666666666666666) * third) * b, f64(0.5) * b * second)
        change = b * (digamma_f64(s) + slope)
    else:
        change = f64(0.0)
        while s < f64(10.0):
            change = change - log1p_f64(fdiv(b, s))
            s = s + f64(1.0)
        large = fma(s - f64(0.5), log1p_f64(fdiv(b, s)), b * log_f64(s + b) - b)
        change = change + large + (stirling_f64(s + b) - stirling_f64(s))
    return change - log1p_f64(fdiv(b, a))


def small_betainc_f64(a, b, y):
    """I_x(a, b) for b < 1, y = 1 - x < 1/2 and a y < 1.5, which is small with b: 1 - y^b Gamma(a + b) / (Gamma(a) Gamma(b + 1))
    by expm1, and the other terms of the series in y (DLMF 8.17.7)."""
    term = f64(1.0)
    total = f64(0.0)
    k = f64(0.0)
    while (fabs(term) > f64(1e-18)) & (k < f64(200.0)):
        k = k + f64(1.0)
        term = fdiv(term * (k - a) * y, k)
        total = total + fdiv(term, b + k)
    power = fma(b, log_f64(y), lgamma_step_f64(a, b) - lgamma1p_f64(b))
    return -expm1_f64(power) - b * total * exp_f64(power)


def betainc_f64(a, b, x):
    """I_x(a, b), within 500 units of 2^-53 up to a + b = 1000."""
    outside = (a < f64(0.0)) | (b < f64(0.0)) | (x < f64(0.0)) | (x > f64(1.0)) | is_nan(a) | is_nan(b) | is_nan(x)
    outside = outside | ((a == f64(0.0)) & (b == f64(0.0))) | ((a == f64(inf)) & (b == f64(inf)))
    none = (x == f64(0.0)) | (b == f64(0.0)) | (a == f64(inf))
    all_ = (x == f64(1.0)) | (a == f64(0.0)) | (b == f64(inf))
    end = outside | none | all_
    p = select(end, f64(1.0), a)
    q = select(end, f64(1.0), b)
    s = select(end, f64(0.5), x)
    t = f64(1.0) - s
    side = beta_is_below_f64(p, q, s, t)
    below = side == f64(1.0)
    c = select(below, p, q)
    d = select(below, q, p)
    y = select(below, s, t)
    z = select(below, t, s)
    if c < f64(1.0):
        value = fma(fdiv(y * (c + d), c), beta_below_f64(c + f64(1.0), d, y, z), fdiv(f64(1.0), c))
    else:
        value = beta_below_f64(c, d, y, z)
    value = value * beta_scale_f64(c, d, y, z)
    out = select(below, value, f64(1.0) - value)
    if (q < f64(1.0)) & (t <= s) & (side == f64(0.0)):
        out = small_betainc_f64(p, q, t)
    first = select(x == f64(1.0), f64(1.0), select(none, f64(0.0), f64(1.0)))
    return select(outside, f64(nan), select(end, first, out))


def betainc_f32(a, b, x):
    """I_x(a, b), 1 ulp, in float64."""
    return f32(betainc_f64(f64(a), f64(b), f64(x)))


def beta_moment_f64(i, j, left, right, a2, a3, a4, b2, n1, n2, n3):
    """The derivative of exp(f(a, b)), i times by a and j <= i times by b, over it (i + j = 1 ... 4).

    left, right: the first derivatives of f. a2, a3, a4: higher ones by a, b2: the second by b; n1, n2, n3: mixed ones of order
    2, 3, 4."""
    if j == f64(0.0):
        return bell_f64(i, left, a2, a3, a4)
    two = fma(left, left, a2)
    mixed = fma(f64(2.0) * left, n1, n2)
    if j == f64(2.0):
        slope = fma(f64(2.0) * n1, n1, fma(f64(2.0) * left, n2, n3))
        return right * (right * two + mixed) + fma(b2, two, right * mixed) + slope
    if i == f64(1.0):
        return fma(left, right, n1)
    if i == f64(2.0):
        return fma(right, two, mixed)
    three = left * fma(f64(3.0), a2, left * left) + a3
    return right * three + f64(3.0) * (n1 * two + left * n2) + n3


def betainc_ratio_f64(a, b, x, i, j):
    """The derivative of I_x(a, b), i times by a and j times by b (i + j = 1 ... 4), over the density, within 1e-13 of it up to
    a + b = 1000."""
    inside = (a > f64(0.0)) & (b > f64(0.0)) & (x > f64(0.0)) & (x < f64(1.0)) & (a < f64(inf)) & (b < f64(inf))
    p = select(inside, a, f64(1.0))
    q = select(inside, b, f64(1.0))
    s = select(inside, x, f64(0.5))
    t = f64(1.0) - s
    below = beta_is_below_f64(p, q, s, t) == f64(1.0)
    c = select(below, p, q)
    d = select(below, q, p)
    y = select(below, s, t)
    z = select(below, t, s)
    by_c = select(below, i, j)
    by_d = select(below, j, i)
    small = c < f64(1.0)
    c = select(small, c + f64(1.0), c)
    n = c + d
    # of the moment, the parameter with more derivatives comes first
    more = by_c >= by_d
    u = select(more, c, d)
    v = select(more, d, c)
    a2 = f64(0.0)
    a3 = f64(0.0)
    a4 = f64(0.0)
    b2 = f64(0.0)
    n1 = f64(0.0)
    n2 = f64(0.0)
    n3 = f64(0.0)
    m1 = f64(0.0)
    m2 = f64(0.0)
    m3 = f64(0.0)
    if i + j > f64(1.0):
        a2 = -polygamma_f64(f64(1.0), u)
        b2 = -polygamma_f64(f64(1.0), v)
        n1 = polygamma_f64(f64(1.0), n)
        m1 = polygamma_f64(f64(1.0), n - f64(1.0))
    if i + j > f64(2.0):
        a3 = -polygamma_f64(f64(2.0), u)
        a4 = -polygamma_f64(f64(3.0), u)
        n2 = polygamma_f64(f64(2.0), n)
        n3 = polygamma_f64(f64(3.0), n)
        m2 = polygamma_f64(f64(2.0), n - f64(1.0))
        m3 = polygamma_f64(f64(3.0), n - f64(1.0))
    high = select(more, by_c, by_d)
    low = select(more, by_d, by_c)
    of_c = log_f64(y) - digamma_f64(c)
    of_d = log_f64(z) - digamma_f64(d)
    joint = digamma_f64(n)
    slope = fma(c, z, -d * y)
    scale = fdiv(f64(2.0), slope + sqrt(fma(slope, slope, f64(2.0) * n * y * z)))
    e = f64(42.52108200006278)
    total = f64(0.0)
    drop = f64(0.0)
    k = f64(0.0)
    while (drop < f64(45.0)) & (k < f64(121.0)):
        place = fdiv(exp_f64(-e), e)
        w = scale * place
        if c < d:
            rest = log1p_f64(y * expm1_f64(-w))
            log_t = w + rest
            drop = fma(c, w, n * rest)
        else:
            log_t = log1p_f64(z * expm1_f64(w))
            rest = log_t - w
            drop = fma(n, log_t, -d * w)
        first = of_c + joint - log_t
        second = of_d + joint - rest
        left = select(more, first, second)
        right = select(more, second, first)
        moment = beta_moment_f64(high, low, left, right, a2 + n1, a3 + n2, a4 + n3, b2 + n1, n1, n2, n3)
        total = total + place * (f64(1.0) + e) * exp_f64(-drop) * moment
        e = e * f64(0.9394130628134758)
        k = k + f64(1.0)
    total = total * scale * f64(0.0625) * y * z
    if small:
        # I_x(a, b) - I_x(a + 1, b), whose density has n - 1 in the place of n
        joint = digamma_f64(n - f64(1.0))
        left = select(more, of_c, of_d) + joint
        right = select(more, of_d, of_c) + joint
        moment = beta_moment_f64(high, low, left, right, a2 + m1, a3 + m2, a4 + m3, b2 + m1, m1, m2, m3)
        total = fdiv(y, c - f64(1.0)) * fma(n - f64(1.0), total, z * moment)
    out = select(below, total, -total)
    end = (a > f64(0.0)) & (b > f64(0.0)) & ((x == f64(0.0)) | (x == f64(1.0)))
    return select(inside, out, select(end, f64(0.0), f64(nan)))


def betainc_ratio_f32(a, b, x, i, j):
    """The derivative of I_x(a, b) over the density, 1 ulp, in float64."""
    return f32(betainc_ratio_f64(f64(a), f64(b), f64(x), i, j))
