"""The words of kernels against NumPy, and the machine code that they become."""

import re

import numpy as np
import pytest

from funcgrad.runtime import compile

from .helpers import CODES, body, elementwise, elementwise_all, run

INTS = [c for c in CODES if c[0] in "iu"]
FLOATS = ["f32", "f64"]
COMPLEXES = ["c64", "c128"]


def sample(code, seed=0, size=257):
    """Values of a dtype, extremes included."""
    rng, dtype = np.random.default_rng(seed), np.dtype(CODES[code])
    if code == "b1":
        return rng.integers(0, 2, size).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = rng.integers(info.min, info.max, size, dtype, endpoint=True)
        values[:6] = [info.min, info.max, 0, 1, info.max - 1, info.min + 1]
        values[6:60] = rng.integers(0, 9, 54).astype(dtype)
        return rng.permutation(values)
    if dtype.kind == "c":
        return (rng.standard_normal(size) + 1j * rng.standard_normal(size)).astype(dtype)
    values = (rng.standard_normal(size) * 10.0 ** rng.integers(-5, 5, size)).astype(dtype)
    values[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, -1.5, 2.5]
    return rng.permutation(values)


def all_equal(cases, codes, result, *arrays):
    """Each text gives, in a kernel of them all, what stands beside it."""
    for (text, want), got in zip(cases.items(), elementwise_all(list(cases), codes, [result] * len(cases), *arrays), strict=True):
        np.testing.assert_array_equal(got, want, err_msg=text)


@pytest.mark.parametrize("code", CODES)
def test_load_and_store(code):
    x = sample(code)
    np.testing.assert_array_equal(elementwise("x0[i]", [code], code, x), x)


@pytest.mark.parametrize("code", INTS)
def test_integer_arithmetic_wraps(code):
    x, y = sample(code), sample(code, 1)
    with np.errstate(all="ignore"):
        cases = {
            "add(x0[i], x1[i])": x + y, "sub(x0[i], x1[i])": x - y, "mul(x0[i], x1[i])": x * y, "xor(x0[i], x1[i])": x ^ y,
            "and_(x0[i], x1[i])": x & y, "or_(x0[i], x1[i])": x | y, "neg(x0[i])": -x, "abs_(x0[i])": np.abs(x),
            "not_(x0[i])": ~x, "max_(x0[i], x1[i])": np.maximum(x, y),
        }  # fmt: skip
    all_equal(cases, [code, code], code, x, y)


@pytest.mark.parametrize("code", INTS)
def test_integer_division_truncates_and_never_traps(code):
    x, y = sample(code), sample(code, 1)
    x[0], y[0] = np.iinfo(x.dtype).min, np.array(-1).astype(x.dtype)
    with np.errstate(all="ignore"):
        want = np.where(y == 0, 0, np.fmod(x, np.where(y == 0, 1, y)))
        rest, quotient = elementwise_all(["rem(x0[i], x1[i])", "div(x0[i], x1[i])"], [code, code], [code, code], x, y)
        np.testing.assert_array_equal(rest, want)
        np.testing.assert_array_equal(quotient * y + want, np.where(y == 0, 0, x))


@pytest.mark.parametrize("code", INTS)
def test_shifts_follow_numpy(code):
    x = sample(code)
    y = np.random.default_rng(2).integers(0, 70, x.size).astype(x.dtype)
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    cases = {
        "shl(x0[i], x1[i])": np.left_shift(x, y),
        "shr(x0[i], x1[i])": np.right_shift(x, y),
        "shr_logical(x0[i], x1[i])": np.right_shift(x.view(unsigned), y.view(unsigned)).view(x.dtype),
    }
    all_equal(cases, [code, code], code, x, y)


@pytest.mark.parametrize("code", INTS)
def test_bit_counts(code):
    x = sample(code)
    width = x.dtype.itemsize * 8
    bits = [int(v) & ((1 << width) - 1) for v in x]
    cases = {"popcount(x0[i])": [b.bit_count() for b in bits], "clz(x0[i])": [width - b.bit_length() for b in bits]}
    all_equal(cases, [code], code, x)


