"""Ufuncs that are not NumPy's own: those of scipy.special are answered by funcgrad.scipy.special, others say the way out."""

import inspect
import subprocess
import sys

import numba
import numpy as np
import pytest
import scipy.special

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.scipy import special

SHARED = [name for name in special.__all__ if isinstance(getattr(scipy.special, name, None), np.ufunc)]
X = np.array([0.25, 0.5, 0.75])
ARGUMENTS = {"hyp2f1": (0.5, 1.0, 1.5, X), "expn": (2, X)}


@pytest.mark.parametrize("name", SHARED)
def test_scipys_function_on_our_arrays(name):
    f = getattr(scipy.special, name)
    count = len(inspect.signature(getattr(special, name)).parameters) if name == "bessel_jn" else f.nin
    arguments = ARGUMENTS.get(name, (X,) * count)
    ours = [fnp.asarray(x) if isinstance(x, np.ndarray) else x for x in arguments]
    want = f(*arguments)
    for got in (f(*ours), fg.jit(lambda x: f(*[x if isinstance(y, fg.Array) else y for y in ours]))(fnp.asarray(X))):
        assert all(isinstance(y, fg.Array) for y in fg.tree_util.tree_leaves(got))
        for a, b in zip(fg.tree_util.tree_leaves(got), want if f.nout > 1 else [want], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)


def test_gradients_go_through():
    got = fg.grad(lambda x: scipy.special.erf(x).sum())(fnp.asarray(X))
    np.testing.assert_allclose(got, 2 / np.sqrt(np.pi) * np.exp(-(X**2)), rtol=1e-12)
    got = fg.grad(lambda x: scipy.special.digamma(x).sum())(fnp.asarray(X))  # the ufunc calls itself psi
    np.testing.assert_allclose(got, scipy.special.polygamma(1, X), rtol=1e-10)


def test_what_numpys_names_answer():
    np.testing.assert_allclose(scipy.special.cbrt(fnp.asarray(X)), np.cbrt(X), rtol=1e-12)


def test_nobody_has_to_import_it():
    code = (
        "import numpy as np, sys, scipy.special as s, funcgrad as fg\n"
        "assert 'funcgrad.scipy' not in sys.modules\n"
        "assert abs(fg.jit(s.erf)(np.array(0.5)) - s.erf(0.5)) < 1e-12"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_what_is_missing_says_the_way_out():
    x = fnp.asarray(X)
    text = r"(?s)scipy\.special\.airy was called.*funcgrad\.scipy\.special has no airy.*Try: scipy\.special\.airy\(np\.asarray\(x\)\)"
    for call in (scipy.special.airy, fg.jit(scipy.special.airy)):
        with pytest.raises(TypeError, match=text):
            call(x)
    with pytest.raises(TypeError, match="the nearest name is erf"):
        scipy.special.erfi(x)
    with pytest.raises(TypeError, match=r"(?s)beta\.outer.*calls of beta itself"):
        scipy.special.beta.outer(x, x)


def test_a_ufunc_with_a_name_of_numpys():
    @numba.vectorize(["float64(float64)"])
    def square(x):
        return x**3

    with pytest.raises(TypeError, match=r"(?s)the ufunc square.*not NumPy's.*np\.asarray\(x\).*fg\.numba_kernel"):
        square(fnp.asarray(X))
