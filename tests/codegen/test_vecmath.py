"""The bound of every mathematical helper, compiled, against mpmath over the whole range, and its special values."""

import mpmath as mp
import numpy as np
import pytest

from funcgrad.codegen import emulate
from funcgrad.codegen.vecmath import HELPERS, closure

from .support import expr, load, map_nest, run_compiled

# Units in the last place of the result (the spacing at it, subnormals included).
BOUNDS = {
    "exp": (1, 1), "exp2": (1, 1), "expm1": (1.5, 2), "log": (1, 1), "log1p": (1, 1.5), "logistic": (2, 2),
    "tanh": (3, 2.5), "sinh": (1.5, 2), "cosh": (1.5, 1.5), "asinh": (1, 2), "acosh": (1, 2), "atanh": (1, 2),
    "sin": (1, 1), "cos": (1, 1), "tan": (1, 2.5), "asin": (1, 2), "acos": (1, 1.5), "atan": (1, 2),
    "erf": (1.5, 1.5), "erfc": (1, 4), "erf_inv": (3, 3), "cbrt": (1, 1), "rsqrt": (1, 1.5),
}  # fmt: skip
TRUTH = {
    "exp": mp.exp, "exp2": lambda x: mp.power(2, x), "expm1": mp.expm1, "log": mp.log, "log1p": mp.log1p, "sin": mp.sin,
    "cos": mp.cos, "tan": mp.tan, "asin": mp.asin, "acos": mp.acos, "atan": mp.atan, "sinh": mp.sinh, "cosh": mp.cosh,
    "tanh": mp.tanh, "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh, "erf": mp.erf, "erfc": mp.erfc,
    "erf_inv": mp.erfinv, "logistic": lambda x: 1 / (1 + mp.exp(-x)), "rsqrt": lambda x: 1 / mp.sqrt(x),
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)), "sqrt": mp.sqrt, "lgamma": lambda x: mp.log(abs(mp.gamma(x))), "digamma": mp.digamma,
    "pow": mp.power, "atan2": mp.atan2,
}  # fmt: skip
CODES = {"f32": np.dtype("f4"), "f64": np.dtype("f8")}


def helper(op, code, *arrays):
    dtype = CODES[code]
    out = np.empty_like(arrays[0])
    nest = map_nest([expr(op, dtype, *[load(dtype, k) for k in range(len(arrays))])], [dtype] * len(arrays))
    run_compiled(nest, [*arrays, out], [out.size], out.size)
    return out


def points(dtype, count, seed=0):
    """Random bit patterns, normals of many scales, the unit interval, the surroundings of 1."""
    rng = np.random.default_rng(seed)
    word = np.dtype(f"u{dtype.itemsize}")
    bits = rng.integers(0, np.iinfo(word).max, count, dtype=word, endpoint=True).view(dtype)
    scaled = rng.standard_normal(count) * rng.choice([0.01, 0.3, 1, 3, 10, 100, 700], count)
    unit = rng.uniform(-1, 1, count)
    x = np.concatenate([bits, scaled.astype(dtype), unit.astype(dtype), (1 + 1e-3 * unit).astype(dtype)])
    return x[np.isfinite(x)]


def truth(op, *xs):
    """The exact value (250 bits), or None where there is none."""
    with mp.workprec(250 if op not in ("sin", "cos", "tan") else 1300):
        try:
            value = TRUTH[op](*[mp.mpf(float(x)) for x in xs])
        except (ValueError, ZeroDivisionError):
            return None
    return None if isinstance(value, mp.mpc) or mp.isnan(value) else value


def ulps(got, want, dtype):
    """Error in units in the last place; infinite for a NaN or an infinity that should not be, or is missing."""
    info = np.finfo(dtype)
    if want is None:
        return 0 if np.isnan(got) else np.inf
    if np.isnan(got):
        return np.inf
    if abs(want) >= mp.mpf(float(info.max)) * (1 + mp.mpf(2) ** (-info.nmant - 2)):
        return 0 if np.isinf(got) and (got > 0) == (want > 0) else np.inf
    if np.isinf(got):
        return np.inf
    exponent = max(mp.frexp(want)[1] - 1, info.minexp) if want else info.minexp
    return float(abs(mp.mpf(float(got)) - want) / mp.mpf(2) ** (exponent - info.nmant))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("op", BOUNDS)
