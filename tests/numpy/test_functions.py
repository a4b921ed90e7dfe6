"""Functions of whole arrays against NumPy, table by table: one row is a call, run with NumPy and with funcgrad, eager and compiled."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

R = np.random.default_rng(1)
A = R.normal(size=(3, 4)).astype(np.float32)
B = R.normal(size=(2, 3, 4))
C = R.integers(-5, 5, (3, 4))
V = R.normal(size=6)
W = R.integers(0, 9, 7)
E = np.zeros((0, 3))
T = R.random((3, 4)) < 0.5
Z = (R.normal(size=(3, 4)) + 1j * R.normal(size=(3, 4))).astype(np.complex64)
N = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, 2.0]])
NAN = np.array([np.nan, 1.0, np.inf, -np.inf, 0.0])

REDUCTIONS = """
sum(A)  sum(A,0)  sum(A,-1)  sum(B,(0,2))  sum(B,axis=(2,0),keepdims=True)  sum(C)  sum(T)  sum(T,1)  sum(E)  sum(E,0)  sum(A,dtype='float64')  sum(Z,1)
sum(A,0,initial=2.0)  sum(A,1,where=T)  sum(A,where=T,initial=1.0)  sum(C.astype('int8'))  sum(C.astype('uint8'))  sum(V,())
prod(A,0)  prod(C,1)  prod(A,where=T)  prod(E,0)  prod(A,1,initial=2.0)
max(A)  max(A,0)  max(B,(0,1),keepdims=True)  max(C,1)  max(A,1,initial=0.5)  max(A,0,where=T,initial=-9.0)  max(E,0,initial=1.0)  max(E,1)  max(T,0)  max(N,1)
min(A)  min(A,1)  min(C,0,where=T,initial=100)  min(N,0)  amax(A,0)  amin(A,1)  ptp(A,0)
any(T)  any(T,0)  all(T,1,keepdims=True)  any(E,0)  all(E)  all(A)  any(T,1,where=T)  all(A,0,where=T)
count_nonzero(C)  count_nonzero(C,1)  count_nonzero(C,0,keepdims=True)
argmax(A)  argmax(A,1)  argmin(B,1)  argmax(B,axis=2,keepdims=True)  argmin(A,keepdims=True)  argmax(N,1)  argmax(T,0)
mean(A)  mean(A,0)  mean(B,(0,2),keepdims=True)  mean(A,1,where=T|True)  mean(A,where=T)  mean(Z,0)  mean(A,dtype='float64')  mean(B,())
var(A)  var(B,1)  var(B,(0,1),ddof=1)  var(Z,0)  std(B,2,keepdims=True)  std(B,0,where=np.broadcast_to(T,(2,3,4))|True)  var(B,1,correction=1)  var(B,1,mean=B.mean(1,keepdims=True))
average(B)  average(B,1)  average(B,1,weights=R0)  average(V,weights=V**2)
cumsum(A)  cumsum(A,0)  cumsum(C,1)  cumprod(A,1)  cumsum(T,0)  cumsum(E,0)  cumulative_sum(V,include_initial=True)  cumulative_prod(A,axis=1)
median(A)  median(B,1)  median(A,axis=(0,1),keepdims=True)  quantile(B,0.3)  quantile(B,Q,1)  percentile(A,[10,50],axis=0)  quantile(V,0.4,method='lower')  quantile(V,0.4,method='nearest')
quantile(V,0.3,method='higher')  quantile(V,0.3,method='midpoint')
nansum(N)  nansum(N,0)  nanprod(N,1)  nanmax(N,1)  nanmin(N,0)  nanmean(N,1)  nanstd(N,1)  nanvar(N,1)  nanargmax(N,1)  nanargmin(N,1)  nancumsum(N,1)  nancumprod(N,0)
nanmedian(N,1)  nanquantile(N,0.3,axis=1)  nanpercentile(N,30,axis=1)
diff(V)  diff(A,2,0)  diff(C,axis=1)  diff(T,axis=0)  diff(V,prepend=1.0,append=V[:2])  ediff1d(A)  ediff1d(V,to_begin=0.0,to_end=np.array([1.0,2.0]))
gradient(V)  gradient(V,edge_order=2)  gradient(A,0.5,axis=1,edge_order=2)  gradient(V,np.array([0.,1.,3.,4.,7.,8.]),edge_order=2)  gradient(V,2.0)  gradient(V,np.array([0.,1.,3.,4.,7.,8.]))  trapezoid(B)  trapezoid(B,axis=1)  trapezoid(V,np.arange(6.0)**2)  trapezoid(A,dx=0.5)
cov(A)  cov(V,V**2)  cov(A,rowvar=False,ddof=0)  corrcoef(A)  cov(A,fweights=np.arange(1,5),aweights=np.arange(1.0,5))
"""
STRUCTURE = """
reshape(A,(4,3))  reshape(A,-1)  reshape(B,(2,-1))  reshape(A,(4,3),'F')  ravel(B)  ravel(A,'F')  transpose(B)  transpose(B,(1,0,2))  swapaxes(B,0,-1)
moveaxis(B,0,-1)  moveaxis(B,(0,1),(1,2))  rollaxis(B,2)  rollaxis(B,0,3)  permute_dims(B,(2,0,1))  matrix_transpose(B)
expand_dims(A,0)  expand_dims(A,(0,-1))  squeeze(A[None])  squeeze(A[None,:,None],(0,2))  atleast_1d(2.0)  atleast_2d(V)  atleast_3d(A)  atleast_3d(V)
broadcast_to(V,(2,6))  flip(A)  flip(B,1)  flip(B,(0,2))  fliplr(A)  flipud(A)  rot90(A)  rot90(A,2)  rot90(A,3)  rot90(B,1,(1,2))
roll(V,2)  roll(A,1)  roll(A,-1,1)  roll(B,(1,2),(0,2))  roll(A,5,0)  repeat(A,2)  repeat(A,2,1)  repeat(A,np.array([1,0,2]),0)  tile(A,2)  tile(A,(2,1,3))  tile(V,())  resize(A,(2,2))  resize(V,(3,5))
concatenate([A,A])  concatenate([A,B[0]],1)  concatenate([A,C],None)  concatenate([A,C],dtype='float64')  stack([A,A])  stack([A,A],-1)  vstack([V,V])  hstack([V,V])  hstack([A,A])  dstack([A,A])  column_stack([V,V])
append(A,A)  append(A,A,0)  block([[A,A],[A,A]])  block([V,V])  concat([A,A],axis=1)
split(V,3)  split(A,2,1)  split(V,[1,4])  array_split(V,4)  hsplit(A,2)  vsplit(A,3)  dsplit(B,2)  unstack(B,axis=1)  split(V,[2,1,9])
broadcast_arrays(V,np.ones((2,1)))  meshgrid(V,W)  meshgrid(V,W,indexing='ij',sparse=True)
pad(V,2)  pad(A,((1,0),(2,1)))  pad(A,1,constant_values=3.0)  pad(A,((1,2),(0,1)),constant_values=((1,2),(3,4)))  pad(V,3,mode='edge')  pad(A,1,mode='reflect')  pad(V,8,mode='reflect')  pad(V,8,mode='symmetric')
pad(A,((1,2),(3,2)),mode='wrap')  pad(V,14,mode='wrap')  pad(V,2,mode='linear_ramp',end_values=5.0)  pad(V,2,mode='mean')  pad(V,2,mode='maximum',stat_length=2)  pad(V,2,mode='minimum')  pad(V,2,mode='median')  pad(C,1,mode='mean')
pad(V,3,mode='reflect',reflect_type='odd')  pad(V,9,mode='symmetric',reflect_type='odd')
diagonal(A)  diagonal(B,1,1,2)  diagonal(A,-1)  diagonal(A,9)  trace(A)  trace(B,1,0,2)  diag(V)  diag(V,2)  diag(V,-1)  diag(A)  diag(A,1)  diagflat(A[:2,:2],1)  tril(A)  triu(B,1)  tril(A,-1)
tri(3)  tri(3,4,1)  eye(3)  eye(3,4,-1)  identity(3)  vander(V)  vander(V,3,increasing=True)
trim_zeros(np.array([0,0,1,2,0]))  trim_zeros(np.array([0,0,1,2,0]),'f')
"""
PRODUCTS = """
matmul(A,A.T)  matmul(B,A.T)  matmul(A[0],A.T)  matmul(A,A[0])  matmul(V,V)  matmul(B[:,None],np.swapaxes(B,1,2)[None])  matmul(A,np.swapaxes(B,1,2))  matmul(C,C.T)  matmul(T,T.T)  matmul(E,np.ones((3,2)))  matmul(B[0],np.ones((5,1,4,2)))
dot(A,A.T)  dot(V,V)  dot(B,A.T)  dot(A,np.swapaxes(B,1,2))  dot(A,2.0)  inner(A,A)  inner(V,V)  outer(V,W)  vdot(Z,Z)  vdot(A,A)  tensordot(B,A,((1,2),(0,1)))  tensordot(A,A.T,1)  tensordot(V,V,0)
vecdot(Z,Z)  vecdot(B,A)  matvec(A,A[0])  matvec(B,A[0])  vecmat(V[:3],A)  kron(A,C)  kron(V,A)  cross(V[:3],V[3:])  cross(B[:,:,:3],B[:,:,1:])
einsum('ij,kj->ik',A,A)  einsum('ij->ji',A)  einsum('ii',A[:,:3])  einsum('ii->i',A[:,:3])  einsum('ij,ij->i',A,A)  einsum('bij,bkj->bik',B,B)  einsum('...ij,kj->...ik',B,A)  einsum('i,j',V,V)  einsum('ij,jk,kl->il',A,A.T,A)
einsum('ijk->',B)  einsum('ij,ij',A,C)  einsum(A,[0,1],A,[2,1],[0,2])  einsum('bij,bjk,bkl->bil',B,np.swapaxes(B,1,2),B)  einsum('i,i->i',V,V)  einsum('ij,i->ij',A,V[:3])  einsum('iij->j',np.ones((2,2,3)))  einsum('ij,k->jk',A,V)
convolve(V,V[:3])  convolve(V,V[:3],'same')  convolve(V[:2],V,'valid')  correlate(V,V[:3])  correlate(V,V[:3],'full')  correlate(V[:3],V,'same')
"""
CHOOSING = """
where(T,A,0.0)  where(T,A,C)  where(T,1,2.5)  where(T[0],A,A[0])  where(T)  select([A>0.5,A<-0.5],[A,-A],9.0)  piecewise(V,[V<0,V>=1],[-1.0,lambda v:v*2,0.5])  choose(np.array([0,1,1]),[V[:3],V[3:]])
take(A,np.array([0,2]),0)  take(A,np.array([[0,5],[7,1]]))  take(V,3)  take(B,np.array([-1,0]),-1)  take_along_axis(A,np.argsort(A,1),1)  take_along_axis(A,np.argmax(A,0)[None],0)  take_along_axis(A,np.array([3,1,2]),None)
nonzero(C)  flatnonzero(C)  argwhere(C)  compress(T[0],A,1)  extract(T,A)  delete(V,2)  delete(A,[0,2],1)  delete(A,slice(1,3),0)  insert(V,2,9.0)  insert(V,np.array([1,1,4]),np.array([7.,8.,9.]))  insert(A,1,0.0,1)  insert(A,0,A[:,0],1)
unravel_index(np.array([3,7,11]),(3,4))  ravel_multi_index((np.array([0,2]),np.array([1,3])),(3,4))  ix_(np.array([0,2]),np.array([1,3]))
sort(V)  sort(A,0)  sort(A,None)  sort(NAN)  sort(Z)  argsort(V)  argsort(A,0)  argsort(C,1,kind='stable')  lexsort((C[0],C[1]))  searchsorted(np.sort(V),A)  searchsorted(np.sort(V),V,'right')  searchsorted(np.array([1,2,2,3]),np.array([2,0,9]))
digitize(A,np.array([-1.,0.,1.]))  digitize(A,np.array([-1.,0.,1.]),right=True)  digitize(A,np.array([1.,0.,-1.]))  sort_complex(V)
bincount(W)  bincount(W,minlength=12)  bincount(W,weights=np.arange(7.0))  histogram(V,5)  histogram(V,np.array([-2.,0.,2.]))  histogram(V,4,range=(-1,1),density=True)  histogram_bin_edges(V,4)  histogram(V,5,weights=V)
unique(W)  unique(C)  unique(W,return_counts=True)  unique(W,return_index=True,return_inverse=True)  unique(C,axis=0)  union1d(W,C)  intersect1d(W,W[:3])  setdiff1d(W,W[:3])  setxor1d(W,W[:3]+2)  isin(C,W)  isin(C,W,invert=True)
interp(A,np.sort(V),V)  interp(A,np.sort(V),V,left=-1.0,right=9.0)  interp(A,np.array([0.,1.,2.]),np.array([0.,1.,0.]),period=3.0)
polyval(V[:3],A)  polyadd(V[:2],V)  polysub(V[:2],V)  polymul(V[:3],V[:2])  polyder(V,2)  polyint(V)  poly(V[:3])  polydiv(V,V[:2])  unwrap(np.cumsum(np.abs(V)*3)%6)
linspace(0,1,5)  linspace(0.0,1.0,4,endpoint=False)  linspace(A,A+1,3,axis=1)  linspace(0,10,5,dtype=int)  logspace(0,2,3)  geomspace(1,1000,4)  geomspace(-2.0,-16.0,4,endpoint=False)  geomspace(V[:2]**2,V[2:4]**2,3,axis=-1)  geomspace(1j,8,5)  arange(5)  arange(2,10,3)  arange(0.0,1.0,0.3)  arange(5,0,-2)  full((2,3),4)  full((2,3),V[:3])
zeros((2,3))  ones(3,int)  zeros_like(C)  ones_like(A,dtype=bool)  full_like(A,2.5)  indices((2,3))  tril_indices(3)  triu_indices(3,1)  diag_indices(3)  bartlett(5)  hamming(5)  hanning(5)  blackman(5)  kaiser(5,2.0)
packbits(T)  packbits(T,axis=1,bitorder='little')  unpackbits(np.packbits(T))  unpackbits(np.array([[7],[255]],'uint8'),axis=1,count=5)  bitwise_count(C)  apply_along_axis(S,1,A)  apply_over_axes(S2,B,[0,2])  fromfunction(lambda i,j:i+j,(2,3))
linalg.norm(A)  linalg.norm(V,1)  linalg.norm(V,np.inf)  linalg.norm(V,3)  linalg.norm(A,axis=1)  linalg.norm(A,'fro')  linalg.norm(A,1)  linalg.norm(A,np.inf)  linalg.norm(B,axis=(1,2))  linalg.norm(Z)  linalg.norm(V,0)  linalg.norm(A,axis=1,keepdims=True)
linalg.vector_norm(B,axis=(0,1))  linalg.matrix_norm(B)  linalg.matrix_power(A[:,:3],5)  linalg.multi_dot([A,A.T,A])  linalg.trace(B)  linalg.cross(B[:,:,:3],B[:,:,1:])
"""


def rows(text):
    found = [r for line in text.strip().splitlines() for r in line.split("  ") if r]
    return [r for r in found if hasattr(fnp, r.split("(")[0].split(".")[0])]


def run(row, module):
    scope = {k: globals()[k] for k in ("A", "B", "C", "V", "W", "E", "T", "Z", "N", "R", "NAN")} | {"np": np}
    scope |= {
        "R0": np.array([1.0, 2.0, 3.0]),
        "Q": np.array([0.1, 0.9]),
        "S": lambda v: v.sum(),
        "S2": lambda v, i: module.sum(v, i),
    }
    names = {n: getattr(module, n) for n in dir(module) if not n.startswith("_")}
    return eval(row, {**names, **scope})


def check(got, expected, row):
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected), row
        for g, e in zip(got, expected):
            check(g, e, row)
        return
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, row
    narrow = got.dtype.itemsize <= 4 or got.dtype == np.complex64
    tol = 3e-5 if narrow else 1e-9
    np.testing.assert_allclose(got, expected, rtol=tol, atol=tol, err_msg=row)
    # Dtypes are NumPy's but where Python numbers or integers create floats (float32 here).
    if got.dtype != expected.dtype:
        assert expected.dtype in (np.float64, np.complex128) and got.dtype in (np.float32, np.complex64), (
            row,
            got.dtype,
            expected.dtype,
        )


@pytest.mark.parametrize("row", rows(REDUCTIONS + STRUCTURE + PRODUCTS + CHOOSING))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_as_numpy(row):
    check(run(row, fnp), run(row, np), row)


COMPILED = """sum(x,0)  max(x,1)  mean(x)  var(x,0)  argmax(x,1)  cumsum(x,1)  sort(x,1)  argsort(x,0)  flip(x,1)  roll(x,1,0)  tile(x,(2,1))  repeat(x,2,1)  transpose(x)  concatenate([x,x],1)
stack([x,x],1)  matmul(x,x.T)  einsum('ij,kj->ik',x,x)  einsum('ij->j',x)  where(x>0,x,0.0)  take(x,np.array([0,2]),0)  take_along_axis(x,np.argsort(A,1),1)  diagonal(x)  tril(x)  diag(x[0])  median(x,1)  quantile(x,0.3,axis=0)
pad(x,1)  pad(x,2,mode='reflect')  interp(x,np.arange(3.0),np.arange(3.0)**2)  searchsorted(np.arange(-2.0,2.0),x)  digitize(x,np.arange(-2.0,2.0))  clip(x,-1,1)
linalg.norm(x,axis=1)  kron(x,x)  outer(x,x)  diff(x,axis=1)  gradient(x)[0]  nanmean(x,0)  std(x,1)  prod(x,1)  average(x,0)  rot90(x)  linspace(x,x+1,3)  trapezoid(x)  convolve(x[0],x[1])  unwrap(x,axis=1)  sinc(x)  logaddexp(x,1.0)"""


@pytest.mark.parametrize("row", rows(COMPILED))
def test_compiled(row):
    def f(x):
        names = {n: getattr(fnp, n) for n in dir(fnp) if not n.startswith("_")}
        return eval(row, {**names, "np": np, "A": A, "x": x})

    np.testing.assert_allclose(np.asarray(fg.jit(f)(A)), np.asarray(f(fnp.asarray(A))), rtol=2e-5, atol=2e-5)


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