@pytest.mark.parametrize("code", FLOATS)
def test_float_words(code):
    x, y = sample(code), sample(code, 1)
    with np.errstate(all="ignore"):
        cases = {
            "sqrt(x0[i])": np.sqrt(x), "fabs(x0[i])": np.abs(x), "abs_(x0[i])": np.abs(x), "floor(x0[i])": np.floor(x),
            "ceil(x0[i])": np.ceil(x), "trunc(x0[i])": np.trunc(x), "rint(x0[i])": np.rint(x), "neg(x0[i])": -x,
            "copysign(x0[i], x1[i])": np.copysign(x, y), "max_(x0[i], x1[i])": np.maximum(x, y),
            "min_(x0[i], x1[i])": np.minimum(x, y), "fdiv(x0[i], x1[i])": x / y, "rem(x0[i], x1[i])": np.fmod(x, y),
            "x0[i] + x1[i]": x + y, "x0[i] * x1[i]": x * y, "select(x0[i] < x1[i], x0[i], x1[i])": np.where(x < y, x, y),
        }  # fmt: skip
    all_equal(cases, [code, code], code, x, y)


@pytest.mark.parametrize("code", FLOATS)
def test_float_tests_are_exact(code):
    x, y = sample(code), sample(code, 1)
    x[:20] = y[:20]
    cases = {"is_nan(x0[i])": np.isnan(x), "is_finite(x0[i])": np.isfinite(x)}
    for word, ufunc in {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater}.items():
        cases[f"{word}(x0[i], x1[i])"] = ufunc(x, y)
    all_equal(cases, [code, code], "b1", x, y)


def test_cancellation_is_kept():
    x = np.array([1.0, 1e-20, 3.0])
    np.testing.assert_array_equal(elementwise("(x0[i] + f64(1e16)) - f64(1e16)", ["f64"], "f64", x), (x + 1e16) - 1e16)
    signed = elementwise("x0[i] + f64(0.0)", ["f64"], "f64", np.array([-0.0, 0.0]))
    np.testing.assert_array_equal(np.signbit(signed), [False, False])


@pytest.mark.parametrize("code", COMPLEXES)
def test_complex_words(code):
    x, y = sample(code), sample(code, 1)
    real = "f32" if code == "c64" else "f64"
    for text, want in {"add": x + y, "sub": x - y, "mul": x * y, "fdiv": x / y}.items():
        got = elementwise(f"{text}(x0[i], x1[i])", [code, code], code, x, y)
        np.testing.assert_allclose(got, want, rtol=1e-5 if code == "c64" else 1e-13)
    np.testing.assert_array_equal(elementwise("real(x0[i])", [code], real, x), x.real)
    np.testing.assert_array_equal(elementwise("imag(x0[i])", [code], real, x), x.imag)
    np.testing.assert_array_equal(elementwise(f"{code}of(imag(x0[i]), real(x0[i]))", [code], code, x), x.imag + 1j * x.real)
    np.testing.assert_array_equal(elementwise("neg(x0[i])", [code], code, x), -x)
    np.testing.assert_array_equal(elementwise("eq(x0[i], x1[i])", [code, code], "b1", x, x), np.ones(x.size, bool))


@pytest.mark.parametrize("source", CODES)
def test_casts(source):
    x = sample(source)
    if x.dtype.kind in "fc":
        x = np.clip(x.real, -100, 100).astype(x.dtype)  # within every target
        x[np.isnan(x)] = 1
        x = np.abs(x) if source in FLOATS else x
    positive = np.abs(x).astype(x.dtype) if x.dtype.kind in "fc" else x  # for unsigned targets
    texts = [f"{target}({'x1' if target[0] == 'u' else 'x0'}[i])" for target in CODES]
    for (target, dtype), got in zip(CODES.items(), elementwise_all(texts, [source] * 2, list(CODES), x, positive), strict=True):
        taken = positive if target[0] == "u" else x
        taken = taken.real if taken.dtype.kind == "c" and np.dtype(dtype).kind not in "cb" else taken
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(got, taken.astype(dtype), err_msg=target)


