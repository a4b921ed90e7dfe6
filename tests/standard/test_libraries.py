"""Other libraries on arrays of funcgrad: through the array API standard, NumPy's dispatch, or what they look for themselves."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import opt_einsum
import pytest
from scipy import optimize

import funcgrad as fg
import funcgrad.numpy as fnp

from . import dispatch

X = np.random.default_rng(0).normal(size=(4, 6))
W = np.random.default_rng(1).normal(size=(6, 3))


def same(got, want, rtol=1e-12):
    assert isinstance(got, fg.Array) and got.shape == np.shape(want)
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol)


# --- scikit-learn, SciPy ----------------------------------------------------------------------------------------------------

_FOUND = {}


def outcome(library, call):
    """What the call gave, in a process with SciPy's switch on. One process makes all calls of a library."""
    if library not in _FOUND:
        env = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONPATH": str(Path(fg.__file__).parents[1])}
        run = subprocess.run(
            [sys.executable, dispatch.__file__, library], env=env, check=True, capture_output=True, text=True, timeout=300
        )
        _FOUND[library] = json.loads(run.stdout)
    return _FOUND[library][call]


CALLS = [(lib, call) for lib, text in (("sklearn", dispatch.SKLEARN), ("scipy", dispatch.SCIPY)) for call in dispatch.calls(text)]


@pytest.mark.parametrize("library, call", [(lib, call) for lib, call in CALLS if call[0] != "!"])
def test_sklearn_and_scipy(library, call):
    pytest.importorskip(library)
    assert outcome(library, call) == "same"


@pytest.mark.parametrize("library, call", [(lib, call) for lib, call in CALLS if call[0] == "!"])
def test_sklearn_and_scipy_that_store_into_arrays(library, call):
    pytest.importorskip(library)
    found = outcome(library, call)
    # A later version may have found another way.
    assert found == "same" or found.startswith("ImmutableArrayError") and ".at[" in found


# --- array-api-compat, array-api-extra ----------------------------------------------------------------------------------------


def test_array_api_compat():
    compat = pytest.importorskip("array_api_compat")
    x = fnp.asarray(X)
    assert compat.array_namespace(x, None, 1.0) is fnp
    assert compat.is_array_api_obj(x) and not compat.is_numpy_array(x) and not compat.is_jax_array(x)
    assert compat.device(x) == x.device == fg.devices()[0]
    assert compat.to_device(x, x.device) is x and compat.size(x) == 24 and not compat.is_lazy_array(x)
    with pytest.raises(TypeError):
        compat.array_namespace(x, X)

    def f(x):
        xp = compat.array_namespace(x)
        return xp.sum(xp.zeros(3, device=compat.device(x)) + xp.sin(x)[0, :3])

    np.testing.assert_allclose(fg.jit(f)(X), np.sin(X[0, :3]).sum())
    np.testing.assert_allclose(fg.grad(f)(X)[0, :3], np.cos(X[0, :3]))


EXTRA = """
xpx.atleast_nd(x, ndim=3)
xpx.cov(x)
xpx.kron(x, w)
xpx.sinc(x)
xpx.nunique(x)
xpx.setdiff1d(xp.asarray([1, 2, 3]), xp.asarray([2]))
xpx.one_hot(xp.asarray([0, 2, 1]), 3)
xpx.argpartition(x, 2)[:, 2]
xpx.partition(x, 2)[:, 2]
xpx.nan_to_num(x)
xpx.union1d(xp.asarray([1, 2]), xp.asarray([2, 3]))
xpx.isin(xp.asarray([1, 2]), xp.asarray([2]))
xpx.lazy_apply(np.sort, x)
xpx.angle(x)
xpx.isclose(xp.asarray([1, 2]), xp.asarray([1, 3]))
! xpx.at(x, 0).set(1.0)
! xpx.isclose(x, x + 1e-9)
! xpx.create_diagonal(x[0])
! xpx.pad(x, 1)
! xpx.apply_where(x > 0, x, xp.sqrt, fill_value=-1.0)
"""


@pytest.mark.parametrize("call", dispatch.calls(EXTRA))
def test_array_api_extra(call):
    xpx = pytest.importorskip("array_api_extra")
    stores, call = call[0] == "!", call.lstrip("! ")
    name = call.removeprefix("xpx.").partition("(")[0]
    if not hasattr(xpx, name):
        pytest.skip(f"array_api_extra of this version has no {name}")
    want = eval(call, {"xpx": xpx, "xp": np, "np": np, "x": X.copy(), "w": W})
    try:
        got = eval(call, {"xpx": xpx, "xp": fnp, "np": np, "x": fnp.asarray(X), "w": fnp.asarray(W)})
    except fg.errors.ImmutableArrayError as error:
        assert stores and ".at[" in str(error)
        return
    if isinstance(want, np.ndarray):
        same(got, want, rtol=1e-6)
    else:
        assert got == want


# --- einops -------------------------------------------------------------------------------------------------------------------

