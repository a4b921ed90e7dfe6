"""The elementwise functions of scipy.special: values against SciPy, derivatives against finite differences, jit and vmap."""

import numpy as np
import pytest
import scipy.special

import funcgrad as fg
from funcgrad.core.errors import DtypeError
from funcgrad.scipy import special
from funcgrad.test_util import check_grads

from .table import TABLE

# where SciPy's own values are less exact than this: see the tests against mpmath
TOLERANCE = {"beta": 2e-10, "betainc": 1e-10, "owens_t": 1e-8, "poch": 1e-12, "zeta": 1e-12}


def same(got, want, rtol, what=""):
    got = np.asarray(got)
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=rtol, atol=1e-300, err_msg=what)


def numbers(name):
    with np.errstate(all="ignore"):
        return getattr(scipy.special, name)(*TABLE[name][0])


@pytest.mark.parametrize("name", TABLE)
def test_values(name):
    same(getattr(special, name)(*TABLE[name][0]), numbers(name), TOLERANCE.get(name, 4e-14), name)


@pytest.fixture(scope="module")
def compiled():
    """The values of all functions, by programs of six, whose kernels are compiled side by side."""
    found, names = {}, list(TABLE)
    for k in range(0, len(names), 6):
        some = names[k : k + 6]
        run = fg.jit(lambda args, some=some: [getattr(special, name)(*xs) for name, xs in zip(some, args, strict=True)])
        found |= dict(zip(some, run([TABLE[name][0] for name in some]), strict=True))
    return found


@pytest.mark.parametrize("name", TABLE)
def test_compiled_is_eager(name, compiled):
    eager = np.asarray(getattr(special, name)(*TABLE[name][0]))
    same(compiled[name], eager, TOLERANCE.get(name, 4e-13), name)


@pytest.mark.parametrize("name", TABLE)
def test_float32(name):
    f, args = getattr(special, name), TABLE[name][0]
    with np.errstate(all="ignore"):
        narrow = [a.astype(np.float32) for a in args]
        want = getattr(scipy.special, name)(*[a.astype(np.float64) for a in narrow])
    got = np.asarray(f(*narrow))
    assert got.dtype == np.float32
    with np.errstate(over="ignore", under="ignore"):
        want32 = want.astype(np.float32)
    sane = np.isfinite(want32) & (np.abs(want) > 1e-30)
    np.testing.assert_allclose(got[sane], want32[sane], rtol=3e-5, atol=1e-6)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want32))


@pytest.mark.parametrize("name, point", [(name, p) for name, (_, points) in TABLE.items() for p in points])
def test_derivatives(name, point):
    args = tuple(np.float64(x) for x in point)
    eps = 1e-5 * max(1.0, min(abs(x) if x else 1.0 for x in point))
    check_grads(getattr(special, name), args, 2, atol=2e-5, rtol=2e-5, eps=eps)


@pytest.mark.parametrize("name", TABLE)
def test_vmap_is_a_loop_and_shapes_broadcast(name):
    f, args = getattr(special, name), TABLE[name][0]
    rows = [np.resize(a[np.isfinite(a)], (3, 4)) for a in args]
    got = np.asarray(fg.vmap(f)(*rows))
    same(got, np.stack([np.asarray(f(*[r[i] for r in rows])) for i in range(3)]), 1e-13)
    if len(args) > 1:
        left = [rows[0][:, :, None], *[r[0] for r in rows[1:]]]
        with np.errstate(all="ignore"):
            want = getattr(scipy.special, name)(*left)
        same(f(*left), want, TOLERANCE.get(name, 4e-14))


@pytest.mark.parametrize("name", TABLE)
def test_dtypes_and_shapes(name):
    f, count = getattr(special, name), len(TABLE[name][0])
    assert np.asarray(f(*[np.zeros((0, 2))] * count)).shape == (0, 2)
    assert f(*[np.array(1, np.int32)] * count).dtype == np.float32
    assert f(*[np.array(0.5, np.float16)] * count).dtype == np.float16
    assert f(*[0.5] * count).weak_type
    with pytest.raises(TypeError, match=r"sequences are not converted"):
        f(*[[0.5]] * count)
    if name not in ("loggamma", "xlogy", "xlog1py"):
        with pytest.raises(DtypeError, match=rf"(?s)scipy.special.{name}: got c128.*real numbers"):
            f(*[np.array(0.5 + 1j)] * count)
