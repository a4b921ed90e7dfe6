"""Trigonometry, float32 and float64, right for every finite argument and without a branch.

x is taken to r in [-pi/4, pi/4] and a quadrant. Up to 2^26, r = x - k pi/2 with pi/2 in two or three parts, by fma
(exact where it matters: x - k P1 has no more bits than a float64). Beyond, after Payne and Hanek ("Radian
reduction for trigonometric functions", SIGNUM 1983): x = m 2^E with an integer m, and only the 2/pi bits of weight
2^(1-E) and below matter, since the ones above give whole turns; they are cut out of a table by selects and
multiplied by m in integers. Both ways are computed and one is chosen, so that the loop stays a vector loop.
"""

from funcgrad.codegen.words import (
    add,
    and_,
    bits_i32,
    bits_i64,
    bits_u32,
    bits_u64,
    copysign,
    f32,
    f64,
    fabs,
    fdiv,
    fma,
    i32,
    i64,
    is_finite,
    mul,
    nan,
    or_,
    select,
    shl,
    shr,
    sqrt,
    sub,
    u32,
    u64,
)

SIGNATURES = {
    "quarter_f32": (("f32", "i32"), "f32"),
    "quarter_f64": (("f64", "i32"), "f64"),
    "high_product_u64": (("u64", "u64"), "u64"),
    "funnel_u64": (("u64", "u64", "u64"), "u64"),
}


def funnel_u64(high, low, count):
    """The upper 64 bits of (high, low) shifted left by count modulo 64."""
    count = and_(count, u64(63))
    return or_(shl(high, count), shr(shr(low, u64(1)), and_(sub(u64(63), count), u64(63))))


def high_product_u64(x, y):
    """The upper 64 bits of x * y."""
    low = u64(0xFFFFFFFF)
    a = shr(x, u64(32))
    b = and_(x, low)
    c = shr(y, u64(32))
    d = and_(y, low)
    middle = add(mul(a, d), shr(mul(b, d), u64(32)))
    cross = add(mul(b, c), and_(middle, low))
    return add(add(mul(a, c), shr(middle, u64(32))), shr(cross, u64(32)))


def quarter_f32(x, shift):
    """sin(|x| + shift pi/2), for shift = 0 with the sign of x; in float64."""
    a = fabs(x)
    d = f64(a)
    n = fma(d, f64(0.6366197723675814), f64(6755399441055744.0))
    k = n - f64(6755399441055744.0)
    near = fma(k, f64(-6.123233995736766e-17), fma(k, f64(-1.5707963267948966), d))
    # 2^E (2/pi) modulo 4: the bits from E - 2 on
    bits = bits_u32(a)
    skip = sub(shr(bits, u32(23)), u32(152))
    later = and_(skip, u32(64)) != u32(0)
    w0 = select(later, u64(0xFC2757D1F534DDC0), u64(0xA2F9836E4E441529))
    w1 = select(later, u64(0xDB6295993C439041), u64(0xFC2757D1F534DDC0))
    w2 = select(later, u64(0xFE5163ABDEBBC561), u64(0xDB6295993C439041))
    count = u64(and_(skip, u32(63)))
    m = u64(or_(and_(bits, u32(0x7FFFFF)), u32(0x800000)))
    turn = mul(m, funnel_u64(w0, w1, count))
    turn = add(turn, shr(mul(m, shr(funnel_u64(w1, w2, count), u64(32))), u64(32)))
    whole = shr(add(turn, u64(0x2000000000000000)), u64(62))
    far = f64(i64(sub(turn, shl(whole, u64(62))))) * f64(3.4061215800865545e-19)
    big = a >= f32(67108864.0)
    r = select(big, far, near)
    quadrant = add(i32(select(big, i64(whole), bits_i64(n))), shift)
    z = r * r
    s = fma(z, f64(-0.00019497272), f64(0.008332051))
    s = fma(r * z, fma(z, s, f64(-0.16666654)), r)
    c = fma(z, f64(2.4457127e-05), f64(-0.0013887605))
    c = fma(z, fma(z, fma(z, c, f64(0.041666653)), f64(-0.5)), f64(1.0))
    out = f32(select(and_(quadrant, i32(1)) != i32(0), c, s))
    minus = (and_(quadrant, i32(2)) != i32(0)) ^ ((shift == i32(0)) & (bits_i32(x) < i32(0)))
    return select(is_finite(x), select(minus, -out, out), f32(nan))


