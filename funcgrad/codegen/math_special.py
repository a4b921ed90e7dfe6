"""The error function and its kin, powers, roots.

erf: near 0 an odd polynomial; beyond, erfc(a) = exp(-a^2) E(a), where (1 + 2a) E(a) is smooth in
t = (a - 3.5) / (a + 3.5) and a polynomial there (after Shepherd and Laframboise, "Chebyshev approximation of
(1 + 2x) exp(x^2) erfc x", Math. Comp. 36, 1981), a^2 in two parts. erf_inv: x P(w), w = -log(1 - x^2), in two
ranges (the form is Giles's, "Approximating the erfinv function", GPU Computing Gems 2, 2011). pow: y log x
in two parts of float64. All coefficients are our own minimax fits.
"""

from funcgrad.codegen.math_exp import (
    exp_f64,
    exp_q_f64,
    exp_scaled_f32,
    exponent_f64,
    log1p_f32,
    log_f64,
    scaled_f64,
    two_to_f64,
)
from funcgrad.codegen.words import (
    bits_f64,
    bits_i64,
    copysign,
    f32,
    f64,
    fabs,
    fdiv,
    floor,
    fma,
    i32,
    i64,
    inf,
    is_nan,
    nan,
    rint,
    select,
    shl,
    sqrt,
    sub,
)

SIGNATURES = {"exp_pair_f64": (("f64", "f64"), "f64")}


def exp_pair_f64(x, low):
    """exp(x + low) for a small low; x beyond [-746, 710] counts as those."""
    x = select(x > f64(710.0), f64(710.0), x)
    x = select(x < f64(-746.0), f64(-746.0), x)
    n = fma(x, f64(1.4426950408889634), f64(6755399441055744.0))
    k = n - f64(6755399441055744.0)
    r = fma(k, f64(-0.6931471805599453), x)
    s = fma(k, f64(-2.3190468138462996e-17), low)
    t = r + s
    p = f64(1.0) + (t + fma(t * t, exp_q_f64(t), s - (t - r)))
    return scaled_f64(p, sub(bits_i64(n), i64(0x4338000000000000)))


def erf_near_f64(x):
    """erf for |x| <= 1."""
    z = x * x
    p = fma(z, f64(-7.801187568010668e-10), f64(1.3722974371390673e-08))
    p = fma(z, p, f64(-1.620917515547855e-07))
    p = fma(z, p, f64(1.6447517530877445e-06))
    p = fma(z, p, f64(-1.4924744646838985e-05))
    p = fma(z, p, f64(0.00012055295319351913))
    p = fma(z, p, f64(-0.0008548325989646998))
    p = fma(z, p, f64(0.005223977607422121))
    p = fma(z, p, f64(-0.026866170643276))
    p = fma(z, p, f64(0.11283791670945251))
    p = fma(z, p, f64(-0.3761263890318355))
    p = fma(z, p, f64(0.12837916709551256))
    return fma(x, p, x)


def erfcx_far_f64(a):
    """exp(a^2) erfc(a) (1 + 2 a) for 0.45 <= a <= 28."""
    t = fdiv(a - f64(3.5), a + f64(3.5))
    p = fma(t, f64(-1.9527880938523758e-10), f64(-1.7674310044843145e-09))
    p = fma(t, p, f64(1.0990951682154894e-09))
    p = fma(t, p, f64(1.6222542706969222e-08))
    p = fma(t, p, f64(-1.7930025302728333e-09))
    p = fma(t, p, f64(-1.0137188952051363e-07))
    p = fma(t, p, f64(-5.216220271202047e-09))
    p = fma(t, p, f64(6.070038623544432e-07))
    p = fma(t, p, f64(-4.6109012277429386e-08))
    p = fma(t, p, f64(-3.817927520835706e-06))
    p = fma(t, p, f64(2.3291231018600134e-06))
    p = fma(t, p, f64(2.4262137709153792e-05))
    p = fma(t, p, f64(-4.278245759683327e-05))
    p = fma(t, p, f64(-0.00012151269300905689))
    p = fma(t, p, f64(0.0005643844576623388))
    p = fma(t, p, f64(-0.0003022678377762457))
    p = fma(t, p, f64(-0.004215019912154639))
    p = fma(t, p, f64(0.01909933093886411))
    p = fma(t, p, f64(-0.04882332582762329))
    p = fma(t, p, f64(0.08798315382504028))
    p = fma(t, p, f64(-0.11508959816020116))
    p = fma(t, p, f64(0.09751909515325466))
    p = fma(t, p, f64(-0.010555596332218168))
    p = fma(t, p, f64(-0.1400091801376194))
    return fma(t, p, f64(1.2423492448711544))


