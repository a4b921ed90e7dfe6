"""scipy.linalg's functions against SciPy: values in all dtypes, compiled, in batches; derivatives to order 2."""

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.scipy import linalg
from funcgrad.test_util import check_grads

DTYPES = ["float32", "float64", "complex64", "complex128"]


def draw(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    x = x + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else x
    i = np.arange(min(shape[-2:]))
    x[..., i, i] += 2 + i
    return np.asarray(x, dtype)


def positive(shape, dtype="float64"):
    x = draw(shape, dtype)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])).astype(dtype)


def leaves(x):
    return list(x) if isinstance(x, tuple) else [x]


def close(got, want, dtype="float64"):
    tolerance = 1e-9 if dtype in ("float64", "complex128") else 3e-4
    for g, w in zip(leaves(got), leaves(want), strict=True):
        w = np.asarray(w)
        assert g.shape == w.shape and g.dtype == w.dtype, (g.shape, w.shape, g.dtype, w.dtype)
        np.testing.assert_allclose(np.asarray(g), w, tolerance, tolerance)


B = np.array([[1.0, 2], [0, 1], [-1, 3]])


def b_like(x):
    return B.astype(x.dtype)


FUNCTIONS = {
    "cholesky": (positive, [(3, 3)], lambda m, x: m.cholesky(x)),
    "cholesky_lower": (positive, [(3, 3)], lambda m, x: m.cholesky(x, lower=True)),
    "cho_solve": (positive, [(3, 3)], lambda m, x: m.cho_solve(m.cho_factor(x), b_like(x))),
    "cho_solve_lower": (positive, [(3, 3)], lambda m, x: m.cho_solve(m.cho_factor(x, True), b_like(x)[:, 0])),
    "det": (draw, [(3, 3)], lambda m, x: m.det(x).astype(x.dtype)),  # SciPy widens
    "inv": (draw, [(3, 3)], lambda m, x: m.inv(x)),
    "lu": (draw, [(3, 3), (4, 2), (2, 4), (2, 3, 3)], lambda m, x: m.lu(x[..., ::-1, :])),
    "lu_permuted": (draw, [(3, 3), (4, 2)], lambda m, x: m.lu(x[::-1], permute_l=True)),
    "lu_factor": (draw, [(3, 3)], lambda m, x: m.lu_factor(x[::-1])[0]),
    "lu_solve": (draw, [(3, 3)], lambda m, x: m.lu_solve(m.lu_factor(x[::-1]), b_like(x))),
    "lu_solve_T": (draw, [(3, 3)], lambda m, x: m.lu_solve(m.lu_factor(x[::-1]), b_like(x), 1)),
    "lu_solve_C": (draw, [(3, 3)], lambda m, x: m.lu_solve(m.lu_factor(x[::-1]), b_like(x)[:, 1], 2)),
    "solve": (draw, [(3, 3)], lambda m, x: m.solve(x, b_like(x))),
    "solve_pos": (positive, [(3, 3)], lambda m, x: m.solve(x, b_like(x), assume_a="pos")),
    "triangular": (draw, [(3, 3)], lambda m, x: m.solve_triangular(x, b_like(x))),
    "triangular_T": (draw, [(3, 3)], lambda m, x: m.solve_triangular(x, b_like(x), trans="T", lower=True)),
    "triangular_C": (draw, [(3, 3)], lambda m, x: m.solve_triangular(x, b_like(x)[:, 0], trans=2, unit_diagonal=True)),
    "qr": (draw, [(3, 3), (4, 2), (2, 4)], lambda m, x: m.qr(x)),
    "qr_economic": (draw, [(4, 2), (2, 4)], lambda m, x: m.qr(x, mode="economic")),
    "qr_r": (draw, [(4, 2)], lambda m, x: m.qr(x, mode="r")),
    "qr_multiply": (draw, [(3, 3), (4, 2)], lambda m, x: m.qr_multiply(x, x.T @ x @ x.T)),
    "qr_multiply_left": (draw, [(3, 3), (4, 2)], lambda m, x: m.qr_multiply(x, x.T @ x, "left", conjugate=True)),
    "hessenberg": (draw, [(4, 4), (2, 2)], lambda m, x: m.hessenberg(x)),
    "hessenberg_q": (draw, [(4, 4)], lambda m, x: m.hessenberg(x, calc_q=True)),
    "svd": (draw, [(3, 3), (4, 2)], lambda m, x: m.svd(x)[1]),
    "svdvals": (draw, [(4, 2)], lambda m, x: m.svd(x, compute_uv=False)),
    "eigh": (positive, [(3, 3)], lambda m, x: m.eigh(x, eigvals_only=True)),
    "eigh_general": (positive, [(3, 3)], lambda m, x: m.eigh(x, x @ x + np.eye(3, dtype=x.dtype), lower=False)[0]),
    "expm": (draw, [(3, 3), (2, 2, 2), (1, 1)], lambda m, x: m.expm(x)),
    "expm_large": (draw, [(3, 3)], lambda m, x: m.expm(-9 * (x @ x.T.conj())) if m is linalg else m.expm(-9 * (x @ x.T.conj()))),
    "polar": (draw, [(3, 3), (4, 2)], lambda m, x: tuple(m.polar(x))),
    "polar_left": (draw, [(3, 3), (2, 4)], lambda m, x: tuple(m.polar(x, "left"))),
    "sylvester": (draw, [(3, 3)], lambda m, x: m.solve_sylvester(x, x[:2, :2], b_like(x))),
    "toeplitz": (draw, [(4, 3)], lambda m, x: m.toeplitz(x[:, 0], x[0])),
    "toeplitz_1": (draw, [(4, 3)], lambda m, x: m.toeplitz(x[:, 0])),
    "hankel": (draw, [(4, 3)], lambda m, x: m.hankel(x[:, 0], x[0])),
    "hankel_1": (draw, [(4, 3)], lambda m, x: m.hankel(x[:, 0])),
    "circulant": (draw, [(4, 3)], lambda m, x: m.circulant(x[:, 0])),
    "companion": (draw, [(4, 3), (2, 2)], lambda m, x: m.companion(x[:, 0])),
    "fiedler_companion": (draw, [(2, 2), (3, 3), (4, 2), (5, 2), (6, 2)], lambda m, x: m.fiedler_companion(x[:, 0])),
    "leslie": (draw, [(4, 3)], lambda m, x: m.leslie(x[:, 0], x[0])),
    "block_diag": (draw, [(4, 3)], lambda m, x: m.block_diag(x, x[0], x[:2])),
    "convolution": (draw, [(4, 3)], lambda m, x: m.convolution_matrix(x[:, 0], 3)),
    "convolution_same": (draw, [(4, 3)], lambda m, x: m.convolution_matrix(x[:, 0], 6, "same")),
    "convolution_valid": (draw, [(4, 3)], lambda m, x: m.convolution_matrix(x[:, 0], 2, "valid")),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, dtype):
    make, shapes, f = FUNCTIONS[name]
    for k, shape in enumerate(shapes):
        x = make(shape, dtype)
        want = f(scipy.linalg, x)
        close(f(linalg, fnp.array(x)), want, dtype)
        if k == 0:
            close(fg.jit(lambda x: f(linalg, x))(x), want, dtype)


