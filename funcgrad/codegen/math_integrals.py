"""Exponential, sine and cosine integrals, Fresnel's, Spence's function, Owen's T, in float64.

Where power series end, the continued fractions of the exponential integral and of erfc, for operands on the imaginary axis too
(DLMF 6.9.1, 7.9.1, in their even parts), from the end.
"""

from funcgrad.codegen.math_exp import exp_f64, log1p_f64, log_f64
from funcgrad.codegen.math_trig import cos_f64, sin_f64
from funcgrad.codegen.words import copysign, f32, f64, fabs, fdiv, floor, fma, inf, is_nan, nan, rint, select

SIGNATURES: dict[str, tuple[tuple[str, ...], str]] = {}


def exp1_far_f64(x):
    """exp(x) E1(x) for x >= 1."""
    k = floor(f64(16.0) + fdiv(f64(90.0), x))
    rest = f64(0.0)
    while k > f64(0.0):
        rest = fdiv(k * k, x + f64(2.0) * k + f64(1.0) - rest)
        k = k - f64(1.0)
    return fdiv(f64(1.0), x + f64(1.0) - rest)


def exp1_f64(x):
    """The integral of exp(-t) / t from x on, 16 ulp."""
    y = select(x < f64(1.0), x, f64(1.0))
    p = fma(y, f64(4.326650129802279e-19), f64(-8.677337204770125e-18))
    p = fma(y, p, f64(1.6537983849091297e-16))
    p = fma(y, p, f64(-2.9871733327421158e-15))
    p = fma(y, p, f64(5.0981091545465446e-14))
    p = fma(y, p, f64(-8.193389712664089e-13))
    p = fma(y, p, f64(1.2353110643708935e-11))
    p = fma(y, p, f64(-1.7397297489890083e-10))
    p = fma(y, p, f64(2.27746439867652e-09))
    p = fma(y, p, f64(-2.755731922398589e-08))
    p = fma(y, p, f64(3.0619243582206544e-07))
    p = fma(y, p, f64(-3.1001984126984127e-06))
    p = fma(y, p, f64(2.834467120181406e-05))
    p = fma(y, p, f64(-0.0002314814814814815))
    p = fma(y, p, f64(0.0016666666666666668))
    p = fma(y, p, f64(-0.010416666666666666))
    p = fma(y, p, f64(0.05555555555555555))
    p = fma(y, p, f64(-0.25))
    p = fma(y, p, f64(1.0))
    near = fma(y, p, f64(-0.5772156649015329)) - log_f64(select(y > f64(0.0), y, f64(1.0)))
    z = select(x > f64(1.0), select(x > f64(750.0), f64(750.0), x), f64(1.0))
    far = exp_f64(-z) * exp1_far_f64(z)
    out = select(x < f64(1.0), near, far)
    out = select(x == f64(0.0), f64(inf), out)
    return select((x < f64(0.0)) | is_nan(x), f64(nan), out)


def exp1_f32(x):
    """The integral of exp(-t) / t from x on, in float64."""
    return f32(exp1_f64(f64(x)))


def expi_f64(x):
    """The principal value of the integral of exp(t) / t up to x, within 16 units of 2^-53 of max(1, |result|) near its zero,
    else 16 ulp: the power series (DLMF 6.6.2) up to 40, the asymptotic one (DLMF 6.12.2) beyond."""
    y = select((x > f64(0.0)) & (x < f64(40.0)), x, f64(1.0))
    term = f64(1.0)
    total = f64(0.0)
    k = f64(0.0)
    while (term > f64(1e-17) * total) & (k < f64(200.0)):
        k = k + f64(1.0)
        term = fdiv(term * y, k)
        total = total + fdiv(term, k)
    near = f64(0.5772156649015329) + log_f64(y) + total
    z = select(x > f64(40.0), x, f64(40.0))
    term = f64(1.0)
    total = f64(1.0)
    k = f64(1.0)
    while (term > f64(1e-17)) & (k < f64(40.0)):
        term = fdiv(term * k, z)
        total = total + term
        k = k + f64(1.0)
    half = exp_f64(f64(0.5) * z)
    far = fdiv(half, z) * total * half
    out = select(x < f64(40.0), near, far)
    out = select(x < f64(0.0), -exp1_f64(-x), out)
    out = select(x == f64(0.0), f64(-inf), out)
    out = select(x == f64(inf), f64(inf), out)
    return select(is_nan(x), x, out)


