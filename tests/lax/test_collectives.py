"""Collectives under vmap against what they mean, written on NumPy arrays with the lanes in front; in float64."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.errors import ShapeError, UnboundAxisError, UsageError

RNG = np.random.default_rng(0)
N = 4
X = RNG.normal(size=(N, 4, 8, 3))
GROUPS = [[0, 2], [3, 1]]
SHIFT = [(i, (i + 1) % N) for i in range(N)]
SOME = [(0, 3), (2, 0)]


def in_groups(meaning, groups):
    """The meaning within each group of lanes."""

    def whole(x):
        out = [None] * N
        for group in groups or [list(range(N))]:
            for lane, y in zip(group, meaning(x[group])):
                out[lane] = y
        return np.stack(out)

    return whole


def everywhere(y, x):
    return [y] * len(x)


def permuted(perm):
    def meaning(x):
        out = np.zeros_like(x)
        for source, target in perm:
            out[target] = x[source]
        return out

    return meaning


def exchanged(split, concat):
    """Untiled: piece k of every lane, the lanes at `concat`."""
    return lambda x: [np.stack([y.take(k, split) for y in x], concat) for k in range(len(x))]


def exchanged_tiled(split, concat):
    return lambda x: [np.concatenate([np.split(y, len(x), split)[k] for y in x], concat) for k in range(len(x))]


def scattered(axis):
    return lambda x: [x.sum(0).take(k, axis) for k in range(len(x))]


def scattered_tiled(axis):
    return lambda x: np.split(x.sum(0), len(x), axis)


CASES = {
    "psum": (lambda x, g: lax.psum(x, "i", axis_index_groups=g), lambda x: everywhere(x.sum(0), x)),
    "pmean": (lambda x, g: lax.pmean(x, "i", axis_index_groups=g), lambda x: everywhere(x.mean(0), x)),
    "pmax": (lambda x, g: lax.pmax(x, "i", axis_index_groups=g), lambda x: everywhere(x.max(0), x)),
    "pmin": (lambda x, g: lax.pmin(x, "i", axis_index_groups=g), lambda x: everywhere(x.min(0), x)),
    "all_gather": (lambda x, g: lax.all_gather(x, "i", axis_index_groups=g), lambda x: everywhere(x, x)),
    "all_gather axis": (
        lambda x, g: lax.all_gather(x, "i", axis=-2, axis_index_groups=g),
        lambda x: everywhere(np.moveaxis(x, 0, -2), x),
    ),
    "all_gather tiled": (
        lambda x, g: lax.all_gather(x, "i", axis=1, tiled=True, axis_index_groups=g),
        lambda x: everywhere(np.concatenate(list(x), 1), x),
    ),
    "psum_scatter tiled": (
        lambda x, g: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True, axis_index_groups=g),
        scattered_tiled(1),
    ),
    "all_to_all tiled": (
        lambda x, g: lax.all_to_all(x, "i", 0, 2, tiled=True, axis_index_groups=g),
        exchanged_tiled(0, 2),
    ),
    "all_to_all tiled same": (
        lambda x, g: lax.all_to_all(x, "i", 1, 1, tiled=True, axis_index_groups=g),
        exchanged_tiled(1, 1),
    ),
}
WHOLE = {
    "psum_scatter": (lambda x: lax.psum_scatter(x, "i"), scattered(0)),
    "all_to_all 0 0": (lambda x: lax.all_to_all(x, "i", 0, 0), exchanged(0, 0)),
    "all_to_all 0 2": (lambda x: lax.all_to_all(x, "i", 0, 2), exchanged(0, 2)),
    "pswapaxes": (lambda x: lax.pswapaxes(x, "i", 0), lambda x: np.swapaxes(x, 0, 1)),
    "ppermute shift": (lambda x: lax.ppermute(x, "i", SHIFT), permuted(SHIFT)),
    "ppermute some": (lambda x: lax.ppermute(x, "i", SOME), permuted(SOME)),
    "ppermute none": (lambda x: lax.ppermute(x, "i", []), permuted([])),
    "axis_index": (lambda x: x * lax.axis_index("i"), lambda x: [y * i for i, y in enumerate(x)]),
}
ALL = {f"{name}, {'groups' if g else 'all'}": (lambda x, f=f, g=g: f(x, g), in_groups(m, g))
       for name, (f, m) in CASES.items() for g in (None, GROUPS)}  # fmt: skip
ALL |= {name: (f, in_groups(m, None)) for name, (f, m) in WHOLE.items()}


@pytest.mark.parametrize("name", ALL)
def test_meaning(name):
    f, meaning = ALL[name]
    want = meaning(X)
    ways = {
        "vmap(f)": fg.vmap(f, axis_name="i"),
        "jit(vmap(f))": fg.jit(fg.vmap(f, axis_name="i")),
        "vmap(jit(f))": fg.vmap(fg.jit(f), axis_name="i"),
        "another lane axis": lambda x: fg.vmap(f, in_axes=2, axis_name="i")(np.moveaxis(x, 0, 2)),
    }
    for way, g in ways.items():
        np.testing.assert_allclose(g(X), want, rtol=1e-12, err_msg=way)
    # An operand that all lanes share is the same on each.
    shared = fg.vmap(lambda _, x: f(x), in_axes=(0, None), axis_name="i")(np.arange(N), X[0])
    np.testing.assert_allclose(shared, meaning(np.stack([X[0]] * N)), rtol=1e-12)
    # Vectorised along another axis, inside and outside.
    many = np.stack([X, X + 1, X * 2])
    wanted = np.stack([meaning(x) for x in many])
    np.testing.assert_allclose(fg.vmap(fg.vmap(f, axis_name="i"))(many), wanted, rtol=1e-12)
    inside = fg.vmap(fg.vmap(f), in_axes=1, out_axes=1, axis_name="i")(many)
    np.testing.assert_allclose(inside, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_derivatives(name):
    f, meaning = ALL[name]
    t = RNG.normal(size=X.shape)
    want = (meaning(X + 1e-6 * t) - meaning(X - 1e-6 * t)) / 2e-6
    outside = fg.vmap(f, axis_name="i")
    inside = fg.vmap(lambda x, t: fg.jvp(f, (x,), (t,))[1], axis_name="i")
    np.testing.assert_allclose(fg.jvp(outside, (X,), (t,))[1], want, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(inside(X, t), want, rtol=1e-6, atol=1e-8)
    # The transpose is that of the map from all lanes to all lanes, whichever side it is taken on.
    ct = RNG.normal(size=want.shape)
    pulled = fg.vjp(outside, X)[1](ct)[0]
    np.testing.assert_allclose(np.sum(pulled * t), np.sum(want * ct), rtol=1e-6)
    lanes = fg.vmap(lambda x, ct: fg.vjp(f, x)[1](ct)[0], axis_name="i")
    np.testing.assert_allclose(lanes(X, ct), pulled, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fg.jit(lanes)(X, ct), pulled, rtol=1e-10, atol=1e-12)


def test_gradients_are_those_of_jax():
    x = np.arange(1.0, 5.0)
    grad = lambda f: fg.vmap(fg.grad(f), axis_name="i")(x).tolist()
    assert grad(lambda x: lax.psum(x**2, "i")) == [8, 16, 24, 32]
    assert grad(lambda x: lax.pmean(x**2, "i") * x) == [12.5, 17.5, 22.5, 27.5]
    assert grad(lambda x: (lax.all_gather(x, "i") ** 3).sum() * x) == [130, 220, 370, 580]


def test_several_names():
    x = RNG.normal(size=(2, 3, 6, 5))
    both = lambda f: fg.vmap(fg.vmap(f, axis_name="j"), axis_name="i")
    flat = x.reshape(6, 6, 5)
    check = lambda got, want: np.testing.assert_allclose(got, np.stack(want).reshape(2, 3, *np.shape(want)[1:]), rtol=1e-12)
    names = ("i", "j")
    check(both(lambda x: lax.psum(x, names))(x), [flat.sum(0)] * 6)
    check(both(lambda x: lax.pmax(x, ["j", "i"]))(x), [flat.max(0)] * 6)
    check(both(lambda x: lax.all_gather(x, names))(x), [flat] * 6)
    check(both(lambda x: lax.all_gather(x, names, axis=1, tiled=True))(x), [np.concatenate(list(flat), 1)] * 6)
    check(both(lambda x: lax.psum_scatter(x, names))(x), flat.sum(0))
    check(both(lambda x: lax.all_to_all(x, names, 0, 0))(x), flat.swapaxes(0, 1))
    check(both(lambda x: lax.all_to_all(x, names, 0, 1))(x), np.moveaxis(flat.swapaxes(0, 1), 1, 2))
    check(both(lambda x: lax.all_to_all(x, names, 0, 1, tiled=True))(x), exchanged_tiled(0, 1)(flat))
    check(both(lambda x: lax.ppermute(x, names, [(0, 5), (1, 2)]))(x), permuted([(0, 5), (1, 2)])(flat))
    check(both(lambda x: lax.axis_index(names) + 0 * x)(x), [np.full((6, 5), k) for k in range(6)])
    assert both(lambda x: x.sum() * lax.axis_size(names))(x).shape == (2, 3)
    # Each name is bound where its vmap is; one that is bound again hides the one outside.
    check(both(lambda x: lax.psum(x, "i"))(x), [x[:, j].sum(0) for _ in range(2) for j in range(3)])
    hidden = fg.vmap(fg.vmap(lambda x: lax.psum(x, "i"), axis_name="i"), axis_name="i")(x)
    check(hidden, [x[i].sum(0) for i in range(2) for _ in range(3)])


def test_pytrees_constants_and_dtypes():
    seen = []

    def f(x):
        seen.append((lax.psum(1, "i"), lax.psum(2.5, "i"), lax.pmean(3, "i"), lax.axis_size("i")))
        return lax.psum({"a": x, "b": (x > 1, x.astype("int32"))}, "i"), lax.pmean(x.astype("int32"), "i"), lax.axis_index("i")

    sums, mean, index = fg.vmap(f, axis_name="i")(fnp.arange(4.0))
    assert seen == [(4, 10.0, 3.0, 4)] and [type(x) for x in seen[0]] == [int, float, float, int]
    assert sums["a"].tolist() == [6.0] * 4 and sums["b"][0].tolist() == [2] * 4 and sums["b"][1].dtype == "int32"
    assert mean.dtype == "float32" and mean.tolist() == [1.5] * 4
    assert index.dtype == "int32" and index.tolist() == [0, 1, 2, 3]
    # A reduction is the same for all lanes, so it may come out once.
    assert float(fg.vmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None)(fnp.arange(4.0))) == 6.0
    # Axes of the operand beside the named one.
    got = fg.vmap(lambda x: lax.pmean(x, ("i", 0)), axis_name="i")(X)
    np.testing.assert_allclose(got, np.stack([X.mean((0, 1))] * N), rtol=1e-12)


def loop(x):
    return lax.scan(lambda c, y: (lax.psum(c, "i") * 0.1 + y, lax.pmean(c, "i")), x[0], x)


def branches(x):
    return lax.cond(x[0] > 0, lambda x: lax.psum(x, "i"), lambda x: x * 2, x)


def until(x):
    return lax.while_loop(lambda c: lax.pmax(c, "i").max() < 5, lambda c: c * 1.5 + lax.axis_index("i"), fnp.abs(x) + 0.1)


@fg.custom_jvp
def own_rule(x):
    return lax.psum(x, "i") * x


@own_rule.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return own_rule(x), lax.psum(t, "i") * x + lax.psum(x, "i") * t


PROGRAMS = {
    "scan": (lambda x: loop(x)[0] + loop(x)[1].sum(), None),
    "cond": (branches, None),
    "while": (until, None),
    "checkpoint": (fg.checkpoint(lambda x: fnp.sin(lax.psum(x * x, "i")) * x), None),
    "custom_jvp": (own_rule, lambda x: lax.psum(x, "i") * x),
    "jit in jit": (fg.jit(lambda x: fg.jit(lambda y: lax.psum(y, "i"))(x) + x), None),
    "closure": (lambda x: (lambda s: lax.fori_loop(0, 3, lambda i, c: c * 0.5 + s, x))(lax.psum(x, "i")), None),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_inside_programs(name):
    f, same = PROGRAMS[name]
    x = RNG.normal(size=(3, 2))
    plain = fg.vmap(same or f, axis_name="i")
    want = np.asarray(plain(x))
    total = lambda g: lambda x: fnp.sum(fnp.cos(g(x)))
    differences = np.stack([
        (np.cos(plain(x + e)).sum() - np.cos(plain(x - e)).sum()) / 2e-6 for e in 1e-6 * np.eye(6).reshape(6, 3, 2)
    ]).reshape(3, 2)  # fmt: skip
    for g in (fg.vmap(f, axis_name="i"), fg.vmap(fg.jit(f), axis_name="i"), fg.jit(fg.vmap(f, axis_name="i"))):
        np.testing.assert_allclose(g(x), want, rtol=1e-12)
        np.testing.assert_allclose(fg.jvp(g, (x,), (x,))[1], fg.jvp(plain, (x,), (x,))[1], rtol=1e-10)
        if name != "while":  # its reverse mode needs a bound inside jit
            np.testing.assert_allclose(fg.grad(total(g))(x), differences, rtol=1e-6, atol=1e-8)
    if name != "while":
        inside = fg.vmap(fg.grad(lambda x: fnp.sum(fnp.cos(f(x)))), axis_name="i")
        np.testing.assert_allclose(inside(x), differences, rtol=1e-6, atol=1e-8)


def test_jit_knows_the_bound_axes():
    f = fg.jit(lambda x: x * lax.axis_size("i"))
    assert fg.vmap(f, axis_name="i")(fnp.ones(3)).tolist() == [3.0] * 3
    assert fg.vmap(f, axis_name="i")(fnp.ones(5)).tolist() == [5.0] * 5
    assert f.cache_info().traces == 2
    with pytest.raises(UnboundAxisError):
        f(1.0)


def test_make_jaxpr_with_axis_env():
    f = lambda x: lax.psum(x, "i") + lax.axis_index("i")
    program = fg.make_jaxpr(f, axis_env=[("i", 4)])(1.0)
    assert "psum[axis_name=i axis_size=4]" in str(program)
    with pytest.raises(UsageError, match="pairs"):
        fg.make_jaxpr(f, axis_env=[4])


@pytest.mark.parametrize(
    "f, error, text",
    [
        (lambda x: lax.psum(x, "k"), NameError, r"(?s)psum: axis 'k' is not bound; bound are 'i' \(4\).*vmap\(f, axis_name='k'\)"),
        (lambda x: lax.axis_index("k"), UnboundAxisError, "axis_index: axis 'k' is not bound"),
        (lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2]]), UsageError, "groups of one size"),
        (lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)]), UsageError, "each target once"),
        (lambda x: lax.all_gather(x, "i", axis=9), ShapeError, "axes from -4 to 3"),
        (lambda x: lax.psum_scatter(x, "i", scatter_dimension=1), ShapeError, "the number of lanes"),
        (lambda x: lax.psum_scatter(x, "i", scatter_dimension=2, tiled=True), ShapeError, "that 4 lanes divide"),
        (lambda x: lax.all_to_all(x, "i", 1, 0), ShapeError, "tiled=True"),
    ],
)  # fmt: skip
def test_errors(f, error, text):
    with pytest.raises(error, match=text):
        fg.vmap(f, axis_name="i")(X)
