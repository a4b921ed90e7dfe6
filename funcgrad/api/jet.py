"""Taylor mode over pytrees: jet."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.bridge.flat import FlatFunction, as_values, check_callable
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError, TreeError, UsageError, message
from funcgrad.core.pytree import tree_flatten, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.ops._family import like, zeros_like
from funcgrad.ops.arithmetic import div, mul
from funcgrad.ops.convert import convert
from funcgrad.trace.value import aval_of
from funcgrad.transforms.jet import jet as jet_flat


@api_boundary
def jet(fun: Callable[..., Any], primals: Any, series: Any, factorial_scaled: bool = True, **_: Any) -> tuple[Any, Any]:
    """Value of `fun` and its derivatives along a path, of all orders up to the number of terms (Taylor mode).

    primals: a tuple or list with one entry for each positional argument, arrays or pytrees. series: for each of them a list of
    terms, each like its primal: the first, second, ... derivative of the argument along the path; all lists have one length.
    factorial_scaled=False: the terms are the coefficients of the power series instead, here and in the result.
    Returns (outputs, series of the outputs): in the place of each output a list of its terms. One pass costs about the square of
    the order, where nested jvps double with each. Operators without a derivative raise TypeError and are named.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> y, (first, second, third) = fg.jet(fnp.exp, (0.0,), ([1.0, 0.0, 0.0],))
    >>> float(first), float(second), float(third)
    (1.0, 1.0, 1.0)
    """
    check_callable("jet", fun)
    for what, x in (("primals", primals), ("series", series)):
        if not isinstance(x, (tuple, list)):
            raise UsageError(message(f"jet: got {type(x).__name__} for {what}", "one entry an argument", f"write ({what},)"))
    for terms in series:
        if not isinstance(terms, (tuple, list)):
            came = f"jet: got {type(terms).__name__} for the terms of an argument"
            raise UsageError(message(came, "a list of terms for each primal", "jet(f, (x,), ([t],))"))
    lengths = {len(terms) for terms in series}
    if len(primals) != len(series) or len(lengths) != 1:
        raise UsageError(
            message(
                f"jet: got {len(primals)} primals and series of {[len(terms) for terms in series]} terms",
                "a list of terms for each primal, all of one length",
                "pad the shorter ones with zeros",
            )
        )
    (order,) = lengths
    leaves, in_tree = tree_flatten(tuple(primals))
    values = as_values("jet", leaves, tuple(primals))
    columns = [_terms([terms[k] for terms in series], k, in_tree, values, factorial_scaled) for k in range(order)]
    flat = FlatFunction("jet", fun, in_tree, None)
    outs = jet_flat(flat, [list(column) for column in zip(values, *columns, strict=True)], order)
    terms_out = [
        [_out(x[0], c, k, factorial_scaled) for k, c in enumerate(x[1:], 1)] for x in outs
    ]  # fmt: skip
    return tree_unflatten(flat.out_tree, [x[0] for x in outs]), tree_unflatten(flat.out_tree, terms_out)


def _terms(terms: list[Any], k: int, in_tree: Any, values: list[Any], factorial_scaled: bool) -> list[Any]:
    """The coefficients of order k + 1 of all operands: values, or None for zeros of integers."""
    leaves, tree = tree_flatten(tuple(terms))
    if tree != in_tree:
        raise TreeError(
            message(
                f"jet: got terms of order {k + 1} with the structure {tree}", f"that of the primals, {in_tree}", "use tree_map"
            )
        )
    found: list[Any] = []
    for t, x in zip(as_values("jet", leaves, tuple(terms)), values, strict=True):
        if aval_of(t).shape != x.aval.shape:
            raise ShapeError(
                message(
                    f"jet: got a term of order {k + 1} of shape {t.aval} for {x.aval}", "the primal's shape", "match the shapes"
                )
            )
        if x.aval.dtype not in dt.INEXACT:
            number = t.concrete() if hasattr(t, "concrete") else t
            if number is None or np.any(np.asarray(number)):
                raise DtypeError(
                    message(f"jet: got a term of order {k + 1} for {x.aval}", "terms of integers are zero", "convert the primal")
                )
            found.append(None)
            continue
        t = convert(t, x.aval.dtype)
        found.append(div(t, like(t, math.factorial(k + 1))) if factorial_scaled and k else t)
    return found


def _out(x: Any, coefficient: Any, k: int, factorial_scaled: bool) -> Any:
    if coefficient is None:
        return zeros_like(x)
    return mul(coefficient, like(coefficient, math.factorial(k))) if factorial_scaled and k > 1 else coefficient
