"""funm and rsf2csf against SciPy, against functions of matrices that are known, and against differences."""

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.scipy import linalg
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(9)


def matrix(n, complex_=False):
    return RNG.normal(size=(n, n)) + (1j * RNG.normal(size=(n, n)) if complex_ else 0)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6, 11])
def test_rsf2csf(n):
    a = matrix(n)
    t, z = scipy.linalg.schur(a) if n else (a, a)
    for f in (linalg.rsf2csf, fg.jit(linalg.rsf2csf)):
        ours_t, ours_z = f(t, z)
        assert ours_t.dtype == np.complex128
        if n:
            want_t, want_z = scipy.linalg.rsf2csf(t, z)
            np.testing.assert_allclose(np.asarray(ours_t), want_t, atol=1e-12)
            np.testing.assert_allclose(np.asarray(ours_z), want_z, atol=1e-12)
            np.testing.assert_allclose(np.tril(np.asarray(ours_t), -1), 0, atol=1e-13)
            np.testing.assert_allclose(np.asarray(ours_z @ ours_t @ ours_z.conj().T), a, atol=1e-12)
    assert linalg.rsf2csf(t.astype("float32"), z.astype("float32"))[0].dtype == np.complex64


FUNCTIONS = {
    "exp": (fnp.exp, np.exp, scipy.linalg.expm),
    "sin": (fnp.sin, np.sin, scipy.linalg.sinm),
    "cube": (lambda x: x**3 - 2 * x, lambda x: x**3 - 2 * x, lambda a: a @ a @ a - 2 * a),
    "inverse": (lambda x: 1 / (x + 9), lambda x: 1 / (x + 9), lambda a: np.linalg.inv(a + 9 * np.eye(len(a)))),
    "one": (fnp.ones_like, np.ones_like, lambda a: np.eye(len(a))),
}


@pytest.mark.parametrize("name", list(FUNCTIONS))
@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("complex_", [False, True])
def test_funm(name, n, complex_):
    ours, theirs, exact = FUNCTIONS[name]
    a = matrix(n, complex_)
    f = lambda a: linalg.funm(a, ours)
    for g in (f, fg.jit(f)):
        out = g(a)
        assert out.dtype == np.complex128
        np.testing.assert_allclose(np.asarray(out), exact(a), atol=1e-9)
    out, error = linalg.funm(a, ours, disp=False)
    want, want_error = scipy.linalg.funm(a.astype(complex), theirs, disp=False)
    np.testing.assert_allclose(np.asarray(out), want, atol=1e-9)
    np.testing.assert_allclose(float(error), want_error, rtol=1e-6)


def test_triangular_diagonal_equal_and_batched():
    t = np.array([[1.0, 2.0, 3.0], [0.0, 4.0, 5.0], [0.0, 0.0, 6.0]])
    np.testing.assert_allclose(np.asarray(linalg.funm(t, fnp.sqrt)), scipy.linalg.sqrtm(t), atol=1e-12)
    np.testing.assert_allclose(
        np.asarray(linalg.funm(np.diag([2.0, 2.0, -1.0]), fnp.exp)), np.diag(np.exp([2, 2, -1])), atol=1e-12
    )
    assert linalg.funm(np.zeros((0, 0)), fnp.exp).shape == (0, 0)
    xs = np.stack([matrix(4), matrix(4)])
    rows = fg.jit(fg.vmap(lambda a: linalg.funm(a, fnp.cos)))(xs)
    for row, x in zip(rows, xs):
        np.testing.assert_allclose(np.asarray(row), scipy.linalg.cosm(x), atol=1e-9)
    assert linalg.funm(xs[0].astype("float32"), fnp.exp).dtype == np.complex64


@pytest.mark.parametrize("name", ["exp", "cube", "inverse", "one"])
@pytest.mark.parametrize("complex_", [False, True])
def test_derivatives(name, complex_):
    f = FUNCTIONS[name][0]
    whole = lambda a: linalg.funm(a, f)
    g = whole if complex_ else lambda a: fnp.stack([whole(a).real, whole(a).imag])
    check_grads(g, (matrix(4, complex_),), 2, rtol=1e-4, atol=1e-4)


def test_the_derivative_where_eigenvalues_meet_is_that_of_expm():
    a, e = np.diag([1.0, 1.0, 2.0, 1.0 + 1e-7]), matrix(4)
    got = fg.jvp(lambda a: linalg.funm(a, fnp.exp), (a,), (e,))[1]
    np.testing.assert_allclose(np.asarray(got), scipy.linalg.expm_frechet(a, e, compute_expm=False), atol=1e-8)
    g = fg.jit(fg.grad(lambda a: linalg.funm(a, fnp.exp).real.sum()))(matrix(3))
    assert g.dtype == np.float64 and np.isfinite(np.asarray(g)).all()


WRONG = [
    (lambda: linalg.funm(np.ones((2, 3)), fnp.exp), "square"),
    (lambda: linalg.funm(np.ones((2, 2, 2)), fnp.exp), "fg.vmap"),
    (lambda: linalg.funm(np.eye(2), 3), "a callable"),
    (lambda: linalg.funm(np.eye(2), lambda x: x[:1]), "a number for each"),
    (lambda: linalg.rsf2csf(np.eye(2), np.eye(3)), "one shape"),
]


@pytest.mark.parametrize("call,text", WRONG)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()
