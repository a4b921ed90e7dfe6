"""segment_sum, segment_prod, segment_max, segment_min against a loop over the rows."""

import subprocess
import sys

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import ops
from funcgrad.errors import ConcretizationTypeError
from funcgrad.test_util import check_grads

R = np.random.default_rng(0)
IDS = np.array([0, 2, 2, 5, 0, 2, 4, 9])
FOLDS = {
    "segment_sum": (np.add, 0),
    "segment_prod": (np.multiply, 1),
    "segment_max": (np.maximum, None),
    "segment_min": (np.minimum, None),
}


def expected(name, data, ids, n):
    fold, start = FOLDS[name]
    if start is None:
        limits = np.finfo(data.dtype) if data.dtype.kind == "f" else np.iinfo(data.dtype)
        start = (limits.min, limits.max) if data.dtype.kind != "f" else (-np.inf, np.inf)
        start = start[name == "segment_min"]
    out = np.full((n, *data.shape[1:]), start, data.dtype)
    for row, i in zip(data, ids, strict=True):
        if 0 <= i < n:
            out[i] = fold(out[i], row)
    return out


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "int64"])
@pytest.mark.parametrize("shape", [(8,), (8, 3), (8, 2, 2)])
@pytest.mark.parametrize("name", FOLDS)
def test_against_a_loop(name, shape, dtype):
    data = (R.normal(size=shape) * 3 + 4).astype(dtype)
    f = getattr(ops, name)
    for n in (6, 10, 0):
        want = expected(name, data, IDS, n)
        for got in (f(data, IDS, n), fg.jit(f, static_argnums=2)(data, IDS, n), f(fnp.asarray(data), IDS.astype("uint8"), n)):
            assert got.dtype == data.dtype
            np.testing.assert_allclose(got, want, rtol=1e-6)
    np.testing.assert_allclose(f(data, IDS), expected(name, data, IDS, 10), rtol=1e-6)
    np.testing.assert_allclose(f(data, IDS, 6, bucket_size=3), expected(name, data, IDS, 6), rtol=1e-6)
    np.testing.assert_allclose(f(data[:0], IDS[:0], 2), expected(name, data[:0], [], 2))


@pytest.mark.parametrize("name", FOLDS)
def test_ids_out_of_range(name):
    data, ids, f = np.arange(1.0, 5.0), np.array([-1, 0, 3, 1]), getattr(ops, name)
    np.testing.assert_allclose(f(data, ids, 2), expected(name, data, ids, 2))
    np.testing.assert_allclose(f(data, ids, 2, mode="drop"), expected(name, data, ids, 2))
    for run in (f, fg.jit(f, static_argnames=("num_segments", "mode"))):
        with pytest.raises(IndexError):
            np.asarray(run(data, ids, num_segments=2, mode="raise"))
        np.testing.assert_allclose(run(data, ids, num_segments=2, mode="clip"), expected(name, data, np.clip(ids, 0, 1), 2))
    unique = f(data, np.array([1, 0, 3, 2]), 4, indices_are_sorted=False, unique_indices=True)
    np.testing.assert_allclose(unique, data[[1, 0, 3, 2]])


@pytest.mark.parametrize("name", FOLDS)
def test_derivatives_and_batches(name):
    data, f = R.normal(size=(8, 2)), getattr(ops, name)
    check_grads(lambda x: f(x, IDS, 10)[np.unique(IDS)], (data,), order=2)
    got = fg.vmap(lambda x, i: f(x, i, 10))(np.stack([data, 2 * data]), np.stack([IDS, IDS[::-1]]))
    np.testing.assert_allclose(got[1], expected(name, 2 * data, IDS[::-1], 10))


def test_products_with_zeros_have_exact_gradients():
    data, ids = np.array([2.0, 0.0, 3.0, 0.0, 0.0]), np.array([0, 0, 0, 1, 1])
    np.testing.assert_allclose(fg.grad(lambda x: ops.segment_prod(x, ids, 2).sum())(data), [0, 6, 0, 0, 0])


def test_booleans():
    data, ids = np.array([True, False, False]), np.array([0, 0, 2])
    assert ops.segment_max(data, ids, 3).tolist() == [True, False, False]
    assert ops.segment_min(data, ids, 3).tolist() == [False, True, False]
    with pytest.raises(TypeError, match="data.astype"):
        ops.segment_sum(data, ids, 3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ops.segment_sum(np.ones(3), np.ones(3), 2), TypeError, "integers"),
        (lambda: ops.segment_sum(np.ones(3), np.zeros(2, int), 2), ValueError, "a segment for each row"),
        (lambda: ops.segment_sum(np.ones(()), np.zeros((), int), 2), ValueError, "a segment for each row"),
        (lambda: ops.segment_max(np.ones(3), np.zeros(3, int), -1), ValueError, "0 or more"),
        (lambda: ops.segment_max(np.ones(3), np.zeros(3, int), 2, bucket_size=0), ValueError, "1 or more"),
        (lambda: ops.segment_max(np.ones(3), np.zeros(3, int), 2, mode="what"), ValueError, "mode"),
        (lambda: fg.jit(ops.segment_min)(np.ones(3), np.zeros(3, int)), ConcretizationTypeError, "num_segments=n"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_they_are_there_whatever_is_imported_first():
    code = "from funcgrad.ops import segment_sum; import funcgrad.ops; assert funcgrad.ops.segment_sum is segment_sum"
    subprocess.run([sys.executable, "-c", code], check=True)
