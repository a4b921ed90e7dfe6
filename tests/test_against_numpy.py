"""Every function that NumPy or SciPy also has, against it: values, memory layouts, dtypes, compiled, batched, differentiated.

The calls are the cells of `against_numpy/calls.txt`. Each is run as it stands with both libraries; then with operands that are not contiguous; then
in other dtypes; then compiled, with its operands as arguments; then under vmap, against a loop; and its derivatives are compared with finite differences
to second order, in both modes. What a call is excused from stands below with the reason. A public name without a call fails `test_every_name_is_called`.
"""

import importlib
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.fft
import scipy.linalg  # noqa: F401

import funcgrad as fg
from funcgrad.errors import ConcretizationTypeError
from funcgrad.test_util import check_grads

R = np.random.default_rng(1)
SQUARE = R.normal(size=(3, 3)) + np.diag([3.0, -4.0, 5.0])
BATCH = R.normal(size=(2, 3, 3)) + np.diag([3.0, -4.0, 5.0])
OPERANDS = {
    "A": R.normal(size=(3, 4)), "B": R.normal(size=(2, 3, 4)), "V": R.normal(size=6), "X0": np.array(0.375), "E": np.zeros((0, 3)),
    "P": R.uniform(0.2, 4, (3, 4)), "P0": np.array(0.8), "I": R.uniform(-0.9, 0.9, (3, 4)), "I0": np.array(-0.3), "G": R.uniform(1.2, 4, (3, 4)),
    "G0": np.array(2.5), "Z": R.normal(size=(3, 4)) + 1j * R.normal(size=(3, 4)), "C": R.integers(-5, 5, (3, 4)), "W": R.integers(0, 9, 7),
    "I8": np.array([[1, -7, 100], [3, 0, -128]], np.int8), "U8": np.array([[1, 7, 200], [3, 0, 255]], np.uint8), "T": R.random((3, 4)) < 0.5,
    "N": np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, 2.0]]), "NAN": np.array([np.nan, 1.0, np.inf, -np.inf, 0.0]),
    "SQ": SQUARE, "BS": BATCH, "SPD": SQUARE @ SQUARE.T, "HER": SQUARE + SQUARE.T, "B3": R.normal(size=(3, 2)), "TALL": R.normal(size=(4, 2)),
    "TI": R.normal(size=(4, 2, 2)), "TS": R.normal(size=(2, 2, 4)),
}  # fmt: skip
SMOOTH = [name for name, x in OPERANDS.items() if x.dtype == np.float64 and name not in ("N", "NAN", "E")]

# --- the calls ------------------------------------------------------------------------------------------------------------


class Call:
    """A cell: `text` in the names of one module of ours, or of its peer. `nth`: how many calls of its kind came before."""

    def __init__(self, ours, peer, text, nth=0):
        self.ours, self.peer, self.text, self.nth = ours, peer, text, nth
        self.name = re.match(r"changed\('(\w+)'|([\w.]+)", text).group(1) or text.split("(")[0]
        self.operands = [n for n in OPERANDS if re.search(rf"\b{n}\b", text)]

    def __repr__(self):
        return f"{self.ours.removeprefix('funcgrad.')}.{self.text}"

    def run(self, module, operands):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(self.text, {**scope(module), **OPERANDS, **operands})

    def here(self, **operands):
        return self.run(self.ours, operands)

    def there(self, **operands):
        return self.run(self.peer, operands)


def scope(module):
    """The names of a module, and a few that only the calls use."""
    if module not in SCOPES:
        m = importlib.import_module(module)

        def changed(name, a, *args, **kwargs):
            if module.startswith("funcgrad"):
                return getattr(m, name)(a, *args, **kwargs, inplace=False)
            out = a.copy()
            getattr(m, name)(out, *args, **kwargs)
            return out

        extra = {"np": np, "R0": np.arange(1.0, 4.0), "Q": np.array([0.1, 0.9]), "changed": changed}
        extra |= {"S": lambda v: v.sum(), "S2": lambda v, i: m.sum(v, i)}
        SCOPES[module] = {n: getattr(m, n) for n in dir(m) if not n.startswith("_")} | extra
    return SCOPES[module]


SCOPES = {}


def read_calls():
    for line in (Path(__file__).parent / "against_numpy" / "calls.txt").read_text().splitlines():
        if line.startswith("["):
            ours, peer = line.strip("[]").split()
        elif line.startswith("over "):
            arguments, names = line[5:].split(": ")
            for name in names.split():
                for nth, a in enumerate(arguments.split()):
                    yield Call(ours, peer, f"{name}({a[1:-1] if a.startswith('(') else a})", nth)
        elif line and not line.startswith("#"):
            yield from [Call(ours, peer, cell.strip()) for cell in line.split("  ") if cell.strip()]


