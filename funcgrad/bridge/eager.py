"""The floor of the interpreter stack: operators on Arrays answer at once from NumPy, compiling nothing."""

from typing import Any

import numpy as np

from funcgrad.bridge.array import Array, wrap
from funcgrad.core.aval import literal_aval
from funcgrad.ir.primitive import Primitive
from funcgrad.trace.interpreter import Interpreter, Tracer, check_live, set_floor
from funcgrad.trace.value import Value


class Evaluate(Interpreter):
    """Eager evaluation by each primitive's NumPy meaning, the oracle of the compiled path."""

    __slots__ = ()

    def apply(self, prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        arrays, avals = [], []
        for x in args:
            if x.__class__ is Array:
                arrays.append(x._np)
                avals.append(x.aval)
            elif isinstance(x, Tracer):
                check_live(x)
                raise AssertionError(f"{prim.name}: a live tracer reached eager evaluation: {x!r}")
            else:
                avals.append(literal_aval(x))
                arrays.append(np.asarray(x, avals[-1].dtype) if not isinstance(x, Value) else x)
        out_aval = prim.abstract(*avals, **params)
        # IEEE by default: an overflow is infinity and 0/0 is NaN, without a word.
        with np.errstate(all="ignore"):
            out = prim.numpy(*arrays, **params)
        if prim.multiple_results:
            return [_array(x, a) for x, a in zip(out, out_aval, strict=True)]
        return _array(out, out_aval)


def _array(x: Any, aval: Any) -> Array:
    x = np.asarray(x)
    if x.dtype != aval.dtype:
        x = x.astype(aval.dtype)
    assert x.shape == aval.shape, f"NumPy gave {x.shape} where the rule says {aval}"
    return wrap(x, aval)


set_floor(Evaluate(None))
