"""Convolutions under JAX's names: paddings, dimension numbers, transposes, patches; gradients; a small network that learns."""

import functools

import numpy as np
import pytest
import scipy.signal

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.errors import ConcretizationTypeError
from funcgrad.test_util import check_grads
from funcgrad.testing import counters

RNG = np.random.default_rng(0)
NHWC = ("NHWC", "HWIO", "NHWC")


def whole(*shape):
    return RNG.integers(-4, 5, shape).astype(np.float64)


def correlate(x, y, mode):
    """Of (n, c, h, w) with (o, c, kh, kw), by SciPy, plane by plane."""
    plane = lambda n, o: sum(scipy.signal.correlate2d(x[n, c], y[o, c], mode) for c in range(x.shape[1]))
    return np.stack([[plane(n, o) for o in range(y.shape[0])] for n in range(x.shape[0])])


@pytest.mark.parametrize("mode, padding", [("valid", "VALID"), ("same", "SAME"), ("full", [(2, 2), (4, 4)])])
def test_is_scipys_correlation_of_planes(mode, padding):
    x, y = whole(2, 3, 8, 7), whole(4, 3, 3, 5)
    want = correlate(x, y, mode)
    for f in (lax.conv_general_dilated, fg.jit(lax.conv_general_dilated, static_argnums=(2, 3))):
        np.testing.assert_array_equal(f(x, y, (1, 1), padding if isinstance(padding, str) else tuple(padding)), want)
    if mode != "same":  # whose padding depends on the strides
        np.testing.assert_array_equal(lax.conv(x, y, (2, 3), padding), want[..., ::2, ::3])


def test_same_and_same_lower_put_the_odd_zero_at_the_end_and_at_the_start():
    x, y = whole(1, 1, 6), whole(1, 1, 4)
    conv = lambda padding: np.asarray(lax.conv(x, y, (1,), padding))
    np.testing.assert_array_equal(conv("SAME"), conv([(1, 2)]))
    np.testing.assert_array_equal(conv("same_lower"), conv([(2, 1)]))
    assert lax.conv(whole(1, 1, 7), y, (3,), "SAME").shape == (1, 1, 3)


FORMS = [
    None,
    ("NCHW", "OIHW", "NCHW"),
    ["NHWC", "HWIO", "NHWC"],
    ("CHNW", "WOHI", "HCWN"),
    lax.ConvDimensionNumbers((3, 1, 0, 2), (0, 2, 3, 1), (1, 2, 3, 0)),
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_dimension_numbers(form):
    x, y = whole(2, 3, 6, 5), whole(4, 3, 3, 2)
    want = np.asarray(lax.conv_with_general_padding(x, y, (2, 1), [(1, 0), (0, 2)], None, (1, 2)))
    numbers = lax.conv_dimension_numbers(x.shape, y.shape, form)
    assert isinstance(numbers, lax.ConvDimensionNumbers)
    place = lambda v, spec: np.transpose(v, np.argsort(spec))
    out = lax.conv_general_dilated(
        place(x, numbers.lhs_spec),
        place(y, numbers.rhs_spec),
        (2, 1),
        [(1, 0), (0, 2)],
        rhs_dilation=(1, 2),
        dimension_numbers=form,
    )
    np.testing.assert_array_equal(np.transpose(out, numbers.out_spec), want)


@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 0), (2, 1)]])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 1)])
def test_conv_transpose_is_the_gradient_of_a_convolution(strides, padding, dilation):
    """With the kernel of the forward convolution and its padding."""
    k = whole(3, 4, 2, 5)  # from 2 features to 5
    small = whole(2, 4, 3, 5)
    out = lax.conv_transpose(small, k, strides, padding, dilation, transpose_kernel=True, use_consistent_padding=True)
    forward = lambda x: lax.conv_general_dilated(x, k, strides, padding, rhs_dilation=dilation, dimension_numbers=NHWC)
    x = np.zeros(out.shape)
    assert forward(x).shape == small.shape
    (back,) = fg.vjp(forward, x)[1](fnp.asarray(small))
    np.testing.assert_array_equal(out, back)


def test_conv_transpose_of_lines_and_volumes():
    assert lax.conv_transpose(whole(2, 5, 3), whole(3, 3, 4), (2,), "SAME").shape == (2, 10, 4)
    assert lax.conv_transpose(whole(2, 3, 3, 3, 2), whole(2, 2, 2, 2, 3), (2, 1, 2), "VALID").shape == (2, 6, 4, 6, 3)
    # Zeros between the elements, padded, and the kernel slides over that.
    x, k = whole(1, 4, 1), whole(3, 1, 1)
    gaps = np.zeros(2 + 7 + 1)
    gaps[2:9:2] = x[0, :, 0]
    np.testing.assert_array_equal(lax.conv_transpose(x, k, (2,), [(2, 1)])[0, :, 0], np.correlate(gaps, k[:, 0, 0], "valid"))