def exists(call):
    """Whether we have the name: some are listed before they are there."""
    try:
        return eval(call.name, scope(call.ours)) is not None
    except (ImportError, NameError, AttributeError):
        return False


CALLS = [call for call in read_calls() if exists(call)]
COMPILED = 3  # of an "over" line, so many calls of each name: compiling takes most of the time
every_call = pytest.mark.parametrize("call", CALLS, ids=repr)

# --- what is excused ------------------------------------------------------------------------------------------------------

# Names without a call, and where their tests are.
ELSEWHERE = {
    "fromfile": "numpy/test_files.py", "load": "numpy/test_files.py", "save": "numpy/test_files.py", "savez": "numpy/test_files.py",
    "get_printoptions": "numpy/test_files.py", "set_printoptions": "numpy/test_files.py", "printoptions": "numpy/test_files.py",
}  # fmt: skip

# The shape of the result depends on the numbers.
SHAPED_BY_NUMBERS = {
    "argwhere", "bincount", "compress", "extract", "flatnonzero", "intersect1d", "nonzero", "setdiff1d", "setxor1d", "trim_zeros", "union1d", "unique",
    "unique_all", "unique_counts", "unique_inverse", "where(T)", "sort(unique_values(W))",
}  # fmt: skip

# About Python objects: there is nothing to trace.
OF_OBJECTS = {"array_repr", "array_str", "einsum_path", "from_dlpack", "result_type"}

OTHER_DTYPES = {
    "complex128": {
        "clip": "refused, as in JAX", "median": "refused, as in JAX", "pad(V,2,mode='median')": "refused, as in JAX",
        "histogram(V,4,range=(-1,1),density=True)": "NumPy discards imaginary parts", "histogram2d": "NumPy discards imaginary parts",
        "histogramdd": "NumPy discards imaginary parts", "poly": "NumPy looks whether the numbers are real",
        "interp(A,np.array([0.,1.,2.]),np.array([0.,1.,0.]),period=3.0)": "NumPy discards imaginary parts",
    },
    "float32": {
        "gradient(V,np.array([0.,1.,3.,4.,7.,8.]))": "NumPy forgets the dtype of the places", "qr_multiply": "SciPy forgets the dtype of c",
    },
    "int32": {
        "reciprocal": "floating here", "rint": "whole numbers stay", "argsort(V)": "NumPy's order of equal numbers is any",
        "argpartition": "NumPy's order of equal numbers is any", "polymul(V[:3],V[:2])": "NumPy drops leading zeros", "polydiv": "NumPy drops leading zeros",
        "quantile(V,0.4,method='lower')": "floating here", "quantile(V,0.4,method='nearest')": "floating here",
        "quantile(V,0.3,method='higher')": "floating here",
    },
    "uint8": {
        "clip(A,-1,1)": "bounds must fit the dtype", "trapezoid(B)": "NumPy overflows", "float_power": "float32 overflows earlier than NumPy's float64",
        "spacing": "of float32, not float16", "i0": "float32 overflows earlier than NumPy's float64",
    },
}  # fmt: skip
OTHER_DTYPES["uint8"] |= OTHER_DTYPES["int32"]

REAL = ("scipy.special", "scipy.stats")

NO_DERIVATIVE = {
    "nextafter": "0 by convention, as in JAX", "from_dlpack": "takes no traced values", "hessenberg": "has none, and says so", "schur": "has none, and says so", "rsf2csf": "has none, and says so",
    "qr(TALL,'complete')": "the columns that complete Q are any", "floor_divide(A,C)": "C has a 0", "remainder(A,C)": "C has a 0", "mod(A,C)": "C has a 0",
    "fmod(A,C)": "C has a 0", "divmod(A,C)": "C has a 0",
}  # fmt: skip


def excused(call, names):
    return call.name in names or call.text in names


# --- comparing ------------------------------------------------------------------------------------------------------------


def leaves(x):
    return [leaf for y in x for leaf in leaves(y)] if isinstance(x, (tuple, list)) else [x]


def compare(got, expected, tolerance=1e-9):
    got, expected = leaves(got), leaves(expected)
    assert len(got) == len(expected)
    for g, e in zip(got, expected):
        if isinstance(e, (str, np.dtype, type)):
            assert str(g).replace("Array", "array") == str(e)
            continue
        g, e = np.asarray(g), np.asarray(e)
        assert g.shape == e.shape
        # Integers that become floats become the default float here.
        if g.dtype != e.dtype:
            assert (e.dtype.kind, g.dtype.name) in (("f", "float32"), ("c", "complex64")), f"{g.dtype} for {e.dtype}"
        bits = min(np.finfo(d).bits if d.kind in "fc" else 64 for d in (g.dtype, e.dtype))
        tol = {16: 2e-2, 32: 3e-5}.get(bits, tolerance)
        np.testing.assert_allclose(g, e, rtol=tol, atol=tol)


