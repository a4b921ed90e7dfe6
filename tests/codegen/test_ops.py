"""Every scalar operation on every type that kernels have, compiled and interpreted, against NumPy."""

import numpy as np
import pytest

from funcgrad.codegen.canonical import DTYPES
from funcgrad.loops import scalar_numpy

from .support import RUNNERS, const, expr, load, map_nest, operations

COUNT = 257
LOOSE = "poch expn exp1 expi spence si ci fresnel_s fresnel_c owens_t dawsn lgamma digamma pow gamma erfcx ndtri igamma igammac betaln zeta bessel_i0e bessel_i1e".split()


def sample(code, rng, count=COUNT):
    dtype = DTYPES[code]
    if code == "b1":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, count, dtype=dtype, endpoint=True)
        x[::3] = rng.integers(0, 100, len(x[::3]))
        x[:4] = 0, 1, np.iinfo(dtype).min, np.iinfo(dtype).max
        return x
    x = rng.standard_normal(count) * rng.choice([0.1, 1, 10], count)
    if dtype.kind == "f":
        x[:12] = 0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.5, 1e-40, -3.5
        return x.astype(dtype)
    return (x + 1j * rng.standard_normal(count)).astype(dtype)


def agree(op, got, want, code):
    if got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want, err_msg=f"{op} on {code}")
        return
    finest = np.finfo(got.dtype).eps
    if op in ("add", "sub", "mul", "neg", "abs", "floor", "ceil", "round", "sqrt", "max", "min", "rem") and code in (
        "f32",
        "f64",
    ):
        np.testing.assert_array_equal(got, want, err_msg=f"{op} on {code}")
    else:
        # scipy's and NumPy's own functions differ from the true value by several units; test_vecmath.py is exact
        scale = 400 if op in LOOSE or code[0] == "c" else 16
        np.testing.assert_allclose(got, want, rtol=scale * finest, atol=scale * finest * 1e-3, err_msg=f"{op} on {code}")


@pytest.mark.parametrize("how", RUNNERS)
@pytest.mark.parametrize("code", list(DTYPES))
def test_operations(code, how):
    rng = np.random.default_rng(7)
    found = operations(code)
    count = COUNT if how == "compiled" else 40
    x, y = sample(code, rng, count), sample(code, rng, count)[::-1].copy()
    if DTYPES[code].kind in "iu":
        y[5:9] = 0  # division by zero, shifts by nothing
    nest = map_nest([e for _, e in found], [DTYPES[code]] * 2)
    outs = [np.empty(count, e.dtype) for _, e in found]
    RUNNERS[how](nest, [x, y, *outs], [count], count)
    for (op, e), out in zip(found, outs):
        with np.errstate(all="ignore"):
            if op in scalar_numpy.UNARY:
                want = scalar_numpy.UNARY[op](x)
            elif op == "pow" and DTYPES[code].kind in "iu":
                want = np.array([_power(int(a), int(b), DTYPES[code]) for a, b in zip(x, y)], DTYPES[code])
            elif op in ("shl", "shr", "shr_logical"):
                want = np.array([_shift(op, a, b, DTYPES[code]) for a, b in zip(x, y)], DTYPES[code])
            else:
                want = scalar_numpy.BINARY[op](x, y)
        if code[0] == "c" and op == "pow":
            ok = np.abs(want) < 1e6
            out, want = out[ok], want[ok]
        agree(op, out, np.asarray(want).astype(e.dtype), code)


def _power(x, y, dtype):
    if y < 0:
        y_result = {1: 1, -1: 1 if y % 2 == 0 else -1}.get(x, 0)
        return dtype.type(y_result)
    bits = dtype.itemsize * 8
    return np.array(pow(x, y, 1 << bits), np.uint64).astype(f"u{dtype.itemsize}").view(dtype)


def _shift(op, x, y, dtype):
    bits = dtype.itemsize * 8
    count = int(y) % (1 << bits)
    whole = int(x)
    if op == "shr":
        return dtype.type(whole >> min(count, bits)) if count < bits else dtype.type(-1 if whole < 0 else 0)
    unsigned = whole % (1 << bits)
    moved = 0 if count >= bits else (unsigned << count) % (1 << bits) if op == "shl" else unsigned >> count
    return np.array(moved, np.uint64).astype(f"u{dtype.itemsize}").view(dtype)


