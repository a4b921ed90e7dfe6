"""custom_jvp, custom_vjp, custom_gradient, closure_convert, custom_vmap."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.api.custom import custom_vmap

X = np.array([0.5, 1.0, -2.0])


def make_jvp():
    @fg.custom_jvp
    def f(x, y=2.0):
        return {"s": fnp.sin(x) * y}

    @f.defjvp
    def rule(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        return f(x, y), {"s": 10 * tx * fnp.cos(x) * y + ty * fnp.sin(x)}

    return f


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit, lambda f: fg.jit(fg.jit(f))])
def test_jvp_rule_is_used_everywhere(wrap):
    f = make_jvp()
    loss = wrap(lambda x: fnp.sum(f(x)["s"]))
    np.testing.assert_allclose(loss(X), np.sum(np.sin(X) * 2))
    np.testing.assert_allclose(fg.grad(loss)(X), 20 * np.cos(X))
    np.testing.assert_allclose(fg.jit(fg.grad(loss))(X), 20 * np.cos(X))
    np.testing.assert_allclose(fg.jvp(loss, (X,), (np.ones(3),))[1], np.sum(20 * np.cos(X)))
    # the rule is differentiated in its turn
    np.testing.assert_allclose(fg.hessian(loss)(X), np.diag(-20 * np.sin(X)))
    rows = np.stack([X, 2 * X])
    np.testing.assert_allclose(fg.vmap(fg.grad(loss))(rows), 20 * np.cos(rows))
    np.testing.assert_allclose(fg.grad(lambda r: fnp.sum(fg.vmap(loss)(r)))(rows), 20 * np.cos(rows))
    np.testing.assert_allclose(fg.vmap(lambda x: f(x, y=X[0])["s"])(rows), np.sin(rows) * 0.5)


def test_defjvps_and_symbolic_zeros():
    f = fg.custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda t, out, x, y: t * y * 5, None)
    assert [float(v) for v in fg.grad(f, (0, 1))(2.0, 3.0)] == [15.0, 0.0]
    seen = []
    g = fg.custom_jvp(lambda x, y: x * y)

    def rule(primals, tangents):
        seen.append(type(tangents[1]).__name__)
        return g(*primals), tangents[0] * primals[1]

    g.defjvp(rule, symbolic_zeros=True)
    assert float(fg.grad(g)(2.0, 3.0)) == 3.0 and seen == ["SymbolicZero"]


def test_python_control_flow_in_eager_calls():
    f = fg.custom_jvp(lambda x: x if x > 0 else -x)
    f.defjvps(lambda t, out, x: 3 * t)
    assert float(f(-2.0)) == 2.0 and float(fg.grad(f)(-2.0)) == 3.0


def make_vjp():
    @fg.custom_vjp
    def f(x, w):
        return x * w, fnp.sum(w)

    def fwd(x, w):
        return f(x, w), {"w": w, "x": x}

    def bwd(res, ct):
        a, b = ct
        return 7 * a * res["w"], fnp.sum(a * res["x"]) + b

    f.defvjp(fwd, bwd)
    return f


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit])
def test_vjp_rule(wrap):
    f = make_vjp()
    loss = wrap(lambda x, w: fnp.sum(f(x, w)[0] ** 2) + f(x, w)[1])
    gx, gw = fg.grad(loss, (0, 1))(X, 3.0)
    np.testing.assert_allclose(gx, 7 * 2 * X * 9)
    np.testing.assert_allclose(gw, np.sum(2 * X * X * 3) + 1)
    rows = np.stack([X, 2 * X, -X])
    gx, gw = fg.vmap(fg.grad(loss, (0, 1)), (0, None))(rows, 3.0)
    np.testing.assert_allclose(gx, 7 * 2 * rows * 9)
    gw = fg.grad(lambda w: fnp.sum(fg.vmap(loss, (0, None))(rows, w)))(3.0)
    np.testing.assert_allclose(gw, np.sum(2 * rows * rows * 3) + 3)
    # reverse over reverse
    h = fg.jacrev(fg.grad(loss))(X, 3.0)
    assert np.isfinite(np.asarray(h)).all()


def test_vjp_refuses_forward_mode():
    with pytest.raises(TypeError, match="forward mode"):
        fg.jvp(make_vjp(), (1.0, 2.0), (1.0, 0.0))


def test_vjp_nondiff_and_none():
    def f(g, x, n):
        return g(x) * n

    h = fg.custom_vjp(f, nondiff_argnums=(0,))
    h.defvjp(lambda g, x, n: (g(x) * n, x), lambda g, x, ct: (ct * 100, None))
    assert float(fg.grad(h, argnums=1)(fnp.sin, 2.0, 3.0)) == 100.0
    assert float(fg.grad(h, argnums=2)(fnp.sin, 2.0, 3.0)) == 0.0


def test_wrong_rules_are_named():
    f = fg.custom_vjp(lambda x: x)
    with pytest.raises(TypeError, match="no rule"):
        f(1.0)
    f.defvjp(lambda x: (x, None), lambda res, ct: (np.ones(2),))
    with pytest.raises(TypeError, match="shape of the input"):
        fg.grad(f)(1.0)
    g = fg.custom_jvp(lambda x: x)
    g.defjvp(lambda p, t: p[0])
    with pytest.raises(TypeError, match="pair"):
        fg.grad(g)(1.0)


def test_custom_gradient():
    f = fg.custom_gradient(lambda x: (x**2, lambda ct: ct * 10 * x))
    assert float(fg.grad(f)(3.0)) == 30.0
    assert float(fg.jit(fg.grad(f))(3.0)) == 30.0
    g = lambda x, y: fg.grad(f)(x) + fg.grad(f)(y)
    assert float(g(1.0, 2.0)) == 30.0


def test_closure_convert():
    w = fnp.arange(3.0)
    f, consts = fg.closure_convert(lambda x: fnp.sum(x * w), X)
    assert len(consts) == 1
    np.testing.assert_allclose(f(X, *consts), np.sum(X * np.arange(3)))
    np.testing.assert_allclose(fg.grad(lambda w: f(X, w))(consts[0]), X)


def test_custom_vmap():
    f = custom_vmap(lambda x, y: x + y)

    @f.def_vmap
    def rule(size, batched, x, y):
        assert size == 3 and batched == [True, False]
        return x * 100 + y, True

    assert float(f(1.0, 2.0)) == 3.0
    np.testing.assert_allclose(fg.vmap(f, (0, None))(X, 1.0), X * 100 + 1)
    np.testing.assert_allclose(fg.jit(fg.vmap(f, (0, None)))(X, 1.0), X * 100 + 1)
    np.testing.assert_allclose(fg.vmap(fg.jit(f), (0, None))(X, 1.0), X * 100 + 1)


def _custom_vmap(rule):
    f = custom_vmap(lambda x: x)
    f.def_vmap(rule)
    return f


def _custom_jvp(rule):
    f = fg.custom_jvp(lambda x: 2 * x)
    f.defjvp(rule)
    return f


def _custom_vjp(fwd, bwd):
    f = fg.custom_vjp(lambda x: 2 * x)
    f.defvjp(fwd, bwd)
    return f


MISUSES = {
    "a batching rule gives no pair": (lambda: fg.vmap(_custom_vmap(lambda n, b, x: x))(X), "a pair"),
    "a batching rule says 1": (lambda: fg.vmap(_custom_vmap(lambda n, b, x: (x, 1)))(X), "True or False"),
    "a batching rule loses lanes": (lambda: fg.vmap(_custom_vmap(lambda n, b, x: (x[:2], True)))(X), "a first axis of 3"),
    "a batching rule gives a scalar as batched": (
        lambda: fg.vmap(_custom_vmap(lambda n, b, x: (x[0], True)))(X),
        "a first axis of 3",
    ),
    "a staged batching rule changes the dtype": (
        lambda: fg.vmap(fg.jit(_custom_vmap(lambda n, b, x: (x.astype("float32"), True))))(X),
        "the same outputs",
    ),
    "a staged jvp rule changes the shape": (
        lambda: fg.jvp(fg.jit(_custom_jvp(lambda p, t: (p[0][:2], t[0][:2]))), (X,), (X,)),
        "the same outputs",
    ),
    "a staged jvp rule gives two outputs": (
        lambda: fg.jvp(fg.jit(_custom_jvp(lambda p, t: ((p[0], p[0]), (t[0], t[0])))), (X,), (X,)),
        "the same outputs",
    ),
    "a staged forward rule changes the shape": (
        lambda: fg.grad(lambda x: fg.jit(_custom_vjp(lambda x: (x[:2], None), lambda r, ct: (ct,)))(x).sum())(X),
        "the same outputs",
    ),
    "custom_gradient without a pullback": (lambda: fg.grad(fg.custom_gradient(lambda x: (x, 3)))(1.0), "a pair"),
    "custom_gradient with the value only": (lambda: fg.custom_gradient(lambda x: x)(1.0), "a pair"),
    "a converted function without its consts": (lambda: fg.closure_convert(lambda x: x * fnp.array(X), X)[0](X), "the 1 that"),
    "a converted function with too many": (lambda: fg.closure_convert(lambda x: x, X)[0](X, X), "the 0 that"),
    "a converted function on another shape": (lambda: fg.closure_convert(lambda x: x, X)[0](X[:2]), "like the example"),
    "nondiff_argnums of custom_jvp": (lambda: fg.custom_jvp(lambda x: x, nondiff_argnums="x"), "an integer"),
    "nondiff_argnums of custom_vjp": (lambda: fg.custom_vjp(lambda x: x, nondiff_argnums=(0.5,)), "an integer"),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_is_told(name):
    call, allowed = MISUSES[name]
    with pytest.raises((TypeError, ValueError), match=f"(?s)Allowed: .*{allowed}.*Try: "):
        call()


def _of_lanes(f):
    return fg.vmap(f, (0, 0))


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit, _of_lanes, lambda f: _of_lanes(fg.jit(f)), lambda f: fg.jit(_of_lanes(f))])
def test_forward_rules_are_told_what_is_differentiated(wrap):
    seen = []
    f = fg.custom_vjp(lambda x, y: x * y)

    def fwd(x, y):
        seen.append((x.perturbed, y.perturbed))
        return x.value * y.value, (x.value, y.value)

    f.defvjp(fwd, lambda res, ct: (ct * res[1], ct * res[0]), symbolic_zeros=True)

    def loss(x, y):
        return fnp.sum(wrap(f)(x, y))

    for argnums in (0, 1, (0, 1)):
        np.testing.assert_allclose(np.asarray(fg.grad(loss, argnums)(X, X)), np.stack([X, X]) if argnums == (0, 1) else X)
    assert seen == [(True, False), (False, True), (True, True)]
