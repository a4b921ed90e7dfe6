"""What is done with a Schur form T, Z: complex_schur makes it triangular, parlett takes a function of it. By SciPy, on the host.

Neither has a derivative, as the Schur form has none; functions of matrices have one of their own (scipy/_schur.py).
"""

from typing import Any

import numpy as np
import scipy.linalg

from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import ShapeError, message
from funcgrad.ir.loop_rules import Host
from funcgrad.ir.primitive import register
from funcgrad.ops import _matrix as mx
from funcgrad.trace.interpreter import Operator

__all__ = ["complex_schur", "parlett"]

_NO_DERIVATIVE = "the Schur form that it is given has no derivative; use eigh, or eig"


def _check(name: str, x: ShapedArray, y: ShapedArray) -> None:
    mx.check_matrices(name, x, y, square=True)
    if x.shape != y.shape:
        raise ShapeError(message(f"{name}: got {format_avals((x, y))}", "matrices of one shape", "check x.shape"))


# --- complex_schur --------------------------------------------------------------------------------------------


def _complex_abstract(t: ShapedArray, z: ShapedArray) -> list[ShapedArray]:
    _check("complex_schur", t, z)
    return [shaped(t.shape, mx.complex_dtype(t.dtype))] * 2


def _complex_numpy(t: np.ndarray, z: np.ndarray) -> list[np.ndarray]:
    n, dtype = t.shape[-1], mx.complex_dtype(t.dtype)

    def one(t: np.ndarray, z: np.ndarray) -> Any:
        if not (np.isfinite(t).all() and np.isfinite(z).all()):
            raise np.linalg.LinAlgError
        return [x.astype(dtype) for x in scipy.linalg.rsf2csf(t, z)]

    return mx.each(one, t, z, outs=[((n, n), dtype)] * 2) if n else [t.astype(dtype), z.astype(dtype)]


complex_schur = Operator(
    "complex_schur",
    abstract=_complex_abstract,
    numpy=_complex_numpy,
    jvp=_NO_DERIVATIVE,
    transpose="it is not linear",
    batch="set below",
    loop=Host(),
    dtypes=mx.MATRICES,
    samples="it has no derivative: tests/scipy/test_schur.py",
    multiple_results=True,
    doc="T, triangular, and Z of a complex Schur form, from those of one with 2x2 blocks",
)
complex_schur.batch = mx.batched(complex_schur)
register(complex_schur)


# --- parlett --------------------------------------------------------------------------------------------------


def _parlett_abstract(t: ShapedArray, d: ShapedArray) -> ShapedArray:
    _check("parlett", t, d)
    return t.strong()


def _parlett_numpy(t: np.ndarray, d: np.ndarray) -> np.ndarray:
    n = t.shape[-1]

    def one(t: np.ndarray, d: np.ndarray) -> Any:
        out = d.copy()
        # T and f(T) commute, so that column j follows from those before it: (T' - t_jj) f = F' t - t f_jj above the diagonal.
        for j in range(1, n):
            above, corner = t[:j, j], t[:j, :j].copy()
            shifts = np.diagonal(corner) - t[j, j]
            shifts[shifts == 0] = -1  # equal eigenvalues: what would be divided by 0 stays
            np.fill_diagonal(corner, shifts)
            rhs = out[:j, :j] @ above - above * out[j, j]
            out[:j, j] = scipy.linalg.solve_triangular(corner, rhs, check_finite=False)
        return [out]

    return mx.each(one, t, d, outs=[((n, n), t.dtype)])[0] if n else t


parlett = Operator(
    "parlett",
    abstract=_parlett_abstract,
    numpy=_parlett_numpy,
    jvp=_NO_DERIVATIVE,
    transpose="it is not linear",
    batch="set below",
    loop=Host(),
    dtypes=mx.MATRICES,
    samples="it has no derivative: tests/scipy/test_schur.py",
    doc="a function of upper triangular T, whose values at the diagonal of T are on the diagonal of the second operand",
)
parlett.batch = mx.batched(parlett)
register(parlett)
