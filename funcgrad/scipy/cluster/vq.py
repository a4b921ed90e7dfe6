"""Vector quantisation, as in `scipy.cluster.vq`."""

from typing import Any

from funcgrad import numpy as fnp
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import flag
from funcgrad.core.errors import DtypeError, ShapeError, message
from funcgrad.numpy._promote import as_value, common_inexact
from funcgrad.scipy._checks import must

__all__ = ["vq"]


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """For each observation the nearest entry of a code book, and how far away it is (Euclidean).

    obs: (M, N), or (M,) for N = 1. code_book: (K, N), or (K,). check_finite: raise a ValueError where something is not finite,
    also in compiled code. Returns: the indices (M,), int32, of several nearest the first; the distances (M,), floats. The
    distances are differentiable in both arguments (0 where they are 0). Raises ShapeError where N differs or K is 0.

    >>> from funcgrad.scipy.cluster.vq import vq
    >>> code, distance = vq(fnp.array([[1.0, 1.0], [4.0, 5.0]]), fnp.array([[1.0, 1.0], [4.0, 4.0]]))
    >>> code.tolist(), distance.tolist()
    ([0, 1], [0.0, 1.0])
    """
    x, book = common_inexact(as_value(obs, "x.vq", "obs"), as_value(code_book, "x.vq", "code_book"))
    if x.dtype in dt.COMPLEXES:
        raise DtypeError(message(f"scipy.cluster.vq.vq: got {x.dtype}", "real numbers", "fnp.stack([z.real, z.imag], -1)"))
    fits = x.ndim == book.ndim and x.ndim in (1, 2) and x.shape[1:] == book.shape[1:] and book.shape[0] > 0
    if not fits:
        raise ShapeError(
            message(
                f"scipy.cluster.vq.vq: got obs {x.aval.str_short()} and code_book {book.aval.str_short()}",
                "(M, N) and (K, N), or (M,) and (K,), with at least one code",
                "obs.reshape(-1, n)",
            )
        )
    if flag(check_finite, "scipy.cluster.vq.vq", "check_finite"):
        must(fnp.isfinite(x), "scipy.cluster.vq.vq: obs has infinities or NaNs, and check_finite=True")
        must(fnp.isfinite(book), "scipy.cluster.vq.vq: code_book has infinities or NaNs, and check_finite=True")
    if x.ndim == 1:
        x, book = x[:, None], book[:, None]
    code = fnp.argmin(fnp.sum((x[:, None, :] - book[None, :, :]) ** 2, axis=-1), axis=-1).astype("int32")
    return code, fnp.linalg.norm(x - book.at[code].get(mode="promise_in_bounds"), axis=-1)
