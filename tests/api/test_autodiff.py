"""jvp, vjp, linearize, grad, value_and_grad, linear_transpose, against known derivatives."""

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax

Point = namedtuple("Point", "x y")


def test_grad_of_known_functions():
    assert float(fg.grad(lambda x: x**3)(2.0)) == pytest.approx(12.0)
    assert float(fg.grad(fg.grad(fg.grad(fnp.sin)))(0.3)) == pytest.approx(-np.cos(0.3), rel=1e-6)
    x = np.linspace(0.1, 2, 7)
    g = fg.grad(lambda x: fnp.sum(fnp.log(x) * x))(x)
    assert g.dtype == np.float64
    np.testing.assert_allclose(g, np.log(x) + 1)


@pytest.mark.parametrize("fun", [lambda x: x, lambda x: 3.0, lambda x: np.float64(2), lambda x: x.reshape(())], ids=str)
@pytest.mark.parametrize("x", [1.0, np.float32(1), np.ones(()), 1j], ids=str)
def test_gradients_are_arrays(fun, x):
    """Also those that no operator made: of a function that gives back its argument, or a constant."""
    if isinstance(x, complex):
        fun = (lambda f: lambda z: fnp.real(f(z)))(fun)
    for got in fg.value_and_grad(fun)(x), fg.vjp(fun, x)[1](fun(fnp.asarray(x)) * 0 + 1), fg.jit(fg.value_and_grad(fun))(x):
        assert all([type(leaf) is fg.Array for leaf in fg.tree.leaves(got)])


def test_no_perturbation_confusion():
    # d/dx [x * d/dy (x + y)] = 1
    f = lambda x: x * fg.grad(lambda y: x + y)(2.0)
    assert float(fg.grad(f)(1.0)) == 1.0
    g = lambda x: x * fg.jvp(lambda y: x * y, (3.0,), (1.0,))[1]  # x * x
    assert float(fg.grad(g)(5.0)) == 10.0
    assert float(fg.jvp(g, (5.0,), (1.0,))[1]) == 10.0


def test_argnums_and_aux():
    f = lambda x, y: (x * y**2, {"y": y})
    g, aux = fg.grad(f, argnums=1, has_aux=True)(2.0, 3.0)
    assert float(g) == 12.0 and float(aux["y"]) == 3.0
    (v, aux), (gx, gy) = fg.value_and_grad(f, argnums=(0, -1), has_aux=True)(2.0, 3.0)
    assert (float(v), float(gx), float(gy)) == (18.0, 9.0, 12.0)
    float(aux["y"])  # a plain value, not a tracer


def test_pytrees_keep_their_structure():
    tree = {"b": [1.0, np.float64(2.0)], "a": Point(np.ones(3), None), "o": OrderedDict(z=3.0)}
    g = fg.grad(lambda t: t["b"][0] * t["b"][1] + fnp.sum(t["a"].x ** 2) + t["o"]["z"])(tree)
    assert isinstance(g["a"], Point) and g["a"].y is None and isinstance(g["o"], OrderedDict)
    assert float(g["b"][0]) == 2.0 and float(g["b"][1]) == 1.0
    assert g["b"][1].dtype == np.float64 and g["b"][0].dtype == np.float32
    np.testing.assert_array_equal(g["a"].x, 2 * np.ones(3))


def test_unused_arguments_get_zeros_of_their_dtype():
    g = fg.grad(lambda x, y: x, argnums=(0, 1))(1.0, np.ones((2, 3), np.float64))[1]
    assert g.shape == (2, 3) and g.dtype == np.float64 and not np.asarray(g).any()


def test_python_control_flow_on_concrete_values():
    def f(x):
        n = 0
        while x < 100:
            x, n = x * x, n + 1
        return x if n > 1 else -x

    assert float(fg.grad(f)(3.0)) == pytest.approx(8 * 3.0**7)


