"""fnp.linalg against numpy.linalg: values in all dtypes and shapes, eager and compiled; derivatives; batches."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.test_util import check_grads

DTYPES = ["float32", "float64", "complex64", "complex128"]
SQUARE = [(3, 3), (1, 1), (0, 0), (2, 3, 3), (0, 2, 2), (2, 2, 4, 4)]
ANY = [*SQUARE, (4, 2), (2, 4), (3, 4, 2), (2, 2, 3), (0, 3), (3, 0)]


def draw(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    x[..., np.arange(min(shape[-2:])), np.arange(min(shape[-2:]))] += 2 + np.arange(min(shape[-2:]))
    return np.asarray(x, dtype)


def positive(shape, dtype="float64", seed=0):
    x = draw(shape, dtype, seed)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])).astype(dtype)


def hermitian(shape, dtype="float64", seed=0):
    x = draw(shape, dtype, seed)
    return x + np.conj(np.swapaxes(x, -1, -2))


def leaves(x):
    return list(x) if isinstance(x, tuple) else [x]


def close(got, want, dtype="float64", scale=1.0):
    tolerance = scale * (1e-10 if dtype in ("float64", "complex128") else 2e-4)
    for g, w in zip(leaves(got), leaves(want), strict=True):
        w = np.asarray(w)
        assert g.shape == w.shape and g.dtype == w.dtype, (g.shape, w.shape, g.dtype, w.dtype)
        np.testing.assert_allclose(np.asarray(g), w, tolerance, tolerance)


FUNCTIONS = {  # name, argument, what is compared
    "cholesky": (positive, SQUARE, lambda m, x: m.linalg.cholesky(x)),
    "cholesky_upper": (positive, SQUARE, lambda m, x: m.linalg.cholesky(x, upper=True)),
    "inv": (draw, SQUARE, lambda m, x: m.linalg.inv(x)),
    "det": (draw, SQUARE, lambda m, x: m.linalg.det(x)),
    "slogdet": (draw, SQUARE, lambda m, x: tuple(m.linalg.slogdet(x))),
    "solve": (draw, SQUARE, lambda m, x: m.linalg.solve(x, x @ x + 1)),
    "solve_vector": (draw, [(3, 3), (2, 3, 3)], lambda m, x: m.linalg.solve(x, x[..., 0, :].ravel()[:3])),
    "qr": (draw, ANY, lambda m, x: tuple(m.linalg.qr(x))),
    "qr_complete": (draw, ANY, lambda m, x: tuple(m.linalg.qr(x, "complete"))),
    "qr_r": (draw, ANY, lambda m, x: m.linalg.qr(x, "r")),
    "svd": (draw, ANY, lambda m, x: tuple(m.linalg.svd(x))),
    "svd_reduced": (draw, ANY, lambda m, x: tuple(m.linalg.svd(x, full_matrices=False))),
    "svd_hermitian": (hermitian, SQUARE, lambda m, x: m.linalg.svd(x, hermitian=True)[1]),
    "svdvals": (draw, ANY, lambda m, x: m.linalg.svdvals(x)),
    "eigh": (hermitian, SQUARE, lambda m, x: tuple(m.linalg.eigh(x))),
    "eigvalsh": (hermitian, SQUARE, lambda m, x: m.linalg.eigvalsh(x)),
    "pinv": (draw, [s for s in ANY if 0 not in s], lambda m, x: m.linalg.pinv(x)),
    "pinv_hermitian": (hermitian, [(3, 3), (2, 2, 2)], lambda m, x: m.linalg.pinv(x, hermitian=True)),
    "matrix_rank": (draw, [s for s in ANY if 0 not in s], lambda m, x: m.linalg.matrix_rank(x)),
    "matrix_rank_tol": (draw, [(3, 3), (2, 4, 2)], lambda m, x: m.linalg.matrix_rank(x, tol=2.0)),
    "cond": (draw, [s for s in ANY if 0 not in s], lambda m, x: m.linalg.cond(x)),
    "cond_1": (draw, [(3, 3), (2, 2, 2)], lambda m, x: m.linalg.cond(x, 1)),
    "cond_fro": (draw, [(3, 3)], lambda m, x: m.linalg.cond(x, "fro")),
    "cond_-2": (draw, [(3, 3), (2, 4)], lambda m, x: m.linalg.cond(x, -2)),
    "matrix_power": (draw, [(3, 3), (2, 2, 2)], lambda m, x: m.linalg.matrix_power(x, -2)),
    "norm_2": (draw, [(3, 2), (2, 2)], lambda m, x: m.linalg.norm(x, 2)),
    "norm_-2": (draw, [(3, 2), (2, 2)], lambda m, x: m.linalg.norm(x, -2, keepdims=True)),
    "norm_nuc": (draw, [(3, 2), (2, 3, 2)], lambda m, x: m.linalg.norm(x, "nuc", axis=(-1, -2))),
    "lstsq": (draw, [(4, 2), (2, 4), (3, 3)], lambda m, x: m.linalg.lstsq(x, x[:, :1] + 1)[0]),
    "tensorinv": (draw, [(4, 2, 2)], lambda m, x: m.linalg.tensorinv(x, 1)),
    "tensorsolve": (draw, [(2, 2, 4)], lambda m, x: m.linalg.tensorsolve(x, x[:, :, 0])),
    "tensorsolve_axes": (draw, [(4, 2, 2)], lambda m, x: m.linalg.tensorsolve(x, x[0], axes=(0,))),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, dtype):
    make, shapes, f = FUNCTIONS[name]
    compiled = fg.jit(lambda x: f(fnp, x))
    for shape in shapes:
        x = make(shape, dtype)
        want = f(np, x)
        close(f(fnp, fnp.array(x)), want, dtype, 10)
        if shape in shapes[:2]:
            close(compiled(x), want, dtype, 10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eig(dtype):
    """NumPy's eigenvalues, always complex."""
    for shape in SQUARE:
        x = draw(shape, dtype)
        w, v = fnp.linalg.eig(x)
        want = np.linalg.eig(x)
        close((w, v), tuple(np.asarray(a, w.dtype) for a in want), dtype, 10)
        assert w.dtype == (np.complex64 if dtype in ("float32", "complex64") else np.complex128)
        close(fnp.linalg.eigvals(x), np.asarray(np.linalg.eigvals(x), w.dtype), dtype, 10)


