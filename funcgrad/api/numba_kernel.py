"""`numba_kernel`: a user's own Numba function as an operator."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad.api.autodiff import jvp as forward
from funcgrad.api.custom import custom_jvp, custom_vjp
from funcgrad.api.staging import ShapeDtypeStruct
from funcgrad.bridge.flat import check_callable
from funcgrad.bridge.travel import reduced
from funcgrad.bridge.user_kernel import (
    check_user_dtypes,
    compiled,
    numba_arrays,
    numba_scalar,
    numba_scalar_host,
    prepare,
)
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, shaped
from funcgrad.core.errors import DtypeError, UsageError, message
from funcgrad.core.tracebacks import api_boundary
from funcgrad.numpy import _promote
from funcgrad.runtime.user_kernels import NUMPY, name_of, options_of, parameters, python_function
from funcgrad.runtime.user_source import digest
from funcgrad.trace.value import Value, aval_of

_SINGLE = {np.dtype(np.float64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.complex64)}


class NumbaKernel:
    """A Numba function as an operator: what `numba_kernel` gives."""

    def __init__(self, fun: Any, out: Any, rule: tuple[str, Any], native: bool):
        functools.update_wrapper(self, python_function(fun), updated=())
        self.fun, self.out, self.native = fun, out, native
        self._parts = fun, out, rule
        self.count = parameters(fun)
        self.elementwise = out is None or isinstance(out, (type, str, np.dtype))
        self.apply: Callable[..., Any] = _ruled(self._scalar if self.elementwise else self._arrays, rule)

    def __repr__(self) -> str:
        return f"<numba_kernel {name_of(self.fun)}>"

    def __reduce__(self) -> Any:
        return reduced(self, self._parts, _rebuild, self.native)

    def reaches(self) -> tuple:
        """For keys of functions: what a call depends on."""
        out = self.out if inspect.isfunction(self.out) else repr(self.out)
        return digest(python_function(self.fun), str(options_of(self.fun))), out, self._parts[2], self.native

    def __copy__(self) -> "NumbaKernel":
        return self

    def __deepcopy__(self, memo: Any) -> "NumbaKernel":
        return self

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = f"fg.numba_kernel({name_of(self.fun)})"
        if self.elementwise and (kwargs or len(args) != self.count):
            args = self._bound(args, kwargs)
        elif kwargs:
            self._wrong(f"got the keyword arguments {sorted(kwargs)}")
        xs = _literals([_promote.operand(x, name, self._parameter(i)) for i, x in enumerate(args)])
        if self.elementwise:
            self._arity(len(args), 0)
            return self.apply(*_promote.common_shape(name, xs))
        return self.apply(*[_promote.as_value(x, name) for x in xs])

    def _parameter(self, i: int) -> str:
        """The name of the i-th argument."""
        names = list(inspect.signature(python_function(self.fun)).parameters)
        return names[i] if i < len(names) else f"args[{i}]"

    def _bound(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """All arguments by position, with the function's defaults."""
        try:
            bound = inspect.signature(python_function(self.fun)).bind(*args, **kwargs)
        except TypeError as error:
            count = len(args) + len(kwargs)
            self._wrong(f"got {count} argument{'s' * (count != 1)}: {error}")
        bound.apply_defaults()
        return bound.args

    def _arity(self, ins: int, outs: int) -> None:
        if ins + outs == self.count and self.count:
            return
        self._wrong(f"got {ins} argument{'s' * (ins != 1)}" + (f" for {outs} output{'s' * (outs != 1)} of out=" if outs else ""))

    def _wrong(self, got: str) -> NoReturn:
        many = "one parameter for each argument, then one for each output"
        raise UsageError(
            message(
                f"numba_kernel: {name_of(self.fun)} has {self.count} parameter{'s' * (self.count != 1)} and {got}",
                f"{self.count} arguments, at least one" if self.elementwise else many,
                "mend the call, the function's parameters, or out=",
            )
        )

    # --- functions of scalars -----------------------------------------------------------------------------------

    def _scalar(self, *xs: Any) -> Any:
        avals = [aval_of(x) for x in xs]
        code = compiled(self.fun, avals)
        dtype = self._result(np.dtype(NUMPY[code.result]), avals)
        op = numba_scalar if code.fused else numba_scalar_host
        return op(*xs, fun=self.fun, dtype=dtype)

    def _result(self, returned: np.dtype, avals: Sequence[ShapedArray]) -> np.dtype:
        """The dtype of the result. Where all floating operands are single, a constant in the code does not make it double."""
        if self.out is not None:
            wanted = dt.canonical(self.out)
            if dt.category(wanted) < dt.category(returned):
                raise DtypeError(
                    message(
                        f"numba_kernel: {name_of(self.fun)} returns {returned} for ({', '.join(map(str, avals))})",
                        f"what fits out={wanted.name}",
                        f"out={returned.name!r}, or convert inside the function",
                    )
                )
            check_user_dtypes(self.fun, [shaped((), wanted)])
            return wanted
        floats = {a.dtype for a in avals if a.dtype in dt.INEXACT}
        return _SINGLE.get(returned, returned) if floats and floats <= set(_SINGLE.values()) else returned

    # --- functions of arrays ------------------------------------------------------------------------------------

    def _arrays(self, *xs: Any) -> Any:
        avals = [aval_of(x) for x in xs]
        many, results = self._results(avals)
        self._arity(len(xs), len(results))
        check_user_dtypes(self.fun, [*avals, *results])
        prepare(self.fun, avals, results)
        outs = numba_arrays(*xs, fun=self.fun, results=results, lanes=(), native=self.native)
        return tuple(outs) if many else outs[0]

    def _results(self, avals: Sequence[ShapedArray]) -> tuple[bool, tuple[ShapedArray, ...]]:
        """Whether there are several outputs, and what they are."""
        out = self.out
        if callable(out):
            try:
                inspect.signature(out).bind(*avals)
            except ValueError:
                pass  # a builtin without a signature
            except TypeError as error:
                self._wrong(f"got {len(avals)} argument{'s' * (len(avals) != 1)}, which out= does not take: {error}")
            out = out(*[ShapeDtypeStruct.of(a) for a in avals])
        many = isinstance(out, (tuple, list))
        found = []
        for x in out if many else (out,):
            if not hasattr(x, "shape") or not hasattr(x, "dtype"):
                raise UsageError(
                    message(
                        f"numba_kernel: out= of {name_of(self.fun)} gave {x!r}",
                        "something with shape and dtype for each output (a tuple of them for several), or a function of the "
                        "arguments' shapes and dtypes that returns it",
                        "out=fg.ShapeDtypeStruct(shape, dtype), or out=lambda x: x",
                    )
                )
            found.append(shaped(tuple([int(n) for n in x.shape]), dt.canonical(x.dtype)))
        return many, tuple(found)


