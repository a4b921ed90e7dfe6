"""cg, bicgstab and gmres against dense solutions and SciPy; derivatives; pytrees; what they say where they fail."""

import numpy as np
import pytest
import scipy.sparse.linalg

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.scipy.sparse import linalg
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(6)
SOLVERS = {
    "cg": linalg.cg,
    "bicgstab": linalg.bicgstab,
    "gmres": linalg.gmres,
    "gmres incremental": lambda *a, **k: linalg.gmres(*a, solve_method="incremental", **k),
    "gmres restarted": lambda *a, **k: linalg.gmres(*a, restart=3, **k),
}


def matrix(n, kind, complex_=False):
    a = RNG.normal(size=(n, n)) + (1j * RNG.normal(size=(n, n)) if complex_ else 0)
    return a @ a.conj().T / n + np.eye(n) if kind == "cg" else a / np.sqrt(n) / 3 + np.eye(n) * (1.5 + (0.5j if complex_ else 0))


@pytest.mark.parametrize("name", list(SOLVERS))
@pytest.mark.parametrize("n, complex_", [(1, False), (6, False), (6, True), (12, True)])
def test_against_dense_solutions(name, n, complex_):
    a, b = matrix(n, name, complex_), RNG.normal(size=n) + (1j * RNG.normal(size=n) if complex_ else 0)
    solve = SOLVERS[name]
    want = np.linalg.solve(a, b)
    by_function = lambda a, b: solve(lambda v: a @ v, b, tol=1e-11)
    for f in (lambda a, b: solve(a, b, tol=1e-11), fg.jit(by_function) if n == 6 else by_function):
        x, info = f(a, b)
        assert int(info) == 0 and x.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(x), want, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", list(SOLVERS))
def test_tolerances_starts_and_preconditioners(name):
    solve, n = SOLVERS[name], 12
    a, b = matrix(n, name) + np.diag(np.arange(n) ** 2.0), RNG.normal(size=n)
    size = lambda x: np.linalg.norm(b - a @ np.asarray(x))
    for tol, atol in [(1e-3, 0.0), (1e-8, 0.0), (0.0, 0.05), (1e-12, 1e-3)]:
        x, info = solve(a, b, tol=tol, atol=atol)
        assert int(info) == 0 and size(x) <= max(tol * np.linalg.norm(b), atol) * (1 + 1e-6) + 1e-13
    exact = np.linalg.solve(a, b)
    near, info = solve(a, b, exact + 1e-9, tol=1e-5)
    assert int(info) == 0
    np.testing.assert_array_equal(np.asarray(near), exact + 1e-9)  # is good enough as it is
    far, info = solve(a, b, x0=np.full(n, 1e3), tol=1e-9)
    assert int(info) == 0 and size(far) <= 1e-9 * np.linalg.norm(b) * (1 + 1e-3)
    for m in (np.diag(1 / np.diag(a)), lambda x: x / np.diag(a)):
        x, info = solve(a, b, M=m, tol=1e-10)
        assert int(info) == 0
        np.testing.assert_allclose(np.asarray(x), exact, rtol=1e-7, atol=1e-9)
    one, info = solve(a, b, M=np.linalg.inv(a), maxiter=2, tol=1e-6)
    assert int(info) == 0
    zero, info = solve(a, np.zeros(n))
    assert int(info) == 0 and not np.asarray(zero).any()


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_iterates_are_those_of_scipy(name):
    """After few iterations, where neither has converged. (GMRES: after one round.)"""
    n = 30
    a, b = matrix(n, name) + np.diag(np.linspace(0, 9, n)), RNG.normal(size=n)
    options = {"restart": 4} if name == "gmres" else {}
    theirs, their_info = getattr(scipy.sparse.linalg, name)(a, b, rtol=1e-14, maxiter=3 if name != "gmres" else 1, **options)
    ours, info = getattr(linalg, name)(a, b, tol=1e-14, maxiter=3 if name != "gmres" else 1, **options)
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-8, atol=1e-10)
    assert their_info > 0 and int(info) == (1 if name == "gmres" else 3)


