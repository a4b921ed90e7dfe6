"""Functions of whole arrays where test_against_numpy.py has no say: gradients of small compositions, what is special about one function."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.test_util import check_grads
from funcgrad.testing import counters

E = np.zeros((0, 3))


def rows(text):
    return [r for line in text.strip().splitlines() for r in line.split("  ") if r]


GRADIENTS = """sum(x*x)  max(x)  prod(x)  mean(x**3)  var(x)  std(x)  cumsum(x)[2]  cumprod(x)[3]  sort(x)[1]  median(x)  matmul(x,x)  einsum('i,i->',x,x)  linalg.norm(x)  linalg.norm(x,3)  take(x,np.array([1,1,2])).sum()
where(x>0,x**2,-x).sum()  concatenate([x,x*2]).prod()  roll(x,1)@x  pad(x,2,mode='reflect')@arange(8.0)  interp(x,np.arange(-2.,3.),np.arange(5.)**2).sum()  logaddexp(x,x[::-1]).sum()  sinc(x).sum()  hypot(x,1.0).sum()  trapezoid(x)
quantile(x,0.3)  diff(x)@diff(x)  clip(x,-1,1).sum()  outer(x,x).sum()  diag(x).sum()  tril(outer(x,x)).sum()  power(abs(x),x).sum()  remainder(x,0.7).sum()  nanmean(x)  average(x,weights=x*x)"""


@pytest.mark.parametrize("row", rows(GRADIENTS))
def test_gradients(row):
    x = np.array([0.5, -1.3, 0.2, 1.9])
    names = {n: getattr(fnp, n) for n in dir(fnp) if not n.startswith("_")}

    def f(v):
        return eval(row, {**names, "np": np, "x": v})

    got = np.asarray(fg.grad(f)(x))
    h = 1e-6
    slopes = [(float(f(fnp.asarray(x + h * e))) - float(f(fnp.asarray(x - h * e)))) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(got, slopes, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["median", "nanmedian", "quantile", "nanquantile", "percentile"])
def test_what_lies_in_the_middle_of_nothing_is_nan(name):
    fun = getattr(fnp, name)
    q = () if name.endswith("median") else (0.3,)
    assert np.isnan(fun(E[:, 0], *q)) and np.isnan(fg.jit(fun)(E[:, 0], *q))
    rows = fun(E, *q, axis=0)
    assert rows.shape == (3,) and np.isnan(rows).all()
    assert fun(E, *q, axis=1).shape == (0,)


def test_geomspace_hits_its_ends():
    x = fnp.geomspace(3.7, 1234.5, 7)
    assert x[0] == fnp.float32(3.7) and x[-1] == fnp.float32(1234.5)
    assert np.isnan(fnp.geomspace(1.0, -8.0, 3)[1])  # of two signs


def test_unravel_index_out_of_range():
    with pytest.raises(ValueError, match="out of range for"):
        fnp.unravel_index(np.array([1, 6]), (2, 3))
    assert [int(i) for i in fnp.unravel_index(-1, (2, 3))] == [1, 2]


@pytest.mark.parametrize("name", ["hanning", "hamming", "blackman", "bartlett"])
def test_windows_are_rounded_once(name):
    np.testing.assert_array_max_ulp(np.asarray(getattr(fnp, name)(31)), getattr(np, name)(31).astype(np.float32), 1)


def test_iinfo_of_floats_raises():
    with pytest.raises(TypeError, match=r"fnp.iinfo: got f32"):
        fnp.iinfo(fnp.float32)


@pytest.mark.parametrize("shift, axis", [([1, -2], (0, 1)), ([1, 2], 0), ([3], (0, 1)), ([4], None), ([1, 5], None)])
def test_roll_by_vectors_of_numbers(shift, axis):
    x, vector = np.arange(12.0).reshape(3, 4), np.array(shift, int)
    want = np.roll(x, shift, axis)
    for got in (fnp.roll(x, shift, axis), fnp.roll(x, vector, axis), fnp.roll(x, fnp.asarray(vector), axis)):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(fg.jit(lambda x, s: fnp.roll(x, s, axis))(x, vector), want)
    with pytest.raises(ValueError, match=r"fnp.roll: got 2 axes for shift"):
        fnp.roll(x, np.zeros((2, 2), int), axis)


@pytest.mark.parametrize("shift", [-7, -1, 0, 2, 9])
@pytest.mark.parametrize("axis", [0, 1, None, (0, 1)])
def test_roll_by_known_and_computed_numbers(shift, axis):
    x = np.arange(12.0).reshape(3, 4)
    want = np.roll(x, shift, axis)
    for got in (
        fnp.roll(x, shift, axis),
        fg.jit(lambda x: fnp.roll(x, shift, axis))(x),
        fg.jit(lambda x, s: fnp.roll(x, s, axis))(x, shift),
    ):
        np.testing.assert_array_equal(got, want)
    f = lambda x, s: fnp.roll(x, s, 0) ** 2 * fnp.roll(x, -1, 0)
    check_grads(lambda x: f(x, shift), (x,), order=2)
    check_grads(fg.jit(lambda x: f(x, fnp.where(x[0, 0] < 100, shift, 0))), (x,), order=2, modes=["rev"])
    many, shifts = np.stack([x, x + 1]), np.array([shift, 1])
    np.testing.assert_array_equal(fg.jit(fg.vmap(f))(many, shifts), [f(m, int(s)) for m, s in zip(many, shifts, strict=True)])


def test_a_stencil_of_rolls_is_one_kernel():
    x = np.random.default_rng(0).normal(size=(6, 5))
    f = lambda x: fnp.roll(x, 1, 0) + fnp.roll(x, -1, 0) + fnp.roll(x, 1, 1) + fnp.roll(x, -1, 1) - 4 * x
    assert len(fg.explain(f)(x).steps) == 1
    np.testing.assert_allclose(fg.jit(f)(x), sum(np.roll(x, s, a) for s in (1, -1) for a in (0, 1)) - 4 * x, rtol=1e-12)
    fg.jit(f)(x)
    with counters() as c:
        fg.jit(f)(np.zeros((9, 8)))
    assert c.compiled == 0


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: fnp.einsum("ij"), ValueError, "no arrays"),
        (lambda: fnp.einsum(None, np.ones(2)), TypeError, "got None"),
        (lambda: fnp.einsum(object(), [0], np.ones(2)), ValueError, "in the place of the subscripts"),
        (lambda: fnp.lexsort(None), TypeError, "fnp.lexsort: got None"),
        (lambda: fnp.select(None, None), TypeError, "fnp.select: got no sequences"),
        (lambda: fnp.vecdot(np.ones((3, 4)), np.ones((3, 4)), axis=9), IndexError, "fnp.vecdot: got axis=9"),
        (lambda: fnp.linalg.cross(np.ones((3, 3)), np.ones((3, 3)), axis=9), IndexError, "got axis=9"),
        (lambda: fnp.linalg.multi_dot(None), TypeError, "fnp.linalg.multi_dot: got NoneType"),
        (lambda: fnp.unique(np.ones((3, 4)), axis=9), IndexError, "fnp.unique: got axis=9"),
        (lambda: fnp.float32("abc"), TypeError, "cannot read as numbers"),
        (lambda: fnp.uint8([1, 257]), OverflowError, "257 for uint8"),
        (lambda: fnp.bool_(None), TypeError, "got None"),
    ],
)
def test_errors_teach(call, error, text):
    with pytest.raises(error, match=text) as caught:
        call()
    assert "Allowed: " in str(caught.value) and "Try: " in str(caught.value)


def test_scalar_types_take_lists_of_arrays():
    x = fg.jit(lambda v: fnp.float32([v, 1.5]))(np.float64(0.25))
    assert x.dtype == np.float32 and x.tolist() == [0.25, 1.5]
