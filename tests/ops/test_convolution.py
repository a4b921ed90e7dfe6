"""conv_general_dilated against sums written as loops, over drawn parameters: eager, as loop programs, gradients, vmap."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError
from funcgrad.loops import convolution, window_products
from funcgrad.ops.arithmetic import mul
from funcgrad.ops.convolution import ConvDimensionNumbers, conv_general_dilated
from funcgrad.transforms.vmap import vmap
from tests.ops.helpers import arr, grad, loops


def by_loops(x, y, p):
    """The sum, place by place and tap by tap."""
    lhs_spec, rhs_spec, out_spec = p["dimension_numbers"]
    x, y = np.transpose(x, lhs_spec), np.transpose(y, rhs_spec)
    features, batches = p["feature_group_count"], p["batch_group_count"]
    d = x.ndim - 2
    places = []
    for i in range(d):
        total = (x.shape[2 + i] - 1) * p["lhs_dilation"][i] + 1 + sum(p["padding"][i])
        span = (y.shape[2 + i] - 1) * p["rhs_dilation"][i] + 1
        places.append(max(0, (total - span) // p["window_strides"][i] + 1))
    n, o = x.shape[0] // batches, y.shape[0]
    out = np.zeros((n, o, *places), np.result_type(x, y))
    for q in range(o):
        g = q // (o // (features * batches))
        block = x[g * n : (g + 1) * n] if batches > 1 else x[:, g * y.shape[1] : (g + 1) * y.shape[1]]
        for place in np.ndindex(*places):
            for tap in np.ndindex(*y.shape[2:]):
                at = [place[i] * p["window_strides"][i] + tap[i] * p["rhs_dilation"][i] - p["padding"][i][0] for i in range(d)]
                if any(a % s for a, s in zip(at, p["lhs_dilation"])):
                    continue
                at = [a // s for a, s in zip(at, p["lhs_dilation"])]
                if all(0 <= a < m for a, m in zip(at, x.shape[2:])):
                    out[(slice(None), q, *place)] += block[(slice(None), slice(None), *at)] @ y[(q, slice(None), *tap)]
    return np.transpose(out, np.argsort(out_spec))


@st.composite
def cases(draw, most=3):
    d = draw(st.integers(0, most))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    of_batches = groups > 1 and draw(st.booleans())
    n, c, o = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3)) * groups
    n, i, c = (n * groups, c, c) if of_batches else (n, c, c * groups)
    number = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(d))
    taps, strides, gaps, apart = number(1, 3), number(1, 3), number(1, 3), number(1, 3)
    extents, padding = [], []
    for k in range(d):
        extents.append(draw(st.integers(1, 5)))
        low = draw(st.integers(-1, 3))
        high = draw(st.integers(-1, 3))
        total = (extents[k] - 1) * gaps[k] + 1 + low + high
        padding.append((low, high + max(0, -total)))
    specs = [tuple(draw(st.permutations(range(d + 2)))) for _ in range(3)]
    shapes = []
    for spec, canonical in ((specs[0], (n, c, *extents)), (specs[1], (o, i, *taps))):
        shape = [0] * (d + 2)
        for place, m in zip(spec, canonical):
            shape[place] = m
        shapes.append(tuple(shape))
    return *shapes, {
        "window_strides": strides,
        "padding": tuple(padding),
        "lhs_dilation": gaps,
        "rhs_dilation": apart,
        "dimension_numbers": ConvDimensionNumbers(*specs),
        "feature_group_count": 1 if of_batches else groups,
        "batch_group_count": groups if of_batches else 1,
        "preferred_element_type": None,
    }


def params(x, y, strides=None, padding=None, gaps=None, apart=None, specs=None, features=1, batches=1):
    d, plain = len(x) - 2, tuple(range(len(x)))
    return {
        "window_strides": strides or (1,) * d,
        "padding": padding or ((0, 0),) * d,
        "lhs_dilation": gaps or (1,) * d,
        "rhs_dilation": apart or (1,) * d,
        "dimension_numbers": ConvDimensionNumbers(*(specs or (plain, plain, plain))),
        "feature_group_count": features,
        "batch_group_count": batches,
        "preferred_element_type": None,
    }


def operands(x, y, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 5, x).astype(dtype), rng.integers(-4, 5, y).astype(dtype)


@settings(deadline=None, max_examples=150)
@given(cases())
def test_eager_is_the_sum(case):
    x, y = operands(*case[:2])
    np.testing.assert_array_equal(np.asarray(conv_general_dilated(arr(x), arr(y), **case[2])), by_loops(x, y, case[2]))


LIMITS = [
    {},
    {"FEWEST_ROWS": 1, "FEWEST_TERMS": 10**9, "SMALL_CHANNEL": 1, "LONG_SUM": 1},  # strips wherever they can be
    {"FEWEST_ROWS": 1, "FEWEST_TERMS": 1, "SMALL_CHANNEL": 1, "MOST_GAPS": 9, "MANY_TAPS": 1},  # in place wherever it can be
    {
        "FEWEST_ROWS": 10**9,
        "FEWEST_TERMS": 10**9,
        "SMALL_CHANNEL": 10**9,
        "LARGEST": 400,
        "LONG_SUM": 1,
        "FEW_TAPS": 1,
    },  # patches, in turns
]


@settings(deadline=None, max_examples=60)
@given(cases(2), st.sampled_from(LIMITS))
def test_programs_are_the_sum(case, limits):
    """Each way to compute it, in the program's memory, with operands in any order of axes."""
    x, y = operands(*case[:2])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(window_products if hasattr(window_products, name) else convolution, name, value)
        got = loops(lambda x, y: conv_general_dilated(x, y, **case[2]), x, y)
    np.testing.assert_array_equal(got, by_loops(x, y, case[2]))


