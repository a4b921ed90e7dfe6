"""NumPy's functions on arrays and tracers: those that dispatch work or raise naming the nearest one, as the table says."""

import io
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import ConcretizationTypeError, TracerArrayConversionError
from funcgrad.numpy import coverage

X = np.array([[0.5, -1.25, 2.0], [-0.75, 1.5, 0.25]])
V = np.array([-1.5, 0.25, 1.0, 2.0])
NAMES = {
    "x": X, "v": V, "m": X.T @ X + 3 * np.eye(3), "n": np.array([[1, -2, 3], [4, 0, -6]]), "k": np.array([3, 1, 2, 1]),
    "b": X > 0, "z": V * (1 + 2j),
}  # fmt: skip
COVERAGE = coverage.coverage()
FUNCTIONS = coverage.functions()
MISSING = [name for name, (kind, _) in COVERAGE.items() if kind == coverage.NONE]
CALLED = r"np\.((?:linalg\.|fft\.)?\w+)"
CALLS = [line for line in Path(__file__).with_name("numpy_calls.txt").read_text().split("\n") if line and line[0] != "#"]


def flat(out):
    return [y for item in out for y in flat(item)] if isinstance(out, (list, tuple)) else [out]


def same(got, want, kind=fg.Array):
    got, want = flat(got), flat(want)
    assert len(got) == len(want)
    for a, b in zip(got, want):
        if isinstance(b, (np.ndarray, np.generic)):
            assert isinstance(a, kind) or np.ndim(b) == 0 and isinstance(a, (bool, int, str))
            assert np.shape(a) == b.shape
            # Eigenvalues and roots are complex, whatever the numbers are.
            assert np.asarray(a).dtype.kind in (b.dtype.kind, "c")
            np.testing.assert_allclose(np.asarray(a), b, rtol=2e-5, atol=2e-5)
        else:
            assert a == b


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    needs_numbers, call = call[0] == "!", call.lstrip("! ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy: what will be renamed
        want = eval(call, {"np": np}, dict(NAMES))
        kind = np.ndarray if "np.atleast_" in call else fg.Array  # a conversion, as np.asarray is
        same(eval(call, {"np": np}, {name: fnp.asarray(x) for name, x in NAMES.items()}), want, kind)
        traced = fg.jit(lambda names: eval(call, {"np": np}, names))
        if needs_numbers:
            with pytest.raises((ConcretizationTypeError, TracerArrayConversionError)):
                traced(NAMES)
        else:
            same(traced(NAMES), want)


def test_every_function_has_its_call():
    called = set(re.findall(CALLED, "\n".join(CALLS)))
    # Those write into their first argument: tests/numpy/test_operators.py.
    writing = {"place", "put", "put_along_axis", "fill_diagonal"}
    # One reads a file, one has another name in later versions.
    other = {"fromfile", "fix"}
    covered = {name for name, (kind, _) in COVERAGE.items() if kind == coverage.COVERED}
    assert covered - called - writing - other == set()
    assert {"sin", "sum", "concatenate", "linalg.solve", "einsum", "add", "where", "fft.rfft"} <= covered


@pytest.mark.parametrize("name", MISSING)
def test_missing_functions_name_the_nearest(name):
    near = COVERAGE[name][1]
    text = rf"(?s)np\.{name} .*has no .*Allowed: .*{near}.*np\.{name}\(np\.asarray\(x\)\)"
    f = FUNCTIONS[name]

    def call(x):
        if isinstance(f, np.ufunc):
            return f(*[x] * f.nin)
        return x.__array_function__(f, (type(x),), (x,), {})

    for run in (call, fg.jit(call)):
        with pytest.raises(TypeError, match=text):
            run(fnp.asarray(V))
    if near:
        *home, last = near.removeprefix("fnp.").split(".")
        place = fnp if not home else getattr(fnp, home[0])
        assert callable(getattr(place, last))


def test_what_has_nothing_near_is_about_other_data():
    assert {name for name in MISSING if not COVERAGE[name][1]} <= {
        name for name in MISSING if re.match(r"char|strings|lib\.recfunctions|.*busday|datetime|isnat", name)
    }


def test_table():
    lines = coverage.table().split("\n")
    assert len(lines) == 2 + len(FUNCTIONS)
    assert "| `np.linalg.solve` | `fnp.linalg.solve` |" in lines
    assert "| `np.array2string` | shows or stores the numbers |" in lines
    assert "| `np.min_scalar_type` | raises TypeError, which names fnp.result_type |" in lines
    for name, (kind, text) in COVERAGE.items():
        if kind == coverage.COVERED:
            assert callable(eval(text, {"fnp": fnp})), name


def test_files():
    file = io.BytesIO()
    np.savez_compressed(file, x=fnp.asarray(X))
    file.seek(0)
    np.testing.assert_array_equal(np.load(file)["x"], X)
    with pytest.raises(TypeError):
        fg.jit(lambda x: np.save(io.BytesIO(), x))(X)


def test_gradients_through_numpys_names():
    def f(w):
        y = np.concatenate([np.sin(w), np.cos(w)])
        a = np.einsum("i,j->ij", w, w) + 3 * np.eye(3)
        return np.sum(y**2) + np.linalg.solve(a, w).mean() + np.max(np.add.reduce(a, axis=0))

    def g(w):
        y = fnp.concatenate([fnp.sin(w), fnp.cos(w)])
        a = fnp.einsum("i,j->ij", w, w) + 3 * np.eye(3)
        return fnp.sum(y**2) + fnp.linalg.solve(a, w).mean() + fnp.max(fnp.sum(a, axis=0))

    for wrap in (lambda h: h, fg.jit):
        np.testing.assert_array_equal(wrap(fg.grad(f))(V[:3]), wrap(fg.grad(g))(V[:3]))
    np.testing.assert_allclose(fg.vmap(f)(np.stack([V[:3], V[1:]])), [f(V[:3]), f(V[1:])], rtol=1e-12)


def test_foreign_arrays_get_their_turn():
    class Other:
        __array_ufunc__ = None

        def __array_function__(self, func, types, args, kwargs):
            return "other"

    assert np.concatenate([fnp.ones(2), Other()]) == "other"
    with pytest.raises(TypeError):
        np.add(fnp.ones(2), Other())
