"""Every dtype at its edges, through families of functions: eager, jitted and NumPy's answers are one.

What is stated here besides: integers wrap; n // 0 and n % 0 are 0; a shift by a negative or too large count moves all bits out; an
integer to a negative power is 0, 1 or -1; a float outside of an integer dtype's range becomes its bound and NaN becomes 0. What NumPy
leaves open is not compared: the sign of a zero that max and min find among zeros of both signs.
"""

import warnings
from functools import partial

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.core import dtypes as dt

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about overflow and division by zero

INTEGERS = sorted(dt.INTEGERS, key=str)
FLOAT8 = sorted(dt.FLOAT8 - {dt.E8M0}, key=str)
FLOATS = [dt.float16, dt.bfloat16, dt.float32, dt.float64, *FLOAT8]
COMPLEXES = sorted(dt.COMPLEXES, key=str)
REALS = [dt.bool_, *INTEGERS, *FLOATS]
ALL = [*REALS, *COMPLEXES]
INF, NAN = np.inf, np.nan


def edges(d):
    """Numbers at the edges of a dtype, and plain ones."""
    if d == dt.bool_:
        return np.array([False, True])
    if d in dt.INTEGERS:
        i = np.iinfo(d)
        return np.array([i.min, i.min + 1, 0, 1, 2, 3, 7, i.max - 1, i.max, *([-1, -2, -7] if i.min else [])], d)
    if d in dt.COMPLEXES:
        parts = [0.0, -0.0, 1.0, -2.5, INF, NAN]
        return np.array([complex(a, b) for a in parts for b in parts], d)
    f = dt.finfo(d)
    tiny, normal = float(f.smallest_subnormal), float(f.smallest_normal)
    numbers = [
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        1.5,
        -2.5,
        3.5,
        tiny,
        -tiny,
        3 * tiny,
        normal,
        -normal,
        float(f.max),
        float(f.min),
        INF,
        -INF,
        NAN,
    ]
    return np.array(numbers).astype(d)


def wide(x):
    """The numbers as Python's kinds know them."""
    x = np.asarray(x)
    return x.astype(np.complex128) if x.dtype in dt.COMPLEXES else x.astype(np.float64) if x.dtype in dt.FLOATS else x