def test_integer_inputs():
    with pytest.raises(TypeError, match=r"(?s)grad: got i64\[\].*floating.*2\.0 instead of 2"):
        fg.grad(lambda x: x * 2.0)(3)
    g = fg.grad(lambda x: x * 2.0, allow_int=True)(3)
    assert g.dtype == np.dtype([("float0", "V")])
    gx, gi = fg.grad(lambda x, i: x[i] * 2, argnums=(0, 1), allow_int=True)(np.arange(3.0), 1)
    np.testing.assert_array_equal(gx, [0, 2, 0])


def test_outputs_that_are_no_loss():
    with pytest.raises(TypeError, match=r"(?s)output of shape \(3,\).*jacrev"):
        fg.grad(lambda x: x * 2)(np.ones(3))
    with pytest.raises(TypeError, match="one scalar"):
        fg.grad(lambda x: (x, x))(1.0)
    with pytest.raises(TypeError, match="real floating"):
        fg.grad(lambda x: x > 1)(1.0)
    with pytest.raises(TypeError, match=r"(?s)holomorphic"):
        fg.grad(lambda x: x * 1j)(1.0)


def test_wrong_arguments():
    with pytest.raises(TypeError, match=r"(?s)argnums=1 .*1 positional"):
        fg.grad(lambda x: x, argnums=1)(1.0)
    with pytest.raises(TypeError, match="write grad"):
        fg.grad(3.0)
    with pytest.raises(TypeError, match=r"(?s)got str for the argument at \[0\]\['a'\]"):
        fg.grad(lambda t: t["b"])({"a": "text", "b": 1.0})
    with pytest.raises(TypeError, match="pair"):
        fg.grad(lambda x: x, has_aux=True)(1.0)


def test_jvp_and_vjp_are_transposes():
    rng = np.random.default_rng(0)
    a, x, t, ct = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=3), rng.normal(size=4)
    f = lambda x: fnp.tanh(a @ x) * fnp.sum(x)
    y, ty = fg.jvp(f, (x,), (t,))
    y2, pull = fg.vjp(f, x)
    (cx,) = pull(ct)
    np.testing.assert_allclose(y, y2)
    np.testing.assert_allclose(np.vdot(ct, ty), np.vdot(cx, t))
    y3, push = fg.linearize(f, x)
    np.testing.assert_allclose(push(t), ty)


def test_jvp_checks_its_tangents():
    with pytest.raises(TypeError, match="shape"):
        fg.jvp(fnp.sin, (np.ones(3),), (np.ones(2),))
    with pytest.raises(TypeError, match="dtype"):
        fg.jvp(fnp.sin, (np.ones(3),), (np.ones(3, np.float32),))
    with pytest.raises(TypeError, match="float0"):
        fg.jvp(lambda i: i, (1,), (1,))
    with pytest.raises(TypeError, match="tuple"):
        fg.jvp(fnp.sin, 1.0, (1.0,))


def test_pull_takes_one_cotangent():
    _, pull = fg.vjp(lambda x: (x, 2 * x), 1.0)
    assert pull((1.0, 10.0)) == (21.0,)
    with pytest.raises(TypeError, match=r"(?s)got 2 arguments.*one cotangent.*\(\*, \*\).*pull\(\(ct1, ct2\)\)"):
        pull(1.0, 10.0)


def test_what_is_not_linear_has_no_transpose():
    with pytest.raises(TypeError, match=r"(?s)square has no transpose: it is not linear.*linear in their arguments.*fg\.vjp"):
        fg.linear_transpose(lambda x: x**2, 1.0)(1.0)


def test_vjp_of_integer_outputs_and_inputs():
    out, pull = fg.vjp(lambda x, i: (x * i, i + 1), 2.0, 3)
    ct = pull((1.0, np.zeros((), [("float0", "V")])))
    assert float(ct[0]) == 3.0 and ct[1].dtype.names == ("float0",)


def test_complex_gradients():
    z = np.complex64(1 + 2j)
    # JAX's convention: the gradient of a real loss is the conjugate of the direction of steepest ascent.
    g = fg.grad(lambda z: fnp.real(z) ** 2 + fnp.imag(z) ** 2)(z)
    assert complex(g) == pytest.approx(2 - 4j)
    h = fg.grad(lambda z: z**3, holomorphic=True)(z)
    assert complex(h) == pytest.approx(3 * (1 + 2j) ** 2, rel=1e-6)


