"""Helpers on integers and bits: powers by squaring, common divisors, the next float, one block of Threefry-2x32-20.

Threefry: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC'11); its words are
tested against the Random123 known answers. Both words of a block come back in one u64, high word first.
"""

from funcgrad.codegen.words import (
    add,
    and_,
    bits_f32,
    bits_f64,
    bits_i32,
    bits_i64,
    copysign,
    f32,
    f64,
    i32,
    i64,
    is_nan,
    mul,
    neg,
    not_,
    or_,
    rem,
    select,
    shl,
    shr,
    sub,
    u32,
    u64,
    xor,
)

# Types that a helper's name does not say: arguments, result.
SIGNATURES = {"threefry": (("u32", "u32", "u32", "u32"), "u64")}


def pow_int(x, y):
    """x to the y for integers of one type, wrapping. A negative power is 0, but for those of 1 and -1."""
    zero = xor(x, x)
    minus = not_(zero)
    one = neg(minus)
    odd = and_(y, one) != zero
    inverse = select(x == one, one, select(x == minus, select(odd, minus, one), zero))
    base = x
    left = select(y < zero, zero, y)
    out = one
    while left != zero:
        out = select(and_(left, one) != zero, mul(out, base), out)
        base = mul(base, base)
        left = shr(left, one)
    return select(y < zero, inverse, out)


def gcd_int(x, y):
    """The greatest common divisor of x and y, neither of them negative: Euclid's algorithm."""
    zero = xor(x, x)
    while y != zero:
        rest = rem(x, y)
        x = y
        y = rest
    return x


def nextafter_f32(x, y):
    """The next float from x towards y: the bits of a float, read as an integer, are in order."""
    step = select((x < y) == (x > f32(0.0)), i32(1), i32(-1))
    out = bits_f32(add(bits_i32(x), step))
    out = select(x == f32(0.0), copysign(bits_f32(i32(1)), y), out)
    return select(is_nan(x) | is_nan(y), x + y, select(x == y, y, out))


def nextafter_f64(x, y):
    """As nextafter_f32."""
    step = select((x < y) == (x > f64(0.0)), i64(1), i64(-1))
    out = bits_f64(add(bits_i64(x), step))
    out = select(x == f64(0.0), copysign(bits_f64(i64(1)), y), out)
    return select(is_nan(x) | is_nan(y), x + y, select(x == y, y, out))


def rotated_u32(x, left):
    """x rotated to the left by `left` bits."""
    return or_(shl(x, left), shr(x, sub(u32(32), left)))


def threefry(k0, k1, c0, c1):
    """One block: key (k0, k1), counter (c0, c1). Five groups of four rounds, the key added after each."""
    k2 = xor(xor(k0, k1), u32(0x1BD11BDA))
    x = add(c0, k0)
    y = add(c1, k1)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(13)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(15)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(26)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(6)), x)
    x = add(x, k1)
    y = add(y, add(k2, u32(1)))
    x = add(x, y)
    y = xor(rotated_u32(y, u32(17)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(29)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(16)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(24)), x)
    x = add(x, k2)
    y = add(y, add(k0, u32(2)))
    x = add(x, y)
    y = xor(rotated_u32(y, u32(13)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(15)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(26)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(6)), x)
    x = add(x, k0)
    y = add(y, add(k1, u32(3)))
    x = add(x, y)
    y = xor(rotated_u32(y, u32(17)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(29)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(16)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(24)), x)
    x = add(x, k1)
    y = add(y, add(k2, u32(4)))
    x = add(x, y)
    y = xor(rotated_u32(y, u32(13)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(15)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(26)), x)
    x = add(x, y)
    y = xor(rotated_u32(y, u32(6)), x)
    x = add(x, k2)
    y = add(y, add(k0, u32(5)))
    return or_(shl(u64(x), u64(32)), u64(y))
