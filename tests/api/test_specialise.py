"""jit(f, branches="specialise"): plain Python branches against the same function run eagerly."""

import copy
import functools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.errors import TracerBoolConversionError, UsageError
from funcgrad.testing import counters

specialise = functools.partial(fg.jit, branches="specialise")


def newton(x, tol):
    y, n = x, 0
    while abs(y * y - x) > tol:
        y = 0.5 * (y + x / y)
        n += 1
    return y, n


def two_ways(x):
    if x.sum() > 0:
        return fnp.sin(x).sum()
    return (x * x).sum() * 3


def test_a_branch_takes_both_ways():
    f = specialise(two_ways)
    x = np.array([1.0, 2.0])
    for s in (1, -1, 1, -1, 2):
        np.testing.assert_allclose(f(s * x), two_ways(fnp.asarray(s * x)), rtol=1e-15)
    assert f.cache_info().traces == 2


def test_the_same_path_traces_and_compiles_nothing():
    f = specialise(newton)
    for x in (2.0, 3.0, 1e3):
        y, n = f(np.float64(x), 1e-9)
        want, steps = newton(np.float64(x), 1e-9)
        assert float(y) == pytest.approx(want, rel=1e-14) and int(n) == steps
    with counters() as c:
        for x in (2.0, 3.0, 1e3):
            f(np.float64(x), 1e-9)
    assert c.traces == 0 and c.programs == 0 and c.compiled == 0
    assert "a new path: " in f.cache_info().why and "while abs(y * y - x) > tol" in f.cache_info().why


def test_turns_of_a_loop_share_their_program():
    f = specialise(newton)
    with counters() as c:
        f(np.float64(1e6), 1e-6)
    assert c.programs <= 4


def test_pytrees_statics_and_keywords():
    @functools.partial(specialise, static_argnames="flip")
    def f(params, x, flip=False, *, scale=1.0):
        if flip:
            x = -x
        if fnp.max(params["w"] @ x) > params["b"] and scale < 2:
            return {"out": params["w"] @ x, "kind": 1, "none": None}
        return {"out": (x, scale)}

    params = {"w": np.eye(2), "b": 0.5}
    x = np.array([1.0, -1.0])
    assert f(params, x)["kind"] == 1
    np.testing.assert_array_equal(f(params, x)["out"], x)
    np.testing.assert_array_equal(f(params, x, flip=True)["out"], -x)
    np.testing.assert_array_equal(f(params, 0 * x)["out"][0], 0 * x)
    assert float(f(params, x, scale=3.0)["out"][1]) == 3.0
    assert f(params, x)["none"] is None


def test_integers_pick_paths():
    @specialise
    def f(x, n):
        out = x
        for i in range(n):
            out = out * x + i
        names = ["a", "b", "c"]
        return out, fnp.asarray(len(names[n]))

    for n in (0, 2, 1, 2):
        want = 3.0
        for i in range(n):
            want = want * 3.0 + i
        assert float(f(3.0, n)[0]) == want
    assert f.cache_info().traces == 3
    with pytest.raises(TypeError, match="Python integer"):
        f(3.0, 2.5)


def test_and_or_not_assert():
    @specialise
    def f(x, y):
        assert x > -100
        if (x > 0 and y > 0) or not x < 5:
            return x + y
        return x - y

    for x, y in ((1.0, 2.0), (-1.0, 2.0), (1.0, -2.0), (6.0, -2.0)):
        assert float(f(x, y)) == (x + y if (x > 0 and y > 0) or not x < 5 else x - y)
    with pytest.raises(AssertionError):
        f(-200.0, 1.0)


def test_exceptions_of_a_path_are_the_users():
    @specialise
    def f(x):
        if x < 0:
            raise ValueError("negative")
        return fnp.sqrt(x)

    assert float(f(4.0)) == 2
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            f(-1.0)
    assert float(f(9.0)) == 3


def test_dead_values_are_dropped():
    @specialise
    def f(x):
        big = fnp.outer(x, x)
        s = big.sum()
        del big
        if s > 1:
            if s > 2:
                return s * 2
        return s

    assert float(f(np.ones(3))) == 18
    tree = next(iter(f._dispatcher.family().traces.values()))
    segment, sizes = tree.root, []
    while segment is not None:
        sizes += [v.aval.size for v in segment.jaxpr.outvars] if segment.jaxpr is not None else []
        segment = next(iter(segment.children.values()), None)
    assert max(sizes) == 1


# --- derivatives ------------------------------------------------------------------------------------------------------------


def test_grad_outside_and_inside():
    x = np.array([1.0, 2.0])
    f, inside = specialise(two_ways), specialise(fg.grad(two_ways))
    outside = fg.grad(f)
    for s in (1, -1, 1, -1):
        want = fg.grad(two_ways)(s * x)
        np.testing.assert_allclose(outside(s * x), want, rtol=1e-14)
        np.testing.assert_allclose(inside(s * x), want, rtol=1e-14)
    with counters() as c:
        inside(x), inside(-x)
    assert c.traces == 0 and c.programs == 0


