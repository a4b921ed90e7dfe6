"""The operators behind `numba_kernel`: a user's Numba function, of scalars or of arrays.

`numba_scalar` applies a function of scalars to each element; it is one scalar operation of the loops that it is fused into.
`numba_scalar_host` is the same for functions that cannot be part of a kernel (they raise, or allocate): a loop of its own.
`numba_arrays` runs a function (arrays in, arrays out) on the program's memory; the driver calls it by its address where it cannot
raise. Under vmap it is called once for each example, or, where the function takes leading axes (`native`), once.

Params: `fun` is the user's function, the rest says what its results are. None has a derivative: custom rules go around them.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.bridge.runner import execute
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import DtypeError, UsageError, message
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Var
from funcgrad.ir.loop_rules import Host, Native, Pointwise
from funcgrad.ir.primitive import register
from funcgrad.ops._family import broadcast_batch, elementwise_batch, elementwise_shape, move_dim
from funcgrad.runtime.user_arrays import ArrayFunction, Told
from funcgrad.runtime.user_kernels import CODE_OF, NUMPY, Scalar, name_of, scalar
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import aval_of

DTYPES = frozenset(CODE_OF)


def check_user_dtypes(fun: Any, avals: Sequence[ShapedArray]) -> None:
    """DtypeError unless numba has all of these dtypes."""
    for a in avals:
        if a.dtype not in CODE_OF:
            raise DtypeError(
                message(
                    f"numba_kernel: {name_of(fun)} got {a}",
                    "bool, integers, float32, float64, complex64 and complex128, which numba has",
                    "convert first, for example with x.astype('float32')",
                )
            )


def compiled(fun: Any, avals: Sequence[ShapedArray]) -> Scalar:
    """The function of scalars as machine code for these operands."""
    check_user_dtypes(fun, avals)
    return scalar(fun, tuple([CODE_OF[a.dtype] for a in avals]))


# --- functions of scalars -------------------------------------------------------------------------------------------


def _scalar_abstract(*avals: ShapedArray, fun: Any, dtype: np.dtype) -> ShapedArray:
    return shaped(elementwise_shape("numba_kernel", avals), dtype)


def _scalar_numpy(*arrays: Any, fun: Any, dtype: np.dtype) -> np.ndarray:
    code = scalar(fun, tuple([CODE_OF[np.asarray(x).dtype] for x in arrays]))
    return code.loop(*arrays).astype(dtype)


def _scalar_loop(b: Any, *xs: Any, fun: Any, dtype: np.dtype) -> Any:
    code = scalar(fun, tuple([CODE_OF[d] for d in b.in_dtypes]))
    return b.cast(b.external(code.external, NUMPY[code.result], *xs), dtype)


def _scalar_run(*args: Any, fun: Any, dtype: np.dtype) -> Any:
    return execute(_one(tuple([aval_of(x) for x in args]), fun, dtype), args)[0]


@functools.lru_cache(maxsize=256)
def _one(avals: tuple[ShapedArray, ...], fun: Any, dtype: np.dtype) -> Jaxpr:
    """The program of one application."""
    xs = [Var(a) for a in avals]
    params = {"fun": fun, "dtype": dtype}
    out = Var(numba_scalar.abstract(*avals, **params))
    return Jaxpr((), xs, [Eqn(numba_scalar, tuple(xs), (out,), params)], [out])


def no_rule(primals: Sequence[Any], tangents: Sequence[Any], *, fun: Any, **params: Any) -> Any:
    raise UsageError(
        message(
            f"numba_kernel: {name_of(fun)} was differentiated, and numba's code has no derivative",
            "kernels with a rule, or whose arguments do not depend on what is differentiated",
            "numba_kernel(f, derivative_of=g) with g the same function in funcgrad.numpy, jvp=rule, or vjp=(fwd, bwd); "
            "or lax.stop_gradient(x)",
        )
    )


def _scalar_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, fun: Any, dtype: np.dtype) -> Any:
    if dtype in dt.INEXACT:
        return no_rule(primals, tangents, fun=fun)
    return numba_scalar(*primals, fun=fun, dtype=dtype), None


_SCALAR: dict[str, Any] = {
    "abstract": _scalar_abstract,
    "numpy": _scalar_numpy,
    "transpose": "it is not linear, as far as is known",
    "dtypes": DTYPES,
    "samples": "it carries a user's function: tests/api/test_numba_kernel.py",
}

numba_scalar = register(
    Operator(
        "numba_scalar",
        **_SCALAR,
        run=_scalar_run,
        jvp=_scalar_jvp,
        batch=lambda size, args, dims, **params: elementwise_batch(numba_scalar)(size, args, dims, **params),
        loop=Pointwise(_scalar_loop),
        doc="Applies a user's Numba function to each element, inside the kernel.",
    )
)

numba_scalar_host = register(
    Operator(
        "numba_scalar_host",
        **_SCALAR,
        jvp=lambda primals, tangents, *, fun, dtype: (
            no_rule(primals, tangents, fun=fun)
            if dtype in dt.INEXACT
            else (numba_scalar_host(*primals, fun=fun, dtype=dtype), None)
        ),
        batch=lambda size, args, dims, **params: elementwise_batch(numba_scalar_host)(size, args, dims, **params),
        loop=Host(),
        doc="Applies a user's Numba function to each element, in a loop of its own.",
    )
)


# --- functions of arrays --------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def array_function(fun: Any) -> ArrayFunction:
    """The function as a callable on ndarrays."""
    return ArrayFunction(fun)


Lanes = tuple[tuple[int, tuple[bool, ...]], ...]  # vmaps around the call, outermost first: size, which operands have the axis


def _into(ins: Sequence[Any], outs: Sequence[np.ndarray], *, fun: Any, results: Any, lanes: Lanes, native: bool) -> None:
    arrays = [np.asarray(x) for x in ins]
    if any([x.dtype not in CODE_OF for x in arrays]):
        raise AssertionError("numba_kernel: operands were not checked")
    _each(array_function(fun), arrays, outs, lanes)


def _each(function: ArrayFunction, ins: Sequence[np.ndarray], outs: Sequence[np.ndarray], lanes: Lanes) -> None:
    if not lanes:
        function(ins, outs)
        return
    (size, batched), rest = lanes[0], lanes[1:]
    for i in range(size):
        _each(function, [x[i, ...] if b else x for x, b in zip(ins, batched, strict=True)], [y[i, ...] for y in outs], rest)


def _native(ins: Sequence[Any], outs: Sequence[Told], *, fun: Any, results: Any, lanes: Lanes, native: bool) -> Native | None:
    return array_function(fun).native(ins, outs, lanes)


def _arrays_numpy(*arrays: Any, fun: Any, results: tuple[ShapedArray, ...], lanes: Lanes, native: bool) -> list[np.ndarray]:
    outs = [np.empty(a.shape, a.dtype) for a in results]
    _into(arrays, outs, fun=fun, results=results, lanes=lanes, native=native)
    return outs


def _arrays_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
    fun, lanes, native = params["fun"], params["lanes"], params["native"]
    results = tuple([shaped((size, *a.shape), a.dtype) for a in params["results"]])
    if native:
        moved = [broadcast_batch(x, size) if d is None else move_dim(x, d, 0) for x, d in zip(args, dims, strict=True)]
        prepare(fun, [aval_of(x) for x in moved], results)
    else:
        moved = [x if d is None else move_dim(x, d, 0) for x, d in zip(args, dims, strict=True)]
        lanes = ((size, tuple([d is not None for d in dims])), *lanes)
    outs = numba_arrays(*moved, **(params | {"results": results, "lanes": lanes}))
    return outs, [0] * len(outs)


def prepare(fun: Any, ins: Sequence[ShapedArray], outs: Sequence[ShapedArray]) -> None:
    """Compile the function for these operands and results now, so that what is wrong is said at the user's line."""
    array_function(fun).prepare([(a.ndim, a.dtype) for a in ins], [(a.ndim, a.dtype) for a in outs])


def _arrays_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    if any(a.dtype in dt.INEXACT for a in params["results"]):
        return no_rule(primals, tangents, fun=params["fun"])
    outs = numba_arrays(*primals, **params)
    return outs, [None] * len(outs)


numba_arrays = register(
    Operator(
        "numba_arrays",
        multiple_results=True,
        abstract=lambda *avals, fun, results, lanes, native: list(results),
        numpy=_arrays_numpy,
        jvp=_arrays_jvp,
        transpose="it is not linear, as far as is known",
        batch=_arrays_batch,
        loop=Host(into=_into, native=_native),
        dtypes=DTYPES,
        samples="it carries a user's function: tests/api/test_numba_kernel.py",
        doc="Runs a user's Numba kernel (arrays in, arrays out) on the program's memory.",
    )
)
