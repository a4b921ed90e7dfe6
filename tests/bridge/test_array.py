import copy
import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.bridge.array import address, from_dlpack, from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.errors import DeletedArrayError, DtypeError
from funcgrad.runtime.buffers import array_address

DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128", ml_dtypes.bfloat16]


def test_asarray_is_a_read_only_view_without_a_copy():
    x = from_numpy(np.arange(6.0))
    a, b = np.asarray(x), np.asarray(x)
    assert array_address(a) == array_address(b) == address(x)
    for write in (lambda: a.__setitem__(0, 1.0), lambda: a.setflags(write=True)):
        with pytest.raises(ValueError):
            write()


def test_a_numpy_array_is_copied_because_it_may_change():
    a = np.arange(3.0)
    x = from_numpy(a)
    a[0] = 99
    assert np.asarray(x)[0] == 0
    shared = from_numpy(a, copy=False)
    assert array_address(np.asarray(shared)) == array_address(a) and a.flags.writeable


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_programs_read_is_contiguous_whatever_came(dtype):
    base = np.arange(24).reshape(4, 6).astype(dtype)
    unaligned = np.zeros(base.nbytes + 1, np.uint8)[1:].view(base.dtype).reshape(4, 6)
    unaligned[...] = base
    for a in (
        base[::-1, ::2],
        np.asfortranarray(base),
        base.T,
        unaligned,
        base[:0],
        base[1, 2],
        np.broadcast_to(base[:1], (3, 6)),
    ):
        for copied in (True, False):
            x = from_numpy(a, copy=copied)
            assert x.shape == a.shape and x.dtype == a.dtype
            assert address(x) % max(a.dtype.alignment, 1) == 0
            np.testing.assert_array_equal(np.asarray(x), a)
            assert np.asarray(x).flags.c_contiguous


def test_big_endian_becomes_native():
    x = from_numpy(np.array([1, 2], ">i4"))
    assert x.dtype == np.dtype("int32") and np.asarray(x).tolist() == [1, 2]


@pytest.mark.parametrize("bad", [np.array(["a"]), np.array([None]), np.array([1], "M8[s]")])
def test_dtypes_that_arrays_cannot_have(bad):
    with pytest.raises(DtypeError, match=r"NumPy's dtype .*\n  Allowed: .*\n  Try: x.astype"):
        from_numpy(bad)


@given(st.sampled_from(DTYPES), st.lists(st.integers(0, 3), max_size=3), st.booleans())
@settings(max_examples=30, deadline=None)
def test_pickle_and_copies(dtype, shape, weak):
    x = from_numpy(np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype), weak_type=weak)
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert y.aval == x.aval
        np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


def test_dlpack_both_ways():
    x = from_numpy(np.arange(4.0))
    a = np.from_dlpack(x)
    assert array_address(a) == address(x) and not a.flags.writeable
    y = from_dlpack(np.arange(3))
    assert np.asarray(y).tolist() == [0, 1, 2] and y.__dlpack_device__() == (1, 0)
    np.testing.assert_array_equal(np.from_dlpack(from_dlpack(x)), np.arange(4.0))


def test_texts():
    assert repr(from_numpy(np.array([1, 2], np.float32))) == "Array([1., 2.], dtype=float32)"
    assert repr(from_numpy(np.array(3.0, np.float32), weak_type=True)) == "Array(3., dtype=float32, weak_type=True)"
    assert repr(from_numpy(np.zeros((0, 3)))) == "Array([], shape=(0, 3), dtype=float64)"
    assert repr(from_numpy(np.eye(2))) == "Array([[1., 0.],\n       [0., 1.]], dtype=float64)"
    assert str(from_numpy(np.arange(3))) == "[0 1 2]"
    assert "key<fry>" in repr(from_numpy(np.zeros(2, dt.KEY)))


def test_an_array_has_no_hash():
    with pytest.raises(TypeError):
        hash(from_numpy(1.0))


def test_deleted_arrays_say_so():
    x = from_numpy(np.ones(3))
    x.delete()
    assert x.is_deleted() and x.shape == (3,) and "f64[3]" in repr(x)
    for use in (lambda: np.asarray(x), lambda: address(x), x.block_until_ready, lambda: pickle.dumps(x)):
        with pytest.raises(DeletedArrayError, match=r"f64\[3\] was used after(.|\n)*Allowed(.|\n)*Try"):
            use()


def test_array_keyword_arguments_of_numpy():
    x = from_numpy(np.arange(3))
    assert np.asarray(x, dtype=float).dtype == float
    assert np.array(x, copy=True).flags.writeable
    with pytest.raises(ValueError):
        np.asarray(x, dtype=float, copy=False)


@pytest.mark.parametrize(
    "make",
    [
        lambda: from_numpy(np.arange(6.0).reshape(2, 3)),
        lambda: from_numpy([[1.0, 2.0], [3.0, 4.0]]),
        lambda: from_numpy(np.float32(2)),
        lambda: fnp.ones((2, 3)),
        lambda: fnp.ones((2, 3)).T,
        lambda: fnp.arange(10.0)[7:2:-2],
        lambda: fnp.transpose(fnp.sin(fnp.ones((2, 3, 4))), (2, 0, 1)),
        lambda: fnp.broadcast_to(fnp.ones(3), (2, 3)),
        lambda: fnp.ones(3, "bfloat16"),
        lambda: fg.random.split(fg.random.key(0), 3),
        lambda: fg.jit(lambda x: x + 1)(np.ones(3)),
        lambda: fg.jit(lambda x: x + 1)(np.ones(30000)),
        lambda: pickle.loads(pickle.dumps(fnp.ones(3))),
        lambda: fnp.zeros((0, 2)),
    ],
)
def test_no_view_can_be_made_writeable(make):
    """Nor what it is a view of, as far as NumPy tells."""
    x = make()
    view = np.asarray(x)
    assert view.shape == x.shape and view.strides == x._np.strides
    before = view.tobytes()
    chain = [view, view[...], view.T, view.reshape(-1)[:], np.asarray(memoryview(view)) if x.dtype.isbuiltin == 1 else view]
    while isinstance(chain[-1].base, np.ndarray):
        chain.append(chain[-1].base)
    for v in chain:
        assert not v.flags.writeable or not np.shares_memory(v, view)
        if np.shares_memory(v, view):
            with pytest.raises(ValueError, match="WRITEABLE"):
                v.setflags(write=True)
    assert view.tobytes() == np.asarray(x).tobytes() == before
