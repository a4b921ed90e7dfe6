"""Products leave scans, before and after: which do, which stay, and that the meaning does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.core.config import config
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.ir.jaxpr import closed_over
from funcgrad.passes import afterwards, ahead, simplify

RNG = np.random.default_rng(0)


def array(*shape, dtype=np.float64):
    x = RNG.normal(size=shape, scale=0.5)
    return (x + 1j * RNG.normal(size=shape, scale=0.5)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


def simplified(f, *args):
    """The simplified program, after it has given, within rounding, what the traced one gives."""
    closed = fg.make_jaxpr(f)(*args)
    jaxpr = closed_over(closed.jaxpr)
    flat = [np.asarray(x) for x in [*closed.consts, *fg.tree_util.tree_leaves(args)]]
    with config.override(check_ir=True):
        simple = simplify(jaxpr)
    for a, b in zip(evaluate_numpy(simple, (), flat), evaluate_numpy(jaxpr, (), flat), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    for a, b in zip(fg.tree_util.tree_leaves(fg.jit(f)(*args)), evaluate_numpy(jaxpr, (), flat), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    return simple


def scans(jaxpr):
    return [e for e in jaxpr.eqns if e.primitive.name == "scan"]


def products(jaxpr):
    return [e.primitive.name for e in jaxpr.eqns].count("dot_general")


def inside(jaxpr):
    """How many products each scan of the program takes in a step."""
    return [products(e.params["body"]) for e in scans(jaxpr)]


W, U, B, XS = array(4, 4), array(4, 4), array(4), array(9, 4)


def states(w, u, b, xs):
    return lax.scan(lambda h, x: (fnp.tanh(w @ h + u @ x + b), h), fnp.zeros(4, fnp.float64), xs)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_product_of_what_is_given_is_taken_before(reverse):
    def f(u, xs):
        return lax.scan(lambda h, x: (fnp.tanh(0.5 * h + u @ x), h), fnp.zeros(4, fnp.float64), xs, reverse=reverse)

    simple = simplified(f, U, XS)
    assert inside(simple) == [0] and products(simple) == 1
    (loop,) = scans(simple)
    assert loop.params["consts"] == 0 and len(loop.inputs) == 2  # the carry and the products


@pytest.mark.parametrize(
    "product",
    [
        lambda u, x: u @ x,
        lambda u, x: x @ u,
        lambda u, x: fnp.sin(x) @ u,
        lambda u, x: u @ (x * 2 + fnp.flip(x)),
        lambda u, x: (u @ x[:, None])[:, 0],
        lambda u, x: (u @ fnp.stack([x, 2 * x], 1)).sum(1),
        lambda u, x: fnp.einsum("i,ji->j", x, u),
        lambda u, x: u @ (u @ x),
        lambda u, x: (x[:, None] * u).sum(0) + u @ x,
    ],
)
def test_forms_of_a_product_before(product):
    simple = simplified(lambda u, xs: lax.scan(lambda h, x: (fnp.tanh(0.5 * h + product(u, x)), None), B, xs)[0], U, XS)
    assert inside(simple) == [0]


def test_what_stays_inside():
    # it depends on the carry
    assert inside(simplified(lambda u, xs: lax.scan(lambda h, x: (u @ (h + x), None), B, xs)[0], U, XS)) == [1]
    # it would be much larger than what it is made of
    wide = array(400, 4)
    assert inside(simplified(lambda u, xs: lax.scan(lambda h, x: (h + (u @ x).sum(), None), 0.5, xs)[0], wide, XS)) == [1]
    # it has as many rows as a matrix product wants
    many = array(3, 200, 4)
    assert inside(simplified(lambda u, xs: lax.scan(lambda h, x: (h + x @ u, None), many[0], xs)[0], U, many)) == [1]
    # both operands are given in each step: nothing is read again and again
    pair = array(9, 4, 4)
    assert inside(
        simplified(lambda a, xs: lax.scan(lambda h, x: (fnp.tanh(h + x[0] @ x[1]), None), B, (a, xs))[0], pair, XS)
    ) == [1]
    # integers have no BLAS
    whole = np.arange(36).reshape(9, 4)
    assert inside(simplified(lambda u, xs: lax.scan(lambda h, x: (h + u @ x, None), xs[0], xs)[0], whole[:4], whole)) == [1]
    # a loop of one step
    assert inside(simplified(lambda u, xs: lax.scan(lambda h, x: (h + u @ x, None), B, xs)[0], U, XS[:1])) == [1]


def test_a_recurrent_network_s_gradient_has_one_product_a_step_each_way():
    loss = lambda *args: sum((x**2).sum() for x in states(*args))
    simple = simplified(fg.grad(loss, (0, 1, 2)), W, U, B, XS)
    assert inside(simple) == [1, 1] and products(simple) == 3


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_gradients_are_what_they_were(dtype):
    args = [array(*s, dtype=dtype) for s in ((4, 4), (4, 4), (4,), (9, 4))]
    loss = lambda *args: (abs(states_of(*args)) ** 2).sum()

    def states_of(w, u, b, xs):
        return lax.scan(lambda h, x: (fnp.tanh(w @ h + u @ x + b), None), fnp.zeros(4, dtype), xs)[0]

    def unrolled(w, u, b, xs):
        h = fnp.zeros(4, dtype)
        for x in xs:
            h = fnp.tanh(w @ h + u @ x + b)
        return (abs(h) ** 2).sum()

    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-10
    for a, b in zip(fg.jit(fg.grad(loss, (0, 1, 2, 3)))(*args), fg.grad(unrolled, (0, 1, 2, 3))(*args), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def sums(term):
    """A loop that adds up `term(d, x)`, d a moving vector, into a matrix."""

    def f(start, xs):
        def step(c, x):
            total, d = c
            return (total + term(d, x), fnp.sin(d + x)), None

        return lax.scan(step, (start, B), xs)[0]

    return f


@pytest.mark.parametrize(
    ("term", "left"),
    [
        (lambda d, x: fnp.outer(d, x), 0),
        (lambda d, x: fnp.outer(x, d), 0),
        (lambda d, x: fnp.outer(d, d), 0),
        (lambda d, x: fnp.outer(x, x), 0),
        (lambda d, x: fnp.outer(d, x).T, 0),
        (lambda d, x: fnp.outer(d, x) + fnp.outer(x, d), 0),
        (lambda d, x: fnp.outer(d, x) + d, 0),
        (lambda d, x: fnp.outer(d, x) + fnp.tanh(fnp.outer(d, x)), 1),
        (lambda d, x: fnp.outer(d, x) * 2, 1),
        (lambda d, x: fnp.outer(d, fnp.ones(4, fnp.float64)), 0),
    ],
)
def test_sums_of_products_are_taken_after(term, left):
    simple = simplified(sums(term), array(4, 4), XS)
    count = sum(inside(simple))
    assert count <= left or all(
        e.primitive.loop.__class__.__name__ != "Dot" for s in scans(simple) for e in s.params["body"].eqns
    )


def test_sums_that_stay():
    # somebody reads the sum on the way
    def read(start, xs):
        return lax.scan(lambda c, x: (c + lax.dot_general(x, x, (((), ()), ((), ()))), c.sum()), start, xs)

    assert inside(simplified(read, array(4, 4), XS)) == [1]

    # a carry that is no sum
    def faded(start, xs):
        return lax.scan(lambda c, x: (c * 0.5 + lax.dot_general(x, x, (((), ()), ((), ()))), None), start, xs)[0]

    assert inside(simplified(faded, array(4, 4), XS)) == [1]

    # what would have to be kept is as large as the sum
    def thick(start, xs):
        def step(c, x):
            y = fnp.tanh(x * c[1].sum())
            return (c[0] + y.T @ y, c[1] + y), None

        return lax.scan(step, (start, fnp.zeros((8, 4), fnp.float64)), xs)[0]

    assert inside(simplified(thick, array(4, 4), array(5, 8, 4))) == [1]


def test_loops_in_loops():
    def f(w, u, xs):
        def outer(h, block):
            h = lax.scan(lambda h, x: (fnp.tanh(w @ h + u @ x), None), h, block)[0]
            return h, h

        return lax.scan(outer, fnp.zeros(4, fnp.float64), xs)[1].sum()

    blocks = array(3, 5, 4)
    simple = simplified(f, W, U, blocks)
    assert products(simple) == 1  # of all steps of all blocks
    simplified(fg.grad(f, (0, 1)), W, U, blocks)
    simplified(fg.vmap(fg.grad(f, (0, 1)), (None, None, 0)), W, U, array(2, 3, 5, 4))
    simplified(fg.vmap(fg.grad(f, (0, 1)), (0, 0, None)), array(2, 4, 4), array(2, 4, 4), blocks)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(["w h", "u x", "x u", "outer", "sin", "square", "tail"]), min_size=1, max_size=5),
    st.booleans(),
    st.integers(0, 4),
)
def test_random_bodies(words, reverse, length):
    def f(w, u, xs):
        def step(c, x):
            h, total, count = c
            y = h
            for word in words:
                if word == "w h":
                    y = fnp.tanh(w @ y)
                elif word == "u x":
                    y = y + u @ x
                elif word == "x u":
                    y = y * (fnp.sin(x) @ u)
                elif word == "outer":
                    total = total + fnp.outer(y, x)
                elif word == "sin":
                    x = fnp.sin(x)
                elif word == "square":
                    total = total + fnp.outer(x, x).T
                else:
                    count = count + y.sum()
            return (y, total, count), y * x

        start = fnp.ones(3, fnp.float64), fnp.zeros((3, 3), fnp.float64), fnp.float64(0.0)
        (h, total, count), ys = lax.scan(step, start, xs, reverse=reverse)
        return h.sum() + (total**2).sum() + count + (ys**2).sum()

    args = array(3, 3), array(3, 3), array(length, 3)
    simplified(f, *args)
    simplified(fg.grad(f, (0, 1, 2)), *args)


def test_what_would_take_too_much_memory_stays(monkeypatch):
    f = fg.grad(lambda w, u, xs: states(w, u, B, xs)[0].sum(), (0, 1))
    assert inside(simplified(f, W, U, XS)) == [1, 1]
    monkeypatch.setattr(ahead, "MOST_BYTES", 9 * 4 * 8 - 1)
    monkeypatch.setattr(afterwards, "MOST_BYTES", 9 * 4 * 8 - 1)
    assert inside(simplified(f, W + 1, U, XS)) == [2, 3]


def test_the_memory_of_what_a_product_is_made_of_counts(monkeypatch):
    square, cube, w, v = array(4, 16), array(4, 64), array(4, 8), array(6, 4)

    def f(product):
        return inside(simplified(lambda xs: lax.scan(lambda h, x: (fnp.tanh(h + product(x)), None), B, xs)[0], XS))

    assert f(lambda x: square @ fnp.outer(x, x).ravel()) == [0]
    assert f(lambda x: cube @ fnp.outer(fnp.outer(x, x).ravel(), x).ravel()) == [1]  # sixteen times what is given
    monkeypatch.setattr(ahead, "MOST_BYTES", 9 * (4 + 16) * 8)
    assert f(lambda x: square @ fnp.outer(x, x).ravel()) == [0]
    monkeypatch.setattr(ahead, "MOST_BYTES", 9 * (4 + 16) * 8 - 1)
    assert f(lambda x: square @ fnp.outer(x, x).ravel()) == [1]
    monkeypatch.setattr(ahead, "MOST_BYTES", 9 * (4 + 8) * 8)  # two products share it
    assert f(lambda x: U @ x + w @ fnp.concatenate([x, fnp.sin(x)])) == [1]
    assert f(lambda x: U @ x + W @ x + (v @ x)[:4]) == [1]