SMOOTH = [
    "cholesky", "cho_solve", "lu_permuted", "lu_solve", "lu_solve_C", "solve_pos", "triangular_T", "qr_economic", "expm", "polar",
    "polar_left", "sylvester", "toeplitz", "companion", "fiedler_companion", "convolution_same", "block_diag", "eigh",
    "eigh_general",
]  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name):
    make, shapes, f = FUNCTIONS[name]
    for shape in shapes[:2]:
        check_grads(lambda x: f(linalg, x), (make(shape),), 2, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("name", ["cho_solve", "lu_solve", "expm", "polar", "solve_pos", "triangular_C"])
def test_batches_are_loops(name):
    make, _, f = FUNCTIONS[name]
    x = make((4, 3, 3))
    got = fg.vmap(lambda x: leaves(f(linalg, x)))(x)
    rows = [leaves(f(scipy.linalg, a)) for a in x]
    close(tuple(got), tuple(np.stack(column) for column in zip(*rows, strict=True)))


def test_matrices_of_a_size():
    for n in (1, 2, 4):
        close(linalg.hilbert(n), scipy.linalg.hilbert(n).astype("float32"), "float32")
        close(linalg.invhilbert(n), scipy.linalg.invhilbert(n).astype("float32"), "float32")
        close(linalg.helmert(n, True), scipy.linalg.helmert(n, True).astype("float32"), "float32")
        close(linalg.hadamard(n), scipy.linalg.hadamard(n))
        for kind in ("symmetric", "lower", "upper"):
            assert np.asarray(linalg.pascal(n, kind)).tolist() == scipy.linalg.pascal(n, kind).tolist()
            assert np.asarray(linalg.invpascal(n, kind)).tolist() == scipy.linalg.invpascal(n, kind).tolist()
        for scale in (None, "sqrtn", "n"):
            close(linalg.dft(n, scale, dtype="complex128"), scipy.linalg.dft(n, scale))
    assert linalg.dft(3).dtype == np.complex64
    close(linalg.fiedler(np.array([1.0, 4, 2])), scipy.linalg.fiedler(np.array([1.0, 4, 2])))


def test_tridiagonal():
    d, e = np.array([1.0, 5, 2, 7]), np.array([0.5, 1, -1])
    w, v = linalg.eigh_tridiagonal(d, e)
    close(w, scipy.linalg.eigh_tridiagonal(d, e)[0])
    t = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    np.testing.assert_allclose(t @ np.asarray(v), np.asarray(v) * np.asarray(w), atol=1e-10)
    got = linalg.eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(1, 2))
    close(got, scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(1, 2)))
    check_grads(lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True), (d, e), 2, atol=1e-4, rtol=1e-4)