EINOPS = [
    lambda e, x, w: e.rearrange(x, "a (b c) -> b c a", c=2),
    lambda e, x, w: e.rearrange([x, x], "n a b -> a (n b)"),
    lambda e, x, w: e.reduce(x, "a (b c) -> a c", "mean", c=3),
    lambda e, x, w: e.reduce(x, "a b -> ", "sum"),
    lambda e, x, w: e.reduce(x, "a b -> b", "max"),
    lambda e, x, w: e.reduce(x, "a b -> a", "prod"),
    lambda e, x, w: e.repeat(x, "a b -> b (a n) m", n=2, m=3),
    lambda e, x, w: e.einsum(x, w, "a b, b c -> c a"),
    lambda e, x, w: e.pack([x, x[:, 0]], "a *")[0],
    lambda e, x, w: e.unpack(x, [(2,), (2, 2)], "a *")[1],
]


@pytest.mark.parametrize("f", EINOPS)
def test_einops(f):
    einops = pytest.importorskip("einops")
    import funcgrad.einops  # noqa: F401

    want = f(einops, X, W)
    same(f(einops, fnp.asarray(X), fnp.asarray(W)), want)
    same(fg.jit(lambda x, w: f(einops, x, w))(X, W), want)
    slope = fg.grad(lambda x: (f(einops, x, fnp.asarray(W)) ** 2).sum())(X)
    h = 1e-6 * np.ones_like(X)
    plain = lambda x: (f(einops, x, W) ** 2).sum()
    np.testing.assert_allclose((slope * h).sum(), (plain(X + h) - plain(X - h)) / 2, rtol=1e-6)


def test_einops_array_api_and_parse_shape():
    einops = pytest.importorskip("einops")
    array_api = pytest.importorskip("einops.array_api")
    x = fnp.asarray(X)
    for f in EINOPS[:7]:
        same(f(array_api, x, None), f(einops, X, None))
    import funcgrad.einops  # noqa: F401

    assert einops.parse_shape(x, "a _") == {"a": 4} and isinstance(einops.asnumpy(x), np.ndarray)
    with pytest.raises(einops.EinopsError):
        einops.rearrange(x, "a b c -> a")


# --- opt_einsum -----------------------------------------------------------------------------------------------------------------


def test_opt_einsum_finds_its_functions():
    terms = "ij,jk,kl->li"
    arrays = [X, W, W.T]
    want = np.einsum(terms, *arrays)
    same(opt_einsum.contract(terms, *[fnp.asarray(a) for a in arrays]), want)
    same(fg.jit(lambda *a: opt_einsum.contract(terms, *a))(*arrays), want)
    same(fg.jit(lambda *a: opt_einsum.contract(terms, *a, backend="funcgrad"))(*arrays), want)
    expression = opt_einsum.contract_expression(terms, *[a.shape for a in arrays])
    same(expression(*[fnp.asarray(a) for a in arrays]), want)
    slope = fg.grad(lambda w: opt_einsum.contract("ij,jk->", X, w))(W)
    np.testing.assert_allclose(slope, np.einsum("ij,k->jk", X, np.ones(3)))


def test_the_top_of_the_package():
    assert fg.einsum is fnp.einsum and fg.tensordot is fnp.tensordot and fg.transpose is fnp.transpose
    assert not {"einsum", "tensordot", "transpose"} & set(dir(fg)) and "einsum" not in fg.__all__
    with pytest.raises(AttributeError, match=r"no attribute 'sin'; fnp\.sin"):
        fg.sin  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nothing'$"):
        fg.nothing  # noqa: B018
    assert not hasattr(fg, "__wrapped__")


# --- scipy.optimize, with derivatives from here -------------------------------------------------------------------


def bowl(v):
    return fnp.sum((v - 1) ** 2 + (v[0] * v[1] - 0.5) ** 2)


def residuals(v):
    return fnp.stack([v[0] - 1, v[1] * v[0] - 2, v[1]])


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "SLSQP", "CG", "TNC", "Newton-CG", "trust-constr", "trust-ncg"])
@pytest.mark.parametrize("compiled", [False, True])
def test_scipy_minimizers_take_gradients(method, compiled):
    jit = fg.jit if compiled else lambda f: f
    second = {"hess": jit(fg.hessian(bowl))} if method in ("Newton-CG", "trust-constr", "trust-ncg") else {}
    for fun, jac in ((jit(bowl), jit(fg.grad(bowl))), (jit(fg.value_and_grad(bowl)), True)):
        found = optimize.minimize(fun, np.array([0.5, 0.2]), jac=jac, method=method, **second)
        assert found.success and type(found.x) is np.ndarray
        np.testing.assert_allclose(found.x, 0.7937005259840998, rtol=1e-4)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_scipy_least_squares_takes_jacobians(method):
    found = optimize.least_squares(fg.jit(residuals), np.ones(2), jac=fg.jit(fg.jacfwd(residuals)), method=method)
    assert type(found.x) is np.ndarray
    np.testing.assert_allclose(found.x, [1.541155, 0.913225], rtol=1e-3)


def test_conversions_of_numpys_give_numpys_arrays():
    x = fnp.arange(3.0)
    for convert in (np.asarray, np.atleast_1d, np.atleast_2d, np.atleast_3d):
        made = convert(x)
        assert type(made) is np.ndarray
        np.testing.assert_array_equal(made, convert(np.arange(3.0)))
    first, second = np.atleast_1d(x, 2.0)
    assert type(first) is type(second) is np.ndarray
    np.testing.assert_array_equal(fg.jit(np.atleast_2d)(x), [[0, 1, 2]])  # what is traced stays traced
    np.testing.assert_array_equal(fg.grad(lambda x: np.atleast_1d(x * x)[0])(fnp.float32(3.0)), 6)
