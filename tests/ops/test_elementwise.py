"""Elementwise operators at their special points: known answers."""

import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError
from funcgrad.ops import elementwise as ew
from funcgrad.transforms.vmap import vmap
from tests.ops.helpers import arr, grad, grad_value, loops

inf, nan = np.inf, np.nan


def both(fun, *arrays):
    """The NumPy meaning and the loops' answer, which agree to the bit."""
    eager = np.asarray(fun(*[arr(a, a.dtype) for a in arrays]))
    np.testing.assert_array_equal(loops(fun, *arrays), eager)
    return eager


# --- integers -------------------------------------------------------------------------------------------------


def test_integer_division_truncates_and_knows_zero():
    x = np.array([7, -7, 7, -7, 5, -(2**31)], np.int32)
    y = np.array([2, 2, -2, -2, 0, -1], np.int32)
    np.testing.assert_array_equal(both(ew.div, x, y), [3, -3, -3, 3, -1, -(2**31)])
    np.testing.assert_array_equal(both(ew.rem, x, y), [1, -1, 1, -1, 5, 0])
    u = np.array([7, 5], np.uint8)
    np.testing.assert_array_equal(both(ew.div, u, np.array([2, 0], np.uint8)), [3, 255])
    np.testing.assert_array_equal(both(ew.rem, u, np.array([2, 0], np.uint8)), [1, 5])


@settings(deadline=None, max_examples=60)
@given(st.integers(-128, 127), st.integers(-128, 127))
def test_integer_division_is_that_of_the_rationals_cut_off(x, y):
    x8, y8 = np.array([x], np.int8), np.array([y], np.int8)
    q, r = int(both(ew.div, x8, y8)[0]), int(both(ew.rem, x8, y8)[0])
    if y and not (x == -128 and y == -1):
        assert (q, r) == (int(x / y), x - y * int(x / y))


def test_integer_powers_wrap_and_truncate():
    x = np.array([3, -2, 0, 1, -1, -1, 2, 0], np.int32)
    y = np.array([40, 3, 0, -5, -3, -4, -1, -1], np.int32)
    wrapped = (3**40 + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(both(ew.pow_, x, y), [wrapped, -8, 1, 1, -1, 1, 0, 0])


def test_shifts_beyond_the_width():
    x = np.array([1, -8, -8, 5], np.int8)
    n = np.array([3, 1, 9, -1], np.int8)
    np.testing.assert_array_equal(both(ew.shift_left, x, n), [8, -16, 0, 0])
    np.testing.assert_array_equal(both(ew.shift_right_arithmetic, x, n), [0, -4, -1, 0])
    np.testing.assert_array_equal(both(ew.shift_right_logical, x, n), [0, 124, 0, 0])


def test_counts_of_bits():
    x = np.array([0, 1, -1, 127], np.int8)
    np.testing.assert_array_equal(both(ew.population_count, x), [0, 1, 8, 7])
    np.testing.assert_array_equal(both(ew.clz, x), [8, 7, 0, 1])


# --- conversions --------------------------------------------------------------------------------------------


def convert(d):
    return lambda x: ew.convert_element_type(x, new_dtype=np.dtype(d), weak_type=False)


def test_floats_outside_an_integer_dtype_take_its_bounds():
    x = np.array([1.9, -1.9, 300, -300, inf, -inf, nan, 127.5, -128.5])
    np.testing.assert_array_equal(both(convert("int8"), x), [1, -1, 127, -128, 127, -128, 0, 127, -128])
    np.testing.assert_array_equal(both(convert("uint8"), x), [1, 0, 255, 0, 255, 0, 0, 127, 0])
    big = np.array([2.0**63, -(2.0**63), 2.0**62, 1e30], np.float32)
    np.testing.assert_array_equal(both(convert("int64"), big), [2**63 - 1, -(2**63), 2**62, 2**63 - 1])
    assert both(convert("bool"), np.array([0.0, -0.0, nan, 0.5])).tolist() == [False, False, True, True]
    assert both(convert("float32"), np.array([1 + 2j])).tolist() == [1]


@settings(deadline=None, max_examples=100)
@given(st.floats(width=32))
def test_reduce_precision_is_a_round_trip_through_a_narrow_float(x):
    x = np.array([x], np.float32)
    with np.errstate(all="ignore"):
        narrow = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    got = both(lambda x: ew.reduce_precision(x, exponent_bits=8, mantissa_bits=7), x)
    if np.isnan(x[0]) or abs(x[0]) >= 2.0**-126:
        np.testing.assert_array_equal(got, narrow)
    half = both(lambda x: ew.reduce_precision(x, exponent_bits=5, mantissa_bits=10), x)
    with np.errstate(all="ignore"):
        want = x.astype(np.float16).astype(np.float32)
    if not abs(want[0]) < 2.0**-14:
        np.testing.assert_array_equal(half, want)
    else:
        assert half[0] == 0 or abs(half[0]) == 2.0**-14


def test_bitcasts_split_and_join_words():
    x = np.array([1.0, -2.0], np.float32)
    parts = both(lambda x: ew.bitcast_convert_type(x, new_dtype=dt.uint8), x)
    assert parts.tolist() == [[0, 0, 128, 63], [0, 0, 0, 192]]
    np.testing.assert_array_equal(both(lambda x: ew.bitcast_convert_type(x, new_dtype=dt.float32), parts), x)


def test_rounding_of_halves():
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994, -0.0, inf, nan, 1e300])
    even = both(lambda x: ew.round_(x, rounding_method=1), x)
    away = both(lambda x: ew.round_(x, rounding_method=0), x)
    np.testing.assert_array_equal(even, [0, 2, 2, -0.0, -2, 0, -0.0, inf, nan, 1e300])
    np.testing.assert_array_equal(away, [1, 2, 3, -1, -2, 0, -0.0, inf, nan, 1e300])
    np.testing.assert_array_equal(np.signbit(away), np.signbit(x) & ~np.isnan(x))


