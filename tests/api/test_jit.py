"""jit as users meet it: arguments, results, statics, donation, closures, keys, errors."""

import collections
import copy
import functools
import inspect
import logging
import pickle
from typing import NamedTuple

import cloudpickle
import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad.api.autodiff import grad, value_and_grad
from funcgrad.api.jit import clear_caches, jit
from funcgrad.api.vectorize import vmap
from funcgrad.bridge import eager  # noqa: F401  (puts the floor in)
from funcgrad.bridge.array import Array, from_numpy
from funcgrad.core.config import config
from funcgrad.core.pytree import Partial
from funcgrad.errors import DeletedArrayError, DtypeError, NanError, UnexpectedTracerError, UsageError
from funcgrad.ops._family import add, reduce_sum
from funcgrad.ops.arithmetic import mul, neg, sqrt, sub
from funcgrad.ops.exponential import exp, log
from funcgrad.testing import counters
from funcgrad.trace.stage import stage
from funcgrad.transforms import call  # noqa: F401  (the operator jit)


def arr(*xs, dtype=np.float64):
    return from_numpy(np.array(xs, dtype))


def same(got, want):
    assert isinstance(got, Array)
    np.testing.assert_array_equal(np.asarray(got), want)


class Pair(NamedTuple):
    left: object
    right: object


# --- arguments and results --------------------------------------------------------------------------------------


def test_pytrees_in_and_out_again_and_again():
    @jit
    def f(x, d, *, k):
        return {"sum": add(x, d["a"]), "pair": Pair(d["b"][0], k), "none": None, "empty": ((), [{}])}

    x, d, k = arr(1, 2), {"a": arr(3, 4), "b": [arr(5), None]}, arr(6)
    for _ in range(4):  # traced, looked up, generated, generated
        out = f(x, d, k=k)
        same(out["sum"], [4, 6])
        assert isinstance(out["pair"], Pair) and out["none"] is None and out["empty"] == ((), [{}])
        same(out["pair"].left, [5])
        same(out["pair"].right, [6])
    assert f.cache_info()[:3] == (3, 1, 0)


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict, lambda d: collections.defaultdict(list, d)])
def test_dicts_of_another_shape_are_not_mistaken(kind):
    f = jit(lambda d: d)
    for _ in range(3):
        assert type(f(kind({"a": arr(1), "b": arr(2)}))) is type(kind({}))
    assert sorted(f(kind({"a": arr(1), "c": arr(2)}))) == ["a", "c"]
    assert sorted(f(kind({"a": arr(1)}))) == ["a"]
    same(f(kind({"b": arr(2), "a": arr(1)}))["a"], [1])


def test_scalars_and_numpy_arrays_are_arguments():
    f = jit(lambda x: add(x, x))
    values = [
        2,
        2.5,
        1 + 2j,
        np.float64(2),
        np.int8(3),
        np.ones(3),
        np.arange(6)[::-2],
        np.ones((2, 3), order="F"),
        np.array(4, ">i4"),
    ]
    for value in values:
        for _ in range(3):
            out = f(value)
            same(out, np.asarray(value) * 2)
            weak = type(value) in (int, float, complex)
            assert out.weak_type == weak
    traces = f.cache_info().traces
    for value in (7, -2.5, 3j, 1e30):  # another value of a Python scalar is the same program
        same(f(value), np.asarray(value * 2, f(value).dtype))
    assert f.cache_info().traces == traces
    assert np.isinf(np.asarray(f(1e300)))  # the default float is float32
    same(f(np.float32(1)), np.float32(2))
    with pytest.raises(OverflowError, match=r"Python int 1\d+(.|\n)*Try"):
        f(10**30)


def test_a_result_does_not_follow_the_numpy_argument():
    for fun in (lambda x: x, lambda x: (x, x), lambda x: add(x, x)):
        f, a = jit(fun), np.ones(3)
        for _ in range(3):
            out = f(a)
            first = out[0] if isinstance(out, tuple) else out
            before = np.array(first)
            a += 1
            np.testing.assert_array_equal(np.asarray(first), before)