def test_bits_and_params():
    x = sample("f32")
    np.testing.assert_array_equal(elementwise("bits_i32(x0[i])", ["f32"], "i32", x), x.view(np.int32))
    np.testing.assert_array_equal(elementwise("bits_f64(x0[i])", ["u64"], "f64", sample("u64")), sample("u64").view("f8"))
    out = np.zeros(3)
    dims = [int(np.float32(1.5).view(np.uint32)), int(np.float64(-2.25).view(np.int64)), -7]
    lines = ["y0 = ptr_f64(bufs, 0)", "y0[0] = f64(param_f32(dims, 0))"]
    lines += ["y0[1] = param_f64(dims, 1)", "y0[2] = f64(param_i16(dims, 2))"]
    np.testing.assert_array_equal(run(body(*lines), [], [out], dims, 1), [1.5, -2.25, -7.0])


def test_offsets_scratch_and_negative_indices():
    """A pointer has no wraparound: p[-1] of a moved pointer is the element before."""
    x, out = np.arange(10.0), np.zeros(10)
    lines = ["x0 = offset(ptr_f64(bufs, 0), 1)", "y0 = ptr_f64(bufs, 1)", "s0 = row_f64(scratch, 64 + dims[0], 2)"]
    lines += ["for i in range(lo, hi):", "    s0[i] = x0[i - 1] * f64(2.0)", "for i in range(lo, hi):", "    y0[i] = s0[i]"]
    np.testing.assert_array_equal(run(body(*lines), [x], [out], (16,), scratch=200), x * 2)


def test_reductions_become_vectors_and_stay_exact_enough():
    lines = ["x0 = ptr_f32(bufs, 0)", "y0 = ptr_f32(bufs, 1)", "a = f32(0.0)", "m = f32(-inf)", "for i in range(dims[0]):"]
    lines += ["    a = radd(a, x0[i])", "    m = rmax(m, x0[i])", "y0[0] = a", "y0[1] = m"]
    x, out = np.random.default_rng(0).standard_normal(1000).astype(np.float32), np.zeros(2, np.float32)
    run(body(*lines), [x], [out], (1000,), 1)
    np.testing.assert_allclose(out, [x.sum(), x.max()], rtol=1e-4)
    x[500] = np.nan
    assert np.isnan(run(body(*lines), [x], [out], (1000,), 1)).all()
    assert re.search(r"fadd reassoc nsz contract <\d+ x float>", compile.optimised(body(*lines)))


def test_many_buffers_vectorise_without_overlap_checks():
    reads = [f"x{k} = ptr_f32(bufs, {k})" for k in range(12)]
    lines = [*reads, "y0 = ptr_f32(bufs, 12)", "y1 = ptr_f32(bufs, 13)", "for i in range(lo, hi):"]
    lines += ["    y0[i] = " + " + ".join(f"x{k}[i]" for k in range(12)), "    y1[i] = x0[i] * x11[i]"]
    text = compile.optimised(body(*lines))
    assert re.search(r"store <\d+ x float>", text)
    assert "memcheck" not in text
    arrays = [np.random.default_rng(k).standard_normal(100) for k in range(12)]
    arrays = [a.astype(np.float32) for a in arrays]
    y0, y1 = np.empty(100, np.float32), np.empty(100, np.float32)
    run(body(*lines), arrays, [y0, y1])
    np.testing.assert_allclose(y0, sum(arrays), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(y1, arrays[0] * arrays[11])


def test_an_output_may_take_an_inputs_memory():
    """In place at the same positions, with a second output that reads the overwritten input."""
    lines = ["x0 = ptr_f32(bufs, 0)", "x1 = ptr_f32(bufs, 1)", "y0 = ptr_f32(bufs, 2)", "y1 = ptr_f32(bufs, 3)"]
    lines += ["for i in range(lo, hi):", "    a = x0[i]", "    b = x1[i]", "    y0[i] = b + f32(1.0)", "    y1[i] = a * b"]
    for n in (1, 15, 64, 1000):
        x = np.arange(n, dtype=np.float32)
        other, out = x + 3, np.empty(n, np.float32)
        want0, want1 = other + 1, x * other
        run(body(*lines), [x, other], [x, out])
        np.testing.assert_array_equal(x, want0)
        np.testing.assert_array_equal(out, want1)