@pytest.mark.parametrize("name", list(SOLVERS))
def test_derivatives(name):
    n = 5
    a, b, x0 = matrix(n, name), RNG.normal(size=n), RNG.normal(size=n)
    made = (lambda a: (a + a.T) / 2) if name == "cg" else (lambda a: a)
    m = np.diag(1 / np.diag(a))
    f = lambda a, b: SOLVERS[name](made(a), b, x0, tol=1e-13, M=m)[0]
    check_grads(f, (a, b), 2 if name in ("cg", "gmres") else 1, rtol=1e-4, atol=1e-4)
    dense = lambda a, b: fnp.linalg.solve(made(a), b)
    for i in (0, 1):
        got = fg.jit(fg.jacrev(f, i))(a, b)
        np.testing.assert_allclose(np.asarray(got), np.asarray(fg.jacrev(dense, i)(a, b)), atol=1e-8)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_complex_derivatives(name):
    a, b = matrix(4, name, True), RNG.normal(size=4) + 1j * RNG.normal(size=4)
    made = (lambda a: (a + fnp.conj(a.T)) / 2) if name == "cg" else (lambda a: a)
    loss = lambda solve: lambda a, b: fnp.abs(solve(made(a), b)).sum()
    ours = fg.grad(loss(lambda a, b: SOLVERS[name](a, b, tol=1e-13)[0]), (0, 1))(a, b)
    for got, want in zip(ours, fg.grad(loss(fnp.linalg.solve), (0, 1))(a, b)):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), atol=1e-8)


@pytest.mark.parametrize("name", list(SOLVERS))
def test_pytrees_and_batches(name):
    c = RNG.uniform(0.5, 1, (2, 3))
    tree = {"u": RNG.normal(size=(2, 3)), "v": (np.array(1.5),)}

    def apply(x):  # symmetric and positive definite
        return {"u": 2 * x["u"] + c * (x["u"] * c).sum() + x["v"][0] * 0.1, "v": (3 * x["v"][0] + 0.1 * x["u"].sum(),)}

    x, info = fg.jit(lambda b: SOLVERS[name](apply, b, tol=1e-11))(tree)
    back = apply(x)
    np.testing.assert_allclose(np.asarray(back["u"]), tree["u"], atol=1e-8)
    np.testing.assert_allclose(np.asarray(back["v"][0]), 1.5, atol=1e-8)
    a, bs = np.stack([matrix(4, name) for _ in range(3)]), RNG.normal(size=(3, 4))
    xs, infos = fg.jit(fg.vmap(lambda a, b: SOLVERS[name](a, b, tol=1e-11)))(a, bs)
    np.testing.assert_allclose(np.asarray(xs), np.linalg.solve(a, bs[..., None])[..., 0], atol=1e-8)
    assert infos.tolist() == [0, 0, 0]
    columns, _ = SOLVERS[name](a[0], bs.T, tol=1e-11)
    np.testing.assert_allclose(np.asarray(columns), np.linalg.solve(a[0], bs.T), atol=1e-8)


def test_dtypes():
    a, b = np.diag([2.0, 4.0]), np.array([2, 4])
    assert linalg.cg(a.astype("float32"), b)[0].dtype == np.float32
    assert linalg.cg(a, b.astype("float32"))[0].dtype == np.float64
    x, _ = linalg.gmres(a * (1 + 1j), b.astype(float), tol=1e-12)
    np.testing.assert_allclose(np.asarray(x), 1 / (1 + 1j) * np.ones(2))


def test_what_does_not_converge_says_so():
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    x, info = linalg.bicgstab(turn, np.array([1.0, 0.0]))
    assert int(info) != 0
    stuck, info = linalg.gmres(np.roll(np.eye(5), 1, 0), np.eye(5)[0], restart=2, maxiter=50)
    assert 0 < int(info) < 5  # a round that gains nothing is the last
    full, info = linalg.gmres(np.roll(np.eye(5), 1, 0), np.eye(5)[0], restart=9)
    assert int(info) == 0
    singular, info = linalg.gmres(np.diag([1.0, 2.0, 0.0]), np.array([1.0, 1.0, 0.0]), tol=1e-12)  # a happy breakdown
    assert int(info) == 0 and np.allclose(np.asarray(singular), [1, 0.5, 0])
    few, info = linalg.cg(np.diag(np.arange(1.0, 9)), np.ones(8), maxiter=2, tol=1e-12)
    assert int(info) == 2


A2 = np.eye(2)
WRONG = [
    (lambda: linalg.cg(np.ones((2, 3)), np.ones(2)), "a square matrix"),
    (lambda: linalg.cg(A2, np.ones(3)), "as many rows"),
    (lambda: linalg.cg(A2, (np.ones(2), np.ones(2))), "as many rows"),
    (lambda: linalg.gmres(lambda x: x[:1], np.ones(2)), "those of b"),
    (lambda: linalg.bicgstab(A2, np.ones(2), np.ones(3)), "x0"),
    (lambda: linalg.gmres(A2, np.ones(2), solve_method="qr"), "'incremental'"),
    (lambda: linalg.gmres(A2, np.ones(2), restart=0), "a positive restart"),
    (lambda: linalg.cg(A2, ()), "one array or more"),
    (lambda: linalg.cg(A2, np.ones(2), M=np.ones(2)), "for M"),
]


@pytest.mark.parametrize("call,text", WRONG)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()