def in_parts(f, x):
    """f as a function of real numbers to real numbers, where derivatives of complex functions are plain matrices."""

    def parts(*xs):
        found = leaves(f(xs[0] + 1j * xs[1] if len(xs) == 2 else xs[0]))
        return [p for y in found for p in ((fnp.real(y), fnp.imag(y)) if y.dtype.kind == "c" else (y,))]

    return parts, ((x.real, x.imag) if x.dtype.kind == "c" else (x,))


def spectral(x, f):
    w, v = fnp.linalg.eigh(x)
    return fnp.abs((v * f(w)[..., None, :]) @ fnp.conj(v).mT + 2)


def polar(x):
    u, s, vh = fnp.linalg.svd(x, full_matrices=False)
    return (u * fnp.sqrt(s)[..., None, :]) @ vh


GRADIENTS = {
    "cholesky": (positive, [(3, 3), (2, 2, 2)], lambda x: fnp.linalg.cholesky(x)),
    "inv": (draw, [(3, 3), (2, 2, 2)], lambda x: fnp.linalg.inv(x)),
    "det": (draw, [(3, 3), (1, 1), (2, 2, 2)], lambda x: fnp.linalg.det(x)),
    "slogdet": (draw, [(3, 3), (2, 2, 2)], lambda x: tuple(fnp.linalg.slogdet(x))),
    "solve": (draw, [(3, 3), (2, 2, 2)], lambda x: fnp.linalg.solve(x, x[..., :1] * x[..., :1] + 1)),
    "qr": (draw, [(3, 3), (4, 2), (2, 3)], lambda x: tuple(fnp.linalg.qr(x))),
    "svdvals": (draw, [(3, 2), (2, 3)], lambda x: fnp.linalg.svdvals(x)),
    "svd": (draw, [(3, 2), (2, 3), (2, 2)], polar),
    "svd_full": (draw, [(3, 1)], lambda x: (lambda u: u[:, 1:] @ fnp.conj(u[:, 1:]).T)(fnp.linalg.svd(x)[0])),
    "eigvalsh": (hermitian, [(3, 3), (2, 2, 2)], lambda x: fnp.linalg.eigvalsh(x)),
    "eigh": (hermitian, [(3, 3), (2, 2, 2)], lambda x: spectral(x, fnp.sin)),
    "eig": (draw, [(3, 3), (2, 2)], lambda x: tuple(fnp.linalg.eig(x))),
    "pinv": (draw, [(3, 2), (2, 3)], lambda x: fnp.linalg.pinv(x)),
    "lstsq": (draw, [(4, 2), (2, 3)], lambda x: fnp.linalg.lstsq(x, x[:, 0] + 1)[0]),
    "norm_nuc": (draw, [(3, 2)], lambda x: fnp.linalg.norm(x, "nuc")),
    "norm_2": (draw, [(3, 2)], lambda x: fnp.linalg.norm(x, 2)),
    "cond": (draw, [(2, 2)], lambda x: fnp.linalg.cond(x)),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, dtype):
    make, shapes, f = GRADIENTS[name]
    for shape in shapes:
        g, xs = in_parts(f, make(shape, dtype))
        check_grads(g, xs, 2, atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize("name", ["cholesky", "solve", "eigh", "svd"])
def test_gradients_in_float32(name):
    make, shapes, f = GRADIENTS[name]
    out, pull = fg.vjp(f, make(shapes[0], "float32"))
    assert pull(out)[0].dtype == np.float32
    wide, pull64 = fg.vjp(f, make(shapes[0], "float64"))
    np.testing.assert_allclose(pull(out)[0], pull64(wide)[0], 2e-3, 2e-3)


def test_batches_are_loops():
    x, b = draw((4, 3, 3)), draw((4, 3, 2))
    for f in (fnp.linalg.inv, fnp.linalg.det, lambda a: fnp.linalg.qr(a)[1], lambda a: fnp.linalg.svd(a)[0]):
        close(fg.vmap(f)(x), np.stack([np.asarray(f(a)) for a in x]))
        grads = fg.vmap(fg.grad(lambda a, f=f: fnp.sum(f(a) ** 2)))(x)
        close(grads, np.stack([np.asarray(fg.grad(lambda a, f=f: fnp.sum(f(a) ** 2))(a)) for a in x]), scale=100)
    close(fg.vmap(lambda y: fnp.linalg.solve(x[0], y))(b), np.stack([np.linalg.solve(x[0], y) for y in b]))
    close(fg.vmap(fnp.linalg.solve, (1, 2))(np.moveaxis(x, 0, 1), np.moveaxis(b, 0, 2)), np.linalg.solve(x, b))
    close(fg.vmap(fnp.linalg.solve, (0, None))(x, b[0]), np.linalg.solve(x, b[0]))
    close(fnp.linalg.solve(x[0], b), np.linalg.solve(x[0], b))
    close(fnp.linalg.solve(x[:, None], b), np.linalg.solve(x[:, None], b))


def test_repeated_values_have_finite_gradients():
    """What does not depend on the choice of vectors: sums over values, projectors, the polar factor."""

    def projector(x):
        v = fnp.linalg.eigh(x)[1][:, 1:]
        return v @ fnp.conj(v).T

    def polar_factor(x):
        u, _, vh = fnp.linalg.svd(x)
        return u @ vh

    turn = np.linalg.qr(draw((3, 3)))[0]
    for values in ([1.0, 2, 2], [-1.0, 2, 2]):
        for a in (np.diag(values), turn @ np.diag(values) @ turn.T):
            close(fg.grad(lambda x: fnp.sum(fnp.linalg.eigvalsh(x) ** 2))(a), 2 * a)
            check_grads(projector, (a,), 1)
            check_grads(polar_factor, (a,), 1)
            check_grads(lambda x: fnp.linalg.norm(x, "nuc"), (a,), 1)
            check_grads(projector, (a + 0j,), 1, modes=("fwd",))
            check_grads(polar_factor, (a * 1j,), 1, modes=("fwd",))
    for f in (polar_factor, projector, lambda x: fnp.linalg.norm(x, "nuc"), lambda x: fnp.linalg.cholesky(x + np.eye(3))):
        for a in (np.zeros((3, 3)), np.eye(3), np.ones((3, 3))):
            assert np.isfinite(np.asarray(fg.grad(lambda x, f=f: fnp.sum(f(x)))(a))).all()


def test_determinant_of_a_singular_matrix_has_a_gradient():
    a = np.array([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]])
    cofactors = np.array([[4.0, 4, -4], [-2, -2, 2], [0, 0, 0]])
    np.testing.assert_allclose(fg.grad(fnp.linalg.det)(a), cofactors, atol=1e-10)
    assert fg.grad(fnp.linalg.det)(np.zeros((3, 3))).tolist() == np.zeros((3, 3)).tolist()