def test_results_without_computing():
    table = np.arange(3.0)
    f = jit(lambda x, y: (x, 3, 2.5, True, None, np.float32(7), table, y, x))
    x, y = arr(1, 2), arr(3)
    for _ in range(3):
        out = f(x, y)
        assert out[0] is x and out[7] is y and out[8] is x and out[4] is None
        same(out[1], 3)
        same(out[2], np.float32(2.5))
        assert out[1].weak_type and out[2].weak_type and not out[5].weak_type and out[3].dtype == bool
        same(out[6], [0, 1, 2])


def test_unused_arguments_and_sizes_of_zero():
    f = jit(lambda x, unused: (reduce_sum(x, axes=(0,)), add(x, x)))
    for _ in range(3):
        total, twice = f(from_numpy(np.zeros((0, 2))), arr(1))
        same(total, [0, 0])
        assert twice.shape == (0, 2) and np.asarray(twice).shape == (0, 2)


def test_large_results_and_reuse_of_their_memory():
    f = jit(lambda x: mul(x, x))
    x = from_numpy(np.arange(200_000.0))
    first = f(x)
    for _ in range(5):
        same(f(x), np.arange(200_000.0) ** 2)
    same(first, np.arange(200_000.0) ** 2)


# --- ways to write it ------------------------------------------------------------------------------------------


def test_decorator_methods_partials_and_callables():
    @jit
    def plain(x):
        """Twice."""
        return add(x, x)

    assert plain.__name__ == "plain" and plain.__doc__ == "Twice." and "jitted plain" in repr(plain)

    @jit(static_argnums=(0,))
    @functools.wraps(plain)
    def static(n, x):
        return mul(x, np.float64(n))

    same(static(3, arr(1, 2)), [3, 6])

    class Model:
        def __init__(self, w):
            self.w = w

        @jit(static_argnums=0)
        def apply(self, x):
            return mul(x, self.w)

        def __call__(self, x):
            return add(x, self.w)

        @staticmethod
        @jit
        def twice(x):
            return add(x, x)

    a, b = Model(arr(2)), Model(arr(5))
    for _ in range(3):
        same(a.apply(arr(3)), [6])
        same(b.apply(arr(3)), [15])
        same(Model.apply(a, arr(3)), [6])
        same(Model.twice(arr(3)), [6])
    same(jit(a)(arr(3)), [5])
    same(jit(a.__call__)(arr(3)), [5])
    same(jit(functools.partial(sub, arr(7)))(arr(3)), [4])
    same(jit(jit(plain))(arr(3)), [6])


def test_it_is_a_function_like_any_other():
    def f(x, y=2.0, *, z=1.0):
        return x * y + z

    g = jit(f)
    for _ in range(3):
        g(1.0)
    assert inspect.signature(g) == inspect.signature(f) and copy.deepcopy(g) is g and callable(g) and hash(g) == hash(g)
    assert float(functools.partial(g, 2.0)(3.0)) == 7 and float(functools.partial(functools.partial(g, z=0.0), 2.0)(3.0)) == 6
    assert [float(v) for v in map(g, [1.0, 2.0])] == [3, 5]
    bound = Partial(g, fnp.asarray(2.0))
    assert float(jit(lambda p, y: p(y))(bound, 3.0)) == 7


def test_keywords_are_checked():
    with pytest.raises(UsageError, match="callable(.|\n)*jit\\(f\\)\\(x\\)"):
        jit(3)
    with pytest.raises(UsageError, match="in_shardings"):
        jit(neg, in_shardings="x")
    with pytest.raises(UsageError, match="gpu"):
        jit(neg, backend="gpu")
    with pytest.raises(UsageError, match="compiler_options"):
        jit(neg, compiler_options={"a": 1})
    same(jit(neg, backend="cpu", device=None, keep_unused=True, compiler_options={})(arr(1)), [-1])


# --- statics ----------------------------------------------------------------------------------------------------


def test_statics_by_number_by_name_negative_and_by_default():
    traced = []

    @jit(static_argnames=("n", "mode"))
    def f(x, n, mode="add"):
        traced.append((n, mode))
        return add(x, np.float64(n)) if mode == "add" else mul(x, np.float64(n))

    x = arr(5)
    for _ in range(3):
        same(f(x, 2), [7])
        same(f(x, n=2), [7])
        same(f(x, 3, "mul"), [15])
        same(f(x, 3, mode="mul"), [15])
    assert len(traced) == 4
    g = jit(lambda x, n: mul(x, np.float64(n)), static_argnums=-1)
    for n in (1, True, 1.0, 2):
        same(g(x, n), [5 * n])
    assert g.cache_info().traces == 4 and "static n: 1.0 -> 2" in g.cache_info().why
    with pytest.raises(UsageError, match="static argument n is a list"):
        g(x, [1])


