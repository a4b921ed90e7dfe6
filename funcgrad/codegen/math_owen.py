"""Owen's T, in float64."""

from funcgrad.codegen.math_exp import exp_f64
from funcgrad.codegen.math_special import erf_f64, erfc_f64
from funcgrad.codegen.math_trig import atan_f64
from funcgrad.codegen.words import copysign, f32, f64, fabs, fdiv, is_nan, nan, select

SIGNATURES: dict[str, tuple[tuple[str, ...], str]] = {}


def owen_part_f64(square, half):
    """exp(-half x^2) / (1 + x^2)."""
    return fdiv(exp_f64(-half * square), f64(1.0) + square)


def owen_inner_f64(h, a):
    """T(h, a) for h >= 0 and 0 <= a <= 1: Gauss's rule of 28 points, on the part where the integrand is not negligible."""
    half = f64(0.5) * h * h
    end = select(a * h > f64(9.0), fdiv(f64(9.0), select(h > f64(9.0), h, f64(9.0))), a)
    wide = end * end
    total = f64(0.0)
    total = total + f64(0.0045621412965472586) * owen_part_f64(wide * f64(3.1639558778299937e-06), half)
    total = total + f64(0.01056605629638563) * owen_part_f64(wide * f64(8.739290628723294e-05), half)
    total = total + f64(0.01645071389115219) * owen_part_f64(wide * f64(0.0005230533521455571), half)
    total = total + f64(0.022136467379502114) * owen_part_f64(wide * f64(0.0017794465589376707), half)
    total = total + f64(0.027553672837858374) * owen_part_f64(wide * f64(0.004496203875364786), half)
    total = total + f64(0.0326364619834998) * owen_part_f64(wide * f64(0.009443819174738381), half)
    total = total + f64(0.03732310711728439) * owen_part_f64(wide * f64(0.017475401956180674), half)
    total = total + f64(0.041556708614450606) * owen_part_f64(wide * f64(0.02947211780617709), half)
    total = total + f64(0.04528587219651642) * owen_part_f64(wide * f64(0.04628511809455069), half)
    total = total + f64(0.04846532899896496) * owen_part_f64(wide * f64(0.0686769570165995), half)
    total = total + f64(0.05105648378903038) * owen_part_f64(wide * f64(0.0972655427952932), half)
    total = total + f64(0.05302788296142321) * owen_part_f64(wide * f64(0.13247356849028655), half)
    total = total + f64(0.05435559612914707) * owen_part_f64(wide * f64(0.1744861210887837), half)
    total = total + f64(0.0550235065082376) * owen_part_f64(wide * f64(0.22321878710151524), half)
    total = total + f64(0.0550235065082376) * owen_part_f64(wide * f64(0.2782980769855495), half)
    total = total + f64(0.05435559612914707) * owen_part_f64(wide * f64(0.33905540322216443), half)
    total = total + f64(0.05302788296142321) * owen_part_f64(wide * f64(0.4045351961254646), half)
    total = total + f64(0.05105648378903038) * owen_part_f64(wide * f64(0.4735170588843719), half)
    total = total + f64(0.04846532899896496) * owen_part_f64(wide * f64(0.5445511819717177), half)
    total = total + f64(0.04528587219651642) * owen_part_f64(wide * f64(0.6160055899059524), half)
    total = total + f64(0.041556708614450606) * owen_part_f64(wide * f64(0.6861232118450421), half)
    total = total + f64(0.03732310711728439) * owen_part_f64(wide * f64(0.7530862799698125), half)
    total = total + f64(0.0326364619834998) * owen_part_f64(wide * f64(0.8150851900919176), half)
    total = total + f64(0.027553672837858374) * owen_part_f64(wide * f64(0.8703887264497598), half)
    total = total + f64(0.022136467379502114) * owen_part_f64(wide * f64(0.9174124729510698), half)
    total = total + f64(0.01645071389115219) * owen_part_f64(wide * f64(0.9547823339810838), half)
    total = total + f64(0.01056605629638563) * owen_part_f64(wide * f64(0.98139055827716), half)
    total = total + f64(0.0045621412965472586) * owen_part_f64(wide * f64(0.9964456615298323), half)
    return f64(0.15915494309189535) * exp_f64(-half) * total * end


def owens_t_f64(h, a):
    """Owen's T, within 8 units of 2^-53 of 1, and for a h < 9 of itself: for a > 1 by T(a h, 1 / a) (Owen 1956)."""
    x = select(fabs(h) > f64(40.0), f64(40.0), fabs(h))
    b = fabs(a)
    outer = b > f64(1.0)
    y = select(outer, b * x, x)
    y = select(x == f64(0.0), f64(0.0), select(y > f64(40.0), f64(40.0), y))
    inner = owen_inner_f64(y, select(outer, fdiv(f64(1.0), b), b))
    # with the tails p of x and q of a x: (p + q) / 2 - p q - T(a x, 1 / a), of which q - T(a x, 1 / a) is the smaller part
    p = f64(0.5) * erfc_f64(f64(0.7071067811865476) * x)
    q = f64(0.5) * erfc_f64(f64(0.7071067811865476) * y)
    swapped = f64(0.5) * (p * erf_f64(f64(0.7071067811865476) * y) + q) - inner
    out = select(outer, swapped, inner)
    out = select(x == f64(0.0), f64(0.15915494309189535) * atan_f64(b), out)
    return select(is_nan(h) | is_nan(a), f64(nan), copysign(out, a))


def owens_t_f32(h, a):
    """Owen's T, in float64."""
    return f32(owens_t_f64(f64(h), f64(a)))
