"""Taylor mode against nested forward mode to order 5, and against known series; in float64."""

import functools
import math

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.errors import DtypeError, ShapeError, TreeError, UsageError

ORDER = 5
X = np.array([0.3, 0.55, 0.7])
TERMS = [np.array([1.0, -0.5, 0.2]), np.array([0.3, 0.4, -0.2]), np.array([-1.0, 0.6, 0.1]), np.array([0.2, 0.0, 1.0]), X]
W = np.array([[0.3, -0.2, 0.5], [0.7, 0.1, -0.4], [-0.6, 0.2, 0.9]])


def path(s):
    """The argument at s: its derivatives at 0 are TERMS."""
    return X + sum(t * s**k / math.factorial(k) for k, t in enumerate(TERMS, 1))


def nested(f):
    """Value and derivatives of f along the path, by jvp of jvp of ..."""
    g, out = lambda s: f(path(s)), []
    for _ in range(ORDER + 1):
        out.append(np.asarray(g(0.0)))
        g = functools.partial(lambda h, s: fg.jvp(h, (s,), (1.0,))[1], g)
    return out


@fg.custom_jvp
def own(x):
    return fnp.sin(x)


own.defjvps(lambda t, out, x: t * fnp.cos(x))

SMOOTH = {
    name: getattr(fnp, name)
    for name in "exp exp2 expm1 log log1p log2 sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arctanh sqrt cbrt square "
    "reciprocal abs sign floor sinc".split()
} | {
    "arccosh": lambda x: fnp.arccosh(x + 1),
    "logistic": fg.nn.sigmoid,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "erf_inv": lax.erf_inv,
    "lgamma": lambda x: lax.lgamma(x + 1),
    "digamma": lambda x: lax.digamma(x + 1),
    "rsqrt": lax.rsqrt,
    "atan2": lambda x: fnp.arctan2(x, 1 + x * x),
    "integer powers": lambda x: (x - 0.3) ** 3 + x**-2,
    "number powers": lambda x: x**1.7 + 2.0**x,
    "powers": lambda x: x**x,
    "quotient": lambda x: (1 + x) / (2 - x * x),
    "remainder": lambda x: fnp.fmod(3 * x, 0.8),
    "complex": lambda x: fnp.real(fnp.exp((1 + 2j) * x) / (x + 1j)) + fnp.abs(x + 1j * x**2),
}
STRUCTURED = {
    "max, min, clip": lambda x: fnp.maximum(x, 0.5) * fnp.minimum(x, 0.6) + fnp.clip(x**2, 0.1, 0.4),
    "where": lambda x: fnp.where(x > 0.5, fnp.sin(x), x * x),
    "reductions": lambda x: fnp.sum(x) * fnp.max(x) + fnp.mean(x**2) + fnp.prod(x) + fnp.min(x),
    "products": lambda x: fnp.sin(W @ x) @ W @ x,
    "convolutions": lambda x: fnp.convolve(fnp.convolve(x, fnp.sin(x)), W[0]),
    "outer": lambda x: fnp.einsum("i,j,ij->", x, fnp.exp(x), W),
    "structure": lambda x: fnp.concatenate([x[::-1], fnp.pad(x, 1)[1:3] ** 2]).reshape(5, 1).T * fnp.stack([x, x])[0, 1],
    "indexed": lambda x: x[np.array([2, 0, 0])] * fnp.roll(x, 1) + fnp.asarray(x).at[1].set(x[0] * x[2]),
    "sorted": lambda x: fnp.cumsum(fnp.sort(-x) ** 2) * fnp.cumprod(x),
    "softmax": lambda x: fg.nn.softmax(x) * fg.nn.logsumexp(x),
    "jit": fg.jit(lambda x: fnp.sin(x) * x),
    "scan": lambda x: lax.scan(lambda c, y: (fnp.tanh(c * 0.9 + y), c * y), x[0], x)[1].sum(),
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, c: fnp.sin(c) * x, x),
    "while": lambda x: lax.while_loop(lambda c: c.sum() < 5, lambda c: c * (1 + x), x),
    "cond": lambda x: lax.cond(x[0] > 0.2, lambda: fnp.sin(x), lambda: x),
    "custom_jvp": lambda x: own(x * x),
    "checkpoint": fg.checkpoint(lambda x: fnp.exp(fnp.sin(x))),
    "grad inside": lambda x: fg.grad(lambda y: fnp.sum(fnp.sin(y) * y**2))(x),
    "vmap inside": lambda x: fg.vmap(lambda y: fnp.sin(y) * lax.psum(y, "i"), axis_name="i")(x),
    "constant": lambda x: fnp.ones(2),
}