def agree(name, got, want, args=(), signs=True, ulps=8):
    """Equal: NaN where NaN is, infinities, signs of zeros; floats within some ulps."""
    eps = float(dt.finfo(got.dtype).eps) if got.dtype in dt.INEXACT else 0.0
    a, b = wide(got), wide(want)
    assert a.shape == b.shape, name
    if a.dtype.kind not in "fc":
        bad = a != b
    else:
        close = np.abs(a - b) <= ulps * eps * np.maximum(np.abs(b), 1e-3 if a.dtype.kind == "c" else 0)
        nan = np.isnan(a) | np.isnan(b)
        bad = ~np.where(nan, np.isnan(a) & np.isnan(b), close | (a == b))
        if signs and a.dtype.kind == "f":
            bad |= (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        at = [str(np.broadcast_to(x, a.shape)[where]) for x in args]
        raise AssertionError(f"{name}({', '.join(at)}) of {[str(x.dtype) for x in args]}: {a[where]} instead of {b[where]}")


def refused(f, *args):
    try:
        f(*args)
    except TypeError:
        return True
    return False


def compare(names, args, **options):
    """Functions of the same arguments: eager ones, all in one program, and NumPy's; those that refuse a dtype do so in both."""
    arrays = [fnp.asarray(x) for x in args]
    taken = [n for n in names if not refused(getattr(fnp, n), *arrays)]
    jitted = fg.jit(lambda *xs: [getattr(fnp, n)(*xs) for n in taken])(*arrays)
    for name in set(names) - set(taken):
        assert refused(fg.jit(getattr(fnp, name)), *arrays), name
    for name, j in zip(taken, jitted, strict=True):
        e = getattr(fnp, name)(*arrays)
        assert e.dtype == j.dtype, name
        agree(f"jitted {name}", np.asarray(j), np.asarray(e), args, **options)
        # Integers become the default float here, and float64 in NumPy.
        operands = [x.astype(e.dtype) if e.dtype in dt.INEXACT and x.dtype not in dt.INEXACT else x for x in args]
        try:
            want = getattr(np, name)(*operands)
        except (TypeError, ValueError):
            continue  # a dtype of ml_dtypes, or an integer to a negative power
        if want.dtype.kind != "V" and name not in ("square", "left_shift", "right_shift", "conjugate"):  # of booleans: int8
            assert e.dtype == want.dtype or e.dtype in dt.FLOAT8 | {dt.bfloat16}, (name, e.dtype, want.dtype)
        agree(name, np.asarray(e), np.asarray(want), args, **options)
    return taken


ONE = [
    "absolute", "bitwise_count", "ceil", "conjugate", "fabs", "floor", "imag", "invert", "isfinite", "isinf", "isnan", "logical_not",
    "negative", "positive", "real", "rint", "sign", "signbit", "square", "trunc",
]  # fmt: skip
SMOOTH = ["arctan", "cbrt", "cos", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "reciprocal", "sin", "sqrt", "tanh"]


@pytest.mark.parametrize("d", ALL, ids=str)
def test_functions_of_one(d):
    taken = compare(ONE, (edges(d),))
    assert {"isnan", "square", "real"} <= set(taken) and ("invert" in taken) == (d.kind in "iub")


@pytest.mark.parametrize("d", REALS, ids=str)
def test_smooth_functions(d):
    assert set(compare(SMOOTH, (edges(d),))) == set(SMOOTH)


TWO = [
    "add", "arctan2", "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "divide", "equal", "floor_divide", "fmod", "greater",
    "greater_equal", "heaviside", "left_shift", "less", "less_equal", "logical_and", "logical_or", "logical_xor", "multiply",
    "not_equal", "remainder", "right_shift", "subtract",
]  # fmt: skip


@pytest.mark.parametrize("d", REALS, ids=str)
def test_functions_of_two(d):
    x = edges(d)
    names = [n for n in TWO if n != "copysign" or not d.name.endswith("uz")]  # without a negative zero, NumPy's gives NaN
    refused_ = {"subtract"} if d == dt.bool_ else set() if d.kind in "iu" else {n for n in TWO if "wise" in n or "shift" in n}
    assert set(names) - set(compare(names, (x[:, None], x[None]))) == refused_


@pytest.mark.parametrize("d", REALS, ids=str)
def test_the_larger_and_the_smaller(d):
    x = edges(d)
    compare(["maximum", "minimum", "fmax", "fmin"], (x[:, None], x[None]), signs=False)


@pytest.mark.parametrize("d", [dt.bool_, *INTEGERS], ids=str)
def test_powers_and_divisors_of_integers(d):
    x = edges(d)
    compare(["power", "gcd", "lcm"] if d.kind != "b" else ["power"], (x[:, None], x[x >= 0][None]))


@pytest.mark.parametrize("d", [dt.float32, dt.float64, dt.float16, dt.bfloat16], ids=str)
def test_powers_and_lengths_of_floats(d):
    x = edges(d)
    compare(["power", "hypot", "nextafter", "spacing"][:3], (x[:, None], x[None]), ulps=16)
    y = np.linspace(-3, 3, 7).astype(d)
    compare(["logaddexp", "logaddexp2"], (y[:, None], y[None] + np.asarray(0.25, d)), ulps=64)


@pytest.mark.parametrize("d", COMPLEXES, ids=str)
def test_complex_numbers(d):
    x = edges(d)
    compare(
        ["add", "subtract", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and"],
        (x[:, None], x[None]),
    )
    x = x[np.isfinite(x)]
    compare(["multiply", "maximum", "minimum"], (x[:, None], x[None]))
    compare(["divide"], (x[:, None], x[x != 0][None]))
    compare(["power"], (x[x != 0][:, None], np.array([0.5, 2, 1 + 1j, -1.5j], d)[None]), ulps=32)
    compare(["exp", "sin", "cos", "tanh", "expm1", "sqrt"], (x,))
    compare(["log", "arctan", "reciprocal"], (x[x != 0],))


# --- what NumPy leaves open, or has no dtype for: stated -------------------------------------------------------------------------


def same(f, x, want):
    for got in (f(x), fg.jit(f)(x)):
        np.testing.assert_array_equal(wide(got), want)


@pytest.mark.parametrize("d", INTEGERS, ids=str)
def test_integers_wrap(d):
    i = np.iinfo(d)
    top, bottom = fnp.array([i.max], d), fnp.array([i.min], d)
    same(lambda x: x + 1, top, [i.min])
    same(lambda x: x - 1, bottom, [i.max])
    same(lambda x: x * 2, top, [-2 if i.min else i.max - 1])
    same(lambda x: -x, bottom, [i.min])
    same(lambda x: fnp.sum(fnp.stack([x, x]), 0, dtype=d), top, [-2 if i.min else i.max - 1])
    if i.min:
        same(abs, bottom, [i.min])
        same(lambda x: x // -1, bottom, [i.min])
        same(lambda x: x % -1, bottom, [0])


@pytest.mark.parametrize("d", INTEGERS, ids=str)
def test_division_by_zero_and_negative_powers(d):
    x, zero = edges(d), np.zeros((), d)
    same(lambda v: v // zero, fnp.asarray(x), np.zeros(len(x)))
    same(lambda v: v % zero, fnp.asarray(x), np.zeros(len(x)))
    same(lambda v: fnp.fmod(v, zero), fnp.asarray(x), np.zeros(len(x)))
    with np.errstate(all="ignore"):
        same(lambda v: v / zero, fnp.asarray(x), x.astype(np.float32) / np.float32(0))
    if x.min() < 0:
        base = fnp.array([2, 1, -1, -2], d)
        same(lambda v: fnp.power(v, fnp.full(4, -1, d)), base, [0, 1, -1, 0])
        same(lambda v: fnp.power(v, fnp.full(4, -2, d)), base, [0, 1, 1, 0])


@pytest.mark.parametrize("d", INTEGERS, ids=str)
def test_shifts_by_negative_or_too_large_counts_move_all_bits_out(d):
    bits = d.itemsize * 8
    x = edges(d)
    for n in [bits, bits + 1, np.iinfo(d).max, *([-1, np.iinfo(d).min] if d.kind == "i" else [])]:
        count = np.full(1, n, d)
        same(lambda v, c=count: v << c, fnp.asarray(x), np.zeros(len(x)))
        same(lambda v, c=count: v >> c, fnp.asarray(x), np.where(x < 0, -1, 0))
    for n in range(bits):
        count = np.full(1, n, d)
        same(lambda v, c=count: v << c, fnp.asarray(x), np.left_shift(x, count))
        same(lambda v, c=count: v >> c, fnp.asarray(x), np.right_shift(x, count))


@pytest.mark.parametrize("source", [*FLOATS, *COMPLEXES], ids=str)
def test_floats_to_integers(source):
    for target in INTEGERS:
        low, high = int(np.iinfo(target).min), int(np.iinfo(target).max)
        x = edges(source)

        reals = [float(complex(v).real) for v in wide(x)]
        want = [0 if v != v else low if v <= low else high if v >= high else int(v) for v in reals]
        f = partial(fg.lax.convert_element_type, new_dtype=target)
        for got in (fnp.asarray(x).astype(target), f(x), fg.jit(f)(x)):
            assert got.dtype == target and np.asarray(got).tolist() == want
        assert np.asarray(fnp.asarray(x, dtype=target)).tolist() == want


@pytest.mark.parametrize("source", ALL, ids=str)
def test_casts_to_all_others(source):
    x = edges(source)
    arrays = fnp.asarray(x)
    targets = [t for t in ALL if t.kind not in "iu" or source not in dt.INEXACT]
    jitted = fg.jit(lambda v: [v.astype(target) for target in targets])(arrays)
    for t, j in zip(targets, jitted, strict=True):
        e = arrays.astype(t)
        agree(f"jitted astype {t}", np.asarray(j), np.asarray(e), (x,), ulps=0)
        if source not in dt.FLOAT8 or t not in dt.FLOAT8:  # ml_dtypes does not know all pairs
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                agree(f"astype {t}", np.asarray(e), x.astype(t), (x,), ulps=0)


@pytest.mark.parametrize("d", ALL, ids=str)
def test_promotion(d):
    """The dtype of an operation is result_type's, eager and jitted, in both orders; Python scalars do not widen."""
    x = fnp.ones(2, d)
    for other in ALL:
        y = fnp.ones(2, other)
        if refused(fnp.result_type, d, other):
            assert refused(fnp.add, x, y) and refused(fg.jit(fnp.add), x, y)
            continue
        want = fnp.result_type(d, other)
        assert want == fnp.result_type(other, d) == fnp.promote_types(d, other)
        outs = [
            fnp.add(x, y),
            fnp.multiply(y, x),
            fnp.where(fnp.array([True, False]), x, y),
            fnp.concatenate([x, y]),
            fnp.maximum(x, y),
        ]
        jitted = fg.eval_shape(
            lambda a, b: [a + b, b * a, fnp.where(a == b, a, b), fnp.concatenate([a, b]), fnp.maximum(a, b)], x, y
        )
        assert {o.dtype for o in (*outs, *jitted)} == {want}, (d, other)
        if d.isbuiltin == other.isbuiltin == 1 and other.kind == d.kind:  # within a kind NumPy's rule
            assert want == np.result_type(d, other) or {d, other} & dt.UNSIGNED and {d, other} & dt.SIGNED
    number = {"b": True, "i": 3, "u": 3, "c": 1j}.get(d.kind, 1.5)
    for f in (lambda v: v + number, lambda v: number * v, lambda v: fnp.maximum(v, number) if d.kind != "c" else v - number):
        assert f(x).dtype == fg.jit(f)(x).dtype == d


REDUCTIONS = ["all", "any", "argmax", "argmin", "count_nonzero", "max", "min", "nanmax", "nanmin"]


@pytest.mark.parametrize("d", ALL, ids=str)
def test_reductions_at_the_edges(d):
    x = edges(d)
    known = x if d not in dt.FLOAT8 else x[~np.isnan(wide(x))]  # NumPy does not skip NaN of ml_dtypes
    f = lambda v: [getattr(fnp, n)(v) for n in REDUCTIONS]
    for name, e, j in zip(REDUCTIONS, f(fnp.asarray(known)), fg.jit(f)(fnp.asarray(known)), strict=True):
        assert e.dtype == j.dtype
        agree(f"jitted {name}", np.asarray(j), np.asarray(e), (), signs=False, ulps=0)
        if d not in dt.COMPLEXES:  # which NaN is found makes no difference
            agree(name, np.asarray(e), np.asarray(getattr(np, name)(known)), (), signs=False, ulps=0)


@pytest.mark.parametrize("d", ALL, ids=str)
def test_sums_products_and_orders(d):
    x = np.array([3, 1, 2, 0, 1, 3]).astype(d)
    names = ["sum", "prod", "mean", "var", "cumsum", "cumprod", "sort", "ptp"]
    if d == dt.bool_:
        names.remove("ptp")
    f = lambda v: [getattr(fnp, n)(v) for n in names]
    for name, e, j in zip(names, f(fnp.asarray(x)), fg.jit(f)(fnp.asarray(x)), strict=True):
        assert e.dtype == j.dtype
        agree(f"jitted {name}", np.asarray(j), np.asarray(e))
        want = getattr(np, name)(wide(x))
        np.testing.assert_allclose(wide(e), want, rtol=float(dt.finfo(e.dtype).eps) if e.dtype in dt.INEXACT else 0)
        if d.kind in "iub" and name in ("sum", "prod", "cumsum", "cumprod"):
            assert e.dtype == getattr(np, name)(x).dtype
    order = fnp.argsort(fnp.asarray(x))
    np.testing.assert_array_equal(order, np.argsort(wide(x), kind="stable"))


@pytest.mark.parametrize("d", FLOAT8 + [dt.E8M0], ids=str)
def test_masks_and_empty_arrays_of_floats_without_infinities(d):
    x = fnp.array([2, 1, 4]).astype(d)
    mask = np.array([True, True, False])
    for f, want in ((lambda v: fnp.max(v, where=mask, initial=1), 2.0), (lambda v: fnp.min(v, where=~mask, initial=4), 4.0)):
        assert float(wide(f(x))) == float(wide(fg.jit(f)(x))) == want
    nans = fnp.array([2, NAN, 1]).astype(d)
    assert float(wide(fnp.nanmax(nans))) == 2 and float(wide(fnp.nanmin(nans))) == 1


@pytest.mark.parametrize("d", [dt.float32, dt.float64], ids=str)
def test_subnormals_are_kept(d):
    tiny = d.type(np.finfo(d).smallest_subnormal)
    x = fnp.array([tiny, -tiny, 3 * tiny])
    same(lambda v: v * 1, x, wide(x))
    same(lambda v: v + v, x, 2 * wide(x))
    same(lambda v: v * d.type(0.5), fnp.array([2 * tiny, -4 * tiny]), [tiny, -2 * tiny])
    same(lambda v: v != 0, x, [True] * 3)
    same(lambda v: fnp.sum(v), x, 3 * wide(x)[0])
    same(fnp.sqrt, x[:1], np.sqrt(np.asarray(x))[:1].astype(float))


@pytest.mark.parametrize("d", FLOATS, ids=str)
def test_frexp_and_ldexp(d):
    x = edges(d)
    known = x[np.isfinite(wide(x))]
    m, e = fg.jit(fnp.frexp)(known)
    want_m, want_e = np.frexp(wide(known))
    agree("frexp", np.asarray(m), want_m, (known,), ulps=0)
    np.testing.assert_array_equal(e, want_e)
    agree("ldexp", np.asarray(fg.jit(fnp.ldexp)(m, e)), known, (known,), ulps=0)
    for n in (2**40, -(2**40)):
        with np.errstate(all="ignore"):
            want = np.asarray(np.ldexp(wide(known), int(np.sign(n)) * 5000)).astype(d)
        agree("ldexp", np.asarray(fnp.ldexp(known, np.int64(n))), want, (known,), ulps=0)
