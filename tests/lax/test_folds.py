"""reduce and reduce_window against loops over windows, their derivatives against differences, and what they compile to."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.test_util import check_grads
from funcgrad.testing import counters

RNG = np.random.default_rng(7)


def windows(x, start, fold, window, strides, padding, base, dilation):
    """The meaning, element by element."""
    shape = [(n - 1) * b + 1 if n else 0 for n, b in zip(x.shape, base)]
    spans = [(w - 1) * d + 1 for w, d in zip(window, dilation)]
    if padding == "VALID":
        padding = [(0, 0)] * x.ndim
    elif isinstance(padding, str):
        total = [max((-(-n // s) - 1) * s + w - n, 0) for n, w, s in zip(shape, spans, strides)]
        padding = [(t // 2, t - t // 2) if padding == "SAME" else (t - t // 2, t // 2) for t in total]
    whole = np.full([n + a + b for n, (a, b) in zip(shape, padding)], np.nan, x.dtype)  # what pads is left out
    whole[tuple(slice(a, a + n, b) for n, (a, _), b in zip(shape, padding, base))] = x
    counts = [max(0, (n - w) // s + 1) for n, w, s in zip(whole.shape, spans, strides)]
    out = np.empty(counts, x.dtype)
    for place in np.ndindex(*counts):
        found = start
        for k in itertools.product(*map(range, window)):
            element = whole[tuple(p * s + i * d for p, s, i, d in zip(place, strides, k, dilation))]
            found = found if element != element else fold(found, element)
        out[place] = found
    return out


FOLDS = {
    "add": (lax.add, 0.0, np.add),
    "max": (lax.max, -np.inf, np.maximum),
    "min": (fnp.minimum, np.inf, np.minimum),
    "mul": (lambda x, y: x * y, 1.0, np.multiply),
    "logaddexp": (fnp.logaddexp, -np.inf, np.logaddexp),
    "add from 2": (lax.add, 2.0, np.add),
    "max from 0": (lax.max, 0.0, np.maximum),
    "times, from 3": (lambda x, y: (2 * x) * y / 2, 3.0, np.multiply),
}
# shape, window, strides, padding, base dilation, window dilation
GEOMETRIES = [
    ((7, 6), (3, 3), (2, 2), "SAME", (1, 1), (1, 1)),
    ((7, 6), (2, 3), (2, 3), "VALID", (1, 1), (1, 1)),
    ((2, 6, 5), (1, 3, 2), (1, 1, 2), "SAME_LOWER", (1, 1, 1), (1, 2, 1)),
    ((5, 4), (3, 2), (1, 2), ((1, 2), (0, 1)), (2, 3), (1, 2)),
    ((23,), (13,), (3,), "SAME", (1,), (1,)),
    ((6, 7), (6, 5), (1, 1), "VALID", (1, 1), (1, 1)),
    ((10, 12), (5, 4), (5, 4), "VALID", (1, 1), (1, 1)),
    ((4, 5), (2, 2), (3, 2), ((-1, 2), (0, -1)), (1, 1), (1, 1)),
    ((3,), (5,), (1,), "VALID", (1,), (1,)),
    ((0, 3), (2, 2), (1, 1), ((2, 1), (0, 0)), (1, 1), (1, 1)),
    ((), (), (), "VALID", (), ()),
]
TABLE = [(name, g) for name in FOLDS for g in GEOMETRIES]


@pytest.mark.parametrize("name,geometry", TABLE, ids=[f"{n}-{g[0]}-{g[1]}" for n, g in TABLE])
def test_reduce_window_is_a_loop_over_windows(name, geometry):
    computation, start, fold = FOLDS[name]
    shape, window, strides, padding, base, dilation = geometry
    if padding[:1] == ((-1, 2),):  # cropping is ours alone
        x = RNG.normal(size=shape)
        want = windows(x[1:, :-1], start, fold, window, strides, ((0, 2), (0, 0)), base, dilation)
    else:
        x = RNG.normal(size=shape)
        want = windows(x, start, fold, window, strides, padding, base, dilation)
    f = lambda x: lax.reduce_window(x, start, computation, window, strides, padding, base, dilation)
    got = f(x)
    assert got.dtype == np.float64
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["add", "max", "mul", "logaddexp", "add from 2"])
@pytest.mark.parametrize("geometry", GEOMETRIES[:6] + GEOMETRIES[9:], ids=str)
def test_reduce_window_compiled(name, geometry):
    computation, start, _ = FOLDS[name]
    shape, window, strides, padding, base, dilation = geometry
    x = RNG.normal(size=shape)
    f = lambda x: lax.reduce_window(x, start, computation, window, strides, padding, base, dilation)
    np.testing.assert_allclose(np.asarray(fg.jit(f)(x)), np.asarray(f(x)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["add", "max", "min", "mul", "logaddexp", "max from 0"])
@pytest.mark.parametrize("geometry", [GEOMETRIES[i] for i in (0, 1, 3, 4, 6, 7)], ids=str)
def test_derivatives_to_second_order(name, geometry):
    computation, start, _ = FOLDS[name]
    shape, window, strides, padding, base, dilation = geometry
    x = RNG.permutation(int(np.prod(shape))).reshape(shape) / 7 - 1.03  # no two are near each other

    def f(x):
        out = lax.reduce_window(x, start, computation, window, strides, padding, base, dilation)
        return fnp.where(fnp.isfinite(out), out, 0)  # windows of padding alone

    check_grads(f, (x,), 2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("geometry", [GEOMETRIES[i] for i in (0, 1, 2, 6)], ids=str)
@pytest.mark.parametrize("name", ["add", "max", "mul"])
def test_compiled_gradients_of_a_batch(name, geometry):
    computation, start, _ = FOLDS[name]
    shape, window, strides, padding, base, dilation = geometry
    f = lambda x: (lax.reduce_window(x, start, computation, window, strides, padding, base, dilation) ** 2).sum()
    xs = RNG.normal(size=(3, *shape))
    rows = np.stack([np.asarray(fg.grad(f)(x)) for x in xs])
    np.testing.assert_allclose(np.asarray(fg.jit(fg.vmap(fg.grad(f)))(xs)), rows, rtol=1e-10, atol=1e-10)
    last = np.moveaxis(xs, 0, -1)
    np.testing.assert_allclose(np.asarray(fg.vmap(fg.grad(f), in_axes=-1)(last)), rows, rtol=1e-10, atol=1e-10)


def test_ties_nan_and_infinities():
    x = np.array([1.0, 2.0, 2.0, 0.0, 2.0, 2.0])
    for stride in (1, 3):
        f = lambda x, stride=stride: lax.reduce_window(x, -np.inf, lax.max, (3,), (stride,)).sum()
        want = np.zeros(6)
        for i in range(0, 4, stride):
            want[i + np.argmax(x[i : i + 3])] += 1
        assert fg.grad(f)(x).tolist() == want.tolist() == fg.jit(fg.grad(f))(x).tolist()
    y = np.array([1.0, np.nan, -np.inf, -np.inf, np.inf, 3.0])
    f = lambda y: lax.reduce_window(y, -np.inf, lax.max, (2,), (2,))
    np.testing.assert_array_equal(np.asarray(f(y)), [np.nan, -np.inf, np.inf])
    np.testing.assert_array_equal(np.asarray(fg.jit(fg.grad(lambda y: f(y)[0]))(y)), [0, 1, 0, 0, 0, 0])


@pytest.mark.parametrize("shape,window,strides", [((5, 7), (5, 7), (1, 1)), ((10, 12), (5, 4), (5, 4)), ((40,), (20,), (9,))])
@pytest.mark.parametrize("computation,start,find", [(lax.max, -np.inf, np.argmax), (lax.min, np.inf, np.argmin)])
def test_large_windows_choose_the_first_of_equals_and_of_nans(shape, window, strides, computation, start, find):
    x = RNG.integers(0, 4, shape).astype(float)
    f = lambda x: lax.reduce_window(x, start, computation, window, strides)
    grads = [fg.grad(lambda x: f(x).sum()), fg.jit(fg.grad(lambda x: f(x).sum()))]
    for values in (x, np.where(RNG.random(shape) < 0.05, np.nan, x), np.full(shape, np.nan)):
        want = np.zeros(shape)
        for place in np.ndindex(*f(values).shape):
            block = values[tuple(slice(p * s, p * s + w) for p, s, w in zip(place, strides, window))]
            k = np.unravel_index(find(block), block.shape)
            want[tuple(p * s + i for p, s, i in zip(place, strides, k))] += 1
        for g in grads:
            np.testing.assert_array_equal(np.asarray(g(values)), want)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "float16", "bfloat16", "complex64"])
def test_dtypes(dtype):
    x = fnp.asarray(np.arange(24).reshape(4, 6) % 7).astype(dtype)
    zero = np.zeros((), x.dtype)[()]
    out = fg.jit(lambda x: lax.reduce_window(x, zero, lax.add, (2, 2), (1, 2)))(x)
    assert out.dtype == x.dtype
    wide = windows(np.asarray(x).astype(complex), 0, np.add, (2, 2), (1, 2), "VALID", (1, 1), (1, 1))
    np.testing.assert_array_equal(np.asarray(out).astype(complex), wide)
    if x.dtype.kind != "c":
        top = lax.reduce_window(x, 0 if x.dtype.kind in "iu" else -np.inf, lax.max, (2, 2), (1, 2))
        want = windows(np.asarray(x).astype(float), -np.inf, np.maximum, (2, 2), (1, 2), "VALID", (1, 1), (1, 1))
        assert top.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(top).astype(float), want)


def test_narrow_sums_are_taken_in_float32():
    x = fnp.full((4096,), 1.0, dtype="float16")
    assert lax.reduce_window(x, np.float16(0), lax.add, (4096,)).tolist() == [4096.0]
    assert float(lax.reduce(x, np.float16(0), lax.add, (0,))) == 4096.0


def test_bits():
    x = np.array([[True, False, True], [True, True, False]])
    assert lax.reduce_window(x, True, fnp.logical_and, (1, 2)).tolist() == [[False, False], [True, False]]
    assert lax.reduce_window(x, False, lax.bitwise_or, (2, 1)).tolist() == [[True, True, True]]
    i = np.array([1, 3, 6], np.int32)
    assert lax.reduce_window(i, 0, lax.bitwise_xor, (2,)).tolist() == [2, 5]
    assert lax.reduce(i, -1, lax.bitwise_and, (0,)).tolist() == 0 and lax.reduce(i, 0, lax.bitwise_or, (0,)).tolist() == 7


def argmax(x, y):
    larger = (x[0] > y[0]) | ((x[0] == y[0]) & (x[1] < y[1]))
    return fnp.where(larger, x[0], y[0]), fnp.where(larger, x[1], y[1])


def test_several_arrays():
    x = RNG.integers(0, 5, (5, 6)).astype(float)
    places = np.broadcast_to(np.arange(6), x.shape)
    best, where = lax.reduce((x, places), (-np.inf, 99), argmax, (1,))
    assert best.tolist() == x.max(1).tolist() and where.tolist() == x.argmax(1).tolist()
    best, where = fg.jit(lambda x: lax.reduce_window((x, places), (-np.inf, 99), argmax, (1, 3), (1, 2), "SAME"))(x)
    whole = np.pad(x, ((0, 0), (0, 1)), constant_values=-np.inf)
    assert best.tolist() == [[r[i : i + 3].max() for i in (0, 2, 4)] for r in whole]
    assert where.tolist() == [[i + int(r[i : i + 3].argmax()) for i in (0, 2, 4)] for r in whole]


@pytest.mark.parametrize("axes", [(0,), (1, 2), (0, 1, 2), (-1,), ()])
@pytest.mark.parametrize("name", list(FOLDS))
def test_reduce(name, axes):
    computation, start, fold = FOLDS[name]
    x = RNG.normal(size=(3, 4, 5))
    f = lambda x: lax.reduce(x, start, computation, axes)
    want = fold.reduce(x, axis=axes, initial=start) if axes else fold(x, start)
    np.testing.assert_allclose(np.asarray(f(x)), want, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(fg.jit(f)(x)), want, rtol=1e-12)
    check_grads(f, (x,), 2, rtol=1e-4, atol=1e-4)
    empty = f(np.zeros((0, 4, 5)))
    assert empty.shape == tuple(n for i, n in enumerate((0, 4, 5)) if i not in [a % 3 for a in axes])
    if 0 in axes:
        np.testing.assert_array_equal(np.asarray(empty), np.full(empty.shape, start))


def test_the_start_and_what_the_function_closes_over_are_differentiated():
    x = RNG.normal(size=5)
    f = lambda s, w: lax.reduce(x, s, lambda a, b: a + w * b, (0,))
    assert abs(float(f(0.0, 1.0)) - x.sum()) < 1e-12
    check_grads(f, (np.float64(0.3), np.float64(1.0)), 2)
    g = lambda s: lax.reduce_window(x, s, lax.add, (2,))
    np.testing.assert_allclose(np.asarray(fg.jacobian(g)(np.float64(0.5))), np.ones(4))


def pool(x):
    return lax.reduce_window(x, -np.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def mean(x):
    return lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1)) / 4


@pytest.mark.parametrize("f", [pool, mean, lambda x: fg.grad(lambda x: (pool(x) ** 2).sum())(x)], ids=["max", "mean", "grad max"])
def test_pooling_of_images_is_compiled_once_for_all_shapes(f):
    g = fg.jit(f)
    g(RNG.normal(size=(2, 8, 10, 3)).astype("float32"))
    with counters() as seen:
        x = RNG.normal(size=(5, 14, 12, 4)).astype("float32")
        got = g(x)
    assert seen.traces == 1 and seen.compiled == seen.loaded == 0
    np.testing.assert_allclose(np.asarray(got), np.asarray(f(x)), rtol=1e-5)


WRONG = [
    (lambda: lax.reduce_window(np.ones((2, 2)), 0.0, lax.add, (2,)), r"(?s)window_dimensions.*for each axis"),
    (lambda: lax.reduce_window(np.ones(3), 0.0, lax.add, (0,)), "positive"),
    (lambda: lax.reduce_window(np.ones(3), 0.0, lax.add, (2,), padding="FULL"), "'SAME'"),
    (lambda: lax.reduce_window(np.ones(3), 0.0, lax.add, (2,), padding=((1,),)), "low, high"),
    (lambda: lax.reduce_window(np.ones(3), 0.0, lax.add, (1,), padding=((-2, -2),)), "below 0"),
    (lambda: lax.reduce_window(np.ones(3, int), -np.inf, lax.max, (2,)), "a scalar of int64"),
    (lambda: lax.reduce_window(np.ones(3, "float32"), np.float64(0), lax.add, (2,)), "float32"),
    (lambda: lax.reduce_window(np.ones(3), np.zeros(1), lax.add, (2,)), "a scalar"),
    (lambda: lax.reduce_window(np.ones(3), 0.0, lambda x, y: (x, y), (2,)), "same structure"),
    (lambda: lax.reduce_window(np.ones(3), 0.0, lambda x, y: x > y, (2,)), "dtypes"),
    (lambda: lax.reduce((np.ones(3), np.ones(2)), (0.0, 0.0), argmax, (0,)), "one shape"),
    (lambda: lax.reduce((np.ones(3), np.ones(3)), 0.0, argmax, (0,)), "same structure"),
    (lambda: lax.reduce(np.ones(3), 0.0, lax.add, (1,)), "dimensions"),
]


@pytest.mark.parametrize("call,text", WRONG)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()