def test_linear_transpose():
    a = np.arange(6.0).reshape(2, 3)
    f_t = fg.linear_transpose(lambda x: a @ x, np.zeros(3))
    np.testing.assert_allclose(f_t(np.array([1.0, 10.0]))[0], a.T @ [1.0, 10.0])


def test_hard_zeros_of_branches_not_taken():
    f = lambda x: fnp.where(x > 1, fnp.log(x), 2 * x)
    assert float(fg.grad(f)(0.0)) == 2.0
    assert float(fg.grad(fg.grad(f))(0.0)) == 0.0
    assert float(fg.jvp(f, (0.0,), (1.0,))[1]) == 2.0
    np.testing.assert_array_equal(fg.grad(lambda x: fnp.sum(f(x)))(np.array([0.0, 2.0, -1.0])), [2.0, 0.5, 2.0])
    np.testing.assert_array_equal(fg.jit(fg.grad(lambda x: fnp.sum(f(x))))(np.array([0.0, 2.0, -1.0])), [2.0, 0.5, 2.0])
    # through a broadcast, a sum and a reshape between the mask and the infinity
    g = lambda x: fnp.sum(fnp.where(x[:, None] > 1, fnp.reshape(fnp.sqrt(x), (-1, 1)) / x[:, None], 0.0))
    assert np.isfinite(np.asarray(fg.grad(g)(np.array([0.0, 4.0])))).all()
    # what no mask blocks stays what IEEE says
    assert np.isinf(float(fg.grad(fnp.sqrt)(0.0)))


def test_gradient_through_a_closed_over_tracer():
    f = lambda x: fg.grad(lambda y: fnp.sin(y) * x * x)(1.0)
    assert float(fg.grad(f)(3.0)) == pytest.approx(6 * np.cos(1.0), rel=1e-6)


def _counted(v):
    return lax.scan(lambda c, _: ((c[0] + 1, c[1] * fnp.where(c[0] > 1, 2.0, 3.0)), None), (0, v), None, 3)[0][1]


def _steered(v):
    w = fnp.array([1.0, 2.0, 3.0])
    return lax.scan(lambda c, x: ((fnp.sin(c[0]), c[1] * c[0]), c[1] * x), (w, v), w)


def _loop(v):
    return lax.fori_loop(0, 3, lambda i, b: fnp.sin(b) * v, v)


PARTLY_LINEAR = {
    "a counter beside a linear carry": _counted,
    "a known carry steers a linear one": _steered,
    "inside jit": lambda v: fg.jit(lambda a, b: (_steered(a), a * fnp.exp(b)))(v, np.arange(3.0)),
    "fori_loop": lambda v: lax.fori_loop(0, 3, lambda i, v: v * (i + 1), v),
    "a known branch": lambda v: lax.cond(fnp.sum(fnp.arange(3)) > 0, lambda v: 2 * v, lambda v: v[::-1], v),
    "the derivative of a loop": lambda v: fg.jvp(_loop, (np.ones(3),), (v,))[1],
    "outputs that are known": lambda v: (v, fnp.arange(3.0), 3.0),
}


@pytest.mark.parametrize("name", PARTLY_LINEAR)
def test_linear_transpose_of_what_is_linear_in_its_argument_only(name):
    f, x = PARTLY_LINEAR[name], np.array([0.5, -1.0, 2.0])
    y, pull = fg.vjp(f, x)
    ct = fg.tree.map(lambda a: fnp.cos(fnp.arange(a.size).reshape(a.shape)).astype(a.dtype), y)
    (want,) = pull(ct)
    transposed = fg.linear_transpose(f, x)
    np.testing.assert_allclose(transposed(ct)[0], want, rtol=1e-6)
    np.testing.assert_allclose(fg.jit(lambda ct: fg.linear_transpose(f, x)(ct))(ct)[0], want, rtol=1e-6)
    np.testing.assert_allclose(fg.vmap(transposed)(fg.tree.map(lambda a: a[None], ct))[0][0], want, rtol=1e-6)
