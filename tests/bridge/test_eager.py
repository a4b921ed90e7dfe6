import warnings

import numpy as np
import pytest

from funcgrad.bridge import eager  # noqa: F401
from funcgrad.bridge.array import Array, from_numpy
from funcgrad.core.config import config
from funcgrad.errors import DeletedArrayError, NanError
from funcgrad.ops._family import add, reshape, transpose
from funcgrad.ops.arithmetic import div
from funcgrad.ops.exponential import log
from funcgrad.testing import counters
from funcgrad.trace.interpreter import bind
from funcgrad.trace.stage import stage
from funcgrad.transforms.call import jit as call


def test_operators_answer_from_numpy_and_compile_nothing():
    x = from_numpy(np.arange(6.0))
    with counters() as c:
        y = add(transpose(reshape(x, shape=(2, 3)), permutation=(1, 0)), np.float64(1))
    assert isinstance(y, Array) and c.compiled == c.traces == c.launches == 0
    np.testing.assert_array_equal(np.asarray(y), np.arange(6.0).reshape(2, 3).T + 1)


def test_ieee_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = div(from_numpy(np.array([1.0, 0.0])), np.float64(0))
    assert np.isinf(np.asarray(y)[0]) and np.isnan(np.asarray(y)[1])


def test_deleted_arrays_and_nans():
    x = from_numpy(np.array([-1.0]))
    with config.override(debug_nans=True), pytest.raises(NanError, match=r"log gave a NaN.*test_eager.py(.|\n)*born here"):
        log(x)
    x.delete()
    with pytest.raises(DeletedArrayError):
        log(x)


def test_a_call_of_a_program_runs_compiled():
    x = from_numpy(np.arange(3.0))
    jaxpr, _ = stage(lambda v: [add(v, v), v], [x.aval])
    with counters() as c:
        for _ in range(3):
            twice, same = bind(call, x, jaxpr=jaxpr, name="f")
    assert c.programs == 1 and c.launches == 3 and same is x
    np.testing.assert_array_equal(np.asarray(twice), [0, 2, 4])