def erfc_far_f64(a):
    """erfc for a >= 0.45."""
    p = erfcx_far_f64(a)
    square = fma(a, a, f64(-0.0))
    return fdiv(exp_pair_f64(-square, -fma(a, a, -square)) * p, fma(f64(2.0), a, f64(1.0)))


def erf_f64(x):
    """erf, 1 ulp."""
    a = fabs(x)
    b = select(a > f64(6.5), f64(6.5), a)
    return select(a < f64(1.0), erf_near_f64(x), copysign(f64(1.0) - erfc_far_f64(b), x))


def erf_f32(x):
    """erf, 1 ulp: past 0.9, 1 - exp(q) with a polynomial q = log(erfc)."""
    a = fabs(x)
    z = a * a
    p = fma(z, f32(-0.00061112933), f32(0.0050162286))
    p = fma(z, p, f32(-0.026781958))
    p = fma(z, p, f32(0.1128223))
    p = fma(z, p, f32(-0.37612534))
    p = fma(z, p, f32(0.12837915))
    near = fma(a, p, a)
    b = select(a > f32(4.0), f32(4.0), a)
    q = fma(b, f32(-8.818459e-07), f32(-9.297278e-06))
    q = fma(b, q, f32(0.00036683335))
    q = fma(b, q, f32(-0.003954044))
    q = fma(b, q, f32(0.02469289))
    q = fma(b, q, f32(-0.107754074))
    q = fma(b, q, f32(-0.6337446))
    q = fma(b, q, f32(-1.1293464))
    q = fma(b, q, f32(0.00014396818))
    far = f32(1.0) - exp_scaled_f32(q, i32(0))
    return copysign(select(a < f32(0.9), near, far), x)


def erfc_f64(x):
    """erfc, 4 ulp."""
    a = fabs(x)
    b = select(a > f64(28.0), f64(28.0), a)
    far = erfc_far_f64(b)
    far = select(x < f64(0.0), f64(2.0) - far, far)
    return select(a < f64(0.5), f64(1.0) - erf_near_f64(x), far)


def erfc_f32(x):
    """erfc, 1 ulp, in float64."""
    return f32(erfc_f64(f64(x)))


def erf_inv_f32(x):
    """The inverse of erf, 3 ulp."""
    w = -log1p_f32(-(x * x))
    w = select(fabs(x) > f32(0.5), -log1p_f32(x) - log1p_f32(-x), w)
    u = w - f32(2.5)
    p = fma(u, f32(-8.791104e-09), f32(2.323249e-08))
    p = fma(u, p, f32(4.661712e-07))
    p = fma(u, p, f32(-3.462703e-06))
    p = fma(u, p, f32(-4.9633495e-06))
    p = fma(u, p, f32(0.00021834443))
    p = fma(u, p, f32(-0.0012527419))
    p = fma(u, p, f32(-0.004177387))
    p = fma(u, p, f32(0.24664028))
    p = fma(u, p, f32(1.5014094))
    v = sqrt(w) - f32(3.0)
    q = fma(v, f32(0.00011671518), f32(-0.0003104267))
    q = fma(v, q, f32(-5.826548e-05))
    q = fma(v, q, f32(0.0014861318))
    q = fma(v, q, f32(-0.0035966209))
    q = fma(v, q, f32(0.0056865895))
    q = fma(v, q, f32(-0.0076374537))
    q = fma(v, q, f32(0.009445329))
    q = fma(v, q, f32(1.001675))
    q = fma(v, q, f32(2.8329768))
    out = x * select(w < f32(5.0), p, q)
    return select(fabs(x) == f32(1.0), copysign(f32(inf), x), out)


