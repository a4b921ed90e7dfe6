"""Structure against plain Python: padding of every kind, slices, their gradients, errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.core.errors import DtypeError, ShapeError
from funcgrad.ops import shape as ops
from funcgrad.ops.arithmetic import mul
from funcgrad.test_util import check_grads
from tests.ops.helpers import arr, grad, loops


def pad_line(x, low, high, interior, value):
    """One axis, as the definition says: spread, then add or cut at both ends."""
    out = []
    for i, v in enumerate(x):
        out += ([value] * interior if i else []) + [v]
    out = [value] * low + out if low >= 0 else out[-low:]
    return out + [value] * high if high >= 0 else out[:high]


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 5), st.integers(-6, 4), st.integers(-6, 4), st.integers(0, 3))
def test_padding_is_what_its_definition_says(n, low, high, interior):
    total = low + high + (n + (n - 1) * interior if n else 0)
    x = np.arange(1.0, n + 1)
    config = ((low, high, interior),)
    if total < 0:
        with pytest.raises(ShapeError, match="pad: got padding_config"):
            ops.pad(arr(x), np.float64(-1), padding_config=config)
        return
    # A cut may go deeper than the padding on its own side; then the other side's numbers are what is left of the line.
    line = pad_line(x.tolist(), max(low, 0), max(high, 0), interior, -1.0)
    want = line[max(0, -low) : len(line) - max(0, -high)]
    pad = lambda x: ops.pad(x, np.float64(-1), padding_config=config)
    np.testing.assert_array_equal(np.asarray(pad(arr(x))), want)
    np.testing.assert_array_equal(loops(pad, x), want)
    weights = np.arange(10.0, 10 + total)
    got = grad(lambda x: mul(pad(x), arr(weights)), arr(x))[0]
    np.testing.assert_array_equal(got, [weights[want.index(v)] if v in want else 0 for v in x])


def test_the_padding_value_has_a_gradient():
    gx, gv = grad(lambda x, v: ops.pad(x, v, padding_config=((1, 2, 1),)), arr([1.0, 2]), arr(0.0))
    np.testing.assert_array_equal(gx, [1, 1])
    assert gv == 4


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 4))
def test_the_gradient_of_a_slice(start, limit, stride):
    start, limit = min(start, limit), max(start, limit)
    x = np.arange(9.0)
    cut = lambda x: ops.slice_(x, start_indices=(start,), limit_indices=(limit,), strides=(stride,))
    want = np.zeros(9)
    want[start:limit:stride] = 1
    np.testing.assert_array_equal(grad(cut, arr(x))[0], want)
    np.testing.assert_array_equal(loops(cut, x), x[start:limit:stride])


def test_errors():
    x = arr(np.zeros((2, 3)))
    with pytest.raises(ShapeError, match=r"(?s)reshape: got f64\[2,3\] \(6 elements\) for shape \(4,\).*must stay.*-1"):
        ops.reshape(x, shape=(4,))
    with pytest.raises(ShapeError, match=r"(?s)concatenate: got f64\[2,3\], f64\[2\] along axis 0.*fnp.stack"):
        ops.concatenate(x, arr([1.0, 2]), dimension=0)
    with pytest.raises(DtypeError, match="(?s)concatenate.*one dtype.*promotes"):
        ops.concatenate(x, arr(np.zeros((2, 3)), np.float32), dimension=0)
    with pytest.raises(ShapeError, match="(?s)squeeze.*axes of extent 1"):
        ops.squeeze(x, dimensions=(0,))
    with pytest.raises(ShapeError, match="(?s)transpose: got axes .*each of 0 to 1 once"):
        ops.transpose(x, permutation=(0, 0))
    with pytest.raises(ShapeError, match="(?s)slice: got start_indices"):
        ops.slice_(x, start_indices=(0, 0), limit_indices=(3, 3), strides=(1, 1))
    with pytest.raises(ShapeError, match="(?s)iota: got dimension=1"):
        ops.iota(dtype=np.dtype("int32"), shape=(3,), dimension=1)


def test_keys_move_as_any_element_does():
    keys = np.zeros((2, 2), [("hi", "<u4"), ("lo", "<u4")])
    keys["lo"] = [[1, 2], [3, 4]]
    turned = np.asarray(ops.transpose(arr(keys, keys.dtype), permutation=(1, 0)))
    assert turned["lo"].tolist() == [[1, 3], [2, 4]]


SLICED = {
    "thirds": (lambda x: (lambda q, k, v: (q * k).sum() + fnp.sin(v).sum())(*fnp.split(x, 3, -1)), {"concatenate": 1}),
    "columns": (lambda x: (x[:, 0] * x[:, 3] + x[:, 8] ** 2).sum(), {"concatenate": 1}),
    "overlapping": (lambda x: ((x[1:] - x[:-1]) ** 2).sum(), {"pad": 2}),
    "stencil": (lambda x: (x[1:-1, 1:-1] * x[2:, 1:-1] * x[:-2, 1:-1] * x[1:-1, 2:]).sum(), {"pad": 4}),
    "layers": (lambda x: (x[:2] * x[2:4] * x[4:] * x[1:3]).sum(), {"concatenate": 1, "pad": 1}),
    "steps": (lambda x: (x[::2] * x[1::2]).sum() + x[0].sum() * x[5, 2], {}),
    "one": (lambda x: x[2:4].sum() ** 2, {"pad": 1}),
    "with the whole": (lambda x: (x[:3] * x[3:]).sum() + (x**2).sum(), {}),
    "empty": (lambda x: x[0:0].sum() + x[3, 3] ** 2, {}),
    "masked": (lambda x: fnp.where(x > 0, fnp.log(x), 0.0)[:3].sum() + fnp.sqrt(x**2)[3:].sum(), {}),
}


@pytest.mark.parametrize("name", SLICED)
def test_cotangents_of_slices_are_put_together(name):
    f, counts = SLICED[name]
    x = np.random.default_rng(0).normal(size=(6, 9))
    for g in (f, fg.jit(f)):
        check_grads(g, (x,), order=2, modes=["rev"], atol=1e-5, rtol=1e-5)
    names = [e.primitive.name for e in fg.make_jaxpr(fg.grad(f))(x).jaxpr.eqns]
    assert {k: names.count(k) for k in counts} == counts
