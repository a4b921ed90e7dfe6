"""DLPack both ways: with NumPy, and with PyTorch where it is installed. No copy where none is asked for."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import dlpack
from funcgrad.core import dtypes as dt

PLAIN = ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
EXTENDED = ["bfloat16", *sorted(d.name for d in dt.FLOAT8)]


def address(x):
    return x.__array_interface__["data"][0]


@pytest.mark.parametrize("name", PLAIN)
def test_numpy_both_ways_without_a_copy(name):
    a = np.arange(6).reshape(2, 3).astype(name)
    x = dlpack.from_dlpack(a)
    assert x.dtype == a.dtype and np.shares_memory(np.asarray(x), a)
    b = np.from_dlpack(x)
    assert np.shares_memory(a, b) and not b.flags.writeable
    np.testing.assert_array_equal(b, a)
    assert not np.shares_memory(np.asarray(dlpack.from_dlpack(a, copy=True)), a)
    assert not np.shares_memory(np.from_dlpack(x, copy=True), a)


def test_results_of_programs_and_strides():
    x = fg.jit(lambda v: v * 2)(np.arange(6.0).reshape(2, 3))
    assert address(np.from_dlpack(x)) == x.unsafe_buffer_pointer()
    a = np.arange(12.0).reshape(3, 4)
    for b in (a.T, a.T[::2]):
        y = dlpack.from_dlpack(b)
        np.testing.assert_array_equal(y, b)
        np.testing.assert_array_equal(fg.jit(lambda v: v + 1)(y), b + 1)
    assert np.shares_memory(np.asarray(dlpack.from_dlpack(a.T)), a)
    assert dlpack.from_dlpack(np.array(3, np.float32)).shape == ()


@pytest.mark.parametrize("name", EXTENDED)
def test_dtypes_that_numpy_lacks_come_back(name):
    x = fnp.ones((2, 3)).astype(name)
    y = dlpack.from_dlpack(x)
    assert y.dtype == x.dtype and y.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


def test_supported_dtypes():
    assert all(dlpack.is_supported_dtype(d) for d in [*PLAIN, *EXTENDED, fnp.float32, np.int8, float])
    assert not dlpack.is_supported_dtype(fg.random.key(0).dtype)
    with pytest.raises(BufferError, match="key_data"):
        np.from_dlpack(fg.random.key(0))


def test_arguments_of_the_protocol():
    x = fnp.arange(3.0)
    assert x.__dlpack_device__() == (1, 0)
    assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 0), dl_device=(1, 0)))
    assert "dltensor_versioned" not in repr(x.__dlpack__())
    with pytest.raises(BufferError, match="stream"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="not on"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="__dlpack__"):
        dlpack.from_dlpack([1, 2])
    with pytest.raises(ValueError, match="device"):
        dlpack.from_dlpack(np.ones(2), device="cuda")


@pytest.mark.parametrize("name", [*PLAIN, "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_pytorch_both_ways_without_a_copy(name):
    torch = pytest.importorskip("torch")
    x = fnp.arange(6).reshape(2, 3).astype(name)
    t = torch.from_dlpack(x)
    assert str(t.dtype) == f"torch.{name}" and tuple(t.shape) == (2, 3) and t.data_ptr() == x.unsafe_buffer_pointer()
    np.testing.assert_array_equal(t.to(torch.complex64).numpy(), np.asarray(x).astype(np.complex64))
    t = torch.arange(6).to(getattr(torch, name)).reshape(2, 3)
    y = dlpack.from_dlpack(t)
    assert y.dtype.name == name and y.unsafe_buffer_pointer() == t.data_ptr()
    np.testing.assert_array_equal(np.asarray(y).astype(np.complex64), t.to(torch.complex64).numpy())


def test_pytorch_tensors_that_take_gradients():
    torch = pytest.importorskip("torch")
    with pytest.raises(BufferError, match="detach"):
        dlpack.from_dlpack(torch.ones(2, requires_grad=True))
