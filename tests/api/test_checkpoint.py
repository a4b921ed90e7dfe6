"""checkpoint: the same derivatives, fewer residuals, and less memory when compiled."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.api.checkpoint import checkpoint, checkpoint_name, checkpoint_policies

X = np.linspace(0.1, 1.0, 6)


def layer(x, w=1.5):
    h = checkpoint_name(fnp.sin(x * w), "h")
    return fnp.exp(fnp.sin(h) * h)


POLICIES = [
    None,
    checkpoint_policies.everything_saveable,
    checkpoint_policies.dots_saveable,
    checkpoint_policies.save_only_these_names("h"),
    checkpoint_policies.save_anything_except_these_names("h"),
    checkpoint_policies.save_from_both_policies(
        checkpoint_policies.nothing_saveable, checkpoint_policies.save_any_names_but_these("k")
    ),
]


@pytest.mark.parametrize("policy", POLICIES)
def test_same_derivatives(policy):
    f = lambda x: fnp.sum(checkpoint(layer, policy=policy)(x) ** 2)
    g = lambda x: fnp.sum(layer(x) ** 2)
    for t in (
        lambda f: f,
        fg.grad,
        fg.jacfwd,
        fg.hessian,
        lambda f: fg.jit(fg.grad(f)),
        lambda f: fg.grad(fg.jit(f)),
        lambda f: fg.jit(fg.hessian(f)),
        lambda f: lambda x: fg.vmap(fg.grad(f))(np.stack([x, 2 * x])),
    ):
        np.testing.assert_allclose(t(f)(X), t(g)(X), rtol=1e-12)


def residuals(f):
    return sorted(str(x.aval) for x in fg.tree_util.tree_leaves(fg.vjp(f, X)[1]))


def test_only_what_the_policy_keeps_is_kept():
    assert residuals(checkpoint(layer)) == ["f64[6]"]
    named = residuals(checkpoint(layer, policy=checkpoint_policies.save_only_these_names("h")))
    assert named == ["f64[6]", "f64[6]"]
    assert len(residuals(layer)) > 2


def test_static_arguments():
    f = checkpoint(lambda x, n, *, flag: x**n if flag else x, static_argnums=1, static_argnames="flag")
    assert float(fg.grad(f)(2.0, 3, flag=True)) == 12.0
    with pytest.raises(ValueError, match="static_argnums"):
        checkpoint(lambda x: x, concrete=True)


def deep(wrap):
    step = wrap(lambda x: fnp.sin(fnp.cos(fnp.sin(fnp.cos(x) * 1.1) * 1.2) * 1.3))

    def f(x):
        for _ in range(12):
            x = step(x)
        return fnp.sum(x)

    return f


def test_compiled_memory_is_lower():
    x = np.ones(100_000)
    plain = fg.explain(fg.grad(deep(lambda f: f)))(x).program
    less = fg.explain(fg.grad(deep(checkpoint)))(x).program
    assert less.arena < 0.5 * plain.arena
    np.testing.assert_allclose(fg.jit(fg.grad(deep(checkpoint)))(x), fg.grad(deep(lambda f: f))(x), rtol=1e-9)


def test_a_policy_looks_into_jitted_functions():
    policy = fg.checkpoint_policies.dots_saveable
    f = lambda x: fnp.sin(fnp.sin(x @ x)).sum()
    x = np.ones((3, 3))
    count = lambda g: str(fg.make_jaxpr(fg.grad(g))(x)).count("dot_general")
    plain, inside = fg.checkpoint(f, policy=policy), fg.checkpoint(fg.jit(fg.jit(f)), policy=policy)
    assert count(inside) == count(plain) == 3  # one forward, two backward: the product is kept
    assert count(fg.checkpoint(fg.jit(f))) == 4
    np.testing.assert_allclose(fg.grad(inside)(x), fg.grad(f)(x), rtol=1e-12)


@pytest.mark.parametrize("policy", [3, "dots", True])
def test_a_policy_that_is_no_function_is_told(policy):
    with pytest.raises(TypeError, match="(?s)policy=.*Allowed: None.*Try: policy="):
        fg.checkpoint(fnp.sin, policy=policy)


@pytest.mark.parametrize("kind", ["save_only_these_names", "save_any_names_but_these", "save_anything_except_these_names"])
def test_names_of_policies_are_strings(kind):
    with pytest.raises(TypeError, match=r"(?s)got \['a'\] for a name.*Allowed: strings"):
        getattr(fg.checkpoint_policies, kind)(["a"])


@pytest.mark.parametrize(
    "view", [fnp.flip, fnp.transpose, lambda h: fnp.roll(h, 1, axis=1), lambda h: fnp.broadcast_to(h[:1], h.shape)]
)
def test_what_a_checkpoint_recomputes_from_is_also_read_in_another_order(view):
    """The operand of the recomputation and its use beside it share one memory: no kernel may write over it."""

    def loss(x):
        h = x @ x
        return fnp.sum(checkpoint(fnp.tanh)(h) * view(h))

    x = np.random.default_rng(0).normal(size=(4, 4))
    np.testing.assert_allclose(fg.jit(fg.grad(loss))(x), fg.grad(loss)(x), rtol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.grad(loss), donate_argnums=0)(fnp.array(x)), fg.grad(loss)(x), rtol=1e-12)
