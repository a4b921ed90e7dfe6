"""Functions, programs and values that are pickled, copied and sent to other processes."""

import copy
import functools
import gc
import importlib
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.bridge import travel
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.runtime import cache

cloudpickle = pytest.importorskip("cloudpickle")
X = np.arange(4.0)
PACKAGE = str(Path(fg.__file__).parents[1])

WORKER = """
import functools
import numpy as np
import funcgrad as fg, funcgrad.numpy as fnp
from funcgrad.testing import counters

SCALE = 3.0

def plain(x):
    return fnp.tanh(x) * SCALE

named = fg.jit(plain)

@fg.jit
def decorated(x):
    return fnp.tanh(x) * SCALE

@functools.partial(fg.jit, static_argnames="n", donate_argnums=0)
def powers(x, n):
    return x ** n if n else x

def give_back(x, more):
    return x + 0, more

def wrong():
    return fnp.ones(3) + fnp.ones(2)

def run(f, x):
    with counters() as c:
        out = np.asarray(f(x))
    return out, c.traces, c.compiled, c.loaded
"""


def there_and_back(x, by=pickle):
    return pickle.loads(by.dumps(x))


@pytest.fixture
def worker(tmp_path, monkeypatch):
    (tmp_path / "travel_worker.py").write_text(WORKER)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("travel_worker")
    yield module
    del sys.modules["travel_worker"]


@pytest.fixture(scope="module")
def cache_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def cold(cache_folder, monkeypatch):
    """A disk cache of these tests, for this process and for those that it starts."""
    monkeypatch.setenv("FUNCGRAD_CACHE_DIR", str(cache_folder))
    monkeypatch.setenv("PYTHONPATH", PACKAGE)
    cache.use(cache.DiskCache(cache_folder))
    yield
    cache.use(None)


# --- values and programs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [there_and_back, copy.deepcopy, functools.partial(there_and_back, by=cloudpickle)])
def test_arrays_keys_and_trees(copied):
    for dtype in ("float32", "int8", "complex64", "bool", fnp.bfloat16):
        x = fnp.asarray(X).astype(dtype)
        y = copied({"x": x, "weak": fg.jit(lambda x: x)(1.0)})
        np.testing.assert_array_equal(np.asarray(y["x"]), np.asarray(x))
        assert y["x"].aval is x.aval and y["weak"].weak_type
    assert copied(fnp.asarray(np.ones((3, 4)).T)[::2]).shape == (2, 3)
    key = fg.random.split(fg.random.key(5))
    assert copied(key).aval is key.aval
    np.testing.assert_array_equal(fg.random.normal(copied(key)[0]), fg.random.normal(key[0]))
    tree = fg.tree_util.tree_structure({"a": [1, (2, None)], "b": 3})
    assert copied(tree) == tree and hash(copied(tree)) == hash(tree)
    assert copied(tree).unflatten([1, 2, 3]) == {"a": [1, (2, None)], "b": 3}


def test_the_bytes_of_a_pickled_array_are_its_own():
    x = fnp.asarray(np.arange(1000.0))
    assert len(pickle.dumps(x[:10])) < 1000


@pytest.mark.parametrize("copied", [there_and_back, copy.deepcopy])
def test_jaxprs(copied):
    def f(x):
        c, ys = lax.scan(lambda c, y: (c + fnp.sin(y), c * 2), 0.0, x)
        return lax.cond(c > 0, lambda: ys * W, lambda: ys[::-1]), fg.jit(fnp.tanh)(c)

    W = fnp.asarray(X)
    closed = fg.make_jaxpr(f)(X)
    again = copied(closed)
    assert str(again) == str(closed)
    assert all(a is b for a, b in zip(again.in_avals, closed.in_avals))
    for a, b in zip(_run(again), _run(closed)):
        np.testing.assert_array_equal(a, b)


@fg.custom_jvp
def triple_slope(x):
    return fnp.sin(x)


@triple_slope.defjvp
def _triple_slope_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return triple_slope(x), 3 * t * fnp.cos(x)


def own_rules():
    @fg.custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * x,))

    @fg.custom_jvp
    def g(x):
        return x * 2

    g.defjvp(lambda primals, tangents: (g(*primals), 5 * tangents[0]))
    return f, g


