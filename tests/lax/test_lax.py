"""The lax names: strictness, structure, slices, products, gather and scatter against NumPy."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
UNARY = {
    "abs": np.abs, "neg": np.negative, "sign": np.sign, "floor": np.floor, "ceil": np.ceil, "exp": np.exp, "sin": np.sin, "cos": np.cos,
    "tanh": np.tanh, "square": np.square, "is_finite": np.isfinite, "exp2": np.exp2, "cbrt": np.cbrt, "atan": np.arctan, "asinh": np.arcsinh,
    "sinh": np.sinh, "cosh": np.cosh, "expm1": np.expm1, "logistic": lambda x: 1 / (1 + np.exp(-x)), "reciprocal": lambda x: 1 / x,
}  # fmt: skip
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
    "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "rem": np.fmod, "atan2": np.arctan2, "div": np.divide,
}  # fmt: skip


def same(got, expected):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", list(UNARY))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_unary(name):
    same(getattr(lax, name)(X), UNARY[name](X))


@pytest.mark.parametrize("name", list(BINARY))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_binary(name):
    f, y = getattr(lax, name), X[::-1] + 0.5
    same(f(X, y), BINARY[name](X, y))
    same(f(X, 2.0), BINARY[name](X, np.float32(2)))
    with pytest.raises(TypeError, match=f"lax.{name}"):
        f(X, y.astype("float64"))
    with pytest.raises(ValueError, match=f"lax.{name}"):
        f(X, y[0])


def test_elementwise_rest():
    i = np.array([1, -2, 100], np.int32)
    assert lax.div(i, 3).tolist() == [0, 0, 33] and lax.rem(i, 3).tolist() == [1, -2, 1]
    assert lax.shift_right_logical(i, 1).tolist() == [0, 2**31 - 1, 50] and lax.shift_right_arithmetic(i, 1).tolist() == [
        0,
        -1,
        50,
    ]
    assert lax.population_count(i).tolist() == [1, 31, 3] and lax.clz(i).tolist() == [31, 0, 25]
    same(lax.clamp(-1.0, X, 2.0), np.clip(X, -1, 2))
    same(lax.select(X > 0, X, -X), np.abs(X))
    same(lax.select_n(np.array([0, 1, 2], np.int32), X[0, :3], X[1, :3], X[2, :3]), [X[0, 0], X[1, 1], X[2, 2]])
    same(lax.round(np.array([0.5, 1.5, -2.5])), [1, 2, -3])
    same(lax.round(np.array([0.5, 1.5, -2.5]), lax.RoundingMethod.TO_NEAREST_EVEN), [0, 2, -2])
    same(lax.integer_pow(X, 3), X**3)
    same(lax.pow(np.abs(X), 2), X**2)
    assert lax.convert_element_type(X, int).dtype == np.int64 and lax.bitcast_convert_type(np.float32(1), "int32") == 0x3F800000
    same(lax.polygamma(1, np.float64(1.0)), np.pi**2 / 6)
    assert fg.grad(lambda x: lax.stop_gradient({"a": x})["a"] * x)(3.0) == 3


def test_structure():
    same(lax.reshape(X, (4, 3), (1, 0)), X.T.reshape(4, 3))
    same(lax.broadcast(X, (2,)), np.broadcast_to(X, (2, 3, 4)))
    same(lax.broadcast_in_dim(X[0], (2, 4), (1,)), np.broadcast_to(X[0], (2, 4)))
    same(lax.collapse(X[None], 0, 2), X)
    same(lax.pad(X, 0.0, ((1, 0, 0), (0, -1, 1))), np.pad(np.insert(X, [1, 2, 3], 0, 1), ((1, 0), (0, 0)))[:, :-1])
    same(lax.rev(X, (1,)), X[:, ::-1])
    same(lax.concatenate([X, X], 1), np.concatenate([X, X], 1))
    same(lax.expand_dims(X, (0, -1)), X[None, ..., None])
    same(lax.squeeze(X[None], (0,)), X)
    assert [p.shape for p in lax.split(X, (1, 3), 1)] == [(3, 1), (3, 3)]
    same(lax.tile(X, (2, 1)), np.tile(X, (2, 1)))
    assert lax.iota("int32", 3).tolist() == [0, 1, 2] and lax.broadcasted_iota(int, (2, 2), 1).tolist() == [[0, 1], [0, 1]]
    assert lax.full((2,), 3).tolist() == [3, 3] and lax.full_like(X, 1).shape == X.shape


def test_slices():
    same(lax.slice(X, (0, 1), (3, 4), (2, 1)), X[0:3:2, 1:4])
    same(lax.slice_in_dim(X, -2, None, axis=1), X[:, -2:])
    same(lax.index_in_dim(X, -1, 1, keepdims=False), X[:, -1])
    same(lax.dynamic_slice(X, (1, 9), (2, 2)), X[1:3, 2:4])
    same(lax.dynamic_slice(X, (-1, 0), (1, 4)), X[2:3])
    same(fg.jit(lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, 1))(X, 1), X[:, 1:3])
    same(lax.dynamic_index_in_dim(X, fnp.asarray(1), 0, keepdims=False), X[1])
    expected = X.copy()
    expected[1:3, 0:2] = 9
    same(lax.dynamic_update_slice(X, np.full((2, 2), 9, np.float32), (1, 0)), expected)
    expected = X.copy()
    expected[:, 2] = 9
    same(lax.dynamic_update_index_in_dim(X, np.full(3, 9, np.float32), 2, 1), expected)
    same(lax.index_take(X, (np.array([0, 2]),), (0,)), X[[0, 2]])


def test_reductions_and_products():
    for name, f in {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}.items():
        same(getattr(lax, f"reduce_{name}")(X, (0,)), f(X, 0))
    assert lax.reduce_and(X > -9, (0, 1)) and not lax.reduce_or(X > 99, (0, 1)) and lax.reduce_xor(np.array([5, 3]), (0,)) == 6
    assert lax.argmax(X, 1, "int32").dtype == np.int32 and lax.argmin(X, 0, int).tolist() == [0, 0, 0, 0]
    same(lax.cumsum(X, 1), np.cumsum(X, 1))
    same(lax.cummax(X, 0, reverse=True), np.maximum.accumulate(X[::-1])[::-1])
    same(lax.cumlogsumexp(X, 1), np.logaddexp.accumulate(X, 1))
    same(lax.dot(X, X.T), X @ X.T)
    same(lax.batch_matmul(X[None], X.T[None]), (X @ X.T)[None])
    same(lax.dot_general(X, X, (((0,), (0,)), ((1,), (1,)))), (X * X).sum(0))
    assert lax.dot_general(X, X, (((1,), (1,)), ((), ())), preferred_element_type="float64").dtype == np.float64
    with pytest.raises(ValueError, match="precision"):
        lax.dot(X, X.T, precision="best")


def test_sorting():
    same(lax.sort(X[:, ::-1]), X)
    k, v = lax.sort_key_val(np.array([2, 0, 1]), np.array([10, 20, 30]))
    assert k.tolist() == [0, 1, 2] and v.tolist() == [20, 30, 10]
    values, places = lax.top_k(X, 2, axis=0)
    same(values, X[::-1][:2])
    assert places.tolist() == [[2] * 4, [1] * 4]


def test_gather_scatter():
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    i = np.array([[2], [0]])
    same(lax.gather(X, i, numbers, (1, 4)), X[[2, 0]])
    same(lax.gather(X, np.array([[9]]), numbers, (1, 4), mode=lax.GatherScatterMode.CLIP), X[[2]])
    with pytest.raises(IndexError):
        lax.gather(X, np.array([[9]]), numbers, (1, 4))
    numbers = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    u = np.ones((2, 4), np.float32)
    for name, f in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum}.items():
        expected = X.copy()
        expected[[2, 0]] = f(expected[[2, 0]], u)
        same(getattr(lax, f"scatter_{name}")(X, i, u, numbers), expected)
    expected = X.copy()
    expected[[2, 0]] = 1
    same(lax.scatter(X, i, u, numbers), expected)


def test_extents_of_one_and_kinds():
    x, y = X[:, :1], X[:1]
    same(lax.add(x, y), x + y)
    same(fg.jit(lax.mul)(x, y), x * y)
    with pytest.raises(ValueError, match="lax.add: got shapes"):
        lax.add(X, X[:2])
    assert lax.conj(np.float32([1, np.inf])).tolist() == [1 + 0j, complex(np.inf, 0)]
    assert lax.conj(np.complex64(1 + 2j)) == 1 - 2j
    assert fg.grad(lambda t: lax.conj(t).real)(3.0) == 1
    with pytest.raises(TypeError, match="lax.reciprocal: got i64"):
        lax.reciprocal(2)
    b = np.array([True, False])
    assert lax.clamp(False, b, b[::-1]).tolist() == [False, False] and lax.clamp(True, b, True).tolist() == [True, True]


def test_complex_numbers_in_order():
    z = np.array([[1 + 2j, 1 - 1j], [0.5 + 9j, 1 + 2j]])
    assert lax.reduce_max(z, (0,)).tolist() == [1 + 2j, 1 + 2j] and lax.reduce_min(z, (0, 1)) == 0.5 + 9j
    assert lax.clamp(1 + 0j, z, 1 + 1j).tolist() == [[1 + 1j, 1 + 0j], [1 + 0j, 1 + 1j]]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "x", [[np.inf, 1.0, 2.0], [1.0, np.inf, 2.0], [-np.inf, np.inf, 1.0], [-np.inf, -np.inf, 1.0], [np.nan, 1.0, np.inf]], ids=str
)
def test_running_logsumexp_of_infinities(x, reverse):
    x = np.array(x)
    with np.errstate(invalid="ignore"):
        want = np.logaddexp.accumulate(x[::-1])[::-1] if reverse else np.logaddexp.accumulate(x)
    f = lambda x: lax.cumlogsumexp(x, reverse=reverse)
    np.testing.assert_allclose(np.asarray(f(x)), want)
    np.testing.assert_allclose(np.asarray(fg.jit(f)(x)), want)
