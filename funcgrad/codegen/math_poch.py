"""The rising factorial Gamma(z + m) / Gamma(z): its whole steps are factors, what remains of m goes by Stirling's formula."""

from funcgrad.codegen.math_exp import exp_f64, log1p_f64, log_f64
from funcgrad.codegen.math_gamma import gamma_f64, stirling_f64
from funcgrad.codegen.math_lgamma import lgamma_f64
from funcgrad.codegen.words import f32, f64, fabs, fdiv, floor, fma, inf, is_nan, nan, select

SIGNATURES: dict[str, tuple[tuple[str, ...], str]] = {}


def gamma_sign_f64(x):
    """The sign of Gamma(x) away from poles."""
    whole = floor(x)
    half = f64(0.5) * whole
    return select((x < f64(0.0)) & (floor(half) != half), f64(-1.0), f64(1.0))


def gamma_quotient_f64(z, m):
    """Gamma(z + m) / Gamma(z) away from poles: by Stirling's formula where both arguments are large."""
    if (z >= f64(10.0)) & (z + m >= f64(10.0)):
        step = fma(z - f64(0.5), log1p_f64(fdiv(m, z)), fma(m, log_f64(z + m), -m)) + stirling_f64(z + m) - stirling_f64(z)
        return exp_f64(step)
    if (fabs(z) < f64(100.0)) & (fabs(z + m) < f64(100.0)):
        return fdiv(gamma_f64(z + m), gamma_f64(z))
    return exp_f64(lgamma_f64(z + m) - lgamma_f64(z)) * gamma_sign_f64(z) * gamma_sign_f64(z + m)


def poch_f64(z, m):
    """Gamma(z + m) / Gamma(z), within 100 units of 2^-53 (more for large m, with m log z); limits where both are infinite."""
    lost = is_nan(z) | is_nan(m) | (fabs(z) == f64(inf)) | (fabs(m) == f64(inf))
    y = select(lost, f64(1.0), z)
    rest = select(lost, f64(0.0), m)
    out = f64(1.0)
    k = f64(0.0)
    # where the factors would come to 0 on their way up to Gamma(1), they end there
    while (rest >= f64(1.0)) & (y + rest != f64(1.0)) & (k < f64(200.0)) & (out != f64(0.0)) & (fabs(out) < f64(inf)):
        rest = rest - f64(1.0)
        out = out * (y + rest)
        k = k + f64(1.0)
    while (rest <= f64(-1.0)) & (k < f64(200.0)) & (out != f64(0.0)) & (fabs(out) < f64(inf)):
        out = fdiv(out, y + rest)
        rest = rest + f64(1.0)
        k = k + f64(1.0)
    bottom = (y <= f64(0.0)) & (floor(y) == y)
    if (rest != f64(0.0)) & (out != f64(0.0)) & (fabs(out) < f64(inf)):
        top = (y + rest <= f64(0.0)) & (floor(y + rest) == y + rest)
        safe = bottom | top
        quotient = gamma_quotient_f64(select(safe, f64(1.0), y), select(safe, f64(0.0), rest))
        # two poles that a tiny m does not tell apart have no quotient
        out = select(top, select(bottom, f64(nan), f64(inf)), out * quotient)
    end = y + select(lost, f64(0.0), m)
    out = select(bottom & ((end > f64(0.0)) | (floor(end) != end)), f64(0.0), out)
    # an infinity that was reached before the last factor has the sign of the whole
    known = bottom | (end > f64(0.0)) | (floor(end) != end)
    out = select(known & (fabs(out) == f64(inf)), gamma_sign_f64(y) * gamma_sign_f64(end) * f64(inf), out)
    # from a whole z > 0 down to a pole, where the factors on the way may have come to 0 before
    out = select((y > f64(0.0)) & (end <= f64(0.0)) & (floor(y) == y) & (floor(m) == m) & (y - m < f64(1e15)), f64(inf), out)
    out = select(lost, f64(nan), out)
    return select(m == f64(0.0), f64(1.0), out)


def poch_f32(z, m):
    """Gamma(z + m) / Gamma(z), in float64."""
    return f32(poch_f64(f64(z), f64(m)))