# --- donation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (300, 300)])
def test_donation_moves_memory(shape):
    f = jit(lambda s, x: {"w": add(s["w"], x)}, donate_argnums=0)
    one = from_numpy(np.ones(shape))
    state, places = {"w": from_numpy(np.zeros(shape))}, set()
    for i in range(6):
        old = state["w"]
        state = f(state, one)
        places.add(state["w"]._address)
        same(state["w"], np.full(shape, i + 1.0))
        with pytest.raises(DeletedArrayError, match=r"donated(.|\n)*x = step\(x\)"):
            np.asarray(old)
        with pytest.raises(DeletedArrayError):
            f({"w": old}, one)
    assert len(places) <= 2 and not one.is_deleted()


def test_donation_never_changes_what_somebody_sees():
    f = jit(lambda x: add(x, np.float64(1)), donate_argnums=0)
    f(arr(0))
    for make in (lambda: from_numpy(np.zeros(3)), lambda: f(from_numpy(np.full(3, -1.0)))):
        for _ in range(3):
            x = make()
            view = np.asarray(x)
            same(f(x), [1, 1, 1])
            np.testing.assert_array_equal(view, [0, 0, 0])
    a = np.zeros(3)
    for _ in range(3):
        same(f(a), [1, 1, 1])
        same(f(from_numpy(a, copy=False)), [1, 1, 1])
        assert (a == 0).all()


def test_donating_one_array_twice_or_without_use():
    f = jit(lambda x, y: add(x, y), donate_argnums=0)
    for _ in range(3):
        x = arr(1, 2)
        with pytest.raises(UsageError, match="two arguments"):
            f(x, x)
        same(f(x, arr(1, 1)), [2, 3])
    g = jit(lambda x, y: (y, x), donate_argnames="x")
    for _ in range(3):
        x, y = arr(1), arr(2)
        out = g(x, y)
        assert x.is_deleted() and not y.is_deleted() and out[0] is y
        same(out[1], [1])


# --- keys -------------------------------------------------------------------------------------------------------


def test_reasons_name_the_leaf_and_the_property():
    f = jit(lambda params, x: x)
    f({"w": arr(1, 2), "b": arr(1)}, 1.0)
    f({"w": arr(1, 2, 3), "b": arr(1)}, 1.0)
    f({"w": arr(1, 2, 3), "b": arr(1, dtype=np.float32)}, 1.0)
    f({"w": arr(1, 2, 3), "b": arr(1)}, arr(1.0, dtype=np.float32))
    f({"w": arr(1, 2, 3)}, 1.0)
    with config.override(index_mode="clip"):
        f({"w": arr(1, 2, 3)}, 1.0)
    info = f.cache_info()
    assert (info.traces, info.retraces, info.size) == (6, 5, 6)
    assert info.reasons[0] == "params['w']: f64[2] -> f64[3] (shape)"
    assert info.reasons[1] == "params['b']: f64[1] -> f32[1] (dtype)"
    assert info.reasons[2] == "x: f32[] weak -> f32[1] (shape, weak_type)"
    assert info.reasons[3].startswith("structure of the arguments")
    assert info.reasons[4] == "config.index_mode: 'raise' -> 'clip'"
    assert "retraced: params['w']" in str(info)
    f.clear_cache()
    assert f.cache_info()[:3] == (0, 0, 0)


def test_new_functions_with_the_same_code_share_their_traces():
    traced = []

    def make(scale):
        return jit(lambda x: traced.append(0) or mul(x, scale))

    w = arr(2, 3)
    with counters() as c:
        for _ in range(4):
            same(make(np.float64(3))(arr(1, 1)), [3, 3])
    assert c.traces == 4  # `traced` is a list: it could change
    make = lambda scale: jit(lambda x: mul(x, scale))  # noqa: E731
    with counters() as c:
        for _ in range(4):
            same(make(np.float64(3))(arr(1, 1)), [3, 3])
            same(make(w)(arr(1, 1)), [2, 3])
    assert c.traces == 2
    other = arr(5, 5)
    same(make(other)(arr(1, 1)), [5, 5])
    same(make(w)(arr(1, 1)), [2, 3])