@settings(deadline=None, max_examples=60)
@given(cases(2))
def test_gradients_are_adjoint(case):
    """sum(ct * conv(t, y)) is sum(t * gradient), for any t; the same for y."""
    x, y = operands(*case[:2])
    tx, ty = operands(*case[:2], seed=1)
    out = by_loops(x, y, case[2])
    ct = np.random.default_rng(2).integers(-3, 4, out.shape).astype(float)
    gx, gy = grad(lambda x, y: mul(conv_general_dilated(x, y, **case[2]), arr(ct)), arr(x), arr(y))
    assert np.sum(gx * tx) == np.sum(ct * by_loops(tx, y, case[2]))
    assert np.sum(gy * ty) == np.sum(ct * by_loops(x, ty, case[2]))


NHWC = ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
LAYERS = [
    ("channels last", (2, 9, 8, 16), (3, 3, 16, 4), dict(padding=((1, 1), (1, 1)), specs=NHWC)),
    ("strides, channels last", (2, 9, 8, 16), (3, 3, 16, 4), dict(strides=(2, 2), padding=((1, 1), (0, 1)), specs=NHWC)),
    ("channels first", (2, 16, 9, 8), (4, 16, 3, 3), dict(padding=((1, 1), (1, 1)))),
    ("strides, channels first", (2, 16, 9, 8), (4, 16, 3, 3), dict(strides=(2, 2), padding=((1, 1), (1, 1)))),
    ("a plane", (2, 1, 9, 8), (4, 1, 3, 3), {}),
    ("three planes", (2, 3, 9, 8), (4, 3, 5, 5), dict(strides=(2, 2), padding=((2, 2), (2, 2)))),
    ("one element, last", (2, 5, 4, 16), (1, 1, 16, 4), dict(specs=NHWC)),
    ("one element, first", (2, 16, 5, 4), (4, 16, 1, 1), {}),
    ("one element, strides", (2, 16, 5, 4), (4, 16, 1, 1), dict(strides=(2, 2))),
    ("depthwise, last", (2, 9, 8, 16), (3, 3, 1, 16), dict(specs=NHWC, features=16, padding=((1, 1), (1, 1)))),
    ("depthwise, first, two each", (2, 4, 9, 8), (8, 1, 3, 3), dict(features=4)),
    ("groups", (2, 9, 8, 16), (3, 3, 8, 6), dict(specs=NHWC, features=2, padding=((1, 1), (1, 1)))),
    ("dilated", (2, 9, 8, 16), (3, 3, 16, 4), dict(specs=NHWC, apart=(2, 2), padding=((2, 2), (2, 2)))),
    ("a line", (3, 16, 20), (4, 16, 5), dict(padding=((2, 2),))),
    ("a volume", (1, 4, 4, 5, 8), (2, 2, 2, 8, 3), dict(specs=((0, 4, 1, 2, 3), (4, 3, 0, 1, 2), (0, 4, 1, 2, 3)))),
    ("to one feature", (2, 9, 8, 16), (3, 3, 16, 1), dict(specs=NHWC)),
    ("a matrix product", (5, 16), (4, 16), {}),
]


