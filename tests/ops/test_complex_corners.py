"""Complex functions where a part is 0, infinite, NaN or huge: compiled code answers as eager code, which answers as C99 (annex G)."""

import numpy as np
import pytest
from mpmath import mp

import funcgrad as fg
import funcgrad.numpy as fnp

PARTS = [0.0, -0.0, 0.5, -0.5, 2.0, -2.0, 1e3, -1e3, np.inf, -np.inf, np.nan]
GRID = np.array([complex(x, y) for x in PARTS for y in PARTS])
FUNCTIONS = "exp expm1 log log1p sqrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh sign abs".split()


def same_part(a, b, signs):
    a, b = np.asarray(a), np.asarray(b)
    number = np.isfinite(b)
    np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
    np.testing.assert_array_equal(a[np.isinf(b)], b[np.isinf(b)])
    # 1e3 as an angle: the sine is small next to what is rounded away.
    np.testing.assert_allclose(a[number], b[number], rtol=1e-11, atol=1e-300)
    signed = signs & number & (b == 0)
    np.testing.assert_array_equal(np.signbit(a[signed]), np.signbit(b[signed]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_corners(name):
    f = getattr(fnp, name)
    got, want = np.asarray(fg.jit(f)(GRID)), np.asarray(f(GRID))
    if name == "abs":
        return same_part(got, want, True)
    # Beside a NaN or an infinite part, C99 leaves the sign of the other one open.
    # (log1p(-0 + 0i) is 0 in compiled code, -0 in SciPy.)
    clear = np.isfinite(GRID) & np.isfinite(want) & (name != "log1p")
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    wild = ~np.isfinite(GRID)
    got, want = got.copy(), want.copy()
    for a in (got, want):  # signs that are left open
        open_ = wild & (np.isnan(a.real) | np.isnan(a.imag))
        a[open_] = [complex(abs(z.real), abs(z.imag)) for z in a[open_]]
    same_part(got.real, want.real, clear)
    same_part(got.imag, want.imag, clear)


def test_expm1_at_the_axis():
    z = np.array([0.0, complex(-0.0, 0), complex(np.inf, 0), complex(-np.inf, 0), complex(np.nan, 0), 1e-20 + 0j])
    for f in (fnp.expm1, fg.jit(fnp.expm1)):
        out = np.asarray(f(z))
        np.testing.assert_array_equal(out.real, np.expm1(z.real))
        assert not np.signbit(out.imag).any() and (out.imag == 0).all() and not np.signbit(out.real[:2]).any()


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("kinds", ["complex / complex", "real / complex", "complex / real"])
def test_division_is_that_of_numpy(dtype, kinds):
    big, small = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
    parts = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, big, small], np.finfo(dtype).dtype)
    grid = np.empty(len(parts) ** 2, dtype)
    grid.real, grid.imag = np.repeat(parts, len(parts)), np.tile(parts, len(parts))
    upper, lower = kinds.split(" / ")
    x = grid if upper == "complex" else parts
    y = grid if lower == "complex" else parts
    x, y = np.repeat(x, len(y)), np.tile(y, len(x))
    with np.errstate(all="ignore"):
        want = x / y
    got = np.asarray(fg.jit(lambda x, y: x / y)(x, y))
    tiny = np.any([abs(part) == small for part in (x.real, x.imag, y.real, y.imag)], 0)
    for a, b in ((got.real, want.real), (got.imag, want.imag)):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=8 * small)  # NaN and infinities are the same
        # a tiny difference that one rounding less (a fused multiply-add) leaves may have the other sign before it becomes 0
        zero = (b == 0) & (a == 0) & ~tiny
        np.testing.assert_array_equal(np.signbit(a[zero]), np.signbit(b[zero]))


TRUTH = {
    "exp": mp.exp, "log": mp.log, "sqrt": mp.sqrt, "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "tanh": mp.tanh, "arcsin": mp.asin,
    "arccos": mp.acos, "arctan": mp.atan, "arctanh": mp.atanh, "arcsinh": mp.asinh, "arccosh": mp.acosh, "abs": abs,
    "log1p": lambda z: mp.log(1 + z), "expm1": lambda z: mp.exp(z) - 1, "divide": lambda z, w: z / w, "power": lambda z, w: z**w,
    "reciprocal": lambda z: 1 / z,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", TRUTH)
def test_compiled_within_8_units(name, dtype):
    rng = np.random.default_rng(5)
    args = [
        (rng.standard_normal(60) + 1j * rng.standard_normal(60)).astype(dtype) for _ in range(1 + (name in ("divide", "power")))
    ]
    out = np.asarray(fg.jit(getattr(fnp, name))(*args))
    eps = float(np.finfo(dtype).eps)
    with mp.workprec(200):
        for got, *given in zip(out, *args, strict=True):
            want = TRUTH[name](*[mp.mpc(complex(z)) for z in given])
            assert abs(mp.mpc(complex(got)) - want) <= 8 * eps * abs(want), (name, given)