def sin_f32(x):
    """sin, 1 ulp."""
    return quarter_f32(x, i32(0))


def cos_f32(x):
    """cos, 1 ulp."""
    return quarter_f32(x, i32(1))


def tan_f32(x):
    """tan, 1 ulp, in float64."""
    return f32(tan_f64(f64(x)))


def quarter_f64(x, shift):
    """sin(|x| + shift pi/2), for shift = 0 with the sign of x."""
    a = fabs(x)
    n = fma(a, f64(0.6366197723675814), f64(6755399441055744.0))
    k = n - f64(6755399441055744.0)
    first = fma(k, f64(-1.5707963267948966), a)
    near = fma(k, f64(-6.123233995736766e-17), first)
    near_low = fma(k, f64(1.4973849048591698e-33), fma(k, f64(-6.123233995736766e-17), first - near))
    # 2^E (2/pi) modulo 4, in 192 bits: bits E + 62 and on of the table, which begins with 64 zeros
    bits = bits_u64(a)
    skip = sub(shr(bits, u64(52)), u64(1013))
    has16 = and_(skip, u64(1024)) != u64(0)
    has8 = and_(skip, u64(512)) != u64(0)
    has4 = and_(skip, u64(256)) != u64(0)
    has2 = and_(skip, u64(128)) != u64(0)
    has1 = and_(skip, u64(64)) != u64(0)
    w16_0 = select(has16, u64(0x7527BAC7EBE5F17B), u64(0x0000000000000000))
    w16_1 = select(has16, u64(0x3D0739F78A5292EA), u64(0xA2F9836E4E441529))
    w16_2 = select(has16, u64(0x6BFB5FB11F8D5D08), u64(0xFC2757D1F534DDC0))
    w16_3 = select(has16, u64(0x56033046FC7B6BAB), u64(0xDB6295993C439041))
    w8_0 = select(has8, u64(0xE88235F52EBB4484), w16_0)
    w8_1 = select(has8, u64(0xE99C7026B45F7E41), w16_1)
    w8_2 = select(has8, u64(0x3991D639835339F4), w16_2)
    w8_3 = select(has8, u64(0x9C845F8BBDF9283B), w16_3)
    w8_4 = select(has8, u64(0x1FF897FFDE05980F), u64(0xFE5163ABDEBBC561))
    w8_5 = select(has8, u64(0xEF2F118B5A0A6D1F), u64(0xB7246E3A424DD2E0))
    w8_6 = select(has8, u64(0x6D367ECF27CB09B7), u64(0x06492EEA09D1921C))
    w8_7 = select(has8, u64(0x4F463F669E5FEA2D), u64(0xFE1DEB1CB129A73E))
    w8_8 = select(has8, u64(0x7527BAC7EBE5F17B), u64(0xE88235F52EBB4484))
    w8_9 = select(has8, u64(0x3D0739F78A5292EA), u64(0xE99C7026B45F7E41))
    w8_10 = select(has8, u64(0x6BFB5FB11F8D5D08), u64(0x3991D639835339F4))
    w4_0 = select(has4, w8_4, w8_0)
    w4_1 = select(has4, w8_5, w8_1)
    w4_2 = select(has4, w8_6, w8_2)
    w4_3 = select(has4, w8_7, w8_3)
    w4_4 = select(has4, w8_8, w8_4)
    w4_5 = select(has4, w8_9, w8_5)
    w4_6 = select(has4, w8_10, w8_6)
    w2_0 = select(has2, w4_2, w4_0)
    w2_1 = select(has2, w4_3, w4_1)
    w2_2 = select(has2, w4_4, w4_2)
    w2_3 = select(has2, w4_5, w4_3)
    w2_4 = select(has2, w4_6, w4_4)
    w1_0 = select(has1, w2_1, w2_0)
    w1_1 = select(has1, w2_2, w2_1)
    w1_2 = select(has1, w2_3, w2_2)
    w1_3 = select(has1, w2_4, w2_3)
    m = or_(and_(bits, u64(0xFFFFFFFFFFFFF)), u64(0x10000000000000))
    v0 = funnel_u64(w1_0, w1_1, skip)
    v1 = funnel_u64(w1_1, w1_2, skip)
    v2 = funnel_u64(w1_2, w1_3, skip)
    below = high_product_u64(m, v2)
    low = add(mul(m, v1), below)
    turn = add(add(mul(m, v0), high_product_u64(m, v1)), select(low < below, u64(1), u64(0)))
    whole = shr(add(turn, u64(0x2000000000000000)), u64(62))
    # the fraction of a quarter turn as two integers, the upper one signed, the lower of weight 2^-126
    high = i64(sub(turn, shl(whole, u64(62))))
    cut = and_(high, i64(-1024))
    f_high = f64(cut)
    f_low = fma(f64(i64(shr(low, u64(1)))), f64(1.0842021724855044e-19), f64(sub(high, cut)))
    far = fma(f_high, f64(3.4061215800865545e-19), f_low * f64(3.4061215800865545e-19))
    far_low = fma(f_low, f64(3.4061215800865545e-19), fma(f_high, f64(3.4061215800865545e-19), -far))
    far_low = fma(f_high, f64(1.3277647201629795e-35), far_low)
    big = a >= f64(67108864.0)
    quadrant = add(i32(select(big, i64(whole), bits_i64(n))), shift)
    r = select(big, far, near)
    t = select(big, far_low, near_low)
    z = r * r
    s = fma(z, f64(1.5891473540099893e-10), f64(-2.5050679822813854e-08))
    s = fma(z, s, f64(2.7557313315183587e-06))
    s = fma(z, s, f64(-0.00019841269829238745))
    s = fma(z, s, f64(0.008333333333322668))
    s = fma(z, s, f64(-0.16666666666666638))
    sine = r + fma(r * z, s, fma(z * f64(-0.5), t, t))
    c = fma(z, f64(-1.1365956522459465e-11), f64(2.0875863483903403e-09))
    c = fma(z, c, f64(-2.755731552796814e-07))
    c = fma(z, c, f64(2.480158729406137e-05))
    c = fma(z, c, f64(-0.0013888888888882217))
    c = fma(z, c, f64(0.04166666666666665))
    w = fma(z, f64(-0.5), f64(1.0))
    cosine = w + (fma(z, f64(-0.5), f64(1.0) - w) + fma(z * z, c, -(r * t)))
    out = select(and_(quadrant, i32(1)) != i32(0), cosine, sine)
    minus = (and_(quadrant, i32(2)) != i32(0)) ^ ((shift == i32(0)) & (bits_i64(x) < i64(0)))
    return select(is_finite(x), select(minus, -out, out), f64(nan))