@pytest.mark.parametrize("copied", [there_and_back, copy.deepcopy, functools.partial(there_and_back, by=cloudpickle)])
def test_jaxprs_with_functions_of_the_user(copied):
    f, g = own_rules()
    kind = fg.ShapeDtypeStruct((4,), "float64")
    for h in (
        lambda x: f(x) + g(x),
        fg.jit(lambda x: triple_slope(f(x))),
        fg.vmap(g),
        lambda x: fg.jvp(g, (x,), (x,))[1],
        lambda x: fg.pure_callback(lambda v: v + 1, kind, x),
        lambda x: fg.checkpoint(lambda y: fnp.sin(y) * 2)(x),
        lambda x: lax.cond(x.sum() > 0, f, g, x),
        fg.grad(lambda x: (f(x) * g(x)).sum()),
    ):
        closed = fg.make_jaxpr(h)(X)
        for a, b in zip(_run(copied(closed)), _run(closed), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("copied", [there_and_back, copy.deepcopy, functools.partial(there_and_back, by=cloudpickle)])
def test_functions_with_rules(copied):
    f, g = own_rules()
    for h in (f, g, triple_slope, fg.jit(f), fg.jit(triple_slope)):
        again = copied(h)
        np.testing.assert_array_equal(again(X), h(X))
        np.testing.assert_array_equal(fg.vjp(again, X)[1](X)[0], fg.vjp(h, X)[1](X)[0])
    assert copied(triple_slope) is triple_slope or copied.keywords  # cloudpickle sends what this module holds by value


def test_rules_do_not_keep_their_arguments_alive():
    x = fnp.asarray(np.arange(5.0))
    closed = fg.make_jaxpr(lambda y: triple_slope(y))(x)
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None and closed.eqns


def test_small_things():
    x = fnp.ones(2)
    for thing in (fnp.float32, fnp.bfloat16, x.device, x.dtype, x.aval, fnp.add, fnp.sin, fnp.linalg.solve):
        assert there_and_back(thing) is thing or there_and_back(thing) == thing
        assert copy.deepcopy(thing) is thing or copy.deepcopy(thing) == thing
    assert there_and_back(fnp.finfo("float32")).eps == copy.deepcopy(fnp.finfo("float32")).eps == fnp.finfo("float32").eps
    spec = there_and_back(fg.ShapeDtypeStruct((2, 3), "float32"))
    assert spec.shape == (2, 3) and spec.dtype == np.float32


def _raised(f):
    with pytest.raises(Exception) as caught:
        f()
    return caught.value


@pytest.mark.parametrize(
    "f",
    [
        lambda: fg.jit(lambda x: 1 if x > 0 else 2)(1.0),
        lambda: fg.jit(lambda x: range(x))(1),
        lambda: fg.jit(lambda x: np.asarray(x))(1.0),
        lambda: fg.jit(lambda x: float(x))(1.0),
        lambda: fg.jit(lambda x: x[x > 0])(X),
        lambda: fg.jit(lambda x, i: x[i])(X, 9),
        lambda: fnp.ones(3) + fnp.ones(2),
        lambda: fnp.ones(3).__setitem__(0, 1),
        lambda: fg.grad(lambda x: x)(X),
        lambda: fnp.asarray(["a"]),
        lambda: fnp.ones(3, device="tpu"),
        lambda: fg.check(False, "message {x}", x=3),
    ],
)
def test_errors_come_back_from_workers(f):
    """What cannot be unpickled hangs a pool."""
    error = _raised(f)
    for again in (there_and_back(error), copy.deepcopy(error)):
        assert type(again) is type(error) and str(again) == str(error)


def _run(closed):
    return evaluate_numpy(closed.jaxpr, [np.asarray(c) for c in closed.consts], [X])


@pytest.mark.parametrize("copied", [there_and_back, copy.deepcopy])
def test_pullbacks(copied):
    for f in (
        lambda x: fnp.sin(x) * x,
        fg.jit(lambda x: fnp.sin(x) * x),
        lambda x: lax.scan(lambda c, v: (c * v + 1, c), 1.0, x)[1],
    ):
        y, pull = fg.vjp(f, X)
        np.testing.assert_array_equal(copied(pull)(y)[0], pull(y)[0])
        y, forward = fg.linearize(f, X)
        np.testing.assert_array_equal(copied(forward)(X), forward(X))
    partial = fg.tree_util.Partial(fnp.multiply, fnp.asarray(X))
    np.testing.assert_array_equal(copied(partial)(2.0), 2 * X)


# --- jitted functions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [pickle, cloudpickle])
def test_jitted_functions(by):
    w = fnp.asarray(X)
    ruled = fg.custom_vjp(fg.jit(lambda x: x * 2))
    ruled.defvjp(lambda x: (x * 2, None), lambda _, ct: (ct,))
    for f in (
        lambda x: x * w + 1,
        fg.grad(lambda x: (x**2 * w).sum()),
        fg.vmap(lambda x: x * 2),
        functools.partial(lambda a, x: a * x, 3.0),
        fg.jit(lambda x: x - 1),
        fg.grad(fg.jit(lambda x: (x**2 * w).sum())),  # what was compiled of the inner one stays here
        fg.vmap(fg.jit(lambda x: x * 2)),
        fg.checkpoint(fg.jit(lambda x: x * 2)),
        fnp.vectorize(fg.jit(lambda x: x * 2)),
        ruled,
        Model(2.0).call,
        Model(3.0),
        fnp.sin,
    ):
        g = fg.jit(f)
        again = there_and_back(g, by)
        assert type(again) is type(g)
        np.testing.assert_array_equal(again(X), g(X))
        np.testing.assert_array_equal(fg.jit(lambda x, g=g: there_and_back(g, by)(x))(X), g(X))
        assert copy.deepcopy(g) is g and copy.copy(g) is g
    f = fg.jit(lambda x: x * 2 if x.sum() > 0 else x, branches="specialise", max_paths=3)
    again = there_and_back(f, by)
    np.testing.assert_array_equal(again(X), 2 * X)
    assert again._dispatcher.options.max_paths == 3


class Model:
    def __init__(self, scale):
        self.scale = scale

    def call(self, x):
        return x * self.scale

    __call__ = call


@pytest.mark.parametrize("by", [pickle, cloudpickle])
def test_named_functions_go_by_name(worker, by):
    assert there_and_back(worker.decorated, by) is worker.decorated
    assert there_and_back(worker.powers, by) is worker.powers
    again = there_and_back(worker.named, by)
    assert again.__wrapped__ is worker.plain
    np.testing.assert_array_equal(again(X), worker.named(X))
    assert len(by.dumps(worker.named)) < 1200 and b"tanh" not in by.dumps(worker.named)


def test_options_travel():
    f = fg.jit(lambda x, n: x**n, static_argnums=1, donate_argnums=0)
    again = there_and_back(f)
    x = fnp.asarray(X) + 0
    np.testing.assert_array_equal(again(x, 2), X**2)
    assert x.is_deleted()


def test_a_function_that_calls_itself():
    @fg.jit
    def total(x, depth=0):
        return x.sum() if depth == 3 else total(x * 2, depth=depth + 1)

    total = fg.jit(total.__wrapped__, static_argnames="depth")
    assert float(there_and_back(total)(X)) == float(total(X)) == 8 * X.sum()


def test_without_cloudpickle(monkeypatch, worker):
    class Missing:
        def __getattr__(self, name):
            raise ImportError("No module named 'cloudpickle'")

    monkeypatch.setattr(travel, "cloudpickle", Missing())
    monkeypatch.setattr(travel.importlib.util, "find_spec", lambda name: None)
    assert there_and_back(worker.decorated) is worker.decorated
    np.testing.assert_array_equal(there_and_back(worker.named)(X), worker.named(X))
    with pytest.raises(pickle.PicklingError, match="cannot be pickled(.|\n)*pip install cloudpickle"):
        pickle.dumps(fg.jit(lambda x: x))


def test_what_cannot_be_pickled_says_so():
    lock = __import__("threading").Lock()
    with pytest.raises(pickle.PicklingError, match="nor by value(.|\n)*define it in a module"):
        pickle.dumps(fg.jit(lambda x: (lock, x)[1]))


# --- other processes --------------------------------------------------------------------------------------------------------


def test_spawned_processes_find_warm_kernels(worker, cold):
    scale = 5.0
    functions = [
        worker.decorated,
        worker.named,
        fg.jit(lambda x: fnp.cos(x) * scale),
        fg.jit(fg.grad(lambda x: fnp.tanh(x).sum())),
    ]
    here = [worker.run(f, X) for f in functions]
    _fill_cache(functions)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = [pool.apply(worker.run, (f, X)) for f in functions]
    for (a, *_), (b, traces, compiled, _) in zip(here, there):
        np.testing.assert_array_equal(a, b)
        assert traces <= 1 and compiled == 0
    assert sum(loaded for *_, loaded in there) > 0


def test_forked_processes_find_warm_kernels(worker, cold):
    functions = [worker.decorated, fg.jit(lambda x: fnp.cos(x) * 11.0)]
    here = [worker.run(f, X)[0] for f in functions]
    _fill_cache(functions)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        there = pool.starmap(worker.run, [(f, X) for f in functions] * 2)
    for want, (out, _, compiled, _) in zip(here * 2, there, strict=True):
        np.testing.assert_array_equal(out, want)
        assert compiled == 0


def test_values_go_to_workers_and_come_back(worker, cold):
    key = fg.random.key(3)
    closed = fg.make_jaxpr(lambda x: own_rules()[0](fnp.tanh(x)))(X)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        x, (k, again) = pool.apply(worker.give_back, (fnp.asarray(X), (key, closed)))
        assert isinstance(x, fg.Array) and x.tolist() == X.tolist() and not np.asarray(x).flags.writeable
        np.testing.assert_array_equal(fg.random.key_data(k), fg.random.key_data(key))
        np.testing.assert_array_equal(_run(again)[0], _run(closed)[0])
        with pytest.raises(fg.errors.ShapeError, match="broadcast"):
            pool.apply(worker.wrong)


def _fill_cache(functions):
    """This process may have had the kernels in memory: let a process without them write them to disk."""
    program = "import sys, pickle, numpy as np; fs, x = pickle.load(sys.stdin.buffer); [f(x) for f in fs]"
    path = os.pathsep.join([PACKAGE, *[p for p in sys.path if Path(p, "travel_worker.py").exists()]])
    subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps((functions, X)), check=True, env=os.environ | {"PYTHONPATH": path}
    )