def test_generalized_vectors():
    a, b = positive((3, 3)), positive((3, 3)) + np.eye(3)
    w, v = (np.asarray(x) for x in linalg.eigh(a, b))
    np.testing.assert_allclose(a @ v, b @ v * w, atol=1e-9)
    np.testing.assert_allclose(v.T @ b @ v, np.eye(3), atol=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
def test_schur_and_roots(dtype):
    x = draw((3, 3), dtype)
    tolerance = 1e-9 if dtype in ("float64", "complex128") else 3e-4
    for output in ("real", "complex"):
        t, z = (np.asarray(a) for a in linalg.schur(x, output))
        np.testing.assert_allclose(z @ t @ np.conj(z).T, x, tolerance, tolerance)
        if output == "complex":
            assert t.dtype.kind == "c" and np.abs(np.tril(t, -1)).max() < tolerance
    root = np.asarray(linalg.sqrtm(x))
    assert root.dtype.kind == "c" and root.dtype.itemsize == np.dtype(dtype).itemsize * (1 if x.dtype.kind == "c" else 2)
    np.testing.assert_allclose(root @ root, x, tolerance * 10, tolerance * 10)


def test_derivative_of_the_exponential():
    a, e = draw((3, 3)), draw((3, 3), seed=1)
    close(linalg.expm_frechet(a, e), scipy.linalg.expm_frechet(a, e))
    close(linalg.expm_frechet(a, e, compute_expm=False), scipy.linalg.expm_frechet(a, e, compute_expm=False))
    assert np.isnan(np.asarray(linalg.expm(np.eye(2) * 1e9, max_squarings=3))).all()
    close(linalg.expm(np.zeros((2, 2))), np.eye(2))
    close(fg.grad(lambda x: fnp.sum(linalg.expm(x)))(np.zeros((2, 2))), np.ones((2, 2)))


def test_gradient_of_the_square_root():
    f = lambda x: fnp.real(linalg.sqrtm(x))
    check_grads(f, (positive((3, 3)),), 2, atol=1e-3, rtol=1e-3)


def test_errors():
    with pytest.raises(ValueError, match="(?s)solve_triangular: got trans='X'.*'T'"):
        linalg.solve_triangular(np.eye(2), np.ones(2), trans="X")
    with pytest.raises(ValueError, match=r"scipy\.linalg\.cho_solve: got f64\[2,2\] and f64\[3\]"):
        linalg.cho_solve((np.eye(2), True), np.ones(3))
    with pytest.raises(ValueError, match="(?s)toeplitz: got .*a vector"):
        linalg.toeplitz(np.eye(2))


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda: linalg.hadamard(3), "scipy.linalg.hadamard: got n=3"),
        (lambda: linalg.pascal(3, "left"), "scipy.linalg.pascal: got kind='left'"),
        (lambda: linalg.invpascal(3, "left"), "scipy.linalg.invpascal: got kind='left'"),
        (lambda: linalg.dft(3, "x"), "scipy.linalg.dft: got scale='x'"),
        (lambda: linalg.cholesky(np.ones(3)), "scipy.linalg.cholesky: got f64"),
    ],
)
def test_errors_name_the_function(call, match):
    with pytest.raises(ValueError, match=match):
        call()
