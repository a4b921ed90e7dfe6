"""Operators, conversions, methods and NumPy's dispatch on arrays and tracers."""

import copy
import io
import operator

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.core.source import UNKNOWN, Source
from funcgrad.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from funcgrad.numpy.operators import rewrite_assignment

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]])
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, divmod]
COMPARE = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]


def same(got, expected):
    if isinstance(expected, tuple):
        for g, e in zip(got, expected):
            same(g, e)
    else:
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-12)


@pytest.mark.parametrize("op", BINARY + COMPARE, ids=lambda f: f.__name__)
def test_binary(op):
    a, b = np.abs(X), np.array([2.0, 3.0, 0.5])
    same(op(fnp.asarray(a), fnp.asarray(b)), op(a, b))
    same(op(fnp.asarray(a), 2), op(a, 2))
    same(op(2, fnp.asarray(a)), op(2, a))
    same(op(a, fnp.asarray(b)), op(a, b))
    same(op(np.float64(2), fnp.asarray(b)), op(np.float64(2), b))


@pytest.mark.parametrize("op", BITS, ids=lambda f: f.__name__)
def test_bits(op):
    a, b = np.array([12, 7, 1]), np.array([1, 2, 3])
    same(op(fnp.asarray(a), b), op(a, b))
    same(op(5, fnp.asarray(b)), op(5, b))


def test_unary():
    x = fnp.asarray(X)
    for op in (operator.neg, operator.pos, abs, round):
        same(op(x), op(X) if op is not round else np.round(X))
    same(~fnp.asarray([True, False]), [False, True])
    same(round(x, 1), np.round(X, 1))
    same(x @ x.T, X @ X.T)
    same(X @ fnp.asarray(X.T), X @ X.T)


class Other:
    __array_ufunc__ = None

    def __radd__(self, x):
        return "radd"

    def __eq__(self, x):
        return "eq"

    __hash__ = None


def test_foreign_operands_get_their_turn():
    assert fnp.ones(2) + Other() == "radd"
    assert (fnp.ones(2) == Other()) == "eq"
    with pytest.raises(TypeError):
        fnp.ones(2) + "a"
    with pytest.raises(TypeError, match="asarray"):
        fnp.ones(2) + [1, 2]
    assert (fnp.ones(2) == None) is False  # noqa: E711


def test_conversions():
    assert bool(fnp.asarray(2)) and not fnp.asarray([0.0])
    assert int(fnp.asarray(2.7)) == 2 and float(fnp.asarray(2)) == 2.0 and complex(fnp.asarray(2)) == 2
    assert [10, 20, 30][fnp.asarray(1)] == 20 and list(range(fnp.asarray(3))) == [0, 1, 2]
    assert len(fnp.asarray(X)) == 2 and [r.shape for r in fnp.asarray(X)] == [(3,), (3,)]
    assert 4.0 in fnp.asarray(X) and 9.0 not in fnp.asarray(X)
    assert f"{fnp.asarray(1.5):.2f}" == "1.50" and fnp.asarray(X).item(4) == 4.0 and fnp.asarray([7]).item() == 7
    for bad in (
        lambda: bool(fnp.ones(2)),
        lambda: len(fnp.asarray(1)),
        lambda: iter(fnp.asarray(1)),
        lambda: hash(fnp.ones(2)),
        lambda: int(fnp.ones(2)),
        lambda: range(fnp.asarray(1.5)),
    ):
        with pytest.raises((TypeError, ValueError)):
            bad()


@pytest.mark.parametrize(
    "use,error",
    [
        (lambda x: 1 if x > 0 else 2, TracerBoolConversionError),
        (lambda x: range(x.astype(int)), TracerIntegerConversionError),
        (lambda x: int(x), TracerIntegerConversionError),
        (lambda x: float(x), ConcretizationTypeError),
        (lambda x: np.asarray(x), TracerArrayConversionError),
        (lambda x: fnp.zeros(x), ConcretizationTypeError),
        (lambda x: fnp.arange(x), ConcretizationTypeError),
        (lambda x: x.item(), ConcretizationTypeError),
        (lambda x: fnp.nonzero(fnp.stack([x, x])), ConcretizationTypeError),
    ],
)
def test_traced_values_raise(use, error):
    with pytest.raises(error, match="Try:"):
        fg.jit(use)(1.0)