def test_undefined_outcomes_are_nan():
    bad = np.array([[1.0, 2.0], [2.0, 1.0]])
    both = np.stack([bad, np.eye(2)])
    out = np.asarray(fnp.linalg.cholesky(both))
    assert np.isnan(out[0][np.tril_indices(2)]).all() and (out[1] == np.eye(2)).all()
    nan = np.full((2, 2), np.nan)
    for f in (fnp.linalg.inv, fnp.linalg.cholesky, fnp.linalg.eigvalsh, fnp.linalg.svdvals, fnp.linalg.eigvals, fnp.linalg.det):
        out = np.asarray(f(nan))
        assert np.isnan(np.tril(out) if f is fnp.linalg.cholesky else out)[np.tril_indices(2) if out.ndim == 2 else ...].all()
    assert np.isnan(np.asarray(fnp.linalg.solve(np.ones((2, 2)), np.ones(2)))).all()
    assert np.asarray(fnp.linalg.cond(np.ones((2, 2)), 1)) == np.inf


def test_integers_become_floats():
    out = fnp.linalg.inv(np.array([[2, 0], [0, 4]]))
    assert out.dtype == np.float32 and out.tolist() == [[0.5, 0], [0, 0.25]]


def test_names_of_results():
    x = draw((3, 3))
    q, r = fnp.linalg.qr(x)
    assert fnp.linalg.qr(x).Q.tolist() == q.tolist() and fnp.linalg.slogdet(x).sign.shape == ()
    assert fnp.linalg.svd(x).S.shape == (3,) and fnp.linalg.eigh(x).eigenvectors.shape == (3, 3)
    assert type(fg.jit(fnp.linalg.svd)(x)).__name__ == "SVDResult"


