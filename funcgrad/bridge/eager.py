"""The floor of the interpreter stack: operators on Arrays answer at once from NumPy, compiling nothing.

A call of a traced program (`jit` inside `grad`, for example) is the exception: it runs compiled.
"""

from typing import Any

import numpy as np

from funcgrad.bridge.array import Array, wrap
from funcgrad.bridge.nans import check_outputs
from funcgrad.bridge.runner import execute
from funcgrad.core.aval import ShapedArray, literal_aval
from funcgrad.core.config import config
from funcgrad.ir.loop_rules import Call
from funcgrad.ir.primitive import Primitive
from funcgrad.trace.interpreter import Interpreter, Tracer, check_live, set_floor


class Evaluate(Interpreter):
    """Eager evaluation by each primitive's NumPy meaning, the oracle of the compiled path."""

    __slots__ = ()

    def apply(self, prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        arrays, avals = [], []
        for x in args:
            if x.__class__ is Array:
                avals.append(x.aval)
                view = x._view
                arrays.append(x._np if view is None else view)
            elif isinstance(x, Tracer):
                check_live(x)
                raise AssertionError(f"{prim.name}: a live tracer reached eager evaluation: {x!r}")
            elif isinstance(x, Array):
                x._np  # noqa: B018  it was deleted: this raises
            else:
                aval = literal_aval(x)
                avals.append(aval)
                arrays.append(np.asarray(x, aval.dtype))
        out_aval = prim.abstract(*avals, **params)
        if prim.loop.__class__ is Call and not config.disable_jit:
            return execute(params[prim.loop.name], args)
        # IEEE by default: an overflow is infinity and 0/0 is NaN, without a word.
        with np.errstate(all="ignore"):
            out = prim.numpy(*arrays, **params)
        if prim.multiple_results:
            out = [_array(x, a) for x, a in zip(out, out_aval, strict=True)]
            if config.debug_nans:
                check_outputs(prim, out, args)
            return out
        out = _array(out, out_aval)
        if config.debug_nans:
            check_outputs(prim, (out,), args)
        return out


def _array(x: Any, aval: ShapedArray) -> Array:
    if x.__class__ is not np.ndarray:
        x = np.asarray(x)
    if x.dtype != aval.dtype:
        x = x.astype(aval.dtype)
    if x.shape != aval.shape:
        raise AssertionError(f"NumPy gave {x.shape} where the rule says {aval}")
    return wrap(x, aval)


set_floor(Evaluate(None))