def test_clear_caches_forgets():
    f = jit(lambda x: neg(x))
    for _ in range(3):
        f(arr(1))
    clear_caches()
    with counters() as c:
        same(f(arr(1)), [-1])
        same(f(arr(1)), [-1])
    assert c.traces == 1 and c.compiled == 0


def test_alternating_kinds_of_arguments():
    f = jit(lambda x: add(x, x))
    kinds = [arr(1, 2), arr(1, 2, 3), 2.0, np.ones(2), arr(1, dtype=np.int32)]
    for _ in range(4):
        for x in kinds:
            same(f(x), np.asarray(x) * 2)
    assert f.cache_info().traces == 4  # the NumPy array is like the first


# --- closures and traces ------------------------------------------------------------------------------------------


def test_captured_arrays_are_arguments():
    w = arr(1, 2)
    f = jit(lambda x: add(mul(x, w), w))
    for _ in range(3):
        same(f(arr(10, 10)), [11, 22])
    w.delete()
    with pytest.raises(DeletedArrayError):
        f(arr(10, 10))


def test_the_function_runs_once_and_prints_while_it_is_traced(capsys):
    @jit
    def f(x):
        print("tracing", x.shape)
        return neg(x)

    for _ in range(3):
        f(arr(1, 2))
    assert capsys.readouterr().out == "tracing (2,)\n"


def test_nested_jit_is_one_program():
    inner = jit(lambda x, y: (mul(x, y), add(x, y)))
    outer = jit(lambda x: add(*inner(x, inner(x, x)[0])))
    for _ in range(3):
        same(outer(arr(3.0)), [27 + 12])
    jaxpr, _ = stage(lambda x: [outer(x)], [arr(3.0).aval])
    assert [e.primitive.name for e in jaxpr.eqns] == ["jit"]
    spread, _ = stage(lambda x: [jit(lambda x: neg(x), inline=True)(x)], [arr(3.0).aval])
    assert [e.primitive.name for e in spread.eqns] == ["neg"]


def test_disable_jit_runs_python():
    seen = []
    f = jit(lambda x: seen.append(np.asarray(x)) or neg(x))
    with config.override(disable_jit=True):
        same(f(arr(2)), [-2])
        assert seen[0] == 2


def test_a_leaked_tracer_is_named():
    kept = []
    jit(lambda x: kept.append(x) or x)(arr(1))
    with pytest.raises(UnexpectedTracerError):
        jit(lambda y: add(y, kept[0]))(arr(1))
    with pytest.raises(UnexpectedTracerError):
        jit(lambda y: y)(kept[0])


def test_pickles_by_name_and_by_function():
    f = pickle.loads(pickle.dumps(by_name))
    assert f is by_name
    g = pickle.loads(pickle.dumps(jit(of_two, static_argnums=1)))
    same(g(arr(2), 3), [6])
    h = pickle.loads(cloudpickle.dumps(jit(lambda x, n: mul(x, np.float64(n)), static_argnames="n")))
    same(h(arr(2), n=3), [6])


@jit
def by_name(x):
    return neg(x)


def of_two(x, n):
    return mul(x, np.float64(n))


# --- errors and checks --------------------------------------------------------------------------------------------


def test_leaves_that_are_no_arrays_are_named():
    f = jit(lambda a, b: a)
    for bad, kind in [
        ({"b": [1.0, "s"]}, "str 's'"),
        ({"b": [1.0, np.array(["s"])]}, "dtype <U1"),
        ({"b": [1, object()]}, "object"),
    ]:
        with pytest.raises(DtypeError, match=rf"got .*{kind}.* for the argument b\['b'\]\[1\](.|\n)*Allowed(.|\n)*Try: jit\("):
            f(1.0, bad)
    with pytest.raises(DtypeError, match=r"returned str 'x' at \['k'\]"):
        jit(lambda x: {"k": "x"})(1.0)


def test_a_masked_array_is_refused_also_by_generated_calls():
    f = jit(lambda tree: neg(tree["x"]))
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for _ in range(5):
        f({"x": np.ones(2)})
        with pytest.raises(TypeError, match=r"got a masked array for the argument tree\['x'\](.|\n)*filled"):
            f({"x": masked})