def test_concrete_under_grad():
    assert fg.grad(lambda x: x * 2 if x > 0 else -x)(3.0) == 2
    assert fg.grad(lambda x: x * float(x))(3.0) == 3


METHODS = """x.sum() x.mean(0) x.max(1) x.min() x.prod(0) x.std() x.var(1) x.argmax() x.argmin(0) x.any() x.all(1) x.cumsum(0) x.cumprod(1) x.reshape(3,2) x.reshape((3,2)) x.ravel() x.flatten()
x.transpose() x.transpose(1,0) x.T x.mT x.swapaxes(0,1) x.squeeze() x.astype(int) x.dot(x.T) x.clip(-1,1) x.round(1) x.conj() x.real x.imag x.tolist() x.repeat(2) x.take(np.array([0,3])) x.copy()
x.diagonal() x.trace() x.nonzero() x.view('int64') x.itemsize x.nbytes x.size x.ndim x.shape x[0].searchsorted(0.5) x.compress(np.array([True,False]),0)""".split()


@pytest.mark.parametrize("call", METHODS)
def test_methods(call):
    a, b = eval(call, {"x": fnp.asarray(X), "np": np}), eval(call, {"x": X, "np": np})
    same(a, b)


def test_argsort_and_sort_methods():
    same(fnp.asarray(X).sort(1), np.sort(X, 1))
    same(fnp.asarray(X).argsort(), np.argsort(X))


DISPATCH = """np.sin(x) np.add(x,1) np.add(1.0,x) np.sum(x,axis=0) np.mean(x) np.where(x>0,x,0.0) np.concatenate([x,x]) np.stack([x,X]) np.matmul(x,x.T) np.einsum('ij,kj->ik',x,x) np.reshape(x,(3,2)) np.transpose(x) np.max(x,axis=1)
np.tanh(x) np.clip(x,0,1) np.exp(x) np.maximum(x,0) np.argmax(x) np.cumsum(x,axis=1) np.linalg.norm(x) np.dot(x,x.T) np.sqrt(abs(x)) np.zeros_like(x) np.std(x,axis=0,keepdims=True) np.add.reduce(x) np.multiply.outer(x[0],x[1]) np.add.accumulate(x,1)
np.add.reduce(x,axis=None) np.isnan(x) np.squeeze(x) np.expand_dims(x,0) np.broadcast_to(x,(2,2,3)) np.median(x) np.diff(x) np.square(x) np.power(x,2) np.trace(x) np.roll(x,1) np.take(x,np.array([0,1])) np.pad(x,1)""".split()


@pytest.mark.parametrize("call", DISPATCH)
def test_numpy_functions_dispatch(call):
    got = eval(call, {"x": fnp.asarray(X), "X": X, "np": np})
    assert isinstance(got, fg.Array)
    same(got, eval(call, {"x": X, "X": X, "np": np}))
    same(fg.jit(lambda x: eval(call, {"x": x, "X": X, "np": np}))(X), eval(call, {"x": X, "X": X, "np": np}))


def test_dispatch_errors():
    x = fnp.asarray(X)
    with pytest.raises(TypeError, match="out"):
        np.sin(X, out=x)
    with pytest.raises(TypeError, match="funcgrad.numpy has no"):
        np.busday_count(x, x)
    with pytest.raises(TypeError, match=r"x\.at"):
        np.add.at(x, 0, 1)
    with pytest.raises((TypeError, ValueError), match="where"):
        np.sin(x, where=X > 0)


