"""Faddeeva's function w(z) = exp(-z^2) erfc(-i z), complex128.

The trapezoidal rule for its integral, shifted where z would be near a node, with the residue at z taken out (Al Azah and
Chandler-Wilde, "Computation of the complex error function using modified trapezoidal rules", SIAM J. Numer. Anal. 59, 2021), 12
nodes. Quadrants other than the first by symmetry (DLMF 7.4.3, 7.12.1).
"""

from funcgrad.codegen.math_exp import exp_f64
from funcgrad.codegen.math_trig import cos_f64, sin_f64
from funcgrad.codegen.words import c128of, f64, fabs, fdiv, floor, fma, imag, inf, is_nan, nan, real, select

SIGNATURES = {
    "midpoints_c128": (("f64", "f64"), "c128"),
    "endpoints_c128": (("f64", "f64"), "c128"),
    "wofz_quarter_c128": (("f64", "f64"), "c128"),
    "gauss_c128": (("f64", "f64"), "c128"),
    "wofz_c128": (("c128",), "c128"),
}


def midpoints_c128(p, q):
    """The sum of exp(-t^2) / (z^2 - t^2) over t = h / 2, 3 h / 2, ... for z^2 = p + i q."""
    re = f64(0.0)
    im = f64(0.0)
    u = p - f64(0.06544984694978737)
    size = fdiv(f64(0.9366460212365959), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(0.5890486225480862)
    size = fdiv(f64(0.5548549101598534), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(1.6362461737446838)
    size = fdiv(f64(0.19470957808529032), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(3.2070425005395813)
    size = fdiv(f64(0.04047614460380571), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(5.301437602932776)
    size = fdiv(f64(0.004984423132468589), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(7.919431480924271)
    size = fdiv(f64(0.00036360898638930413), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(11.061024134514064)
    size = fdiv(f64(1.571296901780048e-05), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(14.726215563702157)
    size = fdiv(f64(4.02240542156481e-07), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(18.915005768488545)
    size = fdiv(f64(6.099824915912173e-09), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(23.627394748873233)
    size = fdiv(f64(5.479650239757549e-11), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(28.86338250485623)
    size = fdiv(f64(2.9160317551794876e-13), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(34.62296903643752)
    size = fdiv(f64(9.192541525134333e-16), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    return c128of(re, im)


def endpoints_c128(p, q):
    """The sum of exp(-t^2) / (z^2 - t^2) over t = h, 2 h, ... for z^2 = p + i q."""
    re = f64(0.0)
    im = f64(0.0)
    u = p - f64(0.26179938779914946)
    size = fdiv(f64(0.7696654124932398), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(1.0471975511965979)
    size = fdiv(f64(0.3509198071784109), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(2.356194490192345)
    size = fdiv(f64(0.09478022484215486), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(4.188790204786391)
    size = fdiv(f64(0.015164619864546564), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(6.544984694978735)
    size = fdiv(f64(0.0014373060804075326), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(9.42477796076938)
    size = fdiv(f64(8.069951757030463e-05), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(12.828170002158325)
    size = fdiv(f64(2.684086793096736e-06), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(16.755160819145566)
    size = fdiv(f64(5.288422116944148e-08), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(21.205750411731103)
    size = fdiv(f64(6.17247886522432e-10), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(26.17993877991494)
    size = fdiv(f64(4.267731135455234e-12), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    u = p - f64(31.677725923697086)
    size = fdiv(f64(1.7479879405654947e-14), fma(u, u, q * q))
    re = fma(u, size, re)
    im = fma(-q, size, im)
    return c128of(re, im)


def gauss_c128(x, y):
    """exp(-(x + i y)^2)."""
    size = exp_f64((y - x) * (y + x))
    angle = f64(-2.0) * x * y
    re = select(size == f64(0.0), f64(0.0), size * cos_f64(angle))
    return c128of(re, select((size == f64(0.0)) | (angle == f64(0.0)), f64(0.0), size * sin_f64(angle)))


def wofz_quarter_c128(x, y):
    """w(x + i y) for 0 <= x, y < 1e8."""
    p = (x - y) * (x + y)
    q = f64(2.0) * x * y
    high = (y >= x) | (y >= f64(6.139960247678931))
    place = x * f64(1.9544100476116797)
    off = place - floor(place)
    ends = (high == (x < f64(0.0))) & (y < x) & (off >= f64(0.25)) & (off <= f64(0.75))
    total = select(ends, endpoints_c128(p, q), midpoints_c128(p, q))
    # 2 i h z / pi times it
    re = f64(-0.32573500793528) * fma(x, imag(total), y * real(total))
    im = f64(0.32573500793528) * fma(x, real(total), -y * imag(total))
    # i h / (pi z) of the node 0
    size = fdiv(f64(0.16286750396764), select(ends, fma(x, x, y * y), f64(1.0)))
    re = re + select(ends, y * size, f64(0.0))
    im = im + select(ends, x * size, f64(0.0))
    # the residue 2 exp(-z^2) / (1 + s exp(-2 pi i z / h)), s = 1 between the nodes and -1 at them
    gauss = gauss_c128(x, y)
    turn = f64(12.279920495357862)
    growth = exp_f64(select(turn * y > f64(300.0), f64(300.0), turn * y))
    sign = select(ends, f64(-1.0), f64(1.0))
    angle = f64(6.283185307179586) * off
    u = f64(1.0) + sign * growth * cos_f64(angle)
    v = -sign * growth * sin_f64(angle)
    size = fdiv(f64(2.0), fma(u, u, v * v))
    plus = y < f64(6.139960247678931)
    re = re + select(plus, size * fma(real(gauss), u, imag(gauss) * v), f64(0.0))
    im = im + select(plus, size * fma(imag(gauss), u, -real(gauss) * v), f64(0.0))
    return c128of(re, im)


def wofz_c128(z):
    """exp(-z^2) erfc(-i z), |error| within 16 units of 2^-53 of |w| in the upper half plane."""
    x = fabs(real(z))
    y = fabs(imag(z))
    far = (x > f64(1e7)) | (y > f64(1e7))
    lost = is_nan(x) | is_nan(y)
    near = wofz_quarter_c128(select(far | lost, f64(1.0), x), select(far | lost, f64(1.0), y))
    # i / (sqrt(pi) z), by the larger part
    wide = x > y
    c = select(wide, x, y)
    ratio = fdiv(select(wide, y, x), select(far, c, f64(1.0)))
    ratio = select(c == f64(inf), f64(0.0), ratio)
    size = fdiv(f64(0.5641895835477563), select(far, c, f64(1.0)) * fma(ratio, ratio, f64(1.0)))
    re = select(far, select(wide, ratio * size, size), real(near))
    im = select(far, select(wide, size, ratio * size), imag(near))
    # below the real axis 2 exp(-z^2) - w(-z)
    below = imag(z) < f64(0.0)
    gauss = gauss_c128(x, -y)
    re = select(below, fma(f64(2.0), real(gauss), -re), re)
    im = select(below, fma(f64(2.0), imag(gauss), im), im)
    im = select(real(z) < f64(0.0), -im, im)
    return c128of(select(lost, f64(nan), re), select(lost, f64(nan), im))
