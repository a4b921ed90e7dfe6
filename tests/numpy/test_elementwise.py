"""Elementwise functions against NumPy, over dtypes, shapes and memory layouts; special values; promotion."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(0)
SHAPES = [(), (5,), (2, 3), (0, 2)]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
INTS = ["int8", "int32", "int64", "uint8", "uint32"]

ANY, POSITIVE, INSIDE, ABOVE = (-5, 5), (0.1, 5), (-0.9, 0.9), (1.1, 5)
UNARY_FLOAT = {
    "sin": ANY, "cos": ANY, "tan": INSIDE, "arcsin": INSIDE, "arccos": INSIDE, "arctan": ANY, "sinh": ANY, "cosh": ANY, "tanh": ANY,
    "arcsinh": ANY, "arccosh": ABOVE, "arctanh": INSIDE, "exp": ANY, "exp2": ANY, "expm1": ANY, "log": POSITIVE, "log1p": POSITIVE,
    "log2": POSITIVE, "log10": POSITIVE, "sqrt": POSITIVE, "cbrt": ANY, "reciprocal": POSITIVE, "sinc": ANY, "deg2rad": ANY,
    "rad2deg": ANY, "radians": ANY, "degrees": ANY, "spacing": ANY, "fabs": ANY, "i0": ANY,
}  # fmt: skip
UNARY_SAME = [
    "negative",
    "positive",
    "absolute",
    "sign",
    "square",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "conj",
    "real",
    "imag",
    "angle",
]
TESTS = ["isnan", "isinf", "isfinite", "signbit", "isposinf", "isneginf", "logical_not", "isreal", "iscomplex"]
BINARY = {
    "add": ANY, "subtract": ANY, "multiply": ANY, "divide": POSITIVE, "maximum": ANY, "minimum": ANY, "fmax": ANY, "fmin": ANY,
    "power": POSITIVE, "float_power": POSITIVE, "arctan2": ANY, "hypot": ANY, "logaddexp": ANY, "logaddexp2": ANY, "copysign": ANY,
    "floor_divide": POSITIVE, "remainder": ANY, "mod": ANY, "fmod": ANY, "heaviside": ANY, "nextafter": ANY, "equal": ANY,
    "not_equal": ANY, "less": ANY, "less_equal": ANY, "greater": ANY, "greater_equal": ANY, "logical_and": ANY, "logical_or": ANY,
    "logical_xor": ANY,
}  # fmt: skip
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"]


def draw(shape, dtype, low=-5, high=5):
    x = RNG.uniform(low, high, shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.uniform(low, high, shape)
    if np.dtype(dtype).kind == "u":
        x = np.abs(x)
    return np.asarray(x).astype(dtype)


def same(got, expected, rtol=None, dtype=True):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    if dtype:
        assert got.dtype == expected.dtype
    rtol = rtol if rtol is not None else 2e-6 if got.dtype.itemsize <= 4 or got.dtype == np.complex64 else 1e-12
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol / 10)


@pytest.mark.parametrize("name", list(UNARY_FLOAT))
def test_unary_float(name):
    for dtype in FLOATS:
        for shape in SHAPES:
            x = draw(shape, dtype, *UNARY_FLOAT[name])
            same(getattr(fnp, name)(x), getattr(np, name)(x), rtol=1e-5 if dtype == "float32" else 1e-12)
            same(getattr(fnp, name)(fnp.asarray(x)), getattr(np, name)(x), rtol=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("name", list(UNARY_FLOAT))
def test_integers_become_the_default_float(name):
    x = np.array([1, 0, 1], np.int32) if UNARY_FLOAT[name] in (INSIDE, ANY) and name != "arctanh" else np.array([2, 3], np.int64)
    if name == "arctanh":
        x = np.array([0, 0])
    got = getattr(fnp, name)(x)
    assert got.dtype == np.float32
    same(got, getattr(np, name)(x.astype(np.float32)), rtol=1e-5)
    assert getattr(fnp, name)(1 if name != "arctanh" else 0).dtype == np.float32


@pytest.mark.parametrize(
    "name", ["sin", "cos", "exp", "log", "sqrt", "tanh", "arcsinh", "square", "reciprocal", "log2", "conj", "absolute"]
)
def test_unary_complex(name):
    for dtype in COMPLEX:
        x = draw((4,), dtype, 0.5, 1.5)
        same(getattr(fnp, name)(x), getattr(np, name)(x), rtol=1e-5 if dtype == "complex64" else 1e-12)


@pytest.mark.parametrize("name", UNARY_SAME)
def test_unary_same(name):
    for dtype in FLOATS + COMPLEX + INTS:
        if name in ("floor", "ceil", "trunc") and dtype in COMPLEX or name == "sign" and dtype in COMPLEX:
            continue
        if name == "angle" and dtype in INTS:
            continue
        for shape in SHAPES:
            x = draw(shape, dtype)
            expected = getattr(np, name)(x)
            same(getattr(fnp, name)(x), expected, dtype=not (name == "rint" and dtype in INTS))


@pytest.mark.parametrize("name", TESTS)
def test_tests(name):
    x = np.array([1.0, -1.0, np.nan, np.inf, -np.inf, -0.0, 0.0])
    for dtype in FLOATS:
        same(getattr(fnp, name)(x.astype(dtype)), getattr(np, name)(x.astype(dtype)))
    if name not in ("signbit", "isposinf", "isneginf"):
        z = np.empty(7, complex)
        z.real, z.imag = x, x[::-1]
        same(getattr(fnp, name)(z), getattr(np, name)(z))


@pytest.mark.parametrize("name", list(BINARY))
def test_binary(name):
    pairs = [((), ()), ((5,), (5,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((4,), ()), ((0, 3), (1, 3))]
    for dtype in FLOATS:
        for a, b in pairs:
            x, y = draw(a, dtype, *BINARY[name]), draw(b, dtype, *BINARY[name])
            expected = getattr(np, name)(x, y)
            same(
                getattr(fnp, name)(x, y),
                expected,
                dtype=name != "float_power",
                rtol=1e-4
                if name in ("remainder", "mod", "fmod") and dtype == "float32"
                else None
                if name not in ("power", "float_power")
                else 1e-5,
            )


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "maximum", "minimum", "floor_divide", "remainder", "fmod", "power", "equal", "less"]
)
@pytest.mark.parametrize("dtype", INTS)
def test_binary_integers(name, dtype):
    x, y = draw((3, 4), dtype), draw((4,), dtype)
    if name == "power":
        y = np.abs(y) % 3
    if name in ("floor_divide", "remainder", "fmod"):
        y[:2] = [0, 1]
    with np.errstate(all="ignore"):
        same(getattr(fnp, name)(x, y), getattr(np, name)(x, y))


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("dtype", INTS)
def test_bits(name, dtype):
    x = RNG.integers(0, 100, (3, 4)).astype(dtype)
    y = RNG.integers(0, 6, (4,)).astype(dtype)
    same(getattr(fnp, name)(x, y), getattr(np, name)(x, y))
    if name.startswith("bitwise"):
        a, b = x % 2 == 0, y % 2 == 0
        same(getattr(fnp, name)(a, b), getattr(np, name)(a, b))


@pytest.mark.parametrize(
    "x,y",
    [
        (7.5, 2.0),
        (-7.5, 2.0),
        (7.5, -2.0),
        (-7.5, -2.0),
        (0.0, -3.0),
        (-0.0, 3.0),
        (1.0, 0.1),
        (5.0, np.inf),
        (-5.0, np.inf),
        (6.0, 3.0),
    ],
)
def test_whole_division_of_floats(x, y):
    x, y = np.float64(x), np.float64(y)
    with np.errstate(all="ignore"):
        same(fnp.floor_divide(x, y), np.floor_divide(x, y))
        same(fnp.remainder(x, y), np.remainder(x, y))
        q, r = np.divmod(x, y)
    same(fnp.divmod(x, y)[0], q)
    same(fnp.divmod(x, y)[1], r)


def test_specials():
    inf, nan = np.inf, np.nan
    same(fnp.logaddexp(np.array([inf, -inf, nan, 1.0, inf]), np.array([inf, -inf, 1.0, nan, -inf])), [inf, -inf, nan, nan, inf])
    same(
        fnp.hypot(np.array([inf, 1e300, 0.0, nan, -inf]), np.array([nan, 1e300, 0.0, 1.0, 2.0])),
        np.hypot([inf, 1e300, 0.0, nan, -inf], [nan, 1e300, 0.0, 1.0, 2.0]),
    )
    same(fnp.heaviside(np.array([-1.0, 0.0, 2.0, nan]), 0.5), [0.0, 0.5, 1.0, nan])
    same(fnp.nan_to_num(np.array([nan, inf, -inf, 1.0])), np.nan_to_num(np.array([nan, inf, -inf, 1.0])))
    same(fnp.nan_to_num(np.array([nan, inf, -inf]), nan=1.0, posinf=2.0, neginf=3.0), [1.0, 2.0, 3.0])
    same(fnp.copysign(np.array([1.0, -1.0]), np.array([-0.0, 0.0])), [-1.0, 1.0])
    same(fnp.sign(np.array([nan, -0.0, 3.0])), [nan, 0.0, 1.0])


@pytest.mark.parametrize("dtype", FLOATS)
def test_frexp_ldexp_modf(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    x = np.array([0.0, 1.0, -3.7, 1e-30, np.inf, -np.inf, np.nan, tiny, 5 * tiny, np.finfo(dtype).max], dtype)
    m, e = fnp.frexp(x)
    mm, ee = np.frexp(x)
    same(m, mm)
    np.testing.assert_array_equal(np.asarray(e)[np.isfinite(x)], ee[np.isfinite(x)])
    for n in (-200, -3, 0, 5, 100):
        with np.errstate(all="ignore"):
            same(fnp.ldexp(x, n), np.ldexp(x, n))
    f, w = fnp.modf(x)
    ff, ww = np.modf(x)
    same(f, ff)
    same(w, ww)


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_round(decimals):
    x = RNG.normal(size=20) * 100
    same(fnp.round(x, decimals), np.round(x, decimals))
    i = RNG.integers(-500, 500, 50)
    same(fnp.round(i, decimals), np.round(i, decimals))


def test_clip():
    x = np.arange(6.0)
    same(fnp.clip(x, 1, 4), np.clip(x, 1, 4))
    same(fnp.clip(x, None, 4.0), np.clip(x, None, 4))
    same(fnp.clip(x, np.arange(6.0)[::-1], 4), np.clip(x, np.arange(6.0)[::-1], 4))
    assert fnp.clip(fnp.arange(3), 0.5).dtype == np.float32


def test_non_contiguous_and_reversed():
    x = np.arange(24.0).reshape(4, 6)[::2, ::-3]
    same(fnp.sin(x), np.sin(x))
    same(fnp.add(x, x.T[:1, :1]), x + x.T[:1, :1])


@pytest.mark.parametrize(
    "a,b,expected",
    [
        ("float32", 2.0, "float32"), ("float32", 2, "float32"), ("int32", 2, "int32"), ("int32", 2.0, "float32"), ("bool", 1, "int64"),
        ("uint8", 2, "uint8"), ("int64", "float32", "float32"), ("float32", "float64", "float64"), ("float32", 1j, "complex64"),
        ("float64", 1j, "complex128"), ("float16", "bfloat16", "float32"), ("int32", True, "int32"), ("int8", "uint8", "int16"),
    ],
)  # fmt: skip
def test_promotion(a, b, expected):
    x = fnp.ones(2, a)
    y = fnp.ones(2, b) if isinstance(b, str) else b
    assert (x + y).dtype == fnp.dtype(expected)
    assert (y + x).dtype == fnp.dtype(expected)


@pytest.mark.parametrize("python", [3, 2.5, 1.5 + 1j])
def test_what_is_made_of_python_scalars_alone_stays_weak(python):
    """Under a trace as in Python itself: a traced learning rate never widens the array that it multiplies."""
    steps = {
        "x * 2": lambda x: x * 2, "2.5 - x": lambda x: 2.5 - x, "x ** 2": lambda x: x**2, "x / 3": lambda x: x / 3,
        "abs": abs, "maximum": lambda x: fnp.maximum(x.real, 0), "clip": lambda x: fnp.clip(x.real, 0, 1),
        "where": lambda x: fnp.where(x != 0, x, 1), "floor": lambda x: x.real // 2, "sqrt": fnp.sqrt, "x + x": lambda x: x + x,
        "mixed": lambda x: x * 0.5 + 1, "arctan2": lambda x: fnp.arctan2(x.real, 2),
    }  # fmt: skip
    for name, step in steps.items():
        weak = fg.jit(step)(python)
        assert weak.weak_type, name
        for dtype in ("bfloat16", "float16", "float64"):
            kind = fnp.promote_types(dtype, "complex64") if weak.dtype.kind == "c" else fnp.dtype(dtype)
            assert (
                fg.jit(lambda x, a, step=step: step(x) * a, static_argnames="step")(python, fnp.ones(2, dtype)).dtype == kind
            ), name
            assert (weak * fnp.ones(2, dtype)).dtype == kind, name
    with pytest.raises(OverflowError, match="does not fit"):
        fg.jit(lambda x: x + 2**70)(1)
    assert not fg.jit(lambda x: x * np.float32(2))(python).weak_type


def test_numpy_scalars_keep_their_dtype():
    assert (fnp.ones(2, "float32") * np.float64(2)).dtype == np.float64
    assert (fnp.ones(2, "float32") * np.float32(2)).dtype == np.float32


def test_python_scalars_stay_literals():
    text = str(fg.make_jaxpr(lambda x: x * 2.0 + 1)(fnp.ones(3)))
    assert "mul a 2.0:f32[]" in text and "add b 1.0:f32[]" in text


@pytest.mark.parametrize("bad", [[1, 2], (1, 2), None, "a", object()])
def test_bad_operands_name_function_and_argument(bad):
    with pytest.raises(TypeError, match=r"fnp\.add: got .* for x2"):
        fnp.add(fnp.ones(2), bad)
    with pytest.raises(TypeError, match=r"fnp\.sin: got .* for x"):
        fnp.sin(bad)


def test_errors_teach():
    with pytest.raises(TypeError, match="out"):
        fnp.add(1, 2, out=np.zeros(()))
    with pytest.raises(TypeError, match="two arrays"):
        fnp.add(1)
    with pytest.raises(TypeError, match="astype"):
        fnp.bitwise_and(1.0, 2.0)
    with pytest.raises(OverflowError, match="does not fit"):
        fnp.ones(2, "uint8") + 300
    with pytest.raises(ValueError, match=r"add: got shapes \(2,\), \(3,\)"):
        fnp.ones(2) + fnp.ones(3)
    with pytest.raises(TypeError, match="masked"):
        fnp.sin(np.ma.array([1.0]))
    with fg.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank"):
        fnp.ones((2, 3)) + fnp.ones(3)


def test_isclose_allclose_array_equal():
    a = np.array([1.0, np.inf, np.nan, 1e-9, -np.inf])
    b = np.array([1.0 + 1e-6, np.inf, np.nan, 0.0, np.inf])
    for equal_nan in (False, True):
        same(fnp.isclose(a, b, equal_nan=equal_nan), np.isclose(a, b, equal_nan=equal_nan))
        assert bool(fnp.array_equal(a, a, equal_nan=equal_nan)) == np.array_equal(a, a, equal_nan=equal_nan)
    assert fnp.allclose(np.arange(3), np.arange(3)) and not fnp.array_equal(np.arange(3), np.arange(4))
    assert fnp.array_equiv(np.ones((2, 3)), np.ones(3)) and not fnp.array_equiv(np.ones(2), np.ones(3))


def test_derivatives_at_special_points():
    g = fg.grad
    x = np.float64(0.0)
    assert abs(g(fnp.sinc)(x)) == 0 and abs(g(g(fnp.sinc))(x) + np.pi**2 / 3) < 1e-12
    for v in (0.0, 1.5, -40.0):
        assert abs(g(fnp.logaddexp)(np.float64(v), np.float64(v)) - 0.5) < 1e-15
        assert abs(g(g(fnp.logaddexp))(np.float64(v), np.float64(v)) - 0.25) < 1e-12
    assert g(fnp.hypot)(x, x) == 0
    assert g(lambda v: fnp.where(v > 1, fnp.log(v), 2 * v))(x) == 2
    assert g(lambda v: v**2)(x) == 0 and g(g(lambda v: v**2))(x) == 2
    flat = np.array([2.0, 2.0])
    for norm in (
        fnp.linalg.norm,
        fnp.std,
        fnp.nanstd,
        *[lambda x, p=p: fnp.linalg.norm(x, p) for p in (1, 2, 3, 2.5, np.inf, -1)],
    ):
        for at in (np.zeros(3), flat) if norm in (fnp.std, fnp.nanstd) else (np.zeros(3),):
            for f in (g(norm), fg.jit(g(norm)), g(lambda x, norm=norm: g(norm)(x).sum())):
                assert f(at).tolist() == [0] * len(at)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "logaddexp", "hypot", "power", "maximum"])
def test_jit_agrees(name):
    x, y = draw((3, 4), "float32", 0.5, 4), draw((4,), "float32", 0.5, 4)
    f = getattr(fnp, name)
    same(fg.jit(lambda a, b: f(a, b))(x, y), f(x, y), rtol=1e-5)


def test_comparisons_with_numbers_beyond_the_dtype():
    cases = [("uint8", [0, 200], (-1, 300)), ("uint64", [0, 2**63 + 5], (-1, 2**64)), ("int64", [-5, 5], (2**63, -(2**70)))]
    for dtype, numbers, others in cases:
        x = np.array(numbers, dtype)
        for y in others:
            for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"):
                f, expected = getattr(fnp, name), getattr(np, name)
                same(f(x, y), expected(x, y))
                same(f(y, x), expected(y, x))
                same(fg.jit(f, static_argnums=1)(x, y), expected(x, y))
            same(fnp.asarray(x) == y, x == y)
            same(fnp.isclose(x, y), np.isclose(x, y))


def test_traced_roll():
    x = np.arange(10.0).reshape(2, 5)
    for k in (-7, 0, 3):
        same(fg.jit(lambda x, k: fnp.roll(x, k, 1))(x, k), np.roll(x, k, 1))


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name, base, powers", [("log2", 2.0, (-120, 120)), ("log10", 10.0, (0, 11)), ("cbrt", None, (0, 100))])
def test_exact_results(name, base, powers, dtype, compiled):
    k = np.arange(*powers).astype(dtype)
    x = k**3 if base is None else np.array([base**n for n in range(*powers)], dtype)
    f = getattr(fnp, name)
    np.testing.assert_array_equal((fg.jit(f) if compiled else f)(x), k)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["log2", "log10"])
def test_logarithms_over_the_whole_range(name, dtype):
    info = np.finfo(dtype)
    edges = [
        0.0,
        -1.0,
        np.nan,
        np.inf,
        -np.inf,
        info.smallest_subnormal,
        info.smallest_normal,
        info.max,
        1 - info.epsneg,
        1 + info.eps,
    ]
    span = np.log(float(info.max)) * 0.99
    x = np.concatenate([np.array(edges, dtype), np.exp(RNG.uniform(-span, span, 5000)).astype(dtype)])
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x.astype(np.longdouble)).astype(dtype)
    np.testing.assert_allclose(fg.jit(getattr(fnp, name))(x), expected, rtol=3 * info.eps)


COMPLEX_ROWS = np.array([[1 + 2j, 1 - 1j, 0.5 + 9j, 1 + 2j], [-3j, 2, 2 + 0j, -7 + 1j], [1j, 1j, -1j, 0]])


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "ptp"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_order_of_complex_numbers(name, axis):
    f, nans = getattr(fnp, name), COMPLEX_ROWS.copy()
    nans[0, 2], nans[1, 1] = complex(0, np.nan), complex(np.nan, 1)
    for x in (COMPLEX_ROWS, nans, COMPLEX_ROWS.astype("complex64")):
        expected = getattr(np, name)(x, axis)
        for got in (f(x, axis), fg.jit(lambda x: f(x, axis))(x)):
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)


def test_gradients_of_complex_extrema():
    z = COMPLEX_ROWS[1]
    check_grads(lambda re, im: [g(fnp.max(re + 1j * im)) for g in (fnp.real, fnp.imag)], (z.real + 0.1 * np.arange(4), z.imag), 2)


@pytest.mark.parametrize(
    "y, x", [(0.0, 0.0), (-0.0, -0.0), (1.0, np.inf), (-2.0, -np.inf), (np.inf, 3.0), (np.inf, -np.inf), (0.0, np.inf)]
)
def test_angles_do_not_turn_at_the_origin_and_at_infinity(y, x):
    for f in (fg.grad(fnp.arctan2, (0, 1)), fg.jit(fg.grad(fnp.arctan2, (0, 1)))):
        assert [float(t) for t in f(np.float64(y), np.float64(x))] == [0, 0]
    assert fg.grad(lambda x: fnp.angle(fnp.exp(1j * x) * 0))(np.float64(1.0)) == 0


def test_angles_turn_close_to_the_origin():
    for size in (1e-300, 1e-150, 1e150, 1e300):
        slopes = fg.grad(fnp.arctan2, (0, 1))(np.float64(0), np.float64(size))
        np.testing.assert_allclose(slopes, [1 / size, 0], rtol=1e-12)
