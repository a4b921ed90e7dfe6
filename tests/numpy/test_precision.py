"""A Python number beside a float64 array is a float64, and one that does not fit the array's integers is an error."""

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad import nn
from funcgrad.scipy import ndimage, signal

X = np.array([0.7, 1.3, 2.9])
M = np.arange(9.0).reshape(3, 3) / 7
# 0.1 as float32 is 0.100000001.
ROWS = """
append(X,0.1)  outer(X,0.1)  outer(0.1,X)  kron(X,0.1)  dot(X,0.1)  inner(X,0.1)  interp(0.1,X,X)  interp(1.1,X,X*0.1)  polyval(X,0.1)  polyadd(X,0.1)
polysub(0.1,X)  polymul(X,0.1)  isin(np.array([0.1]),0.1)  searchsorted(np.array([0.1,0.2]),0.1,'right')  digitize(0.1,np.array([0.1,0.2]))  diff(X,prepend=0.1)
diff(X,append=0.1)  stack([np.float64(0.1),0.1])  hstack([X,0.1])  vstack([X[0],0.1])  block([X,0.1])  array([X[0],0.1])  where(X>1,X,0.1)  select([X>1],[X],0.1)
choose(np.array([0,1,0]),[X,0.1])  clip(X,0.1,1.1)  full(3,0.1,dtype='float64')  full_like(X,0.1)  insert(X,1,0.1)  pad(X,1,constant_values=0.1)  maximum(X,0.1)
power(0.1,X)  hypot(X,0.1)  array_equiv(np.array([0.1]),0.1)  array_equal(np.float64(0.1),0.1)  isclose(np.array([0.1]),0.1,rtol=0,atol=0)  linspace(0.1,np.float64(2),3)
trapezoid(X,dx=0.1)  gradient(X,0.1)  nan_to_num(X*np.nan,nan=0.1)  quantile(X,0.1)  percentile(X,0.1)  var(X,mean=0.1)  sum(X,initial=0.1)  ediff1d(X,to_end=0.1)
unwrap(X*5,period=0.1)  tensordot(X,0.1,0)  floor_divide(X,0.1)  divmod(X,0.1)  polyint(X,k=0.1)  histogram(X,bins=2,range=(0.1,3.0))  union1d(X,0.1)
setdiff1d(np.array([0.1,0.5]),0.1)  intersect1d(np.array([0.1,0.5]),0.1)  piecewise(X,[X>1],[0.1,0.3])  linalg.norm(X,0.1)  linalg.pinv(M,0.1)  r_[X,0.1]
einsum('i,->i',X,0.1)  average(X,weights=X*0.1)  logaddexp(X,0.1)  copysign(0.1,X)  heaviside(X-0.7,0.1)  cross(X,0.1*X)
""".split()


def evaluated(row, module):
    return eval(f"module.{row}", {"module": module, "X": X, "M": M, "np": np})


@pytest.mark.parametrize("row", ROWS)
def test_beside_float64(row):
    got, expected = evaluated(row, fnp), evaluated(row, np)
    pairs = zip(got, expected) if isinstance(expected, tuple) else [(got, expected)]
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15)
        assert a.dtype == np.asarray(b).dtype


@pytest.mark.parametrize("function", [fnp.put, fnp.place, fnp.fill_diagonal])
def test_numbers_that_are_put(function):
    arguments = {fnp.put: (np.array([0]), 0.1), fnp.place: (np.eye(2) > 0, 0.1), fnp.fill_diagonal: (0.1,)}[function]
    assert function(np.zeros((2, 2)), *arguments, inplace=False)[0, 0] == 0.1


@pytest.mark.parametrize(
    "row",
    [
        "append(B,-1)",
        "outer(B,-1)",
        "kron(B,300)",
        "dot(B,-1)",
        "hstack([B,-1])",
        "polyadd(B,-1)",
        "diff(B,prepend=-1)",
        "choose(B*0,[B,-1])",
    ],
)
def test_integers_that_do_not_fit(row):
    with pytest.raises(OverflowError, match=r"the Python number (-1|300) does not fit uint8"):
        eval(f"fnp.{row}", {"fnp": fnp, "B": np.array([1, 2], np.uint8)})


def test_take_reads_booleans_as_numbers():
    x = np.array([10, 20, 30])
    np.testing.assert_array_equal(fnp.take(x, np.array([True, False])), np.take(x, np.array([True, False])))


def test_a_negative_python_exponent_of_integers_raises():
    for x in (np.array([2, 3]), fnp.array([2, 3]), np.int64(2)):
        with pytest.raises(ValueError, match="whole exponents of 0 or more"):
            fnp.power(x, -1)


def test_in_other_faces():
    np.testing.assert_allclose(nn.logsumexp(X, b=0.1), np.log(0.1 * np.exp(X).sum()), rtol=1e-14)
    np.testing.assert_allclose(nn.standardize(X, mean=0.1, variance=0.3, epsilon=0), (X - 0.1) / np.sqrt(0.3), rtol=1e-14)
    assert ndimage.map_coordinates(X, [np.array([9.0])], 1, cval=0.1)[0] == 0.1
    assert signal.convolve2d(X[None], np.ones((1, 2)), fillvalue=0.1)[0, 0] == 0.7 + 0.1