@pytest.mark.parametrize("how", RUNNERS)
@pytest.mark.parametrize("source", list(DTYPES))
def test_casts(source, how):
    rng = np.random.default_rng(3)
    x = sample(source, rng, 64)
    if x.dtype.kind in "fc":  # out-of-range conversions are the machine's business
        x = (np.nan_to_num(x.real, posinf=7, neginf=-7) % 100).astype(x.dtype)
    values = [expr("cast", d, load(DTYPES[source], 0)) for d in DTYPES.values()]
    outs = [np.empty(64, v.dtype) for v in values]
    RUNNERS[how](map_nest(values, [DTYPES[source]]), [x, *outs], [64], 64)
    for v, out in zip(values, outs):
        with np.errstate(all="ignore"):
            want = scalar_numpy.cast(x, v.dtype)
        np.testing.assert_array_equal(out, want, err_msg=f"{source} to {v.dtype}")


@pytest.mark.parametrize("how", RUNNERS)
def test_bits_selects_parameters_positions(how):
    n = 33
    x, c = np.linspace(-3, 3, n, dtype="f4"), np.arange(n) % 3 == 0
    values = [
        expr("bitcast", "i4", load("f4", 0)),
        expr("bitcast", "f4", expr("bitcast", "u4", load("f4", 0))),
        expr("select", "f4", load("?", 1), load("f4", 0), expr("param", "f4", attr=0)),
        expr("add", "i8", expr("index", "i8", attr=0), expr("param", "i8", attr=1)),
        expr("mul", "f8", expr("param", "f8", attr=2), expr("cast", "f8", load("f4", 0))),
        expr("xor", "?", load("?", 1), expr("param", "?", attr=3)),
        expr("add", "c16", expr("param", "c16", attr=4), expr("param", "c16", attr=4)),
        expr("select", "f4", expr("lt", "?", load("f4", 0), const(-0.0, "f4")), const(np.nan, "f4"), const(np.inf, "f4")),
    ]
    params = ("f4", "i8", "f8", "?", "c16")
    outs = [np.empty(n, v.dtype) for v in values]
    slots = [np.array([v], d).view("u1") for v, d in ((2.5, "f4"), (-4, "i8"), (0.1, "f8"), (True, "?"), (1 - 2j, "c16"))]
    bits = [int(b) for s in slots for b in np.pad(s, (0, -len(s) % 8)).view("i8")]
    RUNNERS[how](map_nest(values, ["f4", "?"], params), [x, c, *outs], [n, *bits], n)
    np.testing.assert_array_equal(outs[0], x.view("i4"))
    np.testing.assert_array_equal(outs[1], x)
    np.testing.assert_array_equal(outs[2], np.where(c, x, np.float32(2.5)))
    np.testing.assert_array_equal(outs[3], np.arange(n) - 4)
    np.testing.assert_array_equal(outs[4], 0.1 * x.astype("f8"))
    np.testing.assert_array_equal(outs[5], ~c)
    np.testing.assert_array_equal(outs[6], np.full(n, 2 - 4j))
    np.testing.assert_array_equal(outs[7], np.where(x < 0, np.nan, np.inf))


@pytest.mark.parametrize("how", RUNNERS)
def test_threefry_known_answers(how):
    """Random123's kat_vectors for threefry2x32 with 20 rounds."""
    known = [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ]
    words = [load("u4", k) for k in range(4)]
    values = [expr("threefry_hi", "u4", *words), expr("threefry_lo", "u4", *words)]
    inputs = [np.array([(*key, *counter)[k] for key, counter, _ in known], "u4") for k in range(4)]
    outs = [np.empty(3, "u4"), np.empty(3, "u4")]
    RUNNERS[how](map_nest(values, ["u4"] * 4), [*inputs, *outs], [3], 3)
    np.testing.assert_array_equal(np.stack(outs, 1), [answer for _, _, answer in known])
