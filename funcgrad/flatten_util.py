"""`ravel_pytree`: all numbers of a tree in one vector, and the way back. For solvers and statistics that know vectors only."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from funcgrad.bridge.flat import as_values
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError, message
from funcgrad.core.pytree import PyTreeDef, tree_flatten, tree_unflatten
from funcgrad.numpy import concatenate, ravel, real, reshape, result_type, zeros
from funcgrad.numpy.creation import asarray

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The numbers of all leaves in one vector, and the function that makes such a tree of such a vector.

    Args: pytree: a tree of arrays and numbers.
    Returns: the vector, in the common dtype of the leaves; and `unravel(vector)`, which gives every leaf its shape and dtype
    back.
    Raises: `unravel` raises ShapeError for a vector of another length and DtypeError for one of another dtype.

    >>> from funcgrad.flatten_util import ravel_pytree
    >>> vector, unravel = ravel_pytree({"w": fnp.ones((2, 2)), "b": fnp.zeros(1)})
    >>> vector
    Array([0., 1., 1., 1., 1.], dtype=float32)
    >>> unravel(vector * 2)["w"].tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """
    leaves, tree = tree_flatten(pytree)
    values = as_values("ravel_pytree", leaves, pytree)
    if not values:
        return zeros((0,)), partial(_unravel, tree, (), (), dt.default_float())
    dtype = result_type(*values)
    vector = concatenate([ravel(x).astype(dtype) for x in values])
    return vector, partial(_unravel, tree, tuple(x.shape for x in values), tuple(x.dtype for x in values), dtype)


def _unravel(
    tree: PyTreeDef, shapes: tuple[tuple[int, ...], ...], dtypes: tuple[np.dtype, ...], dtype: np.dtype, vector: Any
) -> Any:
    sizes = [int(np.prod(s, dtype=np.int64)) for s in shapes]
    x = asarray(vector)
    if x.shape != (sum(sizes),):
        raise ShapeError(
            message(f"unravel: got {x.aval.str_short()}", f"a vector of {sum(sizes)} elements", "the vector of ravel_pytree")
        )
    if x.dtype != dtype:
        raise DtypeError(message(f"unravel: got {x.aval.str_short()}", f"dtype {dtype}", f"vector.astype({dtype.name!r})"))
    leaves, start = [], 0
    for n, shape, own in zip(sizes, shapes, dtypes, strict=True):
        part = x[start : start + n]
        part = real(part) if own not in dt.COMPLEXES and dtype in dt.COMPLEXES else part
        leaves.append(reshape(part, shape).astype(own))
        start += n
    return tree_unflatten(tree, leaves)