def halley_erf_inv_f64(y, a):
    """A better solution of erf(y) = a, given one with a few digits."""
    near = erf_near_f64(y) - a
    tail = (f64(1.0) - a) - erfc_far_f64(select(y < f64(0.45), f64(0.45), y))
    step = select(y < f64(0.5), near, tail) * f64(0.886226925452758) * exp_f64(y * y)
    return y - fdiv(step, fma(y, step, f64(1.0)))


def erf_inv_f64(x):
    """The inverse of erf, 4 ulp: the float32 approximation and two of Halley's steps on erf (on erfc past 1/2)."""
    a = fabs(x)
    w = -(log_f64((f64(1.0) - a) * (f64(1.0) + a)))
    u = select(w < f64(5.0), w, f64(5.0)) - f64(2.5)
    p = fma(u, f64(-8.791104e-09), f64(2.323249e-08))
    p = fma(u, p, f64(4.661712e-07))
    p = fma(u, p, f64(-3.462703e-06))
    p = fma(u, p, f64(-4.9633495e-06))
    p = fma(u, p, f64(0.00021834443))
    p = fma(u, p, f64(-0.0012527419))
    p = fma(u, p, f64(-0.004177387))
    p = fma(u, p, f64(0.24664028))
    p = fma(u, p, f64(1.5014094))
    s = sqrt(select(w < f64(5.0), f64(5.0), w))
    v = select(s > f64(4.0), f64(1.0), s - f64(3.0))
    q = fma(v, f64(0.00011671518), f64(-0.0003104267))
    q = fma(v, q, f64(-5.826548e-05))
    q = fma(v, q, f64(0.0014861318))
    q = fma(v, q, f64(-0.0035966209))
    q = fma(v, q, f64(0.0056865895))
    q = fma(v, q, f64(-0.0076374537))
    q = fma(v, q, f64(0.009445329))
    q = fma(v, q, f64(1.001675))
    q = fma(v, q, f64(2.8329768))
    # beyond the range of the fit, erf_inv grows as sqrt(w)
    y = a * select(w < f64(5.0), p, q)
    y = select(s > f64(4.0), y * fdiv(s, f64(4.0)), y)
    y = halley_erf_inv_f64(halley_erf_inv_f64(y, a), a)
    y = select(a < f64(1e-8), a * f64(0.886226925452758), y)
    y = select(a == f64(1.0), f64(inf), y)
    return copysign(select(a <= f64(1.0), y, f64(nan)), x)


def pow_finish_f64(r, x, y):
    """|x|^y = r with the sign and the exceptions that C99 gives pow."""
    whole = floor(y) == y
    half = y * f64(0.5)
    odd = whole & (floor(half) != half)
    minus = bits_i64(x) < i64(0)
    r = select(minus & odd, -r, r)
    r = select((x < f64(0.0)) & (whole == (y != y)) & (fabs(x) < f64(inf)), f64(nan), r)
    r = select(is_nan(x) | is_nan(y), f64(nan), r)
    r = select((x == f64(-1.0)) & (fabs(y) == f64(inf)), f64(1.0), r)
    return select((y == f64(0.0)) | (x == f64(1.0)), f64(1.0), r)