def test_second_order_and_forward_mode():
    x = np.array([0.3, -0.2])

    def f(x):
        y = x
        while (y * y).sum() < 4:
            y = y * 1.5 + fnp.sin(y)
        return (y**3).sum()

    want = fg.hessian(f)(x)
    np.testing.assert_allclose(fg.hessian(specialise(f))(x), want, rtol=1e-12)
    np.testing.assert_allclose(specialise(fg.hessian(f))(x), want, rtol=1e-12)
    np.testing.assert_allclose(fg.jvp(specialise(f), (x,), (x,))[1], fg.jvp(f, (x,), (x,))[1], rtol=1e-12)
    value, g = fg.value_and_grad(specialise(f))(x)
    eps = 1e-6
    for i in range(2):
        d = np.eye(2)[i] * eps
        assert float(g[i]) == pytest.approx((float(f(fnp.asarray(x + d))) - float(f(fnp.asarray(x - d)))) / (2 * eps), rel=1e-6)
    assert float(value) == pytest.approx(float(f(fnp.asarray(x))), rel=1e-14)


def test_gradient_descent_with_a_stopping_rule():
    def loss(w):
        return ((w - fnp.arange(3.0)) ** 2).sum()

    @specialise
    def fit(w):
        g = fg.grad(loss)(w)
        while fnp.abs(g).max() > 1e-3:
            w = w - 0.3 * g
            g = fg.grad(loss)(w)
        return w

    w = fit(np.zeros(3))
    np.testing.assert_allclose(w, np.arange(3.0), atol=1e-3)
    # the limit of the iteration does not depend on the start, the iterate does by 0.4 a step
    j = fg.jacrev(fit)(np.zeros(3))
    steps = np.log(float(j[0, 0])) / np.log(0.4)
    assert steps == pytest.approx(round(steps), abs=1e-6) and round(steps) > 3


# --- compositions ------------------------------------------------------------------------------------------------------------


def test_inner_jitted_functions_and_nesting():
    inner = fg.jit(lambda x: fnp.tanh(x) * 2)

    @specialise
    def part(x):
        return x * 2 if x.sum() > 0 else x * 3

    @specialise
    def f(x):
        y = inner(x)
        if y[0] > 0:
            return part(y)
        return part(-y) + 1

    def plain(x):
        y = np.tanh(x) * 2
        p = lambda x: x * 2 if x.sum() > 0 else x * 3
        return p(y) if y[0] > 0 else p(-y) + 1

    for x in ([1.0, 1.0], [1.0, -9.0], [-1.0, 9.0], [-1.0, -1.0], [1.0, 1.0]):
        np.testing.assert_allclose(f(np.array(x)), plain(np.array(x)), rtol=1e-6)


def test_vmap_of_it_says_what_to_write():
    with pytest.raises(TracerBoolConversionError, match=r"vmap(.|\n)*Allowed:(.|\n)*Try: fnp\.where(.|\n)*lax\.cond"):
        fg.vmap(specialise(two_ways))(np.ones((3, 2)))
    with pytest.raises(TracerBoolConversionError, match=r"lax\.cond"):
        specialise(fg.vmap(two_ways))(np.ones((3, 2)))


def test_vmap_over_what_no_branch_depends_on():
    f = specialise(lambda x, flag: x * 2 if flag > 0 else x + 1)
    x = np.arange(3.0)
    for flag in (1, -1):
        np.testing.assert_array_equal(fg.vmap(f, in_axes=(0, None))(x, flag), x * 2 if flag > 0 else x + 1)
    g = specialise(fg.vmap(lambda x, flag: x * 2 if flag > 0 else x + 1, in_axes=(0, None)))
    np.testing.assert_array_equal(g(x, 1), x * 2)


def test_inside_a_strict_jit_it_is_strict():
    with pytest.raises(TracerBoolConversionError, match="in a strict jit"):
        fg.jit(specialise(two_ways))(np.ones(2))
    np.testing.assert_array_equal(fg.jit(specialise(lambda x: x + 1))(np.ones(2)), np.full(2, 2.0))


def test_captured_arrays_and_tracers():
    w = fnp.asarray([2.0, 3.0])

    def f(x):
        if x.sum() > 0:
            return (x * w).sum()
        return (x - w).sum()

    g = specialise(f)
    x = np.ones(2)
    for s in (1, -1, 1):
        assert float(g(s * x)) == float(f(fnp.asarray(s * x)))

    def outer(w):
        h = specialise(lambda x: (x * w).sum() if w[0] > 0 else w.sum() * 2)
        return h(x)

    np.testing.assert_allclose(fg.grad(outer)(np.array([1.0, 2.0])), [1, 1])
    np.testing.assert_allclose(fg.grad(outer)(np.array([-1.0, 2.0])), [2, 2])