def test_numpy_code_is_differentiable():
    g = fg.grad(lambda w: np.sum(np.tanh(X @ w) ** 2))(np.ones(3))
    h = 1e-6
    slopes = [
        (np.sum(np.tanh(X @ (np.ones(3) + h * e)) ** 2) - np.sum(np.tanh(X @ (np.ones(3) - h * e)) ** 2)) / (2 * h)
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(np.asarray(g), slopes, rtol=1e-6)


def test_dtypes():
    assert fnp.float32 == np.float32 and np.dtype(fnp.int8) == np.int8 and fnp.float32(3).dtype == np.float32
    assert (
        fnp.issubdtype(fnp.bfloat16, fnp.floating)
        and not fnp.issubdtype(fnp.int32, fnp.floating)
        and fnp.issubdtype(np.float64, np.inexact)
    )
    assert fnp.result_type(fnp.int64, fnp.float32) == np.float32 and fnp.result_type(1, np.int8) == np.int8
    assert (
        fnp.promote_types("float16", "bfloat16") == np.float32
        and fnp.can_cast("int8", "int16")
        and not fnp.can_cast("float64", "float32")
    )
    assert (
        fnp.isdtype(fnp.float32, "real floating")
        and fnp.isdtype("int8", ("bool", "integral"))
        and not fnp.isdtype("int8", "float32")
    )
    assert fnp.finfo("float32").bits == 32 and fnp.iinfo(fnp.uint8).max == 255
    assert isinstance(fnp.ones(2), fnp.ndarray) and not isinstance(np.ones(2), fnp.ndarray)
    assert fnp.array([1, 2]).dtype == np.int64 and fnp.array([1.0]).dtype == np.float32 and fnp.array([1j]).dtype == np.complex64
    assert (
        fnp.array([True]).dtype == bool
        and fnp.array(np.arange(2.0)).dtype == np.float64
        and fnp.array([np.float64(1), 2]).dtype == np.float64
    )
    assert fnp.array([fnp.ones(2), fnp.zeros(2)]).shape == (2, 2) and fnp.array([[1], [2]], ndmin=3).shape == (1, 2, 1)
    with pytest.raises(ValueError, match="lengths|length"):
        fnp.array([[1], [1, 2]])
    with pytest.raises(TypeError):
        fnp.array(["a"])
    assert fg.jit(lambda x: fnp.array([x, 1.0]))(2.0).tolist() == [2, 1]


WRITES = """w.__iadd__(x) w.__imul__(x) np.add(w,x,out=w) np.add.at(w,(i,i),x[0,0]) np.copyto(w,x) np.put(w,[0,1],x[0,:2]) np.putmask(w,X>0,x) np.place(w,X>0,x) np.fill_diagonal(w,x[0,:2]) np.put_along_axis(w,i[:1,None],x[:1,1:2],1)""".split()


@pytest.mark.parametrize("call", WRITES)
def test_numpy_writes_into_its_own_arrays(call):
    """`w -= g` with a gradient, and its relatives: the memory is NumPy's, so NumPy does it, as soon as there are numbers."""
    names = {"np": np, "X": X}
    want, got = np.ones_like(X), np.ones_like(X)
    eval(call, {**names, "w": want, "x": X, "i": np.array([0, 1])})
    eval(call, {**names, "w": got, "x": fnp.asarray(X), "i": fnp.array([0, 1])})
    np.testing.assert_array_equal(got, want)
    assert not np.array_equal(got, np.ones_like(X))
    with pytest.raises(TypeError):
        fg.jit(lambda x: eval(call, {**names, "w": np.ones_like(X), "x": x, "i": np.array([0, 1])}))(X)


@pytest.mark.parametrize(
    "call", ["np.array2string(x)", "np.array_repr(x)[:6]", "np.savetxt(f,x)", "np.savez(f,a=x)", "np.shares_memory(x,x)"]
)
def test_numpy_shows_and_stores(call):
    files = io.BytesIO(), io.BytesIO()
    got = eval(call, {"np": np, "x": fnp.asarray(X), "f": files[0]})
    assert got == eval(call, {"np": np, "x": X, "f": files[1]})
    assert files[0].getvalue()[:20] == files[1].getvalue()[:20]


def test_missing_functions_say_the_way_out():
    x = fnp.asarray(X)
    for call in (lambda: np.busday_count(x, x), lambda: np.busday_offset(x, 1)):
        with pytest.raises(TypeError, match=r"(?s)has no .*Allowed.*np\.\w+\(np\.asarray\(x\)\)"):
            call()


ASSIGNMENTS = {
    "x[0] = 1": "x = x.at[0].set(1)",
    "x[0]=1": "x = x.at[0].set(1)",
    "x[0, 1:]  += y[2]": "x = x.at[0, 1:].add(y[2])",
    "x[i]**=2  # note": "x = x.at[i].power(2)",
    "d['w'][0] = 5": "d['w'] = d['w'].at[0].set(5)",
    "self.x[a[0]][b] -= f(x[1] == 2)": "self.x[a[0]] = self.x[a[0]].at[b].subtract(f(x[1] == 2))",
    "x[0] %= 3": "x = x.at[0].set(x[0] % 3)",
    "for i in range(3): x[i] = i": "x = x.at[i].set(i)",
    "x[0], y = 1, 2": None,
    "x[": None,
    "x[0] = 1; y[0] = 2": None,
}


@pytest.mark.parametrize("line", ASSIGNMENTS)
def test_rewritten_assignments(line, monkeypatch):
    place = Source("script.py", 1, "<module>")
    monkeypatch.setattr(Source, "text", lambda self: line)
    assert rewrite_assignment(place) == (ASSIGNMENTS[line] or rewrite_assignment(UNKNOWN))


def test_at_without_a_method():
    x = fnp.ones(3)
    with pytest.raises(AttributeError, match=r"(?s)no 'sub'.*add, subtract.*x\.at\[i\]\.subtract"):
        x.at[0].sub(1)
    with pytest.raises(AttributeError, match=r"x\.at\[i\]\.set"):
        x.at.set(1)
    assert not hasattr(x.at[0], "__len__") and copy.copy(x.at[0]).get() == 1


def test_usual_slips():
    x = fnp.ones(3)
    with pytest.raises(TypeError, match=r"fnp\.concatenate\(\[x, y\]\)"):
        fnp.concatenate(x, x)
    for call, fix in (
        ("fnp.ones(2, 3)", "fnp.ones((2, 3))"),
        ("fnp.zeros((2, 3), 4)", "fnp.zeros((2, 3, 4))"),
        ("fnp.full(3, 4, 5)", "fnp.full((3, 4), 5)"),
        ("fnp.array(['a'])", "np.unique(x, return_inverse=True)[1]"),
        ("fnp.array(['1.5'])", "np.asarray(x, dtype=float)"),
        ("fnp.array([np.datetime64('2020-01-01')])", "np.asarray(x).astype('int64')"),
        ("fnp.array({'a': 1.0})", "list(x.values())"),
        ("fnp.einsum('ij->k', fnp.ones((2, 3)))", "'ij->'"),
        ("fnp.einsum('ij->iij', fnp.ones((2, 3)))", "'ij->ij'"),
        ("fnp.einsum('ij,jk->ik', fnp.ones((2, 3)))", "'ij',"),
        ("np.add(x, x, out=x)", "x = np.add(...)"),
        ("np.copyto(x, 1)", "x = fnp.full_like(x, v)"),
        ("np.putmask(x, x > 1, 1)", "x = fnp.where(mask, v, x)"),
        ("fnp.add([1], x)", "fnp.asarray(x1) in its place"),
    ):
        with pytest.raises(TypeError) as info:
            eval(call, {"fnp": fnp, "np": np, "x": x})
        assert f"Try: {fix}" in str(info.value), info.value
    with pytest.raises(TypeError, match=r"got out=f32\[3\]\."):
        np.add(x, x, out=x)


@pytest.mark.parametrize("other", [[0, 1, 2], (0, 1, 2), range(3)])
@pytest.mark.parametrize("sign", ["==", "!=", "<", "+", "@"])
def test_sequences_are_not_operands(sign, other):
    x = fnp.arange(3)
    for run in (eval, lambda text, names: fg.jit(lambda x: eval(text, {**names, "x": x}))(x)):
        for text in (f"x {sign} other", f"other {sign} x"):
            with pytest.raises(TypeError, match=rf"Try: x [{sign}>=]+ fnp\.asarray") as info:
                run(text, {"x": x, "other": other})
            assert type(other).__name__ in str(info.value)
    assert (x == fnp.asarray(other)).all() and np.equal(x, other).all()


@pytest.mark.parametrize("other", [None, "012", object(), {}])
def test_other_objects_are_unequal(other):
    x = fnp.arange(3)
    assert (x == other) is False and (x != other) is True and (other == x) is False


def test_traced_values_are_no_keys():
    x = fnp.ones(3)
    for use in (lambda x: {x: 1}, lambda x: {x}):
        with pytest.raises(TypeError, match=r"(?s)a traced value f32\[3\] cannot be hashed.*Try: a name or a number"):
            fg.jit(use)(x)
        with pytest.raises(TypeError, match=r"(?s)cannot be hashed.*Try: x.tobytes\(\), or tuple\(x.tolist\(\)\)"):
            fg.grad(use)(x)


@pytest.mark.parametrize("f", [np.allclose, np.array_equal, np.array_equiv])
def test_truths_by_numpys_name_are_bools(f):
    x = fnp.asarray(X)
    assert f(x, X) is True and f(X, x + 1) is False
    assert fg.grad(lambda x: x.sum() if f(x, X) is True else None)(x).tolist() == np.ones_like(X).tolist()
    traced = fg.jit(lambda x: f(x, X))(x)
    assert isinstance(traced, fg.Array) and bool(traced)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_python_integers_fit_or_raise(dtype):
    """A Python number never wraps around: not on its own, in a list, as a fill value, beside an array."""
    info = np.iinfo(dtype)
    makers = (
        lambda n: fnp.array(n, dtype), lambda n: fnp.asarray([n, 1], dtype), lambda n: fnp.full(2, n, dtype),
        getattr(fnp, dtype), lambda n: fnp.zeros(2, dtype) + n,
    )  # fmt: skip
    for make in makers:
        for n in (int(info.min), int(info.max)):
            got = make(n)
            assert got.dtype == dtype and int(got.ravel()[0]) == n
        for n in (int(info.min) - 1, int(info.max) + 1, 2**70, -(2**70)):
            with pytest.raises(OverflowError):
                make(n)
    assert fnp.asarray(np.array([300, -1]), dtype).tolist() == np.array([300, -1]).astype(dtype).tolist()
    assert int(fnp.asarray(2.7, dtype)) == 2 and float(fnp.asarray(2**70, "float32")) == 2.0**70


def test_integers_beyond_64_bits():
    with pytest.raises(OverflowError, match="uint64"):
        fnp.asarray(2**63)
    assert fnp.asarray([2**63]).dtype == np.uint64 and fnp.asarray(2**63, "uint64").dtype == np.uint64


@pytest.mark.parametrize("x", ["text", b"bytes", {1: 2}, {1}, frozenset([1]), object(), ..., [None], ["1"]], ids=repr)
def test_what_is_no_array(x):
    with pytest.raises(TypeError, match=r"(?s)fnp.array: got an object.*Allowed: numbers"):
        fnp.array(x)


@pytest.mark.parametrize("y", [6, -6, 2.5, np.float64(-2.5)])
def test_remainder_by_a_number_under_vmap(y):
    x = np.arange(-7.0, 9.0).reshape(2, 8)
    for f in (lambda v: v % y, lambda v: v // y, lambda v: fnp.divmod(v, y)[1]):
        expected = np.asarray(f(x))
        np.testing.assert_array_equal(fg.vmap(f)(fnp.asarray(x)), expected)
        np.testing.assert_array_equal(fg.jit(fg.vmap(f, 1, 1))(x), expected)


SCALAR_AND_ARRAY = {
    "s + x": lambda s, x: s + x, "x - s": lambda s, x: x - s, "s * x": lambda s, x: s * x, "max": lambda s, x: fnp.maximum(s, x),
    "where": lambda s, x: fnp.where(x > 1, s, x), "rem": lambda s, x: x % s, "negative": lambda s, x: x % 6 * s,
}  # fmt: skip


@pytest.mark.parametrize("name", SCALAR_AND_ARRAY)
@pytest.mark.parametrize("x", [np.arange(6.0).reshape(3, 2) + 0.25, np.arange(3.0) + 0.25], ids=["rows", "numbers"])
def test_gradients_of_scalars_from_outside_vmap(name, x):
    f = SCALAR_AND_ARRAY[name]

    def loop(s):
        return sum(f(s, row).sum() for row in x)

    def batched(s):
        return fg.vmap(lambda row: f(s, row))(x).sum()

    def each(s):
        return fg.vmap(f)(s * fnp.ones(3), x).sum()

    want = fg.grad(loop)(np.float64(1.7))
    for g in (batched, each):
        for got in (fg.grad(g)(np.float64(1.7)), fg.jit(fg.grad(g))(np.float64(1.7))):
            assert got.shape == ()
            np.testing.assert_allclose(got, want)


def test_assignments_over_several_lines():
    x, i = fnp.ones(3), 1
    # fmt: off
    with pytest.raises(fg.errors.ImmutableArrayError, match=r"x = x\.at\[i\]\.set\(1 - x\[0\] \* 2\)"):
        x[i] = 1 - (
            x[0]  # a comment
            * 2
        )
    with pytest.raises(fg.errors.ImmutableArrayError, match=r"x = x\.at\[i \+ 1\]\.add\(3\)"):
        x[
            i + 1
        ] += 3
    # fmt: on
