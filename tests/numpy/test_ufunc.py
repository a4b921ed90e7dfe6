"""Ufuncs: what they are, and their folds, against NumPy's; eager, jitted, vectorised and differentiated."""

import inspect
import pickle
import warnings
from functools import partial

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import ConcretizationTypeError
from funcgrad.test_util import check_grads
from funcgrad.testing import counters

UFUNCS = sorted(n for n in dir(np) if isinstance(getattr(np, n), np.ufunc) and n != "isnat")
FOLDS = [
    n for n in UFUNCS
    if (u := getattr(np, n)).nin == 2 and u.nout == 1 and u.signature is None and n not in ("ldexp",)
]  # fmt: skip
RNG = np.random.default_rng(0)
NUMBERS = {
    "float": RNG.normal(size=(3, 4, 2)),
    "int": RNG.integers(1, 4, size=(3, 4, 2)),
    "bool": RNG.integers(0, 2, size=(3, 4, 2)).astype(bool),
}


def answer(f, *args):
    """NumPy's answer, or None where it refuses the operands."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(*args)
        except (TypeError, ValueError):
            return None


def same(got, want):
    np.testing.assert_allclose(np.asarray(got, np.asarray(want).dtype), want, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", UFUNCS)
def test_is_a_ufunc_with_numpys_attributes(name):
    ours, theirs = getattr(fnp, name), getattr(np, name)
    assert isinstance(ours, fnp.ufunc)
    for attribute in ("nin", "nout", "nargs", "identity", "signature"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert getattr(fnp, ours.__name__) is ours and ours.__doc__ and ours.__name__ in repr(ours)
    assert len(inspect.signature(ours).parameters) >= 1


def test_other_functions_are_none():
    assert not isinstance(fnp.sum, fnp.ufunc) and not isinstance(fnp.clip, fnp.ufunc)
    assert inspect.isclass(fnp.ufunc) and "identity" in fnp.ufunc.__doc__


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", FOLDS)
def test_reduce_and_accumulate(name, kind):
    """Eager along each axis; jitted along one, another for each kind of numbers."""
    x = NUMBERS[kind]
    ours, theirs = getattr(fnp, name), getattr(np, name)
    y = fnp.asarray(x)
    for k, axis in enumerate((0, 1, -1)):
        want = answer(theirs.reduce, x, axis)
        if want is not None and want.dtype == np.float16:
            continue  # what NumPy makes of booleans; here they are float32
        if want is None:
            with pytest.raises(TypeError):
                ours.reduce(y, axis)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what NumPy says of 0 / 0 in eager code
            steps = theirs.accumulate(x, axis=axis)
            same(ours.reduce(y, axis), want)
            same(ours.accumulate(y, axis), steps)
            if (FOLDS.index(name) + list(NUMBERS).index(kind) + k) % 3 == 0:
                jitted = fg.jit(lambda v, n: (ours.reduce(v, n, keepdims=True), ours.accumulate(v, n)), static_argnums=1)
                for got, w in zip(jitted(y, axis), (np.expand_dims(want, axis), steps), strict=True):
                    same(got, w)


@pytest.mark.parametrize("axis", [0, (0, 2), None, ()])
@pytest.mark.parametrize(
    "name", ["add", "multiply", "maximum", "minimum", "fmax", "hypot", "logaddexp", "logaddexp2", "logical_and", "logical_or",
             "logical_xor"]
)  # fmt: skip
def test_reduce_over_several_axes_with_a_mask_and_a_start(name, axis):
    ours, theirs, x = getattr(fnp, name), getattr(np, name), NUMBERS["float"]
    mask = RNG.integers(0, 2, size=(4, 1)).astype(bool)
    cases = ({}, {"keepdims": True}, {"initial": 0.5}, {"initial": 2.0, "where": mask})
    jitted = fg.jit(lambda v: [ours.reduce(v, axis, **options) for options in cases])(x)
    for options, got in zip(cases, jitted, strict=True):
        want = theirs.reduce(x, axis, **options)
        same(ours.reduce(fnp.asarray(x), axis, **options), want)
        same(got, want)
    if theirs.identity is not None:
        same(ours.reduce(fnp.asarray(x), axis, where=mask), theirs.reduce(x, axis, where=mask))


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm", "subtract", "floor_divide", "power"])
def test_reduce_of_integers_with_a_mask_and_a_start(name):
    ours, theirs, x = getattr(fnp, name), getattr(np, name), NUMBERS["int"]
    mask = RNG.integers(0, 2, size=x.shape).astype(bool)
    for options in ({"initial": 5}, {"initial": 7, "where": mask}):
        same(ours.reduce(fnp.asarray(x), 1, **options), theirs.reduce(x, 1, **options))


@pytest.mark.parametrize("name", ["add", "multiply", "gcd", "hypot", "logaddexp", "logical_and", "bitwise_and", "logical_xor"])
def test_over_nothing_a_fold_is_its_identity(name):
    x = np.zeros((0, 2), np.int64 if name in ("gcd", "bitwise_and") else np.float64)
    same(getattr(fnp, name).reduce(fnp.asarray(x)), getattr(np, name).reduce(x))
    assert getattr(fnp, name).accumulate(fnp.asarray(x)).shape == (0, 2)


@pytest.mark.parametrize("name", ["maximum", "subtract", "fmin", "arctan2"])
def test_without_an_identity_there_is_an_error(name):
    ours = getattr(fnp, name)
    with pytest.raises(ValueError, match="initial"):
        ours.reduce(fnp.zeros((0, 2)))
    with pytest.raises(ValueError, match="initial"):
        ours.reduce(fnp.zeros(2), where=np.array([True, False]))
    same(ours.reduce(fnp.zeros((0, 2)), initial=3.0), [3.0, 3.0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "complex128"])
@pytest.mark.parametrize("name", ["add", "multiply", "subtract", "maximum"])
def test_dtype_of_a_fold(name, dtype):
    x = np.array([1, 2, 3], np.int64)
    for method in ("reduce", "accumulate"):
        got, want = [getattr(getattr(m, name), method)(m.asarray(x), dtype=dtype) for m in (fnp, np)]
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("indices", [[0, 4, 1, 5], [0], [], [2, 2, 0], [5, 0], [1, 2, 5], [0, 3]])
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "subtract", "logaddexp", "divide"])
def test_reduceat(name, indices):
    ours, theirs, x = getattr(fnp, name), getattr(np, name), np.abs(RNG.normal(size=(2, 6)))
    at = np.array(indices, np.int64)
    want = theirs.reduceat(x, at, axis=1)
    same(ours.reduceat(fnp.asarray(x), indices, axis=1), want)
    same(fg.jit(lambda v, i: ours.reduceat(v, i, axis=1))(x, at), want)


def test_reduceat_is_checked():
    for i in (-1, 6):
        with pytest.raises(IndexError):
            fnp.add.reduceat(fnp.arange(6), [0, i])
    with pytest.raises(ValueError, match="vector of integers"):
        fnp.add.reduceat(fnp.arange(6), [0.5])


AT = [np.array([0, 2, 0]), (slice(None), 1), np.array([[True, False], [False, True], [True, True]]), (np.array([0, 0]), -1), 1]


@pytest.mark.parametrize("index", range(len(AT)))
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum", "hypot", "divide", "power", "logaddexp"])
def test_at_changes_a_copy(name, index):
    x, index = np.abs(RNG.normal(size=(3, 2))) + 1, AT[index]
    b = np.float64(1.5) if name == "maximum" else RNG.normal(size=x[index].shape)
    want = x.copy()
    getattr(np, name).at(want, index, b)
    ours = getattr(fnp, name)
    same(ours.at(fnp.asarray(x), index, b, inplace=False), want)
    same(fg.jit(lambda v, w: ours.at(v, index, w, inplace=False))(x, b), want)


def test_at_of_one_number():
    x, want = fnp.array([1.0, 2.0]), np.array([1.0, 2.0])
    np.negative.at(want, [0, 0, 1])
    same(fnp.negative.at(x, np.array([0, 0, 1]), inplace=False), want)
    with pytest.raises(ValueError, match="results float"):
        fnp.divide.at(fnp.array([1, 2]), 0, 2, inplace=False)
    with pytest.raises(ValueError, match="no b"):
        fnp.hypot.at(x, 0, inplace=False)


@pytest.mark.parametrize("name", [n for n in FOLDS if n not in ("left_shift", "right_shift")] + ["ldexp"])
def test_outer(name):
    a, b = np.array([1, 2, 3]), np.array([[2, 1]])
    ours, theirs = getattr(fnp, name), getattr(np, name)
    same(ours.outer(fnp.asarray(a), fnp.asarray(b)), theirs.outer(a, b))
    same(fg.jit(ours.outer)(a, b), theirs.outer(a, b))


def test_numpys_ufuncs_on_arrays_and_tracers_go_here():
    x = fnp.array([[1.0, 2.0], [4.0, 3.0]])
    for module in (np, fnp):
        same(module.subtract.reduce(x, axis=1), [-1, 1])
        same(module.logaddexp.accumulate(x), np.logaddexp.accumulate(np.asarray(x)))
        same(module.multiply.outer(x, x)[1, 0, 1], [16, 12])
        same(module.add.reduceat(x, [0, 1]), np.asarray(x))
        same(fg.grad(partial(module.multiply.reduce, axis=None))(x), [[24, 12], [6, 8]])
        with pytest.raises(ValueError, match=r"x = fnp.add.at\(x, i, b, inplace=False\), or x.at\[i\].add\(b\)"):
            module.add.at(x, 0, 1.0)
    assert isinstance(np.maximum.reduce(x, axis=(0, 1)), fg.Array)
    same(fg.jit(lambda v: np.hypot.reduce(v, axis=0, keepdims=True))(x), np.hypot.reduce(np.asarray(x), axis=0, keepdims=True))
    with pytest.raises(TypeError, match="immutable"):
        np.add.reduce(x, out=x)


def test_functions_of_other_kinds_have_no_folds():
    for call in (
        lambda: fnp.sin.reduce(fnp.ones(2)), lambda: fnp.matmul.reduce(fnp.ones((2, 2, 2))),
        lambda: fnp.divmod.accumulate(fnp.ones(2)), lambda: fnp.vecdot.outer(fnp.ones(2), fnp.ones(2)),
        lambda: fnp.exp.outer(fnp.ones(2), fnp.ones(2)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="two numbers"):
            call()
    with pytest.raises(ValueError, match="one axis"):
        fnp.subtract.reduce(fnp.ones((2, 2)), axis=None)
    with pytest.raises(TypeError, match="out"):
        fnp.add.reduce(fnp.ones(2), out=np.zeros(()))


@pytest.mark.parametrize(
    "name", ["add", "multiply", "maximum", "hypot", "logaddexp", "logaddexp2", "subtract", "divide", "arctan2"]
)
def test_derivatives_of_folds(name):
    x = np.abs(RNG.normal(size=(4, 2))) + 0.5
    ours = getattr(fnp, name)
    check_grads(lambda v: ours.reduce(v), (x,), order=2)
    check_grads(lambda v: ours.accumulate(v), (x,), order=1)
    check_grads(lambda v: ours.reduceat(v, [0, 2, 1]), (x,), order=1)
    got = fg.jit(fg.vmap(fg.grad(lambda v: ours.reduce(v).sum())))(fnp.asarray(np.stack([x, 2 * x])))
    same(got[1], fg.grad(lambda v: ours.reduce(v).sum())(fnp.asarray(2 * x)))


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_gradient_of_log_sums_at_infinities(name):
    g = fg.grad(lambda v: getattr(fnp, name).reduce(v))
    inf = np.inf
    for x, want in (([inf, 0.0], [1, 0]), ([-inf, 0.0], [0, 1]), ([-inf, -inf], [0, 0]), ([1e5, 1e5], [0.5, 0.5])):
        same(g(fnp.array(x)), want)
        same(fg.jit(g)(fnp.array(x)), want)


def test_ufuncs_are_functions_to_transforms():
    x = fnp.array([0.5, 1.0])
    same(fg.jit(fnp.sin)(x), np.sin(np.asarray(x)))
    same(fg.vmap(fnp.add, in_axes=(0, None))(x, 1.0), [1.5, 2.0])
    same(fg.jvp(fnp.exp, (x,), (x,))[1], x * fnp.exp(x))
    assert fg.eval_shape(fnp.add, x, x).shape == (2,)


def test_a_ufunc_in_a_closure_does_not_retrace():
    def step(act):
        return fg.jit(lambda v: act(v) * 2)

    x = fnp.ones(3)
    step(fnp.tanh)(x)
    with counters() as counts:
        step(fnp.tanh)(x)
    assert counts.traces == 0
    step(fnp.frompyfunc(_scaled, 2, 1))  # made of what may change: it has no key, and is no fault


def test_ufuncs_of_the_users():
    u = fnp.frompyfunc(lambda x, y: (x + y, fnp.where(x > y, x, y)), 2, 2)
    s, m = u(fnp.arange(3.0)[:, None], 1)
    same(s, [[1], [2], [3]])
    same(m, [[1], [1], [2]])
    assert (u.nin, u.nout, u.nargs, u.identity, u.__name__) == (2, 2, 4, None, "<lambda>")
    minus = fnp.frompyfunc(lambda x, y: x - y, 2, 1, identity=0)
    x = np.array([[7, 2], [1, 5]])
    same(minus.reduce(fnp.asarray(x)), np.subtract.reduce(x))
    same(minus.accumulate(fnp.asarray(x), 1), np.subtract.accumulate(x, 1))
    same(minus.outer(fnp.arange(2), fnp.arange(3)), np.subtract.outer(np.arange(2), np.arange(3)))
    same(minus.reduce(fnp.zeros((0, 2))), [0, 0])
    same(fg.jit(minus)(x, 1), x - 1)
    back = pickle.loads(pickle.dumps(fnp.frompyfunc(_scaled, 2, 1, identity=1)))
    assert back.identity == 1 and back.__name__ == "_scaled"
    same(back(fnp.arange(3), 2), [0, 2, 4])


def _scaled(x, y):
    return x * y


def test_a_ufunc_with_methods_of_its_own():
    seen = []

    def reduce(a, axis, dtype, keepdims, initial, where):
        seen.append((axis, keepdims))
        return fnp.sum(a, axis)

    u = fnp.ufunc(lambda x, y: x + y, 2, 1, name="plus", call=fnp.add, reduce=reduce, nargs=3)
    same(u(fnp.ones(2), 1), [2, 2])
    same(u.reduce(fnp.ones((2, 3)), 1), [3, 3])
    assert seen == [(1, False)] and repr(u) == "<fnp.ufunc 'plus'>"
    same(u.accumulate(fnp.ones(3)), [1, 2, 3])


def test_wrong_ufuncs():
    with pytest.raises(ValueError, match="nargs"):
        fnp.ufunc(lambda x: x, 1, 1, nargs=4)
    with pytest.raises(TypeError, match="callable"):
        fnp.frompyfunc(3, 1, 1)
    with pytest.raises(TypeError, match="got 1 arguments"):
        fnp.frompyfunc(lambda x, y: x, 2, 1)(fnp.ones(2))
    with pytest.raises(ValueError, match="returned 1 results"):
        fnp.frompyfunc(lambda x: x, 1, 2)(fnp.ones(2))
    with pytest.raises(ConcretizationTypeError):
        fg.jit(lambda x, n: fnp.add.reduce(x, axis=n))(fnp.ones(2), 0)