def expi_f32(x):
    """The principal value of the integral of exp(t) / t up to x, in float64."""
    return f32(expi_f64(f64(x)))


def dilog_f64(u):
    """The dilogarithm of 1 - exp(-u) for |u| <= 0.7, 4 ulp: its series in Bernoulli numbers."""
    z = u * u
    p = fma(z, f64(1.3091507554183213e-22), f64(-5.581785874325009e-21))
    p = fma(z, p, f64(2.395218621026187e-19))
    p = fma(z, p, f64(-1.0356517612181247e-17))
    p = fma(z, p, f64(4.518980029619918e-16))
    p = fma(z, p, f64(-1.9939295860721074e-14))
    p = fma(z, p, f64(8.921691020456452e-13))
    p = fma(z, p, f64(-4.0647616451442256e-11))
    p = fma(z, p, f64(1.8978869988971e-09))
    p = fma(z, p, f64(-9.185773074661964e-08))
    p = fma(z, p, f64(4.72411186696901e-06))
    p = fma(z, p, f64(-0.0002777777777777778))
    p = fma(z, p, f64(0.027777777777777776))
    return u * fma(z, p, fma(u, f64(-0.25), f64(1.0)))


def spence_f64(x):
    """The dilogarithm of 1 - x, 8 ulp: by DLMF 25.12.4 and 25.12.6 from where it has a fast series."""
    inverse = x > f64(2.0)
    y = select(inverse, fdiv(f64(1.0), x), x)
    y = select((y > f64(0.0)) & (y <= f64(2.0)), y, f64(1.0))
    log = select(y < f64(0.5), log_f64(y), log1p_f64(y - f64(1.0)))
    low = select(y < f64(0.5), y, f64(0.0))
    log_rest = log1p_f64(-low)
    value = select(
        y < f64(0.5),
        fma(-log, log_rest, f64(1.6449340668482264)) - dilog_f64(-log_rest),
        dilog_f64(-select(y < f64(0.5), f64(0.0), log)),
    )
    big = log_f64(select(inverse, x, f64(1.0)))
    out = select(inverse, -value - f64(0.5) * big * big, value)
    out = select(x == f64(0.0), f64(1.6449340668482264), out)
    # at infinity as SciPy
    return select((x < f64(0.0)) | (x == f64(inf)) | is_nan(x), f64(nan), out)


def spence_f32(x):
    """The dilogarithm of 1 - x, in float64."""
    return f32(spence_f64(f64(x)))


def sici_far_f64(x, imaginary):
    """The real part, or the imaginary one where `imaginary` is 1, of exp(i x) E1(i x) for x >= 4."""
    k = floor(f64(14.0) + fdiv(f64(100.0), x))
    re = f64(0.0)
    im = f64(0.0)
    while k > f64(0.0):
        top = k * k
        u = f64(2.0) * k + f64(1.0) - re
        v = x - im
        size = fdiv(top, fma(u, u, v * v))
        re = u * size
        im = -v * size
        k = k - f64(1.0)
    u = f64(1.0) - re
    v = x - im
    size = fdiv(f64(1.0), fma(u, u, v * v))
    return select(imaginary == f64(1.0), -v * size, u * size)


