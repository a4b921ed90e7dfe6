"""Comparisons: two operands of one dtype in, bool out. NaN compares as IEEE says; complex numbers have no order."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.ops._family import NOT_DIFFERENTIABLE, elementwise
from funcgrad.ops._samples import uniform
from funcgrad.trace.interpreter import Operator


def _comparison(name: str, numpy: Callable[..., Any], loop: Callable[..., Any], dtypes: frozenset, doc: str) -> Operator:
    return elementwise(
        name,
        dtypes=dtypes,
        numpy=numpy,
        jvp=NOT_DIFFERENTIABLE,
        loop=loop,
        result=dt.bool_,
        samples=[uniform(-2, 2), uniform(-2, 2)],
        doc=doc,
    )


_ORDERED = dt.BOOLS | dt.REALS
_ALL = dt.BOOLS | dt.NUMBERS

eq = _comparison("eq", np.equal, lambda b, x, y: b.eq(x, y), _ALL, "x == y")
ne = _comparison("ne", np.not_equal, lambda b, x, y: b.ne(x, y), _ALL, "x != y; True where one of them is NaN")
lt = _comparison("lt", np.less, lambda b, x, y: b.lt(x, y), _ORDERED, "x < y")
le = _comparison("le", np.less_equal, lambda b, x, y: b.le(x, y), _ORDERED, "x <= y")
gt = _comparison("gt", np.greater, lambda b, x, y: b.gt(x, y), _ORDERED, "x > y")
ge = _comparison("ge", np.greater_equal, lambda b, x, y: b.ge(x, y), _ORDERED, "x >= y")
