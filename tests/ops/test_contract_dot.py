"""dot_general against einsum, over drawn dimension numbers; dtypes of sums."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError
from funcgrad.ops.arithmetic import mul
from funcgrad.ops.contract import dot_general
from tests.ops.helpers import arr, grad, loops


@st.composite
def contractions(draw):
    """Names of axes for both operands and the output, and the dimension numbers that say the same."""
    names = "abcdefgh"
    batch, contracted, left, right = (draw(st.integers(0, 2)) for _ in range(4))
    parts = [names[sum(c) - c[-1] : sum(c)] for c in ([batch], [batch, contracted], [batch, contracted, left])]
    b, k, m = parts
    n = names[batch + contracted + left :][:right]
    x, y = draw(st.permutations(b + k + m)), draw(st.permutations(b + k + n))
    k, b = draw(st.permutations(k)), draw(st.permutations(b))
    numbers = (
        (tuple(x.index(i) for i in k), tuple(y.index(i) for i in k)),
        (tuple(x.index(i) for i in b), tuple(y.index(i) for i in b)),
    )
    out = list(b) + [i for i in x if i in m] + [i for i in y if i in n]
    extents = {i: draw(st.integers(1, 3)) for i in names}
    return "".join(x), "".join(y), "".join(out), extents, numbers


@settings(deadline=None, max_examples=80)
@given(contractions())
def test_dot_general_is_einsum(case):
    x_names, y_names, out_names, extents, numbers = case
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal([extents[i] for i in names]) for names in (x_names, y_names))
    ct = rng.standard_normal([extents[i] for i in out_names])
    dot = lambda x, y: dot_general(x, y, dimension_numbers=numbers, preferred_element_type=None)
    want = np.einsum(f"{x_names},{y_names}->{out_names}", x, y)
    np.testing.assert_allclose(np.asarray(dot(arr(x), arr(y))), want, atol=1e-12)
    np.testing.assert_allclose(loops(dot, x, y), want, atol=1e-12)
    gx, gy = grad(lambda x, y: mul(dot(x, y), arr(ct)), arr(x), arr(y))
    np.testing.assert_allclose(gx, np.einsum(f"{out_names},{y_names}->{x_names}", ct, y), atol=1e-12)
    np.testing.assert_allclose(gy, np.einsum(f"{out_names},{x_names}->{y_names}", ct, x), atol=1e-12)


MATMUL = (((1,), (0,)), ((), ()))


def test_sums_of_narrow_floats_and_integers():
    ones = np.ones((1, 4096))
    for d in (ml_dtypes.bfloat16, np.float16):
        out = dot_general(arr(ones, d), arr(ones.T, d), dimension_numbers=MATMUL, preferred_element_type=None)
        assert out.dtype == d and float(np.asarray(out)[0, 0]) == 4096
        out = dot_general(arr(ones, d), arr(ones.T, d), dimension_numbers=MATMUL, preferred_element_type=dt.float32)
        assert out.dtype == np.float32
    x = arr([[100, 100]], np.int8)
    y = arr([[2], [2]], np.int8)
    out = np.asarray(dot_general(x, y, dimension_numbers=MATMUL, preferred_element_type=dt.int32))
    assert out.dtype == np.int32 and out[0, 0] == 400
    out = np.asarray(dot_general(x, y, dimension_numbers=MATMUL, preferred_element_type=None))
    assert out.dtype == np.int8 and out[0, 0] == 400 - 512  # wraps
    b = np.asarray(dot_general(arr([[1, 0]], bool), arr([[1], [1]], bool), dimension_numbers=MATMUL, preferred_element_type=None))
    assert b.dtype == bool and b[0, 0]


def test_gradients_keep_the_operands_dtype():
    x = arr(np.ones((2, 3)), ml_dtypes.bfloat16)
    y = arr(np.ones((3, 2)), ml_dtypes.bfloat16)
    dot = lambda x, y: dot_general(x, y, dimension_numbers=MATMUL, preferred_element_type=dt.float32)
    gx, gy = grad(dot, x, y)
    assert gx.dtype == ml_dtypes.bfloat16 and gy.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(gx.astype(float), np.full((2, 3), 2.0))


def test_errors():
    x, y = arr(np.zeros((2, 3))), arr(np.zeros((4, 2)))
    with pytest.raises(ShapeError, match=r"(?s)dot_general: got f64\[2,3\], f64\[4,2\] with contracted axes.*3.*4.*x\.T"):
        dot_general(x, y, dimension_numbers=MATMUL, preferred_element_type=None)
    with pytest.raises(DtypeError, match="(?s)dot_general.*one dtype.*promotes"):
        dot_general(x, arr(np.zeros((3, 2)), np.float32), dimension_numbers=MATMUL, preferred_element_type=None)
