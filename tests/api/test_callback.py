"""pure_callback and io_callback: what they get, what they may return, and every transform."""

import traceback

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.errors import DtypeError, ShapeError, TreeError, UsageError
from funcgrad.testing import counters

F32 = np.float32
X = fnp.asarray(np.linspace(0.2, 1.4, 5, dtype=F32))


def like(x):
    return fg.ShapeDtypeStruct(x.shape, x.dtype)


def host_sin(x, **kwargs):
    return fg.pure_callback(np.sin, like(x), x, **kwargs)


# --- pure_callback ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
def test_values(transform):
    f = transform(lambda x: host_sin(x * 2) + 1)
    for _ in range(4):  # the fast road of jit, too
        np.testing.assert_allclose(f(X), np.sin(2 * np.asarray(X)) + 1, rtol=1e-6)


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
def test_trees_and_keywords(transform):
    def host(tree, *, scale):
        assert isinstance(tree["a"], np.ndarray) and tree["a"].dtype == F32
        assert isinstance(scale, np.ndarray) and scale.shape == ()
        return {"sum": tree["a"].sum() * scale, "two": (tree["b"][0] + 1, np.int32(7))}

    shapes = {
        "sum": fg.ShapeDtypeStruct((), F32),
        "two": (fg.ShapeDtypeStruct((2,), np.int64), fg.ShapeDtypeStruct((), np.int32)),
    }
    f = transform(lambda a, b: fg.pure_callback(host, shapes, {"a": a, "b": [b]}, scale=fnp.float32(2)))
    out = f(X, np.array([3, 4]))
    assert float(out["sum"]) == pytest.approx(8.0) and out["two"][0].tolist() == [4, 5] and int(out["two"][1]) == 7


def test_the_function_owns_its_arrays():
    kept = []

    def host(x):
        kept.append(x)
        x += 1  # its own: nothing else changes
        return x

    f = fg.jit(lambda x: (fg.pure_callback(host, like(x), x * 2), x * 2))
    a, b = f(X)
    np.testing.assert_array_equal(a, np.asarray(b) + 1)
    kept[0][:] = 0
    np.testing.assert_array_equal(a, np.asarray(b) + 1)
    eager = fg.pure_callback(host, like(X), X)
    kept[-1][:] = 0
    np.testing.assert_array_equal(eager, np.asarray(X) + 1)


def test_keys_and_scalars():
    key = fg.random.key(3)
    f = fg.jit(lambda k: fg.pure_callback(lambda k: fg.random.split(k, 2)[0], like(k), k))
    assert str(f(key)) == str(fg.random.split(key, 2)[0])
    g = fg.jit(lambda x: fg.pure_callback(lambda x: 2, fg.ShapeDtypeStruct((), F32), x))
    assert g(1.0).dtype == F32 and float(g(1.0)) == 2


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
@pytest.mark.parametrize(
    "host, error, words",
    [
        (lambda x: x[:2], ShapeError, r"returned shape \(2,\).*declared shape \(5,\)"),
        (lambda x: x.astype(np.float64), DtypeError, "returned dtype float64.*declared dtype f32"),
        (lambda x: (x, x), TreeError, "returned the structure"),
        (lambda x: None, TreeError, "returned the structure"),
    ],
)
def test_results_are_checked(transform, host, error, words):
    with pytest.raises(error, match="(?s)pure_callback of <lambda>.*" + words):
        transform(lambda x: fg.pure_callback(host, like(x), x))(X)


def test_declarations_are_checked():
    with pytest.raises(UsageError, match="ShapeDtypeStruct"):
        fg.pure_callback(np.sin, 3.0, X)
    with pytest.raises(UsageError, match="vmap_method"):
        host_sin(X, vmap_method="vectorised")
    with pytest.raises(UsageError, match="callable"):
        fg.pure_callback(X, like(X), X)


@pytest.mark.parametrize("transform", [fg.grad, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f))])
def test_differentiating_says_what_to_do(transform):
    with pytest.raises(UsageError, match="custom_jvp"):
        transform(lambda x: fnp.sum(host_sin(x)))(X)
    with pytest.raises(UsageError, match="custom_jvp"):
        transform(lambda x: fg.io_callback(np.sin, like(x), x).sum())(X)
    y = transform(lambda x: fnp.sum(host_sin(lax.stop_gradient(x)) * x))(X)
    np.testing.assert_allclose(y, np.sin(X), rtol=1e-6)