# --- derivatives at special points ---------------------------------------------------------------------------


def test_kinks():
    np.testing.assert_array_equal(grad(ew.abs_, arr([-2, 0, 3]))[0], [-1, 0, 1])
    gx, gy = grad(ew.max_, arr([1, 2, 3]), arr([2, 2, 2]))
    np.testing.assert_array_equal([gx, gy], [[0, 0.5, 1], [1, 0.5, 0]])
    np.testing.assert_array_equal(grad(lambda x: ew.min_(x, np.float64(2)), arr([1, 2, 3]))[0], [1, 0.5, 0])
    low, x, high = grad(ew.clamp, arr([0, 0, 0]), arr([-1, 0.5, 2]), arr([1, 1, 1]))
    np.testing.assert_array_equal([low, x, high], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert grad(ew.sqrt, arr([0.0]))[0] == inf and grad(ew.cbrt, arr([0.0]))[0] == inf


def test_what_max_does_not_take_is_blocked():
    # log(0) = -inf loses against 1; its slope is infinite, its cotangent a hard zero.
    assert grad(lambda x: ew.max_(ew.log(x), np.float64(1)), arr([0.0]))[0] == 0


@pytest.mark.parametrize(
    "x, y, dx, dy",
    [
        (0, 2, 0, 0),
        (0, 1, 1, 0),
        (0, 0, 0, 0),
        (0, 3, 0, 0),
        (2, 0, 0, np.log(2)),
        (-2, 3, 12, nan),
        (-2, 2, -4, nan),
        (0, 0.5, inf, 0),
        (1, -1, -1, 0),
    ],
)
def test_slopes_of_pow(x, y, dx, dy):
    gx, gy = grad(ew.pow_, arr([float(x)]), arr([float(y)]))
    np.testing.assert_allclose(gx, [dx])
    np.testing.assert_allclose(gy, [dy])


def test_second_derivatives_of_pow_at_zero():
    second = lambda n: grad(lambda x: grad_value(lambda x: ew.pow_(x, np.float64(n)), x), arr([0.0, 2.0]))[0]
    np.testing.assert_allclose(second(2), [2, 2])
    np.testing.assert_allclose(second(3), [0, 12])
    np.testing.assert_allclose(second(1), [0, 0])
    np.testing.assert_allclose(second(0), [0, 0])


def test_fixed_bases_and_exponents():
    np.testing.assert_allclose(grad(lambda x: ew.pow_(x, np.float64(2.5)), arr([4.0, 0]))[0], [2.5 * 8, 0])
    np.testing.assert_allclose(grad(lambda x: ew.pow_(x, np.float64(0)), arr([0.0]))[0], [0])
    np.testing.assert_allclose(grad(lambda y: ew.pow_(np.float64(2), y), arr([3.0]))[0], [8 * np.log(2)])
    np.testing.assert_allclose(grad(lambda y: ew.pow_(np.float64(0), y), arr([3.0]))[0], [0])
    assert np.asarray(ew.mul(grad_value(lambda x: ew.pow_(x, 3.0), ew.mul(2.0, 1.0)), 1.0)) == 12


def test_integer_pow_of_negative_numbers():
    np.testing.assert_allclose(grad(lambda x: ew.integer_pow(x, y=-2), arr([-2.0, 0.5]))[0], [0.25, -16])
    np.testing.assert_array_equal(grad(lambda x: ew.integer_pow(x, y=0), arr([0.0]))[0], [0])


def test_modulus_of_complex_numbers():
    z = arr([3 + 4j, 0, -2j], np.complex128)
    np.testing.assert_allclose(grad(ew.abs_, z)[0], [0.6 - 0.8j, 0, 1j])
    np.testing.assert_allclose(grad(ew.real, z)[0], [1, 1, 1])
    np.testing.assert_allclose(grad(ew.imag, z)[0], [-1j, -1j, -1j])


# --- values -----------------------------------------------------------------------------------------------------


def test_complex_formulas_on_the_plane():
    """The loops' real formulas against NumPy's functions, near zero, far out, on the axes and on both sides of the cuts."""
    rng = np.random.default_rng(0)
    size = 10 ** rng.uniform(-8, 2.3, 300)
    z = np.concatenate([size * np.exp(1j * rng.uniform(-np.pi, np.pi, 300)), size, -size, 1j * size])
    z = np.concatenate([z, np.conj(z), [0, 1, -1, 1j, -1j, 2, -2]])
    for (
        name
    ) in "exp expm1 log log1p sinh cosh tanh asinh acosh atanh logistic sin cos tan asin acos atan sqrt rsqrt sign".split():
        op = getattr(ew, name)
        want = np.asarray(op(arr(z, np.complex128)))
        got = loops(op, z)
        fine = np.isfinite(want) & np.isfinite(got)
        assert fine.mean() > 0.99
        got, want = got[fine], want[fine]
        error = np.abs(got - want) / np.maximum(np.abs(want), 1e-290)
        assert error.max() < 2e-15, (name, z[fine][error.argmax()])


def test_complex_formulas_at_infinity_and_beyond_the_exponent():
    """Infinite parts, and overflow next to an exact zero, are as NumPy (C99, Annex G) has them."""
    parts = [0.0, -0.0, 1.0, -1.0, 2.5, 1e300, inf, -inf, nan]
    z = np.array([complex(x, y) for x in parts for y in parts])
    for name in "sinh cosh sin cos sqrt atanh atan log1p expm1 square".split():
        op = getattr(ew, name)
        want, got = np.asarray(op(arr(z, np.complex128))), loops(op, z)
        for side in (np.real, np.imag):
            w, g = side(want), side(got)
            sane = ~np.isnan(want.real) & ~np.isnan(want.imag)
            np.testing.assert_allclose(g[sane], w[sane], rtol=1e-14, atol=1e-290, err_msg=name)
            assert np.isnan(got[np.isnan(z) & ~np.isinf(z)]).all(), name


def test_special_functions_have_known_values():
    x = [0.3, 1.7, 4.2]
    for op, want in ((ew.erf, mpmath.erf), (ew.erfc, mpmath.erfc), (ew.lgamma, mpmath.loggamma), (ew.digamma, mpmath.digamma)):
        np.testing.assert_allclose(np.asarray(op(arr(x))), [float(want(v)) for v in x], rtol=1e-14)
    np.testing.assert_allclose(np.asarray(ew.erf_inv(arr([0.3]))), [float(mpmath.erfinv(0.3))], rtol=1e-14)
    np.testing.assert_allclose(np.asarray(ew.polygamma(arr([0.3]), n=2)), [float(mpmath.polygamma(2, 0.3))], rtol=1e-13)


def test_narrow_floats_are_computed_in_float32():
    x = np.linspace(-3, 3, 50)
    for d in (dt.bfloat16, dt.float16):
        for op, wide in ((ew.erf, ew.erf), (ew.logistic, ew.logistic), (ew.exp, ew.exp)):
            got = np.asarray(op(arr(x, d)))
            want = np.asarray(wide(arr(np.asarray(x, d).astype(np.float32), np.float32))).astype(d)
            np.testing.assert_array_equal(got, want)


def test_errors_say_what_came_and_what_to_do():
    with pytest.raises(DtypeError, match=r"(?s)add: got f64\[1\], f32\[1\].*one dtype.*astype"):
        ew.add(arr([1.0]), arr([1.0], np.float32))
    with pytest.raises(ShapeError, match=r"(?s)mul: got shapes f64\[2\], f64\[3\].*broadcasts"):
        ew.mul(arr([1.0, 2]), arr([1.0, 2, 3]))
    with pytest.raises(DtypeError, match=r"(?s)sin: got i64\[1\].*it takes.*f32.*astype"):
        ew.sin(arr([1], np.int64))


def test_weak_types_stay_weak():
    x = ew.mul(2.0, 3.0)
    assert x.weak_type and ew.tanh(x).weak_type and ew.square(x).weak_type


def test_a_batch_of_scalars_beside_arrays():
    """Where one operand of an example is a scalar, it is repeated, whether or not it is batched; so cotangents have its shape."""
    x, s, one = arr(np.arange(6.0).reshape(2, 3)), arr([10.0, 20.0]), arr(5.0)
    for args, dims, want in [
        ((x, s), (0, 0), [[0, 10, 20], [60, 80, 100]]),
        ((x, s), (None, 0), np.arange(6).reshape(2, 3)[None] * np.array([10, 20])[:, None, None]),
        ((x, one), (1, None), 5 * np.arange(6).reshape(2, 3).T),
    ]:
        size = 3 if dims[0] == 1 else 2
        (out,), (d,) = vmap(lambda a, b: [ew.mul(a, b)], args, dims, size)
        np.testing.assert_array_equal(np.moveaxis(np.asarray(out), d, 0), want)