@pytest.mark.parametrize("limits", LIMITS[:3], ids=["as it is", "strips", "in place"])
@pytest.mark.parametrize("name, x, y, more", LAYERS, ids=[row[0] for row in LAYERS])
def test_programs_of_layers_and_their_gradients(name, x, y, more, limits):
    p = params(x, y, **more)
    x, y = operands(x, y)
    out = by_loops(x, y, p)
    ct = np.random.default_rng(2).integers(-3, 4, out.shape).astype(float)
    conv = lambda x, y: conv_general_dilated(x, y, **p)
    wants = [out, *grad(lambda x, y: mul(conv(x, y), arr(ct)), arr(x), arr(y))]
    with pytest.MonkeyPatch.context() as patch:
        for key, value in limits.items():
            patch.setattr(window_products if hasattr(window_products, key) else convolution, key, value)
        got = [
            loops(conv, x, y),
            loops(lambda y, ct: transposed(conv, x.shape, y, ct, 0), y, ct),
            loops(lambda x, ct: transposed(conv, y.shape, x, ct, 1), x, ct),
        ]
    for a, b in zip(got, wants, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)


def transposed(conv, shape, other, ct, which):
    """The cotangent of one operand, as a function of the other one and of the result's."""
    from funcgrad.core.aval import shaped
    from funcgrad.ir.primitive import LinearArg

    unknown = LinearArg(shaped(shape, dt.float64))
    args = [unknown, other] if which == 0 else [other, unknown]
    p = conv.__closure__[0].cell_contents
    return conv_general_dilated.transpose(ct, *args, **p)[which]


@settings(deadline=None, max_examples=40)
@given(cases(2), st.sampled_from(["x", "y", "both"]), st.integers(0, 2), st.integers(0, 3))
def test_vmap_is_a_loop(case, which, where, size):
    at = min(where, len(case[0]))
    x, y = operands(*case[:2])
    lanes = lambda v: (
        np.stack([np.roll(v.ravel(), i).reshape(v.shape) + i for i in range(size)], at)
        if size
        else np.zeros((*v.shape[:at], 0, *v.shape[at:]))
    )
    xs, ys = (lanes(x) if which != "y" else x), (lanes(y) if which != "x" else y)
    dims = [at if which != "y" else None, at if which != "x" else None]
    (out,), (d,) = vmap(lambda x, y: [conv_general_dilated(x, y, **case[2])], [arr(xs), arr(ys)], dims, size)
    out = np.moveaxis(np.asarray(out), d, 0)
    one = lambda v, d, i: v if d is None else np.take(v, i, d)
    want = [by_loops(one(xs, dims[0], i), one(ys, dims[1], i), case[2]) for i in range(size)]
    if size:
        np.testing.assert_array_equal(out, np.stack(want))
    else:
        assert out.shape == (0, *by_loops(x, y, case[2]).shape)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128, np.int8, np.uint16, np.int64, bool])