def test_debug_nans_names_the_operator_and_the_line():
    f = jit(lambda x: exp(log(x)))
    assert np.isnan(np.asarray(f(arr(-1.0)))).all()
    with config.override(debug_nans=True):
        with pytest.raises(NanError, match=r"log gave a NaN.*test_jit.py:\d+(.|\n)*no NaN: it was born here"):
            f(arr(-1.0))
        same(f(arr(0.0)), [0])


def test_debug_nans_says_in_which_pass_of_a_gradient():
    x = np.zeros(3, np.float32)
    back = lambda x: reduce_sum(mul(sqrt(x), np.float32(0)), axes=(0,))  # 0 times the infinite slope
    forth = lambda x: reduce_sum(log(sub(x, np.float32(1))), axes=(0,))
    inner = jit(back)
    with config.override(debug_nans=True):
        for f in (grad(back), jit(grad(back)), grad(inner), jit(grad(inner))):
            with pytest.raises(NanError, match=r"mul gave a NaN.*test_jit.py:\d+(.|\n)*in the backward pass(.|\n)*born here"):
                f(x)
        with pytest.raises(NanError, match=r"log gave a NaN.*test_jit.py:\d+(.|\n)*in the forward pass(.|\n)*born here"):
            jit(value_and_grad(forth))(x)
        with pytest.raises(NanError) as caught:
            jit(forth)(x)
        assert " pass" not in str(caught.value)


def test_log_compiles(caplog):
    with caplog.at_level(logging.WARNING, "funcgrad"), config.override(log_compiles=True):
        jit(lambda x: sub(neg(x), x))(arr(1))
    assert "traced <lambda>" in caplog.text and "compiled <lambda>" in caplog.text


def test_package_frames_are_hidden():
    def wrong(x):
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        jit(wrong)(arr(1))
    files = {entry.path.name for entry in caught.traceback}
    assert files == {"test_jit.py"}


def test_arrays_of_other_libraries_are_named():
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return np.ones(2)

    with pytest.raises(
        TypeError, match=r"(?s)got Tensor .* for the argument x\[1\].*Try: fnp\.asarray\(x\[1\]\) before the call"
    ):
        jit(lambda x: x)((1.0, Tensor()))


def test_an_index_out_of_range_is_an_index_error_with_the_line():
    f = jit(lambda x, i: fnp.sin(x)[i])
    x = fnp.arange(5.0)
    for _ in range(3):
        assert f(x, fnp.asarray([1, -1])).shape == (2,)
        with pytest.raises(IndexError, match=r"index 7 is out of range for axis 0 with size 5.*test_jit.py:\d+"):
            f(x, fnp.asarray([1, 7]))


def test_transforms_of_jitted_functions_run_programs():
    f = jit(lambda p, x: fnp.sum(fnp.tanh(x * p["w"]) ** 2))
    p, x = {"w": fnp.asarray(0.3)}, fnp.asarray([0.1, 0.5, 2.0])
    want = value_and_grad(lambda p, x: fnp.sum(fnp.tanh(x * p["w"]) ** 2))(p, x)
    for g in (value_and_grad(f), jit(value_and_grad(f)), value_and_grad(jit(f))):
        for _ in range(3):
            value, gradient = g(p, x)
            np.testing.assert_allclose(value, want[0], rtol=1e-6)
            np.testing.assert_allclose(gradient["w"], want[1]["w"], rtol=1e-6)
    with counters() as c:
        value_and_grad(f)(p, x)
    assert (c.traces, c.programs, c.compiled) == (0, 0, 0) and c.launches >= 2
    np.testing.assert_allclose(vmap(f, in_axes=(None, 0))(p, x), fnp.tanh(x * p["w"]) ** 2, rtol=1e-6)
    w = fnp.asarray([1.0, 2.0])
    np.testing.assert_allclose(grad(lambda v: jit(lambda u: fnp.sum(u * v * w))(w))(w), [1, 4])


def test_many_leaves():
    f = jit(lambda d: {k: v * 2 for k, v in d.items()})
    for count in (300, 2500):
        d = {f"k{i}": fnp.asarray(float(i)) for i in range(count)}
        for _ in range(3):
            out = f(d)
            assert [float(out[f"k{i}"]) for i in range(count)] == [2.0 * i for i in range(count)]