def sin_f64(x):
    """sin, 1 ulp."""
    return quarter_f64(x, i32(0))


def cos_f64(x):
    """cos, 1 ulp."""
    return quarter_f64(x, i32(1))


def tan_f64(x):
    """tan, 3 ulp."""
    return fdiv(quarter_f64(x, i32(0)), quarter_f64(x, i32(1)))


def atan_core_f64(t):
    """atan of |t| <= tan(pi/8)."""
    z = t * t
    p = fma(z, f64(0.01485965975140826), f64(-0.03315961025964379))
    p = fma(z, p, f64(0.04490888423420344))
    p = fma(z, p, f64(-0.05215564231526996))
    p = fma(z, p, f64(0.058766352254856255))
    p = fma(z, p, f64(-0.06666194452602155))
    p = fma(z, p, f64(0.07692281196567938))
    p = fma(z, p, f64(-0.0909090811121314))
    p = fma(z, p, f64(0.11111111088543787))
    p = fma(z, p, f64(-0.14285714285421006))
    p = fma(z, p, f64(0.1999999999999822))
    p = fma(z, p, f64(-0.3333333333333333))
    return fma(t * z, p, t)


def quotient_atan_f64(y, x):
    """atan(y / x) for y >= 0, x >= 0, not both 0: y / x past tan(pi/8) is turned by pi/4 or pi/2."""
    steep = y > x * f64(2.414213562373095)
    middle = y > x * f64(0.41421356237309503)
    top = select(steep, -x, select(middle, y - x, y))
    bottom = select(steep, y, select(middle, y + x, x))
    start = select(steep, f64(1.5707963267948966), select(middle, f64(0.7853981633974483), f64(0.0)))
    low = select(steep, f64(6.123233995736766e-17), select(middle, f64(3.061616997868383e-17), f64(0.0)))
    return start + (atan_core_f64(fdiv(top, bottom)) + low)