def _rebuild(parts: tuple, native: bool) -> NumbaKernel:
    fun, out, rule = parts
    return NumbaKernel(fun, out, rule, native)


def _literals(xs: Sequence[Any]) -> list[Any]:
    """Python numbers among the operands in the dtype of the others, so far as the category allows."""
    if all(isinstance(x, (Value, np.generic)) and not aval_of(x).weak_type for x in xs):
        return list(xs)
    out = []
    strong = [aval_of(x) for x in xs if not aval_of(x).weak_type]
    for x in xs:
        a = aval_of(x)
        if not a.weak_type:
            out.append(x)
            continue
        peers = [(b.dtype, False) for b in strong if dt.category(b.dtype) == dt.category(a.dtype)]
        floats = [(b.dtype, False) for b in strong if b.dtype in dt.INEXACT] if a.dtype in dt.INEXACT else []
        known = peers or floats
        dtype = dt.join([*known, (a.dtype, True)])[0] if known else a.dtype
        out.append(_promote.cast(x, dtype) if isinstance(x, Value) else dtype.type(x))
    return out


def _ruled(base: Callable[..., Any], rule: tuple[str, Any]) -> Callable[..., Any]:
    """`base` with the derivative that the user gave."""
    kind, given = rule
    if kind == "":
        return base
    if kind == "vjp":
        wrapped: Any = custom_vjp(base)
        wrapped.defvjp(*given)
        return wrapped
    wrapped = custom_jvp(base)
    if kind == "jvp":
        wrapped.defjvp(given)
        return wrapped

    def twin(primals: Any, tangents: Any) -> Any:
        return wrapped(*primals), forward(given, tuple(primals), tuple(tangents))[1]

    wrapped.defjvp(twin)
    return wrapped


