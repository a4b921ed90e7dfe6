"""Functions of complex numbers, complex128 (complex64 goes through it: vecmath.py).

Branch cuts and zeros as C99's; the inverse functions follow Kahan, "Branch cuts for complex elementary functions"
(1987), so that they keep their digits near the cuts. The bound is in the sense of |error| / |result|: 8 units of
2^-53 away from overflow.
"""

from funcgrad.codegen.math_exp import (
    asinh_f64,
    cosh_f64,
    exp2_f64,
    exp_f64,
    expm1_f64,
    log1p_f64,
    log_f64,
    sinh_f64,
)
from funcgrad.codegen.math_trig import atan2_f64, cos_f64, sin_f64, tan_f64
from funcgrad.codegen.words import (
    add,
    c128of,
    copysign,
    f64,
    fabs,
    fdiv,
    fma,
    imag,
    inf,
    mul,
    neg,
    real,
    select,
    sqrt,
    sub,
)

SIGNATURES = {"abs_c128": (("c128",), "f64"), "over_c128": (("c128", "f64"), "c128")}


def abs_c128(z):
    """|z| without overflow."""
    x = fabs(real(z))
    y = fabs(imag(z))
    m = select(x > y, x, y)
    n = select(x > y, y, x)
    q = fdiv(n, m)
    out = select(m == f64(0.0), m, m * sqrt(fma(q, q, f64(1.0))))
    out = select((x != x) | (y != y), x + y, out)
    return select((x == f64(inf)) | (y == f64(inf)), f64(inf), out)


def over_c128(z, d):
    """z / d for a real d."""
    return c128of(fdiv(real(z), d), fdiv(imag(z), d))


def div_c128(z, w):
    """z / w after Smith ("Algorithm 116", CACM 1962): no overflow on the way."""
    a = real(z)
    b = imag(z)
    c = real(w)
    d = imag(w)
    wide = fabs(c) >= fabs(d)
    r = select(wide, fdiv(d, c), fdiv(c, d))
    r = select((c == f64(0.0)) & (d == f64(0.0)), f64(0.0), r)
    bottom = select(wide, fma(d, r, c), fma(c, r, d))
    re = select(wide, fma(b, r, a), fma(a, r, b))
    im = select(wide, fma(-a, r, b), fma(b, r, -a))
    return c128of(fdiv(re, bottom), fdiv(im, bottom))


def sign_c128(z):
    """z / |z|, 0 at 0."""
    a = abs_c128(z)
    return over_c128(z, select(a == f64(0.0), f64(1.0), a))


def exp_c128(z):
    """e^x (cos y + i sin y)."""
    y = imag(z)
    e = exp_f64(real(z))
    return c128of(select(y == f64(0.0), e, e * cos_f64(y)), select(y == f64(0.0), y, e * sin_f64(y)))


def exp2_c128(z):
    """2^z."""
    a = imag(z) * f64(0.6931471805599453)
    e = exp2_f64(real(z))
    return c128of(e * cos_f64(a), e * sin_f64(a))


def expm1_c128(z):
    """exp(z) - 1."""
    x = real(z)
    y = imag(z)
    h = sin_f64(y * f64(0.5))
    return c128of(fma(expm1_f64(x), cos_f64(y), f64(-2.0) * h * h), exp_f64(x) * sin_f64(y))


def log_c128(z):
    """log |z| + i angle; near |z| = 1 by log1p."""
    x = fabs(real(z))
    y = fabs(imag(z))
    m = select(x > y, x, y)
    n = select(x > y, y, x)
    close = f64(0.5) * log1p_f64(fma(m - f64(1.0), m + f64(1.0), n * n))
    far = log_f64(abs_c128(z))
    return c128of(select((m > f64(0.5)) & (m < f64(1.5)), close, far), atan2_f64(imag(z), real(z)))


def log1p_c128(z):
    """log(1 + z)."""
    x = real(z)
    y = imag(z)
    close = f64(0.5) * log1p_f64(fma(x, x + f64(2.0), y * y))
    far = log_c128(c128of(x + f64(1.0), y))
    return c128of(select(fabs(x) + fabs(y) < f64(0.5), close, real(far)), imag(far))


def sqrt_c128(z):
    """The root with a non-negative real part."""
    x = real(z)
    y = imag(z)
    t = sqrt(f64(0.5) * fabs(x) + f64(0.5) * abs_c128(z))
    other = select(t == f64(0.0), fabs(y), fdiv(fabs(y), t + t))
    re = select(x >= f64(0.0), t, other)
    im = select(x >= f64(0.0), other, t)
    re = select(fabs(y) == f64(inf), f64(inf), re)
    return c128of(re, copysign(select(fabs(y) == f64(inf), f64(inf), im), y))


