"""The floor of the interpreter stack: operators on Arrays answer at once from NumPy, compiling nothing.

A call of a traced program (`jit` inside `grad`, for example) is the exception: it runs compiled, as long loops do.
"""

from typing import Any

import numpy as np

from funcgrad.bridge.array import Array
from funcgrad.bridge.eager_control import evaluate_control
from funcgrad.bridge.nans import check_outputs
from funcgrad.bridge.quiet import quiet, restore
from funcgrad.bridge.runner import execute
from funcgrad.core.aval import ShapedArray, check_size, literal_aval
from funcgrad.core.config import config
from funcgrad.core.errors import message, too_large
from funcgrad.core.warn import asarray
from funcgrad.ir.loop_rules import Call, Loop
from funcgrad.ir.primitive import Primitive
from funcgrad.trace.interpreter import Interpreter, Tracer, check_live, set_floor

_new = object.__new__
# What NumPy says of shapes for which there is no memory.
_TOO_LARGE = ("array is too big", "Maximum allowed", "Python int too large")


class Evaluate(Interpreter):
    """Eager evaluation by each primitive's NumPy meaning, the oracle of the compiled path."""

    __slots__ = ()

    def apply(self, prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if prim.run is not None:
            return prim.run(*args, **params)
        arrays, avals = [], []
        for x in args:
            if x.__class__ is Array:
                avals.append(x.aval)
                view = x._view
                arrays.append(x._np if view is None else view)
            elif isinstance(x, (Tracer, Array)):
                refuse(prim, x)
            else:
                aval = literal_aval(x)
                avals.append(aval)
                try:
                    arrays.append(asarray(x, aval.dtype))
                except OverflowError:
                    raise too_large(x, aval.dtype) from None
        out_aval = prim.abstract(*avals, **params)
        if prim.loop.__class__ is Call and not config.disable_jit:
            return execute(params[prim.loop.name], args)
        if prim.loop.__class__ is Loop:
            outs = evaluate_control(self.apply, prim, args, out_aval, params)
            if outs is not None:
                return outs
        token = quiet()
        try:
            out = prim.numpy(*arrays, **params)
        except (MemoryError, OverflowError, ValueError) as error:
            check_size(prim.name, out_aval if prim.multiple_results else [out_aval], error)
            if str(error).startswith(_TOO_LARGE):
                allowed = "arrays that fit into the memory of this machine"
                raise MemoryError(message(f"{prim.name}: {error}", allowed, "check the shapes and the sizes")) from None
            raise
        finally:
            restore(token)
        if prim.multiple_results:
            outs = [as_result(x, a) for x, a in zip(out, out_aval, strict=True)]
            if config.debug_nans:
                check_outputs(prim, outs, args)
            return outs
        if out.__class__ is not np.ndarray or out.dtype is not out_aval.dtype or out.shape != out_aval.shape:
            made = as_result(out, out_aval)
        else:
            made = _new(Array)
            made.aval, made._view, made._address, made._memory = out_aval, out, 0, None
        if config.debug_nans:
            check_outputs(prim, (made,), args)
        return made


def as_result(x: Any, aval: ShapedArray) -> Array:
    """An Array over what a primitive's meaning gave."""
    if x.__class__ is not np.ndarray:
        x = np.asarray(x)
    if x.dtype != aval.dtype:
        x = x.astype(aval.dtype)
    if x.shape != aval.shape:
        raise AssertionError(f"NumPy gave {x.shape} where the rule says {aval}")
    made = _new(Array)
    made.aval, made._view, made._address, made._memory = aval, x, 0, None
    return made


def refuse(prim: Primitive, x: Any) -> None:
    """An operand that has no numbers: a tracer that outlived its trace, or an array that was deleted."""
    if isinstance(x, Tracer):
        check_live(x)
        raise AssertionError(f"{prim.name}: a live tracer reached eager evaluation: {x!r}")
    x._np  # noqa: B018  this raises


set_floor(Evaluate(None))