# --- the tests ------------------------------------------------------------------------------------------------------------


@every_call
def test_values(call):
    compare(call.here(), call.there())


@every_call
def test_operands_that_are_not_contiguous(call):
    def spread(x):
        return np.stack([x, x], -1)[..., 0] if x.ndim < 2 else np.asfortranarray(x)[::-1][::-1]

    operands = {name: spread(OPERANDS[name]) for name in call.operands}
    compare(call.here(**operands), call.there(**operands))


@pytest.mark.parametrize("dtype", OTHER_DTYPES)
@every_call
def test_dtypes(call, dtype):
    """What NumPy raises for is not looked at. Integers are for the functions of numpy alone, since random integer matrices are singular;
    scipy.special and scipy.stats are of real numbers here."""
    floats = [n for n in call.operands if n in SMOOTH or n == "E"]
    integer = dtype in ("int32", "uint8") and call.peer != "numpy"
    if not floats or excused(call, OTHER_DTYPES[dtype]) or integer or dtype == "complex128" and call.peer in REAL:
        return
    operands = {name: OPERANDS[name].astype(dtype) for name in floats}
    try:
        expected = call.there(**operands)
    except Exception:
        return
    compare(call.here(**operands), expected)


@pytest.mark.parametrize("call", [call for call in CALLS if call.nth < COMPILED], ids=repr)
def test_compiled(call):
    operands = {name: OPERANDS[name] for name in call.operands}
    compiled = fg.jit(lambda operands: call.here(**operands))
    if operands and excused(call, SHAPED_BY_NUMBERS | OF_OBJECTS):
        with pytest.raises((ConcretizationTypeError, TypeError)):
            compiled(operands)
    elif operands:
        compare(compiled(operands), call.here())


@every_call
def test_under_vmap(call):
    def another(x):
        return ~x if x.dtype == bool else x[::-1] if x.dtype.kind in "iu" else 0.5 * x

    if not call.operands or excused(call, SHAPED_BY_NUMBERS | OF_OBJECTS):
        return
    pairs = {name: np.stack([OPERANDS[name], another(OPERANDS[name])]) for name in call.operands}
    rows = [leaves(call.here(**{name: x[i] for name, x in pairs.items()})) for i in range(2)]
    batched = fg.vmap(lambda operands: call.here(**operands))(pairs)
    compare(batched, [np.stack([np.asarray(a), np.asarray(b)]) for a, b in zip(*rows)])


@every_call
def test_derivatives(call):
    """As functions of real numbers to real numbers: complex operands and results are taken as pairs of them."""
    names = [n for n in call.operands if n in SMOOTH or n == "Z"]

    def real(*xs):
        parts = iter(xs)
        operands = {n: next(parts) + 1j * next(parts) if n == "Z" else next(parts) for n in names}
        inexact = [y for y in leaves(call.here(**operands)) if getattr(y, "dtype", np.dtype(int)).kind in "fc"]
        return [part for y in inexact for part in ([y.real, y.imag] if y.dtype.kind == "c" else [y])]

    points = [x for n in names for x in ([OPERANDS[n].real, OPERANDS[n].imag] if n == "Z" else [OPERANDS[n]])]
    if names and not excused(call, NO_DERIVATIVE | dict.fromkeys(OF_OBJECTS)) and real(*points):
        check_grads(real, points, 2, atol=2e-4, rtol=2e-4)


PEERS = {call.ours: call.peer for call in CALLS}


@pytest.mark.parametrize("module", PEERS)
def test_every_name_is_called(module):
    ours, peer = importlib.import_module(module), importlib.import_module(PEERS[module])
    called = {name for call in CALLS if call.ours == module for name in re.findall(r"\w+", call.text)}
    functions = [
        n for n in ours.__all__ if callable(getattr(ours, n)) and not isinstance(getattr(ours, n), type) and not n.startswith("_")
    ]
    missing = [
        n for n in functions if hasattr(peer, n) and not isinstance(getattr(peer, n), type) and n not in called | set(ELSEWHERE)
    ]
    assert not missing, f"add calls of {missing} to against_numpy/calls.txt"


def test_excuses_are_of_calls():
    texts = {name for call in read_calls() for name in (call.name, call.text)}
    named = SHAPED_BY_NUMBERS | OF_OBJECTS | set(NO_DERIVATIVE) | {n for names in OTHER_DTYPES.values() for n in names}
    assert named <= texts