def pow_f64(x, y):
    """x to the y, 1 ulp: log(m) = 2 atanh(s), its first terms in two parts, as all of y log x."""
    a = fabs(x)
    tiny = a < f64(2.2250738585072014e-308)
    b = select(tiny, a * f64(18014398509481984.0), a)
    k = exponent_f64(b)
    f = bits_f64(sub(bits_i64(b), shl(k, i64(52)))) - f64(1.0)
    e = f64(k) - select(tiny, f64(54.0), f64(0.0))
    d = f64(2.0) + f
    s = fdiv(f, d)
    s_low = fdiv(fma(-s, f - (d - f64(2.0)), fma(-s, d, f)), d)
    z = fma(s, s, f64(-0.0))
    z_low = fma(s + s, s_low, fma(s, s, -z))
    t = fma(s, z, f64(-0.0))
    t_low = fma(s, z_low, fma(s_low, z, fma(s, z, -t)))
    c = fma(t, f64(0.6666666666666666), f64(-0.0))
    c_low = fma(t_low, f64(0.6666666666666666), fma(t, f64(3.700743415417188e-17), fma(t, f64(0.6666666666666666), -c)))
    p = fma(z, f64(0.11911681852261227), f64(0.11685427588136013))
    p = fma(z, p, f64(0.13335723437712796))
    p = fma(z, p, f64(0.15384574307245957))
    p = fma(z, p, f64(0.18181818584042106))
    p = fma(z, p, f64(0.2222222222011971))
    p = fma(z, p, f64(0.2857142857143355))
    p = fma(z, p, f64(0.39999999999999997))
    high = e * f64(0.6931471803691238)
    sum1 = high + (s + s)
    rest = (s + s) - (sum1 - high)
    sum2 = sum1 + c
    rest = rest + (c - (sum2 - sum1))
    low = rest + fma(e, f64(1.9082149292705877e-10), c_low + fma(t * z, p, s_low + s_low))
    log = sum2 + low
    log_low = low - (log - sum2)
    # past these the result is 0 or infinite whatever x is
    g = select(y > f64(1e19), f64(1e19), select(y < f64(-1e19), f64(-1e19), y))
    product = fma(g, log, f64(-0.0))
    rest = select(fabs(product) > f64(1000.0), f64(0.0), fma(g, log_low, fma(g, log, -product)))
    r = exp_pair_f64(product, rest)
    r = select(a == f64(1.0), f64(1.0), r)
    end = (a == f64(0.0)) | (a == f64(inf))
    r = select(end, select((a == f64(0.0)) == (y > f64(0.0)), f64(0.0), f64(inf)), r)
    return pow_finish_f64(r, x, y)


def pow_f32(x, y):
    """x to the y, 1 ulp: exp(y log |x|) in float64."""
    a = fabs(f64(x))
    d = f64(y)
    product = select(a == f64(1.0), f64(0.0), d * log_f64(a))
    return f32(pow_finish_f64(exp_f64(product), f64(x), d))


def rsqrt_f32(x):
    """1 / sqrt(x), 1 ulp, in float64."""
    return f32(fdiv(f64(1.0), sqrt(f64(x))))


def rsqrt_f64(x):
    """1 / sqrt(x), 2 ulp."""
    return fdiv(f64(1.0), sqrt(x))


def cbrt_f64(x):
    """The cube root, 1 ulp: x = 2^(3e) m, y = m^(-1/3) by a polynomial and Newton's steps, m y^2 corrected once."""
    a = fabs(x)
    tiny = a < f64(2.2250738585072014e-308)
    b = select(tiny, a * f64(18014398509481984.0), a)
    third = i64(rint(f64(exponent_f64(b)) * f64(0.3333333333333333)))
    down = sub(i64(0), third)
    m = b * two_to_f64(down) * two_to_f64(down) * two_to_f64(down)
    y = fma(m, f64(0.05239347465566942), f64(-0.4130763147293463))
    y = fma(m, y, f64(1.2251152626073503))
    y = fma(m, y, f64(-1.764124569256139))
    y = fma(m, y, f64(1.8929174973029266))
    for _ in range(3):
        y = y * fma(m * y, (y * y) * f64(-0.3333333333333333), f64(1.3333333333333333))
    root = m * y * y
    square = root * root
    root = root - fma(square, root, -m) * (y * y) * f64(0.3333333333333333)
    out = root * two_to_f64(sub(third, select(tiny, i64(18), i64(0))))
    return select((a == f64(0.0)) | (a == f64(inf)) | is_nan(x), x, copysign(out, x))


def cbrt_f32(x):
    """The cube root, 1 ulp, in float64."""
    return f32(cbrt_f64(f64(x)))
