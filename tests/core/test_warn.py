"""Warnings point at the user's line."""

import inspect
import warnings

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.core import warn
from funcgrad.scipy import signal

X = fnp.asarray([1.0, 2.0, 3.0])
OVERFLOWS = {
    "product": lambda: X * 1e300,
    "sum of complex": lambda: X.astype(complex) + 1e300j,
    "integer": lambda: X + 10**200,
    "full": lambda: fnp.full(3, 1e300, "float32"),
    "half": lambda: X.astype("float16") * 65536.0,
    "at": lambda: X.at[0].set(1e300),
    "where": lambda: fnp.where(X > 1, X, 1e300),
    "a number alone": lambda: fnp.sqrt(1e300),
    "grad": lambda: fg.grad(lambda x: x * x)(1e300),
    "traced": lambda: fg.jit(lambda x: x * 1e300)(X),
    "to NumPy": lambda: np.asarray(fnp.asarray(np.array([1e300])), "float32"),
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_overflows_are_told_where_they_were_written(name):
    call = OVERFLOWS[name]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert [(w.category, str(w.message)) for w in found] == [(RuntimeWarning, "overflow encountered in cast")]
    assert (found[0].filename, found[0].lineno) == (__file__, inspect.getsourcelines(call)[1])
    fg.clear_caches()
    with np.errstate(over="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        call()
    fg.clear_caches()
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        call()


def test_lost_imaginary_parts():
    x = fnp.asarray(np.array([1 + 2j]))
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part") as found:
        real = np.asarray(x, float)  # here
    assert real.tolist() == [1.0] and real.dtype == float
    assert (
        found[0].filename == __file__
        and "# here"
        in inspect.getsource(inspect.currentframe()).split("\n")[found[0].lineno - inspect.currentframe().f_code.co_firstlineno]
    )


def test_what_does_not_overflow_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (X * 65504.0).dtype == np.float32 and fnp.isinf(X * np.inf).all() and fnp.isnan(X * np.nan).all()
        assert (
            (X * 1e30)[0] == np.float32(1e30) and (fnp.int64(1) * 2**40).item() == 2**40 and (X * -1e38)[0] == np.float32(-1e38)
        )
        assert np.asarray(fnp.asarray(np.array([1 + 0j])), bool).all()


def test_warnings_of_the_package():
    with pytest.warns(UserWarning, match="nperseg=3 then") as found:
        signal.welch(X)
    assert found[0].filename == __file__
    with fg.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="different ranks") as found:
        X[None] + X
    assert found[0].filename == __file__


def test_a_program_without_a_users_line():
    with pytest.warns(RuntimeWarning, match="text"):
        warn.warn("text", RuntimeWarning)
