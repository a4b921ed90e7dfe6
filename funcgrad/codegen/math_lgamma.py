"""The logarithm of the gamma function, and its derivative."""

from funcgrad.codegen.math_exp import log1p_f64, log_f64
from funcgrad.codegen.math_trig import cos_f64, sin_f64
from funcgrad.codegen.words import copysign, f32, f64, fabs, fdiv, floor, fma, inf, is_nan, nan, rint, select

SIGNATURES: dict[str, tuple[tuple[str, ...], str]] = {}


def lgamma_near_f64(b):
    """log Gamma(2 + b) for |b| <= 1/2, relative to b (DLMF 5.7.3)."""
    p = fma(b, f64(-6.4229645638381e-11), f64(1.330476437424449e-10))
    p = fma(b, p, f64(-2.7595228851242334e-10))
    p = fma(b, p, f64(5.731367241678862e-10))
    p = fma(b, p, f64(-1.1921401405860912e-09))
    p = fma(b, p, f64(2.4836745438024785e-09))
    p = fma(b, p, f64(-5.183475041970047e-09))
    p = fma(b, p, f64(1.0838659214896955e-08))
    p = fma(b, p, f64(-2.2711094608943164e-08))
    p = fma(b, p, f64(4.7698101693639804e-08))
    p = fma(b, p, f64(-1.0043224823968099e-07))
    p = fma(b, p, f64(2.1207184805554665e-07))
    p = fma(b, p, f64(-4.492469198764566e-07))
    p = fma(b, p, f64(9.55141213040742e-07))
    p = fma(b, p, f64(-2.039215753801366e-06))
    p = fma(b, p, f64(4.374866789907488e-06))
    p = fma(b, p, f64(-9.439488275268397e-06))
    p = fma(b, p, f64(2.050721277567069e-05))
    p = fma(b, p, f64(-4.492623673813314e-05))
    p = fma(b, p, f64(9.945751278180853e-05))
    p = fma(b, p, f64(-0.00022315475845357939))
    p = fma(b, p, f64(0.0005096695247430425))
    p = fma(b, p, f64(-0.001192753911703261))
    p = fma(b, p, f64(0.0028905103307415234))
    p = fma(b, p, f64(-0.007385551028673986))
    p = fma(b, p, f64(0.020580808427784546))
    p = fma(b, p, f64(-0.0673523010531981))
    p = fma(b, p, f64(0.3224670334241132))
    return b * fma(b, p, f64(0.42278433509846713))


def lgamma_f64(x):
    """log |gamma(x)|, 8 ulp for x > 0; for x < 0 within 4 ulp of max(1, |result|): Stirling's series past 8, below it the power
    series around 1 and 2, which it has in common with the recurrence, and the reflection."""
    far = x < f64(0.0)
    a = select(far, f64(1.0) - x, x)
    c = select(a < f64(8.0), a, f64(2.0))
    product = f64(1.0)
    while c > f64(2.5):
        c = c - f64(1.0)
        product = product * c
    b = c - select(c < f64(0.5), f64(0.0), select(c < f64(1.5), f64(1.0), f64(2.0)))
    near = lgamma_near_f64(b) - select(c < f64(1.5), log1p_f64(b), f64(0.0)) + log_f64(product)
    near = near - log_f64(select(c < f64(0.5), c, f64(1.0)))
    large = select(a < f64(8.0), f64(8.0), a)
    r = fdiv(f64(1.0), large)
    z = r * r
    p = fma(z, f64(-0.029550653594771242), f64(0.00641025641025641))
    p = fma(z, p, f64(-0.0019175269175269176))
    p = fma(z, p, f64(0.0008417508417508417))
    p = fma(z, p, f64(-0.0005952380952380953))
    p = fma(z, p, f64(0.0007936507936507937))
    p = fma(z, p, f64(-0.002777777777777778))
    p = fma(z, p, f64(0.08333333333333333))
    out = fma(large - f64(0.5), log_f64(large) - f64(1.0), fma(r, p, f64(0.4189385332046727)))
    out = select(a < f64(8.0), near, out)
    frac = x - rint(x)
    sine = fabs(sin_f64(frac * f64(3.141592653589793)))
    mirrored = f64(1.1447298858494002) - log_f64(sine) - out
    out = select(far, mirrored, out)
    out = select((x <= f64(0.0)) & (floor(x) == x), f64(inf), out)
    out = select(is_nan(x), x, out)
    return select(fabs(x) == f64(inf), x, out)


def lgamma_f32(x):
    """log |gamma(x)|, in float64."""
    return f32(lgamma_f64(f64(x)))


def digamma_f64(x):
    """The derivative of lgamma, within 8 ulp of max(1, |result|): its asymptotic series past 10, recurrence, reflection."""
    far = x < f64(0.5)
    a = select(far, f64(1.0) - x, x)
    below = f64(0.0)
    while a < f64(10.0):
        below = below + fdiv(f64(1.0), a)
        a = a + f64(1.0)
    r = fdiv(f64(1.0), a)
    z = r * r
    p = fma(z, f64(-0.4432598039215686), f64(0.08333333333333333))
    p = fma(z, p, f64(-0.021092796092796094))
    p = fma(z, p, f64(0.007575757575757576))
    p = fma(z, p, f64(-0.004166666666666667))
    p = fma(z, p, f64(0.003968253968253968))
    p = fma(z, p, f64(-0.008333333333333333))
    p = fma(z, p, f64(0.08333333333333333))
    out = log_f64(a) - fma(z, p, f64(0.5) * r) - below
    angle = (x - rint(x)) * f64(3.141592653589793)
    mirrored = out - fdiv(f64(3.141592653589793) * cos_f64(angle), sin_f64(angle))
    out = select(far, mirrored, out)
    pole = (x <= f64(0.0)) & (floor(x) == x)
    out = select(pole, select(x == f64(0.0), -copysign(f64(inf), x), f64(nan)), out)
    return select(x == f64(inf), x, out)


def digamma_f32(x):
    """The derivative of lgamma, in float64."""
    return f32(digamma_f64(f64(x)))