def test_with_a_rule_it_is_differentiable():
    @fg.custom_jvp
    def f(x):
        return host_sin(x, vmap_method="expand_dims")

    f.defjvp(lambda primals, tangents: (f(*primals), fg.pure_callback(np.cos, like(X), primals[0]) * tangents[0]))
    np.testing.assert_allclose(fg.grad(lambda x: f(x).sum())(X), np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(fg.jit(fg.grad(lambda x: f(x).sum()))(X), np.cos(X), rtol=1e-6)


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
@pytest.mark.parametrize(
    "method, shapes",
    [
        ("sequential", [((3,), (2,))] * 4),
        ("expand_dims", [((4, 3), (1, 2))]),
        ("broadcast_all", [((4, 3), (4, 2))]),
        ("legacy_vectorized", [((4, 3), (2,))]),
    ],
)
def test_vmap_methods(transform, method, shapes):
    seen = []

    def host(x, w):
        seen.append((x.shape, w.shape))
        return x.sum(-1) * w.sum(-1)

    x, w = np.arange(12, dtype=F32).reshape(3, 4), np.array([1, 2], F32)
    f = transform(
        fg.vmap(lambda x, w: fg.pure_callback(host, fg.ShapeDtypeStruct((), F32), x, w, vmap_method=method), in_axes=(1, None))
    )
    np.testing.assert_allclose(f(x, w), x.sum(0) * 3)
    assert seen == shapes


def test_vmap_of_vmap():
    x = np.arange(6, dtype=F32).reshape(2, 3)
    for method in ("sequential", "expand_dims", "broadcast_all"):
        f = lambda x, method=method: fg.pure_callback(lambda x: x * 2, like(x), x, vmap_method=method)
        np.testing.assert_array_equal(fg.vmap(fg.vmap(f))(x), 2 * x)
        np.testing.assert_array_equal(fg.jit(fg.vmap(fg.vmap(f), in_axes=1))(x), 2 * x.T)
    assert fg.vmap(lambda x: host_sin(x, vmap_method="sequential"))(np.zeros((0, 3), F32)).shape == (0, 3)


def test_vmap_without_a_method_says_what_to_do():
    with pytest.raises(UsageError, match="vmap_method='sequential'"):
        fg.vmap(host_sin)(X)
    np.testing.assert_allclose(fg.vmap(lambda x, y: x + host_sin(y), in_axes=(0, None))(X, X[0]), X + np.sin(X[0]), rtol=1e-6)


def test_in_control_flow():
    f = fg.jit(lambda x: lax.scan(lambda c, x: (c + host_sin(x), host_sin(c)), fnp.float32(0), x))
    total, _ = f(X)
    assert float(total) == pytest.approx(float(np.sin(X).sum()), rel=1e-6)
    g = fg.jit(lambda x: lax.cond(x > 0, host_sin, lambda x: x, x))
    assert float(g(fnp.float32(1))) == pytest.approx(np.sin(1), rel=1e-6) and float(g(fnp.float32(-1))) == -1
    h = fg.jit(lambda x: lax.while_loop(lambda c: c < 3, lambda c: c + fg.pure_callback(np.ceil, like(c), c), x))
    assert float(h(fnp.float32(0.5))) == 3.5


def test_an_unused_result_is_not_computed_and_equal_ones_may_be_shared():
    calls = []
    f = fg.jit(lambda x: (fg.pure_callback(lambda x: calls.append(1) or x, like(x), x), x + 1)[1])
    f(X)
    assert not calls


def test_a_callback_may_call_the_package():
    inner = fg.jit(lambda x: fnp.tanh(x) * 2)
    f = fg.jit(lambda x: fg.pure_callback(inner, like(x), x + 1) - 1)
    for _ in range(4):
        np.testing.assert_allclose(f(X), 2 * np.tanh(np.asarray(X) + 1) - 1, rtol=1e-6)
    g = fg.grad(lambda x: fnp.sum(x * fg.pure_callback(fg.grad(lambda y: fnp.sum(y**3)), like(x), lax.stop_gradient(x))))
    np.testing.assert_allclose(g(X), 3 * np.asarray(X) ** 2, rtol=1e-6)


# --- io_callback --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
def test_effects_happen_once_a_run_and_in_order(transform):
    log = []

    def note(name, x):
        log.append((name, float(x)))
        return np.float32(len(log))

    scalar = fg.ShapeDtypeStruct((), F32)

    def f(x):
        # The first waits for a long chain, the second for nothing: they still come in order; equal ones are not shared.
        y = fnp.sum(fnp.exp(fnp.sin(x @ x.T) @ x))
        fg.io_callback(lambda v: note("late", v), scalar, y)
        fg.io_callback(lambda v: note("early", v), scalar, x[0, 0])
        a = fg.io_callback(lambda v: note("same", v), scalar, x[0, 0], ordered=True)
        return a

    f = transform(f)
    x = np.eye(3, dtype=F32)
    for i in range(4):
        assert float(f(x)) == 3 * i + 3
    assert [name for name, _ in log] == ["late", "early", "same"] * 4


def test_equal_effects_are_not_shared():
    count = []
    one = lambda: np.int64(len(count) or 0) if count.append(1) else np.int64(len(count))
    f = fg.jit(lambda: [fg.io_callback(one, fg.ShapeDtypeStruct((), np.int64)) for _ in range(3)])
    assert [int(x) for x in f()] == [1, 2, 3]


def test_io_callback_without_results():
    log = []
    f = fg.jit(lambda x: fg.io_callback(lambda x: log.append(x.tolist()), None, x + 1))
    assert f(X[:1]) is None and len(log) == 1
    assert fg.jit(lambda: fg.io_callback(lambda: log.append("run"), None))() is None
    assert log[-1] == "run"


@pytest.mark.parametrize("transform", [lambda f: fg.grad(fg.checkpoint(f)), lambda f: fg.jit(fg.grad(fg.checkpoint(f)))])
def test_recomputation_has_no_effects(transform):
    log = []

    def f(x):
        scale = fg.io_callback(
            lambda x: log.append(float(x)) or np.float32(2), fg.ShapeDtypeStruct((), F32), lax.stop_gradient(x)
        )
        return fnp.sin(x) * scale

    for _ in range(2):
        assert float(transform(f)(0.0)) == 2.0
    assert log == [0.0, 0.0]


def test_io_callback_under_vmap_and_in_loops():
    log = []

    def note(x):
        log.append(float(x))
        return x * 2

    f = lambda x: fg.io_callback(note, like(x), x)
    np.testing.assert_allclose(fg.vmap(f)(X[:3]), 2 * np.asarray(X[:3]))
    assert log == X[:3].tolist()
    log.clear()
    np.testing.assert_allclose(fg.jit(lambda x: lax.scan(lambda c, x: (c, f(x)), 0, x)[1])(X[:3]), 2 * np.asarray(X[:3]))
    assert log == X[:3].tolist()
    log.clear()
    fg.jit(lambda x: (lax.scan(lambda c, x: (c, f(x)), 0, x), x)[1])(X[:3])  # nobody needs the results
    assert log == X[:3].tolist()


# --- exceptions -----------------------------------------------------------------------------------------------------------


class Own(Exception):
    pass


@pytest.mark.parametrize(
    "transform",
    [lambda f: f, fg.jit, fg.vmap, lambda f: fg.jit(fg.vmap(f)), lambda f: fg.jit(lambda x: lax.map(f, x))],
)
def test_exceptions_reach_the_user_as_they_are(transform):
    def raises(x):
        raise Own("from the callback")

    def f(x):
        fg.debug.callback(raises, x)
        return x

    f = transform(f)
    for _ in range(4):
        with pytest.raises(Own, match="from the callback") as info:
            f(X)
    names = [frame.filename for frame in traceback.extract_tb(info.value.__traceback__)]
    assert all("/funcgrad/" not in name.replace("tests/", "") or "/tests/" in name for name in names), names
    assert traceback.extract_tb(info.value.__traceback__)[-1].name == "raises"
    # After an exception the program runs as before.
    np.testing.assert_allclose(fg.jit(lambda x: x + 1)(X), np.asarray(X) + 1)


def test_callbacks_do_not_retrace():
    f = fg.jit(lambda x: host_sin(x))
    f(X)
    with counters() as c:
        f(X)
    assert c.traces == 0 and c.compiled == 0