def test_dtypes(dtype):
    p = params((2, 3, 5), (4, 3, 3), padding=((1, 1),))
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 4, s).astype(dtype) for s in ((2, 3, 5), (4, 3, 3)))
    if np.dtype(dtype).kind == "c":
        x = x + 1j * y[:2, :, :1]
    conv = lambda x, y: conv_general_dilated(x, y, **p)
    want = by_loops(x, y, p)
    for got in (np.asarray(conv(arr(x, dtype), arr(y, dtype))), loops(conv, x.astype(dtype), y)):
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_sums_of_narrow_floats_are_taken_in_float32(dtype):
    x, y = np.full((1, 64, 64), 1.0), np.full((1, 64, 33), 1.0)
    p = params(x.shape, y.shape)
    out = conv_general_dilated(arr(x, dtype), arr(y, dtype), **p)
    assert out.dtype == dtype and np.all(np.asarray(out, np.float32) == 64 * 33)
    wide = conv_general_dilated(arr(x, dtype), arr(y, dtype), **p | {"preferred_element_type": dt.float32})
    assert wide.dtype == np.float32
    gx, gy = grad(
        lambda x, y: conv_general_dilated(x, y, **p | {"preferred_element_type": dt.float32}), arr(x, dtype), arr(y, dtype)
    )
    assert gx.dtype == dtype and gy.dtype == dtype
    np.testing.assert_array_equal(gy.astype(float), 32.0)


def test_preferred_element_type_of_integers_and_floats():
    p = params((1, 2, 3), (1, 2, 3))
    x, y = arr(np.full((1, 2, 3), 100), np.int8), arr(np.full((1, 2, 3), 2), np.int8)
    assert np.asarray(conv_general_dilated(x, y, **p)).item() == np.int16(1200).astype(np.int8)
    p |= {"preferred_element_type": dt.int32}
    conv = lambda x, y: conv_general_dilated(x, y, **p)
    assert np.asarray(conv(x, y)).item() == 1200 and loops(conv, np.asarray(x), np.asarray(y)).item() == 1200
    p |= {"preferred_element_type": dt.float64}
    x = np.full((1, 2, 3), 1 / 3, np.float32)
    got = [np.asarray(conv(arr(x, np.float32), arr(x, np.float32))), loops(conv, x, x)]
    for out in got:
        assert out.dtype == np.float64
        np.testing.assert_allclose(out, np.sum(x.astype(float) ** 2), rtol=1e-14)


@pytest.mark.parametrize(
    "x, y",
    [((0, 2, 4), (3, 2, 2)), ((1, 0, 4), (3, 0, 2)), ((1, 2, 0), (3, 2, 1)), ((1, 2, 4), (0, 2, 2)), ((1, 2, 1), (3, 2, 2))],
)
def test_of_nothing(x, y):
    p = params(x, y)
    xs, ys = operands(x, y)
    want = by_loops(xs, ys, p)
    conv = lambda x, y: conv_general_dilated(x, y, **p)
    for got in (np.asarray(conv(arr(xs), arr(ys))), loops(conv, xs, ys)):
        np.testing.assert_array_equal(got, want)
    gx, gy = grad(conv, arr(xs), arr(ys))
    assert gx.shape == x and gy.shape == y and not gx.any() and not gy.any()


ERRORS = [
    (dict(strides=(1,)), ShapeError, r"window_strides=\(1,\) for 2 spatial axes.*2 entries.*mend window_strides="),
    (dict(gaps=(0, 1)), ShapeError, r"lhs_dilation=\(0, 1\).*numbers of 1 or more.*mend"),
    (dict(padding=((-9, 0), (0, 0))), ShapeError, r"padding \(-9, 0\) for extent 6.*cuts at most.*mend padding="),
    (dict(features=2), ShapeError, r"2, batch_group_count=1; 2 batches, 3 features.*divides.*mend"),
    (dict(features=3), ShapeError, r"lhs has 3 features \(axis 1\), rhs takes 3.*1 in features.*check dimension_numbers"),
    (dict(features=3, batches=2), ShapeError, r"at most one is above 1.*mend the counts"),
    (dict(specs=((0, 1, 2, 2), (0, 1, 2, 3), (0, 1, 2, 3))), ShapeError, r"three permutations.*conv_dimension_numbers"),
]