def atan_f64(x):
    """atan, 2 ulp."""
    a = fabs(x)
    huge = a > f64(1e300)
    out = quotient_atan_f64(select(huge, f64(1.0), a), select(huge, f64(0.0), f64(1.0)))
    return copysign(select(a < f64(1e-9), a, out), x)


def atan_f32(x):
    """atan, 1 ulp, in float64."""
    return f32(atan_f64(f64(x)))


def atan2_f64(y, x):
    """The angle of the point (x, y), 2 ulp; zeros and infinities as in C99."""
    a = fabs(y)
    b = fabs(x)
    infinite = (a > f64(1.7976931348623157e308)) & (b > f64(1.7976931348623157e308))
    a = select(infinite, f64(1.0), a)
    b = select(infinite, f64(1.0), b)
    # scaled so that sums do not overflow and small numbers keep their digits
    scale = select((a > f64(1e300)) | (b > f64(1e300)), f64(1.1102230246251565e-16), f64(1.0))
    scale = select((a < f64(1e-290)) & (b < f64(1e-290)), f64(18014398509481984.0), scale)
    a = a * scale
    b = b * scale
    origin = (a == f64(0.0)) & (b == f64(0.0))
    out = quotient_atan_f64(a, select(origin, f64(1.0), b))
    # a quotient far below 1 is its own angle
    out = select(a < b * f64(1e-9), fdiv(a, b), out)
    out = select(bits_i64(x) < i64(0), f64(3.141592653589793) - (out - f64(1.2246467991473532e-16)), out)
    return select((x == x) & (y == y), copysign(out, y), f64(nan))


def atan2_f32(y, x):
    """The angle of the point (x, y), 1 ulp, in float64."""
    return f32(atan2_f64(f64(y), f64(x)))


def asin_core_f64(t, z):
    """asin(t) for z = t^2 <= 1/4."""
    p = fma(z, f64(0.032125826165187325), f64(-0.01642036696879477))
    p = fma(z, p, f64(0.01956896539983281))
    p = fma(z, p, f64(0.006548499377066217))
    p = fma(z, p, f64(0.012155025869851434))
    p = fma(z, p, f64(0.013889060423407741))
    p = fma(z, p, f64(0.017359121768590804))
    p = fma(z, p, f64(0.02237181183970799))
    p = fma(z, p, f64(0.03038195615597795))
    p = fma(z, p, f64(0.04464285692158419))
    p = fma(z, p, f64(0.0750000000019422))
    p = fma(z, p, f64(0.1666666666666616))
    return fma(t * z, p, t)


def asin_f64(x):
    """asin, 2 ulp: past 1/2, pi/2 - 2 asin(sqrt((1 - a) / 2))."""
    a = fabs(x)
    far = a > f64(0.5)
    h = fma(a, f64(-0.5), f64(0.5))
    z = select(far, h, a * a)
    t = select(far, sqrt(h), a)
    core = asin_core_f64(t, z)
    turned = f64(1.5707963267948966) - (core + core - f64(6.123233995736766e-17))
    return copysign(select(a > f64(1.0), f64(nan), select(far, turned, core)), x)


def asin_f32(x):
    """asin, 1 ulp, in float64."""
    return f32(asin_f64(f64(x)))


def acos_f64(x):
    """acos, 2 ulp: 2 asin(sqrt((1 - x) / 2)) past 1/2, pi minus that below -1/2, else pi/2 - asin(x)."""
    a = fabs(x)
    far = a > f64(0.5)
    h = fma(a, f64(-0.5), f64(0.5))
    z = select(far, h, a * a)
    root = sqrt(h)
    # what sqrt rounded off
    rest = select(far & (root > f64(0.0)), fdiv(fma(-root, root, h), root + root), f64(0.0))
    core = asin_core_f64(select(far, root, x), z) + rest
    twice = core + core
    out = select(x < f64(0.0), f64(3.141592653589793) - (twice - f64(1.2246467991473532e-16)), twice)
    near = f64(1.5707963267948966) - (core - f64(6.123233995736766e-17))
    return select(a <= f64(1.0), select(far, out, near), f64(nan))


def acos_f32(x):
    """acos, 1 ulp, in float64."""
    return f32(acos_f64(f64(x)))
