"""Complex numbers and their parts: complex real imag conj, and abs and sign, which have a complex meaning of their own.

Cotangents follow JAX: of a complex z = x + iy it is df/dx - i df/dy, so that transposing never conjugates.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.ir.primitive import LinearArg
from funcgrad.ops import _complex as cx
from funcgrad.ops._family import elementwise, like
from funcgrad.ops._samples import uniform
from funcgrad.ops.arithmetic import div, mul, neg, sub
from funcgrad.ops.compare import eq
from funcgrad.ops.select import select_n
from funcgrad.trace.value import aval_of

_MOST = uniform(-10, 10)
_REAL = {dt.complex64: dt.float32, dt.complex128: dt.float64}
_COMPLEX = {real: c for c, real in _REAL.items()}


def _complex_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), _COMPLEX[x.dtype])
    out.real, out.imag = x, y
    return out


def _complex_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [real(ct) if isinstance(x, LinearArg) else None, neg(imag(ct)) if isinstance(y, LinearArg) else None]


complex_ = elementwise(
    "complex",
    dtypes=frozenset(_COMPLEX),
    numpy=_complex_numpy,
    jvp=[lambda t, out, x, y: complex_(t, like(t, 0)), lambda t, out, x, y: complex_(like(t, 0), t)],
    result=_COMPLEX.__getitem__,
    transpose=_complex_transpose,
    loop=lambda b, x, y: b.complex(x, y),
    samples=_MOST,
    doc="x + iy",
)
real = elementwise(
    "real",
    dtypes=dt.COMPLEXES,
    numpy=np.real,
    jvp=[lambda t, out, x: real(t)],
    result=_REAL.__getitem__,
    transpose=lambda ct, x: [complex_(ct, like(ct, 0))],
    loop=lambda b, x: b.real(x),
    samples=_MOST,
    doc="the real part",
)
imag = elementwise(
    "imag",
    dtypes=dt.COMPLEXES,
    numpy=np.imag,
    jvp=[lambda t, out, x: imag(t)],
    result=_REAL.__getitem__,
    transpose=lambda ct, x: [complex_(like(ct, 0), neg(ct))],
    loop=lambda b, x: b.imag(x),
    samples=_MOST,
    doc="the imaginary part",
)
conj = elementwise(
    "conj",
    dtypes=dt.COMPLEXES,
    numpy=np.conj,
    jvp=[lambda t, out, x: conj(t)],
    transpose=lambda ct, x: [conj(ct)],
    loop=lambda b, x: b.conj(x),
    samples=_MOST,
    doc="x with the sign of its imaginary part changed",
)


def is_complex(x: Any) -> bool:
    return aval_of(x).dtype in dt.COMPLEXES


def _abs_jvp(t: Any, out: Any, x: Any) -> Any:
    # For complex z the differential of |z| is Re(conj(z) dz) / |z|.
    return real(mul(t, conj(sign(x)))) if is_complex(x) else mul(t, sign(x))


abs_ = elementwise(
    "abs",
    dtypes=dt.NUMBERS,
    numpy=np.abs,
    jvp=[_abs_jvp],
    result=lambda d: dt.float32 if d == dt.complex64 else dt.float64 if d == dt.complex128 else d,
    loop=cx.by_kind(lambda b, x: b.abs(x), cx.modulus),
    samples=_MOST,
    doc="|x|, real also for complex x; its derivative at 0 is 0",
)


def _sign_jvp(ts: Sequence[Any], out: Any, x: Any) -> Any:
    (t,) = ts
    if t is None or not is_complex(x):
        return None
    # d(z / |z|) = (dz - s Re(conj(s) dz)) / |z| = i s Im(conj(s) dz) / |z|; 0 at 0.
    size = abs_(x)
    zero = eq(size, like(size, 0))
    scale = select_n(zero, div(like(size, 1), size), like(size, 0))
    along = real(mul(t, conj(out)))
    return mul(sub(t, mul(out, complex_(along, like(along, 0)))), complex_(scale, like(scale, 0)))


def _sign_loop(b: Any, x: Any) -> Any:
    # As NumPy's: the sign of -0.0 is 0.0.
    return b.select(b.eq(x, 0), 0, b.sign(x)) if x.dtype in dt.FLOATS else b.sign(x)


sign = elementwise(
    "sign",
    dtypes=dt.NUMBERS,
    numpy=np.sign,
    arity=1,
    jvp=_sign_jvp,
    loop=cx.by_kind(_sign_loop, cx.sign),
    samples=_MOST,
    doc="x / |x|, and 0 for 0",
)
