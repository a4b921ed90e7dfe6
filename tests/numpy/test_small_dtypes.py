"""Numbers of less than a byte: stored, moved and converted, eager and jitted; what computes refuses them."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.core import dtypes as dt

INTEGERS = {"int1": (-1, 0), "int2": (-2, 1), "int4": (-8, 7), "uint1": (0, 1), "uint2": (0, 3), "uint4": (0, 15)}
FLOATS = {"float4_e2m1fn": 6.0, "float6_e2m3fn": 7.5, "float6_e3m2fn": 28.0}
SMALL = [*INTEGERS, *FLOATS]
OTHERS = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
    "float8_e4m3fn", "float8_e5m2", "complex64", "complex128",
]  # fmt: skip


def numbers(name):
    """All numbers of the dtype."""
    if name in INTEGERS:
        low, high = INTEGERS[name]
        return np.arange(low, high + 1).astype(np.float64)
    bits = np.arange(2 ** int(name[5])).astype(np.uint8)
    return bits.view(getattr(ml_dtypes, name)).astype(np.float64)


def both(f, *args):
    """The outcome of f, which is the same jitted."""
    eager, jitted = f(*args), fg.jit(f)(*args)
    assert eager.dtype == jitted.dtype
    np.testing.assert_array_equal(np.asarray(eager).view(np.uint8), np.asarray(jitted).view(np.uint8))
    return eager


@pytest.mark.parametrize("name", SMALL)
def test_names_and_limits(name):
    scalar = getattr(fnp, name)
    d = np.dtype(getattr(ml_dtypes, name))
    assert np.dtype(scalar) == d == fnp.zeros(3, scalar).dtype == fnp.zeros(3, name).dtype and scalar == d
    assert pickle.loads(pickle.dumps(scalar)) is scalar
    if name in INTEGERS:
        assert (fnp.iinfo(scalar).min, fnp.iinfo(scalar).max) == INTEGERS[name]
        assert fnp.issubdtype(scalar, fnp.integer) and fnp.issubdtype(scalar, fnp.signedinteger) == (name[0] == "i")
        assert not fnp.issubdtype(scalar, fnp.floating)
        with pytest.raises(TypeError, match="fnp.iinfo"):
            fnp.finfo(scalar)
    else:
        assert float(fnp.finfo(scalar).max) == FLOATS[name] and float(fnp.finfo(scalar).eps) == float(ml_dtypes.finfo(d).eps)
        assert fnp.issubdtype(scalar, fnp.floating) and not fnp.issubdtype(scalar, fnp.integer)
    assert fnp.zeros(3, name).nbytes == 3 and fnp.zeros((), name).itemsize == 1


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", SMALL)
def test_there_and_back(name, other):
    values = numbers(name)
    x = both(lambda v: v.astype(name), fnp.asarray(values))
    np.testing.assert_array_equal(np.asarray(x).astype(np.float64), values)
    if other.startswith("uint"):
        x, values = x[values >= 0], values[values >= 0]
    y = both(lambda v: v.astype(other), x)
    want = values != 0 if other == "bool" else values if other[0] not in "iu" else np.trunc(values)
    if other == "float8_e5m2":  # with 2 bits of fraction it does not hold all of them
        want = values.astype(ml_dtypes.float8_e5m2)
    np.testing.assert_array_equal(np.asarray(y).astype(np.complex128), want.astype(np.complex128))
    if other not in ("bool", "float8_e5m2") and (other[0] not in "iu" or name in INTEGERS):
        np.testing.assert_array_equal(np.asarray(both(lambda v: v.astype(name), y)).view(np.uint8), np.asarray(x).view(np.uint8))


@pytest.mark.parametrize("target", SMALL)
@pytest.mark.parametrize("name", SMALL)
def test_among_each_other(name, target):
    values = numbers(name)
    got = both(lambda v: v.astype(name).astype(target).astype("float64"), fnp.asarray(values))
    if target in FLOATS:
        want = np.asarray(fnp.asarray(values).astype(target)).astype(float)
    else:
        low, high = INTEGERS[target]
        whole = np.trunc(values)  # integers wrap, floats end at the bounds
        want = (whole - low) % (high - low + 1) + low if name in INTEGERS else np.clip(whole, low, high)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", INTEGERS)
def test_floats_beyond_become_the_bounds_and_integers_wrap(name):
    low, high = INTEGERS[name]
    for source in ("float16", "bfloat16", "float32", "float64"):
        x = np.array([1e4, -1e4, np.nan, np.inf, -np.inf, high + 0.9, low - 0.9]).astype(getattr(ml_dtypes, source, source))
        want = [high, low, 0, high, low, high, low]
        np.testing.assert_array_equal(np.asarray(both(lambda v: v.astype(name), fnp.asarray(x))).astype(int), want)
    span = high - low + 1
    for source in ("int8", "int64", "uint8"):
        x = np.arange(-20 if source[0] == "i" else 0, 21).astype(source)
        want = (x.astype(int) - low) % span + low
        np.testing.assert_array_equal(np.asarray(both(lambda v: v.astype(name), fnp.asarray(x))).astype(int), want)


@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_rounded_to_the_nearest_even_and_end_at_the_largest(name):
    grid = np.unique(numbers(name))
    x = np.concatenate([grid, (grid[1:] + grid[:-1]) / 2, np.linspace(-40, 40, 1001)])
    got = np.asarray(both(lambda v: v.astype(name), fnp.asarray(x))).astype(np.float64)
    distance = np.abs(x[:, None] - grid)
    nearest = distance.min(1)
    np.testing.assert_array_equal(np.abs(x - got), nearest)
    ties = (distance == nearest[:, None]).sum(1) > 1
    bits = np.asarray(fnp.asarray(x).astype(name)).view(np.uint8)
    assert (bits[ties] % 2 == 0).all() and ties.sum() >= len(grid) - 1
    special = np.asarray(fnp.array([np.inf, -np.inf, np.nan]).astype(name)).astype(float)
    np.testing.assert_array_equal(special, [FLOATS[name], -FLOATS[name], 0])


@pytest.mark.parametrize("name", SMALL)
def test_elements_are_moved(name):
    values = numbers(name)[:2]
    x = fnp.asarray(np.array([values, values[::-1]])).astype(name)
    wide = np.asarray(x).astype(float)
    moves = [
        (lambda v: v.T, lambda v: v.T), (lambda v: v.reshape(4)[::-1], lambda v: v.reshape(4)[::-1]),
        (lambda v: fnp.concatenate([v, v], 1), lambda v: np.concatenate([v, v], 1)),
        (lambda v: v[fnp.array([1, 0, 1])], lambda v: v[[1, 0, 1]]), (lambda v: fnp.broadcast_to(v[0], (3, 2)), lambda v: np.broadcast_to(v[0], (3, 2))),
        (lambda v: fnp.where(fnp.array([True, False]), v, v[::-1]), lambda v: np.where([True, False], v, v[::-1])),
        (lambda v: v.at[0, 1].set(v[1, 1]), lambda v: np.array([[v[0, 0], v[1, 1]], v[1]])),
        (lambda v: fnp.pad(v, 1), lambda v: np.pad(v, 1)), (lambda v: fnp.take(v, fnp.array(1), 1), lambda v: v[:, 1]),
        (lambda v: fg.lax.dynamic_slice(v, (1, 0), (1, 2)), lambda v: v[1:]), (lambda v: fg.lax.rev(v, (0,)), lambda v: v[::-1]),
        (lambda v: fg.vmap(lambda r: r[::-1])(v), lambda v: v[:, ::-1]),
        (lambda v: fg.lax.scan(lambda c, r: (r, c), v[0], v)[1], lambda v: np.array([v[0], v[0]])),
        (lambda v: fg.lax.cond(True, lambda a: a, lambda a: a[::-1], v), lambda v: v),
    ]  # fmt: skip
    for ours, theirs in moves:
        np.testing.assert_array_equal(np.asarray(both(ours, x)).astype(float), theirs(wide))
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), fg.device_put(np.asarray(x)), fnp.asarray(x.tolist(), name)):
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
    assert name in repr(x)


def test_from_python_numbers():
    assert fnp.int4(7).dtype.name == "int4" and int(fnp.int4(-8)) == -8
    assert np.asarray(fnp.full((2,), 3, "uint2")).astype(int).tolist() == [3, 3]
    assert np.asarray(fnp.arange(-2, 2, dtype="int2")).astype(int).tolist() == [-2, -1, 0, 1]
    assert np.asarray(fnp.array([1.9, -1.9], "int4")).astype(int).tolist() == [1, -1]
    for make in (lambda: fnp.int4(8), lambda: fnp.array([1, 16], "uint4"), lambda: fnp.full(2, -1, "uint1"), lambda: fnp.int1(1)):
        with pytest.raises(OverflowError, match="from"):
            make()


COMPUTE = {
    "add": lambda x: x + x, "python": lambda x: x + 1, "array": lambda x: x * fnp.ones(2), "neg": lambda x: -x, "equal": lambda x: x == x,
    "sin": fnp.sin, "sum": fnp.sum, "mean": fnp.mean, "max": fnp.max, "sort": fnp.sort, "cumsum": fnp.cumsum, "dot": lambda x: x @ x,
    "at": lambda x: x.at[0].add(x[1]), "sign": fnp.signbit, "abs": abs, "argmax": fnp.argmax, "isnan": fnp.isnan,
    "promote": lambda x: fnp.result_type(x, fnp.int8), "bits": lambda x: fg.lax.bitcast_convert_type(x, "uint8"), "less": lambda x: x < x,
}  # fmt: skip


@pytest.mark.parametrize("call", COMPUTE)
@pytest.mark.parametrize("name", ["int4", "uint2", "float4_e2m1fn", "float6_e3m2fn"])
def test_what_computes_says_to_convert_first(name, call):
    x = fnp.ones(2, name)
    for f in (COMPUTE[call], fg.jit(COMPUTE[call])):
        with pytest.raises(TypeError, match="(?s)convert|astype|integer and float"):
            f(x)


def test_no_derivative_passes():
    f = lambda x: (x.astype("float4_e2m1fn").astype("float32") * x).sum()
    np.testing.assert_array_equal(fg.grad(f)(fnp.array([1.6, 3.2])), [1.5, 3.0])


def test_they_are_no_numbers_of_other_sets():
    assert not dt.SMALL & dt.NUMBERS and dt.SMALL <= dt.ANY
    assert not fnp.isdtype(fnp.int4, "numeric")