def test_triangles_that_are_read():
    x = draw((3, 3))
    close(tuple(fnp.linalg.eigh(x, symmetrize_input=False)), tuple(np.linalg.eigh(x)))
    close(fnp.linalg.eigvalsh(x, "U", symmetrize_input=False), np.linalg.eigvalsh(x, "U"))
    p = positive((3, 3))
    close(fnp.linalg.cholesky(np.tril(p), symmetrize_input=False), np.linalg.cholesky(p))
    close(fnp.linalg.cholesky(np.triu(p), upper=True, symmetrize_input=False), np.linalg.cholesky(p, upper=True))


def test_least_squares_as_numpy():
    for a in (draw((4, 2)), np.ones((3, 2)), draw((2, 3))):
        b = np.arange(a.shape[0] * 2.0).reshape(-1, 2)
        x, residuals, rank, s = fnp.linalg.lstsq(a, b, numpy_resid=True)
        want = np.linalg.lstsq(a, b)
        close((x, residuals, s), (want[0], want[1], want[3]))
        assert rank.dtype == np.int64 and int(rank) == want[2]
    assert fnp.linalg.lstsq(draw((4, 2)), np.ones(4))[1].shape == ()


@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "eigh", "eig", "slogdet"])
def test_square_matrices_are_needed(name):
    with pytest.raises(ValueError, match=rf"(?s)fnp.linalg.{name}: got f64\[2,3\].*square matrices"):
        getattr(fnp.linalg, name)(np.ones((2, 3)))


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_values_of_what_is_not_finite(bad, dtype):
    """They are NaN, each matrix by itself: NumPy's svd never returns from these."""
    x = np.stack([draw((3, 3), dtype)] * 3)
    x[0, 0, 0] = x[2, 1, 2] = bad
    for f in (fnp.linalg.svdvals, fnp.linalg.pinv, lambda x: fnp.linalg.norm(x, 2, axis=(-2, -1))):
        for g in (f, fg.jit(f)):
            first, second, third = np.asarray(g(x))
            assert np.isnan(first).all() and np.isnan(third).all()
            np.testing.assert_allclose(second, f(x[1]), rtol=1e-5)
    assert not np.isfinite(fnp.linalg.cond(x)[::2]).any()
    u, s, vh = fnp.linalg.svd(x)
    assert np.isnan(u[0]).all() and np.isnan(vh[2]).all() and np.isfinite(s[1]).all()