def rsqrt_c128(z):
    """1 / sqrt(z)."""
    return div_c128(c128of(f64(1.0), f64(0.0)), sqrt_c128(z))


def sin_c128(z):
    x = real(z)
    y = imag(z)
    return c128of(sin_f64(x) * cosh_f64(y), cos_f64(x) * sinh_f64(y))


def cos_c128(z):
    x = real(z)
    y = imag(z)
    return c128of(cos_f64(x) * cosh_f64(y), -(sin_f64(x) * sinh_f64(y)))


def sinh_c128(z):
    x = real(z)
    y = imag(z)
    return c128of(sinh_f64(x) * cos_f64(y), cosh_f64(x) * sin_f64(y))


def cosh_c128(z):
    x = real(z)
    y = imag(z)
    return c128of(cosh_f64(x) * cos_f64(y), sinh_f64(x) * sin_f64(y))


def tanh_c128(z):
    """With t = tan y, s = sinh x: ((1 + t^2) sqrt(1 + s^2) s + i t) / (1 + (1 + t^2) s^2)."""
    x = real(z)
    y = imag(z)
    far = fabs(x) > f64(20.0)
    s = sinh_f64(select(far, f64(0.0), x))
    t = tan_f64(y)
    beta = fma(t, t, f64(1.0))
    bottom = fma(beta * s, s, f64(1.0))
    near_re = fdiv(beta * sqrt(fma(s, s, f64(1.0))) * s, bottom)
    far_im = f64(4.0) * sin_f64(y) * cos_f64(y) * exp_f64(f64(-2.0) * fabs(x))
    return c128of(select(far, copysign(f64(1.0), x), near_re), select(far, far_im, fdiv(t, bottom)))


def tan_c128(z):
    """-i tanh(i z)."""
    w = tanh_c128(c128of(-imag(z), real(z)))
    return c128of(imag(w), -real(w))


def logistic_c128(z):
    """1 / (1 + exp(-z))."""
    return div_c128(c128of(f64(1.0), f64(0.0)), add(c128of(f64(1.0), f64(0.0)), exp_c128(neg(z))))


def asin_c128(z):
    one = c128of(f64(1.0), f64(0.0))
    a = sqrt_c128(sub(one, z))
    b = sqrt_c128(add(one, z))
    return c128of(
        atan2_f64(real(z), real(mul(a, b))),
        asinh_f64(fma(real(a), imag(b), -(imag(a) * real(b)))),
    )


def acos_c128(z):
    one = c128of(f64(1.0), f64(0.0))
    a = sqrt_c128(sub(one, z))
    b = sqrt_c128(add(one, z))
    return c128of(
        f64(2.0) * atan2_f64(real(a), real(b)),
        asinh_f64(fma(real(b), imag(a), -(imag(b) * real(a)))),
    )


def acosh_c128(z):
    one = c128of(f64(1.0), f64(0.0))
    a = sqrt_c128(sub(z, one))
    b = sqrt_c128(add(z, one))
    return c128of(asinh_f64(fma(real(a), real(b), imag(a) * imag(b))), f64(2.0) * atan2_f64(imag(a), real(b)))


def asinh_c128(z):
    """-i asin(i z)."""
    w = asin_c128(c128of(-imag(z), real(z)))
    return c128of(imag(w), -real(w))


def atanh_c128(z):
    """log1p(4x / ((1 - x)^2 + y^2)) / 4 + i atan2(2y, (1 - x)(1 + x) - y^2) / 2, on the side of x >= 0."""
    x = fabs(real(z))
    y = imag(z)
    d = f64(1.0) - x
    re = f64(0.25) * log1p_f64(fdiv(f64(4.0) * x, fma(d, d, y * y)))
    im = f64(0.5) * atan2_f64(y + y, fma(d, f64(1.0) + x, -(y * y)))
    return c128of(copysign(re, real(z)), im)


def atan_c128(z):
    """-i atanh(i z)."""
    w = atanh_c128(c128of(-imag(z), real(z)))
    return c128of(imag(w), -real(w))


def pow_c128(z, w):
    """exp(w log z); 0 to a power with a positive real part is 0, anything to the 0 is 1."""
    out = exp_c128(mul(w, log_c128(z)))
    nothing = (real(z) == f64(0.0)) & (imag(z) == f64(0.0))
    out = select(nothing & (real(w) > f64(0.0)), c128of(f64(0.0), f64(0.0)), out)
    return select((real(w) == f64(0.0)) & (imag(w) == f64(0.0)), c128of(f64(1.0), f64(0.0)), out)