@pytest.mark.parametrize("name", [*SMOOTH, *STRUCTURED])
def test_against_nested_jvps(name):
    f = (SMOOTH | STRUCTURED)[name]
    want = nested(f)
    out, terms = fg.jet(f, (X,), (TERMS,))
    for got, w in zip([out, *terms], want, strict=True):
        assert np.asarray(got).dtype == w.dtype and np.shape(got) == w.shape
        np.testing.assert_allclose(got, w, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["exp", "powers", "products", "softmax", "scan", "cond"])
def test_under_transforms(name):
    f = (SMOOTH | STRUCTURED)[name]
    plain = lambda x, terms: fg.jet(f, (x,), (terms,))
    want = plain(X, TERMS)
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    fg.tree_util.tree_map(close, fg.jit(plain)(X, TERMS), want)
    many = fg.vmap(plain, in_axes=(0, None))(np.stack([X, X]), TERMS)
    fg.tree_util.tree_map(lambda a, b: close(a[1], b), many, want)
    # The derivative of the third term along x, forward and backward.
    third = lambda x: fnp.sum(plain(x, TERMS)[1][2])
    h = 1e-5 * np.eye(3)
    slope = [(float(third(X + e)) - float(third(X - e))) / 2e-5 for e in h]
    np.testing.assert_allclose(fg.grad(third)(X), slope, rtol=1e-5, atol=1e-6)


def test_known_series():
    unit = [1.0, 0.0, 0.0, 0.0, 0.0]
    coefficients = lambda f, x: [float(t) for t in fg.jet(f, (np.float64(x),), (unit,), factorial_scaled=False)[1]]
    close = functools.partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-14)
    close(coefficients(fnp.exp, 0), [1, 1 / 2, 1 / 6, 1 / 24, 1 / 120])
    close(coefficients(fnp.log1p, 0), [1, -1 / 2, 1 / 3, -1 / 4, 1 / 5])
    close(coefficients(fnp.tan, 0), [1, 0, 1 / 3, 0, 2 / 15])
    close(coefficients(fnp.arctan, 0), [1, 0, -1 / 3, 0, 1 / 5])
    close(coefficients(lambda x: 1 / (1 - x), 0), [1, 1, 1, 1, 1])
    close(coefficients(lambda x: x**3, 0), [0, 0, 1, 0, 0])
    close(coefficients(lambda x: x**2.0, 0), [0, 1, 0, 0, 0])
    # Faa di Bruno: sin(z^3) at 0.5.
    y, (first, second) = fg.jet(fnp.sin, (np.float64(0.5**3),), ([3 * 0.5**2, 6 * 0.5],))
    close([y, first], [np.sin(0.125), np.cos(0.125) * 0.75])
    close(second, -np.sin(0.125) * 0.75**2 + np.cos(0.125) * 3)


def test_several_operands_and_pytrees():
    f = lambda p, y: {"product": p["a"] * y, "sum": (p["b"] + y, 3 * p["n"])}
    p = {"a": np.float64(2), "b": X, "n": 4}
    zero = {"a": 0.0, "b": 0 * X, "n": 0}
    out, terms = fg.jet(f, (p, np.float64(3)), ([zero | {"a": 1.0}, zero | {"a": 4.0}], [0.5, 0.0]))
    assert float(out["product"]) == 6 and [float(t) for t in terms["product"]] == [4.0, 13.0]
    assert [t.tolist() for t in terms["sum"][0]] == [[0.5] * 3, [0.0] * 3]
    assert fg.tree_util.tree_structure(out["sum"][1]) == fg.tree_util.tree_structure(0)


def test_one_pass_is_not_exponential():
    """A chain of smooth operators grows with the square of the order, not with its exponential."""
    f = lambda x: fnp.tanh(fnp.sin(fnp.exp(x) * x))
    size = lambda n: len(fg.make_jaxpr(lambda x: fg.jet(f, (x,), ([x] * n,)))(X).jaxpr.eqns)
    assert size(12) < 6 * size(6)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: fg.jet(fnp.sin, 0.3, ([1.0],)), UsageError, "primals"),
        (lambda: fg.jet(fnp.add, (0.3, 0.1), ([1.0], [1.0, 0.0])), UsageError, "all of one length"),
        (lambda: fg.jet(fnp.sin, (X,), ([1.0],)), ShapeError, "the primal's shape"),
        (lambda: fg.jet(fnp.sin, (X,), ([(X, X)],)), TreeError, "that of the primals"),
        (lambda: fg.jet(lambda n: n * 2.0, (3,), ([1],)), DtypeError, "terms of integers are zero"),
        (lambda: fg.jet(lambda x: fg.pure_callback(np.sin, x, x), (X,), ([X],)), TypeError, "callback was differentiated"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_terms_without_their_list_are_told():
    with pytest.raises(TypeError, match="(?s)got float for the terms.*Allowed: a list of terms.*Try: "):
        fg.jet(fnp.sin, (1.0,), (1.0,))