def test_loops_inside_a_path_stay_loops():
    @specialise
    def f(x, n):
        if n > 3:
            return lax.fori_loop(0, 5, lambda i, c: c + x, x)
        return lax.cond(x > 0, lambda: x, lambda: -x)

    assert float(f(1.0, 5)) == 6 and float(f(-2.0, 0)) == 2


def test_random_state_is_the_same_on_every_path():
    @specialise
    def f(key):
        u = fg.random.uniform(key)
        if u > 0.5:
            return u, fg.random.normal(key, (2,))
        return u, fg.random.normal(key, (2,)) * 2

    for seed in range(4):
        key = fg.random.key(seed)
        u, z = f(key)
        assert float(u) == float(fg.random.uniform(key))
        np.testing.assert_allclose(z, fg.random.normal(key, (2,)) * (1 if float(u) > 0.5 else 2), rtol=1e-6)


# --- limits and mistakes -----------------------------------------------------------------------------------------------------


def test_too_many_paths_names_the_line():
    @functools.partial(specialise, max_paths=3)
    def f(n):
        return fnp.zeros(()) + len(range(n))

    for n in range(3):
        assert float(f(n)) == n
    with pytest.raises(UsageError, match=r"3 others.*len\(range\(n\)\)(.|\n)*max_paths=3(.|\n)*lax\.while_loop"):
        f(3)
    assert float(f(2)) == 2


def test_a_loop_without_end_is_stopped():
    @functools.partial(specialise, max_paths=2)
    def f(x):
        while x > 0:
            x = x * 1.0
        return x

    with pytest.raises(UsageError, match=r"branch number 33(.|\n)*while x > 0"):
        f(1.0)
    assert float(f(-1.0)) == -1


def test_a_function_that_changes_begins_anew():
    calls = []

    @specialise
    def f(x):
        calls.append(0)
        if len(calls) > 1:
            x = x + 1
            x = x * 2
        y = x * 3
        if y > 0:
            return y
        return -y

    assert float(f(1.0)) == 3
    assert float(f(-5.0)) == 24  # ((-5 + 1) * 2) * 3, as the function does it by now
    assert float(f(-5.0)) == 24


def test_options():
    for keywords, text in (
        ({"branches": "fast"}, "strict"),
        ({"max_paths": 3}, "specialise"),
        ({"branches": "specialise", "max_paths": 0}, "positive"),
        ({"branches": "specialise", "donate_argnums": 0}, "donate"),
    ):
        with pytest.raises(UsageError, match=text):
            fg.jit(two_ways, **keywords)
    with pytest.raises(TracerBoolConversionError, match="specialise"):
        fg.jit(two_ways)(np.ones(2))
    with pytest.raises(UsageError, match="explain"):
        fg.explain(specialise(two_ways))(np.ones(2))
    with fg.disable_jit():
        assert float(specialise(two_ways)(fnp.ones(2))) == pytest.approx(2 * np.sin(1), rel=1e-6)
    f = specialise(two_ways)
    assert copy.deepcopy(f) is f


def test_threads_share_a_tree():
    f = specialise(lambda x, tol: newton(x, tol))
    start, wrong = threading.Barrier(4), []

    def work(i):
        start.wait()
        for k in range(20):
            x = np.float64(1 + (i + k) % 5 * 10)
            if abs(float(f(x, 1e-9)[0]) - np.sqrt(x)) > 1e-6:
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and f.cache_info().traces <= 5


# --- random programs ---------------------------------------------------------------------------------------------------------

OPERATIONS = (lambda a, b: a + b, lambda a, b: a * 0.5 - b, lambda a, b: fnp.sin(a) + b, lambda a, b: fnp.maximum(a, b))


@st.composite
def programs(draw):
    return [
        (draw(st.sampled_from(["if", "while", "op"])), draw(st.integers(0, 3)), draw(st.integers(0, 3)))
        for _ in range(draw(st.integers(1, 7)))
    ]


def run(program, x, y):
    for kind, i, j in program:
        if kind == "op":
            x, y = OPERATIONS[i](x, y), x
        elif kind == "if":
            if x > y:
                x = OPERATIONS[i](x, y)
            else:
                y = OPERATIONS[j](y, x)
        else:
            count = 0
            while count < 3 and abs(x) < 2:
                x = OPERATIONS[i](x, y) + 0.7
                count = count + 1
    return x, x * y


@settings(deadline=None, max_examples=25)
@given(programs(), st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2)), min_size=1, max_size=4))
def test_random_programs(program, points):
    f = specialise(lambda x, y: run(program, x, y))
    gradient = specialise(fg.grad(lambda x, y: run(program, x, y)[1]))
    for a, b in points:
        x, y = fnp.asarray(np.float64(a)), fnp.asarray(np.float64(b))
        want = run(program, x, y)
        for got, w in zip(f(x, y), want):
            np.testing.assert_allclose(got, w, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(gradient(x, y), fg.grad(lambda x, y: run(program, x, y)[1])(x, y), rtol=1e-10, atol=1e-12)
