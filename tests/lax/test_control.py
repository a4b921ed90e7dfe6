"""Control flow operators against Python loops, values and derivatives."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(5)
C, XS, W = RNG.normal(size=2), RNG.normal(size=(5, 2)), np.float64(0.7)

TRANSFORMS = {
    "value": lambda f: f,
    "jit": fg.jit,
    "grad": lambda f: fg.grad(f, (0, 1, 2)),
    "jit of grad": lambda f: fg.jit(fg.grad(f, (0, 1, 2))),
    "grad of jit": lambda f: fg.grad(fg.jit(f), (0, 1, 2)),
    "hessian": lambda f: fg.hessian(f, (0, 2)),
    "jit of hessian": lambda f: fg.jit(fg.hessian(f, (0, 2))),
    "jvp": lambda f: lambda c, xs, w: fg.jvp(f, (c, xs, w), (c, xs, w)),
    "vmap over carry": lambda f: lambda c, xs, w: fg.vmap(fg.grad(f, (0, 2)), (0, None, None))(np.stack([c, 2 * c]), xs, w),
    "vmap over all": lambda f: (
        lambda c, xs, w: fg.vmap(fg.grad(f, (0, 1, 2)), (1, 2, 0))(
            np.stack([c, 2 * c], 1), np.stack([xs, xs * 2], 2), np.stack([w, 2 * w])
        )
    ),
    "grad of vmap": lambda f: (
        lambda c, xs, w: fg.grad(lambda c, w: fnp.sum(fg.vmap(f, (0, None, None))(c, xs, w)), (0, 1))(np.stack([c, 2 * c]), w)
    ),
}


def assert_trees_close(got, want, rtol=1e-7):
    for a, b in zip(fg.tree_util.tree_leaves(got), fg.tree_util.tree_leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12)


def scanned(reverse=False, unroll=1):
    def f(c, xs, w):
        step = lambda c, x: ((fnp.tanh(c["a"] * w + x), c["n"] + 1), (c["a"] * x, fnp.sin(w)))
        step2 = lambda c, x: (lambda r: ({"a": r[0][0], "n": r[0][1]}, r[1]))(step(c, x))
        last, ys = lax.scan(step2, {"a": c, "n": 0}, xs, reverse=reverse, unroll=unroll)
        return fnp.sum(last["a"] ** 2) + fnp.sum(ys[0]) * fnp.sum(ys[1])

    return f


def looped(reverse=False):
    def f(c, xs, w):
        ys, zs = [], []
        for i in range(4, -1, -1) if reverse else range(5):
            c, y = fnp.tanh(c * w + xs[i]), c * xs[i]
            ys.append(y)
            zs.append(fnp.sin(w))
        return fnp.sum(c**2) + fnp.sum(fnp.stack(ys)) * fnp.sum(fnp.stack(zs))

    return f


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("reverse", [False, True])
def test_scan(name, reverse):
    t = TRANSFORMS[name]
    assert_trees_close(t(scanned(reverse))(C, XS, W), t(looped(reverse))(C, XS, W))


@pytest.mark.parametrize("unroll", [2, 3, 5, True, 100])
def test_unrolling_changes_nothing(unroll):
    for reverse in (False, True):
        assert_trees_close(
            fg.value_and_grad(scanned(reverse, unroll), (0, 1, 2))(C, XS, W),
            fg.value_and_grad(looped(reverse), (0, 1, 2))(C, XS, W),
        )


def test_scan_shapes_and_lengths():
    c, ys = lax.scan(lambda c, _: (c + 1, c), 0, None, length=3)
    assert int(c) == 3 and ys.tolist() == [0, 1, 2]
    c, ys = lax.scan(lambda c, x: (c + x, (c, None)), 1.5, np.ones(0, np.float32))
    assert float(c) == 1.5 and ys[0].shape == (0,) and ys[1] is None
    c, ys = lax.scan(lambda c, x: (c, x["a"] + x["b"]), None, {"a": np.arange(3), "b": np.arange(3)})
    assert c is None and ys.tolist() == [0, 2, 4]
    assert lax.scan(lambda c, x: (c + x, None), 0, np.arange(3.0))[0].dtype == np.float64  # a weak start takes the type


def test_scan_stores_no_more_than_it_must():
    f = lambda w, xs: fnp.sum(lax.scan(lambda c, x: (fnp.tanh(w @ c + x), None), fnp.zeros(4), xs)[0])
    text = str(fg.make_jaxpr(fg.grad(f))(np.ones((4, 4), np.float32), np.ones((9, 4), np.float32)))
    assert "f32[9,4,4]" not in text  # w is the same in every step
    n = text.count("f32[9,4]")
    assert n <= 5, text


def test_errors_name_the_leaf():
    with pytest.raises(TypeError, match=r"(?s)the carry \['b'\] came in as f64\[2\].*returned f64\[1,2\].*final shape"):
        lax.scan(lambda c, x: ({"b": c["b"][None]}, None), {"b": np.ones(2)}, np.ones(3))
    with pytest.raises(TypeError, match=r"(?s)came in as i32\[\].*f32\[\].*fnp.asarray\(init_val, 'float32'\)"):
        lax.while_loop(lambda v: v < 3, lambda v: v * np.float32(2), np.int32(1))
    with pytest.raises(TypeError, match="pair"):
        lax.scan(lambda c, x: c, 0.0, np.ones(3))
    with pytest.raises(ValueError, match="different lengths"):
        lax.scan(lambda c, x: (c, x), 0.0, (np.ones(3), np.ones(4)))
    with pytest.raises(ValueError, match="no xs and no length"):
        lax.scan(lambda c, x: (c, x), 0.0)
    with pytest.raises(TypeError, match="scalar bool"):
        lax.while_loop(lambda v: v, lambda v: v, 1.0)
    with pytest.raises(TypeError, match=r"the result \[1\] is"):
        lax.cond(True, lambda x: (x, x), lambda x: (x, x[None]), np.ones(2))
    with pytest.raises(ValueError, match="structure"):
        lax.cond(True, lambda x: (x,), lambda x: [x], 1.0)
    with pytest.raises(TypeError, match="a scalar"):
        lax.cond(np.ones(2) > 0, lambda x: x, lambda x: x, 1.0)


def branchy(x, y):
    return lax.cond(x > 0, lambda x, y: fnp.log(x) * y, lambda x, y: 2 * x + 0 * y, x, y)


def test_cond():
    for x in (2.0, -1.0, 0.0):
        want = (1.5 / x, np.log(x)) if x > 0 else (2.0, 0.0)
        for g in (fg.grad(branchy, (0, 1)), fg.jit(fg.grad(branchy, (0, 1))), fg.grad(fg.jit(branchy), (0, 1))):
            np.testing.assert_allclose(g(x, 1.5), want, rtol=1e-6)
        assert float(fg.hessian(branchy)(x, 1.5)) == pytest.approx(-1.5 / x**2 if x > 0 else 0.0)
    xs = np.array([2.0, -1.0, 0.0, 3.0])
    want = np.where(xs > 0, 1.5 / np.where(xs > 0, xs, 1), 2)
    np.testing.assert_allclose(fg.vmap(fg.grad(branchy), (0, None))(xs, 1.5), want)
    np.testing.assert_allclose(fg.grad(lambda v: fnp.sum(fg.vmap(branchy, (0, None))(v, 1.5)))(xs), want)
    np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(branchy), (0, None)))(xs, 1.5), want)
    check_grads(lambda x, y: branchy(x, y), (np.float64(2.0), np.float64(1.5)), 2)


def test_cond_of_large_batched_operands():
    xs, p = RNG.normal(size=(3, 200)), np.array([True, False, True])
    f = lambda p, x: lax.cond(p, lambda x: fnp.sin(x), lambda x: x * x, x)
    np.testing.assert_allclose(fg.vmap(f)(p, xs), np.where(p[:, None], np.sin(xs), xs * xs))
    g = fg.vmap(fg.grad(lambda x, p: fnp.sum(f(p, x))))(xs, p)
    np.testing.assert_allclose(g, np.where(p[:, None], np.cos(xs), 2 * xs))


def test_only_the_branch_taken_is_computed():
    calls = []
    f = lambda p: lax.cond(p, lambda: 1.0, lambda: fnp.log(-1.0))
    with fg.debug_nans(True):
        assert float(f(True)) == 1.0
    with fg.disable_jit():
        lax.cond(True, lambda: calls.append("t"), lambda: calls.append("f"))
    assert calls == ["t"]


def test_switch():
    fs = [lambda x: x, lambda x: x * 2, lambda x: fnp.sin(x)]
    assert [float(lax.switch(i, fs, 1.0)) for i in (-1, 0, 1, 2, 9)] == pytest.approx([1, 1, 2, np.sin(1), np.sin(1)], rel=1e-6)
    i, x = np.array([0, 1, 2, 5]), np.array([1.0, 2.0, 3.0, 4.0])
    want = np.array([1.0, 2.0, np.cos(3.0), np.cos(4.0)])
    np.testing.assert_allclose(fg.vmap(fg.grad(lambda x, i: lax.switch(i, fs, x)))(x, i), want)
    with pytest.raises(ValueError, match="no branches"):
        lax.switch(0, [])


def collatz(n):
    return lax.while_loop(lambda s: s[0] != 1, lambda s: (fnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))[1]


def test_while():
    assert int(collatz(27)) == 111 and int(fg.jit(collatz)(27)) == 111
    ns = np.arange(1, 9)
    want = [0, 1, 7, 2, 5, 8, 16, 3]
    assert fg.vmap(collatz)(ns).tolist() == want and fg.jit(fg.vmap(collatz))(ns).tolist() == want
    f = lambda x: lax.while_loop(lambda v: v < 100, lambda v: v * v, x)
    assert float(fg.grad(f)(3.0)) == 8 * 3.0**7 == float(fg.jvp(f, (3.0,), (1.0,))[1])
    assert float(fg.grad(fg.grad(f))(3.0)) == pytest.approx(56 * 3.0**6)
    bounded = lambda x: lax.while_loop(lambda v: v < 100, lambda v: v * v, x, max_steps=6)
    assert float(fg.jit(fg.grad(bounded))(3.0)) == 8 * 3.0**7
    assert float(lax.while_loop(lambda v: v < 100, lambda v: v * v, 3.0, max_steps=1)) == 9.0
    assert float(fg.jit(fg.grad(f))(3.0)) == 8 * 3.0**7
    assert float(fg.jit(fg.grad(fg.grad(f)))(3.0)) == pytest.approx(56 * 3.0**6)


def counted(n, checkpoint=None):
    """n steps of a loop whose number of steps is a value, its weight a closed-over array."""

    def f(x, w):
        step = lambda s: (s[0] + 1, fnp.sin(s[1]) * w + 0.1 * s[0])
        return fnp.sum(lax.while_loop(lambda s: s[0] < n, step, (0, x), checkpoint=checkpoint)[1])

    return f


@pytest.mark.parametrize("slots", [1, 2, 3, 8, None])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 50, 600])
def test_reverse_mode_of_a_while_of_unknown_length(n, slots):
    if (n, slots) == (600, 1):
        n = 100  # one slot: the square of the steps
    x, w = RNG.normal(size=3), RNG.normal(size=3)
    written_out = lambda x, w: fnp.sum(lax.fori_loop(0, n, lambda i, v: fnp.sin(v) * w + 0.1 * i, x))
    want = fg.grad(written_out, (0, 1))(x, w)
    for got in (fg.jit(fg.grad(counted(n, slots), (0, 1)))(x, w), fg.grad(counted(n, slots), (0, 1))(x, w)):
        np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
        np.testing.assert_allclose(got[1], want[1], rtol=1e-12)


def test_orders_and_batches_of_a_while_of_unknown_length():
    f = counted(9)
    x, w = RNG.normal(size=3), RNG.normal(size=3)
    want = fg.hessian(counted(9, None))(x, w)
    for g in (fg.jit(fg.hessian(f)), fg.jit(fg.jacrev(fg.jacrev(f))), fg.jit(fg.jacrev(fg.jacfwd(f))), fg.jacrev(fg.jacrev(f))):
        np.testing.assert_allclose(g(x, w), want, rtol=1e-10)
    check_grads(fg.jit(f), (x, w), order=2)
    # Lanes of different lengths: each walks back its own steps.
    g = lambda x: lax.while_loop(lambda v: v < 100, lambda v: v * v, x)
    xs = np.linspace(1.1, 3, 7)
    want = [float(fg.grad(g)(x)) for x in xs]
    for h in (fg.vmap(fg.jit(fg.grad(g))), fg.jit(fg.vmap(fg.grad(g))), fg.grad(lambda x: fg.vmap(g)(x).sum()),
              fg.jit(fg.grad(lambda x: fg.vmap(g)(x).sum()))):  # fmt: skip
        np.testing.assert_allclose(h(xs), want, rtol=1e-12)
    big = lambda x: fnp.sum(lax.while_loop(lambda v: fnp.sum(v) < 1e4, lambda v: v * v, x))
    many = RNG.uniform(1.5, 3, size=(3, 100))
    want = [fg.grad(big)(x) for x in many]
    np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(big)))(many), want)
    np.testing.assert_allclose(fg.jit(fg.grad(lambda x: fg.vmap(big)(x).sum()))(many), want)


def test_a_while_of_unknown_length_in_other_loops():
    inner = lambda c, y: lax.while_loop(lambda v: v < 1.9, lambda v: v * 1.5 + 0.1 * y, c)
    f = lambda x: lax.scan(lambda c, y: (fnp.sin(inner(c, y)), None), x[0], x)[0]
    x = RNG.uniform(0.1, 1, size=5)
    check_grads(fg.jit(f), (x,), order=2, modes=["rev"], atol=1e-4, rtol=1e-4)
    g = lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, inner(s[1] * 0.3, x)), (0, x))[1]
    np.testing.assert_allclose(fg.jit(fg.grad(g))(0.7), fg.grad(g)(0.7), rtol=1e-12)
    seen = []
    h = lambda x: lax.while_loop(lambda v: v < 100, lambda v: (fg.debug.callback(seen.append, v), v * v)[1], x)
    fg.jit(fg.grad(h))(np.float64(3.0))
    assert [float(v) for v in seen] == [3.0, 9.0, 81.0]  # once for each step, not again on the way back
    key = fg.random.key(0)
    draw = lambda x: lax.while_loop(
        lambda s: s[0] < 4, lambda s: (s[0] + 1, fg.random.fold_in(s[1], 1), s[2] * fg.random.uniform(s[1])), (0, key, x)
    )[2]
    np.testing.assert_allclose(fg.jit(fg.grad(draw))(2.0), draw(1.0), rtol=1e-6)


def test_the_bounds_of_a_while_are_checked():
    for bad in ({"max_steps": -1}, {"max_steps": 2.5}, {"checkpoint": 0}, {"checkpoint": True}, {"checkpoint": "sqrt"}):
        with pytest.raises(ValueError, match=f"got {next(iter(bad))}="):
            lax.while_loop(lambda v: v < 1, lambda v: v + 1, 0, **bad)


def test_while_on_large_batched_carries():
    xs = RNG.uniform(1.5, 3, size=(3, 100))
    f = lambda x: lax.while_loop(lambda v: fnp.sum(v) < 1e4, lambda v: v * v, x)
    want = []
    for x in xs:
        while x.sum() < 1e4:
            x = x * x
        want.append(x)
    np.testing.assert_allclose(fg.vmap(f)(xs), want)
    np.testing.assert_allclose(fg.jit(fg.vmap(f))(xs), want)


def test_a_long_fori_loop_makes_no_list_of_its_indices():
    total = lambda x: lax.fori_loop(5, 100_005, lambda i, v: v + x * (i % 7), 0.0)
    want = sum(i % 7 for i in range(5, 100_005))
    for got in (fg.jit(total)(np.float64(2.0)), fg.jit(fg.vmap(total))(np.array([2.0]))[0]):
        assert float(got) == 2.0 * want
    assert float(fg.jit(fg.grad(total))(np.float64(2.0))) == want
    index = fg.jit(lambda: lax.fori_loop(np.int32(0), np.int32(70_000), lambda i, v: i, np.int32(0)))()
    assert index.dtype == np.int32 and int(index) == 69_999
    # This many indices would not fit into any memory.
    fg.make_jaxpr(lambda x: lax.fori_loop(0, 10**15, lambda i, v: v + i, x))(1.0)


def test_fori():
    power = lambda x, n: lax.fori_loop(0, n, lambda i, v: v * x, 1.0)
    assert float(power(2.0, 5)) == 32.0 and float(fg.jit(power)(2.0, 5)) == 32.0
    assert float(fg.grad(power)(2.0, 5)) == 80.0 and float(fg.jit(fg.grad(lambda x: power(x, 5)))(2.0)) == 80.0
    assert float(lax.fori_loop(3, 1, lambda i, v: v + 1, 7.0)) == 7.0
    assert float(fg.jvp(fg.jit(lambda x: power(x, 4)), (2.0,), (1.0,))[1]) == 32.0
    with pytest.raises(TypeError, match="integer"):
        lax.fori_loop(0.0, 3, lambda i, v: v, 1.0)


def test_map_and_associative_scan():
    x = np.arange(5.0)
    for size in (None, 1, 2, 5, 7):
        np.testing.assert_allclose(lax.map(lambda v: v**2, x, batch_size=size), x**2)
    for n in (0, 1, 2, 3, 7, 16):
        v = RNG.normal(size=(n, 2))
        np.testing.assert_allclose(lax.associative_scan(fnp.add, v), np.cumsum(v, 0))
        np.testing.assert_allclose(
            lax.associative_scan(fnp.multiply, v, reverse=True, axis=1), np.cumprod(v[:, ::-1], 1)[:, ::-1]
        )
    pair = (RNG.normal(size=6), RNG.normal(size=6))
    affine = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])
    _, y = lax.associative_scan(affine, pair)
    want, acc = [], 0.0
    for a, b in zip(*pair, strict=True):
        acc = acc * a + b
        want.append(acc)
    np.testing.assert_allclose(y, want)


def test_closures_and_nesting():
    w = fnp.asarray(2.0)
    f = lambda x: lax.scan(lambda c, _: (lax.cond(c > 3, lambda v: v * w, lambda v: v + x, c), None), x, None, length=4)[0]

    def plain(x):
        c = x
        for _ in range(4):
            c = c * 2.0 if c > 3 else c + x
        return c

    for x in (0.5, 1.1, 2.0):
        assert float(f(x)) == pytest.approx(plain(x))
        assert float(fg.grad(f)(x)) == pytest.approx((plain(x + 1e-6) - plain(x - 1e-6)) / 2e-6, rel=1e-4)
    np.testing.assert_allclose(fg.vmap(f)(np.array([0.5, 1.1, 2.0])), [plain(x) for x in (0.5, 1.1, 2.0)], rtol=1e-6)
    g = lambda w: lax.scan(lambda c, x: (c * w + x, c), 1.0, np.arange(3.0))[0]
    assert float(fg.grad(lambda v: fg.jit(g)(v * v))(1.5)) == pytest.approx(float(fg.grad(lambda v: g(v * v))(1.5)))


@pytest.mark.parametrize("read, n", [("index", 6), ("slice", 6), ("slice", 100)])  # a few numbers are carried each by itself
def test_reading_an_array_in_a_loop_adds_up_in_place(read, n):
    """The gradient of a loop that reads one element a step writes one element a step: no array of zeros a step."""
    pick = (lambda xs, i: fnp.asarray(xs)[i]) if read == "index" else (lambda xs, i: lax.dynamic_slice_in_dim(xs, i, 1)[0])
    f = lambda xs: lax.fori_loop(0, n, lambda i, c: fnp.sin(c) * pick(xs, i) + pick(xs, (2 * i) % n), np.float64(1.0))
    xs = fnp.asarray(RNG.normal(size=n))
    check_grads(f, (xs,), order=2 if n < 10 else 1, modes=["rev"], atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(xs), fg.grad(f)(xs), rtol=1e-12)
    (loop,) = [e for e in fg.make_jaxpr(fg.grad(f))(xs).jaxpr.eqns if e.params.get("reverse")]
    wide = {e.primitive.name for e in loop.params["body"].eqns if e.outputs[0].aval.shape == (n,)}
    assert wide <= {"scatter_add", "dynamic_update_slice"}
    many = RNG.normal(size=(3, n))
    np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(f)))(many), [fg.grad(f)(x) for x in many], rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fg.lax.switch("a", [lambda: 1, lambda: 2]), "switch: got str 'a' for the index"),
        (lambda: fg.lax.switch(None, [lambda: 1, lambda: 2]), "switch: got NoneType"),
        (lambda: fg.lax.switch([1], [lambda: 1, lambda: 2]), r"lax.switch\(fnp.asarray"),
        (lambda: fg.lax.cond("a", lambda: 1, lambda: 2), "cond: got str 'a' for the predicate"),
        (lambda: fg.lax.cond(lambda x: x, lambda x: x, lambda x: x, 1.0), "takes it first"),
    ],
)
def test_an_index_that_is_no_number_is_named(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_stop_gradient_gives_arrays():
    out = fg.lax.stop_gradient({"a": np.ones(2), "b": np.float32(1), "name": "x", "c": fnp.ones(1)})
    assert [isinstance(out[k], fg.Array) for k in ("a", "b", "c")] == [True] * 3 and out["name"] == "x"
    assert out["a"].dtype == np.float64


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_updates_at_traced_places_in_short_loops(n, m):
    rng = np.random.default_rng(0)
    x, y, j = rng.normal(size=(n, m)), rng.normal(size=(n, m)), rng.integers(0, m, (n, m))
    want = 2 * x
    for row, places, more in zip(want, j, y, strict=True):
        np.add.at(row, places, more)
    found = fg.jit(lambda j, x, y: lax.map(lambda s: (s[1] * 2).at[s[0]].add(s[2]), (j, x, y)))(j, x, y)
    np.testing.assert_allclose(found, want)


def test_errors_of_fori_loop_speak_of_fori_loop():
    x = np.ones(3, np.float32)
    swapped = lambda s, i: s
    for bounds in ((0, 3), (0, 1 << 17)):
        with pytest.raises(
            TypeError, match=r"(?s)fori_loop: the value itself came in as f32\[3\].*called as body_fun\(i, val\)"
        ) as info:
            lax.fori_loop(*bounds, swapped, x)
        assert "scan" not in str(info.value)
    with pytest.raises(TypeError, match=r"fori_loop: the value itself came in as f32\[3\] and <lambda> returned i64\[\]"):
        fg.jit(lambda n: lax.fori_loop(0, n, swapped, x))(3)
    with pytest.raises(TypeError, match=r"fori_loop: the value \['a'\] .*(?s:.)*fnp.asarray\(init_val\['a'\], 'float64'\)"):
        fg.jit(lambda n: lax.fori_loop(0, n, lambda i, s: {"a": s["a"] * np.float64(2)}, {"a": x}))(3)
    with pytest.raises(
        ValueError, match=r"(?s)got the value with the structure PyTreeDef\(\*\) and returned PyTreeDef\(\(\*, \*\)\)"
    ):
        fg.jit(lambda n: lax.fori_loop(0, n, lambda i, s: (s, s), x))(3)


def test_errors_of_loops_made_of_scan_say_their_own_name():
    body = lambda i, s: s
    for call, text in (
        (lambda: lax.fori_loop(0, 3, body, 1.0, unroll=-1), "fori_loop: got unroll=-1"),
        (lambda: lax.fori_loop(0, 3, body, {"a": "text"}), r"fori_loop init_val.*\['a'\]"),
        (lambda: lax.map(lambda x: x, 1.0), "map: xs is a scalar"),
        (lambda: lax.map(lambda x: x, (np.ones(2), np.ones(3))), "map: got different lengths"),
        (lambda: lax.map(lambda x: x, "text"), "map xs"),
    ):
        with pytest.raises((TypeError, ValueError), match=text) as info:
            call()
        assert "scan" not in str(info.value).split("; at")[0]


def test_a_wrong_dtype_is_no_wrong_shape():
    for call in (
        lambda: lax.fori_loop(0, 3.0, lambda i, s: s, 0),
        lambda: lax.while_loop(lambda s: s, lambda s: s, 3.0),
        lambda: lax.switch(1.0, [lambda: 1, lambda: 2]),
    ):
        with pytest.raises(fg.errors.DtypeError):
            call()
    for call in (
        lambda: lax.fori_loop(0, np.ones(2, int), lambda i, s: s, 0),
        lambda: lax.while_loop(lambda s: s > 2, lambda s: s, np.ones(3)),
        lambda: lax.switch(np.ones(2, int), [lambda: 1, lambda: 2]),
    ):
        with pytest.raises(fg.errors.ShapeError):
            call()


@pytest.mark.parametrize("shape", [(1, 4), (3, 4), (2, 33), (1, 2, 3)])
def test_a_loops_results_do_not_overwrite_what_its_next_carry_reads(shape):
    """The gradient's loop reads xs for the next carry after it has stored this step's results."""

    def loss(x):
        a = fnp.take(x, np.arange(shape[0]), axis=0)
        _, ys = lax.scan(lambda c, s: (fnp.tanh(c + s), fnp.sum(s * c)), a[0], a)
        return fnp.sum(a * weights) + 3 * fnp.sum(ys)

    weights = np.random.default_rng(1).normal(size=shape)
    x = np.random.default_rng(0).normal(size=(shape[0] + 1, *shape[1:]))
    np.testing.assert_allclose(fg.jit(fg.grad(loss))(x), fg.grad(loss)(x), rtol=1e-10, atol=1e-12)
