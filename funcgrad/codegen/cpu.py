"""The CPU's table: Numba Python over raw pointers, in the words of runtime/intrinsics.py.

Floats, comparisons and index arithmetic are written with Python's operators; integer arithmetic with words
(`add(x, y)`), because Numba's operators widen int32 to int64 and the words keep the type. Transcendental
functions are helpers of vecmath.py that become part of the loop.
"""

from funcgrad.codegen.target import (
    ALL_CODES,
    ATOM,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    COMPARE,
    COMPLEX_CODES,
    FLOAT_CODES,
    INT_CODES,
    PRODUCT,
    REAL_CODES,
    SIGNED_CODES,
    SUM,
    UNARY,
    UNSIGNED_CODES,
    Spelling,
    Target,
    call,
    infix,
    text,
)

# Functions of one float that are helpers, and of two.
HELPERS_1 = (
    "rsqrt cbrt exp exp2 expm1 log log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
    "erf erfc erf_inv lgamma digamma logistic gamma erfcx ndtri dawsn bessel_i0e bessel_i1e "
    "exp1 expi spence si ci fresnel_s fresnel_c"
).split()
HELPERS_2 = ("pow", "atan2", "nextafter", "igamma", "igammac", "betaln", "zeta", "owens_t", "expn", "poch")
HELPERS_MORE = {"jn": 2, "betainc": 3, "gamma_ratio": 3, "betainc_ratio": 5}


def table() -> dict[tuple[str, str], Spelling]:
    t: dict[tuple[str, str], Spelling] = {}
    for c in FLOAT_CODES:
        t["add", c], t["sub", c] = infix("+", SUM), infix("-", SUM)
        t["mul", c], t["div", c] = infix("*", PRODUCT), call("fdiv", 2)
        t["rem", c] = call("rem", 2)
        t["neg", c] = Spelling("-{0}", UNARY, (ATOM,))
        t["abs", c] = call("fabs")
        t["sign", c] = text(f"select({{0}} > {c}(0.0), {c}(1.0), select({{0}} < {c}(0.0), {c}(-1.0), {{0}}))")
        t["max", c], t["min", c] = call("max_", 2), call("min_", 2)
        for op, word in {"floor": "floor", "ceil": "ceil", "round": "rint", "sqrt": "sqrt"}.items():
            t[op, c] = call(word)
        t["is_finite", c] = call("is_finite")
        t["complex", c] = call("c64of" if c == "f32" else "c128of", 2)
        for op in HELPERS_1:
            t[op, c] = call(f"{op}_{c}", 1, helper=f"{op}_{c}")
        for op in HELPERS_2:
            t[op, c] = call(f"{op}_{c}", 2, helper=f"{op}_{c}")
        for op, arity in HELPERS_MORE.items():
            t[op, c] = call(f"{op}_{c}", arity, helper=f"{op}_{c}")
        t["sum_into", c], t["product_into", c] = call("radd", 2), call("rmul", 2)
        t["max_into", c], t["min_into", c] = call("rmax", 2), call("rmin", 2)
    for c in COMPLEX_CODES:
        t["add", c], t["sub", c], t["mul", c], t["neg", c] = (
            call("add", 2),
            call("sub", 2),
            call("mul", 2),
            call("neg"),
        )
        t["real", c], t["imag", c] = call("real"), call("imag")
        make = "c64of" if c == "c64" else "c128of"
        t["conj", c] = text(f"{make}(real({{0}}), -imag({{0}}))")
        t["is_finite", c] = text("is_finite(real({0})) & is_finite(imag({0}))")
        t["eq", c], t["ne", c] = call("eq", 2), call("ne", 2)
        # Other functions of complex numbers are made of real ones where they are declared (ops/_complex.py).
        t["wofz", c] = call(f"wofz_{c}", 1, helper=f"wofz_{c}")
        t["sum_into", c], t["product_into", c] = call("add", 2), call("mul", 2)
    for c in INT_CODES:
        for op in ("add", "sub", "mul", "div", "rem", "shl", "shr", "shr_logical", "xor"):
            t[op, c] = call(op, 2)
        t["and", c], t["or", c], t["not", c] = call("and_", 2), call("or_", 2), call("not_")
        t["max", c], t["min", c], t["neg", c] = call("max_", 2), call("min_", 2), call("neg")
        t["population_count", c], t["clz", c] = call("popcount"), call("clz")
        t["sum_into", c], t["product_into", c] = call("add", 2), call("mul", 2)
        t["max_into", c], t["min_into", c] = call("max_", 2), call("min_", 2)
        t["pow", c] = call(f"pow_{c}", 2, helper=f"pow_{c}")
    t["add", "i64"], t["sub", "i64"], t["mul", "i64"] = infix("+", SUM), infix("-", SUM), infix("*", PRODUCT)
    for c in SIGNED_CODES:
        t["abs", c] = call("abs_")
        t["sign", c] = text(f"sub({c}({{0}} > {c}(0)), {c}({{0}} < {c}(0)))")
    for c in UNSIGNED_CODES:
        t["abs", c] = text("{0}")
        t["sign", c] = text(f"{c}({{0}} > {c}(0))")
        t["gcd", c] = call(f"gcd_{c}", 2, helper=f"gcd_{c}")
    t["and", "b1"], t["or", "b1"], t["xor", "b1"] = (
        infix("&", BIT_AND),
        infix("|", BIT_OR),
        infix("^", BIT_XOR),
    )
    t["not", "b1"] = call("not_")
    t["mul", "b1"], t["add", "b1"] = t["and", "b1"], t["or", "b1"]
    t["min", "b1"], t["max", "b1"] = t["and", "b1"], t["or", "b1"]
    t["sum_into", "b1"], t["max_into", "b1"] = t["or", "b1"], t["or", "b1"]
    t["product_into", "b1"], t["min_into", "b1"] = t["and", "b1"], t["and", "b1"]
    t["eq", "b1"], t["ne", "b1"] = call("eq", 2), call("ne", 2)
    for c, op in (("b1", "lt"), ("b1", "le"), ("b1", "gt"), ("b1", "ge")):
        t[op, c] = call(op, 2)
    for c in REAL_CODES:
        for op, sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
            # Comparisons do not chain: both sides bind tighter than a comparison.
            t[op, c] = Spelling(f"{{0}} {sign} {{1}}", COMPARE, (BIT_OR, BIT_OR))
    for c in ALL_CODES:
        t["select", c] = call("select", 3)
        t["cast", c] = Spelling("{code}({0})")
        if c not in COMPLEX_CODES:
            t["bitcast", c] = Spelling("bits_{code}({0})")
    t["check", "i64"] = Spelling("check_index(scratch, {2}, {0}, {1})")
    t["threefry", "u32"] = call("threefry", 4, helper="threefry")
    t["high_word", "u64"] = text("u32(shr({0}, u64(32)))")
    t["low_word", "u64"] = text("u32({0})")
    return t


CPU = Target("cpu", table(), flat_arrays=False)
