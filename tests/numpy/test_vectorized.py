"""vectorize, apply_along_axis, apply_over_axes against NumPy's."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.test_util import check_grads

RNG = np.random.default_rng(0)


def same(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-6)


def pick(x, y):
    return fnp.where(x > y, x - y, x + y)


def np_pick(x, y):
    return x - y if x > y else x + y


@pytest.mark.parametrize("shapes", [((), ()), ((3,), ()), ((2, 1), (3,)), ((1, 1), (1,)), ((4, 1, 2), (3, 1)), ((0, 2), (2,))])
def test_scalars_broadcast(shapes):
    a, b = [np.asarray(RNG.normal(size=s)) for s in shapes]
    want = np.vectorize(np_pick, otypes=[float])(a, b)
    got = fnp.vectorize(pick)(a, b)
    assert got.shape == want.shape and got.dtype == np.float64
    same(got, want)
    same(fg.jit(fnp.vectorize(pick))(a, b), want)


SIGNATURES = [
    ("(n),(n)->()", lambda m: m.dot, [(3,), (3,)]),
    ("(n),(n)->()", lambda m: m.dot, [(2, 1, 3), (4, 3)]),
    ("(m,n),(n)->(m)", lambda m: lambda a, v: a @ v, [(5, 2, 3), (3,)]),
    ("(m, n), (n) -> (m)", lambda m: lambda a, v: a @ v, [(2, 3), (4, 1, 3)]),
    ("(n)->(n),()", lambda m: lambda v: (v * 2, m.sum(v)), [(4, 3)]),
    ("(),()->(k)", lambda m: lambda x, y: m.stack([x, y, x * y]), [(2, 1), (3,)]),
    ("(i,j),(j,k)->(i,k)", lambda m: m.matmul, [(1, 2, 3), (5, 3, 2)]),
]


@pytest.mark.parametrize(("signature", "make", "shapes"), SIGNATURES)
def test_core_dimensions(signature, make, shapes):
    args = [RNG.normal(size=s) for s in shapes]
    want = np.vectorize(make(np), signature=signature)(*args)
    for f in (fnp.vectorize(make(fnp), signature=signature), fg.jit(fnp.vectorize(make(fnp), signature=signature))):
        got = f(*args)
        if isinstance(want, tuple):
            assert isinstance(got, tuple)
            for g, w in zip(got, want, strict=True):
                same(g, w)
        else:
            same(got, want)


def test_excluded_and_keyword_arguments():
    def power(x, n, *, shift=0.0):
        assert isinstance(n, int)
        return x**n + shift

    x = np.arange(3.0)
    f = fnp.vectorize(power, excluded={1, "n"})
    same(f(x, 2), x**2)
    same(f(x, n=3), x**3)
    same(f(x[:, None], 2, shift=x), x[:, None] ** 2 + x)
    same(fnp.vectorize(power, excluded={-1})(x, 2), x**2)
    same(fnp.vectorize(lambda x, y=None: x if y is None else x + y)(x, None), x)
    same(fnp.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(np.ones((2, 3)), b=np.ones(3)), [3, 3])


def test_as_a_decorator_and_its_name():
    @fnp.vectorize
    def step(x):
        """Steps."""
        return fnp.where(x > 0, 1.0, 0.0)

    assert step.__name__ == "step" and step.__doc__ == "Steps."
    same(step(fnp.array([-1.0, 2.0])), [0, 1])


def test_what_does_not_depend_on_an_axis_is_computed_once():
    shapes = []

    def f(m, v):
        shapes.append((m.shape, v.shape))
        return m @ v

    text = str(
        fg.make_jaxpr(fnp.vectorize(lambda m, v: (m @ m) @ v, signature="(n,n),(n)->(n)"))(np.ones((3, 3)), np.ones((7, 3)))
    )
    assert "f64[7,3,3]" not in text
    fnp.vectorize(f, signature="(n,n),(n)->(n)")(np.ones((3, 3)), np.ones((7, 5, 3)))
    assert shapes == [((3, 3), (3,))]


def test_derivatives_and_batches():
    f = fnp.vectorize(lambda v, w: fnp.tanh(v @ w), signature="(n),(n)->()")
    a, b = RNG.normal(size=(2, 3)), RNG.normal(size=3)
    check_grads(f, (a, b), order=2)
    same(fg.vmap(f)(np.stack([a, a]), np.stack([b, 2 * b]))[1], np.tanh(a @ (2 * b)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fnp.vectorize(3), "callable"),
        (lambda: fnp.vectorize(fnp.dot, signature="(n,n)->"), "core dimensions in parentheses"),
        (lambda: fnp.vectorize(fnp.dot, signature="n,n->()"), "core dimensions in parentheses"),
        (lambda: fnp.vectorize(fnp.dot, excluded=3), "a set of positions"),
        (lambda: fnp.vectorize(fnp.dot, signature="(n),(n)->()")(fnp.ones(3)), "got 1 arrays"),
        (lambda: fnp.vectorize(fnp.dot, signature="(n),(n)->()")(fnp.ones(3), fnp.ones(2)), "core dimension n is 2"),
        (lambda: fnp.vectorize(fnp.dot, signature="(n),(n)->()")(fnp.ones(3), 1.0), "at least 1 axes"),
        (lambda: fnp.vectorize(fnp.negative, signature="(n)->()")(fnp.ones(3)), "output 0 of negative has shape"),
        (lambda: fnp.vectorize(fnp.negative, signature="(n)->(n),()")(fnp.ones(3)), "returned 1 outputs"),
        (lambda: fnp.vectorize(pick)(fnp.ones(3), fnp.ones(2)), "broadcast"),
        (lambda: fnp.vectorize(lambda x: "a")(fnp.ones(3)), "returned str"),
        (lambda: fnp.vectorize(lambda x: {"a": x})(fnp.ones(3)), "returned dict"),
        (lambda: fnp.vectorize(lambda x, y: x)(fnp.ones(3), "a"), "got str"),
        (lambda: fnp.apply_along_axis(lambda v: [v], 0, fnp.ones(3)), "returned list"),
    ],
)
def test_errors_say_what_to_mend(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(
    "make",
    [lambda m: m.sum, lambda m: lambda v: v[::-1], lambda m: lambda v: m.outer(v, v), lambda m: lambda v: v[:1] * 2,
     lambda m: lambda v, s=1, k=0: v * s + k],
)  # fmt: skip
def test_apply_along_axis(make, axis):
    x = RNG.normal(size=(3, 4, 2))
    want = np.apply_along_axis(make(np), axis, x)
    same(fnp.apply_along_axis(make(fnp), axis, x), want)
    same(fg.jit(lambda v: fnp.apply_along_axis(make(fnp), axis, v))(x), want)


def test_apply_along_axis_hands_arguments_on():
    x = RNG.normal(size=(3, 2))
    f = lambda v, s, k=0: v * s + k
    same(fnp.apply_along_axis(f, 0, x, 2, k=1), np.apply_along_axis(f, 0, x, 2, k=1))
    same(fnp.apply_along_axis(fnp.cumsum, 0, fnp.arange(3.0)), [0, 1, 3])
    check_grads(lambda v: fnp.apply_along_axis(lambda u: u / u.sum(), 1, v), (np.abs(x),), order=1)


@pytest.mark.parametrize("axes", [0, [0, 2], (1, -1), [2, 0, 1]])
@pytest.mark.parametrize("name", ["sum", "max", "cumsum"])
def test_apply_over_axes(name, axes):
    x = RNG.normal(size=(3, 4, 2))
    want = np.apply_over_axes(getattr(np, name), x, axes)
    same(fnp.apply_over_axes(getattr(fnp, name), x, axes), want)
    same(fg.jit(lambda v: fnp.apply_over_axes(getattr(fnp, name), v, axes))(x), want)


def test_apply_over_axes_wants_the_axis_back():
    with pytest.raises(ValueError, match="that axis reduced"):
        fnp.apply_over_axes(lambda x, axis: fnp.sum(x), fnp.ones((2, 3, 4)), [0])
