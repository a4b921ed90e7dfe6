"""Helpers on integers and bits: powers by squaring, the next float, one block of Threefry-2x32-20.

Threefry: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC'11); its words are tested
against the Random123 known answers. Both words of a block come back in one u64, high word first.
"""

_POWER = """
def pow_{c}(x, y):
    # Squares x once for each bit of y. A negative power of an integer is 0, but for 1 and -1.
    base, left, out = x, y, {c}(1)
    while left > {c}(0):
        out = select(and_(left, {c}(1)) != {c}(0), mul(out, base), out)
        base = mul(base, base)
        left = shr(left, {c}(1))
    {negative}
    return out
"""

_NEGATIVE = """odd = and_(y, {c}(1)) != {c}(0)
    inverse = select(x == {c}(1), {c}(1), select(x == {c}(-1), select(odd, {c}(-1), {c}(1)), {c}(0)))
    out = select(y < {c}(0), inverse, out)"""

# The next representable number from x towards y: the bits of a float, read as an integer, are in order.
_NEXT = """
def nextafter_{f}(x, y):
    bits = bits_{i}(x)
    away = (x < y) == (x > {f}(0.0))
    step = select(away, {i}(1), {i}(-1))
    moved = bits_{f}(add(bits, step))
    tiny = copysign(bits_{f}({i}(1)), y)
    out = select(x == {f}(0.0), tiny, moved)
    out = select(x == y, y, out)
    return select(is_nan(x) | is_nan(y), x + y, out)
"""

_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)


def _threefry() -> str:
    lines = [
        "def threefry(k0: u32, k1: u32, c0: u32, c1: u32) -> u64:",
        "    k2 = xor(xor(k0, k1), u32(0x1BD11BDA))",
        "    x = add(c0, k0)",
        "    y = add(c1, k1)",
    ]
    for group in range(5):
        for k in range(4):
            r = _ROTATIONS[4 * (group % 2) + k]
            lines.append("    x = add(x, y)")
            lines.append(f"    y = xor(or_(shl(y, u32({r})), shr(y, u32({32 - r}))), x)")
        first, second = (group + 1) % 3, (group + 2) % 3
        lines.append(f"    x = add(x, k{first})")
        lines.append(f"    y = add(y, add(k{second}, u32({group + 1})))")
    lines.append("    return or_(shl(u64(x), u64(32)), u64(y))")
    return "\n".join(lines) + "\n"


TEXTS = (
    [_POWER.format(c=c, negative=_NEGATIVE.format(c=c)) for c in ("i8", "i16", "i32", "i64")]
    + [_POWER.format(c=c, negative="") for c in ("u8", "u16", "u32", "u64")]
    + [_NEXT.format(f=f, i=i) for f, i in (("f32", "i32"), ("f64", "i64"))]
    + [_threefry()]
)