def test_bound(op, code):
    dtype = CODES[code]
    x = points(dtype, 120)
    if op == "erfc":
        x = x[np.abs(x) < 30]  # mpmath cannot go further
    elif op in ("exp", "expm1", "exp2", "sinh", "cosh", "tanh", "logistic", "erf"):
        x = x[np.abs(x) < 1e5]
    got = helper(op, code, x)
    errors = [ulps(g, truth(op, v), dtype) for g, v in zip(got, x)]
    worst = int(np.argmax(errors))
    bound = BOUNDS[op][0 if code == "f32" else 1]
    assert errors[worst] <= bound, f"{op}_{code}({x[worst]!r}) = {got[worst]!r}: {errors[worst]:.3f} ulp"


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("op", ["lgamma", "digamma"])
def test_gamma_family_within_units_of_its_scale(op, code):
    dtype = CODES[code]
    x = np.random.default_rng(1).uniform(-20, 60, 200).astype(dtype)
    x = np.concatenate([x, np.array([1e-5, 0.5, 1, 1.5, 2, 3, 171, 1e4, 1e10], dtype)])
    for v, g in zip(x, helper(op, code, x)):
        want = truth(op, v)
        away = abs(float(v) - round(float(v))) if v < 0 else 1.0  # near a pole the argument itself decides
        assert abs(mp.mpf(float(g)) - want) <= 30 * np.finfo(dtype).eps * max(1, abs(want)) / max(away, 1e-3), (op, v)


@pytest.mark.parametrize("code", CODES)
def test_power_and_angle(code):
    dtype = CODES[code]
    rng = np.random.default_rng(2)
    span = 700 if code == "f64" else 80
    x = np.concatenate([np.exp(rng.uniform(-span, span, 300)), rng.uniform(0.3, 3, 300)]).astype(dtype)
    y = (rng.uniform(-1, 1, 600) * span / np.abs(np.log(x.astype("f8")))).astype(dtype)
    for a, b, g in zip(x, y, helper("pow", code, x, y)):
        assert ulps(g, truth("pow", a, b), dtype) <= 1, ("pow", a, b)
    x, y = points(dtype, 80, 3), points(dtype, 80, 4)
    count = min(len(x), len(y))
    x, y = x[:count], y[:count]
    for a, b, g in zip(x, y, helper("atan2", code, x, y)):
        assert ulps(g, truth("atan2", a, b), dtype) <= 2, ("atan2", a, b)


@pytest.mark.parametrize("code", CODES)
def test_two_argument_specials(code):
    dtype = CODES[code]
    s = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, np.inf, -np.inf, np.nan, 1e10, -1e10, 1e-40, 3e38, -1.5], dtype)
    x, y = (a.ravel().copy() for a in np.meshgrid(s, s))
    for op, function in (("pow", np.power), ("atan2", np.arctan2), ("nextafter", np.nextafter)):
        got = helper(op, code, x, y)
        with np.errstate(all="ignore"):
            want = function(x, y)
        np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps, err_msg=op)
        numbers = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers], err_msg=op)


SPECIALS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-40, -1e-40]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("op", [o for o in BOUNDS if o not in ("logistic", "rsqrt", "erf", "erfc", "erf_inv")])
def test_specials(op, code):
    names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
    x = np.array(SPECIALS, CODES[code])
    got = helper(op, code, x)
    with np.errstate(all="ignore"):
        want = getattr(np, names.get(op, op))(x)
    np.testing.assert_allclose(got, want, rtol=4 * np.finfo(x.dtype).eps)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers])


def test_huge_angles():
    """The hardest float64 argument to reduce, and others that lose all of their bits to a careless reduction."""
    x = np.array([6381956970095103.0 * 2.0**797, 1e22, 2.0**1000, 1.7976931348623157e308, 67108863.9, 67108864.1])
    for op in ("sin", "cos", "tan"):
        for v, g in zip(x, helper(op, "f64", x)):
            assert ulps(g, truth(op, v), np.dtype("f8")) <= 2.5, (op, v)
    x = np.array([3.4028235e38, 1.5e19, 16367173 * 2.0**72, 2**26 + 4, 2.0**100], "f4")
    for op in ("sin", "cos", "tan"):
        for v, g in zip(x, helper(op, "f32", x)):
            assert ulps(g, truth(op, v), np.dtype("f4")) <= 1, (op, v)


def test_helpers_run_interpreted_and_name_their_callees():
    exp = HELPERS["exp_f64"]
    assert exp.args == ("f64",) and exp.result == "f64" and exp.uses == ("exp_scaled_f64",)
    assert exp.source.startswith("def exp_f64(x):") and "1 ulp" in exp.source
    assert closure(["tanh_f64"])[-1] == "tanh_f64" and "expm1_f64" in closure(["tanh_f64"])
    x = np.linspace(-3, 3, 11)
    np.testing.assert_allclose(exp.function(x), np.exp(x), rtol=1e-15)
    kernel = emulate.python_function("f", "def f(x):\n    return sin_f64(x)", ["sin_f64"])
    np.testing.assert_allclose(kernel(x), np.sin(x), rtol=1e-14)