def test_patches_are_windows():
    x = whole(2, 3, 6, 5)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 2), (2, 3))  # n c h w kh kw
    want = windows[:, :, ::2, ::3].transpose(0, 1, 4, 5, 2, 3).reshape(2, 18, 2, 2)
    patches = lambda x: lax.conv_general_dilated_patches(x, (3, 2), (2, 3), "VALID")
    np.testing.assert_array_equal(patches(x), want)
    np.testing.assert_array_equal(fg.jit(patches)(x), want)
    x[0, 0, 0, 0] = np.inf  # stays in the window that it is in
    assert np.isfinite(np.asarray(patches(x))).sum() == want.size - 1
    line = whole(1, 1, 100)
    got = lax.conv_general_dilated_patches(line, (40,), (2,), [(1, 2)], rhs_dilation=(2,))
    padded = np.pad(line[0, 0], (1, 2))
    np.testing.assert_array_equal(got[0], np.stack([padded[2 * k : 2 * k + 25 : 2] for k in range(40)]))
    assert lax.conv_general_dilated_patches(x, (7, 2), (1, 1), "VALID").shape == (2, 42, 0, 4)
    assert (
        lax.conv_general_dilated_patches(np.int8([[[1, 2, 3]]]), (2,), (1,), "VALID", preferred_element_type=np.int32).dtype
        == np.int32
    )


@pytest.mark.parametrize("numbers", [None, ("NHWC", "WHIO", "CNHW")])
def test_a_local_convolution_has_a_kernel_at_each_place(numbers):
    x, k = whole(2, 3, 6, 5), whole(4, 3 * 3 * 2, 2, 4)
    args = ((2, 1), "VALID", (3, 2) if numbers is None else (2, 3))
    want = np.stack(
        [
            [[k[o, :, i, j] @ x[n, :, 2 * i : 2 * i + 3, j : j + 2].reshape(-1) for j in range(4)] for i in range(2)]
            for n in range(2) for o in range(4)
        ]
    ).reshape(2, 4, 2, 4)  # fmt: skip
    if numbers is None:
        np.testing.assert_array_equal(lax.conv_general_dilated_local(x, k, *args), want)
        return
    # In features go by the letters of rhs: feature, then W, then H.
    k = k.reshape(4, 3, 3, 2, 2, 4).transpose(5, 4, 1, 3, 2, 0).reshape(4, 2, 18, 4)
    out = lax.conv_general_dilated_local(x.transpose(0, 2, 3, 1), k, (1, 2), *args[1:], dimension_numbers=numbers)
    np.testing.assert_array_equal(out.transpose(1, 0, 2, 3), want)


CASES = [
    dict(window_strides=(1, 1), padding="SAME"),
    dict(window_strides=(2, 1), padding=[(1, 2), (-1, 1)], rhs_dilation=(1, 2)),
    dict(window_strides=(1, 2), padding=[(1, 1), (0, 0)], lhs_dilation=(2, 3)),
    dict(window_strides=(1, 1), padding="VALID", feature_group_count=2),
    dict(window_strides=(1, 1), padding="VALID", batch_group_count=2),
]


