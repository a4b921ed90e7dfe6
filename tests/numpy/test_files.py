"""Saving and loading, texts of arrays."""

import io

import numpy as np
import pytest

import funcgrad.numpy as fnp


def test_save_and_load():
    x = fnp.arange(6.0).reshape(2, 3)
    file = io.BytesIO()
    fnp.save(file, x)
    file.seek(0)
    back = fnp.load(file)
    assert isinstance(back, fnp.ndarray) and back.dtype == x.dtype and back.tolist() == x.tolist()
    file = io.BytesIO()
    fnp.savez(file, x, name=x + 1)
    file.seek(0)
    found = fnp.load(file)
    assert found["arr_0"].tolist() == x.tolist() and found["name"].tolist() == (x + 1).tolist()


def test_reading():
    assert fnp.fromiter(range(3), dtype=int).tolist() == [0, 1, 2]
    assert fnp.fromstring("1 2.5", sep=" ").tolist() == [1, 2.5]
    assert fnp.frombuffer(np.arange(3, dtype=np.int16).tobytes(), "int16").tolist() == [0, 1, 2]
    assert fnp.from_dlpack(np.arange(3.0)).tolist() == [0, 1, 2]


def test_texts():
    x = fnp.array([1.0, 2.0])
    assert fnp.array_str(x) == "[1. 2.]" and fnp.array_repr(x).startswith("Array([1., 2.]")
    with fnp.printoptions(precision=2):
        assert fnp.get_printoptions()["precision"] == 2


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_array_repr_is_repr(dtype):
    x = fnp.arange(6).reshape(2, 3).astype(dtype)
    assert fnp.array_repr(x) == repr(x)
    assert fnp.array_repr(fnp.array([1.23456]), precision=2) == "Array([1.23], dtype=float32)"
