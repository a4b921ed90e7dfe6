"""checkpoint: the same derivatives, fewer residuals, and less memory when compiled."""

import funcgrad as fg
import funcgrad.numpy as fnp
import numpy as np
import pytest
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
