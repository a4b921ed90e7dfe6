"""Addresses of arrays, and fresh arrays in recycled memory."""

import threading

import numpy as np
import pytest

from funcgrad.runtime import buffers
from funcgrad.runtime.buffers import array_address, empty

F32 = np.dtype(np.float32)


@pytest.fixture(autouse=True)
def nothing_kept():
    buffers.release_kept()
    yield
    buffers.release_kept()


@pytest.mark.parametrize("array", [np.arange(3), np.zeros((4, 5))[1:, ::-1], np.array(1j), np.zeros((0, 3)), np.bool_([True])])
def test_address(array):
    assert buffers.DIRECT
    assert array_address(array) == array.ctypes.data == buffers._array_address_slow(array)


@pytest.mark.parametrize("shape", [(), (0,), (3, 4), (1 << 20,), (7, 1 << 17), (3, 0, 1 << 40)])
def test_shapes(shape):
    array = empty(shape, F32)
    assert array.shape == shape and array.dtype == F32 and array.flags.c_contiguous and array.flags.writeable
    assert type(array) is np.ndarray
    array[...] = 1


def test_large_arrays_are_aligned_and_recycled():
    first = empty((1 << 20,), F32)
    address = array_address(first)
    assert address % 64 == 0
    view = first[5:].reshape(-1, 1)
    del first
    assert buffers.kept_bytes() == 0  # the view still looks at it
    view[:] = 3
    del view
    assert buffers.kept_bytes() >= 4 << 20
    again = empty((1024, 1000), F32)  # a little smaller: the same class or another, but never too small
    assert again.nbytes <= len(again.base.base)
    del again
    assert array_address(empty((1 << 20,), F32)) == address


def test_what_is_kept_is_bounded(monkeypatch):
    arrays = [empty((1 << 20,), F32) for _ in range(3 * buffers.KEPT_EACH)]
    del arrays
    assert buffers.kept_bytes() <= buffers.KEPT_EACH * (5 << 20)
    buffers.release_kept()
    monkeypatch.setattr(buffers, "KEPT_BYTES", 6 << 20)
    arrays = [empty((1 << 20,), F32) for _ in range(3)]
    del arrays
    assert buffers.kept_bytes() <= 6 << 20


def test_threads_never_share_a_block():
    wrong = []

    def work(value):
        for _ in range(200):
            array = empty((1 << 18,), F32)
            array[::4096] = value
            if not (array[::4096] == value).all():
                wrong.append(value)

    running = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("size", [1 << 60, 1 << 70])
def test_too_large(size):
    """MemoryError, whatever the system calls it; and what was kept is given back before."""
    buffers.empty((buffers.LARGE,), np.dtype(np.uint8))  # freed at once: kept
    with pytest.raises(MemoryError, match=r"(?s)GB was to be made.*lax.map"):
        buffers.empty((size,), np.dtype(np.uint8))
    assert buffers.kept_bytes() == 0
    assert buffers.empty((buffers.LARGE,), np.dtype(np.uint8)).nbytes == buffers.LARGE