def test_functions_of_main_are_sent_to_a_pool(tmp_path, cold):
    program = """
    import multiprocessing, numpy as np, funcgrad as fg, funcgrad.numpy as fnp
    @fg.jit
    def f(x):
        return fnp.sin(x) + 1
    def call(f):
        return np.asarray(f(np.zeros(2))).tolist()
    if __name__ == "__main__":
        for start in ("spawn", "fork"):
            with multiprocessing.get_context(start).Pool(1) as pool:
                assert pool.map(call, [f, fg.jit(lambda x: x + 1)]) == [[1.0, 1.0], [1.0, 1.0]]
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    subprocess.run([sys.executable, str(tmp_path / "program.py")], check=True, timeout=120)


def test_joblib(worker, cold):
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    f = fg.jit(lambda x: fnp.tanh(x) * 7)
    want = np.asarray(f(X))
    _fill_cache([f, worker.named])
    with joblib.parallel_config(backend="loky", n_jobs=2):
        results = joblib.Parallel()(joblib.delayed(worker.run)(f, X) for _ in range(3))
    for out, _, compiled, _ in results:
        np.testing.assert_array_equal(out, want)
        assert compiled == 0
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        for out, _, compiled, _ in joblib.Parallel()(joblib.delayed(worker.run)(worker.named, X) for _ in range(3)):
            np.testing.assert_allclose(out, np.tanh(X) * 3, rtol=1e-15)
            assert compiled == 0
    with joblib.parallel_config(backend="threading", n_jobs=2):
        for out in joblib.Parallel()(joblib.delayed(f)(X) for _ in range(3)):
            np.testing.assert_array_equal(out, want)
