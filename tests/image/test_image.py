"""resize and scale_and_translate: the numbers of jax.image, sums written out pixel by pixel, and derivatives."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import image
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(5)
PICTURE = (np.arange(35) * 7 % 11).reshape(5, 7).astype("float64")
METHODS = ["linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"]

# What jax.image gave for PICTURE (jax 0.10): function, method, shape, antialias, the pixels.
KNOWN = [
    ("resized", "linear", (3, 4), True, [
        3.265306, 5.64, 4.691429, 5.306123, 5.693122, 4.857778, 5.124444, 4.624339, 4.986395, 4.068572, 5.571428, 3.959184
    ]),
    ("resized", "linear", (3, 4), False, [
        2.916667, 5.083333, 4.5, 5.75, 8.5, 2.875, 5.5, 5.375, 5.833333, 3.416667, 6.041667, 4.083333
    ]),
    ("resized", "cubic", (3, 4), True, [
        3.099208, 5.927586, 4.571191, 5.291305, 5.644136, 4.825006, 5.176629, 4.518116, 4.998663, 3.951279, 5.840104, 3.790975
    ]),
    ("resized", "cubic", (3, 4), False, [
        2.508236, 4.886685, 4.560917, 5.993254, 8.87534, 2.423828, 5.575195, 5.581438, 6.149352, 3.104728, 6.09274, 4.094851
    ]),
    ("resized", "cubic-pytorch", (3, 4), True, [
        3.099208, 5.927586, 4.571191, 5.291305, 5.644136, 4.825006, 5.176629, 4.518116, 4.998663, 3.951279, 5.840104, 3.790975
    ]),
    ("resized", "cubic-pytorch", (3, 4), False, [
        2.56599, 5.259476, 4.275988, 5.783854, 8.822266, 2.485352, 5.776855, 5.213867, 5.646304, 3.47696, 6.476038, 3.774559
    ]),
    ("resized", "lanczos3", (3, 4), True, [
        3.052433, 6.189464, 4.358775, 5.152832, 5.456197, 4.740059, 5.267315, 4.428778, 4.894843, 3.896149, 6.096771, 3.70493
    ]),
    ("resized", "lanczos3", (3, 4), False, [
        2.230992, 5.151169, 4.596059, 6.01236, 9.170267, 2.574594, 5.977577, 5.543547, 5.956695, 3.412799, 6.351551, 3.875618
    ]),
    ("resized", "lanczos5", (3, 4), True, [
        2.995878, 6.339206, 4.187661, 5.088487, 5.358367, 4.686413, 5.376539, 4.293809, 4.762819, 3.9347, 6.281371, 3.584785
    ]),
    ("resized", "lanczos5", (3, 4), False, [
        1.972997, 5.370055, 4.780296, 6.043431, 9.466113, 2.628966, 6.172591, 5.755713, 5.777658, 3.735454, 6.110278, 3.789289
    ]),
    ("resized", "area", (3, 4), True, [
        3.114286, 5.685715, 4.800001, 5.485714, 6.085715, 4.885715, 5.257143, 4.685715, 5.285714, 4.085714, 5.714286, 3.885715
    ]),
    ("resized", "area", (3, 4), False, [
        3.114286, 5.685715, 4.800001, 5.485714, 6.085715, 4.885715, 5.257143, 4.685715, 5.285714, 4.085714, 5.714286, 3.885715
    ]),
    ("resized", "linear", (8, 5), True, [
        2.333333, 4.777778, 8, 4.222222, 6.666667, 2.916667, 4.826389, 6.25, 3.736111, 5.645833, 3.979167, 4.819445, 4.1875,
        3.118056, 4.416667, 7.104167, 4.125, 6.0625, 3.1875, 5.25, 6.791667, 3.8125, 6.375, 4.784722, 4.9375, 3.041667, 3.881945,
        5.125, 7.909722, 3.479167, 5.479167, 3.263889, 5.5625, 4.847222, 4.083333, 7.666667, 2.777778, 6, 2.222222, 4.666667
    ]),
    ("resized", "cubic-pytorch", (8, 5), False, [
        1.068063, 4.195283, 10.55701, 3.599265, 8.024771, 2.106401, 5.020614, 7.017395, 3.112824, 5.812625, 4.52209, 5.324126,
        4.0177, 2.511121, 3.865718, 8.687935, 3.20579, 7.900757, 1.708973, 6.112256, 7.878743, 2.892888, 7.547974, 4.94784,
        5.639751, 3.2368, 4.44489, 3.105835, 9.473818, 2.691368, 5.623668, 2.918083, 5.366455, 5.505512, 4.026897, 8.880681,
        1.236923, 8.464172, 0.771181, 5.956445
    ]),
    ("resized", "nearest", (8, 5), True, [
        0, 3, 10, 6, 9, 0, 3, 10, 6, 9, 5, 8, 4, 0, 3, 10, 2, 9, 5, 8, 10, 2, 9, 5, 8, 4, 7, 3, 10, 2, 9, 1, 8, 4, 7, 9, 1, 8, 4,
        7
    ]),
    ("resized", "nearest", (3, 4), True, [
        0, 3, 6, 9, 10, 2, 5, 8, 9, 1, 4, 7
    ]),
    ("resized", "area", (8, 5), True, [
        2, 4.714286, 8.428572, 4.285715, 7, 2.742857, 4.828572, 6.657143, 3.771429, 5.857143, 3.857143, 5, 4, 3, 4.142857,
        7.857143, 3.971429, 6.742857, 3.228572, 5.628572, 7.657144, 3.771429, 6.857143, 4.285714, 5.428572, 2.857143, 4, 4.571429,
        8.285714, 3.142857, 5.857143, 3.228571, 5.685715, 4.685714, 4.257143, 7.857143, 2.714286, 6.428572, 2.285714, 5
    ]),
    ("translated", "linear", (6, 5), True, [
        2.584615, 4.413462, 6.051282, 4.163462, 5.992308, 5.161538, 4.293269, 4.491453, 3.778846, 4.338461, 9.007692, 4.966346,
        6.457265, 3.394231, 6.492308, 4.815385, 3.629808, 5.74359, 6.024038, 3.823077, 5.7, 3.5625, 5.5, 4.6875, 4.2, 8.200001, 4,
        5.555556, 2.375, 5.6
    ]),
    ("translated", "linear", (6, 5), False, [
        2.115385, 4.679487, 7.461538, 3.897436, 6.461538, 5.961539, 3.589744, 4.961538, 4.217949, 3.961538, 9.807692, 4.615385,
        8.807693, 2.423077, 7.807692, 5.615385, 2.961539, 4.615385, 5.98718, 3.615385, 6.5, 3, 5.5, 4.333333, 4.5, 9, 3.666667, 8,
        1.333333, 7
    ]),
    ("translated", "cubic", (6, 5), True, [
        1.869371, 4.51979, 6.210736, 4.099154, 6.321089, 5.255154, 4.315044, 4.161106, 3.601564, 4.151184, 9.903891, 4.826356,
        6.610421, 3.204345, 7.064964, 4.375192, 3.302413, 6.040591, 6.65588, 3.00346, 5.782914, 3.283497, 5.652914, 4.81536,
        3.896359, 9.440625, 3.886596, 5.643932, 1.807229, 6.413682
    ]),
    ("translated", "cubic", (6, 5), False, [
        1.347858, 4.82068, 7.492572, 3.655279, 6.736216, 6.619509, 2.955986, 4.435822, 4.627616, 3.126764, 10.42515, 4.269983,
        8.995448, 1.485769, 8.727284, 5.537006, 2.387654, 4.115953, 6.773055, 2.901498, 6.71517, 2.494554, 5.294118, 4.283225,
        4.417957, 9.884144, 3.38275, 8.463092, -0.150392, 8.307176
    ]),
    ("translated", "cubic-pytorch", (6, 5), True, [
        1.869371, 4.51979, 6.210736, 4.099154, 6.321089, 5.255154, 4.315044, 4.161106, 3.601564, 4.151184, 9.903891, 4.826356,
        6.610421, 3.204345, 7.064964, 4.375192, 3.302413, 6.040591, 6.65588, 3.00346, 5.782914, 3.283497, 5.652914, 4.81536,
        3.896359, 9.440625, 3.886596, 5.643932, 1.807229, 6.413682
    ]),
    ("translated", "cubic-pytorch", (6, 5), False, [
        1.409041, 4.755563, 7.130618, 3.691887, 6.308116, 7.006376, 2.88435, 4.411925, 4.491953, 3.085698, 10.46147, 3.927703,
        9.003983, 1.192463, 8.776476, 5.583099, 2.393219, 4.138655, 7.103311, 2.912286, 6.381945, 2.263889, 4.9375, 4.816551,
        3.989583, 9.983603, 3.007252, 8.539159, -0.585422, 8.448731
    ]),
    ("translated", "lanczos3", (6, 5), True, [
        1.317878, 4.460539, 6.264894, 4.174488, 6.28606, 5.368218, 4.639531, 3.949701, 3.201919, 4.587448, 10.32647, 4.858002,
        6.475907, 3.36866, 6.944805, 4.11967, 3.162449, 6.620776, 6.828784, 2.584028, 5.48171, 3.151922, 5.781489, 4.881087,
        3.454043, 10.44169, 4.033471, 5.491462, 1.720083, 6.672451
    ]),
    ("translated", "lanczos3", (6, 5), False, [
        0.828497, 4.882565, 7.266892, 3.515918, 6.524003, 7.826707, 2.637736, 4.377894, 4.455282, 2.587175, 10.58804, 3.50657,
        8.997148, 0.658135, 9.307991, 5.883818, 2.360193, 4.108487, 7.561075, 2.977616, 6.801464, 2.115653, 5.03912, 4.557017,
        4.323599, 10.32737, 2.644773, 8.934134, -1.76129, 9.59217
    ]),
    ("translated", "area", (6, 5), True, [
        2, 4.76, 6.28, 3.84, 6.6, 5.5, 3.86, 4.28, 4.04, 3.5, 10, 4.4, 6.8, 2.6, 8, 5.2, 3.12, 5.52, 6.6, 3.2, 6.5, 3.1, 5.5, 4.6,
        4.5, 9, 3.4, 5.8, 1.6, 7
    ]),
    ("translated", "area", (6, 5), False, [
        2, 4.76, 6.28, 3.84, 6.6, 5.5, 3.86, 4.28, 4.04, 3.5, 10, 4.4, 6.8, 2.6, 8, 5.2, 3.12, 5.52, 6.6, 3.2, 6.5, 3.1, 5.5, 4.6,
        4.5, 9, 3.4, 5.8, 1.6, 7
    ]),
]  # fmt: skip


@pytest.mark.parametrize("what,method,shape,antialias,pixels", KNOWN, ids=lambda c: str(c) if not isinstance(c, list) else "")
def test_the_numbers_of_jax(what, method, shape, antialias, pixels):
    if what == "resized":
        f = lambda x: image.resize(x, shape, method, antialias=antialias)
    else:
        f = lambda x: image.scale_and_translate(x, shape, (0, 1), [1.3, 0.6], [-0.7, 0.4], method, antialias=antialias)
    for g in (f, fg.jit(f)):
        out = g(PICTURE)
        assert out.dtype == np.float64
        np.testing.assert_allclose(np.asarray(out), np.reshape(pixels, shape), atol=5e-6)
    assert f(PICTURE.astype("float32")).dtype == np.float32


def sinc(x):
    return np.sinc(x)


def cubic(a):
    near, far = lambda x: (a + 2) * x**3 - (a + 3) * x**2 + 1, lambda x: a * (x**3 - 5 * x**2 + 8 * x - 4)
    return lambda x: near(x) if x < 1 else far(x) if x < 2 else 0.0


KERNELS = {
    "linear": (1, lambda x: max(0.0, 1 - x)),
    "cubic": (2, cubic(-0.5)),
    "lanczos3": (3, lambda x: sinc(x) * sinc(x / 3) if x < 3 else 0.0),
    "lanczos5": (5, lambda x: sinc(x) * sinc(x / 5) if x < 5 else 0.0),
}


def line(row, m, kernel, antialias):
    """A row with m pixels, written out."""
    n = len(row)
    width = max(n / m, 1.0) if antialias else 1.0
    out = []
    for i in range(m):
        centre = (i + 0.5) * n / m - 0.5
        w = np.array([kernel(abs(centre - j) / width) for j in range(n)])
        out.append(w @ row / w.sum())
    return np.array(out)


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", list(KERNELS))
@pytest.mark.parametrize("n,m", [(9, 4), (4, 9), (12, 3), (5, 6), (1, 3), (6, 1)])
def test_a_row_is_the_sum_written_out(method, n, m, antialias):
    row = RNG.normal(size=n)
    want = line(row, m, KERNELS[method][1], antialias)
    got = image.resize(row, (m,), method, antialias=antialias)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-9, atol=1e-9)


def test_nearest_takes_the_pixel_at_the_centre_for_all_dtypes():
    for n, m in [(5, 3), (3, 5), (4, 4), (7, 2), (2, 7), (4000, 2999)]:
        x = np.arange(n)
        want = [((2 * i + 1) * n) // (2 * m) for i in range(m)]
        for d in ("int32", "float64", "uint8", "bool"):
            y = x.astype(d)
            out = image.resize(y, (m,), "nearest")
            assert out.dtype == y.dtype and np.array_equal(np.asarray(out), y[want])


def test_area_of_whole_pixels_is_their_mean():
    x = RNG.normal(size=(6, 8, 3))
    want = x.reshape(3, 2, 2, 4, 3).mean((1, 3))
    np.testing.assert_allclose(np.asarray(image.resize(x, (3, 2, 3), "area")), want, rtol=1e-12)


def test_channels_batches_integers_and_nothing():
    x = RNG.integers(0, 255, (2, 5, 6, 3)).astype("uint8")
    out = image.resize(x, (2, 10, 4, 3), image.ResizeMethod.LINEAR)
    assert out.dtype == np.float32
    one = image.resize(x[1, :, :, 2].astype("float32"), (10, 4), "bilinear")
    np.testing.assert_allclose(np.asarray(out)[1, :, :, 2], np.asarray(one), rtol=1e-5)
    many = fg.vmap(lambda y: image.resize(y, (10, 4, 3), "linear"))(x.astype("float32"))
    np.testing.assert_allclose(np.asarray(many), np.asarray(out), rtol=1e-5, atol=1e-4)
    assert image.resize(x, x.shape, "cubic").dtype == np.float32
    assert image.resize(np.ones((3, 0)), (5, 0), "linear").shape == (5, 0)
    assert image.resize(np.ones(3), (0,), "linear").shape == (0,)
    assert image.resize(np.ones(()), (), "cubic").shape == ()
    half = image.resize(np.ones(3, "float16"), (4,), "linear")
    assert half.dtype == np.float16 and half.tolist() == [1] * 4


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [True, False])
def test_derivatives(method, antialias):
    x, s, t = RNG.normal(size=(5, 4)), np.array([0.71, 1.37]), np.array([0.23, -0.61])
    check_grads(lambda x: image.resize(x, (3, 7), method, antialias=antialias), (x,), 2)
    f = lambda x, s, t: image.scale_and_translate(x, (4, 5), (0, 1), s, t, method, antialias=antialias)
    check_grads(f, (x, s, t), 1, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.asarray(fg.jit(f)(x, s, t)), np.asarray(f(x, s, t)), rtol=1e-9, atol=1e-12)
    known = image.scale_and_translate(x, (4, 5), (0, -1), s, t, method, antialias=antialias)
    np.testing.assert_allclose(np.asarray(fg.jit(f)(x, s, t)), np.asarray(known), rtol=1e-9, atol=1e-12)


def test_corners_that_meet_corners():
    x = np.array([0.0, 3.0, 6.0, 9.0])
    s = (7 - 1) / (4 - 1)
    out = image.scale_and_translate(x, (7,), (0,), [s], [0.5 * (1 - s)], "linear")
    np.testing.assert_allclose(np.asarray(out), np.arange(7) * 1.5, atol=1e-12)


WRONG = [
    (lambda: image.resize(PICTURE, (3,), "linear"), "an extent for each axis"),
    (lambda: image.resize(PICTURE, (2.5, 3), "linear"), "image.resize: got 2.5 for shape"),
    (lambda: image.resize(PICTURE, (3, 3), "gauss"), "'gauss'"),
    (lambda: image.resize(PICTURE, (3, 3), 1), "a ResizeMethod or its name"),
    (lambda: image.resize(np.ones((0, 2)), (3, 2), "linear"), "with pixels"),
    (lambda: image.scale_and_translate(PICTURE, (5, 7), (0,), [1.0], [0.0], "nearest"), "image.resize"),
    (lambda: image.scale_and_translate(PICTURE, (5, 9), (0,), [1.0], [0.0], "linear"), "spatial_dims"),
    (lambda: image.scale_and_translate(PICTURE, (5, 9), (0, 1), [1.0], [0.0, 0.0], "linear"), "scale of 1 numbers for 2"),
    (lambda: image.scale_and_translate(PICTURE, (5, 9), (0, 1), fnp.ones(2), 1.0, "linear"), "translation of 1 numbers for 2"),
]


@pytest.mark.parametrize("call,text", WRONG)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()
