"""The kernels for small matrices: in plain Python and compiled, against NumPy, wherever their operands lie."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.codegen import emulate
from funcgrad.codegen.matrices import matrix_kernel
from funcgrad.ops.linalg import triangular_solve

RNG = np.random.default_rng(3)


def steps_of(f, *args):
    return {step.kind for step in fg.explain(f)(*args).steps}


def test_a_kernel_runs_in_plain_python():
    n, m = 4, 2
    a, b, y = RNG.normal(size=(3, n, n)), RNG.normal(size=(3, n, m)), np.empty((3, n, m))
    solve = emulate.python_function("k_solve_f64", matrix_kernel("solve f64"))
    dims = [n, m, n * n, n, 1, n * m, m, 1]
    solve([x.reshape(-1) for x in (a, b, y)], dims, 0, 3, np.zeros(64 + 8 * n * n, np.uint8))
    np.testing.assert_allclose(y, np.linalg.solve(a, b), rtol=1e-12)
    x = a @ a.swapaxes(1, 2) + np.eye(n)
    out = np.empty_like(x)
    cholesky = emulate.python_function("k_cholesky_f64", matrix_kernel("cholesky f64"))
    cholesky([x.reshape(-1), out.reshape(-1)], [n, n * n, 1, n], 0, 3, np.zeros(64, np.uint8))  # by columns: it is symmetric
    np.testing.assert_allclose(out, np.linalg.cholesky(x), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 7, 32, 33])
def test_against_numpy(n, dtype):
    """32 is the last with a kernel of its own."""
    tolerance = dict(rtol=1e-9, atol=1e-9) if dtype == np.float64 else dict(rtol=2e-2, atol=2e-3)
    a, b = RNG.normal(size=(2, 3, n, n)) + 2 * np.eye(n), RNG.normal(size=(2, 3, n, 5))
    s = a @ a.swapaxes(-1, -2) + np.eye(n)
    given = [x.astype(dtype) for x in (a, b, s)]
    for f, args, want in (
        (fnp.linalg.solve, given[:2], np.linalg.solve(a, b)),
        (fnp.linalg.cholesky, given[2:], np.linalg.cholesky(s)),
        (lambda x: tuple(fnp.linalg.slogdet(x)), given[:1], tuple(np.linalg.slogdet(a))),
        (lambda x: fnp.linalg.det(x / 4), given[:1], np.linalg.det(a / 4)),
        # operands that lie otherwise: transposed, every other one, one for all
        (lambda x, y: fnp.linalg.solve(x.mT[:, ::2], y[:, ::2]), given[:2], np.linalg.solve(a.swapaxes(-1, -2)[:, ::2], b[:, ::2])),
        (lambda x, y: fnp.linalg.solve(x[0, 0], y[1]), given[:2], np.linalg.solve(a[0, 0], b[1])),
        (lambda x, y: fnp.linalg.solve(fnp.moveaxis(x, 0, 1), fnp.moveaxis(y, 0, 1)), given[:2],
         np.linalg.solve(np.moveaxis(a, 0, 1), np.moveaxis(b, 0, 1))),
    ):  # fmt: skip
        got = fg.jit(f)(*args)
        for x, y in zip(got if isinstance(got, tuple) else [got], want if isinstance(want, tuple) else [want], strict=True):
            np.testing.assert_allclose(x, y, **tolerance)
    assert ("host" in steps_of(fnp.linalg.solve, *given[:2])) == (n > 32)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangles(left, lower, transposed, unit):
    a, b = RNG.normal(size=(2, 4, 4)) + 3 * np.eye(4), RNG.normal(size=(2, 4, 3) if left else (2, 3, 4))
    f = lambda a, b: triangular_solve(a, b, left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=unit)
    triangle = np.tril(a) if lower else np.triu(a)
    if unit:
        triangle = triangle - triangle * np.eye(4) + np.eye(4)
    op = triangle.swapaxes(-1, -2) if transposed else triangle
    want = np.linalg.solve(op, b) if left else np.linalg.solve(op.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2)
    np.testing.assert_allclose(fg.jit(f)(a, b), want, rtol=1e-10, atol=1e-12)
    assert "host" not in steps_of(f, a, b)


def test_lu_and_what_has_no_answer():
    a = RNG.normal(size=(3, 5, 5))
    p, low, up = fg.jit(fg.scipy.linalg.lu)(a[0])
    np.testing.assert_allclose(p @ low @ up, a[0], rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(np.isnan(fg.jit(fnp.linalg.solve)(np.zeros((2, 2)), np.ones((2, 1)))), True)
    indefinite = np.stack([-np.eye(3), np.eye(3)])
    got = np.asarray(fg.jit(fnp.linalg.cholesky)(indefinite))
    np.testing.assert_array_equal(np.isnan(got[0]), np.tril(np.ones((3, 3), bool)))
    np.testing.assert_array_equal(got[1], np.eye(3))
    sign, size = fg.jit(fnp.linalg.slogdet)(np.ones((2, 2)))
    assert float(sign) == 0 and float(size) == -np.inf
    assert float(fg.jit(fnp.linalg.det)(np.zeros((0, 0)))) == 1


def test_a_filter_in_a_loop_never_goes_back_to_python():
    """Kalman's filter: gradients through solve, slogdet and products in a scan, against finite differences."""
    a, c = np.eye(3) + 0.1 * RNG.normal(size=(3, 3)), RNG.normal(size=(2, 3))
    seen = RNG.normal(size=(20, 2))

    def likelihood(q):
        def step(state, y):
            m, p = state
            m, p = a @ m * 0.9, 0.81 * a @ p @ a.T + fnp.exp(q) * np.eye(3)
            s = c @ p @ c.T + np.eye(2)
            gain, r = fnp.linalg.solve(s, c @ p).T, y - c @ m
            like = -0.5 * (r @ fnp.linalg.solve(s, r) + fnp.linalg.slogdet(s)[1])
            return (m + gain @ r, p - gain @ c @ p), like

        return lax.scan(step, (np.zeros(3), np.eye(3)), seen)[1].sum()

    q, e = np.float64(0.1), 1e-5
    value, slope = fg.jit(fg.value_and_grad(likelihood))(q)
    assert float(value) == pytest.approx(float(likelihood(q)))
    assert float(slope) == pytest.approx(float(likelihood(q + e) - likelihood(q - e)) / (2 * e), rel=1e-6)
    assert "host" not in steps_of(fg.grad(likelihood), q)


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("i, j", [(0, 0), (1, 1), (2, 0), (0, 2), (2, 2), (2, 1)])
def test_nan_spreads_compiled_as_eager(n, i, j):
    """A factor by columns: a NaN reaches its row and the rows after it. Solutions: all."""
    x = np.eye(n) * 4 + 0.5
    x[i, j] = np.nan
    b = np.arange(2.0 * n).reshape(n, 2)
    for solve in (fnp.linalg.inv, lambda x: fnp.linalg.solve(x, b), lambda x: fg.scipy.linalg.solve(x, b)):
        for f in (solve, fg.jit(solve)):
            assert np.isnan(f(x)).all()
    for f in (fnp.linalg.det, fg.jit(fnp.linalg.det)):
        assert np.isnan(f(x))
    both = np.stack([x, np.eye(n)])
    for f in (fnp.linalg.cholesky, fg.jit(fnp.linalg.cholesky)):
        factor, unit = np.asarray(f(both))
        np.testing.assert_array_equal(unit, np.eye(n))
        first = max(i, j)  # made symmetric before
        assert np.isfinite(factor[:first]).all() and np.isnan(factor[first:, first]).all()
        np.testing.assert_allclose(factor[:first, :first], np.linalg.cholesky(4 * np.eye(first) + 0.5), rtol=1e-12)
    for f in (lambda x: fnp.linalg.solve(x, b), fg.jit(lambda x: fnp.linalg.solve(x, b))):
        first, second = np.asarray(f(both))
        assert np.isnan(first).all()
        np.testing.assert_array_equal(second, b)
