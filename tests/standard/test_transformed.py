"""The namespaces that the public suite can be run on: their functions are traced, and answer as `funcgrad.numpy` does."""

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad.testing import counters

from . import transformed


@pytest.mark.parametrize("xp", [transformed.jitted, transformed.batched, transformed.jitted_batched], ids=lambda xp: xp.__name__)
def test_functions_are_transformed(xp):
    x = fnp.asarray(np.random.default_rng(0).normal(size=(3, 3)))
    for call in (
        lambda xp: xp.concat([x, x], axis=1),
        lambda xp: xp.sum(x, axis=0, keepdims=True),
        lambda xp: xp.linalg.svd(x)[1],
        lambda xp: xp.fft.rfft(x),
        lambda xp: xp.where(x > 0, x, 0.0),
        lambda xp: xp.take(x, fnp.asarray([0, 2]), axis=1),
    ):
        with counters() as c:
            got = call(xp)
        assert c.traces == (xp is not transformed.batched)
        np.testing.assert_allclose(np.asarray(got), np.asarray(call(fnp)), rtol=1e-12)
    assert xp.zeros(2).tolist() == [0, 0] and xp.__array_namespace_info__().devices() and xp.float32 is fnp.float32