@pytest.mark.parametrize("more", CASES, ids=str)
def test_gradients_to_second_order(more):
    c = 2 * more.get("feature_group_count", 1)
    x, k = RNG.normal(size=(2, c, 5, 4)), RNG.normal(size=(4, 2, 3, 2))
    check_grads(lambda x, k: fnp.sin(lax.conv_general_dilated(x, k, **more)), (x, k), order=2, modes=("fwd", "rev"))
    jitted = fg.jit(fg.grad(lambda x, k: fnp.sum(fnp.sin(lax.conv_general_dilated(x, k, **more))), argnums=(0, 1)))
    eager = fg.grad(lambda x, k: fnp.sum(fnp.sin(lax.conv_general_dilated(x, k, **more))), argnums=(0, 1))
    for a, b in zip(jitted(x, k), eager(x, k), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_complex_gradients_are_not_conjugated():
    z = lambda *s: RNG.normal(size=s) + 1j * RNG.normal(size=s)
    check_grads(lambda x, k: lax.conv(x, k, (1,), "SAME"), (z(2, 2, 5), z(3, 2, 3)), order=2, modes=("fwd", "rev"))


def test_local_and_patches_have_gradients():
    x, k = RNG.normal(size=(2, 2, 5)), RNG.normal(size=(3, 4, 4))
    f = lambda x, k: lax.conv_general_dilated_local(x, k, (1,), "VALID", (2,))
    check_grads(lambda x, k: fnp.sin(f(x, k)), (x, k), order=2, modes=("fwd", "rev"))


def test_an_empty_batch():
    out, vjp = fg.vjp(lambda x, k: lax.conv(x, k, (1, 1), "SAME"), np.zeros((0, 3, 8, 8)), whole(4, 3, 3, 3))
    assert out.shape == (0, 4, 8, 8)
    gx, gk = vjp(out)
    assert gx.shape == (0, 3, 8, 8) and gk.shape == (4, 3, 3, 3) and not np.any(gk)
    assert fg.vmap(lambda x: lax.conv(x, whole(4, 3, 3, 3), (1, 1), "SAME"))(np.zeros((0, 2, 3, 8, 8))).shape == (0, 2, 4, 8, 8)


def test_per_example_gradients_of_a_kernel():
    """vmap over a gradient: convolutions in groups, as many as examples."""
    x, k, y = RNG.normal(size=(5, 3, 6, 6)), RNG.normal(size=(4, 3, 3, 3)), RNG.normal(size=(5, 4, 4, 4))
    loss = lambda k, x, y: fnp.sum((lax.conv(x[None], k, (1, 1), "VALID")[0] - y) ** 2)
    got = fg.jit(fg.vmap(fg.grad(loss), (None, 0, 0)))(k, x, y)
    want = [fg.grad(loss)(k, x[i], y[i]) for i in range(5)]
    np.testing.assert_allclose(got, np.stack(want), rtol=1e-10)


def test_an_ensemble_of_kernels():
    x, ks = whole(2, 3, 6, 6), whole(4, 5, 3, 3, 3)
    got = fg.jit(fg.vmap(lambda k: lax.conv(x, k, (1, 1), "VALID")))(ks)
    np.testing.assert_array_equal(got, np.stack([lax.conv(x, k, (1, 1), "VALID") for k in ks]))


def test_a_recurrent_layer():
    """A scan whose step is a convolution."""
    xs, k = RNG.normal(size=(4, 2, 6, 6, 3)), RNG.normal(size=(3, 3, 3, 3)) / 5
    step = lambda k, h, x: fnp.tanh(lax.conv_general_dilated(h + x, k, (1, 1), "SAME", dimension_numbers=NHWC))
    start = np.zeros((2, 6, 6, 3))
    looped = lambda k: lax.scan(lambda h, x: (step(k, h, x), None), start, xs)[0].sum()
    written_out = lambda k: functools.reduce(functools.partial(step, k), xs, start).sum()

    want = fg.grad(written_out)(k)
    np.testing.assert_allclose(fg.grad(looped)(k), want, rtol=1e-10)
    np.testing.assert_allclose(fg.jit(fg.grad(looped))(k), want, rtol=1e-10)


# --- errors -----------------------------------------------------------------------------------------------------------

X, K = np.zeros((2, 3, 8, 8)), np.zeros((4, 3, 3, 3))
WRONG = [
    (lambda: lax.conv(X, K, (1,), "VALID"), r"window_strides=\(1,\) for 2 spatial axes.*a number of 1 or more.*window_strides=\(1, 1\)"),
    (lambda: lax.conv(X, K, (0, 1), "VALID"), r"window_strides=\(0, 1\).*1 or more"),
    (lambda: lax.conv(X, K, (1, 1), "FULL"), r"padding='FULL'.*'VALID', 'SAME'.*padding='SAME'"),
    (lambda: lax.conv(X, K, 2, "VALID"), r"window_strides=2 for 2 spatial axes.*window_strides=\(1, 1\)"),
    (lambda: lax.conv(X, K, (1, 1), 1), r"padding=1.*\(low, high\) for each.*padding=\[\(1, 1\), \(1, 1\)\]"),
    (lambda: lax.conv_transpose(X, K, (1, 1), [1, 1]), r"padding=\[1, 1\].*\(low, high\) for each"),
    (lambda: lax.conv(X, K, (1, 1), [(1, 1)]), r"padding=\[\(1, 1\)\] for an array with 2 axes.*\(low, high\)"),
    (lambda: lax.conv(X, K[0], (1, 1), "VALID"), r"shapes \(2, 3, 8, 8\) and \(3, 3, 3\).*one length.*add the missing axes"),
    (lambda: lax.conv(X, K.astype("f4"), (1, 1), "VALID"), r"operands of one dtype.*astype"),
    (lambda: lax.conv(X[:, :2], K, (1, 1), "VALID"), r"lhs has 2 features \(axis 1\), rhs takes 3.*check dimension_numbers"),
    (lambda: lax.conv_general_dilated(X, K, (1, 1), "SAME", (2, 2)), r"padding='SAME' with lhs_dilation=\(2, 2\).*conv_transpose"),
    (lambda: lax.conv_general_dilated(X, K, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO")), r"three strings.*'HWIO'"),
    (lambda: lax.conv_general_dilated(X, K, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWN")), r"for the result 4 different letters, among them 'N' and 'C'"),
    (lambda: lax.conv_general_dilated(X, K, (1, 1), "SAME", dimension_numbers=("NHWC", "HXIO", "NHWC")), r"the same letters for spatial axes"),
    (lambda: lax.conv_dimension_numbers((1, 2, 3), (1, 2, 3), lax.ConvDimensionNumbers((0, 0, 1), (0, 1, 2), (0, 1, 2))), r"\(0, 0, 1\) for 3 axes.*a permutation of 0 to 2"),
    (lambda: lax.conv_transpose(X, K, (2, 2), "SAME_LOWER"), r"padding='SAME_LOWER'.*'SAME', 'VALID'"),
    (lambda: lax.conv_general_dilated_local(X, K, (1, 1), "VALID", (3, 3)), r"6, 6.*27 elements.*extents \(6, 6, 27\).*patches"),
    (lambda: lax.conv(X, K, (1, 1), "VALID", precision="exact"), r"precision='exact'"),
]  # fmt: skip


@pytest.mark.parametrize("call, text", WRONG, ids=[text[:30] for _, text in WRONG])
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=f"(?s)lax.*: got.*{text}|conv_general_dilated: got.*{text}"):
        call()


def test_strides_must_be_known():
    with pytest.raises(ConcretizationTypeError, match="window_strides"):
        fg.jit(lambda s: lax.conv(X, K, (s, s), "VALID"))(2)
    with pytest.raises(ConcretizationTypeError, match="padding"):
        fg.jit(lambda n: lax.conv(X, K, (1, 1), [(n, n), (1, 1)]))(2)


# --- networks ---------------------------------------------------------------------------------------------------------


def network(p, x):
    for k, b in p["layers"]:
        x = lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=NHWC)
        x = lax.reduce_window(fg.nn.relu(x + b), -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(x.shape[0], -1) @ p["w"]


def loss(p, x, y):
    return -(y * fg.nn.log_softmax(network(p, x))).sum(-1).mean()


def start():
    rng = np.random.default_rng(0)
    draw = lambda *s: fnp.asarray((rng.normal(size=s) / np.sqrt(np.prod(s[:-1]))).astype(np.float32))
    layers = [(draw(3, 3, 1, 8), fnp.zeros(8)), (draw(3, 3, 8, 16), fnp.zeros(16))]
    return {"layers": layers, "w": draw(2 * 2 * 16, 2)}


def images(n, seed=0):
    """A bar, upright or lying, somewhere in noise."""
    rng = np.random.default_rng(seed)
    x, kind = rng.normal(size=(n, 8, 8, 1)).astype(np.float32) * 0.3, rng.integers(0, 2, n)
    for i, k in enumerate(kind):
        a = rng.integers(0, 8)
        x[(i, slice(None), a) if k else (i, a)] += 1
    return x, np.eye(2, dtype=np.float32)[kind]


def test_a_network_learns_and_a_new_batch_size_compiles_nothing():
    @fg.jit
    def step(p, x, y):
        value, gradient = fg.value_and_grad(loss)(p, x, y)
        return fg.tree.map(lambda a, g: a - 0.2 * g, p, gradient), value

    p, (x, y) = start(), images(64)
    eager, jitted = fg.value_and_grad(loss)(p, x, y), fg.jit(fg.value_and_grad(loss))(p, x, y)
    for a, b in zip(fg.tree.leaves(jitted), fg.tree.leaves(eager), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    for _ in range(60):
        p, value = step(p, x, y)
    assert float(value) < 0.1
    unseen = images(200, seed=1)
    assert np.mean(np.argmax(network(p, unseen[0]), -1) == np.argmax(unseen[1], -1)) > 0.95
    with counters() as count:
        step(p, *images(48))
    assert count.compiled == 0