def numba_kernel(
    fun: Any = None,
    *,
    out: Any = None,
    vjp: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
    jvp: Callable[..., Any] | None = None,
    derivative_of: Callable[..., Any] | None = None,
    batch: str = "loop",
) -> Any:
    """Make an operator of a Numba function. It works eagerly and under jit and vmap, and with a rule under grad, jvp and vjp.

    Args:
      fun: a Python function (compiled by numba here) or one decorated with `@numba.njit`. Either a function of scalars that
        returns a scalar: it is applied to each element, arguments broadcast, and becomes part of the kernels around it. Or, with
        `out` shapes, a kernel (arrays in, arrays out) -> None that fills its last parameters; inputs are C-contiguous and
        read-only, inputs without axes come as scalars, outputs are not initialised.
      out: for a function of scalars, None or the dtype of the result. For a kernel of arrays, the output's shape and dtype
        (anything with both), a tuple of them for several, or a function that is given those of the arguments and returns that.
      vjp: a pair (fwd, bwd) as `fg.custom_vjp` takes it: fwd(*args) -> (out, residuals), bwd(residuals, ct) -> cotangents.
      jvp: a rule as `fg.custom_jvp` takes it: rule(primals, tangents) -> (out, tangent of out).
      derivative_of: the same function written in funcgrad.numpy, whose derivatives are taken in the place of this one's.
      batch: of a kernel of arrays, what vmap does: "loop" calls it for each example; "native" calls it once with a leading axis
        more on every argument and output.

    Functions of scalars get the types of their arguments; where all floating arguments are single precision, so is the result.
    Division by zero gives inf or nan (numba's error_model="numpy") unless `@njit(error_model="python")` is said. A function that
    may raise an exception is run in a loop of its own, not fused, and raises from there.

    Returns a callable like the function (a kernel of arrays: of positional arguments); also works as a decorator, with or without
    keywords.
    Raises UsageError for wrong numbers of arguments and outputs, CompileError with numba's message where nopython mode fails.

    >>> import math
    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> @fg.numba_kernel(derivative_of=lambda x: fnp.where(x > 0, x * x, 0.0))
    ... def f(x):
    ...     return x * x if x > 0.0 else 0.0
    >>> fg.grad(lambda x: f(x).sum())(fnp.asarray([-1.0, 2.0]))
    Array([0., 4.], dtype=float32)
    """
    rules = [(k, r) for k, r in (("vjp", vjp), ("jvp", jvp), ("derivative_of", derivative_of)) if r is not None]
    if len(rules) > 1:
        names = " and ".join(k + "=" for k, _ in rules)
        raise UsageError(message(f"numba_kernel: got {names}", "one derivative rule", "keep the one you mean"))
    kind, rule = rules[0] if rules else ("", None)
    if kind == "vjp":
        if not isinstance(rule, (tuple, list)) or len(rule) != 2:
            raise UsageError(message(f"numba_kernel: got vjp={rule!r}", "a pair of functions", "vjp=(fwd, bwd)"))
        for f in rule:
            check_callable("numba_kernel", f)
        rule = tuple(rule)
    elif kind:
        check_callable("numba_kernel", rule)
    if batch not in ("loop", "native"):
        raise UsageError(message(f"numba_kernel: got batch={batch!r}", '"loop" or "native"', 'batch="loop"'))

    def make(f: Any) -> NumbaKernel:
        return NumbaKernel(f, out, (kind, rule), batch == "native")

    return make if fun is None else make(fun)
