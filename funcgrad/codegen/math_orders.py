"""Functions of a whole order n, given as a float64: exponential integrals E_n, Bessel's J_n."""

from funcgrad.codegen.math_exp import exp_f64, log_f64
from funcgrad.codegen.math_integrals import exp1_f64
from funcgrad.codegen.math_lgamma import digamma_f64
from funcgrad.codegen.math_trig import cos_f64, sin_f64
from funcgrad.codegen.words import f32, f64, fabs, fdiv, floor, fma, inf, is_nan, nan, rint, select, sqrt

SIGNATURES = {"jn_f32": (("f32", "f64"), "f32")}


def expn_small_f64(n, x):
    """E_n(x) for n >= 2, 0 < x <= 1: the power series, with a logarithm in its n-th term (DLMF 8.19.8)."""
    last = n - f64(1.0)
    term = f64(1.0)
    total = fdiv(f64(1.0), last)
    k = f64(1.0)
    while (k < f64(30.0)) & (k < last + f64(30.0)):
        term = fdiv(-x * term, k)
        if k == last:
            total = total + term * (digamma_f64(n) - log_f64(x))
        else:
            total = total - fdiv(term, k - last)
        k = k + f64(1.0)
    return total


def expn_f64(n, x):
    """The integral of exp(-x t) / t^n from 1 on, 32 ulp: past 1 by the continued fraction DLMF 8.19.17 in its even part, from
    the end."""
    m = rint(n)
    lost = is_nan(n) | (n == f64(inf)) | is_nan(x) | (m < f64(0.0)) | (x < f64(0.0))
    y = select(lost | (x == f64(0.0)), f64(1.0), select(x > f64(750.0), f64(750.0), x))
    order = select(lost | (m < f64(2.0)), f64(2.0), m)
    if y <= f64(1.0):
        value = expn_small_f64(order, y)
    else:
        k = floor(f64(16.0) + fdiv(f64(90.0), y))
        rest = f64(0.0)
        while k > f64(0.0):
            rest = fdiv(k * (order + k - f64(1.0)), y + order + f64(2.0) * k - rest)
            k = k - f64(1.0)
        value = fdiv(exp_f64(-y), y + order - rest)
    value = select(m == f64(1.0), exp1_f64(y), value)
    value = select(m == f64(0.0), fdiv(exp_f64(-y), y), value)
    at_zero = select(m < f64(2.0), f64(inf), fdiv(f64(1.0), order - f64(1.0)))
    value = select(x == f64(0.0), at_zero, select(x == f64(inf), f64(0.0), value))
    return select(lost, f64(nan), value)


def expn_f32(n, x):
    """The integral of exp(-x t) / t^n from 1 on, in float64."""
    return f32(expn_f64(f64(n), f64(x)))


def jn_series_f64(x, n):
    """J_n(x) for x^2 <= 4 (n + 1): the power series (DLMF 10.2.2)."""
    half = f64(0.5) * x
    term = f64(1.0)
    k = f64(1.0)
    while k <= n:
        term = term * fdiv(half, k)
        k = k + f64(1.0)
    total = term
    k = f64(1.0)
    while k < f64(40.0):
        term = fdiv(-term * half * half, k * (n + k))
        total = total + term
        k = k + f64(1.0)
    return total


def jn_far_f64(x, n):
    """J_n(x) for x >= 25 and x >= n^2 / 2: Hankel's asymptotic series (DLMF 10.17.3)."""
    r = fdiv(f64(0.125), x)
    even = f64(1.0)
    odd = f64(0.0)
    term = f64(1.0)
    sign = f64(1.0)
    k = f64(1.0)
    while (k < f64(60.0)) & (fabs(term) > f64(1e-18)):
        term = fdiv(term * r * (f64(4.0) * n * n - (f64(2.0) * k - f64(1.0)) * (f64(2.0) * k - f64(1.0))), k)
        odd = fma(sign, term, odd)
        k = k + f64(1.0)
        term = fdiv(term * r * (f64(4.0) * n * n - (f64(2.0) * k - f64(1.0)) * (f64(2.0) * k - f64(1.0))), k)
        sign = -sign
        even = fma(sign, term, even)
        k = k + f64(1.0)
    c = cos_f64(x)
    s = sin_f64(x)
    # the cosine and sine of x - n pi / 2 - pi / 4, times sqrt(2)
    turn = n - f64(4.0) * floor(f64(0.25) * n)
    a = select(turn == f64(0.0), c, select(turn == f64(1.0), s, select(turn == f64(2.0), -c, -s)))
    b = select(turn == f64(0.0), s, select(turn == f64(1.0), -c, select(turn == f64(2.0), -s, c)))
    return fdiv(even * (a + b) - odd * (b - a), sqrt(f64(3.141592653589793) * x))


def jn_down_f64(x, n):
    """J_n(x) between those: Miller's recurrence from far above, where J is small (DLMF 10.6.1, 10.12.4)."""
    top = select(x > n, x, n)
    k = f64(2.0) * floor(f64(0.5) * (top + f64(20.0) + f64(9.0) * sqrt(top)))
    above = f64(0.0)
    here = f64(1e-300)
    total = f64(0.0)
    found = f64(0.0)
    r = fdiv(f64(2.0), x)
    while k > f64(0.0):
        below = k * r * here - above
        above = here
        here = below
        k = k - f64(1.0)
        if fabs(here) > f64(1e200):
            here = here * f64(1e-200)
            above = above * f64(1e-200)
            total = total * f64(1e-200)
            found = found * f64(1e-200)
        found = select(k == n, here, found)
        whole = floor(f64(0.5) * k) * f64(2.0) == k
        total = total + select(whole, select(k == f64(0.0), here, f64(2.0) * here), f64(0.0))
    return fdiv(found, total)


def jn_f64(x, n):
    """J_n(x) for whole n >= 0, within 32 units of 2^-53 of its amplitude, 256 where the recurrence takes hundreds of steps."""
    a = fabs(x)
    lost = is_nan(x) | (a == f64(inf))
    y = select(lost, f64(1.0), a)
    if y * y <= f64(4.0) * (n + f64(1.0)):
        value = jn_series_f64(y, n)
    elif (y >= f64(25.0)) & (y >= f64(0.5) * n * n):
        value = jn_far_f64(y, n)
    else:
        value = jn_down_f64(y, n)
    odd = floor(f64(0.5) * n) * f64(2.0) != n
    value = select((x < f64(0.0)) & odd, -value, value)
    # at infinity as SciPy
    return select(lost, f64(nan), value)


def jn_f32(x, n):
    """J_n(x) for whole n >= 0, in float64."""
    return f32(jn_f64(f64(x), n))