def si_f64(x):
    """The integral of sin(t) / t from 0 to x, 8 ulp."""
    a = fabs(x)
    y = select(a < f64(4.0), a, f64(4.0))
    z = y * y
    p = fma(z, f64(3.8999872022233505e-33), f64(-3.401366616220572e-30))
    p = fma(z, p, f64(2.5787801137537893e-27))
    p = fma(z, p, f64(-1.6818131176655147e-24))
    p = fma(z, p, f64(9.32044812542441e-22))
    p = fma(z, p, f64(-4.326650129802279e-19))
    p = fma(z, p, f64(1.6537983849091297e-16))
    p = fma(z, p, f64(-5.0981091545465446e-14))
    p = fma(z, p, f64(1.2353110643708935e-11))
    p = fma(z, p, f64(-2.27746439867652e-09))
    p = fma(z, p, f64(3.0619243582206544e-07))
    p = fma(z, p, f64(-2.834467120181406e-05))
    p = fma(z, p, f64(0.0016666666666666668))
    p = fma(z, p, f64(-0.05555555555555555))
    p = fma(z, p, f64(1.0))
    near = y * p
    b = select(a > f64(4.0), select(a > f64(1e17), f64(1e17), a), f64(4.0))
    re = sici_far_f64(b, f64(0.0))
    im = sici_far_f64(b, f64(1.0))
    far = f64(1.5707963267948966) + (im * cos_f64(b) - re * sin_f64(b))
    return select(is_nan(x), x, copysign(select(a < f64(4.0), near, far), x))


def si_f32(x):
    """The integral of sin(t) / t from 0 to x, in float64."""
    return f32(si_f64(f64(x)))


def ci_f64(x):
    """The cosine integral, within 16 units of 2^-53 of max(1, |result|) below 4; beyond, of 1 / x."""
    a = fabs(x)
    y = select(a < f64(4.0), a, f64(4.0))
    z = y * y
    p = fma(z, f64(1.1713890132392279e-31), f64(-9.53690870471076e-29))
    p = fma(z, p, f64(6.715573212900493e-26))
    p = fma(z, p, f64(-4.0439960874775335e-23))
    p = fma(z, p, f64(2.0551588116560825e-20))
    p = fma(z, p, f64(-8.677337204770125e-18))
    p = fma(z, p, f64(2.9871733327421158e-15))
    p = fma(z, p, f64(-8.193389712664089e-13))
    p = fma(z, p, f64(1.7397297489890083e-10))
    p = fma(z, p, f64(-2.755731922398589e-08))
    p = fma(z, p, f64(3.1001984126984127e-06))
    p = fma(z, p, f64(-0.0002314814814814815))
    p = fma(z, p, f64(0.010416666666666666))
    p = fma(z, p, f64(-0.25))
    near = f64(0.5772156649015329) + log_f64(select(y > f64(0.0), y, f64(1.0))) + z * p
    b = select(a > f64(4.0), select(a > f64(1e300), f64(1e300), a), f64(4.0))
    re = sici_far_f64(select(b > f64(1e17), f64(1e17), b), f64(0.0))
    im = sici_far_f64(select(b > f64(1e17), f64(1e17), b), f64(1.0))
    far = -(re * cos_f64(b) + im * sin_f64(b))
    far = select(b > f64(1e17), fdiv(sin_f64(b), b), far)
    out = select(a < f64(4.0), near, far)
    out = select(a == f64(0.0), f64(-inf), out)
    out = select(x == f64(inf), f64(0.0), out)
    return select((x == f64(-inf)) | is_nan(x), f64(nan), out)


def ci_f32(x):
    """The cosine integral, in float64."""
    return f32(ci_f64(f64(x)))


def fresnel_far_f64(x, sine):
    """C(x), or S(x) where `sine` is 1, for x >= 1.5: from erfc of a multiple of 1 - i."""
    square = fma(x, x, f64(-0.0))
    rest = select(x < f64(1e100), fma(x, x, -square), f64(0.0))
    turn = select(x < f64(1e100), square - f64(4.0) * rint(f64(0.25) * square), f64(0.0)) + rest
    angle = f64(1.5707963267948966) * turn
    # erfc(z) = exp(-z^2) z / sqrt(pi) / (z^2 + 1/2 - 1 2/4 / (z^2 + 5/2 - 3 4/4 / ...)), z^2 = -i s
    s = f64(1.5707963267948966) * select(x < f64(1e100), square, f64(1e200))
    k = floor(f64(14.0) + fdiv(f64(100.0), s))
    re = f64(0.0)
    im = f64(0.0)
    while k > f64(0.0):
        u = f64(2.0) * k + f64(0.5) - re
        v = -s - im
        size = fdiv(k * (k - f64(0.5)), fma(u, u, v * v))
        re = u * size
        im = -v * size
        k = k - f64(1.0)
    u = f64(0.5) - re
    v = -s - im
    size = fdiv(x, f64(2.0) * fma(u, u, v * v))
    # C + i S = (1 + i) / 2 - x / 2 (1 + i) (1 - i) / 2 ... : exp(i s) x (u - i v) / (2 (u^2 + v^2))
    c = cos_f64(angle)
    d = sin_f64(angle)
    real = size * fma(u, c, v * d)
    imaginary = size * fma(u, d, -v * c)
    return f64(0.5) - select(sine == f64(1.0), imaginary, real)


