"""Functions, programs and values that are pickled, copied and sent to other processes."""

import copy
import functools
import importlib
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
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


@pytest.fixture
def cold(tmp_path, monkeypatch):
    """A disk cache of its own, for this process and for those that it starts."""
    monkeypatch.setenv("FUNCGRAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", PACKAGE)
    cache.use(cache.DiskCache(tmp_path / "cache"))
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
    for f in (
        lambda x: x * w + 1,
        fg.grad(lambda x: (x**2 * w).sum()),
        fg.vmap(lambda x: x * 2),
        functools.partial(lambda a, x: a * x, 3.0),
        fg.jit(lambda x: x - 1),
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
    _fill_cache([f])
    with joblib.parallel_config(backend="loky", n_jobs=2):
        results = joblib.Parallel()(joblib.delayed(worker.run)(f, X) for _ in range(3))
    for out, _, compiled, _ in results:
        np.testing.assert_array_equal(out, want)
        assert compiled == 0
    with joblib.parallel_config(backend="threading", n_jobs=2):
        for out in joblib.Parallel()(joblib.delayed(f)(X) for _ in range(3)):
            np.testing.assert_array_equal(out, want)