@pytest.mark.parametrize("more, error, text", ERRORS, ids=[str(row[0]) for row in ERRORS])
def test_errors(more, error, text):
    x, y = (2, 3, 6, 6), (3, 3, 3, 3)
    with pytest.raises(error, match=f"(?s)conv_general_dilated: got.*{text}"):
        conv_general_dilated(arr(np.zeros(x)), arr(np.zeros(y)), **params(x, y, **more))


def test_errors_of_operands():
    with pytest.raises(ShapeError, match="one rank"):
        conv_general_dilated(arr(np.zeros((2, 3, 4))), arr(np.zeros((2, 3))), **params((2, 3, 4), (2, 3)))
    with pytest.raises(ShapeError, match="a window of 1 element"):
        conv_general_dilated(arr(np.zeros((2, 3, 4))), arr(np.zeros((2, 3, 0))), **params((2, 3, 4), (2, 3, 0)))
    with pytest.raises(DtypeError, match="one dtype"):
        conv_general_dilated(arr(np.zeros((2, 3))), arr(np.zeros((2, 3)), np.float32), **params((2, 3), (2, 3)))


def test_products_are_few():
    """A layer whose channels lie side by side is computed without a copy of its windows."""
    from funcgrad.bridge.array import from_numpy
    from funcgrad.loops.compile import compile_program
    from funcgrad.loops.program import Gemm
    from funcgrad.passes import simplify
    from funcgrad.trace.stage import stage

    def steps(x, y, **more):
        p = params(x, y, **more)
        avals = [from_numpy(np.zeros(s, np.float32)).aval for s in (x, y)]
        jaxpr, _ = stage(lambda x, y: [conv_general_dilated(x, y, **p)], avals)
        program = compile_program(simplify(jaxpr))
        return [type(s).__name__ for s in program.steps], [s for s in program.steps if isinstance(s, Gemm)]

    names, (product,) = steps((8, 28, 28, 64), (3, 3, 64, 32), specs=NHWC)
    assert names == ["Gemm", "KernelStep"]  # the rows of images, without what lies between them
    assert (product.m, product.n, product.k, product.points()) == (7 * 28 + 26, 32, 3 * 64, (26, 3))
    names, (product,) = steps((8, 28, 28, 64), (3, 3, 64, 32), specs=NHWC, padding=((1, 1), (1, 1)))
    assert names[-2:] == ["Gemm", "KernelStep"] and product.m == 8 * 28  # padded images lie side by side
    names, (product,) = steps((2, 200, 28, 64), (3, 3, 64, 32), specs=NHWC)
    assert names == ["Gemm"] and product.points() == (2 * 26, 3)  # of tall images each for itself
    names, (product,) = steps((8, 28, 28, 64), (1, 1, 64, 32), specs=NHWC)
    assert names == ["Gemm"] and product.m == 8 * 28 * 28
    names, (product,) = steps((8, 64, 28, 28), (32, 64, 1, 1))
    assert names == ["Gemm"] and product.batch[0][0] == 8
    # The gradient by a kernel: windows of the input along one axis, the images' gradients as they lie.
    back = dict(specs=((3, 0, 1, 2), (3, 0, 1, 2), (2, 3, 0, 1)))
    names, (product,) = steps((8, 30, 30, 64), (8, 28, 28, 32), **back)
    assert names == ["KernelStep", "Gemm", "KernelStep"] and (product.m, product.k, product.points()) == (
        3 * 64,
        28 * 28,
        (3 * 8, 1),
    )
    names, products = steps((8, 28, 28, 64), (3, 3, 1, 64), specs=NHWC, features=64)
    assert names == ["KernelStep", "KernelStep"] and not products  # the kernel's taps for a whole row