def fresnel_s_f64(x):
    """The integral of sin(pi t^2 / 2) from 0 to x, 16 ulp."""
    a = fabs(x)
    y = select(a < f64(1.5), a, f64(0.0))
    s = f64(1.5707963267948966) * y * y
    z = s * s
    p = fma(z, f64(1.9169428621097826e-33), f64(-1.669761793417372e-30))
    p = fma(z, p, f64(1.2641078988989164e-27))
    p = fma(z, p, f64(-8.230149299214221e-25))
    p = fma(z, p, f64(4.5518467589282e-22))
    p = fma(z, p, f64(-2.107855191442136e-19))
    p = fma(z, p, f64(8.032735012415773e-17))
    p = fma(z, p, f64(-2.466827010264457e-14))
    p = fma(z, p, f64(5.9477940136376354e-12))
    p = fma(z, p, f64(-1.0892221037148573e-09))
    p = fma(z, p, f64(1.4503852223150468e-07))
    p = fma(z, p, f64(-1.3227513227513228e-05))
    p = fma(z, p, f64(0.0007575757575757576))
    p = fma(z, p, f64(-0.023809523809523808))
    p = fma(z, p, f64(0.3333333333333333))
    far = fresnel_far_f64(select(a < f64(1.5), f64(1.5), a), f64(1.0))
    out = select(a < f64(1.5), y * s * p, far)
    return select(is_nan(x), x, copysign(select(a == f64(inf), f64(0.5), out), x))


def fresnel_s_f32(x):
    """The integral of sin(pi t^2 / 2) from 0 to x, in float64."""
    return f32(fresnel_s_f64(f64(x)))


def fresnel_c_f64(x):
    """The integral of cos(pi t^2 / 2) from 0 to x, 16 ulp."""
    a = fabs(x)
    y = select(a < f64(1.5), a, f64(0.0))
    s = f64(1.5707963267948966) * y * y
    z = s * s
    p = fma(z, f64(5.754191643982172e-32), f64(-4.6784835155184856e-29))
    p = fma(z, p, f64(3.289260349175752e-26))
    p = fma(z, p, f64(-1.977064753877905e-23))
    p = fma(z, p, f64(1.0025164934907719e-20))
    p = fma(z, p, f64(-4.221407288807088e-18))
    p = fma(z, p, f64(1.4483264643598138e-15))
    p = fma(z, p, f64(-3.9554295164585257e-13))
    p = fma(z, p, f64(8.35070279514724e-11))
    p = fma(z, p, f64(-1.3122532963802806e-08))
    p = fma(z, p, f64(1.4589169000933706e-06))
    p = fma(z, p, f64(-0.00010683760683760684))
    p = fma(z, p, f64(0.004629629629629629))
    p = fma(z, p, f64(-0.1))
    p = fma(z, p, f64(1.0))
    far = fresnel_far_f64(select(a < f64(1.5), f64(1.5), a), f64(0.0))
    out = select(a < f64(1.5), y * p, far)
    return select(is_nan(x), x, copysign(select(a == f64(inf), f64(0.5), out), x))


def fresnel_c_f32(x):
    """The integral of cos(pi t^2 / 2) from 0 to x, in float64."""
    return f32(fresnel_c_f64(f64(x)))
